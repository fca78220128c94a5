/*
 * test_script.c - scripts: statements, effects, mistakes
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/world.h"

static world_t w;

static void setup(void)
{
    world_init(&w, "{\"day\":3,\"m\":{\"a\":1},\"tag\":\"n1\",\"node\":{\"id\":\"n1\"}}");
}

static void teardown(void)
{
    world_fini(&w);
}

TestSuite(script, .init = setup, .fini = teardown);

static void expect_var(const char *script, const char *name, const char *value)
{
    cr_expect_str_eq(world_run(&w, script), "", "%s: %s", script, world_run(&w, script));
    cr_expect_str_eq(world_var(&w, name), value, "%s: %s is %s", script, name,
                     world_var(&w, name));
}

static void expect_error(const char *script, bf_status_t status, const char *part)
{
    const char *came = world_run(&w, script);
    cr_expect_eq(w.rc, status, "%s: %s", script, came);
    cr_expect_not_null(strstr(came, part), "%s\n  expected ...%s...\n  got %s", script,
                       part, came);
}

Test(script, run__sees_what_it_has_set)
{
    expect_var("a = 1; b = a + 1; a = b * 10", "a", "20");
    expect_var("k = k ?? 0; k = k + 1", "k", "1");
}

Test(script, run__takes_empty_statements_and_comments)
{
    expect_var(";; // nothing\n a = 1 /* one */;;", "a", "1");
    cr_expect_str_eq(world_run(&w, ""), "");
    cr_expect_str_eq(world_run(&w, " \n"), "");
}

Test(script, run__clears_with_null)
{
    expect_var("day = null", "day", "absent");
    expect_var("day = missing", "day", "absent");
}

Test(script, run__sets_members_without_changing_others)
{
    expect_var("m.b = 2; m.c.d = 3", "m", "{\"a\":1,\"b\":2,\"c\":{\"d\":3}}");
    expect_var("n = m; m.a = 9; x = n.a", "x", "1");
    expect_var("o['x y'].z = 1; o['x y'].z += 2; m = null", "o", "{\"x y\":{\"z\":3}}");
}

Test(script, run__knows_if_and_else)
{
    expect_var("if (day > 2) { a = 1; b = 2 } else { a = 3 }", "b", "2");
    expect_var("if (day > 5) a = 1; else a = 2;", "a", "2");
    expect_var("if (day > 5) { a = 1 } else if (day > 2) { a = 7 } else { a = 3 } c = a",
               "c", "7");
    expect_var("z = 1; if (false) { z = 2 }", "z", "1");
    expect_var("if (day == 3) if (day == 4) z = 5; else z = 6;", "z", "6");
}

Test(script, run__ends_at_return)
{
    expect_var("a = 1; if (day == 3) return; a = 2", "a", "1");
}

Test(script, run__stops_and_interrupts)
{
    cr_expect_str_eq(world_run(&w, "context.stop()"), "");
    cr_expect(w.stopped && !w.interrupted);
    cr_expect_str_eq(world_run(&w, "if(tag.equals(node.getId())){context.interrupt();}"),
                     "");
    cr_expect(w.interrupted);
}

Test(script, run__puts_into_the_context)
{
    expect_var("context.put(\"result\", 333 + day);", "result", "336");
    expect_var("context.put('v' + 1, [day])", "v1", "[3]");
    expect_error("context.put(1, 2)", BF_E_EXPRESSION, "must be a string, not integer");
}

Test(script, run__calls_for_nothing)
{
    cr_expect_str_eq(world_run(&w, "size(tag); tag.trim()"), "");
    expect_error("launch(day); a = 1", BF_E_EXPRESSION, "there is no function 'launch'");
}

Test(script, run__keeps_what_was_set_before_an_error)
{
    expect_error("a = 1; b = 1 / 0; c = 2", BF_E_EXPRESSION, "division by zero");
    cr_expect_str_eq(world_var(&w, "a"), "1");
    cr_expect_str_eq(world_var(&w, "c"), "absent");
}

Test(script, run__refuses_effects_that_the_host_does_not_have)
{
    static const char *const texts[] = {"a = 1", "context.stop()", "context.interrupt()",
                                        "context.put('a', 1)", "m.a = 2"};
    bf_expr_env_t env = {.arena = &w.arena};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bf_script_t *script = NULL;
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(bf_script_parse(&w.arena, texts[i], strlen(texts[i]), &script, &err),
                     BF_OK);
        cr_expect_eq(bf_script_run(script, &env, &err), BF_E_EXPRESSION);
        cr_expect_not_null(strstr(err.text, "not allowed here"), "%s", err.text);
    }
}

Test(script, parse__says_what_is_wrong)
{
    expect_error("a", BF_E_PARSE, "this value is not used");
    expect_error("a > 1", BF_E_PARSE, "this value is not used");
    expect_error("a = ", BF_E_PARSE, "expected a value, found the end");
    expect_error("a = 1 b = 2", BF_E_PARSE, "expected ';' between statements");
    expect_error("if a > 1 { }", BF_E_PARSE, "expected '(' after if");
    expect_error("if (a) { b = 1", BF_E_PARSE, "expected '}'");
    expect_error("}", BF_E_PARSE, "found '}'");
    expect_error("m.put(x, 1)", BF_E_PARSE, "expected the name in quotes");
    expect_error("1 = a", BF_E_PARSE, "this value is not used");
    expect_error("day.x = 1", BF_E_EXPRESSION, "cannot set 'x' of a integer");
}

static void expect_too_deep(const char *part)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    for (int i = 0; i < 70; i++) {
        bf_str_puts(&text, part);
    }
    expect_error(bf_str_peek(&text), BF_E_LIMIT, "nested deeper");
    bf_str_fini(&text);
}

Test(script, parse__bounds_nesting)
{
    expect_too_deep("{");
    expect_too_deep("if(a)");
    expect_too_deep("if(a)b=1;else ");
}

Test(script, parse__names_unknown_calls)
{
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    const char *text = "testTask()";
    cr_assert_eq(bf_script_parse(&w.arena, text, strlen(text), &script, &err), BF_OK);
    cr_expect_str_eq(bf_script_unknown_call(script), "testTask");
}
