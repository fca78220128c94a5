/*
 * publisher_attempt.c - one attempt to publish, in a transaction or without
 *
 * Errors of the transactional API are looked at in the order that librdkafka asks for:
 * must the transaction be aborted; may the same call be repeated; anything else makes the
 * handle useless.
 *
 * A handle is used for one transaction after the other only while everything goes well.
 * After any failure, and after a commit that met an error of the connection or took long,
 * it is given up, since requests that were on their way may still arrive and would count
 * for the next transaction of the same producer epoch: an end of a transaction that comes
 * late ends another one in the middle.  The next handle's init_transactions raises the
 * epoch and ends for good what was open; where a commit had been sent, the offsets that
 * it would have moved tell how it ended.
 *
 * For the same reason the calls that end a transaction are made once, with a time-out
 * that is not expected to be reached, and never resumed (librdkafka 2.0.2 takes a commit
 * for an abort, and ends the process, when the first step of a resumed commit times out).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "bpmflow/clock.h"
#include "publisher_int.h"

#define ABORT_MS         2000
#define CALM_MS          3000 /* a transaction that takes longer has met trouble */
#define OFFSETS_SLICE_MS 5000 /* not resumable: give it time */
#define RETRY_PAUSE_MS   20
#define RESOLVE_SLICE_MS 2000
#define FLUSH_SLICE_MS   500

static bool must_stop(const bf_producer_t *producer)
{
    return producer->stop && producer->stop(producer->stop_arg);
}

/* --- transactions --- */

typedef struct attempt {
    bf_producer_t *producer;
    const bf_publication_t *publication;
    rd_kafka_topic_partition_list_t *offsets; /* NULL = none to send */
    bf_delivery_state_t *state;
    bf_err_t *err;
} attempt_t;

typedef rd_kafka_error_t *(*tx_call_fn)(const attempt_t *attempt);

static rd_kafka_error_t *call_begin(const attempt_t *attempt)
{
    return rd_kafka_begin_transaction(attempt->producer->rk);
}

static rd_kafka_error_t *call_offsets(const attempt_t *attempt)
{
    return rd_kafka_send_offsets_to_transaction(
        attempt->producer->rk, attempt->offsets,
        (const rd_kafka_consumer_group_metadata_t *)attempt->publication->group,
        OFFSETS_SLICE_MS);
}

static int64_t spent_ms(const bf_producer_t *producer)
{
    return bf_clock_mono_ms() - producer->began_mono_ms;
}

static bool is_late(const bf_producer_t *producer)
{
    return spent_ms(producer) >= producer->setup.transaction_timeout_ms;
}

static rd_kafka_error_t *call_commit(const attempt_t *attempt)
{
    /* Not over the half: the rest is for the next handle to find out. */
    return rd_kafka_commit_transaction(
        attempt->producer->rk,
        bf_bus_timeout(attempt->producer->setup.transaction_timeout_ms / 2));
}

/* The cause of a fatal error, or the code itself. */
static rd_kafka_resp_err_t cause_of(rd_kafka_t *rk, const rd_kafka_error_t *error)
{
    rd_kafka_resp_err_t code = rd_kafka_error_code(error);
    if (code == RD_KAFKA_RESP_ERR__FATAL || rd_kafka_error_is_fatal(error)) {
        char text[BF_BUS_TEXT_MAX];
        rd_kafka_resp_err_t cause = rd_kafka_fatal_error(rk, text, sizeof(text));
        return cause != RD_KAFKA_RESP_ERR_NO_ERROR ? cause : code;
    }
    return code;
}

/* Fenced before the transaction could have timed out: by somebody with our
 * transactional.id. */
static bf_status_t fail_for_good(const attempt_t *attempt, rd_kafka_error_t *error,
                                 const char *what)
{
    const bf_producer_t *producer = attempt->producer;
    if (!bf_bus_is_fenced(cause_of(producer->rk, error)) || is_late(producer)) {
        return bf_bus_fail_error(attempt->err, BF_E_BUS_FATAL, error, what);
    }
    bf_err_set(attempt->err, BF_E_FENCED,
               "somebody else uses the transactional.id '%s' (%s: %s); is there a "
               "second worker with the same worker.id, or did a new owner of the "
               "partitions end this one's transaction?",
               producer->setup.transactional_id, what, rd_kafka_error_name(error));
    rd_kafka_error_destroy(error);
    return BF_E_FENCED;
}

/* What an error that cannot be repeated means; it is destroyed. */
static bf_status_t fail(const attempt_t *attempt, rd_kafka_error_t *error,
                        const char *what)
{
    const bf_producer_t *producer = attempt->producer;
    if (rd_kafka_error_txn_requires_abort(error)) {
        bool stale = bf_bus_is_stale(rd_kafka_error_code(error));
        bf_status_t rc = stale ? BF_E_FENCED : BF_E_BUS_ABORT;
        if (!stale && producer->failure.code != RD_KAFKA_RESP_ERR_NO_ERROR) {
            bf_producer_explain(producer, rc, attempt->err);
        }
        return bf_bus_fail_error(attempt->err, rc, error, what);
    }
    if (rd_kafka_error_is_retriable(error)) {
        bf_status_t rc = must_stop(producer) ? BF_E_CANCELLED : BF_E_TIMEOUT;
        return bf_bus_fail_error(attempt->err, rc, error, what);
    }
    return fail_for_good(attempt, error, what);
}

