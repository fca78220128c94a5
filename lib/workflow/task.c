/*
 * task.c - names and codes of task states and actions
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/task.h"

#include <string.h>

bf_task_state_t bf_task_state_of(int64_t code)
{
    switch (code) {
    case BF_TASK_WAITING:
        return BF_TASK_WAITING;
    case BF_TASK_COMPLETED:
        return BF_TASK_COMPLETED;
    case BF_TASK_TERMINATED:
        return BF_TASK_TERMINATED;
    default:
        return BF_TASK_UNKNOWN;
    }
}

const char *bf_task_state_name(bf_task_state_t state)
{
    switch (state) {
    case BF_TASK_WAITING:
        return "waiting";
    case BF_TASK_COMPLETED:
        return "completed";
    case BF_TASK_TERMINATED:
        return "terminated";
    case BF_TASK_UNKNOWN:
        break;
    }
    return "unknown";
}

bf_action_t bf_action_of_code(int64_t code)
{
#define X(name, text, number, state)                                                     \
    if (code == (number)) {                                                              \
        return BF_ACTION_##name;                                                         \
    }
    BF_ACTION_LIST(X)
#undef X
    return BF_ACTION_UNKNOWN;
}

bf_action_t bf_action_of_name(const char *name)
{
#define X(id, text, number, state)                                                       \
    if (!strcmp(name, text)) {                                                           \
        return BF_ACTION_##id;                                                           \
    }
    BF_ACTION_LIST(X)
#undef X
    return BF_ACTION_UNKNOWN;
}

const char *bf_action_name(bf_action_t action)
{
    switch (action) {
#define X(name, text, number, state)                                                     \
    case BF_ACTION_##name:                                                               \
        return text;
        BF_ACTION_LIST(X)
#undef X
    }
    return "unknown";
}

bool bf_action_is_askable(bf_action_t action)
{
    return action != BF_ACTION_UNKNOWN && action != BF_ACTION_DISPATCH;
}

bf_task_state_t bf_action_target_state(bf_action_t action)
{
    switch (action) {
#define X(name, text, number, state)                                                     \
    case BF_ACTION_##name:                                                               \
        return state;
        BF_ACTION_LIST(X)
#undef X
    }
    return BF_TASK_UNKNOWN;
}
