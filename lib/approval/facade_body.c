/*
 * facade_body.c - reading the members of a request: their types, their bounds
 *
 * An error names the member, what is wrong with it and what is wanted.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "bpmflow/num.h"
#include "lib/approval/facade_int.h"

#define ID_WANTED  "an ID, as a string of digits"
#define MAX_EXACT  ((int64_t)1 << 53) /* of a number that went through a double */
#define MAX_DIGITS 32

bf_status_t bf_facade_ill(bf_facade_call_t *call, const char *member, const char *why,
                          const char *wanted)
{
    return bf_err_set(&call->err, BF_E_INVALID, "%s 缺失或非法: %s; give %s", member, why,
                      wanted);
}

static const bf_value_t *get(const bf_facade_call_t *call, const char *member)
{
    const bf_value_t *value = bf_value_get_str(call->body, member);
    return bf_value_is_null(value) ? NULL : value;
}

bool bf_facade_has(const bf_facade_call_t *call, const char *member)
{
    return get(call, member) != NULL;
}

static bf_status_t ill_type(bf_facade_call_t *call, const char *member,
                            const bf_value_t *value, const char *wanted)
{
    return bf_err_set(&call->err, BF_E_INVALID, "%s 缺失或非法: is a %s; give %s", member,
                      bf_value_type_name(value->type), wanted);
}

/* Digits only: no sign, no blanks. */
static bool read_digits(const char *text, size_t len, int64_t *ret)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
    }
    return len && len <= MAX_DIGITS && bf_num_parse_i64(text, len, ret, NULL) == BF_OK;
}

static bf_status_t read_id(bf_facade_call_t *call, const char *member,
                           const bf_value_t *value, int64_t *ret)
{
    if (value->type == BF_VALUE_STRING) {
        if (!value->len) {
            *ret = 0;
            return BF_OK;
        }
        if (!read_digits(value->as.string, value->len, ret) || *ret <= 0) {
            return bf_err_set(&call->err, BF_E_INVALID,
                              "%s 缺失或非法: '%.64s' is no ID; give %s", member,
                              value->as.string, ID_WANTED);
        }
        return BF_OK;
    }
    if (value->type == BF_VALUE_INT) {
        if (value->as.integer <= 0) {
            return bf_facade_ill(call, member, "is not above 0", ID_WANTED);
        }
        if (value->as.integer > MAX_EXACT) {
            return bf_facade_ill(call, member,
                                 "is a number above 2^53, which may have lost digits",
                                 ID_WANTED);
        }
        *ret = value->as.integer;
        return BF_OK;
    }
    return ill_type(call, member, value, ID_WANTED);
}

bf_status_t bf_facade_get_id(bf_facade_call_t *call, const char *member, int64_t *ret)
{
    *ret = 0;
    const bf_value_t *value = get(call, member);
    return value ? read_id(call, member, value, ret) : BF_OK;
}

bf_status_t bf_facade_need_id(bf_facade_call_t *call, const char *member, int64_t *ret)
{
    bf_status_t status = bf_facade_get_id(call, member, ret);
    if (status == BF_OK && !*ret) {
        return bf_facade_ill(call, member, "it is missing", ID_WANTED);
    }
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorted, each once: a change of a row that comes twice would be made twice. */
static size_t unique(int64_t *ids, size_t count)
{
    qsort(ids, count, sizeof(*ids), compare_ids);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!i || ids[i] != ids[i - 1]) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

bf_status_t bf_facade_need_ids(bf_facade_call_t *call, const int64_t **ret,
                               size_t *ret_count)
{
    const bf_value_t *list = get(call, "ids");
    if (list && list->type != BF_VALUE_LIST) {
        return ill_type(call, "ids", list, "a list of IDs");
    }
    if (list && !list->len) {
        return bf_facade_ill(call, "id", "ids is empty", "at least one ID");
    }
    size_t max = call->facade->host.max_batch;
    if (list && list->len > max) {
        return bf_err_set(&call->err, BF_E_LIMIT, "ids: %u of them; give %zu at most",
                          list->len, max);
    }
    size_t count = list ? list->len : 1;
    int64_t *ids = bf_arena_calloc(call->arena, count, sizeof(*ids));
    if (!ids) {
        return bf_err_nomem(&call->err, "IDs");
    }
    bf_status_t status = list ? BF_OK : bf_facade_need_id(call, "id", &ids[0]);
    for (size_t i = 0; list && i < count && status == BF_OK; i++) {
        status = read_id(call, "ids", &list->as.items[i], &ids[i]);
        if (status == BF_OK && !ids[i]) {
            status = bf_facade_ill(call, "ids", "has an empty text", "IDs only");
        }
    }
    *ret = ids;
    *ret_count = status == BF_OK ? unique(ids, count) : 0;
    return status;
}

bf_status_t bf_facade_get_text(bf_facade_call_t *call, const char *member,
                               const char **ret)
{
    *ret = NULL;
    const bf_value_t *value = get(call, member);
    if (!value) {
        return BF_OK;
    }
    if (value->type == BF_VALUE_STRING) {
        *ret = value->as.string;
        return BF_OK;
    }
    if (value->type == BF_VALUE_INT) {
        *ret = bf_arena_printf(call->arena, "%lld", (long long)value->as.integer);
        return *ret ? BF_OK : bf_err_nomem(&call->err, member);
    }
    return ill_type(call, member, value, "a text");
}

bf_status_t bf_facade_need_text(bf_facade_call_t *call, const char *member,
                                const char **ret)
{
    bf_status_t status = bf_facade_get_text(call, member, ret);
    if (status == BF_OK && (!*ret || !**ret)) {
        return bf_facade_ill(call, member, "it is missing", "a text");
    }
    return status;
}

bf_status_t bf_facade_get_column(bf_facade_call_t *call, const char *member, size_t max,
                                 const char **ret)
{
    bf_status_t status = bf_facade_get_text(call, member, ret);
    if (status != BF_OK || !*ret) {
        return status;
    }
    size_t len = strlen(*ret);
    if (!bf_utf8_is_valid(*ret, len)) {
        return bf_facade_ill(call, member, "is not UTF-8", "a text in UTF-8");
    }
    if (bf_utf8_length(*ret, len) > max) {
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "%s: is %zu characters long; give %zu at most", member,
                          bf_utf8_length(*ret, len), max);
    }
    return BF_OK;
}