static bf_status_t run_once(const attempt_t *attempt, tx_call_fn call, const char *what)
{
    rd_kafka_error_t *error = call(attempt);
    return error ? fail(attempt, error, what) : BF_OK;
}

/* Repeat the same call while it asks for that and there is time. */
static bf_status_t run(const attempt_t *attempt, tx_call_fn call, const char *what)
{
    const bf_producer_t *producer = attempt->producer;
    for (;;) {
        rd_kafka_error_t *error = call(attempt);
        if (!error) {
            return BF_OK;
        }
        bool again = rd_kafka_error_is_retriable(error) &&
                     !rd_kafka_error_txn_requires_abort(error) && !is_late(producer) &&
                     !must_stop(producer);
        if (!again) {
            return fail(attempt, error, what);
        }
        rd_kafka_error_destroy(error);
        bf_clock_sleep_ms(RETRY_PAUSE_MS);
    }
}

/* The next attempt gets another handle, which ends what this one leaves.  An abort now is
 * for those who wait for the end of the transaction: readers, and the next owner. */
static void give_up_handle(const attempt_t *attempt)
{
    bf_producer_t *producer = attempt->producer;
    if (!attempt->state->unknown) {
        rd_kafka_error_t *error = rd_kafka_abort_transaction(producer->rk, ABORT_MS);
        if (error) {
            rd_kafka_error_destroy(error);
        }
    }
    bf_producer_drop(producer);
}

/* A handle without membership that asks for the offsets of the group. */
static bf_status_t read_group_offsets(const bf_producer_t *producer, const char *group,
                                      bf_topic_partition_t *partitions, size_t count,
                                      bf_err_t *err)
{
    bf_bus_context_t context = producer->context;
    const bf_property_t defaults[] = {{"group.id", group},
                                      {"enable.auto.commit", "false"},
                                      {"isolation.level", "read_committed"}};
    bf_bus_setup_t setup = {.context = &context,
                            .client_id = producer->setup.client_id,
                            .defaults = defaults,
                            .default_count = sizeof(defaults) / sizeof(defaults[0]),
                            .properties = producer->setup.properties,
                            .property_count = producer->setup.property_count};
    rd_kafka_t *rk = NULL;
    bf_status_t rc = bf_bus_new(&setup, &rk, err);
    if (rc != BF_OK) {
        return rc;
    }
    int64_t deadline = bf_clock_mono_ms() + producer->setup.transaction_timeout_ms;
    for (;;) {
        bf_err_t one = BF_ERR_INIT;
        rc = bf_bus_committed(rk, partitions, count, RESOLVE_SLICE_MS, &one);
        bool again = rc == BF_E_TIMEOUT && bf_clock_mono_ms() < deadline;
        if (again && must_stop(producer)) {
            rc = BF_E_CANCELLED;
            again = false;
        }
        if (!again) {
            if (rc != BF_OK) {
                bf_err_set(err, rc, "did the transaction go through? %.400s", one.text);
            }
            break;
        }
    }
    rd_kafka_destroy(rk);
    return rc;
}

/* Did an earlier attempt go through? It moved all of the offsets or none. */
static bf_status_t resolve(const bf_producer_t *producer, const char *group,
                           const bf_publication_t *publication, bool *ret_done,
                           bf_err_t *err)
{
    size_t count = publication->offset_count;
    *ret_done = false;
    if (count == 0 || !publication->group) {
        return BF_OK;
    }
    bf_topic_partition_t *partitions = calloc(count, sizeof(*partitions));
    if (!partitions) {
        return bf_err_nomem(err, "committed offsets");
    }
    for (size_t i = 0; i < count; i++) {
        partitions[i] = publication->offsets[i];
    }
    bf_status_t rc = read_group_offsets(producer, group, partitions, count, err);
    size_t moved = 0;
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        moved += partitions[i].offset >= publication->offsets[i].offset;
    }
    free(partitions);
    if (rc == BF_OK && moved != 0 && moved != count) {
        return bf_err_set(err, BF_E_FENCED,
                          "the group has committed offsets beyond ours on %zu of %zu "
                          "partitions: they have another owner",
                          moved, count);
    }
    *ret_done = rc == BF_OK && moved == count;
    return rc;
}

