/*
 * test_executor.c - claim, find, find_next, forward, rounds, called graphs
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

TestSuite(executor, .init = setup, .fini = teardown);

#define CHAIN                                                                            \
    "{id: g, layout: [{id: s, type: start}, {id: a, meta: {actor: ann}},"                \
    "{id: b, meta: {actor: bob}}, {id: c, meta: {actor: ann}}, {id: e, type: end}]}"
#define PARALLEL                                                                         \
    "{id: g, layout: [{id: s, type: start}, {id: p, type: parallel, link: [a, b]},"      \
    "{id: a, meta: {actor: ann}, link: j}, {id: b, meta: {actor: bob}, link: j},"        \
    "{id: j, type: parallel}, {id: f, task: '@note'}, {id: e, type: end}]}"

/* --- the walk-through of the second seed, section 6 --- */

#define LEAVE                                                                            \
    "{id: leave, title: Leave, layout: [{id: s, type: start},"                           \
    "{id: apply, meta: {actor: employee}},"                                              \
    "{id: lead, meta: {actor: lead}},"                                                   \
    "{id: days, type: exclusive, link: [{nextId: hr, when: 'day >= 3'}, split]},"        \
    "{id: hr, meta: {actor: hr}, link: split},"                                          \
    "{id: split, type: parallel, link: [badge, payroll]},"                               \
    "{id: badge, meta: {actor: desk}, link: both},"                                      \
    "{id: payroll, meta: {actor: pay}, link: both},"                                     \
    "{id: both, type: parallel}, {id: mail, task: '@note'}, {id: e, type: end}]}"

static void run_to_split(const char *day)
{
    desk_load(&d, LEAVE);
    desk_set(&d, "employee", "day", day);
    cr_expect_str_eq(desk_claim(&d, "lead"), "", "it is not theirs yet");
    cr_expect_not_null(bf_executor_remark(d.executor));
    cr_expect_str_eq(desk_claim(&d, "employee"), "apply:1001");
    desk_forward(&d, "employee", "apply");
    cr_expect_str_eq(desk_states(&d), "apply:1002", "nothing more is walked (rule 133)");
    cr_expect_str_eq(desk_claim(&d, "lead"), "lead:1001");
    desk_forward(&d, "lead", "lead");
}

static void finish_from_split(void)
{
    cr_expect_str_eq(desk_find_next(&d, "desk"), "badge:1001 payroll:0");
    cr_expect_str_eq(desk_claim(&d, "pay"), "payroll:1001");
    desk_forward(&d, "pay", "payroll");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_RUNNING);
    cr_expect_str_eq(desk_claim(&d, "pay"), "");
    cr_expect_str_eq(desk_claim(&d, "desk"), "badge:1001");
    desk_forward(&d, "desk", "badge");
    cr_expect_str_eq(bf_str_peek(&d.runs), "mail");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
    cr_expect(bf_context_is_end(desk_of(&d, "desk"), NULL));
    cr_expect_str_eq(desk_claim(&d, "desk"), "");
    cr_expect_str_eq(bf_executor_remark(d.executor), "the instance is completed");
}

Test(executor, leave_of_one_day__goes_past_hr)
{
    run_to_split("1");
    cr_expect_str_eq(desk_states(&d), "apply:1002 days:1002 lead:1002 split:1002");
    cr_expect_str_eq(desk_claim(&d, "hr"), "");
    finish_from_split();
    cr_expect_str_eq(desk_states(&d), "apply:1002 badge:1002 both:1002 days:1002 "
                                      "lead:1002 mail:1002 payroll:1002 split:1002");
}

Test(executor, leave_of_five_days__goes_to_hr)
{
    run_to_split("5");
    cr_expect_str_eq(desk_states(&d), "apply:1002 days:1002 lead:1002");
    cr_expect_str_eq(desk_claim(&d, "hr"), "hr:1001");
    desk_forward(&d, "hr", "hr");
    finish_from_split();
}

