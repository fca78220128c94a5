/*
 * message.c - what the tool says on stderr, and how it asks and stops
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "worker/cli/cli.h"

#define PROGRESS_TERMINAL_MS 200
#define PROGRESS_FILE_MS     10000

static struct {
    bool open;       /* a progress line stands on the terminal */
    int64_t last_ms; /* monotonic; 0 = none yet */
} progress;

static volatile sig_atomic_t stop_signal;

bool bf_cli_is_terminal(FILE *stream)
{
    return isatty(fileno(stream)) == 1;
}

void bf_cli_progress_end(void)
{
    if (progress.open)
        fputs("\r\033[K", stderr);
    progress.open = false;
    progress.last_ms = 0;
}

BF_PRINTF(2, 0) static void say(const char *prefix, const char *fmt, va_list args)
{
    bf_cli_progress_end();
    fflush(stdout);
    fputs(prefix, stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
}

void bf_cli_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say("bpmflow: ", fmt, args);
    va_end(args);
}

void bf_cli_note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say("bpmflow: note: ", fmt, args);
    va_end(args);
}

const char *bf_cli_errno_text(void)
{
    static char text[128];
    return strerror_r(errno, text, sizeof text);
}

bf_exit_t bf_cli_fail(const bf_err_t *err, bf_status_t status)
{
    bool told = err && err->status != BF_OK && err->text[0];
    bf_cli_error("%s", told ? err->text : bf_status_text(status));
    return status == BF_E_TIMEOUT ? BF_EXIT_TIMEOUT : BF_EXIT_FAILED;
}

void bf_cli_progress(const char *fmt, ...)
{
    bool terminal = bf_cli_is_terminal(stderr);
    int64_t now = bf_clock_mono_ms();
    int64_t pause = terminal ? PROGRESS_TERMINAL_MS : PROGRESS_FILE_MS;
    if (progress.last_ms == 0 && !terminal)
        progress.last_ms = now; /* short work says nothing in a file */
    if (progress.last_ms && now - progress.last_ms < pause)
        return;
    progress.last_ms = now;
    va_list args;
    va_start(args, fmt);
    if (terminal)
        fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, args);
    if (!terminal)
        fputc('\n', stderr);
    va_end(args);
    fflush(stderr);
    progress.open = terminal;
}

bool bf_cli_confirm(const char *fmt, ...)
{
    if (!bf_cli_is_terminal(stdin) || !bf_cli_is_terminal(stderr))
        return false;
    bf_cli_progress_end();
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs(" [y/N] ", stderr);
    fflush(stderr);
    char answer[16];
    if (!fgets(answer, sizeof answer, stdin))
        return false;
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

static void on_signal(int number)
{
    stop_signal = number;
}

void bf_cli_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* the second one ends the program at once */
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool bf_cli_stopped(void)
{
    return stop_signal != 0;
}

bf_status_t bf_cli_write(bf_str_t *str, bf_err_t *err)
{
    bf_status_t rc = bf_str_status(str, "output", err);
    if (rc == BF_OK && str->len > 0 &&
        (fwrite(str->data, 1, str->len, stdout) != str->len || fflush(stdout) != 0))
        rc = bf_err_set(err, BF_E_IO, "cannot write to the standard output: %s",
                        bf_cli_errno_text());
    bf_str_clear(str);
    return rc;
}
