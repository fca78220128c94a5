/*
 * func_date.c - points in time
 *
 * A point in time is a whole number: milliseconds since 1970-01-01 UTC.  All functions
 * work in UTC.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bpmflow/clock.h"
#include "lib/expr/expr_int.h"

#define MS_PER_DAY ((int64_t)24 * 60 * 60 * 1000)
/* Years 0 to 9999. */
#define MIN_MS ((int64_t)-62167219200 * 1000)
#define MAX_MS ((int64_t)253402300799 * 1000)

static bf_status_t fn_now(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    (void)args;
    (void)argc;
    int64_t given = vm->env->now_wall_ms;
    *ret = bf_value_int(given ? given : bf_clock_wall_ms());
    return BF_OK;
}

static bf_status_t parse_text(bf_vm_t *vm, const bf_value_t *text, int64_t *ret)
{
    char buf[BF_TIME_TEXT_MAX];
    /* A date alone is its midnight. */
    bool date_only = text->len == strlen("2026-11-30");
    int n = text->len < sizeof(buf) - 16
                ? snprintf(buf, sizeof(buf), "%s%s", text->as.string,
                           date_only ? " 00:00:00" : "")
                : -1;
    if (n < 0 || bf_clock_parse(buf, ret, NULL) != BF_OK) {
        return bf_vm_fail(vm,
                          "'%.40s' is no point in time; expected 2026-11-30 or "
                          "2026-11-30T08:00:00Z",
                          text->as.string);
    }
    return BF_OK;
}

/* Milliseconds of a number or a text. */
static bf_status_t point(bf_vm_t *vm, const char *what, const bf_value_t *value,
                         int64_t *ret)
{
    if (value->type == BF_VALUE_STRING) {
        return parse_text(vm, value, ret);
    }
    if (value->type != BF_VALUE_INT) {
        return bf_vm_fail(vm, "%s: expected a point in time, found %s", what,
                          bf_value_type_name(value->type));
    }
    if (value->as.integer < MIN_MS || value->as.integer > MAX_MS) {
        return bf_vm_fail(vm, "%s: the year is not between 0 and 9999", what);
    }
    *ret = value->as.integer;
    return BF_OK;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bf_status_t split(bf_vm_t *vm, const char *what, const bf_value_t *value,
                         struct tm *ret)
{
    int64_t ms = 0;
    bf_status_t rc = point(vm, what, value, &ms);
    if (rc != BF_OK) {
        return rc;
    }
    time_t seconds = (time_t)floor_div(ms, 1000);
    if (!gmtime_r(&seconds, ret)) {
        return bf_vm_fail(vm, "%s: not a point in time", what);
    }
    return BF_OK;
}

static bf_status_t fn_date(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    int64_t ms = 0;
    if (args[0].type == BF_VALUE_NULL) {
        *ret = args[0];
        return BF_OK;
    }
    bf_status_t rc = point(vm, "date", &args[0], &ms);
    *ret = bf_value_int(ms);
    return rc;
}

static bf_status_t fn_date_text(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                bf_value_t *ret)
{
    (void)argc;
    int64_t ms = 0;
    char text[BF_TIME_TEXT_MAX];
    bf_status_t rc = point(vm, "dateText", &args[0], &ms);
    if (rc != BF_OK) {
        return rc;
    }
    bf_clock_format_rfc3339(ms, text);
    return bf_vm_string(vm, text, strlen(text), ret);
}

/* A function that takes a point in time and gives one part of it, from the struct tm that
 * it falls into. */
#define PART_OF_TIME(function, name, part)                                               \
    static bf_status_t function(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,      \
                                bf_value_t *ret)                                         \
    {                                                                                    \
        (void)argc;                                                                      \
        struct tm tm = {0};                                                              \
        bf_status_t rc = split(vm, name, &args[0], &tm);                                 \
        *ret = bf_value_int(part);                                                       \
        return rc;                                                                       \
    }
PART_OF_TIME(fn_year, "year", tm.tm_year + 1900)
PART_OF_TIME(fn_month, "month", tm.tm_mon + 1)
PART_OF_TIME(fn_day, "day", tm.tm_mday)
PART_OF_TIME(fn_hour, "hour", tm.tm_hour)
PART_OF_TIME(fn_minute, "minute", tm.tm_min)
PART_OF_TIME(fn_weekday, "weekday", tm.tm_wday ? tm.tm_wday : 7) /* Monday is 1 */
#undef PART_OF_TIME

/* Midnights between two points: daysBetween("2026-11-30", "2026-12-01") is 1. */
static bf_status_t fn_days_between(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                                   bf_value_t *ret)
{
    (void)argc;
    int64_t from = 0;
    int64_t to = 0;
    bf_status_t rc = point(vm, "daysBetween", &args[0], &from);
    if (rc == BF_OK) {
        rc = point(vm, "daysBetween", &args[1], &to);
    }
    *ret = bf_value_int(floor_div(to, MS_PER_DAY) - floor_div(from, MS_PER_DAY));
    return rc;
}

static bf_status_t fn_add_days(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                               bf_value_t *ret)
{
    (void)argc;
    int64_t ms = 0;
    bf_status_t rc = point(vm, "addDays", &args[0], &ms);
    if (rc != BF_OK) {
        return rc;
    }
    if (args[1].type != BF_VALUE_INT || args[1].as.integer < -4000000 ||
        args[1].as.integer > 4000000) {
        return bf_vm_fail(vm, "addDays: expected a whole number of days");
    }
    *ret = bf_value_int(ms + args[1].as.integer * MS_PER_DAY);
    return BF_OK;
}

const bf_function_t bf_functions_date[] = {
    {"now", 0, 0, BF_FN_PLAIN, fn_now},
    {"date", 1, 1, BF_FN_PLAIN, fn_date},
    {"dateText", 1, 1, BF_FN_PLAIN, fn_date_text},
    {"year", 1, 1, BF_FN_PLAIN, fn_year},
    {"month", 1, 1, BF_FN_PLAIN, fn_month},
    {"day", 1, 1, BF_FN_PLAIN, fn_day},
    {"hour", 1, 1, BF_FN_PLAIN, fn_hour},
    {"minute", 1, 1, BF_FN_PLAIN, fn_minute},
    {"weekday", 1, 1, BF_FN_PLAIN, fn_weekday},
    {"daysBetween", 2, 2, BF_FN_PLAIN, fn_days_between},
    {"addDays", 2, 2, BF_FN_PLAIN, fn_add_days},
    {NULL, 0, 0, 0, NULL},
};
