/*
 * command.c - one command applied to one instance, atomically
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/command.h"

#include <string.h>

#include "lib/workflow/command_int.h"

static const char *const verb_names[] = {
#define X(name, text, node, change) text,
    BF_VERB_LIST(X)
#undef X
};

static const bool verb_changes[] = {
#define X(name, text, node, change) change,
    BF_VERB_LIST(X)
#undef X
};

const char *bf_verb_name(bf_verb_t verb)
{
    return (unsigned)verb < BF_VERB_COUNT ? verb_names[verb] : "unknown";
}

bf_verb_t bf_verb_of_name(const char *name)
{
    unsigned i = 0;
    while (i < BF_VERB_COUNT && strcmp(verb_names[i], name) != 0) {
        i++;
    }
    return (bf_verb_t)i;
}

bool bf_run_reject(bf_run_t *run, bf_code_t code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    bf_err_clear(&run->err);
    (void)bf_err_setv(&run->err, BF_E_REJECTED, fmt, args);
    va_end(args);
    run->code = code;
    return false;
}

bool bf_run_fail(bf_run_t *run, bf_status_t status)
{
    if (status == BF_E_REJECTED) {
        run->code = bf_executor_code(run->env->executor);
    } else if (status == BF_E_NOT_FOUND) {
        run->code = BF_CODE_UNKNOWN_GRAPH; /* nodes are looked up here: a called graph */
    } else {
        run->code = bf_code_of_status(status);
    }
    if (run->err.status == BF_OK) {
        (void)bf_err_set(&run->err, status, "%s", bf_code_explanation(run->code));
    }
    return false;
}

/* --- the context: what the command brings, never stored --- */

/* The command's context and, over it, the actor under the controller's key. */
static bf_status_t build_transient(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    run->transient = command->context;
    if (!command->actor) {
        return BF_OK;
    }
    const bf_value_t *given = &command->context;
    uint32_t given_count = given->type == BF_VALUE_MAP ? given->len : 0;
    const char *key = bf_controller_actor_key(bf_executor_controller(run->env->executor));
    bf_member_t *members =
        bf_arena_calloc(run->scope.arena, (size_t)given_count + 1, sizeof(*members));
    if (!members) {
        return BF_E_NOMEM;
    }
    uint32_t used = 0;
    members[used++] = (bf_member_t){.name = key,
                                    .name_len = (uint32_t)strlen(key),
                                    .value = bf_value_cstr(command->actor)};
    for (uint32_t i = 0; i < given_count; i++) {
        if (strcmp(given->as.members[i].name, key) != 0) {
            members[used++] = given->as.members[i];
        }
    }
    run->transient =
        (bf_value_t){.type = BF_VALUE_MAP, .len = used, .as.members = members};
    return BF_OK;
}

static bool open_context(bf_run_t *run)
{
    bf_instance_t *inst = run->scope.inst;
    run->scope.ctx =
        bf_context_new_borrowing(bf_instance_id(inst), bf_instance_vars(inst));
    if (!run->scope.ctx || build_transient(run) != BF_OK) {
        return bf_run_fail(run, BF_E_NOMEM);
    }
    if (run->transient.type == BF_VALUE_MAP) {
        bf_context_set_transient(run->scope.ctx, &run->transient);
    }
    const bf_origin_t origin = {.command_id = run->command->command_id,
                                .actor = run->command->actor,
                                .seq = bf_instance_seq(inst)};
    bf_context_set_origin(run->scope.ctx, &origin);
    return true;
}

/* --- variables --- */

/* Before the verb, so that its conditions see them; undone with it. */
static bool merge_vars(bf_run_t *run)
{
    const bf_value_t *vars = &run->command->vars;
    for (uint32_t i = 0; vars->type == BF_VALUE_MAP && i < vars->len; i++) {
        const bf_member_t *m = &vars->as.members[i];
        bf_status_t rc =
            bf_context_put(run->scope.ctx, m->name, m->name_len, &m->value, &run->err);
        if (rc == BF_E_INVALID) {
            return bf_run_reject(run, BF_CODE_MALFORMED,
                                 "vars: \"%s\" is a reserved name; use another", m->name);
        }
        if (rc != BF_OK) {
            return bf_run_fail(run, rc);
        }
    }
    return true;
}

/* What is in memory must be what the row gives when it is read again. */
static bool check_vars_storable(bf_run_t *run)
{
    const char *name = "";
    bf_status_t rc = bf_vars_check_storable(bf_instance_vars(run->scope.inst), &name);
    if (rc == BF_E_INVALID) {
        return bf_run_reject(
            run, BF_CODE_EXPRESSION_ERROR,
            "variable \"%.64s\" would be infinite or not a number, which "
            "JSON cannot hold; look at the divisions that it comes from",
            name);
    }
    if (rc == BF_E_LIMIT) {
        return bf_run_reject(run, BF_CODE_LIMIT_EXCEEDED,
                             "variable \"%.64s\" would be nested deeper than %d levels",
                             name, BF_VALUE_MAX_DEPTH);
    }
    return true;
}

