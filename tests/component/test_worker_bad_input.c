/*
 * test_worker_bad_input.c - each kind of bad input, and what it gets
 *
 * Each case is sent between two good commands of the same instance: what cannot be read
 * becomes a dead letter, the rest a rejected reply with its code, and the good ones are
 * answered as if nothing was.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/worker_process.h"

static test_worker_t worker;

static void setup(void)
{
    test_worker_begin(&worker);
}

static void teardown(void)
{
    test_worker_end(&worker);
}

TestSuite(bad_input, .init = setup, .fini = teardown, .timeout = 120);

#define ID_65   "12345678901234567890123456789012345678901234567890123456789012345"
#define DEEP_10 "[[[[[[[[[["

typedef struct bad_case {
    const char *what;
    const char *code;
    bool dead;         /* a dead letter; else a rejected reply to command `bad` */
    const char *value; /* single quotes for double ones; NULL = tombstone */
    const char *key;   /* "" = none */

} bad_case_t;

static const bad_case_t cases[] = {
    {"no JSON", "malformed", true, "start please", "i"},
    {"JSON that ends early", "malformed", true, "{'command_id':'bad'", "i"},
    {"no object", "malformed", true, "[1,2]", "i"},
    {"tombstone", "malformed", true, NULL, "i"},
    {"empty value", "malformed", true, "", "i"},
    {"duplicate members", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':'i','instance_id':'j'}", "i"},
    {"bad UTF-8", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':'i','message':'\xff'}", "i"},
    {"a NUL in a text", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':'i','message':'a\\u0000b'}",
     "i"},
    {"no command_id", "malformed", true, "{'command':'find','instance_id':'i'}", "i"},
    {"command_id of the wrong type", "malformed", true,
     "{'command_id':5,'command':'find','instance_id':'i'}", "i"},
    {"no instance_id", "malformed", true, "{'command_id':'bad','command':'find'}", "i"},
    {"empty instance_id", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':''}", "i"},
    {"a blank at the end of an ID", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':'i '}", "i "},
    {"a control character in an ID", "malformed", true,
     "{'command_id':'bad','command':'find','instance_id':'i\\u0007'}", "i"},
    {"an ID of 65 characters", "limit_exceeded", true,
     "{'command_id':'bad','command':'find','instance_id':'" ID_65 "'}", ID_65},
    {"a command ID of 65 characters", "limit_exceeded", true,
     "{'command_id':'" ID_65 "','command':'find','instance_id':'i'}", "i"},
    {"nested deeper than allowed", "limit_exceeded", true,
     "{'command_id':'bad','command':'find','instance_id':'i','vars':{'a':" DEEP_10 DEEP_10
         DEEP_10 DEEP_10 DEEP_10 DEEP_10 DEEP_10
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}",
     "i"},
    {"an integer beyond 64 bit", "limit_exceeded", true,
     "{'command_id':'bad','command':'find','instance_id':'i','vars':{'a':"
     "92233720368547758080}}",
     "i"},
    {"no key", "malformed", false,
     "{'command_id':'bad','command':'find','instance_id':'i','graph_id':'approve'}", ""},
    {"a key that is not the instance", "malformed", false,
     "{'command_id':'bad','command':'find','instance_id':'i','graph_id':'approve'}", "j"},
    {"no command", "malformed", false, "{'command_id':'bad','instance_id':'i'}", "i"},
    {"unknown command", "unknown_command", false,
     "{'command_id':'bad','command':'sumbit','instance_id':'i'}", "i"},
    {"unknown graph", "unknown_graph", false,
     "{'command_id':'bad','command':'start','instance_id':'n','graph_id':'aprove'}", "n"},
    {"no graph for a new instance", "malformed", false,
     "{'command_id':'bad','command':'start','instance_id':'n'}", "n"},
    {"unknown node", "unknown_node", false,
     "{'command_id':'bad','command':'submit','instance_id':'i','node_id':'leder',"
     "'actor':'li'}",
     "i"},
    {"no node", "malformed", false,
     "{'command_id':'bad','command':'submit','instance_id':'i','actor':'li'}", "i"},
    {"unknown action", "unknown_action", false,
     "{'command_id':'bad','command':'submit','instance_id':'i','node_id':'leader',"
     "'action':'foreward'}",
     "i"},
    {"a member of the wrong type", "malformed", false,
     "{'command_id':'bad','command':'set_vars','instance_id':'i','vars':[1]}", "i"},
    {"a reply topic that is not allowed", "malformed", false,
     "{'command_id':'bad','command':'find','instance_id':'i','reply_to':'elsewhere'}",
     "i"},
    {"unknown instance", "instance_not_found", false,
     "{'command_id':'bad','command':'find','instance_id':'nobody'}", "nobody"},
    {"the wrong actor", "not_operable", false,
     "{'command_id':'bad','command':'submit','instance_id':'i','node_id':'leader',"
     "'actor':'wang'}",
     "i"},
    {"not current", "not_waiting", false,
     "{'command_id':'bad','command':'submit','instance_id':'i','node_id':'hr',"
     "'actor':'wang'}",
     "i"},
    {"an old revision", "revision_conflict", false,
     "{'command_id':'bad','command':'find','instance_id':'i','expected_revision':99}",
     "i"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void produce(const bad_case_t *one, size_t number, const char *value, size_t len)
{
    char text[16];
    bf_err_t err = BF_ERR_INIT;
    int n = snprintf(text, sizeof(text), "%zu", number);
    const bf_header_t header = {"case", text, (size_t)n};
    const bf_message_t message = {.topic = "bpmflow.commands",
                                  .key = one->key[0] ? one->key : NULL,
                                  .key_len = strlen(one->key),
                                  .value = value,
                                  .value_len = len,
                                  .headers = &header,
                                  .header_count = 1};
    cr_assert_eq(bf_client_produce(worker.client, &message, &err), BF_OK, "%s", err.text);
}

static void send_case(size_t number)
{
    const bad_case_t *one = &cases[number];
    char value[2048];
    if (!one->value) {
        produce(one, number, NULL, 0);
        return;
    }
    size_t len = strlen(one->value);
    cr_assert_lt(len, sizeof(value));
    for (size_t i = 0; i <= len; i++) {
        value[i] = (char)(one->value[i] == '\'' ? '"' : one->value[i]);
    }
    /* each bad command has its own ID, so that none is a repeated one */
    char *id = strstr(value, "\"bad\"");
    char unique[2048];
    if (id) {
        int n = snprintf(unique, sizeof(unique), "%.*s\"bad-%zu\"%s", (int)(id - value),
                         value, number, id + 5);
        produce(one, number, unique, (size_t)n);
    } else {
        produce(one, number, value, len);
    }
}

static void send_good(const char *name, size_t number)
{
    test_worker_send(&worker, "i",
                     "{'command_id':'%s-%zu','command':'find','instance_id':'i'}", name,
                     number);
}

typedef struct seen {
    int dead[CASES];
} seen_t;

static const char *header_text(const bf_record_t *record, const char *name, char ret[256])
{
    const bf_header_t *header = bf_record_header(record, name);
    ret[0] = '\0';
    if (header) {
        (void)snprintf(ret, 256, "%.*s", (int)header->len, (const char *)header->value);
    }
    return ret;
}

static void check_dead(void *arg, const bf_record_t *record)
{
    seen_t *seen = arg;
    char text[256];
    size_t number = (size_t)strtoul(header_text(record, "case", text), NULL, 10);
    cr_assert_lt(number, CASES);
    const bad_case_t *one = &cases[number];
    cr_assert(one->dead, "%s: a dead letter instead of a reply: %s", one->what,
              header_text(record, "bpmflow_error", text));
    cr_assert_str_eq(header_text(record, "bpmflow_error_code", text), one->code, "%s",
                     one->what);
    cr_assert_gt(strlen(header_text(record, "bpmflow_error", text)), 5);
    cr_assert_str_eq(header_text(record, "bpmflow_topic", text), "bpmflow.commands");
    cr_assert_neq(header_text(record, "bpmflow_offset", text)[0], '\0');
    /* the original is there */
    cr_assert_eq(record->key_len, strlen(one->key));
    cr_assert_eq(record->value == NULL, one->value == NULL, "%s", one->what);
    seen->dead[number]++;
}

Test(bad_input, each__gets_its_code_and_the_partition_goes_on)
{
    test_worker_set(&worker, "batch.linger_ms", "50");
    test_worker_start(&worker);
    seen_t seen = {{0}};
    size_t dead = 0;
    test_assert_code(test_worker_call(&worker, "i", "first",
                                      "{'command_id':'first','command':'start',"
                                      "'instance_id':'i','graph_id':'approve'}"),
                     "ok");
    for (size_t i = 0; i < CASES; i++) {
        send_good("before", i);
        send_case(i);
        send_good("after", i);
        dead += cases[i].dead;
        char id[32];
        if (!cases[i].dead) {
            /* another partition may be faster: only this one's reply is looked for */
            (void)snprintf(id, sizeof(id), "bad-%zu", i);
            const bf_value_t *reply = test_worker_reply(&worker, id);
            cr_expect_str_eq(bf_value_get_cstr(reply, "code"), cases[i].code,
                             "%s: %s (%s)", cases[i].what,
                             bf_value_get_cstr(reply, "code"),
                             bf_value_get_cstr(reply, "error"));
            cr_expect_gt(strlen(bf_value_get_cstr(reply, "error")), 5);
        } else {
            (void)snprintf(id, sizeof(id), "after-%zu", i);
            test_assert_code(test_worker_reply(&worker, id), "ok");
        }
    }
    test_worker_read(&worker, "dead-letters", dead, check_dead, &seen);
    for (size_t i = 0; i < CASES; i++) {
        cr_expect_eq(seen.dead[i], cases[i].dead ? 1 : 0, "%s", cases[i].what);
    }
    cr_assert_eq(test_worker_stop(&worker, SIGTERM), 0);
    /* every record has its row, and all good ones were accepted */
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_command"),
                 (int64_t)(1 + 3 * CASES));
    cr_assert_eq(test_db_int(&worker.db,
                             "SELECT COUNT(*) FROM bpm_flow_command WHERE code = 'ok'"),
                 (int64_t)(1 + 2 * CASES));
    cr_assert_eq(test_db_int(&worker.db, "SELECT COUNT(*) FROM bpm_flow_task"), 0);
}

static void check_too_large(void *arg, const bf_record_t *record)
{
    char text[256];
    (void)arg;
    cr_assert_str_eq(header_text(record, "bpmflow_error_code", text), "limit_exceeded");
    cr_assert_eq(record->value_len, 20000, "the original is untouched");
}

Test(bad_input, record__over_the_limit_is_a_dead_letter)
{
    static char value[20000];
    test_worker_set(&worker, "limits.max_record_bytes", "16384");
    test_worker_start(&worker);
    memset(value, ' ', sizeof(value));
    const bad_case_t one = {.key = "i"};
    produce(&one, 0, value, sizeof(value));
    test_assert_code(test_worker_call(&worker, "i", "after",
                                      "{'command_id':'after','command':'start',"
                                      "'instance_id':'i','graph_id':'approve'}"),
                     "ok");
    test_worker_read(&worker, "dead-letters", 1, check_too_large, NULL);
}

Test(bad_input, vars__over_the_limit_are_rejected)
{
    test_worker_set(&worker, "limits.max_vars_bytes", "1024");
    test_worker_start(&worker);
    char large[1200];
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    test_assert_code(test_worker_call(&worker, "i", "c-1",
                                      "{'command_id':'c-1','command':'start',"
                                      "'instance_id':'i','graph_id':'approve',"
                                      "'vars':{'a':'%s'}}",
                                      large),
                     "limit_exceeded");
}
