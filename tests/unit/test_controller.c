/*
 * test_controller.c - who may operate a node, and what goes by itself
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/controller.h"

static bf_context_t *ctx;
static bf_graph_t *graph;

static void setup(void)
{
    static const char text[] =
        "{id: g, layout: [{id: s, type: start},"
        "{id: plain}, {id: ann, meta: {actor: ann}}, {id: number, meta: {actor: 7}},"
        "{id: list, meta: {actor: [bob, 7]}}, {id: role, meta: {role: boss}},"
        "{id: x, type: exclusive, meta: {actor: ann}, link: e},"
        "{id: nobody, meta: {actor: null}}, {id: e, type: end, meta: {actor: ann}}]}";
    bf_err_t err = BF_ERR_INIT;
    ctx = bf_context_new("i");
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "t", NULL, &graph, &err), BF_OK,
                 "%s", err.text);
}

static void teardown(void)
{
    bf_context_free(ctx);
    bf_graph_unref(graph);
}

TestSuite(controller, .init = setup, .fini = teardown);

static void is(const char *name, bf_value_t value)
{
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_context_put_str(ctx, name, &value, &err), BF_OK);
}

static void expect(bf_controller_t *c, const char *node, bool operable, bool automatic)
{
    const bf_node_t *n = bf_graph_node(graph, node);
    cr_expect_eq(bf_controller_is_operatable(c, ctx, n), operable, "%s", node);
    cr_expect_eq(bf_controller_is_auto_forward(c, ctx, n), automatic, "%s", node);
}

Test(controller, block__activities_are_tasks_of_anybody)
{
    bf_controller_t *c = bf_block_controller_new();
    expect(c, "plain", true, false);
    expect(c, "ann", true, false);
    expect(c, "x", false, true);
    expect(c, "e", false, true);
    bf_controller_free(c);
}

Test(controller, not_block__everything_goes_by_itself)
{
    bf_controller_t *c = bf_not_block_controller_new();
    expect(c, "plain", true, true);
    expect(c, "ann", true, true);
    bf_controller_free(c);
}

Test(controller, actor__compares_as_text)
{
    bf_controller_t *c = bf_actor_controller_new(NULL, 0);
    is("actor", bf_value_cstr("ann"));
    expect(c, "plain", false, true);
    expect(c, "nobody", false, true);
    expect(c, "ann", true, false);
    expect(c, "number", false, false);
    expect(c, "x", true, false);
    expect(c, "e", true, true);
    is("actor", bf_value_cstr("7"));
    expect(c, "number", true, false);
    is("actor", bf_value_int(7));
    expect(c, "number", true, false);
    expect(c, "ann", false, false);
    bf_controller_free(c);
}

Test(controller, actor__any_member_of_a_list_will_do)
{
    bf_controller_t *c = bf_actor_controller_new(NULL, 0);
    is("actor", bf_value_cstr("bob"));
    expect(c, "list", true, false);
    is("actor", bf_value_cstr("7"));
    expect(c, "list", true, false);
    is("actor", bf_value_cstr("eve"));
    expect(c, "list", false, false);
    const bf_value_t groups[] = {bf_value_cstr("eve"), bf_value_cstr("ann")};
    is("actor", (bf_value_t){.type = BF_VALUE_LIST, .len = 2, .as.items = groups});
    expect(c, "ann", true, false);
    bf_controller_free(c);
}

Test(controller, actor__nobody_and_the_empty_text_match_nothing)
{
    bf_controller_t *c = bf_actor_controller_new(NULL, 0);
    expect(c, "ann", false, false);
    is("actor", bf_value_cstr(""));
    expect(c, "ann", false, false);
    bf_controller_free(c);
}

Test(controller, actor__has_the_keys_that_it_is_given)
{
    static const char *const keys[] = {"role", "actor"};
    bf_controller_t *c = bf_actor_controller_new(keys, 2);
    is("role", bf_value_cstr("boss"));
    expect(c, "role", true, false);
    expect(c, "ann", false, false);
    is("actor", bf_value_cstr("ann"));
    expect(c, "ann", true, false);
    cr_expect_str_eq(bf_controller_actor_key(c), "role");
    cr_expect(bf_controller_is_key(c, "actor", 5));
    cr_expect_not(bf_controller_is_key(c, "act", 3));
    bf_controller_free(c);
}

Test(controller, is_key__without_keys_is_actor)
{
    bf_controller_t *c = bf_block_controller_new();
    cr_expect(bf_controller_is_key(c, "actor", 5));
    cr_expect_not(bf_controller_is_key(c, "role", 4));
    bf_controller_free(c);
}
