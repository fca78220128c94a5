/*
 * test_engine_join.c - joins fire once per round, after every live branch
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

TestSuite(join, .init = setup, .fini = teardown);

Test(join, parallel__waits_for_all_branches)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [a, b, c]},"
                  "{id: a, link: j}, {id: b, link: j}, {id: c, link: j},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p a b c j e");
    cr_expect_str_eq(bf_str_peek(&w.arrived), "a j b j c j e");
}

Test(join, any_type__waits_after_any_split)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [a, b]},"
                  "{id: a, link: j}, {id: b, link: j},"
                  "{id: j, type: inclusive}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p a b j e");
    walk_load(&w, "{id: h, layout: [{id: i, type: inclusive, link: [a,"
                  "{nextId: b, when: 'false'}]}, {id: a, link: j}, {id: b, link: j},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "h"), "i a j e", "the branch was not taken");
}

Test(join, side_entry__does_not_make_it_wait)
{
    walk_load(&w, "{id: g, layout: [{id: x, type: exclusive, link: ["
                  "{nextId: p, when: 'k == 1'}, j]}, {id: p, type: parallel,"
                  "link: [a, b]}, {id: a, link: j}, {id: b, link: j},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    walk_set(&w, "k", "1");
    cr_expect_str_eq(walk_visits(&w, "g"), "x p a b j e");
    bf_context_trace_clear(w.ctx);
    walk_set(&w, "k", "2");
    cr_expect_str_eq(walk_visits(&w, "g"), "x j e");
}

Test(join, branch_that_ends_elsewhere__does_not_make_it_wait)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [a, x]},"
                  "{id: a, link: j}, {id: x, type: exclusive, link: ["
                  "{nextId: j, when: 'k == 1'}, q]}, {id: q, link: []},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p a x q j e",
                     "it fires when nothing live is left");
}

Test(join, unstructured__the_earlier_one_fires_first)
{
    /* a waits at j2 before j1 has fired; j1 leads to j2 */
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [a, b, x]},"
                  "{id: a, link: j2}, {id: b, link: j1}, {id: x, type: exclusive, link: ["
                  "{nextId: j1, when: 'false'}, {nextId: j2, when: 'false'}, q]},"
                  "{id: q, link: []}, {id: j1, type: parallel, link: j2},"
                  "{id: j2, type: parallel, link: e}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p a b x q j1 j2 e");
}

Test(join, same_link_twice__counts_once)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [c, a, b]},"
                  "{id: c, link: j}, {id: a, link: m}, {id: b, link: m},"
                  "{id: m, link: j}, {id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p c a m b m j e");
}

Test(join, cycle__every_round_has_its_own_arrivals)
{
    walk_load(&w, "{id: g, layout: [{id: s, type: start},"
                  "{id: p, type: parallel, link: [a, b]}, {id: a, link: j},"
                  "{id: b, link: j}, {id: j, type: inclusive},"
                  "{id: x, type: exclusive, task: 'n = n + 1', link: ["
                  "{nextId: p, when: 'n < 3'}, e]}, {id: e, type: end}]}");
    walk_set(&w, "n", "0");
    cr_expect_str_eq(walk_visits(&w, "g"), "s p a b j x p a b j x p a b j x e");
}

Test(join, nested__inner_and_outer_fire_once)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [q, c]},"
                  "{id: q, type: parallel, link: [a, b]}, {id: a, link: k},"
                  "{id: b, link: k}, {id: k, type: parallel, link: j},"
                  "{id: c, link: j}, {id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "p q a b k c j e");
}

Test(join, interrupted_branch__is_waited_for)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [a, b]},"
                  "{id: a, link: j}, {id: b, link: j}, {id: j, type: parallel},"
                  "{id: e, type: end}]}");
    w.interrupt_at = "a";
    cr_expect_str_eq(walk_visits(&w, "g"), "p a b");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_PENDING);
    walk_roundtrip(&w);
    cr_expect_str_eq(walk_visits(&w, "g"), "a", "still");
    w.interrupt_at = NULL;
    cr_expect_str_eq(walk_visits(&w, "g"), "a j e", "b is not run again");
    cr_expect_eq(bf_context_outcome(w.ctx), BF_EVAL_DONE);
}

Test(join, call__has_joins_of_its_own)
{
    walk_load(&w, "{id: sub, layout: [{id: p, type: parallel, link: [a, b]},"
                  "{id: a, link: j}, {id: b, link: j}, {id: j, type: parallel,"
                  "link: []}]}");
    walk_load(&w, "{id: g, layout: [{id: q, type: parallel, link: [c, d]},"
                  "{id: c, task: '#sub', link: k}, {id: d, task: '#sub', link: k},"
                  "{id: k, type: parallel}, {id: e, type: end}]}");
    cr_expect_str_eq(walk_visits(&w, "g"), "q c p a b j d p a b j k e");
}

/* b and c wait for each other; j, which both come to, waits longer than they do. */
Test(join, behind_joins_that_wait_for_each_other__runs_after_them)
{
    walk_load(&w, "{id: g, layout: [{id: p, type: parallel, link: [j, b, c]},"
                  "{id: b, type: parallel, link: c}, {id: c, type: parallel, link: k},"
                  "{id: k, link: [j, {nextId: b, when: 'again'}]},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    walk_set(&w, "again", "false");
    cr_expect_str_eq(walk_visits(&w, "g"), "p b c k j e");
}

/* Joins in a graph that is too large for sets of nodes. */
Test(join, large_graph__is_answered_by_search)
{
    const int blocks = 800;
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "{\"id\": \"g\", \"layout\": [");
    for (int i = 0; i < blocks; i++) {
        bf_str_printf(
            &text,
            "{\"id\":\"p%d\",\"type\":\"parallel\",\"link\":[\"a%d\",\"b%d\"]},"
            "{\"id\":\"a%d\",\"link\":\"j%d\"},{\"id\":\"b%d\",\"link\":\"j%d\"},"
            "{\"id\":\"j%d\",\"type\":\"parallel\"},",
            i, i, i, i, i, i, i, i);
    }
    bf_str_puts(&text, "{\"id\":\"e\",\"type\":\"end\"}]}");
    walk_load(&w, text.data);
    bf_str_fini(&text);
    const char *visits = walk_visits(&w, "g");
    cr_expect_not_null(strstr(visits, "p0 a0 b0 j0 p1 a1 b1 j1 p2 "));
    cr_expect_not_null(strstr(visits, "p799 a799 b799 j799 e"));
}
