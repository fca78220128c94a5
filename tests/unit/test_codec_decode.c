/*
 * test_codec_decode.c - commands: what is read, and what each bad input gets
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"
#include "bpmflow/id.h"

#define KEY "leave-1"
#define IDS "\"command_id\":\"c-1\",\"instance_id\":\"leave-1\""

static const char *const reply_topics[] = {"orders.replies", "audit.replies"};

typedef struct decoded {
    bf_arena_t arena;
    bf_command_t command;
    bf_decoded_t what;
    bf_code_t code;
    bf_err_t err;
} decoded_t;

static bf_codec_limits_t default_limits(void)
{
    bf_codec_limits_t limits = {.require_key_match = true,
                                .reply_topics = reply_topics,
                                .reply_topic_count = 2,
                                .default_reply_topic = "bpmflow.replies"};
    return limits;
}

static bf_record_t record_of(const char *value)
{
    bf_record_t record = {.topic = "bpmflow.commands",
                          .partition = 3,
                          .offset = 42,
                          .timestamp_ms = 1000,
                          .key = KEY,
                          .key_len = strlen(KEY),
                          .value = value,
                          .value_len = value ? strlen(value) : 0};
    return record;
}

static decoded_t *decode_with(const bf_record_t *record, const bf_codec_limits_t *limits)
{
    decoded_t *d = calloc(1, sizeof(*d));
    cr_assert_not_null(d);
    bf_arena_init(&d->arena, 0);
    cr_assert_eq(bf_codec_decode_command(record, limits, &d->arena, &d->command, &d->what,
                                         &d->code, &d->err),
                 BF_OK);
    return d;
}

static decoded_t *decode(const char *value)
{
    bf_record_t record = record_of(value);
    bf_codec_limits_t limits = default_limits();
    return decode_with(&record, &limits);
}

static void done(decoded_t *d)
{
    bf_arena_fini(&d->arena);
    free(d);
}

/* What a value gets: the kind, the code, and words of the sentence. */
static void expect(const bf_record_t *record, bf_decoded_t what, bf_code_t code,
                   const char *words)
{
    bf_codec_limits_t limits = default_limits();
    decoded_t *d = decode_with(record, &limits);
    const char *value = record->value ? record->value : "(none)";
    cr_expect_eq(d->what, what, "%.200s: got %d: %s", value, d->what, d->err.text);
    cr_expect_eq(d->code, code, "%.200s: got %s: %s", value, bf_code_name(d->code),
                 d->err.text);
    cr_expect(bf_utf8_is_valid(d->err.text, strlen(d->err.text)), "%.200s", value);
    if (words) {
        cr_expect_not_null(strstr(d->err.text, words), "%.200s: %s", value, d->err.text);
    }
    if (what == BF_DECODED_REJECTED) {
        cr_expect_str_eq(d->command.command_id, "c-1");
        cr_expect_str_eq(d->command.instance_id, KEY);
    }
    done(d);
}

static void expect_value(const char *value, bf_decoded_t what, bf_code_t code,
                         const char *words)
{
    bf_record_t record = record_of(value);
    expect(&record, what, code, words);
}

static void dead(const char *value, bf_code_t code, const char *words)
{
    expect_value(value, BF_DECODED_DEAD, code, words);
}

static void rejected(const char *value, bf_code_t code, const char *words)
{
    expect_value(value, BF_DECODED_REJECTED, code, words);
}

/* --- what is read --- */

