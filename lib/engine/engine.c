/*
 * engine.c - registry of graphs, drivers, components, interceptors
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/engine.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/map.h"
#include "walk_int.h"

/* All versions of one graph ID; the one with the highest number is the newest. */
typedef struct slot {
    bf_graph_t **versions;
    uint32_t count;
} slot_t;

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
    bf_exchanger_free(atomic_exchange(&engine->spare, NULL));
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
    engine->generation++;
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
void bf_hooks_insert(bf_interceptor_t *all, size_t count, const bf_interceptor_t *one)
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
        bf_interceptor_t *all = bf_array_grow(engine->interceptors,
                                              &engine->interceptor_room, sizeof(*all), 4);
        if (!all) {
            return BF_E_NOMEM;
        }
        engine->interceptors = all;
    }
    bf_hooks_insert(engine->interceptors, engine->hooks.count, interceptor);
    engine->hooks.all = engine->interceptors;
    engine->hooks.count++;
    return BF_OK;
}

void bf_engine_clear_interceptors(bf_engine_t *engine)
{
    engine->hooks.count = 0;
}
