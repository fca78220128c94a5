/*
 * claim.c - takes partitions: ends a dead owner's transaction, claims the row, decides
 *           where to begin, and has published what a former owner may have left out
 *
 * K is the group's committed offset: what has been published.  D is next_offset of the
 * row: what has been applied.  K <= D always, except after the database was restored from
 * a backup.  Consuming begins at D.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/group.h"
#include "worker/shard_int.h"

#define KAFKA_TIMEOUT_MS 10000

/* What is known about a partition before it is claimed. */
typedef struct candidate {
    int32_t no;
    bf_partition_row_t row;
    int64_t committed; /* K; -1 = none */
    int64_t low;
    int64_t high;
    bool set_k; /* claimed; K has to be set to D before it is worked on */
} candidate_t;

/* The number of partitions decides where keys go: a change mixes up the order of an
 * instance's commands. */
static bf_status_t look_at_topic(bf_shard_t *shard, bf_err_t *err)
{
    bf_assignment_t *assignment = &shard->assignment;
    int32_t total = 0;
    char topic_id[65] = "";
    bf_status_t rc = bf_consumer_topic(shard->consumer, shard->topic, KAFKA_TIMEOUT_MS,
                                       &total, topic_id, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (shard->topic_total && total != shard->topic_total) {
        bf_shard_log(shard, BF_LOG_ERROR,
                     "topic %s has %d partitions now and had %d: keys go to other "
                     "partitions, and commands of one instance may be applied out of "
                     "order; stop the producers, let the workers reach the end of the "
                     "topic, then start the producers again",
                     shard->topic, (int)total, (int)shard->topic_total);
    }
    shard->topic_total = total;
    const char *id = shard->worker->broker
                         ? bf_embedded_broker_incarnation(shard->worker->broker)
                         : topic_id;
    memcpy(assignment->topic_id, id, strnlen(id, sizeof(assignment->topic_id) - 1) + 1);
    return bf_assignment_grow(assignment, total, err);
}

static bf_status_t read_rows(bf_shard_t *shard, candidate_t *list, size_t count,
                             bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        rc = bf_store_read_partition(shard->store, shard->topic, list[i].no, &list[i].row,
                                     err);
    }
    return rc;
}

/* An owner that did not give its partition up in order may have left a transaction open:
 * end it now, nobody has to wait for its time-out.  Not when it lives in the group again:
 * its own start has ended the transaction, and fencing would only disturb it. */
static bf_status_t fence_owner(bf_shard_t *shard, const bf_partition_row_t *row,
                               bf_err_t *err)
{
    const bf_publisher_options_t options = {
        .brokers = bf_worker_brokers(shard->worker),
        .client_id = shard->client_id,
        .properties = shard->worker->producer_properties.items,
        .property_count = shard->worker->producer_properties.count,
    };
    char client_id[BF_CLIENT_ID_MAX];
    bf_client_id_of_owner(row->owner, client_id);
    size_t alive = 0;
    bf_status_t rc = bf_group_count_members(
        &(bf_group_options_t){.brokers = options.brokers,
                              .properties = shard->worker->consumer_properties.items,
                              .property_count = shard->worker->consumer_properties.count},
        shard->settings->kafka.group, client_id, KAFKA_TIMEOUT_MS, &alive, err);
    if (rc != BF_OK || alive > 0) {
        return rc;
    }
    bf_shard_log(shard, BF_LOG_WARNING,
                 "%s is gone without giving its partitions up; its open transaction is "
                 "ended",
                 row->owner);
    return bf_publisher_fence(&options, row->transactional_id, KAFKA_TIMEOUT_MS, err);
}

static bool needs_fence(const bf_shard_t *shard, const bf_partition_row_t *row)
{
    return shard->delivery == BF_DELIVERY_TRANSACTIONAL && row->exists &&
           !row->released && row->transactional_id[0] &&
           strcmp(row->incarnation, shard->worker->incarnation) != 0 &&
           /* our own former life: our publisher has ended it by its start */
           strcmp(row->transactional_id, shard->transactional_id) != 0;
}

