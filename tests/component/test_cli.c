/*
 * test_cli.c - the command line tool without services: usage, help, graphs, expressions
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cli.h"

static const char *const subcommands[] = {"start",
                                          "claim",
                                          "submit",
                                          "submit-if-waiting",
                                          "find",
                                          "next",
                                          "state",
                                          "set-vars",
                                          "show",
                                          "history",
                                          "watch",
                                          "graph check",
                                          "graph draw",
                                          "graph convert",
                                          "expr",
                                          "verify",
                                          "migrate",
                                          "status",
                                          "purge",
                                          "load",
                                          "dead-letters list",
                                          "dead-letters show",
                                          "dead-letters replay"};

#define SUBCOMMAND_COUNT (sizeof subcommands / sizeof *subcommands)

/* A file in /tmp with this content; removed by the caller. */
static void write_file(char path[64], const char *name, const char *text)
{
    (void)snprintf(path, 64, "/tmp/bpmflow-test-%d-%s", (int)getpid(), name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static const char leave[] = "id: leave\n"
                            "title: Leave\n"
                            "layout:\n"
                            "  - {id: s, type: start}\n"
                            "  - {id: leader, title: 'Team leader', meta: {actor: li}}\n"
                            "  - {id: hr, meta: {actor: wang}}\n"
                            "  - {id: e, type: end}\n";

/* --- usage --- */

Test(cli, help__lists_every_subcommand)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "--help", NULL);
    test_cli_expect(&cli, 0);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        test_cli_expect_out(&cli, subcommands[i]);
    test_cli_fini(&cli);
}

Test(cli, help__of_each_subcommand_is_a_page)
{
    static const char *const parts[] = {"NAME\n",        "SYNOPSIS\n", "DESCRIPTION\n",
                                        "EXIT STATUS\n", "EXAMPLES\n", "--help"};
    test_cli_t cli = {0};
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        char first[40];
        (void)snprintf(first, sizeof first, "%s", subcommands[i]);
        char *second = strchr(first, ' ');
        if (second)
            *second++ = '\0';
        test_cli_run(&cli, first, second ? second : "--help", second ? "--help" : NULL,
                     NULL);
        test_cli_expect(&cli, 0);
        cr_expect_str_empty(cli.err);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            test_cli_expect_out(&cli, parts[k]);
        char name[60];
        (void)snprintf(name, sizeof name, "bpmflow %s - ", subcommands[i]);
        test_cli_expect_out(&cli, name);
        for (const char *line = cli.out; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            size_t len = strcspn(line, "\n");
            cr_expect_leq(len, 100, "%s: a long line: %.*s", subcommands[i], (int)len,
                          line);
            if (!*line)
                break;
        }
    }
    test_cli_fini(&cli);
}

Test(cli, no_words__are_a_usage_error)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, NULL, NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "SUBCOMMANDS");
    test_cli_run(&cli, "graph", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "graph check");
    test_cli_run(&cli, "graph", "--help", NULL);
    test_cli_expect(&cli, 0);
    test_cli_run(&cli, "--version", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "bpmflow ");
    test_cli_fini(&cli);
}

Test(cli, mistyped_subcommand__gets_the_nearest_name)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "sumbit", "leave-1", "hr", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "did you mean 'submit'?");
    test_cli_run(&cli, "hist", "leave-1", NULL);
    test_cli_expect_err(&cli, "did you mean 'history'?");
    test_cli_run(&cli, "graph", "chek", "x", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "did you mean 'graph check'?");
    test_cli_run(&cli, "dead-letter", "list", NULL);
    test_cli_expect_err(&cli, "did you mean 'dead-letters list'?");
    test_cli_run(&cli, "zzzzzz", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "bpmflow --help lists them");
    test_cli_fini(&cli);
}

Test(cli, bad_options__say_what_is_wrong)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "submit", "leave-1", "hr", "--actr", "li", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "unknown option --actr; did you mean --actor?");
    test_cli_run(&cli, "submit", "leave-1", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "an operand is missing");
    test_cli_run(&cli, "claim", "a", "b", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "'b' is too much");
    test_cli_run(&cli, "claim", "a", "--timeout", "soon", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "'soon' is not a time");
    test_cli_run(&cli, "claim", "a", "--timeout=5x", NULL);
    test_cli_expect_err(&cli, "unknown unit 'x'");
    test_cli_run(&cli, "show", "a", "--db-port", "70000", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "out of range: 1 to 65535");
    test_cli_run(&cli, "watch", "--from", "middle", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "'middle' is not one of beginning|end");
    test_cli_run(&cli, "claim", "a", "--json=yes", NULL);
    test_cli_expect_err(&cli, "--json takes no value");
    test_cli_run(&cli, "claim", "a", "--actor", NULL);
    test_cli_expect_err(&cli, "--actor needs a value: ACTOR");
    test_cli_run(&cli, "--json", "claim", "a", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "the subcommand comes first");
    test_cli_fini(&cli);
}

