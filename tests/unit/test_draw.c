/*
 * test_draw.c - drawings: shape, escaping, colours
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/draw.h"

static const char source[] = "{\"id\":\"a\\\"b\",\"title\":\"T \\\"x\\\"\",\"layout\":["
                             "{\"id\":\"s\",\"type\":\"start\"},"
                             "{\"id\":\"t\",\"title\":\"<b>\\\"#1\\\"</b> & "
                             "`c`\\nline\",\"meta\":{\"actor\":[\"u1\",2]}},"
                             "{\"id\":\"x\",\"type\":\"exclusive\",\"link\":[{\"nextId\":"
                             "\"e\",\"when\":\"a == \\\"\\\\\\\"\"},"
                             "{\"nextId\":\"t\",\"title\":\"back|\"}]},"
                             "{\"id\":\"e\",\"type\":\"end\"}]}";

static bf_graph_t *load(const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err), BF_OK,
                 "%s", err.text);
    return graph;
}

static int state_of(void *arg, const bf_node_t *node)
{
    static const int states[] = {0, 1002, 1001, 1003};
    (void)arg;
    return states[node->index];
}

static char *draw(bf_draw_format_t format, bf_draw_state_fn state)
{
    bf_graph_t *graph = load(source);
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_draw(graph, format, state, NULL, &str, &err), BF_OK, "%s", err.text);
    bf_graph_unref(graph);
    return bf_str_take(&str, NULL);
}

Test(draw, mermaid__escapes_labels_and_names_nodes_itself)
{
    char *text = draw(BF_DRAW_MERMAID, NULL);
    cr_expect_str_eq(
        text, "---\ntitle: \"T \\\"x\\\"\"\n---\nflowchart TD\n"
              "    n0([\"s\"])\n"
              "    n1[\"#lt;b#gt;#quot;#35;1#quot;#lt;/b#gt; #amp; #96;c#96;<br/>line"
              "<br/>u1, 2\"]\n"
              "    n2{\"× x\"}\n"
              "    n3(((\"e\")))\n"
              "    n0 --> n1\n"
              "    n1 --> n2\n"
              "    n2 -->|\"a == #quot;\\#quot;\"| n3\n"
              "    n2 -->|\"back|\"| n1\n");
    free(text);
}

Test(draw, mermaid__colours_states)
{
    char *text = draw(BF_DRAW_MERMAID, state_of);
    cr_expect_not_null(strstr(text, "n0([\"s\"])\n"));
    cr_expect_not_null(strstr(text, "\"]:::completed\n"));
    cr_expect_not_null(strstr(text, "n2{\"× x\"}:::waiting\n"));
    cr_expect_not_null(strstr(text, "n3(((\"e\"))):::terminated\n"));
    cr_expect_not_null(strstr(text, "classDef waiting "));
    free(text);
}

Test(draw, dot__escapes_labels)
{
    char *text = draw(BF_DRAW_DOT, state_of);
    cr_expect_not_null(strstr(text, "digraph \"a\\\"b\" {"));
    cr_expect_not_null(strstr(text, "label=\"T \\\"x\\\"\";"));
    cr_expect_not_null(
        strstr(text, "label=\"<b>\\\"#1\\\"</b> & `c`\\nline\\nu1, 2\"];"));
    cr_expect_not_null(strstr(text, "n2 -> n3 [label=\"a == \\\"\\\\\\\"\"];"));
    cr_expect_not_null(strstr(text, "n0 [shape=circle label=\"s\"];"));
    cr_expect_not_null(strstr(text, "n2 [shape=diamond fillcolor=\"#fff3bf\""));
    free(text);
}

/* Tags are balanced, and nothing stands there that XML does not allow. */
static void expect_well_formed(const char *xml)
{
    const char *open[32];
    size_t depth = 0;
    for (const char *at = xml; (at = strpbrk(at, "<&")); at++) {
        if (*at == '&') {
            cr_expect(!strncmp(at, "&amp;", 5) || !strncmp(at, "&lt;", 4) ||
                          !strncmp(at, "&gt;", 4) || !strncmp(at, "&quot;", 6),
                      "%.20s", at);
            continue;
        }
        const char *end = strchr(at, '>');
        cr_assert_not_null(end);
        size_t len = strcspn(at + 1, " >/");
        if (at[1] == '/') {
            cr_assert_gt(depth, 0U);
            depth--;
            len = strcspn(at + 2, " >");
            cr_assert_eq(strncmp(open[depth], at + 2, len), 0, "%.20s", at);
        } else if (end[-1] != '/') {
            cr_assert_lt(depth, 32U);
            open[depth++] = at + 1;
            cr_assert_gt(len, 0U);
        }
        at = end;
    }
    cr_expect_eq(depth, 0U);
}

