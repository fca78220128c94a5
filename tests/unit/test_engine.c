/*
 * test_engine.c - order inside of a node, gateways, calls of graphs, errors, hooks
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

TestSuite(engine, .init = setup, .fini = teardown);

#define LINEAR                                                                           \
    "{id: g, layout: [{id: s, type: start}, {id: a, task: 'n = 1'}, {id: e, type: "      \
    "end}]}"

static void expect_error(bf_status_t rc, bf_status_t status, const char *part)
{
    cr_expect_eq(rc, status, "status %d: %s", rc, w.err.text);
    cr_expect_not_null(strstr(w.err.text, part), "expected ...%s..., got %s", part,
                       w.err.text);
}

Test(engine, eval__walks_from_start_to_end)
{
    walk_load(&w, LINEAR);
    cr_expect_str_eq(walk_visits(&w, "g"), "s a e");
    cr_expect_str_eq(bf_str_peek(&w.ended), "s a e");
    cr_expect_str_eq(bf_str_peek(&w.arrived), "a e", "the start is not arrived at");
    cr_expect_str_eq(walk_get(&w, "n"), "1");
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "e");
    cr_expect(bf_context_is_end(w.ctx, NULL));
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
}

Test(engine, eval__does_nothing_when_it_was_done_before)
{
    walk_load(&w, LINEAR);
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_visits(&w, "g"), "");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_NOTHING);
    bf_context_trace_clear(w.ctx);
    cr_expect_str_eq(walk_visits(&w, "g"), "s a e");
}

Test(engine, eval__with_the_trace_disabled_starts_anew)
{
    walk_load(&w, LINEAR);
    bf_context_trace_enable(w.ctx, false);
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_visits(&w, "g"), "s a e");
    cr_expect_null(bf_context_last_node(w.ctx, "g"));
}

Test(engine, eval__records_a_single_node)
{
    walk_load(&w, "{id: g, layout: [{id: only, task: 'x = 1'}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "only");
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "only");
    cr_expect_not(bf_context_is_end(w.ctx, NULL), "it is no END");
}

Test(engine, when__of_a_node_guards_its_task_only)
{
    walk_load(&w, "{id: g, layout: [{id: a, when: 'false', task: 'n = 1'}, {id: b}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "a b");
    cr_expect_str_eq(walk_get(&w, "n"), "");
}

Test(engine, activity__follows_every_true_link_depth_first)
{
    walk_load(&w, "{id: g, layout: [{id: s, type: start, link: t},"
                  "{id: t, link: [{nextId: a, when: 'k > 0'}, {nextId: b, when: 'k > 5'},"
                  " c]}, {id: a, link: m}, {id: b, link: m}, {id: c, link: m},"
                  "{id: m, link: e}, {id: e, type: end}]}");
    walk_set(&w, "k", "3");
    cr_expect_str_eq(walk_visits(&w, "g"), "s t a m e c m e");
}

Test(engine, activity__looks_at_a_condition_when_the_branch_before_is_done)
{
    walk_load(&w, "{id: g, layout: [{id: t, link: [a, {nextId: b, when: 'seen'}]},"
                  "{id: a, task: 'seen = true', link: []}, {id: b, link: []}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "t a b");
}

Test(engine, exclusive__follows_the_first_true_link)
{
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, link: [d,"
                  "{nextId: a, when: 'k == 1'}, {nextId: b, when: 'k == 1'}]},"
                  "{id: d, link: []}, {id: a, link: []}, {id: b, link: []}]}");
    walk_set(&w, "k", "1");
    cr_expect_str_eq(walk_visits(&w, "g"), "x a");
    bf_context_trace_clear(w.ctx);
    walk_set(&w, "k", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "x d", "else the one without a condition");
}

Test(engine, exclusive__without_a_way_out_names_the_node)
{
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, link: ["
                  "{nextId: a, when: 'false'}]}, {id: a}]}");
    expect_error(walk_run(&w, "g"), BF_E_NO_ROUTE, "g / x");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_FAILED);
}

Test(engine, inclusive__without_a_way_out_names_the_node)
{
    walk_load(&w, "{id: g, layout: [{id: i, type: inclusive, link: ["
                  "{nextId: a, when: 'false'}, {nextId: b, when: 'null'}]}, {id: a},"
                  "{id: b}]}");
    expect_error(walk_run(&w, "g"), BF_E_NO_ROUTE, "g / i");
}

Test(engine, inclusive__looks_at_all_conditions_first)
{
    walk_load(&w, "{id: g, layout: [{id: i, type: inclusive, link: ["
                  "{nextId: a, when: 'true'}, {nextId: b, when: 'seen'}]},"
                  "{id: a, task: 'seen = true', link: []}, {id: b, link: []}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "i a");
}

Test(engine, parallel__does_not_look_at_conditions)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: ["
                  "{nextId: a, when: 'false'}, b]}, {id: a, link: []},"
                  "{id: b, link: []}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p a b");
}

Test(engine, gateway__runs_its_task_before_it_chooses)
{
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, task: 'k = 2', link: ["
                  "{nextId: a, when: 'k == 1'}, {nextId: b, when: 'k == 2'}]},"
                  "{id: a, link: []}, {id: b, link: []}]}");
    walk_set(&w, "k", "1");
    cr_expect_str_eq(walk_visits(&w, "g"), "x b");
}

Test(engine, gateway__with_many_links_keeps_them_apart)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "{id: g, layout: [{id: i, type: inclusive, link: [");
    for (int i = 0; i < 100; i++) {
        bf_str_printf(&text, "%s{nextId: n%d, when: 'k != %d'}", i ? "," : "", i, i);
    }
    bf_str_puts(&text, "]}");
    for (int i = 0; i < 100; i++) {
        bf_str_printf(&text, ",{id: n%d, link: []}", i);
    }
    bf_str_puts(&text, "]}");
    walk_load(&w, text.data);
    bf_str_fini(&text);
    walk_set(&w, "k", "70");
    const char *visits = walk_visits(&w, "g");
    cr_expect_not_null(strstr(visits, " n69 n71 "), "%s", visits);
}

/* --- calls --- */

