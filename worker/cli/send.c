/*
 * send.c - start, claim, submit, ...: a command to the workers, and its reply
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/num.h"
#include "bpmflow/suggest.h"
#include "bpmflow/task.h"
#include "worker/cli/commands.h"
#include "worker/cli/connect.h"
#include "worker/cli/members.h"
#include "worker/cli/reply.h"

#define OPTION_GRAPH                                                                     \
    {                                                                                    \
        .name = "graph", .letter = 'g', .kind = BF_OPTION_TEXT, .metavar = "GRAPH",      \
        .help = "graph of the instance; needed by its first command"                     \
    }
#define OPTION_ACTOR                                                                     \
    {                                                                                    \
        .name = "actor", .letter = 'a', .kind = BF_OPTION_TEXT, .metavar = "ACTOR",      \
        .env = "BPMFLOW_ACTOR", .help = "who does it"                                    \
    }
#define OPTION_CONTEXT                                                                   \
    {                                                                                    \
        .name = "context", .letter = 'x', .kind = BF_OPTION_LIST,                        \
        .metavar = "NAME=VALUE",                                                         \
        .help = "what is known for this command only, for example role=leader; also "    \
                "'{...}' or @FILE; may be repeated"                                      \
    }
#define OPTION_VAR                                                                       \
    {                                                                                    \
        .name = "var", .letter = 'v', .kind = BF_OPTION_LIST, .metavar = "NAME=VALUE",   \
        .help = "a variable to set when the command is accepted; VALUE is JSON or else " \
                "text; also '{...}' or @FILE; may be repeated"                           \
    }
#define OPTION_REVISION                                                                  \
    {                                                                                    \
        .name = "expected-revision", .kind = BF_OPTION_INT, .metavar = "N", .min = 0,    \
        .max = INT32_MAX, .help = "reject the command when the instance has moved on"    \
    }
#define OPTION_REPLY_TO                                                                  \
    {                                                                                    \
        .name = "reply-to", .kind = BF_OPTION_TEXT, .metavar = "TOPIC",                  \
        .help = "topic for the reply; the workers must allow it"                         \
    }

/* clang-format off */
#define OPTION_END { .name = NULL }
/* clang-format on */

static const bf_cli_option_t change_options[] = {
    OPTION_GRAPH,    OPTION_ACTOR,    OPTION_CONTEXT, OPTION_VAR,
    OPTION_REVISION, OPTION_REPLY_TO, OPTION_END};

static const bf_cli_option_t probe_options[] = {
    OPTION_GRAPH, OPTION_ACTOR, OPTION_CONTEXT, OPTION_REPLY_TO, OPTION_END};

static const bf_cli_option_t submit_options[] = {
    {.name = "action",
     .kind = BF_OPTION_TEXT,
     .metavar = "ACTION",
     .fallback = "forward",
     .help = "back, back_jump, forward, forward_jump, terminate, restart, or a code"},
    {.name = "target",
     .kind = BF_OPTION_TEXT,
     .metavar = "NODE",
     .help = "where a jump leads; without it NODE is the target"},
    OPTION_ACTOR,
    {.name = "message",
     .letter = 'm',
     .kind = BF_OPTION_TEXT,
     .metavar = "TEXT",
     .help = "opinion, kept in the history"},
    {.name = "form-id",
     .kind = BF_OPTION_INT,
     .metavar = "N",
     .help = "form that belongs to the step"},
    OPTION_GRAPH,
    OPTION_CONTEXT,
    OPTION_VAR,
    OPTION_REVISION,
    {.name = "force",
     .kind = BF_OPTION_FLAG,
     .help = "submit although the task is not current or not the actor's; the workers "
             "must allow it (limits.allow_force)"},
    OPTION_REPLY_TO,
    OPTION_END};

static bf_exit_t run_send(bf_cli_t *cli);

/* What all of them have. */
#define SENDS(own_options)                                                               \
    .groups = BF_OPTIONS_JSON | BF_OPTIONS_WAIT | BF_OPTIONS_KAFKA,                      \
    .options = (own_options), .run = run_send

#define WAITS                                                                            \
    "\n\nThe command goes to the command topic; the subcommand then waits for the "      \
    "reply "                                                                             \
    "with the same command ID and prints it."

const bf_cli_command_t bf_cli_start = {
    .name = "start",
    .summary = "create an instance and run it to its first tasks",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    SENDS(change_options),
    .description =
        "Creates the instance INSTANCE of a graph (--graph), pins the version of the "
        "graph, sets the variables given and runs automatic nodes until somebody has to "
        "do something." WAITS,
    .examples = "    bpmflow start leave-1 --graph leave --actor li.wei --var day=3\n"
                "    bpmflow start leave-2 -g leave -v @form.json --json\n"};

