/*
 * num.c - numbers from and to text
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/num.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bf_status_t bf_num_parse_i64(const char *text, size_t len, int64_t *ret, bf_err_t *err)
{
    size_t i = 0;
    bool negative = false;
    if (i < len && (text[i] == '-' || text[i] == '+')) {
        negative = text[i] == '-';
        i++;
    }
    if (i == len) {
        return bf_err_set(err, BF_E_PARSE, "'%.*s' is not a whole number", (int)len,
                          text);
    }
    int64_t value = 0;
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return bf_err_set(err, BF_E_PARSE, "'%.*s' is not a whole number", (int)len,
                              text);
        }
        int digit = text[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
            return bf_err_set(err, BF_E_LIMIT, "%.*s does not fit in 64 bit", (int)len,
                              text);
        }
    }
    *ret = value;
    return BF_OK;
}

bf_status_t bf_num_parse_range(const char *text, size_t len, int64_t min, int64_t max,
                               int64_t *ret, bf_err_t *err)
{
    int64_t value = 0;
    bf_status_t rc = bf_num_parse_i64(text, len, &value, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (value < min || value > max) {
        return bf_err_set(err, BF_E_LIMIT,
                          "%" PRId64 " is not between %" PRId64 " and %" PRId64, value,
                          min, max);
    }
    *ret = value;
    return BF_OK;
}

/* The program that embeds us may have set a locale with another decimal point. */
static char decimal_point(void)
{
    char text[8];
    (void)snprintf(text, sizeof(text), "%.1f", 0.5);
    return text[1];
}

double bf_num_read_real(char *text, char **ret_end)
{
    char *point = strchr(text, '.');
    if (point) {
        *point = decimal_point();
    }
    return strtod(text, ret_end);
}

bf_status_t bf_num_parse_real(const char *text, size_t len, double *ret, bf_err_t *err)
{
    char buf[512];
    bool ok = len > 0 && len < sizeof(buf);
    for (size_t i = 0; ok && i < len; i++) {
        ok = text[i] && strchr("+-.eE0123456789", text[i]);
    }
    if (!ok) {
        /* strtod would take blanks in front, hexadecimal numbers and names, too. */
        return bf_err_set(err, BF_E_PARSE, "'%.*s' is not a number",
                          (int)(len > 40 ? 40 : len), text);
    }
    memcpy(buf, text, len);
    buf[len] = '\0';
    char *end = NULL;
    double value = bf_num_read_real(buf, &end);
    if (*end || end == buf || !isfinite(value)) {
        return bf_err_set(err, BF_E_PARSE, "'%.*s' is not a number",
                          (int)(len > 40 ? 40 : len), text);
    }
    *ret = value;
    return BF_OK;
}

void bf_num_format_real(double value, char ret[BF_NUM_TEXT_MAX])
{
    if (!isfinite(value)) {
        (void)snprintf(ret, BF_NUM_TEXT_MAX, "%s",
                       isnan(value) ? "nan"
                       : value > 0  ? "inf"
                                    : "-inf");
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(ret, BF_NUM_TEXT_MAX, "%.*g", precision, value);
        if (precision == 17 || strtod(ret, NULL) == value) {
            break;
        }
    }
    size_t point = strspn(ret, "+-.eE0123456789");
    if (ret[point]) {
        ret[point] = '.';
    }
    if (!strpbrk(ret, ".en")) {
        size_t len = strlen(ret);
        memcpy(ret + len, ".0", 3);
    }
}

size_t bf_num_format_i64(int64_t value, char ret[BF_NUM_TEXT_MAX])
{
    char digits[BF_NUM_TEXT_MAX];
    size_t n = 0;
    uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    size_t len = 0;
    if (value < 0) {
        ret[len++] = '-';
    }
    while (n) {
        ret[len++] = digits[--n];
    }
    ret[len] = '\0';
    return len;
}
