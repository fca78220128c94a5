/*
 * facade_highlight.c - how far an application has come, for the drawing (rule 46)
 *
 * The way is followed from the start along the edges.  It ends at open tasks, at tasks
 * that were not finished, at joins that still wait; edges of a decision are those whose
 * condition is true; a task without a row was not come to.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/array.h"
#include "lib/approval/facade_int.h"

/* What is known of a node. */
typedef struct mark {
    bool is_seen;     /* the way came here */
    bool is_open;     /* one of them is open */
    bool is_finished; /* one of them is finished */
    bool is_ahead;    /* a way leads here from something that is open */
    bool is_listed;   /* in one of the lists of nodes */
    size_t first_row; /* of its rows, in light->rows */
    size_t row_count;
} mark_t;

typedef struct light {
    bf_facade_call_t *call;
    const bf_flow_t *flow;
    int64_t process_id;
    bf_value_t vars;
    mark_t *marks;              /* by index of the node */
    const bf_task_row_t **rows; /* of nodes of the flow, node by node */
    const bf_flow_node_t **stack;
    size_t depth;
    bf_facade_list_t active;
    bf_facade_list_t history;
    bf_facade_list_t edges;
} light_t;

/* A row of the application and its node; one that the flow has no longer has none. */
typedef struct row {
    const bf_task_row_t *task;
    mark_t *mark;
} row_t;

typedef struct rows {
    row_t *items;
    size_t count;
    size_t room;
} rows_t;

static bf_status_t find_rows(light_t *light, rows_t *rows)
{
    bf_facade_call_t *call = light->call;
    size_t cursor = 0;
    const bf_task_row_t *task;
    while ((task = bf_ledger_next_by_id(call->ledger, BF_LEDGER_BY_TASK_PROCESS,
                                        light->process_id, &cursor)) != NULL) {
        if (rows->count == rows->room) {
            row_t *items = bf_array_grow_in(call->arena, rows->items, &rows->room,
                                            sizeof(*items), 32);
            if (!items) {
                return bf_err_nomem(&call->err, "rows");
            }
            rows->items = items;
        }
        const bf_flow_node_t *node = bf_flow_find(light->flow, task->task_name);
        rows->items[rows->count++] =
            (row_t){task, node ? &light->marks[node->index] : NULL};
    }
    return BF_OK;
}

static void mark_row(const row_t *row)
{
    mark_t *mark = row->mark;
    bool is_open = row->task->task_state == BF_APPROVAL_DOING;
    mark->is_open = mark->is_open || is_open;
    mark->is_finished =
        mark->is_finished || row->task->task_state == BF_APPROVAL_FINISHED;
    mark->row_count++;
}

/* Nodes with an open row, and then all others that have rows. */
static void list_row(light_t *light, const row_t *row, bool is_active)
{
    bool is_open = row->task->task_state == BF_APPROVAL_DOING;
    bf_facade_list_t *list = is_active ? &light->active : &light->history;
    if (is_active && !is_open) {
        return;
    }
    if (!row->mark) {
        if (!bf_facade_has_name(&light->active, row->task->task_name)) {
            bf_facade_add_name(list, row->task->task_name);
        }
    } else if (!row->mark->is_listed) {
        row->mark->is_listed = true;
        bf_facade_add(list, bf_facade_text(light->call, row->task->task_name));
    }
}

/* The rows of the flow's nodes, those of a node together, in the order of their making.
 */
static bf_status_t sort_rows(light_t *light, const rows_t *rows)
{
    size_t first = 0;
    for (uint32_t i = 0; i < light->flow->node_count; i++) {
        light->marks[i].first_row = first;
        first += light->marks[i].row_count;
        light->marks[i].row_count = 0;
    }
    light->rows = bf_arena_calloc(light->call->arena, first, sizeof(light->rows[0]));
    if (!light->rows) {
        return bf_err_nomem(&light->call->err, "rows");
    }
    for (size_t i = 0; i < rows->count; i++) {
        mark_t *mark = rows->items[i].mark;
        if (mark) {
            light->rows[mark->first_row + mark->row_count++] = rows->items[i].task;
        }
    }
    return BF_OK;
}

