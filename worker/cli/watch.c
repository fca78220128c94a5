/*
 * watch.c - events as they come
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/task.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/reply.h"
#include "worker/cli/table.h"

#define POLL_MS 200

typedef struct watcher {
    bool json;
    const char *instance;
    const char *graph;
    const char *action;
    const char *assignee;
    int64_t seen;     /* events that matched */
    bf_arena_t arena; /* of one event */
    bf_str_t out;
} watcher_t;

static const char *text_of(const bf_value_t *map, const char *name)
{
    const char *text = bf_value_get_cstr(map, name);
    return text ? text : "";
}

static bool is_wanted(const char *filter, const bf_value_t *event, const char *name)
{
    return !filter || strcmp(text_of(event, name), filter) == 0;
}

static void put(bf_str_t *out, const char *text, size_t width)
{
    size_t columns = bf_text_columns(text, strlen(text));
    bf_text_put_safe(out, text, strlen(text));
    for (; columns < width; columns++)
        bf_str_putc(out, ' ');
}

/* time  instance/seq  action  from -> to  by whom  state  message */
static void put_line(bf_str_t *out, const bf_value_t *event)
{
    const bf_value_t *status = bf_value_get_str(event, "status");
    const bf_value_t *source = bf_value_get_str(event, "source");
    const bf_value_t *target = bf_value_get_str(event, "target");
    put(out, text_of(event, "create_time"), 26);
    put(out, text_of(event, "event_id"), 24);
    bf_str_puts(out, "  ");
    put(out, text_of(event, "action"), 12);
    bf_str_puts(out, "  ");
    const char *from = source ? text_of(source, "code") : "";
    const char *to = target ? text_of(target, "code") : "";
    bf_text_put_safe(out, from, strlen(from));
    bf_str_puts(out, " -> ");
    bf_text_put_safe(out, to, strlen(to));
    const char *assignee = text_of(event, "assignee");
    if (*assignee) {
        bf_str_puts(out, "  by ");
        bf_text_put_safe(out, assignee, strlen(assignee));
    }
    if (status && status->type == BF_VALUE_INT)
        bf_str_printf(out, "  [%s]", bf_cli_state_text(status->as.integer));
    const char *state = text_of(event, "instance_state");
    if (strcmp(state, "running") != 0) {
        bf_str_puts(out, "  instance ");
        bf_text_put_safe(out, state, strlen(state));
    }
    const char *message = text_of(event, "message");
    if (*message) {
        bf_str_puts(out, "  \"");
        bf_text_put_safe(out, message, strlen(message));
        bf_str_putc(out, '"');
    }
    bf_str_putc(out, '\n');
}

static void put_broken(bf_str_t *out, const bf_record_t *record)
{
    bf_str_printf(out, "partition %d offset %lld is no event: ", (int)record->partition,
                  (long long)record->offset);
    if (record->value)
        bf_text_put_safe(out, record->value, record->value_len);
    bf_str_putc(out, '\n');
}

static bf_status_t show(watcher_t *watcher, const bf_record_t *record, bf_err_t *err)
{
    if (watcher->instance &&
        (record->key_len != strlen(watcher->instance) ||
         memcmp(record->key, watcher->instance, record->key_len) != 0))
        return BF_OK;
    bf_arena_clear(&watcher->arena);
    bf_value_t event;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bool event_ok = record->value &&
                    bf_json_parse(&watcher->arena, record->value, record->value_len,
                                  &limits, &event, NULL) == BF_OK &&
                    event.type == BF_VALUE_MAP;
    if (!event_ok) {
        put_broken(&watcher->out, record);
        return bf_cli_write(&watcher->out, err);
    }
    if (!is_wanted(watcher->graph, &event, "graph_id") ||
        !is_wanted(watcher->action, &event, "action") ||
        !is_wanted(watcher->assignee, &event, "assignee"))
        return BF_OK;
    watcher->seen++;
    if (watcher->json) {
        bf_str_append(&watcher->out, record->value, record->value_len);
        bf_str_putc(&watcher->out, '\n');
    } else {
        put_line(&watcher->out, &event);
    }
    return bf_cli_write(&watcher->out, err);
}

/* One turn: at most one record. *ret_trouble: the last turn failed in a way that passes.
 */
static bf_status_t turn(watcher_t *watcher, bf_reader_t *reader, bool *trouble,
                        bool *ret_got, bf_err_t *err)
{
    bf_record_t record;
    *ret_got = false;
    bf_status_t rc = bf_reader_next(reader, POLL_MS, &record, err);
    if (rc == BF_E_TIMEOUT)
        return BF_OK;
    if (rc == BF_E_BUS_RETRY) {
        if (!*trouble)
            bf_cli_note("%s; waiting until it passes", err->text);
        *trouble = true;
        bf_err_clear(err);
        return BF_OK;
    }
    if (rc != BF_OK)
        return rc;
    *trouble = false;
    int64_t seen = watcher->seen;
    rc = show(watcher, &record, err);
    *ret_got = watcher->seen > seen;
    bf_reader_release(&record);
    return rc;
}

