/*
 * test_approval.c - what the scenarios of tests/data/approval cannot say: bounds, hosts,
 * operations that fail and leave nothing
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/desks.h"

static desks_t desks;

static void setup(void)
{
    desks_begin(&desks, NULL);
}

static void teardown(void)
{
    desks_end(&desks);
}

TestSuite(approval, .init = setup, .fini = teardown);

/* Again, with bounds. */
static void with_limits(bf_approval_limits_t limits)
{
    bf_approval_host_t host = {.limits = limits};
    desks_end(&desks);
    desks_begin(&desks, &host);
}

static void assert_refused(const char *before, bf_status_t rc, bf_status_t expected,
                           const char *says)
{
    cr_assert_eq(rc, expected, "%s", desks.err.text);
    cr_assert_eq(desks.err.status, expected);
    cr_assert_not_null(strstr(desks.err.text, says), "%s", desks.err.text);
    cr_assert_str_eq(desks_dump(&desks), before);
}

Test(approval, start__takes_the_latest_definition)
{
    int64_t first = desks_flow(&desks, "o", "start>form form>end", "form=ann");
    int64_t second = desks_flow(&desks, "o", "start>form form>end", "form=bea");
    const bf_define_row_t *row = bf_ledger_find(desks.ledger, BF_LEDGER_DEFINE, second);
    cr_assert_eq(row->version, 1);
    cr_assert_str_eq(desks_rows(&desks, desks_start(&desks, "o", "zoe", NULL)),
                     "form:10(bea)");
    bf_approval_start_t start = {.define_id = first, .operator_id = "zoe"};
    int64_t id;
    cr_assert_eq(bf_approval_start(desks.approval, &start, &id, &desks.err), BF_OK);
    cr_assert_str_eq(desks_rows(&desks, id), "form:10(ann)");
}

Test(approval, start__needs_somebody)
{
    desks_flow(&desks, "o", "start>form form>end", "form=ann");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_INVALID, "operator");
}

Test(approval, start__args_must_be_a_map)
{
    desks_flow(&desks, "o", "start>form form>end", "form=ann");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann", "[1]"), 0);
    assert_refused(before, desks.err.status, BF_E_INVALID, "list");
}

Test(approval, redeploy__keeps_version_and_id)
{
    int64_t id = desks_flow(&desks, "o", "start>form form>end", "form=ann");
    int64_t instance = desks_start(&desks, "o", "ann", NULL);
    const char *text =
        desks_json(&desks, "o", "start>form form>more more>end", "form=ann more=bea");
    cr_assert_eq(
        bf_approval_redeploy(desks.approval, id, text, strlen(text), "me", &desks.err),
        BF_OK);
    const bf_define_row_t *row = bf_ledger_find(desks.ledger, BF_LEDGER_DEFINE, id);
    cr_assert_eq(row->version, 0);
    cr_assert_str_eq(row->audit.update_user, "me");
    cr_assert_eq(desks_do(&desks, instance, "form", "ann", BF_SUBMIT_AGREE, NULL), BF_OK);
    cr_assert_str_eq(desks_rows(&desks, instance), "form:20(ann)@ann more:10(bea)");
}

Test(approval, flow__many_definitions_pass_through_the_cache)
{
    int64_t ids[100];
    for (int i = 0; i < 100; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "flow%d", i);
        ids[i] = desks_flow(&desks, name, "start>form form>end", "form=ann");
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            char name[16];
            const bf_flow_t *flow;
            (void)snprintf(name, sizeof(name), "flow%d", i);
            cr_assert_eq(bf_approval_flow(desks.approval, ids[i], &flow, &desks.err),
                         BF_OK);
            cr_assert_str_eq(flow->name, name);
        }
    }
}

Test(approval, execute__a_node_that_is_gone_can_be_jumped_from)
{
    int64_t id =
        desks_flow(&desks, "o", "start>form form>check check>end", "form=ann check=bea");
    int64_t instance = desks_start(&desks, "o", "ann", NULL);
    const char *text = desks_json(&desks, "o", "start>other other>end", "other=carl");
    cr_assert_eq(
        bf_approval_redeploy(desks.approval, id, text, strlen(text), NULL, &desks.err),
        BF_OK);
    const char *before = desks_dump(&desks);
    assert_refused(before,
                   desks_do(&desks, instance, "form", "ann", BF_SUBMIT_AGREE, NULL),
                   BF_E_NOT_FOUND, "form");
    cr_assert_eq(desks_do(&desks, instance, "form", "ann", BF_SUBMIT_JUMP, "other"),
                 BF_OK);
    cr_assert_str_eq(desks_rows(&desks, instance), "form:20(ann)@ann other:10(ann)");
}

