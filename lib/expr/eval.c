/*
 * eval.c - the stack machine
 *
 * One function per instruction in a table.  Conditions of gateways are mostly a variable,
 * a constant and a comparison: they run without any allocation.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/id.h"
#include "bpmflow/map.h"
#include "bpmflow/num.h"
#include "lib/expr/expr_int.h"

/* Deeper stacks come from the arena. */
#define STACK_SMALL 32

typedef struct machine {
    bf_vm_t vm;
    bf_value_t *stack;
    uint32_t used;
    uint32_t at; /* next instruction */
} machine_t;

bf_status_t bf_vm_fail(bf_vm_t *vm, const char *fmt, ...)
{
    char why[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    (void)bf_expr_error(vm->err, BF_E_EXPRESSION, vm->code->text, vm->code->text_len,
                        vm->pos, "%s", why);
    return BF_E_EXPRESSION;
}

bf_status_t bf_vm_charge(bf_vm_t *vm, size_t steps)
{
    if (steps > INT32_MAX || (vm->steps -= (int64_t)steps) < 0) {
        return bf_vm_fail(vm, "too many steps; this expression costs too much");
    }
    return BF_OK;
}

bf_status_t bf_vm_alloc(bf_vm_t *vm, size_t bytes, void **ret)
{
    if (bytes > BF_EXPR_MAX_RESULT_BYTES) {
        return bf_vm_fail(vm, "the result is larger than %zu bytes",
                          BF_EXPR_MAX_RESULT_BYTES);
    }
    bf_status_t rc = bf_vm_charge(vm, bytes / 64);
    if (rc != BF_OK) {
        return rc;
    }
    void *data = bf_arena_alloc(vm->env->arena, bytes);
    if (!data) {
        (void)bf_err_nomem(vm->err, "expression");
        return BF_E_NOMEM;
    }
    *ret = data;
    return BF_OK;
}

bf_status_t bf_vm_string(bf_vm_t *vm, const char *text, size_t len, bf_value_t *ret)
{
    void *copy = NULL;
    bf_status_t rc = bf_vm_alloc(vm, len + 1, &copy);
    if (rc != BF_OK || !copy) {
        return rc;
    }
    char *data = copy;
    memcpy(data, text, len);
    data[len] = '\0';
    *ret = bf_value_string(data, len);
    return BF_OK;
}

static bf_status_t text_of_tree(bf_vm_t *vm, const bf_value_t *value, bf_value_t *ret)
{
    bf_str_t str;
    bf_str_init(&str, BF_EXPR_MAX_RESULT_BYTES);
    bf_json_write(&str, value);
    bf_status_t rc = BF_OK;
    if (!bf_str_failed(&str)) {
        rc = bf_vm_string(vm, bf_str_peek(&str), str.len, ret);
    } else if (str.too_big) {
        rc = bf_vm_fail(vm, "the result is larger than %zu bytes",
                        BF_EXPR_MAX_RESULT_BYTES);
    } else {
        rc = bf_err_nomem(vm->err, "expression");
    }
    bf_str_fini(&str);
    return rc;
}

bf_status_t bf_vm_text(bf_vm_t *vm, const bf_value_t *value, bf_value_t *ret)
{
    char buf[BF_NUM_TEXT_MAX];
    switch (value->type) {
    case BF_VALUE_STRING:
        *ret = *value;
        return BF_OK;
    case BF_VALUE_NULL:
        *ret = bf_value_string("null", 4);
        return BF_OK;
    case BF_VALUE_BOOL:
        *ret =
            value->as.boolean ? bf_value_string("true", 4) : bf_value_string("false", 5);
        return BF_OK;
    case BF_VALUE_INT:
        return bf_vm_string(vm, buf, bf_num_format_i64(value->as.integer, buf), ret);
    case BF_VALUE_REAL:
        if (!isfinite(value->as.real)) {
            *ret = bf_value_cstr(isnan(value->as.real) ? "NaN"
                                 : value->as.real > 0  ? "Infinity"
                                                       : "-Infinity");
            return BF_OK;
        }
        bf_num_format_real(value->as.real, buf);
        return bf_vm_string(vm, buf, strlen(buf), ret);
    case BF_VALUE_LIST:
    case BF_VALUE_MAP:
        break;
    }
    return text_of_tree(vm, value, ret);
}

/* --- instructions --- */

typedef bf_status_t (*op_fn)(machine_t *m, const bf_instr_t *in);

static bf_value_t *top(machine_t *m)
{
    return &m->stack[m->used - 1];
}

static void push(machine_t *m, bf_value_t value)
{
    m->stack[m->used++] = value;
}

static bf_value_t pop(machine_t *m)
{
    return m->stack[--m->used];
}

static const bf_value_t null_value;

static bf_status_t compare(bf_vm_t *vm, bf_op_t op, const bf_value_t *a,
                           const bf_value_t *b, bool *ret)
{
    if (op != BF_OP_EQ && op != BF_OP_NE) {
        return bf_op_order(vm, op, a, b, ret);
    }
    bool equal = false;
    bf_status_t rc = bf_op_equal(vm, a, b, &equal);
    *ret = equal == (op == BF_OP_EQ);
    return rc;
}

/* NULL when it is not set. */
static inline const bf_value_t *variable(const bf_expr_env_t *env, const bf_name_t *name)
{
    bf_expr_memo_t *memo = env->memo;
    if (memo && memo->name == name->text) {
        return memo->value;
    }
    const bf_value_t *value =
        env->lookup ? env->lookup(env->arg, name->text, name->len, name->hash) : NULL;
    if (memo) {
        *memo = (bf_expr_memo_t){name->text, value};
    }
    return value;
}

#define IS_LESS  1U
#define IS_EQUAL 2U
#define IS_MORE  4U

/* A variable compared with a constant, when both are integers: mostly they are. */
static inline bool test_integers(const bf_code_t *code, const bf_instr_t *in,
                                 const bf_value_t *a, bool *ret)
{
    static const uint8_t accepted[] = {
        [BF_OP_EQ] = IS_EQUAL, [BF_OP_NE] = IS_LESS | IS_MORE,
        [BF_OP_LT] = IS_LESS,  [BF_OP_LE] = IS_LESS | IS_EQUAL,
        [BF_OP_GT] = IS_MORE,  [BF_OP_GE] = IS_MORE | IS_EQUAL,
    };
    const bf_value_t *b = &code->consts[in->arg >> 16];
    if (!a || a->type != BF_VALUE_INT || b->type != BF_VALUE_INT) {
        return false;
    }
    int64_t x = a->as.integer;
    int64_t y = b->as.integer;
    unsigned is = x < y ? IS_LESS : x > y ? IS_MORE : IS_EQUAL;
    *ret = accepted[in->argc] & is;
    return true;
}

static bf_status_t test_others(bf_vm_t *vm, const bf_instr_t *in, const bf_value_t *a,
                               bool *ret)
{
    const bf_value_t *b = &vm->code->consts[in->arg >> 16];
    return compare(vm, (bf_op_t)in->argc, a ? a : &null_value, b, ret);
}

/* A variable compared with a constant. */
static inline bf_status_t run_test(bf_vm_t *vm, const bf_instr_t *in, bool *ret)
{
    const bf_value_t *a = variable(vm->env, &vm->code->names[in->arg & 0xFFFF]);
    return test_integers(vm->code, in, a, ret) ? BF_OK : test_others(vm, in, a, ret);
}

static inline bool is_true(const bf_value_t *value)
{
    return value->type != BF_VALUE_NULL &&
           (value->type != BF_VALUE_BOOL || value->as.boolean);
}

static bf_status_t do_test(machine_t *m, const bf_instr_t *in)
{
    bool result = false;
    bf_status_t rc = run_test(&m->vm, in, &result);
    /* Before `&&` and `||` the result need not go over the stack. */
    const bf_instr_t *next = in + 1;
    if (m->at < m->vm.code->count && next->op == (result ? BF_OP_AND : BF_OP_OR)) {
        m->at++;
        return rc;
    }
    push(m, bf_value_bool(result));
    return rc;
}

static bf_status_t do_const(machine_t *m, const bf_instr_t *in)
{
    push(m, m->vm.code->consts[in->arg]);
    return BF_OK;
}

static bf_status_t do_var(machine_t *m, const bf_instr_t *in)
{
    const bf_value_t *value = variable(m->vm.env, &m->vm.code->names[in->arg]);
    push(m, value ? *value : null_value);
    return BF_OK;
}

static bf_status_t do_var_dyn(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t name = *top(m);
    if (name.type != BF_VALUE_STRING) {
        return bf_vm_fail(&m->vm, "the name of a variable must be a string, not %s",
                          bf_value_type_name(name.type));
    }
    const bf_expr_env_t *env = m->vm.env;
    const bf_value_t *value = env->lookup
                                  ? env->lookup(env->arg, name.as.string, name.len,
                                                bf_hash_bytes(name.as.string, name.len))
                                  : NULL;
    *top(m) = value ? *value : bf_value_null();
    return BF_OK;
}

/* `list.size` and `text.length` as other languages write it. */
static bool is_size(const bf_name_t *name)
{
    return (name->len == 4 && !memcmp(name->text, "size", 4)) ||
           (name->len == 6 && !memcmp(name->text, "length", 6));
}

static bf_status_t do_member(machine_t *m, const bf_instr_t *in)
{
    bf_value_t *value = top(m);
    const bf_name_t *name = &m->vm.code->names[in->arg];
    bf_value_t holder = *value;
    if (holder.type == BF_VALUE_LIST && is_size(name)) {
        *value = bf_value_int(holder.len);
        return BF_OK;
    }
    if (holder.type == BF_VALUE_STRING && is_size(name)) {
        *value = bf_value_int((int64_t)bf_utf8_length(holder.as.string, holder.len));
        return bf_vm_charge(&m->vm, holder.len / 64);
    }
    if (value->type != BF_VALUE_MAP && value->type != BF_VALUE_NULL) {
        return bf_vm_fail(&m->vm, "a %s has no member '%.40s'",
                          bf_value_type_name(value->type), name->text);
    }
    const bf_value_t *member = bf_value_get(value, name->text, name->len);
    *value = member ? *member : bf_value_null();
    return BF_OK;
}

static bf_status_t do_index(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t key = pop(m);
    bf_value_t holder = *top(m);
    return bf_op_index(&m->vm, &holder, &key, top(m));
}

static bf_status_t do_arithmetic(machine_t *m, const bf_instr_t *in)
{
    bf_value_t b = pop(m);
    bf_value_t a = *top(m);
    return bf_op_arithmetic(&m->vm, (bf_op_t)in->op, &a, &b, top(m));
}

static bf_status_t do_neg(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t a = *top(m);
    return bf_op_negate(&m->vm, &a, top(m));
}

static bf_status_t do_compare(machine_t *m, const bf_instr_t *in)
{
    bf_value_t b = pop(m);
    bool result = false;
    bf_status_t rc = compare(&m->vm, (bf_op_t)in->op, top(m), &b, &result);
    *top(m) = bf_value_bool(result);
    return rc;
}

static bf_status_t do_not(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    *top(m) = bf_value_bool(!is_true(top(m)));
    return BF_OK;
}

static bf_status_t do_and(machine_t *m, const bf_instr_t *in)
{
    if (is_true(top(m))) {
        m->used--;
    } else {
        *top(m) = bf_value_bool(false);
        m->at = in->arg;
    }
    return BF_OK;
}

static bf_status_t do_or(machine_t *m, const bf_instr_t *in)
{
    if (is_true(top(m))) {
        *top(m) = bf_value_bool(true);
        m->at = in->arg;
    } else {
        m->used--;
    }
    return BF_OK;
}

static bf_status_t do_bool(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    *top(m) = bf_value_bool(is_true(top(m)));
    return BF_OK;
}

static bf_status_t do_jump(machine_t *m, const bf_instr_t *in)
{
    m->at = in->arg;
    return BF_OK;
}

static bf_status_t do_jump_false(machine_t *m, const bf_instr_t *in)
{
    bf_value_t value = pop(m);
    if (!is_true(&value)) {
        m->at = in->arg;
    }
    return BF_OK;
}

static bf_status_t do_keep(machine_t *m, const bf_instr_t *in)
{
    if (top(m)->type != BF_VALUE_NULL) {
        m->at = in->arg;
    } else {
        m->used--;
    }
    return BF_OK;
}

static bf_status_t do_in(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t holder = pop(m);
    bool found = false;
    bf_status_t rc = bf_op_in(&m->vm, top(m), &holder, &found);
    *top(m) = bf_value_bool(found);
    return rc;
}

static bf_status_t do_like(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t part = pop(m);
    bool found = false;
    bf_status_t rc = bf_op_like(&m->vm, top(m), &part, &found);
    *top(m) = bf_value_bool(found);
    return rc;
}

static bf_status_t do_matches(machine_t *m, const bf_instr_t *in)
{
    bool matches = false;
    bf_status_t rc =
        bf_op_matches(&m->vm, top(m), m->vm.code->regexes[in->arg], &matches);
    *top(m) = bf_value_bool(matches);
    return rc;
}

static bf_status_t do_list(machine_t *m, const bf_instr_t *in)
{
    void *data = NULL;
    bf_status_t rc = bf_vm_alloc(&m->vm, in->arg * sizeof(bf_value_t), &data);
    if (rc != BF_OK || !data) {
        return rc;
    }
    m->used -= in->arg;
    memcpy(data, &m->stack[m->used], in->arg * sizeof(bf_value_t));
    push(m, (bf_value_t){.type = BF_VALUE_LIST, .len = in->arg, .as.items = data});
    return BF_OK;
}

static bf_status_t do_map(machine_t *m, const bf_instr_t *in)
{
    void *data = NULL;
    bf_status_t rc = bf_vm_alloc(&m->vm, in->arg * sizeof(bf_member_t), &data);
    if (rc == BF_OK) {
        /* Names are compared with each other. */
        rc = bf_vm_charge(&m->vm, (size_t)in->arg * in->arg / 8);
    }
    if (rc != BF_OK || !data) {
        return rc;
    }
    bf_member_t *members = data;
    m->used -= 2 * in->arg;
    uint32_t n = 0;
    for (uint32_t i = 0; i < in->arg; i++) {
        const bf_value_t *name = &m->stack[m->used + 2 * i];
        uint32_t k = 0;
        while (k < n && (members[k].name_len != name->len ||
                         memcmp(members[k].name, name->as.string, name->len))) {
            k++;
        }
        members[k] = (bf_member_t){.name = name->as.string,
                                   .name_len = name->len,
                                   .value = m->stack[m->used + 2 * i + 1]};
        n += k == n;
    }
    push(m, (bf_value_t){.type = BF_VALUE_MAP, .len = n, .as.members = members});
    return BF_OK;
}

static bf_status_t do_call(machine_t *m, const bf_instr_t *in)
{
    const bf_function_t *fn = bf_function_at(in->arg);
    bf_value_t *args = &m->stack[m->used - in->argc];
    bf_value_t result = bf_value_null();
    bf_status_t rc = BF_OK;
    bool skip = in->argc && args[0].type == BF_VALUE_NULL && (fn->flags & BF_FN_METHOD) &&
                !(fn->flags & BF_FN_NULL);
    if (!skip) {
        rc = fn->fn(&m->vm, args, in->argc, &result);
    }
    m->used -= in->argc;
    push(m, result);
    return rc;
}

static bf_status_t do_unknown(machine_t *m, const bf_instr_t *in)
{
    const bf_name_t *name = &m->vm.code->names[in->arg];
    return bf_vm_fail(&m->vm,
                      "there is no function '%.60s'; the expression reference lists all",
                      name->text);
}

static bf_status_t assign(machine_t *m, const char *name, size_t len,
                          const bf_value_t *value)
{
    const bf_expr_env_t *env = m->vm.env;
    if (!env->assign) {
        return bf_vm_fail(&m->vm, "assignments are not allowed here");
    }
    if (env->memo) {
        env->memo->name = NULL;
    }
    bf_status_t rc = bf_op_check_size(&m->vm, value);
    return rc == BF_OK ? env->assign(env->arg, name, len, value, m->vm.err) : rc;
}

static bf_status_t do_assign(machine_t *m, const bf_instr_t *in)
{
    const bf_name_t *name = &m->vm.code->names[in->arg];
    bf_value_t value = pop(m);
    return assign(m, name->text, name->len, &value);
}

static bf_status_t do_assign_dyn(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    bf_value_t value = pop(m);
    bf_value_t name = pop(m);
    if (name.type != BF_VALUE_STRING) {
        return bf_vm_fail(&m->vm, "the name of a variable must be a string, not %s",
                          bf_value_type_name(name.type));
    }
    return assign(m, name.as.string, name.len, &value);
}

/* A copy of a map (or null) with one member set; *ret_member is its place in the copy. */
static bf_status_t with_member(machine_t *m, const bf_value_t *map, const bf_name_t *name,
                               bf_value_t *ret, bf_value_t **ret_member)
{
    if (map->type != BF_VALUE_MAP && map->type != BF_VALUE_NULL) {
        return bf_vm_fail(&m->vm, "cannot set '%.40s' of a %s; only maps have members",
                          name->text, bf_value_type_name(map->type));
    }
    uint32_t len = map->type == BF_VALUE_MAP ? map->len : 0;
    void *data = NULL;
    bf_status_t rc = bf_vm_alloc(&m->vm, (len + 1U) * sizeof(bf_member_t), &data);
    if (rc != BF_OK || !data) {
        return rc;
    }
    bf_member_t *members = data;
    uint32_t at = len;
    for (uint32_t i = 0; i < len; i++) {
        members[i] = map->as.members[i];
        if (members[i].name_len == name->len &&
            !memcmp(members[i].name, name->text, name->len)) {
            at = i;
        }
    }
    if (at == len) {
        members[len++] = (bf_member_t){.name = name->text, .name_len = name->len};
    }
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = len, .as.members = members};
    *ret_member = &members[at].value;
    return BF_OK;
}

