/*
 * test_worker_jobs.c - work that a real worker hands to a service, and the sample service
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "tests/support/worker_process.h"

extern char **environ;

static test_worker_t worker;

static void setup(void)
{
    test_worker_begin(&worker);
    test_worker_set(&worker, "jobs.topics", "bpmflow.payments");
}

static void teardown(void)
{
    test_worker_end(&worker);
}

TestSuite(jobs, .init = setup, .fini = teardown, .timeout = 120);

static const bf_value_t *start(const char *instance, int amount)
{
    return test_worker_call(&worker, instance, instance,
                            "{'command_id':'%s','command':'start','instance_id':'%s',"
                            "'graph_id':'purchase','actor':'ann','vars':{'amount':%d}}",
                            instance, instance, amount);
}

static const bf_value_t *order(const char *instance, const char *command)
{
    return test_worker_call(&worker, instance, command,
                            "{'command_id':'%s','command':'submit','instance_id':'%s',"
                            "'node_id':'order','actor':'ann'}",
                            command, instance);
}

/* --- the record --- */

static void keep_value(void *arg, const bf_record_t *record)
{
    bf_value_t *value = arg;
    cr_assert_eq(record->key_len, 3);
    cr_assert_eq(
        bf_json_parse(&worker.arena, record->value, record->value_len, NULL, value, NULL),
        BF_OK);
    const bf_header_t *type = bf_record_header(record, "ce_type");
    cr_assert_eq(memcmp(type->value, "bpmflow.job", type->len), 0);
}

static void collect_action(void *arg, const bf_record_t *record)
{
    bf_str_t *str = arg;
    bf_value_t value;
    cr_assert_eq(bf_json_parse(&worker.arena, record->value, record->value_len, NULL,
                               &value, NULL),
                 BF_OK);
    bf_str_printf(str, "%s %s>%s;", bf_value_get_cstr(&value, "action"),
                  bf_value_get_cstr(bf_value_get_str(&value, "source"), "code"),
                  bf_value_get_cstr(bf_value_get_str(&value, "target"), "code"));
}

Test(jobs, submit__publishes_a_job_with_the_events)
{
    bf_value_t job;
    bf_str_t events;
    bf_str_t command;
    bf_err_t err = BF_ERR_INIT;
    test_worker_start(&worker);
    test_assert_code(start("i-1", 50), "ok");
    test_assert_code(order("i-1", "c-1"), "ok");
    test_worker_read(&worker, "payments", 1, keep_value, &job);
    cr_assert_str_eq(bf_value_get_cstr(&job, "job_id"), "i-1/2");
    cr_assert_str_eq(bf_value_get_cstr(&job, "node_id"), "pay");
    cr_assert_str_eq(bf_value_get_cstr(&job, "caused_by"), "c-1");
    cr_assert_eq(bf_value_get_str(bf_value_get_str(&job, "meta"), "limit")->as.integer,
                 100);
    cr_assert_eq(
        bf_value_get_str(bf_value_get_str(&job, "variables"), "amount")->as.integer, 50);
    /* the command that came with it, as it is, twice: it moves on once */
    bf_str_init(&command, 0);
    bf_json_write(&command, bf_value_get_str(&job, "command"));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(bf_client_send(worker.client, "i-1", bf_str_peek(&command),
                                    command.len, &err),
                     BF_OK, "%s", err.text);
        test_assert_code(test_worker_reply(&worker, "job-2"), "ok");
    }
    bf_str_fini(&command);
    bf_str_init(&events, 0);
    test_worker_read(&worker, "events", 3, collect_action, &events);
    cr_assert_str_eq(
        bf_str_peek(&events),
        "forward order>pay;dispatch pay>bpmflow.payments;forward pay>receive;");
    bf_str_fini(&events);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 3);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task WHERE "
                                         "action = 1050 AND status = 1001 AND "
                                         "target_node_code = 'bpmflow.payments'"),
                 1);
}

Test(jobs, topic__that_is_not_allowed_is_said_at_the_start_and_rejects)
{
    test_worker_set(&worker, "jobs.topics", "bpmflow.payment");
    test_worker_start(&worker);
    test_worker_wait_log(&worker,
                         "topic 'bpmflow.payments' is not in jobs.topics; did "
                         "you mean 'bpmflow.payment'?",
                         1);
    test_assert_code(start("i-1", 50), "ok");
    const bf_value_t *reply = order("i-1", "c-1");
    test_assert_code(reply, "component_error");
    cr_assert(strstr(bf_value_get_cstr(reply, "error"), "purchase / pay"), "%s",
              bf_value_get_cstr(reply, "error"));
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
}

