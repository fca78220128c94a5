/*
 * write.c - the layout form of a graph as JSON and YAML
 *
 * Keys stand in a fixed order and empty things are left out (rule 20), so equal graphs
 * give equal text.  `link: []` is written where leaving it out would make an automatic
 * link of it when the text is loaded again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/model/graph_int.h"

/* One output for both forms: a value is built in an arena and written. */
typedef struct builder {
    bf_arena_t arena;
    bool failed;
} builder_t;

#define MAX_KEYS 8

typedef struct object {
    bf_member_t *members;
    uint32_t count;
} object_t;

static object_t new_object(builder_t *b)
{
    object_t o = {bf_arena_calloc(&b->arena, MAX_KEYS, sizeof(bf_member_t)), 0};
    b->failed = b->failed || !o.members;
    return o;
}

static void put(builder_t *b, object_t *o, const char *name, bf_value_t value)
{
    if (!b->failed) {
        o->members[o->count++] = (bf_member_t){name, (uint32_t)strlen(name), value};
    }
}

static void put_text(builder_t *b, object_t *o, const char *name, const char *text)
{
    if (text && text[0]) {
        put(b, o, name, bf_value_cstr(text));
    }
}

static void put_meta(builder_t *b, object_t *o, const bf_value_t *meta)
{
    if (meta->type == BF_VALUE_MAP && meta->len) {
        put(b, o, "meta", *meta);
    }
}

static bf_value_t as_value(const object_t *o)
{
    bf_value_t v = {.type = BF_VALUE_MAP, .len = o->count, .as.members = o->members};
    return v;
}

static bf_value_t link_value(builder_t *b, const bf_link_t *link)
{
    object_t o = new_object(b);
    put(b, &o, "nextId", bf_value_cstr(link->to->id));
    put_text(b, &o, "title", link->title);
    put_meta(b, &o, &link->meta);
    put_text(b, &o, "when", link->when.text);
    if (link->priority) {
        put(b, &o, "priority", bf_value_int(link->priority));
    }
    return as_value(&o);
}

static void put_links(builder_t *b, object_t *o, const bf_node_t *node)
{
    if (!node->link_count && !bf_graph_has_auto_link(node->graph, node)) {
        return;
    }
    bf_value_t *items = bf_arena_calloc(&b->arena, node->link_count, sizeof(*items));
    if (!items) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < node->link_count; i++) {
        items[i] = link_value(b, node->links[i]);
    }
    put(b, o, "link",
        (bf_value_t){.type = BF_VALUE_LIST, .len = node->link_count, .as.items = items});
}

static bf_value_t node_value(builder_t *b, const bf_node_t *node)
{
    object_t o = new_object(b);
    put(b, &o, "id", bf_value_cstr(node->id));
    put(b, &o, "type", bf_value_cstr(bf_node_type_name(node->type)));
    put_text(b, &o, "title", node->title);
    put_meta(b, &o, &node->meta);
    put_text(b, &o, "when", node->when.text);
    put_text(b, &o, "task", node->task.text);
    put_links(b, &o, node);
    return as_value(&o);
}

static bf_value_t graph_value(builder_t *b, const bf_graph_t *graph)
{
    object_t o = new_object(b);
    put_text(b, &o, "id", graph->id);
    put_text(b, &o, "title", graph->title);
    put_text(b, &o, "driver", graph->driver);
    if (graph->version != 1) {
        put(b, &o, "version", bf_value_int(graph->version));
    }
    put_meta(b, &o, &graph->meta);
    bf_value_t *items = bf_arena_calloc(&b->arena, graph->node_count, sizeof(*items));
    if (!items) {
        b->failed = true;
        return bf_value_null();
    }
    for (uint32_t i = 0; i < graph->node_count && !b->failed; i++) {
        items[i] = node_value(b, &graph->nodes[i]);
    }
    put(b, &o, "layout",
        (bf_value_t){.type = BF_VALUE_LIST, .len = graph->node_count, .as.items = items});
    return as_value(&o);
}

bf_status_t bf_graph_write_json(const bf_graph_t *graph, bool pretty, bf_str_t *ret,
                                bf_err_t *err)
{
    builder_t b = {.failed = false};
    bf_arena_init(&b.arena, 0);
    bf_value_t value = graph_value(&b, graph);
    if (!b.failed && pretty) {
        bf_json_write_pretty(ret, &value);
        bf_str_putc(ret, '\n');
    } else if (!b.failed) {
        bf_json_write(ret, &value);
    }
    bf_arena_fini(&b.arena);
    return b.failed ? bf_err_nomem(err, "graph") : bf_str_status(ret, "graph", err);
}

/* --- YAML --- */

/* Plain scalars only where no reader of YAML 1.1 or 1.2 could see anything else. */
static bool is_plain(const char *text, size_t len)
{
    static const char *const reserved[] = {"null", "true", "false", "yes", "no", "on",
                                           "off",  "y",    "n",     "nan", "inf"};
    bool letter = (text[0] >= 'a' && text[0] <= 'z') ||
                  (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '_';
    if (!len || !letter) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
        if (!ok) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (strlen(reserved[i]) == len && !strncasecmp(reserved[i], text, len)) {
            return false;
        }
    }
    return true;
}

static void yaml_text(bf_str_t *out, const char *text, size_t len)
{
    if (is_plain(text, len)) {
        bf_str_append(out, text, len);
    } else {
        /* A JSON string is a YAML string. */
        bf_json_write_string(out, text, len);
    }
}

static bool is_scalar(const bf_value_t *value)
{
    return value->type < BF_VALUE_LIST || value->len == 0;
}

static void yaml_scalar(bf_str_t *out, const bf_value_t *value)
{
    if (value->type == BF_VALUE_STRING) {
        yaml_text(out, value->as.string, value->len);
    } else {
        bf_json_write(out, value);
    }
}

static void yaml_indent(bf_str_t *out, int indent)
{
    bf_str_putc(out, '\n');
    for (int i = 0; i < indent; i++) {
        bf_str_append(out, "  ", 2);
    }
}

/* A list or map with something in it. `first`: the line has begun ("- "). */
static void yaml_block(bf_str_t *out, const bf_value_t *value, int indent, bool first)
{
    for (uint32_t i = 0; i < value->len; i++) {
        if (!first || i) {
            yaml_indent(out, indent);
        }
        bool is_map = value->type == BF_VALUE_MAP;
        const bf_value_t *child =
            is_map ? &value->as.members[i].value : &value->as.items[i];
        if (is_map) {
            const bf_member_t *m = &value->as.members[i];
            yaml_text(out, m->name, m->name_len);
            bf_str_putc(out, ':');
            if (is_scalar(child)) {
                bf_str_putc(out, ' ');
            }
        } else {
            bf_str_append(out, "- ", 2);
        }
        if (is_scalar(child)) {
            yaml_scalar(out, child);
        } else {
            yaml_block(out, child, indent + 1, value->type == BF_VALUE_LIST);
        }
    }
}

bf_status_t bf_graph_write_yaml(const bf_graph_t *graph, bf_str_t *ret, bf_err_t *err)
{
    builder_t b = {.failed = false};
    bf_arena_init(&b.arena, 0);
    bf_value_t value = graph_value(&b, graph);
    if (!b.failed) {
        yaml_block(ret, &value, 0, /* first= */ true);
        bf_str_putc(ret, '\n');
    }
    bf_arena_fini(&b.arena);
    return b.failed ? bf_err_nomem(err, "graph") : bf_str_status(ret, "graph", err);
}
