/*
 * test_executor_submit.c - guard, back, jumps, terminate, restart
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/desk.h"

static desk_t d;

static void setup(void)
{
    desk_init(&d);
}

static void teardown(void)
{
    desk_fini(&d);
}

TestSuite(submit, .init = setup, .fini = teardown);

#define CHAIN                                                                            \
    "{id: g, layout: [{id: s, type: start}, {id: a, meta: {actor: ann}},"                \
    "{id: b, meta: {actor: bob}}, {id: c, meta: {actor: cid}}, {id: e, type: end}]}"
#define SPLIT                                                                            \
    "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"                \
    "{id: p, type: parallel, link: [a, b]}, {id: a, meta: {actor: ann}, link: a2},"      \
    "{id: a2, meta: {actor: ann}, link: j}, {id: b, meta: {actor: bob}, link: j},"       \
    "{id: j, type: parallel}, {id: f, meta: {actor: cid}}, {id: e, type: end}]}"

static void work(const char *name, const char *node)
{
    desk_claim(&d, name);
    desk_forward(&d, name, node);
}

/* --- the guard --- */

Test(submit, guard__wants_the_current_task)
{
    desk_load(&d, CHAIN);
    desk_refused(&d, "bob", "b", BF_ACTION_FORWARD, BF_CODE_NOT_WAITING);
    desk_forward(&d, "ann", "a"); /* next in line counts as current */
    desk_refused(&d, "ann", "a", BF_ACTION_FORWARD, BF_CODE_NOT_WAITING);
    desk_refused(&d, "ann", "a", BF_ACTION_BACK, BF_CODE_NOT_WAITING);
    desk_forward(&d, "bob", "b");
    desk_forward(&d, "cid", "c");
    desk_refused(&d, "cid", "c", BF_ACTION_FORWARD, BF_CODE_INSTANCE_COMPLETED);
}

Test(submit, guard__wants_the_one_whose_task_it_is)
{
    desk_load(&d, CHAIN);
    desk_claim(&d, "ann");
    desk_refused(&d, "eve", "a", BF_ACTION_FORWARD, BF_CODE_NOT_OPERABLE);
    desk_refused(&d, "", "a", BF_ACTION_TERMINATE, BF_CODE_NOT_OPERABLE);
}

Test(submit, no_guard__lets_everything_pass)
{
    desk_load(&d, CHAIN);
    bf_executor_set_guard(d.executor, BF_GUARD_NONE);
    desk_forward(&d, "eve", "c");
    cr_expect_str_eq(desk_states(&d), "c:1002");
    desk_forward(&d, "eve", "a");
    desk_forward(&d, "eve", "b");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

Test(submit, unknown_action__is_refused)
{
    desk_load(&d, CHAIN);
    desk_refused(&d, "ann", "a", BF_ACTION_UNKNOWN, BF_CODE_UNKNOWN_ACTION);
    cr_expect_not_null(strstr(d.err.text, "StateOperation is UNKNOWN"), "%s", d.err.text);
}

/* --- back --- */

Test(submit, back__leads_one_task_back)
{
    desk_load(&d, CHAIN);
    work("ann", "a");
    work("bob", "b");
    desk_claim(&d, "cid");
    (void)desk_rows(&d);
    desk_submit(&d, "cid", "c", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "a:1002");
    cr_expect_str_eq(desk_rows(&d), "c>b:1001");
    cr_expect_str_eq(desk_claim(&d, "bob"), "b:1001");
}

Test(submit, back__of_the_first_task_takes_back_only_itself)
{
    desk_load(&d, CHAIN);
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "a", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
    cr_expect_str_eq(desk_rows(&d), "a>a:1001");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_RUNNING);
}

Test(submit, back__over_automatic_nodes_reaches_somebody)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"
                  "{id: n, task: '@note'}, {id: x, type: exclusive},"
                  "{id: m, task: '@note'}, {id: k, meta: {actor: bob}}]}");
    work("ann", "h");
    desk_claim(&d, "bob");
    desk_submit(&d, "bob", "k", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
    work("ann", "h");
    cr_expect_str_eq(bf_str_peek(&d.runs), "n m n m", "they run again");
}

Test(submit, back__within_a_branch_leaves_the_siblings)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    work("ann", "a");
    work("bob", "b");
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "a2", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "b:1002 h:1002 p:1002");
    cr_expect_str_eq(desk_find_next(&d, "ann"), "a:1001");
}

