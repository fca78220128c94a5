/*
 * batch_execute.c - runs the commands of a range; makes rows and messages
 *
 * After this the range has everything that is written to the database and everything that
 * is published, so that what is published is what is stored, byte for byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/clock.h"
#include "worker/shard_int.h"

/* Arrays under construction; as large as the range can need. */
typedef struct builder {
    bf_shard_t *shard;
    bf_batch_t *batch;
    bf_command_row_t *rows;
    size_t row_count;
    bf_history_t *history;
    size_t history_count;
    bf_message_t *messages;
    size_t message_count;
    bf_instance_t **instances;
    size_t instance_count;
    const bf_instance_t **too_large; /* a command of theirs is refused now */
    size_t too_large_count;
} builder_t;

/* The answer to a repeated command is the first one again, perhaps with a longer trace:
 * what was committed must fit then, too. */
#define REPEAT_BYTES ((size_t)BF_TRACEPARENT_MAX + BF_TRACESTATE_MAX + 64)

static const char *reply_topic_of(const bf_shard_t *shard, const bf_item_t *item)
{
    if (item->command.reply_to) {
        return item->command.reply_to;
    }
    return shard->settings->replies.enabled ? shard->settings->replies.topic : NULL;
}

/* Bytes of a builder as a text of the arena. */
static bf_status_t keep_text(bf_arena_t *arena, bf_str_t *str, bf_text_t *ret)
{
    if (bf_str_failed(str)) {
        return BF_E_NOMEM;
    }
    char *copy = bf_arena_strndup(arena, bf_str_peek(str), str->len);
    if (!copy) {
        return BF_E_NOMEM;
    }
    *ret = (bf_text_t){copy, str->len};
    return BF_OK;
}

/* An outcome that was decided without executing the command. */
static void forced_outcome(const bf_item_t *item, bf_code_t code, bf_outcome_t *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->code = code;
    ret->error = item->code_error ? item->code_error : bf_code_explanation(code);
    if (item->inst) {
        ret->revision = bf_instance_revision(item->inst);
        ret->instance_state = bf_instance_status(item->inst);
    }
}

static bf_status_t write_reply(bf_shard_t *shard, bf_batch_t *batch, bf_item_t *item,
                               const bf_outcome_t *outcome, bool duplicate)
{
    item->reply_topic = reply_topic_of(shard, item);
    if (!item->reply_topic) {
        return BF_OK;
    }
    bf_str_t *str = &shard->scratch;
    bf_str_clear(str);
    bf_codec_write_reply(str, &item->command, outcome, duplicate);
    return keep_text(&batch->arena, str, &item->reply);
}

/* A repeated command: the first answer again. Where that was not kept (no reply was asked
 * for), at least its code. */
static bf_status_t repeat_outcome(bf_shard_t *shard, bf_batch_t *batch, bf_item_t *item,
                                  bf_text_t first_reply, bf_code_t code, bf_err_t *err)
{
    item->code = code;
    item->reply_topic = reply_topic_of(shard, item);
    if (!item->reply_topic) {
        return BF_OK;
    }
    if (!first_reply.data) {
        bf_outcome_t outcome;
        forced_outcome(item, code, &outcome);
        outcome.error = code == BF_CODE_OK ? NULL : outcome.error;
        return write_reply(shard, batch, item, &outcome, true);
    }
    bf_str_t *str = &shard->scratch;
    bf_str_clear(str);
    bf_status_t rc = bf_codec_mark_duplicate(first_reply.data, first_reply.len, str, err);
    return rc == BF_OK ? keep_text(&batch->arena, str, &item->reply) : rc;
}

