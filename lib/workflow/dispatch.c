/*
 * dispatch.c - work that is handed to services: `@kafka:topic`
 *
 * A walk that comes to such a node makes it WAITING and notes it here; the rows are made
 * when the operation is done, behind those of the step.  The number of the row is kept
 * where a gateway keeps what it chose: it goes with the state of the node, so that an
 * answer to a job that was taken back finds another number, or none.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/num.h"
#include "bpmflow/suggest.h"
#include "lib/workflow/executor_int.h"

void bf_executor_set_topics(bf_executor_t *executor, const char *const *topics,
                            size_t count)
{
    executor->topics = topics;
    executor->topic_count = count;
}

void bf_dispatch_begin(bf_executor_t *executor)
{
    executor->dispatched = NULL;
    executor->dispatched_count = 0;
    executor->dispatched_room = 0;
}

static bf_status_t check_topic(const bf_executor_t *executor, const char *topic,
                               bf_err_t *err)
{
    bool allowed = !executor->topics;
    for (size_t i = 0; i < executor->topic_count && !allowed; i++) {
        allowed = !strcmp(executor->topics[i], topic);
    }
    if (allowed) {
        return BF_OK;
    }
    const char *near =
        bf_suggest_nearest(topic, strlen(topic), executor->topics, executor->topic_count);
    return bf_err_set(
        err, BF_E_COMPONENT,
        "topic '%s' is none of those that jobs may go to (jobs.topics)%s%s%s", topic,
        BF_DID_YOU_MEAN(near));
}

bf_status_t bf_dispatch_add(bf_executor_t *executor, bf_arena_t *arena,
                            const bf_task_t *task, bf_err_t *err)
{
    bf_status_t rc = check_topic(executor, task->node->task.name, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (executor->dispatched_count == executor->dispatched_room) {
        bf_task_t *grown = bf_array_grow_in(
            arena, executor->dispatched, &executor->dispatched_room, sizeof(*grown), 4);
        if (!grown) {
            return bf_err_nomem(err, "jobs");
        }
        executor->dispatched = grown;
    }
    executor->dispatched[executor->dispatched_count++] = *task;
    return BF_OK;
}

int64_t bf_dispatch_job(const bf_scope_t *scope, const bf_node_t *node, uint32_t round)
{
    const char *const *texts;
    size_t count = 0;
    int64_t number = 0;
    bf_state_key_t key;
    if (bf_flow_key(scope->arena, node, round, &key) != BF_OK ||
        !bf_instance_route(scope->inst, key.text, &texts, &count) || count != 1 ||
        bf_num_parse_i64(texts[0], strlen(texts[0]), &number, NULL) != BF_OK) {
        return 0;
    }
    return number;
}

/* Still waiting: a submit may have gone past it, or have taken it back. */
static bool is_due(const bf_scope_t *scope, const bf_state_key_t *key)
{
    return bf_instance_status(scope->inst) == BF_INSTANCE_RUNNING &&
           bf_instance_state_at(scope->inst, key) == BF_TASK_WAITING;
}

static bf_status_t dispatch(const bf_executor_t *executor, const bf_scope_t *scope,
                            const bf_history_step_t *step, const char *key,
                            bf_history_t *ret, bf_err_t *err)
{
    const bf_node_t *node = step->source->node;
    bf_history_step_t own = *step;
    const bf_value_t *named =
        bf_node_meta(node, bf_controller_actor_key(executor->controller));
    own.assignee = named && named->type == BF_VALUE_STRING ? named->as.string : NULL;
    own.has_form_id = false;
    bf_status_t rc = bf_history_build_dispatch(scope->inst, &own, scope->arena, ret, err);
    if (rc != BF_OK) {
        return rc;
    }
    const char *number = bf_arena_printf(scope->arena, "%" PRId32, ret->seq);
    uint64_t version = bf_instance_states_version(scope->inst);
    rc = number ? bf_instance_route_put(scope->inst, key, &number, 1) : BF_E_NOMEM;
    bf_flow_keep_point(scope->inst, version); /* the node waits: nothing lies behind it */
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "jobs");
}

bf_status_t bf_executor_dispatch_rows(bf_executor_t *executor, const bf_scope_t *scope,
                                      const bf_history_step_t *step, bf_history_t **ret,
                                      size_t *ret_count, bf_err_t *err)
{
    *ret = NULL;
    *ret_count = 0;
    if (!executor->dispatched_count) {
        return BF_OK;
    }
    bf_history_t *rows =
        bf_arena_calloc(scope->arena, executor->dispatched_count, sizeof(*rows));
    if (!rows) {
        return bf_err_nomem(err, "jobs");
    }
    size_t used = 0;
    for (size_t i = 0; i < executor->dispatched_count; i++) {
        const bf_task_t *task = &executor->dispatched[i];
        bf_state_key_t key;
        if (bf_flow_key(scope->arena, task->node, task->round, &key) != BF_OK) {
            return bf_err_nomem(err, "jobs");
        }
        /* An earlier walk of the operation may have dispatched it, and a step between
         * the two have cleared it: one job is enough. */
        if (!is_due(scope, &key) || bf_dispatch_job(scope, task->node, task->round)) {
            continue;
        }
        bf_history_step_t own = *step;
        own.source = task;
        bf_status_t rc = dispatch(executor, scope, &own, key.text, &rows[used], err);
        if (rc != BF_OK) {
            return rc;
        }
        used++;
    }
    *ret = rows;
    *ret_count = used;
    return BF_OK;
}
