/*
 * mysql_repository.c - see mysql_repository.h
 *
 * Changes are collected: dirty instances (they stay in the cache) and copies of history
 * rows.  A flush hands both to bf_store_commit().  Write-through flushes after each
 * change.
 *
 * An instance whose changes cannot be kept is put on the list of stale ones and leaves
 * the cache at the next open(): the caller of the failed operation may still hold it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/mysql_repository.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/cache.h"
#include "bpmflow/clock.h"
#include "bpmflow/map.h"
#include "lib/store/store_int.h"

#define DEFAULT_CACHE_BYTES ((size_t)64 << 20)
/* Instances that one SELECT loads ahead. */
#define PRELOAD_MAX 100
/* The same transaction again after a deadlock or lock time-out. */
#define MAX_TRIES      4
#define FIRST_PAUSE_MS 5

typedef struct mysql_repository {
    bf_repository_t base;
    bf_store_t *store;
    bf_cache_t *cache;
    bf_persist_t persist;
    bool inject_vars;
    bool in_group;
    bf_map_t *dirty; /* IDs of instances with changes that are not written; values: any */
    bf_map_t *recorded; /* ID -> number of the last history row that was collected */
    bf_map_t *stale;    /* IDs of instances to be dropped */
    bf_arena_t history_mem;
    bf_history_t *history;
    size_t history_count;
    size_t history_capacity;
    bf_arena_t vars_mem; /* what vars_get handed out last */
    bf_value_t vars;
} mysql_repository_t;

static mysql_repository_t *self_of(bf_repository_t *repo)
{
    return (mysql_repository_t *)(void *)repo;
}

static bf_status_t note_id(bf_map_t *map, const char *id, bf_err_t *err)
{
    static char mark; /* the value says nothing */
    if (bf_map_put(map, id, strlen(id), &mark, NULL) != BF_OK) {
        return bf_err_nomem(err, "repository");
    }
    return BF_OK;
}

/* --- cache --- */

static void drop_stale(mysql_repository_t *self)
{
    size_t cursor = 0;
    const char *id = NULL;
    while (bf_map_next(self->stale, &cursor, &id, NULL, NULL)) {
        bf_cache_drop(self->cache, id);
    }
    bf_map_clear(self->stale);
}

/* Out of memory for the mark: the copy goes at once, which is right, only less kind to a
 * caller that still looks at it. */
static void make_stale(mysql_repository_t *self, const char *id)
{
    if (note_id(self->stale, id, NULL) != BF_OK) {
        bf_cache_drop(self->cache, id);
    }
}

static void keep_row(mysql_repository_t *self, size_t from, size_t *kept)
{
    if (*kept != from) {
        self->history[*kept] = self->history[from];
    }
    (*kept)++;
}

/* Forget the rows of an instance from a number on. */
static void remove_history_of(mysql_repository_t *self, const char *id, int32_t from_seq)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->history_count; i++) {
        const bf_history_t *row = &self->history[i];
        if (row->seq < from_seq || strcmp(row->instance_id, id) != 0) {
            keep_row(self, i, &kept);
        }
    }
    self->history_count = kept;
}

/* What was collected of an instance: written by now, or given up. */
static void remove_changes_of(mysql_repository_t *self, const char *id)
{
    remove_history_of(self, id, INT32_MIN);
    (void)bf_map_remove(self->dirty, id, strlen(id));
}

/* Rows whose number the instance has not taken: their change was undone. */
static void remove_undone_history(mysql_repository_t *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->history_count; i++) {
        const bf_history_t *row = &self->history[i];
        const bf_instance_t *inst = bf_cache_get(self->cache, row->instance_id);
        if (inst == NULL || row->seq <= bf_instance_seq(inst)) {
            keep_row(self, i, &kept);
        }
    }
    self->history_count = kept;
}

static void forget_changes_of(mysql_repository_t *self, const char *id)
{
    remove_changes_of(self, id);
    make_stale(self, id);
}

