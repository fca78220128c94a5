/*
 * context.c - variables in layers, stop and interrupt
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/context.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "context_int.h"

#define NAME_IS(name, len, text) ((len) == sizeof(text) - 1 && !memcmp(name, text, len))

static bf_context_t *new_context(const char *instance_id, bf_vars_t *vars, bool owns)
{
    size_t len = instance_id ? strlen(instance_id) : 0;
    bf_context_t *ctx = malloc(sizeof(*ctx) + len + 1);
    if (!ctx) {
        return NULL;
    }
    *ctx = (bf_context_t){0};
    ctx->vars = owns ? bf_vars_new() : vars;
    ctx->owns_vars = owns;
    bf_trace_init(&ctx->trace);
    if (!ctx->vars) {
        bf_context_free(ctx);
        return NULL;
    }
    memcpy(ctx->instance_id, instance_id ? instance_id : "", len + 1);
    ctx->instance_id_value = bf_value_string(ctx->instance_id, len);
    return ctx;
}

bf_context_t *bf_context_new(const char *instance_id)
{
    return new_context(instance_id, NULL, true);
}

bf_context_t *bf_context_new_borrowing(const char *instance_id, bf_vars_t *vars)
{
    return new_context(instance_id, vars, false);
}

void bf_context_free(bf_context_t *ctx)
{
    if (!ctx) {
        return;
    }
    bf_trace_fini(&ctx->trace);
    bf_vars_free(ctx->overlay);
    if (ctx->owns_vars) {
        bf_vars_free(ctx->vars);
    }
    free(ctx);
}

const char *bf_context_instance_id(const bf_context_t *ctx)
{
    return ctx->instance_id;
}

bf_vars_t *bf_context_vars(bf_context_t *ctx)
{
    return ctx->vars;
}

void bf_context_set_transient(bf_context_t *ctx, const bf_value_t *map)
{
    ctx->transient = map && map->type == BF_VALUE_MAP ? map : NULL;
}

void bf_context_set_base(bf_context_t *ctx, bf_vars_t *base)
{
    ctx->base = base;
}

void bf_context_lack_memory(bf_context_t *ctx)
{
    ctx->lacks_memory = true;
}

bool bf_context_lacked_memory(bf_context_t *ctx)
{
    bool lacked = ctx->lacks_memory;
    ctx->lacks_memory = false;
    return lacked;
}

void bf_context_set_origin(bf_context_t *ctx, const bf_origin_t *origin)
{
    ctx->origin = origin ? *origin : (bf_origin_t){0};
}

const bf_origin_t *bf_context_origin(const bf_context_t *ctx)
{
    return &ctx->origin;
}

bf_exchanger_t *bf_context_exchanger(bf_context_t *ctx)
{
    return ctx->ex;
}

void bf_context_set_script_node(bf_context_t *ctx, const bf_node_t *node)
{
    ctx->script_node = node;
}

static const bf_value_t *node_value(bf_context_t *ctx)
{
    const bf_node_t *node = ctx->script_node;
    bf_member_t *m = ctx->node_members;
    m[0] = (bf_member_t){"id", 2, bf_value_cstr(node->id)};
    m[1] = (bf_member_t){"title", 5,
                         node->title ? bf_value_cstr(node->title) : bf_value_null()};
    m[2] = (bf_member_t){"type", 4, bf_value_cstr(bf_node_type_name(node->type))};
    m[3] = (bf_member_t){"meta", 4, node->meta};
    ctx->node_value = (bf_value_t){.type = BF_VALUE_MAP, .len = 4, .as.members = m};
    return &ctx->node_value;
}

/* The layers above the variables; *ret_found says whether the search ends here. */
static inline const bf_value_t *lookup_above(const bf_context_t *ctx, const char *name,
                                             size_t len, bool *ret_found)
{
    for (const bf_with_t *w = ctx->with; w; w = w->outer) {
        if (w->name_len == len && bf_same_bytes(w->name, name, len)) {
            *ret_found = true;
            return bf_value_is_null(w->value) ? NULL : w->value;
        }
    }
    if (ctx->transient) {
        const bf_value_t *value = bf_value_get(ctx->transient, name, len);
        if (value) {
            *ret_found = true;
            return bf_value_is_null(value) ? NULL : value;
        }
    }
    *ret_found = NAME_IS(name, len, "instanceId");
    return *ret_found ? &ctx->instance_id_value : NULL;
}

/* The variables: what a probe has set, then the context's own, then the instance's. In
 * the overlay a value is a list of one, and a cleared variable an empty list. */
