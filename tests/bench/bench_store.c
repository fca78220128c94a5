/*
 * bench_store.c - the SQL floor: what the database alone allows
 *
 *   bench_store [--batch N] [--batches N] [--instances N] [--vars BYTES]
 *
 * Writes batches as a shard does (one instance upsert, one history row and one outcome a
 * command, one offset row a batch), through bf_store_commit() and without Kafka, engine
 * or codecs, on one connection to BF_MARIADB_SOCKET or BF_MARIADB_HOST.  Prints JSON
 * lines
 * {"bench","metric","value","unit"}.  Makes a database of its own and drops it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpmflow/clock.h"
#include "tests/bench/support/bench_batch.h"

typedef struct bench {
    bench_db_t db;
    bench_batch_t batch;
    int64_t batches;
    int64_t instances;
    bf_instance_t **pool;
    size_t next; /* instance of the next command */
} bench_t;

static void set_up(bench_t *b)
{
    bench_batch_open(&b->batch, &b->db);
    b->pool = bench_calloc((size_t)b->instances, sizeof(bf_instance_t *));
    for (int64_t i = 0; i < b->instances; i++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "leave-2026-%016" PRIx64,
                       (uint64_t)i * 0x9e3779b97f4a7c15u);
        b->pool[i] = bf_instance_new(id);
        if (b->pool[i] == NULL) {
            bench_stop("out of memory", NULL);
        }
    }
}

static void tear_down(bench_t *b)
{
    for (int64_t i = 0; i < b->instances; i++) {
        bf_instance_free(b->pool[i]);
    }
    free(b->pool);
    bench_batch_close(&b->batch);
}

static int64_t run_batch(bench_t *b)
{
    for (int64_t i = 0; i < b->batch.size; i++) {
        b->batch.changed[i] = b->pool[b->next++ % (size_t)b->instances];
    }
    return bench_batch_commit(&b->batch);
}

static void run_writes(bench_t *b, const char *name, int64_t batches)
{
    char metric[64];
    int64_t commit_ns = 0;
    for (int64_t i = 0; i < batches; i++) {
        commit_ns += run_batch(b);
    }
    double seconds = (double)commit_ns / 1e9;
    (void)snprintf(metric, sizeof(metric), "%s", name);
    bench_print("store", metric, (double)(batches * b->batch.size) / seconds,
                "commands/s");
    (void)snprintf(metric, sizeof(metric), "%s_batch", name);
    bench_print("store", metric, seconds * 1000 / (double)batches, "ms");
}

static void run_loads(bench_t *b)
{
    enum { IDS = 100 };
    int64_t loaded = 0;
    bf_err_t err = BF_ERR_INIT;
    int64_t start = bf_clock_mono_ns();
    for (int64_t at = 0; at + IDS <= b->instances && at < 100000; at += IDS) {
        const char *ids[IDS];
        bf_instance_t *found[IDS];
        for (int64_t i = 0; i < IDS; i++) {
            ids[i] = bf_instance_id(b->pool[at + i]);
        }
        if (bf_store_load_instances(b->batch.store, ids, IDS, found, &err) != BF_OK) {
            bench_stop("loading", &err);
        }
        for (int64_t i = 0; i < IDS; i++) {
            loaded += found[i] != NULL ? 1 : 0;
            bf_instance_free(found[i]);
        }
    }
    double seconds = (double)(bf_clock_mono_ns() - start) / 1e9;
    bench_print("store", "load", (double)loaded / seconds, "instances/s");
}

int main(int argc, char **argv)
{
    bench_t b = {
        .batch = {.size = 500, .vars_bytes = 200}, .batches = 200, .instances = 20000};
    const bench_option_t options[] = {{"--batch", &b.batch.size},
                                      {"--batches", &b.batches},
                                      {"--instances", &b.instances},
                                      {"--vars", &b.batch.vars_bytes}};
    bench_options(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (b.instances < b.batch.size) {
        b.instances = b.batch.size; /* an instance stands once in a batch */
    }
    bench_db_make(&b.db);
    set_up(&b);
    run_writes(&b, "insert", (b.instances + b.batch.size - 1) / b.batch.size);
    run_writes(&b, "commit", b.batches);
    run_loads(&b);
    tear_down(&b);
    bench_db_drop(&b.db);
    return 0;
}