Test(executor, block_controller__takes_a_chain_step_by_step)
{
    desk_use(&d, bf_block_controller_new());
    desk_load(&d, "{id: g, layout: [{id: start, type: start}, {id: A}, {id: B}, {id: C},"
                  "{id: end, type: end}]}");
    cr_expect_str_eq(desk_claim(&d, ""), "A:1001");
    desk_forward(&d, "", "A");
    cr_expect_str_eq(desk_states(&d), "A:1002");
    cr_expect_str_eq(desk_claim(&d, ""), "B:1001");
    desk_forward(&d, "", "B");
    cr_expect_str_eq(desk_claim(&d, ""), "C:1001");
    desk_forward(&d, "", "C");
    cr_expect(bf_context_is_end(desk_of(&d, ""), NULL));
    cr_expect_str_eq(desk_claim(&d, ""), "");
    cr_expect_str_eq(desk_find(&d, ""), "C:1002", "the last one that was done");
    cr_expect_str_eq(desk_find_next(&d, ""), "");
}

/* --- claim and probes --- */

Test(executor, claim__never_returns_an_automatic_node)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: cc, task: '@note'},"
                  "{id: x, type: exclusive}, {id: b, meta: {actor: bob}}]}");
    cr_expect_str_eq(desk_claim(&d, "eve"), "");
    cr_expect_str_eq(desk_states(&d), "cc:1002 x:1002");
    cr_expect_str_eq(desk_claim(&d, "bob"), "b:1001");
    cr_expect_str_eq(bf_str_peek(&d.runs), "cc", "run once");
}

Test(executor, claim__walks_other_branches_on_without_marking_more)
{
    desk_load(&d, "{id: g, layout: [{id: p, type: parallel, link: [a, n, b]},"
                  "{id: a, meta: {actor: ann}, link: j}, {id: n, task: '@note', link: j},"
                  "{id: b, meta: {actor: ann}, link: j}, {id: j, type: parallel}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    cr_expect_str_eq(desk_states(&d), "a:1001 n:1002 p:1002");
}

Test(executor, probes__change_nothing)
{
    desk_load(&d,
              "{id: g, layout: [{id: s, type: start}, {id: n, task: 'n = (n ?? 0) + 1'},"
              "{id: m, task: '@note'}, {id: x, type: exclusive, link: ["
              "{nextId: a, when: 'n == 6'}, b]}, {id: a, meta: {actor: ann}},"
              "{id: b, meta: {actor: ann}}]}");
    desk_set(&d, "ann", "n", "5");
    cr_expect_str_eq(desk_find(&d, "ann"), "a:1001", "as if the script had run");
    cr_expect_str_eq(desk_find_next(&d, "ann"), "a:1001");
    cr_expect_str_eq(desk_find(&d, ""), "b:0", "nobody has no n");
    cr_expect_str_eq(desk_states(&d), "");
    cr_expect_eq(bf_instance_revision(desk_instance(&d)), 0);
    cr_expect_str_eq(bf_str_peek(&d.runs), "", "components are left out");
    cr_expect_eq(bf_context_get_str(desk_of(&d, "ann"), "n")->as.integer, 5);
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    cr_expect_eq(bf_context_get_str(desk_of(&d, "ann"), "n")->as.integer, 6);
}

Test(executor, find__shows_the_task_of_others_as_unknown)
{
    desk_load(&d, CHAIN);
    cr_expect_str_eq(desk_find(&d, "bob"), "a:0");
    cr_expect_str_eq(desk_find(&d, "ann"), "a:1001");
    cr_expect_str_eq(desk_states(&d), "");
}

Test(executor, choice__is_kept_for_later_walks)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start, link: x},"
                  "{id: x, type: exclusive, link: [{nextId: a, when: 'k == 1'},"
                  "{nextId: b, when: 'k == 2'}]}, {id: a, meta: {actor: ann}, link: f},"
                  "{id: b, meta: {actor: ann}, link: f}, {id: f, meta: {actor: bob}}]}");
    desk_set(&d, "ann", "k", "1");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    desk_set(&d, "ann", "k", "2");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    cr_expect_str_eq(desk_claim(&d, "bob"), "", "others need no k: it is the instance's");
}

