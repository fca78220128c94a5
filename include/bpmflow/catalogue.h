/*
 * catalogue.h - the graphs of a process: folders of definition files, versions, reload
 *
 * One catalogue for the process; the engine of each shard is brought up to date from it
 * between batches.  A file may hold a new version of a graph that another file holds; an
 * instance stays with the version it began with, a new instance takes the newest.  So a
 * definition is changed by adding a file (leave@2.yaml beside leave@1.yaml; the names of
 * the files do not matter), and the file of an old version stays in the folder for as
 * long as instances run on it.
 *
 * A reload never takes away what works: a file with mistakes is refused and named, and
 * the last good graph that came from it stays in use; so does the graph of a file that is
 * gone, until the next start.  Good files of the same reload are taken.
 *
 * A graph with `enabled: false` in its meta takes no new instances; those that run go on.
 *
 * Threads:  all functions may be called from any thread (a lock inside); loading blocks
 *           on the disk without holding the lock.  Loads do not run beside each other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CATALOGUE_H
#define BF_CATALOGUE_H

#include "bpmflow/engine.h"
#include "bpmflow/graph.h"

typedef struct bf_catalogue bf_catalogue_t;

/** Empty; NULL when out of memory. */
bf_catalogue_t *bf_catalogue_new(void) BF_MUST_USE;
void bf_catalogue_free(bf_catalogue_t *catalogue);

/* What a load did. */
typedef struct bf_catalogue_report {
    uint32_t files;     /* read */
    uint32_t graphs;    /* in the catalogue now */
    uint32_t added;     /* new graphs or versions */
    uint32_t replaced;  /* same version, other content */
    uint32_t unchanged; /* same content as before */
    uint32_t refused;   /* files with mistakes */
    uint32_t kept;      /* files refused or gone, whose last good graph stays */
} bf_catalogue_report_t;

/**
 * Read all definition files (.yml, .yaml, .json) of the paths.
 *
 * @param paths  files and folders (not below folders; names that begin with a dot are
 *               left out), in this order, folders in order of names
 * @param diags  errors and warnings of all files; may be NULL
 * @param ret    what was done; may be NULL
 * @return BF_OK: every file is good; BF_E_INVALID: some are refused (the good ones are
 *         in use, err counts the others); BF_E_IO: a path cannot be read (nothing has
 *         changed); BF_E_NOMEM (nothing has changed)
 */
bf_status_t bf_catalogue_load(bf_catalogue_t *catalogue, const char *const *paths,
                              size_t path_count, bf_diags_t *diags,
                              bf_catalogue_report_t *ret, bf_err_t *err) BF_MUST_USE;

/** Add a graph that does not come from a file. Takes a reference of its own. */
bf_status_t bf_catalogue_add(bf_catalogue_t *catalogue, bf_graph_t *graph,
                             bf_err_t *err) BF_MUST_USE;

size_t bf_catalogue_count(bf_catalogue_t *catalogue);

/** Counts up with each load that changed something; 0 = nothing was loaded yet. */
uint64_t bf_catalogue_number(bf_catalogue_t *catalogue);

/**
 * Bring an engine up to date when the catalogue has changed.
 * @param seen  number that the engine has; 0 at first; updated on success
 * @return BF_OK, BF_E_NOMEM (call again later)
 */
bf_status_t bf_catalogue_apply(bf_catalogue_t *catalogue, bf_engine_t *engine,
                               uint64_t *seen, bf_err_t *err) BF_MUST_USE;

/** A new reference to a graph, or NULL. @param version 0 = the newest */
bf_graph_t *bf_catalogue_graph(bf_catalogue_t *catalogue, const char *graph_id,
                               int32_t version) BF_MUST_USE;

/** Call fn for each graph, in order of loading, with the lock held. */
void bf_catalogue_each(bf_catalogue_t *catalogue,
                       void (*fn)(void *arg, const bf_graph_t *graph), void *arg);

/** Call fn for each file that the last load refused, in order of reading, with the lock
 *  held. All of them, also where diags had no room for their errors. */
void bf_catalogue_each_refused(bf_catalogue_t *catalogue,
                               void (*fn)(void *arg, const char *path), void *arg);

/** False when the graph takes no new instances (meta `enabled: false`). */
bool bf_graph_is_enabled(const bf_graph_t *graph);

#endif /* BF_CATALOGUE_H */
