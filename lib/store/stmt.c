/*
 * stmt.c - see stmt_int.h
 *
 * Everything crosses the connection in binary form: texts as they are, times as
 * MYSQL_TIME, integers as 64 bit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/stmt_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpmflow/assert.h"

/* First buffer of a text column; grows with what comes. */
#define TEXT_CAPACITY 256

/* --- parameters --- */

bf_status_t bf_params_init(bf_params_t *params, size_t capacity)
{
    memset(params, 0, sizeof(*params));
    params->binds = calloc(capacity, sizeof(*params->binds));
    params->values = calloc(capacity, sizeof(*params->values));
    params->lengths = calloc(capacity, sizeof(*params->lengths));
    params->capacity = capacity;
    if (params->binds == NULL || params->values == NULL || params->lengths == NULL) {
        bf_params_fini(params);
        return BF_E_NOMEM;
    }
    return BF_OK;
}

void bf_params_fini(bf_params_t *params)
{
    free(params->binds);
    free(params->values);
    free(params->lengths);
    memset(params, 0, sizeof(*params));
}

void bf_params_clear(bf_params_t *params)
{
    params->count = 0;
    params->bytes = 0;
}

static MYSQL_BIND *next_bind(bf_params_t *params, enum enum_field_types type)
{
    BF_ASSERT(params->count < params->capacity);
    MYSQL_BIND *bind = &params->binds[params->count];
    memset(bind, 0, sizeof(*bind));
    bind->buffer_type = type;
    bind->buffer = &params->values[params->count];
    params->count++;
    return bind;
}

void bf_params_put_i64(bf_params_t *params, int64_t value)
{
    params->values[params->count].integer = value;
    (void)next_bind(params, MYSQL_TYPE_LONGLONG);
}

/* A NULL has the type of its column: MySQL would prepare the statement again for another
 * type. */
static void put_null(bf_params_t *params, enum enum_field_types type)
{
    static bf_my_bool_t yes = 1; /* the library only reads it */
    next_bind(params, type)->is_null = &yes;
}

void bf_params_put_null_i64(bf_params_t *params)
{
    put_null(params, MYSQL_TYPE_LONGLONG);
}

void bf_params_put_text(bf_params_t *params, const char *data, size_t len)
{
    if (data == NULL) {
        put_null(params, MYSQL_TYPE_STRING);
        return;
    }
    /* Only texts have a length of their own: libmysqlclient reserves by it what a date
     * takes, whatever stands there. */
    unsigned long *length = &params->lengths[params->count];
    MYSQL_BIND *bind = next_bind(params, MYSQL_TYPE_STRING);
    *length = (unsigned long)len;
    bind->length = length;
    /* the library only reads a parameter's buffer, though its type is not const */
    memcpy(&bind->buffer, &data, sizeof(data));
    bind->buffer_length = (unsigned long)len;
    params->bytes += len;
}

void bf_params_put_cstr(bf_params_t *params, const char *text)
{
    bf_params_put_text(params, text, text != NULL ? strlen(text) : 0);
}

static void time_of_ms(int64_t wall_ms, MYSQL_TIME *ret)
{
    int64_t sec = wall_ms / 1000;
    int64_t ms = wall_ms % 1000;
    struct tm tm;
    memset(ret, 0, sizeof(*ret));
    if (ms < 0) {
        ms += 1000;
        sec--;
    }
    time_t t = (time_t)sec;
    if (gmtime_r(&t, &tm) == NULL) {
        memset(&tm, 0, sizeof(tm));
    }
    ret->year = (unsigned)(tm.tm_year + 1900);
    ret->month = (unsigned)(tm.tm_mon + 1);
    ret->day = (unsigned)tm.tm_mday;
    ret->hour = (unsigned)tm.tm_hour;
    ret->minute = (unsigned)tm.tm_min;
    ret->second = (unsigned)tm.tm_sec;
    ret->second_part = (unsigned long)(ms * 1000);
    ret->time_type = MYSQL_TIMESTAMP_DATETIME;
}

