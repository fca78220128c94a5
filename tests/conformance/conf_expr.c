/*
 * conf_expr.c - expressions.json: conditions, scripts, loop ranges
 *
 * A case has no name in the file; its name is its text and its variables:
 *     condition a > 3 {"a":4}      script x = null {"x":5}      range 1:3:1
 *
 * Decisions: by name in expressions.json; beside it expression-rules.json holds decisions
 * for a kind of difference, told by the error of the original:
 *   {"original_error": "CompilationException", "we": "value", ...}
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "bpmflow/expr.h"
#include "bpmflow/range.h"
#include "bpmflow/vars.h"
#include "conf.h"

static const char *const condition_members[] = {
    "expr",         "vars", "expect", "value_type", "as_condition", "source", "error",
    "neutral_expr", "note", "name",   "surprising", "desc",         NULL};
static const char *const script_members[] = {"script_original",
                                             "assignment_form",
                                             "vars_before",
                                             "vars_after",
                                             "source",
                                             "note",
                                             "name",
                                             "surprising",
                                             "desc",
                                             "error",
                                             NULL};
static const char *const range_members[] = {"range", "values", "error", "note", NULL};

/* What an expression sees: variables of the case, the reserved ones, effects. */
typedef struct world {
    bf_vars_t *vars;
    bf_value_t instance_id;
    bf_value_t node;
    bool stopped;
    bool interrupted;
} world_t;

static bool ends_with(const char *text, size_t text_len, const char *end, size_t len)
{
    return text_len > len && text[text_len - len - 1] == '_' &&
           !memcmp(text + text_len - len, end, len);
}

/* `#nrOfInstances` is the variable csv_<node>_nrOfInstances of the current node. */
static const bf_value_t *countersign(const world_t *w, const char *name, size_t len)
{
    size_t cursor = 0;
    const char *other;
    size_t other_len;
    const bf_value_t *value;
    while (bf_vars_next(w->vars, &cursor, &other, &other_len, &value)) {
        if (!strncmp(other, "csv_", 4) && ends_with(other, other_len, name, len)) {
            return value;
        }
    }
    return NULL;
}

static const bf_value_t *lookup(void *arg, const char *name, size_t len, uint64_t hash)
{
    const world_t *w = arg;
    const bf_value_t *value = bf_vars_get_hashed(w->vars, name, len, hash);
    if (value) {
        return value;
    }
    if (len == 10 && !memcmp(name, "instanceId", 10)) {
        return &w->instance_id;
    }
    if (len == 4 && !memcmp(name, "node", 4)) {
        return &w->node;
    }
    return countersign(w, name, len);
}

static bf_status_t assign(void *arg, const char *name, size_t len,
                          const bf_value_t *value, bf_err_t *err)
{
    world_t *w = arg;
    bf_status_t rc = bf_vars_set(w->vars, name, len, value);
    return rc == BF_OK ? rc : bf_err_nomem(err, "variable");
}

static void stop(void *arg)
{
    ((world_t *)arg)->stopped = true;
}

static void interrupt(void *arg)
{
    ((world_t *)arg)->interrupted = true;
}

static bf_member_t node_id = {.name = "id", .name_len = 2};

static void world_init(world_t *w, const bf_value_t *vars)
{
    node_id.value = bf_value_cstr("n1");
    *w = (world_t){
        .vars = bf_vars_new(),
        .instance_id = bf_value_cstr("i1"),
        .node = {.type = BF_VALUE_MAP, .len = 1, .as.members = &node_id},
    };
    if (!w->vars || (vars && bf_vars_set_all(w->vars, vars) != BF_OK)) {
        conf_die_nomem();
    }
}

static bf_expr_env_t env_of(conf_t *conf, world_t *w)
{
    return (bf_expr_env_t){.lookup = lookup,
                           .assign = assign,
                           .stop = stop,
                           .interrupt = interrupt,
                           .arg = w,
                           .arena = &conf->arena};
}

