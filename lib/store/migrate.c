/*
 * migrate.c - see migrate.h
 *
 * bpm_schema_version has one row a migration: how many statements it has, how many are
 * done, a checksum of its text and the table names used.  It counts as applied when all
 * are done.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bpmflow/clock.h"
#include "bpmflow/map.h"
#include "bpmflow/str.h"
#include "lib/store/migrations_int.h"
#include "lib/store/stmt_int.h"

#define MAX_TABLE_NAME 48
#define LOCK_TRY_S     "5"
#define LOCK_TRIES     13
#define CHECKSUM_TEXT  17
#define HOW_TO_UPGRADE "run: bpmflow migrate"
#define VERSION_TABLE  "bpm_schema_version"
#define VERSION_TABLE_EXISTS                                                             \
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() "    \
    "AND table_name = '" VERSION_TABLE "'"

/* Fields of a row of bpm_schema_version. */
typedef struct version_row {
    bool exists;
    int64_t statements;
    int64_t done;
    char checksum[CHECKSUM_TEXT];
    char repository[MAX_TABLE_NAME + 1];
    char task[MAX_TABLE_NAME + 1];
} version_row_t;

static const char *repository_of(const bf_tables_t *tables)
{
    return tables != NULL && tables->repository != NULL ? tables->repository
                                                        : BF_TABLE_REPOSITORY;
}

static const char *task_of(const bf_tables_t *tables)
{
    return tables != NULL && tables->task != NULL ? tables->task : BF_TABLE_TASK;
}

static bf_status_t check_name(const char *what, const char *name, bf_err_t *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_$";
    size_t len = strlen(name);
    if (len == 0 || len > MAX_TABLE_NAME || strspn(name, allowed) != len) {
        return bf_err_set(err, BF_E_INVALID,
                          "%s: '%.80s' is no usable table name: 1 to %d letters, digits, "
                          "_ and $",
                          what, name, MAX_TABLE_NAME);
    }
    return BF_OK;
}

bf_status_t bf_tables_check(const bf_tables_t *tables, bf_err_t *err)
{
    static const char *const own[] = {"bpm_flow_topic", "bpm_flow_offset",
                                      "bpm_flow_command", VERSION_TABLE};
    const char *repository = repository_of(tables);
    const char *task = task_of(tables);
    bf_status_t status = check_name("table of instances", repository, err);
    if (status == BF_OK) {
        status = check_name("table of the history", task, err);
    }
    if (status == BF_OK && strcasecmp(repository, task) == 0) {
        status =
            bf_err_set(err, BF_E_INVALID,
                       "instances and history cannot both be in the table '%s'", task);
    }
    for (size_t i = 0; status == BF_OK && i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcasecmp(repository, own[i]) == 0 || strcasecmp(task, own[i]) == 0) {
            status = bf_err_set(err, BF_E_INVALID,
                                "'%s' is a table of its own already: choose another name",
                                own[i]);
        }
    }
    return status;
}

int bf_migrate_needed_version(void)
{
    size_t count = 0;
    const bf_migration_t *list = bf_migrations(&count);
    return list[count - 1].version;
}

static void checksum_of(const bf_migration_t *migration, char ret[CHECKSUM_TEXT])
{
    (void)snprintf(ret, CHECKSUM_TEXT, "%016" PRIx64,
                   bf_hash_bytes(migration->text, strlen(migration->text)));
}

static bf_status_t has_version_table(bf_db_t *db, bool *ret, bf_err_t *err)
{
    int64_t count = 0;
    bool row = false;
    bf_status_t status = bf_db_query_ints(db, VERSION_TABLE_EXISTS, &count, 1, &row, err);
    *ret = count > 0;
    return status;
}

static bf_status_t read_max_version(bf_db_t *db, int *ret, bf_err_t *err)
{
    int64_t version = 0;
    bool row = false;
    bf_status_t status = bf_db_query_ints(
        db, "SELECT MAX(version) FROM " VERSION_TABLE " WHERE done >= statements",
        &version, 1, &row, err);
    *ret = (int)version;
    return status;
}

