/*
 * test_bus_embedded.c - embedded broker, idempotent delivery, client; broker's errors
 *
 * No service is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/client.h"
#include "bpmflow/clock.h"
#include "bpmflow/embedded_broker.h"
#include "tests/support/bus.h"

#define API_PRODUCE       0
#define API_OFFSET_COMMIT 8

typedef struct fixture {
    bf_embedded_broker_t *broker;
    const char *brokers;
    bf_consumer_t *consumer;
    bf_publisher_t *publisher;
    int assigned;
    int published;
    int troubles; /* atomic */
    bool final;
    char trouble[512];
} fixture_t;

static const bf_property_t fetch_wait = {"fetch.wait.max.ms", BF_EMBEDDED_FETCH_WAIT_MS};

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
    (void)snprintf(f->trouble, sizeof(f->trouble), "%s", text);
    f->final = f->final || final;
    (void)__atomic_add_fetch(&f->troubles, 1, __ATOMIC_SEQ_CST);
}

static fixture_t *fixture_new(void)
{
    fixture_t *f = calloc(1, sizeof(*f));
    cr_assert_not_null(f);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_embedded_broker_new(&f->broker, &err), BF_OK, "%s", err.text);
    f->brokers = bf_embedded_broker_address(f->broker);
    static const char *const topics[] = {"commands", "replies", "events"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(bf_embedded_broker_create_topic(f->broker, topics[i], 1, &err),
                     BF_OK, "%s", err.text);
    }
    return f;
}

static void start_consumer_of(fixture_t *f, const char *topic)
{
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_options_t options = {.brokers = f->brokers,
                                     .group = "bpmflow",
                                     .topic = topic,
                                     .properties = &fetch_wait,
                                     .property_count = 1,
                                     .on_assign = on_assign,
                                     .arg = f};
    cr_assert_eq(bf_consumer_new(&options, &f->consumer, &err), BF_OK, "%s", err.text);
}

static void start_consumer(fixture_t *f)
{
    start_consumer_of(f, "commands");
}

static void start_publisher(fixture_t *f)
{
    static const char *const topics[] = {"events", "replies"};
    bf_err_t err = BF_ERR_INIT;
    bf_publisher_options_t options = {.brokers = f->brokers,
                                      .delivery = BF_DELIVERY_IDEMPOTENT,
                                      .topics = topics,
                                      .topic_count = 2,
                                      .consumer = f->consumer,
                                      .on_published = on_published,
                                      .on_error = on_error,
                                      .arg = f};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &f->publisher, &err), BF_OK,
                 "%s", err.text);
}

static void fixture_free(fixture_t *f)
{
    bf_publisher_free(f->publisher);
    bf_consumer_close(f->consumer);
    bf_embedded_broker_free(f->broker);
    free(f);
}

static void submit(fixture_t *f, const char *prefix, size_t count, int64_t offset)
{
    test_publication_t *own = test_publication("events", prefix, count, NULL);
    if (offset >= 0) {
        test_publication_offset(own, "commands", 0, offset, NULL);
    }
    test_submit(f->publisher, own);
}

static void expect_events(const fixture_t *f, const char *want)
{
    char *all = test_read_all(f->brokers, "events");
    cr_assert_str_eq(all, want);
    free(all);
}

Test(embedded_broker, new__has_an_address_topics_and_an_incarnation)
{
    fixture_t *f = fixture_new();
    bf_err_t err = BF_ERR_INIT;
    cr_assert_not_null(strstr(f->brokers, "127.0.0.1:"), "%s", f->brokers);
    cr_assert_eq(strlen(bf_embedded_broker_incarnation(f->broker)), 36);
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "commands", 1, &err),
                 BF_E_EXISTS, "%s", err.text);
    bf_embedded_broker_t *second = NULL;
    cr_assert_eq(bf_embedded_broker_new(&second, NULL), BF_OK);
    cr_assert_str_neq(bf_embedded_broker_incarnation(f->broker),
                      bf_embedded_broker_incarnation(second));
    cr_assert_str_neq(bf_embedded_broker_address(second), f->brokers);
    bf_embedded_broker_free(second);
    fixture_free(f);
}

static void wait_high(fixture_t *f, int64_t high)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (bf_consumer_cached_high(f->consumer, "two", 1) != high) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "nothing is fetched");
        bf_clock_sleep_ms(10);
    }
}

/* One batch: how many of its records are of the quiet partition; *next: the offset that
 * each of the two has come to. */
