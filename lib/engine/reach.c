/*
 * reach.c - can a branch that stands there still come to that join?
 *
 * Small graphs keep, per join that was asked for, the set of nodes that reach it.  Large
 * ones would need too much memory for that: they use the order of their strongly
 * connected components, which answers most questions at once, and search only the nodes
 * between the two.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

#define SMALL_GRAPH 2048 /* nodes; all sets together stay under 512 KiB */

void bf_reach_fini(bf_reach_t *reach, uint32_t node_count)
{
    if (reach->sets) {
        for (uint32_t i = 0; i < node_count; i++) {
            free(reach->sets[i]);
        }
    }
    free(reach->first);
    free(reach->from);
    free(reach->sets);
    free(reach->rank);
    free(reach->marks);
    free(reach->queue);
    memset(reach, 0, sizeof(*reach));
}

static bf_status_t build_incoming(bf_reach_t *reach, const bf_graph_t *graph)
{
    uint32_t n = graph->node_count;
    reach->first = calloc((size_t)n + 1, sizeof(*reach->first));
    reach->from = malloc(((size_t)graph->link_count + 1) * sizeof(*reach->from));
    reach->sets = calloc(n, sizeof(*reach->sets));
    if (!reach->first || !reach->from || !reach->sets) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < graph->nodes[i].link_count; k++) {
            reach->first[graph->nodes[i].links[k]->to->index + 1]++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        reach->first[i + 1] += reach->first[i];
    }
    /* Fill from the back of each range, so that `first` itself need not be copied. */
    for (uint32_t i = 0; i < n; i++) {
        reach->queue[i] = reach->first[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < graph->nodes[i].link_count; k++) {
            uint32_t to = graph->nodes[i].links[k]->to->index;
            reach->from[reach->queue[to]++] = i;
        }
    }
    return BF_OK;
}

/* Tarjan's strongly connected components, with a stack of its own. Components are
 * numbered in reverse topological order: what a node can reach has a lower rank, or the
 * same one when the way back exists. */
typedef struct scc {
    uint32_t *number; /* order of discovery, 0 = not yet */
    uint32_t *low;
    uint32_t *edge; /* next link to look at */
    uint32_t *path; /* nodes being worked on */
    uint32_t *open; /* nodes without a component yet */
    uint32_t path_height;
    uint32_t open_height;
    uint32_t found;
    uint32_t components;
} scc_t;

static void scc_enter(scc_t *s, uint32_t node)
{
    s->number[node] = s->low[node] = ++s->found;
    s->edge[node] = 0;
    s->path[s->path_height++] = node;
    s->open[s->open_height++] = node;
}

static bool leads_to_itself(const bf_graph_t *graph, uint32_t node)
{
    const bf_node_t *n = &graph->nodes[node];
    for (uint32_t i = 0; i < n->link_count; i++) {
        if (n->links[i]->to == n) {
            return true;
        }
    }
    return false;
}

static void scc_leave(scc_t *s, const bf_graph_t *graph, uint32_t node, uint32_t *rank)
{
    s->path_height--;
    if (s->path_height) {
        uint32_t parent = s->path[s->path_height - 1];
        if (s->low[node] < s->low[parent]) {
            s->low[parent] = s->low[node];
        }
    }
    if (s->low[node] != s->number[node]) {
        return;
    }
    uint32_t height = s->open_height;
    while (s->open[--s->open_height] != node) {
    }
    uint32_t own = ++s->components * 2; /* > 0: has a component */
    if (height - s->open_height > 1 || leads_to_itself(graph, node)) {
        own |= BF_RANK_CYCLE;
    }
    for (uint32_t i = s->open_height; i < height; i++) {
        rank[s->open[i]] = own;
    }
}

static void scc_run(scc_t *s, const bf_graph_t *graph, uint32_t root, uint32_t *rank)
{
    scc_enter(s, root);
    while (s->path_height) {
        uint32_t node = s->path[s->path_height - 1];
        const bf_node_t *n = &graph->nodes[node];
        if (s->edge[node] == n->link_count) {
            scc_leave(s, graph, node, rank);
            continue;
        }
        uint32_t to = n->links[s->edge[node]++]->to->index;
        if (!s->number[to]) {
            scc_enter(s, to);
        } else if (!rank[to] && s->number[to] < s->low[node]) {
            s->low[node] = s->number[to];
        }
    }
}

