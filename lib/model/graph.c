/*
 * graph.c - graphs: references, finding nodes
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/map.h"
#include "lib/model/graph_int.h"

bf_graph_full_t *bf_graph_full_new(void)
{
    bf_graph_full_t *full = calloc(1, sizeof(*full));
    if (full) {
        bf_arena_init(&full->arena, 0);
        atomic_init(&full->refs, 1);
    }
    return full;
}

static bf_graph_full_t *full_of(bf_graph_t *graph)
{
    return (bf_graph_full_t *)(void *)graph;
}

bf_graph_t *bf_graph_ref(bf_graph_t *graph)
{
    unsigned before =
        atomic_fetch_add_explicit(&full_of(graph)->refs, 1, memory_order_relaxed);
    BF_ASSERT(before > 0);
    return graph;
}

void bf_graph_unref(bf_graph_t *graph)
{
    if (!graph) {
        return;
    }
    bf_graph_full_t *full = full_of(graph);
    unsigned before = atomic_fetch_sub_explicit(&full->refs, 1, memory_order_acq_rel);
    BF_ASSERT(before > 0);
    if (before == 1) {
        bf_arena_fini(&full->arena);
        free(full);
    }
}

bf_status_t bf_graph_full_reserve(bf_graph_full_t *full, uint32_t node_count)
{
    uint32_t slots = 8;
    while (slots < node_count * 2) {
        slots *= 2;
    }
    full->slots = bf_arena_calloc(&full->arena, slots, sizeof(*full->slots));
    full->slot_mask = slots - 1;
    return full->slots ? BF_OK : BF_E_NOMEM;
}

/* The slot of an ID: the node's, or the empty one where it would stand. */
static uint32_t *find_slot(const bf_graph_full_t *full, const bf_node_t *nodes,
                           const char *id)
{
    uint32_t i = (uint32_t)bf_hash_bytes(id, strlen(id)) & full->slot_mask;
    while (full->slots[i] && strcmp(nodes[full->slots[i] - 1].id, id) != 0) {
        i = (i + 1) & full->slot_mask;
    }
    return &full->slots[i];
}

const bf_node_t *bf_graph_full_index(bf_graph_full_t *full, const bf_node_t *nodes,
                                     uint32_t index)
{
    uint32_t *slot = find_slot(full, nodes, nodes[index].id);
    if (*slot) {
        return &nodes[*slot - 1];
    }
    *slot = index + 1;
    return NULL;
}

const bf_node_t *bf_graph_node(const bf_graph_t *graph, const char *id)
{
    const bf_graph_full_t *full = (const bf_graph_full_t *)(const void *)graph;
    if (!id) {
        return NULL;
    }
    const uint32_t *slot = find_slot(full, graph->nodes, id);
    return *slot ? &graph->nodes[*slot - 1] : NULL;
}

const char *bf_node_type_name(bf_node_type_t type)
{
    static const char *const names[] = {
#define X(name, text) text,
        BF_NODE_TYPE_LIST(X)
#undef X
    };
    return type < BF_NODE_TYPE_COUNT ? names[type] : "unknown";
}

const bf_value_t *bf_graph_path(const bf_value_t *map, const char *path)
{
    const bf_value_t *exact = bf_value_get_str(map, path);
    if (exact) {
        return exact;
    }
    const bf_value_t *at = map;
    const char *part = path;
    while (at) {
        size_t len = strcspn(part, ".");
        at = bf_value_get(at, part, len);
        if (!part[len]) {
            break;
        }
        part += len + 1;
    }
    return at;
}

const bf_value_t *bf_node_meta(const bf_node_t *node, const char *name)
{
    return bf_graph_path(&node->meta, name);
}

bool bf_graph_has_auto_link(const bf_graph_t *graph, const bf_node_t *node)
{
    return node->type != BF_NODE_END && node->index + 1 < graph->node_count;
}

bf_status_t bf_graph_full_hash(bf_graph_full_t *full, bf_err_t *err)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_status_t rc = bf_graph_write_json(&full->graph, /* pretty= */ false, &text, err);
    if (rc == BF_OK) {
        (void)snprintf(full->graph.hash, sizeof(full->graph.hash), "%016llx",
                       (unsigned long long)bf_hash_bytes(bf_str_peek(&text), text.len));
    }
    bf_str_fini(&text);
    return rc;
}
