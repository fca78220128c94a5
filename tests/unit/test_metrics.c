/*
 * test_metrics.c - counters, gauges and histograms
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/metrics.h"

#include <criterion/criterion.h>
#include <string.h>

static const bf_metric_def_t def_count = {
    .name = "t_count_total", .help = "Things.", .type = BF_METRIC_COUNTER};
static const bf_metric_def_t def_seconds = {
    .name = "t_seconds_total", .help = "Time.", .type = BF_METRIC_COUNTER, .scale = 1e-9};
static const int64_t bounds[] = {10, 20};
static const bf_metric_def_t def_size = {.name = "t_size",
                                         .help = "Sizes.",
                                         .type = BF_METRIC_HISTOGRAM,
                                         .buckets = bounds,
                                         .bucket_count = 2};

static bf_metrics_t *metrics;
static bf_str_t text;

static void setup(void)
{
    metrics = bf_metrics_new();
    cr_assert(metrics);
    bf_str_init(&text, 0);
}

static void teardown(void)
{
    bf_metrics_free(metrics);
    bf_str_fini(&text);
}

TestSuite(metrics, .init = setup, .fini = teardown);

Test(metrics, write__a_family_has_one_head_and_a_line_per_label)
{
    bf_metric_t *a = bf_metrics_register(metrics, &def_count, "shard=\"0\"");
    bf_metric_t *b = bf_metrics_register(metrics, &def_count, "shard=\"1\"");
    bf_metric_add(a, 3);
    bf_metric_add(a, 4);
    bf_metric_add(b, 1);
    bf_metrics_write(metrics, &text);
    cr_assert_str_eq(bf_str_peek(&text), "# HELP t_count_total Things.\n"
                                         "# TYPE t_count_total counter\n"
                                         "t_count_total{shard=\"0\"} 7\n"
                                         "t_count_total{shard=\"1\"} 1\n");
}

Test(metrics, register__same_name_and_labels_are_the_same_metric)
{
    bf_metric_t *a = bf_metrics_register(metrics, &def_count, "x=\"1\"");
    cr_assert_eq(bf_metrics_register(metrics, &def_count, "x=\"1\""), a);
    cr_assert_neq(bf_metrics_register(metrics, &def_count, NULL), a);
}

Test(metrics, write__values_are_scaled_to_the_base_unit)
{
    bf_metric_t *metric = bf_metrics_register(metrics, &def_seconds, NULL);
    bf_metric_add(metric, 1500000000);
    bf_metrics_write(metrics, &text);
    cr_assert(strstr(bf_str_peek(&text), "t_seconds_total 1.5\n"), "%s",
              bf_str_peek(&text));
}

Test(metrics, write__buckets_of_a_histogram_are_cumulative)
{
    bf_metric_t *metric = bf_metrics_register(metrics, &def_size, "s=\"0\"");
    bf_metric_observe(metric, 10); /* a bound belongs to its bucket */
    bf_metric_observe(metric, 11);
    bf_metric_observe(metric, 1000);
    bf_metrics_write(metrics, &text);
    cr_assert_str_eq(bf_str_peek(&text), "# HELP t_size Sizes.\n"
                                         "# TYPE t_size histogram\n"
                                         "t_size_bucket{s=\"0\",le=\"10\"} 1\n"
                                         "t_size_bucket{s=\"0\",le=\"20\"} 2\n"
                                         "t_size_bucket{s=\"0\",le=\"+Inf\"} 3\n"
                                         "t_size_sum{s=\"0\"} 1021\n"
                                         "t_size_count{s=\"0\"} 3\n");
    cr_assert_eq(bf_metric_count(metric), 3);
    cr_assert_eq(bf_metric_value(metric), 1021);
}

Test(metrics, count__a_missing_metric_is_no_error)
{
    bf_metric_add(NULL, 1);
    bf_metric_set(NULL, 1);
    bf_metric_observe(NULL, 1);
    cr_assert_eq(bf_metric_value(NULL), 0);
}
