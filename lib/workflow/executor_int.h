/*
 * executor_int.h - inside of the executor: the workflow driver of a walk, steps of a
 * submit
 *
 *     executor.c         set-up, the operations of the seed on a repository
 *     operation.c        claim, find, find_next, start on an instance
 *     workflow_driver.c  what happens at a node: states, tasks, routes
 *     dispatch.c         work that is handed to services
 *     flow_point.c       walks that need not begin at START
 *     submit.c           guard, forward, terminate, restart
 *     submit_log.c       what led to what in a walk
 *     submit_back.c      back and jump back, on the log of a walk
 *     submit_jump.c      jump forward
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EXECUTOR_INT_H
#define BF_EXECUTOR_INT_H

#include <pthread.h>

#include "bpmflow/executor.h"
#include "lib/workflow/instance_int.h"

struct bf_executor {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_repository_t *repo; /* NULL = none */
    bf_guard_t guard;
    int64_t max_steps;
    bf_recorder_fn recorder;
    void *recorder_arg;
    bf_code_t code;            /* of the last refusal */
    const char *remark;        /* of the last claim or find */
    const char *const *topics; /* NULL = any */
    size_t topic_count;
    /* Dispatched by the last operation, in the arena of its scope. */
    bf_task_t *dispatched;
    size_t dispatched_count;
    size_t dispatched_room;
    bool thread_safe;
    bool from_start;      /* every walk begins at START */
    pthread_mutex_t lock; /* held by the operations of the seed when thread_safe */
    bf_arena_t arena;     /* temporaries of the operations of the seed */
};

/* What a walk is for (second seed 3.4). */
typedef enum {
    BF_INTENT_NONE,      /* run_task: no stop of others */
    BF_INTENT_START,     /* automatic nodes are done, tasks are not marked */
    BF_INTENT_CLAIM,     /* the first operable task becomes WAITING */
    BF_INTENT_SUBMIT,    /* the first operable task becomes WAITING */
    BF_INTENT_SUBMIT_IF, /* the first task becomes WAITING if it is operable */
    BF_INTENT_FIND,      /* probe: the first task */
    BF_INTENT_FIND_NEXT, /* probe: all tasks */
    BF_INTENT_MAP        /* nothing is done: what has been passed, and where it ends */
} bf_intent_t;

/* A task that a walk came to. */
typedef struct bf_found {
    bf_task_t task; /* state WAITING = operable, else UNKNOWN */
    uint32_t visit; /* in the log */
} bf_found_t;

#define FOUND_FEW 4

/* The driver of one walk. */
typedef struct bf_flow {
    bf_driver_t driver;
    bf_executor_t *executor;
    const bf_scope_t *scope;
    bf_intent_t intent;
    bool is_probe;
    bool uses_point;       /* need not begin at START; the log begins there too */
    bool is_hidden;        /* leaves the trace of the context alone */
    bool is_terminated;    /* the instance is: no task is open */
    bool has_marked;       /* no further task becomes WAITING */
    uint32_t done_calls;   /* inside of so many calls that are completed already */
    const bf_node_t *held; /* automatic task that is being submitted: not run again */
    bf_driver_t *delegate; /* of delegate_graph */
    const bf_graph_t *delegate_graph;
    bf_task_t task;    /* claim, find */
    bf_found_t *found; /* all tasks, in the order of the walk: few, or in the arena */
    size_t found_count;
    size_t found_room;
    bool has_job; /* something waits for a service */
    bool ended;   /* after the walk: nothing is pending */
    bf_walk_log_t log;
    bf_found_t few[FOUND_FEW]; /* not copied: found may be here */
} bf_flow_t;

void bf_flow_init(bf_flow_t *flow, bf_executor_t *executor, const bf_scope_t *scope,
                  bf_intent_t intent);
/** handle_task of one node, outside of a walk. */
bf_status_t bf_flow_run_at(bf_flow_t *flow, const bf_node_t *node,
                           bf_err_t *err) BF_MUST_USE;
/** What stands in the node's task, by the driver of its graph; not its state. */
bf_status_t bf_flow_run_task(bf_executor_t *executor, const bf_scope_t *scope,
                             const bf_node_t *node, bf_err_t *err) BF_MUST_USE;
/** Tasks of the walk as an array in the scope's arena. */
bf_status_t bf_flow_tasks(const bf_flow_t *flow, const bf_task_t **ret, size_t *ret_count,
                          bf_err_t *err) BF_MUST_USE;
/** "graph:node#round", in the arena. BF_OK or BF_E_NOMEM. */
bf_status_t bf_flow_key_of_round(bf_arena_t *arena, const bf_node_t *node, uint32_t round,
                                 bf_state_key_t *ret) BF_MUST_USE;

/** Of the node's state: "graph:node" or "graph:node#round", in the arena. BF_OK or
 *  BF_E_NOMEM. */
BF_MUST_USE static inline bf_status_t
bf_flow_key(bf_arena_t *arena, const bf_node_t *node, uint32_t round, bf_state_key_t *ret)
{
    if (round > 1) {
        return bf_flow_key_of_round(arena, node, round, ret);
    }
    *ret = (bf_state_key_t){node->state_key, node->state_key_len, node->state_key_hash};
    return BF_OK;
}
/** Does the flow pass the node by itself? */
static inline bool bf_flow_is_auto(bf_executor_t *executor, bf_context_t *ctx,
                                   const bf_node_t *node)
{
    return node->task.kind == BF_CODE_GRAPH || node->task.kind == BF_CODE_TOPIC ||
           node->type == BF_NODE_START ||
           bf_controller_is_auto_forward(executor->controller, ctx, node);
}
/** May the caller submit it? A task that was handed to a service: whoever the controller
 *  lets operate the node; anybody, when it is nobody's. */
