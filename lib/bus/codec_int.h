/*
 * codec_int.h - what the parts of the codec share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CODEC_INT_H
#define BF_CODEC_INT_H

#include "bpmflow/codec.h"

#define BF_QUOTE_MAX 128

/** Foreign bytes for a sentence: at most 40 characters, controls and what is not UTF-8
 *  replaced by '?', '...' when cut. Returns ret. */
const char *bf_codec_quote(const char *text, size_t len, char ret[BF_QUOTE_MAX]);

/** Make a text valid UTF-8 in place: bad bytes and controls become '?'. A character that
 *  was cut at the end goes. */
void bf_codec_clean(char *text);

/** The envelope of a record: the command object, and what stands around it. */
typedef struct bf_envelope {
    bf_value_t command;   /* MAP */
    const char *event_id; /* CloudEvents id, NUL-terminated; NULL = none */
    size_t event_id_len;
    bf_trace_t trace; /* in the arena */
} bf_envelope_t;

/**
 * Read value and headers. BF_OK; BF_E_NOMEM; BF_E_INVALID, BF_E_PARSE, BF_E_LIMIT: a dead
 * letter, err says why.
 */
bf_status_t bf_codec_open_envelope(const bf_record_t *record,
                                   const bf_codec_limits_t *limits, bf_arena_t *arena,
                                   bf_envelope_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CODEC_INT_H */