Test(executor, variables__are_kept_but_not_who_it_is)
{
    desk_load(&d, CHAIN);
    desk_set(&d, "ann", "amount", "100");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    const bf_vars_t *kept = bf_instance_vars(desk_instance(&d));
    cr_expect_not_null(bf_vars_get_str(kept, "amount"));
    cr_expect_null(bf_vars_get_str(kept, "actor"));
    cr_expect_str_eq(desk_claim(&d, ""), "", "nobody is not ann");
}

Test(executor, join__that_waits_is_told_apart_from_the_end)
{
    desk_load(&d, PARALLEL);
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    desk_forward(&d, "ann", "a");
    cr_expect_str_eq(desk_rows(&d), "a>j:1002");
    cr_expect_str_eq(desk_claim(&d, "ann"), "");
    cr_expect_not_null(strstr(bf_executor_remark(d.executor), "others have open tasks"));
    cr_expect_not(bf_context_is_end(desk_of(&d, "ann"), NULL));
    cr_expect_str_eq(desk_claim(&d, "bob"), "b:1001");
    desk_forward(&d, "bob", "b");
    cr_expect_str_eq(desk_rows(&d), "b>e:1002");
    cr_expect_str_eq(desk_states(&d), "a:1002 b:1002 f:1002 j:1002 p:1002");
}

Test(executor, automatic_node_that_waits__holds_the_instance)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: w, task: '@wait'},"
                  "{id: a, meta: {actor: ann}}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "");
    cr_expect_str_eq(desk_states(&d), "w:1001");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_RUNNING);
    desk_set(&d, "ann", "go", "true");
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    cr_expect_str_eq(bf_str_peek(&d.runs), "w w");
}

