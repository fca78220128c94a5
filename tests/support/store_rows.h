/*
 * store_rows.h - a store with one claimed partition, and rows to write with it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_STORE_ROWS_H
#define BF_TEST_STORE_ROWS_H

#include "bpmflow/store.h"
#include "tests/support/test_db.h"

#define ROWS_TOPIC "test.commands"
#define ROWS_TIME  INT64_C(1700000000123)

typedef struct rows {
    test_db_t db;
    bf_store_t *store;
    int64_t epoch;
    int64_t offset; /* next_offset of partition 0 */
    bf_arena_t arena;
    bf_err_t err; /* of the last call here */
} rows_t;

/** Database, store, partition 0 claimed at offset 100. */
void rows_begin(rows_t *rows);
void rows_end(rows_t *rows);

/** Claim a partition for a store; returns the epoch, fails the test on an error. */
int64_t rows_claim(bf_store_t *store, int32_t partition_no, const char *owner);

/** A new instance with one change: state, variable "n" = 1, touched. Caller frees. */
bf_instance_t *rows_instance(const char *id);
/** One more change: n = n + 1, one more history number. */
void rows_change(bf_instance_t *inst);
/** Value of n; -1 = not set. */
int64_t rows_n(bf_instance_t *inst);

/** History row number bf_instance_seq(), every column filled; texts live in the arena. */
bf_history_t rows_history(rows_t *rows, bf_instance_t *inst);
/** Outcome at an offset of partition 0, with the instance's last history row. */
bf_command_row_t rows_command(rows_t *rows, int64_t offset, bf_instance_t *inst,
                              const char *command_id);

/** bf_store_commit() of instances, with the offset of partition 0 moved on by one; on
 *  BF_OK rows->offset moves too. */
bf_status_t rows_commit(rows_t *rows, bf_instance_t *const *list, size_t count);
/** The same with all parts given; offsets are added. */
bf_status_t rows_commit_batch(rows_t *rows, bf_batch_write_t batch,
                              bf_commit_report_t *report);

/** Fails the test unless all columns are equal. */
void rows_expect_history(const bf_history_t *got, const bf_history_t *want);
void rows_expect_command(const bf_command_row_t *got, const bf_command_row_t *want);

#endif /* BF_TEST_STORE_ROWS_H */
