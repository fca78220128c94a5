/*
 * producer.c - the producer handle of a publisher
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/num.h"
#include "publisher_int.h"

#define SLICE_MS      1000 /* of a call that may take long */
#define FULL_WAIT_MS  50
#define DROP_FLUSH_MS 1000
#define MAX_ARGUMENTS 7
#define OPAQUE_OF(i)  ((void *)(uintptr_t)((i) + 1))
#define INDEX_OF(ptr) ((size_t)(uintptr_t)(ptr)-1)

/* Every delivery is reported, not only those that failed: flush and commit look every
 * 10 ms whether all is delivered, unless a report wakes them. */
static const bf_property_t defaults[] = {
    {"enable.idempotence", "true"},
    {"partitioner", "murmur2_random"}, /* as Java does */
    {"queue.buffering.max.kbytes", "262144"},
    /* A topic that does not exist has to fail before the transaction times out. */
    {"topic.metadata.propagation.max.ms", "5000"},
};

#define DEFAULT_COUNT (sizeof(defaults) / sizeof(defaults[0]))

/* Served by the thread that polls, flushes or commits: the publisher's. */
static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
    (void)rk;
    bf_bus_context_t *context = opaque;
    bf_producer_t *producer = context->owner;
    bf_producer_failure_t *failure = &producer->failure;
    size_t index = INDEX_OF(message->_private);
    if (producer->delivered) {
        producer->delivered(producer, index, message->err != RD_KAFKA_RESP_ERR_NO_ERROR);
        return;
    }
    if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        return;
    }
    if (failure->code != RD_KAFKA_RESP_ERR_NO_ERROR && failure->index <= index) {
        return;
    }
    bool purged = message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                  message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (!purged || failure->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        failure->code = message->err;
        failure->bytes = message->len;
        (void)snprintf(failure->topic, sizeof(failure->topic), "%s",
                       rd_kafka_topic_name(message->rkt));
    }
    failure->index = index;
}

static void configure(rd_kafka_conf_t *conf)
{
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
}

static bf_status_t make_handle(bf_producer_t *producer, bf_err_t *err)
{
    const bf_producer_setup_t *from = &producer->setup;
    char timeout[BF_NUM_TEXT_MAX];
    (void)bf_num_format_i64(from->transaction_timeout_ms, timeout);
    bf_property_t all[DEFAULT_COUNT + 4];
    size_t count = DEFAULT_COUNT;
    memcpy(all, defaults, sizeof(defaults));
    if (from->transactional_id) {
        all[count++] = (bf_property_t){"transactional.id", from->transactional_id};
        all[count++] = (bf_property_t){"transaction.timeout.ms", timeout};
        /* A transaction that begins right after a commit is told to come again; with the
         * default of 100 ms that would be most of its time. */
        all[count++] = (bf_property_t){"retry.backoff.ms", "2"};
    } else {
        all[count++] = (bf_property_t){"message.timeout.ms", "0"}; /* until it works */
    }
    if (from->linger_ms) {
        all[count++] = (bf_property_t){"linger.ms", from->linger_ms};
    }
    producer->context.owner = producer;
    producer->context.event = RD_KAFKA_RESP_ERR_NO_ERROR;
    bf_bus_setup_t setup = {.context = &producer->context,
                            .producer = true,
                            .client_id = from->client_id,
                            .defaults = all,
                            .default_count = count,
                            .properties = from->properties,
                            .property_count = from->property_count,
                            .configure = configure};
    return bf_bus_new(&setup, &producer->rk, err);
}

static bool must_stop(const bf_producer_t *producer)
{
    return producer->stop && producer->stop(producer->stop_arg);
}

/* Resumable: called again until it is done, fails, or the time is over. */
static bf_status_t init_transactions(bf_producer_t *producer, int64_t timeout_ms,
                                     bf_err_t *err)
{
    char what[BF_BUS_TEXT_MAX];
    (void)snprintf(what, sizeof(what), "transactional.id '%.150s' at %.60s",
                   producer->setup.transactional_id, producer->context.brokers);
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    for (;;) {
        int64_t left = deadline - bf_clock_mono_ms();
        int64_t slice = left < SLICE_MS ? left : SLICE_MS;
        rd_kafka_error_t *error = rd_kafka_init_transactions(
            producer->rk, bf_bus_timeout(slice < 1 ? 1 : slice));
        if (!error) {
            return BF_OK;
        }
        rd_kafka_resp_err_t code = rd_kafka_error_code(error);
        if (!rd_kafka_error_is_retriable(error)) {
            bf_status_t status = bf_bus_status(code);
            return bf_bus_fail_error(err, status == BF_E_BUS_RETRY ? BF_E_BUS : status,
                                     error, what);
        }
        rd_kafka_poll(producer->rk, 0); /* error events */
        if (left <= slice) {
            return bf_bus_fail_error(err, BF_E_TIMEOUT, error, what);
        }
        rd_kafka_error_destroy(error);
        if (must_stop(producer)) {
            return bf_err_set(err, BF_E_CANCELLED, "%s: stopped", what);
        }
    }
}

bf_status_t bf_producer_open(bf_producer_t *producer, int64_t timeout_ms, bf_err_t *err)
{
    bf_status_t rc = make_handle(producer, err);
    if (rc == BF_OK && producer->setup.transactional_id) {
        rc = init_transactions(producer, timeout_ms, err);
    }
    if (rc != BF_OK) {
        bf_producer_drop(producer);
    }
    return rc;
}

