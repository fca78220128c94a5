/*
 * facade_design.c - designs: drafts, their histories, and publishing them
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/facade_int.h"

#define NAME_CHARS    64
#define DISPLAY_CHARS 100
#define TYPE_CHARS    32
#define TEXT_CHARS    255

static bf_status_t need_design(bf_facade_call_t *call, const char *member,
                               const bf_design_row_t **ret)
{
    int64_t id;
    bf_status_t status = bf_facade_need_id(call, member, &id);
    if (status != BF_OK) {
        return status;
    }
    *ret = bf_ledger_find(call->ledger, BF_LEDGER_DESIGN, id);
    return *ret ? BF_OK
                : bf_err_set(&call->err, BF_E_NOT_FOUND, "流程设计不存在: %lld",
                             (long long)id);
}

/* The design as it was saved last; NULL = never. */
static const bf_design_his_row_t *last_history(const bf_facade_call_t *call,
                                               int64_t design_id)
{
    size_t cursor = 0;
    const bf_design_his_row_t *last = NULL;
    const bf_design_his_row_t *row;
    while ((row = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_HIS_DESIGN, design_id,
                                       &cursor)) != NULL) {
        last = row;
    }
    return last;
}

/* --- showing --- */

static void put_design(bf_facade_map_t *map, const bf_design_row_t *design)
{
    bf_facade_put_id(map, "id", design->id);
    bf_facade_put_text(map, "name", design->name);
    bf_facade_put_text(map, "displayName", design->display_name);
    bf_facade_put_text(map, "type", design->type);
    bf_facade_put_text(map, "icon", design->icon);
    bf_facade_put_text(map, "remark", design->description);
    bf_facade_put_int(map, "isDeployed", design->is_deployed);
    bf_facade_put_audit(map, &design->audit);
}

static bf_status_t shape(bf_facade_call_t *call, const bf_facade_joined_t *row,
                         bf_value_t *ret)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    put_design(&map, row->design);
    *ret = bf_facade_map_value(&map);
    return BF_OK;
}

static bf_facade_joined_t join(const bf_facade_call_t *call, const void *row)
{
    (void)call;
    const bf_design_row_t *design = row;
    return (bf_facade_joined_t){.id = design->id, .design = design};
}

bf_status_t bf_facade_design_page(bf_facade_call_t *call)
{
    bf_facade_query_t *rows;
    bf_status_t status =
        bf_facade_query_table(call, BF_LEDGER_DESIGN, 0, NULL, join, &rows);
    return status == BF_OK ? bf_facade_query_answer(rows, shape) : status;
}

/* The flow as it was saved last, with what it lacks from the row. */
static bf_status_t flow_of(bf_facade_call_t *call, const bf_design_row_t *design,
                           bf_value_t *ret)
{
    const bf_design_his_row_t *last = last_history(call, design->id);
    bf_value_t flow;
    bf_status_t status = bf_facade_read_json(call, last ? last->content : NULL, &flow);
    if (status != BF_OK) {
        return status;
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (uint32_t i = 0; flow.type == BF_VALUE_MAP && i < flow.len; i++) {
        const bf_member_t *m = &flow.as.members[i];
        bf_facade_append(&map, m->name, m->name_len, m->value);
    }
    if (!bf_value_get_str(&flow, "name")) {
        bf_facade_put_text(&map, "name", design->name);
    }
    if (!bf_value_get_str(&flow, "displayName")) {
        bf_facade_put_text(&map, "displayName", design->display_name);
    }
    if (!bf_value_get_str(&flow, "type")) {
        bf_facade_put_text(&map, "type", design->type);
    }
    bf_facade_put_id(&map, "processDesignId", design->id);
    *ret = bf_facade_map_value(&map);
    return BF_OK;
}

/* The newest first. */
static bf_value_t histories(bf_facade_call_t *call, int64_t design_id)
{
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    size_t cursor = 0;
    const bf_design_his_row_t *row;
    while ((row = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_HIS_DESIGN, design_id,
                                       &cursor)) != NULL) {
        bf_facade_map_t map;
        bf_facade_map_init(call, &map);
        bf_facade_put_id(&map, "id", row->id);
        bf_facade_put_id(&map, "processDesignId", row->process_design_id);
        bf_facade_put_text(&map, "content", row->content);
        bf_facade_put_time(&map, "createTime", row->create_time);
        bf_facade_put_text(&map, "createUser", row->create_user);
        bf_facade_add(&list, bf_facade_map_value(&map));
    }
    for (uint32_t i = 0; i < list.used / 2; i++) {
        bf_value_t swap = list.items[i];
        list.items[i] = list.items[list.used - 1 - i];
        list.items[list.used - 1 - i] = swap;
    }
    return bf_facade_list_value(&list);
}

