/*
 * settings_finish.c - what must fit together, and secrets from elsewhere
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/properties.h"
#include "worker/settings.h"

#define SECRET_MAX 4096

static bf_status_t read_secret_file(const char *name, const char *path,
                                    char ret[SECRET_MAX], bf_err_t *err)
{
    FILE *file = fopen(path, "re");
    char reason[128];
    if (!file) {
        return bf_err_set(err, BF_E_IO, "%s: %s cannot be read: %s", name, path,
                          strerror_r(errno, reason, sizeof(reason)));
    }
    bf_status_t rc = BF_OK;
    if (!fgets(ret, SECRET_MAX, file)) {
        rc = bf_err_set(err, BF_E_INVALID,
                        "%s: %s is empty; its first line must be the "
                        "password",
                        name, path);
    } else {
        ret[strcspn(ret, "\r\n")] = '\0';
    }
    (void)fclose(file);
    return rc;
}

/* The one source that is set, into ret; untouched when none is. */
static bf_status_t read_secret(const char *what, const char *env_name, const char *path,
                               char ret[SECRET_MAX], bf_err_t *err)
{
    if (env_name[0] && path[0]) {
        return bf_err_set(err, BF_E_INVALID, "%s_env and %s_file are both set; set one",
                          what, what);
    }
    if (path[0]) {
        return read_secret_file(what, path, ret, err);
    }
    if (env_name[0]) {
        /* Before any thread is started. NOLINTNEXTLINE(concurrency-mt-unsafe) */
        const char *value = getenv(env_name);
        if (!value) {
            return bf_err_set(err, BF_E_INVALID,
                              "%s_env: the environment variable %s is not set", what,
                              env_name);
        }
        if (strlen(value) >= SECRET_MAX) {
            return bf_err_set(err, BF_E_LIMIT, "%s_env: %s is over %d bytes", what,
                              env_name, SECRET_MAX - 1);
        }
        (void)snprintf(ret, SECRET_MAX, "%s", value);
    }
    return BF_OK;
}

static bf_status_t finish_mysql(bf_settings_t *settings, bf_err_t *err)
{
    char secret[SECRET_MAX] = "";
    bf_status_t rc = read_secret("mysql.password", settings->mysql.password_env,
                                 settings->mysql.password_file, secret, err);
    if (rc != BF_OK || secret[0] == '\0') {
        return rc;
    }
    if (settings->mysql.password[0]) {
        rc = bf_err_set(err, BF_E_INVALID,
                        "mysql.password and mysql.password_env or _file are both set; "
                        "set one");
    } else {
        rc = bf_settings_set(settings, "mysql.password", secret, err);
    }
    explicit_bzero(secret, sizeof(secret));
    return rc;
}

static bf_status_t add_property(bf_text_list_t *list, const char *name, const char *value,
                                bf_err_t *err)
{
    char **items = realloc(list->items, (list->count + 1) * sizeof(*items));
    size_t size = strlen(name) + strlen(value) + 2;
    char *text = items ? malloc(size) : NULL;
    if (items) {
        list->items = items;
    }
    if (!text) {
        return bf_err_nomem(err, "settings");
    }
    (void)snprintf(text, size, "%s=%s", name, value);
    list->items[list->count++] = text;
    return BF_OK;
}

static bf_status_t finish_kafka(bf_settings_t *settings, bf_err_t *err)
{
    char secret[SECRET_MAX] = "";
    const struct {
        const char *name;
        const bf_text_list_t *list;
    } lists[] = {
        {"kafka.properties", &settings->kafka.properties},
        {"kafka.consumer_properties", &settings->kafka.consumer_properties},
        {"kafka.producer_properties", &settings->kafka.producer_properties},
    };
    bf_status_t rc = BF_OK;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && rc == BF_OK; i++) {
        rc = bf_properties_check(lists[i].name, lists[i].list, err);
    }
    if (rc == BF_OK) {
        rc = read_secret("kafka.sasl_password", settings->kafka.sasl_password_env,
                         settings->kafka.sasl_password_file, secret, err);
    }
    if (rc == BF_OK && secret[0]) { /* after the check, which refuses it in a file */
        rc = add_property(&settings->kafka.properties, "sasl.password", secret, err);
    }
    explicit_bzero(secret, sizeof(secret));
    return rc;
}

