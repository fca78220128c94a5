/*
 * test_walk_point.c - walks that do not begin at START come out as those that do
 *
 * Twins: two executors with an instance each go through the same commands, one of them
 * with every walk from START.  Whatever can be seen must be the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/property.h"
#include "tests/support/rig.h"

#ifndef CASES
#define CASES 500
#endif
#define COMMANDS 60

/* --- what can be seen --- */

static void add_task(bf_str_t *out, const bf_task_t *task)
{
    if (!task->node) {
        bf_str_puts(out, " none");
        return;
    }
    bf_str_printf(out, " %s/%s#%u:%d", task->node->graph->id, task->node->id, task->round,
                  (int)task->state);
}

static void add_tasks(bf_str_t *out, const bf_task_t *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_task(out, &tasks[i]);
    }
}

/* The trace as a snapshot tells it, what is stored, and what has been done. */
static void add_rig(bf_str_t *out, rig_t *rig)
{
    char *stored = rig_dump(rig);
    bf_str_printf(out, "\n%s\n", stored);
    free(stored);
    cr_assert_eq(bf_context_write_json(rig->ctx, out, &rig->err), BF_OK);
    bf_str_printf(out, "\n%d %d %s", (int)bf_context_outcome(rig->ctx),
                  bf_context_is_end(rig->ctx, NULL), bf_str_peek(&rig->notes));
}

/* --- commands --- */

typedef struct command {
    unsigned kind;
    unsigned role;
    uint32_t node; /* any number */
    uint32_t target;
    bf_action_t action;
    bf_guard_t guard;
    bool takes_claimed;
    int64_t number;
} command_t;

/* Steps that go by the way that was taken: as many of them as of the others. */
static bf_action_t draw_way_back(uint64_t *state)
{
    static const bf_action_t actions[] = {BF_ACTION_BACK, BF_ACTION_BACK_JUMP,
                                          BF_ACTION_FORWARD_JUMP, BF_ACTION_BACK};
    unsigned draw = (unsigned)(gen_random(state) >> 40) % 8;
    return draw < 4 ? actions[draw] : BF_ACTION_FORWARD;
}

static bf_action_t draw_action(uint64_t *state)
{
    static const bf_action_t actions[] = {BF_ACTION_BACK,      BF_ACTION_FORWARD_JUMP,
                                          BF_ACTION_BACK_JUMP, BF_ACTION_RESTART,
                                          BF_ACTION_TERMINATE, BF_ACTION_BACK};
    unsigned draw = (unsigned)(gen_random(state) >> 40) % 60;
    return draw < 6 ? actions[draw] : BF_ACTION_FORWARD;
}

static command_t draw_command(uint64_t *state, bool goes_back)
{
    command_t c = {.kind = (unsigned)(gen_random(state) >> 40) % 8,
                   .role = (unsigned)(gen_random(state) >> 40) % GEN_ROLES,
                   .node = (uint32_t)(gen_random(state) >> 33),
                   .target = (uint32_t)(gen_random(state) >> 33),
                   .action = goes_back ? draw_way_back(state) : draw_action(state)};
    c.guard = gen_random(state) >> 62 ? BF_GUARD_STRICT : BF_GUARD_NONE;
    c.takes_claimed = (gen_random(state) >> 40) % 8 != 0;
    c.number = (int64_t)((gen_random(state) >> 40) % 12);
    return c;
}

static const bf_node_t *pick(const rig_t *rig, uint32_t number)
{
    const bf_graph_t *graph = rig->scope.graph;
    return &graph->nodes[number % graph->node_count];
}

static void do_find(rig_t *rig, bf_str_t *out)
{
    bf_task_t task = {0};
    bf_instance_begin(rig->inst);
    bf_status_t rc = bf_executor_find_in(rig->executor, &rig->scope, &task, &rig->err);
    bf_instance_rollback(rig->inst);
    bf_str_printf(out, "find %d", (int)rc);
    add_task(out, &task);
}

static void do_find_next(rig_t *rig, bf_str_t *out)
{
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_status_t rc = rig_find_next(rig, &tasks, &count);
    bf_str_printf(out, "find next %d", (int)rc);
    add_tasks(out, tasks, rc == BF_OK ? count : 0);
}

