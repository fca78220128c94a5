/*
 * by_id.c - claim, submit and get_state by the IDs of graph and node
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/executor.h"

static bf_status_t find_graph(bf_executor_t *executor, const char *graph_id,
                              bf_graph_t **ret, bf_err_t *err)
{
    *ret = bf_engine_graph(bf_executor_engine(executor), graph_id);
    return *ret ? BF_OK
                : bf_err_set(err, BF_E_NOT_FOUND, "Flow graph not found: %s", graph_id);
}

static bf_status_t find_node(bf_executor_t *executor, const char *graph_id,
                             const char *node_id, const bf_node_t **ret, bf_err_t *err)
{
    bf_graph_t *graph;
    bf_status_t rc = find_graph(executor, graph_id, &graph, err);
    if (rc != BF_OK) {
        return rc;
    }
    *ret = bf_graph_node(graph, node_id);
    return *ret ? BF_OK
                : bf_err_set(err, BF_E_NOT_FOUND, "Node not found, id: %s", node_id);
}

bf_status_t bf_executor_claim_task_by_id(bf_executor_t *executor, const char *graph_id,
                                         bf_context_t *ctx, bf_task_t *ret, bf_err_t *err)
{
    bf_graph_t *graph;
    bf_status_t rc = find_graph(executor, graph_id, &graph, err);
    return rc == BF_OK ? bf_executor_claim_task(executor, graph, ctx, ret, err) : rc;
}

bf_status_t bf_executor_submit_task_by_id(bf_executor_t *executor, const char *graph_id,
                                          const char *node_id, bf_action_t action,
                                          bf_context_t *ctx, bf_err_t *err)
{
    const bf_node_t *node;
    bf_status_t rc = find_node(executor, graph_id, node_id, &node, err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_graph_t *graph = bf_engine_graph(bf_executor_engine(executor), graph_id);
    bf_submit_t submit = {.node = node, .action = action};
    return bf_executor_submit_task(executor, graph, &submit, ctx, err);
}

bf_status_t bf_executor_get_state_by_id(bf_executor_t *executor, const char *graph_id,
                                        const char *node_id, bf_context_t *ctx,
                                        bf_task_state_t *ret, bf_err_t *err)
{
    const bf_node_t *node;
    bf_status_t rc = find_node(executor, graph_id, node_id, &node, err);
    return rc == BF_OK ? bf_executor_get_state(executor, node, ctx, ret, err) : rc;
}
