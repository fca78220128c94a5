/*
 * regex.h - regular expressions in time linear in the text
 *
 * What people use in conditions: characters, `.`, classes `[a-z]` `[^x]`, `\d \w \s` and
 * their opposites, groups, `|`, `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`, `^`, `$`.  No
 * back-references and no look-around, which cannot be bounded.  Works on characters
 * (UTF-8).  A pattern is a set of states; matching moves the set over the text, so the
 * cost is at most states x characters whatever the pattern.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_REGEX_H
#define BF_REGEX_H

#include <stdint.h>

#include "bpmflow/arena.h"

typedef struct bf_regex bf_regex_t;

#define BF_REGEX_MAX_STATES 2000

/**
 * @param arena  owns the result
 * @return BF_OK; BF_E_PARSE (err says where and why); BF_E_LIMIT (too many states);
 *         BF_E_NOMEM
 */
bf_status_t bf_regex_parse(bf_arena_t *arena, const char *pattern, size_t len,
                           const bf_regex_t **ret, bf_err_t *err) BF_MUST_USE;

/** How many states: matching costs at most this times the characters of the text. */
uint32_t bf_regex_states(const bf_regex_t *regex);

/**
 * Does the whole text match?
 * @param scratch  memory for two state sets; given back before returning
 * @return BF_OK, BF_E_NOMEM
 */
bf_status_t bf_regex_match(const bf_regex_t *regex, const char *text, size_t len,
                           bf_arena_t *scratch, bool *ret) BF_MUST_USE;

#endif /* BF_REGEX_H */
