/*
 * store_work.c - the rows of a batch on their way into statements
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/store_work_int.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"

/* Memory of a batch that is kept for the next one. */
#define KEEP_BATCH_BYTES ((size_t)64 << 20)

/* --- rows to parameters --- */

static void fill_instance(const bf_dirty_t *dirty, bf_params_t *params)
{
    const bf_instance_row_t *row = &dirty->row;
    if (dirty->key != 0) {
        bf_params_put_i64(params, dirty->key);
    } else {
        bf_params_put_null_i64(params); /* AUTO_INCREMENT gives one */
    }
    bf_params_put_cstr(params, row->instant_id);
    bf_params_put_text(params, row->graph.data, row->graph.len);
    bf_params_put_text(params, row->states.data, row->states.len);
    bf_params_put_text(params, row->vars.data, row->vars.len);
    bf_params_put_text(params, row->tasks.data, row->tasks.len);
    bf_params_put_i64(params, row->rev);
    bf_params_put_i64(params, dirty->stored_rev);
    bf_params_put_i64(params, row->status);
    bf_params_put_i64(params, row->seq);
    bf_params_put_i64(params, row->partition_no);
    bf_params_put_cstr(params, row->creator != NULL ? row->creator : "");
    bf_params_put_time(params, row->create_time_ms);
    bf_params_put_cstr(params, row->updater != NULL ? row->updater : "");
    bf_params_put_time(params, row->update_time_ms);
}

static void put_node(bf_params_t *params, const bf_history_node_t *node)
{
    bf_params_put_cstr(params, node->code);
    bf_params_put_cstr(params, node->name);
    bf_params_put_cstr(params, node->type);
}

void bf_work_fill_history(const void *rows, size_t index, bf_params_t *params)
{
    const bf_history_t *row = (const bf_history_t *)rows + index;
    bf_params_put_cstr(params, row->instance_id);
    bf_params_put_i64(params, row->seq);
    bf_params_put_cstr(params, row->graph_id);
    bf_params_put_i64(params, row->graph_version);
    bf_params_put_cstr(params, row->task_id);
    bf_params_put_i64(params, row->action);
    put_node(params, &row->source);
    put_node(params, &row->target);
    bf_params_put_cstr(params, row->assignee);
    bf_params_put_i64(params, row->status);
    if (row->has_form_id) {
        bf_params_put_i64(params, row->form_id);
    } else {
        bf_params_put_null_i64(params);
    }
    bf_params_put_text(params, row->variables.data, row->variables.len);
    bf_params_put_cstr(params, row->message);
    bf_params_put_i64(params, row->instance_state);
    bf_params_put_cstr(params, row->command_id);
    bf_params_put_cstr(params, row->creator);
    bf_params_put_time(params, row->create_time_ms);
}

void bf_work_fill_command(const void *rows, size_t index, bf_params_t *params)
{
    const bf_commit_work_t *work = rows;
    const bf_command_row_t *row = &work->batch->commands[index];
    bf_params_put_i64(params, work->topic_numbers[index]);
    bf_params_put_i64(params, row->partition_no);
    bf_params_put_i64(params, row->offset);
    bf_params_put_cstr(params, row->instance_id);
    bf_params_put_cstr(params, row->command_id);
    bf_params_put_cstr(params, row->command);
    bf_params_put_cstr(params, row->code);
    bf_params_put_i64(params, row->first_seq);
    bf_params_put_i64(params, row->last_seq);
    bf_params_put_text(params, row->reply.data, row->reply.len);
    bf_params_put_cstr(params, row->reply_topic);
    bf_params_put_cstr(params, row->traceparent);
    bf_params_put_cstr(params, row->tracestate);
    bf_params_put_time(params, row->create_time_ms);
}

/* --- what is to be written --- */

static int compare_dirty(const void *a, const void *b)
{
    const bf_dirty_t *x = a;
    const bf_dirty_t *y = b;
    bool x_new = x->stored_rev == 0;
    bool y_new = y->stored_rev == 0;
    if (x_new != y_new) {
        return x_new ? -1 : 1;
    }
    return strcmp(x->row.instant_id, y->row.instant_id);
}