static bf_status_t follow(bf_cli_t *cli, watcher_t *watcher, bf_reader_t *reader,
                          bf_err_t *err)
{
    int64_t count = bf_cli_text(cli, "count") ? bf_cli_int(cli, "count") : INT64_MAX;
    int64_t idle_ms = bf_cli_text(cli, "timeout") ? bf_cli_int(cli, "timeout") : 0;
    int64_t last_ms = bf_clock_mono_ms();
    bool until_end = bf_cli_flag(cli, "until-end");
    bool trouble = false;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && watcher->seen < count && !bf_cli_stopped()) {
        bool got = false;
        if (until_end && bf_reader_at_end(reader))
            break;
        rc = turn(watcher, reader, &trouble, &got, err);
        if (got)
            last_ms = bf_clock_mono_ms();
        if (rc == BF_OK && idle_ms > 0 && bf_clock_mono_ms() - last_ms >= idle_ms &&
            watcher->seen < count)
            rc = bf_err_set(err, BF_E_TIMEOUT, "no event within %lld ms, %lld seen",
                            (long long)idle_ms, (long long)watcher->seen);
    }
    return rc;
}

static bf_exit_t run_watch(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    const char *action = bf_cli_text(cli, "action");
    if (action && bf_action_of_name(action) == BF_ACTION_UNKNOWN) {
        bf_cli_error("watch: --action '%s' is none of back, back_jump, forward, "
                     "forward_jump, terminate, restart, dispatch",
                     action);
        return BF_EXIT_USAGE;
    }
    watcher_t watcher = {.json = bf_cli_flag(cli, "json"),
                         .instance = bf_cli_text(cli, "instance"),
                         .graph = bf_cli_text(cli, "graph"),
                         .action = action,
                         .assignee = bf_cli_text(cli, "assignee")};
    bf_arena_init(&watcher.arena, 0);
    bf_str_init(&watcher.out, 0);
    bf_reader_t *reader = NULL;
    bool beginning = strcmp(bf_cli_text(cli, "from"), "beginning") == 0;
    bf_cli_catch_signals();
    bf_status_t rc =
        bf_cli_reader(cli, bf_cli_text(cli, "event-topic"),
                      beginning ? BF_READER_BEGINNING : BF_READER_END, &reader, &err);
    if (rc == BF_OK && bf_cli_is_terminal(stderr) && !beginning)
        bf_cli_note("waiting for events; Ctrl-C ends");
    if (rc == BF_OK)
        rc = follow(cli, &watcher, reader, &err);
    bf_exit_t result = rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
    bf_reader_close(reader);
    bf_str_fini(&watcher.out);
    bf_arena_fini(&watcher.arena);
    return result;
}

static const bf_cli_option_t watch_options[] = {
    {.name = "instance",
     .letter = 'i',
     .kind = BF_OPTION_TEXT,
     .metavar = "INSTANCE",
     .help = "only events of this instance"},
    {.name = "graph",
     .letter = 'g',
     .kind = BF_OPTION_TEXT,
     .metavar = "GRAPH",
     .help = "only events of instances of this graph"},
    {.name = "action",
     .kind = BF_OPTION_TEXT,
     .metavar = "ACTION",
     .help = "only events of this action: forward, back, ..."},
    {.name = "assignee",
     .letter = 'a',
     .kind = BF_OPTION_TEXT,
     .metavar = "ACTOR",
     .help = "only what this person or service did"},
    {.name = "from",
     .kind = BF_OPTION_CHOICE,
     .metavar = "beginning|end",
     .fallback = "end",
     .help = "begin with the first event that the topic holds, or with the next one"},
    {.name = "count",
     .letter = 'n',
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .min = 1,
     .max = INT64_MAX,
     .help = "end after N events"},
    {.name = "until-end",
     .kind = BF_OPTION_FLAG,
     .help = "end where the topic ends now, instead of waiting for more"},
    {.name = "timeout",
     .letter = 't',
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .min = 1,
     .max = 86400000,
     .help = "end with exit status 3 when no event comes for so long"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_watch = {
    .name = "watch",
    .summary = "show events as they come",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA,
    .options = watch_options,
    .description = "Follows the event topic (read committed) and prints one line for "
                   "each event: time, instance and sequence number, action, from which "
                   "task to which, by whom. Joins no consumer group and disturbs "
                   "nobody. Ends with Ctrl-C.",
    .examples = "    bpmflow watch\n"
                "    bpmflow watch --instance leave-1 --from beginning --until-end\n"
                "    bpmflow watch --graph leave --action terminate --json\n",
    .run = run_watch};
