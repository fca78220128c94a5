/*
 * route.c - from node to node: decisions, forks, joins, ends, sub-processes
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/num.h"
#include "lib/approval/approval_int.h"

static bf_status_t put(bf_stage_t *stage, bf_token_t **list, size_t *count, size_t *room,
                       const bf_token_t *token)
{
    if (*count == *room) {
        bf_token_t *more =
            bf_array_grow_in(&stage->arena, *list, room, sizeof(*more), 16);
        if (!more) {
            return bf_stage_nomem(stage);
        }
        *list = more;
    }
    (*list)[(*count)++] = *token;
    return BF_OK;
}

bf_status_t bf_route_push(bf_stage_t *stage, const bf_token_t *token)
{
    return put(stage, &stage->tokens, &stage->token_count, &stage->token_room, token);
}

/* --- conditions --- */

typedef struct names_env {
    const bf_case_t *c;
    bf_arena_t *arena;
    bool numbers; /* a text that is a number is one */
} names_env_t;

static const bf_value_t *look_up(void *arg, const char *name, size_t len, uint64_t hash)
{
    const names_env_t *env = arg;
    const bf_value_t *value = bf_vars_get_hashed(env->c->vars, name, len, hash);
    if (!env->numbers || !value || value->type != BF_VALUE_STRING) {
        return value;
    }
    bf_value_t *number = bf_arena_calloc(env->arena, 1, sizeof(*number));
    if (!number) {
        return value;
    }
    number->type = BF_VALUE_INT;
    if (bf_num_parse_i64(value->as.string, value->len, &number->as.integer, NULL) ==
        BF_OK) {
        return number;
    }
    number->type = BF_VALUE_REAL;
    return bf_num_parse_real(value->as.string, value->len, &number->as.real, NULL) ==
                   BF_OK
               ? number
               : value;
}

/* Fields of forms are often texts: `amount > 1000` with "2000" is asked again as numbers,
 * where it would be an error otherwise. */
bf_status_t bf_route_eval(bf_stage_t *stage, const bf_case_t *c, const bf_expr_t *expr,
                          const char *of, bf_value_t *ret)
{
    names_env_t names = {.c = c, .arena = &stage->arena};
    bf_expr_env_t env = {.lookup = look_up,
                         .arg = &names,
                         .arena = &stage->arena,
                         .now_wall_ms = stage->now_ms};
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc = bf_expr_eval(expr, &env, ret, &err);
    if (rc == BF_E_EXPRESSION) {
        names.numbers = true;
        if (bf_expr_eval(expr, &env, ret, NULL) == BF_OK) {
            return BF_OK;
        }
    }
    return rc == BF_OK ? rc
                       : bf_err_set(stage->err, rc, "definition %s, condition at %s: %s",
                                    c->flow->name, of, err.text);
}

/* An edge may be taken: it has no condition, or one that is true (only true is). */
static bf_status_t is_open(bf_stage_t *stage, const bf_case_t *c,
                           const bf_flow_edge_t *edge, bool *ret)
{
    bf_value_t value;
    *ret = true;
    if (!edge->expr) {
        return BF_OK;
    }
    bf_status_t rc = bf_route_eval(stage, c, edge->expr, edge->source->id, &value);
    *ret = rc == BF_OK && value.type == BF_VALUE_BOOL && value.as.boolean;
    return rc;
}

static bf_status_t no_way(const bf_stage_t *stage, const bf_case_t *c,
                          const bf_flow_node_t *node)
{
    return bf_err_set(
        stage->err, BF_E_NO_ROUTE,
        "20010001 decision节点无法确定下一步执行路线: definition %s, node %s: no "
        "condition is true and no edge is without one; add such an edge or "
        "check the variables",
        c->flow->name, node->id);
}

/* --- leaving --- */

/* All edges; the stack turns them round, so they are put in backwards. */
static bf_status_t follow_all(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                              int64_t from)
{
    bf_status_t rc = BF_OK;
    for (uint32_t i = node->out_count; rc == BF_OK && i; i--) {
        bf_token_t token = {.of = c, .node = node->out[i - 1]->target, .from = from};
        rc = bf_route_push(stage, &token);
    }
    return rc;
}