/* What the last operation has handed to services. */
static void do_dispatch(rig_t *rig, bf_str_t *out)
{
    bf_history_t *rows = NULL;
    size_t count = 0;
    bf_history_step_t step = {.graph = rig->scope.graph};
    bf_err_clear(&rig->err);
    bf_instance_begin(rig->inst);
    bf_status_t rc = bf_executor_dispatch_rows(rig->executor, &rig->scope, &step, &rows,
                                               &count, &rig->err);
    cr_assert_eq(rc, BF_OK, "%s", rig->err.text);
    bf_instance_commit(rig->inst);
    for (size_t i = 0; i < count; i++) {
        bf_str_printf(out, " job %d at %s", (int)rows[i].seq, rows[i].source.code);
    }
}

/* Claim, and submit what was claimed or any other node. */
static void do_work(rig_t *rig, const command_t *c, bf_str_t *out)
{
    bf_task_t task = {0};
    bf_submit_result_t result = {0};
    bf_status_t rc = rig_claim(rig, &task);
    bf_str_printf(out, "claim %d %s", (int)rc, rig->err.text);
    add_task(out, &task);
    if (rc == BF_OK) {
        do_dispatch(rig, out);
    }
    if (!c->takes_claimed || !task.node) {
        task = (bf_task_t){.node = pick(rig, c->node)};
    }
    add_rig(out, rig);
    rig->guard = c->guard;
    rc = rig_submit(rig, &task, c->action, c->number % 2 ? pick(rig, c->target) : NULL,
                    &result);
    bf_str_printf(out, "\nsubmit %s as %d: %d code %d", task.node->id, (int)c->action,
                  (int)rc, (int)bf_executor_code(rig->executor));
    add_tasks(out, result.targets, rc == BF_OK ? result.target_count : 0);
    bf_str_printf(out, " %s", rig->err.text);
    if (rc == BF_OK) {
        do_dispatch(rig, out);
    }
}

static void do_command(rig_t *rig, const command_t *c, bf_str_t *out)
{
    bf_str_clear(out);
    bf_arena_clear(&rig->arena);
    bf_err_clear(&rig->err);
    rig_act_as(rig, c->role);
    switch (c->kind) {
    case 0:
        do_find(rig, out);
        break;
    case 1:
        do_find_next(rig, out);
        break;
    case 2:
        rig_set(rig, "n", c->number);
        break;
    default:
        do_work(rig, c, out);
        break;
    }
    bf_str_printf(out, " %s", rig->err.text);
    add_rig(out, rig);
}

/* --- twins --- */

typedef struct twins {
    rig_t a; /* goes the short way */
    rig_t b; /* from START */
    bf_str_t of_a;
    bf_str_t of_b;
} twins_t;

static unsigned used; /* commands that found a point */
static unsigned moved;
static unsigned returned; /* steps back and jumps that have left it in use */
static bool goes_back;    /* many of them */

static void twins_init(twins_t *t, const gen_t *gen)
{
    memset(t, 0, sizeof(*t));
    rig_init(&t->a, gen);
    rig_init(&t->b, gen);
    bf_executor_set_from_start(t->b.executor, true);
    bf_str_init(&t->of_a, 0);
    bf_str_init(&t->of_b, 0);
}

static void twins_load(twins_t *t, const char *layout)
{
    rig_load(t->a.engine, layout);
    rig_load(t->b.engine, layout);
    t->a.scope.graph = bf_engine_graph(t->a.engine, "g");
    t->b.scope.graph = bf_engine_graph(t->b.engine, "g");
}

static void twins_fini(twins_t *t)
{
    rig_fini(&t->a);
    rig_fini(&t->b);
    bf_str_fini(&t->of_a);
    bf_str_fini(&t->of_b);
}

static const bf_node_t *node_of(const bf_walk_point_t *point)
{
    return point->graph ? point->node : NULL;
}

static const char *name_of(const bf_node_t *node)
{
    return node ? node->id : "none";
}

static bool is_way_back(const command_t *c)
{
    return c->kind > 2 &&
           (c->action == BF_ACTION_BACK || c->action == BF_ACTION_BACK_JUMP ||
            c->action == BF_ACTION_FORWARD_JUMP);
}

