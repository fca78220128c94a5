/*
 * facade_candidate.c - whom the next task could go to (rule 47)
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lib/approval/facade_int.h"

/* Nodes that were looked at, and those to look at next. */
typedef struct walk {
    bf_facade_call_t *call;
    const bf_flow_node_t **stack;
    bool *seen;
    size_t depth;
    bf_approval_names_t names;
} walk_t;

static void push(walk_t *walk, const bf_flow_node_t *node)
{
    if (!walk->seen[node->index]) {
        walk->seen[node->index] = true;
        walk->stack[walk->depth++] = node;
    }
}

static bf_status_t add_groups(walk_t *walk, const bf_value_t *groups)
{
    bf_facade_call_t *call = walk->call;
    const bf_approval_directory_t *directory =
        &bf_approval_host(call->approval)->directory;
    bf_approval_names_t roles = {0};
    bf_status_t status = bf_approval_names_add_value(call->arena, &roles, groups);
    if (status != BF_OK) {
        return bf_err_nomem(&call->err, "candidateGroups");
    }
    for (size_t i = 0; directory->role && i < roles.count && status == BF_OK; i++) {
        status = directory->role(directory->arg, call->arena, roles.items[i],
                                 &walk->names, &call->err);
    }
    return status;
}

/* Designers put it beside the permissions of the fields, or above them. */
static const bf_value_t *property(const bf_flow_node_t *node, const char *name)
{
    const bf_value_t *value = bf_value_get_str(&node->properties, name);
    return bf_value_is_null(value) ? bf_value_get_str(&node->field, name) : value;
}

static bf_status_t add_candidates(walk_t *walk, const bf_flow_node_t *node)
{
    bf_facade_call_t *call = walk->call;
    const bf_value_t *users = property(node, "candidateUsers");
    const bf_value_t *groups = property(node, "candidateGroups");
    if (!bf_value_is_null(users) &&
        bf_approval_names_add_value(call->arena, &walk->names, users) != BF_OK) {
        return bf_err_nomem(&call->err, "candidateUsers");
    }
    return bf_value_is_null(groups) ? BF_OK : add_groups(walk, groups);
}

/* Every task that a way without another task leads to; whose condition is true is not
 * known before the form is sent. */
static bf_status_t collect(walk_t *walk, const bf_flow_node_t *from)
{
    bf_status_t status = BF_OK;
    for (uint32_t i = 0; i < from->out_count; i++) {
        push(walk, from->out[i]->target);
    }
    while (walk->depth && status == BF_OK) {
        const bf_flow_node_t *node = walk->stack[--walk->depth];
        if (node->type == BF_FLOW_TASK) {
            status = add_candidates(walk, node);
            continue;
        }
        for (uint32_t i = 0; i < node->out_count; i++) {
            push(walk, node->out[i]->target);
        }
    }
    return status;
}

static bf_status_t candidates(bf_facade_call_t *call, const bf_flow_t *flow,
                              const bf_task_row_t *task, bf_approval_names_t *ret)
{
    const bf_flow_node_t *node = bf_flow_find(flow, task->task_name);
    walk_t walk = {.call = call};
    walk.stack = bf_arena_calloc(call->arena, flow->node_count, sizeof(walk.stack[0]));
    walk.seen = bf_arena_calloc(call->arena, flow->node_count, sizeof(walk.seen[0]));
    if (!walk.stack || !walk.seen) {
        return bf_err_nomem(&call->err, "candidates");
    }
    bf_status_t status = node ? collect(&walk, node) : BF_OK;
    *ret = walk.names;
    return status;
}

static bf_status_t user_value(bf_facade_call_t *call, const char *id, bf_value_t *ret)
{
    bf_approval_user_t user;
    bf_status_t status = bf_facade_find_user(call, id, &user);
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_text(&map, "id", id);
    bf_facade_put_text(&map, "userId", id);
    bf_facade_put_text(&map, "realName", user.real_name ? user.real_name : id);
    bf_facade_put_text(&map, "deptId", user.dept_id);
    bf_facade_put_text(&map, "deptName", user.dept_name);
    bf_facade_put_text(&map, "postId", user.post_id);
    bf_facade_put_text(&map, "postName", user.post_name);
    *ret = bf_facade_map_value(&map);
    return status;
}

static bf_status_t answer_users(bf_facade_call_t *call, const bf_facade_query_t *query,
                                const bf_approval_names_t *names)
{
    size_t size = (size_t)bf_facade_query_page_size(query);
    size_t first = (size_t)(bf_facade_query_page_num(query) - 1) * size;
    bf_facade_list_t rows;
    bf_facade_list_init(call, &rows);
    bf_status_t status = BF_OK;
    for (size_t i = first; i < names->count && i - first < size && status == BF_OK; i++) {
        bf_value_t user = bf_value_null();
        status = user_value(call, names->items[i], &user);
        bf_facade_add(&rows, user);
    }
    bf_facade_page(call, query, (int64_t)names->count, bf_facade_list_value(&rows));
    return status;
}

static bf_status_t search(bf_facade_call_t *call, const bf_facade_query_t *query,
                          const bf_task_row_t *task)
{
    const bf_facade_host_t *host = &call->facade->host;
    if (!host->search_users) {
        return bf_err_set(
            &call->err, BF_E_UNSUPPORTED,
            "未配置 IUserSearchProvider（用户搜索钩子）: the tasks after '%.64s' name no "
            "candidateUsers or candidateGroups, and nothing searches users; "
            "give the facade search_users",
            task->task_name);
    }
    bf_facade_search_t search = {call->user, call->body, bf_facade_query_page_num(query),
                                 bf_facade_query_page_size(query)};
    bf_value_t rows = bf_value_null();
    int64_t total = 0;
    bf_status_t status =
        host->search_users(host->arg, call->arena, &search, &rows, &total, &call->err);
    bf_facade_page(call, query, total, rows);
    return status;
}

bf_status_t bf_facade_task_candidates(bf_facade_call_t *call)
{
    const char *const member =
        bf_facade_has(call, "processTaskId") || !bf_facade_has(call, "id")
            ? "processTaskId"
            : "id";
    int64_t id;
    const bf_task_row_t *task;
    const bf_process_row_t *process;
    const bf_flow_t *flow;
    bf_facade_query_t *query;
    bf_approval_names_t names = {0};
    bf_status_t status = bf_facade_need_id(call, member, &id);
    if (status == BF_OK) {
        status = bf_facade_need_task(call, id, &task);
    }
    if (status == BF_OK) {
        status = bf_facade_query_new(call, BF_LEDGER_TASK, &query);
    }
    if (status == BF_OK) {
        status = bf_facade_need_process(call, task->process_instance_id, &process);
    }
    if (status == BF_OK) {
        status = bf_approval_flow(call->approval, process->process_define_id, &flow,
                                  &call->err);
    }
    if (status == BF_OK) {
        status = candidates(call, flow, task, &names);
    }
    if (status != BF_OK) {
        return status;
    }
    return names.count ? answer_users(call, query, &names) : search(call, query, task);
}
