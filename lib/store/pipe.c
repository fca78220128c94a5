/*
 * pipe.c - see pipe_int.h
 *
 * Connector/C has no call that only sends a statement, but its header gives the table of
 * methods that its own calls go through.  The packet of an execution is written here
 * (COM_STMT_EXECUTE of the protocol): what the parameters hold is copied once.  Each
 * answer counts its packets from 1, whatever was sent meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/pipe_int.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"

/* What follows a statement that has ended the transaction begins another one, which only
 * a COMMIT would keep. */
#define GUARD_ON  "SET autocommit = 0"
#define GUARD_OFF "SET autocommit = 1"

void bf_pipe_init(bf_pipe_t *pipe, bf_db_t *db)
{
    pipe->db = db;
    pipe->count = 0;
    pipe->failed = false;
#ifdef MARIADB_BASE_VERSION
    pipe->ahead = db->pipelined;
#else
    pipe->ahead = false;
#endif
}

void bf_pipe_fini(bf_pipe_t *pipe)
{
    free(pipe->packet);
    pipe->packet = NULL;
    pipe->packet_size = 0;
}

/* The server names the key last: "Duplicate entry 'x' for key 'PRIMARY'" (MariaDB),
 * "... for key 'bpm_flow_command.PRIMARY'" (MySQL). */
static bool names_primary_key(const char *text)
{
    static const char end[] = "PRIMARY'";
    size_t len = strlen(text);
    return len >= sizeof(end) - 1 && strcmp(text + len - (sizeof(end) - 1), end) == 0;
}

/* The first failure of a group stays. */
static void note_failure(bf_pipe_t *pipe, const bf_pipe_wait_t *wait, unsigned number,
                         const char *text)
{
    bf_pipe_group_t *group = wait->group;
    pipe->failed = true;
    if (group->status != BF_OK) {
        return;
    }
    group->number = number;
    group->status = bf_db_fail_with(pipe->db, number, text, wait->what, &group->err);
    group->primary_key = group->status == BF_E_DUPLICATE && names_primary_key(text);
}

static void note_success(const bf_pipe_wait_t *wait, int64_t affected, int64_t insert_id)
{
    wait->group->affected += affected;
    if (wait->rows != NULL && wait->rows->ids != NULL) {
        wait->rows->ids(wait->rows->rows, wait->first, wait->count, insert_id);
    }
}

/* At most this many bytes go over the connection. */
static size_t execution_bytes(const bf_stmt_t *stmt, const bf_params_t *params,
                              size_t first)
{
    size_t count = bf_stmt_param_count(stmt);
    size_t bytes = 11 + (count + 7) / 8;
    for (size_t i = 0; i < count; i++) {
        bytes += 2 + 12 + params->binds[first + i].buffer_length;
    }
    return bytes;
}

/* --- one at a time --- */

static void query_now(bf_pipe_t *pipe, const char *sql, const bf_pipe_wait_t *wait)
{
    if (pipe->failed) {
        return;
    }
    if (mysql_query(pipe->db->mysql, sql) != 0) {
        note_failure(pipe, wait, mysql_errno(pipe->db->mysql),
                     mysql_error(pipe->db->mysql));
    }
}

static void run_now(bf_pipe_t *pipe, bf_stmt_t *stmt, const bf_params_t *params,
                    size_t first, const bf_pipe_wait_t *wait)
{
    int64_t affected = 0;
    bf_err_t ignored = BF_ERR_INIT;
    if (pipe->failed) {
        return;
    }
    if (bf_stmt_run(stmt, params, first, &affected, &ignored) != BF_OK) {
        note_failure(pipe, wait, bf_stmt_errno(stmt), bf_stmt_error(stmt));
        return;
    }
    note_success(wait, affected, bf_stmt_insert_id(stmt));
}

/* --- ahead of the answers --- */

#ifdef MARIADB_BASE_VERSION

static void no_memory(bf_pipe_t *pipe, bf_pipe_group_t *group)
{
    pipe->failed = true;
    group->status = bf_err_nomem(&group->err, "writing a batch");
}

static void read_answer(bf_pipe_t *pipe, const bf_pipe_wait_t *wait)
{
    MYSQL *mysql = pipe->db->mysql;
    mysql->net.pkt_nr = 1;
    if (mysql_read_query_result(mysql) != 0) {
        note_failure(pipe, wait, mysql_errno(mysql), mysql_error(mysql));
        return;
    }
    note_success(wait, (int64_t)mysql_affected_rows(mysql),
                 (int64_t)mysql_insert_id(mysql));
}

