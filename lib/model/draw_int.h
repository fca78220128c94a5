/*
 * draw_int.h - what the drawings share: labels, states, the layout of an SVG
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DRAW_INT_H
#define BF_DRAW_INT_H

#include "bpmflow/draw.h"

/** The label of a node: title or ID, and a line with its actors. */
void bf_draw_label(bf_str_t *out, const bf_node_t *node);
/** The label of a link: title or condition; NULL = none. */
const char *bf_draw_link_label(const bf_link_t *link);
/** "waiting", "completed", "terminated", or NULL. */
const char *bf_draw_state_name(int state);
/** A sign in front of the label of gateways and loops. */
const char *bf_draw_sign(bf_node_type_t type);

/* A box of the drawing, or a bend of a line that passes through a row. */
typedef struct bf_place {
    const bf_node_t *node; /* NULL = a bend */
    uint32_t row;          /* from the top */
    uint32_t column;       /* order in the row */
    double x;              /* centre */
    double y;
    double width;
    double height;
} bf_place_t;

/* A line: places from top to bottom. */
typedef struct bf_line {
    const bf_link_t *link;
    bool upwards;   /* the arrow is at the upper end: the link leads back */
    uint32_t first; /* in bf_plan_t.points */
    uint32_t count;
} bf_line_t;

typedef struct bf_plan {
    bf_place_t *places; /* the nodes first, in their order; then bends */
    uint32_t place_count;
    bf_line_t *lines; /* by graph_index of the link */
    uint32_t line_count;
    uint32_t *points; /* numbers of places */
    double width;
    double height;
} bf_plan_t;

#define BF_PLAN_ROW_HEIGHT 96.0
#define BF_PLAN_MARGIN     24.0

/* Sets width and height of a node's box, or the width that a bend needs: `link` is the
 * link whose label stands there, NULL = none. False: out of memory. */
typedef bool (*bf_measure_fn)(bf_place_t *place, const bf_link_t *link);

/**
 * Places for nodes and lines.
 * @param arena  owns the plan
 */
bf_status_t bf_plan_make(bf_arena_t *arena, const bf_graph_t *graph,
                         bf_measure_fn measure, bf_plan_t *ret, bf_err_t *err);

bf_status_t bf_draw_svg(const bf_graph_t *graph, bf_draw_state_fn state, void *arg,
                        bf_str_t *ret, bf_err_t *err);

#endif /* BF_DRAW_INT_H */
