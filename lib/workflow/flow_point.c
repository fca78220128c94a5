/*
 * flow_point.c - flows that need not begin at START
 *
 * Beside the states of an instance a point is kept: a place that every walk comes to in
 * the same way as long as these states are what they are (engine: point.c).  Mostly a
 * task of somebody stands there, and then there is nothing to walk at all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/workflow/executor_int.h"

/* Where the flow may begin instead of at START, as far as the states are still those that
 * led there (else it is cleared). NULL = at START, and nothing is kept for later. */
static bf_walk_point_t *point_of(const bf_flow_t *flow)
{
    const bf_executor_t *executor = flow->executor;
    bf_instance_live_t *live = bf_instance_live(flow->scope->inst);
    bool asks_repo = executor->repo && executor->repo->ops->vars_get; /* at each node */
    if (!flow->uses_point || executor->from_start || asks_repo) {
        return NULL;
    }
    if (live->point.graph && live->point.version != live->states.version) {
        bf_walk_point_clear(&live->point);
    }
    return &live->point;
}

void bf_flow_keep_point(const bf_instance_t *inst, uint64_t version)
{
    bf_instance_live_t *live = bf_instance_live(inst);
    if (live->point.graph && live->point.version == version) {
        live->point.version = live->states.version;
    }
}

/* Would a walk come to its end right there, at a task that is not done? */
static bool waits_at_point(const bf_flow_t *flow, const bf_walk_point_t *point,
                           const bf_meeting_t *m)
{
    const bf_executor_t *executor = flow->executor;
    int64_t limit = executor->max_steps ? executor->max_steps : BF_MAX_STEPS_DEFAULT;
    return point->visits < limit &&
           (m->state == BF_TASK_UNKNOWN || m->state == BF_TASK_WAITING) &&
           !bf_flow_is_auto(flow->executor, flow->scope->ctx, m->node);
}

/* The task of somebody stands at the point: do without a walk what one would do.
 * *ret_done: nothing is left to do. */
static bf_status_t run_short(bf_flow_t *flow, const bf_graph_t *graph,
                             const bf_walk_point_t *point, bool *ret_done, bf_err_t *err)
{
    const bf_node_t *node = point->node;
    *ret_done = false;
    if (!node || node->type != BF_NODE_ACTIVITY ||
        !bf_walk_point_fits(point, flow->executor->engine, graph)) {
        return BF_OK;
    }
    bf_meeting_t m = {.flow = flow, .node = node, .round = bf_walk_point_round(point)};
    if (bf_flow_key(flow->scope->arena, node, m.round, &m.key) != BF_OK) {
        return bf_err_nomem(err, "state of a node");
    }
    m.state = bf_instance_state_at(flow->scope->inst, &m.key);
    if (!waits_at_point(flow, point, &m)) {
        return BF_OK;
    }
    *ret_done = true;
    uint64_t version = point->version;
    bf_status_t rc = bf_flow_meet(&m, err);
    if (rc == BF_OK) {
        rc = bf_walk_point_show(point, flow->scope->ctx, flow->is_hidden,
                                flow->intent == BF_INTENT_FIND && !flow->is_terminated,
                                err);
    }
    bf_flow_keep_point(flow->scope->inst, version);
    return rc;
}

bf_status_t bf_flow_run(bf_flow_t *flow, bf_graph_t *graph, bool keep_log, bf_err_t *err)
{
    bf_walk_point_t *point = point_of(flow);
    if (point && !keep_log) {
        bool done = false;
        bf_status_t rc = run_short(flow, graph, point, &done, err);
        if (done || rc != BF_OK) {
            return rc;
        }
    }
    bool hidden = flow->is_hidden || flow->intent == BF_INTENT_MAP;
    bf_eval_options_t options = {
        .steps = -1,
        .max_steps = flow->executor->max_steps,
        .driver = &flow->driver,
        .trace = hidden ? BF_TRACE_OFF : BF_TRACE_FRESH,
        .is_probe = flow->is_probe,
        .log = keep_log ? &flow->log : NULL,
        .point = point,
    };
    bf_context_t *ctx = flow->scope->ctx;
    bf_status_t rc = bf_engine_eval(flow->executor->engine, graph, ctx, &options, err);
    flow->ended = rc == BF_OK && bf_context_outcome(ctx) == BF_EVAL_DONE;
    if (rc == BF_OK && point && !flow->is_probe) {
        point->version = bf_instance_live(flow->scope->inst)->states.version;
    }
    return rc;
}

bf_status_t bf_flow_walk(bf_flow_t *flow, bf_executor_t *executor,
                         const bf_scope_t *scope, bf_intent_t intent, bool keep_log,
                         bf_err_t *err)
{
    bf_flow_init(flow, executor, scope, intent);
    flow->uses_point = !keep_log;
    return bf_flow_run(flow, scope->graph, keep_log, err);
}
