/*
 * test_properties_join.c - joins in graphs with any links, beside a model of the walk
 *
 * The model keeps the links that are still to be followed, the nodes that were
 * interrupted, and the joins that wait.  Held against it:
 *   - a walk is depth first in link order: a branch arrives at the node that the model
 *     says is next;
 *   - a join runs once for the arrivals since it ran last, never without one, and a
 *     node that is not a join runs once for each arrival;
 *   - when a join runs, no link that is still to be followed and no interrupted node
 *     leads to it; another waiting join does so only if they wait for each other;
 *   - interrupted nodes run again in the next evaluation, through a snapshot too;
 *   - when nothing is interrupted, nothing is left: no link, no waiting join.
 * Loops and calls have a model of their own in test_properties.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/engine.h"
#include "tests/support/gen.h"
#include "tests/support/maze.h"
#include "tests/support/property.h"

#define CASES     3000
#define MAX_NODES 80
#define MAX_OPEN  8192

typedef struct model {
    bf_driver_t driver; /* first: hooks cast */
    const bf_graph_t *graph;
    uint64_t state;
    bool with_interrupts;
    const bf_link_t *open[MAX_OPEN]; /* to be followed, the next one on top */
    unsigned open_count;
    unsigned arrived[MAX_NODES]; /* not a join: since it ran; a join: since it ran */
    unsigned interrupted[MAX_NODES];
    unsigned interrupted_count;
    bool reach[MAX_NODES][MAX_NODES]; /* over one link or more */
    const char *wrong;                /* "" = nothing */
} model_t;

static void close_reach(model_t *m)
{
    uint32_t n = m->graph->node_count;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < m->graph->nodes[i].link_count; k++) {
            m->reach[i][m->graph->nodes[i].links[k]->to->index] = true;
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; m->reach[i][k] && j < n; j++) {
                m->reach[i][j] = m->reach[i][j] || m->reach[k][j];
            }
        }
    }
}

static bool is_join(const bf_node_t *node)
{
    return (node->type == BF_NODE_PARALLEL || node->type == BF_NODE_INCLUSIVE) &&
           node->prev_link_count > 1;
}

static void open_link(model_t *m, const bf_link_t *link)
{
    if (m->open_count < MAX_OPEN) {
        m->open[m->open_count++] = link;
    }
}

static bool one_in(model_t *m, unsigned n)
{
    return (gen_random(&m->state) >> 40) % n == 0;
}

static bf_status_t say(model_t *m, const char *what)
{
    m->wrong = *m->wrong ? m->wrong : what;
    return BF_E_INVALID;
}

/* --- hooks --- */

static bf_status_t arrive(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                          bf_err_t *err)
{
    (void)ex;
    (void)err;
    model_t *m = arg;
    const bf_link_t *next = m->open_count ? m->open[m->open_count - 1] : NULL;
    if (!next || next->to != node) {
        return say(m, property_wrong("came to %s, next is %s", node->id,
                                     next ? next->to->id : "nothing"));
    }
    m->open_count--;
    m->arrived[node->index]++;
    return BF_OK;
}

/* Why the join must not run now; NULL = it may. */
static const char *too_early(const model_t *m, const bf_node_t *join)
{
    for (unsigned i = 0; i < m->open_count; i++) {
        const bf_node_t *to = m->open[i]->to;
        if (to == join || m->reach[to->index][join->index]) {
            return to->id;
        }
    }
    for (uint32_t i = 0; i < m->graph->node_count; i++) {
        const bf_node_t *other = &m->graph->nodes[i];
        bool waits = is_join(other) && m->arrived[i] && other != join;
        if (m->reach[i][join->index] &&
            (m->interrupted[i] || (waits && !m->reach[join->index][i]))) {
            return other->id;
        }
    }
    return NULL;
}

