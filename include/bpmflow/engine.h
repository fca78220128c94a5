/*
 * engine.h - the walk through a graph
 *
 * An engine holds graphs, drivers, components and interceptors; bf_engine_eval() walks a
 * graph from its START, depth first in link order, with an explicit stack (no recursion)
 * and a step budget.  What happens at a node is the driver's business: the plain driver
 * runs tasks and conditions; the workflow driver (lib/workflow) decorates it and turns
 * stop and interrupt into stored WAITING tasks.
 *
 * Threads:  an engine that is being filled belongs to one thread; once filled it is only
 *           read, apart from bf_engine_load(), which replaces a graph and must not run
 *           beside an evaluation.  One engine per shard; graphs are shared by reference.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_ENGINE_H
#define BF_ENGINE_H

#include "bpmflow/context.h"
#include "bpmflow/graph.h"

typedef struct bf_engine bf_engine_t;
typedef struct bf_exchanger bf_exchanger_t;
typedef struct bf_driver bf_driver_t;

#define BF_MAX_STEPS_DEFAULT 10000
/* Subgraph calls inside of each other; beyond it BF_E_LIMIT. */
#define BF_MAX_CALL_DEPTH 1000
/* Loops inside of each other, in one graph; beyond it BF_E_LIMIT. */
#define BF_MAX_LOOP_DEPTH 100

/* The four hooks of a driver (second seed), and what the workflow driver needs beside
 * them. NULL callbacks do the default. Errors end the evaluation. */
typedef struct bf_driver_ops {
    bf_status_t (*on_node_start)(bf_driver_t *driver, bf_exchanger_t *ex,
                                 const bf_node_t *node, bf_err_t *err);
    bf_status_t (*on_node_end)(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err);
    bf_status_t (*handle_condition)(bf_driver_t *driver, bf_exchanger_t *ex,
                                    const bf_code_ref_t *code, bool *ret, bf_err_t *err);
    /* Called for each node but START and END whose `when` is true (rules 56, 57, 103).
     * A task that calls a graph only asks for it (bf_exchanger_call()); the walk enters
     * the graph after this has returned. */
    bf_status_t (*handle_task)(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err);
    /* The graph that the node called has been walked; pending: something in it waits, so
     * the calling branch is interrupted (decision on rule 46). */
    bf_status_t (*call_done)(bf_driver_t *driver, bf_exchanger_t *ex,
                             const bf_node_t *node, bool pending, bf_err_t *err);
    /* The driver that walks a called graph; NULL callback = the engine's one of the
     * graph's driver name (decision on rule 50). */
    bf_driver_t *(*driver_for)(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_graph_t *graph);
    /* Gateways: use a choice made earlier. Sets chosen[i] for link i and *ret_known.
     * Called before conditions are evaluated. */
    bf_status_t (*recall_route)(bf_driver_t *driver, bf_exchanger_t *ex,
                                const bf_node_t *node, bool *chosen, bool *ret_known,
                                bf_err_t *err);
    /* Gateways: a choice has just been made. */
    bf_status_t (*record_route)(bf_driver_t *driver, bf_exchanger_t *ex,
                                const bf_node_t *node, const bool *chosen, bf_err_t *err);
} bf_driver_ops_t;

/* Implementations embed this as their first member. */
struct bf_driver {
    const bf_driver_ops_t *ops;
    const char *name; /* "" = the default driver */
};

/** The plain driver: evaluates conditions, runs scripts, components and subgraphs. */
bf_driver_t *bf_plain_driver_new(const char *name) BF_MUST_USE;
void bf_plain_driver_free(bf_driver_t *driver);

/** What the plain driver does: for drivers that decorate it. An empty task is BF_OK. */
bf_status_t bf_plain_run_task(bf_exchanger_t *ex, const bf_node_t *node,
                              bf_err_t *err) BF_MUST_USE;
