/*
 * settings.c - the table of settings, and setting them by name
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/num.h"
#include "bpmflow/suggest.h"

#define AT(field) offsetof(bf_settings_t, field)

static const char *const choices_delivery[] = {"transactional", "idempotent", NULL};
static const char *const choices_replies[] = {"transactional", "early", NULL};
static const char *const choices_tls[] = {"disabled", "required", "verify-ca",
                                          "verify-full", NULL};
static const char *const choices_first_start[] = {"beginning", "end", NULL};
static const char *const choices_on_gap[] = {"stop", "skip", NULL};
static const char *const choices_level[] = {"error", "warning", "info", "debug", NULL};
static const char *const choices_format[] = {"text", "json", NULL};

#define TEXT(setting, value, text)                                                       \
    .name = #setting, .type = BF_SETTING_TEXT, .offset = AT(setting),                    \
    .initial = (value), .help = (text)
#define SECRET(setting, text)                                                            \
    .name = #setting, .type = BF_SETTING_TEXT, .offset = AT(setting), .initial = "",     \
    .secret = true, .help = (text)
#define INT(setting, value, low, high, of, text)                                         \
    .name = #setting, .type = BF_SETTING_INT, .offset = AT(setting), .initial = (value), \
    .min = (low), .max = (high), .unit = (of), .help = (text)
#define BOOL(setting, value, text)                                                       \
    .name = #setting, .type = BF_SETTING_BOOL, .offset = AT(setting),                    \
    .initial = (value), .help = (text)
#define CHOICE(setting, value, of, text)                                                 \
    .name = #setting, .type = BF_SETTING_CHOICE, .offset = AT(setting),                  \
    .initial = (value), .choices = (of), .help = (text)
#define LIST(setting, value, text)                                                       \
    .name = #setting, .type = BF_SETTING_LIST, .offset = AT(setting),                    \
    .initial = (value), .help = (text)
/* clang-format off */
static const bf_setting_t table[] = {
    {TEXT(kafka.brokers, "127.0.0.1:9092",
         "Brokers to start from, host:port separated by commas.")},
    {TEXT(kafka.group, "bpmflow",
         "Consumer group. Workers of one group share the partitions.")},
    {TEXT(kafka.commands_topic, "bpmflow.commands",
         "Topic of the commands. It must exist; its clean-up policy must be delete.")},
    {INT(kafka.session_timeout_ms, "10000", 1000, 300000, "ms",
        "How long the broker waits for a silent worker before it gives its partitions away.")},
    {INT(kafka.transaction_timeout_ms, "15000", 1000, 900000, "ms",
        "How long the broker waits for a silent worker before it aborts its transaction.")},
    {TEXT(kafka.sasl_password_env, "",
         "Environment variable that holds the SASL password.")},
    {TEXT(kafka.sasl_password_file, "",
         "File whose first line is the SASL password.")},
    {LIST(kafka.properties, "",
         "librdkafka properties for all clients, each \"name=value\".")},
    {LIST(kafka.consumer_properties, "",
         "librdkafka properties for the consumers, each \"name=value\".")},
    {LIST(kafka.producer_properties, "",
         "librdkafka properties for the producers, each \"name=value\".")},
    {BOOL(kafka.embedded, "false",
         "For trying out: run a broker inside this process. Nothing it holds survives a stop.")},
    {INT(kafka.embedded_partitions, "8", 1, 1024, "",
        "Partitions of the topics of the embedded broker.")},
    {TEXT(kafka.embedded_file, "",
         "File that the address of the embedded broker is written to.")},

    {TEXT(events.topic, "bpmflow.events",
         "Topic of the task-history events. It must exist.")},
    {CHOICE(events.delivery, "transactional", choices_delivery,
           "transactional: exactly once. idempotent: at least once after a crash, lower latency.")},
    {INT(events.linger_ms, "20", 0, 1000, "ms",
        "Least time between the beginnings of two publications whose replies have left already (replies.delivery = early, events.delivery = idempotent): larger ones cost the broker less. With everything in transactions nothing waits.")},

    {BOOL(replies.enabled, "true",
         "Publish a reply for each command.")},
    {CHOICE(replies.delivery, "transactional", choices_replies,
           "transactional: with the events. early: as soon as the database has committed; after a crash a reply can come twice, with the same bytes.")},
    {TEXT(replies.topic, "bpmflow.replies",
         "Topic of the replies to commands that name no reply_to. It must exist.")},
    {LIST(replies.allowed, "",
         "Further topics that a command may name as its reply_to. They must exist.")},

    {TEXT(dead_letters.topic, "bpmflow.dead-letters",
         "Topic of the records that are no commands. It must exist.")},

    {LIST(jobs.topics, "",
         "Topics that a definition may hand work to (task: \"@kafka:topic\"). They must exist.")},

    {TEXT(mysql.host, "127.0.0.1",
         "Host of MySQL or MariaDB.")},
    {INT(mysql.port, "3306", 1, 65535, "",
        "Port of the database.")},
    {TEXT(mysql.socket, "",
         "Path of a Unix socket; wins over host and port.")},
    {TEXT(mysql.user, "bpmflow",
         "User of the database.")},
    {SECRET(mysql.password,
           "Password. Better: one of the two below, which keep it out of this file.")},
    {TEXT(mysql.password_env, "",
         "Environment variable that holds the password.")},
    {TEXT(mysql.password_file, "",
         "File whose first line is the password.")},
    {TEXT(mysql.database, "bpmflow",
         "Name of the database. Its tables come from: bpmflow migrate.")},
    {CHOICE(mysql.tls, "disabled", choices_tls,
           "Encryption of the connection, and what of the server's certificate is checked.")},
    {TEXT(mysql.tls_ca, "",
         "File of the certificate authority, for verify-ca and verify-full.")},
    {INT(mysql.connect_timeout_ms, "5000", 1000, 600000, "ms",
        "Longest wait for a connection.")},
    {INT(mysql.read_timeout_ms, "30000", 1000, 600000, "ms",
        "Longest wait for an answer.")},
    {INT(mysql.write_timeout_ms, "30000", 1000, 600000, "ms",
        "Longest wait for a statement to be taken.")},
    {BOOL(mysql.pipeline, "true",
         "Send all statements of a transaction before the first answer is read. false: for proxies that take one at a time.")},
    {TEXT(mysql.repository_table, "bpm_flow_repository",
         "Table of the instances.")},
    {TEXT(mysql.task_table, "bpm_flow_task",
         "Table of the task history.")},
    {BOOL(mysql.auto_migrate, "false",
         "Create and upgrade the tables at start. Otherwise another schema stops the start.")},

    {TEXT(worker.id, "",
         "Name of this worker, unique in the group and the same after a restart. Empty: the host name.")},
    {INT(worker.shards, "0", 0, 256, "threads",
        "Shards, each with a consumer, a producer and a connection. 0: one a core.")},
    {CHOICE(worker.first_start, "beginning", choices_first_start,
           "Where a partition begins that this group has never read.")},
    {CHOICE(worker.on_gap, "stop", choices_on_gap,
           "When the topic's retention has deleted commands that were never applied: stop the partition, or skip them.")},
    {INT(worker.cache_mb, "64", 1, 65536, "MiB",
        "Bound of the instance cache of each shard.")},
    {INT(worker.stop_timeout_ms, "30000", 1000, 600000, "ms",
        "Longest wait for open work after SIGTERM. What is not published then is published by the next owner.")},

    {INT(batch.max_commands, "1000", 1, 10000, "commands",
        "Most commands in one transaction.")},
    {INT(batch.max_bytes, "16777216", 65536, 268435456, "bytes",
        "Most bytes of records in one transaction.")},
    {INT(batch.linger_ms, "0", 0, 1000, "ms",
        "How long a batch waits for more commands after its first one. 0: it takes what is there; under load the next one fills while this one is committed.")},
    {INT(batch.target_ms, "200", 0, 60000, "ms",
        "How long a full batch may take to its commit: while one takes longer, the next ones are smaller, down to 100 commands. 0: no bound.")},
    {INT(batch.queue_depth, "8", 1, 16, "batches",
        "Batches that may wait for their publication while the next one is worked on; what waits is published together.")},
    {INT(batch.conflict_retries, "5", 1, 100, "",
        "How often a batch is done again because somebody else changed an instance, before its commands are rejected.")},
    {INT(batch.retry_min_ms, "50", 1, 60000, "ms",
        "First pause before a failed transaction is tried again; it doubles each time.")},
    {INT(batch.retry_max_ms, "5000", 1, 600000, "ms",
        "Longest such pause.")},

    {INT(limits.max_record_bytes, "1048576", 1024, 67108864, "bytes",
        "Largest value of a record; a larger one is a dead letter.")},
    {INT(limits.max_depth, "64", 1, 1000, "",
        "Deepest nesting of JSON.")},
    {INT(limits.max_steps, "10000", 1, 10000000, "visits",
        "Most node visits of one command.")},
    {INT(limits.max_vars_bytes, "262144", 1024, 16777216, "bytes",
        "Largest variables of an instance, as JSON.")},
    {BOOL(limits.allow_force, "false",
         "Let commands submit tasks that are not current (force).")},
    {BOOL(limits.require_key_match, "true",
         "Reject commands whose record key is not their instance ID.")},

    {LIST(components, "",
         "Shared objects with components, drivers and controllers (bpmflow/component.h). A name with a slash is a path; one without is looked for where the system looks for libraries.")},

    {LIST(graphs.paths, "",
         "Files, or folders whose *.yml, *.yaml and *.json files are loaded."), .reloadable = true},
    {BOOL(graphs.strict, "false",
         "Do not start when a definition has mistakes. Otherwise only that file is left out; it is named in the log and in the metric bpmflow_definition_refused.")},
    {TEXT(graphs.controller, "actor",
         "Which nodes are tasks, and whose. actor: those with an actor; block: every activity; not-block: none; any other name: a controller of a library in components.")},
    {LIST(graphs.actor_keys, "actor",
         "Names in a node's meta that the actor controller compares with the command's context.")},

    {CHOICE(log.level, "info", choices_level,
           "Least important lines that are written."), .reloadable = true},
    {CHOICE(log.format, "text", choices_format,
           "Form of the lines; they go to standard error.")},
    {INT(log.stats_interval_ms, "60000", 0, 3600000, "ms",
        "How often a line with counts and times of the stages is written. 0: never."), .reloadable = true},

    {TEXT(admin.address, "127.0.0.1",
         "Address of the HTTP port for /metrics, /healthz and /readyz.")},
    {INT(admin.port, "9464", 0, 65535, "",
        "That port. 0: none.")},
};
/* clang-format on */

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

