/*
 * test_store_repository.c - the first seed's repository and its twelve tests (section 9)
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/executor.h"
#include "bpmflow/mysql_repository.h"
#include "tests/support/flow.h"
#include "tests/support/test_db.h"

/* The seed's OaActionDemo: actors A to D, one branch for long leaves. */
static const char oa[] =
    "id: oa\n"
    "title: Leave\n"
    "layout:\n"
    "  - {id: start, type: start, link: apply}\n"
    "  - {id: apply, title: Apply, meta: {actor: A, formId: 12}, link: leader}\n"
    "  - {id: leader, title: Leader, meta: {actor: B}, link: gate}\n"
    "  - id: gate\n"
    "    type: exclusive\n"
    "    link: [{nextId: boss, when: day > 3}, {nextId: archive}]\n"
    "  - {id: boss, title: Boss, meta: {actor: C}, link: archive}\n"
    "  - {id: archive, title: Archive, meta: {actor: D}, link: end}\n"
    "  - {id: end, type: end}\n";

typedef struct oa {
    test_db_t db;
    flow_t flow; /* engine and controller */
    bf_graph_t *graph;
    bf_repository_t *repo;
    bf_executor_t *executor;
    bf_err_t err;
} oa_t;

static void open_repository(oa_t *t, bf_persist_t persist)
{
    const bf_mysql_repository_options_t options = {.store = {.db = t->db.options},
                                                   .persist = persist};
    bf_status_t status = bf_mysql_repository_open(&options, &t->repo, &t->err);
    cr_assert_eq(status, BF_OK, "%s", t->err.text);
    t->executor = bf_executor_new(t->flow.engine, t->flow.controller, t->repo);
    cr_assert_not_null(t->executor);
    bf_executor_set_recorder(t->executor, bf_mysql_repository_record, t->repo);
}

static void close_repository(oa_t *t)
{
    bf_executor_free(t->executor);
    bf_repository_free(t->repo);
}

static void oa_begin(oa_t *t, bf_persist_t persist)
{
    memset(t, 0, sizeof(*t));
    test_db_begin(&t->db);
    flow_init(&t->flow);
    t->graph = flow_load(&t->flow, oa);
    open_repository(t, persist);
}

static void oa_end(oa_t *t)
{
    close_repository(t);
    flow_fini(&t->flow);
    test_db_end(&t->db);
}

static const bf_node_t *node_of(const oa_t *t, const char *id)
{
    const bf_node_t *node = bf_graph_node(t->graph, id);
    cr_assert_not_null(node, "%s", id);
    return node;
}

static bf_context_t *context_of(const char *instance_id, const char *actor)
{
    bf_context_t *ctx = bf_context_new(instance_id);
    bf_value_t value = bf_value_cstr(actor);
    cr_assert_not_null(ctx);
    cr_assert_eq(bf_context_put_str(ctx, "actor", &value, NULL), BF_OK);
    return ctx;
}

/* ID of the task that the actor may claim, "" = none. */
static const char *claim(oa_t *t, const char *instance_id, const char *actor)
{
    bf_task_t task = {0};
    bf_context_t *ctx = context_of(instance_id, actor);
    bf_err_clear(&t->err);
    bf_status_t status =
        bf_executor_claim_task(t->executor, t->graph, ctx, &task, &t->err);
    cr_assert_eq(status, BF_OK, "%s", t->err.text);
    bf_context_free(ctx);
    return task.node != NULL ? task.node->id : "";
}

static bf_status_t submit_as(oa_t *t, const char *instance_id, const char *actor,
                             bf_submit_t submit)
{
    bf_context_t *ctx = context_of(instance_id, actor);
    bf_err_clear(&t->err);
    bf_status_t status =
        bf_executor_submit_task(t->executor, t->graph, &submit, ctx, &t->err);
    bf_context_free(ctx);
    return status;
}

static void forward(oa_t *t, const char *instance_id, const char *actor,
                    const char *node_id)
{
    const bf_submit_t submit = {.node = node_of(t, node_id),
                                .action = BF_ACTION_FORWARD,
                                .message = "agreed",
                                .command_id = "c"};
    bf_status_t status = submit_as(t, instance_id, actor, submit);
    cr_assert_eq(status, BF_OK, "%s by %s: %s", node_id, actor, t->err.text);
}

