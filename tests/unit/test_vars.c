/*
 * test_vars.c - variables and values: copies, transactions, order
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/map.h"
#include "bpmflow/vars.h"

static bf_arena_t arena;
static bf_vars_t *vars;

static void setup(void)
{
    bf_arena_init(&arena, 0);
    vars = bf_vars_new();
}

static void teardown(void)
{
    bf_vars_free(vars);
    bf_arena_fini(&arena);
}

TestSuite(vars, .init = setup, .fini = teardown);
TestSuite(value, .init = setup, .fini = teardown);

static bf_value_t json(const char *text)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, &err), BF_OK,
                 "%s", err.text);
    return value;
}

static void expect(const char *written)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_vars_write_json(vars, &str);
    cr_assert_str_eq(bf_str_peek(&str), written);
    bf_str_fini(&str);
}

static void set(const char *name, const char *text)
{
    bf_value_t value = json(text);
    cr_assert_eq(bf_vars_set_str(vars, name, &value), BF_OK);
}

Test(vars, set__copies_deeply_and_null_clears)
{
    bf_arena_t other;
    bf_arena_init(&other, 0);
    char *text = bf_arena_strdup(&other, "li.wei");
    bf_value_t value = bf_value_cstr(text);
    cr_assert_eq(bf_vars_set_str(vars, "who", &value), BF_OK);
    memset(text, '?', 6);
    bf_arena_fini(&other);
    set("form", "{\"a\":[1,{\"b\":2}]}");
    expect("{\"who\":\"li.wei\",\"form\":{\"a\":[1,{\"b\":2}]}}");
    set("who", "null");
    expect("{\"form\":{\"a\":[1,{\"b\":2}]}}");
    cr_assert_null(bf_vars_get_str(vars, "who"));
    cr_assert_eq(bf_vars_count(vars), 1);
}

Test(vars, rollback__restores_every_kind_of_change)
{
    set("a", "1");
    set("b", "\"text\"");
    set("c", "[1,2]");
    bf_vars_begin(vars);
    set("a", "2");
    set("a", "3");
    set("b", "null");
    set("d", "4");
    expect("{\"a\":3,\"c\":[1,2],\"d\":4}");
    cr_assert(bf_vars_changed(vars));
    bf_vars_rollback(vars);
    expect("{\"a\":1,\"b\":\"text\",\"c\":[1,2]}");
    bf_vars_begin(vars);
    cr_assert_not(bf_vars_changed(vars));
    cr_assert_eq(bf_vars_clear(vars), BF_OK);
    expect("{}");
    bf_vars_rollback(vars);
    expect("{\"a\":1,\"b\":\"text\",\"c\":[1,2]}");
}

Test(vars, commit__keeps_the_changes_and_does_not_keep_garbage)
{
    size_t held = 0;
    for (int i = 0; i < 2000; i++) {
        bf_vars_begin(vars);
        set("text", "\"0123456789012345678901234567890123456789\"");
        set("number", "7");
        bf_vars_commit(vars);
        if (i == 100) {
            held = bf_vars_held_bytes(vars);
        }
    }
    cr_assert_leq(bf_vars_held_bytes(vars), held * 2 + 4096);
    cr_assert_eq(bf_vars_count(vars), 2);
}

Test(vars, get_hashed__finds_what_get_finds)
{
    set("day", "3");
    const bf_value_t *value = bf_vars_get_hashed(vars, "day", 3, bf_hash_bytes("day", 3));
    cr_assert_not_null(value);
    cr_assert_eq(value, bf_vars_get(vars, "day", 3));
    cr_assert_null(bf_vars_get_hashed(vars, "dax", 3, bf_hash_bytes("dax", 3)));
}

Test(vars, as_map__and_set_all_are_inverse)
{
    set("a", "1");
    set("b", "{\"x\":[true]}");
    bf_value_t all;
    cr_assert_eq(bf_vars_as_map(vars, &arena, &all), BF_OK);
    bf_vars_t *other = bf_vars_new();
    cr_assert_eq(bf_vars_set_all(other, &all), BF_OK);
    cr_assert(bf_value_equal(bf_vars_get_str(other, "b"), bf_vars_get_str(vars, "b")));
    cr_assert_eq(bf_vars_count(other), 2);
    bf_value_t number = bf_value_int(1);
    cr_assert_eq(bf_vars_set_all(other, &number), BF_E_INVALID);
    bf_vars_free(other);
}

Test(vars, version__counts_changes)
{
    uint64_t before = bf_vars_version(vars);
    set("a", "1");
    cr_assert_neq(bf_vars_version(vars), before);
}

Test(value, equal__knows_numbers_and_ignores_the_order_of_members)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},         {"1", "2", false},
        {"\"1\"", "1", false},      {"null", "false", false},
        {"[1,2]", "[1,2]", true},   {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},    {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1}", "{}", false}, {"{\"a\":1}", "{\"b\":1}", false},
        {"\"a\"", "\"ab\"", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bf_value_t a = json(cases[i].a);
        bf_value_t b = json(cases[i].b);
        cr_assert_eq(bf_value_equal(&a, &b), cases[i].equal, "%s and %s", cases[i].a,
                     cases[i].b);
        cr_assert_eq(bf_value_equal(&b, &a), cases[i].equal);
    }
}

Test(value, copy__shares_nothing_with_the_original)
{
    bf_arena_t other;
    bf_value_t copy;
    bf_arena_init(&other, 0);
    bf_value_t value = json("{\"a\":[1,\"x\",{\"b\":null}],\"c\":2.5}");
    cr_assert_eq(bf_value_copy(&other, &value, &copy), BF_OK);
    cr_assert(bf_value_equal(&value, &copy));
    bf_arena_clear(&arena);
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_json_write(&str, &copy);
    cr_assert_str_eq(bf_str_peek(&str), "{\"a\":[1,\"x\",{\"b\":null}],\"c\":2.5}");
    bf_str_fini(&str);
    bf_arena_fini(&other);
}

Test(value, write_text__is_for_people)
{
    static const struct {
        const char *json;
        const char *text;
    } cases[] = {
        {"\"li.wei\"", "li.wei"}, {"3", "3"},       {"2.5", "2.5"},
        {"null", "null"},         {"true", "true"}, {"[1,\"a\"]", "[1,\"a\"]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bf_str_t str;
        bf_value_t value = json(cases[i].json);
        bf_str_init(&str, 0);
        bf_value_write_text(&str, &value);
        cr_assert_str_eq(bf_str_peek(&str), cases[i].text);
        bf_str_fini(&str);
    }
}

Test(value, write__escapes_what_json_wants_escaped)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_value_t value = bf_value_cstr("a\"b\\c\n\t\x01\xE4\xB8\xAD");
    bf_json_write(&str, &value);
    cr_assert_str_eq(bf_str_peek(&str), "\"a\\\"b\\\\c\\n\\t\\u0001\xE4\xB8\xAD\"");
    bf_str_fini(&str);
}

Test(vars, set__of_null_for_many_names_does_not_keep_them)
{
    bf_value_t value = bf_value_int(1);
    for (int i = 0; i < 100000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "variable-%d", i);
        cr_assert_eq(bf_vars_set_str(vars, name, &value), BF_OK);
        cr_assert_eq(bf_vars_set_str(vars, name, NULL), BF_OK);
    }
    cr_expect_eq(bf_vars_count(vars), 0U);
    cr_expect_lt(bf_vars_held_bytes(vars), 100000U);
}
