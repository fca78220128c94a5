/*
 * bench_large.c - many instances: in the cache, and in the tables
 *
 *   bench_large [--cached N] [--small ROWS] [--large ROWS] [--seconds N] [--batch N]
 *               [--growing 1]
 *
 * First the memory of N small instances in an instance cache: what the process grows by,
 * and what the cache counts.  Then commands on random instances that no cache holds, as a
 * shard does them: 500 a batch, loaded by one SELECT for each hundred, changed, committed
 * with history and outcomes; once with few rows in the tables and once with many (a fifth
 * of them instances, two fifths history, two fifths outcomes).  The buffer pool of the
 * server is made large enough for all of them, and its redo log for the pages that random
 * commands change: with a small one the server writes the same pages again and again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/cache.h"
#include "bpmflow/clock.h"
#include "tests/bench/support/bench_batch.h"

#define LIST       100
#define ID_MAX     48
#define CHUNK      INT64_C(50000) /* rows that one statement makes */
#define SLICE_MS   500
#define POOL_BYTES "8589934592"
#define REDO_BYTES "4294967296"

/* --- the cache --- */

static const char graph_text[] = "id: leave\n"
                                 "layout:\n"
                                 "  - {id: start, type: start, link: apply}\n"
                                 "  - {id: apply, meta: {actor: li}, link: leader}\n"
                                 "  - {id: leader, meta: {actor: wang}, link: end}\n"
                                 "  - {id: end, type: end}\n";

static bf_graph_t *load_graph(void)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (bf_graph_load_text(graph_text, strlen(graph_text), NULL, NULL, &graph, &err) !=
        BF_OK) {
        bench_stop("graph", &err);
    }
    return graph;
}

static void fill_cache(bf_cache_t *cache, int64_t count)
{
    bf_graph_t *graph = load_graph();
    bf_value_t reason = bf_value_string("a week at the sea", 17);
    const bench_batch_t batch = {.vars_bytes = 20,
                                 .vars_text = (char[]){"a week at the sea.."}};
    for (int64_t i = 0; i < count; i++) {
        char id[ID_MAX];
        (void)snprintf(id, sizeof(id), "leave-2026-%08" PRId64, i);
        bf_instance_t *inst = bf_instance_new(id);
        if (inst == NULL) {
            bench_stop("out of memory", NULL);
        }
        bf_instance_begin(inst);
        if (bf_instance_pin_graph(inst, graph) != BF_OK ||
            bf_vars_set_str(bf_instance_vars(inst), "reason", &reason) != BF_OK) {
            bench_stop("out of memory", NULL);
        }
        bf_instance_commit(inst);
        bench_batch_change(&batch, inst, 1700000000000);
        bf_instance_mark_stored(inst);
        if (bf_cache_put(cache, inst) != BF_OK) {
            bench_stop("out of memory", NULL);
        }
        if (i % 500 == 499) {
            bf_cache_trim(cache);
        }
    }
    bf_cache_trim(cache);
    bf_graph_unref(graph);
}

static void measure_cache(int64_t count)
{
    bf_cache_stats_t stats;
    size_t before = bench_resident_bytes();
    bf_cache_t *cache = bf_cache_new(SIZE_MAX);
    if (cache == NULL) {
        bench_stop("out of memory", NULL);
    }
    fill_cache(cache, count);
    size_t grown = bench_resident_bytes() - before;
    bf_cache_stats(cache, &stats);
    bench_print("large", "instances in the cache", (double)stats.count, "");
    bench_print("large", "memory of the process", (double)grown / 1e6, "MB");
    bench_print("large", "memory by the cache's count", (double)stats.bytes / 1e6, "MB");
    bench_print("large", "memory of one instance", (double)grown / (double)count,
                "bytes");
    bf_cache_free(cache);
    (void)malloc_trim(0);
}

/* --- the tables --- */

/* Instance n has the digits of n from right to left: neighbours stand far apart. */
static void write_id(int64_t n, char ret[ID_MAX])
{
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%08" PRId64, n);
    size_t len = strlen(digits);
    (void)snprintf(ret, ID_MAX, "leave-");
    for (size_t i = 0; i < len; i++) {
        ret[6 + i] = digits[len - 1 - i];
    }
    ret[6 + len] = '\0';
}

/* head FROM numbers tail */
static void run_chunks(bf_db_t *db, const char *head, const char *tail, int64_t count)
{
    char sql[2048];
    for (int64_t from = 1; from <= count; from += CHUNK) {
        int64_t to = from + CHUNK - 1 < count ? from + CHUNK - 1 : count;
        (void)snprintf(sql, sizeof(sql), "%s FROM seq_%" PRId64 "_to_%" PRId64 "%s", head,
                       from, to, tail);
        bench_db_run(db, sql);
    }
}