static bf_status_t build_ranks(bf_reach_t *reach, const bf_graph_t *graph)
{
    size_t n = graph->node_count;
    if (reach->rank) {
        return BF_OK;
    }
    uint32_t *work = calloc(5 * n, sizeof(*work));
    reach->rank = work ? calloc(n, sizeof(*reach->rank)) : NULL;
    if (!reach->rank) {
        free(work);
        return BF_E_NOMEM;
    }
    scc_t s = {work, work + n, work + 2 * n, work + 3 * n, work + 4 * n, 0, 0, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        if (!s.number[i]) {
            scc_run(&s, graph, i, reach->rank);
        }
    }
    free(work);
    return BF_OK;
}

const uint32_t *bf_reach_ranks(bf_usage_t *usage)
{
    return build_ranks(&usage->reach, usage->graph) == BF_OK ? usage->reach.rank : NULL;
}

static bf_status_t build(bf_reach_t *reach, const bf_graph_t *graph)
{
    bf_status_t rc = BF_E_NOMEM;
    reach->queue = malloc((size_t)graph->node_count * sizeof(*reach->queue));
    if (reach->queue && graph->node_count <= SMALL_GRAPH) {
        rc = build_incoming(reach, graph);
    } else if (reach->queue) {
        reach->marks = calloc(graph->node_count, sizeof(*reach->marks));
        rc = reach->marks ? build_ranks(reach, graph) : BF_E_NOMEM;
    }
    if (rc != BF_OK) {
        bf_reach_fini(reach, graph->node_count);
        return rc;
    }
    reach->ready = true;
    return BF_OK;
}

static bool set_has(const uint64_t *set, uint32_t index)
{
    return (set[index / 64] >> (index % 64)) & 1;
}

/* Everybody who reaches `to`. NULL when out of memory. */
static uint64_t *build_set(bf_reach_t *reach, const bf_graph_t *graph, uint32_t to)
{
    uint64_t *set = calloc(graph->node_count / 64 + 1, sizeof(*set));
    if (!set) {
        return NULL;
    }
    uint32_t head = 0;
    uint32_t tail = 0;
    reach->queue[tail++] = to;
    while (head < tail) {
        uint32_t node = reach->queue[head++];
        for (uint32_t i = reach->first[node]; i < reach->first[node + 1]; i++) {
            uint32_t from = reach->from[i];
            if (set_has(set, from)) {
                continue;
            }
            set[from / 64] |= UINT64_C(1) << (from % 64);
            if (from != to) {
                reach->queue[tail++] = from;
            }
        }
    }
    reach->sets[to] = set;
    return set;
}

/* Search forward, only where the rank still leaves room for `to`. */
static bool search(bf_reach_t *reach, const bf_graph_t *graph, uint32_t from, uint32_t to)
{
    if (reach->rank[from] < reach->rank[to]) {
        return false;
    }
    if (reach->rank[from] == reach->rank[to] && from != to) {
        return true;
    }
    if (++reach->search == 0) {
        memset(reach->marks, 0, graph->node_count * sizeof(*reach->marks));
        reach->search = 1;
    }
    uint32_t height = 0;
    reach->queue[height++] = from;
    while (height) {
        const bf_node_t *node = &graph->nodes[reach->queue[--height]];
        for (uint32_t k = 0; k < node->link_count; k++) {
            uint32_t next = node->links[k]->to->index;
            if (next == to) {
                return true;
            }
            if (reach->rank[next] >= reach->rank[to] &&
                reach->marks[next] != reach->search) {
                reach->marks[next] = reach->search;
                reach->queue[height++] = next;
            }
        }
    }
    return false;
}

bf_status_t bf_reach_test(bf_usage_t *usage, const bf_node_t *from, const bf_node_t *to,
                          bool *ret)
{
    bf_reach_t *reach = &usage->reach;
    if (!reach->ready) {
        bf_status_t rc = build(reach, usage->graph);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (!reach->sets) {
        *ret = search(reach, usage->graph, from->index, to->index);
        return BF_OK;
    }
    const uint64_t *set = reach->sets[to->index];
    if (!set) {
        set = build_set(reach, usage->graph, to->index);
        if (!set) {
            return BF_E_NOMEM;
        }
    }
    *ret = set_has(set, from->index);
    return BF_OK;
}
