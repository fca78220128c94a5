/*
 * instance_row.c - an instance as a row of the database
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/instance.h"
#include "lib/workflow/instance_int.h"

static const char routes_member[] = "#routes";

/* --- writing --- */

static void write_routes(const bf_states_t *states, bool first, bf_str_t *ret)
{
    bool open = false;
    for (uint32_t i = 0; i < states->used; i++) {
        const bf_state_entry_t *e = &states->entries[i];
        if (!e->route) {
            continue;
        }
        if (!open) {
            bf_str_puts(ret, first ? "\"#routes\":{" : ",\"#routes\":{");
        } else {
            bf_str_putc(ret, ',');
        }
        open = true;
        bf_json_write_string(ret, e->key, e->key_len);
        bf_str_puts(ret, ":[");
        for (uint32_t k = 0; k < e->route_count; k++) {
            bf_str_puts(ret, k ? "," : "");
            bf_json_write_string(ret, e->route[k], strlen(e->route[k]));
        }
        bf_str_putc(ret, ']');
    }
    if (open) {
        bf_str_putc(ret, '}');
    }
}

static void write_states(const bf_states_t *states, bf_str_t *ret)
{
    bool first = true;
    bf_str_putc(ret, '{');
    for (uint32_t i = 0; i < states->used; i++) {
        const bf_state_entry_t *e = &states->entries[i];
        if (e->state == BF_TASK_UNKNOWN) {
            continue;
        }
        bf_str_puts(ret, first ? "" : ",");
        first = false;
        bf_json_write_string(ret, e->key, e->key_len);
        bf_str_putc(ret, ':');
        bf_str_put_i64(ret, e->state);
    }
    write_routes(states, first, ret);
    bf_str_putc(ret, '}');
}

bf_status_t bf_instance_write_states(const bf_instance_t *inst, bf_str_t *ret)
{
    write_states(&bf_instance_live(inst)->states, ret);
    return bf_str_failed(ret) ? BF_E_NOMEM : BF_OK;
}

static void write_graph(const bf_instance_t *inst, bf_str_t *ret)
{
    const bf_instance_texts_t *texts = &bf_instance_live(inst)->texts;
    bf_str_puts(ret, "{\"id\":");
    bf_json_write_string(ret, texts->graph_id, strlen(texts->graph_id));
    bf_str_puts(ret, ",\"version\":");
    bf_str_put_i64(ret, inst->graph_version);
    bf_str_puts(ret, ",\"hash\":");
    bf_json_write_string(ret, texts->graph_hash, strlen(texts->graph_hash));
    bf_str_putc(ret, '}');
}

/* Copy what stands in the builder to the arena and empty the builder. */
static bf_status_t take_text(bf_arena_t *arena, bf_str_t *str, bf_text_t *ret)
{
    char *copy = bf_str_failed(str) ? NULL : bf_arena_strndup(arena, str->data, str->len);
    *ret = (bf_text_t){copy, str->len};
    bf_str_clear(str);
    return copy ? BF_OK : BF_E_NOMEM;
}

static bf_status_t write_columns(const bf_instance_t *inst, bf_arena_t *arena,
                                 bf_str_t *str, bf_instance_row_t *row)
{
    const bf_instance_texts_t *texts = &bf_instance_live(inst)->texts;
    bf_status_t rc = BF_OK;
    if (*texts->graph_id && !inst->graph_in_full) {
        write_graph(inst, str);
        rc = take_text(arena, str, &row->graph);
    }
    if (rc == BF_OK) {
        write_states(&bf_instance_live(inst)->states, str);
        rc = take_text(arena, str, &row->states);
    }
    if (rc == BF_OK) {
        bf_vars_write_json(bf_instance_live(inst)->vars, str);
        rc = take_text(arena, str, &row->vars);
    }
    if (rc == BF_OK && *texts->tasks) {
        bf_str_puts(str, texts->tasks);
        rc = take_text(arena, str, &row->tasks);
    }
    return rc;
}

bf_status_t bf_instance_write_row(const bf_instance_t *inst, bf_arena_t *arena,
                                  bf_instance_row_t *ret, bf_err_t *err)
{
    BF_ASSERT(!bf_instance_live(inst)->in_transaction);
    bf_instance_row_t row = {
        .instant_id = bf_arena_strdup(arena, inst->id),
        .rev = inst->rev,
        .status = (int32_t)inst->status,
        .seq = inst->seq,
        .partition_no = inst->partition_no,
        .creator = bf_arena_strdup(arena, bf_instance_live(inst)->texts.creator),
        .create_time_ms = inst->create_time_ms,
        .updater = bf_arena_strdup(arena, bf_instance_live(inst)->texts.updater),
        .update_time_ms = inst->update_time_ms,
    };
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_status_t rc = row.instant_id && row.creator && row.updater
                         ? write_columns(inst, arena, &str, &row)
                         : BF_E_NOMEM;
    bf_str_fini(&str);
    if (rc != BF_OK) {
        return bf_err_nomem(err, "row of an instance");
    }
    *ret = row;
    return BF_OK;
}

