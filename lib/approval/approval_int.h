/*
 * approval_int.h - an operation on applications while it is being worked out
 *
 * A stage holds copies of the rows that an operation looks at and changes.  Nothing of it
 * reaches the ledger before bf_stage_commit() hands over all changes together.
 *
 * Walking: tokens lie on a stack, so that a branch is walked to its end before the next
 * one.  A join is kept back until no token is left; then it passes if nothing can come
 * any more.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_APPROVAL_INT_H
#define BF_APPROVAL_INT_H

#include "bpmflow/approval.h"
#include "bpmflow/vars.h"

/* Names of variables with a meaning. */
#define VAR_NEXT_OPERATOR "tf_nextNodeOperator"
#define VAR_DISAGREE      "countersignDisagreeFlag"
/* Joins that wait for other branches: {"join": ID of the row that came last} */
#define VAR_JOINS "joinArrivals_"

struct bf_case;

/* A task row as it will be. */
typedef struct bf_staged_task {
    bf_task_row_t row; /* row.variable is not used, `variables` is */
    bf_value_t variables;
    bool has_variables; /* read from the row */
    bool has_actors;    /* likewise */
    bool is_new;
    bool is_changed;
    bf_approval_names_t actors;
} bf_staged_task_t;

/* An instance as it will be. */
typedef struct bf_case {
    struct bf_case *next;
    bf_process_row_t row; /* row.variable is not used, `vars` is */
    const bf_define_row_t *define;
    const bf_flow_t *flow;
    bf_vars_t *vars;
    bool is_new;
    bool is_changed;
    bf_staged_task_t **tasks; /* all, by growing ID */
    size_t task_count;
    size_t task_room;
} bf_case_t;

/* Somebody arrives at a node. */
typedef struct bf_token {
    bf_case_t *of;
    const bf_flow_node_t *node;
    int64_t from;                      /* row whose completion leads here, 0 = none */
    const bf_approval_names_t *actors; /* given ones, NULL = as the node says */
} bf_token_t;

typedef struct bf_stage {
    bf_approval_t *approval;
    bf_ledger_t *ledger;
    const bf_approval_host_t *host;
    bf_approval_limits_t limits; /* with defaults */
    bf_arena_t arena;
    bf_err_t *err;
    int64_t now_ms;
    const char *operator_id; /* "" = the host */
    bf_submit_type_t submit_type;
    bf_case_t *cases;
    bf_ledger_change_t *changes; /* of actors and copies */
    size_t change_count;
    size_t change_room;
    bf_token_t *tokens;
    size_t token_count;
    size_t token_room;
    bf_token_t *joins; /* arrivals at joins */
    size_t join_count;
    size_t join_room;
    uint32_t rows;  /* that will be written */
    uint32_t steps; /* nodes entered */
} bf_stage_t;

/* --- approval.c --- */

/** Begin an operation. @param operator_id NULL = the host */
void bf_stage_begin(bf_stage_t *stage, bf_approval_t *approval, const char *operator_id,
                    bf_err_t *err);

/** End it: where rc is BF_OK hand the changes over. @return rc, or why not */
bf_status_t bf_stage_end(bf_stage_t *stage, bf_status_t rc) BF_MUST_USE;

/* --- stage.c --- */

/** No memory, or over what an operation may take: says which, returns the status. */
bf_status_t bf_stage_nomem(const bf_stage_t *stage);

/** The instance, loaded once in an operation; BF_E_NOT_FOUND. */
bf_status_t bf_stage_case(bf_stage_t *stage, int64_t instance_id,
                          bf_case_t **ret) BF_MUST_USE;

/** A new instance of a definition, with no variables. */
bf_status_t bf_stage_new_case(bf_stage_t *stage, const bf_define_row_t *define,
                              const char *operator_id, bf_case_t **ret) BF_MUST_USE;

/** The instance of a row and the row; BF_E_NOT_FOUND (20010003). */
bf_status_t bf_stage_task(bf_stage_t *stage, int64_t task_id, bf_case_t **ret_case,
                          bf_staged_task_t **ret) BF_MUST_USE;

/** A row of the instance; NULL = there is none. */
bf_staged_task_t *bf_case_find(const bf_case_t *c, int64_t task_id);

/** A new open row for a node, without actors. */
bf_status_t bf_stage_new_task(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                              int64_t parent_id, bf_staged_task_t **ret) BF_MUST_USE;

/** Who may do it, read when asked for first. */
bf_status_t bf_stage_actors(bf_stage_t *stage, bf_staged_task_t *task) BF_MUST_USE;

/** One more actor; nothing when he is one. */
bf_status_t bf_stage_add_actor(bf_stage_t *stage, bf_staged_task_t *task,
                               const char *actor_id) BF_MUST_USE;

/** One less; nothing when he is none. Of rows that are in the ledger. */
bf_status_t bf_stage_remove_actor(bf_stage_t *stage, bf_staged_task_t *task,
                                  const char *actor_id) BF_MUST_USE;

/** Copies for those who have none. */
bf_status_t bf_stage_cc(bf_stage_t *stage, bf_case_t *c,
                        const bf_approval_names_t *actors) BF_MUST_USE;

