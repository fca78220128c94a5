/*
 * test_command_order.c - the same commands give the same instance, however they come
 *
 * Random commands (fixed seed), right ones and wrong ones, for many instances of some
 * graphs.  They are applied instance by instance, interleaved, with each instance saved
 * and loaded after every command, and with each packed: the outcomes and the rows at the
 * end are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/support/flow.h"

#define INSTANCES 40
#define COMMANDS  60 /* for each instance */

static const char *const graphs[] = {
    "id: line\n"
    "layout:\n"
    "  - {id: s, type: start, link: a}\n"
    "  - {id: a, meta: {actor: amy}, link: b}\n"
    "  - {id: b, task: 'n = n + 1', link: c}\n"
    "  - {id: c, meta: {actor: bob}, link: x}\n"
    "  - id: x\n"
    "    type: exclusive\n"
    "    link: [{nextId: a, when: again}, {nextId: d}]\n"
    "  - {id: d, meta: {actor: eve}, link: e}\n"
    "  - {id: e, type: end}\n",
    "id: wide\n"
    "layout:\n"
    "  - {id: s, type: start, link: p}\n"
    "  - {id: p, type: inclusive, link: [{nextId: a, when: k > 0}, {nextId: c, when: k > "
    "1},"
    " {nextId: d}]}\n"
    "  - {id: a, meta: {actor: amy}, link: b}\n"
    "  - {id: b, meta: {actor: bob}, link: j}\n"
    "  - {id: c, meta: {actor: eve}, link: j}\n"
    "  - {id: d, task: 'n = n + 1', link: j}\n"
    "  - {id: j, type: inclusive, link: x}\n"
    "  - {id: x, meta: {actor: amy}, link: e}\n"
    "  - {id: e, type: end}\n",
};
static const char *const nodes[] = {"a", "b", "c", "d", "x", "j", "e"};
static const char *const actors[] = {"amy", "bob", "eve"};
static const char *const variables[] = {"{\"again\":true,\"k\":2,\"n\":0}",
                                        "{\"again\":false,\"k\":1}", "{\"k\":0}",
                                        "{\"again\":null}"};
static const bf_action_t actions[] = {
    BF_ACTION_FORWARD, BF_ACTION_FORWARD, BF_ACTION_FORWARD,   BF_ACTION_FORWARD,
    BF_ACTION_BACK,    BF_ACTION_RESTART, BF_ACTION_BACK_JUMP, BF_ACTION_FORWARD_JUMP};
static const bf_verb_t verbs[] = {BF_VERB_CLAIM,     BF_VERB_SUBMIT, BF_VERB_SUBMIT,
                                  BF_VERB_SUBMIT,    BF_VERB_FIND,   BF_VERB_SET_VARS,
                                  BF_VERB_FIND_NEXT, BF_VERB_START};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t pick(uint64_t *random, size_t count)
{
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((*random >> 33) % count);
}

/* Command `number` of instance `which`: depends on these two alone. */
static bf_command_t make_command(flow_t *flow, unsigned which, unsigned number)
{
    uint64_t random = which * 1000003ULL + number * 7919ULL + 17;
    (void)pick(&random, 2);
    bf_command_t command = flow_command(
        flow, number ? verbs[pick(&random, COUNT_OF(verbs))] : BF_VERB_START, "");
    command.command_id = "c";
    command.graph_id = number ? NULL : which % 2 ? "line" : "wide";
    command.node_id = nodes[pick(&random, COUNT_OF(nodes))];
    command.target_id = pick(&random, 2) ? nodes[pick(&random, COUNT_OF(nodes))] : NULL;
    command.actor = actors[pick(&random, COUNT_OF(actors))];
    command.action = actions[pick(&random, COUNT_OF(actions))];
    if (!number || pick(&random, 5) == 0) {
        command.vars =
            flow_json(flow, variables[number ? pick(&random, COUNT_OF(variables)) : 0]);
    }
    return command;
}

typedef enum { KEEP, SAVE_AND_LOAD, PACK } between_t;

typedef struct world {
    flow_t flow;
    bf_instance_t *instances[INSTANCES];
    bf_str_t outcomes[INSTANCES];
    unsigned accepted;
} world_t;

