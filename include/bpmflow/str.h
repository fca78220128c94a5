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

#endif /* BF_STR_H */
