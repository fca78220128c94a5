/*
 * history.c - the rows that a step of an instance leaves behind
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/history.h"

static bf_history_node_t node_of(const bf_node_t *node)
{
    return (bf_history_node_t){
        .code = node->id,
        .name = node->title ? node->title : node->id,
        .type = bf_node_type_name(node->type),
    };
}

/* `form_id` of the command, else `formId` of the node (first seed, 1.2). */
static void set_form(bf_history_t *row, const bf_history_step_t *step)
{
    if (step->has_form_id) {
        row->has_form_id = true;
        row->form_id = step->form_id;
        return;
    }
    const bf_value_t *meta = bf_node_meta(step->source->node, "formId");
    if (meta && meta->type == BF_VALUE_INT) {
        row->has_form_id = true;
        row->form_id = meta->as.integer;
    }
}

/* Status column: the state that the action gives (0 for a restart). */
static int32_t status_of(bf_action_t action)
{
    return (int32_t)bf_action_target_state(action);
}

static const char *copy_text(bf_arena_t *arena, const char *text, bool *failed)
{
    if (!text) {
        return NULL;
    }
    const char *copy = bf_arena_strdup(arena, text);
    *failed |= !copy;
    return copy;
}

/* The later rounds of a task have a number in their ID (first seed: node ID, or node ID
 * with a serial number). */
static const char *task_id_of(bf_arena_t *arena, const bf_task_t *task, bool *failed)
{
    if (task->round < 2) {
        return copy_text(arena, task->node->id, failed);
    }
    const char *text = bf_arena_printf(arena, "%s#%u", task->node->id, task->round);
    *failed |= !text;
    return text;
}

static bf_status_t write_vars(bf_instance_t *inst, bf_arena_t *arena, bf_text_t *ret)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_vars_write_json(bf_instance_vars(inst), &str);
    char *copy = bf_str_failed(&str) ? NULL : bf_arena_strndup(arena, str.data, str.len);
    *ret = (bf_text_t){copy, str.len};
    bf_str_fini(&str);
    return copy ? BF_OK : BF_E_NOMEM;
}

static bf_history_node_t copy_node(bf_arena_t *arena, const bf_node_t *node, bool *failed)
{
    bf_history_node_t ret = node_of(node);
    ret.code = copy_text(arena, ret.code, failed);
    ret.name = copy_text(arena, ret.name, failed);
    return ret;
}

bf_status_t bf_history_build(bf_instance_t *inst, const bf_history_step_t *step,
                             const bf_task_t *targets, size_t target_count,
                             bf_arena_t *arena, bf_history_t **ret, bf_err_t *err)
{
    bool failed = false;
    const bf_task_t *source = step->source;
    bf_history_t *rows = bf_arena_calloc(arena, target_count, sizeof(*rows));
    bf_history_t row = {
        .instance_id = copy_text(arena, bf_instance_id(inst), &failed),
        .graph_id = copy_text(arena, source->node->graph->id, &failed),
        .graph_version = source->node->graph->version,
        .action = step->action,
        .task_id = task_id_of(arena, source, &failed),
        .source = copy_node(arena, source->node, &failed),
        .assignee = copy_text(arena, step->assignee, &failed),
        .status = status_of(step->action),
        .message = copy_text(arena, step->message, &failed),
        .instance_state = (int32_t)bf_instance_status(inst),
        .command_id = copy_text(arena, step->command_id, &failed),
        .creator = copy_text(arena, step->creator ? step->creator : "", &failed),
        .create_time_ms = step->now_wall_ms,
    };
    set_form(&row, step);
    if (!rows || failed || write_vars(inst, arena, &row.variables) != BF_OK) {
        return bf_err_nomem(err, "history rows");
    }
    for (size_t i = 0; i < target_count; i++) {
        row.target = copy_node(arena, targets[i].node, &failed);
        if (failed) {
            return bf_err_nomem(err, "history rows");
        }
        rows[i] = row;
        rows[i].seq = bf_instance_next_seq(inst);
    }
    *ret = rows;
    return BF_OK;
}

/* Everything that the job is made of has to be in the row: it is published from there
 * again after a crash, when the definition may be another one. */
bf_status_t bf_history_build_dispatch(bf_instance_t *inst, const bf_history_step_t *step,
                                      bf_arena_t *arena, bf_history_t *ret, bf_err_t *err)
{
    const bf_node_t *node = step->source->node;
    bf_str_t meta;
    bf_str_init(&meta, BF_DISPATCH_META_MAX);
    if (node->meta.type == BF_VALUE_MAP) {
        bf_json_write(&meta, &node->meta);
    } else {
        bf_str_puts(&meta, "{}");
    }
    if (meta.too_big) {
        bf_str_fini(&meta);
        return bf_err_set(err, BF_E_LIMIT,
                          "node \"%s\" of graph \"%s\": its meta has more than %zu bytes "
                          "and cannot be handed to a service; keep large data elsewhere",
                          node->id, node->graph->id, BF_DISPATCH_META_MAX);
    }
    bf_history_step_t whole = *step;
    bf_history_t *row = NULL;
    whole.action = BF_ACTION_DISPATCH;
    whole.message = bf_str_peek(&meta);
    bf_status_t rc = bf_str_failed(&meta) ? bf_err_nomem(err, "history rows")
                                          : bf_history_build(inst, &whole, step->source,
                                                             1, arena, &row, err);
    bf_str_fini(&meta);
    if (rc != BF_OK) {
        return rc;
    }
    bool failed = false;
    row->target.code = copy_text(arena, node->task.name, &failed);
    row->target.name = row->target.code;
    row->target.type = BF_DISPATCH_TYPE;
    *ret = *row;
    return failed ? bf_err_nomem(err, "history rows") : BF_OK;
}
