/*
 * recovery.c - publishes again what was applied and perhaps not published
 *
 * The rows of [from, to) make the same messages as they did the first time, byte for
 * byte, and each chunk of them commits its offset in the same Kafka transaction.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/clock.h"
#include "worker/shard_int.h"

#define CHUNK_MESSAGES 1000
#define CHUNK_BYTES    ((size_t)4 << 20)

/* One Kafka transaction; lives until it is published. */
typedef struct chunk {
    bf_arena_t arena;
    bf_message_t *messages;
    size_t count;
    size_t cap;
    bf_topic_partition_t offset;
} chunk_t;

typedef struct recovery {
    bf_shard_t *shard;
    int32_t partition;
    chunk_t *chunk; /* being filled; NULL = none */
    size_t published;
} recovery_t;

/* Longest wait for the publisher: one transaction that fails, and the one after it. */
static int64_t publish_ms(const bf_shard_t *shard)
{
    return 2 * shard->settings->kafka.transaction_timeout_ms;
}

static void chunk_free(void *owner)
{
    chunk_t *chunk = owner;
    if (chunk) {
        bf_arena_fini(&chunk->arena);
        free(chunk->messages);
        free(chunk);
    }
}

static chunk_t *chunk_new(const recovery_t *recovery)
{
    chunk_t *chunk = calloc(1, sizeof(*chunk));
    if (chunk) {
        bf_arena_init(&chunk->arena, 0);
        chunk->offset =
            (bf_topic_partition_t){recovery->shard->topic, recovery->partition, -1};
    }
    return chunk;
}

/* Room for one more; NULL when out of memory. */
static bf_message_t *chunk_slot(chunk_t *chunk)
{
    if (chunk->count == chunk->cap) {
        bf_message_t *grown =
            bf_array_grow(chunk->messages, &chunk->cap, sizeof(*grown), 64);
        if (!grown) {
            return NULL;
        }
        chunk->messages = grown;
    }
    return &chunk->messages[chunk->count];
}

/* Hands the chunk over; it is the publisher's afterwards, or freed. */
static bf_status_t send_chunk(recovery_t *recovery, int64_t offset, bf_err_t *err)
{
    bf_shard_t *shard = recovery->shard;
    chunk_t *chunk = recovery->chunk;
    recovery->chunk = NULL;
    chunk->offset.offset = offset;
    bf_publication_t publication = {.messages = chunk->messages,
                                    .message_count = chunk->count,
                                    .offsets = &chunk->offset,
                                    .offset_count = 1,
                                    .group = bf_consumer_group_metadata(shard->consumer),
                                    .submitted_mono_ns = bf_clock_mono_ns(),
                                    .release = chunk_free,
                                    .owner = chunk};
    bf_status_t rc = publication.group ? BF_OK : bf_err_nomem(err, "group metadata");
    size_t count = chunk->count;
    if (rc == BF_OK) {
        rc = bf_publisher_submit(shard->publisher, &publication, publish_ms(shard), err);
    }
    if (rc != BF_OK) {
        bf_group_metadata_free(publication.group);
        chunk_free(chunk);
        return rc;
    }
    recovery->published += count;
    return BF_OK;
}

/* A text of the row in the arena; NULL stays NULL. */
static bf_status_t keep(bf_arena_t *arena, const char *text, const char **ret)
{
    *ret = text ? bf_arena_strdup(arena, text) : NULL;
    return text && !*ret ? BF_E_NOMEM : BF_OK;
}

static bf_status_t add_dead_letter(chunk_t *chunk, const bf_command_row_t *row,
                                   bf_err_t *err)
{
    bf_message_t *slot = chunk_slot(chunk);
    char *blob = bf_arena_strndup(&chunk->arena, row->reply.data, row->reply.len);
    if (!slot || !blob) {
        return bf_err_nomem(err, "a dead letter");
    }
    bf_status_t rc =
        bf_codec_unpack_message(&chunk->arena, blob, row->reply.len, slot, err);
    chunk->count += rc == BF_OK;
    return rc;
}

static bf_status_t add_reply(chunk_t *chunk, const bf_command_row_t *row, bf_err_t *err)
{
    bf_message_t *slot = chunk_slot(chunk);
    char *body = bf_arena_strndup(&chunk->arena, row->reply.data, row->reply.len);
    bf_reply_t reply = {.body = {body, row->reply.len},
                        .create_time_ms = row->create_time_ms,
                        .instance_id = row->instance_id,
                        .command_id = row->command_id,
                        .trace = {row->traceparent, row->tracestate}};
    if (!slot || !body || keep(&chunk->arena, row->reply_topic, &reply.topic) != BF_OK) {
        return bf_err_nomem(err, "a reply");
    }
    bf_status_t rc = bf_codec_make_reply(&chunk->arena, &reply, slot, err);
    chunk->count += rc == BF_OK;
    return rc;
}

