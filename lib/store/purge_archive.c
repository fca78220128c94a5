/*
 * purge_archive.c - rows that a purge deletes, as JSON lines
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "bpmflow/value.h"
#include "lib/store/purge_int.h"

/* Column by column: s text, i number, t time, b bytes (text where they are UTF-8, else
 * NAME_hex). */
typedef struct column {
    const char *name;
    char kind;
} column_t;

typedef struct table {
    const char *name; /* NULL = as the settings say */
    const column_t *columns;
    size_t count;
} table_t;

static const column_t instance_columns[] = {
    {"id", 'i'},          {"instant_id", 's'}, {"graph", 's'},        {"states", 's'},
    {"vars", 's'},        {"tasks", 's'},      {"rev", 'i'},          {"prev_rev", 'i'},
    {"status", 'i'},      {"seq", 'i'},        {"partition_no", 'i'}, {"creator", 's'},
    {"create_time", 't'}, {"updater", 's'},    {"update_time", 't'}};

static const column_t history_columns[] = {{"id", 'i'},
                                           {"flow_ins_id", 's'},
                                           {"seq", 'i'},
                                           {"proc_def_id", 's'},
                                           {"graph_version", 'i'},
                                           {"task_id", 's'},
                                           {"action", 'i'},
                                           {"source_node_code", 's'},
                                           {"source_node_name", 's'},
                                           {"source_node_type", 's'},
                                           {"target_node_code", 's'},
                                           {"target_node_name", 's'},
                                           {"target_node_type", 's'},
                                           {"assignee", 's'},
                                           {"status", 'i'},
                                           {"form_id", 'i'},
                                           {"variables", 's'},
                                           {"message", 's'},
                                           {"instance_state", 'i'},
                                           {"command_id", 's'},
                                           {"creator", 's'},
                                           {"create_time", 't'},
                                           {"updater", 's'},
                                           {"update_time", 't'}};

