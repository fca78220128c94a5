/*
 * conf_value.c - values that grow, texts, JSON for messages
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"

void conf_die_nomem(void)
{
    (void)fputs("bpmflow-conformance: out of memory\n", stderr);
    exit(2);
}

void conf_map_init(conf_t *conf, conf_map_t *map)
{
    *map = (conf_map_t){.conf = conf};
}

void conf_map_put(conf_map_t *map, const char *name, const bf_value_t *value)
{
    for (uint32_t i = 0; i < map->used; i++) {
        if (!strcmp(map->members[i].name, name)) {
            map->members[i].value = *value;
            return;
        }
    }
    if (map->used == map->room) {
        map->room = map->room ? map->room * 2 : 8;
        bf_member_t *more =
            bf_arena_calloc(&map->conf->arena, map->room, sizeof(*map->members));
        if (!more) {
            conf_die_nomem();
        }
        if (map->used) {
            memcpy(more, map->members, map->used * sizeof(*more));
        }
        map->members = more;
    }
    bf_value_t key = conf_string(map->conf, name);
    map->members[map->used++] = (bf_member_t){key.as.string, key.len, *value};
}

const bf_value_t *conf_map_value(const conf_map_t *map)
{
    bf_value_t *value = bf_arena_calloc(&map->conf->arena, 1, sizeof(*value));
    if (!value) {
        conf_die_nomem();
    }
    *value =
        (bf_value_t){.type = BF_VALUE_MAP, .len = map->used, .as.members = map->members};
    return value;
}

void conf_list_init(conf_t *conf, conf_list_t *list)
{
    *list = (conf_list_t){.conf = conf};
}

void conf_list_add(conf_list_t *list, const bf_value_t *value)
{
    if (list->used == list->room) {
        list->room = list->room ? list->room * 2 : 8;
        bf_value_t *more =
            bf_arena_calloc(&list->conf->arena, list->room, sizeof(*list->items));
        if (!more) {
            conf_die_nomem();
        }
        if (list->used) {
            memcpy(more, list->items, list->used * sizeof(*more));
        }
        list->items = more;
    }
    list->items[list->used++] = *value;
}

void conf_list_add_text(conf_list_t *list, const char *text)
{
    bf_value_t value = conf_string(list->conf, text);
    conf_list_add(list, &value);
}

bf_value_t conf_list_value(const conf_list_t *list)
{
    return (bf_value_t){
        .type = BF_VALUE_LIST, .len = list->used, .as.items = list->items};
}

char *conf_text(conf_t *conf, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = len < 0 ? NULL : bf_arena_alloc(&conf->arena, (size_t)len + 1);
    if (!text) {
        conf_die_nomem();
    }
    va_start(args, fmt);
    (void)vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

bf_value_t conf_string(conf_t *conf, const char *text)
{
    return bf_value_cstr(conf_text(conf, "%s", text));
}

const char *conf_json(conf_t *conf, const bf_value_t *value)
{
    if (!value) {
        return "absent";
    }
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_json_write(&str, value);
    const char *text = conf_text(conf, "%s", bf_str_peek(&str));
    bf_str_fini(&str);
    return text;
}

uint32_t conf_items(const bf_value_t *list)
{
    return list && list->type == BF_VALUE_LIST ? list->len : 0;
}

uint32_t conf_members(const bf_value_t *map)
{
    return map && map->type == BF_VALUE_MAP ? map->len : 0;
}
