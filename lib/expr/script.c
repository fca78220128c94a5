/*
 * script.c - scripts: assignments, context calls and `if`
 *
 * statement  =  target = expression        target: name, a.b.c, a['b']
 *            |  target += expression       and -= *= /=
 *            |  context.put(name, expression)
 *            |  context.stop()  |  context.interrupt()
 *            |  a.setName(expression)      the same as a.name = expression
 *            |  a.put('name', expression)  the same as a['name'] = expression
 *            |  if (expression) body [else body]
 *            |  return
 *            |  a call                     its value is not used
 * body       =  statement  |  { statements }
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/expr/expr_int.h"

#define MAX_PATH 16

/* What stands on the left of an assignment. Names are spans of the text. */
typedef struct target {
    const char *names[MAX_PATH];
    uint32_t lens[MAX_PATH];
    uint32_t count;
    uint32_t pos;
    /* setName( and put( as the last part; the lexer stands behind the '(' */
    bool is_setter;
    bool is_put;
} target_t;

static bool parse_statement(bf_parser_t *p);

static bool is_assignment(bf_token_kind_t kind)
{
    return kind >= BF_TK_ASSIGN && kind <= BF_TK_SLASH_ASSIGN;
}

/* Looks ahead from the current name over `.name` and `['name']`. *ret_after is the token
 * behind the target and *ahead the lexer behind that. False: no target. */
static bool scan_target(const bf_parser_t *p, target_t *ret, bf_lexer_t *ahead,
                        bf_token_t *ret_after)
{
    const char *text = p->lexer.text;
    *ahead = p->lexer;
    *ret = (target_t){.pos = p->token.pos};
    bf_token_t t = p->token;
    for (;;) {
        if (ret->count == MAX_PATH) {
            return false;
        }
        bool quoted = t.kind == BF_TK_STRING;
        ret->names[ret->count] = text + t.pos + (quoted ? 1 : 0);
        ret->lens[ret->count] = t.len - (quoted ? 2 : 0);
        ret->count++;
        if (quoted &&
            (bf_lex_next(ahead, &t, NULL) != BF_OK || t.kind != BF_TK_RBRACKET)) {
            return false;
        }
        if (bf_lex_next(ahead, ret_after, NULL) != BF_OK) {
            return false;
        }
        bool dot = ret_after->kind == BF_TK_DOT;
        if (!dot && ret_after->kind != BF_TK_LBRACKET) {
            return true;
        }
        if (bf_lex_next(ahead, &t, NULL) != BF_OK ||
            t.kind != (dot ? BF_TK_NAME : BF_TK_STRING)) {
            return false;
        }
    }
}

/* Turns `a.setName(` and `a.put(` into the target that they set. */
static bool scan_setter(target_t *target, char *buf, size_t buf_size)
{
    if (target->count < 2) {
        return false;
    }
    const char *last = target->names[target->count - 1];
    uint32_t len = target->lens[target->count - 1];
    if (len == 3 && !memcmp(last, "put", 3)) {
        target->is_put = true;
        target->count--;
        return true;
    }
    if (len <= 3 || memcmp(last, "set", 3) || last[3] < 'A' || last[3] > 'Z' ||
        len - 3 > buf_size) {
        return false;
    }
    memcpy(buf, last + 3, len - 3);
    buf[0] = (char)(buf[0] - 'A' + 'a');
    target->names[target->count - 1] = buf;
    target->lens[target->count - 1] = len - 3;
    target->is_setter = true;
    return true;
}

/* The value is on the stack. */
static bool emit_assign(bf_parser_t *p, const target_t *target)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < target->count; i++) {
        uint32_t number;
        if (!bf_parser_add_name(p, target->names[i], target->lens[i], &number)) {
            return false;
        }
        if (i == 0) {
            first = number;
        }
    }
    bf_op_t op = target->count == 1 ? BF_OP_ASSIGN : BF_OP_ASSIGN_PATH;
    return bf_parser_emit(p, op, target->count, first, target->pos, NULL);
}

/* Push the present value of the target, for `+=`. */
static bool emit_read(bf_parser_t *p, const target_t *target)
{
    for (uint32_t i = 0; i < target->count; i++) {
        uint32_t number;
        if (!bf_parser_add_name(p, target->names[i], target->lens[i], &number) ||
            !bf_parser_emit(p, i ? BF_OP_MEMBER : BF_OP_VAR, 0, number, target->pos,
                            NULL)) {
            return false;
        }
    }
    return true;
}