const bf_setting_t *bf_settings_table(size_t *ret_count)
{
    *ret_count = TABLE_COUNT;
    return table;
}

bf_controller_kind_t bf_settings_controller(const bf_settings_t *settings)
{
    static const char *const names[] = {"actor", "block", "not-block"};
    size_t i = 0;
    while (i < sizeof(names) / sizeof(names[0]) &&
           strcmp(settings->graphs.controller, names[i]) != 0) {
        i++;
    }
    return (bf_controller_kind_t)i;
}

const bf_setting_t *bf_settings_find(const char *name, bf_err_t *err)
{
    const char *names[TABLE_COUNT];
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
        names[i] = table[i].name;
    }
    const char *near = bf_suggest_nearest(name, strlen(name), names, TABLE_COUNT);
    if (near) {
        bf_err_set(err, BF_E_NOT_FOUND, "there is no setting '%s'; did you mean '%s'?",
                   name, near);
    } else {
        bf_err_set(err, BF_E_NOT_FOUND,
                   "there is no setting '%s'; bpmflow-worker --help lists all", name);
    }
    return NULL;
}

static void *field_of(bf_settings_t *settings, const bf_setting_t *setting)
{
    return (char *)settings + setting->offset;
}

static void list_clear(bf_text_list_t *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i]);
    }
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

