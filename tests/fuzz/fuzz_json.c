/*
 * fuzz_json.c - any bytes as JSON, beside another parser (jansson) as the judge
 *
 * What one takes the other takes too, and it is the same value after it was written and
 * read once more. Differences that are meant: our depth limit, and that jansson takes a
 * NUL for the end of the text.
 *
 * SPDX-License-Identifier: MIT
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void compare(const bf_value_t *value, json_t *judge)
{
    char *text = json_dumps(judge, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    expect(text != NULL);
    bf_arena_t arena;
    bf_value_t other;
    bf_err_t err = BF_ERR_INIT;
    bf_json_limits_t wide = {.max_bytes = (size_t)8 << 20, .max_depth = 64};
    bf_arena_init(&arena, 0);
    expect(bf_json_parse(&arena, text, strlen(text), &wide, &other, &err) == BF_OK);
    expect(bf_value_equal(value, &other));
    bf_arena_fini(&arena);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_arena_t arena;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t value;
    bf_value_t again;
    bf_json_limits_t limits = {.max_bytes = 65536, .max_depth = 32};
    if (size > limits.max_bytes || (size > 0 && memchr(data, 0, size) != NULL)) {
        return 0;
    }
    bf_arena_init(&arena, (size_t)64 << 20);
    bf_status_t rc =
        bf_json_parse(&arena, (const char *)data, size, &limits, &value, &err);
    json_error_t why;
    json_t *judge = json_loadb((const char *)data, size,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    expect(rc != BF_OK || judge != NULL);
    expect(judge == NULL || rc == BF_OK || rc == BF_E_LIMIT);
    if (rc == BF_OK) {
        bf_str_t text;
        bf_json_limits_t wide = {.max_bytes = (size_t)1 << 20, .max_depth = 64};
        bf_str_init(&text, 0);
        bf_json_write(&text, &value);
        expect(bf_json_parse(&arena, bf_str_peek(&text), text.len, &wide, &again, NULL) ==
               BF_OK);
        expect(bf_value_equal(&value, &again));
        bf_str_fini(&text);
        compare(&value, judge);
    }
    json_decref(judge);
    bf_arena_fini(&arena);
    return 0;
}
