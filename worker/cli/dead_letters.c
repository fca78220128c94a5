/*
 * dead_letters.c - dead-letters list and show
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/dead.h"
#include "worker/cli/table.h"

static void put_json_text(bf_str_t *out, const char *name, const char *text, size_t len)
{
    bf_str_printf(out, ",\"%s\":", name);
    if (!text) {
        bf_str_puts(out, "null");
    } else if (bf_utf8_is_valid(text, len) && !memchr(text, '\0', len)) {
        bf_json_write_string(out, text, len);
    } else {
        bf_str_t safe;
        bf_str_init(&safe, 0);
        bf_text_put_safe(&safe, text, len);
        bf_json_write_string(out, bf_str_peek(&safe), safe.len);
        bf_str_fini(&safe);
    }
}

/* One line; bytes that are not text are shown as \xNN. */
static void put_json(bf_str_t *out, const bf_record_t *record, bool whole)
{
    bf_dead_letter_t letter;
    bf_dead_read(record, &letter);
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_rfc3339(record->timestamp_ms, time);
    bf_str_printf(out, "{\"id\":\"%d:%lld\"", (int)record->partition,
                  (long long)record->offset);
    put_json_text(out, "time", time, strlen(time));
    put_json_text(out, "code", letter.code.data, letter.code.len);
    put_json_text(out, "error", letter.error.data, letter.error.len);
    put_json_text(out, "topic", letter.topic.data, letter.topic.len);
    put_json_text(out, "partition", letter.partition.data, letter.partition.len);
    put_json_text(out, "offset", letter.offset.data, letter.offset.len);
    put_json_text(out, "cut", letter.cut.data, letter.cut.len);
    put_json_text(out, "key", record->key, record->key_len);
    bf_str_printf(out, ",\"value_bytes\":%zu", record->value_len);
    if (whole) {
        put_json_text(out, "value", record->value, record->value_len);
        bf_str_puts(out, ",\"headers\":[");
        const char *comma = "";
        for (size_t i = 0; i < record->header_count; i++) {
            const bf_header_t *header = &record->headers[i];
            if (bf_dead_is_own_header(header->name))
                continue;
            bf_str_printf(out, "%s{\"name\":", comma);
            bf_json_write_string(out, header->name, strlen(header->name));
            put_json_text(out, "value", header->value, header->len);
            bf_str_putc(out, '}');
            comma = ",";
        }
        bf_str_putc(out, ']');
    }
    bf_str_puts(out, "}\n");
}

/* --- list --- */

static const char *const columns[] = {"ID",        "TIME (UTC)", "CODE", "KEY",
                                      "CAME FROM", "BYTES",      "ERROR"};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

typedef struct lister {
    bool json;
    const char *code;
    const char *key;
    int64_t left; /* how many may still be shown */
    int64_t shown;
    bf_table_t table;
    bf_str_t out;
} lister_t;

static void add_cell(bf_table_t *table, const char *text, size_t len)
{
    bf_table_cellf(table, "%.*s", (int)(len > 1000 ? 1000 : len), text ? text : "");
}

static bf_status_t on_listed(void *arg, const bf_record_t *record, bf_err_t *err)
{
    lister_t *lister = arg;
    bf_dead_letter_t letter;
    bf_dead_read(record, &letter);
    bf_text_t key = {record->key ? record->key : "", record->key_len};
    if (lister->left == 0 || !bf_dead_is(letter.code, lister->code) ||
        !bf_dead_is(key, lister->key))
        return BF_OK;
    lister->left--;
    lister->shown++;
    if (lister->json) {
        put_json(&lister->out, record, false);
        return bf_cli_write(&lister->out, err);
    }
    bf_table_t *table = &lister->table;
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_sql(record->timestamp_ms, time);
    bf_table_cellf(table, "%d:%lld", (int)record->partition, (long long)record->offset);
    bf_table_cell(table, time);
    add_cell(table, letter.code.data, letter.code.len);
    add_cell(table, record->key, record->key_len);
    bf_table_cellf(table, "%.*s/%.*s:%.*s", (int)letter.topic.len, letter.topic.data,
                   (int)letter.partition.len, letter.partition.data,
                   (int)letter.offset.len, letter.offset.data);
    bf_table_cellf(table, "%zu", record->value_len);
    add_cell(table, letter.error.data, letter.error.len);
    return BF_OK;
}

static bf_exit_t run_list(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    lister_t lister = {.json = bf_cli_flag(cli, "json"),
                       .code = bf_cli_text(cli, "code"),
                       .key = bf_cli_text(cli, "key"),
                       .left = bf_cli_text(cli, "limit") ? bf_cli_int(cli, "limit")
                                                         : INT64_MAX};
    bf_table_init(&lister.table, columns, COLUMN_COUNT, "lllllrl");
    bf_str_init(&lister.out, 0);
    bf_cli_catch_signals();
    bf_status_t rc =
        bf_cli_scan(cli, bf_cli_text(cli, "dead-letter-topic"), on_listed, &lister, &err);
    if (rc == BF_OK && !lister.json && lister.shown > 0)
        rc = bf_table_write(&lister.table, &lister.out, &err);
    if (rc == BF_OK)
        rc = bf_cli_write(&lister.out, &err);
    bf_exit_t result = rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
    if (rc == BF_OK && !lister.json)
        printf("%lld dead letter%s\n", (long long)lister.shown,
               lister.shown == 1 ? "" : "s");
    bf_table_fini(&lister.table);
    bf_str_fini(&lister.out);
    return result;
}

