/*
 * publisher_early.c - messages that do not wait for the transaction
 *
 * A second, plain idempotent producer.  The shard's thread gives it the early messages of
 * a publication; reports of their delivery are served by the publisher's thread while it
 * waits for them, before it publishes the rest: so the offsets of a command never move
 * before its early message is acknowledged.  What cannot be sent early goes with the
 * rest.
 *
 * With `all` (delivery without transactions) everything goes this way, and the order of
 * the messages of a partition is kept: a publication that could not be sent early, or not
 * whole, goes through the queue, and until it is published those behind it do so as well.
 *
 * Each publication has a slot with its count of messages on their way, since a handle's
 * messages are acknowledged in any order, and a later publication's may be among them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "publisher_int.h"

#define POLL_MS 10

static void on_delivered(bf_producer_t *producer, size_t index, bool failed)
{
    bf_early_t *early = producer->delivered_arg;
    bf_early_slot_t *slot = &early->slots[index];
    if (failed) {
        atomic_store(&early->blocked, true);
        atomic_store(&slot->failed, true);
    }
    atomic_fetch_sub(&slot->waiting, 1);
}

/* What cannot be taken at once goes with the rest. */
static bool never_wait(void *arg)
{
    (void)arg;
    return true;
}

void bf_early_init(bf_early_t *early, const bf_producer_t *like, bool all)
{
    early->producer = (bf_producer_t){.context = like->context,
                                      .setup = like->setup,
                                      .stop = never_wait,
                                      .delivered = on_delivered,
                                      .delivered_arg = early};
    early->producer.setup.transactional_id = NULL;
    early->producer.setup.linger_ms = "1"; /* nobody flushes here */
    early->on = true;
    early->all = all;
}

bool bf_early_includes(const bf_early_t *early, const bf_message_t *message)
{
    return early->all || message->early;
}

/* A handle that met a fatal error sends nothing any more; while nothing of ours is on its
 * way the publisher's thread does not look at it. */
static void drop_dead_handle(bf_early_t *early)
{
    char text[BF_BUS_TEXT_MAX];
    rd_kafka_t *rk = early->producer.rk;
    if (!rk ||
        rd_kafka_fatal_error(rk, text, sizeof(text)) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        return;
    }
    for (size_t i = 0; i < BF_EARLY_SLOTS; i++) {
        if (atomic_load(&early->slots[i].used)) {
            return;
        }
    }
    bf_early_drop(early);
}

/* 0 = none is free. */
static size_t take_slot(bf_early_t *early)
{
    for (size_t i = 0; i < BF_EARLY_SLOTS; i++) {
        bf_early_slot_t *slot = &early->slots[i];
        if (!atomic_load(&slot->used) && atomic_load(&slot->waiting) == 0) {
            atomic_store(&slot->failed, false);
            atomic_store(&slot->used, true);
            return i + 1;
        }
    }
    return 0;
}

static bool has_early(const bf_early_t *early, const bf_publication_t *publication)
{
    for (size_t i = 0; i < publication->message_count; i++) {
        if (bf_early_includes(early, &publication->messages[i])) {
            return true;
        }
    }
    return false;
}

static bf_status_t open_handle(bf_early_t *early, bf_err_t *err)
{
    drop_dead_handle(early);
    return early->producer.rk ? BF_OK : bf_producer_open(&early->producer, 0, err);
}

static bf_status_t send_all(bf_early_t *early, const bf_publication_t *publication,
                            bf_err_t *err)
{
    bf_early_slot_t *slot = &early->slots[publication->early - 1];
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < publication->message_count; i++) {
        if (!bf_early_includes(early, &publication->messages[i])) {
            continue;
        }
        atomic_fetch_add(&slot->waiting, 1);
        rc = bf_producer_send_one(&early->producer, &publication->messages[i],
                                  publication->early - 1, err);
        if (rc != BF_OK) {
            atomic_store(&slot->failed, true);
            atomic_fetch_sub(&slot->waiting, 1);
        }
    }
    return rc;
}

bf_status_t bf_early_send(bf_early_t *early, bf_publication_t *publication,
                          size_t pending, bf_err_t *err)
{
    publication->early = 0;
    if (!early->on || !has_early(early, publication)) {
        return BF_OK;
    }
    if (pending == 0) {
        atomic_store(&early->blocked, false);
        atomic_store(&early->again, false);
    } else if (early->all && atomic_load(&early->blocked)) {
        return BF_OK;
    }
    bf_status_t rc = open_handle(early, err);
    publication->early = rc == BF_OK ? take_slot(early) : 0;
    if (publication->early != 0) {
        rc = send_all(early, publication, err);
    }
    if (publication->early == 0 || rc != BF_OK) {
        atomic_store(&early->blocked, true);
    }
    return rc;
}

bool bf_early_wait(bf_early_t *early, const bf_publication_t *publication,
                   int64_t timeout_ms)
{
    if (publication->early == 0) {
        return true;
    }
    bf_early_slot_t *slot = &early->slots[publication->early - 1];
    for (int64_t waited = 0; atomic_load(&slot->waiting) > 0; waited += POLL_MS) {
        if (waited >= timeout_ms) {
            return false;
        }
        rd_kafka_poll(early->producer.rk, POLL_MS);
    }
    return true;
}

bool bf_early_is_done(const bf_early_t *early, const bf_publication_t *publication)
{
    return publication->early != 0 && !atomic_load(&early->again) &&
           !atomic_load(&early->slots[publication->early - 1].failed);
}

void bf_early_repeat_from(bf_early_t *early, const bf_publication_t *publication)
{
    if (early->all && publication->message_count > 0) {
        atomic_store(&early->again, true);
    }
}

void bf_early_passed_by(bf_early_t *early, const bf_publication_t *publication)
{
    if (early->all && publication->message_count > 0 && publication->early == 0) {
        atomic_store(&early->blocked, true);
    }
}

void bf_early_finish(bf_early_t *early, const bf_publication_t *publication)
{
    if (publication->early != 0) {
        atomic_store(&early->slots[publication->early - 1].used, false);
    }
}

void bf_early_drop(bf_early_t *early)
{
    bf_producer_drop(&early->producer); /* reports all that is on its way as failed */
    for (size_t i = 0; i < BF_EARLY_SLOTS; i++) {
        atomic_store(&early->slots[i].used, false);
        atomic_store(&early->slots[i].waiting, 0);
    }
}
