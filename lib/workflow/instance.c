/*
 * instance.c - an instance in memory and the transaction of a command
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/instance.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "lib/workflow/instance_int.h"

#define COMPACT_MIN ((size_t)4096)

const char *bf_instance_status_name(bf_instance_status_t status)
{
    switch (status) {
#define X(name, text, code)                                                              \
    case BF_INSTANCE_##name:                                                             \
        return text;
        BF_INSTANCE_STATUS_LIST(X)
#undef X
    }
    return "unknown";
}

bf_instance_live_t *bf_instance_live_new(void)
{
    /* Instances come and go: calloc would not take what malloc has at hand. */
    bf_instance_live_t *live = malloc(sizeof(*live));
    if (!live) {
        return NULL;
    }
    *live =
        (bf_instance_live_t){.texts = {"", "", "", "", ""}, .compact_at = COMPACT_MIN};
    live->vars = bf_vars_new();
    if (!live->vars) {
        free(live);
        return NULL;
    }
    bf_arena_init(&live->mem, 0);
    return live;
}

void bf_instance_live_free(bf_instance_live_t *live)
{
    if (!live) {
        return;
    }
    bf_vars_free(live->vars);
    bf_walk_point_fini(&live->point);
    bf_states_fini(&live->states);
    bf_arena_fini(&live->mem);
    free(live);
}

void bf_instance_set_live(bf_instance_t *inst, bf_instance_live_t *live)
{
    if (inst->is_packed) {
        free(inst->as.pack);
    } else {
        bf_instance_live_free(inst->as.live);
    }
    inst->is_packed = false;
    inst->as.live = live;
}

bf_instance_t *bf_instance_new(const char *id)
{
    size_t len = strlen(id);
    bf_instance_t *inst = malloc(offsetof(bf_instance_t, id) + len + 1);
    if (!inst) {
        return NULL;
    }
    memset(inst, 0, offsetof(bf_instance_t, id));
    memcpy(inst->id, id, len + 1);
    inst->as.live = bf_instance_live_new();
    if (!inst->as.live) {
        free(inst);
        return NULL;
    }
    return inst;
}

void bf_instance_free(bf_instance_t *inst)
{
    if (!inst) {
        return;
    }
    bf_instance_set_live(inst, NULL);
    free(inst);
}

/* --- what it is --- */

const char *bf_instance_id(const bf_instance_t *inst)
{
    return inst->id;
}

bf_instance_status_t bf_instance_status(const bf_instance_t *inst)
{
    return (bf_instance_status_t)inst->status;
}

int32_t bf_instance_revision(const bf_instance_t *inst)
{
    return inst->rev;
}

int32_t bf_instance_seq(const bf_instance_t *inst)
{
    return inst->seq;
}

int32_t bf_instance_partition(const bf_instance_t *inst)
{
    return inst->partition_no;
}

void bf_instance_set_partition(bf_instance_t *inst, int32_t partition_no)
{
    inst->partition_no = partition_no;
}

const char *bf_instance_creator(const bf_instance_t *inst)
{
    return bf_instance_live(inst)->texts.creator;
}

const char *bf_instance_graph_id(const bf_instance_t *inst)
{
    return bf_instance_live(inst)->texts.graph_id;
}

int32_t bf_instance_graph_version(const bf_instance_t *inst)
{
    return inst->graph_version;
}

const char *bf_instance_graph_hash(const bf_instance_t *inst)
{
    return bf_instance_live(inst)->texts.graph_hash;
}

const char *bf_instance_tasks(const bf_instance_t *inst)
{
    return bf_instance_live(inst)->texts.tasks;
}

bf_vars_t *bf_instance_vars(bf_instance_t *inst)
{
    return bf_instance_live(inst)->vars;
}

/* --- changes --- */

static bf_instance_live_t *live_in_transaction(bf_instance_t *inst)
{
    bf_instance_live_t *live = bf_instance_live(inst);
    BF_ASSERT(live->in_transaction);
    return live;
}

void bf_instance_set_status(bf_instance_t *inst, bf_instance_status_t status)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    if (inst->status != (uint8_t)status) {
        inst->status = (uint8_t)status;
        live->changed = true;
    }
}

int32_t bf_instance_next_seq(bf_instance_t *inst)
{
    live_in_transaction(inst)->changed = true;
    return ++inst->seq;
}

