/*
 * catalogue.c - graphs from files, with reload
 *
 * A load works on a copy of the list of entries and swaps it in at the end: a failure in
 * the middle changes nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/catalogue.h"
#include "bpmflow/array.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct entry {
    char *path; /* NULL = not from a file */
    bf_graph_t *graph;
    bool seen; /* by the load that runs */
} entry_t;

typedef struct entries {
    entry_t *items;
    size_t used;
    size_t room;
} entries_t;

typedef struct names {
    char **items;
    size_t used;
    size_t room;
} names_t;

struct bf_catalogue {
    pthread_mutex_t lock;
    entries_t entries; /* lock */
    names_t refused;   /* lock; files of the last load */
    uint64_t number;   /* lock */
};

/* A load that runs. */
typedef struct load {
    entries_t entries;
    names_t refused;
    bf_diags_t *diags;
    bf_catalogue_report_t report;
    bf_err_t *err;
} load_t;

static void entries_fini(entries_t *entries)
{
    for (size_t i = 0; i < entries->used; i++) {
        free(entries->items[i].path);
        bf_graph_unref(entries->items[i].graph);
    }
    free(entries->items);
    memset(entries, 0, sizeof(*entries));
}

/* Takes a reference. */
static bf_status_t entries_add(entries_t *entries, const char *path, bf_graph_t *graph,
                               bool seen)
{
    if (entries->used == entries->room) {
        entry_t *items =
            bf_array_grow(entries->items, &entries->room, sizeof(*items), 16);
        if (!items) {
            return BF_E_NOMEM;
        }
        entries->items = items;
    }
    char *copy = path ? strdup(path) : NULL;
    if (path && !copy) {
        return BF_E_NOMEM;
    }
    entries->items[entries->used++] =
        (entry_t){.path = copy, .graph = bf_graph_ref(graph), .seen = seen};
    return BF_OK;
}

static bf_status_t entries_copy(const entries_t *from, entries_t *to)
{
    memset(to, 0, sizeof(*to));
    for (size_t i = 0; i < from->used; i++) {
        const entry_t *e = &from->items[i];
        if (entries_add(to, e->path, e->graph, false) != BF_OK) {
            entries_fini(to);
            return BF_E_NOMEM;
        }
    }
    return BF_OK;
}

static void names_fini(names_t *names)
{
    for (size_t i = 0; i < names->used; i++) {
        free(names->items[i]);
    }
    free(names->items);
    memset(names, 0, sizeof(*names));
}

static bf_status_t names_add(names_t *names, const char *name)
{
    if (names->used == names->room) {
        char **items = bf_array_grow(names->items, &names->room, sizeof(*items), 8);
        if (!items) {
            return BF_E_NOMEM;
        }
        names->items = items;
    }
    char *copy = strdup(name);
    if (!copy) {
        return BF_E_NOMEM;
    }
    names->items[names->used++] = copy;
    return BF_OK;
}

bf_catalogue_t *bf_catalogue_new(void)
{
    bf_catalogue_t *catalogue = calloc(1, sizeof(*catalogue));
    if (catalogue) {
        pthread_mutex_init(&catalogue->lock, NULL);
    }
    return catalogue;
}

void bf_catalogue_free(bf_catalogue_t *catalogue)
{
    if (catalogue) {
        entries_fini(&catalogue->entries);
        names_fini(&catalogue->refused);
        pthread_mutex_destroy(&catalogue->lock);
        free(catalogue);
    }
}

/* --- loading --- */

static entry_t *find_version(const entries_t *entries, const char *id, int32_t version)
{
    for (size_t i = 0; i < entries->used; i++) {
        entry_t *e = &entries->items[i];
        if (e->graph->version == version && !strcmp(e->graph->id, id)) {
            return e;
        }
    }
    return NULL;
}

static void keep_graphs_of(load_t *load, const char *path)
{
    for (size_t i = 0; i < load->entries.used; i++) {
        entry_t *e = &load->entries.items[i];
        if (e->path && !strcmp(e->path, path) && !e->seen) {
            e->seen = true;
            load->report.kept++;
            if (load->diags) {
                bf_diags_add(load->diags, BF_DIAG_WARNING, path, 0, NULL,
                             "the last good version %d of graph '%s' stays in use",
                             (int)e->graph->version, e->graph->id);
            }
        }
    }
}

/* A file with mistakes is refused, which is no failure of the load. */
static bf_status_t refuse(load_t *load, const char *path)
{
    load->report.refused++;
    keep_graphs_of(load, path);
    return names_add(&load->refused, path) == BF_OK ? BF_OK
                                                    : bf_err_nomem(load->err, path);
}

