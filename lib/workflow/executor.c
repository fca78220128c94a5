/*
 * executor.c - set-up, and the operations of the seed on a repository
 *
 * Each operation opens the instance of the context, runs in one transaction of the
 * instance and of the context's own variables, and tells the repository.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/executor.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "lib/workflow/executor_int.h"

bf_executor_t *bf_executor_new(bf_engine_t *engine, bf_controller_t *controller,
                               bf_repository_t *repo)
{
    bf_executor_t *executor = calloc(1, sizeof(*executor));
    if (!executor) {
        return NULL;
    }
    if (pthread_mutex_init(&executor->lock, NULL)) {
        free(executor);
        return NULL;
    }
    executor->engine = engine;
    executor->controller = controller;
    executor->repo = repo;
    bf_arena_init(&executor->arena, 0);
    return executor;
}

void bf_executor_free(bf_executor_t *executor)
{
    if (executor) {
        bf_arena_fini(&executor->arena);
        (void)pthread_mutex_destroy(&executor->lock);
        free(executor);
    }
}

bf_engine_t *bf_executor_engine(bf_executor_t *executor)
{
    return executor->engine;
}

bf_controller_t *bf_executor_controller(bf_executor_t *executor)
{
    return executor->controller;
}

bf_repository_t *bf_executor_repository(bf_executor_t *executor)
{
    return executor->repo;
}

void bf_executor_set_guard(bf_executor_t *executor, bf_guard_t guard)
{
    executor->guard = guard;
}

bf_guard_t bf_executor_guard(const bf_executor_t *executor)
{
    return executor->guard;
}

void bf_executor_set_max_steps(bf_executor_t *executor, int64_t max_steps)
{
    executor->max_steps = max_steps;
}

void bf_executor_set_thread_safe(bf_executor_t *executor, bool thread_safe)
{
    executor->thread_safe = thread_safe;
}

void bf_executor_set_from_start(bf_executor_t *executor, bool from_start)
{
    executor->from_start = from_start;
}

void bf_executor_set_recorder(bf_executor_t *executor, bf_recorder_fn recorder, void *arg)
{
    executor->recorder = recorder;
    executor->recorder_arg = arg;
}

bf_code_t bf_executor_code(const bf_executor_t *executor)
{
    return executor->code;
}

const char *bf_executor_remark(const bf_executor_t *executor)
{
    return executor->remark;
}

bf_status_t bf_executor_refuse(bf_executor_t *executor, bf_code_t code, bf_err_t *err,
                               const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)bf_err_setv(err, BF_E_REJECTED, fmt, args);
    va_end(args);
    executor->code = code;
    return BF_E_REJECTED;
}

/* --- an operation on a repository --- */

typedef struct job {
    bf_executor_t *executor;
    bf_scope_t scope;
    bool changes; /* keeps what it does */
    bool in_vars; /* the context's own variables are in a transaction */
} job_t;

static const char *text_of_caller(const bf_executor_t *executor, const bf_context_t *ctx)
{
    const char *key = bf_controller_actor_key(executor->controller);
    const bf_value_t *value = bf_context_caller_value(ctx, key, strlen(key));
    return value && value->type == BF_VALUE_STRING ? value->as.string : NULL;
}

/* Variables of the caller are kept with the instance, apart from who it is (decision on
 * rule 116). */
static bf_status_t keep_vars(const job_t *job, bf_err_t *err)
{
    const bf_vars_t *own = bf_context_vars(job->scope.ctx);
    bf_vars_t *kept = bf_instance_vars(job->scope.inst);
    size_t cursor = 0;
    const char *name;
    size_t len;
    const bf_value_t *value;
    while (bf_vars_next(own, &cursor, &name, &len, &value)) {
        const bf_value_t *old = bf_vars_get(kept, name, len);
        if ((old && bf_value_equal(old, value)) ||
            bf_controller_is_key(job->executor->controller, name, len)) {
            continue;
        }
        if (bf_vars_set(kept, name, len, value) != BF_OK) {
            return bf_err_nomem(err, "variables of an instance");
        }
    }
    return BF_OK;
}

static bf_status_t job_begin(job_t *job, bf_executor_t *executor, bf_graph_t *graph,
                             bf_context_t *ctx, bool changes, bf_err_t *err)
{
    bf_repository_t *repo = executor->repo;
    if (executor->thread_safe) {
        (void)pthread_mutex_lock(&executor->lock);
    }
    executor->code = BF_CODE_OK;
    *job = (job_t){.executor = executor,
                   .scope = {.graph = graph, .ctx = ctx, .arena = &executor->arena},
                   .changes = changes};
    if (!repo) {
        return bf_err_set(err, BF_E_INVALID,
                          "the executor has no repository; give it one");
    }
    bf_status_t rc =
        repo->ops->open(repo, bf_context_instance_id(ctx), &job->scope.inst, err);
    if (rc != BF_OK) {
        job->scope.inst = NULL;
        return rc;
    }
    bf_instance_begin(job->scope.inst);
    (void)bf_context_lacked_memory(ctx); /* not of this operation */
    const bf_origin_t origin = {.actor = text_of_caller(executor, ctx),
                                .seq = bf_instance_seq(job->scope.inst)};
    bf_context_set_origin(ctx, &origin);
    bf_vars_t *kept = bf_instance_vars(job->scope.inst);
    if (bf_context_vars(ctx) != kept) {
        bf_vars_begin(bf_context_vars(ctx));
        job->in_vars = true;
        bf_context_set_base(ctx, kept);
    }
    return job->in_vars && changes ? keep_vars(job, err) : BF_OK;
}

