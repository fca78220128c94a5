/*
 * json.c - reads JSON text into values
 *
 * A parser of our own, since every record goes through it: it writes straight into the
 * arena, and it tells memory that is out from text that is wrong (a record must never
 * become a dead letter because memory was short).
 *
 * Members and items are collected on one stack while their number is not known yet, and
 * copied into the arena when their map or list ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/num.h"
#include "bpmflow/value.h"

enum {
    SMALL_STACK = 32, /* no allocation for small documents */
    SMALL_MAP = 16,   /* up to here duplicates are found by comparing all pairs */
    SMALL_NUMBER = 48
};

typedef struct parser {
    bf_arena_t *arena;
    const char *text;
    const char *at;
    const char *end;
    size_t max_depth;
    bf_err_t *err;
    bf_member_t *stack; /* items have no name */
    size_t used;
    size_t room;
    bf_member_t small[SMALL_STACK];
} parser_t;

static bf_status_t parse_value(parser_t *p, size_t depth, bf_value_t *ret);

/* Line and column (in characters) of a place, both from 1. */
static void locate(const parser_t *p, const char *at, size_t *ret_line,
                   size_t *ret_column)
{
    *ret_line = 1;
    *ret_column = 1;
    for (const char *c = p->text; c < at; c++) {
        if (*c == '\n') {
            (*ret_line)++;
            *ret_column = 1;
        } else if (((unsigned char)*c & 0xC0U) != 0x80U) {
            (*ret_column)++;
        }
    }
}

static bf_status_t fail(parser_t *p, bf_status_t status, const char *at, const char *why)
{
    size_t line = 0;
    size_t column = 0;
    locate(p, at, &line, &column);
    return bf_err_set(p->err, status, "not valid JSON: line %zu column %zu: %s", line,
                      column, why);
}

static bf_status_t wrong(parser_t *p, const char *why)
{
    return fail(p, BF_E_PARSE, p->at, why);
}

static void skip_blanks(parser_t *p)
{
    while (p->at < p->end &&
           (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) {
        p->at++;
    }
}

/* True, and past it, when the next character is this one. */
static bool take(parser_t *p, char c)
{
    if (p->at < p->end && *p->at == c) {
        p->at++;
        return true;
    }
    return false;
}

/* --- the stack of open maps and lists */

static bf_status_t push(parser_t *p, const bf_member_t *member)
{
    if (p->used == p->room) {
        size_t room = (p->room > SMALL_STACK ? p->room : SMALL_STACK) * 2;
        bf_member_t *grown = p->stack == p->small
                                 ? malloc(room * sizeof(*grown))
                                 : realloc(p->stack, room * sizeof(*grown));
        if (!grown) {
            return bf_err_nomem(p->err, "JSON");
        }
        if (p->stack == p->small) {
            memcpy(grown, p->small, sizeof(p->small));
        }
        p->stack = grown;
        p->room = room;
    }
    p->stack[p->used++] = *member;
    return BF_OK;
}

/* --- strings */

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four digits after \u; -1 when they are none. */
static long hex4(const char *at, const char *end)
{
    long code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = at + i < end ? hex(at[i]) : -1;
        if (digit < 0) {
            return -1;
        }
        code = code * 16 + digit;
    }
    return code;
}

static char *put_utf8(char *to, unsigned long code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0U | (code >> 6));
        *to++ = (char)(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0U | (code >> 12));
        *to++ = (char)(0x80U | ((code >> 6) & 0x3FU));
        *to++ = (char)(0x80U | (code & 0x3FU));
    } else {
        *to++ = (char)(0xF0U | (code >> 18));
        *to++ = (char)(0x80U | ((code >> 12) & 0x3FU));
        *to++ = (char)(0x80U | ((code >> 6) & 0x3FU));
        *to++ = (char)(0x80U | (code & 0x3FU));
    }
    return to;
}

