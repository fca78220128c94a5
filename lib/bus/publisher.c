/*
 * publisher.c - queue and thread of the publisher
 *
 * The ring holds copies of the publications; the one in work stays at its head until it
 * is published, so that the depth counts it and a discard finds it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/publisher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "publisher_int.h"

#define DEFAULT_DEPTH          2
#define DEFAULT_TRANSACTION_MS 15000
#define IDLE_POLL_MS           500
#define EARLY_SLICE_MS         200
#define EARLY_TOLD_MS          5000
#define CLOSE_GRACE_MS         5000
#define FIRST_BACKOFF_MS       50
#define MAX_BACKOFF_MS         2000

struct bf_publisher {
    bf_publisher_options_t options; /* callbacks; texts point to the copies below */
    char *texts[4];                 /* brokers, client_id, transactional_id, group */
    bf_property_t *properties;      /* copies */
    size_t max_message_bytes;       /* set before the thread starts, never changes */
    bf_producer_t producer;         /* publisher's thread only, once it runs */
    bf_early_t early;
    pthread_t thread;
    bool running; /* the thread was started; owner's thread only */

    pthread_mutex_t lock;
    pthread_cond_t changed;  /* with lock; anything below */
    bf_publication_t *ring;  /* lock */
    bf_publication_t *heads; /* publisher's thread: copies of those in work */
    size_t depth;            /* set at new, never changes: those that may wait */
    size_t capacity;         /* likewise: with those in work */
    size_t head;             /* lock */
    size_t count;            /* lock; 0..capacity */
    size_t busy;             /* lock; so many from the head on are in work */
    size_t draining;         /* lock; somebody waits until all is published */
    bool discarding;         /* lock; drop the publication in work at once */
    bool closing;            /* lock; once true, stays true */
    int64_t close_by_ms;     /* lock; monotonic: what is in work may go on until then */
    bf_err_t ended;          /* lock; BF_OK = works */
    bf_err_t trouble;        /* lock; of the last attempt that failed; BF_OK = none */
    int64_t began_ms;        /* publisher's thread: the last publication; monotonic */
};

/* --- waiting --- */

static void deadline_of(int64_t mono_ms, struct timespec *ret)
{
    ret->tv_sec = (time_t)(mono_ms / 1000);
    ret->tv_nsec = (long)(mono_ms % 1000) * 1000000L;
}

/* false: the time is over. */
static bool wait_until(bf_publisher_t *publisher, int64_t mono_ms)
{
    struct timespec until;
    deadline_of(mono_ms, &until);
    return pthread_cond_timedwait(&publisher->changed, &publisher->lock, &until) == 0;
}

static bool is_full(const bf_publisher_t *publisher)
{
    return publisher->count - publisher->busy >= publisher->depth;
}

/* --- publisher's thread --- */

/* Asked by the producer between the slices of long calls. */
static bool must_stop(void *arg)
{
    bf_publisher_t *publisher = arg;
    pthread_mutex_lock(&publisher->lock);
    bool may_go_on = publisher->busy > 0 && bf_clock_mono_ms() < publisher->close_by_ms;
    bool stop = publisher->discarding || (publisher->closing && !may_go_on);
    pthread_mutex_unlock(&publisher->lock);
    return stop;
}

static void report(const bf_publisher_t *publisher, const bf_err_t *err, bool final)
{
    if (publisher->options.on_error) {
        publisher->options.on_error(publisher->options.arg, err->status, err->text,
                                    final);
    }
}

/* false: stop instead of trying again. */
static bool back_off(bf_publisher_t *publisher, int64_t ms)
{
    int64_t until = bf_clock_mono_ms() + ms;
    pthread_mutex_lock(&publisher->lock);
    while (!publisher->discarding && !publisher->closing &&
           wait_until(publisher, until)) {
    }
    bool go_on = !publisher->discarding && !publisher->closing;
    pthread_mutex_unlock(&publisher->lock);
    return go_on;
}

