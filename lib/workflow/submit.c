/*
 * submit.c - guard, forward, terminate, restart (rules 123-136, 150, 151)
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/workflow/executor_int.h"

/* --- small things --- */

const bf_node_t *bf_step_target(const bf_step_t *step)
{
    return step->submit->target ? step->submit->target : step->submit->node;
}

bf_status_t bf_step_put_state(const bf_step_t *step, const bf_node_t *node,
                              uint32_t round, bf_task_state_t state, bf_err_t *err)
{
    bf_state_key_t key;
    bf_status_t rc = bf_flow_key(step->scope->arena, node, round, &key);
    if (rc == BF_OK) {
        rc = bf_instance_state_put_at(step->scope->inst, &key, state);
    }
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "state of a node");
}

bf_status_t bf_step_remove_state(const bf_step_t *step, const bf_node_t *node,
                                 uint32_t round, bf_err_t *err)
{
    bf_state_key_t key;
    bf_status_t rc = bf_flow_key(step->scope->arena, node, round, &key);
    if (rc == BF_OK) {
        rc = bf_instance_state_remove(step->scope->inst, key.text);
    }
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "state of a node");
}

/* false: out of memory (for a later round; the first needs none). */
static bool state_of(const bf_step_t *step, const bf_node_t *node, uint32_t round,
                     bf_task_state_t *ret)
{
    bf_state_key_t key;
    if (bf_flow_key(step->scope->arena, node, round, &key) != BF_OK) {
        return false;
    }
    *ret = bf_instance_state_at(step->scope->inst, &key);
    return true;
}

bf_status_t bf_step_add_target(bf_step_t *step, const bf_task_t *task, bf_err_t *err)
{
    bf_submit_result_t *result = step->result;
    size_t count = result->target_count;
    bf_task_t *targets =
        bf_arena_alloc(step->scope->arena, (count + 1) * sizeof(*targets));
    if (!targets) {
        return bf_err_nomem(err, "targets of a step");
    }
    if (count) {
        memcpy(targets, result->targets, count * sizeof(*targets));
    }
    targets[count] = *task;
    result->targets = targets;
    result->target_count = count + 1;
    return BF_OK;
}

static bf_status_t add_itself(bf_step_t *step, bf_task_state_t state, bf_err_t *err)
{
    bf_task_t task = {step->submit->node, state, step->round};
    return bf_step_add_target(step, &task, err);
}

bf_status_t bf_step_show(const bf_step_t *step, bf_err_t *err)
{
    bf_flow_t flow;
    bf_err_t ignored = BF_ERR_INIT; /* the step itself has succeeded */
    bf_status_t rc =
        bf_flow_walk(&flow, step->executor, step->scope, BF_INTENT_FIND, false, &ignored);
    return rc == BF_E_NOMEM ? bf_err_nomem(err, "walk") : BF_OK;
}

/* --- the guard --- */

static bf_status_t check_status(const bf_step_t *step, bf_err_t *err)
{
    bf_instance_status_t status = bf_instance_status(step->scope->inst);
    const char *id = bf_instance_id(step->scope->inst);
    switch (status) {
    case BF_INSTANCE_RUNNING:
        return BF_OK;
    case BF_INSTANCE_COMPLETED:
        return step->guard == BF_GUARD_NONE
                   ? BF_OK
                   : bf_executor_refuse(
                         step->executor, BF_CODE_INSTANCE_COMPLETED, err,
                         "instance \"%s\" is completed; only restart is accepted", id);
    case BF_INSTANCE_SUSPENDED:
        return bf_executor_refuse(step->executor, BF_CODE_INSTANCE_SUSPENDED, err,
                                  "instance \"%s\" is suspended; resume it first", id);
    case BF_INSTANCE_TERMINATED:
    case BF_INSTANCE_WITHDRAWN:
        break;
    }
    return bf_executor_refuse(step->executor, BF_CODE_INSTANCE_TERMINATED, err,
                              "instance \"%s\" is %s; only restart is accepted", id,
                              bf_instance_status_name(status));
}