static bf_status_t evaluate(conf_t *conf, const char *text, const bf_value_t *vars,
                            bf_value_t *ret, bf_err_t *err)
{
    world_t w;
    bf_expr_t *expr = NULL;
    bf_value_t value = bf_value_null();
    world_init(&w, vars);
    bf_expr_env_t env = env_of(conf, &w);
    bf_status_t rc = bf_expr_parse(&conf->arena, text, strlen(text), &expr, err);
    if (rc == BF_OK) {
        rc = bf_expr_eval(expr, &env, &value, err);
    }
    /* What is left of the variables goes away with them. */
    if (rc == BF_OK && bf_value_copy(&conf->arena, &value, ret) != BF_OK) {
        conf_die_nomem();
    }
    bf_vars_free(w.vars);
    return rc;
}

/* --- conditions --- */

/* The types of the original: Integer and Long, Double, String, Boolean, null, ArrayList.
 */
static bool is_type(const bf_value_t *value, const char *type)
{
    switch (value->type) {
    case BF_VALUE_NULL:
        return !strcmp(type, "null");
    case BF_VALUE_BOOL:
        return !strcmp(type, "Boolean");
    case BF_VALUE_INT:
        return !strcmp(type, "Integer") || !strcmp(type, "Long");
    case BF_VALUE_REAL:
        return !strcmp(type, "Double") || !strcmp(type, "Float");
    case BF_VALUE_STRING:
        return !strcmp(type, "String");
    case BF_VALUE_LIST:
        return strstr(type, "List") != NULL;
    case BF_VALUE_MAP:
        return strstr(type, "Map") != NULL;
    }
    return false;
}

/* JSON has no infinity; the file writes it as text. */
static bool same_value(const bf_value_t *expected, const bf_value_t *came)
{
    if (came->type == BF_VALUE_REAL && !isfinite(came->as.real)) {
        const char *text = isnan(came->as.real) ? "NaN"
                           : came->as.real > 0  ? "Infinity"
                                                : "-Infinity";
        return expected->type == BF_VALUE_STRING && !strcmp(expected->as.string, text);
    }
    return bf_value_equal(expected, came);
}

static void compare_value(conf_case_t *c, const bf_value_t *scenario, const char *text,
                          const bf_value_t *came)
{
    const bf_value_t *decided = bf_value_get_str(c->decision, "as_condition");
    const bf_value_t *truth =
        decided ? decided : bf_value_get_str(scenario, "as_condition");
    const bf_value_t *expect = conf_expect(c, scenario);
    const char *type = c->decision ? NULL : bf_value_get_cstr(scenario, "value_type");
    if (!expect || !same_value(expect, came)) {
        conf_fail(c, "%s: expected %s, got %s", text, conf_json(c->conf, expect),
                  conf_json(c->conf, came));
    }
    if (type && !is_type(came, type)) {
        conf_fail(c, "%s: expected a %s, got a %s", text, type,
                  bf_value_type_name(came->type));
    }
    if (truth && truth->type == BF_VALUE_BOOL &&
        truth->as.boolean != bf_expr_is_true(came)) {
        conf_fail(c, "%s: as a condition expected %s", text, conf_json(c->conf, truth));
    }
}

/* The original refuses. We refuse too, or a decision says what comes instead. */
static void compare_refused(conf_case_t *c, const bf_value_t *scenario, const char *text,
                            const bf_value_t *came)
{
    const char *error = bf_value_get_cstr(scenario, "error");
    if (bf_value_get_str(c->decision, "expect")) {
        compare_value(c, scenario, text, came);
        return;
    }
    c->decision = conf_rule(c->conf, "expression-rules.json", "original_error", error);
    if (!c->decision) {
        conf_fail(c, "%s: expected an error (%s), got %s", text, error,
                  conf_json(c->conf, came));
    }
}

