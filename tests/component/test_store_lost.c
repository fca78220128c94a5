/*
 * test_store_lost.c - deadlocks, lock time-outs and connections that are cut
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "tests/support/proxy.h"
#include "tests/support/store_rows.h"

static bf_store_t *open_through(const rows_t *rows, const test_proxy_t *proxy)
{
    bf_store_t *store = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_store_options_t options = {.db = rows->db.options};
    options.db.host = "127.0.0.1";
    options.db.port = test_proxy_port(proxy);
    options.db.read_timeout_ms = 10000;
    bf_status_t status = bf_store_open(&options, &store, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return store;
}

/* A fixture whose store goes through a proxy. */
static test_proxy_t *begin_with_proxy(rows_t *rows)
{
    rows_begin(rows);
    test_proxy_t *proxy =
        test_proxy_start(rows->db.options.host, (uint16_t)rows->db.options.port);
    cr_assert_not_null(proxy);
    bf_store_close(rows->store);
    rows->store = open_through(rows, proxy);
    return proxy;
}

static void end_with_proxy(rows_t *rows, test_proxy_t *proxy)
{
    rows_end(rows);
    test_proxy_stop(proxy);
}

static void run_ok(bf_db_t *db, const char *sql)
{
    bf_err_t err = BF_ERR_INIT;
    bf_status_t status = bf_db_execute(db, sql, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
}

static bf_db_t *connect_db(const rows_t *rows)
{
    bf_db_t *db = NULL;
    cr_assert_eq(bf_db_connect(&rows->db.options, &db, NULL), BF_OK);
    return db;
}

/* --- locks --- */

Test(store_lost, commit__that_waits_too_long_for_a_lock_asks_to_try_again)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    bf_db_t *other = connect_db(&rows);
    run_ok(other, "START TRANSACTION");
    run_ok(other, "UPDATE bpm_flow_repository SET status = 0");
    run_ok(bf_store_db(rows.store), "SET SESSION innodb_lock_wait_timeout = 1");
    rows_change(inst);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_STORE_RETRY);
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert_eq(test_db_int(&rows.db, "SELECT next_offset FROM bpm_flow_offset"),
                 rows.offset, "the whole transaction is undone, not only the statement");
    run_ok(other, "ROLLBACK");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    bf_db_close(other);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* A network that swallows everything leaves the server with an open transaction of ours
 * until it notices (MySQL: after wait_timeout). */
static bf_db_t *hold_as_former_connection(const rows_t *rows)
{
    bf_db_t *former = connect_db(rows);
    (void)!bf_db_execute(former, "SET SESSION idle_write_transaction_timeout = 0", NULL);
    run_ok(former, "UPDATE bpm_flow_offset SET connection_id = CONNECTION_ID()");
    run_ok(former, "START TRANSACTION");
    run_ok(former, "UPDATE bpm_flow_offset SET released = TRUE");
    run_ok(bf_store_db(rows->store), "SET SESSION innodb_lock_wait_timeout = 1");
    return former;
}

Test(store_lost, commit__ends_a_former_connection_that_holds_the_offset_row)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_db_t *former = hold_as_former_connection(&rows);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_STORE_RETRY);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    bf_db_close(former);
    bf_instance_free(inst);
    rows_end(&rows);
}

Test(store_lost, commit__leaves_the_connection_of_a_new_owner_alone)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_db_t *owner = connect_db(&rows);
    run_ok(owner, "UPDATE bpm_flow_offset SET epoch = epoch + 1, connection_id = "
                  "CONNECTION_ID()");
    run_ok(owner, "START TRANSACTION");
    run_ok(owner, "UPDATE bpm_flow_offset SET released = TRUE");
    run_ok(bf_store_db(rows.store), "SET SESSION innodb_lock_wait_timeout = 1");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_STORE_RETRY);
    run_ok(owner, "COMMIT");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_FENCED);
    bf_db_close(owner);
    bf_instance_free(inst);
    rows_end(&rows);
}

