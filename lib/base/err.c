/*
 * err.c - status texts and the error object
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/err.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *text;
    bool retriable;
} statuses[] = {
#define X(name, text, retriable) {text, retriable},
    BF_STATUS_LIST(X)
#undef X
};

const char *bf_status_text(bf_status_t status)
{
    return (unsigned)status < BF_STATUS_COUNT ? statuses[status].text : "unknown status";
}

bool bf_status_is_retriable(bf_status_t status)
{
    return (unsigned)status < BF_STATUS_COUNT && statuses[status].retriable;
}

void bf_err_clear(bf_err_t *err)
{
    if (err) {
        err->status = BF_OK;
        err->text[0] = '\0';
    }
}

bf_status_t bf_err_setv(bf_err_t *err, bf_status_t status, const char *fmt, va_list args)
{
    if (!err || err->status != BF_OK) {
        return status;
    }
    err->status = status;
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args); /* cut when too long */
    return status;
}

bf_status_t(bf_err_set)(bf_err_t *err, bf_status_t status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    bf_err_setv(err, status, fmt, args);
    va_end(args);
    return status;
}

void bf_err_prefix(bf_err_t *err, const char *fmt, ...)
{
    if (!err || err->status == BF_OK) {
        return;
    }
    char old[BF_ERR_TEXT_MAX];
    memcpy(old, err->text, sizeof(old));
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof(err->text)) {
        size_t room = sizeof(err->text) - (size_t)n - 1;
        size_t len = strnlen(old, room);
        memcpy(err->text + n, old, len);
        err->text[(size_t)n + len] = '\0';
    }
}

bf_status_t(bf_err_nomem)(bf_err_t *err, const char *what)
{
    return bf_err_set(err, BF_E_NOMEM, "out of memory: %s", what);
}
