/*
 * test_command_reject.c - commands that are rejected: why, and that nothing has changed
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

TestSuite(command_reject, .init = setup, .fini = teardown);

Test(command_reject, reject__a_task_that_is_not_current_and_says_which_is_and_for_whom)
{
    (void)flow_start(&flow, inst, "leave");
    const char *before = flow_row(&flow, inst);
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_FORWARD, "li.wei");
    flow_assert_code(&out, BF_CODE_NOT_WAITING);
    flow_assert_says(&out, "leader");
    flow_assert_says(&out, "\"apply\" (for zhang.san)");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    cr_assert_not(out.changed);
    cr_assert_eq(out.history_count, 0);
}

Test(command_reject, reject__an_actor_who_may_not_operate_the_task)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "li.wei");
    flow_assert_code(&out, BF_CODE_NOT_OPERABLE);
    flow_assert_says(&out, "(for zhang.san)");
}

Test(command_reject, reject__a_task_that_is_done)
{
    (void)flow_start(&flow, inst, "leave");
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    bf_outcome_t out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    flow_assert_code(&out, BF_CODE_NOT_WAITING);
}

Test(command_reject, reject__a_completed_instance)
{
    (void)flow_start(&flow, inst, "leave");
    leave_set_day(&flow, inst, 1);
    flow_submit_ok(&flow, inst, "apply", "zhang.san");
    flow_submit_ok(&flow, inst, "leader", "li.wei");
    bf_outcome_t out = flow_submit(&flow, inst, "leader", BF_ACTION_BACK, "li.wei");
    flow_assert_code(&out, BF_CODE_INSTANCE_COMPLETED);
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_INSTANCE_COMPLETED);
}

Test(command_reject, reject__a_suspended_instance)
{
    (void)flow_start(&flow, inst, "leave");
    bf_instance_begin(inst);
    bf_instance_set_status(inst, BF_INSTANCE_SUSPENDED);
    bf_instance_commit(inst);
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    flow_assert_code(&out, BF_CODE_INSTANCE_SUSPENDED);
    out = flow_submit(&flow, inst, "apply", BF_ACTION_FORWARD, "zhang.san");
    flow_assert_code(&out, BF_CODE_INSTANCE_SUSPENDED);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND, "leave-1");
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
}

Test(command_reject, reject__an_instance_that_does_not_exist)
{
    bf_outcome_t out = flow_claim(&flow, inst, "zhang.san");
    flow_assert_code(&out, BF_CODE_INSTANCE_NOT_FOUND);
    flow_assert_says(&out, "graph_id");
    bf_command_t command = flow_command(&flow, BF_VERB_GET_STATE, "leave-1");
    command.graph_id = "leave";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_INSTANCE_NOT_FOUND);
    cr_assert_eq(out.revision, 0);
}

Test(command_reject, reject__graphs_that_are_unknown_disabled_or_not_the_pinned_one)
{
    bf_outcome_t out = flow_start(&flow, inst, "leaf");
    flow_assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    flow_assert_says(&out, "leaf");
    (void)flow_load(&flow, "id: old\nmeta: {enabled: false}\nlayout:\n"
                           "  - {type: start}\n  - {type: end}\n");
    out = flow_start(&flow, inst, "old");
    flow_assert_code(&out, BF_CODE_GRAPH_DISABLED);
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "leave-1");
    command.graph_id = "pair";
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    flow_assert_says(&out, "\"leave\"");
}

Test(command_reject, reject__a_pinned_version_that_is_not_loaded)
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
    flow_assert_code(&out, BF_CODE_UNKNOWN_GRAPH);
    flow_assert_says(&out, "version 9");
}

Test(command_reject, reject__nodes_actions_and_verbs_that_are_unknown)
{
    (void)flow_start(&flow, inst, "leave");
    bf_outcome_t out = flow_submit(&flow, inst, "aply", BF_ACTION_FORWARD, "zhang.san");
    flow_assert_code(&out, BF_CODE_UNKNOWN_NODE);
    flow_assert_says(&out, "did you mean \"apply\"");
    out = flow_submit(&flow, inst, "apply", BF_ACTION_UNKNOWN, "zhang.san");
    flow_assert_code(&out, BF_CODE_UNKNOWN_ACTION);
    flow_assert_says(&out, "forward 1020");
    bf_command_t command = flow_command(&flow, BF_VERB_COUNT, "leave-1");
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_UNKNOWN_COMMAND);
}

Test(command_reject, reject__another_revision_than_the_expected_one)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "leave-1");
    command.actor = "zhang.san";
    command.has_expected_revision = true;
    command.expected_revision = 5;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_REVISION_CONFLICT);
    flow_assert_says(&out, "revision 1");
    command.expected_revision = 1;
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
}

Test(command_reject, reject__force_where_it_is_not_allowed)
{
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "leader";
    command.force = true;
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_NOT_OPERABLE);
    flow.env.allow_force = true;
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
}

/* amy submits the first task of the graph with `zero` = 0, which is rejected and changes
 * nothing, and then with 1. */
static void expect_undone(const char *graph_id, const char *says)
{
    (void)flow_start(&flow, inst, graph_id);
    const char *before = flow_row(&flow, inst);
    bf_command_t command = flow_command(&flow, BF_VERB_SUBMIT, "leave-1");
    command.node_id = "a";
    command.actor = "amy";
    command.vars = flow_json(&flow, "{\"zero\":0}");
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_EXPRESSION_ERROR);
    flow_assert_says(&out, says);
    cr_assert_str_eq(flow_row(&flow, inst), before);
    command.vars = flow_json(&flow, "{\"zero\":1}");
    out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
    cr_assert_eq(out.instance_state, BF_INSTANCE_COMPLETED);
}

Test(command_reject, reject__an_error_in_the_middle_undoes_the_whole_command)
{
    (void)flow_load(&flow, "id: risky\nlayout:\n"
                           "  - {id: start, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, task: 'x = 1', link: b}\n"
                           "  - {id: b, task: 'y = 1', link: c}\n"
                           "  - {id: c, task: 'z = 1 / zero', link: end}\n"
                           "  - {id: end, type: end}\n");
    expect_undone("risky", "risky / c");
}

Test(command_reject, vars__that_json_cannot_hold_are_rejected_and_undone)
{
    (void)flow_load(&flow, "id: infinite\nlayout:\n"
                           "  - {id: start, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, task: 'z = [1, {\"n\": 1.0 / "
                           "zero}]', link: end}\n"
                           "  - {id: end, type: end}\n");
    expect_undone("infinite", "\"z\" would be infinite or not a number");
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

Test(command_reject, vars__as_deep_as_a_record_may_be_can_be_read_again)
{
    bf_instance_t *other = bf_instance_new("leave-1");
    bf_member_t member = {.name = "deep", .name_len = 4};
    (void)flow_start(&flow, inst, "leave");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = &member};
    member.value = nested(BF_VALUE_MAX_DEPTH);
    bf_outcome_t out = flow_execute(&flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
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
    flow_assert_code(&out, BF_CODE_LIMIT_EXCEEDED);
    flow_assert_says(&out, "\"deep\" would be nested deeper than 1000 levels");
    cr_assert_str_eq(flow_row(&flow, inst), before);
    bf_instance_free(other);
}

Test(command_reject, reject__errors_of_the_walk_have_their_codes)
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
        flow_assert_code(&out, rows[i].code);
        flow_assert_says(&out, rows[i].says);
        cr_assert_eq(bf_instance_revision(inst), 0);
        cr_assert_str_eq(bf_instance_graph_id(inst), "");
    }
}
