/*
 * parse.c - expressions: recursive descent straight to instructions
 *
 * Loosest first:  ?:  |  ?? and elvis  |  ||  |  &&  |  !  |  comparison  |  + -  |
 * * / %  |  unary minus  |  member, index, call.  As in the original, `!` covers a
 * whole comparison, and comparisons do not chain.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/num.h"
#include "lib/expr/expr_int.h"

#define MAX_ITEMS 1000 /* of a list or map in a text */

static bool parse_not(bf_parser_t *p);
static bool parse_unary(bf_parser_t *p);

static const char *token_text(const bf_parser_t *p)
{
    return p->lexer.text + p->token.pos;
}

static bool at_word(const bf_parser_t *p, const char *lower, const char *upper)
{
    return bf_parser_at_name(p, lower) || bf_parser_at_name(p, upper);
}

static bool at_or(const bf_parser_t *p)
{
    return p->token.kind == BF_TK_OR || at_word(p, "or", "OR");
}

static bool at_and(const bf_parser_t *p)
{
    return p->token.kind == BF_TK_AND || at_word(p, "and", "AND");
}

static bool emit_const(bf_parser_t *p, bf_value_t value, uint32_t pos)
{
    uint32_t number;
    return bf_parser_add_const(p, value, &number) &&
           bf_parser_emit(p, BF_OP_CONST, 0, number, pos, NULL);
}

/* --- literals --- */

/* The current number token, with a minus in front when negative. */
static bool parse_number(bf_parser_t *p, bool negative)
{
    char buf[400];
    uint32_t len = p->token.len;
    uint32_t pos = p->token.pos;
    if (len + 2 > sizeof(buf)) {
        return bf_parser_fail(p, pos, "this number has too many digits");
    }
    size_t n = 0;
    if (negative) {
        buf[n++] = '-';
    }
    memcpy(buf + n, token_text(p), len);
    n += len;
    if (strchr("LlDdFf", buf[n - 1])) {
        n--;
    }
    bf_value_t value = bf_value_null();
    if (p->token.kind == BF_TK_INT) {
        int64_t integer;
        if (bf_num_parse_i64(buf, n, &integer, NULL) != BF_OK) {
            return bf_parser_fail(p, pos, "this number does not fit in 64 bit");
        }
        value = bf_value_int(integer);
    } else {
        double real;
        if (bf_num_parse_real(buf, n, &real, NULL) != BF_OK) {
            return bf_parser_fail(p, pos, "this number is too large");
        }
        value = bf_value_real(real);
    }
    return emit_const(p, value, pos) && bf_parser_next(p);
}

static bool parse_string(bf_parser_t *p)
{
    const char *text;
    uint32_t len;
    uint32_t pos = p->token.pos;
    return bf_parser_string(p, &text, &len) &&
           emit_const(p, bf_value_string(text, len), pos) && bf_parser_next(p);
}

/* A list of constants becomes one constant, so that `x in [1, 2]` builds nothing. */
static bool fold_list(bf_parser_t *p, uint32_t first, uint32_t items, uint32_t pos)
{
    bf_value_t *copy = bf_arena_calloc(p->arena, items ? items : 1, sizeof(*copy));
    if (!copy) {
        p->rc = bf_err_nomem(p->err, "expression");
        return false;
    }
    for (uint32_t i = 0; i < items; i++) {
        copy[i] = p->consts[p->instrs[first + i].arg];
    }
    p->count = first;
    p->stack -= items;
    bf_value_t list = {.type = BF_VALUE_LIST, .len = items, .as.items = copy};
    return emit_const(p, list, pos);
}

static bool parse_list(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    uint32_t first = p->count;
    uint32_t items = 0;
    if (!bf_parser_next(p)) {
        return false;
    }
    while (p->token.kind != BF_TK_RBRACKET) {
        if (items == MAX_ITEMS) {
            return bf_parser_fail(p, p->token.pos, "a list of more than %d items",
                                  MAX_ITEMS);
        }
        if (items && !bf_parser_expect(p, BF_TK_COMMA, "',' or ']'")) {
            return false;
        }
        if (!bf_parser_expression(p)) {
            return false;
        }
        items++;
    }
    if (!bf_parser_next(p)) {
        return false;
    }
    bool constant = p->count == first + items;
    for (uint32_t i = first; constant && i < p->count; i++) {
        constant = p->instrs[i].op == BF_OP_CONST;
    }
    return constant ? fold_list(p, first, items, pos)
                    : bf_parser_emit(p, BF_OP_LIST, 0, items, pos, NULL);
}

