/*
 * conf_facade.c - approval scenarios: requests to the facade, and checks of what came
 *
 * A path goes through members and list positions; `*` is each element (the values found
 * make a list), `length` at its end the number of elements, members or characters.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/facade.h"
#include "bpmflow/num.h"
#include "bpmflow/regex.h"
#include "conf_jeeflow.h"

/* Whom the original takes where a step says nobody and somebody is needed. */
#define DEFAULT_USER "user1"

void conf_facade_begin(jee_t *jee)
{
    jee->facade = bf_facade_new(jee->approval, NULL);
    if (!jee->facade) {
        conf_die_nomem();
    }
}

void conf_facade_end(jee_t *jee)
{
    bf_facade_free(jee->facade);
    jee->facade = NULL;
}

/* --- paths --- */

/* The elements that a path leads to. */
typedef struct found {
    conf_list_t list;
    bool is_many; /* a `*` was in it */
} found_t;

static bool read_index(const char *word, size_t len, uint32_t *ret)
{
    int64_t index;
    if (bf_num_parse_range(word, len, 0, UINT32_MAX, &index, NULL) != BF_OK) {
        return false;
    }
    *ret = (uint32_t)index;
    return true;
}

static const bf_value_t *length_of(conf_t *conf, const bf_value_t *value)
{
    if (value->type != BF_VALUE_LIST && value->type != BF_VALUE_MAP &&
        value->type != BF_VALUE_STRING) {
        return NULL;
    }
    bf_value_t *length = bf_arena_calloc(&conf->arena, 1, sizeof(*length));
    if (!length) {
        conf_die_nomem();
    }
    *length = bf_value_int(value->len);
    return length;
}

/* One step along the path; NULL = it leads nowhere. */
static const bf_value_t *step_to(conf_t *conf, const bf_value_t *value, const char *word,
                                 size_t len)
{
    const bf_value_t *member = bf_value_get(value, word, len);
    uint32_t index;
    if (member) {
        return member;
    }
    if (value->type == BF_VALUE_LIST && read_index(word, len, &index)) {
        return index < value->len ? &value->as.items[index] : NULL;
    }
    return len == 6 && !memcmp(word, "length", len) ? length_of(conf, value) : NULL;
}

static void walk_path(conf_t *conf, const bf_value_t *value, const char *path,
                      found_t *found);

static void walk_all(conf_t *conf, const bf_value_t *list, const char *rest,
                     found_t *found)
{
    found->is_many = true;
    for (uint32_t i = 0; i < conf_items(list); i++) {
        walk_path(conf, &list->as.items[i], rest, found);
    }
}

static void walk_path(conf_t *conf, const bf_value_t *value, const char *path,
                      found_t *found)
{
    while (value && *path) {
        size_t len = strcspn(path, ".");
        const char *rest = path[len] ? path + len + 1 : path + len;
        if (len == 1 && *path == '*') {
            walk_all(conf, value, rest, found);
            return;
        }
        value = step_to(conf, value, path, len);
        path = rest;
    }
    if (value) {
        conf_list_add(&found->list, value);
    }
}

static found_t find(conf_t *conf, const bf_value_t *value, const char *path)
{
    found_t found = {.is_many = false};
    conf_list_init(conf, &found.list);
    walk_path(conf, value, path, &found);
    return found;
}

/* The only value of a path, or the list of them; NULL = there is none. */
static const bf_value_t *value_of(conf_t *conf, const found_t *found)
{
    if (!found->is_many) {
        return found->list.used ? &found->list.items[0] : NULL;
    }
    bf_value_t *list = bf_arena_calloc(&conf->arena, 1, sizeof(*list));
    if (!list) {
        conf_die_nomem();
    }
    *list = conf_list_value(&found->list);
    return list;
}

/* --- placeholders --- */

