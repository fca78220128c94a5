/*
 * conf_jeeflow.c - approval scenarios: flows, a directory of users, steps, expectations
 *
 * Beside what the original suite has, scenarios of ours may have `surrogates`
 * (delegations that are there from the start), `now` (a time that stands still), and the
 * operations `deploy`, `redeploy` (with `definition`), `disable` (a definition) and
 * `child` (gives the label `child` to the running sub-process of `node`, and makes it the
 * current instance).
 *
 * Nothing in a scenario is overlooked: members, operations and fields that are not known
 * fail the case and are named.
 *
 * SPDX-License-Identifier: MIT
 */
#include "conf_jeeflow.h"
#include "bpmflow/num.h"

#include <stdlib.h>
#include <string.h>

#include "conf_jeeflow_check.h"

/* --- instances and rows --- */

int64_t jee_instance(const jee_t *jee)
{
    for (unsigned i = 0; i < jee->instance_count; i++) {
        if (!strcmp(jee->instances[i].label, jee->label)) {
            return jee->instances[i].id;
        }
    }
    return 0;
}

static void set_instance(jee_t *jee, int64_t id)
{
    for (unsigned i = 0; i < jee->instance_count; i++) {
        if (!strcmp(jee->instances[i].label, jee->label)) {
            jee->instances[i].id = id;
            return;
        }
    }
    if (jee->instance_count == JEE_LABELS_MAX) {
        conf_fail(jee->c, "%s: over %d instances", jee->where, JEE_LABELS_MAX);
        return;
    }
    jee->instances[jee->instance_count].label = jee->label;
    jee->instances[jee->instance_count++].id = id;
}

static const bf_task_row_t *find_row(const jee_t *jee, const char *name,
                                     const char *actor, int64_t seq)
{
    size_t cursor = 0;
    int64_t at = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                       jee_instance(jee), &cursor))) {
        at++;
        if (seq ? at == seq
                : row->task_state == BF_APPROVAL_DOING && !strcmp(row->task_name, name) &&
                      (!actor || bf_ledger_is_actor(jee->ledger, row->id, actor))) {
            return row;
        }
    }
    return NULL;
}

const bf_task_row_t *jee_open_row(const jee_t *jee, const char *task_name)
{
    return find_row(jee, task_name, NULL, 0);
}

/* The row a step is about.  One that is not open is looked for among all rows, so that
 * the engine says what is wrong; 0 = there is none. */
static int64_t task_of(const jee_t *jee, const bf_value_t *step)
{
    const char *name = bf_value_get_cstr(step, "task");
    const bf_value_t *seq = bf_value_get_str(step, "task_seq");
    const bf_task_row_t *row = NULL;
    if (seq) {
        row = find_row(jee, "", NULL, seq->type == BF_VALUE_INT ? seq->as.integer : -1);
    } else if (name) {
        row = find_row(jee, name, bf_value_get_cstr(step, "task_actor"), 0);
        size_t cursor = 0;
        const bf_task_row_t *other;
        while (!row &&
               (other = bf_ledger_next_by_id(jee->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                             jee_instance(jee), &cursor))) {
            row = strcmp(other->task_name, name) != 0 ? NULL : other;
        }
    }
    return row ? row->id : 0;
}

/* --- operations --- */

typedef bf_status_t (*op_fn)(jee_t *jee, const bf_value_t *step, bf_err_t *err);

static bf_status_t start_with(jee_t *jee, const bf_value_t *step, bool with_form,
                              bf_err_t *err)
{
    const char *name = bf_value_get_cstr(step, "flow");
    if (!name && jee->flows->len) {
        name = bf_value_get_cstr(&jee->flows->as.items[0], "name");
    }
    bf_approval_start_t start = {.name = name,
                                 .operator_id = bf_value_get_cstr(step, "operator"),
                                 .args = bf_value_get_str(step, "args")};
    int64_t id = 0;
    bf_status_t rc = with_form
                         ? bf_approval_start_and_execute(jee->approval, &start, &id, err)
                         : bf_approval_start(jee->approval, &start, &id, err);
    if (rc == BF_OK) {
        set_instance(jee, id);
    }
    return rc;
}

static bf_status_t op_start(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return start_with(jee, step, false, err);
}

static bf_status_t op_start_and_execute(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return start_with(jee, step, true, err);
}

static bf_status_t op_execute(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    const bf_value_t *type = bf_value_get_str(step, "submitType");
    bf_approval_execute_t execute = {.task_id = task_of(jee, step),
                                     .operator_id = bf_value_get_cstr(step, "operator"),
                                     .submit_type =
                                         type && type->type == BF_VALUE_INT
                                             ? (bf_submit_type_t)type->as.integer
                                             : BF_SUBMIT_AGREE,
                                     .task_name = bf_value_get_cstr(step, "taskName"),
                                     .args = bf_value_get_str(step, "args")};
    return bf_approval_execute(jee->approval, &execute, err);
}

#define INSTANCE_OP(name)                                                                \
    static bf_status_t op_##name(jee_t *jee, const bf_value_t *step, bf_err_t *err)      \
    {                                                                                    \
        return bf_approval_##name(jee->approval, jee_instance(jee),                      \
                                  bf_value_get_cstr(step, "operator"), err);             \
    }
