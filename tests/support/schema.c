/*
 * schema.c - holds values against a JSON Schema
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/schema.h"

#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/id.h"

typedef struct checker {
    bf_arena_t *arena;
    const bf_value_t *root;
} checker_t;

static const char *check(const checker_t *checker, const bf_value_t *schema,
                         const bf_value_t *value, const char *path);

bf_value_t test_schema(bf_arena_t *arena, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "config/schema/%s.schema.json", name);
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in, "%s", path);
    static char text[65536];
    size_t len = fread(text, 1, sizeof(text), in);
    cr_assert_lt(len, sizeof(text), "%s", path);
    (void)fclose(in);
    bf_value_t schema;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_json_parse(arena, text, len, NULL, &schema, &err), BF_OK, "%s: %s",
                 path, err.text);
    return schema;
}

static const char *type_of(const bf_value_t *value)
{
    switch (value->type) {
    case BF_VALUE_NULL:
        return "null";
    case BF_VALUE_BOOL:
        return "boolean";
    case BF_VALUE_INT:
        return "integer";
    case BF_VALUE_REAL:
        return "number";
    case BF_VALUE_STRING:
        return "string";
    case BF_VALUE_LIST:
        return "array";
    case BF_VALUE_MAP:
        return "object";
    }
    return "?";
}

static const char *check_type(const checker_t *checker, const bf_value_t *want,
                              const bf_value_t *value, const char *path)
{
    const char *type = type_of(value);
    if (want->type == BF_VALUE_STRING && !strcmp(want->as.string, type)) {
        return NULL;
    }
    for (uint32_t i = 0; want->type == BF_VALUE_LIST && i < want->len; i++) {
        if (!strcmp(want->as.items[i].as.string, type)) {
            return NULL;
        }
    }
    return bf_arena_printf(checker->arena, "%s: %s is not the type", path, type);
}

static const char *check_enum(const checker_t *checker, const bf_value_t *list,
                              const bf_value_t *value, const char *path)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (bf_value_equal(&list->as.items[i], value)) {
            return NULL;
        }
    }
    return bf_arena_printf(checker->arena, "%s: none of the list", path);
}

static const char *check_required(const checker_t *checker, const bf_value_t *list,
                                  const bf_value_t *value, const char *path)
{
    for (uint32_t i = 0; value->type == BF_VALUE_MAP && i < list->len; i++) {
        const char *name = list->as.items[i].as.string;
        if (!bf_value_get_str(value, name)) {
            return bf_arena_printf(checker->arena, "%s: %s is missing", path, name);
        }
    }
    return NULL;
}

/* properties and additionalProperties */
static const char *check_members(const checker_t *checker, const bf_value_t *schema,
                                 const bf_value_t *value, const char *path)
{
    const bf_value_t *properties = bf_value_get_str(schema, "properties");
    const bf_value_t *others = bf_value_get_str(schema, "additionalProperties");
    const char *why = NULL;
    for (uint32_t i = 0; !why && value->type == BF_VALUE_MAP && i < value->len; i++) {
        const bf_member_t *member = &value->as.members[i];
        const bf_value_t *sub = bf_value_get(properties, member->name, member->name_len);
        const char *at = bf_arena_printf(checker->arena, "%s/%s", path, member->name);
        if (!sub && others && others->type == BF_VALUE_BOOL && !others->as.boolean) {
            return bf_arena_printf(checker->arena, "%s is not foreseen", at);
        }
        sub = sub || !others || others->type != BF_VALUE_MAP ? sub : others;
        why = sub ? check(checker, sub, &member->value, at) : NULL;
    }
    return why;
}

static const char *check_items(const checker_t *checker, const bf_value_t *schema,
                               const bf_value_t *value, const char *path)
{
    const char *why = NULL;
    for (uint32_t i = 0; !why && value->type == BF_VALUE_LIST && i < value->len; i++) {
        why = check(checker, schema, &value->as.items[i],
                    bf_arena_printf(checker->arena, "%s/%u", path, i));
    }
    return why;
}

