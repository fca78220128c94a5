/*
 * states_int.h - the states of an instance: key -> state and chosen links, with undo
 *
 * Part of an instance; texts live in the arena that the caller hands in, which is the
 * instance's.  Entries stand in the order of first setting; what a committed
 * transaction removed leaves the table, so that the order depends on the committed
 * history alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STATES_INT_H
#define BF_STATES_INT_H

#include "bpmflow/arena.h"
#include "bpmflow/map.h"
#include "bpmflow/task.h"

typedef struct bf_state_key {
    const char *text;
    uint32_t len;
    uint32_t hash; /* bf_hash_bytes(), low half */
} bf_state_key_t;

typedef struct bf_state_entry {
    const char *key;
    uint32_t key_len;
    uint32_t hash;
    bf_task_state_t state; /* BF_TASK_UNKNOWN = none */
    uint32_t route_count;
    const char *const *route; /* NULL = none stored; else IDs of next nodes */
} bf_state_entry_t;

typedef struct bf_state_change {
    uint32_t index;
    bf_task_state_t state;
    uint32_t route_count;
    const char *const *route;
} bf_state_change_t;

typedef struct bf_states {
    bf_state_entry_t *entries;
    uint32_t used;
    uint32_t room;
    uint32_t *slots; /* entry number + 1; 0 = empty; NULL while there are few entries */
    uint32_t slot_count;
    bf_state_change_t *journal;
    uint32_t journal_used;
    uint32_t journal_room;
    uint32_t used_at_begin;
    bool in_transaction;
    bool changed;     /* since begin */
    uint64_t version; /* counts changes, and rollbacks of changes */
} bf_states_t;

/* The text is borrowed. */
static inline bf_state_key_t bf_state_key(const char *text, size_t len)
{
    return (bf_state_key_t){text, (uint32_t)len, (uint32_t)bf_hash_bytes(text, len)};
}

void bf_states_fini(bf_states_t *states);

/* NULL when absent, or when it holds nothing. */
const bf_state_entry_t *bf_states_find(const bf_states_t *states,
                                       const bf_state_key_t *key);
/* BF_OK or BF_E_NOMEM (unchanged). BF_TASK_UNKNOWN is allowed: no state, route stays. */
bf_status_t bf_states_put(bf_states_t *states, bf_arena_t *mem, const bf_state_key_t *key,
                          bf_task_state_t state) BF_MUST_USE;
bf_status_t bf_states_put_route(bf_states_t *states, bf_arena_t *mem,
                                const bf_state_key_t *key, const char *const *next_ids,
                                size_t count) BF_MUST_USE;
bf_status_t bf_states_remove(bf_states_t *states, const bf_state_key_t *key) BF_MUST_USE;
bf_status_t bf_states_clear(bf_states_t *states) BF_MUST_USE;

void bf_states_begin(bf_states_t *states);
void bf_states_commit(bf_states_t *states);
void bf_states_rollback(bf_states_t *states);

/* Copy all texts to another arena. BF_E_NOMEM: states are as they were. */
bf_status_t bf_states_move(bf_states_t *states, bf_arena_t *mem) BF_MUST_USE;

static inline bool bf_state_entry_is_empty(const bf_state_entry_t *e)
{
    return e->state == BF_TASK_UNKNOWN && !e->route;
}

#endif /* BF_STATES_INT_H */
