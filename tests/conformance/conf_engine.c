/*
 * conf_engine.c - scenarios of plain runs
 *
 * The members are those of the scenarios' README.  Beside them an expectation may have
 * `load_error`: a graph of the scenario is refused, with that text.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "tests/conformance/conf_flow.h"

/* The state that goes from run to run. */
typedef struct engine_case {
    conf_flow_t flow;
    conf_case_t *c;
    bf_context_t *ctx;
} engine_case_t;

static const char *const scenario_members[] = {"name",
                                               "kind",
                                               "source",
                                               "desc",
                                               "surprising",
                                               "user_probably_wants",
                                               "graphs",
                                               "vars",
                                               "start",
                                               "steps",
                                               "expect",
                                               "asserted_by_source",
                                               "components",
                                               "executor",
                                               "hooks",
                                               "runs",
                                               "drivers",
                                               "interceptor",
                                               "touches_decisions",
                                               "rule",
                                               "rules",
                                               NULL};

static const char *const run_members[] = {"start",         "steps",
                                          "vars",          "context",
                                          "instance",      "trace_preset",
                                          "trace_enabled", "clear_trace",
                                          "expect",        "asserted_by_source",
                                          "desc",          NULL};

static const char *const expect_members[] = {
    "visited", "visited_graphs", "executed",   "ended",  "entered",   "order",
    "vars",    "must_not",       "stopped",    "is_end", "last_node", "last_nodes",
    "error",   "error_cause",    "load_error", NULL};

/* The bag of this run: new, the one of the run before, or that one after a round trip. */
static void choose_context(engine_case_t *e, const bf_value_t *run)
{
    const char *how = bf_value_get_cstr(run, "context");
    const char *instance = bf_value_get_cstr(run, "instance");
    if (how && !strcmp(how, "json_roundtrip") && e->ctx) {
        e->ctx = conf_roundtrip(e->c, e->ctx);
        return;
    }
    if (how && strcmp(how, "new") != 0 && strcmp(how, "same") != 0 &&
        strcmp(how, "json_roundtrip") != 0) {
        conf_fail(e->c, "unknown context \"%s\"", how);
    }
    if (e->ctx && how && strcmp(how, "new") != 0) {
        return;
    }
    bf_context_free(e->ctx);
    e->ctx = bf_context_new(instance);
    if (!e->ctx) {
        conf_die_nomem();
    }
}

static void preset_trace(engine_case_t *e, const bf_value_t *run)
{
    const bf_value_t *enabled = bf_value_get_str(run, "trace_enabled");
    const bf_value_t *clear = bf_value_get_str(run, "clear_trace");
    const bf_value_t *preset = bf_value_get_str(run, "trace_preset");
    if (enabled) {
        bf_context_trace_enable(e->ctx, enabled->as.boolean);
    }
    if (clear && clear->as.boolean) {
        bf_context_trace_clear(e->ctx);
    }
    for (uint32_t i = 0; i < conf_members(preset); i++) {
        const bf_member_t *m = &preset->as.members[i];
        const char *node = m->value.type == BF_VALUE_STRING ? m->value.as.string : NULL;
        if (bf_context_trace_set(e->ctx, m->name, node) != BF_OK) {
            conf_die_nomem();
        }
    }
}

static bf_value_t text_or_null(conf_t *conf, const char *text)
{
    return text ? conf_string(conf, text) : bf_value_null();
}

static bf_value_t last_nodes(engine_case_t *e)
{
    conf_map_t map;
    conf_map_init(e->c->conf, &map);
    const bf_value_t *graphs = bf_value_get_str(e->flow.scenario, "graphs");
    for (uint32_t i = 0; i < conf_items(graphs); i++) {
        const char *id = bf_value_get_cstr(&graphs->as.items[i], "id");
        const char *node = id ? bf_context_last_node(e->ctx, id) : NULL;
        if (node) {
            bf_value_t value = conf_string(e->c->conf, node);
            conf_map_put(&map, id, &value);
        }
    }
    return *conf_map_value(&map);
}

