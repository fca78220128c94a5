/*
 * test_schema_messages.c - real messages against the schemas in config/schema
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"
#include "tests/support/schema.h"

static void expect_valid(bf_arena_t *arena, const bf_value_t *schema, const char *json,
                         size_t len)
{
    const char *why = test_schema_check_text(arena, schema, json, len);
    cr_expect_null(why, "%.*s: %s", (int)len, json, why);
}

/* Headers as an object of texts. */
static bf_value_t headers_of(bf_arena_t *arena, const bf_message_t *message,
                             const char *prefix)
{
    bf_member_t *members =
        bf_arena_calloc(arena, message->header_count, sizeof(*members));
    uint32_t n = 0;
    for (size_t i = 0; i < message->header_count; i++) {
        const bf_header_t *header = &message->headers[i];
        if (!strncmp(header->name, prefix, strlen(prefix))) {
            const char *text = bf_arena_strndup(arena, header->value, header->len);
            members[n].name = header->name;
            members[n].name_len = (uint32_t)strlen(header->name);
            members[n++].value = bf_value_string(text, header->len);
        }
    }
    return (bf_value_t){.type = BF_VALUE_MAP, .len = n, .as.members = members};
}

static void expect_headers(bf_arena_t *arena, const char *schema_name,
                           const bf_message_t *message, const char *prefix)
{
    bf_value_t schema = test_schema(arena, schema_name);
    bf_value_t headers = headers_of(arena, message, prefix);
    const char *why = test_schema_check(arena, &schema, &headers);
    cr_expect_null(why, "%s", why);
}

/* --- the lists of the code and of the schemas are the same --- */

static void expect_list(const bf_value_t *schema, const char *member,
                        const char *const *names, size_t count)
{
    const bf_value_t *list = bf_value_get_str(
        bf_value_get_str(bf_value_get_str(schema, "properties"), member), "enum");
    cr_assert_not_null(list, "%s", member);
    size_t found = 0;
    for (uint32_t i = 0; i < list->len; i++) {
        found += list->as.items[i].type == BF_VALUE_STRING;
    }
    cr_expect_eq(found, count, "%s: the schema has %zu names, the code %zu", member,
                 found, count);
    for (size_t i = 0; i < count; i++) {
        bf_value_t name = bf_value_cstr(names[i]);
        bool there = false;
        for (uint32_t j = 0; j < list->len; j++) {
            there = there || bf_value_equal(&list->as.items[j], &name);
        }
        cr_expect(there, "%s: %s is not in the schema", member, names[i]);
    }
}

static const char *const verbs[] = {
#define X(name, text, node, change) text,
    BF_VERB_LIST(X)
#undef X
};
static const char *const codes[] = {
#define X(name, text, explanation) text,
    BF_CODE_LIST(X)
#undef X
};
static const char *const actions[] = {
#define X(name, text, code, state) text,
    BF_ACTION_LIST(X)
#undef X
};
static const char *const statuses[] = {
#define X(name, text, code) text,
    BF_INSTANCE_STATUS_LIST(X)
#undef X
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

Test(schema_messages, lists_are_those_of_the_code)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t command = test_schema(&arena, "command");
    bf_value_t reply = test_schema(&arena, "reply");
    bf_value_t event = test_schema(&arena, "event");
    bf_value_t letter = test_schema(&arena, "dead-letter-headers");
    expect_list(&command, "command", verbs, COUNT(verbs));
    expect_list(&reply, "command", verbs, COUNT(verbs));
    /* not "unknown" and "dispatch" */
    expect_list(&command, "action", actions + 1, COUNT(actions) - 2);
    expect_list(&event, "action", actions, COUNT(actions));
    expect_list(&reply, "code", codes, COUNT(codes));
    expect_list(&letter, "bpmflow_error_code", codes, COUNT(codes));
    expect_list(&reply, "instance_state", statuses, COUNT(statuses));
    expect_list(&event, "instance_state", statuses, COUNT(statuses));
    bf_arena_fini(&arena);
}

