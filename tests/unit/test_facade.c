/*
 * test_facade.c - requests: who may, what is refused, what the host adds
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/office.h"

static void open_plain(void)
{
    office_open(NULL);
    (void)office_deploy();
}

static void has(const char *text, const char *part)
{
    cr_assert_not_null(text);
    cr_assert_not_null(strstr(text, part), "'%s' is not in: %s", part, text);
}

static void close_office(void)
{
    office_close();
}

TestSuite(facade, .init = open_plain, .fini = close_office);

/* --- permission codes (rule 48) --- */

static size_t codes(const char *action, const char *ret[BF_FACADE_MAX_CODES])
{
    return bf_facade_codes(action, &office_arena, ret);
}

Test(facade, codes__are_wf_and_the_name_of_the_action)
{
    const char *ret[BF_FACADE_MAX_CODES];
    cr_assert_eq(codes("processDefine/page", ret), 1);
    cr_assert_str_eq(ret[0], "wf:processDefine:page");
    cr_assert_eq(codes("processInstance/startAndExecute", ret), 1);
    cr_assert_str_eq(ret[0], "wf:processInstance:startAndExecute");
    cr_assert_eq(codes("a/b/c", ret), 1);
    cr_assert_str_eq(ret[0], "wf:a:b:c");
}

Test(facade, codes__of_some_actions_are_lists_of_which_one_is_enough)
{
    const char *ret[BF_FACADE_MAX_CODES];
    cr_assert_eq(codes("processDefine/detail", ret), 2);
    cr_assert_str_eq(ret[0], "wf:processDefine:detail");
    cr_assert_str_eq(ret[1], "wf:processDesign:listByType");
    cr_assert_eq(codes("processDefine/startAndExecute", ret), 2);
    cr_assert_eq(codes("processDefine/getLastByName", ret), 3);
    cr_assert_eq(codes("processTask/candidatePage", ret), 2);
    cr_assert_eq(codes("processTask/jumpAbleTaskNameList", ret), 1);
    cr_assert_str_eq(ret[0], "wf:processTask:execute");
}

Test(facade, codes__are_not_asked_for_what_everybody_may_see)
{
    static const char *const open[] = {
        "processInstance/detail",         "processInstance/highLight",
        "processInstance/approvalRecord", "processInstance/getAssigneeTextData",
        "processInstance/bizData",        "processTask/detail",
        "processTask/addCandidate",       "processTask/latest"};
    const char *ret[BF_FACADE_MAX_CODES];
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        cr_assert_eq(codes(open[i], ret), 0, "%s", open[i]);
    }
}

static const char *granted = "";

static bool is_permitted(void *arg, const char *user, const char *code)
{
    (void)arg;
    return user && !strcmp(user, "ann") && !strcmp(code, granted);
}

Test(facade, call__asks_the_host_for_permission_before_anything_else)
{
    bf_facade_host_t host = {.is_permitted = is_permitted};
    office_close();
    office_open(&host);
    granted = "wf:processDesign:listByType";
    has(office_error("processDefine/page", "ann", "{'pageNum':'x'}"),
        "wf:processDefine:page");
    has(office_error("processDefine/detail", "bob", "{'id':'1'}"),
        "wf:processDefine:detail or wf:processDesign:listByType");
    has(office_error("processDefine/detail", "ann", "{'id':'1'}"), "流程定义不存在");
    has(office_error("processInstance/detail", "bob", "{'id':'1'}"), "流程实例不存在");
    has(office_error("processDefine/page", "ann", "{}"), "没有权限");
    has(office_error("processDesign/save", "bob", "{'name':'x'}"), "没有权限");
    cr_assert_eq(bf_ledger_count(office_ledger, BF_LEDGER_DESIGN), 0);
    granted = "wf:processDefine:page";
    bf_value_t data = office_data("processDefine/page", "ann", "{}");
    cr_assert_eq(office_number(&data, "recordCount"), 0);
}

/* --- bodies --- */

Test(facade, call__answers_an_unknown_action_with_an_error)
{
    has(office_error("processTask/nothing", "ann", "{}"),
        "未知 action: processTask/nothing");
    has(office_error("", NULL, "{}"), "未知 action");
    bf_value_t answer;
    cr_assert_eq(bf_facade_call(office_facade, NULL, NULL, NULL, &office_arena, &answer),
                 BF_OK);
    cr_assert_eq(office_number(&answer, "code"), BF_FACADE_FAILED);
}

Test(facade, call_json__takes_objects_only)
{
    bf_value_t data = office_data("processDefine/page", NULL, "");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
    data = office_data("processDefine/page", NULL, "null");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
    has(office_error("processDefine/page", NULL, "[1]"), "JSON object");
    has(office_error("processDefine/page", NULL, "{'a':"), "line 1");
    has(office_error("processDefine/page", NULL, "{'a':1,'a':2}"), "body");
}