static bf_status_t do_assign_path(machine_t *m, const bf_instr_t *in)
{
    const bf_name_t *names = &m->vm.code->names[in->arg];
    const bf_expr_env_t *env = m->vm.env;
    bf_value_t value = pop(m);
    const bf_value_t *root =
        env->lookup ? env->lookup(env->arg, names[0].text, names[0].len, names[0].hash)
                    : NULL;
    bf_value_t changed = root ? *root : bf_value_null();
    bf_value_t *place = &changed;
    for (uint32_t i = 1; i < in->argc; i++) {
        bf_value_t old = *place;
        bf_value_t *member = NULL;
        bf_status_t rc = with_member(m, &old, &names[i], place, &member);
        if (rc != BF_OK || !member) {
            return rc;
        }
        place = member;
    }
    *place = value;
    return assign(m, names[0].text, names[0].len, &changed);
}

static bf_status_t do_stop(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    if (!m->vm.env->stop) {
        return bf_vm_fail(&m->vm, "context.stop() is not allowed here");
    }
    m->vm.env->stop(m->vm.env->arg);
    return BF_OK;
}

static bf_status_t do_interrupt(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    if (!m->vm.env->interrupt) {
        return bf_vm_fail(&m->vm, "context.interrupt() is not allowed here");
    }
    m->vm.env->interrupt(m->vm.env->arg);
    return BF_OK;
}