static const bf_found_t *find_open(const bf_flow_t *flow, const bf_node_t *node,
                                   uint32_t round)
{
    for (size_t i = 0; i < flow->found_count; i++) {
        const bf_found_t *found = &flow->found[i];
        if (found->task.node == node && (!round || found->task.round == round)) {
            return found;
        }
    }
    return NULL;
}

/* In the original's form of a jump the node is the target: any task of the caller counts
 * as the current one. */
static const bf_found_t *find_any_of_caller(const bf_flow_t *flow)
{
    for (size_t i = 0; i < flow->found_count; i++) {
        if (flow->found[i].task.state == BF_TASK_WAITING &&
            flow->found[i].task.node->task.kind != BF_CODE_TOPIC) {
            return &flow->found[i];
        }
    }
    return NULL;
}

static bool is_jump(const bf_step_t *step)
{
    return step->submit->action == BF_ACTION_BACK_JUMP ||
           step->submit->action == BF_ACTION_FORWARD_JUMP;
}

/* The round of the node that waits for this job, and for no other one. */
static const bf_found_t *find_job(const bf_step_t *step)
{
    for (size_t i = 0; i < step->flow.found_count; i++) {
        const bf_found_t *found = &step->flow.found[i];
        if (found->task.node == step->submit->node &&
            bf_dispatch_job(step->scope, found->task.node, found->task.round) ==
                step->submit->job) {
            return found;
        }
    }
    return NULL;
}

/* Does the action go by what led to the task? */
static bool needs_log(const bf_step_t *step)
{
    bf_action_t action = step->submit->action;
    return action == BF_ACTION_BACK || action == BF_ACTION_BACK_JUMP;
}

/* Nothing was open beside a place of the point: everything after it has come from there.
 * So BACK, which goes up until it meets a task of somebody, goes no further than to a
 * place with such a task. */
static const bf_node_t *origin_of_back(const bf_step_t *step,
                                       const bf_walk_point_t *point)
{
    for (uint32_t i = point->trail_count; i; i--) {
        const bf_node_t *node = point->trail[i - 1].node;
        if (node != step->submit->node && node->type == BF_NODE_ACTIVITY &&
            !bf_flow_is_auto(step->executor, step->scope->ctx, node)) {
            return node;
        }
    }
    return NULL;
}

/* Where the walk that BACK or BACK_JUMP goes by may begin; NULL = at START. What a jump
 * takes back comes after its target. */
static const bf_node_t *choose_origin(const bf_step_t *step)
{
    const bf_instance_live_t *live = bf_instance_live(step->scope->inst);
    const bf_walk_point_t *point = &live->point;
    if (point->graph != step->scope->graph || point->version != live->states.version) {
        return NULL;
    }
    if (step->submit->action == BF_ACTION_BACK) {
        return origin_of_back(step, point);
    }
    return bf_step_target(step);
}

/* The log of a step back begins where the point has been before, if it may. */
static void set_origin(bf_step_t *step)
{
    bf_walk_point_t *point = &bf_instance_live(step->scope->inst)->point;
    const bf_node_t *origin = choose_origin(step);
    step->origin = origin && bf_walk_point_return(point, origin) ? origin : NULL;
    step->flow.uses_point = step->origin != NULL;
}