Test(codec, decode__reads_every_member)
{
    decoded_t *d = decode(
        "{" IDS ",\"command\":\"submit\",\"graph_id\":\"leave\",\"node_id\":\"leader\","
        "\"action\":\"back_jump\",\"target_id\":\"apply\",\"actor\":\"li.wei\","
        "\"context\":{\"role\":\"leader\"},\"vars\":{\"day\":3,\"deep\":[{\"a\":null}]},"
        "\"message\":\"agreed\\n\\u00e4\",\"form_id\":12,\"expected_revision\":4,"
        "\"reply_to\":\"orders.replies\",\"some_future_member\":[1,2]}");
    cr_assert_eq(d->what, BF_DECODED, "%s", d->err.text);
    cr_assert_eq(d->code, BF_CODE_OK);
    const bf_command_t *c = &d->command;
    cr_assert_str_eq(c->command_id, "c-1");
    cr_assert_eq(c->verb, BF_VERB_SUBMIT);
    cr_assert_str_eq(c->instance_id, KEY);
    cr_assert_str_eq(c->graph_id, "leave");
    cr_assert_str_eq(c->node_id, "leader");
    cr_assert_eq(c->action, BF_ACTION_BACK_JUMP);
    cr_assert_str_eq(c->target_id, "apply");
    cr_assert_str_eq(c->actor, "li.wei");
    cr_assert_str_eq(bf_value_get_cstr(&c->context, "role"), "leader");
    cr_assert_eq(bf_value_get_str(&c->vars, "day")->as.integer, 3);
    cr_assert_str_eq(c->message, "agreed\n\xc3\xa4");
    cr_assert(c->has_form_id && c->form_id == 12);
    cr_assert(c->has_expected_revision && c->expected_revision == 4);
    cr_assert_not(c->force);
    cr_assert_str_eq(c->reply_to, "orders.replies");
    cr_assert_null(c->traceparent);
    done(d);
}

Test(codec, decode__absent_and_null_members_are_the_same)
{
    decoded_t *d =
        decode("{" IDS ",\"command\":\"claim\",\"graph_id\":null,\"actor\":null,"
               "\"vars\":null,\"form_id\":null,\"reply_to\":null,\"message\":null,"
               "\"action\":null,\"force\":null}");
    cr_assert_eq(d->what, BF_DECODED, "%s", d->err.text);
    const bf_command_t *c = &d->command;
    cr_assert_eq(c->verb, BF_VERB_CLAIM);
    cr_assert(!c->graph_id && !c->actor && !c->reply_to && !c->message && !c->node_id);
    cr_assert(bf_value_is_null(&c->vars) && bf_value_is_null(&c->context));
    cr_assert(!c->has_form_id && !c->has_expected_revision);
    cr_assert_eq(c->action, BF_ACTION_FORWARD);
    done(d);
}

Test(codec, decode__reads_every_command_and_every_action)
{
    for (int v = 0; v < BF_VERB_COUNT; v++) {
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "{" IDS
                       ",\"command\":\"%s\",\"graph_id\":\"g\",\"node_id\":\"n\"}",
                       bf_verb_name((bf_verb_t)v));
        decoded_t *d = decode(text);
        cr_assert_eq(d->what, BF_DECODED, "%s: %s", text, d->err.text);
        cr_assert_eq((int)d->command.verb, v);
        done(d);
    }
    static const bf_action_t actions[] = {BF_ACTION_BACK,      BF_ACTION_BACK_JUMP,
                                          BF_ACTION_FORWARD,   BF_ACTION_FORWARD_JUMP,
                                          BF_ACTION_TERMINATE, BF_ACTION_RESTART};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        for (int numeric = 0; numeric < 2; numeric++) {
            char name[32];
            char text[256];
            (void)snprintf(name, sizeof(name), numeric ? "%s%d" : "\"%s\"%.0d",
                           numeric ? "" : bf_action_name(actions[i]),
                           numeric ? (int)actions[i] : 0);
            (void)snprintf(text, sizeof(text),
                           "{" IDS ",\"command\":\"submit\",\"node_id\":\"n\","
                           "\"action\":%s}",
                           name);
            decoded_t *d = decode(text);
            cr_assert_eq(d->what, BF_DECODED, "%s: %s", text, d->err.text);
            cr_assert_eq(d->command.action, actions[i], "%s", text);
            done(d);
        }
    }
}

