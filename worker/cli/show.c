/*
 * show.c - an instance as it stands in the tables: state, open tasks, variables
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/probe.h"
#include "worker/cli/reply.h"
#include "worker/cli/table.h"

static void put_safe(bf_str_t *out, const char *label, const char *text)
{
    bf_str_printf(out, "%-10s", label);
    bf_text_put_safe(out, text, strlen(text));
    bf_str_putc(out, '\n');
}

static void put_stamp(bf_str_t *out, const char *label, int64_t wall_ms, const char *who)
{
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_sql(wall_ms, time);
    bf_str_printf(out, "%-10s%s UTC", label, time);
    if (who && *who) {
        bf_str_puts(out, " by ");
        bf_text_put_safe(out, who, strlen(who));
    }
    bf_str_putc(out, '\n');
}

/* The states that are `only`, or all for BF_TASK_UNKNOWN. True when there was one. */
static bool put_states(bf_str_t *out, const char *label, const bf_instance_t *inst,
                       bf_task_state_t only)
{
    size_t cursor = 0;
    bool some = false;
    const char *key;
    bf_task_state_t state;
    while (bf_instance_state_next(inst, &cursor, &key, &state)) {
        if (only != BF_TASK_UNKNOWN && state != only)
            continue;
        bf_str_printf(out, "%-10s", some ? "" : label);
        bf_text_put_safe(out, key, strlen(key));
        bf_str_printf(out, "  %s\n", bf_task_state_name(state));
        some = true;
    }
    return some;
}

/* Without the definitions: what is stored as waiting. */
static void put_waiting(bf_str_t *out, const bf_instance_t *inst)
{
    bool some = put_states(out, "open", inst, BF_TASK_WAITING);
    bf_str_printf(out,
                  "%-10sknown to the workers (bpmflow next), or to show with --graphs\n",
                  some ? "" : "open");
}

static void put_open(bf_str_t *out, const bf_outcome_t *next)
{
    for (size_t i = 0; i < next->next_task_count; i++) {
        const bf_task_t *task = &next->next_tasks[i].task;
        bf_str_printf(out, "%-10s", i ? "" : "open");
        bf_text_put_safe(out, task->node->id, strlen(task->node->id));
        if (task->node->title) {
            bf_str_puts(out, "  \"");
            bf_text_put_safe(out, task->node->title, strlen(task->node->title));
            bf_str_putc(out, '"');
        }
        if (task->state != BF_TASK_UNKNOWN)
            bf_str_printf(out, "  %s", bf_task_state_name(task->state));
        bf_cli_put_meta(out, &task->node->meta);
        bf_str_putc(out, '\n');
    }
    if (next->next_task_count == 0)
        bf_str_printf(out, "%-10snothing%s%s\n", "open", next->error ? ": " : "",
                      next->error ? next->error : "");
}

static void put_vars(bf_str_t *out, bf_instance_t *inst)
{
    bf_vars_t *vars = bf_instance_vars(inst);
    size_t cursor = 0;
    size_t count = 0;
    const char *name;
    size_t len;
    const bf_value_t *value;
    while (bf_vars_next(vars, &cursor, &name, &len, &value)) {
        bf_str_t text;
        bf_str_init(&text, 0);
        bf_json_write(&text, value);
        bf_str_printf(out, "%-10s", count++ ? "" : "variables");
        bf_text_put_safe(out, name, len);
        bf_str_puts(out, " = ");
        bf_text_put_safe(out, bf_str_peek(&text), text.len);
        bf_str_putc(out, '\n');
        bf_str_fini(&text);
    }
}

static void put_people(bf_str_t *out, bf_instance_t *inst, const bf_instance_row_t *row,
                       const bf_outcome_t *next)
{
    put_safe(out, "instance", row->instant_id);
    bf_str_printf(out, "%-10s", "graph");
    const char *graph = bf_instance_graph_id(inst);
    bf_text_put_safe(out, graph, strlen(graph));
    bf_str_printf(out, " version %d (%s)\n", (int)bf_instance_graph_version(inst),
                  bf_instance_graph_hash(inst));
    put_safe(out, "status", bf_instance_status_name(bf_instance_status(inst)));
    bf_str_printf(out, "%-10s%d, %d history rows, partition %d\n", "revision",
                  (int)row->rev, (int)row->seq, (int)row->partition_no);
    put_stamp(out, "created", row->create_time_ms, row->creator);
    put_stamp(out, "updated", row->update_time_ms, row->updater);
    if (bf_instance_status(inst) == BF_INSTANCE_RUNNING && next)
        put_open(out, next);
    else if (bf_instance_status(inst) == BF_INSTANCE_RUNNING)
        put_waiting(out, inst);
    (void)put_states(out, "states", inst, BF_TASK_UNKNOWN);
    put_vars(out, inst);
}

static void put_text_column(bf_str_t *out, const char *name, bf_text_t text)
{
    bf_str_printf(out, ",\"%s\":", name);
    if (text.data && text.len)
        bf_str_append(out, text.data, text.len);
    else
        bf_str_puts(out, "null");
}

