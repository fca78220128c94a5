/*
 * options.c - from argv, environment, file and defaults to the values of options
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/num.h"

static bf_status_t collect(bf_cli_t *cli, const bf_cli_option_t *options)
{
    for (; options && options->name; options++) {
        BF_ASSERT(cli->value_count < BF_CLI_MAX_OPTIONS);
        cli->values[cli->value_count++].option = options;
    }
    return BF_OK;
}

static bf_cli_value_t *find_value(bf_cli_t *cli, const char *name, size_t len)
{
    for (size_t i = 0; i < cli->value_count; i++) {
        const char *own = cli->values[i].option->name;
        if (strlen(own) == len && memcmp(own, name, len) == 0)
            return &cli->values[i];
    }
    return NULL;
}

static bf_cli_value_t *find_letter(bf_cli_t *cli, char letter)
{
    for (size_t i = 0; i < cli->value_count; i++)
        if (letter && cli->values[i].option->letter == letter)
            return &cli->values[i];
    return NULL;
}

static const char *option_name(void *arg, size_t index)
{
    const bf_cli_t *cli = arg;
    return index < cli->value_count ? cli->values[index].option->name : NULL;
}

/* "500ms", "10s", "2m", "1h"; a bare number is seconds. */
static bf_status_t parse_duration(const char *text, int64_t *ret, bf_err_t *err)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                 {"h", 3600000}, {"d", 86400000}, {"", 1000}};
    size_t digits = strspn(text, "0123456789.");
    double number = 0;
    if (digits == 0 || bf_num_parse_real(text, digits, &number, NULL) != BF_OK)
        return bf_err_set(err, BF_E_INVALID,
                          "is not a time: write for example 500ms, 10s or 2m");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].unit) != 0)
            continue;
        double ms = number * (double)units[i].ms;
        if (ms > 9e15)
            return bf_err_set(err, BF_E_INVALID, "is too long");
        *ret = (int64_t)(ms + 0.5);
        return BF_OK;
    }
    return bf_err_set(err, BF_E_INVALID,
                      "has an unknown unit '%s': write ms, s, m, h or d", text + digits);
}

static bf_status_t check_choice(const bf_cli_option_t *option, const char *text,
                                bf_err_t *err)
{
    size_t len = strlen(text);
    for (const char *word = option->metavar; *word;) {
        size_t n = strcspn(word, "|");
        if (n == len && memcmp(word, text, n) == 0)
            return BF_OK;
        word += n + (word[n] == '|');
    }
    return bf_err_set(err, BF_E_INVALID, "is not one of %s", option->metavar);
}

static bf_status_t check_bounds(const bf_cli_option_t *option, int64_t number,
                                bf_err_t *err)
{
    if ((option->min == 0 && option->max == 0) ||
        (number >= option->min && number <= option->max))
        return BF_OK;
    const char *unit = option->kind == BF_OPTION_DURATION ? " ms" : "";
    return bf_err_set(err, BF_E_INVALID, "is out of range: %lld to %lld%s",
                      (long long)option->min, (long long)option->max, unit);
}

/* Check the text and keep it; the message starts with the name and the text. */
static bf_status_t set_value(bf_cli_value_t *value, const char *text, const char *origin,
                             bf_err_t *err)
{
    const bf_cli_option_t *option = value->option;
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = BF_OK;
    int64_t number = value->number;
    if (option->kind == BF_OPTION_INT) {
        if (bf_num_parse_i64(text, strlen(text), &number, NULL) != BF_OK)
            rc = bf_err_set(&why, BF_E_INVALID, "is not a whole number");
    } else if (option->kind == BF_OPTION_DURATION) {
        rc = parse_duration(text, &number, &why);
    } else if (option->kind == BF_OPTION_CHOICE) {
        rc = check_choice(option, text, &why);
    }
    if (rc == BF_OK &&
        (option->kind == BF_OPTION_INT || option->kind == BF_OPTION_DURATION))
        rc = check_bounds(option, number, &why);
    if (rc != BF_OK)
        return bf_err_set(err, BF_E_INVALID, "--%s (from the %s): '%s' %s", option->name,
                          origin, text, why.text);
    value->text = text;
    value->number = number;
    value->origin = origin;
    if (option->kind == BF_OPTION_LIST)
        value->list[value->list_count++] = text;
    return BF_OK;
}

