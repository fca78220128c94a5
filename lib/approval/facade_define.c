/*
 * facade_define.c - definitions: what was published
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "lib/approval/facade_int.h"

#define NAME_BYTES 64 /* of a definition */

bf_audit_t bf_facade_audit(const bf_facade_call_t *call)
{
    int64_t now = bf_approval_now_ms(call->approval);
    return (bf_audit_t){now, call->user, now, call->user};
}

void bf_facade_touch(const bf_facade_call_t *call, bf_audit_t *audit)
{
    audit->update_time = bf_approval_now_ms(call->approval);
    audit->update_user = call->user;
}

bf_status_t bf_facade_content(bf_facade_call_t *call, const char *const *without,
                              const char **ret, size_t *ret_len)
{
    const bf_value_t *content = bf_value_get_str(call->body, "content");
    if (!bf_value_is_null(content) && content->type == BF_VALUE_STRING) {
        *ret = content->as.string;
        *ret_len = content->len;
        return BF_OK;
    }
    bf_value_t flow = bf_facade_rest(call, without);
    if (!bf_value_is_null(content)) {
        flow = *content;
    }
    if (flow.type != BF_VALUE_MAP || !flow.len) {
        return bf_facade_ill(call, "content", "it is missing, or no object",
                             "the flow as a JSON object or its text");
    }
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_json_write(&text, &flow);
    bf_status_t status = bf_str_status(&text, "content", &call->err);
    if (status == BF_OK) {
        *ret = bf_arena_strndup(call->arena, bf_str_peek(&text), text.len);
        *ret_len = text.len;
        status = *ret ? BF_OK : bf_err_nomem(&call->err, "content");
    }
    bf_str_fini(&text);
    return status;
}

/* What a row takes from its flow. */
typedef struct heading {
    const char *name;
    const char *display_name;
    const char *type;
} heading_t;

static bool is_empty_list(const bf_value_t *flow, const char *member)
{
    const bf_value_t *list = bf_value_get_str(flow, member);
    return list && list->type == BF_VALUE_LIST && !list->len;
}

/* A drawing that was only begun: it can be published as in the original, so that its
 * place in the lists is there; starting it is an error that says what is missing. */
static bool is_begun(bf_facade_call_t *call, const char *text, size_t len, heading_t *ret)
{
    bf_value_t flow;
    bf_status_t status = bf_json_parse(call->arena, text, len, NULL, &flow, NULL);
    call->is_nomem = call->is_nomem || status == BF_E_NOMEM;
    if (status != BF_OK || !is_empty_list(&flow, "nodes") ||
        !is_empty_list(&flow, "edges")) {
        return false;
    }
    const char *name = bf_value_get_cstr(&flow, "name");
    if (!name || !*name || strlen(name) > NAME_BYTES) {
        return false;
    }
    const char *display_name = bf_value_get_cstr(&flow, "displayName");
    *ret = (heading_t){name, display_name ? display_name : name,
                       bf_value_get_cstr(&flow, "type")};
    return true;
}

static bf_status_t load(bf_facade_call_t *call, const char *text, size_t len,
                        heading_t *ret)
{
    if (is_begun(call, text, len, ret)) {
        return BF_OK;
    }
    const bf_flow_t *flow = NULL;
    bf_status_t status = bf_flow_load(call->arena, text, len, &flow, &call->err);
    bf_err_prefix(&call->err, "content: ");
    if (status == BF_OK) {
        *ret = (heading_t){flow->name, flow->display_name, flow->type};
    }
    return status;
}

bf_status_t bf_facade_new_define(bf_facade_call_t *call, const char *text, size_t len,
                                 bf_define_row_t *ret)
{
    heading_t flow = {NULL, NULL, NULL};
    bf_status_t status = load(call, text, len, &flow);
    if (status != BF_OK) {
        return status;
    }
    const bf_define_row_t *last = bf_ledger_latest_define(call->ledger, flow.name);
    *ret = (bf_define_row_t){
        .id = bf_ledger_make_id(call->ledger),
        .name = flow.name,
        .display_name = flow.display_name,
        .type = flow.type,
        .state = 1,
        .version = last ? last->version + 1 : 0,
        .content = text,
        .audit = bf_facade_audit(call),
    };
    return BF_OK;
}

bf_status_t bf_facade_changed_define(bf_facade_call_t *call, const bf_define_row_t *old,
                                     const char *text, size_t len, bf_define_row_t *ret)
{
    heading_t flow = {NULL, NULL, NULL};
    bf_status_t status = load(call, text, len, &flow);
    if (status != BF_OK) {
        return status;
    }
    *ret = *old;
    ret->name = flow.name;
    ret->display_name = flow.display_name;
    ret->type = flow.type;
    ret->content = text;
    bf_facade_touch(call, &ret->audit);
    return BF_OK;
}

static bf_facade_joined_t join(const bf_facade_call_t *call, const void *row)
{
    (void)call;
    const bf_define_row_t *define = row;
    return (bf_facade_joined_t){.id = define->id, .define = define};
}

bf_status_t bf_facade_define_page(bf_facade_call_t *call)
{
    bf_facade_query_t *rows;
    bf_status_t status =
        bf_facade_query_table(call, BF_LEDGER_DEFINE, 0, NULL, join, &rows);
    return status == BF_OK ? bf_facade_query_answer(rows, bf_facade_shape_define)
                           : status;
}

