/*
 * test_dispatch.c - nodes whose work is handed to a service (`@kafka:topic`)
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/desk.h"
#include "tests/support/flow.h"

static flow_t flow;
static bf_instance_t *inst;

static void setup(void)
{
    flow_init(&flow);
    inst = bf_instance_new("i-1");
}

static void teardown(void)
{
    bf_instance_free(inst);
    flow_fini(&flow);
}

TestSuite(dispatch, .init = setup, .fini = teardown);

static const char pay[] =
    "id: g\nversion: 2\nlayout:\n"
    "  - {id: s, type: start}\n"
    "  - {id: apply, meta: {actor: ann}}\n"
    "  - {id: pay, title: Pay, task: '@kafka:payments', meta: {limit: 5}}\n"
    "  - {id: check, meta: {actor: boss}}\n"
    "  - {id: e, type: end}\n";

/* "seq action source>target:status ..." */
static const char *rows(const bf_outcome_t *out)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    for (size_t i = 0; i < out->history_count; i++) {
        const bf_history_t *row = &out->history[i];
        bf_str_printf(&str, "%s%d %s %s>%s:%d", i ? " " : "", (int)row->seq,
                      bf_action_name(row->action), row->source.code, row->target.code,
                      (int)row->status);
    }
    const char *text = bf_arena_strdup(&flow.arena, bf_str_peek(&str));
    bf_str_fini(&str);
    return text;
}

static bf_outcome_t answer(const char *node, int64_t job, bf_action_t action)
{
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "i-1");
    command.node_id = node;
    command.has_job = job != 0;
    command.job = job;
    command.action = action;
    return flow_execute(&flow, inst, &command);
}

static bf_outcome_t forward(const char *node, const char *actor)
{
    return flow_submit(&flow, inst, node, BF_ACTION_FORWARD, actor);
}

#define ASSERT_OK(out) cr_assert_eq((out).code, BF_CODE_OK, "%s", (out).error)

Test(dispatch, submit__hands_the_next_node_over_and_the_answer_moves_on)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    bf_outcome_t out = forward("apply", "ann");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "1 forward apply>pay:1002 2 dispatch pay>payments:1001");
    const bf_history_t *row = &out.history[1];
    cr_assert_str_eq(row->message, "{\"limit\":5}");
    cr_assert_str_eq(row->target.type, "topic");
    cr_assert_str_eq(row->source.name, "Pay");
    cr_assert_str_eq(row->command_id, "c-2");
    cr_assert_eq(row->graph_version, 2);
    cr_assert_str_eq(flow_states(&flow, inst), "{\"g:apply\":1002,\"g:pay\":1001,"
                                               "\"#routes\":{\"g:pay\":[\"2\"]}}");
    cr_assert_eq(out.next_task_count, 1);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "pay");
    /* nobody claims it, everybody finds it */
    out = flow_claim(&flow, inst, "ann");
    ASSERT_OK(out);
    cr_assert_null(out.task);
    cr_assert_str_eq(out.error, "a service has been given work and has not answered");
    cr_assert_eq(out.history_count, 0, "handed over once");
    bf_command_t find = flow_command(&flow, BF_VERB_FIND, "i-1");
    out = flow_execute(&flow, inst, &find);
    ASSERT_OK(out);
    cr_assert_str_eq(out.task->task.node->id, "pay");
    out = answer("pay", 2, BF_ACTION_FORWARD);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "3 forward pay>check:1002");
    cr_assert_str_eq(flow_states(&flow, inst), "{\"g:apply\":1002,\"g:pay\":1002}");
    ASSERT_OK(forward("check", "boss"));
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_COMPLETED);
}

Test(dispatch, answer__to_another_job_is_refused)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    ASSERT_OK(forward("apply", "ann"));
    const char *before = flow_row(&flow, inst);
    bf_outcome_t out = answer("pay", 1, BF_ACTION_FORWARD);
    cr_assert_eq(out.code, BF_CODE_NOT_WAITING);
    cr_assert(strstr(out.error, "does not wait for job 1 any more"), "%s", out.error);
    out = answer("pay", -2, BF_ACTION_FORWARD);
    cr_assert_eq(out.code, BF_CODE_NOT_WAITING);
    cr_assert_str_eq(flow_row(&flow, inst), before);
    ASSERT_OK(answer("pay", 0, BF_ACTION_FORWARD)); /* by hand, without a number */
}

