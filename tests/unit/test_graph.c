/*
 * test_graph.c - loading: forms, decisions, messages
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/graph.h"

static bf_diags_t diags;

static void setup(void)
{
    bf_diags_init(&diags);
}

static void teardown(void)
{
    bf_diags_fini(&diags);
}

TestSuite(graph, .init = setup, .fini = teardown);

static bf_graph_t *load(const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "t.yml", &diags, &graph, &err),
                 BF_OK, "%s", err.text);
    return graph;
}

/* The messages as text; the caller frees. */
static char *messages(void)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_diags_write(&diags, &str);
    return bf_str_take(&str, NULL);
}

static void expect_message(const char *part)
{
    char *all = messages();
    cr_expect_not_null(strstr(all, part), "expected ...%s... in:\n%s", part, all);
    free(all);
}

static void expect_refused(const char *text, bf_status_t status, const char *part)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_diags_fini(&diags);
    bf_status_t rc =
        bf_graph_load_text(text, strlen(text), "t.yml", &diags, &graph, &err);
    cr_expect_eq(rc, status, "%s: %d %s", text, rc, err.text);
    cr_expect_eq(err.status, status);
    cr_expect_null(graph);
    cr_expect_geq(diags.error_count, 1U);
    expect_message(part);
}

/* A graph that loads with this warning. */
static void expect_warning(const char *text, const char *part)
{
    bf_diags_fini(&diags);
    bf_graph_t *graph = load(text);
    expect_message(part);
    cr_expect_geq(diags.warning_count, 1U);
    bf_graph_unref(graph);
}

static const bf_node_t *node(const bf_graph_t *graph, const char *id)
{
    const bf_node_t *found = bf_graph_node(graph, id);
    cr_assert_not_null(found, "no node %s", id);
    cr_assert_str_eq(found->id, id);
    return found;
}

Test(graph, load__reads_everything)
{
    bf_graph_t *g = load("id: g\n"
                         "title: T\n"
                         "driver: d\n"
                         "version: 3\n"
                         "meta: {k: [1, 1.5, true, null, x, '2']}\n"
                         "layout:\n"
                         "  - {id: s, type: start}\n"
                         "  - id: a\n"
                         "    title: A\n"
                         "    meta: {actor: {role: boss}, 'x.y': 5}\n"
                         "    when: ' day > 1 '\n"
                         "    task: x = 1\n"
                         "    link: {nextId: e, title: t, when: y, meta: {m: 1}}\n"
                         "  - {id: e, type: end}\n");
    cr_expect_str_eq(g->id, "g");
    cr_expect_str_eq(g->title, "T");
    cr_expect_str_eq(g->driver, "d");
    cr_expect_str_eq(g->file, "t.yml");
    cr_expect_eq(g->version, 3);
    cr_expect_eq(g->node_count, 3U);
    cr_expect_eq(g->link_count, 2U);
    cr_expect_str_eq(g->start->id, "s");
    const bf_value_t *k = bf_value_get_str(&g->meta, "k");
    static const bf_value_type_t types[] = {BF_VALUE_INT,    BF_VALUE_REAL,
                                            BF_VALUE_BOOL,   BF_VALUE_NULL,
                                            BF_VALUE_STRING, BF_VALUE_STRING};
    cr_assert_eq(k->len, 6U);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(k->as.items[i].type, types[i], "item %d", i);
    }
    const bf_node_t *a = node(g, "a");
    cr_expect_str_eq(a->title, "A");
    cr_expect_str_eq(a->state_key, "g:a");
    cr_expect_eq(a->line, 8U);
    cr_expect_eq(a->when.kind, BF_CODE_EXPRESSION);
    cr_expect_str_eq(a->when.text, "day > 1");
    cr_expect_eq(a->task.kind, BF_CODE_SCRIPT);
    cr_expect_not_null(a->task.script);
    cr_expect_str_eq(bf_node_meta(a, "actor.role")->as.string, "boss");
    cr_expect_eq(bf_node_meta(a, "x.y")->as.integer, 5);
    cr_expect_null(bf_node_meta(a, "actor.x.y"));
    const bf_link_t *link = a->links[0];
    cr_expect_str_eq(link->to->id, "e");
    cr_expect_str_eq(link->title, "t");
    cr_expect_eq(bf_value_get_str(&link->meta, "m")->as.integer, 1);
    cr_expect_eq(link->from, a);
    cr_expect_eq(link->graph_index, 1U);
    cr_expect_eq(node(g, "e")->prev_links[0], link);
    cr_expect_null(bf_graph_node(g, "nope"));
    cr_expect_null(bf_graph_node(g, NULL));
    cr_expect_eq(diags.error_count + diags.warning_count, 0U);
    bf_graph_unref(g);
}