static bf_status_t add_events(recovery_t *recovery, const bf_command_row_t *row,
                              const bf_history_t *history, size_t count, bf_err_t *err)
{
    chunk_t *chunk = recovery->chunk;
    bf_trace_t trace = {row->traceparent, row->tracestate};
    for (size_t i = 0; i < count; i++) {
        bf_message_t *slot = chunk_slot(chunk);
        if (!slot ||
            bf_codec_make_event(&chunk->arena, recovery->shard->settings->events.topic,
                                &history[i], &trace, slot) != BF_OK) {
            return bf_err_nomem(err, "an event");
        }
        chunk->count++;
        if (history[i].action != BF_ACTION_DISPATCH) {
            continue;
        }
        slot = chunk_slot(chunk);
        if (!slot ||
            bf_codec_make_job(&chunk->arena, &history[i], &trace, slot) != BF_OK) {
            return bf_err_nomem(err, "a job");
        }
        chunk->count++;
    }
    return BF_OK;
}

static bf_status_t on_applied(void *arg, const bf_command_row_t *row,
                              const bf_history_t *history, size_t history_count,
                              bf_err_t *err)
{
    recovery_t *recovery = arg;
    if (!recovery->chunk && !(recovery->chunk = chunk_new(recovery))) {
        return bf_err_nomem(err, "recovery");
    }
    bf_status_t rc;
    if (strcmp(row->command, "dead_letter") == 0) {
        rc = add_dead_letter(recovery->chunk, row, err);
    } else {
        rc = add_events(recovery, row, history, history_count, err);
        if (rc == BF_OK && row->reply.data && row->reply_topic) {
            rc = add_reply(recovery->chunk, row, err);
        }
    }
    if (rc == BF_OK && (recovery->chunk->count >= CHUNK_MESSAGES ||
                        recovery->chunk->arena.used_bytes >= CHUNK_BYTES)) {
        rc = send_chunk(recovery, row->offset + 1, err);
    }
    return rc;
}

bf_status_t bf_recovery_commit_offsets(bf_shard_t *shard,
                                       const bf_topic_partition_t *offsets, size_t count,
                                       bf_err_t *err)
{
    bf_publication_t publication = {.offsets = offsets,
                                    .offset_count = count,
                                    .group = bf_consumer_group_metadata(shard->consumer),
                                    .submitted_mono_ns = bf_clock_mono_ns()};
    if (!publication.group) {
        return bf_err_nomem(err, "group metadata");
    }
    bf_status_t rc =
        bf_publisher_submit(shard->publisher, &publication, publish_ms(shard), err);
    if (rc != BF_OK) {
        bf_group_metadata_free(publication.group);
        return rc;
    }
    rc = bf_publisher_drain(shard->publisher, publish_ms(shard), err);
    if (rc != BF_OK) { /* the offsets are the caller's: nobody may look at them later */
        bf_publisher_discard(shard->publisher);
    }
    return rc;
}

bf_status_t bf_recovery_run(bf_shard_t *shard, int32_t partition, int64_t from,
                            int64_t to, bf_err_t *err)
{
    recovery_t recovery = {.shard = shard, .partition = partition};
    bf_status_t rc = BF_OK;
    if (from < to) {
        const bf_offset_range_t range = {shard->topic, partition, from, to};
        rc = bf_store_scan_applied(shard->store, &range, on_applied, &recovery, err);
    }
    if (rc == BF_OK && !recovery.chunk && !(recovery.chunk = chunk_new(&recovery))) {
        rc = bf_err_nomem(err, "recovery");
    }
    if (rc == BF_OK) { /* also without messages: it commits the offset */
        rc = send_chunk(&recovery, to, err);
    }
    if (rc == BF_OK) {
        rc = bf_publisher_drain(shard->publisher, publish_ms(shard), err);
    }
    chunk_free(recovery.chunk);
    if (rc == BF_OK && from < to) {
        bf_metric_add(shard->metrics.republished, (int64_t)recovery.published);
        bf_shard_log_part(shard, BF_LOG_WARNING, partition,
                          "offsets %" PRId64 " to %" PRId64 " were applied and not known "
                          "to be published: %zu messages were published",
                          from, to - 1, recovery.published);
    }
    return rc;
}
