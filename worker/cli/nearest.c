/*
 * nearest.c - what somebody who mistyped a name probably meant
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/suggest.h"
#include "worker/cli/cli.h"

#define NAMES_MAX 128

const char *bf_cli_nearest(const char *word, const char *(*next)(void *arg, size_t index),
                           void *arg)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    size_t len = strlen(word);
    const char *begins = NULL; /* the one name that begins with the word */
    const char *name;
    while (count < NAMES_MAX && (name = next(arg, count))) {
        names[count++] = name;
        if (len >= 2 && strncmp(word, name, len) == 0)
            begins = begins ? "" : name;
    }
    if (begins && *begins)
        return begins;
    return bf_suggest_nearest(word, len, names, count);
}
