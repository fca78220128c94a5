/*
 * stage.c - the rows of an operation: loaded, changed, handed over together
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/id.h"
#include "lib/approval/approval_int.h"

bf_status_t bf_stage_nomem(const bf_stage_t *stage)
{
    if (stage->arena.max_bytes && stage->arena.used_bytes >= stage->arena.max_bytes / 2) {
        return bf_err_set(stage->err, BF_E_LIMIT,
                          "the operation needs over %zu bytes; split it or raise "
                          "max_arena_bytes",
                          stage->arena.max_bytes);
    }
    return bf_err_nomem(stage->err, "an approval operation");
}

static const char *user(const bf_stage_t *stage)
{
    return *stage->operator_id ? stage->operator_id : NULL;
}

static void created(const bf_stage_t *stage, bf_audit_t *audit)
{
    *audit = (bf_audit_t){stage->now_ms, user(stage), stage->now_ms, user(stage)};
}

static void updated(const bf_stage_t *stage, bf_audit_t *audit)
{
    audit->update_time = stage->now_ms;
    audit->update_user = user(stage);
}

static bf_status_t count_row(bf_stage_t *stage)
{
    if (++stage->rows > stage->limits.max_rows) {
        return bf_err_set(stage->err, BF_E_LIMIT,
                          "the operation writes over %u rows; look for a loop in the "
                          "definition or raise max_rows",
                          stage->limits.max_rows);
    }
    return BF_OK;
}

/* --- instances --- */

static bf_status_t add_task(bf_stage_t *stage, bf_case_t *c, bf_staged_task_t *task)
{
    if (c->task_count == c->task_room) {
        bf_staged_task_t **tasks =
            bf_array_grow_in(&stage->arena, c->tasks, &c->task_room, sizeof(*tasks), 16);
        if (!tasks) {
            return bf_stage_nomem(stage);
        }
        c->tasks = tasks;
    }
    c->tasks[c->task_count++] = task;
    return BF_OK;
}

static bf_status_t load_tasks(bf_stage_t *stage, bf_case_t *c)
{
    size_t cursor = 0;
    const bf_task_row_t *row;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK &&
           (row = bf_ledger_next_by_id(stage->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                       c->row.id, &cursor))) {
        bf_staged_task_t *task = bf_arena_calloc(&stage->arena, 1, sizeof(*task));
        if (!task) {
            return bf_stage_nomem(stage);
        }
        task->row = *row;
        rc = add_task(stage, c, task);
    }
    return rc;
}

static bf_status_t new_case(bf_stage_t *stage, bf_case_t **ret)
{
    bf_case_t *c = bf_arena_calloc(&stage->arena, 1, sizeof(*c));
    if (!c) {
        return bf_stage_nomem(stage);
    }
    c->vars = bf_vars_new();
    if (!c->vars) {
        return bf_err_nomem(stage->err, "an approval operation");
    }
    c->next = stage->cases;
    stage->cases = c;
    *ret = c;
    return BF_OK;
}