static bf_status_t read_rows(light_t *light)
{
    rows_t rows = {NULL, 0, 0};
    bf_status_t status = find_rows(light, &rows);
    for (size_t i = 0; i < rows.count; i++) {
        if (rows.items[i].mark) {
            mark_row(&rows.items[i]);
        }
    }
    for (size_t i = 0; i < rows.count; i++) {
        list_row(light, &rows.items[i], true);
    }
    for (size_t i = 0; i < rows.count; i++) {
        list_row(light, &rows.items[i], false);
    }
    return status == BF_OK ? sort_rows(light, &rows) : status;
}

/* --- decisions --- */

static const bf_value_t *lookup(void *arg, const char *name, size_t name_len,
                                uint64_t hash)
{
    (void)hash;
    const light_t *light = arg;
    return bf_value_get(&light->vars, name, name_len);
}

/* An expression that fails is not true. */
static bool is_true(light_t *light, const bf_expr_t *expr)
{
    bf_expr_env_t env = {.lookup = lookup,
                         .arg = light,
                         .arena = light->call->arena,
                         .now_wall_ms = bf_approval_now_ms(light->call->approval)};
    bf_value_t value = bf_value_null();
    bf_status_t status = bf_expr_eval(expr, &env, &value, NULL);
    light->call->is_nomem = light->call->is_nomem || status == BF_E_NOMEM;
    return status == BF_OK && value.type == BF_VALUE_BOOL && value.as.boolean;
}

static bool has_true_edge(light_t *light, const bf_flow_node_t *node)
{
    for (uint32_t i = 0; i < node->out_count; i++) {
        if (node->out[i]->expr && is_true(light, node->out[i]->expr)) {
            return true;
        }
    }
    return false;
}

static bool is_taken(light_t *light, const bf_flow_node_t *node,
                     const bf_flow_edge_t *edge)
{
    const mark_t *to = &light->marks[edge->target->index];
    if (edge->target->type == BF_FLOW_TASK && !to->row_count) {
        return false;
    }
    if (node->type != BF_FLOW_DECISION) {
        return true;
    }
    return edge->expr ? is_true(light, edge->expr) : !has_true_edge(light, node);
}

/* --- the way --- */

/* A join waits while something that is open can still lead to it. */
static void mark_ahead(light_t *light)
{
    for (uint32_t i = 0; i < light->flow->node_count; i++) {
        if (light->marks[i].is_open) {
            light->stack[light->depth++] = &light->flow->nodes[i];
        }
    }
    while (light->depth) {
        const bf_flow_node_t *node = light->stack[--light->depth];
        for (uint32_t i = 0; i < node->out_count; i++) {
            const bf_flow_node_t *target = node->out[i]->target;
            mark_t *mark = &light->marks[target->index];
            /* one that is open was put on the stack above */
            if (!mark->is_ahead && !mark->is_open) {
                light->stack[light->depth++] = target;
            }
            mark->is_ahead = true;
        }
    }
}

static bool is_passed(light_t *light, const bf_flow_node_t *node)
{
    const mark_t *mark = &light->marks[node->index];
    if (node->type == BF_FLOW_TASK) {
        return mark->is_finished && !mark->is_open;
    }
    return node->type != BF_FLOW_JOIN || !mark->is_ahead;
}

static void come_to(light_t *light, const bf_flow_node_t *node)
{
    mark_t *mark = &light->marks[node->index];
    if (!mark->is_listed) {
        mark->is_listed = true;
        bf_facade_add(&light->history, bf_facade_text(light->call, node->id));
    }
    if (!mark->is_seen) {
        mark->is_seen = true;
        light->stack[light->depth++] = node;
    }
}

