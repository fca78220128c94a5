/*
 * status.c - who owns which partition, and how far it is
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/table.h"

#define COMMITTED_MS 2000

static const char *const columns[] = {"PARTITION",   "OWNER",     "EPOCH",
                                      "APPLIED",     "PUBLISHED", "END",
                                      "UNPUBLISHED", "LAG",       "RATE"};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

typedef struct place {
    int32_t partition;
    bf_partition_row_t row;
    bool stuck;        /* the committed offset is not to be had: an open transaction */
    int64_t published; /* K; -1 = none */
    int64_t low;
    int64_t end;
    int64_t lag;         /* not applied yet */
    int64_t unpublished; /* applied, not published yet */
    double rate;         /* offsets applied a second; negative = not measured */
    bf_partition_problem_t problem;
} place_t;

typedef struct view {
    bf_cli_t *cli;
    bf_store_t *store;
    bf_reader_t *reader;
    const char *topic;
    place_t *places;
    int32_t count;
} view_t;

static int64_t atleast(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

static bf_status_t look(const view_t *view, place_t *place, bf_err_t *err)
{
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = bf_reader_committed(view->reader, place->partition, COMMITTED_MS,
                                         &place->published, &why);
    if (rc == BF_E_TIMEOUT) {
        place->stuck = true;
        place->published = -1;
    } else if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s", why.text);
    }
    rc = bf_store_read_partition(view->store, view->topic, place->partition, &place->row,
                                 err);
    if (rc == BF_OK)
        rc = bf_store_read_problem(view->store, view->topic, place->partition,
                                   &place->problem, err);
    if (rc != BF_OK)
        return rc;
    bf_reader_range_t range = bf_reader_range(view->reader, place->partition);
    place->low = range.low;
    place->end = range.high;
    int64_t applied = place->row.exists ? place->row.next_offset : range.low;
    place->lag = atleast(range.high - applied, 0);
    place->unpublished = place->row.exists && place->published >= 0
                             ? atleast(applied - place->published, 0)
                             : 0;
    return BF_OK;
}

/* Looks once more at what is applied. */
static bf_status_t measure(const view_t *view, bf_err_t *err)
{
    int64_t interval_ms = bf_cli_int(view->cli, "interval");
    int64_t start_ns = bf_clock_mono_ns();
    bf_status_t rc = BF_OK;
    if (interval_ms == 0)
        return BF_OK;
    bf_clock_sleep_ms(interval_ms);
    for (int32_t p = 0; rc == BF_OK && p < view->count; p++) {
        bf_partition_row_t now;
        place_t *place = &view->places[p];
        rc = bf_store_read_partition(view->store, view->topic, p, &now, err);
        double seconds = (double)(bf_clock_mono_ns() - start_ns) / 1e9;
        if (rc == BF_OK && now.exists && place->row.exists)
            place->rate =
                (double)atleast(now.next_offset - place->row.next_offset, 0) / seconds;
    }
    return rc;
}

static void number(bf_table_t *table, bool known, int64_t value)
{
    if (known)
        bf_table_cellf(table, "%lld", (long long)value);
    else
        bf_table_cell(table, NULL);
}

static void add_row(bf_table_t *table, const place_t *place)
{
    const bf_partition_row_t *row = &place->row;
    bf_table_cellf(table, "%d", (int)place->partition);
    bf_table_cellf(table, "%s%s", row->exists ? row->owner : "",
                   row->exists && row->released ? " (released)" : "");
    number(table, row->exists, row->epoch);
    number(table, row->exists, row->next_offset);
    if (place->stuck)
        bf_table_cell(table, "open transaction");
    else
        number(table, place->published >= 0, place->published);
    number(table, true, place->end);
    number(table, row->exists && place->published >= 0, place->unpublished);
    number(table, true, place->lag);
    if (place->rate >= 0)
        bf_table_cellf(table, "%.0f/s", place->rate);
    else
        bf_table_cell(table, NULL);
}

static void put_problem(bf_str_t *out, const place_t *place)
{
    const bf_partition_problem_t *problem = &place->problem;
    char time[BF_TIME_TEXT_MAX];
    if (!problem->owner[0])
        return;
    bf_clock_format_rfc3339(problem->wall_ms, time);
    bf_str_printf(out, "partition %d %s by ", (int)place->partition,
                  problem->is_over ? "was stopped" : "is stopped");
    bf_text_put_safe(out, problem->owner, strlen(problem->owner));
    bf_str_printf(out, " at %s: ", time);
    bf_text_put_safe(out, problem->text, strlen(problem->text));
    bf_str_putc(out, '\n');
}

static void put_problem_json(bf_str_t *out, const bf_partition_problem_t *problem)
{
    char time[BF_TIME_TEXT_MAX];
    if (!problem->owner[0]) {
        bf_str_puts(out,
                    "\"stopped\":false,\"last_error\":null,\"last_error_time\":null");
        return;
    }
    bf_clock_format_rfc3339(problem->wall_ms, time);
    bf_str_printf(out,
                  "\"stopped\":%s,\"last_error\":", problem->is_over ? "false" : "true");
    bf_json_write_string(out, problem->text, strlen(problem->text));
    bf_str_printf(out, ",\"last_error_time\":\"%s\"", time);
}