static const bf_value_t *lookup_vars(const bf_context_t *ctx, const char *name,
                                     size_t len, uint64_t hash)
{
    if (ctx->overlay) {
        const bf_value_t *set = bf_vars_get_hashed(ctx->overlay, name, len, hash);
        if (set) {
            return set->len ? set->as.items : NULL;
        }
    }
    const bf_value_t *value = bf_vars_get_hashed(ctx->vars, name, len, hash);
    if (!value && ctx->base) {
        value = bf_vars_get_hashed(ctx->base, name, len, hash);
    }
    return value;
}

const bf_value_t *bf_context_lookup(void *arg, const char *name, size_t name_len,
                                    uint64_t hash)
{
    bf_context_t *ctx = arg;
    bool found;
    if (ctx->script_node && NAME_IS(name, name_len, "node")) {
        return node_value(ctx);
    }
    const bf_value_t *value = lookup_above(ctx, name, name_len, &found);
    return found ? value : lookup_vars(ctx, name, name_len, hash);
}

const bf_value_t *bf_context_get(const bf_context_t *ctx, const char *name,
                                 size_t name_len)
{
    bool found;
    const bf_value_t *value = lookup_above(ctx, name, name_len, &found);
    return found ? value
                 : lookup_vars(ctx, name, name_len, bf_hash_bytes(name, name_len));
}

const bf_value_t *bf_context_get_str(const bf_context_t *ctx, const char *name)
{
    return bf_context_get(ctx, name, strlen(name));
}

const bf_value_t *bf_context_caller_value(const bf_context_t *ctx, const char *name,
                                          size_t name_len)
{
    bool found;
    const bf_value_t *value = lookup_above(ctx, name, name_len, &found);
    if (found || !ctx->owns_vars) {
        return value;
    }
    return bf_vars_get(ctx->vars, name, name_len);
}

static bf_status_t put_overlay(bf_context_t *ctx, const char *name, size_t name_len,
                               const bf_value_t *value, bf_err_t *err)
{
    if (!ctx->overlay) {
        ctx->overlay = bf_vars_new();
    }
    bf_value_t wrapped = {.type = BF_VALUE_LIST, .as.items = value};
    wrapped.len = bf_value_is_null(value) ? 0 : 1;
    bool done =
        ctx->overlay && bf_vars_set(ctx->overlay, name, name_len, &wrapped) == BF_OK;
    return done ? BF_OK : bf_err_nomem(err, "variable");
}

void bf_context_end_probe(bf_context_t *ctx)
{
    bf_vars_free(ctx->overlay);
    ctx->overlay = NULL;
}

bf_status_t bf_context_put(bf_context_t *ctx, const char *name, size_t name_len,
                           const bf_value_t *value, bf_err_t *err)
{
    if (NAME_IS(name, name_len, "instanceId") || NAME_IS(name, name_len, "context")) {
        return bf_err_set(err, BF_E_INVALID,
                          "variable '%.*s' is reserved; use another name", (int)name_len,
                          name);
    }
    if (ctx->is_probe) {
        return put_overlay(ctx, name, name_len, value, err);
    }
    bf_status_t rc = bf_vars_set(ctx->vars, name, name_len, value);
    if (rc == BF_OK && ctx->base) {
        rc = bf_vars_set(ctx->base, name, name_len, value);
    }
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, "variable");
}

bf_status_t bf_context_put_str(bf_context_t *ctx, const char *name,
                               const bf_value_t *value, bf_err_t *err)
{
    return bf_context_put(ctx, name, strlen(name), value, err);
}

bf_status_t bf_context_with(bf_context_t *ctx, const char *name, const bf_value_t *value,
                            bf_status_t (*fn)(void *arg), void *arg)
{
    bf_with_t with = {ctx->with, name, strlen(name), value};
    ctx->with = &with;
    bf_status_t rc = fn(arg);
    ctx->with = with.outer;
    return rc;
}

void bf_context_stop(bf_context_t *ctx)
{
    if (ctx->ex) {
        bf_exchanger_stop(ctx->ex);
    }
}

void bf_context_interrupt(bf_context_t *ctx)
{
    if (ctx->ex) {
        bf_exchanger_interrupt(ctx->ex);
    }
}

bool bf_context_is_stopped(const bf_context_t *ctx)
{
    return ctx->signals & BF_SIGNAL_STOP;
}

bool bf_context_is_probe(const bf_context_t *ctx)
{
    return ctx->is_probe;
}

bf_eval_outcome_t bf_context_outcome(const bf_context_t *ctx)
{
    return ctx->outcome;
}