static bf_status_t job_end(job_t *job, bf_status_t rc, bf_err_t *err)
{
    bf_instance_t *inst = job->scope.inst;
    if (bf_context_lacked_memory(job->scope.ctx)) {
        bf_err_clear(err);
        rc = bf_err_nomem(err, "a controller");
    }
    bool keep = rc == BF_OK && job->changes;
    bf_context_set_origin(job->scope.ctx, NULL);
    bool changed = keep && bf_instance_changed(inst);
    if (changed && bf_instance_touch(inst, NULL, bf_clock_wall_ms()) != BF_OK) {
        rc = bf_err_nomem(err, "instance");
        keep = false;
    }
    if (job->in_vars) {
        bf_context_set_base(job->scope.ctx, NULL);
        if (keep) {
            bf_vars_commit(bf_context_vars(job->scope.ctx));
        } else {
            bf_vars_rollback(bf_context_vars(job->scope.ctx));
        }
    }
    if (inst && keep) {
        bf_instance_commit(inst);
        if (changed && job->executor->repo->ops->changed) {
            rc = job->executor->repo->ops->changed(job->executor->repo, inst, err);
        }
    } else if (inst) {
        bf_instance_rollback(inst);
    }
    bf_arena_clear(&job->executor->arena);
    if (job->executor->thread_safe) {
        (void)pthread_mutex_unlock(&job->executor->lock);
    }
    return rc;
}

/* Work that the operation has handed to services. Without a recorder nobody would hear of
 * it; the node waits all the same. */
static bf_status_t record_dispatched(const job_t *job, const char *command_id,
                                     bf_err_t *err)
{
    bf_executor_t *executor = job->executor;
    bf_history_step_t step = {.graph = job->scope.graph,
                              .creator = text_of_caller(executor, job->scope.ctx),
                              .command_id = command_id,
                              .now_wall_ms = bf_clock_wall_ms()};
    bf_history_t *rows = NULL;
    size_t count = 0;
    if (!executor->recorder) {
        return BF_OK;
    }
    bf_status_t rc =
        bf_executor_dispatch_rows(executor, &job->scope, &step, &rows, &count, err);
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        rc = executor->recorder(executor->recorder_arg, &rows[i], err);
    }
    return rc;
}

bf_status_t bf_executor_claim_task(bf_executor_t *executor, bf_graph_t *graph,
                                   bf_context_t *ctx, bf_task_t *ret, bf_err_t *err)
{
    job_t job;
    bf_status_t rc = job_begin(&job, executor, graph, ctx, true, err);
    bf_task_t task = {0};
    if (rc == BF_OK) {
        rc = bf_executor_claim_in(executor, &job.scope, &task, err);
    }
    if (rc == BF_OK) {
        rc = record_dispatched(&job, NULL, err);
    }
    rc = job_end(&job, rc, err);
    if (rc == BF_OK) {
        *ret = task;
    }
    return rc;
}

bf_status_t bf_executor_find_task(bf_executor_t *executor, bf_graph_t *graph,
                                  bf_context_t *ctx, bf_task_t *ret, bf_err_t *err)
{
    job_t job;
    bf_status_t rc = job_begin(&job, executor, graph, ctx, false, err);
    if (rc == BF_OK) {
        rc = bf_executor_find_in(executor, &job.scope, ret, err);
    }
    return job_end(&job, rc, err);
}

bf_status_t bf_executor_find_next_tasks(bf_executor_t *executor, bf_graph_t *graph,
                                        bf_context_t *ctx, bf_arena_t *arena,
                                        bf_task_t **ret, size_t *ret_count, bf_err_t *err)
{
    job_t job;
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_task_t *copy = NULL;
    bf_status_t rc = job_begin(&job, executor, graph, ctx, false, err);
    if (rc == BF_OK) {
        rc = bf_executor_find_next_in(executor, &job.scope, &tasks, &count, err);
    }
    if (rc == BF_OK) {
        copy = bf_arena_calloc(arena, count, sizeof(*copy));
        rc = copy ? BF_OK : bf_err_nomem(err, "tasks");
    }
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        copy[i] = tasks[i];
    }
    rc = job_end(&job, rc, err);
    if (rc == BF_OK) {
        *ret = copy;
        *ret_count = count;
    }
    return rc;
}

