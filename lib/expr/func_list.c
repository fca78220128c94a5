/*
 * func_list.c - functions on lists and maps, and those that take several kinds
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "lib/expr/expr_int.h"

static bf_status_t expected(bf_vm_t *vm, const char *what, const char *kinds,
                            const bf_value_t *found)
{
    return bf_vm_fail(vm, "%s: expected %s, found %s", what, kinds,
                      bf_value_type_name(found->type));
}

static bf_status_t fn_size(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    switch ((int)args[0].type) {
    case BF_VALUE_STRING:
        *ret = bf_value_int((int64_t)bf_utf8_length(args[0].as.string, args[0].len));
        return bf_vm_charge(vm, args[0].len / 64);
    case BF_VALUE_LIST:
    case BF_VALUE_MAP:
        *ret = bf_value_int(args[0].len);
        return BF_OK;
    case BF_VALUE_NULL:
        *ret = bf_value_int(0);
        return BF_OK;
    default:
        return expected(vm, "size", "a text, a list or a map", &args[0]);
    }
}

static bf_status_t is_empty(bf_vm_t *vm, const bf_value_t *value, bool *ret)
{
    if (value->type == BF_VALUE_NULL) {
        *ret = true;
        return BF_OK;
    }
    if (value->type < BF_VALUE_STRING) {
        return expected(vm, "isEmpty", "a text, a list or a map", value);
    }
    *ret = value->len == 0;
    return BF_OK;
}

static bf_status_t fn_is_empty(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)argc;
    bool empty = false;
    bf_status_t rc = is_empty(vm, &args[0], &empty);
    *ret = bf_value_bool(empty);
    return rc;
}

static bf_status_t fn_is_not_empty(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                   bf_value_t *ret)
{
    (void)argc;
    bool empty = false;
    bf_status_t rc = is_empty(vm, &args[0], &empty);
    *ret = bf_value_bool(!empty);
    return rc;
}

static bf_status_t fn_contains(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)argc;
    bool found = false;
    bf_status_t rc = bf_op_in(vm, &args[1], &args[0], &found);
    *ret = bf_value_bool(found);
    return rc;
}

static bf_status_t fn_contains_key(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                   bf_value_t *ret)
{
    if (args[0].type != BF_VALUE_MAP) {
        return expected(vm, "containsKey", "a map", &args[0]);
    }
    return fn_contains(vm, args, argc, ret);
}

static bf_status_t fn_index_of(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)argc;
    if (args[0].type == BF_VALUE_STRING) {
        return bf_fn_index_of_text(vm, args, ret);
    }
    if (args[0].type != BF_VALUE_LIST) {
        return expected(vm, "indexOf", "a text or a list", &args[0]);
    }
    int64_t place = -1;
    bf_status_t rc = bf_vm_charge(vm, args[0].len / 4);
    for (uint32_t i = 0; rc == BF_OK && place < 0 && i < args[0].len; i++) {
        bool equal = false;
        rc = bf_op_equal(vm, &args[0].as.items[i], &args[1], &equal);
        place = equal ? (int64_t)i : -1;
    }
    *ret = bf_value_int(place);
    return rc;
}

static bf_status_t fn_get(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    bf_status_t rc = bf_op_index(vm, &args[0], &args[1], ret);
    if (rc == BF_OK && argc > 2 && ret->type == BF_VALUE_NULL) {
        *ret = args[2];
    }
    return rc;
}

static bf_status_t end_of_list(bf_vm_t *vm, const char *what, const bf_value_t *list,
                               bool last, bf_value_t *ret)
{
    if (list->type != BF_VALUE_LIST) {
        return expected(vm, what, "a list", list);
    }
    *ret = list->len ? list->as.items[last ? list->len - 1 : 0] : bf_value_null();
    return BF_OK;
}

static bf_status_t fn_first(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    (void)argc;
    return end_of_list(vm, "first", &args[0], false, ret);
}

static bf_status_t fn_last(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    return end_of_list(vm, "last", &args[0], true, ret);
}

/* Names or values of a map as a list. */
static bf_status_t map_parts(bf_vm_t *vm, const char *what, const bf_value_t *map,
                             bool names, bf_value_t *ret)
{
    if (map->type != BF_VALUE_MAP) {
        return expected(vm, what, "a map", map);
    }
    void *data = NULL;
    bf_status_t rc = bf_vm_alloc(vm, map->len * sizeof(bf_value_t), &data);
    if (rc != BF_OK || !data) {
        return rc;
    }
    bf_value_t *items = data;
    for (uint32_t i = 0; i < map->len; i++) {
        const bf_member_t *m = &map->as.members[i];
        items[i] = names ? bf_value_string(m->name, m->name_len) : m->value;
    }
    *ret = (bf_value_t){.type = BF_VALUE_LIST, .len = map->len, .as.items = items};
    return BF_OK;
}

static bf_status_t fn_keys(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    return map_parts(vm, "keys", &args[0], true, ret);
}

static bf_status_t fn_values(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    (void)argc;
    return map_parts(vm, "values", &args[0], false, ret);
}

