/*
 * facade_dict.c - what the codes mean, and which handlers there are, for designers
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/facade_int.h"

typedef struct dict_item {
    const char *value;
    const char *label;
} dict_item_t;

static const dict_item_t define_states[] = {{"1", "启用"}, {"0", "禁用"}, {NULL, NULL}};
static const dict_item_t instance_states[] = {
    {"10", "进行中"}, {"20", "已完成"}, {"30", "已撤回"}, {"40", "强行终止"},
    {"45", "已拒绝"}, {"50", "挂起"},   {"99", "已废弃"}, {NULL, NULL}};
static const dict_item_t submit_types[] = {
    {"0", "申请"},       {"1", "同意"},    {"2", "拒绝"},
    {"3", "退回上一步"}, {"4", "跳转"},    {"5", "重新提交"},
    {"6", "退回发起人"}, {"20", "不同意"}, {NULL, NULL}};
static const dict_item_t task_states[] = {
    {"10", "进行中"}, {"20", "已完成"}, {"30", "已撤回"}, {"40", "强行终止"},
    {"50", "挂起"},   {"99", "已废弃"}, {NULL, NULL}};
static const dict_item_t task_types[] = {
    {"0", "主办"}, {"1", "协办"}, {"2", "记录"}, {NULL, NULL}};
static const dict_item_t perform_types[] = {
    {"0", "普通参与"}, {"1", "会签参与"}, {NULL, NULL}};
static const dict_item_t countersign_types[] = {
    {"PARALLEL", "并行会签"}, {"SEQUENTIAL", "串行会签"}, {NULL, NULL}};

static const struct {
    const char *key;
    const dict_item_t *items;
} dicts[] = {
    {"wf_process_define_state", define_states},
    {"wf_process_instance_state", instance_states},
    {"wf_process_submit_type", submit_types},
    {"wf_process_task_state", task_states},
    {"wf_process_task_type", task_types},
    {"wf_process_task_perform_type", perform_types},
    {"wf_countersign_type", countersign_types},
};

#define DICTS (sizeof(dicts) / sizeof(dicts[0]))

bf_status_t bf_facade_dict_keys(bf_facade_call_t *call)
{
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    for (size_t i = 0; i < DICTS; i++) {
        bf_facade_add(&list, bf_value_cstr(dicts[i].key));
    }
    call->data = bf_facade_list_value(&list);
    return BF_OK;
}

/* A key that is not known has no entries. */
bf_status_t bf_facade_dict(bf_facade_call_t *call)
{
    const char *key;
    bf_status_t status = bf_facade_need_text(call, "key", &key);
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    for (size_t i = 0; i < DICTS && status == BF_OK; i++) {
        for (const dict_item_t *item = dicts[i].items;
             !strcmp(dicts[i].key, key) && item->value; item++) {
            bf_facade_map_t map;
            bf_facade_map_init(call, &map);
            bf_facade_put_text(&map, "value", item->value);
            bf_facade_put_text(&map, "label", item->label);
            bf_facade_add(&list, bf_facade_map_value(&map));
        }
    }
    call->data = bf_facade_list_value(&list);
    return status;
}

static bool is_of_type(const bf_approval_handler_t *handler, const char *type)
{
    return (handler->assign && !strcmp(type, "AssignmentHandler")) ||
           (handler->decide && !strcmp(type, "DecisionHandler")) ||
           (handler->run && !strcmp(type, "IHandler"));
}

/* The host's handlers of a kind, by the names that a definition may use. */
bf_status_t bf_facade_handlers(bf_facade_call_t *call)
{
    const char *type;
    bf_status_t status = bf_facade_need_text(call, "type", &type);
    const bf_approval_host_t *host = bf_approval_host(call->approval);
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    for (size_t i = 0; i < host->handler_count && status == BF_OK; i++) {
        if (is_of_type(&host->handlers[i], type)) {
            bf_facade_map_t map;
            bf_facade_map_init(call, &map);
            bf_facade_put_text(&map, "className", host->handlers[i].name);
            bf_facade_put_text(&map, "label", host->handlers[i].name);
            bf_facade_add(&list, bf_facade_map_value(&map));
        }
    }
    call->data = bf_facade_list_value(&list);
    return status;
}
