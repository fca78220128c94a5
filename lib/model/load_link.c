/*
 * load_link.c - links: the four forms, automatic ones, both directions
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/suggest.h"
#include "lib/model/load_int.h"

#define SUGGEST_MAX 2000 /* larger graphs get no suggestions: they cost too much */

static const char *const link_names[] = {"nextId",    "title",    "meta", "when",
                                         "condition", "priority", "id"};
#define LINK_NAMES (sizeof(link_names) / sizeof(link_names[0]))

static const bf_doc_t *link_doc(const bf_loader_t *ld, uint32_t node)
{
    const bf_doc_t *doc = bf_doc_get(ld->layout[node], "link");
    return doc && doc->value.type != BF_VALUE_NULL ? doc : NULL;
}

/* How many links a node may get; nulls in a list count although they make none. */
static uint32_t count_links(const bf_loader_t *ld, uint32_t node)
{
    const bf_doc_t *doc = link_doc(ld, node);
    if (!doc) {
        return bf_graph_has_auto_link(&ld->full->graph, &ld->nodes[node]);
    }
    return doc->value.type == BF_VALUE_LIST ? doc->count : 1;
}

static void missing_target(bf_loader_t *ld, uint32_t line, const char *node,
                           const char *id)
{
    const char *near = NULL;
    uint32_t count = ld->full->graph.node_count;
    if (count <= SUGGEST_MAX) {
        const char **ids = calloc(count, sizeof(*ids));
        if (!ids) {
            (void)bf_load_nomem(ld);
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            ids[i] = ld->nodes[i].id;
        }
        near = bf_suggest_nearest(id, strlen(id), ids, count);
        free(ids);
    }
    if (near) {
        bf_load_error(ld, line, node,
                      "a link leads to '%.60s', which is no node; did you mean '%s'?", id,
                      near);
    } else {
        bf_load_error(ld, line, node,
                      "a link leads to '%.60s', which is no node; add it or change the "
                      "link",
                      id);
    }
}

static void set_target(bf_loader_t *ld, bf_link_t *link, const char *id, uint32_t line)
{
    link->to = bf_graph_node(&ld->full->graph, id);
    if (!link->to) {
        missing_target(ld, line, link->from->id, id);
    }
}

static void read_priority(bf_loader_t *ld, const bf_doc_t *doc, bf_link_t *link)
{
    const bf_doc_t *priority = bf_doc_get(doc, "priority");
    if (!priority || priority->value.type == BF_VALUE_NULL) {
        return;
    }
    if (priority->value.type != BF_VALUE_INT || priority->value.as.integer < INT_MIN ||
        priority->value.as.integer > INT_MAX) {
        bf_load_error(ld, priority->line, link->from->id,
                      "priority of a link must be a whole number");
        return;
    }
    link->priority = (int)priority->value.as.integer;
}

/* { nextId, title, meta, when | condition, priority }; false: no target. */
static bool read_object(bf_loader_t *ld, const bf_doc_t *doc, bf_link_t *link)
{
    const char *node = link->from->id;
    bf_load_check_names(ld, doc, node, link_names, LINK_NAMES);
    const char *next = bf_load_text(ld, doc, "nextId", node);
    if (!next) {
        bf_load_error(ld, doc->line, node,
                      "a link without nextId; write where it leads to");
        return false;
    }
    link->title = bf_load_text(ld, doc, "title", node);
    bf_load_meta(ld, doc, node, &link->meta);
    /* The key `when` hides `condition`, also when it is empty (rule 13). */
    const bf_doc_t *when = bf_doc_get(doc, "when");
    bf_load_code(ld, when ? when : bf_doc_get(doc, "condition"), /* is_task= */ false,
                 node, &link->when);
    read_priority(ld, doc, link);
    set_target(ld, link, next, doc->line);
    return link->to != NULL;
}

