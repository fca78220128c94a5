/*
 * conf_jeeflow_check.c - instance, rows, actors, variables and copies against `expect`
 *
 * SPDX-License-Identifier: MIT
 */
#include "conf_jeeflow_check.h"

#include <stdlib.h>
#include <string.h>

static const bf_process_row_t *instance_row(const jee_t *jee)
{
    return bf_ledger_find(jee->ledger, BF_LEDGER_PROCESS, jee_instance(jee));
}

static void differs(const jee_t *jee, const char *what, const bf_value_t *expected,
                    const bf_value_t *came)
{
    if (!came || !bf_value_equal(expected, came)) {
        conf_fail(jee->c, "%s: %s: expected %s, got %s", jee->where, what,
                  conf_json(jee->conf, expected), conf_json(jee->conf, came));
    }
}

static bf_value_t text_or_null(const char *text)
{
    return text ? bf_value_cstr(text) : bf_value_null();
}

/* The variables of a row or instance, in the arena of the run. */
static bf_value_t variables_of(const jee_t *jee, const char *text)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    if (bf_ledger_read_json(&jee->conf->arena, text, &value, &err) != BF_OK) {
        conf_fail(jee->c, "%s: variables: %s", jee->where, err.text);
        value = (bf_value_t){.type = BF_VALUE_MAP};
    }
    return value;
}

static void check_subset(const jee_t *jee, const char *what, const bf_value_t *expected,
                         const char *text)
{
    bf_value_t came = variables_of(jee, text);
    for (uint32_t i = 0; i < conf_members(expected); i++) {
        const bf_member_t *m = &expected->as.members[i];
        differs(jee, conf_text(jee->conf, "%s.%s", what, m->name), &m->value,
                bf_value_get_str(&came, m->name));
    }
}

/* --- rows --- */

static bf_value_t actors_of(const jee_t *jee, int64_t task_id)
{
    conf_list_t list;
    conf_list_init(jee->conf, &list);
    size_t cursor = 0;
    const bf_actor_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_ACTOR_TASK, task_id,
                                       &cursor))) {
        conf_list_add_text(&list, row->actor_id);
    }
    return conf_list_value(&list);
}

/* Place of a row in its instance, from 1; null = no such row. */
static bf_value_t place_of(const jee_t *jee, int64_t task_id)
{
    size_t cursor = 0;
    const bf_task_row_t *row;
    for (int64_t at = 1;
         (row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                     jee_instance(jee), &cursor));
         at++) {
        if (row->id == task_id) {
            return bf_value_int(at);
        }
    }
    return bf_value_null();
}

/* false: no such field */
static bool field_of(const jee_t *jee, const bf_task_row_t *row, const char *name,
                     bf_value_t *ret)
{
    if (!strcmp(name, "task_name")) {
        *ret = text_or_null(row->task_name);
    } else if (!strcmp(name, "display_name")) {
        *ret = text_or_null(row->display_name);
    } else if (!strcmp(name, "task_state")) {
        *ret = bf_value_int(row->task_state);
    } else if (!strcmp(name, "task_type")) {
        *ret = bf_value_int(row->task_type);
    } else if (!strcmp(name, "perform_type")) {
        *ret = bf_value_int(row->perform_type);
    } else if (!strcmp(name, "operator")) {
        *ret = text_or_null(row->operator_id);
    } else if (!strcmp(name, "form_key")) {
        *ret = text_or_null(row->form_key);
    } else if (!strcmp(name, "finished")) {
        *ret = bf_value_bool(row->finish_time != 0);
    } else if (!strcmp(name, "actors")) {
        *ret = actors_of(jee, row->id);
    } else if (!strcmp(name, "task_parent")) {
        *ret = place_of(jee, row->task_parent_id);
    } else {
        return false;
    }
    return true;
}

static void check_row(const jee_t *jee, uint32_t at, const bf_value_t *expected,
                      const bf_task_row_t *row)
{
    for (uint32_t i = 0; i < conf_members(expected); i++) {
        const bf_member_t *m = &expected->as.members[i];
        const char *what =
            conf_text(jee->conf, "row %u (%s): %s", at + 1, row->task_name, m->name);
        bf_value_t came;
        if (!strcmp(m->name, "variables")) {
            check_subset(jee, what, &m->value, row->variable);
        } else if (field_of(jee, row, m->name, &came)) {
            differs(jee, what, &m->value, &came);
        } else {
            conf_fail(jee->c, "%s: %s: unknown field", jee->where, what);
        }
    }
}

/* The rows in short, for messages. */
static const char *all_rows(const jee_t *jee)
{
    conf_list_t list;
    conf_list_init(jee->conf, &list);
    size_t cursor = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                       jee_instance(jee), &cursor))) {
        bf_value_t actors = actors_of(jee, row->id);
        conf_list_add_text(&list,
                           conf_text(jee->conf, "%s:%d%s", row->task_name,
                                     row->task_state, conf_json(jee->conf, &actors)));
    }
    bf_value_t value = conf_list_value(&list);
    return conf_json(jee->conf, &value);
}

static void check_tasks(const jee_t *jee, const bf_value_t *expected)
{
    size_t cursor = 0;
    uint32_t at = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                       jee_instance(jee), &cursor))) {
        if (at < conf_items(expected)) {
            check_row(jee, at, &expected->as.items[at], row);
        }
        at++;
    }
    if (at != conf_items(expected)) {
        conf_fail(jee->c, "%s: tasks: expected %u rows, got %u: %s", jee->where,
                  conf_items(expected), at, all_rows(jee));
    }
}