static const column_t command_columns[] = {
    {"topic_no", 'i'},   {"partition_no", 'i'}, {"command_offset", 'i'},
    {"instant_id", 's'}, {"command_id", 's'},   {"command", 's'},
    {"code", 's'},       {"first_seq", 'i'},    {"last_seq", 'i'},
    {"reply", 'b'},      {"reply_topic", 's'},  {"traceparent", 's'},
    {"tracestate", 's'}, {"create_time", 't'}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void put_hex(bf_str_t *str, bf_text_t bytes)
{
    bf_str_putc(str, '"');
    for (size_t i = 0; i < bytes.len; i++) {
        bf_str_printf(str, "%02x", (unsigned char)bytes.data[i]);
    }
    bf_str_putc(str, '"');
}

static void put_column(bf_str_t *str, const bf_stmt_t *stmt, size_t i,
                       const column_t *column)
{
    char time[BF_TIME_TEXT_MAX];
    bf_text_t text = {NULL, 0};
    bool is_text = column->kind == 's' || column->kind == 'b';
    if (is_text && !bf_stmt_is_null(stmt, i)) {
        text = bf_stmt_text(stmt, i);
    }
    bool hex = column->kind == 'b' && text.data != NULL &&
               !bf_utf8_is_valid(text.data, text.len);
    bf_str_printf(str, "%s\"%s%s\":", i > 0 ? "," : "", column->name, hex ? "_hex" : "");
    if (bf_stmt_is_null(stmt, i)) {
        bf_str_puts(str, "null");
    } else if (hex) {
        put_hex(str, text);
    } else if (is_text) {
        bf_json_write_string(str, text.data, text.len);
    } else if (column->kind == 't') {
        bf_clock_format_rfc3339(bf_stmt_time(stmt, i), time);
        bf_str_printf(str, "\"%s\"", time);
    } else {
        bf_str_printf(str, "%lld", (long long)bf_stmt_i64(stmt, i));
    }
}

/* All rows of the result. */
static bf_status_t write_rows(bf_purge_t *purge, bf_stmt_t *stmt, const table_t *table,
                              bf_err_t *err)
{
    const bf_purge_archive_t *archive = purge->options.archive;
    bf_str_t *line = &purge->line;
    bool row = false;
    bf_status_t status = bf_stmt_run(stmt, &purge->store->params, 0, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_str_clear(line);
        bf_str_printf(line, "{\"table\":\"%s\",\"row\":{", table->name);
        for (size_t i = 0; i < table->count; i++) {
            put_column(line, stmt, i, &table->columns[i]);
        }
        bf_str_puts(line, "}}\n");
        status = bf_str_status(line, "archive", err);
        if (status == BF_OK) {
            status = archive->line(archive->arg, line->data, line->len, err);
        }
    }
    bf_stmt_end(stmt);
    return status;
}

static bf_status_t write_by_instance(bf_purge_t *purge, bf_purge_list_id_t id, size_t at,
                                     size_t count, const table_t *table, bf_err_t *err)
{
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    bf_status_t status = bf_purge_list(purge, id, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    for (size_t i = 0; i < size; i++) {
        bf_params_put_cstr(&purge->store->params,
                           purge->instances[at + (i < count ? i : count - 1)].id);
    }
    return write_rows(purge, stmt, table, err);
}

static bf_status_t write_commands(bf_purge_t *purge, size_t at, size_t count,
                                  bf_err_t *err)
{
    const table_t table = {"bpm_flow_command", command_columns, COUNT(command_columns)};
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    bf_status_t status =
        bf_purge_list(purge, BF_PURGE_ARCHIVE_COMMANDS, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    for (size_t i = 0; i < size; i++) {
        const bf_purge_commands_t *of =
            &purge->commands[at + (i < count ? i : count - 1)];
        bf_params_put_cstr(&purge->store->params, of->instance_id);
        bf_params_put_i64(&purge->store->params, of->topic_no);
        bf_params_put_i64(&purge->store->params, of->partition_no);
        bf_params_put_i64(&purge->store->params, of->last_offset);
    }
    return write_rows(purge, stmt, &table, err);
}

static bf_status_t write_orphans(bf_purge_t *purge, size_t at, size_t count,
                                 bf_err_t *err)
{
    const table_t table = {"bpm_flow_command", command_columns, COUNT(command_columns)};
    const bf_purge_partition_t *partition = &purge->partitions[purge->partition];
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    bf_status_t status =
        bf_purge_list(purge, BF_PURGE_ARCHIVE_ORPHANS, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_i64(&purge->store->params, partition->topic_no);
    bf_params_put_i64(&purge->store->params, partition->partition_no);
    for (size_t i = 0; i < size; i++) {
        bf_params_put_i64(&purge->store->params,
                          purge->orphans[at + (i < count ? i : count - 1)]);
    }
    return write_rows(purge, stmt, &table, err);
}

static size_t some(size_t count, size_t at)
{
    return count - at < BF_LIST_MAX ? count - at : BF_LIST_MAX;
}

bf_status_t bf_purge_archive_rows(bf_purge_t *purge, bf_err_t *err)
{
    const bf_purge_archive_t *archive = purge->options.archive;
    const table_t instances = {purge->store->tables.repository, instance_columns,
                               COUNT(instance_columns)};
    const table_t history = {purge->store->tables.task, history_columns,
                             COUNT(history_columns)};
    bf_status_t status = BF_OK;
    if (archive == NULL) {
        return BF_OK;
    }
    for (size_t at = 0; status == BF_OK && at < purge->instance_count;
         at += BF_LIST_MAX) {
        size_t count = some(purge->instance_count, at);
        status = write_by_instance(purge, BF_PURGE_ARCHIVE_INSTANCES, at, count,
                                   &instances, err);
        if (status == BF_OK) {
            status = write_by_instance(purge, BF_PURGE_ARCHIVE_HISTORY, at, count,
                                       &history, err);
        }
    }
    for (size_t at = 0; status == BF_OK && at < purge->command_count; at += BF_LIST_MAX) {
        status = write_commands(purge, at, some(purge->command_count, at), err);
    }
    for (size_t at = 0; status == BF_OK && at < purge->orphan_count; at += BF_LIST_MAX) {
        status = write_orphans(purge, at, some(purge->orphan_count, at), err);
    }
    return status == BF_OK ? archive->keep(archive->arg, err) : status;
}
