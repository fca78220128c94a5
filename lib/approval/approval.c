/*
 * approval.c - the engine: its host, its definitions, the frame of an operation
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/approval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "bpmflow/array.h"
#include "bpmflow/clock.h"
#include "bpmflow/map.h"
#include "bpmflow/num.h"
#include "lib/approval/approval_int.h"

#define CACHED_FLOWS 64
#define FEW_NAMES    32 /* a power of 2 */

/* A definition that was read. */
typedef struct cached {
    int64_t define_id; /* 0: free */
    uint64_t hash;     /* of the content */
    uint64_t used;     /* when, in calls */
    bf_arena_t arena;
    const bf_flow_t *flow;
    struct cached *next; /* of those that are there for one operation */
} cached_t;

struct bf_approval {
    bf_ledger_t *ledger;
    bf_approval_host_t host;
    uint64_t calls;
    unsigned operations;  /* that run now: a handler may begin one */
    uint64_t pinned_from; /* what was used since stays while one runs */
    cached_t cache[CACHED_FLOWS];
    cached_t *extra; /* when all places are in use by an operation */
};

bool bf_approval_is_system(const char *user_id)
{
    return user_id && (!strcasecmp(user_id, BF_APPROVAL_AUTO) ||
                       !strcasecmp(user_id, BF_APPROVAL_ADMIN));
}

/* --- names --- */

static bool is_name(const char *name, const char *id, size_t len)
{
    return !strncmp(name, id, len) && !name[len];
}

/* The slot that has the ID, or the free one for it; half of them are free. */
static size_t find_slot(const bf_approval_names_t *names, const char *id, size_t len)
{
    size_t slot = bf_hash_bytes(id, len) & (names->slot_count - 1);
    while (names->slots[slot] &&
           !is_name(names->items[names->slots[slot] - 1], id, len)) {
        slot = (slot + 1) & (names->slot_count - 1);
    }
    return slot;
}

/* Twice as many slots as there is room for names. */
static bf_status_t make_slots(bf_arena_t *arena, bf_approval_names_t *names)
{
    size_t count = FEW_NAMES;
    while (count < names->room * 2) {
        count *= 2;
    }
    uint32_t *slots = bf_arena_calloc(arena, count, sizeof(*slots));
    if (!slots || names->room >= UINT32_MAX) {
        return BF_E_NOMEM;
    }
    names->slots = slots;
    names->slot_count = count;
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        names->slots[find_slot(names, name, strlen(name))] = (uint32_t)i + 1;
    }
    return BF_OK;
}

static bool has_name(const bf_approval_names_t *names, const char *id, size_t len)
{
    if (names->slots) { /* what a copy of the list has added does not count */
        uint32_t place = names->slots[find_slot(names, id, len)];
        return place && place <= names->count;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (is_name(names->items[i], id, len)) {
            return true;
        }
    }
    return false;
}

/* A request may name as many as it has room for: few are compared, many are hashed. */
bf_status_t bf_approval_names_add(bf_arena_t *arena, bf_approval_names_t *names,
                                  const char *id, size_t len)
{
    if (has_name(names, id, len)) {
        return BF_OK;
    }
    if (names->count == names->room) {
        const char **items =
            bf_array_grow_in(arena, names->items, &names->room, sizeof(*items), 8);
        if (!items) {
            return BF_E_NOMEM;
        }
        names->items = items;
        if (names->room > FEW_NAMES && make_slots(arena, names) != BF_OK) {
            names->room = names->count;
            return BF_E_NOMEM;
        }
    }
    const char *copy = bf_arena_strndup(arena, id, len);
    if (!copy) {
        return BF_E_NOMEM;
    }
    names->items[names->count++] = copy;
    if (names->slots) {
        names->slots[find_slot(names, id, len)] = (uint32_t)names->count;
    }
    return BF_OK;
}

static bf_status_t add_text(bf_arena_t *arena, bf_approval_names_t *names,
                            const char *text)
{
    static const char blanks[] = " \t\r\n";
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && *text) {
        size_t len = strcspn(text, ",");
        const char *part = text;
        size_t part_len = len;
        while (part_len && strchr(blanks, *part)) {
            part++;
            part_len--;
        }
        while (part_len && strchr(blanks, part[part_len - 1])) {
            part_len--;
        }
        if (part_len) {
            rc = bf_approval_names_add(arena, names, part, part_len);
        }
        text += len + (text[len] ? 1 : 0);
    }
    return rc;
}

