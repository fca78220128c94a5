/*
 * worker_process.c - see worker_process.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/worker_process.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "tests/support/bus.h"

#define PAUSE_MS 10

extern char **environ;

/* <build>/tests/component/<test> -> <build>/bin/bpmflow-worker; or BF_WORKER_BIN, for a
 * worker of another build (with ThreadSanitizer, which Criterion does not bear). */
static void worker_path(char ret[512])
{
    char self[400];
    const char *other = getenv("BF_WORKER_BIN"); /* NOLINT(concurrency-mt-unsafe) */
    if (other) {
        (void)snprintf(ret, 512, "%s", other);
        return;
    }
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    cr_assert_gt(n, 0);
    self[n] = '\0';
    (void)snprintf(ret, 512, "%s/bin/bpmflow-worker", dirname(dirname(dirname(self))));
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

void test_worker_set(test_worker_t *worker, const char *name, const char *fmt, ...)
{
    char value[512];
    char *text = malloc(640);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(value, sizeof(value), fmt, args);
    va_end(args);
    cr_assert_not_null(text);
    cr_assert_lt(worker->arg_count, sizeof(worker->args) / sizeof(worker->args[0]));
    (void)snprintf(text, 640, "--set=%s=%s", name, value);
    worker->args[worker->arg_count++] = text;
}

static void begin_folder(test_worker_t *worker)
{
    bf_arena_init(&worker->arena, 0);
    (void)snprintf(worker->folder, sizeof(worker->folder), "/tmp/bpmflow-test-XXXXXX");
    cr_assert_not_null(mkdtemp(worker->folder));
    (void)snprintf(worker->address, sizeof(worker->address), "%s/address",
                   worker->folder);
    (void)snprintf(worker->log, sizeof(worker->log), "%s/log", worker->folder);
    worker->admin_port = free_port();
    test_worker_set(worker, "admin.port", "%u", (unsigned)worker->admin_port);
    test_worker_set(worker, "mysql.host", "%s", worker->db.options.host);
    test_worker_set(worker, "mysql.port", "%u", (unsigned)worker->db.options.port);
    test_worker_set(worker, "mysql.user", "%s", worker->db.options.user);
    test_worker_set(worker, "mysql.password", "%s", worker->db.options.password);
    test_worker_set(worker, "mysql.database", "%s", worker->db.name);
    test_worker_set(worker, "worker.shards", "1");
    test_worker_set(worker, "graphs.paths", "tests/data/worker");
    test_worker_set(worker, "log.stats_interval_ms", "1000");
}

void test_worker_begin(test_worker_t *worker)
{
    memset(worker, 0, sizeof(*worker));
    test_db_begin(&worker->db);
    begin_folder(worker);
    (void)snprintf(worker->topics, sizeof(worker->topics), "bpmflow");
    test_worker_set(worker, "worker.id", "test");
    test_worker_set(worker, "kafka.embedded", "true");
    test_worker_set(worker, "kafka.embedded_partitions", "2");
    test_worker_set(worker, "kafka.embedded_file", "%s", worker->address);
}

static const char *const kinds[] = {"commands", "replies", "events", "dead-letters"};

static void set_kafka(test_worker_t *worker)
{
    const char *topics = worker->topics;
    worker->kafka = true;
    (void)snprintf(worker->brokers, sizeof(worker->brokers), "%s", test_kafka());
    test_worker_set(worker, "kafka.brokers", "%s", worker->brokers);
    test_worker_set(worker, "kafka.group", "%s", topics);
    test_worker_set(worker, "kafka.session_timeout_ms", "6000");
    test_worker_set(worker, "kafka.commands_topic", "%s.commands", topics);
    test_worker_set(worker, "replies.topic", "%s.replies", topics);
    test_worker_set(worker, "events.topic", "%s.events", topics);
    test_worker_set(worker, "dead_letters.topic", "%s.dead-letters", topics);
}

void test_worker_begin_kafka(test_worker_t *worker, int partitions)
{
    memset(worker, 0, sizeof(*worker));
    (void)test_kafka(); /* skips */
    test_db_begin(&worker->db);
    begin_folder(worker);
    char *name = test_name("worker");
    (void)snprintf(worker->topics, sizeof(worker->topics), "%s", name);
    free(name);
    set_kafka(worker);
    test_worker_set(worker, "worker.id", "test");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        test_topic_create(worker->brokers, test_worker_topic(worker, kinds[i]),
                          partitions);
    }
}

