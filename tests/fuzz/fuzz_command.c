/*
 * fuzz_command.c - any bytes as the value of a command record, with and without headers
 *
 * Whatever comes is a command, a rejection with a code, or a dead letter that keeps the
 * bytes of the record.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* A dead letter survives the way through the database. */
static void try_dead_letter(bf_arena_t *arena, const bf_record_t *record, bf_code_t code,
                            const char *why)
{
    bf_message_t letter;
    bf_message_t again;
    bf_str_t blob;
    bf_err_t err = BF_ERR_INIT;
    expect(bf_codec_make_dead_letter(arena, "dead", record, code, why, &letter) == BF_OK);
    bf_str_init(&blob, 0);
    expect(bf_codec_pack_message(&letter, &blob, &err) == BF_OK);
    expect(bf_codec_unpack_message(arena, bf_str_peek(&blob), blob.len, &again, &err) ==
           BF_OK);
    expect(again.value_len == record->value_len);
    expect(again.value_len == 0 ||
           memcmp(again.value, record->value, record->value_len) == 0);
    bf_str_fini(&blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const bf_header_t headers[] = {
        {"ce_id", "c-1", 3},
        {"ce_specversion", "1.0", 3},
        {"ce_type", "bpmflow.command", 15},
        {"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 55},
        {"content-type", "application/json", 16},
    };
    bf_arena_t arena;
    bf_codec_limits_t limits = {.max_record_bytes = 65536, .max_depth = 32};
    bf_record_t record = {.topic = "commands",
                          .offset = 7,
                          .timestamp_ms = 1,
                          .key = "leave-1",
                          .key_len = 7,
                          .value = (const char *)data,
                          .value_len = size};
    bf_arena_init(&arena, 0);
    for (int round = 0; round < 2; round++) {
        bf_command_t command = {0};
        bf_decoded_t what = BF_DECODED;
        bf_code_t code = BF_CODE_OK;
        bf_err_t err = BF_ERR_INIT;
        record.headers = round == 0 ? NULL : headers;
        record.header_count = round == 0 ? 0 : sizeof(headers) / sizeof(headers[0]);
        limits.require_key_match = round == 0;
        expect(bf_codec_decode_command(&record, &limits, &arena, &command, &what, &code,
                                       &err) == BF_OK);
        expect(what == BF_DECODED || (code != BF_CODE_OK && err.text[0] != '\0'));
        if (what == BF_DECODED_DEAD) {
            try_dead_letter(&arena, &record, code, err.text);
        } else {
            expect(command.command_id != NULL && command.instance_id != NULL);
        }
        bf_arena_clear(&arena);
    }
    bf_arena_fini(&arena);
    return 0;
}
