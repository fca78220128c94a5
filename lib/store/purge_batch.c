/*
 * purge_batch.c - one batch of a purge: lock, look again, archive, delete, commit
 *
 * The rows of the instances are locked first, without waiting: a worker that changes one
 * keeps it.  Outcomes are deleted up to the offset that was looked at, since a rejected
 * command writes one without touching its instance.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/map.h"
#include "lib/store/purge_int.h"

/* The same batch again after a deadlock or lock time-out. */
#define MAX_TRIES      5
#define FIRST_PAUSE_MS 20

static size_t some(size_t count, size_t at)
{
    return count - at < BF_LIST_MAX ? count - at : BF_LIST_MAX;
}

/* Before those that stay are taken out. */
static bf_purge_instance_t *find(bf_purge_t *purge, const char *id)
{
    return bf_map_get_str(purge->by_id, id);
}

/* --- a statement for some instances --- */

static bf_status_t by_instance(bf_purge_t *purge, bf_purge_list_id_t id, size_t at,
                               bf_stmt_t **ret, int64_t *ret_affected, bf_err_t *err)
{
    size_t size = 0;
    bf_params_t *params = &purge->store->params;
    size_t count = some(purge->instance_count, at);
    bf_status_t status = bf_purge_list(purge, id, count, &size, ret, err);
    if (status != BF_OK) {
        return status;
    }
    if (id == BF_PURGE_LOCK) {
        bf_params_put_time(params, purge->options.before_wall_ms);
    }
    for (size_t i = 0; i < size; i++) {
        bf_params_put_cstr(params, purge->instances[at + (i < count ? i : count - 1)].id);
    }
    return bf_stmt_run(*ret, params, 0, ret_affected, err);
}

/* --- which of them go --- */

static bf_status_t lock_some(bf_purge_t *purge, size_t at, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = by_instance(purge, BF_PURGE_LOCK, at, &stmt, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_purge_instance_t *instance = find(purge, bf_stmt_cstr(stmt, 0));
        if (instance != NULL) {
            instance->locked = true;
        }
    }
    if (stmt != NULL) {
        bf_stmt_end(stmt);
    }
    return status;
}

/* The topic of a number that no partition has any more is gone, and nothing of it can be
 * published. */
static bool is_published(const bf_purge_t *purge, const bf_purge_commands_t *of)
{
    for (size_t i = 0; i < purge->partition_count; i++) {
        const bf_purge_partition_t *partition = &purge->partitions[i];
        if (partition->topic_no == of->topic_no &&
            partition->partition_no == of->partition_no) {
            return of->last_offset < partition->published;
        }
    }
    return false; /* newer than our list */
}

static bf_status_t add_commands(bf_purge_t *purge, const bf_stmt_t *stmt, bf_err_t *err)
{
    bool ok = true;
    if (purge->command_count == purge->command_capacity) {
        size_t capacity =
            purge->command_capacity == 0 ? 256 : purge->command_capacity * 2;
        bf_purge_commands_t *list =
            bf_arena_calloc(&purge->arena, capacity, sizeof(*list));
        if (list == NULL) {
            return bf_err_nomem(err, "purging");
        }
        if (purge->command_count > 0) {
            memcpy(list, purge->commands, purge->command_count * sizeof(*list));
        }
        purge->commands = list;
        purge->command_capacity = capacity;
    }
    bf_purge_commands_t *of = &purge->commands[purge->command_count++];
    *of = (bf_purge_commands_t){
        .instance_id = bf_stmt_dup(stmt, 0, &purge->arena, &ok),
        .topic_no = (int32_t)bf_stmt_i64(stmt, 1),
        .partition_no = (int32_t)bf_stmt_i64(stmt, 2),
        .last_offset = bf_stmt_i64(stmt, 3),
        .count = bf_stmt_i64(stmt, 4),
    };
    if (!ok) {
        return bf_err_nomem(err, "purging");
    }
    bf_purge_instance_t *instance = find(purge, of->instance_id);
    if (instance != NULL && !is_published(purge, of)) {
        instance->stays = true;
    }
    return BF_OK;
}

static bf_status_t read_commands(bf_purge_t *purge, size_t at, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = by_instance(purge, BF_PURGE_COMMANDS, at, &stmt, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        status = add_commands(purge, stmt, err);
    }
    if (stmt != NULL) {
        bf_stmt_end(stmt);
    }
    return status;
}

