/*
 * vars.c - variables with undo
 *
 * Entries stand in an array in order of first setting; a small table finds them by
 * hash.  A cleared variable keeps its entry as "absent" until its transaction ends.
 * The journal of a transaction holds the old entries; their memory stays in the arena
 * until the transaction has ended, so rollback only copies the old values back.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/vars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/assert.h"
#include "bpmflow/map.h"

/* Garbage below this is not worth a compaction. */
#define GARBAGE_MIN ((size_t)2048)

typedef struct entry {
    const char *name;
    uint32_t name_len;
    uint32_t hash;
    bool present;
    bf_value_t value;
} entry_t;

typedef struct change {
    uint32_t index;
    bool present;
    bf_value_t value;
} change_t;

struct bf_vars {
    bf_arena_t mem;
    entry_t *entries;
    uint32_t used;
    uint32_t room;
    uint32_t present;
    uint32_t *slots; /* entry number + 1; 0 = empty; no removal, only rebuilding */
    uint32_t slot_count;
    size_t live_bytes; /* deep bytes of present values and names */
    change_t *journal;
    size_t journal_used;
    size_t journal_room;
    bool in_transaction;
    bool changed;
    uint64_t version;
    uint32_t used_at_begin;
};

bf_vars_t *bf_vars_new(void)
{
    bf_vars_t *vars = malloc(sizeof(*vars));
    if (vars) {
        *vars = (bf_vars_t){0};
        bf_arena_init(&vars->mem, 0);
    }
    return vars;
}

void bf_vars_free(bf_vars_t *vars)
{
    if (!vars) {
        return;
    }
    bf_arena_fini(&vars->mem);
    free(vars->entries);
    free(vars->slots);
    free(vars->journal);
    free(vars);
}

size_t bf_vars_count(const bf_vars_t *vars)
{
    return vars->present;
}

static uint32_t hash_name(const char *name, size_t len)
{
    return (uint32_t)bf_hash_bytes(name, len);
}

static entry_t *find(const bf_vars_t *vars, const char *name, size_t len, uint32_t hash)
{
    if (!vars->slot_count) {
        return NULL;
    }
    uint32_t mask = vars->slot_count - 1;
    for (uint32_t i = hash & mask; vars->slots[i]; i = (i + 1) & mask) {
        entry_t *e = &vars->entries[vars->slots[i] - 1];
        if (e->hash == hash && e->name_len == len && bf_same_bytes(e->name, name, len)) {
            return e;
        }
    }
    return NULL;
}

static void index_entry(bf_vars_t *vars, uint32_t number)
{
    uint32_t mask = vars->slot_count - 1;
    uint32_t i = vars->entries[number].hash & mask;
    while (vars->slots[i]) {
        i = (i + 1) & mask;
    }
    vars->slots[i] = number + 1;
}

static void rebuild_index(bf_vars_t *vars)
{
    memset(vars->slots, 0, vars->slot_count * sizeof(*vars->slots));
    for (uint32_t i = 0; i < vars->used; i++) {
        index_entry(vars, i);
    }
}

static bf_status_t reserve_entry(bf_vars_t *vars)
{
    if (vars->used < vars->room) {
        return BF_OK;
    }
    uint32_t room = vars->room ? vars->room * 2 : 8;
    if (room > UINT32_MAX / 8) {
        return BF_E_NOMEM;
    }
    uint32_t *slots = calloc((size_t)room * 2, sizeof(*slots));
    entry_t *entries = realloc(vars->entries, room * sizeof(*entries));
    if (entries) {
        vars->entries = entries;
    }
    if (!slots || !entries) {
        free(slots);
        return BF_E_NOMEM;
    }
    free(vars->slots);
    vars->slots = slots;
    vars->slot_count = room * 2;
    vars->room = room;
    rebuild_index(vars);
    return BF_OK;
}

static bf_status_t reserve_journal(bf_vars_t *vars)
{
    if (!vars->in_transaction || vars->journal_used < vars->journal_room) {
        return BF_OK;
    }
    change_t *journal =
        bf_array_grow(vars->journal, &vars->journal_room, sizeof(*journal), 16);
    if (!journal) {
        return BF_E_NOMEM;
    }
    vars->journal = journal;
    return BF_OK;
}

/* What a present entry takes; a cleared one is garbage with its name. */
static size_t entry_bytes(const entry_t *e)
{
    return e->present ? e->name_len + 1U + bf_value_deep_bytes(&e->value) : 0;
}

