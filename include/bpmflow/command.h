/*
 * command.h - what microservices ask for, and what became of it
 *
 * bf_command_t is the decoded form of a command message; bf_outcome_t is what the reply
 * and the rows are made of.  bf_command_execute() applies one command to one instance
 * atomically: a rejected one leaves the instance exactly as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_COMMAND_H
#define BF_COMMAND_H

#include "bpmflow/code.h"
#include "bpmflow/history.h"
#include "bpmflow/instance.h"

/* X(name, text, needs node, may change the instance) */
#define BF_VERB_LIST(X)                                                                  \
    X(START, "start", false, true)                                                       \
    X(CLAIM, "claim", false, true)                                                       \
    X(FIND, "find", false, false)                                                        \
    X(FIND_NEXT, "find_next", false, false)                                              \
    X(SUBMIT, "submit", true, true)                                                      \
    X(SUBMIT_IF_WAITING, "submit_if_waiting", true, true)                                \
    X(GET_STATE, "get_state", false, false)                                              \
    X(SET_VARS, "set_vars", false, true)

typedef enum {
#define X(name, text, node, change) BF_VERB_##name,
    BF_VERB_LIST(X)
#undef X
        BF_VERB_COUNT
} bf_verb_t;

const char *bf_verb_name(bf_verb_t verb);
/** BF_VERB_COUNT when there is none of that name. */
bf_verb_t bf_verb_of_name(const char *name);

/* Decoded command; texts live in the arena of the batch. */
typedef struct bf_command {
    const char *command_id;
    bf_verb_t verb;
    const char *instance_id;
    const char *graph_id;  /* NULL = not given */
    const char *node_id;   /* NULL = not given */
    bf_action_t action;    /* BF_ACTION_FORWARD when a submit gives none */
    const char *target_id; /* jumps: the target; NULL = node_id is the target */
    const char *actor;     /* NULL = not given */
    bf_value_t context;    /* MAP or NULL: for this command only, never stored */
    bf_value_t vars;       /* MAP or NULL: merged when accepted */
    const char *message;   /* NULL = none */
    bool has_form_id;
    int64_t form_id;
    bool has_expected_revision;
    int64_t expected_revision;
    bool has_job; /* of a job: the submit is about no other one */
    int64_t job;
    bool force;              /* unguarded submit, only where commands.allow_force is on */
    const char *reply_to;    /* NULL = the default topic */
    const char *traceparent; /* NULL = none */
    const char *tracestate;
} bf_command_t;

/* A task in a reply. */
typedef struct bf_outcome_task {
    bf_task_t task;
    const char *graph_id;
} bf_outcome_task_t;

typedef struct bf_outcome_state {
    const char *key; /* "graph:node" */
    bf_task_state_t state;
} bf_outcome_state_t;

/* What became of a command; texts and arrays live in the arena given to execute.
 * Nodes point into graphs that the executor's engine holds. */
typedef struct bf_outcome {
    bf_code_t code;    /* BF_CODE_OK = accepted */
    const char *error; /* sentence for a person; NULL when accepted without remark */
    int32_t revision;
    bf_instance_status_t instance_state;
    const bf_outcome_task_t *task; /* NULL = none */
    const bf_outcome_task_t *next_tasks;
    size_t next_task_count;
    const bf_outcome_state_t *states;
    size_t state_count;
    const bf_history_t *history; /* rows to append, seq ascending */
    size_t history_count;
    bool changed; /* the instance must be written */
} bf_outcome_t;

#define BF_MAX_VARS_BYTES_DEFAULT ((size_t)256 * 1024)

struct bf_executor;

/* With what commands are executed: one per shard. */
typedef struct bf_command_env {
    struct bf_executor *executor; /* graphs (its engine), controller, step limit */
    bool allow_force;             /* commands.allow_force */
    size_t max_vars_bytes;        /* variables of an instance as JSON; 0 = the default */
} bf_command_env_t;

/**
 * Apply one command to one instance, atomically: a rejected command leaves the instance
 * as it was.  Opens a packed instance.
 *
 * @param command   as decoded; borrowed
 * @param inst      instance of the command; empty (revision 0) when it does not exist yet
 * @param arena     results; cleared by the caller when the batch is over
 * @param now_wall_ms time of the batch: stamps rows
 * @param ret       filled on BF_OK, for accepted and rejected commands alike
 * @return BF_OK; BF_E_NOMEM only when not even the rejection can be built (then nothing
 *         has changed either)
 */
bf_status_t bf_command_execute(const bf_command_env_t *env, const bf_command_t *command,
                               bf_instance_t *inst, bf_arena_t *arena,
                               int64_t now_wall_ms, bf_outcome_t *ret,
                               bf_err_t *err) BF_MUST_USE;

#endif /* BF_COMMAND_H */