static bf_status_t do_pop(machine_t *m, const bf_instr_t *in)
{
    (void)in;
    m->used--;
    return BF_OK;
}

static const op_fn ops[BF_OP_COUNT] = {
    [BF_OP_TEST] = do_test,
    [BF_OP_CONST] = do_const,
    [BF_OP_VAR] = do_var,
    [BF_OP_VAR_DYN] = do_var_dyn,
    [BF_OP_MEMBER] = do_member,
    [BF_OP_INDEX] = do_index,
    [BF_OP_ADD] = do_arithmetic,
    [BF_OP_SUB] = do_arithmetic,
    [BF_OP_MUL] = do_arithmetic,
    [BF_OP_DIV] = do_arithmetic,
    [BF_OP_MOD] = do_arithmetic,
    [BF_OP_NEG] = do_neg,
    [BF_OP_EQ] = do_compare,
    [BF_OP_NE] = do_compare,
    [BF_OP_LT] = do_compare,
    [BF_OP_LE] = do_compare,
    [BF_OP_GT] = do_compare,
    [BF_OP_GE] = do_compare,
    [BF_OP_NOT] = do_not,
    [BF_OP_AND] = do_and,
    [BF_OP_OR] = do_or,
    [BF_OP_BOOL] = do_bool,
    [BF_OP_JUMP] = do_jump,
    [BF_OP_JUMP_FALSE] = do_jump_false,
    [BF_OP_KEEP] = do_keep,
    [BF_OP_IN] = do_in,
    [BF_OP_LIKE] = do_like,
    [BF_OP_MATCHES] = do_matches,
    [BF_OP_LIST] = do_list,
    [BF_OP_MAP] = do_map,
    [BF_OP_CALL] = do_call,
    [BF_OP_UNKNOWN] = do_unknown,
    [BF_OP_ASSIGN] = do_assign,
    [BF_OP_ASSIGN_DYN] = do_assign_dyn,
    [BF_OP_ASSIGN_PATH] = do_assign_path,
    [BF_OP_STOP] = do_stop,
    [BF_OP_INTERRUPT] = do_interrupt,
    [BF_OP_POP] = do_pop,
};

