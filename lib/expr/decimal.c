/*
 * decimal.c - decimal text
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/decimal.h"

#include <string.h>

#include "bpmflow/assert.h"

/* A decimal text taken apart, without leading zeros before and trailing ones after the
 * point. */
typedef struct decimal {
    bool negative;
    const char *whole;
    size_t whole_len;
    const char *fraction;
    size_t fraction_len;
} decimal_t;

static size_t count_digits(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && text[n] >= '0' && text[n] <= '9') {
        n++;
    }
    return n;
}

static bool take_apart(const char *text, size_t len, decimal_t *ret)
{
    decimal_t d = {0};
    size_t i = 0;
    if (len && (text[0] == '-' || text[0] == '+')) {
        d.negative = text[0] == '-';
        i = 1;
    }
    d.whole = text + i;
    d.whole_len = count_digits(d.whole, len - i);
    i += d.whole_len;
    if (d.whole_len == 0) {
        return false;
    }
    d.fraction = text + i;
    if (i < len && text[i] == '.') {
        d.fraction = text + i + 1;
        d.fraction_len = count_digits(d.fraction, len - i - 1);
        if (d.fraction_len == 0) {
            return false;
        }
        i += 1 + d.fraction_len;
    }
    if (i != len) {
        return false;
    }
    while (d.whole_len && d.whole[0] == '0') {
        d.whole++;
        d.whole_len--;
    }
    while (d.fraction_len && d.fraction[d.fraction_len - 1] == '0') {
        d.fraction_len--;
    }
    if (d.whole_len == 0 && d.fraction_len == 0) {
        d.negative = false;
    }
    *ret = d;
    return true;
}

bool bf_decimal_is_text(const char *text, size_t len)
{
    decimal_t d;
    return take_apart(text, len, &d);
}

static int sign_of(int difference)
{
    return (difference > 0) - (difference < 0);
}

static int compare_sizes(const decimal_t *a, const decimal_t *b)
{
    if (a->whole_len != b->whole_len) {
        return a->whole_len < b->whole_len ? -1 : 1;
    }
    int order = memcmp(a->whole, b->whole, a->whole_len);
    if (order) {
        return sign_of(order);
    }
    size_t common = a->fraction_len < b->fraction_len ? a->fraction_len : b->fraction_len;
    order = memcmp(a->fraction, b->fraction, common);
    if (order) {
        return sign_of(order);
    }
    /* Trailing zeros are gone: what is longer is larger. */
    return (a->fraction_len > b->fraction_len) - (a->fraction_len < b->fraction_len);
}

int bf_decimal_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
    decimal_t x = {0};
    decimal_t y = {0};
    bool decimals = take_apart(a, a_len, &x) && take_apart(b, b_len, &y);
    BF_ASSERT(decimals);
    if (x.negative != y.negative) {
        return x.negative ? -1 : 1;
    }
    int order = compare_sizes(&x, &y);
    return x.negative ? -order : order;
}
