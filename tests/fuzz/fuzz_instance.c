/*
 * fuzz_instance.c - any bytes as the columns of an instance: refused with the name of
 * the column, or the same after it was written, packed and loaded again; and commands
 * are applied to it or refused
 *
 * An input is up to four lines: states, variables, graph, tasks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/command.h"
#include "bpmflow/executor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char layout[] =
    "{id: g, layout: [{id: s, type: start, link: a}, {id: a, meta: {actor: u}, link: p},"
    "{id: p, type: parallel, link: [b, x]}, {id: b, meta: {actor: u}, link: j},"
    "{id: x, type: exclusive, link: [{nextId: a, when: 'n == 1'}, {nextId: c}]},"
    "{id: c, task: 'n = 2', link: i}, {id: i, type: inclusive, link: [{nextId: d, when: "
    "'n > 1'}, {nextId: h, when: 'true'}]}, {id: d, meta: {actor: u}, link: k},"
    "{id: h, link: k}, {id: k, type: inclusive, link: j},"
    "{id: j, type: parallel, link: e}, {id: e, type: end}]}";

static bf_engine_t *engine;
static bf_controller_t *controller;
static bf_executor_t *executor;

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void set_up(void)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    engine = bf_engine_new();
    controller = bf_actor_controller_new(NULL, 0);
    executor = bf_executor_new(engine, controller, NULL);
    expect(executor != NULL);
    expect(bf_graph_load_text(layout, strlen(layout), "fuzz", NULL, &graph, &err) ==
           BF_OK);
    expect(bf_engine_load(engine, graph, &err) == BF_OK);
    bf_graph_unref(graph);
    bf_executor_set_max_steps(executor, 300);
}

static bf_text_t next_line(const char **at, const char *end)
{
    bf_text_t line = {NULL, 0};
    if (*at < end) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        stop = stop ? stop : end;
        line = (bf_text_t){*at, (size_t)(stop - *at)};
        *at = stop < end ? stop + 1 : end;
    }
    return line;
}

/* The order of members may be another one: that of a row that we did not write. */
static bool is_same(bf_arena_t *arena, bf_text_t a, bf_text_t b)
{
    static const bf_json_limits_t limits = {.max_bytes = SIZE_MAX, .max_depth = 512};
    bf_value_t values[2];
    bf_err_t err = BF_ERR_INIT;
    expect(bf_json_parse(arena, a.data, a.len, &limits, &values[0], &err) == BF_OK);
    expect(bf_json_parse(arena, b.data, b.len, &limits, &values[1], &err) == BF_OK);
    return bf_value_equal(&values[0], &values[1]);
}

/* What is written is what was loaded, from memory, a block and a row. */
static void expect_stable(bf_instance_t *inst, bf_arena_t *arena)
{
    bf_instance_row_t rows[3];
    bf_err_t err = BF_ERR_INIT;
    expect(bf_instance_write_row(inst, arena, &rows[0], &err) == BF_OK);
    expect(bf_instance_pack(inst) == BF_OK);
    expect(bf_instance_open(inst) == BF_OK);
    expect(bf_instance_write_row(inst, arena, &rows[1], &err) == BF_OK);
    bf_instance_t *again = bf_instance_new("i");
    expect(again != NULL);
    bf_status_t rc = bf_instance_load_row(again, &rows[0], &err);
    expect(rc == BF_OK || rc == BF_E_LIMIT);
    if (rc == BF_OK) {
        expect(bf_instance_write_row(again, arena, &rows[2], &err) == BF_OK);
    } else {
        rows[2] = rows[1];
    }
    for (int i = 1; i < 3; i++) {
        expect(is_same(arena, rows[0].states, rows[i].states));
        expect(is_same(arena, rows[0].vars, rows[i].vars));
    }
    bf_instance_free(again);
}

static void command(bf_instance_t *inst, bf_arena_t *arena, bf_verb_t verb,
                    const char *node, bf_action_t action)
{
    bf_command_env_t env = {.executor = executor};
    bf_command_t c = {.command_id = "c",
                      .verb = verb,
                      .instance_id = "i",
                      .graph_id = "g",
                      .node_id = node,
                      .action = action,
                      .actor = "u"};
    bf_outcome_t outcome;
    bf_err_t err = BF_ERR_INIT;
    expect(bf_command_execute(&env, &c, inst, arena, 1, &outcome, &err) == BF_OK);
    expect(outcome.code == BF_CODE_OK || (outcome.error && outcome.error[0]));
}

static void use(bf_instance_t *inst, bf_arena_t *arena)
{
    expect_stable(inst, arena);
    command(inst, arena, BF_VERB_FIND_NEXT, NULL, BF_ACTION_FORWARD);
    command(inst, arena, BF_VERB_CLAIM, NULL, BF_ACTION_FORWARD);
    command(inst, arena, BF_VERB_SUBMIT, "b", BF_ACTION_BACK);
    command(inst, arena, BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD);
    command(inst, arena, BF_VERB_SUBMIT, "d", BF_ACTION_FORWARD);
    command(inst, arena, BF_VERB_GET_STATE, NULL, BF_ACTION_FORWARD);
    expect_stable(inst, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    const char *end = at + size;
    bf_arena_t arena;
    bf_err_t err = BF_ERR_INIT;
    if (!executor) {
        set_up();
    }
    bf_instance_row_t row = {.instant_id = "i", .creator = "", .updater = "", .rev = 1};
    row.states = next_line(&at, end);
    row.vars = next_line(&at, end);
    row.graph = next_line(&at, end);
    row.tasks = next_line(&at, end);
    bf_arena_init(&arena, 0);
    bf_instance_t *inst = bf_instance_new("i");
    expect(inst != NULL);
    bf_status_t rc = bf_instance_load_row(inst, &row, &err);
    if (rc == BF_OK) {
        use(inst, &arena);
    } else {
        expect(err.text[0] != '\0');
    }
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    return 0;
}