void bf_params_put_time(bf_params_t *params, int64_t wall_ms)
{
    if (wall_ms == 0) {
        put_null(params, MYSQL_TYPE_DATETIME);
        return;
    }
    if (wall_ms != params->last_ms || params->last_time.year == 0) {
        time_of_ms(wall_ms, &params->last_time);
        params->last_ms = wall_ms;
    }
    params->values[params->count].time = params->last_time;
    (void)next_bind(params, MYSQL_TYPE_DATETIME);
}

/* --- statements --- */

typedef enum { COLUMN_INTEGER, COLUMN_TIME, COLUMN_TEXT } column_kind_t;

typedef struct column {
    column_kind_t kind;
    int64_t integer;
    MYSQL_TIME time;
    char *text; /* capacity + 1 bytes */
    size_t capacity;
    unsigned long length;
    bf_my_bool_t is_null;
    bf_my_bool_t error;
} column_t;

struct bf_stmt {
    bf_db_t *db;
    const char *what;
    MYSQL_STMT *handle;
    size_t param_count;
    size_t column_count;
    column_t *columns;
    MYSQL_BIND *binds; /* one per column */
    bool open;         /* there is a result */
    bool grown;        /* buffers have moved: bind them before the next row */
};

static bf_status_t stmt_fail(const bf_stmt_t *stmt, bf_err_t *err)
{
    return bf_db_fail_with(stmt->db, mysql_stmt_errno(stmt->handle),
                           mysql_stmt_error(stmt->handle), stmt->what, err);
}

size_t bf_stmt_param_count(const bf_stmt_t *stmt)
{
    return stmt->param_count;
}

#ifdef MARIADB_BASE_VERSION
uint64_t bf_stmt_id(const bf_stmt_t *stmt)
{
    return stmt->handle->stmt_id;
}
#endif

unsigned bf_stmt_errno(const bf_stmt_t *stmt)
{
    return mysql_stmt_errno(stmt->handle);
}

const char *bf_stmt_error(const bf_stmt_t *stmt)
{
    return mysql_stmt_error(stmt->handle);
}

int64_t bf_stmt_insert_id(const bf_stmt_t *stmt)
{
    return (int64_t)mysql_stmt_insert_id(stmt->handle);
}

static column_kind_t kind_of(enum enum_field_types type)
{
    if (type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_LONG ||
        type == MYSQL_TYPE_LONGLONG || type == MYSQL_TYPE_INT24) {
        return COLUMN_INTEGER;
    }
    if (type == MYSQL_TYPE_DATETIME || type == MYSQL_TYPE_TIMESTAMP) {
        return COLUMN_TIME;
    }
    return COLUMN_TEXT;
}

static bf_status_t grow_text(column_t *column, MYSQL_BIND *bind, size_t capacity)
{
    char *text = realloc(column->text, capacity + 1);
    if (text == NULL) {
        return BF_E_NOMEM;
    }
    column->text = text;
    column->capacity = capacity;
    bind->buffer = text;
    bind->buffer_length = (unsigned long)capacity;
    return BF_OK;
}

static bf_status_t set_up_column(column_t *column, MYSQL_BIND *bind,
                                 enum enum_field_types type)
{
    column->kind = kind_of(type);
    bind->length = &column->length;
    bind->is_null = &column->is_null;
    bind->error = &column->error;
    switch (column->kind) {
    case COLUMN_INTEGER:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = &column->integer;
        return BF_OK;
    case COLUMN_TIME:
        bind->buffer_type = MYSQL_TYPE_DATETIME;
        bind->buffer = &column->time;
        return BF_OK;
    case COLUMN_TEXT:
        bind->buffer_type = MYSQL_TYPE_STRING;
        return grow_text(column, bind, TEXT_CAPACITY);
    }
    return BF_OK;
}

