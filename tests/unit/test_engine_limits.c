/*
 * test_engine_limits.c - long, deep and endless walks: on a small stack, in bounded
 * memory
 *
 * Each walk runs on a thread with a stack of 64 KiB.  What the heap holds is looked at
 * every 1,000 visits; under a sanitizer, which has an allocator of its own, it reads as
 * 0.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/engine.h"
#include "bpmflow/executor.h"

#ifdef BF_SANITIZED
#define STACK_BYTES ((size_t)1024 * 1024)
#else
#define STACK_BYTES ((size_t)64 * 1024)
#endif
#define KIB ((size_t)1024)

typedef struct job {
    bf_engine_t *engine;
    bf_context_t *ctx;
    int64_t max_steps;
    size_t visits;
    size_t heap_before;
    size_t heap_most;
    bf_status_t rc;
    bf_err_t err;
} job_t;

static job_t job;

static void setup(void)
{
    memset(&job, 0, sizeof(job));
    job.engine = bf_engine_new();
    job.ctx = bf_context_new("i");
    job.max_steps = 1000000;
    cr_assert(job.engine && job.ctx);
}

static void teardown(void)
{
    bf_context_free(job.ctx);
    bf_engine_free(job.engine);
}

TestSuite(limits, .init = setup, .fini = teardown);

static bf_graph_t *load(const char *text)
{
    bf_graph_t *graph = NULL;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "limits", NULL, &graph, &job.err),
                 BF_OK, "%s", job.err.text);
    cr_assert_eq(bf_engine_load(job.engine, graph, &job.err), BF_OK);
    bf_graph_unref(graph);
    return graph;
}

static void look_at_heap(void)
{
    size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
    job.heap_most = now > job.heap_most ? now : job.heap_most;
}

static bf_status_t count(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                         bf_err_t *err)
{
    (void)arg;
    (void)ex;
    (void)node;
    (void)err;
    if (job.visits++ % 1000 == 0) {
        look_at_heap();
    }
    return BF_OK;
}

static void *walk(void *arg)
{
    (void)arg;
    bf_eval_options_t options = {.steps = -1, .max_steps = job.max_steps};
    job.rc = bf_engine_eval(job.engine, bf_engine_graph(job.engine, "g"), job.ctx,
                            &options, &job.err);
    return NULL;
}

/* Run it on the small stack; how many bytes the heap grew at most. */
static size_t run(void *(*what)(void *arg), void *arg)
{
    pthread_t thread;
    pthread_attr_t attr;
    bf_interceptor_t hook = {.on_node_start = count};
    cr_assert_eq(bf_engine_add_interceptor(job.engine, &hook), BF_OK);
    cr_assert_eq(pthread_attr_init(&attr), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    look_at_heap();
    job.heap_before = job.heap_most;
    cr_assert_eq(pthread_create(&thread, &attr, what, arg), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    look_at_heap();
    pthread_attr_destroy(&attr);
    return job.heap_most - job.heap_before;
}

static void load_chain(int length, const char *before)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "{\"id\":\"g\",\"layout\":[{\"id\":\"s\",\"type\":\"start\"}");
    bf_str_puts(&text, before);
    for (int i = 0; i < length; i++) {
        bf_str_printf(&text, ",{\"id\":\"a%d\"}", i);
    }
    bf_str_puts(&text, ",{\"id\":\"e\",\"type\":\"end\"}]}");
    load(bf_str_peek(&text));
    bf_str_fini(&text);
}

Test(limits, chain_of_100000_nodes__is_walked)
{
    load_chain(100000, "");
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_OK, "%s", job.err.text);
    cr_assert_eq(job.visits, 100002);
    cr_assert_lt(grown, 4 * KIB * KIB, "%zu bytes", grown);
}

Test(limits, cycle__ends_at_max_steps)
{
    load("{id: g, layout: [{id: s, type: start}, {id: a, link: b}, {id: b, link: a}]}");
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_E_STEP_LIMIT, "%s", job.err.text);
    cr_assert_eq(job.visits, 1000000);
    cr_assert_lt(grown, 64 * KIB, "%zu bytes", grown);
}

/* Each is an entry of the stack, and a position in the trace when the walk has failed. */
Test(limits, cycle_that_leaves_branches_behind__keeps_little_for_each)
{
    load("{id: g, layout: [{id: s, type: start}, {id: a, link: [a, b]}, {id: b}]}");
    job.max_steps = 100000;
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_E_STEP_LIMIT, "%s", job.err.text);
    cr_assert_lt(grown, (size_t)100000 * 400, "%zu bytes", grown);
}

Test(limits, cycle_of_calls__uses_the_same_memory_again)
{
    load("{id: sub, layout: [{id: p, type: parallel, link: [x, y]}, {id: x, link: j},"
         "{id: y, link: j}, {id: j, type: parallel, link: []}]}");
    load("{id: g, layout: [{id: s, type: start}, {id: a, task: '#sub', link: b}, {id: b, "
         "link: a}]}");
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_E_STEP_LIMIT, "%s", job.err.text);
    cr_assert_lt(grown, 64 * KIB, "%zu bytes", grown);
}

