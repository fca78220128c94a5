/*
 * trace.c - the last node of each graph, and where evaluations go on
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "context_int.h"

void bf_trace_init(bf_trace_t *trace)
{
    trace->entries = trace->fixed;
    trace->room = BF_TRACE_INLINE;
}

static void forget(bf_trace_entry_t *entry)
{
    bf_graph_unref(entry->graph);
    free(entry->graph_id);
    free(entry->node_id);
    memset(entry, 0, sizeof(*entry));
}

void bf_saved_free(bf_saved_t *saved)
{
    if (saved) {
        bf_arena_fini(&saved->arena);
        free(saved);
    }
}

void bf_trace_reset(bf_trace_t *trace)
{
    for (uint32_t i = 0; i < trace->used; i++) {
        forget(&trace->entries[i]);
    }
    trace->used = 0;
    trace->has_walk_end = false;
    trace->has_goes_on = false;
    while (trace->saved) {
        bf_saved_t *next = trace->saved->next;
        bf_saved_free(trace->saved);
        trace->saved = next;
    }
}

void bf_trace_fini(bf_trace_t *trace)
{
    bf_trace_reset(trace);
    if (trace->entries != trace->fixed) {
        free(trace->entries);
    }
}

const char *bf_trace_entry_graph(const bf_trace_entry_t *entry)
{
    return entry->graph ? entry->graph->id : entry->graph_id;
}

const char *bf_trace_entry_node(const bf_trace_entry_t *entry)
{
    return entry->graph ? entry->node->id : entry->node_id;
}

bf_trace_entry_t *bf_trace_find(const bf_trace_t *trace, const char *graph_id)
{
    for (uint32_t i = 0; i < trace->used; i++) {
        const char *id = bf_trace_entry_graph(&trace->entries[i]);
        if (id == graph_id || !strcmp(id, graph_id)) {
            return &trace->entries[i];
        }
    }
    return NULL;
}

/* A new entry at the end, zeroed; NULL when out of memory. */
static bf_trace_entry_t *append(bf_trace_t *trace)
{
    if (trace->used == trace->room) {
        uint32_t room = trace->room * 2;
        bf_trace_entry_t *entries = malloc(room * sizeof(*entries));
        if (!entries) {
            return NULL;
        }
        memcpy(entries, trace->entries, trace->used * sizeof(*entries));
        if (trace->entries != trace->fixed) {
            free(trace->entries);
        }
        trace->entries = entries;
        trace->room = room;
    }
    bf_trace_entry_t *entry = &trace->entries[trace->used++];
    memset(entry, 0, sizeof(*entry));
    return entry;
}

bf_status_t bf_trace_record(bf_trace_t *trace, bf_graph_t *graph, const bf_node_t *node)
{
    bf_trace_entry_t *entry = bf_trace_find(trace, graph->id);
    if (!entry) {
        entry = append(trace);
        if (!entry) {
            return BF_E_NOMEM;
        }
    }
    if (entry->graph != graph) {
        forget(entry);
        entry->graph = bf_graph_ref(graph);
    }
    entry->node = node;
    entry->is_end = node->type == BF_NODE_END;
    entry->goes_on = false;
    entry->done = false;
    return BF_OK;
}

bf_status_t bf_trace_restart(bf_trace_t *trace, bf_graph_t *graph, const bf_node_t *node)
{
    /* Mostly it is the graph of the last walk, which is counted already. */
    if (trace->used != 1 || trace->entries[0].graph != graph || trace->saved) {
        bf_trace_reset(trace);
        return bf_trace_record(trace, graph, node);
    }
    trace->has_walk_end = false;
    trace->has_goes_on = false;
    trace->entries[0] = (bf_trace_entry_t){
        .graph = graph, .node = node, .is_end = node->type == BF_NODE_END};
    return BF_OK;
}

bf_trace_entry_t *bf_trace_set_ids(bf_trace_t *trace, const char *graph_id,
                                   const char *node_id)
{
    char *graph_copy = strdup(graph_id);
    char *node_copy = strdup(node_id);
    bf_trace_entry_t *entry = NULL;
    if (graph_copy && node_copy) {
        entry = bf_trace_find(trace, graph_id);
        entry = entry ? entry : append(trace);
    }
    if (!entry) {
        free(graph_copy);
        free(node_copy);
        return NULL;
    }
    forget(entry);
    entry->graph_id = graph_copy;
    entry->node_id = node_copy;
    return entry;
}

bf_saved_t *bf_saved_new(const char *graph_id)
{
    bf_saved_t *saved = calloc(1, sizeof(*saved));
    if (!saved) {
        return NULL;
    }
    bf_arena_init(&saved->arena, 0);
    saved->graph_id = bf_arena_strdup(&saved->arena, graph_id);
    if (!saved->graph_id) {
        bf_saved_free(saved);
        return NULL;
    }
    return saved;
}

bf_saved_t *bf_trace_take_saved(bf_trace_t *trace, const char *graph_id)
{
    for (bf_saved_t **at = &trace->saved; *at; at = &(*at)->next) {
        bf_saved_t *saved = *at;
        if (!strcmp(saved->graph_id, graph_id)) {
            *at = saved->next;
            saved->next = NULL;
            return saved;
        }
    }
    return NULL;
}

void bf_trace_put_saved(bf_trace_t *trace, bf_saved_t *saved)
{
    bf_saved_free(bf_trace_take_saved(trace, saved->graph_id));
    saved->next = trace->saved;
    trace->saved = saved;
}

/* --- what the public header promises --- */

void bf_context_trace_enable(bf_context_t *ctx, bool enabled)
{
    ctx->trace.disabled = !enabled;
}

void bf_context_trace_clear(bf_context_t *ctx)
{
    bf_trace_reset(&ctx->trace);
    ctx->outcome = BF_EVAL_NONE;
}

const char *bf_context_last_node(const bf_context_t *ctx, const char *graph_id)
{
    const bf_trace_entry_t *entry =
        ctx->trace.disabled ? NULL : bf_trace_find(&ctx->trace, graph_id);
    return entry ? bf_trace_entry_node(entry) : NULL;
}

bf_status_t bf_context_trace_set(bf_context_t *ctx, const char *graph_id,
                                 const char *node_id)
{
    bf_trace_t *trace = &ctx->trace;
    if (!node_id) {
        bf_trace_entry_t *entry = bf_trace_find(trace, graph_id);
        if (entry) {
            forget(entry);
            size_t behind = (size_t)(&trace->entries[trace->used] - entry) - 1;
            memmove(entry, entry + 1, behind * sizeof(*entry));
            trace->used--;
        }
        bf_saved_free(bf_trace_take_saved(trace, graph_id));
        return BF_OK;
    }
    bf_trace_entry_t *entry = bf_trace_set_ids(trace, graph_id, node_id);
    if (!entry) {
        return BF_E_NOMEM;
    }
    entry->goes_on = true;
    trace->has_goes_on = true;
    bf_saved_free(bf_trace_take_saved(trace, graph_id));
    return BF_OK;
}

bool bf_context_is_end(const bf_context_t *ctx, const char *graph_id)
{
    const bf_trace_t *trace = &ctx->trace;
    if (trace->disabled) {
        return false;
    }
    if (!graph_id && trace->has_walk_end) {
        return trace->walk_ended;
    }
    const bf_trace_entry_t *entry = graph_id      ? bf_trace_find(trace, graph_id)
                                    : trace->used ? &trace->entries[0]
                                                  : NULL;
    return entry && entry->is_end;
}
