/*
 * bus.c - helpers for tests of the bus
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/bus.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"

#define ADMIN_TIMEOUT_MS 20000

const char *test_kafka(void)
{
    const char *brokers = getenv("BF_KAFKA");
    if (!brokers || !*brokers) {
        cr_skip_test("SKIPPED: no BF_KAFKA; run deploy/stack/stack up kafka");
    }
    return brokers;
}

char *test_name(const char *prefix)
{
    char uuid[BF_UUID_TEXT];
    char *text = malloc(strlen(prefix) + 16);
    cr_assert_not_null(text);
    bf_uuid_make(uuid);
    (void)snprintf(text, strlen(prefix) + 16, "%s-%.8s", prefix, uuid);
    return text;
}

static rd_kafka_t *make_handle(rd_kafka_type_t type, const char *brokers)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    cr_assert_eq(rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof(why)),
                 RD_KAFKA_CONF_OK, "%s", why);
    rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof(why));
    cr_assert_not_null(rk, "%s", why);
    return rk;
}

/* For one admin call. */
typedef struct admin {
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue; /* of its answer */
} admin_t;

static admin_t admin_begin(const char *brokers)
{
    admin_t admin = {.rk = make_handle(RD_KAFKA_PRODUCER, brokers)};
    admin.queue = rd_kafka_queue_new(admin.rk);
    return admin;
}

static rd_kafka_event_t *admin_wait(const admin_t *admin, const char *what)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(admin->queue, ADMIN_TIMEOUT_MS);
    cr_assert_not_null(event, "%s: no answer", what);
    cr_assert_eq(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR, "%s: %s", what,
                 rd_kafka_event_error_string(event));
    return event;
}

static void admin_end(admin_t *admin)
{
    rd_kafka_queue_destroy(admin->queue);
    rd_kafka_destroy(admin->rk);
}

static bool has_leaders(const struct rd_kafka_metadata *metadata, int partitions)
{
    if (metadata->topic_cnt != 1 || metadata->topics[0].err ||
        metadata->topics[0].partition_cnt != partitions) {
        return false;
    }
    for (int i = 0; i < partitions; i++) {
        if (metadata->topics[0].partitions[i].leader < 0) {
            return false;
        }
    }
    return true;
}

/* CreateTopics is answered before the broker tells everybody about the topic. */
static void wait_topic(rd_kafka_t *rk, const char *topic, int partitions)
{
    rd_kafka_topic_t *handle = rd_kafka_topic_new(rk, topic, NULL);
    cr_assert_not_null(handle);
    int64_t deadline = bf_clock_mono_ms() + ADMIN_TIMEOUT_MS;
    bool known = false;
    while (!known) {
        const struct rd_kafka_metadata *metadata = NULL;
        cr_assert_lt(bf_clock_mono_ms(), deadline, "%s is not there", topic);
        if (rd_kafka_metadata(rk, 0, handle, &metadata, ADMIN_TIMEOUT_MS) ==
            RD_KAFKA_RESP_ERR_NO_ERROR) {
            known = has_leaders(metadata, partitions);
            rd_kafka_metadata_destroy(metadata);
        }
        if (!known) {
            bf_clock_sleep_ms(10);
        }
    }
    rd_kafka_topic_destroy(handle);
}

void test_topic_create(const char *brokers, const char *topic, int partitions)
{
    char why[256] = "";
    admin_t admin = admin_begin(brokers);
    rd_kafka_NewTopic_t *fresh =
        rd_kafka_NewTopic_new(topic, partitions, 1, why, sizeof(why));
    cr_assert_not_null(fresh, "%s", why);
    rd_kafka_CreateTopics(admin.rk, &fresh, 1, NULL, admin.queue);
    rd_kafka_event_t *event = admin_wait(&admin, "CreateTopics");
    size_t count = 0;
    const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event), &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(rd_kafka_topic_result_error(results[0]), RD_KAFKA_RESP_ERR_NO_ERROR,
                 "%s: %s", topic, rd_kafka_topic_result_error_string(results[0]));
    rd_kafka_event_destroy(event);
    rd_kafka_NewTopic_destroy(fresh);
    wait_topic(admin.rk, topic, partitions);
    admin_end(&admin);
}

void test_topic_delete(const char *brokers, const char *topic)
{
    admin_t admin = admin_begin(brokers);
    rd_kafka_DeleteTopic_t *old = rd_kafka_DeleteTopic_new(topic);
    rd_kafka_DeleteTopics(admin.rk, &old, 1, NULL, admin.queue);
    rd_kafka_event_destroy(admin_wait(&admin, "DeleteTopics"));
    rd_kafka_DeleteTopic_destroy(old);
    admin_end(&admin);
}

void test_topic_grow(const char *brokers, const char *topic, int partitions)
{
    char why[256] = "";
    admin_t admin = admin_begin(brokers);
    rd_kafka_NewPartitions_t *more =
        rd_kafka_NewPartitions_new(topic, (size_t)partitions, why, sizeof(why));
    cr_assert_not_null(more, "%s", why);
    rd_kafka_CreatePartitions(admin.rk, &more, 1, NULL, admin.queue);
    rd_kafka_event_destroy(admin_wait(&admin, "CreatePartitions"));
    rd_kafka_NewPartitions_destroy(more);
    wait_topic(admin.rk, topic, partitions);
    admin_end(&admin);
}

