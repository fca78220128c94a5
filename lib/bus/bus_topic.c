/*
 * bus_topic.c - questions to the broker that consumer, publisher and client share
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "bpmflow/clock.h"
#include "bus_int.h"

#define RETRY_PAUSE_MS 100
#define UNKNOWN_TRIES  5 /* a topic made a moment ago is not known everywhere yet */

/* One Metadata request for one topic; code: of the topic. */
static rd_kafka_resp_err_t ask_partitions(rd_kafka_t *rk, rd_kafka_topic_t *topic,
                                          int timeout_ms, int32_t *ret_count,
                                          rd_kafka_resp_err_t *ret_code)
{
    const struct rd_kafka_metadata *metadata = NULL;
    rd_kafka_resp_err_t rc = rd_kafka_metadata(rk, 0, topic, &metadata, timeout_ms);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return rc;
    }
    *ret_code = metadata->topic_cnt == 1 ? metadata->topics[0].err
                                         : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    *ret_count = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
    rd_kafka_metadata_destroy(metadata);
    return rc;
}

static bool is_passing(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
           code == RD_KAFKA_RESP_ERR__TRANSPORT ||
           code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
}

static bool is_unknown(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
}

/* Worth to ask again? rc: of the request; code and count: of the topic. */
static bool ask_again(rd_kafka_resp_err_t rc, rd_kafka_resp_err_t code, int32_t count,
                      int tries)
{
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return is_passing(rc);
    }
    return is_passing(code) || (!code && count == 0) ||
           (is_unknown(code) && tries < UNKNOWN_TRIES);
}

bf_status_t bf_bus_topic_partitions(rd_kafka_t *rk, const char *topic, int64_t timeout_ms,
                                    int32_t *ret, bf_err_t *err)
{
    const bf_bus_context_t *context = rd_kafka_opaque(rk);
    rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
    if (!handle) {
        rd_kafka_resp_err_t why = rd_kafka_last_error();
        return bf_bus_fail(err, BF_E_INVALID, why, NULL, "topic '%s'", topic);
    }
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    rd_kafka_resp_err_t rc;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    int32_t count = 0;
    for (int tries = 1;; tries++) {
        int64_t left = deadline - bf_clock_mono_ms();
        rc = ask_partitions(rk, handle, bf_bus_timeout(left), &count, &code);
        if (left <= RETRY_PAUSE_MS || !ask_again(rc, code, count, tries)) {
            break;
        }
        bf_clock_sleep_ms(RETRY_PAUSE_MS);
    }
    rd_kafka_topic_destroy(handle);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        bf_status_t status = bf_bus_status(rc);
        return bf_bus_fail(err, status == BF_E_BUS_RETRY ? BF_E_TIMEOUT : status, rc,
                           NULL, "topic '%s' at %s", topic, context->brokers);
    }
    if (is_unknown(code)) {
        return bf_bus_no_topic(err, topic, context->brokers);
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || count == 0) {
        bf_status_t status = code ? bf_bus_status(code) : BF_E_TIMEOUT;
        return bf_bus_fail(err, status == BF_E_BUS_RETRY ? BF_E_TIMEOUT : status, code,
                           code ? NULL : "no partitions yet", "topic '%s'", topic);
    }
    *ret = count;
    return BF_OK;
}

rd_kafka_topic_partition_list_t *
bf_bus_partition_list(const bf_topic_partition_t *partitions, size_t count)
{
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(count < 1024 ? (int)count : 1024);
    for (size_t i = 0; list && i < count; i++) {
        rd_kafka_topic_partition_t *item = rd_kafka_topic_partition_list_add(
            list, partitions[i].topic, partitions[i].partition);
        item->offset =
            partitions[i].offset < 0 ? RD_KAFKA_OFFSET_INVALID : partitions[i].offset;
    }
    return list;
}

static bf_status_t read_committed(const rd_kafka_topic_partition_list_t *list,
                                  bf_topic_partition_t *partitions, size_t count,
                                  bf_err_t *err)
{
    for (size_t i = 0; i < count; i++) {
        const rd_kafka_topic_partition_t *item = &list->elems[i];
        if (item->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            bf_status_t status = bf_bus_status(item->err);
            return bf_bus_fail(err, status == BF_E_BUS_RETRY ? BF_E_TIMEOUT : status,
                               item->err, NULL, "committed offset of %s [%d]",
                               item->topic, (int)item->partition);
        }
        partitions[i].offset = item->offset < 0 ? -1 : item->offset;
    }
    return BF_OK;
}

bf_status_t bf_bus_committed(rd_kafka_t *rk, bf_topic_partition_t *partitions,
                             size_t count, int64_t timeout_ms, bf_err_t *err)
{
    if (count == 0) {
        return BF_OK;
    }
    rd_kafka_topic_partition_list_t *list = bf_bus_partition_list(partitions, count);
    if (!list) {
        return bf_err_nomem(err, "committed offsets");
    }
    rd_kafka_resp_err_t rc = rd_kafka_committed(rk, list, bf_bus_timeout(timeout_ms));
    bf_status_t status;
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        status = bf_bus_status(rc);
        status = bf_bus_fail(err, status == BF_E_BUS_RETRY ? BF_E_TIMEOUT : status, rc,
                             NULL, "committed offsets of the group");
    } else {
        status = read_committed(list, partitions, count, err);
    }
    rd_kafka_topic_partition_list_destroy(list);
    return status;
}

/* --- records --- */

/* What the handle of a record points to. */
typedef struct holder {
    rd_kafka_message_t *message;
    bf_header_t headers[];
} holder_t;

bf_status_t bf_bus_make_record(rd_kafka_message_t *message, bool with_headers,
                               bf_record_t *ret)
{
    rd_kafka_headers_t *headers = NULL;
    size_t count = 0;
    if (with_headers &&
        rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        count = rd_kafka_header_cnt(headers);
    }
    holder_t *holder = malloc(sizeof(*holder) + count * sizeof(holder->headers[0]));
    if (!holder) {
        return BF_E_NOMEM;
    }
    holder->message = message;
    for (size_t i = 0; i < count; i++) {
        bf_header_t *header = &holder->headers[i];
        *header = (bf_header_t){.name = "", .value = NULL, .len = 0};
        (void)rd_kafka_header_get_all(headers, i, &header->name, &header->value,
                                      &header->len); /* i is within the count */
    }
    rd_kafka_timestamp_type_t type;
    int64_t timestamp = rd_kafka_message_timestamp(message, &type);
    *ret = (bf_record_t){.topic = rd_kafka_topic_name(message->rkt),
                         .partition = message->partition,
                         .offset = message->offset,
                         .timestamp_ms =
                             type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp,
                         .key = message->key,
                         .key_len = message->key ? message->key_len : 0,
                         .value = message->payload,
                         .value_len = message->payload ? message->len : 0,
                         .headers = holder->headers,
                         .header_count = count,
                         .handle = holder};
    return BF_OK;
}

void bf_consumer_release(bf_record_t *record)
{
    if (record && record->handle) {
        holder_t *holder = record->handle;
        rd_kafka_message_destroy(holder->message);
        free(holder);
        record->handle = NULL;
    }
}
