/*
 * func_num.c - functions on numbers
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "bpmflow/num.h"
#include "lib/expr/expr_int.h"

#define MAX_DIGITS 15 /* of round(): what a double holds */

static bf_status_t expect_number(bf_vm_t *vm, const char *what, const bf_value_t *value)
{
    if (bf_op_is_number(value)) {
        return BF_OK;
    }
    return bf_vm_fail(vm, "%s: expected a number, found %s", what,
                      bf_value_type_name(value->type));
}

/* A double without fraction as an integer. */
static bf_status_t to_integer(bf_vm_t *vm, const char *what, double real, bf_value_t *ret)
{
    if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) {
        return bf_vm_fail(vm, "%s: the number does not fit in 64 bit", what);
    }
    *ret = bf_value_int((int64_t)real);
    return BF_OK;
}

static bf_status_t fn_abs(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_number(vm, "abs", &args[0]);
    if (rc != BF_OK) {
        return rc;
    }
    bool negative = bf_op_real(&args[0]) < 0;
    *ret = args[0];
    return negative ? bf_op_negate(vm, &args[0], ret) : BF_OK;
}

/* The arguments, or the items of the one list. */
static void spread(const bf_value_t *args, uint32_t argc, const bf_value_t **ret_items,
                   uint32_t *ret_count)
{
    bool list = argc == 1 && args[0].type == BF_VALUE_LIST;
    *ret_items = list ? args[0].as.items : args;
    *ret_count = list ? args[0].len : argc;
}

static bf_status_t extreme(bf_vm_t *vm, const char *what, bf_op_t op,
                           const bf_value_t *args, uint32_t argc, bf_value_t *ret)
{
    const bf_value_t *items;
    uint32_t count;
    spread(args, argc, &items, &count);
    bf_status_t rc = bf_vm_charge(vm, count / 4);
    *ret = bf_value_null();
    for (uint32_t i = 0; rc == BF_OK && i < count; i++) {
        bool better = i == 0;
        rc = expect_number(vm, what, &items[i]);
        if (rc == BF_OK && i) {
            rc = bf_op_order(vm, op, &items[i], ret, &better);
        }
        if (better) {
            *ret = items[i];
        }
    }
    return rc;
}

static bf_status_t fn_min(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    return extreme(vm, "min", BF_OP_LT, args, argc, ret);
}

static bf_status_t fn_max(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    return extreme(vm, "max", BF_OP_GT, args, argc, ret);
}

static bf_status_t fn_sum(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    const bf_value_t *items;
    uint32_t count;
    spread(args, argc, &items, &count);
    bf_value_t sum = bf_value_int(0);
    bf_status_t rc = bf_vm_charge(vm, count / 4);
    for (uint32_t i = 0; rc == BF_OK && i < count; i++) {
        bf_value_t before = sum;
        rc = expect_number(vm, "sum", &items[i]);
        if (rc == BF_OK) {
            rc = bf_op_arithmetic(vm, BF_OP_ADD, &before, &items[i], &sum);
        }
    }
    *ret = sum;
    return rc;
}

static bf_status_t fn_avg(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    const bf_value_t *items;
    uint32_t count;
    spread(args, argc, &items, &count);
    bf_value_t sum = bf_value_null();
    bf_status_t rc = count ? fn_sum(vm, args, argc, &sum) : BF_OK;
    *ret =
        rc == BF_OK && count ? bf_value_real(bf_op_real(&sum) / count) : bf_value_null();
    return rc;
}

/* An integer as it is, a double as round_it() makes it whole. */
static bf_status_t whole(bf_vm_t *vm, const char *what, double (*round_it)(double),
                         const bf_value_t *number, bf_value_t *ret)
{
    *ret = *number;
    bf_status_t rc = expect_number(vm, what, number);
    return rc == BF_OK && number->type == BF_VALUE_REAL
               ? to_integer(vm, what, round_it(number->as.real), ret)
               : rc;
}

static bf_status_t fn_floor(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    (void)argc;
    return whole(vm, "floor", floor, &args[0], ret);
}

static bf_status_t fn_ceil(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    return whole(vm, "ceil", ceil, &args[0], ret);
}

/* round(x): nearest whole number, halves up (Java's Math.round). round(x, digits): a
 * double with that many decimal places, halves away from zero. */
static bf_status_t fn_round(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                            bf_value_t *ret)
{
    bf_status_t rc = expect_number(vm, "round", &args[0]);
    if (rc != BF_OK) {
        return rc;
    }
    if (argc == 1) {
        *ret = args[0];
        return args[0].type == BF_VALUE_REAL
                   ? to_integer(vm, "round", floor(args[0].as.real + 0.5), ret)
                   : BF_OK;
    }
    if (args[1].type != BF_VALUE_INT || args[1].as.integer < 0 ||
        args[1].as.integer > MAX_DIGITS) {
        return bf_vm_fail(vm, "round: expected 0 to %d decimal places", MAX_DIGITS);
    }
    double scale = pow(10, (double)args[1].as.integer);
    double real = bf_op_real(&args[0]);
    double scaled = round(real * scale);
    *ret = bf_value_real(isfinite(scaled) ? scaled / scale : real);
    return BF_OK;
}