/* Has the step been taken, and is the point still good? */
static bool has_returned(const twins_t *t, const bf_walk_point_t *point)
{
    return strstr(bf_str_peek(&t->of_a), ": 0 code 0 ") && point->graph &&
           point->version == bf_instance_states_version(t->a.inst);
}

/* What differs, "" = nothing. */
static const char *twins_do(twins_t *t, const command_t *c, int number)
{
    const bf_walk_point_t *point = bf_instance_walk_point(t->a.inst);
    const bf_node_t *before = node_of(point);
    used += before ? 1 : 0;
    do_command(&t->a, c, &t->of_a);
    do_command(&t->b, c, &t->of_b);
    moved += before && node_of(point) && node_of(point) != before;
    returned += before && is_way_back(c) && has_returned(t, point);
    if (!strcmp(bf_str_peek(&t->of_a), bf_str_peek(&t->of_b))) {
        return "";
    }
    return property_wrong("command %d, point was %s, is %s:\n%s\n\nnot\n%s", number,
                          name_of(before), name_of(node_of(point)), bf_str_peek(&t->of_a),
                          bf_str_peek(&t->of_b));
}

static const char *run_commands(twins_t *t, uint64_t seed)
{
    uint64_t state = seed + 41;
    const char *wrong = "";
    for (int i = 0; i < COMMANDS && !*wrong; i++) {
        command_t c = draw_command(&state, goes_back);
        wrong = twins_do(t, &c, i);
    }
    return wrong;
}

static const char *run_structured(uint64_t seed, unsigned size)
{
    gen_options_t options = {
        .seed = seed, .size = size, .with_tasks = true, .with_calls = seed % 3 == 0};
    gen_t *gen = gen_new(&options);
    twins_t t;
    for (unsigned i = 0; gen_layout(gen, i); i++) {
        property_graph(gen_layout(gen, i));
    }
    twins_init(&t, gen);
    const char *wrong = run_commands(&t, seed);
    twins_fini(&t);
    gen_free(gen);
    return wrong;
}

static const char *run_wild(uint64_t seed, unsigned size)
{
    bool is_calm = seed % 2;
    /* g calls h and k; k calls h; sometimes h calls g */
    gen_wild_t wild[3] = {
        {.id = "h", .size = 2 + size % 4, .calls = seed % 11 ? NULL : "g"},
        {.id = "k", .size = 2 + size % 5, .calls = "h"},
        {.id = "g", .size = 2 + size * 2 / 3, .calls = seed % 3 ? NULL : "h k"},
    };
    twins_t t;
    twins_init(&t, NULL);
    for (int i = 0; i < 3; i++) {
        wild[i].seed = seed + (uint64_t)i * 1000003;
        wild[i].with_tasks = true;
        wild[i].is_calm = is_calm;
        wild[i].with_jobs = seed % 4 == 0;
        char *layout = gen_wild(&wild[i]);
        property_graph(layout);
        twins_load(&t, layout);
        free(layout);
    }
    rig_set(&t.a, "n", 0);
    rig_set(&t.b, "n", 0);
    int64_t limit = seed % 5 ? 300 : 5 + (int64_t)(seed % 30);
    bf_executor_set_max_steps(t.a.executor, limit);
    bf_executor_set_max_steps(t.b.executor, limit);
    const char *wrong = run_commands(&t, seed);
    twins_fini(&t);
    return wrong;
}

static void check(property_sized_fn property, const char *name)
{
    used = 0;
    moved = 0;
    returned = 0;
    uint64_t cases = property_check_sized(property, CASES, name);
    if (cases >= CASES) { /* the test means something */
        cr_expect_gt(used, cases * COMMANDS / 8, "points were used %u times", used);
        cr_expect_gt(moved, cases / 4, "points moved %u times", moved);
        cr_expect_gt(returned, goes_back ? cases / 4 : 0, "back or jumped %u times",
                     returned);
    }
}

Test(walk_point, twins__are_the_same_in_structured_graphs)
{
    check(run_structured, "twins");
}

Test(walk_point, twins__that_go_back_and_jump_are_the_same_in_structured_graphs)
{
    goes_back = true;
    check(run_structured, "twins, back");
}

