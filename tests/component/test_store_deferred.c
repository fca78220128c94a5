/*
 * test_store_deferred.c - the repository with an explicit flush, and when things fail
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/mysql_repository.h"
#include "tests/support/proxy.h"
#include "tests/support/store_rows.h"

typedef struct deferred {
    test_db_t db;
    bf_repository_t *repo;
    bf_err_t err;
} deferred_t;

static bf_repository_t *open_at(const bf_db_options_t *db, bf_persist_t persist,
                                size_t cache_max_bytes)
{
    bf_repository_t *repo = NULL;
    bf_err_t err = BF_ERR_INIT;
    const bf_mysql_repository_options_t options = {
        .store = {.db = *db}, .persist = persist, .cache_max_bytes = cache_max_bytes};
    bf_status_t status = bf_mysql_repository_open(&options, &repo, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return repo;
}

static void deferred_begin(deferred_t *t)
{
    memset(t, 0, sizeof(*t));
    test_db_begin(&t->db);
    t->repo = open_at(&t->db.options, BF_PERSIST_DEFERRED, 0);
}

static void deferred_end(deferred_t *t)
{
    bf_repository_free(t->repo);
    test_db_end(&t->db);
}

static bf_instance_t *open_instance(deferred_t *t, const char *id)
{
    bf_instance_t *inst = NULL;
    bf_err_clear(&t->err);
    bf_status_t status = t->repo->ops->open(t->repo, id, &inst, &t->err);
    cr_assert_eq(status, BF_OK, "%s", t->err.text);
    return inst;
}

/* A change with its history row, as the executor does it. */
static bf_status_t change(deferred_t *t, const char *id)
{
    bf_instance_t *inst = open_instance(t, id);
    rows_change(inst);
    const bf_history_t row = {
        .instance_id = id, .graph_id = "g", .task_id = "a", .seq = bf_instance_seq(inst)};
    cr_assert_eq(bf_mysql_repository_record(t->repo, &row, NULL), BF_OK);
    return t->repo->ops->changed(t->repo, inst, &t->err);
}

static bf_status_t flush(deferred_t *t)
{
    bf_err_clear(&t->err);
    return bf_mysql_repository_flush(t->repo, &t->err);
}

static int64_t instances(deferred_t *t)
{
    return test_db_int(&t->db, "SELECT COUNT(*) FROM bpm_flow_repository");
}

static int64_t history(deferred_t *t)
{
    return test_db_int(&t->db, "SELECT COUNT(*) FROM bpm_flow_task");
}

Test(store_deferred, flush__writes_everything_in_one_transaction)
{
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(flush(&t), BF_OK, "nothing to write");
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < 300; i++) {
            char id[24];
            (void)snprintf(id, sizeof(id), "i-%d", i);
            cr_assert_eq(change(&t, id), BF_OK);
            cr_assert_eq(change(&t, id), BF_OK);
        }
        cr_assert_eq(history(&t), (int64_t)(round - 1) * 600, "nothing before the flush");
        cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
        cr_assert_eq(instances(&t), 300);
        cr_assert_eq(history(&t), (int64_t)round * 600);
    }
    cr_assert_eq(test_db_int(&t.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                    "rev = 6 AND seq = 6 AND prev_rev = 4"),
                 300);
    deferred_end(&t);
}

