/*
 * members.h - JSON objects from the command line: NAME=VALUE, '{...}' or @FILE
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_MEMBERS_H
#define BF_CLI_MEMBERS_H

#include "bpmflow/value.h"

/**
 * One object from several texts; later ones replace members of earlier ones.
 *
 * NAME=VALUE sets one member: VALUE is JSON where it is valid JSON (3, true, null,
 * "3", [1,2]), else it is the text itself.  A text that begins with '{' is an object;
 * @FILE reads one from a file ("-" is the standard input).
 *
 * @param what  the option, for messages
 * @param ret   a MAP, in the arena
 * @return BF_OK; BF_E_INVALID; BF_E_PARSE; BF_E_IO; BF_E_NOMEM
 */
bf_status_t bf_cli_members(bf_arena_t *arena, const char *what, const char *const *texts,
                           size_t count, bf_value_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_MEMBERS_H */
