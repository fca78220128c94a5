/*
 * test_store_purge.c - what a purge takes, what it leaves, and who may stand beside it
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/purge.h"
#include "tests/support/store_rows.h"

/* A day after everything that rows_* writes. */
#define DAY_AFTER (ROWS_TIME + INT64_C(86400000))

typedef struct world {
    rows_t rows;
    int64_t published; /* K of partition 0 */
    size_t asked;
    bf_str_t archive;
    size_t kept; /* bytes of it that are durable */
    bool archive_fails;
    size_t undone;
} world_t;

static bf_status_t on_published(void *arg, const char *topic, int32_t partition_no,
                                int64_t *ret, bf_err_t *err)
{
    world_t *world = arg;
    (void)err;
    cr_assert_str_eq(topic, ROWS_TOPIC);
    cr_assert_eq(partition_no, 0);
    world->asked++;
    *ret = world->published;
    return BF_OK;
}

static bf_status_t on_line(void *arg, const char *json, size_t len, bf_err_t *err)
{
    world_t *world = arg;
    bf_str_append(&world->archive, json, len);
    return bf_str_status(&world->archive, "archive", err);
}

static bf_status_t on_keep(void *arg, bf_err_t *err)
{
    world_t *world = arg;
    if (world->archive_fails) {
        return bf_err_set(err, BF_E_IO, "the disk is full");
    }
    world->kept = world->archive.len;
    return BF_OK;
}

static bf_status_t on_undo(void *arg, bf_err_t *err)
{
    world_t *world = arg;
    (void)err;
    world->undone++;
    return BF_OK;
}

static void world_begin(world_t *world)
{
    memset(world, 0, sizeof(*world));
    rows_begin(&world->rows);
    bf_str_init(&world->archive, 0);
    world->published = INT64_MAX;
}

static void world_end(world_t *world)
{
    bf_str_fini(&world->archive);
    rows_end(&world->rows);
}

/* An instance with `steps` commands and rows; its status afterwards. */
static void add_instance(world_t *world, const char *id, int steps,
                         bf_instance_status_t status)
{
    rows_t *rows = &world->rows;
    bf_instance_t *inst = rows_instance(id);
    for (int step = 1; step <= steps; step++) {
        char command_id[80];
        (void)snprintf(command_id, sizeof(command_id), "%s-c%d", id, step);
        if (step > 1) {
            rows_change(inst);
        }
        bf_instance_begin(inst);
        bf_instance_set_status(inst, step == steps ? status : BF_INSTANCE_RUNNING);
        bf_instance_commit(inst);
        const bf_history_t history = rows_history(rows, inst);
        const bf_command_row_t command =
            rows_command(rows, rows->offset, inst, command_id);
        bf_commit_report_t report;
        const bf_batch_write_t batch = {.instances = &inst,
                                        .instance_count = 1,
                                        .history = &history,
                                        .history_count = 1,
                                        .commands = &command,
                                        .command_count = 1};
        cr_assert_eq(rows_commit_batch(rows, batch, &report), BF_OK, "%s",
                     rows->err.text);
    }
    bf_instance_free(inst);
}

/* An outcome at the next offset: of no instance, or of one that has no row. */
static void add_orphan(world_t *world, const char *instance_id, int64_t time_ms)
{
    rows_t *rows = &world->rows;
    char command_id[32];
    (void)snprintf(command_id, sizeof(command_id), "o-%lld", (long long)rows->offset);
    const bf_command_row_t command = {.topic = ROWS_TOPIC,
                                      .offset = rows->offset,
                                      .instance_id = instance_id,
                                      .command_id = instance_id ? command_id : NULL,
                                      .command = instance_id ? "submit" : "dead_letter",
                                      .code = "unknown_instance",
                                      .create_time_ms = time_ms};
    bf_commit_report_t report;
    const bf_batch_write_t batch = {.commands = &command, .command_count = 1};
    cr_assert_eq(rows_commit_batch(rows, batch, &report), BF_OK, "%s", rows->err.text);
}

