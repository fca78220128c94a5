/*
 * test_expr.c - allocation sweep: parsing and evaluating expressions and scripts
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/expr.h"
#include "bpmflow/vars.h"
#include "tests/oom/oom.h"

static const bf_value_t *lookup(void *arg, const char *name, size_t name_len,
                                uint64_t hash)
{
    return bf_vars_get_hashed(arg, name, name_len, hash);
}

static bf_status_t assign(void *arg, const char *name, size_t name_len,
                          const bf_value_t *value, bf_err_t *err)
{
    bf_status_t rc = bf_vars_set(arg, name, name_len, value);
    return rc == BF_OK ? rc : bf_err_nomem(err, "variable");
}

static bf_status_t evaluate(void *arg)
{
    const char *text = arg;
    bf_arena_t parsed;
    bf_arena_t arena;
    bf_expr_t *expr = NULL;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&parsed, 0);
    bf_arena_init(&arena, 0);
    bf_vars_t *vars = bf_vars_new();
    bf_value_t day = bf_value_int(3);
    bf_value_t name = bf_value_cstr("li.wei");
    bf_expr_env_t env = {.lookup = lookup, .arg = vars, .arena = &arena};
    bf_status_t rc = vars ? bf_vars_set_str(vars, "day", &day) : BF_E_NOMEM;
    rc = rc == BF_OK ? bf_vars_set_str(vars, "name", &name) : rc;
    rc = rc == BF_OK ? bf_expr_parse(&parsed, text, strlen(text), &expr, &err) : rc;
    rc = rc == BF_OK ? bf_expr_eval(expr, &env, &value, &err) : rc;
    bf_vars_free(vars);
    bf_arena_fini(&arena);
    bf_arena_fini(&parsed);
    return rc;
}

static bf_status_t run_script(void *arg)
{
    const char *text = arg;
    bf_arena_t parsed;
    bf_arena_t arena;
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&parsed, 0);
    bf_arena_init(&arena, 0);
    bf_vars_t *vars = bf_vars_new();
    bf_expr_env_t env = {
        .lookup = lookup, .assign = assign, .arg = vars, .arena = &arena};
    bf_status_t rc = vars ? BF_OK : BF_E_NOMEM;
    rc = rc == BF_OK ? bf_script_parse(&parsed, text, strlen(text), &script, &err) : rc;
    rc = rc == BF_OK ? bf_script_run(script, &env, &err) : rc;
    bf_vars_free(vars);
    bf_arena_fini(&arena);
    bf_arena_fini(&parsed);
    return rc;
}

int main(void)
{
    static char condition[] =
        "day >= 3 && day < 7 || name.startsWith('li') and day in [1, 2]";
    static char texts[] = "name.toUpperCase() + ' ' + name.substring(0, 2) + '!'";
    static char lists[] = "{'a': [1, 2, 3], 'b': {'c': 'text'}}";
    static char pattern[] = "name matches '^[a-z]+[.](wei|fang)$'";
    static char script[] =
        "a = 1 + 2; b = 'x' + a; if (a == 3) { c = [a, b] } else { c = null }";
    bf_oom_sweep("condition", evaluate, condition);
    bf_oom_sweep("texts", evaluate, texts);
    bf_oom_sweep("lists", evaluate, lists);
    bf_oom_sweep("pattern", evaluate, pattern);
    bf_oom_sweep("script", run_script, script);
    return bf_oom_result();
}
