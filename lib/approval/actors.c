/*
 * actors.c - who may do a task: tf_nextNodeOperator, assignee, handlers, delegations
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <string.h>

#include "lib/approval/approval_int.h"

const bf_approval_handler_t *bf_stage_handler(const bf_stage_t *stage, const char *name)
{
    for (size_t i = 0; name && i < stage->host->handler_count; i++) {
        if (!strcmp(stage->host->handlers[i].name, name)) {
            return &stage->host->handlers[i];
        }
    }
    return NULL;
}

bf_status_t bf_stage_call(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                          bf_approval_call_t *ret)
{
    bf_value_t *map = bf_arena_calloc(&stage->arena, 1, sizeof(*map));
    if (!map || bf_vars_as_map(c->vars, &stage->arena, map) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    *ret = (bf_approval_call_t){.flow = c->flow,
                                .node = node,
                                .instance = &c->row,
                                .operator_id = stage->operator_id,
                                .variables = map,
                                .directory = &stage->host->directory,
                                .arena = &stage->arena};
    return BF_OK;
}

/* --- built-in handlers --- */

static bf_status_t dept_leaders(const bf_approval_call_t *call, const char *user_id,
                                bool is_main, bf_approval_names_t *ret, bf_err_t *err)
{
    const bf_approval_directory_t *d = call->directory;
    bf_approval_user_t user = {0};
    if (!d->user || !d->leaders || !user_id) {
        return BF_OK;
    }
    bf_status_t rc = d->user(d->arg, call->arena, user_id, &user, err);
    return rc == BF_OK && user.dept_id
               ? d->leaders(d->arg, call->arena, user.dept_id, is_main, ret, err)
               : rc;
}

/* flow.auto belongs to no department: the initiator's counts then. */
static const char *current_user(const bf_approval_call_t *call)
{
    return bf_approval_is_system(call->operator_id) || !*call->operator_id
               ? call->instance->operator_id
               : call->operator_id;
}

static bf_status_t assign_initiator(const bf_approval_call_t *call,
                                    bf_approval_names_t *ret, bf_err_t *err)
{
    const char *id = call->instance->operator_id;
    bf_status_t rc = bf_approval_names_add(call->arena, ret, id, strlen(id));
    return rc == BF_OK ? rc : bf_err_nomem(err, "actors");
}

static bf_status_t assign_dept(const bf_approval_call_t *call, bf_approval_names_t *ret,
                               bf_err_t *err)
{
    return dept_leaders(call, current_user(call), false, ret, err);
}

static bf_status_t assign_dept_main(const bf_approval_call_t *call,
                                    bf_approval_names_t *ret, bf_err_t *err)
{
    return dept_leaders(call, current_user(call), true, ret, err);
}

static bf_status_t assign_applicant_dept(const bf_approval_call_t *call,
                                         bf_approval_names_t *ret, bf_err_t *err)
{
    return dept_leaders(call, call->instance->operator_id, false, ret, err);
}

static bf_status_t assign_applicant_dept_main(const bf_approval_call_t *call,
                                              bf_approval_names_t *ret, bf_err_t *err)
{
    return dept_leaders(call, call->instance->operator_id, true, ret, err);
}

static bf_status_t assign_role(const bf_approval_call_t *call, bf_approval_names_t *ret,
                               bf_err_t *err)
{
    const bf_approval_directory_t *d = call->directory;
    return d->role ? d->role(d->arg, call->arena, call->node->id, ret, err) : BF_OK;
}

/* Length of a name without `_<digits>` at its end. */
static size_t bare_length(const char *name)
{
    size_t len = strlen(name);
    size_t at = len;
    while (at && isdigit((unsigned char)name[at - 1])) {
        at--;
    }
    return at > 1 && at < len && name[at - 1] == '_' ? at - 1 : len;
}

/* The value of the form field that is named like the node (rule 7). */
static bf_status_t assign_form_field(const bf_approval_call_t *call,
                                     bf_approval_names_t *ret, bf_err_t *err)
{
    const char *id = call->node->id;
    size_t bare = bare_length(id);
    const bf_value_t *value = NULL;
    const char *prefixed = bf_arena_printf(call->arena, "f_%s", id);
    if (!prefixed) {
        return bf_err_nomem(err, "actors");
    }
    value = bf_value_get_str(call->variables, prefixed);
    if (bf_value_is_null(value)) {
        value = bf_value_get_str(call->variables, id);
    }
    if (bf_value_is_null(value) && bare < strlen(id)) {
        value = bf_value_get(call->variables, id, bare);
    }
    if (bf_value_is_null(value) && bare < strlen(id)) {
        value = bf_value_get(call->variables, prefixed, bare + 2);
    }
    return bf_approval_names_add_value(call->arena, ret, value) == BF_OK
               ? BF_OK
               : bf_err_nomem(err, "actors");
}

typedef bf_status_t (*assign_fn)(const bf_approval_call_t *call, bf_approval_names_t *ret,
                                 bf_err_t *err);

/* By what the name of the Java class says, whatever its package and ending. */
static const struct {
    const char *stem;
    assign_fn assign;
} built_in[] = {
    {"FormField", assign_form_field},
    {"Operator", assign_initiator},
    {"Applicant", assign_initiator},
    {"DeptLeader", assign_dept},
    {"DeptMainLeader", assign_dept_main},
    {"ApplicantDeptLeader", assign_applicant_dept},
    {"ApplicantDeptMainLeader", assign_applicant_dept_main},
    {"TaskRole", assign_role},
    {"Role", assign_role},
};