/* The task must be current and operable by the caller. */
static bf_status_t guard_strictly(bf_step_t *step, bf_err_t *err)
{
    const bf_submit_t *submit = step->submit;
    step->flow.held = submit->node;
    step->flow.is_hidden = true;
    step->flow.uses_point = true;
    if (needs_log(step)) {
        set_origin(step);
    }
    bf_status_t rc = bf_flow_run(&step->flow, step->scope->graph, needs_log(step), err);
    if (rc != BF_OK) {
        return rc;
    }
    bool any = is_jump(step) && !submit->target;
    const bf_found_t *found = any ? find_any_of_caller(&step->flow)
                                  : find_open(&step->flow, submit->node, submit->round);
    if (submit->job) {
        found = find_job(step);
    }
    if (!found && any) {
        return bf_executor_refuse(step->executor, BF_CODE_NOT_OPERABLE, err,
                                  "no current task is operable by the caller");
    }
    if (!found && submit->job) {
        return bf_executor_refuse(
            step->executor, BF_CODE_NOT_WAITING, err,
            "task \"%s\" of graph \"%s\" does not wait for job %lld "
            "any more; drop its result",
            submit->node->id, submit->node->graph->id, (long long)submit->job);
    }
    if (!found) {
        return bf_executor_refuse(step->executor, BF_CODE_NOT_WAITING, err,
                                  "task \"%s\" of graph \"%s\" is not current",
                                  submit->node->id, submit->node->graph->id);
    }
    if (found->task.state != BF_TASK_WAITING) {
        return bf_executor_refuse(
            step->executor, BF_CODE_NOT_OPERABLE, err,
            "task \"%s\" of graph \"%s\" is not operable by the caller", submit->node->id,
            submit->node->graph->id);
    }
    step->result->source = found->task.node;
    step->round = found->task.round;
    step->visit = found->visit;
    return BF_OK;
}

/* Without a guard: the round that is open, else the last one that was come to. */
static bf_status_t choose_round(bf_step_t *step, bf_err_t *err)
{
    const bf_node_t *node = step->submit->node;
    bf_action_t action = step->submit->action;
    bool goes_back = action == BF_ACTION_BACK || action == BF_ACTION_BACK_JUMP;
    bf_task_state_t first = bf_instance_state(step->scope->inst, node->state_key);
    step->round = step->submit->round ? step->submit->round : 1;
    if (!goes_back && (step->submit->round || first != BF_TASK_COMPLETED)) {
        return BF_OK;
    }
    bf_err_t ignored = BF_ERR_INIT;
    bf_status_t rc = bf_flow_walk(&step->flow, step->executor, step->scope, BF_INTENT_MAP,
                                  true, &ignored);
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(err, "walk");
    }
    const bf_found_t *found = find_open(&step->flow, node, step->submit->round);
    step->visit =
        found ? found->visit : bf_log_find(&step->flow.log, node, step->submit->round);
    if (step->visit != BF_LOG_NONE) {
        step->round = step->flow.log.visits[step->visit].round;
    }
    return BF_OK;
}

/* --- forward --- */