Test(dispatch, back__by_the_service_and_the_late_answer_finds_a_new_job)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    ASSERT_OK(forward("apply", "ann"));
    bf_outcome_t out = answer("pay", 2, BF_ACTION_BACK);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "3 back pay>apply:1001");
    out = forward("apply", "ann");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "4 forward apply>pay:1002 5 dispatch pay>payments:1001");
    cr_assert_eq(answer("pay", 2, BF_ACTION_FORWARD).code, BF_CODE_NOT_WAITING);
    ASSERT_OK(answer("pay", 5, BF_ACTION_FORWARD));
}

Test(dispatch, back__of_a_person_leads_before_the_service)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    ASSERT_OK(forward("apply", "ann"));
    ASSERT_OK(answer("pay", 2, BF_ACTION_FORWARD));
    bf_outcome_t out = flow_submit(&flow, inst, "check", BF_ACTION_BACK, "boss");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "4 back check>apply:1001");
    out = forward("apply", "ann");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "5 forward apply>pay:1002 6 dispatch pay>payments:1001");
}

Test(dispatch, jump__passes_the_service_without_work)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "i-1");
    command.node_id = "apply";
    command.target_id = "check";
    command.action = BF_ACTION_FORWARD_JUMP;
    command.actor = "ann";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "1 forward_jump apply>check:1002");
}

Test(dispatch, terminate__hands_nothing_over_any_more)
{
    flow_load(&flow, pay);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    ASSERT_OK(forward("apply", "ann"));
    bf_outcome_t out = answer("pay", 2, BF_ACTION_TERMINATE);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "3 terminate pay>pay:1003");
    cr_assert_eq(answer("pay", 2, BF_ACTION_FORWARD).code, BF_CODE_INSTANCE_TERMINATED);
}

Test(dispatch, start__and_claim_hand_over_too)
{
    flow_load(&flow, "id: g\nlayout:\n"
                     "  - {id: s, type: start}\n"
                     "  - {id: pay, task: '@kafka:payments'}\n"
                     "  - {id: e, type: end}\n");
    bf_outcome_t out = flow_start(&flow, inst, "g");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "1 dispatch pay>payments:1001");
    out = answer("pay", 1, BF_ACTION_FORWARD);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "2 forward pay>e:1002");
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_COMPLETED);
    out = flow_submit(&flow, inst, NULL, BF_ACTION_RESTART, NULL);
    ASSERT_OK(out);
    out = flow_claim(&flow, inst, "ann");
    ASSERT_OK(out);
    cr_assert_eq(out.history_count, 1, "a job of the new run");
    cr_assert_eq(out.history[0].action, BF_ACTION_DISPATCH);
}

/* A submit that comes first hands over and answers in one command: no job. */
Test(dispatch, submit__of_a_node_that_is_not_handed_over_yet_makes_no_job)
{
    flow_load(&flow, "id: g\nlayout:\n"
                     "  - {id: s, type: start}\n"
                     "  - {id: pay, task: '@kafka:payments'}\n"
                     "  - {id: e, type: end}\n");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "i-1");
    command.graph_id = "g";
    command.node_id = "pay";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "1 forward pay>e:1002");
}

Test(dispatch, actor__of_the_node_is_who_may_answer)
{
    flow_load(&flow, "id: g\nlayout:\n"
                     "  - {id: s, type: start}\n"
                     "  - {id: pay, task: '@kafka:payments', meta: {actor: bank}}\n"
                     "  - {id: e, type: end}\n");
    bf_outcome_t out = flow_start(&flow, inst, "g");
    ASSERT_OK(out);
    cr_assert_str_eq(out.history[0].assignee, "bank");
    cr_assert_null(flow_claim(&flow, inst, "bank").task, "it is no person's task");
    cr_assert_eq(forward("pay", "ann").code, BF_CODE_NOT_OPERABLE);
    ASSERT_OK(forward("pay", "bank"));
}

