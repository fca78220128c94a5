/*
 * test_store_read.c - loading instances, and reading back what was applied
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/store_rows.h"

Test(store_read, load_instances__finds_each_and_says_which_are_missing)
{
    enum { STORED = 250, ASKED = 333 };
    rows_t rows;
    bf_instance_t *stored[STORED];
    char names[ASKED][16];
    const char *ids[ASKED];
    bf_instance_t *found[ASKED];
    rows_begin(&rows);
    for (int i = 0; i < ASKED; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "i-%d", (i * 101) % ASKED);
        ids[i] = names[i];
    }
    for (int i = 0; i < STORED; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        stored[i] = rows_instance(id);
    }
    cr_assert_eq(rows_commit(&rows, stored, STORED), BF_OK, "%s", rows.err.text);
    static const size_t counts[] = {1, 2, 10, 11, 100, 101, ASKED};
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        bf_status_t status =
            bf_store_load_instances(rows.store, ids, counts[k], found, &rows.err);
        cr_assert_eq(status, BF_OK, "%s", rows.err.text);
        for (size_t i = 0; i < counts[k]; i++) {
            bool exists = (i * 101) % ASKED < STORED;
            cr_assert_eq(found[i] != NULL, exists, "%s", ids[i]);
            if (exists) {
                cr_assert_str_eq(bf_instance_id(found[i]), ids[i]);
                cr_assert_eq(rows_n(found[i]), 1);
                cr_assert_not(bf_instance_is_dirty(found[i]));
                cr_assert_neq(bf_instance_store_key(found[i]), 0);
            }
            bf_instance_free(found[i]);
        }
    }
    cr_assert_eq(bf_store_load_instances(rows.store, NULL, 0, NULL, NULL), BF_OK);
    for (int i = 0; i < STORED; i++) {
        bf_instance_free(stored[i]);
    }
    rows_end(&rows);
}

Test(store_read, load_instances__names_a_row_that_cannot_be_read)
{
    rows_t rows;
    bf_instance_t *found[2];
    static const char *const ids[2] = {"good", "bad"};
    rows_begin(&rows);
    bf_instance_t *list[2] = {rows_instance("good"), rows_instance("bad")};
    cr_assert_eq(rows_commit(&rows, list, 2), BF_OK, "%s", rows.err.text);
    test_db_sql(&rows.db, "UPDATE bpm_flow_repository SET states = '{\"a\":' WHERE "
                          "instant_id = 'bad'");
    cr_assert_eq(bf_store_load_instances(rows.store, ids, 2, found, &rows.err),
                 BF_E_STORE_DATA);
    cr_assert(strstr(rows.err.text, "bad"), "%s", rows.err.text);
    cr_assert(strstr(rows.err.text, "states"), "%s", rows.err.text);
    cr_assert_null(found[0]);
    cr_assert_eq(bf_store_load_instances(rows.store, ids, 1, found, NULL), BF_OK);
    bf_instance_free(found[0]);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

/* --- what was applied --- */

/* 1,300 commands over three pages: submits with 0 to 3 history rows, a dead letter and a
 * repeated command among them. */
typedef struct applied {
    rows_t rows;
    bf_command_row_t *commands;
    bf_history_t *history;
    size_t *first; /* of each command, in history */
    size_t count;
    size_t history_count;
    int64_t seen; /* commands handed out, from the lowest on */
    int64_t from;
    int64_t stop_after;
} applied_t;

enum { APPLIED = 1300 };

static void apply_one(applied_t *a, size_t i, bf_instance_t *inst)
{
    int64_t offset = 100 + (int64_t)i * 2; /* offsets have gaps, as Kafka's have */
    char *id = bf_arena_printf(&a->rows.arena, "c-%zu", i);
    bf_command_row_t *command = &a->commands[i];
    *command = rows_command(&a->rows, offset, inst, id);
    command->instance_id = bf_arena_strdup(&a->rows.arena, bf_instance_id(inst));
    command->first_seq = 0;
    command->last_seq = 0;
    a->first[i] = a->history_count;
    if (i == 700) {
        command->instance_id = NULL;
        command->command_id = NULL;
        command->command = "dead_letter";
        command->code = "malformed";
        command->reply_topic = NULL;
        command->traceparent = NULL;
        command->tracestate = NULL;
        return;
    }
    if (i == 800) {
        command->command_id = NULL;
        command->reply = (bf_text_t){NULL, 0};
        return;
    }
    for (size_t k = 0; k < i % 4; k++) {
        rows_change(inst);
        bf_history_t *row = &a->history[a->history_count++];
        *row = rows_history(&a->rows, inst);
        if (i % 3 == 0) {
            row->message = NULL;
            row->assignee = NULL;
            row->has_form_id = false;
            row->form_id = 0;
            row->command_id = id;
            row->variables = (bf_text_t){NULL, 0};
        }
        command->first_seq = k == 0 ? row->seq : command->first_seq;
        command->last_seq = row->seq;
    }
}

