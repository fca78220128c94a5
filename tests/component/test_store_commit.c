/*
 * test_store_commit.c - the transaction of a batch on a real server
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/store_rows.h"

static bf_instance_t *load_one(rows_t *rows, const char *id)
{
    bf_instance_t *inst = NULL;
    bf_status_t status = bf_store_load_instances(rows->store, &id, 1, &inst, &rows->err);
    cr_assert_eq(status, BF_OK, "%s", rows->err.text);
    return inst;
}

Test(store_commit, commit__writes_every_column_of_an_instance)
{
    rows_t rows;
    rows_begin(&rows);
    /* four-byte letters, and a name that differs only by case */
    static const char id[] = "\xF0\x9F\x8C\xB2-leave";
    bf_instance_t *inst = bf_instance_new(id);
    bf_value_t text = bf_value_cstr("tree \xF0\x9F\x8C\xB2");
    static const char *const next[] = {"hr", "boss"};
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_state_put(inst, "leave:a", BF_TASK_COMPLETED), BF_OK);
    cr_assert_eq(bf_instance_route_put(inst, "leave:gate", next, 2), BF_OK);
    cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), "t", &text), BF_OK);
    cr_assert_eq(bf_instance_set_tasks(inst, "{\"open\":[1,2]}"), BF_OK);
    cr_assert_eq(bf_instance_touch(inst, "li.wei", ROWS_TIME), BF_OK);
    bf_instance_set_status(inst, BF_INSTANCE_SUSPENDED);
    (void)bf_instance_next_seq(inst);
    bf_instance_commit(inst);
    bf_instance_set_partition(inst, 11);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    cr_assert_not(bf_instance_is_dirty(inst));
    cr_assert_eq(bf_instance_stored_revision(inst), 1);
    bf_instance_t *read = load_one(&rows, id);
    cr_assert_not_null(read);
    cr_assert_str_eq(bf_instance_id(read), id);
    cr_assert_eq(bf_instance_revision(read), 1);
    cr_assert_eq(bf_instance_status(read), BF_INSTANCE_SUSPENDED);
    cr_assert_eq(bf_instance_seq(read), 1);
    cr_assert_eq(bf_instance_partition(read), 11);
    cr_assert_str_eq(bf_instance_creator(read), "li.wei");
    cr_assert_str_eq(bf_instance_tasks(read), "{\"open\":[1,2]}");
    cr_assert_eq(bf_instance_state(read, "leave:a"), BF_TASK_COMPLETED);
    const char *const *route = NULL;
    size_t route_count = 0;
    cr_assert(bf_instance_route(read, "leave:gate", &route, &route_count));
    cr_assert_eq(route_count, 2);
    cr_assert(bf_value_equal(bf_vars_get_str(bf_instance_vars(read), "t"), &text));
    cr_assert_str_eq(
        test_db_text(&rows.db, "SELECT create_time FROM bpm_flow_repository"),
        "2023-11-14 22:13:20.123");
    bf_instance_free(inst);
    bf_instance_free(read);
    rows_end(&rows);
}

