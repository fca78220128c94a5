/*
 * test_instance.c - states, routes and variables of an instance, with undo and as a row
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "bpmflow/instance.h"
#include "tests/support/gen.h"

static bf_instance_t *inst;
static bf_arena_t arena;

static void setup(void)
{
    inst = bf_instance_new("i-1");
    cr_assert_not_null(inst);
    bf_arena_init(&arena, 0);
}

static void teardown(void)
{
    bf_instance_free(inst);
    bf_arena_fini(&arena);
}

TestSuite(instance, .init = setup, .fini = teardown);

static const char *states_text(const bf_instance_t *of)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_instance_write_states(of, &str), BF_OK);
    const char *copy = bf_arena_strdup(&arena, bf_str_peek(&str));
    bf_str_fini(&str);
    return copy;
}

static const char *vars_text(bf_instance_t *of)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_vars_write_json(bf_instance_vars(of), &str);
    const char *copy = bf_arena_strdup(&arena, bf_str_peek(&str));
    bf_str_fini(&str);
    return copy;
}

static void put(const char *key, bf_task_state_t state)
{
    cr_assert_eq(bf_instance_state_put(inst, key, state), BF_OK);
}

static void set_var(const char *name, bf_value_t value)
{
    cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), name, &value), BF_OK);
}

static bf_text_t text(const char *data)
{
    return (bf_text_t){data, data ? strlen(data) : 0};
}

static bf_instance_row_t row_of(const char *states, const char *vars)
{
    return (bf_instance_row_t){
        .instant_id = "i-1",
        .graph = text("{\"id\":\"leave\",\"version\":2,\"hash\":\"abc\"}"),
        .states = text(states),
        .vars = text(vars),
        .rev = 7,
        .status = BF_INSTANCE_RUNNING,
        .seq = 3,
        .partition_no = 5,
        .creator = "zhang.san",
        .create_time_ms = 1000,
        .updater = "li.wei",
        .update_time_ms = 2000,
    };
}

/* --- states --- */

Test(instance, TestStateKey__states_are_kept_under_graph_and_node)
{
    bf_instance_begin(inst);
    put("leave:leader", BF_TASK_WAITING);
    put("leave:leader#2", BF_TASK_COMPLETED);
    put("other:leader", BF_TASK_TERMINATED);
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_state(inst, "leave:leader"), BF_TASK_WAITING);
    cr_assert_eq(bf_instance_state(inst, "leave:leader#2"), BF_TASK_COMPLETED);
    cr_assert_eq(bf_instance_state(inst, "other:leader"), BF_TASK_TERMINATED);
    cr_assert_eq(bf_instance_state(inst, "leave:hr"), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_instance_state(inst, "leave"), BF_TASK_UNKNOWN);
}

Test(instance, TestStatesJSON_Codec__what_is_written_reads_back)
{
    const char *const next[] = {"hr", "boss"};
    bf_instance_begin(inst);
    put("leave:leader", BF_TASK_COMPLETED);
    put("leave:gate \"x\"", BF_TASK_COMPLETED);
    put("leave:hr", BF_TASK_WAITING);
    cr_assert_eq(bf_instance_route_put(inst, "leave:gate \"x\"", next, 2), BF_OK);
    bf_instance_commit(inst);
    const char *json = states_text(inst);
    cr_assert_str_eq(json, "{\"leave:leader\":1002,\"leave:gate \\\"x\\\"\":1002,"
                           "\"leave:hr\":1001,"
                           "\"#routes\":{\"leave:gate \\\"x\\\"\":[\"hr\",\"boss\"]}}");
    bf_instance_row_t row = row_of(json, "{}");
    bf_instance_t *other = bf_instance_new("i-1");
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_load_row(other, &row, &err), BF_OK, "%s", err.text);
    cr_assert_str_eq(states_text(other), json);
    bf_instance_free(other);
}

Test(instance, states__many_are_found_and_keep_their_order)
{
    char key[32];
    bf_instance_begin(inst);
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof(key), "g:n%d", i);
        put(key, i % 2 ? BF_TASK_WAITING : BF_TASK_COMPLETED);
    }
    bf_instance_commit(inst);
    size_t cursor = 0;
    const char *found;
    bf_task_state_t state;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof(key), "g:n%d", i);
        cr_assert_eq(bf_instance_state(inst, key),
                     i % 2 ? BF_TASK_WAITING : BF_TASK_COMPLETED);
        cr_assert(bf_instance_state_next(inst, &cursor, &found, &state));
        cr_assert_str_eq(found, key);
    }
    cr_assert_not(bf_instance_state_next(inst, &cursor, &found, &state));
}