static bf_status_t run(world_t *world, bf_purge_options_t options, bf_purge_counts_t *ret,
                       bf_err_t *err)
{
    bf_purge_t *purge = NULL;
    bool more = true;
    options.before_wall_ms =
        options.before_wall_ms != 0 ? options.before_wall_ms : DAY_AFTER;
    options.batch = options.batch != 0 ? options.batch : 100;
    options.published = on_published;
    options.published_arg = world;
    bf_status_t status = bf_purge_open(world->rows.store, &options, &purge, err);
    while (status == BF_OK && more) {
        status = bf_purge_step(purge, &more, err);
    }
    if (purge != NULL) {
        *ret = bf_purge_counts(purge);
    }
    bf_purge_close(purge);
    return status;
}

static bf_purge_counts_t run_ok(world_t *world, bf_purge_options_t options)
{
    bf_purge_counts_t counts = {0};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(run(world, options, &counts, &err), BF_OK, "%s", err.text);
    return counts;
}

static const bf_purge_options_t defaults = {0};

static void expect_rows(world_t *world, int64_t instances, int64_t history,
                        int64_t commands)
{
    test_db_t *db = &world->rows.db;
    cr_assert_eq(test_db_int(db, "SELECT COUNT(*) FROM bpm_flow_repository"), instances);
    cr_assert_eq(test_db_int(db, "SELECT COUNT(*) FROM bpm_flow_task"), history);
    cr_assert_eq(test_db_int(db, "SELECT COUNT(*) FROM bpm_flow_command"), commands);
}

Test(store_purge, step__takes_finished_instances_as_a_whole)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 3, BF_INSTANCE_COMPLETED);
    add_instance(&world, "running", 2, BF_INSTANCE_RUNNING);
    add_instance(&world, "stopped", 1, BF_INSTANCE_TERMINATED);
    add_instance(&world, "suspended", 2, BF_INSTANCE_SUSPENDED);
    add_instance(&world, "withdrawn", 1, BF_INSTANCE_WITHDRAWN);
    bf_purge_counts_t counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 3);
    cr_assert_eq(counts.history, 5);
    cr_assert_eq(counts.commands, 5);
    cr_assert_eq(counts.orphans, 0);
    cr_assert_eq(counts.seen, counts.total);
    expect_rows(&world, 2, 4, 4);
    cr_assert_str_eq(test_db_text(&world.rows.db,
                                  "SELECT GROUP_CONCAT(instant_id ORDER BY instant_id) "
                                  "FROM bpm_flow_repository"),
                     "running,suspended");
    bf_purge_log_t log;
    cr_assert_eq(bf_store_read_purge_log(world.rows.store, &log, NULL), BF_OK);
    cr_assert_eq(log.runs, 1);
    cr_assert_eq(log.before_wall_ms, DAY_AFTER);
    cr_assert_leq(llabs((long long)(bf_clock_wall_ms() - log.last_wall_ms)), 600000);
    cr_assert_str_eq(test_db_text(&world.rows.db,
                                  "SELECT CONCAT_WS('/', instances, history_rows, "
                                  "commands) FROM bpm_flow_purge"),
                     "3/5/5");
    counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances + counts.commands, 0);
    cr_assert_eq(test_db_int(&world.rows.db, "SELECT COUNT(*) FROM bpm_flow_purge"), 1,
                 "a run that finds nothing leaves no trace");
    world_end(&world);
}

Test(store_purge, step__leaves_what_is_too_new)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 2, BF_INSTANCE_COMPLETED);
    add_orphan(&world, NULL, ROWS_TIME);
    add_orphan(&world, "never", ROWS_TIME);
    bf_purge_options_t options = {.before_wall_ms = ROWS_TIME};
    bf_purge_counts_t counts = run_ok(&world, options);
    cr_assert_eq(counts.instances + counts.commands, 0);
    expect_rows(&world, 1, 2, 4);
    options.before_wall_ms = ROWS_TIME + 1;
    counts = run_ok(&world, options);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(counts.commands, 4);
    cr_assert_eq(counts.orphans, 2);
    expect_rows(&world, 0, 0, 0);
    world_end(&world);
}