static bool read_link(bf_loader_t *ld, const bf_doc_t *doc, bf_link_t *link)
{
    if (doc->value.type == BF_VALUE_NULL) {
        return false;
    }
    if (doc->value.type == BF_VALUE_MAP) {
        return read_object(ld, doc, link);
    }
    if (doc->value.type == BF_VALUE_LIST) {
        bf_load_error(ld, doc->line, link->from->id,
                      "a list inside of link; write IDs or {nextId: ...}");
        return false;
    }
    set_target(ld, link, doc->text, doc->line);
    return link->to != NULL;
}

/* By priority, higher first; equal ones stay in order (rule 15). */
static void order_links(bf_link_t *links, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        bf_link_t link = links[i];
        uint32_t k = i;
        while (k && links[k - 1].priority < link.priority) {
            links[k] = links[k - 1];
            k--;
        }
        links[k] = link;
    }
}

/* Reads the links of a node to `links`; how many there are. */
static uint32_t read_links(bf_loader_t *ld, uint32_t index, bf_link_t *links)
{
    const bf_node_t *node = &ld->nodes[index];
    const bf_doc_t *doc = link_doc(ld, index);
    uint32_t count = 0;
    links[0].from = node;
    if (!doc) {
        if (!bf_graph_has_auto_link(&ld->full->graph, node)) {
            return 0;
        }
        links[0].to = &ld->nodes[index + 1];
        return 1;
    }
    if (doc->value.type != BF_VALUE_LIST) {
        return read_link(ld, doc, &links[0]);
    }
    for (uint32_t i = 0; i < doc->count; i++) {
        links[count] = (bf_link_t){.from = node};
        count += read_link(ld, doc->items[i], &links[count]);
    }
    order_links(links, count);
    return count;
}

/* Does the link count as incoming for its target? */
static bool counts_as_incoming(const bf_link_t *link)
{
    return link->from->type != BF_NODE_END && link->to->type != BF_NODE_START;
}

static bool load_incoming(bf_loader_t *ld, uint32_t link_count)
{
    uint32_t node_count = ld->full->graph.node_count;
    const bf_link_t **all = bf_load_alloc(ld, link_count + 1U, sizeof(*all));
    const bf_link_t ***next = calloc(node_count, sizeof(*next));
    if (!all || !next) {
        free(next);
        return bf_load_nomem(ld);
    }
    for (uint32_t i = 0; i < node_count; i++) {
        for (uint32_t k = 0; k < ld->nodes[i].link_count; k++) {
            const bf_link_t *link = ld->nodes[i].links[k];
            if (counts_as_incoming(link)) {
                ld->nodes[link->to->index].prev_link_count++;
            }
        }
    }
    for (uint32_t i = 0; i < node_count; i++) {
        ld->nodes[i].prev_links = next[i] = all;
        all += ld->nodes[i].prev_link_count;
    }
    for (uint32_t i = node_count; i-- > 0;) {
        for (uint32_t k = 0; k < ld->nodes[i].link_count; k++) {
            const bf_link_t *link = ld->nodes[i].links[k];
            if (counts_as_incoming(link)) {
                *next[link->to->index]++ = link;
            }
        }
    }
    free(next);
    return true;
}

bool bf_load_links(bf_loader_t *ld)
{
    bf_graph_t *graph = &ld->full->graph;
    uint64_t room = 1;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        room += count_links(ld, i);
    }
    bf_link_t *links = bf_load_alloc(ld, room, sizeof(*links));
    const bf_link_t **pointers = bf_load_alloc(ld, room, sizeof(*pointers));
    if (!links || !pointers) {
        return false;
    }
    for (uint32_t i = 0; i < graph->node_count && !ld->out_of_memory; i++) {
        bf_link_t *own = &links[graph->link_count];
        uint32_t count = read_links(ld, i, own);
        ld->nodes[i].links = &pointers[graph->link_count];
        ld->nodes[i].link_count = count;
        for (uint32_t k = 0; k < count; k++) {
            own[k].index = k;
            own[k].graph_index = graph->link_count;
            pointers[graph->link_count++] = &own[k];
        }
    }
    return !ld->out_of_memory && load_incoming(ld, graph->link_count);
}
