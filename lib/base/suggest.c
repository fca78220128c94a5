/*
 * suggest.c - the nearest of some names
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/suggest.h"

#include <string.h>

#define TEXT_MAX 64

static char fold(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (char)(c - 'A' + 'a');
    }
    return c == '-' ? '_' : c;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Optimal string alignment over three rows. */
size_t bf_suggest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len > TEXT_MAX || b_len > TEXT_MAX) {
        return a_len > b_len ? a_len : b_len;
    }
    size_t rows[3][TEXT_MAX + 1];
    size_t *before = rows[0];
    size_t *prev = rows[1];
    size_t *cur = rows[2];
    memset(rows, 0, sizeof(rows));
    for (size_t j = 0; j <= b_len; j++) {
        prev[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        cur[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            char x = fold(a[i - 1]);
            char y = fold(b[j - 1]);
            cur[j] = min3(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && fold(a[i - 2]) == y &&
                before[j - 2] + 1 < cur[j]) {
                cur[j] = before[j - 2] + 1;
            }
        }
        size_t *free_row = before;
        before = prev;
        prev = cur;
        cur = free_row;
    }
    return prev[b_len];
}

const char *bf_suggest_nearest(const char *text, size_t len, const char *const *names,
                               size_t count)
{
    const char *best = NULL;
    size_t best_distance = 0;
    for (size_t i = 0; i < count; i++) {
        if (!names[i]) {
            continue;
        }
        size_t name_len = strlen(names[i]);
        size_t longer = name_len > len ? name_len : len;
        size_t distance = bf_suggest_distance(text, len, names[i], name_len);
        if (distance * 3 <= longer && (!best || distance < best_distance)) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
