/*
 * operation.c - start, claim, find and find_next on an instance
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/workflow/executor_int.h"

static bf_status_t pin(const bf_scope_t *scope, bf_err_t *err)
{
    if (*bf_instance_graph_id(scope->inst) ||
        bf_instance_pin_graph(scope->inst, scope->graph) == BF_OK) {
        return BF_OK;
    }
    return bf_err_nomem(err, "graph of an instance");
}

/* Why there is no task (rule 115). */
static const char *remark_of(const bf_flow_t *flow)
{
    if (flow->task.node) {
        return NULL;
    }
    if (flow->is_terminated) {
        return "the instance is terminated; only restart is accepted";
    }
    if (flow->ended) {
        return "the instance is completed";
    }
    if (flow->has_job) {
        return "a service has been given work and has not answered";
    }
    return flow->found_count
               ? "nothing here is operable by the caller; others have open tasks"
               : "nothing is open; an automatic node or a join is waiting";
}

bf_status_t bf_executor_start_in(bf_executor_t *executor, const bf_scope_t *scope,
                                 const bf_task_t **ret, size_t *ret_count, bf_err_t *err)
{
    bf_flow_t flow;
    bf_dispatch_begin(executor);
    bf_status_t rc = pin(scope, err);
    if (rc == BF_OK) {
        rc = bf_flow_walk(&flow, executor, scope, BF_INTENT_START, false, err);
    }
    if (rc != BF_OK) {
        return rc;
    }
    bf_flow_set_status(scope, flow.ended);
    return bf_flow_tasks(&flow, ret, ret_count, err);
}

bf_status_t bf_executor_claim_in(bf_executor_t *executor, const bf_scope_t *scope,
                                 bf_task_t *ret, bf_err_t *err)
{
    bf_flow_t flow;
    bf_dispatch_begin(executor);
    bf_status_t rc = pin(scope, err);
    executor->remark = NULL;
    if (rc != BF_OK) {
        return rc;
    }
    if (bf_instance_status(scope->inst) == BF_INSTANCE_TERMINATED) {
        bf_flow_init(&flow, executor, scope, BF_INTENT_CLAIM);
    } else {
        rc = bf_flow_walk(&flow, executor, scope, BF_INTENT_CLAIM, false, err);
        if (rc != BF_OK) {
            return rc;
        }
        bf_flow_set_status(scope, flow.ended);
    }
    executor->remark = remark_of(&flow);
    *ret = flow.task;
    return BF_OK;
}

bf_status_t bf_executor_find_in(bf_executor_t *executor, const bf_scope_t *scope,
                                bf_task_t *ret, bf_err_t *err)
{
    bf_flow_t flow;
    executor->remark = NULL;
    bf_status_t rc = bf_flow_walk(&flow, executor, scope, BF_INTENT_FIND, false, err);
    if (rc == BF_OK) {
        executor->remark = remark_of(&flow);
        *ret = flow.task;
    }
    return rc;
}

bf_status_t bf_executor_find_next_in(bf_executor_t *executor, const bf_scope_t *scope,
                                     const bf_task_t **ret, size_t *ret_count,
                                     bf_err_t *err)
{
    bf_flow_t flow;
    executor->remark = NULL;
    bf_status_t rc =
        bf_flow_walk(&flow, executor, scope, BF_INTENT_FIND_NEXT, false, err);
    if (rc == BF_OK) {
        executor->remark = remark_of(&flow);
        rc = bf_flow_tasks(&flow, ret, ret_count, err);
    }
    return rc;
}
