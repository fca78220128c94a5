/*
 * verify_jobs.c - verify: the jobs that services are given (`@kafka:topic`)
 *
 * Every row with the action `dispatch` must have exactly one record in its topic, with
 * the bytes that the row gives.  The topics are those that rows name.  Other records of
 * such a topic are no matter here: somebody else may write to it, too.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/codec.h"
#include "bpmflow/num.h"
#include "worker/cli/connect.h"
#include "worker/cli/verify.h"

/* What is known of one topic. */
typedef struct job_topic {
    int64_t open; /* jobs that are still to be found there */
    bool trimmed; /* retention has removed its beginning */
} job_topic_t;

static bool is_job(const bf_history_t *row)
{
    return row->action == BF_ACTION_DISPATCH && row->target.code;
}

/* Hash of the job that the row gives; its text is in scratch then. 0 = out of memory. */
static uint64_t hash_of_row(bf_verify_t *verify, const bf_history_t *row)
{
    bf_str_clear(&verify->scratch);
    bf_codec_write_job(&verify->scratch, row);
    if (bf_str_failed(&verify->scratch))
        return 0;
    return bf_verify_reply_hash(row->target.code, row->instance_id,
                                strlen(row->instance_id), verify->scratch.data,
                                verify->scratch.len);
}

bf_status_t bf_verify_expect_job(bf_verify_t *verify, const bf_history_t *row,
                                 bf_err_t *err)
{
    if (!is_job(row) || verify->no_jobs)
        return BF_OK;
    uint64_t hash = hash_of_row(verify, row);
    job_topic_t *topic = bf_map_get_str(verify->job_topics, row->target.code);
    if (!topic) {
        topic = bf_arena_calloc(&verify->arena, 1, sizeof *topic);
        if (!topic || bf_map_put(verify->job_topics, row->target.code,
                                 strlen(row->target.code), topic, NULL) != BF_OK)
            return bf_err_nomem(err, "topics of jobs");
    }
    topic->open++;
    return hash && bf_tally_add(&verify->jobs, hash, 1) ? BF_OK
                                                        : bf_err_nomem(err, "jobs");
}

/* --- a record that is not what a row gives, or once more what it gives --- */

typedef struct odd_job {
    bf_verify_t *verify;
    const bf_record_t *record;
    int32_t seq;
    bool found;     /* the row */
    bool same;      /* it gives these bytes */
    bool taken;     /* the row's own job is not expected any more */
    char *row_text; /* in arena; what the row gives instead */
    size_t row_len;
    bf_arena_t arena;
} odd_job_t;

/* Instance and number of the row that the record names; false: this is no job. */
static bool read_id(odd_job_t *odd)
{
    bf_value_t job;
    int64_t seq = 0;
    const bf_record_t *record = odd->record;
    if (!record->value || !record->key_len ||
        bf_json_parse(&odd->arena, record->value, record->value_len, NULL, &job, NULL) !=
            BF_OK)
        return false;
    const char *id = bf_value_get_cstr(&job, "job_id");
    const char *slash = id ? strrchr(id, '/') : NULL;
    if (!slash || (size_t)(slash - id) != record->key_len ||
        memcmp(id, record->key, record->key_len) != 0 ||
        bf_num_parse_range(slash + 1, strlen(slash + 1), 1, INT32_MAX, &seq, NULL) !=
            BF_OK)
        return false;
    odd->seq = (int32_t)seq;
    return true;
}

static bf_status_t find_row(void *arg, const bf_history_t *row, bf_err_t *err)
{
    odd_job_t *odd = arg;
    bf_verify_t *verify = odd->verify;
    const bf_record_t *record = odd->record;
    if (row->seq != odd->seq || !is_job(row) ||
        strcmp(row->target.code, record->topic) != 0)
        return BF_OK;
    uint64_t hash = hash_of_row(verify, row);
    odd->row_text =
        bf_arena_strndup(&odd->arena, verify->scratch.data, verify->scratch.len);
    if (!hash || !odd->row_text)
        return bf_err_nomem(err, "a job");
    odd->row_len = verify->scratch.len;
    odd->found = true;
    odd->same = odd->row_len == record->value_len &&
                !memcmp(odd->row_text, record->value, odd->row_len);
    if (!odd->same && bf_tally_get(&verify->jobs, hash) > 0) {
        odd->taken = true; /* told once, as other content */
        (void)bf_tally_add(&verify->jobs, hash, -1);
    }
    return BF_OK;
}