static bf_status_t finish_worker(bf_settings_t *settings, bf_err_t *err)
{
    if (settings->worker.shards == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        settings->worker.shards = cores < 1 ? 1 : cores > 256 ? 256 : cores;
    }
    if (settings->worker.id[0] == '\0') {
        char host[256] = "";
        if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') {
            return bf_err_set(err, BF_E_INVALID,
                              "worker.id is empty and the host has no name; set it");
        }
        bf_status_t rc = bf_settings_set(settings, "worker.id", host, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    for (const char *c = settings->worker.id; *c; c++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                    *c)) {
            return bf_err_set(
                err, BF_E_INVALID,
                "worker.id = \"%s\": only letters, digits, '.', '_' and '-' "
                "are allowed",
                settings->worker.id);
        }
    }
    /* It stands in rows and transactional IDs together with the number of the shard. */
    if (strlen(settings->worker.id) > 100) {
        return bf_err_set(err, BF_E_LIMIT, "worker.id is over 100 characters");
    }
    return BF_OK;
}

static bf_status_t check_needed(const bf_settings_t *settings, bf_err_t *err)
{
    const struct {
        const char *name;
        const char *value;
    } needed[] = {
        {"kafka.brokers", settings->kafka.brokers},
        {"kafka.group", settings->kafka.group},
        {"kafka.commands_topic", settings->kafka.commands_topic},
        {"events.topic", settings->events.topic},
        {"dead_letters.topic", settings->dead_letters.topic},
        {"mysql.database", settings->mysql.database},
    };
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (needed[i].value[0] == '\0') {
            return bf_err_set(err, BF_E_INVALID, "%s is empty; it is needed",
                              needed[i].name);
        }
    }
    if (settings->replies.enabled && settings->replies.topic[0] == '\0') {
        return bf_err_set(err, BF_E_INVALID,
                          "replies.topic is empty; set it, or replies.enabled = false");
    }
    if (settings->batch.retry_min_ms > settings->batch.retry_max_ms) {
        return bf_err_set(err, BF_E_INVALID,
                          "batch.retry_min_ms is over batch.retry_max_ms");
    }
    return BF_OK;
}

/* What the worker writes to the topic of the commands would be commands again. */
static bf_status_t check_topic(const bf_settings_t *settings, const char *name,
                               const char *topic, bf_err_t *err)
{
    if (strcmp(topic, settings->kafka.commands_topic) != 0) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_INVALID,
                      "%s: '%s' is the topic of the commands (kafka.commands_topic): the "
                      "worker would read what it writes; name another topic",
                      name, topic);
}

static bf_status_t check_topic_list(const bf_settings_t *settings, const char *name,
                                    const bf_text_list_t *list, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; i < list->count && rc == BF_OK; i++) {
        rc = check_topic(settings, name, list->items[i], err);
    }
    return rc;
}

static bf_status_t check_topics(const bf_settings_t *settings, bf_err_t *err)
{
    bf_status_t rc = check_topic(settings, "events.topic", settings->events.topic, err);
    if (rc == BF_OK) {
        rc = check_topic(settings, "dead_letters.topic", settings->dead_letters.topic,
                         err);
    }
    if (rc == BF_OK && settings->replies.enabled) {
        rc = check_topic(settings, "replies.topic", settings->replies.topic, err);
    }
    if (rc == BF_OK) {
        rc = check_topic_list(settings, "replies.allowed", &settings->replies.allowed,
                              err);
    }
    if (rc == BF_OK) {
        rc = check_topic_list(settings, "jobs.topics", &settings->jobs.topics, err);
    }
    return rc;
}

bf_status_t bf_settings_finish(bf_settings_t *settings, bf_err_t *err)
{
    bf_status_t rc = check_needed(settings, err);
    if (rc == BF_OK) {
        rc = check_topics(settings, err);
    }
    if (rc == BF_OK) {
        rc = finish_worker(settings, err);
    }
    if (rc == BF_OK) {
        rc = finish_mysql(settings, err);
    }
    if (rc == BF_OK) {
        rc = finish_kafka(settings, err);
    }
    return rc;
}