Test(walk_point, twins__are_the_same_in_wild_graphs)
{
    check(run_wild, "twins, wild");
}

Test(walk_point, twins__that_go_back_and_jump_are_the_same_in_wild_graphs)
{
    goes_back = true;
    check(run_wild, "twins, wild, back");
}

/* --- what points must not do --- */

#define NODE(id, more) "{\"id\":\"" id "\"" more "}"
#define ACTOR          ",\"meta\":{\"actor\":\"r0\"}"

static void load_layout(twins_t *t, const char *id, const char *nodes)
{
    char text[1024];
    (void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"layout\":[%s]}", id, nodes);
    twins_load(t, text);
}

/* Claim as r0 and submit forward. */
static void work(twins_t *t)
{
    command_t c = {.kind = 7, .action = BF_ACTION_FORWARD, .takes_claimed = true};
    c.guard = BF_GUARD_STRICT;
    cr_assert_str_eq(twins_do(t, &c, 0), "");
}

static void set_items(rig_t *rig, unsigned count)
{
    const bf_value_t items[] = {bf_value_int(1), bf_value_int(2), bf_value_int(3)};
    bf_value_t list = {.type = BF_VALUE_LIST, .len = count, .as.items = items};
    bf_instance_begin(rig->inst);
    cr_assert_eq(bf_context_put_str(rig->ctx, "items", &list, &rig->err), BF_OK);
    bf_instance_commit(rig->inst);
}

Test(walk_point, loop__takes_its_items_anew)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(
        &t, "g",
        NODE("s", ",\"type\":\"start\"") "," NODE("t", ACTOR) "," NODE(
            "l",
            ",\"type\":"
            "\"loop\","
            "\"meta\":{"
            "\"$for\":"
            "\"i\",\"$"
            "in\":"
            "\"items\"}") "," NODE("a",
                                   ",\"task\":\"@note\"") "," NODE("z",
                                                                   ",\"type\":"
                                                                   "\"loop\"") "," NODE("u",
                                                                                        ACTOR) "," NODE("v",
                                                                                                        ACTOR) "," NODE("e",
                                                                                                                        ",\"type\":"
                                                                                                                        "\"end\""));
    set_items(&t.a, 1);
    set_items(&t.b, 1);
    work(&t);
    cr_expect_str_eq(bf_str_peek(&t.a.notes), "a");
    set_items(&t.a, 3);
    set_items(&t.b, 3);
    work(&t);
    cr_expect_str_eq(bf_str_peek(&t.a.notes), "a a a");
    cr_expect_str_eq(bf_instance_walk_point(t.a.inst)->node->id, "l");
    twins_fini(&t);
}

Test(walk_point, graph_that_calls_itself__has_none)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(
        &t, "g",
        NODE("s", ",\"type\":\"start\"") "," NODE("a", ",\"task\":\"n = n + 1\"") "," NODE(
            "t",
            ACTOR) "," NODE("c",
                            ",\"task\":\"#g\",\"when\":\"n < 3\"") "," NODE("e",
                                                                            ",\"type\":"
                                                                            "\"end\""));
    rig_set(&t.a, "n", 0);
    rig_set(&t.b, "n", 0);
    for (int i = 0; i < 3; i++) {
        work(&t);
        cr_expect_null(bf_instance_walk_point(t.a.inst)->graph);
    }
    cr_expect_eq(bf_instance_status(t.a.inst), BF_INSTANCE_COMPLETED);
    twins_fini(&t);
}

Test(walk_point, end_that_was_come_to__is_still_told_of)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(
        &t, "g",
        NODE("s", ",\"type\":\"start\"") "," NODE(
            "p",
            ",\"type\":\"parallel\",\"link\":["
            "\"e\",\"t\"]") "," NODE("t", ACTOR
                                     ",\"link\":[]") "," NODE("e", ",\"type\":\"end\""));
    work(&t);
    cr_expect(strstr(bf_str_peek(&t.of_a), "code 0 g/e#1"), "%s", bf_str_peek(&t.of_a));
    twins_fini(&t);
}

