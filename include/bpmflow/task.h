/*
 * task.h - states of tasks, actions on them, and their codes
 *
 * The codes are a contract: they stand in rows, messages and the original engine
 * (rule 95).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TASK_H
#define BF_TASK_H

#include "bpmflow/graph.h"

typedef enum {
    BF_TASK_UNKNOWN = 0,      /* not reached, no record */
    BF_TASK_WAITING = 1001,   /* waits for a person or a service */
    BF_TASK_COMPLETED = 1002, /* done */
    BF_TASK_TERMINATED = 1003 /* killed */
} bf_task_state_t;

/* X(name, text, code, state that the action leads to) */
#define BF_ACTION_LIST(X)                                                                \
    X(UNKNOWN, "unknown", 0, BF_TASK_UNKNOWN)                                            \
    X(BACK, "back", 1010, BF_TASK_WAITING)                                               \
    X(BACK_JUMP, "back_jump", 1011, BF_TASK_WAITING)                                     \
    X(FORWARD, "forward", 1020, BF_TASK_COMPLETED)                                       \
    X(FORWARD_JUMP, "forward_jump", 1021, BF_TASK_COMPLETED)                             \
    X(TERMINATE, "terminate", 1030, BF_TASK_TERMINATED)                                  \
    X(RESTART, "restart", 1040, BF_TASK_UNKNOWN)                                         \
    /* only in rows and events: the work of a node was handed to a service */            \
    X(DISPATCH, "dispatch", 1050, BF_TASK_WAITING)

typedef enum {
#define X(name, text, code, state) BF_ACTION_##name = code,
    BF_ACTION_LIST(X)
#undef X
} bf_action_t;

/** Unknown codes become BF_TASK_UNKNOWN / BF_ACTION_UNKNOWN (rule 95). */
bf_task_state_t bf_task_state_of(int64_t code);
const char *bf_task_state_name(bf_task_state_t state);
bf_action_t bf_action_of_code(int64_t code);
bf_action_t bf_action_of_name(const char *name);
const char *bf_action_name(bf_action_t action);
/** True for those that somebody may ask for: not UNKNOWN, not DISPATCH. */
bool bf_action_is_askable(bf_action_t action);
bf_task_state_t bf_action_target_state(bf_action_t action);

/** A task as claim and find return it: a node in a state. Pure data. */
typedef struct bf_task {
    const bf_node_t *node; /* NULL = no task */
    bf_task_state_t state;
    uint32_t round; /* 1 = first visit; see the state key `graph:node#2` */
} bf_task_t;

#endif /* BF_TASK_H */
