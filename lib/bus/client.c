/*
 * client.c - commands out, replies in
 *
 * The producer half is the one of the publisher, without its thread; the reader half is a
 * bf_reader_t at the end of the reply topic.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/client.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "bpmflow/reader.h"
#include "publisher_int.h"

#define FLUSH_SLICE_MS 500
#define POLL_SLICE_MS  200
#define CLIENT_ID      "bpmflow-client"

struct bf_client {
    char *brokers;
    char *command_topic;
    bf_producer_t producer;
    size_t max_message_bytes;
    bf_reader_t *replies; /* NULL: not read */
};

static bf_status_t open_replies(bf_client_t *client, const bf_client_options_t *options,
                                int64_t timeout_ms, bf_err_t *err)
{
    bf_reader_options_t reader = {.brokers = client->brokers,
                                  .topic = options->reply_topic,
                                  .client_id = CLIENT_ID,
                                  .from = BF_READER_END,
                                  .properties = options->properties,
                                  .property_count = options->property_count};
    return bf_reader_open(&reader, timeout_ms, &client->replies, err);
}

static bf_status_t open_producer(bf_client_t *client, const bf_client_options_t *options,
                                 int64_t timeout_ms, bf_err_t *err)
{
    client->producer =
        (bf_producer_t){.context = {.brokers = client->brokers},
                        .setup = {.client_id = CLIENT_ID,
                                  .properties = options->properties,
                                  .property_count = options->property_count}};
    bf_status_t rc = bf_producer_open(&client->producer, timeout_ms, err);
    if (rc != BF_OK) {
        return rc;
    }
    client->max_message_bytes = bf_producer_max_message_bytes(&client->producer);
    int32_t partitions;
    return bf_bus_topic_partitions(client->producer.rk, client->command_topic, timeout_ms,
                                   &partitions, err);
}

bf_status_t bf_client_new(const bf_client_options_t *options, int64_t timeout_ms,
                          bf_client_t **ret, bf_err_t *err)
{
    BF_ASSERT(options->brokers && options->command_topic);
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    bf_client_t *client = calloc(1, sizeof(*client));
    if (!client) {
        return bf_err_nomem(err, "client");
    }
    client->brokers = strdup(options->brokers);
    client->command_topic = strdup(options->command_topic);
    bf_status_t rc = client->brokers && client->command_topic
                         ? open_producer(client, options, timeout_ms, err)
                         : bf_err_nomem(err, "client");
    if (rc == BF_OK && options->reply_topic) {
        rc = open_replies(client, options, deadline - bf_clock_mono_ms(), err);
    }
    if (rc == BF_OK) {
        *ret = client;
        client = NULL; /* moved to the caller */
    }
    bf_client_free(client);
    return rc;
}

void bf_client_free(bf_client_t *client)
{
    if (!client) {
        return;
    }
    bf_producer_drop(&client->producer);
    bf_reader_close(client->replies);
    free(client->brokers);
    free(client->command_topic);
    free(client);
}

bf_status_t bf_client_produce(bf_client_t *client, const bf_message_t *message,
                              bf_err_t *err)
{
    bf_producer_t *producer = &client->producer;
    size_t bytes = bf_message_bytes(message);
    if (bytes > client->max_message_bytes) {
        return bf_err_set(err, BF_E_LIMIT,
                          "a message of %zu bytes to the topic '%s'; at most %zu are "
                          "allowed (message.max.bytes)",
                          bytes, message->topic, client->max_message_bytes);
    }
    rd_kafka_poll(producer->rk, 0); /* delivery reports and error events */
    bf_status_t rc = bf_producer_send_one(producer, message, 0, err);
    return rc == BF_E_BUS_ABORT ? BF_E_BUS : rc;
}

bf_status_t bf_client_send(bf_client_t *client, const char *instance_id, const char *json,
                           size_t len, bf_err_t *err)
{
    bf_message_t message = {.topic = client->command_topic,
                            .key = instance_id,
                            .key_len = strlen(instance_id),
                            .value = json,
                            .value_len = len};
    return bf_client_produce(client, &message, err);
}

