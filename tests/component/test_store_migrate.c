/*
 * test_store_migrate.c - migrations on a real server
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/migrate.h"
#include "tests/support/test_db.h"

#define TABLES                                                                           \
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"

static void expect_check(test_db_t *db, const bf_tables_t *tables, const char *words)
{
    bf_err_t err = BF_ERR_INIT;
    bf_status_t status = bf_migrate_check(db->admin, tables, &err);
    if (words == NULL) {
        cr_assert_eq(status, BF_OK, "%s", err.text);
    } else {
        cr_assert_eq(status, BF_E_SCHEMA);
        cr_assert(strstr(err.text, words), "%s", err.text);
    }
}

static int run_ok(test_db_t *db, const bf_tables_t *tables)
{
    int applied = -1;
    bf_err_t err = BF_ERR_INIT;
    bf_status_t status = bf_migrate_run(db->admin, tables, NULL, NULL, &applied, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return applied;
}

static int version_of(test_db_t *db)
{
    int version = -1;
    cr_assert_eq(bf_migrate_version(db->admin, &version, NULL), BF_OK);
    return version;
}

static void note_name(void *arg, int version, const char *name)
{
    (void)snprintf(arg, 64, "%d %s", version, name);
}

Test(store_migrate, run__makes_all_tables_once)
{
    test_db_t db;
    char last[64] = "";
    int applied = 0;
    test_db_begin_empty(&db);
    cr_assert_eq(version_of(&db), 0);
    expect_check(&db, NULL, "run: bpmflow migrate");
    cr_assert_eq(test_db_int(&db, TABLES), 0, "a check makes nothing");
    cr_assert_eq(bf_migrate_run(db.admin, NULL, note_name, last, &applied, NULL), BF_OK);
    cr_assert_eq(applied, bf_migrate_needed_version());
    cr_assert_eq(version_of(&db), bf_migrate_needed_version());
    cr_assert_neq(last[0], '\0');
    expect_check(&db, NULL, NULL);
    int64_t tables = test_db_int(&db, TABLES);
    cr_assert_geq(tables, 6);
    last[0] = '\0';
    cr_assert_eq(bf_migrate_run(db.admin, NULL, note_name, last, &applied, NULL), BF_OK);
    cr_assert_eq(applied, 0);
    cr_assert_eq(last[0], '\0');
    cr_assert_eq(test_db_int(&db, TABLES), tables);
    test_db_end(&db);
}

Test(store_migrate, run__gives_ids_a_collation_that_compares_bytes)
{
    test_db_t db;
    test_db_begin(&db);
    cr_assert_eq(test_db_int(&db, "SELECT COUNT(*) FROM information_schema.columns WHERE "
                                  "table_schema = DATABASE() AND collation_name IS NOT "
                                  "NULL AND collation_name <> 'utf8mb4_bin'"),
                 0);
    /* documents keep their bytes, and still are JSON for the server's functions */
    test_db_sql(&db, "INSERT INTO bpm_flow_repository (instant_id, vars) VALUES "
                     "('a', '{\"b\": 2.50, \"a\":[1 ,2]}'), ('A', '{}')");
    cr_assert_str_eq(test_db_text(&db, "SELECT vars FROM bpm_flow_repository WHERE "
                                       "instant_id = 'a'"),
                     "{\"b\": 2.50, \"a\":[1 ,2]}");
    cr_assert_str_eq(test_db_text(&db, "SELECT JSON_EXTRACT(vars, '$.a[1]') FROM "
                                       "bpm_flow_repository WHERE instant_id = 'a'"),
                     "2");
    test_db_end(&db);
}

Test(store_migrate, run__goes_on_where_it_was_cut_off)
{
    test_db_t db;
    test_db_begin(&db);
    int64_t tables = test_db_int(&db, TABLES);
    /* as if the process had died after a statement was done but before it was noted */
    test_db_sql(&db, "UPDATE bpm_schema_version SET done = 1 WHERE version = 1");
    test_db_sql(&db, "DELETE FROM bpm_schema_version WHERE version > 1");
    test_db_sql(&db, "DROP TABLE bpm_flow_topic, bpm_flow_offset, bpm_flow_command");
    cr_assert_eq(version_of(&db), 0);
    expect_check(&db, NULL, "run: bpmflow migrate");
    cr_assert_geq(run_ok(&db, NULL), 1);
    expect_check(&db, NULL, NULL);
    cr_assert_eq(test_db_int(&db, TABLES), tables);
    test_db_end(&db);
}

