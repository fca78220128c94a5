/*
 * conf_rules.c - decisions for a kind of outcome
 *
 * The same deviation occurs in scenarios that nobody has seen yet: what is decided for a
 * rule stands once in a list of tests/data/decisions/, and says how to tell it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "conf.h"

static bool read_rules(conf_t *conf, const char *name, bf_value_t *ret)
{
    const char *file;
    size_t len;
    bf_err_t err = BF_ERR_INIT;
    return conf->decisions &&
           conf_read_file(conf, conf_text(conf, "%s/%s", conf->decisions, name), &file,
                          &len) &&
           bf_json_parse(&conf->arena, file, len, NULL, ret, &err) == BF_OK &&
           ret->type == BF_VALUE_LIST;
}

const bf_value_t *conf_rule(conf_t *conf, const char *name, const char *key,
                            const char *text)
{
    bf_value_t rules;
    if (!text || !read_rules(conf, name, &rules)) {
        return NULL;
    }
    for (uint32_t i = 0; i < rules.len; i++) {
        const char *wanted = bf_value_get_cstr(&rules.as.items[i], key);
        if (wanted && strstr(text, wanted)) {
            return &rules.as.items[i];
        }
    }
    return NULL;
}

/* --- runs and steps --- */

static const char *const courses[] = {"visited", "visited_graphs", "executed",
                                      "ended",   "entered",        NULL};

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static const bf_value_t *without(conf_t *conf, const bf_value_t *expect,
                                 const char *const *names)
{
    conf_map_t map;
    conf_map_init(conf, &map);
    for (uint32_t i = 0; i < conf_members(expect); i++) {
        const bf_member_t *m = &expect->as.members[i];
        if (!is_one_of(names, m->name)) {
            conf_map_put(&map, m->name, &m->value);
        }
    }
    return conf_map_value(&map);
}

static bool is_true(const bf_value_t *map, const char *member)
{
    const bf_value_t *value = bf_value_get_str(map, member);
    return value && value->type == BF_VALUE_BOOL && value->as.boolean;
}

/* Is the shorter list the beginning of the longer one? */
static bool begins_with(const bf_value_t *whole, const bf_value_t *part)
{
    if (whole->type != BF_VALUE_LIST || part->type != BF_VALUE_LIST ||
        part->len > whole->len) {
        return false;
    }
    for (uint32_t i = 0; i < part->len; i++) {
        if (!bf_value_equal(&whole->as.items[i], &part->as.items[i])) {
            return false;
        }
    }
    return true;
}

static const bf_value_t *with_error_of(conf_t *conf, const bf_value_t *expect,
                                       const bf_value_t *came)
{
    static const char *const names[] = {"error", "error_cause", NULL};
    conf_map_t map;
    conf_map_init(conf, &map);
    expect = without(conf, expect, names);
    for (uint32_t i = 0; i < conf_members(expect); i++) {
        conf_map_put(&map, expect->as.members[i].name, &expect->as.members[i].value);
    }
    conf_map_put(&map, "error", bf_value_get_str(came, "error"));
    return conf_map_value(&map);
}

/* An error where the original ends a branch silently: what came before it must be as
 * there, what the siblings of the branch would have done is left out. */
static const bf_value_t *error_instead(conf_case_t *c, const bf_value_t *expect,
                                       const bf_value_t *came)
{
    static const char *const later[] = {"vars",       "stopped", "is_end", "last_node",
                                        "last_nodes", "states",  NULL};
    const bf_value_t *rule =
        conf_rule(c->conf, "flow-rules.json", "error", bf_value_get_cstr(came, "error"));
    if (!rule || !bf_value_is_null(bf_value_get_str(expect, "error"))) {
        return expect;
    }
    expect = with_error_of(c->conf, expect, came);
    bool shorter = false;
    for (const char *const *name = courses; *name; name++) {
        const bf_value_t *wanted = bf_value_get_str(expect, *name);
        const bf_value_t *course = bf_value_get_str(came, *name);
        if (wanted && course && begins_with(wanted, course)) {
            const char *const names[] = {*name, NULL};
            shorter = shorter || wanted->len > course->len;
            expect = without(c->conf, expect, names);
        }
    }
    c->decision = rule;
    return shorter ? without(c->conf, expect, later) : expect;
}

