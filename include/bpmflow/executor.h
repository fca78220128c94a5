/*
 * executor.h - claim, find and submit: the workflow on top of the engine
 *
 * A walk from START with an intent; the stored states say what is done (second seed,
 * rules 95-152, decisions in the README).  The executor works on an instance that it
 * gets from a repository; each operation is one transaction of that instance: an error
 * anywhere leaves it as it was.
 *
 * Threads:  one executor per shard, used by one thread.  After
 *           bf_executor_set_thread_safe() the operations that take a context may be
 *           called from several threads, each with a context of its own: a mutex
 *           serialises them (the seed's LOCKER, rule 126).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EXECUTOR_H
#define BF_EXECUTOR_H

#include "bpmflow/code.h"
#include "bpmflow/controller.h"
#include "bpmflow/engine.h"
#include "bpmflow/history.h"
#include "bpmflow/repository.h"
#include "bpmflow/task.h"

typedef struct bf_executor bf_executor_t;

typedef enum {
    BF_GUARD_STRICT, /* the node must be current and operable (default of commands) */
    BF_GUARD_NONE    /* the unguarded submit of the original (rule 123) */
} bf_guard_t;

/** Engine and controller are borrowed and must outlive the executor; repo may be NULL
 *  when only the _inst functions are used. NULL when out of memory. */
bf_executor_t *bf_executor_new(bf_engine_t *engine, bf_controller_t *controller,
                               bf_repository_t *repo) BF_MUST_USE;
void bf_executor_free(bf_executor_t *executor);
bf_engine_t *bf_executor_engine(bf_executor_t *executor);
bf_controller_t *bf_executor_controller(bf_executor_t *executor);
bf_repository_t *bf_executor_repository(bf_executor_t *executor);

void bf_executor_set_guard(bf_executor_t *executor, bf_guard_t guard);
bf_guard_t bf_executor_guard(const bf_executor_t *executor);
/** Node visits per walk; 0 = BF_MAX_STEPS_DEFAULT. */
void bf_executor_set_max_steps(bf_executor_t *executor, int64_t max_steps);
void bf_executor_set_thread_safe(bf_executor_t *executor, bool thread_safe);

/** Topics that `@kafka:topic` may name; a node with another one fails (BF_E_COMPONENT).
 *  Borrowed. @param topics NULL = any */
void bf_executor_set_topics(bf_executor_t *executor, const char *const *topics,
                            size_t count);

/* A receiver of the history rows of a submit (the seed's TaskRecorder), and of those with
 * which work is handed to a service (BF_ACTION_DISPATCH), also by a claim. Called before
 * the repository is told of the change, so that it can write both in one transaction. */
typedef bf_status_t (*bf_recorder_fn)(void *arg, const bf_history_t *row, bf_err_t *err);
void bf_executor_set_recorder(bf_executor_t *executor, bf_recorder_fn recorder,
                              void *arg);

/*
 * The operations of the seed, on the repository's instance of ctx's instance ID.
 * Errors common to all: BF_E_NOT_FOUND (node, graph), BF_E_EXPRESSION, BF_E_COMPONENT,
 * BF_E_NO_ROUTE, BF_E_STEP_LIMIT, BF_E_NOMEM, BF_E_STORE* from the repository;
 * BF_E_REJECTED: the guard refused; bf_executor_code() says which code.
 */

/** Every walk begins at START, also where it could begin further on with the same outcome
 *  (bf_walk_point_t): to compare the two. Default: false. */
void bf_executor_set_from_start(bf_executor_t *executor, bool from_start);

/** Why the last operation that returned BF_E_REJECTED was refused (NOT_OPERABLE,
 *  NOT_WAITING, UNREACHABLE_TARGET, INSTANCE_COMPLETED, ...). */
bf_code_t bf_executor_code(const bf_executor_t *executor);

/** Why the last claim or find returned no task (rule 115: completed, waiting for others,
 *  nothing operable): a sentence. Static; NULL when there is nothing to say. */