/* --- commands: the decoder and the schema agree --- */

#define IDS "\"command_id\":\"c-1\",\"instance_id\":\"i-1\""

static const struct {
    const char *json;
    bool good;
} commands[] = {
    {"{" IDS ",\"command\":\"claim\"}", true},
    {"{" IDS ",\"command\":\"claim\",\"later\":[1]}", true},
    {"{" IDS ",\"command\":\"start\",\"graph_id\":\"g\",\"vars\":{\"a\":1}}", true},
    {"{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":1031}", false},
    {"{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":1030}", true},
    {"{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":\"restart\"}", true},
    {"{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":\"go\"}", false},
    {"{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":null,\"actor\":\"a\","
     "\"context\":{},\"message\":\"m\",\"form_id\":1,\"expected_revision\":2,"
     "\"target_id\":\"t\",\"force\":false,\"reply_to\":\"r\"}",
     true},
    {"{" IDS "}", false},
    {"{\"command\":\"claim\",\"command_id\":\"c\"}", false},
    {"{" IDS ",\"command\":\"clam\"}", false},
    {"{" IDS ",\"command\":7}", false},
    {"{" IDS ",\"command\":\"claim\",\"graph_id\":\"\"}", false},
    {"{" IDS ",\"command\":\"claim\",\"vars\":[]}", false},
    {"{" IDS ",\"command\":\"claim\",\"context\":1}", false},
    {"{" IDS ",\"command\":\"claim\",\"message\":1}", false},
    {"{" IDS ",\"command\":\"claim\",\"form_id\":\"1\"}", false},
    {"{" IDS ",\"command\":\"claim\",\"expected_revision\":1.5}", false},
    {"{" IDS ",\"command\":\"claim\",\"actor\":1}", false},
    {"{" IDS ",\"command\":\"claim\",\"force\":\"yes\"}", false},
    {"{" IDS ",\"command\":\"claim\",\"reply_to\":1}", false},
    {"{" IDS ",\"command\":\"claim\",\"node_id\":"
     "\"0123456789012345678901234567890123456789012345678901234567890123\"}",
     true},
    {"{" IDS ",\"command\":\"claim\",\"node_id\":"
     "\"01234567890123456789012345678901234567890123456789012345678901234\"}",
     false},
    {"[]", false},
};

Test(schema_messages, commands_are_valid_when_they_are_decoded)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t schema = test_schema(&arena, "command");
    for (size_t i = 0; i < COUNT(commands); i++) {
        const char *json = commands[i].json;
        const char *why = test_schema_check_text(&arena, &schema, json, strlen(json));
        cr_expect_eq(why == NULL, commands[i].good, "%s: %s", json, why ? why : "valid");
        bf_record_t record = {.topic = "t",
                              .key = "i-1",
                              .key_len = 3,
                              .value = json,
                              .value_len = strlen(json)};
        bf_codec_limits_t limits = {.require_key_match = true,
                                    .default_reply_topic = "r"};
        bf_command_t command;
        bf_decoded_t what;
        bf_code_t code;
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(bf_codec_decode_command(&record, &limits, &arena, &command, &what,
                                             &code, &err),
                     BF_OK);
        cr_expect_eq(what == BF_DECODED, commands[i].good, "%s: %s", json, err.text);
    }
    bf_arena_fini(&arena);
}

/* --- replies and events --- */

static const bf_node_t node = {.id = "hr", .type = BF_NODE_ACTIVITY};

static void check_reply(bf_arena_t *arena, const bf_command_t *command,
                        const bf_outcome_t *outcome)
{
    bf_value_t schema = test_schema(arena, "reply");
    bf_str_t body;
    bf_message_t message;
    bf_str_init(&body, 0);
    bf_codec_write_reply(&body, command, outcome, false);
    expect_valid(arena, &schema, bf_str_peek(&body), body.len);
    bf_reply_t reply = {.topic = "r",
                        .instance_id = command->instance_id,
                        .body = {bf_str_peek(&body), body.len},
                        .trace = {"00-x", "a=1"}};
    cr_assert_eq(bf_codec_make_reply(arena, &reply, &message, NULL), BF_OK);
    expect_headers(arena, "cloudevent-headers", &message, "");
    bf_str_fini(&body);
}

