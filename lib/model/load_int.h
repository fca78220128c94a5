/*
 * load_int.h - the loader's parts: nodes (load.c), links (load_link.c), tasks and
 * conditions (load_code.c), checks of the whole (check.c)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_LOAD_INT_H
#define BF_LOAD_INT_H

#include "lib/model/doc_int.h"
#include "lib/model/graph_int.h"

typedef struct bf_loader {
    bf_graph_full_t *full;
    bf_arena_t *arena; /* of the graph */
    const char *file;
    bf_diags_t *diags; /* may be NULL */
    bf_err_t *err;
    bf_status_t rc;                  /* the first error */
    bool out_of_memory;              /* nothing more can be done */
    bf_node_t *nodes;                /* = full->graph.nodes */
    const bf_doc_t **layout;         /* one entry a node */
    const bf_expr_t *last_condition; /* its names are used again; NULL = none yet */
} bf_loader_t;

/** Note an error or a warning. @param node ID or NULL */
void bf_load_error(bf_loader_t *ld, uint32_t line, const char *node, const char *fmt, ...)
    BF_PRINTF(4, 5);
void bf_load_warning(bf_loader_t *ld, uint32_t line, const char *node, const char *fmt,
                     ...) BF_PRINTF(4, 5);
/** @return false */
bool bf_load_nomem(bf_loader_t *ld);

/** Memory in the graph's arena, zeroed; NULL = noted. */
void *bf_load_alloc(bf_loader_t *ld, size_t count, size_t size);

/** Text of a scalar member, copied; NULL when absent or null. Lists and maps are errors.
 */
const char *bf_load_text(bf_loader_t *ld, const bf_doc_t *map, const char *name,
                         const char *node);

/** A map member as a value; null when absent. Anything but a map is an error. */
void bf_load_meta(bf_loader_t *ld, const bf_doc_t *map, const char *node,
                  bf_value_t *ret);

/** Warn about names that look like a slip of a known one. */
void bf_load_check_names(bf_loader_t *ld, const bf_doc_t *map, const char *node,
                         const char *const *known, size_t count);

/** A task (is_task) or a condition. @param doc may be NULL */
void bf_load_code(bf_loader_t *ld, const bf_doc_t *doc, bool is_task, const char *node,
                  bf_code_ref_t *ret);

/** Links of all nodes, both directions. False: out of memory. */
bool bf_load_links(bf_loader_t *ld);

/** START, reachability, defaults, actors. False: out of memory. */
bool bf_load_check(bf_loader_t *ld);

#endif /* BF_LOAD_INT_H */