static void send_packet(bf_pipe_t *pipe, enum enum_server_command command,
                        const char *data, size_t len, const bf_pipe_wait_t *wait)
{
    MYSQL *mysql = pipe->db->mysql;
    if (pipe->count == BF_PIPE_MAX) {
        bf_pipe_drain(pipe);
    }
    if (pipe->failed) {
        return;
    }
    if (mysql->methods->db_command(mysql, command, data, len, /* skip_check= */ 1,
                                   NULL) != 0) {
        note_failure(pipe, wait, mysql_errno(mysql), mysql_error(mysql));
        return;
    }
    pipe->waits[pipe->count++] = *wait;
}

static unsigned char *put_int(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        *at++ = (unsigned char)(value >> (8 * i));
    }
    return at;
}

static unsigned char *put_time(unsigned char *at, const MYSQL_TIME *time)
{
    *at++ = 11;
    at = put_int(at, time->year, 2);
    *at++ = (unsigned char)time->month;
    *at++ = (unsigned char)time->day;
    *at++ = (unsigned char)time->hour;
    *at++ = (unsigned char)time->minute;
    *at++ = (unsigned char)time->second;
    return put_int(at, time->second_part, 4);
}

static unsigned char *put_text(unsigned char *at, const void *data, size_t len)
{
    if (len < 251) {
        *at++ = (unsigned char)len;
    } else if (len < 0x10000) {
        *at++ = 252;
        at = put_int(at, len, 2);
    } else if (len < 0x1000000) {
        *at++ = 253;
        at = put_int(at, len, 3);
    } else {
        *at++ = 254;
        at = put_int(at, len, 8);
    }
    memcpy(at, data, len);
    return at + len;
}

static unsigned char *put_value(unsigned char *at, const MYSQL_BIND *bind)
{
    if (bind->buffer_type == MYSQL_TYPE_LONGLONG) {
        return put_int(at, *(const uint64_t *)bind->buffer, 8);
    }
    if (bind->buffer_type == MYSQL_TYPE_DATETIME) {
        return put_time(at, bind->buffer);
    }
    return put_text(at, bind->buffer, bind->buffer_length);
}

/* Statement, no cursor, once; which are NULL; types; values. NULL: no memory. */
static const unsigned char *write_execution(bf_pipe_t *pipe, bf_stmt_t *stmt,
                                            const bf_params_t *params, size_t first,
                                            size_t *ret_len)
{
    size_t count = bf_stmt_param_count(stmt);
    const MYSQL_BIND *binds = &params->binds[first];
    size_t bytes = execution_bytes(stmt, params, first);
    if (pipe->packet_size < bytes) {
        unsigned char *grown = realloc(pipe->packet, bytes + bytes / 4);
        if (grown == NULL) {
            return NULL;
        }
        pipe->packet = grown;
        pipe->packet_size = bytes + bytes / 4;
    }
    unsigned char *at = put_int(pipe->packet, bf_stmt_id(stmt), 4);
    *at++ = 0;
    at = put_int(at, 1, 4);
    unsigned char *nulls = at;
    memset(nulls, 0, (count + 7) / 8);
    at += (count + 7) / 8;
    *at++ = 1;
    for (size_t i = 0; i < count; i++) {
        at = put_int(at, (uint64_t)binds[i].buffer_type, 2);
    }
    for (size_t i = 0; i < count; i++) {
        if (binds[i].is_null != NULL) { /* only ever set to say yes */
            nulls[i / 8] |= (unsigned char)(1U << (i % 8));
        } else {
            at = put_value(at, &binds[i]);
        }
    }
    *ret_len = (size_t)(at - pipe->packet);
    return pipe->packet;
}

static void run_ahead(bf_pipe_t *pipe, bf_stmt_t *stmt, const bf_params_t *params,
                      size_t first, const bf_pipe_wait_t *wait)
{
    size_t len = 0;
    const unsigned char *packet = write_execution(pipe, stmt, params, first, &len);
    if (packet == NULL) {
        no_memory(pipe, wait->group);
        return;
    }
    send_packet(pipe, COM_STMT_EXECUTE, (const char *)packet, len, wait);
}

static void query_ahead(bf_pipe_t *pipe, const char *sql, const bf_pipe_wait_t *wait)
{
    send_packet(pipe, COM_QUERY, sql, strlen(sql), wait);
}

#else

static void read_answer(bf_pipe_t *pipe, const bf_pipe_wait_t *wait)
{
    (void)pipe;
    (void)wait;
}

static void run_ahead(bf_pipe_t *pipe, bf_stmt_t *stmt, const bf_params_t *params,
                      size_t first, const bf_pipe_wait_t *wait)
{
    run_now(pipe, stmt, params, first, wait);
}

static void query_ahead(bf_pipe_t *pipe, const char *sql, const bf_pipe_wait_t *wait)
{
    query_now(pipe, sql, wait);
}

#endif