Test(codec, decode__borrows_nothing_from_the_record)
{
    char *value = strdup("{" IDS ",\"command\":\"claim\",\"actor\":\"li\"}");
    char *trace = strdup("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    bf_header_t header = {"traceparent", trace, strlen(trace)};
    bf_record_t record = record_of(value);
    record.headers = &header;
    record.header_count = 1;
    bf_codec_limits_t limits = default_limits();
    decoded_t *d = decode_with(&record, &limits);
    memset(value, 'x', strlen(value));
    memset(trace, 'x', strlen(trace));
    cr_assert_str_eq(d->command.actor, "li");
    cr_assert_eq(d->command.traceparent[0], '0');
    free(value);
    free(trace);
    done(d);
}

/* --- CloudEvents --- */

typedef struct cloud_case {
    const char *type;    /* content-type */
    const char *version; /* ce_specversion */
    const char *id;      /* ce_id */
    const char *value;
    bf_decoded_t what;
    bf_code_t code;
    const char *command_id;
} cloud_case_t;

#define NO_COMMAND_ID "{\"instance_id\":\"leave-1\",\"command\":\"claim\"}"
#define STRUCTURED    "application/cloudevents+json; charset=utf-8"

static const cloud_case_t cloud_cases[] = {
    /* binary: the header stands in for command_id, which wins when both are there */
    {"application/json", "1.0", "e-1", NO_COMMAND_ID, BF_DECODED, BF_CODE_OK, "e-1"},
    {NULL, NULL, "e-1", NO_COMMAND_ID, BF_DECODED, BF_CODE_OK, "e-1"},
    {NULL, "1.0", "e-1", "{" IDS ",\"command\":\"claim\"}", BF_DECODED, BF_CODE_OK,
     "c-1"},
    {NULL, "0.3", "e-1", NO_COMMAND_ID, BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL},
    {NULL, "1.0", " e-1", NO_COMMAND_ID, BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL},
    {NULL, "1.0", "", NO_COMMAND_ID, BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL},
    {NULL, "1.0",
     "0123456789012345678901234567890123456789012345678901234567890123456789",
     NO_COMMAND_ID, BF_DECODED_DEAD, BF_CODE_LIMIT_EXCEEDED, NULL},
    /* structured */
    {STRUCTURED, NULL, NULL,
     "{\"specversion\":\"1.0\",\"id\":\"e-2\",\"source\":\"/x\",\"type\":\"t\","
     "\"data\":" NO_COMMAND_ID "}",
     BF_DECODED, BF_CODE_OK, "e-2"},
    {"APPLICATION/CloudEvents+JSON", NULL, "header-is-not-it",
     "{\"specversion\":\"1.0\",\"id\":\"e-3\",\"data\":" NO_COMMAND_ID "}", BF_DECODED,
     BF_CODE_OK, "e-3"},
    {STRUCTURED, NULL, NULL, "{\"id\":\"e\",\"data\":" NO_COMMAND_ID "}", BF_DECODED_DEAD,
     BF_CODE_MALFORMED, NULL},
    {STRUCTURED, NULL, NULL, "{\"specversion\":\"2.0\",\"data\":" NO_COMMAND_ID "}",
     BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL},
    {STRUCTURED, NULL, NULL, "{\"specversion\":\"1.0\",\"id\":\"e\"}", BF_DECODED_DEAD,
     BF_CODE_MALFORMED, NULL},
    {STRUCTURED, NULL, NULL,
     "{\"specversion\":\"1.0\",\"id\":\"e\",\"data_base64\":\"e30=\"}", BF_DECODED_DEAD,
     BF_CODE_MALFORMED, NULL},
    {STRUCTURED, NULL, NULL, "{\"specversion\":\"1.0\",\"id\":\"e\",\"data\":\"text\"}",
     BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL},
    {"application/cloudevents-batch+json", NULL, NULL, "[]", BF_DECODED_DEAD,
     BF_CODE_MALFORMED, NULL},
};

Test(codec, decode__reads_cloud_events_of_both_modes)
{
    for (size_t i = 0; i < sizeof(cloud_cases) / sizeof(cloud_cases[0]); i++) {
        const cloud_case_t *c = &cloud_cases[i];
        bf_header_t headers[3];
        size_t n = 0;
        if (c->type) {
            headers[n++] = (bf_header_t){"content-type", c->type, strlen(c->type)};
        }
        if (c->version) {
            headers[n++] =
                (bf_header_t){"ce_specversion", c->version, strlen(c->version)};
        }
        if (c->id) {
            headers[n++] = (bf_header_t){"ce_id", c->id, strlen(c->id)};
        }
        bf_record_t record = record_of(c->value);
        record.headers = headers;
        record.header_count = n;
        bf_codec_limits_t limits = default_limits();
        decoded_t *d = decode_with(&record, &limits);
        cr_expect_eq(d->what, c->what, "case %zu: %s", i, d->err.text);
        cr_expect_eq(d->code, c->code, "case %zu: %s", i, d->err.text);
        if (c->command_id) {
            cr_expect_str_eq(d->command.command_id, c->command_id, "case %zu", i);
        }
        done(d);
    }
}

Test(codec, decode__of_repeated_headers_the_last_one_counts)
{
    bf_header_t headers[] = {
        {"ce_id", "first", 5}, {"CE_ID", "other", 5}, {"ce_id", "last", 4}};
    bf_record_t record = record_of(NO_COMMAND_ID);
    record.headers = headers;
    record.header_count = 3;
    bf_codec_limits_t limits = default_limits();
    decoded_t *d = decode_with(&record, &limits);
    cr_assert_str_eq(d->command.command_id, "last");
    done(d);
}

/* --- trace context --- */

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static decoded_t *decode_traced(const bf_header_t *headers, size_t count)
{
    bf_record_t record = record_of("{" IDS ",\"command\":\"claim\"}");
    record.headers = headers;
    record.header_count = count;
    bf_codec_limits_t limits = default_limits();
    return decode_with(&record, &limits);
}

Test(codec, decode__copies_the_trace_context)
{
    const bf_header_t both[] = {{"traceparent", TRACE, 55}, {"tracestate", "a=1,b=2", 7}};
    decoded_t *d = decode_traced(both, 2);
    cr_assert_str_eq(d->command.traceparent, TRACE);
    cr_assert_str_eq(d->command.tracestate, "a=1,b=2");
    done(d);
    const bf_header_t extension[] = {{"ce_traceparent", TRACE, 55}};
    d = decode_traced(extension, 1);
    cr_assert_str_eq(d->command.traceparent, TRACE);
    cr_assert_null(d->command.tracestate);
    done(d);
}

Test(codec, decode__leaves_out_a_trace_context_that_is_none)
{
    char longer[600];
    memset(longer, 'x', sizeof(longer));
    const bf_header_t bad[][2] = {
        {{"traceparent", "caf\xc3\xa9", 5}, {"tracestate", "a=1", 3}},
        {{"traceparent", NULL, 0}, {"tracestate", "a=1", 3}},
        {{"traceparent", "a\nb", 3}, {"tracestate", "a=1", 3}},
        {{"traceparent", longer, 129}, {"tracestate", "a=1", 3}},
        {{"x", "y", 1}, {"tracestate", "a=1", 3}},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        decoded_t *d = decode_traced(bad[i], 2);
        cr_assert_eq(d->what, BF_DECODED, "it is no reason to refuse the command");
        cr_expect_null(d->command.traceparent, "case %zu", i);
        cr_expect_null(d->command.tracestate, "a state without a parent: case %zu", i);
        done(d);
    }
    const bf_header_t state[] = {{"traceparent", TRACE, 55}, {"tracestate", longer, 513}};
    decoded_t *d = decode_traced(state, 2);
    cr_assert_not_null(d->command.traceparent);
    cr_assert_null(d->command.tracestate);
    done(d);
}

/* --- bad input: dead letters --- */

Test(codec_bad, dead__what_is_no_json)
{
    dead(NULL, BF_CODE_MALFORMED, "tombstone");
    dead("", BF_CODE_MALFORMED, "not valid JSON");
    dead("hello", BF_CODE_MALFORMED, "not valid JSON");
    dead("{\"command\":\"claim\"", BF_CODE_MALFORMED, "line 1");
    dead("{" IDS ",\"command\":\"claim\"} x", BF_CODE_MALFORMED, NULL);
    dead("{" IDS ",\"command\":\"cl\xff"
         "aim\"}",
         BF_CODE_MALFORMED, NULL);
    dead("{" IDS ",\"command\":\"cl\\u0000aim\"}", BF_CODE_MALFORMED, NULL);
    dead("{" IDS ",\"command\":\"claim\",\"command\":\"find\"}", BF_CODE_MALFORMED,
         "duplicate");
    dead("{" IDS ",\"command\":\"claim\",\"vars\":{\"a\":1,\"a\":2}}", BF_CODE_MALFORMED,
         "duplicate");
    dead("[]", BF_CODE_MALFORMED, "JSON object");
    dead("7", BF_CODE_MALFORMED, "JSON object");
    dead("null", BF_CODE_MALFORMED, "JSON object");
}

Test(codec_bad, dead__a_nul_byte_in_the_value)
{
    bf_record_t record = record_of("{" IDS ",\"command\":\"claim\"}");
    record.value_len++; /* the NUL behind it */
    expect(&record, BF_DECODED_DEAD, BF_CODE_MALFORMED, NULL);
}

Test(codec_bad, dead__numbers_beyond_64_bit)
{
    dead("{" IDS ",\"command\":\"claim\",\"form_id\":9223372036854775808}",
         BF_CODE_LIMIT_EXCEEDED, NULL);
    dead("{" IDS ",\"command\":\"claim\",\"vars\":{\"a\":-9223372036854775809}}",
         BF_CODE_LIMIT_EXCEEDED, NULL);
    dead("{" IDS ",\"command\":\"claim\",\"vars\":{\"a\":1e999}}", BF_CODE_LIMIT_EXCEEDED,
         NULL);
    expect_value("{" IDS ",\"command\":\"claim\",\"form_id\":9223372036854775807}",
                 BF_DECODED, BF_CODE_OK, NULL);
    expect_value("{" IDS ",\"command\":\"claim\",\"form_id\":-9223372036854775808}",
                 BF_DECODED, BF_CODE_OK, NULL);
}

/* A command with `depth` levels in all. */
static char *nested(size_t depth)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_str_puts(&str, "{" IDS ",\"command\":\"claim\",\"vars\":{\"a\":");
    for (size_t i = 2; i < depth; i++) {
        bf_str_putc(&str, '[');
    }
    for (size_t i = 2; i < depth; i++) {
        bf_str_putc(&str, ']');
    }
    bf_str_puts(&str, depth > 2 ? "}}" : "1}}");
    char *text = bf_str_take(&str, NULL);
    cr_assert_not_null(text);
    return text;
}