Test(draw, svg__is_well_formed_and_coloured)
{
    char *text = draw(BF_DRAW_SVG, state_of);
    expect_well_formed(text);
    cr_expect_eq(strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39), 0);
    cr_expect_not_null(strstr(text, "<g class=\"node start\"><title>s</title>"));
    cr_expect_not_null(strstr(text, "<g class=\"node activity completed\">"));
    cr_expect_not_null(strstr(text, "<g class=\"node exclusive waiting\">"));
    cr_expect_not_null(strstr(text, "<g class=\"node end terminated\">"));
    cr_expect_not_null(
        strstr(text, ">&lt;b&gt;&quot;#1&quot;&lt;/b&gt; &amp; `c`</text>"));
    cr_expect_not_null(strstr(text, ">u1, 2</text>"));
    cr_expect_not_null(strstr(text, ">a == &quot;\\&quot;</text>"));
    cr_expect_not_null(strstr(text, "stroke-dasharray")); /* the link that leads back */
    free(text);
}

Test(draw, svg__lays_out_what_no_link_reaches_and_cycles)
{
    bf_graph_t *graph = load(
        "{id: g, title: T, layout: [{id: s, type: start, link: [a, s]},"
        "{id: a, link: [b, a]}, {id: b, link: [a, c]}, {id: c, link: [s, e]},"
        "{id: x, link: y}, {id: y, link: x}, {id: e, type: end}, {id: z, link: e}]}");
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_draw(graph, BF_DRAW_SVG, NULL, NULL, &str, &err), BF_OK, "%s",
                 err.text);
    expect_well_formed(bf_str_peek(&str));
    unsigned nodes = 0;
    for (const char *at = bf_str_peek(&str); (at = strstr(at, "<g class=")); at++) {
        nodes++;
    }
    cr_expect_eq(nodes, graph->node_count);
    bf_str_fini(&str);
    bf_graph_unref(graph);
}

Test(draw, svg__refuses_what_nobody_could_read)
{
    bf_str_t text;
    bf_str_t out;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&text, 0);
    bf_str_init(&out, 0);
    bf_str_puts(&text, "{id: g, layout: [{type: start}");
    for (int i = 0; i < BF_DRAW_SVG_MAX_NODES; i++) {
        bf_str_puts(&text, ", {}");
    }
    bf_str_puts(&text, "]}");
    bf_graph_t *graph = load(bf_str_peek(&text));
    cr_expect_eq(bf_draw(graph, BF_DRAW_SVG, NULL, NULL, &out, &err), BF_E_LIMIT);
    cr_expect_not_null(strstr(err.text, "draw it as dot or mermaid"));
    bf_graph_unref(graph);
    bf_str_fini(&text);
    bf_str_fini(&out);
}

Test(draw, draw__says_when_it_gets_too_long)
{
    bf_graph_t *graph = load(source);
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 20);
    cr_expect_eq(bf_draw(graph, BF_DRAW_DOT, NULL, NULL, &str, &err), BF_E_LIMIT);
    bf_str_fini(&str);
    bf_graph_unref(graph);
}
