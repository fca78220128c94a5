/*
 * plan.c - places for the nodes of a drawing
 *
 * In layers: links that lead back are found by a walk and turned round; each node stands
 * a row below the lowest that leads to it; a line over several rows gets a bend in each;
 * rows are ordered by where their neighbours stand, then moved towards them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lib/model/draw_int.h"

#define GAP          28.0 /* between two boxes of a row */
#define ORDER_ROUNDS 12
#define MOVE_ROUNDS  24
#define MAX_PLACES   60000U

typedef struct planner {
    bf_arena_t *arena;
    const bf_graph_t *graph;
    bf_plan_t *plan;
    bf_measure_fn measure;
    uint32_t *rank;  /* row of each node */
    bool *upwards;   /* by graph_index of the link */
    uint32_t *order; /* nodes so that links that do not lead back go forward */
    uint32_t row_count;
    uint32_t *row_first; /* row_count + 1 places in `rows` */
    uint32_t *rows;      /* places by row and column */
    /* Neighbours of places, above and below, one entry for each piece of a line. */
    uint32_t *upper_first;
    uint32_t *upper;
    uint32_t *lower_first;
    uint32_t *lower;
    double *wanted;
} planner_t;

static void *get(planner_t *p, size_t count, size_t size)
{
    return bf_arena_calloc(p->arena, count + 1, size);
}

/* --- rows --- */

typedef struct visit {
    uint32_t node;
    uint32_t link;
} visit_t;

/* Depth first from one node; finished nodes go to the front of the order. */
static void walk_from(planner_t *p, uint32_t start, uint8_t *state, visit_t *stack,
                      uint32_t *left)
{
    uint32_t depth = 0;
    stack[depth++] = (visit_t){start, 0};
    state[start] = 1;
    while (depth) {
        visit_t *top = &stack[depth - 1];
        const bf_node_t *node = &p->graph->nodes[top->node];
        if (top->link == node->link_count) {
            state[top->node] = 2;
            p->order[--*left] = top->node;
            depth--;
            continue;
        }
        const bf_link_t *link = node->links[top->link++];
        uint32_t to = link->to->index;
        if (state[to] == 0) {
            state[to] = 1;
            stack[depth++] = (visit_t){to, 0};
        } else if (state[to] == 1) {
            p->upwards[link->graph_index] = true;
        }
    }
}

