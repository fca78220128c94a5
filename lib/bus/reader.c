/*
 * reader.c - reads a topic from its beginning or its end; see reader.h
 *
 * A consumer with assigned partitions and no subscription, so that no group is joined.
 * The end of a partition is the last stable offset at opening; a partition counts as
 * read when a record or an end-of-partition event reaches it (the last offsets may belong
 * to the markers of transactions, which are never returned).
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/reader.h"

#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bus_int.h"

#define RETRY_MS 100

typedef struct partition_state {
    bf_reader_range_t range;
    int64_t start; /* where to begin */
    bool used;     /* is read at all */
    bool done;     /* read to range.high */
} partition_state_t;

struct bf_reader {
    rd_kafka_t *rk;
    char *topic;
    char *brokers;
    bool without_headers;
    bool assigned; /* records are being fetched */
    partition_state_t *partitions;
    int32_t partition_count;
    int32_t open_count;   /* partitions not done yet */
    char last_error[256]; /* of the client library; "" = none */
};

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *arg)
{
    (void)rk;
    (void)code;
    bf_reader_t *reader = arg;
    (void)snprintf(reader->last_error, sizeof reader->last_error, "%s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility,
                   const char *text)
{
    (void)rk;
    (void)level;
    (void)facility;
    (void)text;
}

static bf_status_t set_property(rd_kafka_conf_t *conf, const char *name,
                                const char *value, bf_err_t *err)
{
    char reason[200];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) != RD_KAFKA_CONF_OK)
        return bf_err_set(err, BF_E_INVALID, "Kafka property %s=%s: %s", name, value,
                          reason);
    return BF_OK;
}

static bf_status_t configure(rd_kafka_conf_t *conf, const bf_reader_options_t *options,
                             bf_err_t *err)
{
    const bf_property_t defaults[] = {
        {"bootstrap.servers", options->brokers},
        {"client.id", options->client_id ? options->client_id : "bpmflow-reader"},
        /* must be set; never joined */
        {"group.id", options->group ? options->group : "bpmflow-reader"},
        {"enable.auto.commit", "false"},
        {"enable.partition.eof", "true"},
        {"allow.auto.create.topics", "false"},
        {"auto.offset.reset", options->one_partition ? "error" : "earliest"},
        {"isolation.level",
         options->read_uncommitted ? "read_uncommitted" : "read_committed"},
        {"socket.nagle.disable", "true"},
        {"fetch.wait.max.ms", "20"},
        /* A full queue makes librdkafka pause for a second (2.0.2): let it be large. */
        {"queued.min.messages", "1000000"},
        {"queued.max.messages.kbytes", "131072"},
        {"log.connection.close", "false"}};
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < sizeof defaults / sizeof *defaults; i++)
        rc = set_property(conf, defaults[i].name, defaults[i].value, err);
    for (size_t i = 0; rc == BF_OK && i < options->property_count; i++)
        rc = set_property(conf, options->properties[i].name, options->properties[i].value,
                          err);
    return rc;
}

static bf_status_t create(bf_reader_t *reader, const bf_reader_options_t *options,
                          bf_err_t *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bf_status_t rc = configure(conf, options, err);
    if (rc != BF_OK) {
        rd_kafka_conf_destroy(conf);
        return rc;
    }
    rd_kafka_conf_set_opaque(conf, reader);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    char reason[200];
    reader->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
    if (!reader->rk) {
        rd_kafka_conf_destroy(conf);
        return bf_err_set(err, BF_E_BUS, "Kafka client: %s", reason);
    }
    (void)rd_kafka_poll_set_consumer(reader->rk);
    return BF_OK;
}

