/*
 * test_context.c - layers of variables, snapshot, trace
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/context.h"

static bf_context_t *ctx;
static bf_err_t err;

static void setup(void)
{
    ctx = bf_context_new("i-1");
    cr_assert_not_null(ctx);
    bf_err_clear(&err);
}

static void teardown(void)
{
    bf_context_free(ctx);
}

TestSuite(context, .init = setup, .fini = teardown);

static void put(const char *name, int64_t number)
{
    bf_value_t value = bf_value_int(number);
    cr_assert_eq(bf_context_put_str(ctx, name, &value, &err), BF_OK, "%s", err.text);
}

static int64_t get(const char *name)
{
    const bf_value_t *value = bf_context_get_str(ctx, name);
    return value && value->type == BF_VALUE_INT ? value->as.integer : -1;
}

Test(context, get__knows_the_instance_id)
{
    const bf_value_t *id = bf_context_get_str(ctx, "instanceId");
    cr_assert_not_null(id);
    cr_expect_str_eq(id->as.string, "i-1");
    cr_expect_str_eq(bf_context_instance_id(ctx), "i-1");
}

Test(context, new__without_an_id_has_an_empty_one)
{
    bf_context_t *other = bf_context_new(NULL);
    cr_expect_str_eq(bf_context_instance_id(other), "");
    bf_context_free(other);
}

Test(context, put__refuses_reserved_names)
{
    bf_value_t value = bf_value_int(1);
    cr_expect_eq(bf_context_put_str(ctx, "instanceId", &value, &err), BF_E_INVALID);
    bf_err_clear(&err);
    cr_expect_eq(bf_context_put_str(ctx, "context", &value, &err), BF_E_INVALID);
    cr_expect_not_null(strstr(err.text, "context"));
}

Test(context, put__null_clears)
{
    bf_value_t null = bf_value_null();
    put("a", 1);
    cr_assert_eq(bf_context_put_str(ctx, "a", &null, &err), BF_OK);
    cr_expect_null(bf_context_get_str(ctx, "a"));
}

Test(context, get__looks_at_the_transient_layer_first)
{
    bf_member_t members[] = {{"a", 1, bf_value_int(2)}, {"n", 1, bf_value_null()}};
    bf_value_t map = {.type = BF_VALUE_MAP, .len = 2, .as.members = members};
    put("a", 1);
    put("n", 1);
    bf_context_set_transient(ctx, &map);
    cr_expect_eq(get("a"), 2);
    cr_expect_null(bf_context_get_str(ctx, "n"), "a null hides what is stored");
    bf_context_set_transient(ctx, NULL);
    cr_expect_eq(get("a"), 1);
}

static bf_status_t look_at_a(void *arg)
{
    *(int64_t *)arg = get("a");
    return BF_E_TIMEOUT;
}

Test(context, with__holds_for_the_call_only)
{
    int64_t seen = 0;
    bf_value_t five = bf_value_int(5);
    put("a", 1);
    cr_expect_eq(bf_context_with(ctx, "a", &five, look_at_a, &seen), BF_E_TIMEOUT,
                 "what the function returns is passed on");
    cr_expect_eq(seen, 5);
    cr_expect_eq(get("a"), 1);
}

Test(context, base__is_looked_at_last_and_gets_what_is_set)
{
    bf_vars_t *base = bf_vars_new();
    bf_value_t ten = bf_value_int(10);
    cr_assert_eq(bf_vars_set_str(base, "a", &ten), BF_OK);
    cr_assert_eq(bf_vars_set_str(base, "b", &ten), BF_OK);
    put("a", 1);
    bf_context_set_base(ctx, base);
    cr_expect_eq(get("a"), 1);
    cr_expect_eq(get("b"), 10);
    put("c", 3);
    cr_expect_not_null(bf_vars_get_str(base, "c"));
    bf_context_set_base(ctx, NULL);
    cr_expect_eq(get("b"), -1);
    cr_expect_eq(get("c"), 3);
    bf_vars_free(base);
}

Test(context, caller_value__does_not_see_what_is_stored)
{
    bf_vars_t *stored = bf_vars_new();
    bf_value_t boss = bf_value_cstr("boss");
    cr_assert_eq(bf_vars_set_str(stored, "role", &boss), BF_OK);
    bf_context_t *borrowing = bf_context_new_borrowing("i-2", stored);
    cr_expect_not_null(bf_context_get_str(borrowing, "role"));
    cr_expect_null(bf_context_caller_value(borrowing, "role", 4));
    bf_context_free(borrowing);
    bf_context_set_base(ctx, stored);
    cr_expect_null(bf_context_caller_value(ctx, "role", 4));
    put("role", 1);
    cr_expect_not_null(bf_context_caller_value(ctx, "role", 4));
    bf_context_set_base(ctx, NULL);
    bf_vars_free(stored);
}

Test(context, stop__outside_of_an_evaluation_does_nothing)
{
    bf_context_stop(ctx);
    bf_context_interrupt(ctx);
    cr_expect_not(bf_context_is_stopped(ctx));
}

/* --- snapshot --- */

