/*
 * conf_workflow.c - scenarios of claim, find and submit
 *
 * The members are those of the scenarios' README.  Beside them an expectation may have
 * `code`, the code of a rejection.  The executor runs with guard = none, as the original,
 * unless a decision file says "guard": "strict".
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/executor.h"
#include "tests/conformance/conf_flow.h"
#include "tests/conformance/conf_workflow_int.h"

static const char *const scenario_members[] = {"name",
                                               "kind",
                                               "source",
                                               "desc",
                                               "surprising",
                                               "graphs",
                                               "components",
                                               "controller",
                                               "actor_keys",
                                               "user_probably_wants",
                                               "steps",
                                               "guard",
                                               "rule",
                                               "rules",
                                               "operable_override",
                                               "interceptor",
                                               "touches_decisions",
                                               "asserted_by_source",
                                               "expect",
                                               "hooks",
                                               "drivers",
                                               "executor",
                                               NULL};

static const char *const step_members[] = {"op",
                                           "graph",
                                           "node",
                                           "node_graph",
                                           "action",
                                           "actor",
                                           "vars",
                                           "ctx",
                                           "new_ctx",
                                           "json_roundtrip",
                                           "instance",
                                           "task_state",
                                           "task",
                                           "controller",
                                           "interceptor_off",
                                           "new_graph",
                                           "expect",
                                           "desc",
                                           "asserted_by_source",
                                           NULL};

static const char *const expect_members[] = {
    "task",        "next_tasks", "result",          "state", "states",
    "derived",     "executed",   "is_end",          "vars",  "error",
    "error_cause", "must_not",   "read_only_probe", "code",  "load_error",
    NULL};

/* --- the bag of a step --- */

static bag_t *bag_of(workflow_case_t *w, const char *label)
{
    for (size_t i = 0; i < w->bag_count; i++) {
        if (!strcmp(w->bags[i].label, label)) {
            return &w->bags[i];
        }
    }
    if (w->bag_count == CONF_BAGS_MAX) {
        conf_fail(w->c, "more than %d variable bags", CONF_BAGS_MAX);
        return &w->bags[0];
    }
    bag_t *bag = &w->bags[w->bag_count++];
    *bag = (bag_t){.label = label};
    return bag;
}

static bool is_true(const bf_value_t *step, const char *member)
{
    const bf_value_t *value = bf_value_get_str(step, member);
    return value && bf_expr_is_true(value);
}

static bag_t *choose_bag(workflow_case_t *w, const bf_value_t *step)
{
    const char *label = bf_value_get_cstr(step, "ctx");
    const char *instance = bf_value_get_cstr(step, "instance");
    bag_t *bag = bag_of(w, label ? label : "main");
    if (bag->ctx && is_true(step, "new_ctx")) {
        bf_context_free(bag->ctx);
        bag->ctx = NULL;
    }
    if (!bag->ctx) {
        bag->instance = instance ? instance : "instance-1";
        bag->ctx = bf_context_new(bag->instance);
        if (!bag->ctx) {
            conf_die_nomem();
        }
    } else if (is_true(step, "json_roundtrip")) {
        bag->ctx = conf_roundtrip(w->c, bag->ctx);
    }
    const bf_value_t *actor = bf_value_get_str(step, "actor");
    if (actor) {
        bf_err_t err = BF_ERR_INIT;
        if (bf_context_put_str(bag->ctx, conf_actor_key(w), actor, &err) != BF_OK) {
            conf_fail(w->c, "actor: %s", err.text);
        }
    }
    conf_put_vars(w->c, bag->ctx, bf_value_get_str(step, "vars"));
    return bag;
}

/* --- what came --- */

/* `graph` is written for a node of another graph than the root, and wherever the
 * expectation has it. */
static bf_value_t task_value(conf_t *conf, const bf_task_t *task, const char *root,
                             const bf_value_t *expected)
{
    if (!task->node) {
        return bf_value_null();
    }
    conf_map_t map;
    conf_map_init(conf, &map);
    bf_value_t node = conf_string(conf, task->node->id);
    bf_value_t state = bf_value_int(task->state);
    bf_value_t graph = conf_string(conf, task->node->graph->id);
    conf_map_put(&map, "node", &node);
    conf_map_put(&map, "state", &state);
    if (strcmp(task->node->graph->id, root) != 0 || bf_value_get_str(expected, "graph")) {
        conf_map_put(&map, "graph", &graph);
    }
    return *conf_map_value(&map);
}

