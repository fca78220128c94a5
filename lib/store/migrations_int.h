/*
 * migrations_int.h - the texts of sql/, built in
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_MIGRATIONS_INT_H
#define BF_STORE_MIGRATIONS_INT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bf_migration {
    int version;
    const char *name; /* "0001_flow" */
    const char *text;
} bf_migration_t;

/** In order of their versions 1, 2, 3, ... */
const bf_migration_t *bf_migrations(size_t *ret_count);

/* One statement of a migration's text, without its semicolon; the rest after it. */
typedef struct bf_sql_piece {
    const char *data;
    size_t len;
} bf_sql_piece_t;

/** Take the next statement from *rest: semicolons in quotes and comments do not end one;
 *  comments and blanks before it are skipped. false: there is none any more. */
bool bf_sql_next(bf_sql_piece_t *rest, bf_sql_piece_t *ret);

#endif /* BF_STORE_MIGRATIONS_INT_H */