bf_status_t bf_migrate_version(bf_db_t *db, int *ret, bf_err_t *err)
{
    bool exists = false;
    *ret = 0;
    bf_status_t status = has_version_table(db, &exists, err);
    if (status == BF_OK && exists) {
        status = read_max_version(db, ret, err);
    }
    return status;
}

static bf_status_t read_row(bf_db_t *db, int version, version_row_t *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_params_t params;
    memset(ret, 0, sizeof(*ret));
    if (bf_params_init(&params, 1) != BF_OK) {
        return bf_err_nomem(err, "migrating");
    }
    bf_params_put_i64(&params, version);
    bf_status_t status =
        bf_stmt_prepare(db, "schema version",
                        "SELECT statements, done, checksum, repository_table, task_table "
                        "FROM " VERSION_TABLE " WHERE version = ?",
                        &stmt, err);
    if (status == BF_OK) {
        status = bf_stmt_run(stmt, &params, 0, NULL, err);
    }
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &ret->exists, err);
    }
    if (status == BF_OK && ret->exists) {
        ret->statements = bf_stmt_i64(stmt, 0);
        ret->done = bf_stmt_i64(stmt, 1);
        (void)snprintf(ret->checksum, sizeof(ret->checksum), "%s", bf_stmt_cstr(stmt, 2));
        (void)snprintf(ret->repository, sizeof(ret->repository), "%s",
                       bf_stmt_cstr(stmt, 3));
        (void)snprintf(ret->task, sizeof(ret->task), "%s", bf_stmt_cstr(stmt, 4));
    }
    bf_stmt_close(stmt);
    bf_params_fini(&params);
    return status;
}

/* A row that exists must have been made from the same text and with the same names. */
static bf_status_t check_row(const version_row_t *row, const bf_migration_t *migration,
                             const bf_tables_t *tables, bf_err_t *err)
{
    char checksum[CHECKSUM_TEXT];
    checksum_of(migration, checksum);
    if (strcmp(row->repository, repository_of(tables)) != 0 ||
        strcmp(row->task, task_of(tables)) != 0) {
        return bf_err_set(err, BF_E_SCHEMA,
                          "the tables were made as '%s' and '%s', the settings say '%s' "
                          "and '%s': set the old names, or rename the tables and the "
                          "names in " VERSION_TABLE,
                          row->repository, row->task, repository_of(tables),
                          task_of(tables));
    }
    if (strcmp(row->checksum, checksum) != 0) {
        return bf_err_set(
            err, BF_E_SCHEMA,
            "migration %s was applied from another text (checksum %s, this "
            "build has %s): use the build that made this database, or a new "
            "database",
            migration->name, row->checksum, checksum);
    }
    return BF_OK;
}

static bf_status_t too_new(int version, bf_err_t *err)
{
    return bf_err_set(err, BF_E_SCHEMA,
                      "the database has schema version %d, this build knows only up to "
                      "%d: use a newer build",
                      version, bf_migrate_needed_version());
}

bf_status_t bf_migrate_check(bf_db_t *db, const bf_tables_t *tables, bf_err_t *err)
{
    int version = 0;
    int needed = bf_migrate_needed_version();
    bf_status_t status = bf_tables_check(tables, err);
    if (status == BF_OK) {
        status = bf_migrate_version(db, &version, err);
    }
    if (status != BF_OK) {
        return status;
    }
    if (version == 0) {
        return bf_err_set(err, BF_E_SCHEMA,
                          "the database has no tables yet; " HOW_TO_UPGRADE);
    }
    if (version < needed) {
        return bf_err_set(
            err, BF_E_SCHEMA,
            "the database has schema version %d, this build needs %d; " HOW_TO_UPGRADE,
            version, needed);
    }
    if (version > needed) {
        return too_new(version, err);
    }
    size_t count = 0;
    const bf_migration_t *list = bf_migrations(&count);
    version_row_t row;
    status = read_row(db, version, &row, err);
    return status == BF_OK ? check_row(&row, &list[count - 1], tables, err) : status;
}

