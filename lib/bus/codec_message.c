/*
 * codec_message.c - complete messages: value, key and headers
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "codec_int.h"

#define SPEC_VERSION    "1.0"
#define JSON_TYPE       "application/json"
#define HEADER_MAX      9 /* of a reply or an event */
#define ERROR_PREFIX    "bpmflow_"
#define ERROR_HEADERS   7 /* that a dead letter adds, at most */
#define RECORD_OVERHEAD 64
#define FIELD_OVERHEAD  10 /* two lengths as varints */
#define PACK_VERSION    1
#define PACK_NULL       UINT32_MAX

size_t bf_message_bytes(const bf_message_t *message)
{
    size_t sum = RECORD_OVERHEAD + message->key_len + message->value_len;
    for (size_t i = 0; i < message->header_count; i++) {
        sum +=
            FIELD_OVERHEAD + strlen(message->headers[i].name) + message->headers[i].len;
    }
    return sum;
}

/* Headers in the making; a NULL value leaves the header out. */
typedef struct headers {
    bf_header_t *items;
    size_t count;
} headers_t;

static void add_header(headers_t *headers, const char *name, const char *value)
{
    if (value) {
        headers->items[headers->count++] =
            (bf_header_t){.name = name, .value = value, .len = strlen(value)};
    }
}

/* `/bpmflow/...` with everything but unreserved characters percent-encoded: ce_source is
 * a URI reference. */
static const char *make_source(bf_arena_t *arena, const char *prefix, const char *id)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t prefix_len = strlen(prefix);
    char *text = bf_arena_alloc(arena, prefix_len + strlen(id) * 3 + 1);
    if (!text) {
        return NULL;
    }
    memcpy(text, prefix, prefix_len);
    size_t n = prefix_len;
    for (const char *p = id; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || strchr("-._~", c);
        if (plain) {
            text[n++] = *p;
        } else {
            text[n++] = '%';
            text[n++] = digits[c >> 4];
            text[n++] = digits[c & 15];
        }
    }
    text[n] = '\0';
    return text;
}

typedef struct attributes {
    const char *id;
    const char *source;
    const char *subject;
    const char *type;
    int64_t time_ms;
    bf_trace_t trace;
} attributes_t;

/* CloudEvents binary mode, in the order of the names. */
static bf_status_t make_headers(bf_arena_t *arena, const attributes_t *attributes,
                                bf_message_t *ret)
{
    headers_t headers = {bf_arena_calloc(arena, HEADER_MAX, sizeof(bf_header_t)), 0};
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_rfc3339(attributes->time_ms, time);
    const char *time_copy = bf_arena_strdup(arena, time);
    const char *parent = attributes->trace.parent;
    const char *state = attributes->trace.state;
    parent = parent ? bf_arena_strdup(arena, parent) : NULL;
    state = state ? bf_arena_strdup(arena, state) : NULL;
    bool lost =
        (attributes->trace.parent && !parent) || (attributes->trace.state && !state);
    if (!headers.items || !time_copy || !attributes->id || !attributes->source ||
        !attributes->subject || !attributes->type || lost) {
        return BF_E_NOMEM;
    }
    add_header(&headers, "ce_id", attributes->id);
    add_header(&headers, "ce_source", attributes->source);
    add_header(&headers, "ce_specversion", SPEC_VERSION);
    add_header(&headers, "ce_subject", attributes->subject);
    add_header(&headers, "ce_time", time_copy);
    add_header(&headers, "ce_type", attributes->type);
    add_header(&headers, "content-type", JSON_TYPE);
    add_header(&headers, "traceparent", parent);
    add_header(&headers, "tracestate", state);
    ret->headers = headers.items;
    ret->header_count = headers.count;
    return BF_OK;
}

