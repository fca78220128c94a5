/*
 * walk_int.h - inside of a walk: the stack, frames, joins, loops
 *
 * A walk is a stack of entries: what is still to be done, the next thing on top.  An
 * entry belongs to a frame: the root graph, a called graph, or the passes of a loop.
 * Frames nest like the entries: everything above a frame's base belongs to it or to
 * frames opened in it.  A branch that cannot go on (interrupted, or its node waits for
 * somebody) leaves the stack and is kept as pending in its frame; a join that waits for
 * other branches is kept there too.
 *
 *     engine.c    registry
 *     exchanger.c what a walk works with, kept for the next one
 *     evaluation.c   where a walk begins, what is kept of it
 *     walk.c      the loop over the stack, calls, passes of loops
 *     node.c      enter a node, run it, flow out
 *     join.c      which joins may fire
 *     reach.c     which nodes can reach a join
 *     loop.c      loops
 *     resume.c    keep what is left in the trace, and go on from there
 *     walk_log.c  what led to what, for those who want to know
 *     point.c     where later walks may begin instead of at START
 *
 * Memory:  an exchanger is reused by later walks; in the steady state a walk allocates
 *          nothing.  Entries, frames and pending positions are bounded by the steps.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_WALK_INT_H
#define BF_WALK_INT_H

#include <stdatomic.h>

#include "bpmflow/engine.h"
#include "bpmflow/map.h"
#include "bpmflow/range.h"
#include "context_int.h"

_Static_assert(BF_NODE_EXCLUSIVE < BF_NODE_INCLUSIVE &&
                   BF_NODE_INCLUSIVE < BF_NODE_PARALLEL &&
                   BF_NODE_PARALLEL < BF_NODE_LOOP,
               "node.c asks for joins and loop ends by one comparison");

typedef struct bf_frame bf_frame_t;

/* Visits of a node; valid when walk is the number of the current walk. */
typedef struct bf_visit {
    uint32_t walk;
    uint32_t count;
} bf_visit_t;

/* Which nodes can reach which; see reach.c. */
typedef struct bf_reach {
    bool ready;
    uint32_t *first; /* incoming links: first[n] .. first[n + 1] in from */
    uint32_t *from;  /* node indexes */
    uint64_t **sets; /* small graphs: per node, who reaches it; NULL = not asked yet */
    uint32_t *rank;  /* place of the node's component, sources high */
    uint32_t *marks; /* large graphs: search number that saw the node last */
    uint32_t *queue; /* node_count entries */
    uint32_t search;
} bf_reach_t;

/* What an exchanger keeps about a graph, over many walks. */
typedef struct bf_usage {
    bf_graph_t *graph;     /* counted */
    uint32_t walk;         /* the walk that `last` belongs to */
    const bf_node_t *last; /* recorded last */
    bf_visit_t *visits;    /* node_count */
    bf_reach_t reach;
    const bf_node_t **loop_ends; /* node_count, or NULL: see loop.c */
    bool knows_recursion;        /* the next one is known */
    bool is_recursive;           /* the graph may call itself, also through others */
} bf_usage_t;

typedef enum {
    BF_ENTRY_TO,     /* enter the node over a link */
    BF_ENTRY_AT,     /* run the node (resumed, or a join that fires) */
    BF_ENTRY_TASK,   /* only run its task */
    BF_ENTRY_TRUE,   /* follow those of the node's links whose condition is true */
    BF_ENTRY_ALL,    /* follow all of the node's links */
    BF_ENTRY_MASK,   /* follow the links in mask */
    BF_ENTRY_CHOSEN, /* follow the links that are set in chosen */
    BF_ENTRY_CALL,   /* above it: the graph that the node calls */
    BF_ENTRY_LOOP    /* above it: one pass of the loop */
} bf_entry_kind_t;

typedef struct bf_entry {
    const bf_node_t *node;
    bf_frame_t *frame; /* that it belongs to */
    union {
        uint64_t mask;
        const bool *chosen;
        const bf_value_t *saved; /* AT: frame of the call that is resumed, or NULL */
        bf_frame_t *inner;       /* CALL, LOOP */
    } as;
    uint32_t next;   /* link to look at next */
    uint32_t source; /* visit in the log that led here */
    bf_entry_kind_t kind;
} bf_entry_t;

/* A branch that left the stack and is not done. */
typedef struct bf_pending {
    struct bf_pending *next;
    bf_entry_kind_t kind; /* AT, TO, CALL, LOOP */
    const bf_node_t *node;
    bf_frame_t *inner;       /* CALL, LOOP */
    const bf_value_t *saved; /* AT: frame of the call that is resumed, or NULL */
} bf_pending_t;

