/*
 * consumer.c - the command consumer of a shard
 *
 * Eager assignor (cooperative-sticky loses assignments before librdkafka 2.10), one
 * record a call (the batch call is unsafe around rebalances before 2.1).
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "bus_int.h"
#include "topic_id.h"
#include "turns.h"

#define SESSION_TIMEOUT_MS 10000
#define HEARTBEAT_MS       250LL
/* Also how long a group waits for a member that does not come to a rebalance, and a
 * member for an answer that was lost: all partitions stand still that long. */
#define POLL_INTERVAL_MS 60000LL

struct bf_consumer {
    bf_bus_context_t context;
    void (*on_assign)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count);
    void (*on_revoke)(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count, bool lost);
    char *brokers;
    char *topic;
    rd_kafka_t *rk;
    bf_turns_t turns;
    bool plaintext; /* neither TLS nor SASL */
    bool assigned;  /* in the callback: bf_consumer_assign() was called */
    bool closing;   /* a late assignment is not taken any more */
};

static const bf_property_t defaults[] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "error"}, /* where to start is decided by the offset rows */
    {"isolation.level", "read_committed"},
    {"partition.assignment.strategy", "range,roundrobin"},
    {"enable.partition.eof", "false"},
    /* Of each partition: they have queues of their own (turns.h). One that is full is
     * fetched again a second later, so it has to hold what a second works on. */
    {"queued.max.messages.kbytes", "8192"},
    /* Of one answer: small, so that a flood in one partition leaves room for others. */
    {"max.partition.fetch.bytes", "262144"},
    {"topic.metadata.refresh.interval.ms", "60000"},
};

#define DEFAULT_COUNT (sizeof(defaults) / sizeof(defaults[0]))

static void log_failure(const bf_consumer_t *consumer, const char *text)
{
    if (consumer->context.on_log) {
        consumer->context.on_log(consumer->context.arg, LOG_ERR, "REBALANCE", text);
    }
}

static bf_topic_partition_t *copy_partitions(const rd_kafka_topic_partition_list_t *list)
{
    size_t count = (size_t)list->cnt;
    bf_topic_partition_t *copy = calloc(count ? count : 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i].topic = list->elems[i].topic;
        copy[i].partition = list->elems[i].partition;
        copy[i].offset = -1;
    }
    return copy;
}

/* The group waits for the answer: with or without partitions, there is one. */
static void answer(bf_consumer_t *consumer, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t rc = rd_kafka_assign(consumer->rk, list);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        log_failure(consumer, rd_kafka_err2str(rc));
    }
}

static void give_nothing(bf_consumer_t *consumer)
{
    rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(0);
    answer(consumer, none);
    if (none) {
        rd_kafka_topic_partition_list_destroy(none);
    }
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *list, void *opaque)
{
    bf_bus_context_t *context = opaque;
    bf_consumer_t *consumer = context->owner;
    bool assign = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
    bf_turns_clear(&consumer->turns); /* until bf_consumer_assign() */
    if (assign && consumer->closing) {
        give_nothing(consumer);
        return;
    }
    bf_topic_partition_t *partitions = copy_partitions(list);
    if (!partitions) {
        log_failure(consumer, "out of memory: the assignment is not taken");
        answer(consumer, NULL);
        return;
    }
    if (assign) {
        consumer->assigned = false;
        if (consumer->on_assign) {
            consumer->on_assign(context->arg, consumer, partitions, (size_t)list->cnt);
        }
        if (!consumer->assigned) {
            give_nothing(consumer);
        }
    } else {
        if (code != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
            log_failure(consumer, rd_kafka_err2str(code));
        }
        if (consumer->on_revoke && list->cnt > 0) {
            consumer->on_revoke(context->arg, consumer, partitions, (size_t)list->cnt,
                                code != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS ||
                                    rd_kafka_assignment_lost(rk));
        }
        answer(consumer, NULL);
    }
    free(partitions);
}

static void configure(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
}

