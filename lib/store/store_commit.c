/*
 * store_commit.c - the transaction of a batch; see store.h
 *
 * Order: offset rows (the fence), new instances, changed instances, history, outcomes,
 * COMMIT.  New instances come before changed ones, each sorted by ID: a transaction that
 * holds gaps of the index (an upsert does) inserts no new key any more, so that two
 * shards do not wait for each other in a circle.
 *
 * The revision guard costs no round trip of its own.  A new instance is a plain INSERT:
 * 1062 means that somebody else has made it.  A changed one is an upsert that sets its
 * columns only where the row still has the revision that we loaded.  The server counts 2
 * for a row that was changed, 1 for one that was left alone (found rows) or that did not
 * exist any more (inserted): a sum of 2n over n rows says that all were ours, and no
 * other combination gives it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "bpmflow/fault.h"
#include "bpmflow/map.h"
#include "bpmflow/str.h"
#include "lib/store/store_int.h"

/* Memory of a batch that is kept for the next one. */
#define KEEP_BATCH_BYTES ((size_t)64 << 20)

/* A changed instance and the row made of it. */
typedef struct dirty {
    bf_instance_t *inst;
    bf_instance_row_t row;
    int32_t stored_rev; /* 0 = there is no row yet */
    int64_t key;        /* number of the row; 0 = not known */
    bool unstamped;     /* the instance itself names no update time */
} dirty_t;

typedef struct commit_work {
    dirty_t *dirty; /* new ones first, each part sorted by ID */
    size_t new_count;
    size_t count;
    int64_t id_step;
    const int32_t *topic_numbers; /* of each command row */
    const bf_batch_write_t *batch;
} commit_work_t;

/* --- rows to parameters --- */

static void fill_instance(const dirty_t *dirty, bf_params_t *params)
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

static void fill_history(const void *rows, size_t index, bf_params_t *params)
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