static void run_condition_text(conf_case_t *c, const bf_value_t *scenario,
                               const char *text)
{
    bf_err_t err = BF_ERR_INIT;
    bf_value_t came = bf_value_null();
    bf_status_t rc =
        evaluate(c->conf, text, bf_value_get_str(scenario, "vars"), &came, &err);
    bool refused = bf_value_get_cstr(scenario, "error") != NULL;
    if (rc != BF_OK && !refused) {
        conf_fail(c, "%s: %s", text, err.text);
    } else if (rc == BF_OK && refused) {
        compare_refused(c, scenario, text, &came);
    } else if (rc == BF_OK) {
        compare_value(c, scenario, text, &came);
    } else if (c->decision) {
        conf_fail(c, "%s: the decision expects a value, got: %s", text, err.text);
    }
    conf_map_t draft;
    conf_map_init(c->conf, &draft);
    bf_value_t truth = bf_value_bool(bf_expr_is_true(&came));
    conf_map_put(&draft, "expect", &came);
    conf_map_put(&draft, "as_condition", &truth);
    conf_came(c, conf_map_value(&draft));
}

static const char *case_name(conf_t *conf, const char *kind, const char *text,
                             const bf_value_t *vars)
{
    bool some = vars && vars->type == BF_VALUE_MAP && vars->len;
    return conf_text(conf, "%s %s%s%s", kind, text, some ? " " : "",
                     some ? conf_json(conf, vars) : "");
}

static void run_condition(conf_t *conf, const bf_value_t *scenario)
{
    conf_case_t c;
    const char *text = bf_value_get_cstr(scenario, "expr");
    const char *neutral = bf_value_get_cstr(scenario, "neutral_expr");
    const char *name = case_name(conf, "condition", text ? text : "(none)",
                                 bf_value_get_str(scenario, "vars"));
    if (!conf_case_begin(conf, &c, "expressions", name, scenario)) {
        return;
    }
    conf_check_members(&c, "condition", scenario, condition_members);
    if (text) {
        run_condition_text(&c, scenario, text);
    }
    if (neutral) {
        run_condition_text(&c, scenario, neutral);
    }
    if (!text && !neutral) {
        conf_fail(&c, "the case has no expr");
    }
    conf_case_end(&c);
}

/* --- scripts --- */

static void run_script_text(conf_case_t *c, const bf_value_t *scenario, const char *text,
                            world_t *w)
{
    bf_script_t *script = NULL;
    bf_err_t err = BF_ERR_INIT;
    world_init(w, bf_value_get_str(scenario, "vars_before"));
    bf_expr_env_t env = env_of(c->conf, w);
    bf_status_t rc = bf_script_parse(&c->conf->arena, text, strlen(text), &script, &err);
    if (rc == BF_OK) {
        rc = bf_script_run(script, &env, &err);
    }
    if (rc != BF_OK) {
        conf_fail(c, "%s: %s", text, err.text);
    }
}

static void compare_vars(conf_case_t *c, const bf_value_t *scenario, const char *text,
                         world_t *w)
{
    const bf_value_t *decided = bf_value_get_str(c->decision, "vars_after");
    const bf_value_t *expected =
        decided ? decided : bf_value_get_str(scenario, "vars_after");
    bf_value_t map = bf_value_null();
    bf_value_t *came = bf_arena_calloc(&c->conf->arena, 1, sizeof(*came));
    if (!came || bf_vars_as_map(w->vars, &c->conf->arena, &map) != BF_OK ||
        bf_value_copy(&c->conf->arena, &map, came) != BF_OK) {
        conf_die_nomem();
    }
    if (!expected || !bf_value_equal(expected, came)) {
        conf_fail(c, "%s: expected variables %s, got %s", text,
                  conf_json(c->conf, expected), conf_json(c->conf, came));
    }
    conf_map_t draft;
    conf_map_init(c->conf, &draft);
    conf_map_put(&draft, "vars_after", came);
    conf_came(c, conf_map_value(&draft));
}

/* A script that has no assignment form: its effect stands in the note in words. */
static void run_effect(conf_case_t *c, const bf_value_t *scenario, const char *original)
{
    const char *note = bf_value_get_cstr(scenario, "note");
    bool stops = note && strstr(note, "stop");
    bool interrupts = note && strstr(note, "interrupt");
    if (!stops && !interrupts) {
        conf_skip(c, "has no portable form");
        return;
    }
    world_t w;
    run_script_text(c, scenario, original, &w);
    if (w.stopped != stops || w.interrupted != interrupts) {
        conf_fail(c, "%s: expected %s, got %s", original, stops ? "stop" : "interrupt",
                  w.stopped       ? "stop"
                  : w.interrupted ? "interrupt"
                                  : "nothing");
    }
    compare_vars(c, scenario, original, &w);
    bf_vars_free(w.vars);
}

