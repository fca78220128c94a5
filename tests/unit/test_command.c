/*
 * test_command.c - what commands do, and what their outcomes say
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "tests/support/flow.h"

/* A leave request: the leader decides, from three days on the boss as well. */
static const char leave[] =
    "id: leave\n"
    "title: Leave request\n"
    "layout:\n"
    "  - {id: start, type: start, link: apply}\n"
    "  - {id: apply, title: Apply, meta: {actor: zhang.san}, link: leader}\n"
    "  - {id: leader, title: Leader, meta: {actor: li.wei, formId: 12}, link: gate}\n"
    "  - id: gate\n"
    "    type: exclusive\n"
    "    link: [{nextId: boss, when: day >= 3}, {nextId: end}]\n"
    "  - {id: boss, title: Boss, meta: {actor: wang.wu}, link: end}\n"
    "  - {id: end, type: end}\n";

/* Two branches that meet. */
static const char pair[] = "id: pair\n"
                           "layout:\n"
                           "  - {id: start, type: start, link: apply}\n"
                           "  - {id: apply, meta: {actor: amy}, link: split}\n"
                           "  - {id: split, type: parallel, link: [law, tax]}\n"
                           "  - {id: law, meta: {actor: bob}, link: join}\n"
                           "  - {id: tax, meta: {actor: eve}, link: join}\n"
                           "  - {id: join, type: parallel, link: end}\n"
                           "  - {id: end, type: end}\n";

static flow_t flow;
static bf_instance_t *inst;

static void setup(void)
{
    flow_init(&flow);
    (void)flow_load(&flow, leave);
    (void)flow_load(&flow, pair);
    inst = bf_instance_new("leave-1");
    cr_assert_not_null(inst);
}

static void teardown(void)
{
    bf_instance_free(inst);
    flow_fini(&flow);
}

TestSuite(command, .init = setup, .fini = teardown);

static void assert_code(const bf_outcome_t *out, bf_code_t code)
{
    cr_assert_eq(out->code, code, "%s: %s", bf_code_name(out->code),
                 out->error ? out->error : "");
}

static void assert_says(const bf_outcome_t *out, const char *part)
{
    cr_assert_not_null(out->error);
    cr_assert_not_null(strstr(out->error, part), "%s", out->error);
}

static void submit_ok(const char *node, const char *actor)
{
    bf_outcome_t out = flow_submit(&flow, inst, node, BF_ACTION_FORWARD, actor);
    assert_code(&out, BF_CODE_OK);
}

static void set_day(int day)
{
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(&flow, day == 5 ? "{\"day\":5}" : "{\"day\":1}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
}

/* --- start, claim, find --- */

Test(command, start__pins_the_graph_and_names_the_first_tasks)
{
    bf_outcome_t out = flow_start(&flow, inst, "leave");
    assert_code(&out, BF_CODE_OK);
    cr_assert(out.changed);
    cr_assert_eq(out.revision, 1);
    cr_assert_eq(out.instance_state, BF_INSTANCE_RUNNING);
    cr_assert_eq(out.next_task_count, 1);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "apply");
    cr_assert_str_eq(out.next_tasks[0].graph_id, "leave");
    cr_assert_eq(out.history_count, 0);
    cr_assert_str_eq(bf_instance_graph_id(inst), "leave");
    cr_assert_eq(bf_instance_graph_version(inst), 1);
}

Test(command, start__a_second_time_is_rejected)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_start(&flow, inst, "leave");
    assert_code(&out, BF_CODE_INSTANCE_EXISTS);
    assert_says(&out, "leave-1");
    cr_assert_eq(out.revision, 1);
}

Test(command, start__keeps_the_version_when_a_newer_graph_is_loaded)
{
    (void)flow_start(&flow, inst, "leave");
    (void)flow_load(&flow, "id: leave\nversion: 2\nlayout:\n"
                           "  - {type: start}\n  - {id: other, meta: {actor: li.wei}}\n"
                           "  - {type: end}\n");
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    bf_instance_t *second = bf_instance_new("leave-2");
    out = flow_start(&flow, second, "leave");
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "other");
    cr_assert_eq(bf_instance_graph_version(second), 2);
    bf_instance_free(second);
}