Test(store_migrate, run__stops_with_the_reason)
{
    test_db_t db;
    bf_err_t err = BF_ERR_INIT;
    test_db_begin(&db);
    test_db_sql(&db, "UPDATE bpm_schema_version SET done = 3 WHERE version = 1");
    test_db_sql(&db, "DELETE FROM bpm_schema_version WHERE version > 1");
    test_db_sql(&db, "SET SESSION TRANSACTION READ ONLY");
    bf_status_t status = bf_migrate_run(db.admin, NULL, NULL, NULL, NULL, &err);
    cr_assert_neq(status, BF_OK);
    cr_assert(strstr(err.text, "bpm_schema_version") || strstr(err.text, "0001_flow"),
              "%s", err.text);
    test_db_sql(&db, "SET SESSION TRANSACTION READ WRITE");
    cr_assert_eq(version_of(&db), 0);
    cr_assert_geq(run_ok(&db, NULL), 1);
    expect_check(&db, NULL, NULL);
    test_db_end(&db);
}

Test(store_migrate, check__refuses_a_newer_database)
{
    test_db_t db;
    bf_err_t err = BF_ERR_INIT;
    test_db_begin(&db);
    test_db_sql(&db, "INSERT INTO bpm_schema_version SELECT 9999, 'later', 1, 1, '', "
                     "repository_table, task_table, update_time FROM bpm_schema_version "
                     "WHERE version = 1");
    expect_check(&db, NULL, "use a newer build");
    cr_assert_eq(bf_migrate_run(db.admin, NULL, NULL, NULL, NULL, &err), BF_E_SCHEMA);
    cr_assert(strstr(err.text, "9999"), "%s", err.text);
    test_db_end(&db);
}

Test(store_migrate, check__refuses_a_migration_of_another_text)
{
    test_db_t db;
    test_db_begin(&db);
    test_db_sql(&db, "UPDATE bpm_schema_version SET checksum = '0123456789abcdef'");
    expect_check(&db, NULL, "applied from another text");
    cr_assert_eq(bf_migrate_run(db.admin, NULL, NULL, NULL, NULL, NULL), BF_E_SCHEMA);
    test_db_end(&db);
}

Test(store_migrate, run__takes_other_table_names)
{
    test_db_t db;
    const bf_tables_t other = {.repository = "acme_instances", .task = "acme_history"};
    test_db_begin_empty(&db);
    cr_assert_geq(run_ok(&db, &other), 1);
    expect_check(&db, &other, NULL);
    cr_assert_eq(test_db_int(&db, "SELECT COUNT(*) FROM acme_instances"), 0);
    cr_assert_eq(test_db_int(&db, "SELECT COUNT(*) FROM acme_history"), 0);
    expect_check(&db, NULL, "acme_instances");
    cr_assert_eq(bf_migrate_run(db.admin, NULL, NULL, NULL, NULL, NULL), BF_E_SCHEMA,
                 "it does not make a second set of tables");
    /* as sql/README.md says */
    test_db_sql(&db,
                "RENAME TABLE acme_instances TO bpm_flow_repository, acme_history TO "
                "bpm_flow_task");
    test_db_sql(&db, "UPDATE bpm_schema_version SET repository_table = "
                     "'bpm_flow_repository', task_table = 'bpm_flow_task'");
    expect_check(&db, NULL, NULL);
    test_db_end(&db);
}

static void *migrate_thread(void *arg)
{
    test_db_t *db = arg;
    bf_db_t *mine = NULL;
    bf_err_t err = BF_ERR_INIT;
    int applied = -1;
    if (bf_db_connect(&db->options, &mine, &err) == BF_OK) {
        if (bf_migrate_run(mine, NULL, NULL, NULL, &applied, &err) != BF_OK) {
            applied = -2;
        }
        bf_db_close(mine);
    }
    return (void *)(intptr_t)applied;
}

Test(store_migrate, run__of_several_at_once_applies_each_once)
{
    enum { COUNT = 4 };
    test_db_t db;
    pthread_t threads[COUNT];
    int sum = 0;
    test_db_begin_empty(&db);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, migrate_thread, &db), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        void *applied = NULL;
        cr_assert_eq(pthread_join(threads[i], &applied), 0);
        cr_assert_geq((intptr_t)applied, 0);
        sum += (int)(intptr_t)applied;
    }
    cr_assert_eq(sum, bf_migrate_needed_version());
    expect_check(&db, NULL, NULL);
    test_db_end(&db);
}

Test(store_migrate, store_open__refuses_a_database_without_tables)
{
    test_db_t db;
    bf_store_t *store = NULL;
    bf_err_t err = BF_ERR_INIT;
    test_db_begin_empty(&db);
    const bf_store_options_t options = {.db = db.options};
    cr_assert_eq(bf_store_open(&options, &store, &err), BF_E_SCHEMA);
    cr_assert(strstr(err.text, "bpmflow migrate"), "%s", err.text);
    cr_assert_null(store);
    test_db_end(&db);
}