static bool parse_map_entry(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    if (p->token.kind == BF_TK_NAME) {
        char *name = bf_arena_strndup(p->arena, token_text(p), p->token.len);
        if (!name) {
            p->rc = bf_err_nomem(p->err, "expression");
            return false;
        }
        if (!emit_const(p, bf_value_string(name, p->token.len), pos) ||
            !bf_parser_next(p)) {
            return false;
        }
    } else if (p->token.kind != BF_TK_STRING) {
        return bf_parser_unexpected(p, "a name or '}'");
    } else if (!parse_string(p)) {
        return false;
    }
    return bf_parser_expect(p, BF_TK_COLON, "':' after the name") &&
           bf_parser_expression(p);
}

static bool parse_map(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    uint32_t entries = 0;
    if (!bf_parser_next(p)) {
        return false;
    }
    while (p->token.kind != BF_TK_RBRACE) {
        if (entries == MAX_ITEMS) {
            return bf_parser_fail(p, p->token.pos, "a map of more than %d entries",
                                  MAX_ITEMS);
        }
        if ((entries && !bf_parser_expect(p, BF_TK_COMMA, "',' or '}'")) ||
            !parse_map_entry(p)) {
            return false;
        }
        entries++;
    }
    return bf_parser_next(p) && bf_parser_emit(p, BF_OP_MAP, 0, entries, pos, NULL);
}

/* --- calls --- */

/* After '(': arguments and ')'. Counts on from *argc. */
static bool parse_arguments(bf_parser_t *p, uint32_t *argc)
{
    bool first = true;
    while (p->token.kind != BF_TK_RPAREN) {
        if (!first && !bf_parser_expect(p, BF_TK_COMMA, "',' or ')'")) {
            return false;
        }
        if (!bf_parser_expression(p)) {
            return false;
        }
        if (++*argc > BF_ARGS_ANY - 1) {
            return bf_parser_fail(p, p->token.pos, "too many arguments");
        }
        first = false;
    }
    return bf_parser_next(p);
}

static bool emit_unknown(bf_parser_t *p, const bf_token_t *name, uint32_t argc)
{
    uint32_t number;
    if (!bf_parser_add_name(p, p->lexer.text + name->pos, name->len, &number)) {
        return false;
    }
    if (!p->unknown) {
        p->unknown = p->names[number].text;
    }
    return bf_parser_emit(p, BF_OP_UNKNOWN, argc, number, name->pos, NULL);
}

