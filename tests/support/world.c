/*
 * world.c - variables and effects for expressions in tests
 *
 * SPDX-License-Identifier: MIT
 */
#include "world.h"

#include <criterion/criterion.h>
#include <string.h>

static const bf_value_t *lookup(void *arg, const char *name, size_t len, uint64_t hash)
{
    world_t *w = arg;
    w->lookups++;
    return bf_vars_get_hashed(w->vars, name, len, hash);
}

static bf_status_t assign(void *arg, const char *name, size_t len,
                          const bf_value_t *value, bf_err_t *err)
{
    world_t *w = arg;
    (void)err;
    return bf_vars_set(w->vars, name, len, value);
}

static void stop(void *arg)
{
    ((world_t *)arg)->stopped = true;
}

static void interrupt(void *arg)
{
    ((world_t *)arg)->interrupted = true;
}

void world_init(world_t *w, const char *json)
{
    *w = (world_t){0};
    bf_arena_init(&w->arena, 0);
    w->vars = bf_vars_new();
    cr_assert_not_null(w->vars);
    if (json) {
        bf_value_t map;
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(bf_json_parse(&w->arena, json, strlen(json), NULL, &map, &err),
                     BF_OK, "%s", err.text);
        cr_assert_eq(bf_vars_set_all(w->vars, &map), BF_OK);
    }
}

void world_fini(world_t *w)
{
    bf_vars_free(w->vars);
    bf_arena_fini(&w->arena);
}

bf_expr_env_t world_env(world_t *w)
{
    return (bf_expr_env_t){.lookup = lookup,
                           .assign = assign,
                           .stop = stop,
                           .interrupt = interrupt,
                           .arg = w,
                           .arena = &w->arena,
                           .max_steps = w->max_steps};
}

static const char *error_text(world_t *w, const bf_err_t *err)
{
    cr_assert_eq(err->status, w->rc, "the error has another status than the call");
    cr_assert_neq(err->text[0], '\0');
    const char *text = bf_arena_printf(&w->arena, "error: %s", err->text);
    cr_assert_not_null(text);
    return text;
}

const char *world_json(world_t *w, const bf_value_t *value)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_json_write(&str, value);
    const char *text = bf_arena_strdup(&w->arena, bf_str_peek(&str));
    bf_str_fini(&str);
    cr_assert_not_null(text);
    return text;
}

const char *world_eval(world_t *w, const char *text)
{
    bf_expr_t *expr = NULL;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_expr_env_t env = world_env(w);
    w->rc = bf_expr_parse(&w->arena, text, strlen(text), &expr, &err);
    if (w->rc == BF_OK) {
        w->rc = bf_expr_eval(expr, &env, &value, &err);
    }
    return w->rc == BF_OK ? world_json(w, &value) : error_text(w, &err);
}

const char *world_run(world_t *w, const char *text)
{
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_expr_env_t env = world_env(w);
    w->rc = bf_script_parse(&w->arena, text, strlen(text), &script, &err);
    if (w->rc == BF_OK) {
        w->rc = bf_script_run(script, &env, &err);
    }
    return w->rc == BF_OK ? "" : error_text(w, &err);
}

const char *world_var(world_t *w, const char *name)
{
    const bf_value_t *value = bf_vars_get_str(w->vars, name);
    return value ? world_json(w, value) : "absent";
}