Test(instance, state_remove__takes_the_route_with_it)
{
    const char *const next[] = {"a"};
    const char *const *ids;
    size_t count;
    bf_instance_begin(inst);
    put("g:x", BF_TASK_COMPLETED);
    cr_assert_eq(bf_instance_route_put(inst, "g:x", next, 1), BF_OK);
    cr_assert(bf_instance_route(inst, "g:x", &ids, &count));
    cr_assert_eq(count, 1);
    cr_assert_eq(bf_instance_state_remove(inst, "g:x"), BF_OK);
    cr_assert_not(bf_instance_route(inst, "g:x", &ids, &count));
    cr_assert_eq(count, 0);
    bf_instance_commit(inst);
    cr_assert_str_eq(states_text(inst), "{}");
}

Test(instance, route_put__a_gateway_without_a_way_out_is_a_route_too)
{
    const char *const *ids;
    size_t count = 9;
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_route_put(inst, "g:x", NULL, 0), BF_OK);
    bf_instance_commit(inst);
    cr_assert(bf_instance_route(inst, "g:x", &ids, &count));
    cr_assert_eq(count, 0);
    cr_assert_str_eq(states_text(inst), "{\"#routes\":{\"g:x\":[]}}");
}

Test(instance, state_clear__keeps_the_variables)
{
    bf_instance_begin(inst);
    put("g:a", BF_TASK_COMPLETED);
    put("g:b", BF_TASK_WAITING);
    set_var("day", bf_value_int(3));
    bf_instance_commit(inst);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_state_clear(inst), BF_OK);
    bf_instance_commit(inst);
    cr_assert_str_eq(states_text(inst), "{}");
    cr_assert_str_eq(vars_text(inst), "{\"day\":3}");
}

Test(instance, vars__keep_the_order_of_their_setting_also_after_a_clear)
{
    bf_instance_begin(inst);
    set_var("a", bf_value_int(1));
    set_var("b", bf_value_int(2));
    bf_instance_commit(inst);
    bf_instance_begin(inst);
    set_var("a", bf_value_null());
    bf_instance_commit(inst);
    bf_instance_begin(inst);
    set_var("a", bf_value_int(3));
    bf_instance_rollback(inst);
    cr_assert_str_eq(vars_text(inst), "{\"b\":2}");
    bf_instance_begin(inst);
    set_var("a", bf_value_int(4));
    bf_instance_commit(inst);
    cr_assert_str_eq(vars_text(inst), "{\"b\":2,\"a\":4}");
}

/* --- transaction --- */

Test(instance, rollback__leaves_everything_as_it_was)
{
    const char *const next[] = {"a"};
    const char *const other[] = {"b", "c"};
    bf_graph_t graph = {.id = "leave", .version = 4, .hash = "h4"};
    bf_instance_begin(inst);
    put("g:a", BF_TASK_COMPLETED);
    put("g:x", BF_TASK_COMPLETED);
    cr_assert_eq(bf_instance_route_put(inst, "g:x", next, 1), BF_OK);
    set_var("day", bf_value_int(3));
    cr_assert_eq(bf_instance_touch(inst, "li.wei", 1000), BF_OK);
    bf_instance_commit(inst);
    bf_instance_row_t before;
    bf_instance_row_t after;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_write_row(inst, &arena, &before, &err), BF_OK);

    bf_instance_begin(inst);
    put("g:a", BF_TASK_WAITING);
    cr_assert_eq(bf_instance_state_remove(inst, "g:x"), BF_OK);
    put("g:x", BF_TASK_TERMINATED);
    cr_assert_eq(bf_instance_route_put(inst, "g:x", other, 2), BF_OK);
    put("g:new", BF_TASK_WAITING);
    cr_assert_eq(bf_instance_state_clear(inst), BF_OK);
    put("g:b", BF_TASK_WAITING);
    set_var("day", bf_value_null());
    set_var("name", bf_value_cstr("x"));
    bf_instance_set_status(inst, BF_INSTANCE_COMPLETED);
    cr_assert_eq(bf_instance_next_seq(inst), 1);
    cr_assert_eq(bf_instance_pin_graph(inst, &graph), BF_OK);
    cr_assert_eq(bf_instance_touch(inst, "wang.wu", 2000), BF_OK);
    cr_assert_eq(bf_instance_set_tasks(inst, "[1]"), BF_OK);
    cr_assert(bf_instance_changed(inst));
    bf_instance_rollback(inst);

    cr_assert_eq(bf_instance_write_row(inst, &arena, &after, &err), BF_OK);
    cr_assert_str_eq(after.states.data, before.states.data);
    cr_assert_str_eq(after.vars.data, before.vars.data);
    cr_assert_null(after.graph.data);
    cr_assert_null(after.tasks.data);
    cr_assert_eq(after.rev, before.rev);
    cr_assert_eq(after.seq, before.seq);
    cr_assert_eq(after.status, before.status);
    cr_assert_str_eq(after.creator, "li.wei");
    cr_assert_str_eq(after.updater, "li.wei");
    cr_assert_eq(after.update_time_ms, 1000);
}