Test(store_deferred, preload__opens_many_ahead)
{
    enum { COUNT = 250 };
    static char ids[COUNT][24];
    const char *list[COUNT];
    deferred_t t;
    deferred_begin(&t);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "i-%d", i % 240); /* ten stand twice */
        list[i] = ids[i];
        if (i < 120) { /* the others are new */
            cr_assert_eq(change(&t, ids[i]), BF_OK);
        }
    }
    cr_assert_eq(flush(&t), BF_OK);
    for (int i = 0; i < 119; i++) {
        t.repo->ops->evict(t.repo, ids[i]);
    }
    cr_assert_eq(change(&t, ids[119]), BF_OK); /* not written: it must not be lost */
    cr_assert_eq(bf_mysql_repository_preload(t.repo, list, COUNT, &t.err), BF_OK, "%s",
                 t.err.text);
    /* From here on the rows are not read any more. */
    test_db_sql(&t.db, "RENAME TABLE bpm_flow_repository TO away");
    for (int i = 0; i < COUNT; i++) {
        bf_instance_t *inst = open_instance(&t, ids[i]);
        int want = i % 240 < 119 ? 1 : i % 240 == 119 ? 2 : -1;
        cr_assert_eq(rows_n(inst), want, "%s", ids[i]);
    }
    test_db_sql(&t.db, "RENAME TABLE away TO bpm_flow_repository");
    cr_assert_eq(change(&t, "i-239"), BF_OK);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(instances(&t), 121);
    deferred_end(&t);
}

Test(store_deferred, preload__checks_all_ids_first)
{
    const char *list[] = {"good", ""};
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(bf_mysql_repository_preload(t.repo, list, 2, &t.err), BF_E_INVALID);
    bf_err_clear(&t.err);
    cr_assert_eq(bf_mysql_repository_preload(t.repo, list, 0, &t.err), BF_OK);
    test_db_sql(&t.db, "RENAME TABLE bpm_flow_repository TO away");
    cr_assert_neq(bf_mysql_repository_preload(t.repo, list, 1, &t.err), BF_OK);
    test_db_sql(&t.db, "RENAME TABLE away TO bpm_flow_repository");
    (void)open_instance(&t, "good");
    deferred_end(&t);
}

Test(store_deferred, record__forgets_rows_of_a_number_that_comes_again)
{
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(change(&t, "a"), BF_OK);
    /* recorded, then undone, twice; the number is taken again by another step */
    for (int i = 0; i < 2; i++) {
        const bf_history_t undone = {
            .instance_id = "a", .graph_id = "g", .task_id = "undone", .seq = 2 + i};
        cr_assert_eq(bf_mysql_repository_record(t.repo, &undone, NULL), BF_OK);
    }
    cr_assert_eq(change(&t, "b"), BF_OK);
    cr_assert_eq(change(&t, "a"), BF_OK);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(history(&t), 3);
    cr_assert_eq(test_db_int(&t.db, "SELECT COUNT(*) FROM bpm_flow_task WHERE "
                                    "task_id = 'undone'"),
                 0);
    deferred_end(&t);
}

Test(store_deferred, open__keeps_changes_when_the_cache_is_full)
{
    deferred_t t;
    deferred_begin(&t);
    bf_repository_free(t.repo);
    t.repo = open_at(&t.db.options, BF_PERSIST_DEFERRED, 1); /* room for one */
    for (int i = 0; i < 50; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        cr_assert_eq(change(&t, id), BF_OK);
        t.repo->ops->evict(t.repo, id); /* not before it is written */
    }
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(instances(&t), 50);
    cr_assert_eq(history(&t), 50);
    for (int i = 0; i < 50; i++) { /* from the database by now */
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        cr_assert_eq(rows_n(open_instance(&t, id)), 1);
        cr_assert_eq(change(&t, id), BF_OK);
    }
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(history(&t), 100);
    deferred_end(&t);
}

Test(store_deferred, flush__drops_what_somebody_else_changed_and_keeps_the_rest)
{
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(change(&t, "mine"), BF_OK);
    cr_assert_eq(change(&t, "shared"), BF_OK);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    test_db_sql(&t.db, "UPDATE bpm_flow_repository SET rev = 2, prev_rev = 1 WHERE "
                       "instant_id = 'shared'");
    cr_assert_eq(change(&t, "mine"), BF_OK);
    cr_assert_eq(change(&t, "shared"), BF_OK);
    cr_assert_eq(flush(&t), BF_E_CONFLICT);
    cr_assert(strstr(t.err.text, "shared"), "%s", t.err.text);
    cr_assert_eq(history(&t), 2);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(history(&t), 3, "the row of the dropped change is gone");
    cr_assert_eq(test_db_int(&t.db, "SELECT rev FROM bpm_flow_repository WHERE "
                                    "instant_id = 'mine'"),
                 2);
    cr_assert_eq(bf_instance_revision(open_instance(&t, "shared")), 2, "loaded anew");
    cr_assert_eq(change(&t, "shared"), BF_OK);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    deferred_end(&t);
}