#define SUB                                                                              \
    "{id: sub, layout: [{id: ss, type: start}, {id: t, task: 'n = n + 1'}, {id: se, "    \
    "type: end}]}"

Test(engine, call__walks_the_graph_each_time)
{
    walk_load(&w, SUB);
    walk_load(&w, "{id: g, layout: [{id: c1, task: '#sub'}, {id: c2, task: '#sub'},"
                  "{id: e, type: end}]}");
    walk_set(&w, "n", "0");
    cr_expect_str_eq(walk_visits(&w, "g"), "c1 ss t se c2 ss t se e");
    cr_expect_str_eq(walk_get(&w, "n"), "2");
    cr_expect_str_eq(bf_str_peek(&w.ended), "ss t se c1 ss t se c2 e");
    cr_expect_str_eq(bf_context_last_node(w.ctx, "sub"), "se");
    cr_expect(bf_context_is_end(w.ctx, NULL));
}

Test(engine, call__is_done_without_an_end_node)
{
    walk_load(&w, "{id: sub, layout: [{id: ss, type: start}, {id: t}]}");
    walk_load(&w, "{id: g, layout: [{id: c, task: '#sub'}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "c ss t e");
}

Test(engine, call__with_something_pending_interrupts_its_branch)
{
    walk_load(&w, SUB);
    walk_load(&w, "{id: g, layout: [{id: s, type: start, link: [c, b]},"
                  "{id: c, task: '#sub', link: e}, {id: b, link: e},"
                  "{id: e, type: end}]}");
    walk_set(&w, "n", "0");
    w.interrupt_at = "t";
    cr_expect_str_eq(walk_visits(&w, "g"), "s c ss t b e");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_PENDING);
    w.interrupt_at = NULL;
    cr_expect_str_eq(walk_visits(&w, "g"), "c t se e", "goes on inside of the call");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
}

Test(engine, call__to_a_missing_graph_names_the_node)
{
    walk_load(&w, "{id: g, layout: [{id: c, task: '#nope'}, {id: e, type: end}]}");
    expect_error(walk_run(&w, "g"), BF_E_NOT_FOUND, "g / c: Flow graph not found: nope");
}

