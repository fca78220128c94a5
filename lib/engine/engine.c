/*
 * engine.c - registry of graphs, drivers, components, interceptors; evaluations
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/engine.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "walk_int.h"

/* All versions of one graph ID; the one with the highest number is the newest. */
typedef struct slot {
    bf_graph_t **versions;
    uint32_t count;
} slot_t;

struct bf_engine {
    bf_map_t *graphs;     /* ID -> slot_t */
    bf_map_t *drivers;    /* name -> bf_driver_t, borrowed */
    bf_map_t *components; /* name -> bf_component_t */
    bf_driver_t *plain;
    bf_driver_t *default_driver;    /* the one named "" */
    bf_interceptor_t *interceptors; /* by index */
    bf_hooks_t hooks;
    size_t interceptor_room;
    uint64_t generation;             /* counts changes of the graphs */
    _Atomic(bf_exchanger_t *) spare; /* of the last walk, for the next one */
};

/* --- exchangers --- */

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

static void free_exchanger(bf_exchanger_t *ex)
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
    bf_arena_clear(&ex->arena);
    ex->free_frames = NULL; /* lived in the arena */
    ex->free_pending = NULL;
    ex->free_waiting = NULL;
    ex->height = 0;
    ex->touched_count = 0;
    ex->env.arg = NULL;
    ex->log = NULL;
    ex->call = NULL;
    free_exchanger(atomic_exchange(&ex->engine->spare, ex));
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

/* --- registry --- */

bf_engine_t *bf_engine_new(void)
{
    bf_engine_t *engine = calloc(1, sizeof(*engine));
    if (!engine) {
        return NULL;
    }
    engine->graphs = bf_map_new();
    engine->drivers = bf_map_new();
    engine->components = bf_map_new();
    engine->plain = bf_plain_driver_new("");
    if (!engine->graphs || !engine->drivers || !engine->components || !engine->plain ||
        bf_engine_set_driver(engine, "", engine->plain) != BF_OK) {
        bf_engine_free(engine);
        return NULL;
    }
    return engine;
}

static void free_slot(slot_t *slot)
{
    for (uint32_t i = 0; i < slot->count; i++) {
        bf_graph_unref(slot->versions[i]);
    }
    free(slot->versions);
    free(slot);
}

void bf_engine_free(bf_engine_t *engine)
{
    if (!engine) {
        return;
    }
    free_exchanger(atomic_exchange(&engine->spare, NULL));
    size_t cursor = 0;
    void *value;
    while (engine->graphs && bf_map_next(engine->graphs, &cursor, NULL, NULL, &value)) {
        free_slot(value);
    }
    cursor = 0;
    while (engine->components &&
           bf_map_next(engine->components, &cursor, NULL, NULL, &value)) {
        free(value);
    }
    bf_map_free(engine->graphs);
    bf_map_free(engine->drivers);
    bf_map_free(engine->components);
    bf_plain_driver_free(engine->plain);
    free(engine->interceptors);
    free(engine);
}

/* Put a graph into its slot, in order of versions. BF_E_NOMEM: nothing changed. */
static bf_status_t slot_put(slot_t *slot, bf_graph_t *graph)
{
    uint32_t at = 0;
    while (at < slot->count && slot->versions[at]->version < graph->version) {
        at++;
    }
    if (at < slot->count && slot->versions[at]->version == graph->version) {
        bf_graph_ref(graph);
        bf_graph_unref(slot->versions[at]);
        slot->versions[at] = graph;
        return BF_OK;
    }
    bf_graph_t **versions =
        realloc(slot->versions, (slot->count + 1) * sizeof(bf_graph_t *));
    if (!versions) {
        return BF_E_NOMEM;
    }
    memmove(versions + at + 1, versions + at, (slot->count - at) * sizeof(bf_graph_t *));
    versions[at] = bf_graph_ref(graph);
    slot->versions = versions;
    slot->count++;
    return BF_OK;
}

bf_status_t bf_engine_load(bf_engine_t *engine, bf_graph_t *graph, bf_err_t *err)
{
    slot_t *slot = bf_map_get_str(engine->graphs, graph->id);
    slot_t *fresh = NULL;
    if (!slot) {
        fresh = calloc(1, sizeof(*fresh));
        slot = fresh;
    }
    bf_status_t rc = slot ? slot_put(slot, graph) : BF_E_NOMEM;
    if (rc == BF_OK && fresh) {
        rc = bf_map_put(engine->graphs, graph->id, strlen(graph->id), fresh, NULL);
    }
    if (rc != BF_OK) {
        if (fresh) {
            free_slot(fresh);
        }
        return bf_err_nomem(err, "loading a graph");
    }
    engine->generation++;
    return BF_OK;
}

void bf_engine_unload(bf_engine_t *engine, const char *graph_id)
{
    slot_t *slot = bf_map_remove(engine->graphs, graph_id, strlen(graph_id));
    if (slot) {
        free_slot(slot);
        engine->generation++;
    }
}

