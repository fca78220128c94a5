/*
 * test_codec_encode.c - replies, events, dead letters: exact bytes, headers, round trips
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"
#include "bpmflow/id.h"

#define TIME_MS 1796025600123 /* 2026-11-30T08:00:00.123Z */

static bf_command_t command_of(void)
{
    bf_command_t command = {
        .command_id = "7d0a", .verb = BF_VERB_SUBMIT, .instance_id = "leave-2026-0001"};
    return command;
}

/* --- replies --- */

static const bf_member_t meta_members[] = {
    {"role", 4, {.type = BF_VALUE_STRING, .len = 2, .as.string = "hr"}}};
static const bf_node_t node_hr = {
    .id = "hr",
    .title = "HR \"team\"",
    .type = BF_NODE_ACTIVITY,
    .meta = {.type = BF_VALUE_MAP, .len = 1, .as.members = meta_members}};
static const bf_node_t node_end = {.id = "end", .type = BF_NODE_END};

static char *reply_of(const bf_outcome_t *outcome, bool duplicate)
{
    bf_command_t command = command_of();
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_codec_write_reply(&str, &command, outcome, duplicate);
    char *text = bf_str_take(&str, NULL);
    cr_assert_not_null(text);
    return text;
}

Test(codec, write_reply__accepted)
{
    const bf_outcome_task_t task = {.task = {&node_hr, BF_TASK_WAITING, 1},
                                    .graph_id = "leave"};
    const bf_outcome_task_t next[] = {
        task, {.task = {&node_end, BF_TASK_UNKNOWN, 1}, .graph_id = "leave"}};
    const bf_outcome_state_t states[] = {{"leave:leader", BF_TASK_COMPLETED},
                                         {"leave:hr", BF_TASK_WAITING}};
    const bf_outcome_t outcome = {.code = BF_CODE_OK,
                                  .revision = 5,
                                  .instance_state = BF_INSTANCE_RUNNING,
                                  .task = &task,
                                  .next_tasks = next,
                                  .next_task_count = 2,
                                  .states = states,
                                  .state_count = 2};
    char *text = reply_of(&outcome, false);
    cr_assert_str_eq(
        text,
        "{\"command_id\":\"7d0a\",\"command\":\"submit\","
        "\"instance_id\":\"leave-2026-0001\",\"status\":\"accepted\",\"duplicate\":false,"
        "\"code\":\"ok\",\"error\":null,\"revision\":5,\"instance_state\":\"running\","
        "\"task\":{\"graph_id\":\"leave\",\"node_id\":\"hr\",\"title\":\"HR "
        "\\\"team\\\"\","
        "\"type\":\"activity\",\"state\":1001,\"meta\":{\"role\":\"hr\"}},"
        "\"next_tasks\":[{\"graph_id\":\"leave\",\"node_id\":\"hr\","
        "\"title\":\"HR \\\"team\\\"\",\"type\":\"activity\",\"state\":1001,"
        "\"meta\":{\"role\":\"hr\"}},{\"graph_id\":\"leave\",\"node_id\":\"end\","
        "\"title\":null,\"type\":\"end\",\"state\":0,\"meta\":{}}],"
        "\"states\":{\"leave:leader\":1002,\"leave:hr\":1001}}");
    free(text);
}

Test(codec, write_reply__rejected_without_an_instance)
{
    bf_command_t command = command_of();
    command.verb = BF_VERB_COUNT;
    const bf_outcome_t outcome = {.code = BF_CODE_UNKNOWN_COMMAND,
                                  .error = "there is no command 'x'"};
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_codec_write_reply(&str, &command, &outcome, false);
    cr_assert_str_eq(
        bf_str_peek(&str),
        "{\"command_id\":\"7d0a\",\"command\":null,\"instance_id\":\"leave-2026-0001\","
        "\"status\":\"rejected\",\"duplicate\":false,\"code\":\"unknown_command\","
        "\"error\":\"there is no command 'x'\",\"revision\":0,\"instance_state\":null,"
        "\"task\":null,\"next_tasks\":[],\"states\":{}}");
    bf_str_fini(&str);
}

