/*
 * loop.c - loops: head, passes, loop end (rules 77-84)
 *
 * A loop is a frame.  Each pass follows the links of the head; a branch that comes to the
 * loop end is done for that pass.  When no item is left, the flow goes on at the loop
 * end, once, also when there was no item at all (decision on rule 82).  Which loop end
 * that is: the one that a pass came to, else the first that the links lead to, with inner
 * loops skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

/* --- the loop end of a head --- */

typedef struct place {
    uint32_t node;
    uint32_t depth; /* inner loops that are open */
} place_t;

/* Breadth first over (node, depth).  A node is looked at once per depth up to the limit:
 * deeper than the graph has loop heads makes no sense. */
typedef struct finder {
    const bf_graph_t *graph;
    place_t *queue;
    uint8_t *seen;
    uint32_t depths;
    size_t head;
    size_t tail;
} finder_t;

static void visit(finder_t *f, uint32_t node, uint32_t depth)
{
    size_t bit = (size_t)node * f->depths + depth;
    if (depth < f->depths && !f->seen[bit]) {
        f->seen[bit] = 1;
        f->queue[f->tail++] = (place_t){node, depth};
    }
}

static const bf_node_t *find_end(finder_t *f, const bf_node_t *head)
{
    for (uint32_t k = 0; k < head->link_count; k++) {
        visit(f, head->links[k]->to->index, 0);
    }
    while (f->head < f->tail) {
        place_t place = f->queue[f->head++];
        const bf_node_t *node = &f->graph->nodes[place.node];
        uint32_t depth = place.depth;
        if (bf_node_is_loop_head(node)) {
            depth++;
        } else if (node->type == BF_NODE_LOOP) {
            if (!depth) {
                return node;
            }
            depth--;
        }
        for (uint32_t k = 0; k < node->link_count; k++) {
            visit(f, node->links[k]->to->index, depth);
        }
    }
    return NULL;
}

#define MAX_LOOP_NESTING 16

/* A head without a loop end is its own entry in the table. */
bf_status_t bf_loop_end_of(bf_usage_t *usage, const bf_node_t *head,
                           const bf_node_t **ret, bf_err_t *err)
{
    const bf_graph_t *graph = usage->graph;
    if (!usage->loop_ends) {
        usage->loop_ends = calloc(graph->node_count, sizeof(*usage->loop_ends));
        if (!usage->loop_ends) {
            return bf_err_nomem(err, "loop");
        }
    }
    const bf_node_t *end = usage->loop_ends[head->index];
    if (!end) {
        uint32_t heads = 0;
        for (uint32_t i = 0; i < graph->node_count; i++) {
            heads += bf_node_is_loop_head(&graph->nodes[i]);
        }
        finder_t f = {.graph = graph,
                      .depths = heads < MAX_LOOP_NESTING ? heads : MAX_LOOP_NESTING};
        size_t places = (size_t)graph->node_count * f.depths;
        f.queue = malloc(places * sizeof(*f.queue));
        f.seen = calloc(places, 1);
        if (f.queue && f.seen) {
            end = find_end(&f, head);
            end = end ? end : head;
            usage->loop_ends[head->index] = end;
        }
        free(f.queue);
        free(f.seen);
        if (!end) {
            return bf_err_nomem(err, "loop");
        }
    }
    *ret = end == head ? NULL : end;
    return BF_OK;
}

/* --- running --- */

static bf_status_t bad_source(const bf_node_t *head, bf_err_t *err)
{
    return bf_err_set(err, BF_E_EXPRESSION,
                      "%s / %s: The '$in' must be a list or a string", head->graph->id,
                      head->id);
}

static bf_status_t take_list(bf_exchanger_t *ex, const bf_value_t *list, bf_loop_t *loop,
                             bf_err_t *err)
{
    /* A copy: the passes may assign the variable that it came from. */
    bf_value_t *copy = bf_arena_alloc(&ex->arena, sizeof(*copy));
    if (!copy || bf_value_copy(&ex->arena, list, copy) != BF_OK) {
        return bf_err_nomem(err, "items of a loop");
    }
    loop->items = copy;
    loop->count = copy->len;
    return BF_OK;
}

