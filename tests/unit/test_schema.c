/*
 * test_schema.c - config/schema/graph.schema.json against graphs: ours and, where it lies
 * beside the repository, the conformance material
 *
 * The validator here knows the keywords that the schema uses and refuses others, so that
 * nothing in the schema goes unchecked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/graph.h"
#include "bpmflow/id.h"
#include "lib/model/doc_int.h"

static bf_arena_t arena;
static bf_value_t schema;

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        return NULL;
    }
    size_t room = (size_t)4 << 20;
    char *text = malloc(room);
    cr_assert_not_null(text);
    *ret_len = fread(text, 1, room, f);
    (void)fclose(f);
    return text;
}

static bf_value_t read_json(const char *path)
{
    size_t len;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_json_limits_t limits = {.max_bytes = (size_t)4 << 20};
    char *text = read_file(path, &len);
    cr_assert_not_null(text, "%s: run the tests from the top folder", path);
    cr_assert_eq(bf_json_parse(&arena, text, len, &limits, &value, &err), BF_OK, "%s: %s",
                 path, err.text);
    free(text);
    return value;
}

static void setup(void)
{
    bf_arena_init(&arena, 0);
    schema = read_json("config/schema/graph.schema.json");
}

static void teardown(void)
{
    bf_arena_fini(&arena);
}

TestSuite(schema, .init = setup, .fini = teardown);

static bool valid(const bf_value_t *rule, const bf_value_t *value);

static bool has_type(const char *name, const bf_value_t *value)
{
    if (!strcmp(name, "number")) {
        return value->type == BF_VALUE_INT || value->type == BF_VALUE_REAL;
    }
    static const char *const names[] = {"null",   "boolean", "integer", "",
                                        "string", "array",   "object"};
    return !strcmp(name, names[value->type]);
}

static bool valid_type(const bf_value_t *types, const bf_value_t *value)
{
    if (types->type == BF_VALUE_STRING) {
        return has_type(types->as.string, value);
    }
    for (uint32_t i = 0; i < types->len; i++) {
        if (has_type(types->as.items[i].as.string, value)) {
            return true;
        }
    }
    return false;
}

static bool valid_enum(const bf_value_t *values, const bf_value_t *value)
{
    for (uint32_t i = 0; i < values->len; i++) {
        if (bf_value_equal(&values->as.items[i], value)) {
            return true;
        }
    }
    return false;
}

static bool valid_any(const bf_value_t *rules, const bf_value_t *value)
{
    for (uint32_t i = 0; i < rules->len; i++) {
        if (valid(&rules->as.items[i], value)) {
            return true;
        }
    }
    return false;
}

static bool valid_properties(const bf_value_t *rules, const bf_value_t *value)
{
    for (uint32_t i = 0; value->type == BF_VALUE_MAP && i < value->len; i++) {
        const bf_member_t *m = &value->as.members[i];
        const bf_value_t *rule = bf_value_get(rules, m->name, m->name_len);
        if (rule && !valid(rule, &m->value)) {
            return false;
        }
    }
    return true;
}

static bool valid_required(const bf_value_t *names, const bf_value_t *value)
{
    for (uint32_t i = 0; value->type == BF_VALUE_MAP && i < names->len; i++) {
        if (!bf_value_get_str(value, names->as.items[i].as.string)) {
            return false;
        }
    }
    return true;
}

static bool valid_items(const bf_value_t *rule, const bf_value_t *value)
{
    for (uint32_t i = 0; value->type == BF_VALUE_LIST && i < value->len; i++) {
        if (!valid(rule, &value->as.items[i])) {
            return false;
        }
    }
    return true;
}

static bool valid_ref(const bf_value_t *ref, const bf_value_t *value)
{
    const char *prefix = "#/$defs/";
    cr_assert_eq(strncmp(ref->as.string, prefix, strlen(prefix)), 0);
    const bf_value_t *rule = bf_value_get_str(bf_value_get_str(&schema, "$defs"),
                                              ref->as.string + strlen(prefix));
    cr_assert_not_null(rule, "%s", ref->as.string);
    return valid(rule, value);
}

static bool valid_length(const bf_value_t *max, const bf_value_t *value)
{
    return value->type != BF_VALUE_STRING ||
           (int64_t)bf_utf8_length(value->as.string, value->len) <= max->as.integer;
}

static bool valid_minimum(const bf_value_t *min, const bf_value_t *value)
{
    return value->type != BF_VALUE_INT || value->as.integer >= min->as.integer;
}

static bool ignore(const bf_value_t *rule, const bf_value_t *value)
{
    (void)rule;
    (void)value;
    return true;
}

static const struct {
    const char *name;
    bool (*check)(const bf_value_t *rule, const bf_value_t *value);
} keywords[] = {
    {"type", valid_type},
    {"enum", valid_enum},
    {"anyOf", valid_any},
    {"properties", valid_properties},
    {"required", valid_required},
    {"items", valid_items},
    {"$ref", valid_ref},
    {"maxLength", valid_length},
    {"minimum", valid_minimum},
    {"title", ignore},
    {"description", ignore},
    {"$schema", ignore},
    {"$id", ignore},
    {"$defs", ignore},
};

static bool valid(const bf_value_t *rule, const bf_value_t *value)
{
    for (uint32_t i = 0; i < rule->len; i++) {
        const bf_member_t *m = &rule->as.members[i];
        size_t k = 0;
        while (k < sizeof(keywords) / sizeof(keywords[0]) &&
               strcmp(keywords[k].name, m->name) != 0) {
            k++;
        }
        cr_assert_lt(k, sizeof(keywords) / sizeof(keywords[0]), "keyword %s", m->name);
        if (!keywords[k].check(&m->value, value)) {
            return false;
        }
    }
    return true;
}

static bool text_is_valid(const char *text, size_t len)
{
    const bf_doc_t *doc = NULL;
    bf_value_t value;
    uint32_t line;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_doc_parse(&arena, text, len, &doc, &line, &err), BF_OK, "%s: %s",
                 text, err.text);
    cr_assert_eq(bf_doc_to_value(&arena, doc, &value), BF_OK);
    return valid(&schema, &value);
}

Test(schema, schema__accepts_the_samples)
{
    struct dirent **names = NULL;
    int count = scandir("config/graphs", &names, NULL, alphasort);
    unsigned checked = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        size_t len;
        (void)snprintf(path, sizeof(path), "config/graphs/%s", names[i]->d_name);
        if (names[i]->d_name[0] != '.') {
            char *text = read_file(path, &len);
            cr_expect(text && text_is_valid(text, len), "%s", path);
            free(text);
            checked++;
        }
        free(names[i]);
    }
    free(names);
    cr_expect_geq(checked, 4U);
}

Test(schema, schema__accepts_all_forms)
{
    static const char *const good[] = {
        "{layout: []}",
        "{id: 5, title: null, driver: '', version: 2, meta: null, nodes: [{}]}",
        "{layout: [{id: 1, type: START, link: x}, {type: Iterator, link: 5}]}",
        "{layout: [{link: [x, null, {nextId: 5, when: true, priority: 3}]}]}",
        "{layout: [{link: {nextId: a, condition: x, meta: {k: [1]}, other: 5}}]}",
        "{layout: [{when: false, task: '@a', meta: {$for: i, $in: '1...5'}, v_x: 5}]}",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bool iterator = strstr(good[i], "Iterator") != NULL;
        cr_expect_eq(text_is_valid(good[i], strlen(good[i])), !iterator, "%s", good[i]);
    }
}

Test(schema, schema__refuses_what_the_loader_refuses)
{
    static const char too_long[] =
        "{layout: [{id: "
        "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbcccccccccccccccccccc12345}]}";
    static const char *const bad[] = {
        "[]",
        "{layout: 5}",
        "{layout: [a]}",
        "{id: [x], layout: [{}]}",
        "{version: 0, layout: [{}]}",
        "{version: x, layout: [{}]}",
        "{meta: 5, layout: [{}]}",
        "{layout: [{type: exclusve}]}",
        "{layout: [{link: [[a]]}]}",
        "{layout: [{link: {title: x}}]}",
        "{layout: [{link: {nextId: n-1, priority: high}}]}",
        "{layout: [{when: [x]}]}",
        "{layout: [{task: {a: 1}}]}",
        "{layout: [{meta: [x]}]}",
        too_long,
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bf_graph_t *graph = NULL;
        cr_expect_not(text_is_valid(bad[i], strlen(bad[i])), "%s", bad[i]);
        cr_expect_neq(
            bf_graph_load_text(bad[i], strlen(bad[i]), NULL, NULL, &graph, NULL), BF_OK,
            "%s", bad[i]);
    }
}

/* Every graph that a file holds is valid when the loader takes it. */
static unsigned check_graphs(const bf_value_t *value, const char *path)
{
    unsigned checked = 0;
    if (value->type == BF_VALUE_MAP && bf_value_get_str(value, "layout")) {
        bf_graph_t *graph = NULL;
        if (bf_graph_load_value(value, path, NULL, &graph, NULL) == BF_OK) {
            cr_expect(valid(&schema, value), "%s: %s", path, graph->id);
            bf_graph_unref(graph);
            checked++;
        }
    }
    for (uint32_t i = 0; value->type == BF_VALUE_MAP && i < value->len; i++) {
        checked += check_graphs(&value->as.members[i].value, path);
    }
    for (uint32_t i = 0; value->type == BF_VALUE_LIST && i < value->len; i++) {
        checked += check_graphs(&value->as.items[i], path);
    }
    return checked;
}

static unsigned check_folder(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort);
    unsigned checked = 0;
    for (int i = 0; i < count; i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        size_t len = strlen(path);
        if (len > 5 && !strcmp(path + len - 5, ".json")) {
            bf_value_t value = read_json(path);
            checked += check_graphs(&value, path);
        }
        free(names[i]);
    }
    free(names);
    return checked;
}

Test(schema, schema__accepts_all_graphs_of_the_conformance_material)
{
    unsigned checked = check_folder("../shared/conformance") +
                       check_folder("../shared/conformance/engine") +
                       check_folder("../shared/conformance/workflow");
    if (checked == 0) {
        (void)printf("SKIPPED: there is no ../shared/conformance\n");
        return;
    }
    cr_expect_gt(checked, 100U);
}
