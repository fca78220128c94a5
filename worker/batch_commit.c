/*
 * batch_commit.c - the database transaction of a batch, and every way it can fail
 *
 * What happens after a failure:
 *
 *   repeated command   look up which ones, answer them with their first outcome, commit
 *                      the rest
 *   conflict           somebody else changed an instance: load it again, execute again; a
 *                      back or restart that lost is rejected, since it meant what it saw
 *   refused data       work on the halves, down to the command that causes it, which is
 *                      rejected (storage_rejected)
 *   try again, lost    pause, reconnect; ask what became of a COMMIT that was not
 * answered fenced             the partitions belong to somebody else: the session ends
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/fault.h"
#include "worker/shard_int.h"

#define QUIET_RETRIES 3 /* deadlocks and the like are no outage */

typedef enum {
    RANGE_DONE,   /* applied and handed over */
    RANGE_SPLIT,  /* work on the halves */
    RANGE_GIVE_UP /* the session ends, or the partitions were taken away */
} verdict_t;

typedef struct attempt {
    int64_t conflicts;
    int retries;
} attempt_t;

static bool is_given_up(const bf_shard_t *shard, const bf_batch_t *batch)
{
    return shard->end != BF_SESSION_RUNS || batch->abandoned;
}

/* Connect again; waits until it works. false: given up. */
static bool reconnect(bf_shard_t *shard, const bf_batch_t *batch, const bf_err_t *cause)
{
    bf_err_t err = *cause;
    for (;;) {
        if (!bf_shard_wait(shard, bf_outage_failed(shard, &shard->database, &err)) ||
            is_given_up(shard, batch)) {
            return false;
        }
        bf_err_clear(&err);
        bf_status_t rc = bf_store_reconnect(shard->store, &err);
        if (rc == BF_OK) {
            bf_outage_over(shard, &shard->database);
            return true;
        }
        if (rc == BF_E_SCHEMA) {
            bf_shard_end(shard, BF_SESSION_FATAL, "%s", err.text);
            return false;
        }
    }
}

/* A COMMIT was sent and not answered: the offset rows say what became of it. */
static bf_status_t resolve(bf_shard_t *shard, bf_batch_t *batch, bool *ret_committed,
                           bf_err_t *err)
{
    bf_status_t rc =
        bf_store_resolve_commit(shard->store, &batch->write, ret_committed, err);
    if (rc == BF_OK) {
        shard->commit_unknown = false;
        bf_shard_log(shard, BF_LOG_WARNING,
                     "the answer to a COMMIT was lost; the batch is %s",
                     *ret_committed ? "applied" : "not applied and is committed again");
    }
    return rc;
}

/* Handles what passes by itself. BF_OK: the caller tries again; else its status. */
static bf_status_t handle_retriable(bf_shard_t *shard, bf_batch_t *batch,
                                    attempt_t *attempt, bf_status_t status,
                                    const bf_err_t *err)
{
    bf_metric_add(shard->metrics.retries, 1);
    if (status == BF_E_STORE_LOST) {
        return reconnect(shard, batch, err) ? BF_OK : BF_E_CANCELLED;
    }
    int64_t pause_ms = shard->settings->batch.retry_min_ms;
    if (++attempt->retries > QUIET_RETRIES) {
        pause_ms = bf_outage_failed(shard, &shard->database, err);
    }
    bool go_on = bf_shard_wait(shard, pause_ms) && !is_given_up(shard, batch);
    return go_on ? BF_OK : BF_E_CANCELLED;
}

static bool passes_by_itself(bf_status_t status)
{
    return status == BF_E_STORE_RETRY || status == BF_E_STORE_LOST ||
           status == BF_E_STORE || status == BF_E_NOMEM || status == BF_E_TIMEOUT;
}