Test(facade, call_json__bounds_the_body)
{
    bf_facade_host_t host = {.max_body_bytes = 64};
    office_close();
    office_open(&host);
    has(office_error("processDefine/page", NULL,
                     "{'a':'0123456789012345678901234567890123456789',"
                     "'b':'0123456789012345678901234567890'}"),
        "64");
    bf_value_t data = office_data("processDefine/page", NULL, "{'a':'0123456789'}");
    cr_assert_eq(office_number(&data, "recordCount"), 0);
}

Test(facade, call__bounds_a_body_that_comes_as_a_value)
{
    bf_facade_host_t host = {.max_body_bytes = 64};
    office_close();
    office_open(&host);
    char *text = bf_arena_calloc(&office_arena, 1, 4000);
    cr_assert_not_null(text);
    memset(text, 'x', 3999);
    bf_member_t member = {"a", 1, bf_value_string(text, 3999)};
    bf_value_t body = {.type = BF_VALUE_MAP, .len = 1, .as.members = &member};
    bf_value_t answer;
    cr_assert_eq(bf_facade_call(office_facade, "processDefine/page", NULL, &body,
                                &office_arena, &answer),
                 BF_OK);
    has(office_text(&answer, "msg"), "64");
}

Test(facade, call__believes_nothing_of_the_body_about_who_acts)
{
    const char *id = office_start("ann", ",'operator':'head'");
    bf_value_t data =
        office_data("processInstance/detail", NULL, office_body("id", id, ""));
    cr_assert_str_eq(office_text(&data, "operator"), "ann");
    cr_assert_null(office_text(&data, "variables.operator"));
    const char *task = office_text(&data, "activeTaskList.0.id");
    has(office_error("processTask/execute", "eve",
                     office_body("processTaskId", task, ",'operator':'clerk'")),
        "20010004");
}

Test(facade, call__needs_a_person_where_a_person_acts)
{
    static const char *const actions[] = {
        "processTask/todoList",          "processTask/doneList",
        "processInstance/ccList",        "processInstance/startAndExecute",
        "processTask/execute",           "processSurrogate/save",
        "processInstance/updateCCStatus"};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        has(office_error(actions[i], NULL, "{}"), "acting user");
        has(office_error(actions[i], "", "{}"), "acting user");
        has(office_error(actions[i], "a\nb", "{}"), "acting user");
    }
}

Test(facade, call__shows_the_host_what_all_people_started)
{
    (void)office_start("ann", "");
    (void)office_start("bob", "");
    bf_value_t data = office_data("processInstance/page", NULL, "{}");
    cr_assert_eq(office_number(&data, "recordCount"), 2);
    data = office_data("processInstance/page", "bob", "{}");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
    cr_assert_str_eq(office_text(&data, "rows.0.operator"), "bob");
}

/* --- nothing changes on an error --- */

typedef struct counts {
    size_t rows[BF_LEDGER_TABLE_COUNT];
} counts_t;

static counts_t count(void)
{
    counts_t counts;
    for (unsigned i = 0; i < BF_LEDGER_TABLE_COUNT; i++) {
        counts.rows[i] = bf_ledger_count(office_ledger, (bf_ledger_table_t)i);
    }
    return counts;
}

Test(facade, call__changes_nothing_on_an_error)
{
    static const struct {
        const char *action;
        const char *body;
    } wrong[] = {
        {"processDefine/remove", "{'ids':['1','999999']}"},
        {"processDefine/deploy", "{'content':{'name':'x','nodes':[1]}}"},
        {"processDesign/save", "{'name':'x','content':'{'}"},
        {"processDesign/save", "{'name':'x','icon':7.5}"},
        {"processDesign/remove", "{'ids':['7','8']}"},
        {"processSurrogate/save", "{'surrogate':'bob','startTime':'x'}"},
        {"processInstance/startAndExecute", "{'processDefineName':'none'}"},
        {"processInstance/startAndExecute", "{'processDefineId':[1]}"},
        {"processInstance/createCCInstance",
         "{'processInstanceId':'4711','actorIds':['a']}"},
        {"processTask/addCandidate", "{'processTaskId':'4711','actorIds':['a']}"},
        {"processTask/execute", "{'processTaskId':'4711'}"},
    };
    counts_t before = count();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)office_error(wrong[i].action, "ann", wrong[i].body);
        counts_t after = count();
        cr_assert_eq(memcmp(&before, &after, sizeof(before)), 0, "%s %s", wrong[i].action,
                     wrong[i].body);
    }
}