Test(instance, commit__counts_the_revision_only_when_something_changed)
{
    bf_instance_begin(inst);
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_revision(inst), 0);
    cr_assert_not(bf_instance_is_dirty(inst));

    bf_instance_begin(inst);
    put("g:a", BF_TASK_WAITING);
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_revision(inst), 1);
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert_eq(bf_instance_stored_revision(inst), 0);
    bf_instance_mark_stored(inst);
    cr_assert_not(bf_instance_is_dirty(inst));

    bf_instance_begin(inst);
    put("g:a", BF_TASK_WAITING); /* is so already */
    cr_assert_not(bf_instance_changed(inst));
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_revision(inst), 1);
}

Test(instance, touch__alone_is_no_change_and_the_creator_stays)
{
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_touch(inst, "li.wei", 5), BF_OK);
    cr_assert_not(bf_instance_changed(inst));
    bf_instance_commit(inst);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_touch(inst, NULL, 6), BF_OK);
    bf_instance_commit(inst);
    cr_assert_str_eq(bf_instance_creator(inst), "li.wei");
}

Test(instance, states_version__moves_with_every_change_and_with_its_undo)
{
    uint64_t v0 = bf_instance_states_version(inst);
    bf_instance_begin(inst);
    put("g:a", BF_TASK_WAITING);
    uint64_t v1 = bf_instance_states_version(inst);
    cr_assert_neq(v0, v1);
    bf_instance_rollback(inst);
    cr_assert_neq(bf_instance_states_version(inst), v1);
    uint64_t v2 = bf_instance_states_version(inst);
    bf_instance_begin(inst);
    set_var("x", bf_value_int(1));
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_states_version(inst), v2);
}

Test(instance, compaction__ten_thousand_rounds_do_not_grow_the_memory)
{
    const char *const one[] = {"a"};
    const char *const two[] = {"b"};
    char key[32];
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof(key), "g:n%d", i % 97);
        bf_instance_begin(inst);
        put(key, BF_TASK_COMPLETED);
        cr_assert_eq(bf_instance_route_put(inst, "g:x", i % 2 ? one : two, 1), BF_OK);
        if (i % 97 == 96) {
            cr_assert_eq(bf_instance_state_clear(inst), BF_OK);
        }
        bf_instance_commit(inst);
    }
    cr_assert_lt(bf_instance_held_bytes(inst), (size_t)64 * 1024);
    cr_assert_eq(bf_instance_state(inst, "g:n3"), BF_TASK_COMPLETED);
}

/* --- row --- */

