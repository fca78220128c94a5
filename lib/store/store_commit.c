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
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/fault.h"
#include "bpmflow/str.h"
#include "lib/store/store_work_int.h"

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

static void end_holders(bf_store_t *store, const bf_offset_advance_t *offsets,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bf_store_end_holder(store, offsets[i].topic, offsets[i].partition_no,
                            offsets[i].epoch);
    }
}

static void advance_some(bf_store_t *store, const bf_offset_advance_t *offsets,
                         size_t count, bf_pipe_group_t *group)
{
    size_t k = 0;
    bf_err_t err = BF_ERR_INIT;
    while (advance_sizes[k] < count) {
        k++;
    }
    if (store->advance[k] == NULL) {
        bf_pipe_drain(&store->pipe);
        if (!store->pipe.failed && prepare_advance(store, k, &err) != BF_OK) {
            store->pipe.failed = true;
            group->status = err.status;
            group->err = err;
        }
    }
    if (store->pipe.failed) {
        return;
    }
    const bf_pipe_wait_t wait = {.group = group, .what = "offset rows"};
    put_advances(&store->params, offsets, count, advance_sizes[k]);
    bf_pipe_run(&store->pipe, store->advance[k], &store->params, 0, &wait);
}

static void advance_all(bf_store_t *store, const bf_batch_write_t *batch,
                        bf_pipe_group_t *group)
{
    for (size_t i = 0; i < batch->offset_count; i += BF_ADVANCE_MAX) {
        size_t rest = batch->offset_count - i;
        advance_some(store, &batch->offsets[i],
                     rest < BF_ADVANCE_MAX ? rest : BF_ADVANCE_MAX, group);
    }
}

static bf_status_t judge_advance(bf_store_t *store, const bf_batch_write_t *batch,
                                 const bf_pipe_group_t *group, bf_err_t *err)
{
    const bf_offset_advance_t *offsets = batch->offsets;
    if (group->number == BF_SQL_LOCK_WAIT_TIMEOUT) {
        end_holders(store, offsets, batch->offset_count);
    }
    if (group->status != BF_OK) {
        return bf_err_set(err, group->status, "%s", group->err.text);
    }
    if (group->affected == (int64_t)batch->offset_count) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_FENCED,
                      "%" PRId64 " of %zu offset rows matched (the first is "
                      "%s/%" PRId32 " at %" PRId64 ", epoch %" PRId64
                      "): a partition has another owner now",
                      group->affected, batch->offset_count, offsets[0].topic,
                      offsets[0].partition_no, offsets[0].from, offsets[0].epoch);
}

/* --- writing --- */

/* The statements of a batch by purpose, in the order in which they are sent. */
typedef struct writing {
    bf_pipe_group_t begin;
    bf_pipe_group_t advance;
    bf_pipe_group_t new_rows;
    bf_pipe_group_t changed_rows;
    bf_pipe_group_t history;
    bf_pipe_group_t commands;
} writing_t;

static bf_status_t fail_as(const bf_pipe_group_t *group, bf_status_t status,
                           const char *prefix, bf_err_t *err)
{
    (void)bf_err_set(err, status, "%s%s", prefix, group->err.text);
    return status;
}

static bf_status_t judge_instances(const writing_t *writing, size_t changed,
                                   bf_err_t *err)
{
    if (writing->new_rows.status == BF_E_DUPLICATE) {
        return BF_E_CONFLICT;
    }
    if (writing->new_rows.status != BF_OK) {
        return fail_as(&writing->new_rows, writing->new_rows.status, "", err);
    }
    if (writing->changed_rows.status == BF_E_DUPLICATE) {
        return BF_E_CONFLICT; /* a wrong number met another row's ID */
    }
    if (writing->changed_rows.status != BF_OK) {
        return fail_as(&writing->changed_rows, writing->changed_rows.status, "", err);
    }
    return writing->changed_rows.affected == (int64_t)changed * 2 ? BF_OK : BF_E_CONFLICT;
}

