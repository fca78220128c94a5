/*
 * migrations.c - the texts of sql/ as they were at build time
 *
 * The assembler includes the files, so that the programs need none when they run.  A new
 * migration is one line here (see sql/README.md).
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/migrations_int.h"

/* X(version, name of the file without .sql), without gaps */
#define MIGRATION_LIST(X) X(1, 0001_flow) X(2, 0002_purge) X(3, 0003_problem)

#define X(version, name)                                                                 \
    __asm__(".pushsection .rodata\n"                                                     \
            ".balign 8\n"                                                                \
            ".globl bf_sql_text_" #version "\n"                                          \
            ".hidden bf_sql_text_" #version "\n"                                         \
            "bf_sql_text_" #version ":\n"                                                \
            ".incbin \"sql/" #name ".sql\"\n"                                            \
            ".byte 0\n"                                                                  \
            ".popsection\n");                                                            \
    extern const char bf_sql_text_##version[] __attribute__((visibility("hidden")));
MIGRATION_LIST(X)
#undef X

#define X(version, name) +1
enum { MIGRATION_COUNT = 0 MIGRATION_LIST(X) };
#undef X

const bf_migration_t *bf_migrations(size_t *ret_count)
{
    static const bf_migration_t list[MIGRATION_COUNT] = {
#define X(version, name) {version, #name, bf_sql_text_##version},
        MIGRATION_LIST(X)
#undef X
    };
    *ret_count = MIGRATION_COUNT;
    return list;
}