/* A sentence for a request that failed, with what the library said meanwhile. */
static bf_status_t request_failed(bf_reader_t *reader, const char *what,
                                  rd_kafka_resp_err_t code, bf_err_t *err)
{
    rd_kafka_message_t *none = rd_kafka_consumer_poll(reader->rk, 0); /* runs on_error */
    if (none)
        rd_kafka_message_destroy(none);
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
        code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
        return bf_err_set(err, BF_E_NOT_FOUND,
                          "topic %s does not exist on %s: create it, or name another one",
                          reader->topic, reader->brokers);
    if (code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
        code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        return bf_err_set(err, BF_E_TIMEOUT,
                          "no Kafka broker answers at %s%s%s: is it running, is the "
                          "address right?",
                          reader->brokers, reader->last_error[0] ? ": " : "",
                          reader->last_error);
    return bf_err_set(err, BF_E_BUS, "%s of topic %s: %s", what, reader->topic,
                      rd_kafka_err2str(code));
}

static bf_status_t find_partitions(bf_reader_t *reader, int64_t deadline_ms,
                                   bf_err_t *err)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(reader->rk, reader->topic, NULL);
    if (!topic)
        return bf_err_set(err, BF_E_INVALID, "topic %s: %s", reader->topic,
                          rd_kafka_err2str(rd_kafka_last_error()));
    bf_status_t rc = BF_OK;
    int64_t left = deadline_ms - bf_clock_mono_ms();
    rd_kafka_resp_err_t code =
        rd_kafka_metadata(reader->rk, 0, topic, &metadata, (int)(left > 0 ? left : 1));
    rd_kafka_topic_destroy(topic);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt == 1)
        code = metadata->topics[0].err;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        rc = request_failed(reader, "partitions", code, err);
    else if (metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt < 1)
        rc = request_failed(reader, "partitions", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                            err);
    else
        reader->partition_count = metadata->topics[0].partition_cnt;
    if (metadata)
        rd_kafka_metadata_destroy(metadata);
    if (rc != BF_OK)
        return rc;
    reader->partitions =
        calloc((size_t)reader->partition_count, sizeof *reader->partitions);
    return reader->partitions ? BF_OK : bf_err_nomem(err, "partitions");
}

static bf_status_t find_ranges(bf_reader_t *reader, const bf_reader_options_t *options,
                               int64_t deadline_ms, bf_err_t *err)
{
    for (int32_t p = 0; p < reader->partition_count; p++) {
        partition_state_t *state = &reader->partitions[p];
        int64_t left = deadline_ms - bf_clock_mono_ms();
        rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
            reader->rk, reader->topic, p, &state->range.low, &state->range.high,
            (int)(left > 0 ? left : 1));
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return request_failed(reader, "offsets", code, err);
        state->used = !options->one_partition || options->partition == p;
        state->done = !state->used || options->from == BF_READER_END ||
                      state->range.low >= state->range.high ||
                      (options->one_partition && options->offset >= state->range.high);
        state->start = options->one_partition           ? options->offset
                       : options->from == BF_READER_END ? state->range.high
                                                        : state->range.low;
        reader->open_count += !state->done;
    }
    return BF_OK;
}

static bf_status_t assign(bf_reader_t *reader, bf_err_t *err)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(reader->partition_count);
    for (int32_t p = 0; p < reader->partition_count; p++) {
        const partition_state_t *state = &reader->partitions[p];
        if (state->used)
            rd_kafka_topic_partition_list_add(list, reader->topic, p)->offset =
                state->start;
    }
    rd_kafka_resp_err_t code = rd_kafka_assign(reader->rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return request_failed(reader, "assignment", code, err);
    reader->assigned = true;
    return BF_OK;
}

bf_status_t bf_reader_open(const bf_reader_options_t *options, int64_t timeout_ms,
                           bf_reader_t **ret, bf_err_t *err)
{
    int64_t deadline_ms = bf_clock_mono_ms() + timeout_ms;
    bf_reader_t *reader = calloc(1, sizeof *reader);
    if (!reader)
        return bf_err_nomem(err, "reader");
    bf_status_t rc = BF_OK;
    reader->without_headers = options->without_headers;
    reader->topic = strdup(options->topic);
    reader->brokers = strdup(options->brokers);
    if (!reader->topic || !reader->brokers)
        rc = bf_err_nomem(err, "reader");
    if (rc == BF_OK)
        rc = create(reader, options, err);
    if (rc == BF_OK)
        rc = find_partitions(reader, deadline_ms, err);
    if (rc == BF_OK && options->one_partition &&
        (options->partition < 0 || options->partition >= reader->partition_count))
        rc = bf_err_set(err, BF_E_INVALID, "topic %s has no partition %d: it has %d",
                        reader->topic, (int)options->partition,
                        (int)reader->partition_count);
    if (rc == BF_OK)
        rc = find_ranges(reader, options, deadline_ms, err);
    /* What is there already is fetched, up to the size of the queue, when it is asked
     * for. */
    if (rc == BF_OK && options->from == BF_READER_END)
        rc = assign(reader, err);
    if (rc == BF_OK)
        *ret = reader;
    else
        bf_reader_close(reader);
    return rc;
}

