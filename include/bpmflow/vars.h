/*
 * vars.h - the variables of an instance or a context
 *
 * An ordered map from names to values that owns deep copies.  Changes can be put in
 * a transaction: begin, then commit or rollback; that is how a rejected command leaves
 * its instance exactly as it was.  Setting a variable to null clears it (decision on
 * rule 90 of the original engine, which ignores such a put).
 *
 * Values live in an arena of the object's own; what is overwritten is garbage until
 * a commit (or a change outside a transaction) compacts.  Values returned by get are
 * therefore valid until the next begin, commit, rollback or compacting set outside a
 * transaction; inside a transaction they stay valid until it ends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_VARS_H
#define BF_VARS_H

#include "bpmflow/value.h"

typedef struct bf_vars bf_vars_t;

/** NULL when out of memory. */
bf_vars_t *bf_vars_new(void) BF_MUST_USE;
void bf_vars_free(bf_vars_t *vars);

size_t bf_vars_count(const bf_vars_t *vars);

/** Borrowed; NULL when the variable is not set. */
const bf_value_t *bf_vars_get(const bf_vars_t *vars, const char *name, size_t name_len);
/** As above; hash is bf_hash_bytes() of the name. */
const bf_value_t *bf_vars_get_hashed(const bf_vars_t *vars, const char *name,
                                     size_t name_len, uint64_t hash);
const bf_value_t *bf_vars_get_str(const bf_vars_t *vars, const char *name);

/**
 * Set (deep copy) or, with a null value, clear.
 * @return BF_OK, BF_E_NOMEM (unchanged)
 */
bf_status_t bf_vars_set(bf_vars_t *vars, const char *name, size_t name_len,
                        const bf_value_t *value) BF_MUST_USE;
bf_status_t bf_vars_set_str(bf_vars_t *vars, const char *name,
                            const bf_value_t *value) BF_MUST_USE;

/** Set every member of a map. BF_OK, BF_E_INVALID (not a map), BF_E_NOMEM. */
bf_status_t bf_vars_set_all(bf_vars_t *vars, const bf_value_t *map) BF_MUST_USE;

/** Remove all variables. */
bf_status_t bf_vars_clear(bf_vars_t *vars) BF_MUST_USE;

/** Iterate in order of first setting; start with *cursor = 0. */
bool bf_vars_next(const bf_vars_t *vars, size_t *cursor, const char **ret_name,
                  size_t *ret_name_len, const bf_value_t **ret_value);

/** All variables as a map value that borrows from vars; arrays come from the arena. */
bf_status_t bf_vars_as_map(const bf_vars_t *vars, bf_arena_t *arena,
                           bf_value_t *ret) BF_MUST_USE;

/** Whether all of them come back from JSON as they are. BF_E_INVALID: a number that is
 * not finite; BF_E_LIMIT: nested deeper than BF_VALUE_MAX_DEPTH. *ret_name is the first
 * that does not, borrowed. */
bf_status_t bf_vars_check_storable(const bf_vars_t *vars,
                                   const char **ret_name) BF_MUST_USE;

/** As a JSON object. */
void bf_vars_write_json(const bf_vars_t *vars, bf_str_t *str);

/** Start a transaction; they do not nest. */
void bf_vars_begin(bf_vars_t *vars);
void bf_vars_commit(bf_vars_t *vars);
void bf_vars_rollback(bf_vars_t *vars);

/** True when something was set or cleared since begin (or ever, outside one). */
bool bf_vars_changed(const bf_vars_t *vars);

/** Counts up on every change; for caches that depend on the variables. */
uint64_t bf_vars_version(const bf_vars_t *vars);

/** Memory held. */
size_t bf_vars_held_bytes(const bf_vars_t *vars);

#endif /* BF_VARS_H */
