/*
 * consumer.h - the command consumer of a shard
 *
 * librdkafka's classic group protocol, eager assignor, manual offsets, read_committed,
 * auto.offset.reset=error.  Rebalance callbacks run inside bf_consumer_poll() (and
 * bf_consumer_close()) on the caller's thread.
 *
 * Threads:  one consumer = one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CONSUMER_H
#define BF_CONSUMER_H

#include "bpmflow/codec.h"

typedef struct bf_consumer bf_consumer_t;
typedef struct bf_group_metadata bf_group_metadata_t;

typedef struct bf_topic_partition {
    const char *topic;
    int32_t partition;
    int64_t offset; /* meaning depends on the call; -1 = none */
} bf_topic_partition_t;

/* A raw librdkafka property; unknown or bad ones make _new fail with its name. */
typedef struct bf_property {
    const char *name;
    const char *value;
} bf_property_t;

typedef struct bf_consumer_options {
    const char *brokers;
    const char *group;
    const char *topic;
    const char *client_id;
    const bf_property_t *properties; /* override the defaults */
    size_t property_count;
    int64_t session_timeout_ms; /* 0 = 10000 */
    /* The assignment: decide the offsets, then call bf_consumer_assign(). */
    void (*on_assign)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count);
    /* lost: somebody else may own them already. Afterwards they are unassigned. */
    void (*on_revoke)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count, bool lost);
    /* Log lines and errors of librdkafka (may be called on its threads). level: syslog */
    void (*on_log)(void *arg, int level, const char *facility, const char *text);
    void *arg;
} bf_consumer_options_t;

/** Create and subscribe. BF_E_INVALID (a property), BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_consumer_new(const bf_consumer_options_t *options, bf_consumer_t **ret,
                            bf_err_t *err) BF_MUST_USE;
/** Leave the group (runs on_revoke) and free. Blocks up to some seconds. */
void bf_consumer_close(bf_consumer_t *consumer);

/** Next record. BF_OK with a record (give back with bf_consumer_release()), BF_E_TIMEOUT,
 *  BF_E_BUS_RETRY (an error that passes by itself: err), BF_E_BUS (topic missing, offset
 *  out of range, authorisation: err says what to do; ret->topic/partition when one
 *  partition is concerned), BF_E_BUS_FATAL. */
bf_status_t bf_consumer_poll(bf_consumer_t *consumer, int64_t timeout_ms,
                             bf_record_t *ret, bf_err_t *err) BF_MUST_USE;
void bf_consumer_release(bf_record_t *record);

/** Answer to on_assign: start at these offsets. Partitions left out are not consumed. */
bf_status_t bf_consumer_assign(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err) BF_MUST_USE;
/** Offsets committed by the group; waits for pending transactions (read_committed). */
bf_status_t bf_consumer_committed(bf_consumer_t *consumer,
                                  bf_topic_partition_t *partitions, size_t count,
                                  int64_t timeout_ms, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_consumer_watermarks(bf_consumer_t *consumer, const char *topic,
                                   int32_t partition, int64_t timeout_ms,
                                   int64_t *ret_low, int64_t *ret_high,
                                   bf_err_t *err) BF_MUST_USE;
bf_status_t bf_consumer_pause(bf_consumer_t *consumer, bool paused,
                              bf_err_t *err) BF_MUST_USE;
/** Seek a paused or running partition back (records in flight of it are dropped). */
bf_status_t bf_consumer_seek(bf_consumer_t *consumer, const char *topic,
                             int32_t partition, int64_t offset,
                             bf_err_t *err) BF_MUST_USE;
/** Plain commit, for deliveries without transactions. */
bf_status_t bf_consumer_commit(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err) BF_MUST_USE;
/** Live metadata for send_offsets; owned by the caller. NULL when out of memory. */
bf_group_metadata_t *bf_consumer_group_metadata(bf_consumer_t *consumer) BF_MUST_USE;
void bf_group_metadata_free(bf_group_metadata_t *metadata);
/** Partitions of a topic; BF_E_NOT_FOUND: the topic does not exist (err says how to make
 *  it). ret_topic_id: Kafka's topic UUID or "" when the client library cannot tell. */
bf_status_t bf_consumer_topic(bf_consumer_t *consumer, const char *topic,
                              int64_t timeout_ms, int32_t *ret_partitions,
                              char ret_topic_id[65], bf_err_t *err) BF_MUST_USE;

#endif /* BF_CONSUMER_H */
