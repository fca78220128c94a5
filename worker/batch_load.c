/*
 * batch_load.c - instances and repeated commands of a batch
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "worker/shard_int.h"

#define LOAD_MAX 100 /* instances of one SELECT */

/* "instance NUL command": the key under which a command is known in its range. */
static bf_status_t command_key(const bf_command_t *command,
                               char ret[2 * BF_ID_MAX_BYTES + 2], size_t *ret_len)
{
    size_t instance_len = strlen(command->instance_id);
    size_t command_len = strlen(command->command_id);
    if (instance_len > BF_ID_MAX_BYTES || command_len > BF_ID_MAX_BYTES) {
        return BF_E_LIMIT; /* the decoder lets no such thing pass */
    }
    memcpy(ret, command->instance_id, instance_len + 1);
    memcpy(ret + instance_len + 1, command->command_id, command_len);
    *ret_len = instance_len + 1 + command_len;
    return BF_OK;
}

bf_status_t bf_batch_set_range(bf_batch_t *batch, size_t from, size_t to, bf_err_t *err)
{
    batch->from = from;
    batch->to = to;
    bf_map_clear(batch->seen);
    for (size_t i = from; i < to; i++) {
        bf_item_t *item = &batch->items[i];
        char key[2 * BF_ID_MAX_BYTES + 2];
        size_t len;
        item->first = BF_NO_ITEM;
        if (item->decoded != BF_DECODED || item->earlier) {
            continue;
        }
        if (command_key(&item->command, key, &len) != BF_OK) {
            return bf_err_set(err, BF_E_LIMIT, "an ID is over %d bytes", BF_ID_MAX_BYTES);
        }
        const bf_item_t *first = bf_map_get(batch->seen, key, len);
        if (first) {
            item->first = (size_t)(first - batch->items);
        } else if (bf_map_put(batch->seen, key, len, item, NULL) != BF_OK) {
            return bf_err_nomem(err, "a batch");
        }
    }
    return BF_OK;
}

/* Stored under its ID; the others have their outcome already. */
static bool is_first(const bf_item_t *item)
{
    return item->decoded == BF_DECODED && !item->earlier && item->first == BF_NO_ITEM;
}

/* One whose data was refused is not: perhaps the row of its instance is what cannot be
 * read. */
static bool needs_instance(const bf_item_t *item)
{
    return is_first(item) && item->forced != BF_CODE_STORAGE_REJECTED;
}

static bf_status_t use_instance(bf_batch_t *batch, bf_item_t *item, bf_instance_t *inst,
                                bf_err_t *err)
{
    if (bf_instance_open(inst) != BF_OK ||
        bf_map_put(batch->instances, item->command.instance_id,
                   strlen(item->command.instance_id), inst, NULL) != BF_OK) {
        return bf_err_nomem(err, "instances of a batch");
    }
    item->inst = inst;
    return BF_OK;
}

/* Loads up to LOAD_MAX instances into the cache and the map of the batch. */
static bf_status_t load_some(bf_shard_t *shard, bf_batch_t *batch, bf_item_t **items,
                             size_t count, bf_err_t *err)
{
    const char *ids[LOAD_MAX] = {NULL};
    bf_instance_t *found[LOAD_MAX] = {NULL};
    for (size_t i = 0; i < count; i++) {
        ids[i] = items[i]->command.instance_id;
    }
    bf_status_t rc = bf_store_load_instances(shard->store, ids, count, found, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == BF_OK && !found[i]) {
            found[i] = bf_instance_new(ids[i]);
            if (!found[i]) {
                rc = bf_err_nomem(err, "an instance");
            } else {
                bf_instance_set_partition(found[i], items[i]->partition);
            }
        }
        if (rc == BF_OK) {
            rc = bf_cache_put(shard->cache, found[i]);
        }
        if (rc != BF_OK) {
            bf_err_nomem(err, "the instance cache");
            bf_instance_free(found[i]);
            continue;
        }
        rc = use_instance(batch, items[i], found[i], err);
    }
    return rc;
}