Test(store_lost, resolve__ends_a_former_connection_that_holds_the_offset_row)
{
    rows_t rows;
    bool committed = true;
    rows_begin(&rows);
    bf_db_t *former = hold_as_former_connection(&rows);
    const bf_offset_advance_t advance = {.topic = ROWS_TOPIC,
                                         .partition_no = 0,
                                         .epoch = rows.epoch,
                                         .from = rows.offset,
                                         .to = rows.offset + 1};
    const bf_batch_write_t batch = {.offsets = &advance, .offset_count = 1};
    cr_assert_eq(bf_store_resolve_commit(rows.store, &batch, &committed, NULL),
                 BF_E_STORE_RETRY);
    cr_assert_eq(bf_store_resolve_commit(rows.store, &batch, &committed, NULL), BF_OK);
    cr_assert_not(committed);
    bf_db_close(former);
    rows_end(&rows);
}

typedef struct second {
    bf_db_t *db;
    bf_status_t status;
} second_t;

static void *update_second(void *arg)
{
    second_t *second = arg;
    second->status = bf_db_execute(
        second->db, "UPDATE bpm_flow_repository SET seq = 9 WHERE instant_id = 'b'",
        NULL);
    return NULL;
}

Test(store_lost, execute__a_deadlock_asks_to_try_again)
{
    rows_t rows;
    pthread_t thread;
    rows_begin(&rows);
    bf_instance_t *list[2] = {rows_instance("a"), rows_instance("b")};
    cr_assert_eq(rows_commit(&rows, list, 2), BF_OK, "%s", rows.err.text);
    second_t second = {connect_db(&rows), BF_OK};
    bf_db_t *db = connect_db(&rows);
    run_ok(db, "START TRANSACTION");
    run_ok(second.db, "START TRANSACTION");
    run_ok(db, "UPDATE bpm_flow_repository SET seq = 8 WHERE instant_id = 'b'");
    run_ok(second.db, "UPDATE bpm_flow_repository SET seq = 9 WHERE instant_id = 'a'");
    cr_assert_eq(pthread_create(&thread, NULL, update_second, &second), 0);
    bf_status_t first = bf_db_execute(
        db, "UPDATE bpm_flow_repository SET seq = 8 WHERE instant_id = 'a'", NULL);
    if (first == BF_OK) {
        run_ok(db, "COMMIT");
    }
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq((first == BF_E_STORE_RETRY) + (second.status == BF_E_STORE_RETRY), 1,
                 "one of both is the victim");
    cr_assert_eq((first == BF_OK) + (second.status == BF_OK), 1);
    bf_db_close(db);
    bf_db_close(second.db);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

typedef struct writer {
    rows_t *rows;
    bf_batch_write_t batch;
    bf_status_t status;
    atomic_bool done;
} writer_t;

static void *write_batch(void *arg)
{
    writer_t *writer = arg;
    bf_commit_report_t report;
    writer->status = rows_commit_batch(writer->rows, writer->batch, &report);
    atomic_store(&writer->done, true);
    return NULL;
}

/* A transaction with many rows: of two in a deadlock the smaller one is undone. */
static bf_db_t *begin_large(const rows_t *rows)
{
    bf_db_t *db = connect_db(rows);
    run_ok(db, "START TRANSACTION");
    for (int i = 0; i < 100; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof(sql),
                       "INSERT INTO bpm_flow_topic (topic, topic_id) VALUES ('t%d', 'x')",
                       i);
        run_ok(db, sql);
    }
    run_ok(db, "UPDATE bpm_flow_repository SET seq = seq WHERE instant_id = 'b'");
    return db;
}

/* The statements behind the one that fails are on their way already: they must not become
 * transactions of their own. */
