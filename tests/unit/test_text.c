/*
 * test_text.c - string builder, numbers, IDs, suggestions, errors and the clock
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/err.h"
#include "bpmflow/id.h"
#include "bpmflow/num.h"
#include "bpmflow/str.h"
#include "bpmflow/suggest.h"

Test(str, append__grows_and_stays_terminated)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_str_eq(bf_str_peek(&str), "");
    for (int i = 0; i < 1000; i++) {
        bf_str_puts(&str, "0123456789");
    }
    cr_assert_eq(str.len, 10000);
    cr_assert_eq(strlen(bf_str_peek(&str)), 10000);
    bf_str_clear(&str);
    bf_str_printf(&str, "%d-%s", 7, "x");
    bf_str_putc(&str, '!');
    bf_str_put_i64(&str, INT64_MIN);
    cr_assert_str_eq(bf_str_peek(&str), "7-x!-9223372036854775808");
    size_t len = 0;
    char *taken = bf_str_take(&str, &len);
    cr_assert_eq(len, strlen(taken));
    cr_assert_str_eq(bf_str_peek(&str), "");
    free(taken);
    bf_str_fini(&str);
}

Test(str, append__over_the_maximum_is_a_failure_that_sticks)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 5);
    bf_str_puts(&str, "12345");
    cr_assert_not(bf_str_failed(&str));
    bf_str_putc(&str, '6');
    bf_str_puts(&str, "");
    cr_assert(bf_str_failed(&str));
    cr_assert_eq(bf_str_status(&str, "text", &err), BF_E_LIMIT);
    cr_assert_null(bf_str_take(&str, NULL));
    bf_str_fini(&str);
}

Test(num, parse_i64__takes_whole_texts_only)
{
    int64_t value = 0;
    cr_assert_eq(bf_num_parse_i64("-9223372036854775808", 20, &value, NULL), BF_OK);
    cr_assert_eq(value, INT64_MIN);
    cr_assert_eq(bf_num_parse_i64("9223372036854775807", 19, &value, NULL), BF_OK);
    cr_assert_eq(value, INT64_MAX);
    static const char *const wrong[] = {"", "-", "+", "1a", " 1", "1 ", "0x1", "1.0"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(bf_num_parse_i64(wrong[i], strlen(wrong[i]), &value, NULL),
                     BF_E_PARSE, "'%s'", wrong[i]);
    }
    cr_assert_eq(bf_num_parse_i64("9223372036854775808", 19, &value, NULL), BF_E_LIMIT);
    cr_assert_eq(bf_num_parse_i64("-9223372036854775809", 20, &value, NULL), BF_E_LIMIT);
    cr_assert_eq(bf_num_parse_range("5", 1, 6, 9, &value, NULL), BF_E_LIMIT);
    cr_assert_eq(bf_num_parse_range("6", 1, 6, 9, &value, NULL), BF_OK);
}

Test(num, format_real__reads_back_as_the_same_number)
{
    static const double values[] = {0.0,
                                    -0.0,
                                    1.0,
                                    0.1,
                                    1.0 / 3.0,
                                    1e300,
                                    -2.5e-9,
                                    DBL_MAX,
                                    4.9406564584124654e-324,
                                    1234567890123456789.0,
                                    100.0};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[BF_NUM_TEXT_MAX];
        double back = 1;
        bf_num_format_real(values[i], text);
        cr_assert_eq(bf_num_parse_real(text, strlen(text), &back, NULL), BF_OK, "%s",
                     text);
        cr_assert(back == values[i] && signbit(back) == signbit(values[i]), "%s", text);
        cr_assert_not_null(strpbrk(text, ".e"), "%s looks like a whole number", text);
    }
}

Test(id, check__refuses_what_would_collide_or_hide)
{
    static const struct {
        const char *text;
        bf_status_t status;
    } cases[] = {
        {"leave-1", BF_OK},
        {"\xE8\xAF\xB7\xE5\x81\x87-1", BF_OK},
        {"a b", BF_OK},
        {"", BF_E_INVALID},
        {" a", BF_E_INVALID},
        {"a ", BF_E_INVALID},
        {"a\n", BF_E_INVALID},
        {"a\x01"
         "b",
         BF_E_INVALID},
        {"a\x7F", BF_E_INVALID},
        {"\xFF", BF_E_INVALID},
        {"\xC0\xAF", BF_E_INVALID},
        {"\xED\xA0\x80", BF_E_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(
            bf_id_check("instance_id", cases[i].text, strlen(cases[i].text), &err),
            cases[i].status, "case %zu", i);
        cr_assert(cases[i].status == BF_OK || strstr(err.text, "instance_id"), "%s",
                  err.text);
    }
    cr_assert_eq(bf_id_check("id", "a\0b", 3, NULL), BF_E_INVALID);
    char long_id[66];
    memset(long_id, 'x', 65);
    long_id[65] = '\0';
    cr_assert_eq(bf_id_check("id", long_id, 64, NULL), BF_OK);
    cr_assert_eq(bf_id_check("id", long_id, 65, NULL), BF_E_LIMIT);
}

Test(id, murmur2__is_the_one_of_javas_partitioner)
{
    /* Values of org.apache.kafka.common.utils.Utils.murmur2 (its own unit test). */
    static const struct {
        const char *key;
        int32_t hash;
    } cases[] = {
        {"21", -973932308},
        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
        {"abc", 479470107},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq((int32_t)bf_murmur2(cases[i].key, strlen(cases[i].key)),
                     cases[i].hash, "%s", cases[i].key);
    }
}

