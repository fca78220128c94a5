/*
 * codec.h - messages from and to bytes: commands, replies, events, dead letters
 *
 * Pure functions; see the README for the formats.  Commands come as plain JSON or as
 * CloudEvents 1.0 (binary or structured); replies and events go out in CloudEvents
 * binary mode.  Encoding is deterministic: the same outcome or row gives the same bytes,
 * so that what is published again after a crash is byte for byte the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CODEC_H
#define BF_CODEC_H

#include "bpmflow/command.h"
#include "bpmflow/str.h"

typedef struct bf_header {
    const char *name;
    const void *value; /* may be NULL with len 0 */
    size_t len;
} bf_header_t;

/* A record as consumed; everything is borrowed until the record is released. */
typedef struct bf_record {
    const char *topic;
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms; /* -1 = none */
    const char *key;      /* NULL = none */
    size_t key_len;
    const char *value; /* NULL = tombstone */
    size_t value_len;
    const bf_header_t *headers;
    size_t header_count;
    void *handle; /* of the consumer */
} bf_record_t;

typedef struct bf_codec_limits {
    size_t max_record_bytes; /* 0 = 1 MiB: value */
    size_t max_depth;        /* 0 = 64 */
    bool
        require_key_match; /* key must be the instance ID (default of the worker: true) */
    bool allow_force;
    const char *const
        *reply_topics; /* allowed values of reply_to; NULL = none but default */
    size_t reply_topic_count;
} bf_codec_limits_t;

/* What the decoder says about a record. */
typedef enum {
    BF_DECODED,          /* a command */
    BF_DECODED_REJECTED, /* readable envelope (instance and command ID), bad content: gets
                            a rejected reply */
    BF_DECODED_DEAD      /* no command can be made of it: a dead letter */
} bf_decoded_t;

/**
 * Decode a record.
 * @param arena     owns the texts of the command
 * @param ret       DECODED: the command; REJECTED: command_id, instance_id and what could
 *                  be read; DEAD: untouched
 * @param ret_what  which of the three
 * @param ret_code  REJECTED and DEAD: the code
 * @param err       REJECTED and DEAD: the sentence
 * @return BF_OK for all three; BF_E_NOMEM
 */
bf_status_t bf_codec_decode_command(const bf_record_t *record,
                                    const bf_codec_limits_t *limits, bf_arena_t *arena,
                                    bf_command_t *ret, bf_decoded_t *ret_what,
                                    bf_code_t *ret_code, bf_err_t *err) BF_MUST_USE;

/** Reply JSON for an outcome. @param duplicate the command was applied before */
void bf_codec_write_reply(bf_str_t *str, const bf_command_t *command,
                          const bf_outcome_t *outcome, bool duplicate);

/** The stored reply of the first time, with "duplicate": true. */
bf_status_t bf_codec_mark_duplicate(const char *reply, size_t len, bf_str_t *ret,
                                    bf_err_t *err) BF_MUST_USE;

/** Event JSON for a history row. */
void bf_codec_write_event(bf_str_t *str, const bf_history_t *row);

/* A message to be produced. Texts and arrays live in the arena of the publication. */
typedef struct bf_message {
    const char *topic;
    const char *key;
    size_t key_len;
    const char *value; /* NULL = none */
    size_t value_len;
    const bf_header_t *headers;
    size_t header_count;
} bf_message_t;

/** Complete messages (value and headers) from outcome and history rows; used on the way
 *  out and again after a crash: same input, same bytes. */
bf_status_t bf_codec_make_reply(bf_arena_t *arena, const char *topic,
                                const char *instance_id, const char *command_id,
                                const char *command, bf_text_t reply,
                                int64_t create_time_ms, const char *traceparent,
                                const char *tracestate, bf_message_t *ret) BF_MUST_USE;
bf_status_t bf_codec_make_event(bf_arena_t *arena, const char *topic,
                                const bf_history_t *row, const char *traceparent,
                                const char *tracestate, bf_message_t *ret) BF_MUST_USE;

/** Dead letter: original key, value and headers, plus bpmflow_error_code, bpmflow_error,
 *  bpmflow_topic, bpmflow_partition, bpmflow_offset, bpmflow_timestamp. */
bf_status_t bf_codec_make_dead_letter(bf_arena_t *arena, const char *topic,
                                      const bf_record_t *record, bf_code_t code,
                                      const char *error, bf_message_t *ret) BF_MUST_USE;

/** A message as one blob (for the row of a dead letter), and back. */
bf_status_t bf_codec_pack_message(const bf_message_t *message, bf_str_t *ret,
                                  bf_err_t *err) BF_MUST_USE;
bf_status_t bf_codec_unpack_message(bf_arena_t *arena, const char *blob, size_t len,
                                    bf_message_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CODEC_H */
