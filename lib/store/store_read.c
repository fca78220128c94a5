/*
 * store_read.c - reading back: instances, outcomes, history; see store.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "lib/store/store_int.h"

/* Rows of one page of a scan. */
#define PAGE_ROWS 500
/* Texts kept over a page before its memory is given back, bytes. */
#define KEEP_PAGE_BYTES ((size_t)16 << 20)

/* --- instances --- */

static void read_instance_row(const bf_stmt_t *stmt, bf_instance_row_t *ret)
{
    *ret = (bf_instance_row_t){
        .instant_id = bf_stmt_cstr(stmt, 1),
        .graph = bf_stmt_text(stmt, 2),
        .states = bf_stmt_text(stmt, 3),
        .vars = bf_stmt_text(stmt, 4),
        .tasks = bf_stmt_text(stmt, 5),
        .rev = (int32_t)bf_stmt_i64(stmt, 6),
        .status = (int32_t)bf_stmt_i64(stmt, 8),
        .seq = (int32_t)bf_stmt_i64(stmt, 9),
        .partition_no = (int32_t)bf_stmt_i64(stmt, 10),
        .creator = bf_stmt_cstr(stmt, 11),
        .create_time_ms = bf_stmt_time(stmt, 12),
        .updater = bf_stmt_cstr(stmt, 13),
        .update_time_ms = bf_stmt_time(stmt, 14),
    };
}

static bf_status_t make_instance(const bf_instance_row_t *row, bf_instance_t **ret,
                                 bf_err_t *err)
{
    bf_instance_t *inst = bf_instance_new(row->instant_id);
    if (inst == NULL) {
        return bf_err_nomem(err, "loading an instance");
    }
    bf_err_t why = BF_ERR_INIT;
    bf_status_t status = bf_instance_load_row(inst, row, &why);
    if (status == BF_OK) {
        *ret = inst;
        return BF_OK;
    }
    bf_instance_free(inst);
    return bf_err_set(err, status == BF_E_NOMEM ? BF_E_NOMEM : BF_E_STORE_DATA,
                      "the row of instance %s cannot be read: %s", row->instant_id,
                      why.text);
}

/* Runs a list statement for the IDs; the rows are next. */
static bf_status_t select_ids(bf_store_t *store, bf_list_stmt_t *list,
                              const char *const *ids, size_t count, bf_stmt_t **ret,
                              bf_err_t *err)
{
    size_t size = 0;
    bf_status_t status = bf_list_stmt_get(list, store->db, count, &size, ret, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    for (size_t i = 0; i < size; i++) {
        bf_params_put_cstr(&store->params, ids[i < count ? i : count - 1]);
    }
    return bf_stmt_run(*ret, &store->params, 0, NULL, err);
}

/* Up to BF_LIST_MAX IDs; `places` maps an ID to its index + 1. */
static bf_status_t load_some(bf_store_t *store, const char *const *ids, size_t count,
                             const bf_map_t *places, bf_instance_t **ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status =
        select_ids(store, &store->load_instances, ids, count, &stmt, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_instance_row_t data;
        read_instance_row(stmt, &data);
        uintptr_t place = (uintptr_t)bf_map_get_str(places, data.instant_id);
        if (place > 0 && ret[place - 1] == NULL) {
            status = make_instance(&data, &ret[place - 1], err);
            if (status == BF_OK) {
                bf_instance_set_store_key(ret[place - 1], bf_stmt_i64(stmt, 0));
            }
        }
    }
    if (stmt != NULL) {
        bf_stmt_end(stmt);
    }
    return status;
}

bf_status_t bf_store_load_instances(bf_store_t *store, const char *const *ids,
                                    size_t count, bf_instance_t **ret, bf_err_t *err)
{
    bf_status_t status = bf_store_check_connected(store, err);
    for (size_t i = 0; i < count; i++) {
        ret[i] = NULL;
    }
    bf_map_t *places = bf_map_new();
    if (places == NULL) {
        return bf_err_nomem(err, "loading instances");
    }
    for (size_t i = 0; status == BF_OK && i < count; i++) {
        if (bf_map_put(places, ids[i], strlen(ids[i]), (void *)(uintptr_t)(i + 1),
                       NULL) != BF_OK) {
            status = bf_err_nomem(err, "loading instances");
        }
    }
    for (size_t at = 0; status == BF_OK && at < count; at += BF_LIST_MAX) {
        size_t some = count - at < BF_LIST_MAX ? count - at : BF_LIST_MAX;
        status = load_some(store, ids + at, some, places, ret, err);
    }
    for (size_t i = 0; status != BF_OK && i < count; i++) {
        bf_instance_free(ret[i]);
        ret[i] = NULL;
    }
    bf_map_free(places);
    return status;
}

static bf_status_t copy_row(const bf_stmt_t *stmt, bf_arena_t *arena,
                            bf_instance_row_t *ret, bf_err_t *err)
{
    bool ok = true;
    read_instance_row(stmt, ret);
    ret->instant_id = bf_stmt_dup(stmt, 1, arena, &ok);
    ret->graph.data = bf_stmt_dup(stmt, 2, arena, &ok);
    ret->states.data = bf_stmt_dup(stmt, 3, arena, &ok);
    ret->vars.data = bf_stmt_dup(stmt, 4, arena, &ok);
    ret->tasks.data = bf_stmt_dup(stmt, 5, arena, &ok);
    ret->creator = bf_stmt_dup(stmt, 11, arena, &ok);
    ret->updater = bf_stmt_dup(stmt, 13, arena, &ok);
    return ok ? BF_OK : bf_err_nomem(err, "reading an instance");
}

bf_status_t bf_store_read_row(bf_store_t *store, const char *instance_id,
                              bf_arena_t *arena, bf_instance_row_t *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = bf_store_check_connected(store, err);
    if (status == BF_OK) {
        status = select_ids(store, &store->load_instances, &instance_id, 1, &stmt, err);
    }
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &row, err);
    }
    if (status == BF_OK && !row) {
        status = bf_err_set(err, BF_E_NOT_FOUND, "there is no instance %s", instance_id);
    }
    if (status == BF_OK) {
        status = copy_row(stmt, arena, ret, err);
    }
    if (stmt != NULL) {
        bf_stmt_end(stmt);
    }
    return status;
}

