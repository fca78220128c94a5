/*
 * reply.c - a reply of a worker for people; see reply.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/reply.h"

#include <string.h>

#include "bpmflow/task.h"
#include "worker/cli/table.h"

const char *bf_cli_state_text(int64_t code)
{
    bf_task_state_t state = bf_task_state_of(code);
    return (int64_t)state == code ? bf_task_state_name(state) : "?";
}

static const char *text_of(const bf_value_t *map, const char *name)
{
    const char *text = bf_value_get_cstr(map, name);
    return text ? text : "";
}

static int64_t int_of(const bf_value_t *map, const char *name)
{
    const bf_value_t *value = bf_value_get_str(map, name);
    return value && value->type == BF_VALUE_INT ? value->as.integer : 0;
}

static bool is_true(const bf_value_t *map, const char *name)
{
    const bf_value_t *value = bf_value_get_str(map, name);
    return value && value->type == BF_VALUE_BOOL && value->as.boolean;
}

static void put_safe(bf_str_t *str, const char *text)
{
    bf_text_put_safe(str, text, strlen(text));
}

void bf_cli_put_meta(bf_str_t *str, const bf_value_t *meta)
{
    if (!meta || meta->type != BF_VALUE_MAP)
        return;
    for (uint32_t i = 0; i < meta->len; i++) {
        const bf_member_t *member = &meta->as.members[i];
        bf_str_t value;
        bf_str_init(&value, 0);
        bf_value_write_text(&value, &member->value);
        bf_str_puts(str, "  ");
        put_safe(str, member->name);
        bf_str_putc(str, '=');
        put_safe(str, bf_str_peek(&value));
        bf_str_fini(&value);
    }
}

static void put_task(bf_str_t *str, const char *label, const bf_value_t *task)
{
    bf_str_printf(str, "%-10s", label);
    put_safe(str, text_of(task, "node_id"));
    const char *title = text_of(task, "title");
    if (*title) {
        bf_str_puts(str, "  \"");
        put_safe(str, title);
        bf_str_putc(str, '"');
    }
    int64_t state = int_of(task, "state");
    if (state != BF_TASK_UNKNOWN) /* not claimed yet: nothing to say */
        bf_str_printf(str, "  %s", bf_cli_state_text(state));
    bf_cli_put_meta(str, bf_value_get_str(task, "meta"));
    bf_str_putc(str, '\n');
}

static void put_states(bf_str_t *str, const bf_value_t *states)
{
    if (!states || states->type != BF_VALUE_MAP)
        return;
    for (uint32_t i = 0; i < states->len; i++) {
        const bf_member_t *member = &states->as.members[i];
        int64_t code = member->value.type == BF_VALUE_INT ? member->value.as.integer : -1;
        bf_str_printf(str, "%-10s", i ? "" : "states");
        put_safe(str, member->name);
        bf_str_printf(str, "  %s\n", bf_cli_state_text(code));
    }
}

static void put_outcome(bf_str_t *str, const bf_value_t *reply)
{
    put_safe(str, text_of(reply, "status"));
    bf_str_puts(str, "  ");
    put_safe(str, text_of(reply, "command"));
    bf_str_puts(str, " of ");
    put_safe(str, text_of(reply, "instance_id"));
    int64_t revision = int_of(reply, "revision");
    if (revision > 0) {
        bf_str_printf(str, "  (revision %lld, ", (long long)revision);
        put_safe(str, text_of(reply, "instance_state"));
        bf_str_putc(str, ')');
    }
    bf_str_putc(str, '\n');
    if (is_true(reply, "duplicate"))
        bf_str_puts(str, "note      this command was applied before; this is its first "
                         "outcome\n");
    const char *code = text_of(reply, "code");
    const char *error = text_of(reply, "error");
    if (strcmp(code, "ok") != 0 || *error) {
        bf_str_printf(str, "%-10s", strcmp(code, "ok") != 0 ? "reason" : "remark");
        put_safe(str, code);
        bf_str_puts(str, *error ? ": " : "");
        put_safe(str, error);
        bf_str_putc(str, '\n');
    }
}

void bf_cli_reply_text(const bf_value_t *reply, bf_str_t *ret)
{
    put_outcome(ret, reply);
    const bf_value_t *task = bf_value_get_str(reply, "task");
    if (task && task->type == BF_VALUE_MAP)
        put_task(ret, "task", task);
    const bf_value_t *next = bf_value_get_str(reply, "next_tasks");
    for (uint32_t i = 0; next && next->type == BF_VALUE_LIST && i < next->len; i++)
        put_task(ret, i ? "" : "next", &next->as.items[i]);
    put_states(ret, bf_value_get_str(reply, "states"));
}

bf_exit_t bf_cli_reply_status(const bf_value_t *reply)
{
    return strcmp(text_of(reply, "status"), "accepted") == 0 ? BF_EXIT_OK
                                                             : BF_EXIT_REJECTED;
}