/* The text with the table names put in. */
static bf_status_t substitute(const bf_migration_t *migration, const bf_tables_t *tables,
                              bf_str_t *ret, bf_err_t *err)
{
    static const char repository[] = "{repository}";
    static const char task[] = "{task}";
    const char *p = migration->text;
    while (*p != '\0') {
        size_t plain = strcspn(p, "{");
        bf_str_append(ret, p, plain);
        p += plain;
        if (strncmp(p, repository, sizeof(repository) - 1) == 0) {
            bf_str_puts(ret, repository_of(tables));
            p += sizeof(repository) - 1;
        } else if (strncmp(p, task, sizeof(task) - 1) == 0) {
            bf_str_puts(ret, task_of(tables));
            p += sizeof(task) - 1;
        } else if (*p != '\0') {
            bf_str_putc(ret, *p++);
        }
    }
    return bf_str_status(ret, migration->name, err);
}

static int64_t count_statements(const bf_str_t *text)
{
    bf_sql_piece_t rest = {bf_str_peek(text), text->len};
    bf_sql_piece_t one;
    int64_t count = 0;
    while (bf_sql_next(&rest, &one)) {
        count++;
    }
    return count;
}

static bf_status_t begin_row(bf_db_t *db, const bf_migration_t *migration,
                             const bf_tables_t *tables, int64_t statements, bf_err_t *err)
{
    char checksum[CHECKSUM_TEXT];
    char now[BF_TIME_TEXT_MAX];
    char sql[512];
    checksum_of(migration, checksum);
    bf_clock_format_sql(bf_clock_wall_ms(), now);
    /* nothing from outside but the table names, which are checked */
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO " VERSION_TABLE
                   " (version, name, statements, done, checksum, repository_table, "
                   "task_table, update_time) VALUES (%d, '%s', %" PRId64
                   ", 0, '%s', '%s', '%s', '%s')",
                   migration->version, migration->name, statements, checksum,
                   repository_of(tables), task_of(tables), now);
    return bf_db_execute(db, sql, err);
}

static bf_status_t write_done(bf_db_t *db, int version, int64_t done, bf_err_t *err)
{
    char now[BF_TIME_TEXT_MAX];
    char sql[256];
    bf_clock_format_sql(bf_clock_wall_ms(), now);
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE " VERSION_TABLE " SET done = %" PRId64
                   ", update_time = '%s' WHERE version = %d",
                   done, now, version);
    return bf_db_execute(db, sql, err);
}

/* Errors of a statement that an earlier run has done, but not written down. */
static bool is_done_already(unsigned number)
{
    return number == BF_SQL_TABLE_EXISTS || number == BF_SQL_DUPLICATE_COLUMN ||
           number == BF_SQL_DUPLICATE_INDEX || number == BF_SQL_CANT_DROP;
}

static bf_status_t run_statement(bf_db_t *db, const bf_migration_t *migration,
                                 bf_sql_piece_t piece, bool forgive, bf_err_t *err)
{
    bf_str_t sql;
    bf_str_init(&sql, 0);
    bf_str_append(&sql, piece.data, piece.len);
    bf_status_t status = bf_str_status(&sql, migration->name, err);
    if (status == BF_OK) {
        bf_err_t failure = BF_ERR_INIT;
        status = bf_db_execute(db, bf_str_peek(&sql), &failure);
        if (status != BF_OK && forgive && is_done_already(bf_db_errno(db))) {
            status = BF_OK;
        }
        if (status != BF_OK) {
            (void)bf_err_set(err, status, "migration %s: %s", migration->name,
                             failure.text);
        }
    }
    bf_str_fini(&sql);
    return status;
}

/* All statements from row->done on. */
static bf_status_t run_statements(bf_db_t *db, const bf_migration_t *migration,
                                  const bf_str_t *text, const version_row_t *row,
                                  bf_err_t *err)
{
    bf_status_t status = BF_OK;
    bf_sql_piece_t rest = {bf_str_peek(text), text->len};
    bf_sql_piece_t one;
    for (int64_t i = 0; status == BF_OK && bf_sql_next(&rest, &one); i++) {
        if (i < row->done) {
            continue;
        }
        bool forgive = row->exists && i == row->done;
        status = run_statement(db, migration, one, forgive, err);
        if (status == BF_OK) {
            status = write_done(db, migration->version, i + 1, err);
        }
    }
    return status;
}

