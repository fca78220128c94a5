/*
 * test_expr.c - expressions: what the reference does not show, limits, errors, bounds
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "tests/support/world.h"

static world_t w;

static void setup(void)
{
    world_init(&w, "{\"day\":3,\"t\":true,\"f\":false,\"s\":\"abc\",\"list\":[1,2],"
                   "\"m\":{\"a\":{\"b\":1}},\"中文\":7}");
}

static void teardown(void)
{
    world_fini(&w);
}

TestSuite(expr, .init = setup, .fini = teardown);

static void expect(const char *text, const char *result)
{
    const char *came = world_eval(&w, text);
    cr_expect_str_eq(came, result, "%s\n  expected %s\n  got      %s", text, result,
                     came);
}

static void expect_error(const char *text, bf_status_t status, const char *part)
{
    const char *came = world_eval(&w, text);
    cr_expect_eq(w.rc, status, "%s: %s", text, came);
    cr_expect_not_null(strstr(came, part), "%s\n  expected ...%s...\n  got %s", text,
                       part, came);
}

Test(expr, parse__names_line_column_and_place_of_a_mistake)
{
    cr_expect_str_eq(world_eval(&w, "day >\n  1 + )"),
                     "error: line 2 column 7: expected a value, found ')'\n"
                     "    1 + )\n"
                     "        ^");
    cr_expect_str_eq(world_eval(&w, "中文 = 1"),
                     "error: line 1 column 4: expected an operator or the end, found "
                     "'='; write == to compare\n"
                     "  中文 = 1\n"
                     "     ^");
}

Test(expr, parse__shows_only_a_part_of_a_long_line)
{
    char text[600];
    memset(text, ' ', sizeof(text));
    text[0] = '1';
    text[300] = '+';
    text[500] = ')';
    text[599] = '\0';
    const char *came = world_eval(&w, text);
    cr_expect_not_null(strstr(came, "line 1 column 501"));
    cr_expect_lt(strlen(came), 200U);
}

Test(expr, parse__says_what_is_expected)
{
    expect_error("", BF_E_PARSE, "expected a value, found the end");
    expect_error("  \n ", BF_E_PARSE, "expected a value");
    expect_error("a b", BF_E_PARSE, "expected an operator or the end, found 'b'");
    expect_error("(a", BF_E_PARSE, "expected ')'");
    expect_error("[1, 2", BF_E_PARSE, "expected ',' or ']'");
    expect_error("{a 1}", BF_E_PARSE, "expected ':' after the name");
    expect_error("{1: 1}", BF_E_PARSE, "expected a name or '}'");
    expect_error("a ? b", BF_E_PARSE, "expected ':' of the choice");
    expect_error("a.", BF_E_PARSE, "expected a name after '.'");
    expect_error("#", BF_E_PARSE, "expected a name after '#'");
    expect_error("'abc", BF_E_PARSE, "this string has no end; expected a closing '");
    expect_error("1 /* x", BF_E_PARSE, "this comment has no end; expected */");
    expect_error("a & b", BF_E_PARSE, "expected && (and)");
    expect_error("a | b", BF_E_PARSE, "expected || (or)");
    expect_error("12abc", BF_E_PARSE, "a number runs into a name");
    expect_error("a \x01", BF_E_PARSE, "control character 0x01");
    expect_error("a not 5", BF_E_PARSE, "expected IN, LIKE or MATCHES after NOT");
    expect_error("9223372036854775808", BF_E_PARSE, "does not fit in 64 bit");
    expect_error("1e999", BF_E_PARSE, "too large");
    expect_error("size()", BF_E_PARSE, "size() needs at least 1 argument(s)");
    expect_error("s.size(1)", BF_E_PARSE, "size() takes at most 0 argument(s)");
    expect_error("s matches '('", BF_E_PARSE, "a group without )");
    expect_error("context.put('a', 1)", BF_E_PARSE, "cannot be used here");
}

Test(expr, parse__refuses_what_is_no_text)
{
    bf_expr_t *expr = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_expect_eq(bf_expr_parse(&w.arena, "1\0+1", 4, &expr, &err), BF_E_PARSE);
    bf_err_clear(&err);
    cr_expect_eq(bf_expr_parse(&w.arena, "'\xff'", 3, &expr, &err), BF_E_PARSE);
    cr_expect_null(expr);
}

Test(expr, parse__bounds_length_and_nesting)
{
    char *text = malloc(BF_EXPR_MAX_BYTES + 2);
    memset(text, '1', BF_EXPR_MAX_BYTES + 1);
    text[BF_EXPR_MAX_BYTES + 1] = '\0';
    expect_error(text, BF_E_LIMIT, "at most 16384 are allowed");
    memset(text, '(', 100);
    text[100] = '\0';
    expect_error(text, BF_E_LIMIT, "nested deeper than 64 levels");
    memset(text, '!', 100);
    expect_error(text, BF_E_LIMIT, "nested deeper than 64 levels");
    memset(text, '-', 100);
    expect_error(text, BF_E_LIMIT, "nested deeper than 64 levels");
    free(text);
}

