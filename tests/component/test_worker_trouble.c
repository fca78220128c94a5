/*
 * test_worker_trouble.c - the real worker: what must not spread from where it happens
 *
 * One damaged row, one partition that cannot be read, a commit or a publication that
 * hangs: the rest goes on, and nothing is published twice or left out.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "tests/support/bus.h"
#include "tests/support/worker_process.h"

static test_worker_t worker;

static void teardown(void)
{
    test_worker_end(&worker);
}

static void setup(void)
{
    test_worker_begin_kafka(&worker, 1);
}

TestSuite(worker_trouble, .init = setup, .fini = teardown, .timeout = 180);

static const bf_value_t *start_instance(int number)
{
    char id[32];
    (void)snprintf(id, sizeof(id), "c-%d", number);
    return test_worker_call(&worker, id, id,
                            "{'command_id':'c-%d','command':'start','instance_id':'c-%d',"
                            "'graph_id':'approve'}",
                            number, number);
}

static int64_t next_offset(void)
{
    return test_db_int(&worker.db,
                       "SELECT next_offset FROM bpm_flow_offset WHERE partition_no = 0");
}

/* --- the offset of the group --- */

static rd_kafka_topic_partition_list_t *one_partition(int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, test_worker_topic(&worker, "commands"), 0)
        ->offset = offset;
    return list;
}

/* A client of the group that is no member. */
static rd_kafka_t *group_client(void)
{
    char why[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    (void)rd_kafka_conf_set(conf, "bootstrap.servers", worker.brokers, NULL, 0);
    (void)rd_kafka_conf_set(conf, "group.id", worker.topics, NULL, 0);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    cr_assert_not_null(rk, "%s", why);
    return rk;
}

static int64_t group_offset(void)
{
    rd_kafka_t *rk = group_client();
    rd_kafka_topic_partition_list_t *list = one_partition(RD_KAFKA_OFFSET_INVALID);
    cr_assert_eq(rd_kafka_committed(rk, list, TEST_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    int64_t offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
    return offset;
}

/* The group must be empty. */
static void set_group_offset(int64_t offset)
{
    rd_kafka_t *rk = group_client();
    rd_kafka_topic_partition_list_t *list = one_partition(offset);
    cr_assert_eq(rd_kafka_commit(rk, list, /* async= */ 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
}

/* Applied up to 5, with the worker stopped in order. */
static void apply_five(void)
{
    test_worker_start(&worker);
    for (int i = 0; i < 5; i++) {
        test_assert_code(start_instance(i), "ok");
    }
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(next_offset(), 5);
    cr_assert_eq(group_offset(), 5);
}

/* --- K > D: a crash right after it is as harmless as any other --- */

Test(worker_trouble, restored_database__moves_the_group_back_before_it_is_worked_on)
{
    apply_five();
    test_db_sql(&worker.db, "UPDATE bpm_flow_offset SET next_offset = 2");
    /* The first batch cannot commit. */
    test_db_sql(&worker.db, "LOCK TABLES bpm_flow_command WRITE");
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the database is older than Kafka (offset 2 against 5)",
                         1);
    test_worker_wait_log(&worker, "claimed at offset 2", 1);
    cr_assert_eq(test_worker_stop(&worker, SIGKILL), -SIGKILL);
    test_db_sql(&worker.db, "UNLOCK TABLES");
    cr_assert_eq(group_offset(), 2, "what is applied and not published would be lost");
}

/* --- an offset row that was deleted, as a stopped partition asks for --- */

Test(worker_trouble, deleted_offset_row__begins_anew_and_applies_nothing_twice)
{
    apply_five();
    test_db_sql(&worker.db, "DELETE FROM bpm_flow_offset");
    test_worker_start(&worker);
    test_assert_code(start_instance(5), "ok");
    cr_assert_eq(next_offset(), 6);
    cr_assert_eq(test_worker_count_log(&worker, "starting over"), 0);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 6);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                         "rev > 1"),
                 0, "the commands are known by their IDs");
}

/* --- a publication that hangs while a partition is taken over --- */

Test(worker_trouble, take_over_that_hangs__publishes_once)
{
    char topic[128];
    apply_five();
    set_group_offset(2);
    test_worker_set(&worker, "kafka.transaction_timeout_ms", "2000");
    test_db_sql(&worker.db, "START TRANSACTION");
    cr_assert_eq(test_db_int(&worker.db, "SELECT epoch FROM bpm_flow_offset FOR UPDATE"),
                 1);
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "1 partitions are assigned", 2);
    (void)snprintf(topic, sizeof(topic), "%s", test_worker_topic(&worker, "replies"));
    test_topic_delete(worker.brokers, topic);
    test_db_sql(&worker.db, "COMMIT");
    test_worker_wait_log(&worker, "not everything is published", 1);
    bf_clock_sleep_ms(1000); /* it tries again meanwhile; nothing depends on when */
    test_topic_create(worker.brokers, topic, 1);
    test_worker_wait_ready(&worker, true);
    cr_assert_eq(test_worker_count(&worker, "replies"), 3);
    cr_assert_eq(group_offset(), 5);
}