static bf_status_t start(void *arg, bf_exchanger_t *ex, const bf_node_t *node,
                         bf_err_t *err)
{
    (void)ex;
    (void)err;
    model_t *m = arg;
    if (m->interrupted[node->index] && !(m->arrived[node->index] && !is_join(node))) {
        m->interrupted[node->index]--; /* it goes on */
        m->interrupted_count--;
    } else if (node->type != BF_NODE_START) {
        if (!m->arrived[node->index]) {
            return say(m, property_wrong("%s runs, and no branch has arrived", node->id));
        }
        const char *live = is_join(node) ? too_early(m, node) : NULL;
        if (live) {
            return say(m, property_wrong("join %s runs before the branch at %s", node->id,
                                         live));
        }
        m->arrived[node->index] = is_join(node) ? 0 : m->arrived[node->index] - 1;
    }
    if (node->type == BF_NODE_EXCLUSIVE || node->type == BF_NODE_INCLUSIVE) {
        return BF_OK; /* opened by the choice */
    }
    for (uint32_t i = node->link_count; i; i--) {
        open_link(m, node->links[i - 1]);
    }
    return BF_OK;
}

static bf_status_t handle_task(bf_driver_t *driver, bf_exchanger_t *ex,
                               const bf_node_t *node, bf_err_t *err)
{
    (void)err;
    model_t *m = (model_t *)driver;
    if (m->with_interrupts && one_in(m, 12)) {
        bf_exchanger_pend(ex);
        m->interrupted[node->index]++;
        m->interrupted_count++;
        if (node->type != BF_NODE_EXCLUSIVE && node->type != BF_NODE_INCLUSIVE) {
            m->open_count -= node->link_count;
        }
    }
    return BF_OK;
}

static bf_status_t handle_condition(bf_driver_t *driver, bf_exchanger_t *ex,
                                    const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    (void)ex;
    (void)err;
    model_t *m = (model_t *)driver;
    *ret = !one_in(m, 3);
    const bf_link_t *next = m->open_count ? m->open[m->open_count - 1] : NULL;
    bool chosen = next && (next->from->type == BF_NODE_EXCLUSIVE ||
                           next->from->type == BF_NODE_INCLUSIVE);
    if (!*ret && next && !chosen && code == &next->when) {
        m->open_count--; /* not followed */
    }
    return BF_OK;
}

/* The signature is that of the table of drivers. */
/* NOLINTBEGIN(readability-non-const-parameter) */
static bf_status_t recall(bf_driver_t *driver, bf_exchanger_t *ex, const bf_node_t *node,
                          bool *chosen, bool *ret_known, bf_err_t *err)
{
    (void)driver;
    (void)ex;
    (void)node;
    (void)chosen;
    (void)err;
    *ret_known = false;
    return BF_OK;
}
/* NOLINTEND(readability-non-const-parameter) */

static bf_status_t record(bf_driver_t *driver, bf_exchanger_t *ex, const bf_node_t *node,
                          const bool *chosen, bf_err_t *err)
{
    (void)ex;
    (void)err;
    for (uint32_t i = node->link_count; i; i--) {
        if (chosen[i - 1]) {
            open_link((model_t *)driver, node->links[i - 1]);
        }
    }
    return BF_OK;
}

static const bf_driver_ops_t ops = {.handle_task = handle_task,
                                    .handle_condition = handle_condition,
                                    .recall_route = recall,
                                    .record_route = record};

/* --- the property --- */

static bf_context_t *through_snapshot(bf_context_t *ctx)
{
    bf_str_t json;
    bf_context_t *loaded = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_str_init(&json, 0);
    cr_assert_eq(bf_context_write_json(ctx, &json, &err), BF_OK);
    cr_assert_eq(bf_context_load_json(json.data, json.len, &loaded, &err), BF_OK, "%s",
                 err.text);
    bf_str_fini(&json);
    bf_context_free(ctx);
    return loaded;
}

static const char *waiting_join(const model_t *m)
{
    for (uint32_t i = 0; i < m->graph->node_count; i++) {
        if (m->arrived[i]) {
            return m->graph->nodes[i].id;
        }
    }
    return NULL;
}

