/*
 * walk.h - an engine and a context for tests of walks, with what was visited as text
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_WALK_H
#define BF_TESTS_SUPPORT_WALK_H

#include "bpmflow/engine.h"

typedef struct walk {
    bf_engine_t *engine;
    bf_context_t *ctx;
    bf_str_t visited;    /* IDs of nodes in the order of their start hooks, with blanks */
    bf_str_t arrived;    /* as above, arrivals */
    bf_str_t ended;      /* as above, end hooks */
    bf_err_t err;        /* of the last run */
    const char *stop_at; /* stop in the start hook of this node, NULL = none */
    const char *interrupt_at; /* interrupt there */
} walk_t;

/** Fails the test when out of memory. */
void walk_init(walk_t *walk);
void walk_fini(walk_t *walk);

/** Load a graph from YAML or JSON text. Fails the test when it is refused. */
bf_graph_t *walk_load(walk_t *walk, const char *text);

/** A component that runs a script: `@name` as a task. Text must outlive the walk. */
void walk_script(walk_t *walk, const char *name, const char *script);

/** Set a variable from JSON text. */
void walk_set(walk_t *walk, const char *name, const char *json);
/** A variable as text; "" when it is not set. Valid until the next call. */
const char *walk_get(walk_t *walk, const char *name);

/** Evaluate; the texts start empty. */
bf_status_t walk_run(walk_t *walk, const char *graph_id);
bf_status_t walk_run_steps(walk_t *walk, const char *graph_id, int64_t steps);
/** As walk_run(), which must succeed; returns what was visited. */
const char *walk_visits(walk_t *walk, const char *graph_id);

/** Replace the context by its snapshot, read back. */
void walk_roundtrip(walk_t *walk);

#endif /* BF_TESTS_SUPPORT_WALK_H */
