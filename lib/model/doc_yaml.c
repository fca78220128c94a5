/*
 * doc_yaml.c - YAML and JSON to trees (libyaml's events, an explicit stack)
 *
 * Types of plain scalars are those of YAML 1.2: null ~ true false, decimal, 0x and 0o
 * integers, floats; everything else and everything quoted is text.  Anchors, aliases and
 * the merge key `<<` work; what aliases would grow to is bounded.
 *
 * libyaml does not know JSON's surrogate pairs; a text that is strict JSON and that it
 * refuses is read as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "bpmflow/array.h"
#include "bpmflow/id.h"
#include "bpmflow/map.h"
#include "bpmflow/num.h"
#include "lib/model/doc_int.h"

#define MANY_MEMBERS 24 /* from here on a hash map looks for duplicates */

/* Finished children of open lists and maps, in one array. A key waits with doc == NULL.
 */
typedef struct frame {
    bool is_map;
    uint32_t first; /* of its children */
    uint32_t line;
    const char *anchor; /* NULL = none */
} frame_t;

typedef struct reader {
    bf_arena_t *arena;
    bf_err_t *err;
    yaml_parser_t yaml;
    bf_map_t *anchors;
    bf_doc_member_t *children;
    uint32_t child_count;
    size_t child_room;
    frame_t frames[BF_DOC_MAX_DEPTH];
    uint32_t depth;
    const bf_doc_t *root;
    uint32_t line; /* of the event */
} reader_t;

static bf_status_t fail(reader_t *rd, bf_status_t status, const char *why)
{
    return bf_err_set(rd->err, status, "%s", why);
}

static bf_status_t no_memory(reader_t *rd)
{
    return bf_err_nomem(rd->err, "definition");
}

/* --- scalars --- */

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words)) {
        words++;
    }
    return *words != NULL;
}

static bool is_decimal(const char *text)
{
    size_t i = text[0] == '-' || text[0] == '+';
    size_t digits = strspn(text + i, "0123456789");
    return digits && !text[i + digits];
}

/* [+-] digits [. digits] [e digits], at least one digit before the exponent */
static bool is_float(const char *text)
{
    size_t i = text[0] == '-' || text[0] == '+';
    size_t whole = strspn(text + i, "0123456789");
    i += whole;
    size_t fraction = 0;
    if (text[i] == '.') {
        i++;
        fraction = strspn(text + i, "0123456789");
        i += fraction;
    }
    if (whole + fraction == 0) {
        return false;
    }
    if (text[i] == 'e' || text[i] == 'E') {
        i++;
        i += text[i] == '-' || text[i] == '+';
        size_t exponent = strspn(text + i, "0123456789");
        if (!exponent) {
            return false;
        }
        i += exponent;
    }
    return !text[i];
}

/* 0x1F and 0o17; false when it is neither or too large. */
static bool parse_based(const char *text, int64_t *ret)
{
    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'o') || !text[2]) {
        return false;
    }
    unsigned base = text[1] == 'x' ? 16 : 8;
    int64_t value = 0;
    for (const char *c = text + 2; *c; c++) {
        unsigned digit = *c >= '0' && *c <= '9'   ? (unsigned)(*c - '0')
                         : *c >= 'a' && *c <= 'f' ? (unsigned)(*c - 'a' + 10)
                         : *c >= 'A' && *c <= 'F' ? (unsigned)(*c - 'A' + 10)
                                                  : 16;
        if (digit >= base || __builtin_mul_overflow(value, (int64_t)base, &value) ||
            __builtin_add_overflow(value, (int64_t)digit, &value)) {
            return false;
        }
    }
    *ret = value;
    return true;
}

