/*
 * facade.c - from the name of an action to its answer
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/id.h"
#include "lib/approval/facade_int.h"

#define MAX_PAGE_SIZE  1000
#define MAX_BODY_BYTES ((size_t)1 << 20)
#define MAX_BATCH      1000

typedef struct bf_facade_action {
    const char *name;
    bf_facade_fn run;
} bf_facade_action_t;

static const bf_facade_action_t actions[] = {
    {"processDefine/page", bf_facade_define_page},
    {"processDefine/list", bf_facade_define_list},
    {"processDefine/detail", bf_facade_define_show},
    {"processDefine/getLastByName", bf_facade_define_last},
    {"processDefine/deploy", bf_facade_define_deploy},
    {"processDefine/redeploy", bf_facade_define_redeploy},
    {"processDefine/upAndDown", bf_facade_define_up_and_down},
    {"processDefine/remove", bf_facade_define_remove},
    {"processDefine/startAndExecute", bf_facade_start},
    {"processDesign/page", bf_facade_design_page},
    {"processDesign/listByType", bf_facade_design_list},
    {"processDesign/detail", bf_facade_design_show},
    {"processDesign/save", bf_facade_design_save},
    {"processDesign/update", bf_facade_design_update},
    {"processDesign/updateDefine", bf_facade_design_update_define},
    {"processDesign/deploy", bf_facade_design_deploy},
    {"processDesign/redeploy", bf_facade_design_redeploy},
    {"processDesign/remove", bf_facade_design_remove},
    {"processInstance/page", bf_facade_instance_page},
    {"processInstance/startAndExecute", bf_facade_start},
    {"processInstance/detail", bf_facade_instance_show},
    {"processInstance/withdraw", bf_facade_instance_withdraw},
    {"processInstance/highLight", bf_facade_high_light},
    {"processInstance/approvalRecord", bf_facade_instance_record},
    {"processInstance/getAssigneeTextData", bf_facade_instance_assignees},
    {"processInstance/createCCInstance", bf_facade_cc_create},
    {"processInstance/ccList", bf_facade_cc_page},
    {"processInstance/updateCCStatus", bf_facade_cc_read},
    {"processInstance/bizData", bf_facade_instance_business},
    {"processTask/todoList", bf_facade_task_todo},
    {"processTask/doneList", bf_facade_task_done},
    {"processTask/execute", bf_facade_task_execute},
    {"processTask/detail", bf_facade_task_show},
    {"processTask/latest", bf_facade_task_latest},
    {"processTask/jumpAbleTaskNameList", bf_facade_task_jumps},
    {"processTask/candidatePage", bf_facade_task_candidates},
    {"processTask/surrogate", bf_facade_task_add},
    {"processTask/addCandidate", bf_facade_task_add},
    {"processTask/transfer", bf_facade_task_transfer},
    {"metadata/dictKeys", bf_facade_dict_keys},
    {"metadata/dict", bf_facade_dict},
    {"metadata/handlers", bf_facade_handlers},
    {"processSurrogate/page", bf_facade_surrogate_page},
    {"processSurrogate/detail", bf_facade_surrogate_show},
    {"processSurrogate/save", bf_facade_surrogate_save},
    {"processSurrogate/update", bf_facade_surrogate_update},
    {"processSurrogate/remove", bf_facade_surrogate_remove},
};

/* Codes that differ from "wf:" and the name (rule 48); without any: nothing is asked. */
typedef struct bf_facade_rule {
    const char *action;
    const char *codes[BF_FACADE_MAX_CODES];
} bf_facade_rule_t;

static const bf_facade_rule_t rules[] = {
    {"processDefine/detail", {"wf:processDefine:detail", "wf:processDesign:listByType"}},
    {"processDefine/startAndExecute",
     {"wf:processDefine:startAndExecute", "wf:processDesign:listByType"}},
    {"processDefine/getLastByName",
     {"wf:processDefine:detail", "wf:processDesign:listByType",
      "wf:processDefine:getLastByName"}},
    {"processTask/candidatePage",
     {"wf:processTask:execute", "wf:processTask:candidatePage"}},
    {"processTask/jumpAbleTaskNameList", {"wf:processTask:execute"}},
    {"processInstance/detail", {NULL}},
    {"processInstance/highLight", {NULL}},
    {"processInstance/approvalRecord", {NULL}},
    {"processInstance/getAssigneeTextData", {NULL}},
    {"processInstance/bizData", {NULL}},
    {"processTask/detail", {NULL}},
    {"processTask/addCandidate", {NULL}},
    {"processTask/latest", {NULL}},
};

bf_facade_t *bf_facade_new(bf_approval_t *approval, const bf_facade_host_t *host)
{
    bf_facade_t *facade = calloc(1, sizeof(*facade));
    if (!facade) {
        return NULL;
    }
    facade->approval = approval;
    facade->ledger = bf_approval_ledger(approval);
    if (host) {
        facade->host = *host;
    }
    bf_facade_host_t *h = &facade->host;
    h->max_page_size = h->max_page_size > 0 ? h->max_page_size : MAX_PAGE_SIZE;
    h->max_body_bytes = h->max_body_bytes ? h->max_body_bytes : MAX_BODY_BYTES;
    h->max_batch = h->max_batch ? h->max_batch : MAX_BATCH;
    return facade;
}

void bf_facade_free(bf_facade_t *facade)
{
    free(facade);
}

size_t bf_facade_codes(const char *action, bf_arena_t *arena,
                       const char *ret[BF_FACADE_MAX_CODES])
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (!strcmp(rules[i].action, action)) {
            size_t count = 0;
            while (count < BF_FACADE_MAX_CODES && rules[i].codes[count]) {
                ret[count] = rules[i].codes[count];
                count++;
            }
            return count;
        }
    }
    char *code = bf_arena_printf(arena, "wf:%s", action);
    if (!code) {
        return BF_FACADE_MAX_CODES + 1;
    }
    for (char *p = code; *p; p++) {
        *p = *p == '/' ? ':' : *p;
    }
    ret[0] = code;
    return 1;
}

