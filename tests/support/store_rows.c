/*
 * store_rows.c - see store_rows.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/store_rows.h"

#include <criterion/criterion.h>
#include <string.h>

int64_t rows_claim(bf_store_t *store, int32_t partition_no, const char *owner)
{
    bf_err_t err = BF_ERR_INIT;
    bf_partition_row_t before;
    bf_partition_row_t after;
    const bf_partition_claim_t claim = {
        .topic = ROWS_TOPIC,
        .partition_no = partition_no,
        .topic_id = "",
        .owner = owner,
        .incarnation = "b7d1f4a2-0000-4000-8000-000000000001",
        .transactional_id = "group-worker-0",
        .first_offset = 100,
    };
    bf_status_t status = bf_store_claim_partition(store, &claim, &before, &after, &err);
    cr_assert_eq(status, BF_OK, "%s", err.text);
    return after.epoch;
}

void rows_begin(rows_t *rows)
{
    memset(rows, 0, sizeof(*rows));
    bf_arena_init(&rows->arena, 0);
    test_db_begin(&rows->db);
    rows->store = test_db_open_store(&rows->db);
    rows->epoch = rows_claim(rows->store, 0, "worker/0");
    rows->offset = 100;
}

void rows_end(rows_t *rows)
{
    bf_store_close(rows->store);
    bf_arena_fini(&rows->arena);
    test_db_end(&rows->db);
}

bf_instance_t *rows_instance(const char *id)
{
    bf_instance_t *inst = bf_instance_new(id);
    cr_assert_not_null(inst);
    rows_change(inst);
    return inst;
}

int64_t rows_n(bf_instance_t *inst)
{
    const bf_value_t *n = bf_vars_get_str(bf_instance_vars(inst), "n");
    return n != NULL && n->type == BF_VALUE_INT ? n->as.integer : -1;
}

void rows_change(bf_instance_t *inst)
{
    int64_t n = rows_n(inst);
    bf_value_t next = bf_value_int(n < 0 ? 1 : n + 1);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_state_put(inst, "leave:leader", BF_TASK_WAITING), BF_OK);
    cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), "n", &next), BF_OK);
    cr_assert_eq(bf_instance_touch(inst, "li.wei", ROWS_TIME), BF_OK);
    (void)bf_instance_next_seq(inst);
    bf_instance_commit(inst);
}

bf_history_t rows_history(rows_t *rows, bf_instance_t *inst)
{
    /* a letter of four bytes, quotes, a backslash, a line end */
    static const char message[] = "agreed \xF0\x9F\x8C\xB2 \"so\" it's \\ fine\n";
    const char *variables =
        bf_arena_printf(&rows->arena, "{\"n\":%lld, \"b\":2.50,\"a\":\"\xC3\xA4\"}",
                        (long long)rows_n(inst));
    const char *id = bf_arena_strdup(&rows->arena, bf_instance_id(inst));
    cr_assert_not_null(variables);
    cr_assert_not_null(id);
    return (bf_history_t){
        .instance_id = id,
        .graph_id = "leave",
        .graph_version = 3,
        .seq = bf_instance_seq(inst),
        .action = BF_ACTION_FORWARD_JUMP,
        .task_id = "leader",
        .source = {"leader", "Team \xE9\xA2\x86\xE5\xAF\xBC", "activity"},
        .target = {"hr", "HR", "activity"},
        .assignee = "li.wei",
        .status = BF_TASK_COMPLETED,
        .has_form_id = true,
        .form_id = INT64_C(9007199254740993),
        .variables = {variables, strlen(variables)},
        .message = message,
        .instance_state = BF_INSTANCE_SUSPENDED,
        .command_id = "c-1",
        .creator = "li.wei",
        .create_time_ms = ROWS_TIME,
    };
}

bf_command_row_t rows_command(rows_t *rows, int64_t offset, bf_instance_t *inst,
                              const char *command_id)
{
    static const char reply[] = "{\"status\":\"accepted\"}\0\xFF\xFE bytes";
    (void)rows;
    return (bf_command_row_t){
        .topic = ROWS_TOPIC,
        .partition_no = 0,
        .offset = offset,
        .instance_id = bf_instance_id(inst),
        .command_id = command_id,
        .command = "submit",
        .code = "ok",
        .first_seq = bf_instance_seq(inst),
        .last_seq = bf_instance_seq(inst),
        .reply = {reply, sizeof(reply) - 1},
        .reply_topic = "test.replies",
        .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        .tracestate = "vendor=1",
        .create_time_ms = ROWS_TIME,
    };
}