typedef struct migration_run {
    bf_db_t *db;
    const bf_tables_t *tables;
    bf_migrate_progress_fn progress;
    void *arg;
    int applied;
} migration_run_t;

static bf_status_t apply_one(migration_run_t *run, const bf_migration_t *migration,
                             bf_err_t *err)
{
    version_row_t row;
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_status_t status = read_row(run->db, migration->version, &row, err);
    if (status == BF_OK && row.exists) {
        status = check_row(&row, migration, run->tables, err);
    }
    if (status != BF_OK || (row.exists && row.done >= row.statements)) {
        goto out;
    }
    if (run->progress != NULL) {
        run->progress(run->arg, migration->version, migration->name);
    }
    status = substitute(migration, run->tables, &text, err);
    if (status == BF_OK && !row.exists) {
        status = begin_row(run->db, migration, run->tables, count_statements(&text), err);
    }
    if (status == BF_OK) {
        status = run_statements(run->db, migration, &text, &row, err);
    }
    if (status == BF_OK) {
        run->applied++;
    }
out:
    bf_str_fini(&text);
    return status;
}

static bf_status_t apply_all(migration_run_t *run, bf_err_t *err)
{
    int version = 0;
    size_t count = 0;
    const bf_migration_t *list = bf_migrations(&count);
    /* Changes of a table wait for whoever uses it, a little less than a read may take. */
    (void)!bf_db_execute(run->db, "SET SESSION lock_wait_timeout = 25", NULL);
    bf_status_t status = bf_db_execute(
        run->db,
        "CREATE TABLE IF NOT EXISTS " VERSION_TABLE " ("
        "version INT NOT NULL PRIMARY KEY, name VARCHAR(128) NOT NULL, "
        "statements INT NOT NULL, done INT NOT NULL, checksum VARCHAR(16) NOT NULL, "
        "repository_table VARCHAR(64) NOT NULL, task_table VARCHAR(64) NOT NULL, "
        "update_time DATETIME(3) NOT NULL) ENGINE=InnoDB "
        "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        err);
    if (status == BF_OK) {
        status = read_max_version(run->db, &version, err);
    }
    if (status == BF_OK && version > bf_migrate_needed_version()) {
        status = too_new(version, err);
    }
    for (size_t i = 0; status == BF_OK && i < count; i++) {
        status = apply_one(run, &list[i], err);
    }
    return status;
}

/* One name a database: locks are names of the whole server. */
#define LOCK_NAME "CONCAT('bpmflow.', LEFT(SHA2(DATABASE(), 256), 32))"

/* Waits in steps that are shorter than any sensible read time-out. */
static bf_status_t take_lock(bf_db_t *db, bf_err_t *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        int64_t got = 0;
        bool row = false;
        bf_status_t status = bf_db_query_ints(
            db, "SELECT GET_LOCK(" LOCK_NAME ", " LOCK_TRY_S ")", &got, 1, &row, err);
        if (status != BF_OK || got == 1) {
            return status;
        }
    }
    return bf_err_set(err, BF_E_TIMEOUT,
                      "somebody else has been migrating this database for over a minute");
}

static void give_lock_back(bf_db_t *db)
{
    int64_t released = 0;
    bool row = false;
    /* where this fails the connection is gone, and the lock with it */
    (void)!bf_db_query_ints(db, "SELECT RELEASE_LOCK(" LOCK_NAME ")", &released, 1, &row,
                            NULL);
}

bf_status_t bf_migrate_run(bf_db_t *db, const bf_tables_t *tables,
                           bf_migrate_progress_fn progress, void *arg, int *ret_applied,
                           bf_err_t *err)
{
    migration_run_t run = {db, tables, progress, arg, 0};
    bf_status_t status = bf_tables_check(tables, err);
    if (status == BF_OK) {
        status = take_lock(db, err);
    }
    if (status != BF_OK) {
        return status;
    }
    status = apply_all(&run, err);
    give_lock_back(db);
    if (ret_applied != NULL) {
        *ret_applied = run.applied;
    }
    return status;
}
