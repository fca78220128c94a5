/*
 * instance.h - a process instance in memory: states, variables, status, revision
 *
 * Holds what one row of bpm_flow_repository holds.  All changes of one command are one
 * transaction: bf_instance_begin(), then commit or rollback; rollback leaves the
 * instance exactly as it was.
 *
 * States are kept under "graph:node" (first visit of a walk), "graph:node#2", ... (later
 * visits), as integers (rule 95, 96); beside a state the links that an exclusive or
 * inclusive node chose.  In the states column: {"leave:gate":1002, ...} and, for chosen
 * links, a reserved member "#routes": {"leave:gate":["hr"]}.  A node that was handed to a
 * service keeps the number of its job there: {"leave:pay":["2"]}.
 *
 * Memory:   an instance in use is open; one that idles in a cache can be packed into one
 * small block (bf_instance_pack()) and is opened again before its next use.  Only the
 * functions marked "also when packed" may be called on a packed one; a new or loaded one
 * is open.  Packing invalidates everything borrowed from the instance.
 *
 * Threads:  one at a time (the shard that owns the partition).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_INSTANCE_H
#define BF_INSTANCE_H

#include "bpmflow/graph.h"
#include "bpmflow/id.h"
#include "bpmflow/task.h"
#include "bpmflow/vars.h"

/* X(name, text, code) */
#define BF_INSTANCE_STATUS_LIST(X)                                                       \
    X(RUNNING, "running", 0)                                                             \
    X(COMPLETED, "completed", 1)                                                         \
    X(TERMINATED, "terminated", 2)                                                       \
    X(SUSPENDED, "suspended", 3)                                                         \
    X(WITHDRAWN, "withdrawn", 4)

typedef enum {
#define X(name, text, code) BF_INSTANCE_##name = code,
    BF_INSTANCE_STATUS_LIST(X)
#undef X
} bf_instance_status_t;

const char *bf_instance_status_name(bf_instance_status_t status);

typedef struct bf_instance bf_instance_t;
struct bf_walk_point;

/* A column of text: pointer and length, may be NULL for SQL NULL. */
typedef struct bf_text {
    const char *data;
    size_t len;
} bf_text_t;

/* One row of bpm_flow_repository. Texts are borrowed. */
typedef struct bf_instance_row {
    const char *instant_id;
    /* {"id":...,"version":...,"hash":...} or a whole definition; written as NULL when the
     * row holds a whole definition that is still the one: the store keeps it then */
    bf_text_t graph;
    bf_text_t states; /* JSON object */
    bf_text_t vars;   /* JSON object */
    bf_text_t tasks;  /* JSON, aggregate of the approval module; NULL when unused */
    int32_t rev;      /* revision after the write; the guard is what
                         bf_instance_stored_revision() says */
    int32_t status;
    int32_t seq; /* last event sequence */
    int32_t partition_no;
    const char *creator; /* "" when unknown */
    int64_t create_time_ms;
    const char *updater;
    int64_t update_time_ms;
} bf_instance_row_t;

/** New and empty (revision 0, not stored yet). NULL when out of memory.
 *  @param id  copied; checked by the caller */
bf_instance_t *bf_instance_new(const char *id) BF_MUST_USE;
void bf_instance_free(bf_instance_t *inst);

/** Fill from a row; what the instance held before is forgotten, it is stored and open
 *  afterwards. The codec is strict: BF_OK; BF_E_INVALID: a column is not what it should
 *  be (named, with the member); BF_E_NOMEM; after an error the instance is as before. */
bf_status_t bf_instance_load_row(bf_instance_t *inst, const bf_instance_row_t *row,
                                 bf_err_t *err) BF_MUST_USE;

/** The row that stores the instance as it is now; all texts are copies in the arena.
 *  Works on an open instance outside of a transaction. */
bf_status_t bf_instance_write_row(const bf_instance_t *inst, bf_arena_t *arena,
                                  bf_instance_row_t *ret, bf_err_t *err) BF_MUST_USE;

/** Put an idle instance into one block of memory: an idle instance of five tasks takes
 *  under 1 KB. Not inside a transaction. BF_OK; BF_E_NOMEM: still open, nothing lost. */
bf_status_t bf_instance_pack(bf_instance_t *inst) BF_MUST_USE;
/** Make it usable again; does nothing when it is open. BF_OK; BF_E_NOMEM: still packed.
 *  Everything is as it was before pack. */
bf_status_t bf_instance_open(bf_instance_t *inst) BF_MUST_USE;
bool bf_instance_is_packed(const bf_instance_t *inst);

