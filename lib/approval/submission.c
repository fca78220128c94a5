/*
 * submission.c - somebody does a task: agree, reject, roll back, jump, vote
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/num.h"
#include "lib/approval/approval_int.h"

/* --- fields --- */

/* 1 read-only and 3 hidden; a permission may be a number or its text (rule 32). */
static bool is_locked(const bf_value_t *permission)
{
    if (permission && permission->type == BF_VALUE_INT) {
        return permission->as.integer == 1 || permission->as.integer == 3;
    }
    return permission && permission->type == BF_VALUE_STRING &&
           (!strcmp(permission->as.string, "1") || !strcmp(permission->as.string, "3"));
}

/* Names that the engine keeps its own account under. */
static bool is_own(const bf_flow_node_t *node, const char *key)
{
    static const char *const order[] = {"operatorList_", "loopCounter_",
                                        "nrOfInstances_"};
    bool own = !strcmp(key, VAR_JOINS);
    for (unsigned i = 0; !own && node && node->is_sequential && i < 3; i++) {
        size_t len = strlen(order[i]);
        own = !strncmp(key, order[i], len) && !strcmp(key + len, node->id);
    }
    return own;
}

static bf_status_t is_dropped(bf_stage_t *stage, const bf_flow_node_t *node,
                              const char *key, bool *ret)
{
    *ret = is_own(node, key);
    if (*ret || !node || strncmp(key, "f_", 2) != 0 || node->field.type != BF_VALUE_MAP) {
        return BF_OK;
    }
    const char *name = bf_arena_printf(&stage->arena, "PERMISSION_%s", key);
    const char *bare = bf_arena_printf(&stage->arena, "PERMISSION_%s", key + 2);
    if (!name || !bare) {
        return bf_stage_nomem(stage);
    }
    const bf_value_t *permission = bf_value_get_str(&node->field, name);
    if (bf_value_is_null(permission)) {
        permission = bf_value_get_str(&node->field, bare);
    }
    *ret = is_locked(permission);
    return BF_OK;
}

bf_status_t bf_submit_filter(bf_stage_t *stage, const bf_flow_node_t *node,
                             const bf_value_t *args, bf_value_t *ret)
{
    *ret = (bf_value_t){.type = BF_VALUE_MAP};
    if (bf_value_is_null(args)) {
        return BF_OK;
    }
    if (args->type != BF_VALUE_MAP) {
        return bf_err_set(stage->err, BF_E_INVALID,
                          "args: is a %s, give an object with variables",
                          bf_value_type_name(args->type));
    }
    bf_member_t *members =
        bf_arena_calloc(&stage->arena, args->len + 1U, sizeof(*members));
    bf_status_t rc = BF_OK;
    uint32_t count = 0;
    if (!members) {
        return bf_stage_nomem(stage);
    }
    for (uint32_t i = 0; rc == BF_OK && i < args->len; i++) {
        bool dropped = false;
        rc = is_dropped(stage, node, args->as.members[i].name, &dropped);
        if (rc == BF_OK && !dropped) {
            members[count++] = args->as.members[i];
        }
    }
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = count, .as.members = members};
    return rc;
}

/* --- going on --- */

static bf_status_t push_to(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                           const bf_staged_task_t *from,
                           const bf_approval_names_t *actors)
{
    bf_token_t token = {.of = c, .node = node, .from = from->row.id, .actors = actors};
    return bf_route_push(stage, &token);
}

