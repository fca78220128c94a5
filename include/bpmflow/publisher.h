/*
 * publisher.h - publishes committed batches on a thread of its own
 *
 * One publisher per shard: a bounded queue of publications and one producer.
 *
 * Delivery `transactional`: what is queued, one publication or several in their order, is
 * one Kafka transaction of their messages and the consumer offsets.  Whatever fails, the
 * same publication is tried again, in order, never skipped: after an error that asks for
 * it the transaction is aborted; after any other error the producer is replaced (its
 * init_transactions ends what the old one left open, one way or the other), and then the
 * group's committed offsets say whether the publication went through: they moved in the
 * same transaction.  So nothing is published twice for read_committed readers and nothing
 * is left out.
 *
 * Delivery `idempotent`: messages are produced and acknowledged, then the offsets are
 * committed by the consumer.  After a crash in between they are published again.  With
 * bf_publisher_early() they are produced at once, without waiting for those before.
 *
 * What ends it: BF_E_FENCED.  Either somebody else uses the transactional.id (a second
 * worker with the same worker.id, or a new owner of our partitions that ended our
 * transaction), or the group has gone on without us (our generation or membership is not
 * valid any more).  What is queued stays unpublished; the next owner finds it in [K, D).
 * Go on polling the consumer: when the partitions are revoked as lost, call
 * bf_publisher_discard() and everything works again (with a new producer where needed);
 * when no revocation comes within the session time-out, it is a second worker with our
 * name: stop and say so.
 *
 * Threads:  _submit, _drain, _state, _discard from the shard thread; callbacks run on the
 *           publisher's thread, outside of its lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PUBLISHER_H
#define BF_PUBLISHER_H

#include "bpmflow/consumer.h"

typedef struct bf_publisher bf_publisher_t;

typedef enum { BF_DELIVERY_TRANSACTIONAL, BF_DELIVERY_IDEMPOTENT } bf_delivery_t;

/* One committed batch. The struct is copied by submit; what it points to is owned by the
 * queue then, until release is called (on the publisher's thread, or on the caller's in
 * _discard and _free). */
typedef struct bf_publication {
    const bf_message_t *messages;
    size_t message_count;
    const bf_topic_partition_t *offsets; /* next offsets to commit */
    size_t offset_count;
    bf_group_metadata_t *group; /* moves in; NULL: no offsets are sent (and when the
                                   outcome of a transaction is unknown, it is repeated) */
    int64_t submitted_mono_ns;  /* for the metric */
    void (*release)(void *owner);
    void *owner;
    size_t early; /* of bf_publisher_early(); 0 = all messages are still to be sent */
} bf_publication_t;

typedef struct bf_publisher_options {
    const char *brokers;
    const char *client_id;
    const char *transactional_id; /* required for transactional */
    const char *group;            /* required for transactional: whose offsets are read */
    bf_delivery_t delivery;
    size_t queue_depth; /* that may wait behind those in work; 0 = 2 */
    bool early;         /* bf_publisher_early() sends what is marked; it always sends
                           everything when delivery is idempotent */
    /* With early messages: between the beginnings of two publications, unless the queue
     * is full or is drained. 0 = none */
    int64_t linger_ms;
    const bf_property_t *properties;
    size_t property_count;
    int64_t transaction_timeout_ms; /* 0 = 15000 */
    /* Topics that will be written to: they must exist, and their metadata is fetched
     * before the first message needs it. */
    const char *const *topics;
    size_t topic_count;
    /* Idempotent delivery: commits the offsets (librdkafka is thread-safe there); must
     * outlive the publisher. NULL: offsets are not committed. */
    bf_consumer_t *consumer;
    /* After each publication. Publisher's thread. */
    void (*on_published)(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns);
    /* Trouble that is being retried, each time (the text ends with what happens next), or
     * (final) that ended the publisher until _discard. Publisher's thread. */
    void (*on_error)(void *arg, bf_status_t status, const char *text, bool final);
    /* Log lines of librdkafka; may be called on its threads. level: syslog */
    void (*on_log)(void *arg, int level, const char *facility, const char *text);
    void *arg;
} bf_publisher_options_t;

/** Create the producer, init_transactions (aborts what an earlier life left open), start
 *  the thread. Texts are copied. Blocks until the broker answers.
 *  @return BF_E_TIMEOUT (no broker within timeout_ms), BF_E_NOT_FOUND (a topic),
 *          BF_E_INVALID (a property), BF_E_BUS (refused: authorisation, ...), BF_E_NOMEM;
 *          err says what to do */
bf_status_t bf_publisher_new(const bf_publisher_options_t *options, int64_t timeout_ms,
                             bf_publisher_t **ret, bf_err_t *err) BF_MUST_USE;

/** Largest message that the producer takes (bf_message_bytes() of it). What is larger has
 *  to be refused before it is committed to the database. */
size_t bf_publisher_max_message_bytes(const bf_publisher_t *publisher);

/** Send the messages that are marked early (delivery idempotent: all) now, by a plain
 *  idempotent producer; call it once, before _submit.  They are acknowledged before the
 * offsets of the publication move, so none is lost; after a crash in between they are
 * sent again.  Does not wait for the broker.  Whatever cannot be sent early goes with the
 * rest: an error is only for the log. */
bf_status_t bf_publisher_early(bf_publisher_t *publisher, bf_publication_t *publication,
                               bf_err_t *err) BF_MUST_USE;

/** Hand over a batch; waits while the queue is full, at most timeout_ms.
 *  @return BF_OK: it is the queue's now.  In all other cases the caller keeps it:
 *          BF_E_TIMEOUT (call again), BF_E_LIMIT (a message is larger than allowed),
 *          BF_E_FENCED (see above) */
bf_status_t bf_publisher_submit(bf_publisher_t *publisher,
                                const bf_publication_t *publication, int64_t timeout_ms,
                                bf_err_t *err) BF_MUST_USE;

/** A transaction has begun and its commit is not asked for yet: what is submitted now
 *  waits for most of it, so that collecting more first costs no time.  Any thread. */
bool bf_publisher_is_filling(const bf_publisher_t *publisher);

/** Wait until everything submitted is published. BF_E_TIMEOUT (err: the last trouble),
 *  BF_E_FENCED. */
bf_status_t bf_publisher_drain(bf_publisher_t *publisher, int64_t timeout_ms,
                               bf_err_t *err) BF_MUST_USE;

/** BF_OK while it works; else what ended it. */
bf_status_t bf_publisher_state(bf_publisher_t *publisher, bf_err_t *err) BF_MUST_USE;

/** Publications queued or in work. */
size_t bf_publisher_pending(bf_publisher_t *publisher);

/** Forget what is queued (ownership lost), abort the open transaction, and be ready
 *  again. Blocks until the publication in work is dropped (some seconds at most). */
void bf_publisher_discard(bf_publisher_t *publisher);

/** Stop the thread and free. The publication in work is given some seconds; what is
 *  queued behind it is released unpublished (call _drain before). NULL is allowed. */
void bf_publisher_free(bf_publisher_t *publisher);

/** Fence a dead owner: one init_transactions with its transactional.id, which aborts its
 *  hanging transaction now. Blocks up to timeout_ms.
 *  @param options  brokers, properties, on_log; the rest is not used */
bf_status_t bf_publisher_fence(const bf_publisher_options_t *options,
                               const char *transactional_id, int64_t timeout_ms,
                               bf_err_t *err) BF_MUST_USE;

#endif /* BF_PUBLISHER_H */
