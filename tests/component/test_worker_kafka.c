/*
 * test_worker_kafka.c - the real worker on a real broker: positions that do not agree
 *
 * What the database has applied (D), what the group has committed (K) and what the topic
 * holds may disagree after a restore, a retention, a topic made anew, or the death of an
 * owner.  Each of these is made to happen here.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "tests/support/bus.h"
#include "tests/support/worker_process.h"

static test_worker_t worker;

static void setup(void)
{
    test_worker_begin_kafka(&worker, 1);
}

static void teardown(void)
{
    test_worker_end(&worker);
}

TestSuite(worker_kafka, .init = setup, .fini = teardown, .timeout = 180);

static const bf_value_t *start_instance(test_worker_t *at, int number)
{
    char id[32];
    (void)snprintf(id, sizeof(id), "c-%d", number);
    return test_worker_call(at, id, id,
                            "{'command_id':'c-%d','command':'start','instance_id':'c-%d',"
                            "'graph_id':'approve'}",
                            number, number);
}

static void send_start(test_worker_t *at, int number)
{
    char id[32];
    (void)snprintf(id, sizeof(id), "c-%d", number);
    test_worker_send(at, id,
                     "{'command_id':'c-%d','command':'start','instance_id':'c-%d',"
                     "'graph_id':'approve'}",
                     number, number);
}

static int64_t next_offset(void)
{
    return test_db_int(&worker.db,
                       "SELECT next_offset FROM bpm_flow_offset WHERE partition_no = 0");
}

/* --- K > D --- */

Test(worker_kafka, restored_database__is_applied_again_from_where_it_is)
{
    test_worker_start(&worker);
    for (int i = 0; i < 5; i++) {
        test_assert_code(start_instance(&worker, i), "ok");
    }
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(next_offset(), 5);
    /* as it was after two commands */
    test_db_sql(&worker.db, "UPDATE bpm_flow_offset SET next_offset = 2");
    test_db_sql(&worker.db, "DELETE FROM bpm_flow_command WHERE command_offset >= 2");
    test_db_sql(
        &worker.db,
        "DELETE FROM bpm_flow_repository WHERE instant_id IN ('c-2','c-3','c-4')");
    test_worker_start(&worker);
    test_worker_wait_log(&worker, "the database is older than Kafka (offset 2 against 5)",
                         1);
    test_assert_code(start_instance(&worker, 5), "ok");
    cr_assert_eq(next_offset(), 6);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 6);
    cr_assert_eq(test_worker_count(&worker, "replies"), 5 + 3 + 1);
}

/* --- D above the end of the topic --- */

Test(worker_kafka, position_above_the_end__stops_the_partition_and_says_so)
{
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_db_sql(&worker.db, "UPDATE bpm_flow_offset SET next_offset = 1000");
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the partition is stopped: ", 1);
    test_worker_wait_log(&worker, "applied it up to offset 1000", 1);
    test_worker_wait_ready(&worker, false);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(next_offset(), 1000, "nothing is touched");
}

/* --- retention has deleted what was never applied --- */

static void make_gap(void)
{
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    cr_assert_eq(kill(worker.pid, SIGTERM), 0);
    cr_assert_eq(test_worker_wait(&worker), 0);
    for (int i = 1; i < 5; i++) {
        send_start(&worker, i);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    bf_client_free(worker.client);
    worker.client = NULL;
    test_topic_trim(worker.brokers, test_worker_topic(&worker, "commands"), 0, 3);
}

Test(worker_kafka, gap__stops_the_partition_by_default)
{
    make_gap();
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "commands from offset 1 to 2 were deleted", 1);
    test_worker_wait_log(&worker, "worker.on_gap", 1);
    test_worker_wait_unready(&worker, "partition 0 is stopped: commands from offset 1 to "
                                      "2 were deleted");
    /* and for those who look from outside */
    cr_assert_not_null(strstr(test_db_text(&worker.db, "SELECT problem FROM "
                                                       "bpm_flow_problem WHERE "
                                                       "partition_no = 0"),
                              "commands from offset 1 to 2 were deleted"));
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(next_offset(), 1);
}

Test(worker_kafka, gap__is_skipped_where_that_is_asked_for)
{
    make_gap();
    test_worker_set(&worker, "worker.on_gap", "skip");
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 5), "ok");
    test_worker_wait_log(&worker, "skipped (worker.on_gap = skip)", 1);
    cr_assert_eq(next_offset(), 6);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 4);
}

/* --- topics --- */

Test(worker_kafka, missing_topic__is_waited_for_with_a_sentence)
{
    char topic[128];
    (void)snprintf(topic, sizeof(topic), "%s", test_worker_topic(&worker, "events"));
    test_topic_delete(worker.brokers, topic);
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, topic, 1);
    test_worker_wait_ready(&worker, false);
    test_topic_create(worker.brokers, topic, 1);
    test_worker_wait_ready(&worker, true);
    test_worker_connect(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
}

Test(worker_kafka, topic_made_anew__stops_the_partition)
{
    char topic[128];
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    (void)snprintf(topic, sizeof(topic), "%s", test_worker_topic(&worker, "commands"));
    test_topic_delete(worker.brokers, topic);
    test_topic_create(worker.brokers, topic, 1);
    test_worker_connect(&worker);
    send_start(&worker, 1);
    send_start(&worker, 2);
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the partition is stopped: ", 1);
    test_worker_wait_ready(&worker, false);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    /* the new commands were not taken for applied ones */
    cr_assert_eq(next_offset(), 1);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"), 1);
}