static bf_status_t subscribe(bf_consumer_t *consumer, bf_err_t *err)
{
    rd_kafka_poll_set_consumer(consumer->rk);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    if (!topics) {
        return bf_err_nomem(err, "consumer");
    }
    rd_kafka_topic_partition_list_add(topics, consumer->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t rc = rd_kafka_subscribe(consumer->rk, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return bf_bus_fail(err, BF_E_BUS, rc, NULL, "subscribe to '%s'", consumer->topic);
    }
    return BF_OK;
}

/* The handle, not subscribed yet. */
static bf_status_t make_handle(bf_consumer_t *consumer,
                               const bf_consumer_options_t *options, bf_err_t *err)
{
    char session[32];
    char heartbeat[32];
    char poll_interval[32];
    long long session_ms =
        options->session_timeout_ms ? options->session_timeout_ms : SESSION_TIMEOUT_MS;
    (void)snprintf(session, sizeof(session), "%lld", session_ms);
    /* A member hears of a rebalance with its next heartbeat: the eager protocol stands
     * still that long, and so does every partition of the group. */
    (void)snprintf(heartbeat, sizeof(heartbeat), "%lld",
                   session_ms > HEARTBEAT_MS * 4 ? HEARTBEAT_MS : session_ms / 4);
    (void)snprintf(poll_interval, sizeof(poll_interval), "%lld",
                   session_ms > POLL_INTERVAL_MS ? session_ms : POLL_INTERVAL_MS);
    bf_property_t all[DEFAULT_COUNT + 4];
    memcpy(all, defaults, sizeof(defaults));
    all[DEFAULT_COUNT] = (bf_property_t){"group.id", options->group};
    all[DEFAULT_COUNT + 1] = (bf_property_t){"session.timeout.ms", session};
    all[DEFAULT_COUNT + 2] = (bf_property_t){"heartbeat.interval.ms", heartbeat};
    all[DEFAULT_COUNT + 3] = (bf_property_t){"max.poll.interval.ms", poll_interval};
    bf_bus_setup_t setup = {.context = &consumer->context,
                            .client_id = options->client_id,
                            .defaults = all,
                            .default_count = DEFAULT_COUNT + 4,
                            .properties = options->properties,
                            .property_count = options->property_count,
                            .configure = configure};
    return bf_bus_new(&setup, &consumer->rk, err);
}

static bool is_plaintext(const bf_consumer_options_t *options)
{
    for (size_t i = 0; i < options->property_count; i++) {
        if (!strcmp(options->properties[i].name, "security.protocol")) {
            return !strcasecmp(options->properties[i].value, "plaintext");
        }
    }
    return true;
}

bf_status_t bf_consumer_new(const bf_consumer_options_t *options, bf_consumer_t **ret,
                            bf_err_t *err)
{
    BF_ASSERT(options->brokers && options->group && options->topic);
    bf_consumer_t *consumer = calloc(1, sizeof(*consumer));
    if (!consumer) {
        return bf_err_nomem(err, "consumer");
    }
    consumer->on_assign = options->on_assign;
    consumer->on_revoke = options->on_revoke;
    consumer->brokers = strdup(options->brokers);
    consumer->topic = strdup(options->topic);
    consumer->context = (bf_bus_context_t){.on_log = options->on_log,
                                           .arg = options->arg,
                                           .owner = consumer,
                                           .brokers = consumer->brokers};
    consumer->plaintext = is_plaintext(options);
    bf_status_t rc = consumer->brokers && consumer->topic
                         ? make_handle(consumer, options, err)
                         : bf_err_nomem(err, "consumer");
    if (rc == BF_OK) {
        rc = subscribe(consumer, err);
    }
    if (rc == BF_OK) {
        *ret = consumer;
        consumer = NULL; /* moved to the caller */
    }
    bf_consumer_close(consumer);
    return rc;
}

void bf_consumer_close(bf_consumer_t *consumer)
{
    if (!consumer) {
        return;
    }
    if (consumer->rk) {
        consumer->closing = true;
        bf_turns_clear(&consumer->turns);
        (void)rd_kafka_consumer_close(consumer->rk); /* it is freed whatever it says */
        rd_kafka_destroy(consumer->rk);
    }
    free(consumer->brokers);
    free(consumer->topic);
    free(consumer);
}

/* An error event of the handle since the last poll; ERR__FATAL stays. */
static bf_status_t report_event(bf_consumer_t *consumer, bf_err_t *err)
{
    rd_kafka_resp_err_t code = consumer->context.event;
    if (code != RD_KAFKA_RESP_ERR__FATAL) {
        consumer->context.event = RD_KAFKA_RESP_ERR_NO_ERROR;
    }
    bf_status_t status = bf_bus_status(code);
    return bf_bus_fail(err, status == BF_E_TIMEOUT ? BF_E_BUS_RETRY : status, code,
                       consumer->context.event_text, "Kafka at %s", consumer->brokers);
}

static bf_status_t report_message(const bf_consumer_t *consumer,
                                  const rd_kafka_message_t *message, bf_record_t *ret,
                                  bf_err_t *err)
{
    rd_kafka_resp_err_t code = message->err;
    *ret = (bf_record_t){.topic = consumer->topic,
                         .partition = message->rkt ? message->partition : -1,
                         .offset = message->offset};
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
        code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
        bf_bus_no_topic(err, consumer->topic, consumer->brokers);
        ret->partition = -1;
        return BF_E_BUS;
    }
    if (ret->partition >= 0) {
        return bf_bus_fail(err, bf_bus_status(code), code,
                           rd_kafka_message_errstr(message), "topic '%s' partition %d",
                           consumer->topic, (int)ret->partition);
    }
    return bf_bus_fail(err, bf_bus_status(code), code, rd_kafka_message_errstr(message),
                       "group of topic '%s'", consumer->topic);
}

