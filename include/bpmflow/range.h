/*
 * range.h - the numbers of a loop: "start...end" or "start:end:step"
 *
 * The end is exclusive, the step is positive (rule 79).  A `$in` text is a range when it
 * holds ":" or "...", otherwise it names a variable (rule 78).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_RANGE_H
#define BF_RANGE_H

#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_range {
    int64_t start;
    int64_t end; /* exclusive */
    int64_t step;
} bf_range_t;

/** True when the text is meant as a range (rule 78). */
bool bf_range_is_range(const char *text, size_t len);

/** BF_OK or BF_E_PARSE; the texts are those of the original (rule 79). */
bf_status_t bf_range_parse(const char *text, size_t len, bf_range_t *ret,
                           bf_err_t *err) BF_MUST_USE;

/** How many numbers: 0 when start >= end. */
uint64_t bf_range_count(const bf_range_t *range);

/** The number at a place. @param index below bf_range_count() */
int64_t bf_range_at(const bf_range_t *range, uint64_t index);

#endif /* BF_RANGE_H */
