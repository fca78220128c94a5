/*
 * bus_int.h - what consumer, publisher and client share: properties, logs, errors
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_BUS_INT_H
#define BF_BUS_INT_H

#include <librdkafka/rdkafka.h>

#include "bpmflow/consumer.h"

#define BF_BUS_TEXT_MAX 256

/* The opaque of a handle: what its callbacks need. Fill before bf_bus_new(). */
typedef struct bf_bus_context {
    void (*on_log)(void *arg, int level, const char *facility, const char *text);
    void *arg;
    void *owner; /* the consumer, publisher or client */
    const char *brokers;
    /* last error event, for the next poll; only the thread that polls touches it */
    rd_kafka_resp_err_t event;
    char event_text[BF_BUS_TEXT_MAX];
} bf_bus_context_t;

typedef struct bf_bus_setup {
    bf_bus_context_t *context; /* must outlive the handle */
    bool producer;
    const char *client_id; /* NULL = librdkafka's default */
    const bf_property_t *defaults;
    size_t default_count;
    const bf_property_t *properties; /* of the user: override the defaults */
    size_t property_count;
    /* For callbacks that are not the common ones. May be NULL. */
    void (*configure)(rd_kafka_conf_t *conf);
} bf_bus_setup_t;

/** A handle with the common properties, log and error callbacks. BF_E_INVALID (a
 *  property), BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_bus_new(const bf_bus_setup_t *setup, rd_kafka_t **ret,
                       bf_err_t *err) BF_MUST_USE;

/** The status that a code means, and whether waiting helps. */
bf_status_t bf_bus_status(rd_kafka_resp_err_t code);

/** True: the group does not know our generation or membership any more. */
bool bf_bus_is_stale(rd_kafka_resp_err_t code);

/** True: somebody else uses our transactional.id (or the broker timed us out). */
bool bf_bus_is_fenced(rd_kafka_resp_err_t code);

/**
 * Set err to "<what>: <error>; <remedy>".
 * @param status  what to return
 * @param detail  text of librdkafka; NULL = the code's own
 */
bf_status_t bf_bus_fail(bf_err_t *err, bf_status_t status, rd_kafka_resp_err_t code,
                        const char *detail, const char *what, ...) BF_PRINTF(5, 6);

/** As bf_bus_fail(), from an error object, which is destroyed. */
bf_status_t bf_bus_fail_error(bf_err_t *err, bf_status_t status, rd_kafka_error_t *error,
                              const char *what);

/** "topic x does not exist; create it: ..." */
bf_status_t bf_bus_no_topic(bf_err_t *err, const char *topic, const char *brokers);

/** A time-out for librdkafka. */
int bf_bus_timeout(int64_t ms);

/** Partition count of a topic. BF_E_NOT_FOUND, BF_E_TIMEOUT, BF_E_BUS. */
bf_status_t bf_bus_topic_partitions(rd_kafka_t *rk, const char *topic, int64_t timeout_ms,
                                    int32_t *ret, bf_err_t *err) BF_MUST_USE;

/** NULL when out of memory. */
rd_kafka_topic_partition_list_t *
bf_bus_partition_list(const bf_topic_partition_t *partitions, size_t count);

/** Committed offsets into partitions (-1 = none). */
bf_status_t bf_bus_committed(rd_kafka_t *rk, bf_topic_partition_t *partitions,
                             size_t count, int64_t timeout_ms, bf_err_t *err) BF_MUST_USE;

/** A record out of a message, which it owns then; release: bf_consumer_release().
 * BF_E_NOMEM: the caller keeps it. */
bf_status_t bf_bus_make_record(rd_kafka_message_t *message, bool with_headers,
                               bf_record_t *ret) BF_MUST_USE;

#endif /* BF_BUS_INT_H */
