/*
 * bench_db.h - what the benchmarks on a database share: a database of their own, options,
 * results as JSON lines
 *
 * Whatever goes wrong ends the program with a sentence.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_BENCH_DB_H
#define BF_TESTS_BENCH_DB_H

#include "bpmflow/db.h"

typedef struct bench_db {
    char name[64];
    bf_db_options_t options; /* of that database */
    int64_t server_pid;      /* 0 = not on this machine */
} bench_db_t;

/** An empty database with the tables, on BF_MARIADB_HOST; without one the program ends
 *  with status 77 and the reason. */
void bench_db_make(bench_db_t *ret);
void bench_db_drop(const bench_db_t *db);
bf_db_t *bench_db_connect(const bench_db_t *db);
void bench_db_run(bf_db_t *db, const char *sql);

/* One option of the command line: --name VALUE. */
typedef struct bench_option {
    const char *name;
    int64_t *value;
} bench_option_t;

/** Reads all options; wrong ones end the program with status 2. */
void bench_options(const bench_option_t *options, size_t count, int argc, char **argv);

/** @param err NULL = nothing more to say */
_Noreturn void bench_stop(const char *what, const bf_err_t *err);
void *bench_calloc(size_t count, size_t size);

/** One JSON line: {"bench","metric","value","unit"}. */
void bench_print(const char *bench, const char *metric, double value, const char *unit);

/* Time on a processor, seconds: what a busy machine does not falsify. */
typedef struct bench_cpu {
    double client;
    double server; /* of the database, where it runs on this machine; else 0 */
} bench_cpu_t;

bench_cpu_t bench_cpu(const bench_db_t *db);

/** Physical memory of this process, bytes. */
size_t bench_resident_bytes(void);

#endif /* BF_TESTS_BENCH_DB_H */
