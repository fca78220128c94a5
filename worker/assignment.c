/*
 * assignment.c - partitions that come and go
 *
 * The callbacks of the consumer run inside of a poll, at any place that polls: while a
 * batch is collected, or while one waits for the database.  They only note what is wanted
 * (assign), or close the books of what is taken away (revoke, lost).  Claiming is done by
 * the loop (bf_assignment_settle), where it may wait and be tried again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "worker/shard_int.h"

void bf_assignment_fini(bf_assignment_t *assignment)
{
    free(assignment->parts);
    memset(assignment, 0, sizeof(*assignment));
}

bf_status_t bf_assignment_grow(bf_assignment_t *assignment, int32_t total, bf_err_t *err)
{
    if (total <= assignment->total) {
        return BF_OK;
    }
    bf_part_t *parts = realloc(assignment->parts, (size_t)total * sizeof(*parts));
    if (!parts) {
        return bf_err_nomem(err, "partitions");
    }
    memset(parts + assignment->total, 0,
           (size_t)(total - assignment->total) * sizeof(*parts));
    assignment->parts = parts;
    assignment->total = total;
    return BF_OK;
}

bf_part_t *bf_assignment_ready(bf_assignment_t *assignment, int32_t partition)
{
    if (partition < 0 || partition >= assignment->total ||
        assignment->parts[partition].state != BF_PART_READY) {
        return NULL;
    }
    return &assignment->parts[partition];
}

bf_part_t *bf_assignment_held(bf_assignment_t *assignment, int32_t partition)
{
    if (partition < 0 || partition >= assignment->total) {
        return NULL;
    }
    bf_part_t *part = &assignment->parts[partition];
    bool held = part->state == BF_PART_READY || part->state == BF_PART_STOPPED;
    return held ? part : NULL;
}

static int32_t count_state(const bf_assignment_t *assignment, bf_part_state_t state)
{
    int32_t count = 0;
    for (int32_t i = 0; i < assignment->total; i++) {
        count += assignment->parts[i].state == state;
    }
    return count;
}

void bf_assignment_report(bf_shard_t *shard)
{
    const bf_assignment_t *assignment = &shard->assignment;
    char reason[BF_REASON_MAX] = "";
    for (int32_t i = 0; i < assignment->total && !reason[0]; i++) {
        if (assignment->parts[i].state == BF_PART_STOPPED) {
            (void)snprintf(reason, sizeof(reason), "partition %d is stopped: %.200s",
                           (int)i, assignment->parts[i].reason);
        }
    }
    if (shard->database.down || shard->kafka.down) {
        (void)snprintf(reason, sizeof(reason), "waits for %s",
                       shard->database.down ? shard->database.what : shard->kafka.what);
    } else if (atomic_load(&shard->publish_trouble)) {
        (void)snprintf(reason, sizeof(reason), "cannot publish");
    } else if (!reason[0] && count_state(assignment, BF_PART_WANTED) > 0) {
        (void)snprintf(reason, sizeof(reason), "takes over partitions");
    } else if (!reason[0] && !shard->joined) {
        (void)snprintf(reason, sizeof(reason), "joins the group");
    }
    bf_metric_set(shard->metrics.partitions, count_state(assignment, BF_PART_READY));
    bf_shard_set_ready(shard, reason[0] == '\0', reason);
}

void bf_assignment_stop_part(bf_shard_t *shard, int32_t partition, const char *fmt, ...)
{
    if (partition < 0 || partition >= shard->assignment.total) {
        return;
    }
    bf_part_t *part = &shard->assignment.parts[partition];
    if (part->state == BF_PART_STOPPED || part->state == BF_PART_NONE) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(part->reason, sizeof(part->reason), fmt, args);
    va_end(args);
    bool was_ready = part->state == BF_PART_READY;
    part->state = BF_PART_STOPPED;
    if (was_ready) { /* the consumer still has it */
        shard->assignment.settle = true;
    }
    bf_shard_log_part(shard, BF_LOG_ERROR, partition, "the partition is stopped: %s",
                      part->reason);
    bf_err_t err = BF_ERR_INIT;
    if (bf_store_note_problem(shard->store, shard->topic, partition, shard->owner,
                              part->reason, &err) != BF_OK) {
        bf_shard_log_part(shard, BF_LOG_DEBUG, partition,
                          "bpmflow status will not tell that: %s", err.text);
    }
    bf_assignment_report(shard);
}