static bf_status_t push_to_initiator(bf_stage_t *stage, bf_case_t *c,
                                     const bf_flow_node_t *node,
                                     const bf_staged_task_t *from)
{
    bf_approval_names_t *names = bf_arena_calloc(&stage->arena, 1, sizeof(*names));
    const char *id = c->row.operator_id ? c->row.operator_id : "";
    if (!names || bf_approval_names_add(&stage->arena, names, id, strlen(id)) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    return push_to(stage, c, node, from, names);
}

static bf_status_t jump(bf_stage_t *stage, bf_case_t *c, const bf_staged_task_t *task,
                        const char *task_name)
{
    const bf_flow_node_t *node = bf_flow_find(c->flow, task_name);
    if (!node) {
        return bf_err_set(
            stage->err, BF_E_NOT_FOUND,
            "根据节点名称[%s]无法找到节点模型: definition %s has no node of that ID; "
            "give the ID of a node as taskName",
            task_name, c->flow->name);
    }
    bf_status_t rc = bf_route_void(stage, c, NULL);
    if (rc != BF_OK) {
        return rc;
    }
    return node == c->flow->first_task ? push_to_initiator(stage, c, node, task)
                                       : push_to(stage, c, node, task, NULL);
}

static bf_status_t to_initiator(bf_stage_t *stage, bf_case_t *c,
                                const bf_staged_task_t *task)
{
    if (!c->flow->first_task) {
        return bf_err_set(stage->err, BF_E_REJECTED,
                          "definition %s: there is no first task to go back to",
                          c->flow->name);
    }
    bf_status_t rc = bf_route_void(stage, c, NULL);
    return rc == BF_OK ? push_to_initiator(stage, c, c->flow->first_task, task) : rc;
}

/* A row of a custom node or a sub-process, which is on nobody's desk. */
static bool is_record(const bf_case_t *c, const bf_staged_task_t *task)
{
    const bf_flow_node_t *node = bf_flow_find(c->flow, task->row.task_name);
    return task->row.task_type == 2 && node && node->type != BF_FLOW_TASK;
}

/* The row that led here, which somebody did: records of the engine are passed over. */
static bf_staged_task_t *step_before(const bf_case_t *c, const bf_staged_task_t *task)
{
    bf_staged_task_t *before = bf_case_find(c, task->row.task_parent_id);
    while (before && is_record(c, before)) {
        before = bf_case_find(c, before->row.task_parent_id);
    }
    return before;
}

/* A sequential countersign goes on from the member that it went back to. */
static bf_status_t copy_order(bf_stage_t *stage, const bf_flow_node_t *node,
                              bf_staged_task_t *from, bf_staged_task_t *to)
{
    static const char *const names[] = {"operatorList", "loopCounter", "nrOfInstances"};
    bf_member_t *vars = bf_arena_calloc(&stage->arena, 3, sizeof(*vars));
    if (!vars) {
        return bf_stage_nomem(stage);
    }
    bf_status_t rc = bf_stage_task_vars(stage, from);
    uint32_t count = 0;
    for (unsigned i = 0; rc == BF_OK && i < 3; i++) {
        const char *name = bf_arena_printf(&stage->arena, "%s_%s", names[i], node->id);
        const bf_value_t *value = name ? bf_value_get_str(&from->variables, name) : NULL;
        if (value) {
            vars[count++] = (bf_member_t){name, (uint32_t)strlen(name), *value};
        }
        rc = name ? BF_OK : bf_stage_nomem(stage);
    }
    if (rc == BF_OK) {
        to->variables =
            (bf_value_t){.type = BF_VALUE_MAP, .len = count, .as.members = vars};
    }
    return rc;
}

static bf_status_t add_doer(bf_stage_t *stage, bf_staged_task_t *before,
                            bf_approval_names_t *names)
{
    const char *id = before->row.operator_id;
    if (id && !bf_approval_is_system(id)) {
        return bf_approval_names_add(&stage->arena, names, id, strlen(id)) == BF_OK
                   ? BF_OK
                   : bf_stage_nomem(stage);
    }
    bf_status_t rc = bf_stage_actors(stage, before);
    *names = before->actors;
    return rc;
}

/* A new row for the step before, for who did it (rule 23). */
static bf_status_t roll_back(bf_stage_t *stage, bf_case_t *c,
                             const bf_staged_task_t *task)
{
    bf_staged_task_t *before = step_before(c, task);
    const bf_flow_node_t *node =
        before ? bf_flow_find(c->flow, before->row.task_name) : NULL;
    bf_approval_names_t names = {0};
    bf_staged_task_t *again;
    if (!node) {
        return bf_err_set(
            stage->err, BF_E_REJECTED,
            "task %s: there is no step before it to roll back to; reject it "
            "or jump",
            task->row.task_name);
    }
    bf_status_t rc = bf_route_void(stage, c, before);
    if (rc == BF_OK) {
        rc = add_doer(stage, before, &names);
    }
    if (rc == BF_OK) {
        rc = bf_stage_surrogates(stage, c, &names);
    }
    if (rc == BF_OK) {
        rc = bf_stage_new_task(stage, c, node, task->row.id, &again);
    }
    if (rc == BF_OK && node->is_countersign && node->is_sequential) {
        rc = copy_order(stage, node, before, again);
    }
    for (size_t i = 0; rc == BF_OK && i < names.count; i++) {
        rc = bf_stage_add_actor(stage, again, names.items[i]);
    }
    return rc;
}

static bf_status_t agree(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                         bf_staged_task_t *task)
{
    bool left = true;
    bf_status_t rc = BF_OK;
    if (!node) {
        return bf_err_set(stage->err, BF_E_NOT_FOUND,
                          "definition %s has no node %s any longer; jump to another",
                          c->flow->name, task->row.task_name);
    }
    if (stage->submit_type == BF_SUBMIT_DISAGREE) {
        bf_value_t one = bf_value_int(1);
        rc = bf_case_set(stage, c, VAR_DISAGREE, &one);
    }
    if (rc == BF_OK) {
        rc = bf_countersign_vote(stage, c, node, task, &left);
    }
    return rc == BF_OK && left ? bf_route_leave(stage, c, node, task->row.id) : rc;
}

static bf_status_t go_on(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                         bf_staged_task_t *task, const char *task_name)
{
    switch (stage->submit_type) {
    case BF_SUBMIT_REJECT:
        return bf_route_finish(stage, c);
    case BF_SUBMIT_ROLLBACK:
        return roll_back(stage, c, task);
    case BF_SUBMIT_JUMP:
        return task_name && *task_name ? jump(stage, c, task, task_name)
                                       : roll_back(stage, c, task);
    case BF_SUBMIT_ROLLBACK_TO_OPERATOR:
        return to_initiator(stage, c, task);
    case BF_SUBMIT_APPLY:
    case BF_SUBMIT_AGREE:
    case BF_SUBMIT_RE_APPLY:
    case BF_SUBMIT_DISAGREE:
        return agree(stage, c, node, task);
    }
    return bf_err_set(stage->err, BF_E_INVALID,
                      "submitType %d is not known; give 0-6 or 20",
                      (int)stage->submit_type);
}

/* --- a task --- */

static bf_status_t check_may(bf_stage_t *stage, bf_staged_task_t *task)
{
    if (task->row.task_state != BF_APPROVAL_DOING) {
        return bf_err_set(
            stage->err, BF_E_REJECTED,
            "20010003 没有进行中的流程任务: task %lld (%s) has the state %d; look "
            "for the open one",
            (long long)task->row.id, task->row.task_name, task->row.task_state);
    }
    bf_status_t rc = bf_stage_actors(stage, task);
    bool may = bf_approval_is_system(stage->operator_id);
    for (size_t i = 0; !may && i < task->actors.count; i++) {
        may = !strcmp(task->actors.items[i], stage->operator_id);
    }
    if (rc == BF_OK && !may) {
        return bf_err_set(
            stage->err, BF_E_REJECTED,
            "20010004 当前参与者不能执行该流程任务: %s is not among the actors of "
            "task %lld (%s); add him first",
            stage->operator_id, (long long)task->row.id, task->row.task_name);
    }
    return rc;
}

static bf_status_t copies_for(bf_stage_t *stage, bf_case_t *c, const bf_value_t *args,
                              const char *name)
{
    bf_approval_names_t names = {0};
    if (bf_approval_names_add_value(&stage->arena, &names,
                                    bf_value_get_str(args, name)) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    return bf_stage_cc(stage, c, &names);
}

bf_status_t bf_submit_task(bf_stage_t *stage, bf_case_t *c, bf_staged_task_t *task,
                           const char *task_name, const bf_value_t *args)
{
    const bf_flow_node_t *node = bf_flow_find(c->flow, task->row.task_name);
    bf_value_t counted;
    bf_member_t submit = {"submitType", 10, bf_value_int((int64_t)stage->submit_type)};
    bf_value_t submit_map = {.type = BF_VALUE_MAP, .len = 1, .as.members = &submit};
    bf_status_t rc = check_may(stage, task);
    if (rc == BF_OK) {
        rc = bf_submit_filter(stage, node, args, &counted);
    }
    if (rc == BF_OK) {
        rc = bf_case_set_all(stage, c, &counted);
    }
    if (rc == BF_OK) {
        rc = bf_start_business_no(stage, c, &counted);
    }
    if (rc == BF_OK) {
        rc = bf_stage_merge(stage, task, &counted);
    }
    if (rc == BF_OK) {
        rc = bf_stage_merge(stage, task, &submit_map);
    }
    if (rc == BF_OK) {
        rc = copies_for(stage, c, &counted, "tf_ccActors");
    }
    if (rc == BF_OK && task->row.task_type == 2) {
        rc = bf_abandon_children(stage, c, task->row.task_name);
    }
    if (rc == BF_OK) {
        bf_stage_set_task_state(stage, task, BF_APPROVAL_FINISHED);
        rc = go_on(stage, c, node, task, task_name);
    }
    return rc == BF_OK ? bf_route_run(stage) : rc;
}

bf_status_t bf_approval_execute(bf_approval_t *approval,
                                const bf_approval_execute_t *execute, bf_err_t *err)
{
    bf_stage_t stage;
    bf_case_t *c;
    bf_staged_task_t *task = NULL;
    if (!execute->operator_id || !*execute->operator_id) {
        return bf_err_set(err, BF_E_INVALID, "operator: is empty; say who does the task");
    }
    bf_stage_begin(&stage, approval, execute->operator_id, err);
    stage.submit_type = execute->submit_type;
    bf_status_t rc = bf_stage_task(&stage, execute->task_id, &c, &task);
    if (rc == BF_OK) {
        rc = bf_submit_task(&stage, c, task, execute->task_name, execute->args);
    }
    return bf_stage_end(&stage, rc);
}

/* --- the form that starts an application --- */

/* f_nextNodeOperator of the form is tf_nextNodeOperator of its task (rule 36). */
static bf_status_t form_args(bf_stage_t *stage, const bf_value_t *args, bf_value_t *ret)
{
    const bf_value_t *next = bf_value_get_str(args, "f_nextNodeOperator");
    bf_status_t rc = bf_submit_filter(stage, NULL, args, ret);
    if (rc != BF_OK || bf_value_is_null(next) ||
        bf_value_get_str(args, VAR_NEXT_OPERATOR)) {
        return rc;
    }
    bf_member_t *members =
        bf_arena_calloc(&stage->arena, ret->len + 1U, sizeof(*members));
    if (!members) {
        return bf_stage_nomem(stage);
    }
    memcpy(members, ret->as.members, ret->len * sizeof(*members));
    members[ret->len] =
        (bf_member_t){VAR_NEXT_OPERATOR, (uint32_t)strlen(VAR_NEXT_OPERATOR), *next};
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = ret->len + 1, .as.members = members};
    return BF_OK;
}

static bool is_actor(const bf_staged_task_t *task, const char *id)
{
    for (size_t i = 0; i < task->actors.count; i++) {
        if (!strcmp(task->actors.items[i], id)) {
            return true;
        }
    }
    return false;
}

bf_status_t bf_submit_form(bf_stage_t *stage, bf_case_t *c, const bf_value_t *args)
{
    bf_value_t counted;
    size_t count = c->task_count;
    size_t open = 0;
    bf_status_t rc = form_args(stage, args, &counted);
    for (size_t i = 0; i < count; i++) {
        open += c->tasks[i]->row.task_state == BF_APPROVAL_DOING ? 1 : 0;
    }
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        bf_staged_task_t *task = c->tasks[i];
        if (task->row.task_state != BF_APPROVAL_DOING || is_record(c, task) ||
            (open > 1 && !is_actor(task, c->row.operator_id))) {
            continue;
        }
        rc = bf_stage_add_actor(stage, task, c->row.operator_id);
        if (rc == BF_OK) {
            rc = bf_submit_task(stage, c, task, NULL, &counted);
        }
    }
    return rc;
}
