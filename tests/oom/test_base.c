/*
 * test_base.c - allocation sweep: JSON, variables, maps, string builders
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/map.h"
#include "bpmflow/value.h"
#include "bpmflow/vars.h"
#include "tests/oom/oom.h"

static const char document[] =
    "{\"day\":3,\"who\":\"li.wei\",\"list\":[1,2.5,true,null,\"\\u4e2d\"],"
    "\"deep\":{\"a\":{\"b\":{\"c\":[[],{},\"x\"]}}}}";

static bf_status_t parse_and_write(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_value_t value;
    bf_str_t text;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_str_init(&text, 0);
    bf_status_t rc =
        bf_json_parse(&arena, document, strlen(document), NULL, &value, &err);
    if (rc == BF_OK) {
        bf_json_write(&text, &value);
        bf_json_write_pretty(&text, &value);
        rc = bf_str_status(&text, "document", &err);
    }
    bf_str_fini(&text);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t set_variables(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_vars_t *vars = bf_vars_new();
    bf_status_t rc = vars ? BF_OK : BF_E_NOMEM;
    if (rc == BF_OK) {
        rc = bf_json_parse(&arena, document, strlen(document), NULL, &value, &err);
    }
    for (int i = 0; rc == BF_OK && i < 20; i++) {
        const char *name = bf_arena_printf(&arena, "variable_%d", i);
        rc = name ? bf_vars_set_str(vars, name, &value) : BF_E_NOMEM;
    }
    if (rc == BF_OK) {
        rc = bf_vars_set_all(vars, &value);
    }
    bf_value_t all;
    if (rc == BF_OK) {
        rc = bf_vars_as_map(vars, &arena, &all);
    }
    bf_vars_free(vars);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t fill_map(void *arg)
{
    bf_map_t *map = bf_map_new();
    bf_status_t rc = map ? BF_OK : BF_E_NOMEM;
    for (size_t i = 0; rc == BF_OK && i < 40; i++) {
        char key[2] = {(char)('0' + (i % 40)), '\0'};
        rc = bf_map_put(map, key, 1, arg, NULL);
    }
    bf_map_free(map);
    return rc;
}

int main(void)
{
    static int anything;
    bf_oom_sweep("json", parse_and_write, NULL);
    bf_oom_sweep("vars", set_variables, NULL);
    bf_oom_sweep("map", fill_map, &anything);
    return bf_oom_result();
}
