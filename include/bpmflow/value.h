/*
 * value.h - a JSON value: what variables, metadata and expressions are made of
 *
 * A bf_value_t is 16 bytes, passed by value; what it points to (strings, items,
 * members) is immutable and belongs to somebody else: an arena, a bf_vars_t, or
 * static storage.  Integers are 64-bit; everything else with a fraction or an
 * exponent is a double.  Members of a map keep their order; names are unique.
 *
 * JSON is read straight into the arena, and written without building a tree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_VALUE_H
#define BF_VALUE_H

#include <stdint.h>

#include "bpmflow/arena.h"
#include "bpmflow/err.h"
#include "bpmflow/str.h"

typedef enum {
    BF_VALUE_NULL, /* 0: a zeroed value is null */
    BF_VALUE_BOOL,
    BF_VALUE_INT,
    BF_VALUE_REAL,
    BF_VALUE_STRING,
    BF_VALUE_LIST,
    BF_VALUE_MAP
} bf_value_type_t;

struct bf_member;

typedef struct bf_value {
    bf_value_type_t type;
    uint32_t len; /* STRING: bytes; LIST: items; MAP: members */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string; /* NUL-terminated, no NUL inside */
        const struct bf_value *items;
        const struct bf_member *members;
    } as;
} bf_value_t;

typedef struct bf_member {
    const char *name; /* NUL-terminated */
    uint32_t name_len;
    bf_value_t value;
} bf_member_t;

/* Bounds for what comes from outside. Zero means the default. */
typedef struct bf_json_limits {
    size_t max_bytes; /* default 1 MiB */
    size_t max_depth; /* default 64 */
} bf_json_limits_t;

#define BF_JSON_MAX_BYTES ((size_t)1 << 20)
#define BF_JSON_MAX_DEPTH 64

/* Deepest nesting of a value that is kept: what one command may bring at most. */
#define BF_VALUE_MAX_DEPTH 1000

/** For what was written by us: everything that could be kept can be read again. The bytes
 *  only bound what damaged data can cost. */
#define BF_JSON_OWN_LIMITS                                                               \
    ((bf_json_limits_t){.max_bytes = (size_t)64 << 20,                                   \
                        .max_depth = BF_VALUE_MAX_DEPTH + 24})

static inline bf_value_t bf_value_null(void)
{
    return (bf_value_t){.type = BF_VALUE_NULL};
}

static inline bf_value_t bf_value_bool(bool boolean)
{
    return (bf_value_t){.type = BF_VALUE_BOOL, .as.boolean = boolean};
}

static inline bf_value_t bf_value_int(int64_t integer)
{
    return (bf_value_t){.type = BF_VALUE_INT, .as.integer = integer};
}

static inline bf_value_t bf_value_real(double real)
{
    return (bf_value_t){.type = BF_VALUE_REAL, .as.real = real};
}

/** Borrows the text, which must be NUL-terminated at len. */
static inline bf_value_t bf_value_string(const char *text, size_t len)
{
    return (bf_value_t){.type = BF_VALUE_STRING, .len = (uint32_t)len, .as.string = text};
}

static inline bf_value_t bf_value_cstr(const char *text)
{
    return bf_value_string(text, strlen(text));
}

const char *bf_value_type_name(bf_value_type_t type);

static inline bool bf_value_is_null(const bf_value_t *value)
{
    return !value || value->type == BF_VALUE_NULL;
}

/** Member of a map, or NULL (absent, or not a map). Borrowed. */
static inline const bf_value_t *bf_value_get(const bf_value_t *map, const char *name,
                                             size_t name_len)
{
    if (!map || map->type != BF_VALUE_MAP) {
        return NULL;
    }
    for (uint32_t i = 0; i < map->len; i++) {
        const bf_member_t *m = &map->as.members[i];
        if (m->name_len == name_len && bf_same_bytes(m->name, name, name_len)) {
            return &m->value;
        }
    }
    return NULL;
}
const bf_value_t *bf_value_get_str(const bf_value_t *map, const char *name);

/** The string, or NULL when absent or not a string. */
const char *bf_value_get_cstr(const bf_value_t *map, const char *name);

/** Same type and content; 1 and 1.0 are equal; order of members does not matter. */
bool bf_value_equal(const bf_value_t *a, const bf_value_t *b);

/**
 * Deep copy into an arena.
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_value_copy(bf_arena_t *arena, const bf_value_t *value,
                          bf_value_t *ret) BF_MUST_USE;

/** Bytes that a deep copy takes beside the 16 of the value. */
size_t bf_value_deep_bytes(const bf_value_t *value);

/**
 * A value as text for people and for string concatenation: strings as they are,
 * numbers in shortest form, null as "null", lists and maps as JSON.
 */
void bf_value_write_text(bf_str_t *str, const bf_value_t *value);

/**
 * Read JSON text. Strict: UTF-8, no NUL, no duplicate keys, integers within 64 bit,
 * nothing after the value.
 *
 * @param arena   owns the result
 * @param limits  NULL = defaults
 * @return BF_OK, BF_E_PARSE (with line and column), BF_E_LIMIT, BF_E_NOMEM
 */
bf_status_t bf_json_parse(bf_arena_t *arena, const char *text, size_t len,
                          const bf_json_limits_t *limits, bf_value_t *ret,
                          bf_err_t *err) BF_MUST_USE;

/** Compact JSON. Doubles that are not finite become null. */
void bf_json_write(bf_str_t *str, const bf_value_t *value);

/** Indented by two blanks, for people. */
void bf_json_write_pretty(bf_str_t *str, const bf_value_t *value);

/** A quoted JSON string. */
void bf_json_write_string(bf_str_t *str, const char *text, size_t len);

#endif /* BF_VALUE_H */