Test(instance, load_row__fills_everything)
{
    bf_instance_row_t row = row_of("{\"leave:leader\":1001}", "{\"day\":3}");
    bf_err_t err = BF_ERR_INIT;
    row.tasks = text("[{\"x\":1}]");
    row.status = BF_INSTANCE_SUSPENDED;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK, "%s", err.text);
    cr_assert_str_eq(bf_instance_graph_id(inst), "leave");
    cr_assert_eq(bf_instance_graph_version(inst), 2);
    cr_assert_str_eq(bf_instance_graph_hash(inst), "abc");
    cr_assert_eq(bf_instance_revision(inst), 7);
    cr_assert_eq(bf_instance_stored_revision(inst), 7);
    cr_assert_not(bf_instance_is_dirty(inst));
    cr_assert_eq(bf_instance_seq(inst), 3);
    cr_assert_eq(bf_instance_partition(inst), 5);
    cr_assert_eq(bf_instance_status(inst), BF_INSTANCE_SUSPENDED);
    cr_assert_str_eq(bf_instance_creator(inst), "zhang.san");
    cr_assert_str_eq(bf_instance_tasks(inst), "[{\"x\":1}]");
    cr_assert_str_eq(vars_text(inst), "{\"day\":3}");
}

Test(instance, write_row__gives_back_what_was_loaded)
{
    bf_instance_row_t row =
        row_of("{\"leave:leader\":1001,\"#routes\":{\"leave:x\":[\"a\"]}}",
               "{\"day\":3,\"name\":\"\xE5\xBC\xA0\",\"list\":[1,2.5,null]}");
    bf_instance_row_t back;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK, "%s", err.text);
    cr_assert_eq(bf_instance_write_row(inst, &arena, &back, &err), BF_OK);
    cr_assert_str_eq(back.instant_id, "i-1");
    cr_assert_str_eq(back.graph.data, row.graph.data);
    cr_assert_str_eq(back.states.data, row.states.data);
    cr_assert_str_eq(back.vars.data, row.vars.data);
    cr_assert_eq(back.states.len, row.states.len);
    cr_assert_eq(back.rev, 7);
    cr_assert_eq(back.partition_no, 5);
    cr_assert_eq(back.create_time_ms, 1000);
    cr_assert_eq(back.update_time_ms, 2000);
}

Test(instance, load_row__a_whole_definition_in_the_graph_column_pins_it)
{
    bf_instance_row_t row = row_of(NULL, NULL);
    bf_err_t err = BF_ERR_INIT;
    row.graph = text("{\"id\":\"leave\",\"title\":\"Leave\",\"layout\":[]}");
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK, "%s", err.text);
    cr_assert_str_eq(bf_instance_graph_id(inst), "leave");
    cr_assert_eq(bf_instance_graph_version(inst), 1);
    cr_assert_str_eq(states_text(inst), "{}");
}

Test(instance, load_row__a_damaged_column_is_named_and_changes_nothing)
{
    static const struct {
        const char *states;
        const char *vars;
        const char *says;
    } rows[] = {
        {"{\"g:a\":1001", "{}", "column states is not JSON"},
        {"[]", "{}", "column states is a list"},
        {"{\"g:a\":17}", "{}", "\"g:a\" is not a task state"},
        {"{\"g:a\":\"1001\"}", "{}", "\"g:a\" is not a task state"},
        {"{\"#routes\":[]}", "{}", "#routes is a list"},
        {"{\"#routes\":{\"g:x\":\"a\"}}", "{}", "#routes of \"g:x\" is a string"},
        {"{\"#routes\":{\"g:x\":[1]}}", "{}", "#routes of \"g:x\" has a integer"},
        {"{}", "7", "column vars is a integer"},
    };
    bf_instance_begin(inst);
    put("g:before", BF_TASK_WAITING);
    bf_instance_commit(inst);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bf_instance_row_t row = row_of(rows[i].states, rows[i].vars);
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_E_INVALID);
        cr_assert_not_null(strstr(err.text, rows[i].says), "%s", err.text);
        cr_assert_not_null(strstr(err.text, "instance \"i-1\""), "%s", err.text);
        cr_assert_eq(bf_instance_state(inst, "g:before"), BF_TASK_WAITING);
    }
    bf_instance_row_t row = row_of("{}", "{}");
    bf_err_t err = BF_ERR_INIT;
    row.status = 77;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_E_INVALID);
    cr_assert_not_null(strstr(err.text, "column status: 77"), "%s", err.text);
}

Test(instance, load_row__state_0_says_the_same_as_no_state)
{
    bf_instance_row_t row = row_of("{\"g:a\":0,\"g:b\":1002}", "{}");
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK);
    cr_assert_str_eq(states_text(inst), "{\"g:b\":1002}");
}

/* --- packed --- */

