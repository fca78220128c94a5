/*
 * countersign.c - several people decide one node, each in a row of his own
 *
 * A round is what one arrival at the node began: rows of that node that the same row
 * created (parallel), or the chain of rows that carry the list on (sequential).  Votes of
 * other rounds do not count.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/approval/approval_int.h"

typedef struct counts {
    int64_t all;
    int64_t completed;
    int64_t active;
} counts_t;

/* csv_<node>_nrOfInstances and the like are variables of the instance. */
static bf_status_t tell(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                        const counts_t *counts)
{
    const struct {
        const char *name;
        int64_t value;
    } told[] = {{"nrOfInstances", counts->all},
                {"nrOfCompletedInstances", counts->completed},
                {"nrOfActivateInstances", counts->active}};
    bf_status_t rc = BF_OK;
    for (unsigned i = 0; rc == BF_OK && i < sizeof(told) / sizeof(told[0]); i++) {
        const char *name =
            bf_arena_printf(&stage->arena, "csv_%s_%s", node->id, told[i].name);
        bf_value_t value = bf_value_int(told[i].value);
        rc = name ? bf_case_set(stage, c, name, &value) : bf_stage_nomem(stage);
    }
    return rc;
}

/* --- the row of a member --- */

static bf_status_t set_order(bf_stage_t *stage, bf_staged_task_t *task,
                             const bf_flow_node_t *node,
                             const bf_approval_names_t *members, size_t at)
{
    bf_arena_t *arena = &stage->arena;
    bf_value_t *items = bf_arena_calloc(arena, members->count, sizeof(*items));
    bf_member_t *vars = bf_arena_calloc(arena, 3, sizeof(*vars));
    static const char *const names[] = {"operatorList", "loopCounter", "nrOfInstances"};
    if (!items || !vars) {
        return bf_stage_nomem(stage);
    }
    for (size_t i = 0; i < members->count; i++) {
        items[i] = bf_value_cstr(members->items[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        vars[i].name = bf_arena_printf(arena, "%s_%s", names[i], node->id);
        if (!vars[i].name) {
            return bf_stage_nomem(stage);
        }
        vars[i].name_len = (uint32_t)strlen(vars[i].name);
    }
    vars[0].value = (bf_value_t){
        .type = BF_VALUE_LIST, .len = (uint32_t)members->count, .as.items = items};
    vars[1].value = bf_value_int((int64_t)at);
    vars[2].value = bf_value_int((int64_t)members->count);
    task->variables = (bf_value_t){.type = BF_VALUE_MAP, .len = 3, .as.members = vars};
    return BF_OK;
}

static bf_status_t add_member(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                              int64_t from, const char *member, bf_staged_task_t **ret)
{
    bf_approval_names_t actors = {0};
    bf_status_t rc =
        bf_approval_names_add(&stage->arena, &actors, member, strlen(member)) == BF_OK
            ? bf_stage_surrogates(stage, c, &actors)
            : bf_stage_nomem(stage);
    if (rc == BF_OK) {
        rc = bf_stage_new_task(stage, c, node, from, ret);
    }
    for (size_t i = 0; rc == BF_OK && i < actors.count; i++) {
        rc = bf_stage_add_actor(stage, *ret, actors.items[i]);
    }
    return rc;
}

bf_status_t bf_countersign_begin(bf_stage_t *stage, bf_case_t *c,
                                 const bf_flow_node_t *node, int64_t from,
                                 const bf_approval_names_t *members)
{
    counts_t counts = {.all = (int64_t)members->count,
                       .active = node->is_sequential ? 1 : (int64_t)members->count};
    bf_staged_task_t *task;
    if (members->count > stage->limits.max_actors) {
        return bf_err_set(
            stage->err, BF_E_LIMIT,
            "countersign %s: over %u members; name fewer or raise max_actors", node->id,
            stage->limits.max_actors);
    }
    bf_status_t rc = tell(stage, c, node, &counts);
    if (rc == BF_OK && bf_vars_get_str(c->vars, VAR_DISAGREE)) {
        bf_value_t none = bf_value_int(0);
        rc = bf_case_set(stage, c, VAR_DISAGREE, &none);
    }
    for (size_t i = 0; rc == BF_OK && i < (size_t)counts.active; i++) {
        rc = add_member(stage, c, node, from, members->items[i], &task);
        if (rc == BF_OK && node->is_sequential) {
            rc = set_order(stage, task, node, members, i);
        }
    }
    return rc;
}

/* --- votes --- */

typedef struct names_env {
    const bf_case_t *c;
    const counts_t *counts;
    bf_value_t value;
} names_env_t;

/* Numbers of the round come with a fraction, so that one may be divided by the other. */
static const bf_value_t *look_up(void *arg, const char *name, size_t len, uint64_t hash)
{
    names_env_t *env = arg;
    const struct {
        const char *name;
        int64_t value;
    } known[] = {{"nrOfInstances", env->counts->all},
                 {"nrOfCompletedInstances", env->counts->completed},
                 {"nrOfActivateInstances", env->counts->active}};
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i].name) == len && !memcmp(known[i].name, name, len)) {
            env->value = bf_value_real((double)known[i].value);
            return &env->value;
        }
    }
    return bf_vars_get_hashed(env->c->vars, name, len, hash);
}