Test(command, claim__with_a_graph_materialises_the_instance)
{
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "leave-1");
    command.graph_id = "leave";
    command.actor = "zhang.san";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    cr_assert_eq(out.task->task.state, BF_TASK_WAITING);
    cr_assert_str_eq(flow_states(&flow, inst), "{\"leave:apply\":1001}");
    cr_assert_str_eq(bf_instance_creator(inst), "zhang.san");
}

Test(command, claim__again_changes_nothing)
{
    (void)flow_start(&flow, inst, "leave");
    (void)flow_claim(&flow, inst, "zhang.san");
    int32_t revision = bf_instance_revision(inst);
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    cr_assert_not(out.changed);
    cr_assert_eq(bf_instance_revision(inst), revision);
}

Test(command, claim__by_somebody_else_finds_nothing_and_says_why)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_claim(&flow, inst, "wang.wu");
    assert_code(&out, BF_CODE_OK);
    cr_assert_null(out.task);
    cr_assert_not_null(out.error);
}

Test(command, claim__on_a_completed_instance_finds_nothing_and_says_why)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(1);
    submit_ok("apply", "zhang.san");
    submit_ok("leader", "li.wei");
    bf_outcome_t out = flow_claim(&flow, inst, "li.wei");
    assert_code(&out, BF_CODE_OK);
    cr_assert_null(out.task);
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
    assert_says(&out, "completed");
}

Test(command, find__shows_the_current_task_to_anybody_and_changes_nothing)
{
    (void)flow_start(&flow, inst, "leave");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND, "leave-1");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    cr_assert_not(out.changed);
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

Test(command, find_next__shows_the_tasks_of_all_branches_and_changes_nothing)
{
    (void)flow_start(&flow, inst, "pair");
    submit_ok("apply", "amy");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND_NEXT, "leave-1");
    command.vars = flow_json(&flow, "{\"what_if\":1}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.next_task_count, 2);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "law");
    cr_assert_str_eq(out.next_tasks[1].task.node->id, "tax");
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

/* --- set_vars, get_state, context --- */

Test(command, set_vars__merges_and_null_clears)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(&flow, "{\"a\":1,\"b\":{\"c\":[1,2]}}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.revision, 2);
    command.vars = flow_json(&flow, "{\"a\":null,\"d\":\"x\"}");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_not_null(
        strstr(flow_row(&flow, inst), "vars={\"b\":{\"c\":[1,2]},\"d\":\"x\"}"));
}

Test(command, set_vars__a_reserved_name_is_rejected_and_nothing_is_merged)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(&flow, "{\"a\":1,\"instanceId\":\"x\"}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_MALFORMED);
    assert_says(&out, "instanceId");
    cr_assert_null(bf_vars_get_str(bf_instance_vars(inst), "a"));
}

Test(command, vars__beyond_the_limit_are_rejected_and_undone)
{
    flow.env.max_vars_bytes = 64;
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(&flow, "{\"text\":\"0123456789012345678901234567890123456789"
                                    "012345678901234567890123456789\"}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_LIMIT_EXCEEDED);
    assert_says(&out, "64");
    cr_assert_eq(bf_vars_count(bf_instance_vars(inst)), 0);
}

Test(command, get_state__of_all_nodes_of_one_and_of_an_untouched_one)
{
    (void)flow_start(&flow, inst, "leave");
    submit_ok("apply", "zhang.san");
    (void)flow_claim(&flow, inst, "li.wei");
    bf_command_t command = flow_command(&flow, BF_VERB_GET_STATE, "leave-1");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.state_count, 2);
    cr_assert_str_eq(out.states[0].key, "leave:apply");
    cr_assert_eq(out.states[0].state, BF_TASK_COMPLETED);
    cr_assert_eq(out.states[1].state, BF_TASK_WAITING);
    command.node_id = "leader";
    out = flow_execute(&flow, inst, &command);
    cr_assert_eq(out.state_count, 1);
    cr_assert_str_eq(out.states[0].key, "leave:leader");
    command.node_id = "boss";
    out = flow_execute(&flow, inst, &command);
    cr_assert_eq(out.state_count, 1);
    cr_assert_eq(out.states[0].state, BF_TASK_UNKNOWN);
}

Test(command, get_state__of_an_unknown_node_is_rejected_with_the_nearest_name)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_GET_STATE, "leave-1");
    command.node_id = "ledaer";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_UNKNOWN_NODE);
    assert_says(&out, "did you mean \"leader\"");
}

