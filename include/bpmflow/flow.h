/*
 * flow.h - an approval definition as it was drawn: nodes and edges
 *
 * Reads the JSON of the designer (LogicFlow): `nodes` with id, type ("snaker:task"),
 * text and properties, `edges` with sourceNodeId, targetNodeId and properties.expr.
 * Conditions are parsed when the definition is read.
 *
 * Memory:   everything lives in the arena given to bf_flow_load() and does not change:
 *           any number of threads may read it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_FLOW_H
#define BF_FLOW_H

#include "bpmflow/expr.h"

#define BF_FLOW_MAX_BYTES ((size_t)1 << 20)
#define BF_FLOW_MAX_NODES 10000
#define BF_FLOW_MAX_EDGES 50000

/* X(NAME, type in the file without "snaker:") */
#define BF_FLOW_TYPES(X)                                                                 \
    X(START, "start")                                                                    \
    X(END, "end")                                                                        \
    X(TASK, "task")                                                                      \
    X(DECISION, "decision")                                                              \
    X(FORK, "fork")                                                                      \
    X(JOIN, "join")                                                                      \
    X(CUSTOM, "custom")                                                                  \
    X(SUB_PROCESS, "subProcess")                                                         \
    X(WF_SUB_PROCESS, "wfSubProcess")

typedef enum bf_flow_type {
#define X(name, text) BF_FLOW_##name,
    BF_FLOW_TYPES(X)
#undef X
        BF_FLOW_TYPE_COUNT
} bf_flow_type_t;

struct bf_flow_node;

typedef struct bf_flow_edge {
    const char *id;
    const struct bf_flow_node *source;
    const struct bf_flow_node *target;
    const char *expr_text; /* NULL = no condition */
    const bf_expr_t *expr; /* NULL = no condition */
} bf_flow_edge_t;

typedef struct bf_flow_node {
    const char *id;
    uint32_t index; /* place in the file, from 0 */
    bf_flow_type_t type;
    const char *display_name;         /* text.value; the ID where there is none */
    bf_value_t properties;            /* map, as it is in the file */
    const bf_flow_edge_t *const *out; /* in the order of the file */
    uint32_t out_count;
    const bf_flow_edge_t *const *in;
    uint32_t in_count;
    /* of the properties; texts are NULL where they are absent or empty */
    const char *form;
    const char *assignee;
    const char *assignment_handler;
    const char *handler;   /* of a decision (handleClass), of a custom node (clazz) */
    const bf_expr_t *expr; /* of a decision: names the next node */
    const bf_expr_t *completion; /* countersignCompletionCondition */
    bf_value_t field;            /* map of field permissions, or null */
    int32_t task_type;           /* 0 main, 1 assistant, 2 record */
    bool is_countersign;         /* performType "1", "ALL", "COUNTERSIGN" */
    bool is_sequential;          /* countersignType SEQUENTIAL, 1 */
} bf_flow_node_t;

typedef struct bf_flow {
    const char *name;
    const char *display_name;
    const char *type;         /* NULL = none */
    const char *instance_url; /* NULL = none */
    bf_value_t json;          /* the whole file */
    const bf_flow_node_t *nodes;
    uint32_t node_count;
    const bf_flow_edge_t *edges;
    uint32_t edge_count;
    const bf_flow_node_t *const *by_id; /* all nodes, sorted by ID */
    const bf_flow_node_t *start;        /* the only one */
    const bf_flow_node_t *first_task;   /* first task in the order of walking from the
                                         * start; NULL = none */
} bf_flow_t;

/**
 * Read a definition.
 *
 * @param arena  owns the result
 * @return BF_OK; BF_E_PARSE (no JSON, a condition that cannot be read), BF_E_INVALID (no
 *         name, no start or two, equal IDs, a type that is not known, an edge to nowhere:
 *         the message names it), BF_E_LIMIT, BF_E_NOMEM
 */
bf_status_t bf_flow_load(bf_arena_t *arena, const char *text, size_t len,
                         const bf_flow_t **ret, bf_err_t *err) BF_MUST_USE;

/** The node with that ID; NULL = there is none. */
const bf_flow_node_t *bf_flow_find(const bf_flow_t *flow, const char *id);

/**
 * Where ways of one edge or more lead from a node.
 * @param ret  node_count marks by index, in the arena
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_flow_reach(const bf_flow_t *flow, const bf_flow_node_t *from,
                          bf_arena_t *arena, const bool **ret) BF_MUST_USE;

/** From where ways of one edge or more lead to a node; as bf_flow_reach(). */
bf_status_t bf_flow_sources(const bf_flow_t *flow, const bf_flow_node_t *to,
                            bf_arena_t *arena, const bool **ret) BF_MUST_USE;

/** Text of a type, "task"; static. */
const char *bf_flow_type_name(bf_flow_type_t type);

#endif /* BF_FLOW_H */
