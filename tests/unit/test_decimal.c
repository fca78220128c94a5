/*
 * test_decimal.c - decimal text: what it is, and its order
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/decimal.h"

static int compare(const char *a, const char *b)
{
    int one = bf_decimal_compare(a, strlen(a), b, strlen(b));
    int other = bf_decimal_compare(b, strlen(b), a, strlen(a));
    cr_expect_eq(one, -other, "%s and %s", a, b);
    return one;
}

Test(decimal, is_text__takes_plain_decimals_only)
{
    static const char *const yes[] = {"0",  "12",     "-0.50",
                                      "+3", "007.10", "123456789012345678901234567890.1"};
    static const char *const no[] = {"",   "-",   ".5", "5.",    "1e3", " 1",
                                     "1 ", "1,5", "a",  "1.2.3", "--1", "\xef\xbc\x91"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        cr_expect(bf_decimal_is_text(yes[i], strlen(yes[i])), "%s", yes[i]);
    }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
        cr_expect_not(bf_decimal_is_text(no[i], strlen(no[i])), "%s", no[i]);
    }
}

Test(decimal, compare__does_not_round)
{
    cr_expect_eq(compare("0.1", "0.10"), 0);
    cr_expect_eq(compare("-0", "0.00"), 0);
    cr_expect_eq(compare("+5", "5"), 0);
    cr_expect_eq(compare("007", "7.0"), 0);
    cr_expect_eq(compare("9.90", "10"), -1);
    cr_expect_eq(compare("100.00", "99.99"), 1);
    cr_expect_eq(compare("-1", "1"), -1);
    cr_expect_eq(compare("-10", "-9"), -1);
    cr_expect_eq(compare("-1.5", "-1.25"), -1);
    cr_expect_eq(compare("0.123456789012345678901", "0.123456789012345678902"), -1);
    cr_expect_eq(compare("12345678901234567890123", "12345678901234567890122"), 1);
    cr_expect_eq(compare("1.5", "1.50001"), -1);
}