Test(store_lost, commit__undone_in_the_middle_leaves_nothing_of_what_follows)
{
    rows_t rows;
    pthread_t thread;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("b");
    bf_history_t history = rows_history(&rows, inst);
    bf_command_row_t command = rows_command(&rows, rows.offset, inst, "c-1");
    writer_t writer = {.rows = &rows,
                       .batch = {.instances = &inst,
                                 .instance_count = 1,
                                 .history = &history,
                                 .history_count = 1,
                                 .commands = &command,
                                 .command_count = 1}};
    write_batch(&writer);
    cr_assert_eq(writer.status, BF_OK, "all statements are prepared");
    rows_change(inst); /* twice: now an upsert is prepared, too */
    history = rows_history(&rows, inst);
    command = rows_command(&rows, rows.offset, inst, "c-2");
    write_batch(&writer);
    cr_assert_eq(writer.status, BF_OK, "%s", rows.err.text);
    rows_change(inst);
    history = rows_history(&rows, inst);
    command = rows_command(&rows, rows.offset, inst, "c-3");
    atomic_store(&writer.done, false);
    bf_db_t *other = begin_large(&rows);
    cr_assert_eq(pthread_create(&thread, NULL, write_batch, &writer), 0);
    while (!atomic_load(&writer.done) &&
           test_db_int(&rows.db, "SELECT COUNT(*) FROM information_schema.innodb_trx "
                                 "WHERE trx_state = 'LOCK WAIT'") == 0) {
        (void)usleep(200000); /* the server refreshes that table ten times a second */
    }
    run_ok(other, "UPDATE bpm_flow_offset SET next_offset = next_offset");
    run_ok(other, "ROLLBACK");
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(writer.status, BF_E_STORE_RETRY, "%s", rows.err.text);
    cr_assert(strstr(rows.err.text, "1213"), "a deadlock: %s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_task"), 2);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_command"), 2);
    cr_assert_eq(test_db_int(&rows.db, "SELECT next_offset FROM bpm_flow_offset"),
                 rows.offset);
    write_batch(&writer);
    cr_assert_eq(writer.status, BF_OK, "the session writes again: %s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_task"), 3);
    bf_db_close(other);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* With statements that wait for each other's answer, all is the same. */
Test(store_lost, commit__one_statement_at_a_time)
{
    rows_t rows;
    rows_begin(&rows);
    rows.db.options.one_at_a_time = true;
    bf_store_close(rows.store);
    rows.store = test_db_open_store(&rows.db);
    bf_instance_t *list[3] = {rows_instance("a"), rows_instance("b"), rows_instance("c")};
    cr_assert_eq(rows_commit(&rows, list, 3), BF_OK, "%s", rows.err.text);
    rows_change(list[1]);
    cr_assert_eq(rows_commit(&rows, list, 3), BF_OK, "%s", rows.err.text);
    rows_change(list[2]);
    test_db_sql(&rows.db,
                "UPDATE bpm_flow_repository SET rev = 9 WHERE instant_id = 'c'");
    cr_assert_eq(rows_commit(&rows, list, 3), BF_E_CONFLICT);
    rows.offset--;
    rows_change(list[1]);
    cr_assert_eq(rows_commit(&rows, &list[1], 1), BF_E_FENCED);
    for (size_t i = 0; i < 3; i++) {
        bf_instance_free(list[i]);
    }
    rows_end(&rows);
}

/* --- connections --- */

Test(store_lost, commit__on_a_cut_connection_is_lost_and_a_new_one_goes_on)
{
    rows_t rows;
    bf_commit_report_t report;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    const bf_batch_write_t batch = {.instances = &inst, .instance_count = 1};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    rows_change(inst);
    test_proxy_lose_request(proxy, "START TRANSACTION");
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_STORE_LOST);
    cr_assert_not(report.outcome_unknown, "COMMIT was not sent");
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_STORE_LOST, "still");
    test_proxy_cut(proxy);
    while (bf_store_reconnect(rows.store, NULL) == BF_OK) {
        bf_clock_sleep_ms(5); /* the proxy has not seen it yet */
    }
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_STORE_LOST);
    bf_instance_t *none = NULL;
    const char *id = "i-1";
    cr_assert_eq(bf_store_load_instances(rows.store, &id, 1, &none, NULL),
                 BF_E_STORE_LOST);
    test_proxy_mend(proxy);
    while (bf_store_reconnect(rows.store, NULL) != BF_OK) {
        bf_clock_sleep_ms(5);
    }
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    bf_instance_free(inst);
    end_with_proxy(&rows, proxy);
}