static const char *check_any(const checker_t *checker, const bf_value_t *list,
                             const bf_value_t *value, const char *path)
{
    const char *why = NULL;
    for (uint32_t i = 0; i < list->len; i++) {
        why = check(checker, &list->as.items[i], value, path);
        if (!why) {
            return NULL;
        }
    }
    return why;
}

static const char *check_text(const checker_t *checker, const bf_member_t *rule,
                              const bf_value_t *value, const char *path)
{
    if (value->type != BF_VALUE_STRING) {
        return NULL;
    }
    bool good = false;
    if (!strcmp(rule->name, "pattern")) {
        regex_t regex;
        cr_assert_eq(regcomp(&regex, rule->value.as.string, REG_EXTENDED | REG_NOSUB), 0);
        good = regexec(&regex, value->as.string, 0, NULL, 0) == 0;
        regfree(&regex);
    } else {
        int64_t len = (int64_t)bf_utf8_length(value->as.string, value->len);
        good = !strcmp(rule->name, "minLength") ? len >= rule->value.as.integer
                                                : len <= rule->value.as.integer;
    }
    return good ? NULL
                : bf_arena_printf(checker->arena, "%s: against %s", path, rule->name);
}

static const bf_value_t *resolve(const checker_t *checker, const char *ref)
{
    cr_assert_eq(strncmp(ref, "#/$defs/", 8), 0, "%s", ref);
    const bf_value_t *found =
        bf_value_get_str(bf_value_get_str(checker->root, "$defs"), ref + 8);
    cr_assert_not_null(found, "%s", ref);
    return found;
}

static bool is_remark(const char *name)
{
    static const char *const names[] = {
        "$schema", "$id",         "$defs",      "title",
        "format",  "description", "properties", "additionalProperties"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(names[i], name)) {
            return true;
        }
    }
    return false;
}

static const char *check_rule(const checker_t *checker, const bf_member_t *rule,
                              const bf_value_t *value, const char *path)
{
    const bf_value_t *want = &rule->value;
    if (!strcmp(rule->name, "type")) {
        return check_type(checker, want, value, path);
    }
    if (!strcmp(rule->name, "enum")) {
        return check_enum(checker, want, value, path);
    }
    if (!strcmp(rule->name, "const")) {
        return bf_value_equal(want, value) ? NULL : path;
    }
    if (!strcmp(rule->name, "required")) {
        return check_required(checker, want, value, path);
    }
    if (!strcmp(rule->name, "items")) {
        return check_items(checker, want, value, path);
    }
    if (!strcmp(rule->name, "anyOf")) {
        return check_any(checker, want, value, path);
    }
    if (!strcmp(rule->name, "$ref")) {
        return check(checker, resolve(checker, want->as.string), value, path);
    }
    if (!strcmp(rule->name, "minimum")) {
        bool less = value->type == BF_VALUE_INT && value->as.integer < want->as.integer;
        return less ? bf_arena_printf(checker->arena, "%s: too small", path) : NULL;
    }
    if (!strcmp(rule->name, "minLength") || !strcmp(rule->name, "maxLength") ||
        !strcmp(rule->name, "pattern")) {
        return check_text(checker, rule, value, path);
    }
    cr_assert(is_remark(rule->name), "keyword %s is not known here", rule->name);
    return NULL;
}

static const char *check(const checker_t *checker, const bf_value_t *schema,
                         const bf_value_t *value, const char *path)
{
    const char *why = NULL;
    for (uint32_t i = 0; !why && i < schema->len; i++) {
        why = check_rule(checker, &schema->as.members[i], value, path);
    }
    return why ? why : check_members(checker, schema, value, path);
}

const char *test_schema_check(bf_arena_t *arena, const bf_value_t *schema,
                              const bf_value_t *value)
{
    const checker_t checker = {arena, schema};
    return check(&checker, schema, value, "");
}

const char *test_schema_check_text(bf_arena_t *arena, const bf_value_t *schema,
                                   const char *json, size_t len)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    if (bf_json_parse(arena, json, len, NULL, &value, &err) != BF_OK) {
        return bf_arena_strdup(arena, err.text);
    }
    return test_schema_check(arena, schema, &value);
}