static bf_status_t unknown_option(bf_cli_t *cli, const char *word, size_t len,
                                  bf_err_t *err)
{
    char name[64] = {0};
    if (len < sizeof name)
        memcpy(name, word, len);
    const char *near = bf_cli_nearest(name, option_name, cli);
    if (near)
        return bf_err_set(err, BF_E_INVALID, "unknown option --%.*s; did you mean --%s?",
                          (int)len, word, near);
    return bf_err_set(err, BF_E_INVALID, "unknown option --%.*s", (int)len, word);
}

/* One option word; *i moves on when the value is the next word. */
static bf_status_t parse_option(bf_cli_t *cli, int argc, char *const *argv, int *i,
                                bf_err_t *err)
{
    const char *word = argv[*i];
    const char *text = NULL;
    bf_cli_value_t *value;
    if (word[1] == '-') {
        size_t len = strcspn(word + 2, "=");
        value = find_value(cli, word + 2, len);
        if (!value)
            return unknown_option(cli, word + 2, len, err);
        if (word[2 + len] == '=')
            text = word + 2 + len + 1;
    } else {
        value = find_letter(cli, word[1]);
        if (!value)
            return bf_err_set(err, BF_E_INVALID, "unknown option %s", word);
        if (word[2])
            text = word + 2;
    }
    if (value->option->kind == BF_OPTION_FLAG) {
        if (text)
            return bf_err_set(err, BF_E_INVALID, "--%s takes no value",
                              value->option->name);
        value->number = 1;
        value->origin = "option";
        return BF_OK;
    }
    if (!text) {
        if (*i + 1 >= argc)
            return bf_err_set(err, BF_E_INVALID, "--%s needs a value: %s",
                              value->option->name, value->option->metavar);
        text = argv[++*i];
    }
    return set_value(value, text, "option", err);
}

static bf_status_t parse_words(bf_cli_t *cli, int argc, char *const *argv,
                               const char **operands, bf_err_t *err)
{
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1]) {
            bf_status_t rc = parse_option(cli, argc, argv, &i, err);
            if (rc != BF_OK)
                return rc;
        } else {
            operands[cli->operand_count++] = word;
        }
    }
    return BF_OK;
}

static bf_status_t check_operands(const bf_cli_t *cli, bf_err_t *err)
{
    const bf_cli_command_t *command = cli->command;
    if (cli->operand_count < command->min_operands)
        return bf_err_set(err, BF_E_INVALID, "an operand is missing: bpmflow %s %s",
                          command->name, command->operands);
    if (command->max_operands >= 0 && cli->operand_count > command->max_operands)
        return bf_err_set(err, BF_E_INVALID, "'%s' is too much: bpmflow %s %s",
                          cli->operands[command->max_operands], command->name,
                          command->operands);
    return BF_OK;
}

/* Environment, file, default: for what the command line left open. */
static bf_status_t fill(bf_cli_t *cli, bf_err_t *err)
{
    for (size_t i = 0; i < cli->value_count; i++) {
        bf_cli_value_t *value = &cli->values[i];
        const bf_cli_option_t *option = value->option;
        if (value->text || option->kind == BF_OPTION_FLAG)
            continue;
        const char *text = option->env ? getenv(option->env) : NULL;
        const char *origin = "environment";
        if ((!text || !*text) && option->setting && cli->config) {
            text = bf_cli_config_get(cli->config, option->setting);
            origin = "configuration file";
        }
        if (!text || !*text) {
            text = option->fallback;
            origin = "default";
        }
        if (text) {
            bf_status_t rc = set_value(value, text, origin, err);
            if (rc != BF_OK)
                return rc;
        }
    }
    return BF_OK;
}

