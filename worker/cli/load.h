/*
 * load.h - the load generator
 *
 * Commands come from a plan that depends on nothing but its options, so that the same
 * options send the same commands (same IDs) again: command number `step` of instance
 * `index` is <prefix>-<index>-<step>.  All instances are interleaved: first the first
 * command of each instance, in an order drawn from the seed, then the second one, ...
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_LOAD_H
#define BF_CLI_LOAD_H

#include "bpmflow/client.h"
#include "bpmflow/code.h"
#include "bpmflow/graph.h"
#include "worker/cli/cli.h"

#define BF_LOAD_PREFIX_MAX 40

/* --- the plan (load_plan.c) --- */

typedef struct bf_load_task {
    const char *node_id;
    const char *actor; /* NULL = none */
} bf_load_task_t;

typedef struct bf_load_plan {
    bf_arena_t arena;
    bf_graph_t *graph;
    char prefix[BF_LOAD_PREFIX_MAX + 1];
    bf_load_task_t *tasks; /* in the order in which they become possible */
    uint32_t task_count;
    uint32_t instances;
    uint32_t steps;    /* submits of an instance; at most task_count */
    uint32_t per_step; /* 2: claim and submit; 1: submit only */
    uint32_t first;    /* 1: a start command comes first; 0 */
    uint32_t commands; /* of an instance */
    uint64_t seed;
    bf_value_t vars;     /* of the first command */
    const char *payload; /* text of a variable of each submit; NULL = none */
} bf_load_plan_t;

bf_status_t bf_load_plan_init(bf_load_plan_t *plan, const bf_cli_t *cli,
                              bf_err_t *err) BF_MUST_USE;
void bf_load_plan_fini(bf_load_plan_t *plan);

/** The position-th command that is sent: which instance, which of its commands. */
void bf_load_plan_at(const bf_load_plan_t *plan, uint64_t position, uint32_t *ret_index,
                     uint32_t *ret_step);
/** Its message; the instance's ID goes to instance_id. */
void bf_load_plan_write(const bf_load_plan_t *plan, uint32_t index, uint32_t step,
                        char instance_id[BF_ID_MAX_BYTES + 1], bf_str_t *json);
/** Which command an ID is of; false: of another plan. */
bool bf_load_plan_parse(const bf_load_plan_t *plan, const char *command_id, size_t len,
                        uint32_t *ret_index, uint32_t *ret_step);

/* --- numbers (load_stats.c) --- */

/* Durations in microseconds: 64 classes for each power of two, so within 1.6 %. */
#define BF_HISTOGRAM_CLASSES ((size_t)64 * 42)

typedef struct bf_histogram {
    uint64_t counts[BF_HISTOGRAM_CLASSES];
    uint64_t total;
    uint64_t sum_us;
    uint64_t max_us;
} bf_histogram_t;

void bf_histogram_add(bf_histogram_t *histogram, uint64_t us);

typedef struct bf_load_stats {
    bool waited; /* replies were looked for */
    uint64_t sent;
    uint64_t answered; /* commands with at least one reply */
    uint64_t accepted;
    uint64_t rejected;
    uint64_t duplicates; /* replies that say that the command was applied before */
    uint64_t extra;      /* replies beyond the first one of a command */
    uint64_t codes[BF_CODE_COUNT];
    int64_t first_send_ns; /* monotonic; 0 = none */
    int64_t last_send_ns;
    int64_t first_reply_ns;
    int64_t last_reply_ns;
    char sample[300]; /* the first reply that rejects */
    bf_histogram_t latency;
} bf_load_stats_t;

void bf_load_report(const bf_load_plan_t *plan, const bf_load_stats_t *stats,
                    const char *title, bool preloaded, bool json, bf_str_t *ret);

/* --- a round (load_run.c) --- */

typedef struct bf_load {
    bf_load_plan_t plan;
    bf_client_t *client;
    uint64_t rate;        /* commands a second; 0 = as fast as possible */
    uint64_t concurrency; /* commands without a reply at a time */
    bool preload;         /* send all before looking at replies */
    bool wait;            /* read replies at all */
    int64_t timeout_ms;   /* without any reply */
    int64_t *sent_ns;     /* monotonic, of each command */
    uint8_t *replies;     /* of each command, at most 255 */
} bf_load_t;

/** Send everything once and read the replies. BF_E_TIMEOUT: replies are missing (the
 *  numbers are valid). */
bf_status_t bf_load_round(bf_load_t *load, bf_load_stats_t *ret,
                          bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_LOAD_H */