bf_status_t rows_commit_batch(rows_t *rows, bf_batch_write_t batch,
                              bf_commit_report_t *report)
{
    const bf_offset_advance_t advance = {
        .topic = ROWS_TOPIC,
        .epoch = rows->epoch,
        .from = rows->offset,
        .to = rows->offset + 1,
    };
    batch.offsets = &advance;
    batch.offset_count = 1;
    bf_err_clear(&rows->err);
    bf_status_t status = bf_store_commit(rows->store, &batch, report, &rows->err);
    if (status == BF_OK) {
        rows->offset++;
    }
    return status;
}

bf_status_t rows_commit(rows_t *rows, bf_instance_t *const *list, size_t count)
{
    bf_commit_report_t report;
    const bf_batch_write_t batch = {.instances = list, .instance_count = count};
    return rows_commit_batch(rows, batch, &report);
}

static void expect_text(const char *what, const char *got, const char *want)
{
    if (want == NULL) {
        cr_assert_null(got, "%s is '%s'", what, got);
    } else {
        cr_assert_not_null(got, "%s is NULL", what);
        cr_assert_str_eq(got, want, "%s is '%s'", what, got);
    }
}

static void expect_bytes(const char *what, bf_text_t got, bf_text_t want)
{
    cr_assert_eq(got.data == NULL, want.data == NULL, "%s", what);
    cr_assert_eq(got.len, want.len, "%s has %zu bytes", what, got.len);
    if (want.data != NULL) {
        cr_assert_arr_eq(got.data, want.data, want.len, "%s", what);
    }
}

void rows_expect_history(const bf_history_t *got, const bf_history_t *want)
{
    expect_text("instance_id", got->instance_id, want->instance_id);
    expect_text("graph_id", got->graph_id, want->graph_id);
    cr_assert_eq(got->graph_version, want->graph_version);
    cr_assert_eq(got->seq, want->seq);
    cr_assert_eq(got->action, want->action);
    expect_text("task_id", got->task_id, want->task_id);
    expect_text("source.code", got->source.code, want->source.code);
    expect_text("source.name", got->source.name, want->source.name);
    expect_text("source.type", got->source.type, want->source.type);
    expect_text("target.code", got->target.code, want->target.code);
    expect_text("target.name", got->target.name, want->target.name);
    expect_text("target.type", got->target.type, want->target.type);
    expect_text("assignee", got->assignee, want->assignee);
    cr_assert_eq(got->status, want->status);
    cr_assert_eq(got->has_form_id, want->has_form_id);
    cr_assert_eq(got->form_id, want->form_id);
    expect_bytes("variables", got->variables, want->variables);
    expect_text("message", got->message, want->message);
    cr_assert_eq(got->instance_state, want->instance_state);
    expect_text("command_id", got->command_id, want->command_id);
    expect_text("creator", got->creator, want->creator);
    cr_assert_eq(got->create_time_ms, want->create_time_ms);
}

void rows_expect_command(const bf_command_row_t *got, const bf_command_row_t *want)
{
    expect_text("topic", got->topic, want->topic);
    cr_assert_eq(got->partition_no, want->partition_no);
    cr_assert_eq(got->offset, want->offset);
    expect_text("instance_id", got->instance_id, want->instance_id);
    expect_text("command_id", got->command_id, want->command_id);
    expect_text("command", got->command, want->command);
    expect_text("code", got->code, want->code);
    cr_assert_eq(got->first_seq, want->first_seq);
    cr_assert_eq(got->last_seq, want->last_seq);
    expect_bytes("reply", got->reply, want->reply);
    expect_text("reply_topic", got->reply_topic, want->reply_topic);
    expect_text("traceparent", got->traceparent, want->traceparent);
    expect_text("tracestate", got->tracestate, want->tracestate);
    cr_assert_eq(got->create_time_ms, want->create_time_ms);
}