static int take_batch(fixture_t *f, int size, int64_t next[2])
{
    int quiet = 0;
    bf_consumer_next_turn(f->consumer);
    for (int i = 0; i < size; i++) {
        bf_record_t record;
        bf_err_t err = BF_ERR_INIT;
        bf_status_t rc = bf_consumer_poll(f->consumer, TEST_TIMEOUT_MS, &record, &err);
        cr_assert_eq(rc, BF_OK, "%d %s", (int)rc, err.text);
        cr_assert_eq(record.offset, next[record.partition]);
        next[record.partition]++;
        quiet += record.partition == 1;
        bf_consumer_release(&record);
    }
    return quiet;
}

Test(embedded_broker, next_turn__a_flood_holds_up_another_partition_for_one_batch)
{
    enum { FLOOD = 10000, QUIET = 2, BATCH = 100 };
    fixture_t *f = fixture_new();
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_embedded_broker_create_topic(f->broker, "two", 2, &err), BF_OK);
    start_consumer_of(f, "two");
    test_wait_assigned(f->consumer, &f->assigned, 2);
    test_produce(f->brokers, "two", 0, "flood", FLOOD);
    test_produce(f->brokers, "two", 1, "quiet", 1);
    wait_high(f, 1);
    test_produce(f->brokers, "two", 1, "quiet", 1);
    wait_high(f, 2); /* the answer with the first one is in the queue: here is another */

    int64_t next[2] = {0, 0};
    int first = take_batch(f, BATCH, next);
    int second = take_batch(f, BATCH, next);
    cr_assert_geq(first + second, 1, "the quiet partition waits for the flood");
    while (next[0] + next[1] < FLOOD + QUIET) {
        (void)take_batch(f, 1, next);
    }
    cr_assert_eq(next[0], FLOOD);
    fixture_free(f);
}

Test(embedded_broker, poll__waits_for_records_and_not_for_its_time)
{
    const int64_t ten_minutes_ms = 600000;
    fixture_t *f = fixture_new();
    start_consumer(f);
    test_wait_assigned(f->consumer, &f->assigned, 1);
    for (int64_t i = 0; i < 3; i++) {
        bf_record_t record = {.handle = NULL};
        bf_err_t err = BF_ERR_INIT;
        test_produce(f->brokers, "commands", 0, "c", 1);
        bf_status_t rc;
        do { /* it may come back early with nothing */
            rc = bf_consumer_poll(f->consumer, ten_minutes_ms, &record, &err);
        } while (rc == BF_E_TIMEOUT);
        cr_assert_eq(rc, BF_OK, "%s", err.text);
        cr_assert_eq(record.offset, i);
        bf_consumer_release(&record);
    }
    fixture_free(f);
}

Test(embedded_broker, topic__has_no_id_and_nobody_waits_for_it)
{
    fixture_t *f = fixture_new();
    start_consumer(f);
    int32_t partitions = 0;
    char id[65] = "x";
    bf_err_t err = BF_ERR_INIT;
    int64_t begin = bf_clock_mono_ms();
    cr_assert_eq(
        bf_consumer_topic(f->consumer, "events", TEST_TIMEOUT_MS, &partitions, id, &err),
        BF_OK, "%s", err.text);
    cr_assert_eq(partitions, 1);
    cr_assert_str_eq(id, "");
    cr_assert_lt(bf_clock_mono_ms() - begin, TEST_TIMEOUT_MS, "the whole time-out");
    fixture_free(f);
}

Test(publisher_idempotent, publishes_in_order_and_commits_the_offsets)
{
    fixture_t *f = fixture_new();
    start_consumer(f);
    start_publisher(f);
    test_wait_assigned(f->consumer, &f->assigned, 1);
    submit(f, "a", 2, 5);
    submit(f, "b", 0, 6); /* offsets alone are a publication too */
    submit(f, "c", 1, -1);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 3);
    cr_assert_eq(f->troubles, 0, "%s", f->trouble);
    expect_events(f, "a-0 a-1 c-0");
    bf_topic_partition_t partition = {"commands", 0, -1};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_consumer_committed(f->consumer, &partition, 1, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(partition.offset, 6);
    fixture_free(f);
}

Test(publisher_idempotent, survives_errors_that_pass)
{
    fixture_t *f = fixture_new();
    start_publisher(f);
    rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(f->broker), API_PRODUCE, 3,
                                      RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                                      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                                      RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
    submit(f, "a", 3, -1);
    submit(f, "b", 2, -1);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 2);
    expect_events(f, "a-0 a-1 a-2 b-0 b-1");
    fixture_free(f);
}