Test(command, context__is_seen_by_conditions_and_never_stored)
{
    (void)flow_start(&flow, inst, "leave");
    submit_ok("apply", "zhang.san");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.actor = "li.wei";
    command.context = flow_json(&flow, "{\"day\":5,\"actor\":\"somebody else\"}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.next_task_count, 1);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "boss");
    cr_assert_eq(bf_vars_count(bf_instance_vars(inst)), 0);
}

/* --- submit --- */

Test(command, submit__forward_moves_on_and_writes_a_row)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(5);
    submit_ok("apply", "zhang.san");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.actor = "li.wei";
    command.message = "agreed";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert(out.changed);
    cr_assert_str_eq(out.task->task.node->id, "leader");
    cr_assert_eq(out.task->task.state, BF_TASK_COMPLETED);
    cr_assert_eq(out.history_count, 1);
    const bf_history_t *row = &out.history[0];
    cr_assert_str_eq(row->instance_id, "leave-1");
    cr_assert_str_eq(row->graph_id, "leave");
    cr_assert_eq(row->graph_version, 1);
    cr_assert_eq(row->seq, 2);
    cr_assert_eq(row->action, BF_ACTION_FORWARD);
    cr_assert_str_eq(row->task_id, "leader");
    cr_assert_str_eq(row->source.code, "leader");
    cr_assert_str_eq(row->source.name, "Leader");
    cr_assert_str_eq(row->source.type, "activity");
    cr_assert_str_eq(row->target.code, "boss");
    cr_assert_str_eq(row->target.name, "Boss");
    cr_assert_str_eq(row->assignee, "li.wei");
    cr_assert_eq(row->status, 1002);
    cr_assert(row->has_form_id);
    cr_assert_eq(row->form_id, 12);
    cr_assert_str_eq(row->variables.data, "{\"day\":5}");
    cr_assert_str_eq(row->message, "agreed");
    cr_assert_eq(row->instance_state, BF_INSTANCE_RUNNING);
    cr_assert_str_eq(row->command_id, command.command_id);
    cr_assert_str_eq(row->creator, "li.wei");
    cr_assert_eq(row->create_time_ms, FLOW_NOW);
    cr_assert_eq(bf_instance_seq(inst), 2);
}

Test(command, submit__the_last_task_completes_the_instance)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(1);
    submit_ok("apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_FORWARD, "li.wei");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
    cr_assert_eq(out.next_task_count, 0);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].target.code, "end");
    cr_assert_eq(out.history[0].instance_state, BF_INSTANCE_COMPLETED);
}

Test(command, submit__one_row_for_each_task_that_newly_waits)
{
    (void)flow_start(&flow, inst, "pair");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "amy");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 2);
    cr_assert_str_eq(out.history[0].target.code, "law");
    cr_assert_str_eq(out.history[1].target.code, "tax");
    cr_assert_eq(out.history[0].seq, 1);
    cr_assert_eq(out.history[1].seq, 2);
    cr_assert_eq(out.next_task_count, 2);
}

