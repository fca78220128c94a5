/*
 * states.c - the states of an instance, with undo
 *
 * Up to eight entries are found by comparing hashes one by one; more get a table.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/map.h"
#include "lib/workflow/states_int.h"

#define ROOM_FIRST 8

void bf_states_fini(bf_states_t *states)
{
    free(states->entries);
    free(states->slots);
    free(states->journal);
    memset(states, 0, sizeof(*states));
}

static inline bool is_entry(const bf_state_entry_t *e, const bf_state_key_t *key)
{
    return e->hash == key->hash && e->key_len == key->len &&
           bf_same_bytes(e->key, key->text, key->len);
}

static bf_state_entry_t *find_in_table(const bf_states_t *states,
                                       const bf_state_key_t *key)
{
    uint32_t mask = states->slot_count - 1;
    for (uint32_t i = key->hash & mask; states->slots[i]; i = (i + 1) & mask) {
        bf_state_entry_t *e = &states->entries[states->slots[i] - 1];
        if (is_entry(e, key)) {
            return e;
        }
    }
    return NULL;
}

/* Entries that hold nothing are found too. */
static inline bf_state_entry_t *find(const bf_states_t *states, const bf_state_key_t *key)
{
    if (states->slot_count) {
        return find_in_table(states, key);
    }
    for (uint32_t i = 0; i < states->used; i++) {
        bf_state_entry_t *e = &states->entries[i];
        if (is_entry(e, key)) {
            return e;
        }
    }
    return NULL;
}

const bf_state_entry_t *bf_states_find(const bf_states_t *states,
                                       const bf_state_key_t *key)
{
    const bf_state_entry_t *e = find(states, key);
    return e && !bf_state_entry_is_empty(e) ? e : NULL;
}

static void index_entry(bf_states_t *states, uint32_t number)
{
    if (!states->slot_count) {
        return;
    }
    uint32_t mask = states->slot_count - 1;
    uint32_t i = states->entries[number].hash & mask;
    while (states->slots[i]) {
        i = (i + 1) & mask;
    }
    states->slots[i] = number + 1;
}

static void rebuild_index(bf_states_t *states)
{
    if (!states->slot_count) {
        return;
    }
    memset(states->slots, 0, states->slot_count * sizeof(*states->slots));
    for (uint32_t i = 0; i < states->used; i++) {
        index_entry(states, i);
    }
}

static bf_status_t reserve_entry(bf_states_t *states)
{
    if (states->used < states->room) {
        return BF_OK;
    }
    uint32_t room = states->room ? states->room * 2 : ROOM_FIRST;
    if (room > UINT32_MAX / 8) {
        return BF_E_NOMEM;
    }
    bf_state_entry_t *entries = realloc(states->entries, room * sizeof(*states->entries));
    if (!entries) {
        return BF_E_NOMEM;
    }
    states->entries = entries;
    if (room > ROOM_FIRST) {
        uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));
        if (!slots) {
            return BF_E_NOMEM;
        }
        free(states->slots);
        states->slots = slots;
        states->slot_count = room * 2;
        rebuild_index(states);
    }
    states->room = room;
    return BF_OK;
}

static bf_status_t reserve_journal(bf_states_t *states)
{
    if (!states->in_transaction || states->journal_used < states->journal_room) {
        return BF_OK;
    }
    uint32_t room = states->journal_room ? states->journal_room * 2 : 16;
    bf_state_change_t *journal =
        realloc(states->journal, room * sizeof(*states->journal));
    if (!journal) {
        return BF_E_NOMEM;
    }
    states->journal = journal;
    states->journal_room = room;
    return BF_OK;
}

/* The journal has room. */
static void remember(bf_states_t *states, const bf_state_entry_t *e)
{
    states->changed = true;
    states->version++;
    if (states->in_transaction) {
        states->journal[states->journal_used++] = (bf_state_change_t){
            (uint32_t)(e - states->entries), e->state, e->route_count, e->route};
    }
}

/* The entry under a key, added when absent. NULL when out of memory. */
static bf_state_entry_t *need_entry(bf_states_t *states, bf_arena_t *mem,
                                    const bf_state_key_t *key)
{
    bf_state_entry_t *e = find(states, key);
    if (e || reserve_entry(states) != BF_OK) {
        return e;
    }
    const char *copy = bf_arena_strndup(mem, key->text, key->len);
    if (!copy) {
        return NULL;
    }
    uint32_t number = states->used++;
    states->entries[number] =
        (bf_state_entry_t){.key = copy, .key_len = key->len, .hash = key->hash};
    index_entry(states, number);
    return &states->entries[number];
}

bf_status_t bf_states_put(bf_states_t *states, bf_arena_t *mem, const bf_state_key_t *key,
                          bf_task_state_t state)
{
    if (reserve_journal(states) != BF_OK) {
        return BF_E_NOMEM;
    }
    bf_state_entry_t *e = need_entry(states, mem, key);
    if (!e) {
        return BF_E_NOMEM;
    }
    if (e->state != state) {
        remember(states, e);
        e->state = state;
    }
    return BF_OK;
}

static bool is_same_route(const bf_state_entry_t *e, const char *const *next_ids,
                          size_t count)
{
    if (!e->route || e->route_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(e->route[i], next_ids[i]) != 0) {
            return false;
        }
    }
    return true;
}

static const char *const *copy_route(bf_arena_t *mem, const char *const *next_ids,
                                     size_t count)
{
    const char **copy = bf_arena_calloc(mem, count ? count : 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = bf_arena_strdup(mem, next_ids[i]);
        if (!copy[i]) {
            return NULL;
        }
    }
    return copy;
}

