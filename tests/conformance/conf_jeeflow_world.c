/*
 * conf_jeeflow_world.c - the host of an approval scenario: users, handlers, delegations
 *
 * Every user exists.  He is in department D01 (leaders leader1, leader2; the main one
 * boss1); who is called far... is in D02, which farboss leads.  Role task4 = roleA,
 * roleB; finance = finA, finB.
 *
 * The handlers of the original's tests: TestCustomHandler says that it ran
 * (customNodeRan), TestDecisionHandler names task2 for an amount over 1000, else task3.
 * Handlers of ours: test.Failing fails, test.Target names the node that the variable
 * "target" names, test.Mark sets the variable "marked" to the ID of its node.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "conf_jeeflow.h"

static int64_t next_id(void *arg)
{
    jee_t *jee = arg;
    return ++jee->next_id;
}

static int64_t fixed_now(void *arg)
{
    const jee_t *jee = arg;
    return jee->now_ms;
}

/* --- users --- */

static bf_status_t find_user(void *arg, bf_arena_t *arena, const char *user_id,
                             bf_approval_user_t *ret, bf_err_t *err)
{
    (void)arg;
    const char *name = bf_arena_printf(arena, "用户%s", user_id);
    if (!name) {
        return bf_err_nomem(err, "a user");
    }
    const char *dept = strncmp(user_id, "far", 3) ? "D01" : "D02";
    *ret = (bf_approval_user_t){user_id, name, dept, "测试部门", "P01", "测试岗位"};
    return BF_OK;
}

static bf_status_t add_all(bf_arena_t *arena, const char *names, bf_approval_names_t *ret,
                           bf_err_t *err)
{
    bf_value_t value = bf_value_cstr(names);
    return bf_approval_names_add_value(arena, ret, &value) == BF_OK
               ? BF_OK
               : bf_err_nomem(err, "users");
}

static bf_status_t find_leaders(void *arg, bf_arena_t *arena, const char *dept_id,
                                bool is_main, bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    if (!strcmp(dept_id, "D02")) {
        return add_all(arena, "farboss", ret, err);
    }
    return add_all(arena, is_main ? "boss1" : "leader1,leader2", ret, err);
}

static bf_status_t find_role(void *arg, bf_arena_t *arena, const char *role_code,
                             bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    if (!strcmp(role_code, "task4")) {
        return add_all(arena, "roleA,roleB", ret, err);
    }
    return strcmp(role_code, "finance") ? BF_OK : add_all(arena, "finA,finB", ret, err);
}

/* --- handlers --- */

static bf_status_t fail_assign(void *arg, const bf_approval_call_t *call,
                               bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    (void)ret;
    return bf_err_set(err, BF_E_COMPONENT, "the handler of %s fails", call->node->id);
}

static bf_status_t fail_run(void *arg, const bf_approval_call_t *call, bf_value_t *ret,
                            bf_err_t *err)
{
    (void)arg;
    (void)ret;
    return bf_err_set(err, BF_E_COMPONENT, "the handler of %s fails", call->node->id);
}

static bf_status_t name_target(void *arg, const bf_approval_call_t *call,
                               const char **ret, bf_err_t *err)
{
    (void)arg;
    (void)err;
    *ret = bf_value_get_cstr(call->variables, "target");
    return BF_OK;
}

static bf_status_t by_amount(void *arg, const bf_approval_call_t *call, const char **ret,
                             bf_err_t *err)
{
    (void)arg;
    (void)err;
    const bf_value_t *amount = bf_value_get_str(call->variables, "amount");
    bool is_high =
        amount && ((amount->type == BF_VALUE_INT && amount->as.integer > 1000) ||
                   (amount->type == BF_VALUE_REAL && amount->as.real > 1000));
    *ret = is_high ? "task2" : "task3";
    return BF_OK;
}

static bf_status_t set_one(bf_arena_t *arena, const char *name, bf_value_t value,
                           bf_value_t *ret, bf_err_t *err)
{
    bf_member_t *member = bf_arena_calloc(arena, 1, sizeof(*member));
    if (!member) {
        return bf_err_nomem(err, "a variable");
    }
    *member = (bf_member_t){name, (uint32_t)strlen(name), value};
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = member};
    return BF_OK;
}

