/*
 * mysql_repository.h - the state repository of the first seed, usable without Kafka
 *
 * Cached, lazily loaded, upserted; write-through (each change is one transaction) or
 * deferred (the caller flushes).  History rows of submits are written in the same
 * transaction as the states.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_MYSQL_REPOSITORY_H
#define BF_MYSQL_REPOSITORY_H

#include "bpmflow/repository.h"
#include "bpmflow/store.h"

typedef enum { BF_PERSIST_WRITE_THROUGH, BF_PERSIST_DEFERRED } bf_persist_t;

typedef struct bf_mysql_repository_options {
    bf_store_options_t store;
    bf_persist_t persist;
    size_t cache_max_bytes; /* 0 = 64 MiB */
} bf_mysql_repository_options_t;

/** Free with bf_repository_free(). Errors: as bf_store_open(). */
bf_status_t bf_mysql_repository_open(const bf_mysql_repository_options_t *options,
                                     bf_repository_t **ret, bf_err_t *err) BF_MUST_USE;

/** Recorder for bf_executor_set_recorder(); arg is the repository. */
bf_status_t bf_mysql_repository_record(void *repo, const bf_history_t *row,
                                       bf_err_t *err) BF_MUST_USE;

/** Write everything that is not written yet, in one transaction. */
bf_status_t bf_mysql_repository_flush(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;

/** Group several operations: nothing is written before commit; rollback forgets all. */
bf_status_t bf_mysql_repository_begin(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_mysql_repository_commit(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;
void bf_mysql_repository_rollback(bf_repository_t *repo);

/** Snapshot of an instance: graph and variables as JSON texts (first seed 3.3). */
bf_status_t bf_mysql_repository_save_snapshot(bf_repository_t *repo,
                                              const char *instance_id,
                                              const char *graph_json,
                                              const char *vars_json,
                                              bf_err_t *err) BF_MUST_USE;
/** Texts live in the arena; BF_E_NOT_FOUND. */
bf_status_t bf_mysql_repository_load_snapshot(bf_repository_t *repo,
                                              const char *instance_id, bf_arena_t *arena,
                                              bf_instance_row_t *ret,
                                              bf_err_t *err) BF_MUST_USE;

#endif /* BF_MYSQL_REPOSITORY_H */
