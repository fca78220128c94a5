/*
 * test_command.c - what commands do, and what their outcomes say
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "tests/support/leave.h"

static flow_t flow;
static bf_instance_t *inst;

static void setup(void)
{
    inst = leave_begin(&flow);
}

static void teardown(void)
{
    bf_instance_free(inst);
    flow_fini(&flow);
}

TestSuite(command, .init = setup, .fini = teardown);

/* --- start, claim, find --- */

Test(command, start__pins_the_graph_and_names_the_first_tasks)
{
    bf_outcome_t out = flow_start(&flow, inst, "leave");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_INSTANCE_EXISTS);
    flow_assert_says(&out, "leave-1");
    cr_assert_eq(out.revision, 1);
}

Test(command, start__keeps_the_version_when_a_newer_graph_is_loaded)
{
    (void)flow_start(&flow, inst, "leave");
    (void)flow_load(&flow, "id: leave\nversion: 2\nlayout:\n"
                           "  - {type: start}\n  - {id: other, meta: {actor: li.wei}}\n"
                           "  - {type: end}\n");
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    cr_assert_not(out.changed);
    cr_assert_eq(bf_instance_revision(inst), revision);
}

Test(command, claim__by_somebody_else_finds_nothing_and_says_why)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_claim(&flow, inst, "wang.wu");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_null(out.task);
    cr_assert_not_null(out.error);
}

Test(command, claim__on_a_completed_instance_finds_nothing_and_says_why)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 1);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    flow_submit_ok(&flow, inst, "leader", "li.wei");
    bf_outcome_t out = flow_claim(&flow, inst, "li.wei");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_null(out.task);
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
    flow_assert_says(&out, "completed");
}

Test(command, find__shows_the_current_task_to_anybody_and_changes_nothing)
{
    (void)flow_start(&flow, inst, "leave");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND, "leave-1");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "apply");
    cr_assert_not(out.changed);
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

Test(command, find_next__shows_the_tasks_of_all_branches_and_changes_nothing)
{
    (void)flow_start(&flow, inst, "pair");
    flow_submit_ok(&flow, inst, "apply", "amy");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND_NEXT, "leave-1");
    command.vars = flow_json(&flow, "{\"what_if\":1}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.revision, 2);
    command.vars = flow_json(&flow, "{\"a\":null,\"d\":\"x\"}");
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_not_null(
        strstr(flow_row(&flow, inst), "vars={\"b\":{\"c\":[1,2]},\"d\":\"x\"}"));
}

Test(command, set_vars__a_reserved_name_is_rejected_and_nothing_is_merged)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(&flow, "{\"a\":1,\"instanceId\":\"x\"}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_MALFORMED);
    flow_assert_says(&out, "instanceId");
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
    flow_assert_code(&out, BF_CODE_LIMIT_EXCEEDED);
    flow_assert_says(&out, "64");
    cr_assert_eq(bf_vars_count(bf_instance_vars(inst)), 0);
}

Test(command, get_state__of_all_nodes_of_one_and_of_an_untouched_one)
{
    (void)flow_start(&flow, inst, "leave");
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    (void)flow_claim(&flow, inst, "li.wei");
    bf_command_t command = flow_command(&flow, BF_VERB_GET_STATE, "leave-1");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_UNKNOWN_NODE);
    flow_assert_says(&out, "did you mean \"leader\"");
}

Test(command, context__is_seen_by_conditions_and_never_stored)
{
    (void)flow_start(&flow, inst, "leave");
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.actor = "li.wei";
    command.context = flow_json(&flow, "{\"day\":5,\"actor\":\"somebody else\"}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.next_task_count, 1);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "boss");
    cr_assert_eq(bf_vars_count(bf_instance_vars(inst)), 0);
}

/* --- submit --- */

Test(command, submit__forward_moves_on_and_writes_a_row)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 5);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.actor = "li.wei";
    command.message = "agreed";
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
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
    leave_set_day(&flow, inst, 1);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_FORWARD, "li.wei");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_submit_ok(&flow, inst, "apply", "amy");
    bf_outcome_t out = flow_submit(&flow, inst, "law", BF_ACTION_FORWARD, "bob");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].target.code, "join");
    cr_assert_str_eq(out.history[0].target.type, "parallel");
    cr_assert_eq(out.instance_state, BF_INSTANCE_RUNNING);
    out = flow_submit(&flow, inst, "tax", BF_ACTION_FORWARD, "eve");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].target.code, "end");
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
}