void bf_assignment_on_assign(void *arg, bf_consumer_t *consumer,
                             const bf_topic_partition_t *partitions, size_t count)
{
    bf_shard_t *shard = arg;
    bf_err_t err = BF_ERR_INIT;
    (void)consumer; /* answered by settle */
    shard->joined = true;
    for (size_t i = 0; i < count; i++) {
        int32_t no = partitions[i].partition;
        if (bf_assignment_grow(&shard->assignment, no + 1, &err) != BF_OK) {
            bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
            return;
        }
        shard->assignment.parts[no].state = BF_PART_WANTED;
    }
    shard->assignment.settle = true;
    shard->assignment.next_try_mono_ms = 0;
    bf_metric_add(shard->metrics.rebalances, 1);
    bf_shard_log(shard, BF_LOG_INFO, "%zu partitions are assigned", count);
    bf_assignment_report(shard);
}

/* Everything that is committed is published, or not: then the row stays unreleased, and
 * the next owner looks for what is missing. */
static bool publish_all(bf_shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    if (shard->end == BF_SESSION_FENCED || !shard->publisher) {
        return false;
    }
    bf_status_t rc =
        bf_hand_over_flush(shard, shard->settings->worker.stop_timeout_ms, &err);
    if (rc != BF_OK) {
        bf_shard_log(shard, BF_LOG_WARNING,
                     "partitions are given up before everything is published; their next "
                     "owner publishes the rest: %s",
                     err.text);
        bf_hand_over_failed(shard, rc, &err);
        return false;
    }
    return !shard->commit_unknown;
}

/* false: there is no point in trying the others. */
static bool release_part(bf_shard_t *shard, int32_t partition)
{
    bf_err_t err = BF_ERR_INIT;
    const bf_part_t *part = &shard->assignment.parts[partition];
    bf_status_t rc = bf_store_release_partition(shard->store, shard->topic, partition,
                                                part->epoch, &err);
    if (rc != BF_OK) { /* harmless: the next owner takes us for dead and looks closer */
        bf_shard_log_part(shard, BF_LOG_WARNING, partition,
                          "the partition is not marked as released: %s", err.text);
    }
    return rc == BF_OK;
}

static bool holds_any(const bf_shard_t *shard, const bf_topic_partition_t *partitions,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int32_t no = partitions[i].partition;
        if (no < shard->assignment.total &&
            shard->assignment.parts[no].state != BF_PART_NONE) {
            return true;
        }
    }
    return false;
}

void bf_assignment_on_revoke(void *arg, bf_consumer_t *consumer,
                             const bf_topic_partition_t *partitions, size_t count,
                             bool lost)
{
    bf_shard_t *shard = arg;
    (void)consumer;
    if (shard->batch) {
        shard->batch->abandoned = true;
        /* What it has changed is not stored, and the cache may drop it below. */
        bf_batch_forget(shard, shard->batch);
    }
    bf_shard_drop_carry(shard);
    if (!holds_any(shard, partitions,
                   count)) { /* given up before, by the session's end */
        return;
    }
    bool published = false;
    if (lost) {
        bf_hand_over_discard(shard);
    } else {
        published = publish_all(shard);
    }
    /* The group waits for us: one that does not answer is not asked again. */
    bool release = published && !shard->database.down;
    for (size_t i = 0; i < count; i++) {
        int32_t no = partitions[i].partition;
        if (no >= shard->assignment.total) {
            continue;
        }
        bf_part_t *part = &shard->assignment.parts[no];
        if (part->state == BF_PART_READY && release) {
            release = release_part(shard, no);
        }
        part->last_epoch = part->state == BF_PART_READY && !lost ? part->epoch : 0;
        if (part->last_epoch == 0) {
            bf_cache_drop_partition(shard->cache, no);
        }
        part->state = BF_PART_NONE;
        bf_metric_set(part->lag, 0);
    }
    if (!published) { /* what waits there is the next owner's business now */
        bf_hand_over_discard(shard);
    }
    shard->commit_unknown = false; /* the next claim reads what became of it */
    shard->paused = false;
    shard->joined = false;
    shard->assignment.settle = false;
    bf_shard_log(shard, lost ? BF_LOG_WARNING : BF_LOG_INFO, "%zu partitions are %s",
                 count, lost ? "lost: the group took this worker for dead" : "given up");
    bf_assignment_report(shard);
}

