/*
 * plugin.c - libraries of components, and what they define
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/id.h"
#include "lib/workflow/plugin_int.h"

static const char *const kind_names[BF_PLUGIN_KIND_COUNT] = {"component", "driver",
                                                             "controller"};

bf_plugins_t *bf_plugins_new(const bf_plugin_options_t *options)
{
    bf_plugins_t *plugins = calloc(1, sizeof(*plugins));
    if (!plugins) {
        return NULL;
    }
    if (options) {
        plugins->max_vars_bytes = options->max_vars_bytes;
        plugins->on_log = options->on_log;
        plugins->log_arg = options->log_arg;
    }
    if (!plugins->max_vars_bytes) {
        plugins->max_vars_bytes = BF_PLUGIN_VARS_BYTES_DEFAULT;
    }
    bf_arena_init(&plugins->arena, 0);
    return plugins;
}

void bf_plugins_free(bf_plugins_t *plugins)
{
    if (!plugins) {
        return;
    }
    while (plugins->library_count) {
        const bf_plugin_library_t *last = &plugins->libraries[--plugins->library_count];
        if (last->library->fini) {
            last->library->fini();
        }
    }
    free(plugins->libraries);
    free(plugins->items);
    bf_arena_fini(&plugins->arena);
    free(plugins);
}

static const bf_plugin_t *find(const bf_plugins_t *plugins, bf_plugin_kind_t kind,
                               const char *name)
{
    for (size_t i = 0; i < plugins->count; i++) {
        const bf_plugin_t *plugin = &plugins->items[i];
        if (plugin->kind == kind && !strcmp(plugin->name, name)) {
            return plugin;
        }
    }
    return NULL;
}

bool bf_plugins_has(const bf_plugins_t *plugins, bf_plugin_kind_t kind, const char *name)
{
    return find(plugins, kind, name) != NULL;
}

const char *bf_plugins_name(const bf_plugins_t *plugins, bf_plugin_kind_t kind,
                            size_t index)
{
    for (size_t i = 0; i < plugins->count; i++) {
        if (plugins->items[i].kind == kind && index-- == 0) {
            return plugins->items[i].name;
        }
    }
    return NULL;
}

/* --- what init says --- */

/* Names stand in definitions behind @, and in sentences. */
static bf_status_t check_name(const bf_registrar_t *registrar, bf_plugin_kind_t kind,
                              const char *name, bf_err_t *err)
{
    bf_err_t why = BF_ERR_INIT;
    const char *what = kind_names[kind];
    if (!name) {
        return bf_err_set(err, BF_E_INVALID, "a %s has no name", what);
    }
    if (bf_id_check("its name", name, strlen(name), &why) != BF_OK) {
        return bf_err_set(err, BF_E_INVALID, "a %s cannot be used: %s", what, why.text);
    }
    const bf_plugin_t *other = find(registrar->plugins, kind, name);
    if (other) {
        return bf_err_set(
            err, BF_E_EXISTS,
            "%s '%s' is defined by %s already; rename one of them, or leave "
            "one of the libraries out",
            what, name, other->library);
    }
    return BF_OK;
}

/* Room for one more; its name is checked. NULL: registrar->err says why. */
static bf_plugin_t *add(bf_registrar_t *registrar, bf_plugin_kind_t kind,
                        const char *name)
{
    bf_plugins_t *plugins = registrar->plugins;
    if (check_name(registrar, kind, name, &registrar->err) != BF_OK) {
        return NULL;
    }
    if (plugins->count == plugins->room) {
        bf_plugin_t *items =
            bf_array_grow(plugins->items, &plugins->room, sizeof(*items), 8);
        if (!items) {
            bf_err_nomem(&registrar->err, name);
            return NULL;
        }
        plugins->items = items;
    }
    const char *copy = bf_arena_strdup(&plugins->arena, name);
    if (!copy) {
        bf_err_nomem(&registrar->err, name);
        return NULL;
    }
    bf_plugin_t *plugin = &plugins->items[plugins->count++];
    *plugin =
        (bf_plugin_t){.kind = kind, .name = copy, .library = registrar->library->source};
    return plugin;
}

static int refuse_empty(bf_registrar_t *registrar, bf_plugin_kind_t kind,
                        const char *name, const char *needed)
{
    bf_err_set(&registrar->err, BF_E_INVALID, "%s '%s' has no %s", kind_names[kind],
               name ? name : "", needed);
    return BF_CALL_FAILED;
}

/* A library may know a shorter struct than we do: the rest is zero. */
static bool copy_def(bf_registrar_t *registrar, const char *what, void *to, size_t room,
                     const void *from)
{
    size_t size = 0;
    if (from) {
        memcpy(&size, from, sizeof(size));
    }
    if (size < sizeof(size) + sizeof(char *) || size > 4096) {
        bf_err_set(&registrar->err, BF_E_INVALID,
                   "a %s does not say its size; set .size = sizeof(...)", what);
        return false;
    }
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
    return true;
}