/* Every count below and above the sizes of the statements. */
Test(store_commit, commit__of_any_count_writes_all_rows)
{
    static const size_t counts[] = {1, 2, 3, 9, 127, 255, 256, 257, 300, 513};
    rows_t rows;
    int64_t sum = 0;
    rows_begin(&rows);
    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        size_t count = counts[k];
        bf_instance_t **list = calloc(count, sizeof(*list));
        bf_history_t *history = calloc(count, sizeof(*history));
        bf_command_row_t *commands = calloc(count, sizeof(*commands));
        cr_assert(list && history && commands);
        for (size_t i = 0; i < count; i++) {
            char id[64];
            (void)snprintf(id, sizeof(id), "%zu-of-%zu", (i * 7919) % count, count);
            list[i] = rows_instance(id);
        }
        for (int round = 0; round < 3; round++) {
            bf_commit_report_t report;
            for (size_t i = 0; i < count; i++) {
                if (round > 0) {
                    rows_change(list[i]);
                }
                history[i] = rows_history(&rows, list[i]);
                commands[i] =
                    rows_command(&rows, rows.offset * 1000 + (int64_t)i, list[i],
                                 bf_arena_printf(&rows.arena, "c-%d-%zu", round, i));
            }
            const bf_batch_write_t batch = {.instances = list,
                                            .instance_count = count,
                                            .history = history,
                                            .history_count = count,
                                            .commands = commands,
                                            .command_count = count};
            cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%zu: %s",
                         count, rows.err.text);
        }
        sum += (int64_t)count;
        for (size_t i = 0; i < count; i++) {
            bf_instance_free(list[i]);
        }
        free(list);
        free(history);
        free(commands);
    }
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "rev = 3 AND prev_rev = 2 AND seq = 3"),
                 sum);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_task"), 3 * sum);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_command"), 3 * sum);
    rows_end(&rows);
}

/* More bytes than one statement may have. */
Test(store_commit, commit__splits_what_is_too_large_for_one_statement)
{
    enum { COUNT = 12, BYTES = 900000 };
    rows_t rows;
    bf_instance_t *list[COUNT];
    rows_begin(&rows);
    char *text = calloc(BYTES + 1, 1);
    cr_assert_not_null(text);
    memset(text, 'x', BYTES);
    bf_value_t value = bf_value_string(text, BYTES);
    for (int i = 0; i < COUNT; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "big-%d", i);
        list[i] = rows_instance(id);
        bf_instance_begin(list[i]);
        cr_assert_eq(bf_vars_set_str(bf_instance_vars(list[i]), "text", &value), BF_OK);
        bf_instance_commit(list[i]);
    }
    cr_assert_eq(rows_commit(&rows, list, COUNT), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "LENGTH(vars) > 900000"),
                 COUNT);
    bf_instance_t *read = load_one(&rows, "big-7");
    cr_assert(bf_value_equal(bf_vars_get_str(bf_instance_vars(read), "text"), &value));
    bf_instance_free(read);
    for (int i = 0; i < COUNT; i++) {
        bf_instance_free(list[i]);
    }
    free(text);
    rows_end(&rows);
}

Test(store_commit, commit__names_the_instances_that_somebody_else_changed)
{
    enum { COUNT = 40 };
    rows_t rows;
    bf_instance_t *list[COUNT];
    bf_commit_report_t report;
    rows_begin(&rows);
    for (int i = 0; i < COUNT; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%02d", i);
        list[i] = rows_instance(id);
    }
    cr_assert_eq(rows_commit(&rows, list, COUNT), BF_OK, "%s", rows.err.text);
    test_db_sql(&rows.db, "UPDATE bpm_flow_repository SET rev = 2 WHERE instant_id IN "
                          "('i-03', 'i-30')");
    test_db_sql(&rows.db, "DELETE FROM bpm_flow_repository WHERE instant_id = 'i-17'");
    for (int i = 0; i < COUNT; i++) {
        rows_change(list[i]);
        bf_instance_begin(list[i]); /* two commands of one batch: two revisions */
        bf_instance_set_status(list[i], BF_INSTANCE_COMPLETED);
        bf_instance_commit(list[i]);
    }
    const bf_batch_write_t batch = {.instances = list, .instance_count = COUNT};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_CONFLICT);
    cr_assert_eq(report.conflict_count, 3);
    cr_assert(strstr(rows.err.text, "i-03"), "%s", rows.err.text);
    for (size_t i = 0; i < 3; i++) {
        static const char *const expected[] = {"i-03", "i-17", "i-30"};
        cr_assert_str_eq(bf_instance_id(report.conflicts[i]), expected[i]);
    }
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "status <> 0"),
                 0, "nothing of the batch is written");
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"),
                 COUNT - 1, "also not the one that had gone");
    cr_assert_eq(test_db_int(&rows.db, "SELECT next_offset FROM bpm_flow_offset"),
                 rows.offset);
    /* without those three it goes through */
    bf_instance_t *rest[COUNT];
    size_t count = 0;
    for (int i = 0; i < COUNT; i++) {
        if (i != 3 && i != 17 && i != 30) {
            cr_assert(bf_instance_is_dirty(list[i]));
            rest[count++] = list[i];
        }
    }
    cr_assert_eq(rows_commit(&rows, rest, count), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "status = 1 AND rev = 3 AND prev_rev = 1"),
                 COUNT - 3);
    for (int i = 0; i < COUNT; i++) {
        bf_instance_free(list[i]);
    }
    rows_end(&rows);
}

