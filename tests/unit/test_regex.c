/*
 * test_regex.c - patterns, beside POSIX as the judge; bounds
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/regex.h"

static bf_arena_t arena;

static void setup(void)
{
    bf_arena_init(&arena, 0);
}

static void teardown(void)
{
    bf_arena_fini(&arena);
}

TestSuite(regex, .init = setup, .fini = teardown);

static bool matches(const char *pattern, const char *text)
{
    const bf_regex_t *regex = NULL;
    bf_err_t err = BF_ERR_INIT;
    bool result = false;
    cr_assert_eq(bf_regex_parse(&arena, pattern, strlen(pattern), &regex, &err), BF_OK,
                 "%s: %s", pattern, err.text);
    cr_assert_eq(bf_regex_match(regex, text, strlen(text), &arena, &result), BF_OK);
    return result;
}

static void expect_refused(const char *pattern, bf_status_t status, const char *part)
{
    const bf_regex_t *regex = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_expect_eq(bf_regex_parse(&arena, pattern, strlen(pattern), &regex, &err), status,
                 "%s", pattern);
    cr_expect_not_null(strstr(err.text, part), "%s: %s", pattern, err.text);
    cr_expect_null(regex);
}

Test(regex, match__takes_the_whole_text)
{
    cr_expect(matches("abc", "abc"));
    cr_expect_not(matches("abc", "abcd"));
    cr_expect_not(matches("abc", "xabc"));
    cr_expect(matches("", ""));
    cr_expect_not(matches("", "a"));
    cr_expect(matches("^abc$", "abc"));
    cr_expect(matches("a^b|c", "c"));
    cr_expect_not(matches("a^b", "ab"));
    cr_expect(matches("(a|^b)c", "bc"));
}

Test(regex, match__knows_classes_and_escapes)
{
    cr_expect(matches("\\d{4}-\\d\\d-\\d\\d", "2026-11-30"));
    cr_expect_not(matches("\\d{4}", "20a6"));
    cr_expect(matches("\\w+\\s\\W", "ab_9 -"));
    cr_expect(matches("\\D\\S", "ab"));
    cr_expect_not(matches("\\D", "5"));
    cr_expect(matches("[a-c\\d_]+", "abc_9"));
    cr_expect(matches("[^a-c]+", "xyz"));
    cr_expect_not(matches("[^a-c]", "b"));
    cr_expect(matches("[\\W]", "-"));
    cr_expect(matches("[]a]+", "]a"));
    cr_expect(matches("[a-]+", "-a"));
    cr_expect(matches("[\\]\\\\]+", "]\\"));
    cr_expect(matches("a\\.b\\*\\(\\)", "a.b*()"));
    cr_expect(matches("a\\tb", "a\tb"));
    cr_expect_not(matches("a.b", "a\nb"));
}

Test(regex, match__works_on_characters)
{
    cr_expect(matches("..", "李伟"));
    cr_expect(matches("[李王].", "王芳"));
    cr_expect(matches("[一-龥]+", "中文"));
    cr_expect_not(matches("[一-龥]+", "abc"));
    cr_expect(matches("é?", "é"));
    cr_expect(matches("😀{2}", "😀😀"));
}

Test(regex, match__repeats)
{
    cr_expect(matches("a{2,3}", "aa"));
    cr_expect(matches("a{2,3}", "aaa"));
    cr_expect_not(matches("a{2,3}", "aaaa"));
    cr_expect_not(matches("a{2,3}", "a"));
    cr_expect(matches("a{0,2}b", "b"));
    cr_expect(matches("(ab){2,}", "ababab"));
    cr_expect_not(matches("(ab){2,}", "ab"));
    cr_expect(matches("a{0}b", "b"));
    cr_expect(matches("(a|b)*?c", "abac"));
    cr_expect(matches("(a*)*", "aaa"));
    cr_expect(matches("(a*)+b", "b"));
    cr_expect(matches("(|a)+", ""));
    cr_expect(matches("(?:x|yz){2}", "yzx"));
}

/* Random patterns over a small alphabet, each on random texts, beside regexec(). */
static unsigned seed = 7;