const bf_cli_command_t bf_cli_claim = {
    .name = "claim",
    .summary = "take the first task that an actor may do",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    SENDS(change_options),
    .description =
        "Walks from the start of the graph to the first task that the actor may "
        "operate, marks it as waiting and shows it. Where there is none the reply "
        "says why." WAITS,
    .examples = "    bpmflow claim leave-1 --actor li.wei\n"
                "    bpmflow claim leave-1 --context role=leader\n"};

const bf_cli_command_t bf_cli_find = {
    .name = "find",
    .summary = "show the current task, whoever may do it",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    SENDS(probe_options),
    .description = "Asks a worker for the current task. Changes nothing." WAITS,
    .examples = "    bpmflow find leave-1\n"};

const bf_cli_command_t bf_cli_next = {
    .name = "next",
    .summary = "show all possible next tasks over all branches",
    .operands = "INSTANCE",
    .min_operands = 1,
    .max_operands = 1,
    SENDS(probe_options),
    .description =
        "Asks a worker for every task that may come next. Changes nothing." WAITS,
    .examples = "    bpmflow next leave-1\n"};

const bf_cli_command_t bf_cli_submit = {
    .name = "submit",
    .summary = "apply an action to a task: forward, back, jump, terminate, restart",
    .operands = "INSTANCE NODE",
    .min_operands = 2,
    .max_operands = 2,
    SENDS(submit_options),
    .description =
        "Applies --action to the task NODE. forward completes it; back returns to the "
        "previous task of the branch; back_jump and forward_jump go to --target; "
        "terminate ends the instance; restart begins it again. Each step becomes a row "
        "of the history and an event." WAITS,
    .examples =
        "    bpmflow submit leave-1 leader --actor li.wei --message agreed\n"
        "    bpmflow submit leave-1 hr --action back --actor wang.fang\n"
        "    bpmflow submit leave-1 hr --action back_jump --target apply -a hr\n"};

const bf_cli_command_t bf_cli_submit_if_waiting = {
    .name = "submit-if-waiting",
    .summary = "submit only when the task is waiting for this actor",
    .operands = "INSTANCE NODE",
    .min_operands = 2,
    .max_operands = 2,
    SENDS(submit_options),
    .description = "As submit, but rejected unless the task is stored as waiting and the "
                   "actor may operate it." WAITS,
    .examples = "    bpmflow submit-if-waiting leave-1 leader --actor li.wei\n"};

const bf_cli_command_t bf_cli_state = {
    .name = "state",
    .summary = "ask a worker for the state of one node or of all",
    .operands = "INSTANCE [NODE]",
    .min_operands = 1,
    .max_operands = 2,
    SENDS(probe_options),
    .description =
        "Shows the state of NODE, or of all nodes that have one, as the worker "
        "knows it. Changes nothing. See also: show, which reads the "
        "tables." WAITS,
    .examples = "    bpmflow state leave-1 leader\n"
                "    bpmflow state leave-1 --json\n"};

const bf_cli_command_t bf_cli_set_vars = {
    .name = "set-vars",
    .summary = "set variables of an instance",
    .operands = "INSTANCE NAME=VALUE...",
    .min_operands = 2,
    .max_operands = -1,
    SENDS(change_options),
    .description = "Merges variables into the instance. VALUE is JSON where it is valid "
                   "JSON (3, true, \"3\", null to clear), else text; '{...}' and @FILE "
                   "bring several." WAITS,
    .examples = "    bpmflow set-vars leave-1 day=5 reason='family matters'\n"
                "    bpmflow set-vars leave-1 '{\"day\": 5, \"note\": null}'\n"};

/* --- building the message --- */

/* The verb of the message; subcommands are named for people. */
static const char *verb_of(const bf_cli_command_t *command)
{
    if (command == &bf_cli_next)
        return "find_next";
    if (command == &bf_cli_state)
        return "get_state";
    if (command == &bf_cli_set_vars)
        return "set_vars";
    if (command == &bf_cli_submit_if_waiting)
        return "submit_if_waiting";
    return command->name;
}

static void put_text(bf_str_t *json, const char *name, const char *text)
{
    if (!text)
        return;
    bf_str_printf(json, ",\"%s\":", name);
    bf_json_write_string(json, text, strlen(text));
}

static void put_option(const bf_cli_t *cli, bf_str_t *json, const char *name,
                       const char *option)
{
    if (bf_cli_has(cli, option))
        put_text(json, name, bf_cli_text(cli, option));
}

static void put_number(const bf_cli_t *cli, bf_str_t *json, const char *name,
                       const char *option)
{
    if (bf_cli_has(cli, option) && bf_cli_text(cli, option))
        bf_str_printf(json, ",\"%s\":%lld", name, (long long)bf_cli_int(cli, option));
}