/* ID, status, revision, seq, partition, graph version: also when packed. */
const char *bf_instance_id(const bf_instance_t *inst);
bf_instance_status_t bf_instance_status(const bf_instance_t *inst);
void bf_instance_set_status(bf_instance_t *inst, bf_instance_status_t status);
int32_t bf_instance_revision(const bf_instance_t *inst);
int32_t bf_instance_seq(const bf_instance_t *inst);
/** Take the next event sequence number (undone by rollback). */
int32_t bf_instance_next_seq(bf_instance_t *inst);
int32_t bf_instance_partition(const bf_instance_t *inst);
void bf_instance_set_partition(bf_instance_t *inst, int32_t partition_no);
const char *bf_instance_creator(const bf_instance_t *inst);

/** Who and when, of the accepted command; the first call sets creator and create time.
 *  By itself not a change: call it when bf_instance_changed(). @param who NULL = "" */
bf_status_t bf_instance_touch(bf_instance_t *inst, const char *who,
                              int64_t now_wall_ms) BF_MUST_USE;

/** Pinned graph; "" and 0 before the first command. */
const char *bf_instance_graph_id(const bf_instance_t *inst);
int32_t bf_instance_graph_version(const bf_instance_t *inst);
const char *bf_instance_graph_hash(const bf_instance_t *inst);
bf_status_t bf_instance_pin_graph(bf_instance_t *inst,
                                  const bf_graph_t *graph) BF_MUST_USE;

/** Aggregate of the approval module as JSON text; "" = none (column NULL). */
const char *bf_instance_tasks(const bf_instance_t *inst);
bf_status_t bf_instance_set_tasks(bf_instance_t *inst, const char *json) BF_MUST_USE;

/** Variables of the instance; changes go through its transaction. The object stays the
 *  same until the instance is packed, loaded or freed. */
bf_vars_t *bf_instance_vars(bf_instance_t *inst);

/** State under a key; BF_TASK_UNKNOWN when absent. */
bf_task_state_t bf_instance_state(const bf_instance_t *inst, const char *key);
bf_status_t bf_instance_state_put(bf_instance_t *inst, const char *key,
                                  bf_task_state_t state) BF_MUST_USE;
/** Remove a state and the links chosen there. */
bf_status_t bf_instance_state_remove(bf_instance_t *inst, const char *key) BF_MUST_USE;
/** Remove all states and chosen links (RESTART keeps the variables, rule 151). */
bf_status_t bf_instance_state_clear(bf_instance_t *inst) BF_MUST_USE;
bool bf_instance_state_next(const bf_instance_t *inst, size_t *cursor,
                            const char **ret_key, bf_task_state_t *ret_state);

/** Links that the gateway under this key chose; count 0 and false when none is stored.
 *  IDs of the next nodes, borrowed. */
bool bf_instance_route(const bf_instance_t *inst, const char *key,
                       const char *const **ret_next_ids, size_t *ret_count);
bf_status_t bf_instance_route_put(bf_instance_t *inst, const char *key,
                                  const char *const *next_ids, size_t count) BF_MUST_USE;

/** Changes whenever a state or a route changes, also by rollback; for what is kept beside
 *  an instance and depends on its states. */
uint64_t bf_instance_states_version(const bf_instance_t *inst);

/** Where walks may begin instead of at START; kept here for the executor, together with
 *  the version that it belongs to, until the instance is packed, loaded or freed. */
struct bf_walk_point *bf_instance_walk_point(const bf_instance_t *inst);

/** Transaction of a command. They do not nest. Everything that changes an instance,
 *  apart from load_row, is called between begin and commit or rollback. */
void bf_instance_begin(bf_instance_t *inst);
/** Keeps the changes; the revision goes up by one when something changed. */
void bf_instance_commit(bf_instance_t *inst);
void bf_instance_rollback(bf_instance_t *inst);
/** True when something changed since begin. */
bool bf_instance_changed(const bf_instance_t *inst);

/* --- for stores; also when packed --- */

/** Revision that the row in the database has; 0 = there is no row. */
int32_t bf_instance_stored_revision(const bf_instance_t *inst);
/** True when there is something to write. */
bool bf_instance_is_dirty(const bf_instance_t *inst);
/** The row has been written with the current revision. */
void bf_instance_mark_stored(bf_instance_t *inst);
/** A number that the store finds the row by; 0 = not known. The instance only keeps it.
 */
int64_t bf_instance_store_key(const bf_instance_t *inst);
void bf_instance_set_store_key(bf_instance_t *inst, int64_t key);
/** Memory held, bytes. */
size_t bf_instance_held_bytes(const bf_instance_t *inst);

/** States as a JSON object (the codec of the states column); open instances only.
 *  BF_OK or BF_E_NOMEM. */
bf_status_t bf_instance_write_states(const bf_instance_t *inst,
                                     bf_str_t *ret) BF_MUST_USE;

#endif /* BF_INSTANCE_H */