static void follow(light_t *light)
{
    mark_ahead(light);
    light->marks[light->flow->start->index].is_seen = true;
    light->stack[light->depth++] = light->flow->start;
    while (light->depth) {
        const bf_flow_node_t *node = light->stack[--light->depth];
        for (uint32_t i = 0; is_passed(light, node) && i < node->out_count; i++) {
            const bf_flow_edge_t *edge = node->out[i];
            if (is_taken(light, node, edge)) {
                bf_facade_add(&light->edges, bf_facade_text(light->call, edge->id));
                come_to(light, edge->target);
            }
        }
    }
}

/* --- members of a task: who has done it, who is next --- */

typedef struct progress {
    bf_facade_list_t members; /* IDs */
    bf_facade_list_t done;
    const char *active; /* the first that is open */
} progress_t;

/* Who closed the row; where it was none of its actors, all count as done. */
static void add_done(light_t *light, progress_t *progress, const bf_task_row_t *task,
                     const bf_value_t *actors)
{
    bool is_member = task->operator_id &&
                     bf_ledger_is_actor(light->call->ledger, task->id, task->operator_id);
    for (uint32_t i = 0; i < actors->len; i++) {
        const bf_value_t *actor = &actors->as.items[i];
        if (actor->type == BF_VALUE_STRING &&
            (!is_member || !strcmp(actor->as.string, task->operator_id))) {
            bf_facade_add_name(&progress->done, actor->as.string);
        }
    }
}

static bf_status_t add_row(light_t *light, progress_t *progress,
                           const bf_task_row_t *task)
{
    bf_facade_call_t *call = light->call;
    bf_value_t vars;
    bf_status_t status = bf_facade_read_json(call, task->variable, &vars);
    if (status != BF_OK) {
        return status;
    }
    const char *key = bf_arena_printf(call->arena, "operatorList_%s", task->task_name);
    if (!key) {
        return bf_err_nomem(&call->err, "members");
    }
    /* the list is the same in each row of a round */
    const bf_value_t *all = progress->members.used ? NULL : bf_value_get_str(&vars, key);
    bf_value_t actors = bf_facade_actors(call, task->id);
    const bf_value_t *const sources[] = {all, &actors};
    for (size_t k = 0; k < 2; k++) {
        const bf_value_t *source = sources[k];
        for (uint32_t i = 0; source && source->type == BF_VALUE_LIST && i < source->len;
             i++) {
            if (source->as.items[i].type == BF_VALUE_STRING) {
                bf_facade_add_name(&progress->members, source->as.items[i].as.string);
            }
        }
    }
    if (task->task_state == BF_APPROVAL_FINISHED) {
        add_done(light, progress, task, &actors);
    } else if (task->task_state == BF_APPROVAL_DOING && !progress->active && actors.len &&
               actors.as.items[0].type == BF_VALUE_STRING) {
        progress->active = actors.as.items[0].as.string;
    }
    return BF_OK;
}

static bf_status_t member_value(light_t *light, const progress_t *progress,
                                const char *id, bf_value_t *ret)
{
    bf_facade_call_t *call = light->call;
    bf_approval_user_t user;
    bf_status_t status = bf_facade_find_user(call, id, &user);
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_text(&map, "id", id);
    bf_facade_put_text(&map, "name", user.real_name ? user.real_name : "");
    if (progress->active && !strcmp(progress->active, id)) {
        bf_facade_put_bool(&map, "active", true);
    } else if (bf_facade_has_name(&progress->done, id)) {
        bf_facade_put_bool(&map, "done", true);
    }
    *ret = bf_facade_map_value(&map);
    return status;
}

/* Where the last round begins: its rows come from one and the same row, or, one vote
 * after the other, from each other. */
static size_t last_round(const bf_task_row_t *const *rows, size_t count)
{
    size_t first = count - 1;
    int64_t parent = rows[first]->task_parent_id;
    while (first > 0) {
        const bf_task_row_t *before = rows[first - 1];
        if (before->id == parent) {
            parent = before->task_parent_id;
        } else if (before->task_parent_id != parent) {
            break;
        }
        first--;
    }
    return first;
}

