/*
 * skew.c - a wrong clock: LD_PRELOAD it with SKEW_MS=n, and the wall clock is n ms off
 *
 * What waits until a time of the wall clock (condition variables of C11, of POSIX without
 * another clock) gets its deadline put right: time-outs last as long as on a machine
 * whose kernel has the wrong time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
/* glibc: the condition variable was made for the monotonic clock. */
#define MONOTONIC_BIT 2U

static long long skew_ms;

__attribute__((constructor)) static void read_skew(void)
{
    const char *text = getenv("SKEW_MS");
    skew_ms = text != NULL ? strtoll(text, NULL, 10) : 0;
}

static struct timespec moved(struct timespec ts, long long ms)
{
    long long ns = (long long)ts.tv_sec * NS_PER_S + ts.tv_nsec + ms * 1000000LL;
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
                             .tv_nsec = (long)(ns % NS_PER_S)};
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int rc = (int)syscall(SYS_clock_gettime, id, ts);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
        *ts = moved(*ts, skew_ms);
    }
    return rc;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec ts;
    (void)tz;
    int rc = clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *ret)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    if (ret != NULL) {
        *ret = ts.tv_sec;
    }
    return ts.tv_sec;
}

int timespec_get(struct timespec *ts, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, ts) == 0 ? base : 0;
}

int cnd_timedwait(cnd_t *restrict cnd, mtx_t *restrict mutex,
                  const struct timespec *restrict until)
{
    static int (*real)(cnd_t *, mtx_t *, const struct timespec *);
    if (real == NULL) {
        real = (int (*)(cnd_t *, mtx_t *, const struct timespec *))dlsym(RTLD_NEXT,
                                                                         "cnd_timedwait");
    }
    struct timespec right = moved(*until, -skew_ms);
    return real(cnd, mutex, &right);
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (real == NULL) {
        real =
            (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
                RTLD_NEXT, "pthread_cond_timedwait");
    }
    struct timespec right = *until;
    if ((cond->__data.__wrefs & MONOTONIC_BIT) == 0) {
        right = moved(right, -skew_ms);
    }
    return real(cond, mutex, &right);
}