/* --- rows that were damaged --- */

Test(worker_trouble, damaged_instance__is_refused_and_the_others_go_on)
{
    test_worker_start(&worker);
    test_assert_code(start_instance(0), "ok");
    test_assert_code(start_instance(1), "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_db_sql(&worker.db,
                "UPDATE bpm_flow_repository SET states = '{\"approve' WHERE instant_id = "
                "'c-1'");
    test_worker_start(&worker);
    const bf_value_t *reply = test_worker_call(
        &worker, "c-1", "s-1",
        "{'command_id':'s-1','command':'submit','instance_id':'c-1','node_id':'leader',"
        "'actor':'li'}");
    test_assert_code(reply, "storage_rejected");
    test_assert_code(start_instance(2), "ok");
    reply = test_worker_call(
        &worker, "c-1", "s-1",
        "{'command_id':'s-1','command':'submit','instance_id':'c-1','node_id':'leader',"
        "'actor':'li'}");
    test_assert_code(reply, "storage_rejected");
    cr_assert_eq(next_offset(), 5);
}

Test(worker_trouble, history_that_is_gone__stops_its_partition_only)
{
    test_worker_start(&worker);
    test_assert_code(start_instance(0), "ok");
    test_assert_code(
        test_worker_call(&worker, "c-0", "s-0",
                         "{'command_id':'s-0','command':'submit','instance_id':'c-0',"
                         "'node_id':'leader','actor':'li'}"),
        "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    set_group_offset(0);
    test_db_sql(&worker.db, "DELETE FROM bpm_flow_task");
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the partition is stopped: ", 1);
    test_worker_wait_log(&worker, "the history was changed or removed", 1);
    test_worker_wait_ready(&worker, false);
    cr_assert_eq(test_worker_count_log(&worker, "starting over"), 0);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(group_offset(), 0, "nothing is skipped");
}

/* --- many copies of a command --- */

Test(worker_trouble, copies_of_an_applied_command__are_found_at_once)
{
    enum { COPIES = 300 };
    test_worker_start(&worker);
    test_assert_code(start_instance(0), "ok");
    cr_assert_eq(kill(worker.pid, SIGSTOP), 0);
    for (int i = 0; i < COPIES; i++) {
        test_worker_send(&worker, "c-0",
                         "{'command_id':'c-0','command':'start','instance_id':'c-0',"
                         "'graph_id':'approve'}");
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(kill(worker.pid, SIGCONT), 0);
    test_assert_code(start_instance(1), "ok");
    cr_assert_eq(
        test_worker_metric(&worker, "bpmflow_commands_duplicate_total{shard=\"0\"}"),
        COPIES);
    /* one attempt that fails, and one with all of them answered, for each batch */
    cr_assert_leq(
        test_worker_metric(&worker,
                           "bpmflow_stage_seconds_count{shard=\"0\",stage=\"commit\"}"),
        20);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command WHERE "
                                         "command_id IS NULL"),
                 COPIES);
}

