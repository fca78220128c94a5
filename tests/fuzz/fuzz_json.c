/*
 * fuzz_json.c - any bytes as JSON: refused, or written and read back as the same value
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "bpmflow/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_arena_t arena;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t value;
    bf_value_t again;
    bf_str_t text;
    bf_json_limits_t limits = {.max_bytes = 65536, .max_depth = 32};
    bf_arena_init(&arena, (size_t)64 << 20);
    bf_str_init(&text, 0);
    if (bf_json_parse(&arena, (const char *)data, size, &limits, &value, &err) == BF_OK) {
        bf_json_write(&text, &value);
        bf_json_limits_t wide = {.max_bytes = (size_t)1 << 20, .max_depth = 64};
        if (bf_json_parse(&arena, bf_str_peek(&text), text.len, &wide, &again, NULL) !=
                BF_OK ||
            !bf_value_equal(&value, &again)) {
            abort();
        }
    }
    bf_str_fini(&text);
    bf_arena_fini(&arena);
    return 0;
}
