/*
 * test_executor.c - one executor, several threads (the seed's LOCKER, rule 126)
 *
 * Every thread drives an instance of its own, and all of them try to submit the same task
 * of a shared one: exactly one of them may succeed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/executor.h"

#define THREADS 4
#define ROUNDS  50

static const char text[] = "id: g\n"
                           "layout:\n"
                           "  - {id: s, type: start, link: a}\n"
                           "  - {id: a, meta: {actor: amy}, task: 'n = n + 1', link: b}\n"
                           "  - {id: b, meta: {actor: amy}, link: e}\n"
                           "  - {id: e, type: end}\n";

static bf_executor_t *executor;
static bf_graph_t *graph;
static atomic_int accepted;

static void put(bf_context_t *ctx, const char *name, bf_value_t value)
{
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_context_put_str(ctx, name, &value, &err) == BF_OK);
}

static bf_context_t *context_of(const char *instance)
{
    bf_context_t *ctx = bf_context_new(instance);
    BF_ASSERT(ctx);
    put(ctx, "actor", bf_value_cstr("amy"));
    return ctx;
}

static bf_status_t submit(bf_context_t *ctx, const char *node)
{
    bf_err_t err = BF_ERR_INIT;
    bf_submit_t what = {.node = bf_graph_node(graph, node), .action = BF_ACTION_FORWARD};
    return bf_executor_submit_task(executor, graph, &what, ctx, &err);
}

static void drive_own(unsigned thread, unsigned round)
{
    char id[32];
    bf_task_t task;
    bf_err_t err = BF_ERR_INIT;
    (void)snprintf(id, sizeof(id), "own-%u-%u", thread, round);
    bf_context_t *ctx = context_of(id);
    put(ctx, "n", bf_value_int(0));
    BF_ASSERT(bf_executor_claim_task(executor, graph, ctx, &task, &err) == BF_OK);
    BF_ASSERT(task.node && !strcmp(task.node->id, "a"));
    BF_ASSERT(submit(ctx, "a") == BF_OK);
    BF_ASSERT(submit(ctx, "b") == BF_OK);
    BF_ASSERT(bf_executor_claim_task(executor, graph, ctx, &task, &err) == BF_OK);
    BF_ASSERT(!task.node && bf_context_is_end(ctx, NULL));
    bf_context_free(ctx);
}

static void *run(void *arg)
{
    unsigned thread = *(const unsigned *)arg;
    char id[32];
    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)snprintf(id, sizeof(id), "shared-%u", i);
        bf_context_t *ctx = context_of(id);
        bf_status_t rc = submit(ctx, "a");
        BF_ASSERT(rc == BF_OK || rc == BF_E_REJECTED);
        (void)atomic_fetch_add(&accepted, rc == BF_OK ? 1 : 0);
        bf_context_free(ctx);
        drive_own(thread, i);
    }
    return NULL;
}

int main(void)
{
    bf_err_t err = BF_ERR_INIT;
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    bf_engine_t *engine = bf_engine_new();
    bf_controller_t *controller = bf_actor_controller_new(NULL, 0);
    bf_repository_t *repo = bf_memory_repository_new();
    BF_ASSERT(engine && controller && repo);
    BF_ASSERT(bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err) == BF_OK);
    BF_ASSERT(bf_engine_load(engine, graph, &err) == BF_OK);
    executor = bf_executor_new(engine, controller, repo);
    BF_ASSERT(executor);
    bf_executor_set_thread_safe(executor, true);
    for (unsigned i = 0; i < ROUNDS; i++) {
        char id[32];
        (void)snprintf(id, sizeof(id), "shared-%u", i);
        bf_context_t *ctx = context_of(id);
        put(ctx, "n", bf_value_int(0));
        bf_task_t task;
        BF_ASSERT(bf_executor_claim_task(executor, graph, ctx, &task, &err) == BF_OK);
        bf_context_free(ctx);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        BF_ASSERT(!pthread_create(&threads[i], NULL, run, &numbers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        BF_ASSERT(!pthread_join(threads[i], NULL));
    }
    int count = atomic_load(&accepted);
    printf("shared tasks submitted: %d of %d\n", count, ROUNDS);
    bf_executor_free(executor);
    bf_repository_free(repo);
    bf_controller_free(controller);
    bf_engine_free(engine);
    bf_graph_unref(graph);
    return count == ROUNDS ? 0 : 1;
}
