/*
 * workflow_driver.c - what a walk does at a node: the stored states say what is done
 *
 * Decorates the driver of each graph (second seed, section 1): an automatic node runs
 * once and is COMPLETED, or WAITING when its task stopped or interrupted; a task of
 * somebody ends its branch until it is submitted (rules 103-114).
 *
 * Decisions: other branches are walked on after the first operable task is found, without
 * making more of them WAITING; probes do nothing; a node that calls a graph is automatic,
 * and the task inside of it is what people see; gateways keep what they chose.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/assert.h"
#include "lib/workflow/executor_int.h"

bf_status_t bf_flow_key_of_round(bf_arena_t *arena, const bf_node_t *node, uint32_t round,
                                 bf_state_key_t *ret)
{
    const char *text = bf_arena_printf(arena, "%s#%u", node->state_key, round);
    if (!text) {
        return BF_E_NOMEM;
    }
    *ret = bf_state_key(text, strlen(text));
    return BF_OK;
}

bool bf_flow_is_operable(bf_executor_t *executor, bf_context_t *ctx,
                         const bf_node_t *node)
{
    return (node->task.kind == BF_CODE_TOPIC &&
            bf_controller_is_auto_forward(executor->controller, ctx, node)) ||
           bf_controller_is_operatable(executor->controller, ctx, node);
}

void bf_flow_set_status(const bf_scope_t *scope, bool ended)
{
    bf_instance_status_t status = ended ? BF_INSTANCE_COMPLETED : BF_INSTANCE_RUNNING;
    bf_instance_status_t now = (bf_instance_status_t)scope->inst->status;
    bool open = now == BF_INSTANCE_RUNNING || now == BF_INSTANCE_COMPLETED;
    if (open && now != status) {
        bf_instance_set_status(scope->inst, status);
    }
}

/* --- the node in hand --- */

static bf_status_t open_visit(bf_flow_t *flow, bf_exchanger_t *ex, const bf_node_t *node,
                              bf_meeting_t *ret, bf_err_t *err)
{
    uint32_t round = bf_exchanger_visit(ex, node);
    *ret =
        (bf_meeting_t){.flow = flow, .ex = ex, .node = node, .round = round ? round : 1};
    if (bf_flow_key(bf_exchanger_arena(ex), node, ret->round, &ret->key) != BF_OK) {
        return bf_err_nomem(err, "state of a node");
    }
    ret->state = bf_instance_state_at(flow->scope->inst, &ret->key);
    return BF_OK;
}

static bf_status_t put_state(const bf_meeting_t *v, bf_task_state_t state, bf_err_t *err)
{
    if (v->flow->is_probe) {
        return BF_OK;
    }
    bf_status_t rc = bf_instance_state_put_at(v->flow->scope->inst, &v->key, state);
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "state of a node");
}

/* What find says: the task that it came to last (rule 110). */
static void report(const bf_meeting_t *v, bf_task_state_t state)
{
    if (v->flow->intent == BF_INTENT_FIND) {
        v->flow->task = (bf_task_t){v->node, state, v->round};
    }
}

static bf_status_t add_found(const bf_meeting_t *v, bf_task_state_t state, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    if (flow->found_count == flow->found_room) {
        bf_found_t *found = bf_array_grow_in(flow->scope->arena, flow->found,
                                             &flow->found_room, sizeof(*found), 8);
        if (!found) {
            return bf_err_nomem(err, "tasks");
        }
        flow->found = found;
    }
    uint32_t visit = v->ex ? bf_exchanger_log_visit(v->ex) : BF_LOG_NONE;
    flow->found[flow->found_count++] = (bf_found_t){{v->node, state, v->round}, visit};
    return BF_OK;
}

/* --- drivers --- */

/* NULL: err says why. */
static bf_driver_t *delegate_of(bf_flow_t *flow, const bf_graph_t *graph, bf_err_t *err)
{
    BF_ASSERT(graph);
    if (flow->delegate_graph != graph) {
        flow->delegate = bf_engine_driver(flow->executor->engine, graph->driver);
        flow->delegate_graph = flow->delegate ? graph : NULL;
    }
    if (!flow->delegate) {
        (void)bf_err_set(err, BF_E_NOT_FOUND,
                         "graph %s: No driver found for: '%s'; register it or correct "
                         "`driver`",
                         graph->id, graph->driver);
    }
    return flow->delegate;
}