bf_status_t bf_facade_design_show(bf_facade_call_t *call)
{
    const bf_design_row_t *design;
    bf_value_t flow = bf_value_null();
    bf_status_t status = need_design(call, "id", &design);
    if (status == BF_OK) {
        status = flow_of(call, design, &flow);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    put_design(&map, design);
    bf_facade_put(&map, "jsonObject", flow);
    bf_facade_put(&map, "his", histories(call, design->id));
    call->data = bf_facade_map_value(&map);
    return BF_OK;
}

static bf_status_t list_item(bf_facade_call_t *call, const bf_design_row_t *design,
                             bf_value_t *ret)
{
    bf_value_t flow;
    bf_status_t status = flow_of(call, design, &flow);
    if (status != BF_OK) {
        return status;
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    put_design(&map, design);
    bf_facade_put_id(&map, "processDesignId", design->id);
    const bf_define_row_t *define =
        design->name ? bf_ledger_latest_define(call->ledger, design->name) : NULL;
    bf_facade_put_id(&map, "processDefineId", define ? define->id : 0);
    bf_facade_put(&map, "processDefineState",
                  define ? bf_value_int(define->state) : bf_value_null());
    bf_facade_put(&map, "jsonObject", flow);
    *ret = bf_facade_map_value(&map);
    return BF_OK;
}

/* The list of a type, in a map of lists that grow. */
typedef struct group {
    const char *type;
    bf_facade_list_t list;
} group_t;

static group_t *find_group(group_t *groups, size_t *count, const char *type,
                           bf_facade_call_t *call)
{
    for (size_t i = 0; i < *count; i++) {
        if (!strcmp(groups[i].type, type)) {
            return &groups[i];
        }
    }
    group_t *group = &groups[(*count)++];
    group->type = bf_facade_copy(call, type);
    group->type = group->type ? group->type : "";
    bf_facade_list_init(call, &group->list);
    return group;
}

bf_status_t bf_facade_design_list(bf_facade_call_t *call)
{
    bf_facade_query_t *taken;
    bf_status_t status =
        bf_facade_query_table(call, BF_LEDGER_DESIGN, 0, NULL, join, &taken);
    if (status != BF_OK) {
        return status;
    }
    size_t count;
    const bf_facade_joined_t *rows = bf_facade_query_rows(taken, &count);
    if (count > (size_t)call->facade->host.max_page_size) {
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "%zu designs are too many for a list; use processDesign/page, "
                          "or give conditions",
                          count);
    }
    group_t *groups = bf_arena_calloc(call->arena, count, sizeof(*groups));
    if (!groups) {
        return bf_err_nomem(&call->err, "designs");
    }
    size_t group_count = 0;
    for (size_t i = 0; i < count && status == BF_OK; i++) {
        const char *type = rows[i].design->type ? rows[i].design->type : "";
        group_t *group = find_group(groups, &group_count, type, call);
        bf_value_t item = bf_value_null();
        status = list_item(call, rows[i].design, &item);
        bf_facade_add(&group->list, item);
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (size_t i = 0; i < group_count; i++) {
        bf_facade_put(&map, groups[i].type, bf_facade_list_value(&groups[i].list));
    }
    call->data = bf_facade_map_value(&map);
    return status;
}

/* --- saving --- */

static bf_status_t take_column(bf_facade_call_t *call, const char *member, size_t max,
                               const char **column)
{
    const char *text;
    bf_status_t status = bf_facade_get_column(call, member, max, &text);
    if (status == BF_OK && text) {
        *column = text;
    }
    return status;
}

static bf_status_t take_columns(bf_facade_call_t *call, bf_design_row_t *design)
{
    const char *const remark = bf_facade_has(call, "remark") ? "remark" : "description";
    bf_status_t status = take_column(call, "name", NAME_CHARS, &design->name);
    if (status == BF_OK) {
        status = take_column(call, "displayName", DISPLAY_CHARS, &design->display_name);
    }
    if (status == BF_OK) {
        status = take_column(call, "type", TYPE_CHARS, &design->type);
    }
    if (status == BF_OK) {
        status = take_column(call, "icon", TEXT_CHARS, &design->icon);
    }
    if (status == BF_OK) {
        status = take_column(call, remark, TEXT_CHARS, &design->description);
    }
    return status;
}

static void take_text(const bf_value_t *flow, const char *member, const char **column)
{
    const char *text = bf_value_get_cstr(flow, member);
    if (text && *text) {
        *column = text;
    }
}

/* What saving a flow changes: the row, and a row of its history when it is another flow.
 */
static bf_status_t save_flow(bf_facade_call_t *call, bf_design_row_t *design,
                             bf_ledger_verb_t verb)
{
    static const char *const without[] = {"id", "processDesignId", "operator", NULL};
    const char *text;
    size_t len;
    bf_value_t flow;
    bf_status_t status = bf_facade_content(call, without, &text, &len);
    if (status == BF_OK) {
        status =
            bf_json_parse(call->arena, text, len, &BF_JSON_OWN_LIMITS, &flow, &call->err);
        bf_err_prefix(&call->err, "content: ");
    }
    if (status == BF_OK && flow.type != BF_VALUE_MAP) {
        status = bf_facade_ill(call, "content", "is no object", "the flow as an object");
    }
    if (status != BF_OK) {
        return status;
    }
    take_text(&flow, "name", &design->name);
    take_text(&flow, "displayName", &design->display_name);
    take_text(&flow, "type", &design->type);
    if (!design->name || !*design->name) {
        return bf_facade_ill(call, "name", "it is missing", "the name of the flow");
    }
    design->is_deployed = 0;
    const bf_design_his_row_t *last = last_history(call, design->id);
    bf_value_t before = bf_value_null();
    if (last) {
        status = bf_facade_read_json(call, last->content, &before);
    }
    bf_design_his_row_t history = {.id = bf_ledger_make_id(call->ledger),
                                   .process_design_id = design->id,
                                   .content = text,
                                   .create_time = design->audit.update_time,
                                   .create_user = call->user};
    bf_ledger_change_t changes[] = {{verb, BF_LEDGER_DESIGN, design},
                                    {BF_LEDGER_INSERT, BF_LEDGER_DESIGN_HIS, &history}};
    bool is_same = last && bf_value_equal(&before, &flow);
    return status == BF_OK ? bf_facade_apply(call, changes, is_same ? 1 : 2) : status;
}

static void answer_id(bf_facade_call_t *call, const char *member, int64_t id)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, member, id);
    call->data = bf_facade_map_value(&map);
}

