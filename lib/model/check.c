/*
 * check.c - what must hold for a graph as a whole
 *
 * Errors are what can never work, warnings what most likely is not meant.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/range.h"
#include "lib/model/load_int.h"

static uint32_t line_of(const bf_node_t *node)
{
    return node->line;
}

/* The one START; without one the first node that nothing leads to (rule 18). */
static void find_start(bf_loader_t *ld)
{
    bf_graph_t *graph = &ld->full->graph;
    const bf_node_t *first = NULL;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const bf_node_t *node = &ld->nodes[i];
        if (node->type == BF_NODE_START && graph->start) {
            bf_load_error(ld, line_of(node), node->id,
                          "a second node of type start ('%s' is one already); a graph "
                          "has one",
                          graph->start->id);
        } else if (node->type == BF_NODE_START) {
            graph->start = node;
        } else if (!first && !node->prev_link_count) {
            first = node;
        }
    }
    if (graph->start) {
        return;
    }
    graph->start = first;
    if (!first) {
        bf_load_error(ld, 0, NULL,
                      "No start node found: add a node of type start, or one that no "
                      "link leads to");
    } else if (first->type == BF_NODE_END) {
        bf_load_warning(ld, line_of(first), first->id,
                        "no node of type start, the flow begins at this end node");
    } else {
        bf_load_warning(ld, line_of(first), first->id,
                        "no node of type start; the flow begins here, since no link "
                        "leads to this node");
    }
}

/* Marks what can be reached from START; seen has one byte a node. */
static void walk(const bf_graph_t *graph, bool *seen, const bf_node_t **stack)
{
    uint32_t waiting = 0;
    stack[waiting++] = graph->start;
    seen[graph->start->index] = true;
    while (waiting) {
        const bf_node_t *node = stack[--waiting];
        if (node->type == BF_NODE_END) {
            continue;
        }
        for (uint32_t i = 0; i < node->link_count; i++) {
            const bf_node_t *next = node->links[i]->to;
            if (!seen[next->index]) {
                seen[next->index] = true;
                stack[waiting++] = next;
            }
        }
    }
}

static bool check_reachable(bf_loader_t *ld)
{
    const bf_graph_t *graph = &ld->full->graph;
    if (!graph->start) {
        return true;
    }
    bool *seen = calloc(graph->node_count + 1U, sizeof(*seen));
    const bf_node_t **stack = calloc(graph->node_count + 1U, sizeof(*stack));
    bool ok = seen && stack;
    if (ok) {
        walk(graph, seen, stack);
    }
    for (uint32_t i = 0; ok && i < graph->node_count; i++) {
        if (!seen[i]) {
            bf_load_warning(ld, line_of(&ld->nodes[i]), ld->nodes[i].id,
                            "no link leads here from '%s'; this node will never run",
                            graph->start->id);
        }
    }
    free(seen);
    free(stack);
    return ok ? true : bf_load_nomem(ld);
}

static uint32_t count_conditions(const bf_node_t *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->link_count; i++) {
        count += node->links[i]->when.kind != BF_CODE_NONE;
    }
    return count;
}

static void check_links(bf_loader_t *ld, const bf_node_t *node)
{
    uint32_t conditions = count_conditions(node);
    uint32_t defaults = node->link_count - conditions;
    switch ((int)node->type) {
    case BF_NODE_EXCLUSIVE:
        if (defaults > 1) {
            bf_load_error(ld, line_of(node), node->id,
                          "%u links of an exclusive node have no condition; only one may "
                          "be the default, give the others a condition",
                          defaults);
        }
        break;
    case BF_NODE_PARALLEL:
        if (conditions) {
            bf_load_warning(ld, line_of(node), node->id,
                            "conditions on links of a parallel node are not looked at; "
                            "use an inclusive node");
        }
        break;
    case BF_NODE_START:
    case BF_NODE_ACTIVITY:
        if (conditions && defaults) {
            bf_load_warning(ld, line_of(node), node->id,
                            "a link without condition beside conditional ones: every "
                            "link whose condition is true is followed, and this one "
                            "always; put an exclusive node behind");
        }
        break;
    case BF_NODE_END:
        if (node->link_count) {
            bf_load_warning(ld, line_of(node), node->id,
                            "links of an end node are never followed");
        }
        break;
    default:
        break;
    }
}