/* A sentence that was cut within a character must not spoil the reply. */
Test(codec, write_reply__is_json_whatever_the_error_holds)
{
    static const char *const errors[] = {"cut \xe4\xbd", "\xff\xfe",
                                         "line\nand \"quote\"", "\xc3",
                                         "good \xe4\xbd\xa0 \xed\xa0\x80 x"};
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        const bf_outcome_t outcome = {.code = BF_CODE_NO_ROUTE, .error = errors[i]};
        char *text = reply_of(&outcome, false);
        bf_arena_t arena;
        bf_value_t value;
        bf_err_t err = BF_ERR_INIT;
        bf_arena_init(&arena, 0);
        cr_assert_eq(bf_json_parse(&arena, text, strlen(text), NULL, &value, &err), BF_OK,
                     "%s: %s", text, err.text);
        cr_assert_not_null(bf_value_get_cstr(&value, "error"));
        bf_arena_fini(&arena);
        free(text);
    }
}

Test(codec, mark_duplicate__changes_nothing_else)
{
    const bf_outcome_t outcome = {
        .code = BF_CODE_OK, .error = ",\"duplicate\":false, in a text", .revision = 2};
    char *first = reply_of(&outcome, false);
    char *again = reply_of(&outcome, true);
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_codec_mark_duplicate(first, strlen(first), &str, NULL), BF_OK);
    cr_assert_str_eq(bf_str_peek(&str), again);
    bf_str_clear(&str);
    cr_assert_eq(bf_codec_mark_duplicate(again, strlen(again), &str, NULL), BF_OK);
    cr_assert_str_eq(bf_str_peek(&str), again, "once more is the same");
    bf_str_clear(&str);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_codec_mark_duplicate("{}", 2, &str, &err), BF_E_INVALID);
    cr_assert_neq(err.text[0], '\0');
    bf_str_fini(&str);
    free(first);
    free(again);
}

/* --- events --- */

static bf_history_t row_of(void)
{
    bf_history_t row = {.instance_id = "leave-2026-0001",
                        .graph_id = "leave",
                        .graph_version = 2,
                        .seq = 3,
                        .action = BF_ACTION_FORWARD,
                        .task_id = "leader",
                        .source = {"leader", "Leader", "activity"},
                        .target = {"hr", "HR", "activity"},
                        .assignee = "li.wei",
                        .status = 1002,
                        .has_form_id = true,
                        .form_id = 12,
                        .variables = {"{\"day\": 3}", 10},
                        .message = "agreed",
                        .instance_state = BF_INSTANCE_RUNNING,
                        .command_id = "7d0a",
                        .creator = "li.wei",
                        .create_time_ms = TIME_MS};
    return row;
}

static char *event_of(const bf_history_t *row)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_codec_write_event(&str, row);
    char *text = bf_str_take(&str, NULL);
    cr_assert_not_null(text);
    return text;
}

Test(codec, write_event__all_members)
{
    bf_history_t row = row_of();
    char *text = event_of(&row);
    cr_assert_str_eq(
        text,
        "{\"event_id\":\"leave-2026-0001/"
        "3\",\"instance_id\":\"leave-2026-0001\",\"seq\":3,"
        "\"graph_id\":\"leave\",\"graph_version\":2,\"task_id\":\"leader\","
        "\"action\":\"forward\","
        "\"source\":{\"code\":\"leader\",\"name\":\"Leader\",\"type\":\"activity\"},"
        "\"target\":{\"code\":\"hr\",\"name\":\"HR\",\"type\":\"activity\"},"
        "\"assignee\":\"li.wei\",\"status\":1002,\"form_id\":12,\"message\":\"agreed\","
        "\"variables\":{\"day\": "
        "3},\"instance_state\":\"running\",\"command_id\":\"7d0a\","
        "\"creator\":\"li.wei\",\"create_time\":\"2026-11-30T08:00:00.123Z\"}");
    free(text);
}

