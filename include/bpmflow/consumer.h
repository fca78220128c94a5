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

/* A raw librdkafka property. What the guarantees stand on (enable.auto.commit,
 * isolation.level, partitioner, transactional.id, ...) cannot be set: bf_property_check()
 * refuses it. */
typedef struct bf_property {
    const char *name;
    const char *value;
} bf_property_t;

/** Check one for consumers (producer = false) or producers. BF_E_INVALID names it and
 * says why; BF_E_NOMEM. */
bf_status_t bf_property_check(const bf_property_t *property, bool producer,
                              bf_err_t *err) BF_MUST_USE;

typedef struct bf_consumer_options {
    const char *brokers;
    const char *group;
    const char *topic;
    const char *client_id;
    const bf_property_t *properties; /* override the defaults */
    size_t property_count;
    int64_t session_timeout_ms; /* 0 = 10000 */
    /* The assignment: decide the offsets, then call bf_consumer_assign(), here or later
     * (until then nothing is consumed, and the group is content). */
    void (*on_assign)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count);
    /* lost: somebody else may own them already. Afterwards they are unassigned. */
    void (*on_revoke)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count, bool lost);
    /* Log lines of librdkafka (may be called on its threads). level: syslog */
    void (*on_log)(void *arg, int level, const char *facility, const char *text);
    void *arg;
} bf_consumer_options_t;

/** Create and subscribe; texts are copied. Does not wait for the broker. BF_E_INVALID (a
 *  property), BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_consumer_new(const bf_consumer_options_t *options, bf_consumer_t **ret,
                            bf_err_t *err) BF_MUST_USE;
/** Leave the group (runs on_revoke) and free. Every record must be released before.
 *  Blocks up to some seconds. NULL is allowed. */
void bf_consumer_close(bf_consumer_t *consumer);

/**
 * Next record.
 * @param ret  BF_OK: the record, give back with bf_consumer_release(); BF_E_BUS: topic
 * and partition (-1 = not about one), nothing to release
 * @return BF_OK; BF_E_TIMEOUT (nothing came; err is not touched); BF_E_BUS_RETRY (passes
 *         by itself: broker away, ...); BF_E_BUS (topic missing, offset out of range,
 *         authorisation: err says what to do; go on polling, librdkafka tries again);
 *         BF_E_BUS_FATAL (close it and make a new one)
 */
bf_status_t bf_consumer_poll(bf_consumer_t *consumer, int64_t timeout_ms,
                             bf_record_t *ret, bf_err_t *err) BF_MUST_USE;
void bf_consumer_release(bf_record_t *record);

/** The records of the partition behind the one that came last come first from here on, as
 *  many as are fetched; then those of the others. Call it for each batch, and a flood in
 *  one partition holds up another for as many batches as there are other partitions, at
 *  most. */
void bf_consumer_next_turn(bf_consumer_t *consumer);

/** Answer to on_assign: start at these offsets. Partitions left out are not consumed.
 *  Replaces what was assigned before. */
bf_status_t bf_consumer_assign(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err) BF_MUST_USE;
/** Offsets committed by the group, -1 = none; waits for pending transactions
 *  (read_committed). BF_E_TIMEOUT: the broker is away, or a transaction is still pending
 *  (end it with bf_publisher_fence()); BF_E_BUS. */
bf_status_t bf_consumer_committed(bf_consumer_t *consumer,
                                  bf_topic_partition_t *partitions, size_t count,
                                  int64_t timeout_ms, bf_err_t *err) BF_MUST_USE;
/** First offset that is kept, and the next one to be written (as far as readers of
 *  committed data may read). */
bf_status_t bf_consumer_watermarks(bf_consumer_t *consumer, const char *topic,
                                   int32_t partition, int64_t timeout_ms,
                                   int64_t *ret_low, int64_t *ret_high,
                                   bf_err_t *err) BF_MUST_USE;
/** The high watermark of the last fetch, without asking: for lag metrics. -1 = not known
 *  yet. */
int64_t bf_consumer_cached_high(bf_consumer_t *consumer, const char *topic,
                                int32_t partition);
/** All partitions of the assignment. Go on polling while paused: it keeps the membership;
 *  no records come. */
bf_status_t bf_consumer_pause(bf_consumer_t *consumer, bool paused,
                              bf_err_t *err) BF_MUST_USE;
/** Seek a paused or running partition (records of it that were fetched already are
 *  dropped). BF_E_BUS_RETRY: it has just been assigned; poll and call again. */
bf_status_t bf_consumer_seek(bf_consumer_t *consumer, const char *topic,
                             int32_t partition, int64_t offset,
                             bf_err_t *err) BF_MUST_USE;
/** Plain commit, for deliveries without transactions. Any thread. BF_E_FENCED: the group
 *  has gone on without us; BF_E_BUS_RETRY; BF_E_BUS. */
bf_status_t bf_consumer_commit(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err) BF_MUST_USE;
/** Live metadata for send_offsets; owned by the caller. NULL when out of memory. Take it
 *  on the consumer's thread while the partitions are ours. */
bf_group_metadata_t *bf_consumer_group_metadata(bf_consumer_t *consumer) BF_MUST_USE;
void bf_group_metadata_free(bf_group_metadata_t *metadata);
/** Partitions of a topic; BF_E_NOT_FOUND: the topic does not exist (err says how to make
 *  it); BF_E_TIMEOUT; BF_E_BUS. ret_topic_id: Kafka's topic UUID, 22 characters as
 * Kafka's tools print it, or "" when it is not known: from the embedded broker, from
 * Kafka before 3.1, and with librdkafka before 2.3 over TLS or SASL (there it is asked
 * for by a request of our own on a plain connection). */
bf_status_t bf_consumer_topic(bf_consumer_t *consumer, const char *topic,
                              int64_t timeout_ms, int32_t *ret_partitions,
                              char ret_topic_id[65], bf_err_t *err) BF_MUST_USE;

#endif /* BF_CONSUMER_H */
