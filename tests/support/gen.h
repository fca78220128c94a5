/*
 * gen.h - random graphs, and what a walk through them must do
 *
 * A structured graph is made of nested blocks, so what happens is known without an
 * engine: gen_expect() writes it down.  A wild graph has any links between any nodes.
 * Everything comes from the seed: the same seed and size give the same graph.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_GEN_H
#define BF_TESTS_SUPPORT_GEN_H

#include "bpmflow/context.h"
#include "bpmflow/str.h"

#define GEN_ROLES 3 /* actors r0, r1, r2 */

typedef struct gen gen_t;

typedef struct gen_options {
    uint64_t seed;
    unsigned size;   /* about so many nodes */
    bool with_tasks; /* some activities belong to actors */
    bool with_calls; /* some activities call graphs of their own */
} gen_options_t;

/** A structured graph "g", and graphs that it calls. NULL when out of memory. */
gen_t *gen_new(const gen_options_t *options);
void gen_free(gen_t *gen);

/** Layouts as JSON: 0 is "g", then those that it calls; NULL behind the last. */
const char *gen_layout(const gen_t *gen, unsigned number);

/** Set the variables that its conditions ask for. */
bf_status_t gen_set_vars(const gen_t *gen, bf_context_t *ctx);

/** IDs of the nodes that a walk visits, in order, when nothing waits: "s a1 a2 e". */
void gen_expect(const gen_t *gen, bf_str_t *ret);
/** IDs of the nodes whose `@note` runs, in order, as gen_expect(). */
void gen_expect_notes(const gen_t *gen, bf_str_t *ret);

typedef struct gen_wild {
    uint64_t seed;
    unsigned size;     /* nodes beside START */
    const char *id;    /* of the graph */
    bool with_tasks;   /* some nodes belong to actors */
    bool with_jobs;    /* some activities hand their work to a service */
    bool is_calm;      /* conditions at gateways only, no loops, mostly activities */
    const char *calls; /* some activities call one of these graphs: "h k"; NULL = none */
} gen_wild_t;

/** A wild graph: JSON of a layout, the caller frees. NULL when out of memory.  Conditions
 *  ask for the number n, and automatic activities count it up. */
char *gen_wild(const gen_wild_t *wild);

/** Next number of a generator that is started with any state but 0. */
uint64_t gen_random(uint64_t *state);

#endif /* BF_TESTS_SUPPORT_GEN_H */