Test(cli, bad_environment__is_named)
{
    const char *const env[] = {"BPMFLOW_DB_PORT=high", NULL};
    test_cli_t cli = {.env = env};
    test_cli_run(&cli, "show", "leave-1", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli,
                        "--db-port (from the environment): 'high' is not a whole number");
    test_cli_fini(&cli);
}

/* --- commands that are only built --- */

Test(cli, dry_run__prints_the_command)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "submit", "leave-1", "hr", "--action", "back", "--actor", "li",
                 "--message", "say \"why\"", "--form-id", "12", "--command-id", "c-1",
                 "-v", "day=3", "-v", "name=li wei", "-v", "text=\"3\"", "-x",
                 "role=leader", "--expected-revision", "4", "--force", "--dry-run", NULL);
    test_cli_expect(&cli, 0);
    cr_expect_str_eq(
        cli.out,
        "{\"command_id\":\"c-1\",\"command\":\"submit\",\"instance_id\":\"leave-1\","
        "\"node_id\":\"hr\",\"action\":\"back\",\"actor\":\"li\",\"message\":\"say "
        "\\\"why\\\"\",\"form_id\":12,\"expected_revision\":4,\"force\":true,\"context\":"
        "{"
        "\"role\":\"leader\"},\"vars\":{\"day\":3,\"name\":\"li "
        "wei\",\"text\":\"3\"}}\n");
    test_cli_run(&cli, "set-vars", "leave-1", "a=1", "{\"a\":2,\"b\":null}",
                 "--command-id=c", "--dry-run", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "\"command\":\"set_vars\"");
    test_cli_expect_out(&cli, "\"vars\":{\"a\":2,\"b\":null}");
    test_cli_run(&cli, "next", "leave-1", "--dry-run", NULL);
    test_cli_expect_out(&cli, "\"command\":\"find_next\"");
    test_cli_run(&cli, "state", "leave-1", "hr", "--dry-run", NULL);
    test_cli_expect_out(&cli, "\"command\":\"get_state\"");
    test_cli_expect_out(&cli, "\"node_id\":\"hr\"");
    test_cli_fini(&cli);
}