Test(dispatch, split__hands_over_each_branch_and_the_join_waits)
{
    flow_load(&flow, "id: g\nlayout:\n"
                     "  - {id: s, type: start, link: p}\n"
                     "  - {id: p, type: parallel, link: [a, b]}\n"
                     "  - {id: a, task: '@kafka:one', link: j}\n"
                     "  - {id: b, task: '@kafka:two', link: j}\n"
                     "  - {id: j, type: parallel, link: e}\n"
                     "  - {id: e, type: end}\n");
    bf_outcome_t out = flow_start(&flow, inst, "g");
    ASSERT_OK(out);
    cr_assert_str_eq(rows(&out), "1 dispatch a>one:1001 2 dispatch b>two:1001");
    ASSERT_OK(answer("b", 2, BF_ACTION_FORWARD));
    out = answer("a", 1, BF_ACTION_FORWARD);
    ASSERT_OK(out);
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_COMPLETED);
}

Test(dispatch, topic__that_is_not_allowed_rejects_and_names_the_node)
{
    static const char *const topics[] = {"payment", "stock"};
    flow_load(&flow, pay);
    bf_executor_set_topics(flow.executor, topics, 2);
    ASSERT_OK(flow_start(&flow, inst, "g"));
    const char *before = flow_row(&flow, inst);
    bf_outcome_t out = forward("apply", "ann");
    cr_assert_eq(out.code, BF_CODE_COMPONENT_ERROR);
    cr_assert(strstr(out.error, "topic 'payments' is none of those"), "%s", out.error);
    cr_assert(strstr(out.error, "did you mean 'payment'?"), "%s", out.error);
    cr_assert(strstr(out.error, "g / pay"), "%s", out.error);
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

Test(dispatch, meta__that_is_too_large_rejects)
{
    static char text[70000];
    int n = snprintf(text, sizeof(text),
                     "id: g\nlayout:\n  - {id: s, type: start}\n"
                     "  - {id: pay, task: '@kafka:p', meta: {x: ");
    memset(text + n, 'x', 62000);
    (void)snprintf(text + n + 62000, 100, "}}\n  - {id: e, type: end}\n");
    flow_load(&flow, text);
    bf_outcome_t out = flow_start(&flow, inst, "g");
    cr_assert_eq(out.code, BF_CODE_LIMIT_EXCEEDED, "%s", out.error);
    cr_assert(strstr(out.error, "node \"pay\""), "%s", out.error);
    cr_assert_str_eq(flow_states(&flow, inst), "{}");
}

static void expect_error(const char *text, const char *reason)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err),
                 BF_E_INVALID);
    cr_assert(strstr(err.text, reason), "%s", err.text);
}

Test(dispatch, definition__mistakes_are_named)
{
    expect_error("id: g\nlayout:\n  - {id: s, type: start}\n"
                 "  - {id: a, task: '@kafka:'}\n  - {id: e, type: end}\n",
                 "is no name of a topic");
    expect_error("id: g\nlayout:\n  - {id: s, type: start}\n"
                 "  - {id: a, task: '@kafka:a b'}\n  - {id: e, type: end}\n",
                 "is no name of a topic");
    expect_error("id: g\nlayout:\n  - {id: s, type: start}\n"
                 "  - {id: a, when: '@kafka:x'}\n  - {id: e, type: end}\n",
                 "is no condition");
    expect_error("id: g\nlayout:\n  - {id: s, type: start}\n"
                 "  - {id: a, type: exclusive, task: '@kafka:x'}\n"
                 "  - {id: e, type: end}\n",
                 "only an activity");
}

/* In a program of one's own: the rows come to the recorder, also from a claim. */
Test(dispatch, library__the_recorder_gets_the_rows)
{
    desk_t desk;
    desk_init(&desk);
    desk_load(&desk, pay);
    cr_assert_str_eq(desk_claim(&desk, "ann"), "apply:1001");
    desk_forward(&desk, "ann", "apply");
    cr_assert_str_eq(desk_rows(&desk), "apply>pay:1002 pay>payments:1001");
    desk_forward(&desk, "", "pay");
    cr_assert_str_eq(desk_claim(&desk, "boss"), "check:1001");
    desk_fini(&desk);
}
