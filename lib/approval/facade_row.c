/*
 * facade_row.c - rows of the ledger in the shape in which pages show them
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/facade_int.h"

static bf_status_t not_there(bf_facade_call_t *call, const char *what, int64_t id)
{
    return bf_err_set(&call->err, BF_E_NOT_FOUND, "%s: %lld", what, (long long)id);
}

bf_status_t bf_facade_need_define(bf_facade_call_t *call, int64_t id,
                                  const bf_define_row_t **ret)
{
    *ret = bf_ledger_find(call->ledger, BF_LEDGER_DEFINE, id);
    return *ret ? BF_OK : not_there(call, "流程定义不存在", id);
}

bf_status_t bf_facade_need_process(bf_facade_call_t *call, int64_t id,
                                   const bf_process_row_t **ret)
{
    *ret = bf_ledger_find(call->ledger, BF_LEDGER_PROCESS, id);
    return *ret ? BF_OK : not_there(call, "流程实例不存在", id);
}

bf_status_t bf_facade_need_task(bf_facade_call_t *call, int64_t id,
                                const bf_task_row_t **ret)
{
    *ret = bf_ledger_find(call->ledger, BF_LEDGER_TASK, id);
    return *ret ? BF_OK : not_there(call, "任务不存在", id);
}

bf_status_t bf_facade_body_process(bf_facade_call_t *call, const char *member,
                                   const bf_process_row_t **ret)
{
    int64_t id;
    bf_status_t status = bf_facade_need_id(call, member, &id);
    return status == BF_OK ? bf_facade_need_process(call, id, ret) : status;
}

bf_status_t bf_facade_shape_define(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                   bf_value_t *ret)
{
    const bf_define_row_t *define = row->define;
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, "id", define->id);
    bf_facade_put_text(&map, "name", define->name);
    bf_facade_put_text(&map, "displayName", define->display_name);
    bf_facade_put_text(&map, "type", define->type);
    bf_facade_put_int(&map, "state", define->state);
    bf_facade_put_int(&map, "version", define->version);
    bf_facade_put_audit(&map, &define->audit);
    *ret = bf_facade_map_value(&map);
    return BF_OK;
}

bf_status_t bf_facade_define_detail(bf_facade_call_t *call, const bf_define_row_t *row,
                                    bf_value_t *ret)
{
    bf_facade_joined_t joined = {.id = row->id, .define = row};
    bf_value_t flow = bf_value_null();
    bf_status_t status = bf_facade_read_json(call, row->content, &flow);
    if (status == BF_OK) {
        status = bf_facade_shape_define(call, &joined, ret);
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (uint32_t i = 0; status == BF_OK && i < ret->len; i++) {
        const bf_member_t *m = &ret->as.members[i];
        bf_facade_append(&map, m->name, m->name_len, m->value);
    }
    bf_facade_put(&map, "jsonObject", flow);
    *ret = bf_facade_map_value(&map);
    return status;
}

/* Of the definition, in every row that belongs to an instance. */
static void put_define(bf_facade_map_t *map, const bf_define_row_t *define)
{
    bf_facade_put_text(map, "processDefineName", define ? define->name : NULL);
    bf_facade_put_text(map, "processDefineDisplayName",
                       define ? define->display_name : NULL);
    bf_value_t version = define ? bf_value_int(define->version) : bf_value_null();
    bf_facade_put(map, "processDefineVersion", version);
    bf_facade_put(map, "version", version);
}

bf_status_t bf_facade_shape_process(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                    bf_value_t *ret)
{
    const bf_process_row_t *process = row->process;
    bf_value_t vars = bf_value_null();
    bf_status_t status = bf_facade_read_json(call, process->variable, &vars);
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, "id", process->id);
    bf_facade_put_id(&map, "parentId", process->parent_id);
    bf_facade_put_id(&map, "processDefineId", process->process_define_id);
    bf_facade_put_int(&map, "state", process->state);
    bf_facade_put_text(&map, "parentNodeName", process->parent_node_name);
    bf_facade_put_text(&map, "businessNo", process->business_no);
    bf_facade_put_text(&map, "operator", process->operator_id);
    bf_facade_put_time(&map, "expireTime", process->expire_time);
    bf_facade_put_audit(&map, &process->audit);
    put_define(&map, row->define);
    bf_facade_put_text(&map, "displayName",
                       row->define ? row->define->display_name : NULL);
    bf_facade_put(&map, "variable", vars);
    bf_facade_put(&map, "ext", vars);
    if (status == BF_OK) {
        bf_facade_put(&map, "formData", bf_facade_form(call, &vars, "f_"));
    }
    if (row->cc) {
        bf_facade_put_id(&map, "ccId", row->cc->id);
        bf_facade_put_int(&map, "ccState", row->cc->state);
        bf_facade_put_time(&map, "ccTime", row->cc->audit.create_time);
    }
    *ret = bf_facade_map_value(&map);
    return status;
}

