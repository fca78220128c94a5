/*
 * submit_log.c - questions about the log of a walk
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lib/workflow/executor_int.h"

uint32_t bf_log_find(const bf_walk_log_t *log, const bf_node_t *node, uint32_t round)
{
    for (uint32_t i = log->visit_count; i; i--) {
        const bf_log_visit_t *v = &log->visits[i - 1];
        if (v->node == node && v->round && (!round || v->round == round)) {
            return i - 1;
        }
    }
    return BF_LOG_NONE;
}

/* Callers have lower numbers than what they call, so one pass is enough. */
void bf_log_mark_inside(const bf_walk_log_t *log, bool *marks)
{
    for (uint32_t i = 0; i < log->visit_count; i++) {
        uint32_t caller = log->visits[i].caller;
        marks[i] = marks[i] || (caller != BF_LOG_NONE && marks[caller]);
    }
}

/* A call that is done leads on because what is inside of it was done: its links count as
 * links of the visit, and so for the calls around it. */
static void leave_calls(const bf_walk_log_t *log, uint32_t visit, bool *leads)
{
    uint32_t caller = log->visits[visit].caller;
    while (caller != BF_LOG_NONE && !log->visits[caller].is_open && !leads[caller]) {
        leads[caller] = true;
        caller = log->visits[caller].caller;
    }
}

bf_status_t bf_log_mark_after(const bf_walk_log_t *log, uint32_t visit, bool *marks)
{
    bool *leads = calloc(log->visit_count, sizeof(*leads));
    if (!leads) {
        return BF_E_NOMEM;
    }
    leads[visit] = true;
    leave_calls(log, visit, leads);
    bool more = true;
    while (more) { /* joins may come before what leads to them: until nothing changes */
        more = false;
        for (uint32_t i = 0; i < log->edge_count; i++) {
            const bf_log_edge_t *edge = &log->edges[i];
            if (leads[edge->from] && !marks[edge->to]) {
                marks[edge->to] = true;
                leads[edge->to] = true;
                leave_calls(log, edge->to, leads);
                more = true;
            }
        }
    }
    free(leads);
    bf_log_mark_inside(log, marks);
    return BF_OK;
}