/* begin, offsets, produce, commit */
static bf_status_t run_steps(const attempt_t *attempt)
{
    bf_producer_t *producer = attempt->producer;
    bf_status_t rc = BF_FAULT("publish.before_begin");
    rc = rc == BF_OK ? run_once(attempt, call_begin, "begin of the transaction") : rc;
    /* Offsets first: while the markers of the transaction before are being written, the
     * broker answers "later", and librdkafka then comes back after 5 ms for offsets, but
     * after 20 ms for messages. */
    rc = rc == BF_OK ? BF_FAULT("publish.before_offsets") : rc;
    if (rc == BF_OK && attempt->offsets) {
        rc = run(attempt, call_offsets, "offsets of the transaction");
    }
    rc = rc == BF_OK ? bf_producer_send(producer, attempt->publication, 0, attempt->err)
                     : rc;
    rc = rc == BF_OK ? BF_FAULT("publish.before_commit") : rc;
    atomic_store(&producer->filling, false);
    if (rc == BF_OK) {
        attempt->state->unknown = true;
        rc = run_once(attempt, call_commit, "commit of the transaction");
    }
    return rc == BF_OK ? BF_FAULT("publish.after_commit") : rc;
}

static bf_status_t run_transaction(const attempt_t *attempt)
{
    bf_producer_t *producer = attempt->producer;
    (void)rd_kafka_poll(producer->rk, 0); /* error events of the time before */
    producer->context.event = RD_KAFKA_RESP_ERR_NO_ERROR;
    producer->began_mono_ms = bf_clock_mono_ms();
    atomic_store(&producer->filling, true);
    bf_status_t rc = run_steps(attempt);
    if (rc != BF_OK) {
        give_up_handle(attempt);
        return rc;
    }
    attempt->state->unknown = false;
    (void)rd_kafka_poll(producer->rk, 0);
    if (producer->context.event != RD_KAFKA_RESP_ERR_NO_ERROR ||
        spent_ms(producer) > CALM_MS) {
        bf_producer_drop(producer);
    }
    return BF_OK;
}

bf_status_t bf_publisher_attempt_transaction(bf_producer_t *producer, const char *group,
                                             const bf_publication_t *publication,
                                             bf_delivery_state_t *state, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    if (!producer->rk) {
        rc = bf_producer_open(producer, producer->setup.transaction_timeout_ms, err);
    }
    if (rc == BF_OK && state->unknown) {
        bool done;
        rc = resolve(producer, group, publication, &done, err);
        if (rc == BF_OK && done) {
            return BF_OK;
        }
        state->unknown = rc != BF_OK;
    }
    if (rc != BF_OK) {
        return rc;
    }
    attempt_t attempt = {
        .producer = producer, .publication = publication, .state = state, .err = err};
    if (publication->group && publication->offset_count) {
        attempt.offsets =
            bf_bus_partition_list(publication->offsets, publication->offset_count);
        if (!attempt.offsets) {
            return bf_err_nomem(err, "offsets of the transaction");
        }
    }
    rc = run_transaction(&attempt);
    if (attempt.offsets) {
        rd_kafka_topic_partition_list_destroy(attempt.offsets);
    }
    return rc;
}

/* --- without transactions --- */

/* Wait for all acknowledgements; librdkafka itself repeats what failed on the way. */
static bf_status_t flush(bf_producer_t *producer, bf_err_t *err)
{
    while (rd_kafka_flush(producer->rk, FLUSH_SLICE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (must_stop(producer)) {
            bf_producer_drop(producer);
            return bf_err_set(err, BF_E_CANCELLED, "stopped");
        }
    }
    char text[BF_BUS_TEXT_MAX];
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(producer->rk, text, sizeof(text));
    if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR) {
        bf_bus_fail(err, BF_E_BUS_FATAL, fatal, text, "producer");
        bf_producer_drop(producer);
        return BF_E_BUS_FATAL;
    }
    return BF_OK;
}

bf_status_t bf_publisher_attempt_plain(bf_producer_t *producer, bf_consumer_t *consumer,
                                       const bf_publication_t *publication,
                                       bf_delivery_state_t *state, bf_err_t *err)
{
    bf_status_t rc = producer->rk ? BF_OK : bf_producer_open(producer, 0, err);
    if (rc != BF_OK) {
        return rc;
    }
    rc = BF_FAULT("publish.before_begin");
    rc =
        rc == BF_OK ? bf_producer_send(producer, publication, state->delivered, err) : rc;
    if (rc != BF_OK) {
        bf_producer_drop(producer); /* what is on its way would overtake the repetition */
        return rc;
    }
    rc = publication->message_count ? flush(producer, err) : BF_OK;
    if (rc != BF_OK) {
        return rc;
    }
    if (producer->failure.code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        state->delivered = producer->failure.index;
        return bf_producer_explain(producer, BF_E_BUS, err);
    }
    state->delivered = publication->message_count;
    rc = BF_FAULT("publish.before_commit");
    if (rc == BF_OK && consumer && publication->offset_count) {
        rc = bf_consumer_commit(consumer, publication->offsets, publication->offset_count,
                                err);
    }
    return rc == BF_OK ? BF_FAULT("publish.after_commit") : rc;
}