Test(codec, write_event__absent_members_are_null)
{
    bf_history_t row = row_of();
    row.assignee = NULL;
    row.has_form_id = false;
    row.message = NULL;
    row.variables = (bf_text_t){NULL, 0};
    row.creator = NULL;
    row.instance_state = BF_INSTANCE_COMPLETED;
    char *text = event_of(&row);
    cr_assert_not_null(strstr(text, "\"assignee\":null,\"status\":1002,\"form_id\":null,"
                                    "\"message\":null,\"variables\":null,"
                                    "\"instance_state\":\"completed\""));
    cr_assert_not_null(strstr(text, "\"creator\":null"));
    free(text);
}

static const bf_header_t *header_of(const bf_message_t *message, const char *name)
{
    const bf_header_t *found = NULL;
    for (size_t i = 0; i < message->header_count; i++) {
        if (!strcmp(message->headers[i].name, name)) {
            cr_assert_null(found, "%s is there twice", name);
            found = &message->headers[i];
        }
    }
    return found;
}

static void expect_header(const bf_message_t *message, const char *name, const char *want)
{
    const bf_header_t *header = header_of(message, name);
    if (!want) {
        cr_expect_null(header, "%s", name);
        return;
    }
    cr_assert_not_null(header, "%s", name);
    cr_expect_eq(header->len, strlen(want), "%s", name);
    cr_expect_eq(memcmp(header->value, want, header->len), 0, "%s: %.*s", name,
                 (int)header->len, (const char *)header->value);
}

Test(codec, make_event__is_a_cloud_event)
{
    bf_arena_t arena;
    bf_message_t message;
    bf_arena_init(&arena, 0);
    bf_history_t row = row_of();
    row.graph_id = "leave request/\xc3\xa4";
    const bf_trace_t trace = {"00-parent", "a=1"};
    cr_assert_eq(bf_codec_make_event(&arena, "events", &row, &trace, &message), BF_OK);
    cr_assert_str_eq(message.topic, "events");
    cr_assert_eq(message.key_len, strlen("leave-2026-0001"));
    cr_assert_eq(memcmp(message.key, "leave-2026-0001", message.key_len), 0);
    char *text = event_of(&row);
    cr_assert_eq(message.value_len, strlen(text));
    cr_assert_eq(memcmp(message.value, text, message.value_len), 0);
    free(text);
    expect_header(&message, "ce_id", "leave-2026-0001/3");
    expect_header(&message, "ce_source", "/bpmflow/leave%20request%2F%C3%A4");
    expect_header(&message, "ce_specversion", "1.0");
    expect_header(&message, "ce_subject", "leave-2026-0001");
    expect_header(&message, "ce_time", "2026-11-30T08:00:00.123Z");
    expect_header(&message, "ce_type", "bpmflow.task.forward");
    expect_header(&message, "content-type", "application/json");
    expect_header(&message, "traceparent", "00-parent");
    expect_header(&message, "tracestate", "a=1");
    cr_assert_eq(bf_codec_make_event(&arena, "events", &row, NULL, &message), BF_OK);
    expect_header(&message, "traceparent", NULL);
    expect_header(&message, "tracestate", NULL);
    bf_arena_fini(&arena);
}

/* What was published and what is published again after a crash: the same bytes. */
static char *packed(const bf_message_t *message, size_t *ret_len)
{
    bf_str_t blob;
    bf_str_init(&blob, 0);
    cr_assert_eq(bf_codec_pack_message(message, &blob, NULL), BF_OK);
    char *data = bf_str_take(&blob, ret_len);
    cr_assert_not_null(data);
    return data;
}