void bf_settings_fini(bf_settings_t *settings)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (table[i].type == BF_SETTING_TEXT) {
            char **text = field_of(settings, &table[i]);
            free(*text);
            *text = NULL;
        } else if (table[i].type == BF_SETTING_LIST) {
            list_clear(field_of(settings, &table[i]));
        }
    }
}

static bf_status_t set_text(char **field, const char *value, bf_err_t *err)
{
    char *copy = strdup(value);
    if (!copy) {
        return bf_err_nomem(err, "settings");
    }
    free(*field);
    *field = copy;
    return BF_OK;
}

static bf_status_t set_int(int64_t *field, const bf_setting_t *setting, const char *value,
                           bf_err_t *err)
{
    int64_t number;
    if (bf_num_parse_i64(value, strlen(value), &number, NULL) != BF_OK) {
        return bf_err_set(err, BF_E_INVALID, "%s = %s: a whole number is needed",
                          setting->name, value);
    }
    if (number < setting->min || number > setting->max) {
        return bf_err_set(err, BF_E_LIMIT, "%s = %s: it must be within %lld and %lld%s%s",
                          setting->name, value, (long long)setting->min,
                          (long long)setting->max, setting->unit[0] ? " " : "",
                          setting->unit);
    }
    *field = number;
    return BF_OK;
}