Test(publisher_idempotent, repeats_what_was_refused_and_says_why)
{
    fixture_t *f = fixture_new();
    start_publisher(f);
    rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(f->broker), API_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    submit(f, "a", 2, -1);
    submit(f, "b", 1, -1);
    test_drain(f->publisher);
    cr_assert_eq(f->published, 2);
    cr_assert_geq(f->troubles, 1);
    cr_assert_not(f->final);
    cr_assert_not_null(strstr(f->trouble, "events"), "%s", f->trouble);
    cr_assert_not_null(strstr(f->trouble, "WRITE"), "%s", f->trouble);
    cr_assert_not_null(strstr(f->trouble, "trying again in"), "%s", f->trouble);
    expect_events(f, "a-0 a-1 b-0");
    fixture_free(f);
}

/* As a worker does it: sent at once, and then handed over. */
static void submit_early(fixture_t *f, const char *prefix, int64_t offset)
{
    test_publication_t *own = test_publication("events", prefix, 1, NULL);
    bf_err_t err = BF_ERR_INIT;
    if (offset >= 0) {
        test_publication_offset(own, "commands", 0, offset, NULL);
    }
    cr_assert_eq(bf_publisher_early(f->publisher, &own->publication, &err), BF_OK, "%s",
                 err.text);
    test_submit(f->publisher, own);
}

/* What is queued behind the first publication stays there until somebody drains. */
static void start_lingering(fixture_t *f, size_t depth)
{
    bf_err_t err = BF_ERR_INIT;
    bf_publisher_options_t options = {.brokers = f->brokers,
                                      .delivery = BF_DELIVERY_IDEMPOTENT,
                                      .queue_depth = depth,
                                      .linger_ms = INT64_MAX / 4,
                                      .consumer = f->consumer,
                                      .on_published = on_published,
                                      .on_error = on_error,
                                      .arg = f};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &f->publisher, &err), BF_OK,
                 "%s", err.text);
}

static void wait_events(const fixture_t *f, const char *want)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    bool found = false;
    while (!found) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no events '%s'", want);
        char *all = test_read_all(f->brokers, "events");
        found = strcmp(all, want) == 0;
        free(all);
    }
}

Test(publisher_idempotent, events_leave_at_once_and_offsets_with_the_publication)
{
    fixture_t *f = fixture_new();
    start_consumer(f);
    start_lingering(f, 4);
    test_wait_assigned(f->consumer, &f->assigned, 1);
    submit_early(f, "a", 5);
    submit_early(f, "b", 6);
    submit_early(f, "c", 7);
    wait_events(f, "a-0 b-0 c-0");
    cr_assert_eq(bf_publisher_pending(f->publisher), 3, "nobody has asked for them");
    bf_topic_partition_t partition = {"commands", 0, -1};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_consumer_committed(f->consumer, &partition, 1, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
    cr_assert_lt(partition.offset, 0);
    test_drain(f->publisher); /* ends the linger */
    cr_assert_eq(f->published, 3);
    expect_events(f, "a-0 b-0 c-0");
    cr_assert_eq(bf_consumer_committed(f->consumer, &partition, 1, TEST_TIMEOUT_MS, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(partition.offset, 7);
    fixture_free(f);
}

Test(publisher_idempotent, a_full_queue_does_not_linger)
{
    fixture_t *f = fixture_new();
    start_lingering(f, 2);
    for (int i = 0; i < 9; i++) {
        submit_early(f, "x", -1); /* fails when the queue stays full */
    }
    test_drain(f->publisher);
    cr_assert_eq(f->published, 9);
    fixture_free(f);
}

Test(publisher_idempotent, nothing_stays_ahead_of_what_was_refused_early)
{
    fixture_t *f = fixture_new();
    start_lingering(f, 4);
    rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(f->broker), API_PRODUCE, 1,
                                      RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    submit_early(f, "a", -1);
    bf_clock_sleep_ms(300); /* its request is answered: it is not in one with the next */
    submit_early(f, "b", -1);
    submit_early(f, "c", -1);
    wait_events(f, "b-0 c-0");
    test_drain(f->publisher);
    cr_assert_eq(f->published, 3);
    expect_events(f, "b-0 c-0 a-0 b-0 c-0");
    submit_early(f, "d", -1); /* the way is free again */
    wait_events(f, "b-0 c-0 a-0 b-0 c-0 d-0");
    fixture_free(f);
}

Test(publisher_idempotent, an_offset_commit_of_a_stale_member_ends_it)
{
    fixture_t *f = fixture_new();
    start_consumer(f);
    start_publisher(f);
    test_wait_assigned(f->consumer, &f->assigned, 1);
    rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(f->broker),
                                      API_OFFSET_COMMIT, 1,
                                      RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION);
    submit(f, "a", 1, 3);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_publisher_drain(f->publisher, TEST_TIMEOUT_MS, &err), BF_E_FENCED,
                 "%s", err.text);
    cr_assert(f->final);
    bf_publisher_discard(f->publisher);
    f->assigned = 0;
    test_wait_assigned(f->consumer, &f->assigned,
                       1); /* librdkafka joins again by itself */
    submit(f, "b", 1, 4);
    test_drain(f->publisher);
    fixture_free(f);
}

Test(publisher, submit__refuses_a_message_over_the_limit)
{
    fixture_t *f = fixture_new();
    start_publisher(f);
    size_t max = bf_publisher_max_message_bytes(f->publisher);
    cr_assert_eq(max, 1000000);
    int released = 0;
    test_publication_t *own = test_publication("events", "x", 1, &released);
    free((char *)(uintptr_t)own->messages[0].value);
    own->messages[0].value = calloc(1, max);
    own->messages[0].value_len = max;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_publisher_submit(f->publisher, &own->publication, 0, &err),
                 BF_E_LIMIT);
    cr_assert_not_null(strstr(err.text, "message.max.bytes"), "%s", err.text);
    cr_assert_eq(released, 0);
    own->publication.release(own);
    fixture_free(f);
}

