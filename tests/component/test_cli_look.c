/*
 * test_cli_look.c - the tool on real services: migrate, show, history, watch, status,
 * dead letters
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/bus.h"
#include "tests/support/cli_world.h"

static cli_world_t world;

static void begin(void)
{
    cli_world_begin(&world);
}

static void end(void)
{
    cli_world_end(&world);
}

TestSuite(cli_look, .init = begin, .fini = end);

/* --- migrate --- */

Test(cli_migrate, migrate__makes_the_tables_once)
{
    test_db_t db;
    test_db_begin_empty(&db);
    char texts[5][200];
    (void)snprintf(texts[0], sizeof texts[0], "BPMFLOW_DB_HOST=%s", db.options.host);
    (void)snprintf(texts[1], sizeof texts[1], "BPMFLOW_DB_PORT=%u",
                   (unsigned)db.options.port);
    (void)snprintf(texts[2], sizeof texts[2], "BPMFLOW_DB_USER=%s", db.options.user);
    (void)snprintf(texts[3], sizeof texts[3], "BPMFLOW_DB_PASSWORD=%s",
                   db.options.password);
    (void)snprintf(texts[4], sizeof texts[4], "BPMFLOW_DB_NAME=%s", db.name);
    const char *const env[] = {texts[0], texts[1], texts[2], texts[3], texts[4], NULL};
    test_cli_t cli = {.env = env};
    test_cli_run(&cli, "migrate", "--check", NULL);
    test_cli_expect(&cli, 1);
    test_cli_expect_out(&cli, "run bpmflow migrate");
    test_cli_run(&cli, "show", "i-1", NULL);
    test_cli_expect(&cli, 4);
    test_cli_expect_err(&cli, "bpmflow migrate");
    test_cli_run(&cli, "migrate", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "applying 0001");
    test_cli_run(&cli, "migrate", NULL);
    test_cli_expect(&cli, 0);
    cr_assert_eq(test_cli_count(cli.out, "applying"), 0);
    test_cli_run(&cli, "migrate", "--check", "--json", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "\"applied\":0");
    test_cli_fini(&cli);
    test_db_end(&db);
}

Test(cli_look, wrong_password__says_so)
{
    test_cli_run(&world.cli, "show", "i-1", "--db-user", "nobody-here", NULL);
    test_cli_expect(&world.cli, 4);
    test_cli_expect_err(&world.cli, "nobody-here");
}

/* --- instances --- */

Test(cli_look, show__prints_state_and_variables)
{
    test_cli_t *cli = &world.cli;
    test_cli_run(cli, "show", "i-1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "instance  i-1\n");
    test_cli_expect_out(cli, "graph     g version 1");
    test_cli_expect_out(cli, "status    completed\n");
    test_cli_expect_out(cli, "g:b  waiting\n");
    test_cli_expect_out(cli, "g:a  completed\n");
    test_cli_expect_out(cli, "variables day = 3\n");
    test_cli_run(cli, "show", "i-1", "--json", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "\"instance_state\":\"completed\"");
    test_cli_expect_out(cli, "\"vars\":{\"day\":3}");
    test_cli_run(cli, "show", "nobody", NULL);
    test_cli_expect(cli, 1);
    test_cli_expect_err(cli, "there is no instance nobody");
}

Test(cli_look, history__prints_the_steps)
{
    test_cli_t *cli = &world.cli;
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET message = 'tab\\there \xe5\xb0\x8f' "
                           "WHERE flow_ins_id = 'i-1' AND seq = 2");
    test_cli_run(cli, "history", "i-1", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 5, "%s", cli->out);
    test_cli_expect_out(cli, "SEQ  TIME (UTC)");
    test_cli_expect_out(cli, "  4  2023-11-14 22:13:20.127  forward  a     e   ann       "
                             "completed  completed  fine\n");
    test_cli_expect_out(cli, "tab\\x09here \xe5\xb0\x8f\n");
    test_cli_run(cli, "history", "i-1", "--json", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\"event_id\":\"i-1/"), 4);
    test_cli_run(cli, "history", "nobody", NULL);
    test_cli_expect(cli, 1);
}

