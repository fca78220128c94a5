/*
 * commands.h - the subcommands, each defined in the file of its group
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_COMMANDS_H
#define BF_CLI_COMMANDS_H

#include "worker/cli/cli.h"

/* send.c: commands to the workers */
extern const bf_cli_command_t bf_cli_start;
extern const bf_cli_command_t bf_cli_claim;
extern const bf_cli_command_t bf_cli_find;
extern const bf_cli_command_t bf_cli_next;
extern const bf_cli_command_t bf_cli_submit;
extern const bf_cli_command_t bf_cli_submit_if_waiting;
extern const bf_cli_command_t bf_cli_state;
extern const bf_cli_command_t bf_cli_set_vars;

extern const bf_cli_command_t bf_cli_show;    /* show.c */
extern const bf_cli_command_t bf_cli_history; /* history.c */
extern const bf_cli_command_t bf_cli_watch;   /* watch.c */

extern const bf_cli_command_t bf_cli_graph_check; /* graph.c */
extern const bf_cli_command_t bf_cli_graph_draw;
extern const bf_cli_command_t bf_cli_graph_convert;
extern const bf_cli_command_t bf_cli_expr; /* expr.c */

extern const bf_cli_command_t bf_cli_verify;      /* verify.c */
extern const bf_cli_command_t bf_cli_dead_list;   /* dead_letters.c */
extern const bf_cli_command_t bf_cli_dead_show;   /* dead_letters.c */
extern const bf_cli_command_t bf_cli_dead_replay; /* dead_replay.c */
extern const bf_cli_command_t bf_cli_migrate;     /* migrate.c */
extern const bf_cli_command_t bf_cli_purge;       /* purge.c */
extern const bf_cli_command_t bf_cli_status;      /* status.c */
extern const bf_cli_command_t bf_cli_load;        /* load.c */

#endif /* BF_CLI_COMMANDS_H */
