/*
 * test_properties.c - what must hold for any graph, on generated ones
 *
 * Each property runs over many seeds, always the same ones (property.h: how to run more
 * or one).  A failing case prints its seed and the smallest size that still fails, with
 * the graphs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/property.h"
#include "tests/support/rig.h"

#define CASES 1500

static char text[8192];

#define FAIL_IF(cond, ...)                                                               \
    do {                                                                                 \
        if (cond) {                                                                      \
            (void)snprintf(text, sizeof(text), __VA_ARGS__);                             \
            goto out;                                                                    \
        }                                                                                \
    } while (0)

static gen_t *new_gen(const gen_options_t *options)
{
    gen_t *gen = gen_new(options);
    for (unsigned i = 0; gen_layout(gen, i); i++) {
        property_graph(gen_layout(gen, i));
    }
    return gen;
}

static char *new_wild(const gen_wild_t *wild)
{
    char *layout = gen_wild(wild);
    property_graph(layout);
    return layout;
}

static void check(property_sized_fn property, const char *name)
{
    (void)property_check_sized(property, CASES, name);
}

/* --- walks --- */

static bf_status_t visit(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                         bf_err_t *err)
{
    bf_str_t *visits = arg;
    (void)ex;
    (void)err;
    bf_str_printf(visits, "%s%s", visits->len ? " " : "", node->id);
    return BF_OK;
}

static const char *walks_as_expected(uint64_t seed, unsigned size)
{
    gen_options_t options = {.seed = seed, .size = size, .with_calls = true};
    gen_t *gen = new_gen(&options);
    bf_str_t visits;
    bf_str_t expected;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&visits, 0);
    bf_str_init(&expected, 0);
    bf_engine_t *engine = rig_engine(&expected); /* notes are not looked at */
    bf_context_t *ctx = bf_context_new("i");
    bf_interceptor_t hook = {.on_node_start = visit, .arg = &visits};
    text[0] = '\0';
    cr_assert_eq(bf_engine_add_interceptor(engine, &hook), BF_OK);
    rig_load_all(engine, gen);
    cr_assert_eq(gen_set_vars(gen, ctx), BF_OK);
    bf_eval_options_t eval = {.steps = -1, .max_steps = 1000000};
    bf_status_t rc =
        bf_engine_eval(engine, bf_engine_graph(engine, "g"), ctx, &eval, &err);
    bf_str_clear(&expected);
    gen_expect(gen, &expected);
    FAIL_IF(rc != BF_OK, "status %d: %s", rc, err.text);
    FAIL_IF(strcmp(bf_str_peek(&visits), bf_str_peek(&expected)) != 0,
            "visited\n%s\nnot\n%s", bf_str_peek(&visits), bf_str_peek(&expected));
    FAIL_IF(bf_context_outcome(ctx) != BF_EVAL_DONE || !bf_context_is_end(ctx, NULL),
            "not done");
out:
    bf_context_free(ctx);
    bf_engine_free(engine);
    bf_str_fini(&visits);
    bf_str_fini(&expected);
    gen_free(gen);
    return text;
}

Test(properties, walk__visits_what_the_structure_says)
{
    check(walks_as_expected, "walk");
}

static bf_context_t *roundtrip(bf_context_t *ctx)
{
    bf_str_t json;
    bf_context_t *loaded = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&json, 0);
    cr_assert_eq(bf_context_write_json(ctx, &json, &err), BF_OK);
    cr_assert_eq(bf_context_load_json(json.data, json.len, &loaded, &err), BF_OK,
                 "%s\n%s", err.text, json.data);
    bf_str_fini(&json);
    bf_context_free(ctx);
    return loaded;
}