Test(approval, execute__a_way_that_ends_nowhere_is_an_error)
{
    desks_flow(&desks, "o", "start>a", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    const char *before = desks_dump(&desks);
    assert_refused(before, desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL),
                   BF_E_NO_ROUTE, "node a");
}

Test(approval, execute__needs_somebody)
{
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    const char *before = desks_dump(&desks);
    assert_refused(before, desks_do(&desks, id, "a", "", BF_SUBMIT_AGREE, NULL),
                   BF_E_INVALID, "operator");
}

Test(approval, execute__variables_that_were_damaged_are_named)
{
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    bf_process_row_t row =
        *(const bf_process_row_t *)bf_ledger_find(desks.ledger, BF_LEDGER_PROCESS, id);
    row.variable = "{broken";
    cr_assert_eq(bf_ledger_update(desks.ledger, BF_LEDGER_PROCESS, &row, &desks.err),
                 BF_OK);
    const char *before = desks_dump(&desks);
    assert_refused(before, desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL),
                   BF_E_PARSE, "variables of instance");
}

Test(approval, execute__an_instance_whose_definition_is_gone_says_so)
{
    int64_t define = desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    cr_assert_eq(bf_ledger_delete(desks.ledger, BF_LEDGER_DEFINE, define, &desks.err),
                 BF_OK);
    const char *before = desks_dump(&desks);
    assert_refused(before, desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL),
                   BF_E_NOT_FOUND, "20010002");
}

Test(approval, execute__back_to_the_initiator_needs_a_first_task)
{
    int64_t define = desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    const char *text = desks_json(&desks, "o", "start>end", "");
    cr_assert_eq(bf_approval_redeploy(desks.approval, define, text, strlen(text), NULL,
                                      &desks.err),
                 BF_OK);
    const char *before = desks_dump(&desks);
    assert_refused(before,
                   desks_do(&desks, id, "a", "x", BF_SUBMIT_ROLLBACK_TO_OPERATOR, NULL),
                   BF_E_REJECTED, "no first task");
}

Test(approval, rollback__keeps_the_arrivals_of_other_branches)
{
    desks_flow(&desks, "o", "start>fork fork>a fork>b b>c a>join c>join join>z z>end",
               "a=x b=x c=x z=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    cr_assert_eq(desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL), BF_OK);
    cr_assert_eq(desks_do(&desks, id, "b", "x", BF_SUBMIT_AGREE, NULL), BF_OK);
    const char *arrived = desks_variable(&desks, id, "joinArrivals_");
    cr_assert_str_neq(arrived, "absent");
    cr_assert_eq(desks_do(&desks, id, "c", "x", BF_SUBMIT_ROLLBACK, NULL), BF_OK);
    cr_assert_str_eq(desks_variable(&desks, id, "joinArrivals_"), arrived);
    cr_assert_eq(desks_do(&desks, id, "b", "x", BF_SUBMIT_AGREE, NULL), BF_OK);
    cr_assert_eq(desks_do(&desks, id, "c", "x", BF_SUBMIT_AGREE, NULL), BF_OK);
    cr_assert_not_null(strstr(desks_rows(&desks, id), "z:10(x)"));
}

/* --- bounds --- */

Test(approval, limits__a_loop_without_a_task_ends)
{
    with_limits((bf_approval_limits_t){.max_steps = 50});
    desks_flow(&desks, "o", "start>dec1 dec1>dec2 dec2>dec1", "");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_STEP_LIMIT, "50 nodes");
}

Test(approval, limits__rows_of_an_operation)
{
    with_limits((bf_approval_limits_t){.max_rows = 6});
    desks_flow(&desks, "o", "start>fork fork>a fork>b fork>c a>end b>end c>end",
               "a=x b=x c=x");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_LIMIT, "6 rows");
}