Test(worker_kafka, partitions_added__are_worked_on_and_warned_about)
{
    test_worker_set(&worker, "kafka.consumer_properties",
                    "topic.metadata.refresh.interval.ms=500");
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    test_topic_grow(worker.brokers, test_worker_topic(&worker, "commands"), 3);
    test_worker_wait_log(&worker, "has 3 partitions now and had 1", 1);
    test_worker_wait_log(&worker, "claimed at offset", 4); /* 0, then 0, 1 and 2 */
    bf_client_free(worker.client);
    test_worker_connect(&worker); /* knows of three */
    for (int i = 1; i < 20; i++) {
        test_assert_code(start_instance(&worker, i), "ok");
    }
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_offset"), 3);
    cr_assert_eq(test_db_int(&worker.db, "SELECT SUM(next_offset) FROM bpm_flow_offset"),
                 20);
}

/* --- owners that die, and owners that only seemed to --- */

Test(worker_kafka, killed_owner__is_followed_by_another_worker)
{
    test_worker_t second;
    test_worker_begin_beside(&second, &worker, "second");
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    for (int i = 1; i < 50; i++) {
        send_start(&worker, i);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(kill(worker.pid, SIGKILL), 0);
    cr_assert_eq(test_worker_wait(&worker), -SIGKILL);
    test_worker_start(&second);
    test_assert_code(start_instance(&second, 50), "ok");
    cr_assert_eq(next_offset(), 51);
    cr_assert_eq(test_worker_count(&second, "replies"), 51);
    cr_assert_eq(test_worker_stop(&second, SIGTERM), 0);
    test_worker_end(&second);
}

Test(worker_kafka, zombie__is_fenced_and_does_no_harm)
{
    test_worker_t second;
    test_worker_begin_beside(&second, &worker, "second");
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    for (int i = 1; i < 200; i++) {
        send_start(&worker, i);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(kill(worker.pid, SIGSTOP), 0);
    test_worker_start(&second); /* ready once it has taken the partition over */
    test_assert_code(start_instance(&second, 200), "ok");
    cr_assert_eq(kill(worker.pid, SIGCONT), 0);
    test_assert_code(start_instance(&second, 201), "ok");
    test_worker_wait_ready(&worker, true); /* back in the group, without a partition */
    test_assert_code(start_instance(&second, 202), "ok");
    cr_assert_eq(test_worker_stop(&second, SIGTERM), 0);
    test_assert_code(start_instance(&worker, 203), "ok"); /* and now it has it again */
    cr_assert_eq(next_offset(), 204);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"),
                 204);
    cr_assert_eq(test_worker_count(&worker, "replies"), 204);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_worker_end(&second);
}

/* The partition goes to a second worker while a batch of the first waits for the
 * database: it is asked for it, or taken for dead. */
static void loses_the_partition_while_waiting(bool dead)
{
    test_worker_t second;
    test_worker_begin_beside(&second, &worker, "second"); /* without the proxy */
    test_proxy_t *proxy = test_worker_proxy(&worker);
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    test_proxy_cut(proxy);
    /* its instance is cached: nothing is asked for before the transaction */
    test_worker_send(&worker, "c-0",
                     "{'command_id':'s-0','command':'submit','instance_id':'c-0',"
                     "'node_id':'leader','actor':'li'}");
    test_worker_wait_log(&worker, "the database: ", 1);
    for (int i = 1; i < 50; i++) {
        send_start(&worker, i);
    }
    if (dead) {
        cr_assert_eq(kill(worker.pid, SIGSTOP), 0);
        test_worker_start(&second);
        cr_assert_eq(kill(worker.pid, SIGCONT), 0);
        test_worker_wait_log(&worker, "1 partitions are lost", 1);
    } else {
        test_worker_spawn(&second);
        test_worker_wait_log(&worker, "1 partitions are given up", 1);
    }
    test_proxy_mend(proxy);
    test_worker_wait_ready(&worker, true);
    test_worker_wait_ready(&second, true);
    test_assert_code(start_instance(&worker, 50), "ok"); /* by whoever has it now */
    cr_assert_eq(next_offset(), 52);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 51);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 1);
    cr_assert_eq(test_worker_count(&worker, "replies"), 52);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_worker_stop(&second, SIGTERM), 0);
    test_worker_end(&second);
    test_proxy_stop(proxy);
}

Test(worker_kafka, revoked_while_the_database_is_away__abandons_the_batch)
{
    loses_the_partition_while_waiting(/* dead= */ false);
}

Test(worker_kafka, lost_while_the_database_is_away__abandons_the_batch)
{
    loses_the_partition_while_waiting(/* dead= */ true);
}

Test(worker_kafka, same_worker_id__the_older_one_gives_way_and_says_so)
{
    test_worker_t second;
    test_worker_begin_beside(&second, &worker, "test");
    /* each gets a partition, and commands for both come */
    test_topic_grow(worker.brokers, test_worker_topic(&worker, "commands"), 2);
    test_worker_start(&worker);
    test_assert_code(start_instance(&worker, 0), "ok");
    test_worker_start(&second);
    /* it hears of it when it publishes next */
    for (int i = 1; i < 8; i++) {
        test_assert_code(start_instance(&second, i), "ok");
    }
    cr_assert_eq(test_worker_wait(&worker), 1);
    test_worker_wait_log(&worker, "fenced by another worker with worker.id = \"test\"",
                         1);
    test_assert_code(start_instance(&second, 8), "ok");
    cr_assert_eq(test_worker_stop(&second, SIGTERM), 0);
    test_worker_end(&second);
}