static void set_day(oa_t *t, const char *instance_id, int64_t day)
{
    bf_instance_t *inst = NULL;
    bf_value_t value = bf_value_int(day);
    cr_assert_eq(t->repo->ops->open(t->repo, instance_id, &inst, &t->err), BF_OK, "%s",
                 t->err.text);
    bf_instance_begin(inst);
    cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), "day", &value), BF_OK);
    bf_instance_commit(inst);
    cr_assert_eq(t->repo->ops->changed(t->repo, inst, &t->err), BF_OK, "%s", t->err.text);
}

static bf_task_state_t state_of(oa_t *t, const char *instance_id, const char *node_id)
{
    bf_task_state_t state = BF_TASK_TERMINATED;
    bf_status_t status =
        bf_state_get(t->repo, instance_id, node_of(t, node_id), &state, &t->err);
    cr_assert_eq(status, BF_OK, "%s", t->err.text);
    return state;
}

static bf_status_t put(oa_t *t, const char *instance_id, const char *node_id,
                       bf_task_state_t state)
{
    bf_err_clear(&t->err);
    return bf_state_put(t->repo, instance_id, node_of(t, node_id), state, &t->err);
}

static int64_t count(oa_t *t, const char *table)
{
    char sql[128];
    (void)snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s", table);
    return test_db_int(&t->db, sql);
}

static const char *states_column(oa_t *t, const char *instance_id)
{
    char sql[160];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT states FROM bpm_flow_repository WHERE instant_id = '%s'",
                   instance_id);
    return test_db_text(&t->db, sql);
}

/* --- the twelve tests of the seed --- */

Test(store_seed, StateKey__is_graph_colon_node)
{
    flow_t flow;
    flow_init(&flow);
    const bf_graph_t *graph = flow_load(&flow, oa);
    cr_assert_str_eq(bf_graph_node(graph, "leader")->state_key, "oa:leader");
    flow_fini(&flow);
}

Test(store_seed, StatesJSON_Codec__round_trips)
{
    static const char json[] = "{\"oa:apply\":1002,\"oa:leader\":1001,\"oa:gate#2\":1003,"
                               "\"#routes\":{\"oa:gate\":[\"boss\",\"archive\"]}}";
    const bf_instance_row_t row = {
        .instant_id = "i-1", .states = {json, sizeof(json) - 1}, .rev = 1};
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_instance_t *inst = bf_instance_new("i-1");
    cr_assert_eq(bf_instance_load_row(inst, &row, NULL), BF_OK);
    cr_assert_eq(bf_instance_state(inst, "oa:gate#2"), BF_TASK_TERMINATED);
    cr_assert_eq(bf_instance_write_states(inst, &text), BF_OK);
    cr_assert_str_eq(bf_str_peek(&text), json);
    bf_str_fini(&text);
    bf_instance_free(inst);
}

Test(store_seed, Cache_LazyLoad_WriteThrough__reads_once_writes_at_once)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    /* lazy: what is there before the first get counts, not what was there at open */
    test_db_sql(&t.db, "INSERT INTO bpm_flow_repository (instant_id, rev, states) VALUES "
                       "('i-1', 1, '{\"oa:apply\":1001}')");
    cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_WAITING);
    /* cached: the row is not read again */
    test_db_sql(&t.db, "UPDATE bpm_flow_repository SET states = '{}'");
    cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_WAITING);
    /* written through: the row has it when put returns */
    cr_assert_eq(put(&t, "i-1", "leader", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    cr_assert_str_eq(states_column(&t, "i-1"), "{\"oa:apply\":1001,\"oa:leader\":1001}");
    /* a get or a put of what is there already writes nothing */
    int64_t rev = test_db_int(&t.db, "SELECT rev FROM bpm_flow_repository");
    cr_assert_eq(put(&t, "i-1", "leader", BF_TASK_WAITING), BF_OK);
    cr_assert_eq(test_db_int(&t.db, "SELECT rev FROM bpm_flow_repository"), rev);
    /* an instance that nobody changed has no row */
    cr_assert_eq(state_of(&t, "i-2", "apply"), BF_TASK_UNKNOWN);
    cr_assert_eq(count(&t, "bpm_flow_repository"), 1);
    /* evicted: the row is read again */
    test_db_sql(&t.db, "UPDATE bpm_flow_repository SET states = '{\"oa:boss\":1002}'");
    t.repo->ops->evict(t.repo, "i-1");
    cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_UNKNOWN);
    cr_assert_eq(state_of(&t, "i-1", "boss"), BF_TASK_COMPLETED);
    oa_end(&t);
}