Test(command, submit__a_join_that_still_waits_is_the_target_when_nothing_else_is)
{
    (void)flow_start(&flow, inst, "pair");
    submit_ok("apply", "amy");
    bf_outcome_t out = flow_submit(&flow, inst, "law", BF_ACTION_FORWARD, "bob");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].target.code, "join");
    cr_assert_str_eq(out.history[0].target.type, "parallel");
    cr_assert_eq(out.instance_state, BF_INSTANCE_RUNNING);
    out = flow_submit(&flow, inst, "tax", BF_ACTION_FORWARD, "eve");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].target.code, "end");
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
}

Test(command, submit__back_leads_to_the_task_before_and_says_so)
{
    (void)flow_start(&flow, inst, "leave");
    submit_ok("apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_BACK, "li.wei");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].source.code, "leader");
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 1001);
    cr_assert_eq(out.history[0].action, BF_ACTION_BACK);
    out = flow_claim(&flow, inst, "zhang.san");
    cr_assert_str_eq(out.task->task.node->id, "apply");
}

Test(command, submit__forward_jump_needs_a_target_and_passes_what_lies_between)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(5);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "apply";
    command.target_id = "boss";
    command.actor = "zhang.san";
    command.action = BF_ACTION_FORWARD_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].source.code, "apply");
    cr_assert_str_eq(out.history[0].target.code, "boss");
    cr_assert_eq(out.history[0].status, 1002);
    out = flow_claim(&flow, inst, "wang.wu");
    cr_assert_str_eq(out.task->task.node->id, "boss");
}

Test(command, submit__back_jump_leads_to_a_task_that_was_done)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(5);
    submit_ok("apply", "zhang.san");
    submit_ok("leader", "li.wei");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "boss";
    command.target_id = "apply";
    command.actor = "wang.wu";
    command.action = BF_ACTION_BACK_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 1001);
    out = flow_claim(&flow, inst, "zhang.san");
    cr_assert_str_eq(out.task->task.node->id, "apply");
}

Test(command, submit__a_jump_may_name_its_target_only_and_the_row_has_the_current_task)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(5);
    submit_ok("apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "boss", BF_ACTION_FORWARD_JUMP, "li.wei");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "leader");
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].task_id, "leader");
    cr_assert_str_eq(out.history[0].source.code, "leader");
    cr_assert_str_eq(out.history[0].target.code, "boss");
    out = flow_submit(&flow, inst, "apply", BF_ACTION_BACK_JUMP, "wang.wu");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].source.code, "boss");
    cr_assert_str_eq(out.history[0].target.code, "apply");
}

Test(command, submit__with_a_graph_materialises_the_instance)
{
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.graph_id = "leave";
    command.node_id = "apply";
    command.actor = "zhang.san";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.revision, 1);
    cr_assert_eq(out.history[0].seq, 1);
    cr_assert_str_eq(bf_instance_graph_id(inst), "leave");
}

Test(command, submit__of_a_later_round_has_its_number_in_the_task_ID)
{
    (void)flow_load(&flow, "id: again\nlayout:\n"
                           "  - {id: s, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, link: x}\n"
                           "  - id: x\n    type: exclusive\n"
                           "    link: [{nextId: a, when: more}, {nextId: e}]\n"
                           "  - {id: e, type: end}\n");
    bf_command_t command = flow_command(&flow, BF_VERB_START, "leave-1");
    command.graph_id = "again";
    command.vars = flow_json(&flow, "{\"more\":true}");
    (void)flow_execute(&flow, inst, &command);
    bf_outcome_t out = flow_submit(&flow, inst, "a", BF_ACTION_FORWARD, "amy");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].task_id, "a");
    cr_assert_str_eq(out.history[0].target.code, "a");
    out = flow_submit(&flow, inst, "a", BF_ACTION_FORWARD, "amy");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].task_id, "a#2");
    cr_assert_str_eq(out.history[0].source.code, "a");
    cr_assert_eq(out.task->task.round, 2);
}

Test(command, submit__restart_of_a_completed_instance)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(1);
    submit_ok("apply", "zhang.san");
    submit_ok("leader", "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_RESTART, "zhang.san");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_RUNNING);
    cr_assert_str_eq(flow_states(&flow, inst), "{}");
    cr_assert_eq(out.history[0].seq, 3);
}

