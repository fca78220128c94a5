/*
 * ops.c - operators on values
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "bpmflow/decimal.h"
#include "bpmflow/id.h"
#include "lib/expr/expr_int.h"

bool bf_op_is_number(const bf_value_t *value)
{
    return value->type == BF_VALUE_INT || value->type == BF_VALUE_REAL;
}

double bf_op_real(const bf_value_t *number)
{
    return number->type == BF_VALUE_INT ? (double)number->as.integer : number->as.real;
}

static const char *op_sign(bf_op_t op)
{
    switch ((int)op) {
    case BF_OP_ADD:
        return "+";
    case BF_OP_SUB:
        return "-";
    case BF_OP_MUL:
        return "*";
    case BF_OP_DIV:
        return "/";
    case BF_OP_MOD:
        return "%";
    case BF_OP_LT:
        return "<";
    case BF_OP_LE:
        return "<=";
    case BF_OP_GT:
        return ">";
    default:
        return ">=";
    }
}

/* --- arithmetic --- */

static bf_status_t concatenate(bf_vm_t *vm, const bf_value_t *a, const bf_value_t *b,
                               bf_value_t *ret)
{
    bf_value_t left;
    bf_value_t right;
    bf_status_t rc = bf_vm_text(vm, a, &left);
    if (rc == BF_OK) {
        rc = bf_vm_text(vm, b, &right);
    }
    if (rc != BF_OK) {
        return rc;
    }
    void *data = NULL;
    rc = bf_vm_alloc(vm, (size_t)left.len + right.len + 1, &data);
    if (rc != BF_OK || !data) {
        return rc;
    }
    char *text = data;
    memcpy(text, left.as.string, left.len);
    memcpy(text + left.len, right.as.string, right.len);
    text[left.len + right.len] = '\0';
    *ret = bf_value_string(text, (size_t)left.len + right.len);
    return BF_OK;
}

static bf_status_t integer_arithmetic(bf_vm_t *vm, bf_op_t op, int64_t a, int64_t b,
                                      bf_value_t *ret)
{
    int64_t result = 0;
    bool overflow = false;
    if ((op == BF_OP_DIV || op == BF_OP_MOD) && b == 0) {
        return bf_vm_fail(vm, "division by zero");
    }
    switch ((int)op) {
    case BF_OP_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case BF_OP_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case BF_OP_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case BF_OP_DIV:
        overflow = a == INT64_MIN && b == -1;
        result = overflow ? 0 : a / b;
        break;
    default:
        /* The smallest number divided by -1 has no remainder, but the machine traps. */
        result = b == -1 ? 0 : a % b;
        break;
    }
    if (overflow) {
        return bf_vm_fail(vm, "the result of %s does not fit in 64 bit", op_sign(op));
    }
    *ret = bf_value_int(result);
    return BF_OK;
}

static bf_value_t real_arithmetic(bf_op_t op, double a, double b)
{
    switch ((int)op) {
    case BF_OP_ADD:
        return bf_value_real(a + b);
    case BF_OP_SUB:
        return bf_value_real(a - b);
    case BF_OP_MUL:
        return bf_value_real(a * b);
    case BF_OP_DIV:
        return bf_value_real(a / b);
    default:
        return bf_value_real(fmod(a, b));
    }
}

bf_status_t bf_op_arithmetic(bf_vm_t *vm, bf_op_t op, const bf_value_t *a,
                             const bf_value_t *b, bf_value_t *ret)
{
    if (a->type == BF_VALUE_INT && b->type == BF_VALUE_INT) {
        return integer_arithmetic(vm, op, a->as.integer, b->as.integer, ret);
    }
    if (bf_op_is_number(a) && bf_op_is_number(b)) {
        *ret = real_arithmetic(op, bf_op_real(a), bf_op_real(b));
        return BF_OK;
    }
    if (op == BF_OP_ADD && (a->type == BF_VALUE_STRING || b->type == BF_VALUE_STRING)) {
        return concatenate(vm, a, b, ret);
    }
    const char *hint = a->type == BF_VALUE_NULL || b->type == BF_VALUE_NULL
                           ? "; write (x ?? 0) where a variable may be missing"
                       : a->type == BF_VALUE_STRING || b->type == BF_VALUE_STRING
                           ? "; number(x) makes a number of a text"
                           : "";
    return bf_vm_fail(vm, "cannot compute %s %s %s%s", bf_value_type_name(a->type),
                      op_sign(op), bf_value_type_name(b->type), hint);
}