static bf_status_t resolve_plain(reader_t *rd, bf_doc_t *doc)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    const char *text = doc->text;
    int64_t integer;
    double real;
    if (is_one_of(text, nulls)) {
        doc->value = bf_value_null();
        doc->text = NULL;
        doc->text_len = 0;
    } else if (is_one_of(text, trues) || is_one_of(text, falses)) {
        doc->value = bf_value_bool(is_one_of(text, trues));
    } else if (is_decimal(text)) {
        if (bf_num_parse_i64(text, doc->text_len, &integer, NULL) != BF_OK) {
            return bf_err_set(rd->err, BF_E_LIMIT,
                              "the number %.40s does not fit in 64 bit; put it in quotes "
                              "to keep it as text",
                              text);
        }
        doc->value = bf_value_int(integer);
    } else if (parse_based(text, &integer)) {
        doc->value = bf_value_int(integer);
    } else if (is_float(text)) {
        if (bf_num_parse_real(text, doc->text_len, &real, NULL) != BF_OK) {
            return bf_err_set(rd->err, BF_E_LIMIT,
                              "the number %.40s is too large; put it in quotes to keep "
                              "it as text",
                              text);
        }
        doc->value = bf_value_real(real);
    }
    return BF_OK;
}

static bool is_text_tag(const yaml_char_t *tag)
{
    return tag && !strcmp((const char *)tag, YAML_STR_TAG);
}

static bf_status_t read_scalar(reader_t *rd, const yaml_event_t *event, bf_doc_t **ret)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (memchr(text, '\0', len)) {
        return fail(rd, BF_E_PARSE, "a text with a NUL character");
    }
    bf_doc_t *doc = bf_arena_calloc(rd->arena, 1, sizeof(*doc));
    char *copy = bf_arena_strndup(rd->arena, text, len);
    if (!doc || !copy) {
        return no_memory(rd);
    }
    doc->line = rd->line;
    doc->parts = 1;
    doc->text = copy;
    doc->text_len = (uint32_t)len;
    doc->value = bf_value_string(copy, len);
    *ret = doc;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                 !is_text_tag(event->data.scalar.tag);
    return plain ? resolve_plain(rd, doc) : BF_OK;
}

/* --- lists and maps --- */

static bf_status_t add_child(reader_t *rd, const char *name, uint32_t name_len,
                             const bf_doc_t *doc)
{
    if (rd->child_count == rd->child_room) {
        bf_doc_member_t *grown =
            bf_array_grow(rd->children, &rd->child_room, sizeof(*grown), 64);
        if (!grown) {
            return no_memory(rd);
        }
        rd->children = grown;
    }
    rd->children[rd->child_count++] = (bf_doc_member_t){name, name_len, rd->line, doc};
    return BF_OK;
}

static bf_status_t remember_anchor(reader_t *rd, const char *anchor, const bf_doc_t *doc)
{
    if (!anchor) {
        return BF_OK;
    }
    /* The map holds no const pointers; nothing is changed through this one. */
    bf_status_t rc =
        bf_map_put(rd->anchors, anchor, strlen(anchor), (void *)(uintptr_t)doc, NULL);
    return rc == BF_OK ? rc : no_memory(rd);
}

/* A finished child goes to the open list or map, or is the root. */
static bf_status_t deliver(reader_t *rd, const bf_doc_t *doc)
{
    if (!rd->depth) {
        rd->root = doc;
        return BF_OK;
    }
    const frame_t *frame = &rd->frames[rd->depth - 1];
    if (!frame->is_map) {
        return add_child(rd, NULL, 0, doc);
    }
    bool waits = rd->child_count > frame->first && !rd->children[rd->child_count - 1].doc;
    if (waits) {
        rd->children[rd->child_count - 1].doc = doc;
        return BF_OK;
    }
    if (doc->value.type >= BF_VALUE_LIST) {
        return fail(rd, BF_E_PARSE, "a name must be a text, not a list or a map");
    }
    return add_child(rd, doc->text ? doc->text : "null", doc->text ? doc->text_len : 4,
                     NULL);
}

static bool same_name(const bf_doc_member_t *a, const bf_doc_member_t *b)
{
    return a->name_len == b->name_len && !memcmp(a->name, b->name, a->name_len);
}

