/*
 * turns.c - the partitions of a consumer take turns
 *
 * SPDX-License-Identifier: MIT
 */
#include "turns.h"

#include <stdlib.h>

#include "bpmflow/assert.h"

/* The poll waits at the common queue. Any thread of librdkafka, under the lock of the
 * partition's queue. */
static void on_records(rd_kafka_t *rk, void *opaque)
{
    (void)rk;
    rd_kafka_queue_yield(opaque);
}

static void drop_queue(rd_kafka_queue_t *queue)
{
    rd_kafka_message_t *message;
    rd_kafka_queue_cb_event_enable(queue, NULL, NULL);
    while ((message = rd_kafka_consume_queue(queue, 0)) != NULL) {
        rd_kafka_message_destroy(message);
    }
    rd_kafka_queue_destroy(queue);
}

void bf_turns_clear(bf_turns_t *turns)
{
    for (size_t i = 0; i < turns->count; i++) {
        drop_queue(turns->queues[i]);
    }
    free((void *)turns->queues);
    if (turns->common) {
        rd_kafka_queue_destroy(turns->common);
    }
    *turns = (bf_turns_t){.serve = true};
}

bf_status_t bf_turns_set(bf_turns_t *turns, rd_kafka_t *rk,
                         const bf_topic_partition_t *partitions, size_t count,
                         bf_err_t *err)
{
    bf_turns_clear(turns);
    if (count == 0) {
        return BF_OK;
    }
    turns->common = rd_kafka_queue_get_consumer(rk);
    turns->queues = calloc(count, sizeof(rd_kafka_queue_t *));
    if (!turns->common || !turns->queues) {
        bf_turns_clear(turns);
        return bf_err_nomem(err, "queues of partitions");
    }
    for (size_t i = 0; i < count; i++) {
        rd_kafka_queue_t *queue = rd_kafka_queue_get_partition(rk, partitions[i].topic,
                                                               partitions[i].partition);
        if (!queue) {
            bf_turns_clear(turns);
            return bf_err_set(
                err, BF_E_BUS,
                "the Kafka client has no queue for partition %d of '%s': it "
                "does not know the partition any more; the group is joined "
                "again",
                (int)partitions[i].partition, partitions[i].topic);
        }
        turns->queues[turns->count++] = queue;
        rd_kafka_queue_forward(queue, NULL); /* not into the common one */
        rd_kafka_queue_cb_event_enable(queue, on_records, turns->common);
    }
    return BF_OK;
}

void bf_turns_next(bf_turns_t *turns)
{
    turns->serve = true;
    if (turns->count > 0) {
        turns->at = (turns->at + 1) % turns->count;
    }
}

static rd_kafka_message_t *take(bf_turns_t *turns)
{
    for (size_t i = 0; i < turns->count; i++) {
        size_t at = (turns->at + i) % turns->count;
        rd_kafka_message_t *message = rd_kafka_consume_queue(turns->queues[at], 0);
        if (message) {
            turns->at = at;
            return message;
        }
    }
    return NULL;
}

rd_kafka_message_t *bf_turns_poll(bf_turns_t *turns, rd_kafka_t *rk, int timeout_ms)
{
    rd_kafka_message_t *message = NULL;
    if (turns->serve) {
        turns->serve = false;
        message = rd_kafka_consumer_poll(rk, 0);
    }
    /* Callbacks inside of a poll may have set other queues: they are looked at anew. */
    message = message ? message : take(turns);
    message = message ? message : rd_kafka_consumer_poll(rk, timeout_ms);
    return message ? message : take(turns);
}