bf_status_t bf_route_leave(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                           int64_t from)
{
    bool taken = false;
    if (!node->out_count) {
        return bf_err_set(stage->err, BF_E_NO_ROUTE,
                          "definition %s, node %s: no edge leads on; draw one to the end",
                          c->flow->name, node->id);
    }
    if (node->type == BF_FLOW_FORK) {
        return follow_all(stage, c, node, from);
    }
    for (uint32_t i = node->out_count; i; i--) {
        bool open = false;
        bf_status_t rc = is_open(stage, c, node->out[i - 1], &open);
        if (rc == BF_OK && open) {
            bf_token_t token = {.of = c, .node = node->out[i - 1]->target, .from = from};
            rc = bf_route_push(stage, &token);
            taken = true;
        }
        if (rc != BF_OK) {
            return rc;
        }
    }
    return taken ? BF_OK : no_way(stage, c, node);
}

/* --- decision --- */

/* The ID that the handler or the expression of the node names; NULL = none. */
static bf_status_t named_target(bf_stage_t *stage, bf_case_t *c,
                                const bf_flow_node_t *node, const char **ret)
{
    const bf_approval_handler_t *own = bf_stage_handler(stage, node->handler);
    bf_status_t rc = BF_OK;
    bf_value_t value;
    if (own && own->decide) {
        bf_approval_call_t call;
        rc = bf_stage_call(stage, c, node, &call);
        return rc == BF_OK ? own->decide(own->arg, &call, ret, stage->err) : rc;
    }
    if (node->handler) {
        return bf_err_set(stage->err, BF_E_COMPONENT,
                          "definition %s, decision %s: the handler %s is not registered; "
                          "give it to the engine",
                          c->flow->name, node->id, node->handler);
    }
    if (node->expr) {
        rc = bf_route_eval(stage, c, node->expr, node->id, &value);
        *ret = rc == BF_OK && value.type == BF_VALUE_STRING ? value.as.string : NULL;
    }
    return rc;
}

/* The first true edge; the named one; the first without a condition. */
static bf_status_t decide(bf_stage_t *stage, bf_case_t *c, const bf_flow_node_t *node,
                          int64_t from)
{
    const bf_flow_edge_t *way = NULL;
    const bf_flow_edge_t *other = NULL;
    const char *target = NULL;
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && !way && i < node->out_count; i++) {
        bool open = false;
        const bf_flow_edge_t *edge = node->out[i];
        rc = edge->expr ? is_open(stage, c, edge, &open) : BF_OK;
        way = open ? edge : NULL;
        other = other || edge->expr ? other : edge;
    }
    if (rc == BF_OK && !way) {
        rc = named_target(stage, c, node, &target);
        for (uint32_t i = 0; target && i < node->out_count; i++) {
            way = strcmp(node->out[i]->target->id, target) != 0 ? way : node->out[i];
        }
    }
    way = way || target ? way : other;
    if (rc != BF_OK) {
        return rc;
    }
    if (!way) {
        return no_way(stage, c, node);
    }
    bf_token_t token = {.of = c, .node = way->target, .from = from};
    return bf_route_push(stage, &token);
}

/* --- tasks --- */

static bf_status_t nobody(const bf_stage_t *stage, const bf_case_t *c,
                          const bf_flow_node_t *node)
{
    return bf_err_set(stage->err, BF_E_REJECTED,
                      "definition %s, task %s (%s): nobody is found who may do it; check "
                      "assignee, assignmentHandler and the variables they name",
                      c->flow->name, node->id, node->display_name);
}

static bf_status_t enter_task(bf_stage_t *stage, const bf_token_t *token)
{
    bf_approval_names_t names = {0};
    bf_staged_task_t *task;
    bf_status_t rc = BF_OK;
    for (size_t i = 0; token->actors && rc == BF_OK && i < token->actors->count; i++) {
        const char *id = token->actors->items[i];
        rc = bf_approval_names_add(&stage->arena, &names, id, strlen(id)) == BF_OK
                 ? BF_OK
                 : bf_stage_nomem(stage);
    }
    if (rc == BF_OK && !token->actors) {
        rc = bf_stage_resolve(stage, token->of, token->node, &names);
    }
    if (rc == BF_OK && !names.count) {
        rc = nobody(stage, token->of, token->node);
    }
    if (rc == BF_OK && token->node->is_countersign) {
        return bf_countersign_begin(stage, token->of, token->node, token->from, &names);
    }
    if (rc == BF_OK) {
        rc = bf_stage_surrogates(stage, token->of, &names);
    }
    if (rc == BF_OK) {
        rc = bf_stage_new_task(stage, token->of, token->node, token->from, &task);
    }
    for (size_t i = 0; rc == BF_OK && i < names.count; i++) {
        rc = bf_stage_add_actor(stage, task, names.items[i]);
    }
    return rc;
}