static void run_script(conf_t *conf, const bf_value_t *scenario)
{
    conf_case_t c;
    const char *form = bf_value_get_cstr(scenario, "assignment_form");
    const char *original = bf_value_get_cstr(scenario, "script_original");
    const char *text = form ? form : original;
    const char *name = case_name(conf, "script", text ? text : "(none)",
                                 bf_value_get_str(scenario, "vars_before"));
    if (!conf_case_begin(conf, &c, "expressions", name, scenario)) {
        return;
    }
    conf_check_members(&c, "script", scenario, script_members);
    world_t w;
    if (form) {
        run_script_text(&c, scenario, form, &w);
        compare_vars(&c, scenario, form, &w);
        bf_vars_free(w.vars);
    } else if (original) {
        run_effect(&c, scenario, original);
    } else {
        conf_fail(&c, "the case has no script");
    }
    /* Existing definitions say it this way. */
    if (form && original && !strncmp(original, "context.put(", 12)) {
        run_script_text(&c, scenario, original, &w);
        compare_vars(&c, scenario, original, &w);
        bf_vars_free(w.vars);
    }
    conf_case_end(&c);
}

/* --- ranges --- */

static bf_value_t range_values(conf_t *conf, const bf_range_t *range)
{
    conf_list_t list;
    conf_list_init(conf, &list);
    for (uint64_t i = 0; i < bf_range_count(range) && i < 10000; i++) {
        bf_value_t value = bf_value_int(bf_range_at(range, i));
        conf_list_add(&list, &value);
    }
    return conf_list_value(&list);
}

static void run_range(conf_t *conf, const bf_value_t *scenario)
{
    conf_case_t c;
    const char *text = bf_value_get_cstr(scenario, "range");
    if (!conf_case_begin(conf, &c, "expressions",
                         conf_text(conf, "range %s", text ? text : "(none)"), scenario)) {
        return;
    }
    conf_check_members(&c, "range", scenario, range_members);
    const bf_value_t *values = bf_value_get_str(scenario, "values");
    const char *error = bf_value_get_cstr(scenario, "error");
    bf_range_t range;
    bf_err_t err = BF_ERR_INIT;
    if (!text) {
        conf_fail(&c, "the case has no range");
    } else if (bf_range_parse(text, strlen(text), &range, &err) != BF_OK) {
        if (!error || strcmp(error, err.text) != 0) {
            conf_fail(&c, "expected %s, got the error \"%s\"",
                      error ? error : conf_json(conf, values), err.text);
        }
    } else {
        bf_value_t came = range_values(conf, &range);
        if (!values || !bf_value_equal(values, &came)) {
            conf_fail(&c, "expected %s, got %s", error ? error : conf_json(conf, values),
                      conf_json(conf, &came));
        }
    }
    conf_case_end(&c);
}

typedef void (*run_fn)(conf_t *conf, const bf_value_t *scenario);

static void run_all(conf_t *conf, const bf_value_t *cases, run_fn run)
{
    for (uint32_t i = 0; cases && cases->type == BF_VALUE_LIST && i < cases->len; i++) {
        run(conf, &cases->as.items[i]);
    }
}

void conf_run_expressions(conf_t *conf, const bf_value_t *file)
{
    run_all(conf, bf_value_get_str(file, "conditions"), run_condition);
    run_all(conf, bf_value_get_str(file, "scripts"), run_script);
    run_all(conf, bf_value_get_str(file, "script_probes"), run_script);
    run_all(conf, bf_value_get_str(file, "jeeflow"), run_condition);
    const bf_value_t *stepper = bf_value_get_str(file, "stepper");
    run_all(conf, bf_value_get_str(stepper, "cases"), run_range);
}
