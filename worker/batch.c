/*
 * batch.c - memory of batches, collecting and decoding records
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/batch.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "worker/shard_int.h"

#define IDLE_POLL_MS     100
#define COLLECT_SLICE_MS 2
#define COLLECT_MAX_MS   50
#define OUTPUT_FACTOR    2 /* bytes that a batch makes, to bytes of its records */

/* Batches come back from the publisher's thread. */
struct bf_batch_pool {
    bf_shard_t *shard;
    pthread_mutex_t lock;
    bf_batch_t *free; /* lock */
    size_t out;       /* lock; batches that are not back */
};

bf_batch_pool_t *bf_batch_pool_new(bf_shard_t *shard)
{
    bf_batch_pool_t *pool = calloc(1, sizeof(*pool));
    if (pool) {
        pool->shard = shard;
        pthread_mutex_init(&pool->lock, NULL);
    }
    return pool;
}

static void batch_free(bf_batch_t *batch)
{
    if (batch) {
        bf_arena_fini(&batch->arena);
        bf_map_free(batch->instances);
        bf_map_free(batch->seen);
        free(batch->items);
        free(batch);
    }
}

void bf_batch_pool_free(bf_batch_pool_t *pool)
{
    if (!pool) {
        return;
    }
    BF_ASSERT(pool->out == 0);
    while (pool->free) {
        bf_batch_t *batch = pool->free;
        pool->free = batch->next_free;
        batch_free(batch);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bf_batch_t *batch_new(bf_batch_pool_t *pool)
{
    bf_batch_t *batch = calloc(1, sizeof(*batch));
    if (!batch) {
        return NULL;
    }
    batch->shard = pool->shard;
    batch->pool = pool;
    bf_arena_init(&batch->arena, 0);
    batch->instances = bf_map_new();
    batch->seen = bf_map_new();
    if (!batch->instances || !batch->seen) {
        batch_free(batch);
        return NULL;
    }
    return batch;
}

bf_batch_t *bf_batch_take(bf_batch_pool_t *pool)
{
    pthread_mutex_lock(&pool->lock);
    bf_batch_t *batch = pool->free;
    if (batch) {
        pool->free = batch->next_free;
    }
    pool->out++;
    pthread_mutex_unlock(&pool->lock);
    if (!batch) {
        batch = batch_new(pool);
    }
    if (!batch) {
        pthread_mutex_lock(&pool->lock);
        pool->out--;
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
    batch->next_free = NULL;
    batch->count = 0;
    batch->bytes = 0;
    batch->abandoned = false;
    batch->from = 0;
    batch->to = 0;
    batch->publication = NULL;
    bf_map_clear(batch->instances); /* of its last use */
    atomic_store(&batch->refs, 1);
    return batch;
}

void bf_batch_unref(bf_batch_t *batch)
{
    if (!batch || atomic_fetch_sub(&batch->refs, 1) > 1) {
        return;
    }
    bf_batch_pool_t *pool = batch->pool;
    bf_arena_clear(&batch->arena);
    pthread_mutex_lock(&pool->lock);
    batch->next_free = pool->free;
    pool->free = batch;
    pool->out--;
    pthread_mutex_unlock(&pool->lock);
}

bf_status_t bf_batch_add(bf_batch_t *batch, bf_record_t *record)
{
    if (batch->count == batch->cap) {
        size_t cap = batch->cap ? batch->cap * 2 : 256;
        bf_item_t *items = realloc(batch->items, cap * sizeof(*items));
        if (!items) {
            return BF_E_NOMEM;
        }
        batch->items = items;
        batch->cap = cap;
    }
    bf_item_t *item = &batch->items[batch->count++];
    memset(item, 0, sizeof(*item));
    item->record = *record;
    item->partition = record->partition;
    item->offset = record->offset;
    item->first = BF_NO_ITEM;
    batch->bytes += record->key_len + record->value_len;
    memset(record, 0, sizeof(*record));
    return BF_OK;
}

void bf_batch_release_records(bf_batch_t *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].record.handle) {
            bf_consumer_release(&batch->items[i].record);
            batch->items[i].record.handle = NULL;
        }
    }
}