Test(codec_bad, dead__json_deeper_than_the_limit)
{
    char *text = nested(64);
    expect_value(text, BF_DECODED, BF_CODE_OK, NULL);
    free(text);
    text = nested(65);
    dead(text, BF_CODE_LIMIT_EXCEEDED, "64");
    free(text);
    text = nested(100000);
    dead(text, BF_CODE_LIMIT_EXCEEDED, NULL);
    free(text);
    /* the envelope of a structured event is no level of the command */
    text = nested(64);
    bf_str_t event;
    bf_str_init(&event, 0);
    bf_str_printf(&event, "{\"specversion\":\"1.0\",\"id\":\"e\",\"data\":%s}", text);
    bf_header_t header = {"content-type", STRUCTURED, strlen(STRUCTURED)};
    bf_record_t record = record_of(bf_str_peek(&event));
    record.headers = &header;
    record.header_count = 1;
    expect(&record, BF_DECODED, BF_CODE_OK, NULL);
    bf_str_fini(&event);
    free(text);
}

Test(codec_bad, dead__a_record_over_the_limit)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_str_puts(&str, "{" IDS ",\"command\":\"claim\",\"message\":\"");
    while (str.len < 1000) {
        bf_str_putc(&str, 'x');
    }
    bf_str_puts(&str, "\"}");
    bf_record_t record = record_of(bf_str_peek(&str));
    bf_codec_limits_t limits = default_limits();
    limits.max_record_bytes = str.len;
    decoded_t *d = decode_with(&record, &limits);
    cr_assert_eq(d->what, BF_DECODED, "%s", d->err.text);
    done(d);
    limits.max_record_bytes--;
    d = decode_with(&record, &limits);
    cr_assert_eq(d->what, BF_DECODED_DEAD);
    cr_assert_eq(d->code, BF_CODE_LIMIT_EXCEEDED);
    done(d);
    /* the default is 1 MiB */
    while (str.len <= BF_RECORD_MAX_BYTES) {
        bf_str_puts(&str, "                                                        ");
    }
    dead(bf_str_peek(&str), BF_CODE_LIMIT_EXCEEDED, "1048576");
    bf_str_fini(&str);
}