static bf_status_t fn_list(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    void *data = NULL;
    bf_status_t rc = bf_vm_alloc(vm, argc * sizeof(bf_value_t), &data);
    if (rc == BF_OK) {
        if (argc) {
            memcpy(data, args, argc * sizeof(bf_value_t));
        }
        *ret = (bf_value_t){.type = BF_VALUE_LIST, .len = argc, .as.items = data};
    }
    return rc;
}

static bf_status_t join(bf_vm_t *vm, const bf_value_t *list, const bf_value_t *separator,
                        bf_value_t *ret)
{
    if (list->type != BF_VALUE_LIST) {
        return expected(vm, "join", "a list", list);
    }
    if (separator->type != BF_VALUE_STRING) {
        return expected(vm, "join", "a text between the items", separator);
    }
    bf_str_t str;
    bf_str_init(&str, BF_EXPR_MAX_RESULT_BYTES);
    bf_status_t rc = bf_vm_charge(vm, list->len);
    for (uint32_t i = 0; rc == BF_OK && i < list->len && !bf_str_failed(&str); i++) {
        bf_value_t text;
        rc = bf_vm_text(vm, &list->as.items[i], &text);
        if (rc == BF_OK) {
            bf_str_append(&str, separator->as.string, i ? separator->len : 0);
            bf_str_append(&str, text.as.string, text.len);
        }
    }
    if (rc == BF_OK && bf_str_failed(&str)) {
        rc = str.too_big ? bf_vm_fail(vm, "join: the result is larger than %zu bytes",
                                      BF_EXPR_MAX_RESULT_BYTES)
                         : bf_err_nomem(vm->err, "expression");
    }
    if (rc == BF_OK) {
        rc = bf_vm_string(vm, bf_str_peek(&str), str.len, ret);
    }
    bf_str_fini(&str);
    return rc;
}

static bf_status_t fn_join(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    bf_value_t comma = bf_value_string(",", 1);
    return join(vm, &args[0], argc > 1 ? &args[1] : &comma, ret);
}

/* String.join(",", list) of Java. */
static bf_status_t fn_join_with(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                bf_value_t *ret)
{
    bf_value_t list = args[1];
    if (list.type != BF_VALUE_LIST) {
        list = (bf_value_t){.type = BF_VALUE_LIST, .len = argc - 1, .as.items = &args[1]};
    }
    return join(vm, &list, &args[0], ret);
}

static bf_status_t fn_coalesce(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)vm;
    uint32_t i = 0;
    while (i + 1 < argc && args[i].type == BF_VALUE_NULL) {
        i++;
    }
    *ret = args[i];
    return BF_OK;
}

static bf_status_t fn_is_null(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)vm;
    (void)argc;
    *ret = bf_value_bool(args[0].type == BF_VALUE_NULL);
    return BF_OK;
}

static bf_status_t fn_non_null(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)vm;
    (void)argc;
    *ret = bf_value_bool(args[0].type != BF_VALUE_NULL);
    return BF_OK;
}

static bf_status_t fn_type(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)vm;
    (void)argc;
    *ret = bf_value_cstr(bf_value_type_name(args[0].type));
    return BF_OK;
}

const bf_function_t bf_functions_list[] = {
    {"size", 1, 1, BF_FN_BOTH | BF_FN_NULL, fn_size},
    {"length", 1, 1, BF_FN_BOTH | BF_FN_NULL, fn_size},
    {"isEmpty", 1, 1, BF_FN_BOTH | BF_FN_NULL, fn_is_empty},
    {"empty", 1, 1, BF_FN_PLAIN, fn_is_empty},
    {"isNotEmpty", 1, 1, BF_FN_BOTH | BF_FN_NULL, fn_is_not_empty},
    {"contains", 2, 2, BF_FN_BOTH | BF_FN_NULL, fn_contains},
    {"containsKey", 2, 2, BF_FN_BOTH, fn_contains_key},
    {"has", 2, 2, BF_FN_BOTH | BF_FN_NULL, fn_contains},
    {"indexOf", 2, 2, BF_FN_BOTH, fn_index_of},
    {"get", 2, 3, BF_FN_BOTH, fn_get},
    {"getOrDefault", 3, 3, BF_FN_BOTH | BF_FN_NULL, fn_get},
    {"first", 1, 1, BF_FN_BOTH, fn_first},
    {"last", 1, 1, BF_FN_BOTH, fn_last},
    {"keys", 1, 1, BF_FN_BOTH, fn_keys},
    {"keySet", 1, 1, BF_FN_METHOD, fn_keys},
    {"values", 1, 1, BF_FN_BOTH, fn_values},
    {"list", 0, BF_ARGS_ANY, BF_FN_PLAIN, fn_list},
    {"join", 1, 2, BF_FN_BOTH, fn_join},
    {"joinWith", 2, BF_ARGS_ANY, BF_FN_PLAIN, fn_join_with},
    {"coalesce", 1, BF_ARGS_ANY, BF_FN_PLAIN, fn_coalesce},
    {"isNull", 1, 1, BF_FN_PLAIN, fn_is_null},
    {"nonNull", 1, 1, BF_FN_PLAIN, fn_non_null},
    {"type", 1, 1, BF_FN_PLAIN, fn_type},
    {NULL, 0, 0, 0, NULL},
};
