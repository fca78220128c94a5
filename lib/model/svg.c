/*
 * svg.c - graphs as SVG, laid out here
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "lib/model/draw_int.h"

#define FONT_SIZE   13.0
#define LINE_HEIGHT 16.0
#define LABEL_MAX   36 /* characters of a line of a label */
#define LINE_MARGIN 12.0

/* Width of a text in pixels, near enough: wide characters take twice the room. */
static double text_width(const char *text, size_t len)
{
    double width = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80) {
            width += FONT_SIZE * 0.56;
        } else if (c >= 0xE0) {
            width += FONT_SIZE;
        } else if (c >= 0xC0) {
            width += FONT_SIZE * 0.62;
        }
    }
    return width;
}

/* Bytes of at most LABEL_MAX characters. */
static size_t cut(const char *text, size_t len)
{
    size_t characters = 0;
    for (size_t i = 0; i < len; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 && ++characters > LABEL_MAX) {
            return i;
        }
    }
    return len;
}

static void escape(bf_str_t *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '&':
            bf_str_puts(out, "&amp;");
            break;
        case '<':
            bf_str_puts(out, "&lt;");
            break;
        case '>':
            bf_str_puts(out, "&gt;");
            break;
        case '"':
            bf_str_puts(out, "&quot;");
            break;
        default:
            /* Other control characters may not stand in XML at all. */
            bf_str_putc(out, (unsigned char)text[i] < 0x20 ? ' ' : text[i]);
            break;
        }
    }
}

static void write_cut(bf_str_t *out, const char *text, size_t len)
{
    size_t shown = cut(text, len);
    escape(out, text, shown);
    if (shown < len) {
        bf_str_puts(out, "…");
    }
}

/* Calls fn for each line of a label. */
static unsigned
each_line(const char *label,
          void (*fn)(void *arg, const char *text, size_t len, unsigned line), void *arg)
{
    unsigned line = 0;
    for (const char *at = label;; line++) {
        size_t len = strcspn(at, "\n");
        fn(arg, at, len, line);
        if (!at[len]) {
            return line + 1;
        }
        at += len + 1;
    }
}

static void widen(void *arg, const char *text, size_t len, unsigned line)
{
    double *width = arg;
    (void)line;
    double own =
        text_width(text, cut(text, len)) + (cut(text, len) < len ? FONT_SIZE : 0);
    *width = own > *width ? own : *width;
}

static bool is_gateway(bf_node_type_t type)
{
    return type == BF_NODE_EXCLUSIVE || type == BF_NODE_INCLUSIVE ||
           type == BF_NODE_PARALLEL;
}

static void measure_bend(bf_place_t *place, const bf_link_t *link)
{
    const char *label = link ? bf_draw_link_label(link) : NULL;
    place->width = 8;
    if (label) {
        widen(&place->width, label, strlen(label), 0);
    }
}

static bool measure(bf_place_t *place, const bf_link_t *link)
{
    if (!place->node) {
        measure_bend(place, link);
        return true;
    }
    bf_str_t label;
    bf_str_init(&label, 0);
    bf_str_puts(&label, bf_draw_sign(place->node->type));
    bf_draw_label(&label, place->node);
    double width = 0;
    unsigned lines = each_line(bf_str_peek(&label), widen, &width);
    bool ok = !bf_str_failed(&label);
    bf_str_fini(&label);
    place->width = width + 2 * LINE_MARGIN;
    place->height = LINE_HEIGHT * lines + LINE_MARGIN;
    if (is_gateway(place->node->type)) {
        place->width += 44;
        place->height += 20;
    }
    place->width = place->width < 56 ? 56 : place->width;
    place->height =
        place->height > BF_PLAN_ROW_HEIGHT - 28 ? BF_PLAN_ROW_HEIGHT - 28 : place->height;
    return ok;
}

/* --- numbers --- */

/* With one decimal place and a point, whatever the locale of the program around us. */
static void put_number(bf_str_t *out, double value)
{
    long tenths = lround(value * 10);
    bf_str_puts(out, tenths < 0 ? "-" : "");
    tenths = tenths < 0 ? -tenths : tenths;
    bf_str_printf(out, "%ld.%ld", tenths / 10, tenths % 10);
}

/* A command of a path and its numbers. */
static void put_step(bf_str_t *out, const char *command, const double *values,
                     size_t count)
{
    bf_str_puts(out, command);
    for (size_t i = 0; i < count; i++) {
        bf_str_puts(out, i ? " " : "");
        put_number(out, values[i]);
    }
}

static void put_attribute(bf_str_t *out, const char *name, double value)
{
    bf_str_printf(out, " %s=\"", name);
    put_number(out, value);
    bf_str_putc(out, '"');
}

/* --- lines --- */

