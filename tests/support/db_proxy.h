/*
 * db_proxy.h - a TCP proxy that cuts connections at a chosen moment
 *
 * Forwards to one server.  Armed with a pattern, it waits until a client sends it (plain
 * text: no TLS) and then cuts either before the server gets it, or after the server has
 * answered but before the client sees the answer.  So a test makes "the reply to COMMIT
 * is lost" happen for certain.
 *
 * Threads:  one of its own; the functions may be called from any other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_DB_PROXY_H
#define BF_TEST_DB_PROXY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct db_proxy db_proxy_t;

typedef enum {
    DB_PROXY_CUT_REQUEST, /* the server never sees the pattern */
    DB_PROXY_CUT_REPLY    /* the server has done it, the client does not know */
} db_proxy_cut_t;

/** NULL when it cannot be started. */
db_proxy_t *db_proxy_start(const char *host, uint32_t port);
void db_proxy_stop(db_proxy_t *proxy);
uint32_t db_proxy_port(const db_proxy_t *proxy);

/** Cut at the next occurrence of the pattern, once. @param pattern static */
void db_proxy_arm(db_proxy_t *proxy, const char *pattern, db_proxy_cut_t cut);
/** Close all connections now. */
void db_proxy_cut_all(db_proxy_t *proxy);
/** Refuse new connections (they are closed at once), or let them in again. */
void db_proxy_refuse(db_proxy_t *proxy, bool refuse);
/** How many connections were cut by a pattern. */
int db_proxy_cuts(db_proxy_t *proxy);

#endif /* BF_TEST_DB_PROXY_H */
