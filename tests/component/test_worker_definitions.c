/*
 * test_worker_definitions.c - definitions of a running worker: broken ones, new versions,
 *                             reload, restart
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/worker_process.h"

static test_worker_t worker;
static int loads;

static const char *const files[] = {"leave@1.yaml", "leave@2.yaml", "leave@3.yaml",
                                    "other.yaml"};

/* "leave" with one task: of another person in each version. */
static const char leave_v1[] = "id: leave\nversion: 1\nlayout:\n"
                               "  - {id: s, type: start}\n"
                               "  - {id: first, meta: {actor: ann}}\n"
                               "  - {id: e, type: end}\n";
static const char leave_v2[] = "id: leave\nversion: 2\nlayout:\n"
                               "  - {id: s, type: start}\n"
                               "  - {id: second, meta: {actor: ben}}\n"
                               "  - {id: e, type: end}\n";
static const char leave_v3[] = "id: leave\nversion: 3\nlayout:\n"
                               "  - {id: s, type: start}\n"
                               "  - {id: third, link: [{nextId: nowhere}]}\n"
                               "  - {id: e, type: end}\n";
static const char other[] = "id: other\nlayout:\n"
                            "  - {id: s, type: start}\n"
                            "  - {id: only, meta: {actor: ann}}\n"
                            "  - {id: e, type: end}\n";

static const char *path_of(const char *name)
{
    static char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", worker.folder, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "we");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void take_file(const char *name)
{
    cr_assert_eq(unlink(path_of(name)), 0);
}

static void setup(void)
{
    test_worker_begin(&worker);
    test_worker_set(&worker, "graphs.paths", "%s", worker.folder);
    loads = 0;
}

static void teardown(void)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(path_of(files[i]));
    }
    test_worker_end(&worker);
}

TestSuite(definitions, .init = setup, .fini = teardown, .timeout = 120);

static void start_worker(void)
{
    test_worker_start(&worker);
    loads++;
}

static void reload(void)
{
    cr_assert_eq(kill(worker.pid, SIGHUP), 0);
    test_worker_wait_log(&worker, "definitions are loaded", ++loads);
}

static const bf_value_t *start(const char *instance, const char *graph)
{
    static int number;
    char id[32];
    (void)snprintf(id, sizeof(id), "start-%d", ++number);
    return test_worker_call(
        &worker, instance, id,
        "{'command_id':'%s','command':'start','instance_id':'%s','graph_id':'%s'}", id,
        instance, graph);
}

/* ID of the task that somebody claims; "" = none. */
static const char *claim(const char *instance, const char *actor)
{
    static int number;
    char id[32];
    (void)snprintf(id, sizeof(id), "claim-%d", ++number);
    const bf_value_t *reply = test_worker_call(
        &worker, instance, id,
        "{'command_id':'%s','command':'claim','instance_id':'%s','actor':'%s'}", id,
        instance, actor);
    test_assert_code(reply, "ok");
    const char *node = bf_value_get_cstr(bf_value_get_str(reply, "task"), "node_id");
    return node ? node : "";
}

static int64_t refused(const char *name)
{
    char metric[256];
    (void)snprintf(metric, sizeof(metric), "bpmflow_definition_refused{file=\"%s/%s\"}",
                   worker.folder, name);
    return test_worker_metric(&worker, metric);
}

