/*
 * test_db.c - see test_db.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/test_db.h"

#include <criterion/criterion.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/num.h"

static const char *setting(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets */
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static uint32_t port_setting(void)
{
    int64_t port = 0;
    const char *text = setting("BF_MARIADB_PORT");
    if (text != NULL) {
        cr_assert_eq(bf_num_parse_range(text, strlen(text), 1, 65535, &port, NULL),
                     BF_OK);
    }
    return (uint32_t)port;
}

static bf_db_t *connect_or_fail(const bf_db_options_t *options)
{
    bf_db_t *db = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_status_t status = bf_db_connect(options, &db, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return db;
}

void test_db_begin_empty(test_db_t *db)
{
    static int number;
    char sql[160];
    if (setting("BF_MARIADB_HOST") == NULL) {
        cr_skip_test("SKIPPED: no database server; run: make check-component");
    }
    memset(db, 0, sizeof(*db));
    db->options.host = setting("BF_MARIADB_HOST");
    db->options.port = port_setting();
    db->options.user = setting("BF_MARIADB_USER");
    db->options.password = setting("BF_MARIADB_PASSWORD");
    (void)snprintf(db->name, sizeof(db->name), "bf_test_%d_%d", (int)getpid(), number++);
    bf_db_t *admin = connect_or_fail(&db->options);
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s", db->name);
    cr_assert_eq(bf_db_execute(admin, sql, NULL), BF_OK);
    /* the server's own default collation on purpose: the tables must not depend on it */
    (void)snprintf(sql, sizeof(sql), "CREATE DATABASE %s", db->name);
    cr_assert_eq(bf_db_execute(admin, sql, NULL), BF_OK);
    bf_db_close(admin);
    db->options.database = db->name;
    db->admin = connect_or_fail(&db->options);
}

void test_db_begin(test_db_t *db)
{
    bf_err_t err = BF_ERR_INIT;
    test_db_begin_empty(db);
    bf_status_t status = bf_migrate_run(db->admin, NULL, NULL, NULL, NULL, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
}

void test_db_end(test_db_t *db)
{
    char sql[160];
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s", db->name);
    test_db_sql(db, sql);
    bf_db_close(db->admin);
    db->admin = NULL;
}

bf_store_t *test_db_open_store(const test_db_t *db)
{
    bf_store_t *store = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_store_options_t options = {.db = db->options};
    bf_status_t status = bf_store_open(&options, &store, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return store;
}

void test_db_sql(test_db_t *db, const char *sql)
{
    bf_err_t err = BF_ERR_INIT;
    bf_status_t status = bf_db_execute(db->admin, sql, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
}

/* A plain client beside the product's own connection. */
const char *test_db_text(test_db_t *db, const char *sql)
{
    static char text[65536];
    MYSQL *mysql = mysql_init(NULL);
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    cr_assert_not_null(mysql);
    (void)mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    (void)mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    cr_assert_not_null(mysql_real_connect(mysql, db->options.host, db->options.user,
                                          db->options.password, db->name,
                                          db->options.port, NULL, 0),
                       "%s", mysql_error(mysql));
    cr_assert_eq(mysql_query(mysql, sql), 0, "%s: %s", sql, mysql_error(mysql));
    MYSQL_RES *rows = mysql_store_result(mysql);
    cr_assert_not_null(rows);
    MYSQL_ROW row = mysql_fetch_row(rows);
    const char *value = row == NULL ? "(none)" : row[0] == NULL ? "(null)" : row[0];
    (void)snprintf(text, sizeof(text), "%s", value);
    mysql_free_result(rows);
    mysql_close(mysql);
    return text;
}

int64_t test_db_int(test_db_t *db, const char *sql)
{
    int64_t value = -1;
    const char *text = test_db_text(db, sql);
    if (strcmp(text, "(none)") != 0) {
        cr_assert_eq(bf_num_parse_i64(text, strlen(text), &value, NULL), BF_OK, "%s: %s",
                     sql, text);
    }
    return value;
}