/* After a fail-over the address may lead to a server that is read-only now. */
Test(store_lost, reconnect__a_server_that_is_read_only_is_none)
{
    rows_t rows;
    char sql[160];
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    /* somebody who may not write in spite of it, as a worker should be */
    (void)snprintf(sql, sizeof(sql), "CREATE USER plain_%s IDENTIFIED BY 'plain'",
                   rows.db.name);
    test_db_sql(&rows.db, sql);
    (void)snprintf(sql, sizeof(sql), "GRANT ALL ON %s.* TO plain_%s", rows.db.name,
                   rows.db.name);
    test_db_sql(&rows.db, sql);
    char user[96];
    (void)snprintf(user, sizeof(user), "plain_%s", rows.db.name);
    bf_store_options_t options = {.db = rows.db.options};
    options.db.user = user;
    options.db.password = "plain";
    bf_store_close(rows.store);
    cr_assert_eq(bf_store_open(&options, &rows.store, &rows.err), BF_OK, "%s",
                 rows.err.text);
    test_db_sql(&rows.db, "SET GLOBAL read_only = 1");
    bf_status_t commit = rows_commit(&rows, &inst, 1);
    bf_status_t reconnect = bf_store_reconnect(rows.store, &rows.err);
    test_db_sql(&rows.db, "SET GLOBAL read_only = 0");
    cr_assert_eq(commit, BF_E_STORE_LOST);
    cr_assert_eq(reconnect, BF_E_STORE_LOST);
    cr_assert_not_null(strstr(rows.err.text, "read-only"), "%s", rows.err.text);
    bf_err_clear(&rows.err);
    cr_assert_eq(bf_store_reconnect(rows.store, &rows.err), BF_OK, "%s", rows.err.text);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    (void)snprintf(sql, sizeof(sql), "DROP USER plain_%s", rows.db.name);
    test_db_sql(&rows.db, sql);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* In the middle of the transaction: it is undone by the server. */
Test(store_lost, commit__cut_between_its_statements_leaves_nothing)
{
    rows_t rows;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *inst = rows_instance("i-cut-here");
    test_proxy_lose_answer(proxy, "i-cut-here");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_STORE_LOST);
    cr_assert_eq(test_proxy_lost(proxy), 1);
    cr_assert_eq(bf_store_reconnect(rows.store, &rows.err), BF_OK, "%s", rows.err.text);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 1);
    bf_instance_free(inst);
    end_with_proxy(&rows, proxy);
}

/* What follows must not commit what is left of it: the rows of an owner that is none. */
Test(store_lost, commit__that_cannot_be_rolled_back_leaves_nothing)
{
    rows_t rows;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_store_t *other = test_db_open_store(&rows.db);
    (void)rows_claim(other, 0, "other/0");
    test_proxy_spoil_request(proxy, "ROLLBACK");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_FENCED);
    cr_assert_eq(test_proxy_lost(proxy), 1);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_STORE_LOST);
    cr_assert_eq(bf_store_reconnect(rows.store, &rows.err), BF_OK, "%s", rows.err.text);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_FENCED);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 0);
    bf_store_close(other);
    bf_instance_free(inst);
    end_with_proxy(&rows, proxy);
}

typedef void (*lose_fn)(test_proxy_t *proxy, const char *text);

/* A commit that is lost, or whose answer is; then a new connection. */
static void commit_and_lose(rows_t *rows, test_proxy_t *proxy, lose_fn lose,
                            const bf_batch_write_t *batch)
{
    bf_commit_report_t report;
    lose(proxy, "COMMIT");
    cr_assert_eq(bf_store_commit(rows->store, batch, &report, NULL), BF_E_STORE_LOST);
    cr_assert(report.outcome_unknown);
    cr_assert_eq(bf_store_reconnect(rows->store, &rows->err), BF_OK, "%s",
                 rows->err.text);
}

