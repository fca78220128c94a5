/*
 * expr.h - conditions and scripts: parse once per graph version, evaluate many times
 *
 * One language for conditions, task scripts, countersign completion and rules; see
 * "Expressions and scripts" in the README.  It is total: no loops, no recursion, a
 * bounded number of steps and bounded sizes, so a definition cannot hang a worker.
 * Truth: null and false are false, everything else is true (decision on rule 88).
 *
 * Memory:  a parsed expression lives in the arena given to parse and is immutable, so
 *          any number of threads may evaluate it.  Evaluation allocates only from
 *          env->arena; results live there (or in what env->lookup returned).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EXPR_H
#define BF_EXPR_H

#include "bpmflow/value.h"

typedef struct bf_expr bf_expr_t;
typedef struct bf_script bf_script_t;

#define BF_EXPR_MAX_BYTES ((size_t)16 * 1024)
#define BF_EXPR_MAX_DEPTH 64
#define BF_EXPR_MAX_STEPS 100000

/* The variable that was looked up last; a zeroed one is none. */
typedef struct bf_expr_memo {
    const char *name; /* as an expression has it: the same text may stand elsewhere */
    const bf_value_t *value; /* what lookup said */
} bf_expr_memo_t;

/* What an expression may touch. All callbacks run on the evaluating thread. */
typedef struct bf_expr_env {
    /* The value of a variable; NULL when it is not set. hash is bf_hash_bytes() of the
     * name, computed when the expression was parsed: bf_vars_get_hashed() takes it.
     * `#name` of approval definitions asks for "name". What is returned must stay valid
     * until the evaluation returns or calls assign. */
    const bf_value_t *(*lookup)(void *arg, const char *name, size_t name_len,
                                uint64_t hash);
    /* Scripts: set a variable (null clears). NULL callback = assignments are errors. */
    bf_status_t (*assign)(void *arg, const char *name, size_t name_len,
                          const bf_value_t *value, bf_err_t *err);
    /* Scripts: context.stop() and context.interrupt(). NULL = error. */
    void (*stop)(void *arg);
    void (*interrupt)(void *arg);
    void *arg;
    bf_arena_t *arena;   /* for results and temporaries */
    int64_t now_wall_ms; /* what now() returns; 0 = the clock */
    uint32_t max_steps;  /* 0 = BF_EXPR_MAX_STEPS */
    /* For several conditions in a row, which mostly ask for the same variable. Whoever
     * gives one says that until it is taken away no variable changes but by assign.
     * NULL = none. */
    bf_expr_memo_t *memo;
} bf_expr_env_t;

/**
 * Parse an expression.
 *
 * @param text   UTF-8, at most BF_EXPR_MAX_BYTES
 * @param arena  owns the result
 * @param ret    the parsed form
 * @return BF_OK; BF_E_PARSE: err has line, column, a caret line and what was expected;
 *         BF_E_LIMIT; BF_E_NOMEM
 */
bf_status_t bf_expr_parse(bf_arena_t *arena, const char *text, size_t len,
                          bf_expr_t **ret, bf_err_t *err) BF_MUST_USE;

/** As above.  Names that stand in `beside`, too, which is NULL or from the same arena,
 * are the same text in memory: what is looked up for one expression is known for the
 * other (bf_expr_memo_t). */
bf_status_t bf_expr_parse_beside(bf_arena_t *arena, const char *text, size_t len,
                                 const bf_expr_t *beside, bf_expr_t **ret,
                                 bf_err_t *err) BF_MUST_USE;

/** Evaluate. BF_OK; BF_E_EXPRESSION (division by zero, wrong types, overflow, too many
 *  steps: err says where and why); BF_E_NOMEM. */
bf_status_t bf_expr_eval(const bf_expr_t *expr, const bf_expr_env_t *env, bf_value_t *ret,
                         bf_err_t *err) BF_MUST_USE;

/** Evaluate as a condition. Errors as bf_expr_eval(). */
bf_status_t bf_expr_test(const bf_expr_t *expr, const bf_expr_env_t *env, bool *ret,
                         bf_err_t *err) BF_MUST_USE;

/**
 * A function or method that the text calls and that does not exist: parsing accepts it
 * (definitions may be written for another host), evaluating it is an error. The loader
 * warns. NULL = none.
 */
const char *bf_expr_unknown_call(const bf_expr_t *expr);
const char *bf_script_unknown_call(const bf_script_t *script);

/** Truth of a value: null and false are false, all else is true. */
bool bf_expr_is_true(const bf_value_t *value);

/** Parse a script: assignments and `if`, separated by `;`. As bf_expr_parse(). */
bf_status_t bf_script_parse(bf_arena_t *arena, const char *text, size_t len,
                            bf_script_t **ret, bf_err_t *err) BF_MUST_USE;

/** Run a script. Errors as bf_expr_eval(); what was assigned before an error stays
 *  assigned: the caller's transaction undoes it. */
bf_status_t bf_script_run(const bf_script_t *script, const bf_expr_env_t *env,
                          bf_err_t *err) BF_MUST_USE;

#endif /* BF_EXPR_H */