/* What came, in the members of an expectation; those that are written "only when
 * different" follow what is expected. */
static const bf_value_t *collect(engine_case_t *e, const bf_value_t *run,
                                 const bf_value_t *expect, const bf_err_t *err)
{
    conf_t *conf = e->c->conf;
    conf_flow_t *flow = &e->flow;
    const char *start = bf_value_get_cstr(run, "start");
    conf_map_t came;
    conf_map_init(conf, &came);
    bf_value_t visited = conf_list_value(&flow->visited);
    bf_value_t visited_graphs = conf_list_value(&flow->visited_graphs);
    bf_value_t ended = conf_list_value(&flow->ended);
    bf_value_t entered = conf_list_value(&flow->entered);
    bf_value_t executed = conf_list_value(&flow->executed);
    bf_value_t vars = conf_take_vars(conf, e->ctx, bf_value_get_str(expect, "vars"));
    bf_value_t stopped = bf_value_bool(bf_context_is_stopped(e->ctx));
    bf_value_t is_end = bf_value_bool(bf_context_is_end(e->ctx, start));
    bf_value_t last =
        text_or_null(conf, start ? bf_context_last_node(e->ctx, start) : NULL);
    bf_value_t lasts = last_nodes(e);
    bf_value_t error = text_or_null(conf, err->status == BF_OK ? NULL : err->text);
    conf_map_put(&came, "visited", &visited);
    if (bf_value_get_str(expect, "visited_graphs")) {
        conf_map_put(&came, "visited_graphs", &visited_graphs);
    }
    conf_map_put(&came, "executed", &executed);
    if (bf_value_get_str(expect, "ended") || !bf_value_equal(&ended, &visited)) {
        conf_map_put(&came, "ended", &ended);
    }
    conf_map_put(&came, "entered", &entered);
    conf_map_put(&came, "vars", &vars);
    conf_map_put(&came, "stopped", &stopped);
    conf_map_put(&came, "last_node", &last);
    conf_map_put(&came, "is_end", &is_end);
    if (bf_value_get_str(expect, "last_nodes")) {
        conf_map_put(&came, "last_nodes", &lasts);
    }
    conf_map_put(&came, "error", &error);
    if (bf_value_get_str(expect, "error_cause")) {
        conf_map_put(&came, "error_cause", &error);
    }
    return conf_map_value(&came);
}

/* `ended` is written only when it differs from `visited`. */
static void check_ended(conf_case_t *c, const char *where, const bf_value_t *expect,
                        const bf_value_t *came, conf_map_t *ret_different)
{
    const bf_value_t *ended = bf_value_get_str(came, "ended");
    if (ended && bf_value_get_str(expect, "visited") &&
        !bf_value_get_str(expect, "ended") && !bf_value_get_str(expect, "order")) {
        conf_fail(c, "%s: ended: expected as visited, got %s", where,
                  conf_json(c->conf, ended));
        conf_map_put(ret_different, "ended", ended);
    }
}