/* An empty actor would block for ever (rule 102). */
static void check_actor(bf_loader_t *ld, const bf_node_t *node)
{
    const bf_value_t *actor = bf_value_get_str(&node->meta, "actor");
    if (!actor) {
        return;
    }
    bool empty = (actor->type == BF_VALUE_STRING || actor->type == BF_VALUE_LIST) &&
                 actor->len == 0;
    for (uint32_t i = 0; actor->type == BF_VALUE_LIST && i < actor->len; i++) {
        const bf_value_t *one = &actor->as.items[i];
        empty = empty || one->type == BF_VALUE_NULL ||
                (one->type == BF_VALUE_STRING && one->len == 0);
    }
    if (empty) {
        bf_load_error(ld, line_of(node), node->id,
                      "meta actor is empty, nobody could ever work on this; name an "
                      "actor or remove it");
    }
}

static void check_loop(bf_loader_t *ld, const bf_node_t *node)
{
    const bf_value_t *in = node->loop_source;
    if (!node->loop_variable) {
        return;
    }
    if (!in || (in->type != BF_VALUE_LIST && in->type != BF_VALUE_STRING)) {
        bf_load_warning(ld, line_of(node), node->id,
                        "The '$in' must be a list or a string; running this will fail");
        return;
    }
    bf_range_t range;
    bf_err_t why = BF_ERR_INIT;
    if (in->type == BF_VALUE_STRING && bf_range_is_range(in->as.string, in->len) &&
        bf_range_parse(in->as.string, in->len, &range, &why) != BF_OK) {
        bf_load_warning(ld, line_of(node), node->id, "$in: %s; running this will fail",
                        why.text);
    }
}

static void check_node(bf_loader_t *ld, const bf_node_t *node)
{
    bool edge = node->type == BF_NODE_START || node->type == BF_NODE_END;
    if (edge && node->task.kind != BF_CODE_NONE) {
        bf_load_warning(ld, line_of(node), node->id,
                        "the task of this %s node never runs; put it into an activity",
                        bf_node_type_name(node->type));
    }
    if (edge && node->when.kind != BF_CODE_NONE) {
        bf_load_warning(ld, line_of(node), node->id,
                        "`when` of this %s node is not looked at; put it on a link",
                        bf_node_type_name(node->type));
    }
    if (node->task.kind == BF_CODE_TOPIC && node->type != BF_NODE_ACTIVITY) {
        bf_load_error(ld, line_of(node), node->id,
                      "only an activity hands its work to a service; put %s into one",
                      node->task.text);
    }
    check_links(ld, node);
    check_actor(ld, node);
    check_loop(ld, node);
}

/* A node `a#2` would have the state of the second visit of `a`. */
static void check_visit_name(bf_loader_t *ld, const bf_node_t *node)
{
    const char *hash = strrchr(node->id, '#');
    char base[1024];
    if (!hash || hash == node->id || !hash[1] ||
        hash[1 + strspn(hash + 1, "0123456789")]) {
        return;
    }
    size_t len = (size_t)(hash - node->id);
    if (len >= sizeof(base)) {
        return;
    }
    memcpy(base, node->id, len);
    base[len] = '\0';
    if (bf_graph_node(&ld->full->graph, base)) {
        bf_load_error(ld, line_of(node), node->id,
                      "this ID collides with later visits of '%s'; choose another", base);
    }
}

bool bf_load_check(bf_loader_t *ld)
{
    const bf_graph_t *graph = &ld->full->graph;
    find_start(ld);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        check_node(ld, &ld->nodes[i]);
        check_visit_name(ld, &ld->nodes[i]);
    }
    /* With links missing the answer would be noise. */
    return ld->rc == BF_OK ? check_reachable(ld) : !ld->out_of_memory;
}
