/*
 * codec.h - messages from and to bytes: commands, replies, events, dead letters
 *
 * Pure functions; see the README for the formats and config/schema/ for their schemas.
 *
 * Commands come as a plain JSON object or as CloudEvents 1.0: binary mode (headers ce_*,
 * value = the command) or structured mode (header content-type
 * `application/cloudevents+json`, the command in member `data`).  Replies and events go
 * out in CloudEvents binary mode.  Encoding is deterministic: the same outcome or row
 * gives the same bytes, so that what is published again after a crash is byte for byte
 * the same.
 *
 * What bad input gets.  A reply needs an address: who asked (command_id) and about what
 * (instance_id).  Where both can be read the sender gets a rejected reply; where not, the
 * record becomes a dead letter.  In order:
 *
 *   dead letter   malformed        tombstone (no value); not JSON, not UTF-8, duplicate
 *                                  members, NUL in a string; no JSON object; CloudEvents
 *                                  of another major version, a batch of them, or without
 *                                  a JSON object in `data`; command_id (nor header ce_id)
 *                                  or instance_id missing, not a string, empty, with a
 *                                  control character or with a blank at an end
 *                 limit_exceeded   value over max_record_bytes; deeper than max_depth;
 *                                  a number beyond 64 bit (beyond a double);
 *                                  command_id or instance_id over 64 characters
 *   rejected      malformed        reply_to not a string or not allowed; no key; key that
 *                                  is not the instance_id; `command` missing or not a
 *                                  string; a member of the wrong type; graph_id, node_id,
 *                                  target_id or actor empty, with a control character or
 *                                  with a blank at an end; node_id missing where the
 *                                  command needs one; graph_id missing in `start`; force
 *                                  where it is not allowed
 *                 limit_exceeded   graph_id, node_id, target_id or actor over 64
 *                                  characters; message over 65,535 bytes
 *                 unknown_command  `command` is none of the list (nearest one is named)
 *                 unknown_action   `action` is no name or code of the list (likewise)
 *
 * Everything else (unknown graph, node, ...) is found by the executor.  A rejection from
 * here leaves no trace under its command_id: a corrected message may use the same one.
 * Members that the decoder does not know are ignored; a member that is null counts as
 * absent; of a header that is there several times the last one counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CODEC_H
#define BF_CODEC_H

#include "bpmflow/command.h"
#include "bpmflow/str.h"

#define BF_RECORD_MAX_BYTES ((size_t)1 << 20) /* default limit of a record's value */
#define BF_MESSAGE_TEXT_MAX 65535             /* bytes of `message`: a TEXT column */
#define BF_TRACEPARENT_MAX  128               /* bytes; a longer one is not copied */
#define BF_TRACESTATE_MAX   512               /* bytes; a longer one is not copied */
#define BF_TOPIC_NAME_MAX   249
/* Largest dead letter; under Kafka's default max.message.bytes (1,048,588). */
#define BF_DEAD_LETTER_MAX_BYTES ((size_t)1000 * 1000)

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

/** The last header of that name, or NULL. Names are case-sensitive in Kafka. */
const bf_header_t *bf_record_header(const bf_record_t *record, const char *name);