/* A few steps at a time, through a snapshot each time, visits the same nodes. */
static const char *steps_lead_the_same_way(uint64_t seed, unsigned size)
{
    gen_options_t options = {.seed = seed, .size = size};
    gen_t *gen = new_gen(&options);
    bf_str_t visits;
    bf_str_t expected;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&visits, 0);
    bf_str_init(&expected, 0);
    bf_engine_t *engine = rig_engine(&expected);
    bf_context_t *ctx = bf_context_new("i");
    bf_interceptor_t hook = {.on_node_start = visit, .arg = &visits};
    text[0] = '\0';
    cr_assert_eq(bf_engine_add_interceptor(engine, &hook), BF_OK);
    rig_load_all(engine, gen);
    cr_assert_eq(gen_set_vars(gen, ctx), BF_OK);
    uint64_t state = seed + 99;
    bf_graph_t *graph = bf_engine_graph(engine, "g");
    bf_eval_outcome_t outcome = BF_EVAL_NONE;
    for (int i = 0; i < 100000 && outcome != BF_EVAL_DONE; i++) {
        bf_eval_options_t eval = {.steps = 1 + (int64_t)(gen_random(&state) % 4)};
        bf_status_t rc = bf_engine_eval(engine, graph, ctx, &eval, &err);
        FAIL_IF(rc != BF_OK, "status %d: %s", rc, err.text);
        outcome = bf_context_outcome(ctx);
        ctx = roundtrip(ctx);
    }
    bf_str_clear(&expected);
    gen_expect(gen, &expected);
    FAIL_IF(strcmp(bf_str_peek(&visits), bf_str_peek(&expected)) != 0,
            "visited\n%s\nnot\n%s", bf_str_peek(&visits), bf_str_peek(&expected));
out:
    bf_context_free(ctx);
    bf_engine_free(engine);
    bf_str_fini(&visits);
    bf_str_fini(&expected);
    gen_free(gen);
    return text;
}

Test(properties, steps__visit_the_same_nodes_as_one_walk)
{
    check(steps_lead_the_same_way, "steps");
}

/* Any links between any nodes: it ends, and says how. */
static const char *wild_walks_end(uint64_t seed, unsigned size)
{
    char *layout = new_wild(&(gen_wild_t){.seed = seed, .size = size, .id = "g"});
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_engine_t *engine = bf_engine_new();
    bf_context_t *ctx = bf_context_new("i");
    bf_value_t zero = bf_value_int(0);
    bf_eval_options_t eval = {.steps = -1, .max_steps = 2000};
    text[0] = '\0';
    bf_status_t rc =
        bf_graph_load_text(layout, strlen(layout), "wild", NULL, &graph, &err);
    FAIL_IF(rc != BF_OK, "not loaded: %s", err.text);
    cr_assert_eq(bf_context_put_str(ctx, "n", &zero, &err), BF_OK);
    rc = bf_engine_eval(engine, graph, ctx, &eval, &err);
    FAIL_IF(rc != BF_OK && rc != BF_E_STEP_LIMIT && rc != BF_E_NO_ROUTE &&
                rc != BF_E_LIMIT,
            "status %d: %s", rc, err.text);
    FAIL_IF(rc == BF_OK && bf_context_outcome(ctx) != BF_EVAL_DONE,
            "nothing was interrupted, but something waits");
    ctx = roundtrip(ctx);
    bf_err_clear(&err);
    rc = bf_engine_eval(engine, graph, ctx, &eval, &err);
    FAIL_IF(rc != BF_OK && rc != BF_E_STEP_LIMIT && rc != BF_E_NO_ROUTE &&
                rc != BF_E_LIMIT,
            "again: status %d: %s", rc, err.text);
out:
    free(layout);
    bf_context_free(ctx);
    bf_graph_unref(graph);
    bf_engine_free(engine);
    return text;
}

Test(properties, wild_graphs__never_hang_and_no_join_is_forgotten)
{
    check(wild_walks_end, "wild");
}

/* --- work --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The words of a text in order: what was done, whatever the order was. */
static char *sorted(const char *words)
{
    static char copy[65536];
    const char *list[8192];
    size_t count = 0;
    bf_str_t str;
    bf_str_init(&str, 0);
    (void)snprintf(copy, sizeof(copy), "%s", words);
    for (char *p = copy; *p && count < 8192;) {
        list[count++] = p;
        p += strcspn(p, " ");
        p += *p ? (*p = '\0', 1) : 0;
    }
    qsort(list, count, sizeof(list[0]), by_text);
    for (size_t i = 0; i < count; i++) {
        bf_str_printf(&str, "%s ", list[i]);
    }
    char *ret = bf_str_take(&str, NULL);
    return ret ? ret : strdup("");
}

