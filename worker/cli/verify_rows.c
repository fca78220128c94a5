/*
 * verify_rows.c - verify: history, outcomes and instances in the tables
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/codec.h"
#include "worker/cli/connect.h"
#include "worker/cli/verify.h"

#define COMMITTED_MS 20000
#define LOAD_CHUNK   100

/* --- offsets: how far the workers are --- */

static bf_status_t take_partition(bf_verify_t *verify, bf_reader_t *reader, int32_t p,
                                  bf_err_t *err)
{
    const char *topic = bf_cli_text(verify->cli, "command-topic");
    bf_partition_row_t row;
    int64_t published = -1;
    bf_status_t rc = bf_reader_committed(reader, p, COMMITTED_MS, &published, err);
    if (rc == BF_OK)
        rc = bf_store_read_partition(verify->store, topic, p, &row, err);
    if (rc != BF_OK)
        return rc;
    int64_t applied = row.exists ? row.next_offset : -1;
    verify->published[p] = published;
    verify->applied[p] = applied;
    if (published > applied && applied >= 0)
        bf_verify_found(
            verify, BF_FINDING_OFFSETS, NULL, 0,
            "partition %d: published up to offset %lld, but applied only up to "
            "%lld: was the database restored from a backup?",
            (int)p, (long long)published, (long long)applied);
    if (applied > 0 && published < applied)
        verify->unpublished = true;
    return BF_OK;
}

bf_status_t bf_verify_offsets(bf_verify_t *verify, bf_err_t *err)
{
    const bf_cli_t *cli = verify->cli;
    bf_reader_t *reader = NULL;
    bf_status_t rc = bf_cli_reader_of_group(cli, bf_cli_text(cli, "command-topic"),
                                            bf_cli_text(cli, "group"), &reader, err);
    if (rc != BF_OK)
        return rc;
    size_t count = (size_t)bf_reader_partition_count(reader);
    verify->partition_count = (int32_t)count;
    verify->published = calloc(count, sizeof *verify->published);
    verify->applied = calloc(count, sizeof *verify->applied);
    if (!verify->published || !verify->applied)
        rc = bf_err_nomem(err, "partitions");
    for (int32_t p = 0; rc == BF_OK && p < verify->partition_count; p++)
        rc = take_partition(verify, reader, p, err);
    bf_reader_close(reader);
    return rc;
}

/* --- history --- */

static bf_status_t encode(bf_verify_t *verify, const bf_history_t *row, bf_err_t *err)
{
    bf_str_clear(&verify->scratch);
    bf_codec_write_event(&verify->scratch, row);
    return bf_str_status(&verify->scratch, "event", err);
}

static bf_status_t on_row(void *arg, const bf_history_t *row, bf_err_t *err)
{
    bf_verify_t *verify = arg;
    if (bf_cli_stopped())
        return bf_err_set(err, BF_E_CANCELLED, "interrupted");
    bf_verify_instance_t *inst =
        bf_verify_instance(verify, row->instance_id, strlen(row->instance_id));
    if (!inst)
        return bf_err_nomem(err, "instances");
    bf_status_t rc = encode(verify, row, err);
    if (rc != BF_OK)
        return rc;
    inst->odd = inst->odd || row->seq != inst->rows + 1;
    inst->rows = row->seq > inst->rows ? row->seq : inst->rows;
    inst->last_state = (uint8_t)row->instance_state;
    inst->row_digest =
        bf_verify_digest(inst->row_digest, verify->scratch.data, verify->scratch.len);
    if (row->command_id)
        inst->row_commands += bf_verify_step(row->command_id, row->seq);
    verify->row_count++;
    if (verify->row_count % 1000 == 0)
        bf_cli_progress("history: %lld rows", (long long)verify->row_count);
    return bf_verify_expect_job(verify, row, err);
}

bf_status_t bf_verify_history(bf_verify_t *verify, bf_err_t *err)
{
    return bf_store_scan_history(verify->store, NULL, on_row, verify, err);
}

bf_status_t bf_verify_purges(bf_verify_t *verify, bf_err_t *err)
{
    return bf_store_read_purge_log(verify->store, &verify->purges, err);
}

static bf_status_t on_row_again(void *arg, const bf_history_t *row, bf_err_t *err)
{
    bf_verify_t *verify = arg;
    bf_verify_instance_t *inst =
        bf_map_get(verify->instances, row->instance_id, strlen(row->instance_id));
    if (!inst || row->seq < inst->first_event || row->seq > inst->rows)
        return BF_OK;
    bf_status_t rc = encode(verify, row, err);
    if (rc == BF_OK)
        inst->row_digest =
            bf_verify_digest(inst->row_digest, verify->scratch.data, verify->scratch.len);
    return rc;
}

bf_status_t bf_verify_history_again(bf_verify_t *verify, bf_err_t *err)
{
    size_t cursor = 0;
    void *value;
    const char *id;
    size_t len;
    while (bf_map_next(verify->instances, &cursor, &id, &len, &value))
        ((bf_verify_instance_t *)value)->row_digest = 0;
    return bf_store_scan_history(verify->store, NULL, on_row_again, verify, err);
}

/* --- instances --- */

static bf_status_t count_row(void *arg, const bf_history_t *row, bf_err_t *err)
{
    (void)row;
    (void)err;
    ++*(int32_t *)arg;
    return BF_OK;
}

