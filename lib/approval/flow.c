/*
 * flow.c - reads an approval definition
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/flow.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bpmflow/map.h"
#include "bpmflow/num.h"

/* 64 characters of UTF-8. */
#define NAME_MAX_BYTES 256U

static const char *const type_names[BF_FLOW_TYPE_COUNT] = {
#define X(name, text) [BF_FLOW_##name] = (text),
    BF_FLOW_TYPES(X)
#undef X
};

const char *bf_flow_type_name(bf_flow_type_t type)
{
    return type_names[type];
}

/* One reading. */
typedef struct reader {
    bf_arena_t *arena;
    bf_map_t *ids; /* ID -> node */
    bf_flow_t *flow;
    bf_flow_node_t *nodes;
    bf_flow_edge_t *edges;
    bool is_short; /* of memory, somewhere */
    bf_err_t *err;
} reader_t;

static const char *text_in(const bf_value_t *map, const char *name)
{
    const char *text = bf_value_get_cstr(map, name);
    return text && *text ? text : NULL;
}

/* A text or a number as text. */
static const char *word_in(reader_t *r, const bf_value_t *map, const char *name)
{
    const bf_value_t *value = bf_value_get_str(map, name);
    if (value && value->type == BF_VALUE_INT) {
        char text[BF_NUM_TEXT_MAX];
        (void)bf_num_format_i64(value->as.integer, text);
        const char *copy = bf_arena_strdup(r->arena, text);
        r->is_short = r->is_short || !copy;
        return copy;
    }
    return text_in(map, name);
}

static bool is_blank(const char *text)
{
    return !text[strspn(text, " \t\r\n")];
}

static bf_status_t read_expr(reader_t *r, const bf_value_t *map, const char *name,
                             const char *of, const bf_expr_t **ret)
{
    const char *text = bf_value_get_cstr(map, name);
    if (!text || is_blank(text)) {
        return BF_OK;
    }
    bf_expr_t *expr;
    bf_status_t rc = bf_expr_parse(r->arena, text, strlen(text), &expr, r->err);
    if (rc != BF_OK) {
        bf_err_prefix(r->err, "definition %s, %s of %s: ", r->flow->name, name, of);
        return rc;
    }
    *ret = expr;
    return BF_OK;
}

static bf_status_t read_type(reader_t *r, const bf_value_t *value, bf_flow_node_t *node)
{
    const char *type = text_in(value, "type");
    const char *bare = type;
    if (type && !strncmp(type, "snaker:", 7)) {
        bare = type + 7;
    }
    for (unsigned i = 0; bare && i < BF_FLOW_TYPE_COUNT; i++) {
        if (!strcasecmp(bare, type_names[i])) {
            node->type = (bf_flow_type_t)i;
            return BF_OK;
        }
    }
    return bf_err_set(
        r->err, BF_E_INVALID,
        "definition %s, node %s: the type \"%s\" is not known; use "
        "snaker:start, task, decision, fork, join, custom, subProcess or end",
        r->flow->name, node->id, type ? type : "");
}

static void read_ways(reader_t *r, bf_flow_node_t *node)
{
    const bf_value_t *p = &node->properties;
    const char *perform = word_in(r, p, "performType");
    node->is_countersign =
        perform && (!strcmp(perform, "1") || !strcasecmp(perform, "ALL") ||
                    !strcasecmp(perform, "COUNTERSIGN"));
    const char *way = word_in(r, bf_value_get_str(p, "field"), "countersignType");
    way = way ? way : word_in(r, p, "countersignType");
    node->is_sequential = way && (!strcmp(way, "1") || !strcasecmp(way, "SEQUENTIAL"));
    const char *type = word_in(r, p, "taskType");
    if (type && (!strcmp(type, "1") || !strcasecmp(type, "ASSIST") ||
                 !strcasecmp(type, "AIDANT"))) {
        node->task_type = 1;
    } else if (type && (!strcmp(type, "2") || !strcasecmp(type, "RECORD"))) {
        node->task_type = 2;
    }
}

/* The permissions of the fields and the condition of a countersign are in one map. */
static bf_status_t read_field(reader_t *r, bf_flow_node_t *node)
{
    const bf_value_t *field = bf_value_get_str(&node->properties, "field");
    if (field && field->type == BF_VALUE_MAP) {
        node->field = *field;
    }
    static const char name[] = "countersignCompletionCondition";
    bf_status_t rc = read_expr(r, &node->field, name, node->id, &node->completion);
    if (rc == BF_OK && !node->completion) {
        rc = read_expr(r, &node->properties, name, node->id, &node->completion);
    }
    return rc;
}

