/*
 * snapshot.c - a context as JSON, and back (rule 93)
 *
 *     {"instanceId": "i1", "stopped": false, "data": {...},
 *      "trace": {"last": [{"graph": "g", "node": "n", "end": true, "done": true}],
 *                "pending": [{"graph": "g", "at": {"frames": [...]}}]}}
 *
 * Whether the trace is enabled is not saved, as in the original.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "context_int.h"

static void write_text(bf_str_t *str, const char *name, const char *value)
{
    bf_str_puts(str, name);
    bf_json_write_string(str, value, strlen(value));
}

static void write_last(const bf_trace_t *trace, bf_str_t *str)
{
    bf_str_puts(str, "\"last\":[");
    for (uint32_t i = 0; i < trace->used; i++) {
        const bf_trace_entry_t *entry = &trace->entries[i];
        write_text(str, i ? ",{\"graph\":" : "{\"graph\":", bf_trace_entry_graph(entry));
        write_text(str, ",\"node\":", bf_trace_entry_node(entry));
        bf_str_puts(str, entry->is_end ? ",\"end\":true" : "");
        bf_str_puts(str, entry->done ? ",\"done\":true" : "");
        bf_str_puts(str, entry->goes_on ? ",\"goesOn\":true" : "");
        bf_str_putc(str, '}');
    }
    bf_str_putc(str, ']');
}

static void write_pending(const bf_trace_t *trace, bf_str_t *str)
{
    if (!trace->saved) {
        return;
    }
    bf_str_puts(str, ",\"pending\":[");
    for (const bf_saved_t *saved = trace->saved; saved; saved = saved->next) {
        write_text(
            str, saved == trace->saved ? "{\"graph\":" : ",{\"graph\":", saved->graph_id);
        bf_str_puts(str, ",\"at\":");
        bf_json_write(str, &saved->scope);
        bf_str_putc(str, '}');
    }
    bf_str_putc(str, ']');
}

bf_status_t bf_context_write_json(bf_context_t *ctx, bf_str_t *ret, bf_err_t *err)
{
    write_text(ret, "{\"instanceId\":", ctx->instance_id);
    bf_str_puts(ret,
                bf_context_is_stopped(ctx) ? ",\"stopped\":true" : ",\"stopped\":false");
    bf_str_puts(ret, ",\"data\":");
    bf_vars_write_json(ctx->vars, ret);
    bf_str_puts(ret, ",\"trace\":{");
    write_last(&ctx->trace, ret);
    write_pending(&ctx->trace, ret);
    bf_str_puts(ret, "}}");
    return bf_str_status(ret, "snapshot", err);
}

/* --- reading --- */

static bf_status_t bad(const char *what, bf_err_t *err)
{
    return bf_err_set(err, BF_E_INVALID, "snapshot: %s", what);
}

static bool is_true(const bf_value_t *map, const char *name)
{
    const bf_value_t *value = bf_value_get_str(map, name);
    return value && value->type == BF_VALUE_BOOL && value->as.boolean;
}

/* A member that is a list; *ret NULL = absent. */
static bf_status_t get_list(const bf_value_t *map, const char *name,
                            const bf_value_t **ret, bf_err_t *err)
{
    const bf_value_t *list = bf_value_get_str(map, name);
    *ret = bf_value_is_null(list) ? NULL : list;
    if (*ret && list->type != BF_VALUE_LIST) {
        return bf_err_set(err, BF_E_INVALID, "snapshot: trace.%s is not a list", name);
    }
    return BF_OK;
}

static bf_status_t read_last(bf_context_t *ctx, const bf_value_t *list, bf_err_t *err)
{
    for (uint32_t i = 0; list && i < list->len; i++) {
        const bf_value_t *item = &list->as.items[i];
        const char *graph = bf_value_get_cstr(item, "graph");
        const char *node = bf_value_get_cstr(item, "node");
        if (!graph || !node) {
            return bad("trace.last needs graph and node", err);
        }
        bf_trace_entry_t *entry = bf_trace_set_ids(&ctx->trace, graph, node);
        if (!entry) {
            return bf_err_nomem(err, "snapshot");
        }
        entry->is_end = is_true(item, "end");
        entry->done = is_true(item, "done");
        entry->goes_on = is_true(item, "goesOn");
        ctx->trace.has_goes_on = ctx->trace.has_goes_on || entry->goes_on;
    }
    return BF_OK;
}

static bf_status_t read_pending(bf_context_t *ctx, const bf_value_t *list, bf_err_t *err)
{
    for (uint32_t i = 0; list && i < list->len; i++) {
        const bf_value_t *item = &list->as.items[i];
        const char *graph = bf_value_get_cstr(item, "graph");
        const bf_value_t *at = bf_value_get_str(item, "at");
        if (!graph || !at || at->type != BF_VALUE_MAP) {
            return bad("trace.pending needs graph and at", err);
        }
        bf_saved_t *saved = bf_saved_new(graph);
        if (!saved || bf_value_copy(&saved->arena, at, &saved->scope) != BF_OK) {
            bf_saved_free(saved);
            return bf_err_nomem(err, "snapshot");
        }
        bf_trace_put_saved(&ctx->trace, saved);
    }
    return BF_OK;
}

static bf_status_t read_trace(bf_context_t *ctx, const bf_value_t *trace, bf_err_t *err)
{
    if (bf_value_is_null(trace)) {
        return BF_OK;
    }
    if (trace->type != BF_VALUE_MAP) {
        return bad("trace is not an object", err);
    }
    const bf_value_t *list;
    bf_status_t rc = get_list(trace, "last", &list, err);
    if (rc == BF_OK) {
        rc = read_last(ctx, list, err);
    }
    if (rc == BF_OK) {
        rc = get_list(trace, "pending", &list, err);
    }
    return rc == BF_OK ? read_pending(ctx, list, err) : rc;
}

static bf_status_t read_context(const bf_value_t *json, bf_context_t **ret, bf_err_t *err)
{
    if (json->type != BF_VALUE_MAP) {
        return bad("not an object", err);
    }
    const bf_value_t *id = bf_value_get_str(json, "instanceId");
    const bf_value_t *data = bf_value_get_str(json, "data");
    data = data ? data : bf_value_get_str(json, "vars");
    if (!bf_value_is_null(id) && id->type != BF_VALUE_STRING) {
        return bad("instanceId is not a text", err);
    }
    if (!bf_value_is_null(data) && data->type != BF_VALUE_MAP) {
        return bad("data is not an object", err);
    }
    bf_context_t *ctx = bf_context_new(bf_value_is_null(id) ? NULL : id->as.string);
    bf_status_t rc = ctx ? bf_vars_set_all(ctx->vars, data) : BF_E_NOMEM;
    if (rc != BF_OK) {
        bf_context_free(ctx);
        return bf_err_nomem(err, "snapshot");
    }
    ctx->signals = is_true(json, "stopped") ? BF_SIGNAL_STOP : 0;
    rc = read_trace(ctx, bf_value_get_str(json, "trace"), err);
    if (rc != BF_OK) {
        bf_context_free(ctx);
        return rc;
    }
    *ret = ctx;
    return BF_OK;
}

bf_status_t bf_context_load_json(const char *text, size_t len, bf_context_t **ret,
                                 bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t json;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_status_t rc = bf_json_parse(&arena, text, len, &limits, &json, err);
    if (rc == BF_OK) {
        rc = read_context(&json, ret, err);
    }
    bf_arena_fini(&arena);
    return rc;
}