/* --- reading --- */

static bf_status_t parse_column(bf_arena_t *arena, const char *column, bf_text_t text,
                                bf_value_t *ret, bf_err_t *err)
{
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_err_t why = BF_ERR_INIT;
    *ret = (bf_value_t){.type = BF_VALUE_MAP};
    if (!text.data) {
        return BF_OK; /* SQL NULL */
    }
    bf_status_t rc = bf_json_parse(arena, text.data, text.len, &limits, ret, &why);
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(err, "column of an instance");
    }
    if (rc != BF_OK) {
        return bf_err_set(err, BF_E_INVALID, "column %s is not JSON: %s", column,
                          why.text);
    }
    if (ret->type != BF_VALUE_MAP) {
        return bf_err_set(err, BF_E_INVALID, "column %s is a %s, expected an object",
                          column, bf_value_type_name(ret->type));
    }
    return BF_OK;
}

static bf_status_t read_route(bf_instance_live_t *live, bf_arena_t *arena,
                              const bf_member_t *m, bf_err_t *err)
{
    if (m->value.type != BF_VALUE_LIST) {
        return bf_err_set(err, BF_E_INVALID,
                          "column states: #routes of \"%s\" is a %s, expected a list of "
                          "node IDs",
                          m->name, bf_value_type_name(m->value.type));
    }
    const char **ids = bf_arena_calloc(arena, m->value.len, sizeof(*ids));
    if (!ids) {
        return bf_err_nomem(err, "routes of an instance");
    }
    for (uint32_t i = 0; i < m->value.len; i++) {
        const bf_value_t *id = &m->value.as.items[i];
        if (id->type != BF_VALUE_STRING) {
            return bf_err_set(err, BF_E_INVALID,
                              "column states: #routes of \"%s\" has a %s, expected a "
                              "node ID",
                              m->name, bf_value_type_name(id->type));
        }
        ids[i] = id->as.string;
    }
    bf_state_key_t key = bf_state_key(m->name, m->name_len);
    bf_status_t rc =
        bf_states_put_route(&live->states, &live->mem, &key, ids, m->value.len);
    return rc == BF_OK ? rc : bf_err_nomem(err, "routes of an instance");
}