static void put_member(bf_str_t *out, const char *name, const char *text)
{
    bf_str_printf(out, ",\"%s\":", name);
    bf_json_write_string(out, text ? text : "", text ? strlen(text) : 0);
}

static void put_open_json(bf_str_t *out, const bf_outcome_t *next)
{
    bf_str_puts(out, ",\"open\":[");
    for (size_t i = 0; i < next->next_task_count; i++) {
        const bf_task_t *task = &next->next_tasks[i].task;
        bf_str_puts(out, i ? ",{\"node_id\":" : "{\"node_id\":");
        bf_json_write_string(out, task->node->id, strlen(task->node->id));
        put_member(out, "title", task->node->title);
        bf_str_printf(out, ",\"state\":%d,\"meta\":", (int)task->state);
        bf_json_write(out, &task->node->meta);
        bf_str_putc(out, '}');
    }
    bf_str_putc(out, ']');
}

static void put_json(bf_str_t *out, const bf_instance_t *inst,
                     const bf_instance_row_t *row, const bf_outcome_t *next)
{
    char time[BF_TIME_TEXT_MAX];
    bf_str_puts(out, "{\"instance_id\":");
    bf_json_write_string(out, row->instant_id, strlen(row->instant_id));
    put_member(out, "graph_id", bf_instance_graph_id(inst));
    bf_str_printf(out, ",\"graph_version\":%d", (int)bf_instance_graph_version(inst));
    put_member(out, "graph_hash", bf_instance_graph_hash(inst));
    put_member(out, "instance_state", bf_instance_status_name(bf_instance_status(inst)));
    bf_str_printf(out, ",\"revision\":%d,\"seq\":%d,\"partition\":%d", (int)row->rev,
                  (int)row->seq, (int)row->partition_no);
    put_member(out, "creator", row->creator);
    bf_clock_format_rfc3339(row->create_time_ms, time);
    put_member(out, "create_time", time);
    put_member(out, "updater", row->updater);
    bf_clock_format_rfc3339(row->update_time_ms, time);
    put_member(out, "update_time", time);
    put_text_column(out, "states", row->states);
    put_text_column(out, "vars", row->vars);
    if (next)
        put_open_json(out, next);
    bf_str_puts(out, "}\n");
}

static bf_status_t show(bf_cli_t *cli, bf_instance_t *inst, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_instance_row_t row;
    bf_outcome_t next = {.code = BF_CODE_UNKNOWN_GRAPH};
    bf_probe_t *probe = NULL;
    bf_status_t rc = bf_instance_write_row(inst, &arena, &row, err);
    if (rc == BF_OK && bf_instance_status(inst) == BF_INSTANCE_RUNNING)
        rc = bf_probe_new(cli, &probe, err);
    if (rc == BF_OK && probe)
        rc = bf_probe_next(probe, inst, &arena, &next, err);
    if (rc == BF_OK && probe && next.code != BF_CODE_OK)
        bf_cli_note("%s", next.error ? next.error : bf_code_name(next.code));
    const bf_outcome_t *known = probe && next.code == BF_CODE_OK ? &next : NULL;
    if (rc == BF_OK && bf_cli_flag(cli, "json"))
        put_json(&out, inst, &row, known);
    else if (rc == BF_OK)
        put_people(&out, inst, &row, known);
    if (rc == BF_OK)
        rc = bf_cli_write(&out, err);
    bf_probe_free(probe);
    bf_str_fini(&out);
    bf_arena_fini(&arena);
    return rc;
}

static bf_exit_t run_show(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    const char *id = bf_cli_operand(cli, 0);
    bf_store_t *store = NULL;
    bf_instance_t *inst = NULL;
    bf_exit_t result = BF_EXIT_OK;
    bf_status_t rc = bf_id_check("INSTANCE", id, strlen(id), &err);
    if (rc == BF_OK)
        rc = bf_cli_store(cli, &store, &err);
    if (rc == BF_OK)
        rc = bf_store_load_instances(store, &id, 1, &inst, &err);
    if (rc == BF_OK && inst)
        rc = show(cli, inst, &err);
    if (rc != BF_OK) {
        result = bf_cli_fail(&err, rc);
    } else if (!inst) {
        bf_cli_error("there is no instance %s in this database", id);
        result = BF_EXIT_REJECTED;
    }
    bf_instance_free(inst);
    bf_store_close(store);
    return result;
}

static const bf_cli_option_t show_options[] = {
    {.name = "graphs",
     .letter = 'G',
     .kind = BF_OPTION_LIST,
     .metavar = "PATH",
     .help = "definition file or folder, to know what may come next; may be repeated; "
             "default: graphs.paths of the configuration file"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_show = {
    .name = "show",
    .summary = "show an instance: state, open tasks, variables",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_DB,
    .options = show_options,
    .description = "Reads the instance from the tables; no worker is asked. Where the "
                   "definitions are at hand (--graphs, or a configuration file with "
                   "graphs.paths) open are all tasks that may come next, else those "
                   "that are stored as waiting.",
    .status = "1 also when there is no such instance.",
    .examples = "    bpmflow show leave-1\n"
                "    bpmflow show leave-1 --json | jq .vars\n",
    .run = run_show};
