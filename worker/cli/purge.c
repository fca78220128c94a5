/*
 * purge.c - purge: takes away what is long finished, beside running workers
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/purge.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/clock.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"

#define COMMITTED_MS 20000

typedef struct work {
    bf_cli_t *cli;
    bool json;
    bool dry_run;
    bf_store_t *store;
    bf_purge_t *purge;
    /* how far the group has published a topic */
    char *topic; /* that the reader reads; NULL = none yet */
    bf_reader_t *reader;
    /* the archive */
    FILE *file;
    const char *path;
    off_t kept; /* bytes of the file that belong to batches before */
} work_t;

/* --- what is published --- */

static bf_status_t open_reader(work_t *work, const char *topic, bf_err_t *err)
{
    bf_reader_close(work->reader);
    work->reader = NULL;
    free(work->topic);
    work->topic = strdup(topic);
    if (!work->topic)
        return bf_err_nomem(err, "topic");
    return bf_cli_reader_of_group(work->cli, topic, bf_cli_text(work->cli, "group"),
                                  &work->reader, err);
}

static bf_status_t on_published(void *arg, const char *topic, int32_t partition_no,
                                int64_t *ret, bf_err_t *err)
{
    work_t *work = arg;
    bf_status_t rc = BF_OK;
    if (!work->topic || strcmp(work->topic, topic) != 0)
        rc = open_reader(work, topic, err);
    *ret = -1;
    if (rc == BF_E_NOT_FOUND) { /* the topic is gone: nobody knows what was published */
        bf_cli_note("%s: nothing of this topic is purged", err->text);
        bf_err_clear(err);
        return BF_OK;
    }
    if (rc != BF_OK || !work->reader ||
        partition_no >= bf_reader_partition_count(work->reader))
        return rc;
    return bf_reader_committed(work->reader, partition_no, COMMITTED_MS, ret, err);
}

/* --- the archive --- */

static bf_status_t archive_failed(const work_t *work, bf_err_t *err)
{
    return bf_err_set(err, BF_E_IO, "archive %s: %s", work->path, bf_cli_errno_text());
}

static bf_status_t on_line(void *arg, const char *json, size_t len, bf_err_t *err)
{
    work_t *work = arg;
    return fwrite(json, 1, len, work->file) == len ? BF_OK : archive_failed(work, err);
}

static bf_status_t on_keep(void *arg, bf_err_t *err)
{
    work_t *work = arg;
    if (fflush(work->file) != 0 || fsync(fileno(work->file)) != 0)
        return archive_failed(work, err);
    return BF_OK;
}

static bf_status_t on_undo(void *arg, bf_err_t *err)
{
    work_t *work = arg;
    clearerr(work->file);
    if (fflush(work->file) != 0 || ftruncate(fileno(work->file), work->kept) != 0 ||
        fseeko(work->file, 0, SEEK_END) != 0)
        return archive_failed(work, err);
    return BF_OK;
}

