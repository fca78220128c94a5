/*
 * store_load.c - loading instances and first outcomes of commands; see store.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/map.h"
#include "lib/store/store_int.h"

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

bf_status_t bf_store_read_command(const bf_stmt_t *stmt, size_t first, bf_arena_t *arena,
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
    return bf_store_read_command(stmt, 3, arena, ret, err);
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