Test(engine, call__uses_the_driver_of_the_graph)
{
    walk_load(&w, "{id: sub, driver: other, layout: [{id: t}]}");
    walk_load(&w, "{id: g, layout: [{id: c, task: '#sub'}, {id: e, type: end}]}");
    expect_error(walk_run(&w, "g"), BF_E_NOT_FOUND, "No driver found for: 'other'");
    bf_driver_t *other = bf_plain_driver_new("other");
    cr_assert_eq(bf_engine_set_driver(w.engine, "other", other), BF_OK);
    bf_context_trace_clear(w.ctx);
    cr_expect_str_eq(walk_visits(&w, "g"), "c t e");
    bf_plain_driver_free(other);
}

Test(engine, call__may_nest_a_thousand_deep)
{
    walk_load(&w, "{id: g, layout: [{id: c, when: 'depth < 1000', task: '#g',"
                  "link: e}, {id: e, type: end}]}");
    /* `when` is looked at before the task: it counts the calls */
    walk_load(&w, "{id: r, layout: [{id: x, type: exclusive, task: 'depth = depth + 1',"
                  "link: [{nextId: c, when: 'depth <= 1000'}, {nextId: e}]},"
                  "{id: c, task: '#r', link: e}, {id: e, type: end}]}");
    walk_set(&w, "depth", "0");
    cr_assert_eq(walk_run(&w, "r"), BF_OK, "%s", w.err.text);
    cr_expect_str_eq(walk_get(&w, "depth"), "1001");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
}

Test(engine, call__without_an_end_is_an_error)
{
    walk_load(&w, "{id: r, layout: [{id: c, task: '#r'}]}");
    expect_error(walk_run(&w, "r"), BF_E_LIMIT, "nested deeper");
}

/* --- errors --- */

Test(engine, driver__that_is_missing_is_named)
{
    walk_load(&w, "{id: g, driver: nope, layout: [{id: a}]}");
    expect_error(walk_run(&w, "g"), BF_E_NOT_FOUND, "No driver found for: 'nope'");
}

Test(engine, component__that_is_missing_is_named)
{
    walk_load(&w, "{id: g, layout: [{id: a, task: '@nope'}]}");
    expect_error(
        walk_run(&w, "g"), BF_E_COMPONENT,
        "The task handle failed: g / a: The task component 'nope' not exist; load "
        "the library that has it, or correct the name");
}

Test(engine, condition__that_fails_is_named)
{
    walk_load(&w, "{id: g, layout: [{id: a, link: [{nextId: b, when: '1 / 0 > 2'}]},"
                  "{id: b}]}");
    expect_error(walk_run(&w, "g"), BF_E_EXPRESSION,
                 "The condition handle failed: g / 1 / 0 > 2");
}

static bf_status_t fail(void *arg, bf_context_t *ctx, const bf_node_t *node,
                        bf_err_t *err)
{
    (void)arg;
    (void)ctx;
    (void)node;
    return bf_err_set(err, BF_E_IO, "the printer is on fire");
}

Test(engine, component__that_fails_names_the_node_and_can_be_tried_again)
{
    bf_component_t bad = {.run = fail};
    cr_assert_eq(bf_engine_set_component(w.engine, "print", &bad), BF_OK);
    walk_load(&w, "{id: g, layout: [{id: a, task: 'n = n + 1'}, {id: b, task: '@print'},"
                  "{id: e, type: end}]}");
    walk_set(&w, "n", "0");
    expect_error(walk_run(&w, "g"), BF_E_COMPONENT,
                 "The task handle failed: g / b: the printer is on fire");
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "b");
    cr_expect_not(bf_context_is_stopped(w.ctx));
    walk_script(&w, "print", "printed = true");
    cr_expect_str_eq(walk_visits(&w, "g"), "b e", "evaluation goes on where it failed");
    cr_expect_str_eq(walk_get(&w, "n"), "1");
}

static bf_status_t fail_silently(void *arg, bf_context_t *ctx, bool *ret, bf_err_t *err)
{
    (void)arg;
    (void)ctx;
    (void)err;
    *ret = true;
    return BF_E_TIMEOUT;
}

