/*
 * purge.c - goes over instances and outcomes, and makes batches of what is finished
 *
 * Instances are read in the order of their numbers, some thousand rows at a time, so that
 * no index on their state is needed; outcomes in the order of their offsets, up to the
 * first one that is too new.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/purge_int.h"

#define BATCH_MAX INT64_C(10000)
/* Rows that one query looks at. */
#define WINDOW INT64_C(10000)
/* History rows of an instance of the batch, in the mean. */
#define ROWS_EACH 20

/* --- partitions --- */

static bf_status_t add_partition(bf_purge_t *purge, const bf_purge_partition_t *partition,
                                 bf_err_t *err)
{
    if (purge->partition_count == purge->partition_capacity) {
        size_t capacity =
            purge->partition_capacity == 0 ? 64 : purge->partition_capacity * 2;
        bf_purge_partition_t *list = realloc(purge->partitions, capacity * sizeof(*list));
        if (list == NULL) {
            return bf_err_nomem(err, "purging");
        }
        purge->partitions = list;
        purge->partition_capacity = capacity;
    }
    purge->partitions[purge->partition_count++] = *partition;
    return BF_OK;
}

/* How far each is published. What the database does not call applied is not (a database
 * that was restored from a backup); of a topic that was made anew nothing can be. */
static bf_status_t read_partitions(bf_purge_t *purge, bf_err_t *err)
{
    static const char sql[] =
        "SELECT c.topic_no, c.partition_no, o.topic, o.next_offset FROM "
        "(SELECT DISTINCT topic_no, partition_no FROM bpm_flow_command) c "
        "LEFT JOIN bpm_flow_offset o ON o.topic_no = c.topic_no AND "
        "o.partition_no = c.partition_no ORDER BY c.topic_no, c.partition_no";
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = bf_stmt_prepare(purge->store->db, "partitions", sql, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&purge->store->params);
    status = bf_stmt_run(stmt, &purge->store->params, 0, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_purge_partition_t partition = {.topic_no = (int32_t)bf_stmt_i64(stmt, 0),
                                          .partition_no = (int32_t)bf_stmt_i64(stmt, 1),
                                          .published = INT64_MAX};
        if (!bf_stmt_is_null(stmt, 2)) {
            int64_t applied = bf_stmt_i64(stmt, 3);
            status = purge->options.published(
                purge->options.published_arg, bf_stmt_cstr(stmt, 2),
                partition.partition_no, &partition.published, err);
            if (partition.published > applied) {
                partition.published = applied;
            }
        }
        if (status == BF_OK) {
            status = add_partition(purge, &partition, err);
        }
    }
    bf_stmt_close(stmt);
    return status;
}

static bf_status_t count_rows(bf_purge_t *purge, bf_err_t *err)
{
    char sql[160];
    int64_t range[2] = {0, 0};
    bool row = false;
    (void)snprintf(sql, sizeof(sql), "SELECT MIN(id), MAX(id) FROM %s",
                   purge->store->tables.repository);
    bf_status_t status = bf_db_query_ints(purge->store->db, sql, range, 2, &row, err);
    if (status == BF_OK && row && range[1] > 0) {
        purge->last_id = range[0] - 1;
        purge->max_id = range[1];
        purge->counts.total += range[1] - range[0] + 1;
    }
    for (size_t i = 0; status == BF_OK && i < purge->partition_count; i++) {
        const bf_purge_partition_t *partition = &purge->partitions[i];
        (void)snprintf(sql, sizeof(sql),
                       "SELECT MIN(command_offset), MAX(command_offset) FROM "
                       "bpm_flow_command WHERE topic_no = %" PRId32
                       " AND partition_no = %" PRId32,
                       partition->topic_no, partition->partition_no);
        status = bf_db_query_ints(purge->store->db, sql, range, 2, &row, err);
        purge->counts.total += row ? range[1] - range[0] + 1 : 0;
    }
    return status;
}

/* --- a batch of instances --- */

