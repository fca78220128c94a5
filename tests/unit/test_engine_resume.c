/*
 * test_engine_resume.c - stop, interrupt, steps, and going on later
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
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

TestSuite(resume, .init = setup, .fini = teardown);

#define PARALLEL                                                                         \
    "{id: g, layout: [{id: s, type: start}, {id: p, type: parallel, link: [a, b]},"      \
    "{id: a, task: '@a', link: a2}, {id: a2, link: j}, {id: b, task: '@b', link: j},"    \
    "{id: j, type: parallel}, {id: f, task: 'f = true'}, {id: e, type: end}]}"

static void start_parallel(void)
{
    walk_load(&w, PARALLEL);
    walk_script(&w, "a", "na = na + 1");
    walk_script(&w, "b", "nb = nb + 1");
    walk_set(&w, "na", "0");
    walk_set(&w, "nb", "0");
}

Test(resume, stop__runs_the_stopped_node_again)
{
    start_parallel();
    walk_script(&w, "a", "na = na + 1; if (!ok) { context.stop() }");
    cr_expect_str_eq(walk_visits(&w, "g"), "s p a");
    cr_expect(bf_context_is_stopped(w.ctx));
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_STOPPED);
    cr_expect_str_eq(bf_str_peek(&w.ended), "s p");
    walk_set(&w, "ok", "true");
    cr_expect_str_eq(walk_visits(&w, "g"), "a a2 b j f e", "and what was still to do");
    cr_expect_str_eq(walk_get(&w, "na"), "2");
    cr_expect_str_eq(walk_get(&w, "nb"), "1");
}

Test(resume, stop__does_not_ask_conditions_again)
{
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, link: ["
                  "{nextId: a, when: 'k == 1'}, {nextId: b, when: 'k == 2'}]},"
                  "{id: a, link: e}, {id: b, link: e}, {id: e, type: end}]}");
    walk_set(&w, "k", "1");
    w.stop_at = "a";
    cr_expect_str_eq(walk_visits(&w, "g"), "x a");
    w.stop_at = NULL;
    walk_set(&w, "k", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "a e");
}

Test(resume, interrupts__of_several_branches_are_all_remembered)
{
    start_parallel();
    walk_script(&w, "a", "na = na + 1; if (!ok) { context.interrupt() }");
    walk_script(&w, "b", "nb = nb + 1; if (!ok) { context.interrupt() }");
    cr_expect_str_eq(walk_visits(&w, "g"), "s p a b");
    walk_roundtrip(&w);
    walk_script(&w, "b", "nb = nb + 1");
    cr_expect_str_eq(walk_visits(&w, "g"), "a b");
    walk_roundtrip(&w);
    walk_set(&w, "ok", "true");
    cr_expect_str_eq(walk_visits(&w, "g"), "a a2 j f e");
    cr_expect_str_eq(walk_get(&w, "na"), "3");
    cr_expect_str_eq(walk_get(&w, "nb"), "2");
}

Test(resume, links__that_were_left_are_followed)
{
    walk_load(&w, "{id: g, layout: [{id: t, link: [a, {nextId: b, when: 'k == 2'}, c]},"
                  "{id: a, link: []}, {id: b, link: []}, {id: c, link: []}]}");
    walk_set(&w, "k", "1");
    w.stop_at = "a";
    walk_visits(&w, "g");
    walk_roundtrip(&w);
    w.stop_at = NULL;
    walk_set(&w, "k", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "a b c");
}

Test(resume, steps__make_progress_through_a_join)
{
    static const char *const expected[] = {"s", "p", "a", "a2", "", "b", "j", "f", "e"};
    start_parallel();
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        cr_assert_eq(walk_run_steps(&w, "g", 1), BF_OK, "%s", w.err.text);
        cr_expect_str_eq(bf_str_peek(&w.visited), expected[i], "step %zu", i);
        walk_roundtrip(&w);
    }
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_NONE, "a snapshot has none");
    cr_expect_str_eq(walk_visits(&w, "g"), "");
    cr_expect_str_eq(walk_get(&w, "na"), "1");
    cr_expect_str_eq(walk_get(&w, "nb"), "1");
}

Test(resume, steps__of_zero_stop_at_once)
{
    walk_load(&w, "{id: g, layout: [{id: a}, {id: b}]}");
    cr_assert_eq(walk_run_steps(&w, "g", 0), BF_OK);
    cr_expect_str_eq(bf_str_peek(&w.visited), "");
    cr_expect(bf_context_is_stopped(w.ctx));
    cr_expect_str_eq(walk_visits(&w, "g"), "a b");
}

Test(resume, steps__go_into_a_called_graph)
{
    walk_load(&w,
              "{id: sub, layout: [{id: ss, type: start}, {id: t}, {id: se, type: end}]}");
    walk_load(&w, "{id: g, layout: [{id: c, task: '#sub'}, {id: e, type: end}]}");
    static const char *const expected[] = {"c ss", "c t", "c se", "e"};
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(walk_run_steps(&w, "g", 1), BF_OK, "%s", w.err.text);
        cr_expect_str_eq(bf_str_peek(&w.visited), expected[i], "step %zu", i);
        walk_roundtrip(&w);
    }
    cr_expect_str_eq(walk_visits(&w, "g"), "");
}

Test(resume, stop__deep_inside_of_calls_comes_back_there)
{
    walk_load(&w, "{id: c, layout: [{id: c1}, {id: c2}]}");
    walk_load(&w, "{id: b, layout: [{id: b1, task: '#c'}, {id: b2}]}");
    walk_load(&w, "{id: a, layout: [{id: a1, task: '#b'}, {id: a2}]}");
    w.stop_at = "c2";
    cr_expect_str_eq(walk_visits(&w, "a"), "a1 b1 c1 c2");
    walk_roundtrip(&w);
    w.stop_at = "b1";
    cr_expect_str_eq(walk_visits(&w, "a"), "a1 b1", "stopped on the way there");
    walk_roundtrip(&w);
    w.stop_at = NULL;
    cr_expect_str_eq(walk_visits(&w, "a"), "a1 b1 c2 b2 a2");
}

Test(resume, nested_loops__go_on_in_their_passes)
{
    walk_load(&w, "{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: [1, 2]}},"
                  "{id: k, type: loop, meta: {$for: n, $in: '5...8'}},"
                  "{id: d, task: '@d'}, {id: ke, type: loop}, {id: he, type: loop},"
                  "{id: e, type: end}]}");
    walk_script(&w, "d",
                "seen = seen + i + n + ' '; if (n == 6 && !(go == i)) {"
                "context.stop() }");
    walk_set(&w, "seen", "\"\"");
    cr_expect_str_eq(walk_visits(&w, "g"), "h k d d");
    walk_roundtrip(&w);
    walk_set(&w, "go", "1");
    cr_expect_str_eq(walk_visits(&w, "g"), "d d ke k d d");
    walk_roundtrip(&w);
    walk_set(&w, "go", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "d d ke he e");
    cr_expect_str_eq(walk_get(&w, "seen"), "15 16 16 17 25 26 26 27 ");
}

Test(resume, position_set_by_hand__is_where_it_starts)
{
    walk_load(&w, "{id: g, layout: [{id: a}, {id: b}, {id: e, type: end}]}");
    cr_assert_eq(bf_context_trace_set(w.ctx, "g", "b"), BF_OK);
    cr_expect_str_eq(walk_visits(&w, "g"), "b e");
    cr_assert_eq(bf_context_trace_set(w.ctx, "g", "nope"), BF_OK);
    cr_expect_eq(walk_run(&w, "g"), BF_E_NOT_FOUND);
    cr_expect_not_null(strstr(w.err.text, "Node not found, id: nope"), "%s", w.err.text);
}

Test(resume, interrupt_on_the_way_to_a_node__keeps_it_for_later)
{
    walk_load(&w,
              "{id: g, layout: [{id: a, link: [{nextId: b, when: '@ask'}]}, {id: b}]}");
    walk_script(&w, "ask", "x = 1");
    bf_context_trace_clear(w.ctx);
    cr_expect_eq(walk_run(&w, "g"), BF_E_COMPONENT, "it is no condition");
}

Test(resume, changed_graph__is_refused_with_a_remedy)
{
    walk_load(&w, "{id: g, layout: [{id: t, link: [a, b, c]}, {id: a, link: []},"
                  "{id: b, link: []}, {id: c, link: []}]}");
    w.stop_at = "a";
    walk_visits(&w, "g");
    w.stop_at = NULL;
    walk_load(&w, "{id: g, layout: [{id: t, link: [a, c]}, {id: a, link: []},"
                  "{id: c, link: []}]}");
    cr_expect_eq(walk_run(&w, "g"), BF_E_INVALID);
    cr_expect_not_null(strstr(w.err.text, "clear the trace"), "%s", w.err.text);
    bf_context_trace_clear(w.ctx);
    cr_expect_str_eq(walk_visits(&w, "g"), "t a c");
}

static void expect_refused(const char *at)
{
    bf_str_t json;
    bf_context_t *ctx = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&json, 0);
    bf_str_printf(&json, "{\"trace\":{\"pending\":[{\"graph\":\"g\",\"at\":%s}]}}", at);
    cr_assert_eq(bf_context_load_json(json.data, json.len, &ctx, &err), BF_OK, "%s",
                 err.text);
    bf_status_t rc =
        bf_engine_eval(w.engine, bf_engine_graph(w.engine, "g"), ctx, NULL, &err);
    cr_expect(rc == BF_E_INVALID || rc == BF_E_NOT_FOUND, "%s: %d %s", at, rc, err.text);
    bf_context_free(ctx);
    bf_str_fini(&json);
}

/* What a snapshot says is not trusted. */
Test(resume, foreign_snapshot__is_checked)
{
    static const char *const bad[] = {
        "{}",
        "{\"frames\":5}",
        "{\"frames\":[]}",
        "{\"frames\":[{\"todo\":7}]}",
        "{\"frames\":[{\"todo\":[7]}]}",
        "{\"frames\":[{\"todo\":[{\"at\":\"nope\"}]}]}",
        "{\"frames\":[{\"todo\":[{\"after\":\"t\",\"to\":[\"x\"]}]}]}",
        "{\"frames\":[{\"todo\":[{\"after\":\"t\",\"to\":[1]}]}]}",
        "{\"frames\":[{\"todo\":[{\"after\":\"t\"}]}]}",
        "{\"frames\":[{\"todo\":[{\"loop\":\"t\",\"frame\":0}]}]}",
        "{\"frames\":[{\"todo\":[{\"loop\":\"h\",\"frame\":9}]}]}",
        "{\"frames\":[{\"todo\":[],\"joins\":[3]}]}",
    };
    static const char *const bad_loops[] = {
        "{\"todo\":[]}",
        "{\"todo\":[],\"items\":[1],\"next\":-1}",
        "{\"todo\":[{\"loop\":\"h\",\"frame\":1}],\"items\":[1],\"next\":0}",
    };
    walk_load(&w, "{id: g, layout: [{id: t, link: [a, b]}, {id: a}, {id: b},"
                  "{id: h, type: loop, meta: {$for: i, $in: [1]}}]}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_refused(bad[i]);
    }
    for (size_t i = 0; i < sizeof(bad_loops) / sizeof(bad_loops[0]); i++) {
        char at[256];
        (void)snprintf(at, sizeof(at),
                       "{\"frames\":[{\"todo\":[{\"loop\":\"h\",\"frame\":1}]},%s]}",
                       bad_loops[i]);
        expect_refused(at);
    }
}