static void put_json(bf_str_t *out, const place_t *place)
{
    const bf_partition_row_t *row = &place->row;
    bf_str_printf(out, "{\"partition\":%d,\"owner\":", (int)place->partition);
    if (row->exists)
        bf_json_write_string(out, row->owner, strlen(row->owner));
    else
        bf_str_puts(out, "null");
    bf_str_printf(out, ",\"released\":%s,\"epoch\":%lld,\"applied\":%lld,",
                  row->exists && row->released ? "true" : "false",
                  (long long)(row->exists ? row->epoch : 0),
                  (long long)(row->exists ? row->next_offset : -1));
    bf_str_printf(
        out,
        "\"published\":%lld,\"open_transaction\":%s,\"begin\":%lld,\"end\":%lld,"
        "\"unpublished\":%lld,\"lag\":%lld,\"rate\":",
        (long long)place->published, place->stuck ? "true" : "false",
        (long long)place->low, (long long)place->end, (long long)place->unpublished,
        (long long)place->lag);
    if (place->rate >= 0)
        bf_str_printf(out, "%.1f,", place->rate);
    else
        bf_str_puts(out, "null,");
    put_problem_json(out, &place->problem);
    bf_str_puts(out, "}\n");
}

static bf_status_t put_table(const view_t *view, bf_str_t *out, bf_err_t *err)
{
    bf_table_t table;
    int64_t lag = 0;
    double rate = 0;
    bf_table_init(&table, columns, COLUMN_COUNT, "rlrrrrrrr");
    for (int32_t p = 0; p < view->count; p++) {
        const place_t *place = &view->places[p];
        lag += place->lag;
        rate += place->rate > 0 ? place->rate : 0;
        add_row(&table, place);
    }
    bf_status_t rc = bf_table_write(&table, out, err);
    bf_table_fini(&table);
    bf_str_printf(out, "topic %s, group %s, schema of %s: lag %lld", view->topic,
                  bf_cli_text(view->cli, "group"), bf_db_server(bf_store_db(view->store)),
                  (long long)lag);
    if (bf_cli_int(view->cli, "interval") > 0)
        bf_str_printf(out, ", %.0f commands/s", rate);
    bf_str_putc(out, '\n');
    for (int32_t p = 0; p < view->count; p++)
        put_problem(out, &view->places[p]);
    return rc;
}

static bf_status_t show(const view_t *view, bf_err_t *err)
{
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_status_t rc = BF_OK;
    for (int32_t p = 0; rc == BF_OK && p < view->count; p++) {
        view->places[p].partition = p;
        view->places[p].rate = -1;
        rc = look(view, &view->places[p], err);
    }
    if (rc == BF_OK)
        rc = measure(view, err);
    if (rc == BF_OK && !bf_cli_flag(view->cli, "json"))
        rc = put_table(view, &out, err);
    for (int32_t p = 0; rc == BF_OK && bf_cli_flag(view->cli, "json") && p < view->count;
         p++)
        put_json(&out, &view->places[p]);
    if (rc == BF_OK)
        rc = bf_cli_write(&out, err);
    bf_str_fini(&out);
    return rc;
}

static bf_exit_t run_status(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    view_t view = {.cli = cli, .topic = bf_cli_text(cli, "command-topic")};
    bf_status_t rc = bf_cli_store(cli, &view.store, &err);
    if (rc == BF_OK)
        rc = bf_cli_reader_of_group(cli, view.topic, bf_cli_text(cli, "group"),
                                    &view.reader, &err);
    if (rc == BF_OK) {
        view.count = bf_reader_partition_count(view.reader);
        view.places = calloc((size_t)view.count + 1, sizeof *view.places);
        rc = view.places ? show(&view, &err) : bf_err_nomem(&err, "partitions");
    }
    free(view.places);
    bf_reader_close(view.reader);
    bf_store_close(view.store);
    return rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
}

static const bf_cli_option_t status_options[] = {
    BF_CLI_OPTION_GROUP,
    {.name = "interval",
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .fallback = "1s",
     .min = 0,
     .max = 3600000,
     .help = "how long to watch for the rate; 0 = no rate"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_status = {
    .name = "status",
    .summary = "show the partitions: owner, epoch, offsets, lag, rate, errors",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA | BF_OPTIONS_DB,
    .options = status_options,
    .description =
        "One line for each partition of the command topic. APPLIED is the next offset by "
        "the database, PUBLISHED the one that the consumer group has committed together "
        "with events and replies, END where the topic ends. UNPUBLISHED and LAG are "
        "differences of offsets, RATE is what "
        "was applied a second during --interval: markers of transactions count too, so a "
        "lag may stay a "
        "little above zero where commands are produced in transactions."
        "\n\nBelow the table stands why a partition is stopped, or was stopped last: "
        "offsets that retention has removed, a topic that was made anew, rows that "
        "cannot be read.",
    .examples = "    bpmflow status -c /etc/bpmflow/worker.conf\n"
                "    bpmflow status --json | jq 'select(.lag > 1000)'\n",
    .run = run_status};
