/*
 * codec.c - commands: from a record to a bf_command_t
 *
 * First the envelope and the two IDs (what fails there is a dead letter), then the
 * members (what fails there is a rejected reply).
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/codec.h"

#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/suggest.h"
#include "codec_int.h"

/* Every member of a command that is read. */
static const char *const members[] = {
    "command_id",        "command", "instance_id", "graph_id", "node_id", "action",
    "target_id",         "actor",   "context",     "vars",     "message", "form_id",
    "expected_revision", "force",   "reply_to",    "job",
};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

typedef struct decoder {
    const bf_record_t *record;
    const bf_codec_limits_t *limits;
    bf_arena_t *arena;
    bf_envelope_t envelope;
    bf_command_t *command;
    bf_code_t code; /* of the rejection or the dead letter */
    bf_err_t *err;
} decoder_t;

static bf_status_t refuse(decoder_t *dec, bf_code_t code, bf_status_t status)
{
    dec->code = code;
    return status;
}

/* The member, or NULL when it is absent or null. */
static const bf_value_t *member(const decoder_t *dec, const char *name)
{
    const bf_value_t *value = bf_value_get_str(&dec->envelope.command, name);
    return bf_value_is_null(value) ? NULL : value;
}

/* A member that is not known and looks like the one that is missing; NULL when none. */
static const char *misspelt(const decoder_t *dec, const char *name)
{
    const bf_value_t *map = &dec->envelope.command;
    for (uint32_t i = 0; i < map->len; i++) {
        const bf_member_t *m = &map->as.members[i];
        bool known = false;
        for (size_t j = 0; j < MEMBER_COUNT; j++) {
            known = known || !strcmp(m->name, members[j]);
        }
        if (!known && bf_suggest_nearest(m->name, m->name_len, &name, 1)) {
            return m->name;
        }
    }
    return NULL;
}

static bf_status_t missing(decoder_t *dec, const char *name, const char *why)
{
    char quote[BF_QUOTE_MAX];
    const char *other = misspelt(dec, name);
    bf_err_set(dec->err, BF_E_INVALID, "member %s is missing%s", name, why);
    if (other) {
        bf_err_t first = *dec->err;
        bf_err_clear(dec->err);
        bf_err_set(dec->err, BF_E_INVALID, "%.300s; there is '%s', did you mean %s?",
                   first.text, bf_codec_quote(other, strlen(other), quote), name);
    }
    return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
}

static bf_status_t wrong_type(decoder_t *dec, const char *name, const char *want,
                              const bf_value_t *value)
{
    bf_err_set(dec->err, BF_E_INVALID, "member %s must be %s, not a JSON %s", name, want,
               bf_value_type_name(value->type));
    return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
}

/* Copy of a string of the message: it is in the arena already, jansson gave it to us. */
static bf_status_t take_id(decoder_t *dec, const char *name, const char **ret)
{
    const bf_value_t *value = member(dec, name);
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_STRING) {
        return wrong_type(dec, name, "a string", value);
    }
    bf_status_t rc = bf_id_check(name, value->as.string, value->len, dec->err);
    if (rc != BF_OK) {
        return refuse(dec, rc == BF_E_LIMIT ? BF_CODE_LIMIT_EXCEEDED : BF_CODE_MALFORMED,
                      rc);
    }
    *ret = value->as.string;
    return BF_OK;
}

static bf_status_t take_integer(decoder_t *dec, const char *name, bool *ret_has,
                                int64_t *ret)
{
    const bf_value_t *value = member(dec, name);
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_INT) {
        return wrong_type(dec, name, "a whole number", value);
    }
    *ret_has = true;
    *ret = value->as.integer;
    return BF_OK;
}

static bf_status_t take_map(decoder_t *dec, const char *name, bf_value_t *ret)
{
    const bf_value_t *value = member(dec, name);
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_MAP) {
        return wrong_type(dec, name, "a JSON object", value);
    }
    *ret = *value;
    return BF_OK;
}

static bf_status_t take_message(decoder_t *dec)
{
    const bf_value_t *value = member(dec, "message");
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_STRING) {
        return wrong_type(dec, "message", "a string", value);
    }
    if (value->len > BF_MESSAGE_TEXT_MAX) {
        bf_err_set(dec->err, BF_E_LIMIT,
                   "member message has %u bytes; at most %d are "
                   "allowed",
                   value->len, BF_MESSAGE_TEXT_MAX);
        return refuse(dec, BF_CODE_LIMIT_EXCEEDED, BF_E_LIMIT);
    }
    dec->command->message = value->as.string;
    return BF_OK;
}

