/*
 * undefined.c - a Criterion test with undefined behaviour: UBSan must fail it
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <limits.h>

Test(canary, undefined__is_found)
{
    volatile int big = INT_MAX;
    volatile int sum = big + 1;
    cr_assert_neq(sum, 0);
}
