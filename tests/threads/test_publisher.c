/*
 * test_publisher.c - the hand-over between a shard's thread and its publisher's
 *
 * For ThreadSanitizer: a plain program.  The shard fills publications in arenas of its
 * own and hands them over; the publisher's thread publishes and releases them; meanwhile
 * the shard asks for the state, drains and discards.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/arena.h"
#include "bpmflow/clock.h"
#include "bpmflow/embedded_broker.h"
#include "bpmflow/publisher.h"

#define BATCHES    300
#define MESSAGES   20
#define TIMEOUT_MS 60000

/* Written by the publisher's thread, read by the shard's after a drain: the publisher's
 * lock orders them. */
typedef struct shard {
    int64_t published;
    int64_t messages;
    int64_t released;
    int64_t last; /* number of the last batch */
    bool disorder;
} shard_t;

/* What a publication points to. */
typedef struct batch {
    bf_arena_t arena;
    shard_t *shard;
    int64_t number;
    bf_publication_t publication;
} batch_t;

static void check(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "FAILED: %s\n", what);
        exit(1); /* NOLINT(concurrency-mt-unsafe): the program is over */
    }
}

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    shard_t *shard = arg;
    const batch_t *batch = publication->owner;
    check(duration_ns > 0, "a publication takes time");
    shard->disorder = shard->disorder || batch->number <= shard->last;
    shard->last = batch->number;
    shard->published++;
    shard->messages += (int64_t)publication->message_count;
}

static void on_error(void *arg, bf_status_t status, const char *text, bool final)
{
    (void)arg;
    (void)status;
    (void)fprintf(stderr, "%s%s\n", final ? "ended: " : "", text);
}

static void release(void *owner)
{
    batch_t *batch = owner;
    batch->shard->released++;
    bf_arena_fini(&batch->arena);
    free(batch);
}

static batch_t *make_batch(shard_t *shard, int64_t number)
{
    batch_t *batch = calloc(1, sizeof(*batch));
    check(batch != NULL, "memory");
    bf_arena_init(&batch->arena, 0);
    batch->shard = shard;
    batch->number = number;
    bf_message_t *messages = bf_arena_calloc(&batch->arena, MESSAGES, sizeof(*messages));
    check(messages != NULL, "memory");
    for (int i = 0; i < MESSAGES; i++) {
        messages[i].topic = "events";
        messages[i].key = "k";
        messages[i].key_len = 1;
        messages[i].value =
            bf_arena_printf(&batch->arena, "%lld-%d", (long long)number, i);
        check(messages[i].value != NULL, "memory");
        messages[i].value_len = strlen(messages[i].value);
    }
    batch->publication = (bf_publication_t){.messages = messages,
                                            .message_count = MESSAGES,
                                            .submitted_mono_ns = bf_clock_mono_ns(),
                                            .release = release,
                                            .owner = batch};
    return batch;
}

static void submit(bf_publisher_t *publisher, batch_t *batch)
{
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc =
        bf_publisher_submit(publisher, &batch->publication, TIMEOUT_MS, &err);
    check(rc == BF_OK, err.text);
}

static void drain(bf_publisher_t *publisher)
{
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc = bf_publisher_drain(publisher, TIMEOUT_MS, &err);
    check(rc == BF_OK, err.text);
}

static void hand_over(bf_publisher_t *publisher, shard_t *shard)
{
    for (int64_t n = 1; n <= BATCHES; n++) {
        submit(publisher, make_batch(shard, n));
        check(bf_publisher_state(publisher, NULL) == BF_OK, "state");
        check(bf_publisher_pending(publisher) <= 4,
              "the queue is bounded: two wait, two are in work");
        if (n % 50 == 0) {
            drain(publisher);
            check(shard->published == n && shard->released == n,
                  "a drain waits for everything");
        }
    }
    check(!shard->disorder, "order");
    check(shard->messages == (int64_t)BATCHES * MESSAGES, "every message");
}

static void discard_some(bf_publisher_t *publisher, shard_t *shard)
{
    int64_t before = shard->released;
    for (int64_t n = 1; n <= 50; n++) {
        submit(publisher, make_batch(shard, BATCHES + 2 * n));
        submit(publisher, make_batch(shard, BATCHES + 2 * n + 1));
        bf_publisher_discard(publisher);
        check(shard->released == before + 2 * n, "a discard releases what is queued");
    }
    submit(publisher, make_batch(shard, BATCHES + 1000));
    drain(publisher);
    check(shard->last == BATCHES + 1000, "it works after a discard");
}

int main(void)
{
    bf_err_t err = BF_ERR_INIT;
    shard_t shard = {0};
    bf_embedded_broker_t *broker = NULL;
    bf_status_t rc = bf_embedded_broker_new(&broker, &err);
    check(rc == BF_OK, err.text);
    rc = bf_embedded_broker_create_topic(broker, "events", 4, &err);
    check(rc == BF_OK, err.text);
    bf_publisher_options_t options = {.brokers = bf_embedded_broker_address(broker),
                                      .delivery = BF_DELIVERY_IDEMPOTENT,
                                      .on_published = on_published,
                                      .on_error = on_error,
                                      .arg = &shard};
    bf_publisher_t *publisher = NULL;
    rc = bf_publisher_new(&options, TIMEOUT_MS, &publisher, &err);
    check(rc == BF_OK, err.text);
    hand_over(publisher, &shard);
    discard_some(publisher, &shard);
    submit(publisher, make_batch(&shard, BATCHES + 2000));
    bf_publisher_free(publisher); /* with work in the queue */
    bf_embedded_broker_free(broker);
    (void)printf("%lld publications, %lld released\n", (long long)shard.published,
                 (long long)shard.released);
    return 0;
}
