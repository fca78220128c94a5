/*
 * test_instance.c - an instance loses nothing when an allocation fails
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/instance.h"
#include "tests/oom/oom.h"

static const char states[] = "{\"g:a\":1001,\"g:b\":1002,\"#routes\":{\"g:x\":[\"a\"]}}";
static const char vars[] = "{\"day\":3,\"deep\":{\"list\":[1,\"two\",null]}}";
static const char graph_ref[] = "{\"id\":\"g\",\"version\":1,\"hash\":\"h\"}";

static bf_status_t load(bf_instance_t *inst)
{
    bf_instance_row_t row = {
        .instant_id = "i",
        .graph = {graph_ref, sizeof(graph_ref) - 1},
        .states = {states, sizeof(states) - 1},
        .vars = {vars, sizeof(vars) - 1},
        .rev = 1,
        .creator = "a",
        .updater = "b",
    };
    bf_err_t err = BF_ERR_INIT;
    return bf_instance_load_row(inst, &row, &err);
}

/* What every run must find, whatever failed before. */
static void check_unchanged(bf_instance_t *inst, bf_arena_t *arena)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    bf_oom_pause();
    BF_ASSERT(bf_instance_open(inst) == BF_OK);
    BF_ASSERT(bf_instance_write_row(inst, arena, &row, &err) == BF_OK);
    BF_ASSERT(!strcmp(row.states.data, states));
    BF_ASSERT(!strcmp(row.vars.data, vars));
    BF_ASSERT(row.rev == 1);
    bf_oom_resume();
}

static bf_status_t change(bf_instance_t *inst)
{
    const char *const next[] = {"b", "c"};
    bf_value_t value = bf_value_cstr("new");
    bf_graph_t graph = {.id = "other", .version = 2, .hash = "h2"};
    char key[] = "g:n0";
    bf_status_t rc = bf_instance_pin_graph(inst, &graph);
    for (char c = 'a'; rc == BF_OK && c < 'z'; c++) {
        key[3] = c;
        rc = bf_instance_state_put(inst, key, BF_TASK_WAITING);
    }
    if (rc == BF_OK) {
        rc = bf_instance_route_put(inst, "g:x", next, 2);
    }
    if (rc == BF_OK) {
        rc = bf_instance_state_remove(inst, "g:a");
    }
    if (rc == BF_OK) {
        rc = bf_vars_set_str(bf_instance_vars(inst), "day", &value);
    }
    if (rc == BF_OK) {
        rc = bf_instance_touch(inst, "someone else", 7);
    }
    return rc == BF_OK ? bf_instance_state_clear(inst) : rc;
}

/* What every run begins with, whatever memory there is. */
static bf_instance_t *begin(bf_arena_t *arena)
{
    bf_arena_init(arena, 0);
    bf_oom_pause();
    bf_instance_t *inst = bf_instance_new("i");
    BF_ASSERT(inst && load(inst) == BF_OK);
    bf_oom_resume();
    return inst;
}

static bf_status_t run_change(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_instance_t *inst = begin(&arena);
    bf_instance_begin(inst);
    bf_status_t rc = change(inst);
    bf_instance_rollback(inst);
    check_unchanged(inst, &arena);
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t run_load(void *arg)
{
    (void)arg;
    bf_instance_t *inst = bf_instance_new("i");
    bf_status_t rc = inst ? load(inst) : BF_E_NOMEM;
    bf_instance_free(inst);
    return rc;
}

static bf_status_t run_pack(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_instance_t *inst = begin(&arena);
    bf_status_t rc = bf_instance_pack(inst);
    if (rc == BF_OK) {
        rc = bf_instance_open(inst);
    }
    check_unchanged(inst, &arena);
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t run_write(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    bf_instance_t *inst = begin(&arena);
    bf_status_t rc = bf_instance_write_row(inst, &arena, &row, &err);
    check_unchanged(inst, &arena);
    bf_instance_free(inst);
    bf_arena_fini(&arena);
    return rc;
}

int main(void)
{
    bf_oom_sweep("instance_load", run_load, NULL);
    bf_oom_sweep("instance_change", run_change, NULL);
    bf_oom_sweep("instance_pack", run_pack, NULL);
    bf_oom_sweep("instance_write", run_write, NULL);
    return bf_oom_result();
}