void test_worker_begin_beside(test_worker_t *worker, const test_worker_t *first,
                              const char *id)
{
    memset(worker, 0, sizeof(*worker));
    worker->db = first->db;
    worker->db.admin = NULL;
    worker->beside = true;
    begin_folder(worker);
    (void)snprintf(worker->topics, sizeof(worker->topics), "%s", first->topics);
    set_kafka(worker);
    test_worker_set(worker, "worker.id", "%s", id);
}

const char *test_worker_topic(const test_worker_t *worker, const char *kind)
{
    static char text[128];
    (void)snprintf(text, sizeof(text), "%s.%s", worker->topics, kind);
    return text;
}

void test_worker_spawn(test_worker_t *worker)
{
    char path[512];
    char *argv[72] = {path};
    size_t argc = 1;
    posix_spawn_file_actions_t actions;
    worker_path(path);
    for (size_t i = 0; i < worker->arg_count; i++) {
        argv[argc++] = worker->args[i];
    }
    cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
    cr_assert_eq(posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, worker->log,
                                                  O_WRONLY | O_CREAT | O_APPEND, 0600),
                 0);
    (void)unlink(worker->address);
    int rc = posix_spawn(&worker->pid, path, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    cr_assert_eq(rc, 0, "%s cannot be started", path);
}

/* What the process has written so far; static. */
static const char *read_file(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    text[n] = '\0';
    return text;
}

int test_worker_count_log(const test_worker_t *worker, const char *text)
{
    int count = 0;
    for (const char *p = read_file(worker->log); (p = strstr(p, text)); p++) {
        count++;
    }
    return count;
}

void test_worker_wait_log(test_worker_t *worker, const char *text, int count)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    while (test_worker_count_log(worker, text) < count) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "the log has no '%s':\n%s", text,
                     read_file(worker->log));
        bf_clock_sleep_ms(PAUSE_MS);
    }
}

/* The answer to a GET, head and body, as far as there is room; false: none. */
static bool get(const test_worker_t *worker, const char *path, char *ret, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(worker->admin_port)};
    char request[128];
    size_t used = 0;
    ssize_t n = 1;
    (void)snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              send(fd, request, strlen(request), MSG_NOSIGNAL) > 0;
    while (ok && n > 0 && used + 1 < size) {
        n = recv(fd, ret + used, size - 1 - used, 0);
        used += n > 0 ? (size_t)n : 0;
    }
    ret[used] = '\0';
    (void)close(fd);
    return used > 0;
}

static bool is_ready(const test_worker_t *worker)
{
    char answer[256];
    return get(worker, "/readyz", answer, sizeof(answer)) && strstr(answer, " 200 ");
}

int64_t test_worker_metric(const test_worker_t *worker, const char *name)
{
    static char text[1 << 18];
    size_t len = strlen(name);
    cr_assert(get(worker, "/metrics", text, sizeof(text)));
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, len) == 0 && line[len] == ' ') {
            return strtoll(line + len + 1, NULL, 10);
        }
    }
    return -1;
}

void test_worker_wait_ready(test_worker_t *worker, bool ready)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    while (is_ready(worker) != ready) {
        int status = 0;
        cr_assert_eq(waitpid(worker->pid, &status, WNOHANG), 0,
                     "the worker has ended (wait status 0x%x):\n%s", (unsigned)status,
                     read_file(worker->log));
        cr_assert_lt(bf_clock_mono_ms(), deadline, "ready = %d does not come:\n%s",
                     (int)ready, read_file(worker->log));
        bf_clock_sleep_ms(PAUSE_MS);
    }
}

