/*
 * doc_int.h - a definition as text says it: a tree of scalars, lists and maps with lines
 *
 * YAML and JSON become the same tree, so does a value that is loaded.  The loader reads
 * it and forgets it; what a graph keeps is copied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DOC_INT_H
#define BF_DOC_INT_H

#include "bpmflow/value.h"

#define BF_DOC_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define BF_DOC_MAX_DEPTH 64
/* Scalars, lists and maps with aliases written out. */
#define BF_DOC_MAX_PARTS 4000000U

typedef struct bf_doc bf_doc_t;

typedef struct bf_doc_member {
    const char *name;
    uint32_t name_len;
    uint32_t line;
    const bf_doc_t *doc;
} bf_doc_member_t;

struct bf_doc {
    bf_value_t value; /* of a scalar; LIST and MAP: only the type */
    uint32_t line;    /* 1-based; 0 = unknown */
    uint32_t count;   /* items or members */
    uint32_t parts;   /* this one and all below */
    uint32_t depth;   /* levels below, 0 for a scalar */
    /* A scalar as written, so that the ID 007 stays 007; NULL for null. */
    const char *text;
    uint32_t text_len;
    const bf_doc_t *const *items;   /* LIST */
    const bf_doc_member_t *members; /* MAP, names are unique */
};

/**
 * Read YAML or JSON.
 * @param ret_line  on failure the line of the mistake, 0 = unknown
 * @return BF_OK, BF_E_PARSE, BF_E_LIMIT, BF_E_NOMEM
 */
bf_status_t bf_doc_parse(bf_arena_t *arena, const char *text, size_t len,
                         const bf_doc_t **ret, uint32_t *ret_line,
                         bf_err_t *err) BF_MUST_USE;

/** A value as a tree. BF_OK, BF_E_LIMIT, BF_E_NOMEM */
bf_status_t bf_doc_from_value(bf_arena_t *arena, const bf_value_t *value,
                              const bf_doc_t **ret, bf_err_t *err) BF_MUST_USE;

/** The tree as a value, copied into the arena. BF_OK, BF_E_NOMEM */
bf_status_t bf_doc_to_value(bf_arena_t *arena, const bf_doc_t *doc,
                            bf_value_t *ret) BF_MUST_USE;

/** Member of a MAP, NULL = absent. */
const bf_doc_t *bf_doc_get(const bf_doc_t *map, const char *name);

#endif /* BF_DOC_INT_H */