static unsigned next_random(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

static size_t random_pattern(char *out, size_t room, int depth)
{
    static const char *const atoms[] = {"a", "b", ".", "[ab]", "[^a]", "c"};
    static const char *const tails[] = {"",  "",    "",      "*",    "+",
                                        "?", "{2}", "{1,3}", "{0,2}"};
    size_t len = 0;
    unsigned parts = 1 + next_random(3);
    for (unsigned i = 0; i < parts && len + 64 < room; i++) {
        if (depth && next_random(3) == 0) {
            out[len++] = '(';
            len += random_pattern(out + len, room - len - 8, depth - 1);
            out[len++] = ')';
        } else {
            len += (size_t)snprintf(out + len, room - len, "%s", atoms[next_random(6)]);
        }
        len += (size_t)snprintf(out + len, room - len, "%s", tails[next_random(9)]);
        if (depth && next_random(4) == 0 && i + 1 < parts) {
            out[len++] = '|';
        }
    }
    out[len] = '\0';
    return len;
}

static bool posix_matches(const char *pattern, const char *text, bool *ret)
{
    char whole[600];
    regex_t re;
    (void)snprintf(whole, sizeof(whole), "^(%s)$", pattern);
    if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB)) {
        return false;
    }
    *ret = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return true;
}

Test(regex, match__agrees_with_posix)
{
    unsigned compared = 0;
    for (int i = 0; i < 400; i++) {
        char pattern[512];
        (void)random_pattern(pattern, sizeof(pattern), 2);
        for (int k = 0; k < 8; k++) {
            char text[12];
            unsigned len = next_random(10);
            for (unsigned c = 0; c < len; c++) {
                text[c] = (char)('a' + (char)next_random(3));
            }
            text[len] = '\0';
            bool expected = false;
            if (!posix_matches(pattern, text, &expected)) {
                continue;
            }
            compared++;
            cr_expect_eq(matches(pattern, text), expected, "/%s/ on '%s'", pattern, text);
        }
    }
    cr_expect_gt(compared, 2000U);
}

Test(regex, match__needs_time_in_proportion)
{
    char *text = malloc(20001);
    memset(text, 'a', 20000);
    text[20000] = '\0';
    cr_expect_not(matches("(a*)*b", text)); /* for ever with backtracking */
    cr_expect_not(matches("(a|a|a?)+b", text));
    free(text);
}

Test(regex, match__gives_its_memory_back)
{
    const bf_regex_t *regex = NULL;
    bool result = false;
    cr_assert_eq(bf_regex_parse(&arena, "(a|b)*", 6, &regex, NULL), BF_OK);
    size_t before = arena.used_bytes;
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(bf_regex_match(regex, "abba", 4, &arena, &result), BF_OK);
    }
    cr_expect_eq(arena.used_bytes, before);
}

Test(regex, parse__says_where_and_why)
{
    expect_refused("(a", BF_E_PARSE, "a group without )");
    expect_refused("a)", BF_E_PARSE, ") without (");
    expect_refused("[a", BF_E_PARSE, "a class without ]");
    expect_refused("[b-a]", BF_E_PARSE, "backwards");
    expect_refused("*a", BF_E_PARSE, "character 1: nothing to repeat");
    expect_refused("a|*", BF_E_PARSE, "nothing to repeat");
    expect_refused("a{", BF_E_PARSE, "expected {m}");
    expect_refused("a{3,2}", BF_E_PARSE, "backwards");
    expect_refused("a{2", BF_E_PARSE, "expected }");
    expect_refused("a{99999}", BF_E_PARSE, "too large");
    expect_refused("\\", BF_E_PARSE, "nothing after");
    expect_refused("(a)\\1", BF_E_PARSE, "not supported");
    expect_refused("\\bx", BF_E_PARSE, "not supported");
    expect_refused("(?=a)", BF_E_PARSE, "only (...) and (?:...)");
}

Test(regex, parse__bounds_states_and_depth)
{
    char text[400];
    expect_refused("(a{100}){100}", BF_E_LIMIT, "more than 2000 states");
    expect_refused("((a{40}){40}){40}", BF_E_LIMIT, "more than 2000 states");
    memset(text, '(', 100);
    text[100] = '\0';
    expect_refused(text, BF_E_PARSE, "too deep");
    /* Many alternatives are no depth. */
    for (int i = 0; i < 390; i++) {
        text[i] = i % 2 ? '|' : 'a';
    }
    text[390] = '\0';
    cr_expect(matches(text, "a"));
}
