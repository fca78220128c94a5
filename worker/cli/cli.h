/*
 * cli.h - the frame of the command line tool: subcommands, options, output
 *
 * A subcommand is one row of a table (bf_cli_command_t): its name, what it takes, its
 * help and the function that runs it.  The table drives parsing, --help and the
 * suggestions for mistyped names.
 *
 * An option's value comes from, in this order: the command line, the environment, the
 * worker's configuration file (-c FILE), the default.
 *
 * Threads:  one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_H
#define BF_CLI_H

#include <stdint.h>
#include <stdio.h>

#include "bpmflow/err.h"
#include "bpmflow/str.h"

/* What the exit status says; a contract with scripts. */
typedef enum {
    BF_EXIT_OK = 0,       /* accepted; done; nothing found */
    BF_EXIT_REJECTED = 1, /* the worker rejected the command; a check found something */
    BF_EXIT_USAGE = 2,    /* the command line is wrong */
    BF_EXIT_TIMEOUT = 3,  /* no answer in time */
    BF_EXIT_FAILED = 4    /* no connection, missing table or topic, anything else */
} bf_exit_t;

typedef enum {
    BF_OPTION_FLAG,
    BF_OPTION_TEXT,
    BF_OPTION_INT,      /* min..max */
    BF_OPTION_DURATION, /* "500ms", "10s", "2m", "10" (seconds); kept in milliseconds */
    BF_OPTION_CHOICE,   /* metavar lists the words: "mermaid|dot" */
    BF_OPTION_LIST      /* may be repeated */
} bf_option_kind_t;

typedef struct bf_cli_option {
    const char *name; /* without the dashes; NULL ends a list */
    char letter;      /* short form; 0 = none */
    bf_option_kind_t kind;
    const char *metavar; /* NULL for flags */
    const char *fallback;
    int64_t min; /* INT, DURATION (milliseconds); both 0 = no bounds */
    int64_t max;
    const char *env;     /* environment variable, or NULL */
    const char *setting; /* path in the worker's configuration file, or NULL */
    const char *help;
} bf_cli_option_t;

/* An option of those that ask what the workers have published. */
#define BF_CLI_OPTION_GROUP                                                              \
    {                                                                                    \
        .name = "group", .kind = BF_OPTION_TEXT, .metavar = "GROUP",                     \
        .fallback = "bpmflow", .env = "BPMFLOW_GROUP", .setting = "kafka.group",         \
        .help = "consumer group of the workers"                                          \
    }

/* Groups of options that several subcommands share. */
enum {
    BF_OPTIONS_KAFKA = 1 << 0, /* --brokers, topics, -X */
    BF_OPTIONS_DB = 1 << 1,    /* --db-host, ... */
    BF_OPTIONS_JSON = 1 << 2,  /* --json */
    BF_OPTIONS_WAIT = 1 << 3,  /* --timeout, --no-wait of commands */
    BF_OPTIONS_LAST = BF_OPTIONS_WAIT
};

typedef struct bf_cli bf_cli_t;

typedef struct bf_cli_command {
    const char *name;     /* "submit", "graph check" */
    const char *summary;  /* one line, no full stop */
    const char *operands; /* "INSTANCE NODE", "" */
    int min_operands;
    int max_operands;               /* -1 = any number */
    unsigned groups;                /* BF_OPTIONS_* */
    const bf_cli_option_t *options; /* its own; may be NULL */
    const char *description;        /* paragraphs separated by \n\n, no other breaks */
    const char *status;   /* exit statuses that differ from the common ones; or NULL */
    const char *examples; /* lines as they are */
    bf_exit_t (*run)(bf_cli_t *cli);
} bf_cli_command_t;

#define BF_CLI_MAX_OPTIONS 48

typedef struct bf_cli_value {
    const bf_cli_option_t *option;
    const char *text;   /* NULL = not set */
    const char *origin; /* "option", "environment", "file", "default" */
    int64_t number;     /* INT, DURATION; FLAG: 1 when given */
    const char **list;  /* LIST */
    size_t list_count;
} bf_cli_value_t;

struct bf_cli {
    const bf_cli_command_t *command;
    bf_cli_value_t values[BF_CLI_MAX_OPTIONS];
    size_t value_count;
    const char *const *operands; /* borrowed from argv */
    int operand_count;
    const char **scratch; /* owns operands and lists */
    void *config;         /* of bf_cli_config_*; NULL = no file */
};