static void fill_command(const void *rows, size_t index, bf_params_t *params)
{
    const commit_work_t *work = rows;
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
    const dirty_t *x = a;
    const dirty_t *y = b;
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

static bf_status_t collect_dirty(bf_store_t *store, commit_work_t *work, bf_err_t *err)
{
    const bf_batch_write_t *batch = work->batch;
    int64_t now_ms = bf_clock_wall_ms();
    work->dirty =
        bf_arena_calloc(&store->batch, batch->instance_count + 1, sizeof(dirty_t));
    if (work->dirty == NULL) {
        return bf_err_nomem(err, "writing a batch");
    }
    for (size_t i = 0; i < batch->instance_count; i++) {
        bf_instance_t *inst = batch->instances[i];
        if (!bf_instance_is_dirty(inst)) {
            continue;
        }
        dirty_t *dirty = &work->dirty[work->count++];
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
    qsort(work->dirty, work->count, sizeof(dirty_t), compare_dirty);
    return BF_OK;
}

static bf_status_t number_commands(bf_store_t *store, commit_work_t *work, bf_err_t *err)
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

/* --- the fence --- */

static const size_t advance_sizes[BF_ADVANCE_SIZES] = {1, 8, BF_ADVANCE_MAX};

static bf_status_t prepare_advance(bf_store_t *store, size_t k, bf_err_t *err)
{
    bf_str_t sql;
    bf_str_init(&sql, 0);
    bf_str_puts(&sql, "UPDATE bpm_flow_offset SET next_offset = CASE");
    for (size_t i = 0; i < advance_sizes[k]; i++) {
        bf_str_puts(&sql, " WHEN topic = ? AND partition_no = ? THEN ?");
    }
    bf_str_puts(&sql, " ELSE next_offset END, released = FALSE, "
                      "connection_id = CONNECTION_ID(), update_time = ? WHERE ");
    for (size_t i = 0; i < advance_sizes[k]; i++) {
        bf_str_puts(&sql, i > 0 ? " OR " : "");
        bf_str_puts(&sql, "(topic = ? AND partition_no = ? AND epoch = ? "
                          "AND next_offset = ?)");
    }
    bf_status_t status = bf_str_status(&sql, "offset rows", err);
    if (status == BF_OK) {
        status = bf_stmt_prepare(store->db, "offset rows", bf_str_peek(&sql),
                                 &store->advance[k], err);
    }
    bf_str_fini(&sql);
    return status;
}

/* A place that is left over repeats the last one. */
static void put_advances(bf_params_t *params, const bf_offset_advance_t *offsets,
                         size_t count, size_t size)
{
    bf_params_clear(params);
    for (size_t i = 0; i < size; i++) {
        const bf_offset_advance_t *o = &offsets[i < count ? i : count - 1];
        bf_params_put_cstr(params, o->topic);
        bf_params_put_i64(params, o->partition_no);
        bf_params_put_i64(params, o->to);
    }
    bf_params_put_time(params, bf_clock_wall_ms());
    for (size_t i = 0; i < size; i++) {
        const bf_offset_advance_t *o = &offsets[i < count ? i : count - 1];
        bf_params_put_cstr(params, o->topic);
        bf_params_put_i64(params, o->partition_no);
        bf_params_put_i64(params, o->epoch);
        bf_params_put_i64(params, o->from);
    }
}

static bf_status_t advance_some(bf_store_t *store, const bf_offset_advance_t *offsets,
                                size_t count, bf_err_t *err)
{
    size_t k = 0;
    int64_t matched = 0;
    while (advance_sizes[k] < count) {
        k++;
    }
    bf_status_t status = BF_OK;
    if (store->advance[k] == NULL) {
        status = prepare_advance(store, k, err);
    }
    if (status == BF_OK) {
        put_advances(&store->params, offsets, count, advance_sizes[k]);
        status = bf_stmt_run(store->advance[k], &store->params, 0, &matched, err);
    }
    if (status == BF_OK && matched != (int64_t)count) {
        status = bf_err_set(err, BF_E_FENCED,
                            "%" PRId64 " of %zu offset rows matched (the first is "
                            "%s/%" PRId32 " at %" PRId64 ", epoch %" PRId64
                            "): a partition has another owner now",
                            matched, count, offsets[0].topic, offsets[0].partition_no,
                            offsets[0].from, offsets[0].epoch);
    }
    return status;
}

static bf_status_t advance_all(bf_store_t *store, const bf_batch_write_t *batch,
                               bf_err_t *err)
{
    bf_status_t status = BF_OK;
    for (size_t i = 0; status == BF_OK && i < batch->offset_count; i += BF_ADVANCE_MAX) {
        size_t rest = batch->offset_count - i;
        status = advance_some(store, &batch->offsets[i],
                              rest < BF_ADVANCE_MAX ? rest : BF_ADVANCE_MAX, err);
    }
    return status;
}

/* --- writing --- */

/* Servers number the rows of one INSERT ... VALUES in their order.  Where one does not,
 * the numbers are wrong, and the next update finds a conflict and loads the right ones.
 */
static void note_keys(const void *rows, size_t first, size_t count, int64_t first_id)
{
    const commit_work_t *work = rows;
    for (size_t i = 0; first_id > 0 && i < count; i++) {
        work->dirty[first + i].key = first_id + (int64_t)i * work->id_step;
    }
}

static void fill_new(const void *rows, size_t index, bf_params_t *params)
{
    const commit_work_t *work = rows;
    fill_instance(&work->dirty[index], params);
}

static void fill_changed(const void *rows, size_t index, bf_params_t *params)
{
    const commit_work_t *work = rows;
    fill_instance(&work->dirty[work->new_count + index], params);
}

static bf_status_t write_instances(bf_store_t *store, const commit_work_t *work,
                                   bf_err_t *err)
{
    bf_bulk_result_t result;
    const bf_bulk_rows_t new_rows = {work, work->new_count, fill_new, note_keys};
    const bf_bulk_rows_t changed_rows = {work, work->count - work->new_count,
                                         fill_changed, NULL};
    bf_status_t status = bf_bulk_run(&store->insert_instances, &new_rows, &result, err);
    if (status == BF_E_DUPLICATE) {
        return BF_E_CONFLICT;
    }
    if (status != BF_OK) {
        return status;
    }
    status = bf_bulk_run(&store->update_instances, &changed_rows, &result, err);
    if (status == BF_E_DUPLICATE) { /* a wrong number met another row's ID */
        return BF_E_CONFLICT;
    }
    if (status == BF_OK && result.affected != (int64_t)changed_rows.count * 2) {
        status = BF_E_CONFLICT;
    }
    return status;
}

static bf_status_t write_log(bf_store_t *store, const commit_work_t *work, bf_err_t *err)
{
    bf_bulk_result_t result;
    const bf_bulk_rows_t history = {work->batch->history, work->batch->history_count,
                                    fill_history, NULL};
    const bf_bulk_rows_t commands = {work, work->batch->command_count, fill_command,
                                     NULL};
    bf_status_t status = bf_bulk_run(&store->insert_history, &history, &result, err);
    if (status == BF_E_DUPLICATE) {
        /* The instance row says that this number is free: one of both tables was changed
         * by hand, and trying again does not help. */
        bf_err_prefix(err, "the history has a row of that number already: ");
        return BF_E_STORE_DATA;
    }
    if (status != BF_OK) {
        return status;
    }
    status = bf_bulk_run(&store->insert_commands, &commands, &result, err);
    if (status == BF_E_DUPLICATE && result.primary_key) {
        bf_err_prefix(err, "an offset was applied already: ");
        return BF_E_FENCED;
    }
    return status;
}

static bf_status_t write_rows(bf_store_t *store, const commit_work_t *work, bf_err_t *err)
{
    bf_status_t status = advance_all(store, work->batch, err);
    if (status == BF_OK) {
        status = write_instances(store, work, err);
    }
    if (status == BF_OK) {
        status = write_log(store, work, err);
    }
    if (status == BF_OK) {
        status = BF_FAULT("store.before_commit");
    }
    return status;
}

/* COMMIT. Whatever the server does not refuse in so many words is unknown. */
static bf_status_t end_transaction(bf_store_t *store, bf_commit_report_t *report,
                                   bf_err_t *err)
{
    bf_status_t status = bf_db_execute(store->db, "COMMIT", err);
    if (status == BF_OK) {
        status = BF_FAULT("store.after_commit");
        if (status == BF_OK) {
            return BF_OK;
        }
    }
    if (status != BF_E_STORE_RETRY) {
        report->outcome_unknown = true;
        status = BF_E_STORE_LOST;
    }
    return status;
}

/* --- conflicts --- */

/* Calls back for each row that exists among the instances. */
typedef void (*revision_fn)(void *arg, const bf_stmt_t *row);

static bf_status_t read_revisions(bf_store_t *store, const commit_work_t *work,
                                  revision_fn fn, void *arg, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    for (size_t at = 0; status == BF_OK && at < work->count;) {
        size_t some = work->count - at < BF_LIST_MAX ? work->count - at : BF_LIST_MAX;
        size_t size = 0;
        bf_stmt_t *stmt = NULL;
        bool row = false;
        status =
            bf_list_stmt_get(&store->read_revisions, store->db, some, &size, &stmt, err);
        if (status != BF_OK) {
            break;
        }
        bf_params_clear(&store->params);
        for (size_t i = 0; i < size; i++) {
            const dirty_t *dirty = &work->dirty[at + (i < some ? i : some - 1)];
            bf_params_put_cstr(&store->params, dirty->row.instant_id);
        }
        status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
        while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK &&
               row) {
            fn(arg, stmt);
        }
        at += some;
    }
    return status;
}

/* Revisions of the rows, by instance ID. */
typedef struct revision_map {
    bf_map_t *map; /* values: revision + 1 as a pointer */
    bool failed;
} revision_map_t;

static void note_revision(void *arg, const bf_stmt_t *row)
{
    revision_map_t *found = arg;
    bf_text_t id = bf_stmt_text(row, 0);
    uintptr_t value = (uintptr_t)bf_stmt_i64(row, 1) + 1;
    if (bf_map_put(found->map, id.data, id.len, (void *)value, NULL) != BF_OK) {
        found->failed = true;
    }
}

static bf_status_t reserve_conflicts(bf_store_t *store, size_t count, bf_err_t *err)
{
    if (count > store->conflict_capacity) {
        const bf_instance_t **list =
            realloc(store->conflicts, count * sizeof(*store->conflicts));
        if (list == NULL) {
            return bf_err_nomem(err, "conflicts of a batch");
        }
        store->conflicts = list;
        store->conflict_capacity = count;
    }
    return BF_OK;
}

/* After the rollback: which rows have another revision than we loaded? None has when the
 * other transaction came and went: then the same batch may go through. */
static bf_status_t name_conflicts(bf_store_t *store, const commit_work_t *work,
                                  bf_commit_report_t *report, bf_err_t *err)
{
    revision_map_t found = {bf_map_new(), false};
    bf_status_t status = found.map == NULL ? bf_err_nomem(err, "conflicts of a batch")
                                           : reserve_conflicts(store, work->count, err);
    if (status == BF_OK) {
        status = read_revisions(store, work, note_revision, &found, err);
    }
    if (status == BF_OK && found.failed) {
        status = bf_err_nomem(err, "conflicts of a batch");
    }
    size_t count = 0;
    for (size_t i = 0; status == BF_OK && i < work->count; i++) {
        const dirty_t *dirty = &work->dirty[i];
        uintptr_t value = (uintptr_t)bf_map_get_str(found.map, dirty->row.instant_id);
        uintptr_t expected =
            dirty->stored_rev == 0 ? 0 : (uintptr_t)dirty->stored_rev + 1;
        if (value != expected) {
            store->conflicts[count++] = dirty->inst;
        }
    }
    bf_map_free(found.map);
    if (status != BF_OK) {
        return status;
    }
    report->conflicts = store->conflicts;
    report->conflict_count = count;
    if (count == 0) {
        return bf_err_set(err, BF_E_STORE_RETRY,
                          "instances were changed by somebody else for a moment");
    }
    return bf_err_set(err, BF_E_CONFLICT,
                      "%zu of %zu instances were changed by somebody else, the first is "
                      "%s: load them again",
                      count, work->count, bf_instance_id(store->conflicts[0]));
}

/* --- commit --- */

static void keep_keys(const commit_work_t *work)
{
    for (size_t i = 0; i < work->new_count; i++) {
        bf_instance_set_store_key(work->dirty[i].inst, work->dirty[i].key);
    }
}

static void mark_stored(const bf_batch_write_t *batch)
{
    for (size_t i = 0; i < batch->instance_count; i++) {
        if (bf_instance_is_dirty(batch->instances[i])) {
            bf_instance_mark_stored(batch->instances[i]);
        }
    }
}

static void clear_batch(bf_store_t *store)
{
    if (bf_arena_held_bytes(&store->batch) > KEEP_BATCH_BYTES) {
        bf_arena_fini(&store->batch);
    } else {
        bf_arena_clear(&store->batch);
    }
}

/* Everything between START TRANSACTION and the end of it. */
static bf_status_t write_batch(bf_store_t *store, const commit_work_t *work,
                               bf_commit_report_t *report, bf_err_t *err)
{
    bf_status_t status = bf_db_execute(store->db, "START TRANSACTION", err);
    if (status != BF_OK) {
        return status;
    }
    status = write_rows(store, work, err);
    if (status == BF_OK) {
        status = end_transaction(store, report, err);
    }
    if (status != BF_OK && !report->outcome_unknown) {
        bf_store_rollback(store);
    }
    if (status == BF_E_CONFLICT) {
        bf_err_clear(err);
        status = name_conflicts(store, work, report, err);
    }
    return status;
}

bf_status_t bf_store_commit(bf_store_t *store, const bf_batch_write_t *batch,
                            bf_commit_report_t *report, bf_err_t *err)
{
    commit_work_t work = {.batch = batch};
    bf_err_t failure = BF_ERR_INIT; /* its status is not always the one returned */
    memset(report, 0, sizeof(*report));
    bf_status_t status = bf_store_check_connected(store, &failure);
    if (status == BF_OK) {
        status = number_commands(store, &work, &failure);
    }
    if (status == BF_OK) {
        status = collect_dirty(store, &work, &failure);
    }
    if (status == BF_OK) {
        work.id_step = store->db->id_step;
        status = write_batch(store, &work, report, &failure);
    }
    if (status == BF_OK) {
        keep_keys(&work);
        mark_stored(batch);
    } else {
        (void)bf_err_set(err, status, "%s",
                         failure.text[0] != '\0' ? failure.text : bf_status_text(status));
    }
    clear_batch(store);
    return status;
}

/* --- after a lost COMMIT --- */

/* How the rows of the instances look: as before the batch, or as after it? */
typedef struct row_count {
    const commit_work_t *work;
    size_t written;
} row_count_t;

static void count_written(void *arg, const bf_stmt_t *row)
{
    row_count_t *count = arg;
    const char *id = bf_stmt_cstr(row, 0);
    for (size_t i = 0; i < count->work->count; i++) {
        const dirty_t *dirty = &count->work->dirty[i];
        if (strcmp(dirty->row.instant_id, id) == 0) {
            bool same =
                bf_stmt_i64(row, 1) == dirty->row.rev &&
                bf_stmt_i64(row, 2) == dirty->stored_rev &&
                strcmp(bf_stmt_cstr(row, 3), dirty->row.updater) == 0 &&
                (dirty->unstamped || bf_stmt_time(row, 4) == dirty->row.update_time_ms);
            count->written += same ? 1 : 0;
            return;
        }
    }
}

/* A batch without offsets (the library's repository): the instance rows tell. */
static bf_status_t resolve_by_rows(bf_store_t *store, const bf_batch_write_t *batch,
                                   bool *ret_committed, bf_err_t *err)
{
    commit_work_t work = {.batch = batch};
    row_count_t count = {&work, 0};
    bf_status_t status = collect_dirty(store, &work, err);
    if (status == BF_OK) {
        status = read_revisions(store, &work, count_written, &count, err);
    }
    *ret_committed = status == BF_OK && work.count > 0 && count.written == work.count;
    clear_batch(store);
    return status;
}

bf_status_t bf_store_resolve_commit(bf_store_t *store, const bf_batch_write_t *batch,
                                    bool *ret_committed, bf_err_t *err)
{
    size_t committed = 0;
    *ret_committed = false;
    bf_status_t status = bf_store_check_connected(store, err);
    if (status == BF_OK && batch->offset_count == 0) {
        status = resolve_by_rows(store, batch, ret_committed, err);
    }
    for (size_t i = 0; status == BF_OK && i < batch->offset_count; i++) {
        const bf_offset_advance_t *offset = &batch->offsets[i];
        bf_partition_row_t row;
        status = bf_store_lock_partition(store, offset->topic, offset->partition_no, &row,
                                         err);
        if (status == BF_OK &&
            (!row.exists || row.epoch != offset->epoch ||
             (row.next_offset != offset->from && row.next_offset != offset->to))) {
            status =
                bf_err_set(err, BF_E_FENCED,
                           "partition %s/%" PRId32 " is at %" PRId64 ", epoch %" PRId64
                           ", and not ours (epoch %" PRId64 ") any more",
                           offset->topic, offset->partition_no, row.next_offset,
                           row.epoch, offset->epoch);
        }
        if (status == BF_OK && row.next_offset == offset->to) {
            committed++;
        }
    }
    if (status == BF_OK && batch->offset_count > 0) {
        *ret_committed = committed == batch->offset_count;
    }
    if (status == BF_OK && *ret_committed) {
        mark_stored(batch);
    }
    return status;
}