Test(store_purge, step__leaves_what_is_not_published)
{
    world_t world;
    world_begin(&world); /* the first offset is 100 */
    add_instance(&world, "a", 2, BF_INSTANCE_COMPLETED);
    add_orphan(&world, NULL, ROWS_TIME);
    add_instance(&world, "b", 2, BF_INSTANCE_COMPLETED);
    add_orphan(&world, "never", ROWS_TIME);
    world.published = -1; /* not known */
    bf_purge_counts_t counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances + counts.commands, 0);
    cr_assert_eq(counts.unpublished, 2);
    world.published = 101;
    counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances + counts.commands, 0, "the second of a is not");
    world.published = 104; /* all of a, the dead letter, one of two of b */
    counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(counts.commands, 3);
    cr_assert_eq(counts.orphans, 1);
    cr_assert_eq(counts.unpublished, 1);
    expect_rows(&world, 1, 2, 3);
    /* Kafka is ahead of a database that was restored: what counts is what is applied. */
    test_db_sql(&world.rows.db, "UPDATE bpm_flow_offset SET next_offset = 104");
    world.published = 1000;
    counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 0);
    cr_assert_gt(world.asked, 0);
    world_end(&world);
}

Test(store_purge, step__takes_outcomes_of_a_topic_that_was_made_anew)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 2, BF_INSTANCE_COMPLETED);
    add_orphan(&world, NULL, ROWS_TIME);
    test_db_sql(&world.rows.db, "UPDATE bpm_flow_offset SET topic_no = topic_no + 1");
    world.published = -1; /* of the topic that is there now */
    bf_purge_counts_t counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(counts.orphans, 1);
    expect_rows(&world, 0, 0, 0);
    world_end(&world);
}

Test(store_purge, step__works_in_bounded_batches)
{
    enum { INSTANCES = 257, ORPHANS = 230 };
    world_t world;
    world_begin(&world);
    for (int i = 0; i < INSTANCES; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        add_instance(&world, id, 1, BF_INSTANCE_COMPLETED);
    }
    for (int i = 0; i < ORPHANS; i++) {
        add_orphan(&world, i % 2 ? "never" : NULL, ROWS_TIME);
    }
    bf_purge_t *purge = NULL;
    bf_err_t err = BF_ERR_INIT;
    const bf_purge_options_t options = {.before_wall_ms = DAY_AFTER,
                                        .batch = 110,
                                        .published = on_published,
                                        .published_arg = &world};
    cr_assert_eq(bf_purge_open(world.rows.store, &options, &purge, &err), BF_OK, "%s",
                 err.text);
    bool more = true;
    bf_purge_counts_t before = {0};
    while (more) {
        cr_assert_eq(bf_purge_step(purge, &more, &err), BF_OK, "%s", err.text);
        bf_purge_counts_t now = bf_purge_counts(purge);
        cr_assert_leq(now.instances - before.instances, 110);
        cr_assert_leq(now.commands - before.commands, 110);
        cr_assert_eq(
            test_db_int(&world.rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"),
            INSTANCES - now.instances, "each batch is committed");
        before = now;
    }
    bf_purge_close(purge);
    cr_assert_eq(before.instances, INSTANCES);
    cr_assert_eq(before.orphans, ORPHANS);
    expect_rows(&world, 0, 0, 0);
    cr_assert_eq(test_db_int(&world.rows.db, "SELECT commands FROM bpm_flow_purge"),
                 INSTANCES + ORPHANS);
    world_end(&world);
}

Test(store_purge, step__ends_a_batch_early_where_histories_are_long)
{
    world_t world;
    world_begin(&world);
    for (int i = 0; i < 3; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "long-%d", i);
        add_instance(&world, id, 45, BF_INSTANCE_COMPLETED);
    }
    bf_purge_t *purge = NULL;
    const bf_purge_options_t options = {.before_wall_ms = DAY_AFTER,
                                        .batch = 2, /* 40 rows */
                                        .published = on_published,
                                        .published_arg = &world};
    cr_assert_eq(bf_purge_open(world.rows.store, &options, &purge, NULL), BF_OK);
    bool more = true;
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(bf_purge_step(purge, &more, NULL), BF_OK);
        cr_assert_eq(bf_purge_counts(purge).instances, i);
    }
    bf_purge_close(purge);
    world_end(&world);
}

