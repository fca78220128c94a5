/*
 * facade_value.c - values that grow, with a failure of memory that is remembered
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/num.h"
#include "lib/approval/facade_int.h"

void bf_facade_map_init(bf_facade_call_t *call, bf_facade_map_t *map)
{
    *map = (bf_facade_map_t){.call = call};
}

static bf_member_t *find_member(const bf_facade_map_t *map, const char *name,
                                uint32_t name_len)
{
    for (uint32_t i = 0; i < map->used; i++) {
        if (map->members[i].name_len == name_len &&
            !memcmp(map->members[i].name, name, name_len)) {
            return &map->members[i];
        }
    }
    return NULL;
}

void bf_facade_append(bf_facade_map_t *map, const char *name, uint32_t name_len,
                      bf_value_t value)
{
    if (map->used == map->room) {
        bf_member_t *members = bf_array_grow_in(map->call->arena, map->members,
                                                &map->room, sizeof(*members), 16);
        if (!members) {
            map->call->is_nomem = true;
            return;
        }
        map->members = members;
    }
    map->members[map->used++] = (bf_member_t){name, name_len, value};
}

void bf_facade_put(bf_facade_map_t *map, const char *name, bf_value_t value)
{
    bf_member_t *old = find_member(map, name, (uint32_t)strlen(name));
    if (old) {
        old->value = value;
    } else {
        bf_facade_append(map, name, (uint32_t)strlen(name), value);
    }
}

const char *bf_facade_copy(bf_facade_call_t *call, const char *text)
{
    const char *copy = bf_arena_strdup(call->arena, text);
    call->is_nomem = call->is_nomem || !copy;
    return copy;
}

bf_value_t bf_facade_text(bf_facade_call_t *call, const char *text)
{
    const char *copy = text ? bf_facade_copy(call, text) : NULL;
    return copy ? bf_value_cstr(copy) : bf_value_null();
}

bf_value_t bf_facade_id(bf_facade_call_t *call, int64_t id)
{
    if (!id) {
        return bf_value_null();
    }
    const char *text = bf_arena_printf(call->arena, "%lld", (long long)id);
    call->is_nomem = call->is_nomem || !text;
    return text ? bf_value_cstr(text) : bf_value_null();
}

void bf_facade_put_text(bf_facade_map_t *map, const char *name, const char *text)
{
    bf_facade_put(map, name, bf_facade_text(map->call, text));
}

void bf_facade_put_id(bf_facade_map_t *map, const char *name, int64_t id)
{
    bf_facade_put(map, name, bf_facade_id(map->call, id));
}

void bf_facade_put_int(bf_facade_map_t *map, const char *name, int64_t number)
{
    bf_facade_put(map, name, bf_value_int(number));
}

void bf_facade_put_bool(bf_facade_map_t *map, const char *name, bool flag)
{
    bf_facade_put(map, name, bf_value_bool(flag));
}

void bf_facade_put_time(bf_facade_map_t *map, const char *name, int64_t wall_ms)
{
    char text[BF_APPROVAL_TIME_MAX];
    if (wall_ms) {
        bf_approval_format_time(map->call->approval, wall_ms, text);
    }
    bf_facade_put_text(map, name, wall_ms ? text : NULL);
}

void bf_facade_put_audit(bf_facade_map_t *map, const bf_audit_t *audit)
{
    bf_facade_put_time(map, "createTime", audit->create_time);
    bf_facade_put_text(map, "createUser", audit->create_user);
    bf_facade_put_time(map, "updateTime", audit->update_time);
    bf_facade_put_text(map, "updateUser", audit->update_user);
}

bf_value_t bf_facade_map_value(const bf_facade_map_t *map)
{
    return (bf_value_t){
        .type = BF_VALUE_MAP, .len = map->used, .as.members = map->members};
}

void bf_facade_list_init(bf_facade_call_t *call, bf_facade_list_t *list)
{
    *list = (bf_facade_list_t){.call = call};
}

void bf_facade_add(bf_facade_list_t *list, bf_value_t value)
{
    if (list->used == list->room) {
        bf_value_t *items = bf_array_grow_in(list->call->arena, list->items, &list->room,
                                             sizeof(*items), 16);
        if (!items) {
            list->call->is_nomem = true;
            return;
        }
        list->items = items;
    }
    list->items[list->used++] = value;
}

bool bf_facade_has_name(const bf_facade_list_t *list, const char *text)
{
    for (uint32_t i = 0; i < list->used; i++) {
        if (list->items[i].type == BF_VALUE_STRING &&
            !strcmp(list->items[i].as.string, text)) {
            return true;
        }
    }
    return false;
}

void bf_facade_add_name(bf_facade_list_t *list, const char *text)
{
    bf_value_t copy = bf_facade_has_name(list, text) ? bf_value_null()
                                                     : bf_facade_text(list->call, text);
    if (copy.type == BF_VALUE_STRING) {
        bf_facade_add(list, copy);
    }
}

bf_value_t bf_facade_list_value(const bf_facade_list_t *list)
{
    return (bf_value_t){
        .type = BF_VALUE_LIST, .len = list->used, .as.items = list->items};
}

bf_status_t bf_facade_read_json(bf_facade_call_t *call, const char *text, bf_value_t *ret)
{
    return bf_ledger_read_json(call->arena, text, ret, &call->err);
}

static bool has_prefix(const bf_member_t *m, const char *prefix, uint32_t len)
{
    return m->name_len > len && !memcmp(m->name, prefix, len);
}

/* The names that begin with the prefix. */
static void add_prefixed(bf_facade_call_t *call, const bf_value_t *vars,
                         const char *prefix, uint32_t len, bf_approval_names_t *names)
{
    for (uint32_t i = 0; i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        if (has_prefix(m, prefix, len) &&
            bf_approval_names_add(call->arena, names, m->name, m->name_len) != BF_OK) {
            call->is_nomem = true;
        }
    }
}