static bf_status_t execute_command(bf_shard_t *shard, bf_batch_t *batch, bf_item_t *item,
                                   bf_err_t *err)
{
    bf_outcome_t outcome;
    if (item->forced != BF_CODE_OK) {
        forced_outcome(item, item->forced, &outcome);
    } else {
        memset(&outcome, 0, sizeof(outcome));
        bf_status_t rc =
            bf_command_execute(&shard->env, &item->command, item->inst, &batch->arena,
                               batch->now_wall_ms, &outcome, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    item->code = outcome.code;
    item->history = outcome.history;
    item->history_count = outcome.history_count;
    if (outcome.history_count > 0) {
        item->first_seq = outcome.history[0].seq;
        item->last_seq = outcome.history[outcome.history_count - 1].seq;
    }
    return write_reply(shard, batch, item, &outcome, false);
}

static bf_status_t execute_item(bf_shard_t *shard, bf_batch_t *batch, bf_item_t *item,
                                bf_err_t *err)
{
    item->reply = (bf_text_t){NULL, 0};
    item->reply_topic = NULL;
    item->first_seq = 0;
    item->last_seq = 0;
    item->history = NULL;
    item->history_count = 0;
    if (item->decoded == BF_DECODED_DEAD) {
        item->code = item->decode_code;
        return BF_OK;
    }
    if (item->decoded == BF_DECODED_REJECTED) {
        bf_outcome_t outcome;
        forced_outcome(item, item->decode_code, &outcome);
        item->code = item->decode_code;
        return write_reply(shard, batch, item, &outcome, false);
    }
    if (item->earlier) {
        bf_code_t code = bf_code_of_name(item->earlier->code);
        return repeat_outcome(shard, batch, item, item->earlier->reply,
                              code == BF_CODE_COUNT ? BF_CODE_OK : code, err);
    }
    if (item->first != BF_NO_ITEM) {
        const bf_item_t *first = &batch->items[item->first];
        return repeat_outcome(shard, batch, item, first->reply, first->code, err);
    }
    return execute_command(shard, batch, item, err);
}

static bf_status_t add_row(builder_t *builder, const bf_item_t *item, bf_err_t *err)
{
    bf_command_row_t *row = &builder->rows[builder->row_count++];
    const bf_command_t *command = &item->command;
    memset(row, 0, sizeof(*row));
    row->topic = builder->shard->topic;
    row->partition_no = item->partition;
    row->offset = item->offset;
    row->code = bf_code_name(item->code);
    row->create_time_ms = builder->batch->now_wall_ms;
    row->traceparent = command->traceparent;
    row->tracestate = command->tracestate;
    if (item->decoded == BF_DECODED_DEAD) {
        bf_str_t *str = &builder->shard->scratch;
        bf_str_clear(str);
        row->command = "dead_letter";
        bf_status_t rc = bf_codec_pack_message(&item->dead, str, err);
        return rc == BF_OK ? keep_text(&builder->batch->arena, str, &row->reply) : rc;
    }
    row->instance_id = command->instance_id;
    row->command =
        command->verb < BF_VERB_COUNT ? bf_verb_name(command->verb) : "unknown";
    row->first_seq = item->first_seq;
    row->last_seq = item->last_seq;
    row->reply = item->reply;
    row->reply_topic = item->reply.data ? item->reply_topic : NULL;
    /* Only what was executed (or refused for good) is remembered under its ID. */
    if (item->decoded == BF_DECODED && !item->earlier && item->first == BF_NO_ITEM) {
        row->command_id = command->command_id;
    }
    return BF_OK;
}

static bf_status_t add_messages(builder_t *builder, const bf_item_t *item, bf_err_t *err)
{
    bf_arena_t *arena = &builder->batch->arena;
    const bf_settings_t *settings = builder->shard->settings;
    bf_trace_t trace = {item->command.traceparent, item->command.tracestate};
    if (item->decoded == BF_DECODED_DEAD) {
        builder->messages[builder->message_count++] = item->dead;
        return BF_OK;
    }
    for (size_t i = 0; i < item->history_count; i++) {
        bf_status_t rc =
            bf_codec_make_event(arena, settings->events.topic, &item->history[i], &trace,
                                &builder->messages[builder->message_count]);
        if (rc != BF_OK) {
            return bf_err_nomem(err, "an event");
        }
        builder->message_count++;
        if (item->history[i].action != BF_ACTION_DISPATCH) {
            continue;
        }
        if (bf_codec_make_job(arena, &item->history[i], &trace,
                              &builder->messages[builder->message_count]) != BF_OK) {
            return bf_err_nomem(err, "a job");
        }
        builder->message_count++;
    }
    if (!item->reply.data) {
        return BF_OK;
    }
    bf_reply_t reply = {.topic = item->reply_topic,
                        .instance_id = item->command.instance_id,
                        .command_id = item->command.command_id,
                        .body = item->reply,
                        .create_time_ms = builder->batch->now_wall_ms,
                        .trace = trace};
    bf_status_t rc = bf_codec_make_reply(arena, &reply,
                                         &builder->messages[builder->message_count], err);
    if (rc == BF_OK) {
        builder->messages[builder->message_count++].early =
            settings->replies.delivery == BF_REPLIES_EARLY;
    }
    return rc;
}

static bool is_too_large(const builder_t *builder, const bf_instance_t *inst)
{
    for (size_t i = 0; i < builder->too_large_count; i++) {
        if (builder->too_large[i] == inst) {
            return true;
        }
    }
    return false;
}

/* What Kafka would not take must not be committed: such a command is rejected, and the
 * range has to be executed again without it.  Later commands of the same instance are
 * looked at then: without this one they may fit. */
static bool messages_fit(builder_t *builder, bf_item_t *item, size_t first_message)
{
    size_t max = bf_publisher_max_message_bytes(builder->shard->publisher) - REPEAT_BYTES;
    if (item->decoded != BF_DECODED || item->forced != BF_CODE_OK || item->earlier ||
        item->first != BF_NO_ITEM) {
        return true;
    }
    for (size_t i = first_message; i < builder->message_count; i++) {
        size_t bytes = bf_message_bytes(&builder->messages[i]);
        if (bytes <= max) {
            continue;
        }
        if (!is_too_large(builder, item->inst)) {
            builder->too_large[builder->too_large_count++] = item->inst;
            item->forced = BF_CODE_LIMIT_EXCEEDED;
            item->code_error = bf_arena_printf(
                &builder->batch->arena,
                "the reply or an event would have %zu bytes, more than the %zu that a "
                "message may have; keep large data out of the variables",
                bytes, max);
        }
        return false;
    }
    return true;
}

static bf_status_t build_item(builder_t *builder, bf_item_t *item, bool *ret_fits,
                              bf_err_t *err)
{
    size_t first_message = builder->message_count;
    bf_status_t rc = add_row(builder, item, err);
    if (rc == BF_OK) {
        rc = add_messages(builder, item, err);
    }
    if (rc != BF_OK) {
        return rc;
    }
    if (item->history_count > 0) {
        memcpy(&builder->history[builder->history_count], item->history,
               item->history_count * sizeof(*item->history));
        builder->history_count += item->history_count;
    }
    *ret_fits = messages_fit(builder, item, first_message) && *ret_fits;
    return BF_OK;
}

static bf_status_t builder_init(builder_t *builder, bf_shard_t *shard, bf_batch_t *batch,
                                bf_err_t *err)
{
    bf_arena_t *arena = &batch->arena;
    size_t items = batch->to - batch->from;
    size_t history = 0;
    for (size_t i = batch->from; i < batch->to; i++) {
        history += batch->items[i].history_count;
    }
    memset(builder, 0, sizeof(*builder));
    builder->shard = shard;
    builder->batch = batch;
    builder->rows = bf_arena_alloc(arena, (items + 1) * sizeof(*builder->rows));
    builder->history = bf_arena_alloc(arena, (history + 1) * sizeof(*builder->history));
    builder->messages =
        bf_arena_alloc(arena, (items + 2 * history + 1) * sizeof(*builder->messages));
    builder->instances = bf_arena_alloc(arena, (bf_map_count(batch->instances) + 1) *
                                                   sizeof(bf_instance_t *));
    builder->too_large = bf_arena_alloc(arena, (items + 1) * sizeof(*builder->too_large));
    if (!builder->rows || !builder->history || !builder->messages ||
        !builder->instances || !builder->too_large) {
        return bf_err_nomem(err, "a batch");
    }
    return BF_OK;
}

/* The offset rows and the offsets for Kafka: for each partition the record after its last
 * one in the range. */
static bf_status_t build_offsets(bf_shard_t *shard, bf_batch_t *batch,
                                 bf_topic_partition_t **ret, bf_err_t *err)
{
    size_t max = batch->to - batch->from;
    max = max < (size_t)shard->assignment.total ? max : (size_t)shard->assignment.total;
    bf_offset_advance_t *advance = bf_arena_calloc(&batch->arena, max, sizeof(*advance));
    bf_topic_partition_t *offsets = bf_arena_calloc(&batch->arena, max, sizeof(*offsets));
    size_t count = 0;
    if (!advance || !offsets) {
        return bf_err_nomem(err, "a batch");
    }
    for (size_t i = batch->from; i < batch->to; i++) {
        const bf_item_t *item = &batch->items[i];
        size_t j = 0;
        while (j < count && advance[j].partition_no != item->partition) {
            j++;
        }
        if (j == count) {
            const bf_part_t *part =
                bf_assignment_held(&shard->assignment, item->partition);
            BF_ASSERT(part && count < max);
            advance[count++] = (bf_offset_advance_t){.topic = shard->topic,
                                                     .partition_no = item->partition,
                                                     .epoch = part->epoch,
                                                     .from = part->next};
        }
        advance[j].to = item->offset + 1;
    }
    for (size_t j = 0; j < count; j++) {
        offsets[j] =
            (bf_topic_partition_t){shard->topic, advance[j].partition_no, advance[j].to};
    }
    batch->write.offsets = advance;
    batch->write.offset_count = count;
    *ret = offsets;
    return BF_OK;
}

static void unref_batch(void *owner)
{
    bf_batch_unref(owner);
}

static bf_status_t finish(builder_t *builder, bf_err_t *err)
{
    bf_batch_t *batch = builder->batch;
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *inst;
    while (bf_map_next(batch->instances, &cursor, &id, &len, &inst)) {
        if (bf_instance_is_dirty(inst)) {
            builder->instances[builder->instance_count++] = inst;
        }
    }
    bf_topic_partition_t *offsets = NULL;
    memset(&batch->write, 0, sizeof(batch->write));
    bf_status_t rc = build_offsets(builder->shard, batch, &offsets, err);
    if (rc != BF_OK) {
        return rc;
    }
    batch->write.instances = builder->instances;
    batch->write.instance_count = builder->instance_count;
    batch->write.history = builder->history;
    batch->write.history_count = builder->history_count;
    batch->write.commands = builder->rows;
    batch->write.command_count = builder->row_count;
    batch->publication = bf_arena_calloc(&batch->arena, 1, sizeof(*batch->publication));
    if (!batch->publication) {
        return bf_err_nomem(err, "a batch");
    }
    *batch->publication = (bf_publication_t){.messages = builder->messages,
                                             .message_count = builder->message_count,
                                             .offsets = offsets,
                                             .offset_count = batch->write.offset_count,
                                             .release = unref_batch,
                                             .owner = batch};
    return BF_OK;
}

bf_status_t bf_batch_execute(bf_shard_t *shard, bf_batch_t *batch, bool *ret_fits,
                             bf_err_t *err)
{
    builder_t builder = {0};
    bf_status_t rc = BF_OK;
    for (size_t i = batch->from; i < batch->to && rc == BF_OK; i++) {
        rc = execute_item(shard, batch, &batch->items[i], err);
    }
    if (rc == BF_OK) {
        rc = builder_init(&builder, shard, batch, err);
    }
    *ret_fits = true;
    for (size_t i = batch->from; i < batch->to && rc == BF_OK; i++) {
        rc = build_item(&builder, &batch->items[i], ret_fits, err);
    }
    return rc == BF_OK && *ret_fits ? finish(&builder, err) : rc;
}
