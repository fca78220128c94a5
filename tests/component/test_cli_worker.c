/*
 * test_cli_worker.c - the tool with a running worker and its embedded broker
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpmflow/client.h"
#include "bpmflow/clock.h"
#include "tests/support/cli.h"
#include "tests/support/test_db.h"

#define READY_MS 30000

typedef struct office {
    test_db_t db;
    char folder[64];
    char config[100];
    char env_text[120];
    const char *env[2];
    pid_t worker;
    test_cli_t cli;
} office_t;

static FILE *open_in(const office_t *office, const char *name)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", office->folder, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    return file;
}

static void write_files(office_t *office)
{
    FILE *file = open_in(office, "leave.yml");
    cr_assert_geq(fputs("id: leave\ntitle: Leave\nlayout:\n"
                        "  - {id: s, type: start}\n"
                        "  - {id: apply, title: Application, meta: {actor: li}}\n"
                        "  - {id: leader, title: Team leader, meta: {actor: wang}}\n"
                        "  - {id: e, type: end}\n",
                        file),
                  0);
    cr_assert_eq(fclose(file), 0);
    file = open_in(office, "worker.conf");
    (void)fprintf(file,
                  "kafka = { embedded = true; embedded_partitions = 2; embedded_file = "
                  "\"%s/broker\"; };\n"
                  "events = { delivery = \"idempotent\"; };\n"
                  "mysql = { host = \"%s\"; port = %u; user = \"%s\"; password = \"%s\"; "
                  "database = \"%s\"; };\n"
                  "worker = { id = \"test\"; shards = 1; };\n"
                  "graphs = { paths = [ \"%s/leave.yml\" ]; };\n"
                  "admin = { port = 0; };\n",
                  office->folder, office->db.options.host,
                  (unsigned)office->db.options.port, office->db.options.user,
                  office->db.options.password, office->db.name, office->folder);
    cr_assert_eq(fclose(file), 0);
}

/* build/tests/component/test_x -> build/bin/bpmflow-worker */
static void find_worker(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
    cr_assert_gt(n, 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++)
        *strrchr(path, '/') = '\0';
    size_t len = strlen(path);
    (void)snprintf(path + len, PATH_MAX - len, "/bin/bpmflow-worker");
}

static void start_worker(office_t *office)
{
    char program[PATH_MAX];
    char log[160];
    char broker[160];
    find_worker(program);
    (void)snprintf(log, sizeof log, "%s/log", office->folder);
    (void)snprintf(broker, sizeof broker, "%s/broker", office->folder);
    office->worker = fork();
    cr_assert_geq(office->worker, 0);
    if (office->worker == 0) {
        FILE *out = freopen(log, "w", stdout);
        if (out && dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
            (void)execl(program, program, "-c", office->config, NULL);
        _exit(127);
    }
    int64_t deadline = bf_clock_mono_ms() + READY_MS;
    struct stat info;
    while (stat(broker, &info) != 0 || info.st_size == 0) {
        cr_assert_lt(bf_clock_mono_ms(), deadline, "no %s; see %s", broker, log);
        cr_assert_eq(waitpid(office->worker, NULL, WNOHANG), 0, "the worker ended: %s",
                     log);
        bf_clock_sleep_ms(20);
    }
}

static void begin(office_t *office)
{
    memset(office, 0, sizeof *office);
    test_db_begin(&office->db);
    (void)snprintf(office->folder, sizeof office->folder, "/tmp/bpmflow-test-XXXXXX");
    cr_assert_not_null(mkdtemp(office->folder));
    (void)snprintf(office->config, sizeof office->config, "%s/worker.conf",
                   office->folder);
    (void)snprintf(office->env_text, sizeof office->env_text, "BPMFLOW_CONFIG=%s",
                   office->config);
    office->env[0] = office->env_text;
    office->cli.env = office->env;
    write_files(office);
    start_worker(office);
}

static void end(office_t *office)
{
    int status = 0;
    cr_assert_eq(kill(office->worker, SIGTERM), 0);
    cr_assert_eq(waitpid(office->worker, &status, 0), office->worker);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "worker: %d", status);
    static const char *const names[] = {"leave.yml", "worker.conf", "log", "broker"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[160];
        (void)snprintf(path, sizeof path, "%s/%s", office->folder, names[i]);
        (void)unlink(path); /* the worker may have removed its own */
    }
    cr_assert_eq(rmdir(office->folder), 0);
    test_db_end(&office->db);
    test_cli_fini(&office->cli);
}

