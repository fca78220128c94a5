/*
 * prepare.c - what has to be there before the shards start, and the reload
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/clock.h"
#include "bpmflow/migrate.h"
#include "worker/process.h"

#define MIGRATE_PAUSE_MS 1000

bool bf_prepare_worker(bf_worker_t *worker)
{
    bf_err_t err = BF_ERR_INIT;
    const bf_settings_t *settings = &worker->settings;
    bf_uuid_make(worker->incarnation);
    worker->log = bf_log_new(STDERR_FILENO, (bf_log_format_t)settings->log.format,
                             (bf_log_level_t)settings->log.level);
    worker->metrics = bf_metrics_new();
    worker->catalogue = bf_catalogue_new();
    if (!worker->log || !worker->metrics || !worker->catalogue) {
        (void)fputs("bpmflow-worker: out of memory\n", stderr);
        return false;
    }
    /* The embedded broker does not wake a waiting fetch: that would be the latency. */
    char *fetch_wait[] = {(char[]){"fetch.wait.max.ms=" BF_EMBEDDED_FETCH_WAIT_MS}};
    const bf_text_list_t embedded = {fetch_wait, 1};
    if (bf_properties_make(
            &settings->kafka.properties,
            settings->kafka.embedded ? &embedded : &settings->kafka.consumer_properties,
            &worker->consumer_properties, &err) != BF_OK ||
        bf_properties_make(&settings->kafka.properties,
                           &settings->kafka.producer_properties,
                           &worker->producer_properties, &err) != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "%s", err.text);
        return false;
    }
    return bf_plugins_start(worker) && bf_definitions_start(worker);
}

static bool write_address(const bf_worker_t *worker, const char *path)
{
    char reason[128];
    FILE *file = fopen(path, "we");
    bool ok = file && fprintf(file, "%s\n", bf_worker_brokers(worker)) > 0;
    if (file) {
        ok = fclose(file) == 0 && ok;
    }
    if (!ok) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0,
                     "kafka.embedded_file: %s cannot be written: %s", path,
                     strerror_r(errno, reason, sizeof(reason)));
    }
    return ok;
}

bool bf_prepare_broker(bf_worker_t *worker)
{
    const bf_settings_t *settings = &worker->settings;
    bf_err_t err = BF_ERR_INIT;
    if (!settings->kafka.embedded) {
        return true;
    }
    const char *topics[4 + 2 * 256] = {settings->kafka.commands_topic,
                                       settings->events.topic,
                                       settings->dead_letters.topic};
    size_t count = 3;
    if (settings->replies.enabled) {
        topics[count++] = settings->replies.topic;
    }
    for (size_t i = 0; i < settings->replies.allowed.count && count < 259; i++) {
        topics[count++] = settings->replies.allowed.items[i];
    }
    for (size_t i = 0; i < settings->jobs.topics.count && i < 256; i++) {
        topics[count++] = settings->jobs.topics.items[i];
    }
    bf_status_t rc = bf_embedded_broker_new(&worker->broker, &err);
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        rc = bf_embedded_broker_create_topic(worker->broker, topics[i],
                                             (int32_t)settings->kafka.embedded_partitions,
                                             &err);
    }
    if (rc != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "embedded broker: %s", err.text);
        return false;
    }
    const bf_log_field_t fields[] = {BF_LOG_STR("address", bf_worker_brokers(worker))};
    bf_log_write(worker->log, BF_LOG_WARNING, fields, 1,
                 "the embedded broker runs: for trying out, nothing it holds survives");
    return settings->kafka.embedded_file[0] == '\0' ||
           write_address(worker, settings->kafka.embedded_file);
}

static void on_migrated(void *arg, int version, const char *name)
{
    const bf_worker_t *worker = arg;
    const bf_log_field_t fields[] = {BF_LOG_INT("version", version),
                                     BF_LOG_STR("name", name)};
    bf_log_write(worker->log, BF_LOG_INFO, fields, 2, "the schema was upgraded");
}

static bf_status_t migrate(bf_worker_t *worker, bf_err_t *err)
{
    const bf_settings_t *settings = &worker->settings;
    const bf_tables_t tables = {settings->mysql.repository_table,
                                settings->mysql.task_table};
    const bf_db_options_t options = bf_worker_db_options(settings);
    bf_db_t *db = NULL;
    bf_status_t rc = bf_db_connect(&options, &db, err);
    if (rc == BF_OK) {
        rc = bf_migrate_run(db, &tables, on_migrated, worker, NULL, err);
    }
    bf_db_close(db);
    return rc;
}

bool bf_prepare_schema(bf_worker_t *worker, const sigset_t *signals, bool *ret_stopped)
{
    bool said = false;
    while (worker->settings.mysql.auto_migrate) {
        bf_err_t err = BF_ERR_INIT;
        const struct timespec pause = {.tv_sec = MIGRATE_PAUSE_MS / 1000};
        bf_status_t rc = migrate(worker, &err);
        if (rc == BF_OK) {
            return true;
        }
        if (!bf_status_is_retriable(rc)) {
            bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "%s", err.text);
            return false;
        }
        if (!said) {
            bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "the database: %s; waiting",
                         err.text);
            said = true;
        }
        int signal = sigtimedwait(signals, NULL, &pause);
        if (signal == SIGTERM || signal == SIGINT) {
            *ret_stopped = true;
            return false;
        }
    }
    return true;
}

void bf_prepare_undo(bf_worker_t *worker)
{
    bf_embedded_broker_free(worker->broker);
    bf_catalogue_free(worker->catalogue);
    bf_definitions_fini(worker);
    bf_plugins_stop(worker);
    bf_metrics_free(worker->metrics);
    bf_properties_fini(&worker->consumer_properties);
    bf_properties_fini(&worker->producer_properties);
    bf_log_free(worker->log);
    bf_settings_fini(&worker->settings);
}

/* The other settings need a restart: threads read them without a lock. */
void bf_reload(bf_worker_t *worker, const bf_options_t *options)
{
    bf_settings_t fresh;
    bf_notify("RELOADING=1");
    if (bf_options_load(options, &fresh)) {
        bf_log_set_level(worker->log, (bf_log_level_t)fresh.log.level);
        worker->settings.log.level = fresh.log.level;
        worker->settings.log.stats_interval_ms = fresh.log.stats_interval_ms;
        bf_definitions_reload(worker, &fresh.graphs.paths);
    } else {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0,
                     "reload: the configuration has mistakes; nothing is changed");
    }
    bf_settings_fini(&fresh);
    bf_notify("READY=1");
}
