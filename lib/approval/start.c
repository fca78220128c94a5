/*
 * start.c - an application begins
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "lib/approval/approval_int.h"

static bf_status_t set_text(bf_stage_t *stage, bf_case_t *c, const char *name,
                            const char *text)
{
    bf_value_t value = text ? bf_value_cstr(text) : bf_value_null();
    return text ? bf_case_set(stage, c, name, &value) : BF_OK;
}

/* What is known of the initiator; nothing of flow.auto and flow.admin (rule 11). */
static bf_status_t ask_user(bf_stage_t *stage, const char *id, bf_approval_user_t *ret)
{
    const bf_approval_directory_t *d = &stage->host->directory;
    *ret = (bf_approval_user_t){0};
    bf_status_t rc = d->user && !bf_approval_is_system(id)
                         ? d->user(d->arg, &stage->arena, id, ret, stage->err)
                         : BF_OK;
    ret->id = bf_approval_is_system(id) ? NULL : id;
    return rc;
}

bf_status_t bf_start_variables(bf_stage_t *stage, bf_case_t *c)
{
    bf_approval_user_t user;
    const char *id = c->row.operator_id;
    bf_status_t rc = ask_user(stage, id, &user);
    const struct {
        const char *name;
        const char *value;
    } vars[] = {{"u_userId", user.id},      {"u_realName", user.real_name},
                {"u_deptId", user.dept_id}, {"u_deptName", user.dept_name},
                {"u_postId", user.post_id}, {"u_postName", user.post_name}};
    for (unsigned i = 0; rc == BF_OK && i < sizeof(vars) / sizeof(vars[0]); i++) {
        rc = set_text(stage, c, vars[i].name, vars[i].value);
    }
    if (rc != BF_OK) {
        return rc;
    }
    char time[BF_APPROVAL_TIME_MAX];
    bf_approval_format_time(stage->approval, stage->now_ms, time);
    const char *title =
        bf_arena_printf(&stage->arena, "%s的%s-%s", user.real_name ? user.real_name : id,
                        c->flow->display_name, time);
    return title ? set_text(stage, c, "autoGenTitle", title) : bf_stage_nomem(stage);
}

/* --- what the arguments say --- */

bf_status_t bf_start_business_no(bf_stage_t *stage, bf_case_t *c, const bf_value_t *args)
{
    const bf_value_t *value = bf_value_get_str(args, "BUSINESS_NO");
    bf_approval_names_t number = {0};
    if (!value || (value->type != BF_VALUE_STRING && value->type != BF_VALUE_INT)) {
        return BF_OK;
    }
    const char *text = value->type == BF_VALUE_STRING ? value->as.string : NULL;
    if (!text) {
        if (bf_approval_names_add_value(&stage->arena, &number, value) != BF_OK) {
            return bf_stage_nomem(stage);
        }
        text = number.items[0];
    }
    if (strlen(text) > BF_ID_MAX_BYTES) {
        return bf_err_set(stage->err, BF_E_LIMIT,
                          "BUSINESS_NO: over %d characters; shorten it", BF_ID_MAX_CHARS);
    }
    c->row.business_no = text;
    c->is_changed = true;
    return BF_OK;
}

static bf_status_t read_args(bf_stage_t *stage, bf_case_t *c, const bf_value_t *args)
{
    bf_approval_names_t copies = {0};
    bf_value_t counted;
    bf_status_t rc = bf_submit_filter(stage, NULL, args, &counted);
    if (rc == BF_OK) {
        rc = bf_case_set_all(stage, c, &counted);
    }
    if (rc == BF_OK) {
        rc = bf_start_business_no(stage, c, args);
    }
    if (rc != BF_OK) {
        return rc;
    }
    if (bf_approval_names_add_value(&stage->arena, &copies,
                                    bf_value_get_str(args, "f_ccActors")) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    return bf_stage_cc(stage, c, &copies);
}

static bf_status_t find_define(const bf_approval_t *approval,
                               const bf_approval_start_t *start,
                               const bf_define_row_t **ret, bf_err_t *err)
{
    const bf_ledger_t *ledger = bf_approval_ledger(approval);
    const bf_define_row_t *row = NULL;
    if (start->define_id) {
        row = bf_ledger_find(ledger, BF_LEDGER_DEFINE, start->define_id);
    } else if (start->name) {
        row = bf_ledger_latest_define(ledger, start->name);
    }
    if (!row) {
        return bf_err_set(
            err, BF_E_NOT_FOUND,
            "20010002 没有流程定义: there is no definition \"%s\" (ID %lld); "
            "deploy it",
            start->name ? start->name : "", (long long)start->define_id);
    }
    if (row->state != 1) {
        return bf_err_set(
            err, BF_E_REJECTED,
            "流程定义已停用: definition %s (ID %lld) is not usable; enable it", row->name,
            (long long)row->id);
    }
    *ret = row;
    return BF_OK;
}

static bf_status_t begin(bf_stage_t *stage, const bf_define_row_t *define,
                         const bf_approval_start_t *start, bf_case_t **ret)
{
    bf_status_t rc = bf_stage_new_case(stage, define, start->operator_id, ret);
    if (rc == BF_OK) {
        rc = read_args(stage, *ret, start->args);
    }
    if (rc == BF_OK) {
        rc = bf_start_variables(stage, *ret);
    }
    if (rc != BF_OK) {
        return rc;
    }
    bf_token_t token = {.of = *ret, .node = (*ret)->flow->start};
    rc = bf_route_push(stage, &token);
    return rc == BF_OK ? bf_route_run(stage) : rc;
}

static bf_status_t run(bf_approval_t *approval, const bf_approval_start_t *start,
                       bool with_form, int64_t *ret_id, bf_err_t *err)
{
    bf_stage_t stage;
    const bf_define_row_t *define = NULL;
    bf_case_t *c = NULL;
    int64_t id = 0;
    if (!start->operator_id || !*start->operator_id) {
        return bf_err_set(err, BF_E_INVALID, "operator: is empty; say who starts it");
    }
    bf_status_t rc = find_define(approval, start, &define, err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_stage_begin(&stage, approval, start->operator_id, err);
    rc = begin(&stage, define, start, &c);
    if (rc == BF_OK && with_form) {
        rc = bf_submit_form(&stage, c, start->args);
    }
    if (rc == BF_OK) {
        id = c->row.id;
    }
    rc = bf_stage_end(&stage, rc);
    if (rc == BF_OK && ret_id) {
        *ret_id = id;
    }
    return rc;
}

bf_status_t bf_approval_start(bf_approval_t *approval, const bf_approval_start_t *start,
                              int64_t *ret_id, bf_err_t *err)
{
    return run(approval, start, false, ret_id, err);
}

bf_status_t bf_approval_start_and_execute(bf_approval_t *approval,
                                          const bf_approval_start_t *start,
                                          int64_t *ret_id, bf_err_t *err)
{
    return run(approval, start, true, ret_id, err);
}
