/*
 * schema.h - holds values against a JSON Schema, as far as the project's schemas go
 *
 * type, enum, const, required, properties, additionalProperties, items, anyOf, minLength,
 * maxLength, minimum, pattern and $ref into $defs.  A keyword that is not known fails the
 * test: a check that is silently left out would look like a pass.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_SCHEMA_H
#define BF_TEST_SCHEMA_H

#include "bpmflow/value.h"

/** Read config/schema/<name>.schema.json. */
bf_value_t test_schema(bf_arena_t *arena, const char *name);

/** NULL when the value is valid; else why not (in the arena). */
const char *test_schema_check(bf_arena_t *arena, const bf_value_t *schema,
                              const bf_value_t *value);

/** As above for JSON text. */
const char *test_schema_check_text(bf_arena_t *arena, const bf_value_t *schema,
                                   const char *json, size_t len);

#endif /* BF_TEST_SCHEMA_H */
