/*
 * desk.h - an executor on an in-memory repository, for tests of tasks
 *
 * Everybody who works has a context of their own: desk_claim(&d, "ann") and so on.  What
 * comes back is text: "a:1001" for a task, "" for none; "a:1002 b:1001" for states.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_DESK_H
#define BF_TESTS_SUPPORT_DESK_H

#include "bpmflow/executor.h"

#define DESK_PEOPLE 8
#define DESK_TEXT   1024

typedef struct desk {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_repository_t *repo;
    bf_executor_t *executor;
    bf_graph_t *graph;       /* that the operations are about: the one loaded last */
    const char *instance_id; /* "i-1" */
    struct {
        const char *name;
        bf_context_t *ctx;
    } people[DESK_PEOPLE];
    bf_err_t err;  /* of the last operation */
    bf_str_t runs; /* IDs of the nodes whose component `@note` has run */
    bf_str_t rows; /* history: "a>b:1002 " per row */
    char text[DESK_TEXT];
} desk_t;

/** Actor controller with the key "actor", strict guard. `@note` is a component that adds
 *  the node to runs; `@wait` interrupts until the variable go is true; `@fail` fails. */
void desk_init(desk_t *desk);
void desk_fini(desk_t *desk);
/** Another controller; owned by the desk then. */
void desk_use(desk_t *desk, bf_controller_t *controller);

bf_graph_t *desk_load(desk_t *desk, const char *text);
/** Context of somebody; "" = nobody. Variable actor is set. */
bf_context_t *desk_of(desk_t *desk, const char *name);
/** Set a variable of somebody from JSON. */
void desk_set(desk_t *desk, const char *name, const char *variable, const char *json);

/* Each must succeed. */
const char *desk_claim(desk_t *desk, const char *name);
const char *desk_find(desk_t *desk, const char *name);
const char *desk_find_next(desk_t *desk, const char *name);
void desk_submit(desk_t *desk, const char *name, const char *node, bf_action_t action);
void desk_forward(desk_t *desk, const char *name, const char *node);

/** Must be refused with that code; nothing changes. */
void desk_refused(desk_t *desk, const char *name, const char *node, bf_action_t action,
                  bf_code_t code);
/** May fail. A node of another graph: "graph/node". */
bf_status_t desk_try(desk_t *desk, const char *name, const char *node,
                     bf_action_t action);

/** All states, sorted by key: "a:1002 b:1001"; nodes of other graphs as "graph/node". */
const char *desk_states(desk_t *desk);
bf_instance_status_t desk_status(desk_t *desk);
bf_instance_t *desk_instance(desk_t *desk);
/** Rows of the history since the last call: "a>b:1002 a>c:1002". */
const char *desk_rows(desk_t *desk);

#endif /* BF_TESTS_SUPPORT_DESK_H */
