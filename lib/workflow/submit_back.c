/*
 * submit_back.c - BACK and BACK_JUMP, on the log of a walk (rules 137-146)
 *
 * BACK takes back the task, and leads to the task of somebody before it on its branch;
 * what is automatic between the two will run again.  Behind a join that is a task of each
 * branch; a split whose branches have all been climbed without meeting anybody is climbed
 * over.  As the first task of a branch it leads before the split, and everything that the
 * split has led to is taken back: the siblings are abandoned.  It does not cross the
 * boundary of a called graph (rule 144).
 *
 * BACK_JUMP takes back everything that the target has led to, and opens the target.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/workflow/executor_int.h"

typedef struct back {
    bf_step_t *step;
    const bf_walk_log_t *log;
    bool *reset;       /* visits whose state goes */
    bool *seen;        /* looked at while climbing */
    uint32_t *climbed; /* links from the visit that have been climbed */
    uint32_t *work;    /* visits to look at */
    uint32_t height;
    uint32_t *splits; /* where branches of a join began */
    uint32_t split_count;
    bool past_join; /* the way up has forked */
} back_t;

static bf_status_t back_init(back_t *b, bf_step_t *step, bf_err_t *err)
{
    bf_arena_t *arena = step->scope->arena;
    *b = (back_t){.step = step, .log = &step->flow.log};
    uint32_t count = b->log->visit_count;
    size_t room = 2 * (size_t)count + 1; /* a split may come twice */
    b->reset = bf_arena_calloc(arena, count, sizeof(*b->reset));
    b->seen = bf_arena_calloc(arena, count, sizeof(*b->seen));
    b->climbed = bf_arena_calloc(arena, count, sizeof(*b->climbed));
    b->work = bf_arena_calloc(arena, room, sizeof(*b->work));
    b->splits = bf_arena_calloc(arena, count, sizeof(*b->splits));
    bool done = b->reset && b->seen && b->climbed && b->work && b->splits;
    return done ? BF_OK : bf_err_nomem(err, "back");
}

static bool is_human(const back_t *b, const bf_node_t *node)
{
    return !bf_flow_is_auto(b->step->executor, b->step->scope->ctx, node);
}

static uint32_t count_edges(const back_t *b, uint32_t visit, bool from)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->log->edge_count; i++) {
        const bf_log_edge_t *edge = &b->log->edges[i];
        count += (from ? edge->from : edge->to) == visit;
    }
    return count;
}

static bool is_put_aside(const back_t *b, uint32_t visit)
{
    for (uint32_t i = 0; i < b->split_count; i++) {
        if (b->splits[i] == visit) {
            return true;
        }
    }
    return false;
}

static void push_parents(back_t *b, uint32_t visit)
{
    b->past_join = b->past_join || count_edges(b, visit, false) > 1;
    for (uint32_t i = 0; i < b->log->edge_count; i++) {
        uint32_t from = b->log->edges[i].from;
        if (b->log->edges[i].to != visit) {
            continue;
        }
        b->climbed[from]++;
        bool complete =
            is_put_aside(b, from) && b->climbed[from] == count_edges(b, from, true);
        if (!b->seen[from] || complete) {
            b->seen[from] = true;
            b->work[b->height++] = from;
        }
    }
}

static bf_status_t add_target(back_t *b, uint32_t visit, bf_err_t *err)
{
    const bf_log_visit_t *v = &b->log->visits[visit];
    bool operable = bf_controller_is_operatable(b->step->executor->controller,
                                                b->step->scope->ctx, v->node);
    bf_task_t task = {v->node, operable ? BF_TASK_WAITING : BF_TASK_UNKNOWN, v->round};
    return bf_step_add_target(b->step, &task, err);
}

/* One visit on the way up. */
static bf_status_t climb(back_t *b, uint32_t visit, bf_err_t *err)
{
    const bf_log_visit_t *v = &b->log->visits[visit];
    if (v->node->type == BF_NODE_START) {
        return BF_OK;
    }
    if (!v->round) { /* from one pass of a loop to the next */
        push_parents(b, visit);
        return BF_OK;
    }
    uint32_t ways = count_edges(b, visit, true);
    bool is_split = ways > 1 && b->climbed[visit] < ways;
    bool human = is_human(b, v->node);
    if (is_split && !human && b->past_join) {
        b->splits[b->split_count++] = visit;
        return BF_OK;
    }
    b->reset[visit] = true;
    if (is_split && bf_log_mark_after(b->log, visit, b->reset) != BF_OK) {
        return bf_err_nomem(err, "back");
    }
    if (human) {
        return add_target(b, visit, err);
    }
    push_parents(b, visit);
    return BF_OK;
}

/* No branch of the join has a task of somebody, and some end elsewhere: before the last
 * split, then. */
static bf_status_t climb_over_split(back_t *b, bf_err_t *err)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < b->split_count; i++) {
        last = b->splits[i] > last ? b->splits[i] : last;
    }
    b->split_count = 0;
    b->past_join = false;
    b->reset[last] = true;
    if (bf_log_mark_after(b->log, last, b->reset) != BF_OK) {
        return bf_err_nomem(err, "back");
    }
    push_parents(b, last);
    return BF_OK;
}

static bf_status_t climb_all(back_t *b, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && b->height) {
        while (rc == BF_OK && b->height) {
            rc = climb(b, b->work[--b->height], err);
        }
        if (rc == BF_OK && !b->step->result->target_count && b->split_count) {
            rc = climb_over_split(b, err);
        }
    }
    return rc;
}

