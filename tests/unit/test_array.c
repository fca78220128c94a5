/*
 * test_array.c - arrays that grow
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/array.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100 };

Test(array, grow__keeps_what_is_in_it)
{
    size_t room = 0;
    int *items = NULL;
    for (int i = 0; i < COUNT; i++) {
        if ((size_t)i == room) {
            int *grown = bf_array_grow(items, &room, sizeof(*items), 3);
            cr_assert_not_null(grown);
            items = grown;
        }
        items[i] = i;
    }
    cr_assert_eq(room, 192, "3, doubled six times");
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(items[i], i);
    }
    free(items);
}

Test(array, grow__refuses_what_no_memory_can_hold)
{
    size_t room = SIZE_MAX / 2 + 1;
    cr_assert_null(bf_array_grow(NULL, &room, 1, 8), "twice that is no size_t");
    cr_assert_eq(room, SIZE_MAX / 2 + 1);
    room = SIZE_MAX / 16;
    cr_assert_null(bf_array_grow(NULL, &room, 32, 8), "nor its bytes");
    cr_assert_eq(room, SIZE_MAX / 16);
}

Test(array, grow_in__keeps_what_is_in_it_and_the_old_place)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    size_t room = 0;
    char *old = bf_array_grow_in(&arena, NULL, &room, 1, 4);
    cr_assert_not_null(old);
    cr_assert_eq(room, 4);
    static const char letters[4] = {'a', 'b', 'c', 'd'};
    memcpy(old, letters, sizeof(letters));
    char *grown = bf_array_grow_in(&arena, old, &room, 1, 4);
    cr_assert_not_null(grown);
    cr_assert_eq(room, 8);
    cr_assert_eq(memcmp(grown, letters, sizeof(letters)), 0);
    cr_assert_eq(memcmp(old, letters, sizeof(letters)), 0);
    bf_arena_fini(&arena);
}

Test(array, grow_in__says_when_the_arena_is_full)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 64);
    size_t room = 0;
    cr_assert_null(bf_array_grow_in(&arena, NULL, &room, 65, 1));
    cr_assert_eq(room, 0);
    bf_arena_fini(&arena);
}