static bf_status_t run_task(const bf_step_t *step, const bf_node_t *node, uint32_t round,
                            bf_err_t *err)
{
    if (node->task.kind == BF_CODE_NONE) {
        return BF_OK;
    }
    bf_context_t *ctx = step->scope->ctx;
    bf_origin_t origin = *bf_context_origin(ctx);
    const bf_origin_t before = origin;
    origin.round = round;
    bf_context_set_origin(ctx, &origin);
    bf_status_t rc = bf_flow_run_task(step->executor, step->scope, node, err);
    bf_context_set_origin(ctx, &before);
    if (rc != BF_OK) {
        (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
        bf_err_prefix(err, "Task handle failed: %s / %s: ", node->graph->id, node->id);
    }
    return rc;
}

static bf_status_t store_completed(const bf_step_t *step, const bf_node_t *node,
                                   uint32_t round, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    if (node->type != BF_NODE_ACTIVITY || node->task.kind == BF_CODE_TOPIC) {
        /* A gateway decides anew; a job is done. */
        rc = bf_step_remove_state(step, node, round, err);
    }
    return rc == BF_OK ? bf_step_put_state(step, node, round, BF_TASK_COMPLETED, err)
                       : rc;
}

bf_status_t bf_step_complete(const bf_step_t *step, const bf_node_t *node, uint32_t round,
                             bool is_behind, bf_err_t *err)
{
    bf_instance_t *inst = step->scope->inst;
    bf_walk_point_t *point = &bf_instance_live(inst)->point;
    uint64_t version = bf_instance_live(inst)->states.version;
    bool keeps = is_behind && point->graph == step->scope->graph;
    bf_status_t rc = run_task(step, node, round, err);
    keeps = keeps && version == bf_instance_live(inst)->states.version;
    if (rc == BF_OK) {
        rc = store_completed(step, node, round, err);
    }
    if (rc == BF_OK && keeps) {
        bf_flow_keep_point(inst, version);
    } else {
        bf_walk_point_clear(point);
    }
    return rc;
}

void bf_step_return_point(const bf_step_t *step, uint64_t version)
{
    bf_instance_live_t *live = bf_instance_live(step->scope->inst);
    bf_walk_point_t *point = &live->point;
    bool is_there = step->origin && point->graph == step->scope->graph &&
                    point->version == version && point->node == step->origin;
    if (is_there ||
        (step->origin && point->graph == step->scope->graph &&
         point->version == version && bf_walk_point_return(point, step->origin))) {
        point->version = live->states.version;
    }
}

/* Does the submitted task lie at the point of the instance or behind it? Then what is
 * stored about the task does not change the way to there. */
static bool is_behind_point(const bf_step_t *step)
{
    const bf_instance_live_t *live = bf_instance_live(step->scope->inst);
    const bf_walk_point_t *point = &live->point;
    return point->graph == step->scope->graph && point->version == live->states.version &&
           (step->flow.uses_point || (point->node == step->submit->node &&
                                      step->round == bf_walk_point_round(point)));
}

static bool is_gateway(const bf_node_t *node)
{
    return node->type == BF_NODE_EXCLUSIVE || node->type == BF_NODE_INCLUSIVE ||
           node->type == BF_NODE_PARALLEL || node->type == BF_NODE_LOOP;
}

/* Rules 127, 133: what comes next is walked when a next node is a gateway or automatic.
 * After gateways only, the first task of all becomes WAITING if it is the caller's; else
 * the first of the caller's. */
static bf_intent_t cascade_intent(const bf_step_t *step)
{
    const bf_node_t *node = step->submit->node;
    bf_intent_t intent = BF_INTENT_NONE;
    for (uint32_t i = 0; i < node->link_count; i++) {
        const bf_node_t *next = node->links[i]->to;
        if (is_gateway(next)) {
            intent = intent == BF_INTENT_NONE ? BF_INTENT_SUBMIT_IF : intent;
        } else if (bf_flow_is_auto(step->executor, step->scope->ctx, next)) {
            intent = BF_INTENT_SUBMIT;
        }
    }
    return intent;
}

/* Graphs that are called, directly or through others.  Calls may go in circles: each is
 * looked at once. */
typedef struct callees {
    const bf_graph_t **graphs;
    size_t count;
    size_t room;
} callees_t;

static bf_status_t add_callee(callees_t *list, const bf_graph_t *graph, bf_arena_t *arena)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->graphs[i] == graph) {
            return BF_OK;
        }
    }
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 16;
        const bf_graph_t **grown = bf_arena_alloc(arena, room * sizeof(*grown));
        if (!grown) {
            return BF_E_NOMEM;
        }
        if (list->count) {
            memcpy(grown, list->graphs, list->count * sizeof(*grown));
        }
        list->graphs = grown;
        list->room = room;
    }
    list->graphs[list->count++] = graph;
    return BF_OK;
}