static void take_back(rig_t *rig, const char *key)
{
    bf_instance_begin(rig->inst);
    cr_assert_eq(bf_instance_state_remove(rig->inst, key), BF_OK);
    bf_instance_commit(rig->inst);
}

/* b is submitted by somebody who has no task. */
static void force_b(rig_t *rig)
{
    bf_submit_result_t result = {0};
    bf_task_t b = {.node = bf_graph_node(rig->scope.graph, "b")};
    rig->guard = BF_GUARD_NONE;
    rig_act_as(rig, 1);
    cr_assert_eq(rig_submit(rig, &b, BF_ACTION_FORWARD, NULL, &result), BF_OK);
}

Test(walk_point, states_that_somebody_else_changed__make_it_useless)
{
    twins_t t;
    command_t find = {.kind = 0};
    command_t claim_b = {.kind = 7, .takes_claimed = true, .action = BF_ACTION_UNKNOWN};
    twins_init(&t, NULL);
    load_layout(&t, "g",
                NODE("s", ",\"type\":\"start\"") "," NODE("a", ACTOR) "," NODE(
                    "b", ACTOR) "," NODE("c", ACTOR) "," NODE("e", ",\"type\":\"end\""));
    work(&t);
    cr_assert_str_eq(twins_do(&t, &claim_b, 0), ""); /* the point is at b now */
    cr_expect_str_eq(bf_instance_walk_point(t.a.inst)->node->id, "b");
    take_back(&t.a, "g:a");
    take_back(&t.b, "g:a");
    force_b(&t.a);
    force_b(&t.b);
    cr_assert_str_eq(twins_do(&t, &find, 1), "");
    cr_expect(strstr(bf_str_peek(&t.of_a), "find 0 g/a#1:1001"), "%s",
              bf_str_peek(&t.of_a));
    twins_fini(&t);
}

Test(walk_point, pack_and_rollback__forget_it)
{
    twins_t t;
    bf_task_t task = {0};
    twins_init(&t, NULL);
    load_layout(&t, "g",
                NODE("s", ",\"type\":\"start\"") "," NODE("a", ACTOR) "," NODE(
                    "b", ACTOR) "," NODE("c", ACTOR) "," NODE("e", ",\"type\":\"end\""));
    work(&t);
    work(&t);
    const bf_walk_point_t *point = bf_instance_walk_point(t.a.inst);
    cr_expect_str_eq(point->node->id, "c");
    uint64_t version = point->version;
    bf_instance_begin(t.a.inst);
    cr_assert_eq(bf_executor_claim_in(t.a.executor, &t.a.scope, &task, &t.a.err), BF_OK);
    cr_expect_str_eq(task.node->id, "c");
    bf_instance_rollback(t.a.inst);
    cr_expect_neq(bf_instance_states_version(t.a.inst), version);
    cr_expect_neq(bf_instance_states_version(t.a.inst), point->version);
    bf_context_free(t.a.ctx); /* borrows variables that pack takes away */
    cr_assert_eq(bf_instance_pack(t.a.inst), BF_OK);
    cr_assert_eq(bf_instance_open(t.a.inst), BF_OK);
    cr_expect_null(bf_instance_walk_point(t.a.inst)->graph);
    t.a.ctx = bf_context_new_borrowing("i", bf_instance_vars(t.a.inst));
    t.a.scope.ctx = t.a.ctx;
    work(&t);
    twins_fini(&t);
}

/* --- steps back, and jumps --- */

/* As r0: claim, and submit what was claimed. */
static void step(twins_t *t, bf_action_t action, const char *target)
{
    command_t c = {.kind = 7, .action = action, .takes_claimed = true};
    const bf_node_t *node = target ? bf_graph_node(t->a.scope.graph, target) : NULL;
    c.guard = BF_GUARD_STRICT;
    c.number = node ? 1 : 0;
    c.target = node ? node->index : 0;
    cr_assert_str_eq(twins_do(t, &c, 0), "");
    cr_assert(strstr(bf_str_peek(&t->of_a), ": 0 code 0"), "%s", bf_str_peek(&t->of_a));
}

static void expect_point(const twins_t *t, const char *node)
{
    const bf_walk_point_t *point = bf_instance_walk_point(t->a.inst);
    cr_assert_not_null(point->graph);
    cr_expect_str_eq(point->node->id, node);
    cr_expect_eq(point->version, bf_instance_states_version(t->a.inst));
}