bool bf_flow_is_operable(bf_executor_t *executor, bf_context_t *ctx,
                         const bf_node_t *node);

/* --- dispatch.c --- */

/** Forget what was dispatched: an operation begins. */
void bf_dispatch_begin(bf_executor_t *executor);
/** A node is handed to a service. BF_OK; BF_E_COMPONENT: its topic is not allowed;
 *  BF_E_NOMEM. */
bf_status_t bf_dispatch_add(bf_executor_t *executor, bf_arena_t *arena,
                            const bf_task_t *task, bf_err_t *err) BF_MUST_USE;
/** Number of the job that a node waits for; 0 = none. */
int64_t bf_dispatch_job(const bf_scope_t *scope, const bf_node_t *node, uint32_t round);

/** Running, or completed when the walk has ended. */
void bf_flow_set_status(const bf_scope_t *scope, bool ended);

/* A node that a flow has come to. */
typedef struct bf_meeting {
    bf_flow_t *flow;
    bf_exchanger_t *ex; /* NULL = there is no walk */
    const bf_node_t *node;
    uint32_t round;
    bf_state_key_t key; /* of its state */
    bf_task_state_t state;
} bf_meeting_t;

/** A task of somebody that is not done. */
bf_status_t bf_flow_meet(const bf_meeting_t *v, bf_err_t *err) BF_MUST_USE;

/* --- flow_point.c: flows that need not begin at START --- */

/** Walk scope->graph. @param keep_log fill flow->log, from START on */
bf_status_t bf_flow_walk(bf_flow_t *flow, bf_executor_t *executor,
                         const bf_scope_t *scope, bf_intent_t intent, bool keep_log,
                         bf_err_t *err) BF_MUST_USE;
/** As above, with some members of the flow set by the caller. */
bf_status_t bf_flow_run(bf_flow_t *flow, bf_graph_t *graph, bool keep_log,
                        bf_err_t *err) BF_MUST_USE;

/** Since that version of the states, which the point was good for, only those of nodes at
 *  the point or behind it have changed: it is still good. */
void bf_flow_keep_point(const bf_instance_t *inst, uint64_t version);
/** Refuse: sets the code. Returns BF_E_REJECTED. */
bf_status_t bf_executor_refuse(bf_executor_t *executor, bf_code_t code, bf_err_t *err,
                               const char *fmt, ...) BF_PRINTF(4, 5);

/* --- submit_log.c: what led to what in the walk of a flow --- */

/** The visit of a node in a round; round 0 = the last one. BF_LOG_NONE = not visited. */
uint32_t bf_log_find(const bf_walk_log_t *log, const bf_node_t *node, uint32_t round);
/** Mark everything that a visit led to, with what was called there; marks has an element
 *  per visit and may have marks already. Not the visit itself. BF_OK or BF_E_NOMEM. */
bf_status_t bf_log_mark_after(const bf_walk_log_t *log, uint32_t visit,
                              bool *marks) BF_MUST_USE;
/** Mark what is inside of marked calls. */
void bf_log_mark_inside(const bf_walk_log_t *log, bool *marks);

/* --- submit --- */

typedef struct bf_step {
    bf_executor_t *executor;
    const bf_scope_t *scope;
    const bf_submit_t *submit;
    bf_guard_t guard;
    bf_submit_result_t *result;
    uint32_t round; /* of the submitted task */
    uint32_t visit; /* of it, in flow.log; BF_LOG_NONE = not come to */
    /* BACK and BACK_JUMP: the log begins at this place of the point; NULL = at START */
    const bf_node_t *origin;
    bf_flow_t flow; /* the walk that looked for it: strict guard, back, jumps */
} bf_step_t;

bf_status_t bf_step_back(bf_step_t *step, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_step_back_jump(bf_step_t *step, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_step_forward_jump(bf_step_t *step, bf_err_t *err) BF_MUST_USE;
/** Run the task and store COMPLETED. @param is_behind the node lies at the point of the
 *  instance or behind it, or there is none; else the point is given up */
bf_status_t bf_step_complete(const bf_step_t *step, const bf_node_t *node, uint32_t round,
                             bool is_behind, bf_err_t *err) BF_MUST_USE;
/** States behind step->origin have been taken back: the point goes back to there.
 *  @param version of the states before that */
void bf_step_return_point(const bf_step_t *step, uint64_t version);
/** A node more that the step leads to. */
bf_status_t bf_step_add_target(bf_step_t *step, const bf_task_t *task,
                               bf_err_t *err) BF_MUST_USE;
bf_status_t bf_step_put_state(const bf_step_t *step, const bf_node_t *node,
                              uint32_t round, bf_task_state_t state,
                              bf_err_t *err) BF_MUST_USE;
bf_status_t bf_step_remove_state(const bf_step_t *step, const bf_node_t *node,
                                 uint32_t round, bf_err_t *err) BF_MUST_USE;
/** The trace of the context shows where the instance is now. */
bf_status_t bf_step_show(const bf_step_t *step, bf_err_t *err) BF_MUST_USE;
/** Target of a jump: what the submit names, else its node. */
const bf_node_t *bf_step_target(const bf_step_t *step);

#endif /* BF_EXECUTOR_INT_H */
