/*
 * cli.c - runs the command line tool; see cli.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/cli.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "bpmflow/str.h"

#define MAX_WORDS 60
#define MAX_ENV   60
#define LIMIT_MS  60000

/* build/tests/component/test_x -> build/bin/bpmflow */
static void find_program(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
    cr_assert_gt(n, 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(path, '/');
        cr_assert_not_null(slash);
        *slash = '\0';
    }
    memcpy(path + strlen(path), "/bin/bpmflow", sizeof "/bin/bpmflow");
    cr_assert_eq(access(path, X_OK), 0, "%s is missing: run make", path);
}

/* What a sanitizer or the loader needs, and what the test gives. */
static void make_environment(const test_cli_t *cli, const char *env[MAX_ENV + 1])
{
    static const char *const kept[] = {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                       "UBSAN_OPTIONS", "LSAN_OPTIONS"};
    static char texts[sizeof kept / sizeof *kept][1024];
    size_t count = 0;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = getenv(kept[i]); /* NOLINT(concurrency-mt-unsafe) */
        if (value) {
            (void)snprintf(texts[i], sizeof texts[i], "%s=%s", kept[i], value);
            env[count++] = texts[i];
        }
    }
    for (size_t i = 0; cli->env && cli->env[i]; i++) {
        cr_assert_lt(count, MAX_ENV);
        env[count++] = cli->env[i];
    }
    env[count] = NULL;
}

static void read_both(int out, int err, bf_str_t texts[2], pid_t pid)
{
    struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    int64_t deadline = bf_clock_mono_ms() + LIMIT_MS;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (bf_clock_mono_ms() > deadline) {
            (void)kill(pid, SIGKILL);
            cr_assert_fail("bpmflow runs for more than a minute; so far:\n%s%s",
                           bf_str_peek(&texts[0]), bf_str_peek(&texts[1]));
        }
        if (poll(fds, 2, 1000) <= 0)
            continue;
        for (int i = 0; i < 2; i++) {
            char buffer[4096];
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
            if (n > 0)
                bf_str_append(&texts[i], buffer, (size_t)n);
            else
                fds[i].fd = -1;
        }
    }
}

static int wait_for(pid_t pid)
{
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run(test_cli_t *cli, char *const words[], const char *const env[])
{
    int out[2];
    int err[2];
    cr_assert_eq(pipe(out), 0);
    cr_assert_eq(pipe(err), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        for (int fd = 3; fd < 256; fd++)
            (void)close(fd);
        FILE *none = freopen("/dev/null", "r", stdin);
        if (none)
            (void)execve(words[0], words, (char *const *)(uintptr_t)env);
        _exit(127);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    bf_str_t texts[2];
    bf_str_init(&texts[0], 0);
    bf_str_init(&texts[1], 0);
    read_both(out[0], err[0], texts, pid);
    (void)close(out[0]);
    (void)close(err[0]);
    cli->status = wait_for(pid);
    for (int i = 0; i < 2; i++)
        bf_str_append(&texts[i], "", 0);
    test_cli_fini(cli);
    cli->out = strdup(bf_str_peek(&texts[0]));
    cli->err = strdup(bf_str_peek(&texts[1]));
    cr_assert(cli->out && cli->err);
    bf_str_fini(&texts[0]);
    bf_str_fini(&texts[1]);
}

void test_cli_run(test_cli_t *cli, const char *word, ...)
{
    char path[PATH_MAX];
    char *words[MAX_WORDS + 2] = {path};
    const char *env[MAX_ENV + 1];
    size_t count = 1;
    find_program(path);
    make_environment(cli, env);
    va_list args;
    va_start(args, word);
    for (const char *next = word; next; next = va_arg(args, const char *)) {
        cr_assert_lt(count, MAX_WORDS);
        words[count++] = (char *)(uintptr_t)next;
    }
    va_end(args);
    words[count] = NULL;
    run(cli, words, env);
}

void test_cli_fini(test_cli_t *cli)
{
    free(cli->out);
    free(cli->err);
    cli->out = cli->err = NULL;
}

void test_cli_expect(const test_cli_t *cli, int status)
{
    cr_assert_eq(cli->status, status, "exit status %d, not %d:\n%s%s", cli->status,
                 status, cli->out, cli->err);
}

void test_cli_expect_out(const test_cli_t *cli, const char *text)
{
    cr_assert(strstr(cli->out, text), "'%s' is not in the output:\n%s%s", text, cli->out,
              cli->err);
}

void test_cli_expect_err(const test_cli_t *cli, const char *text)
{
    cr_assert(strstr(cli->err, text), "'%s' is not in the errors:\n%s%s", text, cli->out,
              cli->err);
}

size_t test_cli_count(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}
