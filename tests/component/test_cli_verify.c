/*
 * test_cli_verify.c - verify finds every kind of damage, and nothing where there is none
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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

TestSuite(cli_verify, .init = begin, .fini = end);

/* Place of the event of a row in world.event. */
static size_t place(int instance, int seq)
{
    if (seq >= 3) /* both are of the last command */
        return (size_t)2 * WORLD_INSTANCES + (size_t)2 * (size_t)instance +
               (size_t)(seq - 3);
    return (size_t)(seq - 1) * WORLD_INSTANCES + (size_t)instance;
}

/* Row numbers in the table: history rows are read by instance and seq. */
#define ROW(instance, seq) " WHERE flow_ins_id = '" instance "' AND seq = " seq

Test(cli_verify, verify__is_clean_where_nothing_is_wrong)
{
    cli_world_verify(&world, 0);
    test_cli_expect_out(&world.cli,
                        "6 instances, 24 rows, 24 events, 24 commands, 24 replies");
    test_cli_expect_out(&world.cli, ": clean\n");
    cr_assert_str_empty(world.cli.err);
    test_cli_run(&world.cli, "verify", "--json", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "\"findings\":0");
}

Test(cli_verify, verify__finds_a_lost_event)
{
    cli_world_remove(world.event, &world.event_count, place(2, 2));
    cli_world_verify(&world, 1);
    test_cli_expect_out(
        &world.cli, "i-2 seq 2: the row has no event (command c-2-2) [event_missing]\n");
    cli_world_expect_findings(&world, 1);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", "--json", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(
        &world.cli, "{\"finding\":\"event_missing\",\"instance_id\":\"i-2\",\"seq\":2,");
    test_cli_expect_out(&world.cli, "\"findings\":1,\"by_kind\":{\"event_missing\":1}");
}

Test(cli_verify, verify__finds_lost_events_at_the_end_and_of_a_whole_instance)
{
    cli_world_remove(world.event, &world.event_count, place(5, 4));
    for (int seq = 4; seq >= 1; seq--)
        cli_world_remove(world.event, &world.event_count, place(0, seq));
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-5 seq 4: the row has no event");
    test_cli_expect_out(&world.cli, "i-0 seq 1: the row has no event");
    test_cli_expect_out(&world.cli, "i-0 seq 4: the row has no event");
    cli_world_expect_findings(&world, 5);
}

Test(cli_verify, verify__finds_an_event_published_twice)
{
    world.event[world.event_count++] = world.event[place(1, 3)];
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-1 seq 3: the event is published twice");
    test_cli_expect_out(&world.cli, "the same content [event_twice]");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify, verify__finds_events_out_of_order)
{
    bf_message_t second = world.event[place(3, 2)];
    world.event[place(3, 2)] = world.event[place(3, 3)];
    world.event[place(3, 3)] = second;
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli,
                        "i-3 seq 2: the event stands behind the one of seq 3");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify, verify__finds_other_content)
{
    cli_world_replace(&world, &world.event[place(4, 1)], "\"assignee\":\"ann\"",
                      "\"assignee\":\"bob\"");
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET message = 'no' " ROW("i-1", "2"));
    test_db_sql(&world.db,
                "UPDATE bpm_flow_task SET variables = '{\"day\":4}' " ROW("i-2", "3"));
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-4 seq 1: row and event");
    test_cli_expect_out(&world.cli, "differ in assignee (row \"ann\", event \"bob\")");
    test_cli_expect_out(&world.cli, "differ in message (row \"no\", event \"fine\")");
    test_cli_expect_out(&world.cli,
                        "differ in variables (row {\"day\":4}, event {\"day\":3})");
    cli_world_expect_findings(&world, 3);
}