bf_status_t bf_consumer_poll(bf_consumer_t *consumer, int64_t timeout_ms,
                             bf_record_t *ret, bf_err_t *err)
{
    rd_kafka_message_t *message =
        bf_turns_poll(&consumer->turns, consumer->rk, bf_bus_timeout(timeout_ms));
    if (!message) {
        return consumer->context.event == RD_KAFKA_RESP_ERR_NO_ERROR
                   ? BF_E_TIMEOUT
                   : report_event(consumer, err);
    }
    bf_status_t rc;
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        rc = bf_bus_make_record(message, /* with_headers= */ true, ret);
        if (rc == BF_OK) {
            return BF_OK;
        }
        /* The record would be skipped: the caller must not go on behind it. */
        rc = bf_err_set(err, BF_E_BUS_FATAL, "out of memory: a record of %s [%d]",
                        consumer->topic, (int)message->partition);
    } else {
        rc = report_message(consumer, message, ret, err);
        rc = rc == BF_E_TIMEOUT ? BF_E_BUS_RETRY : rc;
    }
    rd_kafka_message_destroy(message);
    return rc;
}

void bf_consumer_next_turn(bf_consumer_t *consumer)
{
    bf_turns_next(&consumer->turns);
}

bf_status_t bf_consumer_assign(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err)
{
    bf_status_t status =
        bf_turns_set(&consumer->turns, consumer->rk, partitions, count, err);
    if (status != BF_OK) {
        return status;
    }
    rd_kafka_topic_partition_list_t *list = bf_bus_partition_list(partitions, count);
    if (!list) {
        return bf_err_nomem(err, "assignment");
    }
    rd_kafka_resp_err_t rc = rd_kafka_assign(consumer->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return bf_bus_fail(err, BF_E_BUS, rc, NULL, "assignment of '%s'",
                           consumer->topic);
    }
    consumer->assigned = true;
    return BF_OK;
}

bf_status_t bf_consumer_committed(bf_consumer_t *consumer,
                                  bf_topic_partition_t *partitions, size_t count,
                                  int64_t timeout_ms, bf_err_t *err)
{
    return bf_bus_committed(consumer->rk, partitions, count, timeout_ms, err);
}

bf_status_t bf_consumer_watermarks(bf_consumer_t *consumer, const char *topic,
                                   int32_t partition, int64_t timeout_ms,
                                   int64_t *ret_low, int64_t *ret_high, bf_err_t *err)
{
    rd_kafka_resp_err_t rc = rd_kafka_query_watermark_offsets(
        consumer->rk, topic, partition, ret_low, ret_high, bf_bus_timeout(timeout_ms));
    if (rc == RD_KAFKA_RESP_ERR_NO_ERROR) {
        return BF_OK;
    }
    bf_status_t status = bf_bus_status(rc);
    return bf_bus_fail(err, status == BF_E_BUS_RETRY ? BF_E_TIMEOUT : status, rc, NULL,
                       "watermarks of %s [%d]", topic, (int)partition);
}