/* Takes those that stay out of the batch. */
static void keep_those_that_go(bf_purge_t *purge)
{
    size_t kept = 0;
    for (size_t i = 0; i < purge->command_count; i++) {
        const bf_purge_instance_t *instance = find(purge, purge->commands[i].instance_id);
        if (instance != NULL && instance->locked && !instance->stays) {
            purge->commands[kept++] = purge->commands[i];
            purge->batch.commands += purge->commands[i].count;
        }
    }
    purge->command_count = kept;
    kept = 0;
    for (size_t i = 0; i < purge->instance_count; i++) {
        const bf_purge_instance_t *instance = &purge->instances[i];
        if (!instance->locked) {
            purge->batch.busy++;
        } else if (instance->stays) {
            purge->batch.unpublished++;
        } else {
            purge->batch.history += instance->seq;
            purge->instances[kept++] = *instance;
        }
    }
    purge->instance_count = kept;
    purge->batch.instances = (int64_t)kept;
}

/* All candidates of the batch, as they were before this try. */
static bf_status_t begin_choice(bf_purge_t *purge, bf_err_t *err)
{
    purge->batch = (bf_purge_counts_t){0};
    purge->command_count = 0;
    purge->instance_count = purge->candidate_count;
    bf_map_clear(purge->by_id);
    for (size_t i = 0; i < purge->candidate_count; i++) {
        purge->instances[i] = purge->candidates[i];
        const char *id = purge->instances[i].id;
        if (bf_map_put(purge->by_id, id, strlen(id), &purge->instances[i], NULL) !=
            BF_OK) {
            return bf_err_nomem(err, "purging");
        }
    }
    return BF_OK;
}

static bf_status_t choose(bf_purge_t *purge, bf_err_t *err)
{
    bf_status_t status = begin_choice(purge, err);
    for (size_t at = 0; status == BF_OK && at < purge->instance_count;
         at += BF_LIST_MAX) {
        status = lock_some(purge, at, err);
        if (status == BF_OK) {
            status = read_commands(purge, at, err);
        }
    }
    if (status == BF_OK) {
        keep_those_that_go(purge);
    }
    return status;
}

/* --- deleting --- */