INSTANCE_OP(withdraw)
INSTANCE_OP(interrupt)
INSTANCE_OP(resume)
INSTANCE_OP(pending)
INSTANCE_OP(activate)

static bf_status_t op_abandon(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return bf_approval_abandon(jee->approval, task_of(jee, step),
                               bf_value_get_cstr(step, "operator"), err);
}

typedef bf_status_t (*actors_fn)(bf_approval_t *approval,
                                 const bf_approval_actors_t *actors, bf_err_t *err);

static bf_status_t with_actors(jee_t *jee, const bf_value_t *step, actors_fn change,
                               bf_err_t *err)
{
    const bf_value_t *list = bf_value_get_str(step, "actors");
    bf_approval_names_t names = {0};
    if (bf_approval_names_add_value(&jee->conf->arena, &names, list) != BF_OK) {
        conf_die_nomem();
    }
    bf_approval_actors_t actors = {.task_id = task_of(jee, step),
                                   .actors = names.items,
                                   .count = names.count,
                                   .operator_id = bf_value_get_cstr(step, "operator")};
    return change(jee->approval, &actors, err);
}

static bf_status_t op_add_actor(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return with_actors(jee, step, bf_approval_add_actors, err);
}

static bf_status_t op_transfer(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return with_actors(jee, step, bf_approval_transfer, err);
}

static bf_status_t op_remove_actor(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    return with_actors(jee, step, bf_approval_remove_actors, err);
}

/* --- operations of our own scenarios --- */

static const bf_define_row_t *define_of(const jee_t *jee, const bf_value_t *step,
                                        bf_err_t *err)
{
    const char *name = bf_value_get_cstr(step, "flow");
    const bf_define_row_t *row = name ? bf_ledger_latest_define(jee->ledger, name) : NULL;
    if (!row) {
        (void)bf_err_set(err, BF_E_NOT_FOUND, "there is no flow %s", name ? name : "");
    }
    return row;
}

static bf_status_t deploy(jee_t *jee, const bf_value_t *definition,
                          const bf_define_row_t *over, bf_err_t *err)
{
    bf_str_t text;
    bf_status_t rc;
    bf_str_init(&text, 0);
    bf_json_write(&text, definition);
    if (over) {
        rc = bf_approval_redeploy(jee->approval, over->id, bf_str_peek(&text), text.len,
                                  NULL, err);
    } else {
        rc = bf_approval_deploy(jee->approval, bf_str_peek(&text), text.len, NULL, NULL,
                                err);
    }
    bf_str_fini(&text);
    return rc;
}

static bf_status_t op_deploy(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    static const bf_value_t none = {.type = BF_VALUE_MAP};
    const bf_value_t *definition = bf_value_get_str(step, "definition");
    return deploy(jee, definition ? definition : &none, NULL, err);
}

static bf_status_t op_redeploy(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    static const bf_value_t none = {.type = BF_VALUE_MAP};
    const bf_value_t *definition = bf_value_get_str(step, "definition");
    const bf_define_row_t *row = define_of(jee, step, err);
    return row ? deploy(jee, definition ? definition : &none, row, err) : err->status;
}

static bf_status_t op_disable(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    const bf_define_row_t *row = define_of(jee, step, err);
    if (!row) {
        return err->status;
    }
    bf_define_row_t changed = *row;
    changed.state = 0;
    return bf_ledger_update(jee->ledger, BF_LEDGER_DEFINE, &changed, err);
}

static bf_status_t op_child(jee_t *jee, const bf_value_t *step, bf_err_t *err)
{
    const char *node = bf_value_get_cstr(step, "node");
    const char *label = bf_value_get_cstr(step, "child");
    int64_t parent = jee_instance(jee);
    size_t cursor = 0;
    const bf_process_row_t *row;
    while ((row = bf_ledger_next(jee->ledger, BF_LEDGER_PROCESS, &cursor))) {
        if (row->parent_id == parent && row->state == BF_APPROVAL_DOING && node &&
            row->parent_node_name && !strcmp(row->parent_node_name, node)) {
            jee->label = label ? label : jee->label;
            set_instance(jee, row->id);
            return BF_OK;
        }
    }
    return bf_err_set(err, BF_E_NOT_FOUND, "there is no running sub-process of %s",
                      node ? node : "");
}

static const struct {
    const char *name;
    op_fn run;
} ops[] = {
    {"start", op_start},         {"start_and_execute", op_start_and_execute},
    {"execute", op_execute},     {"withdraw", op_withdraw},
    {"interrupt", op_interrupt}, {"resume", op_resume},
    {"pending", op_pending},     {"activate", op_activate},
    {"abandon", op_abandon},     {"add_actor", op_add_actor},
    {"transfer", op_transfer},   {"remove_actor", op_remove_actor},
    {"deploy", op_deploy},       {"redeploy", op_redeploy},
    {"disable", op_disable},     {"child", op_child},
};

