/*
 * array.c - room for one more; see array.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/array.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"

/* The next room and its bytes; false where they do not fit into a size_t. */
static bool next_room(size_t room, size_t size, size_t first, size_t *ret_room,
                      size_t *ret_bytes)
{
    BF_ASSERT(size > 0 && first > 0);
    *ret_room = first;
    return !(room && __builtin_mul_overflow(room, (size_t)2, ret_room)) &&
           !__builtin_mul_overflow(*ret_room, size, ret_bytes);
}

void *bf_array_grow(void *items, size_t *room, size_t size, size_t first)
{
    size_t more = 0;
    size_t bytes = 0;
    void *grown =
        next_room(*room, size, first, &more, &bytes) ? realloc(items, bytes) : NULL;
    if (grown) {
        *room = more;
    }
    return grown;
}

void *bf_array_grow_in(bf_arena_t *arena, const void *items, size_t *room, size_t size,
                       size_t first)
{
    size_t more = 0;
    size_t bytes = 0;
    void *grown = next_room(*room, size, first, &more, &bytes)
                      ? bf_arena_alloc(arena, bytes)
                      : NULL;
    if (grown) {
        if (*room) {
            memcpy(grown, items, *room * size);
        }
        *room = more;
    }
    return grown;
}
