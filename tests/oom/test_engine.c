/*
 * test_engine.c - walks, snapshots and the executor on a repository, with every
 * allocation failing once
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/executor.h"
#include "tests/oom/oom.h"

static const char all_kinds[] =
    "id: g\n"
    "layout:\n"
    "  - {id: s, type: start, link: p}\n"
    "  - {id: p, type: parallel, link: [a, i, l, c]}\n"
    "  - {id: a, task: 'x = list.size() + \" items\"', link: j}\n"
    "  - {id: i, type: inclusive, link: [{nextId: b, when: n > 0}, {nextId: d, when: n > "
    "1}]}\n"
    "  - {id: b, link: k}\n"
    "  - {id: d, task: '@interrupt', link: k}\n"
    "  - {id: k, type: inclusive, link: j}\n"
    "  - {id: l, type: loop, meta: {$for: v, $in: list}, link: q}\n"
    "  - {id: q, type: parallel, link: [q1, q2]}\n"
    "  - {id: q1, link: qj}\n"
    "  - {id: q2, task: '@stop', link: qj}\n"
    "  - {id: qj, type: parallel, link: le}\n"
    "  - {id: le, type: loop, link: j}\n"
    "  - {id: c, task: '#sub', link: j}\n"
    "  - {id: j, type: parallel, link: e}\n"
    "  - {id: e, type: end}\n";
static const char sub[] = "id: sub\n"
                          "layout:\n"
                          "  - {id: s, type: start, link: t}\n"
                          "  - {id: t, task: 'z = [x, n]', link: u}\n"
                          "  - {id: u, task: '@interrupt', link: e}\n"
                          "  - {id: e, type: end}\n";

static bf_status_t stop(void *arg, bf_context_t *ctx, const bf_node_t *node,
                        bf_err_t *err)
{
    (void)arg;
    (void)node;
    (void)err;
    const bf_value_t *go = bf_context_get_str(ctx, "go");
    if (!go) {
        bf_context_stop(ctx);
    }
    return BF_OK;
}

static bf_status_t interrupt(void *arg, bf_context_t *ctx, const bf_node_t *node,
                             bf_err_t *err)
{
    (void)arg;
    (void)node;
    (void)err;
    const bf_value_t *go = bf_context_get_str(ctx, "go");
    if (!go || go->type != BF_VALUE_BOOL || !go->as.boolean) {
        bf_context_interrupt(ctx);
    }
    return BF_OK;
}

static void load(bf_engine_t *engine, const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(bf_graph_load_text(text, strlen(text), "t", NULL, &graph, &err) == BF_OK);
    BF_ASSERT(bf_engine_load(engine, graph, &err) == BF_OK);
    bf_graph_unref(graph);
}

static bf_engine_t *new_engine(void)
{
    bf_component_t components[] = {{.run = stop}, {.run = interrupt}};
    bf_engine_t *engine = bf_engine_new();
    BF_ASSERT(engine);
    BF_ASSERT(bf_engine_set_component(engine, "stop", &components[0]) == BF_OK);
    BF_ASSERT(bf_engine_set_component(engine, "interrupt", &components[1]) == BF_OK);
    load(engine, all_kinds);
    load(engine, sub);
    return engine;
}

static void put(bf_context_t *ctx, const char *name, const char *json)
{
    bf_arena_t arena;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    BF_ASSERT(bf_json_parse(&arena, json, strlen(json), NULL, &value, &err) == BF_OK);
    BF_ASSERT(bf_context_put_str(ctx, name, &value, &err) == BF_OK);
    bf_arena_fini(&arena);
}

static void put_unswept(bf_context_t *ctx, const char *name, const char *json)
{
    bf_oom_pause();
    put(ctx, name, json);
    bf_oom_resume();
}

static bf_status_t roundtrip(bf_context_t **ctx, bf_err_t *err)
{
    bf_str_t json;
    bf_context_t *loaded = NULL;
    bf_str_init(&json, 0);
    bf_status_t rc = bf_context_write_json(*ctx, &json, err);
    if (rc == BF_OK) {
        rc = bf_context_load_json(json.data, json.len, &loaded, err);
    }
    if (rc == BF_OK) {
        bf_context_free(*ctx);
        *ctx = loaded;
    }
    bf_str_fini(&json);
    return rc;
}

/* Stopped in a pass of the loop, interrupted in two branches, and to the end. */
static bf_status_t run_walks(void *arg)
{
    (void)arg;
    bf_err_t err = BF_ERR_INIT;
    bf_oom_pause();
    bf_engine_t *engine = new_engine();
    bf_context_t *ctx = bf_context_new("i");
    put(ctx, "n", "2");
    put(ctx, "list", "[\"a\", \"b\"]");
    bf_oom_resume();
    bf_graph_t *graph = bf_engine_graph(engine, "g");
    bf_status_t rc = bf_engine_eval(engine, graph, ctx, NULL, &err);
    rc = rc == BF_OK ? roundtrip(&ctx, &err) : rc;
    put_unswept(ctx, "go", "1");
    rc = rc == BF_OK ? bf_engine_eval(engine, graph, ctx, NULL, &err) : rc;
    rc = rc == BF_OK ? roundtrip(&ctx, &err) : rc;
    put_unswept(ctx, "go", "true");
    rc = rc == BF_OK ? bf_engine_eval(engine, graph, ctx, NULL, &err) : rc;
    BF_ASSERT(rc != BF_OK || bf_context_outcome(ctx) == BF_EVAL_DONE);
    bf_context_free(ctx);
    bf_engine_free(engine);
    return rc;
}

