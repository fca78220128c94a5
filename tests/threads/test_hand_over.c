/*
 * test_hand_over.c - batches between the shard's thread and the publisher's
 *
 * Run with ThreadSanitizer: a batch is filled on one thread, published on the other, and
 * comes back to the pool from there, while a third thread reads the metrics and the
 * readiness as the HTTP port does.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/plugin.h"
#include "worker/shard_int.h"

#define BATCHES  300
#define MESSAGES 5
#define WAIT_MS  30000

static bf_worker_t worker;
static atomic_int published;
static atomic_bool done;

static void expect(bool condition, const char *what)
{
    if (!condition) {
        (void)fprintf(stderr, "failed: %s\n", what);
        exit(1); /* NOLINT(concurrency-mt-unsafe) */
    }
}

static void on_published(void *arg, const bf_publication_t *publication, int64_t ns)
{
    bf_shard_t *shard = arg;
    bf_metric_observe(shard->metrics.publish_ns, ns);
    bf_metric_add(shard->metrics.published, (int64_t)publication->message_count);
    atomic_fetch_add(&published, 1);
}

static void release(void *owner)
{
    bf_batch_unref(owner);
}

/* What bf_batch_execute() leaves behind, without commands. */
static void fill(bf_batch_t *batch, int number)
{
    bf_message_t *messages = bf_arena_calloc(&batch->arena, MESSAGES, sizeof(*messages));
    batch->publication = bf_arena_calloc(&batch->arena, 1, sizeof(*batch->publication));
    expect(messages && batch->publication, "memory");
    for (int i = 0; i < MESSAGES; i++) {
        char *text = bf_arena_printf(&batch->arena, "%d-%d", number, i);
        expect(text, "memory");
        messages[i] = (bf_message_t){.topic = "events",
                                     .key = text,
                                     .key_len = strlen(text),
                                     .value = text,
                                     .value_len = strlen(text)};
    }
    *batch->publication = (bf_publication_t){.messages = messages,
                                             .message_count = MESSAGES,
                                             .release = release,
                                             .owner = batch};
}

static void *watch(void *arg)
{
    bf_shard_t *shard = arg;
    char reason[256];
    while (!atomic_load(&done)) {
        bf_shard_totals_t totals = {0};
        bf_str_t text;
        bf_str_init(&text, 0);
        bf_shard_add_totals(shard, &totals);
        (void)bf_shard_is_ready(shard, reason);
        bf_metrics_write(worker.metrics, &text);
        bf_str_fini(&text);
    }
    return NULL;
}

static void open_clients(bf_shard_t *shard, bf_err_t *err)
{
    const char *brokers = bf_worker_brokers(&worker);
    const bf_consumer_options_t consumer = {.brokers = brokers,
                                            .group = "g",
                                            .topic = "commands",
                                            .client_id = "test",
                                            .on_assign = bf_assignment_on_assign,
                                            .on_revoke = bf_assignment_on_revoke,
                                            .arg = shard};
    expect(bf_consumer_new(&consumer, &shard->consumer, err) == BF_OK, err->text);
    const bf_publisher_options_t publisher = {.brokers = brokers,
                                              .client_id = "test",
                                              .delivery = BF_DELIVERY_IDEMPOTENT,
                                              .consumer = shard->consumer,
                                              .on_published = on_published,
                                              .arg = shard};
    expect(bf_publisher_new(&publisher, WAIT_MS, &shard->publisher, err) == BF_OK,
           err->text);
}

static void hand_over_all(bf_shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    for (int i = 0; i < BATCHES; i++) {
        bf_batch_t *batch = bf_batch_take(shard->pool);
        expect(batch, "memory");
        fill(batch, i);
        bf_hand_over(shard, batch);
        bf_batch_unref(batch);
        bf_shard_set_ready(shard, i % 2 == 0, "changes");
        expect(shard->end == BF_SESSION_RUNS, "the session runs");
    }
    expect(bf_hand_over_flush(shard, WAIT_MS, &err) == BF_OK, err.text);
    expect(atomic_load(&published) == BATCHES, "every batch is published");
}

int main(void)
{
    bf_err_t err = BF_ERR_INIT;
    bf_shard_t *shard = NULL;
    pthread_t watcher;
    expect(bf_settings_init(&worker.settings, &err) == BF_OK, err.text);
    worker.log = bf_log_new(2, BF_LOG_TEXT, BF_LOG_WARNING);
    worker.metrics = bf_metrics_new();
    worker.catalogue = bf_catalogue_new();
    worker.plugins = bf_plugins_new(NULL);
    expect(worker.log && worker.metrics && worker.catalogue && worker.plugins, "memory");
    expect(bf_embedded_broker_new(&worker.broker, &err) == BF_OK, err.text);
    expect(bf_embedded_broker_create_topic(worker.broker, "events", 4, &err) == BF_OK &&
               bf_embedded_broker_create_topic(worker.broker, "commands", 4, &err) ==
                   BF_OK,
           err.text);
    expect(bf_shard_new(&worker, 0, &shard, &err) == BF_OK, err.text);
    open_clients(shard, &err);
    expect(pthread_create(&watcher, NULL, watch, shard) == 0, "thread");
    hand_over_all(shard);
    atomic_store(&done, true);
    (void)pthread_join(watcher, NULL);

    bf_publisher_free(shard->publisher);
    shard->publisher = NULL;
    bf_consumer_close(shard->consumer);
    bf_assignment_fini(&shard->assignment);
    bf_shard_free(shard); /* fails when a batch did not come back */
    bf_embedded_broker_free(worker.broker);
    bf_plugins_free(worker.plugins);
    bf_catalogue_free(worker.catalogue);
    bf_metrics_free(worker.metrics);
    bf_log_free(worker.log);
    bf_settings_fini(&worker.settings);
    return 0;
}