Test(codec, make_reply__the_same_from_a_row_without_a_command_id)
{
    bf_arena_t arena;
    bf_message_t first;
    bf_message_t again;
    bf_arena_init(&arena, 0);
    const bf_outcome_t outcome = {.code = BF_CODE_OK, .revision = 1};
    char *body = reply_of(&outcome, false);
    bf_reply_t reply = {.topic = "replies",
                        .instance_id = "leave-2026-0001",
                        .command_id = "7d0a",
                        .body = {body, strlen(body)},
                        .create_time_ms = TIME_MS,
                        .trace = {"00-parent", NULL}};
    cr_assert_eq(bf_codec_make_reply(&arena, &reply, &first, NULL), BF_OK);
    expect_header(&first, "ce_id", "7d0a");
    expect_header(&first, "ce_source", "/bpmflow/instances/leave-2026-0001");
    expect_header(&first, "ce_subject", "leave-2026-0001");
    expect_header(&first, "ce_type", "bpmflow.reply");
    expect_header(&first, "ce_time", "2026-11-30T08:00:00.123Z");
    expect_header(&first, "traceparent", "00-parent");
    expect_header(&first, "tracestate", NULL);
    reply.command_id = NULL;
    cr_assert_eq(bf_codec_make_reply(&arena, &reply, &again, NULL), BF_OK);
    size_t len1;
    size_t len2;
    char *one = packed(&first, &len1);
    char *two = packed(&again, &len2);
    cr_assert_eq(len1, len2);
    cr_assert_eq(memcmp(one, two, len1), 0);
    free(one);
    free(two);
    free(body);
    bf_err_t err = BF_ERR_INIT;
    reply.body = (bf_text_t){"{}", 2};
    cr_assert_eq(bf_codec_make_reply(&arena, &reply, &again, &err), BF_E_INVALID);
    cr_assert_neq(err.text[0], '\0');
    bf_arena_fini(&arena);
}

/* --- dead letters --- */

static const bf_header_t letter_headers[] = {
    {"x-origin", "\x00\x01\xff", 3},
    {"x-none", NULL, 0},
    {"x-empty", "", 0},
    {"bpmflow_error", "of an earlier time", 18},
};

static bf_record_t letter_record(void)
{
    bf_record_t record = {.topic = "bpmflow.commands",
                          .partition = 3,
                          .offset = 9876543210,
                          .timestamp_ms = 1796025600123,
                          .key = "k\0y",
                          .key_len = 3,
                          .value = "not \0 JSON",
                          .value_len = 10,
                          .headers = letter_headers,
                          .header_count = 4};
    return record;
}

Test(codec, make_dead_letter__keeps_the_record_and_says_why)
{
    bf_arena_t arena;
    bf_message_t message;
    bf_arena_init(&arena, 0);
    bf_record_t record = letter_record();
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record, BF_CODE_MALFORMED,
                                           "not \xff JSON", &message),
                 BF_OK);
    cr_assert_str_eq(message.topic, "dead");
    cr_assert_eq(message.key_len, 3);
    cr_assert_eq(memcmp(message.key, record.key, 3), 0);
    cr_assert_neq(message.key, record.key, "a copy");
    cr_assert_eq(message.value_len, 10);
    cr_assert_eq(memcmp(message.value, record.value, 10), 0);
    cr_assert_eq(message.headers[0].len, 3);
    cr_assert_eq(memcmp(message.headers[0].value, "\x00\x01\xff", 3), 0);
    cr_assert_null(message.headers[1].value);
    cr_assert_not_null(message.headers[2].value);
    cr_assert_eq(message.headers[2].len, 0);
    expect_header(&message, "bpmflow_error_code", "malformed");
    expect_header(&message, "bpmflow_error", "not ? JSON");
    expect_header(&message, "bpmflow_topic", "bpmflow.commands");
    expect_header(&message, "bpmflow_partition", "3");
    expect_header(&message, "bpmflow_offset", "9876543210");
    expect_header(&message, "bpmflow_timestamp", "1796025600123");
    expect_header(&message, "bpmflow_cut", NULL);
    bf_arena_fini(&arena);
}

Test(codec, make_dead_letter__of_a_tombstone_without_key)
{
    bf_arena_t arena;
    bf_message_t message;
    bf_arena_init(&arena, 0);
    bf_record_t record = {.topic = "c", .timestamp_ms = -1};
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record, BF_CODE_MALFORMED,
                                           "tombstone", &message),
                 BF_OK);
    cr_assert_null(message.key);
    cr_assert_null(message.value);
    cr_assert_eq(message.header_count, 6);
    expect_header(&message, "bpmflow_timestamp", "-1");
    bf_arena_fini(&arena);
}

