/*
 * instance_int.h - the inside of an instance, shared by instance.c and instance_row.c
 *
 * An instance is either open (bf_instance.live is set) or packed (bf_instance.pack is
 * set): then everything but numbers stands in one block of memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_INSTANCE_INT_H
#define BF_INSTANCE_INT_H

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
    int32_t seq;
    int32_t graph_version;
    bool graph_in_full; /* the row holds the whole definition of the pinned graph */
    bf_instance_status_t status;
    int64_t create_time_ms;
    int64_t update_time_ms;
} bf_instance_scalars_t;

typedef struct bf_instance_live {
    bf_arena_t mem; /* texts, keys, routes */
    bf_states_t states;
    bf_vars_t *vars;
    bf_instance_texts_t texts;
    /* as they were at begin */
    bf_instance_texts_t old_texts;
    bf_instance_scalars_t old;
    bool in_transaction;
    bool changed;      /* since begin, apart from states and variables */
    size_t compact_at; /* bytes of mem that make a commit look for garbage */
} bf_instance_live_t;

struct bf_instance {
    bf_instance_live_t *live; /* NULL when packed */
    char *pack;               /* NULL when open; see instance_row.c */
    uint32_t pack_len;
    int32_t rev;
    int32_t stored_rev;
    int32_t partition_no;
    int64_t store_key;
    bf_instance_scalars_t now;
    char id[];
};

bf_instance_live_t *bf_instance_live_new(void) BF_MUST_USE;
void bf_instance_live_free(bf_instance_live_t *live);

#endif /* BF_INSTANCE_INT_H */
