/*
 * plugin_set.c - components, drivers and controllers of one engine
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "lib/workflow/plugin_int.h"

/* A definition with the state of this thread. What the engine or the executor gets comes
 * first: a pointer to it is a pointer to all. */
typedef struct member {
    union {
        bf_driver_t driver;
        bf_controller_t controller;
    } base;
    const bf_plugins_t *plugins;
    const bf_plugin_t *plugin;
    void *state;
    bool is_open;   /* close is due */
    bool is_placed; /* in the engine */
} member_t;

struct bf_plugin_set {
    bf_engine_t *engine;
    size_t count;
    member_t members[];
};

/* --- components --- */

static bf_status_t run_component(void *arg, bf_context_t *ctx, const bf_node_t *node,
                                 bf_err_t *err)
{
    const member_t *m = arg;
    bf_call_t call;
    bf_call_init(&call, m->plugins, m->plugin, ctx);
    call.node = node;
    call.code = &node->task;
    return bf_call_finish(&call, m->plugin->as.component.run(&call, m->state), err);
}

static bf_status_t test_component(void *arg, bf_context_t *ctx, bool *ret, bf_err_t *err)
{
    const member_t *m = arg;
    bf_call_t call;
    int yes = 0;
    bf_call_init(&call, m->plugins, m->plugin, ctx);
    bf_status_t rc =
        bf_call_finish(&call, m->plugin->as.component.test(&call, m->state, &yes), err);
    if (rc == BF_OK) {
        *ret = yes != 0;
    }
    return rc;
}

static bf_status_t place_component(bf_engine_t *engine, member_t *m)
{
    const bf_component_def_t *def = &m->plugin->as.component;
    const bf_component_t component = {.run = def->run ? run_component : NULL,
                                      .test = def->test ? test_component : NULL,
                                      .arg = m};
    return bf_engine_set_component(engine, m->plugin->name, &component);
}

/* --- drivers --- */

static bf_status_t at_node(bf_driver_t *driver, bf_exchanger_t *ex, const bf_node_t *node,
                           int (*fn)(bf_call_t *call, void *state), bf_err_t *err)
{
    const member_t *m = (const member_t *)driver;
    if (!fn) {
        return BF_OK;
    }
    bf_call_t call;
    bf_call_init(&call, m->plugins, m->plugin, bf_exchanger_context(ex));
    call.node = node;
    call.code = &node->task;
    bf_status_t rc = bf_call_finish(&call, fn(&call, m->state), err);
    if (rc != BF_OK) {
        bf_err_prefix(err, "%s / %s: ", node->graph->id, node->id);
    }
    return rc;
}

static bf_status_t node_start(bf_driver_t *driver, bf_exchanger_t *ex,
                              const bf_node_t *node, bf_err_t *err)
{
    const member_t *m = (const member_t *)driver;
    return at_node(driver, ex, node, m->plugin->as.driver.node_start, err);
}

static bf_status_t node_end(bf_driver_t *driver, bf_exchanger_t *ex,
                            const bf_node_t *node, bf_err_t *err)
{
    const member_t *m = (const member_t *)driver;
    return at_node(driver, ex, node, m->plugin->as.driver.node_end, err);
}

static bf_status_t driver_run(bf_driver_t *driver, bf_exchanger_t *ex,
                              const bf_node_t *node, bf_err_t *err)
{
    const member_t *m = (const member_t *)driver;
    if (!m->plugin->as.driver.run) {
        return bf_plain_run_task(ex, node, err);
    }
    bf_call_t call;
    bf_call_init(&call, m->plugins, m->plugin, bf_exchanger_context(ex));
    call.node = node;
    call.code = &node->task;
    call.is_default_task = true;
    return bf_call_finish(&call, m->plugin->as.driver.run(&call, m->state), err);
}

static bf_status_t driver_test(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    const member_t *m = (const member_t *)driver;
    if (!m->plugin->as.driver.test) {
        return bf_plain_test(ex, code, ret, err);
    }
    bf_call_t call;
    int yes = 0;
    bf_call_init(&call, m->plugins, m->plugin, bf_exchanger_context(ex));
    call.code = code;
    call.is_default_test = true;
    bf_status_t rc =
        bf_call_finish(&call, m->plugin->as.driver.test(&call, m->state, &yes), err);
    if (rc == BF_OK) {
        *ret = yes != 0;
    }
    return rc;
}

static bf_status_t place_driver(bf_engine_t *engine, member_t *m)
{
    static const bf_driver_ops_t ops = {.on_node_start = node_start,
                                        .on_node_end = node_end,
                                        .handle_task = driver_run,
                                        .handle_condition = driver_test};
    m->base.driver = (bf_driver_t){&ops, m->plugin->name};
    return bf_engine_set_driver(engine, m->plugin->name, &m->base.driver);
}

/* --- controllers --- */

static bool ask(bf_controller_t *controller, bf_context_t *ctx, const bf_node_t *node,
                int (*fn)(bf_call_t *call, void *state))
{
    const member_t *m = (const member_t *)controller;
    bf_call_t call;
    bf_err_t why = BF_ERR_INIT;
    bf_call_init(&call, m->plugins, m->plugin, ctx);
    call.node = node;
    call.is_read_only = true;
    int answer = fn(&call, m->state);
    bf_status_t rc = bf_call_finish(&call, BF_CALL_OK, &why);
    if (rc == BF_E_NOMEM) { /* no is an answer; this is none */
        bf_context_lack_memory(ctx);
    }
    return rc == BF_OK && answer == 1;
}

