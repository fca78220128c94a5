/*
 * parser.c - what the parsers of expressions and scripts share: tokens, code, errors
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/id.h"
#include "bpmflow/map.h"
#include "lib/expr/expr_int.h"

bf_status_t bf_parser_init(bf_parser_t *p, bf_arena_t *arena, const char *text,
                           size_t len, bf_err_t *err)
{
    *p = (bf_parser_t){.arena = arena, .err = err};
    if (len > BF_EXPR_MAX_BYTES) {
        p->rc = bf_err_set(err, BF_E_LIMIT,
                           "an expression of %zu bytes; at most %zu are allowed", len,
                           BF_EXPR_MAX_BYTES);
        return p->rc;
    }
    if (memchr(text, '\0', len) || !bf_utf8_is_valid(text, len)) {
        p->rc = bf_err_set(err, BF_E_PARSE, "an expression must be UTF-8 without NUL");
        return p->rc;
    }
    char *copy = bf_arena_strndup(arena, text, len);
    if (!copy) {
        p->rc = bf_err_nomem(err, "expression");
        return p->rc;
    }
    p->lexer = (bf_lexer_t){.text = copy, .len = (uint32_t)len};
    (void)bf_parser_next(p);
    return p->rc;
}

void bf_parser_fini(bf_parser_t *p)
{
    free(p->instrs);
    free(p->consts);
    free(p->names);
    free(p->regexes);
}

static bool out_of_memory(bf_parser_t *p)
{
    if (p->rc == BF_OK) {
        p->rc = bf_err_nomem(p->err, "expression");
    }
    return false;
}

/* Copies an array into the arena; false when out of memory. */
static bool keep(bf_parser_t *p, const void *data, size_t count, size_t size,
                 const void **ret)
{
    if (count == 0) {
        *ret = NULL;
        return true;
    }
    void *copy = bf_arena_alloc(p->arena, count * size);
    if (!copy) {
        return out_of_memory(p);
    }
    memcpy(copy, data, count * size);
    *ret = copy;
    return true;
}

bf_status_t bf_parser_finish(bf_parser_t *p, bf_code_t *ret)
{
    if (p->rc != BF_OK) {
        return p->rc;
    }
    const void *instrs;
    const void *consts;
    const void *names;
    const void *regexes;
    if (bf_code_fuse(p->instrs, &p->count) != BF_OK) {
        (void)out_of_memory(p);
        return p->rc;
    }
    if (!keep(p, p->instrs, p->count, sizeof(*p->instrs), &instrs) ||
        !keep(p, p->consts, p->const_count, sizeof(*p->consts), &consts) ||
        !keep(p, p->names, p->name_count, sizeof(*p->names), &names) ||
        !keep(p, p->regexes, p->regex_count, sizeof(*p->regexes), &regexes)) {
        return p->rc;
    }
    *ret = (bf_code_t){
        .instrs = instrs,
        .count = p->count,
        .max_stack = p->max_stack,
        .consts = consts,
        .names = names,
        .name_count = p->name_count,
        .regexes = regexes,
        .text = p->lexer.text,
        .text_len = p->lexer.len,
        .unknown = p->unknown,
    };
    return BF_OK;
}

bool bf_parser_next(bf_parser_t *p)
{
    if (p->rc == BF_OK) {
        p->rc = bf_lex_next(&p->lexer, &p->token, p->err);
    }
    return p->rc == BF_OK;
}

