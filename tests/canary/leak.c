/*
 * leak.c - a Criterion test that leaks: the sanitizer run must fail it
 *
 * Criterion alone passes a test that leaks; `make check-san` proves with this program
 * that its wrapper does not.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(canary, leak__is_found)
{
    void *volatile lost = malloc(100);
    cr_assert_not_null(lost);
    memset(lost, 1, 100);
    lost = NULL;
}
