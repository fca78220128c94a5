/*
 * assert.h - checks for programming errors, on in every build
 *
 * Never for input: bad input is an error, not a failed check.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ASSERT_H
#define BF_ASSERT_H

#define BF_ASSERT(cond)                                                                  \
    ((cond) ? (void)0 : bf_assert_failed(#cond, __FILE__, __LINE__, __func__))

/** Prints the expression and the place to stderr, then aborts. */
void bf_assert_failed(const char *expression, const char *file, int line,
                      const char *function) __attribute__((noreturn));

#endif /* BF_ASSERT_H */