static bf_status_t run(machine_t *m)
{
    const bf_code_t *code = m->vm.code;
    while (m->at < code->count) {
        const bf_instr_t *in = &code->instrs[m->at++];
        m->vm.pos = in->pos;
        bf_status_t rc = --m->vm.steps < 0 ? bf_vm_charge(&m->vm, 0) : ops[in->op](m, in);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* Make a machine ready; `small` holds STACK_SMALL values. */
static bf_status_t prepare(machine_t *m, const bf_code_t *code, const bf_expr_env_t *env,
                           bf_value_t *small, bf_err_t *err)
{
    m->vm.code = code;
    m->vm.env = env;
    m->vm.err = err;
    m->vm.steps = env->max_steps ? env->max_steps : BF_EXPR_MAX_STEPS;
    m->vm.pos = 0;
    m->stack = small;
    m->used = 0;
    m->at = 0;
    if (code->max_stack > STACK_SMALL) {
        m->stack = bf_arena_alloc(env->arena, code->max_stack * sizeof(*m->stack));
        if (!m->stack) {
            return bf_err_nomem(err, "expression");
        }
    }
    return BF_OK;
}

/* A condition of one instruction: there is no need for a machine. */
static bf_status_t test_one(const bf_code_t *code, const bf_expr_env_t *env,
                            const bf_value_t *a, bool *ret, bf_err_t *err)
{
    const bf_instr_t *in = &code->instrs[0];
    bf_vm_t vm = {code, env, err, BF_EXPR_MAX_STEPS, in->pos};
    return test_others(&vm, in, a, ret);
}

static bf_status_t test_many(const bf_code_t *code, const bf_expr_env_t *env, bool *ret,
                             bf_err_t *err)
{
    bf_value_t small[STACK_SMALL];
    machine_t m;
    bf_status_t rc = prepare(&m, code, env, small, err);
    if (rc == BF_OK) {
        rc = run(&m);
    }
    if (rc == BF_OK) {
        BF_ASSERT(m.used == 1);
        /* Looked at in place: copying what was just written in parts is slow. */
        *ret = is_true(&m.stack[0]);
    }
    return rc;
}

bf_status_t bf_expr_test(const bf_expr_t *expr, const bf_expr_env_t *env, bool *ret,
                         bf_err_t *err)
{
    const bf_code_t *code = &expr->code;
    const bf_instr_t *in = &code->instrs[0];
    if (code->count != 1 || in->op != BF_OP_TEST) {
        return test_many(code, env, ret, err);
    }
    const bf_value_t *a = variable(env, &code->names[in->arg & 0xFFFF]);
    return test_integers(code, in, a, ret) ? BF_OK : test_one(code, env, a, ret, err);
}

bf_status_t bf_code_run(const bf_code_t *code, const bf_expr_env_t *env, bf_value_t *ret,
                        bf_err_t *err)
{
    bf_value_t small[STACK_SMALL];
    machine_t m;
    bf_status_t rc = prepare(&m, code, env, small, err);
    if (rc == BF_OK) {
        rc = run(&m);
    }
    if (rc == BF_OK && ret) {
        BF_ASSERT(m.used == 1);
        *ret = m.stack[0];
    }
    return rc;
}