typedef struct point {
    double x;
    double y;
} point_t;

/* Where a line meets a place; lines that lead back keep to the right. */
static point_t end_of_line(const bf_place_t *place, bool upwards, bool below)
{
    double right = 0;
    double half = place->height / 2;
    if (upwards && place->node) {
        right = place->width / 4;
        /* The side of a diamond is lower there. */
        half -= is_gateway(place->node->type) ? place->height / 4 : 0;
    }
    return (point_t){place->x + right, place->y + (below ? half : -half)};
}

static void write_curve(bf_str_t *out, const bf_plan_t *plan, const bf_line_t *line)
{
    const uint32_t *points = &plan->points[line->first];
    point_t from = end_of_line(&plan->places[points[0]], line->upwards, true);
    put_step(out, "M", (double[]){from.x, from.y}, 2);
    for (uint32_t i = 1; i < line->count; i++) {
        point_t to = end_of_line(&plan->places[points[i]], line->upwards, false);
        double bend = (to.y - from.y) / 2;
        put_step(out, " C",
                 (double[]){from.x, from.y + bend, to.x, to.y - bend, to.x, to.y}, 6);
        from = end_of_line(&plan->places[points[i]], line->upwards, true);
    }
}

/* A link to the node itself: a loop at its right side. */
static void write_loop(bf_str_t *out, const bf_place_t *place)
{
    put_step(out, "M", (double[]){place->x + place->width / 2, place->y - 5}, 2);
    bf_str_puts(out, " c24 -14 24 14 0 10");
}

/* Beside the place next to where the link begins. */
static point_t label_place(const bf_plan_t *plan, const bf_line_t *line)
{
    const uint32_t *points = &plan->points[line->first];
    const bf_place_t *next = &plan->places[points[line->upwards ? line->count - 2 : 1]];
    point_t at = {next->x, next->y + 4};
    if (line->link->from == line->link->to) {
        at = (point_t){next->x + next->width / 2 + 20, next->y - 14};
    } else if (next->node && line->upwards) {
        at = end_of_line(next, true, true);
        at.y += 14;
    } else if (next->node) {
        at.y = next->y - next->height / 2 - 12;
    }
    return at;
}

static void write_line_label(bf_str_t *out, const bf_plan_t *plan, const bf_line_t *line,
                             const char *label)
{
    point_t at = label_place(plan, line);
    bf_str_puts(out, "<text class=\"when\"");
    put_attribute(out, "x", at.x);
    put_attribute(out, "y", at.y);
    bf_str_putc(out, '>');
    write_cut(out, label, strlen(label));
    bf_str_puts(out, "</text>\n");
}

static void write_line(bf_str_t *out, const bf_plan_t *plan, const bf_line_t *line)
{
    const bf_link_t *link = line->link;
    bool loop = link->from == link->to;
    bf_str_puts(out, "<path class=\"line\" d=\"");
    if (loop) {
        write_loop(out, &plan->places[link->from->index]);
    } else {
        write_curve(out, plan, line);
    }
    bf_str_puts(out, line->upwards && !loop
                         ? "\" stroke-dasharray=\"5 3\" marker-start=\"url(#arrow)\"/>\n"
                         : "\" marker-end=\"url(#arrow)\"/>\n");
}

/* --- boxes --- */

typedef struct label_writer {
    bf_str_t *out;
    const bf_place_t *place;
    unsigned lines;
} label_writer_t;

static void count_line(void *arg, const char *text, size_t len, unsigned line)
{
    (void)text;
    (void)len;
    ((label_writer_t *)arg)->lines = line + 1;
}

static void write_label_line(void *arg, const char *text, size_t len, unsigned line)
{
    const label_writer_t *w = arg;
    double middle = ((double)w->lines - 1) / 2;
    bf_str_puts(w->out, line ? "<text class=\"actor\"" : "<text");
    put_attribute(w->out, "x", w->place->x);
    put_attribute(w->out, "y",
                  w->place->y + FONT_SIZE * 0.35 + LINE_HEIGHT * ((double)line - middle));
    bf_str_putc(w->out, '>');
    write_cut(w->out, text, len);
    bf_str_puts(w->out, "</text>");
}

static void write_diamond(bf_str_t *out, const bf_place_t *p)
{
    double w = p->width / 2;
    double h = p->height / 2;
    bf_str_puts(out, "<path d=\"");
    put_step(out, "M", (double[]){p->x, p->y - h}, 2);
    put_step(out, " L", (double[]){p->x + w, p->y, p->x, p->y + h, p->x - w, p->y}, 6);
    bf_str_puts(out, " Z\"/>");
}