Test(expr, parse__takes_long_chains_that_do_not_nest)
{
    char text[8192] = "day == 0";
    size_t len = strlen(text);
    for (int i = 1; i < 500; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, " || day == 3");
    }
    expect(text, "true");
}

Test(expr, eval__follows_precedence)
{
    expect("1 + 2 * 3 == 7 && !f || f", "true");
    expect("f || t && f", "false");
    expect("!f && t", "true");
    expect("!day == 4", "true"); /* the whole comparison */
    expect("-2 * -3", "6");
    expect("- -3", "3");
    expect("+day", "3");
    expect("2 - -1", "3");
    expect("t ? f ? 1 : 2 : 3", "2");
    expect("x ?? y ?? 5", "5");
    expect("x ?? t && f", "false");
    expect("1 + (t ? 1 : 2)", "2");
}

Test(expr, eval__looks_at_the_right_side_only_when_it_must)
{
    expect("f && missing + 1", "false");
    expect("t || missing + 1", "true");
    expect("day ?? missing + 1", "3");
    expect("t ? 1 : missing + 1", "1");
    w.lookups = 0;
    expect("f && day > 1 && day > 2", "false");
    cr_expect_eq(w.lookups, 1U);
}

Test(expr, eval__gives_booleans_for_logic)
{
    expect("1 && 'x'", "true");
    expect("0 || x", "true");
    expect("x || x", "false");
    expect("x && t", "false");
    expect("!''", "false");
}

Test(expr, eval__takes_words_only_where_operators_stand)
{
    world_fini(&w);
    world_init(&w, "{\"in\":1,\"and\":2,\"like\":3,\"eq\":3,\"matches\":4}");
    expect("in == 1 and like eq 3", "true");
    expect("matches - and", "2");
    expect("android", "null");
    expect("eq == like", "true");
}

Test(expr, eval__reads_names_in_any_script)
{
    expect("中文 + 1", "8");
    expect("{中文: 1}.中文", "1");
}