/* \uXXXX, or a pair of them. p->at is behind the 'u'. */
static bf_status_t unescape_unicode(parser_t *p, const char *end, char **to)
{
    long code = hex4(p->at, end);
    if (code < 0) {
        return wrong(p, "\\u wants four hexadecimal digits");
    }
    p->at += 4;
    if (code >= 0xD800 && code <= 0xDBFF) {
        long low = end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'u'
                       ? hex4(p->at + 2, end)
                       : -1;
        if (low < 0xDC00 || low > 0xDFFF) {
            return wrong(p, "half of a \\u pair (surrogate) without the other half");
        }
        p->at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
        return wrong(p, "half of a \\u pair (surrogate) without the other half");
    } else if (code == 0) {
        return wrong(p, "\\u0000 is not allowed");
    }
    *to = put_utf8(*to, (unsigned long)code);
    return BF_OK;
}

/* One escape; p->at is behind the backslash. */
static bf_status_t unescape(parser_t *p, const char *end, char **to)
{
    static const char from[] = "\"\\/bfnrt";
    static const char into[] = "\"\\/\b\f\n\r\t";
    const char *found = p->at < end && *p->at ? strchr(from, *p->at) : NULL;
    if (found) {
        *(*to)++ = into[found - from];
        p->at++;
        return BF_OK;
    }
    if (take(p, 'u')) {
        return unescape_unicode(p, end, to);
    }
    return wrong(p, "unknown escape in a string");
}

/* The closing quote of the string that begins at p->at, or NULL and an error. */
static const char *string_end(parser_t *p, bool *ret_escapes)
{
    *ret_escapes = false;
    for (const char *c = p->at; c < p->end; c++) {
        if (*c == '"') {
            return c;
        }
        if ((unsigned char)*c < 0x20) {
            (void)fail(p, BF_E_PARSE, c,
                       "control character in a string; write it as \\u00XX");
            return NULL;
        }
        if (*c == '\\') {
            *ret_escapes = true;
            c++;
        }
    }
    (void)fail(p, BF_E_PARSE, p->end, "the text ends inside of a string");
    return NULL;
}

/* p->at is behind the opening quote. */
static bf_status_t parse_string(parser_t *p, const char **ret, uint32_t *ret_len)
{
    bool escapes = false;
    const char *end = string_end(p, &escapes);
    if (!end) {
        return BF_E_PARSE;
    }
    size_t len = (size_t)(end - p->at);
    if (!bf_utf8_is_valid(p->at, len)) {
        return wrong(p, "a string that is not UTF-8");
    }
    char *copy = escapes ? bf_arena_alloc(p->arena, len + 1)
                         : bf_arena_strndup(p->arena, p->at, len);
    if (!copy) {
        return bf_err_nomem(p->err, "JSON string");
    }
    if (escapes) {
        char *to = copy;
        while (p->at < end) {
            if (*p->at != '\\') {
                *to++ = *p->at++;
                continue;
            }
            p->at++;
            bf_status_t rc = unescape(p, end, &to);
            if (rc != BF_OK) {
                return rc;
            }
        }
        *to = '\0';
        len = (size_t)(to - copy);
    }
    p->at = end + 1;
    *ret = copy;
    *ret_len = (uint32_t)len;
    return BF_OK;
}

/* --- numbers */

static const char *skip_digits(const parser_t *p, const char *c)
{
    while (c < p->end && *c >= '0' && *c <= '9') {
        c++;
    }
    return c;
}

/* The end of a number by the grammar; NULL when it is none. */
static const char *number_end(const parser_t *p, bool *ret_real)
{
    const char *c = p->at < p->end && *p->at == '-' ? p->at + 1 : p->at;
    const char *digits = c;
    c = skip_digits(p, c);
    if (c == digits || (*digits == '0' && c - digits > 1)) {
        return NULL;
    }
    *ret_real = false;
    if (c < p->end && *c == '.') {
        *ret_real = true;
        digits = c + 1;
        c = skip_digits(p, digits);
        if (c == digits) {
            return NULL;
        }
    }
    if (c < p->end && (*c == 'e' || *c == 'E')) {
        *ret_real = true;
        c++;
        c += c < p->end && (*c == '+' || *c == '-') ? 1 : 0;
        digits = c;
        c = skip_digits(p, digits);
        if (c == digits) {
            return NULL;
        }
    }
    return c;
}

