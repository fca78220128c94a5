/*
 * commands.c - the list of subcommands, in the order of help
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/commands.h"

#include <stddef.h>

const bf_cli_command_t *const bf_cli_commands[] = {
    &bf_cli_start,       &bf_cli_claim,
    &bf_cli_submit,      &bf_cli_submit_if_waiting,
    &bf_cli_find,        &bf_cli_next,
    &bf_cli_state,       &bf_cli_set_vars,
    &bf_cli_show,        &bf_cli_history,
    &bf_cli_watch,       &bf_cli_graph_check,
    &bf_cli_graph_draw,  &bf_cli_graph_convert,
    &bf_cli_expr,        &bf_cli_verify,
    &bf_cli_dead_list,   &bf_cli_dead_show,
    &bf_cli_dead_replay, &bf_cli_migrate,
    &bf_cli_status,      &bf_cli_purge,
    &bf_cli_load,        NULL};