bool bf_parser_fail(bf_parser_t *p, uint32_t pos, const char *fmt, ...)
{
    if (p->rc != BF_OK) {
        return false;
    }
    char why[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    p->rc =
        bf_expr_error(p->err, BF_E_PARSE, p->lexer.text, p->lexer.len, pos, "%s", why);
    return false;
}

bool bf_parser_unexpected(bf_parser_t *p, const char *expected)
{
    const bf_token_t *t = &p->token;
    if (t->kind == BF_TK_END) {
        return bf_parser_fail(p, t->pos, "expected %s, found the end", expected);
    }
    if (t->kind == BF_TK_ASSIGN) {
        return bf_parser_fail(p, t->pos, "expected %s, found '='; write == to compare",
                              expected);
    }
    int len = (int)(t->len > 40 ? 40 : t->len);
    return bf_parser_fail(p, t->pos, "expected %s, found '%.*s'", expected, len,
                          p->lexer.text + t->pos);
}

bool bf_parser_expect(bf_parser_t *p, bf_token_kind_t kind, const char *what)
{
    if (p->rc != BF_OK) {
        return false;
    }
    if (p->token.kind != kind) {
        return bf_parser_unexpected(p, what);
    }
    return bf_parser_next(p);
}

bool bf_parser_enter(bf_parser_t *p)
{
    if (p->rc == BF_OK && ++p->depth > BF_EXPR_MAX_DEPTH) {
        p->rc =
            bf_expr_error(p->err, BF_E_LIMIT, p->lexer.text, p->lexer.len, p->token.pos,
                          "nested deeper than %d levels", BF_EXPR_MAX_DEPTH);
    }
    return p->rc == BF_OK;
}

void bf_parser_leave(bf_parser_t *p)
{
    p->depth--;
}

bool bf_parser_at_name(const bf_parser_t *p, const char *name)
{
    return p->token.kind == BF_TK_NAME && strlen(name) == p->token.len &&
           !memcmp(p->lexer.text + p->token.pos, name, p->token.len);
}

/* How many values an instruction takes from the stack and leaves there. */
static int stack_effect(bf_op_t op, uint32_t argc, uint32_t arg)
{
    switch (op) {
    case BF_OP_TEST:
    case BF_OP_CONST:
    case BF_OP_VAR:
        return 1;
    case BF_OP_VAR_DYN:
    case BF_OP_MEMBER:
    case BF_OP_NEG:
    case BF_OP_NOT:
    case BF_OP_BOOL:
    case BF_OP_JUMP:
    case BF_OP_MATCHES:
    case BF_OP_STOP:
    case BF_OP_INTERRUPT:
        return 0;
    case BF_OP_INDEX:
    case BF_OP_ADD:
    case BF_OP_SUB:
    case BF_OP_MUL:
    case BF_OP_DIV:
    case BF_OP_MOD:
    case BF_OP_EQ:
    case BF_OP_NE:
    case BF_OP_LT:
    case BF_OP_LE:
    case BF_OP_GT:
    case BF_OP_GE:
    case BF_OP_IN:
    case BF_OP_LIKE:
    case BF_OP_AND:
    case BF_OP_OR:
    case BF_OP_KEEP:
    case BF_OP_JUMP_FALSE:
    case BF_OP_ASSIGN:
    case BF_OP_ASSIGN_PATH:
    case BF_OP_POP:
        return -1;
    case BF_OP_ASSIGN_DYN:
        return -2;
    case BF_OP_LIST:
        return 1 - (int)arg;
    case BF_OP_MAP:
        return 1 - 2 * (int)arg;
    case BF_OP_CALL:
    case BF_OP_UNKNOWN:
        return 1 - (int)argc;
    case BF_OP_COUNT:
        break;
    }
    return 0;
}

bool bf_parser_emit(bf_parser_t *p, bf_op_t op, uint32_t argc, uint32_t arg, uint32_t pos,
                    uint32_t *ret)
{
    if (p->rc != BF_OK) {
        return false;
    }
    if (p->count == p->room) {
        bf_instr_t *grown = bf_array_grow(p->instrs, &p->room, sizeof(*grown), 16);
        if (!grown) {
            return out_of_memory(p);
        }
        p->instrs = grown;
    }
    if (ret) {
        *ret = p->count;
    }
    p->instrs[p->count++] = (bf_instr_t){
        .op = (uint8_t)op, .argc = (uint8_t)argc, .pos = (uint16_t)pos, .arg = arg};
    p->stack = (uint32_t)((int)p->stack + stack_effect(op, argc, arg));
    if (p->stack > p->max_stack) {
        p->max_stack = p->stack;
    }
    return true;
}

bool bf_parser_emit_bool(bf_parser_t *p, uint32_t pos)
{
    bool certain = false;
    if (p->rc == BF_OK && p->landed != p->count) {
        bf_op_t last = (bf_op_t)p->instrs[p->count - 1].op;
        certain = (last >= BF_OP_EQ && last <= BF_OP_NOT) || last == BF_OP_BOOL ||
                  last == BF_OP_IN || last == BF_OP_LIKE || last == BF_OP_MATCHES;
    }
    return certain || bf_parser_emit(p, BF_OP_BOOL, 0, 0, pos, NULL);
}

void bf_parser_land(bf_parser_t *p, uint32_t jump)
{
    if (p->rc == BF_OK) {
        p->instrs[jump].arg = p->count;
        p->landed = p->count;
    }
}

/* So many of the last names are compared. */
#define NAMES_AGAIN 32U

/* Is the name there? Then not once more. */
static const char *known_name(const bf_name_t *names, uint32_t count,
                              const bf_name_t *name)
{
    uint32_t last = count > NAMES_AGAIN ? count - NAMES_AGAIN : 0;
    for (uint32_t i = count; i > last; i--) {
        const bf_name_t *known = &names[i - 1];
        if (known->hash == name->hash && known->len == name->len &&
            !memcmp(known->text, name->text, name->len)) {
            return known->text;
        }
    }
    return NULL;
}

bool bf_parser_add_name(bf_parser_t *p, const char *text, size_t len, uint32_t *ret)
{
    if (p->rc != BF_OK) {
        return false;
    }
    if (p->name_count == p->name_room) {
        bf_name_t *grown = bf_array_grow(p->names, &p->name_room, sizeof(*grown), 8);
        if (!grown) {
            return out_of_memory(p);
        }
        p->names = grown;
    }
    bf_name_t name = {
        .text = text, .len = (uint32_t)len, .hash = bf_hash_bytes(text, len)};
    const char *copy = known_name(p->names, p->name_count, &name);
    if (!copy && p->beside) {
        copy = known_name(p->beside->names, p->beside->name_count, &name);
    }
    if (!copy) {
        copy = bf_arena_strndup(p->arena, text, len);
    }
    if (!copy) {
        return out_of_memory(p);
    }
    name.text = copy;
    *ret = p->name_count;
    p->names[p->name_count++] = name;
    return true;
}

bool bf_parser_add_const(bf_parser_t *p, bf_value_t value, uint32_t *ret)
{
    if (p->rc != BF_OK) {
        return false;
    }
    if (p->const_count == p->const_room) {
        bf_value_t *grown = bf_array_grow(p->consts, &p->const_room, sizeof(*grown), 8);
        if (!grown) {
            return out_of_memory(p);
        }
        p->consts = grown;
    }
    *ret = p->const_count;
    p->consts[p->const_count++] = value;
    return true;
}

bool bf_parser_add_regex(bf_parser_t *p, const bf_regex_t *regex, uint32_t pos)
{
    if (p->regex_count == p->regex_room) {
        const bf_regex_t **grown =
            bf_array_grow(p->regexes, &p->regex_room, sizeof(*grown), 4);
        if (!grown) {
            return out_of_memory(p);
        }
        p->regexes = grown;
    }
    p->regexes[p->regex_count++] = regex;
    return bf_parser_emit(p, BF_OP_MATCHES, 0, p->regex_count - 1, pos, NULL);
}

bool bf_parser_string(bf_parser_t *p, const char **ret, uint32_t *ret_len)
{
    uint32_t len = p->token.len - 2;
    char *copy = bf_arena_strndup(p->arena, p->lexer.text + p->token.pos + 1, len);
    if (!copy) {
        return out_of_memory(p);
    }
    *ret = copy;
    *ret_len = len;
    return true;
}