/* A probe must not act: scripts set what is forgotten, components are left out. */
static bf_status_t run_delegate(const bf_meeting_t *v, bf_err_t *err)
{
    if (v->flow->is_probe) {
        return v->node->task.kind == BF_CODE_COMPONENT
                   ? BF_OK
                   : bf_plain_run_task(v->ex, v->node, err);
    }
    bf_driver_t *delegate = delegate_of(v->flow, v->node->graph, err);
    return delegate ? bf_driver_run_task(delegate, v->ex, v->node, err) : BF_E_NOT_FOUND;
}

/* --- automatic nodes (rules 106, 107) --- */

static bf_status_t settle_auto(const bf_meeting_t *v, bool waits, bf_err_t *err)
{
    if (!waits) {
        report(v, BF_TASK_COMPLETED);
        return put_state(v, BF_TASK_COMPLETED, err);
    }
    report(v, BF_TASK_WAITING);
    if (!bf_exchanger_is_stopped(v->ex)) {
        bf_exchanger_pend(v->ex);
    }
    return v->state == BF_TASK_UNKNOWN ? put_state(v, BF_TASK_WAITING, err) : BF_OK;
}

static bf_status_t run_auto(const bf_meeting_t *v, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    if (flow->held == v->node && v->state == BF_TASK_WAITING) {
        bf_exchanger_pend(v->ex);
        return add_found(v, BF_TASK_WAITING, err);
    }
    if (flow->intent == BF_INTENT_MAP && v->node->task.kind != BF_CODE_GRAPH) {
        bf_exchanger_pend(v->ex);
        return BF_OK;
    }
    if (flow->is_probe && v->state == BF_TASK_WAITING &&
        v->node->task.kind == BF_CODE_COMPONENT) {
        return settle_auto(v, true, err); /* it is not asked again: it waits, as stored */
    }
    bf_status_t rc = run_delegate(v, err);
    if (rc != BF_OK || bf_exchanger_is_calling(v->ex)) {
        return rc; /* a call is settled when it is done */
    }
    return settle_auto(
        v, bf_exchanger_is_stopped(v->ex) || bf_exchanger_is_interrupted(v->ex), err);
}

static bf_status_t handle_auto(const bf_meeting_t *v, bf_err_t *err)
{
    switch (v->state) {
    case BF_TASK_UNKNOWN:
    case BF_TASK_WAITING:
        return run_auto(v, err);
    case BF_TASK_TERMINATED:
        report(v, v->state);
        bf_exchanger_stop(v->ex);
        return BF_OK;
    case BF_TASK_COMPLETED:
        break;
    }
    report(v, v->state);
    if (v->node->task.kind == BF_CODE_GRAPH) {
        /* Walked through all the same, so that later calls of the graph count on. */
        v->flow->done_calls++;
        return bf_exchanger_call(v->ex, v->node->task.name, err);
    }
    return BF_OK;
}

