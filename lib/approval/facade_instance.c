/*
 * facade_instance.c - applications: starting, showing, taking back, copies
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/facade_int.h"

bf_status_t bf_facade_start(bf_facade_call_t *call)
{
    static const char *const without[] = {"processDefineId", "processDefineName",
                                          "operator", NULL};
    int64_t define_id;
    const char *name = NULL;
    int64_t id = 0;
    char *text = bf_facade_answer_id(call, "processInstanceId");
    bf_status_t status = bf_facade_need_user(call);
    if (status == BF_OK) {
        status = bf_facade_get_id(call, "processDefineId", &define_id);
    }
    if (status == BF_OK && !define_id) {
        status = bf_facade_get_text(call, "processDefineName", &name);
    }
    if (status != BF_OK) {
        return status;
    }
    if (!define_id && (!name || !*name)) {
        return bf_facade_ill(call, "processDefineId", "it is missing",
                             "the ID of a definition, or processDefineName");
    }
    bf_value_t args = bf_facade_rest(call, without);
    bf_approval_start_t start = {define_id, name, call->user, &args};
    status = bf_facade_ready(call);
    if (status == BF_OK) {
        status = bf_approval_start_and_execute(call->approval, &start, &id, &call->err);
    }
    if (status == BF_OK) {
        bf_facade_set_id(call, text, id);
    }
    return status;
}

static bf_facade_joined_t join(const bf_facade_call_t *call, const void *process)
{
    const bf_process_row_t *row = process;
    return (bf_facade_joined_t){
        .id = row->id,
        .process = row,
        .define = bf_ledger_find(call->ledger, BF_LEDGER_DEFINE, row->process_define_id)};
}

/* What a user started; the host sees everything. */
bf_status_t bf_facade_instance_page(bf_facade_call_t *call)
{
    bf_facade_query_t *query;
    bf_status_t status = bf_facade_query_table(
        call, BF_LEDGER_PROCESS, BF_LEDGER_BY_PROCESS_OPERATOR, call->user, join, &query);
    return status == BF_OK ? bf_facade_query_answer(query, bf_facade_shape_process)
                           : status;
}

/* --- detail --- */

/* A task with ext: its variables, and whether the form can be sent off again (45). */
static bf_status_t task_value(bf_facade_call_t *call, const bf_task_row_t *task,
                              const char *first, bf_value_t *ret)
{
    bf_facade_map_t map;
    bf_facade_map_t ext;
    bf_value_t vars = bf_value_null();
    bf_facade_map_init(call, &map);
    bf_facade_map_init(call, &ext);
    bf_status_t status = bf_facade_task_members(call, task, &map, &vars);
    for (uint32_t i = 0; vars.type == BF_VALUE_MAP && i < vars.len; i++) {
        const bf_member_t *m = &vars.as.members[i];
        bf_facade_append(&ext, m->name, m->name_len, m->value);
    }
    bf_facade_put_bool(&ext, "isFirstTaskNode",
                       task->task_state == BF_APPROVAL_DOING && first &&
                           !strcmp(first, task->task_name));
    bf_facade_put(&map, "ext", bf_facade_map_value(&ext));
    *ret = bf_facade_map_value(&map);
    return status;
}

static bf_status_t put_tasks(bf_facade_call_t *call, int64_t process_id,
                             const bf_value_t *flow, bf_facade_map_t *map)
{
    const char *first = bf_facade_first_task(flow);
    bf_facade_list_t tasks;
    bf_facade_list_t active;
    bf_facade_list_init(call, &tasks);
    bf_facade_list_init(call, &active);
    size_t cursor = 0;
    const bf_task_row_t *task;
    bf_status_t status = BF_OK;
    while (status == BF_OK &&
           (task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        process_id, &cursor)) != NULL) {
        bf_value_t value = bf_value_null();
        status = task_value(call, task, first, &value);
        bf_facade_add(&tasks, value);
        if (task->task_state == BF_APPROVAL_DOING) {
            bf_facade_add(&active, value);
        }
    }
    bf_facade_put(map, "tasks", bf_facade_list_value(&tasks));
    bf_facade_put(map, "activeTaskList", bf_facade_list_value(&active));
    return status;
}

bf_status_t bf_facade_instance_show(bf_facade_call_t *call)
{
    const bf_process_row_t *row;
    bf_status_t status = bf_facade_body_process(call, "id", &row);
    if (status != BF_OK) {
        return status;
    }
    bf_facade_joined_t joined = join(call, row);
    bf_value_t value = bf_value_null();
    status = bf_facade_shape_process(call, &joined, &value);
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (uint32_t i = 0; i < value.len; i++) {
        const bf_member_t *m = &value.as.members[i];
        bf_facade_append(&map, m->name, m->name_len, m->value);
    }
    const bf_value_t *vars = bf_value_get_str(&value, "variable");
    bf_facade_put(&map, "variables", vars ? *vars : bf_value_null());
    bf_facade_put_text(&map, "name", joined.define ? joined.define->name : NULL);
    bf_value_t flow = bf_value_null();
    if (status == BF_OK && joined.define) {
        status = bf_facade_read_json(call, joined.define->content, &flow);
    }
    bf_facade_put(&map, "jsonObject", flow);
    if (status == BF_OK) {
        status = put_tasks(call, row->id, &flow, &map);
    }
    call->data = bf_facade_map_value(&map);
    return status;
}

