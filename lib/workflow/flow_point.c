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

bf_walk_point_t *bf_flow_point(const bf_flow_t *flow)
{
    const bf_executor_t *executor = flow->executor;
    const bf_instance_t *inst = flow->scope->inst;
    bool asks_repo = executor->repo && executor->repo->ops->vars_get; /* at each node */
    if (!flow->uses_point || executor->from_start || asks_repo) {
        return NULL;
    }
    bf_walk_point_t *point = bf_instance_walk_point(inst);
    if (point->graph && point->version != bf_instance_states_version(inst)) {
        bf_walk_point_clear(point);
    }
    return point;
}

void bf_flow_keep_point(const bf_instance_t *inst, uint64_t version)
{
    bf_walk_point_t *point = bf_instance_walk_point(inst);
    if (point->graph && point->version == version) {
        point->version = bf_instance_states_version(inst);
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

bf_status_t bf_flow_run_short(bf_flow_t *flow, const bf_graph_t *graph,
                              const bf_walk_point_t *point, bool *ret_done, bf_err_t *err)
{
    const bf_node_t *node = point->node;
    *ret_done = false;
    if (!node || node->type != BF_NODE_ACTIVITY ||
        !bf_walk_point_fits(point, flow->executor->engine, graph)) {
        return BF_OK;
    }
    bf_meeting_t m = {.flow = flow, .node = node, .round = bf_walk_point_round(point)};
    m.key = bf_flow_key(flow->scope->arena, node, m.round);
    if (!m.key) {
        return bf_err_nomem(err, "state of a node");
    }
    m.state = bf_instance_state(flow->scope->inst, m.key);
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
