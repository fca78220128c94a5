/*
 * purge.h - takes away what is long finished, beside running workers
 *
 * An instance goes as a whole, with its history and the outcomes of its commands, in one
 * transaction with others: when it is completed, terminated or withdrawn, was not changed
 * since a given time, and everything that its commands caused is published.  Outcomes
 * that belong to no instance (dead letters, rejected commands of instances that never
 * came to be) go by the same two rules.  Nothing else is touched.
 *
 * Rows that a worker holds are left for another run, so that neither waits for the other.
 * A worker that still has a purged instance in its cache finds no row at its next write,
 * loads it again and sees that there is none.
 *
 * What is gone is forgotten: a command that is sent again after that is a new one, and an
 * instance with the same ID begins at step 1 again.
 *
 * Threads:  one purge = one store = one thread.  Everything blocks, bounded by the
 *           time-outs of the connection.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PURGE_H
#define BF_PURGE_H

#include "bpmflow/store.h"

typedef struct bf_purge bf_purge_t;

/** Offset up to which (exclusive) everything of a partition is published; -1 = that is
 *  not known: nothing of it is taken away then. */
typedef bf_status_t (*bf_purge_published_fn)(void *arg, const char *topic,
                                             int32_t partition_no, int64_t *ret,
                                             bf_err_t *err);

/* Where rows go before they are deleted. Errors end the purge; nothing of the batch is
 * deleted then. */
typedef struct bf_purge_archive {
    /* One row: {"table":...,"row":{...}} and a line feed; borrowed during the call. */
    bf_status_t (*line)(void *arg, const char *json, size_t len, bf_err_t *err);
    /* The batch is complete: make its lines durable. Called before the commit. */
    bf_status_t (*keep)(void *arg, bf_err_t *err);
    /* The batch was rolled back: forget its lines. */
    bf_status_t (*undo)(void *arg, bf_err_t *err);
    void *arg;
} bf_purge_archive_t;

typedef struct bf_purge_options {
    int64_t before_wall_ms; /* what was changed at or after this time stays */
    int64_t batch;          /* instances, or outcomes without one, in a transaction;
                               1 to 10000.  Twenty times as many history rows end a batch
                               early */
    bool dry_run;           /* count only */
    bf_purge_published_fn published;
    void *published_arg;
    const bf_purge_archive_t *archive; /* borrowed; NULL = none */
} bf_purge_options_t;

typedef struct bf_purge_counts {
    int64_t instances; /* deleted, or with dry_run: would be */
    int64_t history;
    int64_t commands;
    int64_t orphans;     /* of the commands: without an instance */
    int64_t unpublished; /* instances that stay, since something is not published */
    int64_t busy;        /* instances that stay, since a worker holds them */
    int64_t seen;        /* rows of instances and outcomes looked at, about ... */
    int64_t total;       /* ... and how many there are to look at */
} bf_purge_counts_t;

/** The store is borrowed and must not be used otherwise meanwhile.
 *  @return BF_OK; BF_E_INVALID (batch); what published returns; errors of the database */
bf_status_t bf_purge_open(bf_store_t *store, const bf_purge_options_t *options,
                          bf_purge_t **ret, bf_err_t *err) BF_MUST_USE;
/** NULL is allowed. */
void bf_purge_close(bf_purge_t *purge);

/**
 * Go one step further: look at some rows, and delete one batch at most.  After a deadlock
 * or a lock time-out the batch is tried again a few times.
 *
 * @param ret_more  false: all is done
 * @return BF_OK; errors of the archive and of the database (what was committed before
 *         stays deleted; after BF_E_STORE_LOST it is not known whether the last batch is)
 */
bf_status_t bf_purge_step(bf_purge_t *purge, bool *ret_more, bf_err_t *err) BF_MUST_USE;

/** So far. */
bf_purge_counts_t bf_purge_counts(const bf_purge_t *purge);

/* What purges have done in this database, all together. */
typedef struct bf_purge_log {
    int64_t runs;           /* that deleted something; 0 = never purged */
    int64_t before_wall_ms; /* nothing newer than this was taken away */
    int64_t last_wall_ms;   /* when the last batch was deleted */
} bf_purge_log_t;

bf_status_t bf_store_read_purge_log(bf_store_t *store, bf_purge_log_t *ret,
                                    bf_err_t *err) BF_MUST_USE;

#endif /* BF_PURGE_H */