Test(submit, back__of_the_first_task_of_a_branch_abandons_the_siblings)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    work("ann", "a");
    desk_claim(&d, "ann"); /* a2 */
    desk_claim(&d, "bob");
    desk_submit(&d, "bob", "b", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
    cr_expect_str_eq(desk_find_next(&d, "ann"), "h:1001");
}

Test(submit, back__across_a_join_takes_back_one_task_of_each_branch)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    work("ann", "a");
    work("ann", "a2");
    work("bob", "b");
    desk_claim(&d, "cid");
    (void)desk_rows(&d);
    desk_submit(&d, "cid", "f", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "a:1002 h:1002 p:1002");
    const char *rows = desk_rows(&d);
    cr_expect(strstr(rows, "f>a2:1001") && strstr(rows, "f>b:1001"), "%s", rows);
    cr_expect_str_eq(desk_find_next(&d, "bob"), "a2:0 b:1001");
}

Test(submit, back__across_a_join_leaves_a_branch_without_tasks_to_run_again)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"
                  "{id: p, type: parallel, link: [a, n]}, {id: a, meta: {actor: ann},"
                  "link: j}, {id: n, task: '@note', link: j}, {id: j, type: parallel},"
                  "{id: f, meta: {actor: cid}}]}");
    work("ann", "h");
    work("ann", "a");
    desk_claim(&d, "cid");
    desk_submit(&d, "cid", "f", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "h:1002 p:1002");
    work("ann", "a");
    cr_expect_str_eq(bf_str_peek(&d.runs), "n n");
}

Test(submit, back__across_a_join_of_automatic_branches_leads_before_the_split)
{
    desk_load(&d,
              "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"
              "{id: p, type: parallel, link: [m, n]}, {id: m, task: '@note', link: j},"
              "{id: n, task: '@note', link: j}, {id: j, type: parallel},"
              "{id: f, meta: {actor: cid}}]}");
    work("ann", "h");
    desk_claim(&d, "cid");
    desk_submit(&d, "cid", "f", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
}

Test(submit, back__chooses_anew_at_a_gateway)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"
                  "{id: x, type: exclusive, link: [{nextId: a, when: 'k == 1'}, b]},"
                  "{id: a, meta: {actor: ann}}, {id: b, meta: {actor: ann}}]}");
    desk_set(&d, "ann", "k", "1");
    work("ann", "h");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    desk_submit(&d, "ann", "a", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
    desk_set(&d, "ann", "k", "2");
    work("ann", "h");
    cr_expect_str_eq(desk_claim(&d, "ann"), "b:1001");
}

Test(submit, back__in_a_second_round_stays_in_it)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: a, meta: {actor: ann}},"
                  "{id: r, meta: {actor: bob}}, {id: x, type: exclusive, link: ["
                  "{nextId: a, when: 'again'}, e]}, {id: e, type: end}]}");
    work("ann", "a");
    desk_set(&d, "bob", "again", "true");
    work("bob", "r");
    work("ann", "a");
    cr_expect_str_eq(desk_claim(&d, "bob"), "r#2:1001");
    desk_submit(&d, "bob", "r", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "a:1002 r:1002 x:1002");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a#2:1001");
}

Test(submit, back__in_a_loop_leads_to_the_pass_before)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start},"
                  "{id: l, type: loop, meta: {$for: i, $in: [1, 2, 3]}},"
                  "{id: a, meta: {actor: ann}}, {id: le, type: loop},"
                  "{id: f, meta: {actor: bob}}]}");
    work("ann", "a");
    work("ann", "a");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a#3:1001");
    desk_submit(&d, "ann", "a", BF_ACTION_BACK);
    cr_expect_str_eq(desk_claim(&d, "ann"), "a#2:1001");
    desk_forward(&d, "ann", "a");
    work("ann", "a");
    cr_expect_str_eq(desk_claim(&d, "bob"), "f:1001");
    desk_submit(&d, "bob", "f", BF_ACTION_BACK);
    cr_expect_str_eq(desk_claim(&d, "ann"), "a#3:1001", "the last pass");
}

#define SUB                                                                              \
    "{id: sub, layout: [{id: ss, type: start}, {id: u, meta: {actor: ann}},"             \
    "{id: v, meta: {actor: ann}}, {id: se, type: end}]}"
#define CALLS                                                                            \
    "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"                \
    "{id: c, task: '#sub'}, {id: f, meta: {actor: ann}}, {id: e, type: end}]}"

