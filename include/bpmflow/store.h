/*
 * store.h - the unit of work of a shard: one transaction per batch
 *
 * One store = one connection = one shard.  bf_store_commit() writes everything that a
 * batch changed in the order of design (offset rows first: they fence a zombie; then
 * instances in key order, guarded by their revision; then history and command outcomes),
 * with prepared multi-row statements.
 *
 * Threads:  one store = one thread.  Everything blocks, bounded by the time-outs of the
 *           connection.  After BF_E_STORE_LOST call bf_store_reconnect().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_H
#define BF_STORE_H

#include "bpmflow/db.h"
#include "bpmflow/history.h"
#include "bpmflow/instance.h"

typedef struct bf_store bf_store_t;

typedef struct bf_store_options {
    bf_db_options_t db;           /* texts are copied by open */
    const char *repository_table; /* NULL = bpm_flow_repository */
    const char *task_table;       /* NULL = bpm_flow_task */
} bf_store_options_t;

/** Connect, check the schema version, prepare. Errors: as bf_db_connect(), BF_E_SCHEMA.
 */
bf_status_t bf_store_open(const bf_store_options_t *options, bf_store_t **ret,
                          bf_err_t *err) BF_MUST_USE;
void bf_store_close(bf_store_t *store);
/** Drop the connection and make a new one (statements are prepared again).
 *  BF_E_STORE_LOST also from a server that is read-only: nothing could be committed. */
bf_status_t bf_store_reconnect(bf_store_t *store, bf_err_t *err) BF_MUST_USE;
bf_db_t *bf_store_db(bf_store_t *store);

/* --- ownership of partitions (table bpm_flow_offset) --- */

typedef struct bf_partition_row {
    bool exists;
    int64_t next_offset; /* D: the first offset not applied yet */
    int64_t epoch;
    bool released;
    char topic_id[65];
    char owner[129];
    char incarnation[37];
    char transactional_id[250];
} bf_partition_row_t;

typedef struct bf_partition_claim {
    const char *topic;
    int32_t partition_no;
    const char *topic_id; /* "" when unknown */
    const char *owner;    /* "worker-1/0" */
    const char *incarnation;
    const char *transactional_id;
    int64_t first_offset; /* next_offset of a row that does not exist yet */
    bool restart; /* forget the row's next_offset and topic ID: the topic is another one
                     and its commands are numbered anew (topic_id must be given then) */
} bf_partition_claim_t;

/** Read the row without claiming. */
bf_status_t bf_store_read_partition(bf_store_t *store, const char *topic,
                                    int32_t partition_no, bf_partition_row_t *ret,
                                    bf_err_t *err) BF_MUST_USE;

/** Take ownership: raises the epoch, committed at once. The row before the claim and the
 *  row after it (with the new epoch and the next_offset to begin at).  Where the former
 *  owner holds the row in a transaction that does not end, its connection is killed.
 *  @return BF_OK; BF_E_INVALID (both topic IDs are known and differ, and not restart: the
 *          topic was made anew; nothing is changed); errors of the database */
bf_status_t bf_store_claim_partition(bf_store_t *store, const bf_partition_claim_t *claim,
                                     bf_partition_row_t *ret_before,
                                     bf_partition_row_t *ret_after,
                                     bf_err_t *err) BF_MUST_USE;

/** Mark as released in order (everything applied is published). BF_OK also when the epoch
 *  is not ours any more: there is nothing to release then. */
bf_status_t bf_store_release_partition(bf_store_t *store, const char *topic,
                                       int32_t partition_no, int64_t epoch,
                                       bf_err_t *err) BF_MUST_USE;

#define BF_PROBLEM_MAX 513 /* bytes of the text, with its NUL */

typedef struct bf_partition_problem {
    char owner[129]; /* "" = there never was one */
    char text[BF_PROBLEM_MAX];
    int64_t wall_ms;
    bool is_over; /* somebody has worked on the partition since */
} bf_partition_problem_t;

/** Why the owner has stopped a partition, for those who look from outside; replaces what
 *  was noted before. Errors of the database. */