bf_status_t bf_approval_names_add_value(bf_arena_t *arena, bf_approval_names_t *names,
                                        const bf_value_t *value)
{
    if (!value) {
        return BF_OK;
    }
    if (value->type == BF_VALUE_STRING) {
        return add_text(arena, names, value->as.string);
    }
    if (value->type == BF_VALUE_INT) {
        char text[BF_NUM_TEXT_MAX] = "";
        size_t len = bf_num_format_i64(value->as.integer, text);
        return bf_approval_names_add(arena, names, text, len);
    }
    bf_status_t rc = BF_OK;
    for (uint32_t i = 0; rc == BF_OK && value->type == BF_VALUE_LIST && i < value->len;
         i++) {
        const bf_value_t *item = &value->as.items[i];
        if (item->type == BF_VALUE_STRING || item->type == BF_VALUE_INT) {
            rc = bf_approval_names_add_value(arena, names, item);
        }
    }
    return rc;
}

/* --- the engine --- */

bf_approval_t *bf_approval_new(bf_ledger_t *ledger, const bf_approval_host_t *host)
{
    bf_approval_t *approval = calloc(1, sizeof(*approval));
    if (approval) {
        approval->ledger = ledger;
        if (host) {
            approval->host = *host;
        }
    }
    return approval;
}

static void free_extra(bf_approval_t *approval)
{
    while (approval->extra) {
        cached_t *place = approval->extra;
        approval->extra = place->next;
        bf_arena_fini(&place->arena);
        free(place);
    }
}

void bf_approval_free(bf_approval_t *approval)
{
    if (!approval) {
        return;
    }
    for (unsigned i = 0; i < CACHED_FLOWS; i++) {
        bf_arena_fini(&approval->cache[i].arena);
    }
    free_extra(approval);
    free(approval);
}

bf_ledger_t *bf_approval_ledger(const bf_approval_t *approval)
{
    return approval->ledger;
}

const bf_approval_host_t *bf_approval_host(const bf_approval_t *approval)
{
    return &approval->host;
}

int64_t bf_approval_now_ms(const bf_approval_t *approval)
{
    return approval->host.now_ms ? approval->host.now_ms(approval->host.now_arg)
                                 : bf_clock_wall_ms();
}

void bf_approval_format_time(const bf_approval_t *approval, int64_t wall_ms,
                             char ret[BF_APPROVAL_TIME_MAX])
{
    time_t seconds = (time_t)(wall_ms / 1000 + approval->host.utc_offset_s);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) ||
        !strftime(ret, BF_APPROVAL_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm)) {
        ret[0] = '\0';
    }
}

/* --- definitions --- */

/* The place of a definition as it is now; NULL = it has none. */
static cached_t *find_place(bf_approval_t *approval, int64_t define_id, uint64_t hash)
{
    for (unsigned i = 0; i < CACHED_FLOWS; i++) {
        cached_t *place = &approval->cache[i];
        if (place->define_id == define_id && place->hash == hash) {
            return place;
        }
    }
    cached_t *place = approval->extra;
    while (place && (place->define_id != define_id || place->hash != hash)) {
        place = place->next;
    }
    return place;
}

/* The place that was not used for longest, or another: an operation holds pointers into
 * all that it used.  NULL when out of memory. */
static cached_t *make_place(bf_approval_t *approval)
{
    cached_t *oldest = &approval->cache[0];
    for (unsigned i = 1; i < CACHED_FLOWS; i++) {
        cached_t *place = &approval->cache[i];
        oldest = place->used < oldest->used ? place : oldest;
    }
    if (!approval->operations || oldest->used < approval->pinned_from) {
        bf_arena_fini(&oldest->arena);
        *oldest = (cached_t){0};
        return oldest;
    }
    cached_t *place = calloc(1, sizeof(*place));
    if (place) {
        place->next = approval->extra;
        approval->extra = place;
    }
    return place;
}

bf_status_t bf_approval_flow(bf_approval_t *approval, int64_t define_id,
                             const bf_flow_t **ret, bf_err_t *err)
{
    const bf_define_row_t *row =
        bf_ledger_find(approval->ledger, BF_LEDGER_DEFINE, define_id);
    if (!row || !row->content) {
        return bf_err_set(err, BF_E_NOT_FOUND,
                          "20010002 没有流程定义: there is no definition %lld; deploy it",
                          (long long)define_id);
    }
    size_t len = strlen(row->content);
    uint64_t hash = bf_hash_bytes(row->content, len);
    cached_t *place = find_place(approval, define_id, hash);
    if (!place) {
        place = make_place(approval);
        if (!place) {
            return bf_err_nomem(err, "a definition");
        }
        bf_arena_init(&place->arena, (size_t)64 << 20);
        bf_status_t rc =
            bf_flow_load(&place->arena, row->content, len, &place->flow, err);
        if (rc != BF_OK) {
            bf_arena_fini(&place->arena);
            return rc;
        }
        place->define_id = define_id;
        place->hash = hash;
    }
    place->used = ++approval->calls;
    *ret = place->flow;
    return BF_OK;
}

