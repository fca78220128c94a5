/*
 * overflow.c - a Criterion test that reads behind a block: ASan must fail it
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>

Test(canary, overflow__is_found)
{
    volatile char *block = calloc(8, 1);
    volatile size_t behind = 8;
    char got = block[behind];
    free((void *)block);
    cr_assert_leq(got, 127);
}
