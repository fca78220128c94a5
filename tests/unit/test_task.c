/*
 * test_task.c - codes and names are a contract
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "bpmflow/code.h"
#include "bpmflow/command.h"
#include "bpmflow/task.h"

Test(task, state_of__knows_the_four_codes_and_nothing_else)
{
    cr_assert_eq(bf_task_state_of(0), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_task_state_of(1001), BF_TASK_WAITING);
    cr_assert_eq(bf_task_state_of(1002), BF_TASK_COMPLETED);
    cr_assert_eq(bf_task_state_of(1003), BF_TASK_TERMINATED);
    cr_assert_eq(bf_task_state_of(1004), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_task_state_of(-1), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_task_state_of(INT64_MAX), BF_TASK_UNKNOWN);
}

Test(task, action__has_code_name_and_target_state)
{
    static const struct {
        const char *name;
        int64_t code;
        bf_task_state_t state;
    } rows[] = {
        {"back", 1010, BF_TASK_WAITING},
        {"back_jump", 1011, BF_TASK_WAITING},
        {"forward", 1020, BF_TASK_COMPLETED},
        {"forward_jump", 1021, BF_TASK_COMPLETED},
        {"terminate", 1030, BF_TASK_TERMINATED},
        {"restart", 1040, BF_TASK_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bf_action_t action = bf_action_of_name(rows[i].name);
        cr_assert_eq((int64_t)action, rows[i].code, "%s", rows[i].name);
        cr_assert_eq(bf_action_of_code(rows[i].code), action);
        cr_assert_str_eq(bf_action_name(action), rows[i].name);
        cr_assert_eq(bf_action_target_state(action), rows[i].state);
    }
    cr_assert_eq(bf_action_of_name("Forward"), BF_ACTION_UNKNOWN);
    cr_assert_eq(bf_action_of_code(1022), BF_ACTION_UNKNOWN);
}

Test(task, state_name__is_lower_case)
{
    cr_assert_str_eq(bf_task_state_name(BF_TASK_WAITING), "waiting");
    cr_assert_str_eq(bf_task_state_name(BF_TASK_COMPLETED), "completed");
    cr_assert_str_eq(bf_task_state_name(BF_TASK_TERMINATED), "terminated");
    cr_assert_str_eq(bf_task_state_name(BF_TASK_UNKNOWN), "unknown");
}

Test(code, name__and_back_for_every_code)
{
    for (unsigned i = 0; i < BF_CODE_COUNT; i++) {
        cr_assert_eq(bf_code_of_name(bf_code_name((bf_code_t)i)), (bf_code_t)i);
        cr_assert_gt(strlen(bf_code_explanation((bf_code_t)i)), 0);
    }
    cr_assert_eq(bf_code_of_name("no such code"), BF_CODE_COUNT);
}

Test(code, of_status__every_status_of_the_engine_has_a_code_of_its_own)
{
    cr_assert_eq(bf_code_of_status(BF_OK), BF_CODE_OK);
    cr_assert_eq(bf_code_of_status(BF_E_NOMEM), BF_CODE_NO_MEMORY);
    cr_assert_eq(bf_code_of_status(BF_E_STEP_LIMIT), BF_CODE_STEP_LIMIT);
    cr_assert_eq(bf_code_of_status(BF_E_NO_ROUTE), BF_CODE_NO_ROUTE);
    cr_assert_eq(bf_code_of_status(BF_E_EXPRESSION), BF_CODE_EXPRESSION_ERROR);
    cr_assert_eq(bf_code_of_status(BF_E_COMPONENT), BF_CODE_COMPONENT_ERROR);
    cr_assert_eq(bf_code_of_status(BF_E_CONFLICT), BF_CODE_REVISION_CONFLICT);
    cr_assert_eq(bf_code_of_status(BF_E_STORE_DATA), BF_CODE_STORAGE_REJECTED);
}

Test(verb, name__and_back_for_every_verb)
{
    for (unsigned i = 0; i < BF_VERB_COUNT; i++) {
        cr_assert_eq(bf_verb_of_name(bf_verb_name((bf_verb_t)i)), (bf_verb_t)i);
    }
    cr_assert_eq(bf_verb_of_name("Submit"), BF_VERB_COUNT);
}
