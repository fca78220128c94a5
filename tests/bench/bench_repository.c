/*
 * bench_repository.c - the library's repository on a database, without Kafka
 *
 *   bench_repository [--seconds N] [--flush N] [--instances N] [--threads N]
 *
 * Submits of a chain of five tasks through an executor and bf_mysql_repository: each
 * thread has an engine, an executor and a connection of its own.  Write-through: a
 * submit is one transaction.  Deferred: a flush after so many submits, and instances are
 * opened ahead, a hundred at a time.  "spread" submits
 * one step of all instances before the next one, so that each submit writes a row of an
 * instance and one of the history, as the original's JDBC repository does; "in a row"
 * drives each instance to its end before the next, and a flush writes its row once.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/executor.h"
#include "bpmflow/mysql_repository.h"
#include "tests/bench/support/bench_db.h"

#define STEPS       5
#define PRELOAD     100
#define THREADS_MAX 64

static const char chain[] = "id: chain\n"
                            "layout:\n"
                            "  - {id: start, type: start, link: t0}\n"
                            "  - {id: t0, meta: {actor: li}, link: t1}\n"
                            "  - {id: t1, meta: {actor: li}, link: t2}\n"
                            "  - {id: t2, meta: {actor: li}, link: t3}\n"
                            "  - {id: t3, meta: {actor: li}, link: t4}\n"
                            "  - {id: t4, meta: {actor: li}, link: end}\n"
                            "  - {id: end, type: end}\n";

typedef struct plan {
    bench_db_t db;
    int64_t seconds;
    int64_t flush; /* submits between two flushes; 0 = write-through */
    int64_t instances;
    bool in_a_row;
} plan_t;

typedef struct client {
    const plan_t *plan;
    pthread_t thread;
    pthread_barrier_t *barrier; /* all are warm */
    int64_t number;
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_repository_t *repo;
    bf_graph_t *graph;
    const bf_node_t *nodes[STEPS];
    bf_arena_t arena;
    bf_value_t actor;
    int64_t round; /* instances of a round have names of their own */
    int64_t open;  /* submits since the last flush */
    int64_t done;
    int64_t elapsed_ns;
} client_t;

static void check(bf_status_t status, const char *what, const bf_err_t *err)
{
    if (status != BF_OK) {
        bench_stop(what, err);
    }
}

static void set_up(client_t *c)
{
    bf_err_t err = BF_ERR_INIT;
    const bf_mysql_repository_options_t options = {
        .store = {.db = c->plan->db.options},
        .persist = c->plan->flush > 0 ? BF_PERSIST_DEFERRED : BF_PERSIST_WRITE_THROUGH,
    };
    check(bf_mysql_repository_open(&options, &c->repo, &err), "repository", &err);
    c->engine = bf_engine_new();
    c->controller = bf_actor_controller_new(NULL, 0);
    if (c->engine == NULL || c->controller == NULL) {
        bench_stop("out of memory", NULL);
    }
    check(bf_graph_load_text(chain, strlen(chain), NULL, NULL, &c->graph, &err), "graph",
          &err);
    check(bf_engine_load(c->engine, c->graph, &err), "graph", &err);
    for (int i = 0; i < STEPS; i++) {
        char id[8];
        (void)snprintf(id, sizeof(id), "t%d", i);
        c->nodes[i] = bf_graph_node(c->graph, id);
    }
    c->executor = bf_executor_new(c->engine, c->controller, c->repo);
    if (c->executor == NULL) {
        bench_stop("out of memory", NULL);
    }
    bf_executor_set_recorder(c->executor, bf_mysql_repository_record, c->repo);
    bf_arena_init(&c->arena, 0);
    check(bf_json_parse(&c->arena, "{\"actor\":\"li\"}", 14, NULL, &c->actor, &err),
          "actor", &err);
}

static void tear_down(client_t *c)
{
    bf_executor_free(c->executor);
    bf_repository_free(c->repo);
    bf_controller_free(c->controller);
    bf_engine_free(c->engine);
    bf_graph_unref(c->graph);
    bf_arena_fini(&c->arena);
}

static void flush(client_t *c)
{
    bf_err_t err = BF_ERR_INIT;
    check(bf_mysql_repository_flush(c->repo, &err), "flush", &err);
    c->done += c->open;
    c->open = 0;
}

static void write_id(const client_t *c, int64_t instance, char ret[64])
{
    (void)snprintf(ret, 64, "leave-%" PRId64 "-%016" PRIx64, c->number,
                   (uint64_t)(c->round * c->plan->instances + instance) *
                       0x9e3779b97f4a7c15u);
}

static void submit(client_t *c, int64_t instance, int step)
{
    char id[64];
    bf_err_t err = BF_ERR_INIT;
    const bf_submit_t what = {
        .node = c->nodes[step], .action = BF_ACTION_FORWARD, .message = "agreed"};
    write_id(c, instance, id);
    bf_context_t *ctx = bf_context_new(id);
    if (ctx == NULL) {
        bench_stop("out of memory", NULL);
    }
    bf_context_set_transient(ctx, &c->actor);
    check(bf_executor_submit_task(c->executor, c->graph, &what, ctx, &err), "submit",
          &err);
    bf_context_free(ctx);
    c->open++;
    if (c->plan->flush == 0) {
        c->done += c->open;
        c->open = 0;
    } else if (c->open == c->plan->flush) {
        flush(c);
    }
}

