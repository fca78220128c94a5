/*
 * metrics.c - counters, gauges and histograms
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/metrics.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/list.h"
#include "bpmflow/num.h"

struct bf_metric {
    bf_list_node_t link; /* in its family */
    const bf_metric_def_t *def;
    char *labels; /* NULL = none */
    atomic_int_least64_t value;
    atomic_int_least64_t count;     /* HISTOGRAM */
    atomic_int_least64_t buckets[]; /* HISTOGRAM: not cumulative; the last is +Inf */
};

typedef struct bf_metric_family {
    bf_list_node_t link;
    const bf_metric_def_t *def;
    bf_list_t metrics;
} bf_metric_family_t;

struct bf_metrics {
    pthread_mutex_t lock;
    bf_list_t families; /* lock; entries are never removed */
};

bf_metrics_t *bf_metrics_new(void)
{
    bf_metrics_t *metrics = calloc(1, sizeof(*metrics));
    if (metrics) {
        pthread_mutex_init(&metrics->lock, NULL);
        bf_list_init(&metrics->families);
    }
    return metrics;
}

void bf_metrics_free(bf_metrics_t *metrics)
{
    if (!metrics) {
        return;
    }
    bf_list_node_t *node;
    while ((node = bf_list_take_first(&metrics->families))) {
        bf_metric_family_t *family = BF_CONTAINER_OF(node, bf_metric_family_t, link);
        bf_list_node_t *inner;
        while ((inner = bf_list_take_first(&family->metrics))) {
            bf_metric_t *metric = BF_CONTAINER_OF(inner, bf_metric_t, link);
            free(metric->labels);
            free(metric);
        }
        free(family);
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

static bf_metric_family_t *family_locked(bf_metrics_t *metrics,
                                         const bf_metric_def_t *def)
{
    BF_LIST_FOREACH (node, &metrics->families) {
        bf_metric_family_t *family = BF_CONTAINER_OF(node, bf_metric_family_t, link);
        if (strcmp(family->def->name, def->name) == 0) {
            BF_ASSERT(family->def->type == def->type);
            return family;
        }
    }
    bf_metric_family_t *family = calloc(1, sizeof(*family));
    if (family) {
        family->def = def;
        bf_list_init(&family->metrics);
        bf_list_append(&metrics->families, &family->link);
    }
    return family;
}

static bf_metric_t *find_metric(const bf_metric_family_t *family, const char *labels)
{
    BF_LIST_FOREACH (node, &family->metrics) {
        bf_metric_t *metric = BF_CONTAINER_OF(node, bf_metric_t, link);
        if (strcmp(metric->labels ? metric->labels : "", labels ? labels : "") == 0) {
            return metric;
        }
    }
    return NULL;
}

static bf_metric_t *metric_new(const bf_metric_def_t *def, const char *labels)
{
    size_t buckets = def->type == BF_METRIC_HISTOGRAM ? def->bucket_count + 1 : 0;
    bf_metric_t *metric =
        calloc(1, sizeof(*metric) + buckets * sizeof(metric->buckets[0]));
    if (!metric) {
        return NULL;
    }
    metric->def = def;
    if (labels && !(metric->labels = strdup(labels))) {
        free(metric);
        return NULL;
    }
    return metric;
}

bf_metric_t *bf_metrics_register(bf_metrics_t *metrics, const bf_metric_def_t *def,
                                 const char *labels)
{
    BF_ASSERT(def->bucket_count <= BF_METRIC_BUCKETS_MAX);
    pthread_mutex_lock(&metrics->lock);
    bf_metric_family_t *family = family_locked(metrics, def);
    bf_metric_t *metric = family ? find_metric(family, labels) : NULL;
    if (family && !metric) {
        metric = metric_new(family->def, labels);
        if (metric) {
            bf_list_append(&family->metrics, &metric->link);
        }
    }
    pthread_mutex_unlock(&metrics->lock);
    return metric;
}

void bf_metric_add(bf_metric_t *metric, int64_t value)
{
    if (metric) {
        atomic_fetch_add_explicit(&metric->value, value, memory_order_relaxed);
    }
}

void bf_metric_set(bf_metric_t *metric, int64_t value)
{
    if (metric) {
        atomic_store_explicit(&metric->value, value, memory_order_relaxed);
    }
}

void bf_metric_observe(bf_metric_t *metric, int64_t value)
{
    if (!metric) {
        return;
    }
    BF_ASSERT(metric->def->type == BF_METRIC_HISTOGRAM);
    size_t i = 0;
    while (i < metric->def->bucket_count && value > metric->def->buckets[i]) {
        i++;
    }
    atomic_fetch_add_explicit(&metric->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&metric->value, value, memory_order_relaxed);
    atomic_fetch_add_explicit(&metric->count, 1, memory_order_relaxed);
}

int64_t bf_metric_value(const bf_metric_t *metric)
{
    return metric ? atomic_load_explicit(&metric->value, memory_order_relaxed) : 0;
}

int64_t bf_metric_count(const bf_metric_t *metric)
{
    return metric ? atomic_load_explicit(&metric->count, memory_order_relaxed) : 0;
}

static void put_number(bf_str_t *str, const bf_metric_def_t *def, int64_t value)
{
    if (def->scale == 0 || def->scale == 1) {
        bf_str_put_i64(str, value);
        return;
    }
    char text[BF_NUM_TEXT_MAX];
    bf_num_format_real((double)value * def->scale, text);
    bf_str_puts(str, text);
}

/* name{labels,extra} */
static void put_name(bf_str_t *str, const bf_metric_t *metric, const char *suffix,
                     const char *extra)
{
    bf_str_puts(str, metric->def->name);
    bf_str_puts(str, suffix);
    if (metric->labels || extra) {
        bf_str_putc(str, '{');
        bf_str_puts(str, metric->labels ? metric->labels : "");
        bf_str_puts(str, metric->labels && extra ? "," : "");
        bf_str_puts(str, extra ? extra : "");
        bf_str_putc(str, '}');
    }
    bf_str_putc(str, ' ');
}

static void write_histogram(bf_str_t *str, const bf_metric_t *metric)
{
    int64_t cumulative = 0;
    for (size_t i = 0; i <= metric->def->bucket_count; i++) {
        cumulative += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        bf_str_t le;
        bf_str_init(&le, 0);
        bf_str_puts(&le, "le=\"");
        if (i < metric->def->bucket_count) {
            put_number(&le, metric->def, metric->def->buckets[i]);
        } else {
            bf_str_puts(&le, "+Inf");
        }
        bf_str_putc(&le, '"');
        put_name(str, metric, "_bucket", bf_str_peek(&le));
        bf_str_put_i64(str, cumulative);
        bf_str_putc(str, '\n');
        bf_str_fini(&le);
    }
    put_name(str, metric, "_sum", NULL);
    put_number(str, metric->def, bf_metric_value(metric));
    bf_str_putc(str, '\n');
    put_name(str, metric, "_count", NULL);
    bf_str_put_i64(str, cumulative); /* not the counter: it must equal the last bucket */
    bf_str_putc(str, '\n');
}

static void write_family(bf_str_t *str, const bf_metric_family_t *family)
{
    static const char *const type_names[] = {"counter", "gauge", "histogram"};
    const bf_metric_def_t *def = family->def;
    bf_str_printf(str, "# HELP %s %s\n# TYPE %s %s\n", def->name, def->help, def->name,
                  type_names[def->type]);
    BF_LIST_FOREACH (node, &family->metrics) {
        const bf_metric_t *metric = BF_CONTAINER_OF(node, bf_metric_t, link);
        if (def->type == BF_METRIC_HISTOGRAM) {
            write_histogram(str, metric);
        } else {
            put_name(str, metric, "", NULL);
            put_number(str, def, bf_metric_value(metric));
            bf_str_putc(str, '\n');
        }
    }
}

void bf_metrics_write(bf_metrics_t *metrics, bf_str_t *str)
{
    pthread_mutex_lock(&metrics->lock);
    BF_LIST_FOREACH (node, &metrics->families) {
        write_family(str, BF_CONTAINER_OF(node, bf_metric_family_t, link));
    }
    pthread_mutex_unlock(&metrics->lock);
}
