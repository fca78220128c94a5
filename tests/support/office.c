/*
 * office.c - an approval engine with a facade, for tests
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/office.h"

#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/num.h"

bf_ledger_t *office_ledger;
bf_approval_t *office_approval;
bf_facade_t *office_facade;
bf_arena_t office_arena;

static const char order[] =
    "{'name':'order','displayName':'Order','type':'approval','relTableName':'t_order',"
    "'nodes':[{'id':'begin','type':'snaker:start'},"
    "{'id':'form','type':'snaker:task','text':{'value':'Form'},"
    "'properties':{'assignee':'applicant','form':'f1'}},"
    "{'id':'check','type':'snaker:task','text':{'value':'Check'},"
    "'properties':{'assignee':'clerk'}},"
    "{'id':'sign','type':'snaker:task','text':{'value':'Sign'},"
    "'properties':{'assignee':'head','candidateGroups':'buyers'}},"
    "{'id':'over','type':'snaker:end'}],"
    "'edges':[{'id':'e1','sourceNodeId':'begin','targetNodeId':'form'},"
    "{'id':'e2','sourceNodeId':'form','targetNodeId':'check'},"
    "{'id':'e3','sourceNodeId':'check','targetNodeId':'sign'},"
    "{'id':'e4','sourceNodeId':'sign','targetNodeId':'over'}]}";

static int64_t now_ms(void *arg)
{
    (void)arg;
    return OFFICE_NOW_MS;
}

static int64_t next_id(void *arg)
{
    static int64_t id;
    (void)arg;
    return ++id;
}

static bf_status_t find_user(void *arg, bf_arena_t *arena, const char *id,
                             bf_approval_user_t *ret, bf_err_t *err)
{
    (void)arg;
    *ret =
        (bf_approval_user_t){.id = id, .real_name = bf_arena_printf(arena, "N:%s", id)};
    return ret->real_name ? BF_OK : bf_err_nomem(err, "name");
}

static bf_status_t find_role(void *arg, bf_arena_t *arena, const char *role,
                             bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    (void)err;
    if (strcmp(role, "buyers") != 0) {
        return BF_OK;
    }
    bf_value_t users = bf_value_cstr("b1,b2");
    return bf_approval_names_add_value(arena, ret, &users);
}

void office_open(const bf_facade_host_t *host)
{
    bf_ledger_ids_t ids = {next_id, NULL};
    bf_approval_host_t approval = {
        .directory = {.user = find_user, .role = find_role},
        .now_ms = now_ms,
        .utc_offset_s = 7200,
        .is_surrogate_enabled = true,
    };
    bf_arena_init(&office_arena, 0);
    office_ledger = bf_ledger_new(&ids);
    cr_assert_not_null(office_ledger);
    office_approval = bf_approval_new(office_ledger, &approval);
    cr_assert_not_null(office_approval);
    office_facade = bf_facade_new(office_approval, host);
    cr_assert_not_null(office_facade);
}

void office_close(void)
{
    bf_facade_free(office_facade);
    bf_approval_free(office_approval);
    bf_ledger_free(office_ledger);
    bf_arena_fini(&office_arena);
}

static char *double_quoted(const char *text)
{
    char *copy = bf_arena_strdup(&office_arena, text);
    cr_assert_not_null(copy);
    for (char *p = copy; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    return copy;
}

bf_value_t office_ask(const char *action, const char *user, const char *body)
{
    const char *text = double_quoted(body);
    bf_value_t answer = bf_value_null();
    cr_assert_eq(bf_facade_call_json(office_facade, action, user, text, strlen(text),
                                     &office_arena, &answer),
                 BF_OK);
    return answer;
}

bf_value_t office_data(const char *action, const char *user, const char *body)
{
    bf_value_t answer = office_ask(action, user, body);
    cr_assert_eq(office_number(&answer, "code"), BF_FACADE_OK, "%s %s: %s", action, body,
                 office_text(&answer, "msg"));
    cr_assert_str_eq(office_text(&answer, "msg"), "成功");
    const bf_value_t *data = bf_value_get_str(&answer, "data");
    cr_assert_not_null(data);
    return *data;
}

const char *office_error(const char *action, const char *user, const char *body)
{
    bf_value_t answer = office_ask(action, user, body);
    cr_assert_eq(office_number(&answer, "code"), BF_FACADE_FAILED, "%s %s", action, body);
    cr_assert_null(bf_value_get_str(&answer, "data"));
    return office_text(&answer, "msg");
}

static const bf_value_t *find(const bf_value_t *value, const char *path)
{
    while (value && *path) {
        size_t len = strcspn(path, ".");
        int64_t index;
        if (value->type == BF_VALUE_LIST) {
            bool ok = bf_num_parse_range(path, len, 0, (int64_t)value->len - 1, &index,
                                         NULL) == BF_OK;
            value = ok ? &value->as.items[index] : NULL;
        } else {
            value = bf_value_get(value, path, len);
        }
        path += len + (path[len] ? 1 : 0);
    }
    return value;
}

const char *office_text(const bf_value_t *value, const char *path)
{
    const bf_value_t *found = find(value, path);
    return found && found->type == BF_VALUE_STRING ? found->as.string : NULL;
}

int64_t office_number(const bf_value_t *value, const char *path)
{
    const bf_value_t *found = find(value, path);
    return found && found->type == BF_VALUE_INT ? found->as.integer : INT64_MIN;
}

const char *office_deploy(void)
{
    bf_value_t data = office_data("processDefine/deploy", "designer", order);
    return office_text(&data, "processDefineId");
}

const char *office_start(const char *user, const char *variables)
{
    const char *body =
        bf_arena_printf(&office_arena, "{'processDefineName':'order'%s}", variables);
    cr_assert_not_null(body);
    bf_value_t data = office_data("processInstance/startAndExecute", user, body);
    return office_text(&data, "processInstanceId");
}

const char *office_body(const char *member, const char *id, const char *more)
{
    const char *body = bf_arena_printf(&office_arena, "{'%s':'%s'%s}", member, id, more);
    cr_assert_not_null(body);
    return body;
}