static void apply_all(applied_t *a)
{
    enum { INSTANCES = 37 };
    bf_instance_t *list[INSTANCES];
    bf_commit_report_t report;
    memset(a, 0, sizeof(*a));
    rows_begin(&a->rows);
    a->count = APPLIED;
    a->commands = calloc(APPLIED, sizeof(*a->commands));
    a->history = calloc((size_t)APPLIED * 3, sizeof(*a->history));
    a->first = calloc(APPLIED + 1, sizeof(*a->first));
    cr_assert(a->commands && a->history && a->first);
    for (size_t i = 0; i < INSTANCES; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%zu", i);
        list[i] = rows_instance(id);
    }
    for (size_t i = 0; i < APPLIED; i++) {
        apply_one(a, i, list[(i * 5) % INSTANCES]);
    }
    a->first[APPLIED] = a->history_count;
    const bf_batch_write_t batch = {.instances = list,
                                    .instance_count = INSTANCES,
                                    .history = a->history,
                                    .history_count = a->history_count,
                                    .commands = a->commands,
                                    .command_count = APPLIED};
    cr_assert_eq(rows_commit_batch(&a->rows, batch, &report), BF_OK, "%s",
                 a->rows.err.text);
    for (size_t i = 0; i < INSTANCES; i++) {
        bf_instance_free(list[i]);
    }
}

static void applied_end(applied_t *a)
{
    rows_end(&a->rows);
    free(a->commands);
    free(a->history);
    free(a->first);
}

static bf_status_t expect_applied(void *arg, const bf_command_row_t *command,
                                  const bf_history_t *history, size_t history_count,
                                  bf_err_t *err)
{
    applied_t *a = arg;
    size_t i = (size_t)((a->from - 100 + 1) / 2 + a->seen);
    cr_assert_lt(i, a->count);
    rows_expect_command(command, &a->commands[i]);
    cr_assert_eq(history_count, a->first[i + 1] - a->first[i], "command %zu", i);
    for (size_t k = 0; k < history_count; k++) {
        rows_expect_history(&history[k], &a->history[a->first[i] + k]);
    }
    if (++a->seen == a->stop_after) {
        return bf_err_set(err, BF_E_CANCELLED, "enough");
    }
    return BF_OK;
}

static bf_status_t scan(applied_t *a, int64_t from, int64_t to)
{
    a->from = from;
    a->seen = 0;
    bf_err_clear(&a->rows.err);
    const bf_offset_range_t range = {ROWS_TOPIC, 0, from, to};
    return bf_store_scan_applied(a->rows.store, &range, expect_applied, a, &a->rows.err);
}