static bf_op_t compound_op(bf_token_kind_t kind)
{
    return kind == BF_TK_PLUS_ASSIGN    ? BF_OP_ADD
           : kind == BF_TK_MINUS_ASSIGN ? BF_OP_SUB
           : kind == BF_TK_STAR_ASSIGN  ? BF_OP_MUL
                                        : BF_OP_DIV;
}

static bool parse_assignment(bf_parser_t *p, const target_t *target)
{
    bf_token_t sign = p->token;
    if (!bf_parser_next(p)) {
        return false;
    }
    if (sign.kind == BF_TK_ASSIGN) {
        return bf_parser_expression(p) && emit_assign(p, target);
    }
    return emit_read(p, target) && bf_parser_expression(p) &&
           bf_parser_emit(p, compound_op(sign.kind), 0, 0, sign.pos, NULL) &&
           emit_assign(p, target);
}

/* a.setName( expression )   or   a.put( 'name', expression )  behind the '(' */
static bool parse_setter(bf_parser_t *p, target_t *target)
{
    if (target->is_put) {
        const char *name;
        if (p->token.kind != BF_TK_STRING) {
            return bf_parser_unexpected(p, "the name in quotes");
        }
        if (!bf_parser_string(p, &name, &target->lens[target->count]) ||
            !bf_parser_next(p) || !bf_parser_expect(p, BF_TK_COMMA, "','")) {
            return false;
        }
        target->names[target->count++] = name;
    }
    return bf_parser_expression(p) && bf_parser_expect(p, BF_TK_RPAREN, "')'") &&
           emit_assign(p, target);
}

/* context.put(name, value), behind the '('. */
static bool parse_context_put(bf_parser_t *p, uint32_t pos)
{
    return bf_parser_expression(p) &&
           bf_parser_expect(p, BF_TK_COMMA, "',' and the value") &&
           bf_parser_expression(p) && bf_parser_expect(p, BF_TK_RPAREN, "')'") &&
           bf_parser_emit(p, BF_OP_ASSIGN_DYN, 0, 0, pos, NULL);
}

/* context.stop() and context.interrupt(), behind the '('. */
static bool parse_context_flag(bf_parser_t *p, bf_op_t op, uint32_t pos)
{
    return bf_parser_expect(p, BF_TK_RPAREN, "')'") &&
           bf_parser_emit(p, op, 0, 0, pos, NULL);
}

static bool is_name(const target_t *target, uint32_t part, const char *name)
{
    return target->lens[part] == strlen(name) &&
           !memcmp(target->names[part], name, target->lens[part]);
}

/* Everything that starts with a name and a path and is no plain call; *ret_done tells
 * whether there was such a thing. */
static bool parse_target(bf_parser_t *p, bool *ret_done)
{
    target_t target;
    bf_lexer_t ahead;
    bf_token_t after;
    char buf[128];
    *ret_done = false;
    if (!scan_target(p, &target, &ahead, &after)) {
        return true;
    }
    bool call = after.kind == BF_TK_LPAREN;
    bool context = call && target.count == 2 && is_name(&target, 0, "context");
    bool put = context && is_name(&target, 1, "put");
    bool stop = context && is_name(&target, 1, "stop");
    bool interrupt = context && is_name(&target, 1, "interrupt");
    bool setter = call && !context && scan_setter(&target, buf, sizeof(buf));
    if (!is_assignment(after.kind) && !put && !stop && !interrupt && !setter) {
        return true;
    }
    *ret_done = true;
    p->lexer = ahead;
    p->token = after;
    if (!call) {
        return parse_assignment(p, &target);
    }
    if (!bf_parser_next(p)) {
        return false;
    }
    if (setter) {
        return parse_setter(p, &target);
    }
    return put ? parse_context_put(p, target.pos)
               : parse_context_flag(p, stop ? BF_OP_STOP : BF_OP_INTERRUPT, target.pos);
}

/* A call whose value is not used. Anything else as a statement is a mistake. */
static bool parse_call(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    if (!bf_parser_expression(p)) {
        return false;
    }
    bf_op_t last = (bf_op_t)p->instrs[p->count - 1].op;
    if (last != BF_OP_CALL && last != BF_OP_UNKNOWN) {
        return bf_parser_fail(p, pos,
                              "this value is not used; expected name = expression, a "
                              "call or if");
    }
    return bf_parser_emit(p, BF_OP_POP, 0, 0, pos, NULL);
}

