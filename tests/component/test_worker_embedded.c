/*
 * test_worker_embedded.c - the real worker with the embedded broker and a real database
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "tests/support/worker_process.h"

static test_worker_t worker;

static void setup(void)
{
    test_worker_begin(&worker);
}

static void teardown(void)
{
    test_worker_end(&worker);
}

TestSuite(worker, .init = setup, .fini = teardown, .timeout = 120);

static const bf_value_t *start(const char *instance, const char *command)
{
    return test_worker_call(&worker, instance, command,
                            "{'command_id':'%s','command':'start','instance_id':'%s',"
                            "'graph_id':'approve','actor':'ann'}",
                            command, instance);
}

static const bf_value_t *submit(const char *instance, const char *command,
                                const char *node, const char *actor, const char *action)
{
    return test_worker_call(&worker, instance, command,
                            "{'command_id':'%s','command':'submit','instance_id':'%s',"
                            "'node_id':'%s','actor':'%s','action':'%s'}",
                            command, instance, node, actor, action);
}

static int64_t member_int(const bf_value_t *value, const char *name)
{
    const bf_value_t *member = bf_value_get_str(value, name);
    cr_assert_not_null(member, "%s", name);
    cr_assert_eq(member->type, BF_VALUE_INT, "%s", name);
    return member->as.integer;
}

static bool is_duplicate(const bf_value_t *reply)
{
    const bf_value_t *member = bf_value_get_str(reply, "duplicate");
    return member && member->type == BF_VALUE_BOOL && member->as.boolean;
}

/* --- the main road --- */

/* Events come as `seq action code`, in order. */
static void collect_event(void *arg, const bf_record_t *record)
{
    bf_str_t *str = arg;
    bf_value_t value;
    cr_assert_eq(bf_json_parse(&worker.arena, record->value, record->value_len, NULL,
                               &value, NULL),
                 BF_OK);
    bf_str_printf(str, "%lld %s %s>%s;", (long long)member_int(&value, "seq"),
                  bf_value_get_cstr(&value, "action"),
                  bf_value_get_cstr(bf_value_get_str(&value, "source"), "code"),
                  bf_value_get_cstr(bf_value_get_str(&value, "target"), "code"));
}

Test(worker, run__takes_commands_to_rows_replies_and_events)
{
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    const bf_value_t *claim = test_worker_call(
        &worker, "i-1", "c-2",
        "{'command_id':'c-2','command':'claim','instance_id':'i-1','actor':'li'}");
    test_assert_code(claim, "ok");
    cr_assert_str_eq(bf_value_get_cstr(bf_value_get_str(claim, "task"), "node_id"),
                     "leader");
    test_assert_code(submit("i-1", "c-3", "leader", "li", "forward"), "ok");
    const bf_value_t *last = submit("i-1", "c-4", "hr", "wang", "forward");
    test_assert_code(last, "ok");
    cr_assert_str_eq(bf_value_get_cstr(last, "instance_state"), "completed");

    bf_str_t events;
    bf_str_init(&events, 0);
    test_worker_read(&worker, "events", 2, collect_event, &events);
    cr_assert_str_eq(bf_str_peek(&events), "1 forward leader>hr;2 forward hr>end;");
    bf_str_fini(&events);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 2);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"), 4);
    cr_assert_eq(
        test_db_int(&worker.db,
                    "SELECT status FROM bpm_flow_repository WHERE instant_id = 'i-1'"),
        1);
    cr_assert_eq(
        test_db_int(&worker.db, "SELECT form_id FROM bpm_flow_task WHERE seq = 1"), 7);
}

Test(worker, run__goes_on_with_an_instance_after_a_restart)
{
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_worker_start(&worker); /* another broker: its offsets begin at 0 again */
    test_assert_code(submit("i-1", "c-2", "leader", "li", "forward"), "ok");
    test_assert_code(start("i-2", "c-1"), "ok");
}

