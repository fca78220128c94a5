/*
 * draw.c - graphs as Mermaid and Graphviz text (SVG: svg.c)
 *
 * Nodes are called n0, n1, ... in the drawing; IDs and titles stand in labels only, where
 * everything that the languages take for themselves is escaped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/model/draw_int.h"

#include <string.h>

/* States of tasks (rule 95). */
#define STATE_WAITING    1001
#define STATE_COMPLETED  1002
#define STATE_TERMINATED 1003

typedef void (*escape_fn)(bf_str_t *out, const char *text);

/* In Mermaid `#name;` is a character; quotes, angle brackets and back quotes mean
 * something inside of a quoted label. */
static void escape_mermaid(bf_str_t *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '"':
            bf_str_puts(out, "#quot;");
            break;
        case '#':
            bf_str_puts(out, "#35;");
            break;
        case '&':
            bf_str_puts(out, "#amp;");
            break;
        case '<':
            bf_str_puts(out, "#lt;");
            break;
        case '>':
            bf_str_puts(out, "#gt;");
            break;
        case '`':
            bf_str_puts(out, "#96;");
            break;
        case '\n':
            bf_str_puts(out, "<br/>");
            break;
        case '\r':
            break;
        default:
            bf_str_putc(out, *c);
            break;
        }
    }
}

static void escape_dot(bf_str_t *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\n') {
            bf_str_puts(out, "\\n");
        } else if (*c != '\r') {
            if (*c == '"' || *c == '\\') {
                bf_str_putc(out, '\\');
            }
            bf_str_putc(out, *c);
        }
    }
}

/* What a person needs to see: the title, and who works on it. */
void bf_draw_label(bf_str_t *out, const bf_node_t *node)
{
    bf_str_puts(out, node->title && node->title[0] ? node->title : node->id);
    const bf_value_t *actor = bf_node_meta(node, "actor");
    if (bf_value_is_null(actor)) {
        return;
    }
    bf_str_putc(out, '\n');
    if (actor->type != BF_VALUE_LIST) {
        bf_value_write_text(out, actor);
        return;
    }
    for (uint32_t i = 0; i < actor->len; i++) {
        bf_str_puts(out, i ? ", " : "");
        bf_value_write_text(out, &actor->as.items[i]);
    }
}

static void write_label(bf_str_t *out, const bf_node_t *node, escape_fn escape)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_draw_label(&text, node);
    out->failed = out->failed || bf_str_failed(&text);
    escape(out, bf_str_peek(&text));
    bf_str_fini(&text);
}

const char *bf_draw_link_label(const bf_link_t *link)
{
    return link->title && link->title[0] ? link->title : link->when.text;
}

const char *bf_draw_state_name(int state)
{
    switch (state) {
    case STATE_WAITING:
        return "waiting";
    case STATE_COMPLETED:
        return "completed";
    case STATE_TERMINATED:
        return "terminated";
    default:
        return NULL;
    }
}

/* --- Mermaid --- */

typedef struct shape {
    const char *open;
    const char *sign; /* in front of the label */
    const char *close;
} shape_t;

static const shape_t mermaid_shapes[BF_NODE_TYPE_COUNT] = {
    [BF_NODE_START] = {"([", "", "])"},     [BF_NODE_END] = {"(((", "", ")))"},
    [BF_NODE_ACTIVITY] = {"[", "", "]"},    [BF_NODE_EXCLUSIVE] = {"{", "× ", "}"},
    [BF_NODE_INCLUSIVE] = {"{", "○ ", "}"}, [BF_NODE_PARALLEL] = {"{", "+ ", "}"},
    [BF_NODE_LOOP] = {"[[", "↻ ", "]]"},
};

const char *bf_draw_sign(bf_node_type_t type)
{
    return mermaid_shapes[type].sign;
}

static void mermaid_node(bf_str_t *out, const bf_node_t *node, const char *state)
{
    const shape_t *shape = &mermaid_shapes[node->type];
    bf_str_printf(out, "    n%u%s\"%s", node->index, shape->open, shape->sign);
    write_label(out, node, escape_mermaid);
    bf_str_printf(out, "\"%s", shape->close);
    if (state) {
        bf_str_printf(out, ":::%s", state);
    }
    bf_str_putc(out, '\n');
}

static void mermaid_link(bf_str_t *out, const bf_link_t *link)
{
    bf_str_printf(out, "    n%u -->", link->from->index);
    const char *label = bf_draw_link_label(link);
    if (label) {
        bf_str_puts(out, "|\"");
        escape_mermaid(out, label);
        bf_str_puts(out, "\"|");
    }
    bf_str_printf(out, " n%u\n", link->to->index);
}