/* The members of an option; those of the operands of set-vars come first. */
static bf_status_t put_members(const bf_cli_t *cli, bf_str_t *json, bf_arena_t *arena,
                               const char *name, const char *option, bf_err_t *err)
{
    if (!bf_cli_has(cli, option))
        return BF_OK;
    size_t given = 0;
    const char *const *list = bf_cli_list(cli, option, &given);
    size_t operands = strcmp(option, "var") == 0 && cli->command == &bf_cli_set_vars
                          ? (size_t)cli->operand_count - 1
                          : 0;
    if (given + operands == 0)
        return BF_OK;
    const char **texts = bf_arena_calloc(arena, given + operands, sizeof *texts);
    if (!texts)
        return bf_err_nomem(err, "members");
    for (size_t i = 0; i < operands; i++)
        texts[i] = cli->operands[i + 1];
    for (size_t i = 0; i < given; i++)
        texts[operands + i] = list[i];
    char what[32];
    (void)snprintf(what, sizeof what, "--%s", option);
    bf_value_t value;
    bf_status_t rc = bf_cli_members(arena, what, texts, given + operands, &value, err);
    if (rc != BF_OK)
        return rc;
    bf_str_printf(json, ",\"%s\":", name);
    bf_json_write(json, &value);
    return BF_OK;
}

static bf_status_t check_ids(const bf_cli_t *cli, const char *command_id, bf_err_t *err)
{
    const char *instance = bf_cli_operand(cli, 0);
    const char *graph = bf_cli_text(cli, "graph");
    bf_status_t rc = bf_id_check("INSTANCE", instance, strlen(instance), err);
    if (rc == BF_OK)
        rc = bf_id_check("--command-id", command_id, strlen(command_id), err);
    if (rc == BF_OK && !graph && cli->command == &bf_cli_start)
        rc = bf_err_set(err, BF_E_INVALID,
                        "--graph is missing: which graph does the "
                        "instance follow?");
    return rc;
}

static const char *action_name(void *arg, size_t index)
{
    (void)arg;
    static const char *const names[] = {
#define X(name, text, code, state) text,
        BF_ACTION_LIST(X)
#undef X
    };
    /* without the first, unknown, and the last, dispatch */
    return index + 2 < sizeof names / sizeof *names ? names[index + 1] : NULL;
}

/* A name of the list, or its code as a number. */
static bf_status_t put_action(const bf_cli_t *cli, bf_str_t *json, bf_err_t *err)
{
    if (!bf_cli_has(cli, "action"))
        return BF_OK;
    const char *text = bf_cli_text(cli, "action");
    int64_t code = 0;
    bf_action_t action = BF_ACTION_UNKNOWN;
    if (bf_num_parse_i64(text, strlen(text), &code, NULL) == BF_OK)
        action = bf_action_of_code(code);
    else
        action = bf_action_of_name(text);
    if (bf_action_is_askable(action)) {
        put_text(json, "action", bf_action_name(action));
        return BF_OK;
    }
    const char *near = bf_cli_nearest(text, action_name, NULL);
    return bf_err_set(err, BF_E_INVALID, "--action '%s' is no action%s%s%s", text,
                      BF_DID_YOU_MEAN(near));
}

static bf_status_t build(const bf_cli_t *cli, const char *command_id, bf_str_t *json,
                         bf_err_t *err)
{
    bf_status_t rc = check_ids(cli, command_id, err);
    if (rc != BF_OK)
        return rc;
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    const char *instance = bf_cli_operand(cli, 0);
    bf_str_puts(json, "{\"command_id\":");
    bf_json_write_string(json, command_id, strlen(command_id));
    put_text(json, "command", verb_of(cli->command));
    put_text(json, "instance_id", instance);
    put_option(cli, json, "graph_id", "graph");
    if (cli->command != &bf_cli_set_vars)
        put_text(json, "node_id", bf_cli_operand(cli, 1));
    rc = put_action(cli, json, err);
    put_option(cli, json, "target_id", "target");
    put_option(cli, json, "actor", "actor");
    put_option(cli, json, "message", "message");
    put_number(cli, json, "form_id", "form-id");
    put_number(cli, json, "expected_revision", "expected-revision");
    if (bf_cli_has(cli, "force") && bf_cli_flag(cli, "force"))
        bf_str_puts(json, ",\"force\":true");
    put_option(cli, json, "reply_to", "reply-to");
    if (rc == BF_OK)
        rc = put_members(cli, json, &arena, "context", "context", err);
    if (rc == BF_OK)
        rc = put_members(cli, json, &arena, "vars", "var", err);
    bf_str_putc(json, '}');
    bf_arena_fini(&arena);
    if (rc == BF_OK)
        rc = bf_str_status(json, "command", err);
    if (rc == BF_OK && !bf_utf8_is_valid(bf_str_peek(json), json->len))
        rc = bf_err_set(err, BF_E_INVALID,
                        "an operand or option is not valid UTF-8, and no worker would "
                        "read the command; is the terminal set to another encoding?");
    return rc;
}