/* All rows in the order of their making: what was decided, and what is open. */
bf_status_t bf_facade_instance_record(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_status_t status = bf_facade_body_process(call, "id", &process);
    if (status != BF_OK) {
        return status;
    }
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    size_t cursor = 0;
    const bf_task_row_t *task;
    while (status == BF_OK &&
           (task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        process->id, &cursor)) != NULL) {
        bf_facade_map_t map;
        bf_value_t vars = bf_value_null();
        bf_facade_map_init(call, &map);
        status = bf_facade_task_members(call, task, &map, &vars);
        bf_facade_put(&map, "ext", vars);
        bf_facade_add(&list, bf_facade_map_value(&map));
    }
    call->data = bf_facade_list_value(&list);
    return status;
}

/* Before whom it is now: one entry for each actor of each open row. */
bf_status_t bf_facade_instance_assignees(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    int64_t with_name = 1;
    bf_status_t status = bf_facade_body_process(call, "id", &process);
    if (status == BF_OK) {
        status = bf_facade_get_int(call, "includeNodeName", 0, 1, &with_name);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    size_t cursor = 0;
    const bf_task_row_t *task;
    while ((task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        process->id, &cursor)) != NULL) {
        bf_value_t actors = bf_facade_actors(call, task->id);
        for (uint32_t i = 0; task->task_state == BF_APPROVAL_DOING && i < actors.len;
             i++) {
            const bf_value_t *actor = &actors.as.items[i];
            const char *id = actor->type == BF_VALUE_STRING ? actor->as.string : "";
            const char *name = task->display_name ? task->display_name : task->task_name;
            const char *label =
                with_name ? bf_arena_printf(call->arena, "%s:%s", name, id) : id;
            call->is_nomem = call->is_nomem || !label;
            bf_facade_map_t map;
            bf_facade_map_init(call, &map);
            bf_facade_put(&map, "value", *actor);
            bf_facade_put(&map, "label", bf_value_cstr(label ? label : ""));
            bf_facade_add(&list, bf_facade_map_value(&map));
        }
    }
    call->data = bf_facade_list_value(&list);
    return BF_OK;
}

bf_status_t bf_facade_instance_withdraw(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_status_t status = bf_facade_body_process(call, "id", &process);
    return status == BF_OK
               ? bf_approval_withdraw(call->approval, process->id, call->user, &call->err)
               : status;
}

/* The table of the business: that of the definition, else its name. */
static bf_status_t business_table(bf_facade_call_t *call, const bf_define_row_t *define,
                                  const char **ret)
{
    bf_value_t flow;
    bf_status_t status = bf_facade_read_json(call, define->content, &flow);
    *ret = status == BF_OK ? bf_value_get_cstr(&flow, "relTableName") : NULL;
    if (status == BF_OK && (!*ret || !**ret)) {
        *ret = bf_facade_copy(call, define->name ? define->name : "");
    }
    return status;
}

bf_status_t bf_facade_instance_business(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    const bf_define_row_t *define;
    const char *table = NULL;
    const char *const member =
        bf_facade_has(call, "processInstanceId") || !bf_facade_has(call, "id")
            ? "processInstanceId"
            : "id";
    bf_status_t status = bf_facade_body_process(call, member, &process);
    if (status == BF_OK) {
        status = bf_facade_need_define(call, process->process_define_id, &define);
    }
    if (status == BF_OK) {
        status = business_table(call, define, &table);
    }
    if (status != BF_OK) {
        return status;
    }
    const bf_facade_host_t *host = &call->facade->host;
    if (!host->read_business) {
        return bf_err_set(
            &call->err, BF_E_UNSUPPORTED,
            "业务数据读取器未注册 (metaTableReader): nothing reads the business data of "
            "table %.64s; give the facade read_business",
            table);
    }
    return host->read_business(host->arg, call->arena, table, process->id, &call->data,
                               &call->err);
}

/* --- copies --- */

bf_status_t bf_facade_cc_create(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_approval_names_t names = {0};
    bf_status_t status = bf_facade_need_users(call, "actorIds", &names);
    if (status == BF_OK) {
        status = bf_facade_body_process(call, "processInstanceId", &process);
    }
    return status == BF_OK ? bf_approval_cc(call->approval, process->id, names.items,
                                            names.count, call->user, &call->err)
                           : status;
}

bf_status_t bf_facade_cc_page(bf_facade_call_t *call)
{
    bf_facade_query_t *query;
    bf_status_t status = bf_facade_query_new_own(call, BF_LEDGER_PROCESS, &query);
    size_t cursor = 0;
    const bf_cc_row_t *cc;
    while (status == BF_OK &&
           (cc = bf_ledger_next_by_text(call->ledger, BF_LEDGER_BY_CC_ACTOR, call->user,
                                        &cursor)) != NULL) {
        const bf_process_row_t *row =
            bf_ledger_find(call->ledger, BF_LEDGER_PROCESS, cc->process_instance_id);
        if (row) {
            bf_facade_joined_t joined = join(call, row);
            joined.cc = cc;
            bf_facade_query_offer(query, &joined);
        }
    }
    return status == BF_OK ? bf_facade_query_answer(query, bf_facade_shape_process)
                           : status;
}

/* The acting user has read his copy; one that he has read already stays so. */
bf_status_t bf_facade_cc_read(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    bf_status_t status = bf_facade_need_user(call);
    if (status == BF_OK) {
        status = bf_facade_body_process(call, "processInstanceId", &process);
    }
    size_t cursor = 0;
    const bf_cc_row_t *cc;
    while (status == BF_OK &&
           (cc = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_CC_PROCESS, process->id,
                                      &cursor)) != NULL) {
        if (!strcmp(cc->actor_id, call->user) && !cc->state) {
            bf_cc_row_t read = *cc;
            read.state = 1;
            bf_facade_touch(call, &read.audit);
            bf_ledger_change_t change = {BF_LEDGER_UPDATE, BF_LEDGER_CC, &read};
            return bf_facade_apply(call, &change, 1);
        }
    }
    return status;
}