Test(executor, automatic_node__runs_once_in_a_submit)
{
    desk_load(&d,
              "{id: g, layout: [{id: h, meta: {actor: ann}},"
              "{id: p, type: parallel, link: [w, n]}, {id: w, task: '@wait', link: j},"
              "{id: n, task: '@note', link: j}, {id: j, type: parallel}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "h:1001");
    desk_forward(&d, "ann", "h");
    cr_expect_str_eq(bf_str_peek(&d.runs), "w n");
    cr_expect_str_eq(desk_states(&d), "h:1002 n:1002 p:1002 w:1001");
}

Test(executor, when_false__leaves_the_task_out)
{
    desk_load(&d, "{id: g, layout: [{id: a, when: 'need', meta: {actor: ann}},"
                  "{id: b, meta: {actor: bob}}]}");
    cr_expect_str_eq(desk_claim(&d, "bob"), "b:1001");
    cr_expect_str_eq(desk_states(&d), "b:1001");
}

/* --- forward --- */

Test(executor, forward__runs_the_task_and_what_is_automatic_after_it)
{
    desk_load(&d, "{id: g, layout: [{id: h, meta: {actor: ann}, task: '@note'},"
                  "{id: x}, {id: n, task: '@note'}, {id: k, meta: {actor: ann}}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "h:1001");
    cr_expect_str_eq(bf_str_peek(&d.runs), "", "a walk does not run it (rule 136)");
    desk_forward(&d, "ann", "h");
    cr_expect_str_eq(bf_str_peek(&d.runs), "h n");
    cr_expect_str_eq(desk_states(&d), "h:1002 k:1001 n:1002 x:1002",
                     "the next one is the same caller's: WAITING (rule 133)");
    cr_expect_str_eq(desk_rows(&d), "h>k:1002");
}

Test(executor, forward__to_the_next_task_tells_it)
{
    desk_load(&d, CHAIN);
    desk_claim(&d, "ann");
    desk_forward(&d, "ann", "a");
    cr_expect_str_eq(desk_rows(&d), "a>b:1002");
    cr_expect_str_eq(desk_states(&d), "a:1002");
}

Test(executor, forward__of_a_split_tells_every_new_task)
{
    desk_load(&d, "{id: g, layout: [{id: h, meta: {actor: ann}},"
                  "{id: p, type: parallel, link: [a, b]}, {id: a, meta: {actor: ann}},"
                  "{id: b, meta: {actor: bob}}]}");
    desk_claim(&d, "ann");
    desk_forward(&d, "ann", "h");
    cr_expect_str_eq(desk_rows(&d), "h>a:1002 h>b:1002");
}

Test(executor, forward__of_links_with_conditions_tells_the_true_ones)
{
    desk_load(&d, "{id: g, layout: [{id: h, meta: {actor: ann}, link: ["
                  "{nextId: a, when: 'k == 1'}, {nextId: b, when: 'k == 2'}]},"
                  "{id: a, meta: {actor: ann}, link: []},"
                  "{id: b, meta: {actor: bob}, link: []}]}");
    desk_set(&d, "ann", "k", "2");
    desk_claim(&d, "ann");
    desk_forward(&d, "ann", "h");
    cr_expect_str_eq(desk_rows(&d), "h>b:1002");
    desk_forward(&d, "bob", "b");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED,
                 "no END, and nothing is pending");
}

/* --- errors undo the command --- */

Test(executor, error_in_the_task__changes_nothing)
{
    desk_load(&d,
              "{id: g, layout: [{id: a, meta: {actor: ann}, task: '@fail'}, {id: b}]}");
    desk_claim(&d, "ann");
    int32_t revision = bf_instance_revision(desk_instance(&d));
    cr_expect_eq(desk_try(&d, "ann", "a", BF_ACTION_FORWARD), BF_E_COMPONENT);
    cr_expect_str_eq(d.err.text, "Task handle failed: g / a: no paper in a");
    cr_expect_str_eq(desk_states(&d), "a:1001");
    cr_expect_eq(bf_instance_revision(desk_instance(&d)), revision);
}

Test(executor, error_later_in_the_cascade__undoes_all_and_names_the_node)
{
    desk_load(&d, "{id: g, layout: [{id: a, meta: {actor: ann}, task: 'x = 1'},"
                  "{id: n, task: '@note'}, {id: bad, task: '@fail'}]}");
    desk_claim(&d, "ann");
    cr_expect_eq(desk_try(&d, "ann", "a", BF_ACTION_FORWARD), BF_E_COMPONENT);
    cr_expect_not_null(strstr(d.err.text, "g / bad: no paper"), "%s", d.err.text);
    cr_expect_str_eq(desk_states(&d), "a:1001");
    cr_expect_null(bf_context_get_str(desk_of(&d, "ann"), "x"), "variables too");
    cr_expect_null(bf_vars_get_str(bf_instance_vars(desk_instance(&d)), "x"));
}

Test(executor, step_limit__refuses_a_cycle_without_tasks)
{
    desk_load(&d, "{id: g, layout: [{id: h, meta: {actor: ann}}, {id: a, link: b},"
                  "{id: b, link: a}]}");
    desk_claim(&d, "ann");
    cr_expect_eq(desk_try(&d, "ann", "h", BF_ACTION_FORWARD), BF_E_STEP_LIMIT);
    cr_expect_str_eq(desk_states(&d), "h:1001");
}

/* --- rounds --- */

Test(executor, back_edge__opens_a_new_round)
{
    desk_load(&d,
              "{id: g, layout: [{id: s, type: start},"
              "{id: apply, meta: {actor: ann}, task: '@note'},"
              "{id: review, type: exclusive, meta: {actor: bob}, link: ["
              "{nextId: e, when: \"r == 'ok'\"}, {nextId: apply, when: \"r == 'no'\"}]},"
              "{id: e, type: end}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "apply:1001");
    desk_forward(&d, "ann", "apply");
    desk_set(&d, "bob", "r", "\"no\"");
    cr_expect_str_eq(desk_claim(&d, "bob"), "review:1001");
    desk_forward(&d, "bob", "review");
    cr_expect_str_eq(desk_rows(&d), "apply>review:1002 review>apply:1002");
    cr_expect_str_eq(desk_claim(&d, "ann"), "apply#2:1001");
    desk_refused(&d, "bob", "review", BF_ACTION_FORWARD, BF_CODE_NOT_WAITING);
    desk_forward(&d, "ann", "apply");
    desk_set(&d, "bob", "r", "\"ok\"");
    cr_expect_str_eq(desk_claim(&d, "bob"), "review#2:1001");
    desk_forward(&d, "bob", "review");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
    cr_expect_str_eq(desk_states(&d),
                     "apply:1002 apply#2:1002 review:1002 review#2:1002");
    cr_expect_str_eq(bf_str_peek(&d.runs), "apply apply");
}

Test(executor, loop__asks_for_every_item_one_after_the_other)
{
    desk_load(&d, "{id: g, layout: [{id: s, type: start},"
                  "{id: h, type: loop, meta: {$for: who, $in: [x, y]}},"
                  "{id: sign, meta: {actor: ann}}, {id: le, type: loop},"
                  "{id: n, task: '@note'}, {id: e, type: end}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sign:1001");
    cr_expect_str_eq(desk_find_next(&d, "ann"), "sign:1001", "one at a time");
    desk_forward(&d, "ann", "sign");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_RUNNING);
    cr_expect_str_eq(desk_find_next(&d, "ann"), "sign#2:1001");
    cr_expect_str_eq(bf_str_peek(&d.runs), "");
    desk_forward(&d, "ann", "sign");
    cr_expect_str_eq(bf_str_peek(&d.runs), "n");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

/* --- called graphs --- */

#define SUB                                                                              \
    "{id: sub, layout: [{id: ss, type: start}, {id: h, meta: {actor: ann}}, {id: se, "   \
    "type: end}]}"

Test(executor, task_in_a_called_graph__is_what_people_see)
{
    desk_load(&d, SUB);
    desk_load(&d, "{id: g, layout: [{id: s, type: start}, {id: c, task: '#sub'},"
                  "{id: n, task: '@note'}, {id: e, type: end}]}");
    cr_expect_str_eq(desk_find(&d, "bob"), "sub/h:0");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/h:1001");
    cr_expect_str_eq(desk_states(&d), "c:1001 sub:h:1001");
    desk_forward(&d, "ann", "sub/h");
    cr_expect_str_eq(desk_rows(&d), "h>e:1002");
    cr_expect_str_eq(desk_states(&d), "c:1002 n:1002 sub:h:1002");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

Test(executor, two_calls_of_a_graph__have_tasks_of_their_own)
{
    desk_load(&d, SUB);
    desk_load(&d, "{id: g, layout: [{id: c1, task: '#sub'}, {id: c2, task: '#sub'},"
                  "{id: e, type: end}]}");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/h:1001");
    desk_forward(&d, "ann", "sub/h");
    cr_expect_str_eq(desk_states(&d), "c1:1002 c2:1001 sub:h:1002 sub:h#2:1001");
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/h#2:1001");
    desk_forward(&d, "ann", "sub/h");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

Test(executor, called_graph_by_its_own_id__moves_the_caller_on)
{
    bf_graph_t *sub = desk_load(&d, SUB);
    bf_graph_t *main = desk_load(&d, "{id: g, layout: [{id: c, task: '#sub'},"
                                     "{id: n, task: '@note'}, {id: e, type: end}]}");
    desk_claim(&d, "ann");
    d.graph = sub;
    cr_expect_str_eq(desk_claim(&d, "ann"), "h:1001");
    desk_forward(&d, "ann", "h");
    d.graph = main;
    cr_expect_str_eq(bf_str_peek(&d.runs), "n");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}

Test(executor, called_graph_by_its_own_id__is_found_behind_many_others)
{
    enum { MANY = 70 };
    bf_str_t text;
    bf_graph_t *sub = desk_load(&d, SUB);
    bf_str_init(&text, 0);
    for (int i = 0; i < MANY; i++) { /* the last of them calls the graph */
        bf_str_clear(&text);
        bf_str_printf(&text,
                      "{id: m%d, layout: [{id: s, type: start}, {id: x%s}, {id: e, "
                      "type: end}]}",
                      i, i + 1 == MANY ? ", task: '#sub'" : "");
        desk_load(&d, bf_str_peek(&text));
    }
    bf_str_clear(&text);
    bf_str_puts(&text, "{id: g, layout: [{id: s, type: start}");
    for (int i = 0; i < MANY; i++) {
        bf_str_printf(&text, ", {id: c%d, task: '#m%d'}", i, i);
    }
    bf_str_puts(&text, ", {id: n, task: '@note'}, {id: e, type: end}]}");
    bf_graph_t *main = desk_load(&d, bf_str_peek(&text));
    cr_expect_str_eq(desk_claim(&d, "ann"), "sub/h:1001");
    d.graph = sub;
    desk_forward(&d, "ann", "h");
    d.graph = main;
    cr_expect_str_eq(bf_str_peek(&d.runs), "n");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
    bf_str_fini(&text);
}

Test(executor, call_node__is_automatic_in_every_controller)
{
    desk_use(&d, bf_block_controller_new());
    desk_load(&d,
              "{id: sub, layout: [{id: ss, type: start}, {id: h}, {id: se, type: end}]}");
    desk_load(&d,
              "{id: g, layout: [{id: c, task: '#sub'}, {id: f}, {id: e, type: end}]}");
    cr_expect_str_eq(desk_claim(&d, ""), "sub/h:1001");
    desk_forward(&d, "", "sub/h");
    cr_expect_str_eq(desk_states(&d), "c:1002 f:1001 sub:h:1002");
}

/* --- submit_task_if_waiting, run_task, get_state --- */

static bool if_waiting(const char *name, const char *node, bf_task_state_t state)
{
    bool done = true;
    bf_task_t task = {bf_graph_node(d.graph, node), state, 1};
    bf_submit_t submit = {.node = task.node, .action = BF_ACTION_FORWARD};
    bf_err_clear(&d.err);
    cr_assert_eq(bf_executor_submit_task_if_waiting(d.executor, d.graph, &task, &submit,
                                                    desk_of(&d, name), &done, &d.err),
                 BF_OK, "%s", d.err.text);
    return done;
}

Test(executor, submit_if_waiting__looks_twice)
{
    desk_load(&d, CHAIN);
    cr_expect_not(if_waiting("ann", "a", BF_TASK_WAITING), "not claimed");
    desk_claim(&d, "ann");
    cr_expect_not(if_waiting("ann", "a", BF_TASK_UNKNOWN));
    cr_expect_not(if_waiting("ann", "a", BF_TASK_COMPLETED));
    cr_expect_not(if_waiting("bob", "a", BF_TASK_WAITING));
    cr_expect(if_waiting("ann", "a", BF_TASK_WAITING));
    cr_expect_not(if_waiting("ann", "a", BF_TASK_WAITING), "done already");
    bool done = true;
    bf_submit_t submit = {.action = BF_ACTION_FORWARD};
    cr_assert_eq(bf_executor_submit_task_if_waiting(d.executor, d.graph, NULL, &submit,
                                                    desk_of(&d, "ann"), &done, &d.err),
                 BF_OK);
    cr_expect_not(done, "no task");
}

Test(executor, by_id__names_what_is_not_there)
{
    bf_task_t task = {0};
    bf_context_t *ann = desk_of(&d, "ann");
    bf_task_state_t state;
    desk_load(&d, CHAIN);
    cr_assert_eq(
        bf_executor_claim_task_by_id(d.executor, d.graph->id, ann, &task, &d.err), BF_OK,
        "%s", d.err.text);
    cr_expect_str_eq(task.node->id, "a");
    cr_assert_eq(bf_executor_submit_task_by_id(d.executor, d.graph->id, "a",
                                               BF_ACTION_FORWARD, ann, &d.err),
                 BF_OK, "%s", d.err.text);
    cr_assert_eq(
        bf_executor_get_state_by_id(d.executor, d.graph->id, "a", ann, &state, &d.err),
        BF_OK, "%s", d.err.text);
    cr_expect_eq(state, BF_TASK_COMPLETED);
    cr_assert_eq(
        bf_executor_get_state_by_id(d.executor, d.graph->id, "aa", ann, &state, &d.err),
        BF_E_NOT_FOUND);
    cr_expect_str_eq(d.err.text, "Node not found, id: aa");
    bf_err_clear(&d.err);
    cr_assert_eq(bf_executor_claim_task_by_id(d.executor, "nope", ann, &task, &d.err),
                 BF_E_NOT_FOUND);
    cr_expect_not_null(strstr(d.err.text, "nope"), "%s", d.err.text);
}

Test(executor, new__keeps_what_it_was_given)
{
    cr_expect_eq(bf_executor_engine(d.executor), d.engine);
    cr_expect_eq(bf_executor_controller(d.executor), d.controller);
    cr_expect_eq(bf_executor_repository(d.executor), d.repo);
    cr_expect_eq(bf_executor_guard(d.executor), BF_GUARD_STRICT);
    bf_executor_set_guard(d.executor, BF_GUARD_NONE);
    cr_expect_eq(bf_executor_guard(d.executor), BF_GUARD_NONE);
}

Test(executor, run_task__of_an_automatic_node_runs_it_and_says_so)
{
    desk_load(&d, "{id: g, layout: [{id: a, meta: {actor: ann}, task: '@note'},"
                  "{id: n, task: '@note'}]}");
    bf_err_clear(&d.err);
    cr_assert_eq(bf_executor_run_task(d.executor, d.graph, bf_graph_node(d.graph, "n"),
                                      desk_of(&d, "ann"), &d.err),
                 BF_OK, "%s", d.err.text);
    cr_expect_str_eq(bf_str_peek(&d.runs), "n");
    cr_assert_eq(bf_executor_run_task(d.executor, d.graph, bf_graph_node(d.graph, "a"),
                                      desk_of(&d, "ann"), &d.err),
                 BF_OK);
    cr_expect_str_eq(bf_str_peek(&d.runs), "n", "a task of somebody is not run");
    cr_expect_str_eq(desk_states(&d), "a:1001 n:1002");
}

Test(executor, get_state__is_that_of_the_repository)
{
    desk_load(&d, CHAIN);
    bf_task_state_t state;
    desk_claim(&d, "ann");
    cr_assert_eq(bf_executor_get_state(d.executor, bf_graph_node(d.graph, "a"),
                                       desk_of(&d, "bob"), &state, &d.err),
                 BF_OK);
    cr_expect_eq(state, BF_TASK_WAITING);
}

Test(executor, instances__do_not_touch_each_other)
{
    desk_load(&d, CHAIN);
    desk_claim(&d, "ann");
    desk_forward(&d, "ann", "a");
    d.instance_id = "i-2";
    cr_expect_str_eq(desk_claim(&d, "ann"), "a:1001");
    d.instance_id = "i-1";
    cr_expect_str_eq(desk_states(&d), "a:1002");
}

Test(executor, replaced_graph__keeps_what_is_done)
{
    desk_load(&d, PARALLEL);
    desk_claim(&d, "ann");
    desk_forward(&d, "ann", "a");
    desk_load(&d, "{id: g, layout: [{id: s, type: start},"
                  "{id: p, type: parallel, link: [a, b, c]},"
                  "{id: a, meta: {actor: ann}, link: j}, {id: b, meta: {actor: bob},"
                  "link: j}, {id: c, meta: {actor: cid}, link: j},"
                  "{id: j, type: parallel}, {id: e, type: end}]}");
    desk_claim(&d, "bob");
    desk_forward(&d, "bob", "b");
    cr_expect_str_eq(desk_claim(&d, "cid"), "c:1001");
    desk_forward(&d, "cid", "c");
    cr_expect_eq(desk_status(&d), BF_INSTANCE_COMPLETED);
}
