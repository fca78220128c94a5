/*
 * conf_flow.c - engine, drivers, components and interceptors of a scenario
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/conformance/conf_flow.h"

#include <stdlib.h>
#include <string.h>

/* --- effects --- */

static void do_effect(conf_flow_t *flow, bf_exchanger_t *ex, const char *effect)
{
    if (!effect) {
        return;
    }
    if (!strcmp(effect, "stop")) {
        bf_exchanger_stop(ex);
    } else if (!strcmp(effect, "interrupt")) {
        bf_exchanger_interrupt(ex);
    } else {
        conf_fail(flow->c, "unknown effect \"%s\"", effect);
    }
}

static const char *graph_and_node(conf_flow_t *flow, const bf_node_t *node)
{
    return conf_text(flow->conf, "%s:%s", node->graph->id, node->id);
}

/* --- drivers --- */

/* One entry of hooks.before_task. Sets *skip when the task must not run. */
static bf_status_t before_task(conf_flow_t *flow, const bf_value_t *hook,
                               bf_exchanger_t *ex, const bf_node_t *node, bool *skip,
                               bf_err_t *err)
{
    static const char *const known[] = {"assign_node_id_to", "node", "effect",
                                        "skip_task", NULL};
    conf_check_members(flow->c, "hooks.before_task", hook, known);
    const char *only = bf_value_get_cstr(hook, "node");
    if (only && strcmp(only, node->id) != 0) {
        return BF_OK;
    }
    const char *variable = bf_value_get_cstr(hook, "assign_node_id_to");
    if (variable) {
        bf_value_t id = bf_value_cstr(node->id);
        bf_status_t rc = bf_context_put_str(bf_exchanger_context(ex), variable, &id, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    const bf_value_t *skip_task = bf_value_get_str(hook, "skip_task");
    *skip |= skip_task && bf_expr_is_true(skip_task);
    do_effect(flow, ex, bf_value_get_cstr(hook, "effect"));
    return BF_OK;
}

static bf_status_t handle_task(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err)
{
    conf_driver_t *self = (conf_driver_t *)(void *)driver;
    conf_flow_t *flow = self->flow;
    bool skip = false;
    const bf_value_t *hooks =
        bf_value_get_str(bf_value_get_str(flow->scenario, "hooks"), "before_task");
    for (uint32_t i = 0; i < conf_items(hooks); i++) {
        bf_status_t rc = before_task(flow, &hooks->as.items[i], ex, node, &skip, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (skip) {
        return BF_OK;
    }
    if (node->task.kind != BF_CODE_NONE) {
        conf_list_add_text(&flow->executed, node->id);
        conf_list_add_text(&flow->executed_graphs, graph_and_node(flow, node));
    }
    return bf_plain_run_task(ex, node, err);
}

static void add_driver(conf_flow_t *flow, const char *name)
{
    static const bf_driver_ops_t ops = {.handle_task = handle_task};
    if (flow->driver_count == CONF_DRIVERS_MAX) {
        conf_fail(flow->c, "more than %d drivers", CONF_DRIVERS_MAX);
        return;
    }
    conf_driver_t *d = &flow->drivers[flow->driver_count];
    *d = (conf_driver_t){.base = {.ops = &ops, .name = name}, .flow = flow};
    if (bf_engine_set_driver(flow->engine, name, &d->base) != BF_OK) {
        conf_die_nomem();
    }
    flow->driver_count++;
}

/* --- interceptors: one that remembers, one that does what the scenario says --- */

static bf_status_t seen_start(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                              bf_err_t *err)
{
    conf_flow_t *flow = arg;
    (void)ex;
    (void)err;
    conf_list_add_text(&flow->visited, node->id);
    conf_list_add_text(&flow->visited_graphs, graph_and_node(flow, node));
    return BF_OK;
}

static bf_status_t seen_end(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                            bf_err_t *err)
{
    (void)ex;
    (void)err;
    conf_list_add_text(&((conf_flow_t *)arg)->ended, node->id);
    return BF_OK;
}

static bf_status_t seen_arrival(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                                bf_err_t *err)
{
    (void)ex;
    (void)err;
    conf_list_add_text(&((conf_flow_t *)arg)->entered, node->id);
    return BF_OK;
}

static bf_status_t intercept(conf_flow_t *flow, bf_exchanger_t *ex, const char *hook,
                             const bf_node_t *node)
{
    const bf_value_t *interceptor = bf_value_get_str(flow->scenario, "interceptor");
    if (!flow->interceptor_off) {
        do_effect(flow, ex,
                  bf_value_get_cstr(bf_value_get_str(interceptor, hook), node->id));
    }
    return BF_OK;
}

static bf_status_t intercept_start(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                                   bf_err_t *err)
{
    (void)err;
    return intercept(arg, ex, "on_node_start", node);
}

static bf_status_t intercept_end(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                                 bf_err_t *err)
{
    (void)err;
    return intercept(arg, ex, "on_node_end", node);
}

static void add_interceptors(conf_flow_t *flow)
{
    static const char *const known[] = {"on_node_start", "on_node_end", NULL};
    conf_check_members(flow->c, "interceptor",
                       bf_value_get_str(flow->scenario, "interceptor"), known);
    bf_interceptor_t seen = {
        .index = 0,
        .on_node_start = seen_start,
        .on_node_end = seen_end,
        .on_node_arrive = seen_arrival,
        .arg = flow,
    };
    bf_interceptor_t told = {
        .index = 1,
        .on_node_start = intercept_start,
        .on_node_end = intercept_end,
        .arg = flow,
    };
    if (bf_engine_add_interceptor(flow->engine, &seen) != BF_OK ||
        bf_engine_add_interceptor(flow->engine, &told) != BF_OK) {
        conf_die_nomem();
    }
}

/* --- components --- */

typedef struct component {
    conf_flow_t *flow;
    const char *name;
    const bf_script_t *assign;
    const bf_expr_t *effect_when;
    const bf_expr_t *expr;
    const char *effect;
    const char *throw;
} component_t;

static bf_status_t assign(void *arg, const char *name, size_t name_len,
                          const bf_value_t *value, bf_err_t *err)
{
    return bf_context_put(arg, name, name_len, value, err);
}

static bf_expr_env_t env_of(component_t *self, bf_context_t *ctx)
{
    return (bf_expr_env_t){.lookup = bf_context_lookup,
                           .assign = assign,
                           .arg = ctx,
                           .arena = &self->flow->conf->arena};
}

static bf_status_t component_run(void *arg, bf_context_t *ctx, const bf_node_t *node,
                                 bf_err_t *err)
{
    component_t *self = arg;
    (void)node;
    bf_expr_env_t env = env_of(self, ctx);
    bool effect = true;
    bf_status_t rc = self->assign ? bf_script_run(self->assign, &env, err) : BF_OK;
    if (rc == BF_OK && self->effect_when) {
        rc = bf_expr_test(self->effect_when, &env, &effect, err);
    }
    if (rc != BF_OK || !effect) {
        return rc;
    }
    if (self->throw) {
        return bf_err_set(err, BF_E_COMPONENT, "%s", self->throw);
    }
    if (self->effect && !strcmp(self->effect, "stop")) {
        bf_context_stop(ctx);
    } else if (self->effect && !strcmp(self->effect, "interrupt")) {
        bf_context_interrupt(ctx);
    } else if (self->effect) {
        conf_fail(self->flow->c, "component %s: unknown effect \"%s\"", self->name,
                  self->effect);
    }
    return BF_OK;
}

static bf_status_t component_test(void *arg, bf_context_t *ctx, bool *ret, bf_err_t *err)
{
    component_t *self = arg;
    bf_expr_env_t env = env_of(self, ctx);
    return bf_expr_test(self->expr, &env, ret, err);
}

static const bf_expr_t *parse_expr(component_t *self, const char *text)
{
    bf_expr_t *expr = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (text && bf_expr_parse(&self->flow->conf->arena, text, strlen(text), &expr,
                              &err) != BF_OK) {
        conf_fail(self->flow->c, "component %s: %s", self->name, err.text);
    }
    return expr;
}

static void read_component(component_t *self, const bf_value_t *spec)
{
    static const char *const known[] = {"desc",  "assign", "effect", "effect_when",
                                        "throw", "kind",   "expr",   NULL};
    conf_check_members(self->flow->c,
                       conf_text(self->flow->conf, "component %s", self->name), spec,
                       known);
    const char *text = bf_value_get_cstr(spec, "assign");
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (text && bf_script_parse(&self->flow->conf->arena, text, strlen(text), &script,
                                &err) != BF_OK) {
        conf_fail(self->flow->c, "component %s: %s", self->name, err.text);
    }
    self->assign = script;
    self->effect = bf_value_get_cstr(spec, "effect");
    self->throw = bf_value_get_cstr(spec, "throw");
    self->effect_when = parse_expr(self, bf_value_get_cstr(spec, "effect_when"));
    const char *kind = bf_value_get_cstr(spec, "kind");
    if (kind && strcmp(kind, "condition") != 0) {
        conf_fail(self->flow->c, "component %s: unknown kind \"%s\"", self->name, kind);
    } else if (kind) {
        const char *expr = bf_value_get_cstr(spec, "expr");
        self->expr = parse_expr(self, expr ? expr : "");
    }
}

static void add_components(conf_flow_t *flow)
{
    const bf_value_t *map = bf_value_get_str(flow->scenario, "components");
    for (uint32_t i = 0; i < conf_members(map); i++) {
        component_t *self = bf_arena_calloc(&flow->conf->arena, 1, sizeof(*self));
        if (!self) {
            conf_die_nomem();
        }
        self->flow = flow;
        self->name = map->as.members[i].name;
        read_component(self, &map->as.members[i].value);
        bf_component_t component = {.arg = self};
        if (self->expr) {
            component.test = component_test;
        } else {
            component.run = component_run;
        }
        if (bf_engine_set_component(flow->engine, self->name, &component) != BF_OK) {
            conf_die_nomem();
        }
    }
}

/* --- all together --- */

bool conf_flow_load(conf_flow_t *flow, const bf_value_t *layout)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc = bf_graph_load_value(layout, "scenario", NULL, &graph, &err);
    if (rc == BF_OK) {
        rc = bf_engine_load(flow->engine, graph, &err);
        bf_graph_unref(graph);
    }
    if (rc != BF_OK && !flow->load_error) {
        flow->load_error = conf_text(flow->conf, "%s", err.text);
    }
    return rc == BF_OK;
}

void conf_flow_open(conf_flow_t *flow, conf_case_t *c, const bf_value_t *scenario)
{
    *flow = (conf_flow_t){.conf = c->conf, .c = c, .scenario = scenario};
    conf_flow_forget(flow);
    flow->engine = bf_engine_new();
    if (!flow->engine) {
        conf_die_nomem();
    }
    add_driver(flow, "");
    const bf_value_t *names = bf_value_get_str(scenario, "drivers");
    for (uint32_t i = 0; names && names->type == BF_VALUE_LIST && i < names->len; i++) {
        add_driver(flow, names->as.items[i].as.string);
    }
    add_interceptors(flow);
    add_components(flow);
    const bf_value_t *graphs = bf_value_get_str(scenario, "graphs");
    for (uint32_t i = 0; i < conf_items(graphs); i++) {
        (void)conf_flow_load(flow, &graphs->as.items[i]);
    }
}

void conf_flow_close(conf_flow_t *flow)
{
    bf_engine_free(flow->engine);
}

void conf_flow_refused(const conf_flow_t *flow, conf_map_t *ret_expect)
{
    conf_map_t came;
    conf_map_init(flow->conf, &came);
    conf_map_init(flow->conf, ret_expect);
    bf_value_t text = conf_string(flow->conf, flow->load_error);
    conf_map_put(ret_expect, "load_error", &text);
    conf_map_put(&came, "expect", conf_map_value(ret_expect));
    conf_came(flow->c, conf_map_value(&came));
}

void conf_flow_forget(conf_flow_t *flow)
{
    conf_list_t *const lists[] = {&flow->visited,  &flow->visited_graphs,
                                  &flow->ended,    &flow->entered,
                                  &flow->executed, &flow->executed_graphs};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        conf_list_init(flow->conf, lists[i]);
    }
}

void conf_put_vars(conf_case_t *c, bf_context_t *ctx, const bf_value_t *vars)
{
    for (uint32_t i = 0; vars && vars->type == BF_VALUE_MAP && i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        bf_err_t err = BF_ERR_INIT;
        if (bf_context_put(ctx, m->name, m->name_len, &m->value, &err) != BF_OK) {
            conf_fail(c, "variable %s: %s", m->name, err.text);
        }
    }
}

bf_value_t conf_take_vars(conf_t *conf, bf_context_t *ctx, const bf_value_t *expected)
{
    conf_map_t map;
    conf_map_init(conf, &map);
    for (uint32_t i = 0; i < conf_members(expected); i++) {
        const bf_member_t *m = &expected->as.members[i];
        const bf_value_t *value = bf_context_get(ctx, m->name, m->name_len);
        bf_value_t copy = bf_value_null();
        if (value && bf_value_copy(&conf->arena, value, &copy) != BF_OK) {
            conf_die_nomem();
        }
        conf_map_put(&map, m->name, &copy);
    }
    return *conf_map_value(&map);
}

bf_context_t *conf_roundtrip(conf_case_t *c, bf_context_t *ctx)
{
    bf_context_t *back = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t text;
    bf_str_init(&text, 0);
    if (bf_context_write_json(ctx, &text, &err) != BF_OK ||
        bf_context_load_json(bf_str_peek(&text), text.len, &back, &err) != BF_OK) {
        conf_fail(c, "snapshot: %s", err.text);
    }
    bf_str_fini(&text);
    if (!back) {
        return ctx;
    }
    bf_context_free(ctx);
    return back;
}