void bf_reader_close(bf_reader_t *reader)
{
    if (!reader)
        return;
    if (reader->rk) {
        (void)rd_kafka_consumer_close(reader->rk);
        rd_kafka_destroy(reader->rk);
    }
    free(reader->partitions);
    free(reader->topic);
    free(reader->brokers);
    free(reader);
}

static void reached(bf_reader_t *reader, int32_t partition, int64_t next_offset)
{
    if (partition < 0 || partition >= reader->partition_count)
        return;
    partition_state_t *state = &reader->partitions[partition];
    if (state->done || next_offset < state->range.high)
        return;
    state->done = true;
    reader->open_count--;
}

/* What a message that is an error means. BF_OK: nothing, poll again. */
static bf_status_t judge(bf_reader_t *reader, const rd_kafka_message_t *message,
                         bf_err_t *err)
{
    switch ((int)message->err) {
    case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        reached(reader, message->partition, message->offset);
        return BF_OK;
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
        return bf_err_set(err, BF_E_BUS_RETRY, "topic %s: %s", reader->topic,
                          rd_kafka_message_errstr(message));
    default:
        return bf_err_set(err, BF_E_BUS, "topic %s, partition %d: %s", reader->topic,
                          (int)message->partition, rd_kafka_message_errstr(message));
    }
}

bf_status_t bf_reader_next(bf_reader_t *reader, int64_t timeout_ms, bf_record_t *ret,
                           bf_err_t *err)
{
    if (!reader->assigned) {
        bf_status_t rc = assign(reader, err);
        if (rc != BF_OK)
            return rc;
    }
    rd_kafka_message_t *message =
        rd_kafka_consumer_poll(reader->rk, bf_bus_timeout(timeout_ms));
    if (!message)
        return BF_E_TIMEOUT;
    if (message->err) {
        bf_status_t rc = judge(reader, message, err);
        rd_kafka_message_destroy(message);
        return rc == BF_OK ? BF_E_TIMEOUT : rc;
    }
    bf_status_t rc = bf_bus_make_record(message, !reader->without_headers, ret);
    if (rc != BF_OK) {
        bf_err_nomem(err, "record");
        rd_kafka_message_destroy(message);
        return rc;
    }
    reached(reader, message->partition, message->offset + 1);
    return BF_OK;
}

void bf_reader_release(bf_record_t *record)
{
    bf_consumer_release(record);
}

bool bf_reader_at_end(const bf_reader_t *reader)
{
    return reader->open_count == 0;
}

static bf_status_t ask_committed(bf_reader_t *reader, int32_t partition,
                                 int64_t timeout_ms, int64_t *ret, bf_err_t *err)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_t *entry =
        rd_kafka_topic_partition_list_add(list, reader->topic, partition);
    rd_kafka_resp_err_t code = rd_kafka_committed(reader->rk, list, (int)timeout_ms);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = entry->err;
    int64_t offset = entry->offset;
    rd_kafka_topic_partition_list_destroy(list);
    if (code == RD_KAFKA_RESP_ERR__TIMED_OUT)
        return bf_err_set(err, BF_E_TIMEOUT,
                          "topic %s, partition %d: the committed offset is not to be had "
                          "within %lld ms: a transaction may still be open",
                          reader->topic, (int)partition, (long long)timeout_ms);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return request_failed(reader, "committed offset", code, err);
    *ret = offset >= 0 ? offset : -1;
    return BF_OK;
}

/* A broker that has just started, or that the group moved away from, says so at once. */
bf_status_t bf_reader_committed(bf_reader_t *reader, int32_t partition,
                                int64_t timeout_ms, int64_t *ret, bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    for (;;) {
        bf_err_t why = BF_ERR_INIT;
        int64_t left = deadline - bf_clock_mono_ms();
        bf_status_t rc = ask_committed(reader, partition, left > 1 ? left : 1, ret, &why);
        if (rc != BF_E_BUS_RETRY || bf_clock_mono_ms() + RETRY_MS >= deadline)
            return rc == BF_OK ? BF_OK : bf_err_set(err, rc, "%s", why.text);
        bf_clock_sleep_ms(RETRY_MS);
    }
}

int32_t bf_reader_partition_count(const bf_reader_t *reader)
{
    return reader->partition_count;
}

bf_reader_range_t bf_reader_range(const bf_reader_t *reader, int32_t partition)
{
    if (partition < 0 || partition >= reader->partition_count)
        return (bf_reader_range_t){0, 0};
    return reader->partitions[partition].range;
}
