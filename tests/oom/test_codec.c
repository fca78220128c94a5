/*
 * test_codec.c - allocation sweep: decoding and encoding of messages
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/codec.h"
#include "tests/oom/oom.h"

static const char command_json[] =
    "{\"command_id\":\"c-1\",\"instance_id\":\"i-1\",\"command\":\"submit\","
    "\"node_id\":\"n\",\"action\":1020,\"vars\":{\"day\":3,\"list\":[1,\"x\"]}}";
static const char structured_json[] =
    "{\"specversion\":\"1.0\",\"id\":\"e-1\",\"traceparent\":\"00-x\",\"data\":"
    "{\"instance_id\":\"i-1\",\"command\":\"claim\",\"actor\":\"li\"}}";

static const bf_header_t plain_headers[] = {
    {"ce_id", "e-1", 3}, {"traceparent", "00-abc", 6}, {"tracestate", "a=1", 3}};
static const bf_header_t structured_headers[] = {
    {"content-type", "application/cloudevents+json", 28}};

static bf_record_t record_of(const char *value, const bf_header_t *headers, size_t count)
{
    bf_record_t record = {.topic = "commands",
                          .partition = 1,
                          .offset = 2,
                          .timestamp_ms = 3,
                          .key = "i-1",
                          .key_len = 3,
                          .value = value,
                          .value_len = strlen(value),
                          .headers = headers,
                          .header_count = count};
    return record;
}

static bf_status_t decode(const bf_record_t *record, bf_decoded_t want)
{
    bf_arena_t arena;
    bf_command_t command;
    bf_decoded_t what = BF_DECODED;
    bf_code_t code;
    bf_err_t err = BF_ERR_INIT;
    bf_codec_limits_t limits = {.require_key_match = true};
    bf_arena_init(&arena, 0);
    bf_status_t rc =
        bf_codec_decode_command(record, &limits, &arena, &command, &what, &code, &err);
    bf_arena_fini(&arena);
    /* A failed allocation must not make a good command a bad one. */
    return rc == BF_OK && what != want ? BF_E_INVALID : rc;
}

static bf_status_t decode_plain(void *arg)
{
    (void)arg;
    bf_record_t record = record_of(command_json, plain_headers, 3);
    return decode(&record, BF_DECODED);
}

static bf_status_t decode_structured(void *arg)
{
    (void)arg;
    bf_record_t record = record_of(structured_json, structured_headers, 1);
    return decode(&record, BF_DECODED);
}

static bf_status_t decode_dead(void *arg)
{
    (void)arg;
    bf_record_t record = record_of("{\"a\":[1,2,{\"b\":3}],", NULL, 0);
    return decode(&record, BF_DECODED_DEAD);
}

static bf_status_t answer(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_message_t message;
    bf_str_t body;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_str_init(&body, 0);
    const bf_command_t command = {
        .command_id = "c-1", .instance_id = "i-1", .verb = BF_VERB_CLAIM};
    const bf_outcome_t outcome = {.code = BF_CODE_NO_ROUTE, .error = "cut \xe4\xbd"};
    bf_codec_write_reply(&body, &command, &outcome, false);
    bf_status_t rc = bf_str_status(&body, "reply", &err);
    bf_reply_t reply = {.topic = "replies",
                        .instance_id = "i-1",
                        .body = {bf_str_peek(&body), body.len},
                        .trace = {"00-x", "a=1"}};
    rc = rc == BF_OK ? bf_codec_make_reply(&arena, &reply, &message, &err) : rc;
    bf_str_t again;
    bf_str_init(&again, 0);
    rc = rc == BF_OK ? bf_codec_mark_duplicate(bf_str_peek(&body), body.len, &again, &err)
                     : rc;
    bf_str_fini(&again);
    bf_str_fini(&body);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t event(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_message_t message;
    bf_arena_init(&arena, 0);
    const bf_trace_t trace = {"00-x", "a=1"};
    const bf_history_t row = {.instance_id = "i-1",
                              .graph_id = "g 1",
                              .seq = 1,
                              .action = BF_ACTION_FORWARD,
                              .variables = {"{}", 2},
                              .message = "bad \xff text"};
    bf_status_t rc = bf_codec_make_event(&arena, "events", &row, &trace, &message);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t dead_letter(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_message_t message;
    bf_message_t back;
    bf_str_t blob;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_str_init(&blob, 0);
    bf_record_t record = record_of("not JSON", plain_headers, 3);
    bf_status_t rc = bf_codec_make_dead_letter(&arena, "dead", &record, BF_CODE_MALFORMED,
                                               "why", &message);
    rc = rc == BF_OK ? bf_codec_pack_message(&message, &blob, &err) : rc;
    rc = rc == BF_OK
             ? bf_codec_unpack_message(&arena, bf_str_peek(&blob), blob.len, &back, &err)
             : rc;
    bf_str_fini(&blob);
    bf_arena_fini(&arena);
    return rc;
}

int main(void)
{
    bf_oom_sweep("codec_decode_plain", decode_plain, NULL);
    bf_oom_sweep("codec_decode_structured", decode_structured, NULL);
    bf_oom_sweep("codec_decode_dead", decode_dead, NULL);
    bf_oom_sweep("codec_reply", answer, NULL);
    bf_oom_sweep("codec_event", event, NULL);
    bf_oom_sweep("codec_dead_letter", dead_letter, NULL);
    return bf_oom_result();
}