Test(instance, pack__and_open_give_the_same_instance)
{
    bf_instance_row_t row = row_of(
        "{\"leave:leader\":1002,\"leave:x\":1002,\"#routes\":{\"leave:x\":[\"a\"]}}",
        "{\"day\":3,\"deep\":{\"a\":[1,2]}}");
    bf_instance_row_t back;
    bf_err_t err = BF_ERR_INIT;
    row.tasks = text("[]");
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK);
    bf_instance_begin(inst);
    put("leave:hr", BF_TASK_WAITING);
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_pack(inst), BF_OK);
    cr_assert(bf_instance_is_packed(inst));
    cr_assert_eq(bf_instance_revision(inst), 8);
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert_str_eq(bf_instance_id(inst), "i-1");
    cr_assert_eq(bf_instance_open(inst), BF_OK);
    cr_assert_not(bf_instance_is_packed(inst));
    cr_assert_eq(bf_instance_write_row(inst, &arena, &back, &err), BF_OK);
    cr_assert_str_eq(back.states.data,
                     "{\"leave:leader\":1002,\"leave:x\":1002,\"leave:hr\":1001,"
                     "\"#routes\":{\"leave:x\":[\"a\"]}}");
    cr_assert_str_eq(back.vars.data, row.vars.data);
    cr_assert_str_eq(back.graph.data, row.graph.data);
    cr_assert_str_eq(back.tasks.data, "[]");
    cr_assert_str_eq(back.creator, "zhang.san");
    cr_assert_str_eq(back.updater, "li.wei");
}

Test(instance, pack__keeps_a_key_that_begins_with_a_colon)
{
    static const char states[] = "{\":a\":1001,\"leave:a\":1002}";
    bf_instance_row_t row = row_of(states, "{}");
    bf_instance_row_t back;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_load_row(inst, &row, &err), BF_OK);
    cr_assert_str_eq(bf_instance_graph_id(inst), "leave");
    cr_assert_eq(bf_instance_pack(inst), BF_OK);
    cr_assert_eq(bf_instance_open(inst), BF_OK);
    cr_assert_eq(bf_instance_write_row(inst, &arena, &back, &err), BF_OK);
    cr_assert_str_eq(back.states.data, states);
}

Test(instance, pack__keeps_any_hash_of_a_graph)
{
    static const char *const hashes[] = {"0123456789abcdef",
                                         "ffffffffffffffff",
                                         "0000000000000000",
                                         "0123456789ABCDEF",
                                         "0123456789abcdeg",
                                         "short",
                                         ""};
    for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
        bf_graph_t graph = {.id = "g", .version = 1};
        (void)snprintf(graph.hash, sizeof(graph.hash), "%s", hashes[i]);
        bf_instance_begin(inst);
        cr_assert_eq(bf_instance_pin_graph(inst, &graph), BF_OK);
        put("g:a", i % 2 ? BF_TASK_COMPLETED : BF_TASK_WAITING);
        bf_instance_commit(inst);
        cr_assert_eq(bf_instance_pack(inst), BF_OK);
        cr_assert_eq(bf_instance_open(inst), BF_OK);
        cr_assert_str_eq(bf_instance_graph_hash(inst), hashes[i]);
        cr_assert_eq(bf_instance_state(inst, "g:a"),
                     i % 2 ? BF_TASK_COMPLETED : BF_TASK_WAITING);
    }
}

Test(instance, pack__keeps_any_number_of_states)
{
    static const int counts[] = {0, 1, 254, 255, 256, 300};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char key[32];
        bf_instance_begin(inst);
        cr_assert_eq(bf_instance_state_clear(inst), BF_OK);
        for (int k = 0; k < counts[i]; k++) {
            (void)snprintf(key, sizeof(key), "g:node-%d", k);
            put(key, k % 2 ? BF_TASK_COMPLETED : BF_TASK_WAITING);
        }
        bf_instance_commit(inst);
        cr_assert_eq(bf_instance_pack(inst), BF_OK);
        cr_assert_eq(bf_instance_open(inst), BF_OK);
        int seen = 0;
        size_t cursor = 0;
        const char *found = NULL;
        bf_task_state_t state = BF_TASK_UNKNOWN;
        while (bf_instance_state_next(inst, &cursor, &found, &state)) {
            (void)snprintf(key, sizeof(key), "g:node-%d", seen);
            cr_assert_str_eq(found, key);
            cr_assert_eq(state, seen % 2 ? BF_TASK_COMPLETED : BF_TASK_WAITING);
            seen++;
        }
        cr_assert_eq(seen, counts[i]);
    }
}