Test(store_purge, open__with_dry_run_counts_and_changes_nothing)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 3, BF_INSTANCE_COMPLETED);
    add_instance(&world, "running", 2, BF_INSTANCE_RUNNING);
    add_orphan(&world, NULL, ROWS_TIME);
    const bf_purge_options_t options = {.dry_run = true};
    bf_purge_counts_t counts = run_ok(&world, options);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(counts.history, 3);
    cr_assert_eq(counts.commands, 4);
    cr_assert_eq(counts.orphans, 1);
    expect_rows(&world, 2, 5, 6);
    cr_assert_eq(test_db_int(&world.rows.db, "SELECT COUNT(*) FROM bpm_flow_purge"), 0);
    world_end(&world);
}

Test(store_purge, step__archives_every_row_before_it_is_deleted)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 2, BF_INSTANCE_COMPLETED);
    add_orphan(&world, NULL, ROWS_TIME);
    const bf_purge_archive_t archive = {on_line, on_keep, on_undo, &world};
    const bf_purge_options_t options = {.archive = &archive};
    bf_purge_counts_t counts = run_ok(&world, options);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(world.kept, world.archive.len);
    cr_assert_eq(world.undone, 0);
    int lines = 0;
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    for (const char *at = bf_str_peek(&world.archive); *at != '\0';) {
        const char *end = strchr(at, '\n');
        bf_value_t value;
        cr_assert_not_null(end);
        cr_assert_eq(bf_json_parse(&arena, at, (size_t)(end - at), NULL, &value, NULL),
                     BF_OK, "%s", at);
        at = end + 1;
        lines++;
    }
    bf_arena_fini(&arena);
    const char *text = bf_str_peek(&world.archive);
    cr_assert_eq(lines, 1 + 2 + 2 + 1);
    cr_assert_not_null(strstr(text, "{\"table\":\"bpm_flow_repository\",\"row\":{"));
    cr_assert_not_null(strstr(text, "\"instant_id\":\"done\""));
    cr_assert_not_null(strstr(text, "\"seq\":2,\"proc_def_id\":\"leave\""));
    cr_assert_not_null(strstr(text, "\"message\":\"agreed \xF0\x9F\x8C\xB2 \\\"so\\\""));
    cr_assert_not_null(strstr(text, "\"form_id\":9007199254740993"));
    cr_assert_not_null(strstr(text, "\"reply_hex\":\"7b22"), "bytes that are no text");
    cr_assert_not_null(strstr(text, "\"create_time\":\"2023-11-14T22:13:20.123Z\""));
    cr_assert_not_null(strstr(text, "\"command\":\"dead_letter\""));
    world_end(&world);
}

Test(store_purge, step__deletes_nothing_that_could_not_be_archived)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 2, BF_INSTANCE_COMPLETED);
    world.archive_fails = true;
    const bf_purge_archive_t archive = {on_line, on_keep, on_undo, &world};
    const bf_purge_options_t options = {.archive = &archive};
    bf_purge_counts_t counts = {0};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(run(&world, options, &counts, &err), BF_E_IO);
    cr_assert_str_eq(err.text, "the disk is full");
    cr_assert_eq(counts.instances, 0);
    cr_assert_eq(world.undone, 1);
    expect_rows(&world, 1, 2, 2);
    world_end(&world);
}