static bf_status_t attempt(bf_publisher_t *publisher, const bf_publication_t *publication,
                           bf_delivery_state_t *state, bf_err_t *err)
{
    const bf_publisher_options_t *options = &publisher->options;
    bf_status_t rc =
        options->delivery == BF_DELIVERY_TRANSACTIONAL
            ? bf_publisher_attempt_transaction(&publisher->producer, options->group,
                                               publication, state, err)
            : bf_publisher_attempt_plain(&publisher->producer, options->consumer,
                                         publication, state, err);
    if (rc != BF_OK && err->status == BF_OK) {
        bf_err_set(err, rc, "publishing: %s", bf_status_text(rc));
    }
    return rc;
}

/* Until the early messages are acknowledged: the offsets move only then. */
static bf_status_t await_early(bf_publisher_t *publisher, const bf_publication_t *items,
                               size_t count)
{
    bf_err_t late = BF_ERR_INIT;
    bf_err_set(
        &late, BF_E_TIMEOUT,
        "the broker does not acknowledge what was sent ahead of its batch; waiting");
    int64_t told_ms = bf_clock_mono_ms();
    for (size_t i = 0; i < count;) {
        if (bf_early_wait(&publisher->early, &items[i], EARLY_SLICE_MS)) {
            i++;
        } else if (must_stop(publisher)) {
            return BF_E_CANCELLED;
        } else if (bf_clock_mono_ms() - told_ms >= EARLY_TOLD_MS) {
            told_ms = bf_clock_mono_ms();
            report(publisher, &late, false);
        }
    }
    return BF_OK;
}

/* Until it is published. BF_E_CANCELLED: told to stop; BF_E_FENCED: ended. */
static bf_status_t deliver(bf_publisher_t *publisher, const bf_publication_t *publication,
                           bf_err_t *err)
{
    bf_delivery_state_t state = {false, 0};
    int64_t pause_ms = FIRST_BACKOFF_MS;
    for (;;) {
        bf_err_clear(err);
        bf_status_t rc = attempt(publisher, publication, &state, err);
        if (rc == BF_OK || rc == BF_E_CANCELLED || rc == BF_E_FENCED) {
            return rc;
        }
        bf_err_t told = BF_ERR_INIT;
        bf_err_set(&told, rc, "%.430s; trying again in %lld ms", err->text,
                   (long long)pause_ms);
        report(publisher, &told, false);
        pthread_mutex_lock(&publisher->lock);
        publisher->trouble = *err;
        pthread_mutex_unlock(&publisher->lock);
        if (!back_off(publisher, pause_ms)) {
            return BF_E_CANCELLED;
        }
        pause_ms = pause_ms * 2 > MAX_BACKOFF_MS ? MAX_BACKOFF_MS : pause_ms * 2;
    }
}

static void release(bf_publication_t *publication)
{
    bf_group_metadata_free(publication->group);
    if (publication->release) {
        publication->release(publication->owner);
    }
}

/* A handle that was given up may have left a transaction open, and others wait for its
 * end: the next handle ends it, whether there is something to publish or not. */
static void reopen(bf_publisher_t *publisher)
{
    bf_producer_t *producer = &publisher->producer;
    bf_err_t ignored = BF_ERR_INIT; /* who publishes next gets it again */
    pthread_mutex_lock(&publisher->lock);
    bool wanted = !producer->rk && !publisher->closing && !publisher->discarding &&
                  publisher->ended.status == BF_OK;
    pthread_mutex_unlock(&publisher->lock);
    if (wanted && producer->setup.transactional_id) {
        (void)!bf_producer_open(producer, producer->setup.transaction_timeout_ms,
                                &ignored);
    }
}

/* What has left early does not wait for the publication, which may take more with it. */
static int64_t linger_until(const bf_publisher_t *publisher)
{
    bool waits = publisher->early.on && publisher->draining == 0 && !is_full(publisher);
    return waits ? publisher->began_ms + publisher->options.linger_ms : 0;
}

