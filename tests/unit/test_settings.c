/*
 * test_settings.c - the table of settings and all that comes from it
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bf_settings_t settings;
static bf_str_t problems;
static bf_err_t err;

static void setup(void)
{
    err = (bf_err_t)BF_ERR_INIT;
    bf_str_init(&problems, 0);
    cr_assert_eq(bf_settings_init(&settings, &err), BF_OK, "%s", err.text);
}

static void teardown(void)
{
    bf_settings_fini(&settings);
    bf_str_fini(&problems);
}

TestSuite(settings, .init = setup, .fini = teardown);

static bf_status_t read_text(const char *text)
{
    char path[] = "/tmp/bpmflow-settings-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    bf_status_t rc = bf_settings_read_file(&settings, path, &problems, &err);
    (void)unlink(path);
    return rc;
}

static void assert_problem(const char *text, const char *expected)
{
    cr_assert_eq(read_text(text), BF_E_INVALID);
    cr_assert(strstr(bf_str_peek(&problems), expected), "'%s' is not in: %s", expected,
              bf_str_peek(&problems));
}

Test(settings, init__defaults_are_those_of_the_table)
{
    cr_assert_str_eq(settings.kafka.brokers, "127.0.0.1:9092");
    cr_assert_eq(settings.batch.max_commands, 1000);
    cr_assert(settings.replies.enabled);
    cr_assert_not(settings.kafka.embedded);
    cr_assert_eq(settings.worker.on_gap, BF_ON_GAP_STOP);
    cr_assert_eq(settings.graphs.actor_keys.count, 1);
    cr_assert_str_eq(settings.graphs.actor_keys.items[0], "actor");
    cr_assert_eq(settings.graphs.paths.count, 0);
}

Test(settings, table__every_entry_has_help_and_a_default_within_its_range)
{
    size_t count;
    const bf_setting_t *table = bf_settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        cr_assert(strchr(table[i].name, '.') || !strcmp(table[i].name, "components"),
                  "%s", table[i].name);
        cr_assert_gt(strlen(table[i].help), 10, "%s", table[i].name);
        for (size_t j = 0; j < i; j++) {
            cr_assert_str_neq(table[i].name, table[j].name);
            cr_assert_neq(table[i].offset, table[j].offset, "%s", table[i].name);
        }
    }
}

Test(settings, read_file__one_setting_stands_outside_of_all_groups)
{
    cr_assert_eq(read_text("components = [\"libpay.so\", \"./libb.so\"];\n"), BF_OK, "%s",
                 bf_str_peek(&problems));
    cr_assert_eq(settings.components.count, 2);
    cr_assert_str_eq(settings.components.items[0], "libpay.so");
    cr_assert_eq(read_text("components = (\"a.so\");"), BF_OK, "%s",
                 bf_str_peek(&problems));
    cr_assert_eq(settings.components.count, 1);
    assert_problem("components = 5;", "components is a number; it must be a list");
    assert_problem("componets = (\"a.so\");", "there is no group 'componets'");
}

Test(settings, controller__is_one_of_ours_or_of_a_library)
{
    cr_assert_eq(bf_settings_controller(&settings), BF_CONTROLLER_ACTOR);
    cr_assert_eq(bf_settings_set(&settings, "graphs.controller", "not-block", &err),
                 BF_OK);
    cr_assert_eq(bf_settings_controller(&settings), BF_CONTROLLER_NOT_BLOCK);
    cr_assert_eq(bf_settings_set(&settings, "graphs.controller", "shifts", &err), BF_OK);
    cr_assert_eq(bf_settings_controller(&settings), BF_CONTROLLER_LIBRARY);
}

Test(settings, read_file__takes_every_type)
{
    const char *text = "kafka: { brokers = \"a:1,b:2\"; embedded = true;\n"
                       "  properties = ( \"linger.ms=5\", \"client.rack=x=y\" ); };\n"
                       "mysql = { port = 3307; tls = \"verify-ca\"; };\n"
                       "batch = { max_bytes = 1000000L; };\n";
    cr_assert_eq(read_text(text), BF_OK, "%s", bf_str_peek(&problems));
    cr_assert_str_eq(settings.kafka.brokers, "a:1,b:2");
    cr_assert(settings.kafka.embedded);
    cr_assert_eq(settings.kafka.properties.count, 2);
    cr_assert_str_eq(settings.kafka.properties.items[1], "client.rack=x=y");
    cr_assert_eq(settings.mysql.port, 3307);
    cr_assert_eq(settings.mysql.tls, 2);
    cr_assert_eq(settings.batch.max_bytes, 1000000);
}

Test(settings, read_file__an_unknown_setting_names_line_and_nearest)
{
    assert_problem("kafka: {\n  brokers = \"a\";\n  comands_topic = \"x\";\n};\n",
                   ":3: there is no setting 'kafka.comands_topic'; did you mean "
                   "'kafka.commands_topic'?");
}

Test(settings, read_file__an_unknown_group_names_the_nearest)
{
    assert_problem("\nmysq: { };\n",
                   ":2: there is no group 'mysq'; did you mean 'mysql'?");
}

Test(settings, read_file__a_value_out_of_range_names_the_range)
{
    assert_problem("mysql: {\n port = 70000;\n};",
                   ":2: mysql.port = 70000: it must be within 1 and 65535");
}

Test(settings, read_file__a_wrong_type_says_what_is_needed)
{
    assert_problem("mysql: { port = \"3306\"; };",
                   ":1: mysql.port is a text; it must be a whole number");
}

Test(settings, read_file__a_wrong_choice_lists_them)
{
    assert_problem("events: { delivery = \"transactionel\"; };",
                   "it must be one of: transactional, idempotent; did you mean "
                   "'transactional'?");
}

Test(settings, read_file__broken_syntax_names_the_line)
{
    assert_problem("kafka: {\n brokers = \n};", ":3: syntax error");
}

Test(settings, read_file__tells_all_mistakes_at_once)
{
    cr_assert_eq(read_text("mysql: { port = 0; prot = 1; };\nlog: { level = 3; };\n"),
                 BF_E_INVALID);
    size_t lines = 0;
    for (const char *p = bf_str_peek(&problems); *p; p++) {
        lines += *p == '\n';
    }
    cr_assert_eq(lines, 3, "%s", bf_str_peek(&problems));
}

Test(settings, read_file__a_missing_file_is_an_io_error)
{
    cr_assert_eq(bf_settings_read_file(&settings, "/nowhere/x.cfg", &problems, &err),
                 BF_E_IO);
    cr_assert(strstr(err.text, "/nowhere/x.cfg"));
}

Test(settings, set__lists_are_separated_by_commas)
{
    cr_assert_eq(bf_settings_set(&settings, "graphs.paths", "a,b/c", &err), BF_OK);
    cr_assert_eq(settings.graphs.paths.count, 2);
    cr_assert_str_eq(settings.graphs.paths.items[1], "b/c");
}

Test(settings, finish__secrets_come_from_files_and_the_environment)
{
    char path[] = "/tmp/bpmflow-secret-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "s3cret\nsecond line\n", 19), 19);
    (void)close(fd);
    setenv("BPMFLOW_TEST_SASL", "kafka-pw", 1);
    cr_assert_eq(bf_settings_set(&settings, "mysql.password_file", path, &err), BF_OK);
    cr_assert_eq(
        bf_settings_set(&settings, "kafka.sasl_password_env", "BPMFLOW_TEST_SASL", &err),
        BF_OK);
    cr_assert_eq(bf_settings_finish(&settings, &err), BF_OK, "%s", err.text);
    (void)unlink(path);
    cr_assert_str_eq(settings.mysql.password, "s3cret");
    cr_assert_eq(settings.kafka.properties.count, 1);
    cr_assert_str_eq(settings.kafka.properties.items[0], "sasl.password=kafka-pw");
}

static void assert_finish_fails(const char *name, const char *value, const char *expected)
{
    cr_assert_eq(bf_settings_set(&settings, name, value, &err), BF_OK, "%s", err.text);
    cr_assert_neq(bf_settings_finish(&settings, &err), BF_OK);
    cr_assert(strstr(err.text, expected), "'%s' is not in: %s", expected, err.text);
}

Test(settings, finish__a_missing_environment_variable_stops_the_start)
{
    assert_finish_fails("mysql.password_env", "BPMFLOW_NOT_SET", "BPMFLOW_NOT_SET");
}

Test(settings, finish__unknown_kafka_properties_stop_the_start)
{
    assert_finish_fails("kafka.properties", "linger.msx=5", "linger.msx");
}

Test(settings, finish__properties_that_the_guarantees_stand_on_are_refused)
{
    assert_finish_fails("kafka.consumer_properties", "enable.auto.commit=true",
                        "enable.auto.commit");
}

Test(settings, finish__a_property_with_a_setting_names_it)
{
    assert_finish_fails("kafka.properties", "bootstrap.servers=x:1", "use kafka.brokers");
}

Test(settings, finish__the_worker_id_must_be_usable_in_names)
{
    assert_finish_fails("worker.id", "a/b", "worker.id");
}

/* What the worker writes would come back as commands, without an end. */
Test(settings, finish__nothing_is_written_to_the_topic_of_the_commands)
{
    static const char *const names[] = {"events.topic", "dead_letters.topic",
                                        "replies.topic", "replies.allowed",
                                        "jobs.topics"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bf_settings_fini(&settings);
        bf_err_clear(&err);
        cr_assert_eq(bf_settings_init(&settings, &err), BF_OK);
        assert_finish_fails(names[i], "bpmflow.commands", names[i]);
    }
}