static bool is_committed(rows_t *rows, const bf_batch_write_t *batch)
{
    bool committed = false;
    cr_assert_eq(bf_store_resolve_commit(rows->store, batch, &committed, &rows->err),
                 BF_OK, "%s", rows->err.text);
    return committed;
}

Test(store_lost, resolve_commit__says_committed_when_only_the_reply_was_lost)
{
    rows_t rows;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    const bf_offset_advance_t move = {ROWS_TOPIC, 0, rows.epoch, 100, 101};
    const bf_batch_write_t batch = {
        .offsets = &move, .offset_count = 1, .instances = &inst, .instance_count = 1};
    commit_and_lose(&rows, proxy, test_proxy_lose_answer, &batch);
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert(is_committed(&rows, &batch));
    cr_assert_not(bf_instance_is_dirty(inst));
    rows_change(inst);
    rows.offset = 101;
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    bf_instance_free(inst);
    end_with_proxy(&rows, proxy);
}

Test(store_lost, resolve_commit__says_not_committed_when_the_request_was_lost)
{
    rows_t rows;
    bf_commit_report_t report;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    const bf_offset_advance_t move = {ROWS_TOPIC, 0, rows.epoch, 100, 101};
    const bf_batch_write_t batch = {
        .offsets = &move, .offset_count = 1, .instances = &inst, .instance_count = 1};
    commit_and_lose(&rows, proxy, test_proxy_lose_request, &batch);
    cr_assert_not(is_committed(&rows, &batch));
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert_eq(bf_store_commit(rows.store, &batch, &report, &rows.err), BF_OK, "%s",
                 rows.err.text);
    bf_instance_free(inst);
    end_with_proxy(&rows, proxy);
}

Test(store_lost, resolve_commit__is_fenced_when_somebody_else_has_claimed)
{
    rows_t rows;
    bool committed = true;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    const bf_offset_advance_t move = {ROWS_TOPIC, 0, rows.epoch, 100, 101};
    const bf_batch_write_t batch = {.offsets = &move, .offset_count = 1};
    commit_and_lose(&rows, proxy, test_proxy_lose_answer, &batch);
    bf_store_t *other = test_db_open_store(&rows.db);
    (void)rows_claim(other, 0, "other/0");
    cr_assert_eq(bf_store_resolve_commit(rows.store, &batch, &committed, NULL),
                 BF_E_FENCED);
    cr_assert_not(committed);
    bf_store_close(other);
    end_with_proxy(&rows, proxy);
}

/* Without offset rows the instances themselves tell. */
Test(store_lost, resolve_commit__without_offsets_asks_the_rows)
{
    rows_t rows;
    bf_commit_report_t report;
    test_proxy_t *proxy = begin_with_proxy(&rows);
    bf_instance_t *list[2] = {rows_instance("i-1"), bf_instance_new("i-2")};
    bf_instance_begin(list[1]); /* a change that names no time */
    cr_assert_eq(bf_instance_state_put(list[1], "g:a", BF_TASK_WAITING), BF_OK);
    bf_instance_commit(list[1]);
    const bf_batch_write_t batch = {.instances = list, .instance_count = 2};
    commit_and_lose(&rows, proxy, test_proxy_lose_answer, &batch);
    cr_assert(is_committed(&rows, &batch));
    rows_change(list[0]);
    rows_change(list[1]);
    commit_and_lose(&rows, proxy, test_proxy_lose_request, &batch);
    cr_assert_not(is_committed(&rows, &batch));
    cr_assert_eq(bf_store_commit(rows.store, &batch, &report, &rows.err), BF_OK, "%s",
                 rows.err.text);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    end_with_proxy(&rows, proxy);
}

