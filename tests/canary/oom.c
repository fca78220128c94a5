/*
 * oom.c - ignores a failed allocation's meaning: the allocation sweep must fail it
 *
 * The function returns success although one of its two allocations failed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "bpmflow/err.h"
#include "tests/oom/oom.h"

static bf_status_t careless(void *arg)
{
    (void)arg;
    char *first = malloc(16);
    char *second = malloc(16);
    free(first);
    free(second);
    return BF_OK;
}

int main(void)
{
    bf_oom_sweep("careless", careless, NULL);
    return bf_oom_result();
}