static void evaluate(engine_case_t *e, const bf_value_t *run, bf_err_t *err)
{
    const char *start = bf_value_get_cstr(run, "start");
    const bf_value_t *steps = bf_value_get_str(run, "steps");
    bf_graph_t *graph = start ? bf_engine_graph(e->flow.engine, start) : NULL;
    if (!graph) {
        (void)bf_err_set(err, BF_E_NOT_FOUND, "Flow graph not found: %s",
                         start ? start : "(no start)");
        return;
    }
    bf_eval_options_t options = {
        .steps = steps && steps->type == BF_VALUE_INT ? steps->as.integer : -1};
    bf_status_t rc = bf_engine_eval(e->flow.engine, graph, e->ctx, &options, err);
    if (rc != BF_OK && err->status == BF_OK) {
        (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
    }
}

/* Returns the members that came otherwise. */
static const bf_value_t *run_once(engine_case_t *e, const char *where,
                                  const bf_value_t *run, const bf_value_t *decided)
{
    conf_case_t *c = e->c;
    const bf_value_t *expect =
        conf_merged(c->conf, bf_value_get_str(run, "expect"), decided);
    bf_err_t err = BF_ERR_INIT;
    conf_check_members(c, where, expect, expect_members);
    choose_context(e, run);
    preset_trace(e, run);
    conf_put_vars(c, e->ctx, bf_value_get_str(run, "vars"));
    conf_flow_forget(&e->flow);
    evaluate(e, run, &err);
    const bf_value_t *came = collect(e, run, expect, &err);
    const char *order = bf_value_get_cstr(expect, "order");
    if (order && strcmp(order, "unordered_between_branches") != 0) {
        conf_fail(c, "%s: unknown order \"%s\"", where, order);
    }
    conf_map_t different;
    conf_map_init(c->conf, &different);
    expect = conf_ruled(c, expect, came);
    conf_compare(c, where, expect, came, order != NULL, &different);
    check_ended(c, where, expect, came, &different);
    return conf_map_value(&different);
}

static void run_all(engine_case_t *e, const bf_value_t *scenario)
{
    conf_case_t *c = e->c;
    const bf_value_t *runs = bf_value_get_str(scenario, "runs");
    conf_map_t came;
    conf_map_init(c->conf, &came);
    if (!runs) {
        const bf_value_t *different =
            run_once(e, "run", scenario, bf_value_get_str(c->decision, "expect"));
        conf_map_put(&came, "expect", different);
        conf_came(c, conf_map_value(&came));
        return;
    }
    const bf_value_t *decided = bf_value_get_str(c->decision, "runs");
    conf_map_t all;
    conf_map_init(c->conf, &all);
    for (uint32_t i = 0; i < conf_items(runs); i++) {
        const bf_value_t *run = &runs->as.items[i];
        const char *number = conf_text(c->conf, "%u", i + 1);
        const char *where = conf_text(c->conf, "run %s", number);
        conf_check_members(c, where, run, run_members);
        const bf_value_t *different =
            run_once(e, where, run, bf_value_get_str(decided, number));
        if (different->len) {
            conf_map_put(&all, number, different);
        }
    }
    conf_map_put(&came, "runs", conf_map_value(&all));
    conf_came(c, conf_map_value(&came));
}

/* A graph was refused: that is the outcome, and a decision may expect it. */
static void refused(engine_case_t *e, const bf_value_t *scenario)
{
    conf_case_t *c = e->c;
    conf_map_t expect;
    conf_map_t different;
    conf_map_init(c->conf, &different);
    conf_flow_refused(&e->flow, &expect);
    const bf_value_t *decided = conf_expect(c, scenario);
    const bf_value_t *rule =
        conf_rule(c->conf, "graph-rules.json", "error", e->flow.load_error);
    if (bf_value_get_str(decided, "load_error")) {
        conf_compare(c, "load", decided, conf_map_value(&expect), false, &different);
    } else if (!c->decision && rule) {
        c->decision = rule;
    } else {
        conf_fail(c, "load: expected the graphs to load, got %s", e->flow.load_error);
    }
}

void conf_run_engine(conf_t *conf, const bf_value_t *file)
{
    const char *name = bf_value_get_cstr(file, "name");
    conf_case_t c;
    if (!conf_case_begin(conf, &c, "engine", name ? name : conf->file, file)) {
        return;
    }
    engine_case_t e = {.c = &c};
    conf_check_members(&c, "scenario", file, scenario_members);
    conf_flow_open(&e.flow, &c, file);
    if (e.flow.load_error) {
        refused(&e, file);
    } else {
        run_all(&e, file);
    }
    bf_context_free(e.ctx);
    conf_flow_close(&e.flow);
    conf_case_end(&c);
}
