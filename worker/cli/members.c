/*
 * members.c - JSON objects from the command line; see members.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/members.h"

#include <stdio.h>
#include <string.h>

#include "bpmflow/array.h"
#include "worker/cli/cli.h"

/* A whole file (or "-", the standard input) up to max_bytes. BF_E_IO, BF_E_LIMIT. */
static bf_status_t read_file(bf_arena_t *arena, const char *path, size_t max_bytes,
                             const char **ret, size_t *ret_len, bf_err_t *err)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    if (!file)
        return bf_err_set(err, BF_E_IO, "cannot read %s: %s", path, bf_cli_errno_text());
    bf_str_t text;
    bf_str_init(&text, max_bytes);
    char buffer[8192];
    size_t n;
    while (!text.too_big && (n = fread(buffer, 1, sizeof buffer, file)) > 0)
        bf_str_append(&text, buffer, n);
    bf_status_t rc = BF_OK;
    if (ferror(file))
        rc = bf_err_set(err, BF_E_IO, "cannot read %s: %s", path, bf_cli_errno_text());
    else if (text.too_big)
        rc = bf_err_set(err, BF_E_LIMIT, "%s is larger than %zu bytes", path, max_bytes);
    else
        rc = bf_str_status(&text, path, err);
    if (!standard)
        (void)fclose(file);
    if (rc == BF_OK) {
        *ret = bf_arena_strndup(arena, bf_str_peek(&text), text.len);
        *ret_len = text.len;
        if (!*ret)
            rc = bf_err_nomem(err, path);
    }
    bf_str_fini(&text);
    return rc;
}

typedef struct object {
    bf_arena_t *arena;
    bf_member_t *members;
    uint32_t count;
    size_t cap;
} object_t;

static bf_status_t put(object_t *object, const char *name, uint32_t len, bf_value_t value,
                       bf_err_t *err)
{
    for (uint32_t i = 0; i < object->count; i++) {
        bf_member_t *old = &object->members[i];
        if (old->name_len == len && memcmp(old->name, name, len) == 0) {
            old->value = value;
            return BF_OK;
        }
    }
    if (object->count == object->cap) {
        bf_member_t *members = bf_array_grow_in(object->arena, object->members,
                                                &object->cap, sizeof *members, 16);
        if (!members)
            return bf_err_nomem(err, "members");
        object->members = members;
    }
    object->members[object->count++] = (bf_member_t){name, len, value};
    return BF_OK;
}

static bf_status_t put_pair(object_t *object, const char *what, const char *text,
                            bf_err_t *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return bf_err_set(err, BF_E_INVALID,
                          "%s '%s': write NAME=VALUE, '{\"name\": value}' or @FILE", what,
                          text);
    size_t len = (size_t)(equals - text);
    const char *name = bf_arena_strndup(object->arena, text, len);
    if (!name || len > UINT32_MAX)
        return bf_err_nomem(err, "members");
    const char *right = equals + 1;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_value_t value;
    bf_arena_mark_t mark = bf_arena_mark(object->arena);
    if (bf_json_parse(object->arena, right, strlen(right), &limits, &value, NULL) !=
        BF_OK) {
        bf_arena_reset(object->arena, mark);
        value = bf_value_cstr(right);
    }
    return put(object, name, (uint32_t)len, value, err);
}

static bf_status_t put_json(object_t *object, const char *what, const char *text,
                            size_t len, bf_err_t *err)
{
    bf_value_t value;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_status_t rc = bf_json_parse(object->arena, text, len, &limits, &value, err);
    if (rc != BF_OK) {
        bf_err_prefix(err, "%s: ", what);
        return rc;
    }
    if (value.type != BF_VALUE_MAP)
        return bf_err_set(err, BF_E_INVALID, "%s: a JSON object is needed, not a %s",
                          what, bf_value_type_name(value.type));
    for (uint32_t i = 0; rc == BF_OK && i < value.len; i++) {
        const bf_member_t *member = &value.as.members[i];
        rc = put(object, member->name, member->name_len, member->value, err);
    }
    return rc;
}

bf_status_t bf_cli_members(bf_arena_t *arena, const char *what, const char *const *texts,
                           size_t count, bf_value_t *ret, bf_err_t *err)
{
    object_t object = {.arena = arena};
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        const char *text = texts[i];
        size_t len = strlen(text);
        if (text[0] == '@') {
            rc = read_file(arena, text + 1, BF_JSON_MAX_BYTES, &text, &len, err);
            if (rc == BF_OK)
                rc = put_json(&object, texts[i] + 1, text, len, err);
        } else if (text[strspn(text, " \t\n")] == '{') {
            rc = put_json(&object, what, text, len, err);
        } else {
            rc = put_pair(&object, what, text, err);
        }
    }
    if (rc == BF_OK) {
        memset(ret, 0, sizeof *ret);
        ret->type = BF_VALUE_MAP;
        ret->len = object.count;
        ret->as.members = object.members;
    }
    return rc;
}
