/*
 * test_suggest.c - the nearest of some names
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/suggest.h"

static const char *const names[] = {
    "start", "claim", NULL, "submit", "submit_if_waiting", "find", "find_next"};

static const char *nearest(const char *text)
{
    const char *name =
        bf_suggest_nearest(text, strlen(text), names, sizeof(names) / sizeof(names[0]));
    return name ? name : "(none)";
}

static size_t distance(const char *a, const char *b)
{
    size_t one = bf_suggest_distance(a, strlen(a), b, strlen(b));
    cr_assert_eq(one, bf_suggest_distance(b, strlen(b), a, strlen(a)), "%s %s", a, b);
    return one;
}

Test(suggest, distance__counts_changes)
{
    cr_expect_eq(distance("claim", "claim"), 0);
    cr_expect_eq(distance("Claim", "cLAIM"), 0);
    cr_expect_eq(distance("find-next", "find_next"), 0);
    cr_expect_eq(distance("claim", "clam"), 1);
    cr_expect_eq(distance("claim", "xclaim"), 1);
    cr_expect_eq(distance("claim", "clxim"), 1);
    cr_expect_eq(distance("claim", "calim"), 1, "a swap is one");
    cr_expect_eq(distance("", "abc"), 3);
    cr_expect_eq(distance("", ""), 0);
    char longer[101];
    memset(longer, 'a', 100);
    longer[100] = '\0';
    cr_expect_eq(distance(longer, "a"), 100, "no work on long texts");
}

Test(suggest, nearest__finds_what_was_meant)
{
    cr_expect_str_eq(nearest("clam"), "claim");
    cr_expect_str_eq(nearest("CLAIM"), "claim");
    cr_expect_str_eq(nearest("sumbit"), "submit");
    cr_expect_str_eq(nearest("findnext"), "find_next");
    cr_expect_str_eq(nearest("submit-if-waitin"), "submit_if_waiting");
}

Test(suggest, nearest__is_silent_about_anything_else)
{
    cr_expect_str_eq(nearest("frobnicate"), "(none)");
    cr_expect_str_eq(nearest(""), "(none)");
    cr_expect_str_eq(nearest("x"), "(none)");
    cr_expect_null(bf_suggest_nearest("claim", 5, names, 0));
}
