/*
 * hand_over.c - committed batches to the publisher
 *
 * What is committed and not handed over waits in the outbox of the shard; there is at
 * most one.  When the partitions are revoked meanwhile, the callback hands it over or
 * forgets it; the loop here then finds the outbox empty.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/clock.h"
#include "bpmflow/fault.h"
#include "worker/shard_int.h"

#define SUBMIT_MS 100

void bf_hand_over_failed(bf_shard_t *shard, bf_status_t status, const bf_err_t *err)
{
    if (status == BF_OK || status == BF_E_TIMEOUT) {
        return;
    }
    bf_shard_end(shard, status == BF_E_FENCED ? BF_SESSION_FENCED : BF_SESSION_RESTART,
                 "%s", err->text);
}

static void drop_outbox(bf_shard_t *shard)
{
    bf_publication_t *publication = shard->outbox;
    shard->outbox = NULL;
    if (publication) {
        bf_group_metadata_free(publication->group);
        publication->group = NULL;
        publication->release(publication->owner);
    }
}

static bf_status_t submit(bf_shard_t *shard, int64_t timeout_ms, bf_err_t *err)
{
    bf_status_t rc =
        bf_publisher_submit(shard->publisher, shard->outbox, timeout_ms, err);
    if (rc == BF_OK) {
        shard->outbox = NULL;
    }
    return rc;
}

void bf_hand_over(bf_shard_t *shard, bf_batch_t *batch)
{
    bf_err_t err = BF_ERR_INIT;
    int64_t begin = bf_clock_mono_ns();
    bf_status_t rc = BF_FAULT("worker.between_commit_and_publish");
    bf_publication_t *publication = batch->publication;
    if (rc != BF_OK) { /* it is found in [K, D) by the next session */
        bf_group_metadata_free(publication->group);
        publication->group = NULL;
        bf_shard_end(shard, BF_SESSION_RESTART, "a batch cannot be handed over: %s",
                     err.text);
        return;
    }
    publication->submitted_mono_ns = begin;
    if (bf_publisher_early(shard->publisher, publication, &err) != BF_OK) {
        uint64_t suppressed;
        if (bf_log_limit_pass(&shard->limit_early, bf_clock_mono_ms(), &suppressed)) {
            bf_shard_log(shard, BF_LOG_WARNING, "replies go with the events: %s",
                         err.text);
        }
        bf_err_clear(&err);
    }
    atomic_fetch_add(&batch->refs, 1);
    shard->outbox = publication;
    while (shard->outbox) {
        bf_err_clear(&err);
        rc = submit(shard, SUBMIT_MS, &err);
        if (rc == BF_E_TIMEOUT) {
            (void)bf_shard_wait(shard, 0); /* keeps the consumer alive */
        } else if (rc != BF_OK) {
            bf_hand_over_failed(shard, rc, &err);
        }
        if (bf_shard_is_ending(shard)) {
            break; /* closing the session deals with the outbox */
        }
    }
    bf_shard_resume(shard);
    bf_metric_observe(shard->metrics.hand_over_ns, bf_clock_mono_ns() - begin);
}

bf_status_t bf_hand_over_flush(bf_shard_t *shard, int64_t timeout_ms, bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    if (shard->outbox) {
        bf_status_t rc = submit(shard, timeout_ms, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    int64_t left_ms = deadline - bf_clock_mono_ms();
    return bf_publisher_drain(shard->publisher, left_ms > 0 ? left_ms : 0, err);
}

void bf_hand_over_discard(bf_shard_t *shard)
{
    drop_outbox(shard);
    if (shard->publisher) {
        bf_publisher_discard(shard->publisher);
        atomic_store(&shard->publish_trouble, false); /* that was about what is gone */
    }
}