Test(instance, pack__an_idle_instance_of_five_tasks_takes_under_1_KB)
{
    bf_graph_t graph = {.id = "leave-request", .version = 1, .hash = "0123456789abcdef"};
    char key[64];
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_pin_graph(inst, &graph), BF_OK);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(key, sizeof(key), "leave-request:approval-step-%d", i);
        put(key, BF_TASK_COMPLETED);
    }
    set_var("day", bf_value_int(3));
    set_var("reason", bf_value_cstr("family"));
    cr_assert_eq(bf_instance_touch(inst, "li.wei", 1), BF_OK);
    bf_instance_commit(inst);
    cr_assert_eq(bf_instance_pack(inst), BF_OK);
    cr_assert_leq(bf_instance_held_bytes(inst), 320);
}

Test(instance, open__does_nothing_to_an_open_instance)
{
    bf_vars_t *vars = bf_instance_vars(inst);
    cr_assert_eq(bf_instance_open(inst), BF_OK);
    cr_assert_eq(bf_instance_vars(inst), vars);
}

/* --- many states --- */

#define MODEL_KEYS 120

typedef struct model {
    int order[MODEL_KEYS]; /* numbers of keys, in order of first setting */
    int count;
    bf_task_state_t states[MODEL_KEYS];
} model_t;

static const char *key_of(int number, char text[16])
{
    (void)snprintf(text, 16, "g:n%d", number);
    return text;
}

static void model_put(model_t *m, int number, bf_task_state_t state)
{
    bool was = m->states[number] != BF_TASK_UNKNOWN;
    if (!was) {
        m->order[m->count++] = number;
    }
    m->states[number] = state;
}

static void model_remove(model_t *m, int number)
{
    int kept = 0;
    for (int i = 0; i < m->count; i++) {
        if (m->order[i] != number) {
            m->order[kept++] = m->order[i];
        }
    }
    m->count = kept;
    m->states[number] = BF_TASK_UNKNOWN;
}

static void expect_model(const model_t *m)
{
    char text[16];
    size_t cursor = 0;
    const char *key;
    bf_task_state_t state;
    for (int i = 0; i < m->count; i++) {
        cr_assert(bf_instance_state_next(inst, &cursor, &key, &state));
        cr_assert_str_eq(key, key_of(m->order[i], text));
        cr_assert_eq(state, m->states[m->order[i]]);
    }
    cr_assert_not(bf_instance_state_next(inst, &cursor, &key, &state));
    for (int i = 0; i < MODEL_KEYS; i++) {
        cr_assert_eq(bf_instance_state(inst, key_of(i, text)), m->states[i]);
    }
}

/* Either states are set, or some of the last ones (rarely of all) are taken back. */
static void change(model_t *m, uint64_t *state)
{
    char text[16];
    bool removes = gen_random(state) >> 63;
    for (int i = 0; i < 6; i++) {
        unsigned draw = (unsigned)(gen_random(state) >> 40);
        if (!removes) {
            int number = (int)(draw % MODEL_KEYS);
            cr_assert_eq(
                bf_instance_state_put(inst, key_of(number, text), BF_TASK_COMPLETED),
                BF_OK);
            model_put(m, number, BF_TASK_COMPLETED);
        } else if (m->count) {
            int last = draw % 16 && m->count > 8 ? 8 : m->count;
            int number = m->order[m->count - 1 - (int)(draw / 16 % (unsigned)last)];
            cr_assert_eq(bf_instance_state_remove(inst, key_of(number, text)), BF_OK);
            model_remove(m, number);
        }
    }
}

Test(instance, states__many_are_found_in_their_order_after_any_changes)
{
    static model_t m; /* zeroed */
    static model_t before;
    uint64_t state = 7;
    for (int i = 0; i < 2000; i++) {
        before = m;
        bf_instance_begin(inst);
        change(&m, &state);
        if (gen_random(&state) >> 62) {
            bf_instance_commit(inst);
        } else {
            bf_instance_rollback(inst);
            m = before;
        }
        expect_model(&m);
    }
}
