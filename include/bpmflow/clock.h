/*
 * clock.h - the one place that reads a clock
 *
 * Wall time is for what people and other systems see (rows, events); time-outs use
 * monotonic time only.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLOCK_H
#define BF_CLOCK_H

#include <stdint.h>

#include "bpmflow/err.h"

/** Milliseconds since 1970-01-01 UTC. */
int64_t bf_clock_wall_ms(void);

/** Monotonic milliseconds and nanoseconds; only differences mean something. */
int64_t bf_clock_mono_ms(void);
int64_t bf_clock_mono_ns(void);

/** Sleep; returns early only on a signal. */
void bf_clock_sleep_ms(int64_t ms);

#define BF_TIME_TEXT_MAX 64

/** "2026-11-30T08:00:00.123Z" */
void bf_clock_format_rfc3339(int64_t wall_ms, char ret[BF_TIME_TEXT_MAX]);

/** "2026-11-30 08:00:00.123", for DATETIME(3) in UTC */
void bf_clock_format_sql(int64_t wall_ms, char ret[BF_TIME_TEXT_MAX]);

/** Reads both forms (fraction and Z optional); UTC. BF_E_PARSE when it is neither. */
bf_status_t bf_clock_parse(const char *text, int64_t *ret_wall_ms,
                           bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLOCK_H */