Test(worker, stop__sigterm_ends_in_order)
{
    test_worker_start(&worker);
    for (int i = 0; i < 200; i++) {
        test_worker_send(&worker, "i-1",
                         "{'command_id':'c-%d','command':'find','instance_id':'i-%d',"
                         "'graph_id':'approve'}",
                         i, i);
    }
    cr_assert_eq(bf_client_flush(worker.client, TEST_WAIT_MS, NULL), BF_OK);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_offset"), 2);
    cr_assert_eq(
        test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_offset WHERE released"),
        2);
    /* what is applied is exactly what the offset rows say */
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"),
                 test_db_int(&worker.db, "SELECT SUM(next_offset) FROM bpm_flow_offset"));
    cr_assert_eq(test_worker_count_log(&worker, " error "), 0);
}

Test(worker, stop__a_second_signal_ends_at_once)
{
    test_proxy_t *proxy = test_worker_proxy(&worker);
    test_worker_start(&worker);
    test_proxy_stall(proxy); /* giving the partitions up waits for the database */
    cr_assert_eq(kill(worker.pid, SIGTERM), 0);
    test_worker_wait_log(&worker, "stopping: ", 1);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 1);
    test_worker_wait_log(&worker, "by a second signal", 1);
    test_proxy_stop(proxy);
}

/* --- repeated commands --- */

Test(worker, duplicate__gets_the_first_outcome_again)
{
    test_worker_start(&worker);
    const bf_value_t *first = start("i-1", "c-1");
    cr_assert_not(is_duplicate(first));
    test_assert_code(submit("i-1", "c-2", "leader", "li", "forward"), "ok");
    const bf_value_t *again = start("i-1", "c-1");
    test_assert_code(again, "ok");
    cr_assert(is_duplicate(again));
    cr_assert_eq(member_int(again, "revision"), member_int(first, "revision"));
    /* the same command ID for another instance is another command */
    cr_assert_not(is_duplicate(start("i-2", "c-1")));
    /* a rejection is an outcome too */
    test_assert_code(submit("i-1", "c-3", "leader", "li", "forward"), "not_waiting");
    const bf_value_t *rejected = submit("i-1", "c-3", "leader", "li", "forward");
    test_assert_code(rejected, "not_waiting");
    cr_assert(is_duplicate(rejected));
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 1);
}

Test(worker, duplicate__within_one_batch_is_applied_once)
{
    test_worker_set(&worker, "batch.linger_ms", "300");
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    for (int i = 0; i < 3; i++) {
        test_worker_send(&worker, "i-1",
                         "{'command_id':'c-2','command':'submit','instance_id':'i-1',"
                         "'node_id':'leader','actor':'li'}");
    }
    cr_assert_not(is_duplicate(test_worker_reply(&worker, "c-2")));
    cr_assert(is_duplicate(test_worker_reply(&worker, "c-2")));
    const bf_value_t *last = test_worker_reply(&worker, "c-2");
    cr_assert(is_duplicate(last));
    test_assert_code(last, "ok");
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 1);
}

Test(worker, duplicate__leaves_the_rest_of_its_batch_alone)
{
    test_worker_set(&worker, "batch.linger_ms", "300");
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    test_worker_send(&worker, "i-1",
                     "{'command_id':'c-2','command':'submit','instance_id':'i-1',"
                     "'node_id':'leader','actor':'li'}");
    test_worker_send(&worker, "i-1",
                     "{'command_id':'c-1','command':'start','instance_id':'i-1',"
                     "'graph_id':'approve'}");
    test_worker_send(&worker, "i-1",
                     "{'command_id':'c-3','command':'submit','instance_id':'i-1',"
                     "'node_id':'hr','actor':'wang'}");
    test_assert_code(test_worker_reply(&worker, "c-2"), "ok");
    cr_assert(is_duplicate(test_worker_reply(&worker, "c-1")));
    const bf_value_t *last = test_worker_reply(&worker, "c-3");
    test_assert_code(last, "ok");
    cr_assert_str_eq(bf_value_get_cstr(last, "instance_state"), "completed");
}

