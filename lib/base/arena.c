/*
 * arena.c - chunked bump allocator
 *
 * Chunks, with their headers, are of 1 KiB (which malloc still keeps at hand when it is
 * freed) and double up to 64 KiB; a larger request gets a chunk of its own size.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_FIRST 1024
#define CHUNK_MAX   ((size_t)64 * 1024)

struct bf_arena_chunk {
    struct bf_arena_chunk *next; /* older */
    size_t size;                 /* bytes of data */
    size_t used;
    alignas(max_align_t) char data[];
};

static size_t align_up(size_t size)
{
    const size_t a = alignof(max_align_t);
    return (size + a - 1) & ~(a - 1);
}

void bf_arena_init(bf_arena_t *arena, size_t max_bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->chunk_bytes = CHUNK_FIRST;
    arena->max_bytes = max_bytes;
}

void bf_arena_fini(bf_arena_t *arena)
{
    if (!arena) {
        return;
    }
    while (arena->chunks) {
        bf_arena_chunk_t *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    arena->used_bytes = 0;
    arena->chunk_bytes = CHUNK_FIRST;
}

void bf_arena_clear(bf_arena_t *arena)
{
    if (!arena->chunks) {
        return;
    }
#ifdef BF_ARENA_DEBUG
    size_t max = arena->max_bytes;
    bf_arena_fini(arena);
    bf_arena_init(arena, max);
#else
    /* Keep the newest chunk: it is the largest of the usual sizes. */
    bf_arena_chunk_t *rest = arena->chunks->next;
    while (rest) {
        bf_arena_chunk_t *next = rest->next;
        free(rest);
        rest = next;
    }
    arena->chunks->next = NULL;
    arena->chunks->used = 0;
    arena->used_bytes = 0;
#endif
}

static bf_arena_chunk_t *add_chunk(bf_arena_t *arena, size_t need)
{
    size_t size = need;
#ifndef BF_ARENA_DEBUG
    if (size < arena->chunk_bytes - sizeof(bf_arena_chunk_t)) {
        size = arena->chunk_bytes - sizeof(bf_arena_chunk_t);
    }
    if (arena->chunk_bytes < CHUNK_MAX) {
        arena->chunk_bytes *= 2;
    }
#endif
    bf_arena_chunk_t *chunk = malloc(sizeof(*chunk) + size);
    if (!chunk) {
        return NULL;
    }
    chunk->size = size;
    chunk->used = 0;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *bf_arena_alloc(bf_arena_t *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t need = align_up(size ? size : 1);
    if (arena->max_bytes && need > arena->max_bytes - arena->used_bytes) {
        return NULL;
    }
    bf_arena_chunk_t *chunk = arena->chunks;
    if (!chunk || need > chunk->size - chunk->used) {
#ifdef BF_ARENA_DEBUG
        /* Exact size: one byte too far is outside of the malloc block. */
        chunk = add_chunk(arena, size ? size : 1);
        if (!chunk) {
            return NULL;
        }
        chunk->used = chunk->size;
        arena->used_bytes += need;
        return chunk->data;
#else
        chunk = add_chunk(arena, need);
        if (!chunk) {
            return NULL;
        }
#endif
    }
    void *p = chunk->data + chunk->used;
    chunk->used += need;
    arena->used_bytes += need;
    return p;
}

void *bf_arena_calloc(bf_arena_t *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    void *p = bf_arena_alloc(arena, bytes);
    if (p) {
        memset(p, 0, bytes);
    }
    return p;
}

char *bf_arena_strndup(bf_arena_t *arena, const char *text, size_t len)
{
    if (len == SIZE_MAX) {
        return NULL;
    }
    char *copy = bf_arena_alloc(arena, len + 1);
    if (copy) {
        if (len) {
            memcpy(copy, text, len);
        }
        copy[len] = '\0';
    }
    return copy;
}

char *bf_arena_strdup(bf_arena_t *arena, const char *text)
{
    return bf_arena_strndup(arena, text, strlen(text));
}

char *bf_arena_printf(bf_arena_t *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n < 0 ? NULL : bf_arena_alloc(arena, (size_t)n + 1);
    if (text) {
        (void)vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return text;
}

bf_arena_mark_t bf_arena_mark(const bf_arena_t *arena)
{
    bf_arena_mark_t mark = {arena->chunks, arena->chunks ? arena->chunks->used : 0,
                            arena->used_bytes};
    return mark;
}

void bf_arena_reset(bf_arena_t *arena, bf_arena_mark_t mark)
{
    while (arena->chunks && arena->chunks != mark.chunk) {
        bf_arena_chunk_t *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    if (arena->chunks) {
        arena->chunks->used = mark.chunk_used;
    }
    arena->used_bytes = mark.used_bytes;
}

size_t bf_arena_held_bytes(const bf_arena_t *arena)
{
    size_t sum = 0;
    for (const bf_arena_chunk_t *c = arena->chunks; c; c = c->next) {
        sum += sizeof(*c) + c->size;
    }
    return sum;
}
