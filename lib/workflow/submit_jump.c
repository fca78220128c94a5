/*
 * submit_jump.c - FORWARD_JUMP (rules 147-149)
 *
 * The tasks between are completed one after the other, whoever they belong to, with what
 * is automatic run as usual, until the target is open.  Only tasks that can lead to the
 * target are touched.  A target that does not lie ahead, or that the conditions do not
 * lead to, refuses the jump; the transaction undoes what was done on the way.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "lib/workflow/executor_int.h"

static bf_status_t refuse_target(bf_step_t *step, const char *why, bf_err_t *err)
{
    const bf_node_t *target = bf_step_target(step);
    return bf_executor_refuse(step->executor, BF_CODE_UNREACHABLE_TARGET, err,
                              "cannot jump forward to \"%s\" of graph \"%s\": %s",
                              target->id, target->graph->id, why);
}

/* --- does the target lie ahead of a task? --- */

/* What is looked at: the graphs of the search and, per graph, the nodes seen. */
#define MAX_GRAPHS 64

typedef struct ahead {
    const bf_step_t *step;
    const bf_node_t *target;
    const bf_graph_t *graphs[MAX_GRAPHS];
    bool *seen[MAX_GRAPHS];
    size_t graph_count;
    const bf_node_t **work;
    size_t height;
    size_t room;
    bool failed;
} ahead_t;

static bool *seen_of(ahead_t *a, const bf_graph_t *graph)
{
    for (size_t i = 0; i < a->graph_count; i++) {
        if (a->graphs[i] == graph) {
            return a->seen[i];
        }
    }
    if (a->graph_count == MAX_GRAPHS) {
        return NULL;
    }
    bool *seen = bf_arena_calloc(a->step->scope->arena, graph->node_count, sizeof(*seen));
    a->failed = a->failed || !seen;
    a->graphs[a->graph_count] = graph;
    a->seen[a->graph_count++] = seen;
    return seen;
}

static void look_at(ahead_t *a, const bf_node_t *node)
{
    bool *seen = seen_of(a, node->graph);
    if (!seen || seen[node->index]) {
        return;
    }
    seen[node->index] = true;
    if (a->height == a->room) {
        const bf_node_t **work =
            bf_array_grow_in(a->step->scope->arena, a->work, &a->room, sizeof(*work), 64);
        if (!work) {
            a->failed = true;
            return;
        }
        a->work = work;
    }
    a->work[a->height++] = node;
}

static void look_behind(ahead_t *a, const bf_node_t *node)
{
    for (uint32_t i = 0; i < node->link_count; i++) {
        look_at(a, node->links[i]->to);
    }
}

/* From the task, and from the calls that it is inside of, through everything that can
 * come, graphs that are called included. */
static bf_status_t lies_ahead(bf_step_t *step, const bf_flow_t *flow,
                              const bf_found_t *found, bool *ret, bf_err_t *err)
{
    ahead_t a = {.step = step, .target = bf_step_target(step)};
    look_behind(&a, found->task.node);
    uint32_t caller = flow->log.visits[found->visit].caller;
    while (caller != BF_LOG_NONE) {
        look_behind(&a, flow->log.visits[caller].node);
        caller = flow->log.visits[caller].caller;
    }
    *ret = false;
    while (a.height && !*ret && !a.failed) {
        const bf_node_t *node = a.work[--a.height];
        *ret = node == a.target;
        const bf_graph_t *called =
            node->task.kind == BF_CODE_GRAPH
                ? bf_engine_graph(step->executor->engine, node->task.name)
                : NULL;
        if (called) {
            look_at(&a, called->start);
        }
        look_behind(&a, node);
    }
    return a.failed ? bf_err_nomem(err, "jump") : BF_OK;
}

/* --- the jump --- */

typedef enum { ARRIVED, WENT_ON, STUCK } progress_t;

