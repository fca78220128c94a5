/*
 * shared.c - options that several subcommands have
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/cli.h"

static const bf_cli_option_t kafka_options[] = {
    {.name = "brokers",
     .letter = 'b',
     .kind = BF_OPTION_TEXT,
     .metavar = "HOST:PORT[,...]",
     .fallback = "localhost:9092",
     .env = "BPMFLOW_BROKERS",
     .setting = "kafka.brokers",
     .help = "Kafka brokers to begin with"},
    {.name = "command-topic",
     .kind = BF_OPTION_TEXT,
     .metavar = "TOPIC",
     .fallback = "bpmflow.commands",
     .env = "BPMFLOW_COMMAND_TOPIC",
     .setting = "kafka.commands_topic",
     .help = "topic that the workers read"},
    {.name = "reply-topic",
     .kind = BF_OPTION_TEXT,
     .metavar = "TOPIC",
     .fallback = "bpmflow.replies",
     .env = "BPMFLOW_REPLY_TOPIC",
     .setting = "replies.topic",
     .help = "topic of the replies"},
    {.name = "event-topic",
     .kind = BF_OPTION_TEXT,
     .metavar = "TOPIC",
     .fallback = "bpmflow.events",
     .env = "BPMFLOW_EVENT_TOPIC",
     .setting = "events.topic",
     .help = "topic of the events"},
    {.name = "dead-letter-topic",
     .kind = BF_OPTION_TEXT,
     .metavar = "TOPIC",
     .fallback = "bpmflow.dead-letters",
     .env = "BPMFLOW_DEAD_LETTER_TOPIC",
     .setting = "dead_letters.topic",
     .help = "topic of the dead letters"},
    {.name = "property",
     .letter = 'X',
     .kind = BF_OPTION_LIST,
     .metavar = "NAME=VALUE",
     .help = "a librdkafka property, for example security.protocol=SSL; may be repeated"},
    {.name = NULL}};

static const bf_cli_option_t db_options[] = {
    {.name = "db-host",
     .kind = BF_OPTION_TEXT,
     .metavar = "HOST",
     .fallback = "127.0.0.1",
     .env = "BPMFLOW_DB_HOST",
     .setting = "mysql.host",
     .help = "host of MySQL or MariaDB"},
    {.name = "db-port",
     .kind = BF_OPTION_INT,
     .metavar = "PORT",
     .fallback = "3306",
     .min = 1,
     .max = 65535,
     .env = "BPMFLOW_DB_PORT",
     .setting = "mysql.port",
     .help = "its port"},
    {.name = "db-socket",
     .kind = BF_OPTION_TEXT,
     .metavar = "PATH",
     .env = "BPMFLOW_DB_SOCKET",
     .setting = "mysql.socket",
     .help = "Unix socket, instead of host and port"},
    {.name = "db-user",
     .letter = 'u',
     .kind = BF_OPTION_TEXT,
     .metavar = "USER",
     .fallback = "bpmflow",
     .env = "BPMFLOW_DB_USER",
     .setting = "mysql.user",
     .help = "user; the password comes from BPMFLOW_DB_PASSWORD, from --db-password-file "
             "or from the configuration file"},
    {.name = "db-password-file",
     .kind = BF_OPTION_TEXT,
     .metavar = "FILE",
     .env = "BPMFLOW_DB_PASSWORD_FILE",
     .help = "file that holds the password in its first line"},
    {.name = "db-name",
     .letter = 'd',
     .kind = BF_OPTION_TEXT,
     .metavar = "DATABASE",
     .fallback = "bpmflow",
     .env = "BPMFLOW_DB_NAME",
     .setting = "mysql.database",
     .help = "database"},
    {.name = "db-tls",
     .kind = BF_OPTION_CHOICE,
     .metavar = "disabled|required|verify-ca|verify-full",
     .fallback = "disabled",
     .env = "BPMFLOW_DB_TLS",
     .setting = "mysql.tls",
     .help = "encryption of the connection"},
    {.name = "db-tls-ca",
     .kind = BF_OPTION_TEXT,
     .metavar = "FILE",
     .env = "BPMFLOW_DB_TLS_CA",
     .setting = "mysql.tls_ca",
     .help = "certificates to trust"},
    {.name = "repository-table",
     .kind = BF_OPTION_TEXT,
     .metavar = "TABLE",
     .fallback = "bpm_flow_repository",
     .env = "BPMFLOW_REPOSITORY_TABLE",
     .setting = "mysql.repository_table",
     .help = "table of the instances"},
    {.name = "task-table",
     .kind = BF_OPTION_TEXT,
     .metavar = "TABLE",
     .fallback = "bpm_flow_task",
     .env = "BPMFLOW_TASK_TABLE",
     .setting = "mysql.task_table",
     .help = "table of the history"},
    {.name = NULL}};

static const bf_cli_option_t json_options[] = {
    {.name = "json",
     .letter = 'j',
     .kind = BF_OPTION_FLAG,
     .help = "print JSON, one document a line, for programs"},
    {.name = NULL}};

static const bf_cli_option_t wait_options[] = {
    {.name = "timeout",
     .letter = 't',
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .fallback = "10s",
     .min = 1,
     .max = 86400000,
     .env = "BPMFLOW_TIMEOUT",
     .help =
         "how long to wait for the connection and for the reply, e.g. 500ms, 10s, 2m"},
    {.name = "no-wait",
     .kind = BF_OPTION_FLAG,
     .help = "return when Kafka has the command, without waiting for the reply"},
    {.name = "command-id",
     .kind = BF_OPTION_TEXT,
     .metavar = "ID",
     .help = "ID of the command; the same ID again is answered with the first outcome. "
             "Default: a random UUID"},
    {.name = "dry-run",
     .kind = BF_OPTION_FLAG,
     .help = "print the command instead of sending it"},
    {.name = NULL}};

static const bf_cli_option_t common_options[] = {
    {.name = "config",
     .letter = 'c',
     .kind = BF_OPTION_TEXT,
     .metavar = "FILE",
     .env = "BPMFLOW_CONFIG",
     .help = "configuration file of the worker: brokers, topics, database"},
    {.name = "help", .letter = 'h', .kind = BF_OPTION_FLAG, .help = "show this page"},
    {.name = NULL}};

const bf_cli_option_t *bf_cli_shared_options(unsigned group)
{
    switch (group) {
    case BF_OPTIONS_KAFKA:
        return kafka_options;
    case BF_OPTIONS_DB:
        return db_options;
    case BF_OPTIONS_JSON:
        return json_options;
    case BF_OPTIONS_WAIT:
        return wait_options;
    default:
        return NULL;
    }
}

const bf_cli_option_t *bf_cli_common_options(void)
{
    return common_options;
}