/* Wait for work; the number of publications that are in `ret` then, 0 = closing. */
static size_t take_heads(bf_publisher_t *publisher, bf_publication_t *ret)
{
    size_t found = 0;
    pthread_mutex_lock(&publisher->lock);
    while (!publisher->closing && found == 0) {
        bool has_work = publisher->count && publisher->ended.status == BF_OK &&
                        !publisher->discarding;
        int64_t now_ms = bf_clock_mono_ms();
        if (has_work && linger_until(publisher) > now_ms) {
            (void)wait_until(publisher, linger_until(publisher));
        } else if (has_work) {
            for (size_t i = 0; i < publisher->count; i++) {
                ret[i] = publisher->ring[(publisher->head + i) % publisher->capacity];
            }
            found = bf_merge_count(ret, publisher->count);
            publisher->busy = found;
            publisher->began_ms = now_ms;
        } else if (!wait_until(publisher, now_ms + IDLE_POLL_MS)) {
            pthread_mutex_unlock(&publisher->lock);
            if (publisher->producer.rk) {
                rd_kafka_poll(publisher->producer.rk, 0); /* error events */
            }
            reopen(publisher);
            pthread_mutex_lock(&publisher->lock);
        }
    }
    pthread_mutex_unlock(&publisher->lock);
    return found;
}

/* Take the heads out (published), or leave them to _discard or _free. */
static void finish_heads(bf_publisher_t *publisher, bf_status_t rc, const bf_err_t *err)
{
    pthread_mutex_lock(&publisher->lock);
    if (rc == BF_OK) {
        publisher->head = (publisher->head + publisher->busy) % publisher->capacity;
        publisher->count -= publisher->busy;
        bf_err_clear(&publisher->trouble);
    } else if (rc == BF_E_FENCED) {
        publisher->ended = *err;
    }
    publisher->busy = 0;
    pthread_cond_broadcast(&publisher->changed);
    pthread_mutex_unlock(&publisher->lock);
}

static bf_status_t deliver_all(bf_publisher_t *publisher, const bf_publication_t *items,
                               size_t count, bf_err_t *err)
{
    bf_merge_t merge;
    bf_status_t rc = await_early(publisher, items, count);
    while (rc == BF_OK &&
           bf_merge_make(&merge, &publisher->early, items, count, err) != BF_OK) {
        report(publisher, err, false);
        rc = back_off(publisher, MAX_BACKOFF_MS) ? BF_OK : BF_E_CANCELLED;
        bf_err_clear(err);
    }
    if (rc == BF_OK) {
        rc = deliver(publisher, &merge.publication, err);
        bf_merge_free(&merge);
    }
    return rc;
}

static void published(bf_publisher_t *publisher, bf_publication_t *item, int64_t spent_ns)
{
    if (publisher->options.on_published) {
        publisher->options.on_published(publisher->options.arg, item, spent_ns);
    }
    bf_early_finish(&publisher->early, item);
    release(item);
}

static void *run(void *arg)
{
    bf_publisher_t *publisher = arg;
    size_t count;
    while ((count = take_heads(publisher, publisher->heads)) > 0) {
        bf_err_t err = BF_ERR_INIT;
        int64_t begin_ns = bf_clock_mono_ns();
        bf_status_t rc = deliver_all(publisher, publisher->heads, count, &err);
        int64_t spent_ns = bf_clock_mono_ns() - begin_ns;
        for (size_t i = 0; rc == BF_OK && i < count; i++) {
            published(publisher, &publisher->heads[i], spent_ns);
        }
        if (rc == BF_E_FENCED) {
            report(publisher, &err, true);
        }
        finish_heads(publisher, rc, &err);
        reopen(publisher);
    }
    bf_producer_drop(&publisher->producer);
    return NULL;
}

/* --- making one --- */

static bool copy_text(const char *from, char **ret_copy, const char **ret)
{
    *ret_copy = from ? strdup(from) : NULL;
    *ret = *ret_copy;
    return !from || *ret_copy;
}

