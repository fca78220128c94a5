/*
 * test_engine_loop.c - loops: sources, passes, loop ends
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/walk.h"

static walk_t w;

static void setup(void)
{
    walk_init(&w);
}

static void teardown(void)
{
    walk_fini(&w);
}

TestSuite(loop, .init = setup, .fini = teardown);

#define LOOP(in)                                                                         \
    "{id: g, layout: [{id: s, type: start}, {id: h, type: loop,"                         \
    "meta: {$for: i, $in: " in "}}, {id: d, task: 'seen = seen + i'},"                   \
    "{id: le, type: loop}, {id: t}, {id: e, type: end}]}"

static void start(const char *text)
{
    walk_load(&w, text);
    walk_set(&w, "seen", "\"\"");
}

Test(loop, list__runs_the_tail_once_after_the_last_item)
{
    start(LOOP("[x, y, z]"));
    cr_expect_str_eq(walk_visits(&w, "g"), "s h d d d le t e");
    cr_expect_str_eq(walk_get(&w, "seen"), "xyz");
    cr_expect_str_eq(walk_get(&w, "i"), "z", "the variable survives");
}

Test(loop, range__excludes_the_end)
{
    start(LOOP("'1...4'"));
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_get(&w, "seen"), "123");
}

Test(loop, range__may_have_a_step)
{
    start(LOOP("'1:10:3'"));
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_get(&w, "seen"), "147");
}

Test(loop, variable__may_change_while_it_runs)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: items}},"
                  "{id: d, task: 'seen = seen + i; items = []'}, {id: le, type: loop}]}");
    walk_set(&w, "seen", "\"\"");
    walk_set(&w, "items", "[1,2,3]");
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_get(&w, "seen"), "123");
}

Test(loop, empty__goes_on_at_the_loop_end)
{
    start(LOOP("[]"));
    cr_expect_str_eq(walk_visits(&w, "g"), "s h le t e");
    cr_expect_str_eq(walk_get(&w, "i"), "");
}

Test(loop, empty__without_a_loop_end_ends_the_branch)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: []}},"
                  "{id: d}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "h");
}

Test(loop, no_loop_end__repeats_everything)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: d}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "h d e d e");
}

Test(loop, loop_end_alone__is_passed)
{
    walk_load(&w, "{id: g, layout: [{id: le, type: loop}, {id: t}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "le t");
}

Test(loop, fan_out_in_the_body__runs_the_tail_once)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: d, link: [a, b]}, {id: a, link: le}, {id: b, link: le},"
                  "{id: le, type: loop}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "h d a b d a b le e");
}

Test(loop, split_and_join_in_the_body__fire_in_every_pass)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: p, type: parallel, link: [a, b]}, {id: a, link: j},"
                  "{id: b, link: j}, {id: j, type: parallel}, {id: le, type: loop},"
                  "{id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "h p a b j p a b j le e");
}

Test(loop, join_outside__waits_for_the_whole_loop)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [b, h]},"
                  "{id: b, link: j}, {id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: d}, {id: le, type: loop, link: j}, {id: j, type: parallel},"
                  "{id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p b h d d le j e");
}

Test(loop, join_outside__waits_for_a_loop_without_an_end_too)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [h, b]},"
                  "{id: h, type: loop, meta: {$for: i, $in: [1, 2]}}, {id: d, link: j},"
                  "{id: b, link: j}, {id: j, type: parallel, link: e},"
                  "{id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p h d d b j e");
}

Test(loop, nested__have_variables_and_ends_of_their_own)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: k, type: loop, meta: {$for: n, $in: [a, b]}},"
                  "{id: d, task: 'seen = seen + i + n'}, {id: ke, type: loop},"
                  "{id: m}, {id: he, type: loop}, {id: e, type: end}]}");
    walk_set(&w, "seen", "\"\"");
    cr_expect_str_eq(walk_visits(&w, "g"), "h k d d ke m k d d ke m he e");
    cr_expect_str_eq(walk_get(&w, "seen"), "1a1b2a2b");
}

Test(loop, empty_outer__finds_its_own_end)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: []}},"
                  "{id: k, type: loop, meta: {$for: n, $in: [a, b]}},"
                  "{id: ke, type: loop}, {id: he, type: loop}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "h he e");
}

Test(loop, interrupt__is_like_continue)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1,2,3]}},"
                  "{id: d, task: '@d'}, {id: m}, {id: le, type: loop},"
                  "{id: e, type: end}]}");
    walk_script(&w, "d", "if (i == bad) { context.interrupt() }");
    walk_set(&w, "bad", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "h d m d d m le e");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
    bf_context_trace_clear(w.ctx);
    walk_set(&w, "bad", "3");
    cr_expect_str_eq(walk_visits(&w, "g"), "h d m d m d le e", "in the last pass too");
}

Test(loop, stop__keeps_the_pass_for_the_next_evaluation)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: items}},"
                  "{id: d, task: '@d'}, {id: le, type: loop}, {id: e, type: end}]}");
    walk_script(&w, "d", "seen = seen + i; if (i == 2 && !go) { context.stop() }");
    walk_set(&w, "seen", "\"\"");
    walk_set(&w, "items", "[1,2,3]");
    cr_expect_str_eq(walk_visits(&w, "g"), "h d d");
    cr_expect_str_eq(walk_get(&w, "i"), "2");
    walk_set(&w, "go", "true");
    walk_set(&w, "items", "[]");
    walk_roundtrip(&w);
    cr_expect_str_eq(walk_visits(&w, "g"), "d d le e");
    cr_expect_str_eq(walk_get(&w, "seen"), "1223");
}

static void expect_refused(const char *in, const char *part)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_printf(
        &text, "{id: g, layout: [{id: h, type: loop, meta: {$for: i%s}}, {id: d}]}", in);
    walk_load(&w, text.data);
    cr_expect_eq(walk_run(&w, "g"), BF_E_EXPRESSION, "%s", w.err.text);
    cr_expect_not_null(strstr(w.err.text, part), "%s", w.err.text);
    cr_expect_not_null(strstr(w.err.text, "g / h"), "%s", w.err.text);
    bf_context_trace_clear(w.ctx);
    bf_str_fini(&text);
}

Test(loop, source__that_is_none_is_named)
{
    expect_refused("", "The '$in' must be a list or a string");
    expect_refused(", $in: 5", "The '$in' must be a list or a string");
    expect_refused(", $in: items", "items is not a collection");
    expect_refused(", $in: '1:5'", "The stepper style must be");
    walk_set(&w, "items", "7");
    expect_refused(", $in: items", "items is not a collection");
}

Test(loop, thousand_items__grow_nothing)
{
    start(LOOP("'0...1000'"));
    bf_engine_clear_interceptors(w.engine);
    cr_assert_eq(walk_run(&w, "g"), BF_OK, "%s", w.err.text);
    cr_expect_str_eq(walk_get(&w, "i"), "999");
}
