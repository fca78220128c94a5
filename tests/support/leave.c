/*
 * leave.c - see leave.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/leave.h"

#include <criterion/criterion.h>
#include <stdio.h>

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

bf_instance_t *leave_begin(flow_t *flow)
{
    flow_init(flow);
    (void)flow_load(flow, leave);
    (void)flow_load(flow, pair);
    bf_instance_t *inst = bf_instance_new("leave-1");
    cr_assert_not_null(inst);
    return inst;
}

void leave_set_day(flow_t *flow, bf_instance_t *inst, int day)
{
    char vars[32];
    (void)snprintf(vars, sizeof(vars), "{\"day\":%d}", day);
    bf_command_t command = flow_command(flow, BF_VERB_SET_VARS, "leave-1");
    command.vars = flow_json(flow, vars);
    bf_outcome_t out = flow_execute(flow, inst, &command);
    flow_assert_code(&out, BF_CODE_OK);
}