/* --- both --- */

void bf_pipe_drain(bf_pipe_t *pipe)
{
    for (size_t i = 0; i < pipe->count; i++) {
        read_answer(pipe, &pipe->waits[i]);
    }
    pipe->count = 0;
}

static void query(bf_pipe_t *pipe, const char *sql, const bf_pipe_wait_t *wait)
{
    if (pipe->ahead) {
        query_ahead(pipe, sql, wait);
    } else {
        query_now(pipe, sql, wait);
    }
}

void bf_pipe_begin(bf_pipe_t *pipe, bf_pipe_group_t *group)
{
    const bf_pipe_wait_t wait = {.group = group, .what = "beginning a transaction"};
    if (pipe->ahead) {
        query(pipe, GUARD_ON, &wait);
    }
    query(pipe, "START TRANSACTION", &wait);
}

void bf_pipe_roll_back(bf_pipe_t *pipe)
{
    bf_pipe_drain(pipe);
    bf_db_roll_back(pipe->db);
    /* On a connection that was cut this fails, and nothing is left to be kept by it. */
    if (pipe->ahead) {
        (void)!bf_db_execute(pipe->db, GUARD_OFF, NULL);
    }
}

bf_status_t bf_pipe_commit(bf_pipe_t *pipe, bf_err_t *err)
{
    bf_pipe_group_t end = {.status = BF_OK};
    bf_pipe_group_t guard = {.status = BF_OK};
    const bf_pipe_wait_t end_wait = {.group = &end, .what = "COMMIT"};
    const bf_pipe_wait_t guard_wait = {.group = &guard, .what = GUARD_OFF};
    bf_pipe_drain(pipe);
    pipe->failed = false;
    query(pipe, "COMMIT", &end_wait);
    if (pipe->ahead) {
        query(pipe, GUARD_OFF, &guard_wait);
    }
    bf_pipe_drain(pipe);
    /* Whether the second one arrives does not matter: a connection that is gone begins
     * with autocommit when it is made anew. */
    return end.status != BF_OK ? bf_err_set(err, end.status, "%s", end.err.text) : BF_OK;
}

void bf_pipe_run(bf_pipe_t *pipe, bf_stmt_t *stmt, const bf_params_t *params,
                 size_t first, const bf_pipe_wait_t *wait)
{
    /* The server would end the connection: the refusal of a row would look like a
     * connection that is lost, and be tried again for ever. */
    if (!pipe->failed &&
        execution_bytes(stmt, params, first) > pipe->db->max_packet_bytes) {
        note_failure(pipe, wait, BF_SQL_PACKET_TOO_LARGE,
                     "a row is larger than max_allowed_packet");
        return;
    }
    if (pipe->ahead) {
        run_ahead(pipe, stmt, params, first, wait);
    } else {
        run_now(pipe, stmt, params, first, wait);
    }
}

/* The statement of a size, prepared where it is used for the first time. */
static bf_stmt_t *stmt_of(bf_pipe_t *pipe, bf_bulk_t *bulk, size_t power,
                          bf_pipe_group_t *group)
{
    if (bulk->stmts[power] == NULL) {
        bf_err_t err = BF_ERR_INIT;
        bf_pipe_drain(pipe);
        if (!pipe->failed && bf_bulk_prepare(bulk, power, &err) != BF_OK) {
            pipe->failed = true;
            group->status = err.status;
            group->err = err;
        }
    }
    return bulk->stmts[power];
}

/* In pieces of powers of two, the largest first. */
static void send_filled(bf_pipe_t *pipe, bf_bulk_t *bulk, bf_pipe_wait_t *wait,
                        size_t filled)
{
    size_t done = 0;
    size_t first = wait->first;
    for (size_t power = BF_BULK_SIZES; power-- > 0 && !pipe->failed;) {
        size_t size = (size_t)1 << power;
        while (filled - done >= size && !pipe->failed) {
            bf_stmt_t *stmt = stmt_of(pipe, bulk, power, wait->group);
            if (pipe->failed) {
                return;
            }
            wait->first = first + done;
            wait->count = size;
            bf_pipe_run(pipe, stmt, bulk->params, done * bulk->columns, wait);
            done += size;
        }
    }
}

void bf_pipe_bulk(bf_pipe_t *pipe, bf_bulk_t *bulk, const bf_bulk_rows_t *rows,
                  bf_pipe_group_t *group)
{
    size_t next = 0;
    while (next < rows->count && !pipe->failed) {
        bf_pipe_wait_t wait = {
            .group = group, .what = bulk->what, .rows = rows, .first = next};
        size_t filled = bf_bulk_fill(bulk, rows, next);
        send_filled(pipe, bulk, &wait, filled);
        next += filled;
    }
}
