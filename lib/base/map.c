/*
 * map.c - ordered hash map
 *
 * Entries stand in an array in insertion order; an open-addressing table of entry
 * numbers finds them.  Removal leaves a hole in the array (key NULL) that the next
 * growth closes; the table slot becomes a tombstone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/map.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"

typedef struct entry {
    char *key; /* NULL = removed */
    size_t key_len;
    uint64_t hash;
    void *value;
} entry_t;

#define SLOT_EMPTY   UINT32_MAX
#define SLOT_REMOVED (UINT32_MAX - 1)

struct bf_map {
    entry_t *entries;
    size_t used; /* entries in the array, holes included */
    size_t room; /* allocated entries */
    size_t count;
    uint32_t *slots;
    size_t slot_count; /* power of two, or 0 */
    size_t key_bytes;
};

uint64_t bf_hash_bytes(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ p[i]) * 0x100000001b3ULL;
    }
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ULL;
    h ^= h >> 29;
    return h;
}

bf_map_t *bf_map_new(void)
{
    return calloc(1, sizeof(bf_map_t));
}

void bf_map_clear(bf_map_t *map)
{
    for (size_t i = 0; i < map->used; i++) {
        free(map->entries[i].key);
    }
    map->used = 0;
    map->count = 0;
    map->key_bytes = 0;
    for (size_t i = 0; i < map->slot_count; i++) {
        map->slots[i] = SLOT_EMPTY;
    }
}

void bf_map_free(bf_map_t *map)
{
    if (!map) {
        return;
    }
    bf_map_clear(map);
    free(map->entries);
    free(map->slots);
    free(map);
}

size_t bf_map_count(const bf_map_t *map)
{
    return map->count;
}

/* The slot that holds the key, or SIZE_MAX. */
static size_t find_slot(const bf_map_t *map, const char *key, size_t key_len,
                        uint64_t hash)
{
    if (!map->slot_count) {
        return SIZE_MAX;
    }
    size_t mask = map->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        uint32_t slot = map->slots[i];
        if (slot == SLOT_EMPTY) {
            return SIZE_MAX;
        }
        if (slot == SLOT_REMOVED) {
            continue;
        }
        const entry_t *e = &map->entries[slot];
        if (e->hash == hash && e->key_len == key_len && !memcmp(e->key, key, key_len)) {
            return i;
        }
    }
}

static void insert_slot(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t entry)
{
    size_t mask = slot_count - 1;
    size_t i = (size_t)hash & mask;
    while (slots[i] != SLOT_EMPTY) {
        i = (i + 1) & mask;
    }
    slots[i] = entry;
}

/* Make room for one more entry; closes holes and rebuilds the table. */
static bf_status_t grow(bf_map_t *map)
{
    size_t room = map->count < 4 ? 8 : map->count * 2;
    size_t slot_count = 16;
    while (slot_count < room * 2) {
        slot_count *= 2;
    }
    if (slot_count >= SLOT_REMOVED) {
        return BF_E_NOMEM;
    }
    entry_t *entries = malloc(room * sizeof(*entries));
    uint32_t *slots = malloc(slot_count * sizeof(*slots));
    if (!entries || !slots) {
        free(entries);
        free(slots);
        return BF_E_NOMEM;
    }
    memset(slots, 0xff, slot_count * sizeof(*slots));
    size_t used = 0;
    for (size_t i = 0; i < map->used; i++) {
        if (map->entries[i].key) {
            entries[used] = map->entries[i];
            insert_slot(slots, slot_count, entries[used].hash, (uint32_t)used);
            used++;
        }
    }
    BF_ASSERT(used == map->count);
    free(map->entries);
    free(map->slots);
    map->entries = entries;
    map->slots = slots;
    map->slot_count = slot_count;
    map->used = used;
    map->room = room;
    return BF_OK;
}

void *bf_map_get(const bf_map_t *map, const char *key, size_t key_len)
{
    size_t slot = find_slot(map, key, key_len, bf_hash_bytes(key, key_len));
    return slot == SIZE_MAX ? NULL : map->entries[map->slots[slot]].value;
}

void *bf_map_get_str(const bf_map_t *map, const char *key)
{
    return bf_map_get(map, key, strlen(key));
}

bf_status_t bf_map_put(bf_map_t *map, const char *key, size_t key_len, void *value,
                       void **ret_old)
{
    BF_ASSERT(value != NULL);
    uint64_t hash = bf_hash_bytes(key, key_len);
    size_t slot = find_slot(map, key, key_len, hash);
    if (slot != SIZE_MAX) {
        entry_t *e = &map->entries[map->slots[slot]];
        if (ret_old) {
            *ret_old = e->value;
        }
        e->value = value;
        return BF_OK;
    }
    char *copy = malloc(key_len + 1);
    if (!copy) {
        return BF_E_NOMEM;
    }
    if (map->used == map->room && grow(map) != BF_OK) {
        free(copy);
        return BF_E_NOMEM;
    }
    if (key_len) {
        memcpy(copy, key, key_len);
    }
    copy[key_len] = '\0';
    map->entries[map->used] = (entry_t){copy, key_len, hash, value};
    insert_slot(map->slots, map->slot_count, hash, (uint32_t)map->used);
    map->used++;
    map->count++;
    map->key_bytes += key_len + 1;
    if (ret_old) {
        *ret_old = NULL;
    }
    return BF_OK;
}

void *bf_map_remove(bf_map_t *map, const char *key, size_t key_len)
{
    size_t slot = find_slot(map, key, key_len, bf_hash_bytes(key, key_len));
    if (slot == SIZE_MAX) {
        return NULL;
    }
    entry_t *e = &map->entries[map->slots[slot]];
    void *value = e->value;
    free(e->key);
    e->key = NULL;
    map->slots[slot] = SLOT_REMOVED;
    map->count--;
    map->key_bytes -= e->key_len + 1;
    return value;
}

bool bf_map_next(const bf_map_t *map, size_t *cursor, const char **ret_key,
                 size_t *ret_key_len, void **ret_value)
{
    for (; *cursor < map->used; (*cursor)++) {
        const entry_t *e = &map->entries[*cursor];
        if (!e->key) {
            continue;
        }
        if (ret_key) {
            *ret_key = e->key;
        }
        if (ret_key_len) {
            *ret_key_len = e->key_len;
        }
        if (ret_value) {
            *ret_value = e->value;
        }
        (*cursor)++;
        return true;
    }
    return false;
}

size_t bf_map_held_bytes(const bf_map_t *map)
{
    return sizeof(*map) + map->room * sizeof(entry_t) +
           map->slot_count * sizeof(uint32_t) + map->key_bytes;
}
