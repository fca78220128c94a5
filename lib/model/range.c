/*
 * range.c - loop ranges
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/range.h"

#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/num.h"

static const char dots[] = "...";
#define DOTS_LEN (sizeof(dots) - 1)

static const char *find_dots(const char *text, size_t len)
{
    return memmem(text, len, dots, DOTS_LEN);
}

bool bf_range_is_range(const char *text, size_t len)
{
    return memchr(text, ':', len) || find_dots(text, len);
}

static bf_status_t bad_numbers(const char *text, size_t len, bf_err_t *err)
{
    return bf_err_set(err, BF_E_PARSE, "Stepper parameters must be valid integers: %.*s",
                      (int)len, text);
}

/* Splits at the first two colons; the third term keeps what follows. */
static bf_status_t parse_colons(const char *text, size_t len, bf_range_t *ret,
                                bf_err_t *err)
{
    const char *end = text + len;
    const char *first = memchr(text, ':', len);
    const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (!second) {
        return bf_err_set(err, BF_E_PARSE,
                          "The stepper style must be 'start...end' or 'start:end:step'");
    }
    if (bf_num_parse_i64(text, (size_t)(first - text), &ret->start, NULL) != BF_OK ||
        bf_num_parse_i64(first + 1, (size_t)(second - first - 1), &ret->end, NULL) !=
            BF_OK ||
        bf_num_parse_i64(second + 1, (size_t)(end - second - 1), &ret->step, NULL) !=
            BF_OK) {
        return bad_numbers(text, len, err);
    }
    return BF_OK;
}

bf_status_t bf_range_parse(const char *text, size_t len, bf_range_t *ret, bf_err_t *err)
{
    bf_range_t range = {0, 0, 1};
    const char *at = find_dots(text, len);
    if (at && at != text) {
        const char *rest = at + DOTS_LEN;
        if (bf_num_parse_i64(text, (size_t)(at - text), &range.start, NULL) != BF_OK ||
            bf_num_parse_i64(rest, (size_t)(text + len - rest), &range.end, NULL) !=
                BF_OK) {
            return bad_numbers(text, len, err);
        }
    } else {
        bf_status_t rc = parse_colons(text, len, &range, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (range.step <= 0) {
        return bf_err_set(err, BF_E_PARSE, "Step must be positive");
    }
    *ret = range;
    return BF_OK;
}

uint64_t bf_range_count(const bf_range_t *range)
{
    if (range->start >= range->end) {
        return 0;
    }
    /* The distance of two 64-bit numbers fits in 64 bit without sign. */
    uint64_t distance = (uint64_t)range->end - (uint64_t)range->start;
    return (distance - 1) / (uint64_t)range->step + 1;
}

int64_t bf_range_at(const bf_range_t *range, uint64_t index)
{
    BF_ASSERT(index < bf_range_count(range));
    return (int64_t)((uint64_t)range->start + index * (uint64_t)range->step);
}