/* Replace a text of the instance; the old one stays in the arena for a rollback. */
static bf_status_t set_text(bf_instance_live_t *live, const char **text,
                            const char *value)
{
    if (!strcmp(*text, value)) {
        return BF_OK;
    }
    const char *copy = bf_arena_strdup(&live->mem, value);
    if (!copy) {
        return BF_E_NOMEM;
    }
    *text = copy;
    return BF_OK;
}

bf_status_t bf_instance_touch(bf_instance_t *inst, const char *who, int64_t now_wall_ms)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    if (!who) {
        who = "";
    }
    if (!inst->create_time_ms) {
        if (set_text(live, &live->texts.creator, who) != BF_OK) {
            return BF_E_NOMEM;
        }
        inst->create_time_ms = now_wall_ms;
    }
    inst->update_time_ms = now_wall_ms;
    return set_text(live, &live->texts.updater, who);
}

bf_status_t bf_instance_pin_graph(bf_instance_t *inst, const bf_graph_t *graph)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    bf_instance_texts_t old = live->texts;
    if (set_text(live, &live->texts.graph_id, graph->id) != BF_OK ||
        set_text(live, &live->texts.graph_hash, graph->hash) != BF_OK) {
        live->texts = old;
        return BF_E_NOMEM;
    }
    inst->graph_version = graph->version;
    inst->graph_in_full = false;
    live->changed = true;
    return BF_OK;
}

bf_status_t bf_instance_set_tasks(bf_instance_t *inst, const char *json)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    const char *old = live->texts.tasks;
    bf_status_t rc = set_text(live, &live->texts.tasks, json ? json : "");
    live->changed |= live->texts.tasks != old;
    return rc;
}

/* --- states and routes --- */

bf_task_state_t bf_instance_state(const bf_instance_t *inst, const char *key)
{
    bf_state_key_t at = bf_state_key(key, strlen(key));
    return bf_instance_state_at(inst, &at);
}

bf_status_t bf_instance_state_put(bf_instance_t *inst, const char *key,
                                  bf_task_state_t state)
{
    bf_state_key_t at = bf_state_key(key, strlen(key));
    return bf_instance_state_put_at(inst, &at, state);
}

bf_status_t bf_instance_state_remove(bf_instance_t *inst, const char *key)
{
    bf_state_key_t at = bf_state_key(key, strlen(key));
    return bf_states_remove(&live_in_transaction(inst)->states, &at);
}

bf_status_t bf_instance_state_clear(bf_instance_t *inst)
{
    return bf_states_clear(&live_in_transaction(inst)->states);
}

bool bf_instance_state_next(const bf_instance_t *inst, size_t *cursor,
                            const char **ret_key, bf_task_state_t *ret_state)
{
    const bf_states_t *states = &bf_instance_live(inst)->states;
    while (*cursor < states->used) {
        const bf_state_entry_t *e = &states->entries[(*cursor)++];
        if (e->state != BF_TASK_UNKNOWN) {
            *ret_key = e->key;
            *ret_state = e->state;
            return true;
        }
    }
    return false;
}

bool bf_instance_route(const bf_instance_t *inst, const char *key,
                       const char *const **ret_next_ids, size_t *ret_count)
{
    bf_state_key_t at = bf_state_key(key, strlen(key));
    const bf_state_entry_t *e = bf_states_find(&bf_instance_live(inst)->states, &at);
    bool known = e && e->route;
    *ret_next_ids = known ? e->route : NULL;
    *ret_count = known ? e->route_count : 0;
    return known;
}

bf_status_t bf_instance_route_put(bf_instance_t *inst, const char *key,
                                  const char *const *next_ids, size_t count)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    bf_state_key_t at = bf_state_key(key, strlen(key));
    return bf_states_put_route(&live->states, &live->mem, &at, next_ids, count);
}

uint64_t bf_instance_states_version(const bf_instance_t *inst)
{
    return bf_instance_live(inst)->states.version;
}

bf_walk_point_t *bf_instance_walk_point(const bf_instance_t *inst)
{
    return &bf_instance_live(inst)->point;
}

/* --- transaction --- */

void bf_instance_begin(bf_instance_t *inst)
{
    bf_instance_live_t *live = bf_instance_live(inst);
    BF_ASSERT(!live->in_transaction);
    live->in_transaction = true;
    live->changed = false;
    live->old = (bf_instance_scalars_t){
        .create_time_ms = inst->create_time_ms,
        .update_time_ms = inst->update_time_ms,
        .seq = inst->seq,
        .graph_version = inst->graph_version,
        .status = (bf_instance_status_t)inst->status,
        .graph_in_full = inst->graph_in_full,
    };
    live->old_texts = live->texts;
    bf_states_begin(&live->states);
    bf_vars_begin(live->vars);
}

