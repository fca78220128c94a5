/*
 * table.c - aligned columns; see table.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/assert.h"

/* Length of the UTF-8 sequence at text, 0 when it is none; *ret is the code point. */
static size_t decode(const unsigned char *text, size_t len, uint32_t *ret)
{
    unsigned char first = text[0];
    size_t need = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
    if (need == 0 || need > len)
        return 0;
    uint32_t point = need == 1 ? first : first & (0xffu >> (need + 1));
    for (size_t i = 1; i < need; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3fu);
    }
    *ret = point;
    return need;
}

typedef struct range {
    uint32_t first;
    uint32_t last;
} range_t;

static bool within(const range_t *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

static size_t point_columns(uint32_t point)
{
    static const range_t wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},  {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    static const range_t none[] = {
        {0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    if (within(none, sizeof none / sizeof *none, point))
        return 0;
    return within(wide, sizeof wide / sizeof *wide, point) ? 2 : 1;
}

size_t bf_text_columns(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t i = 0; i < len;) {
        uint32_t point = 0;
        size_t n = decode((const unsigned char *)text + i, len - i, &point);
        columns += n ? point_columns(point) : 1;
        i += n ? n : 1;
    }
    return columns;
}

void bf_text_put_safe(bf_str_t *str, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t point = 0;
        size_t n = decode((const unsigned char *)text + i, len - i, &point);
        bool control = point < 0x20 || (point >= 0x7f && point < 0xa0) ||
                       (point >= 0x202a && point <= 0x202e) ||
                       (point >= 0x2066 && point <= 0x2069);
        if (n && !control) {
            bf_str_append(str, text + i, n);
        } else if (n == 1 && point == '\n') {
            bf_str_puts(str, "\\n");
        } else {
            n = n ? n : 1;
            for (size_t k = 0; k < n; k++)
                bf_str_printf(str, "\\x%02x", (unsigned)(unsigned char)text[i + k]);
        }
        i += n;
    }
}

void bf_table_init(bf_table_t *table, const char *const *headers, size_t columns,
                   const char *align)
{
    BF_ASSERT(columns > 0 && columns <= BF_TABLE_MAX_COLUMNS);
    memset(table, 0, sizeof *table);
    table->headers = headers;
    table->columns = columns;
    table->align = align;
}

void bf_table_fini(bf_table_t *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->cell_cap = 0;
}

static void add_cell(bf_table_t *table, char *text)
{
    if (text && table->cell_count == table->cell_cap) {
        char **cells = bf_array_grow(table->cells, &table->cell_cap, sizeof *cells, 64);
        if (cells)
            table->cells = cells;
    }
    if (!text || table->cell_count == table->cell_cap) {
        free(text);
        table->failed = true;
        return;
    }
    table->cells[table->cell_count++] = text;
}

void bf_table_cell(bf_table_t *table, const char *text)
{
    bf_str_t safe;
    bf_str_init(&safe, 0);
    if (!text || !*text)
        bf_str_putc(&safe, '-');
    else
        bf_text_put_safe(&safe, text, strlen(text));
    add_cell(table, bf_str_take(&safe, NULL));
    bf_str_fini(&safe);
}

void bf_table_cellf(bf_table_t *table, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        bf_table_cell(table, text);
    else
        table->failed = true;
    free(text);
}

static void put_cell(bf_str_t *str, const char *text, size_t width, char align, bool last)
{
    size_t columns = bf_text_columns(text, strlen(text));
    size_t pad = width > columns ? width - columns : 0;
    for (size_t i = 0; align == 'r' && i < pad; i++)
        bf_str_putc(str, ' ');
    bf_str_puts(str, text);
    for (size_t i = 0; align != 'r' && !last && i < pad; i++)
        bf_str_putc(str, ' ');
    bf_str_puts(str, last ? "\n" : "  ");
}

bf_status_t bf_table_write(bf_table_t *table, bf_str_t *ret, bf_err_t *err)
{
    size_t width[BF_TABLE_MAX_COLUMNS] = {0};
    BF_ASSERT(table->columns > 0);
    for (size_t c = 0; c < table->columns; c++)
        width[c] = bf_text_columns(table->headers[c], strlen(table->headers[c]));
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t n = bf_text_columns(table->cells[i], strlen(table->cells[i]));
        if (n > width[i % table->columns])
            width[i % table->columns] = n;
    }
    for (size_t c = 0; c < table->columns; c++)
        put_cell(ret, table->headers[c], width[c], table->align[c],
                 c + 1 == table->columns);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t c = i % table->columns;
        put_cell(ret, table->cells[i], width[c], table->align[c],
                 c + 1 == table->columns);
    }
    bool failed = table->failed;
    bf_table_fini(table);
    return failed ? bf_err_nomem(err, "table") : bf_str_status(ret, "table", err);
}