void bf_producer_drop(bf_producer_t *producer)
{
    if (!producer->rk) {
        return;
    }
    /* Reports of what is dropped must not outlive the publication they index. */
    (void)rd_kafka_purge(producer->rk,
                         RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    (void)rd_kafka_flush(producer->rk, DROP_FLUSH_MS);
    for (size_t i = 0; i < producer->topic_count; i++) {
        rd_kafka_topic_destroy(producer->topics[i].handle);
        free(producer->topics[i].name);
    }
    free(producer->topics);
    producer->topics = NULL;
    producer->topic_count = 0;
    rd_kafka_destroy(producer->rk);
    producer->rk = NULL;
    producer->failure = (bf_producer_failure_t){.code = RD_KAFKA_RESP_ERR_NO_ERROR};
}

/* A topic handle that stays: naming the topic at each message may stall its first one for
 * a second (librdkafka before 2.10). */
static rd_kafka_topic_t *find_topic(bf_producer_t *producer, const char *name)
{
    for (size_t i = 0; i < producer->topic_count; i++) {
        if (!strcmp(producer->topics[i].name, name)) {
            return producer->topics[i].handle;
        }
    }
    bf_producer_topic_t *topics = realloc(
        producer->topics, (producer->topic_count + 1) * sizeof(*producer->topics));
    if (!topics) {
        return NULL;
    }
    producer->topics = topics;
    bf_producer_topic_t topic = {strdup(name),
                                 rd_kafka_topic_new(producer->rk, name, NULL)};
    if (!topic.name || !topic.handle) {
        free(topic.name);
        if (topic.handle) {
            rd_kafka_topic_destroy(topic.handle);
        }
        return NULL;
    }
    topics[producer->topic_count++] = topic;
    return topic.handle;
}

static rd_kafka_headers_t *make_headers(const bf_message_t *message, bf_status_t *rc)
{
    *rc = BF_OK;
    if (message->header_count == 0) {
        return NULL;
    }
    rd_kafka_headers_t *headers = rd_kafka_headers_new(message->header_count);
    for (size_t i = 0; headers && i < message->header_count; i++) {
        const bf_header_t *header = &message->headers[i];
        if (rd_kafka_header_add(headers, header->name, -1, header->value,
                                (ssize_t)header->len) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            rd_kafka_headers_destroy(headers);
            headers = NULL;
        }
    }
    *rc = headers ? BF_OK : BF_E_NOMEM;
    return headers;
}

/* Hand one message to librdkafka. headers: moves in on success. */
static rd_kafka_error_t *produce(const bf_producer_t *producer, rd_kafka_topic_t *topic,
                                 const bf_message_t *message, size_t index,
                                 rd_kafka_headers_t *headers)
{
    rd_kafka_vu_t args[MAX_ARGUMENTS];
    size_t n = 0;
    args[n++] = (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic};
    args[n++] =
        (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY};
    args[n++] =
        (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = OPAQUE_OF(index)};
    if (message->key) {
        args[n].vtype = RD_KAFKA_VTYPE_KEY;
        args[n].u.mem.ptr = (void *)(uintptr_t)message->key;
        args[n++].u.mem.size = message->key_len;
    }
    if (message->value) {
        args[n].vtype = RD_KAFKA_VTYPE_VALUE;
        args[n].u.mem.ptr = (void *)(uintptr_t)message->value;
        args[n++].u.mem.size = message->value_len;
    }
    if (headers) {
        args[n++] =
            (rd_kafka_vu_t){.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers};
    }
    return rd_kafka_produceva(producer->rk, args, n);
}

bf_status_t bf_producer_send_one(bf_producer_t *producer, const bf_message_t *message,
                                 size_t index, bf_err_t *err)
{
    bf_status_t rc;
    rd_kafka_topic_t *topic = find_topic(producer, message->topic);
    rd_kafka_headers_t *headers = make_headers(message, &rc);
    if (!topic || rc != BF_OK) {
        if (headers) {
            rd_kafka_headers_destroy(headers);
        }
        return bf_err_nomem(err, "message to be published");
    }
    for (;;) {
        rd_kafka_error_t *error = produce(producer, topic, message, index, headers);
        if (!error) {
            return BF_OK;
        }
        if (rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            rc = bf_bus_fail_error(err, BF_E_BUS_ABORT, error, message->topic);
            break;
        }
        rd_kafka_error_destroy(error);
        if (must_stop(producer)) {
            rc = BF_E_CANCELLED;
            break;
        }
        rd_kafka_poll(producer->rk, FULL_WAIT_MS);
    }
    if (headers) {
        rd_kafka_headers_destroy(headers);
    }
    return rc;
}

bf_status_t bf_producer_send(bf_producer_t *producer, const bf_publication_t *publication,
                             size_t from, bf_err_t *err)
{
    producer->failure = (bf_producer_failure_t){.code = RD_KAFKA_RESP_ERR_NO_ERROR};
    bf_status_t rc = BF_OK;
    for (size_t i = from; rc == BF_OK && i < publication->message_count; i++) {
        rc = bf_producer_send_one(producer, &publication->messages[i], i, err);
    }
    return rc;
}

bf_status_t bf_producer_explain(const bf_producer_t *producer, bf_status_t status,
                                bf_err_t *err)
{
    const bf_producer_failure_t *failure = &producer->failure;
    return bf_bus_fail(err, status, failure->code, NULL,
                       "a message of %zu bytes to the topic '%.200s'", failure->bytes,
                       failure->topic);
}

size_t bf_producer_max_message_bytes(const bf_producer_t *producer)
{
    char text[BF_NUM_TEXT_MAX] = "";
    size_t size = sizeof(text);
    int64_t bytes = 0;
    if (rd_kafka_conf_get(rd_kafka_conf(producer->rk), "message.max.bytes", text,
                          &size) != RD_KAFKA_CONF_OK ||
        bf_num_parse_i64(text, strlen(text), &bytes, NULL) != BF_OK) {
        return 1000000; /* its default */
    }
    return (size_t)bytes;
}
