/*
 * context.h - the bag that a flow runs with: variables, trace, stop flag
 *
 * Variables are looked up in this order: variables set with bf_context_with() for the
 * length of a call, the command's transient context, the variables themselves (owned, or
 * borrowed from an instance), then the base: the variables of the instance that an
 * executor puts below a caller's own bag for the length of an operation.  Reserved:
 * instanceId, context, node (rule 91).
 *
 * The trace remembers the last node of each graph and every pending position, so that an
 * evaluation that was stopped or interrupted goes on at each of them (decisions on rules
 * 29-44).
 *
 * Threads:  one at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CONTEXT_H
#define BF_CONTEXT_H

#include "bpmflow/graph.h"
#include "bpmflow/vars.h"

typedef struct bf_context bf_context_t;

/** New context with variables of its own. @param instance_id may be NULL = "" */
bf_context_t *bf_context_new(const char *instance_id) BF_MUST_USE;

/** New context whose variables are borrowed (an instance's); free() leaves them. */
bf_context_t *bf_context_new_borrowing(const char *instance_id,
                                       bf_vars_t *vars) BF_MUST_USE;
void bf_context_free(bf_context_t *ctx);

const char *bf_context_instance_id(const bf_context_t *ctx);
bf_vars_t *bf_context_vars(bf_context_t *ctx);

/** Transient layer: looked up before the variables, never stored. Borrowed map, NULL to
 *  remove. */
void bf_context_set_transient(bf_context_t *ctx, const bf_value_t *map);

/** Variables below those of the context (an instance's): looked up last, and a variable
 *  that is set is set there too. Borrowed, NULL to remove. */
void bf_context_set_base(bf_context_t *ctx, bf_vars_t *base);

/** Value of a variable as expressions see it; NULL = not set. */
const bf_value_t *bf_context_get(const bf_context_t *ctx, const char *name,
                                 size_t name_len);
const bf_value_t *bf_context_get_str(const bf_context_t *ctx, const char *name);
/** As above, in the form that bf_expr_env_t.lookup wants; arg is the context. */
const bf_value_t *bf_context_lookup(void *arg, const char *name, size_t name_len,
                                    uint64_t hash);
/** What the caller brought: as bf_context_get(), without the variables that are stored
 *  with an instance. Who may operate a task is decided by these only. */
const bf_value_t *bf_context_caller_value(const bf_context_t *ctx, const char *name,
                                          size_t name_len);

/* Where an evaluation comes from: for components that act on the outside world. */
typedef struct bf_origin {
    const char *command_id; /* NULL = none */
    const char *actor;      /* NULL = nobody */
    int64_t seq;            /* last history row of the instance before the command */
    uint32_t round; /* of the task that is completed outside of a walk; 0 = in a walk */
} bf_origin_t;

/** Texts are borrowed for as long as it is set. NULL = forget it. */
void bf_context_set_origin(bf_context_t *ctx, const bf_origin_t *origin);
/** Never NULL. */
const bf_origin_t *bf_context_origin(const bf_context_t *ctx);

/** A callback ran out of memory and cannot say so, since its answer is yes or no (a
 *  controller): the operation that asked it fails with BF_E_NOMEM. */
void bf_context_lack_memory(bf_context_t *ctx);
/** Has that happened? Forgotten with the answer. */
bool bf_context_lacked_memory(bf_context_t *ctx);

/** Set a variable (null clears). BF_OK, BF_E_INVALID (reserved name), BF_E_NOMEM. */
bf_status_t bf_context_put(bf_context_t *ctx, const char *name, size_t name_len,
                           const bf_value_t *value, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_context_put_str(bf_context_t *ctx, const char *name,
                               const bf_value_t *value, bf_err_t *err) BF_MUST_USE;

/** Call fn(arg) with a variable set for that time (rule 92); null hides one. Any name is
 *  allowed. Returns what fn returned. The value is borrowed. */
bf_status_t bf_context_with(bf_context_t *ctx, const char *name, const bf_value_t *value,
                            bf_status_t (*fn)(void *arg), void *arg) BF_MUST_USE;

/** Stop the running evaluation / end its current branch; no effect outside one
 *  (rules 34-36). */
void bf_context_stop(bf_context_t *ctx);
void bf_context_interrupt(bf_context_t *ctx);
bool bf_context_is_stopped(const bf_context_t *ctx);
/** True while a probe (find, find_next) walks: nothing that it does lasts, so a component
 *  that acts on the outside world leaves it (decision on rule 113). */
bool bf_context_is_probe(const bf_context_t *ctx);

/* What became of the last evaluation with this context. */
typedef enum {
    BF_EVAL_NONE,    /* there was none, or the trace was cleared */
    BF_EVAL_DONE,    /* walked; nothing is pending */
    BF_EVAL_PENDING, /* walked; a branch was interrupted, or a join waits for one */
    BF_EVAL_STOPPED, /* stopped, or the step budget is used up: evaluate again to go on */
    BF_EVAL_FAILED,  /* an error ended it; evaluating again starts at the node that failed
                      */
    BF_EVAL_NOTHING  /* it was done before: nothing has run (decision on rule 31) */
} bf_eval_outcome_t;

bf_eval_outcome_t bf_context_outcome(const bf_context_t *ctx);

/** Snapshot {"instanceId","stopped","data","trace"} and back (rule 93; `vars` is read as
 *  an old name of `data`). Errors: BF_E_PARSE, BF_E_INVALID, BF_E_LIMIT, BF_E_NOMEM. */
bf_status_t bf_context_write_json(bf_context_t *ctx, bf_str_t *ret,
                                  bf_err_t *err) BF_MUST_USE;
bf_status_t bf_context_load_json(const char *text, size_t len, bf_context_t **ret,
                                 bf_err_t *err) BF_MUST_USE;

/** Trace. last_node: ID of the node recorded last in that graph, NULL = none. */
void bf_context_trace_enable(bf_context_t *ctx, bool enabled);
void bf_context_trace_clear(bf_context_t *ctx);
const char *bf_context_last_node(const bf_context_t *ctx, const char *graph_id);
/** Set the position of a graph by hand: the next evaluation of that graph starts there;
 *  node_id NULL forgets it. BF_OK, BF_E_NOMEM. */
bf_status_t bf_context_trace_set(bf_context_t *ctx, const char *graph_id,
                                 const char *node_id) BF_MUST_USE;
/**
 * Whether the last walk with this context ended. After an evaluation: the node recorded
 * last in the graph is an END (rule 30). After an operation of an executor that walked:
 * nothing was pending (decision on rule 118). @param graph_id NULL = the first that ran
 */
bool bf_context_is_end(const bf_context_t *ctx, const char *graph_id);

#endif /* BF_CONTEXT_H */
