/*
 * rig.h - an engine, an executor and one instance, for properties over generated graphs
 *
 * The component `@note` adds the node to `notes`.  Each operation is one transaction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_RIG_H
#define BF_TESTS_SUPPORT_RIG_H

#include "bpmflow/executor.h"
#include "tests/support/gen.h"

typedef struct rig {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_instance_t *inst;
    bf_context_t *ctx;
    bf_arena_t arena;
    bf_scope_t scope;
    bf_str_t notes;
    bf_guard_t guard; /* of rig_submit(); strict */
    bf_value_t who;
    bf_member_t who_member;
    char who_name[8];
    bf_err_t err; /* of the last operation */
} rig_t;

/** An engine whose `@note` writes to notes. */
bf_engine_t *rig_engine(bf_str_t *notes);
void rig_load(bf_engine_t *engine, const char *layout);
void rig_load_all(bf_engine_t *engine, const gen_t *gen);

/** @param gen its graphs are loaded and its variables set; NULL = none */
void rig_init(rig_t *rig, const gen_t *gen);
void rig_fini(rig_t *rig);
/** Set a variable of the instance. */
void rig_set(rig_t *rig, const char *name, int64_t value);

/** The caller is r0, r1, ... */
void rig_act_as(rig_t *rig, unsigned role);
/** Whose task it is; 0 when nobody's. */
unsigned rig_role_of(const bf_node_t *node);

bf_status_t rig_find_next(rig_t *rig, const bf_task_t **ret, size_t *ret_count);
bf_status_t rig_claim(rig_t *rig, bf_task_t *ret);
bf_status_t rig_submit(rig_t *rig, const bf_task_t *task, bf_action_t action,
                       const bf_node_t *target, bf_submit_result_t *ret);

/** Everything that is stored, and all variables; the caller frees. */
char *rig_dump(rig_t *rig);
/** Open tasks: "g/h1#1 g/h5#2 "; the caller frees. */
char *rig_open_tasks(rig_t *rig);

#endif /* BF_TESTS_SUPPORT_RIG_H */
