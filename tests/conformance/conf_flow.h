/*
 * conf_flow.h - an engine as a scenario describes it, and what it was seen to do
 *
 * Shared by the engine and the workflow scenarios: graphs, components, interceptors,
 * hooks and drivers of the scenario, and a record of visits and executions.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONF_FLOW_H
#define CONF_FLOW_H

#include "bpmflow/engine.h"
#include "tests/conformance/conf.h"

#define CONF_DRIVERS_MAX 16

struct conf_flow;

/* Runs what the scenario's `hooks` say, remembers which tasks ran, then does the plain
 * driver's work. */
typedef struct conf_driver {
    bf_driver_t base;
    struct conf_flow *flow;
} conf_driver_t;

typedef struct conf_flow {
    conf_t *conf;
    conf_case_t *c;
    const bf_value_t *scenario;
    bf_engine_t *engine;
    conf_driver_t drivers[CONF_DRIVERS_MAX];
    size_t driver_count;
    const char *load_error; /* a graph was refused: why; NULL = all loaded */
    bool interceptor_off;
    /* seen since conf_flow_forget() */
    conf_list_t visited; /* node IDs */
    conf_list_t visited_graphs;
    conf_list_t ended;
    conf_list_t entered;
    conf_list_t executed; /* node IDs */
    conf_list_t executed_graphs;
} conf_flow_t;

/** Build everything. Members that are wrong fail the case. */
void conf_flow_open(conf_flow_t *flow, conf_case_t *c, const bf_value_t *scenario);
void conf_flow_close(conf_flow_t *flow);

/** Load a graph in the layout form; false and flow->load_error when it is refused. */
bool conf_flow_load(conf_flow_t *flow, const bf_value_t *layout);

/** A graph was refused: {"expect": {"load_error": why}} is what came. @param ret_expect
 * the inner map, to be compared */
void conf_flow_refused(const conf_flow_t *flow, conf_map_t *ret_expect);

/** Forget what was seen. */
void conf_flow_forget(conf_flow_t *flow);

/** Set the variables of a map. */
void conf_put_vars(conf_case_t *c, bf_context_t *ctx, const bf_value_t *vars);

/** Values of the variables that `expected` names; absent ones are null. */
bf_value_t conf_take_vars(conf_t *conf, bf_context_t *ctx, const bf_value_t *expected);

/** A snapshot and back: the context is replaced by what was read. */
bf_context_t *conf_roundtrip(conf_case_t *c, bf_context_t *ctx);

/** The expectation with the members of a decision put over it; either may be NULL. */
const bf_value_t *conf_merged(conf_t *conf, const bf_value_t *expect,
                              const bf_value_t *decided);

/**
 * Compare what is expected with what came, member by member; mismatches fail the case.
 * `error`, `error_cause` and `load_error` are parts of a text; `vars` a part of a map,
 * null = absent; lists of `unordered` are compared without their order; the rest is
 * compared whole.
 *
 * @param ret_different the members that came otherwise, as they came (for a draft)
 */
void conf_compare(conf_case_t *c, const char *where, const bf_value_t *expect,
                  const bf_value_t *came, bool unordered, conf_map_t *ret_different);

#endif /* CONF_FLOW_H */