/* A join at which branches have arrived. */
typedef struct bf_waiting {
    struct bf_waiting *next; /* in order of the first arrival */
    const bf_node_t *node;
    uint32_t visit; /* in the log */
} bf_waiting_t;

typedef struct bf_loop {
    const bf_value_t *items; /* list, or NULL: range */
    bf_range_t range;
    uint64_t count;
    uint64_t next;
    const bf_node_t *end; /* loop end that was reached, or that belongs to the head */
    uint32_t source;      /* visit in the log that leads to the next pass */
    bool has_arrived;     /* source stands for arrivals at the end */
} bf_loop_t;

struct bf_frame {
    bf_frame_t *outer;       /* that it was opened in; NULL = root graph */
    const bf_node_t *opener; /* call node or loop head; NULL = root graph */
    bool is_loop;
    bool is_hard;    /* something pending waits for somebody */
    uint32_t depth;  /* graphs around it */
    uint32_t base;   /* height of the stack when it was opened */
    uint32_t caller; /* visit in the log of the call */
    bf_usage_t *usage;
    bf_driver_t *driver;
    const struct bf_hooks *hooks;
    bf_pending_t *pending;
    bf_pending_t *pending_last;
    bf_waiting_t *joins;
    bf_waiting_t *joins_last;
    bf_loop_t loop;
};

typedef struct bf_hooks {
    const bf_interceptor_t *all;
    size_t count;
} bf_hooks_t;

struct bf_engine {
    bf_map_t *graphs;     /* ID -> slot_t */
    bf_map_t *drivers;    /* name -> bf_driver_t, borrowed */
    bf_map_t *components; /* name -> bf_component_t */
    bf_driver_t *plain;
    bf_driver_t *default_driver;    /* the one named "" */
    bf_interceptor_t *interceptors; /* by index */
    bf_hooks_t hooks;
    size_t interceptor_room;
    uint64_t generation;             /* counts changes of graphs and drivers */
    _Atomic(bf_exchanger_t *) spare; /* of the last walk, for the next one */
};

struct bf_exchanger {
    bf_engine_t *engine;
    bf_context_t *ctx;
    bf_graph_t *graph;  /* root */
    bf_arena_t arena;   /* this walk only */
    bf_arena_t scratch; /* one expression or script only */
    bool resumes;       /* goes on where the trace says, and keeps there what is left */
    bool records;       /* keeps the last nodes in the trace */
    int64_t steps;      /* budget, < 0 unlimited */
    int64_t step_count;
    int64_t max_steps;
    int64_t visit_count;
    bf_graph_t *call;         /* asked for by bf_exchanger_call() */
    bf_hooks_t root_hooks;    /* for nodes of the root graph */
    bf_hooks_t call_hooks;    /* for nodes of called graphs */
    size_t around;            /* next interceptor around the flow */
    bf_interceptor_t *merged; /* engine's and options' interceptors, reused */
    size_t merged_room;
    bf_frame_t root;
    bf_frame_t *frame;     /* current */
    const bf_node_t *next; /* what the last node flows to, ahead of the stack */
    bf_entry_t *stack;
    uint32_t height;
    uint32_t room;
    bf_frame_t *free_frames; /* linked by outer */
    bf_pending_t *free_pending;
    bf_waiting_t *free_waiting;
    uint32_t walk;
    bf_usage_t **usages;
    uint32_t usage_count;
    uint32_t usage_room;
    bf_usage_t **touched; /* in this walk, in order; usage_room entries */
    uint32_t touched_count;
    uint64_t generation; /* of the engine, when the usages were made */
    bf_saved_t *saved;   /* being resumed */
    const bf_value_t *saved_frames;
    const bf_value_t *at_saved; /* of the node being run: frame of the call to resume */
    bf_expr_env_t env;
    bf_walk_log_t *log;     /* NULL = none */
    uint32_t source;        /* visit that led to the node being entered */
    uint32_t at;            /* visit of the node being run */
    bool only_task;         /* see bf_eval_options_t.task_of */
    bool point_stays;       /* what comes now is not the same in every walk */
    bf_walk_point_t *point; /* to be moved; NULL = none */
    const bf_node_t *spot;  /* where it can be moved to; NULL = nowhere */
    int64_t spot_visits;    /* before it */
    uint32_t spot_seen;     /* of `seen`, before it */
    const bf_node_t **seen; /* visited since the point, in order */
    uint32_t seen_count;
    uint32_t seen_room;
};

/* --- engine.c, exchanger.c --- */

/** Put into place: behind those of the same index. all has room. */
void bf_hooks_insert(bf_interceptor_t *all, size_t count, const bf_interceptor_t *one);

