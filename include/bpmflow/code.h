/*
 * code.h - why a command was rejected: one list for replies, metrics and documents
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CODE_H
#define BF_CODE_H

#include "bpmflow/err.h"

/* X(name, text, explanation) */
#define BF_CODE_LIST(X)                                                                  \
    X(OK, "ok", "accepted")                                                              \
    X(MALFORMED, "malformed", "the message is not a command")                            \
    X(UNKNOWN_COMMAND, "unknown_command", "there is no such command")                    \
    X(UNKNOWN_GRAPH, "unknown_graph", "there is no graph of that name or version")       \
    X(GRAPH_DISABLED, "graph_disabled", "the graph takes no new instances")              \
    X(UNKNOWN_NODE, "unknown_node", "the graph has no such node")                        \
    X(UNKNOWN_ACTION, "unknown_action", "there is no such action")                       \
    X(NOT_OPERABLE, "not_operable", "the actor may not operate the task")                \
    X(NOT_WAITING, "not_waiting", "the task is not current")                             \
    X(UNREACHABLE_TARGET, "unreachable_target", "the jump target cannot be reached")     \
    X(INSTANCE_NOT_FOUND, "instance_not_found", "there is no such instance")             \
    X(INSTANCE_EXISTS, "instance_exists", "the instance has been started before")        \
    X(INSTANCE_COMPLETED, "instance_completed", "the instance is completed")             \
    X(INSTANCE_TERMINATED, "instance_terminated", "the instance is terminated")          \
    X(INSTANCE_SUSPENDED, "instance_suspended", "the instance is suspended")             \
    X(REVISION_CONFLICT, "revision_conflict", "the instance has moved on")               \
    X(LIMIT_EXCEEDED, "limit_exceeded", "a size limit is exceeded")                      \
    X(STEP_LIMIT, "step_limit", "too many node visits in one command")                   \
    X(NO_ROUTE, "no_route", "a choice has no way out")                                   \
    X(EXPRESSION_ERROR, "expression_error", "an expression failed")                      \
    X(COMPONENT_ERROR, "component_error", "a component failed or is missing")            \
    X(STORAGE_REJECTED, "storage_rejected", "the database refused the data")             \
    X(NO_MEMORY, "no_memory", "the worker is out of memory")

typedef enum {
#define X(name, text, explanation) BF_CODE_##name,
    BF_CODE_LIST(X)
#undef X
        BF_CODE_COUNT
} bf_code_t;

const char *bf_code_name(bf_code_t code);
/** The sentence of the list. */
const char *bf_code_explanation(bf_code_t code);
bf_code_t bf_code_of_name(const char *name); /* BF_CODE_COUNT when unknown */

/** The code for a status of the engine or the executor; BF_E_REJECTED has a code of its
 *  own (bf_executor_code()). */
bf_code_t bf_code_of_status(bf_status_t status);

#endif /* BF_CODE_H */
