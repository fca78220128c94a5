/*
 * cli_world.c - tables and topics as workers leave them; see cli_world.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/cli_world.h"

#include <criterion/criterion.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/client.h"
#include "bpmflow/clock.h"
#include "tests/support/bus.h"

#define NOW_MS 1700000000123

static const char graph_text[] = "id: g\nlayout:\n"
                                 "  - {id: s, type: start}\n"
                                 "  - {id: a, meta: {actor: ann}}\n"
                                 "  - {id: b, meta: {actor: bob}}\n"
                                 "  - {id: e, type: end}\n";

/* --- rows --- */

typedef struct rows {
    cli_world_t *world;
    bf_store_t *store;
    bf_instance_t *instances[WORLD_INSTANCES];
    bf_history_t history[WORLD_MAX];
    size_t history_count;
    bf_command_row_t commands[WORLD_MAX];
    size_t command_count;
    int64_t epochs[WORLD_PARTITIONS];
} rows_t;

static int32_t partition_of(const char *key)
{
    return (int32_t)((bf_murmur2(key, strlen(key)) & 0x7fffffffu) % WORLD_PARTITIONS);
}

static bf_text_t make_reply(cli_world_t *world, const bf_command_row_t *row)
{
    bf_str_t json;
    bf_str_init(&json, 0);
    bf_command_t command = {.command_id = row->command_id,
                            .verb = row->first_seq ? BF_VERB_SUBMIT : BF_VERB_START,
                            .instance_id = row->instance_id};
    bf_outcome_t outcome = {.code = BF_CODE_OK,
                            .revision = row->last_seq + 1,
                            .instance_state = BF_INSTANCE_RUNNING};
    bf_codec_write_reply(&json, &command, &outcome, false);
    bf_text_t body = {bf_arena_strndup(&world->arena, json.data, json.len), json.len};
    cr_assert_not_null(body.data);
    bf_str_fini(&json);
    return body;
}

static void add_history(rows_t *rows, const bf_command_row_t *command, int32_t seq)
{
    bool last = seq == WORLD_STEPS;
    rows->history[rows->history_count++] = (bf_history_t){
        .instance_id = command->instance_id,
        .graph_id = "g",
        .graph_version = 1,
        .seq = seq,
        .action = BF_ACTION_FORWARD,
        .task_id = "a",
        .source = {"a", "a", "activity"},
        .target = {last ? "e" : "b", last ? "e" : "b", "activity"},
        .assignee = "ann",
        .status = BF_TASK_COMPLETED,
        .variables = {"{\"day\":3}", 9},
        .message = "fine",
        .instance_state = last ? BF_INSTANCE_COMPLETED : BF_INSTANCE_RUNNING,
        .command_id = command->command_id,
        .creator = "ann",
        .create_time_ms = NOW_MS + seq};
    if (rows->world->jobs && seq == 2) {
        bf_history_t *row = &rows->history[rows->history_count - 1];
        row->action = BF_ACTION_DISPATCH;
        row->target =
            (bf_history_node_t){rows->world->jobs, rows->world->jobs, BF_DISPATCH_TYPE};
        row->status = BF_TASK_WAITING;
        row->message = "{\"limit\":5}";
    }
}

/* Command `step` of instance `i`: 0 is the start, 1 and 2 write one row each, 3 two. */
static void add_command(rows_t *rows, int i, int step)
{
    cli_world_t *world = rows->world;
    const char *id = bf_arena_printf(&world->arena, "i-%d", i);
    int32_t p = partition_of(id);
    bf_command_row_t *row = &rows->commands[rows->command_count++];
    *row = (bf_command_row_t){.topic = world->commands,
                              .partition_no = p,
                              .offset = world->applied[p]++,
                              .instance_id = id,
                              .command_id =
                                  bf_arena_printf(&world->arena, "c-%d-%d", i, step),
                              .command = step ? "submit" : "start",
                              .code = "ok",
                              .first_seq = step,
                              .last_seq = step == 3 ? 4 : step,
                              .reply_topic = world->replies,
                              .create_time_ms = NOW_MS};
    row->reply = make_reply(world, row);
    for (int32_t seq = row->first_seq; seq > 0 && seq <= row->last_seq; seq++)
        add_history(rows, row, seq);
}