/* What a request started is the instance of its label, where that has none. */
static void note_started(jee_t *jee, const bf_value_t *step, const bf_value_t *data)
{
    const char *action = bf_value_get_cstr(step, "action");
    const char *id = bf_value_get_cstr(data, "processInstanceId");
    int64_t number;
    if (action && strstr(action, "/startAndExecute") && id && !jee_instance(jee) &&
        bf_num_parse_i64(id, strlen(id), &number, NULL) == BF_OK) {
        set_instance(jee, number);
    }
}

/* false: there is no such operation */
static bool run_op(jee_t *jee, const char *op, const bf_value_t *step, uint32_t index,
                   bf_err_t *err)
{
    if (!strcmp(op, "facade")) {
        bf_status_t rc = conf_facade_run(jee, step, &jee->data[index], err);
        note_started(jee, step, jee->data[index]);
        if (rc != BF_OK && err->status == BF_OK) {
            (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
        }
        return true;
    }
    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        if (!strcmp(ops[i].name, op)) {
            (void)ops[i].run(jee, step, err);
            return true;
        }
    }
    return false;
}

/* --- scenarios --- */

static const char *const step_members[] = {"op",
                                           "flow",
                                           "instance",
                                           "operator",
                                           "args",
                                           "task",
                                           "task_actor",
                                           "task_seq",
                                           "submitType",
                                           "taskName",
                                           "actors",
                                           "action",
                                           "expect",
                                           "basis",
                                           "java",
                                           "go",
                                           "asserted_by_source",
                                           "note",
                                           "definition",
                                           "node",
                                           "child",
                                           NULL};

static const char *const scenario_members[] = {"name",
                                               "kind",
                                               "source",
                                               "desc",
                                               "seed",
                                               "surprising",
                                               "user_probably_wants",
                                               "flows",
                                               "steps",
                                               "surrogate_enabled",
                                               "surrogates",
                                               "now",
                                               NULL};

static void run_step(jee_t *jee, uint32_t index)
{
    const bf_value_t *step = &jee->steps->as.items[index];
    const char *op = bf_value_get_cstr(step, "op");
    const char *label = bf_value_get_cstr(step, "instance");
    bf_err_t err = BF_ERR_INIT;
    op = op ? op : "";
    jee->where = conf_text(jee->conf, "step %u (%s)", index + 1, op);
    conf_check_members(jee->c, jee->where, step, step_members);
    jee->label = label ? label : jee->label;
    if (!run_op(jee, op, step, index, &err)) {
        conf_fail(jee->c, "%s: unknown operation \"%s\"", jee->where, op);
        return;
    }
    jee_check(jee, index, bf_value_get_str(step, "expect"), &err);
}

/* In the original suite a flow is registered with version 1. */
static bf_status_t deploy_first(jee_t *jee, const bf_value_t *flow, bf_err_t *err)
{
    const char *name = bf_value_get_cstr(flow, "name");
    bf_status_t rc = deploy(jee, flow, NULL, err);
    const bf_define_row_t *row =
        rc == BF_OK && name ? bf_ledger_latest_define(jee->ledger, name) : NULL;
    if (!row || row->version) {
        return rc;
    }
    bf_define_row_t changed = *row;
    changed.version = 1;
    return bf_ledger_update(jee->ledger, BF_LEDGER_DEFINE, &changed, err);
}

static bool deploy_flows(jee_t *jee)
{
    for (uint32_t i = 0; i < jee->flows->len; i++) {
        bf_err_t err = BF_ERR_INIT;
        if (deploy_first(jee, &jee->flows->as.items[i], &err) != BF_OK) {
            conf_fail(jee->c, "flow %u: %s", i + 1, err.text);
            return false;
        }
    }
    return true;
}

static void run_case(conf_t *conf, conf_case_t *c, const bf_value_t *scenario)
{
    static const bf_value_t none = {.type = BF_VALUE_LIST};
    const bf_value_t *flows = bf_value_get_str(scenario, "flows");
    const bf_value_t *steps = bf_value_get_str(scenario, "steps");
    jee_t jee = {.conf = conf,
                 .c = c,
                 .scenario = scenario,
                 .flows = conf_items(flows) ? flows : &none,
                 .steps = conf_items(steps) ? steps : &none,
                 .label = "i1",
                 .where = "flows"};
    conf_check_members(c, "scenario", scenario, scenario_members);
    jee_world_begin(&jee);
    jee.data = bf_arena_calloc(&conf->arena, jee.steps->len + 1U, sizeof(*jee.data));
    if (!jee.data) {
        conf_die_nomem();
    }
    if (deploy_flows(&jee)) {
        conf_facade_begin(&jee);
        for (uint32_t i = 0; i < jee.steps->len; i++) {
            run_step(&jee, i);
        }
        conf_facade_end(&jee);
    }
    jee_world_end(&jee);
}

/* `surprising` tells about the original; what holds is `expect`. */
void conf_run_jeeflow(conf_t *conf, const bf_value_t *file)
{
    const char *name = bf_value_get_cstr(file, "name");
    conf_case_t c;
    if (conf_case_begin(conf, &c, "jeeflow", name ? name : conf->file, NULL)) {
        run_case(conf, &c, file);
        conf_case_end(&c);
    }
}
