/*
 * conf_jeeflow.h - a run of an approval scenario, as its parts share it
 *
 * conf_jeeflow.c walks the steps; the operation `facade` and the checks of `data` are in
 * conf_facade.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONF_JEEFLOW_H
#define CONF_JEEFLOW_H

#include "bpmflow/approval.h"
#include "conf.h"

#define JEE_LABELS_MAX 32

typedef struct jee {
    conf_t *conf;
    conf_case_t *c;
    const bf_value_t *scenario;
    const bf_value_t *flows; /* list */
    const bf_value_t *steps; /* list */
    bf_ledger_t *ledger;
    bf_approval_t *approval;
    /* labels of instances and their IDs; the current one is `label` */
    struct {
        const char *label;
        int64_t id; /* 0: not started */
    } instances[JEE_LABELS_MAX];
    unsigned instance_count;
    const char *label;
    const bf_value_t **data; /* by step: what a facade step returned, NULL = nothing */
    const char *where;       /* "step 3 (execute)", for messages */
    int64_t next_id;         /* what the IDs are made of */
    int64_t now_ms;          /* the scenario's time, 0 = the clock */
    void *facade;            /* conf_facade.c's own */
} jee_t;

/** ID of the current instance; 0 = none. */
int64_t jee_instance(const jee_t *jee);

/** The first open row of that name in the current instance, NULL = none. */
const bf_task_row_t *jee_open_row(const jee_t *jee, const char *task_name);

/* --- conf_jeeflow_world.c --- */

/** Ledger, engine, directory, handlers and delegations of the scenario. */
void jee_world_begin(jee_t *jee);
void jee_world_end(jee_t *jee);

/* --- conf_facade.c --- */

/** Before the first step; the flows are deployed. */
void conf_facade_begin(jee_t *jee);

/**
 * Run the request of a step: `action`, `args` with $instance and the like put in.
 * @param ret_data  the answer's data in conf->arena; NULL where there is none
 * @return BF_OK, or the error whose text the scenario compares
 */
bf_status_t conf_facade_run(jee_t *jee, const bf_value_t *step,
                            const bf_value_t **ret_data, bf_err_t *err);

/** Compare the answer of step `index` with `checks`, the list expect.data. */
void conf_facade_check(jee_t *jee, uint32_t index, const bf_value_t *checks);

/** After the last step. */
void conf_facade_end(jee_t *jee);

#endif /* CONF_JEEFLOW_H */