Test(approval, limits__actors_of_a_task_and_members_of_a_countersign)
{
    with_limits((bf_approval_limits_t){.max_actors = 2});
    desks_flow(&desks, "o", "start>a a>end", "a=x,y,z");
    desks_flow(&desks, "p", "start>a a>end", "a=!x,y,z");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_LIMIT, "2 actors");
    cr_assert_eq(desks_start(&desks, "p", "ann", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_LIMIT, "2 members");
}

Test(approval, limits__variables)
{
    with_limits((bf_approval_limits_t){.max_variable_bytes = 200});
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann",
                             "{\"text\":\"0123456789012345678901234567890123456789012345"
                             "67890123456789012345678901234567890123456789012345678901234"
                             "5678901234567890123456789012345678901234567890123456789012"
                             "345678901234567890123456789012345678901234567890\"}"),
                 0);
    assert_refused(before, desks.err.status, BF_E_LIMIT, "200 bytes");
}

Test(approval, limits__memory_of_an_operation)
{
    with_limits((bf_approval_limits_t){.max_arena_bytes = 2000});
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann",
                             "{\"a1\":1,\"a2\":2,\"a3\":3,\"a4\":4,\"a5\":5,\"a6\":6,"
                             "\"a7\":7,\"a8\":8,\"a9\":9,\"b1\":1,\"b2\":2,\"b3\":3,"
                             "\"b4\":4,\"b5\":5,\"b6\":6,\"b7\":7,\"b8\":8,\"b9\":9}"),
                 0);
    cr_assert_neq(desks.err.status, BF_OK);
    cr_assert_str_eq(desks_dump(&desks), before);
}

Test(approval, limits__the_id_of_a_user)
{
    char long_id[400];
    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    desks_flow(&desks, "o", "start>a a>end", "a=applicant");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", long_id, NULL), 0);
    assert_refused(before, desks.err.status, BF_E_LIMIT, "64 characters");
}

/* --- hosts --- */

static bf_status_t failing_user(void *arg, bf_arena_t *arena, const char *user_id,
                                bf_approval_user_t *ret, bf_err_t *err)
{
    (void)arg;
    (void)arena;
    (void)ret;
    return bf_err_set(err, BF_E_IO, "the directory does not answer for %s", user_id);
}

Test(approval, directory__an_error_undoes_the_operation)
{
    bf_approval_host_t host = {.directory = {.user = failing_user}};
    desks_end(&desks);
    desks_begin(&desks, &host);
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    const char *before = desks_dump(&desks);
    cr_assert_eq(desks_start(&desks, "o", "ann", NULL), 0);
    assert_refused(before, desks.err.status, BF_E_IO, "ann");
}

static int64_t noon(void *arg)
{
    (void)arg;
    return 1767268800123; /* 2026-01-01 12:00:00.123 UTC */
}

Test(approval, clock__times_are_those_of_the_host_in_its_zone)
{
    bf_approval_host_t host = {.now_ms = noon, .utc_offset_s = 8 * 3600};
    char text[BF_APPROVAL_TIME_MAX];
    desks_end(&desks);
    desks_begin(&desks, &host);
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    cr_assert_str_eq(desks_variable(&desks, id, "autoGenTitle"),
                     "\"ann的o-2026-01-01 20:00:00\"");
    const bf_process_row_t *row = bf_ledger_find(desks.ledger, BF_LEDGER_PROCESS, id);
    cr_assert_eq(row->audit.create_time, 1767268800123);
    bf_approval_format_time(desks.approval, 0, text);
    cr_assert_str_eq(text, "1970-01-01 08:00:00");
}

static bf_status_t refuse(void *arg, const bf_ledger_change_t *changes, size_t count,
                          bf_err_t *err)
{
    size_t *seen = arg;
    (void)changes;
    *seen = count;
    return bf_err_set(err, BF_E_STORE_LOST, "the connection is lost");
}

Test(approval, sink__one_that_refuses_undoes_the_operation)
{
    size_t seen = 0;
    bf_ledger_sink_t sink = {refuse, &seen};
    desks_flow(&desks, "o", "start>a a>b b>end", "a=x b=y");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    const char *before = desks_dump(&desks);
    bf_ledger_set_sink(desks.ledger, &sink);
    assert_refused(before, desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL),
                   BF_E_STORE_LOST, "lost");
    cr_assert_geq(seen, 3); /* two tasks and an actor */
    bf_ledger_set_sink(desks.ledger, NULL);
    cr_assert_eq(desks_do(&desks, id, "a", "x", BF_SUBMIT_AGREE, NULL), BF_OK);
}

