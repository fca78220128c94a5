/*
 * session.c - connects and disconnects store, publisher and consumer
 *
 * Order of a start: the database (with the schema check), the publisher (its
 * init_transactions ends what an earlier life of this shard left open), the consumer
 * (joins the group).  By this order a member of the group has always ended its own former
 * transactions already.  With plain delivery the publisher needs the consumer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "bpmflow/clock.h"
#include "bpmflow/group.h"
#include "worker/shard_int.h"

#define KAFKA_START_MS 10000
#define TWIN_TRIES     10
#define TWIN_PAUSE_MS  300

static void on_published(void *arg, const bf_publication_t *publication,
                         int64_t duration_ns)
{
    bf_shard_t *shard = arg;
    bf_metric_observe(shard->metrics.publish_ns, duration_ns);
    bf_metric_add(shard->metrics.published, (int64_t)publication->message_count);
    atomic_store_explicit(&shard->publish_trouble, false, memory_order_relaxed);
}

static void on_publish_error(void *arg, bf_status_t status, const char *text, bool final)
{
    bf_shard_t *shard = arg;
    uint64_t suppressed;
    (void)status;
    atomic_store_explicit(&shard->publish_trouble, true, memory_order_relaxed);
    if (final ||
        bf_log_limit_pass(&shard->limit_publish, bf_clock_mono_ms(), &suppressed)) {
        bf_shard_log(shard, final ? BF_LOG_ERROR : BF_LOG_WARNING, "publishing: %s",
                     text);
    }
}

/* librdkafka's own lines: its threads, any time. */
static void on_client_log(void *arg, int level, const char *facility, const char *text)
{
    bf_shard_t *shard = arg;
    uint64_t suppressed = 0;
    /* What matters comes as an error of a call, too, and is said there; a connection that
     * fails (FAIL) is tried again many times a second. */
    bool matters = level <= LOG_ERR && strcmp(facility, "FAIL") != 0;
    bf_log_level_t mapped = matters ? BF_LOG_WARNING : BF_LOG_DEBUG;
    if (mapped == BF_LOG_WARNING) {
        pthread_mutex_lock(&shard->lock);
        bool pass =
            bf_log_limit_pass(&shard->limit_client, bf_clock_mono_ms(), &suppressed);
        pthread_mutex_unlock(&shard->lock);
        if (!pass) {
            return;
        }
    }
    bf_shard_log(shard, mapped, "librdkafka: %s: %s", facility, text);
}

static bf_status_t open_store(bf_shard_t *shard, bf_err_t *err)
{
    const bf_settings_t *settings = shard->settings;
    const bf_store_options_t options = {
        .db = bf_worker_db_options(settings),
        .repository_table = settings->mysql.repository_table,
        .task_table = settings->mysql.task_table,
    };
    return bf_store_open(&options, &shard->store, err);
}

static bf_status_t open_consumer(bf_shard_t *shard, bf_err_t *err)
{
    const bf_consumer_options_t options = {
        .brokers = bf_worker_brokers(shard->worker),
        .group = shard->settings->kafka.group,
        .topic = shard->topic,
        .client_id = shard->client_id,
        .properties = shard->worker->consumer_properties.items,
        .property_count = shard->worker->consumer_properties.count,
        .session_timeout_ms = shard->settings->kafka.session_timeout_ms,
        .on_assign = bf_assignment_on_assign,
        .on_revoke = bf_assignment_on_revoke,
        .on_log = on_client_log,
        .arg = shard,
    };
    return bf_consumer_new(&options, &shard->consumer, err);
}

static bf_status_t open_publisher(bf_shard_t *shard, bf_err_t *err)
{
    const bf_settings_t *settings = shard->settings;
    const char *topics[2 + 1 + 2 * 256];
    size_t topic_count = 0;
    topics[topic_count++] = settings->events.topic;
    topics[topic_count++] = settings->dead_letters.topic;
    if (settings->replies.enabled) {
        topics[topic_count++] = settings->replies.topic;
    }
    for (size_t i = 0; i < settings->replies.allowed.count && i < 256; i++) {
        topics[topic_count++] = settings->replies.allowed.items[i];
    }
    for (size_t i = 0; i < settings->jobs.topics.count && i < 256; i++) {
        topics[topic_count++] = settings->jobs.topics.items[i];
    }
    const bf_publisher_options_t options = {
        .brokers = bf_worker_brokers(shard->worker),
        .client_id = shard->client_id,
        .transactional_id = shard->transactional_id,
        .group = settings->kafka.group,
        .delivery = shard->delivery,
        .queue_depth = (size_t)settings->batch.queue_depth,
        .early = settings->replies.delivery == BF_REPLIES_EARLY,
        .linger_ms = settings->events.linger_ms,
        .properties = shard->worker->producer_properties.items,
        .property_count = shard->worker->producer_properties.count,
        .transaction_timeout_ms = settings->kafka.transaction_timeout_ms,
        .topics = topics,
        .topic_count = topic_count,
        .consumer = shard->consumer, /* NULL with transactions */
        .on_published = on_published,
        .on_error = on_publish_error,
        .on_log = on_client_log,
        .arg = shard,
    };
    bf_status_t rc = bf_publisher_new(&options, KAFKA_START_MS, &shard->publisher, err);
    if (rc == BF_OK &&
        bf_publisher_max_message_bytes(shard->publisher) < BF_DEAD_LETTER_MAX_BYTES) {
        bf_publisher_free(shard->publisher);
        shard->publisher = NULL;
        rc = bf_err_set(err, BF_E_INVALID,
                        "message.max.bytes of the producer is below %zu: a dead letter "
                        "may be that large, and what is committed has to be published",
                        BF_DEAD_LETTER_MAX_BYTES);
    }
    return rc;
}