static bf_status_t calls_graph(const bf_engine_t *engine, const bf_graph_t *graph,
                               const bf_graph_t *called, bf_arena_t *arena, bool *ret)
{
    callees_t list = {0};
    bf_status_t rc = add_callee(&list, graph, arena);
    *ret = false;
    for (size_t at = 0; rc == BF_OK && at < list.count; at++) {
        const bf_graph_t *from = list.graphs[at];
        for (uint32_t i = 0; rc == BF_OK && i < from->node_count; i++) {
            const bf_code_ref_t *task = &from->nodes[i].task;
            const bf_graph_t *next =
                task->kind == BF_CODE_GRAPH ? bf_engine_graph(engine, task->name) : NULL;
            if (next == called) {
                *ret = true;
                return BF_OK;
            }
            rc = next ? add_callee(&list, next, arena) : BF_OK;
        }
    }
    return rc;
}

/* Whoever works on a called graph by its own ID moves the graph on that calls it
 * (decision on rule 121). */
static bf_status_t find_root(const bf_step_t *step, bf_graph_t **ret, bf_err_t *err)
{
    const bf_scope_t *scope = step->scope;
    const char *pinned = bf_instance_graph_id(scope->inst);
    *ret = scope->graph;
    if (!*pinned || !strcmp(pinned, scope->graph->id)) {
        return BF_OK;
    }
    bf_engine_t *engine = step->executor->engine;
    bf_graph_t *root =
        bf_engine_graph_version(engine, pinned, bf_instance_graph_version(scope->inst));
    bool calls = false;
    if (root && calls_graph(engine, root, scope->graph, scope->arena, &calls) != BF_OK) {
        return bf_err_nomem(err, "graphs that a graph calls");
    }
    *ret = calls ? root : scope->graph;
    return BF_OK;
}

static bf_status_t add_open_after(bf_step_t *step, const bf_flow_t *flow,
                                  const bool *after, bf_err_t *err)
{
    for (size_t i = 0; i < flow->found_count; i++) {
        const bf_found_t *found = &flow->found[i];
        if (found->visit != BF_LOG_NONE && after[found->visit]) {
            bf_status_t rc = bf_step_add_target(step, &found->task, err);
            if (rc != BF_OK) {
                return rc;
            }
        }
    }
    return BF_OK;
}

/* Nothing new is open: a join that waits, the END, or nowhere. */
static bf_status_t add_quiet_target(bf_step_t *step, const bf_flow_t *flow,
                                    const bool *after, bf_err_t *err)
{
    const bf_walk_log_t *log = &flow->log;
    const bf_node_t *end = NULL;
    for (uint32_t i = 0; i < log->visit_count; i++) {
        const bf_log_visit_t *v = &log->visits[i];
        if (after && after[i] && v->is_open && !v->round) {
            bf_task_t join = {v->node, BF_TASK_UNKNOWN, 1};
            return bf_step_add_target(step, &join, err);
        }
        end = v->node->type == BF_NODE_END && v->caller == BF_LOG_NONE ? v->node : end;
    }
    bf_task_t task = {flow->ended && end ? end : step->submit->node, BF_TASK_COMPLETED,
                      step->round};
    return bf_step_add_target(step, &task, err);
}

/* Where the step has led: what is open after the submitted task, in the walk after it. */
static bf_status_t set_targets(bf_step_t *step, const bf_flow_t *flow, bf_err_t *err)
{
    const bf_walk_log_t *log = &flow->log;
    uint32_t visit = bf_log_find(log, step->submit->node, step->round);
    bool *after = NULL;
    bf_status_t rc = BF_OK;
    if (visit != BF_LOG_NONE) {
        after = bf_arena_calloc(step->scope->arena, log->visit_count, sizeof(*after));
        if (!after || bf_log_mark_after(log, visit, after) != BF_OK) {
            return bf_err_nomem(err, "targets of a step");
        }
        rc = add_open_after(step, flow, after, err);
    }
    if (rc == BF_OK && !step->result->target_count) {
        rc = add_quiet_target(step, flow, after, err);
    }
    return rc;
}

