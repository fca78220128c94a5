/*
 * desks.c - an approval engine for tests
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/desks.h"

#include <stdio.h>
#include <string.h>

#include "bpmflow/assert.h"

static int64_t next_id(void *arg)
{
    desks_t *desks = arg;
    return ++desks->last_id;
}

void desks_begin(desks_t *desks, const bf_approval_host_t *host)
{
    *desks = (desks_t){0};
    bf_ledger_ids_t ids = {next_id, desks};
    bf_arena_init(&desks->arena, 0);
    desks->ledger = bf_ledger_new(&ids);
    desks->approval = desks->ledger ? bf_approval_new(desks->ledger, host) : NULL;
    BF_ASSERT(desks->approval);
}

void desks_end(desks_t *desks)
{
    bf_approval_free(desks->approval);
    bf_ledger_free(desks->ledger);
    bf_arena_fini(&desks->arena);
}

/* --- flows --- */

static const char *take(desks_t *desks, bf_str_t *str)
{
    char *text = bf_arena_strdup(&desks->arena, bf_str_peek(str));
    BF_ASSERT(text);
    bf_str_fini(str);
    return text;
}

static const char *type_of(const char *id)
{
    static const struct {
        const char *start;
        const char *type;
    } types[] = {{"start", "start"}, {"end", "end"},      {"fork", "fork"},
                 {"join", "join"},   {"dec", "decision"}, {"cus", "custom"}};
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (!strncmp(id, types[i].start, strlen(types[i].start))) {
            return types[i].type;
        }
    }
    return "task";
}

/* " name=" in the list of actors */
static void put_actors(bf_str_t *out, const char *id, const char *actors)
{
    size_t len = strlen(id);
    const char *at = actors;
    while (at && (strncmp(at, id, len) != 0 || at[len] != '=')) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at) {
        return;
    }
    at += len + 1;
    bool is_sequential = *at == '?';
    bool is_countersign = *at == '!' || is_sequential;
    at += is_countersign ? 1 : 0;
    bf_str_puts(out, "\"assignee\":");
    bf_json_write_string(out, at, strcspn(at, " "));
    if (is_countersign) {
        bf_str_printf(out, ",\"performType\":1,\"countersignType\":%d", is_sequential);
    }
}

static void put_node(bf_str_t *out, const char *id, const char *actors)
{
    char quoted[80];
    (void)snprintf(quoted, sizeof(quoted), "{\"id\":\"%s\",", id);
    if (strstr(bf_str_peek(out), quoted)) {
        return;
    }
    bf_str_printf(out, "%s%s\"type\":\"snaker:%s\",\"properties\":{", out->len ? "," : "",
                  quoted, type_of(id));
    put_actors(out, id, actors);
    bf_str_puts(out, "}}");
}

const char *desks_json(desks_t *desks, const char *name, const char *edges,
                       const char *actors)
{
    bf_str_t nodes;
    bf_str_t lines;
    bf_str_t all;
    bf_str_init(&nodes, 0);
    bf_str_init(&lines, 0);
    bf_str_init(&all, 0);
    for (const char *at = edges; *at;) {
        char source[32];
        char target[32];
        int used = 0;
        BF_ASSERT(sscanf(at, " %31[^> ]>%31[^ ]%n", source, target, &used) == 2);
        put_node(&nodes, source, actors);
        put_node(&nodes, target, actors);
        bf_str_printf(&lines, "%s{\"sourceNodeId\":\"%s\",\"targetNodeId\":\"%s\"}",
                      lines.len ? "," : "", source, target);
        at += used;
    }
    bf_str_printf(&all, "{\"name\":\"%s\",\"nodes\":[%s],\"edges\":[%s]}", name,
                  bf_str_peek(&nodes), bf_str_peek(&lines));
    bf_str_fini(&nodes);
    bf_str_fini(&lines);
    return take(desks, &all);
}

int64_t desks_flow(desks_t *desks, const char *name, const char *edges,
                   const char *actors)
{
    const char *text = desks_json(desks, name, edges, actors);
    int64_t id = 0;
    bf_err_clear(&desks->err);
    bf_status_t rc =
        bf_approval_deploy(desks->approval, text, strlen(text), "test", &id, &desks->err);
    BF_ASSERT(rc == BF_OK);
    return id;
}

/* --- operations --- */

int64_t desks_start(desks_t *desks, const char *name, const char *who, const char *args)
{
    bf_value_t map = {0};
    int64_t id = 0;
    bf_err_clear(&desks->err);
    if (args) {
        bf_status_t rc =
            bf_json_parse(&desks->arena, args, strlen(args), NULL, &map, &desks->err);
        BF_ASSERT(rc == BF_OK);
    }
    bf_approval_start_t start = {
        .name = name, .operator_id = who, .args = args ? &map : NULL};
    (void)!bf_approval_start(desks->approval, &start, &id, &desks->err);
    return id;
}

