/*
 * dead_replay.c - dead-letters replay: send records once more to where they came from
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/num.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/dead.h"

#define FLUSH_MS     30000
#define HEADER_LIMIT 1000
#define MARK         "bpmflow_replayed_from"

typedef struct replayer {
    const bf_cli_t *cli;
    bf_client_t *client;
    const char *to;   /* NULL = the topic that the letter names */
    const char *code; /* filter of --all */
    int64_t count;    /* found (counting) or sent */
    int64_t failed;   /* could not be sent: original is gone, ... */
    bool only_count;
    bf_text_t place;   /* "PARTITION:OFFSET" of the letter that is being sent */
    const char *topic; /* its target */
} replayer_t;

/* The original: its headers, and a mark that says that it was sent once more. */
static bf_status_t produce(replayer_t *replayer, const bf_record_t *record, bf_err_t *err)
{
    bf_header_t headers[HEADER_LIMIT + 1];
    size_t count = 0;
    for (size_t i = 0; i < record->header_count && count < HEADER_LIMIT; i++) {
        const char *name = record->headers[i].name;
        if (!bf_dead_is_own_header(name) && strcmp(name, MARK) != 0)
            headers[count++] = record->headers[i];
    }
    headers[count++] = (bf_header_t){MARK, replayer->place.data, replayer->place.len};
    const bf_message_t message = {.topic = replayer->topic,
                                  .key = record->key,
                                  .key_len = record->key_len,
                                  .value = record->value,
                                  .value_len = record->value_len,
                                  .headers = headers,
                                  .header_count = count};
    return bf_client_produce(replayer->client, &message, err);
}

static bf_status_t on_original(void *arg, const bf_record_t *record, bf_err_t *err)
{
    return produce(arg, record, err);
}

/* A letter that was too large lacks its value: the record itself is asked for it. */
static bf_status_t send_original(replayer_t *replayer, const bf_dead_letter_t *letter,
                                 const char *from, bf_err_t *err)
{
    bf_dead_name_t name;
    int64_t partition = 0;
    bf_status_t rc = bf_num_parse_range(letter->partition.data, letter->partition.len, 0,
                                        INT32_MAX, &partition, err);
    if (rc == BF_OK)
        rc = bf_num_parse_range(letter->offset.data, letter->offset.len, 0, INT64_MAX,
                                &name.offset, err);
    if (rc != BF_OK)
        return rc;
    name.partition = (int32_t)partition;
    return bf_dead_fetch(replayer->cli, from, name, on_original, replayer, err);
}

static bf_status_t replay(replayer_t *replayer, const bf_record_t *record, bf_err_t *err)
{
    bf_dead_letter_t letter;
    bf_dead_read(record, &letter);
    char place[48];
    int n = snprintf(place, sizeof place, "%d:%lld", (int)record->partition,
                     (long long)record->offset);
    char topic[BF_TOPIC_NAME_MAX + 1];
    if (letter.topic.len == 0 || letter.topic.len > BF_TOPIC_NAME_MAX)
        return bf_err_set(err, BF_E_INVALID,
                          "%s is no dead letter: it has no header bpmflow_topic; see "
                          "bpmflow dead-letters show %s",
                          place, place);
    memcpy(topic, letter.topic.data, letter.topic.len);
    topic[letter.topic.len] = '\0';
    replayer->place = (bf_text_t){place, (size_t)n};
    replayer->topic = replayer->to ? replayer->to : topic;
    bf_status_t rc = letter.cut.len > 0 ? send_original(replayer, &letter, topic, err)
                                        : produce(replayer, record, err);
    if (rc != BF_OK)
        bf_err_prefix(err, "%s: ", place);
    return rc;
}

static bf_status_t on_letter(void *arg, const bf_record_t *record, bf_err_t *err)
{
    replayer_t *replayer = arg;
    bf_dead_letter_t letter;
    bf_dead_read(record, &letter);
    if (!bf_dead_is(letter.code, replayer->code))
        return BF_OK;
    if (replayer->only_count) {
        replayer->count++;
        return BF_OK;
    }
    bf_status_t rc = replay(replayer, record, err);
    if (rc == BF_E_NOT_FOUND || rc == BF_E_INVALID) { /* this one only */
        bf_cli_error("%s", err->text);
        bf_err_clear(err);
        replayer->failed++;
        return BF_OK;
    }
    replayer->count += rc == BF_OK;
    return rc;
}