static bf_instance_t *make_instance(int i)
{
    char id[16];
    bf_graph_t *graph = NULL;
    (void)snprintf(id, sizeof id, "i-%d", i);
    cr_assert_eq(
        bf_graph_load_text(graph_text, strlen(graph_text), NULL, NULL, &graph, NULL),
        BF_OK);
    bf_instance_t *inst = bf_instance_new(id);
    cr_assert_not_null(inst);
    bf_value_t day = bf_value_int(3);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_pin_graph(inst, graph), BF_OK);
    cr_assert_eq(bf_instance_state_put(inst, "g:a", BF_TASK_COMPLETED), BF_OK);
    cr_assert_eq(bf_instance_state_put(inst, "g:b", BF_TASK_WAITING), BF_OK);
    cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), "day", &day), BF_OK);
    for (int seq = 1; seq <= WORLD_STEPS; seq++)
        cr_assert_eq(bf_instance_next_seq(inst), seq);
    bf_instance_set_status(inst, BF_INSTANCE_COMPLETED);
    cr_assert_eq(bf_instance_touch(inst, "ann", NOW_MS), BF_OK);
    bf_instance_set_partition(inst, partition_of(id));
    bf_instance_commit(inst);
    bf_graph_unref(graph);
    return inst;
}

static void claim(rows_t *rows)
{
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        bf_partition_row_t before;
        bf_partition_row_t after;
        bf_err_t err = BF_ERR_INIT;
        bf_partition_claim_t claimed = {.topic = rows->world->commands,
                                        .partition_no = p,
                                        .topic_id = "",
                                        .owner = "worker-1/0",
                                        .incarnation = "",
                                        .transactional_id = "t"};
        cr_assert_eq(
            bf_store_claim_partition(rows->store, &claimed, &before, &after, &err), BF_OK,
            "%s", err.text);
        rows->epochs[p] = after.epoch;
    }
}

static void commit(rows_t *rows)
{
    bf_offset_advance_t offsets[WORLD_PARTITIONS];
    size_t offset_count = 0;
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        if (rows->world->applied[p] > 0)
            offsets[offset_count++] = (bf_offset_advance_t){
                rows->world->commands, p, rows->epochs[p], 0, rows->world->applied[p]};
    bf_batch_write_t batch = {.offsets = offsets,
                              .offset_count = offset_count,
                              .instances = rows->instances,
                              .instance_count = WORLD_INSTANCES,
                              .history = rows->history,
                              .history_count = rows->history_count,
                              .commands = rows->commands,
                              .command_count = rows->command_count};
    bf_commit_report_t report;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_store_commit(rows->store, &batch, &report, &err), BF_OK, "%s",
                 err.text);
}

static void make_messages(rows_t *rows)
{
    cli_world_t *world = rows->world;
    for (size_t i = 0; i < rows->history_count; i++)
        cr_assert_eq(bf_codec_make_event(&world->arena, world->events, &rows->history[i],
                                         NULL, &world->event[world->event_count++]),
                     BF_OK);
    for (size_t i = 0; i < rows->history_count; i++)
        if (rows->history[i].action == BF_ACTION_DISPATCH)
            cr_assert_eq(bf_codec_make_job(&world->arena, &rows->history[i], NULL,
                                           &world->job[world->job_count++]),
                         BF_OK);
    for (size_t i = 0; i < rows->command_count; i++) {
        const bf_command_row_t *row = &rows->commands[i];
        bf_reply_t reply = {.topic = world->replies,
                            .instance_id = row->instance_id,
                            .command_id = row->command_id,
                            .body = row->reply,
                            .create_time_ms = NOW_MS};
        cr_assert_eq(bf_codec_make_reply(&world->arena, &reply,
                                         &world->reply[world->reply_count++], NULL),
                     BF_OK);
    }
}

