/*
 * func_text.c - functions on text
 *
 * Places and lengths count characters (code points).  Upper and lower case are those of
 * ASCII; other letters stay as they are.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "lib/expr/expr_int.h"

static bf_status_t expect_text(bf_vm_t *vm, const char *what, const bf_value_t *value)
{
    if (value->type == BF_VALUE_STRING) {
        return bf_vm_charge(vm, value->len / 64);
    }
    return bf_vm_fail(vm, "%s: expected a string, found %s", what,
                      bf_value_type_name(value->type));
}

static bf_status_t expect_two(bf_vm_t *vm, const char *what, const bf_value_t *args)
{
    bf_status_t rc = expect_text(vm, what, &args[0]);
    return rc == BF_OK ? expect_text(vm, what, &args[1]) : rc;
}

static bf_status_t expect_place(bf_vm_t *vm, const char *what, const bf_value_t *value)
{
    if (value->type == BF_VALUE_INT) {
        return BF_OK;
    }
    return bf_vm_fail(vm, "%s: expected a whole number, found %s", what,
                      bf_value_type_name(value->type));
}

static bool is_head(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Byte offset of a character; len when there are fewer. */
static size_t byte_offset(const bf_value_t *text, int64_t place)
{
    int64_t n = -1;
    for (size_t i = 0; i < text->len; i++) {
        if (is_head(text->as.string[i]) && ++n == place) {
            return i;
        }
    }
    return text->len;
}

static int64_t character_count(const bf_value_t *text)
{
    return (int64_t)bf_utf8_length(text->as.string, text->len);
}

static bf_status_t fn_case(bf_vm_t *vm, const bf_value_t *args, bool upper,
                           bf_value_t *ret)
{
    bf_status_t rc = expect_text(vm, upper ? "toUpperCase" : "toLowerCase", &args[0]);
    void *data = NULL;
    if (rc == BF_OK) {
        rc = bf_vm_alloc(vm, args[0].len + 1U, &data);
    }
    if (rc != BF_OK || !data) {
        return rc;
    }
    char *text = data;
    for (uint32_t i = 0; i <= args[0].len; i++) {
        char c = args[0].as.string[i];
        bool change = upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
        text[i] = change ? (char)(c ^ 0x20) : c;
    }
    *ret = bf_value_string(text, args[0].len);
    return BF_OK;
}

static bf_status_t fn_upper(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    (void)argc;
    return fn_case(vm, args, true, ret);
}

