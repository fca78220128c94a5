/*
 * lifecycle.c - withdraw, interrupt, suspend, abandon; actors and copies by hand
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/approval_int.h"

/* One kind of change of an instance: which states it takes to which. */
typedef struct change {
    const char *name;
    int32_t from;
    int32_t also_from; /* 0 = none */
    int32_t to;
} change_t;

static const change_t withdraw = {"withdraw", BF_APPROVAL_DOING, BF_APPROVAL_PENDING,
                                  BF_APPROVAL_WITHDRAWN};
static const change_t interrupt = {"interrupt", BF_APPROVAL_DOING, BF_APPROVAL_PENDING,
                                   BF_APPROVAL_INTERRUPTED};
static const change_t resume = {"resume", BF_APPROVAL_INTERRUPTED, 0, BF_APPROVAL_DOING};
static const change_t pending = {"pending", BF_APPROVAL_DOING, 0, BF_APPROVAL_PENDING};
static const change_t activate = {"activate", BF_APPROVAL_PENDING, 0, BF_APPROVAL_DOING};
static const change_t abandon = {"abandon", BF_APPROVAL_DOING, BF_APPROVAL_PENDING,
                                 BF_APPROVAL_ABANDONED};

static bool takes(const change_t *change, int32_t state)
{
    return state == change->from || (change->also_from && state == change->also_from);
}

static void change_case(bf_stage_t *stage, bf_case_t *c, const change_t *change)
{
    bf_stage_set_case_state(stage, c, change->to);
    for (size_t i = 0; i < c->task_count; i++) {
        if (takes(change, c->tasks[i]->row.task_state)) {
            bf_stage_set_task_state(stage, c->tasks[i], change->to);
        }
    }
}

/* The sub-processes of one instance, which have the same initiator. */
static bf_status_t change_below(bf_stage_t *stage, const bf_case_t *c,
                                const change_t *change)
{
    bf_status_t rc = BF_OK;
    size_t cursor = 0;
    const bf_process_row_t *row;
    while (rc == BF_OK && c->row.operator_id &&
           (row = bf_ledger_next_by_text(stage->ledger, BF_LEDGER_BY_PROCESS_OPERATOR,
                                         c->row.operator_id, &cursor))) {
        bf_case_t *child;
        if (row->parent_id == c->row.id && takes(change, row->state)) {
            rc = bf_stage_case(stage, row->id, &child);
            if (rc == BF_OK) {
                change_case(stage, child, change);
            }
        }
    }
    return rc;
}

/* All sub-processes.  New cases come first in the list: go on until a round finds none.
 */
static bf_status_t change_children(bf_stage_t *stage, const change_t *change)
{
    bf_status_t rc = BF_OK;
    const bf_case_t *seen = NULL;
    while (rc == BF_OK && stage->cases != seen) {
        const bf_case_t *newest = stage->cases;
        for (const bf_case_t *c = newest; rc == BF_OK && c != seen; c = c->next) {
            rc = change_below(stage, c, change);
        }
        seen = newest;
    }
    return rc;
}

bf_status_t bf_abandon_children(bf_stage_t *stage, const bf_case_t *c,
                                const char *node_id)
{
    bf_status_t rc = BF_OK;
    size_t cursor = 0;
    const bf_process_row_t *row;
    while (rc == BF_OK && c->row.operator_id &&
           (row = bf_ledger_next_by_text(stage->ledger, BF_LEDGER_BY_PROCESS_OPERATOR,
                                         c->row.operator_id, &cursor))) {
        bf_case_t *child;
        if (row->parent_id == c->row.id && takes(&abandon, row->state) &&
            row->parent_node_name && !strcmp(row->parent_node_name, node_id)) {
            rc = bf_stage_case(stage, row->id, &child);
            if (rc == BF_OK) {
                change_case(stage, child, &abandon);
                rc = change_children(stage, &abandon);
            }
        }
    }
    return rc;
}

static bf_status_t change_checked(bf_stage_t *stage, bf_case_t *c, const change_t *change)
{
    if (!takes(change, c->row.state)) {
        return bf_err_set(stage->err, BF_E_REJECTED,
                          "instance %lld: its state is %d, %s needs %d",
                          (long long)c->row.id, c->row.state, change->name, change->from);
    }
    change_case(stage, c, change);
    return change_children(stage, change);
}

static bf_status_t run(bf_approval_t *approval, int64_t instance_id,
                       const char *operator_id, const change_t *change, bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_stage_begin(&stage, approval, operator_id, err);
    bf_status_t rc = bf_stage_case(&stage, instance_id, &c);
    if (rc == BF_OK && change == &withdraw && operator_id &&
        !bf_approval_is_system(operator_id) &&
        (!c->row.operator_id || strcmp(c->row.operator_id, operator_id) != 0)) {
        rc = bf_err_set(err, BF_E_REJECTED,
                        "instance %lld: only its initiator %s may withdraw it, not %s",
                        (long long)instance_id,
                        c->row.operator_id ? c->row.operator_id : "", operator_id);
    }
    if (rc == BF_OK) {
        rc = change_checked(&stage, c, change);
    }
    return bf_stage_end(&stage, rc);
}

bf_status_t bf_approval_withdraw(bf_approval_t *approval, int64_t instance_id,
                                 const char *operator_id, bf_err_t *err)
{
    return run(approval, instance_id, operator_id, &withdraw, err);
}

bf_status_t bf_approval_interrupt(bf_approval_t *approval, int64_t instance_id,
                                  const char *operator_id, bf_err_t *err)
{
    return run(approval, instance_id, operator_id, &interrupt, err);
}

