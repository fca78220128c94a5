/*
 * point.c - where later walks may begin instead of at START
 *
 * A walk that begins at START goes through everything that is long done.  It comes
 * through nodes whose outcome is stored to a place where nothing else is open: no other
 * branch, no join that waits.  As long as what is stored about the way there stays the
 * same, every walk comes to that place in the same way, and may begin at it as well, with
 * the visits counted so far.
 *
 * What could turn out otherwise next time ends the search: a condition that is not kept
 * as a choice, a loop (its items are taken anew), interceptors, what a driver says.  So
 * does an END: a walk that has come to one tells of it.
 *
 * A graph that calls itself has no such places: what is ahead of one may lead to what is
 * behind it.
 *
 * Memory: of the nodes that were visited, only those are kept that may be come to again:
 * those of called graphs, and those that the place can lead to, by the order of the
 * strongly connected components.  When they are too many, the point stays where it was.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

#define MAX_COUNTS 64
#define MAX_CALLED 64
#define SEEN_FIRST 64

void bf_walk_point_clear(bf_walk_point_t *point)
{
    bf_graph_unref(point->graph);
    point->graph = NULL;
    point->node = NULL;
    point->count_count = 0;
    point->last_count = 0;
    point->trail_count = 0;
}

void bf_walk_point_fini(bf_walk_point_t *point)
{
    bf_walk_point_clear(point);
    free(point->counts);
    memset(point, 0, sizeof(*point));
}

size_t bf_walk_point_held_bytes(const bf_walk_point_t *point)
{
    return point->count_room * sizeof(*point->counts);
}

uint32_t bf_walk_point_round(const bf_walk_point_t *point)
{
    for (uint32_t i = 0; i < point->count_count; i++) {
        if (point->counts[i].node == point->node) {
            return point->counts[i].count + 1;
        }
    }
    return 1;
}

/* Can be gone back to: nothing is known of the way that would have to be forgotten. */
static bool is_plain(const bf_walk_point_t *point)
{
    return !point->count_count && !point->last_count && !point->on_cycle;
}

static void leave_trail(bf_walk_point_t *point, bool was_plain)
{
    if (!was_plain) {
        point->trail_count = 0;
        return;
    }
    if (point->trail_count == BF_WALK_TRAIL) {
        memmove(&point->trail[0], &point->trail[1],
                (BF_WALK_TRAIL - 1) * sizeof(point->trail[0]));
        point->trail_count--;
    }
    point->trail[point->trail_count++] = (bf_walk_place_t){point->node, point->visits};
}

bool bf_walk_point_return(bf_walk_point_t *point, const bf_node_t *node)
{
    if (!point->graph || !is_plain(point)) {
        return false;
    }
    for (uint32_t i = point->trail_count; i; i--) {
        const bf_walk_place_t *place = &point->trail[i - 1];
        if (place->node == node) {
            point->node = node;
            point->visits = place->visits;
            point->trail_count = i - 1;
            return true;
        }
    }
    return false;
}

void bf_walk_point_pass(bf_walk_point_t *point)
{
    const bf_node_t *node = point->node;
    if (point->on_cycle || node->type != BF_NODE_ACTIVITY ||
        node->task.kind == BF_CODE_GRAPH || node->link_count != 1 ||
        node->links[0]->when.kind != BF_CODE_NONE) {
        return;
    }
    /* Its visits are counted already if there were any: it is behind the node.  Those of
     * the node itself are not asked for again. */
    const bf_node_t *next = node->links[0]->to;
    if (next->type == BF_NODE_ACTIVITY && next->prev_link_count == 1 &&
        next->when.kind == BF_CODE_NONE) {
        leave_trail(point, is_plain(point));
        point->node = next;
        point->visits++;
    }
}

static bf_status_t show_nodes(const bf_walk_point_t *point, bf_trace_t *trace)
{
    bf_status_t rc = bf_trace_restart(trace, point->graph, point->node);
    for (uint32_t i = 0; i < point->last_count && rc == BF_OK; i++) {
        rc = bf_trace_record(trace, point->lasts[i].graph, point->lasts[i].node);
    }
    return rc;
}

bf_status_t bf_walk_point_show(const bf_walk_point_t *point, bf_context_t *ctx,
                               bool is_hidden, bool is_stopped, bf_err_t *err)
{
    bf_trace_t *trace = &ctx->trace;
    ctx->signals &= (uint8_t)~BF_SIGNAL_STOP;
    ctx->signals |= is_stopped ? BF_SIGNAL_STOP : 0;
    ctx->outcome = is_stopped ? BF_EVAL_STOPPED : BF_EVAL_PENDING;
    if (is_hidden) {
        return BF_OK;
    }
    if (trace->disabled) {
        bf_trace_reset(trace);
        return BF_OK;
    }
    if (show_nodes(point, trace) != BF_OK) {
        return bf_err_nomem(err, "trace");
    }
    trace->entries[0].goes_on = true;
    trace->has_walk_end = true;
    trace->walk_ended = false;
    trace->has_goes_on = true;
    return BF_OK;
}