static const bf_cli_option_t list_options[] = {
    {.name = "code",
     .kind = BF_OPTION_TEXT,
     .metavar = "CODE",
     .help = "only those with this error code, for example malformed"},
    {.name = "key",
     .kind = BF_OPTION_TEXT,
     .metavar = "KEY",
     .help = "only those with this key (the instance)"},
    {.name = "limit",
     .letter = 'n',
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .min = 1,
     .max = INT64_MAX,
     .help = "show at most N"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_dead_list = {
    .name = "dead-letters list",
    .summary = "list records that no command could be made of",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA,
    .options = list_options,
    .description = "A record of the command topic that cannot be read goes to the dead "
                   "letter topic as it was, with headers that say why and where it came "
                   "from. ID is its place there, PARTITION:OFFSET.",
    .examples = "    bpmflow dead-letters list\n"
                "    bpmflow dead-letters list --code limit_exceeded --json\n",
    .run = run_list};

/* --- show --- */

typedef struct shower {
    bool json;
    bool raw;
    bf_str_t out;
} shower_t;

static void put_line(bf_str_t *out, const char *label, const char *text, size_t len)
{
    bf_str_printf(out, "%-10s", label);
    if (text)
        bf_text_put_safe(out, text, len);
    else
        bf_str_puts(out, "(none)");
    bf_str_putc(out, '\n');
}

static void put_people(bf_str_t *out, const bf_record_t *record)
{
    bf_dead_letter_t letter;
    bf_dead_read(record, &letter);
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_sql(record->timestamp_ms, time);
    bf_str_printf(out, "%-10s%d:%lld, written %s UTC\n", "id", (int)record->partition,
                  (long long)record->offset, time);
    put_line(out, "code", letter.code.data, letter.code.len);
    put_line(out, "error", letter.error.data, letter.error.len);
    bf_str_printf(out, "%-10s", "came from"); /* what is foreign may hold anything */
    bf_text_put_safe(out, letter.topic.data, letter.topic.len);
    bf_str_puts(out, ", partition ");
    bf_text_put_safe(out, letter.partition.data, letter.partition.len);
    bf_str_puts(out, ", offset ");
    bf_text_put_safe(out, letter.offset.data, letter.offset.len);
    bf_str_putc(out, '\n');
    if (letter.cut.len > 0) {
        bf_str_printf(out, "%-10sthe record was too large: ", "cut");
        bf_text_put_safe(out, letter.cut.data, letter.cut.len);
        bf_str_puts(out, " is missing here; it stands where it came from\n");
    }
    put_line(out, "key", record->key, record->key_len);
    for (size_t i = 0; i < record->header_count; i++) {
        const bf_header_t *header = &record->headers[i];
        if (bf_dead_is_own_header(header->name))
            continue;
        bf_str_printf(out, "%-10s", "header");
        bf_text_put_safe(out, header->name, strlen(header->name));
        bf_str_puts(out, ": ");
        if (header->value)
            bf_text_put_safe(out, header->value, header->len);
        bf_str_putc(out, '\n');
    }
    bf_str_printf(out, "%-10s%zu bytes\n", "value", record->value_len);
    if (record->value) {
        bf_text_put_safe(out, record->value, record->value_len);
        bf_str_putc(out, '\n');
    }
}

static bf_status_t on_shown(void *arg, const bf_record_t *record, bf_err_t *err)
{
    shower_t *shower = arg;
    if (shower->raw)
        bf_str_append(&shower->out, record->value ? record->value : "",
                      record->value_len);
    else if (shower->json)
        put_json(&shower->out, record, true);
    else
        put_people(&shower->out, record);
    return bf_cli_write(&shower->out, err);
}

static bf_exit_t run_show(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_dead_name_t name;
    shower_t shower = {.json = bf_cli_flag(cli, "json"), .raw = bf_cli_flag(cli, "raw")};
    bf_str_init(&shower.out, 0);
    bf_exit_t result = BF_EXIT_OK;
    bf_status_t rc = bf_dead_parse_name(bf_cli_operand(cli, 0), &name, &err);
    if (rc != BF_OK) {
        bf_cli_error("dead-letters show: %s", err.text);
        return BF_EXIT_USAGE;
    }
    rc = bf_dead_fetch(cli, bf_cli_text(cli, "dead-letter-topic"), name, on_shown,
                       &shower, &err);
    if (rc == BF_E_NOT_FOUND) {
        bf_cli_error("%s", err.text);
        result = BF_EXIT_REJECTED;
    } else if (rc != BF_OK) {
        result = bf_cli_fail(&err, rc);
    }
    bf_str_fini(&shower.out);
    return result;
}

static const bf_cli_option_t show_options[] = {
    {.name = "raw",
     .kind = BF_OPTION_FLAG,
     .help = "write the value to the standard output, byte by byte, and nothing else"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_dead_show = {
    .name = "dead-letters show",
    .summary = "show one dead letter with its headers and its value",
    .operands = "PARTITION:OFFSET",
    .min_operands = 1,
    .max_operands = 1,
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA,
    .options = show_options,
    .description = "Shows why the record is a dead letter, where it came from, and the "
                   "record itself. Bytes that are no text are shown as \\xNN.",
    .status = "1 when there is no record at that place.",
    .examples = "    bpmflow dead-letters show 0:17\n"
                "    bpmflow dead-letters show 0:17 --raw > record.json\n",
    .run = run_show};
