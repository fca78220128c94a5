/*
 * codec_envelope.c - from a record to the JSON object of a command
 *
 * Plain JSON, CloudEvents in binary and in structured mode, trace headers.
 *
 * SPDX-License-Identifier: MIT
 */
#include "codec_int.h"

#include <string.h>
#include <strings.h>

#include "bpmflow/id.h"

#define QUOTE_CHARS     40
#define STRUCTURED_TYPE "application/cloudevents"
#define BATCH_TYPE      "application/cloudevents-batch"

static size_t utf8_length_of(unsigned char c)
{
    return c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
}

static bool is_control(const char *p, size_t n)
{
    unsigned char c = (unsigned char)p[0];
    return (n == 1 && (c < 0x20 || c == 0x7f)) ||
           (n == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

/* Length of the valid, printable character at p, or 0. */
static size_t good_character(const char *p, size_t left)
{
    size_t n = utf8_length_of((unsigned char)p[0]);
    if (n > left || !bf_utf8_is_valid(p, n) || is_control(p, n)) {
        return 0;
    }
    return n;
}

const char *bf_codec_quote(const char *text, size_t len, char ret[BF_QUOTE_MAX])
{
    size_t out = 0;
    size_t i = 0;
    for (size_t chars = 0; i < len && chars < QUOTE_CHARS && out + 8 < BF_QUOTE_MAX;
         chars++) {
        size_t n = good_character(text + i, len - i);
        if (n == 0) {
            ret[out++] = '?';
            i++;
            continue;
        }
        memcpy(ret + out, text + i, n);
        out += n;
        i += n;
    }
    memcpy(ret + out, i < len ? "..." : "", i < len ? 4 : 1);
    return ret;
}

void bf_codec_clean(char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        size_t n = good_character(text + i, len - i);
        if (n == 0 && len - i < 4 && utf8_length_of((unsigned char)text[i]) > len - i) {
            text[i] = '\0';
            return;
        }
        if (n == 0) {
            text[i] = '?';
        }
        i += n ? n : 1;
    }
}

const bf_header_t *bf_record_header(const bf_record_t *record, const char *name)
{
    for (size_t i = record->header_count; i > 0; i--) {
        if (!strcmp(record->headers[i - 1].name, name)) {
            return &record->headers[i - 1];
        }
    }
    return NULL;
}

static bool has_prefix(const bf_header_t *header, const char *prefix)
{
    size_t n = strlen(prefix);
    return header && header->len >= n &&
           !strncasecmp((const char *)header->value, prefix, n);
}

/* Printable ASCII without blanks at the ends, 1 to max bytes: anything else is not
 * copied, as the trace context recommendation asks for. */
static bool is_trace_text(const char *text, size_t len, size_t max)
{
    if (len == 0 || len > max || text[0] == ' ' || text[len - 1] == ' ') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) {
            return false;
        }
    }
    return true;
}

/* Where a trace text may stand: its header, the header of the CloudEvents extension, the
 * member of a structured event. */
static bf_status_t take_trace(const bf_record_t *record, const bf_value_t *event,
                              const char *const names[2], size_t max, bf_arena_t *arena,
                              const char **ret)
{
    const char *text = NULL;
    size_t len = 0;
    for (size_t i = 0; i < 2 && !text; i++) {
        const bf_header_t *header = bf_record_header(record, names[i]);
        if (header && header->value) {
            text = header->value;
            len = header->len;
        }
    }
    const bf_value_t *member = bf_value_get_str(event, names[0]);
    if (!text && member && member->type == BF_VALUE_STRING) {
        text = member->as.string;
        len = member->len;
    }
    if (!text || !is_trace_text(text, len, max)) {
        return BF_OK;
    }
    *ret = bf_arena_strndup(arena, text, len);
    return *ret ? BF_OK : BF_E_NOMEM;
}

static bf_status_t take_traces(const bf_record_t *record, const bf_value_t *event,
                               bf_arena_t *arena, bf_trace_t *ret)
{
    static const char *const parent[2] = {"traceparent", "ce_traceparent"};
    static const char *const state[2] = {"tracestate", "ce_tracestate"};
    bf_status_t rc =
        take_trace(record, event, parent, BF_TRACEPARENT_MAX, arena, &ret->parent);
    if (rc == BF_OK && ret->parent) {
        rc = take_trace(record, event, state, BF_TRACESTATE_MAX, arena, &ret->state);
    }
    return rc;
}

