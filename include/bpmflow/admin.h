/*
 * admin.h - the HTTP port of a process: /metrics, /healthz, /readyz
 *
 * A small table of GET routes on libmicrohttpd with one thread of its own.  It carries
 * nothing secret and does not authenticate: bind it to 127.0.0.1 or to a network that
 * only operators reach.
 *
 * Threads:  the handlers run on the server's thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ADMIN_H
#define BF_ADMIN_H

#include <stdint.h>

#include "bpmflow/err.h"
#include "bpmflow/str.h"

typedef struct bf_admin bf_admin_t;

/* Writes the body; returns the HTTP status. */
typedef unsigned (*bf_admin_fn)(void *arg, bf_str_t *ret_body);

typedef struct bf_admin_route {
    const char *path;
    const char *content_type;
    bf_admin_fn fn;
    void *arg;
} bf_admin_route_t;

typedef struct bf_admin_options {
    const char *address;            /* an IPv4 or IPv6 address; NULL = 127.0.0.1 */
    uint16_t port;                  /* 0 = a free one, see bf_admin_port() */
    const bf_admin_route_t *routes; /* borrowed while it runs */
    size_t route_count;
} bf_admin_options_t;

/** Listen and start. BF_E_INVALID (address), BF_E_IO (the port is taken, ...: err says
 *  what to do), BF_E_NOMEM. */
bf_status_t bf_admin_start(const bf_admin_options_t *options, bf_admin_t **ret,
                           bf_err_t *err) BF_MUST_USE;
/** Stop and free. NULL is allowed. */
void bf_admin_stop(bf_admin_t *admin);
uint16_t bf_admin_port(const bf_admin_t *admin);

#endif /* BF_ADMIN_H */