void bf_approval_let_go(bf_approval_t *approval)
{
    if (!--approval->operations) {
        free_extra(approval);
    }
}

static bf_status_t write_define(bf_approval_t *approval, bf_define_row_t *row,
                                const char *text, size_t len, bf_err_t *err)
{
    bf_arena_t arena;
    const bf_flow_t *flow;
    bf_arena_init(&arena, (size_t)64 << 20);
    bf_ledger_verb_t verb = row->id ? BF_LEDGER_UPDATE : BF_LEDGER_INSERT;
    bf_status_t rc = bf_flow_load(&arena, text, len, &flow, err);
    row->content = rc == BF_OK ? bf_arena_strndup(&arena, text, len) : NULL;
    if (rc == BF_OK && !row->content) {
        rc = bf_err_nomem(err, "a definition");
    }
    if (rc == BF_OK) {
        const bf_define_row_t *latest =
            bf_ledger_latest_define(approval->ledger, flow->name);
        row->name = flow->name;
        row->display_name = flow->display_name;
        row->type = flow->type;
        if (verb == BF_LEDGER_INSERT) {
            row->id = bf_ledger_make_id(approval->ledger);
            row->version = latest ? latest->version + 1 : 0;
        }
        bf_ledger_change_t change = {verb, BF_LEDGER_DEFINE, row};
        rc = bf_ledger_apply(approval->ledger, &change, 1, err);
    }
    bf_arena_fini(&arena);
    return rc;
}

bf_status_t bf_approval_deploy(bf_approval_t *approval, const char *text, size_t len,
                               const char *operator_id, int64_t *ret_id, bf_err_t *err)
{
    int64_t now = bf_approval_now_ms(approval);
    bf_define_row_t row = {.state = 1, .audit = {now, operator_id, now, operator_id}};
    bf_status_t rc = write_define(approval, &row, text, len, err);
    if (rc == BF_OK && ret_id) {
        *ret_id = row.id;
    }
    return rc;
}

bf_status_t bf_approval_redeploy(bf_approval_t *approval, int64_t define_id,
                                 const char *text, size_t len, const char *operator_id,
                                 bf_err_t *err)
{
    const bf_define_row_t *old =
        bf_ledger_find(approval->ledger, BF_LEDGER_DEFINE, define_id);
    if (!old) {
        return bf_err_set(err, BF_E_NOT_FOUND,
                          "20010002 没有流程定义: there is no definition %lld; deploy it",
                          (long long)define_id);
    }
    bf_define_row_t row = *old;
    row.audit.update_time = bf_approval_now_ms(approval);
    row.audit.update_user = operator_id;
    return write_define(approval, &row, text, len, err);
}

/* --- the frame of an operation --- */

static void set_default_limits(bf_approval_limits_t *limits)
{
    limits->max_rows = limits->max_rows ? limits->max_rows : 10000;
    limits->max_steps = limits->max_steps ? limits->max_steps : 10000;
    limits->max_actors = limits->max_actors ? limits->max_actors : 1000;
    limits->max_depth = limits->max_depth ? limits->max_depth : 16;
    if (!limits->max_variable_bytes) {
        limits->max_variable_bytes = (size_t)1 << 20;
    }
    if (!limits->max_arena_bytes) {
        limits->max_arena_bytes = (size_t)64 << 20;
    }
}

void bf_stage_begin(bf_stage_t *stage, bf_approval_t *approval, const char *operator_id,
                    bf_err_t *err)
{
    *stage = (bf_stage_t){.approval = approval,
                          .ledger = approval->ledger,
                          .host = &approval->host,
                          .limits = approval->host.limits,
                          .err = err,
                          .now_ms = bf_approval_now_ms(approval),
                          .operator_id = operator_id ? operator_id : ""};
    if (!approval->operations++) {
        approval->pinned_from = approval->calls + 1;
    }
    set_default_limits(&stage->limits);
    bf_arena_init(&stage->arena, stage->limits.max_arena_bytes);
}

bf_status_t bf_stage_end(bf_stage_t *stage, bf_status_t rc)
{
    if (rc == BF_OK) {
        rc = bf_stage_commit(stage);
    }
    bf_stage_fini(stage);
    return rc;
}