/* The only node of a graph is recorded. */
static const bf_value_t *first_node(conf_case_t *c, const bf_value_t *expect,
                                    const bf_value_t *came)
{
    static const char *const names[] = {"last_node", "last_nodes", "is_end", NULL};
    const bf_value_t *visited = bf_value_get_str(came, "visited");
    const bf_value_t *last = bf_value_get_str(came, "last_node");
    const bf_value_t *wanted = bf_value_get_str(expect, "last_node");
    const bf_value_t *rule = conf_rule(c->conf, "flow-rules.json", "kind", "first_node");
    if (!rule || !wanted || !bf_value_is_null(wanted) || conf_items(visited) != 1 ||
        !last || !bf_value_equal(&visited->as.items[0], last)) {
        return expect;
    }
    c->decision = rule;
    return without(c->conf, expect, names);
}

/* The original visits the END node again. */
static const bf_value_t *after_end(conf_case_t *c, const bf_value_t *expect,
                                   const bf_value_t *came)
{
    static const char *const names[] = {"visited", "visited_graphs", "ended", "entered",
                                        NULL};
    const bf_value_t *wanted = bf_value_get_str(expect, "visited");
    const bf_value_t *last = bf_value_get_str(expect, "last_node");
    const bf_value_t *rule = conf_rule(c->conf, "flow-rules.json", "kind", "after_end");
    if (!rule || !is_true(expect, "is_end") || !is_true(came, "is_end") ||
        conf_items(wanted) != 1 || !last || !bf_value_equal(&wanted->as.items[0], last) ||
        conf_items(bf_value_get_str(came, "visited"))) {
        return expect;
    }
    c->decision = rule;
    return without(c->conf, expect, names);
}

const bf_value_t *conf_ruled(conf_case_t *c, const bf_value_t *expect,
                             const bf_value_t *came)
{
    if (c->decision && !bf_value_get_str(c->decision, "rule")) {
        return expect; /* the case has a decision of its own */
    }
    expect = error_instead(c, expect, came);
    expect = first_node(c, expect, came);
    return after_end(c, expect, came);
}

/* The list without the repetitions of its items. */
static bf_value_t once_each(conf_t *conf, const bf_value_t *list)
{
    conf_list_t once;
    conf_list_init(conf, &once);
    for (uint32_t i = 0; i < conf_items(list); i++) {
        bool seen = false;
        for (uint32_t k = 0; k < once.used; k++) {
            seen = seen || bf_value_equal(&once.items[k], &list->as.items[i]);
        }
        if (!seen) {
            conf_list_add(&once, &list->as.items[i]);
        }
    }
    return conf_list_value(&once);
}

/* The original runs an automatic node again in the same command. */
static const bf_value_t *executed_once(conf_case_t *c, const bf_value_t *expect,
                                       const bf_value_t *came)
{
    static const char *const names[] = {"executed", NULL};
    const bf_value_t *rule = conf_rule(c->conf, "flow-rules.json", "kind", "once");
    const bf_value_t *wanted = bf_value_get_str(expect, "executed");
    const bf_value_t *executed = bf_value_get_str(came, "executed");
    if (!rule || !executed || conf_items(wanted) <= conf_items(executed)) {
        return expect;
    }
    bf_value_t once = once_each(c->conf, wanted);
    if (!bf_value_equal(&once, executed)) {
        return expect;
    }
    c->decision = rule;
    return without(c->conf, expect, names);
}

const bf_value_t *conf_ruled_step(conf_case_t *c, const bf_value_t *expect,
                                  const bf_value_t *came, bool automatic)
{
    static const char *const task[] = {"task", NULL};
    static const char *const all[] = {"task",   "next_tasks", "states", "executed",
                                      "is_end", "vars",       NULL};
    const char *error = bf_value_get_cstr(came, "error");
    const bf_value_t *undone = conf_rule(c->conf, "flow-rules.json", "error", error);
    const bf_value_t *none =
        conf_rule(c->conf, "flow-rules.json", "kind", "automatic_task");
    if (c->decision && !bf_value_get_str(c->decision, "rule")) {
        return expect; /* the case has a decision of its own */
    }
    if (undone && bf_value_is_null(bf_value_get_str(expect, "error"))) {
        c->decision = undone;
        return without(c->conf, with_error_of(c->conf, expect, came), all);
    }
    if (none && automatic && bf_value_is_null(bf_value_get_str(came, "task"))) {
        c->decision = none;
        expect = without(c->conf, expect, task);
    }
    return executed_once(c, expect, came);
}