static void make_rows(cli_world_t *world)
{
    rows_t *rows = calloc(1, sizeof *rows);
    cr_assert_not_null(rows);
    rows->world = world;
    rows->store = test_db_open_store(&world->db);
    claim(rows);
    for (int step = 0; step < WORLD_STEPS; step++)
        for (int i = 0; i < WORLD_INSTANCES; i++)
            add_command(rows, i, step);
    for (int i = 0; i < WORLD_INSTANCES; i++)
        rows->instances[i] = make_instance(i);
    commit(rows);
    make_messages(rows);
    for (int i = 0; i < WORLD_INSTANCES; i++)
        bf_instance_free(rows->instances[i]);
    bf_store_close(rows->store);
    free(rows);
}

/* --- topics --- */

static void set_env(cli_world_t *world, size_t place, const char *name, const char *value)
{
    (void)snprintf(world->texts[place], sizeof world->texts[place], "%s=%s", name, value);
    world->env[place] = world->texts[place];
}

static void make_env(cli_world_t *world)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%u", (unsigned)world->db.options.port);
    set_env(world, 0, "BPMFLOW_BROKERS", world->brokers);
    set_env(world, 1, "BPMFLOW_COMMAND_TOPIC", world->commands);
    set_env(world, 2, "BPMFLOW_REPLY_TOPIC", world->replies);
    set_env(world, 3, "BPMFLOW_EVENT_TOPIC", world->events);
    set_env(world, 4, "BPMFLOW_DEAD_LETTER_TOPIC", world->dead);
    set_env(world, 5, "BPMFLOW_GROUP", world->group);
    set_env(world, 6, "BPMFLOW_DB_HOST", world->db.options.host);
    set_env(world, 7, "BPMFLOW_DB_PORT", port);
    set_env(world, 8, "BPMFLOW_DB_USER", world->db.options.user);
    set_env(world, 9, "BPMFLOW_DB_PASSWORD", world->db.options.password);
    set_env(world, 10, "BPMFLOW_DB_NAME", world->db.name);
    world->env[11] = NULL;
    world->cli.env = world->env;
}

static void begin(cli_world_t *world, bool with_jobs)
{
    memset(world, 0, sizeof *world);
    bf_arena_init(&world->arena, 0);
    world->brokers = test_kafka();
    test_db_begin(&world->db);
    world->commands = test_name("commands");
    world->replies = test_name("replies");
    world->events = test_name("events");
    world->dead = test_name("dead");
    world->group = test_name("group");
    world->jobs = with_jobs ? test_name("jobs") : NULL;
    if (with_jobs)
        test_topic_create(world->brokers, world->jobs, WORLD_PARTITIONS);
    test_topic_create(world->brokers, world->commands, WORLD_PARTITIONS);
    test_topic_create(world->brokers, world->replies, WORLD_PARTITIONS);
    test_topic_create(world->brokers, world->events, WORLD_PARTITIONS);
    test_topic_create(world->brokers, world->dead, 1);
    make_env(world);
    make_rows(world);
}

void cli_world_begin(cli_world_t *world)
{
    begin(world, false);
}

void cli_world_begin_with_jobs(cli_world_t *world)
{
    begin(world, true);
}

void cli_world_end(cli_world_t *world)
{
    test_topic_delete(world->brokers, world->commands);
    test_topic_delete(world->brokers, world->replies);
    test_topic_delete(world->brokers, world->events);
    test_topic_delete(world->brokers, world->dead);
    if (world->jobs)
        test_topic_delete(world->brokers, world->jobs);
    test_db_end(&world->db);
    free(world->commands);
    free(world->replies);
    free(world->events);
    free(world->dead);
    free(world->jobs);
    free(world->group);
    bf_arena_fini(&world->arena);
    test_cli_fini(&world->cli);
}

static bf_client_t *make_client(cli_world_t *world)
{
    bf_client_t *client = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_client_options_t options = {.brokers = world->brokers,
                                   .command_topic = world->commands};
    cr_assert_eq(bf_client_new(&options, TEST_TIMEOUT_MS, &client, &err), BF_OK, "%s",
                 err.text);
    return client;
}

static void send_all(bf_client_t *client, const bf_message_t *messages, size_t count)
{
    bf_err_t err = BF_ERR_INIT;
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(bf_client_produce(client, &messages[i], &err), BF_OK, "%s",
                     err.text);
    cr_assert_eq(bf_client_flush(client, TEST_TIMEOUT_MS, &err), BF_OK, "%s", err.text);
}

