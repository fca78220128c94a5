/*
 * desks.h - an approval engine with a ledger, flows written in a line, and short
 * questions
 *
 *     desks_t desks;
 *     desks_begin(&desks, NULL);
 *     desks_flow(&desks, "order", "start>form form>check check>end", "form=applicant
 * check=bea"); int64_t id = desks_start(&desks, "order", "ann", NULL); desks_do(&desks,
 * id, "form", "ann", BF_SUBMIT_APPLY, NULL);
 *
 * IDs count up from 1, so that a run is the same each time.  Programming errors and
 * failed set-up end the program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_DESKS_H
#define BF_TESTS_DESKS_H

#include "bpmflow/approval.h"

typedef struct desks {
    bf_ledger_t *ledger;
    bf_approval_t *approval;
    bf_arena_t arena; /* of arguments */
    int64_t last_id;
    bf_err_t err; /* of the last operation */
} desks_t;

/** @param host NULL = nobody is known */
void desks_begin(desks_t *desks, const bf_approval_host_t *host);
void desks_end(desks_t *desks);

/** JSON of a flow, in the arena. Types by the beginning of the ID: start, end, fork,
 * join, dec(ision), cus(tom), else a task. @param edges "a>b b>c"
 *  @param actors "a=x,y b=applicant"; "b=!x,y" is a parallel and "b=?x,y" a sequential
 *  countersign */
const char *desks_json(desks_t *desks, const char *name, const char *edges,
                       const char *actors);

/** Deploy such a flow; its ID. */
int64_t desks_flow(desks_t *desks, const char *name, const char *edges,
                   const char *actors);

/** Start; the ID of the instance, 0 = it failed (err).
 *  @param args JSON, NULL = none */
int64_t desks_start(desks_t *desks, const char *name, const char *who, const char *args);

/** Do the first open row of that name that he may do (else the first of that name). */
bf_status_t desks_do(desks_t *desks, int64_t instance, const char *task, const char *who,
                     bf_submit_type_t type, const char *to);

/** State of an instance; 0 = there is none. */
int32_t desks_state(const desks_t *desks, int64_t instance);

/** Rows as text in the arena: "form:20(ann)@ann check:10(bea,carl)". */
const char *desks_rows(desks_t *desks, int64_t instance);

/** The whole ledger as text: equal texts, equal rows. In the arena. */
const char *desks_dump(desks_t *desks);

/** A variable of an instance as JSON; "absent". In the arena. */
const char *desks_variable(desks_t *desks, int64_t instance, const char *name);

#endif /* BF_TESTS_DESKS_H */