/* As a page without breaks, bounded as a page is. */
bf_status_t bf_facade_define_list(bf_facade_call_t *call)
{
    bf_facade_query_t *taken;
    bf_status_t status =
        bf_facade_query_table(call, BF_LEDGER_DEFINE, 0, NULL, join, &taken);
    if (status != BF_OK) {
        return status;
    }
    size_t count;
    const bf_facade_joined_t *rows = bf_facade_query_rows(taken, &count);
    if (count > (size_t)call->facade->host.max_page_size) {
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "%zu definitions are too many for a list; use "
                          "processDefine/page, or give conditions",
                          count);
    }
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    for (size_t i = 0; i < count && status == BF_OK; i++) {
        bf_value_t value;
        status = bf_facade_shape_define(call, &rows[i], &value);
        bf_facade_add(&list, value);
    }
    call->data = bf_facade_list_value(&list);
    return status;
}

bf_status_t bf_facade_define_show(bf_facade_call_t *call)
{
    int64_t id;
    const bf_define_row_t *row;
    bf_status_t status = bf_facade_need_id(call, "id", &id);
    if (status == BF_OK) {
        status = bf_facade_need_define(call, id, &row);
    }
    return status == BF_OK ? bf_facade_define_detail(call, row, &call->data) : status;
}

bf_status_t bf_facade_define_last(bf_facade_call_t *call)
{
    const char *name;
    bf_status_t status = bf_facade_need_text(call, "processDefineName", &name);
    if (status != BF_OK) {
        return status;
    }
    const bf_define_row_t *row = bf_ledger_latest_define(call->ledger, name);
    if (!row) {
        return bf_err_set(&call->err, BF_E_NOT_FOUND, "流程定义不存在: %.64s", name);
    }
    return bf_facade_define_detail(call, row, &call->data);
}

static void answer_id(bf_facade_call_t *call, int64_t id)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, "processDefineId", id);
    call->data = bf_facade_map_value(&map);
}

static bf_status_t write_row(bf_facade_call_t *call, bf_ledger_verb_t verb,
                             const bf_define_row_t *row)
{
    answer_id(call, row->id);
    bf_ledger_change_t change = {verb, BF_LEDGER_DEFINE, row};
    return bf_facade_apply(call, &change, 1);
}

bf_status_t bf_facade_define_deploy(bf_facade_call_t *call)
{
    static const char *const without[] = {"operator", NULL};
    const char *text = NULL;
    size_t len = 0;
    bf_define_row_t row = {.id = 0};
    bf_status_t status = bf_facade_content(call, without, &text, &len);
    if (status == BF_OK) {
        status = bf_facade_new_define(call, text, len, &row);
    }
    return status == BF_OK ? write_row(call, BF_LEDGER_INSERT, &row) : status;
}

bf_status_t bf_facade_define_redeploy(bf_facade_call_t *call)
{
    static const char *const without[] = {"operator", "processDefineId", NULL};
    const char *text = NULL;
    size_t len = 0;
    int64_t id = 0;
    const bf_define_row_t *old = NULL;
    bf_define_row_t row = {.id = 0};
    bf_status_t status = bf_facade_need_id(call, "processDefineId", &id);
    if (status == BF_OK) {
        status = bf_facade_need_define(call, id, &old);
    }
    if (status == BF_OK) {
        status = bf_facade_content(call, without, &text, &len);
    }
    if (status == BF_OK) {
        status = bf_facade_changed_define(call, old, text, len, &row);
    }
    return status == BF_OK ? write_row(call, BF_LEDGER_UPDATE, &row) : status;
}

bf_status_t bf_facade_define_up_and_down(bf_facade_call_t *call)
{
    const int64_t *ids;
    size_t count;
    int64_t state = -1;
    bf_status_t status = bf_facade_need_ids(call, &ids, &count);
    if (status == BF_OK) {
        status = bf_facade_get_int(
            call, bf_facade_has(call, "opType") ? "opType" : "state", 0, 1, &state);
    }
    if (status != BF_OK) {
        return status;
    }
    if (state < 0) {
        return bf_facade_ill(call, "state", "it is missing",
                             "state (or opType) as 1 usable, 0 not");
    }
    bf_ledger_change_t *changes = bf_arena_calloc(call->arena, count, sizeof(*changes));
    bf_define_row_t *rows = bf_arena_calloc(call->arena, count, sizeof(*rows));
    if (!changes || !rows) {
        return bf_err_nomem(&call->err, "definitions");
    }
    for (size_t i = 0; i < count && status == BF_OK; i++) {
        const bf_define_row_t *old;
        status = bf_facade_need_define(call, ids[i], &old);
        if (status == BF_OK) {
            rows[i] = *old;
            rows[i].state = (int32_t)state;
            bf_facade_touch(call, &rows[i].audit);
            changes[i] =
                (bf_ledger_change_t){BF_LEDGER_UPDATE, BF_LEDGER_DEFINE, &rows[i]};
        }
    }
    return status == BF_OK ? bf_facade_apply(call, changes, count) : status;
}

static bf_status_t find_removed(bf_facade_call_t *call, int64_t id, const void **ret)
{
    const bf_define_row_t *row;
    bf_status_t status = bf_facade_need_define(call, id, &row);
    *ret = status == BF_OK ? row : NULL;
    return status;
}

bf_status_t bf_facade_define_remove(bf_facade_call_t *call)
{
    return bf_facade_remove(call, BF_LEDGER_DEFINE, find_removed);
}