Test(cli_worker, commands__go_through_a_worker)
{
    office_t office;
    begin(&office);
    test_cli_t *cli = &office.cli;
    test_cli_run(cli, "start", "l-1", "-g", "leave", "-a", "li", "-v", "day=3", "-t",
                 "30s", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "accepted  start of l-1  (revision 1, running)");
    test_cli_expect_out(cli, "next      apply  \"Application\"");
    test_cli_run(cli, "claim", "l-1", "-a", "li", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "task      apply  \"Application\"  waiting  actor=li\n");
    test_cli_run(cli, "submit", "l-1", "apply", "-a", "nobody", NULL);
    test_cli_expect(cli, 1);
    test_cli_expect_out(cli, "not_operable");
    test_cli_run(cli, "submit-if-waiting", "l-1", "apply", "-a", "li", "--command-id",
                 "c1", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "submit-if-waiting", "l-1", "apply", "-a", "li", "--command-id",
                 "c1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "was applied before");
    test_cli_run(cli, "find", "l-1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "leader");
    test_cli_run(cli, "next", "l-1", NULL);
    test_cli_expect_out(cli, "next      leader  \"Team leader\"");
    test_cli_run(cli, "set-vars", "l-1", "day=4", "note=x", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "state", "l-1", NULL);
    test_cli_expect_out(cli, "leave:apply  completed");
    test_cli_run(cli, "show", "l-1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "open      leader  \"Team leader\"");
    test_cli_expect_out(cli, "variables day = 4\n          note = \"x\"\n");
    test_cli_run(cli, "submit", "l-1", "leader", "-a", "wang", "-m", "fine", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "completed)");
    test_cli_run(cli, "history", "l-1", NULL);
    cr_assert_eq(test_cli_count(cli->out, "\n"), 3);
    test_cli_run(cli, "watch", "-i", "l-1", "--from", "beginning", "-n", "2", "-t", "20s",
                 NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "leader -> e  by wang  [completed]  instance completed");
    test_cli_run(cli, "verify", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "1 instances, 2 rows, 2 events");
    end(&office);
}

Test(cli_worker, dead_letters__come_from_a_worker_and_go_back)
{
    office_t office;
    begin(&office);
    test_cli_t *cli = &office.cli;
    char broker[160];
    char address[64] = "";
    (void)snprintf(broker, sizeof broker, "%s/broker", office.folder);
    FILE *file = fopen(broker, "re");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(address, sizeof address, file));
    cr_assert_eq(fclose(file), 0);
    address[strcspn(address, "\r\n")] = '\0';
    bf_client_t *client = NULL;
    bf_client_options_t options = {.brokers = address,
                                   .command_topic = "bpmflow.commands"};
    cr_assert_eq(bf_client_new(&options, READY_MS, &client, NULL), BF_OK);
    cr_assert_eq(bf_client_send(client, "l-9", "{oops", 5, NULL), BF_OK);
    cr_assert_eq(bf_client_flush(client, READY_MS, NULL), BF_OK);
    bf_client_free(client);
    /* The reply to a later command of the same instance says that it has been read. */
    test_cli_run(cli, "start", "l-9", "-g", "leave", "-t", "30s", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "dead-letters", "list", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "malformed");
    test_cli_expect_out(cli, "1 dead letter\n");
    test_cli_run(cli, "dead-letters", "replay", "--all", "--yes", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "1 sent, 0 not");
    test_cli_run(cli, "claim", "l-9", "-a", "li", "-t", "30s", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "dead-letters", "list", "--json", NULL);
    test_cli_expect(cli, 0);
    cr_assert_eq(test_cli_count(cli->out, "\"code\":\"malformed\""), 2);
    test_cli_run(cli, "verify", NULL);
    test_cli_expect(cli, 0);
    end(&office);
}

Test(cli_worker, load__drives_a_worker_and_verify_is_clean)
{
    office_t office;
    begin(&office);
    test_cli_t *cli = &office.cli;
    char graph[100];
    (void)snprintf(graph, sizeof graph, "%s/leave.yml", office.folder);
    test_cli_run(cli, "load", graph, "-n", "100", "--resend", "--json", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "\"commands\":500,\"sent\":500,\"answered\":500,"
                             "\"accepted\":500,\"rejected\":0,\"duplicates\":0");
    test_cli_expect_out(cli, "\"duplicates\":500,\"missing\":0,\"extra\":0");
    test_cli_run(cli, "verify", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "100 instances, 200 rows, 200 events, 1000 commands, 1000 "
                             "replies");
    test_cli_run(cli, "status", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "test/0");
    end(&office);
}
