/*
 * verify.c - verify: the order of the passes, the summary
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/verify.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"

static bf_status_t open_all(bf_verify_t *verify, bf_reader_t **ret_events,
                            bf_reader_t **ret_replies, bf_err_t *err)
{
    bf_cli_t *cli = verify->cli;
    verify->instances = bf_map_new();
    verify->reply_topics = bf_map_new();
    verify->job_topics = bf_map_new();
    if (!verify->instances || !verify->reply_topics || !verify->job_topics)
        return bf_err_nomem(err, "verify");
    bf_status_t rc = bf_cli_store(cli, &verify->store, err);
    if (rc == BF_OK)
        rc = bf_cli_reader(cli, bf_cli_text(cli, "event-topic"), BF_READER_BEGINNING,
                           ret_events, err);
    const char *enabled =
        cli->config ? bf_cli_config_get(cli->config, "replies.enabled") : NULL;
    const char *delivery =
        cli->config ? bf_cli_config_get(cli->config, "replies.delivery") : NULL;
    verify->early_replies =
        bf_cli_flag(cli, "early-replies") || (delivery && strcmp(delivery, "early") == 0);
    bool off =
        bf_cli_flag(cli, "no-replies") || (enabled && strcmp(enabled, "false") == 0);
    if (rc == BF_OK && !off)
        rc = bf_cli_reader(cli, bf_cli_text(cli, "reply-topic"), BF_READER_BEGINNING,
                           ret_replies, err);
    return rc;
}

static bf_status_t run_passes(bf_verify_t *verify, bf_err_t *err)
{
    bf_reader_t *events = NULL;
    bf_reader_t *replies = NULL;
    bf_status_t rc = open_all(verify, &events, &replies, err);
    if (rc == BF_OK)
        rc = bf_verify_offsets(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_history(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_purges(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_events(verify, events, err);
    bf_reader_close(events);
    if (rc == BF_OK)
        rc = bf_verify_details(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_commands(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_purges(verify, err);
    if (rc == BF_OK && replies)
        rc = bf_verify_replies(verify, replies, err);
    bf_reader_close(replies);
    if (rc == BF_OK)
        rc = bf_verify_jobs(verify, err);
    if (rc == BF_OK)
        rc = bf_verify_repository(verify, err);
    return rc;
}

static void put_kinds(bf_verify_t *verify, bool json)
{
    static const char *const names[] = {
#define X(name, text) text,
        BF_FINDING_LIST(X)
#undef X
    };
    const char *comma = "";
    for (int kind = 0; kind < BF_FINDING_COUNT; kind++) {
        if (verify->by_kind[kind] == 0)
            continue;
        bf_str_printf(&verify->out, json ? "%s\"%s\":%lld" : "%s%s %lld", comma,
                      names[kind], (long long)verify->by_kind[kind]);
        comma = json ? "," : ", ";
    }
}

static void put_summary(bf_verify_t *verify, int64_t duration_ms)
{
    bf_str_t *out = &verify->out;
    if (verify->json) {
        bf_str_printf(
            out,
            "{\"instances\":%zu,\"rows\":%lld,\"events\":%lld,\"commands\":%lld,"
            "\"replies\":%lld,\"jobs\":%lld,\"findings\":%lld,\"by_kind\":{",
            bf_map_count(verify->instances), (long long)verify->row_count,
            (long long)verify->event_count, (long long)verify->command_count,
            (long long)verify->reply_count, (long long)verify->job_count,
            (long long)verify->finding_count);
        put_kinds(verify, true);
        bf_str_printf(
            out,
            "},\"events_trimmed\":%s,\"replies_trimmed\":%s,"
            "\"jobs_trimmed\":%s,\"purged\":%s,\"purged_instances\":%lld,"
            "\"purged_replies\":%lld,\"purged_jobs\":%lld,"
            "\"seconds\":%.3f}\n",
            verify->events_trimmed ? "true" : "false",
            verify->replies_trimmed ? "true" : "false",
            verify->jobs_trimmed ? "true" : "false", verify->purged ? "true" : "false",
            (long long)verify->purged_instances, (long long)verify->purged_replies,
            (long long)verify->purged_jobs, (double)duration_ms / 1000.0);
        return;
    }
    if (verify->finding_count > verify->limit)
        bf_str_printf(out, "... and %lld more (--limit)\n",
                      (long long)(verify->finding_count - verify->limit));
    bf_str_printf(out,
                  "%zu instances, %lld rows, %lld events, %lld commands, %lld replies",
                  bf_map_count(verify->instances), (long long)verify->row_count,
                  (long long)verify->event_count, (long long)verify->command_count,
                  (long long)verify->reply_count);
    if (bf_map_count(verify->job_topics) > 0)
        bf_str_printf(out, ", %lld jobs", (long long)verify->job_count);
    bf_str_printf(out, " in %.1f s: ", (double)duration_ms / 1000.0);
    if (verify->finding_count == 0) {
        bf_str_puts(out, "clean\n");
        return;
    }
    bf_str_printf(out, "%lld finding%s (", (long long)verify->finding_count,
                  verify->finding_count == 1 ? "" : "s");
    put_kinds(verify, false);
    bf_str_puts(out, ")\n");
}

static void put_notes(const bf_verify_t *verify)
{
    if (verify->json)
        return;
    if (verify->events_trimmed)
        bf_cli_note(
            "retention has removed the oldest events; their rows cannot be compared");
    if (verify->replies_trimmed)
        bf_cli_note("retention has removed the oldest replies; missing replies are not "
                    "looked for");
    if (verify->jobs_trimmed)
        bf_cli_note("retention has removed the oldest jobs; missing jobs are not looked "
                    "for there");
    if (verify->purged_instances > 0 || verify->purged_replies > 0 ||
        verify->purged_jobs > 0)
        bf_cli_note("%lld instances are purged: their events, %lld replies to purged "
                    "commands and %lld jobs have no rows to be compared with",
                    (long long)verify->purged_instances,
                    (long long)verify->purged_replies, (long long)verify->purged_jobs);
    if (verify->purged)
        bf_cli_note("some rows belong to no command that is still recorded: purged, or "
                    "written by the library without Kafka");
    if (verify->unpublished && verify->finding_count == 0)
        bf_cli_note("workers have applied commands that they have not published yet");
}

static bf_exit_t run_verify(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    int64_t started_ms = bf_clock_mono_ms();
    bf_verify_t verify = {.cli = cli,
                          .json = bf_cli_flag(cli, "json"),
                          .no_jobs = bf_cli_flag(cli, "no-jobs"),
                          .limit = bf_cli_int(cli, "limit"),
                          .settle_ms = bf_cli_int(cli, "settle")};
    bf_arena_init(&verify.arena, 0);
    bf_str_init(&verify.scratch, 0);
    bf_str_init(&verify.out, 0);
    bf_cli_catch_signals();
    bf_status_t rc = run_passes(&verify, &err);
    bf_cli_progress_end();
    bf_exit_t result = verify.finding_count ? BF_EXIT_REJECTED : BF_EXIT_OK;
    if (rc == BF_OK) {
        put_summary(&verify, bf_clock_mono_ms() - started_ms);
        put_notes(&verify);
        rc = bf_cli_write(&verify.out, &err);
    }
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
    bf_store_close(verify.store);
    bf_map_free(verify.instances);
    bf_map_free(verify.reply_topics);
    bf_map_free(verify.job_topics);
    free(verify.replies.slots);
    free(verify.jobs.slots);
    free(verify.published);
    free(verify.applied);
    bf_str_fini(&verify.scratch);
    bf_str_fini(&verify.out);
    bf_arena_fini(&verify.arena);
    return result;
}

static const bf_cli_option_t verify_options[] = {
    BF_CLI_OPTION_GROUP,
    {.name = "limit",
     .letter = 'n',
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .fallback = "100",
     .min = 0,
     .max = INT64_MAX,
     .help = "print at most N findings; all are counted"},
    {.name = "settle",
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .fallback = "3s",
     .min = 0,
     .max = 3600000,
     .help = "how long to wait for events and replies that are on their way"},
    {.name = "no-replies",
     .kind = BF_OPTION_FLAG,
     .help = "do not look at replies (the workers run with replies.enabled = false)"},
    {.name = "no-jobs",
     .kind = BF_OPTION_FLAG,
     .help = "do not look at the topics of jobs (@kafka:topic)"},
    {.name = "early-replies",
     .kind = BF_OPTION_FLAG,
     .help = "a reply may stand there twice, with the same bytes (the workers run with "
             "replies.delivery = early)"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_verify = {
    .name = "verify",
    .summary = "prove that tables, events, replies and jobs agree",
    .operands = "",
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA | BF_OPTIONS_DB,
    .options = verify_options,
    .description =
        "Reads the event topic and the reply topic (read committed) up to their ends, "
        "the "
        "history, the outcomes of commands and the instances, and compares: each row has "
        "exactly one event with the same bytes; the events of an instance stand in one "
        "partition, in the order of their sequence numbers, without gaps; each event has "
        "its row; each outcome has exactly one reply, its rows are there; each row of "
        "work "
        "that is handed to a service has exactly one job in its topic, with the same "
        "bytes; each instance counts as many steps as it has rows, and its state is that "
        "of its last row."
        "\n\nFor each finding the instance, the sequence number and what is wrong are "
        "printed. Works beside running workers, and beside purge: instances that were "
        "purged are counted, not reported. Memory is bounded by the number of "
        "instances and commands, not by the length of the histories.",
    .status = "1 when anything is found.",
    .examples = "    bpmflow verify -c /etc/bpmflow/worker.conf\n"
                "    bpmflow verify --json | tail -n 1 | jq .findings\n",
    .run = run_verify};
