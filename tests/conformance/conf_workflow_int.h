/*
 * conf_workflow_int.h - a workflow scenario that runs, and the executors of its steps
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONF_WORKFLOW_INT_H
#define CONF_WORKFLOW_INT_H

#include "bpmflow/executor.h"
#include "tests/conformance/conf_flow.h"

#define CONF_BAGS_MAX      256
#define CONF_EXECUTORS_MAX 4

/* Variables and trace under a label; of one instance. */
typedef struct bag {
    const char *label;
    const char *instance;
    bf_context_t *ctx;
} bag_t;

/* What the controller says, or a variable has a value (`operable_override`). */
typedef struct override {
    bf_controller_t base;
    bf_controller_t *inner;
    const char *key;
    const bf_value_t *value;
} override_t;

typedef struct conf_executor {
    const char *controller_name;
    bf_controller_t *controller;
    override_t override;
    bf_executor_t *executor;
} conf_executor_t;

typedef struct workflow_case {
    conf_case_t *c;
    const bf_value_t *scenario;
    conf_flow_t flow;
    bf_repository_t *repo;
    conf_executor_t executors[CONF_EXECUTORS_MAX];
    size_t executor_count;
    bag_t bags[CONF_BAGS_MAX];
    size_t bag_count;
} workflow_case_t;

/* A step that runs. */
typedef struct step {
    const bf_value_t *step;
    const bf_value_t *expect;
    bag_t *bag;
    bf_executor_t *executor;
    const char *graph_id;
    bf_graph_t *graph;
    const char *node_id;
    const char *node_graph_id;
    const bf_node_t *node; /* NULL = there is none of that ID */
    bf_err_t err;
    conf_map_t came;
} step_t;

void conf_executors_open(workflow_case_t *w);
void conf_executors_close(workflow_case_t *w);

/** The executor with that controller; NULL = the scenario's. */
bf_executor_t *conf_executor(workflow_case_t *w, const char *controller);

/** Does the controller of that executor leave the node to the engine? */
bool conf_is_automatic(const workflow_case_t *w, const bf_executor_t *executor,
                       bf_context_t *ctx, const bf_node_t *node);

/** The variable that `actor` is put under. */
const char *conf_actor_key(const workflow_case_t *w);

#endif /* CONF_WORKFLOW_INT_H */