static bf_status_t fn_lower(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    (void)argc;
    return fn_case(vm, args, false, ret);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bf_status_t fn_trim(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_text(vm, "trim", &args[0]);
    if (rc != BF_OK) {
        return rc;
    }
    size_t start = 0;
    size_t end = args[0].len;
    while (start < end && is_blank(args[0].as.string[start])) {
        start++;
    }
    while (end > start && is_blank(args[0].as.string[end - 1])) {
        end--;
    }
    return bf_vm_string(vm, args[0].as.string + start, end - start, ret);
}

static bf_status_t fn_starts_with(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                  bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_two(vm, "startsWith", args);
    if (rc == BF_OK) {
        *ret = bf_value_bool(args[0].len >= args[1].len &&
                             !memcmp(args[0].as.string, args[1].as.string, args[1].len));
    }
    return rc;
}

static bf_status_t fn_ends_with(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_two(vm, "endsWith", args);
    if (rc == BF_OK) {
        *ret = bf_value_bool(args[0].len >= args[1].len &&
                             !memcmp(args[0].as.string + (args[0].len - args[1].len),
                                     args[1].as.string, args[1].len));
    }
    return rc;
}

static bf_status_t fn_substring(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                bf_value_t *ret)
{
    bf_status_t rc = expect_text(vm, "substring", &args[0]);
    for (uint32_t i = 1; rc == BF_OK && i < argc; i++) {
        rc = expect_place(vm, "substring", &args[i]);
    }
    if (rc != BF_OK) {
        return rc;
    }
    int64_t count = character_count(&args[0]);
    int64_t from = args[1].as.integer;
    int64_t to = argc > 2 ? args[2].as.integer : count;
    if (from < 0 || to > count || from > to) {
        return bf_vm_fail(vm,
                          "substring: %lld to %lld is outside of a text of %lld "
                          "characters",
                          (long long)from, (long long)to, (long long)count);
    }
    size_t start = byte_offset(&args[0], from);
    size_t end = byte_offset(&args[0], to);
    return bf_vm_string(vm, args[0].as.string + start, end - start, ret);
}

static bf_status_t fn_char_at(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_text(vm, "charAt", &args[0]);
    return rc == BF_OK ? bf_op_index(vm, &args[0], &args[1], ret) : rc;
}

/* A byte offset as a count of characters; -1 for NULL. */
static bf_value_t place_of(const bf_value_t *text, const char *found)
{
    if (!found) {
        return bf_value_int(-1);
    }
    return bf_value_int(
        (int64_t)bf_utf8_length(text->as.string, (size_t)(found - text->as.string)));
}

bf_status_t bf_fn_index_of_text(bf_vm_t *vm, const bf_value_t *args, bf_value_t *ret)
{
    bf_status_t rc = expect_two(vm, "indexOf", args);
    if (rc == BF_OK) {
        const char *found = args[1].len ? memmem(args[0].as.string, args[0].len,
                                                 args[1].as.string, args[1].len)
                                        : args[0].as.string;
        *ret = place_of(&args[0], found);
    }
    return rc;
}

static bf_status_t fn_last_index_of(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                    bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_two(vm, "lastIndexOf", args);
    if (rc == BF_OK) {
        rc = bf_vm_charge(vm, (size_t)args[0].len * (args[1].len / 64 + 1U) / 16);
    }
    if (rc != BF_OK) {
        return rc;
    }
    const char *found = NULL;
    for (size_t i = args[0].len + 1U; !found && i-- > 0;) {
        if (args[0].len - i >= args[1].len &&
            !memcmp(args[0].as.string + i, args[1].as.string, args[1].len)) {
            found = args[0].as.string + i;
        }
    }
    *ret = place_of(&args[0], found);
    return BF_OK;
}

static size_t count_parts(const bf_value_t *text, const bf_value_t *part)
{
    size_t n = 0;
    const char *at = text->as.string;
    const char *end = at + text->len;
    while (part->len &&
           (at = memmem(at, (size_t)(end - at), part->as.string, part->len))) {
        at += part->len;
        n++;
    }
    return n;
}

static bf_status_t fn_replace(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_two(vm, "replace", args);
    if (rc == BF_OK) {
        rc = expect_text(vm, "replace", &args[2]);
    }
    if (rc != BF_OK) {
        return rc;
    }
    size_t count = count_parts(&args[0], &args[1]);
    size_t kept = args[0].len - count * args[1].len;
    size_t added;
    if (__builtin_mul_overflow(count, args[2].len, &added) || added > UINT32_MAX) {
        added = UINT32_MAX;
    }
    void *data = NULL;
    rc = bf_vm_alloc(vm, kept + added + 1, &data);
    if (rc != BF_OK || !data) {
        return rc;
    }
    char *out = data;
    const char *at = args[0].as.string;
    const char *end = at + args[0].len;
    for (size_t i = 0; i < count; i++) {
        const char *next = memmem(at, (size_t)(end - at), args[1].as.string, args[1].len);
        memcpy(out, at, (size_t)(next - at));
        out += next - at;
        memcpy(out, args[2].as.string, args[2].len);
        out += args[2].len;
        at = next + args[1].len;
    }
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = '\0';
    *ret = bf_value_string(data, kept + added);
    return BF_OK;
}

/* At plain text, not at a pattern; empty parts stay. */
static bf_status_t fn_split(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_two(vm, "split", args);
    if (rc == BF_OK && args[1].len == 0) {
        rc = bf_vm_fail(vm, "split: the separator is empty");
    }
    if (rc != BF_OK) {
        return rc;
    }
    size_t count = count_parts(&args[0], &args[1]) + 1;
    void *data = NULL;
    rc = bf_vm_alloc(vm, count * sizeof(bf_value_t), &data);
    bf_value_t *items = data;
    const char *at = args[0].as.string;
    const char *end = at + args[0].len;
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        const char *next = end;
        if (i + 1 < count) {
            next = memmem(at, (size_t)(end - at), args[1].as.string, args[1].len);
        }
        rc = bf_vm_string(vm, at, (size_t)(next - at), &items[i]);
        at = next + args[1].len;
    }
    *ret = (bf_value_t){.type = BF_VALUE_LIST, .len = (uint32_t)count, .as.items = items};
    return rc;
}

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bf_status_t fn_equals(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    (void)argc;
    bool equal = false;
    bf_status_t rc = bf_op_equal(vm, &args[0], &args[1], &equal);
    *ret = bf_value_bool(equal);
    return rc;
}

static bf_status_t fn_equals_ignore_case(bf_vm_t *vm, const bf_value_t *args,
                                         uint32_t argc, bf_value_t *ret)
{
    (void)argc;
    if (args[0].type != BF_VALUE_STRING || args[1].type != BF_VALUE_STRING) {
        return fn_equals(vm, args, argc, ret);
    }
    bool equal = args[0].len == args[1].len;
    for (uint32_t i = 0; equal && i < args[0].len; i++) {
        equal = fold(args[0].as.string[i]) == fold(args[1].as.string[i]);
    }
    *ret = bf_value_bool(equal);
    return bf_vm_charge(vm, args[0].len / 16);
}