static void mermaid_begin(bf_str_t *out, const bf_graph_t *graph)
{
    if (graph->title[0]) {
        /* The title block is YAML: a JSON string is safe there. */
        bf_str_puts(out, "---\ntitle: ");
        bf_json_write_string(out, graph->title, strlen(graph->title));
        bf_str_puts(out, "\n---\n");
    }
    bf_str_puts(out, "flowchart TD\n");
}

static void mermaid_end(bf_str_t *out, bool coloured)
{
    if (coloured) {
        bf_str_puts(out, "    classDef waiting fill:#fff3bf,stroke:#e67700,color:#000\n"
                         "    classDef completed fill:#d3f9d8,stroke:#2b8a3e,color:#000\n"
                         "    classDef terminated "
                         "fill:#ffe3e3,stroke:#c92a2a,color:#000\n");
    }
}

/* --- Graphviz --- */

static const char *const dot_shapes[BF_NODE_TYPE_COUNT] = {
    [BF_NODE_START] = "shape=circle",
    [BF_NODE_END] = "shape=doublecircle",
    [BF_NODE_ACTIVITY] = "shape=box style=\"rounded,filled\"",
    [BF_NODE_EXCLUSIVE] = "shape=diamond",
    [BF_NODE_INCLUSIVE] = "shape=diamond",
    [BF_NODE_PARALLEL] = "shape=diamond",
    [BF_NODE_LOOP] = "shape=box peripheries=2",
};

static const char *dot_colour(const char *state)
{
    if (!state) {
        return "";
    }
    return state[0] == 'w'   ? " fillcolor=\"#fff3bf\" color=\"#e67700\""
           : state[0] == 'c' ? " fillcolor=\"#d3f9d8\" color=\"#2b8a3e\""
                             : " fillcolor=\"#ffe3e3\" color=\"#c92a2a\"";
}

static void dot_node(bf_str_t *out, const bf_node_t *node, const char *state)
{
    bf_str_printf(out, "    n%u [%s%s label=\"%s", node->index, dot_shapes[node->type],
                  dot_colour(state), mermaid_shapes[node->type].sign);
    write_label(out, node, escape_dot);
    bf_str_puts(out, "\"];\n");
}

static void dot_link(bf_str_t *out, const bf_link_t *link)
{
    bf_str_printf(out, "    n%u -> n%u", link->from->index, link->to->index);
    const char *label = bf_draw_link_label(link);
    if (label) {
        bf_str_puts(out, " [label=\"");
        escape_dot(out, label);
        bf_str_puts(out, "\"]");
    }
    bf_str_puts(out, ";\n");
}

static void dot_begin(bf_str_t *out, const bf_graph_t *graph)
{
    bf_str_puts(out, "digraph \"");
    escape_dot(out, graph->id);
    bf_str_puts(out, "\" {\n    label=\"");
    escape_dot(out, graph->title);
    bf_str_puts(out, "\";\n    labelloc=t;\n"
                     "    node [style=filled fillcolor=white fontname=\"sans-serif\"];\n"
                     "    edge [fontname=\"sans-serif\"];\n");
}

static void dot_end(bf_str_t *out, bool coloured)
{
    (void)coloured;
    bf_str_puts(out, "}\n");
}

/* --- both --- */

typedef struct language {
    void (*begin)(bf_str_t *out, const bf_graph_t *graph);
    void (*node)(bf_str_t *out, const bf_node_t *node, const char *state);
    void (*link)(bf_str_t *out, const bf_link_t *link);
    void (*end)(bf_str_t *out, bool coloured);
} language_t;

static const language_t mermaid = {mermaid_begin, mermaid_node, mermaid_link,
                                   mermaid_end};
static const language_t dot = {dot_begin, dot_node, dot_link, dot_end};

bf_status_t bf_draw(const bf_graph_t *graph, bf_draw_format_t format,
                    bf_draw_state_fn state, void *arg, bf_str_t *ret, bf_err_t *err)
{
    if (format == BF_DRAW_SVG) {
        return bf_draw_svg(graph, state, arg, ret, err);
    }
    const language_t *language = format == BF_DRAW_DOT ? &dot : &mermaid;
    language->begin(ret, graph);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const bf_node_t *node = &graph->nodes[i];
        language->node(ret, node, state ? bf_draw_state_name(state(arg, node)) : NULL);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const bf_node_t *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->link_count; k++) {
            language->link(ret, node->links[k]);
        }
    }
    language->end(ret, state != NULL);
    return bf_str_status(ret, "drawing", err);
}