Test(command, submit__of_a_task_in_a_called_graph)
{
    (void)flow_load(&flow, "id: sub\nlayout:\n"
                           "  - {id: s, type: start, link: check}\n"
                           "  - {id: check, title: Check, meta: {actor: amy}, link: e}\n"
                           "  - {id: e, type: end}\n");
    (void)flow_load(&flow, "id: main\nlayout:\n"
                           "  - {id: s, type: start, link: call}\n"
                           "  - {id: call, task: '#sub', link: last}\n"
                           "  - {id: last, meta: {actor: bob}, link: e}\n"
                           "  - {id: e, type: end}\n");
    bf_outcome_t out = flow_start(&flow, inst, "main");
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.next_tasks[0].graph_id, "sub");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.graph_id = "sub";
    command.node_id = "check";
    command.actor = "amy";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].graph_id, "sub");
    cr_assert_str_eq(out.history[0].target.code, "last");
    cr_assert_str_eq(bf_instance_graph_id(inst), "main");
    submit_ok("last", "bob");
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_COMPLETED);
}

Test(command, submit__a_jump_to_a_target_that_cannot_be_reached_is_rejected)
{
    (void)flow_start(&flow, inst, "leave");
    submit_ok("apply", "zhang.san");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.target_id = "boss";
    command.actor = "li.wei";
    command.action = BF_ACTION_BACK_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_UNREACHABLE_TARGET);
    command.action = BF_ACTION_FORWARD_JUMP;
    command.target_id = "apply";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_UNREACHABLE_TARGET);
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

Test(command, submit__terminate_ends_the_instance_for_good)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out =
        flow_submit(&flow, inst, "apply", BF_ACTION_TERMINATE, "zhang.san");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_TERMINATED);
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 1003);
    out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    assert_code(&out, BF_CODE_INSTANCE_TERMINATED);
    out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_INSTANCE_TERMINATED);
    assert_says(&out, "restart");
}

Test(command, submit__restart_clears_states_and_keeps_variables)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(5);
    submit_ok("apply", "zhang.san");
    (void)flow_submit(&flow, inst, "leader", BF_ACTION_TERMINATE, "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, NULL, BF_ACTION_RESTART, "zhang.san");
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_RUNNING);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 0);
    cr_assert_not_null(bf_vars_get_str(bf_instance_vars(inst), "day"));
    out = flow_claim(&flow, inst, "zhang.san");
    cr_assert_str_eq(out.task->task.node->id, "apply");
}

Test(command, submit_if_waiting__needs_a_task_that_was_claimed)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT_IF_WAITING, "leave-1");
    command.node_id = "apply";
    command.actor = "zhang.san";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_NOT_WAITING);
    (void)flow_claim(&flow, inst, "zhang.san");
    command.actor = "li.wei";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_NOT_OPERABLE);
    command.actor = "zhang.san";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
}

/* --- rejections --- */

Test(command, reject__a_task_that_is_not_current_and_says_which_is_and_for_whom)
{
    (void)flow_start(&flow, inst, "leave");
    const char *before = flow_row(&flow, inst);
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_FORWARD, "li.wei");
    assert_code(&out, BF_CODE_NOT_WAITING);
    assert_says(&out, "leader");
    assert_says(&out, "\"apply\" (for zhang.san)");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    cr_assert_not(out.changed);
    cr_assert_eq(out.history_count, 0);
}

Test(command, reject__an_actor_who_may_not_operate_the_task)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "li.wei");
    assert_code(&out, BF_CODE_NOT_OPERABLE);
    assert_says(&out, "(for zhang.san)");
}