static int compare_texts(const void *a, const void *b)
{
    const bf_value_t *x = a;
    const bf_value_t *y = b;
    return strcmp(x->as.string, y->as.string);
}

static void check_doing(const jee_t *jee, const bf_value_t *expected)
{
    conf_list_t list;
    conf_list_init(jee->conf, &list);
    size_t cursor = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                       jee_instance(jee), &cursor))) {
        if (row->task_state == BF_APPROVAL_DOING) {
            conf_list_add_text(&list, row->task_name);
        }
    }
    if (list.used) {
        qsort(list.items, list.used, sizeof(*list.items), compare_texts);
    }
    bf_value_t came = conf_list_value(&list);
    differs(jee, "doing", expected, &came);
}

/* --- the instance --- */

static void check_copies(const jee_t *jee, const bf_value_t *expected)
{
    conf_list_t list;
    conf_list_init(jee->conf, &list);
    size_t cursor = 0;
    const bf_cc_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_CC_PROCESS,
                                       jee_instance(jee), &cursor))) {
        conf_list_add_text(&list, row->actor_id);
    }
    bf_value_t came = conf_list_value(&list);
    differs(jee, "cc", expected, &came);
}

static void check_absent(const jee_t *jee, const bf_value_t *names, const char *text)
{
    bf_value_t variables = variables_of(jee, text);
    for (uint32_t i = 0; i < conf_items(names); i++) {
        const bf_value_t *name = &names->as.items[i];
        const bf_value_t *came = name->type == BF_VALUE_STRING
                                     ? bf_value_get_str(&variables, name->as.string)
                                     : name;
        if (came) {
            conf_fail(jee->c, "%s: variables.%s: expected to be absent, got %s",
                      jee->where, conf_json(jee->conf, name), conf_json(jee->conf, came));
        }
    }
}

static void check_error(const jee_t *jee, const bf_value_t *expected, const bf_err_t *err)
{
    bool failed = err->status != BF_OK;
    if (expected->type == BF_VALUE_NULL && failed) {
        conf_fail(jee->c, "%s: expected success, got: %s", jee->where, err->text);
    } else if (expected->type == BF_VALUE_STRING &&
               (!failed || !strstr(err->text, expected->as.string))) {
        conf_fail(jee->c, "%s: expected the error %s, got: %s", jee->where,
                  conf_json(jee->conf, expected), failed ? err->text : "success");
    } else if (expected->type == BF_VALUE_BOOL && expected->as.boolean != failed) {
        conf_fail(jee->c, "%s: expected %s, got: %s", jee->where,
                  expected->as.boolean ? "an error" : "success",
                  failed ? err->text : "success");
    } else if (expected->type != BF_VALUE_NULL && expected->type != BF_VALUE_STRING &&
               expected->type != BF_VALUE_BOOL) {
        conf_fail(jee->c, "%s: error: expected a text, true or null in the scenario",
                  jee->where);
    }
}

/* What concerns the instance; it is there. */
static void check_instance(const jee_t *jee, const bf_value_t *expect,
                           const bf_process_row_t *row)
{
    const bf_value_t *e = bf_value_get_str(expect, "instance_state");
    bf_value_t state = bf_value_int(row->state);
    if (e) {
        differs(jee, "instance_state", e, &state);
    }
    if ((e = bf_value_get_str(expect, "business_no"))) {
        bf_value_t number = text_or_null(row->business_no);
        differs(jee, "business_no", e, &number);
    }
    if ((e = bf_value_get_str(expect, "variables"))) {
        check_subset(jee, "variables", e, row->variable);
    }
    if ((e = bf_value_get_str(expect, "absent_variables"))) {
        check_absent(jee, e, row->variable);
    }
    if ((e = bf_value_get_str(expect, "tasks"))) {
        check_tasks(jee, e);
    }
    if ((e = bf_value_get_str(expect, "doing"))) {
        check_doing(jee, e);
    }
    if ((e = bf_value_get_str(expect, "cc"))) {
        check_copies(jee, e);
    }
}

static const char *const expect_members[] = {
    "instance_state", "tasks", "doing", "variables", "absent_variables",
    "business_no",    "cc",    "error", "data",      NULL};

/* true: something of the instance is to be compared */
static bool wants_instance(const bf_value_t *expect)
{
    for (unsigned i = 0; i < 7; i++) {
        if (bf_value_get_str(expect, expect_members[i])) {
            return true;
        }
    }
    return false;
}

void jee_check(jee_t *jee, uint32_t index, const bf_value_t *expect, const bf_err_t *err)
{
    const bf_value_t *e = bf_value_get_str(expect, "error");
    const bf_process_row_t *row = instance_row(jee);
    conf_check_members(jee->c, jee->where, expect, expect_members);
    if (e) {
        check_error(jee, e, err);
    }
    if (row) {
        check_instance(jee, expect, row);
    } else if (wants_instance(expect)) {
        conf_fail(jee->c, "%s: there is no instance%s%s", jee->where,
                  err->status != BF_OK ? ": " : "",
                  err->status != BF_OK ? err->text : "");
    }
    e = bf_value_get_str(expect, "data");
    if (e) {
        conf_facade_check(jee, index, e);
    }
}
