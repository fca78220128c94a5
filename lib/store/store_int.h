/*
 * store_int.h - the inside of a store, for the files store*.c
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_STORE_INT_H
#define BF_STORE_STORE_INT_H

#include "bpmflow/migrate.h"
#include "bpmflow/store.h"
#include "lib/store/pipe_int.h"

/* A statement with a list in it ("... IN (?,?,?)"), prepared in three sizes; a shorter
 * list is filled up with its last item, which changes nothing. */
#define BF_LIST_SIZES 3
#define BF_LIST_MAX   100

typedef struct bf_list_stmt {
    const char *what;
    const char *head;
    const char *item;
    const char *sep;
    const char *tail;
    bf_stmt_t *stmts[BF_LIST_SIZES];
} bf_list_stmt_t;

/** The statement that takes `count` (1 to BF_LIST_MAX) items. @param ret_size items that
 *  must be put */
bf_status_t bf_list_stmt_get(bf_list_stmt_t *list, bf_db_t *db, size_t count,
                             size_t *ret_size, bf_stmt_t **ret,
                             bf_err_t *err) BF_MUST_USE;
void bf_list_stmt_reset(bf_list_stmt_t *list);

/* Statements of one size. X(name, what, text) */
#define BF_STMT_LIST(X)                                                                  \
    X(READ_PARTITION, "offset row",                                                      \
      "SELECT next_offset, epoch, released, topic_id, owner, incarnation, "              \
      "transactional_id, topic_no, connection_id FROM bpm_flow_offset "                  \
      "WHERE topic = ? AND partition_no = ?")                                            \
    X(LOCK_PARTITION, "offset row",                                                      \
      "SELECT next_offset, epoch, released, topic_id, owner, incarnation, "              \
      "transactional_id, topic_no, connection_id FROM bpm_flow_offset "                  \
      "WHERE topic = ? AND partition_no = ? FOR UPDATE")                                 \
    X(INSERT_PARTITION, "offset row",                                                    \
      "INSERT INTO bpm_flow_offset (topic, partition_no, topic_no, topic_id, "           \
      "next_offset, epoch, owner, incarnation, transactional_id, released, "             \
      "connection_id, update_time) "                                                     \
      "VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, FALSE, CONNECTION_ID(), ?)")                   \
    X(TAKE_PARTITION, "offset row",                                                      \
      "UPDATE bpm_flow_offset SET topic_no = ?, topic_id = ?, next_offset = ?, "         \
      "epoch = epoch + 1, owner = ?, incarnation = ?, transactional_id = ?, "            \
      "released = FALSE, connection_id = CONNECTION_ID(), update_time = ? "              \
      "WHERE topic = ? AND partition_no = ?")                                            \
    X(RELEASE_PARTITION, "offset row",                                                   \
      "UPDATE bpm_flow_offset SET released = TRUE, update_time = ? "                     \
      "WHERE topic = ? AND partition_no = ? AND epoch = ?")                              \
    X(NOTE_PROBLEM, "problem of a partition",                                            \
      "INSERT INTO bpm_flow_problem (topic, partition_no, owner, problem, "              \
      "problem_time) VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE "                    \
      "owner = VALUES(owner), problem = VALUES(problem), "                               \
      "problem_time = VALUES(problem_time)")                                             \
    X(READ_PROBLEM, "problem of a partition",                                            \
      "SELECT p.owner, p.problem, p.problem_time, o.update_time FROM "                   \
      "bpm_flow_problem p LEFT JOIN bpm_flow_offset o ON o.topic = p.topic AND "         \
      "o.partition_no = p.partition_no WHERE p.topic = ? AND p.partition_no = ?")        \
    X(INSERT_TOPIC, "topic number",                                                      \
      "INSERT IGNORE INTO bpm_flow_topic (topic, topic_id) VALUES (?, ?)")               \
    X(FIND_LATER, "command outcomes",                                                    \
      "SELECT command_offset FROM bpm_flow_command WHERE topic_no = ? AND "              \
      "partition_no = ? AND command_offset >= ? LIMIT 1")                                \
    X(READ_TOPIC, "topic number",                                                        \
      "SELECT topic_no FROM bpm_flow_topic WHERE topic = ? AND topic_id = ?")            \
    X(SCAN_COMMANDS, "command outcomes",                                                 \
      "SELECT command_offset, instant_id, command_id, command, code, first_seq, "        \
      "last_seq, reply, reply_topic, traceparent, tracestate, create_time "              \
      "FROM bpm_flow_command WHERE topic_no = ? AND partition_no = ? "                   \
      "AND command_offset >= ? AND command_offset < ? "                                  \
      "ORDER BY command_offset LIMIT ?")

typedef enum {
#define X(name, what, text) BF_STMT_##name,
    BF_STMT_LIST(X)
#undef X
        BF_STMT_COUNT
} bf_stmt_id_t;