static void report_content(odd_job_t *odd, const char *id)
{
    bf_value_t row;
    bf_value_t job;
    bf_str_t text;
    const bf_record_t *record = odd->record;
    bf_str_init(&text, 0);
    if (bf_json_parse(&odd->arena, odd->row_text, odd->row_len, NULL, &row, NULL) ==
            BF_OK &&
        bf_json_parse(&odd->arena, record->value, record->value_len, NULL, &job, NULL) ==
            BF_OK)
        bf_verify_describe(&text, &row, &job, "job");
    bf_verify_found(odd->verify, BF_FINDING_JOB_CONTENT, id, odd->seq,
                    "row and job (topic %s, partition %d, offset %lld) differ in %s",
                    record->topic, (int)record->partition, (long long)record->offset,
                    bf_str_peek(&text));
    bf_str_fini(&text);
}

/* No row any more: purged, or lost. */
static void report_without_row(odd_job_t *odd, const char *id)
{
    bf_verify_t *verify = odd->verify;
    const bf_record_t *record = odd->record;
    const bf_verify_instance_t *inst =
        bf_map_get(verify->instances, record->key, record->key_len);
    if (verify->purges.runs > 0 && (!inst || inst->rows == 0) &&
        record->timestamp_ms <= verify->purges.last_wall_ms) {
        verify->purged_jobs++;
        return;
    }
    bf_verify_found(verify, BF_FINDING_JOB_WITHOUT_ROW, id, odd->seq,
                    "the job (topic %s, partition %d, offset %lld) has no row in the "
                    "history",
                    record->topic, (int)record->partition, (long long)record->offset);
}

static void report(odd_job_t *odd, const char *id)
{
    const bf_verify_t *verify = odd->verify;
    const bf_record_t *record = odd->record;
    const bf_verify_instance_t *inst =
        bf_map_get(verify->instances, record->key, record->key_len);
    if (!odd->found)
        report_without_row(odd, id);
    else if (!odd->same)
        report_content(odd, id);
    else if (inst && odd->seq <= inst->rows) /* else a row from after verify began */
        bf_verify_found(odd->verify, BF_FINDING_JOB_TWICE, id, odd->seq,
                        "the job is published twice: topic %s, partition %d, offset %lld "
                        "once more",
                        record->topic, (int)record->partition, (long long)record->offset);
}

static bf_status_t take_odd(bf_verify_pass_t *pass, const bf_record_t *record,
                            bf_err_t *err)
{
    bf_verify_t *verify = pass->verify;
    odd_job_t odd = {.verify = verify, .record = record};
    bf_status_t rc = BF_OK;
    bf_arena_init(&odd.arena, 0);
    if (read_id(&odd)) {
        const char *id = bf_arena_strndup(&odd.arena, record->key, record->key_len);
        rc = id ? bf_store_scan_history(verify->store, id, find_row, &odd, err)
                : bf_err_nomem(err, "a job");
        if (rc == BF_OK)
            report(&odd, id);
        pass->open -= odd.taken;
    }
    bf_arena_fini(&odd.arena);
    return rc;
}

static bf_status_t take_job(bf_verify_pass_t *pass, const bf_record_t *record,
                            bf_err_t *err)
{
    bf_verify_t *verify = pass->verify;
    uint64_t hash = bf_verify_reply_hash(
        record->topic, record->key ? record->key : "", record->key_len,
        record->value ? record->value : "", record->value_len);
    if (bf_tally_get(&verify->jobs, hash) > 0) {
        pass->open--;
        return bf_tally_add(&verify->jobs, hash, -1) ? BF_OK : bf_err_nomem(err, "jobs");
    }
    return pass->late ? BF_OK : take_odd(pass, record, err);
}