Test(command, reject__a_task_that_is_done)
{
    (void)flow_start(&flow, inst, "leave");
    submit_ok("apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    assert_code(&out, BF_CODE_NOT_WAITING);
}

Test(command, reject__a_completed_instance)
{
    (void)flow_start(&flow, inst, "leave");
    set_day(1);
    submit_ok("apply", "zhang.san");
    submit_ok("leader", "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_BACK, "li.wei");
    assert_code(&out, BF_CODE_INSTANCE_COMPLETED);
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_INSTANCE_COMPLETED);
}

Test(command, reject__a_suspended_instance)
{
    (void)flow_start(&flow, inst, "leave");
    bf_instance_begin(inst);
    bf_instance_set_status(inst, BF_INSTANCE_SUSPENDED);
    bf_instance_commit(inst);
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_INSTANCE_SUSPENDED);
    out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    assert_code(&out, BF_CODE_INSTANCE_SUSPENDED);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND, "leave-1");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
}

Test(command, reject__an_instance_that_does_not_exist)
{
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_INSTANCE_NOT_FOUND);
    assert_says(&out, "graph_id");
    bf_command_t command = flow_command(&flow, BF_VERB_GET_STATE, "leave-1");
    command.graph_id = "leave";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_INSTANCE_NOT_FOUND);
    cr_assert_eq(out.revision, 0);
}

Test(command, reject__graphs_that_are_unknown_disabled_or_not_the_pinned_one)
{
    bf_outcome_t out = flow_start(&flow, inst, "leaf");
    assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    assert_says(&out, "leaf");
    (void)flow_load(&flow, "id: old\nmeta: {enabled: false}\nlayout:\n"
                           "  - {type: start}\n  - {type: end}\n");
    out = flow_start(&flow, inst, "old");
    assert_code(&out, BF_CODE_GRAPH_DISABLED);
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "leave-1");
    command.graph_id = "pair";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    assert_says(&out, "\"leave\"");
}

Test(command, reject__a_pinned_version_that_is_not_loaded)
{
    static const char graph[] = "{\"id\":\"leave\",\"version\":9,\"hash\":\"\"}";
    bf_instance_row_t row = {
        .instant_id = "leave-1",
        .graph = {graph, sizeof(graph) - 1},
        .rev = 3,
    };
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK, "%s", err.text);
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    assert_says(&out, "version 9");
}

Test(command, reject__nodes_actions_and_verbs_that_are_unknown)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_submit(&flow, inst, "aply", BF_ACTION_FORWARD, "zhang.san");
    assert_code(&out, BF_CODE_UNKNOWN_NODE);
    assert_says(&out, "did you mean \"apply\"");
    out = flow_submit(&flow, inst, "apply", BF_ACTION_UNKNOWN, "zhang.san");
    assert_code(&out, BF_CODE_UNKNOWN_ACTION);
    assert_says(&out, "forward 1020");
    bf_command_t command = flow_command(&flow, BF_VERB_COUNT, "leave-1");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_UNKNOWN_COMMAND);
}

Test(command, reject__another_revision_than_the_expected_one)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "leave-1");
    command.actor = "zhang.san";
    command.has_expected_revision = true;
    command.expected_revision = 5;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_REVISION_CONFLICT);
    assert_says(&out, "revision 1");
    command.expected_revision = 1;
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
}

Test(command, reject__force_where_it_is_not_allowed)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.force = true;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_NOT_OPERABLE);
    flow.env.allow_force = true;
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
}

