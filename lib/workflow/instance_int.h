/*
 * instance_int.h - the inside of an instance, shared by instance.c, instance_row.c and
 * instance_pack.c
 *
 * An instance is either open, or packed: then everything but numbers stands in one block
 * of memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_INSTANCE_INT_H
#define BF_INSTANCE_INT_H

#include "bpmflow/assert.h"
#include "bpmflow/engine.h"
#include "bpmflow/instance.h"
#include "lib/workflow/states_int.h"

/* Texts beside states and variables; NULL never, "" when unknown. */
typedef struct bf_instance_texts {
    const char *graph_id;
    const char *graph_hash;
    const char *creator;
    const char *updater;
    const char *tasks; /* column of the approval module; "" = NULL */
} bf_instance_texts_t;

/* What a transaction may change, apart from states and variables. */
typedef struct bf_instance_scalars {
    int64_t create_time_ms;
    int64_t update_time_ms;
    int32_t seq;
    int32_t graph_version;
    bf_instance_status_t status;
    bool graph_in_full;
} bf_instance_scalars_t;

typedef struct bf_instance_live {
    bf_arena_t mem; /* texts, keys, routes */
    bf_states_t states;
    bf_vars_t *vars;
    bf_walk_point_t point;
    bf_instance_texts_t texts;
    /* as they were at begin */
    bf_instance_texts_t old_texts;
    bf_instance_scalars_t old;
    bool in_transaction;
    bool changed;      /* since begin, apart from states and variables */
    size_t compact_at; /* bytes of mem that make a commit look for garbage */
} bf_instance_live_t;

/* Members stand so that nothing is lost between them: a cache holds millions. */
struct bf_instance {
    union {
        bf_instance_live_t *live; /* open */
        char *pack;               /* packed; see instance_pack.c */
    } as;
    int64_t create_time_ms;
    int64_t update_time_ms;
    int64_t store_key; /* of the row in the store; 0 = not known */
    int32_t seq;
    int32_t graph_version;
    int32_t rev;
    int32_t stored_rev;
    int32_t partition_no;
    uint8_t status; /* bf_instance_status_t */
    bool is_packed;
    bool graph_in_full; /* the graph column holds the whole definition */
    char id[];
};

/* The open form; the instance must not be packed. */
static inline bf_instance_live_t *bf_instance_live(const bf_instance_t *inst)
{
    BF_ASSERT(!inst->is_packed);
    return inst->as.live;
}

/* --- by a key whose hash is known; see instance.h for the rest --- */

static inline bf_task_state_t bf_instance_state_at(const bf_instance_t *inst,
                                                   const bf_state_key_t *key)
{
    const bf_state_entry_t *e = bf_states_find(&bf_instance_live(inst)->states, key);
    return e ? e->state : BF_TASK_UNKNOWN;
}

static inline bf_status_t bf_instance_state_put_at(bf_instance_t *inst,
                                                   const bf_state_key_t *key,
                                                   bf_task_state_t state)
{
    bf_instance_live_t *live = bf_instance_live(inst);
    BF_ASSERT(live->in_transaction);
    return bf_states_put(&live->states, &live->mem, key, state);
}

bf_instance_live_t *bf_instance_live_new(void) BF_MUST_USE;
void bf_instance_live_free(bf_instance_live_t *live);

/* Replace what the instance holds, packed or open. Takes live. */
void bf_instance_set_live(bf_instance_t *inst, bf_instance_live_t *live);

/* Memory of the packed form. */
size_t bf_instance_pack_bytes(const char *pack);

#endif /* BF_INSTANCE_INT_H */
