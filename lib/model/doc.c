/*
 * doc.c - definitions as trees: values in and out, members
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/num.h"
#include "lib/model/doc_int.h"

const bf_doc_t *bf_doc_get(const bf_doc_t *map, const char *name)
{
    size_t len = strlen(name);
    for (uint32_t i = 0; i < map->count; i++) {
        const bf_doc_member_t *m = &map->members[i];
        if (m->name_len == len && !memcmp(m->name, name, len)) {
            return m->doc;
        }
    }
    return NULL;
}

static bf_status_t list_to_value(bf_arena_t *arena, const bf_doc_t *doc, bf_value_t *ret)
{
    bf_value_t *items = bf_arena_calloc(arena, doc->count, sizeof(*items));
    if (!items) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < doc->count; i++) {
        bf_status_t rc = bf_doc_to_value(arena, doc->items[i], &items[i]);
        if (rc != BF_OK) {
            return rc;
        }
    }
    *ret = (bf_value_t){.type = BF_VALUE_LIST, .len = doc->count, .as.items = items};
    return BF_OK;
}

static bf_status_t map_to_value(bf_arena_t *arena, const bf_doc_t *doc, bf_value_t *ret)
{
    bf_member_t *members = bf_arena_calloc(arena, doc->count, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < doc->count; i++) {
        const bf_doc_member_t *m = &doc->members[i];
        members[i].name = bf_arena_strndup(arena, m->name, m->name_len);
        members[i].name_len = m->name_len;
        if (!members[i].name) {
            return BF_E_NOMEM;
        }
        bf_status_t rc = bf_doc_to_value(arena, m->doc, &members[i].value);
        if (rc != BF_OK) {
            return rc;
        }
    }
    *ret = (bf_value_t){.type = BF_VALUE_MAP, .len = doc->count, .as.members = members};
    return BF_OK;
}

bf_status_t bf_doc_to_value(bf_arena_t *arena, const bf_doc_t *doc, bf_value_t *ret)
{
    if (doc->value.type == BF_VALUE_LIST) {
        return list_to_value(arena, doc, ret);
    }
    if (doc->value.type == BF_VALUE_MAP) {
        return map_to_value(arena, doc, ret);
    }
    return bf_value_copy(arena, &doc->value, ret);
}

/* --- from a value --- */

typedef struct reader {
    bf_arena_t *arena;
    bf_err_t *err;
} reader_t;

static bf_status_t read_value(reader_t *rd, const bf_value_t *value, uint32_t depth,
                              bf_doc_t *ret);

static bf_status_t read_list(reader_t *rd, const bf_value_t *value, uint32_t depth,
                             bf_doc_t *ret)
{
    bf_doc_t *docs = bf_arena_calloc(rd->arena, value->len, sizeof(*docs));
    const bf_doc_t **items = bf_arena_calloc(rd->arena, value->len, sizeof(*items));
    if (!docs || !items) {
        return bf_err_nomem(rd->err, "definition");
    }
    for (uint32_t i = 0; i < value->len; i++) {
        bf_status_t rc = read_value(rd, &value->as.items[i], depth + 1, &docs[i]);
        if (rc != BF_OK) {
            return rc;
        }
        items[i] = &docs[i];
    }
    ret->items = items;
    return BF_OK;
}

static bf_status_t read_map(reader_t *rd, const bf_value_t *value, uint32_t depth,
                            bf_doc_t *ret)
{
    bf_doc_t *docs = bf_arena_calloc(rd->arena, value->len, sizeof(*docs));
    bf_doc_member_t *members = bf_arena_calloc(rd->arena, value->len, sizeof(*members));
    if (!docs || !members) {
        return bf_err_nomem(rd->err, "definition");
    }
    for (uint32_t i = 0; i < value->len; i++) {
        const bf_member_t *m = &value->as.members[i];
        bf_status_t rc = read_value(rd, &m->value, depth + 1, &docs[i]);
        if (rc != BF_OK) {
            return rc;
        }
        members[i] = (bf_doc_member_t){m->name, m->name_len, 0, &docs[i]};
    }
    ret->members = members;
    return BF_OK;
}

/* The text that stands for a scalar. */
static bf_status_t write_scalar(reader_t *rd, const bf_value_t *value, bf_doc_t *ret)
{
    char buf[BF_NUM_TEXT_MAX] = "";
    switch ((int)value->type) {
    case BF_VALUE_NULL:
        return BF_OK;
    case BF_VALUE_STRING:
        ret->text = value->as.string;
        ret->text_len = value->len;
        return BF_OK;
    case BF_VALUE_BOOL:
        ret->text = value->as.boolean ? "true" : "false";
        ret->text_len = (uint32_t)strlen(ret->text);
        return BF_OK;
    case BF_VALUE_INT:
        (void)bf_num_format_i64(value->as.integer, buf);
        break;
    default:
        bf_num_format_real(value->as.real, buf);
        break;
    }
    ret->text = bf_arena_strdup(rd->arena, buf);
    ret->text_len = (uint32_t)strlen(buf);
    return ret->text ? BF_OK : bf_err_nomem(rd->err, "definition");
}

static bf_status_t read_value(reader_t *rd, const bf_value_t *value, uint32_t depth,
                              bf_doc_t *ret)
{
    if (depth > BF_DOC_MAX_DEPTH) {
        return bf_err_set(rd->err, BF_E_LIMIT, "nested deeper than %d levels",
                          BF_DOC_MAX_DEPTH);
    }
    *ret = (bf_doc_t){.value = *value};
    if (value->type == BF_VALUE_LIST) {
        ret->count = value->len;
        return read_list(rd, value, depth, ret);
    }
    if (value->type == BF_VALUE_MAP) {
        ret->count = value->len;
        return read_map(rd, value, depth, ret);
    }
    return write_scalar(rd, value, ret);
}

bf_status_t bf_doc_from_value(bf_arena_t *arena, const bf_value_t *value,
                              const bf_doc_t **ret, bf_err_t *err)
{
    reader_t rd = {arena, err};
    bf_doc_t *doc = bf_arena_calloc(arena, 1, sizeof(*doc));
    if (!doc) {
        return bf_err_nomem(err, "definition");
    }
    bf_status_t rc = read_value(&rd, value, 1, doc);
    if (rc == BF_OK) {
        *ret = doc;
    }
    return rc;
}