static bf_status_t set_up_columns(bf_stmt_t *stmt, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    MYSQL_RES *meta = mysql_stmt_result_metadata(stmt->handle);
    if (meta == NULL) {
        return BF_OK; /* no result */
    }
    stmt->column_count = mysql_num_fields(meta);
    stmt->columns = calloc(stmt->column_count, sizeof(*stmt->columns));
    stmt->binds = calloc(stmt->column_count, sizeof(*stmt->binds));
    if (stmt->columns == NULL || stmt->binds == NULL) {
        stmt->column_count = 0;
        status = BF_E_NOMEM;
    }
    for (size_t i = 0; i < stmt->column_count && status == BF_OK; i++) {
        const MYSQL_FIELD *field = mysql_fetch_field_direct(meta, (unsigned)i);
        status = set_up_column(&stmt->columns[i], &stmt->binds[i], field->type);
    }
    mysql_free_result(meta);
    return status == BF_OK ? BF_OK : bf_err_nomem(err, stmt->what);
}

bf_status_t bf_stmt_prepare(bf_db_t *db, const char *what, const char *sql,
                            bf_stmt_t **ret, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    bf_stmt_t *stmt = calloc(1, sizeof(*stmt));
    if (stmt == NULL) {
        return bf_err_nomem(err, what);
    }
    stmt->db = db;
    stmt->what = what;
    stmt->handle = mysql_stmt_init(db->mysql);
    if (stmt->handle == NULL) {
        status = bf_err_nomem(err, what);
        goto out;
    }
    if (mysql_stmt_prepare(stmt->handle, sql, (unsigned long)strlen(sql)) != 0) {
        status = stmt_fail(stmt, err);
        goto out;
    }
    stmt->param_count = mysql_stmt_param_count(stmt->handle);
    status = set_up_columns(stmt, err);
    if (status == BF_OK) {
        *ret = stmt;
        stmt = NULL;
    }
out:
    bf_stmt_close(stmt);
    return status;
}

void bf_stmt_close(bf_stmt_t *stmt)
{
    if (stmt == NULL) {
        return;
    }
    if (stmt->handle != NULL) {
        /* tells the server; on a lost connection only memory is freed */
        (void)mysql_stmt_close(stmt->handle);
    }
    for (size_t i = 0; i < stmt->column_count; i++) {
        free(stmt->columns[i].text);
    }
    free(stmt->columns);
    free(stmt->binds);
    free(stmt);
}

bf_status_t bf_stmt_run(bf_stmt_t *stmt, const bf_params_t *params, size_t first,
                        int64_t *ret_affected, bf_err_t *err)
{
    bf_stmt_end(stmt);
    if (stmt->param_count > 0) {
        BF_ASSERT(params != NULL && first + stmt->param_count <= params->count);
        if (mysql_stmt_bind_param(stmt->handle, &params->binds[first]) != 0) {
            return stmt_fail(stmt, err);
        }
    }
    if (mysql_stmt_execute(stmt->handle) != 0) {
        return stmt_fail(stmt, err);
    }
    if (ret_affected != NULL) {
        *ret_affected = (int64_t)mysql_stmt_affected_rows(stmt->handle);
    }
    if (stmt->column_count == 0) {
        return BF_OK;
    }
    stmt->open = true;
    stmt->grown = false;
    if (mysql_stmt_bind_result(stmt->handle, stmt->binds) != 0 ||
        mysql_stmt_store_result(stmt->handle) != 0) {
        bf_status_t status = stmt_fail(stmt, err);
        bf_stmt_end(stmt);
        return status;
    }
    return BF_OK;
}

void bf_stmt_end(bf_stmt_t *stmt)
{
    if (stmt->open) {
        (void)mysql_stmt_free_result(stmt->handle);
        stmt->open = false;
    }
}