static bf_status_t find_rows(planner_t *p)
{
    uint32_t count = p->graph->node_count;
    uint8_t *state = get(p, count, sizeof(*state));
    visit_t *stack = get(p, count, sizeof(*stack));
    if (!state || !stack) {
        return BF_E_NOMEM;
    }
    uint32_t left = count;
    /* What START does not reach stands behind it in the order; so it comes first. */
    for (uint32_t i = count; i-- > 0;) {
        const bf_node_t *node = &p->graph->nodes[i];
        if (state[i] == 0 && node != p->graph->start && node->prev_link_count == 0) {
            walk_from(p, i, state, stack, &left);
        }
    }
    if (state[p->graph->start->index] == 0) {
        walk_from(p, p->graph->start->index, state, stack, &left);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (state[i] == 0) {
            walk_from(p, i, state, stack, &left);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const bf_node_t *node = &p->graph->nodes[p->order[i]];
        for (uint32_t k = 0; k < node->link_count; k++) {
            const bf_link_t *link = node->links[k];
            uint32_t row = p->rank[node->index] + 1;
            if (!p->upwards[link->graph_index] && p->rank[link->to->index] < row) {
                p->rank[link->to->index] = row;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (p->rank[i] >= p->row_count) {
            p->row_count = p->rank[i] + 1;
        }
    }
    return BF_OK;
}

/* --- places and lines --- */

static uint32_t rows_between(const planner_t *p, const bf_link_t *link)
{
    uint32_t from = p->rank[link->from->index];
    uint32_t to = p->rank[link->to->index];
    return from > to ? from - to : to - from;
}

static bf_status_t make_places(planner_t *p, bf_err_t *err)
{
    const bf_graph_t *graph = p->graph;
    bf_plan_t *plan = p->plan;
    uint64_t places = graph->node_count;
    uint64_t points = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        for (uint32_t k = 0; k < graph->nodes[i].link_count; k++) {
            uint32_t rows = rows_between(p, graph->nodes[i].links[k]);
            places += rows ? rows - 1 : 0;
            points += rows + 1U;
        }
    }
    if (places > MAX_PLACES) {
        return bf_err_set(err, BF_E_LIMIT,
                          "the lines of this graph are too long to lay out; draw it as "
                          "dot or mermaid");
    }
    plan->places = get(p, places, sizeof(*plan->places));
    plan->lines = get(p, graph->link_count, sizeof(*plan->lines));
    plan->points = get(p, points + graph->link_count, sizeof(*plan->points));
    if (!plan->places || !plan->lines || !plan->points) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        plan->places[i].node = &graph->nodes[i];
        plan->places[i].row = p->rank[i];
        if (!p->measure(&plan->places[i], NULL)) {
            return BF_E_NOMEM;
        }
    }
    plan->place_count = graph->node_count;
    plan->line_count = graph->link_count;
    return BF_OK;
}

static void make_line(planner_t *p, const bf_link_t *link, uint32_t *point)
{
    bf_plan_t *plan = p->plan;
    bf_line_t *line = &plan->lines[link->graph_index];
    uint32_t from = link->from->index;
    uint32_t to = link->to->index;
    line->link = link;
    line->first = *point;
    /* A link to itself leads back as well. */
    line->upwards = p->rank[from] >= p->rank[to];
    uint32_t top = line->upwards ? to : from;
    uint32_t bottom = line->upwards ? from : to;
    plan->points[(*point)++] = top;
    for (uint32_t row = p->rank[top] + 1; row < p->rank[bottom]; row++) {
        bf_place_t *bend = &plan->places[plan->place_count];
        bend->row = row;
        /* The label stands at the bend next to where the link begins. */
        bool labelled =
            line->upwards ? row + 1 == p->rank[bottom] : row == p->rank[top] + 1;
        (void)p->measure(bend, labelled ? link : NULL); /* allocates for nodes only */
        plan->points[(*point)++] = plan->place_count++;
    }
    plan->points[(*point)++] = bottom;
    line->count = *point - line->first;
}

static void make_lines(planner_t *p)
{
    uint32_t point = 0;
    for (uint32_t i = 0; i < p->graph->node_count; i++) {
        for (uint32_t k = 0; k < p->graph->nodes[i].link_count; k++) {
            make_line(p, p->graph->nodes[i].links[k], &point);
        }
    }
}

/* --- neighbours --- */

static void count_piece(planner_t *p, uint32_t above, uint32_t below)
{
    p->lower_first[above + 1]++;
    p->upper_first[below + 1]++;
}

static bf_status_t find_neighbours(planner_t *p)
{
    const bf_plan_t *plan = p->plan;
    uint32_t count = plan->place_count;
    p->upper_first = get(p, count + 1U, sizeof(uint32_t));
    p->lower_first = get(p, count + 1U, sizeof(uint32_t));
    uint32_t *upper_used = get(p, count, sizeof(uint32_t));
    uint32_t *lower_used = get(p, count, sizeof(uint32_t));
    if (!p->upper_first || !p->lower_first || !upper_used || !lower_used) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < plan->line_count; i++) {
        const bf_line_t *line = &plan->lines[i];
        for (uint32_t k = 0; k + 1 < line->count; k++) {
            count_piece(p, plan->points[line->first + k],
                        plan->points[line->first + k + 1]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        p->upper_first[i + 1] += p->upper_first[i];
        p->lower_first[i + 1] += p->lower_first[i];
    }
    p->upper = get(p, p->upper_first[count], sizeof(uint32_t));
    p->lower = get(p, p->lower_first[count], sizeof(uint32_t));
    if (!p->upper || !p->lower) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < plan->line_count; i++) {
        const bf_line_t *line = &plan->lines[i];
        for (uint32_t k = 0; k + 1 < line->count; k++) {
            uint32_t above = plan->points[line->first + k];
            uint32_t below = plan->points[line->first + k + 1];
            p->lower[p->lower_first[above] + lower_used[above]++] = below;
            p->upper[p->upper_first[below] + upper_used[below]++] = above;
        }
    }
    return BF_OK;
}

/* --- order in the rows --- */

static bf_status_t fill_rows(planner_t *p)
{
    bf_plan_t *plan = p->plan;
    p->row_first = get(p, p->row_count + 1U, sizeof(uint32_t));
    p->rows = get(p, plan->place_count, sizeof(uint32_t));
    p->wanted = get(p, plan->place_count, sizeof(double));
    uint32_t *used = get(p, p->row_count, sizeof(uint32_t));
    if (!p->row_first || !p->rows || !p->wanted || !used) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < plan->place_count; i++) {
        p->row_first[plan->places[i].row + 1]++;
    }
    for (uint32_t i = 0; i < p->row_count; i++) {
        p->row_first[i + 1] += p->row_first[i];
    }
    for (uint32_t i = 0; i < plan->place_count; i++) {
        bf_place_t *place = &plan->places[i];
        place->column = used[place->row]++;
        p->rows[p->row_first[place->row] + place->column] = i;
    }
    return BF_OK;
}

/* Mean of a number of the neighbours on one side; the own one when there are none. */
static double mean(const planner_t *p, uint32_t place, bool above, bool columns)
{
    const uint32_t *first = above ? p->upper_first : p->lower_first;
    const uint32_t *all = above ? p->upper : p->lower;
    const bf_place_t *places = p->plan->places;
    double sum = 0;
    uint32_t count = first[place + 1] - first[place];
    for (uint32_t i = first[place]; i < first[place + 1]; i++) {
        sum += columns ? places[all[i]].column : places[all[i]].x;
    }
    if (!count) {
        return columns ? places[place].column : places[place].x;
    }
    return sum / count;
}