static bf_status_t check_permission(bf_facade_call_t *call, const char *action)
{
    const bf_facade_host_t *host = &call->facade->host;
    if (!host->is_permitted) {
        return BF_OK;
    }
    const char *codes[BF_FACADE_MAX_CODES] = {NULL};
    size_t count = bf_facade_codes(action, call->arena, codes);
    if (count > BF_FACADE_MAX_CODES) {
        return bf_err_nomem(&call->err, "permission code");
    }
    for (size_t i = 0; i < count; i++) {
        if (host->is_permitted(host->arg, call->user, codes[i])) {
            return BF_OK;
        }
    }
    if (!count) {
        return BF_OK;
    }
    return bf_err_set(&call->err, BF_E_REJECTED,
                      "没有权限: %s needs the permission %s%s%s%s%s", action, codes[0],
                      codes[1] ? " or " : "", codes[1] ? codes[1] : "",
                      codes[2] ? " or " : "", codes[2] ? codes[2] : "");
}

static bf_status_t check_body(bf_facade_call_t *call)
{
    static const bf_value_t nothing = {.type = BF_VALUE_MAP};
    if (bf_value_is_null(call->body)) {
        call->body = &nothing;
    }
    if (call->body->type != BF_VALUE_MAP) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "the body is a %s; send a JSON object",
                          bf_value_type_name(call->body->type));
    }
    size_t max = call->facade->host.max_body_bytes;
    size_t bytes = bf_value_deep_bytes(call->body);
    if (bytes / 16 > max) { /* a short member takes 40 bytes here, and 6 as text */
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "the body takes %zu bytes of memory; send less than %zu bytes",
                          bytes, max);
    }
    return BF_OK;
}

static bf_status_t run_action(bf_facade_call_t *call, const char *name)
{
    if (call->user &&
        bf_id_check("acting user", call->user, strlen(call->user), &call->err) != BF_OK) {
        return call->err.status;
    }
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (strcmp(actions[i].name, name) != 0) {
            continue;
        }
        bf_status_t status = check_permission(call, name);
        if (status == BF_OK) {
            status = check_body(call);
        }
        return status == BF_OK ? actions[i].run(call) : status;
    }
    return bf_err_set(&call->err, BF_E_UNSUPPORTED, "未知 action: %.100s", name);
}

/* A text may have been cut within a character, or shows what is none: '?' instead. */
static void make_valid(char *text)
{
    while (*text) {
        unsigned char lead = (unsigned char)*text;
        size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        if (strnlen(text, len) == len && bf_utf8_is_valid(text, len)) {
            text += len;
        } else {
            *text++ = '?';
        }
    }
}

/* Members of an answer: taken before the action, so that what was done can be told. */
enum { CODE, MSG, DATA, ANSWER_MEMBERS };

static bf_status_t answer(bf_facade_call_t *call, bf_status_t status,
                          bf_member_t members[ANSWER_MEMBERS], bf_value_t *ret)
{
    bool ok = status == BF_OK && !call->is_nomem;
    bf_value_t text = bf_value_cstr("成功");
    if (!ok) {
        call->is_nomem = false;
        make_valid(call->err.text);
        text =
            bf_facade_text(call, call->err.text[0] ? call->err.text
                                                   : "out of memory; send less at once");
    }
    members[CODE] =
        (bf_member_t){"code", 4, bf_value_int(ok ? BF_FACADE_OK : BF_FACADE_FAILED)};
    members[MSG] = (bf_member_t){"msg", 3, text};
    members[DATA] = (bf_member_t){"data", 4, call->data};
    *ret = (bf_value_t){
        .type = BF_VALUE_MAP, .len = ok ? ANSWER_MEMBERS : DATA, .as.members = members};
    return call->is_nomem ? BF_E_NOMEM : BF_OK;
}

static bf_facade_call_t call_of(bf_facade_t *facade, const char *user,
                                const bf_value_t *body, bf_arena_t *arena)
{
    return (bf_facade_call_t){.facade = facade,
                              .approval = facade->approval,
                              .ledger = facade->ledger,
                              .user = user,
                              .body = body,
                              .arena = arena};
}

bf_status_t bf_facade_call(bf_facade_t *facade, const char *action, const char *user,
                           const bf_value_t *body, bf_arena_t *arena, bf_value_t *ret)
{
    bf_facade_call_t call = call_of(facade, user, body, arena);
    bf_member_t *members = bf_arena_calloc(arena, ANSWER_MEMBERS, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    bf_status_t status = run_action(&call, action ? action : "");
    return answer(&call, status, members, ret);
}

bf_status_t bf_facade_call_json(bf_facade_t *facade, const char *action, const char *user,
                                const char *text, size_t len, bf_arena_t *arena,
                                bf_value_t *ret)
{
    bf_facade_call_t call = call_of(facade, user, NULL, arena);
    bf_member_t *members = bf_arena_calloc(arena, ANSWER_MEMBERS, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    bf_value_t body = bf_value_null();
    bf_json_limits_t limits = {.max_bytes = facade->host.max_body_bytes};
    bf_status_t status = BF_OK;
    if (len) {
        status = bf_json_parse(arena, text, len, &limits, &body, &call.err);
        bf_err_prefix(&call.err, "body: ");
    }
    if (status == BF_OK) {
        call.body = &body;
        status = run_action(&call, action ? action : "");
    }
    return answer(&call, status, members, ret);
}
