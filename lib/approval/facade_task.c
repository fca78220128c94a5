/*
 * facade_task.c - tasks: lists of people, doing one, who may do it
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "lib/approval/facade_int.h"

static bf_facade_joined_t join(const bf_facade_call_t *call, const bf_task_row_t *task)
{
    const bf_process_row_t *process =
        bf_ledger_find(call->ledger, BF_LEDGER_PROCESS, task->process_instance_id);
    return (bf_facade_joined_t){
        .id = task->id,
        .task = task,
        .process = process,
        .define = process ? bf_ledger_find(call->ledger, BF_LEDGER_DEFINE,
                                           process->process_define_id)
                          : NULL};
}

/* Open rows that the user may do (rule 3): found by the rows of actors. */
bf_status_t bf_facade_task_todo(bf_facade_call_t *call)
{
    bf_facade_query_t *query;
    bf_status_t status = bf_facade_query_new_own(call, BF_LEDGER_TASK, &query);
    size_t cursor = 0;
    const bf_actor_row_t *actor;
    while (status == BF_OK &&
           (actor = bf_ledger_next_by_text(call->ledger, BF_LEDGER_BY_ACTOR_ID,
                                           call->user, &cursor)) != NULL) {
        const bf_task_row_t *task =
            bf_ledger_find(call->ledger, BF_LEDGER_TASK, actor->process_task_id);
        if (task && task->task_state == BF_APPROVAL_DOING) {
            bf_facade_joined_t joined = join(call, task);
            joined.actor = actor;
            bf_facade_query_offer(query, &joined);
        }
    }
    return status == BF_OK ? bf_facade_query_answer(query, bf_facade_shape_task) : status;
}

/* Rows that the user did: found by the column operator, which is written at the end. */
bf_status_t bf_facade_task_done(bf_facade_call_t *call)
{
    bf_facade_query_t *query;
    bf_status_t status = bf_facade_query_new_own(call, BF_LEDGER_TASK, &query);
    size_t cursor = 0;
    const bf_task_row_t *task;
    while (status == BF_OK &&
           (task = bf_ledger_next_by_text(call->ledger, BF_LEDGER_BY_TASK_OPERATOR,
                                          call->user, &cursor)) != NULL) {
        if (task->task_state != BF_APPROVAL_DOING) {
            bf_facade_joined_t joined = join(call, task);
            bf_facade_query_offer(query, &joined);
        }
    }
    return status == BF_OK ? bf_facade_query_answer(query, bf_facade_shape_task) : status;
}

static bool is_submit_type(int64_t type)
{
    return (type >= BF_SUBMIT_APPLY && type <= BF_SUBMIT_ROLLBACK_TO_OPERATOR) ||
           type == BF_SUBMIT_DISAGREE;
}

bf_status_t bf_facade_task_execute(bf_facade_call_t *call)
{
    static const char *const without[] = {"processTaskId", "operator", "submitType",
                                          "taskName", NULL};
    bf_approval_execute_t execute = {.operator_id = call->user};
    int64_t type = BF_SUBMIT_AGREE;
    bf_status_t status = bf_facade_need_user(call);
    if (status == BF_OK) {
        status = bf_facade_need_id(call, "processTaskId", &execute.task_id);
    }
    if (status == BF_OK) {
        status = bf_facade_get_int(call, "submitType", 0, BF_SUBMIT_DISAGREE, &type);
    }
    if (status == BF_OK) {
        status = bf_facade_get_text(call, "taskName", &execute.task_name);
    }
    if (status != BF_OK) {
        return status;
    }
    if (!is_submit_type(type)) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "submitType: %lld is none; give 0 apply, 1 agree, 2 reject, "
                          "3 rollback, 4 jump, 5 apply again, 6 back to the initiator, "
                          "20 disagree",
                          (long long)type);
    }
    bf_value_t args = bf_facade_rest(call, without);
    status = bf_facade_ready(call);
    if (status != BF_OK) {
        return status;
    }
    execute.submit_type = (bf_submit_type_t)type;
    execute.args = &args;
    return bf_approval_execute(call->approval, &execute, &call->err);
}

/* --- showing one --- */

static bool is_executable(const bf_facade_call_t *call, const bf_task_row_t *task)
{
    return task->task_state == BF_APPROVAL_DOING && call->user &&
           (bf_approval_is_system(call->user) ||
            bf_ledger_is_actor(call->ledger, task->id, call->user));
}