Test(graph, load__knows_all_kinds_of_tasks_and_conditions)
{
    bf_graph_t *g = load("id: g\n"
                         "meta: {a: {b: 'x = 1'}, c: y = 2}\n"
                         "layout:\n"
                         "  - {id: s, type: start}\n"
                         "  - {id: t1, task: '@pay'}\n"
                         "  - {id: t2, task: '#sub'}\n"
                         "  - {id: t3, task: $a.b}\n"
                         "  - {id: t4, task: $c}\n"
                         "  - {id: t5, task: '  '}\n"
                         "  - {id: t6, task: null, when: true}\n"
                         "  - {id: t7, when: '@check', task: $no.thing}\n"
                         "  - {id: t8, when: '${day > 3}'}\n");
    cr_expect_eq(node(g, "t1")->task.kind, BF_CODE_COMPONENT);
    cr_expect_str_eq(node(g, "t1")->task.name, "pay");
    cr_expect_eq(node(g, "t2")->task.kind, BF_CODE_GRAPH);
    cr_expect_str_eq(node(g, "t2")->task.name, "sub");
    cr_expect_eq(node(g, "t3")->task.kind, BF_CODE_SCRIPT);
    cr_expect_not_null(node(g, "t3")->task.script);
    cr_expect_str_eq(node(g, "t3")->task.text, "$a.b");
    cr_expect_not_null(node(g, "t4")->task.script);
    cr_expect_eq(node(g, "t5")->task.kind, BF_CODE_NONE);
    cr_expect_null(node(g, "t5")->task.text);
    cr_expect_eq(node(g, "t6")->task.kind, BF_CODE_NONE);
    cr_expect_str_eq(node(g, "t6")->when.text, "true");
    cr_expect_eq(node(g, "t7")->when.kind, BF_CODE_COMPONENT);
    cr_expect_null(node(g, "t7")->task.script);
    cr_expect_str_eq(node(g, "t7")->task.name, "no.thing");
    cr_expect_eq(node(g, "t8")->when.kind, BF_CODE_EXPRESSION);
    expect_message("t.yml:11: warning: node 't7': the task $no.thing is not in the meta");
    bf_graph_unref(g);
}

Test(graph, load__makes_links_of_all_forms)
{
    bf_graph_t *g =
        load("id: g\n"
             "layout:\n"
             "  - {id: s, type: start}\n"
             "  - {id: a, link: c}\n"
             "  - {id: b, link: [a, {nextId: c, condition: x, when: ''}, null]}\n"
             "  - {id: c, link: []}\n"
             "  - {id: d, link: {nextId: e, condition: y}}\n"
             "  - {id: e, type: END}\n"
             "  - {id: f, link: null}\n"
             "  - {id: 7, link: 007}\n"
             "  - {id: 007}\n");
    cr_expect_str_eq(node(g, "s")->links[0]->to->id, "a");
    cr_expect_str_eq(node(g, "a")->links[0]->to->id, "c");
    cr_assert_eq(node(g, "b")->link_count, 2U);
    cr_expect_str_eq(node(g, "b")->links[1]->to->id, "c");
    cr_expect_eq(node(g, "b")->links[1]->when.kind, BF_CODE_NONE); /* rule 13 */
    cr_expect_eq(node(g, "c")->link_count, 0U);
    cr_expect_str_eq(node(g, "d")->links[0]->when.text, "y");
    cr_expect_eq(node(g, "e")->link_count, 0U); /* an END gets no automatic link */
    cr_expect_str_eq(node(g, "f")->links[0]->to->id, "7");
    cr_expect_str_eq(node(g, "7")->links[0]->to->id, "007");
    cr_expect_eq(node(g, "007")->link_count, 0U);
    bf_graph_unref(g);
}