static bf_status_t parse_real(parser_t *p, size_t len, bf_value_t *ret)
{
    char small[SMALL_NUMBER];
    char *digits = small;
    if (len < sizeof(small)) {
        memcpy(small, p->at, len);
        small[len] = '\0';
    } else {
        digits = bf_arena_strndup(p->arena, p->at, len);
        if (!digits) {
            return bf_err_nomem(p->err, "JSON number");
        }
    }
    double real = bf_num_read_real(digits, NULL);
    if (!isfinite(real)) {
        return fail(p, BF_E_LIMIT, p->at, "a number that is too large");
    }
    *ret = bf_value_real(real);
    return BF_OK;
}

static bf_status_t parse_number(parser_t *p, bf_value_t *ret)
{
    bool real = false;
    const char *end = number_end(p, &real);
    if (!end) {
        return wrong(p, "not a number as JSON writes it");
    }
    size_t len = (size_t)(end - p->at);
    bf_status_t rc = BF_OK;
    if (real) {
        rc = parse_real(p, len, ret);
    } else {
        int64_t integer = 0;
        if (bf_num_parse_i64(p->at, len, &integer, NULL) != BF_OK) {
            return fail(p, BF_E_LIMIT, p->at, "a whole number beyond 64 bit");
        }
        *ret = bf_value_int(integer);
    }
    p->at = end;
    return rc;
}

/* --- lists and maps */

static bf_status_t parse_list(parser_t *p, size_t depth, bf_value_t *ret)
{
    size_t base = p->used;
    skip_blanks(p);
    bool more = !take(p, ']');
    while (more) {
        bf_member_t item = {0};
        bf_status_t rc = parse_value(p, depth + 1, &item.value);
        rc = rc == BF_OK ? push(p, &item) : rc;
        if (rc != BF_OK) {
            return rc;
        }
        skip_blanks(p);
        more = take(p, ',');
        if (!more && !take(p, ']')) {
            return wrong(p, "',' or ']' is missing after an item of a list");
        }
    }
    size_t count = p->used - base;
    bf_value_t *items = bf_arena_calloc(p->arena, count, sizeof(*items));
    if (!items) {
        return bf_err_nomem(p->err, "JSON list");
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = p->stack[base + i].value;
    }
    p->used = base;
    *ret = (bf_value_t){.type = BF_VALUE_LIST, .len = (uint32_t)count, .as.items = items};
    return BF_OK;
}

static int compare_names(const void *a, const void *b)
{
    const bf_member_t *x = *(const bf_member_t *const *)a;
    const bf_member_t *y = *(const bf_member_t *const *)b;
    if (x->name_len != y->name_len) {
        return x->name_len < y->name_len ? -1 : 1;
    }
    return memcmp(x->name, y->name, x->name_len);
}

static bf_status_t duplicate(parser_t *p, const bf_member_t *member)
{
    size_t line = 0;
    size_t column = 0;
    locate(p, p->at, &line, &column);
    return bf_err_set(p->err, BF_E_PARSE,
                      "not valid JSON: line %zu column %zu: duplicate member \"%.60s\"",
                      line, column, member->name);
}

/* Sorting keeps a map with very many members from costing the square of their number. */
static bf_status_t refuse_duplicates_sorted(parser_t *p, const bf_member_t *members,
                                            size_t count)
{
    const bf_member_t **order = malloc(count * sizeof(const bf_member_t *));
    if (!order) {
        return bf_err_nomem(p->err, "JSON object");
    }
    for (size_t i = 0; i < count; i++) {
        order[i] = &members[i];
    }
    qsort(order, count, sizeof(const bf_member_t *), compare_names);
    bf_status_t rc = BF_OK;
    for (size_t i = 1; i < count && rc == BF_OK; i++) {
        if (compare_names(&order[i - 1], &order[i]) == 0) {
            rc = duplicate(p, order[i]);
        }
    }
    free(order);
    return rc;
}

static bf_status_t refuse_duplicates(parser_t *p, const bf_member_t *members,
                                     size_t count)
{
    if (count > SMALL_MAP) {
        return refuse_duplicates_sorted(p, members, count);
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (members[i].name_len == members[j].name_len &&
                memcmp(members[i].name, members[j].name, members[i].name_len) == 0) {
                return duplicate(p, &members[i]);
            }
        }
    }
    return BF_OK;
}