Test(store_deferred, flush__drops_what_the_database_refuses_and_writes_the_rest)
{
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(change(&t, "good-1"), BF_OK);
    cr_assert_eq(change(&t, "bad"), BF_OK);
    cr_assert_eq(change(&t, "good-2"), BF_OK);
    const bf_history_t refused = {.instance_id = "bad",
                                  .graph_id = "g",
                                  .task_id = "a",
                                  .seq = 1,
                                  .message = "\xFF"};
    cr_assert_eq(bf_mysql_repository_record(t.repo, &refused, NULL), BF_OK);
    cr_assert_eq(flush(&t), BF_E_STORE_DATA);
    cr_assert(strstr(t.err.text, "bad"), "%s", t.err.text);
    cr_assert_eq(instances(&t), 2);
    cr_assert_eq(history(&t), 2);
    cr_assert_eq(rows_n(open_instance(&t, "bad")), -1, "as it was before");
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    deferred_end(&t);
}

Test(store_deferred, record__forgets_rows_of_an_operation_that_was_undone)
{
    deferred_t t;
    deferred_begin(&t);
    cr_assert_eq(change(&t, "i-1"), BF_OK);
    bf_instance_t *inst = open_instance(&t, "i-1");
    bf_instance_begin(inst);
    const bf_history_t undone = {.instance_id = "i-1",
                                 .graph_id = "g",
                                 .task_id = "undone",
                                 .seq = bf_instance_next_seq(inst)};
    cr_assert_eq(bf_mysql_repository_record(t.repo, &undone, NULL), BF_OK);
    bf_instance_rollback(inst);
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(history(&t), 1);
    bf_instance_begin(inst);
    const bf_history_t again = {.instance_id = "i-1",
                                .graph_id = "g",
                                .task_id = "undone",
                                .seq = bf_instance_next_seq(inst)};
    cr_assert_eq(bf_mysql_repository_record(t.repo, &again, NULL), BF_OK);
    bf_instance_rollback(inst);
    cr_assert_eq(change(&t, "i-1"), BF_OK); /* takes the same number */
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_str_eq(test_db_text(&t.db, "SELECT GROUP_CONCAT(task_id) FROM "
                                         "bpm_flow_task"),
                     "a,a");
    deferred_end(&t);
}

/* --- connections --- */

static void through_proxy(deferred_t *t, test_proxy_t **ret, bf_persist_t persist)
{
    deferred_begin(t);
    bf_repository_free(t->repo);
    *ret = test_proxy_start(t->db.options.host, (uint16_t)t->db.options.port);
    bf_db_options_t options = t->db.options;
    options.host = "127.0.0.1";
    options.port = test_proxy_port(*ret);
    t->repo = open_at(&options, persist, 0);
}

Test(store_deferred, flush__survives_a_connection_that_was_cut)
{
    deferred_t t;
    test_proxy_t *proxy = NULL;
    through_proxy(&t, &proxy, BF_PERSIST_DEFERRED);
    cr_assert_eq(change(&t, "i-1"), BF_OK);
    test_proxy_lose_request(proxy, "START TRANSACTION");
    cr_assert_eq(flush(&t), BF_OK, "%s", t.err.text);
    cr_assert_eq(test_proxy_lost(proxy), 1);
    cr_assert_eq(history(&t), 1);
    /* a load on a connection that is gone */
    t.repo->ops->evict(t.repo, "i-1");
    test_proxy_lose_request(proxy, "i-1");
    cr_assert_eq(rows_n(open_instance(&t, "i-1")), 1);
    cr_assert_eq(test_proxy_lost(proxy), 2);
    deferred_end(&t);
    test_proxy_stop(proxy);
}