const char *bf_executor_remark(const bf_executor_t *executor);

/** First task operable by the caller, made WAITING; ret->node NULL = none. */
bf_status_t bf_executor_claim_task(bf_executor_t *executor, bf_graph_t *graph,
                                   bf_context_t *ctx, bf_task_t *ret,
                                   bf_err_t *err) BF_MUST_USE;

/** The current task, whoever may operate it. Changes nothing. */
bf_status_t bf_executor_find_task(bf_executor_t *executor, bf_graph_t *graph,
                                  bf_context_t *ctx, bf_task_t *ret,
                                  bf_err_t *err) BF_MUST_USE;

/** All possible next tasks over all branches. Changes nothing.
 *  @param arena owns the array */
bf_status_t bf_executor_find_next_tasks(bf_executor_t *executor, bf_graph_t *graph,
                                        bf_context_t *ctx, bf_arena_t *arena,
                                        bf_task_t **ret, size_t *ret_count,
                                        bf_err_t *err) BF_MUST_USE;

bf_status_t bf_executor_get_state(bf_executor_t *executor, const bf_node_t *node,
                                  bf_context_t *ctx, bf_task_state_t *ret,
                                  bf_err_t *err) BF_MUST_USE;

typedef struct bf_submit {
    const bf_node_t *node; /* the task */
    uint32_t round; /* 0 = the current one; else 1 for "graph:node", 2 for #2 ... */
    bf_action_t action;
    const bf_node_t *target; /* jumps (bpmflow form): the target; NULL = node is the
                                target as in the original */
    const char *message;     /* opinion; may be NULL */
    bool has_form_id;
    int64_t form_id;
    const char *command_id; /* for the history row; may be NULL */
    /* A service that answers a job: seq of the row that dispatched it. Refused
     * (NOT_WAITING) when the node waits for another one by now. 0 = not asked. */
    int64_t job;
} bf_submit_t;

/** Apply an action (rules 123-151). History rows go to the recorder. */
bf_status_t bf_executor_submit_task(bf_executor_t *executor, bf_graph_t *graph,
                                    const bf_submit_t *submit, bf_context_t *ctx,
                                    bf_err_t *err) BF_MUST_USE;

/** Only when the task handed in is WAITING, stored as WAITING and operable (rule 124).
 *  @param task may be NULL */
bf_status_t bf_executor_submit_task_if_waiting(bf_executor_t *executor, bf_graph_t *graph,
                                               const bf_task_t *task,
                                               const bf_submit_t *submit,
                                               bf_context_t *ctx, bool *ret,
                                               bf_err_t *err) BF_MUST_USE;

/** The same by IDs (second seed: SubmitTaskByID, ClaimTaskByID). BF_E_NOT_FOUND names the
 *  graph or the node ("Node not found, id: x"). */
bf_status_t bf_executor_claim_task_by_id(bf_executor_t *executor, const char *graph_id,
                                         bf_context_t *ctx, bf_task_t *ret,
                                         bf_err_t *err) BF_MUST_USE;
bf_status_t bf_executor_submit_task_by_id(bf_executor_t *executor, const char *graph_id,
                                          const char *node_id, bf_action_t action,
                                          bf_context_t *ctx, bf_err_t *err) BF_MUST_USE;
/** Rule 152: the state of an unknown node is an error. */
bf_status_t bf_executor_get_state_by_id(bf_executor_t *executor, const char *graph_id,
                                        const char *node_id, bf_context_t *ctx,
                                        bf_task_state_t *ret, bf_err_t *err) BF_MUST_USE;

/** Execute what the node's task says, outside of a submit (rule 122). */
bf_status_t bf_executor_run_task(bf_executor_t *executor, bf_graph_t *graph,
                                 const bf_node_t *node, bf_context_t *ctx,
                                 bf_err_t *err) BF_MUST_USE;

