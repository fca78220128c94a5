/*
 * conf.h - what the parts of bpmflow-conformance share: cases, reports, decisions
 *
 * A part runs the cases of one format:
 *
 *     conf_case_t c;
 *     conf_case_begin(conf, &c, "engine", name, scenario);
 *     const bf_value_t *expect = conf_expect(&c, scenario);
 *     ... conf_fail(&c, "run 2: last_node: expected \"b\", got \"c\"") ...
 *     conf_came(&c, &came);      what came, in the form of a decision file
 *     conf_case_end(&c);
 *
 * conf_case_end() prints the line and counts.  A case is
 *   PASS     nothing failed against the scenario's own expectation
 *   DECIDED  nothing failed against the expectation of a decision file
 *   FAIL     something failed, or the scenario is marked `surprising` and there is no
 *            decision file
 *   SKIPPED  conf_skip() was called
 *
 * A decision file says what bpmflow does instead of the original, and why:
 *   tests/data/decisions/<format>/<name>.json     one case, or
 *   tests/data/decisions/<format>.json            {"<name>": {one case}, ...}
 * It has "why" (a sentence) and what comes instead:
 *   expressions, graph loading: "expect" replaces that of the case;
 *   engine: the members of "expect" are put over those of the scenario's expectation, for
 *   a scenario with runs those of "runs": {"2": {...}} over that of the second run;
 *   workflow: "steps": {"3": {...}} likewise; "guard": "strict" runs it with that guard.
 * Lists beside them (graph-rules.json, flow-rules.json, expression-rules.json) hold
 * decisions for a kind of outcome, whatever the case is called.
 *
 * Memory:  everything lives in conf->arena, which is cleared after each file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONF_H
#define CONF_H

#include "bpmflow/value.h"

typedef struct conf {
    bf_arena_t arena;
    const char *file;      /* being read */
    const char *decisions; /* folder, NULL = none */
    const char *drafts;    /* --write-decisions: folder for drafts, NULL = none */
    const char *filter;    /* --only: cases whose name contains it, NULL = all */
    unsigned passed;       /* DECIDED ones too */
    unsigned decided;
    unsigned failed;
    unsigned skipped;
    bool is_quiet; /* count only */
} conf_t;

typedef struct conf_case {
    conf_t *conf;
    const char *format;
    const char *name;
    const bf_value_t *decision;   /* NULL = none */
    const bf_value_t *surprising; /* text of the scenario, NULL = not marked */
    const bf_value_t *came;       /* NULL = not told */
    bf_str_t mismatches;          /* one a line */
    unsigned mismatch_count;
    const char *skipped; /* reason */
} conf_case_t;

/** Start a case. @param scenario has `surprising` when it is marked; may be NULL.
 *  @return false: not asked for (--only), leave it out */
bool conf_case_begin(conf_t *conf, conf_case_t *c, const char *format, const char *name,
                     const bf_value_t *scenario) BF_MUST_USE;

/** The expectation: of the decision, else of the case. */
const bf_value_t *conf_expect(const conf_case_t *c, const bf_value_t *scenario);

/** Something is not as expected: where, what was expected, what came. */
void conf_fail(conf_case_t *c, const char *fmt, ...) BF_PRINTF(2, 3);

/** The case cannot be run here; it counts as skipped. @param reason static text */
void conf_skip(conf_case_t *c, const char *reason);

/** The decision for a kind of outcome: the entry of the list tests/data/decisions/<name>
 *  whose member `key` is a part of `text`; NULL = none. */
const bf_value_t *conf_rule(conf_t *conf, const char *name, const char *key,
                            const char *text);

/** What is left to compare of a run or step when its outcome is of a kind that is decided
 *  (flow-rules.json); the case is DECIDED then. A case with a decision of its own is
 *  left as it is. */
const bf_value_t *conf_ruled(conf_case_t *c, const bf_value_t *expect,
                             const bf_value_t *came);

/** Likewise for a step of a workflow, which such an error undoes as a whole.
 *  @param automatic the step is a claim and an automatic node is expected of it */
const bf_value_t *conf_ruled_step(conf_case_t *c, const bf_value_t *expect,
                                  const bf_value_t *came, bool automatic);

/** What came instead of what was expected, in the shape of a decision
 *  ({"expect": ...}); for drafts. */
void conf_came(conf_case_t *c, const bf_value_t *came);

/** Print and count. */
void conf_case_end(conf_case_t *c);

/** Run all cases of a file's text. @param path for messages */
void conf_run_text(conf_t *conf, const char *path, const char *text, size_t len);

/** The file as a whole counts as one failed case. */
void conf_fail_file(conf_t *conf, const char *path, const char *why);

/** Whole file into the arena; false when it cannot be read or is over 8 MiB. */
bool conf_read_file(conf_t *conf, const char *path, const char **ret, size_t *ret_len);

/* --- values for `came` and for messages; all in conf->arena, exit when out of memory ---
 */

/** Says so and exits with 2. */
void conf_die_nomem(void) __attribute__((noreturn));

/** A map that grows: conf_map_put() replaces or appends a member. */
typedef struct conf_map {
    conf_t *conf;
    bf_member_t *members;
    uint32_t used;
    uint32_t room;
} conf_map_t;

typedef struct conf_list {
    conf_t *conf;
    bf_value_t *items;
    uint32_t used;
    uint32_t room;
} conf_list_t;

void conf_map_init(conf_t *conf, conf_map_t *map);
void conf_map_put(conf_map_t *map, const char *name, const bf_value_t *value);
const bf_value_t *conf_map_value(const conf_map_t *map);
void conf_list_init(conf_t *conf, conf_list_t *list);
void conf_list_add(conf_list_t *list, const bf_value_t *value);
void conf_list_add_text(conf_list_t *list, const char *text);
bf_value_t conf_list_value(const conf_list_t *list);

/** Copied text. */
char *conf_text(conf_t *conf, const char *fmt, ...) BF_PRINTF(2, 3);
bf_value_t conf_string(conf_t *conf, const char *text);

/** A value as JSON; NULL = "absent". */
const char *conf_json(conf_t *conf, const bf_value_t *value);

/** Number of items / members; 0 when it is absent or of another type. */
uint32_t conf_items(const bf_value_t *list);
uint32_t conf_members(const bf_value_t *map);

/** Members of `map` whose names are not in `known` (NULL-terminated) fail the case:
 *  nothing in a scenario is overlooked. `where` stands in the message. */
void conf_check_members(conf_case_t *c, const char *where, const bf_value_t *map,
                        const char *const *known);

/* --- the parts: run all cases of one file --- */

void conf_run_graph_loading(conf_t *conf, const bf_value_t *file); /* conf_graph.c */
void conf_run_expressions(conf_t *conf, const bf_value_t *file);   /* conf_expr.c */
void conf_run_engine(conf_t *conf, const bf_value_t *file);        /* conf_engine.c */
void conf_run_workflow(conf_t *conf, const bf_value_t *file);      /* conf_workflow.c */
void conf_run_jeeflow(conf_t *conf, const bf_value_t *file);       /* conf_jeeflow.c */

#endif /* CONF_H */
