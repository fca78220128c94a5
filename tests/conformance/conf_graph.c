/*
 * conf_graph.c - graph-loading.json: what the loader makes of a layout
 *
 * The graph is described in the words of the file (start, nodes with links in both
 * directions, the serialised form and that of a reload) and compared member by member.
 *
 * Decisions: by name in graph-loading.json as everywhere; beside it graph-rules.json
 * holds decisions for a kind of outcome, since the same mistake occurs in many cases:
 *   {"error": "is used twice", ...}      the loader refuses with this text
 *   {"to_map": "empty_links", ...}       `link: []` stands in the serialised form, so
 * that a reload gives the same graph
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/graph.h"
#include "conf.h"

static const char *const case_members[] = {"name", "source", "desc",       "graph",
                                           "text", "expect", "surprising", NULL};
static const char *const expect_members[] = {
    "error", "start", "title", "driver", "nodes", "to_map", "to_map_after_reload",
    "note",  NULL};

static bf_value_t text_or_null(conf_t *conf, const char *text)
{
    return text && text[0] ? conf_string(conf, text) : bf_value_null();
}

static void put_text(conf_t *conf, conf_map_t *map, const char *name, const char *text)
{
    if (text && text[0]) {
        bf_value_t value = conf_string(conf, text);
        conf_map_put(map, name, &value);
    }
}

static void put_list(conf_map_t *map, const char *name, const conf_list_t *list)
{
    bf_value_t value = conf_list_value(list);
    conf_map_put(map, name, &value);
}

static bf_value_t describe_links(conf_t *conf, const bf_node_t *node)
{
    conf_list_t links;
    conf_list_init(conf, &links);
    for (uint32_t i = 0; i < node->link_count; i++) {
        const bf_link_t *link = node->links[i];
        conf_map_t map;
        conf_map_init(conf, &map);
        bf_value_t next = conf_string(conf, link->to->id);
        conf_map_put(&map, "nextId", &next);
        put_text(conf, &map, "title", link->title);
        put_text(conf, &map, "when", link->when.text);
        if (link->meta.type == BF_VALUE_MAP) {
            conf_map_put(&map, "meta", &link->meta);
        }
        if (link->priority) {
            bf_value_t priority = bf_value_int(link->priority);
            conf_map_put(&map, "priority", &priority);
        }
        conf_list_add(&links, conf_map_value(&map));
    }
    return conf_list_value(&links);
}

static void describe_neighbours(conf_t *conf, const bf_node_t *node, conf_map_t *map)
{
    conf_list_t next;
    conf_list_t prev_links;
    conf_list_t prev;
    conf_list_init(conf, &next);
    conf_list_init(conf, &prev_links);
    conf_list_init(conf, &prev);
    for (uint32_t i = 0; node->type != BF_NODE_END && i < node->link_count; i++) {
        conf_list_add_text(&next, node->links[i]->to->id);
    }
    for (uint32_t i = 0; i < node->prev_link_count; i++) {
        conf_list_add_text(&prev_links, node->prev_links[i]->from->id);
    }
    for (uint32_t i = node->prev_link_count; i-- > 0;) {
        conf_list_add_text(&prev, node->prev_links[i]->from->id);
    }
    put_list(map, "next_nodes", &next);
    put_list(map, "prev_links_from", &prev_links);
    put_list(map, "prev_nodes", &prev);
}

static void put_code(conf_t *conf, conf_map_t *map, const char *name,
                     const bf_code_ref_t *code)
{
    put_text(conf, map, name, code->text);
    bf_value_t empty = bf_value_bool(code->kind == BF_CODE_NONE);
    conf_map_put(map, conf_text(conf, "%s_empty", name), &empty);
}

static bf_value_t describe_node(conf_t *conf, const bf_node_t *node)
{
    conf_map_t map;
    conf_map_init(conf, &map);
    put_text(conf, &map, "id", node->id);
    put_text(conf, &map, "type", bf_node_type_name(node->type));
    put_text(conf, &map, "title", node->title);
    bf_value_t links = describe_links(conf, node);
    conf_map_put(&map, "links", &links);
    describe_neighbours(conf, node, &map);
    put_code(conf, &map, "task", &node->task);
    put_code(conf, &map, "when", &node->when);
    if (node->meta.type == BF_VALUE_MAP) {
        conf_map_put(&map, "meta", &node->meta);
    }
    return *conf_map_value(&map);
}

/* The serialised form as a value. */
static bf_value_t serialise(conf_t *conf, const bf_graph_t *graph)
{
    bf_str_t text;
    bf_value_t value = bf_value_null();
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&text, 0);
    if (bf_graph_write_json(graph, /* pretty= */ false, &text, &err) != BF_OK ||
        bf_json_parse(&conf->arena, bf_str_peek(&text), text.len, NULL, &value, &err) !=
            BF_OK) {
        value = conf_string(conf, err.text);
    }
    bf_str_fini(&text);
    return value;
}

