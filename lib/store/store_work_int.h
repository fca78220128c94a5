/*
 * store_work_int.h - the rows of a batch on their way into statements
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_STORE_STORE_WORK_INT_H
#define BF_STORE_STORE_WORK_INT_H

#include "lib/store/store_int.h"

/* A changed instance and the row made of it. */
typedef struct bf_dirty {
    bf_instance_t *inst;
    bf_instance_row_t row;
    int32_t stored_rev; /* 0 = there is no row yet */
    int64_t key;        /* number of the row; 0 = not known */
    bool unstamped;     /* the instance itself names no update time */
} bf_dirty_t;

typedef struct bf_commit_work {
    bf_dirty_t *dirty; /* new ones first, each part sorted by ID */
    size_t new_count;
    size_t count;
    int64_t id_step;
    const int32_t *topic_numbers; /* of each command row */
    const bf_batch_write_t *batch;
} bf_commit_work_t;

/** Rows of the instances that are dirty; memory is the store's batch arena. */
bf_status_t bf_work_collect(bf_store_t *store, bf_commit_work_t *work,
                            bf_err_t *err) BF_MUST_USE;
bf_status_t bf_work_number_commands(bf_store_t *store, bf_commit_work_t *work,
                                    bf_err_t *err) BF_MUST_USE;
/** Give the memory of the batch back. */
void bf_work_clear(bf_store_t *store);

/* For bf_bulk_run(): rows is the work, but for history (rows of bf_history_t). */
void bf_work_fill_new(const void *rows, size_t index, bf_params_t *params);
void bf_work_fill_changed(const void *rows, size_t index, bf_params_t *params);
void bf_work_fill_history(const void *rows, size_t index, bf_params_t *params);
void bf_work_fill_command(const void *rows, size_t index, bf_params_t *params);
void bf_work_note_keys(const void *rows, size_t first, size_t count, int64_t first_id);

/** After COMMIT: the instances know the numbers of their rows, and are clean. */
void bf_work_keep_keys(const bf_commit_work_t *work);
void bf_work_mark_stored(const bf_batch_write_t *batch);

/** After the rollback of a conflict: which rows have another revision than we loaded?
 * None has when the other transaction came and went: BF_E_STORE_RETRY, the same batch may
 * go through now. Else BF_E_CONFLICT with the report filled; or an error of the database.
 */
bf_status_t bf_work_name_conflicts(bf_store_t *store, const bf_commit_work_t *work,
                                   bf_commit_report_t *report, bf_err_t *err) BF_MUST_USE;

#endif /* BF_STORE_STORE_WORK_INT_H */
