/*
 * store.c - opening and closing a store, and its statements
 *
 * Statements are prepared when they are first used and belong to the connection: a
 * reconnect drops them all.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/store.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/str.h"
#include "lib/store/store_int.h"

/* Columns of the widest bulk row, history. */
#define MAX_COLUMNS 21
/* Parameters of the widest other statement, which moves BF_ADVANCE_MAX offset rows. */
#define MAX_PARAMS ((size_t)7 * BF_ADVANCE_MAX + 1)
_Static_assert(MAX_PARAMS >= (size_t)2 * BF_LIST_MAX, "find_outcomes has two a place");
/* Texts of one multi-row statement, bytes; less where the server takes less. */
#define MAX_STATEMENT_BYTES ((size_t)4 << 20)

/* A row that is not as we loaded it keeps what it has.  The comparison is made once, and
 * its result is the sign of rev until the last assignment (both servers assign from left
 * to right).  The ID is compared too, since the row is found by its number where that is
 * known: a number that is wrong is a conflict then, and never somebody else's row. */
#define MARK_IF_OURS                                                                     \
    "rev = IF(rev = VALUES(prev_rev) AND instant_id = VALUES(instant_id), "              \
    "-VALUES(rev), "                                                                     \
    "rev)"
#define IF_MARKED(column, value) ", " column " = IF(rev < 0, " value ", " column ")"
#define SET(column)              IF_MARKED(column, "VALUES(" column ")")
/* What is NULL in the new row stays as it is, or is set once. */
#define SET_IF_GIVEN(column) IF_MARKED(column, "COALESCE(VALUES(" column "), " column ")")
#define SET_ONCE(column)     IF_MARKED(column, "COALESCE(" column ", VALUES(" column "))")
#define TAKE_MARK_AWAY       ", rev = ABS(rev)"

static const char instance_columns[] = "id, instant_id, graph, states, vars, tasks, rev, "
                                       "prev_rev, status, seq, partition_no, "
                                       "creator, create_time, updater, update_time";

static const char history_columns[] =
    "flow_ins_id, seq, proc_def_id, graph_version, task_id, action, source_node_code, "
    "source_node_name, source_node_type, target_node_code, target_node_name, "
    "target_node_type, assignee, status, form_id, variables, message, instance_state, "
    "command_id, creator, create_time";

/* --- statements --- */

static const size_t list_sizes[BF_LIST_SIZES] = {1, 10, BF_LIST_MAX};

bf_status_t bf_list_stmt_get(bf_list_stmt_t *list, bf_db_t *db, size_t count,
                             size_t *ret_size, bf_stmt_t **ret, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    size_t k = 0;
    while (k + 1 < BF_LIST_SIZES && list_sizes[k] < count) {
        k++;
    }
    if (list->stmts[k] == NULL) {
        bf_str_t sql;
        bf_str_init(&sql, 0);
        bf_str_puts(&sql, list->head);
        for (size_t i = 0; i < list_sizes[k]; i++) {
            bf_str_puts(&sql, i > 0 ? list->sep : "");
            bf_str_puts(&sql, list->item);
        }
        bf_str_puts(&sql, list->tail);
        status = bf_str_status(&sql, list->what, err);
        if (status == BF_OK) {
            status =
                bf_stmt_prepare(db, list->what, bf_str_peek(&sql), &list->stmts[k], err);
        }
        bf_str_fini(&sql);
    }
    *ret_size = list_sizes[k];
    *ret = list->stmts[k];
    return status;
}

void bf_list_stmt_reset(bf_list_stmt_t *list)
{
    for (size_t i = 0; i < BF_LIST_SIZES; i++) {
        bf_stmt_close(list->stmts[i]);
        list->stmts[i] = NULL;
    }
}

bf_status_t bf_store_stmt(bf_store_t *store, bf_stmt_id_t id, bf_stmt_t **ret,
                          bf_err_t *err)
{
    static const struct {
        const char *what;
        const char *text;
    } list[BF_STMT_COUNT] = {
#define X(name, what, text) {what, text},
        BF_STMT_LIST(X)
#undef X
    };
    bf_status_t status = bf_store_check_connected(store, err);
    if (status == BF_OK && store->stmts[id] == NULL) {
        status = bf_stmt_prepare(store->db, list[id].what, list[id].text,
                                 &store->stmts[id], err);
    }
    *ret = store->stmts[id];
    return status;
}

