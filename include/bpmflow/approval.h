/*
 * approval.h - approvals: applications that walk a definition from desk to desk
 *
 * An engine works on a ledger (ledger.h) for a host, which knows the users, the time and
 * the assignment handlers.  An operation is done as a whole or not at all: it works on
 * staged rows and hands all its changes to the ledger at the end.
 *
 * Fifty rules tell what the original does (numbers in brackets).  Where they leave the
 * matter open, or users want something else than the original, this engine
 *   - compares tokens of `assignee` as a whole (6) and splits a text of a variable at
 *     commas as it does a literal one (5)
 *   - tries tf_nextNodeOperator, then `assignee`, then the assignment handler (4)
 *   - refuses a task for which nobody is found, with the node's name (10); a handler that
 *     is not known or fails found nobody (9)
 *   - takes at a decision the first edge whose condition is true, then the edge that the
 *     expression or handler of the node names, then the first edge without condition; no
 *     way is error 20010001 (17)
 *   - follows every edge that leaves another node, but one with a condition that is not
 *     true; out of a fork all of them, whatever their conditions say
 *   - refuses an operation that comes to a custom node or decision whose handler nobody
 *     registered (20)
 *   - takes a text that is a number as one where a condition could not be evaluated
 *     otherwise: fields of forms are often texts
 *   - passes a join when no open row and no other waiting join leads to it any more (18)
 *   - voids (99) what is open elsewhere when an end is reached (19), on reject, jump and
 *     return to the initiator (21, 22, 24); a rollback voids what came from the row that
 *     it goes back to (23)
 *   - counts a vote against (submit type 20) as a vote and sets countersignDisagreeFlag
 *     to 1 for decisions behind the node (31); it is 0 again when a new round begins
 *   - lets only the initiator, flow.auto or flow.admin withdraw, and only what is doing
 * or pending (27); refuses to start a definition that is not usable (44)
 *   - completes after a start the row of the first task, and where more rows are open
 *     those that are the initiator's (49)
 *   - starts for a sub-process the latest definition that `properties.processName` names,
 *     and at its end goes on in its parent with the variables of the child (50); a
 * rejected one rejects its parent, and what ends a parent ends its sub-processes
 *
 * Errors:  texts begin with the code of the original and its words where it has some
 *          ("20010004 当前参与者不能执行该流程任务: ..."), then the thing and the remedy.
 * Bounds:  bf_approval_limits_t.
 * Threads: one at a time for an engine and its ledger.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_APPROVAL_H
#define BF_APPROVAL_H

#include "bpmflow/flow.h"
#include "bpmflow/ledger.h"

/* What somebody does with a task. */
typedef enum bf_submit_type {
    BF_SUBMIT_APPLY = 0,
    BF_SUBMIT_AGREE = 1,
    BF_SUBMIT_REJECT = 2,
    BF_SUBMIT_ROLLBACK = 3,             /* to the step before */
    BF_SUBMIT_JUMP = 4,                 /* to task_name */
    BF_SUBMIT_RE_APPLY = 5,             /* as AGREE */
    BF_SUBMIT_ROLLBACK_TO_OPERATOR = 6, /* to the initiator */
    BF_SUBMIT_DISAGREE = 20             /* a vote against, countersign */
} bf_submit_type_t;

/* May execute every row (rule 11), in any case of letters. */
#define BF_APPROVAL_AUTO  "flow.auto"
#define BF_APPROVAL_ADMIN "flow.admin"

/* Is it one of the two? NULL is not. */
bool bf_approval_is_system(const char *user_id);

typedef struct bf_approval_user {
    const char *id;
    const char *real_name;
    const char *dept_id;
    const char *dept_name;
    const char *post_id;
    const char *post_name;
} bf_approval_user_t;

/* A list of user IDs without duplicates, in an arena. */
typedef struct bf_approval_names {
    const char **items;
    size_t count;
    size_t room;
    uint32_t *slots; /* own: where an ID is in the list, once it is long */
    size_t slot_count;
} bf_approval_names_t;

