/*
 * test_cli_send.c - commands and their replies, load; a thread of the test answers
 *
 * The answerer accepts everything, but: instances whose ID begins with "no" are rejected,
 * with "mute" get no answer, and a command that came before is answered as a duplicate.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpmflow/client.h"
#include "bpmflow/map.h"
#include "tests/support/bus.h"
#include "tests/support/cli.h"

typedef struct answerer {
    const char *brokers;
    char *commands;
    char *replies;
    pthread_t thread;
    int stop;            /* atomic */
    int twice;           /* atomic: answer each command twice */
    bf_map_t *seen;      /* of the thread */
    bf_reader_t *reader; /* of the thread */
    bf_client_t *client; /* of the thread */
    char texts[3][200];
    const char *env[4];
    test_cli_t cli;
} answerer_t;

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void reply_to(answerer_t *own, const bf_command_t *command)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_str_t json;
    bf_str_init(&json, 0);
    bool rejected = starts(command->instance_id, "no");
    bool again = bf_map_get_str(own->seen, command->command_id) != NULL;
    cr_assert_eq(bf_map_put(own->seen, command->command_id, strlen(command->command_id),
                            own, NULL),
                 BF_OK);
    bf_outcome_t outcome = {.code = rejected ? BF_CODE_NOT_OPERABLE : BF_CODE_OK,
                            .error = rejected ? "ann may not do it" : NULL,
                            .revision = 3,
                            .instance_state = BF_INSTANCE_RUNNING};
    bf_codec_write_reply(&json, command, &outcome, again);
    bf_reply_t reply = {.topic = command->reply_to ? command->reply_to : own->replies,
                        .instance_id = command->instance_id,
                        .command_id = command->command_id,
                        .body = {json.data, json.len}};
    bf_message_t message;
    cr_assert_eq(bf_codec_make_reply(&arena, &reply, &message, NULL), BF_OK);
    int times = __atomic_load_n(&own->twice, __ATOMIC_SEQ_CST) ? 2 : 1;
    for (int i = 0; i < times; i++)
        cr_assert_eq(bf_client_produce(own->client, &message, NULL), BF_OK);
    bf_str_fini(&json);
    bf_arena_fini(&arena);
}

static void answer(answerer_t *own, const bf_record_t *record)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_err_t err = BF_ERR_INIT;
    bf_command_t command;
    bf_decoded_t what;
    bf_code_t code;
    const bf_codec_limits_t limits = {.require_key_match = true, .allow_force = true};
    cr_assert_eq(
        bf_codec_decode_command(record, &limits, &arena, &command, &what, &code, &err),
        BF_OK);
    cr_assert_eq(what, BF_DECODED, "%s", err.text);
    if (!starts(command.instance_id, "mute"))
        reply_to(own, &command);
    bf_arena_fini(&arena);
}

static void *run_answerer(void *arg)
{
    answerer_t *own = arg;
    while (!__atomic_load_n(&own->stop, __ATOMIC_SEQ_CST)) {
        bf_record_t record;
        if (bf_reader_next(own->reader, 20, &record, NULL) != BF_OK)
            continue;
        answer(own, &record);
        bf_reader_release(&record);
    }
    return NULL;
}

static void begin(answerer_t *own)
{
    bf_err_t err = BF_ERR_INIT;
    memset(own, 0, sizeof *own);
    own->brokers = test_kafka();
    own->commands = test_name("commands");
    own->replies = test_name("replies");
    test_topic_create(own->brokers, own->commands, 2);
    test_topic_create(own->brokers, own->replies, 2);
    own->seen = bf_map_new();
    cr_assert_not_null(own->seen);
    bf_reader_options_t from = {.brokers = own->brokers, .topic = own->commands};
    cr_assert_eq(bf_reader_open(&from, TEST_TIMEOUT_MS, &own->reader, &err), BF_OK, "%s",
                 err.text);
    bf_client_options_t to = {.brokers = own->brokers, .command_topic = own->commands};
    cr_assert_eq(bf_client_new(&to, TEST_TIMEOUT_MS, &own->client, &err), BF_OK, "%s",
                 err.text);
    (void)snprintf(own->texts[0], sizeof own->texts[0], "BPMFLOW_BROKERS=%s",
                   own->brokers);
    (void)snprintf(own->texts[1], sizeof own->texts[1], "BPMFLOW_COMMAND_TOPIC=%s",
                   own->commands);
    (void)snprintf(own->texts[2], sizeof own->texts[2], "BPMFLOW_REPLY_TOPIC=%s",
                   own->replies);
    for (int i = 0; i < 3; i++)
        own->env[i] = own->texts[i];
    own->cli.env = own->env;
    cr_assert_eq(pthread_create(&own->thread, NULL, run_answerer, own), 0);
}

