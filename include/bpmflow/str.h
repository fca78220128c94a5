/*
 * str.h - string builder with a sticky failure
 *
 * Append as often as you like, check bf_str_failed() once at the end.  Always
 * NUL-terminated once something was appended.  A builder with a maximum fails
 * instead of growing beyond it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STR_H
#define BF_STR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bpmflow/err.h"

typedef struct bf_str {
    char *data;   /* NULL before the first append; else NUL-terminated */
    size_t len;   /* without the NUL */
    size_t cap;   /* bytes allocated */
    size_t max;   /* largest len allowed; 0 = no limit */
    bool failed;  /* sticky: out of memory, or over max */
    bool too_big; /* failed because of max */
} bf_str_t;

/** Empty builder, allocates nothing. @param max largest length, 0 = no limit */
void bf_str_init(bf_str_t *str, size_t max);

/** Free the memory; as after init. NULL is allowed. */
void bf_str_fini(bf_str_t *str);

/** Length 0 and not failed; keeps the memory. */
void bf_str_clear(bf_str_t *str);

void bf_str_append(bf_str_t *str, const char *data, size_t len);
void bf_str_puts(bf_str_t *str, const char *text);
void bf_str_putc(bf_str_t *str, char c);
void bf_str_printf(bf_str_t *str, const char *fmt, ...) BF_PRINTF(2, 3);
void bf_str_put_i64(bf_str_t *str, int64_t value);

bool bf_str_failed(const bf_str_t *str);

/** BF_OK, BF_E_NOMEM or BF_E_LIMIT; sets err with `what` as the thing that failed. */
bf_status_t bf_str_status(const bf_str_t *str, const char *what, bf_err_t *err);

/** The text, never NULL ("" when empty); valid until the next change. */
const char *bf_str_peek(const bf_str_t *str);

/** Move the memory out; the caller frees it. NULL when failed. The builder is empty. */
char *bf_str_take(bf_str_t *str, size_t *ret_len) BF_MUST_USE;

/** Are they the same bytes? For names and keys, which are short: without a call. */
static inline bool bf_same_bytes(const char *a, const char *b, size_t len)
{
    if (len - 4 > 12) { /* shorter than 4, or longer than 16 */
        size_t i = 0;
        while (len < 4 && i < len && a[i] == b[i]) {
            i++;
        }
        return len < 4 ? i == len : !memcmp(a, b, len);
    }
    /* Head and tail, which overlap where the length is no power of two. */
    if (len < 8) {
        uint32_t a_head;
        uint32_t b_head;
        uint32_t a_tail;
        uint32_t b_tail;
        memcpy(&a_head, a, sizeof(a_head));
        memcpy(&b_head, b, sizeof(b_head));
        memcpy(&a_tail, a + len - sizeof(a_tail), sizeof(a_tail));
        memcpy(&b_tail, b + len - sizeof(b_tail), sizeof(b_tail));
        return !((a_head ^ b_head) | (a_tail ^ b_tail));
    }
    uint64_t a_head;
    uint64_t b_head;
    uint64_t a_tail;
    uint64_t b_tail;
    memcpy(&a_head, a, sizeof(a_head));
    memcpy(&b_head, b, sizeof(b_head));
    memcpy(&a_tail, a + len - sizeof(a_tail), sizeof(a_tail));
    memcpy(&b_tail, b + len - sizeof(b_tail), sizeof(b_tail));
    return !((a_head ^ b_head) | (a_tail ^ b_tail));
}

#endif /* BF_STR_H */
