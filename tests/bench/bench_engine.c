/*
 * bench_engine.c - how fast walks and claim + submit are, in memory, on one thread
 *
 * Seconds are those that the thread was on a processor.
 *
 * Prints a JSON line per measurement, then a table:
 *     {"bench":"linear","metric":"evaluations/s","value":1400000,"unit":"1/s"}
 *
 * Usage: bench_engine [seconds per measurement, default 1] [name of one bench]
 *        bench_engine --graph NAME      prints the graph of a bench
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bpmflow/executor.h"

/* --- counting allocations --- */

static uint64_t allocations;

#ifndef BF_SANITIZED
/* glibc's own names for the functions that these replace. */
extern void *__libc_malloc(size_t size);               /* NOLINT */
extern void *__libc_calloc(size_t count, size_t size); /* NOLINT */
extern void *__libc_realloc(void *p, size_t size);     /* NOLINT */

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t nmemb, size_t size)
{
    allocations++;
    return __libc_calloc(nmemb, size);
}

void *realloc(void *ptr, size_t size)
{
    allocations++;
    return __libc_realloc(ptr, size);
}
#endif

/* Time of this thread on the processor: other load does not count. */
static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- results --- */

typedef struct result {
    char bench[32];
    char metric[32];
    double value;
    char unit[16];
} result_t;

#define MAX_RESULTS 64
static result_t results[MAX_RESULTS];
static size_t result_count;
static double seconds = 1.0;

static void report(const char *bench, const char *metric, double value, const char *unit)
{
    printf("{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.1f,\"unit\":\"%s\"}\n", bench,
           metric, value, unit);
    (void)fflush(stdout);
    if (result_count < MAX_RESULTS) {
        result_t *r = &results[result_count++];
        (void)snprintf(r->bench, sizeof(r->bench), "%s", bench);
        (void)snprintf(r->metric, sizeof(r->metric), "%s", metric);
        r->value = value;
        (void)snprintf(r->unit, sizeof(r->unit), "%s", unit);
    }
}

static void print_table(void)
{
    printf("\n%-14s %-28s %16s %s\n", "bench", "metric", "value", "unit");
    for (size_t i = 0; i < result_count; i++) {
        printf("%-14s %-28s %16.1f %s\n", results[i].bench, results[i].metric,
               results[i].value, results[i].unit);
    }
}

static void die(const char *what, const bf_err_t *err)
{
    (void)fprintf(stderr, "bench_engine: %s: %s\n", what, err->text);
    exit(1); // NOLINT(concurrency-mt-unsafe): one thread
}

static bf_graph_t *load(bf_engine_t *engine, const bf_str_t *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (bf_graph_load_text(text->data, text->len, "bench", NULL, &graph, &err) != BF_OK ||
        bf_engine_load(engine, graph, &err) != BF_OK) {
        die("graph", &err);
    }
    bf_graph_unref(graph);
    return graph;
}

/* --- evaluations --- */

typedef struct eval_bench {
    const char *name;
    void (*write)(bf_str_t *text); /* the graph "g" */
    int64_t visits;                /* per evaluation */
} eval_bench_t;

static void write_linear(bf_str_t *text)
{
    bf_str_puts(text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"}");
    for (int i = 0; i < 20; i++) {
        bf_str_printf(text, ",{\"id\":\"a%d\"}", i);
    }
    bf_str_puts(text, ",{\"id\":\"e\",\"type\":\"end\"}]}");
}

static void write_exclusive(bf_str_t *text)
{
    bf_str_puts(text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                      "{\"id\":\"x\",\"type\":\"exclusive\",\"link\":[");
    for (int i = 0; i < 10; i++) {
        bf_str_printf(text, "{\"nextId\":\"a%d\",\"when\":\"score > %d\"},", i,
                      100 - 10 * i);
    }
    bf_str_puts(text, "\"d\"]}");
    for (int i = 0; i < 10; i++) {
        bf_str_printf(text, ",{\"id\":\"a%d\",\"link\":\"e\"}", i);
    }
    bf_str_puts(text, ",{\"id\":\"d\",\"link\":\"e\"},{\"id\":\"e\",\"type\":\"end\"}]}");
}

