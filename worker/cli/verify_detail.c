/*
 * verify_detail.c - verify: row by row and event by event, for instances that are odd
 *
 * Reads the event topic once more and keeps the events of the odd instances (not more
 * than DETAIL_MAX of them), then their rows, and names what is wrong.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/array.h"
#include "bpmflow/clock.h"
#include "bpmflow/codec.h"
#include "worker/cli/connect.h"
#include "worker/cli/verify.h"

#define DETAIL_MAX  1000
#define EVENT_BYTES ((size_t)64 << 20) /* texts of events that are kept */

typedef struct event {
    int32_t seq;
    int32_t partition;
    int64_t offset;
    uint64_t hash;
    const char *text; /* NULL: too many to keep */
    size_t len;
    bool has_row;
} event_t;

typedef struct detail {
    const char *id;
    const bf_verify_instance_t *known;
    event_t *events; /* in the order of the topic */
    size_t count;
    size_t cap;
    int32_t last_row; /* seq of the row before */
} detail_t;

typedef struct details {
    bf_verify_t *verify;
    bf_map_t *odd; /* ID -> detail_t */
    bf_arena_t arena;
    detail_t *now; /* whose rows are being read */
    bool trimmed_partition;
} details_t;

/* --- collecting --- */

static bf_status_t select_odd(details_t *details, bf_err_t *err)
{
    bf_verify_t *verify = details->verify;
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    while (bf_map_next(verify->instances, &cursor, &id, &len, &value)) {
        const bf_verify_instance_t *inst = value;
        if (!inst->odd)
            continue;
        if (bf_map_count(details->odd) == DETAIL_MAX) {
            bf_verify_found(
                verify,
                inst->events < inst->rows ? BF_FINDING_EVENT_MISSING
                                          : BF_FINDING_EVENT_CONTENT,
                id, 0,
                "%d rows, events in order up to %d, or with other content (only "
                "the first %d such instances are looked at in detail)",
                (int)inst->rows, (int)inst->events, DETAIL_MAX);
            continue;
        }
        detail_t *detail = bf_arena_calloc(&details->arena, 1, sizeof *detail);
        if (!detail || bf_map_put(details->odd, id, len, detail, NULL) != BF_OK)
            return bf_err_nomem(err, "details");
        detail->id = id;
        detail->known = inst;
    }
    return BF_OK;
}

static bf_status_t keep_event(void *arg, const bf_record_t *record, bf_err_t *err)
{
    details_t *details = arg;
    detail_t *detail =
        record->key ? bf_map_get(details->odd, record->key, record->key_len) : NULL;
    int32_t seq = bf_verify_seq(record->value, record->value_len);
    if (!detail || seq == 0)
        return BF_OK;
    if (detail->count == detail->cap) {
        event_t *events = bf_array_grow_in(&details->arena, detail->events, &detail->cap,
                                           sizeof *events, 8);
        if (!events)
            return bf_err_nomem(err, "events");
        detail->events = events;
    }
    event_t *event = &detail->events[detail->count++];
    *event = (event_t){.seq = seq,
                       .partition = record->partition,
                       .offset = record->offset,
                       .hash = bf_hash_bytes(record->value, record->value_len),
                       .len = record->value_len};
    if (details->arena.used_bytes < EVENT_BYTES) {
        event->text = bf_arena_strndup(&details->arena, record->value, record->value_len);
        if (!event->text)
            return bf_err_nomem(err, "events");
    }
    return BF_OK;
}

static bf_status_t collect_events(details_t *details, bf_err_t *err)
{
    const bf_cli_t *cli = details->verify->cli;
    bf_status_t rc =
        bf_cli_scan(cli, bf_cli_text(cli, "event-topic"), keep_event, details, err);
    return rc == BF_OK && bf_cli_stopped()
               ? bf_err_set(err, BF_E_CANCELLED, "interrupted")
               : rc;
}

/* --- what is wrong with the events of one instance, seen alone --- */

static const event_t *earlier(const detail_t *detail, size_t before, int32_t seq)
{
    for (size_t i = 0; i < before; i++)
        if (detail->events[i].seq == seq)
            return &detail->events[i];
    return NULL;
}