/* --- outcomes of commands --- */

/* The columns of an outcome from `first` on: instant_id, command_id, command, code,
 * first_seq, last_seq, reply, reply_topic, traceparent, tracestate, create_time. */
static bf_status_t read_command(const bf_stmt_t *stmt, size_t first, bf_arena_t *arena,
                                bf_command_row_t *ret, bf_err_t *err)
{
    bool ok = true;
    bf_text_t reply = bf_stmt_text(stmt, first + 6);
    ret->instance_id = bf_stmt_dup(stmt, first, arena, &ok);
    ret->command_id = bf_stmt_dup(stmt, first + 1, arena, &ok);
    ret->command = bf_stmt_dup(stmt, first + 2, arena, &ok);
    ret->code = bf_stmt_dup(stmt, first + 3, arena, &ok);
    ret->first_seq = (int32_t)bf_stmt_i64(stmt, first + 4);
    ret->last_seq = (int32_t)bf_stmt_i64(stmt, first + 5);
    ret->reply = (bf_text_t){bf_stmt_dup(stmt, first + 6, arena, &ok), reply.len};
    ret->reply_topic = bf_stmt_dup(stmt, first + 7, arena, &ok);
    ret->traceparent = bf_stmt_dup(stmt, first + 8, arena, &ok);
    ret->tracestate = bf_stmt_dup(stmt, first + 9, arena, &ok);
    ret->create_time_ms = bf_stmt_time(stmt, first + 10);
    return ok ? BF_OK : bf_err_nomem(err, "reading outcomes of commands");
}

static bf_status_t read_outcome(const bf_stmt_t *stmt, bf_arena_t *arena,
                                bf_command_row_t *ret, bf_err_t *err)
{
    bool ok = true;
    ret->topic = bf_stmt_dup(stmt, 0, arena, &ok);
    ret->partition_no = (int32_t)bf_stmt_i64(stmt, 1);
    ret->offset = bf_stmt_i64(stmt, 2);
    if (!ok) {
        return bf_err_nomem(err, "reading outcomes of commands");
    }
    return read_command(stmt, 3, arena, ret, err);
}