static bf_status_t duplicate(reader_t *rd, const bf_doc_member_t *first,
                             const bf_doc_member_t *second)
{
    rd->line = second->line;
    return bf_err_set(rd->err, BF_E_PARSE,
                      "'%.60s' stands twice in one map (first in line %u); remove one",
                      second->name, first->line);
}

static bf_status_t check_many(reader_t *rd, const bf_doc_member_t *members,
                              uint32_t count)
{
    bf_map_t *seen = bf_map_new();
    bf_status_t rc = seen ? BF_OK : no_memory(rd);
    for (uint32_t i = 0; rc == BF_OK && i < count; i++) {
        const bf_doc_member_t *m = &members[i];
        const bf_doc_member_t *old = bf_map_get(seen, m->name, m->name_len);
        if (old) {
            rc = duplicate(rd, old, m);
        } else if (bf_map_put(seen, m->name, m->name_len, (void *)(uintptr_t)m, NULL) !=
                   BF_OK) {
            rc = no_memory(rd);
        }
    }
    bf_map_free(seen);
    return rc;
}

static bf_status_t check_duplicates(reader_t *rd, const bf_doc_member_t *members,
                                    uint32_t count)
{
    if (count > MANY_MEMBERS) {
        return check_many(rd, members, count);
    }
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (same_name(&members[k], &members[i])) {
                return duplicate(rd, &members[k], &members[i]);
            }
        }
    }
    return BF_OK;
}

static bool has_name(const bf_doc_member_t *members, uint32_t count,
                     const bf_doc_member_t *wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (same_name(&members[i], wanted)) {
            return true;
        }
    }
    return false;
}

