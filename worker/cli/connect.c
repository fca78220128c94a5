/*
 * connect.c - connections of a subcommand; see connect.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/connect.h"

#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 10000
#define PASSWORD_MAX       512
#define SCAN_POLL_MS       100

/* librdkafka properties of the file and of -X; texts live in the arena. BF_E_INVALID: one
 * of them is not NAME=VALUE. */
static bf_status_t read_properties(const bf_cli_t *cli, bf_arena_t *arena,
                                   const bf_property_t **ret, size_t *ret_count,
                                   bf_err_t *err)
{
    size_t given = 0;
    size_t in_file = 0;
    const char *const *texts = bf_cli_list(cli, "property", &given);
    const char *name = NULL;
    const char *value = NULL;
    while (cli->config &&
           bf_cli_config_entry(cli->config, "kafka.properties", in_file, &name, &value))
        in_file++;
    bf_property_t *list = bf_arena_calloc(arena, in_file + given + 1, sizeof *list);
    if (!list)
        return bf_err_nomem(err, "properties");
    size_t count = 0;
    /* The broker says what is too large: a record that came in must get out again, with a
     * header more. */
    list[count++] = (bf_property_t){"message.max.bytes", "16000000"};
    for (size_t i = 0; i < in_file; i++) {
        (void)bf_cli_config_entry(cli->config, "kafka.properties", i, &name, &value);
        list[count++] = (bf_property_t){name, value};
    }
    for (size_t i = 0; i < given; i++) {
        const char *equals = strchr(texts[i], '=');
        if (!equals || equals == texts[i])
            return bf_err_set(err, BF_E_INVALID, "--property %s: write NAME=VALUE",
                              texts[i]);
        list[count].name = bf_arena_strndup(arena, texts[i], (size_t)(equals - texts[i]));
        list[count].value = equals + 1;
        if (!list[count++].name)
            return bf_err_nomem(err, "properties");
    }
    *ret = list;
    *ret_count = count;
    return BF_OK;
}

