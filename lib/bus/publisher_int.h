/*
 * publisher_int.h - the publisher's inside: queue and thread, producer, deliveries
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PUBLISHER_INT_H
#define BF_PUBLISHER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpmflow/fault.h"
#include "bpmflow/publisher.h"
#include "bus_int.h"

/* --- the producer: one librdkafka handle with its topic handles --- */

typedef struct bf_producer_topic {
    char *name;
    rd_kafka_topic_t *handle;
} bf_producer_topic_t;

/* The first message of a publication that the broker did not take. */
typedef struct bf_producer_failure {
    rd_kafka_resp_err_t code; /* NO_ERROR = none */
    size_t index;             /* lowest index of a message that failed */
    size_t bytes;
    char topic[BF_TOPIC_NAME_MAX + 1];
} bf_producer_failure_t;

/* How to make the handle; texts are borrowed. */
typedef struct bf_producer_setup {
    const char *client_id;
    const char *transactional_id; /* NULL = idempotent only */
    const bf_property_t *properties;
    size_t property_count;
    int64_t transaction_timeout_ms;
    const char *linger_ms; /* NULL = librdkafka's default; flushes do not wait for it */
} bf_producer_setup_t;

typedef struct bf_producer bf_producer_t;
struct bf_producer {
    bf_bus_context_t context; /* context.owner is this producer */
    bf_producer_setup_t setup;
    /* Asked between the slices of a call that may take long: true = give up. */
    bool (*stop)(void *arg);
    void *stop_arg;
    rd_kafka_t *rk; /* NULL = to be made */
    bf_producer_topic_t *topics;
    size_t topic_count;
    bf_producer_failure_t failure;
    int64_t began_mono_ms; /* begin_transaction */
    atomic_bool filling;   /* from there to the moment when the commit is asked for */
    /* Told of each delivery instead of `failure`; NULL = none. */
    void (*delivered)(bf_producer_t *producer, size_t index, bool failed);
    void *delivered_arg;
};

/** Make the handle and (transactional) init_transactions. BF_E_TIMEOUT, BF_E_CANCELLED,
 *  BF_E_INVALID, BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_producer_open(bf_producer_t *producer, int64_t timeout_ms,
                             bf_err_t *err) BF_MUST_USE;

/** Destroy the handle; what it has not delivered is dropped. */
void bf_producer_drop(bf_producer_t *producer);

/** Produce messages from index `from`; waits while librdkafka's queue is full.
 *  BF_E_CANCELLED, BF_E_BUS_ABORT, BF_E_NOMEM. */
bf_status_t bf_producer_send(bf_producer_t *producer, const bf_publication_t *publication,
                             size_t from, bf_err_t *err) BF_MUST_USE;

/** One message; index: what failure.index will be when it is not delivered. */
bf_status_t bf_producer_send_one(bf_producer_t *producer, const bf_message_t *message,
                                 size_t index, bf_err_t *err) BF_MUST_USE;

/** The sentence for the failure that was reported. */
bf_status_t bf_producer_explain(const bf_producer_t *producer, bf_status_t status,
                                bf_err_t *err);

/** message.max.bytes of an open handle. */
size_t bf_producer_max_message_bytes(const bf_producer_t *producer);

/* --- one attempt to publish --- */

typedef struct bf_delivery_state {
    bool unknown;     /* the outcome of an earlier attempt is not known */
    size_t delivered; /* idempotent: messages before this one are acknowledged */
} bf_delivery_state_t;

/**
 * @return BF_OK: published; BF_E_CANCELLED: stop() said so; BF_E_FENCED; everything else:
 *         try again
 */
bf_status_t bf_publisher_attempt_transaction(bf_producer_t *producer, const char *group,
                                             const bf_publication_t *publication,
                                             bf_delivery_state_t *state,
                                             bf_err_t *err) BF_MUST_USE;
bf_status_t bf_publisher_attempt_plain(bf_producer_t *producer, bf_consumer_t *consumer,
                                       const bf_publication_t *publication,
                                       bf_delivery_state_t *state,
                                       bf_err_t *err) BF_MUST_USE;

/* --- messages that do not wait for the transaction: publisher_early.c --- */

#define BF_EARLY_SLOTS 64

/* Of one publication that has sent early messages. */
typedef struct bf_early_slot {
    atomic_bool used;      /* shard sets, publisher's thread clears */
    atomic_size_t waiting; /* messages without an acknowledgement */
    atomic_bool failed;    /* they go with the rest */
} bf_early_slot_t;

typedef struct bf_early {
    bool on;  /* set before the thread starts */
    bool all; /* likewise: every message goes early, and order matters */
    /* all: something did not go early; nothing may overtake it. */
    atomic_bool blocked;
    /* all: one was refused after those behind it had left; they go again, behind it.  Set
     * by the publisher's thread, cleared like `blocked` when nothing is pending. */
    atomic_bool again;
    /* Opened and written to by the shard's thread, polled by the publisher's while it is
     * busy with a publication, dropped while it is not. */
    bf_producer_t producer;
    bf_early_slot_t slots[BF_EARLY_SLOTS];
} bf_early_t;

/** @param all  every message is early, whatever its mark says */
void bf_early_init(bf_early_t *early, const bf_producer_t *like, bool all);
/** This message does not wait for the rest of its publication. */
bool bf_early_includes(const bf_early_t *early, const bf_message_t *message);
/** Shard's thread. An error: they go with the rest.
 *  @param pending  publications that are queued or in work */
bf_status_t bf_early_send(bf_early_t *early, bf_publication_t *publication,
                          size_t pending, bf_err_t *err) BF_MUST_USE;
/** Publisher's thread: until all are acknowledged or failed; false: not in time. */
bool bf_early_wait(bf_early_t *early, const bf_publication_t *publication,
                   int64_t timeout_ms) BF_MUST_USE;
/** Its early messages have arrived and need not be sent again. */
bool bf_early_is_done(const bf_early_t *early, const bf_publication_t *publication);
/** all: what goes with the rest now has to be followed again by what is behind it. */
void bf_early_repeat_from(bf_early_t *early, const bf_publication_t *publication);
/** all: this publication goes through the queue, nothing may overtake it. Shard's thread.
 */
void bf_early_passed_by(bf_early_t *early, const bf_publication_t *publication);
/** The publication is published. */
void bf_early_finish(bf_early_t *early, const bf_publication_t *publication);
/** Forget what is on its way. The publisher's thread must not be busy. */
void bf_early_drop(bf_early_t *early);

/* --- several publications as one: publisher_merge.c --- */

#define BF_MERGE_MAX_MESSAGES 8000

typedef struct bf_merge {
    bf_publication_t publication; /* messages, offsets and group only */
    bf_message_t *messages;
    bf_topic_partition_t *offsets;
} bf_merge_t;

/** How many of the publications, from the first one on, go into one. At least 1. */
size_t bf_merge_count(const bf_publication_t *items, size_t count);
/** Borrows from the publications. BF_E_NOMEM. */
bf_status_t bf_merge_make(bf_merge_t *merge, bf_early_t *early,
                          const bf_publication_t *items, size_t count,
                          bf_err_t *err) BF_MUST_USE;
void bf_merge_free(bf_merge_t *merge);

#endif /* BF_PUBLISHER_INT_H */
