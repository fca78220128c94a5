/*
 * property.c - a property of any graph: run it over many seeds, make a failing graph
 * small
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/property.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/graph.h"

static char wrong[16384];

const char *property_wrong(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(wrong, sizeof(wrong), fmt, args);
    va_end(args);
    return wrong;
}

void property_range(uint64_t cases, uint64_t *ret_first, uint64_t *ret_end)
{
    const char *seed = getenv("BF_SEED");         // NOLINT(concurrency-mt-unsafe)
    const char *count = getenv("PROPERTY_CASES"); // NOLINT(concurrency-mt-unsafe)
    *ret_first = seed ? strtoull(seed, NULL, 10) : 1;
    cases = seed ? 1 : cases;
    *ret_end = *ret_first + (count ? strtoull(count, NULL, 10) : cases);
}

unsigned property_size(uint64_t seed)
{
    return 3 + (unsigned)(seed % 58);
}

/* --- shrinking --- */

static bool still_fails(property_fn property, json_t *layout, uint64_t seed)
{
    bf_graph_t *graph = NULL;
    char *text = json_dumps(layout, JSON_COMPACT);
    bool fails = text && bf_graph_load_text(text, strlen(text), "shrunk", NULL, &graph,
                                            NULL) == BF_OK;
    bf_graph_unref(graph);
    fails = fails && *property(text, seed);
    free(text);
    return fails;
}

/* The ID that a link (text or object) leads to. */
static const char *target_of(json_t *link)
{
    return json_string_value(json_is_object(link) ? json_object_get(link, "nextId")
                                                  : link);
}

/* Links to `id` lead to `instead` now; NULL takes them out. */
static void redirect(json_t *nodes, const char *id, const char *instead)
{
    size_t i;
    json_t *node;
    json_array_foreach (nodes, i, node) {
        json_t *links = json_object_get(node, "link");
        for (size_t k = json_array_size(links); k; k--) {
            json_t *link = json_array_get(links, k - 1);
            if (strcmp(target_of(link), id) != 0) {
                continue;
            }
            if (!instead) {
                json_array_remove(links, k - 1);
            } else if (json_is_object(link)) {
                json_object_set_new(link, "nextId", json_string(instead));
            } else {
                json_array_set_new(links, k - 1, json_string(instead));
            }
        }
    }
}

/* A smaller one, or NULL when step `number` does not apply to the node. */
static json_t *smaller(json_t *layout, size_t at, unsigned step)
{
    static const char *const members[] = {"task", "meta", "when"};
    json_t *copy = json_deep_copy(layout);
    json_t *nodes = json_object_get(copy, "layout");
    json_t *node = json_array_get(nodes, at);
    json_t *links = json_object_get(node, "link");
    bool changed = false;
    if (step < 2) { /* without the node */
        char *id = strdup(json_string_value(json_object_get(node, "id")));
        const char *next = target_of(json_array_get(links, 0));
        char *instead = step || !next ? NULL : strdup(next);
        changed = at && (step || (instead && strcmp(id, instead) != 0));
        if (changed) {
            json_array_remove(nodes, at);
            redirect(nodes, id, instead);
        }
        free(id);
        free(instead);
    } else if (step < 5) {
        changed = json_object_del(node, members[step - 2]) == 0;
    } else if (step < 9) { /* without a link */
        changed = json_array_remove(links, step - 5) == 0;
    } else { /* without a condition */
        changed = json_object_del(json_array_get(links, step - 9), "when") == 0;
    }
    if (changed) {
        return copy;
    }
    json_decref(copy);
    return NULL;
}

/* A JSON layout with fewer nodes, links, conditions, tasks, that still fails. The caller
 * frees; NULL when out of memory. */
static char *shrink(property_fn property, const char *text, uint64_t seed)
{
    json_t *layout = json_loads(text, 0, NULL);
    bool again = layout != NULL;
    for (int tries = 0; again && tries < 20; tries++) {
        again = false;
        for (size_t at = json_array_size(json_object_get(layout, "layout")); at; at--) {
            for (unsigned step = 0; step < 13; step++) {
                json_t *less = smaller(layout, at - 1, step);
                if (less && still_fails(property, less, seed)) {
                    json_decref(layout);
                    layout = less;
                    again = true;
                    break;
                }
                json_decref(less);
            }
        }
    }
    char *ret = json_dumps(layout, JSON_COMPACT);
    json_decref(layout);
    return ret;
}

/* --- reports --- */

static void add_yaml(bf_str_t *out, const char *layout)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (bf_graph_load_text(layout, strlen(layout), "small", NULL, &graph, &err) !=
            BF_OK ||
        bf_graph_write_yaml(graph, out, &err) != BF_OK) {
        bf_str_printf(out, "%s\n%s", err.text, layout);
    }
    bf_graph_unref(graph);
}

static void report(property_fn property, const char *layout, uint64_t seed,
                   const char *name)
{
    char *small = shrink(property, layout, seed);
    const char *shown = small ? small : layout;
    const char *what = property(shown, seed);
    bf_str_t yaml;
    bf_str_init(&yaml, 0);
    add_yaml(&yaml, shown);
    cr_expect_fail("%s: seed %llu: %s\n%s", name, (unsigned long long)seed, what,
                   bf_str_peek(&yaml));
    bf_str_fini(&yaml);
    free(small);
}

bool property_holds(property_fn property, char *layout, uint64_t seed, const char *name)
{
    cr_assert_not_null(layout);
    bool holds = !*property(layout, seed);
    if (!holds) {
        report(property, layout, seed, name);
    }
    free(layout);
    return holds;
}

static bf_str_t *graphs; /* of the case that is reported, NULL = none is */

void property_graph(const char *layout)
{
    if (graphs) {
        bf_str_puts(graphs, graphs->len ? "---\n" : "");
        add_yaml(graphs, layout);
    }
}

static void report_sized(property_sized_fn property, uint64_t seed, const char *name)
{
    unsigned size = 1;
    bf_str_t yaml;
    while (size < property_size(seed) && !*property(seed, size)) {
        size++;
    }
    bf_str_init(&yaml, 0);
    graphs = &yaml;
    const char *what = property(seed, size);
    graphs = NULL;
    cr_expect_fail("%s: seed %llu, size %u: %s\n%s", name, (unsigned long long)seed, size,
                   what, bf_str_peek(&yaml));
    bf_str_fini(&yaml);
}

uint64_t property_check_sized(property_sized_fn property, uint64_t cases,
                              const char *name)
{
    uint64_t first;
    uint64_t end;
    unsigned failed = 0;
    property_range(cases, &first, &end);
    for (uint64_t seed = first; seed < end && failed < 3; seed++) {
        if (*property(seed, property_size(seed))) {
            report_sized(property, seed, name);
            failed++;
        }
    }
    return end - first;
}