bf_status_t bf_cli_client(const bf_cli_t *cli, const char *reply_topic,
                          int64_t timeout_ms, bf_client_t **ret, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_client_options_t options = {.brokers = bf_cli_text(cli, "brokers"),
                                   .command_topic = bf_cli_text(cli, "command-topic"),
                                   .reply_topic = reply_topic};
    bf_status_t rc =
        read_properties(cli, &arena, &options.properties, &options.property_count, err);
    if (rc == BF_OK)
        rc = bf_client_new(&options, timeout_ms, ret, err);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t open_reader(const bf_cli_t *cli, bf_reader_options_t *options,
                               bf_reader_t **ret, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    options->brokers = bf_cli_text(cli, "brokers");
    bf_status_t rc =
        read_properties(cli, &arena, &options->properties, &options->property_count, err);
    if (rc == BF_OK)
        rc = bf_reader_open(options, CONNECT_TIMEOUT_MS, ret, err);
    bf_arena_fini(&arena);
    return rc;
}

bf_status_t bf_cli_reader(const bf_cli_t *cli, const char *topic, bf_reader_from_t from,
                          bf_reader_t **ret, bf_err_t *err)
{
    bf_reader_options_t options = {.topic = topic, .from = from};
    return open_reader(cli, &options, ret, err);
}

bf_status_t bf_cli_scan(const bf_cli_t *cli, const char *topic, bf_cli_record_fn fn,
                        void *arg, bf_err_t *err)
{
    bf_reader_t *reader = NULL;
    bf_status_t rc = bf_cli_reader(cli, topic, BF_READER_BEGINNING, &reader, err);
    while (rc == BF_OK && !bf_reader_at_end(reader) && !bf_cli_stopped()) {
        bf_record_t record;
        rc = bf_reader_next(reader, SCAN_POLL_MS, &record, err);
        if (rc == BF_E_TIMEOUT || rc == BF_E_BUS_RETRY) {
            bf_err_clear(err);
            rc = BF_OK;
            continue;
        }
        if (rc != BF_OK)
            break;
        rc = fn(arg, &record, err);
        bf_reader_release(&record);
    }
    bf_reader_close(reader);
    return rc;
}

bf_status_t bf_cli_reader_of_group(const bf_cli_t *cli, const char *topic,
                                   const char *group, bf_reader_t **ret, bf_err_t *err)
{
    bf_reader_options_t options = {.topic = topic, .from = BF_READER_END, .group = group};
    return open_reader(cli, &options, ret, err);
}

bf_status_t bf_cli_reader_at(const bf_cli_t *cli, const char *topic, int32_t partition,
                             int64_t offset, bf_reader_t **ret, bf_err_t *err)
{
    bf_reader_options_t options = {
        .topic = topic, .one_partition = true, .partition = partition, .offset = offset};
    return open_reader(cli, &options, ret, err);
}

static bf_tls_t tls_of(const char *text)
{
    if (strcmp(text, "required") == 0)
        return BF_TLS_REQUIRED;
    if (strcmp(text, "verify-ca") == 0)
        return BF_TLS_VERIFY_CA;
    if (strcmp(text, "verify-full") == 0)
        return BF_TLS_VERIFY_FULL;
    return BF_TLS_DISABLED;
}

/* Environment, then file, then the configuration file; NULL = no password. */
static bf_status_t find_password(const bf_cli_t *cli, char buffer[PASSWORD_MAX],
                                 const char **ret, bf_err_t *err)
{
    *ret = getenv("BPMFLOW_DB_PASSWORD");
    const char *path = bf_cli_text(cli, "db-password-file");
    if (*ret || (!path && !cli->config))
        return BF_OK;
    if (!path) {
        *ret = bf_cli_config_get(cli->config, "mysql.password");
        return BF_OK;
    }
    FILE *file = fopen(path, "re");
    if (!file)
        return bf_err_set(err, BF_E_IO, "cannot read the password file %s: %s", path,
                          bf_cli_errno_text());
    if (!fgets(buffer, PASSWORD_MAX, file))
        buffer[0] = '\0';
    (void)fclose(file);
    buffer[strcspn(buffer, "\r\n")] = '\0';
    *ret = buffer;
    return BF_OK;
}

static bf_status_t db_options(const bf_cli_t *cli, char buffer[PASSWORD_MAX],
                              bf_db_options_t *ret, bf_err_t *err)
{
    memset(ret, 0, sizeof *ret);
    ret->host = bf_cli_text(cli, "db-host");
    ret->port = (uint32_t)bf_cli_int(cli, "db-port");
    ret->socket = bf_cli_text(cli, "db-socket");
    ret->user = bf_cli_text(cli, "db-user");
    ret->database = bf_cli_text(cli, "db-name");
    ret->tls = tls_of(bf_cli_text(cli, "db-tls"));
    ret->tls_ca = bf_cli_text(cli, "db-tls-ca");
    return find_password(cli, buffer, &ret->password, err);
}

bf_status_t bf_cli_db(const bf_cli_t *cli, bf_db_t **ret, bf_err_t *err)
{
    char password[PASSWORD_MAX];
    bf_db_options_t options;
    bf_status_t rc = db_options(cli, password, &options, err);
    if (rc == BF_OK)
        rc = bf_db_connect(&options, ret, err);
    explicit_bzero(password, sizeof password);
    return rc;
}

bf_status_t bf_cli_store(const bf_cli_t *cli, bf_store_t **ret, bf_err_t *err)
{
    char password[PASSWORD_MAX];
    bf_store_options_t options = {.repository_table =
                                      bf_cli_text(cli, "repository-table"),
                                  .task_table = bf_cli_text(cli, "task-table")};
    bf_status_t rc = db_options(cli, password, &options.db, err);
    if (rc == BF_OK)
        rc = bf_store_open(&options, ret, err);
    explicit_bzero(password, sizeof password);
    return rc;
}
