/*
 * test_range.c - loop ranges
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "bpmflow/range.h"

static bf_range_t parse(const char *text)
{
    bf_range_t range = {0};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_range_parse(text, strlen(text), &range, &err), BF_OK, "%s: %s", text,
                 err.text);
    return range;
}

static void expect_error(const char *text, const char *why)
{
    bf_range_t range = {7, 7, 7};
    bf_err_t err = BF_ERR_INIT;
    cr_expect_eq(bf_range_parse(text, strlen(text), &range, &err), BF_E_PARSE, "%s",
                 text);
    cr_expect_str_eq(err.text, why);
    cr_expect_eq(range.start, 7, "the result was touched");
}

Test(range, is_range__is_told_by_colon_and_dots)
{
    cr_expect(bf_range_is_range("1...3", 5));
    cr_expect(bf_range_is_range("a:b", 3));
    cr_expect_not(bf_range_is_range("items", 5));
    cr_expect_not(bf_range_is_range("a..b", 4));
    cr_expect_not(bf_range_is_range("", 0));
}

Test(range, parse__excludes_the_end)
{
    bf_range_t range = parse("1...4");
    cr_expect_eq(bf_range_count(&range), 3U);
    cr_expect_eq(bf_range_at(&range, 0), 1);
    cr_expect_eq(bf_range_at(&range, 2), 3);
    range = parse("0:10:3");
    cr_expect_eq(bf_range_count(&range), 4U);
    cr_expect_eq(bf_range_at(&range, 3), 9);
    range = parse("-3...0");
    cr_expect_eq(bf_range_at(&range, 0), -3);
    range = parse("5...5");
    cr_expect_eq(bf_range_count(&range), 0U);
    range = parse("9:1:2");
    cr_expect_eq(bf_range_count(&range), 0U);
}

Test(range, count__does_not_overflow)
{
    bf_range_t all = {INT64_MIN, INT64_MAX, 1};
    cr_expect_eq(bf_range_count(&all), UINT64_MAX);
    cr_expect_eq(bf_range_at(&all, UINT64_MAX - 1), INT64_MAX - 1);
    bf_range_t wide = {INT64_MIN, INT64_MAX, INT64_MAX};
    cr_expect_eq(bf_range_count(&wide), 3U);
    cr_expect_eq(bf_range_at(&wide, 2), INT64_MAX - 1);
}

Test(range, parse__says_what_the_original_says)
{
    static const char style[] =
        "The stepper style must be 'start...end' or 'start:end:step'";
    expect_error("invalid", style);
    expect_error("", style);
    expect_error("1:2", style);
    expect_error("...5", style);
    expect_error("a:b:c", "Stepper parameters must be valid integers: a:b:c");
    expect_error("1...", "Stepper parameters must be valid integers: 1...");
    expect_error(" 1...3", "Stepper parameters must be valid integers:  1...3");
    expect_error("1:2:3:4", "Stepper parameters must be valid integers: 1:2:3:4");
    expect_error("1.5...3", "Stepper parameters must be valid integers: 1.5...3");
    expect_error("1:10:0", "Step must be positive");
    expect_error("1:10:-1", "Step must be positive");
    expect_error("99999999999999999999...5",
                 "Stepper parameters must be valid integers: 99999999999999999999...5");
}