static bf_status_t is_complete(bf_stage_t *stage, const bf_case_t *c,
                               const bf_flow_node_t *node, const counts_t *counts,
                               bool *ret)
{
    *ret = !counts->active;
    if (*ret || !node->completion) {
        return BF_OK;
    }
    names_env_t names = {.c = c, .counts = counts};
    bf_value_t value;
    bf_expr_env_t env = {.lookup = look_up,
                         .arg = &names,
                         .arena = &stage->arena,
                         .now_wall_ms = stage->now_ms};
    bf_status_t rc = bf_expr_eval(node->completion, &env, &value, stage->err);
    if (rc != BF_OK) {
        bf_err_prefix(stage->err, "countersignCompletionCondition of %s: ", node->id);
        return rc;
    }
    *ret = value.type == BF_VALUE_BOOL && value.as.boolean;
    return BF_OK;
}

/* The condition may name the numbers by their variables: those come first.  Once the
 * node is left nobody is active any more. */
static bf_status_t ask(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                       counts_t *counts, bool *ret_left)
{
    bf_status_t rc = tell(stage, c, node, counts);
    if (rc == BF_OK) {
        rc = is_complete(stage, c, node, counts, ret_left);
    }
    if (rc == BF_OK && *ret_left && counts->active) {
        counts->active = 0;
        rc = tell(stage, c, node, counts);
    }
    return rc;
}

static bool same_round(const bf_staged_task_t *a, const bf_staged_task_t *b)
{
    return a->row.perform_type == 1 && a->row.task_parent_id == b->row.task_parent_id &&
           !strcmp(a->row.task_name, b->row.task_name);
}

static bf_status_t vote_parallel(bf_stage_t *stage, bf_case_t *c,
                                 const bf_flow_node_t *node, const bf_staged_task_t *task,
                                 bool *ret_left)
{
    counts_t counts = {0};
    for (size_t i = 0; i < c->task_count; i++) {
        const bf_staged_task_t *other = c->tasks[i];
        if (same_round(other, task)) {
            counts.all++;
            counts.completed += other->row.task_state == BF_APPROVAL_FINISHED ? 1 : 0;
            counts.active += other->row.task_state == BF_APPROVAL_DOING ? 1 : 0;
        }
    }
    bf_status_t rc = ask(stage, c, node, &counts, ret_left);
    for (size_t i = 0; rc == BF_OK && *ret_left && i < c->task_count; i++) {
        if (same_round(c->tasks[i], task) &&
            c->tasks[i]->row.task_state == BF_APPROVAL_DOING) {
            bf_stage_set_task_state(stage, c->tasks[i], BF_APPROVAL_ABANDONED);
        }
    }
    return rc;
}

static bf_status_t add_in_order(bf_stage_t *stage, bf_case_t *c,
                                const bf_flow_node_t *node, int64_t from,
                                const bf_approval_names_t *members, size_t at)
{
    bf_staged_task_t *task;
    bf_status_t rc = add_member(stage, c, node, from, members->items[at], &task);
    return rc == BF_OK ? set_order(stage, task, node, members, at) : rc;
}

/* The list of members and the place in it, from the variables of the row. */
static bf_status_t read_order(bf_stage_t *stage, bf_staged_task_t *task,
                              const bf_flow_node_t *node, bf_approval_names_t *members,
                              size_t *ret_at)
{
    bf_status_t rc = bf_stage_task_vars(stage, task);
    const char *list = bf_arena_printf(&stage->arena, "operatorList_%s", node->id);
    const char *place = bf_arena_printf(&stage->arena, "loopCounter_%s", node->id);
    if (rc != BF_OK || !list || !place) {
        return rc == BF_OK ? bf_stage_nomem(stage) : rc;
    }
    const bf_value_t *at = bf_value_get_str(&task->variables, place);
    *ret_at = at && at->type == BF_VALUE_INT && at->as.integer >= 0
                  ? (size_t)at->as.integer
                  : 0;
    return bf_approval_names_add_value(&stage->arena, members,
                                       bf_value_get_str(&task->variables, list)) == BF_OK
               ? BF_OK
               : bf_stage_nomem(stage);
}

static bf_status_t vote_sequential(bf_stage_t *stage, bf_case_t *c,
                                   const bf_flow_node_t *node, bf_staged_task_t *task,
                                   bool *ret_left)
{
    bf_approval_names_t members = {0};
    size_t at = 0;
    bf_status_t rc = read_order(stage, task, node, &members, &at);
    if (rc != BF_OK) {
        return rc;
    }
    bool has_next = at + 1 < members.count;
    counts_t counts = {.all = (int64_t)members.count,
                       .completed = (int64_t)at + 1,
                       .active = has_next ? 1 : 0};
    rc = ask(stage, c, node, &counts, ret_left);
    return rc == BF_OK && !*ret_left
               ? add_in_order(stage, c, node, task->row.id, &members, at + 1)
               : rc;
}

bf_status_t bf_countersign_vote(bf_stage_t *stage, bf_case_t *c,
                                const bf_flow_node_t *node, bf_staged_task_t *task,
                                bool *ret_left)
{
    *ret_left = true;
    if (task->row.perform_type != 1) {
        return BF_OK;
    }
    return node->is_sequential ? vote_sequential(stage, c, node, task, ret_left)
                               : vote_parallel(stage, c, node, task, ret_left);
}