void test_worker_wait_unready(test_worker_t *worker, const char *reason)
{
    char answer[1024] = "";
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    while (!get(worker, "/readyz", answer, sizeof(answer)) || !strstr(answer, " 503 ") ||
           !strstr(answer, reason)) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "the reason '%s' does not come: %s",
                     reason, answer);
        bf_clock_sleep_ms(PAUSE_MS);
    }
}

void test_worker_connect(test_worker_t *worker)
{
    static const bf_property_t properties[] = {
        {"fetch.wait.max.ms", BF_EMBEDDED_FETCH_WAIT_MS}};
    bf_err_t err = BF_ERR_INIT;
    char commands[128];
    if (!worker->kafka) {
        (void)snprintf(worker->brokers, sizeof(worker->brokers), "%.63s",
                       read_file(worker->address));
        worker->brokers[strcspn(worker->brokers, "\n")] = '\0';
    }
    (void)snprintf(commands, sizeof(commands), "%s",
                   test_worker_topic(worker, "commands"));
    const bf_client_options_t options = {.brokers = worker->brokers,
                                         .command_topic = commands,
                                         .reply_topic =
                                             test_worker_topic(worker, "replies"),
                                         .properties = properties,
                                         .property_count = 1};
    cr_assert_eq(bf_client_new(&options, TEST_WAIT_MS, &worker->client, &err), BF_OK,
                 "%s", err.text);
}

test_proxy_t *test_worker_proxy(test_worker_t *worker)
{
    test_proxy_t *proxy =
        test_proxy_start(worker->db.options.host, (uint16_t)worker->db.options.port);
    test_worker_set(worker, "mysql.port", "%u", (unsigned)test_proxy_port(proxy));
    return proxy;
}

void test_worker_start(test_worker_t *worker)
{
    test_worker_spawn(worker);
    test_worker_wait_ready(worker, true);
    test_worker_connect(worker);
}

int test_worker_wait(test_worker_t *worker)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(worker->pid, &status, WNOHANG)) == 0) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "the worker does not end:\n%s",
                     read_file(worker->log));
        bf_clock_sleep_ms(PAUSE_MS);
    }
    cr_assert_eq(pid, worker->pid);
    worker->pid = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int test_worker_stop(test_worker_t *worker, int signal)
{
    bf_client_free(worker->client);
    worker->client = NULL;
    cr_assert_gt(worker->pid, 0);
    cr_assert_eq(kill(worker->pid, signal), 0);
    return test_worker_wait(worker);
}

void test_worker_end(test_worker_t *worker)
{
    if (worker->pid > 0) {
        (void)test_worker_stop(worker, SIGKILL);
    }
    bf_client_free(worker->client);
    if (worker->kafka && !worker->beside) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            test_topic_delete(worker->brokers, test_worker_topic(worker, kinds[i]));
        }
    }
    if (!worker->beside) {
        test_db_end(&worker->db);
    }
    bf_arena_fini(&worker->arena);
    for (size_t i = 0; i < worker->arg_count; i++) {
        free(worker->args[i]);
    }
    (void)unlink(worker->address);
    (void)unlink(worker->log);
    (void)rmdir(worker->folder);
}

/* JSON is easier to read in C with single quotes. */
static void requote(char *text)
{
    for (; *text; text++) {
        *text = (char)(*text == '\'' ? '"' : *text);
    }
}

static void send_text(test_worker_t *worker, const char *instance_id, const char *fmt,
                      va_list args)
{
    char text[4096];
    bf_err_t err = BF_ERR_INIT;
    (void)vsnprintf(text, sizeof(text), fmt, args);
    requote(text);
    cr_assert_eq(bf_client_send(worker->client, instance_id, text, strlen(text), &err),
                 BF_OK, "%s", err.text);
}

