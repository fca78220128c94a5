/*
 * options.c - the command line of bpmflow-worker
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/options.h"

#include <getopt.h>
#include <jansson.h>
#include <libconfig.h>
#include <librdkafka/rdkafka.h>
#include <microhttpd.h>
#include <mysql.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/version.h"

static void print_help(FILE *file)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_str_puts(
        &text,
        "usage: bpmflow-worker [-c FILE] [--set NAME=VALUE]...\n"
        "\n"
        "Takes workflow commands from Kafka, applies them to MySQL or MariaDB, and\n"
        "publishes replies and task-history events, each exactly once.\n"
        "\n"
        "  -c, --config FILE      configuration file (libconfig)\n"
        "  -s, --set NAME=VALUE   a setting, over that of the file; lists with commas\n"
        "      --check-config     read everything, say what is wrong, do not start\n"
        "      --print-config     a configuration file with all settings and comments\n"
        "  -h, --help             this text\n"
        "  -V, --version          versions of the worker and of its libraries\n"
        "\n"
        "Signals: TERM and INT stop in order, a second one at once; HUP reads the\n"
        "definitions and the settings marked [SIGHUP] again.\n"
        "Exit status: 0 stopped in order, 1 an error, 2 wrong usage or configuration.\n"
        "\n"
        "Settings, with their defaults:\n");
    bf_settings_print_help(&text);
    (void)fputs(bf_str_peek(&text), file);
    bf_str_fini(&text);
}

static void print_config(void)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_settings_print(&text);
    (void)fputs(bf_str_peek(&text), stdout);
    bf_str_fini(&text);
}

/* Versions at run time: what is installed, not what it was built with. */
static void print_version(void)
{
    (void)printf("bpmflow-worker %s\n"
                 "librdkafka %s\n"
                 "MySQL client %s\n"
                 "jansson %s\n"
                 "libmicrohttpd %s\n"
                 "libconfig %d.%d (built with)\n",
                 BF_VERSION, rd_kafka_version_str(), mysql_get_client_info(),
                 jansson_version_str(), MHD_get_version(), LIBCONFIG_VER_MAJOR,
                 LIBCONFIG_VER_MINOR);
}

static void leave(bf_options_t *options, int status)
{
    options->run = BF_RUN_EXIT;
    options->exit_status = status;
}

static void usage_error(bf_options_t *options, const char *text, const char *what)
{
    (void)fprintf(stderr, "bpmflow-worker: %s%s; see bpmflow-worker --help\n", text,
                  what);
    leave(options, BF_EXIT_USAGE);
}

enum { OPTION_CHECK = 256, OPTION_PRINT };

/* false: what follows does not matter. */
static bool take_option(int option, bf_options_t *ret)
{
    switch (option) {
    case 'c':
        ret->config = optarg;
        return true;
    case 's':
        if (ret->set_count == BF_OPTIONS_SET_MAX) {
            usage_error(ret, "too many --set", "");
            return false;
        }
        ret->sets[ret->set_count++] = optarg;
        return true;
    case OPTION_CHECK:
        ret->run = BF_RUN_CHECK_CONFIG;
        return true;
    case OPTION_PRINT:
        print_config();
        leave(ret, BF_EXIT_OK);
        return false;
    case 'h':
        print_help(stdout);
        leave(ret, BF_EXIT_OK);
        return false;
    case 'V':
        print_version();
        leave(ret, BF_EXIT_OK);
        return false;
    default: /* getopt has said what is wrong */
        leave(ret, BF_EXIT_USAGE);
        return false;
    }
}

void bf_options_parse(int argc, char **argv, bf_options_t *ret)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"set", required_argument, NULL, 's'},
        {"check-config", no_argument, NULL, OPTION_CHECK},
        {"print-config", no_argument, NULL, OPTION_PRINT},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    memset(ret, 0, sizeof(*ret));
    int option;
    /* One thread only at this time. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while ((option = getopt_long(argc, argv, "c:s:hV", options, NULL)) != -1) {
        if (!take_option(option, ret)) {
            return;
        }
    }
    if (optind < argc) {
        usage_error(ret, "unexpected argument ", argv[optind]);
    }
}

static bool apply_set(const char *text, bf_settings_t *settings, bf_err_t *err)
{
    char name[128];
    const char *equals = strchr(text, '=');
    if (!equals || (size_t)(equals - text) >= sizeof(name)) {
        bf_err_set(err, BF_E_INVALID, "--set %s: NAME=VALUE is needed", text);
        return false;
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    return bf_settings_set(settings, name, equals + 1, err) == BF_OK;
}

bool bf_options_load(const bf_options_t *options, bf_settings_t *settings)
{
    bf_err_t err = BF_ERR_INIT;
    bf_str_t problems;
    bf_str_init(&problems, 0);
    bool ok = bf_settings_init(settings, &err) == BF_OK;
    if (ok && options->config) {
        ok = bf_settings_read_file(settings, options->config, &problems, &err) == BF_OK;
    }
    for (size_t i = 0; i < options->set_count && ok; i++) {
        ok = apply_set(options->sets[i], settings, &err);
    }
    if (ok) {
        ok = bf_settings_finish(settings, &err) == BF_OK;
    }
    if (!ok && problems.len > 0) {
        (void)fputs(bf_str_peek(&problems), stderr);
    } else if (!ok) {
        (void)fprintf(stderr, "bpmflow-worker: %s\n", err.text);
    }
    bf_str_fini(&problems);
    return ok;
}