bf_status_t bf_plain_test(bf_exchanger_t *ex, const bf_code_ref_t *code, bool *ret,
                          bf_err_t *err) BF_MUST_USE;

/** Run the node's task / test a condition by a driver: its callback, else the plain way
 *  (the delegate's PostHandleTask of the second seed). */
bf_status_t bf_driver_run_task(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_driver_test(bf_driver_t *driver, bf_exchanger_t *ex,
                           const bf_code_ref_t *code, bool *ret,
                           bf_err_t *err) BF_MUST_USE;

/* A component in C. `@name` as a task calls run, `@name` as a condition calls test. */
typedef struct bf_component {
    bf_status_t (*run)(void *arg, bf_context_t *ctx, const bf_node_t *node,
                       bf_err_t *err);
    bf_status_t (*test)(void *arg, bf_context_t *ctx, bool *ret, bf_err_t *err);
    void *arg;
} bf_component_t;

/* Sees every evaluation; lower index first (rule 53). NULL callbacks are skipped. */
typedef struct bf_interceptor {
    int index;
    bf_status_t (*around_flow)(void *arg, bf_exchanger_t *ex,
                               bf_status_t (*proceed)(bf_exchanger_t *ex, bf_err_t *err),
                               bf_err_t *err);
    /* The walk has come to this node over a link: before its join is looked at, so an
     * arrival that goes on waiting is seen too, and the node that exceeds the step
     * budget. Not called for the node at which a walk
     * (or a called subgraph) begins or is resumed. */
    bf_status_t (*on_node_arrive)(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                                  bf_err_t *err);
    bf_status_t (*on_node_start)(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                                 bf_err_t *err);
    bf_status_t (*on_node_end)(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                               bf_err_t *err);
    void *arg;
} bf_interceptor_t;

bf_engine_t *bf_engine_new(void) BF_MUST_USE;
void bf_engine_free(bf_engine_t *engine);

/** Load = put under its ID (rule 21); older versions stay reachable by version while an
 *  instance may be pinned to them. Takes a reference of its own. */
bf_status_t bf_engine_load(bf_engine_t *engine, bf_graph_t *graph,
                           bf_err_t *err) BF_MUST_USE;
void bf_engine_unload(bf_engine_t *engine, const char *graph_id);
/** Newest version; borrowed; NULL = none. */
bf_graph_t *bf_engine_graph(const bf_engine_t *engine, const char *graph_id);
/** That version; borrowed; NULL = none. */
bf_graph_t *bf_engine_graph_version(const bf_engine_t *engine, const char *graph_id,
                                    int32_t version);

/** Borrowed; must outlive the engine. Replaces one of the same name; NULL removes it. A
 *  plain driver under the name "" is there from the start. */
bf_status_t bf_engine_set_driver(bf_engine_t *engine, const char *name,
                                 bf_driver_t *driver) BF_MUST_USE;
/** NULL = none of that name. */
bf_driver_t *bf_engine_driver(const bf_engine_t *engine, const char *name);
/** Copied; NULL removes one. */
bf_status_t bf_engine_set_component(bf_engine_t *engine, const char *name,
                                    const bf_component_t *component) BF_MUST_USE;
const bf_component_t *bf_engine_component(const bf_engine_t *engine, const char *name);
/** Copied. */
bf_status_t bf_engine_add_interceptor(bf_engine_t *engine,
                                      const bf_interceptor_t *interceptor) BF_MUST_USE;
void bf_engine_clear_interceptors(bf_engine_t *engine);

typedef enum {
    BF_TRACE_RESUME, /* go on where the trace says, and keep there what is pending */
    BF_TRACE_FRESH,  /* forget it, start at START; only the last nodes are kept */
    BF_TRACE_OFF     /* start at START, leave the trace alone */
} bf_trace_use_t;

/* What a walk went through: its visits and which led to which. For those who go back,
 * jump, or want to know where a step led to. */
#define BF_LOG_NONE UINT32_MAX

typedef struct bf_log_visit {
    const bf_node_t *node;
    uint32_t round;  /* of the node; 0 = no visit: a join that waits, or what leads from
                        one pass of a loop to the next */
    uint32_t caller; /* visit of the node whose call it is inside of; BF_LOG_NONE */
    bool is_open;    /* the walk ended here for now: it waits, or was stopped */
} bf_log_visit_t;

typedef struct bf_log_edge {
    uint32_t from;
    uint32_t to;
} bf_log_edge_t;

typedef struct bf_walk_log {
    bf_arena_t *arena; /* set by the caller; owns the arrays */
    bf_log_visit_t *visits;
    uint32_t visit_count;
    uint32_t visit_room;
    bf_log_edge_t *edges;
    uint32_t edge_count;
    uint32_t edge_room;
} bf_walk_log_t;

/* Visits of a node before a point. */
typedef struct bf_walk_count {
    const bf_node_t *node;
    uint32_t count;
} bf_walk_count_t;

/* A called graph that was walked before a point, and its last node. */
typedef struct bf_walk_last {
    bf_graph_t *graph;
    const bf_node_t *node;
} bf_walk_last_t;

#define BF_WALK_LASTS 4

/* A place that a point has been at before. */
typedef struct bf_walk_place {
    const bf_node_t *node;
    int64_t visits; /* before it */
} bf_walk_place_t;

#define BF_WALK_TRAIL 8

/*
 * A place to begin later walks at instead of START, with the same outcome: the way to it
 * led through choices that the driver has recorded and tasks that it passes by what is
 * stored, and nothing else was open there.  A zeroed one is none.  A walk that is given
 * one begins there and moves it on.  The owner clears it when what is stored has changed,
 * apart from what the driver stored at nodes that a walk which was given the point came
 * to, or what is about a task that waits.
 */
typedef struct bf_walk_point {
    bf_graph_t *graph; /* counted; NULL = none */
    const bf_node_t *node;
    const bf_engine_t *engine;
    uint64_t generation; /* of the engine */
    uint64_t version;    /* free for the owner */
    bool on_cycle;       /* the node may be come to again from itself */
    int64_t visits;      /* before it */
    bf_walk_count_t *counts;
    uint32_t count_count;
    uint32_t count_room;
    uint32_t last_count;
    bf_walk_last_t lasts[BF_WALK_LASTS];
    /* Where it has been, the last place at the end: each is as good a place to begin at.
     * Only while nothing that is before the point can be come to again. */
    uint32_t trail_count;
    bf_walk_place_t trail[BF_WALK_TRAIL];
} bf_walk_point_t;

void bf_walk_point_clear(bf_walk_point_t *point);
void bf_walk_point_fini(bf_walk_point_t *point);
/** Memory held beside the struct, bytes. */
size_t bf_walk_point_held_bytes(const bf_walk_point_t *point);
/** Would a walk of this graph begin at the point? */
bool bf_walk_point_fits(const bf_walk_point_t *point, const bf_engine_t *engine,
                        const bf_graph_t *graph);
/** Round of the node at the point: 1 + visits before. */
uint32_t bf_walk_point_round(const bf_walk_point_t *point);
/** The node at the point is passed from now on. Moves the point to the activity that
 *  follows, when there is only that one and no other way to it; else it stays. */
void bf_walk_point_pass(bf_walk_point_t *point);
/** Go back to the place on the trail that has this node. False: there is none; the point
 *  is as it was. */
bool bf_walk_point_return(bf_walk_point_t *point, const bf_node_t *node);
/** What a walk that ends at the point, because its node waits, does to the context.
 *  @param is_hidden as with BF_TRACE_OFF, else as with BF_TRACE_FRESH
 *  @param is_stopped the walk is stopped there, else the node is pending
 *  @return BF_OK or BF_E_NOMEM */
bf_status_t bf_walk_point_show(const bf_walk_point_t *point, bf_context_t *ctx,
                               bool is_hidden, bool is_stopped,
                               bf_err_t *err) BF_MUST_USE;

typedef struct bf_eval_options {
    int64_t steps;     /* < 0 unlimited, else the budget that stops the walk (rule 43) */
    int64_t max_steps; /* 0 = BF_MAX_STEPS_DEFAULT; beyond it BF_E_STEP_LIMIT */
    bf_driver_t *driver;                  /* NULL = by the graph's driver name */
    const bf_interceptor_t *interceptors; /* of this evaluation only; they do not see
                                             the nodes of called graphs (rule 51) */
    size_t interceptor_count;
    bf_trace_use_t trace;
    bool is_probe; /* see bf_context_is_probe(): variables that are set are forgotten */
    const bf_node_t *task_of; /* only run the task of this node of the graph */
    bf_walk_log_t *log;       /* NULL = keep none */
    bf_walk_point_t *point;   /* begin at it and, unless it is a probe, move it on; not
                                 with BF_TRACE_RESUME; NULL = begin at START */
} bf_eval_options_t;

/**
 * Walk a graph: from where the trace says, else from its START.
 *
 * @param options NULL = unlimited steps, default driver
 * @return BF_OK (also when it was stopped, see bf_context_is_stopped());
 *         BF_E_NOT_FOUND (driver, subgraph, recorded node); BF_E_EXPRESSION,
 *         BF_E_COMPONENT ("The task handle failed: graph / node: ..."), BF_E_NO_ROUTE,
 *         BF_E_STEP_LIMIT, BF_E_NOMEM, or what a hook returned. Does not block.
 */
bf_status_t bf_engine_eval(bf_engine_t *engine, bf_graph_t *graph, bf_context_t *ctx,
                           const bf_eval_options_t *options, bf_err_t *err) BF_MUST_USE;

/* --- for drivers, hooks and components --- */
/** The evaluation that runs with this context; NULL outside of one. */
bf_exchanger_t *bf_context_exchanger(bf_context_t *ctx);
bf_context_t *bf_exchanger_context(bf_exchanger_t *ex);
bf_engine_t *bf_exchanger_engine(bf_exchanger_t *ex);
bf_arena_t *bf_exchanger_arena(bf_exchanger_t *ex);
/** Root graph of the evaluation. */
bf_graph_t *bf_exchanger_graph(bf_exchanger_t *ex);
/** Graph that is being walked now: the root graph or a called one. */
bf_graph_t *bf_exchanger_current_graph(bf_exchanger_t *ex);
/** Visit in the log of the node that is being run; BF_LOG_NONE without a log. */
uint32_t bf_exchanger_log_visit(const bf_exchanger_t *ex);
/** True between bf_exchanger_call() and the return from handle_task. */
bool bf_exchanger_is_calling(const bf_exchanger_t *ex);
/** 1 for the first visit of this node in this walk, 2 for the second, ... */
uint32_t bf_exchanger_visit(bf_exchanger_t *ex, const bf_node_t *node);
void bf_exchanger_stop(bf_exchanger_t *ex);
/** End this branch; in a loop it is like `continue` (rule 35). */
void bf_exchanger_interrupt(bf_exchanger_t *ex);
/** End this branch because the node waits for somebody: as interrupt, but a loop does not
 *  go on past it either. */
void bf_exchanger_pend(bf_exchanger_t *ex);
/** From any callback of a driver: later walks have to come here too, so no point of this
 *  walk lies behind the current node. */
void bf_exchanger_repeats(bf_exchanger_t *ex);
/** From handle_task: walk that graph as the task of the node. BF_OK or BF_E_NOT_FOUND. */
bf_status_t bf_exchanger_call(bf_exchanger_t *ex, const char *graph_id,
                              bf_err_t *err) BF_MUST_USE;
bool bf_exchanger_is_stopped(const bf_exchanger_t *ex);
bool bf_exchanger_is_interrupted(const bf_exchanger_t *ex);

#endif /* BF_ENGINE_H */