static bf_status_t cascade(bf_step_t *step, bf_intent_t intent, bf_err_t *err)
{
    bf_flow_t flow;
    bf_flow_init(&flow, step->executor, step->scope, intent);
    flow.is_hidden = intent == BF_INTENT_FIND_NEXT; /* only to see where we are */
    flow.uses_point = true; /* the submitted task lies behind it, or there is none */
    bf_graph_t *root = NULL;
    bf_status_t rc = find_root(step, &root, err);
    if (rc == BF_OK) {
        rc = bf_flow_run(&flow, root, true, err);
    }
    if (rc != BF_OK) {
        bf_err_prefix(err, "Task handle failed: %s / %s: ", step->submit->node->graph->id,
                      step->submit->node->id);
        return rc;
    }
    bf_flow_set_status(step->scope, flow.ended);
    return set_targets(step, &flow, err);
}

/* The point goes along when the submitted task is there and has been kept. */
static void pass_point(const bf_step_t *step)
{
    bf_walk_point_t *point = &bf_instance_live(step->scope->inst)->point;
    if (point->graph && point->node == step->submit->node &&
        bf_walk_point_round(point) == step->round) {
        bf_walk_point_pass(point);
    }
}

/* The common case: one task follows, and nothing needs to be walked. */
static const bf_node_t *single_next(const bf_step_t *step)
{
    const bf_node_t *node = step->submit->node;
    if (node->link_count != 1 || node->links[0]->when.kind != BF_CODE_NONE) {
        return NULL;
    }
    const bf_node_t *next = node->links[0]->to;
    bf_task_state_t state;
    bool plain = next->type == BF_NODE_ACTIVITY && next->prev_link_count == 1 &&
                 next->when.kind == BF_CODE_NONE &&
                 state_of(step, next, step->round, &state) && state != BF_TASK_COMPLETED;
    return plain ? next : NULL;
}