/* Changes that no command made (the library's own state_put) name no time. */
static void stamp(bf_instance_row_t *row, bool is_new, int64_t now_ms)
{
    if (row->update_time_ms == 0) {
        row->update_time_ms = now_ms;
    }
    if (row->create_time_ms == 0 && is_new) {
        row->create_time_ms = now_ms;
    }
}

bf_status_t bf_work_collect(bf_store_t *store, bf_commit_work_t *work, bf_err_t *err)
{
    const bf_batch_write_t *batch = work->batch;
    int64_t now_ms = bf_clock_wall_ms();
    work->dirty =
        bf_arena_calloc(&store->batch, batch->instance_count + 1, sizeof(bf_dirty_t));
    if (work->dirty == NULL) {
        return bf_err_nomem(err, "writing a batch");
    }
    for (size_t i = 0; i < batch->instance_count; i++) {
        bf_instance_t *inst = batch->instances[i];
        if (!bf_instance_is_dirty(inst)) {
            continue;
        }
        bf_dirty_t *dirty = &work->dirty[work->count++];
        dirty->inst = inst;
        dirty->stored_rev = bf_instance_stored_revision(inst);
        dirty->key = dirty->stored_rev == 0 ? 0 : bf_instance_store_key(inst);
        work->new_count += dirty->stored_rev == 0 ? 1 : 0;
        bf_status_t status = bf_instance_open(inst);
        if (status == BF_OK) {
            status = bf_instance_write_row(inst, &store->batch, &dirty->row, err);
        }
        if (status != BF_OK) {
            return bf_err_set(err, status, "writing instance %s", bf_instance_id(inst));
        }
        dirty->unstamped = dirty->row.update_time_ms == 0;
        stamp(&dirty->row, dirty->stored_rev == 0, now_ms);
    }
    qsort(work->dirty, work->count, sizeof(bf_dirty_t), compare_dirty);
    return BF_OK;
}

bf_status_t bf_work_number_commands(bf_store_t *store, bf_commit_work_t *work,
                                    bf_err_t *err)
{
    const bf_batch_write_t *batch = work->batch;
    bf_status_t status = BF_OK;
    int32_t *numbers =
        bf_arena_calloc(&store->batch, batch->command_count + 1, sizeof(int32_t));
    if (numbers == NULL) {
        return bf_err_nomem(err, "writing a batch");
    }
    for (size_t i = 0; status == BF_OK && i < batch->command_count; i++) {
        status = bf_store_topic_number(store, batch->commands[i].topic,
                                       batch->commands[i].partition_no, &numbers[i], err);
    }
    work->topic_numbers = numbers;
    return status;
}

/* --- afterwards --- */

/* Servers number the rows of one INSERT ... VALUES in their order.  Where one does not,
 * the numbers are wrong, and the next update finds a conflict and loads the right ones.
 */
void bf_work_note_keys(const void *rows, size_t first, size_t count, int64_t first_id)
{
    const bf_commit_work_t *work = rows;
    for (size_t i = 0; first_id > 0 && i < count; i++) {
        work->dirty[first + i].key = first_id + (int64_t)i * work->id_step;
    }
}

void bf_work_fill_new(const void *rows, size_t index, bf_params_t *params)
{
    const bf_commit_work_t *work = rows;
    fill_instance(&work->dirty[index], params);
}

void bf_work_fill_changed(const void *rows, size_t index, bf_params_t *params)
{
    const bf_commit_work_t *work = rows;
    fill_instance(&work->dirty[work->new_count + index], params);
}

void bf_work_keep_keys(const bf_commit_work_t *work)
{
    for (size_t i = 0; i < work->new_count; i++) {
        bf_instance_set_store_key(work->dirty[i].inst, work->dirty[i].key);
    }
}

void bf_work_mark_stored(const bf_batch_write_t *batch)
{
    for (size_t i = 0; i < batch->instance_count; i++) {
        if (bf_instance_is_dirty(batch->instances[i])) {
            bf_instance_mark_stored(batch->instances[i]);
        }
    }
}

void bf_work_clear(bf_store_t *store)
{
    if (bf_arena_held_bytes(&store->batch) > KEEP_BATCH_BYTES) {
        bf_arena_fini(&store->batch);
    } else {
        bf_arena_clear(&store->batch);
    }
}