static bf_status_t check_specversion(const char *text, size_t len, bf_err_t *err)
{
    if (len >= 2 && text[0] == '1' && text[1] == '.') {
        return BF_OK;
    }
    char quote[BF_QUOTE_MAX];
    return bf_err_set(err, BF_E_INVALID,
                      "the CloudEvents specversion is '%s'; only 1.0 is read",
                      bf_codec_quote(text, len, quote));
}

/* The command inside of a structured event. */
static bf_status_t open_structured(const bf_value_t *event, bf_envelope_t *ret,
                                   bf_err_t *err)
{
    const bf_value_t *version = bf_value_get_str(event, "specversion");
    if (!version || version->type != BF_VALUE_STRING) {
        return bf_err_set(err, BF_E_INVALID,
                          "a structured CloudEvent needs a member specversion (\"1.0\")");
    }
    bf_status_t rc = check_specversion(version->as.string, version->len, err);
    if (rc != BF_OK) {
        return rc;
    }
    const bf_value_t *data = bf_value_get_str(event, "data");
    if (!data || data->type != BF_VALUE_MAP) {
        return bf_err_set(
            err, BF_E_INVALID,
            bf_value_get_str(event, "data_base64")
                ? "the CloudEvent has data_base64; send the command as a "
                  "JSON object in `data`"
                : "the CloudEvent has no JSON object in `data`; the command "
                  "belongs there");
    }
    const bf_value_t *id = bf_value_get_str(event, "id");
    if (id && id->type == BF_VALUE_STRING) {
        ret->event_id = id->as.string;
        ret->event_id_len = id->len;
    }
    ret->command = *data;
    return BF_OK;
}

/* Plain JSON or binary mode: the value is the command. */
static bf_status_t open_binary(const bf_record_t *record, const bf_value_t *value,
                               bf_arena_t *arena, bf_envelope_t *ret, bf_err_t *err)
{
    const bf_header_t *version = bf_record_header(record, "ce_specversion");
    if (version) {
        bf_status_t rc =
            check_specversion((const char *)version->value, version->len, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    const bf_header_t *id = bf_record_header(record, "ce_id");
    if (id && id->value) {
        ret->event_id = bf_arena_strndup(arena, (const char *)id->value, id->len);
        ret->event_id_len = id->len;
        if (!ret->event_id) {
            return bf_err_nomem(err, "command");
        }
    }
    ret->command = *value;
    return BF_OK;
}

static bf_status_t check_value(const bf_record_t *record, size_t max_bytes, bf_err_t *err)
{
    if (!record->value) {
        return bf_err_set(err, BF_E_INVALID,
                          "the record has no value (a tombstone); a command is a JSON "
                          "object");
    }
    if (record->value_len > max_bytes) {
        return bf_err_set(err, BF_E_LIMIT,
                          "the value has %zu bytes; at most %zu are allowed "
                          "(limits.max_record_bytes)",
                          record->value_len, max_bytes);
    }
    return BF_OK;
}

bf_status_t bf_codec_open_envelope(const bf_record_t *record,
                                   const bf_codec_limits_t *limits, bf_arena_t *arena,
                                   bf_envelope_t *ret, bf_err_t *err)
{
    const bf_header_t *type = bf_record_header(record, "content-type");
    bool structured = has_prefix(type, STRUCTURED_TYPE);
    bf_json_limits_t json = {
        .max_bytes =
            limits->max_record_bytes ? limits->max_record_bytes : BF_RECORD_MAX_BYTES,
        .max_depth = limits->max_depth ? limits->max_depth : BF_JSON_MAX_DEPTH};
    bf_status_t rc = check_value(record, json.max_bytes, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (has_prefix(type, BATCH_TYPE)) {
        return bf_err_set(
            err, BF_E_INVALID,
            "a batch of CloudEvents is not read; send one command a record");
    }
    if (structured) {
        json.max_depth++; /* the command is one level down */
    }
    bf_value_t value;
    rc = bf_json_parse(arena, record->value, record->value_len, &json, &value, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (value.type != BF_VALUE_MAP) {
        return bf_err_set(err, BF_E_INVALID,
                          "the value is a JSON %s; a command is a JSON object",
                          bf_value_type_name(value.type));
    }
    memset(ret, 0, sizeof(*ret));
    rc = structured ? open_structured(&value, ret, err)
                    : open_binary(record, &value, arena, ret, err);
    if (rc == BF_OK) {
        rc = take_traces(record, structured ? &value : NULL, arena, &ret->trace);
        if (rc != BF_OK) {
            return bf_err_nomem(err, "command");
        }
    }
    return rc;
}
