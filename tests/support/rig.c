/*
 * rig.c - an engine, an executor and one instance, for properties over generated graphs
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bf_status_t note(void *arg, bf_context_t *ctx, const bf_node_t *node,
                        bf_err_t *err)
{
    bf_str_t *notes = arg;
    (void)ctx;
    (void)err;
    bf_str_printf(notes, "%s%s", notes->len ? " " : "", node->id);
    return BF_OK;
}

void rig_load(bf_engine_t *engine, const char *layout)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(layout, strlen(layout), "gen", NULL, &graph, &err),
                 BF_OK, "%s\n%s", err.text, layout);
    cr_assert_eq(bf_engine_load(engine, graph, &err), BF_OK);
    bf_graph_unref(graph);
}

void rig_load_all(bf_engine_t *engine, const gen_t *gen)
{
    for (unsigned i = 0; gen_layout(gen, i); i++) {
        rig_load(engine, gen_layout(gen, i));
    }
}

bf_engine_t *rig_engine(bf_str_t *notes)
{
    bf_component_t component = {.run = note, .arg = notes};
    bf_engine_t *engine = bf_engine_new();
    cr_assert_not_null(engine);
    cr_assert_eq(bf_engine_set_component(engine, "note", &component), BF_OK);
    return engine;
}

void rig_init(rig_t *rig, const gen_t *gen)
{
    memset(rig, 0, sizeof(*rig));
    bf_str_init(&rig->notes, 0);
    rig->engine = rig_engine(&rig->notes);
    rig->controller = bf_actor_controller_new(NULL, 0);
    rig->executor = bf_executor_new(rig->engine, rig->controller, NULL);
    rig->inst = bf_instance_new("i");
    rig->ctx = bf_context_new_borrowing("i", bf_instance_vars(rig->inst));
    cr_assert(rig->executor && rig->ctx);
    bf_arena_init(&rig->arena, 0);
    if (gen) {
        rig_load_all(rig->engine, gen);
        bf_instance_begin(rig->inst);
        cr_assert_eq(gen_set_vars(gen, rig->ctx), BF_OK);
        bf_instance_commit(rig->inst);
    }
    bf_executor_set_max_steps(rig->executor, 100000);
    rig->guard = BF_GUARD_STRICT;
    rig->scope = (bf_scope_t){.inst = rig->inst,
                              .graph = bf_engine_graph(rig->engine, "g"),
                              .ctx = rig->ctx,
                              .arena = &rig->arena};
}

void rig_fini(rig_t *rig)
{
    bf_context_free(rig->ctx);
    bf_instance_free(rig->inst);
    bf_executor_free(rig->executor);
    bf_controller_free(rig->controller);
    bf_engine_free(rig->engine);
    bf_arena_fini(&rig->arena);
    bf_str_fini(&rig->notes);
}

void rig_act_as(rig_t *rig, unsigned role)
{
    (void)snprintf(rig->who_name, sizeof(rig->who_name), "r%u", role);
    rig->who_member = (bf_member_t){"actor", 5, bf_value_cstr(rig->who_name)};
    rig->who =
        (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = &rig->who_member};
    bf_context_set_transient(rig->ctx, &rig->who);
}

unsigned rig_role_of(const bf_node_t *node)
{
    const bf_value_t *actor = bf_node_meta(node, "actor");
    return actor ? (unsigned)(actor->as.string[1] - '0') : 0;
}

/* Everything that is stored, and all variables. */
char *rig_dump(rig_t *rig)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_instance_write_states(rig->inst, &str), BF_OK);
    bf_vars_write_json(bf_instance_vars(rig->inst), &str);
    bf_str_printf(&str, " %d", (int)bf_instance_status(rig->inst));
    return bf_str_take(&str, NULL);
}

bf_status_t rig_find_next(rig_t *rig, const bf_task_t **ret, size_t *ret_count)
{
    bf_instance_begin(rig->inst);
    bf_status_t rc =
        bf_executor_find_next_in(rig->executor, &rig->scope, ret, ret_count, &rig->err);
    bf_instance_rollback(rig->inst);
    return rc;
}

bf_status_t rig_claim(rig_t *rig, bf_task_t *ret)
{
    bf_instance_begin(rig->inst);
    bf_status_t rc = bf_executor_claim_in(rig->executor, &rig->scope, ret, &rig->err);
    rc == BF_OK ? bf_instance_commit(rig->inst) : bf_instance_rollback(rig->inst);
    return rc;
}

bf_status_t rig_submit(rig_t *rig, const bf_task_t *task, bf_action_t action,
                       const bf_node_t *target, bf_submit_result_t *ret)
{
    bf_submit_t submit = {
        .node = task->node, .round = task->round, .action = action, .target = target};
    bf_err_clear(&rig->err);
    bf_instance_begin(rig->inst);
    bf_status_t rc = bf_executor_submit_in(rig->executor, &rig->scope, &submit,
                                           rig->guard, ret, &rig->err);
    rc == BF_OK ? bf_instance_commit(rig->inst) : bf_instance_rollback(rig->inst);
    return rc;
}

/* Open tasks as text: "h1 h5#2 ". */
char *rig_open_tasks(rig_t *rig)
{
    const bf_task_t *tasks = NULL;
    size_t count = 0;
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_eq(rig_find_next(rig, &tasks, &count), BF_OK, "%s", rig->err.text);
    for (size_t i = 0; i < count; i++) {
        bf_str_printf(&str, "%s/%s#%u ", tasks[i].node->graph->id, tasks[i].node->id,
                      tasks[i].round);
    }
    char *ret = bf_str_take(&str, NULL);
    return ret ? ret : strdup("");
}

void rig_set(rig_t *rig, const char *name, int64_t value)
{
    bf_value_t number = bf_value_int(value);
    bf_instance_begin(rig->inst);
    cr_assert_eq(bf_context_put_str(rig->ctx, name, &number, &rig->err), BF_OK);
    bf_instance_commit(rig->inst);
}
