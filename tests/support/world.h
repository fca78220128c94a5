/*
 * world.h - what an expression sees in a test: variables, effects, an arena
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "bpmflow/expr.h"
#include "bpmflow/vars.h"

typedef struct world {
    bf_arena_t arena;
    bf_vars_t *vars;
    bool stopped;
    bool interrupted;
    unsigned lookups;
    uint32_t max_steps; /* 0 = default */
    bf_status_t rc;     /* of the last call */
} world_t;

/** Fails the test when the JSON is bad. @param json an object; NULL = no variables */
void world_init(world_t *w, const char *json);
void world_fini(world_t *w);
bf_expr_env_t world_env(world_t *w);

/** Value of an expression as JSON, or "error: ..."; lives in the arena. */
const char *world_eval(world_t *w, const char *text);
/** Runs a script; "" or "error: ...". */
const char *world_run(world_t *w, const char *text);
/** A variable as JSON; "absent". */
const char *world_var(world_t *w, const char *name);
/** JSON text in the form that the others return. */
const char *world_json(world_t *w, const bf_value_t *value);

#endif /* TEST_WORLD_H */