static bf_status_t judge_log(const writing_t *writing, bf_err_t *err)
{
    if (writing->history.status == BF_E_DUPLICATE) {
        /* The instance row says that this number is free: one of both tables was changed
         * by hand, and trying again does not help. */
        return fail_as(&writing->history, BF_E_STORE_DATA,
                       "the history has a row of that number already: ", err);
    }
    if (writing->history.status != BF_OK) {
        return fail_as(&writing->history, writing->history.status, "", err);
    }
    if (writing->commands.status == BF_E_DUPLICATE && writing->commands.primary_key) {
        return fail_as(&writing->commands, BF_E_FENCED,
                       "an offset was applied already: ", err);
    }
    return writing->commands.status == BF_OK
               ? BF_OK
               : fail_as(&writing->commands, writing->commands.status, "", err);
}

/* All statements go out at once; then their answers are judged in their order. */
static bf_status_t write_rows(bf_store_t *store, const bf_commit_work_t *work,
                              bf_err_t *err)
{
    writing_t writing;
    memset(&writing, 0, sizeof(writing));
    const bf_batch_write_t *batch = work->batch;
    const bf_bulk_rows_t new_rows = {work, work->new_count, bf_work_fill_new,
                                     bf_work_note_keys};
    const bf_bulk_rows_t changed_rows = {work, work->count - work->new_count,
                                         bf_work_fill_changed, NULL};
    const bf_bulk_rows_t history = {batch->history, batch->history_count,
                                    bf_work_fill_history, NULL};
    const bf_bulk_rows_t commands = {work, batch->command_count, bf_work_fill_command,
                                     NULL};
    bf_pipe_t *pipe = &store->pipe;
    bf_pipe_begin(pipe, &writing.begin);
    advance_all(store, batch, &writing.advance);
    bf_pipe_bulk(pipe, &store->insert_instances, &new_rows, &writing.new_rows);
    bf_pipe_bulk(pipe, &store->update_instances, &changed_rows, &writing.changed_rows);
    bf_pipe_bulk(pipe, &store->insert_history, &history, &writing.history);
    bf_pipe_bulk(pipe, &store->insert_commands, &commands, &writing.commands);
    bf_pipe_drain(pipe);
    if (writing.begin.status != BF_OK) {
        return fail_as(&writing.begin, writing.begin.status, "", err);
    }
    bf_status_t status = judge_advance(store, batch, &writing.advance, err);
    if (status == BF_OK) {
        status = judge_instances(&writing, changed_rows.count, err);
    }
    if (status == BF_OK) {
        status = judge_log(&writing, err);
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
    bf_status_t status = bf_pipe_commit(&store->pipe, err);
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

/* --- commit --- */

/* Everything between START TRANSACTION and the end of it. */
static bf_status_t write_batch(bf_store_t *store, const bf_commit_work_t *work,
                               bf_commit_report_t *report, bf_err_t *err)
{
    bf_pipe_init(&store->pipe, store->db);
    bf_status_t status = write_rows(store, work, err);
    if (status == BF_OK) {
        status = end_transaction(store, report, err);
    }
    if (status != BF_OK && !report->outcome_unknown) {
        bf_pipe_roll_back(&store->pipe);
    }
    if (status == BF_E_CONFLICT) {
        bf_err_clear(err);
        status = bf_work_name_conflicts(store, work, report, err);
    }
    return status;
}

bf_status_t bf_store_commit(bf_store_t *store, const bf_batch_write_t *batch,
                            bf_commit_report_t *report, bf_err_t *err)
{
    bf_commit_work_t work = {.batch = batch};
    bf_err_t failure = BF_ERR_INIT; /* its status is not always the one returned */
    memset(report, 0, sizeof(*report));
    bf_status_t status = bf_store_check_connected(store, &failure);
    if (status == BF_OK) {
        status = bf_work_number_commands(store, &work, &failure);
    }
    if (status == BF_OK) {
        status = bf_work_collect(store, &work, &failure);
    }
    if (status == BF_OK) {
        work.id_step = store->db->id_step;
        status = write_batch(store, &work, report, &failure);
    }
    if (status == BF_OK) {
        bf_work_keep_keys(&work);
        bf_work_mark_stored(batch);
    } else {
        (void)bf_err_set(err, status, "%s",
                         failure.text[0] != '\0' ? failure.text : bf_status_text(status));
    }
    bf_work_clear(store);
    return status;
}
