/*
 * walk.c - enter a node, run it, flow out
 *
 * The order inside of a node is that of the original (rules 27, 28, 37, 43): recorded,
 * step budget, join, start hooks, task, end hooks, links.  A stop leaves everything where
 * it is; an interrupt ends the branch, which stays pending.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "walk_int.h"

#define STACK_FIRST 64
#define MASK_LINKS  64

/* --- the stack, frames, pending branches --- */

static bf_status_t grow_stack(bf_exchanger_t *ex, bf_err_t *err)
{
    uint32_t room = ex->room ? ex->room * 2 : STACK_FIRST;
    bf_entry_t *stack = realloc(ex->stack, room * sizeof(*stack));
    if (!stack) {
        return bf_err_nomem(err, "stack of the walk");
    }
    ex->stack = stack;
    ex->room = room;
    return BF_OK;
}

bf_status_t bf_walk_push(bf_exchanger_t *ex, const bf_entry_t *entry, bf_err_t *err)
{
    if (ex->height == ex->room) {
        bf_status_t rc = grow_stack(ex, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    ex->stack[ex->height++] = *entry;
    return BF_OK;
}

bf_frame_t *bf_walk_open_frame(bf_exchanger_t *ex, const bf_node_t *opener)
{
    bf_frame_t *frame = ex->free_frames;
    if (frame) {
        ex->free_frames = frame->outer;
    } else {
        frame = bf_arena_alloc(&ex->arena, sizeof(*frame));
        if (!frame) {
            return NULL;
        }
    }
    memset(frame, 0, sizeof(*frame));
    frame->outer = ex->frame;
    frame->opener = opener;
    frame->depth = ex->frame->depth;
    frame->usage = ex->frame->usage;
    frame->driver = ex->frame->driver;
    frame->caller = ex->frame->caller;
    return frame;
}

void bf_walk_drop_pending(bf_exchanger_t *ex, bf_frame_t *frame)
{
    while (frame->pending) {
        bf_pending_t *p = frame->pending;
        frame->pending = p->next;
        if (p->inner) {
            bf_walk_close_frame(ex, p->inner);
        }
        p->next = ex->free_pending;
        ex->free_pending = p;
    }
    frame->pending_last = NULL;
    frame->is_hard = false;
}

/* Pending frames nest at most BF_MAX_CALL_DEPTH deep. */
void bf_walk_close_frame(bf_exchanger_t *ex, bf_frame_t *frame)
{
    bf_walk_drop_pending(ex, frame);
    bf_join_drop_all(ex, frame);
    frame->outer = ex->free_frames;
    ex->free_frames = frame;
}

bf_status_t bf_walk_add_pending(bf_exchanger_t *ex, bf_frame_t *frame,
                                const bf_pending_t *what, bool hard, bf_err_t *err)
{
    bf_pending_t *p = ex->free_pending;
    if (p) {
        ex->free_pending = p->next;
    } else {
        p = bf_arena_alloc(&ex->arena, sizeof(*p));
        if (!p) {
            return bf_err_nomem(err, "pending branch");
        }
    }
    *p = *what;
    p->next = NULL;
    if (frame->pending_last) {
        frame->pending_last->next = p;
    } else {
        frame->pending = p;
    }
    frame->pending_last = p;
    frame->is_hard = frame->is_hard || hard;
    return BF_OK;
}

static bf_status_t push_at(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bf_entry_t entry = {.node = node,
                        .frame = ex->frame,
                        .kind = BF_ENTRY_AT,
                        .source = BF_LOG_NONE,
                        .as.saved = ex->at_saved};
    return bf_walk_push(ex, &entry, err);
}

/* --- conditions and hooks --- */

bf_status_t bf_walk_test(bf_exchanger_t *ex, bf_frame_t *frame, const bf_code_ref_t *code,
                         bool *ret, bf_err_t *err)
{
    if (code->kind == BF_CODE_NONE) {
        *ret = true;
        return BF_OK;
    }
    bf_status_t rc = bf_driver_test(frame->driver, ex, code, ret, err);
    if (rc != BF_OK) {
        (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
        bf_err_prefix(err,
                      "The condition handle failed: %s / %s: ", frame->usage->graph->id,
                      code->text);
    }
    return rc;
}

static const bf_hooks_t *hooks_of(const bf_exchanger_t *ex)
{
    return ex->frame->depth ? &ex->call_hooks : &ex->root_hooks;
}

static bf_status_t run_start_hooks(bf_exchanger_t *ex, const bf_node_t *node,
                                   bf_err_t *err)
{
    const bf_hooks_t *hooks = hooks_of(ex);
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_start ? it->on_node_start(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    bf_driver_t *driver = ex->frame->driver;
    return driver->ops->on_node_start ? driver->ops->on_node_start(driver, ex, node, err)
                                      : BF_OK;
}

static bf_status_t run_end_hooks(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    const bf_hooks_t *hooks = hooks_of(ex);
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_end ? it->on_node_end(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    bf_driver_t *driver = ex->frame->driver;
    return driver->ops->on_node_end ? driver->ops->on_node_end(driver, ex, node, err)
                                    : BF_OK;
}

static bf_status_t run_arrive_hooks(bf_exchanger_t *ex, const bf_node_t *node,
                                    bf_err_t *err)
{
    const bf_hooks_t *hooks = hooks_of(ex);
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_arrive ? it->on_node_arrive(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* After hooks and the task: does the branch end here? */
static bf_status_t check_flags(bf_exchanger_t *ex, const bf_node_t *node, bool *ret_ends,
                               bf_err_t *err)
{
    *ret_ends = ex->ctx->stopped || ex->interrupted || ex->pended;
    if (!*ret_ends) {
        return BF_OK;
    }
    bf_log_set_open(ex, ex->at);
    if (ex->ctx->stopped) {
        ex->interrupted = ex->pended = false;
        return push_at(ex, node, err);
    }
    bf_pending_t what = {.kind = BF_ENTRY_AT, .node = node, .saved = ex->at_saved};
    bool hard = ex->pended;
    ex->interrupted = ex->pended = false;
    return bf_walk_add_pending(ex, ex->frame, &what, hard, err);
}

/* --- flowing out --- */

static bf_status_t no_route(const bf_node_t *node, bf_err_t *err)
{
    return bf_err_set(err, BF_E_NO_ROUTE,
                      "%s / %s: none of the %u links of the %s node may be followed; add "
                      "a link without a condition",
                      node->graph->id, node->id, node->link_count,
                      bf_node_type_name(node->type));
}

static bf_status_t recall(bf_exchanger_t *ex, const bf_node_t *node, bool *chosen,
                          bool *ret_known, bf_err_t *err)
{
    bf_driver_t *driver = ex->frame->driver;
    *ret_known = false;
    if (!driver->ops->recall_route) {
        return BF_OK;
    }
    memset(chosen, 0, node->link_count * sizeof(*chosen));
    return driver->ops->recall_route(driver, ex, node, chosen, ret_known, err);
}

/* The first link whose condition is true, else the one without condition (rules 63, 64).
 */
static bf_status_t choose_one(bf_exchanger_t *ex, const bf_node_t *node, bool *chosen,
                              bf_err_t *err)
{
    uint32_t pick = node->link_count;
    for (uint32_t i = 0; i < node->link_count; i++) {
        const bf_link_t *link = node->links[i];
        bool is_true = false;
        if (link->when.kind == BF_CODE_NONE) {
            pick = i;
            continue;
        }
        bf_status_t rc = bf_walk_test(ex, ex->frame, &link->when, &is_true, err);
        if (rc != BF_OK) {
            return rc;
        }
        if (is_true) {
            pick = i;
            break;
        }
    }
    if (pick == node->link_count) {
        return no_route(node, err);
    }
    chosen[pick] = true;
    return BF_OK;
}

/* Every link whose condition is true (rule 66). */
static bf_status_t choose_true(bf_exchanger_t *ex, const bf_node_t *node, bool *chosen,
                               bf_err_t *err)
{
    bool any = false;
    for (uint32_t i = 0; i < node->link_count; i++) {
        bf_status_t rc =
            bf_walk_test(ex, ex->frame, &node->links[i]->when, &chosen[i], err);
        if (rc != BF_OK) {
            return rc;
        }
        any = any || chosen[i];
    }
    return any ? BF_OK : no_route(node, err);
}

static bf_status_t push_chosen(bf_exchanger_t *ex, const bf_node_t *node,
                               const bool *chosen, bf_err_t *err)
{
    bf_entry_t entry = {
        .node = node, .frame = ex->frame, .kind = BF_ENTRY_MASK, .source = ex->at};
    if (node->link_count > MASK_LINKS) {
        entry.kind = BF_ENTRY_CHOSEN;
        entry.as.chosen = chosen;
        return bf_walk_push(ex, &entry, err);
    }
    for (uint32_t i = 0; i < node->link_count; i++) {
        entry.as.mask |= chosen[i] ? UINT64_C(1) << i : 0;
    }
    return bf_walk_push(ex, &entry, err);
}

static bf_status_t flow_choice(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bool few[MASK_LINKS] = {false};
    bool *chosen = few;
    if (node->link_count > MASK_LINKS) {
        chosen = bf_arena_calloc(&ex->arena, node->link_count, sizeof(*chosen));
        if (!chosen) {
            return bf_err_nomem(err, "links of a node");
        }
    }
    bool known;
    bf_status_t rc = recall(ex, node, chosen, &known, err);
    if (rc == BF_OK && !known) {
        rc = node->type == BF_NODE_EXCLUSIVE ? choose_one(ex, node, chosen, err)
                                             : choose_true(ex, node, chosen, err);
        bf_driver_t *driver = ex->frame->driver;
        if (rc == BF_OK && driver->ops->record_route) {
            rc = driver->ops->record_route(driver, ex, node, chosen, err);
        }
    }
    return rc == BF_OK ? push_chosen(ex, node, chosen, err) : rc;
}

static bf_status_t flow_out(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (bf_node_is_loop_head(node)) {
        return bf_loop_open(ex, node, err);
    }
    if (!node->link_count) {
        return BF_OK;
    }
    bf_entry_t entry = {
        .node = node, .frame = ex->frame, .kind = BF_ENTRY_TRUE, .source = ex->at};
    switch (node->type) {
    case BF_NODE_END:
        return BF_OK;
    case BF_NODE_EXCLUSIVE:
    case BF_NODE_INCLUSIVE:
        return flow_choice(ex, node, err);
    case BF_NODE_PARALLEL:
        entry.kind = BF_ENTRY_ALL;
        return bf_walk_push(ex, &entry, err);
    case BF_NODE_START:
    case BF_NODE_ACTIVITY:
    case BF_NODE_LOOP:
    case BF_NODE_TYPE_COUNT:
        break;
    }
    return bf_walk_push(ex, &entry, err);
}

/* --- a node --- */

static bf_status_t finish_node(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bool ends;
    if (ex->only_task && ex->frame == &ex->root) {
        return BF_OK;
    }
    bf_status_t rc = check_flags(ex, node, &ends, err);
    if (rc != BF_OK || ends) {
        return rc;
    }
    rc = run_end_hooks(ex, node, err);
    if (rc == BF_OK) {
        rc = check_flags(ex, node, &ends, err);
    }
    if (rc != BF_OK || ends) {
        return rc;
    }
    return flow_out(ex, node, err);
}

/* The task has asked for a graph: walk it in a frame of its own. */
static bf_status_t enter_call(bf_exchanger_t *ex, const bf_node_t *node,
                              const bf_value_t *saved, bf_err_t *err)
{
    bf_graph_t *graph = ex->call;
    ex->call = NULL;
    ex->step_count--; /* the call itself is free (rule 45) */
    if (ex->frame->depth >= BF_MAX_CALL_DEPTH) {
        return bf_err_set(err, BF_E_LIMIT,
                          "graph calls are nested deeper than %d; does %s call itself "
                          "without an end?",
                          BF_MAX_CALL_DEPTH, graph->id);
    }
    bf_frame_t *inner = bf_walk_open_frame(ex, node);
    bf_usage_t *usage = bf_exchanger_usage(ex, graph);
    if (!inner || !usage) {
        return bf_err_nomem(err, "call of a graph");
    }
    uint32_t height = ex->height;
    bf_driver_t *driver = ex->frame->driver;
    bf_status_t rc = BF_OK;
    if (driver->ops->driver_for) {
        inner->driver = driver->ops->driver_for(driver, ex, graph);
    } else {
        rc = bf_engine_driver_for(ex->engine, graph, &inner->driver, err);
    }
    inner->usage = usage;
    inner->depth++;
    inner->caller = ex->at;
    if (rc == BF_OK) {
        bf_entry_t entry = {.node = node,
                            .frame = ex->frame,
                            .kind = BF_ENTRY_CALL,
                            .source = ex->at,
                            .as.inner = inner};
        rc = bf_walk_push(ex, &entry, err);
    }
    if (rc == BF_OK) {
        inner->base = ex->height;
        inner->caller = ex->at;
        ex->frame = inner;
        ex->at_saved = NULL;
        rc = bf_resume_frame(ex, inner, saved, err);
    }
    if (rc != BF_OK) {
        ex->height = height;
        ex->frame = inner->outer;
        ex->at_saved = saved;
        bf_walk_close_frame(ex, inner);
    }
    return rc;
}

static bf_status_t run_task(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bool is_true;
    bf_status_t rc = bf_walk_test(ex, ex->frame, &node->when, &is_true, err);
    if (rc != BF_OK || !is_true) {
        return rc;
    }
    rc = bf_driver_run_task(ex->frame->driver, ex, node, err);
    if (rc != BF_OK) {
        (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
        bf_err_prefix(err, "The task handle failed: %s / %s: ", node->graph->id,
                      node->id);
    }
    return rc;
}

static bf_status_t count_visit(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bf_visit_t *visit = &ex->frame->usage->visits[node->index];
    if (visit->walk != ex->walk) {
        visit->walk = ex->walk;
        visit->count = 0;
    }
    visit->count++;
    if (ex->at != BF_LOG_NONE) { /* a join that has waited */
        bf_log_set_round(ex, ex->at, visit->count);
        return BF_OK;
    }
    return bf_log_add(ex, node, visit->count, &ex->at, err);
}

/* Hooks, task, links. @param saved frame of the call to be resumed, or NULL */
static bf_status_t run_node(bf_exchanger_t *ex, const bf_node_t *node,
                            const bf_value_t *saved, bf_err_t *err)
{
    bool ends;
    ex->at_saved = saved;
    bf_status_t rc = count_visit(ex, node, err);
    if (rc == BF_OK) {
        rc = run_start_hooks(ex, node, err);
    }
    if (rc == BF_OK) {
        rc = check_flags(ex, node, &ends, err);
    }
    if (rc != BF_OK || ends) {
        return rc;
    }
    if (node->type != BF_NODE_START && node->type != BF_NODE_END) {
        rc = run_task(ex, node, err);
        if (rc == BF_OK && ex->call) {
            return enter_call(ex, node, saved, err);
        }
        if (rc != BF_OK) {
            return rc;
        }
    }
    return finish_node(ex, node, err);
}

/* Count a step. *ret_over: the budget is used up and the walk has been stopped. */
static bf_status_t take_step(bf_exchanger_t *ex, const bf_node_t *node, bool *ret_over,
                             bf_err_t *err)
{
    *ret_over = ex->steps >= 0 && ex->step_count >= ex->steps;
    if (*ret_over) {
        bf_exchanger_stop(ex);
        return BF_OK;
    }
    ex->step_count++;
    if (++ex->visit_count > ex->max_steps) {
        return bf_err_set(err, BF_E_STEP_LIMIT,
                          "%s / %s: more than %lld node visits; is there a cycle without "
                          "an exit?",
                          node->graph->id, node->id, (long long)ex->max_steps);
    }
    return BF_OK;
}

/* A condition, or the step budget, has stopped or interrupted on the way to the node. */
static bf_status_t refuse_entry(bf_exchanger_t *ex, const bf_node_t *node, bool at,
                                const bf_value_t *saved, bf_err_t *err)
{
    bf_entry_kind_t kind = at ? BF_ENTRY_AT : BF_ENTRY_TO;
    bool hard = ex->pended;
    ex->interrupted = ex->pended = false;
    if (ex->ctx->stopped) {
        bf_entry_t entry = {.node = node,
                            .frame = ex->frame,
                            .kind = kind,
                            .source = ex->source,
                            .as.saved = saved};
        return bf_walk_push(ex, &entry, err);
    }
    bf_pending_t what = {.kind = kind, .node = node, .saved = saved};
    return bf_walk_add_pending(ex, ex->frame, &what, hard, err);
}

/* A node is come to: over a link, or (at) directly. */
static bf_status_t enter_node(bf_exchanger_t *ex, const bf_node_t *node, bool at,
                              const bf_value_t *saved, bf_err_t *err)
{
    bool over;
    ex->at = BF_LOG_NONE;
    ex->at_saved = saved;
    if (ex->ctx->stopped || ex->interrupted || ex->pended) {
        return refuse_entry(ex, node, at, saved, err);
    }
    ex->frame->usage->last = node;
    bf_status_t rc = at || !hooks_of(ex)->count ? BF_OK : run_arrive_hooks(ex, node, err);
    if (rc == BF_OK) {
        rc = take_step(ex, node, &over, err);
    }
    if (rc != BF_OK) {
        return rc;
    }
    if (over) {
        /* It has been come to: going on starts at the node, and hooks do not see the
         * arrival again. Only joins and loop ends have to be come to once more. */
        bool counts =
            bf_node_is_join(node) || (node->type == BF_NODE_LOOP && !node->loop_variable);
        return refuse_entry(ex, node, at || !counts, saved, err);
    }
    if (!at) {
        bool passes = true;
        if (bf_node_is_join(node)) {
            rc = bf_join_arrive(ex, node, &passes, err);
        } else if (node->type == BF_NODE_LOOP && !node->loop_variable) {
            bool waits;
            rc = bf_loop_reach_end(ex, node, &waits, err);
            passes = !waits;
        }
        if (rc != BF_OK || !passes) {
            return rc;
        }
    }
    return run_node(ex, node, saved, err);
}

/* --- entries --- */

/* What remains of a branch when an error ends the walk inside of `node`. */
static void keep_failed(bf_exchanger_t *ex, const bf_node_t *node)
{
    (void)push_at(ex, node, NULL); /* out of memory: the error is what counts */
}

/* The next link of the entry on top; leaves the entry only while there are more. */
static bf_status_t next_link(bf_exchanger_t *ex, const bf_node_t **ret, bf_err_t *err)
{
    *ret = NULL;
    bf_entry_t *top = &ex->stack[ex->height - 1];
    const bf_node_t *node = top->node;
    while (top->next < node->link_count) {
        uint32_t i = top->next;
        bool follow = true;
        if (top->kind == BF_ENTRY_TRUE) {
            bf_status_t rc =
                bf_walk_test(ex, top->frame, &node->links[i]->when, &follow, err);
            if (rc != BF_OK) {
                return rc;
            }
            /* A condition may run a component, which may walk and move the stack. */
            top = &ex->stack[ex->height - 1];
        } else if (top->kind == BF_ENTRY_MASK) {
            follow = (top->as.mask >> i) & 1;
        } else if (top->kind == BF_ENTRY_CHOSEN) {
            follow = top->as.chosen[i];
        }
        top->next = i + 1;
        if (follow) {
            *ret = node->links[i]->to;
            break;
        }
    }
    if (top->next >= node->link_count) {
        ex->height--;
    }
    return BF_OK;
}

/* Everything in the called graph has been done or is pending. */
static bf_status_t end_call(bf_exchanger_t *ex, const bf_entry_t *entry, bf_err_t *err)
{
    bf_frame_t *inner = entry->as.inner;
    ex->at = entry->source;
    ex->at_saved = NULL;
    bool pending = inner->pending || inner->joins;
    bool hard = inner->is_hard;
    bf_driver_t *driver = ex->frame->driver;
    bf_status_t rc = BF_OK;
    if (driver->ops->call_done) {
        rc = driver->ops->call_done(driver, ex, entry->node, pending, err);
    }
    if (rc != BF_OK) {
        bf_walk_close_frame(ex, inner);
        keep_failed(ex, entry->node);
        return rc;
    }
    if (pending) {
        ex->interrupted = ex->pended = false;
        bf_log_set_open(ex, ex->at);
        bf_pending_t what = {.kind = BF_ENTRY_CALL, .node = entry->node, .inner = inner};
        return bf_walk_add_pending(ex, ex->frame, &what, hard, err);
    }
    bf_walk_close_frame(ex, inner);
    rc = finish_node(ex, entry->node, err);
    if (rc != BF_OK) {
        keep_failed(ex, entry->node);
    }
    return rc;
}

/* One pass of a loop has been done or is pending. */
static bf_status_t end_pass(bf_exchanger_t *ex, const bf_entry_t *entry, bf_err_t *err)
{
    bf_frame_t *inner = entry->as.inner;
    if (inner->is_hard) {
        bf_pending_t what = {.kind = BF_ENTRY_LOOP, .node = entry->node, .inner = inner};
        return bf_walk_add_pending(ex, ex->frame, &what, true, err);
    }
    bf_walk_drop_pending(ex, inner);
    bf_join_drop_all(ex, inner);
    bool more = true;
    bf_status_t rc = bf_loop_next(ex, inner, &more, err);
    if (more) { /* or failed: the loop stays where it is */
        bf_entry_t body = {.node = entry->node,
                           .frame = inner,
                           .kind = BF_ENTRY_TRUE,
                           .source = inner->loop.source};
        inner->loop.has_arrived = false;
        ex->stack[ex->height++] = *entry; /* its place is still there */
        ex->frame = inner;
        inner->base = ex->height;
        return rc == BF_OK ? bf_walk_push(ex, &body, err) : rc;
    }
    const bf_node_t *tail = inner->loop.end;
    ex->source = inner->loop.source;
    ex->at = BF_LOG_NONE;
    bf_walk_close_frame(ex, inner);
    if (!tail) {
        return BF_OK;
    }
    ex->frame->usage->last = tail;
    rc = run_node(ex, tail, NULL, err);
    if (rc != BF_OK) {
        keep_failed(ex, tail);
    }
    return rc;
}

/* The frame has no entry left above its base: a join that waited fires, or it ends. */
static bf_status_t end_frame(bf_exchanger_t *ex, bool *ret_done, bf_err_t *err)
{
    const bf_node_t *join;
    bf_status_t rc = bf_join_take(ex, ex->frame, &join, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (join) {
        ex->frame->usage->last = join;
        rc = run_node(ex, join, NULL, err);
        if (rc != BF_OK) {
            keep_failed(ex, join);
        }
        return rc;
    }
    if (!ex->height) {
        *ret_done = true;
        return BF_OK;
    }
    bf_entry_t entry = ex->stack[--ex->height];
    ex->frame = entry.frame;
    return entry.kind == BF_ENTRY_CALL ? end_call(ex, &entry, err)
                                       : end_pass(ex, &entry, err);
}

/* What stands in the node's task, whatever its `when` says (rule 127). */
static bf_status_t run_only_task(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    ex->at = BF_LOG_NONE;
    bf_status_t rc = bf_driver_run_task(ex->frame->driver, ex, node, err);
    if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s", bf_status_text(rc));
    }
    return ex->call ? enter_call(ex, node, NULL, err) : BF_OK;
}

static bf_status_t step(bf_exchanger_t *ex, bool *ret_done, bf_err_t *err)
{
    if (ex->height == ex->frame->base) {
        return end_frame(ex, ret_done, err);
    }
    const bf_entry_t *top = &ex->stack[ex->height - 1];
    const bf_node_t *node = top->node;
    const bf_value_t *saved = NULL;
    bool at = false;
    ex->frame = top->frame; /* another one only among resumed loops */
    ex->source = top->source;
    switch (top->kind) {
    case BF_ENTRY_AT:
        at = true;
        saved = top->as.saved;
        ex->height--;
        break;
    case BF_ENTRY_TO:
        ex->height--;
        break;
    case BF_ENTRY_TRUE:
    case BF_ENTRY_ALL:
    case BF_ENTRY_MASK:
    case BF_ENTRY_CHOSEN: {
        bf_status_t rc = next_link(ex, &node, err);
        if (rc != BF_OK || !node) {
            return rc;
        }
        break;
    }
    case BF_ENTRY_TASK:
        ex->height--;
        return run_only_task(ex, node, err);
    case BF_ENTRY_CALL:
    case BF_ENTRY_LOOP:
        /* Restored from a snapshot, below entries that are done now. */
        ex->frame = top->as.inner;
        return BF_OK;
    }
    bf_status_t rc = enter_node(ex, node, at, saved, err);
    if (rc != BF_OK) {
        keep_failed(ex, node);
    }
    return rc;
}

bf_status_t bf_walk_run(bf_exchanger_t *ex, bf_err_t *err)
{
    bool done = false;
    while (!done && !ex->ctx->stopped) {
        bf_status_t rc = step(ex, &done, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}