bf_graph_t *bf_engine_graph(const bf_engine_t *engine, const char *graph_id)
{
    const slot_t *slot = bf_map_get_str(engine->graphs, graph_id);
    return slot ? slot->versions[slot->count - 1] : NULL;
}

bf_graph_t *bf_engine_graph_version(const bf_engine_t *engine, const char *graph_id,
                                    int32_t version)
{
    const slot_t *slot = bf_map_get_str(engine->graphs, graph_id);
    for (uint32_t i = 0; slot && i < slot->count; i++) {
        if (slot->versions[i]->version == version) {
            return slot->versions[i];
        }
    }
    return NULL;
}

bf_status_t bf_engine_set_driver(bf_engine_t *engine, const char *name,
                                 bf_driver_t *driver)
{
    size_t len = strlen(name);
    if (!driver) {
        (void)bf_map_remove(engine->drivers, name, len);
    } else if (bf_map_put(engine->drivers, name, len, driver, NULL) != BF_OK) {
        return BF_E_NOMEM;
    }
    if (!len) {
        engine->default_driver = driver;
    }
    return BF_OK;
}

bf_driver_t *bf_engine_driver(const bf_engine_t *engine, const char *name)
{
    return *name ? bf_map_get_str(engine->drivers, name) : engine->default_driver;
}

bf_status_t bf_engine_driver_for(const bf_engine_t *engine, const bf_graph_t *graph,
                                 bf_driver_t **ret, bf_err_t *err)
{
    *ret = bf_engine_driver(engine, graph->driver);
    return *ret ? BF_OK
                : bf_err_set(err, BF_E_NOT_FOUND,
                             "graph %s: No driver found for: '%s'; register it or "
                             "correct `driver`",
                             graph->id, graph->driver);
}

bf_status_t bf_engine_set_component(bf_engine_t *engine, const char *name,
                                    const bf_component_t *component)
{
    size_t len = strlen(name);
    if (!component) {
        free(bf_map_remove(engine->components, name, len));
        return BF_OK;
    }
    bf_component_t *copy = malloc(sizeof(*copy));
    if (!copy) {
        return BF_E_NOMEM;
    }
    *copy = *component;
    void *old = NULL;
    if (bf_map_put(engine->components, name, len, copy, &old) != BF_OK) {
        free(copy);
        return BF_E_NOMEM;
    }
    free(old);
    return BF_OK;
}

const bf_component_t *bf_engine_component(const bf_engine_t *engine, const char *name)
{
    return bf_map_get_str(engine->components, name);
}

/* Behind those of the same index. */
static void insert_by_index(bf_interceptor_t *all, size_t count,
                            const bf_interceptor_t *one)
{
    size_t at = count;
    while (at && all[at - 1].index > one->index) {
        all[at] = all[at - 1];
        at--;
    }
    all[at] = *one;
}

bf_status_t bf_engine_add_interceptor(bf_engine_t *engine,
                                      const bf_interceptor_t *interceptor)
{
    if (engine->hooks.count == engine->interceptor_room) {
        size_t room = engine->interceptor_room ? engine->interceptor_room * 2 : 4;
        bf_interceptor_t *all = realloc(engine->interceptors, room * sizeof(*all));
        if (!all) {
            return BF_E_NOMEM;
        }
        engine->interceptors = all;
        engine->interceptor_room = room;
    }
    insert_by_index(engine->interceptors, engine->hooks.count, interceptor);
    engine->hooks.all = engine->interceptors;
    engine->hooks.count++;
    return BF_OK;
}

void bf_engine_clear_interceptors(bf_engine_t *engine)
{
    engine->hooks.count = 0;
}

/* --- evaluation --- */

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
        insert_by_index(ex->merged, ex->call_hooks.count + i, &options->interceptors[i]);
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
    memset(&ex->root, 0, sizeof(ex->root));
    ex->root.caller = BF_LOG_NONE;
    ex->root.hooks = &ex->root_hooks;
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
static bf_status_t begin(bf_exchanger_t *ex, bool *ret_nothing, bf_err_t *err)
{
    bf_trace_t *trace = &ex->ctx->trace;
    *ret_nothing = false;
    ex->saved = NULL;
    ex->saved_frames = NULL;
    if (!ex->resumes) {
        return bf_resume_frame(ex, &ex->root, NULL, err);
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

static bf_status_t evaluate(bf_exchanger_t *ex, bf_graph_t *graph,
                            const bf_eval_options_t *options, bf_err_t *err)
{
    bf_context_t *ctx = ex->ctx;
    bf_status_t rc = set_up(ex, graph, options, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (options && options->trace == BF_TRACE_FRESH) {
        bf_trace_reset(&ctx->trace);
    }
    bool nothing = false;
    if (options && options->task_of) {
        bf_entry_t entry = {
            .node = options->task_of, .frame = &ex->root, .kind = BF_ENTRY_TASK};
        rc = bf_walk_push(ex, &entry, err);
    } else {
        rc = begin(ex, &nothing, err);
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