static bf_context_t *load(const char *text)
{
    bf_context_t *loaded = NULL;
    cr_assert_eq(bf_context_load_json(text, strlen(text), &loaded, &err), BF_OK, "%s",
                 err.text);
    return loaded;
}

Test(context, write_json__is_what_load_json_reads)
{
    bf_str_t json;
    bf_str_init(&json, 0);
    put("a", 1);
    cr_assert_eq(bf_context_trace_set(ctx, "g", "n"), BF_OK);
    cr_assert_eq(bf_context_write_json(ctx, &json, &err), BF_OK);
    bf_context_t *loaded = load(json.data);
    cr_expect_str_eq(bf_context_instance_id(loaded), "i-1");
    cr_expect_eq(bf_context_get_str(loaded, "a")->as.integer, 1);
    cr_expect_str_eq(bf_context_last_node(loaded, "g"), "n");
    bf_context_free(loaded);
    bf_str_fini(&json);
}

Test(context, load_json__reads_vars_as_the_old_name_of_data)
{
    bf_context_t *loaded = load("{\"vars\":{\"a\":7}}");
    cr_expect_eq(bf_context_get_str(loaded, "a")->as.integer, 7);
    bf_context_free(loaded);
}

Test(context, load_json__refuses_what_is_not_a_snapshot)
{
    static const struct {
        const char *text;
        bf_status_t status;
    } cases[] = {
        {"", BF_E_PARSE},
        {"{", BF_E_PARSE},
        {"[]", BF_E_INVALID},
        {"{\"instanceId\":5}", BF_E_INVALID},
        {"{\"data\":[1]}", BF_E_INVALID},
        {"{\"trace\":[]}", BF_E_INVALID},
        {"{\"trace\":{\"last\":{}}}", BF_E_INVALID},
        {"{\"trace\":{\"last\":[{}]}}", BF_E_INVALID},
        {"{\"trace\":{\"last\":[5]}}", BF_E_INVALID},
        {"{\"trace\":{\"pending\":[{\"graph\":\"g\"}]}}", BF_E_INVALID},
        {"{\"trace\":{\"pending\":[{\"graph\":\"g\",\"at\":1}]}}", BF_E_INVALID},
        {"{\"a\":1,\"a\":2}", BF_E_PARSE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bf_context_t *loaded = NULL;
        bf_err_clear(&err);
        bf_status_t rc =
            bf_context_load_json(cases[i].text, strlen(cases[i].text), &loaded, &err);
        cr_expect_eq(rc, cases[i].status, "%s: %d %s", cases[i].text, rc, err.text);
        cr_expect_null(loaded);
    }
}

/* --- trace --- */

Test(context, trace_set__null_forgets)
{
    cr_assert_eq(bf_context_trace_set(ctx, "g", "n"), BF_OK);
    cr_assert_eq(bf_context_trace_set(ctx, "h", "m"), BF_OK);
    cr_assert_eq(bf_context_trace_set(ctx, "g", NULL), BF_OK);
    cr_expect_null(bf_context_last_node(ctx, "g"));
    cr_expect_str_eq(bf_context_last_node(ctx, "h"), "m");
}

Test(context, trace__keeps_many_graphs)
{
    char id[16];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof(id), "g%d", i);
        cr_assert_eq(bf_context_trace_set(ctx, id, id), BF_OK);
    }
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof(id), "g%d", i);
        cr_expect_str_eq(bf_context_last_node(ctx, id), id);
    }
    bf_context_trace_clear(ctx);
    cr_expect_null(bf_context_last_node(ctx, "g3"));
}

Test(context, trace__says_nothing_while_it_is_disabled)
{
    cr_assert_eq(bf_context_trace_set(ctx, "g", "n"), BF_OK);
    bf_context_trace_enable(ctx, false);
    cr_expect_null(bf_context_last_node(ctx, "g"));
    cr_expect_not(bf_context_is_end(ctx, "g"));
}