/* The graph of the instances in a file; the caller removes it. */
static void write_graph(char path[64])
{
    (void)snprintf(path, 64, "/tmp/bpmflow-test-%d-g.yml", (int)getpid());
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_geq(fputs("id: g\nlayout:\n"
                        "  - {id: s, type: start}\n"
                        "  - {id: a, meta: {actor: ann}}\n"
                        "  - {id: b, meta: {actor: bob}}\n"
                        "  - {id: e, type: end}\n",
                        file),
                  0);
    cr_assert_eq(fclose(file), 0);
}

Test(cli_look, show__finds_what_may_come_next)
{
    char path[64];
    write_graph(path);
    test_db_sql(&world.db, "UPDATE bpm_flow_repository SET status = 0, states = "
                           "'{\"g:a\":1002}' WHERE instant_id = 'i-1'");
    test_cli_t *cli = &world.cli;
    test_cli_run(cli, "show", "i-1", "--graphs", path, NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "status    running\n");
    test_cli_expect_out(cli, "open      b  actor=bob\n");
    test_cli_run(cli, "show", "i-1", "-G", path, "--json", NULL);
    test_cli_expect_out(cli, "\"open\":[{\"node_id\":\"b\",\"title\":\"\",\"state\":0,"
                             "\"meta\":{\"actor\":\"bob\"}}]");
    test_cli_run(cli, "show", "i-1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "open      known to the workers (bpmflow next)");
    cr_assert_eq(unlink(path), 0);
    test_cli_run(cli, "show", "i-1", "--graphs", path, NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_err(cli, "note: ");
}

Test(cli_look, graph_draw__colours_an_instance)
{
    char path[64];
    write_graph(path);
    test_cli_run(&world.cli, "graph", "draw", path, "--instance", "i-1", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "completed");
    test_cli_expect_out(&world.cli, "waiting");
    test_cli_run(&world.cli, "graph", "draw", path, "--instance", "nobody", NULL);
    test_cli_expect(&world.cli, 4);
    cr_assert_eq(unlink(path), 0);
}

/* --- events --- */

Test(cli_look, watch__filters_and_ends)
{
    test_cli_t *cli = &world.cli;
    cli_world_publish(&world);
    test_cli_run(cli, "watch", "--from", "beginning", "--until-end", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 24);
    test_cli_run(cli, "watch", "--from=beginning", "--until-end", "-i", "i-2", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 4);
    test_cli_expect_out(cli, "i-2/4");
    test_cli_expect_out(cli,
                        "a -> e  by ann  [completed]  instance completed  \"fine\"\n");
    test_cli_run(cli, "watch", "--from=beginning", "--count", "3", "--json", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 3);
    cr_assert_eq(test_cli_count(cli->out, "{\"event_id\":"), 3);
    test_cli_run(cli, "watch", "--from=beginning", "--until-end", "--action", "back",
                 NULL);
    test_cli_expect(cli, 0);
    cr_assert_str_empty(cli->out);
    test_cli_run(cli, "watch", "--timeout", "200ms", NULL);
    test_cli_expect(cli, 3);
    test_cli_run(cli, "watch", "--action", "forwards", NULL);
    test_cli_expect(cli, 2);
}

Test(cli_look, watch__without_the_topic_says_so)
{
    test_cli_run(&world.cli, "watch", "--event-topic", "no-such-topic", NULL);
    test_cli_expect(&world.cli, 4);
    test_cli_expect_err(&world.cli, "no-such-topic");
    test_cli_run(&world.cli, "watch", "--brokers", "127.0.0.1:1", NULL);
    test_cli_expect(&world.cli, 3);
    test_cli_expect_err(&world.cli, "127.0.0.1:1");
}

Test(cli_look, status__shows_how_far_the_partitions_are)
{
    cli_world_commit_group(&world, 1);
    bf_message_t command = {.topic = world.commands,
                            .key = "i-1",
                            .key_len = 3,
                            .value = "{}",
                            .value_len = 2};
    cli_world_produce(&world, &command);
    test_cli_run(&world.cli, "status", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "worker-1/0");
    test_cli_run(&world.cli, "status", "--json", NULL);
    test_cli_expect(&world.cli, 0);
    cr_assert_eq(test_cli_count(world.cli.out, "\"owner\":\"worker-1/0\""), 2);
    cr_assert_eq(test_cli_count(world.cli.out, "\"unpublished\":1,"), 2);
    cr_assert_eq(test_cli_count(world.cli.out, "\"end\":1,"), 1);
    cr_assert_eq(test_cli_count(world.cli.out, "\"rate\":0.0,\"stopped\":false,"
                                               "\"last_error\":null,"),
                 2);
}

Test(cli_look, status__tells_the_rate_and_what_has_stopped_a_partition)
{
    char sql[400];
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO bpm_flow_problem VALUES "
                   "('%s', 0, 'worker-2/1', 'the topic was made anew', "
                   "UTC_TIMESTAMP(3) + INTERVAL 1 HOUR), "
                   "('%s', 1, 'worker-1/0', 'rows are gone', '2020-02-03 04:05:06.789')",
                   world.commands, world.commands);
    test_db_sql(&world.db, sql);
    test_cli_run(&world.cli, "status", "--interval", "0", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "partition 0 is stopped by worker-2/1 at 20");
    test_cli_expect_out(&world.cli, ": the topic was made anew\n");
    test_cli_expect_out(&world.cli, "partition 1 was stopped by worker-1/0 at "
                                    "2020-02-03T04:05:06.789Z: rows are gone\n");
    cr_assert_null(strstr(world.cli.out, "/s"));
    test_cli_run(&world.cli, "status", "--interval", "50ms", "--json", NULL);
    test_cli_expect_out(&world.cli, "\"rate\":0.0,\"stopped\":true,\"last_error\":\"the "
                                    "topic was made anew\",\"last_error_time\":\"");
    test_cli_expect_out(&world.cli, "\"stopped\":false,\"last_error\":\"rows are gone\"");
}

/* --- dead letters --- */

/* A record that stood in the command topic becomes a dead letter. */
static void make_dead(const char *key, const char *value, bf_code_t code,
                      const char *error)
{
    bf_header_t header = {"trace", "abc", 3};
    bf_record_t record = {.topic = world.commands,
                          .partition = 1,
                          .offset = 17,
                          .timestamp_ms = 1700000000000,
                          .key = key,
                          .key_len = key ? strlen(key) : 0,
                          .value = value,
                          .value_len = value ? strlen(value) : 0,
                          .headers = &header,
                          .header_count = 1};
    bf_message_t message;
    cr_assert_eq(bf_codec_make_dead_letter(&world.arena, world.dead, &record, code, error,
                                           &message),
                 BF_OK);
    cli_world_produce(&world, &message);
}

Test(cli_look, dead_letters__are_listed_and_shown)
{
    test_cli_t *cli = &world.cli;
    test_cli_run(cli, "dead-letters", "list", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "0 dead letters");
    make_dead("i-1", "{broken\x1b[2J", BF_CODE_MALFORMED, "not JSON: line 1");
    make_dead(NULL, NULL, BF_CODE_MALFORMED, "no value");
    make_dead("i-2", "{}", BF_CODE_LIMIT_EXCEEDED, "too deep");
    test_cli_run(cli, "dead-letters", "list", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "3 dead letters");
    test_cli_expect_out(cli, "/1:17");
    test_cli_expect_out(cli, "not JSON: line 1");
    test_cli_run(cli, "dead-letters", "list", "--code", "limit_exceeded", "--json", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 1);
    test_cli_expect_out(cli, "{\"id\":\"0:2\"");
    test_cli_run(cli, "dead-letters", "show", "0:0", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "code      malformed\n");
    test_cli_expect_out(cli, "key       i-1\n");
    test_cli_expect_out(cli, "header    trace: abc\n");
    test_cli_expect_out(cli, "{broken\\x1b[2J\n");
    test_cli_run(cli, "dead-letters", "show", "0:0", "--raw", NULL);
    test_cli_expect(cli, 0);
    cr_assert_str_eq(cli->out, "{broken\x1b[2J");
    test_cli_run(cli, "dead-letters", "show", "0:9", NULL);
    test_cli_expect(cli, 1);
    test_cli_run(cli, "dead-letters", "show", "here", NULL);
    test_cli_expect(cli, 2);
    test_cli_expect_err(cli, "PARTITION:OFFSET");
}

/* The records of the command topic as text. */
static char *commands_of(void)
{
    return test_read_all(world.brokers, world.commands);
}

Test(cli_look, replay__sends_what_was_asked_for)
{
    test_cli_t *cli = &world.cli;
    make_dead("i-1", "first", BF_CODE_MALFORMED, "why");
    make_dead("i-1", "second", BF_CODE_LIMIT_EXCEEDED, "why");
    make_dead("i-1", "third", BF_CODE_MALFORMED, "why");
    test_cli_run(cli, "dead-letters", "replay", NULL);
    test_cli_expect(cli, 2);
    test_cli_run(cli, "dead-letters", "replay", "0:1", NULL);
    test_cli_expect(cli, 2);
    test_cli_expect_err(cli, "without a terminal say --yes");
    char *text = commands_of();
    cr_assert_str_empty(text);
    free(text);
    test_cli_run(cli, "dead-letters", "replay", "0:1", "--yes", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "1 sent, 0 not");
    test_cli_run(cli, "dead-letters", "replay", "--all", "--code", "malformed", "-y",
                 NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "2 sent, 0 not");
    text = commands_of();
    cr_assert_str_eq(text, "second first third");
    free(text);
    test_cli_run(cli, "dead-letters", "replay", "0:7", "--yes", NULL);
    test_cli_expect(cli, 4);
}

Test(cli_look, replay__keeps_key_and_headers_and_marks_the_record)
{
    make_dead("i-1", "value", BF_CODE_MALFORMED, "why");
    test_cli_run(&world.cli, "dead-letters", "replay", "--all", "--yes", NULL);
    test_cli_expect(&world.cli, 0);
    bf_reader_t *reader = NULL;
    bf_reader_options_t options = {.brokers = world.brokers, .topic = world.commands};
    cr_assert_eq(bf_reader_open(&options, TEST_TIMEOUT_MS, &reader, NULL), BF_OK);
    bf_record_t record;
    bf_status_t rc;
    while ((rc = bf_reader_next(reader, TEST_TIMEOUT_MS, &record, NULL)) ==
               BF_E_TIMEOUT &&
           !bf_reader_at_end(reader)) {
    }
    cr_assert_eq(rc, BF_OK);
    cr_assert_eq(record.key_len, 3);
    cr_assert_eq(record.header_count, 2);
    const bf_header_t *trace = bf_record_header(&record, "trace");
    cr_assert(trace && trace->len == 3);
    const bf_header_t *mark = bf_record_header(&record, "bpmflow_replayed_from");
    cr_assert(mark && mark->len == 3 && memcmp(mark->value, "0:0", 3) == 0);
    bf_reader_release(&record);
    bf_reader_close(reader);
}

Test(cli_look, replay__of_a_cut_record_takes_the_original)
{
    size_t len = BF_DEAD_LETTER_MAX_BYTES - 100;
    char *large = malloc(len + 1);
    cr_assert_not_null(large);
    memset(large, 'x', len);
    large[len] = '\0';
    bf_message_t original = {.topic = world.commands,
                             .key = "i-1",
                             .key_len = 3,
                             .value = large,
                             .value_len = len};
    cli_world_produce_to(&world, &original, 1);
    bf_record_t record = {.topic = world.commands,
                          .partition = 1,
                          .offset = 0,
                          .timestamp_ms = 1700000000000,
                          .key = "i-1",
                          .key_len = 3,
                          .value = large,
                          .value_len = len};
    bf_message_t message;
    cr_assert_eq(bf_codec_make_dead_letter(&world.arena, world.dead, &record,
                                           BF_CODE_LIMIT_EXCEEDED, "large", &message),
                 BF_OK);
    cr_assert_lt(message.value_len, len);
    cli_world_produce(&world, &message);
    test_cli_run(&world.cli, "dead-letters", "show", "0:0", NULL);
    test_cli_expect_out(&world.cli, "too large: value is missing here");
    test_cli_run(&world.cli, "dead-letters", "replay", "0:0", "--yes", NULL);
    test_cli_expect(&world.cli, 0);
    char *text = commands_of();
    cr_assert_eq(strlen(text), 2 * len + 1);
    free(text);
    free(large);
}