static bool begins(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

static bf_value_t id_text(conf_t *conf, int64_t id)
{
    return conf_string(conf, id ? conf_text(conf, "%lld", (long long)id) : "");
}

static const bf_value_t *data_of(const jee_t *jee, int64_t step)
{
    return step >= 0 && step < conf_items(jee->steps) ? jee->data[step] : NULL;
}

/* $data:N:key */
static bf_value_t returned(jee_t *jee, const char *text)
{
    size_t len = strcspn(text, ":");
    int64_t step;
    if (!text[len] || bf_num_parse_i64(text, len, &step, NULL) != BF_OK) {
        return bf_value_null();
    }
    const bf_value_t *data = data_of(jee, step);
    found_t found = find(jee->conf, data, text + len + 1);
    const bf_value_t *value = value_of(jee->conf, &found);
    return value ? *value : bf_value_null();
}

static bf_value_t replaced(jee_t *jee, const char *text)
{
    if (!strcmp(text, "$instance")) {
        return id_text(jee->conf, jee_instance(jee));
    }
    if (begins(text, "$task:")) {
        const bf_task_row_t *row = jee_open_row(jee, text + strlen("$task:"));
        return id_text(jee->conf, row ? row->id : 0);
    }
    if (begins(text, "$define:")) {
        const bf_define_row_t *row =
            bf_ledger_latest_define(jee->ledger, text + strlen("$define:"));
        return id_text(jee->conf, row ? row->id : 0);
    }
    return returned(jee, text + strlen("$data:"));
}

static bool is_placeholder(const char *text)
{
    return !strcmp(text, "$instance") || begins(text, "$task:") ||
           begins(text, "$define:") || begins(text, "$data:");
}

/* A copy with the placeholders filled in; one that means nothing becomes null or an empty
 * text, which the facade refuses where it is needed. */
static bf_value_t fill_in(jee_t *jee, const bf_value_t *value)
{
    conf_map_t map;
    conf_list_t list;
    if (value->type == BF_VALUE_STRING && is_placeholder(value->as.string)) {
        return replaced(jee, value->as.string);
    }
    if (value->type == BF_VALUE_LIST) {
        conf_list_init(jee->conf, &list);
        for (uint32_t i = 0; i < value->len; i++) {
            bf_value_t item = fill_in(jee, &value->as.items[i]);
            conf_list_add(&list, &item);
        }
        return conf_list_value(&list);
    }
    if (value->type == BF_VALUE_MAP) {
        conf_map_init(jee->conf, &map);
        for (uint32_t i = 0; i < value->len; i++) {
            bf_value_t item = fill_in(jee, &value->as.members[i].value);
            conf_map_put(&map, value->as.members[i].name, &item);
        }
        return *conf_map_value(&map);
    }
    return *value;
}

/* --- a request --- */

static int64_t code_of(const bf_value_t *answer)
{
    const bf_value_t *code = bf_value_get_str(answer, "code");
    return code && code->type == BF_VALUE_INT ? code->as.integer : BF_FACADE_FAILED;
}

static bf_value_t *request(jee_t *jee, const char *action, const char *user,
                           const bf_value_t *body)
{
    bf_value_t *answer = bf_arena_calloc(&jee->conf->arena, 1, sizeof(*answer));
    if (!answer || bf_facade_call(jee->facade, action, user, body, &jee->conf->arena,
                                  answer) != BF_OK) {
        conf_die_nomem();
    }
    return answer;
}

bf_status_t conf_facade_run(jee_t *jee, const bf_value_t *step,
                            const bf_value_t **ret_data, bf_err_t *err)
{
    const char *action = bf_value_get_cstr(step, "action");
    const bf_value_t *args = bf_value_get_str(step, "args");
    const char *user = bf_value_get_cstr(step, "operator");
    bf_value_t body = args ? fill_in(jee, args) : bf_value_null();
    user = user ? user : bf_value_get_cstr(&body, "operator");
    const bf_value_t *answer = request(jee, action, user, &body);
    const char *text = bf_value_get_cstr(answer, "msg");
    if (!user && code_of(answer) && text && strstr(text, "acting user")) {
        answer = request(jee, action, DEFAULT_USER, &body);
        text = bf_value_get_cstr(answer, "msg");
    }
    *ret_data = NULL;
    if (code_of(answer) != BF_FACADE_OK) {
        return bf_err_set(err, BF_E_REJECTED, "%s", text ? text : "no text");
    }
    *ret_data = bf_value_get_str(answer, "data");
    return BF_OK;
}

/* --- checks --- */

typedef struct check {
    jee_t *jee;
    const found_t *found;
    const bf_value_t *came; /* NULL = nothing */
    const bf_value_t *arg;
} check_t;

static bool is_not_null(const check_t *check)
{
    for (uint32_t i = 0; i < check->found->list.used; i++) {
        if (bf_value_is_null(&check->found->list.items[i])) {
            return false;
        }
    }
    return check->found->list.used > 0;
}

static bool is_absent(const check_t *check)
{
    return check->found->is_many ? !check->found->list.used
                                 : bf_value_is_null(check->came);
}

/* A pattern is looked for anywhere in the text, the library's match the whole of it. */
static bool matches_one(conf_t *conf, const bf_value_t *pattern, const bf_value_t *value)
{
    if (pattern->type != BF_VALUE_STRING || value->type != BF_VALUE_STRING) {
        return false;
    }
    const char *whole = conf_text(conf, ".*(%s).*", pattern->as.string);
    const bf_regex_t *regex;
    bool is_match = false;
    return bf_regex_parse(&conf->arena, whole, strlen(whole), &regex, NULL) == BF_OK &&
           bf_regex_match(regex, value->as.string, value->len, &conf->arena, &is_match) ==
               BF_OK &&
           is_match;
}

static bool matches(const check_t *check)
{
    for (uint32_t i = 0; i < check->found->list.used; i++) {
        if (!matches_one(check->jee->conf, check->arg, &check->found->list.items[i])) {
            return false;
        }
    }
    return check->found->list.used > 0;
}

static bool is_in(const bf_value_t *list, const bf_value_t *item)
{
    for (uint32_t i = 0; i < conf_items(list); i++) {
        if (bf_value_equal(&list->as.items[i], item)) {
            return true;
        }
    }
    return false;
}

/* An element of a list, a part of a text, or a member of a map. */
static bool contains(const check_t *check)
{
    const bf_value_t *came = check->came;
    if (!came || came->type == BF_VALUE_LIST) {
        return is_in(came, check->arg);
    }
    if (check->arg->type != BF_VALUE_STRING) {
        return false;
    }
    return came->type == BF_VALUE_STRING
               ? strstr(came->as.string, check->arg->as.string) != NULL
               : bf_value_get_str(came, check->arg->as.string) != NULL;
}

static bool contains_not(const check_t *check)
{
    return !contains(check);
}

/* The same elements, in any order and however often. */
static bool is_set(const check_t *check)
{
    if (!check->came || check->came->type != BF_VALUE_LIST) {
        return false;
    }
    for (uint32_t i = 0; i < check->came->len; i++) {
        if (!is_in(check->arg, &check->came->as.items[i])) {
            return false;
        }
    }
    for (uint32_t i = 0; i < conf_items(check->arg); i++) {
        if (!is_in(check->came, &check->arg->as.items[i])) {
            return false;
        }
    }
    return true;
}

static bool is_id(const bf_value_t *value)
{
    return value->type == BF_VALUE_STRING && value->len &&
           strspn(value->as.string, "0123456789") == value->len;
}

static bool is_string_id(const check_t *check)
{
    for (uint32_t i = 0; i < check->found->list.used; i++) {
        if (!is_id(&check->found->list.items[i])) {
            return false;
        }
    }
    return check->found->list.used > 0;
}

/* [step, key]: what that step returned */
static bool is_same(const check_t *check)
{
    if (conf_items(check->arg) != 2 || check->arg->as.items[0].type != BF_VALUE_INT ||
        check->arg->as.items[1].type != BF_VALUE_STRING) {
        return false;
    }
    const bf_value_t *data = data_of(check->jee, check->arg->as.items[0].as.integer);
    found_t found = find(check->jee->conf, data, check->arg->as.items[1].as.string);
    const bf_value_t *other = value_of(check->jee->conf, &found);
    return other && check->came && bf_value_equal(other, check->came);
}

static const struct {
    const char *name;
    bool (*holds)(const check_t *check);
} kinds[] = {
    {"not_null", is_not_null},
    {"absent", is_absent},
    {"matches", matches},
    {"contains", contains},
    {"set", is_set},
    {"same_as", is_same},
    {"not_contains", contains_not},
    {"string_id", is_string_id},
};

static void fails(const check_t *check, const char *path, const char *kind)
{
    conf_t *conf = check->jee->conf;
    conf_fail(check->jee->c, "%s: data.%s: expected %s %s, got %s", check->jee->where,
              path, kind, conf_json(conf, check->arg), conf_json(conf, check->came));
}

static void check_kind(check_t *check, const char *path, const bf_member_t *kind)
{
    check->arg = &kind->value;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!strcmp(kinds[i].name, kind->name)) {
            if (!kinds[i].holds(check)) {
                fails(check, path, kind->name);
            }
            return;
        }
    }
    conf_fail(check->jee->c, "%s: data.%s: the check '%s' is not known",
              check->jee->where, path, kind->name);
}