/* --- names --- */

/* Group "g" with worker "h-w" and group "g-h" with worker "w" are two. */
Test(worker_trouble, transactional_id__names_group_worker_and_shard_without_doubt)
{
    char expected[128];
    test_worker_start(&worker);
    (void)snprintf(expected, sizeof(expected), "%s/test/0", worker.topics);
    cr_assert_str_eq(
        test_db_text(&worker.db, "SELECT transactional_id FROM bpm_flow_offset"),
        expected);
}

/* --- messages that Kafka would not take --- */

#define MESSAGE_MAX 1000000 /* message.max.bytes */

/* A definition whose first task has so many bytes of meta; every answer about it has
 * them. */
static void write_large_graph(size_t meta_bytes)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "%s/large.json", worker.folder);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    (void)fputs("{\"id\":\"large\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                "{\"id\":\"a\",\"meta\":{\"actor\":\"li\",\"x\":\"",
                file);
    for (size_t i = 0; i < meta_bytes; i++) {
        (void)fputc('x', file);
    }
    (void)fputs("\"}},{\"id\":\"e\",\"type\":\"end\"}]}", file);
    cr_assert_eq(fclose(file), 0);
    test_worker_set(&worker, "graphs.paths", "%s", path);
}

static void remove_large_graph(void)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "%s/large.json", worker.folder);
    (void)remove(path);
}

static void send_large(int number, const bf_header_t *headers, size_t header_count)
{
    char key[16];
    char value[160];
    bf_err_t err = BF_ERR_INIT;
    (void)snprintf(key, sizeof(key), "c-%03d", number);
    (void)snprintf(value, sizeof(value),
                   "{\"command_id\":\"%s\",\"command\":\"find\",\"instance_id\":\"%s\","
                   "\"graph_id\":\"large\"}",
                   key, key);
    const bf_message_t message = {.topic = test_worker_topic(&worker, "commands"),
                                  .key = key,
                                  .key_len = strlen(key),
                                  .value = value,
                                  .value_len = strlen(value),
                                  .headers = headers,
                                  .header_count = header_count};
    cr_assert_eq(bf_client_produce(worker.client, &message, &err), BF_OK, "%s", err.text);
}

/* Bytes of the next reply as a message. */
static size_t reply_bytes(void)
{
    bf_record_t record;
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    while (bf_client_poll_reply(worker.client, 100, &record, NULL) != BF_OK) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no reply");
    }
    const bf_message_t message = {.key_len = record.key_len,
                                  .value_len = record.value_len,
                                  .headers = record.headers,
                                  .header_count = record.header_count};
    size_t bytes = bf_message_bytes(&message);
    bf_consumer_release(&record);
    return bytes;
}

Test(worker_trouble, repeated_command_with_a_longer_trace__is_answered_all_the_same)
{
    char state[501];
    write_large_graph(1000);
    test_worker_start(&worker);
    send_large(0, NULL, 0);
    size_t meta = 1000 + MESSAGE_MAX - 300 - reply_bytes();
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    write_large_graph(meta); /* its reply has 300 bytes to spare, or none */
    test_worker_start(&worker);
    send_large(1, NULL, 0);
    (void)reply_bytes();
    memset(state, 'x', sizeof(state) - 1);
    state[1] = '=';
    const bf_header_t headers[] = {
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 55},
        {"tracestate", state, sizeof(state) - 1}};
    send_large(1, headers, 2);
    (void)reply_bytes();
    cr_assert_eq(test_worker_count_log(&worker, "starting over"), 0);
    remove_large_graph();
}