/* The consumer reads what is READY, from where we are. */
static bf_status_t assign_ready(bf_shard_t *shard, bf_err_t *err)
{
    bf_assignment_t *assignment = &shard->assignment;
    size_t count = 0;
    bf_topic_partition_t *list =
        calloc((size_t)assignment->total + 1, sizeof(bf_topic_partition_t));
    if (!list) {
        return bf_err_nomem(err, "partitions");
    }
    for (int32_t i = 0; i < assignment->total; i++) {
        const bf_part_t *part = &assignment->parts[i];
        if (part->state == BF_PART_READY) {
            list[count++] = (bf_topic_partition_t){shard->topic, i, part->position};
        }
    }
    bf_status_t rc = bf_consumer_assign(shard->consumer, list, count, err);
    free(list);
    if (rc == BF_OK && count > 0) {
        /* librdkafka remembers a pause over a rebalance: what was paused when it was
         * taken away would never be read again. */
        shard->paused = false;
        rc = bf_consumer_pause(shard->consumer, false, err);
    }
    return rc;
}

void bf_assignment_settle(bf_shard_t *shard)
{
    bf_assignment_t *assignment = &shard->assignment;
    bf_err_t err = BF_ERR_INIT;
    if (!assignment->settle || bf_clock_mono_ms() < assignment->next_try_mono_ms) {
        return;
    }
    bf_status_t rc = bf_claim_wanted(shard, &err);
    if (rc == BF_OK) {
        bf_outage_over(shard, &shard->database);
        assignment->settle = false;
    } else if (rc == BF_E_STORE_LOST || rc == BF_E_STORE_RETRY || rc == BF_E_STORE) {
        bf_err_t again = BF_ERR_INIT;
        int64_t pause_ms = bf_outage_failed(shard, &shard->database, &err);
        assignment->next_try_mono_ms = bf_clock_mono_ms() + pause_ms;
        if (rc == BF_E_STORE_LOST &&
            bf_store_reconnect(shard->store, &again) == BF_E_SCHEMA) {
            bf_shard_end(shard, BF_SESSION_FATAL, "%s", again.text);
        }
    } else if (rc == BF_E_TIMEOUT || rc == BF_E_BUS_RETRY) {
        assignment->next_try_mono_ms =
            bf_clock_mono_ms() + bf_outage_failed(shard, &shard->kafka, &err);
    } else if (rc == BF_E_FENCED) {
        bf_shard_end(shard, BF_SESSION_FENCED, "%s", err.text);
    } else {
        bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
    }
    if (shard->end == BF_SESSION_RUNS) { /* what could be claimed is worked on already */
        bf_err_clear(&err);
        if (assign_ready(shard, &err) != BF_OK) {
            bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
        }
    }
    bf_assignment_report(shard);
}

void bf_assignment_update_lag(bf_shard_t *shard)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < shard->assignment.total; i++) {
        bf_part_t *part = &shard->assignment.parts[i];
        if (part->state != BF_PART_READY) {
            continue;
        }
        int64_t high = bf_consumer_cached_high(shard->consumer, shard->topic, i);
        int64_t lag = high > part->next ? high - part->next : 0;
        if (!part->lag) {
            part->lag = bf_shard_lag_metric(shard, i);
        }
        bf_metric_set(part->lag, lag);
        sum += lag;
    }
    bf_metric_set(shard->metrics.lag, sum);
}
