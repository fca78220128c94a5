/*
 * shard.c - one worker thread: sessions, and the loop that takes a batch from poll to
 *           publication
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/shard.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/map.h"
#include "worker/shard_int.h"

#define LAG_MS          2000
#define KAFKA_CHECK_MS  1000
#define RESTART_MS      200 /* pause before another session */
#define RESTART_MAX_MS  2000
#define STOP_SLICE_MS   50
#define LONG_SESSION_MS 10000 /* one that worked */
#define GROUP_SHOWN     100   /* characters of the group in a transactional ID */
#define FIRST_BATCH     64    /* commands; doubles while their answers are small */

static void BF_PRINTF(5, 0)
    log_fields(const bf_shard_t *shard, bf_log_level_t level,
               const bf_log_field_t *fields, size_t count, const char *fmt, va_list args)
{
    char text[BF_LOG_VALUE_MAX];
    if (bf_log_is_on(shard->worker->log, level)) {
        (void)vsnprintf(text, sizeof(text), fmt, args);
        bf_log_write(shard->worker->log, level, fields, count, "%s", text);
    }
}

void bf_shard_log(bf_shard_t *shard, bf_log_level_t level, const char *fmt, ...)
{
    const bf_log_field_t fields[] = {BF_LOG_INT("shard", shard->index)};
    va_list args;
    va_start(args, fmt);
    log_fields(shard, level, fields, 1, fmt, args);
    va_end(args);
}

void bf_shard_log_part(bf_shard_t *shard, bf_log_level_t level, int32_t partition,
                       const char *fmt, ...)
{
    const bf_log_field_t fields[] = {BF_LOG_INT("shard", shard->index),
                                     BF_LOG_INT("partition", partition)};
    va_list args;
    va_start(args, fmt);
    log_fields(shard, level, fields, 2, fmt, args);
    va_end(args);
}

