/*
 * conf_run.c - the text of a file: which format it is, and its cases
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "conf.h"

typedef void (*run_fn)(conf_t *conf, const bf_value_t *file);

static bool has(const bf_value_t *file, const char *member)
{
    return bf_value_get_str(file, member) != NULL;
}

/* The format by its content. */
static run_fn recognise(const bf_value_t *file)
{
    if (has(file, "conditions") || has(file, "scripts") || has(file, "stepper")) {
        return conf_run_expressions;
    }
    if (has(file, "cases")) {
        return conf_run_graph_loading;
    }
    if (has(file, "flows")) {
        return conf_run_jeeflow;
    }
    if (has(file, "graphs") && has(file, "steps") &&
        bf_value_get_str(file, "steps")->type == BF_VALUE_LIST) {
        return conf_run_workflow;
    }
    if (has(file, "graphs") && (has(file, "expect") || has(file, "runs"))) {
        return conf_run_engine;
    }
    return NULL;
}

void conf_fail_file(conf_t *conf, const char *path, const char *why)
{
    conf->failed++;
    if (!conf->is_quiet) {
        (void)printf("FAIL %s: %s\n", path, why);
    }
}

static void run_scenarios(conf_t *conf, const bf_value_t *scenarios);

/* A file of our own may hold many scenarios: {"about": text, "scenarios": [...]}. */
static void run_one(conf_t *conf, const bf_value_t *file)
{
    run_fn run = recognise(file);
    if (run) {
        run(conf, file);
    } else if (has(file, "scenarios")) {
        run_scenarios(conf, bf_value_get_str(file, "scenarios"));
    } else {
        conf_fail_file(conf, conf->file, "none of the known formats");
    }
}

static void run_scenarios(conf_t *conf, const bf_value_t *scenarios)
{
    for (uint32_t i = 0; scenarios->type == BF_VALUE_LIST && i < scenarios->len; i++) {
        run_one(conf, &scenarios->as.items[i]);
    }
}

void conf_run_text(conf_t *conf, const char *path, const char *text, size_t len)
{
    bf_value_t file;
    bf_err_t err = BF_ERR_INIT;
    bf_json_limits_t limits = {.max_bytes = (size_t)8 << 20};
    conf->file = path;
    if (bf_json_parse(&conf->arena, text, len, &limits, &file, &err) == BF_OK) {
        run_one(conf, &file);
    } else {
        conf_fail_file(conf, path, err.text);
    }
}
