/*
 * help.c - --help: pages like those of man, from the table
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "worker/cli/cli.h"

#define WIDTH 79

/* Text wrapped at WIDTH with a margin; "\n\n" separates paragraphs. */
static void wrap(FILE *out, const char *text, int margin)
{
    int column = 0;
    while (*text) {
        if (text[0] == '\n' && text[1] == '\n') {
            fputs("\n\n", out);
            column = 0;
            text += 2;
            continue;
        }
        size_t n = strcspn(text, " \n");
        if (n > 0) {
            if (column > 0 && column + 1 + (int)n > WIDTH - margin) {
                fputc('\n', out);
                column = 0;
            }
            if (column == 0)
                fprintf(out, "%*s", margin, "");
            else
                fputc(' ', out);
            fprintf(out, "%.*s", (int)n, text);
            column += (int)n + (column > 0);
        }
        text += n;
        if (*text == ' ' || (*text == '\n' && text[1] != '\n'))
            text++;
    }
    fputc('\n', out);
}

static void option(FILE *out, const bf_cli_option_t *option)
{
    fprintf(out, "    ");
    if (option->letter)
        fprintf(out, "-%c, ", option->letter);
    fprintf(out, "--%s", option->name);
    if (option->kind != BF_OPTION_FLAG)
        fprintf(out, " %s", option->metavar);
    fputc('\n', out);
    wrap(out, option->help, 8);
    if (option->fallback)
        fprintf(out, "        Default: %s\n", option->fallback);
    if (option->env || option->setting) {
        fprintf(out, "        From:");
        if (option->env)
            fprintf(out, " %s%s", option->env, option->setting ? "," : "");
        if (option->setting)
            fprintf(out, " %s in the configuration file", option->setting);
        fputc('\n', out);
    }
}

static void options(FILE *out, const char *title, const bf_cli_option_t *list)
{
    if (!list || !list->name)
        return;
    fprintf(out, "\n%s\n", title);
    for (; list->name; list++)
        option(out, list);
}

static void exit_status(FILE *out, const bf_cli_command_t *command)
{
    static const char *const common[] = {
        "0   done; a command was accepted; a check found nothing",
        "1   the worker rejected the command; a check found something",
        "2   the command line is wrong", "3   no answer in time",
        "4   no connection, or anything else went wrong"};
    fputs("\nEXIT STATUS\n", out);
    if (command && command->status)
        wrap(out, command->status, 4);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        fprintf(out, "    %s\n", common[i]);
}

void bf_cli_help_command(FILE *out, const bf_cli_command_t *command)
{
    fprintf(out, "NAME\n    bpmflow %s - %s\n", command->name, command->summary);
    fprintf(out, "\nSYNOPSIS\n    bpmflow %s [OPTIONS]%s%s\n", command->name,
            *command->operands ? " " : "", command->operands);
    fputs("\nDESCRIPTION\n", out);
    wrap(out, command->description, 4);
    options(out, "OPTIONS", command->options);
    options(out, command->options ? "OUTPUT" : "OPTIONS",
            command->groups & BF_OPTIONS_JSON ? bf_cli_shared_options(BF_OPTIONS_JSON)
                                              : NULL);
    if (command->groups & BF_OPTIONS_WAIT)
        options(out, "SENDING", bf_cli_shared_options(BF_OPTIONS_WAIT));
    if (command->groups & BF_OPTIONS_KAFKA)
        options(out, "KAFKA", bf_cli_shared_options(BF_OPTIONS_KAFKA));
    if (command->groups & BF_OPTIONS_DB)
        options(out, "DATABASE", bf_cli_shared_options(BF_OPTIONS_DB));
    options(out, "COMMON", bf_cli_common_options());
    exit_status(out, command);
    if (command->examples)
        fprintf(out, "\nEXAMPLES\n%s", command->examples);
}

static void list(FILE *out, const char *prefix)
{
    for (size_t i = 0; bf_cli_commands[i]; i++) {
        const bf_cli_command_t *command = bf_cli_commands[i];
        if (strncmp(command->name, prefix, strlen(prefix)) == 0)
            fprintf(out, "    %-20s %s\n", command->name, command->summary);
    }
}

void bf_cli_help_all(FILE *out)
{
    fputs("NAME\n    bpmflow - send commands to bpmflow workers, look into their tables "
          "and topics\n\n"
          "SYNOPSIS\n    bpmflow SUBCOMMAND [OPTIONS] [OPERANDS]\n"
          "    bpmflow SUBCOMMAND --help\n    bpmflow --version\n\n"
          "SUBCOMMANDS\n",
          out);
    list(out, "");
    fputs("\nDESCRIPTION\n", out);
    wrap(
        out,
        "Where brokers and database are is told by options, by the environment or by the "
        "configuration file of the worker, in this order: -c FILE or BPMFLOW_CONFIG for "
        "the file; --brokers or BPMFLOW_BROKERS; --db-host, --db-port, --db-socket, "
        "--db-user, --db-name or BPMFLOW_DB_HOST and so on; the password in "
        "BPMFLOW_DB_PASSWORD.",
        4);
    exit_status(out, NULL);
    fputs("\nEXAMPLES\n"
          "    export BPMFLOW_BROKERS=localhost:9092\n"
          "    bpmflow start leave-1 --graph leave --actor li.wei --var day=3\n"
          "    bpmflow claim leave-1 --actor li.wei\n"
          "    bpmflow submit leave-1 leader --action forward --actor li.wei\n"
          "    bpmflow history leave-1\n"
          "    bpmflow watch --instance leave-1\n",
          out);
}

bool bf_cli_help_group(FILE *out, const char *group)
{
    char prefix[40];
    if (snprintf(prefix, sizeof prefix, "%s ", group) >= (int)sizeof prefix)
        return false;
    bool found = false;
    for (size_t i = 0; bf_cli_commands[i]; i++)
        found = found || strncmp(bf_cli_commands[i]->name, prefix, strlen(prefix)) == 0;
    if (!found)
        return false;
    fprintf(out,
            "SYNOPSIS\n    bpmflow %s SUBCOMMAND [OPTIONS] [OPERANDS]\n\n"
            "SUBCOMMANDS\n",
            group);
    list(out, prefix);
    return true;
}
