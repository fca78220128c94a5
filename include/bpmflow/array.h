/*
 * array.h - room for one more in an array that grows
 *
 * Twice the room each time, so that adding costs the same on average however long the
 * array is.
 *
 *     if (list->count == list->room) {
 *         item_t *items =
 *             bf_array_grow(list->items, &list->room, sizeof(*items), 16);
 *         if (!items) {
 *             return bf_err_nomem(err, "items");
 *         }
 *         list->items = items;
 *     }
 *     list->items[list->count++] = item;
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ARRAY_H
#define BF_ARRAY_H

#include "bpmflow/arena.h"

/**
 * A larger place for an array on the heap.
 *
 * @param items  where it is now, gone afterwards; NULL where it has no room yet
 * @param room   elements that fit; doubled on success
 * @param size   bytes of an element
 * @param first  elements of the first room, > 0
 * @return the array, what is new in it not set; free() it. NULL when out of memory:
 *         items and room are as before.
 */
void *bf_array_grow(void *items, size_t *room, size_t size, size_t first) BF_MUST_USE;

/** As bf_array_grow() for an array in an arena; the old place stays as it is. */
void *bf_array_grow_in(bf_arena_t *arena, const void *items, size_t *room, size_t size,
                       size_t first) BF_MUST_USE;

#endif /* BF_ARRAY_H */