Test(submit, back__does_not_leave_a_called_graph)
{
    desk_load(&d, SUB);
    desk_load(&d, CALLS);
    work("ann", "h");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/u:1001");
    desk_submit(&d, "ann", "sub/u", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "c:1001 h:1002");
    work("ann", "sub/u");
    desk_submit(&d, "ann", "sub/v", BF_ACTION_BACK);
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/u:1001");
}

Test(submit, back__over_a_call_takes_the_call_back)
{
    desk_load(&d, SUB);
    desk_load(&d, CALLS);
    work("ann", "h");
    work("ann", "sub/u");
    work("ann", "sub/v");
    cr_expect_str_eq(desk_claim(&d, "ann"), "f:1001");
    desk_submit(&d, "ann", "f", BF_ACTION_BACK);
    cr_expect_str_eq(desk_states(&d), "");
    work("ann", "h");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/u:1001");
}

/* --- jump back --- */

Test(submit, back_jump__opens_a_task_that_was_done)
{
    desk_load(&d, CHAIN);
    work("ann", "a");
    work("bob", "b");
    desk_claim(&d, "cid");
    (void)desk_rows(&d);
    desk_submit(&d, "cid", "a", BF_ACTION_BACK_JUMP);
    cr_expect_str_eq(desk_states(&d), "a:1001");
    cr_expect_str_eq(desk_rows(&d), "c>a:1001");
}

Test(submit, back_jump__with_a_target_of_its_own)
{
    desk_load(&d, CHAIN);
    work("ann", "a");
    work("bob", "b");
    bf_submit_t submit = {.node = bf_graph_node(d.graph, "c"),
                          .action = BF_ACTION_BACK_JUMP,
                          .target = bf_graph_node(d.graph, "b")};
    (void)desk_rows(&d);
    cr_assert_eq(
        bf_executor_submit_task(d.executor, d.graph, &submit, desk_of(&d, "cid"), &d.err),
        BF_OK, "%s", d.err.text);
    cr_expect_str_eq(desk_states(&d), "a:1002 b:1001");
    cr_expect_str_eq(desk_rows(&d), "c>b:1001");
}

Test(submit, back_jump__refuses_what_was_not_done)
{
    desk_load(&d, CHAIN);
    work("ann", "a");
    desk_claim(&d, "bob");
    desk_refused(&d, "bob", "c", BF_ACTION_BACK_JUMP, BF_CODE_UNREACHABLE_TARGET);
    desk_refused(&d, "bob", "e", BF_ACTION_BACK_JUMP, BF_CODE_UNREACHABLE_TARGET);
    desk_refused(&d, "eve", "a", BF_ACTION_BACK_JUMP, BF_CODE_NOT_OPERABLE);
}

Test(submit, back_jump__before_a_split_takes_back_every_branch)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    work("ann", "a");
    work("bob", "b");
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "h", BF_ACTION_BACK_JUMP);
    cr_expect_str_eq(desk_states(&d), "h:1001");
}

Test(submit, back_jump__within_a_branch_leaves_the_siblings)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    work("ann", "a");
    work("bob", "b");
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "a", BF_ACTION_BACK_JUMP);
    cr_expect_str_eq(desk_states(&d), "a:1001 b:1002 h:1002 p:1002");
}

Test(submit, back_jump__into_a_called_graph_opens_the_call)
{
    desk_load(&d, SUB);
    desk_load(&d, CALLS);
    work("ann", "h");
    work("ann", "sub/u");
    work("ann", "sub/v");
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "sub/v", BF_ACTION_BACK_JUMP);
    cr_expect_str_eq(desk_states(&d), "h:1002 sub:u:1002 sub:v:1001");
    desk_forward(&d, "ann", "sub/v");
    cr_expect_str_eq(desk_find_next(&d, "ann"), "f:1001");
}

/* --- jump forward --- */

Test(submit, forward_jump__passes_the_tasks_of_others)
{
    desk_load(&d, CHAIN);
    desk_submit(&d, "ann", "c", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d), "a:1002 b:1002 c:1001");
    cr_expect_str_eq(desk_rows(&d), "a>c:1002");
}

Test(submit, forward_jump__to_the_end_completes_the_instance)
{
    desk_load(&d, CHAIN);
    desk_submit(&d, "ann", "e", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d), "a:1002 b:1002 c:1002");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