static bf_status_t fn_pow(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_number(vm, "pow", &args[0]);
    if (rc == BF_OK) {
        rc = expect_number(vm, "pow", &args[1]);
    }
    if (rc == BF_OK) {
        *ret = bf_value_real(pow(bf_op_real(&args[0]), bf_op_real(&args[1])));
    }
    return rc;
}

static bf_status_t fn_sqrt(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                           bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = expect_number(vm, "sqrt", &args[0]);
    if (rc == BF_OK) {
        *ret = bf_value_real(sqrt(bf_op_real(&args[0])));
    }
    return rc;
}

/* A number from a text; null stays null. */
static bf_status_t parse(bf_vm_t *vm, const char *what, const bf_value_t *value,
                         bf_value_t *ret)
{
    if (value->type == BF_VALUE_NULL || bf_op_is_number(value)) {
        *ret = *value;
        return BF_OK;
    }
    if (value->type != BF_VALUE_STRING) {
        return bf_vm_fail(vm, "%s: expected a number or a text, found %s", what,
                          bf_value_type_name(value->type));
    }
    int64_t integer;
    double real;
    if (bf_num_parse_i64(value->as.string, value->len, &integer, NULL) == BF_OK) {
        *ret = bf_value_int(integer);
        return BF_OK;
    }
    if (bf_num_parse_real(value->as.string, value->len, &real, NULL) == BF_OK) {
        *ret = bf_value_real(real);
        return BF_OK;
    }
    return bf_vm_fail(vm, "%s: '%.40s' is not a number", what, value->as.string);
}

static bf_status_t fn_number(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    (void)argc;
    return parse(vm, "number", &args[0], ret);
}

/* Towards zero. */
static bf_status_t fn_int(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                          bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = parse(vm, "int", &args[0], ret);
    return rc == BF_OK && ret->type == BF_VALUE_REAL
               ? to_integer(vm, "int", trunc(ret->as.real), ret)
               : rc;
}

static bf_status_t fn_double(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                             bf_value_t *ret)
{
    (void)argc;
    bf_status_t rc = parse(vm, "double", &args[0], ret);
    if (rc == BF_OK && ret->type == BF_VALUE_INT) {
        *ret = bf_value_real((double)ret->as.integer);
    }
    return rc;
}

/* "true" in any case is true, any other text is false; else the truth of the value. */
static bf_status_t fn_boolean(bf_vm_t *vm, const bf_value_t *args, uint32_t argc,
                              bf_value_t *ret)
{
    (void)vm;
    (void)argc;
    bool value = bf_expr_is_true(&args[0]);
    if (args[0].type == BF_VALUE_STRING) {
        value = args[0].len == 4 && !strncasecmp(args[0].as.string, "true", 4);
    }
    *ret = bf_value_bool(value);
    return BF_OK;
}

const bf_function_t bf_functions_num[] = {
    {"abs", 1, 1, BF_FN_BOTH, fn_abs},
    {"min", 1, BF_ARGS_ANY, BF_FN_BOTH, fn_min},
    {"max", 1, BF_ARGS_ANY, BF_FN_BOTH, fn_max},
    {"sum", 1, BF_ARGS_ANY, BF_FN_BOTH, fn_sum},
    {"avg", 1, BF_ARGS_ANY, BF_FN_BOTH, fn_avg},
    {"round", 1, 2, BF_FN_BOTH, fn_round},
    {"floor", 1, 1, BF_FN_BOTH, fn_floor},
    {"ceil", 1, 1, BF_FN_BOTH, fn_ceil},
    {"pow", 2, 2, BF_FN_BOTH, fn_pow},
    {"sqrt", 1, 1, BF_FN_BOTH, fn_sqrt},
    {"number", 1, 1, BF_FN_PLAIN, fn_number},
    {"int", 1, 1, BF_FN_PLAIN, fn_int},
    {"intValue", 1, 1, BF_FN_METHOD, fn_int},
    {"longValue", 1, 1, BF_FN_METHOD, fn_int},
    {"double", 1, 1, BF_FN_PLAIN, fn_double},
    {"doubleValue", 1, 1, BF_FN_METHOD, fn_double},
    {"boolean", 1, 1, BF_FN_PLAIN, fn_boolean},
    {"booleanValue", 1, 1, BF_FN_METHOD, fn_boolean},
    {NULL, 0, 0, 0, NULL},
};