/* Commits until there is an answer that needs another batch. */
static bf_status_t commit_range(bf_shard_t *shard, bf_batch_t *batch, attempt_t *attempt,
                                bf_commit_report_t *report, bf_err_t *err)
{
    for (;;) {
        bool committed = false;
        bf_status_t rc;
        bf_err_clear(err);
        memset(report, 0, sizeof(*report));
        if (shard->commit_unknown) {
            rc = resolve(shard, batch, &committed, err);
        } else {
            rc = bf_store_commit(shard->store, &batch->write, report, err);
            committed = rc == BF_OK;
            shard->commit_unknown = rc == BF_E_STORE_LOST && report->outcome_unknown;
        }
        if (committed || (rc != BF_OK && !passes_by_itself(rc))) {
            return rc;
        }
        if (rc != BF_OK) {
            rc = handle_retriable(shard, batch, attempt, rc, err);
        }
        if (rc != BF_OK) {
            return rc;
        }
    }
}

static bool is_conflicting(const bf_commit_report_t *report, const bf_instance_t *inst)
{
    for (size_t i = 0; i < report->conflict_count; i++) {
        if (report->conflicts[i] == inst) {
            return true;
        }
    }
    return false;
}

static bool is_back_or_restart(const bf_command_t *command)
{
    if (command->verb != BF_VERB_SUBMIT && command->verb != BF_VERB_SUBMIT_IF_WAITING) {
        return false;
    }
    return command->action == BF_ACTION_BACK || command->action == BF_ACTION_BACK_JUMP ||
           command->action == BF_ACTION_RESTART;
}

static void handle_conflict(bf_shard_t *shard, bf_batch_t *batch, attempt_t *attempt,
                            const bf_commit_report_t *report)
{
    bool last = ++attempt->conflicts >= shard->settings->batch.conflict_retries;
    bf_metric_add(shard->metrics.conflicts, 1);
    for (size_t i = batch->from; i < batch->to; i++) {
        bf_item_t *item = &batch->items[i];
        if (item->inst && is_conflicting(report, item->inst) &&
            (last || is_back_or_restart(&item->command))) {
            item->forced = BF_CODE_REVISION_CONFLICT;
            item->code_error =
                "the instance was changed by somebody else meanwhile; look "
                "at its state and decide again";
        }
    }
    uint64_t suppressed;
    if (report->conflict_count > 0 &&
        bf_log_limit_pass(&shard->limit_conflict, bf_clock_mono_ms(), &suppressed)) {
        bf_log_field_t fields[] = {
            BF_LOG_INT("shard", shard->index),
            BF_LOG_STR("instance", bf_instance_id(report->conflicts[0])),
            BF_LOG_INT("more", (int64_t)suppressed)};
        bf_log_write(shard->worker->log, BF_LOG_WARNING, fields, 3,
                     "%zu instances were changed by somebody else; they are loaded again",
                     report->conflict_count);
    }
}

static bf_status_t handle_duplicate(bf_shard_t *shard, bf_batch_t *batch,
                                    attempt_t *attempt, bf_err_t *err)
{
    for (;;) {
        size_t found = 0;
        int64_t begin = bf_clock_mono_ns();
        bf_err_clear(err);
        bf_status_t rc = bf_batch_find_earlier(shard, batch, &found, err);
        bf_metric_observe(shard->metrics.load_ns, bf_clock_mono_ns() - begin);
        if (rc == BF_OK) {
            /* None: somebody else's row is in the way; load what is there now. */
            attempt->conflicts += found == 0;
            return attempt->conflicts > shard->settings->batch.conflict_retries
                       ? BF_E_STORE_DATA
                       : BF_OK;
        }
        if (!passes_by_itself(rc) ||
            handle_retriable(shard, batch, attempt, rc, err) != BF_OK) {
            return rc;
        }
    }
}