static bf_status_t take_reply_to(decoder_t *dec)
{
    const bf_codec_limits_t *limits = dec->limits;
    const bf_value_t *value = member(dec, "reply_to");
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_STRING) {
        return wrong_type(dec, "reply_to", "a string", value);
    }
    bool allowed = limits->default_reply_topic &&
                   !strcmp(value->as.string, limits->default_reply_topic);
    for (size_t i = 0; !allowed && i < limits->reply_topic_count; i++) {
        allowed = !strcmp(value->as.string, limits->reply_topics[i]);
    }
    if (!allowed) {
        char quote[BF_QUOTE_MAX];
        bf_err_set(dec->err, BF_E_INVALID,
                   "replies to the topic '%s' are not allowed; add it to replies.allowed "
                   "of the worker or leave reply_to out",
                   bf_codec_quote(value->as.string, value->len, quote));
        return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
    }
    dec->command->reply_to = value->as.string;
    return BF_OK;
}

static bf_status_t check_key(decoder_t *dec)
{
    const bf_record_t *record = dec->record;
    const char *id = dec->command->instance_id;
    if (!dec->limits->require_key_match) {
        return BF_OK;
    }
    char quote[BF_QUOTE_MAX];
    char quote_id[BF_QUOTE_MAX];
    bf_codec_quote(id, strlen(id), quote_id);
    if (!record->key || record->key_len == 0) {
        bf_err_set(dec->err, BF_E_INVALID,
                   "the record has no key; the key must be the instance_id '%s', so that "
                   "all commands of an instance keep their order",
                   quote_id);
        return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
    }
    if (record->key_len != strlen(id) || memcmp(record->key, id, record->key_len) != 0) {
        bf_err_set(dec->err, BF_E_INVALID,
                   "the record's key '%s' is not the instance_id '%s'; send it with the "
                   "instance_id as key",
                   bf_codec_quote(record->key, record->key_len, quote), quote_id);
        return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
    }
    return BF_OK;
}

static bf_status_t unknown_name(decoder_t *dec, const char *what, const bf_value_t *value,
                                const char *const *names, size_t count)
{
    char quote[BF_QUOTE_MAX];
    bf_codec_quote(value->as.string, value->len, quote);
    const char *near = bf_suggest_nearest(value->as.string, value->len, names, count);
    if (near) {
        return bf_err_set(dec->err, BF_E_INVALID,
                          "there is no %s '%s'; did you mean '%s'?", what, quote, near);
    }
    char list[256] = "";
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(names[i]);
        if (len + n + 3 > sizeof(list)) {
            break;
        }
        memcpy(list + len, len ? ", " : "", len ? 2 : 0);
        len += len ? 2 : 0;
        memcpy(list + len, names[i], n + 1);
        len += n;
    }
    return bf_err_set(dec->err, BF_E_INVALID, "there is no %s '%s'; there are: %s", what,
                      quote, list);
}

static bf_status_t take_verb(decoder_t *dec)
{
    static const char *const names[] = {
#define X(name, text, node, change) text,
        BF_VERB_LIST(X)
#undef X
    };
    const bf_value_t *value = member(dec, "command");
    if (!value) {
        return missing(dec, "command",
                       ": it says what to do, as \"claim\" or \"submit\"");
    }
    if (value->type != BF_VALUE_STRING) {
        return wrong_type(dec, "command", "a string", value);
    }
    bf_verb_t verb = bf_verb_of_name(value->as.string);
    if (verb == BF_VERB_COUNT) {
        return refuse(
            dec, BF_CODE_UNKNOWN_COMMAND,
            unknown_name(dec, "command", value, names, sizeof(names) / sizeof(names[0])));
    }
    dec->command->verb = verb;
    return BF_OK;
}

static bf_status_t take_action(decoder_t *dec)
{
    static const char *const names[] = {"back",         "back_jump", "forward",
                                        "forward_jump", "terminate", "restart"};
    const bf_value_t *value = member(dec, "action");
    bf_action_t action = BF_ACTION_FORWARD;
    if (value && value->type == BF_VALUE_STRING) {
        action = bf_action_of_name(value->as.string);
    } else if (value && value->type == BF_VALUE_INT) {
        action = bf_action_of_code(value->as.integer);
    } else if (value) {
        return wrong_type(dec, "action", "a name (\"forward\") or a code (1020)", value);
    }
    if (!bf_action_is_askable(action) && value && value->type == BF_VALUE_STRING) {
        return refuse(
            dec, BF_CODE_UNKNOWN_ACTION,
            unknown_name(dec, "action", value, names, sizeof(names) / sizeof(names[0])));
    }
    if (!bf_action_is_askable(action) && value) {
        bf_err_set(
            dec->err, BF_E_INVALID,
            "there is no action %lld; there are: back 1010, back_jump 1011, forward "
            "1020, forward_jump 1021, terminate 1030, restart 1040",
            (long long)value->as.integer);
        return refuse(dec, BF_CODE_UNKNOWN_ACTION, BF_E_INVALID);
    }
    dec->command->action = action;
    return BF_OK;
}

static bf_status_t take_force(decoder_t *dec)
{
    const bf_value_t *value = member(dec, "force");
    if (!value) {
        return BF_OK;
    }
    if (value->type != BF_VALUE_BOOL) {
        return wrong_type(dec, "force", "true or false", value);
    }
    if (value->as.boolean && !dec->limits->allow_force) {
        bf_err_set(
            dec->err, BF_E_INVALID,
            "force is not allowed here; leave it out, or set commands.allow_force of "
            "the worker");
        return refuse(dec, BF_CODE_MALFORMED, BF_E_INVALID);
    }
    dec->command->force = value->as.boolean;
    return BF_OK;
}