/* The file has another content than the entry of the same ID and version. */
static bf_status_t replace(load_t *load, entry_t *e, const char *path, bf_graph_t *graph)
{
    char *copy = strdup(path);
    if (!copy) {
        return bf_err_nomem(load->err, path);
    }
    if (load->diags) {
        bf_diags_add(load->diags, BF_DIAG_WARNING, path, 0, NULL,
                     "graph '%s' has changed but is still version %d: running instances "
                     "follow the new content; raise its version to keep them on the old",
                     graph->id, (int)graph->version);
    }
    free(e->path);
    e->path = copy;
    bf_graph_unref(e->graph);
    e->graph = bf_graph_ref(graph);
    e->seen = true;
    load->report.replaced++;
    return BF_OK;
}

static bf_status_t take(load_t *load, const char *path, bf_graph_t *graph)
{
    entry_t *e = find_version(&load->entries, graph->id, graph->version);
    if (!e) {
        load->report.added++;
        return entries_add(&load->entries, path, graph, true) == BF_OK
                   ? BF_OK
                   : bf_err_nomem(load->err, path);
    }
    if (e->seen) {
        if (load->diags) {
            bf_diags_add(load->diags, BF_DIAG_ERROR, path, 0, NULL,
                         "graph '%s' version %d is also in %s; give one of them another "
                         "version",
                         graph->id, (int)graph->version,
                         e->path ? e->path : "the program");
        }
        return refuse(load, path);
    }
    if (!strcmp(e->graph->hash, graph->hash)) {
        e->seen = true;
        load->report.unchanged++;
        return BF_OK;
    }
    return replace(load, e, path, graph);
}

static bf_status_t load_file(load_t *load, const char *path)
{
    bf_graph_t *graph = NULL;
    bf_err_t reason = BF_ERR_INIT;
    uint32_t before = load->diags ? load->diags->error_count : 0;
    load->report.files++;
    bf_status_t rc = bf_graph_load_file(path, load->diags, &graph, &reason);
    if (rc == BF_OK) {
        rc = take(load, path, graph);
        bf_graph_unref(graph);
        return rc;
    }
    if (rc == BF_E_NOMEM) {
        return bf_err_nomem(load->err, path);
    }
    if (load->diags && load->diags->error_count == before) {
        bf_diags_add(load->diags, BF_DIAG_ERROR, path, 0, NULL, "%s", reason.text);
    }
    return refuse(load, path);
}

static int is_definition(const struct dirent *entry)
{
    static const char *const ends[] = {".yml", ".yaml", ".json"};
    size_t len = strlen(entry->d_name);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t end = strlen(ends[i]);
        if (entry->d_name[0] != '.' && len > end &&
            !strcmp(entry->d_name + len - end, ends[i])) {
            return 1;
        }
    }
    return 0;
}

static bf_status_t load_named(load_t *load, const char *folder, const char *name)
{
    bf_str_t path;
    bf_str_init(&path, 0);
    bf_str_printf(&path, "%s/%s", folder, name);
    bf_status_t rc = bf_str_failed(&path) ? bf_err_nomem(load->err, folder)
                                          : load_file(load, bf_str_peek(&path));
    bf_str_fini(&path);
    return rc;
}

static bf_status_t unreadable(load_t *load, const char *path)
{
    char reason[128];
    return bf_err_set(load->err, BF_E_IO, "definitions: %s cannot be read: %s", path,
                      strerror_r(errno, reason, sizeof(reason)));
}

