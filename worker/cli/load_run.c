/*
 * load_run.c - sends the commands of a plan and reads the replies; see load.h
 *
 * One thread: as long as there is something to send and the limits allow it commands are
 * produced; between two portions the replies that are there are taken.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/cli/load.h"

#define PORTION  256 /* commands between two looks at the replies */
#define FLUSH_MS 60000

typedef struct round {
    bf_load_t *load;
    bf_load_stats_t *stats;
    uint64_t total;
    bf_str_t json;
    int64_t last_news_ms; /* monotonic: the last reply, or the last command */
} round_t;

static bf_status_t send_next(round_t *round, bf_err_t *err)
{
    bf_load_t *load = round->load;
    uint32_t index = 0;
    uint32_t step = 0;
    char instance_id[BF_ID_MAX_BYTES + 1];
    bf_load_plan_at(&load->plan, round->stats->sent, &index, &step);
    bf_str_clear(&round->json);
    bf_load_plan_write(&load->plan, index, step, instance_id, &round->json);
    bf_status_t rc = bf_str_status(&round->json, "command", err);
    if (rc != BF_OK)
        return rc;
    int64_t now = bf_clock_mono_ns();
    load->sent_ns[(uint64_t)index * load->plan.commands + step] = now;
    if (round->stats->sent == 0)
        round->stats->first_send_ns = now;
    rc =
        bf_client_send(load->client, instance_id, round->json.data, round->json.len, err);
    round->stats->last_send_ns = bf_clock_mono_ns();
    round->stats->sent += rc == BF_OK;
    return rc;
}

/* How many may be sent now. */
static uint64_t allowed(const round_t *round)
{
    const bf_load_t *load = round->load;
    const bf_load_stats_t *stats = round->stats;
    uint64_t count = round->total - stats->sent;
    if (!load->preload && load->wait) {
        uint64_t open = stats->sent - stats->answered;
        uint64_t room = open < load->concurrency ? load->concurrency - open : 0;
        count = room < count ? room : count;
    }
    if (load->rate > 0 && stats->first_send_ns) {
        double seconds = (double)(bf_clock_mono_ns() - stats->first_send_ns) / 1e9;
        uint64_t due = (uint64_t)(seconds * (double)load->rate) + 1;
        uint64_t left = due > stats->sent ? due - stats->sent : 0;
        count = left < count ? left : count;
    }
    return count < PORTION ? count : PORTION;
}

static bool has(const bf_record_t *record, const char *text)
{
    return record->value && memmem(record->value, record->value_len, text, strlen(text));
}

static bf_code_t code_of(const bf_record_t *record)
{
    static const char name[] = ",\"code\":\"";
    const char *at = record->value
                         ? memmem(record->value, record->value_len, name, sizeof name - 1)
                         : NULL;
    char text[40] = {0};
    for (size_t i = 0; at && i + 1 < sizeof text; i++) {
        const char *c = at + sizeof name - 1 + i;
        if (c >= record->value + record->value_len || *c == '"')
            break;
        text[i] = *c;
    }
    return bf_code_of_name(text);
}

static void keep_sample(bf_load_stats_t *stats, const bf_record_t *record)
{
    size_t len = record->value_len < sizeof stats->sample ? record->value_len
                                                          : sizeof stats->sample - 1;
    if (!stats->sample[0] && record->value) {
        memcpy(stats->sample, record->value, len);
        stats->sample[len] = '\0';
    }
}

static void take_reply(round_t *round, const bf_record_t *record)
{
    bf_load_t *load = round->load;
    bf_load_stats_t *stats = round->stats;
    const bf_header_t *id = bf_record_header(record, "ce_id");
    uint32_t index = 0;
    uint32_t step = 0;
    if (!id || !id->value ||
        !bf_load_plan_parse(&load->plan, id->value, id->len, &index, &step))
        return; /* of somebody else */
    int64_t now = bf_clock_mono_ns();
    uint64_t place = (uint64_t)index * load->plan.commands + step;
    round->last_news_ms = now / 1000000;
    if (load->replies[place] < UINT8_MAX)
        load->replies[place]++;
    if (load->replies[place] > 1) {
        stats->extra++;
        return;
    }
    stats->answered++;
    /* Quotes inside of texts are escaped, so these are the members. */
    stats->duplicates += has(record, ",\"duplicate\":true,");
    if (has(record, ",\"status\":\"accepted\"")) {
        stats->accepted++;
        stats->codes[BF_CODE_OK]++;
    } else {
        bf_code_t code = code_of(record);
        stats->rejected++;
        stats->codes[code < BF_CODE_COUNT ? code : BF_CODE_MALFORMED]++;
        keep_sample(stats, record);
    }
    if (!stats->first_reply_ns)
        stats->first_reply_ns = now;
    stats->last_reply_ns = now;
    int64_t sent = load->sent_ns[place];
    bf_histogram_add(&stats->latency,
                     sent && now > sent ? (uint64_t)(now - sent) / 1000 : 0);
}

