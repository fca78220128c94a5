/*
 * table.h - aligned columns for people
 *
 * Rows are kept until the end, columns are as wide as their widest cell.  Text is UTF-8;
 * East Asian characters count two columns; control characters are shown as \xNN, so that
 * a message in a row cannot drive the terminal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_TABLE_H
#define BF_CLI_TABLE_H

#include "bpmflow/str.h"

#define BF_TABLE_MAX_COLUMNS 16

typedef struct bf_table {
    const char *const *headers;
    size_t columns;
    const char *align; /* one letter a column: 'l' or 'r' */
    char **cells;      /* row by row */
    size_t cell_count;
    size_t cell_cap;
    bool failed; /* out of memory: sticky */
} bf_table_t;

/** @param headers borrowed; one a column */
void bf_table_init(bf_table_t *table, const char *const *headers, size_t columns,
                   const char *align);
void bf_table_fini(bf_table_t *table);

/** The next cell, row by row; NULL is shown as "-". */
void bf_table_cell(bf_table_t *table, const char *text);
void bf_table_cellf(bf_table_t *table, const char *fmt, ...) BF_PRINTF(2, 3);

/** Headers and rows; the table is empty afterwards. BF_OK, BF_E_NOMEM */
bf_status_t bf_table_write(bf_table_t *table, bf_str_t *ret, bf_err_t *err) BF_MUST_USE;

/** Columns that a text takes on a terminal. */
size_t bf_text_columns(const char *text, size_t len);

/** Append text with control characters and broken UTF-8 made visible. */
void bf_text_put_safe(bf_str_t *str, const char *text, size_t len);

#endif /* BF_CLI_TABLE_H */