static bf_status_t fence_dead_owners(bf_shard_t *shard, const candidate_t *list,
                                     size_t count, bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        bool done = !needs_fence(shard, &list[i].row);
        for (size_t j = 0; j < i && !done; j++) {
            done =
                needs_fence(shard, &list[j].row) &&
                strcmp(list[j].row.transactional_id, list[i].row.transactional_id) == 0;
        }
        if (!done) {
            rc = fence_owner(shard, &list[i].row, err);
        }
    }
    return rc;
}

static bf_status_t read_offsets(bf_shard_t *shard, candidate_t *list, size_t count,
                                bf_err_t *err)
{
    bf_topic_partition_t *committed = calloc(count, sizeof(*committed));
    if (!committed) {
        return bf_err_nomem(err, "partitions");
    }
    for (size_t i = 0; i < count; i++) {
        committed[i] = (bf_topic_partition_t){shard->topic, list[i].no, -1};
    }
    bf_status_t rc =
        bf_consumer_committed(shard->consumer, committed, count, KAFKA_TIMEOUT_MS, err);
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        list[i].committed = committed[i].offset;
        rc = bf_consumer_watermarks(shard->consumer, shard->topic, list[i].no,
                                    KAFKA_TIMEOUT_MS, &list[i].low, &list[i].high, err);
    }
    free(committed);
    return rc;
}

/* Where a partition begins that has no row. */
static int64_t first_offset(bf_shard_t *shard, const candidate_t *candidate)
{
    bool at_end = shard->settings->worker.first_start == BF_FIRST_START_END;
    int64_t offset = at_end ? candidate->high : candidate->low;
    if (candidate->committed >= 0) {
        offset = at_end ? candidate->committed : candidate->low;
        bf_shard_log_part(shard, BF_LOG_ERROR, candidate->no,
                          "the group has committed offset %" PRId64 ", but the database "
                          "knows nothing of the partition: is it the right database, or "
                          "was it emptied? Beginning at %" PRId64
                          " (worker.first_start = %s)",
                          candidate->committed, offset, at_end ? "end" : "beginning");
    }
    return offset;
}

/* BF_OK with the row as it is ours now; BF_E_INVALID: the partition is stopped. */
static bf_status_t claim_row(bf_shard_t *shard, const candidate_t *candidate,
                             bf_partition_row_t *ret, bf_err_t *err)
{
    bf_part_t *part = &shard->assignment.parts[candidate->no];
    bf_partition_row_t before = {0};
    bool restart = shard->worker->broker && candidate->row.exists &&
                   strcmp(candidate->row.topic_id, shard->assignment.topic_id) != 0;
    const bf_partition_claim_t claim = {
        .topic = shard->topic,
        .partition_no = candidate->no,
        .topic_id = shard->assignment.topic_id,
        .owner = shard->owner,
        .incarnation = shard->worker->incarnation,
        .transactional_id = shard->transactional_id,
        .first_offset =
            candidate->row.exists && !restart ? 0 : first_offset(shard, candidate),
        .restart = restart,
    };
    bf_status_t rc = bf_store_claim_partition(shard->store, &claim, &before, ret, err);
    if (rc != BF_OK) {
        return rc;
    }
    /* Cached instances are good when nobody has owned the partition since. */
    if (!before.exists || part->last_epoch == 0 || before.epoch != part->last_epoch ||
        restart) {
        bf_cache_drop_partition(shard->cache, candidate->no);
    }
    part->epoch = ret->epoch;
    part->next = ret->next_offset;
    part->position = ret->next_offset;
    return BF_OK;
}

