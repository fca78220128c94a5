/*
 * test_engine_nested.c - a component that evaluates a graph itself (rule 94)
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "tests/support/flow.h"

static const char outer[] = "id: outer\n"
                            "layout:\n"
                            "  - {id: s, type: start, link: a}\n"
                            "  - {id: a, task: '@nested', link: b}\n"
                            "  - {id: b, task: 'after = n', link: e}\n"
                            "  - {id: e, type: end}\n";
static const char inner[] = "id: inner\n"
                            "layout:\n"
                            "  - {id: s, type: start, link: t}\n"
                            "  - {id: t, task: 'n = n + 1', link: e}\n"
                            "  - {id: e, type: end}\n";

static flow_t flow;

static bf_status_t run_nested(void *arg, bf_context_t *ctx, const bf_node_t *node,
                              bf_err_t *err)
{
    (void)node;
    bf_engine_t *engine = arg;
    bf_eval_options_t options = {.steps = -1, .trace = BF_TRACE_OFF};
    bf_status_t rc =
        bf_engine_eval(engine, bf_engine_graph(engine, "inner"), ctx, &options, err);
    return rc == BF_OK ? bf_engine_eval(engine, bf_engine_graph(engine, "inner"), ctx,
                                        &options, err)
                       : rc;
}

Test(engine_nested, eval__goes_on_in_the_outer_graph_after_a_component_ran_others)
{
    flow_init(&flow);
    bf_graph_t *graph = flow_load(&flow, outer);
    (void)flow_load(&flow, inner);
    bf_component_t component = {.run = run_nested, .arg = flow.engine};
    cr_assert_eq(bf_engine_set_component(flow.engine, "nested", &component), BF_OK);
    bf_context_t *ctx = bf_context_new("i");
    bf_value_t zero = bf_value_int(0);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_context_put_str(ctx, "n", &zero, &err), BF_OK);
    cr_assert_eq(bf_engine_eval(flow.engine, graph, ctx, NULL, &err), BF_OK, "%s",
                 err.text);
    cr_assert_eq(bf_context_get_str(ctx, "n")->as.integer, 2);
    cr_assert_eq(bf_context_get_str(ctx, "after")->as.integer, 2);
    cr_assert_str_eq(bf_context_last_node(ctx, "outer"), "e");
    cr_assert(bf_context_is_end(ctx, "outer"));
    cr_assert_not(bf_context_is_stopped(ctx));
    bf_context_free(ctx);
    flow_fini(&flow);
}