static bf_status_t call_done(bf_driver_t *driver, bf_exchanger_t *ex,
                             const bf_node_t *node, bool pending, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_meeting_t v;
    bf_status_t rc = open_visit(flow, ex, node, &v, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (flow->done_calls) {
        flow->done_calls--;
        return BF_OK;
    }
    if (flow->intent == BF_INTENT_MAP) {
        return BF_OK;
    }
    if (pending) {
        return v.state == BF_TASK_UNKNOWN ? put_state(&v, BF_TASK_WAITING, err) : BF_OK;
    }
    return settle_auto(&v, false, err);
}

/* --- tasks of somebody (rules 108-110) --- */

static bf_status_t mark(const bf_meeting_t *v, bool operable, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    switch (flow->intent) {
    case BF_INTENT_SUBMIT_IF:
        flow->has_marked = flow->has_marked || !operable;
        break;
    case BF_INTENT_NONE:
    case BF_INTENT_CLAIM:
    case BF_INTENT_SUBMIT:
        break;
    case BF_INTENT_START:
    case BF_INTENT_FIND:
    case BF_INTENT_FIND_NEXT:
    case BF_INTENT_MAP:
        return BF_OK;
    }
    if (!operable || flow->has_marked) {
        return BF_OK;
    }
    flow->has_marked = true;
    flow->task = (bf_task_t){v->node, BF_TASK_WAITING, v->round};
    return v->state == BF_TASK_UNKNOWN ? put_state(v, BF_TASK_WAITING, err) : BF_OK;
}

bf_status_t bf_flow_meet(const bf_meeting_t *v, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    if (flow->is_terminated) {
        return BF_OK;
    }
    bool operable = bf_controller_is_operatable(flow->executor->controller,
                                                flow->scope->ctx, v->node);
    bf_task_state_t shown = operable ? BF_TASK_WAITING : BF_TASK_UNKNOWN;
    bf_status_t rc = add_found(v, shown, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (flow->intent == BF_INTENT_FIND) {
        report(v, shown);
        if (v->ex) {
            bf_exchanger_stop(v->ex);
        }
    }
    return mark(v, operable, err);
}

static bf_status_t handle_task_of_somebody(const bf_meeting_t *v, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    if (v->state == BF_TASK_COMPLETED || v->state == BF_TASK_TERMINATED) {
        report(v, v->state);
        if (v->state == BF_TASK_TERMINATED && flow->intent != BF_INTENT_MAP) {
            bf_exchanger_stop(v->ex);
        }
        return BF_OK;
    }
    bf_exchanger_pend(v->ex);
    return bf_flow_meet(v, err);
}

/* --- work that is handed to a service --- */

/* Open for the service's submit, for those who ask, and for nobody's claim. */
static bf_status_t handle_topic(const bf_meeting_t *v, bf_err_t *err)
{
    bf_flow_t *flow = v->flow;
    if (v->state == BF_TASK_COMPLETED || v->state == BF_TASK_TERMINATED) {
        return handle_auto(v, err);
    }
    bf_exchanger_pend(v->ex);
    if (flow->is_terminated) {
        return BF_OK;
    }
    bool operable = bf_flow_is_operable(flow->executor, flow->scope->ctx, v->node);
    bf_task_state_t shown = operable ? BF_TASK_WAITING : BF_TASK_UNKNOWN;
    flow->has_job = true;
    bf_status_t rc = add_found(v, shown, err);
    if (rc == BF_OK && flow->intent == BF_INTENT_FIND) {
        report(v, BF_TASK_WAITING);
        bf_exchanger_stop(v->ex);
    }
    if (rc != BF_OK || flow->is_probe || v->state != BF_TASK_UNKNOWN) {
        return rc;
    }
    const bf_task_t task = {v->node, BF_TASK_WAITING, v->round};
    rc = bf_dispatch_add(flow->executor, flow->scope->arena, &task, err);
    return rc == BF_OK ? put_state(v, BF_TASK_WAITING, err) : rc;
}

static bf_status_t handle_task(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_meeting_t v;
    if (flow->done_calls) {
        if (node->task.kind == BF_CODE_GRAPH) {
            flow->done_calls++;
            return bf_exchanger_call(ex, node->task.name, err);
        }
        return BF_OK;
    }
    bf_status_t rc = open_visit(flow, ex, node, &v, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (node->task.kind == BF_CODE_TOPIC) {
        return handle_topic(&v, err);
    }
    return bf_flow_is_auto(flow->executor, flow->scope->ctx, node)
               ? handle_auto(&v, err)
               : handle_task_of_somebody(&v, err);
}

/* --- routes (decision on rule 116) --- */

static bool choose_by_id(const bf_node_t *node, const char *next_id, bool *chosen)
{
    for (uint32_t i = 0; i < node->link_count; i++) {
        if (!chosen[i] && !strcmp(node->links[i]->to->id, next_id)) {
            chosen[i] = true;
            return true;
        }
    }
    return false;
}

static bf_status_t recall_route(bf_driver_t *driver, bf_exchanger_t *ex,
                                const bf_node_t *node, bool *chosen, bool *ret_known,
                                bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_meeting_t v;
    bf_status_t rc = open_visit(flow, ex, node, &v, err);
    if (rc != BF_OK) {
        return rc;
    }
    const char *const *next_ids;
    size_t count;
    *ret_known = bf_instance_route(flow->scope->inst, v.key.text, &next_ids, &count);
    for (size_t i = 0; *ret_known && i < count; i++) {
        if (!choose_by_id(node, next_ids[i], chosen)) {
            /* The graph has been replaced: choose anew. */
            memset(chosen, 0, node->link_count * sizeof(*chosen));
            *ret_known = false;
        }
    }
    return BF_OK;
}

static bf_status_t record_route(bf_driver_t *driver, bf_exchanger_t *ex,
                                const bf_node_t *node, const bool *chosen, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_meeting_t v;
    if (flow->is_probe) {
        return BF_OK;
    }
    bf_status_t rc = open_visit(flow, ex, node, &v, err);
    if (rc != BF_OK) {
        return rc;
    }
    const char **next_ids =
        bf_arena_alloc(bf_exchanger_arena(ex), node->link_count * sizeof(*next_ids));
    if (!next_ids) {
        return bf_err_nomem(err, "links that a node chose");
    }
    size_t count = 0;
    for (uint32_t i = 0; i < node->link_count; i++) {
        if (chosen[i]) {
            next_ids[count++] = node->links[i]->to->id;
        }
    }
    rc = bf_instance_route_put(flow->scope->inst, v.key.text, next_ids, count);
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "links that a node chose");
}

/* --- the other hooks --- */

/* Does the delegate do something at each visit, or call graphs that no node names? */
static bool is_custom(const bf_driver_t *delegate)
{
    const bf_driver_ops_t *ops = delegate->ops;
    return ops->on_node_start || ops->on_node_end || ops->handle_task;
}

/* Variables of the repository for this node (rule 98), then the delegate's hook. */
static bf_status_t on_node_start(bf_driver_t *driver, bf_exchanger_t *ex,
                                 const bf_node_t *node, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_repository_t *repo = flow->executor->repo;
    bf_status_t rc = BF_OK;
    if (repo && repo->ops->vars_get) {
        const bf_value_t *vars = NULL;
        rc = repo->ops->vars_get(repo, bf_instance_id(flow->scope->inst), node, &vars,
                                 err);
        for (uint32_t i = 0; rc == BF_OK && vars && i < vars->len; i++) {
            const bf_member_t *m = &vars->as.members[i];
            rc = bf_context_put(flow->scope->ctx, m->name, m->name_len, &m->value, err);
        }
    }
    if (rc != BF_OK) {
        return rc;
    }
    bf_driver_t *delegate = delegate_of(flow, node->graph, err);
    if (!delegate) {
        return BF_E_NOT_FOUND;
    }
    if (is_custom(delegate)) {
        bf_exchanger_repeats(ex);
    }
    return delegate->ops->on_node_start
               ? delegate->ops->on_node_start(delegate, ex, node, err)
               : BF_OK;
}

static bf_status_t on_node_end(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_driver_t *delegate = delegate_of(flow, node->graph, err);
    if (!delegate) {
        return BF_E_NOT_FOUND;
    }
    return delegate->ops->on_node_end
               ? delegate->ops->on_node_end(delegate, ex, node, err)
               : BF_OK;
}

static bf_status_t handle_condition(bf_driver_t *driver, bf_exchanger_t *ex,
                                    const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    bf_flow_t *flow = (bf_flow_t *)driver;
    bf_driver_t *delegate = delegate_of(flow, bf_exchanger_current_graph(ex), err);
    return delegate ? bf_driver_test(delegate, ex, code, ret, err) : BF_E_NOT_FOUND;
}

static bf_driver_t *driver_for(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_graph_t *graph)
{
    (void)ex;
    (void)graph;
    return driver;
}

static const bf_driver_ops_t flow_ops = {
    .on_node_start = on_node_start,
    .on_node_end = on_node_end,
    .handle_condition = handle_condition,
    .handle_task = handle_task,
    .call_done = call_done,
    .driver_for = driver_for,
    .recall_route = recall_route,
    .record_route = record_route,
};

/* --- walking --- */

static bool is_probe(bf_intent_t intent)
{
    return intent == BF_INTENT_FIND || intent == BF_INTENT_FIND_NEXT ||
           intent == BF_INTENT_MAP;
}

void bf_flow_init(bf_flow_t *flow, bf_executor_t *executor, const bf_scope_t *scope,
                  bf_intent_t intent)
{
    /* Each member by itself: clearing all at once takes several times as long. */
    flow->driver = (bf_driver_t){&flow_ops, ""};
    flow->executor = executor;
    flow->scope = scope;
    flow->intent = intent;
    flow->is_probe = is_probe(intent);
    flow->uses_point = false;
    flow->is_hidden = false;
    flow->is_terminated = scope->inst->status == BF_INSTANCE_TERMINATED;
    flow->has_marked = false;
    flow->done_calls = 0;
    flow->held = NULL;
    flow->delegate = NULL;
    flow->delegate_graph = NULL;
    flow->task = (bf_task_t){0};
    flow->found = flow->few;
    flow->found_count = 0;
    flow->found_room = FOUND_FEW;
    flow->has_job = false;
    flow->ended = false;
    flow->log = (bf_walk_log_t){.arena = scope->arena};
}

bf_status_t bf_flow_tasks(const bf_flow_t *flow, const bf_task_t **ret, size_t *ret_count,
                          bf_err_t *err)
{
    bf_task_t *tasks =
        bf_arena_calloc(flow->scope->arena, flow->found_count, sizeof(*tasks));
    if (!tasks) {
        return bf_err_nomem(err, "tasks");
    }
    for (size_t i = 0; i < flow->found_count; i++) {
        tasks[i] = flow->found[i].task;
    }
    *ret = tasks;
    *ret_count = flow->found_count;
    return BF_OK;
}

/* --- a task alone --- */

typedef struct alone {
    bf_driver_t driver;
    bf_flow_t *flow; /* walks the graph that the task calls */
    bf_driver_t *delegate;
    const bf_node_t *node;
} alone_t;

static bf_status_t alone_handle_task(bf_driver_t *driver, bf_exchanger_t *ex,
                                     const bf_node_t *node, bf_err_t *err)
{
    alone_t *alone = (alone_t *)driver;
    return bf_driver_run_task(alone->delegate, ex, node, err);
}

static bf_driver_t *alone_driver_for(bf_driver_t *driver, bf_exchanger_t *ex,
                                     const bf_graph_t *graph)
{
    (void)ex;
    (void)graph;
    return &((alone_t *)driver)->flow->driver;
}

static bf_status_t run_at(bf_flow_t *flow, bf_driver_t *driver, const bf_node_t *node,
                          bf_err_t *err)
{
    bf_executor_t *executor = flow->executor;
    bf_eval_options_t options = {.steps = -1,
                                 .max_steps = executor->max_steps,
                                 .driver = driver,
                                 .trace = BF_TRACE_OFF,
                                 .task_of = node};
    /* The engine counts graphs; the node's one is read-only to us. */
    bf_graph_t *graph =
        bf_engine_graph_version(executor->engine, node->graph->id, node->graph->version);
    graph = graph == node->graph ? graph : flow->scope->graph;
    return bf_engine_eval(executor->engine, graph, flow->scope->ctx, &options, err);
}

bf_status_t bf_flow_run_task(bf_executor_t *executor, const bf_scope_t *scope,
                             const bf_node_t *node, bf_err_t *err)
{
    static const bf_driver_ops_t ops = {.handle_task = alone_handle_task,
                                        .driver_for = alone_driver_for};
    if (node->task.kind == BF_CODE_NONE || node->task.kind == BF_CODE_TOPIC) {
        return BF_OK; /* nothing to do, or the service has done it */
    }
    bf_flow_t flow;
    bf_flow_init(&flow, executor, scope, BF_INTENT_START);
    alone_t alone = {.driver = {&ops, ""},
                     .flow = &flow,
                     .delegate = delegate_of(&flow, node->graph, err)};
    return alone.delegate ? run_at(&flow, &alone.driver, node, err) : BF_E_NOT_FOUND;
}

bf_status_t bf_flow_run_at(bf_flow_t *flow, const bf_node_t *node, bf_err_t *err)
{
    return run_at(flow, &flow->driver, node, err);
}