/* The data of a row is refused. true: go on with the same range. */
static bool handle_refused(bf_shard_t *shard, bf_batch_t *batch, attempt_t *attempt,
                           const bf_err_t *err)
{
    bf_item_t *item = &batch->items[batch->from];
    if (item->decoded != BF_DECODED || item->forced != BF_CODE_OK) {
        /* Not even the rejection can be stored: this is not about the command. */
        return handle_retriable(shard, batch, attempt, BF_E_STORE, err) == BF_OK;
    }
    item->forced = BF_CODE_STORAGE_REJECTED;
    item->code_error = bf_arena_strdup(&batch->arena, err->text);
    bf_log_field_t fields[] = {BF_LOG_INT("shard", shard->index),
                               BF_LOG_INT("partition", item->partition),
                               BF_LOG_INT("offset", item->offset),
                               BF_LOG_STR("instance", item->command.instance_id),
                               BF_LOG_STR("command", item->command.command_id)};
    bf_log_write(shard->worker->log, BF_LOG_WARNING, fields, 5,
                 "the database refused the data of a command, it is rejected: %s",
                 err->text);
    return true;
}

/* Timed steps of one attempt. */
static bf_status_t load_and_execute(bf_shard_t *shard, bf_batch_t *batch, bf_err_t *err)
{
    bool fits = false;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && !fits) {
        int64_t begin = bf_clock_mono_ns();
        rc = bf_batch_load(shard, batch, err);
        int64_t loaded = bf_clock_mono_ns();
        bf_metric_observe(shard->metrics.load_ns, loaded - begin);
        if (rc == BF_OK) {
            rc = bf_batch_execute(shard, batch, &fits, err);
            bf_metric_observe(shard->metrics.execute_ns, bf_clock_mono_ns() - loaded);
        }
        if (rc != BF_OK || !fits) {
            bf_batch_forget(shard, batch);
        }
    }
    return rc == BF_OK ? BF_FAULT("worker.after_execute") : rc;
}

static void count_outcomes(bf_shard_t *shard, const bf_batch_t *batch)
{
    for (size_t i = batch->from; i < batch->to; i++) {
        const bf_item_t *item = &batch->items[i];
        if (item->decoded == BF_DECODED_DEAD) {
            bf_metric_add(shard->metrics.dead_letters, 1);
            continue;
        }
        if (item->earlier || item->first != BF_NO_ITEM) {
            bf_metric_add(shard->metrics.duplicates, 1);
            continue;
        }
        bf_metric_add(shard->metrics.codes[item->code], 1);
        bf_metric_add(item->code == BF_CODE_OK ? shard->metrics.accepted
                                               : shard->metrics.rejected,
                      1);
        if (item->code != BF_CODE_OK && bf_log_is_on(shard->worker->log, BF_LOG_DEBUG)) {
            bf_log_field_t fields[] = {BF_LOG_INT("shard", shard->index),
                                       BF_LOG_INT("partition", item->partition),
                                       BF_LOG_INT("offset", item->offset),
                                       BF_LOG_STR("instance", item->command.instance_id),
                                       BF_LOG_STR("command", item->command.command_id),
                                       BF_LOG_STR("code", bf_code_name(item->code))};
            bf_log_write(shard->worker->log, BF_LOG_DEBUG, fields, 6, "rejected");
        }
    }
}

static void committed(bf_shard_t *shard, bf_batch_t *batch)
{
    for (size_t i = 0; i < batch->write.offset_count; i++) {
        const bf_offset_advance_t *advance = &batch->write.offsets[i];
        bf_part_t *part = bf_assignment_held(&shard->assignment, advance->partition_no);
        if (part) { /* not when it was taken away while the outcome was unknown */
            part->next = advance->to;
        }
    }
    bf_outage_over(shard, &shard->database);
    bf_metric_add(shard->metrics.batches, 1);
    bf_metric_observe(shard->metrics.batch_size, (int64_t)(batch->to - batch->from));
    count_outcomes(shard, batch);
}