static bf_status_t set_bool(bool *field, const bf_setting_t *setting, const char *value,
                            bf_err_t *err)
{
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
        return bf_err_set(err, BF_E_INVALID, "%s = %s: true or false is needed",
                          setting->name, value);
    }
    *field = value[0] == 't';
    return BF_OK;
}

static bf_status_t set_choice(int64_t *field, const bf_setting_t *setting,
                              const char *value, bf_err_t *err)
{
    bf_str_t list;
    bf_str_init(&list, 256);
    size_t count = 0;
    for (; setting->choices[count]; count++) {
        if (strcmp(setting->choices[count], value) == 0) {
            *field = (int64_t)count;
            bf_str_fini(&list);
            return BF_OK;
        }
        bf_str_puts(&list, count ? ", " : "");
        bf_str_puts(&list, setting->choices[count]);
    }
    const char *near = bf_suggest_nearest(value, strlen(value), setting->choices, count);
    bf_err_set(err, BF_E_INVALID, "%s = \"%s\": it must be one of: %s%s%s%s",
               setting->name, value, bf_str_peek(&list), BF_DID_YOU_MEAN(near));
    bf_str_fini(&list);
    return BF_E_INVALID;
}

bf_status_t bf_settings_set_list(bf_settings_t *settings, const bf_setting_t *setting,
                                 const char *const *items, size_t count, bf_err_t *err)
{
    BF_ASSERT(setting->type == BF_SETTING_LIST);
    bf_text_list_t fresh = {NULL, 0};
    fresh.items = calloc(count ? count : 1, sizeof(*fresh.items));
    if (!fresh.items) {
        return bf_err_nomem(err, "settings");
    }
    for (size_t i = 0; i < count; i++) {
        fresh.items[i] = strdup(items[i]);
        if (!fresh.items[i]) {
            list_clear(&fresh);
            return bf_err_nomem(err, "settings");
        }
        fresh.count++;
    }
    bf_text_list_t *field = field_of(settings, setting);
    list_clear(field);
    *field = fresh;
    return BF_OK;
}

static bf_status_t split_list(bf_settings_t *settings, const bf_setting_t *setting,
                              const char *value, const char *separators, bf_err_t *err)
{
    const char *items[256];
    size_t count = 0;
    bf_status_t rc = BF_OK;
    char *copy = strdup(value);
    if (!copy) {
        return bf_err_nomem(err, "settings");
    }
    char *state = NULL;
    for (char *item = strtok_r(copy, separators, &state); item;
         item = strtok_r(NULL, separators, &state)) {
        if (count == sizeof(items) / sizeof(items[0])) {
            rc =
                bf_err_set(err, BF_E_LIMIT, "%s: over %zu members", setting->name, count);
            break;
        }
        items[count++] = item;
    }
    if (rc == BF_OK) {
        rc = bf_settings_set_list(settings, setting, items, count, err);
    }
    free(copy);
    return rc;
}

static bf_status_t set_value(bf_settings_t *settings, const bf_setting_t *setting,
                             const char *value, const char *separators, bf_err_t *err)
{
    void *field = field_of(settings, setting);
    switch (setting->type) {
    case BF_SETTING_TEXT:
        return set_text(field, value, err);
    case BF_SETTING_INT:
        return set_int(field, setting, value, err);
    case BF_SETTING_BOOL:
        return set_bool(field, setting, value, err);
    case BF_SETTING_CHOICE:
        return set_choice(field, setting, value, err);
    case BF_SETTING_LIST:
        return split_list(settings, setting, value, separators, err);
    }
    return bf_err_set(err, BF_E_INVALID, "%s: unknown type", setting->name);
}

bf_status_t bf_settings_set(bf_settings_t *settings, const char *name, const char *value,
                            bf_err_t *err)
{
    const bf_setting_t *setting = bf_settings_find(name, err);
    if (!setting) {
        return BF_E_NOT_FOUND;
    }
    return set_value(settings, setting, value, ",", err);
}

bf_status_t bf_settings_init(bf_settings_t *settings, bf_err_t *err)
{
    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        bf_status_t rc = set_value(settings, &table[i], table[i].initial, " ", err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}
