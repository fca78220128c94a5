/*
 * reply.h - a reply of a worker for people
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_REPLY_H
#define BF_CLI_REPLY_H

#include "bpmflow/value.h"
#include "worker/cli/cli.h"

/** Append what the reply says: outcome, task, what comes next, states. */
void bf_cli_reply_text(const bf_value_t *reply, bf_str_t *ret);

/** 0 for an accepted command, 1 for a rejected one. */
bf_exit_t bf_cli_reply_status(const bf_value_t *reply);

/** "  name=value" for each member of a MAP; others: nothing. */
void bf_cli_put_meta(bf_str_t *str, const bf_value_t *meta);

/** "waiting" for 1001 ...; "?" for what is no state. */
const char *bf_cli_state_text(int64_t code);

#endif /* BF_CLI_REPLY_H */