/* --- somebody else changes an instance --- */

Test(worker, conflict__is_executed_again_on_what_is_there_now)
{
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    test_db_sql(&worker.db,
                "UPDATE bpm_flow_repository SET rev = rev + 10, vars = '{\"day\":9}' "
                "WHERE instant_id = 'i-1'");
    const bf_value_t *reply = submit("i-1", "c-2", "leader", "li", "forward");
    test_assert_code(reply, "ok");
    cr_assert_gt(member_int(reply, "revision"), 10);
    cr_assert_str_eq(
        test_db_text(&worker.db, "SELECT variables FROM bpm_flow_task WHERE seq = 1"),
        "{\"day\":9}");
}

Test(worker, conflict__a_back_that_lost_is_rejected)
{
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    test_assert_code(submit("i-1", "c-2", "leader", "li", "forward"), "ok");
    test_db_sql(&worker.db, "UPDATE bpm_flow_repository SET rev = rev + 1");
    test_assert_code(submit("i-1", "c-3", "hr", "wang", "back"), "revision_conflict");
    test_assert_code(submit("i-1", "c-4", "hr", "wang", "back"), "ok");
}

/* --- a row that the database refuses --- */

Test(worker, poison__is_found_and_rejected_alone)
{
    test_db_sql(&worker.db,
                "CREATE TRIGGER refuse BEFORE INSERT ON bpm_flow_task FOR EACH ROW "
                "BEGIN IF NEW.flow_ins_id = 'poison' THEN "
                "SIGNAL SQLSTATE '22001' SET MYSQL_ERRNO = 1406, "
                "MESSAGE_TEXT = 'Data too long for column'; END IF; END");
    test_worker_set(&worker, "batch.linger_ms", "300");
    test_worker_start(&worker);
    test_assert_code(start("poison", "s-p"), "ok");
    for (int i = 0; i < 20; i++) {
        test_worker_send(&worker, "i",
                         "{'command_id':'s-%d','command':'start','instance_id':'i',"
                         "'graph_id':'approve'}",
                         i);
    }
    char text[64];
    test_worker_send(&worker, "poison",
                     "{'command_id':'bad','command':'submit','instance_id':'poison',"
                     "'node_id':'leader','actor':'li'}");
    for (int i = 20; i < 40; i++) {
        test_worker_send(&worker, "i",
                         "{'command_id':'s-%d','command':'find','instance_id':'i'}", i);
    }
    /* both partitions, any order: the last of each tells that all are answered */
    test_assert_code(test_worker_reply(&worker, "bad"), "storage_rejected");
    const bf_value_t *after = test_worker_call(
        &worker, "i", "last", "{'command_id':'last','command':'find','instance_id':'i'}");
    test_assert_code(after, "ok");
    (void)snprintf(
        text, sizeof(text), "%lld",
        (long long)test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"));
    cr_assert_str_eq(text, "43");
    cr_assert_eq(test_db_int(&worker.db,
                             "SELECT COUNT(*) FROM bpm_flow_command WHERE code = "
                             "'storage_rejected'"),
                 1);
    /* the instance is as it was before the refused command */
    test_assert_code(test_worker_call(&worker, "poison", "f-p",
                                      "{'command_id':'f-p','command':'find',"
                                      "'instance_id':'poison'}"),
                     "ok");
}

/* --- the database goes away and comes back --- */

Test(worker, database__away_is_waited_for_and_nothing_is_lost)
{
    test_proxy_t *proxy = test_worker_proxy(&worker);
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    test_proxy_cut(proxy);
    test_worker_send(&worker, "i-1",
                     "{'command_id':'c-2','command':'submit','instance_id':'i-1',"
                     "'node_id':'leader','actor':'li'}");
    test_worker_wait_ready(&worker, false);
    test_worker_wait_log(&worker, "the database: ", 1);
    test_proxy_mend(proxy);
    test_assert_code(test_worker_reply(&worker, "c-2"), "ok");
    test_worker_wait_log(&worker, "the database is back", 1);
    test_worker_wait_ready(&worker, true);
    test_assert_code(submit("i-1", "c-3", "hr", "wang", "forward"), "ok");
    cr_assert_eq(test_worker_count_log(&worker, "the database: "), 1);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_proxy_stop(proxy);
}

Test(worker, database__away_at_the_start_is_waited_for)
{
    test_proxy_t *proxy = test_worker_proxy(&worker);
    test_proxy_cut(proxy);
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the database: ", 1);
    test_proxy_mend(proxy);
    test_worker_wait_ready(&worker, true);
    test_worker_wait_log(&worker, "the database is back", 1);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_proxy_stop(proxy);
}

Test(worker, database__a_commit_without_answer_is_not_applied_twice)
{
    test_proxy_t *proxy = test_worker_proxy(&worker);
    test_worker_start(&worker);
    test_assert_code(start("i-1", "c-1"), "ok");
    test_proxy_lose_answer(proxy, "COMMIT");
    test_assert_code(submit("i-1", "c-2", "leader", "li", "forward"), "ok");
    cr_assert_eq(test_proxy_lost(proxy), 1);
    test_worker_wait_log(&worker, "the answer to a COMMIT was lost; the batch is applied",
                         1);
    test_assert_code(submit("i-1", "c-3", "hr", "wang", "forward"), "ok");
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 2);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"), 3);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    test_proxy_stop(proxy);
}

