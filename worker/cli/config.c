/*
 * config.c - the worker's configuration file, as far as the tool needs it
 *
 * The table, the checks and the secrets are those of the worker (worker/settings.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/arena.h"
#include "worker/cli/cli.h"
#include "worker/settings.h"

#define ADDRESS_MAX 256

typedef struct file {
    bf_settings_t settings;
    bf_arena_t texts; /* what get and entry return, where it is not in the settings */
    char embedded[ADDRESS_MAX]; /* address of the embedded broker; "" = none */
} file_t;

/* Where the worker has written the address of its embedded broker. */
static void find_embedded(file_t *file)
{
    const char *path = file->settings.kafka.embedded_file;
    if (!file->settings.kafka.embedded)
        return;
    FILE *stream = *path ? fopen(path, "re") : NULL;
    if (!stream || !fgets(file->embedded, sizeof file->embedded, stream))
        bf_cli_note(
            "the broker is embedded in the worker (kafka.embedded) and its address "
            "is not known: %s",
            *path ? "the worker does not run yet" : "set kafka.embedded_file");
    if (stream)
        (void)fclose(stream);
    file->embedded[strcspn(file->embedded, "\r\n")] = '\0';
}

bf_status_t bf_cli_config_load(const char *path, void **ret, bf_err_t *err)
{
    file_t *file = calloc(1, sizeof *file);
    if (!file)
        return bf_err_nomem(err, "configuration file");
    bf_arena_init(&file->texts, 0);
    bf_str_t problems;
    bf_str_init(&problems, 0);
    bf_err_t secrets = BF_ERR_INIT;
    bf_status_t rc = bf_settings_init(&file->settings, err);
    if (rc == BF_OK)
        rc = bf_settings_read_file(&file->settings, path, &problems, err);
    /* A secret that is not to be had here may not be needed either. */
    if (rc == BF_OK && bf_settings_finish(&file->settings, &secrets) != BF_OK)
        bf_cli_note("%s: %s", path, secrets.text);
    if (rc == BF_OK) {
        find_embedded(file);
        *ret = file;
    } else {
        const char *list = bf_str_peek(&problems);
        if (strchr(list, '\n') != strrchr(list, '\n'))
            fputs(list, stderr); /* err has only the first one */
        bf_cli_config_free(file);
        rc = rc == BF_E_INVALID ? BF_E_PARSE : rc; /* the command line is all right */
    }
    bf_str_fini(&problems);
    return rc;
}

void bf_cli_config_free(void *config)
{
    file_t *file = config;
    if (!file)
        return;
    bf_settings_fini(&file->settings);
    bf_arena_fini(&file->texts);
    free(file);
}

const bf_settings_t *bf_cli_config_settings(const void *config)
{
    const file_t *file = config;
    return &file->settings;
}

const char *bf_cli_config_get(void *config, const char *path)
{
    file_t *file = config;
    if (strcmp(path, "kafka.brokers") == 0 && file->embedded[0])
        return file->embedded;
    const bf_setting_t *setting = bf_settings_find(path, NULL);
    if (!setting)
        return NULL;
    const char *at = (const char *)&file->settings + setting->offset;
    if (setting->type == BF_SETTING_TEXT)
        return *(char *const *)(const void *)at;
    if (setting->type == BF_SETTING_BOOL)
        return *(const bool *)(const void *)at ? "true" : "false";
    if (setting->type == BF_SETTING_LIST)
        return NULL;
    int64_t number = *(const int64_t *)(const void *)at;
    if (setting->type == BF_SETTING_CHOICE)
        return setting->choices[number];
    return bf_arena_printf(&file->texts, "%lld", (long long)number);
}

bool bf_cli_config_entry(void *config, const char *path, size_t index,
                         const char **ret_name, const char **ret_value)
{
    file_t *file = config;
    const bf_setting_t *setting = bf_settings_find(path, NULL);
    if (!setting || setting->type != BF_SETTING_LIST)
        return false;
    const char *at = (const char *)&file->settings + setting->offset;
    const bf_text_list_t *list = (const bf_text_list_t *)(const void *)at;
    if (index >= list->count)
        return false;
    char *name = bf_arena_strdup(&file->texts, list->items[index]);
    char *equals = name ? strchr(name, '=') : NULL;
    if (!equals)
        return false;
    *equals = '\0';
    *ret_name = name;
    *ret_value = equals + 1;
    return true;
}