bf_status_t bf_client_flush(bf_client_t *client, int64_t timeout_ms, bf_err_t *err)
{
    bf_producer_t *producer = &client->producer;
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    rd_kafka_resp_err_t rc;
    do {
        int64_t left = deadline - bf_clock_mono_ms();
        int64_t slice = left < FLUSH_SLICE_MS ? left : FLUSH_SLICE_MS;
        rc = rd_kafka_flush(producer->rk, bf_bus_timeout(slice));
    } while (rc != RD_KAFKA_RESP_ERR_NO_ERROR && bf_clock_mono_ms() < deadline);
    if (producer->failure.code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        bf_producer_explain(producer, BF_E_BUS, err);
        producer->failure = (bf_producer_failure_t){.code = RD_KAFKA_RESP_ERR_NO_ERROR};
        return BF_E_BUS;
    }
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return bf_bus_fail(err, BF_E_TIMEOUT, RD_KAFKA_RESP_ERR__TIMED_OUT,
                           producer->context.event ? producer->context.event_text : NULL,
                           "%d messages are not acknowledged by %s",
                           rd_kafka_outq_len(producer->rk), client->brokers);
    }
    return BF_OK;
}

bf_status_t bf_client_poll_reply(bf_client_t *client, int64_t timeout_ms,
                                 bf_record_t *ret, bf_err_t *err)
{
    BF_ASSERT(client->replies);
    return bf_reader_next(client->replies, timeout_ms, ret, err);
}

static bool is_reply_to(const bf_record_t *record, const char *instance_id,
                        const char *command_id)
{
    const bf_header_t *id = bf_record_header(record, "ce_id");
    return id && id->len == strlen(command_id) &&
           !memcmp(id->value, command_id, id->len) && record->key &&
           record->key_len == strlen(instance_id) &&
           !memcmp(record->key, instance_id, record->key_len);
}

/* Next reply that is ours, appended to ret. BF_E_TIMEOUT: nothing, or another one's. */
static bf_status_t take_reply(bf_client_t *client, const char *instance_id,
                              const char *command_id, int64_t timeout_ms, bf_str_t *ret,
                              bf_err_t *err)
{
    bf_record_t record;
    bf_err_t passing = BF_ERR_INIT;
    bf_status_t rc = bf_reader_next(client->replies, timeout_ms, &record, &passing);
    if (rc == BF_E_BUS) {
        return bf_err_set(err, rc, "%s", passing.text);
    }
    if (rc != BF_OK) {
        return BF_E_TIMEOUT; /* or something that passes */
    }
    bool ours = is_reply_to(&record, instance_id, command_id);
    if (ours) {
        bf_str_append(ret, record.value, record.value_len);
    }
    bf_consumer_release(&record);
    return ours ? bf_str_status(ret, "reply", err) : BF_E_TIMEOUT;
}

bf_status_t bf_client_call(bf_client_t *client, const char *instance_id,
                           const char *command_id, bf_text_t json, int64_t timeout_ms,
                           bf_str_t *ret, bf_err_t *err)
{
    BF_ASSERT(client->replies);
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    bf_status_t rc = bf_client_send(client, instance_id, json.data, json.len, err);
    rc = rc == BF_OK ? bf_client_flush(client, timeout_ms, err) : rc;
    if (rc != BF_OK) {
        return rc;
    }
    do {
        int64_t left = deadline - bf_clock_mono_ms();
        rc = take_reply(client, instance_id, command_id,
                        left < POLL_SLICE_MS ? left : POLL_SLICE_MS, ret, err);
    } while (rc == BF_E_TIMEOUT && bf_clock_mono_ms() < deadline);
    if (rc == BF_E_TIMEOUT) {
        bf_err_set(err, rc,
                   "no reply to the command '%s' within %lld ms; does a worker read the "
                   "topic '%s', and are its replies on? The command may still be carried "
                   "out",
                   command_id, (long long)timeout_ms, client->command_topic);
    }
    return rc;
}