static bf_status_t take_source(bf_exchanger_t *ex, const bf_node_t *head, bf_loop_t *loop,
                               bf_err_t *err)
{
    const bf_value_t *in = head->loop_source;
    if (!in || (in->type != BF_VALUE_LIST && in->type != BF_VALUE_STRING)) {
        return bad_source(head, err);
    }
    if (in->type == BF_VALUE_LIST) {
        loop->items = in; /* belongs to the graph */
        loop->count = in->len;
        return BF_OK;
    }
    if (bf_range_is_range(in->as.string, in->len)) {
        bf_status_t rc = bf_range_parse(in->as.string, in->len, &loop->range, err);
        if (rc != BF_OK) {
            bf_err_prefix(err, "%s / %s: ", head->graph->id, head->id);
            return rc == BF_E_NOMEM ? rc : BF_E_EXPRESSION;
        }
        loop->count = bf_range_count(&loop->range);
        return BF_OK;
    }
    const bf_value_t *list = bf_context_get(ex->ctx, in->as.string, in->len);
    if (!list || list->type != BF_VALUE_LIST) {
        return bf_err_set(err, BF_E_EXPRESSION,
                          "%s / %s: %s is not a collection; set the variable to a list",
                          head->graph->id, head->id, in->as.string);
    }
    return take_list(ex, list, loop, err);
}

bf_status_t bf_loop_open(bf_exchanger_t *ex, const bf_node_t *head, bf_err_t *err)
{
    uint32_t depth = 0;
    ex->point_stays = true; /* the items may be others next time */
    for (const bf_frame_t *f = ex->frame; f->is_loop; f = f->outer) {
        depth++;
    }
    if (depth >= BF_MAX_LOOP_DEPTH) {
        return bf_err_set(err, BF_E_LIMIT,
                          "%s / %s: loops are nested deeper than %d; does a pass of the "
                          "loop lead to its head?",
                          head->graph->id, head->id, BF_MAX_LOOP_DEPTH);
    }
    bf_frame_t *frame = bf_walk_open_frame(ex, head);
    if (!frame) {
        return bf_err_nomem(err, "loop");
    }
    frame->is_loop = true;
    frame->loop.source = ex->at;
    bf_status_t rc = bf_loop_end_of(frame->usage, head, &frame->loop.end, err);
    if (rc == BF_OK) {
        rc = take_source(ex, head, &frame->loop, err);
    }
    if (rc == BF_OK) {
        bf_entry_t entry = {
            .node = head, .frame = ex->frame, .kind = BF_ENTRY_LOOP, .as.inner = frame};
        rc = bf_walk_push(ex, &entry, err);
    }
    if (rc != BF_OK) {
        bf_walk_close_frame(ex, frame);
        return rc;
    }
    frame->base = ex->height; /* a pass of nothing has just ended */
    ex->frame = frame;
    return BF_OK;
}

bf_status_t bf_loop_reach_end(bf_exchanger_t *ex, const bf_node_t *end, bool *ret_waits,
                              bf_err_t *err)
{
    *ret_waits = ex->frame->is_loop;
    if (!ex->frame->is_loop) {
        return BF_OK;
    }
    bf_loop_t *loop = &ex->frame->loop;
    loop->end = end;
    if (loop->has_arrived) {
        return bf_log_link(ex, ex->source, loop->source, err);
    }
    loop->has_arrived = true;
    return bf_log_add(ex, ex->frame->opener, 0, &loop->source, err);
}

bf_status_t bf_loop_next(bf_exchanger_t *ex, bf_frame_t *frame, bool *ret_more,
                         bf_err_t *err)
{
    bf_loop_t *loop = &frame->loop;
    *ret_more = loop->next < loop->count;
    if (!*ret_more) {
        return BF_OK;
    }
    bf_value_t number;
    const bf_value_t *item;
    if (loop->items) {
        item = &loop->items->as.items[loop->next];
    } else {
        number = bf_value_int(bf_range_at(&loop->range, loop->next));
        item = &number;
    }
    bf_status_t rc = bf_context_put_str(ex->ctx, frame->opener->loop_variable, item, err);
    loop->next += rc == BF_OK;
    return rc;
}