static bf_status_t read_properties(reader_t *r, bf_flow_node_t *node)
{
    const bf_value_t *p = &node->properties;
    node->form = text_in(p, "form");
    node->assignee = word_in(r, p, "assignee");
    node->assignment_handler = text_in(p, "assignmentHandler");
    node->handler = text_in(p, "handleClass");
    if (!node->handler) {
        node->handler = text_in(p, "clazz");
    }
    read_ways(r, node);
    bf_status_t rc = read_field(r, node);
    if (rc == BF_OK && node->type == BF_FLOW_DECISION) {
        rc = read_expr(r, p, "expr", node->id, &node->expr);
    }
    return rc;
}

/* The text of a node or edge is a text, or {"value": text}. */
static const char *text_value(const bf_value_t *value)
{
    const bf_value_t *text = bf_value_get_str(value, "text");
    if (text && text->type == BF_VALUE_MAP) {
        return text_in(text, "value");
    }
    return text_in(value, "text");
}

static bf_status_t read_node(reader_t *r, const bf_value_t *value, uint32_t index)
{
    bf_flow_node_t *node = &r->nodes[index];
    node->index = index;
    node->id = word_in(r, value, "id");
    if (r->is_short) {
        return bf_err_nomem(r->err, "a definition");
    }
    if (!node->id) {
        return bf_err_set(r->err, BF_E_INVALID,
                          "definition %s: node %u has no id; give it one", r->flow->name,
                          index + 1);
    }
    if (strlen(node->id) > 100) {
        return bf_err_set(r->err, BF_E_LIMIT,
                          "definition %s: the id of node %u is over 100 bytes",
                          r->flow->name, index + 1);
    }
    void *old = NULL;
    if (bf_map_put(r->ids, node->id, strlen(node->id), node, &old) != BF_OK) {
        return bf_err_nomem(r->err, "a definition");
    }
    if (old) {
        return bf_err_set(r->err, BF_E_INVALID,
                          "definition %s: two nodes have the id %s; rename one",
                          r->flow->name, node->id);
    }
    const char *text = text_value(value);
    node->display_name = text ? text : node->id;
    const bf_value_t *properties = bf_value_get_str(value, "properties");
    node->properties = properties && properties->type == BF_VALUE_MAP
                           ? *properties
                           : (bf_value_t){.type = BF_VALUE_MAP};
    bf_status_t rc = read_type(r, value, node);
    if (rc == BF_OK) {
        rc = read_properties(r, node);
    }
    return rc == BF_OK && r->is_short ? bf_err_nomem(r->err, "a definition") : rc;
}

static const bf_flow_node_t *end_of(reader_t *r, const bf_value_t *value,
                                    const char *name, uint32_t index)
{
    const char *id = word_in(r, value, name);
    const bf_flow_node_t *node = id ? bf_map_get_str(r->ids, id) : NULL;
    if (!node && !r->is_short) {
        (void)bf_err_set(r->err, BF_E_INVALID,
                         "definition %s: %s of edge %u names no node (\"%s\"); draw the "
                         "edge anew",
                         r->flow->name, name, index + 1, id ? id : "");
    }
    return node;
}

static bf_status_t read_edge(reader_t *r, const bf_value_t *value, uint32_t index)
{
    bf_flow_edge_t *edge = &r->edges[index];
    edge->id = word_in(r, value, "id");
    edge->source = end_of(r, value, "sourceNodeId", index);
    edge->target = edge->source ? end_of(r, value, "targetNodeId", index) : NULL;
    if (r->is_short) {
        return bf_err_nomem(r->err, "a definition");
    }
    if (!edge->target) {
        return BF_E_INVALID;
    }
    const bf_value_t *properties = bf_value_get_str(value, "properties");
    edge->expr_text = text_in(properties, "expr");
    if (edge->expr_text && is_blank(edge->expr_text)) {
        edge->expr_text = NULL;
    }
    const char *of = edge->id ? edge->id : edge->source->id;
    return read_expr(r, properties, "expr", of, &edge->expr);
}

static int compare_ids(const void *a, const void *b)
{
    const bf_flow_node_t *const *x = a;
    const bf_flow_node_t *const *y = b;
    return strcmp((*x)->id, (*y)->id);
}

