/*
 * fuzz_graph.c - any bytes as a definition: refused with a message, or a graph that is
 * the same after it was written and loaded again
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/draw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void expect_same(const bf_graph_t *graph, const bf_str_t *text)
{
    bf_graph_t *again = NULL;
    bf_err_t err = BF_ERR_INIT;
    expect(!bf_str_failed(text));
    bf_status_t rc =
        bf_graph_load_text(bf_str_peek(text), text->len, NULL, NULL, &again, &err);
    /* Written out it may be longer than what is read. */
    expect(rc == BF_OK || rc == BF_E_LIMIT);
    if (rc == BF_OK) {
        expect(!strcmp(graph->hash, again->hash));
    }
    bf_graph_unref(again);
}

static void check(const bf_graph_t *graph)
{
    bf_str_t text;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&text, 0);
    expect(bf_graph_write_json(graph, false, &text, &err) == BF_OK);
    expect_same(graph, &text);
    bf_str_clear(&text);
    expect(bf_graph_write_yaml(graph, &text, &err) == BF_OK);
    expect_same(graph, &text);
    bf_str_clear(&text);
    expect(bf_draw(graph, BF_DRAW_MERMAID, NULL, NULL, &text, &err) == BF_OK);
    expect(bf_draw(graph, BF_DRAW_DOT, NULL, NULL, &text, &err) == BF_OK);
    bf_status_t rc = bf_draw(graph, BF_DRAW_SVG, NULL, NULL, &text, &err);
    expect(rc == BF_OK || rc == BF_E_LIMIT);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        expect(bf_graph_node(graph, graph->nodes[i].id) == &graph->nodes[i]);
    }
    bf_str_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_graph_t *graph = NULL;
    bf_diags_t diags;
    bf_err_t err = BF_ERR_INIT;
    bf_diags_init(&diags);
    bf_status_t rc =
        bf_graph_load_text((const char *)data, size, "input", &diags, &graph, &err);
    if (rc == BF_OK) {
        expect(diags.error_count == 0);
        check(graph);
    } else {
        expect(diags.error_count > 0 && err.status == rc && err.text[0] != '\0');
    }
    bf_graph_unref(graph);
    bf_diags_fini(&diags);
    return 0;
}
