/*
 * value.c - JSON values: compare, copy, write (json.c reads)
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/value.h"

#include <math.h>
#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/num.h"

const char *bf_value_type_name(bf_value_type_t type)
{
    static const char *const names[] = {"null",   "boolean", "integer", "number",
                                        "string", "list",    "map"};
    return (unsigned)type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

const bf_value_t *bf_value_get_str(const bf_value_t *map, const char *name)
{
    return bf_value_get(map, name, strlen(name));
}

const char *bf_value_get_cstr(const bf_value_t *map, const char *name)
{
    const bf_value_t *v = bf_value_get_str(map, name);
    return v && v->type == BF_VALUE_STRING ? v->as.string : NULL;
}

static bool equal_lists(const bf_value_t *a, const bf_value_t *b)
{
    for (uint32_t i = 0; i < a->len; i++) {
        if (!bf_value_equal(&a->as.items[i], &b->as.items[i])) {
            return false;
        }
    }
    return true;
}

static bool equal_maps(const bf_value_t *a, const bf_value_t *b)
{
    for (uint32_t i = 0; i < a->len; i++) {
        const bf_member_t *m = &a->as.members[i];
        const bf_value_t *other = bf_value_get(b, m->name, m->name_len);
        if (!other || !bf_value_equal(&m->value, other)) {
            return false;
        }
    }
    return true;
}

/* An integer equals a double only when the double has exactly that value. */
static bool equal_int_real(int64_t integer, double real)
{
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 &&
           real == floor(real) && (int64_t)real == integer;
}

bool bf_value_equal(const bf_value_t *a, const bf_value_t *b)
{
    if (a->type == BF_VALUE_INT && b->type == BF_VALUE_REAL) {
        return equal_int_real(a->as.integer, b->as.real);
    }
    if (a->type == BF_VALUE_REAL && b->type == BF_VALUE_INT) {
        return equal_int_real(b->as.integer, a->as.real);
    }
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case BF_VALUE_NULL:
        return true;
    case BF_VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    case BF_VALUE_INT:
        return a->as.integer == b->as.integer;
    case BF_VALUE_REAL:
        return a->as.real == b->as.real;
    case BF_VALUE_STRING:
        return a->len == b->len && !memcmp(a->as.string, b->as.string, a->len);
    case BF_VALUE_LIST:
        return a->len == b->len && equal_lists(a, b);
    case BF_VALUE_MAP:
        return a->len == b->len && equal_maps(a, b);
    }
    return false;
}

static bf_status_t copy_list(bf_arena_t *arena, const bf_value_t *value, bf_value_t *ret)
{
    bf_value_t *items = bf_arena_calloc(arena, value->len, sizeof(*items));
    if (!items) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < value->len; i++) {
        bf_status_t rc = bf_value_copy(arena, &value->as.items[i], &items[i]);
        if (rc != BF_OK) {
            return rc;
        }
    }
    ret->as.items = items;
    return BF_OK;
}

static bf_status_t copy_map(bf_arena_t *arena, const bf_value_t *value, bf_value_t *ret)
{
    bf_member_t *members = bf_arena_calloc(arena, value->len, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < value->len; i++) {
        const bf_member_t *m = &value->as.members[i];
        members[i].name = bf_arena_strndup(arena, m->name, m->name_len);
        members[i].name_len = m->name_len;
        if (!members[i].name) {
            return BF_E_NOMEM;
        }
        bf_status_t rc = bf_value_copy(arena, &m->value, &members[i].value);
        if (rc != BF_OK) {
            return rc;
        }
    }
    ret->as.members = members;
    return BF_OK;
}

bf_status_t bf_value_copy(bf_arena_t *arena, const bf_value_t *value, bf_value_t *ret)
{
    bf_value_t copy = *value;
    bf_status_t rc = BF_OK;
    if (value->type == BF_VALUE_STRING) {
        copy.as.string = bf_arena_strndup(arena, value->as.string, value->len);
        rc = copy.as.string ? BF_OK : BF_E_NOMEM;
    } else if (value->type == BF_VALUE_LIST && value->len) {
        rc = copy_list(arena, value, &copy);
    } else if (value->type == BF_VALUE_MAP && value->len) {
        rc = copy_map(arena, value, &copy);
    }
    if (rc == BF_OK) {
        *ret = copy;
    }
    return rc;
}

