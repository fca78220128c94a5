/*
 * assert.c - report of a failed check
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "bpmflow/version.h"

void bf_assert_failed(const char *expression, const char *file, int line,
                      const char *function)
{
    /* The one place of the library that prints: the process is about to end, so that
     * the service manager restarts it and nothing is lost. */
    (void)fprintf(stderr, "bpmflow " BF_VERSION ": check failed: %s at %s:%d (%s)\n",
                  expression, file, line, function);
    abort();
}
