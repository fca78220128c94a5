/*
 * draw.h - drawings of a graph as text: Mermaid, Graphviz dot, and SVG that needs no
 * other program
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DRAW_H
#define BF_DRAW_H

#include "bpmflow/graph.h"

typedef enum { BF_DRAW_MERMAID, BF_DRAW_DOT, BF_DRAW_SVG } bf_draw_format_t;

/* Larger graphs are not laid out for SVG: nobody could read them. */
#define BF_DRAW_SVG_MAX_NODES 2000

/** Task state of a node for its colour (0, 1001, 1002, 1003). */
typedef int (*bf_draw_state_fn)(void *arg, const bf_node_t *node);

/**
 * @param state  NULL = no colours
 * @param ret    the drawing is appended
 * @return BF_OK; BF_E_LIMIT (too many nodes for SVG, or over the limit of ret);
 * BF_E_NOMEM
 */
bf_status_t bf_draw(const bf_graph_t *graph, bf_draw_format_t format,
                    bf_draw_state_fn state, void *arg, bf_str_t *ret,
                    bf_err_t *err) BF_MUST_USE;

#endif /* BF_DRAW_H */