int64_t bf_consumer_cached_high(bf_consumer_t *consumer, const char *topic,
                                int32_t partition)
{
    int64_t low = -1;
    int64_t high = -1;
    rd_kafka_resp_err_t rc =
        rd_kafka_get_watermark_offsets(consumer->rk, topic, partition, &low, &high);
    return rc == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : -1;
}

bf_status_t bf_consumer_pause(bf_consumer_t *consumer, bool paused, bf_err_t *err)
{
    rd_kafka_topic_partition_list_t *list = NULL;
    rd_kafka_resp_err_t rc = rd_kafka_assignment(consumer->rk, &list);
    if (rc == RD_KAFKA_RESP_ERR_NO_ERROR) {
        rc = paused ? rd_kafka_pause_partitions(consumer->rk, list)
                    : rd_kafka_resume_partitions(consumer->rk, list);
    }
    if (list) {
        rd_kafka_topic_partition_list_destroy(list);
    }
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return bf_bus_fail(err, BF_E_BUS, rc, NULL, "%s '%s'",
                           paused ? "pause" : "resume", consumer->topic);
    }
    return BF_OK;
}

/* rd_kafka_seek_partitions() has a time-out 1000 times too short before 2.1. */
bf_status_t bf_consumer_seek(bf_consumer_t *consumer, const char *topic,
                             int32_t partition, int64_t offset, bf_err_t *err)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(consumer->rk, topic, NULL);
    if (!handle) {
        return bf_bus_fail(err, BF_E_INVALID, rd_kafka_last_error(), NULL, "topic '%s'",
                           topic);
    }
    rd_kafka_resp_err_t rc = rd_kafka_seek(handle, partition, offset, 5000);
    rd_kafka_topic_destroy(handle);
    if (rc == RD_KAFKA_RESP_ERR_NO_ERROR) {
        return BF_OK;
    }
    bool starting = rc == RD_KAFKA_RESP_ERR__STATE || rc == RD_KAFKA_RESP_ERR__TIMED_OUT;
    return bf_bus_fail(err, starting ? BF_E_BUS_RETRY : BF_E_BUS, rc, NULL,
                       "seek %s [%d] to %lld", topic, (int)partition, (long long)offset);
}

bf_status_t bf_consumer_commit(bf_consumer_t *consumer,
                               const bf_topic_partition_t *partitions, size_t count,
                               bf_err_t *err)
{
    rd_kafka_topic_partition_list_t *list = bf_bus_partition_list(partitions, count);
    if (!list) {
        return bf_err_nomem(err, "offset commit");
    }
    rd_kafka_resp_err_t rc = rd_kafka_commit(consumer->rk, list, /* async= */ 0);
    for (int i = 0; rc == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++) {
        rc = list->elems[i].err;
    }
    rd_kafka_topic_partition_list_destroy(list);
    if (rc == RD_KAFKA_RESP_ERR_NO_ERROR) {
        return BF_OK;
    }
    bf_status_t status = bf_bus_status(rc);
    return bf_bus_fail(err, status == BF_E_TIMEOUT ? BF_E_BUS_RETRY : status, rc, NULL,
                       "commit of offsets of '%s'", consumer->topic);
}

bf_group_metadata_t *bf_consumer_group_metadata(bf_consumer_t *consumer)
{
    return (bf_group_metadata_t *)rd_kafka_consumer_group_metadata(consumer->rk);
}

void bf_group_metadata_free(bf_group_metadata_t *metadata)
{
    if (metadata) {
        rd_kafka_consumer_group_metadata_destroy(
            (rd_kafka_consumer_group_metadata_t *)metadata);
    }
}

bf_status_t bf_consumer_topic(bf_consumer_t *consumer, const char *topic,
                              int64_t timeout_ms, int32_t *ret_partitions,
                              char ret_topic_id[65], bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    bf_status_t rc =
        bf_bus_topic_partitions(consumer->rk, topic, timeout_ms, ret_partitions, err);
    if (rc == BF_OK) {
        bf_topic_id_find(consumer->rk, consumer->plaintext, topic,
                         deadline - bf_clock_mono_ms(), ret_topic_id);
    }
    return rc;
}