/* What a reload of the serialised form serialises to. */
static bf_value_t reload(conf_t *conf, const bf_value_t *to_map)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (bf_graph_load_value(to_map, "reload", NULL, &graph, &err) != BF_OK) {
        return conf_string(conf, err.text);
    }
    bf_value_t value = serialise(conf, graph);
    bf_graph_unref(graph);
    return value;
}

static const bf_value_t *describe(conf_t *conf, const bf_graph_t *graph)
{
    conf_map_t map;
    conf_map_init(conf, &map);
    bf_value_t null = bf_value_null();
    conf_map_put(&map, "error", &null);
    put_text(conf, &map, "start", graph->start->id);
    bf_value_t title = text_or_null(conf, graph->title);
    conf_map_put(&map, "title", &title);
    bf_value_t driver = conf_string(conf, graph->driver);
    conf_map_put(&map, "driver", &driver);
    conf_list_t nodes;
    conf_list_init(conf, &nodes);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        bf_value_t node = describe_node(conf, &graph->nodes[i]);
        conf_list_add(&nodes, &node);
    }
    put_list(&map, "nodes", &nodes);
    bf_value_t to_map = serialise(conf, graph);
    conf_map_put(&map, "to_map", &to_map);
    bf_value_t again = reload(conf, &to_map);
    conf_map_put(&map, "to_map_after_reload", &again);
    return conf_map_value(&map);
}

/* --- comparing --- */

/* Each member that is expected; what the file leaves out is not compared. */
static void compare_node(conf_case_t *c, uint32_t index, const bf_value_t *expected,
                         const bf_value_t *came)
{
    if (expected->type != BF_VALUE_MAP) {
        conf_fail(c, "nodes[%u]: is a %s, expected an object", index,
                  bf_value_type_name(expected->type));
    }
    for (uint32_t i = 0; i < conf_members(expected); i++) {
        const bf_member_t *m = &expected->as.members[i];
        const bf_value_t *other = bf_value_get_str(came, m->name);
        if (!other || !bf_value_equal(&m->value, other)) {
            conf_fail(c, "nodes[%u].%s: expected %s, got %s", index, m->name,
                      conf_json(c->conf, &m->value), conf_json(c->conf, other));
        }
    }
}

static void compare_nodes(conf_case_t *c, const bf_value_t *expected,
                          const bf_value_t *came)
{
    if (expected->type != BF_VALUE_LIST || expected->len != came->len) {
        conf_fail(c, "nodes: expected %u, got %u", conf_items(expected), came->len);
        return;
    }
    for (uint32_t i = 0; i < expected->len; i++) {
        compare_node(c, i, &expected->as.items[i], &came->as.items[i]);
    }
}

/* A serialised form without its empty link lists. */
static bf_value_t without_empty_links(conf_t *conf, const bf_value_t *value)
{
    if (value->type == BF_VALUE_LIST) {
        conf_list_t list;
        conf_list_init(conf, &list);
        for (uint32_t i = 0; i < value->len; i++) {
            bf_value_t item = without_empty_links(conf, &value->as.items[i]);
            conf_list_add(&list, &item);
        }
        return conf_list_value(&list);
    }
    if (value->type != BF_VALUE_MAP) {
        return *value;
    }
    conf_map_t map;
    conf_map_init(conf, &map);
    for (uint32_t i = 0; i < value->len; i++) {
        const bf_member_t *m = &value->as.members[i];
        bool empty_link = !strcmp(m->name, "link") && m->value.type == BF_VALUE_LIST &&
                          m->value.len == 0;
        if (!empty_link) {
            bf_value_t member = without_empty_links(conf, &m->value);
            conf_map_put(&map, m->name, &member);
        }
    }
    return *conf_map_value(&map);
}

static void compare_to_map(conf_case_t *c, const char *name, const bf_value_t *expected,
                           const bf_value_t *came)
{
    if (came && bf_value_equal(expected, came)) {
        return;
    }
    bf_value_t plain = came ? without_empty_links(c->conf, came) : bf_value_null();
    const bf_value_t *rule =
        conf_rule(c->conf, "graph-rules.json", "to_map", "empty_links");
    if (!c->decision && rule && bf_value_equal(expected, &plain)) {
        c->decision = rule;
        return;
    }
    conf_fail(c, "%s: expected %s, got %s", name, conf_json(c->conf, expected),
              conf_json(c->conf, came));
}