static bf_status_t sort_nodes(reader_t *r)
{
    bf_flow_t *flow = r->flow;
    const bf_flow_node_t **sorted =
        bf_arena_calloc(r->arena, (size_t)flow->node_count + 1, sizeof(*sorted));
    if (!sorted) {
        return bf_err_nomem(r->err, "a definition");
    }
    for (uint32_t i = 0; i < flow->node_count; i++) {
        sorted[i] = &flow->nodes[i];
    }
    qsort(sorted, flow->node_count, sizeof(const void *), compare_ids);
    flow->by_id = sorted;
    return BF_OK;
}

/* Lists of the edges of each node, in the order of the file. */
static bf_status_t link_edges(reader_t *r)
{
    const bf_flow_t *flow = r->flow;
    const bf_flow_edge_t **all =
        bf_arena_calloc(r->arena, (size_t)flow->edge_count * 2 + 1, sizeof(const void *));
    if (!all) {
        return bf_err_nomem(r->err, "a definition");
    }
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        r->nodes[r->edges[i].source->index].out_count++;
        r->nodes[r->edges[i].target->index].in_count++;
    }
    const bf_flow_edge_t **places = all;
    for (uint32_t i = 0; i < flow->node_count; i++) {
        bf_flow_node_t *node = &r->nodes[i];
        node->out = places;
        places += node->out_count;
        node->in = places;
        places += node->in_count;
        node->out_count = 0;
        node->in_count = 0;
    }
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        bf_flow_node_t *source = &r->nodes[r->edges[i].source->index];
        bf_flow_node_t *target = &r->nodes[r->edges[i].target->index];
        all[(source->out - all) + source->out_count++] = &r->edges[i];
        all[(target->in - all) + target->in_count++] = &r->edges[i];
    }
    return BF_OK;
}

/* The first task in breadth from the start. */
static bf_status_t find_first_task(reader_t *r)
{
    bf_flow_t *flow = r->flow;
    const bf_flow_node_t **queue =
        bf_arena_calloc(r->arena, flow->node_count, sizeof(*queue));
    bool *seen = bf_arena_calloc(r->arena, flow->node_count, sizeof(*seen));
    if (!queue || !seen) {
        return bf_err_nomem(r->err, "a definition");
    }
    uint32_t count = 0;
    queue[count++] = flow->start;
    seen[flow->start->index] = true;
    for (uint32_t at = 0; at < count; at++) {
        const bf_flow_node_t *node = queue[at];
        if (node->type == BF_FLOW_TASK) {
            flow->first_task = node;
            return BF_OK;
        }
        for (uint32_t i = 0; i < node->out_count; i++) {
            const bf_flow_node_t *target = node->out[i]->target;
            if (!seen[target->index]) {
                seen[target->index] = true;
                queue[count++] = target;
            }
        }
    }
    return BF_OK;
}

static bf_status_t find_start(reader_t *r)
{
    bf_flow_t *flow = r->flow;
    for (uint32_t i = 0; i < flow->node_count; i++) {
        if (flow->nodes[i].type != BF_FLOW_START) {
            continue;
        }
        if (flow->start) {
            return bf_err_set(r->err, BF_E_INVALID,
                              "definition %s: %s and %s are both a start; keep one",
                              flow->name, flow->start->id, flow->nodes[i].id);
        }
        flow->start = &flow->nodes[i];
    }
    if (!flow->start) {
        return bf_err_set(r->err, BF_E_INVALID,
                          "definition %s: there is no snaker:start; add one", flow->name);
    }
    return find_first_task(r);
}

static bf_status_t count_of(reader_t *r, const char *name, uint32_t max,
                            const bf_value_t **ret)
{
    static const bf_value_t none = {.type = BF_VALUE_LIST};
    const bf_value_t *list = bf_value_get_str(&r->flow->json, name);
    *ret = list && list->type == BF_VALUE_LIST ? list : &none;
    return (*ret)->len <= max ? BF_OK
                              : bf_err_set(r->err, BF_E_LIMIT,
                                           "definition %s: %u %s, at most %u are allowed",
                                           r->flow->name, (*ret)->len, name, max);
}

