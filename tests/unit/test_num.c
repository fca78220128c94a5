/*
 * test_num.c - numbers do not depend on the locale of the program around us
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/num.h"
#include "bpmflow/value.h"

/* A locale with a decimal comma, when the machine has one. */
static bool set_comma(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "es_ES.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (setlocale(LC_ALL, names[i])) {
            return true;
        }
    }
    return false;
}

Test(num, real__has_a_point_in_every_locale)
{
    if (!set_comma()) {
        (void)printf("SKIPPED: no locale with a decimal comma is installed\n");
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
