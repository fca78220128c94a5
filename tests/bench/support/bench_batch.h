/*
 * bench_batch.h - batches as a shard writes them, made up
 *
 * One instance upsert, one history row and one outcome a command, one offset row a batch.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_BENCH_BATCH_H
#define BF_TESTS_BENCH_BATCH_H

#include "bpmflow/store.h"
#include "tests/bench/support/bench_db.h"

typedef struct bench_batch {
    int64_t size;       /* commands; set before open */
    int64_t vars_bytes; /* of one variable of each instance; set before open */
    bf_store_t *store;
    bf_instance_t **changed; /* size instances, each once: the caller's */
    int64_t epoch;
    int64_t offset;
    /* arrays of one batch */
    bf_history_t *history;
    bf_command_row_t *commands;
    char (*command_ids)[40];
    char *vars_text;
} bench_batch_t;

void bench_batch_open(bench_batch_t *b, const bench_db_t *db);
void bench_batch_close(bench_batch_t *b);

/** What a submit does to its instance, in short. */
void bench_batch_change(const bench_batch_t *b, bf_instance_t *inst, int64_t now_ms);

/** Change the instances and write the batch; returns the time of bf_store_commit(). */
int64_t bench_batch_commit(bench_batch_t *b);

#endif /* BF_TESTS_BENCH_BATCH_H */