static bool is_equal(const bf_value_t *expect, const bf_value_t *came)
{
    return bf_value_is_null(expect) ? bf_value_is_null(came)
                                    : came && bf_value_equal(expect, came);
}

static void check_one(jee_t *jee, const bf_value_t *data, const bf_value_t *expect)
{
    static const char *const members[] = {"path", "equals", "check", NULL};
    const char *path = bf_value_get_cstr(expect, "path");
    path = path ? path : "";
    conf_check_members(jee->c, jee->where, expect, members);
    found_t found = find(jee->conf, data, path);
    check_t check = {.jee = jee, .found = &found};
    check.came = value_of(jee->conf, &found);
    check.arg = bf_value_get_str(expect, "equals");
    const bf_value_t *more = bf_value_get_str(expect, "check");
    if (check.arg && !is_equal(check.arg, check.came)) {
        fails(&check, path, "equals");
    }
    for (uint32_t i = 0; i < conf_members(more); i++) {
        check_kind(&check, path, &more->as.members[i]);
    }
    if (!bf_value_get_str(expect, "equals") && !conf_members(more)) {
        conf_fail(jee->c, "%s: data.%s: nothing is checked", jee->where, path);
    }
}

void conf_facade_check(jee_t *jee, uint32_t index, const bf_value_t *checks)
{
    for (uint32_t i = 0; i < conf_items(checks); i++) {
        check_one(jee, jee->data[index], &checks->as.items[i]);
    }
}