Test(walk_point, back__goes_to_the_place_before)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(
        &t, "g",
        NODE("s", ",\"type\":\"start\"") "," NODE("a", ACTOR) "," NODE(
            "n",
            ",\"task\":"
            "\"@note\"") "," NODE("b",
                                  ACTOR) "," NODE("c",
                                                  ACTOR) "," NODE("d",
                                                                  ACTOR) "," NODE("e",
                                                                                  ",\"typ"
                                                                                  "e\":"
                                                                                  "\"end"
                                                                                  "\""));
    work(&t);
    work(&t);
    work(&t); /* d is next */
    step(&t, BF_ACTION_BACK, NULL);
    expect_point(&t, "c");
    step(&t, BF_ACTION_BACK, NULL);
    expect_point(&t, "b");
    step(&t, BF_ACTION_BACK, NULL); /* over what is automatic */
    expect_point(&t, "a");
    work(&t);
    cr_expect_str_eq(bf_str_peek(&t.a.notes), "n n", "it is done again");
    step(&t, BF_ACTION_FORWARD_JUMP, "d");
    step(&t, BF_ACTION_BACK_JUMP, "b");
    expect_point(&t, "b");
    work(&t);
    work(&t);
    work(&t);
    cr_expect_eq(bf_instance_status(t.a.inst), BF_INSTANCE_COMPLETED);
    twins_fini(&t);
}

Test(walk_point, back__passes_a_place_that_is_nobodys)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(&t, "g",
                NODE("s", ",\"type\":\"start\"") "," NODE("a", ACTOR) "," NODE(
                    "n", ",\"task\":\"if (n < 1) { n = 1; context.interrupt(); "
                         "}\"") "," NODE("b", ACTOR) "," NODE("e", ",\"type\":\"end\""));
    rig_set(&t.a, "n", 0);
    rig_set(&t.b, "n", 0);
    work(&t);
    expect_point(&t, "n"); /* it has stopped there */
    step(&t, BF_ACTION_BACK, NULL);
    cr_expect(strstr(bf_str_peek(&t.of_a), "submit b as "), "%s", bf_str_peek(&t.of_a));
    expect_point(&t, "a");
    twins_fini(&t);
}

/* Jump to the END of the graph h, which was called before the task and could be again. */
static void jump_into_h(rig_t *rig)
{
    bf_task_t task = {0};
    bf_submit_result_t result = {0};
    rig_act_as(rig, 0);
    cr_assert_eq(rig_claim(rig, &task), BF_OK, "%s", rig->err.text);
    cr_assert_str_eq(task.node->id, "a");
    const bf_node_t *end = bf_graph_node(bf_engine_graph(rig->engine, "h"), "he");
    cr_assert_eq(rig_submit(rig, &task, BF_ACTION_FORWARD_JUMP, end, &result), BF_OK,
                 "%s", rig->err.text);
    cr_assert_eq(result.target_count, 1U);
    cr_expect_eq(result.targets[0].node, end);
    cr_expect_eq(bf_instance_status(rig->inst), BF_INSTANCE_COMPLETED);
}

Test(walk_point, forward_jump__sees_an_end_that_was_come_to_before)
{
    twins_t t;
    twins_init(&t, NULL);
    load_layout(&t, "h",
                NODE("s", ",\"type\":\"start\"") "," NODE("he", ",\"type\":\"end\""));
    load_layout(
        &t, "g",
        NODE("s", ",\"type\":\"start\"") "," NODE("c", ",\"task\":\"#h\"") "," NODE(
            "a", ACTOR) "," NODE("x",
                                 ",\"type\":\"exclusive\",\"link\":[\"e\","
                                 "{\"nextId\":\"again\",\"when\":\"n > "
                                 "5\"}]") "," NODE("again",
                                                   ",\"task\":\"#"
                                                   "h\"") "," NODE("e",
                                                                   ",\"type\":\"end\""));
    rig_set(&t.a, "n", 0);
    rig_set(&t.b, "n", 0);
    jump_into_h(&t.b);
    jump_into_h(&t.a);
    twins_fini(&t);
}