size_t bf_value_deep_bytes(const bf_value_t *value)
{
    size_t sum = 0;
    if (value->type == BF_VALUE_STRING) {
        sum = value->len + 1U;
    } else if (value->type == BF_VALUE_LIST) {
        for (uint32_t i = 0; i < value->len; i++) {
            sum += sizeof(bf_value_t) + bf_value_deep_bytes(&value->as.items[i]);
        }
    } else if (value->type == BF_VALUE_MAP) {
        for (uint32_t i = 0; i < value->len; i++) {
            sum += sizeof(bf_member_t) + value->as.members[i].name_len + 1U +
                   bf_value_deep_bytes(&value->as.members[i].value);
        }
    }
    return sum;
}

/* --- writing --- */

static void write_escape(bf_str_t *str, unsigned char c)
{
    switch (c) {
    case '"':
        bf_str_append(str, "\\\"", 2);
        return;
    case '\\':
        bf_str_append(str, "\\\\", 2);
        return;
    case '\n':
        bf_str_append(str, "\\n", 2);
        return;
    case '\r':
        bf_str_append(str, "\\r", 2);
        return;
    case '\t':
        bf_str_append(str, "\\t", 2);
        return;
    default:
        bf_str_printf(str, "\\u%04x", c);
        return;
    }
}

void bf_json_write_string(bf_str_t *str, const char *text, size_t len)
{
    bf_str_putc(str, '"');
    size_t start = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        bf_str_append(str, text + start, i - start);
        write_escape(str, c);
        start = i + 1;
    }
    bf_str_append(str, text + start, len - start);
    bf_str_putc(str, '"');
}

static void write_real(bf_str_t *str, double real)
{
    if (!isfinite(real)) {
        bf_str_append(str, "null", 4);
        return;
    }
    char text[BF_NUM_TEXT_MAX];
    bf_num_format_real(real, text);
    bf_str_puts(str, text);
}

static void write_break(bf_str_t *str, int indent)
{
    if (indent < 0) {
        return;
    }
    bf_str_putc(str, '\n');
    for (int i = 0; i < indent; i++) {
        bf_str_append(str, "  ", 2);
    }
}

/* indent < 0: compact. */
static void write_value(bf_str_t *str, const bf_value_t *value, int indent)
{
    int inner = indent < 0 ? -1 : indent + 1;
    switch (value->type) {
    case BF_VALUE_NULL:
        bf_str_append(str, "null", 4);
        break;
    case BF_VALUE_BOOL:
        bf_str_puts(str, value->as.boolean ? "true" : "false");
        break;
    case BF_VALUE_INT:
        bf_str_put_i64(str, value->as.integer);
        break;
    case BF_VALUE_REAL:
        write_real(str, value->as.real);
        break;
    case BF_VALUE_STRING:
        bf_json_write_string(str, value->as.string, value->len);
        break;
    case BF_VALUE_LIST:
        bf_str_putc(str, '[');
        for (uint32_t i = 0; i < value->len; i++) {
            bf_str_puts(str, i ? "," : "");
            write_break(str, inner);
            write_value(str, &value->as.items[i], inner);
        }
        write_break(str, value->len ? indent : -1);
        bf_str_putc(str, ']');
        break;
    case BF_VALUE_MAP:
        bf_str_putc(str, '{');
        for (uint32_t i = 0; i < value->len; i++) {
            const bf_member_t *m = &value->as.members[i];
            bf_str_puts(str, i ? "," : "");
            write_break(str, inner);
            bf_json_write_string(str, m->name, m->name_len);
            bf_str_puts(str, indent < 0 ? ":" : ": ");
            write_value(str, &m->value, inner);
        }
        write_break(str, value->len ? indent : -1);
        bf_str_putc(str, '}');
        break;
    }
}

void bf_json_write(bf_str_t *str, const bf_value_t *value)
{
    write_value(str, value, -1);
}

void bf_json_write_pretty(bf_str_t *str, const bf_value_t *value)
{
    write_value(str, value, 0);
}

void bf_value_write_text(bf_str_t *str, const bf_value_t *value)
{
    if (value->type == BF_VALUE_STRING) {
        bf_str_append(str, value->as.string, value->len);
    } else {
        bf_json_write(str, value);
    }
}
