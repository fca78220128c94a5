/*
 * pipe_int.h - statements of a transaction that are sent before earlier ones are answered
 *
 * All that does not depend on an answer is sent at once, and then all answers are read:
 * one round trip.  The results are kept by group, so that they can be judged in the order
 * in which the statements were sent.
 *
 * A statement runs even where an earlier one has failed.  Where that has ended the
 * transaction (a deadlock), it must not become one of its own: autocommit is off while
 * statements are on their way.  (Making the session read-only instead is not enough:
 * MariaDB lets the first statement after a deadlock through.)
 *
 * Only MariaDB's client library gives what this needs.  With Oracle's, or when told not
 * to, each statement waits for its answer, and the first failure ends the rest.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_PIPE_INT_H
#define BF_STORE_PIPE_INT_H

#include "lib/store/stmt_int.h"

#define BF_PIPE_MAX 128 /* statements on their way */

/* What became of the statements of one purpose. */
typedef struct bf_pipe_group {
    bf_status_t status; /* of the first that failed */
    unsigned number;    /* the server's number of it */
    bf_err_t err;
    int64_t affected; /* sum */
    bool primary_key; /* BF_E_DUPLICATE: it was the primary key */
} bf_pipe_group_t;

/* One answer that is awaited. */
typedef struct bf_pipe_wait {
    bf_pipe_group_t *group;
    const char *what;           /* static */
    const bf_bulk_rows_t *rows; /* NULL = none that gets numbers */
    size_t first;
    size_t count;
} bf_pipe_wait_t;

typedef struct bf_pipe {
    bf_db_t *db;
    bool ahead;  /* statements are sent before earlier ones are answered */
    bool failed; /* an answer was an error: nothing more is sent */
    bf_pipe_wait_t waits[BF_PIPE_MAX];
    size_t count;
    unsigned char *packet; /* being written; kept */
    size_t packet_size;
} bf_pipe_t;

void bf_pipe_init(bf_pipe_t *pipe, bf_db_t *db);
void bf_pipe_fini(bf_pipe_t *pipe);

/** Begin the transaction. Results of it go to the group. */
void bf_pipe_begin(bf_pipe_t *pipe, bf_pipe_group_t *group);

/** COMMIT, and autocommit on again; reads all answers.  Its status; what is not an error
 *  packet of the server is BF_E_STORE_LOST. */
bf_status_t bf_pipe_commit(bf_pipe_t *pipe, bf_err_t *err) BF_MUST_USE;

/** ROLLBACK, and then autocommit on again. See bf_db_roll_back(). */
void bf_pipe_roll_back(bf_pipe_t *pipe);

/** Run a prepared statement with the parameters first, first + 1, ...; the parameters may
 *  be put anew afterwards. wait: group and what, rows with first and count. */
void bf_pipe_run(bf_pipe_t *pipe, bf_stmt_t *stmt, const bf_params_t *params,
                 size_t first, const bf_pipe_wait_t *wait);

/** All rows of a bulk, as bf_bulk_run(). */
void bf_pipe_bulk(bf_pipe_t *pipe, bf_bulk_t *bulk, const bf_bulk_rows_t *rows,
                  bf_pipe_group_t *group);

/** Read the answers to everything sent. Needed before anything else is done with the
 *  connection, a prepare too. */
void bf_pipe_drain(bf_pipe_t *pipe);

#endif /* BF_STORE_PIPE_INT_H */