/* Records that were polled while the last batch was worked on. */
static bool take_carry(bf_shard_t *shard, bf_record_t *ret)
{
    if (shard->carry_taken == shard->carry_count) {
        shard->carry_taken = 0;
        shard->carry_count = 0;
        return false;
    }
    *ret = shard->carry[shard->carry_taken++];
    return true;
}

/* Producers with another partitioner are heard of, and their instances stay correct: the
 * revision guards them. */
static void check_partition(bf_shard_t *shard, const bf_record_t *record)
{
    if (!record->key || shard->assignment.total < 1) {
        return;
    }
    int32_t expected =
        (int32_t)((bf_murmur2(record->key, record->key_len) & 0x7fffffffU) %
                  (uint32_t)shard->assignment.total);
    if (expected == record->partition) {
        return;
    }
    bf_metric_add(shard->metrics.wrong_partition, 1);
    uint64_t suppressed;
    if (bf_log_limit_pass(&shard->limit_partition, bf_clock_mono_ms(), &suppressed)) {
        bf_shard_log_part(
            shard, BF_LOG_WARNING, record->partition,
            "a key belongs to partition %d by Java's murmur2: its producer "
            "uses another partitioner (librdkafka clients: set "
            "partitioner=murmur2_random); %llu more since the last such line",
            (int)expected, (unsigned long long)suppressed);
    }
}

/* Takes the record, or drops it: not ours any more, or applied already. */
static bf_status_t take_record(bf_shard_t *shard, bf_batch_t *batch, bf_record_t *record)
{
    bf_part_t *part = bf_assignment_ready(&shard->assignment, record->partition);
    if (!part || record->offset < part->next || record->offset < part->position) {
        bf_consumer_release(record);
        return BF_OK;
    }
    check_partition(shard, record);
    int64_t next = record->offset + 1;
    bf_status_t rc = bf_batch_add(batch, record);
    if (rc == BF_OK) {
        part->position = next;
    } else {
        bf_consumer_release(record);
        bf_shard_end(shard, BF_SESSION_RESTART, "out of memory for a record");
    }
    return rc;
}

size_t bf_batch_next_limit(size_t limit, size_t count, int64_t spent_ms,
                           int64_t target_ms, size_t max)
{
    size_t least = max < BF_BATCH_LEAST ? max : BF_BATCH_LEAST;
    limit = limit == 0 || target_ms == 0 ? max : limit;
    if (target_ms == 0 || count < limit) {
        return limit;
    }
    if (spent_ms > target_ms) {
        size_t fits = (size_t)((int64_t)count * target_ms / spent_ms);
        limit = fits > limit / 2 ? fits : limit / 2;
    } else if (spent_ms < target_ms - target_ms / 4) {
        limit += limit / 4 + 1;
    }
    limit = limit > least ? limit : least;
    return limit < max ? limit : max;
}

static bool batch_is_full(const bf_shard_t *shard, const bf_batch_t *batch)
{
    return batch->count >= shard->batch_limit || batch->count >= shard->batch_pace ||
           batch->bytes >= (size_t)shard->settings->batch.max_bytes;
}

/* One poll. false: the collecting is over. */
static bool collect_one(bf_shard_t *shard, bf_batch_t *batch, int64_t timeout_ms)
{
    bf_record_t record;
    bf_err_t err = BF_ERR_INIT;
    memset(&record, 0, sizeof(record));
    if (take_carry(shard, &record)) {
        return take_record(shard, batch, &record) == BF_OK;
    }
    bf_status_t rc = bf_consumer_poll(shard->consumer, timeout_ms, &record, &err);
    if (rc == BF_OK) {
        bf_outage_over(shard, &shard->kafka);
        return take_record(shard, batch, &record) == BF_OK && !batch->abandoned;
    }
    if (rc != BF_E_TIMEOUT) {
        bf_shard_poll_failed(shard, &record, rc, &err);
        return false;
    }
    return true;
}

