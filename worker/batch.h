/*
 * batch.h - the records that one database transaction applies
 *
 * A batch is collected, decoded, and then worked on as a whole: load, execute, commit,
 * hand over.  When the database refuses the data of a row, the batch is worked on in
 * halves; so everything after decoding works on a range of the batch.
 *
 * Memory:   commands, outcomes, rows and messages live in the arena of the batch.  A
 *           publication holds a reference, so that the messages stay until they are
 *           published; then the batch goes back to the pool of its shard.
 * Threads:  the shard's; _unref and the pool: any.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_BATCH_H
#define BF_BATCH_H

#include <stdatomic.h>

#include "bpmflow/codec.h"
#include "bpmflow/map.h"
#include "bpmflow/publisher.h"
#include "bpmflow/store.h"

struct bf_shard;

typedef struct bf_batch bf_batch_t;
typedef struct bf_batch_pool bf_batch_pool_t;

/* Smaller batches cost the database too much. */
#define BF_BATCH_LEAST 100

#define BF_NO_ITEM SIZE_MAX

/* One record and what becomes of it. */
typedef struct bf_item {
    bf_record_t record; /* handle NULL: given back already */
    int32_t partition;
    int64_t offset;
    bf_decoded_t decoded;
    bf_command_t command;   /* DEAD: only zeros */
    const char *code_error; /* REJECTED, DEAD, or `forced`: the sentence */
    bf_code_t decode_code;  /* REJECTED, DEAD */
    bf_code_t forced; /* not OK: this outcome is given without executing it (the database
                         refused it, it lost a conflict, its answer is too large) */
    /* A command that was applied before, in the database or in this range: */
    const bf_command_row_t *earlier; /* its first outcome; NULL = none */
    size_t first;                    /* index of its first in this range, or BF_NO_ITEM */
    bf_instance_t *inst; /* of the cache; borrowed while the range is worked on */
    /* results */
    bf_code_t code;
    int32_t first_seq;
    int32_t last_seq;
    const bf_history_t *history;
    size_t history_count;
    bf_text_t reply; /* bytes in the row and in the message; data NULL = none */
    const char *reply_topic;
    bf_message_t dead; /* DEAD */
} bf_item_t;

struct bf_batch {
    struct bf_shard *shard;
    bf_batch_pool_t *pool;
    bf_batch_t *next_free; /* in the pool */
    atomic_int refs;       /* the shard's own, and one a publication */
    bf_arena_t arena;
    bf_item_t *items;
    size_t count;
    size_t cap;
    size_t bytes;        /* of the records */
    int64_t now_wall_ms; /* stamps rows and messages */
    bool abandoned;      /* its partitions were taken away: do not commit */

    /* of the range that is worked on */
    size_t from;
    size_t to;
    bf_map_t *instances; /* ID -> bf_instance_t */
    bf_map_t *seen;      /* instance NUL command ID -> bf_item_t */
    bf_batch_write_t write;
    bf_publication_t *publication;
};

/** A pool that makes batches when it has none. NULL when out of memory. */
bf_batch_pool_t *bf_batch_pool_new(struct bf_shard *shard) BF_MUST_USE;
/** All batches must be back. */
void bf_batch_pool_free(bf_batch_pool_t *pool);
/** An empty batch with one reference; NULL when out of memory. */
bf_batch_t *bf_batch_take(bf_batch_pool_t *pool) BF_MUST_USE;
/** The last one gives it back to its pool. Any thread. */
void bf_batch_unref(bf_batch_t *batch);

/** Append a record (moves in). BF_E_NOMEM: the caller keeps it. */
bf_status_t bf_batch_add(bf_batch_t *batch, bf_record_t *record) BF_MUST_USE;
/**
 * How many commands the next batch may have, from what the last one took.  One that was
 * full and took longer than the target makes it smaller, one that took much less makes it
 * larger again.
 * @param limit      of the last batch; 0 = there was none
 * @param count      commands that it had
 * @param target_ms  0 = no bound
 * @return BF_BATCH_LEAST to max, or max where that is less
 */
size_t bf_batch_next_limit(size_t limit, size_t count, int64_t spent_ms,
                           int64_t target_ms, size_t max);

/** Poll until the batch is full, its time is over or the shard is ending. */
void bf_batch_collect(struct bf_shard *shard, bf_batch_t *batch);
/** How many commands the next one may have, by the memory that this one took: small
 *  commands may have large answers. */
void bf_batch_learn(struct bf_shard *shard, const bf_batch_t *batch);
/** Records to commands; the records are given back. */
bf_status_t bf_batch_decode(struct bf_shard *shard, bf_batch_t *batch,
                            bf_err_t *err) BF_MUST_USE;
/** Give back all records. */
void bf_batch_release_records(bf_batch_t *batch);

/** Set the range and find repeated commands in it. */
bf_status_t bf_batch_set_range(bf_batch_t *batch, size_t from, size_t to,
                               bf_err_t *err) BF_MUST_USE;
/** Instances of the range, from the cache or the database. */
bf_status_t bf_batch_load(struct bf_shard *shard, bf_batch_t *batch,
                          bf_err_t *err) BF_MUST_USE;
/** Forget the instances of the range: they are ahead of the database. */
void bf_batch_forget(struct bf_shard *shard, bf_batch_t *batch);
/** Look up which commands of the range were applied before.
 *  @param ret_found  how many are newly known */
bf_status_t bf_batch_find_earlier(struct bf_shard *shard, bf_batch_t *batch,
                                  size_t *ret_found, bf_err_t *err) BF_MUST_USE;

/** Run the commands of the range; makes the rows and the publication.
 *  @param ret_fits  false: messages would be too large; their commands are refused now
 *  (forced), and the range has to be forgotten, loaded and executed again */
bf_status_t bf_batch_execute(struct bf_shard *shard, bf_batch_t *batch, bool *ret_fits,
                             bf_err_t *err) BF_MUST_USE;

/** Work on all of the batch: every record of it is applied and handed over afterwards,
 *  or the session ends (see the shard), or the batch was abandoned. */
void bf_batch_process(struct bf_shard *shard, bf_batch_t *batch);

#endif /* BF_BATCH_H */
