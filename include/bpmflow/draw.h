/*
 * draw.h - drawings of a graph as text (Mermaid, Graphviz dot)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DRAW_H
#define BF_DRAW_H

#include "bpmflow/graph.h"

typedef enum { BF_DRAW_MERMAID, BF_DRAW_DOT } bf_draw_format_t;

/** Task state of a node for its colour (0, 1001, 1002, 1003). */
typedef int (*bf_draw_state_fn)(void *arg, const bf_node_t *node);

/**
 * @param state  NULL = no colours
 * @param ret    the drawing is appended
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_draw(const bf_graph_t *graph, bf_draw_format_t format,
                    bf_draw_state_fn state, void *arg, bf_str_t *ret,
                    bf_err_t *err) BF_MUST_USE;

#endif /* BF_DRAW_H */
