/*
 * store_scan.c - reading back what was applied, page by page; see store.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/store/store_int.h"

/* Rows of one page of a scan. */
#define PAGE_ROWS 500
/* Texts kept over a page before its memory is given back, bytes. */
#define KEEP_PAGE_BYTES ((size_t)16 << 20)

/* --- history rows --- */

/* The columns of history_columns from `first` on. arena NULL: texts are valid until the
 * next row. */
static bf_status_t read_history(const bf_stmt_t *stmt, size_t first, bf_arena_t *arena,
                                bf_history_t *ret, bf_err_t *err)
{
    const char *texts[21] = {0};
    bool ok = true;
    static const size_t text_columns[] = {0,  2,  4,  6,  7,  8,  9,
                                          10, 11, 12, 15, 16, 18, 19};
    for (size_t i = 0; i < sizeof(text_columns) / sizeof(text_columns[0]); i++) {
        size_t column = text_columns[i];
        texts[column] = arena != NULL ? bf_stmt_dup(stmt, first + column, arena, &ok)
                                      : bf_stmt_text(stmt, first + column).data;
    }
    if (!ok) {
        return bf_err_nomem(err, "reading history");
    }
    *ret = (bf_history_t){
        .instance_id = texts[0],
        .seq = (int32_t)bf_stmt_i64(stmt, first + 1),
        .graph_id = texts[2],
        .graph_version = (int32_t)bf_stmt_i64(stmt, first + 3),
        .task_id = texts[4],
        .action = (bf_action_t)bf_stmt_i64(stmt, first + 5),
        .source = {texts[6], texts[7], texts[8]},
        .target = {texts[9], texts[10], texts[11]},
        .assignee = texts[12],
        .status = (int32_t)bf_stmt_i64(stmt, first + 13),
        .has_form_id = !bf_stmt_is_null(stmt, first + 14),
        .form_id = bf_stmt_i64(stmt, first + 14),
        .variables = {texts[15], bf_stmt_text(stmt, first + 15).len},
        .message = texts[16],
        .instance_state = (int32_t)bf_stmt_i64(stmt, first + 17),
        .command_id = texts[18],
        .creator = texts[19],
        .create_time_ms = bf_stmt_time(stmt, first + 20),
    };
    return BF_OK;
}

/* --- what was applied in a range of offsets --- */

typedef struct applied_page {
    bf_arena_t arena;
    bf_command_row_t *commands;
    size_t command_count;
    bf_history_t *history;
    int64_t *history_offsets; /* of the command that each belongs to */
    size_t history_count;
    size_t history_capacity;
} applied_page_t;

static bf_status_t read_commands(bf_store_t *store, int32_t topic_no,
                                 bf_command_row_t like, int64_t to, applied_page_t *page,
                                 bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = bf_store_stmt(store, BF_STMT_SCAN_COMMANDS, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_i64(&store->params, topic_no);
    bf_params_put_i64(&store->params, like.partition_no);
    bf_params_put_i64(&store->params, like.offset);
    bf_params_put_i64(&store->params, to);
    bf_params_put_i64(&store->params, PAGE_ROWS);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    page->command_count = 0;
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_command_row_t *command = &page->commands[page->command_count++];
        *command = like;
        command->offset = bf_stmt_i64(stmt, 0);
        status = bf_store_read_command(stmt, 1, &page->arena, command, err);
    }
    bf_stmt_end(stmt);
    return status;
}

static bf_status_t add_history(const bf_stmt_t *stmt, applied_page_t *page, bf_err_t *err)
{
    if (page->history_count == page->history_capacity) {
        size_t capacity =
            page->history_capacity == 0 ? PAGE_ROWS : page->history_capacity * 2;
        bf_history_t *history = realloc(page->history, capacity * sizeof(*history));
        if (history != NULL) {
            page->history = history;
        }
        int64_t *offsets = realloc(page->history_offsets, capacity * sizeof(*offsets));
        if (offsets != NULL) {
            page->history_offsets = offsets;
        }
        if (history == NULL || offsets == NULL) {
            return bf_err_nomem(err, "reading history");
        }
        page->history_capacity = capacity;
    }
    page->history_offsets[page->history_count] = bf_stmt_i64(stmt, 0);
    return read_history(stmt, 1, &page->arena, &page->history[page->history_count++],
                        err);
}