Test(store_commit, commit__of_a_new_instance_that_exists_by_now_is_a_conflict)
{
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_instance_t *list[2] = {rows_instance("mine"), rows_instance("both")};
    test_db_sql(&rows.db, "INSERT INTO bpm_flow_repository (instant_id, rev) VALUES "
                          "('both', 1)");
    const bf_batch_write_t batch = {.instances = list, .instance_count = 2};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_CONFLICT);
    cr_assert_eq(report.conflict_count, 1);
    cr_assert_eq(report.conflicts[0], list[1]);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 1);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

/* The number by which a row is found may be wrong; that must never write another row. */
Test(store_commit, commit__by_the_number_of_another_row_is_a_conflict)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *list[2] = {rows_instance("a"), rows_instance("b")};
    cr_assert_eq(rows_commit(&rows, list, 2), BF_OK, "%s", rows.err.text);
    int64_t key = bf_instance_store_key(list[1]);
    cr_assert_neq(key, 0, "numbers are known after an insert");
    cr_assert_eq(key, test_db_int(&rows.db, "SELECT id FROM bpm_flow_repository WHERE "
                                            "instant_id = 'b'"));
    rows_change(list[0]);
    bf_instance_set_store_key(list[0], key);
    bf_status_t status = rows_commit(&rows, list, 1);
    cr_assert(status == BF_E_CONFLICT || status == BF_E_STORE_RETRY, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "rev = 1 AND JSON_EXTRACT(vars, '$.n') = 1"),
                 2);
    /* it is not used again */
    cr_assert_eq(rows_commit(&rows, list, 1), BF_OK, "%s", rows.err.text);
    /* a number that no row has: the row is found by its ID */
    rows_change(list[0]);
    bf_instance_set_store_key(list[0], 999999);
    cr_assert_eq(rows_commit(&rows, list, 1), BF_OK, "%s", rows.err.text);
    /* no number at all */
    rows_change(list[1]);
    bf_instance_set_store_key(list[1], 0);
    cr_assert_eq(rows_commit(&rows, &list[1], 1), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE "
                                       "(rev = 2 OR instant_id = 'a') AND rev = "
                                       "JSON_EXTRACT(vars, '$.n')"),
                 2);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

/* --- rows that are larger than a packet --- */

/* An outcome of so many bytes at the next offset. */
static bf_status_t commit_large(rows_t *rows, bf_instance_t *inst, size_t bytes)
{
    bf_commit_report_t report;
    char *reply = bf_arena_alloc(&rows->arena, bytes);
    cr_assert_not_null(reply);
    memset(reply, 'r', bytes);
    bf_command_row_t command = rows_command(rows, rows->offset, inst, "c-large");
    command.reply = (bf_text_t){reply, bytes};
    const bf_batch_write_t batch = {.instances = &inst,
                                    .instance_count = 1,
                                    .commands = &command,
                                    .command_count = 1};
    bf_status_t status = rows_commit_batch(rows, batch, &report);
    return status;
}

Test(store_commit, commit__of_more_than_a_packet_refuses_the_data)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    int64_t max = test_db_int(&rows.db, "SELECT @@max_allowed_packet");
    for (size_t i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? (size_t)max + 1000 : (size_t)max * 4;
        cr_assert_eq(commit_large(&rows, inst, bytes), BF_E_STORE_DATA, "%s",
                     rows.err.text);
    }
    cr_assert_eq(test_db_int(&rows.db, "SELECT next_offset FROM bpm_flow_offset"),
                 rows.offset);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "the connection is a good one: %s",
                 rows.err.text);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* The protocol cuts what has 16 MiB and more. */