static bf_status_t read_flow(reader_t *r)
{
    bf_flow_t *flow = r->flow;
    const bf_value_t *nodes;
    const bf_value_t *edges;
    bf_status_t rc = count_of(r, "nodes", BF_FLOW_MAX_NODES, &nodes);
    if (rc == BF_OK) {
        rc = count_of(r, "edges", BF_FLOW_MAX_EDGES, &edges);
    }
    if (rc != BF_OK) {
        return rc;
    }
    r->nodes = bf_arena_calloc(r->arena, nodes->len + 1U, sizeof(*r->nodes));
    r->edges = bf_arena_calloc(r->arena, edges->len + 1U, sizeof(*r->edges));
    if (!r->nodes || !r->edges) {
        return bf_err_nomem(r->err, "a definition");
    }
    flow->nodes = r->nodes;
    flow->node_count = nodes->len;
    flow->edges = r->edges;
    flow->edge_count = edges->len;
    for (uint32_t i = 0; rc == BF_OK && i < nodes->len; i++) {
        rc = read_node(r, &nodes->as.items[i], i);
    }
    for (uint32_t i = 0; rc == BF_OK && i < edges->len; i++) {
        rc = read_edge(r, &edges->as.items[i], i);
    }
    if (rc == BF_OK) {
        rc = link_edges(r);
    }
    if (rc == BF_OK) {
        rc = sort_nodes(r);
    }
    return rc == BF_OK ? find_start(r) : rc;
}

bf_status_t bf_flow_load(bf_arena_t *arena, const char *text, size_t len,
                         const bf_flow_t **ret, bf_err_t *err)
{
    bf_json_limits_t limits = {.max_bytes = BF_FLOW_MAX_BYTES};
    bf_flow_t *flow = bf_arena_calloc(arena, 1, sizeof(*flow));
    reader_t r = {.arena = arena, .flow = flow, .err = err};
    if (!flow) {
        return bf_err_nomem(err, "a definition");
    }
    bf_status_t rc = bf_json_parse(arena, text, len, &limits, &flow->json, err);
    if (rc != BF_OK) {
        bf_err_prefix(err, "approval definition: ");
        return rc;
    }
    flow->name = word_in(&r, &flow->json, "name");
    if (r.is_short) {
        return bf_err_nomem(err, "a definition");
    }
    if (!flow->name || strlen(flow->name) > NAME_MAX_BYTES) {
        return bf_err_set(
            err, BF_E_INVALID,
            "approval definition: it has no name of 1 to 64 characters; add "
            "\"name\"");
    }
    const char *display_name = text_in(&flow->json, "displayName");
    flow->display_name = display_name ? display_name : flow->name;
    flow->type = text_in(&flow->json, "type");
    flow->instance_url = text_in(&flow->json, "instanceUrl");
    r.ids = bf_map_new();
    rc = r.ids ? read_flow(&r) : bf_err_nomem(err, "a definition");
    bf_map_free(r.ids);
    if (rc == BF_OK) {
        *ret = flow;
    }
    return rc;
}

const bf_flow_node_t *bf_flow_find(const bf_flow_t *flow, const char *id)
{
    uint32_t low = 0;
    uint32_t high = flow->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(flow->by_id[middle]->id, id);
        if (!order) {
            return flow->by_id[middle];
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return NULL;
}

/* Depth first along the edges, or against them. */
static bf_status_t mark(const bf_flow_t *flow, const bf_flow_node_t *node, bool backwards,
                        bf_arena_t *arena, const bool **ret)
{
    bool *seen = bf_arena_calloc(arena, flow->node_count, sizeof(*seen));
    const bf_flow_node_t **stack =
        bf_arena_calloc(arena, (size_t)flow->node_count + 1, sizeof(*stack));
    if (!seen || !stack) {
        return BF_E_NOMEM;
    }
    uint32_t count = 0;
    stack[count++] = node;
    while (count) {
        const bf_flow_node_t *at = stack[--count];
        uint32_t edges = backwards ? at->in_count : at->out_count;
        for (uint32_t i = 0; i < edges; i++) {
            const bf_flow_node_t *next =
                backwards ? at->in[i]->source : at->out[i]->target;
            if (!seen[next->index]) {
                seen[next->index] = true;
                stack[count++] = next;
            }
        }
    }
    *ret = seen;
    return BF_OK;
}

bf_status_t bf_flow_reach(const bf_flow_t *flow, const bf_flow_node_t *from,
                          bf_arena_t *arena, const bool **ret)
{
    return mark(flow, from, false, arena, ret);
}

bf_status_t bf_flow_sources(const bf_flow_t *flow, const bf_flow_node_t *to,
                            bf_arena_t *arena, const bool **ret)
{
    return mark(flow, to, true, arena, ret);
}
