/*
 * lex.c - tokens of the expression language, and errors that point at their place
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "lib/expr/expr_int.h"

/* How much of a long line an error shows. */
#define SHOWN_BEFORE 40U
#define SHOWN_AFTER  24U

static bool is_name_start(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           c >= 0x80;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_part(unsigned char c)
{
    return is_name_start(c) || is_digit(c);
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Character at an offset from the current place; 0 beyond the end. */
static unsigned char peek(const bf_lexer_t *lexer, uint32_t offset)
{
    uint32_t i = lexer->at + offset;
    return i < lexer->len ? (unsigned char)lexer->text[i] : 0;
}

static size_t start_of_character(const char *text, size_t pos)
{
    while (pos && ((unsigned char)text[pos] & 0xC0) == 0x80) {
        pos--;
    }
    return pos;
}

/* Writes the line of the text around pos and a caret below pos. */
static void write_excerpt(char *out, size_t out_size, const char *text, size_t len,
                          size_t pos)
{
    size_t start = pos;
    while (start && text[start - 1] != '\n') {
        start--;
    }
    size_t end = pos;
    while (end < len && text[end] != '\n') {
        end++;
    }
    if (pos - start > SHOWN_BEFORE) {
        start = start_of_character(text, pos - SHOWN_BEFORE);
    }
    if (end - pos > SHOWN_AFTER) {
        end = start_of_character(text, pos + SHOWN_AFTER);
    }
    /* One blank for each character, a tab for a tab, so that the caret stands right. */
    char indent[2 * SHOWN_BEFORE];
    size_t n = 0;
    for (size_t i = start; i < pos && n + 1 < sizeof(indent); i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            indent[n++] = text[i] == '\t' ? '\t' : ' ';
        }
    }
    indent[n] = '\0';
    (void)snprintf(out, out_size, "\n  %.*s\n  %s^", (int)(end - start), text + start,
                   indent);
}

bf_status_t bf_expr_error(bf_err_t *err, bf_status_t status, const char *text, size_t len,
                          size_t pos, const char *fmt, ...)
{
    if (pos > len) {
        pos = len;
    }
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i < pos; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text[i] & 0xC0) != 0x80) {
            column++;
        }
    }
    char why[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    char excerpt[4 * (SHOWN_BEFORE + SHOWN_AFTER)];
    write_excerpt(excerpt, sizeof(excerpt), text, len, pos);
    return bf_err_set(err, status, "line %zu column %zu: %s%s", line, column, why,
                      excerpt);
}

/* Skips blanks and comments; false on a comment without end. */
static bool skip_blanks(bf_lexer_t *lexer)
{
    for (;;) {
        while (lexer->at < lexer->len && is_blank(peek(lexer, 0))) {
            lexer->at++;
        }
        if (peek(lexer, 0) != '/') {
            return true;
        }
        if (peek(lexer, 1) == '/') {
            while (lexer->at < lexer->len && peek(lexer, 0) != '\n') {
                lexer->at++;
            }
        } else if (peek(lexer, 1) == '*') {
            const char *start = lexer->text + lexer->at + 2;
            const char *end = memmem(start, lexer->len - lexer->at - 2, "*/", 2);
            if (!end) {
                return false;
            }
            lexer->at = (uint32_t)(end + 2 - lexer->text);
        } else {
            return true;
        }
    }
}

static bf_status_t lex_number(bf_lexer_t *lexer, bf_token_t *ret, bf_err_t *err)
{
    uint32_t n = 0;
    ret->kind = BF_TK_INT;
    while (is_digit(peek(lexer, n))) {
        n++;
    }
    if (peek(lexer, n) == '.' && is_digit(peek(lexer, n + 1))) {
        ret->kind = BF_TK_REAL;
        n++;
        while (is_digit(peek(lexer, n))) {
            n++;
        }
    }
    unsigned char c = peek(lexer, n);
    if (c == 'e' || c == 'E') {
        uint32_t sign = peek(lexer, n + 1) == '+' || peek(lexer, n + 1) == '-';
        if (is_digit(peek(lexer, n + 1 + sign))) {
            ret->kind = BF_TK_REAL;
            n += 1 + sign;
            while (is_digit(peek(lexer, n))) {
                n++;
            }
        }
    }
    c = peek(lexer, n);
    if (c == 'L' || c == 'l') {
        n++;
    } else if (c == 'D' || c == 'd' || c == 'F' || c == 'f') {
        ret->kind = BF_TK_REAL;
        n++;
    }
    if (is_name_part(peek(lexer, n))) {
        return bf_expr_error(err, BF_E_PARSE, lexer->text, lexer->len, lexer->at,
                             "a number runs into a name; put an operator between them");
    }
    ret->len = n;
    return BF_OK;
}