static bf_status_t remove_reset(const back_t *b, bf_err_t *err)
{
    bf_log_mark_inside(b->log, b->reset);
    for (uint32_t i = 0; i < b->log->visit_count; i++) {
        const bf_log_visit_t *v = &b->log->visits[i];
        if (b->reset[i] && v->round) {
            bf_status_t rc = bf_step_remove_state(b->step, v->node, v->round, err);
            if (rc != BF_OK) {
                return rc;
            }
        }
    }
    return BF_OK;
}

/* A task that no walk comes to (only without a guard): its own state, and those of the
 * tasks that lead to it (rule 137). */
static bf_status_t back_unvisited(bf_step_t *step, bf_err_t *err)
{
    const bf_node_t *node = step->submit->node;
    bf_status_t rc = bf_step_remove_state(step, node, step->round, err);
    for (uint32_t i = 0; rc == BF_OK && i < node->prev_link_count; i++) {
        const bf_node_t *before = node->prev_links[i]->from;
        if (before->type == BF_NODE_ACTIVITY) {
            rc = bf_step_remove_state(step, before, step->round, err);
        }
    }
    return rc;
}

/* An END may have been come to several times: each way back counts. */
static void push_starts(back_t *b)
{
    const bf_node_t *node = b->step->submit->node;
    for (uint32_t i = 0; i < b->log->visit_count; i++) {
        const bf_log_visit_t *v = &b->log->visits[i];
        bool is_start = i == b->step->visit ||
                        (node->type == BF_NODE_END && v->node == node && v->round);
        if (is_start) {
            b->reset[i] = true;
            b->seen[i] = true;
            push_parents(b, i);
        }
    }
}

bf_status_t bf_step_back(bf_step_t *step, bf_err_t *err)
{
    back_t b;
    bf_status_t rc = BF_OK;
    if (step->visit == BF_LOG_NONE) {
        rc = back_unvisited(step, err);
    } else {
        rc = back_init(&b, step, err);
        if (rc == BF_OK) {
            push_starts(&b);
            rc = climb_all(&b, err);
        }
        if (rc == BF_OK) {
            uint64_t version = bf_instance_states_version(step->scope->inst);
            rc = remove_reset(&b, err);
            bf_step_return_point(step, version);
        }
    }
    if (rc == BF_OK && !step->result->target_count) {
        bf_task_t itself = {step->submit->node, BF_TASK_UNKNOWN, step->round};
        rc = bf_step_add_target(step, &itself, err);
    }
    if (rc == BF_OK) {
        bf_flow_set_status(step->scope, false);
    }
    return rc;
}

/* --- back jump --- */

static bf_status_t refuse_target(bf_step_t *step, const char *why, bf_err_t *err)
{
    const bf_node_t *target = bf_step_target(step);
    return bf_executor_refuse(step->executor, BF_CODE_UNREACHABLE_TARGET, err,
                              "cannot jump back to \"%s\" of graph \"%s\": %s",
                              target->id, target->graph->id, why);
}

static bf_status_t open_target(bf_step_t *step, uint32_t visit, bf_err_t *err)
{
    const bf_log_visit_t *v = &step->flow.log.visits[visit];
    uint64_t version = bf_instance_states_version(step->scope->inst);
    bf_status_t rc = bf_step_put_state(step, v->node, v->round, BF_TASK_WAITING, err);
    if (step->origin) { /* it lies there or behind it */
        bf_flow_keep_point(step->scope->inst, version);
    }
    bf_task_t task = {v->node, BF_TASK_WAITING, v->round};
    if (rc == BF_OK) {
        rc = bf_step_add_target(step, &task, err);
    }
    if (rc == BF_OK) {
        bf_flow_set_status(step->scope, false);
        rc = bf_step_show(step, err);
    }
    return rc;
}

/* Everything after the target, and after each call that it is inside of. */
static bf_status_t reset_after(back_t *b, uint32_t visit, bf_err_t *err)
{
    if (bf_log_mark_after(b->log, visit, b->reset) != BF_OK) {
        return bf_err_nomem(err, "back jump");
    }
    uint32_t caller = b->log->visits[visit].caller;
    while (caller != BF_LOG_NONE) {
        const bf_log_visit_t *v = &b->log->visits[caller];
        bf_status_t rc = bf_step_remove_state(b->step, v->node, v->round, err);
        if (rc != BF_OK) {
            return rc;
        }
        caller = v->caller;
    }
    return BF_OK;
}

bf_status_t bf_step_back_jump(bf_step_t *step, bf_err_t *err)
{
    const bf_node_t *target = bf_step_target(step);
    uint32_t visit = bf_log_find(&step->flow.log, target, 0);
    if (visit == BF_LOG_NONE) {
        return refuse_target(step, "it has not been done in this run", err);
    }
    if (bf_flow_is_auto(step->executor, step->scope->ctx, target)) {
        return refuse_target(step, "it is not a task of anybody", err);
    }
    if (step->flow.log.visits[visit].is_open) {
        return open_target(step, visit, err); /* it is the current one */
    }
    back_t b;
    uint64_t version = bf_instance_states_version(step->scope->inst);
    bf_status_t rc = back_init(&b, step, err);
    if (rc == BF_OK) {
        rc = reset_after(&b, visit, err);
    }
    if (rc == BF_OK) {
        rc = remove_reset(&b, err);
        bf_step_return_point(step, version);
    }
    return rc == BF_OK ? open_target(step, visit, err) : rc;
}