Test(store_commit, commit__of_a_row_of_several_packets)
{
    rows_t rows;
    rows_begin(&rows);
    int64_t max = test_db_int(&rows.db, "SELECT @@GLOBAL.max_allowed_packet");
    if (bf_db_execute(rows.db.admin, "SET GLOBAL max_allowed_packet = 67108864", NULL) !=
        BF_OK) {
        rows_end(&rows);
        cr_skip_test("SKIPPED: the user may not set max_allowed_packet");
    }
    bf_instance_t *inst = rows_instance("i-1");
    cr_assert_eq(bf_store_reconnect(rows.store, NULL), BF_OK);
    bf_status_t status = commit_large(&rows, inst, (size_t)40 << 20);
    bf_str_t sql;
    bf_str_init(&sql, 0);
    bf_str_printf(&sql, "SET GLOBAL max_allowed_packet = %lld", (long long)max);
    test_db_sql(&rows.db, bf_str_peek(&sql));
    bf_str_fini(&sql);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT LENGTH(reply) FROM bpm_flow_command"),
                 40 << 20);
    rows_change(inst);
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_OK, "%s", rows.err.text);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* --- two writers of the same instances --- */

typedef struct writer {
    const test_db_t *db;
    int rounds;
    int conflicts;
    bool failed;
    char text[BF_ERR_TEXT_MAX];
} writer_t;

enum { SHARED = 20 };

/* One change of all shared instances, loaded anew after a conflict; false: failed. */
static bool change_all(bf_store_t *store, const char *const *ids, writer_t *writer)
{
    for (int tries = 0; tries < 1000; tries++) {
        bf_instance_t *list[SHARED];
        bf_commit_report_t report;
        bf_err_t err = BF_ERR_INIT;
        bf_status_t status = bf_store_load_instances(store, ids, SHARED, list, &err);
        for (int i = 0; status == BF_OK && i < SHARED; i++) {
            rows_change(list[i]);
        }
        if (status == BF_OK) {
            const bf_batch_write_t batch = {.instances = list, .instance_count = SHARED};
            status = bf_store_commit(store, &batch, &report, &err);
        }
        for (int i = 0; i < SHARED; i++) {
            bf_instance_free(list[i]);
        }
        if (status == BF_OK) {
            return true;
        }
        if (status != BF_E_CONFLICT && status != BF_E_STORE_RETRY) {
            (void)snprintf(writer->text, sizeof(writer->text), "%s", err.text);
            return false;
        }
        writer->conflicts++;
    }
    return false;
}

static void *write_shared(void *arg)
{
    writer_t *writer = arg;
    bf_store_t *store = NULL;
    char names[SHARED][24];
    const char *ids[SHARED];
    const bf_store_options_t options = {.db = writer->db->options};
    for (int i = 0; i < SHARED; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "shared-%d", i);
        ids[i] = names[i];
    }
    writer->failed = bf_store_open(&options, &store, NULL) != BF_OK;
    for (int i = 0; i < writer->rounds && !writer->failed; i++) {
        writer->failed = !change_all(store, ids, writer);
    }
    bf_store_close(store);
    return NULL;
}

/* Revision, counter and history number agree at the end: no change was lost, none was
 * written over another one. */