static bf_status_t forward(bf_step_t *step, bf_err_t *err)
{
    bf_status_t rc = bf_step_complete(step, step->submit->node, step->round,
                                      is_behind_point(step), err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_intent_t intent = cascade_intent(step);
    if (intent != BF_INTENT_NONE) {
        return cascade(step, intent, err);
    }
    const bf_node_t *next = single_next(step);
    if (!next) {
        return cascade(step, BF_INTENT_FIND_NEXT, err);
    }
    bf_flow_set_status(step->scope, false);
    pass_point(step);
    bool operable =
        bf_controller_is_operatable(step->executor->controller, step->scope->ctx, next);
    bf_task_t task = {next, operable ? BF_TASK_WAITING : BF_TASK_UNKNOWN, step->round};
    return bf_step_add_target(step, &task, err);
}

/* --- terminate, restart --- */

static bf_status_t terminate(bf_step_t *step, bf_err_t *err)
{
    bf_status_t rc =
        bf_step_put_state(step, step->submit->node, step->round, BF_TASK_TERMINATED, err);
    if (rc == BF_OK) {
        bf_instance_set_status(step->scope->inst, BF_INSTANCE_TERMINATED);
        rc = add_itself(step, BF_TASK_TERMINATED, err);
    }
    return rc;
}

static bf_status_t restart(bf_step_t *step, bf_err_t *err)
{
    if (bf_instance_state_clear(step->scope->inst) != BF_OK) {
        return bf_err_nomem(err, "restart");
    }
    bf_instance_set_status(step->scope->inst, BF_INSTANCE_RUNNING);
    step->round = 1;
    bf_flow_t flow;
    bf_err_t ignored = BF_ERR_INIT; /* where it begins is only told, not needed */
    bf_flow_init(&flow, step->executor, step->scope, BF_INTENT_FIND_NEXT);
    flow.is_hidden = true;
    bf_status_t rc = bf_flow_run(&flow, step->scope->graph, false, &ignored);
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(err, "restart");
    }
    for (size_t i = 0; rc == BF_OK && i < flow.found_count; i++) {
        rc = bf_step_add_target(step, &flow.found[i].task, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return step->result->target_count ? BF_OK : add_itself(step, BF_TASK_UNKNOWN, err);
}

/* --- the entry --- */

static bf_status_t apply(bf_step_t *step, bf_err_t *err)
{
    switch (step->submit->action) {
    case BF_ACTION_FORWARD:
        return forward(step, err);
    case BF_ACTION_BACK:
        return bf_step_back(step, err);
    case BF_ACTION_BACK_JUMP:
        return bf_step_back_jump(step, err);
    case BF_ACTION_FORWARD_JUMP:
        return bf_step_forward_jump(step, err);
    case BF_ACTION_TERMINATE:
        return terminate(step, err);
    case BF_ACTION_RESTART:
        return restart(step, err);
    case BF_ACTION_UNKNOWN:
    case BF_ACTION_DISPATCH:
        break;
    }
    return bf_executor_refuse(step->executor, BF_CODE_UNKNOWN_ACTION, err,
                              "StateOperation is UNKNOWN; there are back, back_jump, "
                              "forward, forward_jump, terminate and restart");
}

static bf_status_t admit(bf_step_t *step, bf_err_t *err)
{
    if (step->submit->action == BF_ACTION_UNKNOWN ||
        step->submit->action == BF_ACTION_RESTART) {
        return BF_OK;
    }
    bf_status_t rc = check_status(step, err);
    if (rc != BF_OK) {
        return rc;
    }
    return step->guard == BF_GUARD_STRICT ? guard_strictly(step, err)
                                          : choose_round(step, err);
}

bf_status_t bf_executor_submit_in(bf_executor_t *executor, const bf_scope_t *scope,
                                  const bf_submit_t *submit, bf_guard_t guard,
                                  bf_submit_result_t *ret, bf_err_t *err)
{
    bf_step_t step;
    step.executor = executor;
    step.scope = scope;
    step.submit = submit;
    step.guard = guard;
    step.result = ret;
    step.round = 0;
    step.visit = BF_LOG_NONE;
    step.origin = NULL;
    bf_flow_init(&step.flow, executor, scope, BF_INTENT_START);
    *ret = (bf_submit_result_t){.source = submit->node};
    executor->code = BF_CODE_OK;
    bf_dispatch_begin(executor);
    if (!*bf_instance_graph_id(scope->inst) &&
        bf_instance_pin_graph(scope->inst, scope->graph) != BF_OK) {
        return bf_err_nomem(err, "graph of an instance");
    }
    bf_status_t rc = admit(&step, err);
    if (rc == BF_OK) {
        rc = apply(&step, err);
    }
    ret->round = step.round ? step.round : 1;
    return rc;
}

bf_status_t bf_executor_submit_if_waiting_in(bf_executor_t *executor,
                                             const bf_scope_t *scope,
                                             const bf_submit_t *submit, bf_guard_t guard,
                                             bf_submit_result_t *ret, bf_err_t *err)
{
    bf_submit_t filled = *submit;
    bf_step_t step = {.executor = executor, .scope = scope, .submit = &filled};
    bf_task_state_t state = BF_TASK_UNKNOWN;
    filled.round = filled.round ? filled.round : 1;
    bool known = state_of(&step, submit->node, filled.round, &state);
    while (known && !submit->round && state == BF_TASK_COMPLETED) {
        known = state_of(&step, submit->node, ++filled.round, &state);
    }
    if (!known) {
        return bf_err_nomem(err, "state of a node");
    }
    if (state != BF_TASK_WAITING) {
        return bf_executor_refuse(executor, BF_CODE_NOT_WAITING, err,
                                  "task \"%s\" of graph \"%s\" is not waiting",
                                  submit->node->id, submit->node->graph->id);
    }
    if (!bf_flow_is_operable(executor, scope->ctx, submit->node)) {
        return bf_executor_refuse(
            executor, BF_CODE_NOT_OPERABLE, err,
            "task \"%s\" of graph \"%s\" is not operable by the caller", submit->node->id,
            submit->node->graph->id);
    }
    return bf_executor_submit_in(executor, scope, &filled, guard, ret, err);
}