static const bf_value_t *find_node(const bf_value_t *flow, const char *id)
{
    const bf_value_t *nodes = bf_value_get_str(flow, "nodes");
    for (uint32_t i = 0; nodes && nodes->type == BF_VALUE_LIST && i < nodes->len; i++) {
        const char *name = bf_value_get_cstr(&nodes->as.items[i], "id");
        if (name && !strcmp(name, id)) {
            return &nodes->as.items[i];
        }
    }
    return NULL;
}

static bf_value_t or_null(const bf_value_t *value)
{
    return value ? *value : bf_value_null();
}

/* The node as it is drawn; ext are the permissions of its fields. */
static bf_value_t task_model(bf_facade_call_t *call, const bf_value_t *flow,
                             const bf_task_row_t *task)
{
    const bf_value_t *node = find_node(flow, task->task_name);
    if (!node) {
        return bf_value_null();
    }
    const char *type = bf_value_get_cstr(node, "type");
    const char *colon = type ? strchr(type, ':') : NULL;
    const bf_value_t *properties = bf_value_get_str(node, "properties");
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_text(&map, "name", task->task_name);
    bf_facade_put_text(&map, "displayName", task->display_name);
    bf_facade_put_text(&map, "type", colon ? colon + 1 : type);
    bf_facade_put(&map, "form", or_null(bf_value_get_str(properties, "form")));
    bf_facade_put(&map, "assignee", or_null(bf_value_get_str(properties, "assignee")));
    bf_facade_put_int(&map, "taskType", task->task_type);
    bf_facade_put_int(&map, "performType", task->perform_type);
    bf_facade_put(&map, "ext", or_null(bf_value_get_str(properties, "field")));
    return bf_facade_map_value(&map);
}

static bf_value_t task_ext(bf_facade_call_t *call, const bf_value_t *vars, bool is_first)
{
    bf_facade_map_t ext;
    bf_facade_map_init(call, &ext);
    for (uint32_t i = 0; vars->type == BF_VALUE_MAP && i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        bf_facade_append(&ext, m->name, m->name_len, m->value);
    }
    bf_facade_put_bool(&ext, "isFirstTaskNode", is_first);
    return bf_facade_map_value(&ext);
}

bf_status_t bf_facade_task_show(bf_facade_call_t *call)
{
    int64_t id;
    const bf_task_row_t *task;
    bf_status_t status = bf_facade_need_id(call, "id", &id);
    if (status == BF_OK) {
        status = bf_facade_need_task(call, id, &task);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_joined_t joined = join(call, task);
    bf_value_t value = bf_value_null();
    bf_value_t flow = bf_value_null();
    status = bf_facade_shape_task(call, &joined, &value);
    if (status == BF_OK && joined.define) {
        status = bf_facade_read_json(call, joined.define->content, &flow);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (uint32_t i = 0; i < value.len; i++) {
        const bf_member_t *m = &value.as.members[i];
        bf_facade_append(&map, m->name, m->name_len, m->value);
    }
    const char *first = bf_facade_first_task(&flow);
    bool is_first =
        task->task_state == BF_APPROVAL_DOING && first && !strcmp(first, task->task_name);
    const bf_value_t *vars = bf_value_get_str(&value, "variable");
    bf_facade_put(&map, "ext", task_ext(call, vars ? vars : &value, is_first));
    bf_facade_put_bool(&map, "executable", is_executable(call, task));
    bf_facade_put(&map, "taskModel", task_model(call, &flow, task));
    bf_facade_put(&map, "jsonObject", flow);
    call->data = bf_facade_map_value(&map);
    return BF_OK;
}

/* The first open row; null when none is open. */
bf_status_t bf_facade_task_latest(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_status_t status = bf_facade_body_process(call, "processInstanceId", &process);
    size_t cursor = 0;
    const bf_task_row_t *task;
    while (status == BF_OK &&
           (task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        process->id, &cursor)) != NULL) {
        if (task->task_state == BF_APPROVAL_DOING) {
            bf_facade_joined_t joined = join(call, task);
            return bf_facade_shape_task(call, &joined, &call->data);
        }
    }
    return status;
}

/* Where a jump may lead: what was done, each once, without votes (47). */
bf_status_t bf_facade_task_jumps(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_status_t status = bf_facade_body_process(call, "processInstanceId", &process);
    bf_facade_list_t names;
    bf_facade_list_t list;
    bf_facade_list_init(call, &names);
    bf_facade_list_init(call, &list);
    size_t cursor = 0;
    const bf_task_row_t *task;
    while (status == BF_OK &&
           (task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        process->id, &cursor)) != NULL) {
        if (task->task_state != BF_APPROVAL_FINISHED || task->perform_type == 1 ||
            bf_facade_has_name(&names, task->task_name)) {
            continue;
        }
        bf_facade_add_name(&names, task->task_name);
        bf_facade_map_t map;
        bf_facade_map_init(call, &map);
        bf_facade_put_text(&map, "label", task->display_name);
        bf_facade_put_text(&map, "value", task->task_name);
        bf_facade_add(&list, bf_facade_map_value(&map));
    }
    call->data = bf_facade_list_value(&list);
    return status;
}