Test(codec_bad, dead__without_a_readable_address)
{
    dead("{\"instance_id\":\"leave-1\",\"command\":\"claim\"}", BF_CODE_MALFORMED,
         "command_id is missing");
    dead("{\"commandId\":\"c\",\"instance_id\":\"leave-1\",\"command\":\"claim\"}",
         BF_CODE_MALFORMED, "did you mean command_id?");
    dead("{\"command_id\":\"c-1\",\"command\":\"claim\"}", BF_CODE_MALFORMED,
         "instance_id is missing");
    dead("{}", BF_CODE_MALFORMED, "command_id");
    dead("{\"command_id\":7,\"instance_id\":\"leave-1\",\"command\":\"claim\"}",
         BF_CODE_MALFORMED, "command_id must be a string");
    dead("{\"command_id\":\"c\",\"instance_id\":[],\"command\":\"claim\"}",
         BF_CODE_MALFORMED, "instance_id must be a string");
}

/* 64 characters of two bytes are allowed; 65 are not. */
static void id_of(char *ret, size_t chars)
{
    for (size_t i = 0; i < chars; i++) {
        memcpy(ret + 2 * i, "\xc3\xa4", 2);
    }
    ret[2 * chars] = '\0';
}

Test(codec_bad, dead__ids_that_are_none)
{
    static const char *const bad[] = {"",         " leave",    "leave ",  "le\\tave",
                                      "\\nleave", "le\\u007f", "\\u0085x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "{\"command_id\":\"%s\",\"instance_id\":\"leave-1\","
                       "\"command\":\"claim\"}",
                       bad[i]);
        dead(text, BF_CODE_MALFORMED, "command_id");
        (void)snprintf(text, sizeof(text),
                       "{\"command_id\":\"c\",\"instance_id\":\"%s\","
                       "\"command\":\"claim\"}",
                       bad[i]);
        dead(text, BF_CODE_MALFORMED, "instance_id");
    }
    char id[200];
    char text[512];
    for (size_t chars = 64; chars <= 65; chars++) {
        id_of(id, chars);
        (void)snprintf(text, sizeof(text),
                       "{\"command_id\":\"c\",\"instance_id\":\"%s\","
                       "\"command\":\"claim\"}",
                       id);
        bf_record_t record = record_of(text);
        record.key = id;
        record.key_len = strlen(id);
        expect(&record, chars == 64 ? BF_DECODED : BF_DECODED_DEAD,
               chars == 64 ? BF_CODE_OK : BF_CODE_LIMIT_EXCEEDED, NULL);
    }
}

