/*
 * test_bus_kafka.c - consumer and publisher on a real Kafka broker
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "tests/support/bus.h"

/* --- one shard: a consumer of one partition and its publisher --- */

typedef struct shard {
    const char *brokers;
    char *in;
    char *out;
    char *group;
    char *transactional_id;
    bf_consumer_t *consumer;
    bf_publisher_t *publisher;
    int assigned; /* partitions in the last assignment */
    int revoked;
    int lost;
    int published;
    int troubles; /* that are retried */
    int ended;
    char trouble[512];
} shard_t;

static void on_assign(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count)
{
    shard_t *shard = arg;
    bf_topic_partition_t copy[16];
    bf_err_t err = BF_ERR_INIT;
    cr_assert_leq(count, 16);
    memcpy(copy, partitions, count * sizeof(copy[0]));
    cr_assert_eq(bf_consumer_committed(consumer, copy, count, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
    for (size_t i = 0; i < count; i++) {
        copy[i].offset = copy[i].offset < 0 ? 0 : copy[i].offset;
    }
    cr_assert_eq(bf_consumer_assign(consumer, copy, count, &err), BF_OK, "%s", err.text);
    shard->assigned = (int)count;
}

static void on_revoke(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count, bool lost)
{
    (void)consumer;
    (void)partitions;
    shard_t *shard = arg;
    shard->revoked += (int)count;
    shard->lost += lost;
    shard->assigned = 0;
}

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    (void)publication;
    cr_assert_gt(duration_ns, 0);
    shard_t *shard = arg;
    (void)__atomic_add_fetch(&shard->published, 1, __ATOMIC_SEQ_CST);
}

/* Read by the test after a drain only. */
static void on_error(void *arg, bf_status_t status, const char *text, bool final)
{
    (void)status;
    shard_t *shard = arg;
    (void)__atomic_add_fetch(final ? &shard->ended : &shard->troubles, 1,
                             __ATOMIC_SEQ_CST);
    (void)snprintf(shard->trouble, sizeof(shard->trouble), "%s", text);
}

static void start_consumer(shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_options_t options = {.brokers = shard->brokers,
                                     .group = shard->group,
                                     .topic = shard->in,
                                     .client_id = "test",
                                     .session_timeout_ms = 6000,
                                     .on_assign = on_assign,
                                     .on_revoke = on_revoke,
                                     .arg = shard};
    cr_assert_eq(bf_consumer_new(&options, &shard->consumer, &err), BF_OK, "%s",
                 err.text);
}

static bf_publisher_options_t publisher_options(shard_t *shard)
{
    bf_publisher_options_t options = {.brokers = shard->brokers,
                                      .client_id = "test",
                                      .transactional_id = shard->transactional_id,
                                      .group = shard->group,
                                      .on_published = on_published,
                                      .on_error = on_error,
                                      .arg = shard};
    return options;
}

static void start_publisher(shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    bf_publisher_options_t options = publisher_options(shard);
    const char *const topics[] = {shard->out};
    options.topics = topics;
    options.topic_count = 1;
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &shard->publisher, &err),
                 BF_OK, "%s", err.text);
}

static shard_t *shard_new(int partitions)
{
    shard_t *shard = calloc(1, sizeof(*shard));
    cr_assert_not_null(shard);
    shard->brokers = test_kafka();
    shard->in = test_name("in");
    shard->out = test_name("out");
    shard->group = test_name("group");
    shard->transactional_id = test_name("tx");
    test_topic_create(shard->brokers, shard->in, partitions);
    test_topic_create(shard->brokers, shard->out, partitions);
    return shard;
}

static void shard_free(shard_t *shard)
{
    bf_publisher_free(shard->publisher);
    bf_consumer_close(shard->consumer);
    test_topic_delete(shard->brokers, shard->in);
    test_topic_delete(shard->brokers, shard->out);
    free(shard->in);
    free(shard->out);
    free(shard->group);
    free(shard->transactional_id);
    free(shard);
}

