/*
 * cli.h - runs the command line tool and keeps what it says
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_CLI_H
#define BF_TEST_CLI_H

#include <stddef.h>

typedef struct test_cli {
    const char *const *env; /* NAME=VALUE ..., NULL at the end; added to a bare
                               environment; NULL = none */
    int status;             /* exit status; 128 + n after signal n */
    char *out;              /* standard output */
    char *err;              /* standard error */
} test_cli_t;

/** Run bpmflow with words up to NULL; its output replaces that of the run before. A run
 * of more than a minute is killed and fails the test. */
void test_cli_run(test_cli_t *cli, const char *word, ...) __attribute__((sentinel));
void test_cli_fini(test_cli_t *cli);

/** Fails the test unless the last run ended with the status. */
void test_cli_expect(const test_cli_t *cli, int status);
/** ... unless its output contains the text. */
void test_cli_expect_out(const test_cli_t *cli, const char *text);
void test_cli_expect_err(const test_cli_t *cli, const char *text);

/** How often a text occurs. */
size_t test_cli_count(const char *text, const char *part);

#endif /* BF_TEST_CLI_H */