static bf_status_t parse_member(parser_t *p, size_t depth)
{
    bf_member_t member = {0};
    skip_blanks(p);
    if (!take(p, '"')) {
        return wrong(p, "the name of a member (a string) is missing");
    }
    bf_status_t rc = parse_string(p, &member.name, &member.name_len);
    if (rc != BF_OK) {
        return rc;
    }
    skip_blanks(p);
    if (!take(p, ':')) {
        return wrong(p, "':' is missing after the name of a member");
    }
    rc = parse_value(p, depth + 1, &member.value);
    return rc == BF_OK ? push(p, &member) : rc;
}

static bf_status_t parse_map(parser_t *p, size_t depth, bf_value_t *ret)
{
    size_t base = p->used;
    skip_blanks(p);
    bool more = !take(p, '}');
    while (more) {
        bf_status_t rc = parse_member(p, depth);
        if (rc != BF_OK) {
            return rc;
        }
        skip_blanks(p);
        more = take(p, ',');
        if (!more && !take(p, '}')) {
            return wrong(p, "',' or '}' is missing after a member of an object");
        }
    }
    size_t count = p->used - base;
    bf_member_t *members = bf_arena_calloc(p->arena, count, sizeof(*members));
    if (!members) {
        return bf_err_nomem(p->err, "JSON object");
    }
    if (count > 0) {
        memcpy(members, p->stack + base, count * sizeof(*members));
    }
    p->used = base;
    *ret =
        (bf_value_t){.type = BF_VALUE_MAP, .len = (uint32_t)count, .as.members = members};
    return refuse_duplicates(p, members, count);
}

static bf_status_t parse_word(parser_t *p, bf_value_t *ret)
{
    static const struct {
        const char *word;
        size_t len;
        bf_value_t value;
    } words[] = {
        {"true", 4, {.type = BF_VALUE_BOOL, .as.boolean = true}},
        {"false", 5, {.type = BF_VALUE_BOOL, .as.boolean = false}},
        {"null", 4, {.type = BF_VALUE_NULL}},
    };
    size_t left = (size_t)(p->end - p->at);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (left >= words[i].len && memcmp(p->at, words[i].word, words[i].len) == 0) {
            p->at += words[i].len;
            *ret = words[i].value;
            return BF_OK;
        }
    }
    return wrong(p, left == 0 ? "the text ends where a value should be"
                              : "a value is missing (object, list, string, number, true, "
                                "false or null)");
}

static bf_status_t parse_value(parser_t *p, size_t depth, bf_value_t *ret)
{
    if (depth > p->max_depth) {
        return bf_err_set(p->err, BF_E_LIMIT, "JSON is nested deeper than %zu levels",
                          p->max_depth);
    }
    skip_blanks(p);
    char c = '\0';
    if (p->at < p->end) {
        c = *p->at;
    }
    if (c == '"') {
        p->at++;
        ret->type = BF_VALUE_STRING;
        return parse_string(p, &ret->as.string, &ret->len);
    }
    if (c == '{' || c == '[') {
        p->at++;
        return c == '{' ? parse_map(p, depth, ret) : parse_list(p, depth, ret);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return parse_number(p, ret);
    }
    return parse_word(p, ret);
}

bf_status_t bf_json_parse(bf_arena_t *arena, const char *text, size_t len,
                          const bf_json_limits_t *limits, bf_value_t *ret, bf_err_t *err)
{
    size_t max_bytes =
        limits && limits->max_bytes ? limits->max_bytes : BF_JSON_MAX_BYTES;
    size_t max_depth =
        limits && limits->max_depth ? limits->max_depth : BF_JSON_MAX_DEPTH;
    if (len > max_bytes || len > UINT32_MAX) {
        return bf_err_set(err, BF_E_LIMIT, "JSON of %zu bytes; at most %zu are allowed",
                          len, max_bytes);
    }
    parser_t p = {.arena = arena,
                  .text = text ? text : "",
                  .max_depth = max_depth,
                  .err = err,
                  .room = SMALL_STACK};
    p.stack = p.small;
    p.at = p.text;
    p.end = p.text + len;
    bf_value_t value = {0};
    bf_status_t rc = parse_value(&p, 1, &value);
    if (rc == BF_OK) {
        skip_blanks(&p);
        if (p.at < p.end) {
            rc = wrong(&p, "there is more text behind the value");
        }
    }
    if (p.stack != p.small) {
        free(p.stack);
    }
    if (rc == BF_OK) {
        *ret = value;
    }
    return rc;
}
