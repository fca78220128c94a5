/*
 * diag.h - all errors and warnings about one file, reported together
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_DIAG_H
#define BF_DIAG_H

#include "bpmflow/arena.h"
#include "bpmflow/err.h"
#include "bpmflow/str.h"

typedef enum { BF_DIAG_ERROR, BF_DIAG_WARNING } bf_diag_severity_t;

typedef struct bf_diag {
    bf_diag_severity_t severity;
    const char *file;
    uint32_t line;    /* 1-based; 0 = unknown */
    const char *node; /* ID, or NULL */
    const char *text; /* the reason and the remedy */
    struct bf_diag *next;
} bf_diag_t;

#define BF_DIAGS_MAX 100 /* of each severity */

typedef struct bf_diags {
    bf_arena_t arena;
    bf_diag_t *first;
    bf_diag_t *last;
    uint32_t error_count; /* counted also beyond BF_DIAGS_MAX */
    uint32_t warning_count;
} bf_diags_t;

void bf_diags_init(bf_diags_t *diags);
void bf_diags_fini(bf_diags_t *diags);

/** Add one; dropped (but counted) when there are too many or memory is out. */
void bf_diags_add(bf_diags_t *diags, bf_diag_severity_t severity, const char *file,
                  uint32_t line, const char *node, const char *fmt, ...) BF_PRINTF(6, 7);

/** "file:line: error: node 'x': text", one a line. */
void bf_diags_write(const bf_diags_t *diags, bf_str_t *str);

#endif /* BF_DIAG_H */