Test(store_purge, step__leaves_an_instance_that_somebody_holds)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "a", 1, BF_INSTANCE_COMPLETED);
    add_instance(&world, "b", 1, BF_INSTANCE_COMPLETED);
    bf_db_t *other = NULL;
    cr_assert_eq(bf_db_connect(&world.rows.db.options, &other, NULL), BF_OK);
    cr_assert_eq(bf_db_execute(other, "START TRANSACTION", NULL), BF_OK);
    cr_assert_eq(bf_db_execute(other,
                               "UPDATE bpm_flow_repository SET status = 0 "
                               "WHERE instant_id = 'a'",
                               NULL),
                 BF_OK);
    bf_purge_counts_t counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 1);
    cr_assert_eq(counts.busy, 1);
    cr_assert_eq(bf_db_execute(other, "COMMIT", NULL), BF_OK);
    bf_db_close(other);
    counts = run_ok(&world, defaults);
    cr_assert_eq(counts.instances, 0, "it runs again");
    cr_assert_eq(counts.busy, 0);
    expect_rows(&world, 1, 1, 1);
    world_end(&world);
}

Test(store_purge, step__undoes_a_batch_that_waits_for_a_lock_too_long)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 2, BF_INSTANCE_COMPLETED);
    bf_db_t *other = NULL;
    cr_assert_eq(bf_db_connect(&world.rows.db.options, &other, NULL), BF_OK);
    cr_assert_eq(bf_db_execute(other, "START TRANSACTION", NULL), BF_OK);
    cr_assert_eq(bf_db_execute(other, "UPDATE bpm_flow_task SET message = 'x'", NULL),
                 BF_OK);
    bf_db_t *own = bf_store_db(world.rows.store);
    cr_assert_eq(bf_db_execute(own, "SET SESSION innodb_lock_wait_timeout = 1", NULL),
                 BF_OK);
    const bf_purge_archive_t archive = {on_line, on_keep, on_undo, &world};
    const bf_purge_options_t options = {.archive = &archive};
    bf_purge_counts_t counts = {0};
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(run(&world, options, &counts, &err), BF_E_STORE_RETRY, "%s", err.text);
    cr_assert_eq(counts.instances, 0);
    cr_assert_gt(world.undone, 1, "it was tried again");
    expect_rows(&world, 1, 2, 2);
    cr_assert_eq(bf_db_execute(other, "ROLLBACK", NULL), BF_OK);
    bf_db_close(other);
    cr_assert_eq(run_ok(&world, options).instances, 1);
    expect_rows(&world, 0, 0, 0);
    world_end(&world);
}

Test(store_purge, commit__finds_a_conflict_where_the_row_was_purged)
{
    world_t world;
    world_begin(&world);
    add_instance(&world, "done", 1, BF_INSTANCE_TERMINATED);
    bf_instance_t *cached = NULL;
    const char *id = "done";
    cr_assert_eq(bf_store_load_instances(world.rows.store, &id, 1, &cached, NULL), BF_OK);
    cr_assert_not_null(cached);
    cr_assert_eq(run_ok(&world, defaults).instances, 1);
    rows_change(cached); /* somebody restarts it */
    cr_assert_eq(rows_commit(&world.rows, &cached, 1), BF_E_CONFLICT);
    expect_rows(&world, 0, 0, 0);
    bf_instance_free(cached);
    cr_assert_eq(bf_store_load_instances(world.rows.store, &id, 1, &cached, NULL), BF_OK);
    cr_assert_null(cached);
    world_end(&world);
}

Test(store_purge, open__checks_the_size_of_a_batch)
{
    world_t world;
    bf_purge_t *purge = NULL;
    bf_err_t err = BF_ERR_INIT;
    world_begin(&world);
    bf_purge_options_t options = {.batch = 0, .published = on_published};
    cr_assert_eq(bf_purge_open(world.rows.store, &options, &purge, &err), BF_E_INVALID);
    options.batch = 10001;
    cr_assert_eq(bf_purge_open(world.rows.store, &options, &purge, NULL), BF_E_INVALID);
    cr_assert_not_null(strstr(err.text, "1 to 10000"));
    world_end(&world);
}