/* Move what is alive into a new arena.  Without memory for that, stay as we are. */
static void compact(bf_vars_t *vars)
{
    size_t held = vars->mem.used_bytes;
    if (vars->in_transaction || held < GARBAGE_MIN || held < 4 * vars->live_bytes) {
        return;
    }
    bf_arena_t mem;
    bf_arena_init(&mem, 0);
    entry_t *entries = malloc(vars->room * sizeof(*entries));
    if (!entries) {
        return;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < vars->used; i++) {
        entry_t e = vars->entries[i];
        if (!e.present) {
            continue;
        }
        e.name = bf_arena_strndup(&mem, e.name, e.name_len);
        if (!e.name || bf_value_copy(&mem, &vars->entries[i].value, &e.value) != BF_OK) {
            bf_arena_fini(&mem);
            free(entries);
            return;
        }
        entries[used++] = e;
    }
    bf_arena_fini(&vars->mem);
    free(vars->entries);
    vars->mem = mem;
    vars->entries = entries;
    vars->used = used;
    vars->live_bytes = 0;
    for (uint32_t i = 0; i < used; i++) {
        vars->live_bytes += entry_bytes(&entries[i]);
    }
    rebuild_index(vars);
}

/* Cleared variables leave the table when their transaction has ended, so that the order
 * of the others, and of the same name set again, depends on the committed changes alone
 * (a variable set that was stored and read back looks the same). */
static void drop_cleared(bf_vars_t *vars)
{
    if (vars->in_transaction || vars->used == vars->present) {
        return;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < vars->used; i++) {
        if (vars->entries[i].present) {
            vars->entries[used++] = vars->entries[i];
        }
    }
    vars->used = used;
    rebuild_index(vars);
}

const bf_value_t *bf_vars_get(const bf_vars_t *vars, const char *name, size_t name_len)
{
    const entry_t *e = find(vars, name, name_len, hash_name(name, name_len));
    return e && e->present ? &e->value : NULL;
}

const bf_value_t *bf_vars_get_hashed(const bf_vars_t *vars, const char *name,
                                     size_t name_len, uint64_t hash)
{
    const entry_t *e = find(vars, name, name_len, (uint32_t)hash);
    return e && e->present ? &e->value : NULL;
}

const bf_value_t *bf_vars_get_str(const bf_vars_t *vars, const char *name)
{
    return bf_vars_get(vars, name, strlen(name));
}

static entry_t *add_entry(bf_vars_t *vars, const char *name, size_t len, uint32_t hash)
{
    if (reserve_entry(vars) != BF_OK) {
        return NULL;
    }
    const char *copy = bf_arena_strndup(&vars->mem, name, len);
    if (!copy) {
        return NULL;
    }
    uint32_t number = vars->used++;
    vars->entries[number] =
        (entry_t){.name = copy, .name_len = (uint32_t)len, .hash = hash};
    index_entry(vars, number);
    return &vars->entries[number];
}

/* Put a value that lives in our arena already. The journal has room. */
static void replace(bf_vars_t *vars, entry_t *e, bool present, bf_value_t value)
{
    if (vars->in_transaction) {
        change_t *c = &vars->journal[vars->journal_used++];
        *c = (change_t){(uint32_t)(e - vars->entries), e->present, e->value};
    }
    vars->live_bytes -= entry_bytes(e);
    vars->present -= e->present;
    e->present = present;
    e->value = value;
    vars->live_bytes += entry_bytes(e);
    vars->present += present;
    vars->changed = true;
    vars->version++;
}

bf_status_t bf_vars_set(bf_vars_t *vars, const char *name, size_t name_len,
                        const bf_value_t *value)
{
    if (reserve_journal(vars) != BF_OK || name_len > UINT32_MAX) {
        return BF_E_NOMEM;
    }
    uint32_t hash = hash_name(name, name_len);
    entry_t *e = find(vars, name, name_len, hash);
    if (bf_value_is_null(value)) {
        if (e && e->present) {
            replace(vars, e, false, bf_value_null());
        }
        drop_cleared(vars);
        compact(vars);
        return BF_OK;
    }
    bf_value_t copy;
    bf_status_t rc = bf_value_copy(&vars->mem, value, &copy);
    if (rc != BF_OK) {
        return rc;
    }
    if (!e) {
        e = add_entry(vars, name, name_len, hash);
        if (!e) {
            return BF_E_NOMEM;
        }
    }
    replace(vars, e, true, copy);
    compact(vars);
    return BF_OK;
}

bf_status_t bf_vars_set_str(bf_vars_t *vars, const char *name, const bf_value_t *value)
{
    return bf_vars_set(vars, name, strlen(name), value);
}

