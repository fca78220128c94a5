/*
 * flow.h - an engine, an executor and an instance for tests of commands
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_FLOW_H
#define BF_TESTS_SUPPORT_FLOW_H

#include "bpmflow/command.h"
#include "bpmflow/executor.h"

/* Times in tests. */
#define FLOW_NOW 1796025600123

typedef struct flow {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_command_env_t env;
    bf_arena_t arena;  /* of commands and outcomes; lives as long as the flow */
    unsigned commands; /* given so far: their IDs are c-1, c-2, ... */
} flow_t;

/** Actor controller with the key "actor". Fails the test when out of memory. */
void flow_init(flow_t *flow);
void flow_fini(flow_t *flow);

/** Load a graph from YAML or JSON text. Fails the test when it is refused. */
bf_graph_t *flow_load(flow_t *flow, const char *text);

/** A command with an ID of its own. */
bf_command_t flow_command(flow_t *flow, bf_verb_t verb, const char *instance_id);

/** A value from JSON text. */
bf_value_t flow_json(flow_t *flow, const char *text);

/** Execute; the outcome lives in the flow's arena. */
bf_outcome_t flow_execute(flow_t *flow, bf_instance_t *inst, const bf_command_t *command);

/** Start with graph "leave" (or another). */
bf_outcome_t flow_start(flow_t *flow, bf_instance_t *inst, const char *graph_id);
bf_outcome_t flow_claim(flow_t *flow, bf_instance_t *inst, const char *actor);
bf_outcome_t flow_submit(flow_t *flow, bf_instance_t *inst, const char *node,
                         bf_action_t action, const char *actor);

/** The outcome has this code, or the test fails with what it says. */
void flow_assert_code(const bf_outcome_t *out, bf_code_t code);
/** Its error has this part. */
void flow_assert_says(const bf_outcome_t *out, const char *part);
/** A forward that is accepted. */
void flow_submit_ok(flow_t *flow, bf_instance_t *inst, const char *node,
                    const char *actor);

/** States of an instance as JSON. */
const char *flow_states(flow_t *flow, const bf_instance_t *inst);
/** Its variables as JSON. */
const char *flow_vars(flow_t *flow, bf_instance_t *inst);
/** Row of an instance as one text: everything that is stored. */
const char *flow_row(flow_t *flow, const bf_instance_t *inst);

#endif /* BF_TESTS_SUPPORT_FLOW_H */
