/*
 * verify_commands.c - verify: the outcomes of commands, and the rows that they wrote
 *
 * For each instance two sums are kept, of (command, seq) as the rows say and as the
 * outcomes say.  Where they differ the rows of the instance are read and each outcome of
 * it is compared with them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "worker/cli/verify.h"

uint64_t bf_verify_step(const char *command_id, int32_t seq)
{
    uint64_t hash = bf_hash_bytes(command_id, strlen(command_id));
    return bf_verify_digest(hash, &seq, sizeof seq);
}

uint64_t bf_verify_reply_of(const bf_command_row_t *command)
{
    if (!command->reply_topic || !command->instance_id || !command->reply.data)
        return 0;
    return bf_verify_reply_hash(command->reply_topic, command->instance_id,
                                strlen(command->instance_id), command->reply.data,
                                command->reply.len);
}

bf_status_t bf_verify_each_command(bf_verify_t *verify, bf_outcome_fn fn, void *arg,
                                   bf_err_t *err)
{
    const char *topic = bf_cli_text(verify->cli, "command-topic");
    bf_status_t rc = BF_OK;
    for (int32_t p = 0; rc == BF_OK && p < verify->partition_count; p++) {
        const bf_offset_range_t range = {topic, p, 0, verify->applied[p]};
        if (range.to > 0)
            rc = bf_store_scan_outcomes(verify->store, &range, fn, arg, err);
    }
    return rc;
}

/* --- the sums --- */

static bf_status_t expect_reply(bf_verify_t *verify, const bf_command_row_t *command,
                                bf_err_t *err)
{
    uint64_t hash = bf_verify_reply_of(command);
    if (hash == 0)
        return BF_OK;
    int64_t *open = bf_map_get_str(verify->reply_topics, command->reply_topic);
    if (!open) {
        open = bf_arena_calloc(&verify->arena, 1, sizeof *open);
        if (!open || bf_map_put(verify->reply_topics, command->reply_topic,
                                strlen(command->reply_topic), open, NULL) != BF_OK)
            return bf_err_nomem(err, "replies");
    }
    ++*open;
    return bf_tally_add(&verify->replies, hash, 1) ? BF_OK : bf_err_nomem(err, "replies");
}

static bf_status_t on_command(void *arg, const bf_command_row_t *command, bf_err_t *err)
{
    bf_verify_t *verify = arg;
    if (bf_cli_stopped())
        return bf_err_set(err, BF_E_CANCELLED, "interrupted");
    verify->command_count++;
    if (verify->command_count % 1000 == 0)
        bf_cli_progress("outcomes: %lld commands", (long long)verify->command_count);
    if (!command->instance_id) /* a dead letter */
        return BF_OK;
    bf_verify_instance_t *inst =
        bf_verify_instance(verify, command->instance_id, strlen(command->instance_id));
    if (!inst)
        return bf_err_nomem(err, "instances");
    inst->has_commands = true;
    bool wrote = command->first_seq > 0 && command->command_id;
    if (wrote && (inst->first_covered == 0 || command->first_seq < inst->first_covered))
        inst->first_covered = command->first_seq;
    for (int32_t seq = command->first_seq; wrote && seq <= command->last_seq; seq++) {
        /* Rows newer than the pass over the history are not counted; were they removed,
         * their events tell. */
        if (seq > inst->rows)
            break;
        inst->covered++;
        inst->command_rows += bf_verify_step(command->command_id, seq);
    }
    return expect_reply(verify, command, err);
}

/* --- the instances where they differ --- */

typedef struct step {
    const char *command_id; /* as the row says; NULL = no row */
    bool accounted;
} step_t;

typedef struct steps {
    bf_verify_t *verify;
    bf_arena_t arena;
    bf_map_t *instances;               /* ID -> step_t[rows + 1] in the arena, by seq */
    const bf_verify_instance_t *known; /* whose rows are being read */
    step_t *now;
} steps_t;

#define EXPLAIN_MAX 1000

static bf_status_t take_step(void *arg, const bf_history_t *row, bf_err_t *err)
{
    steps_t *steps = arg;
    if (row->seq < 1 || row->seq > steps->known->rows)
        return BF_OK;
    const char *id =
        bf_arena_strdup(&steps->arena, row->command_id ? row->command_id : "");
    steps->now[row->seq].command_id = id;
    return id ? BF_OK : bf_err_nomem(err, "rows");
}