/* Insertion sort: rows are nearly in order after the first rounds. */
static void order_row(planner_t *p, uint32_t row, bool above)
{
    uint32_t *places = &p->rows[p->row_first[row]];
    uint32_t count = p->row_first[row + 1] - p->row_first[row];
    for (uint32_t i = 0; i < count; i++) {
        p->wanted[places[i]] = mean(p, places[i], above, /* columns= */ true);
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t place = places[i];
        uint32_t k = i;
        while (k && p->wanted[places[k - 1]] > p->wanted[place]) {
            places[k] = places[k - 1];
            k--;
        }
        places[k] = place;
    }
    for (uint32_t i = 0; i < count; i++) {
        p->plan->places[places[i]].column = i;
    }
}

static void order_rows(planner_t *p)
{
    for (int round = 0; round < ORDER_ROUNDS; round++) {
        for (uint32_t i = 1; i < p->row_count; i++) {
            order_row(p, round % 2 ? p->row_count - 1 - i : i, round % 2 == 0);
        }
    }
}

/* --- across --- */

static double distance(const bf_place_t *a, const bf_place_t *b)
{
    return (a->width + b->width) / 2 + GAP;
}

/* Move a row to where its neighbours are, without changing its order. */
static void move_row(planner_t *p, uint32_t row, bool above)
{
    bf_place_t *places = p->plan->places;
    const uint32_t *numbers = &p->rows[p->row_first[row]];
    uint32_t count = p->row_first[row + 1] - p->row_first[row];
    double shift = 0;
    for (uint32_t i = 0; i < count; i++) {
        p->wanted[numbers[i]] = mean(p, numbers[i], above, /* columns= */ false);
    }
    for (uint32_t i = 0; i < count; i++) {
        bf_place_t *place = &places[numbers[i]];
        place->x = p->wanted[numbers[i]];
        if (i) {
            double least =
                places[numbers[i - 1]].x + distance(&places[numbers[i - 1]], place);
            place->x = place->x < least ? least : place->x;
        }
        shift += p->wanted[numbers[i]] - place->x;
    }
    for (uint32_t i = 0; i < count; i++) {
        places[numbers[i]].x += shift / count;
    }
}

static void place_rows(planner_t *p)
{
    bf_plan_t *plan = p->plan;
    for (uint32_t row = 0; row < p->row_count; row++) {
        double x = 0;
        for (uint32_t i = p->row_first[row]; i < p->row_first[row + 1]; i++) {
            bf_place_t *place = &plan->places[p->rows[i]];
            place->x = x + place->width / 2;
            place->y = BF_PLAN_MARGIN + BF_PLAN_ROW_HEIGHT * ((double)row + 0.5);
            x += place->width + GAP;
        }
    }
    for (int round = 0; round < MOVE_ROUNDS; round++) {
        for (uint32_t i = 0; i < p->row_count; i++) {
            move_row(p, round % 2 ? p->row_count - 1 - i : i, round % 2 == 0);
        }
    }
    double left = 1e300;
    double right = 0;
    for (uint32_t i = 0; i < plan->place_count; i++) {
        double edge = plan->places[i].x - plan->places[i].width / 2;
        left = edge < left ? edge : left;
    }
    for (uint32_t i = 0; i < plan->place_count; i++) {
        bf_place_t *place = &plan->places[i];
        place->x += BF_PLAN_MARGIN - left;
        double edge = place->x + place->width / 2;
        right = edge > right ? edge : right;
    }
    plan->width = right + BF_PLAN_MARGIN;
    plan->height = BF_PLAN_ROW_HEIGHT * (double)p->row_count + 2 * BF_PLAN_MARGIN;
}

bf_status_t bf_plan_make(bf_arena_t *arena, const bf_graph_t *graph,
                         bf_measure_fn measure, bf_plan_t *ret, bf_err_t *err)
{
    *ret = (bf_plan_t){0};
    planner_t p = {.arena = arena, .graph = graph, .plan = ret, .measure = measure};
    p.rank = get(&p, graph->node_count, sizeof(*p.rank));
    p.upwards = get(&p, graph->link_count, sizeof(*p.upwards));
    p.order = get(&p, graph->node_count, sizeof(*p.order));
    bf_status_t rc = p.rank && p.upwards && p.order ? find_rows(&p) : BF_E_NOMEM;
    if (rc == BF_OK) {
        rc = make_places(&p, err);
    }
    if (rc == BF_OK) {
        make_lines(&p);
        rc = find_neighbours(&p);
    }
    if (rc == BF_OK) {
        rc = fill_rows(&p);
    }
    if (rc == BF_OK) {
        order_rows(&p);
        place_rows(&p);
    }
    return rc == BF_E_NOMEM ? bf_err_nomem(err, "drawing") : rc;
}
