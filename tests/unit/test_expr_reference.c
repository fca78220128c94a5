/*
 * test_expr_reference.c - every example of config/expressions.md, and nothing forgotten
 * there
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/expr/expr_int.h"
#include "tests/support/world.h"

static char *text; /* of the reference */

static void setup(void)
{
    FILE *f = fopen("config/expressions.md", "rb");
    cr_assert_not_null(f, "config/expressions.md: run the tests from the top folder");
    size_t room = (size_t)256 * 1024;
    text = malloc(room);
    cr_assert_not_null(text);
    size_t len = fread(text, 1, room - 1, f);
    text[len] = '\0';
    (void)fclose(f);
}

static void teardown(void)
{
    free(text);
}

TestSuite(expr_reference, .init = setup, .fini = teardown);

/* The variables: the first ```json block. */
static char *variables(void)
{
    char *start = strstr(text, "```json\n");
    cr_assert_not_null(start);
    start += strlen("```json\n");
    char *end = strstr(start, "```");
    cr_assert_not_null(end);
    return strndup(start, (size_t)(end - start));
}

/* JSON text in our own compact form. */
static const char *normal(world_t *w, const char *json)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_json_parse(&w->arena, json, strlen(json), NULL, &value, &err), BF_OK,
                 "%s: %s", json, err.text);
    return world_json(w, &value);
}

static void check_result(world_t *w, const char *line, const char *came,
                         const char *expected)
{
    if (!strncmp(expected, "error: ", 7)) {
        cr_expect(!strncmp(came, "error: ", 7) && strstr(came, expected + 7),
                  "%s\n  got %s", line, came);
    } else {
        cr_expect_str_eq(came, normal(w, expected), "%s\n  got %s", line, came);
    }
}

/* Each member of the expected object is a variable; null = cleared. */
static void check_script(world_t *w, const char *line, const char *came,
                         const char *expected)
{
    if (!strncmp(expected, "error: ", 7)) {
        check_result(w, line, came, expected);
        return;
    }
    bf_value_t map;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_str_eq(came, "", "%s: %s", line, came);
    cr_assert_eq(bf_json_parse(&w->arena, expected, strlen(expected), NULL, &map, &err),
                 BF_OK, "%s: %s", line, err.text);
    for (uint32_t i = 0; i < map.len; i++) {
        const bf_member_t *m = &map.as.members[i];
        const char *wanted =
            m->value.type == BF_VALUE_NULL ? "absent" : world_json(w, &m->value);
        cr_expect_str_eq(world_var(w, m->name), wanted, "%s\n  %s is %s", line, m->name,
                         world_var(w, m->name));
    }
}

static void check_line(const char *json, char *line, bool script)
{
    world_t w;
    char *arrow = strstr(line, "=> ");
    cr_assert_not_null(arrow, "no => in: %s", line);
    char *source = strndup(line, (size_t)(arrow - line));
    world_init(&w, json);
    if (script) {
        check_script(&w, line, world_run(&w, source), arrow + 3);
    } else {
        check_result(&w, line, world_eval(&w, source), arrow + 3);
    }
    world_fini(&w);
    free(source);
}

/* All lines of the blocks that begin with this fence; how many there were. */
static unsigned check_blocks(const char *fence, bool script)
{
    unsigned count = 0;
    char *json = variables();
    char *copy = strdup(text);
    char *save = NULL;
    bool inside = false;
    for (char *line = strtok_r(copy, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (!strcmp(line, fence)) {
            inside = true;
        } else if (!strncmp(line, "```", 3)) {
            inside = false;
        } else if (inside) {
            check_line(json, line, script);
            count++;
        }
    }
    free(copy);
    free(json);
    return count;
}

Test(expr_reference, expressions__give_what_the_reference_says)
{
    cr_expect_gt(check_blocks("```expr", false), 150);
}

Test(expr_reference, scripts__set_what_the_reference_says)
{
    cr_expect_gt(check_blocks("```script", true), 10);
}

static void expect_mentioned(const bf_function_t *table)
{
    for (; table->name; table++) {
        char call[64];
        (void)snprintf(call, sizeof(call), "%s(", table->name);
        cr_expect_not_null(strstr(text, call), "%s() is not in config/expressions.md",
                           table->name);
    }
}

Test(expr_reference, functions__all_have_an_example)
{
    expect_mentioned(bf_functions_text);
    expect_mentioned(bf_functions_list);
    expect_mentioned(bf_functions_num);
    expect_mentioned(bf_functions_date);
}
