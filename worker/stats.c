/*
 * stats.c - the line with counts and times of the stages
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/process.h"

static void add_totals(const bf_worker_t *worker, bf_shard_totals_t *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < worker->shard_count; i++) {
        bf_shard_add_totals(worker->shards[i], ret);
    }
}

void bf_stats_init(bf_stats_t *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->last_mono_ms = bf_clock_mono_ms();
}

void bf_stats_write(bf_stats_t *stats, const bf_worker_t *worker, bool now)
{
    int64_t interval_ms = worker->settings.log.stats_interval_ms;
    int64_t mono_ms = bf_clock_mono_ms();
    int64_t ms = mono_ms - stats->last_mono_ms;
    if (!now && (interval_ms == 0 || ms < interval_ms)) {
        return;
    }
    bf_shard_totals_t totals;
    bf_shard_totals_t delta;
    add_totals(worker, &totals);
    delta = totals;
#define X(name) delta.name -= stats->last.name;
    BF_SHARD_COUNT_LIST(X)
#undef X
#define X(name) delta.name##_ns -= stats->last.name##_ns;
    BF_SHARD_STAGE_LIST(X)
#undef X
    stats->last = totals;
    stats->last_mono_ms = mono_ms;
    bool idle = delta.records == 0 && delta.batches == 0 && delta.published == 0 &&
                delta.retries == 0;
    bool said = stats->idle;
    stats->idle = idle;
    if (idle && said && !now) {
        return; /* once is enough */
    }
    const bf_log_field_t fields[] = {
        BF_LOG_INT("interval_ms", ms),
        BF_LOG_INT("records", delta.records),
        BF_LOG_INT("per_second", ms > 0 ? delta.records * 1000 / ms : 0),
        BF_LOG_INT("accepted", delta.accepted),
        BF_LOG_INT("rejected", delta.rejected),
        BF_LOG_INT("duplicates", delta.duplicates),
        BF_LOG_INT("dead_letters", delta.dead_letters),
        BF_LOG_INT("batches", delta.batches),
        BF_LOG_INT("batch_avg", delta.batches > 0 ? delta.records / delta.batches : 0),
        BF_LOG_INT("published", delta.published),
        BF_LOG_INT("retries", delta.retries),
        BF_LOG_INT("conflicts", delta.conflicts),
        BF_LOG_INT("poll_ms", delta.poll_ns / 1000000),
        BF_LOG_INT("decode_ms", delta.decode_ns / 1000000),
        BF_LOG_INT("load_ms", delta.load_ns / 1000000),
        BF_LOG_INT("execute_ms", delta.execute_ns / 1000000),
        BF_LOG_INT("commit_ms", delta.commit_ns / 1000000),
        BF_LOG_INT("hand_over_ms", delta.hand_over_ns / 1000000),
        BF_LOG_INT("publish_ms", delta.publish_ns / 1000000),
        BF_LOG_INT("partitions", delta.partitions),
        BF_LOG_INT("lag", delta.lag),
        BF_LOG_INT("cached", delta.cached),
        BF_LOG_INT("total_records", totals.records),
        BF_LOG_INT("total_published", totals.published),
    };
    bf_log_write(worker->log, BF_LOG_INFO, fields, sizeof(fields) / sizeof(fields[0]),
                 "stats");
}