typedef struct bf_codec_limits {
    size_t max_record_bytes; /* 0 = 1 MiB: value */
    size_t max_depth;        /* 0 = 64 */
    bool
        require_key_match; /* key must be the instance ID (default of the worker: true) */
    bool allow_force;
    /* Allowed values of reply_to: exact names of topics that exist (a transaction that
     * writes to a missing topic could never be committed). */
    const char *const *reply_topics;
    size_t reply_topic_count;
    const char *default_reply_topic; /* allowed as well; NULL = none */
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
 * @param arena     owns the texts of the command; nothing of the record is borrowed
 * @param ret       DECODED: the command; REJECTED: command_id, instance_id, trace and
 *                  what could be read (reply_to when it is allowed; verb BF_VERB_COUNT
 *                  when it is not known); DEAD: untouched
 * @param ret_what  which of the three
 * @param ret_code  BF_CODE_OK; REJECTED and DEAD: the code, see above
 * @param err       REJECTED and DEAD: the sentence, valid UTF-8; not NULL
 * @return BF_OK for all three; BF_E_NOMEM
 */
bf_status_t bf_codec_decode_command(const bf_record_t *record,
                                    const bf_codec_limits_t *limits, bf_arena_t *arena,
                                    bf_command_t *ret, bf_decoded_t *ret_what,
                                    bf_code_t *ret_code, bf_err_t *err) BF_MUST_USE;

/** Reply JSON for an outcome. A verb that is not known becomes null, and so does
 *  instance_state while there is no instance (revision 0).
 *  @param duplicate the command was applied before */
void bf_codec_write_reply(bf_str_t *str, const bf_command_t *command,
                          const bf_outcome_t *outcome, bool duplicate);

/** The stored reply of the first time, with "duplicate": true. BF_OK; BF_E_INVALID: not
 *  a reply of bf_codec_write_reply(); BF_E_NOMEM. */
bf_status_t bf_codec_mark_duplicate(const char *reply, size_t len, bf_str_t *ret,
                                    bf_err_t *err) BF_MUST_USE;

/** Job JSON for a history row with action DISPATCH: what a service needs, and the command
 *  that it sends back, whose ID is the same for each answer to the job (`job-<seq>`). */
void bf_codec_write_job(bf_str_t *str, const bf_history_t *row);

/** Event JSON for a history row. */
void bf_codec_write_event(bf_str_t *str, const bf_history_t *row);

/* A message to be produced. Texts and arrays live in the arena of the publication. */
typedef struct bf_message {
    const char *topic;
    const char *key; /* NULL = none */
    size_t key_len;
    const char *value; /* NULL = none */
    size_t value_len;
    const bf_header_t *headers;
    size_t header_count;
    bool early; /* need not wait for the transaction: bf_publisher_early() */
} bf_message_t;

/** Bytes that a message takes in a Kafka request, rounded up; what a broker's limit is
 *  compared with (bf_publisher_max_message_bytes()). */
size_t bf_message_bytes(const bf_message_t *message);

/* W3C trace context, copied from a command to all that it causes. */
typedef struct bf_trace {
    const char *parent; /* NULL = none */
    const char *state;  /* NULL = none */
} bf_trace_t;

typedef struct bf_reply {
    const char *topic;
    const char *instance_id; /* the key */
    /* NULL: taken from the body, as for a stored row that has none (repeated command) */
    const char *command_id;
    bf_text_t body; /* of bf_codec_write_reply() or bf_codec_mark_duplicate() */
    int64_t create_time_ms;
    bf_trace_t trace;
} bf_reply_t;

/**
 * Complete messages (value and headers) from a reply or a history row; used on the way
 * out and again after a crash: same input, same bytes.
 *
 * Headers: ce_id (command ID; `<instance>/<seq>`), ce_source
 * (`/bpmflow/instances/<instance_id>`; `/bpmflow/<graph_id>`, both percent-encoded),
 * ce_specversion, ce_subject (instance ID), ce_time, ce_type (`bpmflow.reply`;
 * `bpmflow.task.<action>`), content-type, traceparent, tracestate.
 *
 * @param topic   borrowed, must live as long as the message
 * @param reply   topic and body are borrowed, the rest is copied
 * @param trace   NULL = none
 * @return BF_OK; BF_E_INVALID (a body without command_id); BF_E_NOMEM
 */
bf_status_t bf_codec_make_reply(bf_arena_t *arena, const bf_reply_t *reply,
                                bf_message_t *ret, bf_err_t *err) BF_MUST_USE;
/** For a row with action DISPATCH, beside its event: to the topic that the row names;
 *  nothing is borrowed; ce_id `<instance>/<seq>`, ce_type `bpmflow.job`. */
bf_status_t bf_codec_make_job(bf_arena_t *arena, const bf_history_t *row,
                              const bf_trace_t *trace, bf_message_t *ret) BF_MUST_USE;
bf_status_t bf_codec_make_event(bf_arena_t *arena, const char *topic,
                                const bf_history_t *row, const bf_trace_t *trace,
                                bf_message_t *ret) BF_MUST_USE;

/**
 * Dead letter: original key, value and headers, plus bpmflow_error_code, bpmflow_error,
 * bpmflow_topic, bpmflow_partition, bpmflow_offset, bpmflow_timestamp (all text).  Such
 * headers of the original (it was a dead letter before and was replayed) are replaced.
 * What would be larger than BF_DEAD_LETTER_MAX_BYTES comes without its value (and, where
 * that is not enough, without the original headers and key) and says so in
 * bpmflow_cut (text: `value` or `all`); the record itself stands at topic, partition and
 * offset.  Borrows nothing from the record.
 */
bf_status_t bf_codec_make_dead_letter(bf_arena_t *arena, const char *topic,
                                      const bf_record_t *record, bf_code_t code,
                                      const char *error, bf_message_t *ret) BF_MUST_USE;

/** A message as one blob (for the row of a dead letter), and back. unpack borrows from
 *  the blob and copies texts that need a NUL. BF_E_INVALID: not such a blob. */
bf_status_t bf_codec_pack_message(const bf_message_t *message, bf_str_t *ret,
                                  bf_err_t *err) BF_MUST_USE;
bf_status_t bf_codec_unpack_message(bf_arena_t *arena, const char *blob, size_t len,
                                    bf_message_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CODEC_H */