Test(definitions, start__a_broken_file_is_named_and_the_good_ones_run)
{
    put_file("leave@3.yaml", leave_v3);
    put_file("other.yaml", other);
    start_worker();
    test_worker_wait_log(&worker, "nowhere", 1);
    test_worker_wait_log(&worker, "leave@3.yaml", 1);
    test_worker_wait_log(&worker, "line=5", 1);
    test_worker_wait_log(&worker, "node=third", 1);
    cr_assert_eq(refused("leave@3.yaml"), 1);
    cr_assert_eq(test_worker_metric(&worker, "bpmflow_definitions"), 1);
    test_assert_code(start("i-1", "other"), "ok");
    cr_assert_str_eq(claim("i-1", "ann"), "only");
    test_assert_code(start("i-2", "leave"), "unknown_graph");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

Test(definitions, start__strict_refuses_a_broken_file)
{
    put_file("leave@3.yaml", leave_v3);
    put_file("other.yaml", other);
    test_worker_set(&worker, "graphs.strict", "true");
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 2);
    test_worker_wait_log(&worker, "leave@3.yaml", 1);
    test_worker_wait_log(&worker, "graphs.strict", 1);
}

Test(definitions, start__a_path_that_is_not_there_ends_with_status_2)
{
    test_worker_set(&worker, "graphs.paths", "%s/nothing", worker.folder);
    test_worker_spawn(&worker);
    cr_assert_eq(test_worker_wait(&worker), 2);
    test_worker_wait_log(&worker, "nothing cannot be read: No such file", 1);
}

Test(definitions, reload__running_instances_stay_on_their_version)
{
    put_file("leave@1.yaml", leave_v1);
    start_worker();
    test_assert_code(start("i-1", "leave"), "ok");
    put_file("leave@2.yaml", leave_v2);
    reload();
    test_assert_code(start("i-2", "leave"), "ok");
    cr_assert_str_eq(claim("i-1", "ann"), "first");
    cr_assert_str_eq(claim("i-2", "ben"), "second");
    /* also when the file of the old version is gone: until the next start */
    take_file("leave@1.yaml");
    reload();
    test_worker_wait_log(&worker, "is no longer there; it stays in use", 1);
    test_assert_code(start("i-3", "leave"), "ok");
    cr_assert_str_eq(claim("i-1", "ann"), "first");
    cr_assert_str_eq(claim("i-3", "ben"), "second");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

Test(definitions, reload__a_broken_version_leaves_the_last_good_one_in_use)
{
    put_file("leave@2.yaml", leave_v2);
    start_worker();
    put_file("leave@2.yaml", leave_v3); /* the same file, broken now */
    put_file("other.yaml", other);
    reload();
    test_worker_wait_log(&worker, "the last good version 2 of graph 'leave' stays in use",
                         1);
    cr_assert_eq(refused("leave@2.yaml"), 1);
    test_assert_code(start("i-1", "leave"), "ok");
    cr_assert_str_eq(claim("i-1", "ben"), "second");
    test_assert_code(start("i-2", "other"), "ok"); /* the good file of the same reload */
    put_file("leave@2.yaml", leave_v2);
    reload();
    cr_assert_eq(refused("leave@2.yaml"), 0);
    cr_assert_eq(
        test_worker_metric(&worker, "bpmflow_definition_loads_total{result=\"refused\"}"),
        1);
    cr_assert_eq(
        test_worker_metric(&worker, "bpmflow_definition_loads_total{result=\"ok\"}"), 2);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

Test(definitions, restart__a_pinned_version_whose_file_is_gone_is_named)
{
    put_file("leave@1.yaml", leave_v1);
    start_worker();
    test_assert_code(start("i-1", "leave"), "ok");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    take_file("leave@1.yaml");
    put_file("leave@2.yaml", leave_v2);
    start_worker();
    const bf_value_t *reply = test_worker_call(
        &worker, "i-1", "c-1",
        "{'command_id':'c-1','command':'claim','instance_id':'i-1','actor':'ann'}");
    test_assert_code(reply, "unknown_graph");
    const char *error = bf_value_get_cstr(reply, "error");
    cr_assert(strstr(error, "instance \"i-1\" runs version 1 of graph \"leave\""), "%s",
              error);
    cr_assert(strstr(error, "SIGHUP"), "%s", error);
    put_file("leave@1.yaml", leave_v1);
    reload();
    cr_assert_str_eq(claim("i-1", "ann"), "first");
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}
