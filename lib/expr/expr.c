/*
 * expr.c - the public side of expressions
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/expr.h"

#include "lib/expr/expr_int.h"

bf_status_t bf_expr_parse(bf_arena_t *arena, const char *text, size_t len,
                          bf_expr_t **ret, bf_err_t *err)
{
    return bf_expr_parse_beside(arena, text, len, NULL, ret, err);
}

bf_status_t bf_expr_parse_beside(bf_arena_t *arena, const char *text, size_t len,
                                 const bf_expr_t *beside, bf_expr_t **ret, bf_err_t *err)
{
    bf_parser_t p;
    bf_expr_t *expr = NULL;
    bf_status_t rc = bf_parser_init(&p, arena, text, len, err);
    p.beside = beside ? &beside->code : NULL;
    if (rc != BF_OK) {
        goto out;
    }
    if (bf_parser_expression(&p) && p.token.kind != BF_TK_END) {
        (void)bf_parser_unexpected(&p, "an operator or the end");
    }
    rc = p.rc;
    if (rc != BF_OK) {
        goto out;
    }
    expr = bf_arena_calloc(arena, 1, sizeof(*expr));
    rc = expr ? bf_parser_finish(&p, &expr->code) : bf_err_nomem(err, "expression");
    if (rc == BF_OK) {
        *ret = expr;
    }
out:
    bf_parser_fini(&p);
    return rc;
}

bf_status_t bf_expr_eval(const bf_expr_t *expr, const bf_expr_env_t *env, bf_value_t *ret,
                         bf_err_t *err)
{
    return bf_code_run(&expr->code, env, ret, err);
}

bool bf_expr_is_true(const bf_value_t *value)
{
    return value->type != BF_VALUE_NULL &&
           (value->type != BF_VALUE_BOOL || value->as.boolean);
}

const char *bf_expr_unknown_call(const bf_expr_t *expr)
{
    return expr->code.unknown;
}