/* The offset rows of a batch move in one statement, prepared in these sizes. */
#define BF_ADVANCE_SIZES 3
#define BF_ADVANCE_MAX   64

/* Under which number the commands of a partition are kept. */
typedef struct bf_topic_number {
    char *topic; /* owned */
    int32_t partition_no;
    int32_t number;
} bf_topic_number_t;

struct bf_store {
    bf_arena_t texts; /* options and statements */
    bf_db_options_t options;
    bf_tables_t tables;
    bf_db_t *db; /* NULL after a reconnect that failed */

    bf_params_t params;      /* of single statements and lists */
    bf_params_t bulk_params; /* of the bulks */
    bf_pipe_t pipe;          /* of the transaction of a batch */
    bf_bulk_t insert_instances;
    bf_bulk_t update_instances;
    bf_bulk_t insert_history;
    bf_bulk_t insert_commands;
    bf_list_stmt_t load_instances;
    bf_list_stmt_t read_revisions;
    bf_list_stmt_t find_outcomes;
    bf_stmt_t *advance[BF_ADVANCE_SIZES];
    bf_stmt_t *stmts[BF_STMT_COUNT];
    bf_stmt_t *scan_applied; /* history of a range of commands */
    bf_stmt_t *scan_one;     /* next page of an instance's history */
    bf_stmt_t *scan_all;     /* next page of all history */
    bf_stmt_t *insert_snapshot;
    bf_stmt_t *update_snapshot;
    const char *insert_snapshot_sql;
    const char *update_snapshot_sql;
    const char *scan_applied_sql;
    const char *scan_one_sql;
    const char *scan_all_sql;

    bf_topic_number_t *numbers; /* of the partitions met so far */
    size_t number_count;
    size_t number_capacity;
    size_t last_number; /* where the last one was found: mostly it is the next one too */

    bf_arena_t batch; /* rows of the batch being written */
    const bf_instance_t **conflicts;
    size_t conflict_capacity;
};

/** The prepared statement; BF_E_STORE_LOST when there is no connection. */
bf_status_t bf_store_stmt(bf_store_t *store, bf_stmt_id_t id, bf_stmt_t **ret,
                          bf_err_t *err) BF_MUST_USE;

/** BF_OK, or BF_E_STORE_LOST when the last reconnect failed. */
bf_status_t bf_store_check_connected(const bf_store_t *store, bf_err_t *err) BF_MUST_USE;

/** Undo. See bf_db_roll_back(). */
void bf_store_rollback(bf_store_t *store);

/** As bf_store_read_partition(), waiting for a transaction that holds the row. */
bf_status_t bf_store_lock_partition(bf_store_t *store, const char *topic,
                                    int32_t partition_no, int64_t epoch,
                                    bf_partition_row_t *ret, bf_err_t *err) BF_MUST_USE;

/** Somebody holds the row of a partition for too long.  The connection that wrote it last
 *  may be the one: that of an owner that was stopped inside of its transaction, or our
 * own former one, which the server does not know to be gone; it is ended.
 *  @param epoch  only while the row has this one: who has lost the partition leaves the
 *                new owner alone; 0 = whoever owns it */
void bf_store_end_holder(bf_store_t *store, const char *topic, int32_t partition_no,
                         int64_t epoch);

/** Copy the outcome that stands in the columns `first`, first + 1, ... of a row:
 *  instant_id, command_id, command, code, first_seq, last_seq, reply, reply_topic,
 *  traceparent, tracestate, create_time. */
bf_status_t bf_store_read_command(const bf_stmt_t *stmt, size_t first, bf_arena_t *arena,
                                  bf_command_row_t *ret, bf_err_t *err) BF_MUST_USE;

/* The snapshot columns of one instance. */
typedef struct bf_snapshot {
    const char *instance_id;
    int32_t stored_rev; /* revision that the row must have; 0 = there must be none */
    const char *graph;  /* NULL = as it is */
    const char *vars;   /* NULL = as it is */
} bf_snapshot_t;

/** Write them in a transaction of their own; the revision goes up by one.
 *  BF_E_CONFLICT: the row has another revision; errors of the database. */
bf_status_t bf_store_write_snapshot(bf_store_t *store, const bf_snapshot_t *snapshot,
                                    bf_err_t *err) BF_MUST_USE;

/** The row of an instance as it stands; texts live in the arena. BF_E_NOT_FOUND. */
bf_status_t bf_store_read_row(bf_store_t *store, const char *instance_id,
                              bf_arena_t *arena, bf_instance_row_t *ret,
                              bf_err_t *err) BF_MUST_USE;

/** Number under which commands of this partition are kept. */
bf_status_t bf_store_topic_number(bf_store_t *store, const char *topic,
                                  int32_t partition_no, int32_t *ret,
                                  bf_err_t *err) BF_MUST_USE;

#endif /* BF_STORE_STORE_INT_H */