/* --- bad input: rejected replies --- */

Test(codec_bad, rejected__key_that_is_not_the_instance)
{
    bf_record_t record = record_of("{" IDS ",\"command\":\"claim\"}");
    record.key = NULL;
    record.key_len = 0;
    expect(&record, BF_DECODED_REJECTED, BF_CODE_MALFORMED, "no key");
    record.key = "";
    expect(&record, BF_DECODED_REJECTED, BF_CODE_MALFORMED, "no key");
    record.key = "leave-2";
    record.key_len = 7;
    expect(&record, BF_DECODED_REJECTED, BF_CODE_MALFORMED, "'leave-2'");
    record.key = "leave-10";
    record.key_len = 8;
    expect(&record, BF_DECODED_REJECTED, BF_CODE_MALFORMED, NULL);
    record.key = "\xff\xfe\x01";
    record.key_len = 3;
    expect(&record, BF_DECODED_REJECTED, BF_CODE_MALFORMED, "key '?");
    bf_codec_limits_t limits = default_limits();
    limits.require_key_match = false;
    decoded_t *d = decode_with(&record, &limits);
    cr_assert_eq(d->what, BF_DECODED);
    done(d);
}

Test(codec_bad, rejected__commands_that_do_not_exist)
{
    rejected("{" IDS ",\"command\":\"clam\"}", BF_CODE_UNKNOWN_COMMAND,
             "did you mean 'claim'?");
    rejected("{" IDS ",\"command\":\"submit-if-waitin\"}", BF_CODE_UNKNOWN_COMMAND,
             "did you mean 'submit_if_waiting'?");
    rejected("{" IDS ",\"command\":\"CLAIM\"}", BF_CODE_UNKNOWN_COMMAND, "'claim'");
    rejected("{" IDS ",\"command\":\"frobnicate\"}", BF_CODE_UNKNOWN_COMMAND,
             "there are: start, claim");
    rejected("{" IDS ",\"command\":\"\"}", BF_CODE_UNKNOWN_COMMAND, NULL);
    rejected("{" IDS "}", BF_CODE_MALFORMED, "command is missing");
    rejected("{" IDS ",\"comand\":\"claim\"}", BF_CODE_MALFORMED, "there is 'comand'");
    rejected("{" IDS ",\"command\":1}", BF_CODE_MALFORMED, "command must be a string");
    decoded_t *d =
        decode("{" IDS ",\"command\":\"clam\",\"reply_to\":\"audit.replies\"}");
    cr_assert_eq(d->command.verb, BF_VERB_COUNT);
    cr_assert_str_eq(d->command.reply_to, "audit.replies", "the rejection goes there");
    done(d);
}

