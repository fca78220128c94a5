/*
 * fuzz_flow.c - any bytes as an approval definition: refused with a message, or one that
 * people can walk in any way; a failed operation changes nothing, and rows stay sound
 *
 * Bytes behind a NUL, where there is one, choose who does what in which way.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/approval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static int64_t next_id(void *arg)
{
    int64_t *last = arg;
    return ++*last;
}

/* The n-th open row, counted round; NULL = none is open. */
static const bf_task_row_t *open_row(const bf_ledger_t *ledger, unsigned n)
{
    unsigned count = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        size_t cursor = 0;
        unsigned at = 0;
        const bf_task_row_t *row;
        while ((row = bf_ledger_next(ledger, BF_LEDGER_TASK, &cursor))) {
            if (row->task_state == BF_APPROVAL_DOING &&
                (pass == 0 || at++ == n % count)) {
                count++;
                if (pass) {
                    return row;
                }
            }
        }
        if (!count) {
            return NULL;
        }
    }
    return NULL;
}

/* Who finished stands in the row, and nobody before. */
static void check_rows(const bf_ledger_t *ledger)
{
    size_t cursor = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next(ledger, BF_LEDGER_TASK, &cursor))) {
        bool is_finished = row->task_state == BF_APPROVAL_FINISHED;
        const bf_process_row_t *process =
            bf_ledger_find(ledger, BF_LEDGER_PROCESS, row->process_instance_id);
        expect(process != NULL);
        expect(is_finished == (row->operator_id != NULL));
        expect(is_finished == (row->finish_time != 0));
        expect(row->task_parent_id < row->id);
        expect(row->task_state != BF_APPROVAL_DOING ||
               process->state == BF_APPROVAL_DOING);
    }
}

static size_t rows_of(const bf_ledger_t *ledger)
{
    size_t count = 0;
    for (unsigned t = 0; t < BF_LEDGER_TABLE_COUNT; t++) {
        count += bf_ledger_count(ledger, (bf_ledger_table_t)t);
    }
    return count;
}

static void step(bf_approval_t *approval, bf_ledger_t *ledger, const bf_flow_t *flow,
                 uint8_t how)
{
    static const bf_submit_type_t types[] = {
        BF_SUBMIT_AGREE, BF_SUBMIT_AGREE,
        BF_SUBMIT_AGREE, BF_SUBMIT_DISAGREE,
        BF_SUBMIT_JUMP,  BF_SUBMIT_ROLLBACK,
        BF_SUBMIT_JUMP,  BF_SUBMIT_ROLLBACK_TO_OPERATOR,
    };
    const bf_task_row_t *row = open_row(ledger, how >> 3);
    if (!row) {
        return;
    }
    bf_err_t err = BF_ERR_INIT;
    bf_approval_execute_t execute = {.task_id = row->id,
                                     .operator_id = BF_APPROVAL_AUTO,
                                     .submit_type = types[how & 7],
                                     .task_name = flow->nodes[how % flow->node_count].id};
    int64_t id = row->id;
    size_t before = rows_of(ledger);
    bf_status_t rc = bf_approval_execute(approval, &execute, &err);
    const bf_task_row_t *after = bf_ledger_find(ledger, BF_LEDGER_TASK, id);
    expect((rc == BF_OK) == (err.status == BF_OK));
    expect((rc == BF_OK) == (after->task_state == BF_APPROVAL_FINISHED));
    expect(rc == BF_OK || rows_of(ledger) == before);
    check_rows(ledger);
}

static void walk(bf_approval_t *approval, bf_ledger_t *ledger, int64_t define_id,
                 const uint8_t *ways, size_t count)
{
    const bf_flow_t *flow = NULL;
    int64_t id = 0;
    bf_err_t err = BF_ERR_INIT;
    bf_approval_start_t start = {.define_id = define_id, .operator_id = "ann"};
    expect(bf_approval_flow(approval, define_id, &flow, &err) == BF_OK);
    if (bf_approval_start(approval, &start, &id, &err) != BF_OK) {
        expect(err.text[0] && rows_of(ledger) == 1);
        return;
    }
    check_rows(ledger);
    for (size_t i = 0; i < count && i < 64; i++) {
        step(approval, ledger, flow, ways[i]);
    }
    (void)!bf_approval_withdraw(approval, id, "ann", &err);
    expect(!open_row(ledger, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t last = 0;
    int64_t define_id = 0;
    bf_ledger_ids_t ids = {next_id, &last};
    bf_approval_host_t host = {.limits = {.max_rows = 300, .max_steps = 300}};
    bf_ledger_t *ledger = bf_ledger_new(&ids);
    bf_approval_t *approval = ledger ? bf_approval_new(ledger, &host) : NULL;
    expect(approval != NULL);
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t len = nul ? (size_t)(nul - data) : size;
    bf_err_t err = BF_ERR_INIT;
    bf_status_t rc =
        bf_approval_deploy(approval, (const char *)data, len, "x", &define_id, &err);
    if (rc == BF_OK) {
        walk(approval, ledger, define_id, nul ? nul + 1 : NULL, nul ? size - len - 1 : 0);
    } else {
        expect(err.status == rc && err.text[0] != '\0' && rows_of(ledger) == 0);
    }
    bf_approval_free(approval);
    bf_ledger_free(ledger);
    return 0;
}