/** The variables of a row, read when asked for first. */
bf_status_t bf_stage_task_vars(bf_stage_t *stage, bf_staged_task_t *task) BF_MUST_USE;

/** Put the members of a map over the variables of a row. */
bf_status_t bf_stage_merge(bf_stage_t *stage, bf_staged_task_t *task,
                           const bf_value_t *over) BF_MUST_USE;

/** Set a variable of the instance. */
bf_status_t bf_case_set(bf_stage_t *stage, bf_case_t *c, const char *name,
                        const bf_value_t *value) BF_MUST_USE;

/** Set all members of a map. NULL and null are none. */
bf_status_t bf_case_set_all(bf_stage_t *stage, bf_case_t *c,
                            const bf_value_t *map) BF_MUST_USE;

/** The state of an instance or row from now on. */
void bf_stage_set_case_state(bf_stage_t *stage, bf_case_t *c, int32_t state);
void bf_stage_set_task_state(bf_stage_t *stage, bf_staged_task_t *task, int32_t state);

/** Hand all changes to the ledger. */
bf_status_t bf_stage_commit(bf_stage_t *stage) BF_MUST_USE;

/** Free what the stage holds. */
void bf_stage_fini(bf_stage_t *stage);

/* An operation is over: its definitions may leave the cache. */
void bf_approval_let_go(bf_approval_t *approval);

/* --- actors.c --- */

/** Whom a node goes to (rules 4-9); nobody is no error here. */
bf_status_t bf_stage_resolve(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                             bf_approval_names_t *ret) BF_MUST_USE;

/** Who stands in for them now (rule 13), beside them. */
bf_status_t bf_stage_surrogates(bf_stage_t *stage, const bf_case_t *c,
                                bf_approval_names_t *names) BF_MUST_USE;

/** What a handler gets. */
bf_status_t bf_stage_call(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                          bf_approval_call_t *ret) BF_MUST_USE;

/** An own handler of the host; NULL = there is none of that name. */
const bf_approval_handler_t *bf_stage_handler(const bf_stage_t *stage, const char *name);

/* --- route.c --- */

/** Put somebody on the way to a node. */
bf_status_t bf_route_push(bf_stage_t *stage, const bf_token_t *token) BF_MUST_USE;

/** Follow the edges out of a node. */
bf_status_t bf_route_leave(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                           int64_t from) BF_MUST_USE;

/** Walk until nobody is on the way. */
bf_status_t bf_route_run(bf_stage_t *stage) BF_MUST_USE;

/** The end of an instance, as the submit type says; its parent goes on. */
bf_status_t bf_route_finish(bf_stage_t *stage, bf_case_t *c) BF_MUST_USE;

/** Open rows become 99; where `below` is given, only those that come from it. Joins
 *  forget who came. */
bf_status_t bf_route_void(bf_stage_t *stage, bf_case_t *c,
                          const bf_staged_task_t *below) BF_MUST_USE;

/** Evaluate an expression with the variables of the instance. */
bf_status_t bf_route_eval(bf_stage_t *stage, const bf_case_t *c, const bf_expr_t *expr,
                          const char *of, bf_value_t *ret) BF_MUST_USE;

/* --- countersign.c --- */

/** The rows of a countersign begin. */
bf_status_t bf_countersign_begin(bf_stage_t *stage, bf_case_t *c,
                                 const bf_flow_node_t *node, int64_t from,
                                 const bf_approval_names_t *members) BF_MUST_USE;

/** A member's row is finished: *ret_left tells whether the node is left now. */
bf_status_t bf_countersign_vote(bf_stage_t *stage, bf_case_t *c,
                                const bf_flow_node_t *node, bf_staged_task_t *task,
                                bool *ret_left) BF_MUST_USE;

/* --- lifecycle.c --- */

/** The running sub-processes of a node are abandoned. */
bf_status_t bf_abandon_children(bf_stage_t *stage, const bf_case_t *c,
                                const char *node_id) BF_MUST_USE;

/* --- submission.c --- */

/** The arguments that count at a node: a map, without the fields that it locks (rule 32)
 *  and the engine's own names. @param node NULL = no locks; @param args NULL = none */
bf_status_t bf_submit_filter(bf_stage_t *stage, const bf_flow_node_t *node,
                             const bf_value_t *args, bf_value_t *ret) BF_MUST_USE;

/** Finish a row and go on as the submit type of the stage says.
 *  @param args  map or NULL */
bf_status_t bf_submit_task(bf_stage_t *stage, bf_case_t *c, bf_staged_task_t *task,
                           const char *task_name, const bf_value_t *args) BF_MUST_USE;

/** Finish what is open after a start in the name of the initiator (rules 36, 49). */
bf_status_t bf_submit_form(bf_stage_t *stage, bf_case_t *c,
                           const bf_value_t *args) BF_MUST_USE;

/* --- start.c --- */

/** BUSINESS_NO of the arguments is a column (rule 35). */
bf_status_t bf_start_business_no(bf_stage_t *stage, bf_case_t *c,
                                 const bf_value_t *args) BF_MUST_USE;

/** Variables of the initiator and the title, at start (rule 34). */
bf_status_t bf_start_variables(bf_stage_t *stage, bf_case_t *c) BF_MUST_USE;

#endif /* BF_APPROVAL_INT_H */
