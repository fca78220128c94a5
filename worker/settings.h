/*
 * settings.h - the settings of the worker: one table for file, help, sample and checks
 *
 * The table in settings.c has name, type, unit, range, default, whether a reload takes
 * it, and a sentence.  The configuration file (libconfig), `--set NAME=VALUE`, `--help`,
 * `--print-config` and the sample in config/ all come from it.
 *
 * Threads:  filled at start by one thread, then only read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_SETTINGS_H
#define BF_SETTINGS_H

#include <stdint.h>

#include "bpmflow/err.h"
#include "bpmflow/str.h"

typedef struct bf_text_list {
    char **items;
    size_t count;
} bf_text_list_t;

/* Values of the settings with choices; the order is that of the choices in the table. */
typedef enum { BF_FIRST_START_BEGINNING, BF_FIRST_START_END } bf_first_start_t;
typedef enum { BF_ON_GAP_STOP, BF_ON_GAP_SKIP } bf_on_gap_t;
typedef enum { BF_REPLIES_TRANSACTIONAL, BF_REPLIES_EARLY } bf_reply_delivery_t;
typedef enum {
    BF_CONTROLLER_ACTOR,
    BF_CONTROLLER_BLOCK,
    BF_CONTROLLER_NOT_BLOCK,
    BF_CONTROLLER_LIBRARY /* any other name: of a library in `components` */
} bf_controller_kind_t;

/* Integers are int64_t, choices too; texts are never NULL ("" = not set). */
typedef struct bf_settings {
    struct {
        char *brokers;
        char *group;
        char *commands_topic;
        int64_t session_timeout_ms;
        int64_t transaction_timeout_ms;
        char *sasl_password_env;
        char *sasl_password_file;
        bf_text_list_t properties;
        bf_text_list_t consumer_properties;
        bf_text_list_t producer_properties;
        bool embedded;
        int64_t embedded_partitions;
        char *embedded_file;
    } kafka;
    struct {
        char *topic;
        int64_t delivery; /* bf_delivery_t */
        int64_t linger_ms;
    } events;
    struct {
        bool enabled;
        int64_t delivery; /* bf_reply_delivery_t */
        char *topic;
        bf_text_list_t allowed;
    } replies;
    struct {
        char *topic;
    } dead_letters;
    struct {
        bf_text_list_t topics;
    } jobs;
    struct {
        char *host;
        int64_t port;
        char *socket;
        char *user;
        char *password;
        char *password_env;
        char *password_file;
        char *database;
        int64_t tls; /* bf_tls_t */
        char *tls_ca;
        int64_t connect_timeout_ms;
        int64_t read_timeout_ms;
        int64_t write_timeout_ms;
        bool pipeline;
        char *repository_table;
        char *task_table;
        bool auto_migrate;
    } mysql;
    struct {
        char *id;
        int64_t shards;
        int64_t first_start; /* bf_first_start_t */
        int64_t on_gap;      /* bf_on_gap_t */
        int64_t cache_mb;
        int64_t stop_timeout_ms;
    } worker;
    struct {
        int64_t max_commands;
        int64_t max_bytes;
        int64_t linger_ms;
        int64_t target_ms;
        int64_t queue_depth;
        int64_t conflict_retries;
        int64_t retry_min_ms;
        int64_t retry_max_ms;
    } batch;
    struct {
        int64_t max_record_bytes;
        int64_t max_depth;
        int64_t max_steps;
        int64_t max_vars_bytes;
        bool allow_force;
        bool require_key_match;
    } limits;
    bf_text_list_t components;
    struct {
        bf_text_list_t paths;
        bool strict;
        char *controller;
        bf_text_list_t actor_keys;
    } graphs;
    struct {
        int64_t level;  /* bf_log_level_t */
        int64_t format; /* bf_log_format_t */
        int64_t stats_interval_ms;
    } log;
    struct {
        char *address;
        int64_t port;
    } admin;
} bf_settings_t;

typedef enum {
    BF_SETTING_TEXT,
    BF_SETTING_INT,
    BF_SETTING_BOOL,
    BF_SETTING_CHOICE,
    BF_SETTING_LIST
} bf_setting_type_t;

typedef struct bf_setting {
    const char *name; /* "group.name", or "name" outside of all groups */
    bf_setting_type_t type;
    size_t offset;    /* in bf_settings_t */
    const char *unit; /* INT; "" = a number */
    int64_t min;      /* INT */
    int64_t max;
    const char *const *choices; /* CHOICE; ends with NULL */
    const char *initial;        /* default as text; a LIST: members separated by blanks */
    bool reloadable;            /* SIGHUP takes a new value */
    bool secret;                /* never printed */
    const char *help;
} bf_setting_t;

/** The table, in the order of the groups. */
const bf_setting_t *bf_settings_table(size_t *ret_count);

/** All defaults. BF_E_NOMEM. Free with bf_settings_fini(), also after an error. */
bf_status_t bf_settings_init(bf_settings_t *settings, bf_err_t *err) BF_MUST_USE;
void bf_settings_fini(bf_settings_t *settings);

/**
 * Set one by its name, checked against the table.
 * @param value  as text; a LIST: members separated by commas
 * @return BF_OK; BF_E_NOT_FOUND (with the nearest name), BF_E_INVALID, BF_E_LIMIT
 * (range), BF_E_NOMEM
 */
bf_status_t bf_settings_set(bf_settings_t *settings, const char *name, const char *value,
                            bf_err_t *err) BF_MUST_USE;

/** A LIST from its members. Errors as bf_settings_set(). */
bf_status_t bf_settings_set_list(bf_settings_t *settings, const bf_setting_t *setting,
                                 const char *const *items, size_t count,
                                 bf_err_t *err) BF_MUST_USE;

/** What graphs.controller names. */
bf_controller_kind_t bf_settings_controller(const bf_settings_t *settings);

/** NULL and err (with the nearest name) when there is none. */
const bf_setting_t *bf_settings_find(const char *name, bf_err_t *err);

/**
 * Read a configuration file over what is set. All problems are collected.
 * @param ret_problems  one line each: "file:line: reason and remedy"
 * @return BF_OK; BF_E_IO; BF_E_INVALID: see ret_problems (err has the first); BF_E_NOMEM
 */
bf_status_t bf_settings_read_file(bf_settings_t *settings, const char *path,
                                  bf_str_t *ret_problems, bf_err_t *err) BF_MUST_USE;

/** What must fit together, and secrets from files and the environment: fills
 *  mysql.password and adds sasl.password to kafka.properties. BF_E_INVALID, BF_E_IO,
 *  BF_E_NOMEM. Call once, after all values are set. */
bf_status_t bf_settings_finish(bf_settings_t *settings, bf_err_t *err) BF_MUST_USE;

/** A configuration file with comments. @param settings NULL = the defaults */
void bf_settings_print(bf_str_t *str);
/** One line for each setting, for --help. */
void bf_settings_print_help(bf_str_t *str);

#endif /* BF_SETTINGS_H */