static bool is_operatable(bf_controller_t *controller, bf_context_t *ctx,
                          const bf_node_t *node)
{
    const member_t *m = (const member_t *)controller;
    return ask(controller, ctx, node, m->plugin->as.controller.is_operable);
}

static bool is_auto_forward(bf_controller_t *controller, bf_context_t *ctx,
                            const bf_node_t *node)
{
    const member_t *m = (const member_t *)controller;
    return ask(controller, ctx, node, m->plugin->as.controller.is_automatic);
}

static const char *actor_key(const bf_controller_t *controller)
{
    return ((const member_t *)controller)->plugin->actor_key;
}

static void place_controller(member_t *m)
{
    static const bf_controller_ops_t ops = {.is_operatable = is_operatable,
                                            .is_auto_forward = is_auto_forward,
                                            .actor_key = actor_key};
    m->base.controller = (bf_controller_t){&ops};
}

bf_controller_t *bf_plugin_set_controller(bf_plugin_set_t *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        member_t *m = &set->members[i];
        if (m->plugin->kind == BF_PLUGIN_CONTROLLER && !strcmp(m->plugin->name, name)) {
            return &m->base.controller;
        }
    }
    return NULL;
}

/* --- the set --- */

/* open, close and arg, whatever it is. */
typedef struct life {
    int (*open)(void *arg, void **ret);
    void (*close)(void *state);
    void *arg;
} life_t;

static life_t life_of(const bf_plugin_t *plugin)
{
    switch (plugin->kind) {
    case BF_PLUGIN_COMPONENT: {
        const bf_component_def_t *def = &plugin->as.component;
        return (life_t){def->open, def->close, def->arg};
    }
    case BF_PLUGIN_DRIVER: {
        const bf_driver_def_t *def = &plugin->as.driver;
        return (life_t){def->open, def->close, def->arg};
    }
    case BF_PLUGIN_CONTROLLER: {
        const bf_controller_def_t *def = &plugin->as.controller;
        return (life_t){def->open, def->close, def->arg};
    }
    case BF_PLUGIN_KIND_COUNT:
        break;
    }
    BF_ASSERT(false);
    return (life_t){0};
}

static bf_status_t open_state(member_t *m, bf_err_t *err)
{
    life_t life = life_of(m->plugin);
    m->state = life.arg;
    if (life.open && life.open(life.arg, &m->state) != BF_CALL_OK) {
        return bf_err_set(err, BF_E_COMPONENT,
                          "%s: '%s' cannot be opened; its open() failed",
                          m->plugin->library, m->plugin->name);
    }
    m->is_open = true;
    return BF_OK;
}

static bool is_taken(const bf_engine_t *engine, const bf_plugin_t *plugin)
{
    return (plugin->kind == BF_PLUGIN_COMPONENT &&
            bf_engine_component(engine, plugin->name)) ||
           (plugin->kind == BF_PLUGIN_DRIVER && bf_engine_driver(engine, plugin->name));
}

static bf_status_t place(bf_engine_t *engine, member_t *m, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    if (is_taken(engine, m->plugin)) {
        return bf_err_set(err, BF_E_EXISTS,
                          "%s: the engine has a %s '%s' already; rename one of them",
                          m->plugin->library,
                          m->plugin->kind == BF_PLUGIN_DRIVER ? "driver" : "component",
                          m->plugin->name);
    }
    if (m->plugin->kind == BF_PLUGIN_COMPONENT) {
        rc = place_component(engine, m);
    } else if (m->plugin->kind == BF_PLUGIN_DRIVER) {
        rc = place_driver(engine, m);
    } else {
        place_controller(m);
    }
    m->is_placed = rc == BF_OK;
    return rc == BF_OK ? BF_OK : bf_err_nomem(err, m->plugin->name);
}

bf_status_t bf_plugin_set_open(const bf_plugins_t *plugins, bf_engine_t *engine,
                               bf_plugin_set_t **ret, bf_err_t *err)
{
    bf_plugin_set_t *set =
        calloc(1, sizeof(*set) + plugins->count * sizeof(set->members[0]));
    if (!set) {
        return bf_err_nomem(err, "components");
    }
    set->engine = engine;
    for (size_t i = 0; i < plugins->count; i++) {
        member_t *m = &set->members[set->count++];
        m->plugins = plugins;
        m->plugin = &plugins->items[i];
        bf_status_t rc = open_state(m, err);
        if (rc == BF_OK) {
            rc = place(engine, m, err);
        }
        if (rc != BF_OK) {
            bf_plugin_set_close(set);
            return rc;
        }
    }
    *ret = set;
    return BF_OK;
}

/* Removing needs no memory. */
static void take_out(bf_engine_t *engine, const member_t *m)
{
    bf_status_t rc = BF_OK;
    if (m->plugin->kind == BF_PLUGIN_COMPONENT) {
        rc = bf_engine_set_component(engine, m->plugin->name, NULL);
    } else if (m->plugin->kind == BF_PLUGIN_DRIVER) {
        rc = bf_engine_set_driver(engine, m->plugin->name, NULL);
    }
    BF_ASSERT(rc == BF_OK);
}

void bf_plugin_set_close(bf_plugin_set_t *set)
{
    if (!set) {
        return;
    }
    while (set->count) {
        const member_t *m = &set->members[--set->count];
        life_t life = life_of(m->plugin);
        if (m->is_placed) {
            take_out(set->engine, m);
        }
        if (m->is_open && life.close) {
            life.close(m->state);
        }
    }
    free(set);
}
