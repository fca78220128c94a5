/*
 * codec_encode.c - replies and events as JSON, written without a tree
 *
 * Members always come in the same order and are always there: absent ones are null, []
 * or {}.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "codec_int.h"

static const char duplicate_no[] = ",\"duplicate\":false,";
static const char duplicate_yes[] = ",\"duplicate\":true,";

/* Error texts are cut by length, names come from files: what is not UTF-8 becomes '?', as
 * a message that readers cannot parse would be worse. */
static void write_text(bf_str_t *str, const char *text)
{
    if (!text) {
        bf_str_puts(str, "null");
        return;
    }
    size_t len = strlen(text);
    if (bf_utf8_is_valid(text, len)) {
        bf_json_write_string(str, text, len);
        return;
    }
    bf_str_t clean;
    bf_str_init(&clean, 0);
    for (size_t i = 0; i < len;) {
        size_t n = 4 < len - i ? 4 : len - i;
        while (n > 0 &&
               !(bf_utf8_is_valid(text + i, n) && bf_utf8_length(text + i, n) == 1)) {
            n--;
        }
        bf_str_append(&clean, n ? text + i : "?", n ? n : 1);
        i += n ? n : 1;
    }
    bf_json_write_string(str, bf_str_peek(&clean), clean.len);
    str->failed = str->failed || bf_str_failed(&clean);
    bf_str_fini(&clean);
}

/* name: with the comma before it and the colon, as `,"node_id":` */
static void write_member(bf_str_t *str, const char *name, const char *text)
{
    bf_str_puts(str, name);
    write_text(str, text);
}

static void write_task(bf_str_t *str, const bf_outcome_task_t *task)
{
    const bf_node_t *node = task ? task->task.node : NULL;
    if (!node) {
        bf_str_puts(str, "null");
        return;
    }
    write_member(str, "{\"graph_id\":", task->graph_id);
    write_member(str, ",\"node_id\":", node->id);
    write_member(str, ",\"title\":", node->title);
    write_member(str, ",\"type\":", bf_node_type_name(node->type));
    bf_str_puts(str, ",\"state\":");
    bf_str_put_i64(str, (int64_t)task->task.state);
    bf_str_puts(str, ",\"meta\":");
    if (node->meta.type == BF_VALUE_MAP) {
        bf_json_write(str, &node->meta);
    } else {
        bf_str_puts(str, "{}");
    }
    if (node->task.kind == BF_CODE_TOPIC) { /* a service works on it */
        write_member(str, ",\"topic\":", node->task.name);
    }
    bf_str_putc(str, '}');
}

static void write_tasks(bf_str_t *str, const bf_outcome_t *outcome)
{
    bf_str_puts(str, ",\"task\":");
    write_task(str, outcome->task);
    bf_str_puts(str, ",\"next_tasks\":[");
    for (size_t i = 0; i < outcome->next_task_count; i++) {
        bf_str_puts(str, i ? "," : "");
        write_task(str, &outcome->next_tasks[i]);
    }
    bf_str_puts(str, "],\"states\":{");
    for (size_t i = 0; i < outcome->state_count; i++) {
        bf_str_puts(str, i ? "," : "");
        write_text(str, outcome->states[i].key);
        bf_str_putc(str, ':');
        bf_str_put_i64(str, (int64_t)outcome->states[i].state);
    }
    bf_str_putc(str, '}');
}

void bf_codec_write_reply(bf_str_t *str, const bf_command_t *command,
                          const bf_outcome_t *outcome, bool duplicate)
{
    write_member(str, "{\"command_id\":", command->command_id);
    write_member(str, ",\"command\":",
                 command->verb == BF_VERB_COUNT ? NULL : bf_verb_name(command->verb));
    write_member(str, ",\"instance_id\":", command->instance_id);
    write_member(str,
                 ",\"status\":", outcome->code == BF_CODE_OK ? "accepted" : "rejected");
    bf_str_puts(str, duplicate ? duplicate_yes : duplicate_no);
    write_member(str, "\"code\":", bf_code_name(outcome->code));
    write_member(str, ",\"error\":", outcome->error);
    bf_str_puts(str, ",\"revision\":");
    bf_str_put_i64(str, outcome->revision);
    write_member(
        str, ",\"instance_state\":",
        outcome->revision == 0 ? NULL : bf_instance_status_name(outcome->instance_state));
    write_tasks(str, outcome);
    bf_str_putc(str, '}');
}

/* The first hit is the member: quotes inside of texts are escaped. */
bf_status_t bf_codec_mark_duplicate(const char *reply, size_t len, bf_str_t *ret,
                                    bf_err_t *err)
{
    const size_t n = sizeof(duplicate_no) - 1;
    const char *at = memmem(reply, len, duplicate_no, n);
    if (at) {
        size_t before = (size_t)(at - reply);
        bf_str_append(ret, reply, before);
        bf_str_puts(ret, duplicate_yes);
        bf_str_append(ret, at + n, len - before - n);
    } else if (memmem(reply, len, duplicate_yes, sizeof(duplicate_yes) - 1)) {
        bf_str_append(ret, reply, len);
    } else {
        return bf_err_set(err, BF_E_INVALID,
                          "a stored reply has no member `duplicate`; was the row changed "
                          "by hand?");
    }
    return bf_str_status(ret, "reply", err);
}

