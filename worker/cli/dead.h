/*
 * dead.h - what list, show and replay of dead letters share
 *
 * A dead letter is named by where it stands in its topic: PARTITION:OFFSET.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_DEAD_H
#define BF_CLI_DEAD_H

#include "worker/cli/connect.h"

/* The headers that the worker added, as texts; borrowed from the record. */
typedef struct bf_dead_letter {
    bf_text_t code;
    bf_text_t error;
    bf_text_t topic; /* where the record stood */
    bf_text_t partition;
    bf_text_t offset;
    bf_text_t cut; /* "value" or "all": what the dead letter lacks; empty = nothing */
} bf_dead_letter_t;

typedef struct bf_dead_name {
    int32_t partition;
    int64_t offset;
} bf_dead_name_t;

void bf_dead_read(const bf_record_t *record, bf_dead_letter_t *ret);

/** True for a header that the worker added (bpmflow_...). */
bool bf_dead_is_own_header(const char *name);

/** Parse PARTITION:OFFSET; BF_E_INVALID. */
bf_status_t bf_dead_parse_name(const char *text, bf_dead_name_t *ret,
                               bf_err_t *err) BF_MUST_USE;

/** A text against a filter; NULL = every one. */
bool bf_dead_is(bf_text_t text, const char *filter);

/**
 * Read one record of a topic into the callback.
 * @return BF_OK; BF_E_NOT_FOUND: it is not there (any more); errors of the reader and of
 * fn
 */
bf_status_t bf_dead_fetch(const bf_cli_t *cli, const char *topic, bf_dead_name_t name,
                          bf_cli_record_fn fn, void *arg, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_DEAD_H */