/* A row that tells what was done, by nobody's desk. */
static bf_status_t add_record(bf_stage_t *stage, const bf_token_t *token,
                              bf_staged_task_t **ret)
{
    bf_status_t rc = bf_stage_new_task(stage, token->of, token->node, token->from, ret);
    if (rc == BF_OK) {
        (*ret)->row.task_type = 2;
        (*ret)->row.perform_type = 0;
    }
    return rc;
}

static bf_status_t enter_custom(bf_stage_t *stage, const bf_token_t *token)
{
    const bf_flow_node_t *node = token->node;
    const bf_approval_handler_t *own = bf_stage_handler(stage, node->handler);
    bf_approval_call_t call;
    bf_value_t result = bf_value_null();
    bf_staged_task_t *record;
    if (node->handler && (!own || !own->run)) {
        return bf_err_set(stage->err, BF_E_COMPONENT,
                          "20010006 definition %s, custom node %s: the handler %s is not "
                          "registered; give it to the engine",
                          token->of->flow->name, node->id, node->handler);
    }
    bf_status_t rc = bf_stage_call(stage, token->of, node, &call);
    if (rc == BF_OK && own) {
        rc = own->run(own->arg, &call, &result, stage->err);
        if (rc != BF_OK) {
            bf_err_prefix(stage->err,
                          "definition %s, custom node %s: ", token->of->flow->name,
                          node->id);
        }
    }
    if (rc == BF_OK) {
        rc = bf_case_set_all(stage, token->of, &result);
    }
    if (rc == BF_OK) {
        rc = add_record(stage, token, &record);
    }
    const char *who =
        *stage->operator_id ? stage->operator_id : token->of->row.operator_id;
    if (rc == BF_OK) {
        rc = bf_stage_add_actor(stage, record, who);
    }
    if (rc == BF_OK) {
        bf_stage_set_task_state(stage, record, BF_APPROVAL_FINISHED);
        record->row.operator_id = who;
        rc = bf_route_leave(stage, token->of, node, record->row.id);
    }
    return rc;
}

/* --- sub-processes --- */

static bool is_of_parent(const char *name)
{
    return strncmp(name, "u_", 2) != 0 && strncmp(name, "csv_", 4) != 0 &&
           strcmp(name, "autoGenTitle") != 0 && strcmp(name, VAR_JOINS) != 0 &&
           strcmp(name, VAR_NEXT_OPERATOR) != 0;
}

/* Variables go from the parent to the child, and back when it ends. */
static bf_status_t hand_variables(bf_stage_t *stage, const bf_case_t *from, bf_case_t *to)
{
    size_t cursor = 0;
    const char *name;
    size_t len;
    const bf_value_t *value;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && bf_vars_next(from->vars, &cursor, &name, &len, &value)) {
        rc = is_of_parent(name) ? bf_case_set(stage, to, name, value) : BF_OK;
    }
    return rc;
}

static bf_status_t check_depth(bf_stage_t *stage, const bf_case_t *c)
{
    uint32_t depth = 1;
    int64_t parent = c->row.parent_id;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && parent) {
        bf_case_t *above;
        if (++depth > stage->limits.max_depth) {
            return bf_err_set(stage->err, BF_E_LIMIT,
                              "definition %s: sub-processes lie over %u deep in each "
                              "other; does one start itself?",
                              c->flow->name, stage->limits.max_depth);
        }
        rc = bf_stage_case(stage, parent, &above);
        parent = rc == BF_OK ? above->row.parent_id : 0;
    }
    return rc;
}