void bf_shard_end(bf_shard_t *shard, bf_session_end_t end, const char *fmt, ...)
{
    if (shard->end != BF_SESSION_RUNS) {
        return;
    }
    char text[BF_ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    shard->end = end;
    bf_shard_set_ready(shard, false, text);
    if (end == BF_SESSION_FATAL) {
        bf_shard_log(shard, BF_LOG_ERROR, "%s", text);
    } else if (end != BF_SESSION_STOP) {
        bf_shard_log(shard, BF_LOG_WARNING, "%sstarting over from the database: %s",
                     end == BF_SESSION_FENCED ? "fenced; " : "", text);
    }
}

bool bf_shard_is_ending(const bf_shard_t *shard)
{
    return shard->end != BF_SESSION_RUNS || bf_worker_is_stopping(shard->worker);
}

void bf_shard_set_ready(bf_shard_t *shard, bool ready, const char *reason)
{
    pthread_mutex_lock(&shard->lock);
    shard->ready = ready;
    (void)snprintf(shard->reason, sizeof(shard->reason), "%s", reason);
    pthread_mutex_unlock(&shard->lock);
    bf_metric_set(shard->metrics.ready, ready);
}

bool bf_shard_is_ready(bf_shard_t *shard, char ret_reason[256])
{
    pthread_mutex_lock(&shard->lock);
    bool ready = shard->ready;
    (void)snprintf(ret_reason, BF_REASON_MAX, "%s", shard->reason);
    pthread_mutex_unlock(&shard->lock);
    return ready;
}

/* A broker that was away and is back says nothing by itself while no records come. */
static void check_kafka(bf_shard_t *shard)
{
    int64_t now = bf_clock_mono_ms();
    bf_err_t err = BF_ERR_INIT;
    int32_t total;
    char topic_id[65];
    if (!shard->kafka.down || now < shard->next_kafka_check_mono_ms) {
        return;
    }
    shard->next_kafka_check_mono_ms = now + KAFKA_CHECK_MS;
    if (bf_consumer_topic(shard->consumer, shard->topic, KAFKA_CHECK_MS, &total, topic_id,
                          &err) == BF_OK) {
        bf_outage_over(shard, &shard->kafka);
    }
}

static void house_keeping(bf_shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    bf_cache_trim(shard->cache);
    bf_hand_over_failed(shard, bf_publisher_state(shard->publisher, &err), &err);
    check_kafka(shard);
    int64_t now = bf_clock_mono_ms();
    if (now < shard->next_lag_mono_ms) {
        return;
    }
    shard->next_lag_mono_ms = now + LAG_MS;
    bf_assignment_update_lag(shard);
    bf_assignment_report(shard);
    bf_cache_stats_t stats;
    bf_cache_stats(shard->cache, &stats);
    bf_metric_set(shard->metrics.cached_instances, (int64_t)stats.count);
    bf_metric_set(shard->metrics.cached_bytes, (int64_t)stats.bytes);
    bf_metric_set(shard->metrics.cache_hits, (int64_t)stats.hits);
    bf_metric_set(shard->metrics.cache_misses, (int64_t)stats.misses);
}

/* Waiting for the publisher counts too: a slow broker makes batches smaller as a slow
 * database does. */
static void learn_pace(bf_shard_t *shard, const bf_batch_t *batch, int64_t began_ns)
{
    const bf_settings_t *settings = shard->settings;
    shard->batch_pace = bf_batch_next_limit(
        shard->batch_pace, batch->count, (bf_clock_mono_ns() - began_ns) / 1000000,
        settings->batch.target_ms, (size_t)settings->batch.max_commands);
}

/* One batch from the topic to the publisher. */
static void run_batch(bf_shard_t *shard)
{
    bf_err_t err = BF_ERR_INIT;
    bf_batch_t *batch = bf_batch_take(shard->pool);
    if (!batch) {
        bf_shard_end(shard, BF_SESSION_RESTART, "out of memory for a batch");
        return;
    }
    shard->batch = batch;
    int64_t begin = bf_clock_mono_ns();
    bf_batch_collect(shard, batch);
    int64_t collected = bf_clock_mono_ns();
    if (batch->count > 0 && !batch->abandoned && shard->end == BF_SESSION_RUNS) {
        bf_metric_observe(shard->metrics.poll_ns, collected - begin);
        bf_metric_add(shard->metrics.records, (int64_t)batch->count);
        bf_status_t rc = bf_batch_decode(shard, batch, &err);
        bf_metric_observe(shard->metrics.decode_ns, bf_clock_mono_ns() - collected);
        if (rc == BF_OK) { /* what a reload has taken counts from here on */
            rc = bf_catalogue_apply(shard->worker->catalogue, shard->engine,
                                    &shard->catalogue_seen, &err);
        }
        if (rc == BF_OK) {
            bf_batch_process(shard, batch);
            bf_batch_learn(shard, batch);
            learn_pace(shard, batch, collected);
        } else {
            bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
        }
    }
    bf_batch_release_records(batch);
    shard->batch = NULL;
    bf_batch_unref(batch);
}

static void run_session(bf_shard_t *shard)
{
    if (bf_session_open(shard)) {
        bf_assignment_report(shard);
        while (!bf_shard_is_ending(shard)) {
            bf_assignment_settle(shard);
            run_batch(shard);
            house_keeping(shard);
        }
    }
    bf_session_end_t end = shard->end;
    bf_shard_set_ready(shard, false, "stopped");
    bf_session_close(shard);
    shard->end = end == BF_SESSION_RUNS ? BF_SESSION_STOP : end;
}

/* A cause that stays ends one session after the other, and each time the group stands
 * still for all its members: the pause doubles. */
static void pause_before_next(bf_shard_t *shard, int64_t session_ms)
{
    int64_t pause_ms = shard->restart_pause_ms * 2;
    if (session_ms > LONG_SESSION_MS || pause_ms < RESTART_MS) {
        pause_ms = RESTART_MS;
    }
    shard->restart_pause_ms = pause_ms < RESTART_MAX_MS ? pause_ms : RESTART_MAX_MS;
    int64_t deadline = bf_clock_mono_ms() + shard->restart_pause_ms;
    while (!bf_worker_is_stopping(shard->worker) && bf_clock_mono_ms() < deadline) {
        bf_clock_sleep_ms(STOP_SLICE_MS);
    }
}

static void *run(void *arg)
{
    bf_shard_t *shard = arg;
    while (!bf_worker_is_stopping(shard->worker)) {
        int64_t begin_ms = bf_clock_mono_ms();
        run_session(shard);
        int64_t session_ms = bf_clock_mono_ms() - begin_ms;
        if (shard->end == BF_SESSION_FENCED && bf_session_has_twin(shard)) {
            bf_shard_log(shard, BF_LOG_ERROR,
                         "fenced by another worker with worker.id = \"%s\"; give "
                         "each worker an ID of its own. Stopping",
                         shard->settings->worker.id);
            shard->end = BF_SESSION_FATAL;
        }
        if (shard->end == BF_SESSION_FATAL) {
            atomic_store(&shard->failed, true);
            break;
        }
        if (shard->end != BF_SESSION_STOP) {
            pause_before_next(shard, session_ms);
        }
    }
    (void)pthread_kill(shard->worker->main_thread, BF_SIGNAL_SHARD_ENDED);
    return NULL;
}

static bf_controller_t *make_controller(const bf_shard_t *shard)
{
    const bf_settings_t *settings = shard->settings;
    switch (bf_settings_controller(settings)) {
    case BF_CONTROLLER_LIBRARY:
        return bf_plugin_set_controller(shard->plugins, settings->graphs.controller);
    case BF_CONTROLLER_BLOCK:
        return bf_block_controller_new();
    case BF_CONTROLLER_NOT_BLOCK:
        return bf_not_block_controller_new();
    case BF_CONTROLLER_ACTOR:
        break;
    }
    return bf_actor_controller_new((const char *const *)settings->graphs.actor_keys.items,
                                   settings->graphs.actor_keys.count);
}

static bf_status_t make_engine(bf_shard_t *shard, bf_err_t *err)
{
    const bf_settings_t *settings = shard->settings;
    shard->engine = bf_engine_new();
    if (!shard->engine) {
        return bf_err_nomem(err, "engine");
    }
    bf_status_t rc =
        bf_plugin_set_open(shard->worker->plugins, shard->engine, &shard->plugins, err);
    if (rc != BF_OK) {
        return rc;
    }
    shard->controller = make_controller(shard);
    if (!shard->controller) {
        return bf_err_nomem(err, "controller");
    }
    shard->executor = bf_executor_new(shard->engine, shard->controller, /* repo= */ NULL);
    if (!shard->executor) {
        return bf_err_nomem(err, "executor");
    }
    bf_executor_set_max_steps(shard->executor, settings->limits.max_steps);
    bf_executor_set_topics(shard->executor,
                           (const char *const *)settings->jobs.topics.items,
                           settings->jobs.topics.count);
    shard->env = (bf_command_env_t){
        .executor = shard->executor,
        .allow_force = settings->limits.allow_force,
        .max_vars_bytes = (size_t)settings->limits.max_vars_bytes,
    };
    return bf_catalogue_apply(shard->worker->catalogue, shard->engine,
                              &shard->catalogue_seen, err);
}

/* No other group has the same: a worker's ID has no slash, and of a long group's name the
 * end is told by its hash. */
static void set_transactional_id(bf_shard_t *shard)
{
    const char *group = shard->settings->kafka.group;
    size_t len = strlen(group);
    char hash[24] = "";
    if (len > GROUP_SHOWN) {
        (void)snprintf(hash, sizeof(hash), "~%016" PRIx64, bf_hash_bytes(group, len));
    }
    (void)snprintf(shard->transactional_id, sizeof(shard->transactional_id),
                   "%.*s%s/%s/%d", GROUP_SHOWN, group, hash, shard->settings->worker.id,
                   shard->index);
}

static void set_names(bf_shard_t *shard)
{
    const bf_settings_t *settings = shard->settings;
    (void)snprintf(shard->owner, sizeof(shard->owner), "%s/%d", settings->worker.id,
                   shard->index);
    bf_client_id_of_owner(shard->owner, shard->client_id);
    set_transactional_id(shard);
    shard->topic = settings->kafka.commands_topic;
    shard->delivery = shard->worker->broker ? BF_DELIVERY_IDEMPOTENT
                                            : (bf_delivery_t)settings->events.delivery;
    shard->limits = (bf_codec_limits_t){
        .max_record_bytes = (size_t)settings->limits.max_record_bytes,
        .max_depth = (size_t)settings->limits.max_depth,
        .require_key_match = settings->limits.require_key_match,
        .allow_force = settings->limits.allow_force,
        .reply_topics = (const char *const *)settings->replies.allowed.items,
        .reply_topic_count = settings->replies.allowed.count,
        .default_reply_topic = settings->replies.enabled ? settings->replies.topic : NULL,
    };
    bf_outage_init(&shard->database, "the database");
    bf_outage_init(&shard->kafka, "Kafka");
}

bf_status_t bf_shard_new(bf_worker_t *worker, int index, bf_shard_t **ret, bf_err_t *err)
{
    bf_shard_t *shard = calloc(1, sizeof(*shard));
    if (!shard) {
        return bf_err_nomem(err, "shard");
    }
    shard->worker = worker;
    shard->settings = &worker->settings;
    shard->index = index;
    shard->batch_pace = (size_t)shard->settings->batch.max_commands;
    shard->random = (uint64_t)bf_clock_mono_ns() * 2654435761U + (uint64_t)index + 1;
    pthread_mutex_init(&shard->lock, NULL);
    bf_str_init(&shard->scratch, 0);
    set_names(shard);
    shard->batch_limit = FIRST_BATCH;
    shard->cache = bf_cache_new((size_t)shard->settings->worker.cache_mb << 20);
    shard->pool = bf_batch_pool_new(shard);
    bf_status_t rc = shard->cache && shard->pool ? BF_OK : bf_err_nomem(err, "shard");
    if (rc == BF_OK) {
        rc = bf_shard_metrics_init(shard, err);
    }
    if (rc == BF_OK) {
        rc = make_engine(shard, err);
    }
    if (rc != BF_OK) {
        bf_shard_free(shard);
        return rc;
    }
    bf_shard_set_ready(shard, false, "starts");
    *ret = shard;
    return BF_OK;
}

void bf_shard_free(bf_shard_t *shard)
{
    if (!shard) {
        return;
    }
    bf_batch_pool_free(shard->pool);
    bf_executor_free(shard->executor);
    bf_controller_free(shard->controller);
    bf_plugin_set_close(shard->plugins);
    bf_engine_free(shard->engine);
    bf_cache_free(shard->cache);
    bf_str_fini(&shard->scratch);
    free(shard->carry);
    pthread_mutex_destroy(&shard->lock);
    free(shard);
}

bf_status_t bf_shard_start(bf_shard_t *shard, bf_err_t *err)
{
    char reason[128];
    int rc = pthread_create(&shard->thread, NULL, run, shard);
    if (rc != 0) {
        return bf_err_set(err, BF_E_IO, "a thread cannot be started: %s",
                          strerror_r(rc, reason, sizeof(reason)));
    }
    shard->started = true;
    return BF_OK;
}

bool bf_shard_join(bf_shard_t *shard)
{
    if (shard->started) {
        (void)pthread_join(shard->thread, NULL);
        shard->started = false;
    }
    return !atomic_load(&shard->failed);
}