static void forget_history(mysql_repository_t *self)
{
    self->history_count = 0;
    bf_map_clear(self->recorded);
    bf_arena_clear(&self->history_mem);
}

static void forget_all_changes(mysql_repository_t *self)
{
    size_t cursor = 0;
    const char *id = NULL;
    while (bf_map_next(self->dirty, &cursor, &id, NULL, NULL)) {
        make_stale(self, id);
    }
    bf_map_clear(self->dirty);
    forget_history(self);
}

/* Loads with one new connection where the old one is lost. */
static bf_status_t load(mysql_repository_t *self, const char *const *ids, size_t count,
                        bf_instance_t **ret, bf_err_t *err)
{
    bf_err_t first = BF_ERR_INIT;
    bf_status_t status = bf_store_load_instances(self->store, ids, count, ret, &first);
    if (status == BF_E_STORE_LOST) {
        status = bf_store_reconnect(self->store, err);
        return status != BF_OK
                   ? status
                   : bf_store_load_instances(self->store, ids, count, ret, err);
    }
    return status == BF_OK ? BF_OK : bf_err_set(err, status, "%s", first.text);
}

static bf_status_t repository_open(bf_repository_t *repo, const char *instance_id,
                                   bf_instance_t **ret, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    drop_stale(self);
    bf_instance_t *inst = bf_cache_get(self->cache, instance_id);
    bf_cache_trim(self->cache); /* the one just asked for is the last to go */
    if (inst != NULL) {
        *ret = inst;
        return BF_OK;
    }
    bf_status_t status =
        bf_id_check("instance_id", instance_id, strlen(instance_id), err);
    if (status == BF_OK) {
        status = load(self, &instance_id, 1, &inst, err);
    }
    if (status == BF_OK && inst == NULL) {
        inst = bf_instance_new(instance_id);
        status = inst != NULL ? BF_OK : bf_err_nomem(err, "instance");
    }
    if (status == BF_OK && bf_cache_put(self->cache, inst) != BF_OK) {
        bf_instance_free(inst);
        status = bf_err_nomem(err, "instance");
    }
    if (status == BF_OK) {
        *ret = inst;
    }
    return status;
}