Test(facade, call__bounds_a_batch)
{
    bf_facade_host_t host = {.max_batch = 2};
    office_close();
    office_open(&host);
    has(office_error("processDefine/remove", NULL, "{'ids':['1','2','3']}"), "2 at most");
    has(office_error("processDefine/page", NULL, "{'m_IN_name':['a','b','c']}"),
        "2 at most");
}

/* --- what the host adds --- */

static bf_status_t search_users(void *arg, bf_arena_t *arena,
                                const bf_facade_search_t *search, bf_value_t *ret_rows,
                                int64_t *ret_total, bf_err_t *err)
{
    (void)arg;
    const char *word = bf_value_get_cstr(search->body, "word");
    if (!word) {
        return bf_err_set(err, BF_E_INVALID, "word: missing; give a name");
    }
    bf_value_t *rows = bf_arena_calloc(arena, 1, sizeof(*rows));
    cr_assert_not_null(rows);
    rows[0] = bf_value_cstr(bf_arena_strdup(arena, word));
    *ret_rows = (bf_value_t){.type = BF_VALUE_LIST, .len = 1, .as.items = rows};
    *ret_total = search->page_num * 10 + search->page_size;
    return BF_OK;
}

static bf_status_t read_business(void *arg, bf_arena_t *arena, const char *table,
                                 int64_t instance_id, bf_value_t *ret, bf_err_t *err)
{
    (void)arg;
    (void)err;
    const char *text = bf_arena_printf(arena, "%s/%lld", table, (long long)instance_id);
    cr_assert_not_null(text);
    *ret = bf_value_cstr(text);
    return BF_OK;
}

static void open_with_host(void)
{
    bf_facade_host_t host = {.search_users = search_users,
                             .read_business = read_business};
    office_close();
    office_open(&host);
    (void)office_deploy();
}

static const char *open_task(const char *instance)
{
    bf_value_t data = office_data("processTask/latest", NULL,
                                  office_body("processInstanceId", instance, ""));
    return office_text(&data, "id");
}

Test(facade, candidate_page__takes_the_groups_of_the_next_task)
{
    const char *task = open_task(office_start("ann", ""));
    bf_value_t data = office_data("processTask/candidatePage", "clerk",
                                  office_body("processTaskId", task, ""));
    cr_assert_eq(office_number(&data, "recordCount"), 2);
    cr_assert_str_eq(office_text(&data, "rows.1.userId"), "b2");
    cr_assert_str_eq(office_text(&data, "rows.1.id"), "b2");
    cr_assert_str_eq(office_text(&data, "rows.1.realName"), "N:b2");
}

Test(facade, candidate_page__lets_the_host_search_where_none_are_named)
{
    open_with_host();
    const char *task = open_task(office_start("ann", ""));
    (void)office_data("processTask/execute", "clerk",
                      office_body("processTaskId", task, ""));
    bf_value_t all =
        office_data("processTask/todoList", "head", "{'m_EQ_taskName':'sign'}");
    const char *sign = office_text(&all, "rows.0.id");
    bf_value_t data = office_data(
        "processTask/candidatePage", "head",
        office_body("processTaskId", sign, ",'word':'li','pageNum':3,'pageSize':4"));
    cr_assert_str_eq(office_text(&data, "rows.0"), "li");
    cr_assert_eq(office_number(&data, "recordCount"), 34);
    cr_assert_eq(office_number(&data, "totalPage"), 9);
    has(office_error("processTask/candidatePage", "head",
                     office_body("processTaskId", sign, "")),
        "word");
}

Test(facade, biz_data__asks_the_host_for_the_table_of_the_definition)
{
    open_with_host();
    const char *id = office_start("ann", "");
    bf_value_t data = office_data("processInstance/bizData", "ann",
                                  office_body("processInstanceId", id, ""));
    cr_assert_eq(data.type, BF_VALUE_STRING);
    has(data.as.string, "t_order/");
    has(data.as.string, id);
}

/* --- times (rule 40) --- */

Test(facade, times__are_in_the_zone_of_the_host_in_and_out)
{
    bf_value_t data = office_data("processSurrogate/save", "ann",
                                  "{'surrogate':'bob','startTime':'2027-01-15 09:00:00',"
                                  "'endTime':'2027-01-15T09:30:00Z'}");
    data = office_data("processSurrogate/detail", "ann",
                       office_body("id", office_text(&data, "id"), ""));
    cr_assert_str_eq(office_text(&data, "startTime"), "2027-01-15 09:00:00");
    cr_assert_str_eq(office_text(&data, "endTime"), "2027-01-15 11:30:00");
    cr_assert_str_eq(office_text(&data, "createTime"), OFFICE_NOW_TEXT);
    data = office_data("processSurrogate/page", "ann",
                       "{'m_LIKE_startTime':'15 09:00','m_EQ_endTime':"
                       "'2027-01-15 11:30'}");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
}