/* --- starts that must not go on --- */

Test(worker, start__without_tables_says_what_to_run)
{
    test_db_sql(&worker.db, "DROP TABLE bpm_schema_version");
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 1);
    test_worker_wait_log(&worker, "bpmflow migrate", 1);
}

Test(worker, start__another_schema_version_is_refused)
{
    test_db_sql(&worker.db, "UPDATE bpm_schema_version SET version = version + 1000");
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 1);
}

Test(worker, start__a_wrong_setting_ends_with_status_2)
{
    test_worker_set(&worker, "batch.max_comands", "5");
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 2);
    test_worker_wait_log(&worker, "did you mean 'batch.max_commands'?", 1);
}

/* --- operations --- */

Test(worker, secrets__are_never_logged)
{
    test_worker_set(&worker, "log.level", "debug");
    test_worker_set(&worker, "mysql.user", "root");
    test_worker_set(&worker, "mysql.password", "s3cret-pass");
    test_worker_spawn(&worker);
    test_worker_wait_log(&worker, "the database: ", 1);
    cr_assert_eq(test_worker_count_log(&worker, "s3cret-pass"), 0);
}

static const bf_value_t *start_second(const char *command)
{
    return test_worker_call(&worker, "i-1", command,
                            "{'command_id':'%s','command':'start','instance_id':'i-1',"
                            "'graph_id':'second'}",
                            command);
}

Test(worker, reload__takes_a_new_definition)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/second.yml", worker.folder);
    test_worker_set(&worker, "graphs.paths", "tests/data/worker,%s", worker.folder);
    test_worker_start(&worker);
    test_assert_code(start_second("c-1"), "unknown_graph");
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    (void)fputs("id: second\nlayout:\n  - {id: s, type: start}\n"
                "  - {id: t, meta: {actor: a}}\n  - {id: e, type: end}\n",
                file);
    (void)fclose(file);
    cr_assert_eq(kill(worker.pid, SIGHUP), 0);
    test_worker_wait_log(&worker, "definitions are loaded", 2);
    test_assert_code(start_second("c-2"), "ok");
    (void)unlink(path);
}
