/*
 * context_int.h - inside of a context: for the walk, the trace and the snapshot
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CONTEXT_INT_H
#define BF_CONTEXT_INT_H

#include "bpmflow/context.h"
#include "bpmflow/engine.h"

/* The last node of a graph.  Recorded by a walk: graph is counted and node belongs to it.
 * Set by hand or read from a snapshot: graph is NULL and the two IDs are owned. */
typedef struct bf_trace_entry {
    bf_graph_t *graph;
    const bf_node_t *node;
    char *graph_id;
    char *node_id;
    bool is_end;  /* the node is an END */
    bool goes_on; /* the next evaluation of the graph starts there: set by hand */
    bool done;    /* evaluated as root graph, and nothing was pending */
} bf_trace_entry_t;

/* Where an evaluation of a root graph goes on; see resume.c for the form. */
typedef struct bf_saved {
    struct bf_saved *next;
    bf_arena_t arena;
    const char *graph_id; /* in the arena */
    bf_value_t scope;     /* in the arena */
} bf_saved_t;

#define BF_TRACE_INLINE 4

#define BF_SIGNAL_STOP      1U
#define BF_SIGNAL_INTERRUPT 2U
#define BF_SIGNAL_PEND      4U

typedef struct bf_trace {
    bool disabled;
    bool walk_ended; /* with has_walk_end: what an executor's walk came to */
    bool has_walk_end;
    bool has_goes_on; /* perhaps some entry goes on */
    uint32_t used;    /* entries, in order of first recording */
    uint32_t room;
    bf_trace_entry_t *entries; /* = fixed until there are more */
    bf_trace_entry_t fixed[BF_TRACE_INLINE];
    bf_saved_t *saved;
} bf_trace_t;

/* A variable that bf_context_with() set. */
typedef struct bf_with {
    const struct bf_with *outer;
    const char *name;
    size_t name_len;
    const bf_value_t *value;
} bf_with_t;

struct bf_context {
    bf_value_t instance_id_value;
    bf_vars_t *vars;
    bool owns_vars;
    uint8_t signals; /* BF_SIGNAL_*; interrupt and pend belong to the running walk */
    bool is_probe;
    bool lacks_memory; /* a callback did that could not say so */
    bf_eval_outcome_t outcome;
    bf_vars_t *base;
    bf_vars_t *overlay; /* what a probe has set; NULL = nothing yet */
    const bf_value_t *transient;
    const bf_with_t *with;
    const bf_node_t *script_node; /* what `node` means while a script runs */
    bf_member_t node_members[4];
    bf_value_t node_value;
    bf_exchanger_t *ex; /* running evaluation, NULL = none */
    bf_origin_t origin;
    bf_trace_t trace;
    char instance_id[];
};

/** The `node` of scripts (rule 91); NULL ends it. */
void bf_context_set_script_node(bf_context_t *ctx, const bf_node_t *node);

/** A probe is over: what it has set is forgotten. */
void bf_context_end_probe(bf_context_t *ctx);

/* --- trace.c --- */

void bf_trace_init(bf_trace_t *trace);
void bf_trace_fini(bf_trace_t *trace);
/** Forget everything but whether it is enabled. */
void bf_trace_reset(bf_trace_t *trace);
/** Forget everything and record that: bf_trace_reset() and bf_trace_record() at once. */
bf_status_t bf_trace_restart(bf_trace_t *trace, bf_graph_t *graph,
                             const bf_node_t *node) BF_MUST_USE;
/** NULL = the graph was never recorded. */
bf_trace_entry_t *bf_trace_find(const bf_trace_t *trace, const char *graph_id);
/** Record the last node of a graph; the entry of a walk. BF_OK or BF_E_NOMEM. */
bf_status_t bf_trace_record(bf_trace_t *trace, bf_graph_t *graph,
                            const bf_node_t *node) BF_MUST_USE;
/** An entry by IDs (by hand, from a snapshot); copied. NULL when out of memory. */
bf_trace_entry_t *bf_trace_set_ids(bf_trace_t *trace, const char *graph_id,
                                   const char *node_id) BF_MUST_USE;
const char *bf_trace_entry_graph(const bf_trace_entry_t *entry);
const char *bf_trace_entry_node(const bf_trace_entry_t *entry);
/** New and empty; not in the trace yet. NULL when out of memory. */
bf_saved_t *bf_saved_new(const char *graph_id) BF_MUST_USE;
void bf_saved_free(bf_saved_t *saved);
/** Put under its graph; replaces what was there. */
void bf_trace_put_saved(bf_trace_t *trace, bf_saved_t *saved);
/** Take out; the caller frees. NULL = none. */
bf_saved_t *bf_trace_take_saved(bf_trace_t *trace, const char *graph_id) BF_MUST_USE;

#endif /* BF_CONTEXT_INT_H */
