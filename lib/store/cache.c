/*
 * cache.c - see cache.h
 *
 * A chained hash over entries that stand in one of two lists, each with the most recently
 * used first: hot (open instances) and cold (packed ones).  All hot entries that were
 * used since the last trim are at the front of their list, so a trim counts those only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/list.h"
#include "bpmflow/map.h"

/* Instances that stay open between batches. */
#define HOT_MAX     4096
#define BUCKETS_MIN 64

/* Small, since there are millions: 40 bytes, which take 48 of the heap. */
typedef struct entry {
    bf_list_node_t node; /* in hot or cold */
    struct entry *chain;
    bf_instance_t *inst;
    uint32_t hash;
    unsigned units : 30; /* of UNIT bytes, as counted last */
    unsigned hot : 1;
    unsigned used : 1; /* since the last trim */
} entry_t;

#define UNIT        ((size_t)16)
#define ENTRY_BYTES ((size_t)48)
#define UNITS_MAX   ((size_t)0x3fffffff)

struct bf_cache {
    size_t max_bytes;
    size_t bytes; /* sum over the entries, with their own memory */
    bf_list_t hot;
    bf_list_t cold;
    entry_t **buckets;
    size_t bucket_count; /* power of two */
    bf_cache_stats_t stats;
};

static uint32_t hash_of(const char *id)
{
    return (uint32_t)bf_hash_bytes(id, strlen(id));
}

bf_cache_t *bf_cache_new(size_t max_bytes)
{
    bf_cache_t *cache = calloc(1, sizeof(*cache));
    if (cache == NULL) {
        return NULL;
    }
    cache->max_bytes = max_bytes;
    cache->bucket_count = BUCKETS_MIN;
    cache->buckets = calloc(cache->bucket_count, sizeof(*cache->buckets));
    if (cache->buckets == NULL) {
        free(cache);
        return NULL;
    }
    bf_list_init(&cache->hot);
    bf_list_init(&cache->cold);
    return cache;
}

void bf_cache_free(bf_cache_t *cache)
{
    if (cache == NULL) {
        return;
    }
    bf_cache_clear(cache);
    free(cache->buckets);
    free(cache);
}

static size_t count_of(const bf_cache_t *cache)
{
    return cache->hot.count + cache->cold.count;
}

/* Where the pointer to the entry stands, or would stand. */
static entry_t **find(bf_cache_t *cache, const char *id, uint32_t hash)
{
    entry_t **place = &cache->buckets[hash & (cache->bucket_count - 1)];
    while (*place != NULL &&
           ((*place)->hash != hash || strcmp(bf_instance_id((*place)->inst), id) != 0)) {
        place = &(*place)->chain;
    }
    return place;
}

