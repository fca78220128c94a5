/*
 * leave.h - a leave request, and two branches that meet: what tests of commands work on
 *
 *     leave:  start > apply (zhang.san) > leader (li.wei) > gate > boss (wang.wu) > end
 *             where the boss is asked from three days on
 *     pair:   start > apply (amy) > law (bob) and tax (eve) > join > end
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_LEAVE_H
#define BF_TESTS_SUPPORT_LEAVE_H

#include "tests/support/flow.h"

/** A flow with both graphs, and an instance "leave-1" that has not begun. */
bf_instance_t *leave_begin(flow_t *flow);

/** Set the variable `day` by a command. */
void leave_set_day(flow_t *flow, bf_instance_t *inst, int day);

#endif /* BF_TESTS_SUPPORT_LEAVE_H */
