/*
 * evaluation.c - an evaluation: set up, where it begins, what is kept of it
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "walk_int.h"

/* The engine's interceptors and those of this evaluation, in order (rules 53, 54). */
static bf_status_t merge_hooks(bf_exchanger_t *ex, const bf_eval_options_t *options,
                               bf_err_t *err)
{
    ex->call_hooks = ex->root_hooks = ex->engine->hooks;
    if (!options || !options->interceptor_count) {
        return BF_OK;
    }
    size_t count = ex->call_hooks.count + options->interceptor_count;
    if (count > ex->merged_room) {
        bf_interceptor_t *merged = realloc(ex->merged, count * sizeof(*merged));
        if (!merged) {
            return bf_err_nomem(err, "interceptors");
        }
        ex->merged = merged;
        ex->merged_room = count;
    }
    for (size_t i = 0; i < ex->call_hooks.count; i++) {
        ex->merged[i] = ex->call_hooks.all[i];
    }
    for (size_t i = 0; i < options->interceptor_count; i++) {
        bf_hooks_insert(ex->merged, ex->call_hooks.count + i, &options->interceptors[i]);
    }
    ex->root_hooks = (bf_hooks_t){ex->merged, count};
    return BF_OK;
}

/* The next interceptor around the flow, or the walk itself. */
static bf_status_t proceed(bf_exchanger_t *ex, bf_err_t *err)
{
    while (ex->around < ex->root_hooks.count) {
        const bf_interceptor_t *it = &ex->root_hooks.all[ex->around++];
        if (it->around_flow) {
            return it->around_flow(it->arg, ex, proceed, err);
        }
    }
    return bf_walk_run(ex, err);
}

/* Each member by itself: clearing all at once takes several times as long.  It is no
 * loop, so `loop` is never looked at. */
static void open_root(bf_exchanger_t *ex)
{
    bf_frame_t *root = &ex->root;
    root->outer = NULL;
    root->opener = NULL;
    root->is_loop = false;
    root->is_hard = false;
    root->depth = 0;
    root->base = 0;
    root->caller = BF_LOG_NONE;
    root->usage = NULL;
    root->driver = NULL;
    root->hooks = &ex->root_hooks;
    root->pending = NULL;
    root->pending_last = NULL;
    root->joins = NULL;
    root->joins_last = NULL;
}

static bf_status_t set_up(bf_exchanger_t *ex, bf_graph_t *graph,
                          const bf_eval_options_t *options, bf_err_t *err)
{
    static const bf_eval_options_t none = {.steps = -1};
    const bf_eval_options_t *o = options ? options : &none;
    ex->graph = graph;
    ex->resumes = o->trace == BF_TRACE_RESUME && !ex->ctx->trace.disabled;
    ex->records = o->trace != BF_TRACE_OFF && !ex->ctx->trace.disabled;
    ex->steps = o->steps;
    ex->max_steps = o->max_steps ? o->max_steps : BF_MAX_STEPS_DEFAULT;
    ex->step_count = 0;
    ex->visit_count = 0;
    ex->around = 0;
    ex->log = o->log;
    ex->source = ex->at = BF_LOG_NONE;
    ex->only_task = o->task_of;
    open_root(ex);
    ex->next = NULL;
    ex->frame = &ex->root;
    bf_status_t rc = merge_hooks(ex, options, err);
    if (rc == BF_OK && o->driver) {
        ex->root.driver = o->driver;
    } else if (rc == BF_OK) {
        rc = bf_engine_driver_for(ex->engine, graph, &ex->root.driver, err);
    }
    if (rc != BF_OK) {
        return rc;
    }
    ex->root.usage = bf_exchanger_usage(ex, graph);
    return ex->root.usage ? BF_OK : bf_err_nomem(err, "walk");
}

/* Where the walk begins. *ret_nothing: it was done before (rule 31). */
static bf_status_t begin(bf_exchanger_t *ex, bf_walk_point_t *point, bool *ret_nothing,
                         bf_err_t *err)
{
    bf_trace_t *trace = &ex->ctx->trace;
    *ret_nothing = false;
    ex->saved = NULL;
    ex->saved_frames = NULL;
    if (!ex->resumes) {
        bool begun = false;
        bf_status_t rc = point ? bf_point_begin(ex, point, &begun, err) : BF_OK;
        return begun || rc != BF_OK ? rc : bf_resume_frame(ex, &ex->root, NULL, err);
    }
    const bf_trace_entry_t *last = bf_trace_find(trace, ex->graph->id);
    if (last && last->done) {
        *ret_nothing = true;
        return BF_OK;
    }
    ex->saved = bf_trace_take_saved(trace, ex->graph->id);
    const bf_value_t *first = NULL;
    if (ex->saved) {
        ex->saved_frames = bf_value_get_str(&ex->saved->scope, "frames");
        bool usable = ex->saved_frames && ex->saved_frames->type == BF_VALUE_LIST &&
                      ex->saved_frames->len;
        first = usable ? &ex->saved_frames->as.items[0] : &ex->saved->scope;
    }
    return bf_resume_frame(ex, &ex->root, first, err);
}

