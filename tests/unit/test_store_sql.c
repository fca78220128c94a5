/*
 * test_store_sql.c - what the store knows without a server
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/db.h"
#include "bpmflow/migrate.h"
#include "lib/store/migrations_int.h"

/* --- bf_sql_next --- */

static void expect_pieces(const char *text, const char *const *pieces)
{
    bf_sql_piece_t rest = {text, strlen(text)};
    bf_sql_piece_t one;
    size_t i = 0;
    for (; bf_sql_next(&rest, &one); i++) {
        cr_assert_not_null(pieces[i], "one too many: %.*s", (int)one.len, one.data);
        cr_assert_eq(one.len, strlen(pieces[i]), "%.*s", (int)one.len, one.data);
        cr_assert_arr_eq(one.data, pieces[i], one.len);
    }
    cr_assert_null(pieces[i], "missing: %s", pieces[i]);
}

Test(store_sql, sql_next__splits_at_semicolons)
{
    expect_pieces("", (const char *const[]){NULL});
    expect_pieces(" ;; \n;", (const char *const[]){NULL});
    expect_pieces("A", (const char *const[]){"A", NULL});
    expect_pieces("A;", (const char *const[]){"A", NULL});
    expect_pieces(" A b ;\n\n C ; ", (const char *const[]){"A b", "C", NULL});
}

Test(store_sql, sql_next__leaves_quotes_alone)
{
    expect_pieces("A 'x;y'; B", (const char *const[]){"A 'x;y'", "B", NULL});
    expect_pieces("A 'it''s;' ; B", (const char *const[]){"A 'it''s;'", "B", NULL});
    expect_pieces("A 'it\\';' ; B", (const char *const[]){"A 'it\\';'", "B", NULL});
    expect_pieces("A \"x;\\\";\"; B", (const char *const[]){"A \"x;\\\";\"", "B", NULL});
    expect_pieces("A `x;\\`; B", (const char *const[]){"A `x;\\`", "B", NULL});
    expect_pieces("A 'open; B", (const char *const[]){"A 'open; B", NULL});
    expect_pieces("A 'x\\", (const char *const[]){"A 'x\\", NULL});
}

Test(store_sql, sql_next__knows_comments)
{
    expect_pieces("-- one; two\nA; # x;\nB /* ; */ c; -- end",
                  (const char *const[]){"A", "B /* ; */ c", NULL});
    expect_pieces("A -- it's; fine\n b; C",
                  (const char *const[]){"A -- it's; fine\n b", "C", NULL});
    expect_pieces("A 5--1; B", (const char *const[]){"A 5--1", "B", NULL});
    expect_pieces("/* open ; A", (const char *const[]){NULL});
    expect_pieces("--", (const char *const[]){NULL});
}

/* --- bf_migrations --- */

Test(store_sql, migrations__are_the_files_of_sql)
{
    size_t count = 0;
    const bf_migration_t *list = bf_migrations(&count);
    cr_assert_eq(list[count - 1].version, bf_migrate_needed_version());
    for (size_t i = 0; i < count; i++) {
        char path[128];
        cr_assert_eq(list[i].version, (int)i + 1, "numbers have no gaps");
        cr_assert_eq(strtol(list[i].name, NULL, 10), list[i].version, "%s", list[i].name);
        (void)snprintf(path, sizeof(path), "sql/%s.sql", list[i].name);
        FILE *file = fopen(path, "re");
        if (file == NULL) {
            cr_skip_test("SKIPPED: not run in the source folder");
        }
        char *text = NULL;
        size_t size = 0;
        cr_assert_gt(getdelim(&text, &size, '\0', file), 0);
        cr_assert_str_eq(text, list[i].text);
        free(text);
        (void)fclose(file);
    }
    size_t files = 0;
    DIR *dir = opendir("sql");
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        const char *dot = strrchr(e->d_name, '.');
        files += dot != NULL && strcmp(dot, ".sql") == 0 ? 1 : 0;
    }
    (void)closedir(dir);
    cr_assert_eq(files, count, "each file of sql/ has a line in migrations.c");
}

/* --- table names --- */

static bf_status_t check(const char *repository, const char *task)
{
    const bf_tables_t tables = {repository, task};
    return bf_tables_check(&tables, NULL);
}

Test(store_sql, tables_check__takes_plain_names_only)
{
    cr_assert_eq(bf_tables_check(NULL, NULL), BF_OK);
    cr_assert_eq(check(NULL, NULL), BF_OK);
    cr_assert_eq(check("Acme_1", "b$2"), BF_OK);
    cr_assert_eq(check("", NULL), BF_E_INVALID);
    cr_assert_eq(check("a b", NULL), BF_E_INVALID);
    cr_assert_eq(check("a;DROP TABLE x", NULL), BF_E_INVALID);
    cr_assert_eq(check("a`", NULL), BF_E_INVALID);
    cr_assert_eq(check("db.a", NULL), BF_E_INVALID);
    cr_assert_eq(check(NULL, "\xC3\xA4"), BF_E_INVALID);
    cr_assert_eq(check("a1234567890123456789012345678901234567890123456a", NULL), BF_OK);
    cr_assert_eq(check("a12345678901234567890123456789012345678901234567b", NULL),
                 BF_E_INVALID);
    cr_assert_eq(check("same", "SAME"), BF_E_INVALID);
    cr_assert_eq(check("bpm_flow_offset", NULL), BF_E_INVALID);
    cr_assert_eq(check(NULL, "BPM_FLOW_COMMAND"), BF_E_INVALID);
    cr_assert_eq(check("bpm_flow_task", "bpm_flow_repository"), BF_OK, "swapped: fine");
}

/* --- bf_db_classify --- */

Test(store_sql, classify__says_what_to_do)
{
    static const unsigned retry[] = {1213, 1205, 1020, 1180, 1637, 1615, 1047, 3101};
    static const unsigned lost[] = {2006, 2013, 2055, 2002, 2003, 1053, 1152,
                                    1158, 1159, 1160, 1161, 1317, 1927, 1040,
                                    4031, 3168, 1290, 1836, 1792, 3100, 1243};
    static const unsigned data[] = {1406, 1366, 1264, 1153, 2020, 4025, 3140, 3819, 1048};
    static const unsigned refused[] = {1045, 1049, 1064, 1146, 1054, 1114, 1021, 9999};
    for (size_t i = 0; i < sizeof(retry) / sizeof(retry[0]); i++) {
        cr_assert_eq(bf_db_classify(retry[i]), BF_E_STORE_RETRY, "%u", retry[i]);
    }
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        cr_assert_eq(bf_db_classify(lost[i]), BF_E_STORE_LOST, "%u", lost[i]);
    }
    for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++) {
        cr_assert_eq(bf_db_classify(data[i]), BF_E_STORE_DATA, "%u", data[i]);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        cr_assert_eq(bf_db_classify(refused[i]), BF_E_STORE, "%u", refused[i]);
    }
    cr_assert_eq(bf_db_classify(1062), BF_E_DUPLICATE);
}