/* No escapes, as in the original: a string ends at the next quote of its kind. */
static bf_status_t lex_string(bf_lexer_t *lexer, bf_token_t *ret, bf_err_t *err)
{
    const char *start = lexer->text + lexer->at + 1;
    const char *end = memchr(start, lexer->text[lexer->at], lexer->len - lexer->at - 1);
    if (!end) {
        return bf_expr_error(err, BF_E_PARSE, lexer->text, lexer->len, lexer->at,
                             "this string has no end; expected a closing %c",
                             lexer->text[lexer->at]);
    }
    ret->kind = BF_TK_STRING;
    ret->len = (uint32_t)(end - start) + 2;
    return BF_OK;
}

typedef struct sign {
    char text[3];
    bf_token_kind_t kind;
} sign_t;

/* Two characters before one, so that the longest wins. */
static const sign_t signs[] = {
    {"??", BF_TK_COALESCE},     {"?:", BF_TK_ELVIS},       {"==", BF_TK_EQ},
    {"!=", BF_TK_NE},           {"<=", BF_TK_LE},          {">=", BF_TK_GE},
    {"&&", BF_TK_AND},          {"||", BF_TK_OR},          {"+=", BF_TK_PLUS_ASSIGN},
    {"-=", BF_TK_MINUS_ASSIGN}, {"*=", BF_TK_STAR_ASSIGN}, {"/=", BF_TK_SLASH_ASSIGN},
    {"${", BF_TK_OPEN},         {"#{", BF_TK_OPEN},        {"(", BF_TK_LPAREN},
    {")", BF_TK_RPAREN},        {"[", BF_TK_LBRACKET},     {"]", BF_TK_RBRACKET},
    {"{", BF_TK_LBRACE},        {"}", BF_TK_RBRACE},       {",", BF_TK_COMMA},
    {";", BF_TK_SEMICOLON},     {".", BF_TK_DOT},          {"?", BF_TK_QUESTION},
    {":", BF_TK_COLON},         {"+", BF_TK_PLUS},         {"-", BF_TK_MINUS},
    {"*", BF_TK_STAR},          {"/", BF_TK_SLASH},        {"%", BF_TK_PERCENT},
    {"=", BF_TK_ASSIGN},        {"<", BF_TK_LT},           {">", BF_TK_GT},
    {"!", BF_TK_NOT},           {"#", BF_TK_HASH},
};

static bf_status_t lex_sign(bf_lexer_t *lexer, bf_token_t *ret, bf_err_t *err)
{
    unsigned char c = peek(lexer, 0);
    /* `a?.b` but not `a?.5:1` */
    if (c == '?' && peek(lexer, 1) == '.' && is_name_start(peek(lexer, 2))) {
        ret->kind = BF_TK_SAFE_DOT;
        ret->len = 2;
        return BF_OK;
    }
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        const char *text = signs[i].text;
        if (c == (unsigned char)text[0] &&
            (!text[1] || peek(lexer, 1) == (unsigned char)text[1])) {
            ret->kind = signs[i].kind;
            ret->len = text[1] ? 2 : 1;
            return BF_OK;
        }
    }
    const char *hint = c == '&'   ? "; expected && (and)"
                       : c == '|' ? "; expected || (or)"
                                  : "";
    if (c < 0x20 || c == 0x7F) {
        return bf_expr_error(err, BF_E_PARSE, lexer->text, lexer->len, lexer->at,
                             "unexpected control character 0x%02x", c);
    }
    return bf_expr_error(err, BF_E_PARSE, lexer->text, lexer->len, lexer->at,
                         "unexpected character '%c'%s", c, hint);
}

bf_status_t bf_lex_next(bf_lexer_t *lexer, bf_token_t *ret, bf_err_t *err)
{
    if (!skip_blanks(lexer)) {
        return bf_expr_error(err, BF_E_PARSE, lexer->text, lexer->len, lexer->at,
                             "this comment has no end; expected */");
    }
    ret->pos = lexer->at;
    ret->len = 0;
    ret->kind = BF_TK_END;
    if (lexer->at >= lexer->len) {
        return BF_OK;
    }
    unsigned char c = peek(lexer, 0);
    bf_status_t rc = BF_OK;
    if (is_digit(c)) {
        rc = lex_number(lexer, ret, err);
    } else if (c == '"' || c == '\'') {
        rc = lex_string(lexer, ret, err);
    } else if (is_name_start(c) && !(c == '$' && peek(lexer, 1) == '{')) {
        ret->kind = BF_TK_NAME;
        ret->len = 1;
        while (is_name_part(peek(lexer, ret->len))) {
            ret->len++;
        }
    } else {
        rc = lex_sign(lexer, ret, err);
    }
    if (rc == BF_OK) {
        lexer->at += ret->len;
    }
    return rc;
}