bf_value_t bf_facade_form(bf_facade_call_t *call, const bf_value_t *vars,
                          const char *prefix)
{
    static const bf_value_t none = {.type = BF_VALUE_MAP};
    uint32_t len = (uint32_t)strlen(prefix);
    bf_approval_names_t names = {0};
    bf_facade_map_t map;
    vars = vars->type == BF_VALUE_MAP ? vars : &none;
    bf_facade_map_init(call, &map);
    add_prefixed(call, vars, prefix, len, &names);
    for (uint32_t i = 0; i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        if (has_prefix(m, prefix, len)) {
            bf_facade_append(&map, m->name, m->name_len, m->value);
        }
    }
    for (uint32_t i = 0; i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        if (!has_prefix(m, prefix, len)) {
            continue;
        }
        /* of f_a and f_f_a the first is the one that is called f_a */
        size_t known = names.count;
        if (bf_approval_names_add(call->arena, &names, m->name + len,
                                  m->name_len - len) != BF_OK) {
            call->is_nomem = true;
        }
        if (names.count > known) {
            bf_facade_append(&map, m->name + len, m->name_len - len, m->value);
        }
    }
    return bf_facade_map_value(&map);
}

char *bf_facade_answer_id(bf_facade_call_t *call, const char *member)
{
    char *text = bf_arena_calloc(call->arena, 1, BF_NUM_TEXT_MAX);
    call->is_nomem = call->is_nomem || !text;
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put(&map, member, bf_value_string(text ? text : "", 0));
    call->data = bf_facade_map_value(&map);
    return text;
}

void bf_facade_set_id(bf_facade_call_t *call, char *text, int64_t id)
{
    size_t len = bf_num_format_i64(id, text);
    /* the members are those of bf_facade_answer_id() */
    bf_member_t *member = (bf_member_t *)(uintptr_t)call->data.as.members;
    member->value = bf_value_string(text, len);
}

bf_status_t bf_facade_ready(bf_facade_call_t *call)
{
    return call->is_nomem ? bf_err_nomem(&call->err, "the answer") : BF_OK;
}

bf_status_t bf_facade_apply(bf_facade_call_t *call, const bf_ledger_change_t *changes,
                            size_t count)
{
    bf_status_t status = bf_facade_ready(call);
    return status == BF_OK ? bf_ledger_apply(call->ledger, changes, count, &call->err)
                           : status;
}

bf_status_t bf_facade_remove(bf_facade_call_t *call, bf_ledger_table_t table,
                             bf_facade_find_fn find)
{
    const int64_t *ids;
    size_t count;
    bf_status_t status = bf_facade_need_ids(call, &ids, &count);
    if (status != BF_OK) {
        return status;
    }
    bf_ledger_change_t *changes = bf_arena_calloc(call->arena, count, sizeof(*changes));
    if (!changes) {
        return bf_err_nomem(&call->err, "rows to remove");
    }
    for (size_t i = 0; i < count && status == BF_OK; i++) {
        const void *row;
        status = find(call, ids[i], &row);
        changes[i] = (bf_ledger_change_t){BF_LEDGER_DELETE, table, row};
    }
    return status == BF_OK ? bf_facade_apply(call, changes, count) : status;
}