/* --- who may do it --- */

/* More people for an open row; those who may already stay (rule 12). */
bf_status_t bf_facade_task_add(bf_facade_call_t *call)
{
    int64_t id;
    const bf_task_row_t *task;
    bf_approval_names_t names;
    bf_status_t status = bf_facade_need_id(call, "processTaskId", &id);
    if (status == BF_OK) {
        status = bf_facade_need_users(call, "actorIds", &names);
    }
    if (status == BF_OK) {
        status = bf_facade_need_task(call, id, &task);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_approval_actors_t actors = {id, names.items, names.count, call->user};
    return bf_approval_add_actors(call->approval, &actors, &call->err);
}

static const bf_actor_row_t *find_actor(const bf_facade_call_t *call, int64_t task_id,
                                        const char *user)
{
    size_t cursor = 0;
    const bf_actor_row_t *actor;
    while ((actor = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_ACTOR_TASK, task_id,
                                         &cursor)) != NULL &&
           strcmp(actor->actor_id, user) != 0) {
    }
    return actor;
}

/* Somebody else in the place of an actor: both rows change, or none. */
static bf_status_t replace_actor(bf_facade_call_t *call, const bf_task_row_t *task,
                                 const char *from, const char *to)
{
    const bf_actor_row_t *old = find_actor(call, task->id, from);
    if (task->task_state != BF_APPROVAL_DOING) {
        return bf_err_set(&call->err, BF_E_REJECTED,
                          "20010003 没有进行中的流程任务: task %lld is not open",
                          (long long)task->id);
    }
    if (!old) {
        return bf_err_set(
            &call->err, BF_E_REJECTED,
            "20010004 当前参与者不能执行该流程任务: fromActor '%.64s' is no "
            "actor of task %lld",
            from, (long long)task->id);
    }
    if (find_actor(call, task->id, to)) {
        return bf_err_set(&call->err, BF_E_REJECTED,
                          "toActor: '%.64s' may do task %lld already; give somebody else",
                          to, (long long)task->id);
    }
    bf_actor_row_t row = {.id = bf_ledger_make_id(call->ledger),
                          .process_task_id = task->id,
                          .actor_id = to,
                          .create_time = bf_approval_now_ms(call->approval),
                          .create_user = call->user};
    bf_ledger_change_t changes[] = {{BF_LEDGER_INSERT, BF_LEDGER_ACTOR, &row},
                                    {BF_LEDGER_DELETE, BF_LEDGER_ACTOR, old}};
    return bf_facade_apply(call, changes, 2);
}

bf_status_t bf_facade_task_transfer(bf_facade_call_t *call)
{
    int64_t id;
    const bf_task_row_t *task;
    const char *from = NULL;
    const char *to = NULL;
    bf_status_t status = bf_facade_need_id(call, "processTaskId", &id);
    if (status == BF_OK) {
        status = bf_facade_get_text(call, "fromActor", &from);
    }
    if (status == BF_OK) {
        status = bf_facade_need_text(call, "toActor", &to);
    }
    if (status == BF_OK) {
        status = bf_id_check("toActor", to, strlen(to), &call->err);
    }
    if (status == BF_OK) {
        status = bf_facade_need_task(call, id, &task);
    }
    if (status != BF_OK) {
        return status;
    }
    from = from && *from ? from : call->user;
    if (!from) {
        return bf_facade_ill(call, "fromActor", "it is missing", "the ID of an actor");
    }
    if (call->user && strcmp(from, call->user) != 0 &&
        !bf_approval_is_system(call->user)) {
        return bf_facade_ill(
            call, "fromActor", "is somebody else (没有权限)",
            "the acting user; others can be replaced by " BF_APPROVAL_ADMIN);
    }
    return replace_actor(call, task, from, to);
}