Test(id, uuid_make__is_version_4_and_never_the_same)
{
    char first[BF_UUID_TEXT];
    char second[BF_UUID_TEXT];
    bf_uuid_make(first);
    bf_uuid_make(second);
    cr_assert_eq(strlen(first), 36);
    cr_assert_eq(first[14], '4');
    cr_assert(strchr("89ab", first[19]) != NULL);
    cr_assert_str_neq(first, second);
}

Test(suggest, nearest__finds_slips_and_keeps_quiet_about_the_rest)
{
    static const char *const names[] = {"start", "claim", "submit", NULL, "set_vars"};
    cr_assert_str_eq(bf_suggest_nearest("sumbit", 6, names, 5), "submit");
    cr_assert_str_eq(bf_suggest_nearest("CLAIM", 5, names, 5), "claim");
    cr_assert_str_eq(bf_suggest_nearest("set-vars", 8, names, 5), "set_vars");
    cr_assert_null(bf_suggest_nearest("approve", 7, names, 5));
    cr_assert_null(bf_suggest_nearest("", 0, names, 5));
    cr_assert_eq(bf_suggest_distance("abcd", 4, "abdc", 4), 1, "neighbours swapped");
}

Test(err, set__keeps_the_first_error)
{
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_err_set(&err, BF_E_IO, "first %d", 1), BF_E_IO);
    cr_assert_eq(bf_err_set(&err, BF_E_LIMIT, "second"), BF_E_LIMIT);
    bf_err_prefix(&err, "file %s: ", "x");
    cr_assert_eq(err.status, BF_E_IO);
    cr_assert_str_eq(err.text, "file x: first 1");
    cr_assert_eq(bf_err_set(NULL, BF_E_LIMIT, "nobody asks"), BF_E_LIMIT);
    bf_err_clear(&err);
    cr_assert_eq(err.status, BF_OK);
}

Test(err, set__cuts_a_text_that_is_too_long)
{
    bf_err_t err = BF_ERR_INIT;
    char big[2 * BF_ERR_TEXT_MAX];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    (void)bf_err_set(&err, BF_E_IO, "%s", big);
    cr_assert_lt(strlen(err.text), BF_ERR_TEXT_MAX);
    bf_err_prefix(&err, "%s", big);
    cr_assert_lt(strlen(err.text), BF_ERR_TEXT_MAX);
}

Test(clock, format__and_parse_agree)
{
    static const struct {
        int64_t ms;
        const char *rfc3339;
        const char *sql;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z", "1970-01-01 00:00:00.000"},
        {1796025600123, "2026-11-30T08:00:00.123Z", "2026-11-30 08:00:00.123"},
        {951782400000, "2000-02-29T00:00:00.000Z", "2000-02-29 00:00:00.000"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[BF_TIME_TEXT_MAX];
        int64_t back = -1;
        bf_clock_format_rfc3339(cases[i].ms, text);
        cr_assert_str_eq(text, cases[i].rfc3339);
        cr_assert_eq(bf_clock_parse(text, &back, NULL), BF_OK);
        cr_assert_eq(back, cases[i].ms);
        bf_clock_format_sql(cases[i].ms, text);
        cr_assert_str_eq(text, cases[i].sql);
        cr_assert_eq(bf_clock_parse(text, &back, NULL), BF_OK);
        cr_assert_eq(back, cases[i].ms);
    }
    int64_t untouched = 7;
    static const char *const wrong[] = {"", "yesterday", "2026-13-01T00:00:00Z",
                                        "2026-02-30T00:00:00Z", "2026-11-30T25:00:00Z"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(bf_clock_parse(wrong[i], &untouched, NULL), BF_E_PARSE, "%s",
                     wrong[i]);
    }
    cr_assert_eq(untouched, 7);
}