static bf_status_t read_history_of_commands(bf_store_t *store, int32_t topic_no,
                                            applied_page_t *page, bf_err_t *err)
{
    bool row = false;
    bf_status_t status = BF_OK;
    const bf_command_row_t *first = &page->commands[0];
    const bf_command_row_t *last = &page->commands[page->command_count - 1];
    if (store->scan_applied == NULL) {
        status = bf_stmt_prepare(store->db, "history of commands",
                                 store->scan_applied_sql, &store->scan_applied, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_i64(&store->params, topic_no);
    bf_params_put_i64(&store->params, first->partition_no);
    bf_params_put_i64(&store->params, first->offset);
    bf_params_put_i64(&store->params, last->offset);
    status = bf_stmt_run(store->scan_applied, &store->params, 0, NULL, err);
    page->history_count = 0;
    while (status == BF_OK &&
           (status = bf_stmt_next(store->scan_applied, &row, err)) == BF_OK && row) {
        status = add_history(store->scan_applied, page, err);
    }
    bf_stmt_end(store->scan_applied);
    return status;
}

static bf_status_t hand_out(const applied_page_t *page, bf_applied_fn fn, void *arg,
                            bf_err_t *err)
{
    size_t at = 0;
    for (size_t i = 0; i < page->command_count; i++) {
        const bf_command_row_t *command = &page->commands[i];
        size_t begin = at;
        while (at < page->history_count && page->history_offsets[at] == command->offset) {
            at++;
        }
        size_t rows = at - begin;
        size_t expected = command->last_seq > 0
                              ? (size_t)(command->last_seq - command->first_seq + 1)
                              : 0;
        if (rows != expected) {
            return bf_err_set(err, BF_E_STORE_DATA,
                              "the command at offset %" PRId64 " (instance %s) wrote "
                              "history %" PRId32 " to %" PRId32 ", but %zu rows are "
                              "there: the history was changed or removed",
                              command->offset,
                              command->instance_id != NULL ? command->instance_id : "",
                              command->first_seq, command->last_seq, rows);
        }
        bf_status_t status = fn(arg, command, &page->history[begin], rows, err);
        if (status != BF_OK) {
            return status;
        }
    }
    return BF_OK;
}

static bf_status_t hand_out_outcomes(const applied_page_t *page, bf_outcome_fn fn,
                                     void *arg, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    for (size_t i = 0; status == BF_OK && i < page->command_count; i++) {
        status = fn(arg, &page->commands[i], err);
    }
    return status;
}

static void clear_page(applied_page_t *page)
{
    if (bf_arena_held_bytes(&page->arena) > KEEP_PAGE_BYTES) {
        bf_arena_fini(&page->arena);
    } else {
        bf_arena_clear(&page->arena);
    }
}

/* Pages of outcomes, with their history rows where `applied` wants them. */
static bf_status_t scan_range(bf_store_t *store, const bf_offset_range_t *range,
                              bf_applied_fn applied, bf_outcome_fn outcome, void *arg,
                              bf_err_t *err)
{
    int32_t topic_no = 0;
    int64_t from = range->from;
    applied_page_t page = {0};
    bf_arena_init(&page.arena, 0);
    bf_status_t status =
        bf_store_topic_number(store, range->topic, range->partition_no, &topic_no, err);
    if (status != BF_OK) {
        return status;
    }
    page.commands = calloc(PAGE_ROWS, sizeof(*page.commands));
    if (page.commands == NULL) {
        return bf_err_nomem(err, "reading outcomes of commands");
    }
    while (status == BF_OK && from < range->to) {
        const bf_command_row_t like = {
            .topic = range->topic, .partition_no = range->partition_no, .offset = from};
        status = read_commands(store, topic_no, like, range->to, &page, err);
        if (status != BF_OK || page.command_count == 0) {
            break;
        }
        if (applied != NULL) {
            status = read_history_of_commands(store, topic_no, &page, err);
        }
        if (status == BF_OK) {
            status = applied != NULL ? hand_out(&page, applied, arg, err)
                                     : hand_out_outcomes(&page, outcome, arg, err);
        }
        from = page.commands[page.command_count - 1].offset + 1;
        clear_page(&page);
    }
    bf_arena_fini(&page.arena);
    free(page.commands);
    free(page.history);
    free(page.history_offsets);
    return status;
}

bf_status_t bf_store_scan_applied(bf_store_t *store, const bf_offset_range_t *range,
                                  bf_applied_fn fn, void *arg, bf_err_t *err)
{
    return scan_range(store, range, fn, NULL, arg, err);
}

bf_status_t bf_store_scan_outcomes(bf_store_t *store, const bf_offset_range_t *range,
                                   bf_outcome_fn fn, void *arg, bf_err_t *err)
{
    return scan_range(store, range, NULL, fn, arg, err);
}

/* --- history --- */

typedef struct history_place {
    char instance_id[BF_ID_MAX_BYTES + 1];
    int32_t seq;
} history_place_t;

static bf_status_t run_page(bf_store_t *store, bool one, const history_place_t *after,
                            bf_stmt_t **ret, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    bf_stmt_t **stmt = one ? &store->scan_one : &store->scan_all;
    if (*stmt == NULL) {
        status =
            bf_stmt_prepare(store->db, "history",
                            one ? store->scan_one_sql : store->scan_all_sql, stmt, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_cstr(&store->params, after->instance_id);
    if (!one) {
        bf_params_put_cstr(&store->params, after->instance_id);
    }
    bf_params_put_i64(&store->params, after->seq);
    bf_params_put_i64(&store->params, PAGE_ROWS);
    *ret = *stmt;
    return bf_stmt_run(*stmt, &store->params, 0, NULL, err);
}

bf_status_t bf_store_scan_history(bf_store_t *store, const char *instance_id,
                                  bf_history_fn fn, void *arg, bf_err_t *err)
{
    history_place_t after = {{0}, 0};
    size_t rows = PAGE_ROWS;
    bf_status_t status = bf_store_check_connected(store, err);
    if (instance_id != NULL) {
        if (strlen(instance_id) > BF_ID_MAX_BYTES) {
            return status; /* nothing has such an ID */
        }
        memcpy(after.instance_id, instance_id, strlen(instance_id) + 1);
    }
    while (status == BF_OK && rows == PAGE_ROWS) {
        bf_stmt_t *stmt = NULL;
        bool row = false;
        rows = 0;
        status = run_page(store, instance_id != NULL, &after, &stmt, err);
        while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK &&
               row) {
            bf_history_t data;
            status = read_history(stmt, 0, NULL, &data, err);
            if (status == BF_OK && ++rows == PAGE_ROWS) {
                memcpy(after.instance_id, data.instance_id,
                       bf_stmt_text(stmt, 0).len + 1);
                after.seq = data.seq;
            }
            if (status == BF_OK) {
                status = fn(arg, &data, err);
            }
        }
        if (stmt != NULL) {
            bf_stmt_end(stmt);
        }
    }
    return status;
}
