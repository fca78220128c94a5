/*
 * migrate.h - the numbered migrations of sql/, built into the program
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_MIGRATE_H
#define BF_MIGRATE_H

#include "bpmflow/db.h"

/** Version that this build needs (the highest migration built in). */
int bf_migrate_needed_version(void);

/** Version of the database; 0 = nothing applied yet. Errors of the database. */
bf_status_t bf_migrate_version(bf_db_t *db, int *ret, bf_err_t *err) BF_MUST_USE;

/** Called for each migration before it is applied. */
typedef void (*bf_migrate_progress_fn)(void *arg, int version, const char *name);

/** Apply what is missing, one after the other, under a named lock of the server so that
 *  two of us do not collide. Idempotent. @param ret_applied how many; may be NULL */
bf_status_t bf_migrate_run(bf_db_t *db, bf_migrate_progress_fn progress, void *arg,
                           int *ret_applied, bf_err_t *err) BF_MUST_USE;

/** BF_OK when the versions agree, else BF_E_SCHEMA with a sentence that says what to run.
 */
bf_status_t bf_migrate_check(bf_db_t *db, bf_err_t *err) BF_MUST_USE;

#endif /* BF_MIGRATE_H */