bf_status_t bf_facade_find_user(bf_facade_call_t *call, const char *id,
                                bf_approval_user_t *ret)
{
    const bf_approval_directory_t *directory =
        &bf_approval_host(call->approval)->directory;
    *ret = (bf_approval_user_t){0};
    return directory->user
               ? directory->user(directory->arg, call->arena, id, ret, &call->err)
               : BF_OK;
}

bf_value_t bf_facade_actors(bf_facade_call_t *call, int64_t task_id)
{
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    size_t cursor = 0;
    const bf_actor_row_t *actor;
    while ((actor = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_ACTOR_TASK, task_id,
                                         &cursor)) != NULL) {
        bf_facade_add(&list, bf_facade_text(call, actor->actor_id));
    }
    return bf_facade_list_value(&list);
}

bf_status_t bf_facade_task_members(bf_facade_call_t *call, const bf_task_row_t *task,
                                   bf_facade_map_t *map, bf_value_t *ret_vars)
{
    bf_status_t status = bf_facade_read_json(call, task->variable, ret_vars);
    bf_facade_put_id(map, "id", task->id);
    bf_facade_put_id(map, "processInstanceId", task->process_instance_id);
    bf_facade_put_text(map, "taskName", task->task_name);
    bf_facade_put_text(map, "displayName", task->display_name);
    bf_facade_put_int(map, "taskType", task->task_type);
    bf_facade_put_int(map, "performType", task->perform_type);
    bf_facade_put_int(map, "taskState", task->task_state);
    bf_facade_put_text(map, "operator", task->operator_id);
    bf_facade_put_time(map, "finishTime", task->finish_time);
    bf_facade_put_time(map, "expireTime", task->expire_time);
    bf_facade_put_text(map, "formKey", task->form_key);
    bf_facade_put_id(map, "taskParentId", task->task_parent_id);
    bf_facade_put_audit(map, &task->audit);
    bf_facade_put(map, "taskActorIdList", bf_facade_actors(call, task->id));
    bf_facade_put(map, "variable", *ret_vars);
    if (status == BF_OK) {
        bf_facade_put(map, "taskFormData", bf_facade_form(call, ret_vars, "tf_"));
    }
    return status;
}

bf_status_t bf_facade_shape_task(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                 bf_value_t *ret)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_value_t vars = bf_value_null();
    bf_value_t of_process = bf_value_null();
    bf_status_t status = bf_facade_task_members(call, row->task, &map, &vars);
    const bf_process_row_t *process = row->process;
    if (status == BF_OK) {
        status =
            bf_facade_read_json(call, process ? process->variable : NULL, &of_process);
    }
    put_define(&map, row->define);
    bf_facade_put(&map, "instanceVariable", of_process);
    bf_facade_put(&map, "instanceExt", of_process);
    /* a row without variables of its own shows those of its instance */
    bf_facade_put(&map, "ext", vars.len ? vars : of_process);
    bf_facade_put_time(&map, "instanceCreateTime",
                       process ? process->audit.create_time : 0);
    bf_facade_put_text(&map, "instanceOperator", process ? process->operator_id : NULL);
    bf_facade_put_text(&map, "businessNo", process ? process->business_no : NULL);
    if (process) {
        bf_facade_put_int(&map, "instanceState", process->state);
    }
    if (status == BF_OK) {
        bf_facade_put(&map, "formData", bf_facade_form(call, &of_process, "f_"));
    }
    *ret = bf_facade_map_value(&map);
    return status;
}

const char *bf_facade_first_task(const bf_value_t *json)
{
    const bf_value_t *nodes = bf_value_get_str(json, "nodes");
    for (uint32_t i = 0; nodes && nodes->type == BF_VALUE_LIST && i < nodes->len; i++) {
        const bf_value_t *node = &nodes->as.items[i];
        const char *type = bf_value_get_cstr(node, "type");
        if (type && !strcmp(type, "snaker:task")) {
            return bf_value_get_cstr(node, "id");
        }
    }
    return NULL;
}