static void drop_statements(bf_store_t *store)
{
    bf_bulk_reset(&store->insert_instances);
    bf_bulk_reset(&store->update_instances);
    bf_bulk_reset(&store->insert_history);
    bf_bulk_reset(&store->insert_commands);
    bf_list_stmt_reset(&store->load_instances);
    bf_list_stmt_reset(&store->read_revisions);
    bf_list_stmt_reset(&store->find_outcomes);
    for (size_t i = 0; i < BF_ADVANCE_SIZES; i++) {
        bf_stmt_close(store->advance[i]);
        store->advance[i] = NULL;
    }
    for (size_t i = 0; i < BF_STMT_COUNT; i++) {
        bf_stmt_close(store->stmts[i]);
        store->stmts[i] = NULL;
    }
    bf_stmt_close(store->scan_applied);
    bf_stmt_close(store->insert_snapshot);
    bf_stmt_close(store->update_snapshot);
    store->insert_snapshot = NULL;
    store->update_snapshot = NULL;
    bf_stmt_close(store->scan_one);
    bf_stmt_close(store->scan_all);
    store->scan_applied = NULL;
    store->scan_one = NULL;
    store->scan_all = NULL;
}

/* --- texts --- */

static bool write_bulk_texts(bf_store_t *store)
{
    bf_arena_t *arena = &store->texts;
    const char *repository = store->tables.repository;
    store->insert_instances = (bf_bulk_t){
        .what = "new instances",
        .head = bf_arena_printf(arena, "INSERT INTO %s (%s) VALUES ", repository,
                                instance_columns),
        .tail = "",
        .columns = 15,
    };
    store->update_instances = (bf_bulk_t){
        .what = "changed instances",
        .head = store->insert_instances.head,
        .tail = " ON DUPLICATE KEY UPDATE " MARK_IF_OURS SET_IF_GIVEN("graph")
            SET("states") SET("vars") SET("tasks") SET("prev_rev") SET("status")
                SET("seq") SET("partition_no") SET("creator") SET_ONCE("create_time")
                    SET("updater") SET("update_time") TAKE_MARK_AWAY,
        .columns = 15,
    };
    store->insert_history = (bf_bulk_t){
        .what = "history rows",
        .head = bf_arena_printf(arena, "INSERT INTO %s (%s) VALUES ", store->tables.task,
                                history_columns),
        .tail = "",
        .columns = MAX_COLUMNS,
    };
    store->insert_commands = (bf_bulk_t){
        .what = "command outcomes",
        .head = "INSERT INTO bpm_flow_command (topic_no, partition_no, command_offset, "
                "instant_id, command_id, command, code, first_seq, last_seq, reply, "
                "reply_topic, traceparent, tracestate, create_time) VALUES ",
        .tail = "",
        .columns = 14,
    };
    return store->insert_instances.head != NULL && store->insert_history.head != NULL;
}

