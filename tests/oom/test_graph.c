/*
 * test_graph.c - allocation sweep: loading graphs, writing and drawing them
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/draw.h"
#include "tests/oom/oom.h"

static bf_status_t load(void *arg)
{
    const char *text = arg;
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc = bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err);
    bf_graph_unref(graph);
    /* A text with mistakes gets them told when there is memory. */
    return rc == BF_E_INVALID ? BF_OK : rc;
}

static bf_graph_t *sample;

static bf_status_t write_json(void *arg)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    (void)arg;
    bf_str_init(&str, 0);
    bf_status_t rc = bf_graph_write_json(sample, true, &str, &err);
    bf_str_fini(&str);
    return rc;
}

static bf_status_t write_yaml(void *arg)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    (void)arg;
    bf_str_init(&str, 0);
    bf_status_t rc = bf_graph_write_yaml(sample, &str, &err);
    bf_str_fini(&str);
    return rc;
}

static bf_status_t draw(void *arg)
{
    bf_str_t str;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&str, 0);
    bf_status_t rc = bf_draw(sample, *(bf_draw_format_t *)arg, NULL, NULL, &str, &err);
    bf_str_fini(&str);
    return rc;
}

static bf_status_t load_value(void *arg)
{
    bf_arena_t arena;
    bf_value_t value;
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_status_t rc = bf_json_parse(&arena, arg, strlen(arg), NULL, &value, &err);
    rc = rc == BF_OK ? bf_graph_load_value(&value, NULL, NULL, &graph, &err) : rc;
    bf_graph_unref(graph);
    bf_arena_fini(&arena);
    return rc;
}

int main(void)
{
    static char good[] =
        "id: g\n"
        "meta: {base: &b {actor: [u1, u2], n: 1.5}, s: {one: 'x = 1'}, "
        "m: {a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9, j: 1, k: 1, l: 1, "
        "n: 1, o: 1, p: 1, q: 1, r: 1, s: 1, t: 1, u: 1, v: 1, w: 1, x: 1, y: 1, z: 1}}\n"
        "layout:\n"
        "  - {id: s, type: start}\n"
        "  - {id: a, meta: *b, task: 'x = day + 1; if (x > 2) { y = [x, 1] }'}\n"
        "  - {id: c, type: exclusive, link: [{nextId: e, when: \"s matches "
        "'[a-c]+|d'\"}, d]}\n"
        "  - {id: d, task: $s.one, when: 'day in [1, 2, 3]'}\n"
        "  - {id: e, type: end}\n";
    static char bad[] = "id: g\n"
                        "layout:\n"
                        "  - {id: s, type: strat, link: nope}\n"
                        "  - {id: s, task: 'x =', lnik: 5, meta: {actor: ''}}\n";
    static char json[] =
        "{\"id\":\"g\",\"layout\":[{\"type\":\"start\",\"link\":[{\"nextId\":"
        "\"n-2\",\"when\":\"a > 1\"}]},{\"meta\":{\"a\":[1,2.5]}}]}";
    bf_err_t err = BF_ERR_INIT;
    bf_oom_sweep("graph load", load, good);
    bf_oom_sweep("graph load with mistakes", load, bad);
    bf_oom_sweep("graph load value", load_value, json);
    if (bf_graph_load_text(good, strlen(good), NULL, NULL, &sample, &err) != BF_OK) {
        return 1;
    }
    bf_oom_sweep("graph write json", write_json, NULL);
    bf_oom_sweep("graph write yaml", write_yaml, NULL);
    bf_draw_format_t format = BF_DRAW_MERMAID;
    bf_oom_sweep("graph draw mermaid", draw, &format);
    format = BF_DRAW_SVG;
    bf_oom_sweep("graph draw svg", draw, &format);
    bf_graph_unref(sample);
    return bf_oom_result();
}