static bf_status_t load_folder(load_t *load, const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_definition, alphasort);
    if (count < 0) {
        return errno == ENOMEM ? bf_err_nomem(load->err, path) : unreadable(load, path);
    }
    bf_status_t rc = BF_OK;
    for (int i = 0; i < count; i++) {
        if (rc == BF_OK) {
            rc = load_named(load, path, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static bf_status_t load_path(load_t *load, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return unreadable(load, path);
    }
    return S_ISDIR(st.st_mode) ? load_folder(load, path) : load_file(load, path);
}

/* What no file of this load has is kept: instances may be pinned to it. */
static void keep_the_rest(load_t *load)
{
    for (size_t i = 0; i < load->entries.used; i++) {
        entry_t *e = &load->entries.items[i];
        if (e->seen || !e->path) {
            continue;
        }
        load->report.kept++;
        if (load->diags) {
            bf_diags_add(
                load->diags, BF_DIAG_WARNING, e->path, 0, NULL,
                "graph '%s' version %d is no longer there; it stays in use until "
                "the next start",
                e->graph->id, (int)e->graph->version);
        }
    }
    load->report.graphs = (uint32_t)load->entries.used;
}

bf_status_t bf_catalogue_load(bf_catalogue_t *catalogue, const char *const *paths,
                              size_t path_count, bf_diags_t *diags,
                              bf_catalogue_report_t *ret, bf_err_t *err)
{
    load_t load = {.diags = diags, .err = err};
    pthread_mutex_lock(&catalogue->lock);
    bf_status_t rc = entries_copy(&catalogue->entries, &load.entries);
    pthread_mutex_unlock(&catalogue->lock);
    if (rc != BF_OK) {
        return bf_err_nomem(err, "definitions");
    }
    for (size_t i = 0; rc == BF_OK && i < path_count; i++) {
        rc = load_path(&load, paths[i]);
    }
    if (rc != BF_OK) {
        entries_fini(&load.entries);
        names_fini(&load.refused);
        return rc;
    }
    keep_the_rest(&load);
    pthread_mutex_lock(&catalogue->lock);
    entries_t old = catalogue->entries;
    names_t old_refused = catalogue->refused;
    catalogue->entries = load.entries;
    catalogue->refused = load.refused;
    catalogue->number += load.report.added || load.report.replaced ? 1 : 0;
    pthread_mutex_unlock(&catalogue->lock);
    entries_fini(&old);
    names_fini(&old_refused);
    if (ret) {
        *ret = load.report;
    }
    if (load.report.refused) {
        return bf_err_set(err, BF_E_INVALID,
                          "%u of %u definition files are refused; see their errors",
                          load.report.refused, load.report.files);
    }
    return BF_OK;
}

bf_status_t bf_catalogue_add(bf_catalogue_t *catalogue, bf_graph_t *graph, bf_err_t *err)
{
    pthread_mutex_lock(&catalogue->lock);
    entry_t *e = find_version(&catalogue->entries, graph->id, graph->version);
    bf_status_t rc = BF_OK;
    if (e) {
        bf_graph_t *old = e->graph;
        e->graph = bf_graph_ref(graph);
        bf_graph_unref(old);
    } else {
        rc = entries_add(&catalogue->entries, NULL, graph, false);
    }
    catalogue->number += rc == BF_OK ? 1 : 0;
    pthread_mutex_unlock(&catalogue->lock);
    return rc == BF_OK ? rc : bf_err_nomem(err, "definitions");
}

/* --- use --- */

size_t bf_catalogue_count(bf_catalogue_t *catalogue)
{
    pthread_mutex_lock(&catalogue->lock);
    size_t count = catalogue->entries.used;
    pthread_mutex_unlock(&catalogue->lock);
    return count;
}

uint64_t bf_catalogue_number(bf_catalogue_t *catalogue)
{
    pthread_mutex_lock(&catalogue->lock);
    uint64_t number = catalogue->number;
    pthread_mutex_unlock(&catalogue->lock);
    return number;
}

bf_status_t bf_catalogue_apply(bf_catalogue_t *catalogue, bf_engine_t *engine,
                               uint64_t *seen, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    pthread_mutex_lock(&catalogue->lock);
    if (catalogue->number != *seen) {
        for (size_t i = 0; rc == BF_OK && i < catalogue->entries.used; i++) {
            rc = bf_engine_load(engine, catalogue->entries.items[i].graph, err);
        }
        if (rc == BF_OK) {
            *seen = catalogue->number;
        }
    }
    pthread_mutex_unlock(&catalogue->lock);
    return rc;
}

bf_graph_t *bf_catalogue_graph(bf_catalogue_t *catalogue, const char *graph_id,
                               int32_t version)
{
    bf_graph_t *found = NULL;
    pthread_mutex_lock(&catalogue->lock);
    for (size_t i = 0; i < catalogue->entries.used; i++) {
        bf_graph_t *graph = catalogue->entries.items[i].graph;
        bool is_wanted = version ? graph->version == version
                                 : !found || graph->version > found->version;
        if (is_wanted && !strcmp(graph->id, graph_id)) {
            found = graph;
        }
    }
    if (found) {
        (void)bf_graph_ref(found);
    }
    pthread_mutex_unlock(&catalogue->lock);
    return found;
}

void bf_catalogue_each(bf_catalogue_t *catalogue,
                       void (*fn)(void *arg, const bf_graph_t *graph), void *arg)
{
    pthread_mutex_lock(&catalogue->lock);
    for (size_t i = 0; i < catalogue->entries.used; i++) {
        fn(arg, catalogue->entries.items[i].graph);
    }
    pthread_mutex_unlock(&catalogue->lock);
}

void bf_catalogue_each_refused(bf_catalogue_t *catalogue,
                               void (*fn)(void *arg, const char *path), void *arg)
{
    pthread_mutex_lock(&catalogue->lock);
    for (size_t i = 0; i < catalogue->refused.used; i++) {
        fn(arg, catalogue->refused.items[i]);
    }
    pthread_mutex_unlock(&catalogue->lock);
}

bool bf_graph_is_enabled(const bf_graph_t *graph)
{
    const bf_value_t *enabled = bf_value_get_str(&graph->meta, "enabled");
    return !enabled || enabled->type != BF_VALUE_BOOL || enabled->as.boolean;
}
