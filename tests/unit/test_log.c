/*
 * test_log.c - log lines
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/value.h"

static char *line(bf_log_format_t format, const bf_log_field_t *fields, size_t count,
                  const char *message)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_log_format_line(&str, format, BF_LOG_WARNING, 1796025600123, fields, count,
                       message);
    cr_assert_not(bf_str_failed(&str));
    return bf_str_take(&str, NULL);
}

Test(log, format_line__text_has_time_level_sentence_and_fields)
{
    const bf_log_field_t fields[] = {BF_LOG_INT("shard", 0),
                                     BF_LOG_STR("instance", "a-1"),
                                     BF_LOG_STR("text", "two words")};
    char *text = line(BF_LOG_TEXT, fields, 3, "the command is rejected");
    cr_assert_str_eq(text, "2026-11-30T08:00:00.123Z warning the command is rejected "
                           "shard=0 instance=a-1 text=\"two words\"");
    free(text);
}

Test(log, format_line__one_event_is_one_line_whatever_is_in_it)
{
    const bf_log_field_t fields[] = {BF_LOG_STR("instance", "a\nlevel=error b\"c=\\"),
                                     BF_LOG_STR("empty", "")};
    char *text = line(BF_LOG_TEXT, fields, 2, "first\nsecond");
    cr_assert_null(strchr(text, '\n'));
    cr_assert(strstr(text, "instance=\"a\\nlevel=error b\\\"c=\\\\\""), "%s", text);
    cr_assert(strstr(text, "empty=\"\""), "%s", text);
    free(text);
}

Test(log, format_line__json_is_one_object_that_reads_back)
{
    const bf_log_field_t fields[] = {BF_LOG_INT("offset", -7),
                                     BF_LOG_STR("instance", "\"x\"\n")};
    char *text = line(BF_LOG_JSON, fields, 2, "a \"sentence\"");
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t value;
    cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, NULL), BF_OK);
    cr_assert_str_eq(bf_value_get_cstr(&value, "level"), "warning");
    cr_assert_str_eq(bf_value_get_cstr(&value, "message"), "a \"sentence\"");
    cr_assert_str_eq(bf_value_get_cstr(&value, "instance"), "\"x\"\n");
    cr_assert_eq(bf_value_get_str(&value, "offset")->as.integer, -7);
    bf_arena_fini(&arena);
    free(text);
}

Test(log, format_line__bad_utf8_cannot_break_json)
{
    const bf_log_field_t fields[] = {BF_LOG_STR("key", "a\xff\xfe")};
    char *text = line(BF_LOG_JSON, fields, 1, "\x80");
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t value;
    cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, NULL), BF_OK);
    cr_assert_str_eq(bf_value_get_cstr(&value, "key"), "a??");
    bf_arena_fini(&arena);
    free(text);
}

Test(log, format_line__long_values_are_cut_between_characters)
{
    char value[BF_LOG_VALUE_MAX + 100];
    memset(value, 'x', sizeof(value));
    memcpy(value + BF_LOG_VALUE_MAX - 1, "\xc3\xa9", 2); /* would be cut in half */
    value[sizeof(value) - 1] = '\0';
    const bf_log_field_t fields[] = {BF_LOG_STR("key", value)};
    char *text = line(BF_LOG_TEXT, fields, 1, "m");
    const char *key = strstr(text, "key=");
    cr_assert_eq(strlen(key), 4 + BF_LOG_VALUE_MAX - 1);
    free(text);
}

Test(log, write__drops_lines_below_the_level)
{
    int fds[2];
    char buffer[512] = "";
    cr_assert_eq(pipe(fds), 0);
    bf_log_t *log = bf_log_new(fds[1], BF_LOG_TEXT, BF_LOG_INFO);
    bf_log_write(log, BF_LOG_DEBUG, NULL, 0, "not this");
    bf_log_write(log, BF_LOG_INFO, NULL, 0, "number %d", 1);
    bf_log_set_level(log, BF_LOG_DEBUG);
    bf_log_write(log, BF_LOG_DEBUG, NULL, 0, "number %d", 2);
    ssize_t n = read(fds[0], buffer, sizeof(buffer) - 1);
    cr_assert_gt(n, 0);
    cr_assert_null(strstr(buffer, "not this"));
    cr_assert(strstr(buffer, "info number 1\n"));
    cr_assert(strstr(buffer, "debug number 2\n"));
    bf_log_free(log);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

Test(log, level_of_name__knows_its_own_names_only)
{
    for (int i = 0; i < BF_LOG_LEVEL_COUNT; i++) {
        cr_assert_eq(bf_log_level_of_name(bf_log_level_name((bf_log_level_t)i)), i);
    }
    cr_assert_eq(bf_log_level_of_name("loud"), BF_LOG_LEVEL_COUNT);
}

Test(log, limit_pass__lets_one_through_and_counts_the_others)
{
    bf_log_limit_t limit = {.interval_ms = 100};
    uint64_t suppressed = 99;
    cr_assert(bf_log_limit_pass(&limit, 1000, &suppressed));
    cr_assert_eq(suppressed, 0);
    cr_assert_not(bf_log_limit_pass(&limit, 1001, &suppressed));
    cr_assert_not(bf_log_limit_pass(&limit, 1099, &suppressed));
    cr_assert(bf_log_limit_pass(&limit, 1100, &suppressed));
    cr_assert_eq(suppressed, 2);
    cr_assert(bf_log_limit_pass(&limit, 1200, &suppressed));
    cr_assert_eq(suppressed, 0);
}