static bf_status_t run_setup(void *arg)
{
    (void)arg;
    bf_err_t err = BF_ERR_INIT;
    bf_component_t component = {.run = stop};
    bf_interceptor_t hook = {.index = 1};
    static const char *const keys[] = {"role", "actor"};
    bf_engine_t *engine = bf_engine_new();
    bf_controller_t *controller = bf_actor_controller_new(keys, 2);
    bf_controller_t *block = bf_block_controller_new();
    bf_driver_t *driver = bf_plain_driver_new("d");
    bf_context_t *ctx = bf_context_new("i");
    bool all = engine && controller && block && driver && ctx;
    bf_status_t rc = all ? BF_OK : BF_E_NOMEM;
    rc = rc == BF_OK ? bf_engine_set_driver(engine, "d", driver) : rc;
    rc = rc == BF_OK ? bf_engine_set_component(engine, "c", &component) : rc;
    rc = rc == BF_OK ? bf_engine_set_component(engine, "c", &component) : rc;
    rc = rc == BF_OK ? bf_engine_add_interceptor(engine, &hook) : rc;
    bf_oom_pause();
    bf_graph_t *graph = NULL;
    BF_ASSERT(bf_graph_load_text(sub, strlen(sub), "t", NULL, &graph, &err) == BF_OK);
    bf_oom_resume();
    rc = rc == BF_OK ? bf_engine_load(engine, graph, &err) : rc;
    for (int i = 0; i < 6 && rc == BF_OK; i++) {
        static const char *const ids[] = {"a", "b", "c", "d", "e", "f"};
        rc = bf_context_trace_set(ctx, ids[i], "n");
    }
    bf_graph_unref(graph);
    bf_context_free(ctx);
    bf_engine_free(engine);
    bf_plain_driver_free(driver);
    bf_controller_free(block);
    bf_controller_free(controller);
    return rc;
}

/* --- the executor on a repository --- */

static const char tasks[] =
    "id: t\n"
    "layout:\n"
    "  - {id: s, type: start, link: a}\n"
    "  - {id: a, meta: {actor: amy}, task: 'n = n + 1', link: x}\n"
    "  - {id: x, type: exclusive, link: [{nextId: p, when: n > 0}, {nextId: e}]}\n"
    "  - {id: p, type: parallel, link: [b, c]}\n"
    "  - {id: b, meta: {actor: amy}, link: j}\n"
    "  - {id: c, meta: {actor: amy}, link: j}\n"
    "  - {id: j, type: parallel, link: d}\n"
    "  - {id: d, meta: {actor: amy}, link: e}\n"
    "  - {id: e, type: end}\n";

