/*
 * func.c - finding functions and methods by name
 *
 * The tables are small and searched when an expression is parsed, never when it runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "lib/expr/expr_int.h"

/* A number is table * TABLE_STEP + row. */
#define TABLE_STEP 1000U

static const bf_function_t *const tables[] = {bf_functions_text, bf_functions_list,
                                              bf_functions_num, bf_functions_date};
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

const bf_function_t *bf_function_at(uint32_t number)
{
    return &tables[number / TABLE_STEP][number % TABLE_STEP];
}

static bool same(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && !memcmp(name, text, len);
}

int bf_function_find(const char *name, size_t len, unsigned how)
{
    for (size_t t = 0; t < TABLE_COUNT; t++) {
        for (uint32_t i = 0; tables[t][i].name; i++) {
            if ((tables[t][i].flags & how) && same(tables[t][i].name, name, len)) {
                return (int)(t * TABLE_STEP + i);
            }
        }
    }
    return -1;
}

/* Calls on Java classes that stand in existing definitions. NULL method: any function of
 * the same name. */
typedef struct static_call {
    const char *class_name;
    const char *method;
    const char *function;
} static_call_t;

static const static_call_t static_calls[] = {
    {"Objects", "equals", "equals"},
    {"Objects", "isNull", "isNull"},
    {"Objects", "nonNull", "nonNull"},
    {"String", "valueOf", "string"},
    {"String", "join", "joinWith"},
    {"Integer", "parseInt", "int"},
    {"Integer", "valueOf", "int"},
    {"Long", "parseLong", "int"},
    {"Long", "valueOf", "int"},
    {"Double", "parseDouble", "double"},
    {"Double", "valueOf", "double"},
    {"Boolean", "parseBoolean", "boolean"},
    {"Boolean", "valueOf", "boolean"},
    {"System", "currentTimeMillis", "now"},
    {"Arrays", "asList", "list"},
    {"List", "of", "list"},
    {"Set", "of", "list"},
    {"Math", NULL, NULL},
    {"Collections", NULL, NULL},
    {"StringUtils", NULL, NULL},
    {"CollectionUtils", NULL, NULL},
};
#define STATIC_COUNT (sizeof(static_calls) / sizeof(static_calls[0]))

bool bf_function_is_class(const char *name, size_t len)
{
    for (size_t i = 0; i < STATIC_COUNT; i++) {
        if (same(static_calls[i].class_name, name, len)) {
            return true;
        }
    }
    return false;
}

int bf_function_find_static(const char *class_name, size_t class_len, const char *name,
                            size_t len)
{
    for (size_t i = 0; i < STATIC_COUNT; i++) {
        const static_call_t *c = &static_calls[i];
        if (!same(c->class_name, class_name, class_len)) {
            continue;
        }
        if (!c->method) {
            return bf_function_find(name, len, BF_FN_PLAIN);
        }
        if (same(c->method, name, len)) {
            return bf_function_find(c->function, strlen(c->function), BF_FN_PLAIN);
        }
    }
    return -1;
}
