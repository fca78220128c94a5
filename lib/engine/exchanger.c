/*
 * exchanger.c - what a walk works with, kept for the next walk; its public side
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

/* Visited nodes that there is still room for in the next walk. */
#define SEEN_KEPT 8192

static void drop_usages(bf_exchanger_t *ex)
{
    for (uint32_t i = 0; i < ex->usage_count; i++) {
        bf_usage_t *u = ex->usages[i];
        bf_reach_fini(&u->reach, u->graph->node_count);
        bf_graph_unref(u->graph);
        free(u->visits);
        free(u->loop_ends);
        free(u);
    }
    ex->usage_count = 0;
}

void bf_exchanger_free(bf_exchanger_t *ex)
{
    if (!ex) {
        return;
    }
    drop_usages(ex);
    bf_arena_fini(&ex->arena);
    bf_arena_fini(&ex->scratch);
    free(ex->usages);
    free(ex->touched);
    free(ex->merged);
    free(ex->stack);
    free(ex->seen);
    free(ex);
}

bf_exchanger_t *bf_exchanger_take(bf_engine_t *engine)
{
    bf_exchanger_t *ex = atomic_exchange(&engine->spare, NULL);
    if (!ex) {
        ex = calloc(1, sizeof(*ex));
        if (!ex) {
            return NULL;
        }
        bf_arena_init(&ex->arena, 0);
        bf_arena_init(&ex->scratch, 0);
        ex->engine = engine;
    }
    if (ex->generation != engine->generation) {
        drop_usages(ex);
        ex->generation = engine->generation;
    }
    if (++ex->walk == 0) {
        /* Numbers start again: old marks would look new. */
        drop_usages(ex);
        ex->walk = 1;
    }
    return ex;
}

void bf_exchanger_give_back(bf_exchanger_t *ex)
{
    if (ex->seen_room > SEEN_KEPT) {
        free(ex->seen);
        ex->seen = NULL;
        ex->seen_room = 0;
    }
    bf_arena_clear(&ex->arena);
    ex->free_frames = NULL; /* lived in the arena */
    ex->free_pending = NULL;
    ex->free_waiting = NULL;
    ex->height = 0;
    ex->touched_count = 0;
    ex->env.arg = NULL;
    ex->log = NULL;
    ex->call = NULL;
    ex->point = NULL;
    bf_exchanger_free(atomic_exchange(&ex->engine->spare, ex));
}

static bf_status_t reserve_usage(bf_exchanger_t *ex)
{
    if (ex->usage_count < ex->usage_room) {
        return BF_OK;
    }
    uint32_t room = ex->usage_room ? ex->usage_room * 2 : 8;
    bf_usage_t **usages = realloc(ex->usages, room * sizeof(bf_usage_t *));
    if (usages) {
        ex->usages = usages;
    }
    bf_usage_t **touched = realloc(ex->touched, room * sizeof(bf_usage_t *));
    if (touched) {
        ex->touched = touched;
    }
    if (!usages || !touched) {
        return BF_E_NOMEM;
    }
    ex->usage_room = room;
    return BF_OK;
}

static bf_usage_t *add_usage(bf_exchanger_t *ex, bf_graph_t *graph)
{
    if (reserve_usage(ex) != BF_OK) {
        return NULL;
    }
    bf_usage_t *u = calloc(1, sizeof(*u));
    if (!u) {
        return NULL;
    }
    u->visits = calloc(graph->node_count, sizeof(*u->visits));
    if (!u->visits) {
        free(u);
        return NULL;
    }
    u->graph = bf_graph_ref(graph);
    ex->usages[ex->usage_count++] = u;
    return u;
}

bf_usage_t *bf_exchanger_usage(bf_exchanger_t *ex, bf_graph_t *graph)
{
    bf_usage_t *u = NULL;
    for (uint32_t i = 0; i < ex->usage_count && !u; i++) {
        if (ex->usages[i]->graph == graph) {
            u = ex->usages[i];
        }
    }
    if (!u) {
        u = add_usage(ex, graph);
    }
    if (u && u->walk != ex->walk) {
        u->walk = ex->walk;
        u->last = NULL;
        ex->touched[ex->touched_count++] = u;
    }
    return u;
}

/* --- for drivers, hooks and components --- */

bf_context_t *bf_exchanger_context(bf_exchanger_t *ex)
{
    return ex->ctx;
}

bf_engine_t *bf_exchanger_engine(bf_exchanger_t *ex)
{
    return ex->engine;
}

bf_arena_t *bf_exchanger_arena(bf_exchanger_t *ex)
{
    return &ex->arena;
}

bf_graph_t *bf_exchanger_graph(bf_exchanger_t *ex)
{
    return ex->graph;
}

bf_graph_t *bf_exchanger_current_graph(bf_exchanger_t *ex)
{
    return ex->frame->usage->graph;
}

uint32_t bf_exchanger_log_visit(const bf_exchanger_t *ex)
{
    return ex->at;
}

bool bf_exchanger_is_calling(const bf_exchanger_t *ex)
{
    return ex->call != NULL;
}

uint32_t bf_exchanger_visit(bf_exchanger_t *ex, const bf_node_t *node)
{
    const bf_usage_t *u = ex->frame->usage;
    for (uint32_t i = 0; u->graph != node->graph && i < ex->touched_count; i++) {
        u = ex->touched[i];
    }
    if (u->graph != node->graph || u->visits[node->index].walk != ex->walk) {
        return 0;
    }
    return u->visits[node->index].count;
}

void bf_exchanger_stop(bf_exchanger_t *ex)
{
    ex->ctx->signals |= BF_SIGNAL_STOP;
}

void bf_exchanger_interrupt(bf_exchanger_t *ex)
{
    ex->ctx->signals |= BF_SIGNAL_INTERRUPT;
}

void bf_exchanger_pend(bf_exchanger_t *ex)
{
    ex->ctx->signals |= BF_SIGNAL_PEND;
}

bool bf_exchanger_is_stopped(const bf_exchanger_t *ex)
{
    return bf_context_is_stopped(ex->ctx);
}

bool bf_exchanger_is_interrupted(const bf_exchanger_t *ex)
{
    return ex->ctx->signals & (BF_SIGNAL_INTERRUPT | BF_SIGNAL_PEND);
}

bf_status_t bf_exchanger_call(bf_exchanger_t *ex, const char *graph_id, bf_err_t *err)
{
    ex->call = bf_engine_graph(ex->engine, graph_id);
    return ex->call
               ? BF_OK
               : bf_err_set(err, BF_E_NOT_FOUND, "Flow graph not found: %s", graph_id);
}
