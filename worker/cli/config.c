/*
 * config.c - the worker's configuration file, as far as the tool needs it
 *
 * SPDX-License-Identifier: MIT
 */
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/arena.h"
#include "worker/cli/cli.h"

typedef struct file {
    config_t config;
    bf_arena_t texts; /* numbers and booleans as text */
} file_t;

bf_status_t bf_cli_config_load(const char *path, void **ret, bf_err_t *err)
{
    FILE *stream = fopen(path, "re");
    if (!stream)
        return bf_err_set(err, BF_E_IO, "cannot read the configuration file %s: %s", path,
                          bf_cli_errno_text());
    file_t *file = calloc(1, sizeof *file);
    if (!file) {
        (void)fclose(stream);
        return bf_err_nomem(err, "configuration file");
    }
    config_init(&file->config);
    bf_arena_init(&file->texts, 0);
    bf_status_t rc = BF_OK;
    if (config_read(&file->config, stream) != CONFIG_TRUE)
        rc = bf_err_set(err, BF_E_PARSE, "%s:%d: %s", path,
                        config_error_line(&file->config),
                        config_error_text(&file->config));
    (void)fclose(stream);
    if (rc == BF_OK)
        *ret = file;
    else
        bf_cli_config_free(file);
    return rc;
}

void bf_cli_config_free(void *config)
{
    file_t *file = config;
    if (!file)
        return;
    config_destroy(&file->config);
    bf_arena_fini(&file->texts);
    free(file);
}

static const char *text_of(file_t *file, const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_STRING:
        return config_setting_get_string(setting);
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(setting) ? "true" : "false";
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return bf_arena_printf(&file->texts, "%lld", config_setting_get_int64(setting));
    default:
        return NULL;
    }
}

const char *bf_cli_config_get(void *config, const char *path)
{
    file_t *file = config;
    const config_setting_t *setting = config_lookup(&file->config, path);
    return setting ? text_of(file, setting) : NULL;
}

bool bf_cli_config_entry(void *config, const char *path, size_t index,
                         const char **ret_name, const char **ret_value)
{
    file_t *file = config;
    const config_setting_t *group = config_lookup(&file->config, path);
    if (!group || !config_setting_is_group(group) ||
        index >= (size_t)config_setting_length(group))
        return false;
    const config_setting_t *entry = config_setting_get_elem(group, (unsigned)index);
    *ret_name = config_setting_name(entry);
    *ret_value = text_of(file, entry);
    return *ret_value != NULL;
}