Test(settings, finish__fills_in_shards_and_id)
{
    cr_assert_eq(bf_settings_finish(&settings, &err), BF_OK, "%s", err.text);
    cr_assert_geq(settings.worker.shards, 1);
    cr_assert_neq(settings.worker.id[0], '\0');
}

Test(settings, print__reads_back_as_the_defaults)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_settings_print(&text);
    cr_assert_eq(read_text(bf_str_peek(&text)), BF_OK, "%s", bf_str_peek(&problems));
    cr_assert_str_eq(settings.kafka.commands_topic, "bpmflow.commands");
    cr_assert_eq(settings.batch.queue_depth, 8);
    bf_str_fini(&text);
}

Test(settings, print__is_the_sample_in_the_tree)
{
    char sample[65536];
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_settings_print(&text);
    FILE *file = fopen("config/worker.conf", "r");
    cr_assert(file, "run it from the top of the tree");
    size_t n = fread(sample, 1, sizeof(sample) - 1, file);
    (void)fclose(file);
    sample[n] = '\0';
    cr_assert_str_eq(sample, bf_str_peek(&text),
                     "write it again: bpmflow-worker --print-config "
                     ">config/worker.conf");
    bf_str_fini(&text);
}

Test(settings, print_help__names_every_setting)
{
    bf_str_t text;
    size_t count;
    const bf_setting_t *table = bf_settings_table(&count);
    bf_str_init(&text, 0);
    bf_settings_print_help(&text);
    for (size_t i = 0; i < count; i++) {
        cr_assert(strstr(bf_str_peek(&text), table[i].name), "%s", table[i].name);
    }
    bf_str_fini(&text);
}