Test(graph, load__orders_links_by_priority)
{
    bf_graph_t *g =
        load("{id: g, layout: [{id: s, type: start, link: ["
             "{nextId: a}, {nextId: b, priority: 5}, c, {nextId: d, priority: 5},"
             "{nextId: e, priority: -1}]},"
             "{id: a, link: []}, {id: b, link: []}, {id: c, link: []},"
             "{id: d, link: []}, {id: e, type: end}]}");
    static const char *const order[] = {"b", "d", "a", "c", "e"};
    for (uint32_t i = 0; i < 5; i++) {
        const bf_link_t *link = g->start->links[i];
        cr_expect_str_eq(link->to->id, order[i]);
        cr_expect_eq(link->index, i);
    }
    bf_graph_unref(g);
}

Test(graph, load__keeps_incoming_links_as_the_original)
{
    bf_graph_t *g = load("{id: g, layout: [{id: s, type: start, link: [a, b]},"
                         "{id: a, link: [j, s]}, {id: b, link: j},"
                         "{id: e0, type: end, link: j},"
                         "{id: j, type: parallel}, {id: e, type: end}]}");
    cr_expect_eq(node(g, "s")->prev_link_count, 0U); /* rule 17 */
    const bf_node_t *j = node(g, "j");
    cr_assert_eq(j->prev_link_count, 2U); /* not the one of the END */
    cr_expect_str_eq(j->prev_links[0]->from->id, "b");
    cr_expect_str_eq(j->prev_links[1]->from->id, "a");
    bf_graph_unref(g);
}

Test(graph, load__reads_loops)
{
    bf_graph_t *g = load("{id: g, layout: [{id: s, type: start},"
                         "{id: l, type: iterator, meta: {$for: i, $in: [1, 2]}},"
                         "{id: x, type: loop, meta: {$in: items}}, {id: e, type: end}]}");
    cr_expect_eq(node(g, "l")->type, BF_NODE_LOOP);
    cr_expect_str_eq(node(g, "l")->loop_variable, "i");
    cr_expect_eq(node(g, "l")->loop_source->type, BF_VALUE_LIST);
    cr_expect_null(node(g, "x")->loop_variable);
    bf_graph_unref(g);
}

Test(graph, load__merges_anchors)
{
    bf_graph_t *g =
        load("id: g\n"
             "meta: {base: &base {actor: boss, level: 1}, more: &more {x: 2}}\n"
             "layout:\n"
             "  - {id: s, type: start, meta: *base}\n"
             "  - {id: a, meta: {<<: [*base, *more], level: 2}}\n"
             "  - &one {id: e, type: end}\n");
    cr_expect_eq(bf_node_meta(node(g, "s"), "level")->as.integer, 1);
    cr_expect_eq(bf_node_meta(node(g, "a"), "level")->as.integer, 2);
    cr_expect_str_eq(bf_node_meta(node(g, "a"), "actor")->as.string, "boss");
    cr_expect_eq(bf_node_meta(node(g, "a"), "x")->as.integer, 2);
    bf_graph_unref(g);
}

Test(graph, load__reads_json_with_surrogate_pairs)
{
    bf_graph_t *g = load("{\"id\": \"g\", \"title\": \"\\ud83d\\ude00 a\\/b\",\n"
                         "\t\"layout\": [{\"type\": \"start\"}]}");
    cr_expect_str_eq(g->title, "😀 a/b");
    bf_graph_unref(g);
}

Test(graph, load__reads_scalars_as_yaml_1_2)
{
    bf_graph_t *g = load("id: g\n"
                         "meta: {a: yes, b: 0x1F, c: 0o17, d: 1e3, e: .5, f: 1., g: '5', "
                         "h: !!str 5, i: ~, j: 1_000, k: -7, l: 2026-11-30}\n"
                         "layout: [{type: start}]\n");
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_json_write(&text, &g->meta);
    cr_expect_str_eq(bf_str_peek(&text),
                     "{\"a\":\"yes\",\"b\":31,\"c\":15,\"d\":1000.0,\"e\":0.5,\"f\":1.0,"
                     "\"g\":\"5\",\"h\":\"5\",\"i\":null,\"j\":\"1_000\",\"k\":-7,"
                     "\"l\":\"2026-11-30\"}");
    bf_str_fini(&text);
    bf_graph_unref(g);
}