/* Poll until so many records came; their values are checked to be in order. */
static int64_t consume(shard_t *shard, const char *prefix, int count)
{
    int64_t next = -1;
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    for (int i = 0; i < count;) {
        bf_record_t record;
        bf_err_t err = BF_ERR_INIT;
        bf_status_t rc = bf_consumer_poll(shard->consumer, 500, &record, &err);
        cr_assert_lt(bf_clock_mono_ms(), deadline, "%d of %d records came: %s", i, count,
                     err.text);
        if (rc != BF_OK) {
            continue;
        }
        char want[128];
        (void)snprintf(want, sizeof(want), "%s-%d", prefix, i);
        cr_assert_eq(record.value_len, strlen(want));
        cr_assert_eq(memcmp(record.value, want, record.value_len), 0, "%.*s",
                     (int)record.value_len, record.value);
        next = record.offset + 1;
        bf_consumer_release(&record);
        i++;
    }
    return next;
}

static int64_t committed(shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    bf_topic_partition_t partition = {shard->in, 0, -1};
    cr_assert_eq(
        bf_consumer_committed(shard->consumer, &partition, 1, TEST_TIMEOUT_MS, &err),
        BF_OK, "%s", err.text);
    return partition.offset;
}

static void expect_out(const shard_t *shard, const char *want)
{
    char *all = test_read_all(shard->brokers, shard->out);
    cr_assert_str_eq(all, want);
    free(all);
}

Test(bus_kafka, publish__messages_and_offsets_are_one_transaction)
{
    shard_t *shard = shard_new(1);
    int released = 0;
    test_produce(shard->brokers, shard->in, 0, "c", 3);
    start_publisher(shard);
    start_consumer(shard);
    int64_t next = consume(shard, "c", 3);
    cr_assert_eq(next, 3);
    cr_assert_eq(committed(shard), -1);
    for (int i = 0; i < 3; i++) {
        char prefix[16];
        (void)snprintf(prefix, sizeof(prefix), "b%d", i);
        test_publication_t *own = test_publication(shard->out, prefix, 2, &released);
        test_publication_offset(own, shard->in, 0, i + 1,
                                bf_consumer_group_metadata(shard->consumer));
        test_submit(shard->publisher, own);
    }
    test_drain(shard->publisher);
    cr_assert_eq(committed(shard), 3);
    cr_assert_eq(released, 3);
    cr_assert_eq(shard->published, 3);
    cr_assert_eq(shard->troubles, 0, "%s", shard->trouble);
    expect_out(shard, "b0-0 b0-1 b1-0 b1-1 b2-0 b2-1");
    shard_free(shard);
}

/* What a new owner does first: publish again what the old one did not, before it answers
 * with its offsets. */
static void on_assign_recover(void *arg, bf_consumer_t *consumer,
                              const bf_topic_partition_t *partitions, size_t count)
{
    shard_t *shard = arg;
    test_publication_t *own = test_publication(shard->out, "again", 2, NULL);
    test_publication_offset(own, shard->in, 0, 2, bf_consumer_group_metadata(consumer));
    test_submit(shard->publisher, own);
    test_drain(shard->publisher);
    on_assign(arg, consumer, partitions, count);
}

Test(bus_kafka, publish__works_within_the_assignment)
{
    shard_t *shard = shard_new(1);
    test_produce(shard->brokers, shard->in, 0, "c", 3);
    start_publisher(shard);
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_options_t options = {.brokers = shard->brokers,
                                     .group = shard->group,
                                     .topic = shard->in,
                                     .on_assign = on_assign_recover,
                                     .on_revoke = on_revoke,
                                     .arg = shard};
    cr_assert_eq(bf_consumer_new(&options, &shard->consumer, &err), BF_OK);
    bf_record_t record;
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (bf_consumer_poll(shard->consumer, 500, &record, &err) != BF_OK) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no record: %s", err.text);
        bf_err_clear(&err);
    }
    cr_assert_eq(record.offset, 2);
    bf_consumer_release(&record);
    cr_assert_eq(committed(shard), 2);
    expect_out(shard, "again-0 again-1");
    shard_free(shard);
}

/* --- transactions of others --- */

/* A transactional producer without the library. */
static rd_kafka_t *raw_transaction(const char *brokers, const char *transactional_id)
{
    char why[256] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof(why));
    rd_kafka_conf_set(conf, "transactional.id", transactional_id, why, sizeof(why));
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
    cr_assert_not_null(rk, "%s", why);
    cr_assert_null(rd_kafka_init_transactions(rk, TEST_TIMEOUT_MS));
    cr_assert_null(rd_kafka_begin_transaction(rk));
    return rk;
}