static void end(answerer_t *own)
{
    __atomic_store_n(&own->stop, 1, __ATOMIC_SEQ_CST);
    cr_assert_eq(pthread_join(own->thread, NULL), 0);
    bf_client_free(own->client);
    bf_reader_close(own->reader);
    bf_map_free(own->seen);
    test_topic_delete(own->brokers, own->commands);
    test_topic_delete(own->brokers, own->replies);
    free(own->commands);
    free(own->replies);
    test_cli_fini(&own->cli);
}

Test(cli_send, exit_status__tells_the_outcome)
{
    answerer_t own;
    begin(&own);
    test_cli_t *cli = &own.cli;
    test_cli_run(cli, "start", "yes-1", "--graph", "leave", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "accepted  start of yes-1  (revision 3, running)\n");
    test_cli_run(cli, "claim", "no-1", "--actor", "ann", NULL);
    test_cli_expect(cli, 1);
    test_cli_expect_out(cli, "rejected  claim of no-1");
    test_cli_expect_out(cli, "reason    not_operable: ann may not do it\n");
    test_cli_run(cli, "submit", "mute-1", "hr", "--timeout", "300ms", NULL);
    test_cli_expect(cli, 3);
    test_cli_expect_err(cli, "no reply");
    test_cli_run(cli, "submit", "mute-1", "hr", "--no-wait", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "sent      command ID ");
    test_cli_run(cli, "find", "yes-1", "--command-topic", "no-such-topic", NULL);
    test_cli_expect(cli, 4);
    test_cli_expect_err(cli, "no-such-topic");
    end(&own);
}