Test(graph, load__reports_all_mistakes_together)
{
    static const char text[] = "id: g\n"
                               "layout:\n"
                               "  - {id: s, type: start}\n"
                               "  - {id: s, type: exclusve}\n"
                               "  - {id: b, link: [nope], when: 'a >'}\n"
                               "  - {id: c, task: 'x ='}\n";
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), "t.yml", &diags, &graph, &err),
                 BF_E_INVALID);
    cr_expect_eq(diags.error_count, 5U);
    expect_message("t.yml:4: error: node 's': this ID is used twice (also by entry 1 of "
                   "the layout, line 3)");
    expect_message("t.yml:4: error: node 's': unknown type 'exclusve'; did you mean "
                   "'exclusive'?");
    expect_message(
        "t.yml:5: error: node 'b': condition: line 1 column 4: expected a value");
    expect_message("t.yml:5: error: node 'b': a link leads to 'nope'");
    expect_message("t.yml:6: error: node 'c': task: line 1 column 4: expected a value");
    cr_expect_not_null(strstr(err.text, "t.yml:4: node 's': this ID"), "%s", err.text);
}

Test(graph, load__refuses_what_can_never_work)
{
    expect_refused("{id: g, layout: [{id: n-2}, {}]}", BF_E_INVALID, "used twice");
    expect_refused("{id: g, layout: [{type: unknown}]}", BF_E_INVALID, "unknown type");
    expect_refused("{id: g, layout: [{type: Iterator}]}", BF_E_INVALID,
                   "did you mean 'iterator'");
    expect_refused("{id: g, layout: [{id: a, link: b}, {id: bb}]}", BF_E_INVALID,
                   "which is no node");
    expect_refused("{id: g, layout: [{id: a, link: lead}, {id: leader}]}", BF_E_INVALID,
                   "did you mean 'leader'?");
    expect_refused("{id: g, layout: [{id: a, link: ''}, {id: b}]}", BF_E_INVALID,
                   "leads to ''");
    expect_refused("{id: g, layout: [{id: a, link: {title: x}}]}", BF_E_INVALID,
                   "without nextId");
    expect_refused("{id: g, layout: [{id: a, link: [[b]]}, {id: b}]}", BF_E_INVALID,
                   "a list inside of link");
    expect_refused("{id: g, layout: [{id: a, link: {nextId: a, priority: x}}]}",
                   BF_E_INVALID, "priority of a link");
    expect_refused("{id: g, layout: [{id: s, type: start}, {id: t, type: start}]}",
                   BF_E_INVALID, "a second node of type start");
    expect_refused("{id: g, layout: [{id: a, link: b}, {id: b, link: a}]}", BF_E_INVALID,
                   "No start node found");
    expect_refused("{id: g}", BF_E_INVALID, "No start node found");
    expect_refused("{id: g, layout: []}", BF_E_INVALID, "No start node found");
    expect_refused("{id: g, layout: {id: s}}", BF_E_INVALID, "layout must be a list");
    expect_refused("{id: g, nodes: 5}", BF_E_INVALID, "nodes must be a list");
    expect_refused("{id: g, layout: [a]}", BF_E_INVALID,
                   "entry 1 of layout must be a map");
    expect_refused("[1]", BF_E_INVALID, "a graph must be a map");
    expect_refused("{id: [g], layout: [{type: start}]}", BF_E_INVALID,
                   "id must be a text, not a list");
    expect_refused("{id: g, meta: 5, layout: [{type: start}]}", BF_E_INVALID,
                   "meta must be a map");
    expect_refused("{id: g, version: 0, layout: [{type: start}]}", BF_E_INVALID,
                   "version must be");
    expect_refused("{id: g, layout: [{id: x, type: exclusive, link: [a, a]}, {id: a}]}",
                   BF_E_INVALID, "2 links of an exclusive node have no condition");
    expect_refused("{id: g, layout: [{id: a, meta: {actor: ''}}]}", BF_E_INVALID,
                   "meta actor is empty");
    expect_refused("{id: g, layout: [{id: a, meta: {actor: []}}]}", BF_E_INVALID,
                   "meta actor is empty");
    expect_refused("{id: g, layout: [{id: a}, {id: 'a#2'}]}", BF_E_INVALID,
                   "collides with later visits");
    expect_refused("{id: g, layout: [{id: ' a'}]}", BF_E_INVALID, "begins or ends with");
    expect_refused("{id: g, layout: [{id: a, when: [x]}]}", BF_E_INVALID,
                   "when must be a text");
    expect_refused("{id: g, layout: [{id: a, task: '@'}]}", BF_E_INVALID,
                   "a name is missing behind @");
    expect_refused("{id: g, meta: {s: [1]}, layout: [{id: a, task: $s}]}", BF_E_INVALID,
                   "must be a text in the meta");
    expect_refused("{id: g, meta: {s: 'x ='}, layout: [{id: a, task: $s}]}", BF_E_INVALID,
                   "$s: line 1 column 4");
    expect_refused("{id: g, layout: [{id: l, type: loop, meta: {$for: [x]}}]}",
                   BF_E_INVALID, "$for must be the name");
}