/* --- people by hand --- */

Test(approval, actors__nobody_given_is_an_error)
{
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    size_t cursor = 0;
    const bf_task_row_t *row =
        bf_ledger_next_by_id(desks.ledger, BF_LEDGER_BY_TASK_PROCESS, id, &cursor);
    const char *const blank[] = {" , "};
    bf_approval_actors_t actors = {.task_id = row->id, .actors = blank, .count = 1};
    const char *before = desks_dump(&desks);
    bf_err_clear(&desks.err);
    assert_refused(before, bf_approval_add_actors(desks.approval, &actors, &desks.err),
                   BF_E_INVALID, "nobody");
    bf_err_clear(&desks.err);
    assert_refused(before, bf_approval_cc(desks.approval, id, blank, 1, NULL, &desks.err),
                   BF_E_INVALID, "nobody");
}

Test(approval, cc__each_gets_one_copy)
{
    desks_flow(&desks, "o", "start>a a>end", "a=x");
    int64_t id = desks_start(&desks, "o", "ann", "{\"f_ccActors\":\"c1\"}");
    const char *const names[] = {"c1", "c2", "c2"};
    cr_assert_eq(bf_approval_cc(desks.approval, id, names, 3, "ann", &desks.err), BF_OK);
    cr_assert_eq(bf_ledger_count(desks.ledger, BF_LEDGER_CC), 2);
}

Test(approval, resolve__asks_and_changes_nothing)
{
    int64_t define = desks_flow(&desks, "o", "start>a a>b b>end", "a=x b=who,applicant");
    int64_t id = desks_start(&desks, "o", "ann", "{\"who\":[\"p\",\"q\"]}");
    const char *before = desks_dump(&desks);
    const bf_flow_t *flow;
    bf_approval_names_t names = {0};
    cr_assert_eq(bf_approval_flow(desks.approval, define, &flow, &desks.err), BF_OK);
    cr_assert_eq(bf_approval_resolve(desks.approval, id, bf_flow_find(flow, "b"), "x",
                                     &desks.arena, &names, &desks.err),
                 BF_OK);
    cr_assert_eq(names.count, 3);
    cr_assert_str_eq(names.items[0], "p");
    cr_assert_str_eq(names.items[2], "ann");
    cr_assert_str_eq(desks_dump(&desks), before);
}

/* --- many --- */

/* More definitions in one operation than are kept between operations. */
Test(approval, start__uses_more_definitions_than_are_kept)
{
    enum { CHILDREN = 70 };
    bf_str_t json;
    bf_str_init(&json, 0);
    bf_str_puts(&json, "{\"name\":\"parent\",\"nodes\":["
                       "{\"id\":\"start\",\"type\":\"snaker:start\"},"
                       "{\"id\":\"fork\",\"type\":\"snaker:fork\"}");
    for (int i = 0; i < CHILDREN; i++) {
        bf_str_printf(&json,
                      ",{\"id\":\"s%d\",\"type\":\"snaker:subProcess\","
                      "\"properties\":{\"processName\":\"c%d\"}}",
                      i, i);
    }
    bf_str_puts(&json, "],\"edges\":["
                       "{\"sourceNodeId\":\"start\",\"targetNodeId\":\"fork\"}");
    for (int i = 0; i < CHILDREN; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "c%d", i);
        desks_flow(&desks, name, "start>t t>end", "t=bea");
        bf_str_printf(&json, ",{\"sourceNodeId\":\"fork\",\"targetNodeId\":\"s%d\"}", i);
    }
    bf_str_puts(&json, "]}");
    cr_assert_eq(bf_approval_deploy(desks.approval, bf_str_peek(&json), json.len, NULL,
                                    NULL, &desks.err),
                 BF_OK, "%s", desks.err.text);
    bf_str_fini(&json);
    int64_t id = desks_start(&desks, "parent", "ann", NULL);
    cr_assert_gt(id, 0, "%s", desks.err.text);
    cr_assert_eq(bf_ledger_count(desks.ledger, BF_LEDGER_PROCESS), CHILDREN + 1);
    cr_assert_eq(bf_approval_withdraw(desks.approval, id, "ann", &desks.err), BF_OK);
    cr_assert_eq(desks_state(&desks, id), BF_APPROVAL_WITHDRAWN);
}

