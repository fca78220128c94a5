/*
 * fuzz_facade.c - any bytes as requests to the facade of the approval layer
 *
 * A line is a request: action, user ("-" is nobody) and body, with blanks between them. A
 * definition and a running application are there already; IDs count from 1, so that
 * bodies can name rows.  Whatever comes is answered, and an error adds and removes
 * nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/facade.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_REQUESTS 32

static const char order[] =
    "{\"name\":\"order\",\"displayName\":\"Order\",\"nodes\":["
    "{\"id\":\"begin\",\"type\":\"snaker:start\"},"
    "{\"id\":\"form\",\"type\":\"snaker:task\",\"properties\":"
    "{\"assignee\":\"applicant\"}},"
    "{\"id\":\"far\",\"type\":\"snaker:decision\"},"
    "{\"id\":\"vote\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"a,b\","
    "\"performType\":1,\"candidateUsers\":\"c1,c2\",\"candidateGroups\":\"g\"}},"
    "{\"id\":\"sign\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"a\"}},"
    "{\"id\":\"over\",\"type\":\"snaker:end\"}],\"edges\":["
    "{\"id\":\"e1\",\"sourceNodeId\":\"begin\",\"targetNodeId\":\"form\"},"
    "{\"id\":\"e2\",\"sourceNodeId\":\"form\",\"targetNodeId\":\"far\"},"
    "{\"id\":\"e3\",\"sourceNodeId\":\"far\",\"targetNodeId\":\"vote\","
    "\"properties\":{\"expr\":\"days > 3\"}},"
    "{\"id\":\"e4\",\"sourceNodeId\":\"far\",\"targetNodeId\":\"sign\"},"
    "{\"id\":\"e5\",\"sourceNodeId\":\"vote\",\"targetNodeId\":\"sign\"},"
    "{\"id\":\"e6\",\"sourceNodeId\":\"sign\",\"targetNodeId\":\"over\"}]}";

static const char start[] = "{\"processDefineName\":\"order\",\"days\":5,\"f_x\":\"y\"}";

static void expect(bool holds)
{
    if (!holds) {
        abort();
    }
}

static int64_t next_id(void *arg)
{
    int64_t *last = arg;
    return ++*last;
}

static int64_t now_ms(void *arg)
{
    (void)arg;
    return INT64_C(1800000000000);
}

static size_t count_rows(const bf_ledger_t *ledger)
{
    size_t count = 0;
    for (unsigned i = 0; i < BF_LEDGER_TABLE_COUNT; i++) {
        count = count * 31 + bf_ledger_count(ledger, (bf_ledger_table_t)i);
    }
    return count;
}

/* {code: 0, msg, data} or {code: not 0, msg} */
static bool is_success(const bf_value_t *answer)
{
    const bf_value_t *code = bf_value_get_str(answer, "code");
    const bf_value_t *data = bf_value_get_str(answer, "data");
    expect(code && code->type == BF_VALUE_INT);
    expect(bf_value_get_cstr(answer, "msg") != NULL);
    expect((code->as.integer == BF_FACADE_OK) == (data != NULL));
    return data != NULL;
}

/* What comes out can be sent: it is JSON that reads back. */
static void check_written(bf_arena_t *arena, const bf_value_t *answer)
{
    bf_str_t text;
    bf_value_t again;
    bf_str_init(&text, 0);
    bf_json_write(&text, answer);
    expect(!bf_str_failed(&text));
    expect(bf_json_parse(arena, bf_str_peek(&text), text.len, &BF_JSON_OWN_LIMITS, &again,
                         NULL) == BF_OK);
    expect(bf_value_equal(answer, &again));
    bf_str_fini(&text);
}

static void ask(bf_facade_t *facade, const bf_ledger_t *ledger, const char *action,
                const char *user, const char *body)
{
    bf_arena_t arena;
    bf_value_t answer;
    bf_arena_init(&arena, 0);
    size_t before = count_rows(ledger);
    expect(bf_facade_call_json(facade, action, user, body, strlen(body), &arena,
                               &answer) == BF_OK);
    if (!is_success(&answer)) {
        expect(count_rows(ledger) == before);
    }
    check_written(&arena, &answer);
    bf_arena_fini(&arena);
}

/* The next word of a line; what follows it begins at *at. */
static char *word(char **at)
{
    char *text = *at;
    size_t len = strcspn(text, " ");
    *at = text + len + (text[len] ? 1 : 0);
    text[len] = '\0';
    return text;
}

static void ask_line(bf_facade_t *facade, const bf_ledger_t *ledger, char *line)
{
    const char *action = word(&line);
    const char *user = word(&line);
    ask(facade, ledger, action, strcmp(user, "-") != 0 ? user : NULL, line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t last_id = 0;
    bf_ledger_ids_t ids = {next_id, &last_id};
    bf_approval_host_t host = {.now_ms = now_ms, .is_surrogate_enabled = true};
    bf_ledger_t *ledger = bf_ledger_new(&ids);
    bf_approval_t *approval = ledger ? bf_approval_new(ledger, &host) : NULL;
    bf_facade_t *facade = approval ? bf_facade_new(approval, NULL) : NULL;
    char *text = malloc(size + 1);
    expect(facade && text);
    memcpy(text, data, size);
    text[size] = '\0';
    ask(facade, ledger, "processDefine/deploy", "ann", order);
    ask(facade, ledger, "processInstance/startAndExecute", "ann", start);
    char *line = text;
    for (unsigned i = 0; i < MAX_REQUESTS && *line; i++) {
        size_t len = strcspn(line, "\n");
        char *next = line + len + (line[len] ? 1 : 0);
        line[len] = '\0';
        ask_line(facade, ledger, line);
        line = next;
    }
    free(text);
    bf_facade_free(facade);
    bf_approval_free(approval);
    bf_ledger_free(ledger);
    return 0;
}
