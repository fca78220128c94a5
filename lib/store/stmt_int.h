/*
 * stmt_int.h - prepared statements: parameters in, rows out
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_STMT_INT_H
#define BF_STORE_STMT_INT_H

#include "bpmflow/instance.h"
#include "lib/store/db_int.h"

/* --- parameters --- */

typedef union bf_param_value {
    int64_t integer;
    MYSQL_TIME time;
} bf_param_value_t;

/* Values for the question marks of one execution, in their order.  Texts are borrowed
 * until the statement ran. */
typedef struct bf_params {
    MYSQL_BIND *binds;
    bf_param_value_t *values;
    unsigned long *lengths;
    size_t capacity;
    size_t count;
    size_t bytes; /* of the texts put since clear */
    /* the last time converted: a batch has one or few */
    int64_t last_ms;
    MYSQL_TIME last_time;
} bf_params_t;

/** Room for that many. BF_OK or BF_E_NOMEM. */
bf_status_t bf_params_init(bf_params_t *params, size_t capacity) BF_MUST_USE;
void bf_params_fini(bf_params_t *params);
void bf_params_clear(bf_params_t *params);
void bf_params_put_i64(bf_params_t *params, int64_t value);
/** data NULL = SQL NULL */
void bf_params_put_text(bf_params_t *params, const char *data, size_t len);
void bf_params_put_cstr(bf_params_t *params, const char *text);
void bf_params_put_null_i64(bf_params_t *params);
/** DATETIME(3) in UTC from milliseconds since 1970; 0 = NULL. */
void bf_params_put_time(bf_params_t *params, int64_t wall_ms);

/* --- statements --- */

typedef struct bf_stmt bf_stmt_t;

/** @param what  for error texts, static: "history rows"
 *  Errors as bf_db_classify(). */
bf_status_t bf_stmt_prepare(bf_db_t *db, const char *what, const char *sql,
                            bf_stmt_t **ret, bf_err_t *err) BF_MUST_USE;
void bf_stmt_close(bf_stmt_t *stmt);

/**
 * Run with the parameters first, first + 1, ... (as many as the statement has).
 * Rows of a SELECT are fetched to the client; then bf_stmt_next().
 * @param ret_affected  may be NULL
 */
bf_status_t bf_stmt_run(bf_stmt_t *stmt, const bf_params_t *params, size_t first,
                        int64_t *ret_affected, bf_err_t *err) BF_MUST_USE;

/** How many parameters it has. */
size_t bf_stmt_param_count(const bf_stmt_t *stmt);
#ifdef MARIADB_BASE_VERSION
/** Its number on the server. */
uint64_t bf_stmt_id(const bf_stmt_t *stmt);
#endif

/** Number of the error that the last failed run met; 0 = none. */
unsigned bf_stmt_errno(const bf_stmt_t *stmt);
/** Text of it, valid until the next run. */
const char *bf_stmt_error(const bf_stmt_t *stmt);
/** First AUTO_INCREMENT number of the last run; 0 = none. */
int64_t bf_stmt_insert_id(const bf_stmt_t *stmt);

/** Step to the next row; false at the end (the result is freed then). */
bf_status_t bf_stmt_next(bf_stmt_t *stmt, bool *ret_row, bf_err_t *err) BF_MUST_USE;
/** Free the rest of a result that is not read to its end. */
void bf_stmt_end(bf_stmt_t *stmt);

/* Columns of the current row, counted from 0; texts are valid until the next step, end
 * with a NUL, and have data NULL for SQL NULL. */
int64_t bf_stmt_i64(const bf_stmt_t *stmt, size_t column); /* NULL = 0 */
bool bf_stmt_is_null(const bf_stmt_t *stmt, size_t column);
bf_text_t bf_stmt_text(const bf_stmt_t *stmt, size_t column);
/** "" for SQL NULL */
const char *bf_stmt_cstr(const bf_stmt_t *stmt, size_t column);
/** Milliseconds since 1970; NULL = 0 */
int64_t bf_stmt_time(const bf_stmt_t *stmt, size_t column);

/** Copy of a column's text into an arena, NULL for SQL NULL; *ok false: no memory. */
const char *bf_stmt_dup(const bf_stmt_t *stmt, size_t column, bf_arena_t *arena,
                        bool *ok);

/* --- many rows at once --- */

/* A statement "head row, row, row tail" for any number of rows, prepared on first use in
 * sizes that are powers of two: n rows take at most one statement per bit of n. */
#define BF_BULK_SIZES 10
#define BF_BULK_MAX   (1U << (BF_BULK_SIZES - 1))

typedef struct bf_bulk {
    const char *what; /* static: "history rows" */
    const char *head; /* "INSERT INTO t (...) VALUES " */
    const char *tail; /* "" or " ON DUPLICATE KEY UPDATE ..." */
    size_t columns;   /* of a row */
    size_t max_bytes; /* of texts in one statement; one row may be larger */
    bf_db_t *db;
    bf_params_t *params; /* shared: room for BF_BULK_MAX rows */
    bf_stmt_t *stmts[BF_BULK_SIZES];
} bf_bulk_t;

/** Puts the columns of row `index`. */
typedef void (*bf_bulk_fill_fn)(const void *rows, size_t index, bf_params_t *params);
/** The rows first, first + 1, ... got these numbers from AUTO_INCREMENT. */
typedef void (*bf_bulk_ids_fn)(const void *rows, size_t first, size_t count,
                               int64_t first_id);

/* What a run works on. */
typedef struct bf_bulk_rows {
    const void *rows;
    size_t count;
    bf_bulk_fill_fn fill;
    bf_bulk_ids_fn ids; /* may be NULL */
} bf_bulk_rows_t;

/** Close the statements: before the connection goes. */
void bf_bulk_reset(bf_bulk_t *bulk);

/** Prepare the statement for 2^power rows. The connection must be idle. */
bf_status_t bf_bulk_prepare(bf_bulk_t *bulk, size_t power, bf_err_t *err) BF_MUST_USE;

/** Put the parameters of the rows first, first + 1, ...; how many fit (at least 1). */
size_t bf_bulk_fill(bf_bulk_t *bulk, const bf_bulk_rows_t *rows, size_t first);

#endif /* BF_STORE_STMT_INT_H */