Test(command, submit__back_leads_to_the_task_before_and_says_so)
{
    (void)flow_start(&flow, inst, "leave");
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_BACK, "li.wei");
    flow_assert_code(&out, BF_CODE_OK);
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
    leave_set_day(&flow, inst, 5);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "apply";
    command.target_id = "boss";
    command.actor = "zhang.san";
    command.action = BF_ACTION_FORWARD_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
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
    leave_set_day(&flow, inst, 5);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    flow_submit_ok(&flow, inst, "leader", "li.wei");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "boss";
    command.target_id = "apply";
    command.actor = "wang.wu";
    command.action = BF_ACTION_BACK_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 1001);
    out = flow_claim(&flow, inst, "zhang.san");
    cr_assert_str_eq(out.task->task.node->id, "apply");
}

Test(command, submit__a_jump_may_name_its_target_only_and_the_row_has_the_current_task)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 5);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "boss", BF_ACTION_FORWARD_JUMP, "li.wei");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.task->task.node->id, "leader");
    cr_assert_eq(out.history_count, 1);
    cr_assert_str_eq(out.history[0].task_id, "leader");
    cr_assert_str_eq(out.history[0].source.code, "leader");
    cr_assert_str_eq(out.history[0].target.code, "boss");
    out = flow_submit(&flow, inst, "apply", BF_ACTION_BACK_JUMP, "wang.wu");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].task_id, "a");
    cr_assert_str_eq(out.history[0].target.code, "a");
    out = flow_submit(&flow, inst, "a", BF_ACTION_FORWARD, "amy");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].task_id, "a#2");
    cr_assert_str_eq(out.history[0].source.code, "a");
    cr_assert_eq(out.task->task.round, 2);
}

Test(command, submit__restart_of_a_completed_instance)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 1);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    flow_submit_ok(&flow, inst, "leader", "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_RESTART, "zhang.san");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.next_tasks[0].graph_id, "sub");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.graph_id = "sub";
    command.node_id = "check";
    command.actor = "amy";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_str_eq(out.history[0].graph_id, "sub");
    cr_assert_str_eq(out.history[0].target.code, "last");
    cr_assert_str_eq(bf_instance_graph_id(inst), "main");
    flow_submit_ok(&flow, inst, "last", "bob");
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_COMPLETED);
}

Test(command, submit__a_jump_to_a_target_that_cannot_be_reached_is_rejected)
{
    (void)flow_start(&flow, inst, "leave");
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.target_id = "boss";
    command.actor = "li.wei";
    command.action = BF_ACTION_BACK_JUMP;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_UNREACHABLE_TARGET);
    command.action = BF_ACTION_FORWARD_JUMP;
    command.target_id = "apply";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_UNREACHABLE_TARGET);
    cr_assert_str_eq(flow_row(&flow, inst), before);
}

Test(command, submit__terminate_ends_the_instance_for_good)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out =
        flow_submit(&flow, inst, "apply", BF_ACTION_TERMINATE, "zhang.san");
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_TERMINATED);
    cr_assert_str_eq(out.history[0].target.code, "apply");
    cr_assert_eq(out.history[0].status, 1003);
    out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    flow_assert_code(&out, BF_CODE_INSTANCE_TERMINATED);
    out = flow_claim(&flow, inst, "zhang.san");
    flow_assert_code(&out, BF_CODE_INSTANCE_TERMINATED);
    flow_assert_says(&out, "restart");
}

Test(command, submit__restart_clears_states_and_keeps_variables)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 5);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    (void)flow_submit(&flow, inst, "leader", BF_ACTION_TERMINATE, "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, NULL, BF_ACTION_RESTART, "zhang.san");
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_NOT_WAITING);
    (void)flow_claim(&flow, inst, "zhang.san");
    command.actor = "li.wei";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_NOT_OPERABLE);
    command.actor = "zhang.san";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.history_count, 1);
}
