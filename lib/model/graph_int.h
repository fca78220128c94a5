/*
 * graph_int.h - a graph and what stays hidden of it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_GRAPH_INT_H
#define BF_GRAPH_INT_H

#include <stdatomic.h>

#include "bpmflow/graph.h"

typedef struct bf_graph_full {
    bf_graph_t graph; /* first, so that both have one address */
    bf_arena_t arena; /* holds everything else */
    atomic_uint refs;
    uint32_t *slots; /* node index + 1 by hash of the ID; 0 = empty */
    uint32_t slot_mask;
} bf_graph_full_t;

/** New and empty, one reference; NULL when out of memory. */
bf_graph_full_t *bf_graph_full_new(void);

/** Slots for that many nodes. */
bf_status_t bf_graph_full_reserve(bf_graph_full_t *full, uint32_t node_count);

/** Put a node into the slots; the node that has the same ID already, else NULL. */
const bf_node_t *bf_graph_full_index(bf_graph_full_t *full, const bf_node_t *nodes,
                                     uint32_t index);

/** hash of the canonical form */
bf_status_t bf_graph_full_hash(bf_graph_full_t *full, bf_err_t *err);

/** True when the loader would give this node an automatic link (rules 11, 16). */
bool bf_graph_has_auto_link(const bf_graph_t *graph, const bf_node_t *node);

/** A path with dots into a map; an exact name wins. NULL = nothing there. */
const bf_value_t *bf_graph_path(const bf_value_t *map, const char *path);

#endif /* BF_GRAPH_INT_H */
