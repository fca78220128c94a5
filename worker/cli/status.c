/*
 * status.c - who owns which partition, and how far it is
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/table.h"

#define COMMITTED_MS 2000

static const char *const columns[] = {"PARTITION", "OWNER", "EPOCH",       "APPLIED",
                                      "PUBLISHED", "END",   "UNPUBLISHED", "LAG"};

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
} place_t;

static int64_t atleast(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

static bf_status_t look(bf_store_t *store, bf_reader_t *reader, const char *topic,
                        place_t *place, bf_err_t *err)
{
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = bf_reader_committed(reader, place->partition, COMMITTED_MS,
                                         &place->published, &why);
    if (rc == BF_E_TIMEOUT) {
        place->stuck = true;
        place->published = -1;
    } else if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s", why.text);
    }
    rc = bf_store_read_partition(store, topic, place->partition, &place->row, err);
    if (rc != BF_OK)
        return rc;
    bf_reader_range_t range = bf_reader_range(reader, place->partition);
    place->low = range.low;
    place->end = range.high;
    int64_t applied = place->row.exists ? place->row.next_offset : range.low;
    place->lag = atleast(range.high - applied, 0);
    place->unpublished = place->row.exists && place->published >= 0
                             ? atleast(applied - place->published, 0)
                             : 0;
    return BF_OK;
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
        "\"unpublished\":%lld,\"lag\":%lld}\n",
        (long long)place->published, place->stuck ? "true" : "false",
        (long long)place->low, (long long)place->end, (long long)place->unpublished,
        (long long)place->lag);
}

static bf_status_t show(bf_cli_t *cli, bf_store_t *store, bf_reader_t *reader,
                        bf_err_t *err)
{
    const char *topic = bf_cli_text(cli, "command-topic");
    bool json = bf_cli_flag(cli, "json");
    bf_table_t table;
    bf_table_init(&table, columns, COLUMN_COUNT, "rlrrrrrr");
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_status_t rc = BF_OK;
    int64_t lag = 0;
    int32_t count = bf_reader_partition_count(reader);
    for (int32_t p = 0; rc == BF_OK && p < count; p++) {
        place_t place = {.partition = p};
        rc = look(store, reader, topic, &place, err);
        if (rc != BF_OK)
            break;
        lag += place.lag;
        if (json)
            put_json(&out, &place);
        else
            add_row(&table, &place);
    }
    if (rc == BF_OK && !json) {
        rc = bf_table_write(&table, &out, err);
        bf_str_printf(&out, "topic %s, group %s, schema of %s: lag %lld\n", topic,
                      bf_cli_text(cli, "group"), bf_db_server(bf_store_db(store)),
                      (long long)lag);
    }
    if (rc == BF_OK)
        rc = bf_cli_write(&out, err);
    bf_table_fini(&table);
    bf_str_fini(&out);
    return rc;
}

static bf_exit_t run_status(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_store_t *store = NULL;
    bf_reader_t *reader = NULL;
    bf_status_t rc = bf_cli_store(cli, &store, &err);
    if (rc == BF_OK)
        rc = bf_cli_reader_of_group(cli, bf_cli_text(cli, "command-topic"),
                                    bf_cli_text(cli, "group"), &reader, &err);
    if (rc == BF_OK)
        rc = show(cli, store, reader, &err);
    bf_reader_close(reader);
    bf_store_close(store);
    return rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
}

static const bf_cli_option_t status_options[] = {
    {.name = "group",
     .kind = BF_OPTION_TEXT,
     .metavar = "GROUP",
     .fallback = "bpmflow",
     .env = "BPMFLOW_GROUP",
     .setting = "kafka.group",
     .help = "consumer group of the workers"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_status = {
    .name = "status",
    .summary = "show the partitions: owner, epoch, what is applied and published, lag",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA | BF_OPTIONS_DB,
    .options = status_options,
    .description =
        "One line for each partition of the command topic. APPLIED is the next offset by "
        "the database, PUBLISHED the one that the consumer group has committed together "
        "with events and replies, END where the topic ends. UNPUBLISHED and LAG are "
        "differences of offsets: markers of transactions count too, so a lag may stay a "
        "little above zero where commands are produced in transactions.",
    .examples = "    bpmflow status -c /etc/bpmflow/worker.conf\n"
                "    bpmflow status --json | jq 'select(.lag > 1000)'\n",
    .run = run_status};
