/*
 * main.c - bpmflow-worker: options, start in order, wait for signals, stop in order
 *
 * Signals are blocked in all threads and taken by sigtimedwait() here.  The first TERM or
 * INT lets each shard finish its batch, publish it and leave the group; a second one ends
 * the process at once, and nothing is lost by that either: what is committed and not
 * published is published by the next owner.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "bpmflow/version.h"
#include "worker/process.h"

#define TICK_MS       200
#define STOP_GRACE_MS 15000 /* for leaving the group and closing */

static void block_signals(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGHUP);
    (void)sigaddset(ret, BF_SIGNAL_SHARD_ENDED);
    (void)pthread_sigmask(SIG_BLOCK, ret, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* sockets of the client libraries */
}

static int next_signal(const sigset_t *signals)
{
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    int signal = sigtimedwait(signals, NULL, &tick);
    return signal > 0 ? signal : 0;
}

static bool start_shards(bf_worker_t *worker)
{
    bf_err_t err = BF_ERR_INIT;
    size_t count = (size_t)worker->settings.worker.shards;
    worker->shards = calloc(count, sizeof(bf_shard_t *));
    bf_status_t rc = worker->shards ? BF_OK : bf_err_nomem(&err, "shards");
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        rc = bf_shard_new(worker, (int)i, &worker->shards[i], &err);
        worker->shard_count += rc == BF_OK;
    }
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        rc = bf_shard_start(worker->shards[i], &err);
    }
    if (rc != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "%s", err.text);
    }
    return rc == BF_OK;
}

/* What ends the stopping when the shards do not. */
typedef struct watch {
    const sigset_t *signals;
    int64_t deadline_mono_ms;
    atomic_bool done;
} watch_t;

static void end_at_once(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
    _exit(BF_EXIT_ERROR);
}

/* A second signal ends the process at once, and so does a client library that does not
 * come back (librdkafka before 2.6 can hang when it is closed). */
static void *watch_stop(void *arg)
{
    watch_t *watch = arg;
    while (!atomic_load(&watch->done)) {
        int signal = next_signal(watch->signals);
        if (signal == SIGTERM || signal == SIGINT) {
            end_at_once("bpmflow-worker: stopped at once by a second signal\n");
        }
        if (bf_clock_mono_ms() >= watch->deadline_mono_ms) {
            end_at_once(
                "bpmflow-worker: stopped at once: worker.stop_timeout_ms is over\n");
        }
    }
    return NULL;
}

/* false: one of them ended with an error. */
static bool stop_shards(bf_worker_t *worker, const sigset_t *signals)
{
    bool ok = true;
    pthread_t watcher;
    watch_t watch = {.signals = signals,
                     .deadline_mono_ms = bf_clock_mono_ms() + STOP_GRACE_MS +
                                         2 * worker->settings.worker.stop_timeout_ms};
    atomic_store(&worker->stopping, true);
    bool watched = pthread_create(&watcher, NULL, watch_stop, &watch) == 0;
    for (size_t i = 0; i < worker->shard_count; i++) {
        ok = bf_shard_join(worker->shards[i]) && ok;
    }
    if (watched) {
        atomic_store(&watch.done, true);
        (void)pthread_join(watcher, NULL);
    }
    return ok;
}

static void free_shards(bf_worker_t *worker)
{
    size_t count = worker->shard_count;
    worker->shard_count = 0;
    for (size_t i = 0; i < count; i++) {
        bf_shard_free(worker->shards[i]);
    }
    free(worker->shards);
    worker->shards = NULL;
}

/* Until somebody or something says stop. */
static void serve(bf_worker_t *worker, const bf_options_t *options,
                  const sigset_t *signals)
{
    bf_stats_t stats;
    bf_stats_init(&stats);
    for (;;) {
        int signal = next_signal(signals);
        if (signal == SIGHUP) {
            bf_reload(worker, options);
        } else if (signal != 0) {
            bf_log_write(worker->log, BF_LOG_INFO, NULL, 0, "stopping: %s",
                         signal == BF_SIGNAL_SHARD_ENDED ? "a shard has ended"
                                                         : sigdescr_np(signal));
            break;
        }
        bf_stats_write(&stats, worker, /* now= */ false);
    }
    bf_stats_write(&stats, worker, /* now= */ worker->settings.log.stats_interval_ms > 0);
}

static int run(bf_worker_t *worker, const bf_options_t *options, const sigset_t *signals)
{
    bf_err_t err = BF_ERR_INIT;
    bf_admin_t *admin = NULL;
    int status = BF_EXIT_ERROR;
    worker->main_thread = pthread_self();
    const bf_log_field_t fields[] = {
        BF_LOG_STR("version", BF_VERSION),
        BF_LOG_STR("worker", worker->settings.worker.id),
        BF_LOG_INT("shards", worker->settings.worker.shards),
        BF_LOG_STR("incarnation", worker->incarnation),
    };
    bf_log_write(worker->log, BF_LOG_INFO, fields, 4, "bpmflow-worker starts");
    bool stopped = false;
    if (bf_prepare_broker(worker) && bf_prepare_schema(worker, signals, &stopped)) {
        bool started = start_shards(worker);
        if (started && bf_endpoint_start(worker, &admin, &err) == BF_OK) {
            bf_notify("READY=1");
            serve(worker, options, signals);
            status = BF_EXIT_OK;
        } else if (started) {
            bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "%s", err.text);
        }
        bf_notify("STOPPING=1");
        if (!stop_shards(worker, signals)) {
            status = BF_EXIT_ERROR;
        }
    } else if (stopped) { /* before there was anything to stop */
        status = BF_EXIT_OK;
    }
    bf_admin_stop(admin);
    free_shards(worker);
    bf_log_write(worker->log, BF_LOG_INFO, NULL, 0, "stopped");
    return status;
}

int main(int argc, char **argv)
{
    static bf_worker_t worker; /* large, and one per process */
    bf_options_t options;
    sigset_t signals;
    bf_options_parse(argc, argv, &options);
    if (options.run == BF_RUN_EXIT) {
        return options.exit_status;
    }
    int status = BF_EXIT_USAGE;
    block_signals(&signals);
    bool loaded = bf_options_load(&options, &worker.settings);
    if (options.run == BF_RUN_CHECK_CONFIG) {
        worker.settings.graphs.strict = true; /* what has mistakes is not good */
    }
    if (loaded && bf_prepare_worker(&worker)) {
        if (options.run == BF_RUN_CHECK_CONFIG) {
            (void)puts("the configuration is good");
            status = BF_EXIT_OK;
        } else {
            status = run(&worker, &options, &signals);
        }
    }
    bf_prepare_undo(&worker);
    return status;
}
