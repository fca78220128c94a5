/*
 * load_stats.c - latencies and the report of a load; see load.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "worker/cli/load.h"
#include "worker/cli/table.h"

/* Values under 128 have a class each; above, 64 classes for each power of two. */
static size_t class_of(uint64_t us)
{
    if (us < 128)
        return (size_t)us;
    unsigned shift = 57u - (unsigned)__builtin_clzll(us); /* us >> shift is 64..127 */
    size_t class = (size_t)shift * 64 + (size_t)(us >> shift);
    return class < BF_HISTOGRAM_CLASSES ? class : BF_HISTOGRAM_CLASSES - 1;
}

/* The largest value of a class. */
static uint64_t top_of(size_t class)
{
    if (class < 128)
        return class;
    uint64_t shift = class / 64 - 1;
    uint64_t head = class - shift * 64;
    return ((head + 1) << shift) - 1;
}

void bf_histogram_add(bf_histogram_t *histogram, uint64_t us)
{
    histogram->counts[class_of(us)]++;
    histogram->total++;
    histogram->sum_us += us;
    histogram->max_us = us > histogram->max_us ? us : histogram->max_us;
}

/* @param share 0..1 */
static uint64_t quantile(const bf_histogram_t *histogram, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)histogram->total + 0.5);
    uint64_t seen = 0;
    for (size_t i = 0; i < BF_HISTOGRAM_CLASSES; i++) {
        seen += histogram->counts[i];
        if (seen >= wanted && seen > 0) {
            uint64_t top = top_of(i);
            return top < histogram->max_us ? top : histogram->max_us;
        }
    }
    return histogram->max_us;
}

static double seconds_of(int64_t from_ns, int64_t to_ns)
{
    return from_ns && to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

static double rate_of(uint64_t count, double seconds)
{
    return seconds > 0 ? (double)count / seconds : 0;
}

static double ms_of(uint64_t us)
{
    return (double)us / 1000.0;
}

typedef struct numbers {
    double send_seconds;
    double seconds; /* of the replies */
    uint64_t missing;
    double mean_ms;
} numbers_t;

static void put_json(const bf_load_plan_t *plan, const bf_load_stats_t *stats,
                     const char *title, const numbers_t *numbers, bf_str_t *ret)
{
    const bf_histogram_t *latency = &stats->latency;
    bf_str_printf(ret, "{\"round\":\"%s\",\"prefix\":", title);
    bf_json_write_string(ret, plan->prefix, strlen(plan->prefix));
    bf_str_puts(ret, ",\"graph_id\":");
    bf_json_write_string(ret, plan->graph->id, strlen(plan->graph->id));
    bf_str_printf(ret, ",\"instances\":%u,\"steps\":%u,\"commands\":%llu,\"sent\":%llu",
                  plan->instances, plan->steps,
                  (unsigned long long)plan->instances * plan->commands,
                  (unsigned long long)stats->sent);
    bf_str_printf(
        ret,
        ",\"answered\":%llu,\"accepted\":%llu,\"rejected\":%llu,"
        "\"duplicates\":%llu,\"missing\":%llu,\"extra\":%llu",
        (unsigned long long)stats->answered, (unsigned long long)stats->accepted,
        (unsigned long long)stats->rejected, (unsigned long long)stats->duplicates,
        (unsigned long long)numbers->missing, (unsigned long long)stats->extra);
    bf_str_printf(ret,
                  ",\"send_seconds\":%.3f,\"sends_per_s\":%.0f,\"seconds\":%.3f,"
                  "\"replies_per_s\":%.0f",
                  numbers->send_seconds, rate_of(stats->sent, numbers->send_seconds),
                  numbers->seconds, rate_of(stats->answered, numbers->seconds));
    bf_str_printf(ret,
                  ",\"latency_ms\":{\"mean\":%.3f,\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,"
                  "\"max\":%.3f},\"codes\":{",
                  numbers->mean_ms, ms_of(quantile(latency, 0.50)),
                  ms_of(quantile(latency, 0.90)), ms_of(quantile(latency, 0.99)),
                  ms_of(latency->max_us));
    const char *comma = "";
    for (int code = 0; code < BF_CODE_COUNT; code++) {
        if (stats->codes[code] == 0)
            continue;
        bf_str_printf(ret, "%s\"%s\":%llu", comma, bf_code_name((bf_code_t)code),
                      (unsigned long long)stats->codes[code]);
        comma = ",";
    }
    bf_str_puts(ret, "}}\n");
}

static void put_people(const bf_load_stats_t *stats, const char *title,
                       const numbers_t *numbers, bf_str_t *ret)
{
    const bf_histogram_t *latency = &stats->latency;
    bf_str_printf(ret, "%-10s%llu sent in %.2f s (%.0f/s)\n", title,
                  (unsigned long long)stats->sent, numbers->send_seconds,
                  rate_of(stats->sent, numbers->send_seconds));
    bf_str_printf(
        ret,
        "replies   %llu in %.2f s (%.0f/s): %llu accepted, %llu rejected, %llu "
        "duplicates, %llu missing, %llu too many\n",
        (unsigned long long)stats->answered, numbers->seconds,
        rate_of(stats->answered, numbers->seconds), (unsigned long long)stats->accepted,
        (unsigned long long)stats->rejected, (unsigned long long)stats->duplicates,
        (unsigned long long)numbers->missing, (unsigned long long)stats->extra);
    if (latency->total > 0)
        bf_str_printf(ret,
                      "latency   mean %.1f ms, p50 %.1f, p90 %.1f, p99 %.1f, max %.1f\n",
                      numbers->mean_ms, ms_of(quantile(latency, 0.50)),
                      ms_of(quantile(latency, 0.90)), ms_of(quantile(latency, 0.99)),
                      ms_of(latency->max_us));
    for (int code = 0; code < BF_CODE_COUNT; code++)
        if (stats->codes[code] > 0 && code != BF_CODE_OK)
            bf_str_printf(ret, "rejected  %llu %s\n",
                          (unsigned long long)stats->codes[code],
                          bf_code_name((bf_code_t)code));
    if (stats->sample[0]) {
        bf_str_puts(ret, "the first ");
        bf_text_put_safe(ret, stats->sample, strlen(stats->sample));
        bf_str_putc(ret, '\n');
    }
}

void bf_load_report(const bf_load_plan_t *plan, const bf_load_stats_t *stats,
                    const char *title, bool preloaded, bool json, bf_str_t *ret)
{
    const bf_histogram_t *latency = &stats->latency;
    numbers_t numbers = {
        .send_seconds = seconds_of(stats->first_send_ns, stats->last_send_ns),
        .seconds = seconds_of(preloaded ? stats->first_reply_ns : stats->first_send_ns,
                              stats->last_reply_ns),
        .missing = stats->waited ? stats->sent - stats->answered : 0,
        .mean_ms = latency->total ? ms_of(latency->sum_us) / (double)latency->total : 0};
    if (json)
        put_json(plan, stats, title, &numbers, ret);
    else
        put_people(stats, title, &numbers, ret);
}
