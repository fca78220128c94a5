/*
 * ledger.c - the approval ledger: tables, indexes, changes that are made as a whole
 *
 * A row is one block of memory: a head, the struct, the texts of its columns.  A table is
 * a map from the ID to the block; an index is a map from the key to a sorted list of IDs.
 *
 * Changes are made one after the other and written down; when one fails, what was made is
 * taken back in reverse order.  Taking back allocates nothing: a bucket keeps the room it
 * had, and a deleted row leaves its table only when all changes are made.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "bpmflow/map.h"

#define AT(type, column) offsetof(type, column)
#define AUDIT(type)      AT(type, audit.create_user), AT(type, audit.update_user)

/* Where the texts of a row are. */
static const size_t define_texts[] = {
    AT(bf_define_row_t, name), AT(bf_define_row_t, display_name),
    AT(bf_define_row_t, type), AT(bf_define_row_t, content), AUDIT(bf_define_row_t)};
static const size_t process_texts[] = {
    AT(bf_process_row_t, parent_node_name), AT(bf_process_row_t, business_no),
    AT(bf_process_row_t, operator_id), AT(bf_process_row_t, variable),
    AUDIT(bf_process_row_t)};
static const size_t task_texts[] = {
    AT(bf_task_row_t, task_name),   AT(bf_task_row_t, display_name),
    AT(bf_task_row_t, operator_id), AT(bf_task_row_t, form_key),
    AT(bf_task_row_t, variable),    AUDIT(bf_task_row_t)};
static const size_t actor_texts[] = {AT(bf_actor_row_t, actor_id),
                                     AT(bf_actor_row_t, create_user)};
static const size_t cc_texts[] = {AT(bf_cc_row_t, actor_id), AUDIT(bf_cc_row_t)};
static const size_t design_texts[] = {
    AT(bf_design_row_t, name),        AT(bf_design_row_t, display_name),
    AT(bf_design_row_t, description), AT(bf_design_row_t, type),
    AT(bf_design_row_t, icon),        AUDIT(bf_design_row_t)};
static const size_t his_texts[] = {AT(bf_design_his_row_t, content),
                                   AT(bf_design_his_row_t, create_user)};
static const size_t surrogate_texts[] = {
    AT(bf_surrogate_row_t, process_name), AT(bf_surrogate_row_t, operator_id),
    AT(bf_surrogate_row_t, surrogate), AUDIT(bf_surrogate_row_t)};

#define TEXTS(list) (list), sizeof(list) / sizeof((list)[0])

static const struct {
    const size_t *at;
    size_t count;
} texts[BF_LEDGER_TABLE_COUNT] = {
    [BF_LEDGER_DEFINE] = {TEXTS(define_texts)},
    [BF_LEDGER_PROCESS] = {TEXTS(process_texts)},
    [BF_LEDGER_TASK] = {TEXTS(task_texts)},
    [BF_LEDGER_ACTOR] = {TEXTS(actor_texts)},
    [BF_LEDGER_CC] = {TEXTS(cc_texts)},
    [BF_LEDGER_DESIGN] = {TEXTS(design_texts)},
    [BF_LEDGER_DESIGN_HIS] = {TEXTS(his_texts)},
    [BF_LEDGER_SURROGATE] = {TEXTS(surrogate_texts)},
};