Test(graph, load__refuses_what_is_no_yaml)
{
    expect_refused("id: [unclosed", BF_E_PARSE,
                   "error: not valid YAML or JSON: while parsing a flow sequence");
    expect_refused("", BF_E_PARSE, "the text is empty");
    expect_refused("id: g\nid: h\n", BF_E_PARSE,
                   "t.yml:2: error: 'id' stands twice in one map (first in line 1)");
    expect_refused("id: g\n---\nid: h\n", BF_E_PARSE, "a second document");
    expect_refused("id: *x\n", BF_E_PARSE, "there is no anchor &x");
    expect_refused("[a]: b\n", BF_E_PARSE, "a name must be a text");
    expect_refused("{<<: 5}", BF_E_PARSE, "<< needs a map");
    expect_refused("id: 99999999999999999999\n", BF_E_LIMIT, "put it in quotes");
    expect_refused("id: \"a\\0b\"\n", BF_E_PARSE, "NUL");
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_expect_eq(bf_graph_load_text("id: \xff", 5, NULL, NULL, &graph, &err), BF_E_PARSE);
    cr_expect_not_null(strstr(err.text, "must be UTF-8"), "%s", err.text);
}

Test(graph, load__bounds_size_depth_and_aliases)
{
    char *text = malloc((4U << 20) + 2);
    memset(text, ' ', (4U << 20) + 1);
    text[(4U << 20) + 1] = '\0';
    expect_refused(text, BF_E_LIMIT, "at most 4194304 are allowed");
    memset(text, '[', 200);
    text[200] = '\0';
    expect_refused(text, BF_E_LIMIT, "nested deeper than 64");
    free(text);
    bf_str_t laughs; /* each line ten times the one before */
    bf_str_init(&laughs, 0);
    bf_str_puts(&laughs, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        bf_str_printf(&laughs, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) {
            bf_str_printf(&laughs, "%s*a%d", k ? ", " : "", i - 1);
        }
        bf_str_puts(&laughs, "]\n");
    }
    expect_refused(bf_str_peek(&laughs), BF_E_LIMIT, "grow beyond all limits");
    bf_str_fini(&laughs);
}