bf_status_t bf_op_negate(bf_vm_t *vm, const bf_value_t *a, bf_value_t *ret)
{
    if (a->type == BF_VALUE_REAL) {
        *ret = bf_value_real(-a->as.real);
        return BF_OK;
    }
    if (a->type != BF_VALUE_INT) {
        return bf_vm_fail(vm, "cannot negate a %s; expected a number",
                          bf_value_type_name(a->type));
    }
    if (a->as.integer == INT64_MIN) {
        return bf_vm_fail(vm, "the result of - does not fit in 64 bit");
    }
    *ret = bf_value_int(-a->as.integer);
    return BF_OK;
}

/* --- equality --- */

static bf_status_t equal_items(bf_vm_t *vm, const bf_value_t *a, const bf_value_t *b,
                               bool *ret)
{
    *ret = a->len == b->len;
    for (uint32_t i = 0; *ret && i < a->len; i++) {
        bf_status_t rc = bf_op_equal(vm, &a->as.items[i], &b->as.items[i], ret);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

static bf_status_t equal_members(bf_vm_t *vm, const bf_value_t *a, const bf_value_t *b,
                                 bool *ret)
{
    *ret = a->len == b->len;
    for (uint32_t i = 0; *ret && i < a->len; i++) {
        const bf_member_t *m = &a->as.members[i];
        bf_status_t rc = bf_vm_charge(vm, b->len / 8 + 1U);
        if (rc != BF_OK) {
            return rc;
        }
        const bf_value_t *other = bf_value_get(b, m->name, m->name_len);
        if (!other) {
            *ret = false;
            return BF_OK;
        }
        rc = bf_op_equal(vm, &m->value, other, ret);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* Values nest at most BF_EXPR_MAX_VALUE_DEPTH plus what one expression adds. */
bf_status_t bf_op_equal(bf_vm_t *vm, const bf_value_t *a, const bf_value_t *b, bool *ret)
{
    if (a->type == BF_VALUE_INT && b->type == BF_VALUE_INT) {
        *ret = a->as.integer == b->as.integer;
        return BF_OK;
    }
    if (bf_op_is_number(a) && bf_op_is_number(b)) {
        *ret = bf_op_real(a) == bf_op_real(b);
        return BF_OK;
    }
    if (a->type != b->type) {
        *ret = false;
        return BF_OK;
    }
    bf_status_t rc = BF_OK;
    switch ((int)a->type) {
    case BF_VALUE_BOOL:
        *ret = a->as.boolean == b->as.boolean;
        return BF_OK;
    case BF_VALUE_STRING:
        *ret = a->len == b->len;
        if (*ret) {
            rc = bf_vm_charge(vm, a->len / 64);
            *ret = rc == BF_OK && !memcmp(a->as.string, b->as.string, a->len);
        }
        return rc;
    case BF_VALUE_LIST:
        rc = bf_vm_charge(vm, 1);
        return rc == BF_OK ? equal_items(vm, a, b, ret) : rc;
    case BF_VALUE_MAP:
        rc = bf_vm_charge(vm, 1);
        return rc == BF_OK ? equal_members(vm, a, b, ret) : rc;
    default:
        *ret = true; /* null */
        return BF_OK;
    }
}

/* --- order --- */

static bool ordered(bf_op_t op, bool less, bool equal, bool greater)
{
    switch ((int)op) {
    case BF_OP_LT:
        return less;
    case BF_OP_LE:
        return less || equal;
    case BF_OP_GT:
        return greater;
    default:
        return greater || equal;
    }
}

bf_status_t bf_op_order(bf_vm_t *vm, bf_op_t op, const bf_value_t *a, const bf_value_t *b,
                        bool *ret)
{
    if (a->type == BF_VALUE_INT && b->type == BF_VALUE_INT) {
        int64_t x = a->as.integer;
        int64_t y = b->as.integer;
        *ret = ordered(op, x<y, x == y, x> y);
        return BF_OK;
    }
    if (bf_op_is_number(a) && bf_op_is_number(b)) {
        double x = bf_op_real(a);
        double y = bf_op_real(b);
        *ret = ordered(op, x<y, x == y, x> y);
        return BF_OK;
    }
    if (a->type == BF_VALUE_NULL || b->type == BF_VALUE_NULL) {
        *ret = false; /* rule 89 */
        return BF_OK;
    }
    if (a->type == BF_VALUE_STRING && b->type == BF_VALUE_STRING &&
        bf_decimal_is_text(a->as.string, a->len) &&
        bf_decimal_is_text(b->as.string, b->len)) {
        bf_status_t rc = bf_vm_charge(vm, ((size_t)a->len + b->len) / 64);
        int order = bf_decimal_compare(a->as.string, a->len, b->as.string, b->len);
        *ret = ordered(op, order<0, order == 0, order> 0);
        return rc;
    }
    const char *hint =
        a->type == BF_VALUE_STRING && b->type == BF_VALUE_STRING
            ? "; compare(a, b) orders texts, date(x) makes a number of a date"
        : a->type == BF_VALUE_STRING || b->type == BF_VALUE_STRING
            ? "; number(x) makes a number of a text"
            : "";
    return bf_vm_fail(vm, "cannot compare %s %s %s: expected numbers%s",
                      bf_value_type_name(a->type), op_sign(op),
                      bf_value_type_name(b->type), hint);
}

/* --- containment --- */

bf_status_t bf_op_in(bf_vm_t *vm, const bf_value_t *item, const bf_value_t *holder,
                     bool *ret)
{
    *ret = false;
    bf_status_t rc = BF_OK;
    switch ((int)holder->type) {
    case BF_VALUE_NULL:
        return BF_OK;
    case BF_VALUE_LIST:
        rc = bf_vm_charge(vm, holder->len / 4);
        for (uint32_t i = 0; rc == BF_OK && !*ret && i < holder->len; i++) {
            rc = bf_op_equal(vm, item, &holder->as.items[i], ret);
        }
        return rc;
    case BF_VALUE_MAP:
        rc = bf_vm_charge(vm, holder->len / 4);
        *ret = item->type == BF_VALUE_STRING &&
               bf_value_get(holder, item->as.string, item->len);
        return rc;
    case BF_VALUE_STRING:
        return bf_op_like(vm, holder, item, ret);
    default:
        return bf_vm_fail(vm, "expected a list, a map or a text to look in, found %s",
                          bf_value_type_name(holder->type));
    }
}

bf_status_t bf_op_like(bf_vm_t *vm, const bf_value_t *text, const bf_value_t *part,
                       bool *ret)
{
    *ret = false;
    if (text->type == BF_VALUE_NULL || part->type == BF_VALUE_NULL) {
        return BF_OK;
    }
    bf_value_t haystack;
    bf_value_t needle;
    bf_status_t rc = bf_vm_text(vm, text, &haystack);
    if (rc == BF_OK) {
        rc = bf_vm_text(vm, part, &needle);
    }
    if (rc == BF_OK) {
        rc = bf_vm_charge(vm, haystack.len / 16);
    }
    if (rc == BF_OK) {
        *ret = needle.len == 0 || memmem(haystack.as.string, haystack.len,
                                         needle.as.string, needle.len) != NULL;
    }
    return rc;
}

bf_status_t bf_op_matches(bf_vm_t *vm, const bf_value_t *text, const bf_regex_t *regex,
                          bool *ret)
{
    *ret = false;
    if (text->type == BF_VALUE_NULL) {
        return BF_OK;
    }
    bf_value_t subject;
    bf_status_t rc = bf_vm_text(vm, text, &subject);
    if (rc == BF_OK) {
        rc = bf_vm_charge(vm, ((size_t)subject.len + 1) * bf_regex_states(regex) / 16);
    }
    if (rc == BF_OK && bf_regex_match(regex, subject.as.string, subject.len,
                                      vm->env->arena, ret) != BF_OK) {
        rc = bf_err_nomem(vm->err, "expression");
    }
    return rc;
}

/* --- access --- */

/* The character at a place, or null. */
static bf_status_t index_text(bf_vm_t *vm, const bf_value_t *text, int64_t index,
                              bf_value_t *ret)
{
    bf_status_t rc = bf_vm_charge(vm, text->len / 64);
    if (rc != BF_OK) {
        return rc;
    }
    *ret = bf_value_null();
    int64_t n = -1;
    for (uint32_t i = 0; i < text->len; i++) {
        if (((unsigned char)text->as.string[i] & 0xC0) == 0x80 || ++n != index) {
            continue;
        }
        uint32_t end = i + 1;
        while (end < text->len && ((unsigned char)text->as.string[end] & 0xC0) == 0x80) {
            end++;
        }
        return bf_vm_string(vm, text->as.string + i, end - i, ret);
    }
    return BF_OK;
}

bf_status_t bf_op_index(bf_vm_t *vm, const bf_value_t *holder, const bf_value_t *key,
                        bf_value_t *ret)
{
    const bf_value_t *found = NULL;
    if (holder->type == BF_VALUE_NULL || key->type == BF_VALUE_NULL) {
        *ret = bf_value_null();
        return BF_OK;
    }
    if (holder->type == BF_VALUE_MAP) {
        bf_value_t name;
        bf_status_t rc = bf_vm_text(vm, key, &name);
        if (rc != BF_OK) {
            return rc;
        }
        found = bf_value_get(holder, name.as.string, name.len);
    } else if (holder->type == BF_VALUE_LIST && key->type == BF_VALUE_INT) {
        int64_t i = key->as.integer;
        found = i >= 0 && i < (int64_t)holder->len ? &holder->as.items[i] : NULL;
    } else if (holder->type == BF_VALUE_STRING && key->type == BF_VALUE_INT) {
        return index_text(vm, holder, key->as.integer, ret);
    } else {
        return bf_vm_fail(vm, "a %s has no item for a %s in [ ]",
                          bf_value_type_name(holder->type),
                          bf_value_type_name(key->type));
    }
    *ret = found ? *found : bf_value_null();
    return BF_OK;
}

/* --- sizes --- */

/* A value may share parts with itself (`[x, x]`): counting stops at the limit. */
static bool count_bytes(const bf_value_t *value, uint32_t depth, size_t *bytes)
{
    *bytes += sizeof(*value);
    if (value->type == BF_VALUE_STRING) {
        *bytes += value->len;
    }
    if (depth > BF_EXPR_MAX_VALUE_DEPTH || *bytes > BF_EXPR_MAX_RESULT_BYTES) {
        return false;
    }
    if (value->type == BF_VALUE_LIST) {
        for (uint32_t i = 0; i < value->len; i++) {
            if (!count_bytes(&value->as.items[i], depth + 1, bytes)) {
                return false;
            }
        }
    } else if (value->type == BF_VALUE_MAP) {
        for (uint32_t i = 0; i < value->len; i++) {
            *bytes += value->as.members[i].name_len;
            if (!count_bytes(&value->as.members[i].value, depth + 1, bytes)) {
                return false;
            }
        }
    }
    return true;
}

bf_status_t bf_op_check_size(bf_vm_t *vm, const bf_value_t *value)
{
    size_t bytes = 0;
    if (value->type < BF_VALUE_STRING || count_bytes(value, 0, &bytes)) {
        return BF_OK;
    }
    return bf_vm_fail(vm,
                      "this value is too large for a variable: at most %zu bytes and %d "
                      "levels of nesting",
                      BF_EXPR_MAX_RESULT_BYTES, BF_EXPR_MAX_VALUE_DEPTH);
}
