/*
 * oom.c - the wrapped allocation functions and the sweep
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/oom/oom.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

/* The linker gives these names their meaning (--wrap); they are no identifiers of ours.
 */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t max);
int __real_vasprintf(char **ret, const char *format, va_list args);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t max);
int __wrap_vasprintf(char **ret, const char *format, va_list args);
int __wrap_asprintf(char **ret, const char *format, ...) BF_PRINTF(2, 3);

enum { MAX_ALLOCATIONS = 100000 };

static struct {
    bool armed;
    unsigned paused;
    long count;   /* allocations of this run so far */
    long fail_at; /* the one that fails */
    bool hit;     /* it was met */
    unsigned failures;
    unsigned sweeps;
} state;

static bool fails(void)
{
    if (!state.armed || state.paused > 0) {
        return false;
    }
    bool fail = state.count == state.fail_at;
    state.count++;
    if (fail) {
        state.hit = true;
        errno = ENOMEM;
    }
    return fail;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return fails() ? NULL : __real_realloc(block, size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(block, count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t max)
{
    return fails() ? NULL : __real_strndup(text, max);
}

int __wrap_vasprintf(char **ret, const char *format, va_list args)
{
    return fails() ? -1 : __real_vasprintf(ret, format, args);
}

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = __wrap_vasprintf(ret, format, args);
    va_end(args);
    return n;
}

void bf_oom_pause(void)
{
    state.paused++;
}

void bf_oom_resume(void)
{
    state.paused--;
}

static void fail(const char *name, const char *what, bf_status_t status)
{
    printf("FAIL %s: allocation %ld failing: %s (status: %s)\n", name, state.fail_at,
           what, bf_status_text(status));
    state.failures++;
}

/* True when the run was the last one or the sweep makes no sense any more. */
static bool run_is_last(const char *name, bf_oom_fn fn, void *arg)
{
    state.count = 0;
    state.hit = false;
    state.paused = 0;
    state.armed = true;
    bf_status_t status = fn(arg);
    state.armed = false;
    if (!state.hit) {
        if (status != BF_OK) {
            fail(name, "no allocation failed, and still it is no success", status);
        }
        return true;
    }
    if (status != BF_E_NOMEM) {
        fail(name, "should return BF_E_NOMEM", status);
    }
    return false;
}

void bf_oom_sweep(const char *name, bf_oom_fn fn, void *arg)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    state.sweeps++;
    unsigned failures = state.failures;
    for (state.fail_at = 0; state.fail_at < MAX_ALLOCATIONS; state.fail_at++) {
        if (run_is_last(name, fn, arg) || state.failures > failures + 10) {
            break;
        }
    }
#ifdef __SANITIZE_ADDRESS__
    if (__lsan_do_recoverable_leak_check() != 0) {
        fail(name, "leaks (the report has the stack of the lost block)", BF_OK);
    }
#endif
    if (state.failures == failures) {
        printf("ok   %s: %ld allocations\n", name, state.fail_at);
    }
}

int bf_oom_result(void)
{
    if (state.sweeps == 0) {
        printf("FAIL no sweep was run\n");
        return 1;
    }
    return state.failures == 0 ? 0 : 1;
}