Test(graph, load__warns_of_what_is_most_likely_not_meant)
{
    expect_warning("{id: g, layout: [{id: s, type: start, link: []}, {id: a}]}",
                   "node 'a': no link leads here from 's'");
    expect_warning(
        "{id: g, layout: [{id: s, type: start, link: [a, {nextId: a, when: x}]},"
        "{id: a}]}",
        "a link without condition beside conditional ones");
    expect_warning("{id: g, layout: [{id: s, type: start},"
                   "{id: p, type: parallel, link: {nextId: a, when: x}}, {id: a}]}",
                   "conditions on links of a parallel node");
    expect_warning("{id: g, layout: [{id: s, type: start, task: x = 1}]}",
                   "the task of this start node never runs");
    expect_warning("{id: g, layout: [{id: s, type: start}, {id: e, type: end, when: x}]}",
                   "`when` of this end node");
    expect_warning("{id: g, layout: [{id: s, type: start}, {id: e, type: end, link: s}]}",
                   "links of an end node are never followed");
    expect_warning("{layout: [{id: s, type: start}]}", "the graph has no id");
    expect_warning("{id: g, layout: [{id: a}]}", "no node of type start");
    expect_warning("{id: g, layout: [{id: s, type: start, lnik: a}]}",
                   "'lnik' is not known here and ignored; did you mean 'link'?");
    expect_warning("{id: g, layuot: 5, layout: [{type: start}]}",
                   "did you mean 'layout'?");
    expect_warning("{id: g, layout: [{type: start}, {task: launch()}]}",
                   "there is no function 'launch'");
    expect_warning("{id: g, layout: [{type: start}, {when: launch()}]}",
                   "there is no function 'launch'");
    expect_warning(
        "{id: g, layout: [{type: start}, {type: loop, meta: {$for: i, $in: 5}}]}",
        "The '$in' must be a list or a string");
    expect_warning(
        "{id: g, layout: [{type: start}, {type: loop, meta: {$for: i, $in: '1:5'}}]}",
        "The stepper style");
}

Test(graph, load_value__is_the_same_as_text)
{
    static const char json[] =
        "{\"id\":\"g\",\"meta\":{\"x\":[1,{\"y\":null}]},\"nodes\":[{\"id\":1,\"type\":"
        "\"start\"},"
        "{\"link\":[{\"nextId\":3.5,\"when\":true}]},{\"id\":3.5}]}";
    bf_arena_t arena;
    bf_value_t value;
    bf_graph_t *a = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    cr_assert_eq(bf_json_parse(&arena, json, strlen(json), NULL, &value, &err), BF_OK);
    cr_assert_eq(bf_graph_load_value(&value, NULL, &diags, &a, &err), BF_OK, "%s",
                 err.text);
    bf_arena_fini(&arena); /* nothing of it is kept */
    bf_graph_t *b = load(json);
    cr_expect_str_eq(a->hash, b->hash);
    cr_expect_str_eq(a->start->id, "1");
    cr_expect_eq(a->start->line, 0U);
    bf_graph_unref(a);
    bf_graph_unref(b);
}

Test(graph, load_file__names_the_file)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_expect_eq(bf_graph_load_file("no/such.yml", &diags, &graph, &err), BF_E_IO);
    cr_expect_not_null(strstr(err.text, "no/such.yml: No such file"), "%s", err.text);
    expect_message("no/such.yml: error:");
    bf_err_clear(&err);
    cr_expect_eq(bf_graph_load_file("/tmp", NULL, &graph, &err), BF_E_IO);
    bf_err_clear(&err);
    char path[] = "/tmp/bf-graph-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, "id: g\nlayout: [{type: start}]\n", 30), 30);
    (void)close(fd);
    cr_assert_eq(bf_graph_load_file(path, &diags, &graph, &err), BF_OK, "%s", err.text);
    cr_expect_str_eq(graph->file, path);
    bf_graph_unref(graph);
    (void)unlink(path);
}

Test(graph, load__is_fast_for_many_nodes)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "{\"id\":\"big\",\"layout\":[{\"type\":\"start\"}");
    for (int i = 0; i < 100000; i++) {
        bf_str_printf(&text, ",{\"id\":\"n%d\"}", i);
    }
    bf_str_puts(&text, "]}");
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(
        bf_graph_load_text(bf_str_peek(&text), text.len, NULL, &diags, &graph, &err),
        BF_OK, "%s", err.text);
    cr_expect_eq(graph->node_count, 100001U);
    cr_expect_eq(graph->link_count, 100000U);
    cr_expect_eq(bf_graph_node(graph, "n99999")->index, 100000U);
    cr_expect_eq(diags.warning_count, 0U);
    bf_graph_unref(graph);
    bf_str_fini(&text);
}

Test(graph, unref__frees_at_the_last_one)
{
    bf_graph_t *g = load("{id: g, layout: [{type: start}]}");
    cr_expect_eq(bf_graph_ref(g), g);
    bf_graph_unref(g);
    cr_expect_str_eq(g->id, "g");
    bf_graph_unref(g);
    bf_graph_unref(NULL);
}