static void write_split(bf_str_t *text, const char *type, const char *condition)
{
    bf_str_printf(text,
                  "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                  "{\"id\":\"p\",\"type\":\"%s\",\"link\":[",
                  type);
    for (int i = 0; i < 8; i++) {
        bf_str_printf(text, "%s{\"nextId\":\"a%d\"%s}", i ? "," : "", i, condition);
    }
    bf_str_puts(text, "]}");
    for (int i = 0; i < 8; i++) {
        bf_str_printf(text, ",{\"id\":\"a%d\",\"link\":\"j\"}", i);
    }
    bf_str_printf(text,
                  ",{\"id\":\"j\",\"type\":\"%s\",\"link\":\"e\"},"
                  "{\"id\":\"e\",\"type\":\"end\"}]}",
                  type);
}

static void write_parallel(bf_str_t *text)
{
    write_split(text, "parallel", "");
}

static void write_inclusive(bf_str_t *text)
{
    write_split(text, "inclusive", ",\"when\":\"score >= 15\"");
}

static void write_loop(bf_str_t *text)
{
    bf_str_puts(text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                      "{\"id\":\"h\",\"type\":\"loop\",\"meta\":{\"$for\":\"i\",\"$in\":"
                      "\"0...1000\"}},{\"id\":\"d\"},{\"id\":\"le\",\"type\":\"loop\"},"
                      "{\"id\":\"e\",\"type\":\"end\"}]}");
}

static void write_calls(bf_str_t *text)
{
    bf_str_puts(text,
                "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                "{\"id\":\"c\",\"task\":\"#sub1\"},{\"id\":\"e\",\"type\":\"end\"}]}");
}

static void load_called(bf_engine_t *engine)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    for (int i = 4; i >= 1; i--) {
        bf_str_clear(&text);
        bf_str_printf(&text,
                      "{\"id\":\"sub%d\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"},"
                      "{\"id\":\"c\"",
                      i);
        if (i < 4) {
            bf_str_printf(&text, ",\"task\":\"#sub%d\"", i + 1);
        }
        bf_str_puts(&text, "},{\"id\":\"e\",\"type\":\"end\"}]}");
        (void)load(engine, &text);
    }
    bf_str_fini(&text);
}

static const eval_bench_t eval_benches[] = {
    {"linear", write_linear, 22},     {"exclusive", write_exclusive, 4},
    {"parallel", write_parallel, 12}, {"inclusive", write_inclusive, 12},
    {"loop", write_loop, 1004},       {"calls", write_calls, 15},
};

static void eval_many(bf_engine_t *engine, bf_graph_t *graph, bf_context_t *ctx,
                      int64_t count)
{
    bf_err_t err = BF_ERR_INIT;
    bf_eval_options_t options = {.steps = -1, .trace = BF_TRACE_FRESH};
    for (int64_t i = 0; i < count; i++) {
        if (bf_engine_eval(engine, graph, ctx, &options, &err) != BF_OK) {
            die("evaluation", &err);
        }
    }
}

/* As a caller that has one context for each evaluation. */
static void eval_anew(bf_engine_t *engine, bf_graph_t *graph, const bf_value_t *score,
                      int64_t count)
{
    bf_err_t err = BF_ERR_INIT;
    for (int64_t i = 0; i < count; i++) {
        bf_context_t *ctx = bf_context_new("bench");
        if (!ctx || bf_context_put_str(ctx, "score", score, &err) != BF_OK ||
            bf_engine_eval(engine, graph, ctx, NULL, &err) != BF_OK) {
            die("evaluation", &err);
        }
        bf_context_free(ctx);
    }
}

static void run_eval_anew(const eval_bench_t *bench, bf_engine_t *engine,
                          bf_graph_t *graph, const bf_value_t *score)
{
    int64_t count = 0;
    int64_t start = cpu_ns();
    int64_t now = start;
    while (now < start + (int64_t)(seconds * 1e9)) {
        eval_anew(engine, graph, score, 1000);
        count += 1000;
        now = cpu_ns();
    }
    report(bench->name, "evaluations/s, new context",
           (double)count / ((double)(now - start) / 1e9), "1/s");
}