/* --- beginning at it --- */

bool bf_walk_point_fits(const bf_walk_point_t *point, const bf_engine_t *engine,
                        const bf_graph_t *graph)
{
    return point->graph == graph && point->engine == engine &&
           point->generation == engine->generation && !engine->hooks.count;
}

/* The called graphs that were walked on the way, and their last nodes. */
static bf_status_t restore_lasts(bf_exchanger_t *ex, const bf_walk_point_t *point)
{
    for (uint32_t i = 0; i < point->last_count; i++) {
        bf_usage_t *u = bf_exchanger_usage(ex, point->lasts[i].graph);
        if (!u) {
            return BF_E_NOMEM;
        }
        u->last = point->lasts[i].node;
    }
    return BF_OK;
}

static void restore_counts(bf_exchanger_t *ex, const bf_walk_point_t *point)
{
    for (uint32_t i = 0; i < point->count_count; i++) {
        const bf_walk_count_t *c = &point->counts[i];
        bf_usage_t *u = ex->root.usage;
        for (uint32_t k = 0; u->graph != c->node->graph && k < ex->touched_count; k++) {
            u = ex->touched[k];
        }
        u->visits[c->node->index] = (bf_visit_t){ex->walk, c->count};
    }
}

bf_status_t bf_point_begin(bf_exchanger_t *ex, bf_walk_point_t *point, bool *ret_begun,
                           bf_err_t *err)
{
    bool usable = !ex->root_hooks.count && ex->steps < 0;
    bool moves = usable && !ex->ctx->is_probe;
    *ret_begun = false;
    ex->point = moves ? point : NULL;
    ex->point_stays = false;
    ex->spot = NULL;
    ex->seen_count = 0;
    if (!usable || !bf_walk_point_fits(point, ex->engine, ex->graph)) {
        if (moves) {
            bf_walk_point_clear(point);
        }
        return BF_OK;
    }
    bf_entry_t entry = {.node = point->node,
                        .frame = &ex->root,
                        .kind = BF_ENTRY_TO,
                        .source = BF_LOG_NONE};
    bf_status_t rc = bf_walk_push(ex, &entry, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (restore_lasts(ex, point) != BF_OK) {
        return bf_err_nomem(err, "walk");
    }
    restore_counts(ex, point);
    ex->visit_count = point->visits;
    *ret_begun = true;
    return BF_OK;
}

/* --- on the way --- */

static bf_status_t grow_seen(bf_exchanger_t *ex, bf_err_t *err)
{
    uint32_t room = ex->seen_room ? ex->seen_room * 2 : SEEN_FIRST;
    const bf_node_t **seen = realloc(ex->seen, room * sizeof(*seen));
    if (!seen) {
        return bf_err_nomem(err, "visited nodes");
    }
    ex->seen = seen;
    ex->seen_room = room;
    return BF_OK;
}

bf_status_t bf_point_visit(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (node->type == BF_NODE_END && ex->frame == &ex->root) {
        ex->point_stays = true;
        return BF_OK;
    }
    bf_status_t rc = ex->seen_count == ex->seen_room ? grow_seen(ex, err) : BF_OK;
    if (rc == BF_OK) {
        ex->seen[ex->seen_count++] = node;
    }
    return rc;
}

void bf_exchanger_repeats(bf_exchanger_t *ex)
{
    ex->point_stays = true;
}

/* --- moving it --- */

/* Does the graph call itself, directly or through others? True also when that would be
 * too much to find out. */
static bool find_recursion(const bf_exchanger_t *ex)
{
    const bf_graph_t *seen[MAX_CALLED] = {ex->graph};
    uint32_t count = 1;
    for (uint32_t at = 0; at < count; at++) {
        for (uint32_t i = 0; i < seen[at]->node_count; i++) {
            const bf_code_ref_t *task = &seen[at]->nodes[i].task;
            const bf_graph_t *next = task->kind == BF_CODE_GRAPH
                                         ? bf_engine_graph(ex->engine, task->name)
                                         : NULL;
            bool known = !next;
            if (next == ex->graph) {
                return true;
            }
            for (uint32_t k = 0; k < count && !known; k++) {
                known = seen[k] == next;
            }
            if (!known && count == MAX_CALLED) {
                return true;
            }
            if (!known) {
                seen[count++] = next;
            }
        }
    }
    return false;
}

static bool is_recursive(bf_exchanger_t *ex)
{
    bf_usage_t *u = ex->root.usage;
    if (!u->knows_recursion) {
        u->is_recursive = find_recursion(ex);
        u->knows_recursion = true;
    }
    return u->is_recursive;
}

typedef struct move {
    bf_exchanger_t *ex;
    const uint32_t *rank; /* of the nodes of the root graph */
    uint32_t limit;       /* rank of the new place */
    uint32_t count_count;
    uint32_t last_count;
    bf_walk_count_t counts[MAX_COUNTS];
    bf_walk_last_t lasts[BF_WALK_LASTS];
} move_t;

/* False: too many. */
static bool add_count(move_t *m, const bf_node_t *node, uint32_t by)
{
    if (node->graph == m->ex->graph && m->rank[node->index] > m->limit) {
        return true; /* the way does not lead there again */
    }
    for (uint32_t i = 0; i < m->count_count; i++) {
        if (m->counts[i].node == node) {
            m->counts[i].count += by;
            return true;
        }
    }
    if (m->count_count == MAX_COUNTS) {
        return false;
    }
    m->counts[m->count_count++] = (bf_walk_count_t){node, by};
    return true;
}

static bool add_last(move_t *m, const bf_node_t *node)
{
    const bf_exchanger_t *ex = m->ex;
    if (node->graph == ex->graph) {
        return true;
    }
    for (uint32_t i = 0; i < m->last_count; i++) {
        if (m->lasts[i].graph == node->graph) {
            m->lasts[i].node = node;
            return true;
        }
    }
    if (m->last_count == BF_WALK_LASTS) {
        return false;
    }
    for (uint32_t i = 0; i < ex->touched_count; i++) {
        if (ex->touched[i]->graph == node->graph) {
            m->lasts[m->last_count++] = (bf_walk_last_t){ex->touched[i]->graph, node};
            return true;
        }
    }
    return false;
}

static bool collect(move_t *m)
{
    const bf_exchanger_t *ex = m->ex;
    const bf_walk_point_t *point = ex->point;
    for (uint32_t i = 0; i < point->count_count; i++) {
        if (!add_count(m, point->counts[i].node, point->counts[i].count)) {
            return false;
        }
    }
    memcpy(m->lasts, point->lasts, sizeof(m->lasts));
    m->last_count = point->last_count;
    for (uint32_t i = 0; i < ex->spot_seen; i++) {
        if (!add_count(m, ex->seen[i], 1) || !add_last(m, ex->seen[i])) {
            return false;
        }
    }
    return true;
}

static bf_status_t keep(bf_walk_point_t *point, const move_t *m)
{
    if (m->count_count > point->count_room) {
        bf_walk_count_t *counts =
            realloc(point->counts, m->count_count * sizeof(*counts));
        if (!counts) {
            return BF_E_NOMEM;
        }
        point->counts = counts;
        point->count_room = m->count_count;
    }
    if (m->count_count) {
        memcpy(point->counts, m->counts, m->count_count * sizeof(*point->counts));
    }
    point->count_count = m->count_count;
    memcpy(point->lasts, m->lasts, sizeof(point->lasts));
    point->last_count = m->last_count;
    return BF_OK;
}

bf_status_t bf_point_end(bf_exchanger_t *ex, bf_err_t *err)
{
    bf_walk_point_t *point = ex->point;
    if (!point || !ex->spot || (!ex->spot_seen && point->graph)) {
        return BF_OK; /* it is there already */
    }
    if (is_recursive(ex)) {
        return BF_OK;
    }
    move_t m;
    m.ex = ex;
    m.rank = bf_reach_ranks(ex->root.usage);
    m.count_count = 0;
    if (!m.rank) {
        return bf_err_nomem(err, "order of the nodes");
    }
    m.limit = m.rank[ex->spot->index];
    if (!collect(&m)) {
        return BF_OK;
    }
    if (point->graph) {
        leave_trail(point, is_plain(point));
    }
    if (keep(point, &m) != BF_OK) {
        return bf_err_nomem(err, "visited nodes");
    }
    if (!point->graph) {
        point->graph = bf_graph_ref(ex->graph);
        point->engine = ex->engine;
        point->generation = ex->generation;
    }
    point->node = ex->spot;
    point->on_cycle = m.limit & BF_RANK_CYCLE;
    point->visits = ex->spot_visits;
    if (!is_plain(point)) {
        point->trail_count = 0;
    }
    return BF_OK;
}