/* --- after a crash it is made from the row again: the same bytes --- */

static bf_str_t published;

static void keep_bytes(void *arg, const bf_record_t *record)
{
    (void)arg;
    bf_str_append(&published, record->value, record->value_len);
}

static bf_status_t compare(void *arg, const bf_history_t *row, bf_err_t *err)
{
    bf_message_t message;
    (void)err;
    if (row->action == BF_ACTION_DISPATCH) {
        cr_assert_eq(bf_codec_make_job(&worker.arena, row, NULL, &message), BF_OK);
        cr_assert_str_eq(message.topic, "bpmflow.payments");
        cr_assert_eq(message.value_len, published.len);
        cr_assert_eq(memcmp(message.value, bf_str_peek(&published), published.len), 0);
        ++*(int *)arg;
    }
    return BF_OK;
}

Test(jobs, row__makes_the_same_bytes_again)
{
    int seen = 0;
    bf_store_t *store = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&published, 0);
    test_worker_start(&worker);
    test_assert_code(start("i-1", 50), "ok");
    test_assert_code(order("i-1", "c-1"), "ok");
    test_worker_read(&worker, "payments", 1, keep_bytes, NULL);
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    const bf_store_options_t options = {.db = worker.db.options,
                                        .repository_table = "bpm_flow_repository",
                                        .task_table = "bpm_flow_task"};
    cr_assert_eq(bf_store_open(&options, &store, &err), BF_OK, "%s", err.text);
    cr_assert_eq(bf_store_scan_history(store, "i-1", compare, &seen, &err), BF_OK, "%s",
                 err.text);
    bf_store_close(store);
    cr_assert_eq(seen, 1);
    bf_str_fini(&published);
}

/* --- the sample service --- */

static pid_t run_service(const char *count)
{
    char *argv[] = {(char[]){"deploy/samples/service/service.py"},
                    (char[]){"--brokers"},
                    worker.brokers,
                    (char[]){"--jobs"},
                    (char[]){"bpmflow.payments"},
                    (char[]){"--state"},
                    worker.folder,
                    (char[]){"--count"},
                    (char *)(uintptr_t)count,
                    NULL};
    pid_t pid = 0;
    cr_assert_eq(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
    return pid;
}

static void wait_service(pid_t pid)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (bf_clock_mono_ms() > deadline) {
            (void)kill(pid, SIGKILL);
            cr_assert_fail("the service does not end");
        }
        bf_clock_sleep_ms(10);
    }
    cr_assert_eq(status, 0);
}

static void remove_offsets(void)
{
    for (int i = 0; i < 2; i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/bpmflow.payments-%d.offset", worker.folder,
                       i);
        (void)unlink(path);
    }
}

Test(jobs, sample_service__pays_and_sends_back_what_is_over_the_limit)
{
    test_worker_start(&worker);
    test_assert_code(start("i-1", 50), "ok");
    test_assert_code(order("i-1", "c-1"), "ok");
    test_assert_code(start("i-2", 500), "ok");
    test_assert_code(order("i-2", "c-1"), "ok");
    wait_service(run_service("2"));
    const bf_value_t *first = test_worker_reply(&worker, "job-2");
    const bf_value_t *second = test_worker_reply(&worker, "job-2");
    test_assert_code(first, "ok");
    test_assert_code(second, "ok");
    /* without its offsets it does all jobs again: nothing moves twice */
    remove_offsets();
    wait_service(run_service("2"));
    test_assert_code(test_worker_reply(&worker, "job-2"), "ok");
    test_assert_code(test_worker_reply(&worker, "job-2"), "ok");
    remove_offsets();
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    cr_assert_eq(test_db_int(&worker.db,
                             "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                             "instant_id = 'i-1' AND JSON_EXTRACT(vars, '$.paid') = 50"),
                 1);
    cr_assert_eq(test_db_int(&worker.db,
                             "SELECT COUNT(*) FROM bpm_flow_task WHERE flow_ins_id = "
                             "'i-2' AND action = 1010 AND target_node_code = 'order'"),
                 1);
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 6);
}