static void check_order(details_t *details, const detail_t *detail)
{
    int32_t highest = 0;
    for (size_t i = 0; i < detail->count; i++) {
        const event_t *event = &detail->events[i];
        const event_t *first = earlier(detail, i, event->seq);
        if (first)
            bf_verify_found(
                details->verify, BF_FINDING_EVENT_TWICE, detail->id, event->seq,
                "the event is published twice: partition %d, offsets %lld and "
                "%lld, %s content",
                (int)event->partition, (long long)first->offset, (long long)event->offset,
                first->hash == event->hash ? "the same" : "other");
        else if (event->seq < highest && !detail->known->spread)
            bf_verify_found(
                details->verify, BF_FINDING_EVENT_ORDER, detail->id, event->seq,
                "the event stands behind the one of seq %d (partition %d, "
                "offset %lld)",
                (int)highest, (int)event->partition, (long long)event->offset);
        highest = event->seq > highest ? event->seq : highest;
    }
}

/* --- rows against events --- */

static void put_value(bf_str_t *str, const bf_value_t *value)
{
    if (value)
        bf_json_write(str, value);
    else
        bf_str_puts(str, "nothing");
}

void bf_verify_describe(bf_str_t *ret, const bf_value_t *row, const bf_value_t *record,
                        const char *what)
{
    size_t named = 0;
    for (uint32_t i = 0; i < row->len && ret->len < 600; i++) {
        const bf_member_t *member = &row->as.members[i];
        const bf_value_t *other = bf_value_get(record, member->name, member->name_len);
        if (other && bf_value_equal(&member->value, other))
            continue;
        bf_str_printf(ret, "%s%s (row ", named++ ? ", " : "", member->name);
        put_value(ret, &member->value);
        bf_str_printf(ret, ", %s ", what);
        put_value(ret, other);
        bf_str_putc(ret, ')');
    }
    for (uint32_t i = 0; i < record->len && ret->len < 600; i++) {
        const bf_member_t *member = &record->as.members[i];
        if (!bf_value_get(row, member->name, member->name_len))
            bf_str_printf(ret, "%s%s (only in the %s)", named++ ? ", " : "", member->name,
                          what);
    }
    if (named == 0)
        bf_str_puts(ret, "the bytes only (order or spelling of members)");
}

static void content_differs(details_t *details, const event_t *event, int32_t seq)
{
    bf_verify_t *verify = details->verify;
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t row_value;
    bf_value_t event_value;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    if (!event->text) {
        bf_str_puts(&text, "(too many to tell)");
    } else if (bf_json_parse(&arena, event->text, event->len, &limits, &event_value,
                             NULL) != BF_OK ||
               event_value.type != BF_VALUE_MAP) {
        bf_str_puts(&text, "the event is no JSON object");
    } else if (bf_json_parse(&arena, verify->scratch.data, verify->scratch.len, &limits,
                             &row_value, NULL) != BF_OK ||
               row_value.type != BF_VALUE_MAP) {
        bf_str_puts(&text, "the row gives no JSON (its column variables?)");
    } else {
        bf_verify_describe(&text, &row_value, &event_value, "event");
    }
    bf_verify_found(verify, BF_FINDING_EVENT_CONTENT, details->now->id, seq,
                    "row and event (partition %d, offset %lld) differ in %s",
                    (int)event->partition, (long long)event->offset, bf_str_peek(&text));
    bf_arena_fini(&arena);
    bf_str_fini(&text);
}

/* Rows between the row before and this one. */
static void check_gap(details_t *details, int32_t seq)
{
    detail_t *detail = details->now;
    if (seq <= detail->last_row)
        bf_verify_found(details->verify, BF_FINDING_ROW_TWICE, detail->id, seq,
                        "the row is there twice");
    for (int32_t gap = detail->last_row + 1; gap < seq; gap++)
        if (!earlier(detail, detail->count, gap))
            bf_verify_found(details->verify, BF_FINDING_ROW_GAP, detail->id, gap,
                            "there is neither a row nor an event, but there are later "
                            "ones");
    detail->last_row = seq > detail->last_row ? seq : detail->last_row;
}

static bf_status_t compare_row(void *arg, const bf_history_t *row, bf_err_t *err)
{
    details_t *details = arg;
    detail_t *detail = details->now;
    bf_verify_t *verify = details->verify;
    bf_str_clear(&verify->scratch);
    bf_codec_write_event(&verify->scratch, row);
    bf_status_t rc = bf_str_status(&verify->scratch, "event", err);
    if (rc != BF_OK)
        return rc;
    check_gap(details, row->seq);
    uint64_t hash = bf_hash_bytes(verify->scratch.data, verify->scratch.len);
    for (size_t i = 0; i < detail->count; i++) {
        event_t *event = &detail->events[i];
        if (event->seq != row->seq)
            continue;
        event->has_row = true;
        if (event->hash != hash || event->len != verify->scratch.len)
            content_differs(details, event, row->seq);
    }
    return BF_OK;
}

