/*
 * test_graph_write.c - graphs as text again: same content, same hash
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/graph.h"

static bf_graph_t *load(const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err), BF_OK,
                 "%s\n%s", err.text, text);
    return graph;
}

static char *write_json(const bf_graph_t *graph, bool pretty)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_graph_write_json(graph, pretty, &str, &err), BF_OK, "%s", err.text);
    return bf_str_take(&str, NULL);
}

static char *write_yaml(const bf_graph_t *graph)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_graph_write_yaml(graph, &str, &err), BF_OK, "%s", err.text);
    return bf_str_take(&str, NULL);
}

static void expect_round_trip(const bf_graph_t *graph)
{
    char *texts[] = {write_json(graph, false), write_json(graph, true),
                     write_yaml(graph)};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bf_graph_t *again = load(texts[i]);
        cr_expect_str_eq(again->hash, graph->hash, "%s", texts[i]);
        char *json = write_json(again, false);
        cr_expect_str_eq(json, texts[0]);
        free(json);
        bf_graph_unref(again);
        free(i ? texts[i] : NULL);
    }
    free(texts[0]);
}

Test(graph_write, json__has_a_fixed_order_and_no_empty_things)
{
    bf_graph_t *g = load(
        "layout:\n"
        "  - {link: [{when: x, meta: {a: 1}, title: T, nextId: e, priority: 2}],\n"
        "     task: ' y = 1 ', when: z, meta: {k: v}, title: N, type: Activity, id: a}\n"
        "  - {id: b, title: '', meta: {}, when: ' ', task: null, link: []}\n"
        "  - {id: e, type: END}\n"
        "meta: {}\n"
        "driver: ''\n"
        "id: g\n");
    char *json = write_json(g, false);
    cr_expect_str_eq(
        json,
        "{\"id\":\"g\",\"title\":\"g\",\"layout\":["
        "{\"id\":\"a\",\"type\":\"activity\",\"title\":\"N\",\"meta\":{\"k\":\"v\"},"
        "\"when\":\"z\",\"task\":\"y = 1\",\"link\":[{\"nextId\":\"e\","
        "\"title\":\"T\",\"meta\":{\"a\":1},\"when\":\"x\",\"priority\":2}]},"
        "{\"id\":\"b\",\"type\":\"activity\",\"link\":[]},"
        "{\"id\":\"e\",\"type\":\"end\"}]}");
    free(json);
    expect_round_trip(g);
    bf_graph_unref(g);
}

Test(graph_write, hash__depends_on_content_only)
{
    bf_graph_t *a = load("{id: g, layout: [{id: s, type: start}, {id: e, type: end}]}");
    bf_graph_t *b = load("# another form\nlayout:\n- id: s\n  type: Start\n  link: [e]\n"
                         "- {type: end, id: e}\nid: g\n");
    bf_graph_t *c = load("{id: g, layout: [{id: s, type: start}, {id: f, type: end}]}");
    cr_expect_eq(strlen(a->hash), 16U);
    cr_expect_str_eq(a->hash, b->hash);
    cr_expect_str_neq(a->hash, c->hash);
    bf_graph_unref(a);
    bf_graph_unref(b);
    bf_graph_unref(c);
}

Test(graph_write, yaml__quotes_what_could_be_read_as_something_else)
{
    bf_graph_t *g = load(
        "{\"id\":\"yes\",\"version\":2,\"meta\":{\"null\":\"null\",\"n\":\"5\",\"d\":"
        "\"2026-01-01\","
        "\"e\":\"\",\"c\":\"a: b\",\"h\":\"# x\",\"q\":\"it's \\\"\\\\\",\"l\":\"a\\nb\","
        "\"s\":\"-\",\"t\":\"~\",\"u\":\"中文 😀\",\"x\":\"0x1F\",\"f\":1.50,\"i\":-3,"
        "\"deep\":[[],{},[{\"a\":[1]}],[[2]]],\"b\":true,\"z\":null,\"a "
        "b\":1,\"y\":\"y\"},"
        "\"layout\":[{\"id\":\"1\",\"type\":\"start\"},{\"id\":\"on\",\"link\":[]},{}]}");
    expect_round_trip(g);
    bf_graph_unref(g);
}

Test(graph_write, round_trip__of_all_samples)
{
    struct dirent **names = NULL;
    int count = scandir("config/graphs", &names, NULL, alphasort);
    unsigned loaded = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "config/graphs/%s", names[i]->d_name);
        free(names[i]);
        if (!strstr(path, ".yml")) {
            continue;
        }
        bf_graph_t *graph = NULL;
        bf_err_t err = BF_ERR_INIT;
        bf_diags_t diags;
        bf_diags_init(&diags);
        cr_assert_eq(bf_graph_load_file(path, &diags, &graph, &err), BF_OK, "%s",
                     err.text);
        cr_expect_eq(diags.warning_count, 0U, "%s has warnings", path);
        expect_round_trip(graph);
        bf_graph_unref(graph);
        bf_diags_fini(&diags);
        loaded++;
    }
    free(names);
    cr_expect_geq(loaded, 4U);
}
