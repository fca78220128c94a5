/*
 * oom.h - allocation sweep: fail the n-th allocation, for every n
 *
 * The sweep runs a function with allocation 0 failing, then 1, then 2 ... until a run
 * meets no failing allocation.  Every run with a failure must return BF_E_NOMEM and give
 * everything back; the last one must return BF_OK.  The programs are linked with
 * -Wl,--wrap=malloc (and calloc, realloc, strdup, ...), and jansson is given the same
 * functions, so that its allocations fail as well.  Built with ASan, so that a leak or a
 * use after free in a failure path fails the program.
 *
 *     static bf_status_t load(void *arg) { ... }
 *     int main(void)
 *     {
 *         bf_oom_sweep("graph_load", load, NULL);
 *         return bf_oom_result();
 *     }
 *
 * Threads:  one; other threads' allocations would be counted too.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_OOM_H
#define BF_TESTS_OOM_H

#include "bpmflow/err.h"

/** One run of what is tested; it prepares, calls, frees and returns the status. */
typedef bf_status_t (*bf_oom_fn)(void *arg);

/**
 * Sweep one function. Prints a line with the number of allocations.
 *
 * @param name  shown in the line
 * @param fn    called once per allocation it makes, and once more
 * @param arg   passed on
 */
void bf_oom_sweep(const char *name, bf_oom_fn fn, void *arg);

/** No allocation fails from here until bf_oom_resume(): for set-up inside of a run. */
void bf_oom_pause(void);
void bf_oom_resume(void);

/** The exit status for main: 0 when every sweep held. */
int bf_oom_result(void);

#endif /* BF_TESTS_OOM_H */
