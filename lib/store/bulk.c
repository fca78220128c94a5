/*
 * bulk.c - many rows in few prepared statements; see stmt_int.h
 *
 * Multi-row prepared statements were measured 2.1 to 2.6 times faster than escaped text,
 * and they are the same on MySQL and MariaDB (array binding is MariaDB's alone and gains
 * another 15 %).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/str.h"
#include "lib/store/stmt_int.h"

void bf_bulk_reset(bf_bulk_t *bulk)
{
    for (size_t i = 0; i < BF_BULK_SIZES; i++) {
        bf_stmt_close(bulk->stmts[i]);
        bulk->stmts[i] = NULL;
    }
}

static bf_status_t prepare(bf_bulk_t *bulk, size_t power, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    bf_str_t sql;
    bf_str_init(&sql, 0);
    bf_str_puts(&sql, bulk->head);
    for (size_t row = 0; row < (size_t)1 << power; row++) {
        bf_str_puts(&sql, row > 0 ? ",(?" : "(?");
        for (size_t i = 1; i < bulk->columns; i++) {
            bf_str_puts(&sql, ",?");
        }
        bf_str_putc(&sql, ')');
    }
    bf_str_puts(&sql, bulk->tail);
    status = bf_str_status(&sql, bulk->what, err);
    if (status == BF_OK) {
        status = bf_stmt_prepare(bulk->db, bulk->what, bf_str_peek(&sql),
                                 &bulk->stmts[power], err);
    }
    bf_str_fini(&sql);
    return status;
}

/* The server names the key last: "Duplicate entry 'x' for key 'PRIMARY'" (MariaDB),
 * "... for key 'bpm_flow_command.PRIMARY'" (MySQL). */
static bool names_primary_key(const char *text)
{
    static const char end[] = "PRIMARY'";
    size_t len = strlen(text);
    return len >= sizeof(end) - 1 && strcmp(text + len - (sizeof(end) - 1), end) == 0;
}

/* Rows of the run that are filled in: first, first + 1, ... */
typedef struct filled {
    const bf_bulk_rows_t *rows;
    size_t first;
    size_t count;
} filled_t;

static bf_status_t run_piece(bf_bulk_t *bulk, const filled_t *filled, size_t done,
                             size_t power, bf_bulk_result_t *ret, bf_err_t *err)
{
    int64_t affected = 0;
    bf_status_t status = BF_OK;
    if (bulk->stmts[power] == NULL) {
        status = prepare(bulk, power, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_stmt_t *stmt = bulk->stmts[power];
    status = bf_stmt_run(stmt, bulk->params, done * bulk->columns, &affected, err);
    if (status != BF_OK) {
        ret->primary_key =
            status == BF_E_DUPLICATE && names_primary_key(bf_stmt_error(stmt));
        return status;
    }
    ret->affected += affected;
    if (filled->rows->ids != NULL) {
        filled->rows->ids(filled->rows->rows, filled->first + done, (size_t)1 << power,
                          bf_stmt_insert_id(stmt));
    }
    return BF_OK;
}

/* In pieces of powers of two, the largest first. */
static bf_status_t run_filled(bf_bulk_t *bulk, const filled_t *filled,
                              bf_bulk_result_t *ret, bf_err_t *err)
{
    size_t done = 0;
    for (size_t power = BF_BULK_SIZES; power-- > 0;) {
        size_t size = (size_t)1 << power;
        while (filled->count - done >= size) {
            bf_status_t status = run_piece(bulk, filled, done, power, ret, err);
            if (status != BF_OK) {
                return status;
            }
            done += size;
        }
    }
    return BF_OK;
}

bf_status_t bf_bulk_run(bf_bulk_t *bulk, const bf_bulk_rows_t *rows,
                        bf_bulk_result_t *ret, bf_err_t *err)
{
    size_t next = 0;
    memset(ret, 0, sizeof(*ret));
    while (next < rows->count) {
        filled_t filled = {rows, next, 0};
        bf_params_clear(bulk->params);
        /* A row of average size more must still fit. */
        while (next < rows->count && filled.count < BF_BULK_MAX &&
               (filled.count == 0 ||
                bulk->params->bytes + bulk->params->bytes / filled.count <=
                    bulk->max_bytes)) {
            rows->fill(rows->rows, next++, bulk->params);
            filled.count++;
        }
        bf_status_t status = run_filled(bulk, &filled, ret, err);
        if (status != BF_OK) {
            return status;
        }
    }
    return BF_OK;
}
