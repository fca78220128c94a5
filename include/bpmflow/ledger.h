/*
 * ledger.h - the approval ledger: eight tables of rows, kept in memory
 *
 * Five tables decide (definition, instance, task, actor, copy), three are kept for people
 * (design, its history, delegation).  A row has the columns of its table, all of them; a
 * text that is NULL, a time or an ID of 0 stand for NULL in the database.
 *
 * What changes is a list of changes, applied as a whole or not at all: that is what an
 * operation of the engine (approval.h) hands over, and what a ledger in a database takes
 * in one transaction.  Only rows of actors, designs, design histories, definitions and
 * delegations may be deleted; instances, tasks and copies change their state and stay
 * (rule 38).
 *
 * Memory:   the ledger owns copies of the rows.  A row that is given out stays valid
 *           until a change of that row, and with it the texts that a copy of its struct
 *           has.
 * Threads:  one at a time.
 * Blocks:   never, but for the sink that the host may give.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_LEDGER_H
#define BF_LEDGER_H

#include "bpmflow/value.h"

/* States of an instance and of a task: the codes are a contract. */
typedef enum bf_approval_state {
    BF_APPROVAL_DOING = 10,
    BF_APPROVAL_FINISHED = 20,
    BF_APPROVAL_WITHDRAWN = 30,   /* by the initiator */
    BF_APPROVAL_INTERRUPTED = 40, /* by an administrator */
    BF_APPROVAL_REJECTED = 45,    /* instances only */
    BF_APPROVAL_PENDING = 50,     /* suspended */
    BF_APPROVAL_ABANDONED = 99
} bf_approval_state_t;

/* Columns of every row but those of actors and design histories. */
typedef struct bf_audit {
    int64_t create_time; /* wall milliseconds */
    const char *create_user;
    int64_t update_time;
    const char *update_user;
} bf_audit_t;

/* wf_process_define: what was published. */
typedef struct bf_define_row {
    int64_t id;
    const char *name;
    const char *display_name;
    const char *type;
    int32_t state;       /* 1 usable, 0 not */
    int32_t version;     /* the first one is 0 */
    const char *content; /* the flow, JSON */
    bf_audit_t audit;
} bf_define_row_t;

/* wf_process_instance: one application. */
typedef struct bf_process_row {
    int64_t id;
    int64_t parent_id; /* of a sub-process, else 0 */
    int64_t process_define_id;
    int32_t state; /* bf_approval_state_t */
    const char *parent_node_name;
    const char *business_no;
    const char *operator_id; /* column `operator`: the initiator */
    int64_t expire_time;
    const char *variable; /* JSON object */
    bf_audit_t audit;
} bf_process_row_t;

/* wf_process_task: where the application stands, and where it stood. */
typedef struct bf_task_row {
    int64_t id;
    int64_t process_instance_id;
    const char *task_name; /* ID of the node */
    const char *display_name;
    int32_t task_type;    /* 0 main, 1 assistant, 2 record */
    int32_t perform_type; /* 0 normal, 1 countersign */
    int32_t task_state;   /* bf_approval_state_t */
    const char
        *operator_id; /* column `operator`: who did it; NULL until it is finished */
    int64_t finish_time;
    int64_t expire_time;
    const char *form_key;
    int64_t task_parent_id; /* whose completion created this row; 0 = none */
    const char *variable;   /* JSON object */
    bf_audit_t audit;
} bf_task_row_t;

/* wf_process_task_actor: who may do a task. Written once, never changed. */
typedef struct bf_actor_row {
    int64_t id;
    int64_t process_task_id;
    const char *actor_id;
    int64_t create_time;
    const char *create_user;
} bf_actor_row_t;

/* wf_process_cc_instance: who gets a copy. */
typedef struct bf_cc_row {
    int64_t id;
    int64_t process_instance_id;
    const char *actor_id;
    int32_t state; /* 0 unread, 1 read */
    bf_audit_t audit;
} bf_cc_row_t;

/* wf_process_design: a draft. */
typedef struct bf_design_row {
    int64_t id;
    const char *name;
    const char *display_name;
    const char *description;
    const char *type;
    const char *icon;
    int32_t is_deployed; /* 1: as published */
    bf_audit_t audit;
} bf_design_row_t;