bf_exchanger_t *bf_exchanger_take(bf_engine_t *engine) BF_MUST_USE;
void bf_exchanger_give_back(bf_exchanger_t *ex);
/** NULL is allowed. */
void bf_exchanger_free(bf_exchanger_t *ex);
/** NULL = out of memory. */
bf_usage_t *bf_exchanger_usage(bf_exchanger_t *ex, bf_graph_t *graph) BF_MUST_USE;
/** BF_OK, or BF_E_NOT_FOUND "No driver found for: 'x'". */
bf_status_t bf_engine_driver_for(const bf_engine_t *engine, const bf_graph_t *graph,
                                 bf_driver_t **ret, bf_err_t *err) BF_MUST_USE;

/* --- plain_driver.c --- */

/** What expressions and scripts of this walk may touch. */
bf_expr_env_t *bf_plain_env(bf_exchanger_t *ex);

/* Temporaries of an expression or script; most conditions leave nothing there. */
static inline void bf_plain_forget(bf_exchanger_t *ex)
{
    if (ex->scratch.used_bytes) {
        bf_arena_clear(&ex->scratch);
    }
}

/* --- walk.c --- */

/** Walk until nothing is left, a stop, or an error; what is left stays on the stack. */
bf_status_t bf_walk_run(bf_exchanger_t *ex, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_walk_grow(bf_exchanger_t *ex, bf_err_t *err) BF_MUST_USE;
/** Run this node next, or later: with the call that is being resumed in it. */
bf_status_t bf_walk_push_at(bf_exchanger_t *ex, const bf_node_t *node,
                            bf_err_t *err) BF_MUST_USE;
/** A frame, empty, opened in the current one. NULL when out of memory. */
bf_frame_t *bf_walk_open_frame(bf_exchanger_t *ex, const bf_node_t *opener) BF_MUST_USE;
/** Give a frame back, with what hangs on it. */
void bf_walk_close_frame(bf_exchanger_t *ex, bf_frame_t *frame);
/** A branch of the frame goes no further for now. hard: it waits for somebody. */
bf_status_t bf_walk_add_pending(bf_exchanger_t *ex, bf_frame_t *frame,
                                const bf_pending_t *what, bool hard,
                                bf_err_t *err) BF_MUST_USE;
void bf_walk_drop_pending(bf_exchanger_t *ex, bf_frame_t *frame);
/** The task of the node has asked for a graph (ex->call): walk it in a frame of its own.
 *  @param saved where it goes on, or NULL */
bf_status_t bf_walk_enter_call(bf_exchanger_t *ex, const bf_node_t *node,
                               const bf_value_t *saved, bf_err_t *err) BF_MUST_USE;

static inline bf_status_t bf_walk_push(bf_exchanger_t *ex, const bf_entry_t *entry,
                                       bf_err_t *err)
{
    if (ex->height == ex->room) {
        bf_status_t rc = bf_walk_grow(ex, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    ex->stack[ex->height++] = *entry;
    return BF_OK;
}

/* --- node.c --- */

/** A node is come to. @param how AT: directly; TO: over a link, as was told already; else
 *  over a link of such an entry. @param saved the frame of the call that is resumed in
 * it, or NULL */
bf_status_t bf_node_enter(bf_exchanger_t *ex, const bf_node_t *node, bf_entry_kind_t how,
                          const bf_value_t *saved, bf_err_t *err) BF_MUST_USE;
/** Hooks, task, links. */
bf_status_t bf_node_run(bf_exchanger_t *ex, const bf_node_t *node,
                        const bf_value_t *saved, bf_err_t *err) BF_MUST_USE;
/** What follows the task. */
bf_status_t bf_node_finish(bf_exchanger_t *ex, const bf_node_t *node,
                           bf_err_t *err) BF_MUST_USE;
/** Test a condition by the driver of the frame; errors are wrapped (rule 87). */
bf_status_t bf_node_test_code(bf_exchanger_t *ex, bf_frame_t *frame,
                              const bf_code_ref_t *code, bool *ret,
                              bf_err_t *err) BF_MUST_USE;

static inline bf_status_t bf_node_test(bf_exchanger_t *ex, bf_frame_t *frame,
                                       const bf_code_ref_t *code, bool *ret,
                                       bf_err_t *err)
{
    if (code->kind == BF_CODE_NONE) {
        *ret = true;
        return BF_OK;
    }
    return bf_node_test_code(ex, frame, code, ret, err);
}

static inline bool bf_node_is_join(const bf_node_t *node)
{
    return node->prev_link_count > 1 &&
           (node->type == BF_NODE_PARALLEL || node->type == BF_NODE_INCLUSIVE);
}

/* --- join.c --- */

/** A branch of the current frame arrives at a join. *ret_fires: it fires now. */
bf_status_t bf_join_arrive(bf_exchanger_t *ex, const bf_node_t *join, bool *ret_fires,
                           bf_err_t *err) BF_MUST_USE;
/** The frame has nothing left to do: the join that may fire now, taken out; NULL = none.
 *  ex->at is its visit in the log. */
bf_status_t bf_join_take(bf_exchanger_t *ex, bf_frame_t *frame, const bf_node_t **ret,
                         bf_err_t *err) BF_MUST_USE;
/** A join waits; a branch has come to it from ex->source. */
bf_status_t bf_join_wait(bf_exchanger_t *ex, bf_frame_t *frame, const bf_node_t *join,
                         bf_err_t *err) BF_MUST_USE;
void bf_join_drop_all(bf_exchanger_t *ex, bf_frame_t *frame);

/* --- reach.c --- */

/** Is there a path of at least one link? BF_OK or BF_E_NOMEM. */
bf_status_t bf_reach_test(bf_usage_t *usage, const bf_node_t *from, const bf_node_t *to,
                          bool *ret) BF_MUST_USE;
/** By node index: what a node can reach has a lower rank, or the same one when the way
 *  back exists; then the bit is set. NULL when out of memory. */
#define BF_RANK_CYCLE 1U
const uint32_t *bf_reach_ranks(bf_usage_t *usage) BF_MUST_USE;
void bf_reach_fini(bf_reach_t *reach, uint32_t node_count);

/* --- loop.c --- */

static inline bool bf_node_is_loop_head(const bf_node_t *node)
{
    return node->type == BF_NODE_LOOP && node->loop_variable;
}

/** The head flows out: open the loop. */
bf_status_t bf_loop_open(bf_exchanger_t *ex, const bf_node_t *head,
                         bf_err_t *err) BF_MUST_USE;
/** A loop end is entered. *ret_waits: it belongs to an open loop, so the branch ends. */
bf_status_t bf_loop_reach_end(bf_exchanger_t *ex, const bf_node_t *end, bool *ret_waits,
                              bf_err_t *err) BF_MUST_USE;
/** A pass is over: *ret_more with the variable set, or the loop is done. */
bf_status_t bf_loop_next(bf_exchanger_t *ex, bf_frame_t *frame, bool *ret_more,
                         bf_err_t *err) BF_MUST_USE;
/** The loop end that belongs to a head, found by the links; *ret NULL = none. */
bf_status_t bf_loop_end_of(bf_usage_t *usage, const bf_node_t *head,
                           const bf_node_t **ret, bf_err_t *err) BF_MUST_USE;

/* --- resume.c --- */

/** Put what is left of a walk into the trace. */
bf_status_t bf_resume_save(bf_exchanger_t *ex, bf_err_t *err) BF_MUST_USE;
/** Fill a frame from a saved one. */
bf_status_t bf_resume_frame(bf_exchanger_t *ex, bf_frame_t *frame,
                            const bf_value_t *saved, bf_err_t *err) BF_MUST_USE;

/* --- point.c --- */

/** Begin at the point if it fits the walk. *ret_begun: it is on the stack. */
bf_status_t bf_point_begin(bf_exchanger_t *ex, bf_walk_point_t *point, bool *ret_begun,
                           bf_err_t *err) BF_MUST_USE;
/** A node is visited. */
bf_status_t bf_point_visit(bf_exchanger_t *ex, const bf_node_t *node,
                           bf_err_t *err) BF_MUST_USE;
/** The walk has ended well: move the point. */
bf_status_t bf_point_end(bf_exchanger_t *ex, bf_err_t *err) BF_MUST_USE;

/* A node is come to over a link. One that may be passed without a look at it is no place
 * to begin: a driver that tells of what it came to last would have nothing to tell. */
static inline void bf_point_come(bf_exchanger_t *ex, const bf_node_t *node)
{
    if (!ex->point_stays && !ex->height && !ex->root.pending && !ex->root.joins &&
        node->type != BF_NODE_START && node->type != BF_NODE_END &&
        node->when.kind == BF_CODE_NONE) {
        ex->spot = node;
        ex->spot_seen = ex->seen_count;
        ex->spot_visits = ex->visit_count;
    }
}

/* --- walk_log.c: without a log they do nothing --- */

/** A visit of the current frame, led to by ex->source; *ret its number. */
bf_status_t bf_log_add(bf_exchanger_t *ex, const bf_node_t *node, uint32_t round,
                       uint32_t *ret, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_log_link(bf_exchanger_t *ex, uint32_t from, uint32_t to,
                        bf_err_t *err) BF_MUST_USE;
void bf_log_set_round(bf_exchanger_t *ex, uint32_t visit, uint32_t round);
void bf_log_set_open(bf_exchanger_t *ex, uint32_t visit);

#endif /* BF_WALK_INT_H */