bf_status_t bf_batch_load(bf_shard_t *shard, bf_batch_t *batch, bf_err_t *err)
{
    bf_item_t *missing[LOAD_MAX];
    size_t missing_count = 0;
    bf_status_t rc = BF_OK;
    bf_map_clear(batch->instances);
    for (size_t i = batch->from; i < batch->to && rc == BF_OK; i++) {
        bf_item_t *item = &batch->items[i];
        item->inst = NULL;
        if (!needs_instance(item)) {
            continue;
        }
        const char *id = item->command.instance_id;
        bf_instance_t *inst = bf_map_get_str(batch->instances, id);
        if (inst) {
            item->inst = inst;
            continue;
        }
        inst = bf_cache_get(shard->cache, id);
        if (inst) {
            rc = use_instance(batch, item, inst, err);
            continue;
        }
        bool asked = false;
        for (size_t j = 0; j < missing_count && !asked; j++) {
            asked = strcmp(missing[j]->command.instance_id, id) == 0;
        }
        if (asked) {
            continue;
        }
        missing[missing_count++] = item;
        if (missing_count == LOAD_MAX) {
            rc = load_some(shard, batch, missing, missing_count, err);
            missing_count = 0;
        }
    }
    if (rc == BF_OK && missing_count > 0) {
        rc = load_some(shard, batch, missing, missing_count, err);
    }
    for (size_t i = batch->from; i < batch->to && rc == BF_OK; i++) {
        bf_item_t *item = &batch->items[i];
        if (needs_instance(item) && !item->inst) {
            item->inst = bf_map_get_str(batch->instances, item->command.instance_id);
            BF_ASSERT(item->inst);
        }
    }
    return rc;
}

void bf_batch_forget(bf_shard_t *shard, bf_batch_t *batch)
{
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *inst;
    while (bf_map_next(batch->instances, &cursor, &id, &len, &inst)) {
        bf_cache_drop(shard->cache, id);
    }
    bf_map_clear(batch->instances);
    for (size_t i = batch->from; i < batch->to; i++) {
        batch->items[i].inst = NULL;
    }
}

bf_status_t bf_batch_find_earlier(bf_shard_t *shard, bf_batch_t *batch, size_t *ret_found,
                                  bf_err_t *err)
{
    size_t max = batch->to - batch->from;
    size_t count = 0;
    bf_command_key_t *keys = bf_arena_calloc(&batch->arena, max, sizeof(*keys));
    bf_command_row_t *rows = bf_arena_calloc(&batch->arena, max, sizeof(*rows));
    bf_item_t **items = bf_arena_calloc(&batch->arena, max, sizeof(bf_item_t *));
    if (!keys || !rows || !items) {
        return bf_err_nomem(err, "repeated commands");
    }
    for (size_t i = batch->from; i < batch->to; i++) {
        bf_item_t *item = &batch->items[i];
        if (is_first(item)) {
            keys[count] =
                (bf_command_key_t){item->command.instance_id, item->command.command_id};
            items[count++] = item;
        }
    }
    bf_status_t rc =
        bf_store_find_outcomes(shard->store, keys, count, &batch->arena, rows, err);
    if (rc != BF_OK) {
        return rc;
    }
    *ret_found = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].command) {
            items[i]->earlier = &rows[i];
            ++*ret_found;
        }
    }
    /* Others in the range may have named one of these as their first: they have the same
     * outcome, and are not found out one after the other. */
    for (size_t i = batch->from; i < batch->to; i++) {
        bf_item_t *item = &batch->items[i];
        if (item->first != BF_NO_ITEM && batch->items[item->first].earlier) {
            item->earlier = batch->items[item->first].earlier;
        }
    }
    return bf_batch_set_range(batch, batch->from, batch->to, err);
}
