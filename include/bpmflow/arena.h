/*
 * arena.h - memory that is freed in one go
 *
 * One arena per work item (a command, a graph, a batch).  Allocation is a pointer
 * bump; clear() makes everything reusable; fini() frees.  With BF_ARENA_DEBUG each
 * allocation is a malloc of its own, so that sanitizers see overruns.
 *
 * Threads:  one thread at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ARENA_H
#define BF_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_arena_chunk bf_arena_chunk_t;

typedef struct bf_arena {
    bf_arena_chunk_t *chunks; /* newest first */
    size_t chunk_bytes;       /* size of the next chunk, grows */
    size_t used_bytes;        /* handed out since the last clear */
    size_t max_bytes;         /* 0 = no limit */
} bf_arena_t;

/** Where an arena stood; bf_arena_reset() goes back there. */
typedef struct bf_arena_mark {
    bf_arena_chunk_t *chunk;
    size_t chunk_used;
    size_t used_bytes;
} bf_arena_mark_t;

/** An empty arena; allocates nothing. @param max_bytes 0 = no limit */
void bf_arena_init(bf_arena_t *arena, size_t max_bytes);

/** Free all memory; the arena is as after init. NULL is allowed. */
void bf_arena_fini(bf_arena_t *arena);

/** Forget all allocations, keep one chunk for reuse. */
void bf_arena_clear(bf_arena_t *arena);

/**
 * @param size bytes, 0 is allowed
 * @return memory aligned for any type, not zeroed, valid until clear, reset or fini;
 *         NULL when out of memory or over max_bytes
 */
void *bf_arena_alloc(bf_arena_t *arena, size_t size) BF_MUST_USE;

/** As bf_arena_alloc(), zeroed; count * size is checked for overflow. */
void *bf_arena_calloc(bf_arena_t *arena, size_t count, size_t size) BF_MUST_USE;

/** Copy of len bytes plus a NUL; NULL when out of memory. */
char *bf_arena_strndup(bf_arena_t *arena, const char *text, size_t len) BF_MUST_USE;

/** Copy of a string; NULL when out of memory. */
char *bf_arena_strdup(bf_arena_t *arena, const char *text) BF_MUST_USE;

/** Formatted text; NULL when out of memory. */
char *bf_arena_printf(bf_arena_t *arena, const char *fmt, ...)
    BF_PRINTF(2, 3) BF_MUST_USE;

bf_arena_mark_t bf_arena_mark(const bf_arena_t *arena);

/** Free everything that was allocated after the mark. */
void bf_arena_reset(bf_arena_t *arena, bf_arena_mark_t mark);

/** Bytes that the arena holds from the system (chunks), used or not. */
size_t bf_arena_held_bytes(const bf_arena_t *arena);

#endif /* BF_ARENA_H */