/* Statements up to `}` (inside) or to the end. */
static bool parse_statements(bf_parser_t *p, bool inside)
{
    for (;;) {
        if (p->token.kind == BF_TK_SEMICOLON) {
            if (!bf_parser_next(p)) {
                return false;
            }
            continue;
        }
        if (p->token.kind == BF_TK_END || (inside && p->token.kind == BF_TK_RBRACE)) {
            return p->rc == BF_OK;
        }
        if (!parse_statement(p)) {
            return false;
        }
    }
}

static bool parse_block(bf_parser_t *p)
{
    return bf_parser_enter(p) && bf_parser_next(p) &&
           parse_statements(p, /* inside= */ true) &&
           bf_parser_expect(p, BF_TK_RBRACE, "'}'") && (bf_parser_leave(p), true);
}

/* A statement must be followed by `;`, `}` or the end. */
static bool parse_terminator(bf_parser_t *p)
{
    if (p->token.kind == BF_TK_SEMICOLON) {
        return bf_parser_next(p);
    }
    if (p->token.kind == BF_TK_END || p->token.kind == BF_TK_RBRACE) {
        return true;
    }
    return bf_parser_unexpected(p, "';' between statements");
}

static bool parse_if(bf_parser_t *p)
{
    uint32_t to_else;
    uint32_t pos = p->token.pos;
    if (!bf_parser_enter(p) || !bf_parser_next(p) ||
        !bf_parser_expect(p, BF_TK_LPAREN, "'(' after if") || !bf_parser_expression(p) ||
        !bf_parser_expect(p, BF_TK_RPAREN, "')'") ||
        !bf_parser_emit(p, BF_OP_JUMP_FALSE, 0, 0, pos, &to_else) ||
        !parse_statement(p)) {
        return false;
    }
    if (bf_parser_at_name(p, "else")) {
        uint32_t to_end;
        if (!bf_parser_emit(p, BF_OP_JUMP, 0, 0, pos, &to_end)) {
            return false;
        }
        bf_parser_land(p, to_else);
        if (!bf_parser_next(p) || !parse_statement(p)) {
            return false;
        }
        bf_parser_land(p, to_end);
    } else {
        bf_parser_land(p, to_else);
    }
    bf_parser_leave(p);
    return true;
}

/* With its terminator. */
static bool parse_statement(bf_parser_t *p)
{
    if (p->token.kind == BF_TK_SEMICOLON) {
        return bf_parser_next(p);
    }
    if (p->token.kind == BF_TK_LBRACE) {
        return parse_block(p);
    }
    if (bf_parser_at_name(p, "if")) {
        return parse_if(p);
    }
    if (bf_parser_at_name(p, "return")) {
        uint32_t pos = p->token.pos;
        return bf_parser_next(p) &&
               bf_parser_emit(p, BF_OP_JUMP, 0, UINT32_MAX, pos, NULL) &&
               parse_terminator(p);
    }
    bool done = false;
    if (p->token.kind == BF_TK_NAME && !parse_target(p, &done)) {
        return false;
    }
    return (done || parse_call(p)) && parse_terminator(p);
}

bf_status_t bf_script_parse(bf_arena_t *arena, const char *text, size_t len,
                            bf_script_t **ret, bf_err_t *err)
{
    bf_parser_t p;
    bf_script_t *script = NULL;
    bf_status_t rc = bf_parser_init(&p, arena, text, len, err);
    if (rc != BF_OK) {
        goto out;
    }
    if (parse_statements(&p, /* inside= */ false) && p.token.kind != BF_TK_END) {
        (void)bf_parser_unexpected(&p, "a statement");
    }
    script = bf_arena_calloc(arena, 1, sizeof(*script));
    rc = script ? bf_parser_finish(&p, &script->code) : bf_err_nomem(err, "script");
    if (rc == BF_OK) {
        *ret = script;
    }
out:
    bf_parser_fini(&p);
    return rc;
}

bf_status_t bf_script_run(const bf_script_t *script, const bf_expr_env_t *env,
                          bf_err_t *err)
{
    return bf_code_run(&script->code, env, NULL, err);
}

const char *bf_script_unknown_call(const bf_script_t *script)
{
    return script->code.unknown;
}