Test(limits, loop__uses_the_same_memory_again)
{
    load("{id: g, layout: [{id: h, type: loop, meta: {$for: i, $in: '0...200000'}},"
         "{id: p, type: parallel, link: [x, y]}, {id: x, link: j}, {id: y, link: j},"
         "{id: j, type: parallel}, {id: z, type: loop}, {id: e, type: end}]}");
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_E_STEP_LIMIT, "%s", job.err.text);
    cr_assert_lt(grown, 256 * KIB, "%zu bytes", grown);
}

Test(limits, calls_inside_of_each_other__end_at_the_limit)
{
    load("{id: g, layout: [{id: c, task: '#g'}, {id: e, type: end}]}");
    size_t grown = run(walk, NULL);
    cr_assert_eq(job.rc, BF_E_LIMIT, "%s", job.err.text);
    cr_assert_eq(job.visits, BF_MAX_CALL_DEPTH + 1);
    cr_assert_not_null(strstr(job.err.text, "nested deeper than 1000"));
    cr_assert_lt(grown, 2 * KIB * KIB, "%zu bytes", grown);
}

/* --- the executor --- */

typedef struct desk {
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_instance_t *inst;
    bf_arena_t arena;
    bf_scope_t scope;
    bf_task_t task;
} desk_t;

static void *claim_and_submit(void *arg)
{
    desk_t *d = arg;
    bf_submit_result_t result;
    bf_instance_begin(d->inst);
    job.rc = bf_executor_claim_in(d->executor, &d->scope, &d->task, &job.err);
    if (job.rc == BF_OK && d->task.node) {
        bf_submit_t submit = {.node = d->task.node, .action = BF_ACTION_FORWARD};
        job.rc = bf_executor_submit_in(d->executor, &d->scope, &submit, BF_GUARD_STRICT,
                                       &result, &job.err);
    }
    job.rc == BF_OK ? bf_instance_commit(d->inst) : bf_instance_rollback(d->inst);
    return NULL;
}

static size_t run_at_desk(desk_t *d)
{
    memset(d, 0, sizeof(*d));
    d->controller = bf_actor_controller_new(NULL, 0);
    d->executor = bf_executor_new(job.engine, d->controller, NULL);
    d->inst = bf_instance_new("i");
    bf_arena_init(&d->arena, 0);
    bf_executor_set_max_steps(d->executor, job.max_steps);
    bf_context_free(job.ctx);
    job.ctx = bf_context_new_borrowing("i", bf_instance_vars(d->inst));
    bf_member_t member = {"actor", 5, bf_value_cstr("u")};
    bf_value_t who = {.type = BF_VALUE_MAP, .len = 1, .as.members = &member};
    bf_context_set_transient(job.ctx, &who);
    d->scope = (bf_scope_t){.inst = d->inst,
                            .graph = bf_engine_graph(job.engine, "g"),
                            .ctx = job.ctx,
                            .arena = &d->arena};
    size_t grown = run(claim_and_submit, d);
    bf_context_set_transient(job.ctx, NULL);
    return grown;
}

static void desk_fini(desk_t *d)
{
    bf_context_free(job.ctx);
    job.ctx = NULL;
    bf_arena_fini(&d->arena);
    bf_instance_free(d->inst);
    bf_executor_free(d->executor);
    bf_controller_free(d->controller);
}

Test(limits, executor__submits_in_front_of_a_chain_of_100000_nodes)
{
    desk_t d;
    load_chain(100000, ",{\"id\":\"t\",\"meta\":{\"actor\":\"u\"}}");
    size_t grown = run_at_desk(&d);
    cr_assert_eq(job.rc, BF_OK, "%s", job.err.text);
    cr_assert_eq(bf_instance_status(d.inst), BF_INSTANCE_COMPLETED);
    cr_assert_eq(bf_instance_state(d.inst, "g:a99999"), BF_TASK_COMPLETED);
    cr_assert_lt(grown, 40 * KIB * KIB, "%zu bytes", grown);
    desk_fini(&d);
}

Test(limits, executor__refuses_a_cycle_and_keeps_nothing)
{
    desk_t d;
    load("{id: g, layout: [{id: s, type: start, link: t}, {id: t, meta: {actor: u},"
         "link: a}, {id: a, link: b}, {id: b, link: a}]}");
    job.max_steps = 50000;
    size_t grown = run_at_desk(&d);
    cr_assert_eq(job.rc, BF_E_STEP_LIMIT, "%s", job.err.text);
    cr_assert_eq(bf_instance_state(d.inst, "g:t"), BF_TASK_UNKNOWN, "undone");
    cr_assert_lt(grown, 80 * KIB * KIB, "%zu bytes", grown);
    desk_fini(&d);
}