Test(cli_verify, verify__finds_rows_that_are_gone)
{
    test_db_sql(&world.db, "DELETE FROM bpm_flow_task" ROW("i-0", "2"));
    test_db_sql(&world.db, "DELETE FROM bpm_flow_task" ROW("i-1", "4"));
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-0 seq 2: the event (partition");
    test_cli_expect_out(&world.cli, "i-1 seq 4: the event (partition");
    test_cli_expect_out(&world.cli, "has no row in the history [event_without_row]");
    test_cli_expect_out(&world.cli,
                        "i-1: the instance counts 4 steps, the history has 3 rows");
    test_cli_expect_out(&world.cli, "i-0 seq 2: command c-0-2");
}

Test(cli_verify, verify__finds_a_gap_in_rows_and_events)
{
    test_db_sql(&world.db, "DELETE FROM bpm_flow_task" ROW("i-3", "2"));
    cli_world_remove(world.event, &world.event_count, place(3, 2));
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-3 seq 2: there is neither a row nor an event");
}

Test(cli_verify, verify__finds_a_row_too_many)
{
    test_db_sql(&world.db, "CREATE TEMPORARY TABLE t AS SELECT * FROM bpm_flow_task" ROW(
                               "i-3", "4"));
    test_db_sql(&world.db, "UPDATE t SET id = 0, seq = 5, command_id = 'c-x'");
    test_db_sql(&world.db, "INSERT INTO bpm_flow_task SELECT * FROM t");
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-3 seq 5: the row has no event");
    test_cli_expect_out(&world.cli, "i-3 seq 5: no outcome accounts for the row");
    test_cli_expect_out(&world.cli,
                        "i-3: the instance counts 4 steps, the history has 5 rows");
    cli_world_expect_findings(&world, 3);
}

Test(cli_verify, verify__finds_records_that_are_no_events)
{
    world.event[world.event_count++] = (bf_message_t){.topic = world.events,
                                                      .key = "i-1",
                                                      .key_len = 3,
                                                      .value = "hello",
                                                      .value_len = 5};
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "of the event topic is no event: key 'i-1'");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify, verify__finds_events_in_two_partitions)
{
    bf_message_t moved = world.event[place(2, 4)];
    cli_world_remove(world.event, &world.event_count, place(2, 4));
    unsigned home = (bf_murmur2("i-2", 3) & 0x7fffffffu) % WORLD_PARTITIONS;
    cli_world_publish(&world);
    cli_world_produce_to(&world, &moved, home == 0 ? 1 : 0);
    cli_world_commit_group(&world, 0);
    test_cli_run(&world.cli, "verify", "--settle", "200ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "events of instance i-2 stand in partitions");
}

Test(cli_verify, verify__finds_missing_and_surplus_replies)
{
    world.reply[5] = world.reply[4]; /* one twice, one not at all */
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-5: the reply to command c-5-0");
    test_cli_expect_out(&world.cli, "[reply_missing]");
    test_cli_expect_out(&world.cli, "or one too many: {\"command_id\":\"c-4-0\"");
    cli_world_expect_findings(&world, 2);
    test_cli_run(&world.cli, "verify", "--no-replies", NULL);
    test_cli_expect(&world.cli, 0);
}

Test(cli_verify, verify__finds_outcomes_that_are_gone_or_changed)
{
    test_db_sql(&world.db, "DELETE FROM bpm_flow_command WHERE command_id = 'c-1-2'");
    test_db_sql(&world.db,
                "UPDATE bpm_flow_command SET reply = REPLACE(reply, 'accepted', "
                "'rejected') WHERE command_id = 'c-2-0'");
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET command_id = 'c-x'" ROW("i-3", "1"));
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli,
                        "i-1 seq 2: no outcome accounts for the row (it names "
                        "command 'c-1-2') [row_without_command]");
    test_cli_expect_out(&world.cli, "or one too many: {\"command_id\":\"c-1-2\"");
    test_cli_expect_out(&world.cli, "i-2: the reply to command c-2-0");
    test_cli_expect_out(&world.cli, "i-3 seq 1: the row names command 'c-x', but command "
                                    "c-3-1");
    test_cli_expect_out(&world.cli,
                        "differ in command_id (row \"c-x\", event \"c-3-1\")");
}

Test(cli_verify, verify__finds_instances_that_do_not_fit)
{
    test_db_sql(&world.db, "DELETE FROM bpm_flow_repository WHERE instant_id = 'i-0'");
    test_db_sql(&world.db,
                "UPDATE bpm_flow_repository SET seq = 3 WHERE instant_id = 'i-1'");
    test_db_sql(&world.db,
                "UPDATE bpm_flow_repository SET status = 0 WHERE instant_id = 'i-2'");
    test_db_sql(&world.db,
                "UPDATE bpm_flow_repository SET states = '[1]' WHERE instant_id = 'i-3'");
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-0: 4 rows of history, but no row of the instance");
    test_cli_expect_out(&world.cli,
                        "i-1: the instance counts 3 steps, the history has 4 rows");
    test_cli_expect_out(
        &world.cli, "i-2 seq 4: the instance is running, its last row says completed");
    test_cli_expect_out(&world.cli, "the row of instance i-3 cannot be read");
    cli_world_expect_findings(&world, 4);
}

Test(cli_verify, verify__finds_a_database_that_is_older_than_the_topics)
{
    test_db_sql(&world.db,
                "UPDATE bpm_flow_offset SET next_offset = 1 WHERE partition_no = 0");
    cli_world_publish(&world);
    cli_world_commit_group(&world, 0);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "was the database restored from a backup? [offsets]");
}

Test(cli_verify, verify__tells_unpublished_from_lost)
{
    /* The last command of i-5 is the last one of its partition. */
    cli_world_remove(world.event, &world.event_count, place(5, 4));
    cli_world_remove(world.event, &world.event_count, place(5, 3));
    world.reply_count--;
    cli_world_publish(&world);
    cli_world_commit_group(&world, 1);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "i-5 seq 3: applied, but not published yet (command "
                                    "c-5-3");
    test_cli_expect_out(&world.cli, "i-5 seq 4: applied, but not published yet");
    test_cli_expect_out(&world.cli, "applied, not published yet; a worker does it");
    cli_world_expect_findings(&world, 3);
}

Test(cli_verify, verify__does_not_take_retention_for_loss)
{
    cli_world_publish(&world);
    cli_world_commit_group(&world, 0);
    test_topic_trim(world.brokers, world.events, 0, 3);
    test_topic_trim(world.brokers, world.events, 1, 2);
    test_topic_trim(world.brokers, world.replies, 0, 1);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_err(&world.cli, "retention has removed the oldest events");
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET message = 'no'" ROW("i-1", "4"));
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "differ in message");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify, verify__counts_beyond_its_limit)
{
    world.event_count = 0;
    cli_world_publish(&world);
    cli_world_commit_group(&world, 0);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", "--limit", "5", NULL);
    test_cli_expect(&world.cli, 1);
    cli_world_expect_findings(&world, 5);
    test_cli_expect_out(&world.cli, "... and 19 more (--limit)");
    test_cli_expect_out(&world.cli, "24 findings (event_missing 24)");
}
