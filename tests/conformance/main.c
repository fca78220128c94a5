/*
 * main.c - bpmflow-conformance: runs scenario files and says what holds
 *
 *     bpmflow-conformance [options] FILE|FOLDER...
 *
 * Exit status: 0 nothing failed, 1 something failed, 2 could not run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"

static const char usage[] =
    "usage: bpmflow-conformance [options] FILE|FOLDER...\n"
    "Runs scenarios (engine, workflow, jeeflow, expressions, graph loading; told apart "
    "by\n"
    "their content) and prints one line for each: PASS, DECIDED, FAIL or SKIPPED.\n"
    "  --decisions DIR        decision files (default: tests/data/decisions)\n"
    "  --write-decisions DIR  for each failed case write a draft of a decision file: "
    "what\n"
    "                         came; check it, and add the sentence why\n"
    "  --only TEXT            only cases whose name contains TEXT\n"
    "  --help\n";

static void run_file(conf_t *conf, const char *path)
{
    const char *text;
    size_t len;
    if (conf_read_file(conf, path, &text, &len)) {
        conf_run_text(conf, path, text, len);
    } else {
        conf_fail_file(conf, path, "cannot be read");
    }
    bf_arena_clear(&conf->arena);
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && !strcmp(text + len - end_len, end);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void run_path(conf_t *conf, const char *path, bool named);

static void run_folder(conf_t *conf, const char *path)
{
    struct dirent **names = NULL;
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char child[PATH_MAX];
        int len = snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(child)) {
            run_path(conf, child, false);
        }
        free(names[i]);
    }
    free(names);
}

/* `named` on the command line: then it must be a scenario, whatever its name ends with */
static void run_path(conf_t *conf, const char *path, bool named)
{
    if (is_folder(path)) {
        run_folder(conf, path);
    } else if (named || ends_with(path, ".json")) {
        run_file(conf, path);
    }
}

/* Beside the sources, when we are called from another folder than the top one. */
static const char *default_decisions(char buffer[PATH_MAX])
{
    static const char below[] = "tests/data/decisions";
    if (is_folder(below)) {
        return below;
    }
    char exe[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (len <= 0) {
        return NULL;
    }
    exe[len] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(exe, '/');
        if (!slash) {
            return NULL;
        }
        *slash = '\0';
    }
    int n = snprintf(buffer, PATH_MAX, "%s/%s", exe, below);
    return n > 0 && n < PATH_MAX && is_folder(buffer) ? buffer : NULL;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"decisions", required_argument, NULL, 'd'},
        {"write-decisions", required_argument, NULL, 'w'},
        {"only", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    char buffer[PATH_MAX];
    conf_t conf = {.decisions = default_decisions(buffer)};
    int opt;
    while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (opt == 'd') {
            conf.decisions = optarg;
        } else if (opt == 'w') {
            conf.drafts = optarg;
        } else if (opt == 'o') {
            conf.filter = optarg;
        } else {
            (void)fputs(usage, opt == 'h' ? stdout : stderr);
            return opt == 'h' ? 0 : 2;
        }
    }
    if (optind == argc) {
        (void)fputs(usage, stderr);
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    bf_arena_init(&conf.arena, 0);
    for (int i = optind; i < argc; i++) {
        run_path(&conf, argv[i], true);
    }
    bf_arena_fini(&conf.arena);
    (void)printf("%u passed, %u failed, %u skipped\n", conf.passed, conf.failed,
                 conf.skipped);
    return conf.failed ? 1 : 0;
}