bf_status_t bf_facade_get_int(bf_facade_call_t *call, const char *member, int64_t min,
                              int64_t max, int64_t *ret)
{
    const bf_value_t *value = get(call, member);
    if (!value || (value->type == BF_VALUE_STRING && !value->len)) {
        return BF_OK;
    }
    int64_t number = 0;
    if (value->type == BF_VALUE_INT) {
        number = value->as.integer;
    } else if (value->type == BF_VALUE_BOOL) {
        number = value->as.boolean;
    } else if (value->type != BF_VALUE_STRING) {
        return ill_type(call, member, value, "a whole number");
    } else if (!read_digits(value->as.string, value->len, &number)) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "%s 缺失或非法: '%.64s' is no whole number; give one "
                          "from %lld to %lld",
                          member, value->as.string, (long long)min, (long long)max);
    }
    if (number < min || number > max) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "%s 缺失或非法: %lld is out of range; give a number "
                          "from %lld to %lld",
                          member, (long long)number, (long long)min, (long long)max);
    }
    *ret = number;
    return BF_OK;
}

bf_status_t bf_facade_read_time(bf_facade_call_t *call, const char *member,
                                const bf_value_t *value, int64_t *ret)
{
    static const char wanted[] = "a text like 2026-11-30 08:00:00";
    if (value->type != BF_VALUE_STRING) {
        return ill_type(call, member, value, wanted);
    }
    const char *text = value->as.string;
    if (value->len == 10) { /* a day begins at midnight */
        text = bf_arena_printf(call->arena, "%s 00:00:00", text);
    } else if (value->len == 16) {
        text = bf_arena_printf(call->arena, "%s:00", text);
    }
    if (!text) {
        return bf_err_nomem(&call->err, member);
    }
    if (bf_clock_parse(text, ret, NULL) != BF_OK) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "%s 缺失或非法: '%.40s' is no time; give %s", member,
                          value->as.string, wanted);
    }
    if (value->as.string[value->len - 1] != 'Z') {
        *ret -= (int64_t)bf_approval_host(call->approval)->utc_offset_s * 1000;
    }
    return BF_OK;
}

bf_status_t bf_facade_get_time(bf_facade_call_t *call, const char *member, int64_t *ret)
{
    *ret = 0;
    const bf_value_t *value = get(call, member);
    if (!value || (value->type == BF_VALUE_STRING && !value->len)) {
        return BF_OK;
    }
    return bf_facade_read_time(call, member, value, ret);
}

bf_status_t bf_facade_need_users(bf_facade_call_t *call, const char *member,
                                 bf_approval_names_t *ret)
{
    static const char wanted[] = "a list of user IDs, or a text with commas between them";
    *ret = (bf_approval_names_t){0};
    const bf_value_t *value = get(call, member);
    if (!value) {
        return bf_facade_ill(call, member, "it is missing", wanted);
    }
    if (value->type != BF_VALUE_LIST && value->type != BF_VALUE_STRING) {
        return ill_type(call, member, value, wanted);
    }
    for (uint32_t i = 0; value->type == BF_VALUE_LIST && i < value->len; i++) {
        const bf_value_t *item = &value->as.items[i];
        if (item->type != BF_VALUE_STRING && item->type != BF_VALUE_INT) {
            return ill_type(call, member, item, wanted);
        }
    }
    uint32_t max = bf_approval_host(call->approval)->limits.max_actors;
    max = max ? max : 1000;
    if (value->type == BF_VALUE_LIST && value->len > max) {
        return bf_err_set(&call->err, BF_E_LIMIT, "%s: %u of them; give %u at most",
                          member, value->len, max);
    }
    if (bf_approval_names_add_value(call->arena, ret, value) != BF_OK) {
        return bf_err_nomem(&call->err, member);
    }
    if (!ret->count) {
        return bf_facade_ill(call, member, "nobody is named", wanted);
    }
    for (size_t i = 0; i < ret->count; i++) {
        if (bf_id_check(member, ret->items[i], strlen(ret->items[i]), &call->err) !=
            BF_OK) {
            return call->err.status;
        }
    }
    return BF_OK;
}

bf_status_t bf_facade_need_user(bf_facade_call_t *call)
{
    return call->user
               ? BF_OK
               : bf_err_set(&call->err, BF_E_INVALID,
                            "this action is done by a person; give the acting user");
}

static bool is_one_of(const bf_member_t *m, const char *const *names)
{
    for (; *names; names++) {
        if (!strcmp(m->name, *names)) {
            return true;
        }
    }
    return false;
}

bf_value_t bf_facade_rest(bf_facade_call_t *call, const char *const *without)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    for (uint32_t i = 0; i < call->body->len; i++) {
        const bf_member_t *m = &call->body->as.members[i];
        if (!is_one_of(m, without)) {
            bf_facade_append(&map, m->name, m->name_len, m->value);
        }
    }
    return bf_facade_map_value(&map);
}
