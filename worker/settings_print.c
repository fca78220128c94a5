/*
 * settings_print.c - the sample configuration and the help, from the table
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <string.h>

#include "worker/settings.h"

#define HELP_COLUMNS 88

static void put_range(bf_str_t *str, const bf_setting_t *setting)
{
    if (setting->type == BF_SETTING_INT) {
        bf_str_printf(str, " (%s%s%" PRId64 " to %" PRId64 ")", setting->unit,
                      setting->unit[0] ? ", " : "", setting->min, setting->max);
    } else if (setting->type == BF_SETTING_CHOICE) {
        bf_str_puts(str, " (");
        for (size_t i = 0; setting->choices[i]; i++) {
            bf_str_puts(str, i ? " | " : "");
            bf_str_puts(str, setting->choices[i]);
        }
        bf_str_putc(str, ')');
    }
    if (setting->reloadable) {
        bf_str_puts(str, " [SIGHUP]");
    }
}

static void put_value(bf_str_t *str, const bf_setting_t *setting)
{
    const char *text = setting->initial;
    switch (setting->type) {
    case BF_SETTING_INT:
    case BF_SETTING_BOOL:
        bf_str_puts(str, text);
        break;
    case BF_SETTING_TEXT:
    case BF_SETTING_CHOICE:
        bf_str_printf(str, "\"%s\"", text);
        break;
    case BF_SETTING_LIST:
        bf_str_puts(str, text[0] ? "( \"" : "( ");
        bf_str_puts(str, text); /* defaults have at most one member */
        bf_str_puts(str, text[0] ? "\" )" : ")");
        break;
    }
}

/* Words of text in lines of at most `columns`, each after `indent`. */
static void put_wrapped(bf_str_t *str, const char *indent, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > 0 && strlen(indent) + column + 1 + len > HELP_COLUMNS) {
            bf_str_putc(str, '\n');
            column = 0;
        }
        if (column == 0) {
            bf_str_puts(str, indent);
        } else {
            bf_str_putc(str, ' ');
            column++;
        }
        bf_str_append(str, text, len);
        column += len;
        text += len;
        text += strspn(text, " ");
    }
    bf_str_putc(str, '\n');
}

static void put_help(bf_str_t *str, const char *indent, const bf_setting_t *setting)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(&text, setting->help);
    put_range(&text, setting);
    put_wrapped(str, indent, bf_str_peek(&text));
    bf_str_fini(&text);
}

static bool same_group(const char *a, const char *b)
{
    size_t len = strcspn(a, ".");
    return len == strcspn(b, ".") && strncmp(a, b, len) == 0;
}

void bf_settings_print(bf_str_t *str)
{
    size_t count;
    const bf_setting_t *table = bf_settings_table(&count);
    bf_str_puts(str,
                "# Configuration of bpmflow-worker: every setting with its default.\n"
                "# Written by: bpmflow-worker --print-config\n"
                "# Checked by: bpmflow-worker --check-config -c FILE\n"
                "# [SIGHUP]: a changed value is taken by `kill -HUP`; the others need a "
                "restart.\n");
    for (size_t i = 0; i < count; i++) {
        const bf_setting_t *setting = &table[i];
        size_t group = strcspn(setting->name, ".");
        if (setting->name[group] == '\0') { /* outside of all groups */
            bf_str_putc(str, '\n');
            put_help(str, "# ", setting);
            bf_str_printf(str, "%s = ", setting->name);
            put_value(str, setting);
            bf_str_puts(str, ";\n");
            continue;
        }
        if (i == 0 || !same_group(setting->name, table[i - 1].name)) {
            bf_str_printf(str, "\n%.*s: {\n", (int)group, setting->name);
        } else {
            bf_str_putc(str, '\n');
        }
        put_help(str, "    # ", setting);
        /* A secret stands there as a comment: an empty password is a value, too. */
        bf_str_printf(str, "    %s%s = ", setting->secret ? "# " : "",
                      setting->name + group + 1);
        put_value(str, setting);
        bf_str_puts(str, ";\n");
        if (i + 1 == count || !same_group(setting->name, table[i + 1].name)) {
            bf_str_puts(str, "};\n");
        }
    }
}

void bf_settings_print_help(bf_str_t *str)
{
    size_t count;
    const bf_setting_t *table = bf_settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        bf_str_printf(str, "  %s = ", table[i].name);
        put_value(str, &table[i]);
        bf_str_putc(str, '\n');
        put_help(str, "        ", &table[i]);
    }
}