static bf_value_t states_of(workflow_case_t *w, const char *instance)
{
    conf_map_t map;
    bf_instance_t *inst;
    bf_err_t err = BF_ERR_INIT;
    conf_map_init(w->c->conf, &map);
    if (w->repo->ops->open(w->repo, instance, &inst, &err) != BF_OK) {
        conf_fail(w->c, "instance %s: %s", instance, err.text);
        return bf_value_null();
    }
    size_t cursor = 0;
    const char *key;
    bf_task_state_t state;
    while (bf_instance_state_next(inst, &cursor, &key, &state)) {
        bf_value_t value = bf_value_int(state);
        conf_map_put(&map, key, &value);
    }
    return *conf_map_value(&map);
}

/* Nodes that ran: as graph:node, or as node where the expectation writes them so. */
static bf_value_t executed_of(workflow_case_t *w, const bf_value_t *expected)
{
    bool plain = expected && expected->type == BF_VALUE_LIST && expected->len;
    for (uint32_t i = 0; plain && i < expected->len; i++) {
        const bf_value_t *item = &expected->as.items[i];
        plain = item->type == BF_VALUE_STRING && !strchr(item->as.string, ':');
    }
    return conf_list_value(plain ? &w->flow.executed : &w->flow.executed_graphs);
}

static void add_common(workflow_case_t *w, step_t *s)
{
    conf_t *conf = w->c->conf;
    bf_value_t states = states_of(w, s->bag->instance);
    bf_value_t executed = executed_of(w, bf_value_get_str(s->expect, "executed"));
    bf_value_t is_end = bf_value_bool(bf_context_is_end(s->bag->ctx, NULL));
    bf_value_t vars =
        conf_take_vars(conf, s->bag->ctx, bf_value_get_str(s->expect, "vars"));
    conf_map_put(&s->came, "states", &states);
    conf_map_put(&s->came, "executed", &executed);
    conf_map_put(&s->came, "is_end", &is_end);
    conf_map_put(&s->came, "vars", &vars);
    if (s->err.status != BF_OK) {
        bf_value_t error = conf_string(conf, s->err.text);
        conf_map_put(&s->came, "error", &error);
        conf_map_put(&s->came, "error_cause", &error);
    }
    if (s->err.status == BF_E_REJECTED) {
        bf_value_t code = bf_value_cstr(bf_code_name(bf_executor_code(s->executor)));
        conf_map_put(&s->came, "code", &code);
    }
}

/* --- operations --- */

static void put_task(workflow_case_t *w, step_t *s, const bf_task_t *task)
{
    bf_value_t value =
        task_value(w->c->conf, task, s->graph_id, bf_value_get_str(s->expect, "task"));
    conf_map_put(&s->came, "task", &value);
}

static bf_status_t op_claim(workflow_case_t *w, step_t *s)
{
    bf_task_t task = {0};
    bf_status_t rc =
        bf_executor_claim_task(s->executor, s->graph, s->bag->ctx, &task, &s->err);
    put_task(w, s, &task);
    return rc;
}

static bf_status_t op_find(workflow_case_t *w, step_t *s)
{
    bf_task_t task = {0};
    bf_status_t rc =
        bf_executor_find_task(s->executor, s->graph, s->bag->ctx, &task, &s->err);
    put_task(w, s, &task);
    return rc;
}

static bf_status_t op_find_next(workflow_case_t *w, step_t *s)
{
    conf_t *conf = w->c->conf;
    bf_task_t *tasks = NULL;
    size_t count = 0;
    conf_list_t list;
    conf_list_init(conf, &list);
    bf_status_t rc = bf_executor_find_next_tasks(s->executor, s->graph, s->bag->ctx,
                                                 &conf->arena, &tasks, &count, &s->err);
    const bf_value_t *expected = bf_value_get_str(s->expect, "next_tasks");
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        bool has = expected && expected->type == BF_VALUE_LIST && i < expected->len;
        bf_value_t value =
            task_value(conf, &tasks[i], s->graph_id, has ? &expected->as.items[i] : NULL);
        conf_list_add(&list, &value);
    }
    bf_value_t value = conf_list_value(&list);
    conf_map_put(&s->came, "next_tasks", &value);
    return rc;
}

static bf_action_t action_of(workflow_case_t *w, const bf_value_t *step)
{
    const char *name = bf_value_get_cstr(step, "action");
    bf_action_t action = name ? bf_action_of_name(name) : BF_ACTION_UNKNOWN;
    if (action == BF_ACTION_UNKNOWN && (!name || strcmp(name, "unknown") != 0)) {
        conf_fail(w->c, "unknown action \"%s\"", name ? name : "(none)");
    }
    return action;
}

static bf_status_t op_submit(workflow_case_t *w, step_t *s)
{
    bf_action_t action = action_of(w, s->step);
    if (!s->node) { /* the error is the library's */
        return bf_executor_submit_task_by_id(s->executor, s->node_graph_id, s->node_id,
                                             action, s->bag->ctx, &s->err);
    }
    bf_submit_t submit = {.node = s->node, .action = action};
    return bf_executor_submit_task(s->executor, s->graph, &submit, s->bag->ctx, &s->err);
}

