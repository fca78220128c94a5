/*
 * test_db.h - a database of its own for each test
 *
 * The server is the one of BF_MARIADB_HOST, _PORT, _SOCKET, _USER, _PASSWORD, which may
 * be a MySQL (make check-mysql).  Without one a test is skipped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_DB_H
#define BF_TEST_DB_H

#include "bpmflow/migrate.h"
#include "bpmflow/store.h"

typedef struct test_db {
    char name[64];
    bf_db_options_t options; /* texts are static or in here */
    bf_db_t *admin;          /* connection for looking at rows */
} test_db_t;

/** Skips the running test when there is no server; else makes an empty database with all
 *  tables. */
void test_db_begin(test_db_t *db);
/** The same without tables. */
void test_db_begin_empty(test_db_t *db);
/** Drops the database. */
void test_db_end(test_db_t *db);

bf_store_t *test_db_open_store(const test_db_t *db);

/** Run a statement; fails the test when it fails. */
void test_db_sql(test_db_t *db, const char *sql);
/** First column of the first row as an integer; -1 when there is no row. */
int64_t test_db_int(test_db_t *db, const char *sql);
/** First column of the first row as text, "(null)" and "(none)" for NULL and no row;
 *  valid until the next call. */
const char *test_db_text(test_db_t *db, const char *sql);

#endif /* BF_TEST_DB_H */