/* Comparing each with all others would take a minute. */
Test(approval, names_add__a_hundred_thousand_are_kept_once_and_in_order)
{
    bf_approval_names_t names = {0};
    char id[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100000; i++) {
            int len = snprintf(id, sizeof(id), "user%d", i);
            cr_assert_eq(bf_approval_names_add(&desks.arena, &names, id, (size_t)len),
                         BF_OK);
        }
    }
    cr_assert_eq(names.count, 100000);
    cr_assert_str_eq(names.items[0], "user0");
    cr_assert_str_eq(names.items[99999], "user99999");
}

Test(approval, names_add__a_copy_of_a_long_list_leaves_it_alone)
{
    bf_approval_names_t names = {0};
    char id[32];
    for (int i = 0; i < 100; i++) {
        int len = snprintf(id, sizeof(id), "user%d", i);
        cr_assert_eq(bf_approval_names_add(&desks.arena, &names, id, (size_t)len), BF_OK);
    }
    bf_approval_names_t copy = names;
    cr_assert_eq(bf_approval_names_add(&desks.arena, &copy, "ann", 3), BF_OK);
    cr_assert_eq(bf_approval_names_add(&desks.arena, &names, "ann", 3), BF_OK);
    cr_assert_eq(bf_approval_names_add(&desks.arena, &names, "ann", 3), BF_OK);
    cr_assert_eq(names.count, 101);
    cr_assert_str_eq(names.items[100], "ann");
}

Test(approval, countersign__a_hundred_members_in_any_order)
{
    bf_str_t actors;
    bf_str_init(&actors, 0);
    bf_str_puts(&actors, "last=z cs=!");
    for (int i = 0; i < 100; i++) {
        bf_str_printf(&actors, "%sm%d", i ? "," : "", i);
    }
    desks_flow(&desks, "o", "start>cs cs>last last>end", bf_str_peek(&actors));
    bf_str_fini(&actors);
    int64_t id = desks_start(&desks, "o", "ann", NULL);
    for (int i = 0; i < 100; i++) {
        char who[16];
        (void)snprintf(who, sizeof(who), "m%d", (i * 37) % 100);
        cr_assert_null(strstr(desks_rows(&desks, id), "last"));
        cr_assert_eq(desks_do(&desks, id, "cs", who, BF_SUBMIT_AGREE, NULL), BF_OK);
    }
    cr_assert_str_eq(desks_variable(&desks, id, "csv_cs_nrOfCompletedInstances"), "100");
    cr_assert_eq(desks_do(&desks, id, "last", "z", BF_SUBMIT_AGREE, NULL), BF_OK);
    cr_assert_eq(desks_state(&desks, id), BF_APPROVAL_FINISHED);
}

Test(approval, join__waits_over_any_order_of_its_branches)
{
    static const char *const orders[] = {"abc", "acb", "bac", "bca", "cab", "cba"};
    desks_flow(&desks, "o",
               "start>fork fork>a fork>fork2 fork2>b fork2>c a>join b>join2 c>join2 "
               "join2>join join>last last>end",
               "a=x b=x c=x last=z");
    for (unsigned i = 0; i < 6; i++) {
        int64_t id = desks_start(&desks, "o", "ann", NULL);
        for (unsigned j = 0; j < 3; j++) {
            char task[2] = {orders[i][j], '\0'};
            cr_assert_null(strstr(desks_rows(&desks, id), "last"), "%s", orders[i]);
            cr_assert_eq(desks_do(&desks, id, task, "x", BF_SUBMIT_AGREE, NULL), BF_OK);
        }
        cr_assert_not_null(strstr(desks_rows(&desks, id), "last:10(z)"), "%s", orders[i]);
        cr_assert_str_eq(desks_variable(&desks, id, "joinArrivals_"), "absent");
        cr_assert_eq(desks_do(&desks, id, "last", "z", BF_SUBMIT_AGREE, NULL), BF_OK);
        cr_assert_eq(desks_state(&desks, id), BF_APPROVAL_FINISHED);
    }
}
