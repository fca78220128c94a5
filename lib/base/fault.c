/*
 * fault.c - see fault.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/fault.h"

#ifdef BF_FAULTS

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "bpmflow/num.h"

#define MAX_FAULTS 16
#define POINT_MAX  64

typedef enum { FAULT_KILL, FAULT_STOP, FAULT_EXIT, FAULT_SLEEP, FAULT_ERROR } action_t;

typedef struct fault {
    char point[POINT_MAX];
    int64_t from; /* hit that triggers */
    bool on;      /* all later ones too */
    action_t action;
    int64_t sleep_ms;
    bf_status_t status;
    int64_t hits;
} fault_t;

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* protects hits */
    fault_t list[MAX_FAULTS];
    size_t count;
} faults = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static const struct {
    const char *name;
    bf_status_t status;
} status_names[] = {
#define X(name, text, retriable) {#name, BF_##name},
    BF_STATUS_LIST(X)
#undef X
};

static _Noreturn void refuse(const char *spec, const char *why)
{
    (void)fprintf(stderr,
                  "BF_FAULT=%s: %s; the form is point:count:action[:argument] with the "
                  "actions kill, stop, exit, sleep:MS, error[:NAME]\n",
                  spec, why);
    abort();
}

static bf_status_t status_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(status_names) / sizeof(status_names[0]); i++) {
        if (strcmp(status_names[i].name, name) == 0) {
            return status_names[i].status;
        }
    }
    return BF_STATUS_COUNT;
}

static void parse_action(fault_t *fault, const char *action, const char *arg,
                         const char *spec)
{
    if (strcmp(action, "kill") == 0) {
        fault->action = FAULT_KILL;
    } else if (strcmp(action, "stop") == 0) {
        fault->action = FAULT_STOP;
    } else if (strcmp(action, "exit") == 0) {
        fault->action = FAULT_EXIT;
    } else if (strcmp(action, "sleep") == 0) {
        fault->action = FAULT_SLEEP;
        if (arg == NULL || bf_num_parse_range(arg, strlen(arg), 0, 3600000,
                                              &fault->sleep_ms, NULL) != BF_OK) {
            refuse(spec, "sleep needs milliseconds");
        }
    } else if (strcmp(action, "error") == 0) {
        fault->action = FAULT_ERROR;
        fault->status = arg == NULL ? BF_E_IO : status_of_name(arg);
        if (fault->status == BF_STATUS_COUNT || fault->status == BF_OK) {
            refuse(spec, "there is no such status");
        }
    } else {
        refuse(spec, "there is no such action");
    }
}

static void parse_one(char *one, const char *spec)
{
    char *save = NULL;
    const char *point = strtok_r(one, ":", &save);
    char *count = strtok_r(NULL, ":", &save);
    const char *action = strtok_r(NULL, ":", &save);
    const char *arg = strtok_r(NULL, ":", &save);
    if (point == NULL || count == NULL || action == NULL) {
        refuse(spec, "a part is missing");
    }
    if (faults.count == MAX_FAULTS || strlen(point) >= POINT_MAX) {
        refuse(spec, "too many faults or too long a name");
    }
    fault_t *fault = &faults.list[faults.count++];
    memcpy(fault->point, point, strlen(point) + 1);
    size_t len = strlen(count);
    if (count[len - 1] == '+') {
        fault->on = true;
        count[--len] = '\0';
    }
    if (bf_num_parse_range(count, len, 1, INT32_MAX, &fault->from, NULL) != BF_OK) {
        refuse(spec, "the count is not a number from 1");
    }
    parse_action(fault, action, arg, spec);
}

static void parse_environment(void)
{
    const char *spec = getenv("BF_FAULT"); /* NOLINT(concurrency-mt-unsafe): once */
    if (spec == NULL || spec[0] == '\0') {
        return;
    }
    char *copy = strdup(spec);
    if (copy == NULL) {
        refuse(spec, "out of memory");
    }
    char *save = NULL;
    for (char *one = strtok_r(copy, ",", &save); one != NULL;
         one = strtok_r(NULL, ",", &save)) {
        parse_one(one, spec);
    }
    free(copy);
}

/* Copies the fault that is due at this hit of the point; false: none is. */
static bool take_due(const char *point, fault_t *ret)
{
    bool due = false;
    (void)pthread_mutex_lock(&faults.lock);
    for (size_t i = 0; i < faults.count && !due; i++) {
        fault_t *fault = &faults.list[i];
        if (strcmp(fault->point, point) != 0) {
            continue;
        }
        fault->hits++;
        due = fault->hits == fault->from || (fault->on && fault->hits > fault->from);
        if (due) {
            *ret = *fault;
        }
    }
    (void)pthread_mutex_unlock(&faults.lock);
    return due;
}

bf_status_t bf_fault_hit(const char *point)
{
    fault_t fault;
    (void)pthread_once(&faults.once, parse_environment);
    if (!take_due(point, &fault)) {
        return BF_OK;
    }
    switch (fault.action) {
    case FAULT_KILL:
        (void)kill(getpid(), SIGKILL);
        break;
    case FAULT_STOP:
        (void)kill(getpid(), SIGSTOP);
        break;
    case FAULT_EXIT:
        _exit(70);
    case FAULT_SLEEP:
        bf_clock_sleep_ms(fault.sleep_ms);
        break;
    case FAULT_ERROR:
        return fault.status;
    }
    return BF_OK;
}

#else
/* ISO C forbids an empty translation unit. */
extern const int bf_fault_not_built;
#endif