Test(publisher, free__releases_what_is_queued)
{
    fixture_t *f = fixture_new();
    bf_publisher_options_t options = {
        .brokers = f->brokers, .delivery = BF_DELIVERY_IDEMPOTENT, .queue_depth = 3};
    cr_assert_eq(bf_publisher_new(&options, TEST_TIMEOUT_MS, &f->publisher, NULL), BF_OK);
    rd_kafka_mock_broker_set_down(bf_embedded_broker_mock(f->broker), 1);
    int released = 0;
    int taken = 0;
    test_publication_t *more = test_publication("events", "x", 2, &released);
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc;
    while ((rc = bf_publisher_submit(f->publisher, &more->publication, 200, &err)) ==
           BF_OK) {
        taken++;
        more = test_publication("events", "y", 1, &released);
    }
    cr_assert_eq(rc, BF_E_TIMEOUT);
    cr_assert_not_null(strstr(err.text, "full"), "%s", err.text);
    /* Three wait, behind at least one in work. */
    cr_assert(taken > 3 && taken <= 6, "%d", taken);
    cr_assert_eq(bf_publisher_pending(f->publisher), (size_t)taken);
    bf_publisher_discard(f->publisher);
    cr_assert_eq(released, taken);
    cr_assert_eq(bf_publisher_submit(f->publisher, &more->publication, 1000, NULL),
                 BF_OK);
    bf_publisher_free(f->publisher);
    f->publisher = NULL;
    cr_assert_eq(released, taken + 1);
    fixture_free(f);
}

/* --- client --- */

static void release_arena(void *owner)
{
    bf_arena_fini(owner);
    free(owner);
}

/* A worker that answers everything with "accepted". */
static void answer(fixture_t *f, const bf_record_t *record)
{
    bf_codec_limits_t limits = {.require_key_match = true};
    bf_arena_t *arena = malloc(sizeof(*arena));
    bf_arena_init(arena, 0);
    bf_command_t command;
    bf_decoded_t what;
    bf_code_t code;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(
        bf_codec_decode_command(record, &limits, arena, &command, &what, &code, &err),
        BF_OK);
    cr_assert_eq(what, BF_DECODED, "%s", err.text);
    const bf_outcome_t outcome = {.code = BF_CODE_OK, .revision = 1};
    bf_str_t body;
    bf_str_init(&body, 0);
    bf_codec_write_reply(&body, &command, &outcome, false);
    bf_reply_t reply = {
        .topic = "replies",
        .instance_id = command.instance_id,
        .command_id = command.command_id,
        .body = {bf_arena_strndup(arena, bf_str_peek(&body), body.len), body.len}};
    bf_message_t *message = bf_arena_alloc(arena, sizeof(*message));
    cr_assert_eq(bf_codec_make_reply(arena, &reply, message, NULL), BF_OK);
    bf_str_fini(&body);
    bf_publication_t publication = {.messages = message,
                                    .message_count = 1,
                                    .release = release_arena,
                                    .owner = arena};
    cr_assert_eq(bf_publisher_submit(f->publisher, &publication, TEST_TIMEOUT_MS, NULL),
                 BF_OK);
}