Test(expr, eval__keeps_64_bits)
{
    expect("9223372036854775807", "9223372036854775807");
    expect("-9223372036854775808", "-9223372036854775808");
    expect("-9223372036854775808 % -1", "0");
    expect("9007199254740993 == 9007199254740992", "false");
    expect("9007199254740993 > 9007199254740992", "true");
    expect_error("-9223372036854775808 / -1", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("-(-9223372036854775808)", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("9223372036854775807 * 2", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("-9223372036854775808 - 1", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("abs(-9223372036854775808)", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("int(1e300)", BF_E_EXPRESSION, "does not fit in 64 bit");
    expect_error("5 % 0", BF_E_EXPRESSION, "division by zero");
}

Test(expr, eval__computes_doubles_as_ieee)
{
    expect("1.0 / 0 > 1e308", "true");
    expect("'' + 1.0 / 0", "\"Infinity\"");
    expect("'' + -1.0 / 0", "\"-Infinity\"");
    expect("'' + 0.0 / 0", "\"NaN\"");
    expect("0.0 / 0 == 0.0 / 0", "false");
    expect("5.5 % 2", "1.5");
    expect("0.1 + 0.2", "0.30000000000000004");
}

Test(expr, eval__names_the_types_that_do_not_fit)
{
    expect_error("day + t", BF_E_EXPRESSION, "cannot compute integer + boolean");
    expect_error("missing * 2", BF_E_EXPRESSION, "write (x ?? 0)");
    expect_error("s - 1", BF_E_EXPRESSION, "number(x) makes a number of a text");
    expect_error("-s", BF_E_EXPRESSION, "cannot negate a string");
    expect_error("'b' > 'a'", BF_E_EXPRESSION, "compare(a, b) orders texts");
    expect_error("day > '2'", BF_E_EXPRESSION, "cannot compare integer > string");
    expect_error("t < f", BF_E_EXPRESSION, "cannot compare boolean < boolean");
    expect_error("day.x", BF_E_EXPRESSION, "a integer has no member 'x'");
    expect_error("list['a']", BF_E_EXPRESSION, "has no item for a string");
    expect_error("1 in 2", BF_E_EXPRESSION, "expected a list, a map or a text");
    expect_error("size(3)", BF_E_EXPRESSION, "size: expected a text, a list or a map");
    expect_error("s.substring(2, 1)", BF_E_EXPRESSION, "outside of a text of 3");
    expect_error("s.substring(0, 9)", BF_E_EXPRESSION, "outside of a text of 3");
    expect_error("s.split('')", BF_E_EXPRESSION, "the separator is empty");
    expect_error("max('a')", BF_E_EXPRESSION, "max: expected a number");
    expect_error("round(1.5, 99)", BF_E_EXPRESSION, "0 to 15 decimal places");
    expect_error("date('2026-02-30')", BF_E_EXPRESSION, "is no point in time");
    expect_error("year(99999999999999999)", BF_E_EXPRESSION, "between 0 and 9999");
    expect_error("s.matches(day + '(')", BF_E_EXPRESSION, "a group without )");
}

Test(expr, eval__says_that_a_function_is_unknown_only_when_it_is_called)
{
    bf_expr_t *expr = NULL;
    bf_err_t err = BF_ERR_INIT;
    const char *text = "t || launch(day)";
    expect(text, "true");
    expect_error("launch(day)", BF_E_EXPRESSION, "there is no function 'launch'");
    cr_assert_eq(bf_expr_parse(&w.arena, text, strlen(text), &expr, &err), BF_OK);
    cr_expect_str_eq(bf_expr_unknown_call(expr), "launch");
    cr_assert_eq(bf_expr_parse(&w.arena, "size(s)", 7, &expr, &err), BF_OK);
    cr_expect_null(bf_expr_unknown_call(expr));
}

Test(expr, eval__compares_lists_and_maps_by_content)
{
    expect("[1, [2.0]] == [1.0, [2]]", "true");
    expect("{a: 1, b: 2} == {b: 2, a: 1}", "true");
    expect("{a: 1} == {a: 1, b: 2}", "false");
    expect("{a: 1} == {b: 1}", "false");
    expect("[1] != [2]", "true");
    expect("[] == {}", "false");
    expect("{a: 1, a: 2}", "{\"a\":2}");
    expect("[day, 1]", "[3,1]");
    expect("{'k': [day]}.k[0]", "3");
}

Test(expr, eval__is_null_safe)
{
    expect("missing.a.b.c", "null");
    expect("m.a.b", "1");
    expect("m.x.y", "null");
    expect("missing[0]", "null");
    expect("m[missing]", "null");
    expect("missing.trim()", "null");
    expect("missing.size()", "0");
    expect("1 in missing", "false");
    expect("1 not in missing", "true");
    expect("missing like 'a'", "false");
    expect("missing matches 'a'", "false");
    expect("missing > 1 || missing < 1 || missing == 1", "false");
}

Test(expr, eval__counts_its_steps)
{
    w.max_steps = 10;
    expect("1 + 1", "2");
    expect_error("1 + 1 + 1 + 1 + 1 + 1 + 1", BF_E_EXPRESSION, "too many steps");
}

Test(expr, eval__charges_what_costs_more_than_a_step)
{
    char text[4096] = "'";
    memset(text + 1, 'a', 3000);
    memcpy(text + 3001, "' matches '(a|b)*c'", 20);
    w.max_steps = 500;
    expect_error(text, BF_E_EXPRESSION, "too many steps");
    w.max_steps = 0;
    expect(text, "false");
}

Test(expr, eval__bounds_what_it_makes)
{
    char text[16384] = "x = '";
    size_t len = strlen(text);
    memset(text + len, 'a', 1000);
    len += 1000;
    memcpy(text + len, "'", 2);
    cr_assert_str_eq(world_run(&w, text), "");
    for (int i = 0; i < 9; i++) {
        cr_assert_str_eq(world_run(&w, "x = x + x"), "");
    }
    const char *came = world_run(&w, "x = x + x + x");
    cr_expect_eq(w.rc, BF_E_EXPRESSION);
    cr_expect_not_null(strstr(came, "larger than"), "%s", came);
}

Test(expr, eval__does_not_let_a_value_grow_or_nest_for_ever)
{
    cr_assert_str_eq(world_run(&w, "x = [1]"), "");
    const char *came = "";
    int rounds = 0;
    while (!came[0] && rounds < 200) {
        came = world_run(&w, "x = [x, x]");
        rounds++;
    }
    cr_expect_not_null(strstr(came, "too large for a variable"), "%s", came);
    cr_expect_lt(rounds, 40);
    cr_assert_str_eq(world_run(&w, "y = [1]"), "");
    came = "";
    rounds = 0;
    while (!came[0] && rounds < 200) {
        came = world_run(&w, "y = [y]");
        rounds++;
    }
    cr_expect_not_null(strstr(came, "levels of nesting"), "%s", came);
    cr_expect_lt(rounds, 100);
}

Test(expr, eval__needs_no_memory_for_a_plain_condition)
{
    const char *text =
        "day >= 3 && day < 7 && s == 'abc' && day in [1, 2, 3] && m.a.b == 1";
    bf_expr_t *expr = NULL;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_expr_parse(&w.arena, text, strlen(text), &expr, &err), BF_OK);
    bf_arena_t nothing;
    bf_arena_init(&nothing, 0);
    bf_expr_env_t env = world_env(&w);
    env.arena = &nothing;
    cr_assert_eq(bf_expr_eval(expr, &env, &value, &err), BF_OK, "%s", err.text);
    cr_expect(value.as.boolean);
    cr_expect_eq(bf_arena_held_bytes(&nothing), 0U);
}

Test(expr, eval__works_on_deep_stacks)
{
    char text[2048] = "[day";
    size_t len = strlen(text);
    for (int i = 0; i < 100; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, ", day");
    }
    (void)snprintf(text + len, sizeof(text) - len, "].size()");
    expect(text, "101");
}

Test(expr, test__is_true_for_everything_but_null_and_false)
{
    static const char *const yes[] = {"0", "''", "'false'", "[]", "{}", "0.0", "t"};
    static const char *const no[] = {"null", "missing", "f", "1 > 2"};
    bf_err_t err = BF_ERR_INIT;
    bf_expr_env_t env = world_env(&w);
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        bf_expr_t *expr = NULL;
        bool truth = false;
        cr_assert_eq(bf_expr_parse(&w.arena, yes[i], strlen(yes[i]), &expr, &err), BF_OK);
        cr_assert_eq(bf_expr_test(expr, &env, &truth, &err), BF_OK);
        cr_expect(truth, "%s", yes[i]);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        bf_expr_t *expr = NULL;
        bool truth = true;
        cr_assert_eq(bf_expr_parse(&w.arena, no[i], strlen(no[i]), &expr, &err), BF_OK);
        cr_assert_eq(bf_expr_test(expr, &env, &truth, &err), BF_OK);
        cr_expect_not(truth, "%s", no[i]);
    }
}

Test(expr, lookup__gets_the_hash_of_the_name)
{
    bf_expr_t *expr = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t value;
    bf_expr_env_t env = {.arena = &w.arena};
    cr_assert_eq(bf_expr_parse(&w.arena, "#day", 4, &expr, &err), BF_OK);
    cr_assert_eq(bf_expr_eval(expr, &env, &value, &err), BF_OK); /* no lookup at all */
    cr_expect_eq(value.type, BF_VALUE_NULL);
    expect("#day", "3"); /* the world looks up by the hash */
}

Test(expr, now__takes_the_given_time)
{
    bf_expr_t *expr = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t value;
    bf_expr_env_t env = world_env(&w);
    env.now_wall_ms = 1796025600000;
    cr_assert_eq(bf_expr_parse(&w.arena, "dateText(now())", 15, &expr, &err), BF_OK);
    cr_assert_eq(bf_expr_eval(expr, &env, &value, &err), BF_OK, "%s", err.text);
    cr_expect_str_eq(value.as.string, "2026-11-30T08:00:00.000Z");
}

/* One expression after the other, as a gateway tests its links. */
static bool test_beside(const bf_expr_t **last, const char *text,
                        const bf_expr_env_t *env)
{
    bf_expr_t *expr = NULL;
    bool truth = false;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_expr_parse_beside(&w.arena, text, strlen(text), *last, &expr, &err),
                 BF_OK);
    cr_assert_eq(bf_expr_test(expr, env, &truth, &err), BF_OK, "%s", err.text);
    *last = expr;
    return truth;
}

Test(expr, memo__a_variable_in_a_row_is_looked_up_once)
{
    bf_expr_memo_t memo = {0};
    bf_expr_env_t env = world_env(&w);
    const bf_expr_t *last = NULL;
    env.memo = &memo;
    w.lookups = 0;
    cr_expect_not(test_beside(&last, "day > 3", &env));
    cr_expect(test_beside(&last, "day >= 3", &env));
    cr_expect(test_beside(&last, "day < 4 && day != 5", &env));
    cr_expect_not(test_beside(&last, "day == 4", &env));
    cr_expect_eq(w.lookups, 1U);
    cr_expect(test_beside(&last, "s == 'abc' && day <= 3", &env));
    cr_expect_eq(w.lookups, 3U);
    cr_expect_not(test_beside(&last, "missing > 1", &env));
    cr_expect(test_beside(&last, "missing == null", &env));
    cr_expect_eq(w.lookups, 4U, "what is not set is known, too");
}

Test(expr, memo__is_forgotten_by_an_assignment)
{
    static const char text[] = "day = day + 1; day = day + 1; sum = day + day";
    bf_expr_memo_t memo = {0};
    bf_expr_env_t env = world_env(&w);
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    env.memo = &memo;
    cr_assert_eq(bf_script_parse(&w.arena, text, strlen(text), &script, &err), BF_OK);
    cr_assert_eq(bf_script_run(script, &env, &err), BF_OK, "%s", err.text);
    cr_expect_str_eq(world_var(&w, "day"), "5");
    cr_expect_str_eq(world_var(&w, "sum"), "10");
}
