/*
 * map.h - hash map from byte strings to pointers, in insertion order
 *
 * Keys are copied.  Values are borrowed; the owner frees them.  Removal keeps the
 * order of the others.  Iteration goes by index over `bf_map_slots()`.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_MAP_H
#define BF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_map bf_map_t;

/** 64-bit hash of a byte string (FNV-1a with a final mix). Same on every machine. */
uint64_t bf_hash_bytes(const void *data, size_t len);

/** New, empty; NULL when out of memory. Free with bf_map_free(). */
bf_map_t *bf_map_new(void) BF_MUST_USE;

/** NULL is allowed. Does not free the values. */
void bf_map_free(bf_map_t *map);

/** Remove all entries, keep the memory. */
void bf_map_clear(bf_map_t *map);

size_t bf_map_count(const bf_map_t *map);

/** The value, or NULL when absent. */
void *bf_map_get(const bf_map_t *map, const char *key, size_t key_len);

/** As bf_map_get() with a NUL-terminated key. */
void *bf_map_get_str(const bf_map_t *map, const char *key);

/**
 * Set a value; replaces the old one, which is returned through ret_old (may be NULL).
 * @param value not NULL
 * @return BF_OK or BF_E_NOMEM (nothing changed)
 */
bf_status_t bf_map_put(bf_map_t *map, const char *key, size_t key_len, void *value,
                       void **ret_old) BF_MUST_USE;

/** Remove; returns the value or NULL. */
void *bf_map_remove(bf_map_t *map, const char *key, size_t key_len);

/**
 * Iterate: start with *cursor = 0.
 * @return true and the next entry in insertion order, or false at the end.
 * Removing the entry just returned is allowed while iterating.
 */
bool bf_map_next(const bf_map_t *map, size_t *cursor, const char **ret_key,
                 size_t *ret_key_len, void **ret_value);

/** Bytes of memory held, without the values. */
size_t bf_map_held_bytes(const bf_map_t *map);

#endif /* BF_MAP_H */