static bf_status_t load_case(bf_stage_t *stage, bf_case_t *c)
{
    bf_value_t vars;
    bf_status_t rc =
        bf_ledger_read_json(&stage->arena, c->row.variable, &vars, stage->err);
    if (rc != BF_OK) {
        bf_err_prefix(stage->err, "variables of instance %lld: ", (long long)c->row.id);
        return rc;
    }
    if (bf_vars_set_all(c->vars, &vars) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    c->define = bf_ledger_find(stage->ledger, BF_LEDGER_DEFINE, c->row.process_define_id);
    rc =
        bf_approval_flow(stage->approval, c->row.process_define_id, &c->flow, stage->err);
    return rc == BF_OK ? load_tasks(stage, c) : rc;
}

bf_status_t bf_stage_case(bf_stage_t *stage, int64_t instance_id, bf_case_t **ret)
{
    for (bf_case_t *c = stage->cases; c; c = c->next) {
        if (c->row.id == instance_id) {
            *ret = c;
            return BF_OK;
        }
    }
    const bf_process_row_t *row =
        bf_ledger_find(stage->ledger, BF_LEDGER_PROCESS, instance_id);
    if (!row) {
        return bf_err_set(stage->err, BF_E_NOT_FOUND,
                          "流程实例不存在: there is no instance %lld; check the ID",
                          (long long)instance_id);
    }
    bf_case_t *c;
    bf_status_t rc = new_case(stage, &c);
    if (rc == BF_OK) {
        c->row = *row;
        rc = load_case(stage, c);
    }
    if (rc == BF_OK) {
        *ret = c;
    }
    return rc;
}

bf_status_t bf_stage_new_case(bf_stage_t *stage, const bf_define_row_t *define,
                              const char *operator_id, bf_case_t **ret)
{
    bf_case_t *c = NULL;
    bf_status_t rc = count_row(stage);
    if (rc == BF_OK) {
        rc = new_case(stage, &c);
    }
    if (rc != BF_OK) {
        return rc;
    }
    c->row = (bf_process_row_t){.id = bf_ledger_make_id(stage->ledger),
                                .process_define_id = define->id,
                                .state = BF_APPROVAL_DOING,
                                .operator_id = operator_id};
    created(stage, &c->row.audit);
    c->define = define;
    c->is_new = true;
    *ret = c;
    return bf_approval_flow(stage->approval, define->id, &c->flow, stage->err);
}

bf_status_t bf_case_set(bf_stage_t *stage, bf_case_t *c, const char *name,
                        const bf_value_t *value)
{
    c->is_changed = true;
    return bf_vars_set_str(c->vars, name, value) == BF_OK ? BF_OK : bf_stage_nomem(stage);
}

bf_status_t bf_case_set_all(bf_stage_t *stage, bf_case_t *c, const bf_value_t *map)
{
    if (bf_value_is_null(map)) {
        return BF_OK;
    }
    c->is_changed = true;
    bf_status_t rc = bf_vars_set_all(c->vars, map);
    if (rc == BF_E_INVALID) {
        return bf_err_set(stage->err, rc, "args: is a %s, give an object with variables",
                          bf_value_type_name(map->type));
    }
    return rc == BF_OK ? BF_OK : bf_stage_nomem(stage);
}

void bf_stage_set_case_state(bf_stage_t *stage, bf_case_t *c, int32_t state)
{
    c->row.state = state;
    c->is_changed = true;
    updated(stage, &c->row.audit);
}

/* --- tasks --- */

bf_staged_task_t *bf_case_find(const bf_case_t *c, int64_t task_id)
{
    size_t low = 0;
    size_t high = c->task_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->tasks[middle]->row.id < task_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < c->task_count && c->tasks[low]->row.id == task_id ? c->tasks[low] : NULL;
}

bf_status_t bf_stage_task(bf_stage_t *stage, int64_t task_id, bf_case_t **ret_case,
                          bf_staged_task_t **ret)
{
    const bf_task_row_t *row = bf_ledger_find(stage->ledger, BF_LEDGER_TASK, task_id);
    if (!row) {
        return bf_err_set(
            stage->err, BF_E_NOT_FOUND,
            "20010003 没有进行中的流程任务: there is no task %lld; check the ID",
            (long long)task_id);
    }
    bf_status_t rc = bf_stage_case(stage, row->process_instance_id, ret_case);
    if (rc == BF_OK) {
        *ret = bf_case_find(*ret_case, task_id);
    }
    return rc;
}

bf_status_t bf_stage_new_task(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                              int64_t parent_id, bf_staged_task_t **ret)
{
    bf_status_t rc = count_row(stage);
    bf_staged_task_t *task = NULL;
    if (rc == BF_OK) {
        task = bf_arena_calloc(&stage->arena, 1, sizeof(*task));
        rc = task ? add_task(stage, c, task) : bf_stage_nomem(stage);
    }
    if (rc != BF_OK) {
        return rc;
    }
    task->row = (bf_task_row_t){.id = bf_ledger_make_id(stage->ledger),
                                .process_instance_id = c->row.id,
                                .task_name = node->id,
                                .display_name = node->display_name,
                                .task_type = node->task_type,
                                .perform_type = node->is_countersign ? 1 : 0,
                                .task_state = BF_APPROVAL_DOING,
                                .form_key = node->form,
                                .task_parent_id = parent_id};
    created(stage, &task->row.audit);
    task->variables = (bf_value_t){.type = BF_VALUE_MAP};
    task->has_variables = true;
    task->has_actors = true;
    task->is_new = true;
    *ret = task;
    return BF_OK;
}

void bf_stage_set_task_state(bf_stage_t *stage, bf_staged_task_t *task, int32_t state)
{
    task->row.task_state = state;
    task->is_changed = true;
    if (state == BF_APPROVAL_FINISHED) {
        task->row.operator_id = stage->operator_id;
        task->row.finish_time = stage->now_ms;
    }
    updated(stage, &task->row.audit);
}

bf_status_t bf_stage_task_vars(bf_stage_t *stage, bf_staged_task_t *task)
{
    if (task->has_variables) {
        return BF_OK;
    }
    bf_status_t rc = bf_ledger_read_json(&stage->arena, task->row.variable,
                                         &task->variables, stage->err);
    if (rc != BF_OK) {
        bf_err_prefix(stage->err, "variables of task %lld: ", (long long)task->row.id);
        return rc;
    }
    task->has_variables = true;
    return BF_OK;
}

bf_status_t bf_stage_merge(bf_stage_t *stage, bf_staged_task_t *task,
                           const bf_value_t *over)
{
    bf_status_t rc = bf_stage_task_vars(stage, task);
    if (rc != BF_OK || bf_value_is_null(over)) {
        return rc;
    }
    bf_vars_t *vars = bf_vars_new();
    bf_value_t map;
    rc = vars ? bf_vars_set_all(vars, &task->variables) : BF_E_NOMEM;
    if (rc == BF_OK) {
        rc = bf_vars_set_all(vars, over);
    }
    if (rc == BF_OK) {
        rc = bf_vars_as_map(vars, &stage->arena, &map);
    }
    if (rc == BF_OK) {
        rc = bf_value_copy(&stage->arena, &map, &task->variables);
    }
    bf_vars_free(vars);
    task->is_changed = true;
    return rc == BF_OK ? BF_OK : bf_stage_nomem(stage);
}

/* --- actors and copies --- */

static bf_status_t add_change(bf_stage_t *stage, bf_ledger_verb_t verb,
                              bf_ledger_table_t table, const void *row)
{
    if (stage->change_count == stage->change_room) {
        bf_ledger_change_t *changes = bf_array_grow_in(
            &stage->arena, stage->changes, &stage->change_room, sizeof(*changes), 32);
        if (!changes) {
            return bf_stage_nomem(stage);
        }
        stage->changes = changes;
    }
    stage->changes[stage->change_count++] = (bf_ledger_change_t){verb, table, row};
    return BF_OK;
}

bf_status_t bf_stage_actors(bf_stage_t *stage, bf_staged_task_t *task)
{
    size_t cursor = 0;
    const bf_actor_row_t *row;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && !task->has_actors &&
           (row = bf_ledger_next_by_id(stage->ledger, BF_LEDGER_BY_ACTOR_TASK,
                                       task->row.id, &cursor))) {
        if (row->actor_id) {
            rc = bf_approval_names_add(&stage->arena, &task->actors, row->actor_id,
                                       strlen(row->actor_id));
        }
    }
    if (rc != BF_OK) {
        return bf_stage_nomem(stage);
    }
    task->has_actors = true;
    return BF_OK;
}