/* --- limits --- */

Test(resume, chain_of_100000_nodes__walks_and_comes_back)
{
    const int count = 100000;
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"}");
    for (int i = 0; i < count; i++) {
        bf_str_printf(&text, ",{\"id\":\"n%d\"}", i);
    }
    bf_str_puts(&text, ",{\"id\":\"e\",\"type\":\"end\"}]}");
    bf_graph_t *graph = walk_load(&w, text.data);
    bf_str_fini(&text);
    bf_engine_clear_interceptors(w.engine);
    bf_eval_options_t options = {.steps = 50000, .max_steps = count + 10};
    cr_assert_eq(bf_engine_eval(w.engine, graph, w.ctx, &options, &w.err), BF_OK);
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "n49999");
    options.steps = -1;
    cr_assert_eq(bf_engine_eval(w.engine, graph, w.ctx, &options, &w.err), BF_OK);
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "e");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
}

Test(resume, cycle__ends_at_the_step_limit)
{
    walk_load(&w, "{id: g, layout: [{id: s, type: start},"
                  "{id: a, task: 'n = n + 1', link: [b, c]},"
                  "{id: b, link: a}, {id: c, link: a}]}");
    walk_set(&w, "n", "0");
    bf_engine_clear_interceptors(w.engine);
    cr_expect_eq(walk_run(&w, "g"), BF_E_STEP_LIMIT);
    cr_expect_not_null(strstr(w.err.text, "more than 10000 node visits"), "%s",
                       w.err.text);
    cr_expect_str_eq(walk_get(&w, "n"), "5000");
}