/* Moves D over commands that the topic does not have any more. */
static bf_status_t skip_gap(bf_shard_t *shard, const candidate_t *candidate,
                            bf_err_t *err)
{
    bf_part_t *part = &shard->assignment.parts[candidate->no];
    const bf_offset_advance_t advance = {.topic = shard->topic,
                                         .partition_no = candidate->no,
                                         .epoch = part->epoch,
                                         .from = part->next,
                                         .to = candidate->low};
    const bf_batch_write_t write = {.offsets = &advance, .offset_count = 1};
    bf_commit_report_t report = {0};
    bf_shard_log_part(shard, BF_LOG_ERROR, candidate->no,
                      "commands from %" PRId64 " to %" PRId64
                      " were deleted by the topic's retention before they were applied; "
                      "skipped (worker.on_gap = skip)",
                      part->next, candidate->low - 1);
    bf_status_t rc = bf_store_commit(shard->store, &write, &report, err);
    if (rc == BF_OK) {
        part->next = candidate->low;
        part->position = candidate->low;
    }
    return rc;
}

/* Compares D with what the topic has. false: the partition is stopped, or (rc) trouble.
 */
static bool check_position(bf_shard_t *shard, candidate_t *candidate, bf_status_t *ret_rc,
                           bf_err_t *err)
{
    const bf_part_t *part = &shard->assignment.parts[candidate->no];
    *ret_rc = BF_OK;
    if (part->next > candidate->high) { /* its owner may have gone on since we looked */
        *ret_rc = bf_consumer_watermarks(shard->consumer, shard->topic, candidate->no,
                                         KAFKA_TIMEOUT_MS, &candidate->low,
                                         &candidate->high, err);
    }
    if (*ret_rc != BF_OK) {
        return false;
    }
    if (part->next > candidate->high) {
        bf_assignment_stop_part(
            shard, candidate->no,
            "the database has applied it up to offset %" PRId64 ", but topic %s ends at "
            "%" PRId64 ": the topic was made anew or lost data; new commands would be "
            "taken for applied ones. Delete the row of this partition from "
            "bpm_flow_offset when the commands in the topic are new ones",
            part->next, shard->topic, candidate->high);
        return false;
    }
    if (part->next >= candidate->low) {
        return true;
    }
    if (shard->settings->worker.on_gap == BF_ON_GAP_STOP) {
        bf_assignment_stop_part(
            shard, candidate->no,
            "commands from offset %" PRId64 " to %" PRId64 " were deleted by the topic's "
            "retention before they were applied; set worker.on_gap = \"skip\" to go on "
            "without them",
            part->next, candidate->low - 1);
        return false;
    }
    *ret_rc = skip_gap(shard, candidate, err);
    return *ret_rc == BF_OK;
}

static void ready(bf_shard_t *shard, int32_t partition)
{
    bf_part_t *part = &shard->assignment.parts[partition];
    part->state = BF_PART_READY;
    bf_shard_log_part(shard, BF_LOG_INFO, partition,
                      "claimed at offset %" PRId64 ", epoch %" PRId64, part->next,
                      part->epoch);
}

/* K against D: publish what is missing, or say that the database is older than Kafka. */
static bf_status_t catch_up(bf_shard_t *shard, candidate_t *candidate, bf_err_t *err)
{
    const bf_part_t *part = &shard->assignment.parts[candidate->no];
    int64_t committed = candidate->committed;
    if (committed < 0) {
        candidate->set_k = true;
        if (candidate->row.exists && !shard->worker->broker) {
            bf_shard_log_part(shard, BF_LOG_WARNING, candidate->no,
                              "the group has no committed offset any more (it was "
                              "deleted, or has expired); going on at %" PRId64
                              ", where the database is",
                              part->next);
        }
    } else if (committed > part->next) {
        bf_shard_log_part(shard, BF_LOG_ERROR, candidate->no,
                          "the database is older than Kafka (offset %" PRId64
                          " against %" PRId64 "): it was restored from a backup? The "
                          "commands in between are applied again, and their events "
                          "published again",
                          part->next, committed);
        /* What is applied from here on and not published must be found by a next owner.
         */
        candidate->set_k = true;
    } else if (committed < part->next) {
        return bf_recovery_run(shard, candidate->no, committed, part->next, err);
    }
    return BF_OK;
}

