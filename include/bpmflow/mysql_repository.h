/*
 * mysql_repository.h - the state repository of the first seed, usable without Kafka
 *
 * Cached, lazily loaded, upserted; write-through (each change is one transaction) or
 * deferred (the caller flushes).  History rows of submits are written in the same
 * transaction as the states.
 *
 * Several processes: each has a cache of its own.  Where two change one instance, the
 * revision of the row decides: the first to write wins, the other one gets BF_E_CONFLICT,
 * its copy is dropped, and the next operation loads the row as it is.  (The design speaks
 * of "last write wins"; a lost update is an error here.)  A change that others made is
 * not seen before a conflict or bf_repository_ops_t.evict().
 *
 * After an error of a write-through operation the instance is dropped likewise: memory
 * never runs ahead of the database.
 *
 * Threads:  one at a time (the executor's lock).  An instance that was handed out is
 * valid until the next open() of another one: the cache is bounded.  Everything that
 *           writes or loads blocks, bounded by the time-outs of the connection; a lost
 *           connection is made anew once for each call.
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
    bool inject_vars;       /* vars_get hands out the variables of the row */
} bf_mysql_repository_options_t;

/** Free with bf_repository_free(). Errors: as bf_store_open(). */
bf_status_t bf_mysql_repository_open(const bf_mysql_repository_options_t *options,
                                     bf_repository_t **ret, bf_err_t *err) BF_MUST_USE;

/** Open many instances ahead: those that the cache does not hold come with one SELECT for
 *  each hundred instead of one each, and IDs without a row are noted as new. As many as
 *  the cache has room for; more are of no use. Counts as an open of all of them: what was
 *  handed out before may be gone. BF_OK; BF_E_INVALID (an ID; nothing is loaded); errors
 *  of the database: what is not loaded yet is loaded when it is opened. */
bf_status_t bf_mysql_repository_preload(bf_repository_t *repo, const char *const *ids,
                                        size_t count, bf_err_t *err) BF_MUST_USE;

/** The store behind it, for reading history: bf_store_scan_history(). Borrowed. */
bf_store_t *bf_mysql_repository_store(bf_repository_t *repo);

/** Recorder for bf_executor_set_recorder(); arg is the repository. The row (copied) is
 *  written together with the change that took its number (bf_instance_next_seq()); where
 *  that change is undone, the row is forgotten. BF_OK or BF_E_NOMEM. */
bf_status_t bf_mysql_repository_record(void *repo, const bf_history_t *row,
                                       bf_err_t *err) BF_MUST_USE;

/**
 * Write everything that is not written yet, in one transaction; nothing to write is
 * BF_OK.
 *
 * @return BF_OK; BF_E_CONFLICT (somebody else has changed an instance: err names one; all
 *         such instances and their history rows are dropped, the others are kept: flush
 *         again); BF_E_STORE_DATA (the database refuses the data of an instance: err
 * names it, it is dropped, the others are written); BF_E_STORE_RETRY, BF_E_STORE_LOST,
 *         BF_E_STORE, BF_E_NOMEM (nothing is lost: flush again later)
 */
bf_status_t bf_mysql_repository_flush(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;

/** Group several operations: nothing is written before commit; rollback forgets all that
 *  was done since begin. Groups do not nest (BF_E_INVALID). begin writes what a deferred
 *  repository still holds, so that a rollback cannot lose it; commit is as flush, but a
 *  group that fails is forgotten as a whole. */
bf_status_t bf_mysql_repository_begin(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_mysql_repository_commit(bf_repository_t *repo, bf_err_t *err) BF_MUST_USE;
void bf_mysql_repository_rollback(bf_repository_t *repo);

/** Snapshot of an instance: graph and variables as JSON objects (first seed 3.3); the
 *  states are those of the instance. What is not written yet is written before. Not
 *  inside of a group (BF_E_INVALID). BF_E_INVALID: not JSON objects; else as flush.
 *  @param graph_json  whole definition, or NULL: the column stays
 *  @param vars_json   replaces the variables, or NULL: they stay */
bf_status_t bf_mysql_repository_save_snapshot(bf_repository_t *repo,
                                              const char *instance_id,
                                              const char *graph_json,
                                              const char *vars_json,
                                              bf_err_t *err) BF_MUST_USE;
/** The row as the database has it (a deferred repository writes first, unless inside of a
 *  group). Texts live in the arena; BF_E_NOT_FOUND: no such row. */
bf_status_t bf_mysql_repository_load_snapshot(bf_repository_t *repo,
                                              const char *instance_id, bf_arena_t *arena,
                                              bf_instance_row_t *ret,
                                              bf_err_t *err) BF_MUST_USE;

#endif /* BF_MYSQL_REPOSITORY_H */
