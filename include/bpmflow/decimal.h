/*
 * decimal.h - comparing decimal text exactly
 *
 * Money travels as text ("19.90"), since a double cannot hold it.  Two such texts are
 * compared digit by digit, without rounding, whatever their length.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DECIMAL_H
#define BF_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/** True for [+-] digits [. digits]: "12", "-0.50"; not "1e3", ".5", "", "1 ". */
bool bf_decimal_is_text(const char *text, size_t len);

/** -1, 0 or 1. Both must be decimal text. "1.0" and "1.00" are equal, "-0" and "0" too.
 */
int bf_decimal_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif /* BF_DECIMAL_H */
