/*
 * cache.h - the instance cache of a shard: LRU, bounded in bytes
 *
 * The instances used last are kept open; those that were not used for a while are packed
 * (bf_instance_pack()), and opened again when somebody asks for them.
 *
 * Threads:  one cache = one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CACHE_H
#define BF_CACHE_H

#include "bpmflow/instance.h"

typedef struct bf_cache bf_cache_t;

/** @param max_bytes bound over all instances; at least one is always kept */
bf_cache_t *bf_cache_new(size_t max_bytes) BF_MUST_USE;
void bf_cache_free(bf_cache_t *cache);

/** Borrowed, open; valid until drop, clear or trim; moves it to the front. NULL when it
 *  is not there (or cannot be opened: out of memory). */
bf_instance_t *bf_cache_get(bf_cache_t *cache, const char *id);
/** Is it there? Changes nothing, not even what is used last. */
bool bf_cache_holds(bf_cache_t *cache, const char *id);
/** Takes ownership; one of the same ID is freed. BF_E_NOMEM: the caller keeps it. */
bf_status_t bf_cache_put(bf_cache_t *cache, bf_instance_t *inst_put) BF_MUST_USE;
/** Drop one; NULL-safe when it is not there. */
void bf_cache_drop(bf_cache_t *cache, const char *id);
/** Drop all instances of a partition (ownership lost). */
void bf_cache_drop_partition(bf_cache_t *cache, int32_t partition_no);
void bf_cache_clear(bf_cache_t *cache);
/** Count the bytes again, pack what was not used lately, evict the least recently used
 *  until the bound holds. Call between batches: nothing else packs or evicts. Dirty
 *  instances are not evicted. */
void bf_cache_trim(bf_cache_t *cache);

typedef struct bf_cache_stats {
    size_t count;
    size_t bytes;
    uint64_t hits;
    uint64_t misses;
    uint64_t evictions;
} bf_cache_stats_t;

void bf_cache_stats(const bf_cache_t *cache, bf_cache_stats_t *ret);

#endif /* BF_CACHE_H */