Test(cli_send, json__is_the_reply_as_it_came)
{
    answerer_t own;
    begin(&own);
    test_cli_t *cli = &own.cli;
    test_cli_run(cli, "next", "yes-1", "--json", "--command-id", "c-1", NULL);
    test_cli_expect(cli, 0);
    cr_assert(starts(cli->out, "{\"command_id\":\"c-1\",\"command\":\"find_next\""));
    cr_assert_eq(test_cli_count(cli->out, "\n"), 1);
    test_cli_run(cli, "next", "yes-1", "--command-id", "c-1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "this command was applied before");
    end(&own);
}

Test(cli_send, every_verb__arrives)
{
    answerer_t own;
    begin(&own);
    test_cli_t *cli = &own.cli;
    static const char *const verbs[] = {"claim", "find", "state"};
    for (size_t i = 0; i < 3; i++) {
        test_cli_run(cli, verbs[i], "yes-2", NULL);
        test_cli_expect(cli, 0);
    }
    test_cli_run(cli, "submit-if-waiting", "yes-2", "hr", "--action", "1010", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "submit", "yes-2", "hr", "--action", "bakc", "--dry-run", NULL);
    test_cli_expect(cli, 2);
    test_cli_expect_err(cli, "did you mean 'back'?");
    test_cli_run(cli, "submit-if-waiting", "yes-2", "hr", "--action", "back", NULL);
    test_cli_expect(cli, 0);
    test_cli_run(cli, "set-vars", "yes-2", "a=1", NULL);
    test_cli_expect(cli, 0);
    test_cli_expect_out(cli, "accepted  set_vars of yes-2");
    end(&own);
}

/* --- load --- */

static char *chain_file(void)
{
    static char path[64];
    (void)snprintf(path, sizeof path, "/tmp/bpmflow-test-%d-chain.yml", (int)getpid());
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_geq(fputs("id: chain\nlayout:\n"
                        "  - {id: s, type: start}\n"
                        "  - {id: a, meta: {actor: ann}}\n"
                        "  - {id: auto}\n"
                        "  - {id: choice, type: exclusive, link: [\n"
                        "      {nextId: b, when: 'day > 3'}, {nextId: c}]}\n"
                        "  - {id: b, meta: {actor: [bob, bea]}, link: fork}\n"
                        "  - {id: c, meta: {actor: cid}, link: fork}\n"
                        "  - {id: fork, type: parallel, link: [d, f]}\n"
                        "  - {id: d, meta: {actor: dan}, link: join}\n"
                        "  - {id: f, meta: {actor: fay}, link: join}\n"
                        "  - {id: join, type: parallel, link: e}\n"
                        "  - {id: e, type: end}\n",
                        file),
                  0);
    cr_assert_eq(fclose(file), 0);
    return path;
}

Test(cli_load, plan__follows_the_variables)
{
    answerer_t own;
    begin(&own);
    const char *path = chain_file();
    test_cli_run(&own.cli, "load", path, "-n", "3", "--no-wait", "--prefix", "p", "--var",
                 "day=5", NULL);
    test_cli_expect(&own.cli, 0);
    test_cli_expect_out(&own.cli,
                        "prefix p: 3 instances of graph chain, 9 commands each");
    char *text = test_read_all(own.brokers, own.commands);
    cr_assert_eq(test_cli_count(text, "\"command\":\"start\""), 3);
    cr_assert_eq(test_cli_count(text, "\"node_id\":\"b\",\"actor\":\"bob\""), 3);
    cr_assert_eq(test_cli_count(text, "\"node_id\":\"c\""), 0);
    cr_assert_eq(test_cli_count(text, "\"node_id\":\"f\",\"actor\":\"fay\""), 3);
    cr_assert_eq(test_cli_count(text, "\"vars\":{\"day\":5}"), 3);
    free(text);
    test_cli_run(&own.cli, "load", path, "-n", "1", "-s", "9", "--no-wait", NULL);
    test_cli_expect(&own.cli, 2);
    test_cli_expect_err(&own.cli, "has only 4 tasks on its way");
    test_cli_run(&own.cli, "load", path, "--actor-key", "who", "--no-wait", NULL);
    test_cli_expect(&own.cli, 2);
    cr_assert_eq(unlink(path), 0);
    end(&own);
}

Test(cli_load, load__counts_replies_and_duplicates)
{
    answerer_t own;
    begin(&own);
    const char *path = chain_file();
    test_cli_run(&own.cli, "load", path, "-n", "50", "--pattern", "submit", "--payload",
                 "100", "--resend", "--json", "--prefix", "q", NULL);
    test_cli_expect(&own.cli, 0);
    cr_assert_eq(test_cli_count(own.cli.out, "\n"), 2);
    test_cli_expect_out(&own.cli, "{\"round\":\"first\",\"prefix\":\"q\"");
    test_cli_expect_out(&own.cli, "\"commands\":250,\"sent\":250,\"answered\":250,"
                                  "\"accepted\":250,\"rejected\":0,\"duplicates\":0,"
                                  "\"missing\":0,\"extra\":0");
    test_cli_expect_out(&own.cli, "\"duplicates\":250,\"missing\":0,\"extra\":0");
    test_cli_run(&own.cli, "load", path, "-n", "10", "--prefix", "no", "--preload", NULL);
    test_cli_expect(&own.cli, 1);
    test_cli_expect_out(&own.cli, "0 accepted, 90 rejected");
    test_cli_expect_out(&own.cli, "rejected  90 not_operable");
    test_cli_run(&own.cli, "load", path, "-n", "10", "--prefix", "mute", "--timeout",
                 "300ms", NULL);
    test_cli_expect(&own.cli, 3);
    test_cli_expect_out(&own.cli, "90 missing");
    __atomic_store_n(&own.twice, 1, __ATOMIC_SEQ_CST);
    test_cli_run(&own.cli, "load", path, "-n", "10", "--rate", "1000", NULL);
    test_cli_expect(&own.cli, 1);
    cr_assert_eq(unlink(path), 0);
    end(&own);
}
