/*
 * shard_metrics.c - the counters of a shard
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "worker/shard_int.h"

#define NS 1e-9
#define MS ((int64_t)1000000)

static const int64_t size_buckets[] = {1,   2,   5,   10,   20,   50,
                                       100, 200, 500, 1000, 2000, 5000};
static const int64_t time_buckets[] = {MS,       2 * MS,    5 * MS,   10 * MS,
                                       20 * MS,  50 * MS,   100 * MS, 200 * MS,
                                       500 * MS, 1000 * MS, 5000 * MS};

/* clang-format off */
#define COUNTER(field, text, unit_scale, sentence)                                       \
    static const bf_metric_def_t def_##field = {                                         \
        .name = (text), .help = (sentence), .type = BF_METRIC_COUNTER, .scale = (unit_scale)};
#define GAUGE(field, text, sentence)                                                     \
    static const bf_metric_def_t def_##field = {                                         \
        .name = (text), .help = (sentence), .type = BF_METRIC_GAUGE};
#define HISTOGRAM(field, text, unit_scale, bounds, sentence)                             \
    static const bf_metric_def_t def_##field = {                                         \
        .name = (text), .help = (sentence), .type = BF_METRIC_HISTOGRAM,                 \
        .scale = (unit_scale), .buckets = (bounds),                                      \
        .bucket_count = sizeof(bounds) / sizeof((bounds)[0])};

COUNTER(records, "bpmflow_records_total", 1, "Records taken from the command topic.")
COUNTER(accepted, "bpmflow_commands_accepted_total", 1, "Commands that were accepted.")
COUNTER(rejected, "bpmflow_commands_rejected_total", 1, "Commands that were rejected.")
COUNTER(duplicates, "bpmflow_commands_duplicate_total", 1, "Commands that had been applied before.")
COUNTER(dead_letters, "bpmflow_dead_letters_total", 1, "Records that are no commands.")
COUNTER(batches, "bpmflow_batches_total", 1, "Database transactions committed.")
COUNTER(published, "bpmflow_messages_published_total", 1, "Messages published.")
COUNTER(retries, "bpmflow_retries_total", 1, "Database transactions that had to be tried again.")
COUNTER(conflicts, "bpmflow_conflicts_total", 1, "Batches executed again because an instance was changed by somebody else.")
COUNTER(codes, "bpmflow_commands_total", 1, "Commands by their outcome.")
HISTOGRAM(batch_size, "bpmflow_batch_commands", 1, size_buckets, "Commands of a database transaction.")
HISTOGRAM(stage, "bpmflow_stage_seconds", NS, time_buckets, "Time of each stage of a batch; publish runs beside the others.")
GAUGE(partitions, "bpmflow_partitions", "Partitions that are worked on.")
GAUGE(lag, "bpmflow_lag_records", "Records in the topic that are not applied yet.")
GAUGE(part_lag, "bpmflow_partition_lag_records", "The same by partition.")
GAUGE(ready, "bpmflow_ready", "1: the shard can work.")
GAUGE(cached_instances, "bpmflow_cached_instances", "Instances in the cache.")
GAUGE(cached_bytes, "bpmflow_cached_bytes", "Memory of the cache.")
COUNTER(cache_hits, "bpmflow_cache_hits_total", 1, "Instances found in the cache.")
COUNTER(cache_misses, "bpmflow_cache_misses_total", 1, "Instances loaded from the database.")
COUNTER(wrong_partition, "bpmflow_wrong_partition_total", 1, "Records whose key belongs to another partition.")
COUNTER(republished, "bpmflow_messages_republished_total", 1, "Messages published again after a crash.")
COUNTER(rebalances, "bpmflow_rebalances_total", 1, "Assignments by the group.")
/* clang-format on */

/* Where each metric stands, what it is, and of which stage. */
static const struct {
    size_t offset;
    const bf_metric_def_t *def;
    const char *stage; /* NULL = not of one stage */
} table[] = {
#define X(name) {offsetof(bf_shard_metrics_t, name), &def_##name, NULL},
    BF_SHARD_COUNT_LIST(X)
#undef X
#define X(name) {offsetof(bf_shard_metrics_t, name##_ns), &def_stage, #name},
        BF_SHARD_STAGE_LIST(X)
#undef X
#define X(name) {offsetof(bf_shard_metrics_t, name), &def_##name, NULL},
            BF_SHARD_OTHER_LIST(X)
#undef X
};

static bf_metric_t *register_one(bf_shard_t *shard, const bf_metric_def_t *def,
                                 const char *label, const char *value)
{
    char labels[96];
    (void)snprintf(labels, sizeof(labels), "shard=\"%d\"%s%s%s%s", shard->index,
                   label ? "," : "", label ? label : "", label ? "=\"" : "",
                   label ? value : "");
    if (label) {
        (void)snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "\"");
    }
    return bf_metrics_register(shard->worker->metrics, def, labels);
}

bf_status_t bf_shard_metrics_init(bf_shard_t *shard, bf_err_t *err)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        bf_metric_t **slot =
            (bf_metric_t **)(void *)((char *)&shard->metrics + table[i].offset);
        *slot = register_one(shard, table[i].def, table[i].stage ? "stage" : NULL,
                             table[i].stage);
        if (!*slot) {
            return bf_err_nomem(err, "metrics");
        }
    }
    for (int i = 0; i < BF_CODE_COUNT; i++) {
        shard->metrics.codes[i] =
            register_one(shard, &def_codes, "code", bf_code_name((bf_code_t)i));
        if (!shard->metrics.codes[i]) {
            return bf_err_nomem(err, "metrics");
        }
    }
    return BF_OK;
}

bf_metric_t *bf_shard_lag_metric(bf_shard_t *shard, int32_t partition)
{
    char labels[64];
    (void)snprintf(labels, sizeof(labels), "partition=\"%d\"", (int)partition);
    return bf_metrics_register(shard->worker->metrics, &def_part_lag, labels);
}

void bf_shard_add_totals(const bf_shard_t *shard, bf_shard_totals_t *ret)
{
    const bf_shard_metrics_t *metrics = &shard->metrics;
#define X(name) ret->name += bf_metric_value(metrics->name);
    BF_SHARD_COUNT_LIST(X)
#undef X
#define X(name) ret->name##_ns += bf_metric_value(metrics->name##_ns);
    BF_SHARD_STAGE_LIST(X)
#undef X
    ret->partitions += bf_metric_value(metrics->partitions);
    ret->lag += bf_metric_value(metrics->lag);
    ret->cached += bf_metric_value(metrics->cached_instances);
}