bf_status_t bf_store_note_problem(bf_store_t *store, const char *topic,
                                  int32_t partition_no, const char *owner,
                                  const char *text, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_store_read_problem(bf_store_t *store, const char *topic,
                                  int32_t partition_no, bf_partition_problem_t *ret,
                                  bf_err_t *err) BF_MUST_USE;

/* --- instances --- */

/**
 * Load many instances: SELECT ... WHERE instant_id IN (100 x ?).
 * @param ids   checked IDs without duplicates
 * @param ret   one entry an ID: a new instance (caller owns), or NULL: no such row
 */
bf_status_t bf_store_load_instances(bf_store_t *store, const char *const *ids,
                                    size_t count, bf_instance_t **ret,
                                    bf_err_t *err) BF_MUST_USE;

/* --- the batch --- */

typedef struct bf_offset_advance {
    const char *topic;
    int32_t partition_no;
    int64_t epoch;
    int64_t from; /* next_offset that the row must have */
    int64_t to;
} bf_offset_advance_t;

/* One row of bpm_flow_command: the outcome of one record of the command topic. Dead
 * letters and repeated commands have a row too (command_id NULL: not unique), so that
 * everything that must be published again after a crash stands in the database. */
typedef struct bf_command_row {
    const char *topic;
    int32_t partition_no;
    int64_t offset;
    const char *instance_id; /* NULL for a dead letter */
    const char *command_id;  /* NULL for a dead letter and for a repeated command */
    const char *command;     /* verb; "dead_letter" for one */
    const char *code;        /* "ok", "not_operable", ... */
    int32_t first_seq;       /* history rows of this command; 0 = none */
    int32_t last_seq;
    bf_text_t reply; /* bytes of the reply, or of the packed dead letter; NULL = none */
    const char *reply_topic; /* NULL = no reply */
    const char *traceparent; /* NULL = none */
    const char *tracestate;
    int64_t create_time_ms;
} bf_command_row_t;

typedef struct bf_batch_write {
    const bf_offset_advance_t *offsets;
    size_t offset_count;
    bf_instance_t *const *instances; /* dirty ones, each once; any order */
    size_t instance_count;
    const bf_history_t *history;
    size_t history_count;
    const bf_command_row_t *commands;
    size_t command_count;
} bf_batch_write_t;

/* What stood in the way; valid after a commit that failed. */
typedef struct bf_commit_report {
    /* BF_E_CONFLICT: instances whose row has another revision */
    const bf_instance_t *const *conflicts;
    size_t conflict_count;
    bool outcome_unknown; /* BF_E_STORE_LOST after COMMIT was sent */
} bf_commit_report_t;

/**
 * Write the batch in one transaction.  On any error the transaction is rolled back and
 * the instances stay dirty; on BF_OK they are marked stored.
 *
 * @return BF_OK; BF_E_FENCED (an offset row did not match: ownership is lost);
 *         BF_E_CONFLICT (revision guard; report names the instances);
 *         BF_E_DUPLICATE (a command_id exists already: bf_store_find_outcomes());
 *         BF_E_STORE_DATA (a row is refused: bisect); BF_E_STORE_RETRY (the same call
 *         again after a back-off); BF_E_STORE_LOST (reconnect; when outcome_unknown is
 * set ask bf_store_resolve_commit()); BF_E_STORE; BF_E_NOMEM
 */
bf_status_t bf_store_commit(bf_store_t *store, const bf_batch_write_t *batch,
                            bf_commit_report_t *report, bf_err_t *err) BF_MUST_USE;

/** After a lost COMMIT and a reconnect: reads the offset rows FOR UPDATE.
 *  @param ret_committed  true: the batch is applied (mark_stored is done); false: not
 *  @return BF_OK, BF_E_FENCED (epoch is not ours), errors of the database */
bf_status_t bf_store_resolve_commit(bf_store_t *store, const bf_batch_write_t *batch,
                                    bool *ret_committed, bf_err_t *err) BF_MUST_USE;

typedef struct bf_command_key {
    const char *instance_id;
    const char *command_id;
} bf_command_key_t;

/** First outcomes of commands: ret[i].command is NULL when there is none; texts live in
 *  the arena. */
bf_status_t bf_store_find_outcomes(bf_store_t *store, const bf_command_key_t *keys,
                                   size_t count, bf_arena_t *arena, bf_command_row_t *ret,
                                   bf_err_t *err) BF_MUST_USE;

/* --- reading back --- */

/* Offsets [from, to) of a partition. */
typedef struct bf_offset_range {
    const char *topic;
    int32_t partition_no;
    int64_t from;
    int64_t to;
} bf_offset_range_t;

/* One record that was applied: its outcome row and its history rows. Borrowed during the
 * call, which must not use the same store. Return other than BF_OK ends the scan with
 * that status. */
typedef bf_status_t (*bf_applied_fn)(void *arg, const bf_command_row_t *command,
                                     const bf_history_t *history, size_t history_count,
                                     bf_err_t *err);

/** What was applied in the range, in offset order, for publishing again. BF_OK;
 *  BF_E_NOT_FOUND (the partition was never claimed); BF_E_STORE_DATA (rows of history are
 *  gone); what the callback returns; errors of the database. */
bf_status_t bf_store_scan_applied(bf_store_t *store, const bf_offset_range_t *range,
                                  bf_applied_fn fn, void *arg, bf_err_t *err) BF_MUST_USE;

typedef bf_status_t (*bf_outcome_fn)(void *arg, const bf_command_row_t *command,
                                     bf_err_t *err);

/** The outcomes alone, for tools that look for damage: what bf_store_scan_applied()
 * refuses (rows of history that are gone) is no matter here. */
bf_status_t bf_store_scan_outcomes(bf_store_t *store, const bf_offset_range_t *range,
                                   bf_outcome_fn fn, void *arg,
                                   bf_err_t *err) BF_MUST_USE;

typedef bf_status_t (*bf_history_fn)(void *arg, const bf_history_t *row, bf_err_t *err);

/** History of one instance by seq, or (instance_id NULL) of all, ordered by instance and
 *  seq, read in pages: rows that are added meanwhile may or may not be seen, but never
 *  leave a gap. The callback must not use the same store. */
bf_status_t bf_store_scan_history(bf_store_t *store, const char *instance_id,
                                  bf_history_fn fn, void *arg, bf_err_t *err) BF_MUST_USE;

#endif /* BF_STORE_H */