/* Lines are added to a file that is there. */
static bf_status_t open_archive(work_t *work, bf_err_t *err)
{
    work->path = bf_cli_text(work->cli, "archive");
    if (!work->path || work->dry_run)
        return BF_OK;
    int fd = open(work->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    work->file = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (!work->file) {
        bf_status_t rc = archive_failed(work, err);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    work->kept = lseek(fd, 0, SEEK_END);
    return work->kept < 0 ? archive_failed(work, err) : BF_OK;
}

static bf_status_t close_archive(work_t *work, bf_err_t *err)
{
    FILE *file = work->file;
    work->file = NULL;
    return file && fclose(file) != 0 ? archive_failed(work, err) : BF_OK;
}

/* --- steps --- */

static void show_progress(const bf_purge_counts_t *counts)
{
    int64_t seen = counts->seen < counts->total ? counts->seen : counts->total;
    bf_cli_progress("purge: %lld %%, %lld instances, %lld rows of history, %lld outcomes",
                    (long long)(counts->total > 0 ? seen * 100 / counts->total : 100),
                    (long long)counts->instances, (long long)counts->history,
                    (long long)counts->commands);
}

static bf_status_t run_steps(work_t *work, bf_err_t *err)
{
    int64_t pause_ms = bf_cli_int(work->cli, "pause");
    int64_t gone = 0;
    bool more = true;
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && more) {
        if (bf_cli_stopped())
            return bf_err_set(err, BF_E_CANCELLED,
                              "interrupted; what is purged by now stays so");
        rc = bf_purge_step(work->purge, &more, err);
        bf_purge_counts_t counts = bf_purge_counts(work->purge);
        show_progress(&counts);
        if (rc == BF_OK && work->file)
            work->kept = ftello(work->file);
        if (rc == BF_OK && more && counts.commands + counts.instances > gone)
            bf_clock_sleep_ms(work->dry_run ? 0 : pause_ms);
        gone = counts.commands + counts.instances;
    }
    return rc;
}

static void put_summary(const work_t *work, int64_t before_ms, bf_str_t *out)
{
    bf_purge_counts_t counts = bf_purge_counts(work->purge);
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_rfc3339(before_ms, time);
    if (work->json) {
        bf_str_printf(out,
                      "{\"dry_run\":%s,\"finished_before\":\"%s\",\"instances\":%lld,"
                      "\"history_rows\":%lld,\"outcomes\":%lld,"
                      "\"outcomes_without_instance\":%lld,\"unpublished\":%lld,"
                      "\"busy\":%lld}\n",
                      work->dry_run ? "true" : "false", time, (long long)counts.instances,
                      (long long)counts.history, (long long)counts.commands,
                      (long long)counts.orphans, (long long)counts.unpublished,
                      (long long)counts.busy);
        return;
    }
    bf_str_printf(out,
                  "%s %lld instances that were finished before %s, with %lld rows of "
                  "history and %lld outcomes of commands (%lld of no instance)\n",
                  work->dry_run ? "would purge" : "purged", (long long)counts.instances,
                  time, (long long)counts.history, (long long)counts.commands,
                  (long long)counts.orphans);
    if (counts.unpublished > 0)
        bf_cli_note("%lld instances stay, since something of them is not published yet",
                    (long long)counts.unpublished);
    if (counts.busy > 0)
        bf_cli_note("%lld instances stay, since a worker was at them",
                    (long long)counts.busy);
}

static bf_status_t purge(work_t *work, bf_err_t *err)
{
    bf_cli_t *cli = work->cli;
    const bf_purge_archive_t archive = {on_line, on_keep, on_undo, work};
    bf_status_t rc = bf_cli_store(cli, &work->store, err);
    if (rc == BF_OK)
        rc = open_archive(work, err);
    const bf_purge_options_t options = {.before_wall_ms = bf_clock_wall_ms() -
                                                          bf_cli_int(cli, "older-than"),
                                        .batch = bf_cli_int(cli, "batch"),
                                        .dry_run = work->dry_run,
                                        .published = on_published,
                                        .published_arg = work,
                                        .archive = work->file ? &archive : NULL};
    if (rc == BF_OK)
        rc = bf_purge_open(work->store, &options, &work->purge, err);
    if (rc != BF_OK)
        return rc;
    bf_str_t out;
    bf_str_init(&out, 0);
    rc = run_steps(work, err);
    bf_cli_progress_end();
    put_summary(work, options.before_wall_ms, &out); /* also what was done until then */
    bf_status_t closed = close_archive(work, rc == BF_OK ? err : NULL);
    rc = rc == BF_OK ? closed : rc;
    bf_status_t written = bf_cli_write(&out, rc == BF_OK ? err : NULL);
    rc = rc == BF_OK ? written : rc;
    bf_str_fini(&out);
    return rc;
}

static bf_exit_t run_purge(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    if (!bf_cli_given(cli, "older-than")) {
        bf_cli_error("purge: --older-than is missing: how long must an instance be "
                     "finished to go? For example --older-than 90d");
        return BF_EXIT_USAGE;
    }
    work_t work = {.cli = cli,
                   .json = bf_cli_flag(cli, "json"),
                   .dry_run = bf_cli_flag(cli, "dry-run")};
    bf_cli_catch_signals();
    bf_status_t rc = purge(&work, &err);
    bf_exit_t result = rc == BF_OK ? BF_EXIT_OK : bf_cli_fail(&err, rc);
    if (work.file)
        (void)fclose(work.file);
    bf_purge_close(work.purge);
    bf_reader_close(work.reader);
    bf_store_close(work.store);
    free(work.topic);
    return result;
}

static const bf_cli_option_t purge_options[] = {
    {.name = "older-than",
     .kind = BF_OPTION_DURATION,
     .metavar = "AGE",
     .min = 0,
     .max = INT64_C(36500) * 86400000,
     .help = "what has not changed for so long: 90d, 12h; must be given"},
    {.name = "batch",
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .fallback = "500",
     .min = 1,
     .max = 10000,
     .help = "instances in one transaction"},
    {.name = "archive",
     .kind = BF_OPTION_TEXT,
     .metavar = "FILE",
     .help = "add every row to FILE, one JSON object a line, before it is deleted"},
    {.name = "dry-run",
     .letter = 'n',
     .kind = BF_OPTION_FLAG,
     .help = "count what would go, change nothing"},
    {.name = "pause",
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .fallback = "20ms",
     .min = 0,
     .max = 3600000,
     .help = "rest between two batches"},
    BF_CLI_OPTION_GROUP,
    {.name = NULL}};

const bf_cli_command_t bf_cli_purge = {
    .name = "purge",
    .summary = "delete instances that are long finished, beside running workers",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA | BF_OPTIONS_DB,
    .options = purge_options,
    .description =
        "Deletes instances that are completed, terminated or withdrawn and have not "
        "changed for AGE, with their history and the outcomes of their commands; and "
        "outcomes of that age that belong to no instance: dead letters, and commands "
        "that were rejected for an instance that there never was. What is not published "
        "yet stays, as does everything of an instance that is not finished."
        "\n\nEach transaction deletes at most --batch instances, or twenty times as many "
        "rows of history. Rows that a worker holds are left for the next time; neither "
        "waits for the other. May be interrupted and run again at any time."
        "\n\nWith --archive the rows are on disk before they are deleted. After a lost "
        "connection or a kill the last batch may stand in the archive twice."
        "\n\nWhat is purged is forgotten: a command that is sent again after that counts "
        "as new. AGE must be longer than any producer repeats its commands, and the "
        "names of purged instances must not be used again.",
    .examples =
        "    bpmflow purge --older-than 90d --dry-run\n"
        "    bpmflow purge --older-than 90d --archive /var/lib/bpmflow/2026.jsonl\n"
        "    bpmflow purge --older-than 30d --batch 100 --pause 1s\n",
    .run = run_purge};