static const bf_define_row_t *child_define(const bf_stage_t *stage,
                                           const bf_token_t *token)
{
    static const char *const names[] = {"processName", "subProcessName", "processname"};
    const char *name = NULL;
    for (unsigned i = 0; !name && i < sizeof(names) / sizeof(names[0]); i++) {
        name = bf_value_get_cstr(&token->node->properties, names[i]);
    }
    const bf_define_row_t *define =
        name ? bf_ledger_latest_define(stage->ledger, name) : NULL;
    if (!define) {
        (void)bf_err_set(
            stage->err, BF_E_NOT_FOUND,
            "20010002 没有流程定义: definition %s, sub-process %s: there is no "
            "definition \"%s\"; set properties.processName to a deployed one",
            token->of->flow->name, token->node->id, name ? name : "");
    }
    return define;
}

/* The record stays open while the child runs: joins wait for it. */
static bf_status_t enter_sub_process(bf_stage_t *stage, const bf_token_t *token)
{
    bf_case_t *child;
    bf_staged_task_t *record;
    const bf_define_row_t *define = child_define(stage, token);
    bf_status_t rc = define ? check_depth(stage, token->of) : BF_E_NOT_FOUND;
    if (rc == BF_OK) {
        rc = add_record(stage, token, &record);
    }
    if (rc == BF_OK) {
        rc = bf_stage_new_case(stage, define, token->of->row.operator_id, &child);
    }
    if (rc != BF_OK) {
        return rc;
    }
    child->row.parent_id = token->of->row.id;
    child->row.parent_node_name = token->node->id;
    rc = hand_variables(stage, token->of, child);
    if (rc == BF_OK) {
        rc = bf_start_variables(stage, child);
    }
    bf_token_t start = {.of = child, .node = child->flow->start};
    return rc == BF_OK ? bf_route_push(stage, &start) : rc;
}

static bf_staged_task_t *open_record(const bf_case_t *c, const char *node_id)
{
    for (size_t i = 0; i < c->task_count; i++) {
        bf_staged_task_t *task = c->tasks[i];
        if (task->row.task_type == 2 && task->row.task_state == BF_APPROVAL_DOING &&
            !strcmp(task->row.task_name, node_id)) {
            return task;
        }
    }
    return NULL;
}

/* A child is over: its parent goes on behind the node (rule 50), or is rejected too. */
static bf_status_t go_on_in_parent(bf_stage_t *stage, const bf_case_t *child)
{
    bf_case_t *parent;
    bf_status_t rc = bf_stage_case(stage, child->row.parent_id, &parent);
    const char *node_id = child->row.parent_node_name ? child->row.parent_node_name : "";
    if (rc != BF_OK || parent->row.state != BF_APPROVAL_DOING) {
        return rc;
    }
    bf_staged_task_t *record = open_record(parent, node_id);
    const bf_flow_node_t *node = bf_flow_find(parent->flow, node_id);
    rc = hand_variables(stage, child, parent);
    if (rc != BF_OK || !record || !node) {
        return rc;
    }
    bf_stage_set_task_state(stage, record, BF_APPROVAL_FINISHED);
    return child->row.state == BF_APPROVAL_REJECTED
               ? bf_route_finish(stage, parent)
               : bf_route_leave(stage, parent, node, record->row.id);
}

/* --- the end --- */

static void drop_tokens(bf_token_t *list, size_t *count, const bf_case_t *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if (list[i].of != c) {
            list[kept++] = list[i];
        }
    }
    *count = kept;
}

bf_status_t bf_route_finish(bf_stage_t *stage, bf_case_t *c)
{
    bf_stage_set_case_state(stage, c,
                            stage->submit_type == BF_SUBMIT_REJECT
                                ? BF_APPROVAL_REJECTED
                                : BF_APPROVAL_FINISHED);
    drop_tokens(stage->tokens, &stage->token_count, c);
    drop_tokens(stage->joins, &stage->join_count, c);
    bf_status_t rc = bf_route_void(stage, c, NULL);
    return rc == BF_OK && c->row.parent_id ? go_on_in_parent(stage, c) : rc;
}

/* Does the row come from that one, along the rows that created each other? */
static bool comes_from(const bf_case_t *c, int64_t id, int64_t above)
{
    while (id > above) {
        const bf_staged_task_t *task = bf_case_find(c, id);
        id = task ? task->row.task_parent_id : 0;
    }
    return id == above;
}