static void compare_member(conf_case_t *c, const bf_member_t *m, const bf_value_t *came)
{
    const bf_value_t *other = bf_value_get_str(came, m->name);
    if (!strcmp(m->name, "note")) {
        return;
    }
    if (!strcmp(m->name, "nodes")) {
        compare_nodes(c, &m->value, other);
    } else if (!strcmp(m->name, "to_map")) {
        compare_to_map(c, m->name, &m->value, other);
    } else if (!other || !bf_value_equal(&m->value, other)) {
        conf_fail(c, "%s: expected %s, got %s", m->name, conf_json(c->conf, &m->value),
                  conf_json(c->conf, other));
    }
}

/* The original changes a graph when it is reloaded, because empty link lists get lost:
 * here a reload must give the same graph, and that is a decision. */
static void compare_reload(conf_case_t *c, const bf_value_t *expect,
                           const bf_value_t *came)
{
    const bf_value_t *to_map = bf_value_get_str(came, "to_map");
    const bf_value_t *again = bf_value_get_str(came, "to_map_after_reload");
    if (!bf_value_equal(to_map, again)) {
        conf_fail(c, "to_map_after_reload: expected the same as to_map, got %s",
                  conf_json(c->conf, again));
    }
    const bf_value_t *expected = bf_value_get_str(expect, "to_map_after_reload");
    if (!expected || bf_value_equal(expected, again)) {
        return;
    }
    if (!c->decision) {
        c->decision = conf_rule(c->conf, "graph-rules.json", "to_map", "empty_links");
    }
    if (!c->decision) {
        conf_fail(c, "to_map_after_reload: expected %s, got %s",
                  conf_json(c->conf, expected), conf_json(c->conf, again));
    }
}

static void compare(conf_case_t *c, const bf_value_t *expect, const bf_value_t *came)
{
    for (uint32_t i = 0; i < conf_members(expect); i++) {
        const bf_member_t *m = &expect->as.members[i];
        if (strcmp(m->name, "to_map_after_reload") != 0) {
            compare_member(c, m, came);
        }
    }
    compare_reload(c, expect, came);
}

/* The loader refused. */
static void compare_error(conf_case_t *c, const bf_value_t *expect, const char *text)
{
    const bf_value_t *expected = bf_value_get_str(expect, "error");
    if (expected && expected->type == BF_VALUE_STRING) {
        if (!strstr(text, expected->as.string)) {
            conf_fail(c, "error: expected \"%s\", got \"%s\"", expected->as.string, text);
        }
        return;
    }
    const bf_value_t *rule = conf_rule(c->conf, "graph-rules.json", "error", text);
    if (!c->decision && rule) {
        c->decision = rule;
    } else {
        conf_fail(c, "error: expected none, got \"%s\"", text);
    }
}

static bf_status_t load(const bf_value_t *scenario, bf_graph_t **ret, bf_err_t *err)
{
    const bf_value_t *text = bf_value_get_str(scenario, "text");
    const bf_value_t *graph = bf_value_get_str(scenario, "graph");
    if (text && text->type == BF_VALUE_STRING) {
        return bf_graph_load_text(text->as.string, text->len, NULL, NULL, ret, err);
    }
    if (!graph) {
        return bf_err_set(err, BF_E_INVALID, "the case has neither graph nor text");
    }
    return bf_graph_load_value(graph, NULL, NULL, ret, err);
}

static void run_case(conf_t *conf, const bf_value_t *scenario)
{
    conf_case_t c;
    const char *name = bf_value_get_cstr(scenario, "name");
    if (!conf_case_begin(conf, &c, "graph-loading", name ? name : "(no name)",
                         scenario)) {
        return;
    }
    conf_check_members(&c, "case", scenario, case_members);
    const bf_value_t *expect = conf_expect(&c, scenario);
    conf_check_members(&c, "expect", expect, expect_members);
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    conf_map_t came;
    conf_map_init(conf, &came);
    if (!expect || expect->type != BF_VALUE_MAP) {
        conf_fail(&c, "the case expects nothing");
    } else if (load(scenario, &graph, &err) != BF_OK) {
        compare_error(&c, expect, err.text);
        conf_map_t error;
        conf_map_init(conf, &error);
        put_text(conf, &error, "error", err.text);
        conf_map_put(&came, "expect", conf_map_value(&error));
    } else {
        const bf_value_t *description = describe(conf, graph);
        compare(&c, expect, description);
        conf_map_put(&came, "expect", description);
    }
    conf_came(&c, conf_map_value(&came));
    conf_case_end(&c);
    bf_graph_unref(graph);
}

void conf_run_graph_loading(conf_t *conf, const bf_value_t *file)
{
    const bf_value_t *cases = bf_value_get_str(file, "cases");
    for (uint32_t i = 0; cases && cases->type == BF_VALUE_LIST && i < cases->len; i++) {
        run_case(conf, &cases->as.items[i]);
    }
}
