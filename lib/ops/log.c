/*
 * log.c - log lines as text or JSON
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "bpmflow/value.h"

struct bf_log {
    int fd;
    bf_log_format_t format;
    atomic_int level;
};

static const char *const level_names[] = {
#define X(name, text) text,
    BF_LOG_LEVEL_LIST(X)
#undef X
};

bf_log_t *bf_log_new(int fd, bf_log_format_t format, bf_log_level_t level)
{
    bf_log_t *log = calloc(1, sizeof(*log));
    if (log) {
        log->fd = fd;
        log->format = format;
        atomic_init(&log->level, (int)level);
    }
    return log;
}

void bf_log_free(bf_log_t *log)
{
    free(log);
}

void bf_log_set_level(bf_log_t *log, bf_log_level_t level)
{
    atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

bool bf_log_is_on(const bf_log_t *log, bf_log_level_t level)
{
    return log && (int)level <= atomic_load_explicit(&log->level, memory_order_relaxed);
}

const char *bf_log_level_name(bf_log_level_t level)
{
    return (unsigned)level < BF_LOG_LEVEL_COUNT ? level_names[level] : "unknown";
}

bf_log_level_t bf_log_level_of_name(const char *name)
{
    for (int i = 0; i < BF_LOG_LEVEL_COUNT; i++) {
        if (strcmp(level_names[i], name) == 0) {
            return (bf_log_level_t)i;
        }
    }
    return BF_LOG_LEVEL_COUNT;
}

/* Cut at BF_LOG_VALUE_MAX, but not inside of a UTF-8 character. */
static size_t cut_length(const char *text)
{
    size_t len = strnlen(text, BF_LOG_VALUE_MAX + 1);
    if (len <= BF_LOG_VALUE_MAX) {
        return len;
    }
    len = BF_LOG_VALUE_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
        len--;
    }
    return len;
}

/* A quoted text that is valid whatever came in: bytes of bad UTF-8 become '?'. */
static void put_quoted(bf_str_t *str, const char *text, size_t len)
{
    if (bf_utf8_is_valid(text, len)) {
        bf_json_write_string(str, text, len);
        return;
    }
    char clean[BF_LOG_VALUE_MAX + 1];
    for (size_t i = 0; i < len; i++) {
        clean[i] = (char)((unsigned char)text[i] < 0x80 ? text[i] : '?');
    }
    clean[len] = '\0';
    bf_json_write_string(str, clean, len);
}

static bool needs_quotes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) {
            return true;
        }
    }
    return len == 0;
}

/* The sentence of a text line: control characters become blanks, the rest stays. */
static void put_sentence(bf_str_t *str, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bf_str_putc(str, c < ' ' || c == 0x7f ? ' ' : text[i]);
    }
}

static void format_text(bf_str_t *str, const char *time, bf_log_level_t level,
                        const bf_log_field_t *fields, size_t count, const char *message)
{
    bf_str_puts(str, time);
    bf_str_putc(str, ' ');
    bf_str_puts(str, bf_log_level_name(level));
    bf_str_putc(str, ' ');
    put_sentence(str, message, cut_length(message));
    for (size_t i = 0; i < count; i++) {
        const bf_log_field_t *field = &fields[i];
        bf_str_putc(str, ' ');
        bf_str_puts(str, field->name);
        bf_str_putc(str, '=');
        const char *text = field->text ? field->text : "";
        size_t len = cut_length(text);
        if (field->is_number) {
            bf_str_put_i64(str, field->number);
        } else if (needs_quotes(text, len)) {
            put_quoted(str, text, len);
        } else {
            bf_str_append(str, text, len);
        }
    }
}

static void format_json(bf_str_t *str, const char *time, bf_log_level_t level,
                        const bf_log_field_t *fields, size_t count, const char *message)
{
    bf_str_puts(str, "{\"time\":\"");
    bf_str_puts(str, time);
    bf_str_puts(str, "\",\"level\":\"");
    bf_str_puts(str, bf_log_level_name(level));
    bf_str_puts(str, "\",\"message\":");
    put_quoted(str, message, cut_length(message));
    for (size_t i = 0; i < count; i++) {
        const bf_log_field_t *field = &fields[i];
        bf_str_putc(str, ',');
        bf_json_write_string(str, field->name, strlen(field->name));
        bf_str_putc(str, ':');
        const char *text = field->text ? field->text : "";
        if (field->is_number) {
            bf_str_put_i64(str, field->number);
        } else {
            put_quoted(str, text, cut_length(text));
        }
    }
    bf_str_putc(str, '}');
}

void bf_log_format_line(bf_str_t *str, bf_log_format_t format, bf_log_level_t level,
                        int64_t wall_ms, const bf_log_field_t *fields, size_t count,
                        const char *message)
{
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_rfc3339(wall_ms, time);
    if (format == BF_LOG_JSON) {
        format_json(str, time, level, fields, count, message);
    } else {
        format_text(str, time, level, fields, count, message);
    }
}

void bf_log_write(bf_log_t *log, bf_log_level_t level, const bf_log_field_t *fields,
                  size_t count, const char *fmt, ...)
{
    if (!bf_log_is_on(log, level)) {
        return;
    }
    char message[BF_LOG_VALUE_MAX + 1];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args); /* cut when too long */
    va_end(args);

    bf_str_t line;
    bf_str_init(&line, 0);
    bf_log_format_line(&line, log->format, level, bf_clock_wall_ms(), fields, count,
                       message);
    bf_str_putc(&line, '\n');
    if (!bf_str_failed(&line)) {
        ssize_t n;
        do {
            n = write(log->fd, line.data, line.len);
        } while (n < 0 && errno == EINTR);
    }
    bf_str_fini(&line);
}

bool bf_log_limit_pass(bf_log_limit_t *limit, int64_t now_mono_ms,
                       uint64_t *ret_suppressed)
{
    if (now_mono_ms < limit->next_mono_ms) {
        limit->suppressed++;
        return false;
    }
    limit->next_mono_ms =
        now_mono_ms + (limit->interval_ms ? limit->interval_ms : BF_LOG_LIMIT_MS);
    *ret_suppressed = limit->suppressed;
    limit->suppressed = 0;
    return true;
}