/* The answer to COMMIT is lost: written once, and no error. */
Test(store_deferred, changed__finds_out_what_became_of_a_lost_commit)
{
    deferred_t t;
    test_proxy_t *proxy = NULL;
    through_proxy(&t, &proxy, BF_PERSIST_WRITE_THROUGH);
    test_proxy_lose_answer(proxy, "COMMIT");
    cr_assert_eq(change(&t, "i-1"), BF_OK, "%s", t.err.text);
    cr_assert_eq(test_proxy_lost(proxy), 1);
    cr_assert_eq(history(&t), 1);
    test_proxy_lose_request(proxy, "COMMIT");
    cr_assert_eq(change(&t, "i-1"), BF_OK, "%s", t.err.text);
    cr_assert_eq(test_proxy_lost(proxy), 2);
    cr_assert_eq(history(&t), 2);
    cr_assert_eq(test_db_int(&t.db, "SELECT rev FROM bpm_flow_repository"), 2);
    deferred_end(&t);
    test_proxy_stop(proxy);
}

Test(store_deferred, flush__keeps_everything_while_the_database_is_away)
{
    deferred_t t;
    test_proxy_t *proxy = NULL;
    through_proxy(&t, &proxy, BF_PERSIST_DEFERRED);
    cr_assert_eq(change(&t, "i-1"), BF_OK);
    cr_assert_eq(change(&t, "i-2"), BF_OK);
    test_proxy_cut(proxy);
    bf_clock_sleep_ms(
        200); /* until the proxy has seen it; a flush before it is no harm */
    bf_status_t status = flush(&t);
    cr_assert(status == BF_E_STORE_LOST || status == BF_OK, "%s", t.err.text);
    test_proxy_mend(proxy);
    for (int i = 0; i < 200 && (status = flush(&t)) == BF_E_STORE_LOST; i++) {
        bf_clock_sleep_ms(20);
    }
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_eq(instances(&t), 2);
    cr_assert_eq(history(&t), 2);
    deferred_end(&t);
    test_proxy_stop(proxy);
}

/* Write-through: memory never runs ahead of the database. */
Test(store_deferred, changed__that_fails_is_forgotten)
{
    deferred_t t;
    test_proxy_t *proxy = NULL;
    bf_status_t status = BF_OK;
    through_proxy(&t, &proxy, BF_PERSIST_WRITE_THROUGH);
    cr_assert_eq(change(&t, "i-1"), BF_OK, "%s", t.err.text);
    int64_t written = 1;
    test_proxy_cut(proxy);
    for (int i = 0; i < 200 && (status = change(&t, "i-1")) == BF_OK; i++) {
        written++; /* the proxy has not seen it yet */
        bf_clock_sleep_ms(10);
    }
    cr_assert_eq(status, BF_E_STORE_LOST);
    test_proxy_mend(proxy);
    bf_instance_t *inst = NULL;
    for (int i = 0; i < 200; i++) {
        bf_err_clear(&t.err);
        status = t.repo->ops->open(t.repo, "i-1", &inst, &t.err);
        if (status != BF_E_STORE_LOST) {
            break;
        }
        bf_clock_sleep_ms(20);
    }
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_eq(rows_n(inst), written);
    cr_assert_eq(history(&t), written);
    deferred_end(&t);
    test_proxy_stop(proxy);
}

Test(store_deferred, open__refuses_an_id_that_cannot_be_stored)
{
    deferred_t t;
    bf_instance_t *inst = NULL;
    deferred_begin(&t);
    cr_assert_eq(t.repo->ops->open(t.repo, "", &inst, &t.err), BF_E_INVALID);
    cr_assert_eq(t.repo->ops->open(t.repo, "a ", &inst, NULL), BF_E_INVALID);
    deferred_end(&t);
}
