/*
 * diag.c - collected errors and warnings
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/diag.h"

#include <stdio.h>

#define DIAG_TEXT_MAX 1024

void bf_diags_init(bf_diags_t *diags)
{
    *diags = (bf_diags_t){0};
    bf_arena_init(&diags->arena, 0);
}

void bf_diags_fini(bf_diags_t *diags)
{
    if (diags) {
        bf_arena_fini(&diags->arena);
        bf_diags_init(diags);
    }
}

void bf_diags_add(bf_diags_t *diags, bf_diag_severity_t severity, const char *file,
                  uint32_t line, const char *node, const char *fmt, ...)
{
    uint32_t *count =
        severity == BF_DIAG_ERROR ? &diags->error_count : &diags->warning_count;
    /* Each kind has its own bound: many warnings do not hide an error. */
    if (++*count > BF_DIAGS_MAX) {
        return;
    }
    char text[DIAG_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);

    bf_diag_t *diag = bf_arena_calloc(&diags->arena, 1, sizeof(*diag));
    char *text_copy = bf_arena_strdup(&diags->arena, text);
    char *file_copy = bf_arena_strdup(&diags->arena, file ? file : "text");
    char *node_copy = node ? bf_arena_strdup(&diags->arena, node) : NULL;
    if (!diag || !text_copy || !file_copy || (node && !node_copy)) {
        return;
    }
    diag->severity = severity;
    diag->file = file_copy;
    diag->line = line;
    diag->node = node_copy;
    diag->text = text_copy;
    if (diags->last) {
        diags->last->next = diag;
    } else {
        diags->first = diag;
    }
    diags->last = diag;
}

void bf_diags_write(const bf_diags_t *diags, bf_str_t *str)
{
    uint32_t shown = 0;
    for (const bf_diag_t *d = diags->first; d; d = d->next) {
        bf_str_puts(str, d->file);
        if (d->line) {
            bf_str_printf(str, ":%u", d->line);
        }
        bf_str_puts(str, d->severity == BF_DIAG_ERROR ? ": error: " : ": warning: ");
        if (d->node) {
            bf_str_printf(str, "node '%s': ", d->node);
        }
        bf_str_puts(str, d->text);
        bf_str_putc(str, '\n');
        shown++;
    }
    uint32_t all = diags->error_count + diags->warning_count;
    if (shown < all) {
        bf_str_printf(str, "... and %u more\n", all - shown);
    }
}