static bf_status_t arrive(bf_step_t *step, const bf_task_t *task, bool is_behind,
                          bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    bf_task_t target = *task;
    if (task->node->type != BF_NODE_END) {
        uint64_t version = bf_instance_states_version(step->scope->inst);
        target.state = BF_TASK_WAITING;
        rc = bf_step_put_state(step, task->node, task->round, BF_TASK_WAITING, err);
        if (is_behind) {
            bf_flow_keep_point(step->scope->inst, version);
        }
    }
    return rc == BF_OK ? bf_step_add_target(step, &target, err) : rc;
}

/* One task nearer to the target. */
static bf_status_t go_on(bf_step_t *step, const bf_flow_t *flow, progress_t *ret,
                         bf_err_t *err)
{
    const bf_node_t *target = bf_step_target(step);
    if (target->type == BF_NODE_END && flow->ended) {
        bf_task_t task = {target, BF_TASK_COMPLETED, 1};
        *ret = bf_log_find(&flow->log, target, 0) == BF_LOG_NONE ? STUCK : ARRIVED;
        return *ret == ARRIVED ? arrive(step, &task, flow->uses_point, err) : BF_OK;
    }
    for (size_t i = 0; i < flow->found_count; i++) {
        if (flow->found[i].task.node == target) {
            *ret = ARRIVED;
            return arrive(step, &flow->found[i].task, flow->uses_point, err);
        }
    }
    for (size_t i = 0; i < flow->found_count; i++) {
        const bf_found_t *found = &flow->found[i];
        bool ahead;
        bf_status_t rc = lies_ahead(step, flow, found, &ahead, err);
        if (rc == BF_OK && ahead) {
            *ret = WENT_ON;
            rc = bf_step_complete(step, found->task.node, found->task.round,
                                  flow->uses_point, err);
        }
        if (rc != BF_OK || ahead) {
            return rc;
        }
    }
    *ret = STUCK;
    return BF_OK;
}

/* What is open lies at the point or behind it, and so does an END of the graph.  One of a
 * called graph may have been come to before. */
static bool needs_whole_log(const bf_step_t *step)
{
    const bf_node_t *target = bf_step_target(step);
    return target->type == BF_NODE_END && target->graph != step->scope->graph;
}

static bf_status_t jump(bf_step_t *step, bool *ret_ended, bf_err_t *err)
{
    int64_t max =
        step->executor->max_steps ? step->executor->max_steps : BF_MAX_STEPS_DEFAULT;
    for (int64_t i = 0; i < max; i++) {
        bf_flow_t flow;
        progress_t progress;
        bf_flow_init(&flow, step->executor, step->scope, BF_INTENT_START);
        flow.is_hidden = true;
        flow.uses_point = !needs_whole_log(step);
        bf_status_t rc = bf_flow_run(&flow, step->scope->graph, true, err);
        if (rc == BF_OK) {
            rc = go_on(step, &flow, &progress, err);
        }
        if (rc != BF_OK) {
            return rc;
        }
        *ret_ended = flow.ended;
        if (progress == ARRIVED) {
            return BF_OK;
        }
        if (progress == STUCK) {
            return refuse_target(step, "nothing that is open leads to it", err);
        }
    }
    return bf_err_set(err, BF_E_STEP_LIMIT, "jump to %s: more than %lld tasks on the way",
                      bf_step_target(step)->id, (long long)max);
}

bf_status_t bf_step_forward_jump(bf_step_t *step, bf_err_t *err)
{
    const bf_node_t *target = bf_step_target(step);
    bool ended = false;
    if (target->type != BF_NODE_END &&
        bf_flow_is_auto(step->executor, step->scope->ctx, target)) {
        return refuse_target(step, "it is not a task of anybody", err);
    }
    bf_status_t rc = jump(step, &ended, err);
    if (rc == BF_OK) {
        bf_flow_set_status(step->scope, ended);
        rc = bf_step_show(step, err);
    }
    return rc;
}