/* It has to fit where it goes, or it could never be published. */
Test(codec, make_dead_letter__is_cut_where_it_would_be_too_large)
{
    bf_arena_t arena;
    bf_message_t message;
    char *big = malloc(BF_DEAD_LETTER_MAX_BYTES);
    cr_assert_not_null(big);
    memset(big, 'x', BF_DEAD_LETTER_MAX_BYTES);
    bf_arena_init(&arena, 0);
    bf_record_t record = letter_record();
    record.value = big;
    record.value_len = BF_DEAD_LETTER_MAX_BYTES - 2000;
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record,
                                           BF_CODE_LIMIT_EXCEEDED, "too large", &message),
                 BF_OK);
    cr_assert_eq(message.value_len, record.value_len, "just fits");
    cr_assert_leq(bf_message_bytes(&message), BF_DEAD_LETTER_MAX_BYTES);
    record.value_len = BF_DEAD_LETTER_MAX_BYTES;
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record,
                                           BF_CODE_LIMIT_EXCEEDED, "too large", &message),
                 BF_OK);
    cr_assert_null(message.value);
    cr_assert_eq(message.key_len, 3);
    expect_header(&message, "bpmflow_cut", "value");
    cr_assert_eq(message.headers[0].len, 3, "the headers stay");
    bf_header_t header = {"huge", big, BF_DEAD_LETTER_MAX_BYTES};
    record.headers = &header;
    record.header_count = 1;
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record,
                                           BF_CODE_LIMIT_EXCEEDED, "too large", &message),
                 BF_OK);
    expect_header(&message, "bpmflow_cut", "all");
    cr_assert_null(message.key);
    cr_assert_leq(bf_message_bytes(&message), BF_DEAD_LETTER_MAX_BYTES);
    bf_arena_fini(&arena);
    free(big);
}

/* --- pack and unpack --- */

static void expect_same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    cr_assert_eq(a == NULL, b == NULL);
    cr_assert_eq(a_len, b_len);
    cr_assert(!a || memcmp(a, b, a_len) == 0);
}

Test(codec, unpack_message__gives_back_what_was_packed)
{
    bf_arena_t arena;
    bf_message_t message;
    bf_message_t back;
    bf_arena_init(&arena, 0);
    bf_record_t record = letter_record();
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "dead", &record, BF_CODE_MALFORMED,
                                           "x", &message),
                 BF_OK);
    size_t len;
    char *blob = packed(&message, &len);
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_codec_unpack_message(&arena, blob, len, &back, &err), BF_OK, "%s",
                 err.text);
    cr_assert_str_eq(back.topic, message.topic);
    expect_same_text(back.key, back.key_len, message.key, message.key_len);
    expect_same_text(back.value, back.value_len, message.value, message.value_len);
    cr_assert_eq(back.header_count, message.header_count);
    for (size_t i = 0; i < back.header_count; i++) {
        cr_assert_str_eq(back.headers[i].name, message.headers[i].name);
        expect_same_text(back.headers[i].value, back.headers[i].len,
                         message.headers[i].value, message.headers[i].len);
    }
    /* every shorter and every longer blob is refused, and each changed byte does no harm
     */
    for (size_t n = 0; n < len; n++) {
        char *cut = malloc(n ? n : 1); /* exact, for the sanitizer */
        memcpy(cut, blob, n);
        cr_assert_eq(bf_codec_unpack_message(&arena, cut, n, &back, NULL), BF_E_INVALID,
                     "%zu of %zu bytes", n, len);
        free(cut);
        char old = blob[n];
        blob[n] = (char)(old ^ 0x55);
        (void)!bf_codec_unpack_message(&arena, blob, len, &back, NULL);
        blob[n] = old;
    }
    free(blob);
    bf_arena_fini(&arena);
}

Test(codec, message_bytes__is_no_less_than_the_parts)
{
    bf_record_t record = letter_record();
    bf_message_t message = {.key_len = 3,
                            .value_len = 10,
                            .headers = record.headers,
                            .header_count = record.header_count};
    cr_assert_geq(bf_message_bytes(&message), 3U + 10U + 8U + 3U + 6U + 7U + 13U + 18U);
}