/* The ID of instance `seq`, in SQL. */
#define TWO_STEPS " CROSS JOIN (SELECT 1 AS n UNION SELECT 2) step"
#define SQL_ID    "CONCAT('leave-', REVERSE(LPAD(seq, 8, '0')))"

#define INSTANCES(states, day, revs)                                                     \
    "INSERT INTO bpm_flow_repository (instant_id, states, vars, rev, prev_rev, status, " \
    "seq, partition_no, creator, create_time, updater, update_time) SELECT " SQL_ID      \
    ", '" states "', '{\"reason\":\"a week at the sea\",\"day\":" day "}', " revs        \
    ", 0, 2, 0, 'li.wei', NOW(3), 'li.wei', NOW(3)"

/* The instances have all their states already, and a number of two digits, as those few
 * soon have that are changed again and again: both sides do the same work.  A row that
 * grows makes the server move the rows of its page together, which costs much, and the
 * same with few rows and with many; with --growing 1 only the many grow. */
static const char grown[] =
    INSTANCES("{\"leave:apply\":1001,\"leave:leader\":1002,\"leave:hr\":1002,"
              "\"leave:boss\":1002,\"leave:archive\":1002}",
              "10", "10, 9");
static const char growing[] =
    INSTANCES("{\"leave:apply\":1002,\"leave:leader\":1001}", "3", "2, 1");

static void make_rows(const bench_db_t *bench, int64_t instances, bool grow)
{
    bf_db_t *db = bench_db_connect(bench);
    run_chunks(db, grow ? growing : grown, "", instances);
    run_chunks(db,
               "INSERT INTO bpm_flow_task (flow_ins_id, seq, proc_def_id, graph_version, "
               "task_id, action, source_node_code, target_node_code, assignee, status, "
               "variables, message, command_id, creator, create_time) "
               "SELECT " SQL_ID ", step.n, 'leave', 2, 'leader', 1020, 'leader', 'hr', "
               "'li.wei', 1002, '{\"day\":3}', 'agreed', CONCAT('c-', seq, '-', step.n), "
               "'li.wei', NOW(3)",
               TWO_STEPS, instances);
    run_chunks(db,
               "INSERT INTO bpm_flow_command (topic_no, partition_no, command_offset, "
               "instant_id, command_id, command, code, first_seq, last_seq, reply, "
               "reply_topic, create_time) "
               "SELECT 1000, 0, 2 * seq + step.n, " SQL_ID ", CONCAT('c-', seq, '-', "
               "step.n), 'submit', 'ok', step.n, step.n, "
               "'{\"status\":\"accepted\",\"code\":\"ok\"}', 'bpmflow.replies', NOW(3)",
               TWO_STEPS, instances);
    bf_db_close(db);
}

typedef struct reader {
    bench_batch_t batch;
    int64_t instances;
    uint64_t random;
    int64_t *chosen_in; /* number of the batch that each instance was chosen for last */
    int64_t batches;
} reader_t;

static uint64_t next_random(reader_t *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random;
}

/* An instance that is not in this batch yet. */
static int64_t choose(reader_t *r)
{
    for (;;) {
        int64_t n = (int64_t)(next_random(r) % (uint64_t)r->instances);
        if (r->chosen_in[n] != r->batches) {
            r->chosen_in[n] = r->batches;
            return n + 1;
        }
    }
}

static void run_batch(reader_t *r)
{
    bf_err_t err = BF_ERR_INIT;
    r->batches++;
    for (int64_t at = 0; at < r->batch.size; at += LIST) {
        char ids[LIST][ID_MAX];
        const char *list[LIST];
        int64_t count = r->batch.size - at < LIST ? r->batch.size - at : LIST;
        for (int64_t i = 0; i < count; i++) {
            write_id(choose(r), ids[i]);
            list[i] = ids[i];
        }
        if (bf_store_load_instances(r->batch.store, list, (size_t)count,
                                    &r->batch.changed[at], &err) != BF_OK) {
            bench_stop("loading", &err);
        }
        for (int64_t i = 0; i < count; i++) {
            if (r->batch.changed[at + i] == NULL) {
                bench_stop(ids[i], NULL);
            }
        }
    }
    (void)bench_batch_commit(&r->batch);
    for (int64_t i = 0; i < r->batch.size; i++) {
        bf_instance_free(r->batch.changed[i]);
    }
}

/* One of the two databases. */
typedef struct side {
    int64_t rows;
    bench_db_t db;
    reader_t reader;
    int64_t done;
    int64_t spent_ns;
    double cpu; /* seconds, of both sides of the connection */
} side_t;

