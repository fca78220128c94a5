/*
 * test_publisher_transaction.c - what the publisher does about each kind of error
 *
 * On the embedded broker, which fails as it is told and needs no service; it has no
 * isolation, so that what an aborted attempt wrote is seen too. That nothing comes twice
 * is shown on a real broker (test_bus_kafka.c, test_publisher_unknown.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/embedded_broker.h"
#include "tests/support/bus.h"

#define API_PRODUCE           0
#define API_INIT_PRODUCER_ID  22
#define API_ADD_PARTITIONS    24
#define API_ADD_OFFSETS       25
#define API_END_TXN           26
#define API_TXN_OFFSET_COMMIT 28

typedef struct fixture {
    bf_embedded_broker_t *broker;
    bf_publisher_t *publisher;
    int published;
    int troubles;
    int ended;
    char trouble[512];
} fixture_t;

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    (void)publication;
    (void)duration_ns;
    fixture_t *f = arg;
    f->published++; /* read after a drain only, like the rest */
}

static void on_error(void *arg, bf_status_t status, const char *text, bool final)
{
    fixture_t *f = arg;
    cr_assert_neq(status, BF_OK);
    f->troubles += !final;
    f->ended += final;
    (void)snprintf(f->trouble, sizeof(f->trouble), "%s", text);
}

static fixture_t *fixture_new(void)
{
    fixture_t *f = calloc(1, sizeof(*f));
    cr_assert_not_null(f);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_embedded_broker_new(&f->broker, &err), BF_OK, "%s", err.text);
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "events", 1, &err), BF_OK);
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "commands", 1, &err), BF_OK);
    bf_publisher_options_t options = {.brokers = bf_embedded_broker_address(f->broker),
                                      .transactional_id = "tx",
                                      .group = "group",
                                      .on_published = on_published,
                                      .on_error = on_error,
                                      .arg = f};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &f->publisher, &err), BF_OK,
                 "%s", err.text);
    return f;
}

static void fixture_free(fixture_t *f)
{
    bf_publisher_free(f->publisher);
    bf_embedded_broker_free(f->broker);
    free(f);
}

/* One publication of two messages and an offset, while the broker answers the requests of
 * that kind with the error `times` times. Returns what a drain says. */
static bf_status_t publish(fixture_t *f, int16_t api, rd_kafka_resp_err_t error,
                           int times)
{
    for (int i = 0; i < times; i++) {
        rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(f->broker), api, 1,
                                          error);
    }
    bf_err_t err = BF_ERR_INIT;
    test_publication_t *own = test_publication("events", "e", 2, NULL);
    test_publication_offset(
        own, "commands", 0, 1,
        (bf_group_metadata_t *)rd_kafka_consumer_group_metadata_new("group"));
    test_submit(f->publisher, own);
    bf_status_t rc = bf_publisher_drain(f->publisher, TEST_TIMEOUT_MS, &err);
    rd_kafka_mock_clear_request_errors(bf_embedded_broker_mock(f->broker), api);
    return rc;
}

typedef struct error_case {
    int16_t api;
    rd_kafka_resp_err_t error;
    int times;
    bool troubles; /* somebody is told */
} error_case_t;

/* Errors after which the publication goes through. */
static const error_case_t passing[] = {
    {API_ADD_OFFSETS, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, 2, false},
    {API_ADD_OFFSETS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, 3, false},
    {API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, 3, false},
    {API_TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_NOT_COORDINATOR, 1, false},
    {API_END_TXN, RD_KAFKA_RESP_ERR_NOT_COORDINATOR, 1, false},
    {API_END_TXN, RD_KAFKA_RESP_ERR__TRANSPORT, 1, false},
    {API_PRODUCE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, 1, false},
    {API_TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, 1, true},
    {API_PRODUCE, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1, true},
    {API_PRODUCE, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 1, true},
    {API_PRODUCE, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, 1, true},
    {API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 1, true},
    {API_ADD_OFFSETS, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 1, true},
    {API_END_TXN, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, 1, true},
    {API_END_TXN, RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 1, true},
};

Test(publisher_transaction, publishes_in_spite_of_errors_that_pass)
{
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        const error_case_t *c = &passing[i];
        const char *name = rd_kafka_err2name(c->error);
        fixture_t *f = fixture_new();
        cr_expect_eq(publish(f, c->api, c->error, c->times), BF_OK, "%d %s: %s", c->api,
                     name, f->trouble);
        cr_expect_eq(f->published, 1, "%d %s", c->api, name);
        cr_expect_eq(f->ended, 0, "%d %s: %s", c->api, name, f->trouble);
        cr_expect_eq(f->troubles > 0, c->troubles, "%d %s: %s", c->api, name, f->trouble);
        cr_expect_eq(publish(f, c->api, c->error, 0), BF_OK, "%d %s: and the next",
                     c->api, name);
        cr_expect_eq(bf_publisher_state(f->publisher, NULL), BF_OK);
        fixture_free(f);
    }
}

/* Errors that end it until a discard. */
static const error_case_t ending[] = {
    {API_TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, 1, false},
    {API_TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, 1, false},
    {API_TXN_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, 1, false},
    {API_END_TXN, RD_KAFKA_RESP_ERR_PRODUCER_FENCED, 1, false},
    {API_END_TXN, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, 1, false},
    {API_ADD_OFFSETS, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, 1, false},
    {API_ADD_PARTITIONS, RD_KAFKA_RESP_ERR_PRODUCER_FENCED, 1, false},
};

Test(publisher_transaction, ends_when_it_is_fenced_and_works_after_a_discard)
{
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        const error_case_t *c = &ending[i];
        const char *name = rd_kafka_err2name(c->error);
        fixture_t *f = fixture_new();
        cr_expect_eq(publish(f, c->api, c->error, c->times), BF_E_FENCED, "%d %s: %s",
                     c->api, name, f->trouble);
        cr_expect_eq(f->ended, 1, "%d %s", c->api, name);
        cr_expect_eq(f->published, 0, "%d %s", c->api, name);
        bf_err_t err = BF_ERR_INIT;
        cr_expect_eq(bf_publisher_state(f->publisher, &err), BF_E_FENCED);
        cr_expect_str_eq(err.text, f->trouble);
        bf_publisher_discard(f->publisher);
        cr_expect_eq(publish(f, c->api, c->error, 0), BF_OK, "%d %s: after the discard",
                     c->api, name);
        cr_expect_eq(f->published, 1, "%d %s", c->api, name);
        fixture_free(f);
    }
}

Test(publisher_transaction, new__says_why_it_may_not)
{
    bf_embedded_broker_t *broker = NULL;
    bf_publisher_t *publisher = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_embedded_broker_new(&broker, &err), BF_OK);
    rd_kafka_mock_push_request_errors(
        bf_embedded_broker_mock(broker), API_INIT_PRODUCER_ID, 1,
        RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    bf_publisher_options_t options = {.brokers = bf_embedded_broker_address(broker),
                                      .transactional_id = "group-w1-0",
                                      .group = "group"};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &publisher, &err), BF_E_BUS,
                 "%s", err.text);
    cr_assert_not_null(strstr(err.text, "group-w1-0"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "needs WRITE and DESCRIBE"), "%s", err.text);
    bf_embedded_broker_free(broker);
}
