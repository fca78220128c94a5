/*
 * facade_surrogate.c - delegations: who stands in for whom
 *
 * A delegation belongs to its principal, who made it; others neither see nor change it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "lib/approval/facade_int.h"

#define NAME_CHARS 64

/* The host and the two system users act for everybody. */
static bool is_own(const bf_facade_call_t *call, const bf_surrogate_row_t *row)
{
    return !call->user || bf_approval_is_system(call->user) ||
           (row->operator_id && !strcmp(row->operator_id, call->user));
}

static bf_status_t find_own(bf_facade_call_t *call, int64_t id,
                            const bf_surrogate_row_t **ret)
{
    *ret = bf_ledger_find(call->ledger, BF_LEDGER_SURROGATE, id);
    if (!*ret) {
        return bf_err_set(&call->err, BF_E_NOT_FOUND, "委托记录不存在: %lld",
                          (long long)id);
    }
    if (!is_own(call, *ret)) {
        return bf_err_set(&call->err, BF_E_REJECTED,
                          "没有权限: delegation %lld belongs to somebody else; its "
                          "principal can change it",
                          (long long)id);
    }
    return BF_OK;
}

static bf_status_t need_own(bf_facade_call_t *call, const bf_surrogate_row_t **ret)
{
    int64_t id;
    bf_status_t status = bf_facade_need_id(call, "id", &id);
    return status == BF_OK ? find_own(call, id, ret) : status;
}

static bf_status_t shape(bf_facade_call_t *call, const bf_facade_joined_t *row,
                         bf_value_t *ret)
{
    const bf_surrogate_row_t *surrogate = row->surrogate;
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, "id", surrogate->id);
    bf_facade_put_text(&map, "processName", surrogate->process_name);
    bf_facade_put_text(&map, "operator", surrogate->operator_id);
    bf_facade_put_text(&map, "surrogate", surrogate->surrogate);
    bf_facade_put_time(&map, "startTime", surrogate->start_time);
    bf_facade_put_time(&map, "endTime", surrogate->end_time);
    bf_facade_put_int(&map, "enabled", surrogate->enabled);
    bf_facade_put_audit(&map, &surrogate->audit);
    *ret = bf_facade_map_value(&map);
    return BF_OK;
}

static bf_facade_joined_t join(const bf_facade_call_t *call, const void *row)
{
    (void)call;
    const bf_surrogate_row_t *surrogate = row;
    return (bf_facade_joined_t){.id = surrogate->id, .surrogate = surrogate};
}

/* A principal's own; the host and the system users see everything. */
bf_status_t bf_facade_surrogate_page(bf_facade_call_t *call)
{
    bool all = !call->user || bf_approval_is_system(call->user);
    bf_facade_query_t *query;
    bf_status_t status =
        bf_facade_query_table(call, BF_LEDGER_SURROGATE, BF_LEDGER_BY_SURROGATE_OPERATOR,
                              all ? NULL : call->user, join, &query);
    return status == BF_OK ? bf_facade_query_answer(query, shape) : status;
}

bf_status_t bf_facade_surrogate_show(bf_facade_call_t *call)
{
    const bf_surrogate_row_t *row;
    bf_status_t status = need_own(call, &row);
    if (status != BF_OK) {
        return status;
    }
    bf_facade_joined_t joined = join(call, row);
    return shape(call, &joined, &call->data);
}

static bf_status_t take_people(bf_facade_call_t *call, bf_surrogate_row_t *row)
{
    const char *name = NULL;
    const char *agent = NULL;
    bf_status_t status = bf_facade_get_column(call, "processName", NAME_CHARS, &name);
    if (status == BF_OK) {
        status = bf_facade_get_text(call, "surrogate", &agent);
    }
    if (status != BF_OK) {
        return status;
    }
    row->process_name = name ? name : row->process_name;
    row->surrogate = agent ? agent : row->surrogate;
    if (!row->surrogate || !*row->surrogate) {
        return bf_facade_ill(call, "surrogate", "it is missing",
                             "the ID of the user who stands in");
    }
    status = bf_id_check("surrogate", row->surrogate, strlen(row->surrogate), &call->err);
    if (status == BF_OK && !strcmp(row->surrogate, row->operator_id)) {
        return bf_facade_ill(call, "surrogate", "is the principal himself",
                             "the ID of another user");
    }
    return status;
}

static bf_status_t take_window(bf_facade_call_t *call, bf_surrogate_row_t *row)
{
    int64_t enabled = row->enabled;
    bf_status_t status = BF_OK;
    /* a member that is there and empty opens the window */
    if (bf_value_get_str(call->body, "startTime")) {
        status = bf_facade_get_time(call, "startTime", &row->start_time);
    }
    if (status == BF_OK && bf_value_get_str(call->body, "endTime")) {
        status = bf_facade_get_time(call, "endTime", &row->end_time);
    }
    if (status == BF_OK) {
        status = bf_facade_get_int(call, "enabled", 0, 1, &enabled);
    }
    if (status == BF_OK && row->start_time && row->end_time &&
        row->end_time < row->start_time) {
        return bf_facade_ill(call, "endTime", "is before startTime",
                             "a time that is not before it");
    }
    row->enabled = (int32_t)enabled;
    return status;
}

static bf_status_t write_row(bf_facade_call_t *call, bf_surrogate_row_t *row,
                             bf_ledger_verb_t verb)
{
    bf_status_t status = take_people(call, row);
    if (status == BF_OK) {
        status = take_window(call, row);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_id(&map, "id", row->id);
    call->data = bf_facade_map_value(&map);
    bf_ledger_change_t change = {verb, BF_LEDGER_SURROGATE, row};
    return bf_facade_apply(call, &change, 1);
}

bf_status_t bf_facade_surrogate_update(bf_facade_call_t *call)
{
    const bf_surrogate_row_t *old;
    bf_status_t status = need_own(call, &old);
    if (status != BF_OK) {
        return status;
    }
    bf_surrogate_row_t row = *old;
    bf_facade_touch(call, &row.audit);
    return write_row(call, &row, BF_LEDGER_UPDATE);
}

bf_status_t bf_facade_surrogate_save(bf_facade_call_t *call)
{
    int64_t id;
    bf_status_t status = bf_facade_get_id(call, "id", &id);
    if (status == BF_OK && id) {
        return bf_facade_surrogate_update(call);
    }
    if (status == BF_OK) {
        status = bf_facade_need_user(call);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_surrogate_row_t row = {.id = bf_ledger_make_id(call->ledger),
                              .process_name = "",
                              .operator_id = call->user,
                              .enabled = 1,
                              .audit = bf_facade_audit(call)};
    return write_row(call, &row, BF_LEDGER_INSERT);
}

static bf_status_t find_removed(bf_facade_call_t *call, int64_t id, const void **ret)
{
    const bf_surrogate_row_t *row;
    bf_status_t status = find_own(call, id, &row);
    *ret = status == BF_OK ? row : NULL;
    return status;
}

bf_status_t bf_facade_surrogate_remove(bf_facade_call_t *call)
{
    return bf_facade_remove(call, BF_LEDGER_SURROGATE, find_removed);
}