Test(command, reject__an_error_in_the_middle_undoes_the_whole_command)
{
    (void)flow_load(&flow, "id: risky\nlayout:\n"
                           "  - {id: start, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, task: 'x = 1', link: b}\n"
                           "  - {id: b, task: 'y = 1', link: c}\n"
                           "  - {id: c, task: 'z = 1 / zero', link: end}\n"
                           "  - {id: end, type: end}\n");
    (void)flow_start(&flow, inst, "risky");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "a";
    command.actor = "amy";
    command.vars = flow_json(&flow, "{\"zero\":0}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_EXPRESSION_ERROR);
    assert_says(&out, "risky / c");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    command.vars = flow_json(&flow, "{\"zero\":1}");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
}

Test(command, vars__that_json_cannot_hold_are_rejected_and_undone)
{
    (void)flow_load(&flow, "id: infinite\nlayout:\n"
                           "  - {id: start, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, task: 'z = [1, {\"n\": 1.0 / "
                           "zero}]', link: end}\n"
                           "  - {id: end, type: end}\n");
    (void)flow_start(&flow, inst, "infinite");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "a";
    command.actor = "amy";
    command.vars = flow_json(&flow, "{\"zero\":0}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_EXPRESSION_ERROR);
    assert_says(&out, "\"z\" would be infinite or not a number");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    command.vars = flow_json(&flow, "{\"zero\":2}");
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
}

/* A list in a list in a list, as deep as it says. */
static bf_value_t nested(size_t depth)
{
    bf_value_t value = bf_value_int(7);
    for (size_t i = 0; i < depth; i++) {
        bf_value_t *items = bf_arena_alloc(&flow.arena, sizeof(*items));
        cr_assert_not_null(items);
        items[0] = value;
        value = (bf_value_t){.type = BF_VALUE_LIST, .len = 1, .as.items = items};
    }
    return value;
}

Test(command, vars__as_deep_as_a_record_may_be_can_be_read_again)
{
    bf_instance_t *other = bf_instance_new("leave-1");
    bf_member_t member = {.name = "deep", .name_len = 4};
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = &member};
    member.value = nested(BF_VALUE_MAX_DEPTH);
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_OK);
    const char *before = flow_row(&flow, inst);
    cr_assert_eq(bf_instance_pack(inst), BF_OK);
    cr_assert_eq(bf_instance_open(inst), BF_OK);
    cr_assert_str_eq(flow_row(&flow, inst), before);
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_write_row(inst, &flow.arena, &row, &err), BF_OK);
    cr_assert_eq(bf_instance_load_row(other, &row, &err), BF_OK, "%s", err.text);
    cr_assert_str_eq(flow_row(&flow, other), before);
    member.value = nested(BF_VALUE_MAX_DEPTH + 1);
    command.command_id = "too-deep";
    out = flow_execute(&flow, inst, &command);
    assert_code(&out, BF_CODE_LIMIT_EXCEEDED);
    assert_says(&out, "\"deep\" would be nested deeper than 1000 levels");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    bf_instance_free(other);
}

Test(command, reject__errors_of_the_walk_have_their_codes)
{
    (void)flow_load(&flow, "id: endless\nlayout:\n"
                           "  - {id: s, type: start, link: a}\n"
                           "  - {id: a, link: b}\n  - {id: b, link: a}\n");
    (void)flow_load(&flow,
                    "id: stuck\nlayout:\n"
                    "  - {id: s, type: start, link: x}\n"
                    "  - {id: x, type: exclusive, link: {nextId: e, when: k > 1}}\n"
                    "  - {id: e, type: end}\n");
    (void)flow_load(&flow, "id: lost\nlayout:\n"
                           "  - {id: s, type: start, link: a}\n"
                           "  - {id: a, task: '@ghost', link: e}\n"
                           "  - {id: e, type: end}\n");
    (void)flow_load(&flow, "id: caller\nlayout:\n"
                           "  - {id: s, type: start, link: a}\n"
                           "  - {id: a, task: '#ghost', link: e}\n"
                           "  - {id: e, type: end}\n");
    static const struct {
        const char *graph;
        bf_code_t code;
        const char *says;
    } rows[] = {
        {"endless", BF_CODE_STEP_LIMIT, "10000"},
        {"stuck", BF_CODE_NO_ROUTE, "stuck / x"},
        {"lost", BF_CODE_COMPONENT_ERROR, "ghost"},
        {"caller", BF_CODE_UNKNOWN_GRAPH, "ghost"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bf_outcome_t out = flow_start(&flow, inst, rows[i].graph);
        assert_code(&out, rows[i].code);
        assert_says(&out, rows[i].says);
        cr_assert_eq(bf_instance_revision(inst), 0);
        cr_assert_str_eq(bf_instance_graph_id(inst), "");
    }
}