void test_worker_send(test_worker_t *worker, const char *instance_id, const char *fmt,
                      ...)
{
    va_list args;
    va_start(args, fmt);
    send_text(worker, instance_id, fmt, args);
    va_end(args);
}

const bf_value_t *test_worker_reply(test_worker_t *worker, const char *command_id)
{
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    for (;;) {
        bf_record_t record;
        bf_err_t err = BF_ERR_INIT;
        bf_value_t *value = bf_arena_alloc(&worker->arena, sizeof(*value));
        cr_assert_not_null(value);
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no reply to %s:\n%s", command_id,
                     read_file(worker->log));
        if (bf_client_poll_reply(worker->client, 100, &record, &err) != BF_OK) {
            continue;
        }
        cr_assert_eq(bf_json_parse(&worker->arena, record.value, record.value_len, NULL,
                                   value, &err),
                     BF_OK, "%s: %.*s", err.text, (int)record.value_len, record.value);
        bf_consumer_release(&record);
        const char *id = bf_value_get_cstr(value, "command_id");
        if (id && strcmp(id, command_id) == 0) {
            return value;
        }
    }
}

const bf_value_t *test_worker_call(test_worker_t *worker, const char *instance_id,
                                   const char *command_id, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    send_text(worker, instance_id, fmt, args);
    va_end(args);
    return test_worker_reply(worker, command_id);
}

void test_assert_code(const bf_value_t *reply, const char *code)
{
    const char *got = bf_value_get_cstr(reply, "code");
    const char *error = bf_value_get_cstr(reply, "error");
    cr_assert_not_null(got);
    cr_assert_str_eq(got, code, "%s instead of %s: %s", got, code, error ? error : "");
    cr_assert_str_eq(bf_value_get_cstr(reply, "status"),
                     strcmp(code, "ok") == 0 ? "accepted" : "rejected");
    if (strcmp(code, "ok") != 0) {
        cr_assert_not_null(error);
        cr_assert_gt(strlen(error), 5);
    }
}

static bf_reader_t *open_reader(test_worker_t *worker, const char *kind)
{
    static const bf_property_t properties[] = {
        {"fetch.wait.max.ms", BF_EMBEDDED_FETCH_WAIT_MS}};
    const bf_reader_options_t options = {.brokers = worker->brokers,
                                         .topic = test_worker_topic(worker, kind),
                                         .from = BF_READER_BEGINNING,
                                         .properties = properties,
                                         .property_count = 1};
    bf_reader_t *reader = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_reader_open(&options, TEST_WAIT_MS, &reader, &err), BF_OK, "%s",
                 err.text);
    return reader;
}

void test_worker_read(test_worker_t *worker, const char *kind, size_t count,
                      test_record_fn fn, void *arg)
{
    bf_reader_t *reader = open_reader(worker, kind);
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    while (count > 0) {
        bf_record_t record;
        cr_assert_lt(bf_clock_mono_ms(), deadline, "%zu %s are missing:\n%s", count, kind,
                     read_file(worker->log));
        if (bf_reader_next(reader, 100, &record, NULL) == BF_OK) {
            fn(arg, &record);
            bf_reader_release(&record);
            count--;
        }
    }
    bf_reader_close(reader);
}

size_t test_worker_count(test_worker_t *worker, const char *kind)
{
    bf_reader_t *reader = open_reader(worker, kind);
    int64_t deadline = bf_clock_mono_ms() + TEST_WAIT_MS;
    size_t count = 0;
    while (!bf_reader_at_end(reader)) {
        bf_record_t record;
        cr_assert_lt(bf_clock_mono_ms(), deadline);
        if (bf_reader_next(reader, 100, &record, NULL) == BF_OK) {
            bf_reader_release(&record);
            count++;
        }
    }
    bf_reader_close(reader);
    return count;
}