/* As a caller does who knows what is to be done next. */
static void preload(client_t *c, int64_t first)
{
    char ids[PRELOAD][64];
    const char *list[PRELOAD];
    bf_err_t err = BF_ERR_INIT;
    int64_t count = 0;
    while (count < PRELOAD && first + count < c->plan->instances) {
        write_id(c, first + count, ids[count]);
        list[count] = ids[count];
        count++;
    }
    check(bf_mysql_repository_preload(c->repo, list, (size_t)count, &err), "preload",
          &err);
}

/* Submit number n of a round. */
static void submit_number(client_t *c, int64_t n)
{
    int64_t instance = c->plan->in_a_row ? n / STEPS : n;
    bool is_first = c->plan->in_a_row ? n % STEPS == 0 : n < c->plan->instances;
    if (c->plan->flush > 0 && is_first && instance % PRELOAD == 0) {
        preload(c, instance);
    }
    if (c->plan->in_a_row) {
        submit(c, n / STEPS, (int)(n % STEPS));
    } else {
        submit(c, n % c->plan->instances, (int)(n / c->plan->instances));
    }
}

/* All steps of the instances of a round; write-through stops at the limit. */
static void run_round(client_t *c, int64_t limit_ns)
{
    for (int64_t n = 0; n < c->plan->instances * STEPS; n++) {
        submit_number(c, n);
        if (c->plan->flush == 0 && bf_clock_mono_ns() >= limit_ns) {
            break;
        }
    }
    c->round++;
}

static void *run_client(void *arg)
{
    client_t *c = arg;
    run_round(c, bf_clock_mono_ns() + 1000000000); /* to warm up */
    c->done = 0;
    c->open = 0;
    (void)pthread_barrier_wait(c->barrier);
    int64_t start = bf_clock_mono_ns();
    int64_t limit = start + c->plan->seconds * 1000000000;
    while (bf_clock_mono_ns() < limit) {
        run_round(c, limit);
    }
    if (c->open > 0) {
        flush(c);
    }
    c->elapsed_ns = bf_clock_mono_ns() - start;
    return NULL;
}

static void print_cpu(const char *what, double seconds, int64_t submits)
{
    bench_print("repository", what, seconds * 1e6 / (double)submits, "us/submit");
}

static void measure(const plan_t *plan, int64_t threads)
{
    static client_t clients[THREADS_MAX];
    static int64_t number; /* no instance of another measurement */
    char metric[80];
    pthread_barrier_t barrier;
    double rate = 0;
    int64_t done = 0;
    memset(clients, 0, sizeof(clients));
    if (pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1) != 0) {
        bench_stop("barrier", NULL);
    }
    for (int64_t i = 0; i < threads; i++) {
        clients[i].plan = plan;
        clients[i].barrier = &barrier;
        clients[i].number = number++;
        set_up(&clients[i]);
    }
    for (int64_t i = 0; i < threads; i++) {
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0) {
            bench_stop("thread", NULL);
        }
    }
    (void)pthread_barrier_wait(&barrier);
    bench_cpu_t before = bench_cpu(&plan->db);
    for (int64_t i = 0; i < threads; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        done += clients[i].done;
        rate += (double)clients[i].done / ((double)clients[i].elapsed_ns / 1e9);
        tear_down(&clients[i]);
    }
    bench_cpu_t after = bench_cpu(&plan->db);
    (void)pthread_barrier_destroy(&barrier);
    (void)snprintf(metric, sizeof(metric), "%s, %s, %" PRId64 " thread%s",
                   plan->flush > 0 ? "deferred" : "write-through",
                   plan->in_a_row ? "in a row" : "spread", threads,
                   threads == 1 ? "" : "s");
    bench_print("repository", metric, rate, "submits/s");
    print_cpu("  processor time of the library", after.client - before.client, done);
    print_cpu("  processor time of the database", after.server - before.server, done);
}

int main(int argc, char **argv)
{
    int64_t threads = 0;
    int64_t flush_after = 500;
    plan_t plan = {.seconds = 5, .instances = 1000};
    const bench_option_t options[] = {{"--seconds", &plan.seconds},
                                      {"--flush", &flush_after},
                                      {"--instances", &plan.instances},
                                      {"--threads", &threads}};
    bench_options(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (threads > THREADS_MAX || plan.instances < 1) {
        bench_stop("at most 64 threads, at least one instance", NULL);
    }
    bench_db_make(&plan.db);
    for (int64_t n = threads > 0 ? threads : 1; n <= (threads > 0 ? threads : 4);
         n *= 4) {
        plan.flush = 0;
        plan.in_a_row = false;
        measure(&plan, n);
        plan.flush = flush_after;
        measure(&plan, n);
        plan.in_a_row = true;
        measure(&plan, n);
    }
    bench_db_drop(&plan.db);
    return 0;
}
