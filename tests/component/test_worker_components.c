/*
 * test_worker_components.c - the real worker with libraries of components: the sample of
 *                            deploy/samples, built from an installed tree
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/worker_process.h"

static test_worker_t worker;

static void setup(void)
{
    test_worker_begin(&worker);
}

static void teardown(void)
{
    test_worker_end(&worker);
}

TestSuite(components, .init = setup, .fini = teardown, .timeout = 120);

/* <build>/tests/component/<test> -> <build>/samples/lib<name>.so; static. */
static const char *library(const char *name)
{
    static char path[512];
    char self[400];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    cr_assert_gt(n, 0);
    self[n] = '\0';
    (void)snprintf(path, sizeof(path), "%s/samples/lib%s.so",
                   dirname(dirname(dirname(self))), name);
    return path;
}

static const bf_value_t *start(const char *instance, const char *vars)
{
    return test_worker_call(&worker, instance, instance,
                            "{'command_id':'%s','command':'start','instance_id':'%s',"
                            "'graph_id':'discount','actor':'ann','vars':%s}",
                            instance, instance, vars);
}

/* The first of the next tasks; "" = none. */
static const char *next_task(const bf_value_t *reply)
{
    const bf_value_t *tasks = bf_value_get_str(reply, "next_tasks");
    const char *node =
        tasks && tasks->len ? bf_value_get_cstr(&tasks->as.items[0], "node_id") : NULL;
    return node ? node : "";
}

Test(components, sample__runs_as_task_condition_and_driver)
{
    test_worker_set(&worker, "components", "%s", library("sample"));
    test_worker_start(&worker);
    const bf_value_t *reply = start("i-1", "{'price':200,'budget':180}");
    test_assert_code(reply, "ok");
    cr_assert_str_eq(next_task(reply), "buy");
    reply = start("i-2", "{'price':200,'budget':179}");
    test_assert_code(reply, "ok");
    cr_assert_str_eq(next_task(reply), "ask");
    test_worker_wait_log(&worker, "i-1/i-1/discount:reduce", 1);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                         "JSON_EXTRACT(vars, '$.total') = 180 AND "
                                         "JSON_EXTRACT(vars, '$.audited') = 1"),
                 2);
}

Test(components, failure__rejects_the_command_and_names_the_node)
{
    test_worker_set(&worker, "components", "%s", library("sample"));
    test_worker_start(&worker);
    const bf_value_t *reply = start("i-1", "{'price':'much'}");
    test_assert_code(reply, "component_error");
    const char *error = bf_value_get_cstr(reply, "error");
    cr_assert(strstr(error, "discount / reduce"), "%s", error);
    cr_assert(strstr(error, "the variable price is missing or no number"), "%s", error);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 0);
}

Test(components, controller__of_a_library_says_whose_a_task_is)
{
    test_worker_set(&worker, "components", "%s", library("sample"));
    test_worker_set(&worker, "graphs.controller", "teams");
    test_worker_start(&worker);
    test_assert_code(start("i-1", "{'price':200,'budget':180}"), "ok");
    const bf_value_t *reply = test_worker_call(
        &worker, "i-1", "c-1",
        "{'command_id':'c-1','command':'claim','instance_id':'i-1','actor':'li'}");
    test_assert_code(reply, "ok");
    cr_assert(bf_value_is_null(bf_value_get_str(reply, "task")), "nobody of the team");
    reply = test_worker_call(&worker, "i-1", "c-2",
                             "{'command_id':'c-2','command':'claim','instance_id':'i-1',"
                             "'actor':'li','context':{'team':'buyers'}}");
    test_assert_code(reply, "ok");
    cr_assert_str_eq(bf_value_get_cstr(bf_value_get_str(reply, "task"), "node_id"),
                     "buy");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

Test(components, missing__is_said_at_the_start_and_by_the_command)
{
    test_worker_start(&worker);
    test_worker_wait_log(&worker, "there is no component 'discount'", 1);
    test_worker_wait_log(&worker, "there is no component 'affordable'", 1);
    test_worker_wait_log(&worker, "there is no driver 'audited'", 1);
    const bf_value_t *reply = start("i-1", "{'price':1}");
    cr_assert_str_eq(bf_value_get_cstr(reply, "status"), "rejected");
    cr_assert(strstr(bf_value_get_cstr(reply, "error"), "audited"), "%s",
              bf_value_get_cstr(reply, "error"));
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

static void expect_refused(const char *text)
{
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 2);
    test_worker_wait_log(&worker, text, 1);
}

Test(components, start__a_file_that_is_not_there_is_refused)
{
    test_worker_set(&worker, "components", "./libnothing.so");
    expect_refused("components: ./libnothing.so cannot be loaded");
}

Test(components, start__another_abi_is_refused)
{
    test_worker_set(&worker, "components", "%s", library("other_abi"));
    expect_refused("was built for component ABI 2, this program has 1");
}

Test(components, start__an_object_without_the_symbol_is_refused)
{
    test_worker_set(&worker, "components", "%s", library("no_library"));
    expect_refused("has no symbol bf_component_library");
}

Test(components, start__the_same_name_twice_is_refused)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s", library("sample"));
    test_worker_set(&worker, "components", "%s,%s", path, path);
    expect_refused("component 'discount' is defined by");
}

Test(components, start__an_unknown_controller_is_refused)
{
    test_worker_set(&worker, "components", "%s", library("sample"));
    test_worker_set(&worker, "graphs.controller", "team");
    expect_refused("did you mean 'teams'?");
}