bf_status_t desks_do(desks_t *desks, int64_t instance, const char *task, const char *who,
                     bf_submit_type_t type, const char *to)
{
    size_t cursor = 0;
    const bf_task_row_t *row;
    int64_t id = 0;
    while ((row = bf_ledger_next_by_id(desks->ledger, BF_LEDGER_BY_TASK_PROCESS, instance,
                                       &cursor))) {
        if (row->task_state == BF_APPROVAL_DOING && !strcmp(row->task_name, task)) {
            bool may = bf_ledger_is_actor(desks->ledger, row->id, who);
            id = may || !id ? row->id : id;
            if (may) {
                break;
            }
        }
    }
    bf_err_clear(&desks->err);
    bf_approval_execute_t execute = {
        .task_id = id, .operator_id = who, .submit_type = type, .task_name = to};
    return bf_approval_execute(desks->approval, &execute, &desks->err);
}

/* --- questions --- */

int32_t desks_state(const desks_t *desks, int64_t instance)
{
    const bf_process_row_t *row =
        bf_ledger_find(desks->ledger, BF_LEDGER_PROCESS, instance);
    return row ? row->state : 0;
}

static void put_task(const desks_t *desks, bf_str_t *out, const bf_task_row_t *row)
{
    size_t cursor = 0;
    const bf_actor_row_t *actor;
    const char *comma = "(";
    bf_str_printf(out, "%s%s:%d", out->len ? " " : "", row->task_name, row->task_state);
    while ((actor = bf_ledger_next_by_id(desks->ledger, BF_LEDGER_BY_ACTOR_TASK, row->id,
                                         &cursor))) {
        bf_str_printf(out, "%s%s", comma, actor->actor_id);
        comma = ",";
    }
    bf_str_puts(out, *comma == '(' ? "()" : ")");
    if (row->operator_id) {
        bf_str_printf(out, "@%s", row->operator_id);
    }
}

const char *desks_rows(desks_t *desks, int64_t instance)
{
    bf_str_t out;
    size_t cursor = 0;
    const bf_task_row_t *row;
    bf_str_init(&out, 0);
    while ((row = bf_ledger_next_by_id(desks->ledger, BF_LEDGER_BY_TASK_PROCESS, instance,
                                       &cursor))) {
        put_task(desks, &out, row);
    }
    return take(desks, &out);
}

const char *desks_dump(desks_t *desks)
{
    bf_str_t out;
    size_t cursor = 0;
    const bf_process_row_t *process;
    const bf_task_row_t *task;
    const bf_cc_row_t *copy;
    bf_str_init(&out, 0);
    for (unsigned t = 0; t < BF_LEDGER_TABLE_COUNT; t++) {
        bf_str_printf(&out, " %zu", bf_ledger_count(desks->ledger, (bf_ledger_table_t)t));
    }
    while ((process = bf_ledger_next(desks->ledger, BF_LEDGER_PROCESS, &cursor))) {
        bf_str_printf(&out, "\n%lld %d %s", (long long)process->id, process->state,
                      process->variable ? process->variable : "");
    }
    cursor = 0;
    while ((task = bf_ledger_next(desks->ledger, BF_LEDGER_TASK, &cursor))) {
        bf_str_printf(&out, "\n%lld", (long long)task->id);
        put_task(desks, &out, task);
        bf_str_puts(&out, task->variable ? task->variable : "");
    }
    cursor = 0;
    while ((copy = bf_ledger_next(desks->ledger, BF_LEDGER_CC, &cursor))) {
        bf_str_printf(&out, "\n%s %d", copy->actor_id, copy->state);
    }
    return take(desks, &out);
}

const char *desks_variable(desks_t *desks, int64_t instance, const char *name)
{
    const bf_process_row_t *row =
        bf_ledger_find(desks->ledger, BF_LEDGER_PROCESS, instance);
    bf_value_t map = {0};
    bf_err_t err = BF_ERR_INIT;
    bf_str_t out;
    bf_str_init(&out, 0);
    BF_ASSERT(row);
    bf_status_t rc = bf_ledger_read_json(&desks->arena, row->variable, &map, &err);
    BF_ASSERT(rc == BF_OK);
    const bf_value_t *value = bf_value_get_str(&map, name);
    if (value) {
        bf_json_write(&out, value);
    } else {
        bf_str_puts(&out, "absent");
    }
    return take(desks, &out);
}
