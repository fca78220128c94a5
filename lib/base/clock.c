/*
 * clock.c - wall and monotonic time
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t bf_clock_wall_ms(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail with this clock */
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t bf_clock_mono_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t bf_clock_mono_ms(void)
{
    return bf_clock_mono_ns() / 1000000;
}

void bf_clock_sleep_ms(int64_t ms)
{
    if (ms <= 0) {
        return;
    }
    struct timespec ts = {.tv_sec = (time_t)(ms / 1000),
                          .tv_nsec = (ms % 1000) * 1000000};
    (void)nanosleep(&ts, NULL);
}

static void format(int64_t wall_ms, char sep, const char *end, char ret[BF_TIME_TEXT_MAX])
{
    int64_t sec = wall_ms / 1000;
    int64_t ms = wall_ms % 1000;
    if (ms < 0) {
        ms += 1000;
        sec--;
    }
    time_t t = (time_t)sec;
    struct tm tm;
    if (!gmtime_r(&t, &tm)) {
        memset(&tm, 0, sizeof(tm));
    }
    (void)snprintf(ret, BF_TIME_TEXT_MAX, "%04d-%02d-%02d%c%02d:%02d:%02d.%03d%s",
                   (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday, sep,
                   tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms, end);
}

void bf_clock_format_rfc3339(int64_t wall_ms, char ret[BF_TIME_TEXT_MAX])
{
    format(wall_ms, 'T', "Z", ret);
}

void bf_clock_format_sql(int64_t wall_ms, char ret[BF_TIME_TEXT_MAX])
{
    format(wall_ms, ' ', "", ret);
}

/* Exactly `width` digits at *p; advances. */
static bool read_digits(const char **p, int width, int *ret)
{
    int value = 0;
    for (int i = 0; i < width; i++) {
        char c = (*p)[i];
        if (c < '0' || c > '9') {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    *p += width;
    *ret = value;
    return true;
}

static bool read_char(const char **p, char c)
{
    if (**p != c) {
        return false;
    }
    (*p)++;
    return true;
}

static int read_fraction_ms(const char **p)
{
    int ms = 0;
    int scale = 100;
    if (**p != '.') {
        return 0;
    }
    for ((*p)++; **p >= '0' && **p <= '9'; (*p)++) {
        ms += (**p - '0') * scale;
        scale /= 10;
    }
    return ms;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

bf_status_t bf_clock_parse(const char *text, int64_t *ret_wall_ms, bf_err_t *err)
{
    struct tm tm;
    memset(&tm, 0, sizeof(tm));
    const char *p = text;
    bool ok = read_digits(&p, 4, &tm.tm_year) && read_char(&p, '-') &&
              read_digits(&p, 2, &tm.tm_mon) && read_char(&p, '-') &&
              read_digits(&p, 2, &tm.tm_mday) && (*p == 'T' || *p == ' ');
    if (ok) {
        p++;
        ok = read_digits(&p, 2, &tm.tm_hour) && read_char(&p, ':') &&
             read_digits(&p, 2, &tm.tm_min) && read_char(&p, ':') &&
             read_digits(&p, 2, &tm.tm_sec);
    }
    int ms = ok ? read_fraction_ms(&p) : 0;
    if (ok && *p == 'Z') {
        p++;
    }
    if (!ok || *p || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > days_in_month(tm.tm_year, tm.tm_mon) || tm.tm_hour > 23 ||
        tm.tm_min > 59 || tm.tm_sec > 60) {
        return bf_err_set(err, BF_E_PARSE,
                          "'%.40s' is not a UTC time like 2026-11-30T08:00:00.123Z",
                          text);
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_wall_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return BF_OK;
}