static void write_shape(bf_str_t *out, const bf_place_t *p)
{
    if (is_gateway(p->node->type)) {
        write_diamond(out, p);
        return;
    }
    bool edge = p->node->type == BF_NODE_START || p->node->type == BF_NODE_END;
    bf_str_puts(out, "<rect");
    put_attribute(out, "x", p->x - p->width / 2);
    put_attribute(out, "y", p->y - p->height / 2);
    put_attribute(out, "width", p->width);
    put_attribute(out, "height", p->height);
    put_attribute(out, "rx", edge ? p->height / 2 : 6);
    bf_str_puts(out, "/>");
}

static void write_box(bf_str_t *out, const bf_place_t *place, const char *state)
{
    bf_str_t label;
    bf_str_init(&label, 0);
    bf_str_puts(&label, bf_draw_sign(place->node->type));
    bf_draw_label(&label, place->node);
    label_writer_t w = {out, place, 0};
    (void)each_line(bf_str_peek(&label), count_line, &w);
    bf_str_printf(out, "<g class=\"node %s%s%s\"><title>",
                  bf_node_type_name(place->node->type), state ? " " : "",
                  state ? state : "");
    escape(out, place->node->id, strlen(place->node->id));
    bf_str_puts(out, "</title>");
    write_shape(out, place);
    (void)each_line(bf_str_peek(&label), write_label_line, &w);
    bf_str_puts(out, "</g>\n");
    out->failed = out->failed || bf_str_failed(&label);
    bf_str_fini(&label);
}

static const char style[] =
    "<style>"
    "text{font:13px sans-serif;text-anchor:middle;fill:#212529}"
    ".actor{font-size:11px;fill:#495057}"
    ".when{font-size:11px;fill:#495057;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".heading{font-size:15px;font-weight:bold;text-anchor:start}"
    ".node rect,.node path{fill:#fff;stroke:#495057;stroke-width:1.2}"
    ".node.end rect{stroke-width:3}"
    ".node.loop rect{stroke-width:2.4}"
    ".line{fill:none;stroke:#868e96;stroke-width:1.2}"
    ".waiting rect,.waiting path{fill:#fff3bf;stroke:#e67700}"
    ".completed rect,.completed path{fill:#d3f9d8;stroke:#2b8a3e}"
    ".terminated rect,.terminated path{fill:#ffe3e3;stroke:#c92a2a}"
    "</style>\n"
    "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" "
    "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\">"
    "<path d=\"M0 0 L10 5 L0 10 Z\" fill=\"#868e96\"/></marker></defs>\n";

static void write_head(bf_str_t *out, const bf_graph_t *graph, const bf_plan_t *plan)
{
    double heading = text_width(graph->title, strlen(graph->title)) + 2 * BF_PLAN_MARGIN;
    /* Labels of links may stand out at the right. */
    long width = lround((heading > plan->width ? heading : plan->width) + 40);
    long height = lround(plan->height);
    bf_str_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%ld\" "
                  "height=\"%ld\" viewBox=\"0 0 %ld %ld\">\n",
                  width, height, width, height);
    bf_str_puts(out, style);
    bf_str_puts(out, "<text class=\"heading\" x=\"24\" y=\"22\">");
    escape(out, graph->title, strlen(graph->title));
    bf_str_puts(out, "</text>\n");
}

bf_status_t bf_draw_svg(const bf_graph_t *graph, bf_draw_state_fn state, void *arg,
                        bf_str_t *ret, bf_err_t *err)
{
    if (graph->node_count > BF_DRAW_SVG_MAX_NODES) {
        return bf_err_set(
            err, BF_E_LIMIT,
            "a graph of %u nodes; at most %d can be laid out as SVG, draw it "
            "as dot or mermaid",
            graph->node_count, BF_DRAW_SVG_MAX_NODES);
    }
    bf_arena_t arena;
    bf_plan_t plan;
    bf_arena_init(&arena, 0);
    bf_status_t rc = bf_plan_make(&arena, graph, measure, &plan, err);
    if (rc == BF_OK) {
        write_head(ret, graph, &plan);
        for (uint32_t i = 0; i < plan.line_count; i++) {
            write_line(ret, &plan, &plan.lines[i]);
        }
        for (uint32_t i = 0; i < plan.line_count; i++) {
            const char *label = bf_draw_link_label(plan.lines[i].link);
            if (label) {
                write_line_label(ret, &plan, &plan.lines[i], label);
            }
        }
        for (uint32_t i = 0; i < graph->node_count; i++) {
            const char *name =
                state ? bf_draw_state_name(state(arg, &graph->nodes[i])) : NULL;
            write_box(ret, &plan.places[i], name);
        }
        bf_str_puts(ret, "</svg>\n");
        rc = bf_str_status(ret, "drawing", err);
    }
    bf_arena_fini(&arena);
    return rc;
}