/* Claim by the one whose task is asked for, then submit: until nothing is open. */
static const char *work_is_done_once(uint64_t seed, unsigned size)
{
    gen_options_t options = {
        .seed = seed, .size = size, .with_tasks = true, .with_calls = true};
    gen_t *gen = new_gen(&options);
    rig_t rig;
    bf_str_t expected;
    uint64_t state = seed + 5;
    char *want = NULL;
    char *got = NULL;
    char *before = NULL;
    char *after = NULL;
    bf_str_init(&expected, 0);
    text[0] = '\0';
    rig_init(&rig, gen);
    for (int i = 0; bf_instance_status(rig.inst) == BF_INSTANCE_RUNNING; i++) {
        const bf_task_t *tasks = NULL;
        size_t count = 0;
        bf_task_t task = {0};
        bf_submit_result_t result = {0};
        bf_arena_clear(&rig.arena);
        rig_act_as(&rig, (unsigned)(gen_random(&state) >> 40) % GEN_ROLES);
        FAIL_IF(i > 3000, "no end in sight");
        free(before);
        free(after);
        before = rig_dump(&rig);
        bf_status_t rc = rig_find_next(&rig, &tasks, &count);
        after = rig_dump(&rig);
        FAIL_IF(rc != BF_OK, "find_next: %d %s", rc, rig.err.text);
        FAIL_IF(strcmp(before, after) != 0, "find_next changed\n%s\nto\n%s", before,
                after);
        if (count) {
            rig_act_as(&rig, rig_role_of(tasks[(gen_random(&state) >> 40) % count].node));
        }
        rc = rig_claim(&rig, &task);
        FAIL_IF(rc != BF_OK, "claim: %d %s", rc, rig.err.text);
        FAIL_IF(count && !task.node, "claim found nothing, find_next found %zu", count);
        FAIL_IF(!count && bf_instance_status(rig.inst) == BF_INSTANCE_RUNNING,
                "nothing is open, but the instance is not completed");
        if (task.node) {
            rc = rig_submit(&rig, &task, BF_ACTION_FORWARD, NULL, &result);
            FAIL_IF(rc != BF_OK, "submit %s: %d %s", task.node->id, rc, rig.err.text);
            FAIL_IF(!result.target_count, "submit of %s led to nothing", task.node->id);
        }
    }
    gen_expect_notes(gen, &expected);
    want = sorted(bf_str_peek(&expected));
    got = sorted(bf_str_peek(&rig.notes));
    FAIL_IF(strcmp(want, got) != 0, "done:\n%s\nnot\n%s", got, want);
out:
    free(want);
    free(got);
    free(before);
    free(after);
    bf_str_fini(&expected);
    rig_fini(&rig);
    gen_free(gen);
    return text;
}

Test(properties, work__every_task_is_done_once_and_the_end_is_reached)
{
    check(work_is_done_once, "work");
}

/* A forward that opened one task without passing a join, and then back: the same tasks
 * are open as before. */
static const char *back_undoes_forward(uint64_t seed, unsigned size)
{
    gen_options_t options = {.seed = seed, .size = size, .with_tasks = true};
    gen_t *gen = new_gen(&options);
    rig_t rig;
    uint64_t state = seed + 31;
    char *before = NULL;
    char *after = NULL;
    text[0] = '\0';
    rig_init(&rig, gen);
    for (int i = 0; i < 200 && bf_instance_status(rig.inst) == BF_INSTANCE_RUNNING; i++) {
        const bf_task_t *tasks = NULL;
        size_t count = 0;
        bf_submit_result_t result = {0};
        bf_arena_clear(&rig.arena);
        cr_assert_eq(rig_find_next(&rig, &tasks, &count), BF_OK);
        if (!count) {
            break;
        }
        bf_task_t task = tasks[(gen_random(&state) >> 40) % count];
        rig_act_as(&rig, rig_role_of(task.node));
        free(before);
        free(after);
        before = rig_open_tasks(&rig);
        after = NULL;
        bf_status_t rc = rig_submit(&rig, &task, BF_ACTION_FORWARD, NULL, &result);
        FAIL_IF(rc != BF_OK, "submit %s: %d %s", task.node->id, rc, rig.err.text);
        bf_task_t next = result.target_count == 1 ? result.targets[0] : task;
        if (result.target_count != 1 || next.node->type == BF_NODE_END ||
            next.node->type == BF_NODE_PARALLEL || next.node->type == BF_NODE_INCLUSIVE ||
            next.node == task.node) {
            continue;
        }
        rig_act_as(&rig, rig_role_of(next.node));
        rc = rig_submit(&rig, &next, BF_ACTION_BACK, NULL, &result);
        FAIL_IF(rc != BF_OK, "back %s: %d %s", next.node->id, rc, rig.err.text);
        bool one_way = result.target_count == 1 && result.targets[0].node == task.node &&
                       result.targets[0].round == task.round;
        after = rig_open_tasks(&rig);
        FAIL_IF(one_way && strcmp(before, after) != 0,
                "%s, then back from %s: open\n%s\nnot\n%s", task.node->id, next.node->id,
                after, before);
        /* go on from there */
        for (size_t k = 0; k < result.target_count; k++) {
            bf_task_t again = result.targets[k];
            bf_submit_result_t ignored;
            rig_act_as(&rig, rig_role_of(again.node));
            rc = rig_submit(&rig, &again, BF_ACTION_FORWARD, NULL, &ignored);
            FAIL_IF(rc != BF_OK, "again %s: %d %s", again.node->id, rc, rig.err.text);
        }
    }
out:
    free(before);
    free(after);
    rig_fini(&rig);
    gen_free(gen);
    return text;
}