static bool copy_options(bf_publisher_t *publisher, const bf_publisher_options_t *options)
{
    bf_publisher_options_t *to = &publisher->options;
    *to = *options;
    to->topics = NULL;
    to->topic_count = 0;
    bool ok = copy_text(options->brokers, &publisher->texts[0], &to->brokers);
    ok = copy_text(options->client_id, &publisher->texts[1], &to->client_id) && ok;
    ok = copy_text(options->transactional_id, &publisher->texts[2],
                   &to->transactional_id) &&
         ok;
    ok = copy_text(options->group, &publisher->texts[3], &to->group) && ok;
    publisher->properties = calloc(options->property_count ? options->property_count : 1,
                                   sizeof(*publisher->properties));
    to->properties = publisher->properties;
    to->property_count = 0;
    for (size_t i = 0; ok && publisher->properties && i < options->property_count; i++) {
        bf_property_t *copy = &publisher->properties[i];
        copy->name = strdup(options->properties[i].name);
        copy->value = strdup(options->properties[i].value);
        to->property_count++;
        ok = copy->name && copy->value;
    }
    return ok && publisher->properties;
}

static bf_status_t set_up(bf_publisher_t *publisher,
                          const bf_publisher_options_t *options, bf_err_t *err)
{
    publisher->depth = options->queue_depth ? options->queue_depth : DEFAULT_DEPTH;
    publisher->capacity = 2 * publisher->depth;
    publisher->ring = calloc(publisher->capacity, sizeof(*publisher->ring));
    publisher->heads = calloc(publisher->capacity, sizeof(*publisher->heads));
    if (!publisher->ring || !publisher->heads || !copy_options(publisher, options)) {
        return bf_err_nomem(err, "publisher");
    }
    const bf_publisher_options_t *own = &publisher->options;
    publisher->producer = (bf_producer_t){
        .context = {.on_log = own->on_log, .arg = own->arg, .brokers = own->brokers},
        .setup = {.client_id = own->client_id,
                  .transactional_id = own->delivery == BF_DELIVERY_TRANSACTIONAL
                                          ? own->transactional_id
                                          : NULL,
                  .properties = own->properties,
                  .property_count = own->property_count,
                  .transaction_timeout_ms = own->transaction_timeout_ms
                                                ? own->transaction_timeout_ms
                                                : DEFAULT_TRANSACTION_MS},
        .stop = must_stop,
        .stop_arg = publisher};
    bool all = own->delivery == BF_DELIVERY_IDEMPOTENT;
    if (own->early || all) {
        bf_early_init(&publisher->early, &publisher->producer, all);
    }
    return BF_OK;
}

/* The broker answers, the transactional.id is ours, the topics are there. */
static bf_status_t reach_broker(bf_publisher_t *publisher,
                                const bf_publisher_options_t *options, int64_t timeout_ms,
                                bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    bf_status_t rc = bf_producer_open(&publisher->producer, timeout_ms, err);
    for (size_t i = 0; rc == BF_OK && i < options->topic_count; i++) {
        int32_t partitions;
        rc = bf_bus_topic_partitions(publisher->producer.rk, options->topics[i],
                                     deadline - bf_clock_mono_ms(), &partitions, err);
    }
    if (rc == BF_OK) {
        publisher->max_message_bytes =
            bf_producer_max_message_bytes(&publisher->producer);
    }
    return rc;
}

static bf_status_t init_lock(bf_publisher_t *publisher, bf_err_t *err)
{
    pthread_condattr_t attr;
    bool ok = pthread_condattr_init(&attr) == 0;
    if (ok) {
        ok = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
             pthread_cond_init(&publisher->changed, &attr) == 0;
        (void)pthread_condattr_destroy(&attr);
    }
    if (ok && pthread_mutex_init(&publisher->lock, NULL) != 0) {
        (void)pthread_cond_destroy(&publisher->changed);
        ok = false;
    }
    return ok ? BF_OK : bf_err_nomem(err, "publisher");
}

