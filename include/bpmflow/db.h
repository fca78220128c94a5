/*
 * db.h - a connection to MySQL or MariaDB
 *
 * Wraps the client library: options, TLS, time-outs, session settings (UTC, utf8mb4,
 * strict mode, READ COMMITTED, found rows), and the classification of error numbers into
 * statuses that say what to do.  Never reconnects by itself.
 *
 * Threads:  one connection = one thread.  Blocks, bounded by the time-outs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DB_H
#define BF_DB_H

#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_db bf_db_t;

typedef enum {
    BF_TLS_DISABLED,
    BF_TLS_REQUIRED,
    BF_TLS_VERIFY_CA,
    BF_TLS_VERIFY_FULL
} bf_tls_t;

/* Texts are borrowed during connect; NULL = not set. */
typedef struct bf_db_options {
    const char *host;   /* default 127.0.0.1 */
    uint32_t port;      /* default 3306 */
    const char *socket; /* a path; wins over host */
    const char *user;
    const char *password;
    const char *database;
    bf_tls_t tls;
    const char *tls_ca;
    uint32_t connect_timeout_ms; /* 0 = 5000 */
    uint32_t read_timeout_ms;    /* 0 = 30000 */
    uint32_t write_timeout_ms;   /* 0 = 30000 */
    /* Wait for the answer to each statement before the next one is sent (for proxies that
     * take one at a time; Oracle's client library always does). */
    bool one_at_a_time;
} bf_db_options_t;

/**
 * Connect and set up the session.
 * @return BF_OK; BF_E_STORE_LOST (not reachable: try again later); BF_E_STORE (refused:
 *         access denied, unknown database: err says what to do); BF_E_NOMEM
 */
bf_status_t bf_db_connect(const bf_db_options_t *options, bf_db_t **ret,
                          bf_err_t *err) BF_MUST_USE;
void bf_db_close(bf_db_t *db);

/** Run one statement without results. Errors by class, see bf_db_classify(). */
bf_status_t bf_db_execute(bf_db_t *db, const char *sql, bf_err_t *err) BF_MUST_USE;

/** "MariaDB 10.11.14" or "MySQL 9.7.0"; borrowed. */
const char *bf_db_server(const bf_db_t *db);
bool bf_db_is_mariadb(const bf_db_t *db);
uint64_t bf_db_connection_id(const bf_db_t *db);

/** Status for an error number of the server or the client library:
 *  BF_E_STORE_RETRY (1213, 1205, ...), BF_E_STORE_LOST (2006, 2013, 1290, 1836, ...),
 *  BF_E_DUPLICATE (1062), BF_E_STORE_DATA (1406, 1366, ...), BF_E_STORE (the rest). */
bf_status_t bf_db_classify(unsigned error_number);

#endif /* BF_DB_H */