/* The instance counts more steps than the pass over the history has seen: either it has
 * gone on since, or rows are gone. */
static bf_status_t check_newer(bf_verify_t *verify, const char *id, int32_t seq,
                               bf_err_t *err)
{
    int32_t rows = 0;
    bf_status_t rc = bf_store_scan_history(verify->store, id, count_row, &rows, err);
    if (rc == BF_OK && rows < seq)
        bf_verify_found(verify, BF_FINDING_INSTANCE_SEQ, id, 0,
                        "the instance counts %d steps, the history has %d rows", (int)seq,
                        (int)rows);
    return rc;
}

/* There is no row of the instance. It may have been purged meanwhile, with its history.
 */
static bf_status_t check_gone(bf_verify_t *verify, const char *id,
                              const bf_verify_instance_t *known, bf_err_t *err)
{
    int32_t rows = 0;
    if (known->rows == 0)
        return BF_OK;
    bf_status_t rc = bf_store_scan_history(verify->store, id, count_row, &rows, err);
    if (rc == BF_OK && rows == 0)
        rc = bf_verify_purges(verify, err);
    if (rc == BF_OK && rows == 0 && verify->purges.runs > 0)
        verify->purged_instances++;
    else if (rc == BF_OK)
        bf_verify_found(verify, BF_FINDING_INSTANCE_MISSING, id, 0,
                        "%d rows of history, but no row of the instance",
                        (int)known->rows);
    return rc;
}

static bf_status_t check_instance(bf_verify_t *verify, const char *id,
                                  const bf_verify_instance_t *known,
                                  const bf_instance_t *inst, bf_err_t *err)
{
    if (!inst)
        return check_gone(verify, id, known, err);
    int32_t seq = bf_instance_seq(inst);
    bf_instance_status_t status = bf_instance_status(inst);
    if (seq > known->rows)
        return check_newer(verify, id, seq, err);
    if (seq < known->rows)
        bf_verify_found(verify, BF_FINDING_INSTANCE_SEQ, id, 0,
                        "the instance counts %d steps, the history has %d rows", (int)seq,
                        (int)known->rows);
    bool ended = known->last_state == BF_INSTANCE_COMPLETED ||
                 known->last_state == BF_INSTANCE_TERMINATED;
    if (seq == known->rows && seq > 0 &&
        ((ended && status == BF_INSTANCE_RUNNING) ||
         (known->last_state == BF_INSTANCE_RUNNING && status == BF_INSTANCE_TERMINATED)))
        bf_verify_found(verify, BF_FINDING_INSTANCE_STATE, id, known->rows,
                        "the instance is %s, its last row says %s",
                        bf_instance_status_name(status),
                        bf_instance_status_name((bf_instance_status_t)known->last_state));
    return BF_OK;
}

static const bf_verify_instance_t *known_of(const bf_verify_t *verify, const char *id)
{
    return bf_map_get(verify->instances, id, strlen(id));
}

/* One after the other, where a row of several cannot be read. */
static bf_status_t check_singly(bf_verify_t *verify, const char *const *ids, size_t count,
                                bf_err_t *err)
{
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < count; i++) {
        bf_instance_t *inst = NULL;
        rc = bf_store_load_instances(verify->store, &ids[i], 1, &inst, err);
        if (rc == BF_E_STORE_DATA) {
            bf_verify_found(verify, BF_FINDING_INSTANCE_STATE, ids[i], 0, "%s",
                            err->text);
            bf_err_clear(err);
            rc = BF_OK;
        } else if (rc == BF_OK) {
            rc = check_instance(verify, ids[i], known_of(verify, ids[i]), inst, err);
        }
        bf_instance_free(inst);
    }
    return rc;
}

static bf_status_t check_chunk(bf_verify_t *verify, const char *const *ids, size_t count,
                               bf_err_t *err)
{
    bf_instance_t *instances[LOAD_CHUNK] = {NULL};
    bf_status_t rc = bf_store_load_instances(verify->store, ids, count, instances, err);
    if (rc == BF_E_STORE_DATA) {
        bf_err_clear(err);
        return check_singly(verify, ids, count, err);
    }
    for (size_t i = 0; rc == BF_OK && i < count; i++)
        rc = check_instance(verify, ids[i], known_of(verify, ids[i]), instances[i], err);
    for (size_t i = 0; i < count; i++)
        bf_instance_free(instances[i]);
    return rc;
}

bf_status_t bf_verify_repository(bf_verify_t *verify, bf_err_t *err)
{
    const char *ids[LOAD_CHUNK];
    size_t count = 0;
    size_t cursor = 0;
    size_t done = 0;
    const char *id;
    size_t len;
    void *value;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && bf_map_next(verify->instances, &cursor, &id, &len, &value)) {
        if (bf_id_check("instance", id, len, NULL) == BF_OK)
            ids[count++] = id;
        if (count == LOAD_CHUNK) {
            rc = check_chunk(verify, ids, count, err);
            done += count;
            count = 0;
            bf_cli_progress("instances: %zu of %zu", done,
                            bf_map_count(verify->instances));
        }
        if (bf_cli_stopped())
            rc = bf_err_set(err, BF_E_CANCELLED, "interrupted");
    }
    if (rc == BF_OK && count > 0)
        rc = check_chunk(verify, ids, count, err);
    return rc;
}