static bf_status_t each(bf_cli_t *cli, replayer_t *replayer, bf_err_t *err)
{
    if (bf_cli_flag(cli, "all"))
        return bf_cli_scan(cli, bf_cli_text(cli, "dead-letter-topic"), on_letter,
                           replayer, err);
    bf_status_t rc = BF_OK;
    for (int i = 0; rc == BF_OK && i < cli->operand_count; i++) {
        bf_dead_name_t name;
        rc = bf_dead_parse_name(cli->operands[i], &name, err);
        if (rc == BF_OK)
            rc = bf_dead_fetch(cli, bf_cli_text(cli, "dead-letter-topic"), name,
                               on_letter, replayer, err);
    }
    return rc;
}

/* How many, and may they be sent? *ret_go false: there is nothing to do. */
static bf_status_t confirm(bf_cli_t *cli, replayer_t *replayer, bool *ret_go,
                           bf_exit_t *ret, bf_err_t *err)
{
    replayer->only_count = true;
    bf_status_t rc = each(cli, replayer, err);
    int64_t count = replayer->count;
    replayer->only_count = false;
    replayer->count = 0;
    *ret_go = false;
    if (rc != BF_OK)
        return rc;
    if (count == 0) {
        puts("no dead letter to replay");
        return BF_OK;
    }
    if (bf_cli_flag(cli, "yes") ||
        bf_cli_confirm("Send %lld record%s to %s?", (long long)count,
                       count == 1 ? "" : "s",
                       replayer->to ? replayer->to : "the topic where they came from")) {
        *ret_go = true;
        return BF_OK;
    }
    bf_cli_error("nothing was sent: %s", bf_cli_is_terminal(stdin)
                                             ? "not confirmed"
                                             : "without a terminal say --yes");
    *ret = BF_EXIT_USAGE;
    return BF_OK;
}

static bf_exit_t run_replay(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    bf_exit_t result = BF_EXIT_OK;
    replayer_t replayer = {
        .cli = cli, .to = bf_cli_text(cli, "to"), .code = bf_cli_text(cli, "code")};
    if (bf_cli_flag(cli, "all") == (cli->operand_count > 0)) {
        bf_cli_error(
            "dead-letters replay: name the dead letters (PARTITION:OFFSET), or say "
            "--all");
        return BF_EXIT_USAGE;
    }
    bool go = false;
    bf_status_t rc = confirm(cli, &replayer, &go, &result, &err);
    if (rc == BF_OK && go)
        rc = bf_cli_client(cli, NULL, FLUSH_MS, &replayer.client, &err);
    if (rc == BF_OK && go)
        rc = each(cli, &replayer, &err);
    if (rc == BF_OK && go)
        rc = bf_client_flush(replayer.client, FLUSH_MS, &err);
    if (rc == BF_OK && go) {
        printf("%lld sent, %lld not\n", (long long)replayer.count,
               (long long)replayer.failed);
        result = replayer.failed ? BF_EXIT_REJECTED : BF_EXIT_OK;
    } else if (rc == BF_E_INVALID) {
        bf_cli_error("dead-letters replay: %s", err.text);
        result = BF_EXIT_USAGE;
    } else if (rc != BF_OK) {
        result = bf_cli_fail(&err, rc);
        if (replayer.count)
            bf_cli_note("%lld were sent before that", (long long)replayer.count);
    }
    bf_client_free(replayer.client);
    return result;
}

static const bf_cli_option_t replay_options[] = {
    {.name = "all", .kind = BF_OPTION_FLAG, .help = "every dead letter of the topic"},
    {.name = "code",
     .kind = BF_OPTION_TEXT,
     .metavar = "CODE",
     .help = "only those with this error code"},
    {.name = "to",
     .kind = BF_OPTION_TEXT,
     .metavar = "TOPIC",
     .help = "send them to this topic instead of the one where they came from"},
    {.name = "yes", .letter = 'y', .kind = BF_OPTION_FLAG, .help = "do not ask"},
    {.name = NULL}};

const bf_cli_command_t bf_cli_dead_replay = {
    .name = "dead-letters replay",
    .summary = "send dead letters once more to the topic where they came from",
    .operands = "[PARTITION:OFFSET...]",
    .max_operands = -1,
    .groups = BF_OPTIONS_KAFKA,
    .options = replay_options,
    .description =
        "Produces the original record (key, value, headers) again, with a header "
        "bpmflow_replayed_from that names the dead letter. Worth it when the cause is "
        "gone: a limit was raised, a newer worker understands the message. What is "
        "still wrong becomes a dead letter again. The dead letters themselves stay in "
        "their topic until its retention removes them, so replay --all twice sends them "
        "twice; commands with a command ID are applied once all the same.",
    .status = "1 when some could not be sent.",
    .examples = "    bpmflow dead-letters replay 0:17\n"
                "    bpmflow dead-letters replay --all --code limit_exceeded --yes\n",
    .run = run_replay};
