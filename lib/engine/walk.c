/*
 * walk.c - the loop of a walk: what is on top of the stack is done next
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

#define STACK_FIRST 64

/* --- the stack, frames, pending branches --- */

bf_status_t bf_walk_grow(bf_exchanger_t *ex, bf_err_t *err)
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
    frame->hooks = ex->frame->hooks;
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

bf_status_t bf_walk_push_at(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bf_entry_t entry = {.node = node,
                        .frame = ex->frame,
                        .kind = BF_ENTRY_AT,
                        .source = BF_LOG_NONE,
                        .as.saved = ex->at_saved};
    return bf_walk_push(ex, &entry, err);
}

/* What remains of a branch when an error ends the walk inside of `node`. */
static bf_status_t keep_failed(bf_exchanger_t *ex, const bf_node_t *node, bf_status_t rc)
{
    if (rc != BF_OK) {
        bf_status_t kept = bf_walk_push_at(ex, node, NULL);
        (void)kept; /* out of memory: the first error is what counts */
    }
    return rc;
}

/* --- calls --- */

/* The driver that walks a called graph. */
static bf_status_t choose_driver(bf_exchanger_t *ex, bf_graph_t *graph, bf_frame_t *inner,
                                 bf_err_t *err)
{
    bf_driver_t *driver = ex->frame->driver;
    if (driver->ops->driver_for) {
        inner->driver = driver->ops->driver_for(driver, ex, graph);
        return BF_OK;
    }
    return bf_engine_driver_for(ex->engine, graph, &inner->driver, err);
}

static bf_status_t push_call(bf_exchanger_t *ex, const bf_node_t *node, bf_frame_t *inner,
                             const bf_value_t *saved, bf_err_t *err)
{
    uint32_t height = ex->height;
    bf_entry_t entry = {.node = node,
                        .frame = ex->frame,
                        .kind = BF_ENTRY_CALL,
                        .source = ex->at,
                        .as.inner = inner};
    bf_status_t rc = bf_walk_push(ex, &entry, err);
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
    }
    return rc;
}

bf_status_t bf_walk_enter_call(bf_exchanger_t *ex, const bf_node_t *node,
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
    if (!inner) {
        return bf_err_nomem(err, "call of a graph");
    }
    inner->usage = bf_exchanger_usage(ex, graph);
    inner->hooks = &ex->call_hooks;
    inner->depth++;
    bf_status_t rc = inner->usage ? choose_driver(ex, graph, inner, err)
                                  : bf_err_nomem(err, "call of a graph");
    if (rc == BF_OK) {
        rc = push_call(ex, node, inner, saved, err);
    }
    if (rc != BF_OK) {
        bf_walk_close_frame(ex, inner);
    }
    return rc;
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
    if (rc == BF_OK && pending) {
        ex->ctx->signals &= BF_SIGNAL_STOP;
        bf_log_set_open(ex, ex->at);
        bf_pending_t what = {.kind = BF_ENTRY_CALL, .node = entry->node, .inner = inner};
        return bf_walk_add_pending(ex, ex->frame, &what, hard, err);
    }
    bf_walk_close_frame(ex, inner);
    if (rc == BF_OK) {
        rc = bf_node_finish(ex, entry->node, err);
    }
    return keep_failed(ex, entry->node, rc);
}

/* --- loops --- */

static bf_status_t end_loop(bf_exchanger_t *ex, bf_frame_t *inner, bf_err_t *err)
{
    const bf_node_t *tail = inner->loop.end;
    ex->source = inner->loop.source;
    ex->at = BF_LOG_NONE;
    bf_walk_close_frame(ex, inner);
    if (!tail) {
        return BF_OK;
    }
    ex->frame->usage->last = tail;
    return keep_failed(ex, tail, bf_node_run(ex, tail, NULL, err));
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
    if (!more) {
        return end_loop(ex, inner, err);
    }
    bf_entry_t body = {.node = entry->node,
                       .frame = inner,
                       .kind = BF_ENTRY_TRUE,
                       .source = inner->loop.source};
    inner->loop.has_arrived = false;
    ex->stack[ex->height++] = *entry; /* its place is still there; also after an error */
    ex->frame = inner;
    inner->base = ex->height;
    return rc == BF_OK ? bf_walk_push(ex, &body, err) : rc;
}