static bf_status_t read_topic(bf_verify_t *verify, const char *name, job_topic_t *topic,
                              bf_err_t *err)
{
    bf_reader_t *reader = NULL;
    bf_status_t rc = bf_cli_reader(verify->cli, name, BF_READER_BEGINNING, &reader, err);
    topic->trimmed = rc == BF_OK && bf_verify_is_trimmed(reader);
    verify->jobs_trimmed = verify->jobs_trimmed || topic->trimmed;
    bf_verify_pass_t pass = {.verify = verify,
                             .reader = reader,
                             .what = "jobs",
                             .count = &verify->job_count,
                             .open = topic->open,
                             .take = take_job};
    rc = rc == BF_OK ? bf_verify_run_pass(&pass, err) : rc;
    topic->open = pass.open;
    bf_reader_close(reader);
    return rc;
}

/* --- jobs that did not come: one more pass over the history --- */

typedef struct lost_job {
    struct lost_job *next;
    const char *instance_id;
    const char *node;
    const char *topic;
    const char *command_id;
    int32_t seq;
} lost_job_t;

typedef struct lost_jobs {
    bf_verify_t *verify;
    bf_arena_t arena;
    lost_job_t *first;
    lost_job_t **last;
} lost_jobs_t;

static bf_status_t note_lost(void *arg, const bf_history_t *row, bf_err_t *err)
{
    lost_jobs_t *lost = arg;
    bf_verify_t *verify = lost->verify;
    const job_topic_t *topic =
        is_job(row) ? bf_map_get_str(verify->job_topics, row->target.code) : NULL;
    if (!topic || topic->trimmed)
        return BF_OK;
    uint64_t hash = hash_of_row(verify, row);
    if (!hash || bf_tally_get(&verify->jobs, hash) <= 0)
        return hash ? BF_OK : bf_err_nomem(err, "jobs");
    lost_job_t *job = bf_arena_calloc(&lost->arena, 1, sizeof *job);
    if (!job)
        return bf_err_nomem(err, "jobs");
    *job = (lost_job_t){.instance_id = bf_arena_strdup(&lost->arena, row->instance_id),
                        .node = bf_arena_strdup(&lost->arena, row->source.code),
                        .topic = bf_arena_strdup(&lost->arena, row->target.code),
                        .command_id = bf_arena_strdup(
                            &lost->arena, row->command_id ? row->command_id : ""),
                        .seq = row->seq};
    *lost->last = job;
    lost->last = &job->next;
    return job->instance_id && job->node && job->topic && job->command_id
               ? BF_OK
               : bf_err_nomem(err, "jobs");
}

static bf_status_t report_lost(lost_jobs_t *lost, const lost_job_t *job, bf_err_t *err)
{
    bf_verify_t *verify = lost->verify;
    bf_command_row_t outcome = {0};
    const bf_command_key_t key = {job->instance_id, job->command_id};
    bf_status_t rc =
        bf_store_find_outcomes(verify->store, &key, 1, &lost->arena, &outcome, err);
    if (rc != BF_OK)
        return rc;
    int32_t p = outcome.partition_no;
    bool pending = outcome.command && p >= 0 && p < verify->partition_count &&
                   outcome.offset >= verify->published[p];
    bf_verify_found(verify, BF_FINDING_JOB_MISSING, job->instance_id, job->seq,
                    "the job of node %s (command %s) is not in topic %s%s", job->node,
                    job->command_id, job->topic,
                    pending ? ": applied, not published yet; a worker does it when it "
                              "takes the partition"
                            : "");
    return BF_OK;
}

static bf_status_t name_lost(bf_verify_t *verify, bf_err_t *err)
{
    lost_jobs_t lost = {.verify = verify};
    lost.last = &lost.first;
    bf_arena_init(&lost.arena, 0);
    bf_status_t rc = bf_store_scan_history(verify->store, NULL, note_lost, &lost, err);
    for (lost_job_t *job = lost.first; rc == BF_OK && job; job = job->next)
        rc = report_lost(&lost, job, err);
    bf_arena_fini(&lost.arena);
    return rc;
}

bf_status_t bf_verify_jobs(bf_verify_t *verify, bf_err_t *err)
{
    int64_t missing = 0;
    size_t cursor = 0;
    const char *name;
    size_t len;
    void *topic;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && bf_map_next(verify->job_topics, &cursor, &name, &len, &topic)) {
        rc = read_topic(verify, name, topic, err);
        missing += ((const job_topic_t *)topic)->open;
    }
    return rc == BF_OK && missing > 0 ? name_lost(verify, err) : rc;
}
