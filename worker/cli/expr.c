/*
 * expr.c - evaluates an expression or a script, to try out conditions
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/expr.h"

#include <string.h>

#include "bpmflow/vars.h"
#include "worker/cli/commands.h"
#include "worker/cli/members.h"

static const bf_value_t *on_lookup(void *arg, const char *name, size_t len, uint64_t hash)
{
    (void)hash;
    return bf_vars_get(arg, name, len);
}

static bf_status_t on_assign(void *arg, const char *name, size_t len,
                             const bf_value_t *value, bf_err_t *err)
{
    return bf_vars_set(arg, name, len, value) == BF_OK ? BF_OK
                                                       : bf_err_nomem(err, "variable");
}

static void on_stop(void *arg)
{
    (void)arg;
    bf_cli_note("the script stops the flow");
}

static void on_interrupt(void *arg)
{
    (void)arg;
    bf_cli_note("the script interrupts the branch");
}

static bf_status_t evaluate(bf_cli_t *cli, bf_expr_env_t *env, bf_str_t *out,
                            bf_exit_t *ret, bf_err_t *err)
{
    const char *text = bf_cli_operand(cli, 0);
    bf_expr_t *expr = NULL;
    bf_status_t rc = bf_expr_parse(env->arena, text, strlen(text), &expr, err);
    bf_value_t value = bf_value_null();
    if (rc == BF_OK)
        rc = bf_expr_eval(expr, env, &value, err);
    if (rc != BF_OK)
        return rc;
    if (bf_cli_flag(cli, "test") && !bf_expr_is_true(&value))
        *ret = BF_EXIT_REJECTED;
    bf_json_write_pretty(out, &value);
    bf_str_putc(out, '\n');
    return BF_OK;
}

static bf_status_t run_script(bf_cli_t *cli, bf_expr_env_t *env, bf_vars_t *vars,
                              bf_str_t *out, bf_err_t *err)
{
    const char *text = bf_cli_operand(cli, 0);
    bf_script_t *script = NULL;
    bf_status_t rc = bf_script_parse(env->arena, text, strlen(text), &script, err);
    if (rc == BF_OK)
        rc = bf_script_run(script, env, err);
    bf_value_t map = bf_value_null();
    if (rc == BF_OK)
        rc = bf_vars_as_map(vars, env->arena, &map);
    if (rc == BF_OK) {
        bf_json_write_pretty(out, &map);
        bf_str_putc(out, '\n');
    }
    return rc;
}

/* What --vars says; a word that is neither a pair nor an object is a file. */
static bf_status_t take_vars(bf_cli_t *cli, bf_arena_t *arena, bf_vars_t *vars,
                             bf_err_t *err)
{
    size_t count = 0;
    const char *const *given = bf_cli_list(cli, "vars", &count);
    const char **texts = bf_arena_calloc(arena, count + 1, sizeof *texts);
    if (!texts)
        return bf_err_nomem(err, "variables");
    for (size_t i = 0; i < count; i++) {
        bool file = !strpbrk(given[i], "={") && given[i][0] != '@';
        texts[i] = file ? bf_arena_printf(arena, "@%s", given[i]) : given[i];
        if (!texts[i])
            return bf_err_nomem(err, "variables");
    }
    bf_value_t map = bf_value_null();
    bf_status_t rc = bf_cli_members(arena, "--vars", texts, count, &map, err);
    if (rc == BF_OK && bf_vars_set_all(vars, &map) != BF_OK)
        rc = bf_err_nomem(err, "variables");
    return rc;
}

static bf_exit_t run_expr(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_exit_t result = BF_EXIT_OK;
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_status_t rc = BF_OK;
    bf_vars_t *vars = bf_vars_new();
    if (!vars)
        rc = bf_err_nomem(&err, "variables");
    if (rc == BF_OK)
        rc = take_vars(cli, &arena, vars, &err);
    bf_expr_env_t env = {.lookup = on_lookup,
                         .assign = on_assign,
                         .stop = on_stop,
                         .interrupt = on_interrupt,
                         .arg = vars,
                         .arena = &arena};
    if (rc == BF_OK && bf_cli_flag(cli, "script"))
        rc = run_script(cli, &env, vars, &out, &err);
    else if (rc == BF_OK)
        rc = evaluate(cli, &env, &out, &result, &err);
    if (rc == BF_OK)
        rc = bf_cli_write(&out, &err);
    if (rc == BF_E_PARSE || rc == BF_E_EXPRESSION || rc == BF_E_LIMIT) {
        bf_cli_error("%s", err.text);
        result = BF_EXIT_REJECTED;
    } else if (rc != BF_OK) {
        result = bf_cli_fail(&err, rc);
    }
    bf_str_fini(&out);
    bf_vars_free(vars);
    bf_arena_fini(&arena);
    return result;
}

static const bf_cli_option_t expr_options[] = {
    {.name = "vars",
     .letter = 'v',
     .kind = BF_OPTION_LIST,
     .metavar = "FILE|NAME=VALUE",
     .help =
         "variables: @FILE or FILE with a JSON object, '{...}', or NAME=VALUE; may be "
         "repeated"},
    {.name = "script",
     .kind = BF_OPTION_FLAG,
     .help = "TEXT is a task script; print the variables after it"},
    {.name = "test",
     .kind = BF_OPTION_FLAG,
     .help = "exit with 1 when the result is false or null, as a condition sees it"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_expr = {
    .name = "expr",
    .summary = "evaluate an expression or a script",
    .operands = "TEXT",
    .min_operands = 1,
    .max_operands = 1,
    .options = expr_options,
    .description =
        "Evaluates TEXT as the engine does with the conditions of links and the "
        "scripts of tasks, and prints the result as JSON.",
    .status = "1 also when the text has an error, which is shown with line and column.",
    .examples =
        "    bpmflow expr 'day > 3 && role == \"leader\"' --vars day=5 -v role=leader\n"
        "    bpmflow expr 'day * 2' --vars form.json\n"
        "    bpmflow expr --script 'total = price * 3; paid = false' -v price=7\n",
    .run = run_expr};