static bool write_list_texts(bf_store_t *store)
{
    bf_arena_t *arena = &store->texts;
    const char *repository = store->tables.repository;
    /* Indexes and the order of joins are given: while a table grows fast the server's
     * statistics are old, and it would read all rows instead of a hundred. */
    store->load_instances = (bf_list_stmt_t){
        .what = "loading instances",
        .head = bf_arena_printf(arena,
                                "SELECT %s FROM %s FORCE INDEX (uniq_instantId) "
                                "WHERE instant_id IN (",
                                instance_columns, repository),
        .item = "?",
        .sep = ",",
        .tail = ")",
    };
    store->read_revisions = (bf_list_stmt_t){
        .what = "revisions of instances",
        .head = bf_arena_printf(arena,
                                "SELECT instant_id, rev, prev_rev, updater, update_time "
                                "FROM %s FORCE INDEX (uniq_instantId) WHERE instant_id "
                                "IN (",
                                repository),
        .item = "?",
        .sep = ",",
        /* waits for a transaction of a connection that was lost */
        .tail = ") FOR UPDATE",
    };
    store->find_outcomes = (bf_list_stmt_t){
        .what = "first outcomes of commands",
        .head = "SELECT STRAIGHT_JOIN t.topic, c.partition_no, c.command_offset, "
                "c.instant_id, c.command_id, c.command, c.code, c.first_seq, c.last_seq, "
                "c.reply, c.reply_topic, c.traceparent, c.tracestate, c.create_time "
                "FROM bpm_flow_command c FORCE INDEX (uniq_command) JOIN bpm_flow_topic "
                "t ON t.topic_no = c.topic_no WHERE ",
        .item = "(c.instant_id = ? AND c.command_id = ?)",
        .sep = " OR ",
        .tail = "",
    };
    /* The order of the join is the one that reads least: the range of commands, then the
     * rows of each by instance. */
    store->scan_applied_sql = bf_arena_printf(
        arena,
        "SELECT STRAIGHT_JOIN c.command_offset, %s FROM bpm_flow_command c JOIN %s t "
        "ON t.flow_ins_id = c.instant_id AND t.seq BETWEEN c.first_seq AND c.last_seq "
        "WHERE c.topic_no = ? AND c.partition_no = ? AND c.command_offset >= ? "
        "AND c.command_offset <= ? AND c.last_seq > 0 ORDER BY c.command_offset, t.seq",
        "t.flow_ins_id, t.seq, t.proc_def_id, t.graph_version, t.task_id, t.action, "
        "t.source_node_code, t.source_node_name, t.source_node_type, "
        "t.target_node_code, t.target_node_name, t.target_node_type, t.assignee, "
        "t.status, t.form_id, t.variables, t.message, t.instance_state, t.command_id, "
        "t.creator, t.create_time",
        store->tables.task);
    store->insert_snapshot_sql = bf_arena_printf(
        arena,
        "INSERT INTO %s (instant_id, graph, states, vars, rev, create_time, update_time) "
        "VALUES (?, ?, '{}', COALESCE(?, '{}'), 1, ?, ?)",
        repository);
    store->update_snapshot_sql = bf_arena_printf(
        arena,
        "UPDATE %s SET graph = COALESCE(?, graph), vars = COALESCE(?, vars), "
        "prev_rev = rev, rev = rev + 1, update_time = ? WHERE instant_id = ? AND rev = ?",
        repository);
    store->scan_one_sql = bf_arena_printf(
        arena, "SELECT %s FROM %s WHERE flow_ins_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        history_columns, store->tables.task);
    /* The index gives the order; a sort of the whole table would be the alternative. */
    store->scan_all_sql = bf_arena_printf(
        arena,
        "SELECT %s FROM %s FORCE INDEX (uniq_instance_seq) WHERE flow_ins_id >= ? "
        "AND (flow_ins_id > ? OR seq > ?) ORDER BY flow_ins_id, seq LIMIT ?",
        history_columns, store->tables.task);
    return store->load_instances.head != NULL && store->read_revisions.head != NULL &&
           store->scan_applied_sql != NULL && store->scan_one_sql != NULL &&
           store->scan_all_sql != NULL && store->insert_snapshot_sql != NULL &&
           store->update_snapshot_sql != NULL;
}

static const char *copy_text(bf_store_t *store, const char *text, bool *ok)
{
    if (text == NULL) {
        return NULL;
    }
    const char *copy = bf_arena_strdup(&store->texts, text);
    *ok = *ok && copy != NULL;
    return copy;
}

static bool copy_options(bf_store_t *store, const bf_store_options_t *options)
{
    bool ok = true;
    store->options = options->db;
    store->options.host = copy_text(store, options->db.host, &ok);
    store->options.socket = copy_text(store, options->db.socket, &ok);
    store->options.user = copy_text(store, options->db.user, &ok);
    store->options.password = copy_text(store, options->db.password, &ok);
    store->options.database = copy_text(store, options->db.database, &ok);
    store->options.tls_ca = copy_text(store, options->db.tls_ca, &ok);
    store->tables.repository = copy_text(
        store,
        options->repository_table ? options->repository_table : BF_TABLE_REPOSITORY, &ok);
    store->tables.task =
        copy_text(store, options->task_table ? options->task_table : BF_TABLE_TASK, &ok);
    return ok;
}

/* --- life --- */

bf_status_t bf_store_check_connected(const bf_store_t *store, bf_err_t *err)
{
    if (store->db != NULL) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_STORE_LOST, "there is no connection to the database");
}