/** Add a copy; one that is there already is left out. BF_OK, BF_E_NOMEM */
bf_status_t bf_approval_names_add(bf_arena_t *arena, bf_approval_names_t *names,
                                  const char *id, size_t len) BF_MUST_USE;

/** Add the users of a value: a text is split at commas, a list item by item, a number is
 *  its text; blanks around are cut, empty ones left out. BF_OK, BF_E_NOMEM */
bf_status_t bf_approval_names_add_value(bf_arena_t *arena, bf_approval_names_t *names,
                                        const bf_value_t *value) BF_MUST_USE;

/* The users, as the host knows them.  Every function may be NULL: then nothing is known.
 * What is returned lives in the arena or outlives the call.  An error ends the operation,
 * which is undone. */
typedef struct bf_approval_directory {
    /* ret->id stays NULL where there is no such user */
    bf_status_t (*user)(void *arg, bf_arena_t *arena, const char *user_id,
                        bf_approval_user_t *ret, bf_err_t *err);
    /* Who leads a department; is_main: the main one only */
    bf_status_t (*leaders)(void *arg, bf_arena_t *arena, const char *dept_id,
                           bool is_main, bf_approval_names_t *ret, bf_err_t *err);
    /* Users of a role or group */
    bf_status_t (*role)(void *arg, bf_arena_t *arena, const char *role_code,
                        bf_approval_names_t *ret, bf_err_t *err);
    void *arg;
} bf_approval_directory_t;

/* What an own handler may look at. Borrowed, for the call only. */
typedef struct bf_approval_call {
    const bf_flow_t *flow;
    const bf_flow_node_t *node;
    const bf_process_row_t *instance;
    const char *operator_id;     /* who acts now */
    const bf_value_t *variables; /* map: of the instance, with those of the operation */
    const bf_approval_directory_t *directory;
    bf_arena_t *arena;
} bf_approval_call_t;

/* An own handler, by name. Those that are NULL do not exist for that name. */
typedef struct bf_approval_handler {
    const char *name; /* as in the definition; a Java class name counts whole */
    /* Actors of a task. An error means nobody (rule 9), BF_E_NOMEM ends the operation. */
    bf_status_t (*assign)(void *arg, const bf_approval_call_t *call,
                          bf_approval_names_t *ret, bf_err_t *err);
    /* ID of the next node of a decision; NULL = none */
    bf_status_t (*decide)(void *arg, const bf_approval_call_t *call, const char **ret,
                          bf_err_t *err);
    /* Work of a custom node; members of *ret (a map or null) become variables */
    bf_status_t (*run)(void *arg, const bf_approval_call_t *call, bf_value_t *ret,
                       bf_err_t *err);
    void *arg;
} bf_approval_handler_t;

/* Bounds of one operation. Zero means the default. */
typedef struct bf_approval_limits {
    uint32_t max_rows;         /* rows an operation may write: 10000 */
    uint32_t max_steps;        /* nodes it may enter: 10000 */
    uint32_t max_actors;       /* actors of a task, members of a countersign: 1000 */
    size_t max_variable_bytes; /* variables of an instance or row, as JSON: 1 MiB */
    size_t max_arena_bytes;    /* memory of an operation: 64 MiB */
    uint32_t max_depth;        /* sub-processes in each other: 16 */
} bf_approval_limits_t;

typedef struct bf_approval_host {
    bf_approval_directory_t directory;
    const bf_approval_handler_t *handlers; /* borrowed, outlive the engine */
    size_t handler_count;
    int64_t (*now_ms)(void *arg); /* wall milliseconds; NULL = the clock */
    void *now_arg;
    int32_t utc_offset_s;      /* zone of times in texts: seconds east of UTC */
    bool is_surrogate_enabled; /* delegations count when a row is created (rule 13) */
    bf_approval_limits_t limits;
} bf_approval_host_t;

typedef struct bf_approval bf_approval_t;