void cli_world_produce(cli_world_t *world, const bf_message_t *message)
{
    bf_client_t *client = make_client(world);
    send_all(client, message, 1);
    bf_client_free(client);
}

void cli_world_publish(cli_world_t *world)
{
    bf_client_t *client = make_client(world);
    send_all(client, world->event, world->event_count);
    send_all(client, world->reply, world->reply_count);
    send_all(client, world->job, world->job_count);
    bf_client_free(client);
}

void cli_world_produce_to(cli_world_t *world, const bf_message_t *message,
                          int32_t partition)
{
    char why[200];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    cr_assert_eq(
        rd_kafka_conf_set(conf, "bootstrap.servers", world->brokers, why, sizeof why),
        RD_KAFKA_CONF_OK);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    cr_assert_not_null(rk, "%s", why);
    rd_kafka_resp_err_t code = rd_kafka_producev(
        rk, RD_KAFKA_V_TOPIC(message->topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_KEY(message->key, message->key_len),
        RD_KAFKA_V_VALUE((void *)(uintptr_t)message->value, message->value_len),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    cr_assert_eq(code, RD_KAFKA_RESP_ERR_NO_ERROR);
    cr_assert_eq(rd_kafka_flush(rk, TEST_TIMEOUT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_destroy(rk);
}

static void on_assign(void *arg, bf_consumer_t *consumer,
                      const bf_topic_partition_t *partitions, size_t count)
{
    (void)consumer;
    (void)partitions;
    *(size_t *)arg = count;
}

void cli_world_commit_group(cli_world_t *world, int64_t behind)
{
    size_t assigned = 0;
    bf_err_t err = BF_ERR_INIT;
    bf_consumer_t *consumer = NULL;
    bf_consumer_options_t options = {.brokers = world->brokers,
                                     .group = world->group,
                                     .topic = world->commands,
                                     .on_assign = on_assign,
                                     .arg = &assigned};
    cr_assert_eq(bf_consumer_new(&options, &consumer, &err), BF_OK, "%s", err.text);
    int64_t deadline = bf_clock_mono_ms() + TEST_TIMEOUT_MS;
    while (assigned < WORLD_PARTITIONS) {
        bf_record_t record;
        cr_assert_lt(bf_clock_mono_ms(), deadline);
        if (bf_consumer_poll(consumer, 100, &record, NULL) == BF_OK)
            bf_consumer_release(&record);
    }
    bf_topic_partition_t offsets[WORLD_PARTITIONS];
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        offsets[p] =
            (bf_topic_partition_t){world->commands, p, world->applied[p] - behind};
    cr_assert_eq(bf_consumer_commit(consumer, offsets, WORLD_PARTITIONS, &err), BF_OK,
                 "%s", err.text);
    bf_consumer_close(consumer);
}

void cli_world_remove(bf_message_t *list, size_t *count, size_t at)
{
    memmove(&list[at], &list[at + 1], (*count - at - 1) * sizeof *list);
    --*count;
}

void cli_world_replace(cli_world_t *world, bf_message_t *message, const char *from,
                       const char *to)
{
    char *copy = bf_arena_strndup(&world->arena, message->value, message->value_len);
    cr_assert_not_null(copy);
    char *at = strstr(copy, from);
    cr_assert_not_null(at, "%s", copy);
    cr_assert_eq(strlen(from), strlen(to));
    memcpy(at, to, strlen(to)); /* NOLINT: into the middle of a text */
    message->value = copy;
}

void cli_world_expect_findings(const cli_world_t *world, int count)
{
    cr_assert_eq(test_cli_count(world->cli.out, "]\n"), (size_t)count,
                 "%d findings expected:\n%s%s", count, world->cli.out, world->cli.err);
}

void cli_world_verify(cli_world_t *world, int status)
{
    cli_world_publish(world);
    cli_world_commit_group(world, 0);
    test_cli_run(&world->cli, "verify", "--settle", "200ms", NULL);
    test_cli_expect(&world->cli, status);
}