static void raw_produce(rd_kafka_t *rk, const char *topic, const char *value)
{
    cr_assert_eq(
        rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)value, strlen(value)),
                          RD_KAFKA_V_END),
        RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(rd_kafka_flush(rk, TEST_TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

Test(bus_kafka, poll__never_returns_what_was_aborted)
{
    shard_t *shard = shard_new(1);
    rd_kafka_t *rk = raw_transaction(shard->brokers, shard->transactional_id);
    raw_produce(rk, shard->in, "aborted");
    cr_assert_null(rd_kafka_abort_transaction(rk, TEST_TIMEOUT_MS));
    rd_kafka_destroy(rk);
    test_produce(shard->brokers, shard->in, 0, "c", 2);
    start_consumer(shard);
    int64_t next = consume(shard, "c", 2);
    /* The broker may write the marker of the abort at any place behind it. */
    cr_assert_geq(next, 3, "the aborted record takes an offset: %lld", (long long)next);
    shard_free(shard);
}

Test(bus_kafka, fence__ends_the_hanging_transaction_of_a_dead_owner)
{
    shard_t *shard = shard_new(1);
    test_produce(shard->brokers, shard->in, 0, "c", 1);
    start_consumer(shard);
    consume(shard, "c", 1);
    rd_kafka_t *rk = raw_transaction(shard->brokers, shard->transactional_id);
    raw_produce(rk, shard->out, "hanging");
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, shard->in, 0)->offset = 1;
    bf_group_metadata_t *group = bf_consumer_group_metadata(shard->consumer);
    cr_assert_null(rd_kafka_send_offsets_to_transaction(
        rk, list, (const rd_kafka_consumer_group_metadata_t *)group, TEST_TIMEOUT_MS));
    rd_kafka_topic_partition_list_destroy(list);
    bf_group_metadata_free(group);
    rd_kafka_destroy(rk); /* dies without a word */

    bf_err_t err = BF_ERR_INIT;
    bf_topic_partition_t partition = {shard->in, 0, -1};
    cr_assert_eq(bf_consumer_committed(shard->consumer, &partition, 1, 1500, &err),
                 BF_E_TIMEOUT);
    bf_err_clear(&err);
    bf_publisher_options_t options = publisher_options(shard);
    cr_assert_eq(
        bf_publisher_fence(&options, shard->transactional_id, TEST_TIMEOUT_MS, &err),
        BF_OK, "%s", err.text);
    cr_assert_eq(committed(shard), -1, "the dead owner's offsets were aborted");
    expect_out(shard, "");
    shard_free(shard);
}

/* --- what ends a publisher --- */

Test(bus_kafka, publish__a_second_worker_with_the_same_name_is_told)
{
    shard_t *first = shard_new(1);
    start_publisher(first);
    test_submit(first->publisher, test_publication(first->out, "one", 1, NULL));
    test_drain(first->publisher);
    shard_t *second = shard_new(1);
    free(second->transactional_id);
    second->transactional_id = strdup(first->transactional_id);
    start_publisher(second);

    bf_err_t err = BF_ERR_INIT;
    int released = 0;
    test_submit(first->publisher, test_publication(first->out, "two", 1, &released));
    cr_assert_eq(bf_publisher_drain(first->publisher, TEST_TIMEOUT_MS, &err),
                 BF_E_FENCED);
    cr_assert_not_null(strstr(err.text, first->transactional_id), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "worker.id"), "%s", err.text);
    cr_assert_eq(bf_publisher_state(first->publisher, NULL), BF_E_FENCED);
    cr_assert_eq(first->ended, 1);
    test_publication_t *third = test_publication(first->out, "three", 1, &released);
    cr_assert_eq(bf_publisher_submit(first->publisher, &third->publication, 1000, NULL),
                 BF_E_FENCED);
    cr_assert_eq(released, 0, "a publication that is refused stays the caller's");
    expect_out(first, "one-0");

    bf_publisher_discard(first->publisher);
    cr_assert_eq(released, 1, "the one that was queued is released");
    test_submit(first->publisher, third);
    test_drain(first->publisher);
    expect_out(first, "one-0 three-0");
    shard_free(second);
    shard_free(first);
}