static bool has_name(const bf_approval_names_t *names, const char *id)
{
    for (size_t i = 0; i < names->count; i++) {
        if (!strcmp(names->items[i], id)) {
            return true;
        }
    }
    return false;
}

static bf_status_t check_user(bf_stage_t *stage, const char *id)
{
    return strlen(id) <= BF_ID_MAX_BYTES
               ? BF_OK
               : bf_err_set(
                     stage->err, BF_E_LIMIT,
                     "the ID of a user is over 64 characters: %.80s...; check what "
                     "names the users",
                     id);
}

bf_status_t bf_stage_add_actor(bf_stage_t *stage, bf_staged_task_t *task,
                               const char *actor_id)
{
    bf_status_t rc = bf_stage_actors(stage, task);
    if (rc != BF_OK || has_name(&task->actors, actor_id)) {
        return rc;
    }
    if (task->actors.count >= stage->limits.max_actors) {
        return bf_err_set(stage->err, BF_E_LIMIT,
                          "task %s: over %u actors; name a role's head instead, or raise "
                          "max_actors",
                          task->row.task_name, stage->limits.max_actors);
    }
    bf_actor_row_t *row = bf_arena_calloc(&stage->arena, 1, sizeof(*row));
    if (!row || bf_approval_names_add(&stage->arena, &task->actors, actor_id,
                                      strlen(actor_id)) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    *row = (bf_actor_row_t){.id = bf_ledger_make_id(stage->ledger),
                            .process_task_id = task->row.id,
                            .actor_id = task->actors.items[task->actors.count - 1],
                            .create_time = stage->now_ms,
                            .create_user = user(stage)};
    rc = check_user(stage, actor_id);
    if (rc == BF_OK) {
        rc = count_row(stage);
    }
    return rc == BF_OK ? add_change(stage, BF_LEDGER_INSERT, BF_LEDGER_ACTOR, row) : rc;
}

bf_status_t bf_stage_remove_actor(bf_stage_t *stage, bf_staged_task_t *task,
                                  const char *actor_id)
{
    size_t cursor = 0;
    const bf_actor_row_t *row;
    while ((row = bf_ledger_next_by_id(stage->ledger, BF_LEDGER_BY_ACTOR_TASK,
                                       task->row.id, &cursor))) {
        if (row->actor_id && !strcmp(row->actor_id, actor_id)) {
            bf_status_t rc = count_row(stage);
            return rc == BF_OK ? add_change(stage, BF_LEDGER_DELETE, BF_LEDGER_ACTOR, row)
                               : rc;
        }
    }
    return BF_OK;
}

static bool has_copy(const bf_stage_t *stage, const bf_case_t *c, const char *actor_id)
{
    size_t cursor = 0;
    const bf_cc_row_t *row;
    while ((row = bf_ledger_next_by_id(stage->ledger, BF_LEDGER_BY_CC_PROCESS, c->row.id,
                                       &cursor))) {
        if (row->actor_id && !strcmp(row->actor_id, actor_id)) {
            return true;
        }
    }
    for (size_t i = 0; i < stage->change_count; i++) {
        row = stage->changes[i].row;
        if (stage->changes[i].table == BF_LEDGER_CC &&
            row->process_instance_id == c->row.id && !strcmp(row->actor_id, actor_id)) {
            return true;
        }
    }
    return false;
}

bf_status_t bf_stage_cc(bf_stage_t *stage, bf_case_t *c,
                        const bf_approval_names_t *actors)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < actors->count; i++) {
        if (has_copy(stage, c, actors->items[i])) {
            continue;
        }
        bf_cc_row_t *row = bf_arena_calloc(&stage->arena, 1, sizeof(*row));
        if (!row) {
            return bf_stage_nomem(stage);
        }
        row->id = bf_ledger_make_id(stage->ledger);
        row->process_instance_id = c->row.id;
        row->actor_id = actors->items[i];
        created(stage, &row->audit);
        rc = check_user(stage, row->actor_id);
        if (rc == BF_OK) {
            rc = count_row(stage);
        }
        if (rc == BF_OK) {
            rc = add_change(stage, BF_LEDGER_INSERT, BF_LEDGER_CC, row);
        }
    }
    return rc;
}