Test(store_commit, commit__loses_no_change_of_concurrent_writers)
{
    enum { WRITERS = 3, ROUNDS = 40 };
    rows_t rows;
    bf_instance_t *list[SHARED];
    writer_t writers[WRITERS];
    pthread_t threads[WRITERS];
    rows_begin(&rows);
    for (int i = 0; i < SHARED; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "shared-%d", i);
        list[i] = rows_instance(id);
    }
    cr_assert_eq(rows_commit(&rows, list, SHARED), BF_OK, "%s", rows.err.text);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer_t){.db = &rows.db, .rounds = ROUNDS};
        cr_assert_eq(pthread_create(&threads[i], NULL, write_shared, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        cr_assert_not(writers[i].failed, "%s", writers[i].text);
    }
    char sql[200];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT COUNT(*) FROM bpm_flow_repository WHERE rev = %d AND "
                   "prev_rev = rev - 1 AND seq = rev AND JSON_EXTRACT(vars, '$.n') = rev",
                   1 + WRITERS * ROUNDS);
    cr_assert_eq(test_db_int(&rows.db, sql), SHARED);
    for (int i = 0; i < SHARED; i++) {
        bf_instance_free(list[i]);
    }
    rows_end(&rows);
}

/* --- commands --- */

Test(store_commit, commit__of_a_repeated_command_is_a_duplicate)
{
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_command_row_t first = rows_command(&rows, 100, inst, "c-1");
    bf_batch_write_t batch = {
        .instances = &inst, .instance_count = 1, .commands = &first, .command_count = 1};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    rows_change(inst);
    bf_command_row_t again[2] = {rows_command(&rows, 101, inst, "c-2"),
                                 rows_command(&rows, 102, inst, "c-1")};
    batch.commands = again;
    batch.command_count = 2;
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_DUPLICATE);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_command"), 1);
    cr_assert_eq(test_db_int(&rows.db, "SELECT rev FROM bpm_flow_repository"), 1);
    const bf_command_key_t keys[] = {{"i-1", "c-2"}, {"i-1", "c-1"}, {"i-2", "c-1"}};
    bf_command_row_t found[3];
    cr_assert_eq(bf_store_find_outcomes(rows.store, keys, 3, &rows.arena, found, NULL),
                 BF_OK);
    cr_assert_null(found[0].command);
    rows_expect_command(&found[1], &first);
    cr_assert_null(found[2].command);
    /* the repeated one is kept without its ID, as often as it comes */
    again[1].command_id = NULL;
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    again[0].command_id = NULL;
    again[0].offset = 103;
    again[1].offset = 104;
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_command"), 5);
    bf_instance_free(inst);
    rows_end(&rows);
}

Test(store_commit, commit__keeps_the_same_command_id_of_two_instances_apart)
{
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_instance_t *list[2] = {rows_instance("i-1"), rows_instance("I-1")};
    bf_command_row_t commands[2] = {rows_command(&rows, 100, list[0], "c-1"),
                                    rows_command(&rows, 101, list[1], "c-1")};
    const bf_batch_write_t batch = {
        .instances = list, .instance_count = 2, .commands = commands, .command_count = 2};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

Test(store_commit, commit__of_an_offset_that_was_applied_is_fenced)
{
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_command_row_t command = rows_command(&rows, 100, inst, "c-1");
    const bf_batch_write_t batch = {.commands = &command, .command_count = 1};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    command.command_id = "c-2";
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_FENCED);
    bf_instance_free(inst);
    rows_end(&rows);
}

Test(store_commit, commit__of_a_dead_letter_needs_no_instance)
{
    rows_t rows;
    bf_commit_report_t report;
    rows_begin(&rows);
    static const char bytes[] = "\x00\x01\xFFpacked";
    const bf_command_row_t command = {
        .topic = ROWS_TOPIC,
        .offset = 100,
        .command = "dead_letter",
        .code = "malformed",
        .reply = {bytes, sizeof(bytes) - 1},
        .create_time_ms = ROWS_TIME,
    };
    const bf_batch_write_t batch = {.commands = &command, .command_count = 1};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    cr_assert_str_eq(test_db_text(&rows.db, "SELECT HEX(reply) FROM bpm_flow_command"),
                     "0001FF7061636B6564");
    rows_end(&rows);
}

/* --- what the database refuses --- */

