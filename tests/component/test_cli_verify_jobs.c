/*
 * test_cli_verify_jobs.c - verify finds jobs that are lost, doubled, changed, or of
 * nobody
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/bus.h"
#include "tests/support/cli_world.h"

static cli_world_t world;

static void setup(void)
{
    cli_world_begin_with_jobs(&world);
}

static void teardown(void)
{
    cli_world_end(&world);
}

TestSuite(cli_verify_jobs, .init = setup, .fini = teardown);

Test(cli_verify_jobs, verify__is_clean_where_nothing_is_wrong)
{
    cli_world_verify(&world, 0);
    test_cli_expect_out(&world.cli, "24 events, 24 commands, 24 replies, 6 jobs in");
    test_cli_expect_out(&world.cli, ": clean\n");
    cr_assert_str_empty(world.cli.err);
    test_cli_run(&world.cli, "verify", "--json", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_out(&world.cli, "\"jobs\":6,\"findings\":0");
}

Test(cli_verify_jobs, verify__finds_a_lost_job)
{
    cli_world_remove(world.job, &world.job_count, 2);
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli,
                        "i-2 seq 2: the job of node a (command c-2-2) is not in topic ");
    test_cli_expect_out(&world.cli, " [job_missing]\n");
    cli_world_expect_findings(&world, 1);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", "--json", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "\"findings\":1,\"by_kind\":{\"job_missing\":1}");
    test_cli_run(&world.cli, "verify", "--no-jobs", NULL);
    test_cli_expect(&world.cli, 0);
}

Test(cli_verify_jobs, verify__finds_all_jobs_lost)
{
    world.job_count = 0;
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "6 findings (job_missing 6)");
    cli_world_expect_findings(&world, 6);
}

Test(cli_verify_jobs, verify__finds_a_job_published_twice)
{
    world.job[world.job_count++] = world.job[1];
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-1 seq 2: the job is published twice: topic ");
    test_cli_expect_out(&world.cli, "[job_twice]\n");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify_jobs, verify__finds_other_content)
{
    cli_world_replace(&world, &world.job[4], "\"limit\":5", "\"limit\":6");
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET variables = '{\"day\":4}' WHERE "
                           "flow_ins_id = 'i-0' AND seq = 2");
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-4 seq 2: row and job (topic ");
    test_cli_expect_out(&world.cli,
                        "differ in meta (row {\"limit\":5}, job {\"limit\":6}) "
                        "[job_content]\n");
    test_cli_expect_out(&world.cli, "differ in variables (row {\"day\":4}, job "
                                    "{\"day\":3}) [job_content]\n");
    cli_world_expect_findings(&world,
                              3); /* the third: the event of the row that was changed */
}

/* The true one and another one beside it. */
Test(cli_verify_jobs, verify__finds_a_changed_job_beside_the_true_one)
{
    world.job[world.job_count] = world.job[3];
    cli_world_replace(&world, &world.job[world.job_count++], "\"limit\":5",
                      "\"limit\":6");
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-3 seq 2: row and job (topic ");
    cli_world_expect_findings(&world, 1);
}

Test(cli_verify_jobs, verify__finds_a_job_that_no_row_accounts_for)
{
    test_db_sql(&world.db, "UPDATE bpm_flow_task SET action = 1020 WHERE "
                           "flow_ins_id = 'i-5' AND seq = 2");
    cli_world_verify(&world, 1);
    test_cli_expect_out(&world.cli, "i-5 seq 2: the job (topic ");
    test_cli_expect_out(&world.cli, "has no row in the history [job_without_row]\n");
    test_cli_expect_out(&world.cli, "differ in action");
    cli_world_expect_findings(&world, 2);
}

Test(cli_verify_jobs, verify__does_not_mind_what_others_write_to_the_topic)
{
    world.job[world.job_count++] = (bf_message_t){
        .topic = world.jobs, .key = "x", .key_len = 1, .value = "hello", .value_len = 5};
    world.job[world.job_count++] =
        (bf_message_t){.topic = world.jobs, .value = "{\"job_id\":7}", .value_len = 12};
    cli_world_verify(&world, 0);
    test_cli_expect_out(&world.cli, "8 jobs in");
}

Test(cli_verify_jobs, verify__tells_unpublished_from_lost)
{
    /* The last command of each partition is not the one of a job: all up to the jobs. */
    world.job_count = 0;
    cli_world_publish(&world);
    cli_world_commit_group(&world, world.applied[0] > world.applied[1]
                                       ? world.applied[1]
                                       : world.applied[0]);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 1);
    test_cli_expect_out(&world.cli, "applied, not published yet; a worker does it");
}

Test(cli_verify_jobs, verify__does_not_take_retention_for_loss)
{
    cli_world_publish(&world);
    cli_world_commit_group(&world, 0);
    test_topic_trim(world.brokers, world.jobs, 0, 1);
    test_cli_run(&world.cli, "verify", "--settle", "100ms", NULL);
    test_cli_expect(&world.cli, 0);
    test_cli_expect_err(&world.cli, "retention has removed the oldest jobs");
}
