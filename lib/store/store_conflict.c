/*
 * store_conflict.c - what became of a batch: conflicts, and a COMMIT without a reply
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "lib/store/store_work_int.h"

/* --- conflicts --- */

/* Calls back for each row that exists among the instances. */
typedef void (*revision_fn)(void *arg, const bf_stmt_t *row);

static bf_status_t read_revisions(bf_store_t *store, const bf_commit_work_t *work,
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
            const bf_dirty_t *dirty = &work->dirty[at + (i < some ? i : some - 1)];
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
 * other transaction came and went: then the same batch may go through.  Or a number named
 * another row: from here on the rows are found by their IDs. */
bf_status_t bf_work_name_conflicts(bf_store_t *store, const bf_commit_work_t *work,
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
        const bf_dirty_t *dirty = &work->dirty[i];
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
    for (size_t i = 0; count == 0 && i < work->count; i++) {
        bf_instance_set_store_key(work->dirty[i].inst, 0);
    }
    if (count == 0) {
        return bf_err_set(err, BF_E_STORE_RETRY,
                          "instances were changed by somebody else for a moment");
    }
    return bf_err_set(err, BF_E_CONFLICT,
                      "%zu of %zu instances were changed by somebody else, the first is "
                      "%s: load them again",
                      count, work->count, bf_instance_id(store->conflicts[0]));
}

/* --- after a lost COMMIT --- */

/* How the rows of the instances look: as before the batch, or as after it? */
typedef struct row_count {
    const bf_commit_work_t *work;
    size_t written;
} row_count_t;

static void count_written(void *arg, const bf_stmt_t *row)
{
    row_count_t *count = arg;
    const char *id = bf_stmt_cstr(row, 0);
    for (size_t i = 0; i < count->work->count; i++) {
        const bf_dirty_t *dirty = &count->work->dirty[i];
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
    bf_commit_work_t work = {.batch = batch};
    row_count_t count = {&work, 0};
    bf_status_t status = bf_work_collect(store, &work, err);
    if (status == BF_OK) {
        status = read_revisions(store, &work, count_written, &count, err);
    }
    *ret_committed = status == BF_OK && work.count > 0 && count.written == work.count;
    bf_work_clear(store);
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
        status = bf_store_lock_partition(store, offset->topic, offset->partition_no,
                                         offset->epoch, &row, err);
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
        bf_work_mark_stored(batch);
    }
    return status;
}
