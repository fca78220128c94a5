/*
 * join.c - when a join fires
 *
 * A parallel or inclusive node with several incoming links fires once per round: when a
 * branch has arrived and no live branch of its frame can still come to it (decisions on
 * rules 68-75).  Live are the entries of the frame on the stack, its pending branches,
 * and the other joins that wait in it.
 *
 * The passes of a loop that has no loop end run everything downstream (rule 83); a join
 * there that a branch outside of the loop can come to as well belongs to the outside, and
 * waits until the loop is done.
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk_int.h"

static bf_waiting_t *find_waiting(const bf_frame_t *frame, const bf_node_t *join)
{
    for (bf_waiting_t *w = frame->joins; w; w = w->next) {
        if (w->node == join) {
            return w;
        }
    }
    return NULL;
}

bf_status_t bf_join_wait(bf_exchanger_t *ex, bf_frame_t *frame, const bf_node_t *join,
                         bf_err_t *err)
{
    bf_waiting_t *w = find_waiting(frame, join);
    if (w) {
        return bf_log_link(ex, ex->source, w->visit, err);
    }
    w = ex->free_waiting;
    if (w) {
        ex->free_waiting = w->next;
    } else {
        w = bf_arena_alloc(&ex->arena, sizeof(*w));
        if (!w) {
            return bf_err_nomem(err, "waiting join");
        }
    }
    *w = (bf_waiting_t){NULL, join, BF_LOG_NONE};
    if (frame->joins_last) {
        frame->joins_last->next = w;
    } else {
        frame->joins = w;
    }
    frame->joins_last = w;
    bf_status_t rc = bf_log_add(ex, join, 0, &w->visit, err);
    bf_log_set_open(ex, w->visit);
    return rc;
}

/* The join fires: from here on its visit in the log is one. */
static void fire(bf_exchanger_t *ex, const bf_waiting_t *w)
{
    ex->at = w->visit;
    if (ex->log && w->visit != BF_LOG_NONE) {
        ex->log->visits[w->visit].is_open = false;
    }
}

static void take_out(bf_exchanger_t *ex, bf_frame_t *frame, bf_waiting_t *w)
{
    bf_waiting_t *before = NULL;
    for (bf_waiting_t *i = frame->joins; i != w; i = i->next) {
        before = i;
    }
    *(before ? &before->next : &frame->joins) = w->next;
    if (frame->joins_last == w) {
        frame->joins_last = before;
    }
    w->next = ex->free_waiting;
    ex->free_waiting = w;
}

void bf_join_drop_all(bf_exchanger_t *ex, bf_frame_t *frame)
{
    while (frame->joins) {
        take_out(ex, frame, frame->joins);
    }
}