bf_status_t bf_executor_get_state(bf_executor_t *executor, const bf_node_t *node,
                                  bf_context_t *ctx, bf_task_state_t *ret, bf_err_t *err)
{
    job_t job;
    bf_status_t rc = job_begin(&job, executor, NULL, ctx, false, err);
    if (rc == BF_OK) {
        *ret = bf_instance_state(job.scope.inst, node->state_key);
    }
    return job_end(&job, rc, err);
}

/* --- submit --- */

/* The rows go to the recorder inside of the transaction: what it refuses undoes all. */
static bf_status_t record_rows(const job_t *job, const bf_submit_t *submit,
                               const bf_submit_result_t *result, bf_err_t *err)
{
    bf_executor_t *executor = job->executor;
    if (!executor->recorder) {
        return BF_OK;
    }
    if (!result->target_count) {
        return record_dispatched(job, submit->command_id, err);
    }
    const char *caller = text_of_caller(executor, job->scope.ctx);
    const bf_value_t *named =
        bf_node_meta(result->source, bf_controller_actor_key(executor->controller));
    bf_task_t source = {.node = result->source,
                        .state = bf_action_target_state(submit->action),
                        .round = result->round};
    bf_history_step_t step = {
        .graph = job->scope.graph,
        .source = &source,
        .action = submit->action,
        .assignee = caller || !named || named->type != BF_VALUE_STRING ? caller
                                                                       : named->as.string,
        .creator = caller,
        .message = submit->message,
        .has_form_id = submit->has_form_id,
        .form_id = submit->form_id,
        .command_id = submit->command_id,
        .now_wall_ms = bf_clock_wall_ms(),
    };
    bf_history_t *rows = NULL;
    bf_status_t rc = bf_history_build(job->scope.inst, &step, result->targets,
                                      result->target_count, job->scope.arena, &rows, err);
    for (size_t i = 0; rc == BF_OK && i < result->target_count; i++) {
        rc = executor->recorder(executor->recorder_arg, &rows[i], err);
    }
    return rc == BF_OK ? record_dispatched(job, submit->command_id, err) : rc;
}

static void set_command(const job_t *job, const bf_submit_t *submit)
{
    bf_origin_t origin = *bf_context_origin(job->scope.ctx);
    origin.command_id = submit->command_id;
    bf_context_set_origin(job->scope.ctx, &origin);
}

bf_status_t bf_executor_submit_task(bf_executor_t *executor, bf_graph_t *graph,
                                    const bf_submit_t *submit, bf_context_t *ctx,
                                    bf_err_t *err)
{
    job_t job;
    bf_submit_result_t result = {0};
    bf_status_t rc = job_begin(&job, executor, graph, ctx, true, err);
    set_command(&job, submit);
    if (rc == BF_OK) {
        rc = bf_executor_submit_in(executor, &job.scope, submit, executor->guard, &result,
                                   err);
    }
    if (rc == BF_OK) {
        rc = record_rows(&job, submit, &result, err);
    }
    return job_end(&job, rc, err);
}

/* A task that is not WAITING any more, or not the caller's, is no error here: false. */
bf_status_t bf_executor_submit_task_if_waiting(bf_executor_t *executor, bf_graph_t *graph,
                                               const bf_task_t *task,
                                               const bf_submit_t *submit,
                                               bf_context_t *ctx, bool *ret,
                                               bf_err_t *err)
{
    *ret = false;
    if (!task || !task->node || task->state != BF_TASK_WAITING) {
        return BF_OK;
    }
    job_t job;
    bf_err_t why = BF_ERR_INIT;
    bf_submit_result_t result = {0};
    bf_submit_t filled = *submit;
    filled.node = task->node;
    filled.round = task->round;
    bf_status_t rc = job_begin(&job, executor, graph, ctx, true, &why);
    set_command(&job, &filled);
    if (rc == BF_OK) {
        rc = bf_executor_submit_if_waiting_in(executor, &job.scope, &filled,
                                              executor->guard, &result, &why);
    }
    if (rc == BF_OK) {
        rc = record_rows(&job, &filled, &result, &why);
    }
    rc = job_end(&job, rc, &why);
    *ret = rc == BF_OK;
    bool only_no = rc == BF_E_REJECTED && (executor->code == BF_CODE_NOT_WAITING ||
                                           executor->code == BF_CODE_NOT_OPERABLE);
    if (rc == BF_OK || only_no) {
        return BF_OK;
    }
    return bf_err_set(err, rc, "%s", why.text);
}

bf_status_t bf_executor_run_task(bf_executor_t *executor, bf_graph_t *graph,
                                 const bf_node_t *node, bf_context_t *ctx, bf_err_t *err)
{
    job_t job;
    bf_status_t rc = job_begin(&job, executor, graph, ctx, true, err);
    if (rc == BF_OK) {
        bf_flow_t flow;
        bf_flow_init(&flow, executor, &job.scope, BF_INTENT_NONE);
        rc = bf_flow_run_at(&flow, node, err);
    }
    return job_end(&job, rc, err);
}