/* Adds the members of a merged map that the map has not itself. */
static bf_status_t merge_map(reader_t *rd, const bf_doc_t *source, uint32_t first)
{
    if (source->value.type != BF_VALUE_MAP) {
        return fail(rd, BF_E_PARSE, "<< needs a map or a list of maps");
    }
    for (uint32_t i = 0; i < source->count; i++) {
        const bf_doc_member_t *m = &source->members[i];
        if (has_name(rd->children + first, rd->child_count - first, m)) {
            continue;
        }
        bf_status_t rc = add_child(rd, m->name, m->name_len, m->doc);
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* `<<: *base` */
static bf_status_t merge(reader_t *rd, uint32_t first)
{
    static const bf_doc_member_t key = {.name = "<<", .name_len = 2};
    uint32_t at = first;
    while (at < rd->child_count && !same_name(&rd->children[at], &key)) {
        at++;
    }
    if (at == rd->child_count) {
        return BF_OK;
    }
    const bf_doc_t *source = rd->children[at].doc;
    memmove(&rd->children[at], &rd->children[at + 1],
            (rd->child_count - at - 1) * sizeof(*rd->children));
    rd->child_count--;
    if (source->value.type != BF_VALUE_LIST) {
        return merge_map(rd, source, first);
    }
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && i < source->count; i++) {
        rc = merge_map(rd, source->items[i], first);
    }
    return rc;
}

/* Parts and depth of a list or map from its children. */
static bf_status_t sum_up(reader_t *rd, bf_doc_t *doc, const bf_doc_member_t *children)
{
    uint64_t parts = 1;
    for (uint32_t i = 0; i < doc->count; i++) {
        const bf_doc_t *child = children[i].doc;
        parts += child->parts;
        if (child->depth + 1 > doc->depth) {
            doc->depth = child->depth + 1;
        }
    }
    if (parts > BF_DOC_MAX_PARTS || doc->depth > BF_DOC_MAX_DEPTH) {
        return fail(rd, BF_E_LIMIT, "the aliases of this text grow beyond all limits");
    }
    doc->parts = (uint32_t)parts;
    return BF_OK;
}

static bf_status_t keep_children(reader_t *rd, bf_doc_t *doc,
                                 const bf_doc_member_t *children)
{
    if (doc->value.type == BF_VALUE_MAP) {
        bf_doc_member_t *members =
            bf_arena_calloc(rd->arena, doc->count, sizeof(*members));
        if (!members) {
            return no_memory(rd);
        }
        if (doc->count) {
            memcpy(members, children, doc->count * sizeof(*members));
        }
        doc->members = members;
        return BF_OK;
    }
    const bf_doc_t **items = bf_arena_calloc(rd->arena, doc->count, sizeof(*items));
    if (!items) {
        return no_memory(rd);
    }
    for (uint32_t i = 0; i < doc->count; i++) {
        items[i] = children[i].doc;
    }
    doc->items = items;
    return BF_OK;
}

static bf_status_t open_frame(reader_t *rd, bool is_map, const yaml_char_t *anchor)
{
    if (rd->depth == BF_DOC_MAX_DEPTH) {
        return bf_err_set(rd->err, BF_E_LIMIT, "nested deeper than %d levels",
                          BF_DOC_MAX_DEPTH);
    }
    frame_t frame = {is_map, rd->child_count, rd->line, NULL};
    if (anchor) {
        frame.anchor = bf_arena_strdup(rd->arena, (const char *)anchor);
        if (!frame.anchor) {
            return no_memory(rd);
        }
    }
    rd->frames[rd->depth++] = frame;
    return BF_OK;
}

/* Where the children of a frame begin; there may be none yet at all. */
static const bf_doc_member_t *children_of(const reader_t *rd, const frame_t *frame)
{
    return rd->children ? rd->children + frame->first : NULL;
}

static bf_status_t close_frame(reader_t *rd)
{
    frame_t frame = rd->frames[--rd->depth];
    bf_status_t rc = BF_OK;
    if (frame.is_map) {
        rc = check_duplicates(rd, children_of(rd, &frame), rd->child_count - frame.first);
        if (rc == BF_OK) {
            rc = merge(rd, frame.first);
        }
    }
    bf_doc_t *doc = rc == BF_OK ? bf_arena_calloc(rd->arena, 1, sizeof(*doc)) : NULL;
    if (!doc) {
        return rc == BF_OK ? no_memory(rd) : rc;
    }
    doc->value.type = frame.is_map ? BF_VALUE_MAP : BF_VALUE_LIST;
    doc->line = frame.line;
    doc->count = rd->child_count - frame.first;
    const bf_doc_member_t *children = children_of(rd, &frame);
    rc = sum_up(rd, doc, children);
    if (rc == BF_OK) {
        rc = keep_children(rd, doc, children);
    }
    if (rc == BF_OK) {
        rc = remember_anchor(rd, frame.anchor, doc);
    }
    rd->child_count = frame.first;
    return rc == BF_OK ? deliver(rd, doc) : rc;
}

static bf_status_t take_scalar(reader_t *rd, const yaml_event_t *event)
{
    bf_doc_t *doc = NULL;
    bf_status_t rc = read_scalar(rd, event, &doc);
    if (rc == BF_OK) {
        rc = remember_anchor(rd, (const char *)event->data.scalar.anchor, doc);
    }
    return rc == BF_OK ? deliver(rd, doc) : rc;
}

static bf_status_t take_alias(reader_t *rd, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    const bf_doc_t *doc = bf_map_get_str(rd->anchors, name);
    if (!doc) {
        return bf_err_set(rd->err, BF_E_PARSE, "there is no anchor &%.60s before this",
                          name);
    }
    return deliver(rd, doc);
}

static bf_status_t take_event(reader_t *rd, const yaml_event_t *event)
{
    rd->line = (uint32_t)event->start_mark.line + 1;
    switch ((int)event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return rd->root ? fail(rd, BF_E_PARSE,
                               "a second document begins here; one file holds one graph")
                        : BF_OK;
    case YAML_SCALAR_EVENT:
        return take_scalar(rd, event);
    case YAML_ALIAS_EVENT:
        return take_alias(rd, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_frame(rd, false, event->data.sequence_start.anchor);
    case YAML_MAPPING_START_EVENT:
        return open_frame(rd, true, event->data.mapping_start.anchor);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_frame(rd);
    default:
        return BF_OK;
    }
}

static bf_status_t yaml_error(reader_t *rd)
{
    if (rd->yaml.error == YAML_MEMORY_ERROR) {
        return no_memory(rd);
    }
    rd->line = (uint32_t)rd->yaml.problem_mark.line + 1;
    const char *context = rd->yaml.context;
    return bf_err_set(rd->err, BF_E_PARSE, "not valid YAML or JSON: %s%s%s, column %zu",
                      context ? context : "", context ? ": " : "",
                      rd->yaml.problem ? rd->yaml.problem : "syntax error",
                      rd->yaml.problem_mark.column + 1);
}

static bf_status_t read_events(reader_t *rd)
{
    bf_status_t rc = BF_OK;
    bool done = false;
    while (rc == BF_OK && !done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&rd->yaml, &event)) {
            return yaml_error(rd);
        }
        done = event.type == YAML_STREAM_END_EVENT;
        rc = take_event(rd, &event);
        yaml_event_delete(&event);
    }
    return rc;
}