static void expect_refused(rows_t *rows, bf_batch_write_t batch, const char *word)
{
    bf_commit_report_t report;
    bf_status_t status = rows_commit_batch(rows, batch, &report);
    cr_assert_eq(status, BF_E_STORE_DATA, "%d: %s", (int)status, rows->err.text);
    cr_assert(strstr(rows->err.text, word), "%s", rows->err.text);
    cr_assert_eq(test_db_int(&rows->db, "SELECT COUNT(*) FROM bpm_flow_repository"), 0);
    cr_assert_eq(test_db_int(&rows->db, "SELECT COUNT(*) FROM bpm_flow_command"), 0);
    cr_assert_eq(test_db_int(&rows->db, "SELECT COUNT(*) FROM bpm_flow_task"), 0);
}

Test(store_commit, commit__of_data_that_does_not_fit_is_refused_as_a_whole)
{
    char long_text[600];
    rows_t rows;
    rows_begin(&rows);
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    bf_instance_t *list[2] = {rows_instance("i-1"), rows_instance("i-2")};
    bf_history_t history[2] = {rows_history(&rows, list[0]),
                               rows_history(&rows, list[1])};
    bf_command_row_t commands[2] = {rows_command(&rows, 100, list[0], "c-1"),
                                    rows_command(&rows, 101, list[1], "c-1")};
    const bf_batch_write_t batch = {.instances = list,
                                    .instance_count = 2,
                                    .history = history,
                                    .history_count = 2,
                                    .commands = commands,
                                    .command_count = 2};
    history[1].assignee = long_text;
    expect_refused(&rows, batch, "assignee"); /* 1406 */
    history[1].assignee = "bad \xC3\x28 bytes";
    expect_refused(&rows, batch, "assignee"); /* 1366 */
    history[1].assignee = "li.wei";
    commands[1].code = long_text;
    expect_refused(&rows, batch, "code");
    commands[1].code = "ok";
    history[1].instance_state = 300;
    expect_refused(&rows, batch, "instance_state"); /* 1264 */
    history[1].instance_state = 0;
    /* and the same batch without the fault goes through on the same connection */
    bf_commit_report_t report;
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    bf_instance_free(list[0]);
    bf_instance_free(list[1]);
    rows_end(&rows);
}

Test(store_commit, commit__of_a_history_number_that_is_taken_is_refused)
{
    rows_t rows;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_history_t history = rows_history(&rows, inst);
    const bf_batch_write_t batch = {
        .instances = &inst, .instance_count = 1, .history = &history, .history_count = 1};
    test_db_sql(&rows.db,
                "INSERT INTO bpm_flow_task (flow_ins_id, seq) VALUES ('i-1', 1)");
    bf_commit_report_t report;
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_E_STORE_DATA);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 0);
    bf_instance_free(inst);
    rows_end(&rows);
}

/* --- renamed tables --- */

Test(store_commit, commit__works_with_renamed_tables)
{
    test_db_t db;
    bf_store_t *store = NULL;
    bf_commit_report_t report;
    bf_err_t err = BF_ERR_INIT;
    test_db_begin_empty(&db);
    const bf_tables_t tables = {.repository = "my_instances", .task = "my$history"};
    cr_assert_eq(bf_migrate_run(db.admin, &tables, NULL, NULL, NULL, &err), BF_OK, "%s",
                 err.text);
    const bf_store_options_t options = {
        .db = db.options, .repository_table = "my_instances", .task_table = "my$history"};
    cr_assert_eq(bf_store_open(&options, &store, &err), BF_OK, "%s", err.text);
    bf_instance_t *inst = rows_instance("i-1");
    const bf_batch_write_t batch = {.instances = &inst, .instance_count = 1};
    cr_assert_eq(bf_store_commit(store, &batch, &report, &err), BF_OK, "%s", err.text);
    rows_change(inst);
    cr_assert_eq(bf_store_commit(store, &batch, &report, &err), BF_OK, "%s", err.text);
    cr_assert_eq(test_db_int(&db, "SELECT rev FROM my_instances"), 2);
    bf_instance_free(inst);
    bf_store_close(store);
    test_db_end(&db);
}
