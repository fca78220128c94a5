/*
 * test_store.c - the batch transaction on a real server
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/store.h"
#include "tests/support/test_db.h"

static bf_instance_t *make_instance(const char *id, const char *state)
{
    bf_instance_t *inst = bf_instance_new(id);
    cr_assert_not_null(inst);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_state_put(inst, state, BF_TASK_WAITING), BF_OK);
    cr_assert_eq(bf_instance_touch(inst, "ann", 1700000000123), BF_OK);
    bf_instance_commit(inst);
    return inst;
}

Test(store, commit__writes_and_reads_back)
{
    test_db_t db;
    test_db_begin(&db);
    bf_store_t *store = test_db_open_store(&db);
    bf_err_t err = BF_ERR_INIT;
    bf_partition_row_t before;
    bf_partition_row_t after;
    bf_partition_claim_t claim = {.topic = "cmds",
                                  .partition_no = 3,
                                  .topic_id = "",
                                  .owner = "w/0",
                                  .incarnation = "",
                                  .transactional_id = "t",
                                  .first_offset = 10};
    bf_status_t s = bf_store_claim_partition(store, &claim, &before, &after, &err);
    cr_assert_eq(s, BF_OK, "%s", err.text);
    cr_assert_eq(after.epoch, 1);
    bf_instance_t *list[600];
    for (int i = 0; i < 600; i++) {
        char id[32];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        list[i] = make_instance(id, "g:a");
    }
    bf_offset_advance_t off = {"cmds", 3, 1, 10, 20};
    bf_command_row_t cmd = {.topic = "cmds",
                            .partition_no = 3,
                            .offset = 10,
                            .instance_id = "i-1",
                            .command_id = "c1",
                            .command = "start",
                            .code = "ok",
                            .create_time_ms = 1700000000123};
    bf_batch_write_t b = {.offsets = &off,
                          .offset_count = 1,
                          .instances = list,
                          .instance_count = 600,
                          .commands = &cmd,
                          .command_count = 1};
    bf_commit_report_t report;
    s = bf_store_commit(store, &b, &report, &err);
    cr_assert_eq(s, BF_OK, "%s", err.text);
    cr_assert_eq(test_db_int(&db, "SELECT COUNT(*) FROM bpm_flow_repository"), 600);
    for (int i = 0; i < 600; i++) {
        bf_instance_begin(list[i]);
        cr_assert_eq(bf_instance_state_put(list[i], "g:b", BF_TASK_WAITING), BF_OK);
        bf_instance_commit(list[i]);
    }
    off = (bf_offset_advance_t){"cmds", 3, 1, 20, 21};
    b.command_count = 0;
    s = bf_store_commit(store, &b, &report, &err);
    cr_assert_eq(s, BF_OK, "%s", err.text);
    cr_assert_eq(test_db_int(&db, "SELECT COUNT(*) FROM bpm_flow_repository WHERE rev=2"),
                 600);
    for (int i = 0; i < 600; i++) {
        bf_instance_free(list[i]);
    }
    bf_store_close(store);
    test_db_end(&db);
}