static const struct {
    const char *name;
    size_t row_size;
    bool is_deletable;
} tables[BF_LEDGER_TABLE_COUNT] = {
#define X(id, table, type, deletable)                                                    \
    [BF_LEDGER_##id] = {(table), sizeof(type), (deletable)},
    BF_LEDGER_TABLES(X)
#undef X
};

static const struct {
    bf_ledger_table_t table;
    size_t at;
    bool is_id;
} indexes[BF_LEDGER_INDEX_COUNT] = {
#define X(id, on, type, column, is_number)                                               \
    [BF_LEDGER_BY_##id] = {BF_LEDGER_##on, offsetof(type, column), (is_number)},
    BF_LEDGER_INDEXES(X)
#undef X
};

/* Every row begins with its ID. */
#define X(name, table, type, deletable) _Static_assert(offsetof(type, id) == 0, #type);
BF_LEDGER_TABLES(X)
#undef X

/* IDs of the rows that have a key, sorted. */
typedef struct bucket {
    int64_t *ids;
    size_t count;
    size_t room;
} bucket_t;

typedef struct block {
    bool is_dead; /* deleted by changes that are being made */
    max_align_t row[];
} block_t;

struct bf_ledger {
    bf_ledger_ids_t ids;
    int64_t last_id; /* the highest one that was seen */
    bf_ledger_sink_t sink;
    bf_map_t *rows[BF_LEDGER_TABLE_COUNT];
    bf_map_t *keys[BF_LEDGER_INDEX_COUNT];
};

/* One change that was made, to be taken back. */
typedef struct done {
    bf_ledger_table_t table;
    block_t *old; /* NULL: inserted */
    block_t *new; /* NULL: deleted */
} done_t;

static const char *text_of(const void *row, size_t at)
{
    const char *text;
    memcpy(&text, (const char *)row + at, sizeof(text));
    return text;
}

static int64_t number_of(const void *row, size_t at)
{
    int64_t number;
    memcpy(&number, (const char *)row + at, sizeof(number));
    return number;
}

/* --- blocks --- */

static block_t *block_new(bf_ledger_table_t table, const void *row)
{
    size_t bytes = tables[table].row_size;
    for (size_t i = 0; i < texts[table].count; i++) {
        const char *text = text_of(row, texts[table].at[i]);
        bytes += text ? strlen(text) + 1 : 0;
    }
    block_t *block = malloc(sizeof(*block) + bytes);
    if (!block) {
        return NULL;
    }
    block->is_dead = false;
    memcpy(block->row, row, tables[table].row_size);
    char *at = (char *)block->row + tables[table].row_size;
    for (size_t i = 0; i < texts[table].count; i++) {
        const char *text = text_of(row, texts[table].at[i]);
        if (text) {
            size_t len = strlen(text) + 1;
            memcpy(at, text, len);
            memcpy((char *)block->row + texts[table].at[i], &at, sizeof(at));
            at += len;
        }
    }
    return block;
}

static block_t *find_block(const bf_ledger_t *ledger, bf_ledger_table_t table, int64_t id)
{
    block_t *block = bf_map_get(ledger->rows[table], (const char *)&id, sizeof(id));
    return block && !block->is_dead ? block : NULL;
}

/* --- indexes --- */

typedef struct key {
    const char *data; /* NULL: the row is not in the index */
    size_t len;
    int64_t number;
} index_key_t;

/* The key lies in the row or in *ret. */
static void key_of(bf_ledger_index_t index, const void *row, index_key_t *ret)
{
    *ret = (index_key_t){0};
    if (indexes[index].is_id) {
        ret->number = number_of(row, indexes[index].at);
        ret->data = ret->number ? (const char *)&ret->number : NULL;
        ret->len = sizeof(ret->number);
    } else {
        ret->data = text_of(row, indexes[index].at);
        ret->len = ret->data ? strlen(ret->data) : 0;
    }
}

static bool same_key(const index_key_t *a, const index_key_t *b)
{
    return a->data && b->data && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* Place of the ID, or where it belongs. */
static size_t bucket_place(const bucket_t *bucket, int64_t id)
{
    size_t low = 0;
    size_t high = bucket->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bucket->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The bucket with room for one more; NULL when out of memory. */
static bucket_t *bucket_make(bf_map_t *map, const index_key_t *key)
{
    bucket_t *bucket = bf_map_get(map, key->data, key->len);
    if (!bucket) {
        bucket = calloc(1, sizeof(*bucket));
        if (!bucket || bf_map_put(map, key->data, key->len, bucket, NULL) != BF_OK) {
            free(bucket);
            return NULL;
        }
    }
    if (bucket->count == bucket->room) {
        int64_t *ids = bf_array_grow(bucket->ids, &bucket->room, sizeof(*ids), 2);
        if (!ids) {
            return NULL;
        }
        bucket->ids = ids;
    }
    return bucket;
}

static void bucket_free(bucket_t *bucket)
{
    free(bucket->ids);
    free(bucket);
}

/* The bucket has room. */
static void bucket_add(bucket_t *bucket, int64_t id)
{
    BF_ASSERT(bucket->count < bucket->room);
    size_t place = bucket_place(bucket, id);
    memmove(bucket->ids + place + 1, bucket->ids + place,
            (bucket->count - place) * sizeof(id));
    bucket->ids[place] = id;
    bucket->count++;
}

static void bucket_remove(bucket_t *bucket, int64_t id)
{
    size_t place = bucket_place(bucket, id);
    if (place < bucket->count && bucket->ids[place] == id) {
        bucket->count--;
        memmove(bucket->ids + place, bucket->ids + place + 1,
                (bucket->count - place) * sizeof(id));
    }
}

/* Room in every index for a row; the old one tells where it is already. */
static bool index_reserve(bf_ledger_t *ledger, bf_ledger_table_t table,
                          const block_t *old, const block_t *new)
{
    for (unsigned i = 0; i < BF_LEDGER_INDEX_COUNT; i++) {
        index_key_t before = {0};
        index_key_t after;
        if (indexes[i].table != table) {
            continue;
        }
        key_of(i, new->row, &after);
        if (old) {
            key_of(i, old->row, &before);
        }
        if (after.data && !same_key(&before, &after) &&
            !bucket_make(ledger->keys[i], &after)) {
            return false;
        }
    }
    return true;
}

/* From one row to the other; each may be NULL. There is room. */
static void index_move(bf_ledger_t *ledger, bf_ledger_table_t table, const block_t *from,
                       const block_t *to)
{
    for (unsigned i = 0; i < BF_LEDGER_INDEX_COUNT; i++) {
        index_key_t before = {0};
        index_key_t after = {0};
        if (indexes[i].table != table) {
            continue;
        }
        if (from) {
            key_of(i, from->row, &before);
        }
        if (to) {
            key_of(i, to->row, &after);
        }
        if (same_key(&before, &after)) {
            continue;
        }
        if (before.data) {
            bucket_remove(bf_map_get(ledger->keys[i], before.data, before.len),
                          number_of(from->row, 0));
        }
        if (after.data) {
            bucket_add(bf_map_get(ledger->keys[i], after.data, after.len),
                       number_of(to->row, 0));
        }
    }
}

/* A key that no row has any longer goes. */
static void index_clean(bf_ledger_t *ledger, bf_ledger_table_t table, const block_t *old)
{
    for (unsigned i = 0; i < BF_LEDGER_INDEX_COUNT; i++) {
        index_key_t key;
        if (indexes[i].table != table) {
            continue;
        }
        key_of(i, old->row, &key);
        bucket_t *bucket =
            key.data ? bf_map_get(ledger->keys[i], key.data, key.len) : NULL;
        if (bucket && !bucket->count) {
            (void)bf_map_remove(ledger->keys[i], key.data, key.len);
            bucket_free(bucket);
        }
    }
}

/* --- the ledger --- */

bf_ledger_t *bf_ledger_new(const bf_ledger_ids_t *ids)
{
    bf_ledger_t *ledger = calloc(1, sizeof(*ledger));
    bool ok = ledger != NULL;
    for (unsigned i = 0; ok && i < BF_LEDGER_TABLE_COUNT; i++) {
        ledger->rows[i] = bf_map_new();
        ok = ledger->rows[i] != NULL;
    }
    for (unsigned i = 0; ok && i < BF_LEDGER_INDEX_COUNT; i++) {
        ledger->keys[i] = bf_map_new();
        ok = ledger->keys[i] != NULL;
    }
    if (!ok) {
        bf_ledger_free(ledger);
        return NULL;
    }
    if (ids) {
        ledger->ids = *ids;
    }
    return ledger;
}

static void free_table(bf_map_t *map, bool are_buckets)
{
    size_t cursor = 0;
    const char *key;
    size_t key_len;
    void *value;
    while (map && bf_map_next(map, &cursor, &key, &key_len, &value)) {
        if (are_buckets) {
            bucket_free(value);
        } else {
            free(value);
        }
    }
    bf_map_free(map);
}

void bf_ledger_free(bf_ledger_t *ledger)
{
    if (!ledger) {
        return;
    }
    for (unsigned i = 0; i < BF_LEDGER_TABLE_COUNT; i++) {
        free_table(ledger->rows[i], false);
    }
    for (unsigned i = 0; i < BF_LEDGER_INDEX_COUNT; i++) {
        free_table(ledger->keys[i], true);
    }
    free(ledger);
}

void bf_ledger_set_sink(bf_ledger_t *ledger, const bf_ledger_sink_t *sink)
{
    ledger->sink = sink ? *sink : (bf_ledger_sink_t){0};
}

/* Its own IDs: milliseconds since 2020 and twelve bits to count with. */
#define ID_EPOCH_MS 1577836800000
#define ID_SHIFT    22

int64_t bf_ledger_make_id(bf_ledger_t *ledger)
{
    int64_t id;
    if (ledger->ids.next) {
        id = ledger->ids.next(ledger->ids.arg);
    } else {
        int64_t ms = bf_clock_wall_ms() - ID_EPOCH_MS;
        id = ms > 0 ? (int64_t)((uint64_t)ms << ID_SHIFT) : 0;
        id = id > ledger->last_id ? id : ledger->last_id + 1;
        ledger->last_id = id;
    }
    return id;
}

const char *bf_ledger_table_name(bf_ledger_table_t table)
{
    return tables[table].name;
}

size_t bf_ledger_count(const bf_ledger_t *ledger, bf_ledger_table_t table)
{
    return bf_map_count(ledger->rows[table]);
}

const void *bf_ledger_find(const bf_ledger_t *ledger, bf_ledger_table_t table, int64_t id)
{
    const block_t *block = find_block(ledger, table, id);
    return block ? block->row : NULL;
}

const void *bf_ledger_next(const bf_ledger_t *ledger, bf_ledger_table_t table,
                           size_t *cursor)
{
    const char *key;
    size_t key_len;
    void *value;
    return bf_map_next(ledger->rows[table], cursor, &key, &key_len, &value)
               ? ((const block_t *)value)->row
               : NULL;
}

static const void *next_in(const bf_ledger_t *ledger, bf_ledger_index_t index,
                           const bucket_t *bucket, size_t *cursor)
{
    if (!bucket || *cursor >= bucket->count) {
        return NULL;
    }
    return bf_ledger_find(ledger, indexes[index].table, bucket->ids[(*cursor)++]);
}

const void *bf_ledger_next_by_id(const bf_ledger_t *ledger, bf_ledger_index_t index,
                                 int64_t key, size_t *cursor)
{
    BF_ASSERT(indexes[index].is_id);
    return next_in(ledger, index,
                   bf_map_get(ledger->keys[index], (const char *)&key, sizeof(key)),
                   cursor);
}

const void *bf_ledger_next_by_text(const bf_ledger_t *ledger, bf_ledger_index_t index,
                                   const char *key, size_t *cursor)
{
    BF_ASSERT(!indexes[index].is_id);
    return next_in(ledger, index, bf_map_get_str(ledger->keys[index], key), cursor);
}

/* --- changes --- */

static bf_status_t make_insert(bf_ledger_t *ledger, bf_ledger_table_t table, done_t *done,
                               bf_err_t *err)
{
    int64_t id = number_of(done->new->row, 0);
    if (bf_map_get(ledger->rows[table], (const char *)&id, sizeof(id))) {
        return bf_err_set(err, BF_E_EXISTS,
                          "%s: there is a row with the ID %lld already; take a new ID",
                          tables[table].name, (long long)id);
    }
    if (!index_reserve(ledger, table, NULL, done->new) ||
        bf_map_put(ledger->rows[table], (const char *)&id, sizeof(id), done->new, NULL) !=
            BF_OK) {
        return bf_err_nomem(err, tables[table].name);
    }
    index_move(ledger, table, NULL, done->new);
    ledger->last_id = id > ledger->last_id ? id : ledger->last_id;
    return BF_OK;
}

static bf_status_t make_update(bf_ledger_t *ledger, bf_ledger_table_t table,
                               const done_t *done, bf_err_t *err)
{
    int64_t id = number_of(done->new->row, 0);
    if (!index_reserve(ledger, table, done->old, done->new) ||
        bf_map_put(ledger->rows[table], (const char *)&id, sizeof(id), done->new, NULL) !=
            BF_OK) {
        return bf_err_nomem(err, tables[table].name);
    }
    index_move(ledger, table, done->old, done->new);
    return BF_OK;
}

/* On failure nothing is left of this one change. */
static bf_status_t make_change(bf_ledger_t *ledger, const bf_ledger_change_t *change,
                               done_t *done, bf_err_t *err)
{
    bf_ledger_table_t table = change->table;
    int64_t id = number_of(change->row, 0);
    *done = (done_t){.table = table};
    if (id <= 0) {
        return bf_err_set(err, BF_E_INVALID,
                          "%s: the ID %lld is not above 0; give the row an ID",
                          tables[table].name, (long long)id);
    }
    if (change->verb == BF_LEDGER_DELETE && !tables[table].is_deletable) {
        return bf_err_set(err, BF_E_INVALID,
                          "%s: rows are never deleted; change the state instead",
                          tables[table].name);
    }
    if (change->verb != BF_LEDGER_INSERT) {
        done->old = find_block(ledger, table, id);
        if (!done->old) {
            return bf_err_set(err, BF_E_NOT_FOUND, "%s: there is no row with the ID %lld",
                              tables[table].name, (long long)id);
        }
    }
    if (change->verb == BF_LEDGER_DELETE) {
        index_move(ledger, table, done->old, NULL);
        done->old->is_dead = true;
        return BF_OK;
    }
    done->new = block_new(table, change->row);
    if (!done->new) {
        return bf_err_nomem(err, tables[table].name);
    }
    bf_status_t rc = done->old ? make_update(ledger, table, done, err)
                               : make_insert(ledger, table, done, err);
    if (rc != BF_OK) {
        free(done->new);
    }
    return rc;
}

static void take_back(bf_ledger_t *ledger, const done_t *done)
{
    int64_t id = number_of(done->old ? done->old->row : done->new->row, 0);
    bf_map_t *rows = ledger->rows[done->table];
    index_move(ledger, done->table, done->new, done->old);
    if (!done->old) {
        (void)bf_map_remove(rows, (const char *)&id, sizeof(id));
    } else {
        done->old->is_dead = false;
        /* It is there: this replaces a value and cannot fail. */
        (void)!bf_map_put(rows, (const char *)&id, sizeof(id), done->old, NULL);
    }
    free(done->new);
}

/* All is made: what is gone goes. */
static void settle(bf_ledger_t *ledger, const done_t *done)
{
    if (!done->old) {
        return;
    }
    int64_t id = number_of(done->old->row, 0);
    if (!done->new) {
        (void)bf_map_remove(ledger->rows[done->table], (const char *)&id, sizeof(id));
    }
    index_clean(ledger, done->table, done->old);
    free(done->old);
}

bf_status_t bf_ledger_apply(bf_ledger_t *ledger, const bf_ledger_change_t *changes,
                            size_t count, bf_err_t *err)
{
    if (!count) {
        return BF_OK;
    }
    done_t *done = calloc(count, sizeof(*done));
    bf_status_t rc = done ? BF_OK : bf_err_nomem(err, "changes of the ledger");
    size_t made = 0;
    while (rc == BF_OK && made < count) {
        rc = make_change(ledger, &changes[made], &done[made], err);
        made += rc == BF_OK ? 1 : 0;
    }
    if (rc == BF_OK && ledger->sink.write) {
        rc = ledger->sink.write(ledger->sink.arg, changes, count, err);
    }
    if (rc == BF_OK) {
        for (size_t i = 0; i < count; i++) {
            settle(ledger, &done[i]);
        }
    } else {
        while (made) {
            take_back(ledger, &done[--made]);
        }
    }
    free(done);
    return rc;
}

bf_status_t bf_ledger_insert(bf_ledger_t *ledger, bf_ledger_table_t table,
                             const void *row, bf_err_t *err)
{
    bf_ledger_change_t change = {BF_LEDGER_INSERT, table, row};
    return bf_ledger_apply(ledger, &change, 1, err);
}

bf_status_t bf_ledger_update(bf_ledger_t *ledger, bf_ledger_table_t table,
                             const void *row, bf_err_t *err)
{
    bf_ledger_change_t change = {BF_LEDGER_UPDATE, table, row};
    return bf_ledger_apply(ledger, &change, 1, err);
}

bf_status_t bf_ledger_delete(bf_ledger_t *ledger, bf_ledger_table_t table, int64_t id,
                             bf_err_t *err)
{
    bf_ledger_change_t change = {BF_LEDGER_DELETE, table, &id};
    return bf_ledger_apply(ledger, &change, 1, err);
}

/* --- what several ask --- */

const bf_define_row_t *bf_ledger_latest_define(const bf_ledger_t *ledger,
                                               const char *name)
{
    const bucket_t *bucket = bf_map_get_str(ledger->keys[BF_LEDGER_BY_DEFINE_NAME], name);
    return bucket && bucket->count
               ? bf_ledger_find(ledger, BF_LEDGER_DEFINE, bucket->ids[bucket->count - 1])
               : NULL;
}

bool bf_ledger_is_actor(const bf_ledger_t *ledger, int64_t task_id, const char *actor_id)
{
    size_t cursor = 0;
    const bf_actor_row_t *row;
    while (
        (row = bf_ledger_next_by_id(ledger, BF_LEDGER_BY_ACTOR_TASK, task_id, &cursor))) {
        if (row->actor_id && !strcmp(row->actor_id, actor_id)) {
            return true;
        }
    }
    return false;
}

bf_status_t bf_ledger_read_json(bf_arena_t *arena, const char *text, bf_value_t *ret,
                                bf_err_t *err)
{
    if (!text || !*text) {
        *ret = (bf_value_t){.type = BF_VALUE_MAP};
        return BF_OK;
    }
    bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    return bf_json_parse(arena, text, strlen(text), &limits, ret, err);
}