static bf_status_t op_submit_if_waiting(workflow_case_t *w, step_t *s)
{
    const bf_value_t *state = bf_value_get_str(s->step, "task_state");
    const bf_value_t *no_task = bf_value_get_str(s->step, "task");
    if (no_task && !bf_value_is_null(no_task)) {
        conf_fail(w->c, "submit_if_waiting: \"task\" can only be null");
    }
    bf_task_t task = {
        .node = s->node,
        .state = state ? bf_task_state_of(state->as.integer) : BF_TASK_WAITING,
        .round = 1,
    };
    bf_submit_t submit = {.node = s->node, .action = action_of(w, s->step)};
    bool done = false;
    bf_status_t rc =
        bf_executor_submit_task_if_waiting(s->executor, s->graph, no_task ? NULL : &task,
                                           &submit, s->bag->ctx, &done, &s->err);
    bf_value_t result = bf_value_bool(done);
    conf_map_put(&s->came, "result", &result);
    return rc;
}

static bf_status_t op_get_state(workflow_case_t *w, step_t *s)
{
    (void)w;
    bf_task_state_t state = BF_TASK_UNKNOWN;
    bf_status_t rc = bf_executor_get_state_by_id(
        s->executor, s->node_graph_id, s->node_id, s->bag->ctx, &state, &s->err);
    if (rc == BF_OK) {
        bf_value_t value = bf_value_int(state);
        conf_map_put(&s->came, "state", &value);
    }
    return rc;
}

static bf_status_t op_clear_state(workflow_case_t *w, step_t *s)
{
    return bf_state_clear(w->repo, s->bag->instance, &s->err);
}

static bf_status_t op_run_task(workflow_case_t *w, step_t *s)
{
    if (!s->node) {
        conf_fail(w->c, "run_task: no node \"%s\"", s->node_id);
        return BF_OK;
    }
    return bf_executor_run_task(s->executor, s->graph, s->node, s->bag->ctx, &s->err);
}

static bf_status_t op_eval(workflow_case_t *w, step_t *s)
{
    return bf_engine_eval(w->flow.engine, s->graph, s->bag->ctx, NULL, &s->err);
}

static bf_status_t op_replace_graph(workflow_case_t *w, step_t *s)
{
    const bf_value_t *graph = bf_value_get_str(s->step, "new_graph");
    if (!conf_flow_load(&w->flow, graph)) {
        bf_value_t error = conf_string(w->c->conf, w->flow.load_error);
        conf_map_put(&s->came, "load_error", &error);
    }
    return BF_OK;
}

static const struct {
    const char *name;
    bf_status_t (*run)(workflow_case_t *w, step_t *s);
} operations[] = {
    {"claim", op_claim},
    {"find", op_find},
    {"find_next", op_find_next},
    {"submit", op_submit},
    {"submit_if_waiting", op_submit_if_waiting},
    {"get_state", op_get_state},
    {"clear_state", op_clear_state},
    {"run_task", op_run_task},
    {"eval", op_eval},
    {"replace_graph", op_replace_graph},
};

static void run_operation(workflow_case_t *w, step_t *s)
{
    const char *name = bf_value_get_cstr(s->step, "op");
    for (size_t i = 0; name && i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (!strcmp(operations[i].name, name)) {
            bf_status_t rc = operations[i].run(w, s);
            if (rc != BF_OK && s->err.status == BF_OK) {
                (void)bf_err_set(&s->err, rc, "%s", bf_status_text(rc));
            }
            return;
        }
    }
    conf_fail(w->c, "unknown operation \"%s\"", name ? name : "(none)");
}

/* Without a graph, as of replace_graph and clear_state: the new one, or the first. */
static const char *graph_of(const workflow_case_t *w, const bf_value_t *step)
{
    const char *id = bf_value_get_cstr(step, "graph");
    const bf_value_t *graphs = bf_value_get_str(w->scenario, "graphs");
    if (!id) {
        id = bf_value_get_cstr(bf_value_get_str(step, "new_graph"), "id");
    }
    if (!id && conf_items(graphs)) {
        id = bf_value_get_cstr(&graphs->as.items[0], "id");
    }
    return id;
}

/* Is an automatic node expected of a claim? */
static bool expects_automatic(workflow_case_t *w, const step_t *s)
{
    const char *op = bf_value_get_cstr(s->step, "op");
    const bf_value_t *task = bf_value_get_str(s->expect, "task");
    const char *id = bf_value_get_cstr(task, "node");
    const char *graph_id = bf_value_get_cstr(task, "graph");
    const bf_graph_t *graph =
        graph_id ? bf_engine_graph(w->flow.engine, graph_id) : s->graph;
    const bf_node_t *node = id && graph ? bf_graph_node(graph, id) : NULL;
    return op && !strcmp(op, "claim") && node &&
           conf_is_automatic(w, s->executor, s->bag->ctx, node);
}