static bf_status_t delete_commands(bf_purge_t *purge, size_t at, bf_err_t *err)
{
    bf_params_t *params = &purge->store->params;
    size_t count = some(purge->command_count, at);
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    bf_status_t status =
        bf_purge_list(purge, BF_PURGE_DELETE_COMMANDS, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    for (size_t i = 0; i < size; i++) {
        const bf_purge_commands_t *of =
            &purge->commands[at + (i < count ? i : count - 1)];
        bf_params_put_cstr(params, of->instance_id);
        bf_params_put_i64(params, of->topic_no);
        bf_params_put_i64(params, of->partition_no);
        bf_params_put_i64(params, of->last_offset);
    }
    return bf_stmt_run(stmt, params, 0, NULL, err);
}

static bf_status_t delete_orphans(bf_purge_t *purge, size_t at, bf_err_t *err)
{
    const bf_purge_partition_t *partition = &purge->partitions[purge->partition];
    bf_params_t *params = &purge->store->params;
    size_t count = some(purge->orphan_count, at);
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    int64_t deleted = 0;
    bf_status_t status =
        bf_purge_list(purge, BF_PURGE_DELETE_ORPHANS, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_i64(params, partition->topic_no);
    bf_params_put_i64(params, partition->partition_no);
    for (size_t i = 0; i < size; i++) {
        bf_params_put_i64(params, purge->orphans[at + (i < count ? i : count - 1)]);
    }
    status = bf_stmt_run(stmt, params, 0, &deleted, err);
    purge->batch.orphans += deleted;
    purge->batch.commands += deleted;
    return status;
}

static bf_status_t delete_all(bf_purge_t *purge, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_status_t status = BF_OK;
    for (size_t at = 0; status == BF_OK && at < purge->instance_count;
         at += BF_LIST_MAX) {
        status = by_instance(purge, BF_PURGE_DELETE_HISTORY, at, &stmt, NULL, err);
        if (status == BF_OK) {
            status = by_instance(purge, BF_PURGE_DELETE_INSTANCES, at, &stmt, NULL, err);
        }
    }
    for (size_t at = 0; status == BF_OK && at < purge->command_count; at += BF_LIST_MAX) {
        status = delete_commands(purge, at, err);
    }
    for (size_t at = 0; status == BF_OK && at < purge->orphan_count; at += BF_LIST_MAX) {
        status = delete_orphans(purge, at, err);
    }
    return status;
}

/* The log says it in the same transaction. */
static bf_status_t write_log(bf_purge_t *purge, int64_t *purge_no, bf_err_t *err)
{
    bf_params_t *params = &purge->store->params;
    bf_stmt_t *stmt = NULL;
    bool is_new = *purge_no == 0;
    int64_t now_ms = bf_clock_wall_ms();
    bf_status_t status =
        bf_purge_stmt(purge, is_new ? BF_PURGE_LOG_NEW : BF_PURGE_LOG_MORE, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    if (is_new) {
        bf_params_put_time(params, purge->options.before_wall_ms);
        bf_params_put_time(params, now_ms);
    }
    bf_params_put_time(params, now_ms);
    bf_params_put_i64(params, purge->batch.instances);
    bf_params_put_i64(params, purge->batch.history);
    bf_params_put_i64(params, purge->batch.commands);
    if (!is_new) {
        bf_params_put_i64(params, *purge_no);
    }
    status = bf_stmt_run(stmt, params, 0, NULL, err);
    if (status == BF_OK && is_new) {
        *purge_no = bf_stmt_insert_id(stmt);
    }
    return status;
}

static bf_status_t run_transaction(bf_purge_t *purge, int64_t *purge_no, bf_err_t *err)
{
    bf_status_t status = choose(purge, err);
    if (purge->options.dry_run) {
        purge->batch.orphans += (int64_t)purge->orphan_count;
        purge->batch.commands += (int64_t)purge->orphan_count;
        return status;
    }
    if (status != BF_OK || (purge->instance_count == 0 && purge->orphan_count == 0)) {
        return status;
    }
    status = bf_purge_archive_rows(purge, err);
    if (status == BF_OK) {
        status = delete_all(purge, err);
    }
    return status == BF_OK ? write_log(purge, purge_no, err) : status;
}

static void add(bf_purge_counts_t *total, const bf_purge_counts_t *batch)
{
    total->instances += batch->instances;
    total->history += batch->history;
    total->commands += batch->commands;
    total->orphans += batch->orphans;
    total->unpublished += batch->unpublished;
    total->busy += batch->busy;
}

static bf_status_t try_once(bf_purge_t *purge, bf_err_t *err)
{
    const bf_purge_archive_t *archive = purge->options.archive;
    bool archived = archive != NULL && !purge->options.dry_run;
    int64_t purge_no = purge->purge_no;
    bf_err_t failure = BF_ERR_INIT;
    bf_status_t status = bf_db_execute(purge->store->db, "START TRANSACTION", &failure);
    if (status == BF_OK) {
        status = run_transaction(purge, &purge_no, &failure);
    }
    if (status == BF_OK) {
        status = bf_db_execute(purge->store->db, "COMMIT", &failure);
        if (status == BF_OK) {
            add(&purge->counts, &purge->batch);
            purge->purge_no = purge_no;
            return BF_OK;
        }
        /* It may be deleted: then the archive is all that is left. */
        archived = archived && status == BF_E_STORE_RETRY;
    }
    bf_store_rollback(purge->store);
    if (archived && archive->undo(archive->arg, err) != BF_OK) {
        return BF_E_IO;
    }
    return bf_err_set(err, status, "%s", failure.text);
}

bf_status_t bf_purge_delete(bf_purge_t *purge, bf_err_t *err)
{
    int64_t pause_ms = FIRST_PAUSE_MS;
    for (int tries = 1;; tries++) {
        bf_err_t failure = BF_ERR_INIT;
        bf_status_t status = try_once(purge, &failure);
        if (status != BF_E_STORE_RETRY || tries == MAX_TRIES) {
            return status == BF_OK ? BF_OK : bf_err_set(err, status, "%s", failure.text);
        }
        bf_clock_sleep_ms(pause_ms);
        pause_ms *= 3;
    }
}