static void open_side(side_t *side, int64_t rows, int64_t batch, bool grow)
{
    *side = (side_t){.rows = rows,
                     .reader = {.batch = {.size = batch, .vars_bytes = 20},
                                .instances = rows / 5,
                                .random = 88172645463325252u}};
    reader_t *r = &side->reader;
    bench_db_make(&side->db);
    int64_t start = bf_clock_mono_ns();
    make_rows(&side->db, r->instances, grow);
    (void)fprintf(stderr, "bench: %" PRId64 " rows made in %.0f s\n", rows,
                  (double)(bf_clock_mono_ns() - start) / 1e9);
    bench_batch_open(&r->batch, &side->db);
    r->chosen_in = bench_calloc((size_t)r->instances, sizeof(*r->chosen_in));
    for (int i = 0; i < 10; i++) {
        run_batch(r); /* statements are prepared */
    }
}

static void close_side(side_t *side)
{
    free(side->reader.chosen_in);
    bench_batch_close(&side->reader.batch);
    bench_db_drop(&side->db);
}

static void run_slice(side_t *side, int64_t ms)
{
    bench_cpu_t before = bench_cpu(&side->db);
    int64_t start = bf_clock_mono_ns();
    int64_t limit = start + ms * 1000000;
    while (bf_clock_mono_ns() < limit) {
        run_batch(&side->reader);
        side->done += side->reader.batch.size;
    }
    bench_cpu_t after = bench_cpu(&side->db);
    side->spent_ns += bf_clock_mono_ns() - start;
    side->cpu += after.client - before.client + after.server - before.server;
}

static double report(const side_t *side)
{
    char metric[64];
    double rate = (double)side->done / ((double)side->spent_ns / 1e9);
    (void)snprintf(metric, sizeof(metric), "random commands, %" PRId64 " rows",
                   side->rows);
    bench_print("large", metric, rate, "commands/s");
    (void)snprintf(metric, sizeof(metric), "  processor time, %" PRId64 " rows",
                   side->rows);
    bench_print("large", metric, side->cpu * 1e6 / (double)side->done, "us/command");
    return rate;
}

/* In turns, since other load on the machine changes. */
static void compare(int64_t small, int64_t large, int64_t batch, int64_t seconds,
                    bool grow)
{
    static side_t few;
    static side_t many;
    open_side(&many, large, batch, grow);
    open_side(&few, small, batch, grow);
    for (int64_t turn = 0; turn < seconds * 1000 / SLICE_MS; turn++) {
        run_slice(&few, SLICE_MS);
        run_slice(&many, SLICE_MS);
    }
    double rate_few = report(&few);
    double rate_many = report(&many);
    bench_print("large", "rate with many rows, of that with few",
                rate_many / rate_few * 100, "%");
    close_side(&few);
    close_side(&many);
}

static void set_up(bf_db_t *connection, const char *sql)
{
    bf_err_t err = BF_ERR_INIT;
    if (bf_db_execute(connection, sql, &err) != BF_OK) {
        (void)fprintf(stderr, "bench: the server stays as it is (%s): %s\n", sql,
                      err.text);
    }
}

static void compare_on_large_server(int64_t small, int64_t large, int64_t batch,
                                    int64_t seconds, bool grow)
{
    bench_db_t db;
    bench_db_make(&db);
    bf_db_t *connection = bench_db_connect(&db);
    set_up(connection, "SET GLOBAL innodb_buffer_pool_size = " POOL_BYTES);
    set_up(connection, "SET @redo_before = @@innodb_log_file_size");
    set_up(connection, "SET GLOBAL innodb_log_file_size = " REDO_BYTES);
    compare(small, large, batch, seconds, grow);
    set_up(connection, "SET GLOBAL innodb_log_file_size = @redo_before");
    bf_db_close(connection);
    bench_db_drop(&db);
}

int main(int argc, char **argv)
{
    int64_t cached = 1000000;
    int64_t small = 10000;
    int64_t large = 10000000;
    int64_t seconds = 30; /* of each */
    int64_t batch = 500;
    int64_t growing_rows = 0;
    const bench_option_t options[] = {
        {"--cached", &cached},   {"--small", &small}, {"--large", &large},
        {"--seconds", &seconds}, {"--batch", &batch}, {"--growing", &growing_rows}};
    bench_options(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (small < 10 * batch || large < 10 * batch || batch < 1) {
        bench_stop("a batch needs ten times as many rows in the tables", NULL);
    }
    if (cached > 0) {
        measure_cache(cached);
    }
    compare_on_large_server(small, large, batch, seconds, growing_rows != 0);
    return 0;
}
