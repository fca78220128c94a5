/*
 * shard.h - one worker thread with everything it owns
 *
 * A consumer, a database connection, an instance cache and an engine on the shard's
 * thread; beside it the publisher with a thread of its own.  A shard works in sessions:
 * a session ends when the shard is fenced or its clients are beyond repair, and the next
 * one starts from what the database says.  Nothing is lost by that: what is committed
 * there and not published is found by the next owner.
 *
 * Threads:  _new, _start, _join, _free: main.  _is_ready, _totals: any.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_SHARD_H
#define BF_SHARD_H

#include "worker/worker.h"

bf_status_t bf_shard_new(bf_worker_t *worker, int index, bf_shard_t **ret,
                         bf_err_t *err) BF_MUST_USE;
void bf_shard_free(bf_shard_t *shard);

bf_status_t bf_shard_start(bf_shard_t *shard, bf_err_t *err) BF_MUST_USE;
/** Wait for its end. @return false: it ended with an error that ends the process */
bool bf_shard_join(bf_shard_t *shard);

/** @param ret_reason why it cannot work; "" when it is ready */
bool bf_shard_is_ready(bf_shard_t *shard, char ret_reason[256]);

/* X(name): counters of a shard, for the line of statistics. */
#define BF_SHARD_COUNT_LIST(X)                                                           \
    X(records)                                                                           \
    X(accepted)                                                                          \
    X(rejected)                                                                          \
    X(duplicates)                                                                        \
    X(dead_letters)                                                                      \
    X(batches)                                                                           \
    X(published)                                                                         \
    X(retries)                                                                           \
    X(conflicts)

/* X(name): stages of a batch, whose time is measured. */
#define BF_SHARD_STAGE_LIST(X)                                                           \
    X(poll)                                                                              \
    X(decode)                                                                            \
    X(load)                                                                              \
    X(execute)                                                                           \
    X(commit)                                                                            \
    X(hand_over)                                                                         \
    X(publish)

typedef struct bf_shard_totals {
#define X(name) int64_t name;
    BF_SHARD_COUNT_LIST(X)
#undef X
#define X(name) int64_t name##_ns;
    BF_SHARD_STAGE_LIST(X)
#undef X
    int64_t partitions;
    int64_t lag;
    int64_t cached;
} bf_shard_totals_t;

/** Adds the shard's numbers to ret. */
void bf_shard_add_totals(const bf_shard_t *shard, bf_shard_totals_t *ret);

#endif /* BF_SHARD_H */