/* Returns the members that came otherwise. */
static const bf_value_t *run_step(workflow_case_t *w, const char *where,
                                  const bf_value_t *step, const bf_value_t *decided)
{
    conf_t *conf = w->c->conf;
    step_t s = {.step = step, .err = BF_ERR_INIT};
    conf_map_t different;
    conf_map_init(conf, &different);
    conf_map_init(conf, &s.came);
    conf_check_members(w->c, where, step, step_members);
    s.expect = conf_merged(conf, bf_value_get_str(step, "expect"), decided);
    conf_check_members(w->c, where, s.expect, expect_members);
    s.graph_id = graph_of(w, step);
    s.node_id = bf_value_get_cstr(step, "node");
    s.node_graph_id = bf_value_get_cstr(step, "node_graph");
    s.graph = s.graph_id ? bf_engine_graph(w->flow.engine, s.graph_id) : NULL;
    if (!s.graph) {
        conf_fail(w->c, "%s: no graph \"%s\"", where, s.graph_id ? s.graph_id : "(none)");
        return conf_map_value(&different);
    }
    s.node_graph_id = s.node_graph_id ? s.node_graph_id : s.graph_id;
    const bf_graph_t *node_graph = bf_engine_graph(w->flow.engine, s.node_graph_id);
    s.node = s.node_id && node_graph ? bf_graph_node(node_graph, s.node_id) : NULL;
    s.bag = choose_bag(w, step);
    s.executor = conf_executor(w, bf_value_get_cstr(step, "controller"));
    w->flow.interceptor_off |= is_true(step, "interceptor_off");
    conf_flow_forget(&w->flow);
    run_operation(w, &s);
    add_common(w, &s);
    s.expect = conf_ruled_step(w->c, s.expect, conf_map_value(&s.came),
                               expects_automatic(w, &s));
    conf_compare(w->c, where, s.expect, conf_map_value(&s.came), false, &different);
    return conf_map_value(&different);
}

static void run_steps(workflow_case_t *w, const bf_value_t *scenario)
{
    conf_case_t *c = w->c;
    const bf_value_t *steps = bf_value_get_str(scenario, "steps");
    const bf_value_t *decided = bf_value_get_str(c->decision, "steps");
    conf_map_t all;
    conf_map_t came;
    conf_map_init(c->conf, &all);
    conf_map_init(c->conf, &came);
    for (uint32_t i = 0; i < conf_items(steps); i++) {
        const bf_value_t *step = &steps->as.items[i];
        const char *number = conf_text(c->conf, "%u", i + 1);
        const char *op = bf_value_get_cstr(step, "op");
        const char *node = bf_value_get_cstr(step, "node");
        const char *where = conf_text(c->conf, "step %s (%s%s%s)", number, op ? op : "?",
                                      node ? " " : "", node ? node : "");
        const bf_value_t *different =
            run_step(w, where, step, bf_value_get_str(decided, number));
        if (different->len) {
            conf_map_put(&all, number, different);
        }
    }
    conf_map_put(&came, "steps", conf_map_value(&all));
    conf_came(c, conf_map_value(&came));
}

/* A graph was refused: "expect": {"load_error": text} of the scenario or of its decision
 * may say so. */
static void refused(workflow_case_t *w)
{
    conf_case_t *c = w->c;
    conf_map_t expect;
    conf_map_t different;
    conf_map_init(c->conf, &different);
    conf_flow_refused(&w->flow, &expect);
    const bf_value_t *rule =
        conf_rule(c->conf, "graph-rules.json", "error", w->flow.load_error);
    const bf_value_t *wanted = conf_expect(c, w->scenario);
    if (!c->decision && !wanted && rule) {
        c->decision = rule;
    } else {
        conf_compare(c, "load", wanted, conf_map_value(&expect), false, &different);
    }
}

void conf_run_workflow(conf_t *conf, const bf_value_t *file)
{
    const char *name = bf_value_get_cstr(file, "name");
    conf_case_t c;
    if (!conf_case_begin(conf, &c, "workflow", name ? name : conf->file, file)) {
        return;
    }
    conf_check_members(&c, "scenario", file, scenario_members);
    workflow_case_t w = {.c = &c, .scenario = file};
    conf_flow_open(&w.flow, &c, file);
    conf_executors_open(&w);
    if (w.flow.load_error) {
        refused(&w);
    } else {
        run_steps(&w, file);
    }
    conf_executors_close(&w);
    conf_flow_close(&w.flow);
    conf_case_end(&c);
}
