/*
 * publisher.h - publishes committed batches on a thread of its own
 *
 * One publisher per shard: a bounded queue of publications and one producer.  Delivery
 * `transactional`: each publication is one Kafka transaction of its messages and the
 * consumer offsets; after a failure the same publication is tried again (abort, or a new
 * producer when the outcome is unknown), never skipped, never reordered.  Delivery
 * `idempotent`: messages are produced, acknowledged, then the offsets are committed.
 *
 * Threads:  _submit, _drain, _state from the shard thread; the callbacks run on the
 *           publisher's thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PUBLISHER_H
#define BF_PUBLISHER_H

#include "bpmflow/consumer.h"

typedef struct bf_publisher bf_publisher_t;

typedef enum { BF_DELIVERY_TRANSACTIONAL, BF_DELIVERY_IDEMPOTENT } bf_delivery_t;

/* One committed batch. Owned by the queue after submit; freed by its release callback. */
typedef struct bf_publication {
    const bf_message_t *messages;
    size_t message_count;
    const bf_topic_partition_t *offsets; /* next offsets to commit */
    size_t offset_count;
    bf_group_metadata_t *group; /* moves in; NULL: no offsets are sent */
    int64_t submitted_mono_ns;  /* for the metric */
    void (*release)(void *owner);
    void *owner;
} bf_publication_t;

typedef struct bf_publisher_options {
    const char *brokers;
    const char *client_id;
    const char *transactional_id; /* required for transactional */
    bf_delivery_t delivery;
    size_t queue_depth; /* 0 = 2 */
    const bf_property_t *properties;
    size_t property_count;
    int64_t transaction_timeout_ms; /* 0 = 15000 */
    /* After each publication. Publisher's thread. */
    void (*on_published)(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns);
    /* Trouble that is being retried (retriable) or that ends the publisher. */
    void (*on_error)(void *arg, bf_status_t status, const char *text, bool final);
    void (*on_log)(void *arg, int level, const char *facility, const char *text);
    void *arg;
} bf_publisher_options_t;

/** Create the producer, init_transactions (aborts what an earlier life left open), start
 *  the thread. Blocks until the broker answers or timeout_ms is over (BF_E_TIMEOUT). */
bf_status_t bf_publisher_new(const bf_publisher_options_t *options, int64_t timeout_ms,
                             bf_publisher_t **ret, bf_err_t *err) BF_MUST_USE;

/** Hand over a batch; waits while the queue is full, at most timeout_ms (BF_E_TIMEOUT:
 *  the caller keeps it and may call again). BF_E_BUS_FATAL / BF_E_FENCED: the publisher
 * has ended; what is queued was not published and will be found in [K, D) by the next
 * owner. */
bf_status_t bf_publisher_submit(bf_publisher_t *publisher, bf_publication_t *publication,
                                int64_t timeout_ms, bf_err_t *err) BF_MUST_USE;

/** Wait until everything submitted is published. BF_E_TIMEOUT, BF_E_FENCED, ... */
bf_status_t bf_publisher_drain(bf_publisher_t *publisher, int64_t timeout_ms,
                               bf_err_t *err) BF_MUST_USE;

/** BF_OK while it works; else what ended it. */
bf_status_t bf_publisher_state(bf_publisher_t *publisher, bf_err_t *err) BF_MUST_USE;

/** Forget what is queued (ownership lost), abort the open transaction. */
void bf_publisher_discard(bf_publisher_t *publisher);

/** Stop the thread (finishing nothing beyond the current publication) and free. */
void bf_publisher_free(bf_publisher_t *publisher);

/** Fence a dead owner: one init_transactions with its transactional.id, which aborts its
 *  hanging transaction now. Blocks up to timeout_ms. */
bf_status_t bf_publisher_fence(const bf_publisher_options_t *options,
                               const char *transactional_id, int64_t timeout_ms,
                               bf_err_t *err) BF_MUST_USE;

#endif /* BF_PUBLISHER_H */