/* --- the table (commands.c) --- */

extern const bf_cli_command_t *const bf_cli_commands[];
/** Shared options in the order of help; ended by name NULL. */
const bf_cli_option_t *bf_cli_shared_options(unsigned group);
/** Options that every subcommand has (-c, --help, --quiet ...). */
const bf_cli_option_t *bf_cli_common_options(void);

/* --- parsing (options.c) --- */

/**
 * Parse what follows the name of the subcommand.
 *
 * @return BF_OK; BF_E_INVALID: err is the sentence for a usage error; BF_E_NOMEM
 */
bf_status_t bf_cli_parse(bf_cli_t *cli, const bf_cli_command_t *command, int argc,
                         char *const *argv, bf_err_t *err) BF_MUST_USE;
void bf_cli_fini(bf_cli_t *cli);

/** Value of an option; the option must be one of the subcommand's. */
const char *bf_cli_text(const bf_cli_t *cli, const char *name);
bool bf_cli_flag(const bf_cli_t *cli, const char *name);
int64_t bf_cli_int(const bf_cli_t *cli, const char *name);
const char *const *bf_cli_list(const bf_cli_t *cli, const char *name, size_t *ret_count);
/** True when the value was given (not a default). */
bool bf_cli_given(const bf_cli_t *cli, const char *name);
bool bf_cli_has(const bf_cli_t *cli, const char *name);
const char *bf_cli_operand(const bf_cli_t *cli, int index);

/** The name among count names that is nearest to the mistyped word; NULL when none is
 *  near. Asks next(arg, i) for the i-th name; NULL ends. */
const char *bf_cli_nearest(const char *word, const char *(*next)(void *arg, size_t index),
                           void *arg);

/* --- help (help.c) --- */

void bf_cli_help_all(FILE *out);
void bf_cli_help_command(FILE *out, const bf_cli_command_t *command);
/** Subcommands of a group ("graph"). False when there is no such group. */
bool bf_cli_help_group(FILE *out, const char *group);

/* --- the worker's configuration file (config.c) --- */

/** Read FILE; several problems are listed on stderr. BF_E_IO, BF_E_PARSE (err has the
 *  first), BF_E_NOMEM. */
bf_status_t bf_cli_config_load(const char *path, void **ret, bf_err_t *err) BF_MUST_USE;
void bf_cli_config_free(void *config);
/** All settings of the file; borrowed. */
struct bf_settings;
const struct bf_settings *bf_cli_config_settings(const void *config);
/** Text of a scalar setting, e.g. "kafka.brokers": that of the file, or the default; NULL
 *  when there is no such setting. Borrowed until free. */
const char *bf_cli_config_get(void *config, const char *path);
/** The index-th entry of a list of raw properties. False at the end. */
bool bf_cli_config_entry(void *config, const char *path, size_t index,
                         const char **ret_name, const char **ret_value);

/* --- messages (message.c) --- */

/** "bpmflow: TEXT" on stderr. */
void bf_cli_error(const char *fmt, ...) BF_PRINTF(1, 2);
/** "bpmflow: note: TEXT" on stderr. */
void bf_cli_note(const char *fmt, ...) BF_PRINTF(1, 2);
/** Print err and choose the exit status for a failed call. */
bf_exit_t bf_cli_fail(const bf_err_t *err, bf_status_t status);
/** Reason of the last system call that failed; valid until the next call. */
const char *bf_cli_errno_text(void);
/** A progress line on stderr: rewrites itself on a terminal; elsewhere at most one line
 *  in ten seconds. */
void bf_cli_progress(const char *fmt, ...) BF_PRINTF(1, 2);
/** Finish the progress line. */
void bf_cli_progress_end(void);
bool bf_cli_is_terminal(FILE *stream);
/** Ask on the terminal; false where the answer is no or there is no terminal. */
bool bf_cli_confirm(const char *fmt, ...) BF_PRINTF(1, 2);
/** Set by SIGINT and SIGTERM once bf_cli_catch_signals() was called. */
void bf_cli_catch_signals(void);
bool bf_cli_stopped(void);
/** Write a builder to stdout and empty it. BF_E_IO when nobody reads. */
bf_status_t bf_cli_write(bf_str_t *str, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_H */