/* Everything that is there, waiting up to wait_ms for the first. */
static bf_status_t take_replies(round_t *round, int64_t wait_ms, bf_err_t *err)
{
    bf_record_t record;
    bf_status_t rc;
    int taken = 0;
    while ((rc = bf_client_poll_reply(round->load->client, taken ? 0 : wait_ms, &record,
                                      err)) == BF_OK) {
        take_reply(round, &record);
        bf_consumer_release(&record);
        if (++taken == PORTION)
            return BF_OK;
    }
    if (rc == BF_E_TIMEOUT || rc == BF_E_BUS_RETRY) {
        bf_err_clear(err);
        return BF_OK;
    }
    return rc;
}

static void show_progress(const round_t *round)
{
    const bf_load_stats_t *stats = round->stats;
    double seconds = (double)(bf_clock_mono_ns() - stats->first_send_ns) / 1e9;
    bf_cli_progress("%llu of %llu sent, %llu answered (%.0f/s), %llu rejected",
                    (unsigned long long)stats->sent, (unsigned long long)round->total,
                    (unsigned long long)stats->answered,
                    seconds > 0 ? (double)stats->answered / seconds : 0,
                    (unsigned long long)stats->rejected);
}

static bf_status_t send_some(round_t *round, uint64_t count, bf_err_t *err)
{
    bf_load_t *load = round->load;
    bf_status_t rc = BF_OK;
    for (uint64_t i = 0; rc == BF_OK && i < count; i++)
        rc = send_next(round, err);
    if (rc != BF_OK || count == 0)
        return rc;
    round->last_news_ms = bf_clock_mono_ms();
    if (round->stats->sent < round->total || !(load->preload || !load->wait))
        return rc;
    rc = bf_client_flush(load->client, FLUSH_MS, err);
    round->last_news_ms = bf_clock_mono_ms();
    if (rc == BF_OK && load->preload)
        bf_cli_note("%llu commands are preloaded", (unsigned long long)round->total);
    return rc;
}

static bf_status_t turn(round_t *round, bf_err_t *err)
{
    bf_load_t *load = round->load;
    bf_load_stats_t *stats = round->stats;
    uint64_t count = allowed(round);
    bf_status_t rc = send_some(round, count, err);
    if (rc == BF_OK && load->wait)
        rc = take_replies(round, count > 0 ? 0 : load->rate > 0 ? 1 : 20, err);
    else if (rc == BF_OK && count == 0)
        bf_clock_sleep_ms(1); /* the rate is the limit */
    show_progress(round);
    if (rc == BF_OK && load->wait && stats->answered < stats->sent &&
        bf_clock_mono_ms() - round->last_news_ms > load->timeout_ms)
        rc =
            bf_err_set(err, BF_E_TIMEOUT,
                       "no reply for %lld ms, %llu are missing: are the workers running, "
                       "and are replies enabled?",
                       (long long)load->timeout_ms,
                       (unsigned long long)(stats->sent - stats->answered));
    if (rc == BF_OK && bf_cli_stopped())
        rc = bf_err_set(err, BF_E_CANCELLED, "interrupted");
    return rc;
}

bf_status_t bf_load_round(bf_load_t *load, bf_load_stats_t *ret, bf_err_t *err)
{
    memset(ret, 0, sizeof *ret);
    ret->waited = load->wait;
    round_t round = {.load = load,
                     .stats = ret,
                     .total = (uint64_t)load->plan.instances * load->plan.commands,
                     .last_news_ms = bf_clock_mono_ms()};
    bf_str_init(&round.json, 0);
    memset(load->replies, 0, (size_t)round.total);
    bf_status_t rc = BF_OK;
    while (rc == BF_OK &&
           (ret->sent < round.total || (load->wait && ret->answered < round.total)))
        rc = turn(&round, err);
    bf_cli_progress_end();
    bf_str_fini(&round.json);
    return rc;
}
