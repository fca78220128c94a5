/*
 * migrate.h - the numbered migrations of sql/, built into the program
 *
 * Two of the tables may have other names (settings): the texts say {repository} and
 * {task}, and bpm_schema_version remembers which names a database was made with.  One
 * database holds one installation.  A server has no transaction around DDL: the number of
 * statements done is remembered after each one, and the next run goes on there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_MIGRATE_H
#define BF_MIGRATE_H

#include "bpmflow/db.h"

#define BF_TABLE_REPOSITORY "bpm_flow_repository"
#define BF_TABLE_TASK       "bpm_flow_task"

/* Names of the tables that may be renamed: 1-48 letters, digits, _ and $; NULL = the
 * default above. */
typedef struct bf_tables {
    const char *repository;
    const char *task;
} bf_tables_t;

/** BF_OK, or BF_E_INVALID: a name is not usable (err says which and why). */
bf_status_t bf_tables_check(const bf_tables_t *tables, bf_err_t *err) BF_MUST_USE;

/** Version that this build needs (the highest migration built in). */
int bf_migrate_needed_version(void);

/** Version of the database; 0 = nothing applied yet. Errors of the database. */
bf_status_t bf_migrate_version(bf_db_t *db, int *ret, bf_err_t *err) BF_MUST_USE;

/** Called for each migration before it is applied. */
typedef void (*bf_migrate_progress_fn)(void *arg, int version, const char *name);

/** Apply what is missing, one after the other, under a named lock of the server so that
 *  two of us do not collide. Idempotent.
 *  @param tables      NULL = default names
 *  @param progress    may be NULL
 *  @param ret_applied how many; may be NULL
 *  @return BF_OK; BF_E_SCHEMA (newer than this build, or made with other table names);
 *          BF_E_TIMEOUT (somebody else migrates for over a minute); errors of the
 *          database */
bf_status_t bf_migrate_run(bf_db_t *db, const bf_tables_t *tables,
                           bf_migrate_progress_fn progress, void *arg, int *ret_applied,
                           bf_err_t *err) BF_MUST_USE;

/** BF_OK when version and table names agree, else BF_E_SCHEMA with a sentence that says
 *  what to run. */
bf_status_t bf_migrate_check(bf_db_t *db, const bf_tables_t *tables,
                             bf_err_t *err) BF_MUST_USE;

#endif /* BF_MIGRATE_H */