bf_status_t bf_publisher_new(const bf_publisher_options_t *options, int64_t timeout_ms,
                             bf_publisher_t **ret, bf_err_t *err)
{
    BF_ASSERT(options->brokers);
    BF_ASSERT(options->delivery != BF_DELIVERY_TRANSACTIONAL ||
              (options->transactional_id && options->group));
    bf_publisher_t *publisher = calloc(1, sizeof(*publisher));
    if (!publisher) {
        return bf_err_nomem(err, "publisher");
    }
    bf_status_t rc = init_lock(publisher, err);
    if (rc != BF_OK) {
        free(publisher);
        return rc;
    }
    rc = set_up(publisher, options, err);
    rc = rc == BF_OK ? reach_broker(publisher, options, timeout_ms, err) : rc;
    if (rc == BF_OK && pthread_create(&publisher->thread, NULL, run, publisher) != 0) {
        rc = bf_err_nomem(err, "thread of the publisher");
    }
    if (rc == BF_OK) {
        publisher->running = true;
        *ret = publisher;
        publisher = NULL; /* moved to the caller */
    }
    bf_publisher_free(publisher);
    return rc;
}

void bf_publisher_free(bf_publisher_t *publisher)
{
    if (!publisher) {
        return;
    }
    pthread_mutex_lock(&publisher->lock);
    publisher->closing = true;
    publisher->close_by_ms = bf_clock_mono_ms() + CLOSE_GRACE_MS;
    pthread_cond_broadcast(&publisher->changed);
    pthread_mutex_unlock(&publisher->lock);
    if (publisher->running) {
        (void)pthread_join(publisher->thread, NULL);
    }
    bf_producer_drop(&publisher->producer);
    bf_early_drop(&publisher->early);
    for (size_t i = 0; i < publisher->count; i++) {
        release(&publisher->ring[(publisher->head + i) % publisher->capacity]);
    }
    free(publisher->ring);
    free(publisher->heads);
    for (size_t i = 0; i < sizeof(publisher->texts) / sizeof(publisher->texts[0]); i++) {
        free(publisher->texts[i]);
    }
    for (size_t i = 0; i < publisher->options.property_count; i++) {
        free((char *)(uintptr_t)publisher->properties[i].name);
        free((char *)(uintptr_t)publisher->properties[i].value);
    }
    free(publisher->properties);
    (void)pthread_cond_destroy(&publisher->changed);
    (void)pthread_mutex_destroy(&publisher->lock);
    free(publisher);
}

/* --- shard's side --- */

size_t bf_publisher_max_message_bytes(const bf_publisher_t *publisher)
{
    return publisher->max_message_bytes;
}

static bf_status_t check_sizes(const bf_publisher_t *publisher,
                               const bf_publication_t *publication, bf_err_t *err)
{
    for (size_t i = 0; i < publication->message_count; i++) {
        const bf_message_t *message = &publication->messages[i];
        size_t bytes = bf_message_bytes(message);
        if (bytes > publisher->max_message_bytes) {
            return bf_err_set(err, BF_E_LIMIT,
                              "a message of %zu bytes to the topic '%s' is over the "
                              "producer's limit of %zu; raise message.max.bytes "
                              "(kafka.producer_properties) and max.message.bytes of the "
                              "topic",
                              bytes, message->topic, publisher->max_message_bytes);
        }
    }
    return BF_OK;
}

static bf_status_t copy_ended(const bf_publisher_t *publisher, bf_err_t *err)
{
    if (publisher->ended.status == BF_OK) {
        return BF_OK;
    }
    return bf_err_set(err, publisher->ended.status, "%s", publisher->ended.text);
}

static bf_status_t timed_out(const bf_publisher_t *publisher, const char *what,
                             int64_t timeout_ms, bf_err_t *err)
{
    return bf_err_set(err, BF_E_TIMEOUT, "%s after %lld ms%s%.350s", what,
                      (long long)timeout_ms, publisher->trouble.status ? ": " : "",
                      publisher->trouble.text);
}

bf_status_t bf_publisher_early(bf_publisher_t *publisher, bf_publication_t *publication,
                               bf_err_t *err)
{
    return bf_early_send(&publisher->early, publication, bf_publisher_pending(publisher),
                         err);
}