Test(codec_bad, rejected__actions_that_do_not_exist)
{
#define SUBMIT "{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"action\":"
    rejected(SUBMIT "\"forwrad\"}", BF_CODE_UNKNOWN_ACTION, "did you mean 'forward'?");
    rejected(SUBMIT "\"unknown\"}", BF_CODE_UNKNOWN_ACTION, NULL);
    rejected(SUBMIT "\"1020\"}", BF_CODE_UNKNOWN_ACTION, NULL);
    rejected(SUBMIT "1021000}", BF_CODE_UNKNOWN_ACTION, "1021000");
    rejected(SUBMIT "0}", BF_CODE_UNKNOWN_ACTION, "1010");
    rejected(SUBMIT "1020.5}", BF_CODE_MALFORMED, "action must be");
    rejected(SUBMIT "true}", BF_CODE_MALFORMED, "action must be");
#undef SUBMIT
}

Test(codec_bad, rejected__members_of_the_wrong_type)
{
    static const char *const wrong[][2] = {
        {"graph_id", "5"},  {"node_id", "{}"},           {"target_id", "[]"},
        {"actor", "false"}, {"context", "[]"},           {"vars", "\"text\""},
        {"message", "5"},   {"form_id", "\"12\""},       {"form_id", "1.0"},
        {"reply_to", "1"},  {"expected_revision", "{}"}, {"force", "1"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[256];
        char words[64];
        (void)snprintf(text, sizeof(text), "{" IDS ",\"command\":\"claim\",\"%s\":%s}",
                       wrong[i][0], wrong[i][1]);
        (void)snprintf(words, sizeof(words), "%s must be", wrong[i][0]);
        rejected(text, BF_CODE_MALFORMED, words);
    }
}

Test(codec_bad, rejected__other_ids_that_are_none)
{
    static const char *const members[] = {"graph_id", "node_id", "target_id", "actor"};
    char id[200];
    id_of(id, 65);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "{" IDS ",\"command\":\"claim\",\"%s\":\" x\"}", members[i]);
        rejected(text, BF_CODE_MALFORMED, members[i]);
        (void)snprintf(text, sizeof(text),
                       "{" IDS ",\"command\":\"claim\",\"%s\":\"%s\"}", members[i], id);
        rejected(text, BF_CODE_LIMIT_EXCEEDED, members[i]);
    }
}

