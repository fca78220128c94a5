/*
 * main.c - bpmflow, the command line tool: finds the subcommand and runs it
 *
 * SPDX-License-Identifier: MIT
 */
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <mysql.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/version.h"
#include "worker/cli/cli.h"

static const char *command_name(void *arg, size_t index)
{
    (void)arg;
    const bf_cli_command_t *command = bf_cli_commands[index];
    return command ? command->name : NULL;
}

/* The subcommand at the beginning of argv; *ret_words is 1 or 2. */
static const bf_cli_command_t *find_command(int argc, char *const *argv, int *ret_words)
{
    char two[64];
    int len = argc > 1 ? snprintf(two, sizeof two, "%s %s", argv[0], argv[1]) : 0;
    for (size_t i = 0; bf_cli_commands[i]; i++) {
        const char *name = bf_cli_commands[i]->name;
        if (strcmp(name, argv[0]) == 0) {
            *ret_words = 1;
            return bf_cli_commands[i];
        }
        if (len > 0 && len < (int)sizeof two && strcmp(name, two) == 0) {
            *ret_words = 2;
            return bf_cli_commands[i];
        }
    }
    return NULL;
}

static bool is_group(const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; bf_cli_commands[i]; i++) {
        const char *name = bf_cli_commands[i]->name;
        if (strncmp(name, word, len) == 0 && name[len] == ' ')
            return true;
    }
    return false;
}

/* Says what was probably meant; `grpah check` finds its way too. */
static bf_exit_t unknown_command(int argc, char *const *argv)
{
    char two[64];
    const char *near = NULL;
    if (argv[0][0] == '-') {
        bf_cli_error("'%s': the subcommand comes first, then its options; bpmflow --help",
                     argv[0]);
        return BF_EXIT_USAGE;
    }
    if (argc > 1 && argv[1][0] != '-' &&
        snprintf(two, sizeof two, "%s %s", argv[0], argv[1]) < (int)sizeof two)
        near = bf_cli_nearest(two, command_name, NULL);
    if (!near || !strchr(near, ' ')) {
        const char *one = bf_cli_nearest(argv[0], command_name, NULL);
        near = one ? one : near;
    }
    bool group = is_group(argv[0]) && argc > 1;
    if (near)
        bf_cli_error("there is no subcommand '%s%s%s'; did you mean '%s'?", argv[0],
                     group ? " " : "", group ? argv[1] : "", near);
    else
        bf_cli_error("there is no subcommand '%s'; bpmflow --help lists them", argv[0]);
    return BF_EXIT_USAGE;
}

static bf_exit_t group_without_word(int argc, char *const *argv)
{
    bool help =
        argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (argc > 1 && !help)
        return unknown_command(argc, argv);
    (void)bf_cli_help_group(help ? stdout : stderr, argv[0]);
    return help ? BF_EXIT_OK : BF_EXIT_USAGE;
}

static bf_exit_t run(const bf_cli_command_t *command, int argc, char *const *argv)
{
    bf_cli_t cli;
    bf_err_t err = BF_ERR_INIT;
    bf_exit_t result;
    bf_status_t rc = bf_cli_parse(&cli, command, argc, argv, &err);
    if (rc == BF_OK && bf_cli_flag(&cli, "help")) {
        bf_cli_help_command(stdout, command);
        result = BF_EXIT_OK;
    } else if (rc == BF_OK) {
        result = command->run(&cli);
    } else if (rc == BF_E_INVALID) {
        bf_cli_error("%s: %s (bpmflow %s --help)", command->name, err.text,
                     command->name);
        result = BF_EXIT_USAGE;
    } else {
        result = bf_cli_fail(&err, rc);
    }
    bf_cli_fini(&cli);
    return result;
}

static bf_exit_t show_version(void)
{
    printf("bpmflow %s (librdkafka %s, database client %s, jansson %s)\n", BF_VERSION,
           rd_kafka_version_str(), mysql_get_client_info(), jansson_version_str());
    return BF_EXIT_OK;
}

static bf_exit_t show_help(int argc, char *const *argv)
{
    int words = 0;
    if (argc == 0) {
        bf_cli_help_all(stdout);
        return BF_EXIT_OK;
    }
    const bf_cli_command_t *command = find_command(argc, argv, &words);
    if (command)
        bf_cli_help_command(stdout, command);
    else if (!bf_cli_help_group(stdout, argv[0]))
        return unknown_command(argc, argv);
    return BF_EXIT_OK;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a write error says it too */
    if (argc < 2) {
        bf_cli_help_all(stderr);
        return BF_EXIT_USAGE;
    }
    const char *word = argv[1];
    bf_exit_t result;
    int words = 0;
    const bf_cli_command_t *command = find_command(argc - 1, argv + 1, &words);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        result = show_help(0, NULL);
    else if (strcmp(word, "help") == 0)
        result = show_help(argc - 2, argv + 2);
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        result = show_version();
    else if (command)
        result = run(command, argc - 1 - words, argv + 1 + words);
    else if (is_group(word))
        result = group_without_word(argc - 1, argv + 1);
    else
        result = unknown_command(argc - 1, argv + 1);
    if (fflush(stdout) != 0 && result == BF_EXIT_OK)
        result = BF_EXIT_FAILED;
    return (int)result;
}