/* Joins forget who came, all or those that come from a row. */
static bf_status_t forget_arrivals(bf_stage_t *stage, bf_case_t *c,
                                   const bf_staged_task_t *below)
{
    const bf_value_t *map = bf_vars_get_str(c->vars, VAR_JOINS);
    if (!map || map->type != BF_VALUE_MAP) {
        return BF_OK;
    }
    bf_value_t copy;
    if (bf_value_copy(&stage->arena, map, &copy) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    bf_member_t *kept = bf_arena_calloc(&stage->arena, copy.len + 1U, sizeof(*kept));
    uint32_t count = 0;
    if (!kept) {
        return bf_stage_nomem(stage);
    }
    for (uint32_t i = 0; below && i < copy.len; i++) {
        const bf_value_t *id = &copy.as.members[i].value;
        if (id->type == BF_VALUE_INT && !comes_from(c, id->as.integer, below->row.id)) {
            kept[count++] = copy.as.members[i];
        }
    }
    bf_value_t left = {
        .type = count ? BF_VALUE_MAP : BF_VALUE_NULL, .len = count, .as.members = kept};
    return bf_case_set(stage, c, VAR_JOINS, &left);
}

bf_status_t bf_route_void(bf_stage_t *stage, bf_case_t *c, const bf_staged_task_t *below)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < c->task_count; i++) {
        bf_staged_task_t *task = c->tasks[i];
        if (task->row.task_state != BF_APPROVAL_DOING ||
            (below && !comes_from(c, task->row.id, below->row.id))) {
            continue;
        }
        bf_stage_set_task_state(stage, task, BF_APPROVAL_ABANDONED);
        if (task->row.task_type == 2) {
            rc = bf_abandon_children(stage, c, task->row.task_name);
        }
    }
    return rc == BF_OK ? forget_arrivals(stage, c, below) : rc;
}

/* --- joins --- */

/* Can anything come to that join yet: an open row, another join that waits? */
static bf_status_t is_awaited(bf_stage_t *stage, const bf_token_t *join, bool *ret)
{
    const bf_case_t *c = join->of;
    const bool *before;
    const bool *behind;
    if (bf_flow_sources(c->flow, join->node, &stage->arena, &before) != BF_OK ||
        bf_flow_reach(c->flow, join->node, &stage->arena, &behind) != BF_OK) {
        return bf_stage_nomem(stage);
    }
    *ret = false;
    for (size_t i = 0; !*ret && i < c->task_count; i++) {
        const bf_flow_node_t *node =
            c->tasks[i]->row.task_state == BF_APPROVAL_DOING
                ? bf_flow_find(c->flow, c->tasks[i]->row.task_name)
                : NULL;
        *ret = node && before[node->index];
    }
    for (size_t i = 0; !*ret && i < stage->join_count; i++) {
        const bf_token_t *other = &stage->joins[i];
        *ret = other->of == c && other->node != join->node &&
               before[other->node->index] && !behind[other->node->index];
    }
    return BF_OK;
}

/* Arrivals of earlier operations: one a join, the last. */
static bf_status_t read_arrivals(bf_stage_t *stage, bf_case_t *c)
{
    const bf_value_t *map = bf_vars_get_str(c->vars, VAR_JOINS);
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && map && map->type == BF_VALUE_MAP && i < map->len;
         i++) {
        const bf_flow_node_t *node = bf_flow_find(c->flow, map->as.members[i].name);
        bool is_there = !node || node->type != BF_FLOW_JOIN ||
                        map->as.members[i].value.type != BF_VALUE_INT;
        for (size_t j = 0; !is_there && j < stage->join_count; j++) {
            is_there = stage->joins[j].of == c && stage->joins[j].node == node;
        }
        if (!is_there) {
            bf_token_t token = {
                .of = c, .node = node, .from = map->as.members[i].value.as.integer};
            rc = put(stage, &stage->joins, &stage->join_count, &stage->join_room, &token);
        }
    }
    return rc;
}

