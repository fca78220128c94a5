/*
 * bench_batch.c - see bench_batch.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/support/bench_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"

#define TOPIC "bench.commands"
#define REPLY                                                                            \
    "{\"command_id\":\"0a1b2c3d-0000-0000-0000-000000000000\",\"command\":\"submit\","   \
    "\"instance_id\":\"leave-2026-000001\",\"status\":\"accepted\",\"duplicate\":false," \
    "\"code\":\"ok\",\"error\":null,\"revision\":5,\"instance_state\":\"running\","      \
    "\"task\":{\"graph_id\":\"leave\",\"node_id\":\"hr\",\"title\":\"HR\","              \
    "\"type\":\"activity\",\"state\":1001,\"meta\":{\"actor\":\"hr\"}}}"

static void claim(bench_batch_t *b)
{
    bf_partition_row_t before;
    bf_partition_row_t after;
    bf_err_t err = BF_ERR_INIT;
    const bf_partition_claim_t row = {.topic = TOPIC,
                                      .topic_id = "",
                                      .owner = "bench/0",
                                      .incarnation = "",
                                      .transactional_id = ""};
    if (bf_store_claim_partition(b->store, &row, &before, &after, &err) != BF_OK) {
        bench_stop("claiming", &err);
    }
    b->epoch = after.epoch;
    b->offset = after.next_offset;
}

void bench_batch_open(bench_batch_t *b, const bench_db_t *db)
{
    bf_err_t err = BF_ERR_INIT;
    size_t size = (size_t)b->size;
    const bf_store_options_t options = {.db = db->options};
    if (bf_store_open(&options, &b->store, &err) != BF_OK) {
        bench_stop("opening the store", &err);
    }
    claim(b);
    b->changed = bench_calloc(size, sizeof(bf_instance_t *));
    b->history = bench_calloc(size, sizeof(bf_history_t));
    b->commands = bench_calloc(size, sizeof(bf_command_row_t));
    b->command_ids = bench_calloc(size, sizeof(*b->command_ids));
    b->vars_text = bench_calloc((size_t)b->vars_bytes + 1, 1);
    memset(b->vars_text, 'x', (size_t)b->vars_bytes);
}

void bench_batch_close(bench_batch_t *b)
{
    free(b->changed);
    free(b->history);
    free(b->commands);
    free(b->command_ids);
    free(b->vars_text);
    bf_store_close(b->store);
}

void bench_batch_change(const bench_batch_t *b, bf_instance_t *inst, int64_t now_ms)
{
    static const char *const keys[] = {"leave:apply", "leave:leader", "leave:hr",
                                       "leave:boss", "leave:archive"};
    size_t turn = (size_t)bf_instance_revision(inst);
    bf_value_t text = bf_value_string(b->vars_text, (size_t)b->vars_bytes);
    bf_value_t number = bf_value_int((int64_t)turn);
    bool failed = false;
    bf_instance_begin(inst);
    failed |= bf_instance_state_put(inst, keys[turn % 5], BF_TASK_COMPLETED) != BF_OK;
    failed |= bf_instance_state_put(inst, keys[(turn + 1) % 5], BF_TASK_WAITING) != BF_OK;
    if (turn == 0) {
        failed |= bf_vars_set_str(bf_instance_vars(inst), "reason", &text) != BF_OK;
    }
    failed |= bf_vars_set_str(bf_instance_vars(inst), "day", &number) != BF_OK;
    failed |= bf_instance_touch(inst, "li.wei", now_ms) != BF_OK;
    (void)bf_instance_next_seq(inst);
    bf_instance_commit(inst);
    if (failed) {
        bench_stop("out of memory", NULL);
    }
}

static void make_rows(bench_batch_t *b, int64_t i, int64_t now_ms)
{
    static const char variables[] = "{\"day\":3,\"reason\":\"a week at the sea\"}";
    bf_instance_t *inst = b->changed[i];
    int64_t offset = b->offset + i;
    (void)snprintf(b->command_ids[i], sizeof(b->command_ids[i]),
                   "%08" PRIx64 "-7d0a-4b1c-9e2f-%012" PRIx64,
                   ((uint64_t)offset * 0x9e3779b9u) & 0xffffffffu, (uint64_t)offset);
    b->history[i] = (bf_history_t){
        .instance_id = bf_instance_id(inst),
        .graph_id = "leave",
        .graph_version = 2,
        .seq = bf_instance_seq(inst),
        .action = BF_ACTION_FORWARD,
        .task_id = "leader",
        .source = {"leader", "Leader", "activity"},
        .target = {"hr", "HR", "activity"},
        .assignee = "li.wei",
        .status = BF_TASK_COMPLETED,
        .variables = {variables, sizeof(variables) - 1},
        .message = "agreed",
        .command_id = b->command_ids[i],
        .creator = "li.wei",
        .create_time_ms = now_ms,
    };
    b->commands[i] = (bf_command_row_t){
        .topic = TOPIC,
        .offset = offset,
        .instance_id = bf_instance_id(inst),
        .command_id = b->command_ids[i],
        .command = "submit",
        .code = "ok",
        .first_seq = bf_instance_seq(inst),
        .last_seq = bf_instance_seq(inst),
        .reply = {REPLY, sizeof(REPLY) - 1},
        .reply_topic = "bpmflow.replies",
        .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        .create_time_ms = now_ms,
    };
}

int64_t bench_batch_commit(bench_batch_t *b)
{
    int64_t now_ms = bf_clock_wall_ms();
    bf_err_t err = BF_ERR_INIT;
    bf_commit_report_t report;
    for (int64_t i = 0; i < b->size; i++) {
        bench_batch_change(b, b->changed[i], now_ms);
        make_rows(b, i, now_ms);
    }
    const bf_offset_advance_t advance = {
        .topic = TOPIC, .epoch = b->epoch, .from = b->offset, .to = b->offset + b->size};
    const bf_batch_write_t write = {
        .offsets = &advance,
        .offset_count = 1,
        .instances = b->changed,
        .instance_count = (size_t)b->size,
        .history = b->history,
        .history_count = (size_t)b->size,
        .commands = b->commands,
        .command_count = (size_t)b->size,
    };
    int64_t start = bf_clock_mono_ns();
    if (bf_store_commit(b->store, &write, &report, &err) != BF_OK) {
        bench_stop("committing", &err);
    }
    b->offset += b->size;
    return bf_clock_mono_ns() - start;
}
