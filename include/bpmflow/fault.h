/*
 * fault.h - points where tests make the process fail, in test builds only
 *
 * A build with -DBF_FAULTS (make FAULTS=1) reads the environment variable BF_FAULT:
 *
 *     BF_FAULT=point:count:action[:argument][,point:count:action...]
 *
 * point   name of a BF_FAULT("...") in the code, for example store.after_commit
 * count   the hit that triggers, 1 = the first; "n+" = the n-th and all later ones
 * action  kill          SIGKILL to ourselves: nothing is cleaned up
 *         stop          SIGSTOP to ourselves: a zombie until somebody sends SIGCONT
 *         exit          _exit(70)
 *         sleep:MS      the thread sleeps
 *         error[:NAME]  the point returns that status (E_STORE_LOST, ...; E_IO by
 * default)
 *
 * In any other build BF_FAULT() is the constant BF_OK and nothing is read.
 *
 * Names: layer.place, for example store.before_commit, store.after_commit,
 * publish.before_commit, publish.after_commit.
 *
 * Threads:  any.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_FAULT_H
#define BF_FAULT_H

#include "bpmflow/err.h"

#ifdef BF_FAULTS
/** Count a hit of the point and do what BF_FAULT asks for.
 *  @return BF_OK, or the status of an error action; a wrong BF_FAULT aborts with a
 *          sentence, since a fault that never comes would make a test pass wrongly */
bf_status_t bf_fault_hit(const char *point) BF_MUST_USE;
#define BF_FAULT(point) bf_fault_hit(point)
#else
#define BF_FAULT(point) ((bf_status_t)BF_OK)
#endif

#endif /* BF_FAULT_H */