/* Write down who waits at which join. */
static bf_status_t write_arrivals(bf_stage_t *stage, bf_case_t *c)
{
    bf_member_t *members =
        bf_arena_calloc(&stage->arena, stage->join_count + 1, sizeof(*members));
    uint32_t count = 0;
    if (!members) {
        return bf_stage_nomem(stage);
    }
    for (size_t i = 0; i < stage->join_count; i++) {
        const bf_token_t *join = &stage->joins[i];
        if (join->of == c) {
            members[count++] =
                (bf_member_t){join->node->id, (uint32_t)strlen(join->node->id),
                              bf_value_int(join->from)};
        }
    }
    if (!count && !bf_vars_get_str(c->vars, VAR_JOINS)) {
        return BF_OK;
    }
    bf_value_t map = {.type = count ? BF_VALUE_MAP : BF_VALUE_NULL,
                      .len = count,
                      .as.members = members};
    return bf_case_set(stage, c, VAR_JOINS, &map);
}

/* A join keeps one arrival: the last, which is the parent of what follows. */
static bf_status_t arrive(bf_stage_t *stage, const bf_token_t *token)
{
    for (size_t i = 0; i < stage->join_count; i++) {
        if (stage->joins[i].of == token->of && stage->joins[i].node == token->node) {
            stage->joins[i].from = token->from;
            return BF_OK;
        }
    }
    return put(stage, &stage->joins, &stage->join_count, &stage->join_room, token);
}

/* Let one join pass that nothing can come to. */
static bf_status_t pass_join(bf_stage_t *stage, bool *ret_passed)
{
    bf_status_t rc = BF_OK;
    *ret_passed = false;
    for (size_t i = 0; rc == BF_OK && i < stage->join_count; i++) {
        bool awaited = true;
        bf_token_t join = stage->joins[i];
        rc = is_awaited(stage, &join, &awaited);
        if (rc == BF_OK && !awaited) {
            stage->join_count--;
            memmove(&stage->joins[i], &stage->joins[i + 1],
                    (stage->join_count - i) * sizeof(join));
            *ret_passed = true;
            return bf_route_leave(stage, join.of, join.node, join.from);
        }
    }
    return rc;
}

/* --- walking --- */

static bf_status_t enter(bf_stage_t *stage, const bf_token_t *token)
{
    if (++stage->steps > stage->limits.max_steps) {
        return bf_err_set(stage->err, BF_E_STEP_LIMIT,
                          "definition %s: the operation enters over %u nodes; look for a "
                          "loop without a task, or raise max_steps",
                          token->of->flow->name, stage->limits.max_steps);
    }
    switch (token->node->type) {
    case BF_FLOW_TASK:
        return enter_task(stage, token);
    case BF_FLOW_DECISION:
        return decide(stage, token->of, token->node, token->from);
    case BF_FLOW_JOIN:
        return arrive(stage, token);
    case BF_FLOW_CUSTOM:
        return enter_custom(stage, token);
    case BF_FLOW_SUB_PROCESS:
    case BF_FLOW_WF_SUB_PROCESS:
        return enter_sub_process(stage, token);
    case BF_FLOW_END:
        return bf_route_finish(stage, token->of);
    case BF_FLOW_START:
    case BF_FLOW_FORK:
    case BF_FLOW_TYPE_COUNT:
        break;
    }
    return bf_route_leave(stage, token->of, token->node, token->from);
}

static bf_status_t walk_tokens(bf_stage_t *stage)
{
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && stage->token_count) {
        bf_token_t token = stage->tokens[--stage->token_count];
        bool is_gone = token.of->row.state == BF_APPROVAL_ABANDONED;
        rc = is_gone ? BF_OK : enter(stage, &token);
    }
    return rc;
}

bf_status_t bf_route_run(bf_stage_t *stage)
{
    bf_status_t rc = walk_tokens(stage);
    for (bf_case_t *c = stage->cases; rc == BF_OK && c; c = c->next) {
        rc = c->row.state == BF_APPROVAL_DOING ? read_arrivals(stage, c) : BF_OK;
    }
    bool passed = rc == BF_OK;
    while (rc == BF_OK && passed) {
        rc = pass_join(stage, &passed);
        if (rc == BF_OK) {
            rc = walk_tokens(stage);
        }
    }
    for (bf_case_t *c = stage->cases; rc == BF_OK && c; c = c->next) {
        rc = write_arrivals(stage, c);
    }
    stage->join_count = 0;
    return rc;
}