/* --- handing over --- */

static bf_status_t write_text(bf_stage_t *stage, bf_str_t *str, const char *of,
                              int64_t id, const char **ret)
{
    bf_status_t rc = bf_str_status(str, "variables", stage->err);
    if (rc == BF_E_LIMIT) {
        bf_err_clear(stage->err);
        return bf_err_set(stage->err, rc,
                          "variables of %s %lld: over %zu bytes as JSON; keep large data "
                          "elsewhere, or raise max_variable_bytes",
                          of, (long long)id, stage->limits.max_variable_bytes);
    }
    if (rc == BF_OK) {
        *ret = bf_arena_strndup(&stage->arena, bf_str_peek(str), str->len);
        rc = *ret ? BF_OK : bf_stage_nomem(stage);
    }
    return rc;
}

static bf_status_t write_case(bf_stage_t *stage, bf_case_t *c)
{
    const char *name = NULL;
    bf_status_t rc = bf_vars_check_storable(c->vars, &name);
    if (rc != BF_OK) {
        return bf_err_set(stage->err, rc,
                          "variable %s of instance %lld: cannot be stored; give a finite "
                          "number or less depth",
                          name ? name : "", (long long)c->row.id);
    }
    bf_str_t str;
    bf_str_init(&str, stage->limits.max_variable_bytes);
    bf_vars_write_json(c->vars, &str);
    rc = write_text(stage, &str, "instance", c->row.id, &c->row.variable);
    bf_str_fini(&str);
    bf_process_row_t *row = rc == BF_OK ? &c->row : NULL;
    return row ? add_change(stage, c->is_new ? BF_LEDGER_INSERT : BF_LEDGER_UPDATE,
                            BF_LEDGER_PROCESS, row)
               : rc;
}

