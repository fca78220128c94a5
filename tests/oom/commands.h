/*
 * commands.h - the allocation sweep over commands of one instance
 *
 * Each command is swept in the state that those before it have led to: with every
 * allocation failing once it must be rejected with no_memory, say why, and leave the
 * instance as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_OOM_COMMANDS_H
#define BF_TESTS_OOM_COMMANDS_H

#include "bpmflow/command.h"
#include "bpmflow/executor.h"

typedef struct oom_step {
    const char *name;
    bf_verb_t verb;
    const char *node;
    bf_action_t action;
    const char *actor;
    int64_t job; /* 0 = none */
} oom_step_t;

/** A graph of that text into the engine. */
void oom_load(bf_engine_t *engine, const char *definition);

/** Sweep each of the steps; the first one starts the graph "g". */
void oom_sweep_steps(bf_executor_t *executor, const oom_step_t *steps, size_t count);

#endif /* BF_TESTS_OOM_COMMANDS_H */