/* Outcomes of up to BF_LIST_MAX commands. */
static bf_status_t find_some(bf_store_t *store, const bf_command_key_t *keys,
                             size_t count, bf_arena_t *arena, bf_command_row_t *ret,
                             bf_err_t *err)
{
    size_t size = 0;
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status =
        bf_list_stmt_get(&store->find_outcomes, store->db, count, &size, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    for (size_t i = 0; i < size; i++) {
        const bf_command_key_t *key = &keys[i < count ? i : count - 1];
        bf_params_put_cstr(&store->params, key->instance_id);
        bf_params_put_cstr(&store->params, key->command_id);
    }
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    while (status == BF_OK && (status = bf_stmt_next(stmt, &row, err)) == BF_OK && row) {
        bf_command_row_t found = {0};
        status = read_outcome(stmt, arena, &found, err);
        /* the same key may have been asked for more than once */
        for (size_t i = 0; status == BF_OK && i < count; i++) {
            if (strcmp(keys[i].command_id, found.command_id) == 0 &&
                strcmp(keys[i].instance_id, found.instance_id) == 0) {
                ret[i] = found;
            }
        }
    }
    bf_stmt_end(stmt);
    return status;
}

bf_status_t bf_store_find_outcomes(bf_store_t *store, const bf_command_key_t *keys,
                                   size_t count, bf_arena_t *arena, bf_command_row_t *ret,
                                   bf_err_t *err)
{
    bf_status_t status = bf_store_check_connected(store, err);
    memset(ret, 0, count * sizeof(*ret));
    for (size_t at = 0; status == BF_OK && at < count; at += BF_LIST_MAX) {
        size_t some = count - at < BF_LIST_MAX ? count - at : BF_LIST_MAX;
        status = find_some(store, keys + at, some, arena, ret + at, err);
    }
    return status;
}

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
        status = read_command(stmt, 1, &page->arena, command, err);
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

bf_status_t bf_store_scan_applied(bf_store_t *store, const char *topic,
                                  int32_t partition_no, int64_t from, int64_t to,
                                  bf_applied_fn fn, void *arg, bf_err_t *err)
{
    int32_t topic_no = 0;
    applied_page_t page = {0};
    bf_arena_init(&page.arena, 0);
    bf_status_t status =
        bf_store_topic_number(store, topic, partition_no, &topic_no, err);
    if (status != BF_OK) {
        return status;
    }
    page.commands = calloc(PAGE_ROWS, sizeof(*page.commands));
    if (page.commands == NULL) {
        return bf_err_nomem(err, "reading outcomes of commands");
    }
    while (status == BF_OK && from < to) {
        bf_command_row_t like = {
            .topic = topic, .partition_no = partition_no, .offset = from};
        status = read_commands(store, topic_no, like, to, &page, err);
        if (status != BF_OK || page.command_count == 0) {
            break;
        }
        status = read_history_of_commands(store, topic_no, &page, err);
        if (status == BF_OK) {
            status = hand_out(&page, fn, arg, err);
        }
        from = page.commands[page.command_count - 1].offset + 1;
        if (bf_arena_held_bytes(&page.arena) > KEEP_PAGE_BYTES) {
            bf_arena_fini(&page.arena);
        } else {
            bf_arena_clear(&page.arena);
        }
    }
    bf_arena_fini(&page.arena);
    free(page.commands);
    free(page.history);
    free(page.history_offsets);
    return status;
}

bf_status_t bf_store_scan_outcomes(bf_store_t *store, const char *topic,
                                   int32_t partition_no, int64_t from, int64_t to,
                                   bf_outcome_fn fn, void *arg, bf_err_t *err)
{
    int32_t topic_no = 0;
    applied_page_t page = {0};
    bf_status_t status =
        bf_store_topic_number(store, topic, partition_no, &topic_no, err);
    if (status != BF_OK) {
        return status;
    }
    page.commands = calloc(PAGE_ROWS, sizeof(*page.commands));
    if (page.commands == NULL) {
        return bf_err_nomem(err, "reading outcomes of commands");
    }
    bf_arena_init(&page.arena, 0);
    while (status == BF_OK && from < to) {
        bf_command_row_t like = {
            .topic = topic, .partition_no = partition_no, .offset = from};
        bf_arena_clear(&page.arena);
        status = read_commands(store, topic_no, like, to, &page, err);
        if (status != BF_OK || page.command_count == 0) {
            break;
        }
        for (size_t i = 0; status == BF_OK && i < page.command_count; i++) {
            status = fn(arg, &page.commands[i], err);
        }
        from = page.commands[page.command_count - 1].offset + 1;
    }
    bf_arena_fini(&page.arena);
    free(page.commands);
    return status;
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