Test(store_seed, Repo_Upsert__hits_the_unique_instance_id)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    cr_assert_eq(put(&t, "i-1", "apply", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    int64_t id = test_db_int(&t.db, "SELECT id FROM bpm_flow_repository");
    cr_assert_gt(id, 0);
    cr_assert_str_eq(test_db_text(&t.db, "SELECT creator FROM bpm_flow_repository WHERE "
                                         "create_time IS NOT NULL AND update_time IS NOT "
                                         "NULL"),
                     "");
    cr_assert_eq(put(&t, "i-1", "leader", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    cr_assert_eq(put(&t, "i-2", "leader", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    close_repository(&t);
    open_repository(&t, BF_PERSIST_WRITE_THROUGH); /* loaded, not inserted, this time */
    cr_assert_eq(put(&t, "i-1", "boss", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    cr_assert_eq(count(&t, "bpm_flow_repository"), 2);
    cr_assert_eq(test_db_int(&t.db, "SELECT id FROM bpm_flow_repository WHERE "
                                    "instant_id = 'i-1' AND rev = 3"),
                 id);
    cr_assert_eq(test_db_int(&t.db,
                             "SELECT NON_UNIQUE FROM information_schema.statistics "
                             "WHERE table_schema = DATABASE() AND index_name = "
                             "'uniq_instantId'"),
                 0);
    oa_end(&t);
}

Test(store_seed, Repo_StateGetPutRemoveClear__round_trip)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    for (int restart = 0; restart < 2; restart++) {
        cr_assert_eq(put(&t, "i-1", "apply", BF_TASK_COMPLETED), BF_OK);
        cr_assert_eq(put(&t, "i-1", "leader", BF_TASK_WAITING), BF_OK);
        cr_assert_eq(put(&t, "i-2", "leader", BF_TASK_TERMINATED), BF_OK);
        if (restart == 1) {
            close_repository(&t);
            open_repository(&t, BF_PERSIST_WRITE_THROUGH);
        }
        cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_COMPLETED);
        cr_assert_eq(state_of(&t, "i-1", "leader"), BF_TASK_WAITING);
        cr_assert_eq(state_of(&t, "i-1", "boss"), BF_TASK_UNKNOWN);
        cr_assert_eq(state_of(&t, "i-2", "leader"), BF_TASK_TERMINATED);
        cr_assert_eq(bf_state_remove(t.repo, "i-1", node_of(&t, "apply"), NULL), BF_OK);
        cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_UNKNOWN);
        cr_assert_eq(state_of(&t, "i-1", "leader"), BF_TASK_WAITING);
        cr_assert_str_eq(states_column(&t, "i-1"), "{\"oa:leader\":1001}");
        cr_assert_eq(bf_state_clear(t.repo, "i-1", NULL), BF_OK);
        cr_assert_eq(state_of(&t, "i-1", "leader"), BF_TASK_UNKNOWN);
        cr_assert_eq(state_of(&t, "i-2", "leader"), BF_TASK_TERMINATED);
        cr_assert_str_eq(states_column(&t, "i-1"), "{}");
    }
    oa_end(&t);
}

Test(store_seed, Repo_SnapshotSaveLoad__keeps_graph_vars_and_states)
{
    oa_t t;
    bf_arena_t arena;
    bf_instance_row_t row;
    bf_str_t graph;
    bf_context_t *again = NULL;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    bf_arena_init(&arena, 0);
    bf_str_init(&graph, 0);
    cr_assert_eq(bf_graph_write_json(t.graph, false, &graph, NULL), BF_OK);
    cr_assert_eq(bf_mysql_repository_load_snapshot(t.repo, "i-1", &arena, &row, NULL),
                 BF_E_NOT_FOUND);
    cr_assert_str_eq(claim(&t, "i-1", "A"), "apply");
    bf_status_t status = bf_mysql_repository_save_snapshot(
        t.repo, "i-1", bf_str_peek(&graph), "{\"day\":5,\"who\":\"\xC3\xA4\"}", &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    status = bf_mysql_repository_load_snapshot(t.repo, "i-1", &arena, &row, &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_str_eq(row.graph.data, bf_str_peek(&graph), "byte by byte");
    cr_assert_str_eq(row.vars.data, "{\"day\":5,\"who\":\"\xC3\xA4\"}");
    cr_assert_str_eq(row.states.data, "{\"oa:apply\":1001}");
    /* the instance goes on with them, and the definition stays in the row */
    cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_WAITING);
    forward(&t, "i-1", "A", "apply");
    status = bf_mysql_repository_load_snapshot(t.repo, "i-1", &arena, &row, &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_str_eq(row.graph.data, bf_str_peek(&graph));
    cr_assert_str_eq(row.states.data, "{\"oa:apply\":1002}");
    /* only the variables; a context made of them */
    status =
        bf_mysql_repository_save_snapshot(t.repo, "i-1", NULL, "{\"day\":6}", &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    status = bf_mysql_repository_load_snapshot(t.repo, "i-1", &arena, &row, &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_str_eq(row.graph.data, bf_str_peek(&graph));
    const char *json =
        bf_arena_printf(&arena, "{\"instanceId\":\"i-1\",\"data\":%s}", row.vars.data);
    cr_assert_eq(bf_context_load_json(json, strlen(json), &again, &t.err), BF_OK, "%s",
                 t.err.text);
    cr_assert_eq(bf_context_get_str(again, "day")->as.integer, 6);
    bf_context_free(again);
    /* of an instance that has no row yet */
    status = bf_mysql_repository_save_snapshot(t.repo, "i-new", NULL, NULL, &t.err);
    cr_assert_eq(status, BF_OK, "%s", t.err.text);
    cr_assert_eq(put(&t, "i-new", "apply", BF_TASK_WAITING), BF_OK, "%s", t.err.text);
    /* what is no object is refused */
    cr_assert_eq(bf_mysql_repository_save_snapshot(t.repo, "i-1", "[1]", NULL, NULL),
                 BF_E_INVALID);
    cr_assert_eq(bf_mysql_repository_save_snapshot(t.repo, "i-1", NULL, "{", NULL),
                 BF_E_INVALID);
    bf_str_fini(&graph);
    bf_arena_fini(&arena);
    oa_end(&t);
}

Test(store_seed, Repo_VarsGet__injects_only_where_it_is_asked_for)
{
    oa_t t;
    const bf_value_t *vars = NULL;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    set_day(&t, "i-1", 5);
    cr_assert_eq(t.repo->ops->vars_get(t.repo, "i-1", node_of(&t, "apply"), &vars, NULL),
                 BF_OK);
    cr_assert_null(vars, "the default is nothing");
    close_repository(&t);
    const bf_mysql_repository_options_t options = {.store = {.db = t.db.options},
                                                   .inject_vars = true};
    bf_repository_t *repo = NULL;
    cr_assert_eq(bf_mysql_repository_open(&options, &repo, &t.err), BF_OK, "%s",
                 t.err.text);
    cr_assert_eq(repo->ops->vars_get(repo, "i-1", node_of(&t, "apply"), &vars, NULL),
                 BF_OK);
    cr_assert_not_null(vars);
    cr_assert_eq(bf_value_get_str(vars, "day")->as.integer, 5);
    bf_repository_free(repo);
    open_repository(&t, BF_PERSIST_WRITE_THROUGH);
    oa_end(&t);
}

Test(store_seed, TaskHistory_Record__one_row_a_submit_with_all_columns)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    set_day(&t, "i-1", 5);
    cr_assert_str_eq(claim(&t, "i-1", "A"), "apply");
    cr_assert_eq(count(&t, "bpm_flow_task"), 0, "a claim is no step");
    const bf_submit_t submit = {.node = node_of(&t, "apply"),
                                .action = BF_ACTION_FORWARD,
                                .message = "a week at the sea",
                                .has_form_id = true,
                                .form_id = 12,
                                .command_id = "cmd-7"};
    cr_assert_eq(submit_as(&t, "i-1", "A", submit), BF_OK, "%s", t.err.text);
    cr_assert_eq(count(&t, "bpm_flow_task"), 1);
    cr_assert_str_eq(
        test_db_text(&t.db,
                     "SELECT CONCAT_WS('|', flow_ins_id, seq, proc_def_id, task_id, "
                     "action, source_node_code, source_node_name, "
                     "source_node_type, target_node_code, target_node_name, "
                     "target_node_type, assignee, status, form_id, variables, "
                     "message, instance_state, command_id, creator) "
                     "FROM bpm_flow_task WHERE create_time IS NOT NULL"),
        "i-1|1|oa|apply|1020|apply|Apply|activity|leader|Leader|activity|A|1002|12|"
        "{\"day\":5}|a week at the sea|0|cmd-7|A");
    /* numbers go on, also after a restart */
    close_repository(&t);
    open_repository(&t, BF_PERSIST_WRITE_THROUGH);
    forward(&t, "i-1", "B", "leader");
    cr_assert_str_eq(test_db_text(&t.db, "SELECT GROUP_CONCAT(CONCAT_WS('>', seq, "
                                         "source_node_code, target_node_code) ORDER BY "
                                         "seq) FROM bpm_flow_task"),
                     "1>apply>leader,2>leader>boss");
    oa_end(&t);
}

Test(store_seed, Tx_Atomicity__states_and_history_come_together_or_not_at_all)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    cr_assert_str_eq(claim(&t, "i-1", "A"), "apply");
    /* the history is refused: the state is not written either, nor kept in memory */
    const bf_submit_t bad = {.node = node_of(&t, "apply"),
                             .action = BF_ACTION_FORWARD,
                             .message = "not UTF-8: \xC3\x28"};
    cr_assert_eq(submit_as(&t, "i-1", "A", bad), BF_E_STORE_DATA);
    cr_assert(strstr(t.err.text, "message"), "%s", t.err.text);
    cr_assert_str_eq(states_column(&t, "i-1"), "{\"oa:apply\":1001}");
    cr_assert_eq(count(&t, "bpm_flow_task"), 0);
    cr_assert_eq(state_of(&t, "i-1", "apply"), BF_TASK_WAITING);
    forward(&t, "i-1", "A", "apply"); /* and the same again, rightly */
    cr_assert_eq(test_db_int(&t.db, "SELECT seq FROM bpm_flow_task"), 1);
    /* a group of several operations: an error in the middle undoes all */
    cr_assert_eq(bf_mysql_repository_begin(t.repo, &t.err), BF_OK, "%s", t.err.text);
    forward(&t, "i-1", "B", "leader");
    cr_assert_eq(put(&t, "i-2", "apply", BF_TASK_WAITING), BF_OK);
    cr_assert_eq(count(&t, "bpm_flow_task"), 1, "nothing is written before commit");
    cr_assert_eq(bf_mysql_repository_begin(t.repo, NULL), BF_E_INVALID, "no nesting");
    bf_mysql_repository_rollback(t.repo);
    cr_assert_eq(state_of(&t, "i-1", "leader"), BF_TASK_UNKNOWN);
    cr_assert_eq(state_of(&t, "i-2", "apply"), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_mysql_repository_flush(t.repo, &t.err), BF_OK, "%s", t.err.text);
    cr_assert_eq(count(&t, "bpm_flow_task"), 1);
    cr_assert_eq(count(&t, "bpm_flow_repository"), 1);
    /* a group whose commit is refused */
    cr_assert_eq(bf_mysql_repository_begin(t.repo, &t.err), BF_OK, "%s", t.err.text);
    cr_assert_eq(put(&t, "i-2", "apply", BF_TASK_WAITING), BF_OK);
    const bf_submit_t bad_leader = {
        .node = node_of(&t, "leader"), .action = BF_ACTION_FORWARD, .message = "\xFF"};
    cr_assert_eq(submit_as(&t, "i-1", "B", bad_leader), BF_OK, "%s", t.err.text);
    cr_assert_eq(bf_mysql_repository_commit(t.repo, &t.err), BF_E_STORE_DATA);
    cr_assert_eq(count(&t, "bpm_flow_repository"), 1);
    cr_assert_eq(state_of(&t, "i-1", "leader"), BF_TASK_UNKNOWN);
    /* and one that goes through, in one transaction */
    bf_err_clear(&t.err);
    cr_assert_eq(bf_mysql_repository_begin(t.repo, &t.err), BF_OK, "%s", t.err.text);
    cr_assert_eq(put(&t, "i-2", "apply", BF_TASK_WAITING), BF_OK);
    forward(&t, "i-1", "B", "leader");
    cr_assert_eq(bf_mysql_repository_commit(t.repo, &t.err), BF_OK, "%s", t.err.text);
    cr_assert_eq(count(&t, "bpm_flow_task"), 2);
    cr_assert_eq(count(&t, "bpm_flow_repository"), 2);
    oa_end(&t);
}

/* Claim and submit by actors, a restart in the middle, until the instance is completed.
 */
static void walk_oa(int64_t day, const char *steps)
{
    oa_t t;
    bf_arena_t arena;
    bf_instance_row_t row;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    bf_arena_init(&arena, 0);
    set_day(&t, "i-1", day);
    cr_assert_str_eq(claim(&t, "i-1", "B"), "", "it is not B's turn");
    cr_assert_str_eq(claim(&t, "i-1", "A"), "apply");
    forward(&t, "i-1", "A", "apply");
    cr_assert_str_eq(claim(&t, "i-1", "A"), "");
    cr_assert_str_eq(claim(&t, "i-1", "B"), "leader");
    forward(&t, "i-1", "B", "leader");
    close_repository(&t);
    open_repository(&t, BF_PERSIST_WRITE_THROUGH);
    cr_assert_eq(bf_mysql_repository_load_snapshot(t.repo, "i-1", &arena, &row, &t.err),
                 BF_OK, "%s", t.err.text);
    cr_assert(strstr(row.states.data, "\"oa:leader\":1002"), "%s", row.states.data);
    cr_assert(strstr(row.graph.data, "\"id\":\"oa\""), "%s", row.graph.data);
    if (day > 3) {
        cr_assert_str_eq(claim(&t, "i-1", "D"), "");
        cr_assert_str_eq(claim(&t, "i-1", "C"), "boss");
        forward(&t, "i-1", "C", "boss");
    } else {
        cr_assert_str_eq(claim(&t, "i-1", "C"), "");
    }
    cr_assert_str_eq(claim(&t, "i-1", "D"), "archive");
    forward(&t, "i-1", "D", "archive");
    cr_assert_str_eq(claim(&t, "i-1", "D"), "");
    cr_assert_eq(test_db_int(&t.db, "SELECT status FROM bpm_flow_repository"),
                 BF_INSTANCE_COMPLETED, "marked, not deleted");
    cr_assert_str_eq(test_db_text(&t.db, "SELECT GROUP_CONCAT(CONCAT_WS('>', assignee, "
                                         "source_node_code, target_node_code) ORDER BY "
                                         "seq) FROM bpm_flow_task"),
                     steps);
    cr_assert_eq(test_db_int(&t.db, "SELECT instance_state FROM bpm_flow_task ORDER BY "
                                    "seq DESC LIMIT 1"),
                 BF_INSTANCE_COMPLETED);
    bf_arena_fini(&arena);
    oa_end(&t);
}

Test(store_seed, EndToEnd_OA_WithMySQL__long_leave)
{
    walk_oa(5, "A>apply>leader,B>leader>boss,C>boss>archive,D>archive>end");
}

Test(store_seed, EndToEnd_OA_WithMySQL__short_leave)
{
    walk_oa(2, "A>apply>leader,B>leader>archive,D>archive>end");
}

typedef struct submitter {
    oa_t *t;
    int won;
    int failed;
} submitter_t;

/* Tries to do each step of the instance; the executor lets one thread through for each.
 */
static void *submit_all(void *arg)
{
    static const char *const steps[][2] = {
        {"A", "apply"}, {"B", "leader"}, {"C", "boss"}, {"D", "archive"}};
    submitter_t *s = arg;
    for (size_t i = 0; i < 4;) {
        bf_err_t err = BF_ERR_INIT;
        const bf_submit_t submit = {.node = bf_graph_node(s->t->graph, steps[i][1]),
                                    .action = BF_ACTION_FORWARD,
                                    .message = "mine"};
        bf_task_state_t state = BF_TASK_UNKNOWN;
        bf_context_t *ctx = bf_context_new("i-1");
        bf_value_t actor = bf_value_cstr(steps[i][0]);
        bf_status_t status = ctx == NULL ? BF_E_NOMEM : BF_OK;
        if (status == BF_OK) {
            status = bf_context_put_str(ctx, "actor", &actor, &err);
        }
        if (status == BF_OK) {
            status =
                bf_executor_submit_task(s->t->executor, s->t->graph, &submit, ctx, &err);
        }
        s->won += status == BF_OK ? 1 : 0;
        if (status == BF_E_REJECTED || status == BF_OK) {
            status =
                bf_executor_get_state(s->t->executor, submit.node, ctx, &state, &err);
        }
        s->failed += status != BF_OK ? 1 : 0;
        i += state == BF_TASK_COMPLETED ? 1 : 0;
        bf_context_free(ctx);
        if (s->failed > 0) {
            return NULL;
        }
    }
    return NULL;
}

Test(store_seed, Concurrency_SingleExecutor__submits_of_one_instance_are_serial)
{
    enum { THREADS = 4 };
    oa_t t;
    pthread_t threads[THREADS];
    submitter_t submitters[THREADS];
    int won = 0;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    bf_executor_set_thread_safe(t.executor, true);
    set_day(&t, "i-1", 9);
    for (int i = 0; i < THREADS; i++) {
        submitters[i] = (submitter_t){.t = &t};
        cr_assert_eq(pthread_create(&threads[i], NULL, submit_all, &submitters[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_eq(submitters[i].failed, 0);
        won += submitters[i].won;
    }
    cr_assert_eq(won, 4, "each step was done once");
    cr_assert_eq(count(&t, "bpm_flow_task"), 4);
    cr_assert_eq(test_db_int(&t.db, "SELECT MAX(seq) FROM bpm_flow_task"), 4);
    cr_assert_eq(test_db_int(&t.db, "SELECT status FROM bpm_flow_repository"),
                 BF_INSTANCE_COMPLETED);
    /* memory and row agree */
    bf_instance_t *inst = NULL;
    bf_str_t text;
    bf_str_init(&text, 0);
    cr_assert_eq(t.repo->ops->open(t.repo, "i-1", &inst, NULL), BF_OK);
    cr_assert_eq(bf_instance_write_states(inst, &text), BF_OK);
    cr_assert_str_eq(states_column(&t, "i-1"), bf_str_peek(&text));
    cr_assert_eq(test_db_int(&t.db, "SELECT rev FROM bpm_flow_repository"),
                 bf_instance_revision(inst));
    bf_str_fini(&text);
    oa_end(&t);
}

/* Each process has a cache of its own.  The seed accepts that the last write wins; here
 * the revision makes it an error that names the instance, and the next operation works on
 * the row as it is. */
Test(store_seed, Distributed_Limitation__a_second_process_gets_a_conflict)
{
    oa_t t;
    oa_begin(&t, BF_PERSIST_WRITE_THROUGH);
    oa_t other = t; /* a second repository on the same database */
    open_repository(&other, BF_PERSIST_WRITE_THROUGH);
    cr_assert_eq(put(&t, "i-1", "apply", BF_TASK_WAITING), BF_OK);
    cr_assert_eq(state_of(&other, "i-1", "apply"), BF_TASK_WAITING);
    cr_assert_eq(put(&t, "i-1", "apply", BF_TASK_COMPLETED), BF_OK);
    cr_assert_eq(state_of(&other, "i-1", "apply"), BF_TASK_WAITING, "an old copy");
    cr_assert_eq(put(&other, "i-1", "leader", BF_TASK_WAITING), BF_E_CONFLICT);
    cr_assert(strstr(other.err.text, "i-1"), "%s", other.err.text);
    cr_assert_str_eq(states_column(&t, "i-1"), "{\"oa:apply\":1002}", "nothing is lost");
    cr_assert_eq(state_of(&other, "i-1", "apply"), BF_TASK_COMPLETED, "loaded anew");
    cr_assert_eq(put(&other, "i-1", "leader", BF_TASK_WAITING), BF_OK);
    cr_assert_str_eq(states_column(&t, "i-1"), "{\"oa:apply\":1002,\"oa:leader\":1001}");
    close_repository(&other);
    oa_end(&t);
}
