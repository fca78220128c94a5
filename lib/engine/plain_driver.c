/*
 * plain_driver.c - runs tasks and conditions: expressions, scripts, components, graphs
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

/* --- what expressions and scripts may touch --- */

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

static void set_environment(bf_exchanger_t *ex)
{
    ex->env = (bf_expr_env_t){.lookup = bf_context_lookup,
                              .assign = assign,
                              .stop = stop,
                              .interrupt = interrupt,
                              .arg = ex->ctx,
                              .arena = &ex->scratch};
}

bf_expr_env_t *bf_plain_env(bf_exchanger_t *ex)
{
    if (!ex->env.arg) {
        set_environment(ex);
    }
    return &ex->env;
}

/* --- conditions --- */

/* Whatever a component returns counts as its failure, unless it says something that the
 * caller must know. */
static bf_status_t component_failed(const char *name, bf_status_t rc, bf_err_t *err)
{
    bool keep = rc == BF_E_NOMEM || rc == BF_E_EXPRESSION || rc == BF_E_STEP_LIMIT ||
                rc == BF_E_NO_ROUTE || rc == BF_E_CANCELLED || rc == BF_E_LIMIT;
    (void)bf_err_set(err, rc, "component '%s' failed: %s", name, bf_status_text(rc));
    if (keep) {
        return rc;
    }
    if (err) {
        err->status = BF_E_COMPONENT;
    }
    return BF_E_COMPONENT;
}

static bf_status_t test_component(bf_exchanger_t *ex, const char *name, bool *ret,
                                  bf_err_t *err)
{
    const bf_component_t *component = bf_engine_component(ex->engine, name);
    if (!component || !component->test) {
        return bf_err_set(
            err, BF_E_COMPONENT,
            "The condition component '%s' not exist; load the library that has "
            "it, or correct the name",
            name);
    }
    bf_status_t rc = component->test(component->arg, ex->ctx, ret, err);
    return rc == BF_OK ? BF_OK : component_failed(name, rc, err);
}

bf_status_t bf_plain_test(bf_exchanger_t *ex, const bf_code_ref_t *code, bool *ret,
                          bf_err_t *err)
{
    switch (code->kind) {
    case BF_CODE_NONE:
        *ret = true;
        return BF_OK;
    case BF_CODE_COMPONENT:
        return test_component(ex, code->name, ret, err);
    case BF_CODE_EXPRESSION: {
        bf_status_t rc = bf_expr_test(code->expr, bf_plain_env(ex), ret, err);
        bf_plain_forget(ex);
        return rc;
    }
    case BF_CODE_GRAPH:
    case BF_CODE_SCRIPT:
    case BF_CODE_TOPIC:
        break;
    }
    return bf_err_set(err, BF_E_EXPRESSION, "'%s' is not a condition", code->text);
}

/* --- tasks --- */

static bf_status_t run_component(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    const char *name = node->task.name;
    const bf_component_t *component = bf_engine_component(ex->engine, name);
    if (!component || !component->run) {
        return bf_err_set(err, BF_E_COMPONENT,
                          "The task component '%s' not exist; load the library that has "
                          "it, or correct the name",
                          name);
    }
    bf_status_t rc = component->run(component->arg, ex->ctx, node, err);
    return rc == BF_OK ? BF_OK : component_failed(name, rc, err);
}

static bf_status_t run_script(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (!node->task.script) {
        /* `$a.b` that the graph's meta does not have (rule 85) */
        const char *text = node->task.text;
        return bf_err_set(err, BF_E_EXPRESSION, "Graph meta not found: %s",
                          *text == '$' ? text + 1 : text);
    }
    bf_context_set_script_node(ex->ctx, node);
    bf_status_t rc = bf_script_run(node->task.script, bf_plain_env(ex), err);
    bf_context_set_script_node(ex->ctx, NULL);
    bf_plain_forget(ex);
    return rc;
}

bf_status_t bf_plain_run_task(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    switch (node->task.kind) {
    case BF_CODE_NONE:
        return BF_OK;
    case BF_CODE_COMPONENT:
        return run_component(ex, node, err);
    case BF_CODE_GRAPH:
        return bf_exchanger_call(ex, node->task.name, err);
    case BF_CODE_SCRIPT:
        return run_script(ex, node, err);
    case BF_CODE_TOPIC:
        return bf_err_set(err, BF_E_COMPONENT,
                          "'%s' hands work to a service, and nobody waits for it here: "
                          "it needs an executor",
                          node->task.text);
    case BF_CODE_EXPRESSION:
        break;
    }
    return bf_err_set(err, BF_E_EXPRESSION, "'%s' is not a task", node->task.text);
}

bf_status_t bf_driver_run_task(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err)
{
    return driver->ops->handle_task ? driver->ops->handle_task(driver, ex, node, err)
                                    : bf_plain_run_task(ex, node, err);
}

bf_status_t bf_driver_test(bf_driver_t *driver, bf_exchanger_t *ex,
                           const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    return driver->ops->handle_condition
               ? driver->ops->handle_condition(driver, ex, code, ret, err)
               : bf_plain_test(ex, code, ret, err);
}

/* --- the driver --- */

static const bf_driver_ops_t plain_ops = {0};

bf_driver_t *bf_plain_driver_new(const char *name)
{
    size_t len = strlen(name);
    bf_driver_t *driver = malloc(sizeof(*driver) + len + 1);
    if (!driver) {
        return NULL;
    }
    char *copy = (char *)(driver + 1);
    memcpy(copy, name, len + 1);
    *driver = (bf_driver_t){&plain_ops, copy};
    return driver;
}

void bf_plain_driver_free(bf_driver_t *driver)
{
    free(driver);
}