static bf_status_t read_routes(bf_instance_live_t *live, bf_arena_t *arena,
                               const bf_value_t *routes, bf_err_t *err)
{
    if (routes->type != BF_VALUE_MAP) {
        return bf_err_set(err, BF_E_INVALID,
                          "column states: #routes is a %s, expected an object",
                          bf_value_type_name(routes->type));
    }
    for (uint32_t i = 0; i < routes->len; i++) {
        bf_status_t rc = read_route(live, arena, &routes->as.members[i], err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

static bf_status_t read_state(bf_instance_live_t *live, const bf_member_t *m,
                              bf_err_t *err)
{
    if (m->value.type != BF_VALUE_INT ||
        (m->value.as.integer &&
         bf_task_state_of(m->value.as.integer) == BF_TASK_UNKNOWN)) {
        return bf_err_set(err, BF_E_INVALID,
                          "column states: \"%s\" is not a task state, expected %d, %d or "
                          "%d",
                          m->name, BF_TASK_WAITING, BF_TASK_COMPLETED,
                          BF_TASK_TERMINATED);
    }
    if (!m->value.as.integer) {
        return BF_OK; /* 0 says the same as no member */
    }
    bf_state_key_t key = bf_state_key(m->name, m->name_len);
    bf_status_t rc = bf_states_put(&live->states, &live->mem, &key,
                                   bf_task_state_of(m->value.as.integer));
    return rc == BF_OK ? rc : bf_err_nomem(err, "states of an instance");
}

static bf_status_t read_states(bf_instance_live_t *live, bf_arena_t *arena,
                               bf_text_t text, bf_err_t *err)
{
    bf_value_t map;
    bf_status_t rc = parse_column(arena, "states", text, &map, err);
    for (uint32_t i = 0; rc == BF_OK && i < map.len; i++) {
        const bf_member_t *m = &map.as.members[i];
        rc = strcmp(m->name, routes_member) != 0
                 ? read_state(live, m, err)
                 : read_routes(live, arena, &m->value, err);
    }
    live->states.changed = false;
    return rc;
}

static bf_status_t read_vars(bf_instance_live_t *live, bf_arena_t *arena, bf_text_t text,
                             bf_err_t *err)
{
    bf_value_t map;
    bf_status_t rc = parse_column(arena, "vars", text, &map, err);
    if (rc == BF_OK && bf_vars_set_all(live->vars, &map) != BF_OK) {
        rc = bf_err_nomem(err, "variables of an instance");
    }
    return rc;
}

/* The reference, or a whole definition: both have an ID and may have a version. */
static bf_status_t read_graph(bf_instance_live_t *live, bf_arena_t *arena, bf_text_t text,
                              int32_t *ret_version, bool *ret_full, bf_err_t *err)
{
    bf_value_t map;
    *ret_version = 0;
    *ret_full = false;
    bf_status_t rc = parse_column(arena, "graph", text, &map, err);
    if (rc != BF_OK || !map.len) {
        return rc;
    }
    const char *id = bf_value_get_cstr(&map, "id");
    const char *hash = bf_value_get_cstr(&map, "hash");
    const bf_value_t *version = bf_value_get_str(&map, "version");
    if (!id || (version && (version->type != BF_VALUE_INT || version->as.integer < 1 ||
                            version->as.integer > INT32_MAX))) {
        return bf_err_set(err, BF_E_INVALID,
                          "column graph: %s, expected {\"id\", \"version\", \"hash\"}",
                          id ? "\"version\" is not a positive integer" : "no \"id\"");
    }
    *ret_version = version ? (int32_t)version->as.integer : 1;
    *ret_full = bf_value_get_str(&map, "layout") || bf_value_get_str(&map, "nodes");
    live->texts.graph_id = bf_arena_strdup(&live->mem, id);
    live->texts.graph_hash = bf_arena_strdup(&live->mem, hash ? hash : "");
    return live->texts.graph_id && live->texts.graph_hash
               ? BF_OK
               : bf_err_nomem(err, "graph of an instance");
}

static bool is_status(int32_t code)
{
#define X(name, text, number)                                                            \
    if (code == (number)) {                                                              \
        return true;                                                                     \
    }
    BF_INSTANCE_STATUS_LIST(X)
#undef X
    return false;
}

static bf_status_t read_numbers(const bf_instance_row_t *row, int32_t graph_version,
                                bf_instance_scalars_t *ret, bf_err_t *err)
{
    if (!is_status(row->status)) {
        return bf_err_set(err, BF_E_INVALID, "column status: %d is not a state",
                          row->status);
    }
    if (row->rev < 0 || row->seq < 0) {
        return bf_err_set(err, BF_E_INVALID, "column %s is negative",
                          row->rev < 0 ? "rev" : "seq");
    }
    *ret = (bf_instance_scalars_t){
        .seq = row->seq,
        .graph_version = graph_version,
        .status = (bf_instance_status_t)row->status,
        .create_time_ms = row->create_time_ms,
        .update_time_ms = row->update_time_ms,
    };
    return BF_OK;
}

static bf_status_t read_texts(bf_instance_live_t *live, const bf_instance_row_t *row,
                              bf_err_t *err)
{
    bf_arena_t *mem = &live->mem;
    live->texts.creator = bf_arena_strdup(mem, row->creator ? row->creator : "");
    live->texts.updater = bf_arena_strdup(mem, row->updater ? row->updater : "");
    live->texts.tasks =
        row->tasks.data ? bf_arena_strndup(mem, row->tasks.data, row->tasks.len) : "";
    return live->texts.creator && live->texts.updater && live->texts.tasks
               ? BF_OK
               : bf_err_nomem(err, "texts of an instance");
}

bf_status_t bf_instance_load_row(bf_instance_t *inst, const bf_instance_row_t *row,
                                 bf_err_t *err)
{
    BF_ASSERT(inst->is_packed || !inst->as.live->in_transaction);
    bf_instance_scalars_t now = {0};
    int32_t version = 0;
    bool full = false;
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_instance_live_t *live = bf_instance_live_new();
    bf_status_t rc = live ? BF_OK : bf_err_nomem(err, "instance");
    if (rc == BF_OK) {
        rc = read_graph(live, &arena, row->graph, &version, &full, err);
    }
    if (rc == BF_OK) {
        rc = read_numbers(row, version, &now, err);
    }
    if (rc == BF_OK) {
        rc = read_states(live, &arena, row->states, err);
    }
    if (rc == BF_OK) {
        rc = read_vars(live, &arena, row->vars, err);
    }
    if (rc == BF_OK) {
        rc = read_texts(live, row, err);
    }
    bf_arena_fini(&arena);
    if (rc != BF_OK) {
        bf_instance_live_free(live);
        bf_err_prefix(err, "instance \"%s\": ", inst->id);
        return rc;
    }
    bf_instance_set_live(inst, live);
    inst->create_time_ms = now.create_time_ms;
    inst->update_time_ms = now.update_time_ms;
    inst->seq = now.seq;
    inst->graph_version = now.graph_version;
    inst->status = (uint8_t)now.status;
    inst->graph_in_full = full;
    inst->rev = row->rev;
    inst->stored_rev = row->rev;
    inst->partition_no = row->partition_no;
    return BF_OK;
}
