/*
 * plugin.h - the host's side of component.h: libraries of components, and engines that
 *            use them
 *
 * A registry holds the libraries of a process and what they define; names are unique in
 * it.  Each engine (thread) opens a set of its own: components and drivers are put into
 * the engine, controllers are asked for by name.  Loading shared objects is the caller's:
 * this does no input or output.
 *
 * Threads:  the registry is filled by one thread and only read afterwards; a set belongs
 *           to the thread of its engine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PLUGIN_H
#define BF_PLUGIN_H

#include "bpmflow/component.h"
#include "bpmflow/controller.h"
#include "bpmflow/engine.h"

typedef struct bf_plugins bf_plugins_t;
typedef struct bf_plugin_set bf_plugin_set_t;

/* A line that a component wants to have logged. Any thread. */
typedef void (*bf_plugin_log_fn)(void *arg, bf_call_log_level_t level,
                                 const char *library, const char *instance_id,
                                 const char *node_id, const char *text);

typedef struct bf_plugin_options {
    /* What one call may set, as JSON, in all; 0 = BF_PLUGIN_VARS_BYTES_DEFAULT. */
    size_t max_vars_bytes;
    bf_plugin_log_fn on_log; /* NULL = nowhere */
    void *log_arg;
} bf_plugin_options_t;

#define BF_PLUGIN_VARS_BYTES_DEFAULT ((size_t)256 * 1024)

typedef enum {
    BF_PLUGIN_COMPONENT,
    BF_PLUGIN_DRIVER,
    BF_PLUGIN_CONTROLLER,
    BF_PLUGIN_KIND_COUNT
} bf_plugin_kind_t;

/** @param options NULL = defaults. NULL when out of memory. */
bf_plugins_t *bf_plugins_new(const bf_plugin_options_t *options) BF_MUST_USE;
/** All sets must be closed. Calls fini of the libraries, the last one first; shared
 *  objects are unloaded by the caller afterwards. NULL is allowed. */
void bf_plugins_free(bf_plugins_t *plugins);

/**
 * Add a library and let it define what it has.
 * @param library  borrowed; must outlive the registry
 * @param source   where it comes from, for messages; copied
 * @return BF_OK; BF_E_UNSUPPORTED: another ABI; BF_E_EXISTS: a name is taken (both
 *         libraries are named); BF_E_INVALID: a definition that cannot be used;
 *         BF_E_COMPONENT: its init refused; BF_E_NOMEM. After an error nothing of it is
 *         in the registry (its fini is called when its init was).
 */
bf_status_t bf_plugins_add(bf_plugins_t *plugins, const bf_component_library_t *library,
                           const char *source, bf_err_t *err) BF_MUST_USE;

/** The names of one kind, in order of adding; borrowed. NULL beyond the last. */
const char *bf_plugins_name(const bf_plugins_t *plugins, bf_plugin_kind_t kind,
                            size_t index);
bool bf_plugins_has(const bf_plugins_t *plugins, bf_plugin_kind_t kind, const char *name);

/**
 * Put components and drivers into an engine, and make their states.
 * @return BF_OK; BF_E_EXISTS: the engine has one of that name; BF_E_COMPONENT: an open
 *         failed; BF_E_NOMEM. After an error the engine is as before.
 */
bf_status_t bf_plugin_set_open(const bf_plugins_t *plugins, bf_engine_t *engine,
                               bf_plugin_set_t **ret, bf_err_t *err) BF_MUST_USE;
/** Take them out of the engine and end their states. NULL is allowed. */
void bf_plugin_set_close(bf_plugin_set_t *set);

/** Borrowed from the set: bf_controller_free() does nothing to it. NULL = none of that
 *  name. */
bf_controller_t *bf_plugin_set_controller(bf_plugin_set_t *set, const char *name);

#endif /* BF_PLUGIN_H */