static bf_status_t check_required(decoder_t *dec)
{
    static const bool needs_node[] = {
#define X(name, text, node, change) node,
        BF_VERB_LIST(X)
#undef X
    };
    const bf_command_t *command = dec->command;
    if (needs_node[command->verb] && !command->node_id) {
        return missing(dec, "node_id", ": it names the task to submit");
    }
    if (command->verb == BF_VERB_START && !command->graph_id) {
        return missing(dec, "graph_id", ": it names the process definition to start");
    }
    return BF_OK;
}

/* Everything behind the two IDs: what fails here is a rejection. */
static bf_status_t take_members(decoder_t *dec)
{
    bf_command_t *c = dec->command;
    bf_status_t rc = take_reply_to(dec); /* first: the rejection goes there as well */
    rc = rc == BF_OK ? check_key(dec) : rc;
    rc = rc == BF_OK ? take_verb(dec) : rc;
    rc = rc == BF_OK ? take_id(dec, "graph_id", &c->graph_id) : rc;
    rc = rc == BF_OK ? take_id(dec, "node_id", &c->node_id) : rc;
    rc = rc == BF_OK ? take_id(dec, "target_id", &c->target_id) : rc;
    rc = rc == BF_OK ? take_id(dec, "actor", &c->actor) : rc;
    rc = rc == BF_OK ? take_action(dec) : rc;
    rc = rc == BF_OK ? take_map(dec, "context", &c->context) : rc;
    rc = rc == BF_OK ? take_map(dec, "vars", &c->vars) : rc;
    rc = rc == BF_OK ? take_message(dec) : rc;
    rc = rc == BF_OK ? take_integer(dec, "form_id", &c->has_form_id, &c->form_id) : rc;
    rc = rc == BF_OK ? take_integer(dec, "expected_revision", &c->has_expected_revision,
                                    &c->expected_revision)
                     : rc;
    rc = rc == BF_OK ? take_integer(dec, "job", &c->has_job, &c->job) : rc;
    rc = rc == BF_OK ? take_force(dec) : rc;
    return rc == BF_OK ? check_required(dec) : rc;
}

/* The two IDs: what fails here is a dead letter. */
static bf_status_t take_address(decoder_t *dec)
{
    bf_command_t *c = dec->command;
    bf_status_t rc = take_id(dec, "command_id", &c->command_id);
    if (rc == BF_OK && !c->command_id && dec->envelope.event_id) {
        rc = bf_id_check("the CloudEvents id", dec->envelope.event_id,
                         dec->envelope.event_id_len, dec->err);
        if (rc != BF_OK) {
            return refuse(
                dec, rc == BF_E_LIMIT ? BF_CODE_LIMIT_EXCEEDED : BF_CODE_MALFORMED, rc);
        }
        c->command_id = dec->envelope.event_id;
    }
    if (rc == BF_OK && !c->command_id) {
        return missing(
            dec, "command_id",
            " (and there is no CloudEvents id): without it the command could be "
            "applied twice");
    }
    rc = rc == BF_OK ? take_id(dec, "instance_id", &c->instance_id) : rc;
    if (rc == BF_OK && !c->instance_id) {
        return missing(dec, "instance_id", ": it says which instance the command is for");
    }
    return rc;
}

bf_status_t bf_codec_decode_command(const bf_record_t *record,
                                    const bf_codec_limits_t *limits, bf_arena_t *arena,
                                    bf_command_t *ret, bf_decoded_t *ret_what,
                                    bf_code_t *ret_code, bf_err_t *err)
{
    bf_command_t command = {.verb = BF_VERB_COUNT, .action = BF_ACTION_FORWARD};
    decoder_t dec = {.record = record,
                     .limits = limits,
                     .arena = arena,
                     .command = &command,
                     .code = BF_CODE_OK,
                     .err = err};
    bf_status_t rc = bf_codec_open_envelope(record, limits, arena, &dec.envelope, err);
    if (rc == BF_E_NOMEM) {
        return rc;
    }
    bf_decoded_t what = BF_DECODED_DEAD;
    if (rc != BF_OK) {
        dec.code = rc == BF_E_LIMIT ? BF_CODE_LIMIT_EXCEEDED : BF_CODE_MALFORMED;
    } else if (take_address(&dec) == BF_OK) {
        command.traceparent = dec.envelope.trace.parent;
        command.tracestate = dec.envelope.trace.state;
        what = take_members(&dec) == BF_OK ? BF_DECODED : BF_DECODED_REJECTED;
    }
    if (what != BF_DECODED) {
        bf_codec_clean(err->text);
    }
    if (what != BF_DECODED_DEAD) {
        *ret = command;
    }
    *ret_what = what;
    *ret_code = dec.code;
    return BF_OK;
}
