/*
 * test_publisher_unknown.c - commits whose outcome the publisher does not learn
 *
 * The program puts functions of its own before librdkafka's: they carry a call out, or do
 * not, and then report an error that is neither retriable nor abortable, as librdkafka
 * does when it has lost track.  On a real broker: its offsets and its transactions
 * decide.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "tests/support/bus.h"

/* What the next commit does. */
typedef enum {
    COMMIT_HONESTLY,
    COMMIT_AND_LOSE_THE_ANSWER,
    LOSE_THE_COMMIT,
    COMMIT_AND_BE_FENCED_LATE
} trick_t;

static trick_t trick; /* taken by the next commit; set while the publisher is idle */
static int commits;   /* calls of rd_kafka_commit_transaction() */

typedef rd_kafka_error_t *(*commit_fn)(rd_kafka_t *rk, int timeout_ms);

static trick_t take_trick(void)
{
    return __atomic_exchange_n(&trick, COMMIT_HONESTLY, __ATOMIC_SEQ_CST);
}

/* In the place of librdkafka's. */
rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *rk, int timeout_ms)
{
    commit_fn real = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "rd_kafka_commit_transaction");
    (void)__atomic_add_fetch(&commits, 1, __ATOMIC_SEQ_CST);
    switch (take_trick()) {
    case COMMIT_HONESTLY:
        return real(rk, timeout_ms);
    case COMMIT_AND_LOSE_THE_ANSWER: {
        rd_kafka_error_t *error = real(rk, -1);
        cr_assert_null(error, "the commit itself");
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__TRANSPORT, "the answer was lost");
    }
    case LOSE_THE_COMMIT:
        return rd_kafka_error_new(RD_KAFKA_RESP_ERR__TRANSPORT, "the commit was lost");
    case COMMIT_AND_BE_FENCED_LATE:
        break;
    }
    rd_kafka_error_t *error = real(rk, -1);
    cr_assert_null(error, "the commit itself");
    bf_clock_sleep_ms(1100); /* over the transaction time-out of the test */
    return rd_kafka_error_new(RD_KAFKA_RESP_ERR__FENCED, "timed out");
}

typedef struct fixture {
    const char *brokers;
    char *in;
    char *out;
    char *group;
    char *transactional_id;
    bf_consumer_t *consumer;
    bf_publisher_t *publisher;
    int assigned;
    int published;
    int troubles;
} fixture_t;

static void on_assign(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count)
{
    fixture_t *f = arg;
    test_assign(consumer, partitions, count);
    f->assigned = (int)count;
}

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    (void)publication;
    (void)duration_ns;
    fixture_t *f = arg;
    f->published++; /* read after a drain only */
}

static void on_error(void *arg, bf_status_t status, const char *text, bool final)
{
    (void)status;
    fixture_t *f = arg;
    cr_assert(!final, "%s", text);
    f->troubles++;
}

/* With a queue of one, each publication is a transaction of its own: of two that wait,
 * one is made. */
static fixture_t *fixture_new(int64_t transaction_timeout_ms, size_t queue_depth)
{
    fixture_t *f = calloc(1, sizeof(*f));
    cr_assert_not_null(f);
    bf_err_t err = BF_ERR_INIT;
    f->brokers = test_kafka();
    f->in = test_name("in");
    f->out = test_name("out");
    f->group = test_name("group");
    f->transactional_id = test_name("tx");
    test_topic_create(f->brokers, f->in, 2);
    test_topic_create(f->brokers, f->out, 1);
    bf_consumer_options_t consumer = {.brokers = f->brokers,
                                      .group = f->group,
                                      .topic = f->in,
                                      .on_assign = on_assign,
                                      .arg = f};
    cr_assert_eq(bf_consumer_new(&consumer, &f->consumer, &err), BF_OK, "%s", err.text);
    test_wait_assigned(f->consumer, &f->assigned, 2);
    bf_publisher_options_t publisher = {.brokers = f->brokers,
                                        .transactional_id = f->transactional_id,
                                        .group = f->group,
                                        .queue_depth = queue_depth,
                                        .transaction_timeout_ms = transaction_timeout_ms,
                                        .on_published = on_published,
                                        .on_error = on_error,
                                        .arg = f};
    cr_assert_eq(bf_publisher_new(&publisher, TEST_TIMEOUT_MS, &f->publisher, &err),
                 BF_OK, "%s", err.text);
    return f;
}

