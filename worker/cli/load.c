/*
 * load.c - load: many instances, all their commands, and how fast they are answered
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/load.h"

#include <stdlib.h>

#include "worker/cli/commands.h"
#include "worker/cli/connect.h"

#define CONNECT_MS 15000

static bf_status_t prepare(bf_cli_t *cli, bf_load_t *load, bf_err_t *err)
{
    load->rate = (uint64_t)bf_cli_int(cli, "rate");
    load->concurrency = (uint64_t)bf_cli_int(cli, "concurrency");
    load->preload = bf_cli_flag(cli, "preload");
    load->wait = !bf_cli_flag(cli, "no-wait");
    load->timeout_ms = bf_cli_int(cli, "timeout");
    size_t total = (size_t)load->plan.instances * load->plan.commands;
    load->sent_ns = calloc(total, sizeof *load->sent_ns);
    load->replies = calloc(total, sizeof *load->replies);
    if (!load->sent_ns || !load->replies)
        return bf_err_nomem(err, "commands");
    const char *topic = load->wait ? bf_cli_text(cli, "reply-topic") : NULL;
    return bf_cli_client(cli, topic, CONNECT_MS, &load->client, err);
}

static bf_exit_t judge(const bf_load_t *load, const bf_load_stats_t *stats, bool again)
{
    if (!load->wait)
        return BF_EXIT_OK;
    if (stats->extra > 0 || (again && stats->duplicates < stats->answered) ||
        (!again && stats->rejected > 0))
        return BF_EXIT_REJECTED;
    return stats->answered < stats->sent ? BF_EXIT_TIMEOUT : BF_EXIT_OK;
}

static bf_status_t run_round(bf_cli_t *cli, bf_load_t *load, bool again, bf_exit_t *ret,
                             bf_err_t *err)
{
    bf_load_stats_t *stats = malloc(sizeof *stats);
    if (!stats)
        return bf_err_nomem(err, "statistics");
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_status_t rc = bf_load_round(load, stats, err);
    if (stats->sent > 0) { /* what is known is shown after a time-out too */
        bf_load_report(&load->plan, stats, again ? "again" : "first", load->preload,
                       bf_cli_flag(cli, "json"), &out);
        bf_status_t written = bf_cli_write(&out, err);
        rc = rc == BF_OK ? written : rc;
    }
    bf_exit_t judged = judge(load, stats, again);
    *ret = judged > *ret ? judged : *ret;
    bf_str_fini(&out);
    free(stats);
    return rc;
}

static bf_exit_t run_load(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_exit_t result = BF_EXIT_OK;
    bf_load_t load = {0};
    bf_status_t rc = bf_load_plan_init(&load.plan, cli, &err);
    if (rc != BF_OK) {
        bf_cli_error("load: %s", err.text);
        result = rc == BF_E_NOMEM ? BF_EXIT_FAILED : BF_EXIT_USAGE;
        goto out;
    }
    bf_cli_catch_signals();
    rc = prepare(cli, &load, &err);
    if (rc == BF_OK && !bf_cli_flag(cli, "json")) {
        printf("plan      prefix %s: %u instances of graph %s, %u commands each\n",
               load.plan.prefix, load.plan.instances, load.plan.graph->id,
               load.plan.commands);
        (void)fflush(stdout);
    }
    if (rc == BF_OK)
        rc = run_round(cli, &load, false, &result, &err);
    if (rc == BF_OK && bf_cli_flag(cli, "resend"))
        rc = run_round(cli, &load, true, &result, &err);
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
out:
    bf_client_free(load.client);
    free(load.sent_ns);
    free(load.replies);
    bf_load_plan_fini(&load.plan);
    return result;
}

static const bf_cli_option_t load_options[] = {
    {.name = "instances",
     .letter = 'n',
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .fallback = "1000",
     .min = 1,
     .max = 10000000,
     .help = "how many instances"},
    {.name = "steps",
     .letter = 's',
     .kind = BF_OPTION_INT,
     .metavar = "M",
     .min = 0,
     .max = 100000,
     .help = "tasks that are submitted in each instance; default: all on the way"},
    {.name = "pattern",
     .kind = BF_OPTION_CHOICE,
     .metavar = "claim-submit|submit",
     .fallback = "claim-submit",
     .help = "for each task a claim and a submit, or the submit only"},
    {.name = "no-start",
     .kind = BF_OPTION_FLAG,
     .help = "no start command: the first claim or submit makes the instance"},
    {.name = "var",
     .letter = 'v',
     .kind = BF_OPTION_LIST,
     .metavar = "NAME=VALUE",
     .help =
         "variables of the first command; they also choose the way through the graph"},
    {.name = "payload",
     .kind = BF_OPTION_INT,
     .metavar = "BYTES",
     .fallback = "0",
     .min = 0,
     .max = 900000,
     .help = "each submit sets a variable of so many bytes"},
    {.name = "actor-key",
     .kind = BF_OPTION_TEXT,
     .metavar = "KEY",
     .fallback = "actor",
     .help =
         "meta entry of a node that says who does it; nodes without it are automatic; "
         "'' = every activity is a task for anybody"},
    {.name = "rate",
     .letter = 'r',
     .kind = BF_OPTION_INT,
     .metavar = "R",
     .fallback = "0",
     .min = 0,
     .max = 10000000,
     .help = "commands a second; 0 = as fast as possible"},
    {.name = "concurrency",
     .kind = BF_OPTION_INT,
     .metavar = "C",
     .fallback = "1000",
     .min = 1,
     .max = 100000000,
     .help = "commands without a reply at a time"},
    {.name = "preload",
     .kind = BF_OPTION_FLAG,
     .help =
         "send everything before replies are counted; the rate of replies is then that "
         "from the first to the last one"},
    {.name = "no-wait", .kind = BF_OPTION_FLAG, .help = "send only, read no replies"},
    {.name = "resend",
     .kind = BF_OPTION_FLAG,
     .help =
         "when all is answered send the same commands once more; each must be answered "
         "as a duplicate"},
    {.name = "prefix",
     .kind = BF_OPTION_TEXT,
     .metavar = "TEXT",
     .help = "instances are TEXT-0, TEXT-1, ...; commands TEXT-0-0, ...; the same prefix "
             "sends the same commands; default: random, or from the seed"},
    {.name = "seed",
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .fallback = "1",
     .min = 0,
     .max = INT64_MAX,
     .help = "order of the instances"},
    {.name = "timeout",
     .letter = 't',
     .kind = BF_OPTION_DURATION,
     .metavar = "TIME",
     .fallback = "30s",
     .min = 1,
     .max = 86400000,
     .help = "give up when no reply comes for so long"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_load = {
    .name = "load",
    .summary = "generate load and measure replies and latencies",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_KAFKA,
    .options = load_options,
    .description =
        "Reads the definition FILE (the workers must know the same graph), finds its "
        "tasks and their actors, and drives N instances through them: start, then claim "
        "and submit for each task. The commands of all instances are interleaved. Every "
        "reply is matched with its command; at the end the rate of replies, the "
        "latencies from sending to reply, and what was rejected, missing or answered "
        "twice is printed.",
    .status = "1 when commands were rejected or answered twice, or with --resend not "
              "answered as duplicates; 3 when replies are missing.",
    .examples =
        "    bpmflow load leave.yaml --instances 2000\n"
        "    bpmflow load chain.yaml -n 1000 --steps 20 --pattern submit --preload\n"
        "    bpmflow load leave.yaml -n 100 --rate 200 --prefix try-1 --resend --json\n",
    .run = run_load};