/* --- entries --- */

/* The next link of the entry on top; the entry stays only while there are more. */
static bf_status_t next_link(bf_exchanger_t *ex, const bf_node_t **ret, bf_err_t *err)
{
    *ret = NULL;
    bf_entry_t *top = &ex->stack[ex->height - 1];
    const bf_node_t *node = top->node;
    while (top->next < node->link_count && !*ret) {
        uint32_t i = top->next;
        bool follow = true;
        if (top->kind == BF_ENTRY_TRUE) {
            bf_status_t rc =
                bf_node_test(ex, top->frame, &node->links[i]->when, &follow, err);
            if (rc != BF_OK) {
                return rc;
            }
        } else if (top->kind == BF_ENTRY_MASK) {
            follow = (top->as.mask >> i) & 1;
            top->as.mask &= ~(UINT64_C(1) << i);
        } else if (top->kind == BF_ENTRY_CHOSEN) {
            follow = top->as.chosen[i];
        }
        top->next = i + 1;
        *ret = follow ? node->links[i]->to : NULL;
    }
    if (top->next >= node->link_count || (top->kind == BF_ENTRY_MASK && !top->as.mask)) {
        ex->height--;
    }
    return BF_OK;
}

/* The frame has no entry left above its base: a join that waited fires, or it ends. */
static bf_status_t end_frame(bf_exchanger_t *ex, bool *ret_done, bf_err_t *err)
{
    const bf_node_t *join = NULL;
    bf_status_t rc = ex->frame->joins ? bf_join_take(ex, ex->frame, &join, err) : BF_OK;
    if (rc != BF_OK) {
        return rc;
    }
    if (join) {
        ex->frame->usage->last = join;
        return keep_failed(ex, join, bf_node_run(ex, join, NULL, err));
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
    return ex->call ? bf_walk_enter_call(ex, node, NULL, err) : BF_OK;
}

static bf_status_t step(bf_exchanger_t *ex, bool *ret_done, bf_err_t *err)
{
    if (ex->height == ex->frame->base) {
        return end_frame(ex, ret_done, err);
    }
    const bf_entry_t *top = &ex->stack[ex->height - 1];
    const bf_node_t *node = top->node;
    const bf_value_t *saved = NULL;
    bf_entry_kind_t how = top->kind;
    ex->frame = top->frame; /* another one only among resumed loops */
    ex->source = top->source;
    switch (how) {
    case BF_ENTRY_AT:
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
    return keep_failed(ex, node, bf_node_enter(ex, node, how, saved, err));
}

/* The node that the last one flows to goes ahead of the stack. */
static bf_status_t go_on(bf_exchanger_t *ex, bf_err_t *err)
{
    const bf_node_t *node = ex->next;
    ex->next = NULL;
    return keep_failed(ex, node, bf_node_enter(ex, node, BF_ENTRY_TRUE, NULL, err));
}

bf_status_t bf_walk_run(bf_exchanger_t *ex, bf_err_t *err)
{
    bool done = false;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && !done && !bf_context_is_stopped(ex->ctx)) {
        rc = ex->next ? go_on(ex, err) : step(ex, &done, err);
    }
    if (ex->next) { /* stopped on the way to it */
        bf_entry_t entry = {.node = ex->next,
                            .frame = ex->frame,
                            .kind = BF_ENTRY_TO,
                            .source = ex->source};
        ex->next = NULL;
        rc = rc == BF_OK ? bf_walk_push(ex, &entry, err) : rc;
    }
    return rc;
}