/* wf_process_design_his: a draft as it was saved. */
typedef struct bf_design_his_row {
    int64_t id;
    int64_t process_design_id;
    const char *content; /* the flow, JSON */
    int64_t create_time;
    const char *create_user;
} bf_design_his_row_t;

/* wf_process_surrogate: who stands in for whom, when, for what. */
typedef struct bf_surrogate_row {
    int64_t id;
    const char *process_name; /* empty or NULL: every process */
    const char *operator_id;  /* column `operator`: the principal */
    const char *surrogate;    /* the agent */
    int64_t start_time;       /* 0 = open */
    int64_t end_time;         /* 0 = open */
    int32_t enabled;          /* 1 = counts */
    bf_audit_t audit;
} bf_surrogate_row_t;

/* X(NAME, table, row type, may its rows be deleted) */
#define BF_LEDGER_TABLES(X)                                                              \
    X(DEFINE, "wf_process_define", bf_define_row_t, true)                                \
    X(PROCESS, "wf_process_instance", bf_process_row_t, false)                           \
    X(TASK, "wf_process_task", bf_task_row_t, false)                                     \
    X(ACTOR, "wf_process_task_actor", bf_actor_row_t, true)                              \
    X(CC, "wf_process_cc_instance", bf_cc_row_t, false)                                  \
    X(DESIGN, "wf_process_design", bf_design_row_t, true)                                \
    X(DESIGN_HIS, "wf_process_design_his", bf_design_his_row_t, true)                    \
    X(SURROGATE, "wf_process_surrogate", bf_surrogate_row_t, true)

typedef enum bf_ledger_table {
#define X(name, table, type, deletable) BF_LEDGER_##name,
    BF_LEDGER_TABLES(X)
#undef X
        BF_LEDGER_TABLE_COUNT
} bf_ledger_table_t;

/* The fourteen secondary indexes. X(NAME, table, column of the row, is it an ID) */
#define BF_LEDGER_INDEXES(X)                                                             \
    X(DEFINE_NAME, DEFINE, bf_define_row_t, name, false)                                 \
    X(PROCESS_DEFINE, PROCESS, bf_process_row_t, process_define_id, true)                \
    X(PROCESS_OPERATOR, PROCESS, bf_process_row_t, operator_id, false)                   \
    X(TASK_PROCESS, TASK, bf_task_row_t, process_instance_id, true)                      \
    X(TASK_NAME, TASK, bf_task_row_t, task_name, false)                                  \
    X(TASK_OPERATOR, TASK, bf_task_row_t, operator_id, false)                            \
    X(ACTOR_TASK, ACTOR, bf_actor_row_t, process_task_id, true)                          \
    X(ACTOR_ID, ACTOR, bf_actor_row_t, actor_id, false)                                  \
    X(CC_PROCESS, CC, bf_cc_row_t, process_instance_id, true)                            \
    X(CC_ACTOR, CC, bf_cc_row_t, actor_id, false)                                        \
    X(DESIGN_NAME, DESIGN, bf_design_row_t, name, false)                                 \
    X(HIS_DESIGN, DESIGN_HIS, bf_design_his_row_t, process_design_id, true)              \
    X(SURROGATE_OPERATOR, SURROGATE, bf_surrogate_row_t, operator_id, false)             \
    X(SURROGATE_AGENT, SURROGATE, bf_surrogate_row_t, surrogate, false)

typedef enum bf_ledger_index {
#define X(name, table, type, column, is_id) BF_LEDGER_BY_##name,
    BF_LEDGER_INDEXES(X)
#undef X
        BF_LEDGER_INDEX_COUNT
} bf_ledger_index_t;

typedef enum bf_ledger_verb {
    BF_LEDGER_INSERT,
    BF_LEDGER_UPDATE, /* the row as it is from now on, all columns */
    BF_LEDGER_DELETE
} bf_ledger_verb_t;

typedef struct bf_ledger_change {
    bf_ledger_verb_t verb;
    bf_ledger_table_t table;
    const void *row; /* bf_<table>_row_t; DELETE looks at the ID only. Borrowed */
} bf_ledger_change_t;

/* Who makes IDs: positive, never the same twice, growing. */
typedef struct bf_ledger_ids {
    int64_t (*next)(void *arg);
    void *arg;
} bf_ledger_ids_t;

