/*
 * test_publisher_handle.c - when a producer handle is used again, and when another is
 * made
 *
 * Requests that were on their way when something went wrong may arrive late, and then
 * count for the next transaction of the same producer epoch.  So a handle lives only
 * while everything goes well.  On the embedded broker, whose delays and failures are
 * chosen between the calls: the program puts functions of its own before librdkafka's.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/embedded_broker.h"
#include "tests/support/bus.h"

#define TRANSACTION_MS 2000
#define SLOW_MS        1500 /* over what a commit is given: the half of that */

/* What happens at the next commit. */
typedef enum { GOES_WELL, IS_SLOW, LOSES_CONNECTION } trick_t;

static trick_t trick;
static int commits;
static int inits;     /* one for each handle, if it is not asked again */
static int again;     /* commits of the handle that has lost its connection */
static char lost[64]; /* its name: librdkafka numbers them */
static rd_kafka_mock_cluster_t *cluster;

typedef rd_kafka_error_t *(*call_fn)(rd_kafka_t *rk, int timeout_ms);

static call_fn real_of(const char *name)
{
    call_fn real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    return real;
}

rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *rk, int timeout_ms)
{
    rd_kafka_error_t *error = real_of("rd_kafka_init_transactions")(rk, timeout_ms);
    (void)__atomic_add_fetch(&inits, error == NULL, __ATOMIC_SEQ_CST);
    return error;
}

rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *rk, int timeout_ms)
{
    trick_t now = __atomic_exchange_n(&trick, GOES_WELL, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&commits, 1, __ATOMIC_SEQ_CST);
    if (now == IS_SLOW) {
        rd_kafka_mock_broker_set_rtt(cluster, 1, SLOW_MS);
    }
    if (!strcmp(lost, rd_kafka_name(rk))) {
        again++;
    }
    if (now == LOSES_CONNECTION) {
        (void)snprintf(lost, sizeof(lost), "%s", rd_kafka_name(rk));
        rd_kafka_mock_broker_set_down(cluster, 1);
        rd_kafka_mock_broker_set_up(cluster, 1);
    }
    rd_kafka_error_t *error = real_of("rd_kafka_commit_transaction")(rk, timeout_ms);
    rd_kafka_mock_broker_set_rtt(cluster, 1, 0);
    return error;
}

typedef struct fixture {
    bf_embedded_broker_t *broker;
    bf_publisher_t *publisher;
    int published;
} fixture_t;

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    (void)publication;
    (void)duration_ns;
    fixture_t *f = arg;
    f->published++; /* read after a drain only */
}

static fixture_t *fixture_new(void)
{
    fixture_t *f = calloc(1, sizeof(*f));
    cr_assert_not_null(f);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_embedded_broker_new(&f->broker, &err), BF_OK, "%s", err.text);
    cluster = bf_embedded_broker_mock(f->broker);
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "events", 1, &err), BF_OK);
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "commands", 1, &err), BF_OK);
    bf_publisher_options_t options = {.brokers = bf_embedded_broker_address(f->broker),
                                      .transactional_id = "tx",
                                      .group = "group",
                                      .transaction_timeout_ms = TRANSACTION_MS,
                                      .on_published = on_published,
                                      .arg = f};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &f->publisher, &err), BF_OK,
                 "%s", err.text);
    cr_assert_eq(inits, 1);
    return f;
}

static void fixture_free(fixture_t *f)
{
    bf_publisher_free(f->publisher);
    bf_embedded_broker_free(f->broker);
    free(f);
}

static void publish(fixture_t *f, trick_t at_commit)
{
    test_publication_t *own = test_publication("events", "e", 2, NULL);
    test_publication_offset(
        own, "commands", 0, 1,
        (bf_group_metadata_t *)rd_kafka_consumer_group_metadata_new("group"));
    trick = at_commit;
    test_submit(f->publisher, own);
    test_drain(f->publisher);
}

Test(publisher_handle, is_used_again_while_everything_goes_well)
{
    fixture_t *f = fixture_new();
    for (int i = 0; i < 5; i++) {
        publish(f, GOES_WELL);
    }
    cr_assert_eq(f->published, 5);
    cr_assert_eq(commits, 5);
    cr_assert_eq(inits, 1);
    fixture_free(f);
}

Test(publisher_handle, a_commit_that_times_out_is_not_resumed)
{
    fixture_t *f = fixture_new();
    publish(f, IS_SLOW);
    cr_assert_eq(f->published, 1);
    cr_assert_eq(commits, 2, "one for each handle: %d", commits);
    cr_assert_eq(inits, 2);
    fixture_free(f);
}

Test(publisher_handle, is_not_used_again_after_an_error_of_the_connection)
{
    fixture_t *f = fixture_new();
    publish(f, LOSES_CONNECTION);
    publish(f, GOES_WELL);
    cr_assert_eq(f->published, 2);
    /* The commit itself goes through, or (on a busy machine) is given up and repeated. */
    cr_assert_eq(again, 0, "%s committed once more", lost);
    cr_assert_geq(commits, 2);
    cr_assert_geq(inits, 2);
    fixture_free(f);
}