static assign_fn find_built_in(const char *name)
{
    static const char *const endings[] = {"AssigneeHandler", "AssignmentHandler",
                                          "Handler", ""};
    const char *bare = name;
    for (const char *p = name; *p; p++) {
        bare = *p == '.' || *p == '$' ? p + 1 : bare;
    }
    size_t len = strlen(bare);
    for (unsigned e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
        size_t end_len = strlen(endings[e]);
        if (len < end_len || strcmp(bare + len - end_len, endings[e]) != 0) {
            continue;
        }
        for (unsigned i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
            if (strlen(built_in[i].stem) == len - end_len &&
                !memcmp(built_in[i].stem, bare, len - end_len)) {
                return built_in[i].assign;
            }
        }
    }
    return NULL;
}

/* An unknown handler and one that fails find nobody (rule 9). */
static bf_status_t ask_handler(bf_stage_t *stage, bf_case_t *c,
                               const bf_flow_node_t *node, bf_approval_names_t *ret)
{
    bf_approval_call_t call;
    bf_err_t err = BF_ERR_INIT;
    const bf_approval_handler_t *own = bf_stage_handler(stage, node->assignment_handler);
    assign_fn assign = find_built_in(node->assignment_handler);
    bf_status_t rc = bf_stage_call(stage, c, node, &call);
    if (rc != BF_OK) {
        return rc;
    }
    if (own && own->assign) {
        rc = own->assign(own->arg, &call, ret, &err);
    } else if (assign) {
        rc = assign(&call, ret, &err);
    }
    if (rc == BF_E_NOMEM) {
        return bf_stage_nomem(stage);
    }
    if (rc != BF_OK) {
        ret->count = 0;
    }
    return BF_OK;
}

/* --- assignee --- */

/* A token: the initiator, the value of a variable, or a user. */
static bf_status_t add_token(bf_stage_t *stage, const bf_case_t *c, const char *token,
                             bf_approval_names_t *ret)
{
    if (!strcmp(token, "applicant")) {
        token = c->row.operator_id;
    } else {
        const bf_value_t *value = bf_vars_get_str(c->vars, token);
        if (value && (value->type == BF_VALUE_STRING || value->type == BF_VALUE_INT ||
                      value->type == BF_VALUE_LIST)) {
            return bf_approval_names_add_value(&stage->arena, ret, value);
        }
    }
    return bf_approval_names_add(&stage->arena, ret, token, strlen(token));
}

static bf_status_t ask_assignee(bf_stage_t *stage, const bf_case_t *c,
                                const char *assignee, bf_approval_names_t *ret)
{
    bf_approval_names_t tokens = {0};
    bf_value_t text = bf_value_cstr(assignee);
    bf_status_t rc = bf_approval_names_add_value(&stage->arena, &tokens, &text);
    for (size_t i = 0; rc == BF_OK && i < tokens.count; i++) {
        rc = add_token(stage, c, tokens.items[i], ret);
    }
    return rc == BF_OK ? BF_OK : bf_stage_nomem(stage);
}

bf_status_t bf_stage_resolve(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                             bf_approval_names_t *ret)
{
    bf_status_t rc = bf_approval_names_add_value(
        &stage->arena, ret, bf_vars_get_str(c->vars, VAR_NEXT_OPERATOR));
    if (rc != BF_OK) {
        return bf_stage_nomem(stage);
    }
    if (!ret->count && node->assignee) {
        rc = ask_assignee(stage, c, node->assignee, ret);
    }
    if (rc == BF_OK && !ret->count && node->assignment_handler) {
        rc = ask_handler(stage, c, node, ret);
    }
    return rc;
}

/* --- delegations --- */

static bool counts_now(const bf_stage_t *stage, const bf_surrogate_row_t *row)
{
    return row->enabled == 1 && row->surrogate && *row->surrogate &&
           (!row->start_time || row->start_time <= stage->now_ms) &&
           (!row->end_time || stage->now_ms <= row->end_time);
}

/* The delegation for the process, else that for all of them; the newest of several. */
static const char *surrogate_of(const bf_stage_t *stage, const bf_case_t *c,
                                const char *principal)
{
    const char *exact = NULL;
    const char *general = NULL;
    size_t cursor = 0;
    const bf_surrogate_row_t *row;
    while ((row = bf_ledger_next_by_text(stage->ledger, BF_LEDGER_BY_SURROGATE_OPERATOR,
                                         principal, &cursor))) {
        if (!counts_now(stage, row)) {
            continue;
        }
        if (!row->process_name || !*row->process_name) {
            general = row->surrogate;
        } else if (!strcmp(row->process_name, c->flow->name)) {
            exact = row->surrogate;
        }
    }
    return exact ? exact : general;
}

bf_status_t bf_stage_surrogates(bf_stage_t *stage, const bf_case_t *c,
                                bf_approval_names_t *names)
{
    size_t principals = names->count;
    for (size_t i = 0; stage->host->is_surrogate_enabled && i < principals; i++) {
        const char *agent = surrogate_of(stage, c, names->items[i]);
        if (agent &&
            bf_approval_names_add(&stage->arena, names, agent, strlen(agent)) != BF_OK) {
            return bf_stage_nomem(stage);
        }
    }
    return BF_OK;
}
