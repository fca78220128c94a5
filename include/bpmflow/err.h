/*
 * err.h - status codes and the error object of the library
 *
 * Every function that can fail returns a bf_status_t and takes, as its last
 * parameter, a bf_err_t that the caller owns.  The first error wins: an error
 * that is already set is not overwritten.  The text names the thing that failed,
 * the reason and, where there is one, the remedy.  Nothing here allocates.
 *
 * Threads:  a bf_err_t belongs to one thread at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ERR_H
#define BF_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define BF_MUST_USE     __attribute__((warn_unused_result))
#define BF_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* X(name, text, retriable): retriable means "the same call may succeed later". */
#define BF_STATUS_LIST(X)                                                                \
    X(OK, "ok", false)                                                                   \
    X(E_NOMEM, "out of memory", false)                                                   \
    X(E_INVALID, "invalid argument or input", false)                                     \
    X(E_PARSE, "syntax error", false)                                                    \
    X(E_LIMIT, "a limit is exceeded", false)                                             \
    X(E_NOT_FOUND, "not found", false)                                                   \
    X(E_EXISTS, "exists already", false)                                                 \
    X(E_UNSUPPORTED, "not supported here", false)                                        \
    X(E_IO, "input/output error", false)                                                 \
    X(E_TIMEOUT, "time-out", true)                                                       \
    X(E_CANCELLED, "cancelled", false)                                                   \
    /* engine and executor */                                                            \
    X(E_EXPRESSION, "an expression failed", false)                                       \
    X(E_COMPONENT, "a component failed", false)                                          \
    X(E_STEP_LIMIT, "too many node visits", false)                                       \
    X(E_NO_ROUTE, "a choice has no way out", false)                                      \
    X(E_REJECTED, "the command is not allowed now", false)                               \
    /* store */                                                                          \
    X(E_STORE, "the database refused", false)                                            \
    X(E_STORE_RETRY, "the database asks to try the transaction again", true)             \
    X(E_STORE_LOST, "the connection to the database is lost", true)                      \
    X(E_STORE_DATA, "the database refused the data of a row", false)                     \
    X(E_DUPLICATE, "a command is applied already", false)                                \
    X(E_CONFLICT, "the row was changed by somebody else", true)                          \
    X(E_FENCED, "the partition belongs to somebody else now", false)                     \
    X(E_SCHEMA, "the database schema has another version", false)                        \
    /* bus */                                                                            \
    X(E_BUS, "Kafka refused", false)                                                     \
    X(E_BUS_RETRY, "Kafka asks to try again", true)                                      \
    X(E_BUS_ABORT, "the Kafka transaction must be aborted", true)                        \
    X(E_BUS_FATAL, "the Kafka client must be replaced", false)

typedef enum {
#define X(name, text, retriable) BF_##name,
    BF_STATUS_LIST(X)
#undef X
        BF_STATUS_COUNT
} bf_status_t;

#define BF_ERR_TEXT_MAX 512

typedef struct bf_err {
    bf_status_t status; /* BF_OK = not set; the first error wins */
    char text[BF_ERR_TEXT_MAX];
} bf_err_t;

/* clang-format off */
#define BF_ERR_INIT { BF_OK, { 0 } }
/* clang-format on */

/** The text of a status, never NULL; static storage. */
const char *bf_status_text(bf_status_t status);

/** True when the same call may succeed later. */
bool bf_status_is_retriable(bf_status_t status);

/** Make an error object empty again. NULL is allowed. */
void bf_err_clear(bf_err_t *err);

/**
 * Set an error, unless one is set already.
 *
 * @param err     may be NULL: then only the status is returned
 * @param status  not BF_OK
 * @param fmt     text for a person: the thing, the reason, the remedy
 * @return status, so that `return bf_err_set(...)` reads well
 */
bf_status_t bf_err_set(bf_err_t *err, bf_status_t status, const char *fmt, ...)
    BF_PRINTF(3, 4);

/** As bf_err_set(), with a va_list. */
bf_status_t bf_err_setv(bf_err_t *err, bf_status_t status, const char *fmt, va_list args)
    BF_PRINTF(3, 0);

/**
 * Put words in front of an error that is set ("graph leave: " + text).
 * Does nothing when err is NULL or not set.
 */
void bf_err_prefix(bf_err_t *err, const char *fmt, ...) BF_PRINTF(2, 3);

/** out of memory while doing `what`; returns BF_E_NOMEM. */
bf_status_t bf_err_nomem(bf_err_t *err, const char *what);

#ifdef __clang_analyzer__
/* The static analyser sees one file at a time: tell it that the result is the status, or
 * it believes that a failed call may return BF_OK and leave its results unset. */
static inline bf_status_t bf_err_same(bf_status_t status)
{
    return status;
}
#define bf_err_set(err, status, ...)                                                     \
    ((void)(bf_err_set)((err), (status), __VA_ARGS__), bf_err_same(status))
#define bf_err_nomem(err, what)                                                          \
    ((void)(bf_err_nomem)((err), (what)), bf_err_same(BF_E_NOMEM))
#endif

#endif /* BF_ERR_H */