/*
 * The same inside the caller's transaction of an instance: what bf_command_execute() is
 * made of, and what the operations above do after they have opened the instance.  The
 * caller has called bf_instance_begin() and commits, or rolls back after an error; the
 * context borrows the variables of the instance.  The status of the instance (completed,
 * terminated) is set here; who, when and the history rows are the caller's.
 */
typedef struct bf_scope {
    bf_instance_t *inst;
    bf_graph_t *graph; /* root graph, pinned by the instance */
    bf_context_t *ctx;
    bf_arena_t *arena; /* for results and temporaries */
} bf_scope_t;

/** Run to the first tasks: automatic nodes are done, tasks are not marked.
 *  @param ret the tasks, as bf_executor_find_next_in() gives them */
bf_status_t bf_executor_start_in(bf_executor_t *executor, const bf_scope_t *scope,
                                 const bf_task_t **ret, size_t *ret_count,
                                 bf_err_t *err) BF_MUST_USE;
bf_status_t bf_executor_claim_in(bf_executor_t *executor, const bf_scope_t *scope,
                                 bf_task_t *ret, bf_err_t *err) BF_MUST_USE;
/** Probes: the caller rolls the instance back whatever they return. */
bf_status_t bf_executor_find_in(bf_executor_t *executor, const bf_scope_t *scope,
                                bf_task_t *ret, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_executor_find_next_in(bf_executor_t *executor, const bf_scope_t *scope,
                                     const bf_task_t **ret, size_t *ret_count,
                                     bf_err_t *err) BF_MUST_USE;

/**
 * Nodes whose task is `@kafka:topic` wait for a service: a walk that comes to one makes
 * it WAITING once.  The rows of those that the last start, claim or submit has dispatched
 * and that still wait: action DISPATCH, source = the node, target = the topic (type
 * BF_DISPATCH_TYPE), message = the meta of the node as JSON, status WAITING.  Everything
 * that a job record is made of is in the row.
 *
 * @param step   who, when and which command; source and action are filled in here
 * @param ret    rows in the scope's arena; their numbers are taken from the instance and
 *               kept with the node
 * @return BF_OK; BF_E_LIMIT: the meta of a node is over BF_DISPATCH_META_MAX; BF_E_NOMEM
 */
bf_status_t bf_executor_dispatch_rows(bf_executor_t *executor, const bf_scope_t *scope,
                                      const bf_history_step_t *step, bf_history_t **ret,
                                      size_t *ret_count, bf_err_t *err) BF_MUST_USE;

/* What a submit led to; in scope->arena. */
typedef struct bf_submit_result {
    /* The submitted task: that of the submit; for a jump that names its target only, the
     * current one of the caller. */
    const bf_node_t *source;
    uint32_t round;
    /* Where the step leads, one history row for each (schema of bpm_flow_task):
     * forward: the nodes that newly wait for somebody; a join that still waits when
     * nothing else is; END when the instance is completed.  back, back_jump: the nodes
     * that have to be done again.  forward_jump: the target.  terminate: the node itself.
     * restart: the first tasks. */
    const bf_task_t *targets;
    size_t target_count;
} bf_submit_result_t;

/** @param guard BF_GUARD_NONE for `force` */
bf_status_t bf_executor_submit_in(bf_executor_t *executor, const bf_scope_t *scope,
                                  const bf_submit_t *submit, bf_guard_t guard,
                                  bf_submit_result_t *ret, bf_err_t *err) BF_MUST_USE;

/** As above, but refused (NOT_WAITING, NOT_OPERABLE) unless the task is stored as WAITING
 *  and operable by the caller; the guard is looked at too. */
bf_status_t bf_executor_submit_if_waiting_in(bf_executor_t *executor,
                                             const bf_scope_t *scope,
                                             const bf_submit_t *submit, bf_guard_t guard,
                                             bf_submit_result_t *ret,
                                             bf_err_t *err) BF_MUST_USE;

#endif /* BF_EXECUTOR_H */