/* Loads those of the IDs that are not cached and stand once in the list. */
static bf_status_t load_missing(mysql_repository_t *self, const char *const *ids,
                                size_t count, bf_err_t *err)
{
    bf_instance_t *found[PRELOAD_MAX] = {NULL};
    bf_status_t status = load(self, ids, count, found, err);
    for (size_t i = 0; status == BF_OK && i < count; i++) {
        if (found[i] == NULL) {
            found[i] = bf_instance_new(ids[i]);
        }
        if (found[i] == NULL || bf_cache_put(self->cache, found[i]) != BF_OK) {
            status = bf_err_nomem(err, "instances");
        } else {
            found[i] = NULL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        bf_instance_free(found[i]);
    }
    bf_cache_trim(self->cache);
    return status;
}

bf_status_t bf_mysql_repository_preload(bf_repository_t *repo, const char *const *ids,
                                        size_t count, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    const char *missing[PRELOAD_MAX];
    size_t missing_count = 0;
    bf_status_t status = BF_OK;
    for (size_t i = 0; status == BF_OK && i < count; i++) {
        status = bf_id_check("instance_id", ids[i], strlen(ids[i]), err);
    }
    if (status != BF_OK) {
        return status;
    }
    drop_stale(self);
    for (size_t i = 0; status == BF_OK && i < count; i++) {
        bool known = bf_cache_holds(self->cache, ids[i]);
        for (size_t k = 0; !known && k < missing_count; k++) {
            known = strcmp(missing[k], ids[i]) == 0;
        }
        if (!known) {
            missing[missing_count++] = ids[i];
        }
        if (missing_count == PRELOAD_MAX || (missing_count > 0 && i + 1 == count)) {
            status = load_missing(self, missing, missing_count, err);
            missing_count = 0;
        }
    }
    return status;
}

static void repository_evict(bf_repository_t *repo, const char *instance_id)
{
    mysql_repository_t *self = self_of(repo);
    if (bf_map_get_str(self->dirty, instance_id) == NULL) {
        bf_cache_drop(self->cache, instance_id);
    }
}

/* --- writing --- */

/* After a lost COMMIT, on a new connection: BF_OK when the batch is applied,
 * BF_E_STORE_RETRY when it is not. */
static bf_status_t find_out(mysql_repository_t *self, const bf_batch_write_t *batch,
                            bf_err_t *err)
{
    bool committed = false;
    bf_status_t status = bf_store_resolve_commit(self->store, batch, &committed, err);
    return status != BF_OK || committed ? status : BF_E_STORE_RETRY;
}

/* Once more where that helps: after a deadlock, or on a new connection. */
static bf_status_t commit_batch(mysql_repository_t *self, const bf_batch_write_t *batch,
                                bf_commit_report_t *report, bf_err_t *err)
{
    bool reconnected = false;
    int64_t pause_ms = FIRST_PAUSE_MS;
    for (int tries = 1;; tries++) {
        bf_err_t failure = BF_ERR_INIT;
        bf_status_t status = bf_store_commit(self->store, batch, report, &failure);
        if (status == BF_E_STORE_LOST && !reconnected) {
            bf_err_t why = BF_ERR_INIT; /* the first failure says more */
            reconnected = true;
            status = bf_store_reconnect(self->store, &why);
            if (status == BF_OK) {
                status = report->outcome_unknown ? find_out(self, batch, &why)
                                                 : BF_E_STORE_RETRY;
            }
        }
        if (status != BF_E_STORE_RETRY || tries == MAX_TRIES) {
            return status == BF_OK ? BF_OK : bf_err_set(err, status, "%s", failure.text);
        }
        bf_clock_sleep_ms(pause_ms);
        pause_ms *= 4;
    }
}

/* Arrays for a flush of everything: the dirty instances. */
static bf_status_t collect(mysql_repository_t *self, bf_instance_t ***ret,
                           size_t *ret_count, bf_err_t *err)
{
    size_t cursor = 0;
    size_t count = 0;
    const char *id = NULL;
    bf_instance_t **list = calloc(bf_map_count(self->dirty) + 1, sizeof(bf_instance_t *));
    if (list == NULL) {
        return bf_err_nomem(err, "writing changes");
    }
    while (bf_map_next(self->dirty, &cursor, &id, NULL, NULL)) {
        bf_instance_t *inst = bf_cache_get(self->cache, id);
        if (inst == NULL) {
            free(list);
            return bf_err_nomem(err, "writing changes");
        }
        list[count++] = inst;
    }
    *ret = list;
    *ret_count = count;
    return BF_OK;
}

/* One transaction for all. */
static bf_status_t write_all(mysql_repository_t *self, bf_instance_t *const *list,
                             size_t count, bf_err_t *err)
{
    bf_commit_report_t report;
    const bf_batch_write_t batch = {
        .instances = list,
        .instance_count = count,
        .history = self->history,
        .history_count = self->history_count,
    };
    bf_status_t status = commit_batch(self, &batch, &report, err);
    if (status == BF_OK) {
        bf_map_clear(self->dirty);
        forget_history(self);
    }
    if (status == BF_E_CONFLICT) {
        for (size_t i = 0; i < report.conflict_count; i++) {
            forget_changes_of(self, bf_instance_id(report.conflicts[i]));
        }
    }
    return status;
}

/* One transaction for one instance and its history rows; err is the first failure's. */
static bf_status_t write_one(mysql_repository_t *self, bf_instance_t *inst, bf_err_t *err)
{
    bf_err_t failure = BF_ERR_INIT;
    bf_commit_report_t report;
    const char *id = bf_instance_id(inst);
    size_t count = 0;
    bf_history_t *rows = calloc(self->history_count + 1, sizeof(*rows));
    if (rows == NULL) {
        return bf_err_nomem(err, "writing changes");
    }
    for (size_t i = 0; i < self->history_count; i++) {
        if (strcmp(self->history[i].instance_id, id) == 0) {
            rows[count++] = self->history[i];
        }
    }
    const bf_batch_write_t batch = {
        .instances = &inst, .instance_count = 1, .history = rows, .history_count = count};
    bf_status_t status = commit_batch(self, &batch, &report, &failure);
    free(rows);
    if (status != BF_OK) {
        (void)bf_err_set(err, status, "instance %s: %s", id, failure.text);
    }
    if (status == BF_OK) {
        remove_changes_of(self, id);
    } else if (status == BF_E_CONFLICT || status == BF_E_STORE_DATA) {
        forget_changes_of(self, id);
    }
    return status;
}

/* Something in there is refused: one by one, so that the others are written. */
static bf_status_t write_singly(mysql_repository_t *self, bf_instance_t *const *list,
                                size_t count, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    for (size_t i = 0; i < count; i++) {
        bf_status_t one = write_one(self, list[i], err);
        if (status == BF_OK) {
            status = one;
        }
        if (one != BF_OK && one != BF_E_CONFLICT && one != BF_E_STORE_DATA) {
            return one;
        }
    }
    if (self->history_count > 0) { /* rows of instances that have not changed */
        bf_status_t rest = write_all(self, NULL, 0, err);
        if (rest == BF_E_STORE_DATA) {
            forget_history(self);
        }
        status = status == BF_OK ? rest : status;
    }
    return status;
}

static bf_status_t flush(mysql_repository_t *self, bool all_or_nothing, bf_err_t *err)
{
    bf_instance_t **list = NULL;
    size_t count = 0;
    bf_err_t failure = BF_ERR_INIT;
    drop_stale(self);
    remove_undone_history(self);
    if (bf_map_count(self->dirty) == 0 && self->history_count == 0) {
        return BF_OK;
    }
    bf_status_t status = collect(self, &list, &count, &failure);
    if (status == BF_OK) {
        status = write_all(self, list, count, &failure);
        if (status == BF_E_STORE_DATA && !all_or_nothing) {
            bf_err_clear(&failure);
            status = write_singly(self, list, count, &failure);
        }
    }
    free(list);
    return status == BF_OK ? BF_OK : bf_err_set(err, status, "%s", failure.text);
}

static bf_status_t repository_changed(bf_repository_t *repo, bf_instance_t *inst,
                                      bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bf_status_t status = note_id(self->dirty, bf_instance_id(inst), err);
    if (status == BF_OK && self->persist == BF_PERSIST_WRITE_THROUGH && !self->in_group) {
        status = flush(self, true, err);
        if (status != BF_OK) {
            forget_all_changes(self);
        }
    } else if (status != BF_OK) {
        make_stale(self, bf_instance_id(inst));
    }
    return status;
}

/* --- variables --- */

static bf_status_t repository_vars_get(bf_repository_t *repo, const char *instance_id,
                                       const bf_node_t *node, const bf_value_t **ret,
                                       bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bf_instance_t *inst = NULL;
    (void)node;
    *ret = NULL;
    if (!self->inject_vars) {
        return BF_OK;
    }
    bf_status_t status = repository_open(repo, instance_id, &inst, err);
    if (status != BF_OK) {
        return status;
    }
    bf_arena_clear(&self->vars_mem);
    bf_value_t map;
    if (bf_vars_as_map(bf_instance_vars(inst), &self->vars_mem, &map) != BF_OK ||
        bf_value_copy(&self->vars_mem, &map, &self->vars) != BF_OK) {
        return bf_err_nomem(err, "variables of an instance");
    }
    *ret = &self->vars;
    return BF_OK;
}

/* --- history --- */

static const char *copy(mysql_repository_t *self, const char *text, bool *ok)
{
    if (text == NULL) {
        return NULL;
    }
    const char *result = bf_arena_strdup(&self->history_mem, text);
    *ok = *ok && result != NULL;
    return result;
}

static void copy_node(mysql_repository_t *self, bf_history_node_t *node, bool *ok)
{
    node->code = copy(self, node->code, ok);
    node->name = copy(self, node->name, ok);
    node->type = copy(self, node->type, ok);
}

bf_status_t bf_mysql_repository_record(void *repo, const bf_history_t *row, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bool ok = true;
    /* a number that comes again was undone the first time */
    uintptr_t last = (uintptr_t)bf_map_get_str(self->recorded, row->instance_id);
    if (last >= (uintptr_t)row->seq) {
        remove_history_of(self, row->instance_id, row->seq);
    }
    if (bf_map_put(self->recorded, row->instance_id, strlen(row->instance_id),
                   (void *)(uintptr_t)row->seq, NULL) != BF_OK) {
        return bf_err_nomem(err, "history row");
    }
    if (self->history_count == self->history_capacity) {
        size_t capacity = self->history_capacity == 0 ? 16 : self->history_capacity * 2;
        bf_history_t *list = realloc(self->history, capacity * sizeof(*list));
        if (list == NULL) {
            return bf_err_nomem(err, "history row");
        }
        self->history = list;
        self->history_capacity = capacity;
    }
    bf_history_t mine = *row;
    mine.instance_id = copy(self, row->instance_id, &ok);
    mine.graph_id = copy(self, row->graph_id, &ok);
    mine.task_id = copy(self, row->task_id, &ok);
    copy_node(self, &mine.source, &ok);
    copy_node(self, &mine.target, &ok);
    mine.assignee = copy(self, row->assignee, &ok);
    mine.message = copy(self, row->message, &ok);
    mine.command_id = copy(self, row->command_id, &ok);
    mine.creator = copy(self, row->creator, &ok);
    if (row->variables.data != NULL) {
        mine.variables.data =
            bf_arena_strndup(&self->history_mem, row->variables.data, row->variables.len);
        ok = ok && mine.variables.data != NULL;
    }
    if (!ok) {
        return bf_err_nomem(err, "history row");
    }
    self->history[self->history_count++] = mine;
    return BF_OK;
}

/* --- flush and groups --- */

bf_status_t bf_mysql_repository_flush(bf_repository_t *repo, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    if (self->in_group) {
        return bf_err_set(err, BF_E_INVALID, "a group is open: commit or roll it back");
    }
    return flush(self, false, err);
}

bf_status_t bf_mysql_repository_begin(bf_repository_t *repo, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bf_status_t status = bf_mysql_repository_flush(repo, err);
    self->in_group = self->in_group || status == BF_OK;
    return status;
}

bf_status_t bf_mysql_repository_commit(bf_repository_t *repo, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    if (!self->in_group) {
        return bf_err_set(err, BF_E_INVALID, "there is no open group");
    }
    self->in_group = false;
    bf_status_t status = flush(self, true, err);
    if (status != BF_OK) {
        forget_all_changes(self);
    }
    return status;
}

void bf_mysql_repository_rollback(bf_repository_t *repo)
{
    mysql_repository_t *self = self_of(repo);
    if (self->in_group) {
        self->in_group = false;
        forget_all_changes(self);
    }
}

/* --- snapshots --- */

/* The connection may have been idle for long; these statements are not repeated. */
static bf_status_t ensure_connection(mysql_repository_t *self, bf_err_t *err)
{
    bf_status_t status = bf_store_check_connected(self->store, NULL);
    if (status == BF_OK) {
        status = bf_db_execute(bf_store_db(self->store), "DO 1", NULL);
    }
    return status == BF_OK ? BF_OK : bf_store_reconnect(self->store, err);
}

static bf_status_t check_object(const char *what, const char *json, bf_arena_t *arena,
                                bf_err_t *err)
{
    bf_value_t value;
    bf_err_t why = BF_ERR_INIT;
    if (json == NULL) {
        return BF_OK;
    }
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_status_t status = bf_json_parse(arena, json, strlen(json), &limits, &value, &why);
    if (status != BF_OK) {
        return bf_err_set(err, status == BF_E_NOMEM ? BF_E_NOMEM : BF_E_INVALID,
                          "%s of the snapshot: %s", what, why.text);
    }
    if (value.type != BF_VALUE_MAP) {
        return bf_err_set(err, BF_E_INVALID, "%s of the snapshot: a %s, not an object",
                          what, bf_value_type_name(value.type));
    }
    return BF_OK;
}

bf_status_t bf_mysql_repository_save_snapshot(bf_repository_t *repo,
                                              const char *instance_id,
                                              const char *graph_json,
                                              const char *vars_json, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bf_instance_t *inst = NULL;
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_status_t status = check_object("graph", graph_json, &arena, err);
    if (status == BF_OK) {
        status = check_object("vars", vars_json, &arena, err);
    }
    bf_arena_fini(&arena);
    if (status == BF_OK) {
        status = bf_mysql_repository_flush(repo, err);
    }
    if (status == BF_OK) {
        status = repository_open(repo, instance_id, &inst, err);
    }
    if (status == BF_OK) {
        status = ensure_connection(self, err);
    }
    if (status == BF_OK) {
        const bf_snapshot_t snapshot = {instance_id, bf_instance_stored_revision(inst),
                                        graph_json, vars_json};
        status = bf_store_write_snapshot(self->store, &snapshot, err);
        make_stale(self, instance_id); /* the row is ahead of the copy, or unknown */
    }
    return status;
}

bf_status_t bf_mysql_repository_load_snapshot(bf_repository_t *repo,
                                              const char *instance_id, bf_arena_t *arena,
                                              bf_instance_row_t *ret, bf_err_t *err)
{
    mysql_repository_t *self = self_of(repo);
    bf_status_t status = self->in_group ? BF_OK : flush(self, false, err);
    if (status == BF_OK) {
        status = ensure_connection(self, err);
    }
    return status != BF_OK ? status
                           : bf_store_read_row(self->store, instance_id, arena, ret, err);
}

/* --- life --- */

bf_store_t *bf_mysql_repository_store(bf_repository_t *repo)
{
    return self_of(repo)->store;
}

static void repository_free(bf_repository_t *repo)
{
    mysql_repository_t *self = self_of(repo);
    bf_store_close(self->store);
    bf_cache_free(self->cache);
    bf_map_free(self->dirty);
    bf_map_free(self->recorded);
    bf_map_free(self->stale);
    free(self->history);
    bf_arena_fini(&self->history_mem);
    bf_arena_fini(&self->vars_mem);
    free(self);
}

bf_status_t bf_mysql_repository_open(const bf_mysql_repository_options_t *options,
                                     bf_repository_t **ret, bf_err_t *err)
{
    static const bf_repository_ops_t ops = {
        .open = repository_open,
        .changed = repository_changed,
        .vars_get = repository_vars_get,
        .evict = repository_evict,
        .free = repository_free,
    };
    mysql_repository_t *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return bf_err_nomem(err, "repository");
    }
    self->base.ops = &ops;
    self->persist = options->persist;
    self->inject_vars = options->inject_vars;
    bf_arena_init(&self->history_mem, 0);
    bf_arena_init(&self->vars_mem, 0);
    self->cache = bf_cache_new(options->cache_max_bytes != 0 ? options->cache_max_bytes
                                                             : DEFAULT_CACHE_BYTES);
    self->dirty = bf_map_new();
    self->recorded = bf_map_new();
    self->stale = bf_map_new();
    bf_status_t status = BF_OK;
    if (self->cache == NULL || self->dirty == NULL || self->recorded == NULL ||
        self->stale == NULL) {
        status = bf_err_nomem(err, "repository");
    }
    if (status == BF_OK) {
        status = bf_store_open(&options->store, &self->store, err);
    }
    if (status != BF_OK) {
        repository_free(&self->base);
        return status;
    }
    *ret = &self->base;
    return BF_OK;
}