static void run_eval(const eval_bench_t *bench)
{
    bf_engine_t *engine = bf_engine_new();
    bf_context_t *ctx = bf_context_new("bench");
    bf_str_t text;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t score = bf_value_int(15);
    bf_str_init(&text, 0);
    bench->write(&text);
    load_called(engine);
    bf_graph_t *graph = load(engine, &text);
    if (bf_context_put_str(ctx, "score", &score, &err) != BF_OK) {
        die("variable", &err);
    }
    eval_many(engine, graph, ctx, 1000);
    int64_t count = 0;
    uint64_t before = allocations;
    int64_t start = cpu_ns();
    int64_t limit = start + (int64_t)(seconds * 1e9);
    int64_t now = start;
    while (now < limit) {
        eval_many(engine, graph, ctx, 1000);
        count += 1000;
        now = cpu_ns();
    }
    double elapsed = (double)(now - start) / 1e9;
    report(bench->name, "evaluations/s", (double)count / elapsed, "1/s");
    report(bench->name, "node visits/s", (double)(count * bench->visits) / elapsed,
           "1/s");
    report(bench->name, "allocations/evaluation",
           (double)(allocations - before) / (double)count, "");
    run_eval_anew(bench, engine, graph, &score);
    bf_str_fini(&text);
    bf_context_free(ctx);
    bf_engine_free(engine);
}

/* --- approvals --- */

#define POSITION_PAIRS 1000 /* measured at each position */

typedef struct approval {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_graph_t *graph;
    bf_arena_t arena;
    bf_instance_t *inst;
    bf_context_t *ctx;
    bf_scope_t scope;
    bf_err_t err;
} approval_t;

static void write_chain(bf_str_t *text, int length)
{
    bf_str_puts(text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"}");
    for (int i = 0; i < length; i++) {
        bf_str_printf(text, ",{\"id\":\"t%d\",\"meta\":{\"actor\":\"u\"}}", i);
    }
    bf_str_puts(text, ",{\"id\":\"e\",\"type\":\"end\"}]}");
}

static bf_value_t actor_map(void)
{
    static bf_member_t member;
    member = (bf_member_t){"actor", 5, bf_value_cstr("u")};
    return (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = &member};
}

static void approval_init(approval_t *a, int length)
{
    bf_str_t text;
    memset(a, 0, sizeof(*a));
    a->engine = bf_engine_new();
    a->controller = bf_actor_controller_new(NULL, 0);
    a->executor = bf_executor_new(a->engine, a->controller, NULL);
    bf_executor_set_max_steps(a->executor, 1000000);
    bf_arena_init(&a->arena, 0);
    bf_str_init(&text, 0);
    write_chain(&text, length);
    a->graph = load(a->engine, &text);
    bf_str_fini(&text);
}

static void approval_fini(approval_t *a)
{
    bf_executor_free(a->executor);
    bf_controller_free(a->controller);
    bf_engine_free(a->engine);
    bf_arena_fini(&a->arena);
}

static void open_instance(approval_t *a, const bf_value_t *who)
{
    a->inst = bf_instance_new("i-1");
    a->ctx = bf_context_new_borrowing("i-1", bf_instance_vars(a->inst));
    bf_context_set_transient(a->ctx, who);
    a->scope = (bf_scope_t){
        .inst = a->inst, .graph = a->graph, .ctx = a->ctx, .arena = &a->arena};
}

static void close_instance(approval_t *a)
{
    bf_context_free(a->ctx);
    bf_instance_free(a->inst);
}

/* Claim the next task and submit it. @param target of a jump, or NULL */
static void step(approval_t *a, bf_action_t action, const bf_node_t *target)
{
    bf_task_t task;
    bf_submit_result_t result;
    bf_instance_begin(a->inst);
    if (bf_executor_claim_in(a->executor, &a->scope, &task, &a->err) != BF_OK ||
        !task.node) {
        die("claim", &a->err);
    }
    bf_instance_commit(a->inst);
    bf_submit_t submit = {.node = task.node, .action = action, .target = target};
    bf_instance_begin(a->inst);
    if (bf_executor_submit_in(a->executor, &a->scope, &submit, BF_GUARD_STRICT, &result,
                              &a->err) != BF_OK) {
        die("submit", &a->err);
    }
    bf_instance_commit(a->inst);
    bf_arena_clear(&a->arena);
}

static void pair(approval_t *a)
{
    step(a, BF_ACTION_FORWARD, NULL);
}

