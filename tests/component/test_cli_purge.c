/*
 * test_cli_purge.c - the purge subcommand, and what verify says afterwards
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cli_world.h"

/* The world is of 2023: everything is old enough. */
#define AGE "--older-than", "1h"

static void begin_published(cli_world_t *world)
{
    cli_world_begin(world);
    cli_world_publish(world);
    cli_world_commit_group(world, 0);
}

static int64_t rows(cli_world_t *world)
{
    return test_db_int(&world->db, "SELECT (SELECT COUNT(*) FROM bpm_flow_repository) + "
                                   "(SELECT COUNT(*) FROM bpm_flow_task) + "
                                   "(SELECT COUNT(*) FROM bpm_flow_command)");
}

Test(cli_purge, purge__wants_an_age)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "purge", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "--older-than is missing");
    test_cli_run(&cli, "purge", "--older-than", "1w", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "unknown unit 'w': write ms, s, m, h or d");
    test_cli_run(&cli, "purge", "--older-than", "90d", "--batch", "0", NULL);
    test_cli_expect(&cli, 2);
    test_cli_run(&cli, "purge", "--help", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "--archive FILE");
    test_cli_fini(&cli);
}

Test(cli_purge, purge__with_dry_run_changes_nothing)
{
    cli_world_t world;
    begin_published(&world);
    int64_t before = rows(&world);
    test_cli_run(&world.cli, "purge", AGE, "--dry-run", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "would purge 6 instances that were finished before ");
    test_cli_expect_out(&world.cli, " with 24 rows of history and 24 outcomes");
    cr_assert_eq(rows(&world), before);
    test_cli_run(&world.cli, "purge", "--older-than", "36500d", "--json", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "{\"dry_run\":false,\"finished_before\":\"19");
    test_cli_expect_out(&world.cli, "\"instances\":0,\"history_rows\":0,\"outcomes\":0,");
    cr_assert_eq(rows(&world), before);
    cli_world_end(&world);
}

Test(cli_purge, verify__is_clean_after_a_purge)
{
    cli_world_t world;
    begin_published(&world);
    test_db_sql(&world.db, "UPDATE bpm_flow_repository SET update_time = NOW(3) "
                           "WHERE instant_id IN ('i-2', 'i-5')");
    test_cli_run(&world.cli, "purge", AGE, "--batch", "3", "--pause", "1ms", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "purged 4 instances");
    cr_assert_eq(rows(&world), 2 + 8 + 8);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "8 rows, 24 events, 8 commands, 24 replies");
    test_cli_expect_out(&world.cli, ": clean\n");
    test_cli_expect_err(&world.cli, "4 instances are purged: their events, 16 "
                                    "replies to purged commands");
    test_cli_run(&world.cli, "verify", "--settle", "100ms", "--json", NULL);
    test_cli_expect_out(&world.cli, "\"purged_instances\":4,\"purged_replies\":16,");
    cli_world_end(&world);
}

Test(cli_purge, verify__finds_what_no_purge_can_have_taken)
{
    cli_world_t world;
    cli_world_begin(&world);
    /* an event of i-0 is lost, and one of i-1 says that the instance was running */
    for (size_t i = 0; i < world.event_count; i++) {
        if (strstr(world.event[i].value, "\"event_id\":\"i-0/2\"") ||
            strstr(world.event[i].value, "\"event_id\":\"i-1/4\"")) {
            memmove(&world.event[i], &world.event[i + 1],
                    (world.event_count - i - 1) * sizeof world.event[0]);
            world.event_count--;
            i--;
        }
    }
    cli_world_publish(&world);
    cli_world_commit_group(&world, 0);
    test_cli_run(&world.cli, "purge", AGE, NULL);
    test_cli_expect(&world.cli, 0);
    cr_assert_eq(rows(&world), 0);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "i-0 seq 1: the event (partition ");
    test_cli_expect_out(&world.cli, "i-1 seq 3: the event (partition ");
    cr_assert_eq(test_cli_count(world.cli.out, "[event_without_row]"), 3 + 3);
    test_cli_expect_err(&world.cli, "4 instances are purged");
    cli_world_end(&world);
}

Test(cli_purge, verify__finds_rows_that_were_deleted_by_hand)
{
    cli_world_t world;
    begin_published(&world);
    test_cli_run(&world.cli, "purge", "--older-than", "36000d", NULL);
    test_cli_expect(&world.cli, 0);
    /* a purge of other, older instances says nothing about these */
    test_db_sql(&world.db, "INSERT INTO bpm_flow_purge (older_than, start_time, "
                           "update_time) VALUES ('2001-01-01', NOW(3), NOW(3))");
    test_db_sql(&world.db, "DELETE FROM bpm_flow_task WHERE flow_ins_id = 'i-3'");
    test_db_sql(&world.db, "DELETE FROM bpm_flow_repository WHERE instant_id = 'i-3'");
    test_db_sql(&world.db, "DELETE FROM bpm_flow_command WHERE instant_id = 'i-3'");
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    cr_assert_eq(test_cli_count(world.cli.out, "[event_without_row]"), 4);
    cli_world_end(&world);
}

Test(cli_purge, purge__leaves_what_is_not_published)
{
    cli_world_t world;
    cli_world_begin(&world);
    cli_world_publish(&world);
    int64_t before = rows(&world);
    test_cli_run(&world.cli, "purge", AGE, NULL); /* the group has committed nothing */
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "purged 0 instances");
    test_cli_expect_err(&world.cli, "6 instances stay, since something of them is not "
                                    "published yet");
    cr_assert_eq(rows(&world), before);
    cli_world_commit_group(&world, 1);
    test_cli_run(&world.cli, "purge", AGE, NULL);
    test_cli_expect_out(&world.cli, "purged 4 instances");
    test_cli_expect_err(&world.cli, "2 instances stay");
    cli_world_end(&world);
}

static size_t lines_of(const char *path)
{
    char line[8192];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file))
        count += strchr(line, '\n') != NULL && line[0] == '{';
    (void)fclose(file);
    return count;
}

Test(cli_purge, purge__writes_an_archive_and_adds_to_it)
{
    cli_world_t world;
    begin_published(&world);
    char path[] = "/tmp/bf-purge-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "{}\n", 3), 3);
    cr_assert_eq(close(fd), 0);
    test_cli_run(&world.cli, "purge", AGE, "--archive", path, "--dry-run", NULL);
    test_cli_expect(&world.cli, 0);
    cr_assert_eq(lines_of(path), 1);
    test_cli_run(&world.cli, "purge", AGE, "--archive", path, "--batch", "2", NULL);
    test_cli_expect(&world.cli, 0);
    cr_assert_eq(lines_of(path), 1 + 6 + 24 + 24);
    cr_assert_eq(unlink(path), 0);
    test_cli_run(&world.cli, "purge", AGE, "--archive", "/nowhere/at/all", NULL);
    test_cli_expect(&world.cli, 4);
    test_cli_expect_err(&world.cli, "archive /nowhere/at/all: No such file");
    cli_world_end(&world);
}