/* The arguments (argc with the receiver) are on the stack: call what is named. */
static bool emit_call(bf_parser_t *p, int function, const bf_token_t *name, uint32_t argc,
                      bool is_method)
{
    if (function < 0) {
        return emit_unknown(p, name, argc);
    }
    const bf_function_t *fn = bf_function_at((uint32_t)function);
    unsigned shown = is_method ? 1 : 0;
    if (argc < fn->min_args) {
        return bf_parser_fail(p, name->pos, "%s() needs at least %u argument(s)",
                              fn->name, fn->min_args - shown);
    }
    if (fn->max_args != BF_ARGS_ANY && argc > fn->max_args) {
        return bf_parser_fail(p, name->pos, "%s() takes at most %u argument(s)", fn->name,
                              fn->max_args - shown);
    }
    return bf_parser_emit(p, BF_OP_CALL, argc, (uint32_t)function, name->pos, NULL);
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* `getAmount` and `isActive` read `amount` and `active`; length of the prefix, or 0. */
static uint32_t getter_prefix(const char *name, uint32_t len)
{
    if (len > 3 && !memcmp(name, "get", 3) && is_upper(name[3])) {
        return 3;
    }
    return len > 2 && !memcmp(name, "is", 2) && is_upper(name[2]) ? 2 : 0;
}

static bool emit_getter(bf_parser_t *p, const bf_token_t *name, uint32_t prefix)
{
    char member[256];
    uint32_t len = name->len - prefix;
    if (len > sizeof(member)) {
        return bf_parser_fail(p, name->pos, "this name is too long");
    }
    memcpy(member, p->lexer.text + name->pos + prefix, len);
    member[0] = (char)(member[0] - 'A' + 'a');
    uint32_t number;
    return bf_parser_add_name(p, member, len, &number) &&
           bf_parser_emit(p, BF_OP_MEMBER, 0, number, name->pos, NULL);
}

/* The receiver is on the stack, the current token is '(' after the name. */
static bool parse_method(bf_parser_t *p, const bf_token_t *name)
{
    const char *text = p->lexer.text + name->pos;
    uint32_t argc = 1;
    if (!bf_parser_next(p) || !parse_arguments(p, &argc)) {
        return false;
    }
    int function = bf_function_find(text, name->len, BF_FN_METHOD);
    uint32_t prefix = getter_prefix(text, name->len);
    if (function < 0 && argc == 1 && prefix) {
        return emit_getter(p, name, prefix);
    }
    return emit_call(p, function, name, argc, true);
}

static bool parse_member(bf_parser_t *p)
{
    if (!bf_parser_next(p)) {
        return false;
    }
    if (p->token.kind != BF_TK_NAME) {
        return bf_parser_unexpected(p, "a name after '.'");
    }
    bf_token_t name = p->token;
    if (!bf_parser_next(p)) {
        return false;
    }
    if (p->token.kind == BF_TK_LPAREN) {
        return parse_method(p, &name);
    }
    uint32_t number;
    return bf_parser_add_name(p, p->lexer.text + name.pos, name.len, &number) &&
           bf_parser_emit(p, BF_OP_MEMBER, 0, number, name.pos, NULL);
}

static bool parse_index(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    return bf_parser_next(p) && bf_parser_expression(p) &&
           bf_parser_expect(p, BF_TK_RBRACKET, "']'") &&
           bf_parser_emit(p, BF_OP_INDEX, 0, 0, pos, NULL);
}

/* --- names --- */

static bool emit_variable(bf_parser_t *p, const char *name, size_t len, uint32_t pos)
{
    uint32_t number;
    return bf_parser_add_name(p, name, len, &number) &&
           bf_parser_emit(p, BF_OP_VAR, 0, number, pos, NULL);
}

/* context.get("x"), getAs, getOrDefault("x", d): the variable. At '(' after the name. */
static bool parse_context_get(bf_parser_t *p, const bf_token_t *name)
{
    const char *text = p->lexer.text + name->pos;
    bool with_default = name->len == 12 && !memcmp(text, "getOrDefault", 12);
    if (!with_default && !(name->len == 3 && !memcmp(text, "get", 3)) &&
        !(name->len == 5 && !memcmp(text, "getAs", 5))) {
        return bf_parser_fail(p, name->pos,
                              "context.%.*s() cannot be used here; expected "
                              "context.get(\"name\")",
                              (int)(name->len > 40 ? 40 : name->len), text);
    }
    uint32_t jump;
    if (!bf_parser_next(p) || !bf_parser_expression(p) ||
        !bf_parser_emit(p, BF_OP_VAR_DYN, 0, 0, name->pos, NULL)) {
        return false;
    }
    if (with_default && (!bf_parser_expect(p, BF_TK_COMMA, "',' and the default") ||
                         !bf_parser_emit(p, BF_OP_KEEP, 0, 0, name->pos, &jump) ||
                         !bf_parser_expression(p))) {
        return false;
    }
    if (with_default) {
        bf_parser_land(p, jump);
    }
    return bf_parser_expect(p, BF_TK_RPAREN, "')'");
}

/* `Class.name(` of Java, or `context.name(`: the name is in *ret and '(' is current.
 * Leaves the parser where it was and returns false when it is something else. */
static bool at_qualified_call(bf_parser_t *p, bf_token_t *ret)
{
    bf_lexer_t ahead = p->lexer;
    bf_token_t dot;
    bf_token_t name;
    bf_token_t paren;
    if (bf_lex_next(&ahead, &dot, NULL) != BF_OK || dot.kind != BF_TK_DOT ||
        bf_lex_next(&ahead, &name, NULL) != BF_OK || name.kind != BF_TK_NAME ||
        bf_lex_next(&ahead, &paren, NULL) != BF_OK || paren.kind != BF_TK_LPAREN) {
        return false;
    }
    p->lexer = ahead;
    p->token = paren;
    *ret = name;
    return true;
}

static bool parse_static_call(bf_parser_t *p, const bf_token_t *class_name,
                              const bf_token_t *name)
{
    uint32_t argc = 0;
    if (!bf_parser_next(p) || !parse_arguments(p, &argc)) {
        return false;
    }
    int function =
        bf_function_find_static(p->lexer.text + class_name->pos, class_name->len,
                                p->lexer.text + name->pos, name->len);
    return emit_call(p, function, name, argc, false);
}

static bool parse_name(bf_parser_t *p)
{
    bf_token_t name = p->token;
    const char *text = token_text(p);
    bf_token_t called;
    if (bf_parser_at_name(p, "context") && at_qualified_call(p, &called)) {
        return parse_context_get(p, &called);
    }
    if (bf_function_is_class(text, name.len) && at_qualified_call(p, &called)) {
        return parse_static_call(p, &name, &called);
    }
    bool is_true = bf_parser_at_name(p, "true");
    bool is_false = bf_parser_at_name(p, "false");
    bool is_null = bf_parser_at_name(p, "null");
    if (!bf_parser_next(p)) {
        return false;
    }
    if (is_true || is_false || is_null) {
        bf_value_t value = is_null ? bf_value_null() : bf_value_bool(is_true);
        return emit_const(p, value, name.pos);
    }
    if (p->token.kind == BF_TK_LPAREN) {
        uint32_t argc = 0;
        return bf_parser_next(p) && parse_arguments(p, &argc) &&
               emit_call(p, bf_function_find(text, name.len, BF_FN_PLAIN), &name, argc,
                         false);
    }
    return emit_variable(p, text, name.len, name.pos);
}

/* `${ expression }`, also `${name:default}`. */
static bool parse_placeholder(bf_parser_t *p)
{
    if (!bf_parser_next(p) || !bf_parser_expression(p)) {
        return false;
    }
    if (p->token.kind == BF_TK_COLON) {
        uint32_t jump;
        if (!bf_parser_emit(p, BF_OP_KEEP, 0, 0, p->token.pos, &jump) ||
            !bf_parser_next(p) || !bf_parser_expression(p)) {
            return false;
        }
        bf_parser_land(p, jump);
    }
    return bf_parser_expect(p, BF_TK_RBRACE, "'}'");
}

static bool parse_hash_name(bf_parser_t *p)
{
    if (!bf_parser_next(p)) {
        return false;
    }
    if (p->token.kind != BF_TK_NAME) {
        return bf_parser_unexpected(p, "a name after '#'");
    }
    return emit_variable(p, token_text(p), p->token.len, p->token.pos) &&
           bf_parser_next(p);
}

static bool parse_primary(bf_parser_t *p)
{
    switch ((int)p->token.kind) {
    case BF_TK_INT:
    case BF_TK_REAL:
        return parse_number(p, /* negative= */ false);
    case BF_TK_STRING:
        return parse_string(p);
    case BF_TK_NAME:
        return parse_name(p);
    case BF_TK_LPAREN:
        return bf_parser_next(p) && bf_parser_expression(p) &&
               bf_parser_expect(p, BF_TK_RPAREN, "')'");
    case BF_TK_LBRACKET:
        return parse_list(p);
    case BF_TK_LBRACE:
        return parse_map(p);
    case BF_TK_OPEN:
        return parse_placeholder(p);
    case BF_TK_HASH:
        return parse_hash_name(p);
    default:
        return bf_parser_unexpected(p, "a value");
    }
}

static bool parse_postfix_tail(bf_parser_t *p)
{
    while (p->rc == BF_OK) {
        bool done = true;
        if (p->token.kind == BF_TK_DOT || p->token.kind == BF_TK_SAFE_DOT) {
            done = !parse_member(p);
        } else if (p->token.kind == BF_TK_LBRACKET) {
            done = !parse_index(p);
        }
        if (done) {
            break;
        }
    }
    return p->rc == BF_OK;
}

static bool parse_postfix(bf_parser_t *p)
{
    return parse_primary(p) && parse_postfix_tail(p);
}

/* --- operators --- */

static bool parse_minus(bf_parser_t *p)
{
    uint32_t pos = p->token.pos;
    if (!bf_parser_next(p)) {
        return false;
    }
    /* So that the smallest 64-bit number can be written. */
    if (p->token.kind == BF_TK_INT || p->token.kind == BF_TK_REAL) {
        return parse_number(p, /* negative= */ true) && parse_postfix_tail(p);
    }
    return parse_unary(p) && bf_parser_emit(p, BF_OP_NEG, 0, 0, pos, NULL);
}

static bool parse_unary(bf_parser_t *p)
{
    if (p->token.kind != BF_TK_MINUS && p->token.kind != BF_TK_PLUS) {
        return parse_postfix(p);
    }
    if (!bf_parser_enter(p)) {
        return false;
    }
    bool ok = p->token.kind == BF_TK_MINUS ? parse_minus(p)
                                           : bf_parser_next(p) && parse_unary(p);
    bf_parser_leave(p);
    return ok;
}

static int multiplicative_op(const bf_parser_t *p)
{
    switch ((int)p->token.kind) {
    case BF_TK_STAR:
        return BF_OP_MUL;
    case BF_TK_SLASH:
        return BF_OP_DIV;
    case BF_TK_PERCENT:
        return BF_OP_MOD;
    default:
        return -1;
    }
}

static bool parse_multiplicative(bf_parser_t *p)
{
    if (!parse_unary(p)) {
        return false;
    }
    for (int op = multiplicative_op(p); op >= 0; op = multiplicative_op(p)) {
        uint32_t pos = p->token.pos;
        if (!bf_parser_next(p) || !parse_unary(p) ||
            !bf_parser_emit(p, (bf_op_t)op, 0, 0, pos, NULL)) {
            return false;
        }
    }
    return true;
}

static bool parse_additive(bf_parser_t *p)
{
    if (!parse_multiplicative(p)) {
        return false;
    }
    while (p->token.kind == BF_TK_PLUS || p->token.kind == BF_TK_MINUS) {
        bf_op_t op = p->token.kind == BF_TK_PLUS ? BF_OP_ADD : BF_OP_SUB;
        uint32_t pos = p->token.pos;
        if (!bf_parser_next(p) || !parse_multiplicative(p) ||
            !bf_parser_emit(p, op, 0, 0, pos, NULL)) {
            return false;
        }
    }
    return true;
}

typedef struct comparison {
    bf_token_kind_t sign; /* BF_TK_END = none */
    const char *lower;    /* NULL = none */
    const char *upper;
    bf_op_t op;
} comparison_t;

static const comparison_t comparisons[] = {
    {BF_TK_EQ, "eq", "EQ", BF_OP_EQ},
    {BF_TK_NE, "ne", "NE", BF_OP_NE},
    {BF_TK_LT, "lt", "LT", BF_OP_LT},
    {BF_TK_LE, "le", "LE", BF_OP_LE},
    {BF_TK_GT, "gt", "GT", BF_OP_GT},
    {BF_TK_GE, "ge", "GE", BF_OP_GE},
    {BF_TK_END, "in", "IN", BF_OP_IN},
    {BF_TK_END, "like", "LIKE", BF_OP_LIKE},
    {BF_TK_END, "matches", "MATCHES", BF_OP_MATCHES},
};

static const comparison_t *at_comparison(const bf_parser_t *p)
{
    if (p->token.kind != BF_TK_NAME &&
        (p->token.kind < BF_TK_EQ || p->token.kind > BF_TK_GE)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        const comparison_t *c = &comparisons[i];
        if ((c->sign != BF_TK_END && p->token.kind == c->sign) ||
            at_word(p, c->lower, c->upper)) {
            return c;
        }
    }
    return NULL;
}

/* A pattern that is written as text is parsed now; another one when it is used. */
static bool parse_pattern(bf_parser_t *p, uint32_t pos)
{
    uint32_t first = p->count;
    uint32_t pattern_pos = p->token.pos;
    if (!parse_additive(p)) {
        return false;
    }
    const bf_value_t *pattern =
        p->count == first + 1 && p->instrs[first].op == BF_OP_CONST
            ? &p->consts[p->instrs[first].arg]
            : NULL;
    if (!pattern || pattern->type != BF_VALUE_STRING) {
        int function = bf_function_find("matches", 7, BF_FN_METHOD);
        return bf_parser_emit(p, BF_OP_CALL, 2, (uint32_t)function, pos, NULL);
    }
    const bf_regex_t *regex;
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc =
        bf_regex_parse(p->arena, pattern->as.string, pattern->len, &regex, &why);
    if (rc == BF_E_NOMEM) {
        p->rc = bf_err_nomem(p->err, "expression");
        return false;
    }
    if (rc != BF_OK) {
        return bf_parser_fail(p, pattern_pos, "%s", why.text);
    }
    p->count = first;
    p->stack--;
    return bf_parser_add_regex(p, regex, pos);
}

static bool parse_comparison_tail(bf_parser_t *p, const comparison_t *c, bool negated)
{
    uint32_t pos = p->token.pos;
    if (!bf_parser_next(p)) {
        return false;
    }
    bool ok = c->op == BF_OP_MATCHES
                  ? parse_pattern(p, pos)
                  : parse_additive(p) && bf_parser_emit(p, c->op, 0, 0, pos, NULL);
    if (!ok || (negated && !bf_parser_emit(p, BF_OP_NOT, 0, 0, pos, NULL))) {
        return false;
    }
    if (at_comparison(p)) {
        return bf_parser_fail(p, p->token.pos,
                              "comparisons do not chain; put one side in parentheses "
                              "or join two with &&");
    }
    return true;
}

static bool parse_comparison(bf_parser_t *p)
{
    if (!parse_additive(p)) {
        return false;
    }
    bool negated = at_word(p, "not", "NOT");
    if (negated && !bf_parser_next(p)) {
        return false;
    }
    const comparison_t *c = at_comparison(p);
    if (negated && (!c || c->sign != BF_TK_END)) {
        return bf_parser_unexpected(p, "IN, LIKE or MATCHES after NOT");
    }
    return c ? parse_comparison_tail(p, c, negated) : true;
}

static bool parse_not(bf_parser_t *p)
{
    if (p->token.kind != BF_TK_NOT && !at_word(p, "not", "NOT")) {
        return parse_comparison(p);
    }
    uint32_t pos = p->token.pos;
    if (!bf_parser_enter(p)) {
        return false;
    }
    bool ok = bf_parser_next(p) && parse_not(p) &&
              bf_parser_emit(p, BF_OP_NOT, 0, 0, pos, NULL);
    bf_parser_leave(p);
    return ok;
}

static bool parse_and(bf_parser_t *p)
{
    if (!parse_not(p)) {
        return false;
    }
    while (at_and(p)) {
        uint32_t jump;
        uint32_t pos = p->token.pos;
        if (!bf_parser_emit(p, BF_OP_AND, 0, 0, pos, &jump) || !bf_parser_next(p) ||
            !parse_not(p) || !bf_parser_emit_bool(p, pos)) {
            return false;
        }
        bf_parser_land(p, jump);
    }
    return true;
}

static bool parse_or(bf_parser_t *p)
{
    if (!parse_and(p)) {
        return false;
    }
    while (at_or(p)) {
        uint32_t jump;
        uint32_t pos = p->token.pos;
        if (!bf_parser_emit(p, BF_OP_OR, 0, 0, pos, &jump) || !bf_parser_next(p) ||
            !parse_and(p) || !bf_parser_emit_bool(p, pos)) {
            return false;
        }
        bf_parser_land(p, jump);
    }
    return true;
}

static bool parse_coalesce(bf_parser_t *p)
{
    if (!parse_or(p)) {
        return false;
    }
    while (p->token.kind == BF_TK_COALESCE || p->token.kind == BF_TK_ELVIS) {
        uint32_t jump;
        if (!bf_parser_emit(p, BF_OP_KEEP, 0, 0, p->token.pos, &jump) ||
            !bf_parser_next(p) || !parse_or(p)) {
            return false;
        }
        bf_parser_land(p, jump);
    }
    return true;
}

static bool parse_ternary_tail(bf_parser_t *p)
{
    uint32_t to_else;
    uint32_t to_end;
    if (!bf_parser_emit(p, BF_OP_JUMP_FALSE, 0, 0, p->token.pos, &to_else) ||
        !bf_parser_next(p) || !bf_parser_expression(p) ||
        !bf_parser_emit(p, BF_OP_JUMP, 0, 0, p->token.pos, &to_end)) {
        return false;
    }
    bf_parser_land(p, to_else);
    p->stack--; /* only one of the two values is there */
    if (!bf_parser_expect(p, BF_TK_COLON, "':' of the choice") ||
        !bf_parser_expression(p)) {
        return false;
    }
    bf_parser_land(p, to_end);
    return true;
}

bool bf_parser_expression(bf_parser_t *p)
{
    if (!bf_parser_enter(p)) {
        return false;
    }
    bool ok = parse_coalesce(p);
    if (ok && p->token.kind == BF_TK_QUESTION) {
        ok = parse_ternary_tail(p);
    }
    bf_parser_leave(p);
    return ok;
}
