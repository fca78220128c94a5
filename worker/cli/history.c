/*
 * history.c - the history of an instance from the tables
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/clock.h"
#include "bpmflow/codec.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/reply.h"
#include "worker/cli/table.h"

static const char *const columns[] = {"SEQ",   "TIME (UTC)", "ACTION",
                                      "FROM",  "TO",         "ASSIGNEE",
                                      "STATE", "INSTANCE",   "MESSAGE"};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

typedef struct sink {
    bool json;
    int64_t rows;
    bf_table_t table;
    bf_str_t out;
} sink_t;

static void add_row(bf_table_t *table, const bf_history_t *row)
{
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_sql(row->create_time_ms, time);
    bf_table_cellf(table, "%d", (int)row->seq);
    bf_table_cell(table, time);
    bf_table_cell(table, bf_action_name(row->action));
    bf_table_cell(table, row->source.code);
    bf_table_cell(table, row->target.code);
    bf_table_cell(table, row->assignee);
    bf_table_cell(table, bf_cli_state_text(row->status));
    bf_table_cell(table,
                  bf_instance_status_name((bf_instance_status_t)row->instance_state));
    bf_table_cell(table, row->message);
}

static bf_status_t on_row(void *arg, const bf_history_t *row, bf_err_t *err)
{
    sink_t *sink = arg;
    sink->rows++;
    if (!sink->json) {
        add_row(&sink->table, row);
        return BF_OK;
    }
    bf_codec_write_event(&sink->out, row);
    bf_str_putc(&sink->out, '\n');
    return bf_cli_write(&sink->out, err);
}

static bf_exit_t run_history(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    const char *instance = bf_cli_operand(cli, 0);
    bf_store_t *store = NULL;
    sink_t sink = {.json = bf_cli_flag(cli, "json")};
    bf_table_init(&sink.table, columns, COLUMN_COUNT, "rllllllll");
    bf_str_init(&sink.out, 0);
    bf_status_t rc = bf_cli_store(cli, &store, &err);
    if (rc == BF_OK)
        rc = bf_store_scan_history(store, instance, on_row, &sink, &err);
    if (rc == BF_OK && !sink.json && sink.rows > 0)
        rc = bf_table_write(&sink.table, &sink.out, &err);
    if (rc == BF_OK)
        rc = bf_cli_write(&sink.out, &err);
    bf_exit_t result = rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
    if (rc == BF_OK && sink.rows == 0) {
        bf_cli_error("instance %s has no history: no step was submitted, or there is no "
                     "such instance (bpmflow show %s)",
                     instance, instance);
        result = BF_EXIT_REJECTED;
    }
    bf_table_fini(&sink.table);
    bf_str_fini(&sink.out);
    bf_store_close(store);
    return result;
}

const bf_cli_command_t bf_cli_history = {
    .name = "history",
    .summary = "show the steps of an instance",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_DB,
    .description = "Reads the history table: one row for each step from a task to the "
                   "next one, with who did it and what the step led to. STATE is the "
                   "state of the task, INSTANCE that of the whole instance after the "
                   "step. With --json each row is the event that was published for it.",
    .status = "1 also when the instance has no history.",
    .examples = "    bpmflow history leave-1\n"
                "    bpmflow history leave-1 --json | jq .assignee\n",
    .run = run_history};