static bf_status_t read_steps(steps_t *steps, bf_err_t *err)
{
    bf_verify_t *verify = steps->verify;
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && bf_map_next(verify->instances, &cursor, &id, &len, &value) &&
           bf_map_count(steps->instances) < EXPLAIN_MAX) {
        steps->known = value;
        if (!steps->known->odd_commands)
            continue;
        steps->now = bf_arena_calloc(&steps->arena, (size_t)steps->known->rows + 1,
                                     sizeof *steps->now);
        if (!steps->now ||
            bf_map_put(steps->instances, id, len, steps->now, NULL) != BF_OK)
            return bf_err_nomem(err, "rows");
        rc = bf_store_scan_history(verify->store, id, take_step, steps, err);
    }
    return rc;
}

static bf_status_t explain(void *arg, const bf_command_row_t *command, bf_err_t *err)
{
    (void)err;
    steps_t *steps = arg;
    step_t *list = command->instance_id && command->first_seq > 0 && command->command_id
                       ? bf_map_get_str(steps->instances, command->instance_id)
                       : NULL;
    if (!list)
        return BF_OK;
    bf_verify_t *verify = steps->verify;
    const bf_verify_instance_t *known =
        bf_map_get_str(verify->instances, command->instance_id);
    for (int32_t seq = command->first_seq; seq <= command->last_seq && seq <= known->rows;
         seq++) {
        const char *says = list[seq].command_id;
        if (!says)
            bf_verify_found(verify, BF_FINDING_COMMAND_ROWS, command->instance_id, seq,
                            "command %s (partition %d, offset %lld) wrote rows %d to %d, "
                            "this one is gone",
                            command->command_id, (int)command->partition_no,
                            (long long)command->offset, (int)command->first_seq,
                            (int)command->last_seq);
        else if (strcmp(says, command->command_id) != 0)
            bf_verify_found(verify, BF_FINDING_COMMAND_ROWS, command->instance_id, seq,
                            "the row names command '%s', but command %s (partition %d, "
                            "offset %lld) wrote it",
                            says, command->command_id, (int)command->partition_no,
                            (long long)command->offset);
        list[seq].accounted = true;
    }
    return BF_OK;
}

static void report_unaccounted(steps_t *steps)
{
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    while (bf_map_next(steps->instances, &cursor, &id, &len, &value)) {
        const step_t *list = value;
        const bf_verify_instance_t *known = bf_map_get(steps->verify->instances, id, len);
        for (int32_t seq = known->first_covered; seq > 0 && seq <= known->rows; seq++)
            if (list[seq].command_id && !list[seq].accounted)
                bf_verify_found(steps->verify, BF_FINDING_ROW_WITHOUT_COMMAND, id, seq,
                                "no outcome accounts for the row (it names command '%s')",
                                list[seq].command_id);
    }
}

static bf_status_t explain_all(bf_verify_t *verify, bf_err_t *err)
{
    steps_t steps = {.verify = verify, .instances = bf_map_new()};
    bf_arena_init(&steps.arena, 0);
    bf_status_t rc =
        steps.instances ? read_steps(&steps, err) : bf_err_nomem(err, "rows");
    if (rc == BF_OK)
        rc = bf_verify_each_command(verify, explain, &steps, err);
    if (rc == BF_OK)
        report_unaccounted(&steps);
    bf_map_free(steps.instances);
    bf_arena_fini(&steps.arena);
    return rc;
}

/* Rows that are older than every outcome that is still there were purged of their
 * outcomes, or were written by the library without Kafka: nothing to compare. */
static bool is_odd(bf_verify_t *verify, const bf_verify_instance_t *inst)
{
    if (inst->rows == 0 || inst->row_commands == inst->command_rows)
        return false;
    if (inst->first_covered == 1)
        return true;
    verify->purged = true;
    return inst->first_covered > 1 &&
           inst->covered != inst->rows - inst->first_covered + 1;
}

bf_status_t bf_verify_commands(bf_verify_t *verify, bf_err_t *err)
{
    bf_status_t rc = bf_verify_each_command(verify, on_command, verify, err);
    if (rc != BF_OK)
        return rc;
    size_t cursor = 0;
    const char *id;
    size_t len;
    void *value;
    size_t odd = 0;
    while (bf_map_next(verify->instances, &cursor, &id, &len, &value)) {
        bf_verify_instance_t *inst = value;
        inst->odd_commands = is_odd(verify, inst);
        odd += inst->odd_commands;
    }
    if (odd > EXPLAIN_MAX)
        bf_verify_found(verify, BF_FINDING_COMMAND_ROWS, NULL, 0,
                        "rows and outcomes of %zu instances do not fit; the first %d are "
                        "looked at",
                        odd, EXPLAIN_MAX);
    return odd ? explain_all(verify, err) : BF_OK;
}
