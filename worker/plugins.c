/*
 * plugins.c - loads the shared objects with components
 *
 * Threads:  main, before the shards start and after they are gone; the log: any.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/suggest.h"
#include "worker/process.h"

#define NAMES_MAX 64

static void on_log(void *arg, bf_call_log_level_t level, const char *library,
                   const char *instance_id, const char *node_id, const char *text)
{
    const bf_worker_t *worker = arg;
    bf_log_level_t mapped = BF_LOG_DEBUG;
    if (level == BF_CALL_LOG_ERROR) {
        mapped = BF_LOG_ERROR;
    } else if (level == BF_CALL_LOG_WARNING) {
        mapped = BF_LOG_WARNING;
    } else if (level == BF_CALL_LOG_INFO) {
        mapped = BF_LOG_INFO;
    }
    const bf_log_field_t fields[] = {BF_LOG_STR("library", library),
                                     BF_LOG_STR("instance", instance_id),
                                     BF_LOG_STR("node", node_id)};
    bf_log_write(worker->log, mapped, fields, 3, "component: %s", text);
}

/* What the loader says; main is the only thread that loads. */
static const char *loader_error(void)
{
    const char *text = dlerror(); /* NOLINT(concurrency-mt-unsafe) */
    return text ? text : "no reason given";
}

static bf_status_t load(bf_worker_t *worker, const char *name, bf_err_t *err)
{
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        return bf_err_set(err, BF_E_IO,
                          "%s cannot be loaded: %s; give its path with a slash, or put "
                          "it where the system looks for libraries",
                          name, loader_error());
    }
    worker->objects[worker->object_count++] = object;
    const bf_component_library_t *library = dlsym(object, BF_COMPONENT_SYMBOL);
    if (!library) {
        return bf_err_set(err, BF_E_INVALID,
                          "%s has no symbol " BF_COMPONENT_SYMBOL
                          ": it is no library of components; see bpmflow/component.h",
                          name);
    }
    return bf_plugins_add(worker->plugins, library, name, err);
}

/* Linked into the program: make COMPONENTS="a.c b.c". */
#ifdef BF_LINKED_COMPONENTS
#define X(library) extern const bf_component_library_t library;
BF_LINKED_COMPONENTS
#undef X
#endif

static bf_status_t add_linked(bf_worker_t *worker, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
#ifdef BF_LINKED_COMPONENTS
#define X(library)                                                                       \
    if (rc == BF_OK) {                                                                   \
        rc = bf_plugins_add(worker->plugins, &(library), #library, err);                 \
    }
    BF_LINKED_COMPONENTS
#undef X
#else
    (void)worker;
    (void)err;
#endif
    return rc;
}

static bf_status_t check_controller(const bf_worker_t *worker, bf_err_t *err)
{
    const char *wanted = worker->settings.graphs.controller;
    const char *names[NAMES_MAX] = {"actor", "block", "not-block"};
    size_t count = 3;
    if (bf_settings_controller(&worker->settings) != BF_CONTROLLER_LIBRARY ||
        bf_plugins_has(worker->plugins, BF_PLUGIN_CONTROLLER, wanted)) {
        return BF_OK;
    }
    const char *name;
    for (size_t i = 0; count < NAMES_MAX &&
                       (name = bf_plugins_name(worker->plugins, BF_PLUGIN_CONTROLLER, i));
         i++) {
        names[count++] = name;
    }
    const char *near = bf_suggest_nearest(wanted, strlen(wanted), names, count);
    return bf_err_set(err, BF_E_INVALID,
                      "graphs.controller = \"%s\": there are actor, block, not-block and "
                      "the controllers of the libraries in components%s%s%s",
                      wanted, BF_DID_YOU_MEAN(near));
}

bool bf_plugins_start(bf_worker_t *worker)
{
    const bf_text_list_t *list = &worker->settings.components;
    const bf_plugin_options_t options = {
        .max_vars_bytes = (size_t)worker->settings.limits.max_vars_bytes,
        .on_log = on_log,
        .log_arg = worker};
    bf_err_t err = BF_ERR_INIT;
    worker->plugins = bf_plugins_new(&options);
    worker->objects = calloc(list->count + 1, sizeof(void *));
    bf_status_t rc =
        worker->plugins && worker->objects ? BF_OK : bf_err_nomem(&err, "components");
    if (rc == BF_OK) {
        rc = add_linked(worker, &err);
    }
    for (size_t i = 0; i < list->count && rc == BF_OK; i++) {
        rc = load(worker, list->items[i], &err);
    }
    if (rc != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "components: %s", err.text);
        return false;
    }
    rc = check_controller(worker, &err);
    if (rc != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "%s", err.text);
    }
    return rc == BF_OK;
}

void bf_plugins_stop(bf_worker_t *worker)
{
    bf_plugins_free(worker->plugins);
    worker->plugins = NULL;
    while (worker->object_count) {
        (void)dlclose(
            worker->objects[--worker->object_count]); /* nothing to do about it */
    }
    free(worker->objects);
    worker->objects = NULL;
}
