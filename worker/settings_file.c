/*
 * settings_file.c - reads a libconfig file into the settings
 *
 * The file has one group per part ("kafka: { ... };").  Everything that is wrong is
 * collected, so that a person corrects it in one go.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/num.h"
#include "bpmflow/suggest.h"
#include "worker/settings.h"

#define GROUPS_MAX     32
#define LIST_ITEMS_MAX 256

typedef struct reader {
    bf_settings_t *settings;
    const char *path;
    bf_str_t *problems;
    bf_err_t *err; /* the first problem */
    bf_status_t rc;
} reader_t;

static void problem(reader_t *reader, unsigned line, const char *text)
{
    bf_str_printf(reader->problems, "%s:%u: %s\n", reader->path, line, text);
    bf_err_set(reader->err, BF_E_INVALID, "%s:%u: %s", reader->path, line, text);
    reader->rc = BF_E_INVALID;
}

static const char *type_text(const config_setting_t *node)
{
    switch (config_setting_type(node)) {
    case CONFIG_TYPE_GROUP:
        return "a group";
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return "a number";
    case CONFIG_TYPE_FLOAT:
        return "a number with a fraction";
    case CONFIG_TYPE_STRING:
        return "a text";
    case CONFIG_TYPE_BOOL:
        return "true or false";
    default:
        return "a list";
    }
}

static const char *expected_text(const bf_setting_t *setting)
{
    switch (setting->type) {
    case BF_SETTING_TEXT:
    case BF_SETTING_CHOICE:
        return "a text in quotes";
    case BF_SETTING_INT:
        return "a whole number";
    case BF_SETTING_BOOL:
        return "true or false";
    case BF_SETTING_LIST:
        return "a list of texts: ( \"a\", \"b\" )";
    }
    return "another value";
}

/* The value as text, or NULL when it has another type than the setting. */
static const char *scalar_text(const bf_setting_t *setting, const config_setting_t *node,
                               char buffer[BF_NUM_TEXT_MAX])
{
    int type = config_setting_type(node);
    switch (setting->type) {
    case BF_SETTING_TEXT:
    case BF_SETTING_CHOICE:
        return type == CONFIG_TYPE_STRING ? config_setting_get_string(node) : NULL;
    case BF_SETTING_BOOL:
        if (type != CONFIG_TYPE_BOOL) {
            return NULL;
        }
        return config_setting_get_bool(node) ? "true" : "false";
    case BF_SETTING_INT:
        if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64) {
            return NULL;
        }
        (void)bf_num_format_i64(type == CONFIG_TYPE_INT ? config_setting_get_int(node)
                                                        : config_setting_get_int64(node),
                                buffer);
        return buffer;
    case BF_SETTING_LIST:
        return NULL;
    }
    return NULL;
}

static void read_list(reader_t *reader, const bf_setting_t *setting,
                      const config_setting_t *node)
{
    unsigned line = config_setting_source_line(node);
    const char *items[LIST_ITEMS_MAX];
    int count = config_setting_length(node);
    char text[BF_ERR_TEXT_MAX];
    if (count > LIST_ITEMS_MAX) {
        (void)snprintf(text, sizeof(text), "%s: over %d members", setting->name,
                       LIST_ITEMS_MAX);
        problem(reader, line, text);
        return;
    }
    for (int i = 0; i < count; i++) {
        const config_setting_t *item = config_setting_get_elem(node, (unsigned)i);
        items[i] = config_setting_get_string(item);
        if (!items[i]) {
            (void)snprintf(text, sizeof(text), "%s: member %d is %s; it must be a text",
                           setting->name, i + 1, type_text(item));
            problem(reader, config_setting_source_line(item), text);
            return;
        }
    }
    bf_err_t err = BF_ERR_INIT;
    if (bf_settings_set_list(reader->settings, setting, items, (size_t)count, &err) !=
        BF_OK) {
        problem(reader, line, err.text);
    }
}

