/*
 * db_int.h - the connection's inside, for the other files of lib/store
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_DB_INT_H
#define BF_STORE_DB_INT_H

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpmflow/db.h"

/* The two client libraries disagree about the type of a flag. */
#ifdef MARIADB_BASE_VERSION
typedef my_bool bf_my_bool_t;
#else
typedef bool bf_my_bool_t;
#endif

struct bf_db {
    MYSQL *mysql;
    char server[64]; /* "MariaDB 10.11.14" */
    bool mariadb;
    uint64_t connection_id;
    size_t max_packet_bytes; /* the server's max_allowed_packet */
    int64_t id_step;         /* auto_increment_increment */
    bool pipelined;          /* statements may be sent before earlier ones are answered */
};

/** ROLLBACK.  Where that fails the connection is cut, and the server undoes by itself:
 *  otherwise the next START TRANSACTION would commit what is left. */
void bf_db_roll_back(bf_db_t *db);

/** Cut the connection: all that follows on it is BF_E_STORE_LOST. */
void bf_db_cut(bf_db_t *db);

/** Sets err to "what: text (number); remedy". */
bf_status_t bf_db_fail_with(const bf_db_t *db, unsigned number, const char *text,
                            const char *what, bf_err_t *err);

/** The number of the last error of the connection. */
unsigned bf_db_errno(const bf_db_t *db);

/** Run a query with one row of up to `count` integers; *ret_row false: no row. NULL
 *  values are read as 0. */
bf_status_t bf_db_query_ints(bf_db_t *db, const char *sql, int64_t *ret, size_t count,
                             bool *ret_row, bf_err_t *err) BF_MUST_USE;

/* Numbers of errors that the code asks for. */
#define BF_SQL_TABLE_EXISTS      1050
#define BF_SQL_DUPLICATE_COLUMN  1060
#define BF_SQL_DUPLICATE_INDEX   1061
#define BF_SQL_DUPLICATE_ENTRY   1062
#define BF_SQL_CANT_DROP         1091
#define BF_SQL_NO_SUCH_TABLE     1146
#define BF_SQL_PACKET_TOO_LARGE  1153
#define BF_SQL_LOCK_WAIT_TIMEOUT 1205

#endif /* BF_STORE_DB_INT_H */
