/*
 * desk.c - an executor on an in-memory repository, for tests of tasks
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/desk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bf_status_t note(void *arg, bf_context_t *ctx, const bf_node_t *node,
                        bf_err_t *err)
{
    desk_t *desk = arg;
    (void)ctx;
    (void)err;
    bf_str_printf(&desk->runs, "%s%s", desk->runs.len ? " " : "", node->id);
    return BF_OK;
}

static bf_status_t wait_for_go(void *arg, bf_context_t *ctx, const bf_node_t *node,
                               bf_err_t *err)
{
    const bf_value_t *go = bf_context_get_str(ctx, "go");
    if (!go || !bf_expr_is_true(go)) {
        bf_context_interrupt(ctx);
    }
    return note(arg, ctx, node, err);
}

static bf_status_t fail(void *arg, bf_context_t *ctx, const bf_node_t *node,
                        bf_err_t *err)
{
    (void)arg;
    (void)ctx;
    return bf_err_set(err, BF_E_IO, "no paper in %s", node->id);
}

static bf_status_t record(void *arg, const bf_history_t *row, bf_err_t *err)
{
    desk_t *desk = arg;
    (void)err;
    bf_str_printf(&desk->rows, "%s%s>%s:%d", desk->rows.len ? " " : "", row->source.code,
                  row->target.code, (int)row->status);
    return BF_OK;
}

static void build_executor(desk_t *desk)
{
    bf_executor_free(desk->executor);
    desk->executor = bf_executor_new(desk->engine, desk->controller, desk->repo);
    cr_assert_not_null(desk->executor);
    bf_executor_set_recorder(desk->executor, record, desk);
}

void desk_init(desk_t *desk)
{
    memset(desk, 0, sizeof(*desk));
    desk->engine = bf_engine_new();
    desk->controller = bf_actor_controller_new(NULL, 0);
    desk->repo = bf_memory_repository_new();
    desk->instance_id = "i-1";
    cr_assert(desk->engine && desk->controller && desk->repo);
    bf_str_init(&desk->runs, 0);
    bf_str_init(&desk->rows, 0);
    build_executor(desk);
    const bf_component_t components[] = {
        {.run = note, .arg = desk}, {.run = wait_for_go, .arg = desk}, {.run = fail}};
    static const char *const names[] = {"note", "wait", "fail"};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(bf_engine_set_component(desk->engine, names[i], &components[i]),
                     BF_OK);
    }
}

void desk_fini(desk_t *desk)
{
    for (int i = 0; i < DESK_PEOPLE; i++) {
        bf_context_free(desk->people[i].ctx);
    }
    bf_executor_free(desk->executor);
    bf_repository_free(desk->repo);
    bf_controller_free(desk->controller);
    bf_engine_free(desk->engine);
    bf_str_fini(&desk->runs);
    bf_str_fini(&desk->rows);
}

void desk_use(desk_t *desk, bf_controller_t *controller)
{
    cr_assert_not_null(controller);
    bf_controller_free(desk->controller);
    desk->controller = controller;
    build_executor(desk);
}

bf_graph_t *desk_load(desk_t *desk, const char *text)
{
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "test", NULL, &desk->graph, &err),
                 BF_OK, "%s", err.text);
    cr_assert_eq(bf_engine_load(desk->engine, desk->graph, &err), BF_OK, "%s", err.text);
    bf_graph_unref(desk->graph);
    return desk->graph;
}

bf_context_t *desk_of(desk_t *desk, const char *name)
{
    int i = 0;
    while (
        i < DESK_PEOPLE && desk->people[i].ctx &&
        (strcmp(desk->people[i].name, name) != 0 ||
         strcmp(bf_context_instance_id(desk->people[i].ctx), desk->instance_id) != 0)) {
        i++;
    }
    cr_assert_lt(i, DESK_PEOPLE, "too many people");
    if (!desk->people[i].ctx) {
        bf_err_t err = BF_ERR_INIT;
        bf_value_t actor = bf_value_cstr(name);
        desk->people[i].name = name;
        desk->people[i].ctx = bf_context_new(desk->instance_id);
        cr_assert_not_null(desk->people[i].ctx);
        if (*name) {
            cr_assert_eq(bf_context_put_str(desk->people[i].ctx, "actor", &actor, &err),
                         BF_OK);
        }
    }
    return desk->people[i].ctx;
}

void desk_set(desk_t *desk, const char *name, const char *variable, const char *json)
{
    bf_arena_t arena;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    cr_assert_eq(bf_json_parse(&arena, json, strlen(json), NULL, &value, &err), BF_OK);
    cr_assert_eq(bf_context_put_str(desk_of(desk, name), variable, &value, &err), BF_OK);
    bf_arena_fini(&arena);
}

static void write_task(const desk_t *desk, const bf_task_t *task, bf_str_t *str)
{
    if (!task->node) {
        return;
    }
    bf_str_puts(str, str->len ? " " : "");
    if (task->node->graph != desk->graph) {
        bf_str_printf(str, "%s/", task->node->graph->id);
    }
    bf_str_puts(str, task->node->id);
    if (task->round > 1) {
        bf_str_printf(str, "#%u", task->round);
    }
    bf_str_printf(str, ":%d", (int)task->state);
}

static const char *keep(desk_t *desk, bf_str_t *str)
{
    (void)snprintf(desk->text, sizeof(desk->text), "%s", bf_str_peek(str));
    bf_str_fini(str);
    return desk->text;
}

const char *desk_claim(desk_t *desk, const char *name)
{
    bf_task_t task = {0};
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_err_clear(&desk->err);
    cr_assert_eq(bf_executor_claim_task(desk->executor, desk->graph, desk_of(desk, name),
                                        &task, &desk->err),
                 BF_OK, "%s", desk->err.text);
    write_task(desk, &task, &str);
    return keep(desk, &str);
}

const char *desk_find(desk_t *desk, const char *name)
{
    bf_task_t task = {0};
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_err_clear(&desk->err);
    cr_assert_eq(bf_executor_find_task(desk->executor, desk->graph, desk_of(desk, name),
                                       &task, &desk->err),
                 BF_OK, "%s", desk->err.text);
    write_task(desk, &task, &str);
    return keep(desk, &str);
}

const char *desk_find_next(desk_t *desk, const char *name)
{
    bf_arena_t arena;
    bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_arena_init(&arena, 0);
    bf_err_clear(&desk->err);
    cr_assert_eq(bf_executor_find_next_tasks(desk->executor, desk->graph,
                                             desk_of(desk, name), &arena, &tasks, &count,
                                             &desk->err),
                 BF_OK, "%s", desk->err.text);
    for (size_t i = 0; i < count; i++) {
        write_task(desk, &tasks[i], &str);
    }
    bf_arena_fini(&arena);
    return keep(desk, &str);
}

static const bf_node_t *find_node(const desk_t *desk, const char *node)
{
    const char *slash = strchr(node, '/');
    const bf_graph_t *graph = desk->graph;
    if (slash) {
        char id[64];
        (void)snprintf(id, sizeof(id), "%.*s", (int)(slash - node), node);
        graph = bf_engine_graph(desk->engine, id);
        node = slash + 1;
    }
    const bf_node_t *found = graph ? bf_graph_node(graph, node) : NULL;
    cr_assert_not_null(found, "no node %s", node);
    return found;
}

bf_status_t desk_try(desk_t *desk, const char *name, const char *node, bf_action_t action)
{
    bf_submit_t submit = {.node = find_node(desk, node), .action = action};
    bf_err_clear(&desk->err);
    return bf_executor_submit_task(desk->executor, desk->graph, &submit,
                                   desk_of(desk, name), &desk->err);
}

void desk_submit(desk_t *desk, const char *name, const char *node, bf_action_t action)
{
    cr_assert_eq(desk_try(desk, name, node, action), BF_OK, "%s: %s", node,
                 desk->err.text);
}

void desk_forward(desk_t *desk, const char *name, const char *node)
{
    desk_submit(desk, name, node, BF_ACTION_FORWARD);
}

void desk_refused(desk_t *desk, const char *name, const char *node, bf_action_t action,
                  bf_code_t code)
{
    char before[DESK_TEXT];
    (void)snprintf(before, sizeof(before), "%s", desk_states(desk));
    bf_instance_status_t status = desk_status(desk);
    cr_expect_eq(desk_try(desk, name, node, action), BF_E_REJECTED, "%s: %s", node,
                 desk->err.text);
    cr_expect_eq(bf_executor_code(desk->executor), code, "%s: %s",
                 bf_code_name(bf_executor_code(desk->executor)), desk->err.text);
    cr_expect_str_eq(desk_states(desk), before, "nothing changes");
    cr_expect_eq(desk_status(desk), status);
}

bf_instance_t *desk_instance(desk_t *desk)
{
    bf_instance_t *inst = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(desk->repo->ops->open(desk->repo, desk->instance_id, &inst, &err),
                 BF_OK);
    return inst;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *desk_states(desk_t *desk)
{
    const char *keys[128];
    size_t count = 0;
    size_t cursor = 0;
    bf_task_state_t state;
    const bf_instance_t *inst = desk_instance(desk);
    while (count < 128 && bf_instance_state_next(inst, &cursor, &keys[count], &state)) {
        count++;
    }
    qsort(keys, count, sizeof(keys[0]), by_text);
    bf_str_t str;
    bf_str_init(&str, 0);
    size_t own = strlen(desk->graph->id);
    for (size_t i = 0; i < count; i++) {
        bool is_own = !strncmp(keys[i], desk->graph->id, own) && keys[i][own] == ':';
        bf_str_printf(&str, "%s%s:%d", i ? " " : "", is_own ? keys[i] + own + 1 : keys[i],
                      (int)bf_instance_state(inst, keys[i]));
    }
    return keep(desk, &str);
}

bf_instance_status_t desk_status(desk_t *desk)
{
    return bf_instance_status(desk_instance(desk));
}

const char *desk_rows(desk_t *desk)
{
    (void)snprintf(desk->text, sizeof(desk->text), "%s", bf_str_peek(&desk->rows));
    bf_str_clear(&desk->rows);
    return desk->text;
}
