/*
 * plugin_int.h - inside of the host of components
 *
 *     plugin.c        libraries and what they define
 *     plugin_call.c   the table of functions that a call may use
 *     plugin_set.c    components, drivers and controllers of one engine
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_PLUGIN_INT_H
#define BF_PLUGIN_INT_H

#include "bpmflow/plugin.h"

/* A definition; which member of `as` counts is said by kind. Texts are the registry's. */
typedef struct bf_plugin {
    bf_plugin_kind_t kind;
    const char *name;
    const char *library;
    const char *actor_key; /* CONTROLLER */
    union {
        bf_component_def_t component;
        bf_driver_def_t driver;
        bf_controller_def_t controller;
    } as;
} bf_plugin_t;

typedef struct bf_plugin_library {
    const bf_component_library_t *library;
    const char *source;
} bf_plugin_library_t;

struct bf_plugins {
    size_t max_vars_bytes;
    bf_plugin_log_fn on_log;
    void *log_arg;
    bf_arena_t arena; /* texts */
    bf_plugin_t *items;
    size_t count;
    size_t room;
    bf_plugin_library_t *libraries;
    size_t library_count;
};

/* An init that runs. */
struct bf_registrar {
    bf_plugins_t *plugins;
    const bf_plugin_library_t *library;
    bf_err_t err; /* the first thing that is wrong */
};

/* One call of a callback. */
struct bf_call {
    const bf_plugins_t *plugins;
    const bf_plugin_t *plugin;
    bf_context_t *ctx;
    bf_exchanger_t *ex;        /* NULL = outside of an evaluation */
    const bf_node_t *node;     /* NULL = a condition */
    const bf_code_ref_t *code; /* NULL = none */
    bool is_read_only;
    bool is_default_task; /* call_default() / test_default() may be used */
    bool is_default_test;
    bool is_inner;    /* err comes from there, and says who failed */
    size_t set_bytes; /* so far */
    bf_arena_t arena; /* what the call returns */
    bf_err_t err;     /* the first failure */
};

/** The table; static. */
const bf_host_t *bf_plugin_host(void);

void bf_call_init(bf_call_t *call, const bf_plugins_t *plugins, const bf_plugin_t *plugin,
                  bf_context_t *ctx);
/** The outcome of a callback that returned `rc`; frees what the call has. */
bf_status_t bf_call_finish(bf_call_t *call, int rc, bf_err_t *err) BF_MUST_USE;

/* Of init: in plugin.c. */
int bf_registrar_add_component(bf_registrar_t *registrar, const bf_component_def_t *def);
int bf_registrar_add_driver(bf_registrar_t *registrar, const bf_driver_def_t *def);
int bf_registrar_add_controller(bf_registrar_t *registrar,
                                const bf_controller_def_t *def);
int bf_registrar_refuse(bf_registrar_t *registrar, const char *why);

#endif /* BF_PLUGIN_INT_H */
