/*
 * command_verb.c - what each verb does, and what its reply says
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/workflow/command_int.h"

/* --- replies --- */

static bool put_task(bf_run_t *run, const bf_task_t *task)
{
    if (!task->node) {
        return true;
    }
    bf_outcome_task_t *copy = bf_arena_alloc(run->scope.arena, sizeof(*copy));
    if (!copy) {
        return bf_run_fail(run, BF_E_NOMEM);
    }
    *copy = (bf_outcome_task_t){.task = *task, .graph_id = task->node->graph->id};
    run->out->task = copy;
    return true;
}

/* END is where a step leads, not a task. */
static bool put_next_tasks(bf_run_t *run, const bf_task_t *tasks, size_t count)
{
    bf_outcome_task_t *copies = bf_arena_calloc(run->scope.arena, count, sizeof(*copies));
    if (!copies) {
        return bf_run_fail(run, BF_E_NOMEM);
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (tasks[i].node->type != BF_NODE_END) {
            copies[used++] = (bf_outcome_task_t){.task = tasks[i],
                                                 .graph_id = tasks[i].node->graph->id};
        }
    }
    run->out->next_tasks = copies;
    run->out->next_task_count = used;
    return true;
}

/* Why there is no task; a remark of an accepted command. */
static void put_remark(bf_run_t *run, const bf_task_t *task)
{
    if (!task->node) {
        run->out->error = bf_executor_remark(run->env->executor);
    }
}

/* Behind the rows of the step: those of the work that was handed to services. */
static bool put_dispatched(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    bf_history_step_t step = {.graph = run->scope.graph,
                              .creator = command->actor,
                              .command_id = command->command_id,
                              .now_wall_ms = run->now_wall_ms};
    bf_history_t *rows = NULL;
    size_t count = 0;
    bf_outcome_t *out = run->out;
    bf_status_t rc = bf_executor_dispatch_rows(run->env->executor, &run->scope, &step,
                                               &rows, &count, &run->err);
    if (rc != BF_OK) {
        return bf_run_fail(run, rc);
    }
    if (!count) {
        return true;
    }
    bf_history_t *all =
        bf_arena_calloc(run->scope.arena, out->history_count + count, sizeof(*all));
    if (!all) {
        return bf_run_fail(run, BF_E_NOMEM);
    }
    if (out->history_count) {
        memcpy(all, out->history, out->history_count * sizeof(*all));
    }
    memcpy(all + out->history_count, rows, count * sizeof(*all));
    out->history = all;
    out->history_count += count;
    return true;
}

/* --- start, claim, find --- */

static bool run_start(bf_run_t *run)
{
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_status_t rc =
        bf_executor_start_in(run->env->executor, &run->scope, &tasks, &count, &run->err);
    return rc == BF_OK ? put_dispatched(run) && put_next_tasks(run, tasks, count)
                       : bf_run_fail(run, rc);
}

static bool run_claim(bf_run_t *run)
{
    bf_task_t task = {0};
    bf_status_t rc =
        bf_executor_claim_in(run->env->executor, &run->scope, &task, &run->err);
    if (rc != BF_OK) {
        return bf_run_fail(run, rc);
    }
    put_remark(run, &task);
    return put_dispatched(run) && put_task(run, &task);
}

static bool run_find(bf_run_t *run)
{
    bf_task_t task = {0};
    bf_status_t rc =
        bf_executor_find_in(run->env->executor, &run->scope, &task, &run->err);
    if (rc != BF_OK) {
        return bf_run_fail(run, rc);
    }
    put_remark(run, &task);
    return put_task(run, &task);
}

static bool run_find_next(bf_run_t *run)
{
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_status_t rc = bf_executor_find_next_in(run->env->executor, &run->scope, &tasks,
                                              &count, &run->err);
    return rc == BF_OK ? put_next_tasks(run, tasks, count) : bf_run_fail(run, rc);
}

/* --- submit --- */

/* The actor; else the one that the definition names. */
static const char *assignee_of(const bf_run_t *run, const bf_node_t *node)
{
    if (run->command->actor) {
        return run->command->actor;
    }
    const char *key = bf_controller_actor_key(bf_executor_controller(run->env->executor));
    const bf_value_t *value = bf_node_meta(node, key);
    return value && value->type == BF_VALUE_STRING ? value->as.string : NULL;
}

static bool put_history(bf_run_t *run, const bf_task_t *source,
                        const bf_submit_result_t *result)
{
    const bf_command_t *command = run->command;
    bf_history_step_t step = {
        .graph = run->scope.graph,
        .source = source,
        .action = command->action,
        .assignee = assignee_of(run, source->node),
        .creator = command->actor,
        .message = command->message,
        .has_form_id = command->has_form_id,
        .form_id = command->form_id,
        .command_id = command->command_id,
        .now_wall_ms = run->now_wall_ms,
    };
    bf_history_t *rows = NULL;
    bf_status_t rc =
        bf_history_build(run->scope.inst, &step, result->targets, result->target_count,
                         run->scope.arena, &rows, &run->err);
    if (rc != BF_OK) {
        return bf_run_fail(run, rc);
    }
    run->out->history = rows;
    run->out->history_count = result->target_count;
    return true;
}

/* RESTART needs no node: it starts at START. */
static const bf_node_t *submitted_node(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    if (command->node_id) {
        return bf_run_node(run, command->node_id);
    }
    if (command->action == BF_ACTION_RESTART) {
        return run->scope.graph->start;
    }
    (void)bf_run_reject(run, BF_CODE_UNKNOWN_NODE, "%s needs a node_id",
                        bf_verb_name(command->verb));
    return NULL;
}

