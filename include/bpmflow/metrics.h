/*
 * metrics.h - counters, gauges and histograms, written as Prometheus text
 *
 * A registry holds families (name, help, type) and in each of them metrics with fixed
 * labels.  Metrics are registered at start; afterwards they are only counted.  Values are
 * 64-bit integers in the unit that the code has (nanoseconds, bytes, pieces); a scale
 * turns them into the base unit when they are written (seconds).
 *
 * Threads:  registration and writing lock the registry; counting is a relaxed atomic
 *           operation, any thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_METRICS_H
#define BF_METRICS_H

#include <stdint.h>

#include "bpmflow/err.h"
#include "bpmflow/str.h"

typedef struct bf_metrics bf_metrics_t;
typedef struct bf_metric bf_metric_t;

typedef enum { BF_METRIC_COUNTER, BF_METRIC_GAUGE, BF_METRIC_HISTOGRAM } bf_metric_type_t;

#define BF_METRIC_BUCKETS_MAX 24

/* What the metrics of a family have in common. Texts are static (not copied). */
typedef struct bf_metric_def {
    const char *name; /* bpmflow_..., of [a-z0-9_] */
    const char *help; /* one line */
    bf_metric_type_t type;
    double scale; /* written = value * scale; 0 = 1 */
    /* HISTOGRAM: upper bounds in the unit of the values, ascending; +Inf is implied */
    const int64_t *buckets;
    size_t bucket_count; /* up to BF_METRIC_BUCKETS_MAX */
} bf_metric_def_t;

bf_metrics_t *bf_metrics_new(void) BF_MUST_USE;
void bf_metrics_free(bf_metrics_t *metrics);

/**
 * Register a metric, or find the one that has the same name and labels.
 * @param def     the same one for all metrics of a family
 * @param labels  as written between the braces, already escaped: `shard="0"`; copied;
 *                NULL = none
 * @return owned by the registry; NULL when out of memory
 */
bf_metric_t *bf_metrics_register(bf_metrics_t *metrics, const bf_metric_def_t *def,
                                 const char *labels) BF_MUST_USE;

/** Everything in the text format 0.0.4, families in order of registration. */
void bf_metrics_write(bf_metrics_t *metrics, bf_str_t *str);

/* NULL is allowed in all of these: nothing is counted. */
void bf_metric_add(bf_metric_t *metric, int64_t value);
void bf_metric_set(bf_metric_t *metric, int64_t value);
/** HISTOGRAM only. */
void bf_metric_observe(bf_metric_t *metric, int64_t value);
/** Value of a counter or gauge, sum of a histogram. */
int64_t bf_metric_value(const bf_metric_t *metric);
/** Observations of a histogram. */
int64_t bf_metric_count(const bf_metric_t *metric);

#endif /* BF_METRICS_H */