Test(schema_messages, replies_are_valid)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    const bf_outcome_task_t task = {.task = {&node, BF_TASK_WAITING, 1}, .graph_id = "g"};
    const bf_outcome_state_t state = {"g:hr", BF_TASK_TERMINATED};
    bf_command_t command = {.command_id = "c", .instance_id = "i", .verb = BF_VERB_FIND};
    bf_outcome_t outcome = {.code = BF_CODE_OK,
                            .revision = 3,
                            .task = &task,
                            .next_tasks = &task,
                            .next_task_count = 1,
                            .states = &state,
                            .state_count = 1};
    check_reply(&arena, &command, &outcome);
    for (int code = 0; code < BF_CODE_COUNT; code++) {
        bf_outcome_t rejected = {.code = (bf_code_t)code, .error = "why"};
        command.verb = (bf_verb_t)(code % (BF_VERB_COUNT + 1));
        check_reply(&arena, &command, &rejected);
    }
    bf_arena_fini(&arena);
}

Test(schema_messages, events_are_valid)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t schema = test_schema(&arena, "event");
    static const bf_action_t all[] = {BF_ACTION_BACK,      BF_ACTION_BACK_JUMP,
                                      BF_ACTION_FORWARD,   BF_ACTION_FORWARD_JUMP,
                                      BF_ACTION_TERMINATE, BF_ACTION_RESTART,
                                      BF_ACTION_DISPATCH};
    for (size_t i = 0; i < COUNT(all); i++) {
        bf_history_t row = {.instance_id = "i",
                            .graph_id = "g",
                            .graph_version = 1,
                            .seq = (int32_t)i + 1,
                            .action = all[i],
                            .task_id = "hr",
                            .source = {"a", "A", "activity"},
                            .target = {"end", "End", "end"},
                            .status = (int32_t)bf_action_target_state(all[i]),
                            .instance_state = (int32_t)(i % 5),
                            .command_id = "c"};
        if (i % 2) {
            row.assignee = "li";
            row.message = "m";
            row.creator = "li";
            row.has_form_id = true;
            row.variables = (bf_text_t){"{\"a\":[1,2.5,null]}", 18};
        }
        bf_message_t message;
        cr_assert_eq(bf_codec_make_event(&arena, "e", &row, NULL, &message), BF_OK);
        expect_valid(&arena, &schema, message.value, message.value_len);
        expect_headers(&arena, "cloudevent-headers", &message, "");
    }
    bf_arena_fini(&arena);
}

Test(schema_messages, jobs_are_valid_and_so_is_their_answer)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t schema = test_schema(&arena, "job");
    bf_value_t command = test_schema(&arena, "command");
    bf_history_t row = {.instance_id = "i",
                        .graph_id = "g",
                        .graph_version = 2,
                        .seq = 7,
                        .action = BF_ACTION_DISPATCH,
                        .task_id = "pay#2",
                        .source = {"pay", "Pay", "activity"},
                        .target = {"payments", "payments", "topic"},
                        .status = BF_TASK_WAITING,
                        .message = "{\"amount\":\"total\"}",
                        .variables = {"{\"a\":1}", 7},
                        .command_id = "c"};
    for (int i = 0; i < 2; i++) {
        bf_message_t message;
        bf_value_t value;
        cr_assert_eq(bf_codec_make_job(&arena, &row, NULL, &message), BF_OK);
        cr_assert_str_eq(message.topic, "payments");
        cr_assert_eq(message.key_len, 1);
        expect_valid(&arena, &schema, message.value, message.value_len);
        expect_headers(&arena, "cloudevent-headers", &message, "");
        cr_assert_eq(
            bf_json_parse(&arena, message.value, message.value_len, NULL, &value, NULL),
            BF_OK);
        const char *why =
            test_schema_check(&arena, &command, bf_value_get_str(&value, "command"));
        cr_expect_null(why, "%s", why);
        cr_assert_str_eq(bf_value_get_cstr(&value, "job_id"), "i/7");
        row.assignee = "payments";
    }
    bf_arena_fini(&arena);
}

