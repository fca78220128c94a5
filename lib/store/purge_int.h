/*
 * purge_int.h - the inside of a purge, for the files purge*.c
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_PURGE_INT_H
#define BF_STORE_PURGE_INT_H

#include "bpmflow/map.h"
#include "bpmflow/purge.h"
#include "lib/store/store_int.h"

/* Finished: completed, terminated, withdrawn. */
#define BF_PURGE_FINISHED "status IN (1, 2, 4)"

/* X(name, what): statements with one set of parameters */
#define BF_PURGE_STMT_LIST(X)                                                            \
    X(CANDIDATES, "finished instances")                                                  \
    X(FIRST_COMMAND, "outcomes of commands")                                             \
    X(ORPHANS, "outcomes without an instance")                                           \
    X(LOG_NEW, "log of purges")                                                          \
    X(LOG_MORE, "log of purges")

typedef enum {
#define X(name, what) BF_PURGE_##name,
    BF_PURGE_STMT_LIST(X)
#undef X
        BF_PURGE_STMT_COUNT
} bf_purge_stmt_id_t;

/* X(name): statements with a list of up to BF_LIST_MAX items */
#define BF_PURGE_LIST_LIST(X)                                                            \
    X(LOCK)                                                                              \
    X(COMMANDS)                                                                          \
    X(DELETE_HISTORY)                                                                    \
    X(DELETE_COMMANDS)                                                                   \
    X(DELETE_INSTANCES)                                                                  \
    X(DELETE_ORPHANS)                                                                    \
    X(ARCHIVE_INSTANCES)                                                                 \
    X(ARCHIVE_HISTORY)                                                                   \
    X(ARCHIVE_COMMANDS)                                                                  \
    X(ARCHIVE_ORPHANS)

typedef enum {
#define X(name) BF_PURGE_##name,
    BF_PURGE_LIST_LIST(X)
#undef X
        BF_PURGE_LIST_COUNT
} bf_purge_list_id_t;

/* A partition of some life of a topic. */
typedef struct bf_purge_partition {
    int32_t topic_no;
    int32_t partition_no;
    int64_t published;
} bf_purge_partition_t;

/* The outcomes of one instance in one partition, up to an offset. */
typedef struct bf_purge_commands {
    const char *instance_id;
    int32_t topic_no;
    int32_t partition_no;
    int64_t last_offset;
    int64_t count;
} bf_purge_commands_t;

typedef struct bf_purge_instance {
    const char *id;
    int32_t seq;
    bool stays;
    bool locked;
} bf_purge_instance_t;

struct bf_purge {
    bf_store_t *store;
    bf_purge_options_t options;
    bf_purge_counts_t counts; /* of batches that are committed */
    bf_purge_counts_t batch;  /* of the batch in work */
    int64_t purge_no;         /* row of the log; 0 = none yet */

    /* of all partitions that outcomes are kept of */
    bf_purge_partition_t *partitions;
    size_t partition_count;
    size_t partition_capacity;

    /* where it is: all instances by number, then the outcomes of each partition */
    int64_t last_id;
    int64_t max_id;
    size_t partition;
    int64_t next_offset;

    /* the batch in work; texts live in the arena */
    bf_arena_t arena;
    bf_purge_instance_t *candidates;
    size_t candidate_count;
    bf_purge_instance_t *instances; /* those of them that go; same capacity */
    size_t instance_count;
    bf_map_t *by_id; /* ID -> bf_purge_instance_t */
    bf_purge_commands_t *commands;
    size_t command_count;
    size_t command_capacity;
    int64_t *orphans; /* offsets */
    size_t orphan_count;
    bf_str_t line;

    bf_arena_t texts;
    const char *sql[BF_PURGE_STMT_COUNT];
    bf_stmt_t *stmts[BF_PURGE_STMT_COUNT];
    bf_list_stmt_t lists[BF_PURGE_LIST_COUNT];
};

/* purge_sql.c */

/** False when out of memory. */
bool bf_purge_write_texts(bf_purge_t *purge);
/** The statement with no parameters put yet (store->params). */
bf_status_t bf_purge_stmt(bf_purge_t *purge, bf_purge_stmt_id_t id, bf_stmt_t **ret,
                          bf_err_t *err) BF_MUST_USE;
bf_status_t bf_purge_list(bf_purge_t *purge, bf_purge_list_id_t id, size_t count,
                          size_t *ret_size, bf_stmt_t **ret, bf_err_t *err) BF_MUST_USE;

/* purge_archive.c */

/** Hand the rows of the batch to the archive. */
bf_status_t bf_purge_archive_rows(bf_purge_t *purge, bf_err_t *err) BF_MUST_USE;

/* purge_batch.c */

/** The instances or orphans of the batch, in one transaction; tried again where that
 *  helps. */
bf_status_t bf_purge_delete(bf_purge_t *purge, bf_err_t *err) BF_MUST_USE;

#endif /* BF_STORE_PURGE_INT_H */
