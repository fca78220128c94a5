/*
 * test_arena.c - arenas: alignment, limits, marks
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "bpmflow/arena.h"

Test(arena, alloc__is_aligned_for_any_type)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    for (size_t size = 0; size < 70; size++) {
        void *block = bf_arena_alloc(&arena, size);
        cr_assert_not_null(block);
        cr_assert_eq((uintptr_t)block % _Alignof(max_align_t), 0, "size %zu", size);
        memset(block, 0xAA, size);
    }
    bf_arena_fini(&arena);
}

Test(arena, alloc__gives_blocks_that_do_not_overlap)
{
    bf_arena_t arena;
    unsigned char *blocks[200];
    bf_arena_init(&arena, 0);
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = bf_arena_alloc(&arena, 100 + i * 37);
        cr_assert_not_null(blocks[i]);
        memset(blocks[i], (int)i, 100 + i * 37);
    }
    for (size_t i = 0; i < 200; i++) {
        cr_assert_eq(blocks[i][0], (unsigned char)i);
        cr_assert_eq(blocks[i][100 + i * 37 - 1], (unsigned char)i);
    }
    bf_arena_fini(&arena);
}

Test(arena, alloc__holds_its_limit)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 1000);
    cr_assert_not_null(bf_arena_alloc(&arena, 900));
    cr_assert_null(bf_arena_alloc(&arena, 200));
    cr_assert_not_null(bf_arena_alloc(&arena, 50), "a smaller one still fits");
    bf_arena_clear(&arena);
    cr_assert_not_null(bf_arena_alloc(&arena, 900));
    bf_arena_fini(&arena);
}

Test(arena, calloc__refuses_a_product_that_overflows)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    cr_assert_null(bf_arena_calloc(&arena, SIZE_MAX / 2, 4));
    const unsigned char *zeroed = bf_arena_calloc(&arena, 10, 10);
    for (size_t i = 0; i < 100; i++) {
        cr_assert_eq(zeroed[i], 0);
    }
    bf_arena_fini(&arena);
}

Test(arena, reset__goes_back_to_the_mark_and_keeps_what_was_before)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    char *kept = bf_arena_strdup(&arena, "kept");
    bf_arena_mark_t mark = bf_arena_mark(&arena);
    size_t used = arena.used_bytes;
    for (int i = 0; i < 100; i++) {
        cr_assert_not_null(bf_arena_alloc(&arena, 1000));
    }
    bf_arena_reset(&arena, mark);
    cr_assert_eq(arena.used_bytes, used);
    cr_assert_str_eq(kept, "kept");
    bf_arena_fini(&arena);
}

Test(arena, clear__does_not_keep_growing)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    size_t held = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++) {
            cr_assert_not_null(bf_arena_alloc(&arena, 500));
        }
        if (round == 10) {
            held = bf_arena_held_bytes(&arena);
        }
        if (round > 10) {
            cr_assert_leq(bf_arena_held_bytes(&arena), held);
        }
        bf_arena_clear(&arena);
    }
    bf_arena_fini(&arena);
}

Test(arena, printf__makes_text_of_any_length)
{
    bf_arena_t arena;
    char big[3000];
    bf_arena_init(&arena, 0);
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    cr_assert_str_eq(bf_arena_printf(&arena, "%s-%d", "a", 7), "a-7");
    cr_assert_eq(strlen(bf_arena_printf(&arena, "%s%s", big, big)), 2 * strlen(big));
    cr_assert_str_eq(bf_arena_strndup(&arena, "abcdef", 3), "abc");
    cr_assert_str_eq(bf_arena_strndup(&arena, "", 0), "");
    bf_arena_fini(&arena);
}