/* --- sending it --- */

static bf_status_t send_only(bf_cli_t *cli, const char *command_id, const bf_str_t *json,
                             bf_str_t *out, bf_err_t *err)
{
    int64_t timeout_ms = bf_cli_int(cli, "timeout");
    const char *instance = bf_cli_operand(cli, 0);
    bf_client_t *client = NULL;
    bf_status_t rc = bf_cli_client(cli, NULL, timeout_ms, &client, err);
    if (rc == BF_OK)
        rc = bf_client_send(client, instance, json->data, json->len, err);
    if (rc == BF_OK)
        rc = bf_client_flush(client, timeout_ms, err);
    bf_client_free(client);
    if (rc != BF_OK)
        return rc;
    if (bf_cli_flag(cli, "json"))
        bf_str_printf(out, "{\"command_id\":");
    else
        bf_str_printf(out, "sent      command ID ");
    if (bf_cli_flag(cli, "json"))
        bf_json_write_string(out, command_id, strlen(command_id));
    else
        bf_str_puts(out, command_id);
    bf_str_puts(out, bf_cli_flag(cli, "json") ? ",\"status\":\"sent\"}\n" : "\n");
    return BF_OK;
}

static bf_status_t show_reply(const bf_cli_t *cli, const bf_str_t *reply, bf_str_t *out,
                              bf_exit_t *ret, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_value_t value;
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_status_t rc = bf_json_parse(&arena, reply->data, reply->len, &limits, &value, err);
    if (rc != BF_OK) {
        bf_err_prefix(err, "the reply is not what it should be: ");
    } else {
        *ret = bf_cli_reply_status(&value);
        if (bf_cli_flag(cli, "json")) {
            bf_str_append(out, reply->data, reply->len);
            bf_str_putc(out, '\n');
        } else {
            bf_cli_reply_text(&value, out);
        }
    }
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t send_and_wait(bf_cli_t *cli, const char *command_id,
                                 const bf_str_t *json, bf_str_t *out, bf_exit_t *ret,
                                 bf_err_t *err)
{
    int64_t timeout_ms = bf_cli_int(cli, "timeout");
    const char *topic = bf_cli_text(cli, "reply-to");
    bf_client_t *client = NULL;
    bf_str_t reply;
    bf_str_init(&reply, 0);
    bf_status_t rc = bf_cli_client(cli, topic ? topic : bf_cli_text(cli, "reply-topic"),
                                   timeout_ms, &client, err);
    if (rc == BF_OK)
        rc = bf_client_call(client, bf_cli_operand(cli, 0), command_id,
                            (bf_text_t){json->data, json->len}, timeout_ms, &reply, err);
    if (rc == BF_OK)
        rc = show_reply(cli, &reply, out, ret, err);
    bf_str_fini(&reply);
    bf_client_free(client);
    return rc;
}

static bf_exit_t run_send(bf_cli_t *cli)
{
    bf_err_t err = BF_ERR_INIT;
    char uuid[BF_UUID_TEXT];
    bf_exit_t result = BF_EXIT_OK;
    bf_str_t json;
    bf_str_t out;
    bf_str_init(&json, 0);
    bf_str_init(&out, 0);
    const char *command_id = bf_cli_text(cli, "command-id");
    if (!command_id) {
        bf_uuid_make(uuid);
        command_id = uuid;
    }
    bf_status_t rc = build(cli, command_id, &json, &err);
    if (rc != BF_OK) {
        bf_cli_error("%s: %s (bpmflow %s --help)", cli->command->name, err.text,
                     cli->command->name);
        result = rc == BF_E_NOMEM ? BF_EXIT_FAILED : BF_EXIT_USAGE;
        goto out;
    }
    if (bf_cli_flag(cli, "dry-run")) {
        bf_str_append(&out, json.data, json.len);
        bf_str_putc(&out, '\n');
    } else if (bf_cli_flag(cli, "no-wait")) {
        rc = send_only(cli, command_id, &json, &out, &err);
    } else {
        rc = send_and_wait(cli, command_id, &json, &out, &result, &err);
    }
    if (rc == BF_OK)
        rc = bf_cli_write(&out, &err);
    if (rc != BF_OK)
        result = bf_cli_fail(&err, rc);
out:
    bf_str_fini(&json);
    bf_str_fini(&out);
    return result;
}
