/*
 * suggest.h - the nearest of some names, for "did you mean ...?"
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_SUGGEST_H
#define BF_SUGGEST_H

#include <stddef.h>

/**
 * Insertions, deletions, replacements and swaps of neighbours that lead from one text to
 * the other, without regard to upper and lower case and with '-' and '_' as the same.
 * Bytes, not characters. Texts over 64 bytes count as very different.
 */
size_t bf_suggest_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/**
 * The nearest name, or NULL when none is near (more than a third of the letters differ).
 * @param names  borrowed; the first of equally near ones wins; NULL entries are skipped
 */
const char *bf_suggest_nearest(const char *text, size_t len, const char *const *names,
                               size_t count);

/** Three arguments for "%s%s%s" at the end of a sentence that says what was not found: ";
 * did you mean 'NEAR'?", or nothing where near is NULL. */
#define BF_DID_YOU_MEAN(near)                                                            \
    (near) ? "; did you mean '" : "", (near) ? (near) : "", (near) ? "'?" : ""

#endif /* BF_SUGGEST_H */
