/*
 * office.h - an approval engine with a facade, and requests as JSON texts
 *
 * The definition "order" goes from the initiator to `clerk` to `head`.  Users have names
 * "N:<id>"; role `buyers` = b1, b2.  Time stands still at OFFICE_NOW_MS, two hours east
 * of UTC.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OFFICE_H
#define OFFICE_H

#include "bpmflow/facade.h"

#define OFFICE_NOW_MS   INT64_C(1800000000000) /* 2027-01-15 08:00:00 UTC */
#define OFFICE_NOW_TEXT "2027-01-15 10:00:00"

extern bf_ledger_t *office_ledger;
extern bf_approval_t *office_approval;
extern bf_facade_t *office_facade;
extern bf_arena_t office_arena;

/** @param host  of the facade; NULL = nothing is added */
void office_open(const bf_facade_host_t *host);
void office_close(void);

/** The answer of a request; a body in single quotes is taken as in double ones. */
bf_value_t office_ask(const char *action, const char *user, const char *body);

/** Likewise, and it must be a success: its data. */
bf_value_t office_data(const char *action, const char *user, const char *body);

/** Likewise, and it must be an error: its text. */
const char *office_error(const char *action, const char *user, const char *body);

/** The text at a path ("rows.0.id") of a value; NULL = there is none. */
const char *office_text(const bf_value_t *value, const char *path);

/** The whole number there; INT64_MIN = there is none. */
int64_t office_number(const bf_value_t *value, const char *path);

/** Publish "order"; its ID as text. */
const char *office_deploy(void);

/** `user` sends off a form of "order" with these variables; the ID of the instance. */
const char *office_start(const char *user, const char *variables);

/** A body with one ID: {"<member>": "<id>"<more>}. */
const char *office_body(const char *member, const char *id, const char *more);

#endif /* OFFICE_H */
