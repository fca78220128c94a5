/*
 * command_int.h - a command in execution, and the sentences of its rejections
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_COMMAND_INT_H
#define BF_COMMAND_INT_H

#include "bpmflow/command.h"
#include "bpmflow/executor.h"

typedef struct bf_run {
    const bf_command_env_t *env;
    const bf_command_t *command;
    bf_scope_t scope;
    bf_value_t transient; /* the command's context, with the actor */
    int64_t now_wall_ms;
    bf_code_t code; /* of the rejection */
    bf_err_t err;
    bf_outcome_t *out;
    bool is_probe; /* nothing that it does lasts */
} bf_run_t;

/* All return true; or false and run->code and run->err say why. */

/* Graph and state of the instance allow the command; scope.graph is set. */
bool bf_run_admit(bf_run_t *run);
/* The verb itself, inside the transaction of the instance. */
bool bf_run_verb(bf_run_t *run);

/* Reject with a code and a sentence. Returns false. */
bool bf_run_reject(bf_run_t *run, bf_code_t code, const char *fmt, ...) BF_PRINTF(3, 4);
/* Reject for a status of the executor, with the sentence in run->err. Returns false. */
bool bf_run_fail(bf_run_t *run, bf_status_t status);

/* The node of the command, in the instance's graph or in graph_id; NULL = rejected. */
const bf_node_t *bf_run_node(bf_run_t *run, const char *node_id);

/* After a rejection and the rollback: add to the sentence which tasks are current and for
 * whom, where that helps. */
void bf_run_explain(bf_run_t *run);

#endif /* BF_COMMAND_INT_H */