/* The member command_id of a stored reply. */
static bf_status_t read_command_id(bf_arena_t *arena, bf_text_t body, const char **ret,
                                   bf_err_t *err)
{
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_value_t value;
    bf_status_t rc = bf_json_parse(arena, body.data, body.len, &limits, &value, err);
    if (rc != BF_OK) {
        bf_err_prefix(err, "a stored reply: ");
        return rc == BF_E_NOMEM ? rc : BF_E_INVALID;
    }
    *ret = bf_value_get_cstr(&value, "command_id");
    return *ret ? BF_OK
                : bf_err_set(err, BF_E_INVALID, "a stored reply has no command_id");
}

bf_status_t bf_codec_make_reply(bf_arena_t *arena, const bf_reply_t *reply,
                                bf_message_t *ret, bf_err_t *err)
{
    const char *command_id = reply->command_id;
    if (!command_id) {
        bf_status_t rc = read_command_id(arena, reply->body, &command_id, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    const char *key = bf_arena_strdup(arena, reply->instance_id);
    attributes_t attributes = {
        .id = bf_arena_strdup(arena, command_id),
        .source = make_source(arena, "/bpmflow/instances/", reply->instance_id),
        .subject = key,
        .type = "bpmflow.reply",
        .time_ms = reply->create_time_ms,
        .trace = reply->trace};
    bf_message_t message = {.topic = reply->topic,
                            .key = key,
                            .key_len = strlen(reply->instance_id),
                            .value = reply->body.data,
                            .value_len = reply->body.len};
    if (make_headers(arena, &attributes, &message) != BF_OK) {
        return bf_err_nomem(err, "reply");
    }
    *ret = message;
    return BF_OK;
}

/* The two messages that a row makes differ in topic, type and value. */
static bf_status_t make_of_row(bf_arena_t *arena, const char *topic, const char *type,
                               const bf_history_t *row, const bf_trace_t *trace,
                               bf_message_t *ret)
{
    const char *key = bf_arena_strdup(arena, row->instance_id);
    attributes_t attributes = {
        .id = bf_arena_printf(arena, "%s/%" PRId32, row->instance_id, row->seq),
        .source = make_source(arena, "/bpmflow/", row->graph_id ? row->graph_id : ""),
        .subject = key,
        .type = type,
        .time_ms = row->create_time_ms,
        .trace = trace ? *trace : (bf_trace_t){NULL, NULL}};
    bf_message_t message = {
        .topic = topic, .key = key, .key_len = strlen(row->instance_id)};
    if (make_headers(arena, &attributes, &message) != BF_OK) {
        return BF_E_NOMEM;
    }
    *ret = message;
    return BF_OK;
}

static bf_status_t set_value(bf_arena_t *arena,
                             void (*write)(bf_str_t *str, const bf_history_t *row),
                             const bf_history_t *row, bf_message_t *message)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    write(&str, row);
    message->value_len = str.len;
    message->value =
        bf_str_failed(&str) ? NULL : bf_arena_strndup(arena, bf_str_peek(&str), str.len);
    bf_str_fini(&str);
    return message->value ? BF_OK : BF_E_NOMEM;
}

bf_status_t bf_codec_make_event(bf_arena_t *arena, const char *topic,
                                const bf_history_t *row, const bf_trace_t *trace,
                                bf_message_t *ret)
{
    const char *type =
        bf_arena_printf(arena, "bpmflow.task.%s", bf_action_name(row->action));
    bf_message_t message;
    if (make_of_row(arena, topic, type, row, trace, &message) != BF_OK ||
        set_value(arena, bf_codec_write_event, row, &message) != BF_OK) {
        return BF_E_NOMEM;
    }
    *ret = message;
    return BF_OK;
}

bf_status_t bf_codec_make_job(bf_arena_t *arena, const bf_history_t *row,
                              const bf_trace_t *trace, bf_message_t *ret)
{
    bf_message_t message;
    const char *topic = bf_arena_strdup(arena, row->target.code);
    if (!topic ||
        make_of_row(arena, topic, "bpmflow.job", row, trace, &message) != BF_OK ||
        set_value(arena, bf_codec_write_job, row, &message) != BF_OK) {
        return BF_E_NOMEM;
    }
    *ret = message;
    return BF_OK;
}

/* --- dead letters --- */

static bool copy_bytes(bf_arena_t *arena, const void *data, size_t len, const char **ret)
{
    *ret = data ? bf_arena_strndup(arena, data, len) : NULL;
    return !data || *ret;
}

static bool is_ours(const char *name)
{
    return !strncmp(name, ERROR_PREFIX, sizeof(ERROR_PREFIX) - 1);
}

static bool copy_headers(bf_arena_t *arena, const bf_record_t *record, headers_t *ret)
{
    for (size_t i = 0; i < record->header_count; i++) {
        const bf_header_t *from = &record->headers[i];
        if (is_ours(from->name)) {
            continue;
        }
        const char *value;
        const char *name = bf_arena_strdup(arena, from->name);
        if (!name || !copy_bytes(arena, from->value, from->len, &value)) {
            return false;
        }
        ret->items[ret->count++] =
            (bf_header_t){.name = name, .value = value, .len = value ? from->len : 0};
    }
    return true;
}

/* What of the original fits: NULL = everything. */
static const char *cut_of(const bf_record_t *record, const char *error)
{
    bf_message_t whole = {.key_len = record->key ? record->key_len : 0,
                          .value_len = record->value ? record->value_len : 0,
                          .headers = record->headers,
                          .header_count = record->header_count};
    size_t ours = strlen(error) + strlen(record->topic) + 512;
    if (bf_message_bytes(&whole) + ours <= BF_DEAD_LETTER_MAX_BYTES) {
        return NULL;
    }
    whole.value_len = 0;
    return bf_message_bytes(&whole) + ours <= BF_DEAD_LETTER_MAX_BYTES ? "value" : "all";
}

bf_status_t bf_codec_make_dead_letter(bf_arena_t *arena, const char *topic,
                                      const bf_record_t *record, bf_code_t code,
                                      const char *error, bf_message_t *ret)
{
    const char *cut = cut_of(record, error);
    bool keep_rest = !cut || !strcmp(cut, "value");
    bf_message_t message = {.topic = topic};
    headers_t headers = {
        bf_arena_calloc(arena, record->header_count + ERROR_HEADERS, sizeof(bf_header_t)),
        0};
    if (!headers.items) {
        return BF_E_NOMEM;
    }
    if (!cut && !copy_bytes(arena, record->value, record->value_len, &message.value)) {
        return BF_E_NOMEM;
    }
    message.value_len = message.value ? record->value_len : 0;
    if (keep_rest && (!copy_bytes(arena, record->key, record->key_len, &message.key) ||
                      !copy_headers(arena, record, &headers))) {
        return BF_E_NOMEM;
    }
    message.key_len = message.key ? record->key_len : 0;
    char *text = bf_arena_strdup(arena, error);
    const char *from = bf_arena_strdup(arena, record->topic);
    const char *partition = bf_arena_printf(arena, "%" PRId32, record->partition);
    const char *offset = bf_arena_printf(arena, "%" PRId64, record->offset);
    const char *timestamp = bf_arena_printf(arena, "%" PRId64, record->timestamp_ms);
    if (!text || !from || !partition || !offset || !timestamp) {
        return BF_E_NOMEM;
    }
    bf_codec_clean(text);
    add_header(&headers, "bpmflow_error_code", bf_code_name(code));
    add_header(&headers, "bpmflow_error", text);
    add_header(&headers, "bpmflow_topic", from);
    add_header(&headers, "bpmflow_partition", partition);
    add_header(&headers, "bpmflow_offset", offset);
    add_header(&headers, "bpmflow_timestamp", timestamp);
    add_header(&headers, "bpmflow_cut", cut);
    message.headers = headers.items;
    message.header_count = headers.count;
    *ret = message;
    return BF_OK;
}

/* --- one blob: version, topic, key, value, count, (name, value) x count.  Each text is a
 *     length of 4 bytes, little endian (0xffffffff: none), the bytes, and a NUL. --- */

static void pack_u32(bf_str_t *str, uint32_t value)
{
    unsigned char b[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                          (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    bf_str_append(str, (const char *)b, sizeof(b));
}

static void pack_text(bf_str_t *str, const void *data, size_t len)
{
    if (len >= PACK_NULL) {
        str->failed = true;
        str->too_big = true;
        return;
    }
    pack_u32(str, data ? (uint32_t)len : PACK_NULL);
    if (data) {
        bf_str_append(str, data, len);
        bf_str_putc(str, '\0');
    }
}

bf_status_t bf_codec_pack_message(const bf_message_t *message, bf_str_t *ret,
                                  bf_err_t *err)
{
    bf_str_putc(ret, PACK_VERSION);
    pack_text(ret, message->topic, message->topic ? strlen(message->topic) : 0);
    pack_text(ret, message->key, message->key_len);
    pack_text(ret, message->value, message->value_len);
    pack_u32(ret, (uint32_t)message->header_count);
    for (size_t i = 0; i < message->header_count; i++) {
        const bf_header_t *header = &message->headers[i];
        pack_text(ret, header->name, strlen(header->name));
        pack_text(ret, header->value, header->len);
    }
    return bf_str_status(ret, "packed message", err);
}

typedef struct unpacker {
    const char *at;
    size_t left;
    bool bad; /* sticky */
} unpacker_t;

static uint32_t unpack_u32(unpacker_t *in)
{
    if (in->left < 4) {
        in->bad = true;
        return 0;
    }
    const unsigned char *b = (const unsigned char *)in->at;
    in->at += 4;
    in->left -= 4;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

static const char *unpack_text(unpacker_t *in, size_t *ret_len)
{
    uint32_t len = unpack_u32(in);
    *ret_len = 0;
    if (in->bad || len == PACK_NULL) {
        return NULL;
    }
    if (in->left <= len || in->at[len] != '\0') {
        in->bad = true;
        return NULL;
    }
    const char *text = in->at;
    in->at += (size_t)len + 1;
    in->left -= (size_t)len + 1;
    *ret_len = len;
    return text;
}

static bf_status_t unpack_headers(bf_arena_t *arena, unpacker_t *in, bf_message_t *ret,
                                  bf_err_t *err)
{
    uint32_t count = unpack_u32(in);
    if (in->bad || count > in->left / 8) {
        in->bad = true;
        return BF_OK;
    }
    bf_header_t *headers = bf_arena_calloc(arena, count, sizeof(*headers));
    if (!headers) {
        return bf_err_nomem(err, "packed message");
    }
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        size_t name_len;
        headers[i].name = unpack_text(in, &name_len);
        headers[i].value = unpack_text(in, &headers[i].len);
        in->bad = in->bad || !headers[i].name || strlen(headers[i].name) != name_len;
    }
    ret->headers = headers;
    ret->header_count = count;
    return BF_OK;
}

bf_status_t bf_codec_unpack_message(bf_arena_t *arena, const char *blob, size_t len,
                                    bf_message_t *ret, bf_err_t *err)
{
    unpacker_t in = {.bad = len == 0 || blob[0] != PACK_VERSION};
    bf_message_t message = {0};
    if (!in.bad) {
        in.at = blob + 1;
        in.left = len - 1;
        size_t topic_len;
        message.topic = unpack_text(&in, &topic_len);
        message.key = unpack_text(&in, &message.key_len);
        message.value = unpack_text(&in, &message.value_len);
        bf_status_t rc = unpack_headers(arena, &in, &message, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (in.bad || in.left) {
        return bf_err_set(err, BF_E_INVALID,
                          "a packed message is damaged; was the row changed by hand?");
    }
    *ret = message;
    return BF_OK;
}
