/*
 * log.h - log lines: one line per event, as text or as JSON
 *
 * A line has a time, a level, a sentence and fields.  The fields that identify what it
 * is about have fixed names: shard, partition, offset, instance, command.  Values are
 * quoted and escaped where needed, so that one event is always one line; a value is cut
 * at BF_LOG_VALUE_MAX.  Secrets never come here: the caller has no field for them.
 *
 * text: 2026-11-30T08:00:00.123Z warning the command is rejected shard=0 instance=a b="c
 * d" JSON: {"time":"...","level":"warning","message":"...","shard":0,"instance":"a"}
 *
 * Only the process (worker/) writes logs; the library returns errors.
 *
 * Threads:  a log may be used by all threads; a line is one write().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_LOG_H
#define BF_LOG_H

#include <stdint.h>

#include "bpmflow/err.h"
#include "bpmflow/str.h"

/* X(name, text): from the most to the least important. */
#define BF_LOG_LEVEL_LIST(X)                                                             \
    X(ERROR, "error")                                                                    \
    X(WARNING, "warning")                                                                \
    X(INFO, "info")                                                                      \
    X(DEBUG, "debug")

typedef enum {
#define X(name, text) BF_LOG_##name,
    BF_LOG_LEVEL_LIST(X)
#undef X
        BF_LOG_LEVEL_COUNT
} bf_log_level_t;

typedef enum { BF_LOG_TEXT, BF_LOG_JSON } bf_log_format_t;

#define BF_LOG_VALUE_MAX 1024 /* bytes of a value or sentence that are written */

typedef struct bf_log_field {
    const char *name;
    bool is_number;
    const char *text; /* NULL = "" */
    int64_t number;
} bf_log_field_t;

/* clang-format off */
#define BF_LOG_STR(field_name, value) {(field_name), false, (value), 0}
#define BF_LOG_INT(field_name, value) {(field_name), true, NULL, (value)}
/* clang-format on */

typedef struct bf_log bf_log_t;

/** @param fd written to, not closed. NULL when out of memory. */
bf_log_t *bf_log_new(int fd, bf_log_format_t format, bf_log_level_t level) BF_MUST_USE;
void bf_log_free(bf_log_t *log);

/** Any thread. */
void bf_log_set_level(bf_log_t *log, bf_log_level_t level);
bool bf_log_is_on(const bf_log_t *log, bf_log_level_t level);

/**
 * Write a line when the level is on. What cannot be written (a full disk, a closed pipe)
 * is dropped: a worker does not stop for its log.
 *
 * @param log     NULL = nothing happens
 * @param fields  may be NULL with count 0; borrowed during the call
 */
void bf_log_write(bf_log_t *log, bf_log_level_t level, const bf_log_field_t *fields,
                  size_t count, const char *fmt, ...) BF_PRINTF(5, 6);

/** The line without its end of line; for tests and for other writers. */
void bf_log_format_line(bf_str_t *str, bf_log_format_t format, bf_log_level_t level,
                        int64_t wall_ms, const bf_log_field_t *fields, size_t count,
                        const char *message);

const char *bf_log_level_name(bf_log_level_t level);
/** BF_LOG_LEVEL_COUNT when there is none of that name. */
bf_log_level_t bf_log_level_of_name(const char *name);

/* Lets one of many equal lines through per interval and counts the others. */
typedef struct bf_log_limit {
    int64_t interval_ms; /* 0 = BF_LOG_LIMIT_MS */
    int64_t next_mono_ms;
    uint64_t suppressed;
} bf_log_limit_t;

#define BF_LOG_LIMIT_MS 10000

/**
 * @param now_mono_ms       monotonic time
 * @param ret_suppressed    how many were held back since the last one; set when true
 * @return true: write the line
 */
bool bf_log_limit_pass(bf_log_limit_t *limit, int64_t now_mono_ms,
                       uint64_t *ret_suppressed);

#endif /* BF_LOG_H */