/**
 * An engine.
 *
 * @param ledger  borrowed; outlives the engine
 * @param host    copied (its pointers are borrowed); NULL = nobody is known
 * @return free with bf_approval_free(); NULL when out of memory
 */
bf_approval_t *bf_approval_new(bf_ledger_t *ledger,
                               const bf_approval_host_t *host) BF_MUST_USE;

/** NULL is allowed; the ledger stays. */
void bf_approval_free(bf_approval_t *approval);

/** What it was made with; borrowed. */
bf_ledger_t *bf_approval_ledger(const bf_approval_t *approval);
const bf_approval_host_t *bf_approval_host(const bf_approval_t *approval);

/** The host's time, wall milliseconds. */
int64_t bf_approval_now_ms(const bf_approval_t *approval);

#define BF_APPROVAL_TIME_MAX 32

/** "yyyy-MM-dd HH:mm:ss" in the host's zone (rule 40). */
void bf_approval_format_time(const bf_approval_t *approval, int64_t wall_ms,
                             char ret[BF_APPROVAL_TIME_MAX]);

/**
 * Publish a definition (rule 42): a new row, version one above that of the latest of the
 * same name, else 0; state 1.
 *
 * @param text         JSON of the designer
 * @param operator_id  who does it; NULL = nobody
 * @param ret_id       its ID; may be NULL
 * @return BF_OK; errors of bf_flow_load() and bf_ledger_apply()
 */
bf_status_t bf_approval_deploy(bf_approval_t *approval, const char *text, size_t len,
                               const char *operator_id, int64_t *ret_id,
                               bf_err_t *err) BF_MUST_USE;

/** Replace the content of a definition in place (rule 42): version, state and ID stay,
 *  running instances change with it. Also BF_E_NOT_FOUND (20010002). */
bf_status_t bf_approval_redeploy(bf_approval_t *approval, int64_t define_id,
                                 const char *text, size_t len, const char *operator_id,
                                 bf_err_t *err) BF_MUST_USE;

/** The parsed definition, from the engine's cache: borrowed, valid until the definition
 *  is changed or 64 others were asked for. BF_E_NOT_FOUND (20010002), errors of
 *  bf_flow_load(). */
bf_status_t bf_approval_flow(bf_approval_t *approval, int64_t define_id,
                             const bf_flow_t **ret, bf_err_t *err) BF_MUST_USE;

typedef struct bf_approval_start {
    int64_t define_id;       /* 0: the latest definition of that name */
    const char *name;        /* used when define_id is 0 */
    const char *operator_id; /* the initiator, not empty */
    const bf_value_t *args;  /* map of variables; NULL = none */
} bf_approval_start_t;

/**
 * Start an instance: u_ variables of the initiator, autoGenTitle, BUSINESS_NO, copies
 * for f_ccActors, rows of the first tasks (rules 34-37).
 *
 * @param ret_id  its ID; may be NULL
 * @return BF_OK; BF_E_NOT_FOUND (20010002), BF_E_REJECTED (the definition is not usable,
 *         nobody for a task), BF_E_NO_ROUTE (20010001), BF_E_EXPRESSION, BF_E_COMPONENT,
 *         BF_E_LIMIT, BF_E_INVALID, BF_E_NOMEM: nothing changed
 */
bf_status_t bf_approval_start(bf_approval_t *approval, const bf_approval_start_t *start,
                              int64_t *ret_id, bf_err_t *err) BF_MUST_USE;

/** Start and send the form off (rules 36, 49): the initiator completes the first task
 *  with submit type 0, in the same operation. Errors as bf_approval_start(). */
bf_status_t bf_approval_start_and_execute(bf_approval_t *approval,
                                          const bf_approval_start_t *start,
                                          int64_t *ret_id, bf_err_t *err) BF_MUST_USE;

typedef struct bf_approval_execute {
    int64_t task_id;
    const char *operator_id;
    bf_submit_type_t submit_type;
    const char *task_name;  /* of a jump; a jump without one is a rollback */
    const bf_value_t *args; /* map of variables; NULL = none */
} bf_approval_execute_t;