/* Fetch again what did not fit. */
static bf_status_t fetch_long_texts(bf_stmt_t *stmt, bf_err_t *err)
{
    for (size_t i = 0; i < stmt->column_count; i++) {
        column_t *column = &stmt->columns[i];
        if (column->kind != COLUMN_TEXT || column->is_null ||
            column->length <= column->capacity) {
            continue;
        }
        if (grow_text(column, &stmt->binds[i], column->length + column->length / 2) !=
            BF_OK) {
            return bf_err_nomem(err, stmt->what);
        }
        if (mysql_stmt_fetch_column(stmt->handle, &stmt->binds[i], (unsigned)i, 0) != 0) {
            return stmt_fail(stmt, err);
        }
        stmt->grown = true;
    }
    return BF_OK;
}

bf_status_t bf_stmt_next(bf_stmt_t *stmt, bool *ret_row, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    *ret_row = false;
    /* Not at once: Connector/C 3.3.19 sets the lengths of the row in hand to 0 by it. */
    if (stmt->grown && mysql_stmt_bind_result(stmt->handle, stmt->binds) != 0) {
        status = stmt_fail(stmt, err);
        bf_stmt_end(stmt);
        return status;
    }
    stmt->grown = false;
    int rc = mysql_stmt_fetch(stmt->handle);
    if (rc == MYSQL_NO_DATA) {
        bf_stmt_end(stmt);
        return BF_OK;
    }
    if (rc == MYSQL_DATA_TRUNCATED) {
        status = fetch_long_texts(stmt, err);
    } else if (rc != 0) {
        status = stmt_fail(stmt, err);
    }
    if (status != BF_OK) {
        bf_stmt_end(stmt);
        return status;
    }
    for (size_t i = 0; i < stmt->column_count; i++) {
        column_t *column = &stmt->columns[i];
        if (column->kind == COLUMN_TEXT) {
            column->text[column->is_null ? 0 : column->length] = '\0';
        }
    }
    *ret_row = true;
    return BF_OK;
}

static const column_t *column_of(const bf_stmt_t *stmt, size_t column, column_kind_t kind)
{
    BF_ASSERT(column < stmt->column_count);
    BF_ASSERT(stmt->columns[column].kind == kind);
    return &stmt->columns[column];
}

int64_t bf_stmt_i64(const bf_stmt_t *stmt, size_t column)
{
    const column_t *c = column_of(stmt, column, COLUMN_INTEGER);
    return c->is_null ? 0 : c->integer;
}

bool bf_stmt_is_null(const bf_stmt_t *stmt, size_t column)
{
    BF_ASSERT(column < stmt->column_count);
    return stmt->columns[column].is_null;
}

bf_text_t bf_stmt_text(const bf_stmt_t *stmt, size_t column)
{
    const column_t *c = column_of(stmt, column, COLUMN_TEXT);
    return c->is_null ? (bf_text_t){NULL, 0} : (bf_text_t){c->text, c->length};
}

const char *bf_stmt_cstr(const bf_stmt_t *stmt, size_t column)
{
    const column_t *c = column_of(stmt, column, COLUMN_TEXT);
    return c->text;
}

int64_t bf_stmt_time(const bf_stmt_t *stmt, size_t column)
{
    const column_t *c = column_of(stmt, column, COLUMN_TIME);
    if (c->is_null) {
        return 0;
    }
    struct tm tm = {
        .tm_year = (int)c->time.year - 1900,
        .tm_mon = (int)c->time.month - 1,
        .tm_mday = (int)c->time.day,
        .tm_hour = (int)c->time.hour,
        .tm_min = (int)c->time.minute,
        .tm_sec = (int)c->time.second,
    };
    return (int64_t)timegm(&tm) * 1000 + (int64_t)(c->time.second_part / 1000);
}

const char *bf_stmt_dup(const bf_stmt_t *stmt, size_t column, bf_arena_t *arena, bool *ok)
{
    bf_text_t text = bf_stmt_text(stmt, column);
    if (text.data == NULL) {
        return NULL;
    }
    const char *copy = bf_arena_strndup(arena, text.data, text.len);
    if (copy == NULL) {
        *ok = false;
    }
    return copy;
}
