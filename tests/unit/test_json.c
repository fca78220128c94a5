/*
 * test_json.c - JSON text into values: what is taken, what is refused and why
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/value.h"

static bf_arena_t arena;

static void setup(void)
{
    bf_arena_init(&arena, 0);
}

static void teardown(void)
{
    bf_arena_fini(&arena);
}

TestSuite(json, .init = setup, .fini = teardown);

static void expect_same(const char *text, const char *written)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t out;
    cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, &err), BF_OK,
                 "%s: %s", text, err.text);
    bf_str_init(&out, 0);
    bf_json_write(&out, &value);
    cr_assert_str_eq(bf_str_peek(&out), written);
    bf_str_fini(&out);
}

static void expect_refused(const char *text, size_t len, bf_status_t status,
                           const char *why)
{
    bf_value_t value = bf_value_int(7);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_json_parse(&arena, text, len, NULL, &value, &err), status, "%s",
                 text);
    cr_assert(strstr(err.text, why), "%s: the sentence is: %s", text, err.text);
    cr_assert_eq(value.as.integer, 7, "a refused text leaves the result alone");
}

Test(json, parse__keeps_every_kind_of_value)
{
    expect_same(" { \"b\" : 1 , \"a\" : [ true , false , null , -0 , 1.5 , \"x\" ] } ",
                "{\"b\":1,\"a\":[true,false,null,0,1.5,\"x\"]}");
    expect_same("{}", "{}");
    expect_same("[]", "[]");
    expect_same("\"text\"", "\"text\"");
    expect_same("9223372036854775807", "9223372036854775807");
    expect_same("-9223372036854775808", "-9223372036854775808");
    expect_same("1e2", "100.0");
}

Test(json, parse__reads_escapes_and_pairs_of_surrogates)
{
    expect_same("\"\\u0041\\n\\t\\\"\\\\\\/\"", "\"A\\n\\t\\\"\\\\/\"");
    expect_same("\"\\ud83d\\ude00\"", "\"\xF0\x9F\x98\x80\"");
    expect_same("\"\xE4\xB8\xAD\"", "\"\xE4\xB8\xAD\"");
}

Test(json, parse__says_line_column_and_reason)
{
    static const struct {
        const char *text;
        bf_status_t status;
        const char *why;
    } cases[] = {
        {"", BF_E_PARSE, "the text ends where a value should be"},
        {"{\n  \"a\" 1}", BF_E_PARSE, "line 2 column 7: ':' is missing"},
        {"{\"a\":1,}", BF_E_PARSE, "column 8: the name of a member"},
        {"{\"a\":1 \"b\":2}", BF_E_PARSE, "',' or '}' is missing"},
        {"[1 2]", BF_E_PARSE, "column 4: ',' or ']' is missing"},
        {"[1,2", BF_E_PARSE, "',' or ']' is missing"},
        {"{} {}", BF_E_PARSE, "more text behind the value"},
        {"hello", BF_E_PARSE, "a value is missing"},
        {"01", BF_E_PARSE, "not a number"},
        {"1.", BF_E_PARSE, "not a number"},
        {"1e", BF_E_PARSE, "not a number"},
        {"-", BF_E_PARSE, "not a number"},
        {"9223372036854775808", BF_E_LIMIT, "beyond 64 bit"},
        {"1e999", BF_E_LIMIT, "too large"},
        {"{\"a\":1,\"b\":2,\"a\":3}", BF_E_PARSE, "duplicate member \"a\""},
        {"\"\\ud800\"", BF_E_PARSE, "surrogate"},
        {"\"\\udc00\"", BF_E_PARSE, "surrogate"},
        {"\"\\u0000\"", BF_E_PARSE, "\\u0000 is not allowed"},
        {"\"\\u12g4\"", BF_E_PARSE, "four hexadecimal digits"},
        {"\"\\x\"", BF_E_PARSE, "unknown escape"},
        {"\"a\nb\"", BF_E_PARSE, "control character"},
        {"\"abc", BF_E_PARSE, "ends inside of a string"},
        {"\"abc\\", BF_E_PARSE, "ends inside of a string"},
        {"\"\xFF\"", BF_E_PARSE, "not UTF-8"},
        {"\"\xC0\xAF\"", BF_E_PARSE, "not UTF-8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_refused(cases[i].text, strlen(cases[i].text), cases[i].status,
                       cases[i].why);
    }
    expect_refused("[1]\0", 4, BF_E_PARSE, "more text behind");
}

Test(json, parse__finds_a_duplicate_among_many_members)
{
    bf_str_t text;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&text, 0);
    bf_str_putc(&text, '{');
    for (int i = 0; i < 1000; i++) {
        bf_str_printf(&text, "\"m%d\":%d,", i, i);
    }
    size_t before = text.len;
    bf_str_puts(&text, "\"last\":0}");
    cr_assert_eq(bf_json_parse(&arena, bf_str_peek(&text), text.len, NULL, &value, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(value.len, 1001);
    cr_assert_eq(bf_value_get_str(&value, "m999")->as.integer, 999);
    text.len = before;
    bf_str_puts(&text, "\"m500\":0}");
    cr_assert_eq(bf_json_parse(&arena, bf_str_peek(&text), text.len, NULL, &value, &err),
                 BF_E_PARSE);
    cr_assert(strstr(err.text, "duplicate member \"m500\""), "%s", err.text);
    bf_str_fini(&text);
}

Test(json, parse__holds_the_limits)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_json_limits_t limits = {.max_bytes = 20, .max_depth = 3};
    cr_assert_eq(bf_json_parse(&arena, "[[1]]", 5, &limits, &value, &err), BF_OK);
    cr_assert_eq(bf_json_parse(&arena, "[[[1]]]", 7, &limits, &value, &err), BF_E_LIMIT);
    cr_assert(strstr(err.text, "deeper than 3 levels"), "%s", err.text);
    bf_err_clear(&err);
    cr_assert_eq(
        bf_json_parse(&arena, "                    1", 21, &limits, &value, &err),
        BF_E_LIMIT);
    cr_assert(strstr(err.text, "21 bytes; at most 20"), "%s", err.text);
}

Test(json, parse__says_that_memory_is_out_and_not_that_the_text_is_wrong)
{
    bf_arena_t tiny;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&tiny, 16);
    static const char text[] = "{\"name\":\"a text of more than sixteen bytes\"}";
    cr_assert_eq(bf_json_parse(&tiny, text, strlen(text), NULL, &value, &err),
                 BF_E_NOMEM);
    bf_arena_fini(&tiny);
}