void test_topic_trim(const char *brokers, const char *topic, int partition,
                     int64_t offset)
{
    admin_t admin = admin_begin(brokers);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, partition)->offset = offset;
    rd_kafka_DeleteRecords_t *trim = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(admin.rk, &trim, 1, NULL, admin.queue);
    rd_kafka_event_destroy(admin_wait(&admin, "DeleteRecords"));
    rd_kafka_DeleteRecords_destroy(trim);
    rd_kafka_topic_partition_list_destroy(list);
    admin_end(&admin);
}

static void release(void *owner)
{
    test_publication_t *own = owner;
    for (size_t i = 0; i < own->publication.message_count; i++) {
        free((char *)(uintptr_t)own->messages[i].value);
    }
    if (own->released) {
        (void)__atomic_add_fetch(own->released, 1, __ATOMIC_SEQ_CST);
    }
    free(own->messages);
    free(own);
}

test_publication_t *test_publication(const char *topic, const char *prefix, size_t count,
                                     int *released)
{
    test_publication_t *own = calloc(1, sizeof(*own));
    cr_assert_not_null(own);
    own->messages = calloc(count ? count : 1, sizeof(*own->messages));
    own->header = (bf_header_t){"ce_type", "test", 4};
    own->released = released;
    for (size_t i = 0; i < count; i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "%s-%zu", prefix, i);
        own->messages[i] = (bf_message_t){.topic = topic,
                                          .key = "k",
                                          .key_len = 1,
                                          .value = strdup(text),
                                          .value_len = strlen(text),
                                          .headers = &own->header,
                                          .header_count = 1};
    }
    own->publication = (bf_publication_t){.messages = own->messages,
                                          .message_count = count,
                                          .submitted_mono_ns = bf_clock_mono_ns(),
                                          .release = release,
                                          .owner = own};
    return own;
}

void test_publication_offset(test_publication_t *own, const char *topic, int partition,
                             int64_t offset, bf_group_metadata_t *group)
{
    own->offset = (bf_topic_partition_t){topic, partition, offset};
    own->publication.offsets = &own->offset;
    own->publication.offset_count = 1;
    own->publication.group = group;
}

void test_submit(bf_publisher_t *publisher, test_publication_t *own)
{
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_publisher_submit(publisher, &own->publication, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
}

void test_drain(bf_publisher_t *publisher)
{
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_publisher_drain(publisher, TEST_TIMEOUT_MS, &err), BF_OK, "%s",
                 err.text);
}

void test_assign(bf_consumer_t *consumer, const bf_topic_partition_t *partitions,
                 size_t count)
{
    bf_topic_partition_t from[16];
    bf_err_t err = BF_ERR_INIT;
    cr_assert_leq(count, sizeof(from) / sizeof(from[0]));
    for (size_t i = 0; i < count; i++) {
        from[i] = partitions[i];
        from[i].offset = 0;
    }
    cr_assert_eq(bf_consumer_assign(consumer, from, count, &err), BF_OK, "%s", err.text);
}

void test_wait_assigned(bf_consumer_t *consumer, const int *assigned, int count)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (*assigned != count) {
        bf_record_t record;
        bf_err_t err = BF_ERR_INIT;
        if (bf_consumer_poll(consumer, 100, &record, &err) == BF_OK) {
            bf_consumer_release(&record);
        }
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no assignment: %s", err.text);
    }
}

void test_produce(const char *brokers, const char *topic, int partition,
                  const char *prefix, int count)
{
    rd_kafka_t *rk = make_handle(RD_KAFKA_PRODUCER, brokers);
    for (int i = 0; i < count; i++) {
        char text[128];
        int len = snprintf(text, sizeof(text), "%s-%d", prefix, i);
        rd_kafka_resp_err_t rc = rd_kafka_producev(
            rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
            RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY("k", 1),
            RD_KAFKA_V_VALUE(text, (size_t)len), RD_KAFKA_V_END);
        cr_assert_eq(rc, RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    cr_assert_eq(rd_kafka_flush(rk, ADMIN_TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(rk);
}

/* Values of one partition, appended. */
static void read_partition(const char *brokers, const char *topic, int32_t partition,
                           bf_str_t *str)
{
    bf_reader_options_t options = {.brokers = brokers,
                                   .topic = topic,
                                   .one_partition = true,
                                   .partition = partition};
    bf_reader_t *reader = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_reader_open(&options, TEST_TIMEOUT_MS, &reader, &err), BF_OK, "%s",
                 err.text);
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (!bf_reader_at_end(reader)) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "%s does not come to an end", topic);
        bf_record_t record;
        if (bf_reader_next(reader, 500, &record, &err) == BF_OK) {
            bf_str_puts(str, str->len ? " " : "");
            bf_str_append(str, record.value, record.value_len);
            bf_reader_release(&record);
        }
        bf_err_clear(&err);
    }
    bf_reader_close(reader);
}

char *test_read_all(const char *brokers, const char *topic)
{
    bf_reader_options_t options = {.brokers = brokers, .topic = topic};
    bf_reader_t *reader = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_reader_open(&options, TEST_TIMEOUT_MS, &reader, &err), BF_OK, "%s",
                 err.text);
    int32_t partitions = bf_reader_partition_count(reader);
    bf_reader_close(reader);
    bf_str_t str;
    bf_str_init(&str, 0);
    for (int32_t p = 0; p < partitions; p++) {
        read_partition(brokers, topic, p, &str);
    }
    char *text = bf_str_take(&str, NULL);
    cr_assert_not_null(text);
    return text;
}
