/*
 * fuzz_conformance.c - any bytes as a file of scenarios: every case passes, fails or is
 * skipped, and none ends the program
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/conformance/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    conf_t conf = {.is_quiet = true};
    bf_arena_init(&conf.arena, 0);
    conf_run_text(&conf, "input", (const char *)data, size);
    bf_arena_fini(&conf.arena);
    return 0;
}