Test(schema_messages, dead_letters_are_valid)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    const bf_header_t header = {"x", "y", 1};
    bf_record_t record = {
        .topic = "t", .timestamp_ms = -1, .headers = &header, .header_count = 1};
    bf_message_t message;
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "d", &record, BF_CODE_MALFORMED, "why",
                                           &message),
                 BF_OK);
    expect_headers(&arena, "dead-letter-headers", &message, "bpmflow_");
    static char big[BF_DEAD_LETTER_MAX_BYTES];
    record.value = big;
    record.value_len = sizeof(big);
    record.timestamp_ms = 1;
    cr_assert_eq(bf_codec_make_dead_letter(&arena, "d", &record, BF_CODE_LIMIT_EXCEEDED,
                                           "why", &message),
                 BF_OK);
    expect_headers(&arena, "dead-letter-headers", &message, "bpmflow_");
    bf_arena_fini(&arena);
}

/* The checker itself finds faults. */
Test(schema_messages, a_message_with_a_fault_is_not_valid)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t schema = test_schema(&arena, "reply");
    static const char good[] =
        "{\"command_id\":\"c\",\"command\":null,\"instance_id\":\"i\","
        "\"status\":\"rejected\",\"duplicate\":false,\"code\":\"malformed\","
        "\"error\":\"x\",\"revision\":0,\"instance_state\":null,\"task\":null,"
        "\"next_tasks\":[],\"states\":{\"a:b\":1001}}";
    expect_valid(&arena, &schema, good, sizeof(good) - 1);
    static const char *const faults[][2] = {
        {"\"malformed\"", "\"melformed\""},
        {"\"revision\":0", "\"revision\":\"\""},
        {"\"revision\":0", "\"revision\":-1"},
        {"\"status\"", "\"stetus\""},
        {"\"task\":null", "\"task\":{}"},
        {"\"next_tasks\":[]", "\"next_tasks\":[1]"},
        {"1001}", "1004}"},
        {"\"i\"", "\"\""},
    };
    for (size_t i = 0; i < COUNT(faults); i++) {
        char bad[512];
        const char *at = strstr(good, faults[i][0]);
        cr_assert_not_null(at);
        int len = snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - good), good,
                           faults[i][1], at + strlen(faults[i][0]));
        cr_expect_not_null(test_schema_check_text(&arena, &schema, bad, (size_t)len),
                           "%s", bad);
    }
    bf_arena_fini(&arena);
}

/* The AsyncAPI document: each schema that it names is there, and each one is named. */
Test(schema_messages, asyncapi_names_every_schema)
{
    FILE *in = fopen("config/schema/asyncapi.yaml", "rb");
    cr_assert_not_null(in);
    static char text[32768];
    size_t len = fread(text, 1, sizeof(text) - 1, in);
    (void)fclose(in);
    text[len] = '\0';
    static const char *const names[] = {
        "command", "reply", "event", "cloudevent-headers", "dead-letter-headers", "job"};
    size_t references = 0;
    for (size_t i = 0; i < COUNT(names); i++) {
        char ref[128];
        (void)snprintf(ref, sizeof(ref), "$ref: './%s.schema.json'", names[i]);
        cr_expect_not_null(strstr(text, ref), "%s", ref);
    }
    for (const char *at = text; (at = strstr(at, "$ref: './")) != NULL; at++) {
        references++;
    }
    cr_expect_eq(references, COUNT(names) + 2,
                 "the CloudEvents headers stand three times");
    cr_expect_not_null(strstr(text, "asyncapi: 3.0.0"));
}
