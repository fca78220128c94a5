/*
 * walk_log.c - the visits of a walk, and which led to which
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "walk_int.h"

/* Double an array of the log's arena. */
static bf_status_t grow(bf_arena_t *arena, void **array, uint32_t used, uint32_t *room,
                        size_t size)
{
    uint32_t more = *room ? *room * 2 : 32;
    void *grown = bf_arena_alloc(arena, more * size);
    if (!grown) {
        return BF_E_NOMEM;
    }
    if (used) {
        memcpy(grown, *array, used * size);
    }
    *array = grown;
    *room = more;
    return BF_OK;
}

bf_status_t bf_log_link(bf_exchanger_t *ex, uint32_t from, uint32_t to, bf_err_t *err)
{
    bf_walk_log_t *log = ex->log;
    if (!log || from == BF_LOG_NONE) {
        return BF_OK;
    }
    if (log->edge_count == log->edge_room) {
        void *edges = log->edges;
        if (grow(log->arena, &edges, log->edge_count, &log->edge_room,
                 sizeof(*log->edges)) != BF_OK) {
            return bf_err_nomem(err, "log of the walk");
        }
        log->edges = edges;
    }
    log->edges[log->edge_count++] = (bf_log_edge_t){from, to};
    return BF_OK;
}

bf_status_t bf_log_add(bf_exchanger_t *ex, const bf_node_t *node, uint32_t round,
                       uint32_t *ret, bf_err_t *err)
{
    bf_walk_log_t *log = ex->log;
    if (!log) {
        return BF_OK;
    }
    if (log->visit_count == log->visit_room) {
        void *visits = log->visits;
        if (grow(log->arena, &visits, log->visit_count, &log->visit_room,
                 sizeof(*log->visits)) != BF_OK) {
            return bf_err_nomem(err, "log of the walk");
        }
        log->visits = visits;
    }
    *ret = log->visit_count++;
    log->visits[*ret] = (bf_log_visit_t){node, round, ex->frame->caller, false};
    return bf_log_link(ex, ex->source, *ret, err);
}

void bf_log_set_round(bf_exchanger_t *ex, uint32_t visit, uint32_t round)
{
    if (ex->log && visit != BF_LOG_NONE) {
        ex->log->visits[visit].round = round;
    }
}

void bf_log_set_open(bf_exchanger_t *ex, uint32_t visit)
{
    if (ex->log && visit != BF_LOG_NONE) {
        ex->log->visits[visit].is_open = true;
    }
}
