/*
 * test_store_partition.c - ownership of partitions on a real server
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/store_rows.h"

static bf_partition_claim_t claim_of(int32_t partition_no, const char *owner)
{
    return (bf_partition_claim_t){
        .topic = ROWS_TOPIC,
        .partition_no = partition_no,
        .topic_id = "",
        .owner = owner,
        .incarnation = "",
        .transactional_id = "t",
        .first_offset = 7,
    };
}

Test(store_partition, claim__first_one_makes_the_row)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    bf_partition_row_t read;
    rows_begin(&rows);
    bf_partition_claim_t claim = claim_of(5, "worker-1/0");
    claim.topic_id = "AAAAAAAAQACAAAAAAAAAAQ";
    claim.incarnation = "b7d1f4a2-0000-4000-8000-000000000001";
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 5, &read, NULL), BF_OK);
    cr_assert_not(read.exists);
    bf_status_t status =
        bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_not(before.exists);
    cr_assert(after.exists);
    cr_assert_eq(after.next_offset, 7);
    cr_assert_eq(after.epoch, 1);
    cr_assert_not(after.released);
    cr_assert_str_eq(after.topic_id, claim.topic_id);
    cr_assert_str_eq(after.owner, "worker-1/0");
    cr_assert_str_eq(after.incarnation, claim.incarnation);
    cr_assert_str_eq(after.transactional_id, "t");
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 5, &read, NULL), BF_OK);
    cr_assert_eq(read.epoch, 1);
    rows_end(&rows);
}

Test(store_partition, claim__second_one_raises_the_epoch_and_keeps_the_offset)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    rows_begin(&rows);
    bf_partition_claim_t claim = claim_of(0, "worker-2/1");
    bf_status_t status =
        bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_str_eq(before.owner, "worker/0");
    cr_assert_eq(before.epoch, 1);
    cr_assert_eq(after.epoch, 2);
    cr_assert_eq(after.next_offset, 100);
    cr_assert_str_eq(after.owner, "worker-2/1");
    rows_end(&rows);
}

Test(store_partition, claim__of_another_topic_id_is_refused_and_changes_nothing)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    rows_begin(&rows);
    bf_partition_claim_t claim = claim_of(3, "w/0");
    claim.topic_id = "old";
    cr_assert_eq(bf_store_claim_partition(rows.store, &claim, &before, &after, NULL),
                 BF_OK);
    claim.topic_id = "new";
    bf_status_t status =
        bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_E_INVALID);
    cr_assert(strstr(rows.err.text, "made again"), "%s", rows.err.text);
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 3, &after, NULL), BF_OK);
    cr_assert_eq(after.epoch, 1);
    cr_assert_str_eq(after.topic_id, "old");
    rows_end(&rows);
}

Test(store_partition, claim__learns_a_topic_id_that_was_not_known)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    rows_begin(&rows);
    bf_partition_claim_t claim = claim_of(0, "w/0");
    claim.topic_id = "now-known";
    cr_assert_eq(bf_store_claim_partition(rows.store, &claim, &before, &after, NULL),
                 BF_OK);
    cr_assert_str_eq(after.topic_id, "now-known");
    claim.topic_id = "";
    cr_assert_eq(bf_store_claim_partition(rows.store, &claim, &before, &after, NULL),
                 BF_OK);
    cr_assert_str_eq(after.topic_id, "now-known");
    rows_end(&rows);
}

Test(store_partition, claim__restart_numbers_commands_anew)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    bf_commit_report_t report;
    rows_begin(&rows);
    bf_instance_t *inst = rows_instance("i-1");
    bf_command_row_t command = rows_command(&rows, 100, inst, "c-1");
    bf_batch_write_t batch = {.commands = &command, .command_count = 1};
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    bf_partition_claim_t claim = claim_of(0, "w/0");
    claim.restart = true;
    cr_assert_eq(bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err),
                 BF_E_INVALID, "a restart needs the ID of the new topic");
    claim.topic_id = "another-life";
    claim.first_offset = 100;
    bf_err_clear(&rows.err);
    bf_status_t status =
        bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_eq(after.next_offset, 100);
    /* the same offset once more, another command */
    rows.epoch = after.epoch;
    rows.offset = 100;
    command = rows_command(&rows, 100, inst, "c-2");
    cr_assert_eq(rows_commit_batch(&rows, batch, &report), BF_OK, "%s", rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_command "
                                       "WHERE command_offset = 100"),
                 2);
    /* a restart of what is restarted already keeps the place */
    status = bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_eq(after.next_offset, 101);
    bf_instance_free(inst);
    rows_end(&rows);
}

Test(store_partition, claim__ends_the_connection_that_holds_the_row)
{
    rows_t rows;
    bf_partition_row_t before;
    bf_partition_row_t after;
    rows_begin(&rows);
    bf_store_t *zombie = test_db_open_store(&rows.db);
    (void)rows_claim(zombie, 0, "zombie/0");
    bf_db_t *db = bf_store_db(zombie);
    cr_assert_eq(bf_db_execute(db, "START TRANSACTION", NULL), BF_OK);
    cr_assert_eq(bf_db_execute(db, "UPDATE bpm_flow_offset SET released = FALSE", NULL),
                 BF_OK);
    bf_partition_claim_t claim = claim_of(0, "w/0");
    bf_status_t status =
        bf_store_claim_partition(rows.store, &claim, &before, &after, &rows.err);
    cr_assert_eq(status, BF_OK, "%s", rows.err.text);
    cr_assert_eq(bf_db_execute(db, "COMMIT", NULL), BF_E_STORE_LOST);
    bf_store_close(zombie);
    rows_end(&rows);
}