bf_status_t bf_states_put_route(bf_states_t *states, bf_arena_t *mem,
                                const bf_state_key_t *key, const char *const *next_ids,
                                size_t count)
{
    if (count > UINT32_MAX || reserve_journal(states) != BF_OK) {
        return BF_E_NOMEM;
    }
    bf_state_entry_t *e = need_entry(states, mem, key);
    if (!e) {
        return BF_E_NOMEM;
    }
    if (is_same_route(e, next_ids, count)) {
        return BF_OK;
    }
    const char *const *route = copy_route(mem, next_ids, count);
    if (!route) {
        return BF_E_NOMEM;
    }
    remember(states, e);
    e->route = route;
    e->route_count = (uint32_t)count;
    return BF_OK;
}

static void empty_entry(bf_states_t *states, bf_state_entry_t *e)
{
    remember(states, e);
    e->state = BF_TASK_UNKNOWN;
    e->route = NULL;
    e->route_count = 0;
}

bf_status_t bf_states_remove(bf_states_t *states, const bf_state_key_t *key)
{
    bf_state_entry_t *e = find(states, key);
    if (!e || bf_state_entry_is_empty(e)) {
        return BF_OK;
    }
    if (reserve_journal(states) != BF_OK) {
        return BF_E_NOMEM;
    }
    empty_entry(states, e);
    return BF_OK;
}

bf_status_t bf_states_clear(bf_states_t *states)
{
    for (uint32_t i = 0; i < states->used; i++) {
        if (bf_state_entry_is_empty(&states->entries[i])) {
            continue;
        }
        if (reserve_journal(states) != BF_OK) {
            return BF_E_NOMEM;
        }
        empty_entry(states, &states->entries[i]);
    }
    return BF_OK;
}

void bf_states_begin(bf_states_t *states)
{
    BF_ASSERT(!states->in_transaction);
    states->in_transaction = true;
    states->changed = false;
    states->journal_used = 0;
    states->used_at_begin = states->used;
}

/* Entries from there on leave the table.  They came into it in their order; the last one
 * first, each leaves it as it was before. */
static void unindex_from(bf_states_t *states, uint32_t first)
{
    uint32_t mask = states->slot_count - 1;
    for (uint32_t i = states->used; states->slot_count && i > first; i--) {
        uint32_t at = states->entries[i - 1].hash & mask;
        while (states->slots[at] != i) {
            at = (at + 1) & mask;
        }
        states->slots[at] = 0;
    }
}

/* Entries that hold nothing go; none stands before `first`. */
static void drop_empty(bf_states_t *states, uint32_t first)
{
    uint32_t kept = first;
    bool is_tail = states->used - first < states->used / 2;
    if (is_tail) {
        unindex_from(states, first);
    }
    for (uint32_t i = first; i < states->used; i++) {
        if (!bf_state_entry_is_empty(&states->entries[i])) {
            states->entries[kept++] = states->entries[i];
        }
    }
    states->used = kept;
    if (!is_tail) {
        rebuild_index(states);
        return;
    }
    for (uint32_t i = first; i < kept; i++) {
        index_entry(states, i);
    }
}

/* The first entry that holds nothing now; `used` = none. Only what the transaction has
 * touched is looked at: there were none at begin. */
static uint32_t find_empty(const bf_states_t *states)
{
    uint32_t found = states->used;
    for (uint32_t i = 0; i < states->journal_used; i++) {
        uint32_t index = states->journal[i].index;
        if (index < found && bf_state_entry_is_empty(&states->entries[index])) {
            found = index;
        }
    }
    for (uint32_t i = states->used_at_begin; i < found; i++) {
        if (bf_state_entry_is_empty(&states->entries[i])) {
            found = i;
        }
    }
    return found;
}

void bf_states_commit(bf_states_t *states)
{
    BF_ASSERT(states->in_transaction);
    uint32_t first = find_empty(states);
    if (first < states->used) {
        drop_empty(states, first);
    }
    states->in_transaction = false;
    states->journal_used = 0;
}

void bf_states_rollback(bf_states_t *states)
{
    BF_ASSERT(states->in_transaction);
    states->version += states->journal_used ? 1 : 0;
    while (states->journal_used) {
        const bf_state_change_t *c = &states->journal[--states->journal_used];
        bf_state_entry_t *e = &states->entries[c->index];
        e->state = c->state;
        e->route = c->route;
        e->route_count = c->route_count;
    }
    states->in_transaction = false;
    states->changed = false;
    if (states->used != states->used_at_begin) {
        unindex_from(states, states->used_at_begin);
        states->used = states->used_at_begin;
    }
}

bf_status_t bf_states_move(bf_states_t *states, bf_arena_t *mem)
{
    BF_ASSERT(!states->in_transaction);
    bf_state_entry_t *entries =
        malloc((states->room ? states->room : 1) * sizeof(*entries));
    if (!entries) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < states->used; i++) {
        bf_state_entry_t e = states->entries[i];
        e.key = bf_arena_strndup(mem, e.key, e.key_len);
        if (e.route) {
            e.route = copy_route(mem, e.route, e.route_count);
        }
        if (!e.key || (states->entries[i].route && !e.route)) {
            free(entries);
            return BF_E_NOMEM;
        }
        entries[i] = e;
    }
    free(states->entries);
    states->entries = entries;
    return BF_OK;
}
