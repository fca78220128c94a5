/*
 * reader.h - reads a topic from its beginning or its end, for tools
 *
 * No group: all partitions, nothing is committed, nobody is disturbed.  read_committed by
 * default: what a transaction left open or aborted is not seen.  The end is what the
 * topic held when it was opened (bf_reader_at_end()), so that a reader of a live topic
 * comes to an end.
 *
 * Threads:  one reader = one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_READER_H
#define BF_READER_H

#include "bpmflow/consumer.h"

typedef struct bf_reader bf_reader_t;

typedef enum {
    BF_READER_BEGINNING,
    BF_READER_END /* only what comes after opening */
} bf_reader_from_t;

typedef struct bf_reader_options {
    const char *brokers;
    const char *topic;
    const char *client_id; /* NULL = "bpmflow-reader" */
    const char *group;     /* for bf_reader_committed(); never joined; NULL = none */
    bf_reader_from_t from;
    bool read_uncommitted;
    bool without_headers; /* records come without headers: faster */
    /* Only this partition, from this offset (then `from` is not used). */
    bool one_partition;
    int32_t partition;
    int64_t offset;
    const bf_property_t *properties;
    size_t property_count;
} bf_reader_options_t;

/** What a partition held when the reader was opened. */
typedef struct bf_reader_range {
    int64_t low;  /* first offset that is still there */
    int64_t high; /* offset after the last one that may be read */
} bf_reader_range_t;

/**
 * Connect and find the partitions and their ends.
 * @return BF_OK; BF_E_INVALID (a property, a partition that does not exist);
 *         BF_E_NOT_FOUND (no such topic: err says how to make it); BF_E_TIMEOUT (no
 *         broker answers); BF_E_BUS; BF_E_NOMEM
 *
 * Blocks: up to timeout_ms.
 */
bf_status_t bf_reader_open(const bf_reader_options_t *options, int64_t timeout_ms,
                           bf_reader_t **ret, bf_err_t *err) BF_MUST_USE;
/** NULL is allowed. */
void bf_reader_close(bf_reader_t *reader);

/** Next record of any partition, each partition in order. Give it back with
 *  bf_reader_release(). BF_E_TIMEOUT: nothing within timeout_ms (or the end was reached
 *  meanwhile); BF_E_BUS_RETRY (passes by itself); BF_E_BUS. */
bf_status_t bf_reader_next(bf_reader_t *reader, int64_t timeout_ms, bf_record_t *ret,
                           bf_err_t *err) BF_MUST_USE;

void bf_reader_release(bf_record_t *record);

/** True when everything that the topic held at opening has been returned. */
bool bf_reader_at_end(const bf_reader_t *reader);

/** Offset that the group has committed in a partition, -1 = none. With read_committed it
 *  waits for pending transactions: BF_E_TIMEOUT when one stays open; BF_E_BUS. */
bf_status_t bf_reader_committed(bf_reader_t *reader, int32_t partition,
                                int64_t timeout_ms, int64_t *ret,
                                bf_err_t *err) BF_MUST_USE;

int32_t bf_reader_partition_count(const bf_reader_t *reader);
bf_reader_range_t bf_reader_range(const bf_reader_t *reader, int32_t partition);

#endif /* BF_READER_H */