Test(store_lost, reconnect__after_the_server_ended_the_connection)
{
    rows_t rows;
    char sql[64];
    rows_begin(&rows);
    (void)snprintf(sql, sizeof(sql), "KILL %llu",
                   (unsigned long long)bf_db_connection_id(bf_store_db(rows.store)));
    test_db_sql(&rows.db, sql);
    cr_assert_eq(rows_commit(&rows, NULL, 0), BF_E_STORE_LOST);
    cr_assert_eq(bf_store_reconnect(rows.store, &rows.err), BF_OK, "%s", rows.err.text);
    cr_assert_eq(rows_commit(&rows, NULL, 0), BF_OK, "%s", rows.err.text);
    rows_end(&rows);
}

/* --- connecting --- */

Test(store_lost, connect__says_what_to_do)
{
    rows_t rows;
    bf_db_t *db = NULL;
    rows_begin(&rows);
    bf_db_options_t options = rows.db.options;
    options.password = "wrong";
    cr_assert_eq(bf_db_connect(&options, &db, &rows.err), BF_E_STORE);
    cr_assert(strstr(rows.err.text, "check user, password and grants"), "%s",
              rows.err.text);
    options = rows.db.options;
    options.database = "bf_no_such_database";
    bf_err_clear(&rows.err);
    cr_assert_eq(bf_db_connect(&options, &db, &rows.err), BF_E_STORE);
    cr_assert(strstr(rows.err.text, "CREATE DATABASE"), "%s", rows.err.text);
    options = rows.db.options;
    options.port = 1;
    bf_err_clear(&rows.err);
    cr_assert_eq(bf_db_connect(&options, &db, &rows.err), BF_E_STORE_LOST);
    cr_assert(strstr(rows.err.text, "is the server running"), "%s", rows.err.text);
    cr_assert_null(db);
    rows_end(&rows);
}

Test(store_lost, connect__sets_the_session_up)
{
    rows_t rows;
    rows_begin(&rows);
    bf_db_t *db = bf_store_db(rows.store);
    cr_assert(
        strncmp(bf_db_server(db), bf_db_is_mariadb(db) ? "MariaDB 1" : "MySQL ", 6) == 0,
        "%s", bf_db_server(db));
    /* a value that does not fit is an error, and times are UTC */
    cr_assert_eq(bf_db_execute(db,
                               "INSERT INTO bpm_flow_topic (topic, topic_id) VALUES "
                               "(REPEAT('x', 300), '')",
                               NULL),
                 BF_E_STORE_DATA);
    cr_assert_eq(bf_db_execute(db,
                               "DO IF(@@session.time_zone = '+00:00' AND "
                               "@@session.character_set_client = 'utf8mb4' AND "
                               "@@session.autocommit = 1, 1, "
                               "(SELECT 1 UNION SELECT 2))",
                               &rows.err),
                 BF_OK, "%s", rows.err.text);
    rows_end(&rows);
}

/* A server with certificates takes TLS; one without is refused rather than used in clear.
 */
Test(store_lost, connect__with_tls_is_encrypted_or_refused)
{
    rows_t rows;
    bf_db_t *db = NULL;
    rows_begin(&rows);
    bf_db_options_t options = rows.db.options;
    options.tls = BF_TLS_REQUIRED;
    bf_status_t status = bf_db_connect(&options, &db, &rows.err);
    if (status == BF_OK) {
        cr_assert_eq(bf_db_execute(db, "SELECT 1", NULL), BF_OK);
        bf_db_close(db);
        db = NULL;
    } else {
        cr_assert(strstr(rows.err.text, "TLS") || strstr(rows.err.text, "SSL"), "%s",
                  rows.err.text);
    }
    options.tls = BF_TLS_VERIFY_FULL;
    options.tls_ca = "/nonexistent/ca.pem";
    cr_assert_neq(bf_db_connect(&options, &db, NULL), BF_OK, "nobody vouches for it");
    cr_assert_null(db);
    rows_end(&rows);
}