static void fixture_free(fixture_t *f)
{
    bf_publisher_free(f->publisher);
    bf_consumer_close(f->consumer);
    test_topic_delete(f->brokers, f->in);
    test_topic_delete(f->brokers, f->out);
    free(f->in);
    free(f->out);
    free(f->group);
    free(f->transactional_id);
    free(f);
}

/* One publication "<prefix>-0 <prefix>-1" that moves partition 0 of `in` to the offset.
 */
static void submit(fixture_t *f, const char *prefix, int64_t offset)
{
    test_publication_t *own = test_publication(f->out, prefix, 2, NULL);
    test_publication_offset(own, f->in, 0, offset,
                            bf_consumer_group_metadata(f->consumer));
    test_submit(f->publisher, own);
}

static void expect(fixture_t *f, const char *want, int64_t offset)
{
    char *all = test_read_all(f->brokers, f->out);
    cr_assert_str_eq(all, want);
    free(all);
    bf_err_t err = BF_ERR_INIT;
    bf_topic_partition_t partition = {f->in, 0, -1};
    cr_assert_eq(bf_consumer_committed(f->consumer, &partition, 1, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(partition.offset, offset, "%lld", (long long)partition.offset);
}

Test(publisher_unknown, a_commit_that_went_through_is_not_repeated)
{
    fixture_t *f = fixture_new(0, 1);
    submit(f, "a", 1);
    test_drain(f->publisher);
    trick = COMMIT_AND_LOSE_THE_ANSWER;
    submit(f, "b", 2);
    submit(f, "c", 3);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 3);
    cr_assert_eq(f->troubles, 1);
    cr_assert_eq(commits, 3, "b was committed once: %d", commits);
    expect(f, "a-0 a-1 b-0 b-1 c-0 c-1", 3);
    fixture_free(f);
}

Test(publisher_unknown, a_commit_that_was_lost_is_repeated)
{
    fixture_t *f = fixture_new(0, 1);
    trick = LOSE_THE_COMMIT;
    submit(f, "a", 1);
    submit(f, "b", 2);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 2);
    cr_assert_eq(f->troubles, 1);
    cr_assert_eq(commits, 3);
    expect(f, "a-0 a-1 b-0 b-1", 2);
    fixture_free(f);
}

Test(publisher_unknown, a_fence_after_the_time_out_is_no_second_worker)
{
    fixture_t *f = fixture_new(1000, 1);
    trick = COMMIT_AND_BE_FENCED_LATE;
    submit(f, "a", 1);
    submit(f, "b", 2);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 2);
    expect(f, "a-0 a-1 b-0 b-1", 2);
    fixture_free(f);
}

Test(publisher_unknown, a_discard_ends_the_open_transaction)
{
    fixture_t *f = fixture_new(0, 0);
    int released = 0;
    char *none = test_name("none"); /* cannot be published: it is tried again and again */
    test_publication_t *own = test_publication(none, "x", 1, &released);
    test_publication_offset(own, f->in, 0, 9, bf_consumer_group_metadata(f->consumer));
    test_submit(f->publisher, own);
    submit(f, "y", 10);
    bf_publisher_discard(f->publisher);
    cr_assert_eq(released, 1);
    cr_assert_eq(bf_publisher_pending(f->publisher), 0);
    submit(f, "z", 4);
    test_drain(f->publisher);
    expect(f, "z-0 z-1", 4);
    free(none);
    fixture_free(f);
}