/* --- rows without events: lost, or not published yet? --- */

typedef struct missing {
    int32_t seq;
    const char *command_id; /* in the arena; NULL = none */
} missing_t;

typedef struct missing_list {
    details_t *details;
    missing_t *items;
    size_t count;
    size_t cap;
} missing_list_t;

static bf_status_t note_missing(void *arg, const bf_history_t *row, bf_err_t *err)
{
    missing_list_t *list = arg;
    detail_t *detail = list->details->now;
    const bf_verify_instance_t *known = detail->known;
    bool removed = list->details->verify->events_trimmed && row->seq < known->first_event;
    if (row->seq > known->rows || removed || earlier(detail, detail->count, row->seq))
        return BF_OK;
    bf_arena_t *arena = &list->details->arena;
    if (list->count == list->cap) {
        missing_t *items =
            bf_array_grow_in(arena, list->items, &list->cap, sizeof *items, 16);
        if (!items)
            return bf_err_nomem(err, "missing events");
        list->items = items;
    }
    missing_t *item = &list->items[list->count++];
    item->seq = row->seq;
    item->command_id = row->command_id ? bf_arena_strdup(arena, row->command_id) : NULL;
    return !row->command_id || item->command_id ? BF_OK
                                                : bf_err_nomem(err, "missing events");
}

static bf_status_t report_missing(details_t *details, const missing_t *item,
                                  bf_err_t *err)
{
    bf_verify_t *verify = details->verify;
    bf_command_row_t outcome = {0};
    if (item->command_id) {
        const bf_command_key_t key = {details->now->id, item->command_id};
        bf_status_t rc = bf_store_find_outcomes(verify->store, &key, 1, &details->arena,
                                                &outcome, err);
        if (rc != BF_OK)
            return rc;
    }
    int32_t p = outcome.partition_no;
    bool pending = outcome.command && p >= 0 && p < verify->partition_count &&
                   outcome.offset >= verify->published[p];
    if (pending)
        bf_verify_found(
            verify, BF_FINDING_EVENT_UNPUBLISHED, details->now->id, item->seq,
            "applied, but not published yet (command %s, partition %d, offset "
            "%lld); a worker does it when it takes the partition",
            item->command_id, (int)p, (long long)outcome.offset);
    else
        bf_verify_found(verify, BF_FINDING_EVENT_MISSING, details->now->id, item->seq,
                        "the row has no event (command %s)",
                        item->command_id ? item->command_id : "unknown");
    return BF_OK;
}

static void check_without_row(details_t *details)
{
    const detail_t *detail = details->now;
    for (size_t i = 0; i < detail->count; i++) {
        const event_t *event = &detail->events[i];
        if (!event->has_row && !earlier(detail, i, event->seq))
            bf_verify_found(details->verify, BF_FINDING_EVENT_WITHOUT_ROW, detail->id,
                            event->seq,
                            "the event (partition %d, offset %lld) has no row in the "
                            "history",
                            (int)event->partition, (long long)event->offset);
    }
}

static bf_status_t check_instance(details_t *details, bf_err_t *err)
{
    bf_verify_t *verify = details->verify;
    detail_t *detail = details->now;
    check_order(details, detail);
    bf_status_t rc =
        bf_store_scan_history(verify->store, detail->id, compare_row, details, err);
    if (rc != BF_OK)
        return rc;
    check_without_row(details);
    missing_list_t missing = {.details = details};
    rc = bf_store_scan_history(verify->store, detail->id, note_missing, &missing, err);
    for (size_t i = 0; rc == BF_OK && i < missing.count; i++)
        rc = report_missing(details, &missing.items[i], err);
    return rc;
}

bf_status_t bf_verify_details(bf_verify_t *verify, bf_err_t *err)
{
    details_t details = {.verify = verify, .odd = bf_map_new()};
    bf_arena_init(&details.arena, 0);
    bf_status_t rc =
        details.odd ? select_odd(&details, err) : bf_err_nomem(err, "details");
    if (rc == BF_OK && bf_map_count(details.odd) > 0)
        rc = collect_events(&details, err);
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    while (rc == BF_OK && bf_map_next(details.odd, &cursor, &id, &len, &value)) {
        details.now = value;
        rc = check_instance(&details, err);
        bf_cli_progress("details: %zu of %zu instances", cursor,
                        bf_map_count(details.odd));
        if (rc == BF_OK && bf_cli_stopped())
            rc = bf_err_set(err, BF_E_CANCELLED, "interrupted");
    }
    bf_map_free(details.odd);
    bf_arena_fini(&details.arena);
    return rc;
}