bf_status_t bf_facade_design_save(bf_facade_call_t *call)
{
    int64_t id;
    bf_design_row_t design = {.type = "approval", .audit = bf_facade_audit(call)};
    bf_ledger_verb_t verb = BF_LEDGER_INSERT;
    bf_status_t status = bf_facade_get_id(call, "id", &id);
    if (status == BF_OK && id) {
        const bf_design_row_t *old;
        status = need_design(call, "id", &old);
        if (status == BF_OK) {
            design = *old;
            verb = BF_LEDGER_UPDATE;
            bf_facade_touch(call, &design.audit);
        }
    }
    if (status == BF_OK) {
        design.id = id ? id : bf_ledger_make_id(call->ledger);
        status = take_columns(call, &design);
    }
    if (status == BF_OK) {
        answer_id(call, "id", design.id);
        status = save_flow(call, &design, verb);
    }
    return status;
}

bf_status_t bf_facade_design_update_define(bf_facade_call_t *call)
{
    const bf_design_row_t *old;
    bf_status_t status = need_design(call, "processDesignId", &old);
    if (status != BF_OK) {
        return status;
    }
    bf_design_row_t design = *old;
    bf_facade_touch(call, &design.audit);
    answer_id(call, "id", design.id);
    return save_flow(call, &design, BF_LEDGER_UPDATE);
}