/* -1, 0, 1: numbers by size, texts byte by byte (that is by code point). */
static bf_status_t fn_compare(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)argc;
    int order = 0;
    bf_status_t rc = BF_OK;
    if (args[0].type == BF_VALUE_STRING && args[1].type == BF_VALUE_STRING) {
        uint32_t common = args[0].len < args[1].len ? args[0].len : args[1].len;
        order = memcmp(args[0].as.string, args[1].as.string, common);
        if (order == 0) {
            order = (args[0].len > args[1].len) - (args[0].len < args[1].len);
        }
        rc = bf_vm_charge(vm, common / 64);
    } else if (bf_op_is_number(&args[0]) && bf_op_is_number(&args[1])) {
        bool less = false;
        bool greater = false;
        rc = bf_op_order(vm, BF_OP_LT, &args[0], &args[1], &less);
        if (rc == BF_OK) {
            rc = bf_op_order(vm, BF_OP_GT, &args[0], &args[1], &greater);
        }
        order = greater - less;
    } else {
        return bf_vm_fail(
            vm, "compare: expected two texts or two numbers, found %s and %s",
            bf_value_type_name(args[0].type), bf_value_type_name(args[1].type));
    }
    *ret = bf_value_int((order > 0) - (order < 0));
    return rc;
}

static bf_status_t fn_matches(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)argc;
    *ret = bf_value_bool(false);
    if (args[0].type == BF_VALUE_NULL) {
        return BF_OK;
    }
    bf_status_t rc = expect_text(vm, "matches", &args[1]);
    if (rc == BF_OK) {
        /* The text of the pattern is parsed here and now. */
        rc = bf_vm_charge(vm, 100 + (size_t)args[1].len);
    }
    if (rc != BF_OK) {
        return rc;
    }
    const bf_regex_t *regex;
    bf_err_t why = BF_ERR_INIT;
    rc = bf_regex_parse(vm->env->arena, args[1].as.string, args[1].len, &regex, &why);
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(vm->err, "expression");
    }
    if (rc != BF_OK) {
        return bf_vm_fail(vm, "%s", why.text);
    }
    bool matches = false;
    rc = bf_op_matches(vm, &args[0], regex, &matches);
    *ret = bf_value_bool(matches);
    return rc;
}

static bf_status_t fn_string(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    (void)argc;
    return bf_vm_text(vm, &args[0], ret);
}

static bf_status_t fn_concat(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    bf_value_t all = bf_value_string("", 0);
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && i < argc; i++) {
        bf_value_t left = all;
        rc = bf_op_arithmetic(vm, BF_OP_ADD, &left, &args[i], &all);
    }
    *ret = all;
    return rc;
}

static bf_status_t fn_is_blank(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)argc;
    if (args[0].type == BF_VALUE_NULL) {
        *ret = bf_value_bool(true);
        return BF_OK;
    }
    bf_status_t rc = expect_text(vm, "isBlank", &args[0]);
    bool blank = true;
    for (uint32_t i = 0; rc == BF_OK && blank && i < args[0].len; i++) {
        blank = is_blank(args[0].as.string[i]);
    }
    *ret = bf_value_bool(blank);
    return rc;
}

const bf_function_t bf_functions_text[] = {
    {"toUpperCase", 1, 1, BF_FN_BOTH, fn_upper},
    {"upper", 1, 1, BF_FN_BOTH, fn_upper},
    {"toLowerCase", 1, 1, BF_FN_BOTH, fn_lower},
    {"lower", 1, 1, BF_FN_BOTH, fn_lower},
    {"trim", 1, 1, BF_FN_BOTH, fn_trim},
    {"startsWith", 2, 2, BF_FN_BOTH, fn_starts_with},
    {"endsWith", 2, 2, BF_FN_BOTH, fn_ends_with},
    {"substring", 2, 3, BF_FN_BOTH, fn_substring},
    {"charAt", 2, 2, BF_FN_BOTH, fn_char_at},
    {"lastIndexOf", 2, 2, BF_FN_BOTH, fn_last_index_of},
    {"replace", 3, 3, BF_FN_BOTH, fn_replace},
    {"split", 2, 2, BF_FN_BOTH, fn_split},
    {"equals", 2, 2, BF_FN_BOTH | BF_FN_NULL, fn_equals},
    {"equalsIgnoreCase", 2, 2, BF_FN_BOTH | BF_FN_NULL, fn_equals_ignore_case},
    {"compare", 2, 2, BF_FN_PLAIN, fn_compare},
    {"compareTo", 2, 2, BF_FN_METHOD, fn_compare},
    {"matches", 2, 2, BF_FN_BOTH | BF_FN_NULL, fn_matches},
    {"string", 1, 1, BF_FN_PLAIN, fn_string},
    {"toString", 1, 1, BF_FN_METHOD, fn_string},
    {"concat", 1, BF_ARGS_ANY, BF_FN_BOTH, fn_concat},
    {"isBlank", 1, 1, BF_FN_BOTH | BF_FN_NULL, fn_is_blank},
    {NULL, 0, 0, 0, NULL},
};