static void run_approvals(void)
{
    approval_t a;
    bf_value_t who = actor_map();
    approval_init(&a, 5);
    int64_t pairs = 0;
    uint64_t before = allocations;
    int64_t start = cpu_ns();
    int64_t limit = start + (int64_t)(seconds * 1e9);
    int64_t now = start;
    while (now < limit) {
        for (int i = 0; i < 200; i++) {
            open_instance(&a, &who);
            for (int k = 0; k < 5; k++) {
                pair(&a);
            }
            close_instance(&a);
            pairs += 5;
        }
        now = cpu_ns();
    }
    double elapsed = (double)(now - start) / 1e9;
    report("approvals", "claim+submit pairs/s", (double)pairs / elapsed, "1/s");
    report("approvals", "allocations/pair",
           (double)(allocations - before) / (double)pairs, "");
    open_instance(&a, &who);
    for (int k = 0; k < 5; k++) {
        pair(&a);
    }
    if (bf_instance_pack(a.inst) == BF_OK) {
        report("approvals", "bytes of an idle instance",
               (double)bf_instance_held_bytes(a.inst), "bytes");
    }
    close_instance(&a);
    approval_fini(&a);
}

static void report_position(const char *what, int position, int64_t elapsed_ns)
{
    char metric[48];
    (void)snprintf(metric, sizeof(metric), "%s at %d", what, position);
    report("position", metric, (double)elapsed_ns / POSITION_PAIRS, "ns");
}

/* The nodes of a chain stand in the order of the walk, START first. */
static const bf_node_t *task_at(const approval_t *a, int number)
{
    return &a->graph->nodes[number + 1];
}

/* There and back again: what is measured is the first of the two steps. */
static int64_t time_step(approval_t *a, bf_action_t action, const bf_node_t *target,
                         bf_action_t again)
{
    int64_t elapsed = 0;
    for (int i = 0; i < POSITION_PAIRS; i++) {
        int64_t start = cpu_ns();
        step(a, action, target);
        elapsed += cpu_ns() - start;
        step(a, again, NULL);
    }
    return elapsed;
}

static void run_ways_back(approval_t *a, int position, int at)
{
    report_position("claim+back", position,
                    time_step(a, BF_ACTION_BACK, NULL, BF_ACTION_FORWARD));
    report_position(
        "claim+back jump", position,
        time_step(a, BF_ACTION_BACK_JUMP, task_at(a, at - 1), BF_ACTION_FORWARD));
    step(a, BF_ACTION_BACK, NULL);
    report_position("claim+forward jump", position,
                    time_step(a, BF_ACTION_FORWARD_JUMP, task_at(a, at), BF_ACTION_BACK));
}

/* A submit far down a chain: what is long done should cost little. */
static void run_position(int position)
{
    approval_t a;
    bf_value_t who = actor_map();
    bf_err_t err = BF_ERR_INIT;
    approval_init(&a, position + POSITION_PAIRS + 3);
    open_instance(&a, &who);
    bf_instance_begin(a.inst);
    for (int i = 0; i < position; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "g:t%d", i);
        if (bf_instance_state_put(a.inst, key, BF_TASK_COMPLETED) != BF_OK) {
            die("state", &err);
        }
    }
    bf_instance_commit(a.inst);
    pair(&a); /* warm */
    run_ways_back(&a, position, position + 1);
    int64_t start = cpu_ns();
    for (int i = 0; i < POSITION_PAIRS; i++) {
        pair(&a);
    }
    report_position("claim+submit", position, cpu_ns() - start);
    close_instance(&a);
    approval_fini(&a);
}

/* For others that walk the same graphs. */
static int print_graph(const char *name)
{
    for (size_t i = 0; i < sizeof(eval_benches) / sizeof(eval_benches[0]); i++) {
        if (!strcmp(name, eval_benches[i].name)) {
            bf_str_t text;
            bf_str_init(&text, 0);
            eval_benches[i].write(&text);
            (void)puts(bf_str_peek(&text));
            bf_str_fini(&text);
            return 0;
        }
    }
    (void)fprintf(stderr, "bench_engine: there is no bench %s\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    const char *only = argc > 2 ? argv[2] : NULL;
    if (argc > 2 && !strcmp(argv[1], "--graph")) {
        return print_graph(argv[2]);
    }
    if (argc > 1) {
        seconds = strtod(argv[1], NULL);
    }
    for (size_t i = 0; i < sizeof(eval_benches) / sizeof(eval_benches[0]); i++) {
        if (!only || !strcmp(only, eval_benches[i].name)) {
            run_eval(&eval_benches[i]);
        }
    }
    if (!only || !strcmp(only, "approvals")) {
        run_approvals();
    }
    if (!only || !strcmp(only, "position")) {
        run_position(10);
        run_position(100);
        run_position(1000);
        run_position(10000);
    }
    print_table();
    return 0;
}