Test(properties, back__undoes_forward)
{
    check(back_undoes_forward, "back");
}

/* Any command by anybody on anything: it is accepted or says why not; what is stored
 * loads again and behaves the same. */
static const char *random_commands_are_safe(uint64_t seed, unsigned size)
{
    static const bf_action_t actions[] = {BF_ACTION_FORWARD,   BF_ACTION_FORWARD,
                                          BF_ACTION_FORWARD,   BF_ACTION_BACK,
                                          BF_ACTION_BACK,      BF_ACTION_FORWARD_JUMP,
                                          BF_ACTION_BACK_JUMP, BF_ACTION_RESTART};
    char *layout = new_wild(
        &(gen_wild_t){.seed = seed, .size = size, .id = "g", .with_tasks = true});
    rig_t rig;
    uint64_t state = seed + 77;
    char *before = NULL;
    char *after = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_value_t zero = bf_value_int(0);
    text[0] = '\0';
    rig_init(&rig, NULL);
    rig_load(rig.engine, layout);
    rig.scope.graph = bf_engine_graph(rig.engine, "g");
    bf_executor_set_max_steps(rig.executor, 300);
    bf_instance_begin(rig.inst);
    cr_assert_eq(bf_context_put_str(rig.ctx, "n", &zero, &err), BF_OK);
    bf_instance_commit(rig.inst);
    for (int i = 0; i < 25; i++) {
        bf_submit_result_t result = {0};
        bf_task_t task = {.round = 0};
        bf_arena_clear(&rig.arena);
        rig_act_as(&rig, (unsigned)(gen_random(&state) >> 40) % GEN_ROLES);
        bf_err_clear(&rig.err);
        bf_status_t rc = rig_claim(&rig, &task);
        FAIL_IF(rc != BF_OK && rc != BF_E_STEP_LIMIT && rc != BF_E_NO_ROUTE &&
                    rc != BF_E_LIMIT,
                "claim: %d %s", rc, rig.err.text);
        if (!task.node || (gen_random(&state) >> 40) % 4 == 0) {
            uint32_t any = (uint32_t)(gen_random(&state) >> 33);
            task.node = &rig.scope.graph->nodes[any % rig.scope.graph->node_count];
            task.round = 0;
        }
        free(before);
        free(after);
        before = rig_dump(&rig);
        rc = rig_submit(&rig, &task, actions[(gen_random(&state) >> 40) % 8], NULL,
                        &result);
        after = rig_dump(&rig);
        FAIL_IF(rc != BF_OK && !rig.err.text[0], "status %d without a word", rc);
        FAIL_IF(rc != BF_OK && strcmp(before, after) != 0,
                "refused (%s), but changed\n%s\nto\n%s", rig.err.text, before, after);
        FAIL_IF(rc == BF_OK && !result.target_count, "led to nothing");
    }
out:
    free(layout);
    free(before);
    free(after);
    rig_fini(&rig);
    return text;
}

Test(properties, random_commands__are_atomic)
{
    check(random_commands_are_safe, "commands");
}