Test(store_partition, problem__is_kept_until_there_is_a_newer_one)
{
    rows_t rows;
    bf_partition_problem_t problem;
    char longer[700];
    rows_begin(&rows);
    cr_assert_eq(bf_store_read_problem(rows.store, ROWS_TOPIC, 0, &problem, NULL), BF_OK);
    cr_assert_str_empty(problem.owner);
    cr_assert_eq(bf_store_note_problem(rows.store, ROWS_TOPIC, 0, "worker-1/0",
                                       "rows are gone", &rows.err),
                 BF_OK, "%s", rows.err.text);
    /* a partition that nobody has claimed yet has problems too */
    cr_assert_eq(
        bf_store_note_problem(rows.store, ROWS_TOPIC, 9, "worker-1/1", "x", NULL), BF_OK);
    cr_assert_eq(bf_store_read_problem(rows.store, ROWS_TOPIC, 0, &problem, NULL), BF_OK);
    cr_assert_str_eq(problem.owner, "worker-1/0");
    cr_assert_str_eq(problem.text, "rows are gone");
    cr_assert_gt(problem.wall_ms, 0);
    cr_assert_not(problem.is_over);
    /* cut, but not inside of a letter */
    memset(longer, 'a', sizeof(longer));
    memcpy(longer + BF_PROBLEM_MAX - 2, "\xC3\xA4", 2); /* NOLINT: the middle of a text */
    longer[sizeof(longer) - 1] = '\0';
    cr_assert_eq(
        bf_store_note_problem(rows.store, ROWS_TOPIC, 0, "worker-2/0", longer, &rows.err),
        BF_OK, "%s", rows.err.text);
    cr_assert_eq(bf_store_read_problem(rows.store, ROWS_TOPIC, 0, &problem, NULL), BF_OK);
    cr_assert_str_eq(problem.owner, "worker-2/0");
    cr_assert_eq(strlen(problem.text), BF_PROBLEM_MAX - 2);
    test_db_sql(&rows.db, "UPDATE bpm_flow_offset SET update_time = UTC_TIMESTAMP(3) + "
                          "INTERVAL 1 MINUTE");
    cr_assert_eq(bf_store_read_problem(rows.store, ROWS_TOPIC, 0, &problem, NULL), BF_OK);
    cr_assert(problem.is_over);
    rows_end(&rows);
}

Test(store_partition, release__marks_only_an_own_row)
{
    rows_t rows;
    bf_partition_row_t row;
    rows_begin(&rows);
    cr_assert_eq(bf_store_release_partition(rows.store, ROWS_TOPIC, 0, 99, NULL), BF_OK);
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 0, &row, NULL), BF_OK);
    cr_assert_not(row.released);
    cr_assert_eq(bf_store_release_partition(rows.store, ROWS_TOPIC, 0, rows.epoch, NULL),
                 BF_OK);
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 0, &row, NULL), BF_OK);
    cr_assert(row.released);
    /* writing takes the mark away */
    cr_assert_eq(rows_commit(&rows, NULL, 0), BF_OK, "%s", rows.err.text);
    cr_assert_eq(bf_store_read_partition(rows.store, ROWS_TOPIC, 0, &row, NULL), BF_OK);
    cr_assert_not(row.released);
    rows_end(&rows);
}

Test(store_partition, commit__of_an_old_epoch_is_fenced_and_writes_nothing)
{
    rows_t rows;
    rows_begin(&rows);
    bf_store_t *other = test_db_open_store(&rows.db);
    (void)rows_claim(other, 0, "other/0");
    bf_instance_t *inst = rows_instance("i-1");
    cr_assert_eq(rows_commit(&rows, &inst, 1), BF_E_FENCED);
    cr_assert(bf_instance_is_dirty(inst));
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_repository"), 0);
    cr_assert_eq(test_db_int(&rows.db, "SELECT next_offset FROM bpm_flow_offset"), 100);
    bf_instance_free(inst);
    bf_store_close(other);
    rows_end(&rows);
}

Test(store_partition, commit__at_another_offset_is_fenced)
{
    rows_t rows;
    rows_begin(&rows);
    rows.offset = 99;
    cr_assert_eq(rows_commit(&rows, NULL, 0), BF_E_FENCED);
    rows_end(&rows);
}

Test(store_partition, commit__moves_many_partitions_or_none)
{
    enum { COUNT = 70 };
    rows_t rows;
    bf_offset_advance_t moves[COUNT];
    bf_commit_report_t report;
    rows_begin(&rows);
    for (int32_t i = 0; i < COUNT; i++) {
        moves[i] = (bf_offset_advance_t){
            ROWS_TOPIC, i, rows_claim(rows.store, i, "worker/0"), 100, 1000 + i};
    }
    for (size_t count = 1; count <= COUNT; count += 23) {
        moves[count - 1].epoch++;
        const bf_batch_write_t batch = {.offsets = moves, .offset_count = count};
        cr_assert_eq(bf_store_commit(rows.store, &batch, &report, NULL), BF_E_FENCED);
        cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_offset WHERE "
                                           "next_offset <> 100"),
                     0);
        moves[count - 1].epoch--;
    }
    const bf_batch_write_t batch = {.offsets = moves, .offset_count = COUNT};
    cr_assert_eq(bf_store_commit(rows.store, &batch, &report, &rows.err), BF_OK, "%s",
                 rows.err.text);
    cr_assert_eq(test_db_int(&rows.db, "SELECT COUNT(*) FROM bpm_flow_offset WHERE "
                                       "next_offset = 1000 + partition_no"),
                 COUNT);
    rows_end(&rows);
}
