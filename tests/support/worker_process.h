/*
 * worker_process.h - the real worker as a child process, with the embedded broker
 *
 * A test configures it, starts it, sends commands and reads what comes of them.  Nothing
 * here sleeps for a fixed time: everything is asked for until a deadline.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_WORKER_PROCESS_H
#define BF_TEST_WORKER_PROCESS_H

#include <sys/types.h>

#include "bpmflow/client.h"
#include "bpmflow/embedded_broker.h"
#include "bpmflow/reader.h"
#include "tests/support/proxy.h"
#include "tests/support/test_db.h"

#define TEST_WAIT_MS 30000

typedef struct test_worker {
    test_db_t db;
    char folder[64];
    char address[128]; /* of the embedded broker */
    char log[128];
    uint16_t admin_port;
    pid_t pid; /* 0 = does not run */
    char brokers[64];
    char topics[64]; /* prefix of the topics: `<topics>.commands`, ... */
    bool kafka;      /* a real broker */
    bool beside;     /* the database is another worker's */
    bf_client_t *client;
    bf_arena_t arena; /* of the replies */
    char *args[64];   /* --set NAME=VALUE, owned */
    size_t arg_count;
} test_worker_t;

/** A database with tables, a folder, defaults for tests. Skips without a database. */
void test_worker_begin(test_worker_t *worker);
/** The same on the real broker of BF_KAFKA, with topics and a group of its own
 *  (`<name>.commands`, ...). Skips without a broker. */
void test_worker_begin_kafka(test_worker_t *worker, int partitions);
/** A second worker beside the first: same database, topics and group, another ID. */
void test_worker_begin_beside(test_worker_t *worker, const test_worker_t *first,
                              const char *id);
/** A setting for the next start; a later one wins. */
void test_worker_set(test_worker_t *worker, const char *name, const char *fmt, ...)
    BF_PRINTF(3, 4);
/** A proxy between the worker, from its next start on, and its database. */
test_proxy_t *test_worker_proxy(test_worker_t *worker);
/** Start and wait until /readyz says yes; connects a client. */
void test_worker_start(test_worker_t *worker);
/** Start without waiting for anything. */
void test_worker_spawn(test_worker_t *worker);
/** Send a signal and wait for the end; the exit status, or minus the signal. */
int test_worker_stop(test_worker_t *worker, int signal);
/** Wait for the end without asking for it. */
int test_worker_wait(test_worker_t *worker);
void test_worker_end(test_worker_t *worker);

/** Wait until /readyz answers with 200 (or not). */
void test_worker_wait_ready(test_worker_t *worker, bool ready);
/** Wait until /readyz says no, for a reason that has this text. */
void test_worker_wait_unready(test_worker_t *worker, const char *reason);
/** Wait until the log has the text `count` times. */
void test_worker_wait_log(test_worker_t *worker, const char *text, int count);
int test_worker_count_log(const test_worker_t *worker, const char *text);

/** A whole-numbered metric, `name{labels}`; -1 when there is none of that name. */
int64_t test_worker_metric(const test_worker_t *worker, const char *name);

/** Send a command (JSON with single quotes for double ones; must have both IDs) and wait
 *  for its reply: the value lives until the end of the test. */
const bf_value_t *test_worker_call(test_worker_t *worker, const char *instance_id,
                                   const char *command_id, const char *fmt, ...)
    BF_PRINTF(4, 5);
/** A client of the topics, as test_worker_start() makes it. */
void test_worker_connect(test_worker_t *worker);
/** Only send. */
void test_worker_send(test_worker_t *worker, const char *instance_id, const char *fmt,
                      ...) BF_PRINTF(3, 4);
/** The next reply that has this command ID; others are dropped. */
const bf_value_t *test_worker_reply(test_worker_t *worker, const char *command_id);

/** Fails unless the reply has this code ("ok" = accepted). */
void test_assert_code(const bf_value_t *reply, const char *code);

/** "<topics>.<kind>"; static, valid until the next call. */
const char *test_worker_topic(const test_worker_t *worker, const char *kind);
/** Records of a topic until there are `count`; returns how many. Fails when fewer come.
 */
typedef void (*test_record_fn)(void *arg, const bf_record_t *record);
void test_worker_read(test_worker_t *worker, const char *kind, size_t count,
                      test_record_fn fn, void *arg);
/** How many committed records a topic has now. */
size_t test_worker_count(test_worker_t *worker, const char *kind);

#endif /* BF_TEST_WORKER_PROCESS_H */