typedef bf_status_t (*open_fn)(bf_shard_t *shard, bf_err_t *err);

static bool ends_the_process(bf_status_t status)
{
    return status == BF_E_SCHEMA || status == BF_E_INVALID || status == BF_E_UNSUPPORTED;
}

/* Tries until it works. false: the session cannot be opened. */
static bool open_waiting(bf_shard_t *shard, open_fn open, bf_outage_t *outage)
{
    for (;;) {
        bf_err_t err = BF_ERR_INIT;
        bf_status_t rc = open(shard, &err);
        if (rc == BF_OK) {
            bf_outage_over(shard, outage);
            return true;
        }
        if (ends_the_process(rc)) {
            bf_shard_end(shard, BF_SESSION_FATAL, "%s", err.text);
            return false;
        }
        if (!bf_shard_wait(shard, bf_outage_failed(shard, outage, &err))) {
            return false;
        }
    }
}

/* Missing topics are said at the start, not when the first record is awaited. */
static bf_status_t open_topic(bf_shard_t *shard, bf_err_t *err)
{
    int32_t total;
    char topic_id[65];
    return bf_consumer_topic(shard->consumer, shard->topic, KAFKA_START_MS, &total,
                             topic_id, err);
}

bool bf_session_open(bf_shard_t *shard)
{
    shard->end = BF_SESSION_RUNS;
    shard->joined = false;
    shard->paused = false;
    shard->commit_unknown = false;
    atomic_store(&shard->publish_trouble, false);
    bool consumer_first = shard->delivery == BF_DELIVERY_IDEMPOTENT;
    return open_waiting(shard, open_store, &shard->database) &&
           (!consumer_first || open_waiting(shard, open_consumer, &shard->kafka)) &&
           open_waiting(shard, open_publisher, &shard->kafka) &&
           (consumer_first || open_waiting(shard, open_consumer, &shard->kafka)) &&
           open_waiting(shard, open_topic, &shard->kafka);
}

/* Gives up all partitions in order, before the clients that this needs are closed. */
static void give_up_all(bf_shard_t *shard)
{
    bf_assignment_t *assignment = &shard->assignment;
    bf_topic_partition_t partitions[64];
    size_t count = 0;
    for (int32_t i = 0; i < assignment->total; i++) {
        if (assignment->parts[i].state != BF_PART_NONE) {
            partitions[count++] = (bf_topic_partition_t){shard->topic, i, -1};
        }
        if (count == sizeof(partitions) / sizeof(partitions[0]) ||
            (count > 0 && i + 1 == assignment->total)) {
            bf_assignment_on_revoke(shard, shard->consumer, partitions, count,
                                    /* lost= */ false);
            count = 0;
        }
    }
}

void bf_session_close(bf_shard_t *shard)
{
    bf_shard_drop_carry(shard);
    if (shard->batch) {
        bf_batch_release_records(shard->batch);
        bf_batch_unref(shard->batch);
        shard->batch = NULL;
    }
    if (shard->consumer && shard->publisher) {
        give_up_all(shard);
    }
    bf_hand_over_discard(shard);
    bf_publisher_free(shard->publisher); /* before the consumer: it may commit by it */
    shard->publisher = NULL;
    bf_consumer_close(shard->consumer);
    shard->consumer = NULL;
    bf_store_close(shard->store);
    shard->store = NULL;
    bf_cache_clear(shard->cache);
    bf_assignment_fini(&shard->assignment);
}

bool bf_session_has_twin(bf_shard_t *shard)
{
    const bf_group_options_t options = {
        .brokers = bf_worker_brokers(shard->worker),
        .properties = shard->worker->consumer_properties.items,
        .property_count = shard->worker->consumer_properties.count,
    };
    /* A twin joins a moment after its producer has fenced ours. */
    for (int i = 0; i < TWIN_TRIES && !shard->worker->broker; i++) {
        size_t count = 0;
        bf_err_t err = BF_ERR_INIT;
        if (bf_worker_is_stopping(shard->worker)) {
            return false;
        }
        if (bf_group_count_members(&options, shard->settings->kafka.group,
                                   shard->client_id, KAFKA_START_MS, &count,
                                   &err) == BF_OK &&
            count > 0) {
            return true;
        }
        bf_clock_sleep_ms(TWIN_PAUSE_MS);
    }
    return false;
}