static void *answer_two(void *arg)
{
    fixture_t *f = arg;
    for (int n = 0; n < 2;) {
        bf_record_t record;
        if (bf_consumer_poll(f->consumer, 200, &record, NULL) == BF_OK) {
            answer(f, &record);
            bf_consumer_release(&record);
            n++;
        }
    }
    return NULL;
}

Test(client, call__finds_its_own_reply_among_others)
{
    fixture_t *f = fixture_new();
    start_consumer(f);
    start_publisher(f);
    test_wait_assigned(f->consumer, &f->assigned, 1);
    bf_client_t *client = NULL;
    bf_client_options_t options = {.brokers = f->brokers,
                                   .command_topic = "commands",
                                   .reply_topic = "replies",
                                   .properties = &fetch_wait,
                                   .property_count = 1};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_client_new(&options, TEST_TIMEOUT_MS, &client, &err), BF_OK, "%s",
                 err.text);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, answer_two, f), 0);
    static const char other[] =
        "{\"command_id\":\"c\",\"instance_id\":\"i-1\",\"command\":\"claim\"}";
    static const char mine[] =
        "{\"command_id\":\"c\",\"instance_id\":\"i-2\",\"command\":\"find\"}";
    cr_assert_eq(bf_client_send(client, "i-1", other, sizeof(other) - 1, &err), BF_OK);
    bf_str_t reply;
    bf_str_init(&reply, 0);
    cr_assert_eq(bf_client_call(client, "i-2", "c", (bf_text_t){mine, sizeof(mine) - 1},
                                TEST_TIMEOUT_MS, &reply, &err),
                 BF_OK, "%s", err.text);
    cr_assert_not_null(strstr(bf_str_peek(&reply), "\"instance_id\":\"i-2\""), "%s",
                       bf_str_peek(&reply));
    bf_str_fini(&reply);
    pthread_join(thread, NULL);
    cr_assert_eq(bf_client_call(client, "i-3", "d", (bf_text_t){mine, sizeof(mine) - 1},
                                300, &reply, &err),
                 BF_E_TIMEOUT, "nobody answers");
    cr_assert_not_null(strstr(err.text, "does a worker"), "%s", err.text);
    bf_client_free(client);
    fixture_free(f);
}

Test(client, produce__sends_a_message_as_it_is)
{
    fixture_t *f = fixture_new();
    bf_client_t *client = NULL;
    bf_client_options_t options = {.brokers = f->brokers, .command_topic = "commands"};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_client_new(&options, TEST_TIMEOUT_MS, &client, &err), BF_OK, "%s",
                 err.text);
    const bf_header_t headers[] = {{"x", "\x00\x01", 2}, {"y", NULL, 0}};
    bf_message_t message = {.topic = "events",
                            .key = "k",
                            .key_len = 1,
                            .value = "v",
                            .value_len = 1,
                            .headers = headers,
                            .header_count = 2};
    cr_assert_eq(bf_client_produce(client, &message, &err), BF_OK);
    message.value = NULL;
    message.value_len = 0;
    message.key = NULL;
    message.key_len = 0;
    cr_assert_eq(bf_client_produce(client, &message, &err), BF_OK, "a tombstone");
    cr_assert_eq(bf_client_flush(client, TEST_TIMEOUT_MS, &err), BF_OK, "%s", err.text);
    message.value_len = 1000000;
    cr_assert_eq(bf_client_produce(client, &message, &err), BF_E_LIMIT);
    cr_assert_not_null(strstr(err.text, "message.max.bytes"), "%s", err.text);
    bf_err_clear(&err);
    bf_reader_t *reader = NULL;
    bf_reader_options_t from = {.brokers = f->brokers, .topic = "events"};
    cr_assert_eq(bf_reader_open(&from, TEST_TIMEOUT_MS, &reader, &err), BF_OK);
    bf_record_t record;
    cr_assert_eq(bf_reader_next(reader, TEST_TIMEOUT_MS, &record, &err), BF_OK);
    cr_assert_eq(record.header_count, 2);
    cr_assert_str_eq(record.headers[0].name, "x");
    cr_assert_eq(record.headers[0].len, 2);
    cr_assert_null(record.headers[1].value);
    cr_assert_eq(record.key_len, 1);
    bf_reader_release(&record);
    cr_assert_eq(bf_reader_next(reader, TEST_TIMEOUT_MS, &record, &err), BF_OK);
    cr_assert_null(record.value);
    cr_assert_null(record.key);
    bf_reader_release(&record);
    bf_reader_close(reader);
    bf_client_free(client);
    fixture_free(f);
}
