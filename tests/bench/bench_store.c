/*
 * bench_store.c - the SQL floor: what the database alone allows
 *
 *   bench_store [--batch N] [--batches N] [--instances N] [--vars BYTES]
 *
 * Writes batches as a shard does (one instance upsert, one history row and one outcome a
 * command, one offset row a batch), through bf_store_commit() and without Kafka, engine
 * or codecs, on one connection to BF_MARIADB_SOCKET or BF_MARIADB_HOST.  Prints JSON
 * lines
 * {"bench","metric","value","unit"}.  Makes a database of its own and drops it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/store.h"
#include "tests/bench/support/bench_db.h"

#define TOPIC "bench.commands"
#define REPLY                                                                            \
    "{\"command_id\":\"0a1b2c3d-0000-0000-0000-000000000000\",\"command\":\"submit\","   \
    "\"instance_id\":\"leave-2026-000001\",\"status\":\"accepted\",\"duplicate\":false," \
    "\"code\":\"ok\",\"error\":null,\"revision\":5,\"instance_state\":\"running\","      \
    "\"task\":{\"graph_id\":\"leave\",\"node_id\":\"hr\",\"title\":\"HR\","              \
    "\"type\":\"activity\",\"state\":1001,\"meta\":{\"actor\":\"hr\"}}}"

typedef struct bench {
    int64_t batch;
    int64_t batches;
    int64_t instances;
    int64_t vars_bytes;
    bench_db_t db;
    bf_store_t *store;
    bf_instance_t **pool;
    size_t next; /* instance of the next command */
    int64_t epoch;
    int64_t offset;
    /* arrays of one batch */
    bf_instance_t **changed;
    bf_history_t *history;
    bf_command_row_t *commands;
    char (*command_ids)[40];
    char *vars_text;
} bench_t;

/* --- batches --- */

static void *must_calloc(int64_t count, size_t size)
{
    return bench_calloc((size_t)count, size);
}

static void claim(bench_t *b)
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

static void set_up(bench_t *b)
{
    bf_err_t err = BF_ERR_INIT;
    const bf_store_options_t options = {.db = b->db.options};
    if (bf_store_open(&options, &b->store, &err) != BF_OK) {
        bench_stop("opening the store", &err);
    }
    claim(b);
    b->pool = must_calloc(b->instances, sizeof(bf_instance_t *));
    b->changed = must_calloc(b->batch, sizeof(bf_instance_t *));
    b->history = must_calloc(b->batch, sizeof(bf_history_t));
    b->commands = must_calloc(b->batch, sizeof(bf_command_row_t));
    b->command_ids = must_calloc(b->batch, sizeof(*b->command_ids));
    b->vars_text = must_calloc(b->vars_bytes + 1, 1);
    memset(b->vars_text, 'x', (size_t)b->vars_bytes);
    for (int64_t i = 0; i < b->instances; i++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "leave-2026-%016" PRIx64,
                       (uint64_t)i * 0x9e3779b97f4a7c15u);
        b->pool[i] = bf_instance_new(id);
        if (b->pool[i] == NULL) {
            bench_stop("out of memory", NULL);
        }
    }
}

static void tear_down(bench_t *b)
{
    for (int64_t i = 0; i < b->instances; i++) {
        bf_instance_free(b->pool[i]);
    }
    free(b->pool);
    free(b->changed);
    free(b->history);
    free(b->commands);
    free(b->command_ids);
    free(b->vars_text);
    bf_store_close(b->store);
}

/* What a submit does to its instance, in short. */
static void change_instance(bench_t *b, bf_instance_t *inst, int64_t now_ms)
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

static void make_rows(bench_t *b, int64_t i, int64_t now_ms)
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

/* One batch; returns the time of bf_store_commit(). */
static int64_t run_batch(bench_t *b)
{
    int64_t now_ms = bf_clock_wall_ms();
    bf_err_t err = BF_ERR_INIT;
    bf_commit_report_t report;
    for (int64_t i = 0; i < b->batch; i++) {
        b->changed[i] = b->pool[b->next++ % (size_t)b->instances];
        change_instance(b, b->changed[i], now_ms);
        make_rows(b, i, now_ms);
    }
    const bf_offset_advance_t advance = {
        .topic = TOPIC, .epoch = b->epoch, .from = b->offset, .to = b->offset + b->batch};
    const bf_batch_write_t write = {
        .offsets = &advance,
        .offset_count = 1,
        .instances = b->changed,
        .instance_count = (size_t)b->batch,
        .history = b->history,
        .history_count = (size_t)b->batch,
        .commands = b->commands,
        .command_count = (size_t)b->batch,
    };
    int64_t start = bf_clock_mono_ns();
    if (bf_store_commit(b->store, &write, &report, &err) != BF_OK) {
        bench_stop("committing", &err);
    }
    b->offset += b->batch;
    return bf_clock_mono_ns() - start;
}

static void run_writes(bench_t *b, const char *name, int64_t batches)
{
    char metric[64];
    int64_t commit_ns = 0;
    for (int64_t i = 0; i < batches; i++) {
        commit_ns += run_batch(b);
    }
    double seconds = (double)commit_ns / 1e9;
    (void)snprintf(metric, sizeof(metric), "%s", name);
    bench_print("store", metric, (double)(batches * b->batch) / seconds, "commands/s");
    (void)snprintf(metric, sizeof(metric), "%s_batch", name);
    bench_print("store", metric, seconds * 1000 / (double)batches, "ms");
}

static void run_loads(bench_t *b)
{
    enum { IDS = 100 };
    int64_t loaded = 0;
    bf_err_t err = BF_ERR_INIT;
    int64_t start = bf_clock_mono_ns();
    for (int64_t at = 0; at + IDS <= b->instances && at < 100000; at += IDS) {
        const char *ids[IDS];
        bf_instance_t *found[IDS];
        for (int64_t i = 0; i < IDS; i++) {
            ids[i] = bf_instance_id(b->pool[at + i]);
        }
        if (bf_store_load_instances(b->store, ids, IDS, found, &err) != BF_OK) {
            bench_stop("loading", &err);
        }
        for (int64_t i = 0; i < IDS; i++) {
            loaded += found[i] != NULL ? 1 : 0;
            bf_instance_free(found[i]);
        }
    }
    double seconds = (double)(bf_clock_mono_ns() - start) / 1e9;
    bench_print("store", "load", (double)loaded / seconds, "instances/s");
}

int main(int argc, char **argv)
{
    bench_t b = {.batch = 500, .batches = 200, .instances = 20000, .vars_bytes = 200};
    const bench_option_t options[] = {{"--batch", &b.batch},
                                      {"--batches", &b.batches},
                                      {"--instances", &b.instances},
                                      {"--vars", &b.vars_bytes}};
    bench_options(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (b.instances < b.batch) {
        b.instances = b.batch; /* an instance stands once in a batch */
    }
    bench_db_make(&b.db);
    set_up(&b);
    run_writes(&b, "insert", (b.instances + b.batch - 1) / b.batch);
    run_writes(&b, "commit", b.batches);
    run_loads(&b);
    tear_down(&b);
    bench_db_drop(&b.db);
    return 0;
}
