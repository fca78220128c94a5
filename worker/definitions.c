/*
 * definitions.c - reads the definitions at the start and on SIGHUP
 *
 * A file with mistakes is refused, named in the log and in a metric; its last good
 * version and all other files stay in use.  With graphs.strict it stops the start.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/suggest.h"
#include "worker/process.h"

static const bf_metric_def_t def_graphs = {
    .name = "bpmflow_definitions",
    .help = "Definitions in use, each version of a graph counted.",
    .type = BF_METRIC_GAUGE};
static const bf_metric_def_t def_refused = {
    .name = "bpmflow_definition_refused",
    .help = "1: the file has mistakes and is not in use; its last good version is.",
    .type = BF_METRIC_GAUGE};
static const bf_metric_def_t def_loads = {
    .name = "bpmflow_definition_loads_total",
    .help =
        "Starts and reloads by their outcome: ok, refused (some files), failed (all).",
    .type = BF_METRIC_COUNTER};

static void log_diags(bf_worker_t *worker, const bf_diags_t *diags)
{
    uint32_t shown = 0;
    for (const bf_diag_t *diag = diags->first; diag; diag = diag->next) {
        const bf_log_field_t fields[] = {BF_LOG_STR("file", diag->file),
                                         BF_LOG_INT("line", diag->line),
                                         BF_LOG_STR("node", diag->node)};
        bf_log_write(worker->log,
                     diag->severity == BF_DIAG_ERROR ? BF_LOG_ERROR : BF_LOG_WARNING,
                     fields, diag->node ? 3 : 2, "definition: %s", diag->text);
        shown++;
    }
    uint32_t all = diags->error_count + diags->warning_count;
    if (shown < all) {
        bf_log_write(worker->log, BF_LOG_WARNING, NULL, 0,
                     "definition: %u more errors and warnings; bpmflow graph check FILE "
                     "shows those of a file",
                     all - shown);
    }
}

/* The file as the value of a label. */
static bf_metric_t *refused_metric(bf_worker_t *worker, const char *path)
{
    bf_str_t labels;
    bf_str_init(&labels, 0);
    bf_str_puts(&labels, "file=\"");
    for (const char *p = path; *p; p++) {
        if (*p == '\\' || *p == '"') {
            bf_str_putc(&labels, '\\');
        }
        bf_str_puts(&labels, *p == '\n' ? "\\n" : (char[]){*p, '\0'});
    }
    bf_str_putc(&labels, '"');
    bf_metric_t *metric =
        bf_str_failed(&labels)
            ? NULL
            : bf_metrics_register(worker->metrics, &def_refused, bf_str_peek(&labels));
    bf_str_fini(&labels);
    return metric;
}

static void count_refused(void *arg, const char *path)
{
    bf_worker_t *worker = arg;
    bf_definitions_t *definitions = &worker->definitions;
    bf_metric_t *metric = refused_metric(worker, path);
    bf_metric_set(metric, 1);
    bf_metric_t **grown = realloc(definitions->refused, (definitions->refused_count + 1) *
                                                            sizeof(bf_metric_t *));
    if (metric && grown) {
        grown[definitions->refused_count++] = metric;
    }
    definitions->refused = grown ? grown : definitions->refused;
}

static void count(bf_worker_t *worker, bf_status_t status)
{
    bf_definitions_t *definitions = &worker->definitions;
    const char *result = status == BF_OK          ? "result=\"ok\""
                         : status == BF_E_INVALID ? "result=\"refused\""
                                                  : "result=\"failed\"";
    bf_metric_add(bf_metrics_register(worker->metrics, &def_loads, result), 1);
    bf_metric_set(bf_metrics_register(worker->metrics, &def_graphs, NULL),
                  (int64_t)bf_catalogue_count(worker->catalogue));
    if (status != BF_OK && status != BF_E_INVALID) {
        return; /* nothing has changed */
    }
    for (size_t i = 0; i < definitions->refused_count; i++) {
        bf_metric_set(definitions->refused[i], 0);
    }
    definitions->refused_count = 0;
    bf_catalogue_each_refused(worker->catalogue, count_refused, worker);
}

/* --- names in definitions that nothing stands behind: said when they are loaded, not
 *     when the first command fails --- */

#define NAMES_MAX 256

static const char *nearest(const bf_plugins_t *plugins, bf_plugin_kind_t kind,
                           const char *name)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    while (count < NAMES_MAX && (names[count] = bf_plugins_name(plugins, kind, count))) {
        count++;
    }
    return bf_suggest_nearest(name, strlen(name), names, count);
}