Test(codec_bad, rejected__fields_that_a_command_needs)
{
    rejected("{" IDS ",\"command\":\"submit\"}", BF_CODE_MALFORMED, "node_id is missing");
    rejected("{" IDS ",\"command\":\"submit_if_waiting\",\"nodeId\":\"x\"}",
             BF_CODE_MALFORMED, "did you mean node_id?");
    rejected("{" IDS ",\"command\":\"start\"}", BF_CODE_MALFORMED, "graph_id is missing");
}

Test(codec_bad, rejected__replies_to_topics_that_are_not_allowed)
{
    rejected("{" IDS ",\"command\":\"claim\",\"reply_to\":\"__consumer_offsets\"}",
             BF_CODE_MALFORMED, "replies.allowed");
    rejected("{" IDS ",\"command\":\"claim\",\"reply_to\":\"orders.replie\"}",
             BF_CODE_MALFORMED, NULL);
    decoded_t *d =
        decode("{" IDS ",\"command\":\"claim\",\"reply_to\":\"bpmflow.replies\"}");
    cr_assert_eq(d->what, BF_DECODED, "the default topic is allowed: %s", d->err.text);
    done(d);
}

Test(codec_bad, rejected__force_where_it_is_off)
{
    const char *text =
        "{" IDS ",\"command\":\"submit\",\"node_id\":\"n\",\"force\":true}";
    rejected(text, BF_CODE_MALFORMED, "commands.allow_force");
    bf_record_t record = record_of(text);
    bf_codec_limits_t limits = default_limits();
    limits.allow_force = true;
    decoded_t *d = decode_with(&record, &limits);
    cr_assert_eq(d->what, BF_DECODED);
    cr_assert(d->command.force);
    done(d);
}

Test(codec_bad, rejected__a_message_over_a_text_column)
{
    bf_str_t str;
    for (size_t bytes = 65535; bytes <= 65536; bytes++) {
        bf_str_init(&str, 0);
        bf_str_puts(&str, "{" IDS ",\"command\":\"claim\",\"message\":\"");
        for (size_t i = 0; i < bytes; i++) {
            bf_str_putc(&str, 'm');
        }
        bf_str_puts(&str, "\"}");
        expect_value(bf_str_peek(&str), bytes == 65535 ? BF_DECODED : BF_DECODED_REJECTED,
                     bytes == 65535 ? BF_CODE_OK : BF_CODE_LIMIT_EXCEEDED, NULL);
        bf_str_fini(&str);
    }
}

/* Random damage to a good command: always one of the three, never a crash. */
Test(codec_bad, decode__survives_damaged_commands)
{
    static const char good[] =
        "{" IDS ",\"command\":\"submit\",\"graph_id\":\"leave\",\"node_id\":\"leader\","
        "\"action\":1020,\"vars\":{\"day\":3,\"list\":[1,2.5,\"\\u00e4\",null]}}";
    unsigned seed = 12345;
    bf_codec_limits_t limits = default_limits();
    for (int round = 0; round < 20000; round++) {
        char bytes[sizeof(good)];
        memcpy(bytes, good, sizeof(good));
        for (int n = 0; n < 3; n++) {
            seed = seed * 1103515245U + 12345U;
            size_t at = (seed >> 8) % (sizeof(good) - 1);
            seed = seed * 1103515245U + 12345U;
            bytes[at] = (char)(seed >> 16);
        }
        bf_record_t record = record_of(bytes);
        record.value_len = sizeof(good) - 1 - (seed >> 20) % 3;
        decoded_t *d = decode_with(&record, &limits);
        cr_assert((d->what == BF_DECODED) == (d->code == BF_CODE_OK));
        cr_assert((d->what == BF_DECODED) == (d->err.text[0] == '\0'), "%s", d->err.text);
        cr_assert(bf_utf8_is_valid(d->err.text, strlen(d->err.text)));
        done(d);
    }
}