/**
 * Do a task (rules 14-26, 29-33).
 *
 * @return BF_OK; BF_E_REJECTED (20010003 the row is not open, 20010004 not an actor, no
 *         step to go back to), BF_E_NOT_FOUND (no such row, no such node to jump to), and
 *         those of bf_approval_start(): nothing changed
 */
bf_status_t bf_approval_execute(bf_approval_t *approval,
                                const bf_approval_execute_t *execute,
                                bf_err_t *err) BF_MUST_USE;

/** Take an application back: instance and open rows 30 (rule 27).
 *  @param operator_id  NULL = the host itself, who may
 *  @return BF_OK; BF_E_NOT_FOUND, BF_E_REJECTED (over already, not the initiator) */
bf_status_t bf_approval_withdraw(bf_approval_t *approval, int64_t instance_id,
                                 const char *operator_id, bf_err_t *err) BF_MUST_USE;

/** Instance and open rows 40; resume: back to 10 (rule 28). BF_E_REJECTED when the
 *  instance is not doing (or pending), for resume not interrupted. */
bf_status_t bf_approval_interrupt(bf_approval_t *approval, int64_t instance_id,
                                  const char *operator_id, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_approval_resume(bf_approval_t *approval, int64_t instance_id,
                               const char *operator_id, bf_err_t *err) BF_MUST_USE;

/** Instance and open rows 50; activate: back to 10 (rule 28). Likewise. */
bf_status_t bf_approval_pending(bf_approval_t *approval, int64_t instance_id,
                                const char *operator_id, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_approval_activate(bf_approval_t *approval, int64_t instance_id,
                                 const char *operator_id, bf_err_t *err) BF_MUST_USE;

/** The row and its instance 99, with every other open row (rule 28). BF_E_REJECTED when
 *  the row is finished or the instance is over. */
bf_status_t bf_approval_abandon(bf_approval_t *approval, int64_t task_id,
                                const char *operator_id, bf_err_t *err) BF_MUST_USE;

typedef struct bf_approval_actors {
    int64_t task_id;
    const char *const *actors;
    size_t count;
    const char *operator_id; /* who changes it; NULL = the host */
} bf_approval_actors_t;

/** More people may do an open task; those that may already are left out (rule 12).
 *  BF_E_NOT_FOUND, BF_E_REJECTED (20010003), BF_E_INVALID (nobody given). */
bf_status_t bf_approval_add_actors(bf_approval_t *approval,
                                   const bf_approval_actors_t *actors,
                                   bf_err_t *err) BF_MUST_USE;

/** Hand a task over: as in the original it adds actors, and the one who hands it over
 *  stays (rule 12); bf_approval_remove_actors() takes him off. */
bf_status_t bf_approval_transfer(bf_approval_t *approval,
                                 const bf_approval_actors_t *actors,
                                 bf_err_t *err) BF_MUST_USE;

/** These people may not do it any longer; those who may not anyway are left out. When
 *  nobody is left, flow.auto and flow.admin still may, and others can be added. */
bf_status_t bf_approval_remove_actors(bf_approval_t *approval,
                                      const bf_approval_actors_t *actors,
                                      bf_err_t *err) BF_MUST_USE;

/** Copies of an instance for people who have none yet (rule 37). BF_E_NOT_FOUND,
 *  BF_E_INVALID (nobody given). */
bf_status_t bf_approval_cc(bf_approval_t *approval, int64_t instance_id,
                           const char *const *actors, size_t count,
                           const char *operator_id, bf_err_t *err) BF_MUST_USE;

/**
 * Whom a task would go to now (rules 4-9), without delegations; for candidate pages.
 *
 * @param ret      added to; empty = nobody
 */
bf_status_t bf_approval_resolve(bf_approval_t *approval, int64_t instance_id,
                                const bf_flow_node_t *node, const char *operator_id,
                                bf_arena_t *arena, bf_approval_names_t *ret,
                                bf_err_t *err) BF_MUST_USE;

#endif /* BF_APPROVAL_H */
