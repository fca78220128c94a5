/*
 * test_command.c - a command that runs out of memory is rejected and changes nothing
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/assert.h"
#include "bpmflow/executor.h"
#include "tests/oom/commands.h"
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

static const oom_step_t steps[] = {
    {"start", BF_VERB_START, NULL, BF_ACTION_FORWARD, "amy", 0},
    {"claim", BF_VERB_CLAIM, NULL, BF_ACTION_FORWARD, "amy", 0},
    {"find", BF_VERB_FIND, NULL, BF_ACTION_FORWARD, "amy", 0},
    {"set_vars", BF_VERB_SET_VARS, NULL, BF_ACTION_FORWARD, "amy", 0},
    {"submit a", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "amy", 0},
    {"back c", BF_VERB_SUBMIT, "c", BF_ACTION_BACK, "bob", 0},
    {"submit a again", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "amy", 0},
    {"find_next", BF_VERB_FIND_NEXT, NULL, BF_ACTION_FORWARD, "bob", 0},
    {"get_state", BF_VERB_GET_STATE, NULL, BF_ACTION_FORWARD, "bob", 0},
    {"submit c", BF_VERB_SUBMIT, "c", BF_ACTION_FORWARD, "bob", 0},
    {"restart", BF_VERB_SUBMIT, NULL, BF_ACTION_RESTART, "bob", 0},
};

int main(void)
{
    bf_engine_t *engine = bf_engine_new();
    bf_controller_t *controller = bf_actor_controller_new(NULL, 0);
    BF_ASSERT(engine && controller);
    oom_load(engine, text);
    oom_load(engine, sub);
    bf_executor_t *executor = bf_executor_new(engine, controller, NULL);
    BF_ASSERT(executor);
    oom_sweep_steps(executor, steps, sizeof(steps) / sizeof(steps[0]));
    bf_executor_free(executor);
    bf_controller_free(controller);
    bf_engine_free(engine);
    return bf_oom_result();
}
