/*
 * walk.c - an engine and a context for tests of walks
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void add(bf_str_t *str, const char *id)
{
    bf_str_printf(str, "%s%s", str->len ? " " : "", id);
}

static bf_status_t on_start(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                            bf_err_t *err)
{
    walk_t *walk = arg;
    (void)err;
    add(&walk->visited, node->id);
    if (walk->stop_at && !strcmp(walk->stop_at, node->id)) {
        bf_exchanger_stop(ex);
    }
    if (walk->interrupt_at && !strcmp(walk->interrupt_at, node->id)) {
        bf_exchanger_interrupt(ex);
    }
    return BF_OK;
}

static bf_status_t on_arrive(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                             bf_err_t *err)
{
    walk_t *walk = arg;
    (void)ex;
    (void)err;
    add(&walk->arrived, node->id);
    return BF_OK;
}

static bf_status_t on_end(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                          bf_err_t *err)
{
    walk_t *walk = arg;
    (void)ex;
    (void)err;
    add(&walk->ended, node->id);
    return BF_OK;
}

void walk_init(walk_t *walk)
{
    memset(walk, 0, sizeof(*walk));
    walk->engine = bf_engine_new();
    walk->ctx = bf_context_new("i-1");
    cr_assert(walk->engine && walk->ctx);
    bf_str_init(&walk->visited, 0);
    bf_str_init(&walk->arrived, 0);
    bf_str_init(&walk->ended, 0);
    bf_interceptor_t hooks = {.on_node_arrive = on_arrive,
                              .on_node_start = on_start,
                              .on_node_end = on_end,
                              .arg = walk};
    cr_assert_eq(bf_engine_add_interceptor(walk->engine, &hooks), BF_OK);
}

void walk_fini(walk_t *walk)
{
    bf_context_free(walk->ctx);
    bf_engine_free(walk->engine);
    bf_str_fini(&walk->visited);
    bf_str_fini(&walk->arrived);
    bf_str_fini(&walk->ended);
}

bf_graph_t *walk_load(walk_t *walk, const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "test", NULL, &graph, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(bf_engine_load(walk->engine, graph, &err), BF_OK, "%s", err.text);
    bf_graph_unref(graph); /* the engine has its own */
    return graph;
}

static bf_status_t assign(void *arg, const char *name, size_t name_len,
                          const bf_value_t *value, bf_err_t *err)
{
    return bf_context_put(arg, name, name_len, value, err);
}

static void stop(void *arg)
{
    bf_context_stop(arg);
}

static void interrupt(void *arg)
{
    bf_context_interrupt(arg);
}

static bf_status_t run_script(void *arg, bf_context_t *ctx, const bf_node_t *node,
                              bf_err_t *err)
{
    const char *text = arg;
    bf_arena_t arena;
    bf_script_t *script = NULL;
    (void)node;
    bf_arena_init(&arena, 0);
    bf_expr_env_t env = {.lookup = bf_context_lookup,
                         .assign = assign,
                         .stop = stop,
                         .interrupt = interrupt,
                         .arg = ctx,
                         .arena = &arena};
    bf_status_t rc = bf_script_parse(&arena, text, strlen(text), &script, err);
    if (rc == BF_OK) {
        rc = bf_script_run(script, &env, err);
    }
    bf_arena_fini(&arena);
    return rc;
}

void walk_script(walk_t *walk, const char *name, const char *script)
{
    bf_component_t component = {.run = run_script, .arg = (void *)(uintptr_t)script};
    cr_assert_eq(bf_engine_set_component(walk->engine, name, &component), BF_OK);
}

void walk_set(walk_t *walk, const char *name, const char *json)
{
    bf_arena_t arena;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    cr_assert_eq(bf_json_parse(&arena, json, strlen(json), NULL, &value, &err), BF_OK,
                 "%s", err.text);
    cr_assert_eq(bf_context_put_str(walk->ctx, name, &value, &err), BF_OK, "%s",
                 err.text);
    bf_arena_fini(&arena);
}

const char *walk_get(walk_t *walk, const char *name)
{
    static char text[256];
    const bf_value_t *value = bf_context_get_str(walk->ctx, name);
    bf_str_t str;
    bf_str_init(&str, sizeof(text) - 1);
    if (value) {
        bf_value_write_text(&str, value);
    }
    (void)snprintf(text, sizeof(text), "%s", bf_str_peek(&str));
    bf_str_fini(&str);
    return text;
}

bf_status_t walk_run_steps(walk_t *walk, const char *graph_id, int64_t steps)
{
    bf_graph_t *graph = bf_engine_graph(walk->engine, graph_id);
    cr_assert_not_null(graph, "no graph %s", graph_id);
    bf_str_clear(&walk->visited);
    bf_str_clear(&walk->arrived);
    bf_str_clear(&walk->ended);
    bf_err_clear(&walk->err);
    bf_eval_options_t options = {.steps = steps};
    return bf_engine_eval(walk->engine, graph, walk->ctx, &options, &walk->err);
}

bf_status_t walk_run(walk_t *walk, const char *graph_id)
{
    return walk_run_steps(walk, graph_id, -1);
}

const char *walk_visits(walk_t *walk, const char *graph_id)
{
    cr_assert_eq(walk_run(walk, graph_id), BF_OK, "%s", walk->err.text);
    return bf_str_peek(&walk->visited);
}

void walk_roundtrip(walk_t *walk)
{
    bf_str_t json;
    bf_context_t *ctx = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&json, 0);
    cr_assert_eq(bf_context_write_json(walk->ctx, &json, &err), BF_OK);
    cr_assert_eq(bf_context_load_json(json.data, json.len, &ctx, &err), BF_OK, "%s\n%s",
                 err.text, json.data);
    bf_str_t again;
    bf_str_init(&again, 0);
    cr_assert_eq(bf_context_write_json(ctx, &again, &err), BF_OK);
    cr_assert_str_eq(again.data, json.data, "a snapshot reads back as it was");
    bf_context_free(walk->ctx);
    walk->ctx = ctx;
    bf_str_fini(&json);
    bf_str_fini(&again);
}
