/*
 * test_num.c - numbers do not depend on the locale of the program around us
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/num.h"
#include "bpmflow/value.h"

/* The Makefile makes this one, from Debian's sources of locales. */
static bool set_comma(void)
{
    cr_assert_eq(setenv("LOCPATH", "build/tests/locale", 1), 0);
    if (setlocale(LC_ALL, "de_DE.UTF-8")) {
        return true;
    }
    (void)printf("SKIPPED: no locale with a decimal comma (package locales)\n");
    return false;
}

Test(num, real__has_a_point_in_every_locale)
{
    if (!set_comma()) {
        return;
    }
    double value = 0;
    char text[BF_NUM_TEXT_MAX];
    cr_expect_eq(bf_num_parse_real("1.5", 3, &value, NULL), BF_OK);
    cr_expect_eq(value, 1.5);
    cr_expect_eq(bf_num_parse_real("1,5", 3, &value, NULL), BF_E_PARSE);
    bf_num_format_real(0.1, text);
    cr_expect_str_eq(text, "0.1");
    bf_num_format_real(1e100, text);
    cr_expect_str_eq(text, "1e+100");
    bf_num_format_real(3, text);
    cr_expect_str_eq(text, "3.0");
}

Test(num, json__has_a_point_in_every_locale)
{
    static const char text[] =
        "[1.5,-0.25e1,12345678901234567890123456789012345678901234."
        "5]";
    if (!set_comma()) {
        return;
    }
    bf_arena_t arena;
    bf_value_t value;
    bf_str_t str;
    bf_arena_init(&arena, 0);
    bf_str_init(&str, 0);
    cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, NULL), BF_OK);
    cr_expect_eq(value.as.items[0].as.real, 1.5);
    cr_expect_eq(value.as.items[1].as.real, -2.5);
    cr_expect_eq(value.as.items[2].as.real,
                 12345678901234567890123456789012345678901234.5);
    bf_json_write(&str, &value.as.items[0]);
    cr_expect_str_eq(str.data, "1.5");
    bf_str_fini(&str);
    bf_arena_fini(&arena);
}

Test(num, parse_real__takes_decimal_numbers_only)
{
    static const char *const bad[] = {"",    " 1", "1 ", "0x1p3", "inf", "nan",
                                      "\n1", "1e", "e1", "1.2.3", "--1", "1e999"};
    double value = 7;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(bf_num_parse_real(bad[i], strlen(bad[i]), &value, NULL), BF_E_PARSE,
                     "%s", bad[i]);
    }
    cr_expect_eq(value, 7.0);
    cr_expect_eq(bf_num_parse_real("1\0", 2, &value, NULL), BF_E_PARSE);
}