/* Who keeps the changes, a database for instance. */
typedef struct bf_ledger_sink {
    /* All changes of one apply, which are found to be good, or none: in one transaction.
     * Rows have all their columns.  An error undoes the apply, which returns it. */
    bf_status_t (*write)(void *arg, const bf_ledger_change_t *changes, size_t count,
                         bf_err_t *err);
    void *arg;
} bf_ledger_sink_t;

typedef struct bf_ledger bf_ledger_t;

/**
 * A ledger without rows.
 *
 * @param ids  who makes IDs; copied. NULL = the ledger's own: milliseconds of the wall
 *             clock and a counter, 19 digits at most, growing
 * @return the ledger, free with bf_ledger_free(); NULL when out of memory
 */
bf_ledger_t *bf_ledger_new(const bf_ledger_ids_t *ids) BF_MUST_USE;

/** Free all rows. NULL is allowed. */
void bf_ledger_free(bf_ledger_t *ledger);

/**
 * From now on every set of changes goes to a sink before it counts.  Load what was kept
 * (bf_ledger_apply()) before.
 * @param sink  copied; NULL = none any longer
 */
void bf_ledger_set_sink(bf_ledger_t *ledger, const bf_ledger_sink_t *sink);

/** A new ID, > 0 (a growing one, above those of all rows where the ledger makes IDs). */
int64_t bf_ledger_make_id(bf_ledger_t *ledger);

/** Name of a table in the database; static. */
const char *bf_ledger_table_name(bf_ledger_table_t table);

/** Rows of a table. */
size_t bf_ledger_count(const bf_ledger_t *ledger, bf_ledger_table_t table);

/** The row with that ID (bf_<table>_row_t), borrowed; NULL = there is none. */
const void *bf_ledger_find(const bf_ledger_t *ledger, bf_ledger_table_t table,
                           int64_t id);

/**
 * All rows of a table in the order in which they were inserted.
 * @param cursor  0 to begin with
 * @return the next row, borrowed; NULL = no more. No change while iterating.
 */
const void *bf_ledger_next(const bf_ledger_t *ledger, bf_ledger_table_t table,
                           size_t *cursor);

/** The rows whose indexed column is that ID, by growing ID; as bf_ledger_next(). */
const void *bf_ledger_next_by_id(const bf_ledger_t *ledger, bf_ledger_index_t index,
                                 int64_t key, size_t *cursor);

/** The rows whose indexed column is that text, by growing ID; as bf_ledger_next(). */
const void *bf_ledger_next_by_text(const bf_ledger_t *ledger, bf_ledger_index_t index,
                                   const char *key, size_t *cursor);

/**
 * Make changes: all of them, or none. They are looked at in order.
 *
 * @return BF_OK; BF_E_EXISTS (an inserted ID is there already), BF_E_NOT_FOUND (an ID to
 *         update or delete is not), BF_E_INVALID (an ID that is not positive, a row of a
 *         table that is never deleted), BF_E_NOMEM, what the sink says: nothing changed
 */
bf_status_t bf_ledger_apply(bf_ledger_t *ledger, const bf_ledger_change_t *changes,
                            size_t count, bf_err_t *err) BF_MUST_USE;

/** One change; as bf_ledger_apply(). */
bf_status_t bf_ledger_insert(bf_ledger_t *ledger, bf_ledger_table_t table,
                             const void *row, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_ledger_update(bf_ledger_t *ledger, bf_ledger_table_t table,
                             const void *row, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_ledger_delete(bf_ledger_t *ledger, bf_ledger_table_t table, int64_t id,
                             bf_err_t *err) BF_MUST_USE;

/**
 * The latest definition of a name: that with the highest ID (rule 42).
 * @return borrowed; NULL = there is none
 */
const bf_define_row_t *bf_ledger_latest_define(const bf_ledger_t *ledger,
                                               const char *name);

/** May that user do that task: is he among its actors? */
bool bf_ledger_is_actor(const bf_ledger_t *ledger, int64_t task_id, const char *actor_id);

/**
 * A column of JSON as a value.
 * @param text  NULL or empty: an empty map
 * @return BF_OK, BF_E_PARSE, BF_E_LIMIT, BF_E_NOMEM
 */
bf_status_t bf_ledger_read_json(bf_arena_t *arena, const char *text, bf_value_t *ret,
                                bf_err_t *err) BF_MUST_USE;

#endif /* BF_LEDGER_H */