/* Rows that were changed or removed by hand, messages that Kafka does not take: trying
 * again does not help, and the other partitions must not suffer from it. */
static bool is_for_good(bf_status_t status)
{
    return status == BF_E_STORE_DATA || status == BF_E_INVALID || status == BF_E_LIMIT;
}

static bf_status_t claim_one(bf_shard_t *shard, candidate_t *candidate, bf_err_t *err)
{
    bf_partition_row_t row = {0};
    bf_err_t reason = BF_ERR_INIT;
    bf_status_t rc = claim_row(shard, candidate, &row, &reason);
    if (rc == BF_E_INVALID) { /* another topic of the same name */
        bf_assignment_stop_part(shard, candidate->no, "%s", reason.text);
        return BF_OK;
    }
    if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s", reason.text);
    }
    if (!check_position(shard, candidate, &rc, err)) {
        return rc;
    }
    rc = catch_up(shard, candidate, &reason);
    if (is_for_good(rc)) {
        bf_assignment_stop_part(shard, candidate->no,
                                "what was applied up to offset %" PRId64
                                " cannot be published again: %s",
                                row.next_offset, reason.text);
        return BF_OK;
    }
    if (rc != BF_OK) {
        return bf_err_set(err, rc, "%s", reason.text);
    }
    if (!candidate->set_k) {
        ready(shard, candidate->no);
    }
    return BF_OK;
}

/* Gives the group the offset D where it has none or a later one, so that a crash at any
 * time from here on leaves [K, D) known.  One transaction for all partitions. */
static bf_status_t commit_d(bf_shard_t *shard, const candidate_t *list, size_t count,
                            bf_err_t *err)
{
    bf_topic_partition_t *offsets = calloc(count, sizeof(*offsets));
    size_t offset_count = 0;
    if (!offsets) {
        return bf_err_nomem(err, "partitions");
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].set_k) {
            int64_t next = shard->assignment.parts[list[i].no].next;
            offsets[offset_count++] =
                (bf_topic_partition_t){shard->topic, list[i].no, next};
        }
    }
    bf_status_t rc = BF_OK;
    if (offset_count > 0) {
        rc = bf_recovery_commit_offsets(shard, offsets, offset_count, err);
    }
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        if (list[i].set_k) {
            ready(shard, list[i].no);
        }
    }
    free(offsets);
    return rc;
}

bf_status_t bf_claim_wanted(bf_shard_t *shard, bf_err_t *err)
{
    bf_assignment_t *assignment = &shard->assignment;
    /* K is read when nothing of ours is on its way: what an earlier try has handed over
     * would be published a second time otherwise. */
    bf_status_t rc = bf_publisher_drain(shard->publisher, KAFKA_TIMEOUT_MS, err);
    if (rc == BF_OK) {
        rc = look_at_topic(shard, err);
    }
    if (rc != BF_OK) {
        return rc;
    }
    candidate_t *list = calloc((size_t)assignment->total + 1, sizeof(*list));
    size_t count = 0;
    if (!list) {
        return bf_err_nomem(err, "partitions");
    }
    for (int32_t i = 0; i < assignment->total; i++) {
        if (assignment->parts[i].state == BF_PART_WANTED) {
            list[count++].no = i;
        }
    }
    if (count > 0) {
        rc = read_rows(shard, list, count, err);
        if (rc == BF_OK) {
            rc = fence_dead_owners(shard, list, count, err);
        }
        if (rc == BF_OK) {
            rc = read_offsets(shard, list, count, err);
        }
    }
    for (size_t i = 0; i < count && rc == BF_OK; i++) {
        rc = claim_one(shard, &list[i], err);
    }
    if (rc == BF_OK && count > 0) {
        rc = commit_d(shard, list, count, err);
    }
    free(list);
    return rc;
}