static void use_connection(bf_bulk_t *bulk, bf_store_t *store)
{
    size_t quarter = store->db->max_packet_bytes / 4;
    bulk->db = store->db;
    bulk->params = &store->bulk_params;
    bulk->max_bytes = quarter < MAX_STATEMENT_BYTES ? quarter : MAX_STATEMENT_BYTES;
}

static void disconnect(bf_store_t *store)
{
    drop_statements(store);
    bf_db_close(store->db);
    store->db = NULL;
}

/* A server that answers and takes no writes (a primary that became a replica) is as good
 * as none.  Whatever else is wrong comes up at the first statement that needs it. */
static bf_status_t check_writable(bf_store_t *store, bf_err_t *err)
{
    bf_err_t why = BF_ERR_INIT;
    bf_status_t status = bf_db_execute(
        store->db, "UPDATE bpm_flow_offset SET epoch = epoch WHERE 1 = 0", &why);
    return status == BF_E_STORE_LOST ? bf_err_set(err, status, "%s", why.text) : BF_OK;
}

static bf_status_t connect_again(bf_store_t *store, bf_err_t *err)
{
    disconnect(store);
    bf_status_t status = bf_db_connect(&store->options, &store->db, err);
    if (status != BF_OK) {
        return status;
    }
    BF_ASSERT(store->db != NULL);
    use_connection(&store->insert_instances, store);
    use_connection(&store->update_instances, store);
    use_connection(&store->insert_history, store);
    use_connection(&store->insert_commands, store);
    return BF_OK;
}

bf_status_t bf_store_reconnect(bf_store_t *store, bf_err_t *err)
{
    bf_status_t status = connect_again(store, err);
    if (status != BF_OK) {
        return status;
    }
    status = check_writable(store, err);
    if (status != BF_OK) {
        disconnect(store);
    }
    return status;
}

bf_status_t bf_store_open(const bf_store_options_t *options, bf_store_t **ret,
                          bf_err_t *err)
{
    bf_status_t status = BF_OK;
    bf_store_t *store = calloc(1, sizeof(*store));
    if (store == NULL) {
        return bf_err_nomem(err, "opening the store");
    }
    bf_arena_init(&store->texts, 0);
    bf_arena_init(&store->batch, 0);
    if (!copy_options(store, options)) {
        status = bf_err_nomem(err, "opening the store");
        goto out;
    }
    status = bf_tables_check(&store->tables, err);
    if (status != BF_OK) {
        goto out;
    }
    if (!write_bulk_texts(store) || !write_list_texts(store) ||
        bf_params_init(&store->params, MAX_PARAMS) != BF_OK ||
        bf_params_init(&store->bulk_params, (size_t)MAX_COLUMNS * BF_BULK_MAX) != BF_OK) {
        status = bf_err_nomem(err, "opening the store");
        goto out;
    }
    status = connect_again(store, err);
    if (status == BF_OK) {
        status = bf_migrate_check(store->db, &store->tables, err);
    }
    if (status == BF_OK) {
        *ret = store;
        store = NULL;
    }
out:
    bf_store_close(store);
    return status;
}

void bf_store_close(bf_store_t *store)
{
    if (store == NULL) {
        return;
    }
    drop_statements(store);
    bf_db_close(store->db);
    for (size_t i = 0; i < store->number_count; i++) {
        free(store->numbers[i].topic);
    }
    free(store->numbers);
    bf_params_fini(&store->params);
    bf_params_fini(&store->bulk_params);
    bf_pipe_fini(&store->pipe);
    bf_arena_fini(&store->texts);
    bf_arena_fini(&store->batch);
    free(store->conflicts);
    free(store);
}

bf_db_t *bf_store_db(bf_store_t *store)
{
    return store->db;
}

void bf_store_rollback(bf_store_t *store)
{
    if (store->db != NULL) {
        bf_db_roll_back(store->db);
    }
}
