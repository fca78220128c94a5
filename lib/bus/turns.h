/*
 * turns.h - the partitions of a consumer take turns
 *
 * librdkafka puts what it fetches into one queue: a flood in one partition stands before
 * all that comes later in the others (up to queued.max.messages.kbytes, and a record
 * batch of its producer is fetched whole).  Here each partition keeps its own queue, with
 * a limit of its own, and bf_turns_next() says which one comes first.  A partition that
 * has records comes first after at most as many turns as there are other partitions.
 *
 * Threads:  the consumer's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TURNS_H
#define BF_TURNS_H

#include <librdkafka/rdkafka.h>

#include "bpmflow/consumer.h"

/* Zeroed: no partitions, all polls go to the handle. */
typedef struct bf_turns {
    rd_kafka_queue_t *common;  /* rebalances, errors; NULL while there are no queues */
    rd_kafka_queue_t **queues; /* of the partitions */
    size_t count;
    size_t at;  /* the partition whose turn it is */
    bool serve; /* the common queue has to be looked at */
} bf_turns_t;

/** The queues of these partitions instead of those before. Call it before they are
 *  assigned. BF_E_NOMEM; BF_E_BUS (err is set). */
bf_status_t bf_turns_set(bf_turns_t *turns, rd_kafka_t *rk,
                         const bf_topic_partition_t *partitions, size_t count,
                         bf_err_t *err) BF_MUST_USE;

/** No partitions; what they have fetched is dropped. Before the consumer is closed. */
void bf_turns_clear(bf_turns_t *turns);

/** It is the next partition's turn; rebalances are served by the next poll. */
void bf_turns_next(bf_turns_t *turns);

/** The next message: of the partition whose turn it is while it has any, then of those
 *  behind it. NULL: nothing came, or something was served meanwhile. */
rd_kafka_message_t *bf_turns_poll(bf_turns_t *turns, rd_kafka_t *rk, int timeout_ms);

#endif /* BF_TURNS_H */