/* Basic data only: neither the flow nor isDeployed (rule 43). */
bf_status_t bf_facade_design_update(bf_facade_call_t *call)
{
    const bf_design_row_t *old;
    bf_status_t status = need_design(call, "id", &old);
    if (status != BF_OK) {
        return status;
    }
    bf_design_row_t design = *old;
    status = take_columns(call, &design);
    if (status == BF_OK && (!design.name || !*design.name)) {
        status = bf_facade_ill(call, "name", "is empty", "the name of the flow");
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_touch(call, &design.audit);
    answer_id(call, "id", design.id);
    bf_ledger_change_t change = {BF_LEDGER_UPDATE, BF_LEDGER_DESIGN, &design};
    return bf_facade_apply(call, &change, 1);
}

/* --- publishing --- */

/* The definition and the design that is published now, in one go. */
static bf_status_t publish(bf_facade_call_t *call, const bf_design_row_t *old,
                           bf_ledger_verb_t verb, const bf_define_row_t *define)
{
    bf_design_row_t design = *old;
    design.is_deployed = 1;
    bf_facade_touch(call, &design.audit);
    bf_ledger_change_t changes[] = {{verb, BF_LEDGER_DEFINE, define},
                                    {BF_LEDGER_UPDATE, BF_LEDGER_DESIGN, &design}};
    answer_id(call, "processDefineId", define->id);
    return bf_facade_apply(call, changes, 2);
}

static bf_status_t need_content(bf_facade_call_t *call, const bf_design_row_t **ret,
                                const char **ret_text, size_t *ret_len)
{
    bf_status_t status = need_design(call, "id", ret);
    if (status != BF_OK) {
        return status;
    }
    const bf_design_his_row_t *last = last_history(call, (*ret)->id);
    if (!last || !last->content) {
        return bf_err_set(&call->err, BF_E_REJECTED,
                          "流程设计没有内容，无法发布: design %lld; save a flow first",
                          (long long)(*ret)->id);
    }
    *ret_text = bf_arena_strdup(call->arena, last->content);
    if (!*ret_text) {
        return bf_err_nomem(&call->err, "content");
    }
    *ret_len = strlen(*ret_text);
    return BF_OK;
}

/* Its content, and the row that deploying it makes. */
static bf_status_t need_new_define(bf_facade_call_t *call, const bf_design_row_t **ret,
                                   const char **ret_text, size_t *ret_len,
                                   bf_define_row_t *ret_define)
{
    bf_status_t status = need_content(call, ret, ret_text, ret_len);
    return status == BF_OK ? bf_facade_new_define(call, *ret_text, *ret_len, ret_define)
                           : status;
}

bf_status_t bf_facade_design_deploy(bf_facade_call_t *call)
{
    const bf_design_row_t *design;
    const char *text;
    size_t len;
    bf_define_row_t define;
    bf_status_t status = need_new_define(call, &design, &text, &len, &define);
    return status == BF_OK ? publish(call, design, BF_LEDGER_INSERT, &define) : status;
}

bf_status_t bf_facade_design_redeploy(bf_facade_call_t *call)
{
    const bf_design_row_t *design;
    const char *text;
    size_t len;
    bf_define_row_t define;
    bf_status_t status = need_new_define(call, &design, &text, &len, &define);
    if (status != BF_OK) {
        return status;
    }
    const bf_define_row_t *last = bf_ledger_latest_define(call->ledger, define.name);
    if (!last) {
        return publish(call, design, BF_LEDGER_INSERT, &define);
    }
    status = bf_facade_changed_define(call, last, text, len, &define);
    return status == BF_OK ? publish(call, design, BF_LEDGER_UPDATE, &define) : status;
}

/* --- removing: designs and their histories --- */

static size_t count_histories(const bf_facade_call_t *call, int64_t design_id)
{
    size_t count = 0;
    size_t cursor = 0;
    while (
        bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_HIS_DESIGN, design_id, &cursor)) {
        count++;
    }
    return count;
}

static void remove_histories(const bf_facade_call_t *call, int64_t design_id,
                             bf_ledger_change_t *changes, size_t *count)
{
    size_t cursor = 0;
    const bf_design_his_row_t *row;
    while ((row = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_HIS_DESIGN, design_id,
                                       &cursor)) != NULL) {
        changes[(*count)++] =
            (bf_ledger_change_t){BF_LEDGER_DELETE, BF_LEDGER_DESIGN_HIS, row};
    }
}

bf_status_t bf_facade_design_remove(bf_facade_call_t *call)
{
    const int64_t *ids;
    size_t id_count;
    bf_status_t status = bf_facade_need_ids(call, &ids, &id_count);
    size_t room = 0;
    for (size_t i = 0; status == BF_OK && i < id_count; i++) {
        if (!bf_ledger_find(call->ledger, BF_LEDGER_DESIGN, ids[i])) {
            return bf_err_set(&call->err, BF_E_NOT_FOUND, "流程设计不存在: %lld",
                              (long long)ids[i]);
        }
        room += 1 + count_histories(call, ids[i]);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_ledger_change_t *changes = bf_arena_calloc(call->arena, room, sizeof(*changes));
    if (!changes) {
        return bf_err_nomem(&call->err, "designs");
    }
    size_t count = 0;
    for (size_t i = 0; i < id_count; i++) {
        remove_histories(call, ids[i], changes, &count);
        changes[count++] =
            (bf_ledger_change_t){BF_LEDGER_DELETE, BF_LEDGER_DESIGN,
                                 bf_ledger_find(call->ledger, BF_LEDGER_DESIGN, ids[i])};
    }
    return bf_facade_apply(call, changes, count);
}