typedef struct deed {
    const char *node; /* NULL = claim */
    bf_action_t action;
} deed_t;

/* Forward, back over the join, a jump each way, the end, and once more from the start. */
static const deed_t deeds[] = {
    {NULL, BF_ACTION_UNKNOWN},  {"a", BF_ACTION_FORWARD},
    {"b", BF_ACTION_FORWARD},   {"c", BF_ACTION_FORWARD},
    {"d", BF_ACTION_BACK},      {"d", BF_ACTION_FORWARD_JUMP},
    {"a", BF_ACTION_BACK_JUMP}, {"e", BF_ACTION_FORWARD_JUMP},
    {"a", BF_ACTION_RESTART},   {"a", BF_ACTION_TERMINATE},
};

static bf_status_t note(void *arg, const bf_history_t *row, bf_err_t *err)
{
    (void)arg;
    (void)row;
    (void)err;
    return BF_OK;
}

static bf_status_t do_deed(bf_executor_t *executor, bf_graph_t *graph, bf_context_t *ctx,
                           const deed_t *deed)
{
    bf_err_t err = BF_ERR_INIT;
    bf_task_t task = {0};
    if (!deed->node) {
        return bf_executor_claim_task(executor, graph, ctx, &task, &err);
    }
    bf_submit_t submit = {.node = bf_graph_node(graph, deed->node),
                          .action = deed->action};
    return bf_executor_submit_task(executor, graph, &submit, ctx, &err);
}

static char *states_of(bf_repository_t *repo)
{
    bf_instance_t *inst = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t str;
    bf_str_init(&str, 0);
    BF_ASSERT(repo->ops->open(repo, "i", &inst, &err) == BF_OK);
    BF_ASSERT(bf_instance_write_states(inst, &str) == BF_OK);
    bf_vars_write_json(bf_instance_vars(inst), &str);
    bf_str_printf(&str, "%d", (int)bf_instance_status(inst));
    return bf_str_take(&str, NULL);
}

/* One deed is swept; those before it are done without failures. */
static bf_status_t run_deed(void *arg)
{
    const deed_t *deed = arg;
    bf_oom_pause();
    bf_engine_t *engine = new_engine();
    load(engine, tasks);
    bf_controller_t *controller = bf_actor_controller_new(NULL, 0);
    bf_repository_t *repo = bf_memory_repository_new();
    bf_executor_t *executor = bf_executor_new(engine, controller, repo);
    bf_context_t *ctx = bf_context_new("i");
    bf_graph_t *graph = bf_engine_graph(engine, "t");
    BF_ASSERT(controller && repo && executor && ctx);
    bf_executor_set_recorder(executor, note, NULL);
    put(ctx, "actor", "\"amy\"");
    put(ctx, "n", "0");
    for (const deed_t *before = deeds; before < deed; before++) {
        BF_ASSERT(do_deed(executor, graph, ctx, before) == BF_OK);
    }
    char *old = states_of(repo);
    bf_oom_resume();
    bf_status_t rc = do_deed(executor, graph, ctx, deed);
    bf_oom_pause();
    char *now = states_of(repo);
    BF_ASSERT(rc == BF_OK || !strcmp(old, now));
    free(old);
    free(now);
    bf_context_free(ctx);
    bf_executor_free(executor);
    bf_repository_free(repo);
    bf_controller_free(controller);
    bf_engine_free(engine);
    bf_oom_resume();
    return rc;
}

int main(void)
{
    bf_oom_sweep("engine set-up", run_setup, NULL);
    bf_oom_sweep("walks", run_walks, NULL);
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        bf_oom_sweep(deeds[i].node ? bf_action_name(deeds[i].action) : "claim", run_deed,
                     (void *)(uintptr_t)&deeds[i]);
    }
    return bf_oom_result();
}