static void world_init(world_t *world)
{
    char id[16];
    flow_init(&world->flow);
    bf_executor_set_max_steps(world->flow.executor, 300); /* some of them never end */
    world->accepted = 0;
    for (size_t i = 0; i < COUNT_OF(graphs); i++) {
        (void)flow_load(&world->flow, graphs[i]);
    }
    for (unsigned i = 0; i < INSTANCES; i++) {
        (void)snprintf(id, sizeof(id), "i-%u", i);
        world->instances[i] = bf_instance_new(id);
        bf_str_init(&world->outcomes[i], 0);
    }
}

static void world_fini(world_t *world)
{
    for (unsigned i = 0; i < INSTANCES; i++) {
        bf_instance_free(world->instances[i]);
        bf_str_fini(&world->outcomes[i]);
    }
    flow_fini(&world->flow);
}

static void save_and_load(world_t *world, unsigned which)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    bf_instance_t *old = world->instances[which];
    bf_instance_t *copy = bf_instance_new(bf_instance_id(old));
    cr_assert_eq(bf_instance_write_row(old, &world->flow.arena, &row, &err), BF_OK);
    cr_assert_eq(bf_instance_load_row(copy, &row, &err), BF_OK, "%s", err.text);
    bf_instance_free(old);
    world->instances[which] = copy;
}

static void apply(world_t *world, unsigned which, unsigned number, between_t between)
{
    bf_command_t command = make_command(&world->flow, which, number);
    bf_outcome_t out = flow_execute(&world->flow, world->instances[which], &command);
    bf_str_printf(&world->outcomes[which], "%u %s/%s %s: %s rev %d task %s rows %zu; ",
                  number, bf_verb_name(command.verb), bf_action_name(command.action),
                  command.node_id, bf_code_name(out.code), (int)out.revision,
                  out.task ? out.task->task.node->id : "-", out.history_count);
    world->accepted += out.code == BF_CODE_OK;
    if (between == SAVE_AND_LOAD) {
        save_and_load(world, which);
    } else if (between == PACK) {
        cr_assert_eq(bf_instance_pack(world->instances[which]), BF_OK);
    }
    bf_arena_clear(&world->flow.arena);
}

static void apply_one_by_one(world_t *world, between_t between)
{
    for (unsigned i = 0; i < INSTANCES; i++) {
        for (unsigned k = 0; k < COMMANDS; k++) {
            apply(world, i, k, between);
        }
    }
}

static void apply_interleaved(world_t *world)
{
    unsigned next[INSTANCES] = {0};
    uint64_t random = 99;
    for (unsigned done = 0; done < INSTANCES * COMMANDS; done++) {
        unsigned which = pick(&random, INSTANCES);
        while (next[which] == COMMANDS) {
            which = (which + 1) % INSTANCES;
        }
        apply(world, which, next[which]++, KEEP);
    }
}

static void assert_same(world_t *a, world_t *b)
{
    for (unsigned i = 0; i < INSTANCES; i++) {
        cr_assert_eq(bf_instance_open(a->instances[i]), BF_OK);
        cr_assert_eq(bf_instance_open(b->instances[i]), BF_OK);
        cr_assert_str_eq(bf_str_peek(&a->outcomes[i]), bf_str_peek(&b->outcomes[i]));
        cr_assert_str_eq(flow_row(&a->flow, a->instances[i]),
                         flow_row(&b->flow, b->instances[i]));
    }
}

static world_t first;
static world_t second;

static void setup(void)
{
    world_init(&first);
    world_init(&second);
    apply_one_by_one(&first, KEEP);
}

static void teardown(void)
{
    world_fini(&first);
    world_fini(&second);
}

TestSuite(command_order, .init = setup, .fini = teardown);

Test(command_order, execute__is_the_same_in_any_interleaving_of_instances)
{
    apply_interleaved(&second);
    assert_same(&first, &second);
    cr_assert_gt(first.accepted, INSTANCES * COMMANDS / 5); /* the test means something */
}

Test(command_order, execute__is_the_same_with_each_instance_saved_and_loaded)
{
    apply_one_by_one(&second, SAVE_AND_LOAD);
    assert_same(&first, &second);
}

Test(command_order, execute__is_the_same_with_each_instance_packed)
{
    apply_one_by_one(&second, PACK);
    assert_same(&first, &second);
}
