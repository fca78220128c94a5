/*
 * test_command.c - a command that runs out of memory is rejected and changes nothing
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/command.h"
#include "bpmflow/executor.h"
#include "tests/oom/oom.h"

static const char text[] =
    "id: g\n"
    "layout:\n"
    "  - {id: s, type: start, link: a}\n"
    "  - {id: a, meta: {actor: amy}, task: 'x = 1', link: p}\n"
    "  - {id: p, type: parallel, link: [b, c]}\n"
    "  - {id: b, task: 'y = text + x', link: j}\n"
    "  - {id: c, meta: {actor: bob}, link: j}\n"
    "  - {id: j, type: parallel, link: i}\n"
    "  - {id: i, type: inclusive, link: [{nextId: k, when: x > 0}, {nextId: d}]}\n"
    "  - {id: k, task: '#sub', link: m}\n"
    "  - {id: d, link: m}\n"
    "  - {id: m, type: inclusive, link: e}\n"
    "  - {id: e, type: end}\n";
static const char sub[] = "id: sub\n"
                          "layout:\n"
                          "  - {id: s, type: start, link: t}\n"
                          "  - {id: t, task: 'z = [x, y]', link: e}\n"
                          "  - {id: e, type: end}\n";

typedef struct step {
    const char *name;
    bf_verb_t verb;
    const char *node;
    bf_action_t action;
    const char *actor;
} step_t;

/* Each one is swept in the state that those before it have led to. */
static const step_t steps[] = {
    {"start", BF_VERB_START, NULL, BF_ACTION_FORWARD, "amy"},
    {"claim", BF_VERB_CLAIM, NULL, BF_ACTION_FORWARD, "amy"},
    {"find", BF_VERB_FIND, NULL, BF_ACTION_FORWARD, "amy"},
    {"set_vars", BF_VERB_SET_VARS, NULL, BF_ACTION_FORWARD, "amy"},
    {"submit a", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "amy"},
    {"back c", BF_VERB_SUBMIT, "c", BF_ACTION_BACK, "bob"},
    {"submit a again", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "amy"},
    {"find_next", BF_VERB_FIND_NEXT, NULL, BF_ACTION_FORWARD, "bob"},
    {"get_state", BF_VERB_GET_STATE, NULL, BF_ACTION_FORWARD, "bob"},
    {"submit c", BF_VERB_SUBMIT, "c", BF_ACTION_FORWARD, "bob"},
    {"restart", BF_VERB_SUBMIT, NULL, BF_ACTION_RESTART, "bob"},
};

static bf_engine_t *engine;
static bf_controller_t *controller;
static bf_executor_t *executor;

static void load(const char *definition)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_graph_load_text(definition, strlen(definition), NULL, NULL, &graph,
                                 &err) == BF_OK);
    BF_ASSERT(bf_engine_load(engine, graph, &err) == BF_OK);
    bf_graph_unref(graph);
}

static bf_outcome_t execute(const step_t *step, bf_instance_t *inst, bf_arena_t *arena)
{
    static const bf_member_t members[] = {
        {"text", 4, {.type = BF_VALUE_STRING, .len = 3, .as.string = "abc"}}};
    bf_command_env_t env = {.executor = executor};
    bf_command_t command = {
        .command_id = "c",
        .verb = step->verb,
        .instance_id = "i",
        .graph_id = step->verb == BF_VERB_START ? "g" : NULL,
        .node_id = step->node,
        .action = step->action,
        .actor = step->actor,
        .vars = {.type = BF_VALUE_MAP, .len = 1, .as.members = members},
    };
    bf_outcome_t out;
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_command_execute(&env, &command, inst, arena, 1, &out, &err) == BF_OK);
    return out;
}

static void write_row(bf_instance_t *inst, bf_arena_t *arena, bf_instance_row_t *ret)
{
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_instance_open(inst) == BF_OK);
    BF_ASSERT(bf_instance_write_row(inst, arena, ret, &err) == BF_OK);
}

static bool is_same(bf_text_t a, bf_text_t b)
{
    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

/* Bring an instance to the state before the step, then let the step fail. */
static bf_status_t run(void *arg)
{
    const step_t *step = arg;
    bf_arena_t arena;
    bf_instance_row_t before;
    bf_instance_row_t after;
    bf_oom_pause();
    bf_arena_init(&arena, 0);
    bf_instance_t *inst = bf_instance_new("i");
    BF_ASSERT(inst);
    for (const step_t *s = steps; s < step; s++) {
        BF_ASSERT(execute(s, inst, &arena).code == BF_CODE_OK);
    }
    write_row(inst, &arena, &before);
    BF_ASSERT(bf_instance_pack(inst) == BF_OK); /* opening it may fail, too */
    bf_oom_resume();
    bf_outcome_t out = execute(step, inst, &arena);
    bf_oom_pause();
    if (out.code != BF_CODE_OK) {
        BF_ASSERT(out.code == BF_CODE_NO_MEMORY);
        BF_ASSERT(out.error);
        write_row(inst, &arena, &after);
        BF_ASSERT(is_same(before.states, after.states));
        BF_ASSERT(is_same(before.vars, after.vars));
        BF_ASSERT(is_same(before.graph, after.graph));
        BF_ASSERT(before.rev == after.rev && before.seq == after.seq);
        BF_ASSERT(before.status == after.status);
    }
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    bf_oom_resume();
    return out.code == BF_CODE_OK ? BF_OK : BF_E_NOMEM;
}

int main(void)
{
    engine = bf_engine_new();
    controller = bf_actor_controller_new(NULL, 0);
    BF_ASSERT(engine && controller);
    load(text);
    load(sub);
    executor = bf_executor_new(engine, controller, NULL);
    BF_ASSERT(executor);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        step_t *step = (step_t *)(uintptr_t)&steps[i];
        bf_oom_sweep(steps[i].name, run, step);
    }
    bf_executor_free(executor);
    bf_controller_free(controller);
    bf_engine_free(engine);
    return bf_oom_result();
}
