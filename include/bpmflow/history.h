/*
 * history.h - one row of bpm_flow_task, and so one event
 *
 * Plain data; texts are borrowed (from the arena of the command, or of the reader).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_HISTORY_H
#define BF_HISTORY_H

#include "bpmflow/instance.h"

typedef struct bf_history_node {
    const char *code;
    const char *name; /* title, or the ID when there is none */
    const char *type;
} bf_history_node_t;

typedef struct bf_history {
    const char *instance_id; /* flow_ins_id */
    const char *graph_id;    /* proc_def_id */
    int32_t graph_version;
    int32_t seq; /* 1, 2, ... per instance without gaps */
    bf_action_t action;
    const char *task_id;
    bf_history_node_t source;
    bf_history_node_t target;
    const char *assignee; /* NULL = none */
    int32_t status;       /* code of a task state */
    bool has_form_id;
    int64_t form_id;
    bf_text_t variables; /* JSON object, these exact bytes are stored and published */
    const char *message; /* NULL = none */
    int32_t instance_state;
    const char *command_id;
    const char *creator;
    int64_t create_time_ms;
} bf_history_t;

#define BF_DISPATCH_TYPE     "topic"         /* target of a row with action DISPATCH */
#define BF_DISPATCH_META_MAX ((size_t)60000) /* bytes; the column of messages is TEXT */

/* What is the same in all rows of one step. */
typedef struct bf_history_step {
    const bf_graph_t *graph; /* root graph of the instance */
    const bf_task_t *source; /* the submitted task */
    bf_action_t action;
    const char *assignee; /* the actor, or whom the definition names; NULL = none */
    const char *creator;  /* who sent it; NULL = "" */
    const char *message;
    bool has_form_id; /* else the source's meta `formId` counts */
    int64_t form_id;
    const char *command_id;
    int64_t now_wall_ms;
} bf_history_step_t;

/**
 * The rows of one step of an instance, as the executor has left it: one for each target.
 * Takes the sequence numbers from the instance (inside its transaction).
 *
 * @param arena owns the rows and all their texts
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_history_build(bf_instance_t *inst, const bf_history_step_t *step,
                             const bf_task_t *targets, size_t target_count,
                             bf_arena_t *arena, bf_history_t **ret,
                             bf_err_t *err) BF_MUST_USE;

/**
 * The row of a node that is handed to a service; see bf_executor_dispatch_rows().
 * @return BF_OK, BF_E_LIMIT, BF_E_NOMEM
 */
bf_status_t bf_history_build_dispatch(bf_instance_t *inst, const bf_history_step_t *step,
                                      bf_arena_t *arena, bf_history_t *ret,
                                      bf_err_t *err) BF_MUST_USE;

#endif /* BF_HISTORY_H */