/* Can what an entry still has to do come to the join? */
static bf_status_t entry_reaches(bf_usage_t *usage, const bf_entry_t *entry,
                                 const bf_node_t *join, bool *ret)
{
    const bf_node_t *node = entry->node;
    *ret = false;
    switch (entry->kind) {
    case BF_ENTRY_TO:
        if (node == join) {
            *ret = true;
            return BF_OK;
        }
        return bf_reach_test(usage, node, join, ret);
    case BF_ENTRY_AT:
    case BF_ENTRY_TASK:
    case BF_ENTRY_CALL:
    case BF_ENTRY_LOOP:
        return bf_reach_test(usage, node, join, ret);
    case BF_ENTRY_TRUE:
    case BF_ENTRY_ALL:
    case BF_ENTRY_MASK:
    case BF_ENTRY_CHOSEN:
        break;
    }
    for (uint32_t i = entry->next; i < node->link_count && !*ret; i++) {
        if ((entry->kind == BF_ENTRY_MASK && !((entry->as.mask >> i) & 1)) ||
            (entry->kind == BF_ENTRY_CHOSEN && !entry->as.chosen[i])) {
            continue;
        }
        const bf_node_t *to = node->links[i]->to;
        bf_status_t rc = BF_OK;
        if (to == join) {
            *ret = true;
        } else {
            rc = bf_reach_test(usage, to, join, ret);
        }
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* Can an entry of the frame, on the stack from its base up to `top`, come to the join? */
static bf_status_t stack_reaches(bf_exchanger_t *ex, const bf_frame_t *frame,
                                 uint32_t top, const bf_node_t *join, bool *ret)
{
    *ret = false;
    for (uint32_t i = top; i > frame->base && !*ret; i--) {
        const bf_entry_t *entry = &ex->stack[i - 1];
        if (entry->frame == frame) {
            bf_status_t rc = entry_reaches(frame->usage, entry, join, ret);
            if (rc != BF_OK) {
                return rc;
            }
        }
    }
    return BF_OK;
}

static bf_status_t pending_reaches(const bf_frame_t *frame, const bf_node_t *join,
                                   bool *ret)
{
    *ret = false;
    for (const bf_pending_t *p = frame->pending; p && !*ret; p = p->next) {
        bf_entry_t entry = {.node = p->node, .kind = p->kind};
        bf_status_t rc = entry_reaches(frame->usage, &entry, join, ret);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

static bf_status_t waiting_reaches(const bf_frame_t *frame, const bf_node_t *join,
                                   bool *ret)
{
    *ret = false;
    for (const bf_waiting_t *w = frame->joins; w && !*ret; w = w->next) {
        if (w->node != join) {
            bf_status_t rc = bf_reach_test(frame->usage, w->node, join, ret);
            if (rc != BF_OK) {
                return rc;
            }
        }
    }
    return BF_OK;
}

static bf_status_t anybody_reaches(bf_exchanger_t *ex, const bf_frame_t *frame,
                                   uint32_t top, const bf_node_t *join, bool *ret)
{
    bf_status_t rc = stack_reaches(ex, frame, top, join, ret);
    if (rc == BF_OK && !*ret) {
        rc = pending_reaches(frame, join, ret);
    }
    if (rc == BF_OK && !*ret) {
        rc = waiting_reaches(frame, join, ret);
    }
    return rc;
}

/* The frame that the join belongs to: see the head of this file. */
static bf_status_t find_home(bf_exchanger_t *ex, const bf_node_t *join, bf_frame_t **ret)
{
    bf_frame_t *home = ex->frame;
    for (bf_frame_t *f = ex->frame; f->is_loop; f = f->outer) {
        const bf_node_t *end;
        bool reaches = false;
        bf_status_t rc = bf_loop_end_of(f->usage, f->opener, &end, NULL);
        if (rc == BF_OK && !end) {
            reaches = find_waiting(f->outer, join);
            if (!reaches) {
                /* base - 1 is the loop's own entry */
                rc = anybody_reaches(ex, f->outer, f->base - 1, join, &reaches);
            }
        }
        if (rc != BF_OK) {
            return rc;
        }
        home = reaches ? f->outer : home;
    }
    *ret = home;
    return BF_OK;
}

bf_status_t bf_join_arrive(bf_exchanger_t *ex, const bf_node_t *join, bool *ret_fires,
                           bf_err_t *err)
{
    bf_frame_t *home = ex->frame;
    bool live = false;
    bf_status_t rc = home->is_loop ? find_home(ex, join, &home) : BF_OK;
    if (rc == BF_OK) {
        live = home != ex->frame;
        rc = live ? BF_OK : anybody_reaches(ex, home, ex->height, join, &live);
    }
    if (rc != BF_OK) {
        return bf_err_nomem(err, "reachable nodes of a join");
    }
    *ret_fires = !live;
    if (live) {
        return bf_join_wait(ex, home, join, err);
    }
    bf_waiting_t *w = find_waiting(home, join);
    if (w) {
        rc = bf_log_link(ex, ex->source, w->visit, err);
        fire(ex, w);
        take_out(ex, home, w);
    }
    return rc;
}

/* Can another waiting join come to this one, without waiting for it in turn? */
static bf_status_t is_held_by_join(const bf_frame_t *frame, const bf_node_t *join,
                                   bool *ret)
{
    *ret = false;
    for (const bf_waiting_t *w = frame->joins; w && !*ret; w = w->next) {
        bool reaches = false;
        bool is_mutual = false;
        bf_status_t rc = BF_OK;
        if (w->node != join) {
            rc = bf_reach_test(frame->usage, w->node, join, &reaches);
        }
        if (rc == BF_OK && reaches) {
            rc = bf_reach_test(frame->usage, join, w->node, &is_mutual);
        }
        if (rc != BF_OK) {
            return rc;
        }
        *ret = reaches && !is_mutual;
    }
    return BF_OK;
}

/* The join that waits longest of those that no pending branch can come to, and no other
 * waiting join unless they wait for each other. */
bf_status_t bf_join_take(bf_exchanger_t *ex, bf_frame_t *frame, const bf_node_t **ret,
                         bf_err_t *err)
{
    bf_waiting_t *pick = NULL;
    for (bf_waiting_t *w = frame->joins; w && !pick; w = w->next) {
        bool held;
        bf_status_t rc = pending_reaches(frame, w->node, &held);
        if (rc == BF_OK && !held) {
            rc = is_held_by_join(frame, w->node, &held);
        }
        if (rc != BF_OK) {
            return bf_err_nomem(err, "reachable nodes of a join");
        }
        pick = held ? NULL : w;
    }
    *ret = pick ? pick->node : NULL;
    if (pick) {
        fire(ex, pick);
        take_out(ex, frame, pick);
    }
    return BF_OK;
}
