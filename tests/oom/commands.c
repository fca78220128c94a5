/*
 * commands.c - the allocation sweep over commands of one instance
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/oom/commands.h"

#include <stdio.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/executor.h"
#include "tests/oom/oom.h"

typedef struct sweep {
    bf_executor_t *executor;
    const oom_step_t *first;
    const oom_step_t *step;
} sweep_t;

void oom_load(bf_engine_t *engine, const char *definition)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_graph_load_text(definition, strlen(definition), NULL, NULL, &graph,
                                 &err) == BF_OK);
    BF_ASSERT(bf_engine_load(engine, graph, &err) == BF_OK);
    bf_graph_unref(graph);
}

static bf_outcome_t execute(const sweep_t *sweep, const oom_step_t *step,
                            bf_instance_t *inst, bf_arena_t *arena)
{
    static const bf_member_t members[] = {
        {"text", 4, {.type = BF_VALUE_STRING, .len = 3, .as.string = "abc"}}};
    bf_command_env_t env = {.executor = sweep->executor};
    bf_command_t command = {
        .command_id = "c",
        .verb = step->verb,
        .instance_id = "i",
        .graph_id = step->verb == BF_VERB_START ? "g" : NULL,
        .node_id = step->node,
        .action = step->action,
        .actor = step->actor,
        .vars = {.type = BF_VALUE_MAP, .len = 1, .as.members = members},
        .has_job = step->job != 0,
        .job = step->job,
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

static void check_rejected(const bf_outcome_t *out, const bf_instance_row_t *before,
                           const bf_instance_row_t *after)
{
    if (out->code != BF_CODE_NO_MEMORY) {
        (void)fprintf(stderr, "%s: %s\n", bf_code_name(out->code), out->error);
    }
    BF_ASSERT(out->code == BF_CODE_NO_MEMORY);
    BF_ASSERT(out->error);
    BF_ASSERT(is_same(before->states, after->states));
    BF_ASSERT(is_same(before->vars, after->vars));
    BF_ASSERT(is_same(before->graph, after->graph));
    BF_ASSERT(before->rev == after->rev && before->seq == after->seq);
    BF_ASSERT(before->status == after->status);
}

/* Bring an instance to the state before the step, then let the step fail. */
static bf_status_t run(void *arg)
{
    const sweep_t *sweep = arg;
    bf_arena_t arena;
    bf_instance_row_t before;
    bf_instance_row_t after;
    bf_oom_pause();
    bf_arena_init(&arena, 0);
    bf_instance_t *inst = bf_instance_new("i");
    BF_ASSERT(inst);
    for (const oom_step_t *s = sweep->first; s < sweep->step; s++) {
        BF_ASSERT(execute(sweep, s, inst, &arena).code == BF_CODE_OK);
    }
    write_row(inst, &arena, &before);
    BF_ASSERT(bf_instance_pack(inst) == BF_OK); /* opening it may fail, too */
    bf_oom_resume();
    bf_outcome_t out = execute(sweep, sweep->step, inst, &arena);
    bf_oom_pause();
    if (out.code != BF_CODE_OK) {
        write_row(inst, &arena, &after);
        check_rejected(&out, &before, &after);
    }
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    bf_oom_resume();
    return out.code == BF_CODE_OK ? BF_OK : BF_E_NOMEM;
}

void oom_sweep_steps(bf_executor_t *executor, const oom_step_t *steps, size_t count)
{
    sweep_t sweep = {.executor = executor, .first = steps};
    for (size_t i = 0; i < count; i++) {
        sweep.step = &steps[i];
        bf_oom_sweep(steps[i].name, run, &sweep);
    }
}