void bf_batch_learn(bf_shard_t *shard, const bf_batch_t *batch)
{
    size_t max = (size_t)shard->settings->batch.max_commands;
    size_t limit = shard->batch_limit * 2;
    size_t each = batch->arena.used_bytes / (batch->count + 1) + 1;
    size_t room = (size_t)shard->settings->batch.max_bytes * OUTPUT_FACTOR / each;
    limit = limit < room ? limit : room;
    limit = limit < max ? limit : max;
    shard->batch_limit = limit > 1 ? limit : 1;
}

/* While a transaction of the publisher is under way, neither events nor replies of this
 * batch can leave: what comes meanwhile may as well be in it, for one commit of the
 * database instead of several. */
static bool has_time(const bf_shard_t *shard, int64_t since_ms, int64_t now)
{
    return shard->delivery == BF_DELIVERY_TRANSACTIONAL &&
           shard->settings->replies.delivery != BF_REPLIES_EARLY &&
           now - since_ms < COLLECT_MAX_MS && bf_publisher_is_filling(shard->publisher);
}

void bf_batch_collect(bf_shard_t *shard, bf_batch_t *batch)
{
    int64_t since = 0; /* its first record came */
    int64_t linger_ms = shard->settings->batch.linger_ms;
    bf_consumer_next_turn(shard->consumer);
    while (!batch_is_full(shard, batch) && !bf_shard_is_ending(shard)) {
        int64_t timeout_ms = IDLE_POLL_MS;
        if (batch->count > 0) {
            int64_t now = bf_clock_mono_ms();
            since = since ? since : now;
            timeout_ms = since + linger_ms > now ? since + linger_ms - now : 0;
            if (timeout_ms == 0 && has_time(shard, since, now)) {
                timeout_ms = COLLECT_SLICE_MS;
            }
        }
        size_t before = batch->count;
        if (!collect_one(shard, batch, timeout_ms) || batch->abandoned) {
            break;
        }
        if (batch->count == before && (batch->count == 0 || timeout_ms == 0)) {
            break; /* nothing came: idle, or the time is over and the queue is empty */
        }
    }
}

static bf_status_t decode_item(bf_shard_t *shard, bf_batch_t *batch, bf_item_t *item,
                               bf_err_t *err)
{
    bf_err_t reason = BF_ERR_INIT;
    item->decode_code = BF_CODE_OK;
    bf_status_t rc = bf_codec_decode_command(&item->record, &shard->limits, &batch->arena,
                                             &item->command, &item->decoded,
                                             &item->decode_code, &reason);
    if (rc != BF_OK) {
        return bf_err_set(err, rc, "decoding a record: %s", reason.text);
    }
    if (item->decoded == BF_DECODED) {
        return BF_OK;
    }
    item->code_error = bf_arena_strdup(&batch->arena, reason.text);
    if (!item->code_error) {
        return bf_err_nomem(err, "decoding a record");
    }
    if (item->decoded == BF_DECODED_DEAD) {
        memset(&item->command, 0, sizeof(item->command));
        rc = bf_codec_make_dead_letter(&batch->arena, shard->settings->dead_letters.topic,
                                       &item->record, item->decode_code, item->code_error,
                                       &item->dead);
        if (rc != BF_OK) {
            return bf_err_nomem(err, "a dead letter");
        }
        uint64_t suppressed;
        if (bf_log_limit_pass(&shard->limit_dead, bf_clock_mono_ms(), &suppressed)) {
            bf_log_field_t fields[] = {
                BF_LOG_INT("shard", shard->index),
                BF_LOG_INT("partition", item->partition),
                BF_LOG_INT("offset", item->offset),
                BF_LOG_STR("code", bf_code_name(item->decode_code)),
                BF_LOG_INT("more", (int64_t)suppressed)};
            bf_log_write(shard->worker->log, BF_LOG_WARNING, fields,
                         sizeof(fields) / sizeof(fields[0]), "dead letter: %s",
                         item->code_error);
        }
    }
    return BF_OK;
}

bf_status_t bf_batch_decode(bf_shard_t *shard, bf_batch_t *batch, bf_err_t *err)
{
    batch->now_wall_ms = bf_clock_wall_ms();
    for (size_t i = 0; i < batch->count; i++) {
        bf_status_t rc = decode_item(shard, batch, &batch->items[i], err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    bf_batch_release_records(batch);
    return BF_OK;
}