Test(engine, component__that_fails_without_a_text_gets_one)
{
    bf_component_t bad = {.test = fail_silently};
    cr_assert_eq(bf_engine_set_component(w.engine, "ask", &bad), BF_OK);
    walk_load(&w, "{id: g, layout: [{id: a, link: [{nextId: b, when: '@ask'}]},"
                  "{id: b}]}");
    expect_error(walk_run(&w, "g"), BF_E_COMPONENT, "g / @ask: component 'ask' failed");
}

/* A condition that sets a variable, and is not true. */
static bf_status_t set_k(void *arg, bf_context_t *ctx, bool *ret, bf_err_t *err)
{
    bf_value_t two = bf_value_int(2);
    (void)arg;
    *ret = false;
    return bf_context_put_str(ctx, "k", &two, err);
}

Test(engine, component__that_is_a_condition_may_set_what_the_next_ones_ask_for)
{
    bf_component_t sets = {.test = set_k};
    cr_assert_eq(bf_engine_set_component(w.engine, "set", &sets), BF_OK);
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, link: ["
                  "{nextId: a, when: 'k == 2'}, {nextId: a, when: '@set'},"
                  "{nextId: i, when: 'k == 2'}]},"
                  "{id: i, type: inclusive, link: [{nextId: a, when: 'k == 1'},"
                  "{nextId: b, when: 'k == 2'}]},"
                  "{id: a, link: []}, {id: b, link: []}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "x i b");
}

/* Counts how often it is asked, where the next conditions see it. */
static bf_status_t test_and_count(bf_driver_t *driver, bf_exchanger_t *ex,
                                  const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    bf_context_t *ctx = bf_exchanger_context(ex);
    bf_value_t next = bf_value_int(bf_context_get_str(ctx, "k")->as.integer + 1);
    (void)driver;
    bf_status_t rc = bf_context_put_str(ctx, "k", &next, err);
    return rc == BF_OK ? bf_plain_test(ex, code, ret, err) : rc;
}

Test(engine, driver__that_tests_conditions_may_set_what_they_ask_for)
{
    static const bf_driver_ops_t ops = {.handle_condition = test_and_count};
    bf_driver_t counting = {&ops, "counting"};
    cr_assert_eq(bf_engine_set_driver(w.engine, "counting", &counting), BF_OK);
    walk_load(&w,
              "{id: g, driver: counting, layout: [{id: x, type: exclusive, link: ["
              "{nextId: a, when: 'k == 3'}, {nextId: a, when: 'k == 3'},"
              "{nextId: b, when: 'k == 3'}]}, {id: a, link: []}, {id: b, link: []}]}");
    walk_set(&w, "k", "0");
    cr_expect_str_eq(walk_visits(&w, "g"), "x b");
}

/* --- hooks --- */

typedef struct note {
    walk_t *walk;
    const char *name;
} note_t;

static bf_status_t note_start(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                              bf_err_t *err)
{
    note_t *note = arg;
    (void)ex;
    (void)err;
    bf_str_printf(&note->walk->visited, "[%s %s]", note->name, node->id);
    return BF_OK;
}

static bf_status_t note_around(void *arg, bf_exchanger_t *ex,
                               bf_status_t (*proceed)(bf_exchanger_t *ex, bf_err_t *err),
                               bf_err_t *err)
{
    note_t *note = arg;
    bf_str_printf(&note->walk->visited, "(%s ", note->name);
    bf_status_t rc = proceed(ex, err);
    bf_str_printf(&note->walk->visited, " %s)", note->name);
    return rc;
}

Test(engine, interceptors__run_by_index)
{
    note_t late = {&w, "late"};
    note_t early = {&w, "early"};
    bf_interceptor_t a = {.index = 9, .around_flow = note_around, .arg = &late};
    bf_interceptor_t b = {.index = 1, .around_flow = note_around, .arg = &early};
    a.on_node_start = b.on_node_start = note_start;
    bf_engine_clear_interceptors(w.engine);
    cr_assert_eq(bf_engine_add_interceptor(w.engine, &a), BF_OK);
    cr_assert_eq(bf_engine_add_interceptor(w.engine, &b), BF_OK);
    walk_load(&w, "{id: g, layout: [{id: a}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "(early (late [early a][late a] late) early)");
}

Test(engine, interceptors_of_an_evaluation__do_not_see_called_graphs)
{
    note_t mine = {&w, "mine"};
    bf_interceptor_t hook = {.index = -1, .on_node_start = note_start, .arg = &mine};
    bf_eval_options_t options = {
        .steps = -1, .interceptors = &hook, .interceptor_count = 1};
    walk_load(&w, "{id: sub, layout: [{id: t}]}");
    bf_graph_t *graph = walk_load(&w, "{id: g, layout: [{id: c, task: '#sub'}]}");
    for (int i = 0; i < 2; i++) {
        bf_str_clear(&w.visited);
        bf_context_trace_clear(w.ctx);
        cr_assert_eq(bf_engine_eval(w.engine, graph, w.ctx, &options, &w.err), BF_OK);
        cr_expect_str_eq(bf_str_peek(&w.visited), "[mine c] c t",
                         "and do not add up over evaluations");
    }
}

static bf_status_t refuse(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                          bf_err_t *err)
{
    (void)arg;
    (void)ex;
    return bf_err_set(err, BF_E_CANCELLED, "not today, %s", node->id);
}

Test(engine, hook__that_fails_ends_the_walk_unwrapped)
{
    bf_interceptor_t hook = {.on_node_end = refuse};
    cr_assert_eq(bf_engine_add_interceptor(w.engine, &hook), BF_OK);
    walk_load(&w, LINEAR);
    cr_expect_eq(walk_run(&w, "g"), BF_E_CANCELLED);
    cr_expect_str_eq(w.err.text, "not today, s");
}

static bf_status_t eval_other(void *arg, bf_context_t *ctx, const bf_node_t *node,
                              bf_err_t *err)
{
    bf_engine_t *engine = arg;
    (void)node;
    return bf_engine_eval(engine, bf_engine_graph(engine, "other"), ctx, NULL, err);
}

Test(engine, component__may_evaluate_another_graph)
{
    bf_component_t other = {.run = eval_other, .arg = w.engine};
    cr_assert_eq(bf_engine_set_component(w.engine, "other", &other), BF_OK);
    walk_load(&w, "{id: other, layout: [{id: o, task: 'n = 1; context.interrupt()'},"
                  "{id: p}]}");
    walk_load(&w, "{id: g, layout: [{id: a, task: '@other'}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "a o e",
                     "its interrupt is its own affair (rule 94)");
    cr_expect_str_eq(bf_context_last_node(w.ctx, "g"), "e");
    cr_expect(bf_context_is_end(w.ctx, NULL), "the first graph that ran counts");
}

/* --- registry --- */

Test(engine, load__replaces_the_same_version_and_keeps_others)
{
    walk_load(&w, "{id: g, version: 1, layout: [{id: one}]}");
    walk_load(&w, "{id: g, version: 3, layout: [{id: three}]}");
    walk_load(&w, "{id: g, version: 2, layout: [{id: two}]}");
    cr_expect_str_eq(bf_engine_graph(w.engine, "g")->start->id, "three");
    cr_expect_str_eq(bf_engine_graph_version(w.engine, "g", 1)->start->id, "one");
    walk_load(&w, "{id: g, version: 3, layout: [{id: new}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "new");
    bf_engine_unload(w.engine, "g");
    cr_expect_null(bf_engine_graph(w.engine, "g"));
    cr_expect_null(bf_engine_graph_version(w.engine, "g", 1));
}

Test(engine, set_component__null_removes_one)
{
    walk_script(&w, "c", "n = 1");
    cr_expect_not_null(bf_engine_component(w.engine, "c"));
    cr_assert_eq(bf_engine_set_component(w.engine, "c", NULL), BF_OK);
    cr_expect_null(bf_engine_component(w.engine, "c"));
}

Test(engine, script__knows_its_node_and_the_instance)
{
    walk_load(&w, "{id: g, layout: [{id: a, title: Ann, meta: {x: 5},"
                  "task: 't = node.title + node.id + node.meta.x + instanceId'}]}");
    walk_visits(&w, "g");
    cr_expect_str_eq(walk_get(&w, "t"), "Anna5i-1");
    cr_expect_null(bf_context_get_str(w.ctx, "node"));
}
