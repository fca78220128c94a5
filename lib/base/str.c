/*
 * str.c - string builder
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/num.h"

void bf_str_init(bf_str_t *str, size_t max)
{
    memset(str, 0, sizeof(*str));
    str->max = max;
}

void bf_str_fini(bf_str_t *str)
{
    if (str) {
        free(str->data);
        bf_str_init(str, str->max);
    }
}

void bf_str_clear(bf_str_t *str)
{
    str->len = 0;
    str->failed = false;
    str->too_big = false;
    if (str->data) {
        str->data[0] = '\0';
    }
}

/* Room for `more` bytes and the NUL; false (sticky) when that cannot be. */
static bool reserve(bf_str_t *str, size_t more)
{
    if (str->failed) {
        return false;
    }
    size_t need;
    if (__builtin_add_overflow(str->len, more, &need) || need >= SIZE_MAX / 2 ||
        (str->max && need > str->max)) {
        str->failed = true;
        str->too_big = true;
        return false;
    }
    if (str->data && need + 1 <= str->cap) {
        return true;
    }
    size_t cap = str->cap ? str->cap : 64;
    while (cap < need + 1) {
        cap *= 2;
    }
    char *data = realloc(str->data, cap);
    if (!data) {
        str->failed = true;
        return false;
    }
    str->data = data;
    str->cap = cap;
    return true;
}

void bf_str_append(bf_str_t *str, const char *data, size_t len)
{
    if (!reserve(str, len)) {
        return;
    }
    if (len) {
        memcpy(str->data + str->len, data, len);
    }
    str->len += len;
    str->data[str->len] = '\0';
}

void bf_str_puts(bf_str_t *str, const char *text)
{
    bf_str_append(str, text, strlen(text));
}

void bf_str_putc(bf_str_t *str, char c)
{
    if (reserve(str, 1)) {
        str->data[str->len++] = c;
        str->data[str->len] = '\0';
    }
}

void bf_str_printf(bf_str_t *str, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) {
        str->failed = true;
    } else if (reserve(str, (size_t)n)) {
        (void)vsnprintf(str->data + str->len, (size_t)n + 1, fmt, again);
        str->len += (size_t)n;
    }
    va_end(again);
}

void bf_str_put_i64(bf_str_t *str, int64_t value)
{
    char text[BF_NUM_TEXT_MAX];
    size_t len = bf_num_format_i64(value, text);
    bf_str_append(str, text, len);
}

bool bf_str_failed(const bf_str_t *str)
{
    return str->failed;
}

bf_status_t bf_str_status(const bf_str_t *str, const char *what, bf_err_t *err)
{
    if (!str->failed) {
        return BF_OK;
    }
    if (str->too_big) {
        return bf_err_set(err, BF_E_LIMIT, "%s is longer than the limit of %zu bytes",
                          what, str->max);
    }
    return bf_err_nomem(err, what);
}

const char *bf_str_peek(const bf_str_t *str)
{
    return str->data ? str->data : "";
}

char *bf_str_take(bf_str_t *str, size_t *ret_len)
{
    if (!str->data && !str->failed) {
        bf_str_append(str, "", 0);
    }
    if (str->failed) {
        bf_str_fini(str);
        return NULL;
    }
    char *data = str->data;
    if (ret_len) {
        *ret_len = str->len;
    }
    bf_str_init(str, str->max);
    return data;
}
