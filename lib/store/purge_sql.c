/*
 * purge_sql.c - the statements of a purge
 *
 * Indexes are given, as elsewhere: the statistics of tables that shrink and grow fast
 * are no guide.  Deletes name them in the form for several tables, the only one that
 * takes an index.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/purge_int.h"

#define INSTANCE_COLUMNS                                                                 \
    "id, instant_id, graph, states, vars, tasks, rev, prev_rev, status, seq, "           \
    "partition_no, creator, create_time, updater, update_time"
#define HISTORY_COLUMNS                                                                  \
    "id, flow_ins_id, seq, proc_def_id, graph_version, task_id, action, "                \
    "source_node_code, source_node_name, source_node_type, target_node_code, "           \
    "target_node_name, target_node_type, assignee, status, form_id, variables, "         \
    "message, instance_state, command_id, creator, create_time, updater, update_time"
#define COMMAND_COLUMNS                                                                  \
    "topic_no, partition_no, command_offset, instant_id, command_id, command, code, "    \
    "first_seq, last_seq, reply, reply_topic, traceparent, tracestate, create_time"

#define OF_COMMANDS                                                                      \
    "(c.instant_id = ? AND c.topic_no = ? AND c.partition_no = ? AND "                   \
    "c.command_offset <= ?)"

static bool write_stmts(bf_purge_t *purge)
{
    bf_arena_t *arena = &purge->texts;
    const char *repository = purge->store->tables.repository;
    purge->sql[BF_PURGE_CANDIDATES] = bf_arena_printf(
        arena,
        "SELECT id, instant_id, seq FROM %s FORCE INDEX (PRIMARY) WHERE id > ? AND "
        "id <= ? AND " BF_PURGE_FINISHED " AND update_time < ? ORDER BY id LIMIT ?",
        repository);
    purge->sql[BF_PURGE_FIRST_COMMAND] =
        "SELECT command_offset, create_time FROM bpm_flow_command WHERE topic_no = ? "
        "AND partition_no = ? AND command_offset >= ? ORDER BY command_offset LIMIT 1";
    purge->sql[BF_PURGE_ORPHANS] = bf_arena_printf(
        arena,
        "SELECT c.command_offset FROM bpm_flow_command c FORCE INDEX (PRIMARY) "
        "LEFT JOIN %s r FORCE INDEX (uniq_instantId) ON r.instant_id = c.instant_id "
        "WHERE c.topic_no = ? AND c.partition_no = ? AND c.command_offset >= ? AND "
        "c.command_offset < ? AND c.create_time < ? AND r.id IS NULL "
        "ORDER BY c.command_offset LIMIT ?",
        repository);
    purge->sql[BF_PURGE_LOG_NEW] =
        "INSERT INTO bpm_flow_purge (older_than, start_time, update_time, instances, "
        "history_rows, commands) VALUES (?, ?, ?, ?, ?, ?)";
    purge->sql[BF_PURGE_LOG_MORE] =
        "UPDATE bpm_flow_purge SET update_time = ?, instances = instances + ?, "
        "history_rows = history_rows + ?, commands = commands + ? WHERE purge_no = ?";
    return purge->sql[BF_PURGE_CANDIDATES] != NULL &&
           purge->sql[BF_PURGE_ORPHANS] != NULL;
}

static void set_list(bf_purge_t *purge, bf_purge_list_id_t id, const char *head,
                     const char *tail)
{
    purge->lists[id] = (bf_list_stmt_t){
        .what = "purging", .head = head, .item = "?", .sep = ",", .tail = tail};
}

static bool write_deletes(bf_purge_t *purge)
{
    bf_arena_t *arena = &purge->texts;
    const char *repository = purge->store->tables.repository;
    const char *task = purge->store->tables.task;
    set_list(purge, BF_PURGE_LOCK,
             bf_arena_printf(arena,
                             "SELECT instant_id FROM %s FORCE INDEX (uniq_instantId) "
                             "WHERE " BF_PURGE_FINISHED
                             " AND update_time < ? AND instant_id IN (",
                             repository),
             purge->options.dry_run ? ")" : ") FOR UPDATE SKIP LOCKED");
    set_list(purge, BF_PURGE_COMMANDS,
             "SELECT instant_id, topic_no, partition_no, MAX(command_offset), COUNT(*) "
             "FROM bpm_flow_command FORCE INDEX (uniq_command) WHERE instant_id IN (",
             ") GROUP BY instant_id, topic_no, partition_no");
    set_list(purge, BF_PURGE_DELETE_HISTORY,
             bf_arena_printf(arena,
                             "DELETE t FROM %s t FORCE INDEX (uniq_instance_seq) WHERE "
                             "t.flow_ins_id IN (",
                             task),
             ")");
    set_list(purge, BF_PURGE_DELETE_INSTANCES,
             bf_arena_printf(arena,
                             "DELETE r FROM %s r FORCE INDEX (uniq_instantId) WHERE "
                             "r.instant_id IN (",
                             repository),
             ")");
    set_list(purge, BF_PURGE_DELETE_COMMANDS,
             "DELETE c FROM bpm_flow_command c FORCE INDEX (uniq_command) WHERE ", "");
    purge->lists[BF_PURGE_DELETE_COMMANDS].item = OF_COMMANDS;
    purge->lists[BF_PURGE_DELETE_COMMANDS].sep = " OR ";
    set_list(purge, BF_PURGE_DELETE_ORPHANS,
             "DELETE c FROM bpm_flow_command c FORCE INDEX (PRIMARY) WHERE "
             "c.topic_no = ? AND c.partition_no = ? AND c.command_offset IN (",
             ")");
    return purge->lists[BF_PURGE_LOCK].head != NULL &&
           purge->lists[BF_PURGE_DELETE_HISTORY].head != NULL &&
           purge->lists[BF_PURGE_DELETE_INSTANCES].head != NULL;
}

static bool write_selects(bf_purge_t *purge)
{
    bf_arena_t *arena = &purge->texts;
    set_list(
        purge, BF_PURGE_ARCHIVE_INSTANCES,
        bf_arena_printf(arena,
                        "SELECT " INSTANCE_COLUMNS
                        " FROM %s FORCE INDEX (uniq_instantId) WHERE instant_id IN (",
                        purge->store->tables.repository),
        ")");
    set_list(purge, BF_PURGE_ARCHIVE_HISTORY,
             bf_arena_printf(arena,
                             "SELECT " HISTORY_COLUMNS
                             " FROM %s FORCE INDEX (uniq_instance_seq) "
                             "WHERE flow_ins_id IN (",
                             purge->store->tables.task),
             ") ORDER BY flow_ins_id, seq");
    set_list(purge, BF_PURGE_ARCHIVE_COMMANDS,
             "SELECT " COMMAND_COLUMNS
             " FROM bpm_flow_command c FORCE INDEX (uniq_command) WHERE ",
             "");
    purge->lists[BF_PURGE_ARCHIVE_COMMANDS].item = OF_COMMANDS;
    purge->lists[BF_PURGE_ARCHIVE_COMMANDS].sep = " OR ";
    set_list(purge, BF_PURGE_ARCHIVE_ORPHANS,
             "SELECT " COMMAND_COLUMNS
             " FROM bpm_flow_command c FORCE INDEX (PRIMARY) WHERE topic_no = ? AND "
             "partition_no = ? AND command_offset IN (",
             ")");
    return purge->lists[BF_PURGE_ARCHIVE_INSTANCES].head != NULL &&
           purge->lists[BF_PURGE_ARCHIVE_HISTORY].head != NULL;
}

bool bf_purge_write_texts(bf_purge_t *purge)
{
    return write_stmts(purge) && write_deletes(purge) && write_selects(purge);
}

bf_status_t bf_purge_stmt(bf_purge_t *purge, bf_purge_stmt_id_t id, bf_stmt_t **ret,
                          bf_err_t *err)
{
    static const char *const whats[] = {
#define X(name, what) what,
        BF_PURGE_STMT_LIST(X)
#undef X
    };
    bf_params_clear(&purge->store->params);
    bf_status_t status = BF_OK;
    if (purge->stmts[id] == NULL) {
        status = bf_stmt_prepare(purge->store->db, whats[id], purge->sql[id],
                                 &purge->stmts[id], err);
    }
    *ret = purge->stmts[id];
    return status;
}

bf_status_t bf_purge_list(bf_purge_t *purge, bf_purge_list_id_t id, size_t count,
                          size_t *ret_size, bf_stmt_t **ret, bf_err_t *err)
{
    bf_params_clear(&purge->store->params);
    return bf_list_stmt_get(&purge->lists[id], purge->store->db, count, ret_size, ret,
                            err);
}