Test(facade, surrogate__of_now_stands_in_at_once)
{
    (void)office_data("processSurrogate/save", "clerk",
                      "{'surrogate':'dep','startTime':'2027-01-15 09:59:59',"
                      "'endTime':'2027-01-15 10:00:01'}");
    (void)office_start("ann", "");
    bf_value_t data = office_data("processTask/todoList", "dep", "{}");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
}

Test(facade, call__answers_in_utf_8_whatever_it_is_asked)
{
    /* 99 characters of three bytes: a message that shows 100 bytes cuts one of them */
    char action[300] = "";
    for (size_t i = 0; i < 99; i++) {
        memcpy(action + 3 * i, "流", 4);
    }
    has(office_error(action, NULL, "{}"), "未知 action: 流");
    has(office_error("a\xf3z", NULL, "{}"), "未知 action: a?z");
    has(office_error("processDefine/page", "\xff", "{}"), "acting user");
    bf_value_t answer = office_ask(action, NULL, "{}");
    bf_str_t text;
    bf_value_t again;
    bf_str_init(&text, 0);
    bf_json_write(&text, &answer);
    cr_assert_eq(
        bf_json_parse(&office_arena, bf_str_peek(&text), text.len, NULL, &again, NULL),
        BF_OK);
    bf_str_fini(&text);
}

/* --- pages (rule 41) --- */

Test(facade, page__orders_rows_without_a_value_last_when_growing)
{
    (void)office_start("ann", ",'BUSINESS_NO':'B2'");
    (void)office_start("ann", "");
    (void)office_start("ann", ",'BUSINESS_NO':'B1'");
    bf_value_t data =
        office_data("processInstance/page", "ann", "{'orderBy':'businessNo'}");
    cr_assert_str_eq(office_text(&data, "rows.0.businessNo"), "B1");
    cr_assert_str_eq(office_text(&data, "rows.1.businessNo"), "B2");
    cr_assert_null(office_text(&data, "rows.2.businessNo"));
    data = office_data("processInstance/page", "ann", "{'orderBy':'t.business_no DESC'}");
    cr_assert_null(office_text(&data, "rows.0.businessNo"));
    cr_assert_str_eq(office_text(&data, "rows.1.businessNo"), "B2");
}

Test(facade, page__takes_no_condition_as_fulfilled_by_a_column_without_a_value)
{
    (void)office_start("ann", "");
    bf_value_t data =
        office_data("processInstance/page", "ann", "{'m_NE_businessNo':'B1'}");
    cr_assert_eq(office_number(&data, "recordCount"), 0);
    data = office_data("processInstance/page", "ann", "{'m_NIN_businessNo':'B1'}");
    cr_assert_eq(office_number(&data, "recordCount"), 0);
    data = office_data("processInstance/page", "ann", "{'m_LIKE_state':'1'}");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
}

Test(facade, page__bounds_the_conditions)
{
    bf_str_t body;
    bf_str_init(&body, 0);
    bf_str_putc(&body, '{');
    for (int i = 0; i < 65; i++) {
        bf_str_printf(&body, "%s'm_t_EQ_name_%d':'order'", i ? "," : "", i);
    }
    bf_str_putc(&body, '}');
    has(office_error("processDefine/page", "ann", bf_str_peek(&body)), "64");
    bf_str_fini(&body);
    bf_facade_host_t host = {.max_batch = 40};
    office_close();
    office_open(&host);
    bf_str_init(&body, 0);
    bf_str_puts(&body, "{'m_EQ_type':'x'");
    for (int i = 0; i < 3; i++) {
        bf_str_printf(&body, ",'m_t_IN_name_%d':'", i);
        for (int k = 0; k < 40; k++) {
            bf_str_puts(&body, "x,");
        }
        bf_str_puts(&body, "'");
    }
    bf_str_putc(&body, '}');
    has(office_error("processDefine/page", "ann", bf_str_peek(&body)), "40 at most");
    bf_str_fini(&body);
}

Test(facade, page__is_empty_far_behind_the_last_row)
{
    bf_value_t data = office_data("processDefine/page", "ann",
                                  "{'pageNum':2147483647,'pageSize':1000}");
    cr_assert_eq(office_number(&data, "recordCount"), 1);
    cr_assert_null(office_text(&data, "rows.0.id"));
    has(office_error("processDefine/page", "ann", "{'pageNum':2147483648}"), "pageNum");
}
