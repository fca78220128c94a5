/*
 * conf_executor.c - controllers and executors of a workflow scenario
 *
 * All executors share the engine and the repository.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "tests/conformance/conf_workflow_int.h"

#define KEYS_MAX 8

/* --- operable_override --- */

static override_t *override_of(bf_controller_t *controller)
{
    return (override_t *)(void *)controller;
}

static bool override_is_operatable(bf_controller_t *controller, bf_context_t *ctx,
                                   const bf_node_t *node)
{
    const override_t *self = override_of(controller);
    const bf_value_t *value = bf_context_get_str(ctx, self->key);
    return (value && bf_value_equal(value, self->value)) ||
           bf_controller_is_operatable(self->inner, ctx, node);
}

static bool override_is_auto_forward(bf_controller_t *controller, bf_context_t *ctx,
                                     const bf_node_t *node)
{
    return bf_controller_is_auto_forward(override_of(controller)->inner, ctx, node);
}

static const char *override_actor_key(const bf_controller_t *controller)
{
    return bf_controller_actor_key(((const override_t *)(const void *)controller)->inner);
}

static bf_controller_t *with_override(workflow_case_t *w, conf_executor_t *e)
{
    static const bf_controller_ops_t ops = {
        .is_operatable = override_is_operatable,
        .is_auto_forward = override_is_auto_forward,
        .actor_key = override_actor_key,
    };
    static const char *const known[] = {"key", "value", NULL};
    const bf_value_t *spec = bf_value_get_str(w->scenario, "operable_override");
    if (!spec) {
        return e->controller;
    }
    conf_check_members(w->c, "operable_override", spec, known);
    e->override = (override_t){.base = {.ops = &ops},
                               .inner = e->controller,
                               .key = bf_value_get_cstr(spec, "key"),
                               .value = bf_value_get_str(spec, "value")};
    if (!e->override.key || !e->override.value) {
        conf_fail(w->c, "operable_override needs key and value");
        return e->controller;
    }
    return &e->override.base;
}

/* --- controllers by name --- */

static size_t actor_keys(const workflow_case_t *w, const char *keys[KEYS_MAX])
{
    const bf_value_t *list = bf_value_get_str(w->scenario, "actor_keys");
    size_t count = 0;
    for (uint32_t i = 0; list && list->type == BF_VALUE_LIST && i < list->len; i++) {
        if (count < KEYS_MAX && list->as.items[i].type == BF_VALUE_STRING) {
            keys[count++] = list->as.items[i].as.string;
        }
    }
    if (!count) {
        keys[count++] = "actor";
    }
    return count;
}

const char *conf_actor_key(const workflow_case_t *w)
{
    const char *keys[KEYS_MAX];
    (void)actor_keys(w, keys);
    return keys[0];
}

static bf_controller_t *new_controller(workflow_case_t *w, const char *name)
{
    const char *keys[KEYS_MAX];
    size_t count = actor_keys(w, keys);
    bf_controller_t *controller = NULL;
    if (!strcmp(name, "block")) {
        controller = bf_block_controller_new();
    } else if (!strcmp(name, "not_block")) {
        controller = bf_not_block_controller_new();
    } else {
        if (strcmp(name, "actor") != 0) {
            conf_fail(w->c, "unknown controller \"%s\"", name);
        }
        controller = bf_actor_controller_new(keys, count);
    }
    if (!controller) {
        conf_die_nomem();
    }
    return controller;
}

static bf_guard_t guard_of(const workflow_case_t *w)
{
    const char *guard = bf_value_get_cstr(w->c->decision, "guard");
    guard = guard ? guard : bf_value_get_cstr(w->scenario, "guard");
    if (guard && strcmp(guard, "strict") != 0 && strcmp(guard, "none") != 0) {
        conf_fail(w->c, "unknown guard \"%s\"", guard);
    }
    return guard && !strcmp(guard, "strict") ? BF_GUARD_STRICT : BF_GUARD_NONE;
}

bf_executor_t *conf_executor(workflow_case_t *w, const char *controller)
{
    const char *name =
        controller ? controller : bf_value_get_cstr(w->scenario, "controller");
    name = name ? name : "actor";
    for (size_t i = 0; i < w->executor_count; i++) {
        if (!strcmp(w->executors[i].controller_name, name)) {
            return w->executors[i].executor;
        }
    }
    if (w->executor_count == CONF_EXECUTORS_MAX) {
        conf_fail(w->c, "more than %d controllers", CONF_EXECUTORS_MAX);
        return w->executors[0].executor;
    }
    conf_executor_t *e = &w->executors[w->executor_count++];
    e->controller_name = name;
    e->controller = new_controller(w, name);
    e->executor = bf_executor_new(w->flow.engine, with_override(w, e), w->repo);
    if (!e->executor) {
        conf_die_nomem();
    }
    bf_executor_set_guard(e->executor, guard_of(w));
    return e->executor;
}

bool conf_is_automatic(const workflow_case_t *w, const bf_executor_t *executor,
                       bf_context_t *ctx, const bf_node_t *node)
{
    size_t i = 0;
    while (i < w->executor_count && w->executors[i].executor != executor) {
        i++;
    }
    return i < w->executor_count &&
           bf_controller_is_auto_forward(w->executors[i].controller, ctx, node);
}

void conf_executors_open(workflow_case_t *w)
{
    w->repo = bf_memory_repository_new();
    if (!w->repo) {
        conf_die_nomem();
    }
    (void)conf_executor(w, NULL);
}

void conf_executors_close(workflow_case_t *w)
{
    for (size_t i = 0; i < w->bag_count; i++) {
        bf_context_free(w->bags[i].ctx);
    }
    for (size_t i = 0; i < w->executor_count; i++) {
        bf_executor_free(w->executors[i].executor);
        bf_controller_free(w->executors[i].controller);
    }
    bf_repository_free(w->repo);
}
