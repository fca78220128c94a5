/*
 * conf_compare.c - what is expected against what came
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/conf_flow.h"

static bool is_part_of_text(const bf_value_t *expect, const bf_value_t *came)
{
    if (bf_value_is_null(expect)) {
        return bf_value_is_null(came);
    }
    return expect->type == BF_VALUE_STRING && came && came->type == BF_VALUE_STRING &&
           strstr(came->as.string, expect->as.string);
}

static bool is_part_of_map(const bf_value_t *expect, const bf_value_t *came)
{
    for (uint32_t i = 0; i < conf_members(expect); i++) {
        const bf_member_t *m = &expect->as.members[i];
        const bf_value_t *value = bf_value_get(came, m->name, m->name_len);
        if (bf_value_is_null(&m->value) ? !bf_value_is_null(value)
                                        : !value || !bf_value_equal(&m->value, value)) {
            return false;
        }
    }
    return true;
}

static size_t count_in(const bf_value_t *list, const bf_value_t *item)
{
    size_t count = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        count += bf_value_equal(&list->as.items[i], item) ? 1 : 0;
    }
    return count;
}

static bool is_same_multiset(const bf_value_t *a, const bf_value_t *b)
{
    if (a->type != BF_VALUE_LIST || b->type != BF_VALUE_LIST || a->len != b->len) {
        return false;
    }
    for (uint32_t i = 0; i < a->len; i++) {
        if (count_in(a, &a->as.items[i]) != count_in(b, &a->as.items[i])) {
            return false;
        }
    }
    return true;
}

/* Where null says "endless": the course is not compared. */
static bool is_course(const char *member)
{
    static const char *const members[] = {"visited", "visited_graphs", "executed",
                                          "ended", "entered"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!strcmp(member, members[i])) {
            return true;
        }
    }
    return false;
}

static bool is_as_expected(const char *member, const bf_value_t *expect,
                           const bf_value_t *came, bool unordered)
{
    if (!strcmp(member, "error") || !strcmp(member, "error_cause") ||
        !strcmp(member, "load_error")) {
        return is_part_of_text(expect, came);
    }
    if (bf_value_is_null(expect) && is_course(member)) {
        return true;
    }
    if (!came) {
        return false;
    }
    if (!strcmp(member, "vars") && expect->type == BF_VALUE_MAP) {
        return is_part_of_map(expect, came);
    }
    if (unordered && expect->type == BF_VALUE_LIST) {
        return is_same_multiset(expect, came);
    }
    return bf_value_equal(expect, came);
}

/* Texts for people, and how to compare: nothing that came. */
static bool is_compared(const char *member)
{
    static const char *const others[] = {"order", "must_not", "derived",
                                         "read_only_probe"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!strcmp(member, others[i])) {
            return false;
        }
    }
    return true;
}

static void differs(conf_case_t *c, const char *where, const char *member,
                    const bf_value_t *expect, const bf_value_t *came,
                    conf_map_t *ret_different)
{
    bf_value_t null = bf_value_null();
    conf_fail(c, "%s: %s: expected %s, got %s", where, member, conf_json(c->conf, expect),
              conf_json(c->conf, came));
    conf_map_put(ret_different, member, came ? came : &null);
}

void conf_compare(conf_case_t *c, const char *where, const bf_value_t *expect,
                  const bf_value_t *came, bool unordered, conf_map_t *ret_different)
{
    static const char *const never_expected[] = {"error", "load_error"};
    for (uint32_t i = 0; i < conf_members(expect); i++) {
        const bf_member_t *m = &expect->as.members[i];
        const bf_value_t *value = bf_value_get_str(came, m->name);
        if (is_compared(m->name) &&
            !is_as_expected(m->name, &m->value, value, unordered)) {
            differs(c, where, m->name, &m->value, value, ret_different);
        }
    }
    for (size_t i = 0; i < sizeof(never_expected) / sizeof(never_expected[0]); i++) {
        const bf_value_t *value = bf_value_get_str(came, never_expected[i]);
        if (!bf_value_is_null(value) && !bf_value_get_str(expect, never_expected[i])) {
            differs(c, where, never_expected[i], NULL, value, ret_different);
        }
    }
}

const bf_value_t *conf_merged(conf_t *conf, const bf_value_t *expect,
                              const bf_value_t *decided)
{
    conf_map_t map;
    conf_map_init(conf, &map);
    const bf_value_t *const both[] = {expect, decided};
    for (size_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < conf_members(both[k]); i++) {
            conf_map_put(&map, both[k]->as.members[i].name,
                         &both[k]->as.members[i].value);
        }
    }
    return conf_map_value(&map);
}