Test(worker_trouble, answers_that_are_too_large__are_refused_in_two_rounds)
{
    enum { COMMANDS = 100 };
    write_large_graph(1200000);
    test_worker_start(&worker);
    cr_assert_eq(kill(worker.pid, SIGSTOP), 0);
    for (int i = 0; i < COMMANDS; i++) {
        send_large(i, NULL, 0);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(kill(worker.pid, SIGCONT), 0);
    test_assert_code(test_worker_reply(&worker, "c-099"), "limit_exceeded");
    cr_assert_leq(
        test_worker_metric(&worker,
                           "bpmflow_stage_seconds_count{shard=\"0\",stage=\"execute\"}"),
        20);
    remove_large_graph();
}

/* Small commands with large answers: their memory is bounded by smaller batches. */
Test(worker_trouble, answers_that_are_large__come_in_smaller_batches)
{
    enum { COMMANDS = 400 };
    write_large_graph(800000);
    test_worker_set(&worker, "batch.max_bytes", "4000000");
    test_worker_start(&worker);
    cr_assert_eq(kill(worker.pid, SIGSTOP), 0);
    for (int i = 0; i < COMMANDS; i++) {
        send_large(i, NULL, 0);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(kill(worker.pid, SIGCONT), 0);
    test_assert_code(test_worker_reply(&worker, "c-399"), "ok");
    cr_assert_geq(test_worker_metric(&worker, "bpmflow_batches_total{shard=\"0\"}"), 10);
    remove_large_graph();
}

/* --- a partition that cannot be read any more --- */

#define API_FETCH 1

static bf_embedded_broker_t *mock; /* in here, so that it can be told what to answer */

static void setup_mock(void)
{
    static const char *const kinds[] = {"commands", "replies", "events", "dead-letters"};
    bf_err_t err = BF_ERR_INIT;
    test_worker_begin(&worker);
    cr_assert_eq(bf_embedded_broker_new(&mock, &err), BF_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        cr_assert_eq(bf_embedded_broker_create_topic(
                         mock, test_worker_topic(&worker, kinds[i]), 1, &err),
                     BF_OK, "%s", err.text);
    }
    test_worker_set(&worker, "kafka.embedded", "false");
    test_worker_set(&worker, "kafka.brokers", "%s", bf_embedded_broker_address(mock));
    test_worker_set(&worker, "events.delivery", "idempotent");
}

static void teardown_mock(void)
{
    test_worker_end(&worker);
    bf_embedded_broker_free(mock);
}

TestSuite(worker_mock, .init = setup_mock, .fini = teardown_mock, .timeout = 120);

/* A client that reads nothing: the fetches are the worker's. */
static void connect_without_replies(void)
{
    char topic[128];
    bf_err_t err = BF_ERR_INIT;
    (void)snprintf(topic, sizeof(topic), "%s", test_worker_topic(&worker, "commands"));
    const bf_client_options_t options = {.brokers = bf_embedded_broker_address(mock),
                                         .command_topic = topic};
    cr_assert_eq(bf_client_new(&options, TEST_WAIT_MS, &worker.client, &err), BF_OK, "%s",
                 err.text);
}

Test(worker_mock, partition_that_fails_with_records_in_hand__stops_and_nothing_else_does)
{
    /* Both come into one batch: the record with one fetch, the error with the next. */
    test_worker_set(&worker, "batch.linger_ms", "1000");
    test_worker_set(&worker, "kafka.consumer_properties", "fetch.wait.max.ms=100");
    test_worker_spawn(&worker);
    test_worker_wait_ready(&worker, true);
    connect_without_replies();
    test_worker_send(&worker, "c-0",
                     "{'command_id':'c-0','command':'start','instance_id':'c-0',"
                     "'graph_id':'approve'}");
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    bf_clock_sleep_ms(200);
    rd_kafka_mock_push_request_errors(bf_embedded_broker_mock(mock), API_FETCH, 1,
                                      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
    test_worker_wait_log(&worker, "the partition is stopped: ", 1);
    test_worker_wait_ready(&worker, false); /* and it lives */
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(next_offset(),
                 test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"));
}

/* --- asked to stop before it has begun --- */

Test(worker_mock, sigterm_while_the_tables_are_waited_for__ends_in_order)
{
    test_worker_set(&worker, "mysql.auto_migrate", "true");
    test_worker_set(&worker, "mysql.port", "1");
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "; waiting", 1);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}