static bool run_submit(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    bf_executor_t *executor = run->env->executor;
    bf_submit_t submit = {
        .node = submitted_node(run),
        .action = command->action,
        .message = command->message,
        .has_form_id = command->has_form_id,
        .form_id = command->form_id,
        .command_id = command->command_id,
        .job = command->has_job ? command->job : 0,
    };
    if (command->has_job && command->job < 1) {
        return bf_run_reject(run, BF_CODE_NOT_WAITING,
                             "there is no job %lld; send back the number of the job",
                             (long long)command->job);
    }
    if (!submit.node) {
        return false;
    }
    if (command->target_id) {
        submit.target = bf_run_node(run, command->target_id);
        if (!submit.target) {
            return false;
        }
    }
    bf_guard_t guard = command->force ? BF_GUARD_NONE : BF_GUARD_STRICT;
    bf_submit_result_t result = {0};
    bf_status_t rc = command->verb == BF_VERB_SUBMIT
                         ? bf_executor_submit_in(executor, &run->scope, &submit, guard,
                                                 &result, &run->err)
                         : bf_executor_submit_if_waiting_in(
                               executor, &run->scope, &submit, guard, &result, &run->err);
    if (rc != BF_OK) {
        return bf_run_fail(run, rc);
    }
    bf_task_t source = {.node = result.source,
                        .state = bf_action_target_state(command->action),
                        .round = result.round};
    return put_history(run, &source, &result) && put_dispatched(run) &&
           put_task(run, &source) &&
           put_next_tasks(run, result.targets, result.target_count);
}

/* --- get_state --- */

/* "graph:node" itself, or a later round of it, "graph:node#2". */
static bool is_key_of(const char *key, const char *node_key)
{
    size_t len = strlen(node_key);
    return !strncmp(key, node_key, len) && (!key[len] || key[len] == '#');
}

static bool run_get_state(bf_run_t *run)
{
    const bf_node_t *node = NULL;
    if (run->command->node_id) {
        node = bf_run_node(run, run->command->node_id);
        if (!node) {
            return false;
        }
    }
    size_t cursor = 0;
    size_t count = 0;
    const char *key;
    bf_task_state_t state;
    while (bf_instance_state_next(run->scope.inst, &cursor, &key, &state)) {
        count++;
    }
    bf_outcome_state_t *states =
        bf_arena_calloc(run->scope.arena, count + 1, sizeof(*states));
    if (!states) {
        return bf_run_fail(run, BF_E_NOMEM);
    }
    size_t used = 0;
    cursor = 0;
    while (bf_instance_state_next(run->scope.inst, &cursor, &key, &state)) {
        if (!node || is_key_of(key, node->state_key)) {
            states[used].key = bf_arena_strdup(run->scope.arena, key);
            states[used].state = state;
            if (!states[used++].key) {
                return bf_run_fail(run, BF_E_NOMEM);
            }
        }
    }
    if (node && !used) {
        states[used++] = (bf_outcome_state_t){node->state_key, BF_TASK_UNKNOWN};
    }
    run->out->states = states;
    run->out->state_count = used;
    return true;
}

bool bf_run_verb(bf_run_t *run)
{
    switch (run->command->verb) {
    case BF_VERB_START:
        return run_start(run);
    case BF_VERB_CLAIM:
        return run_claim(run);
    case BF_VERB_FIND:
        return run_find(run);
    case BF_VERB_FIND_NEXT:
        return run_find_next(run);
    case BF_VERB_SUBMIT:
    case BF_VERB_SUBMIT_IF_WAITING:
        return run_submit(run);
    case BF_VERB_GET_STATE:
        return run_get_state(run);
    case BF_VERB_SET_VARS:
        return true; /* the variables are merged already */
    case BF_VERB_COUNT:
        break;
    }
    return bf_run_reject(run, BF_CODE_UNKNOWN_COMMAND, "there is no such command");
}

/* --- which tasks are current, and for whom --- */

static void write_whom(bf_run_t *run, const bf_node_t *node, bf_str_t *text)
{
    const char *key = bf_controller_actor_key(bf_executor_controller(run->env->executor));
    const bf_value_t *whom = bf_node_meta(node, key);
    if (!bf_value_is_null(whom)) {
        bf_str_puts(text, " (for ");
        bf_value_write_text(text, whom);
        bf_str_putc(text, ')');
    }
}

static void write_tasks(bf_run_t *run, const bf_task_t *tasks, size_t count,
                        bf_str_t *text)
{
    const size_t most = 5;
    bf_str_puts(text, count ? "; current: " : "; no task is current");
    for (size_t i = 0; i < count && i < most; i++) {
        bf_str_printf(text, "%s\"%s\"", i ? ", " : "", tasks[i].node->id);
        write_whom(run, tasks[i].node, text);
    }
    if (count > most) {
        bf_str_printf(text, " and %zu more", count - most);
    }
}

void bf_run_explain(bf_run_t *run)
{
    if (run->code != BF_CODE_NOT_WAITING && run->code != BF_CODE_NOT_OPERABLE &&
        run->code != BF_CODE_UNREACHABLE_TARGET) {
        return;
    }
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t text;
    bf_str_init(&text, BF_ERR_TEXT_MAX - 1);
    bf_str_puts(&text, run->err.text);
    bf_instance_begin(run->scope.inst);
    bf_status_t rc =
        bf_executor_find_next_in(run->env->executor, &run->scope, &tasks, &count, &err);
    if (rc == BF_OK) {
        write_tasks(run, tasks, count, &text);
    }
    bf_instance_rollback(run->scope.inst);
    if (!bf_str_failed(&text)) {
        (void)bf_run_reject(run, run->code, "%s", bf_str_peek(&text));
    }
    bf_str_fini(&text);
}