/* Last nodes of the graphs that were walked, the root graph first. */
static bf_status_t record(bf_exchanger_t *ex, bf_err_t *err)
{
    for (uint32_t i = 0; ex->records && i < ex->touched_count; i++) {
        bf_usage_t *u = ex->touched[i];
        if (u->last && bf_trace_record(&ex->ctx->trace, u->graph, u->last) != BF_OK) {
            return bf_err_nomem(err, "trace");
        }
    }
    return BF_OK;
}

static bf_status_t finish(bf_exchanger_t *ex, bf_status_t walked, bf_err_t *err)
{
    bf_context_t *ctx = ex->ctx;
    bf_status_t rc = record(ex, err);
    bool left = ex->height || ex->root.pending || ex->root.joins;
    if (walked != BF_OK) {
        ctx->outcome = BF_EVAL_FAILED;
    } else if (bf_context_is_stopped(ctx)) {
        ctx->outcome = BF_EVAL_STOPPED;
    } else {
        ctx->outcome = left ? BF_EVAL_PENDING : BF_EVAL_DONE;
    }
    if (rc == BF_OK && ex->resumes && left) {
        rc = bf_resume_save(ex, err);
    }
    bf_trace_entry_t *last =
        ex->records ? bf_trace_find(&ctx->trace, ex->graph->id) : NULL;
    if (last) {
        last->done = walked == BF_OK && !left;
        last->goes_on = !ex->resumes && !last->done;
    }
    if (ex->records && !ex->resumes) {
        ctx->trace.has_walk_end = true;
        ctx->trace.walk_ended = walked == BF_OK && !left;
        ctx->trace.has_goes_on = true;
    }
    return walked == BF_OK ? rc : walked;
}

/* What was there is forgotten. */
static bf_status_t begin_trace(bf_exchanger_t *ex)
{
    if (ex->records && !ex->only_task) {
        return bf_trace_restart(&ex->ctx->trace, ex->graph, ex->graph->start);
    }
    bf_trace_reset(&ex->ctx->trace);
    return BF_OK;
}

static bf_status_t evaluate(bf_exchanger_t *ex, bf_graph_t *graph,
                            const bf_eval_options_t *options, bf_err_t *err)
{
    bf_context_t *ctx = ex->ctx;
    bf_status_t rc = set_up(ex, graph, options, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (options && options->trace == BF_TRACE_FRESH && begin_trace(ex) != BF_OK) {
        return bf_err_nomem(err, "trace");
    }
    bool nothing = false;
    if (options && options->task_of) {
        bf_entry_t entry = {
            .node = options->task_of, .frame = &ex->root, .kind = BF_ENTRY_TASK};
        rc = bf_walk_push(ex, &entry, err);
    } else {
        rc = begin(ex, options ? options->point : NULL, &nothing, err);
    }
    if (rc != BF_OK) {
        /* What is kept cannot be used; it stays for a look at it. */
        if (ex->saved) {
            bf_trace_put_saved(&ctx->trace, ex->saved);
            ex->saved = NULL;
        }
        return rc;
    }
    if (nothing) {
        ctx->outcome = BF_EVAL_NOTHING;
        return BF_OK;
    }
    if (ex->records && !ex->only_task && !bf_trace_find(&ctx->trace, graph->id) &&
        bf_trace_record(&ctx->trace, graph, graph->start) != BF_OK) {
        return bf_err_nomem(err, "trace");
    }
    rc = finish(ex, proceed(ex, err), err);
    if (rc == BF_OK) {
        rc = bf_point_end(ex, err);
    }
    bf_saved_free(ex->saved);
    ex->saved = NULL;
    return rc;
}

bf_status_t bf_engine_eval(bf_engine_t *engine, bf_graph_t *graph, bf_context_t *ctx,
                           const bf_eval_options_t *options, bf_err_t *err)
{
    bf_exchanger_t *ex = bf_exchanger_take(engine);
    if (!ex) {
        return bf_err_nomem(err, "walk");
    }
    bf_exchanger_t *outer = ctx->ex; /* a component may evaluate graphs (rule 94) */
    const bf_node_t *outer_node = ctx->script_node;
    bool outer_probe = ctx->is_probe;
    uint8_t outer_signals = ctx->signals & (uint8_t)~BF_SIGNAL_STOP;
    ctx->ex = ex;
    ctx->script_node = NULL;
    ctx->signals = 0;
    ctx->is_probe = outer_probe || (options && options->is_probe);
    ex->ctx = ctx;
    bf_status_t rc = evaluate(ex, graph, options, err);
    ctx->ex = outer;
    ctx->script_node = outer_node;
    ctx->is_probe = outer_probe;
    ctx->signals = (ctx->signals & BF_SIGNAL_STOP) | outer_signals;
    if (!outer_probe && ctx->overlay) {
        bf_context_end_probe(ctx);
    }
    bf_exchanger_give_back(ex);
    return rc;
}
