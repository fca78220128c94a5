/*
 * c11_threads.c - C11 threads on top of POSIX threads, for ThreadSanitizer
 *
 * librdkafka starts its threads with thrd_create(), which ThreadSanitizer (gcc 12, clang
 * 14) does not know: such a thread crashes in the first function that it watches.  These
 * functions take the place of glibc's in thread tests; glibc has the same layouts and the
 * same mutexes behind both names, so that only the way to them changes.
 *
 * SPDX-License-Identifier: MIT
 */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's are reserved
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "one layout");
_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "one layout");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t), "one layout");
_Static_assert(sizeof(once_flag) == sizeof(pthread_once_t), "one layout");

static int result_of(int rc)
{
    switch (rc) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    default:
        return thrd_error;
    }
}

typedef struct start {
    thrd_start_t function;
    void *arg;
} start_t;

static void *run(void *arg)
{
    start_t start = *(start_t *)arg;
    free(arg);
    return (void *)(intptr_t)start.function(start.arg);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *arg)
{
    start_t *start = malloc(sizeof(*start));
    if (!start) {
        return thrd_nomem;
    }
    *start = (start_t){function, arg};
    int rc = pthread_create((pthread_t *)thread, NULL, run, start);
    if (rc != 0) {
        free(start);
    }
    return result_of(rc);
}

int thrd_join(thrd_t thread, int *result)
{
    void *value = NULL;
    int rc = pthread_join((pthread_t)thread, &value);
    if (result) {
        *result = (int)(intptr_t)value;
    }
    return result_of(rc);
}

int mtx_init(mtx_t *mutex, int type)
{
    pthread_mutexattr_t attr;
    (void)pthread_mutexattr_init(&attr);
    (void)pthread_mutexattr_settype(&attr, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE
                                                                : PTHREAD_MUTEX_NORMAL);
    int rc = pthread_mutex_init((pthread_mutex_t *)mutex, &attr);
    (void)pthread_mutexattr_destroy(&attr);
    return result_of(rc);
}

void mtx_destroy(mtx_t *mutex)
{
    (void)pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int mtx_lock(mtx_t *mutex)
{
    return result_of(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_unlock(mtx_t *mutex)
{
    return result_of(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

int cnd_init(cnd_t *condition)
{
    return result_of(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

void cnd_destroy(cnd_t *condition)
{
    (void)pthread_cond_destroy((pthread_cond_t *)condition);
}

int cnd_signal(cnd_t *condition)
{
    return result_of(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition)
{
    return result_of(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return result_of(
        pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
    return result_of(pthread_cond_timedwait((pthread_cond_t *)condition,
                                            (pthread_mutex_t *)mutex, until));
}

void call_once(once_flag *flag, void (*function)(void))
{
    (void)pthread_once((pthread_once_t *)flag, function);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