Test(bus_kafka, publish__a_generation_that_is_over_is_refused)
{
    shard_t *shard = shard_new(2);
    start_publisher(shard);
    start_consumer(shard);
    test_wait_assigned(shard->consumer, &shard->assigned, 2);
    bf_group_metadata_t *old = bf_consumer_group_metadata(shard->consumer);
    shard_t *other = shard_new(1);
    free(other->group);
    char *in = other->in;
    other->group = strdup(shard->group);
    other->in = shard->in;
    start_consumer(other);
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (shard->assigned != 1 || other->assigned != 1) {
        bf_record_t record;
        (void)!bf_consumer_poll(shard->consumer, 50, &record, NULL);
        (void)!bf_consumer_poll(other->consumer, 50, &record, NULL);
        cr_assert_lt(bf_clock_mono_ms(), deadline, "%d %d", shard->assigned,
                     other->assigned);
    }
    cr_assert_eq(shard->revoked, 2);
    cr_assert_eq(shard->lost, 0, "a rebalance in order loses nothing");

    test_publication_t *own = test_publication(shard->out, "old", 1, NULL);
    test_publication_offset(own, shard->in, 0, 7, old);
    test_submit(shard->publisher, own);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_publisher_drain(shard->publisher, TEST_TIMEOUT_MS, &err), BF_E_FENCED,
                 "%s", err.text);
    expect_out(shard, "");
    cr_assert_eq(committed(shard), -1);

    bf_publisher_discard(shard->publisher);
    own = test_publication(shard->out, "new", 1, NULL);
    test_publication_offset(own, shard->in, 0, 7,
                            bf_consumer_group_metadata(shard->consumer));
    test_submit(shard->publisher, own);
    test_drain(shard->publisher);
    expect_out(shard, "new-0");
    cr_assert_eq(committed(shard), 7);
    other->in = in;
    shard_free(other);
    shard_free(shard);
}

/* --- what is tried again --- */

Test(bus_kafka, publish__waits_for_a_topic_that_is_missing_and_loses_nothing)
{
    shard_t *shard = shard_new(1);
    char *late = test_name("late");
    start_publisher(shard);
    test_publication_t *own = test_publication(late, "a", 2, NULL);
    own->messages[0].topic = shard->out; /* one that could be published alone */
    test_submit(shard->publisher, own);
    test_submit(shard->publisher, test_publication(shard->out, "b", 1, NULL));
    bf_err_t err = BF_ERR_INIT;
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (!__atomic_load_n(&shard->troubles, __ATOMIC_SEQ_CST)) {
        cr_assert_lt(bf_clock_mono_ms(), deadline);
        bf_clock_sleep_ms(50);
    }
    cr_assert_eq(bf_publisher_drain(shard->publisher, 100, &err), BF_E_TIMEOUT);
    cr_assert_not_null(strstr(err.text, late), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "create"), "%s", err.text);
    expect_out(shard, "");
    test_topic_create(shard->brokers, late, 1);
    test_drain(shard->publisher);
    expect_out(shard, "a-0 b-0");
    char *all = test_read_all(shard->brokers, late);
    cr_assert_str_eq(all, "a-1");
    free(all);
    test_topic_delete(shard->brokers, late);
    free(late);
    shard_free(shard);
}

/* --- sentences --- */

static int start_offset; /* of on_assign_at() */

static void on_assign_at(void *arg, bf_consumer_t *consumer,
                         const bf_topic_partition_t *partitions, size_t count)
{
    shard_t *shard = arg;
    bf_topic_partition_t one = partitions[0];
    one.offset = start_offset;
    cr_assert_eq(bf_consumer_assign(consumer, &one, 1, NULL), BF_OK);
    shard->assigned = (int)count;
}

/* The first error of a poll that is not one to wait for. */
static bf_status_t poll_error(bf_consumer_t *consumer, bf_record_t *ret, bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    for (;;) {
        bf_err_clear(err);
        bf_status_t rc = bf_consumer_poll(consumer, 500, ret, err);
        cr_assert_neq(rc, BF_OK, "a record came");
        if (rc != BF_E_TIMEOUT) {
            return rc;
        }
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no error came");
    }
}