bf_status_t bf_publisher_submit(bf_publisher_t *publisher,
                                const bf_publication_t *publication, int64_t timeout_ms,
                                bf_err_t *err)
{
    bf_status_t rc = check_sizes(publisher, publication, err);
    if (rc != BF_OK) {
        return rc;
    }
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    pthread_mutex_lock(&publisher->lock);
    while (publisher->ended.status == BF_OK && is_full(publisher)) {
        if (!wait_until(publisher, deadline)) {
            break;
        }
    }
    rc = copy_ended(publisher, err);
    if (rc == BF_OK && is_full(publisher)) {
        rc = timed_out(publisher, "the publisher's queue is full", timeout_ms, err);
    }
    if (rc == BF_OK) {
        size_t tail = (publisher->head + publisher->count) % publisher->capacity;
        publisher->ring[tail] = *publication;
        bf_early_passed_by(&publisher->early, publication);
        publisher->count++;
        pthread_cond_broadcast(&publisher->changed);
    }
    pthread_mutex_unlock(&publisher->lock);
    return rc;
}

bool bf_publisher_is_filling(const bf_publisher_t *publisher)
{
    return atomic_load(&publisher->producer.filling);
}

bf_status_t bf_publisher_drain(bf_publisher_t *publisher, int64_t timeout_ms,
                               bf_err_t *err)
{
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    pthread_mutex_lock(&publisher->lock);
    publisher->draining++;
    pthread_cond_broadcast(&publisher->changed);
    while (publisher->ended.status == BF_OK && publisher->count) {
        if (!wait_until(publisher, deadline)) {
            break;
        }
    }
    publisher->draining--;
    bf_status_t rc = copy_ended(publisher, err);
    if (rc == BF_OK && publisher->count) {
        rc = timed_out(publisher, "not everything is published", timeout_ms, err);
    }
    pthread_mutex_unlock(&publisher->lock);
    return rc;
}

bf_status_t bf_publisher_state(bf_publisher_t *publisher, bf_err_t *err)
{
    pthread_mutex_lock(&publisher->lock);
    bf_status_t rc = copy_ended(publisher, err);
    pthread_mutex_unlock(&publisher->lock);
    return rc;
}

size_t bf_publisher_pending(bf_publisher_t *publisher)
{
    pthread_mutex_lock(&publisher->lock);
    size_t count = publisher->count;
    pthread_mutex_unlock(&publisher->lock);
    return count;
}

void bf_publisher_discard(bf_publisher_t *publisher)
{
    pthread_mutex_lock(&publisher->lock);
    publisher->discarding = true;
    pthread_cond_broadcast(&publisher->changed);
    while (publisher->busy > 0) {
        pthread_cond_wait(&publisher->changed, &publisher->lock);
    }
    pthread_mutex_unlock(&publisher->lock);
    bf_early_drop(&publisher->early);
    pthread_mutex_lock(&publisher->lock);
    while (publisher->count) {
        bf_publication_t publication = publisher->ring[publisher->head];
        publisher->head = (publisher->head + 1) % publisher->capacity;
        publisher->count--;
        pthread_mutex_unlock(&publisher->lock);
        release(&publication); /* outside of the lock, like all callbacks */
        pthread_mutex_lock(&publisher->lock);
    }
    bf_err_clear(&publisher->ended);
    bf_err_clear(&publisher->trouble);
    publisher->discarding = false;
    pthread_cond_broadcast(&publisher->changed);
    pthread_mutex_unlock(&publisher->lock);
}

bf_status_t bf_publisher_fence(const bf_publisher_options_t *options,
                               const char *transactional_id, int64_t timeout_ms,
                               bf_err_t *err)
{
    bf_producer_t producer = {
        .context = {.on_log = options->on_log,
                    .arg = options->arg,
                    .brokers = options->brokers},
        .setup = {.client_id = options->client_id,
                  .transactional_id = transactional_id,
                  .properties = options->properties,
                  .property_count = options->property_count,
                  .transaction_timeout_ms = options->transaction_timeout_ms
                                                ? options->transaction_timeout_ms
                                                : DEFAULT_TRANSACTION_MS}};
    bf_status_t rc = bf_producer_open(&producer, timeout_ms, err);
    bf_producer_drop(&producer);
    return rc;
}