/* After an evaluation that ended well. */
static const char *check_rest(const model_t *m, const bf_context_t *ctx)
{
    bool done = bf_context_outcome(ctx) == BF_EVAL_DONE;
    if (m->open_count) {
        return property_wrong("the link to %s has not been followed",
                              m->open[m->open_count - 1]->to->id);
    }
    if (!m->interrupted_count && waiting_join(m)) {
        return property_wrong("join %s never ran", waiting_join(m));
    }
    if (done != !m->interrupted_count) {
        return property_wrong("outcome %d with %u interrupted nodes",
                              bf_context_outcome(ctx), m->interrupted_count);
    }
    return "";
}

static const char *walk(model_t *m, bf_engine_t *engine, bf_context_t **ctx)
{
    bf_interceptor_t hook = {.on_node_arrive = arrive, .on_node_start = start, .arg = m};
    bf_eval_options_t options = {.steps = -1,
                                 .max_steps = 1000,
                                 .driver = &m->driver,
                                 .interceptors = &hook,
                                 .interceptor_count = 1};
    for (int i = 0; i < 40; i++) {
        bf_err_t err = BF_ERR_INIT;
        bf_status_t rc =
            bf_engine_eval(engine, bf_engine_graph(engine, "g"), *ctx, &options, &err);
        if (*m->wrong) {
            return m->wrong;
        }
        if (rc == BF_E_STEP_LIMIT || rc == BF_E_NO_ROUTE) {
            return "";
        }
        if (rc != BF_OK) {
            return property_wrong("status %d: %s", rc, err.text);
        }
        const char *rest = check_rest(m, *ctx);
        if (*rest || bf_context_outcome(*ctx) == BF_EVAL_DONE) {
            return rest;
        }
        m->with_interrupts = i < 20;
        if (i % 2) {
            *ctx = through_snapshot(*ctx);
        }
    }
    return property_wrong("no end after 40 evaluations");
}

static const char *run(const char *layout, uint64_t seed, bool with_interrupts)
{
    model_t *m = calloc(1, sizeof(*m));
    bf_engine_t *engine = bf_engine_new();
    bf_context_t *ctx = bf_context_new("i");
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert(m && engine && ctx);
    cr_assert_eq(bf_graph_load_text(layout, strlen(layout), "wild", NULL, &graph, &err),
                 BF_OK, "%s\n%s", err.text, layout);
    cr_assert_eq(bf_engine_load(engine, graph, &err), BF_OK);
    bf_graph_unref(graph);
    m->driver = (bf_driver_t){&ops, ""};
    m->graph = graph;
    m->state = seed * 31 + 1;
    m->wrong = "";
    m->with_interrupts = with_interrupts;
    close_reach(m);
    const char *what = graph->node_count <= MAX_NODES ? walk(m, engine, &ctx) : "";
    bf_context_free(ctx);
    bf_engine_free(engine);
    free(m);
    return what;
}

static const char *joins_hold(const char *layout, uint64_t seed)
{
    return run(layout, seed, false);
}

static const char *joins_hold_with_interrupts(const char *layout, uint64_t seed)
{
    return run(layout, seed, true);
}

static void check(property_fn property, const char *name)
{
    uint64_t seed;
    uint64_t end;
    unsigned failed = 0;
    for (property_range(CASES, &seed, &end); seed < end && failed < 3; seed++) {
        maze_t maze = {.id = "g",
                       .seed = seed,
                       .size = property_size(seed),
                       .back = seed % 2 ? 4 : 12};
        failed += !property_holds(property, maze_layout(&maze), seed, name);
    }
}

Test(properties_join, join__runs_once_a_round_when_no_live_branch_can_come)
{
    check(joins_hold, "joins");
}

Test(properties_join, join__also_with_branches_that_are_interrupted_and_resumed)
{
    check(joins_hold_with_interrupts, "joins, interrupted");
}
