/*
 * fuzz_message.c - any bytes as a packed dead letter of the database: read or refused
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_arena_t arena;
    bf_message_t message;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, (size_t)64 << 20);
    bf_status_t rc =
        bf_codec_unpack_message(&arena, (const char *)data, size, &message, &err);
    if (rc == BF_OK) {
        bf_str_t blob;
        bf_str_init(&blob, 0);
        (void)!bf_codec_pack_message(&message, &blob, &err);
        bf_str_fini(&blob);
    }
    bf_arena_fini(&arena);
    return 0;
}
