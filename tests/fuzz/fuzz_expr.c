/*
 * fuzz_expr.c - any bytes as an expression and as a script: parsed and run within bounds
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/expr.h"
#include "bpmflow/map.h"
#include "bpmflow/vars.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char variables[] =
    "{\"day\":3,\"name\":\"li.wei\",\"amount\":\"12.50\",\"list\":[3,1,2],"
    "\"map\":{\"a\":{\"b\":1}},\"flag\":true,\"real\":2.5,\"nothing\":null}";

static const bf_value_t *lookup(void *arg, const char *name, size_t name_len,
                                uint64_t hash)
{
    return bf_vars_get_hashed(arg, name, name_len, hash);
}

static bf_status_t assign(void *arg, const char *name, size_t name_len,
                          const bf_value_t *value, bf_err_t *err)
{
    (void)err;
    return bf_vars_set(arg, name, name_len, value);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static void run(bf_vars_t *vars, bf_arena_t *parsed, const char *text, size_t len)
{
    bf_arena_t arena;
    bf_expr_t *expr = NULL;
    bf_script_t *script = NULL;
    bf_value_t value;
    bf_arena_init(&arena, (size_t)32 << 20);
    bf_expr_env_t env = {.lookup = lookup,
                         .assign = assign,
                         .stop = do_nothing,
                         .interrupt = do_nothing,
                         .arg = vars,
                         .arena = &arena,
                         .now_wall_ms = 1796040000000,
                         .max_steps = 20000};
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc = bf_expr_parse(parsed, text, len, &expr, &err);
    if (rc == BF_OK) {
        err.status = BF_OK;
        rc = bf_expr_eval(expr, &env, &value, &err);
    }
    if (rc != BF_OK && (err.text[0] == '\0' || err.status != rc)) {
        abort(); /* a failure without a sentence */
    }
    bf_err_clear(&err);
    bf_arena_clear(&arena);
    if (bf_script_parse(parsed, text, len, &script, &err) == BF_OK) {
        (void)!bf_script_run(script, &env, &err);
    }
    bf_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_arena_t parsed;
    bf_value_t all;
    bf_err_t err = BF_ERR_INIT;
    bf_vars_t *vars = bf_vars_new();
    bf_arena_init(&parsed, (size_t)32 << 20);
    if (vars == NULL ||
        bf_json_parse(&parsed, variables, strlen(variables), NULL, &all, &err) != BF_OK ||
        bf_vars_set_all(vars, &all) != BF_OK) {
        abort();
    }
    run(vars, &parsed, (const char *)data, size);
    bf_vars_free(vars);
    bf_arena_fini(&parsed);
    return 0;
}