static void read_setting(reader_t *reader, const char *group,
                         const config_setting_t *node)
{
    unsigned line = config_setting_source_line(node);
    char name[128];
    char text[BF_ERR_TEXT_MAX];
    char number[BF_NUM_TEXT_MAX];
    bf_err_t err = BF_ERR_INIT;
    (void)snprintf(name, sizeof(name), "%s%s%s", group, group[0] ? "." : "",
                   config_setting_name(node));
    const bf_setting_t *setting = bf_settings_find(name, &err);
    if (!setting) {
        problem(reader, line, err.text);
        return;
    }
    int type = config_setting_type(node);
    if (setting->type == BF_SETTING_LIST &&
        (type == CONFIG_TYPE_LIST || type == CONFIG_TYPE_ARRAY)) {
        read_list(reader, setting, node);
        return;
    }
    const char *value = scalar_text(setting, node, number);
    if (!value) {
        (void)snprintf(text, sizeof(text), "%s is %s; it must be %s", name,
                       type_text(node), expected_text(setting));
        problem(reader, line, text);
        return;
    }
    if (bf_settings_set(reader->settings, name, value, &err) != BF_OK) {
        problem(reader, line, err.text);
    }
}

/* Distinct group names of the table, as NUL-terminated texts in buffer. */
static size_t group_names(char buffer[GROUPS_MAX][32], const char *names[GROUPS_MAX])
{
    size_t table_count;
    size_t count = 0;
    const bf_setting_t *table = bf_settings_table(&table_count);
    for (size_t i = 0; i < table_count && count < GROUPS_MAX; i++) {
        size_t len = strcspn(table[i].name, ".");
        if (count > 0 && strlen(names[count - 1]) == len &&
            strncmp(names[count - 1], table[i].name, len) == 0) {
            continue;
        }
        (void)snprintf(buffer[count], sizeof(buffer[count]), "%.*s", (int)len,
                       table[i].name);
        names[count] = buffer[count];
        count++;
    }
    return count;
}

static void read_group(reader_t *reader, const config_setting_t *group)
{
    const char *name = config_setting_name(group);
    unsigned line = config_setting_source_line(group);
    char buffer[GROUPS_MAX][32];
    const char *names[GROUPS_MAX];
    char text[BF_ERR_TEXT_MAX];
    size_t count = group_names(buffer, names);
    if (!config_setting_is_group(group) && bf_settings_find(name, NULL)) {
        read_setting(reader, "", group); /* one outside of all groups */
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) != 0) {
            continue;
        }
        if (!config_setting_is_group(group)) {
            (void)snprintf(text, sizeof(text), "%s is %s; it must be a group: %s: { }",
                           name, type_text(group), name);
            problem(reader, line, text);
            return;
        }
        for (int j = 0; j < config_setting_length(group); j++) {
            read_setting(reader, name, config_setting_get_elem(group, (unsigned)j));
        }
        return;
    }
    const char *near = bf_suggest_nearest(name, strlen(name), names, count);
    (void)snprintf(text, sizeof(text), "there is no group '%s'%s%s%s", name,
                   BF_DID_YOU_MEAN(near));
    problem(reader, line, text);
}

bf_status_t bf_settings_read_file(bf_settings_t *settings, const char *path,
                                  bf_str_t *ret_problems, bf_err_t *err)
{
    reader_t reader = {settings, path, ret_problems, err, BF_OK};
    FILE *file = fopen(path, "re");
    if (!file) {
        char reason[128];
        return bf_err_set(err, BF_E_IO,
                          "%s cannot be read: %s; bpmflow-worker --print-config writes "
                          "a sample",
                          path, strerror_r(errno, reason, sizeof(reason)));
    }
    config_t config;
    config_init(&config);
    if (config_read(&config, file) != CONFIG_TRUE) {
        problem(&reader, (unsigned)config_error_line(&config),
                config_error_text(&config));
    } else {
        const config_setting_t *root = config_root_setting(&config);
        for (int i = 0; i < config_setting_length(root); i++) {
            read_group(&reader, config_setting_get_elem(root, (unsigned)i));
        }
    }
    config_destroy(&config);
    (void)fclose(file); /* only read */
    return reader.rc;
}
