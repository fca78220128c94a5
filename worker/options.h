/*
 * options.h - the command line of bpmflow-worker
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_OPTIONS_H
#define BF_OPTIONS_H

#include "worker/settings.h"

#define BF_EXIT_OK    0
#define BF_EXIT_ERROR 1
#define BF_EXIT_USAGE 2

#define BF_OPTIONS_SET_MAX 64

typedef enum {
    BF_RUN_WORKER,
    BF_RUN_CHECK_CONFIG,
    BF_RUN_EXIT /* help, version, a mistake: exit_status */
} bf_run_t;

typedef struct bf_options {
    bf_run_t run;
    int exit_status;
    const char *config;                   /* NULL: only defaults and --set */
    const char *sets[BF_OPTIONS_SET_MAX]; /* "name=value" */
    size_t set_count;
} bf_options_t;

/** Read the command line; prints what was asked for, and mistakes to standard error. */
void bf_options_parse(int argc, char **argv, bf_options_t *ret);

/** Defaults, file, --set, secrets. Mistakes go to standard error. false: exit. */
bool bf_options_load(const bf_options_t *options, bf_settings_t *settings);

#endif /* BF_OPTIONS_H */