/* Memory for operands and for each list option: no list is longer than argc. */
static bf_status_t allocate(bf_cli_t *cli, size_t words, const char ***ret_operands,
                            bf_err_t *err)
{
    size_t lists = 1;
    for (size_t i = 0; i < cli->value_count; i++)
        lists += cli->values[i].option->kind == BF_OPTION_LIST;
    cli->scratch = calloc(lists * (words + 1), sizeof *cli->scratch);
    if (!cli->scratch)
        return bf_err_nomem(err, "options");
    const char **next = cli->scratch;
    *ret_operands = next;
    for (size_t i = 0; i < cli->value_count; i++)
        if (cli->values[i].option->kind == BF_OPTION_LIST)
            cli->values[i].list = next += words + 1;
    return BF_OK;
}

bf_status_t bf_cli_parse(bf_cli_t *cli, const bf_cli_command_t *command, int argc,
                         char *const *argv, bf_err_t *err)
{
    memset(cli, 0, sizeof *cli);
    cli->command = command;
    bf_status_t rc = collect(cli, command->options);
    for (unsigned bit = 1; rc == BF_OK && bit <= BF_OPTIONS_LAST; bit <<= 1)
        if (command->groups & bit)
            rc = collect(cli, bf_cli_shared_options(bit));
    if (rc == BF_OK)
        rc = collect(cli, bf_cli_common_options());
    const char **operands = NULL;
    if (rc == BF_OK)
        rc = allocate(cli, (size_t)argc, &operands, err);
    if (rc != BF_OK)
        return rc;
    cli->operands = operands;
    rc = parse_words(cli, argc, argv, operands, err);
    if (rc != BF_OK || bf_cli_flag(cli, "help"))
        return rc;
    rc = check_operands(cli, err);
    const char *path = bf_cli_text(cli, "config");
    if (!path)
        path = getenv("BPMFLOW_CONFIG");
    if (rc == BF_OK && path && *path)
        rc = bf_cli_config_load(path, &cli->config, err);
    if (rc == BF_OK)
        rc = fill(cli, err);
    return rc;
}

void bf_cli_fini(bf_cli_t *cli)
{
    if (cli->config)
        bf_cli_config_free(cli->config);
    free(cli->scratch);
    memset(cli, 0, sizeof *cli);
}

static const bf_cli_value_t *known(const bf_cli_t *cli, const char *name)
{
    for (size_t i = 0; i < cli->value_count; i++)
        if (strcmp(cli->values[i].option->name, name) == 0)
            return &cli->values[i];
    return NULL;
}

static const bf_cli_value_t *value_of(const bf_cli_t *cli, const char *name)
{
    const bf_cli_value_t *value = known(cli, name);
    BF_ASSERT(value); /* a name that the subcommand's table does not have */
    return value;
}

const char *bf_cli_text(const bf_cli_t *cli, const char *name)
{
    return value_of(cli, name)->text;
}

bool bf_cli_flag(const bf_cli_t *cli, const char *name)
{
    return value_of(cli, name)->number != 0;
}

int64_t bf_cli_int(const bf_cli_t *cli, const char *name)
{
    return value_of(cli, name)->number;
}

const char *const *bf_cli_list(const bf_cli_t *cli, const char *name, size_t *ret_count)
{
    const bf_cli_value_t *value = value_of(cli, name);
    *ret_count = value->list_count;
    return value->list;
}

bool bf_cli_given(const bf_cli_t *cli, const char *name)
{
    const char *origin = value_of(cli, name)->origin;
    return origin && strcmp(origin, "default") != 0;
}

bool bf_cli_has(const bf_cli_t *cli, const char *name)
{
    return known(cli, name) != NULL;
}

const char *bf_cli_operand(const bf_cli_t *cli, int index)
{
    return index < cli->operand_count ? cli->operands[index] : NULL;
}
