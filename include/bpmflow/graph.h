/*
 * graph.h - a process definition: nodes and links, immutable after loading
 *
 * Plain read-only data: the engine walks it by pointers, nobody changes it.  A graph
 * is shared between threads and counted; everything in it lives in one arena of its
 * own.  Conditions and scripts are parsed when the graph is loaded.
 *
 * Sources: rules 1-21 of the original engine, decisions in the README.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_GRAPH_H
#define BF_GRAPH_H

#include "bpmflow/diag.h"
#include "bpmflow/expr.h"
#include "bpmflow/value.h"

/* X(name, text): the text is what layouts and events use. */
#define BF_NODE_TYPE_LIST(X)                                                             \
    X(START, "start")                                                                    \
    X(END, "end")                                                                        \
    X(ACTIVITY, "activity")                                                              \
    X(EXCLUSIVE, "exclusive")                                                            \
    X(INCLUSIVE, "inclusive")                                                            \
    X(PARALLEL, "parallel")                                                              \
    X(LOOP, "loop")

typedef enum {
#define X(name, text) BF_NODE_##name,
    BF_NODE_TYPE_LIST(X)
#undef X
        BF_NODE_TYPE_COUNT
} bf_node_type_t;

typedef struct bf_graph bf_graph_t;
typedef struct bf_node bf_node_t;
typedef struct bf_link bf_link_t;

/* What the text of a task or of a condition is (rules 85, 86). */
typedef enum {
    BF_CODE_NONE,      /* empty: nothing to do; a condition: true */
    BF_CODE_COMPONENT, /* @name      -> name  */
    BF_CODE_GRAPH,     /* #graph     -> name  (tasks only) */
    BF_CODE_TOPIC,     /* @kafka:topic -> name  (tasks of activities only) */
    BF_CODE_SCRIPT,    /* script of a task    -> script */
    BF_CODE_EXPRESSION /* condition           -> expr   */
} bf_code_kind_t;

typedef struct bf_code_ref {
    bf_code_kind_t kind;
    const char *text;      /* as written, trimmed; NULL when NONE */
    const char *name;      /* COMPONENT, GRAPH, TOPIC: without @, # or @kafka: */
    const bf_expr_t *expr; /* EXPRESSION */
    /* SCRIPT. `$a.b` is taken from the graph's meta; NULL when nothing is there: running
     * it is the error "Graph meta not found: a.b", with name = "a.b". */
    const bf_script_t *script;
} bf_code_ref_t;

struct bf_link {
    const bf_node_t *from;
    const bf_node_t *to;
    uint32_t index; /* place among the links of `from`, after ordering by priority */
    uint32_t graph_index; /* unique in the graph, 0 .. link_count-1 */
    int priority;         /* higher first; stable */
    const char *title;    /* NULL when absent */
    bf_value_t meta;      /* MAP or NULL */
    bf_code_ref_t when;
};

struct bf_node {
    const char *id;
    const char *title; /* NULL when absent (rule 10) */
    bf_node_type_t type;
    uint32_t index; /* 0 .. node_count-1, layout order */
    const bf_graph_t *graph;
    bf_value_t meta; /* MAP or NULL */
    bf_code_ref_t when;
    bf_code_ref_t task;
    const bf_link_t *const *links; /* outgoing, ordered */
    uint32_t link_count;
    /* Incoming, sources in reverse layout order as in the original. Empty for START
     * (rule 17); links that leave an END are never followed and do not count (rule 16).
     */
    const bf_link_t *const *prev_links;
    uint32_t prev_link_count;
    const char *state_key; /* "graph:node", what states are stored under (rule 96) */
    uint32_t state_key_len;
    uint32_t state_key_hash; /* bf_hash_bytes(), low half */
    uint32_t line;           /* in the source, 0 when unknown */
    /* LOOP heads (meta $for / $in, rules 77-79); NULL otherwise */
    const char *loop_variable;
    const bf_value_t *loop_source; /* the $in value as written */
};

struct bf_graph {
    const char *id;         /* "" when absent: such a graph cannot be called by name */
    const char *title;      /* = id when absent */
    const char *driver;     /* "" when absent */
    bf_value_t meta;        /* MAP or NULL */
    const char *file;       /* where it came from, "" when unknown */
    int32_t version;        /* >= 1; layout key `version`, default 1 */
    char hash[17];          /* of the canonical form; same text = same hash */
    const bf_node_t *nodes; /* array in layout order */
    uint32_t node_count;
    uint32_t link_count;
    const bf_node_t *start;
};

/**
 * Load a graph from YAML or JSON text (one parser: JSON is YAML).
 *
 * @param file   name for messages; NULL = "text"
 * @param diags  all errors and warnings with line, node and remedy are added; may be NULL
 * @param ret    a new reference, give back with bf_graph_unref()
 * @return BF_OK (there may be warnings); BF_E_PARSE or BF_E_INVALID: err has the first
 *         error, diags all of them; BF_E_LIMIT; BF_E_NOMEM
 */
bf_status_t bf_graph_load_text(const char *text, size_t len, const char *file,
                               bf_diags_t *diags, bf_graph_t **ret,
                               bf_err_t *err) BF_MUST_USE;

/** Read and load a file (at most 4 MiB). As above, and BF_E_IO. Blocks on the disk. */
bf_status_t bf_graph_load_file(const char *path, bf_diags_t *diags, bf_graph_t **ret,
                               bf_err_t *err) BF_MUST_USE;

/** Load from a value in the layout form (a parsed JSON object). */
bf_status_t bf_graph_load_value(const bf_value_t *layout, const char *file,
                                bf_diags_t *diags, bf_graph_t **ret,
                                bf_err_t *err) BF_MUST_USE;

/** Count a reference more. Thread-safe. Returns graph. */
bf_graph_t *bf_graph_ref(bf_graph_t *graph);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. */
void bf_graph_unref(bf_graph_t *graph);

/** Borrowed; NULL when there is none with that ID. */
const bf_node_t *bf_graph_node(const bf_graph_t *graph, const char *id);

const char *bf_node_type_name(bf_node_type_t type);

/** A meta entry of a node: a name, or a path with dots. NULL when absent. Borrowed. */
const bf_value_t *bf_node_meta(const bf_node_t *node, const char *name);

/** Write the layout form, keys in fixed order (rule 20; `link: []` is written). */
bf_status_t bf_graph_write_json(const bf_graph_t *graph, bool pretty, bf_str_t *ret,
                                bf_err_t *err) BF_MUST_USE;
bf_status_t bf_graph_write_yaml(const bf_graph_t *graph, bf_str_t *ret,
                                bf_err_t *err) BF_MUST_USE;

#endif /* BF_GRAPH_H */
