/*
 * test_catalogue.c - graphs from files, versions, reload
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/catalogue.h"

static char folder[64];
static bf_catalogue_t *catalogue;
static bf_diags_t diags;
static bf_catalogue_report_t report;
static bf_err_t err;

static void setup(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/bf-catalogue-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    catalogue = bf_catalogue_new();
    cr_assert_not_null(catalogue);
    bf_diags_init(&diags);
    bf_err_clear(&err);
}

static const char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "wb");
    cr_assert_not_null(f);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

static void remove_file(const char *name)
{
    (void)unlink(path_of(name));
}

static void teardown(void)
{
    static const char *const names[] = {"a.yml", "b.yaml", "c.json", "notes.txt",
                                        ".hidden.yml"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        remove_file(names[i]);
    }
    (void)rmdir(folder);
    bf_catalogue_free(catalogue);
    bf_diags_fini(&diags);
}

TestSuite(catalogue, .init = setup, .fini = teardown);

static const char leave_v1[] = "id: leave\n"
                               "layout:\n"
                               "  - {type: start}\n"
                               "  - {id: leader, title: Leader}\n"
                               "  - {type: end}\n";
static const char leave_v2[] = "id: leave\n"
                               "version: 2\n"
                               "layout:\n"
                               "  - {type: start}\n"
                               "  - {id: boss}\n"
                               "  - {type: end}\n";
static const char expense[] =
    "{\"id\":\"expense\",\"layout\":[{\"type\":\"start\"},{\"type\":\"end\"}]}";
static const char broken[] = "id: leave\n"
                             "layout:\n"
                             "  - {type: start, link: nowhere}\n";

static bf_status_t load(void)
{
    const char *paths[] = {folder};
    bf_err_clear(&err);
    bf_diags_fini(&diags);
    bf_diags_init(&diags);
    return bf_catalogue_load(catalogue, paths, 1, &diags, &report, &err);
}

static const char *node_of(const char *graph_id, int32_t version, uint32_t number)
{
    bf_graph_t *graph = bf_catalogue_graph(catalogue, graph_id, version);
    cr_assert_not_null(graph);
    static char id[64];
    (void)snprintf(id, sizeof(id), "%s", graph->nodes[number].id);
    bf_graph_unref(graph);
    return id;
}

Test(catalogue, load__reads_yaml_and_json_and_nothing_else)
{
    write_file("a.yml", leave_v1);
    write_file("c.json", expense);
    write_file("notes.txt", "not a definition");
    write_file(".hidden.yml", "not a definition");
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(report.files, 2);
    cr_assert_eq(report.added, 2);
    cr_assert_eq(bf_catalogue_count(catalogue), 2);
    cr_assert_str_eq(node_of("leave", 0, 1), "leader");
    cr_assert_null(bf_catalogue_graph(catalogue, "nothing", 0));
}

Test(catalogue, load__keeps_versions_apart_and_new_instances_take_the_newest)
{
    write_file("a.yml", leave_v2);
    write_file("b.yaml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_str_eq(node_of("leave", 0, 1), "boss");
    cr_assert_str_eq(node_of("leave", 1, 1), "leader");
    cr_assert_str_eq(node_of("leave", 2, 1), "boss");
}

Test(catalogue, load__refuses_the_same_version_twice_and_names_both_files)
{
    bf_str_t text;
    write_file("a.yml", leave_v1);
    write_file("b.yaml", leave_v1);
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_eq(report.refused, 1);
    cr_assert_eq(bf_catalogue_count(catalogue), 1);
    bf_str_init(&text, 0);
    bf_diags_write(&diags, &text);
    cr_assert_not_null(strstr(bf_str_peek(&text), "b.yaml"));
    cr_assert_not_null(strstr(bf_str_peek(&text), "a.yml"));
    bf_str_fini(&text);
}

Test(catalogue, reload__a_broken_file_leaves_its_last_good_graph_in_use)
{
    write_file("a.yml", leave_v1);
    write_file("c.json", expense);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    uint64_t number = bf_catalogue_number(catalogue);
    write_file("a.yml", broken);
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_not_null(strstr(err.text, "1 of 2 definition files"), "%s", err.text);
    cr_assert_eq(report.refused, 1);
    cr_assert_eq(report.kept, 1);
    cr_assert_eq(report.unchanged, 1);
    cr_assert_str_eq(node_of("leave", 0, 1), "leader");
    cr_assert_eq(bf_catalogue_number(catalogue), number);
}

Test(catalogue, reload__takes_the_good_files_beside_a_broken_one)
{
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    write_file("a.yml", broken);
    write_file("c.json", expense);
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_eq(report.added, 1);
    cr_assert_str_eq(node_of("leave", 0, 1), "leader");
    cr_assert_str_eq(node_of("expense", 0, 0), "n-1");
}

Test(catalogue, reload__a_file_that_is_gone_leaves_its_graph_in_use_and_is_told)
{
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    remove_file("a.yml");
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(report.kept, 1);
    cr_assert_gt(diags.warning_count, 0);
    cr_assert_str_eq(node_of("leave", 0, 1), "leader");
}

Test(catalogue, reload__the_same_content_changes_nothing)
{
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    bf_graph_t *before = bf_catalogue_graph(catalogue, "leave", 0);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    bf_graph_t *after = bf_catalogue_graph(catalogue, "leave", 0);
    cr_assert_eq(before, after);
    cr_assert_eq(report.unchanged, 1);
    bf_graph_unref(before);
    bf_graph_unref(after);
}

Test(catalogue, reload__other_content_of_the_same_version_is_taken_with_a_warning)
{
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    write_file("a.yml", "id: leave\nlayout:\n  - {type: start}\n  - {id: chief}\n"
                        "  - {type: end}\n");
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(report.replaced, 1);
    cr_assert_eq(diags.warning_count, 1);
    cr_assert_str_eq(node_of("leave", 0, 1), "chief");
}

Test(catalogue, load__a_path_that_cannot_be_read_changes_nothing)
{
    const char *paths[] = {folder, "/nonexistent/definitions"};
    write_file("a.yml", leave_v1);
    cr_assert_eq(bf_catalogue_load(catalogue, paths, 2, NULL, NULL, &err), BF_E_IO);
    cr_assert_not_null(strstr(err.text, "/nonexistent/definitions"), "%s", err.text);
    cr_assert_eq(bf_catalogue_count(catalogue), 0);
}

Test(catalogue, apply__brings_an_engine_up_to_date_once)
{
    uint64_t seen = 0;
    bf_engine_t *engine = bf_engine_new();
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(bf_catalogue_apply(catalogue, engine, &seen, &err), BF_OK);
    cr_assert_not_null(bf_engine_graph(engine, "leave"));
    cr_assert_eq(seen, bf_catalogue_number(catalogue));
    write_file("b.yaml", leave_v2);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_neq(seen, bf_catalogue_number(catalogue));
    cr_assert_eq(bf_catalogue_apply(catalogue, engine, &seen, &err), BF_OK);
    cr_assert_eq(bf_engine_graph(engine, "leave")->version, 2);
    cr_assert_eq(bf_engine_graph_version(engine, "leave", 1)->version, 1);
    bf_engine_free(engine);
}

Test(catalogue, add__takes_a_graph_that_comes_from_no_file)
{
    bf_graph_t *graph = NULL;
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(bf_graph_load_text(expense, strlen(expense), "text", NULL, &graph, &err),
                 BF_OK, "%s", err.text);
    uint64_t before = bf_catalogue_number(catalogue);
    cr_assert_eq(bf_catalogue_add(catalogue, graph, &err), BF_OK, "%s", err.text);
    cr_assert_gt(bf_catalogue_number(catalogue), before);
    cr_assert_eq(bf_catalogue_add(catalogue, graph, &err), BF_OK, "in its own place");
    bf_graph_unref(graph);
    cr_assert_eq(bf_catalogue_count(catalogue), 2);
    cr_assert_str_eq(node_of("expense", 0, 0), "n-1");
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_eq(bf_catalogue_count(catalogue), 2, "a reload leaves it");
}

Test(catalogue, is_enabled__by_the_meta_of_the_graph)
{
    write_file("a.yml", leave_v1);
    write_file("c.json", "{\"id\":\"old\",\"meta\":{\"enabled\":false},"
                         "\"layout\":[{\"type\":\"start\"},{\"type\":\"end\"}]}");
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    bf_graph_t *leave = bf_catalogue_graph(catalogue, "leave", 0);
    bf_graph_t *old = bf_catalogue_graph(catalogue, "old", 0);
    cr_assert(bf_graph_is_enabled(leave));
    cr_assert_not(bf_graph_is_enabled(old));
    bf_graph_unref(leave);
    bf_graph_unref(old);
}

static void collect_name(void *arg, const char *path)
{
    bf_str_t *str = arg;
    bf_str_printf(str, "%s ", strrchr(path, '/') + 1);
}

static const char *refused_files(void)
{
    static char text[256];
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_catalogue_each_refused(catalogue, collect_name, &str);
    (void)snprintf(text, sizeof(text), "%s", bf_str_peek(&str));
    bf_str_fini(&str);
    return text;
}

Test(catalogue, each_refused__names_the_files_of_the_last_load)
{
    write_file("a.yml", broken);
    write_file("b.yaml", leave_v2);
    write_file("c.json", "{");
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_str_eq(refused_files(), "a.yml c.json ");
    write_file("a.yml", leave_v1);
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_str_eq(refused_files(), "c.json ");
    write_file("c.json", expense);
    cr_assert_eq(load(), BF_OK, "%s", err.text);
    cr_assert_str_eq(refused_files(), "");
}

Test(catalogue, load__errors_are_not_hidden_by_many_warnings)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, "id: noisy\nlayout:\n  - {type: start}\n  - {type: end}\n");
    for (int i = 0; i < BF_DIAGS_MAX + 50; i++) {
        bf_str_printf(&text, "  - {id: lost%d, link: []}\n", i); /* unreachable */
    }
    write_file("a.yml", bf_str_peek(&text));
    bf_str_fini(&text);
    write_file("b.yaml", broken);
    cr_assert_eq(load(), BF_E_INVALID);
    cr_assert_gt(diags.warning_count, BF_DIAGS_MAX);
    bool named = false;
    for (const bf_diag_t *diag = diags.first; diag; diag = diag->next) {
        named = named || diag->severity == BF_DIAG_ERROR;
    }
    cr_assert(named);
}