static void write_node(bf_str_t *str, const char *name, const bf_history_node_t *node)
{
    bf_str_puts(str, name);
    write_member(str, "{\"code\":", node->code);
    write_member(str, ",\"name\":", node->name);
    write_member(str, ",\"type\":", node->type);
    bf_str_putc(str, '}');
}

static void write_row_id(bf_str_t *str, const char *name, const bf_history_t *row)
{
    bf_str_t id;
    bf_str_init(&id, 0);
    bf_str_puts(&id, row->instance_id);
    bf_str_putc(&id, '/');
    bf_str_put_i64(&id, row->seq);
    write_member(str, name, bf_str_peek(&id));
    str->failed = str->failed || bf_str_failed(&id);
    bf_str_fini(&id);
}

static void write_json(bf_str_t *str, const char *name, const char *data, size_t len)
{
    bf_str_puts(str, name);
    if (data && len) {
        bf_str_append(str, data, len);
    } else {
        bf_str_puts(str, "{}");
    }
}

static void write_answer(bf_str_t *str, const bf_history_t *row)
{
    bf_str_puts(str, ",\"command\":{\"command_id\":\"job-");
    bf_str_put_i64(str, row->seq);
    write_member(str, "\",\"command\":", bf_verb_name(BF_VERB_SUBMIT));
    write_member(str, ",\"instance_id\":", row->instance_id);
    write_member(str, ",\"graph_id\":", row->graph_id);
    write_member(str, ",\"node_id\":", row->source.code);
    bf_str_puts(str, ",\"job\":");
    bf_str_put_i64(str, row->seq);
    write_member(str, ",\"action\":", bf_action_name(BF_ACTION_FORWARD));
    if (row->assignee) {
        write_member(str, ",\"actor\":", row->assignee);
    }
    bf_str_puts(str, "}");
}

void bf_codec_write_job(bf_str_t *str, const bf_history_t *row)
{
    char time[BF_TIME_TEXT_MAX];
    write_row_id(str, "{\"job_id\":", row);
    write_member(str, ",\"instance_id\":", row->instance_id);
    write_member(str, ",\"graph_id\":", row->graph_id);
    bf_str_puts(str, ",\"graph_version\":");
    bf_str_put_i64(str, row->graph_version);
    write_member(str, ",\"node_id\":", row->source.code);
    write_member(str, ",\"task_id\":", row->task_id);
    write_member(str, ",\"title\":", row->source.name);
    write_json(str, ",\"meta\":", row->message, row->message ? strlen(row->message) : 0);
    write_json(str, ",\"variables\":", row->variables.data, row->variables.len);
    write_member(str, ",\"caused_by\":", row->command_id);
    bf_clock_format_rfc3339(row->create_time_ms, time);
    write_member(str, ",\"create_time\":", time);
    write_answer(str, row);
    bf_str_putc(str, '}');
}

static void write_event_head(bf_str_t *str, const bf_history_t *row)
{
    write_row_id(str, "{\"event_id\":", row);
    write_member(str, ",\"instance_id\":", row->instance_id);
    bf_str_puts(str, ",\"seq\":");
    bf_str_put_i64(str, row->seq);
    write_member(str, ",\"graph_id\":", row->graph_id);
    bf_str_puts(str, ",\"graph_version\":");
    bf_str_put_i64(str, row->graph_version);
}

void bf_codec_write_event(bf_str_t *str, const bf_history_t *row)
{
    write_event_head(str, row);
    write_member(str, ",\"task_id\":", row->task_id);
    write_member(str, ",\"action\":", bf_action_name(row->action));
    write_node(str, ",\"source\":", &row->source);
    write_node(str, ",\"target\":", &row->target);
    write_member(str, ",\"assignee\":", row->assignee);
    bf_str_puts(str, ",\"status\":");
    bf_str_put_i64(str, row->status);
    bf_str_puts(str, ",\"form_id\":");
    if (row->has_form_id) {
        bf_str_put_i64(str, row->form_id);
    } else {
        bf_str_puts(str, "null");
    }
    write_member(str, ",\"message\":", row->message);
    bf_str_puts(str, ",\"variables\":");
    if (row->variables.data && row->variables.len) {
        bf_str_append(str, row->variables.data, row->variables.len);
    } else {
        bf_str_puts(str, "null");
    }
    write_member(str, ",\"instance_state\":",
                 bf_instance_status_name((bf_instance_status_t)row->instance_state));
    write_member(str, ",\"command_id\":", row->command_id);
    write_member(str, ",\"creator\":", row->creator);
    char time[BF_TIME_TEXT_MAX];
    bf_clock_format_rfc3339(row->create_time_ms, time);
    write_member(str, ",\"create_time\":", time);
    bf_str_putc(str, '}');
}