Test(cli, commands__are_checked_before_they_are_sent)
{
    test_cli_t cli = {0};
    test_cli_run(&cli, "start", "leave-1", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "--graph is missing");
    test_cli_run(&cli, "claim", " leave-1", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "INSTANCE");
    test_cli_run(&cli, "claim", "leave-1", "-v", "day", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "write NAME=VALUE");
    test_cli_run(&cli, "claim", "leave-1", "-v", "{\"a\":1,\"a\":2}", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_run(&cli, "claim", "leave-1", "-v", "@/nowhere/x", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "cannot read /nowhere/x");
    test_cli_run(&cli, "claim", "leave-1", "-v", "name=\xff", "--dry-run", NULL);
    test_cli_expect(&cli, 2);
    test_cli_expect_err(&cli, "is not valid UTF-8");
    test_cli_fini(&cli);
}

/* --- the configuration file --- */

Test(cli, config__gives_the_addresses)
{
    char path[64];
    write_file(path, "worker.conf",
               "kafka = { brokers = \"127.0.0.1:9\"; };\n"
               "mysql = { host = \"127.0.0.1\"; port = 9; user = \"u\"; };\n");
    test_cli_t cli = {0};
    test_cli_run(&cli, "show", "leave-1", "-c", path, NULL);
    test_cli_expect(&cli, 4);
    test_cli_expect_err(&cli, "127.0.0.1:9");
    test_cli_run(&cli, "claim", "leave-1", "-c", path, "-t", "200ms", NULL);
    test_cli_expect(&cli, 3);
    test_cli_expect_err(&cli, "127.0.0.1:9");
    cr_assert_eq(unlink(path), 0);
    test_cli_run(&cli, "show", "leave-1", "-c", path, NULL);
    test_cli_expect(&cli, 4);
    test_cli_expect_err(&cli, path);
    write_file(path, "worker.conf", "kafka = {\n brokers = ;\n};\n");
    test_cli_run(&cli, "show", "leave-1", "-c", path, NULL);
    test_cli_expect(&cli, 4);
    test_cli_expect_err(&cli, ":2: ");
    write_file(path, "worker.conf",
               "kafka = { borkers = \"a:1\"; };\nmysql = { port = 0; };");
    test_cli_run(&cli, "show", "leave-1", "-c", path, NULL);
    test_cli_expect(&cli, 4);
    test_cli_expect_err(&cli, "kafka.brokers");
    test_cli_expect_err(&cli, "mysql.port");
    char address[64];
    write_file(address, "address", "127.0.0.1:7\n");
    char text[300];
    (void)snprintf(text, sizeof text,
                   "kafka = { embedded = true; embedded_file = \"%s\"; };\n"
                   "events = { delivery = \"idempotent\"; };\n",
                   address);
    write_file(path, "worker.conf", text);
    test_cli_run(&cli, "watch", "-c", path, NULL);
    test_cli_expect(&cli, 3);
    test_cli_expect_err(&cli, "127.0.0.1:7");
    cr_assert_eq(unlink(address), 0);
    cr_assert_eq(unlink(path), 0);
    test_cli_fini(&cli);
}

/* --- graphs --- */

Test(cli, graph_check__tells_good_from_bad)
{
    char good[64];
    char bad[64];
    write_file(good, "good.yml", leave);
    write_file(bad, "bad.yml",
               "id: bad\nlayout:\n  - {id: s, type: start, link: nowhere}\n"
               "  - {id: a, type: actvity}\n");
    test_cli_t cli = {0};
    test_cli_run(&cli, "graph", "check", good, NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "graph leave version 1, 4 nodes, 3 links");
    test_cli_run(&cli, "graph", "check", good, bad, NULL);
    test_cli_expect(&cli, 1);
    test_cli_expect_out(&cli, "graph leave version 1");
    test_cli_expect_err(&cli, "bad.yml:3: error: node 's'");
    test_cli_expect_err(&cli, "bad.yml:4: error: node 'a'");
    test_cli_run(&cli, "graph", "check", "--json", bad, NULL);
    test_cli_expect(&cli, 1);
    test_cli_expect_out(&cli, "\"ok\":false");
    test_cli_expect_out(&cli, "{\"severity\":\"error\",\"line\":3,\"node\":\"s\"");
    test_cli_run(&cli, "graph", "check", "/nowhere/graph.yml", NULL);
    test_cli_expect(&cli, 1);
    test_cli_expect_err(&cli, "/nowhere/graph.yml");
    cr_assert_eq(unlink(good), 0);
    cr_assert_eq(unlink(bad), 0);
    test_cli_fini(&cli);
}

Test(cli, graph_draw_and_convert__write_text)
{
    char path[64];
    char json[64];
    write_file(path, "leave.yml", leave);
    test_cli_t cli = {0};
    test_cli_run(&cli, "graph", "draw", path, NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "flowchart");
    test_cli_expect_out(&cli, "Team leader");
    test_cli_run(&cli, "graph", "draw", path, "--format", "dot", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "digraph");
    test_cli_run(&cli, "graph", "convert", path, "--to", "json", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "\"id\": \"leave\"");
    write_file(json, "leave.json", cli.out);
    test_cli_run(&cli, "graph", "convert", json, "--to", "yaml", NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "id: leave");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(unlink(json), 0);
    test_cli_fini(&cli);
}

/* --- expressions --- */

Test(cli, expr__evaluates)
{
    char path[64];
    write_file(path, "vars.json", "{\"day\": 4, \"user\": {\"role\": \"leader\"}}");
    test_cli_t cli = {0};
    test_cli_run(&cli, "expr", "day > 3 && user.role == 'leader'", "--vars", path, NULL);
    test_cli_expect(&cli, 0);
    cr_expect_str_eq(cli.out, "true\n");
    test_cli_run(&cli, "expr", "day * 2", "--vars", path, "--vars", "day=21", NULL);
    cr_expect_str_eq(cli.out, "42\n");
    test_cli_run(&cli, "expr", "--test", "day > 10", "--vars", path, NULL);
    test_cli_expect(&cli, 1);
    test_cli_run(&cli, "expr", "day >", NULL);
    test_cli_expect(&cli, 1);
    test_cli_expect_err(&cli, "line 1 column 6");
    test_cli_run(&cli, "expr", "1 / 0", NULL);
    test_cli_expect(&cli, 1);
    test_cli_run(&cli, "expr", "--script", "a = day + 1; day = null", "--vars", path,
                 NULL);
    test_cli_expect(&cli, 0);
    test_cli_expect_out(&cli, "\"a\": 5");
    cr_expect(!strstr(cli.out, "day"));
    cr_assert_eq(unlink(path), 0);
    test_cli_fini(&cli);
}