Test(bus_kafka, poll__says_what_an_offset_out_of_range_means)
{
    shard_t *shard = shard_new(1);
    test_produce(shard->brokers, shard->in, 0, "c", 5);
    test_topic_trim(shard->brokers, shard->in, 0, 3);
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_options_t options = {.brokers = shard->brokers,
                                     .group = shard->group,
                                     .topic = shard->in,
                                     .on_assign = on_assign_at,
                                     .arg = shard};
    start_offset = 1;
    cr_assert_eq(bf_consumer_new(&options, &shard->consumer, &err), BF_OK);
    bf_record_t record;
    cr_assert_eq(poll_error(shard->consumer, &record, &err), BF_E_BUS, "%s", err.text);
    cr_assert_eq(record.partition, 0);
    cr_assert_str_eq(record.topic, shard->in);
    cr_assert_not_null(strstr(err.text, shard->in), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "retention"), "%s", err.text);
    int64_t low = -1;
    int64_t high = -1;
    cr_assert_eq(bf_consumer_watermarks(shard->consumer, shard->in, 0, TEST_TIMEOUT_MS,
                                        &low, &high, &err),
                 BF_OK);
    cr_assert_eq(low, 3);
    cr_assert_eq(high, 5);
    shard_free(shard);
}

Test(bus_kafka, new__a_topic_that_is_missing_is_named_with_the_remedy)
{
    shard_t *shard = shard_new(3);
    char *none = test_name("none");
    bf_err_t err = BF_ERR_INIT;
    bf_publisher_options_t options = publisher_options(shard);
    options.topics = (const char *const *)&none;
    options.topic_count = 1;
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &shard->publisher, &err),
                 BF_E_NOT_FOUND, "%s", err.text);
    cr_assert_not_null(strstr(err.text, none), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "--create"), "%s", err.text);

    start_consumer(shard);
    int32_t partitions = 0;
    char id[65];
    bf_err_clear(&err);
    cr_assert_eq(
        bf_consumer_topic(shard->consumer, none, TEST_TIMEOUT_MS, &partitions, id, &err),
        BF_E_NOT_FOUND, "%s", err.text);
    bf_err_clear(&err);
    cr_assert_eq(bf_consumer_topic(shard->consumer, shard->in, TEST_TIMEOUT_MS,
                                   &partitions, id, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(partitions, 3);
    bf_consumer_close(shard->consumer);
    shard->consumer = NULL;

    char *in = shard->in;
    shard->in = none;
    start_consumer(shard);
    bf_record_t record;
    cr_assert_eq(poll_error(shard->consumer, &record, &err), BF_E_BUS, "%s", err.text);
    cr_assert_eq(record.partition, -1);
    cr_assert_not_null(strstr(err.text, "--create"), "%s", err.text);
    shard->in = in;
    free(none);
    shard_free(shard);
}

/* A recreated topic looks the same but for its ID. */
Test(bus_kafka, topic__has_an_id_that_changes_when_it_is_created_again)
{
    shard_t *shard = shard_new(1);
    start_consumer(shard);
    char first[65];
    char second[65];
    int32_t partitions = 0;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_consumer_topic(shard->consumer, shard->in, TEST_TIMEOUT_MS,
                                   &partitions, first, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(strlen(first), 22, "'%s'", first);
    cr_assert_eq(bf_consumer_topic(shard->consumer, shard->in, TEST_TIMEOUT_MS,
                                   &partitions, second, &err),
                 BF_OK);
    cr_assert_str_eq(first, second);
    test_topic_delete(shard->brokers, shard->in);
    test_topic_create(shard->brokers, shard->in, 1);
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    do { /* the broker may answer from before the deletion for a moment */
        cr_assert_lt(bf_clock_mono_ms(), deadline, "the same ID");
        cr_assert_eq(bf_consumer_topic(shard->consumer, shard->in, TEST_TIMEOUT_MS,
                                       &partitions, second, &err),
                     BF_OK, "%s", err.text);
        cr_assert_eq(strlen(second), 22, "'%s'", second);
    } while (!strcmp(first, second));
    shard_free(shard);
}

Test(bus_kafka, new__a_property_of_ours_or_a_wrong_one_is_refused)
{
    shard_t *shard = shard_new(1);
    const bf_property_t wrong[] = {{"fetch.wait.max.mss", "10"},
                                   {"isolation.level", "read_uncommitted"},
                                   {"fetch.wait.max.ms", "soon"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        bf_err_t err = BF_ERR_INIT;
        bf_consumer_options_t options = {.brokers = shard->brokers,
                                         .group = shard->group,
                                         .topic = shard->in,
                                         .properties = &wrong[i],
                                         .property_count = 1};
        cr_assert_eq(bf_consumer_new(&options, &shard->consumer, &err), BF_E_INVALID);
        cr_assert_not_null(strstr(err.text, wrong[i].name), "%s", err.text);
        cr_assert_eq(bf_property_check(&wrong[i], true, NULL), BF_E_INVALID);
    }
    shard_free(shard);
}

Test(bus_kafka, seek__goes_back_and_pause_holds_records)
{
    shard_t *shard = shard_new(1);
    test_produce(shard->brokers, shard->in, 0, "c", 10);
    start_consumer(shard);
    consume(shard, "c", 4);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_consumer_pause(shard->consumer, true, &err), BF_OK, "%s", err.text);
    cr_assert_eq(bf_consumer_seek(shard->consumer, shard->in, 0, 0, &err), BF_OK, "%s",
                 err.text);
    bf_record_t record;
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(bf_consumer_poll(shard->consumer, 20, &record, &err), BF_E_TIMEOUT);
    }
    cr_assert_eq(bf_consumer_pause(shard->consumer, false, &err), BF_OK, "%s", err.text);
    cr_assert_eq(consume(shard, "c", 10), 10);
    cr_assert_eq(bf_consumer_cached_high(shard->consumer, shard->in, 0), 10);
    shard_free(shard);
}

static void on_assign_nothing(void *arg, bf_consumer_t *consumer,
                              const bf_topic_partition_t *partitions, size_t count)
{
    (void)consumer;
    (void)partitions;
    shard_t *shard = arg;
    shard->assigned = (int)count;
}

Test(bus_kafka, assign__may_come_later_than_the_callback)
{
    shard_t *shard = shard_new(1);
    test_produce(shard->brokers, shard->in, 0, "c", 3);
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_options_t options = {.brokers = shard->brokers,
                                     .group = shard->group,
                                     .topic = shard->in,
                                     .on_assign = on_assign_nothing,
                                     .on_revoke = on_revoke,
                                     .arg = shard};
    cr_assert_eq(bf_consumer_new(&options, &shard->consumer, &err), BF_OK);
    test_wait_assigned(shard->consumer, &shard->assigned, 1);
    bf_record_t record;
    cr_assert_eq(bf_consumer_poll(shard->consumer, 200, &record, &err), BF_E_TIMEOUT);
    bf_topic_partition_t partition = {shard->in, 0, 0};
    cr_assert_eq(bf_consumer_assign(shard->consumer, &partition, 1, &err), BF_OK);
    consume(shard, "c", 3);
    bf_consumer_close(shard->consumer);
    shard->consumer = NULL;
    cr_assert_eq(shard->revoked, 1, "closing gives the partitions back");
    shard_free(shard);
}

/* --- no broker --- */

Test(bus_nobody, new__says_that_no_broker_answers)
{
    bf_err_t err = BF_ERR_INIT;
    bf_publisher_t *publisher = NULL;
    bf_publisher_options_t options = {
        .brokers = "127.0.0.1:1", .transactional_id = "t", .group = "g"};
    cr_assert_eq(bf_publisher_new(&options, 1500, &publisher, &err), BF_E_TIMEOUT);
    cr_assert_not_null(strstr(err.text, "127.0.0.1:1"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "kafka.brokers"), "%s", err.text);
    bf_err_clear(&err);
    cr_assert_eq(bf_publisher_fence(&options, "t", 1000, &err), BF_E_TIMEOUT, "%s",
                 err.text);
}

Test(bus_nobody, poll__says_that_no_broker_answers_and_goes_on)
{
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_t *consumer = NULL;
    bf_consumer_options_t options = {
        .brokers = "127.0.0.1:1", .group = "g", .topic = "t"};
    cr_assert_eq(bf_consumer_new(&options, &consumer, &err), BF_OK);
    bf_record_t record;
    cr_assert_eq(poll_error(consumer, &record, &err), BF_E_BUS_RETRY, "%s", err.text);
    cr_assert_not_null(strstr(err.text, "127.0.0.1:1"), "%s", err.text);
    bf_consumer_close(consumer);
}