bf_status_t bf_approval_resume(bf_approval_t *approval, int64_t instance_id,
                               const char *operator_id, bf_err_t *err)
{
    return run(approval, instance_id, operator_id, &resume, err);
}

bf_status_t bf_approval_pending(bf_approval_t *approval, int64_t instance_id,
                                const char *operator_id, bf_err_t *err)
{
    return run(approval, instance_id, operator_id, &pending, err);
}

bf_status_t bf_approval_activate(bf_approval_t *approval, int64_t instance_id,
                                 const char *operator_id, bf_err_t *err)
{
    return run(approval, instance_id, operator_id, &activate, err);
}

bf_status_t bf_approval_abandon(bf_approval_t *approval, int64_t task_id,
                                const char *operator_id, bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_staged_task_t *task = NULL;
    bf_stage_begin(&stage, approval, operator_id, err);
    bf_status_t rc = bf_stage_task(&stage, task_id, &c, &task);
    if (rc == BF_OK && !takes(&abandon, task->row.task_state)) {
        rc = bf_err_set(err, BF_E_REJECTED,
                        "20010003 没有进行中的流程任务: task %lld (%s) has the state %d",
                        (long long)task_id, task->row.task_name, task->row.task_state);
    }
    if (rc == BF_OK) {
        rc = change_checked(&stage, c, &abandon);
    }
    return bf_stage_end(&stage, rc);
}

/* --- actors --- */

static bf_status_t change_actors(bf_approval_t *approval,
                                 const bf_approval_actors_t *actors, bool remove,
                                 bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_staged_task_t *task = NULL;
    bf_approval_names_t names = {0};
    bf_stage_begin(&stage, approval, actors->operator_id, err);
    bf_status_t rc = bf_stage_task(&stage, actors->task_id, &c, &task);
    for (size_t i = 0; rc == BF_OK && i < actors->count; i++) {
        bf_value_t id = bf_value_cstr(actors->actors[i]);
        rc = bf_approval_names_add_value(&stage.arena, &names, &id) == BF_OK
                 ? BF_OK
                 : bf_stage_nomem(&stage);
    }
    if (rc == BF_OK && !names.count) {
        rc = bf_err_set(err, BF_E_INVALID, "task %lld: nobody is given; name the actors",
                        (long long)actors->task_id);
    }
    if (rc == BF_OK && task->row.task_state != BF_APPROVAL_DOING &&
        task->row.task_state != BF_APPROVAL_PENDING) {
        rc = bf_err_set(
            err, BF_E_REJECTED,
            "20010003 没有进行中的流程任务: task %lld (%s) has the state %d, its "
            "actors stay as they are",
            (long long)task->row.id, task->row.task_name, task->row.task_state);
    }
    for (size_t i = 0; rc == BF_OK && i < names.count; i++) {
        rc = remove ? bf_stage_remove_actor(&stage, task, names.items[i])
                    : bf_stage_add_actor(&stage, task, names.items[i]);
    }
    return bf_stage_end(&stage, rc);
}

bf_status_t bf_approval_add_actors(bf_approval_t *approval,
                                   const bf_approval_actors_t *actors, bf_err_t *err)
{
    return change_actors(approval, actors, false, err);
}

bf_status_t bf_approval_transfer(bf_approval_t *approval,
                                 const bf_approval_actors_t *actors, bf_err_t *err)
{
    return change_actors(approval, actors, false, err);
}

bf_status_t bf_approval_remove_actors(bf_approval_t *approval,
                                      const bf_approval_actors_t *actors, bf_err_t *err)
{
    return change_actors(approval, actors, true, err);
}

/* --- copies, candidates --- */

bf_status_t bf_approval_cc(bf_approval_t *approval, int64_t instance_id,
                           const char *const *actors, size_t count,
                           const char *operator_id, bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_approval_names_t names = {0};
    bf_stage_begin(&stage, approval, operator_id, err);
    bf_status_t rc = bf_stage_case(&stage, instance_id, &c);
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        bf_value_t id = bf_value_cstr(actors[i]);
        rc = bf_approval_names_add_value(&stage.arena, &names, &id) == BF_OK
                 ? BF_OK
                 : bf_stage_nomem(&stage);
    }
    if (rc == BF_OK && !names.count) {
        rc = bf_err_set(err, BF_E_INVALID,
                        "instance %lld: nobody is given; name who gets a copy",
                        (long long)instance_id);
    }
    if (rc == BF_OK) {
        rc = bf_stage_cc(&stage, c, &names);
    }
    return bf_stage_end(&stage, rc);
}

bf_status_t bf_approval_resolve(bf_approval_t *approval, int64_t instance_id,
                                const bf_flow_node_t *node, const char *operator_id,
                                bf_arena_t *arena, bf_approval_names_t *ret,
                                bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_approval_names_t names = {0};
    bf_stage_begin(&stage, approval, operator_id, err);
    bf_status_t rc = bf_stage_case(&stage, instance_id, &c);
    if (rc == BF_OK) {
        rc = bf_stage_resolve(&stage, c, node, &names);
    }
    for (size_t i = 0; rc == BF_OK && i < names.count; i++) {
        rc = bf_approval_names_add(arena, ret, names.items[i], strlen(names.items[i])) ==
                     BF_OK
                 ? BF_OK
                 : bf_stage_nomem(&stage);
    }
    bf_stage_fini(&stage);
    return rc;
}