static bf_status_t tell_ran(void *arg, const bf_approval_call_t *call, bf_value_t *ret,
                            bf_err_t *err)
{
    (void)arg;
    return set_one(call->arena, "customNodeRan", bf_value_bool(true), ret, err);
}

static bf_status_t mark(void *arg, const bf_approval_call_t *call, bf_value_t *ret,
                        bf_err_t *err)
{
    (void)arg;
    return set_one(call->arena, "marked", bf_value_cstr(call->node->id), ret, err);
}

static const bf_approval_handler_t handlers[] = {
    {.name = "test.Failing", .assign = fail_assign, .run = fail_run},
    {.name = "test.Target", .decide = name_target},
    {.name = "test.Mark", .run = mark},
    {.name = "com.mldong.jeeflow.test.TestCustomHandler", .run = tell_ran},
    {.name = "com.mldong.jeeflow.test.TestDecisionHandler", .decide = by_amount},
};

/* --- delegations of the scenario --- */

static int64_t time_in(jee_t *jee, const bf_value_t *map, const char *name)
{
    const char *text = bf_value_get_cstr(map, name);
    int64_t ms = 0;
    if (text && bf_clock_parse(text, &ms, NULL) != BF_OK) {
        conf_fail(jee->c, "surrogates: %s: \"%s\" is no time", name, text);
    }
    return ms;
}

static void add_surrogates(jee_t *jee)
{
    static const char *const known[] = {
        "operator", "surrogate", "process_name", "start", "end", "enabled", NULL};
    const bf_value_t *list = bf_value_get_str(jee->scenario, "surrogates");
    for (uint32_t i = 0; i < conf_items(list); i++) {
        const bf_value_t *one = &list->as.items[i];
        const bf_value_t *enabled = bf_value_get_str(one, "enabled");
        bf_err_t err = BF_ERR_INIT;
        conf_check_members(jee->c, "surrogates", one, known);
        bf_surrogate_row_t row = {.id = bf_ledger_make_id(jee->ledger),
                                  .process_name = bf_value_get_cstr(one, "process_name"),
                                  .operator_id = bf_value_get_cstr(one, "operator"),
                                  .surrogate = bf_value_get_cstr(one, "surrogate"),
                                  .start_time = time_in(jee, one, "start"),
                                  .end_time = time_in(jee, one, "end"),
                                  .enabled = enabled && enabled->type == BF_VALUE_INT
                                                 ? (int32_t)enabled->as.integer
                                                 : 1};
        if (bf_ledger_insert(jee->ledger, BF_LEDGER_SURROGATE, &row, &err) != BF_OK) {
            conf_fail(jee->c, "surrogates: %s", err.text);
        }
    }
}

void jee_world_begin(jee_t *jee)
{
    const bf_value_t *surrogates = bf_value_get_str(jee->scenario, "surrogate_enabled");
    bf_ledger_ids_t ids = {next_id, jee};
    bf_approval_host_t host = {
        .directory = {.user = find_user, .leaders = find_leaders, .role = find_role},
        .handlers = handlers,
        .handler_count = sizeof(handlers) / sizeof(handlers[0]),
        .is_surrogate_enabled =
            surrogates && surrogates->type == BF_VALUE_BOOL && surrogates->as.boolean};
    jee->now_ms = time_in(jee, jee->scenario, "now");
    if (jee->now_ms) {
        host.now_ms = fixed_now;
        host.now_arg = jee;
    }
    jee->ledger = bf_ledger_new(&ids);
    jee->approval = jee->ledger ? bf_approval_new(jee->ledger, &host) : NULL;
    if (!jee->approval) {
        conf_die_nomem();
    }
    add_surrogates(jee);
}

void jee_world_end(jee_t *jee)
{
    bf_approval_free(jee->approval);
    bf_ledger_free(jee->ledger);
}
