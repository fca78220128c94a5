/*
 * graph.c - checks, draws and converts definitions
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/graph.h"

#include <string.h>

#include "bpmflow/draw.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"

/* Load; all problems go to stderr. NULL when there are errors. */
static bf_graph_t *load(const char *path, bf_diags_t *diags, bf_err_t *err)
{
    bf_graph_t *graph = NULL;
    bf_status_t rc = bf_graph_load_file(path, diags, &graph, err);
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_diags_write(diags, &text);
    fflush(stdout);
    fputs(bf_str_peek(&text), stderr);
    bf_str_fini(&text);
    if (rc != BF_OK && diags->error_count == 0)
        bf_cli_error("%s", err->text);
    return rc == BF_OK ? graph : NULL;
}

static void put_diag(bf_str_t *out, const bf_diag_t *diag)
{
    bf_str_puts(out, diag->severity == BF_DIAG_ERROR ? "{\"severity\":\"error\""
                                                     : "{\"severity\":\"warning\"");
    bf_str_printf(out, ",\"line\":%u,\"node\":", (unsigned)diag->line);
    if (diag->node)
        bf_json_write_string(out, diag->node, strlen(diag->node));
    else
        bf_str_puts(out, "null");
    bf_str_puts(out, ",\"text\":");
    bf_json_write_string(out, diag->text, strlen(diag->text));
    bf_str_putc(out, '}');
}

/* One line of JSON for one file. */
static void put_check(bf_str_t *out, const char *path, const bf_graph_t *graph,
                      const bf_diags_t *diags, const bf_err_t *err)
{
    bf_str_puts(out, "{\"file\":");
    bf_json_write_string(out, path, strlen(path));
    bf_str_printf(out, ",\"ok\":%s", graph ? "true" : "false");
    if (graph) {
        bf_str_puts(out, ",\"graph_id\":");
        bf_json_write_string(out, graph->id, strlen(graph->id));
        bf_str_printf(out, ",\"version\":%d,\"hash\":\"%s\",\"nodes\":%u,\"links\":%u",
                      (int)graph->version, graph->hash, (unsigned)graph->node_count,
                      (unsigned)graph->link_count);
    } else if (diags->error_count == 0) {
        bf_str_puts(out, ",\"error\":");
        bf_json_write_string(out, err->text, strlen(err->text));
    }
    bf_str_puts(out, ",\"problems\":[");
    for (const bf_diag_t *diag = diags->first; diag; diag = diag->next) {
        bf_str_puts(out, diag == diags->first ? "" : ",");
        put_diag(out, diag);
    }
    bf_str_puts(out, "]}\n");
}

static bool check_file(bf_cli_t *cli, const char *path, bf_str_t *out)
{
    bf_err_t err = BF_ERR_INIT;
    bf_diags_t diags;
    bf_diags_init(&diags);
    bf_graph_t *graph = NULL;
    if (bf_cli_flag(cli, "json")) {
        if (bf_graph_load_file(path, &diags, &graph, &err) != BF_OK)
            graph = NULL;
        put_check(out, path, graph, &diags, &err);
    } else {
        graph = load(path, &diags, &err);
    }
    bool ok = graph && !(bf_cli_flag(cli, "strict") && diags.warning_count > 0);
    if (!bf_cli_flag(cli, "json") && graph)
        bf_str_printf(out, "%s: graph %s version %d, %u nodes, %u links%s\n", path,
                      graph->id, (int)graph->version, (unsigned)graph->node_count,
                      (unsigned)graph->link_count,
                      diags.warning_count ? ", with warnings" : "");
    bf_graph_unref(graph);
    bf_diags_fini(&diags);
    return ok;
}

static bf_exit_t run_check(bf_cli_t *cli)
{
    bf_exit_t result = BF_EXIT_OK;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t out;
    bf_str_init(&out, 0);
    for (int i = 0; i < cli->operand_count; i++) {
        if (!check_file(cli, cli->operands[i], &out))
            result = BF_EXIT_REJECTED;
        bf_status_t rc = bf_cli_write(&out, &err);
        if (rc != BF_OK) {
            result = bf_cli_fail(&err, rc);
            break;
        }
    }
    bf_str_fini(&out);
    return result;
}

