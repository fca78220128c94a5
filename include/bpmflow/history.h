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

#endif /* BF_HISTORY_H */