static bf_status_t parse_yaml(bf_arena_t *arena, const char *text, size_t len,
                              const bf_doc_t **ret, uint32_t *ret_line, bf_err_t *err)
{
    reader_t rd = {.arena = arena, .err = err};
    if (!yaml_parser_initialize(&rd.yaml)) {
        return no_memory(&rd);
    }
    yaml_parser_set_encoding(&rd.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&rd.yaml, (const unsigned char *)text, len);
    rd.anchors = bf_map_new();
    bf_status_t rc = rd.anchors ? read_events(&rd) : no_memory(&rd);
    if (rc == BF_OK && !rd.root) {
        rc = fail(&rd, BF_E_PARSE, "the text is empty");
    }
    yaml_parser_delete(&rd.yaml);
    bf_map_free(rd.anchors);
    free(rd.children);
    if (rc == BF_OK) {
        *ret = rd.root;
    } else {
        *ret_line = rd.line;
    }
    return rc;
}

/* BF_OK when the text is strict JSON. */
static bf_status_t parse_json(bf_arena_t *arena, const char *text, size_t len,
                              const bf_doc_t **ret)
{
    size_t i = 0;
    while (i < len && strchr(" \t\r\n", text[i])) {
        i++;
    }
    if (i == len || text[i] != '{') {
        return BF_E_PARSE;
    }
    bf_value_t value;
    bf_json_limits_t limits = {BF_DOC_MAX_BYTES, BF_DOC_MAX_DEPTH};
    bf_status_t rc = bf_json_parse(arena, text, len, &limits, &value, NULL);
    return rc == BF_OK ? bf_doc_from_value(arena, &value, ret, NULL) : rc;
}

bf_status_t bf_doc_parse(bf_arena_t *arena, const char *text, size_t len,
                         const bf_doc_t **ret, uint32_t *ret_line, bf_err_t *err)
{
    *ret_line = 0;
    if (len > BF_DOC_MAX_BYTES) {
        return bf_err_set(err, BF_E_LIMIT,
                          "a definition of %zu bytes; at most %zu are allowed", len,
                          BF_DOC_MAX_BYTES);
    }
    if (!bf_utf8_is_valid(text, len)) {
        return bf_err_set(err, BF_E_PARSE, "a definition must be UTF-8");
    }
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = parse_yaml(arena, text, len, ret, ret_line, &why);
    if (rc == BF_E_PARSE && parse_json(arena, text, len, ret) == BF_OK) {
        return BF_OK;
    }
    return rc == BF_OK ? rc : bf_err_set(err, rc, "%s", why.text);
}