/* A warning that names the place of the node. */
static void BF_PRINTF(3, 4)
    warn(const bf_worker_t *worker, const bf_node_t *node, const char *fmt, ...)
{
    char text[BF_LOG_VALUE_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    const bf_log_field_t fields[] = {BF_LOG_STR("file", node->graph->file),
                                     BF_LOG_INT("line", node->line),
                                     BF_LOG_STR("node", node->id)};
    bf_log_write(worker->log, BF_LOG_WARNING, fields, 3, "definition: %s", text);
}

static void check_code(const bf_worker_t *worker, const bf_node_t *node,
                       const bf_code_ref_t *code)
{
    if (code->kind != BF_CODE_COMPONENT ||
        bf_plugins_has(worker->plugins, BF_PLUGIN_COMPONENT, code->name)) {
        return;
    }
    const char *near = nearest(worker->plugins, BF_PLUGIN_COMPONENT, code->name);
    warn(worker, node,
         "there is no component '%s'%s%s%s; commands that come to it are rejected until "
         "a library in `components` has it",
         code->name, BF_DID_YOU_MEAN(near));
}

static void check_topic(const bf_worker_t *worker, const bf_node_t *node)
{
    const bf_text_list_t *topics = &worker->settings.jobs.topics;
    const char *topic = node->task.name;
    if (node->task.kind != BF_CODE_TOPIC) {
        return;
    }
    for (size_t i = 0; i < topics->count; i++) {
        if (!strcmp(topics->items[i], topic)) {
            return;
        }
    }
    const char *near = bf_suggest_nearest(
        topic, strlen(topic), (const char *const *)topics->items, topics->count);
    warn(worker, node,
         "topic '%s' is not in jobs.topics%s%s%s; commands that come to the node are "
         "rejected",
         topic, BF_DID_YOU_MEAN(near));
}

static void check_names(void *arg, const bf_graph_t *graph)
{
    const bf_worker_t *worker = arg;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const bf_node_t *node = &graph->nodes[i];
        check_topic(worker, node);
        check_code(worker, node, &node->task);
        check_code(worker, node, &node->when);
        for (uint32_t j = 0; j < node->link_count; j++) {
            check_code(worker, node, &node->links[j]->when);
        }
    }
    if (*graph->driver &&
        !bf_plugins_has(worker->plugins, BF_PLUGIN_DRIVER, graph->driver)) {
        const char *near = nearest(worker->plugins, BF_PLUGIN_DRIVER, graph->driver);
        const bf_log_field_t fields[] = {BF_LOG_STR("file", graph->file)};
        bf_log_write(worker->log, BF_LOG_WARNING, fields, 1,
                     "definition: there is no driver '%s'%s%s%s; commands of graph '%s' "
                     "are rejected until a library in `components` has it",
                     graph->driver, BF_DID_YOU_MEAN(near), graph->id);
    }
}

static bf_status_t load(bf_worker_t *worker, const bf_text_list_t *paths)
{
    bf_err_t err = BF_ERR_INIT;
    bf_catalogue_report_t report = {0};
    bf_diags_t diags;
    bf_diags_init(&diags);
    bf_status_t rc =
        bf_catalogue_load(worker->catalogue, (const char *const *)paths->items,
                          paths->count, &diags, &report, &err);
    log_diags(worker, &diags);
    bf_diags_fini(&diags);
    if (rc != BF_OK) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0, "definitions: %s", err.text);
    }
    count(worker, rc);
    if (rc == BF_OK || rc == BF_E_INVALID) {
        const bf_log_field_t fields[] = {BF_LOG_INT("files", report.files),
                                         BF_LOG_INT("graphs", report.graphs),
                                         BF_LOG_INT("added", report.added),
                                         BF_LOG_INT("replaced", report.replaced),
                                         BF_LOG_INT("unchanged", report.unchanged),
                                         BF_LOG_INT("refused", report.refused),
                                         BF_LOG_INT("kept", report.kept)};
        bf_catalogue_each(worker->catalogue, check_names, worker);
        bf_log_write(worker->log, BF_LOG_INFO, fields, 7, "definitions are loaded");
    }
    return rc;
}

bool bf_definitions_start(bf_worker_t *worker)
{
    const bf_settings_t *settings = &worker->settings;
    if (settings->graphs.paths.count == 0) {
        bf_log_write(worker->log, BF_LOG_WARNING, NULL, 0,
                     "graphs.paths is empty: every start is rejected with unknown_graph");
    }
    bf_status_t rc = load(worker, &settings->graphs.paths);
    if (rc == BF_E_INVALID && settings->graphs.strict) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0,
                     "definitions: correct the files, or set graphs.strict = false to "
                     "start without them");
        return false;
    }
    return rc == BF_OK || rc == BF_E_INVALID;
}

void bf_definitions_reload(bf_worker_t *worker, const bf_text_list_t *paths)
{
    bf_status_t rc = load(worker, paths); /* has said it */
    if (rc != BF_OK && rc != BF_E_INVALID) {
        bf_log_write(worker->log, BF_LOG_ERROR, NULL, 0,
                     "reload: all definitions stay as they are");
    }
}

void bf_definitions_fini(bf_worker_t *worker)
{
    free(worker->definitions.refused); /* the metrics are the registry's */
    memset(&worker->definitions, 0, sizeof(worker->definitions));
}
