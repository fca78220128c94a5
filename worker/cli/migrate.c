/*
 * migrate.c - brings the tables to the version that this build needs
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/migrate.h"

#include "worker/cli/commands.h"
#include "worker/cli/connect.h"

static void on_migration(void *arg, int version, const char *name)
{
    const bool *quiet = arg;
    if (*quiet)
        return;
    printf("applying %04d %s\n", version, name);
    (void)fflush(stdout);
}

static bf_status_t migrate(bf_cli_t *cli, bf_db_t *db, bf_exit_t *ret, bf_err_t *err)
{
    const bf_tables_t tables = {bf_cli_text(cli, "repository-table"),
                                bf_cli_text(cli, "task-table")};
    bool json = bf_cli_flag(cli, "json");
    int before = 0;
    int applied = 0;
    int needed = bf_migrate_needed_version();
    bf_status_t rc = bf_migrate_version(db, &before, err);
    if (rc == BF_OK && !bf_cli_flag(cli, "check"))
        rc = bf_migrate_run(db, &tables, on_migration, &json, &applied, err);
    if (rc != BF_OK)
        return rc;
    int now = bf_cli_flag(cli, "check") ? before : needed;
    *ret = now == needed ? BF_EXIT_OK : BF_EXIT_REJECTED;
    if (json) {
        printf("{\"server\":\"%s\",\"version\":%d,\"needed\":%d,\"applied\":%d}\n",
               bf_db_server(db), now, needed, applied);
        return BF_OK;
    }
    if (now == needed)
        printf("the schema has version %d, as this program needs it (%s)\n", now,
               bf_db_server(db));
    else if (now < needed)
        printf("the schema has version %d, this program needs %d: run bpmflow migrate\n",
               now, needed);
    else
        printf("the schema has version %d, this program knows only %d: use a newer "
               "bpmflow\n",
               now, needed);
    return BF_OK;
}

static bf_exit_t run_migrate(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_db_t *db = NULL;
    bf_exit_t result = BF_EXIT_OK;
    bf_status_t rc = bf_cli_db(cli, &db, &err);
    if (rc == BF_OK)
        rc = migrate(cli, db, &result, &err);
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
    bf_db_close(db);
    return result;
}

static const bf_cli_option_t migrate_options[] = {
    {.name = "check",
     .kind = BF_OPTION_FLAG,
     .help = "only compare the versions, change nothing"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_migrate = {
    .name = "migrate",
    .summary = "create the tables or bring them to the version of this program",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_DB,
    .options = migrate_options,
    .description =
        "Applies the numbered migrations that are built into this program and missing "
        "in the database, one after the other. May be run again at any time; two runs "
        "at once wait for each other. The user needs the right to create and alter "
        "tables.",
    .status = "1 with --check: the database has another version.",
    .examples = "    bpmflow migrate --db-name bpmflow\n"
                "    bpmflow migrate --check -c /etc/bpmflow/worker.conf\n",
    .run = run_migrate};