int bf_registrar_add_component(bf_registrar_t *registrar, const bf_component_def_t *def)
{
    bf_component_def_t copy;
    if (!copy_def(registrar, "component", &copy, sizeof(copy), def)) {
        return BF_CALL_FAILED;
    }
    if (!copy.run && !copy.test) {
        return refuse_empty(registrar, BF_PLUGIN_COMPONENT, copy.name, "run and no test");
    }
    bf_plugin_t *plugin = add(registrar, BF_PLUGIN_COMPONENT, copy.name);
    if (plugin) {
        plugin->as.component = copy;
    }
    return plugin ? BF_CALL_OK : BF_CALL_FAILED;
}

int bf_registrar_add_driver(bf_registrar_t *registrar, const bf_driver_def_t *def)
{
    bf_driver_def_t copy;
    if (!copy_def(registrar, "driver", &copy, sizeof(copy), def)) {
        return BF_CALL_FAILED;
    }
    bf_plugin_t *plugin = add(registrar, BF_PLUGIN_DRIVER, copy.name);
    if (plugin) {
        plugin->as.driver = copy;
    }
    return plugin ? BF_CALL_OK : BF_CALL_FAILED;
}

int bf_registrar_add_controller(bf_registrar_t *registrar, const bf_controller_def_t *def)
{
    bf_controller_def_t copy;
    if (!copy_def(registrar, "controller", &copy, sizeof(copy), def)) {
        return BF_CALL_FAILED;
    }
    if (!copy.is_operable || !copy.is_automatic) {
        return refuse_empty(registrar, BF_PLUGIN_CONTROLLER, copy.name,
                            "is_operable or no is_automatic; both are needed");
    }
    const char *key =
        bf_arena_strdup(&registrar->plugins->arena,
                        copy.actor_key && *copy.actor_key ? copy.actor_key : "actor");
    if (!key) {
        bf_err_nomem(&registrar->err, "controller");
        return BF_CALL_FAILED;
    }
    bf_plugin_t *plugin = add(registrar, BF_PLUGIN_CONTROLLER, copy.name);
    if (plugin) {
        plugin->as.controller = copy;
        plugin->actor_key = key;
    }
    return plugin ? BF_CALL_OK : BF_CALL_FAILED;
}

int bf_registrar_refuse(bf_registrar_t *registrar, const char *why)
{
    bf_err_set(&registrar->err, BF_E_COMPONENT, "%s", why ? why : "");
    return BF_CALL_FAILED;
}

/* --- libraries --- */

static bf_status_t check_library(const bf_component_library_t *library, bf_err_t *err)
{
    if (library->abi != BF_COMPONENT_ABI) {
        return bf_err_set(err, BF_E_UNSUPPORTED,
                          "it was built for component ABI %u, this program has %d; build "
                          "it with the headers of this version",
                          (unsigned)library->abi, BF_COMPONENT_ABI);
    }
    if (library->size < sizeof(*library) || !library->init) {
        return bf_err_set(err, BF_E_INVALID,
                          "its bf_component_library is not filled; set abi, size, name, "
                          "version and init");
    }
    return BF_OK;
}

static bf_status_t run_init(bf_plugins_t *plugins, const bf_plugin_library_t *added,
                            bf_err_t *err)
{
    bf_registrar_t registrar = {.plugins = plugins, .library = added, .err = BF_ERR_INIT};
    size_t before = plugins->count;
    int rc = added->library->init(bf_plugin_host(), &registrar);
    if (rc == BF_CALL_OK && registrar.err.status == BF_OK) {
        return BF_OK;
    }
    plugins->count = before;
    if (added->library->fini) {
        added->library->fini();
    }
    bf_err_set(&registrar.err, BF_E_COMPONENT, "its init failed and gave no reason");
    return bf_err_set(err, registrar.err.status, "%s", registrar.err.text);
}

bf_status_t bf_plugins_add(bf_plugins_t *plugins, const bf_component_library_t *library,
                           const char *source, bf_err_t *err)
{
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = check_library(library, &why);
    bf_plugin_library_t *grown = NULL;
    if (rc == BF_OK) {
        grown = realloc(plugins->libraries,
                        (plugins->library_count + 1) * sizeof(*plugins->libraries));
        rc = grown ? BF_OK : BF_E_NOMEM;
    }
    if (rc == BF_OK) {
        plugins->libraries = grown;
        bf_plugin_library_t *added = &plugins->libraries[plugins->library_count];
        *added = (bf_plugin_library_t){library, bf_arena_strdup(&plugins->arena, source)};
        rc = added->source ? run_init(plugins, added, &why) : BF_E_NOMEM;
    }
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(err, source);
    }
    if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s cannot be used: %s", source, why.text);
    }
    plugins->library_count++;
    return BF_OK;
}