static bf_status_t write_task(bf_stage_t *stage, bf_staged_task_t *task)
{
    bf_status_t rc = BF_OK;
    if (task->has_variables) {
        bf_str_t str;
        bf_str_init(&str, stage->limits.max_variable_bytes);
        bf_json_write(&str, &task->variables);
        rc = write_text(stage, &str, "task", task->row.id, &task->row.variable);
        bf_str_fini(&str);
    }
    if (rc == BF_OK && !task->is_new) {
        rc = count_row(stage);
    }
    return rc == BF_OK
               ? add_change(stage, task->is_new ? BF_LEDGER_INSERT : BF_LEDGER_UPDATE,
                            BF_LEDGER_TASK, &task->row)
               : rc;
}

bf_status_t bf_stage_commit(bf_stage_t *stage)
{
    bf_status_t rc = BF_OK;
    for (bf_case_t *c = stage->cases; rc == BF_OK && c; c = c->next) {
        if (c->is_new || c->is_changed) {
            rc = write_case(stage, c);
        }
        for (size_t i = 0; rc == BF_OK && i < c->task_count; i++) {
            if (c->tasks[i]->is_new || c->tasks[i]->is_changed) {
                rc = write_task(stage, c->tasks[i]);
            }
        }
    }
    return rc == BF_OK ? bf_ledger_apply(stage->ledger, stage->changes,
                                         stage->change_count, stage->err)
                       : rc;
}

void bf_stage_fini(bf_stage_t *stage)
{
    for (bf_case_t *c = stage->cases; c; c = c->next) {
        bf_vars_free(c->vars);
    }
    bf_arena_fini(&stage->arena);
    bf_approval_let_go(stage->approval);
}
