/*
 * wait.c - pauses, back-off, keeping the consumer alive
 *
 * While a shard waits for the database or for Kafka it goes on polling: a consumer that
 * does not poll is thrown out of its group.  Its partitions are paused meanwhile; what is
 * polled all the same is carried into the next batch.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/clock.h"
#include "worker/shard_int.h"

#define POLL_SLICE_MS 50
#define OUTAGE_LOG_MS 60000

void bf_outage_init(bf_outage_t *outage, const char *what)
{
    memset(outage, 0, sizeof(*outage));
    outage->what = what;
    outage->limit.interval_ms = OUTAGE_LOG_MS;
}

/* xorshift: spreads the retries of many shards; no more is asked of it. */
static int64_t jitter(bf_shard_t *shard, int64_t pause_ms)
{
    uint64_t x = shard->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    shard->random = x;
    return pause_ms / 2 + (int64_t)(x % (uint64_t)(pause_ms / 2 + 1));
}

int64_t bf_outage_failed(bf_shard_t *shard, bf_outage_t *outage, const bf_err_t *err)
{
    int64_t now = bf_clock_mono_ms();
    uint64_t suppressed = 0;
    int64_t pause_ms = outage->pause_ms;
    if (!outage->down) {
        outage->down = true;
        outage->since_mono_ms = now;
        outage->limit.next_mono_ms = 0;
        outage->limit.suppressed = 0;
    }
    if (pause_ms == 0) {
        pause_ms = shard->settings->batch.retry_min_ms;
    }
    outage->pause_ms = pause_ms * 2 < shard->settings->batch.retry_max_ms
                           ? pause_ms * 2
                           : shard->settings->batch.retry_max_ms;
    if (bf_log_limit_pass(&outage->limit, now, &suppressed)) {
        bf_shard_log(shard, BF_LOG_ERROR,
                     "%s: %s; waiting, nothing is lost (%" PRIu64 " attempts in %" PRId64
                     " s)",
                     outage->what, err->text, suppressed + 1,
                     (now - outage->since_mono_ms) / 1000);
    }
    bf_assignment_report(shard);
    return jitter(shard, pause_ms);
}

void bf_outage_over(bf_shard_t *shard, bf_outage_t *outage)
{
    if (!outage->down) {
        return;
    }
    int64_t ms = bf_clock_mono_ms() - outage->since_mono_ms;
    outage->down = false;
    outage->pause_ms = 0;
    bf_shard_log(shard, BF_LOG_INFO, "%s is back after %" PRId64 ".%" PRId64 " s",
                 outage->what, ms / 1000, ms % 1000 / 100);
    bf_assignment_report(shard);
}

/* A record that came although the partitions are paused. */
static void carry(bf_shard_t *shard, bf_record_t *record)
{
    if (shard->carry_count == shard->carry_cap) {
        bf_record_t *grown =
            bf_array_grow(shard->carry, &shard->carry_cap, sizeof(*grown), 64);
        if (!grown) {
            bf_consumer_release(record);
            bf_shard_end(shard, BF_SESSION_RESTART, "out of memory for a record");
            return;
        }
        shard->carry = grown;
    }
    shard->carry[shard->carry_count++] = *record;
}

void bf_shard_drop_carry(bf_shard_t *shard)
{
    for (size_t i = shard->carry_taken; i < shard->carry_count; i++) {
        bf_consumer_release(&shard->carry[i]);
    }
    shard->carry_count = 0;
    shard->carry_taken = 0;
}

void bf_shard_poll_failed(bf_shard_t *shard, const bf_record_t *record,
                          bf_status_t status, const bf_err_t *err)
{
    if (status == BF_E_BUS && record->topic && record->partition >= 0) {
        bf_assignment_stop_part(shard, record->partition, "%s", err->text);
    } else if (status == BF_E_BUS_RETRY || (status == BF_E_BUS && record->topic)) {
        (void)bf_outage_failed(shard, &shard->kafka, err);
    } else {
        bf_shard_end(shard, BF_SESSION_RESTART, "%s", err->text);
    }
}

static void keep_alive(bf_shard_t *shard, int64_t timeout_ms)
{
    bf_record_t record;
    bf_err_t err = BF_ERR_INIT;
    if (!shard->paused) {
        if (bf_consumer_pause(shard->consumer, true, &err) != BF_OK) {
            bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
            return;
        }
        shard->paused = true;
    }
    memset(&record, 0, sizeof(record));
    bf_status_t rc = bf_consumer_poll(shard->consumer, timeout_ms, &record, &err);
    if (rc == BF_OK) {
        carry(shard, &record);
    } else if (rc != BF_E_TIMEOUT) {
        bf_shard_poll_failed(shard, &record, rc, &err);
    }
}

bool bf_shard_wait(bf_shard_t *shard, int64_t ms)
{
    int64_t deadline = bf_clock_mono_ms() + ms;
    do {
        int64_t left_ms = deadline - bf_clock_mono_ms();
        int64_t slice_ms = left_ms < POLL_SLICE_MS ? left_ms : POLL_SLICE_MS;
        slice_ms = slice_ms < 0 ? 0 : slice_ms;
        if (shard->consumer) {
            keep_alive(shard, slice_ms);
        } else {
            bf_clock_sleep_ms(slice_ms);
        }
        if (bf_shard_is_ending(shard)) {
            return false;
        }
    } while (bf_clock_mono_ms() < deadline);
    return true;
}

void bf_shard_resume(bf_shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    if (!shard->paused) {
        return;
    }
    shard->paused = false;
    if (bf_consumer_pause(shard->consumer, false, &err) != BF_OK) {
        bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
    }
}