bool bf_instance_changed(const bf_instance_t *inst)
{
    const bf_instance_live_t *live = bf_instance_live(inst);
    BF_ASSERT(live->in_transaction);
    return live->changed || live->states.changed || bf_vars_changed(live->vars);
}

static bf_status_t copy_texts(bf_arena_t *mem, const bf_instance_texts_t *from,
                              bf_instance_texts_t *to)
{
    to->graph_id = bf_arena_strdup(mem, from->graph_id);
    to->graph_hash = bf_arena_strdup(mem, from->graph_hash);
    to->creator = bf_arena_strdup(mem, from->creator);
    to->updater = bf_arena_strdup(mem, from->updater);
    to->tasks = bf_arena_strdup(mem, from->tasks);
    return to->graph_id && to->graph_hash && to->creator && to->updater && to->tasks
               ? BF_OK
               : BF_E_NOMEM;
}

/* Old keys, routes and texts are garbage in the arena.  When it has doubled since the
 * last time, move what is alive; without memory for that, stay as we are. */
static void compact(bf_instance_live_t *live)
{
    if (live->mem.used_bytes < live->compact_at) {
        return;
    }
    bf_arena_t mem;
    bf_instance_texts_t texts;
    bf_arena_init(&mem, 0);
    if (copy_texts(&mem, &live->texts, &texts) != BF_OK ||
        bf_states_move(&live->states, &mem) != BF_OK) {
        bf_arena_fini(&mem);
        return;
    }
    bf_arena_fini(&live->mem);
    live->mem = mem;
    live->texts = texts;
    live->compact_at =
        mem.used_bytes * 2 > COMPACT_MIN ? mem.used_bytes * 2 : COMPACT_MIN;
}

void bf_instance_commit(bf_instance_t *inst)
{
    bf_instance_live_t *live = bf_instance_live(inst);
    bool changed = bf_instance_changed(inst);
    bf_states_commit(&live->states);
    live->states.changed = false;
    bf_vars_commit(live->vars);
    live->in_transaction = false;
    if (changed) {
        inst->rev++;
    }
    compact(live);
}

void bf_instance_rollback(bf_instance_t *inst)
{
    bf_instance_live_t *live = live_in_transaction(inst);
    bf_states_rollback(&live->states);
    bf_vars_rollback(live->vars);
    inst->create_time_ms = live->old.create_time_ms;
    inst->update_time_ms = live->old.update_time_ms;
    inst->seq = live->old.seq;
    inst->graph_version = live->old.graph_version;
    inst->status = (uint8_t)live->old.status;
    inst->graph_in_full = live->old.graph_in_full;
    live->texts = live->old_texts;
    live->in_transaction = false;
    live->changed = false;
}

/* --- for stores --- */

int32_t bf_instance_stored_revision(const bf_instance_t *inst)
{
    return inst->stored_rev;
}

int64_t bf_instance_store_key(const bf_instance_t *inst)
{
    return inst->store_key;
}

void bf_instance_set_store_key(bf_instance_t *inst, int64_t key)
{
    inst->store_key = key;
}

bool bf_instance_is_dirty(const bf_instance_t *inst)
{
    return inst->rev != inst->stored_rev;
}

void bf_instance_mark_stored(bf_instance_t *inst)
{
    inst->stored_rev = inst->rev;
}

bool bf_instance_is_packed(const bf_instance_t *inst)
{
    return inst->is_packed;
}

/* What a block takes of the heap (of glibc, and of others about). */
static size_t block_bytes(size_t size)
{
    return (size + sizeof(size_t) + 15) / 16 * 16;
}

size_t bf_instance_held_bytes(const bf_instance_t *inst)
{
    size_t sum = block_bytes(offsetof(bf_instance_t, id) + strlen(inst->id) + 1);
    if (inst->is_packed) {
        return sum + block_bytes(bf_instance_pack_bytes(inst->as.pack));
    }
    const bf_instance_live_t *live = inst->as.live;
    return sum + sizeof(*live) + bf_arena_held_bytes(&live->mem) +
           bf_vars_held_bytes(live->vars) + bf_walk_point_held_bytes(&live->point) +
           live->states.room * sizeof(bf_state_entry_t) +
           live->states.slot_count * sizeof(uint32_t) +
           live->states.journal_room * sizeof(bf_state_change_t);
}