/* What to do with an answer. true: try the range again. */
static bool judge(bf_shard_t *shard, bf_batch_t *batch, attempt_t *attempt,
                  bf_status_t status, const bf_commit_report_t *report, bf_err_t *err,
                  verdict_t *ret)
{
    *ret = RANGE_GIVE_UP;
    if (status == BF_E_CONFLICT) {
        handle_conflict(shard, batch, attempt, report);
        bf_batch_forget(shard, batch);
        return true;
    }
    bf_batch_forget(shard, batch);
    if (status == BF_E_DUPLICATE) {
        status = handle_duplicate(shard, batch, attempt, err);
        if (status == BF_OK) {
            return true;
        }
    }
    if (status == BF_E_STORE_DATA) {
        if (batch->to - batch->from > 1) {
            *ret = RANGE_SPLIT;
            return false;
        }
        return handle_refused(shard, batch, attempt, err);
    }
    if (status == BF_E_FENCED) {
        bf_shard_end(shard, BF_SESSION_FENCED, "%s", err->text);
        return false;
    }
    if (passes_by_itself(status)) { /* of loading and executing */
        return handle_retriable(shard, batch, attempt, status, err) == BF_OK;
    }
    if (status != BF_E_CANCELLED) {
        bf_shard_end(shard, BF_SESSION_RESTART, "%s", err->text);
    }
    return false;
}

static verdict_t run_range(bf_shard_t *shard, bf_batch_t *batch)
{
    attempt_t attempt = {0, 0};
    verdict_t verdict = RANGE_GIVE_UP;
    bool again = true;
    while (again && !is_given_up(shard, batch)) {
        bf_err_t err = BF_ERR_INIT;
        bf_commit_report_t report = {0};
        bf_status_t rc = load_and_execute(shard, batch, &err);
        /* Taken while the partitions are ours for certain: a member that the group has
         * thrown out has metadata that the broker does not check. */
        bf_group_metadata_t *group = NULL;
        if (rc == BF_OK) {
            group = bf_consumer_group_metadata(shard->consumer);
            rc = group ? BF_OK : bf_err_nomem(&err, "group metadata");
        }
        if (rc == BF_OK) {
            int64_t begin = bf_clock_mono_ns();
            rc = commit_range(shard, batch, &attempt, &report, &err);
            int64_t spent = bf_clock_mono_ns() - begin;
            bf_metric_observe(shard->metrics.commit_ns, spent);
        }
        if (rc == BF_OK) {
            batch->publication->group = group;
            committed(shard, batch);
            return RANGE_DONE;
        }
        bf_group_metadata_free(group);
        again = judge(shard, batch, &attempt, rc, &report, &err, &verdict);
    }
    if (verdict != RANGE_SPLIT) {
        bf_batch_forget(shard, batch);
    }
    return verdict;
}

void bf_batch_process(bf_shard_t *shard, bf_batch_t *batch)
{
    /* Halves that are still to be done, the next one on top: at most one a level. */
    struct {
        size_t from;
        size_t to;
    } todo[64];
    size_t count = 0;
    todo[count].from = 0;
    todo[count++].to = batch->count;
    while (count > 0 && !is_given_up(shard, batch)) {
        size_t from = todo[count - 1].from;
        size_t to = todo[count - 1].to;
        count--;
        bf_err_t err = BF_ERR_INIT;
        if (bf_batch_set_range(batch, from, to, &err) != BF_OK) {
            bf_shard_end(shard, BF_SESSION_RESTART, "%s", err.text);
            break;
        }
        verdict_t verdict = run_range(shard, batch);
        if (verdict == RANGE_DONE) {
            bf_hand_over(shard, batch);
        } else if (verdict == RANGE_SPLIT) {
            size_t middle = from + (to - from) / 2;
            todo[count].from = middle;
            todo[count++].to = to;
            todo[count].from = from;
            todo[count++].to = middle;
        }
    }
}
