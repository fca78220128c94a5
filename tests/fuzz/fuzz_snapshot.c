/*
 * fuzz_snapshot.c - any bytes as the snapshot of a context: refused with a message, or
 * the same after it was written and loaded again; and a walk that goes on from there ends
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A bit of everything that can be pending. */
static const char *const layouts[] = {
    "{id: g, layout: [{id: s, type: start, link: p},"
    "{id: p, type: parallel, link: [a, x, l]}, {id: a, task: 'n = n + 1', link: j},"
    "{id: x, type: exclusive, link: [{nextId: c, when: 'n > 1'}, {nextId: i}]},"
    "{id: c, task: '#sub', link: j}, {id: i, type: inclusive, link: [{nextId: b,"
    "when: 'n > 0'}, {nextId: d}]}, {id: b, task: 'context.interrupt()', link: k},"
    "{id: d, link: k}, {id: k, type: inclusive, link: [{nextId: j}]},"
    "{id: l, type: loop, meta: {$for: v, $in: [1, 2, 3]}, link: m},"
    "{id: m, task: 'if (v == 2) { context.stop() }', link: z},"
    "{id: z, type: loop, link: j}, {id: j, type: parallel, link: e},"
    "{id: e, type: end}]}",
    "{id: sub, layout: [{id: s, type: start, link: t}, {id: t, task: 'n = n + 1',"
    "link: w}, {id: w, type: parallel, link: [u, t2]}, {id: u, link: j},"
    "{id: t2, task: 'context.interrupt()', link: j}, {id: j, type: parallel, link: e},"
    "{id: e, type: end}]}",
};

static bf_engine_t *engine;

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void set_up(void)
{
    engine = bf_engine_new();
    expect(engine != NULL);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        bf_graph_t *graph = NULL;
        bf_err_t err = BF_ERR_INIT;
        expect(bf_graph_load_text(layouts[i], strlen(layouts[i]), "fuzz", NULL, &graph,
                                  &err) == BF_OK);
        expect(bf_engine_load(engine, graph, &err) == BF_OK);
        bf_graph_unref(graph);
    }
}

/* The snapshot as text; loads again, and then it is the same text. */
static void expect_stable(bf_context_t *ctx)
{
    bf_str_t first;
    bf_str_t second;
    bf_context_t *again = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&first, 0);
    bf_str_init(&second, 0);
    expect(bf_context_write_json(ctx, &first, &err) == BF_OK);
    bf_status_t rc = bf_context_load_json(bf_str_peek(&first), first.len, &again, &err);
    /* Written out it may be longer than what is read. */
    expect(rc == BF_OK || rc == BF_E_LIMIT);
    if (rc == BF_OK) {
        expect(bf_context_write_json(again, &second, &err) == BF_OK);
        expect(first.len == second.len &&
               !memcmp(bf_str_peek(&first), bf_str_peek(&second), first.len));
    }
    bf_context_free(again);
    bf_str_fini(&first);
    bf_str_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bf_context_t *ctx = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (!engine) {
        set_up();
    }
    bf_status_t rc = bf_context_load_json((const char *)data, size, &ctx, &err);
    if (rc != BF_OK) {
        expect(err.status == rc && err.text[0] != '\0');
        return 0;
    }
    expect_stable(ctx);
    bf_eval_options_t options = {.steps = -1, .max_steps = 300};
    for (int i = 0; i < 3; i++) {
        bf_err_clear(&err);
        rc = bf_engine_eval(engine, bf_engine_graph(engine, "g"), ctx, &options, &err);
        expect(rc == BF_OK || err.text[0] != '\0');
        expect_stable(ctx);
    }
    bf_context_free(ctx);
    return 0;
}