Test(submit, forward_jump__completes_only_what_leads_to_the_target)
{
    desk_load(&d, SPLIT);
    desk_submit(&d, "ann", "b", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d), "b:1001 h:1002 p:1002");
    desk_submit(&d, "ann", "f", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d),
                     "a:1002 a2:1002 b:1002 f:1001 h:1002 j:1002 p:1002");
}

Test(submit, forward_jump__refuses_what_does_not_lie_ahead)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: h, meta: {actor: ann}},"
                  "{id: x, type: exclusive, link: [{nextId: a, when: 'k == 1'},"
                  "{nextId: b, when: 'k == 2'}]}, {id: a, meta: {actor: ann}, link: e},"
                  "{id: b, meta: {actor: bob}, link: e}, {id: e, type: end}]}");
    desk_set(&d, "ann", "k", "1");
    desk_refused(&d, "ann", "b", BF_ACTION_FORWARD_JUMP, BF_CODE_UNREACHABLE_TARGET);
    desk_refused(&d, "ann", "x", BF_ACTION_FORWARD_JUMP, BF_CODE_UNREACHABLE_TARGET);
    work("ann", "h");
    desk_refused(&d, "ann", "h", BF_ACTION_FORWARD_JUMP, BF_CODE_UNREACHABLE_TARGET);
    desk_refused(&d, "ann", "b", BF_ACTION_FORWARD_JUMP, BF_CODE_UNREACHABLE_TARGET);
    desk_refused(&d, "bob", "e", BF_ACTION_FORWARD_JUMP, BF_CODE_NOT_OPERABLE);
}

Test(submit, forward_jump__goes_through_called_graphs)
{
    desk_load(&d, SUB);
    desk_load(&d, CALLS);
    desk_submit(&d, "ann", "sub/v", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d), "c:1001 h:1002 sub:u:1002 sub:v:1001");
    desk_submit(&d, "ann", "f", BF_ACTION_FORWARD_JUMP);
    cr_expect_str_eq(desk_states(&d), "c:1002 f:1001 h:1002 sub:u:1002 sub:v:1002");
}

/* --- terminate, restart --- */

Test(submit, terminate__is_for_good)
{
    desk_load(&d, SPLIT);
    work("ann", "h");
    desk_claim(&d, "ann");
    (void)desk_rows(&d);
    desk_submit(&d, "ann", "a", BF_ACTION_TERMINATE);
    cr_expect_str_eq(desk_rows(&d), "a>a:1003");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_TERMINATED);
    cr_expect_str_eq(desk_claim(&d, "bob"), "");
    cr_expect_not_null(strstr(bf_executor_remark(d.executor), "terminated"));
    cr_expect_str_eq(desk_find_next(&d, "bob"), "");
    cr_expect_str_eq(desk_find(&d, "bob"), "a:1003");
    desk_refused(&d, "bob", "b", BF_ACTION_FORWARD, BF_CODE_INSTANCE_TERMINATED);
    desk_refused(&d, "ann", "a", BF_ACTION_TERMINATE, BF_CODE_INSTANCE_TERMINATED);
    bf_executor_set_guard(d.executor, BF_GUARD_NONE);
    desk_refused(&d, "bob", "b", BF_ACTION_FORWARD, BF_CODE_INSTANCE_TERMINATED);
}

Test(submit, restart__clears_states_and_keeps_variables)
{
    desk_load(&d, SPLIT);
    desk_set(&d, "ann", "x", "5");
    work("ann", "h");
    desk_claim(&d, "ann");
    desk_submit(&d, "ann", "a", BF_ACTION_TERMINATE);
    (void)desk_rows(&d);
    desk_submit(&d, "bob", "s", BF_ACTION_RESTART);
    cr_expect_str_eq(desk_states(&d), "");
    cr_expect_str_eq(desk_rows(&d), "s>h:0");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_RUNNING);
    cr_expect_not_null(bf_vars_get_str(bf_instance_vars(desk_instance(&d)), "x"));
    cr_expect_str_eq(desk_claim(&d, "ann"), "h:1001");
}

Test(submit, restart__of_a_completed_instance_runs_it_again)
{
    desk_load(&d, CHAIN);
    work("ann", "a");
    work("bob", "b");
    work("cid", "c");
    desk_submit(&d, "ann", "a", BF_ACTION_RESTART);
    work("ann", "a");
    cr_expect_str_eq(desk_states(&d), "a:1002");
}