Test(store_read, scan_applied__hands_out_the_same_content_in_order)
{
    applied_t a;
    apply_all(&a);
    cr_assert_eq(scan(&a, 100, 100 + APPLIED * 2), BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(a.seen, APPLIED);
    cr_assert_eq(scan(&a, 100, INT64_MAX), BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(a.seen, APPLIED);
    /* the bounds: from is in, to is not */
    cr_assert_eq(scan(&a, 110, 130), BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(a.seen, 10);
    cr_assert_eq(scan(&a, 111, 131), BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(a.seen, 10);
    cr_assert_eq(scan(&a, 130, 130), BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(a.seen, 0);
    applied_end(&a);
}

Test(store_read, scan_applied__ends_where_the_caller_wants)
{
    applied_t a;
    apply_all(&a);
    a.stop_after = 600;
    cr_assert_eq(scan(&a, 100, INT64_MAX), BF_E_CANCELLED);
    cr_assert_eq(a.seen, 600);
    cr_assert_str_eq(a.rows.err.text, "enough");
    /* the connection is still in step */
    cr_assert_eq(rows_commit(&a.rows, NULL, 0), BF_OK, "%s", a.rows.err.text);
    applied_end(&a);
}

Test(store_read, scan_applied__finds_missing_history)
{
    applied_t a;
    apply_all(&a);
    test_db_sql(&a.rows.db, "DELETE FROM bpm_flow_task ORDER BY id DESC LIMIT 1");
    cr_assert_eq(scan(&a, 100, INT64_MAX), BF_E_STORE_DATA);
    cr_assert(strstr(a.rows.err.text, "rows are there"), "%s", a.rows.err.text);
    applied_end(&a);
}

Test(store_read, scan_applied__of_a_partition_nobody_claimed_is_not_found)
{
    rows_t rows;
    rows_begin(&rows);
    const bf_offset_range_t range = {ROWS_TOPIC, 77, 0, 9};
    cr_assert_eq(
        bf_store_scan_applied(rows.store, &range, expect_applied, NULL, &rows.err),
        BF_E_NOT_FOUND);
    rows_end(&rows);
}

/* --- history --- */

typedef struct seen {
    const bf_history_t *rows;
    size_t count;
    size_t at;
    size_t stop_after;
} seen_t;

static int compare_history(const void *a, const void *b)
{
    const bf_history_t *x = a;
    const bf_history_t *y = b;
    int order = strcmp(x->instance_id, y->instance_id);
    return order != 0 ? order : x->seq - y->seq;
}

static bf_status_t expect_history(void *arg, const bf_history_t *row, bf_err_t *err)
{
    seen_t *seen = arg;
    (void)err;
    cr_assert_lt(seen->at, seen->count);
    rows_expect_history(row, &seen->rows[seen->at++]);
    return seen->at == seen->stop_after ? BF_E_CANCELLED : BF_OK;
}

Test(store_read, scan_history__hands_out_all_rows_by_instance_and_number)
{
    applied_t a;
    apply_all(&a);
    qsort(a.history, a.history_count, sizeof(*a.history), compare_history);
    seen_t seen = {a.history, a.history_count, 0, 0};
    bf_status_t status =
        bf_store_scan_history(a.rows.store, NULL, expect_history, &seen, &a.rows.err);
    cr_assert_eq(status, BF_OK, "%s", a.rows.err.text);
    cr_assert_eq(seen.at, a.history_count);
    cr_assert_gt(a.history_count, 1000, "several pages");
    seen = (seen_t){a.history, a.history_count, 0, 500};
    cr_assert_eq(bf_store_scan_history(a.rows.store, NULL, expect_history, &seen, NULL),
                 BF_E_CANCELLED);
    applied_end(&a);
}

Test(store_read, scan_history__of_one_instance)
{
    applied_t a;
    apply_all(&a);
    qsort(a.history, a.history_count, sizeof(*a.history), compare_history);
    size_t begin = 0;
    while (strcmp(a.history[begin].instance_id, "i-7") != 0) {
        begin++;
    }
    size_t end = begin;
    while (end < a.history_count && strcmp(a.history[end].instance_id, "i-7") == 0) {
        end++;
    }
    seen_t seen = {a.history + begin, end - begin, 0, 0};
    cr_assert_eq(bf_store_scan_history(a.rows.store, "i-7", expect_history, &seen, NULL),
                 BF_OK);
    cr_assert_eq(seen.at, end - begin);
    cr_assert_gt(seen.at, 10);
    cr_assert_eq(
        bf_store_scan_history(a.rows.store, "nobody", expect_history, &seen, NULL),
        BF_OK);
    applied_end(&a);
}

Test(store_read, scan_history__of_one_instance_with_many_rows)
{
    enum { ROWS = 1234 };
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_history_t *history = calloc(ROWS, sizeof(*history));
    cr_assert_not_null(history);
    bf_instance_t *inst = rows_instance("long");
    for (size_t i = 0; i < ROWS; i++) {
        history[i] = rows_history(&rows, inst);
        rows_change(inst);
    }
    const bf_batch_write_t batch = {.history = history, .history_count = ROWS};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    seen_t seen = {history, ROWS, 0, 0};
    cr_assert_eq(bf_store_scan_history(rows.store, "long", expect_history, &seen, NULL),
                 BF_OK);
    cr_assert_eq(seen.at, ROWS);
    seen.at = 0;
    cr_assert_eq(bf_store_scan_history(rows.store, NULL, expect_history, &seen, NULL),
                 BF_OK);
    cr_assert_eq(seen.at, ROWS);
    free(history);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* --- outcomes --- */

Test(store_read, find_outcomes__of_many_keys_at_once)
{
    enum { KEYS = 250 };
    applied_t a;
    bf_command_key_t keys[KEYS];
    bf_command_row_t found[KEYS];
    apply_all(&a);
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (bf_command_key_t){"no", "no"};
        if (i % 2 == 0) {
            keys[i] =
                (bf_command_key_t){a.commands[i].instance_id, a.commands[i].command_id};
        }
    }
    bf_status_t status = bf_store_find_outcomes(a.rows.store, keys, KEYS, &a.rows.arena,
                                                found, &a.rows.err);
    cr_assert_eq(status, BF_OK, "%s", a.rows.err.text);
    for (size_t i = 0; i < KEYS; i++) {
        if (i % 2 == 0) {
            rows_expect_command(&found[i], &a.commands[i]);
        } else {
            cr_assert_null(found[i].command);
        }
    }
    applied_end(&a);
}