/* Without memory the chains just stay longer. */
static void grow_buckets(bf_cache_t *cache)
{
    size_t count = cache->bucket_count * 2;
    entry_t **buckets = calloc(count, sizeof(*buckets));
    if (buckets == NULL) {
        return;
    }
    for (size_t i = 0; i < cache->bucket_count; i++) {
        entry_t *entry = cache->buckets[i];
        while (entry != NULL) {
            entry_t *next = entry->chain;
            entry_t **place = &buckets[entry->hash & (count - 1)];
            entry->chain = *place;
            *place = entry;
            entry = next;
        }
    }
    free(cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
}

/* Count the entry's bytes anew. */
static void recount(bf_cache_t *cache, entry_t *entry)
{
    size_t units = (bf_instance_held_bytes(entry->inst) + ENTRY_BYTES + UNIT - 1) / UNIT;
    units = units < UNITS_MAX ? units : UNITS_MAX;
    cache->bytes = cache->bytes - entry->units * UNIT + units * UNIT;
    entry->units = (unsigned)units & UNITS_MAX;
}

static void move_to_front(bf_cache_t *cache, entry_t *entry, bool hot)
{
    bf_list_remove(entry->hot ? &cache->hot : &cache->cold, &entry->node);
    entry->hot = hot;
    bf_list_prepend(hot ? &cache->hot : &cache->cold, &entry->node);
}

bf_instance_t *bf_cache_get(bf_cache_t *cache, const char *id)
{
    entry_t *entry = *find(cache, id, hash_of(id));
    if (entry == NULL || bf_instance_open(entry->inst) != BF_OK) {
        cache->stats.misses++;
        return NULL;
    }
    cache->stats.hits++;
    entry->used = true;
    move_to_front(cache, entry, true);
    return entry->inst;
}

bool bf_cache_holds(bf_cache_t *cache, const char *id)
{
    return *find(cache, id, hash_of(id)) != NULL;
}

static void remove_entry(bf_cache_t *cache, entry_t *entry)
{
    *find(cache, bf_instance_id(entry->inst), entry->hash) = entry->chain;
    bf_list_remove(entry->hot ? &cache->hot : &cache->cold, &entry->node);
    cache->bytes -= entry->units * UNIT;
    bf_instance_free(entry->inst);
    free(entry);
}

bf_status_t bf_cache_put(bf_cache_t *cache, bf_instance_t *inst_put)
{
    uint32_t hash = hash_of(bf_instance_id(inst_put));
    entry_t *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return BF_E_NOMEM;
    }
    entry_t **place = find(cache, bf_instance_id(inst_put), hash);
    if (*place != NULL) {
        remove_entry(cache, *place);
    }
    if (count_of(cache) >= cache->bucket_count) {
        grow_buckets(cache);
    }
    place = &cache->buckets[hash & (cache->bucket_count - 1)];
    entry->inst = inst_put;
    entry->hash = hash;
    entry->hot = true;
    entry->used = true;
    entry->chain = *place;
    *place = entry;
    bf_list_prepend(&cache->hot, &entry->node);
    recount(cache, entry);
    return BF_OK;
}

void bf_cache_drop(bf_cache_t *cache, const char *id)
{
    entry_t *entry = *find(cache, id, hash_of(id));
    if (entry != NULL) {
        remove_entry(cache, entry);
    }
}

static entry_t *entry_of(bf_list_node_t *node)
{
    return BF_CONTAINER_OF(node, entry_t, node);
}

static void drop_partition_of(bf_cache_t *cache, bf_list_t *list, int32_t partition_no)
{
    BF_LIST_FOREACH (node, list) {
        entry_t *entry = entry_of(node);
        if (bf_instance_partition(entry->inst) == partition_no) {
            remove_entry(cache, entry);
        }
    }
}

void bf_cache_drop_partition(bf_cache_t *cache, int32_t partition_no)
{
    drop_partition_of(cache, &cache->hot, partition_no);
    drop_partition_of(cache, &cache->cold, partition_no);
}

void bf_cache_clear(bf_cache_t *cache)
{
    while (cache->hot.count > 0) {
        remove_entry(cache, entry_of(bf_list_last(&cache->hot)));
    }
    while (cache->cold.count > 0) {
        remove_entry(cache, entry_of(bf_list_last(&cache->cold)));
    }
}

/* From the back of a list; false when the bound holds or nothing may go. */
static bool evict_last(bf_cache_t *cache, bf_list_t *list)
{
    if (cache->bytes <= cache->max_bytes || count_of(cache) <= 1 || list->count == 0) {
        return false;
    }
    entry_t *entry = entry_of(bf_list_last(list));
    if (bf_instance_is_dirty(entry->inst)) {
        return false;
    }
    remove_entry(cache, entry);
    cache->stats.evictions++;
    return true;
}

void bf_cache_trim(bf_cache_t *cache)
{
    BF_LIST_FOREACH (node, &cache->hot) {
        entry_t *entry = entry_of(node);
        if (!entry->used) {
            break;
        }
        entry->used = false;
        recount(cache, entry);
    }
    while (cache->hot.count > HOT_MAX) {
        entry_t *entry = entry_of(bf_list_last(&cache->hot));
        if (bf_instance_is_dirty(entry->inst) || bf_instance_pack(entry->inst) != BF_OK) {
            break;
        }
        move_to_front(cache, entry, false);
        recount(cache, entry);
    }
    while (evict_last(cache, &cache->cold) || evict_last(cache, &cache->hot)) {
    }
}

void bf_cache_stats(const bf_cache_t *cache, bf_cache_stats_t *ret)
{
    *ret = cache->stats;
    ret->count = count_of(cache);
    ret->bytes = cache->bytes + cache->bucket_count * sizeof(entry_t *);
}