static bool check_vars(bf_run_t *run)
{
    const bf_vars_t *vars = bf_instance_vars(run->scope.inst);
    size_t max =
        run->env->max_vars_bytes ? run->env->max_vars_bytes : BF_MAX_VARS_BYTES_DEFAULT;
    if (!bf_vars_changed(vars)) {
        return true;
    }
    if (!check_vars_storable(run)) {
        return false;
    }
    bf_str_t json;
    bf_str_init(&json, max);
    bf_vars_write_json(vars, &json);
    bf_status_t rc = bf_str_failed(&json) ? BF_E_NOMEM : BF_OK;
    bool too_big = json.too_big;
    bf_str_fini(&json);
    if (too_big) {
        return bf_run_reject(
            run, BF_CODE_LIMIT_EXCEEDED,
            "the variables of instance \"%s\" would take more than %zu "
            "bytes (limits.max_vars_bytes); keep large data elsewhere and "
            "store a reference",
            bf_instance_id(run->scope.inst), max);
    }
    return rc == BF_OK ? true : bf_run_fail(run, rc);
}

/* --- the transaction --- */

static bool pin_graph(bf_run_t *run)
{
    bf_instance_t *inst = run->scope.inst;
    if (*bf_instance_graph_id(inst) ||
        bf_instance_pin_graph(inst, run->scope.graph) == BF_OK) {
        return true;
    }
    return bf_run_fail(run, BF_E_NOMEM);
}

static bool touch(bf_run_t *run)
{
    bf_instance_t *inst = run->scope.inst;
    if (!bf_instance_changed(inst) ||
        bf_instance_touch(inst, run->command->actor, run->now_wall_ms) == BF_OK) {
        return true;
    }
    return bf_run_fail(run, BF_E_NOMEM);
}

static bool run_inside(bf_run_t *run)
{
    return open_context(run) && pin_graph(run) && merge_vars(run) && bf_run_verb(run) &&
           (run->is_probe || (check_vars(run) && touch(run)));
}

/* What a controller answered without memory counts for nothing. */
static bool has_memory(bf_run_t *run)
{
    if (!bf_context_lacked_memory(run->scope.ctx)) {
        return true;
    }
    bf_err_clear(&run->err);
    return bf_run_fail(run, BF_E_NOMEM);
}

/* What is the same for accepted and rejected commands. */
static void finish(bf_run_t *run, bool accepted)
{
    bf_outcome_t *out = run->out;
    bf_instance_t *inst = run->scope.inst;
    if (!accepted) {
        *out = (bf_outcome_t){.code = run->code};
        out->error = bf_arena_strdup(run->scope.arena, run->err.text);
        if (!out->error) {
            out->error = bf_code_explanation(run->code);
        }
    }
    out->revision = bf_instance_revision(inst);
    out->instance_state = bf_instance_status(inst);
}

bf_status_t bf_command_execute(const bf_command_env_t *env, const bf_command_t *command,
                               bf_instance_t *inst, bf_arena_t *arena,
                               int64_t now_wall_ms, bf_outcome_t *ret, bf_err_t *err)
{
    (void)err; /* a rejection needs no memory: there is nothing that can fail */
    bf_run_t run = {
        .env = env,
        .command = command,
        .scope = {.inst = inst, .arena = arena},
        .now_wall_ms = now_wall_ms,
        .err = BF_ERR_INIT,
        .out = ret,
    };
    *ret = (bf_outcome_t){.code = BF_CODE_OK};
    if (bf_instance_open(inst) != BF_OK) {
        (void)bf_run_fail(&run, BF_E_NOMEM);
        finish(&run, false);
        return BF_OK;
    }
    run.is_probe =
        (unsigned)command->verb < BF_VERB_COUNT && !verb_changes[command->verb];
    bool accepted = bf_run_admit(&run);
    if (accepted) {
        bf_instance_begin(inst);
        accepted = run_inside(&run) && has_memory(&run);
        if (accepted && !run.is_probe) {
            ret->changed = bf_instance_changed(inst);
            bf_instance_commit(inst);
        } else {
            bf_instance_rollback(inst);
        }
    }
    if (!accepted && run.scope.ctx) {
        bf_run_explain(&run);
        (void)has_memory(&run);
    }
    bf_context_free(run.scope.ctx);
    finish(&run, accepted);
    return BF_OK;
}