bf_status_t bf_vars_set_all(bf_vars_t *vars, const bf_value_t *map)
{
    if (bf_value_is_null(map)) {
        return BF_OK;
    }
    if (map->type != BF_VALUE_MAP) {
        return BF_E_INVALID;
    }
    for (uint32_t i = 0; i < map->len; i++) {
        const bf_member_t *m = &map->as.members[i];
        bf_status_t rc = bf_vars_set(vars, m->name, m->name_len, &m->value);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

bf_status_t bf_vars_clear(bf_vars_t *vars)
{
    for (uint32_t i = 0; i < vars->used; i++) {
        if (!vars->entries[i].present) {
            continue;
        }
        if (reserve_journal(vars) != BF_OK) {
            return BF_E_NOMEM;
        }
        replace(vars, &vars->entries[i], false, bf_value_null());
    }
    drop_cleared(vars);
    compact(vars);
    return BF_OK;
}

bool bf_vars_next(const bf_vars_t *vars, size_t *cursor, const char **ret_name,
                  size_t *ret_name_len, const bf_value_t **ret_value)
{
    for (; *cursor < vars->used; (*cursor)++) {
        const entry_t *e = &vars->entries[*cursor];
        if (!e->present) {
            continue;
        }
        if (ret_name) {
            *ret_name = e->name;
        }
        if (ret_name_len) {
            *ret_name_len = e->name_len;
        }
        if (ret_value) {
            *ret_value = &e->value;
        }
        (*cursor)++;
        return true;
    }
    return false;
}

bf_status_t bf_vars_as_map(const bf_vars_t *vars, bf_arena_t *arena, bf_value_t *ret)
{
    bf_member_t *members = bf_arena_calloc(arena, vars->present, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < vars->used; i++) {
        const entry_t *e = &vars->entries[i];
        if (e->present) {
            members[n++] = (bf_member_t){e->name, e->name_len, e->value};
        }
    }
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = n, .as.members = members};
    return BF_OK;
}

static bf_status_t check_storable(const bf_value_t *value, size_t depth)
{
    if (value->type == BF_VALUE_REAL && !isfinite(value->as.real)) {
        return BF_E_INVALID;
    }
    if (value->type != BF_VALUE_LIST && value->type != BF_VALUE_MAP) {
        return BF_OK;
    }
    if (depth > BF_VALUE_MAX_DEPTH) {
        return BF_E_LIMIT;
    }
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && i < value->len; i++) {
        rc = check_storable(value->type == BF_VALUE_LIST ? &value->as.items[i]
                                                         : &value->as.members[i].value,
                            depth + 1);
    }
    return rc;
}

bf_status_t bf_vars_check_storable(const bf_vars_t *vars, const char **ret_name)
{
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && i < vars->used; i++) {
        const entry_t *e = &vars->entries[i];
        if (e->present) {
            rc = check_storable(&e->value, 1);
            *ret_name = e->name;
        }
    }
    return rc;
}

void bf_vars_write_json(const bf_vars_t *vars, bf_str_t *str)
{
    bool first = true;
    bf_str_putc(str, '{');
    for (uint32_t i = 0; i < vars->used; i++) {
        const entry_t *e = &vars->entries[i];
        if (!e->present) {
            continue;
        }
        bf_str_puts(str, first ? "" : ",");
        first = false;
        bf_json_write_string(str, e->name, e->name_len);
        bf_str_putc(str, ':');
        bf_json_write(str, &e->value);
    }
    bf_str_putc(str, '}');
}

void bf_vars_begin(bf_vars_t *vars)
{
    BF_ASSERT(!vars->in_transaction);
    vars->in_transaction = true;
    vars->journal_used = 0;
    vars->changed = false;
    vars->used_at_begin = vars->used;
}

void bf_vars_commit(bf_vars_t *vars)
{
    BF_ASSERT(vars->in_transaction);
    vars->in_transaction = false;
    vars->journal_used = 0;
    if (vars->changed) {
        drop_cleared(vars);
        compact(vars);
    }
}

void bf_vars_rollback(bf_vars_t *vars)
{
    BF_ASSERT(vars->in_transaction);
    vars->in_transaction = false;
    while (vars->journal_used) {
        change_t c = vars->journal[--vars->journal_used];
        replace(vars, &vars->entries[c.index], c.present, c.value);
    }
    /* Names that the transaction brought in go again, so that the order of a later
     * setting does not depend on what was rejected. */
    if (vars->used > vars->used_at_begin) {
        vars->used = vars->used_at_begin;
        rebuild_index(vars);
    }
    vars->changed = false;
    compact(vars);
}

bool bf_vars_changed(const bf_vars_t *vars)
{
    return vars->changed;
}

uint64_t bf_vars_version(const bf_vars_t *vars)
{
    return vars->version;
}

size_t bf_vars_held_bytes(const bf_vars_t *vars)
{
    return sizeof(*vars) + bf_arena_held_bytes(&vars->mem) +
           vars->room * sizeof(entry_t) + vars->slot_count * sizeof(uint32_t) +
           vars->journal_room * sizeof(change_t);
}
