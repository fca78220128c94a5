/*
 * process.h - the parts of the process that main puts together
 *
 * Threads:  main.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PROCESS_H
#define BF_PROCESS_H

#include <signal.h>

#include "bpmflow/admin.h"
#include "worker/options.h"
#include "worker/shard.h"

/* --- prepare.c: what has to be there before the shards start --- */

/** Log, metrics, definitions, properties. Says what is wrong itself. */
bool bf_prepare_worker(bf_worker_t *worker);
/** The embedded broker with its topics, when kafka.embedded is set. */
bool bf_prepare_broker(bf_worker_t *worker);
/** mysql.auto_migrate: waits for the database. `signals` ends the wait.
 *  @param ret_stopped  true: one of them did; else untouched */
bool bf_prepare_schema(bf_worker_t *worker, const sigset_t *signals, bool *ret_stopped);
void bf_prepare_undo(bf_worker_t *worker);

/** SIGHUP: definitions, and the settings that may change. */
void bf_reload(bf_worker_t *worker, const bf_options_t *options);

/* --- plugins.c --- */

/** Load the libraries of `components`; says what is wrong. false: do not start. */
bool bf_plugins_start(bf_worker_t *worker);
/** After the shards are gone. */
void bf_plugins_stop(bf_worker_t *worker);

/* --- definitions.c --- */

/** The first load; says what is wrong. false: the worker must not start (a path cannot be
 *  read, or a file has mistakes and graphs.strict is set). */
bool bf_definitions_start(bf_worker_t *worker);
/** Load again: what has mistakes is refused and named, everything else is taken. */
void bf_definitions_reload(bf_worker_t *worker, const bf_text_list_t *paths);
void bf_definitions_fini(bf_worker_t *worker);

/* --- stats.c --- */
typedef struct bf_stats {
    bf_shard_totals_t last;
    int64_t last_mono_ms;
    bool idle; /* nothing happened before the last line */
} bf_stats_t;

void bf_stats_init(bf_stats_t *stats);
/** One line with what happened since the last one, when its time has come. */
void bf_stats_write(bf_stats_t *stats, const bf_worker_t *worker, bool now);

/* --- endpoint.c: /metrics, /healthz, /readyz --- */
/** NULL in ret when admin.port is 0. */
bf_status_t bf_endpoint_start(bf_worker_t *worker, bf_admin_t **ret,
                              bf_err_t *err) BF_MUST_USE;

/* --- notify.c --- */
/** Tell the service manager ("READY=1", ...); does nothing where there is none. */
void bf_notify(const char *state);

#endif /* BF_PROCESS_H */