/* Takes the rows of the window into the batch until it is full. */
static bf_status_t take_candidates(bf_purge_t *purge, int64_t window_end, bf_err_t *err)
{
    bf_params_t *params = &purge->store->params;
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bool full = false;
    bool ok = true;
    int64_t rows = 0;
    bf_status_t status = bf_purge_stmt(purge, BF_PURGE_CANDIDATES, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    int64_t last_id = window_end;
    bf_params_put_i64(params, purge->last_id);
    bf_params_put_i64(params, window_end);
    bf_params_put_time(params, purge->options.before_wall_ms);
    bf_params_put_i64(params, purge->options.batch);
    status = bf_stmt_run(stmt, params, 0, NULL, err);
    while (status == BF_OK && !full &&
           (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_purge_instance_t *next = &purge->candidates[purge->candidate_count++];
        *next = (bf_purge_instance_t){.id = bf_stmt_dup(stmt, 1, &purge->arena, &ok),
                                      .seq = (int32_t)bf_stmt_i64(stmt, 2)};
        status = ok ? BF_OK : bf_err_nomem(err, "purging");
        rows += next->seq;
        full = (int64_t)purge->candidate_count == purge->options.batch ||
               rows >= purge->options.batch * ROWS_EACH;
        last_id = full ? bf_stmt_i64(stmt, 0) : last_id;
    }
    bf_stmt_end(stmt);
    purge->counts.seen += last_id - purge->last_id;
    purge->last_id = last_id;
    return status;
}

static bf_status_t step_instances(bf_purge_t *purge, bf_err_t *err)
{
    int64_t end = purge->last_id + WINDOW;
    bf_status_t status =
        take_candidates(purge, end < purge->max_id ? end : purge->max_id, err);
    if (status == BF_OK && purge->candidate_count > 0) {
        status = bf_purge_delete(purge, err);
    }
    return status;
}

/* --- a batch of outcomes --- */

/* The first outcome from next_offset on; false: none, or it is too new. Offsets without
 * one are left out so. */
static bf_status_t find_next(bf_purge_t *purge, bool *ret, bf_err_t *err)
{
    const bf_purge_partition_t *partition = &purge->partitions[purge->partition];
    bf_params_t *params = &purge->store->params;
    bf_stmt_t *stmt = NULL;
    bf_status_t status = bf_purge_stmt(purge, BF_PURGE_FIRST_COMMAND, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_i64(params, partition->topic_no);
    bf_params_put_i64(params, partition->partition_no);
    bf_params_put_i64(params, purge->next_offset);
    status = bf_stmt_run(stmt, params, 0, NULL, err);
    *ret = false;
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, ret, err);
    }
    if (status == BF_OK && *ret) {
        purge->next_offset = bf_stmt_i64(stmt, 0);
        *ret = bf_stmt_time(stmt, 1) < purge->options.before_wall_ms &&
               purge->next_offset < partition->published;
    }
    bf_stmt_end(stmt);
    return status;
}

static bf_status_t take_orphans(bf_purge_t *purge, bf_err_t *err)
{
    const bf_purge_partition_t *partition = &purge->partitions[purge->partition];
    bf_params_t *params = &purge->store->params;
    bf_stmt_t *stmt = NULL;
    bool row = false;
    int64_t end = purge->next_offset + WINDOW;
    end = end < partition->published ? end : partition->published;
    bf_status_t status = bf_purge_stmt(purge, BF_PURGE_ORPHANS, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_i64(params, partition->topic_no);
    bf_params_put_i64(params, partition->partition_no);
    bf_params_put_i64(params, purge->next_offset);
    bf_params_put_i64(params, end);
    bf_params_put_time(params, purge->options.before_wall_ms);
    bf_params_put_i64(params, purge->options.batch);
    status = bf_stmt_run(stmt, params, 0, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        purge->orphans[purge->orphan_count++] = bf_stmt_i64(stmt, 0);
    }
    bf_stmt_end(stmt);
    int64_t next = end;
    if ((int64_t)purge->orphan_count == purge->options.batch) {
        next = purge->orphans[purge->orphan_count - 1] + 1;
    }
    purge->counts.seen += next - purge->next_offset;
    purge->next_offset = next;
    return status;
}

static bf_status_t step_commands(bf_purge_t *purge, bf_err_t *err)
{
    bool found = false;
    bf_status_t status = find_next(purge, &found, err);
    if (status == BF_OK && !found) {
        purge->partition++;
        purge->next_offset = 0;
        return BF_OK;
    }
    if (status == BF_OK) {
        status = take_orphans(purge, err);
    }
    if (status == BF_OK && purge->orphan_count > 0) {
        status = bf_purge_delete(purge, err);
    }
    return status;
}

bf_status_t bf_purge_step(bf_purge_t *purge, bool *ret_more, bf_err_t *err)
{
    bf_status_t status = bf_store_check_connected(purge->store, err);
    if (status != BF_OK) {
        return status;
    }
    bf_arena_clear(&purge->arena);
    purge->candidate_count = 0;
    purge->orphan_count = 0;
    purge->command_capacity = 0;
    if (purge->last_id < purge->max_id) {
        status = step_instances(purge, err);
    } else if (purge->partition < purge->partition_count) {
        status = step_commands(purge, err);
    }
    *ret_more =
        purge->last_id < purge->max_id || purge->partition < purge->partition_count;
    if (status == BF_OK && !*ret_more) {
        purge->counts.seen = purge->counts.total;
    }
    return status;
}

/* --- life --- */

bf_purge_counts_t bf_purge_counts(const bf_purge_t *purge)
{
    return purge->counts;
}

void bf_purge_close(bf_purge_t *purge)
{
    if (purge == NULL) {
        return;
    }
    for (size_t i = 0; i < BF_PURGE_STMT_COUNT; i++) {
        bf_stmt_close(purge->stmts[i]);
    }
    for (size_t i = 0; i < BF_PURGE_LIST_COUNT; i++) {
        bf_list_stmt_reset(&purge->lists[i]);
    }
    free(purge->partitions);
    free(purge->candidates);
    free(purge->instances);
    free(purge->orphans);
    bf_map_free(purge->by_id);
    bf_str_fini(&purge->line);
    bf_arena_fini(&purge->arena);
    bf_arena_fini(&purge->texts);
    free(purge);
}

static bool allocate(bf_purge_t *purge)
{
    size_t batch = (size_t)purge->options.batch;
    purge->candidates = calloc(batch, sizeof(*purge->candidates));
    purge->instances = calloc(batch, sizeof(*purge->instances));
    purge->orphans = calloc(batch, sizeof(*purge->orphans));
    purge->by_id = bf_map_new();
    return purge->candidates != NULL && purge->instances != NULL &&
           purge->orphans != NULL && purge->by_id != NULL && bf_purge_write_texts(purge);
}

bf_status_t bf_purge_open(bf_store_t *store, const bf_purge_options_t *options,
                          bf_purge_t **ret, bf_err_t *err)
{
    if (options->batch < 1 || options->batch > BATCH_MAX) {
        return bf_err_set(err, BF_E_INVALID,
                          "a batch of %" PRId64 ": 1 to %" PRId64 " are allowed",
                          options->batch, BATCH_MAX);
    }
    bf_status_t status = bf_store_check_connected(store, err);
    if (status != BF_OK) {
        return status;
    }
    bf_purge_t *purge = calloc(1, sizeof(*purge));
    if (purge == NULL) {
        return bf_err_nomem(err, "purging");
    }
    purge->store = store;
    purge->options = *options;
    bf_arena_init(&purge->arena, 0);
    bf_arena_init(&purge->texts, 0);
    bf_str_init(&purge->line, 0);
    status = allocate(purge) ? BF_OK : bf_err_nomem(err, "purging");
    if (status == BF_OK) {
        status = read_partitions(purge, err);
    }
    if (status == BF_OK) {
        status = count_rows(purge, err);
    }
    if (status != BF_OK) {
        bf_purge_close(purge);
        return status;
    }
    *ret = purge;
    return BF_OK;
}

bf_status_t bf_store_read_purge_log(bf_store_t *store, bf_purge_log_t *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    *ret = (bf_purge_log_t){0};
    bf_status_t status = bf_store_check_connected(store, err);
    if (status == BF_OK) {
        status = bf_stmt_prepare(store->db, "log of purges",
                                 "SELECT COUNT(*), MAX(older_than), MAX(update_time) "
                                 "FROM bpm_flow_purge",
                                 &stmt, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &row, err);
    }
    if (status == BF_OK && row) {
        ret->runs = bf_stmt_i64(stmt, 0);
        ret->before_wall_ms = bf_stmt_time(stmt, 1);
        ret->last_wall_ms = bf_stmt_time(stmt, 2);
    }
    bf_stmt_close(stmt);
    return status;
}