static bf_status_t node_progress(light_t *light, const bf_flow_node_t *node,
                                 bf_value_t *ret)
{
    bf_facade_call_t *call = light->call;
    progress_t progress = {.active = NULL};
    const mark_t *mark = &light->marks[node->index];
    const bf_task_row_t *const *rows = light->rows + mark->first_row;
    bf_facade_list_t members;
    bf_facade_list_init(call, &progress.members);
    bf_facade_list_init(call, &progress.done);
    bf_facade_list_init(call, &members);
    bf_status_t status = BF_OK;
    for (size_t i = last_round(rows, mark->row_count);
         i < mark->row_count && status == BF_OK; i++) {
        status = add_row(light, &progress, rows[i]);
    }
    for (uint32_t i = 0; i < progress.members.used && status == BF_OK; i++) {
        bf_value_t member = bf_value_null();
        status =
            member_value(light, &progress, progress.members.items[i].as.string, &member);
        bf_facade_add(&members, member);
    }
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put(&map, "members", bf_facade_list_value(&members));
    if (node->is_countersign) {
        bf_facade_put_text(&map, "type", node->is_sequential ? "SEQUENTIAL" : "PARALLEL");
    }
    *ret = members.used ? bf_facade_map_value(&map) : bf_value_null();
    return status;
}

static bf_status_t all_progress(light_t *light, bf_value_t *ret)
{
    bf_facade_map_t map;
    bf_facade_map_init(light->call, &map);
    bf_status_t status = BF_OK;
    for (uint32_t i = 0; i < light->flow->node_count && status == BF_OK; i++) {
        const bf_flow_node_t *node = &light->flow->nodes[i];
        bf_value_t value = bf_value_null();
        if (light->marks[i].row_count) {
            status = node_progress(light, node, &value);
        }
        const char *id =
            value.type == BF_VALUE_MAP ? bf_facade_copy(light->call, node->id) : NULL;
        if (id) {
            bf_facade_append(&map, id, (uint32_t)strlen(id), value);
        }
    }
    *ret = bf_facade_map_value(&map);
    return status;
}

static bf_status_t prepare(light_t *light, const bf_process_row_t *process)
{
    bf_facade_call_t *call = light->call;
    bf_status_t status = bf_approval_flow(call->approval, process->process_define_id,
                                          &light->flow, &call->err);
    if (status == BF_OK) {
        status = bf_facade_read_json(call, process->variable, &light->vars);
    }
    if (status != BF_OK) {
        return status;
    }
    uint32_t count = light->flow->node_count;
    light->marks = bf_arena_calloc(call->arena, count, sizeof(light->marks[0]));
    light->stack = bf_arena_calloc(call->arena, count, sizeof(light->stack[0]));
    if (!light->marks || !light->stack) {
        return bf_err_nomem(&call->err, "nodes");
    }
    bf_facade_list_init(call, &light->active);
    bf_facade_list_init(call, &light->history);
    bf_facade_list_init(call, &light->edges);
    return BF_OK;
}

bf_status_t bf_facade_high_light(bf_facade_call_t *call)
{
    const bf_process_row_t *process;
    light_t light = {.call = call};
    bf_value_t progress = bf_value_null();
    bf_status_t status = bf_facade_body_process(call, "id", &process);
    if (status == BF_OK) {
        light.process_id = process->id;
        status = prepare(&light, process);
    }
    if (status != BF_OK) {
        return status;
    }
    status = read_rows(&light);
    if (status != BF_OK) {
        return status;
    }
    follow(&light);
    status = all_progress(&light, &progress);
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put(&map, "activeNodeNames", bf_facade_list_value(&light.active));
    bf_facade_put(&map, "historyNodeNames", bf_facade_list_value(&light.history));
    bf_facade_put(&map, "historyEdgeNames", bf_facade_list_value(&light.edges));
    bf_facade_put(&map, "nodeProgress", progress);
    call->data = bf_facade_map_value(&map);
    return status;
}
