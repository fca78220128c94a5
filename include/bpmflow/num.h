/*
 * num.h - checked arithmetic and strict number parsing
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_NUM_H
#define BF_NUM_H

#include <stdint.h>

#include "bpmflow/err.h"

#define BF_NUM_TEXT_MAX 32

/** Whole text, base 10, optional sign; BF_E_PARSE or BF_E_LIMIT (out of 64 bit). */
bf_status_t bf_num_parse_i64(const char *text, size_t len, int64_t *ret,
                             bf_err_t *err) BF_MUST_USE;

/** As above, and within [min, max], else BF_E_LIMIT. */
bf_status_t bf_num_parse_range(const char *text, size_t len, int64_t min, int64_t max,
                               int64_t *ret, bf_err_t *err) BF_MUST_USE;

/** strtod() for a text that has its decimal point as '.', in any locale.
 *  @param text     NUL-terminated; its point may be overwritten
 *  @param ret_end  where the number ends; may be NULL */
double bf_num_read_real(char *text, char **ret_end);

/** Whole text as a finite double; BF_E_PARSE. */
bf_status_t bf_num_parse_real(const char *text, size_t len, double *ret,
                              bf_err_t *err) BF_MUST_USE;

/** Shortest text that reads back as the same double, always with '.', 'e' or "inf/nan".
 */
void bf_num_format_real(double value, char ret[BF_NUM_TEXT_MAX]);

/** Decimal text of an integer; returns its length. */
size_t bf_num_format_i64(int64_t value, char ret[BF_NUM_TEXT_MAX]);

#endif /* BF_NUM_H */