static const bf_cli_option_t check_options[] = {
    {.name = "strict",
     .kind = BF_OPTION_FLAG,
     .help = "warnings count as errors in the exit status"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_graph_check = {
    .name = "graph check",
    .summary = "check definitions for errors and warnings",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = -1,
    .groups = BF_OPTIONS_JSON,
    .options = check_options,
    .description =
        "Loads each file as the workers do and prints all errors and warnings with file, "
        "line, node and what to do about it.",
    .status = "1 when a file has errors.",
    .examples = "    bpmflow graph check config/graphs/*.yml\n",
    .run = run_check};

/* --- drawings --- */

static int state_of(void *arg, const bf_node_t *node)
{
    return (int)bf_instance_state(arg, node->state_key);
}

static bf_status_t load_instance(bf_cli_t *cli, const char *id, const bf_graph_t *graph,
                                 bf_instance_t **ret, bf_err_t *err)
{
    bf_store_t *store = NULL;
    bf_status_t rc = bf_cli_store(cli, &store, err);
    if (rc == BF_OK)
        rc = bf_store_load_instances(store, &id, 1, ret, err);
    bf_store_close(store);
    if (rc == BF_OK && !*ret)
        return bf_err_set(err, BF_E_NOT_FOUND, "there is no instance %s in this database",
                          id);
    if (rc == BF_OK && strcmp(bf_instance_graph_id(*ret), graph->id) != 0)
        bf_cli_note("instance %s follows graph %s, the file has graph %s", id,
                    bf_instance_graph_id(*ret), graph->id);
    return rc;
}

static bf_exit_t run_draw(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_diags_t diags;
    bf_diags_init(&diags);
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_instance_t *inst = NULL;
    bf_exit_t result = BF_EXIT_OK;
    const char *id = bf_cli_text(cli, "instance");
    bf_status_t rc = BF_OK;
    const char *name = bf_cli_text(cli, "format");
    bf_draw_format_t format = strcmp(name, "dot") == 0   ? BF_DRAW_DOT
                              : strcmp(name, "svg") == 0 ? BF_DRAW_SVG
                                                         : BF_DRAW_MERMAID;
    bf_graph_t *graph = load(bf_cli_operand(cli, 0), &diags, &err);
    if (!graph) {
        result = BF_EXIT_REJECTED;
        goto out;
    }
    if (id)
        rc = load_instance(cli, id, graph, &inst, &err);
    if (rc == BF_OK)
        rc = bf_draw(graph, format, inst ? state_of : NULL, inst, &out, &err);
    if (rc == BF_OK)
        rc = bf_cli_write(&out, &err);
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
out:
    bf_instance_free(inst);
    bf_graph_unref(graph);
    bf_str_fini(&out);
    bf_diags_fini(&diags);
    return result;
}

static const bf_cli_option_t draw_options[] = {
    {.name = "format",
     .letter = 'f',
     .kind = BF_OPTION_CHOICE,
     .metavar = "mermaid|dot|svg",
     .fallback = "mermaid",
     .help = "text for Mermaid or for Graphviz, or a picture"},
    {.name = "instance",
     .letter = 'i',
     .kind = BF_OPTION_TEXT,
     .metavar = "INSTANCE",
     .help = "colour the nodes by their states in this instance, read from the database"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_graph_draw = {
    .name = "graph draw",
    .summary = "draw a definition: text for Mermaid or Graphviz, or SVG",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .groups = BF_OPTIONS_DB,
    .options = draw_options,
    .description =
        "Prints a drawing of the graph; with --instance the tasks that are done, "
        "waiting and terminated have colours.",
    .status = "1 when the file has errors.",
    .examples = "    bpmflow graph draw leave.yaml > leave.mmd\n"
                "    bpmflow graph draw leave.yaml -f svg -i leave-1 > leave.svg\n",
    .run = run_draw};

/* --- conversion --- */

static bf_exit_t run_convert(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_diags_t diags;
    bf_diags_init(&diags);
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_exit_t result = BF_EXIT_OK;
    bf_status_t rc = BF_OK;
    bf_graph_t *graph = load(bf_cli_operand(cli, 0), &diags, &err);
    if (!graph) {
        result = BF_EXIT_REJECTED;
        goto out;
    }
    if (strcmp(bf_cli_text(cli, "to"), "json") == 0) {
        rc = bf_graph_write_json(graph, true, &out, &err);
        if (rc == BF_OK && out.len && out.data[out.len - 1] != '\n')
            bf_str_putc(&out, '\n');
    } else {
        rc = bf_graph_write_yaml(graph, &out, &err);
    }
    if (rc == BF_OK)
        rc = bf_cli_write(&out, &err);
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
out:
    bf_graph_unref(graph);
    bf_str_fini(&out);
    bf_diags_fini(&diags);
    return result;
}

static const bf_cli_option_t convert_options[] = {{.name = "to",
                                                   .kind = BF_OPTION_CHOICE,
                                                   .metavar = "json|yaml",
                                                   .fallback = "json",
                                                   .help = "form to write"},
                                                  {.name = NULL}};

const bf_cli_command_t bf_cli_graph_convert = {
    .name = "graph convert",
    .summary = "write a definition as JSON or YAML",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .options = convert_options,
    .description =
        "Loads the definition and writes it in the layout form with all keys in "
        "a fixed order. What is written loads to the same graph.",
    .status = "1 when the file has errors.",
    .examples = "    bpmflow graph convert leave.yaml --to json > leave.json\n",
    .run = run_convert};