/* The row of an instance, loaded into another one, goes on in the same way. */
static const char *stored_behaves_the_same(uint64_t seed, unsigned size)
{
    gen_options_t options = {
        .seed = seed, .size = size, .with_tasks = true, .with_calls = true};
    gen_t *gen = new_gen(&options);
    rig_t a;
    rig_t b;
    uint64_t state = seed + 3;
    char *mine = NULL;
    char *theirs = NULL;
    text[0] = '\0';
    rig_init(&a, gen);
    rig_init(&b, gen);
    for (int i = 0; i < 60 && bf_instance_status(a.inst) == BF_INSTANCE_RUNNING; i++) {
        bf_task_t task = {0};
        bf_submit_result_t result = {0};
        bf_instance_row_t row;
        unsigned role = (unsigned)(gen_random(&state) >> 40) % GEN_ROLES;
        bf_arena_clear(&a.arena);
        bf_arena_clear(&b.arena);
        rig_act_as(&a, role);
        cr_assert_eq(rig_claim(&a, &task), BF_OK, "%s", a.err.text);
        if (task.node) {
            cr_assert_eq(rig_submit(&a, &task, BF_ACTION_FORWARD, NULL, &result), BF_OK);
        }
        cr_assert_eq(bf_instance_write_row(a.inst, &b.arena, &row, &a.err), BF_OK);
        bf_context_free(b.ctx);
        cr_assert_eq(bf_instance_load_row(b.inst, &row, &b.err), BF_OK, "%s", b.err.text);
        b.ctx = bf_context_new_borrowing("i", bf_instance_vars(b.inst));
        b.scope.ctx = b.ctx;
        rig_act_as(&a, role);
        rig_act_as(&b, role);
        free(mine);
        free(theirs);
        mine = rig_open_tasks(&a);
        theirs = rig_open_tasks(&b);
        FAIL_IF(strcmp(mine, theirs) != 0, "open:\n%s\nstored:\n%s", mine, theirs);
    }
out:
    free(mine);
    free(theirs);
    rig_fini(&a);
    rig_fini(&b);
    gen_free(gen);
    return text;
}

Test(properties, stored_state__behaves_as_the_one_in_memory)
{
    check(stored_behaves_the_same, "stored");
}

/* Two instances of one executor, turn by turn, come out as each alone. */
static const char *instances_do_not_mix(uint64_t seed, unsigned size)
{
    gen_options_t options = {.seed = seed, .size = size, .with_tasks = true};
    gen_t *gen = new_gen(&options);
    rig_t rig;
    bf_instance_t *insts[3];
    bf_context_t *ctxs[3];
    uint64_t states[3] = {seed + 1, seed + 1, seed + 2};
    char *dumps[3] = {NULL, NULL, NULL};
    text[0] = '\0';
    rig_init(&rig, gen);
    for (int i = 0; i < 3; i++) {
        insts[i] = bf_instance_new("i");
        ctxs[i] = bf_context_new_borrowing("i", bf_instance_vars(insts[i]));
        bf_instance_begin(insts[i]);
        cr_assert_eq(gen_set_vars(gen, ctxs[i]), BF_OK);
        bf_instance_commit(insts[i]);
    }
    rig_t one = rig;
    /* 0 alone first; then 1 (the same seed) and 2 by turns */
    for (int round = 0; round < 120; round++) {
        int i = round < 40 ? 0 : 1 + round % 2;
        bf_task_t task = {0};
        bf_submit_result_t result = {0};
        one.inst = one.scope.inst = insts[i];
        one.ctx = one.scope.ctx = ctxs[i];
        one.scope.arena = &rig.arena;
        bf_arena_clear(&rig.arena);
        rig_act_as(&one, (unsigned)(gen_random(&states[i]) >> 40) % GEN_ROLES);
        cr_assert_eq(rig_claim(&one, &task), BF_OK, "%s", one.err.text);
        if (task.node) {
            cr_assert_eq(rig_submit(&one, &task, BF_ACTION_FORWARD, NULL, &result),
                         BF_OK);
        }
    }
    for (int i = 0; i < 2; i++) {
        one.inst = insts[i];
        dumps[i] = rig_dump(&one);
    }
    FAIL_IF(strcmp(dumps[0], dumps[1]) != 0, "alone:\n%s\nbeside another:\n%s", dumps[0],
            dumps[1]);
out:
    for (int i = 0; i < 3; i++) {
        bf_context_free(ctxs[i]);
        bf_instance_free(insts[i]);
        free(dumps[i]);
    }
    rig_fini(&rig);
    gen_free(gen);
    return text;
}

Test(properties, instances__do_not_mix)
{
    check(instances_do_not_mix, "instances");
}
