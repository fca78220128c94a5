/*
 * load_plan.c - which commands a load consists of; see load.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/num.h"
#include "worker/cli/load.h"
#include "worker/cli/members.h"

/* --- the tasks of a graph, in the order in which they become possible --- */

typedef struct walk {
    bf_load_plan_t *plan;
    const char *actor_key; /* "" = every activity is a task */
    uint32_t *arrived;     /* of each node: incoming links that were followed */
    const bf_node_t **queue;
    uint32_t head;
    uint32_t tail;
} walk_t;

static const bf_value_t *on_lookup(void *arg, const char *name, size_t len, uint64_t hash)
{
    (void)hash;
    const walk_t *walk = arg;
    return bf_value_get(&walk->plan->vars, name, len);
}

static bool is_true(walk_t *walk, const bf_link_t *link)
{
    if (link->when.kind != BF_CODE_EXPRESSION)
        return link->when.kind == BF_CODE_NONE;
    bf_expr_env_t env = {.lookup = on_lookup, .arg = walk, .arena = &walk->plan->arena};
    bool yes = false;
    return bf_expr_test(link->when.expr, &env, &yes, NULL) == BF_OK && yes;
}

static bool is_join(const bf_node_t *node)
{
    return (node->type == BF_NODE_PARALLEL || node->type == BF_NODE_INCLUSIVE) &&
           node->prev_link_count > 1;
}

static void arrive(walk_t *walk, const bf_node_t *node)
{
    uint32_t count = ++walk->arrived[node->index];
    if (count == (is_join(node) ? node->prev_link_count : 1))
        walk->queue[walk->tail++] = node;
}

/* A join that not all its links lead to goes on when nothing else does. */
static bool release_join(walk_t *walk)
{
    const bf_graph_t *graph = walk->plan->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const bf_node_t *node = &graph->nodes[i];
        uint32_t count = walk->arrived[i];
        if (is_join(node) && count > 0 && count < node->prev_link_count) {
            walk->arrived[i] = node->prev_link_count;
            walk->queue[walk->tail++] = node;
            return true;
        }
    }
    return false;
}

/* An exclusive node takes the first way whose condition holds, else the default. */
static void leave_exclusive(walk_t *walk, const bf_node_t *node)
{
    const bf_link_t *fallback = NULL;
    for (uint32_t i = 0; i < node->link_count; i++) {
        const bf_link_t *link = node->links[i];
        if (link->when.kind == BF_CODE_NONE) {
            fallback = fallback ? fallback : link;
        } else if (is_true(walk, link)) {
            arrive(walk, link->to);
            return;
        }
    }
    if (fallback)
        arrive(walk, fallback->to);
}

static void leave(walk_t *walk, const bf_node_t *node)
{
    if (node->type == BF_NODE_EXCLUSIVE) {
        leave_exclusive(walk, node);
        return;
    }
    for (uint32_t i = 0; i < node->link_count; i++)
        if (node->type == BF_NODE_PARALLEL || is_true(walk, node->links[i]))
            arrive(walk, node->links[i]->to);
}

static bf_status_t take_task(walk_t *walk, const bf_node_t *node, bf_err_t *err)
{
    if (node->type != BF_NODE_ACTIVITY)
        return BF_OK;
    const bf_value_t *actor =
        *walk->actor_key ? bf_node_meta(node, walk->actor_key) : NULL;
    if (*walk->actor_key && !actor)
        return BF_OK; /* automatic */
    if (actor && actor->type == BF_VALUE_LIST)
        actor = actor->len ? &actor->as.items[0] : NULL;
    bf_load_task_t *task = &walk->plan->tasks[walk->plan->task_count++];
    task->node_id = node->id;
    if (!actor)
        return BF_OK;
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_value_write_text(&text, actor);
    task->actor = bf_arena_strdup(&walk->plan->arena, bf_str_peek(&text));
    bf_str_fini(&text);
    return task->actor ? BF_OK : bf_err_nomem(err, "plan");
}

static bf_status_t find_tasks(bf_load_plan_t *plan, const char *actor_key, bf_err_t *err)
{
    const bf_graph_t *graph = plan->graph;
    walk_t walk = {.plan = plan, .actor_key = actor_key};
    walk.arrived = bf_arena_calloc(&plan->arena, graph->node_count, sizeof(uint32_t));
    walk.queue = bf_arena_calloc(&plan->arena, graph->node_count, sizeof *walk.queue);
    plan->tasks = bf_arena_calloc(&plan->arena, graph->node_count, sizeof *plan->tasks);
    if (!walk.arrived || !walk.queue || !plan->tasks)
        return bf_err_nomem(err, "plan");
    arrive(&walk, graph->start);
    bf_status_t rc = BF_OK;
    while (rc == BF_OK && (walk.head < walk.tail || release_join(&walk))) {
        const bf_node_t *node = walk.queue[walk.head++];
        rc = take_task(&walk, node, err);
        leave(&walk, node);
    }
    if (rc == BF_OK && plan->task_count == 0)
        return bf_err_set(
            err, BF_E_INVALID,
            "graph %s has no task on its way with meta '%s': name another "
            "key (--actor-key), or --actor-key '' where every activity is a "
            "task",
            graph->id, actor_key);
    return rc;
}

/* --- options --- */

static bf_status_t take_prefix(bf_load_plan_t *plan, const bf_cli_t *cli, bf_err_t *err)
{
    const char *given = bf_cli_text(cli, "prefix");
    char uuid[BF_UUID_TEXT];
    char made[BF_LOAD_PREFIX_MAX + 1];
    if (!given && bf_cli_given(cli, "seed")) {
        (void)snprintf(made, sizeof made, "load-%llu", (unsigned long long)plan->seed);
    } else if (!given) {
        bf_uuid_make(uuid);
        (void)snprintf(made, sizeof made, "load-%.8s", uuid);
    }
    const char *prefix = given ? given : made;
    bf_status_t rc = bf_id_check("--prefix", prefix, strlen(prefix), err);
    if (rc == BF_OK && strlen(prefix) > BF_LOAD_PREFIX_MAX)
        rc = bf_err_set(err, BF_E_INVALID, "--prefix is longer than %d bytes",
                        BF_LOAD_PREFIX_MAX);
    if (rc == BF_OK)
        memcpy(plan->prefix, prefix, strlen(prefix) + 1);
    return rc;
}

static bf_status_t take_payload(bf_load_plan_t *plan, const bf_cli_t *cli, bf_err_t *err)
{
    size_t bytes = (size_t)bf_cli_int(cli, "payload");
    if (bytes == 0)
        return BF_OK;
    char *text = bf_arena_alloc(&plan->arena, bytes + 1);
    if (!text)
        return bf_err_nomem(err, "payload");
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)('a' + i % 26);
    text[bytes] = '\0';
    plan->payload = text;
    return BF_OK;
}

static bf_status_t take_options(bf_load_plan_t *plan, const bf_cli_t *cli, bf_err_t *err)
{
    plan->instances = (uint32_t)bf_cli_int(cli, "instances");
    plan->steps = plan->task_count;
    if (bf_cli_text(cli, "steps"))
        plan->steps = (uint32_t)bf_cli_int(cli, "steps");
    if (plan->steps > plan->task_count)
        return bf_err_set(err, BF_E_INVALID,
                          "--steps %u: graph %s has only %u tasks on its way (variables "
                          "choose the way: --var)",
                          plan->steps, plan->graph->id, plan->task_count);
    plan->per_step = strcmp(bf_cli_text(cli, "pattern"), "submit") == 0 ? 1 : 2;
    plan->first = bf_cli_flag(cli, "no-start") ? 0 : 1;
    plan->commands = plan->first + plan->steps * plan->per_step;
    if (plan->commands == 0)
        return bf_err_set(err, BF_E_INVALID, "--steps 0 with --no-start sends nothing");
    return take_payload(plan, cli, err);
}

bf_status_t bf_load_plan_init(bf_load_plan_t *plan, const bf_cli_t *cli, bf_err_t *err)
{
    memset(plan, 0, sizeof *plan);
    bf_arena_init(&plan->arena, 0);
    bf_diags_t diags;
    bf_diags_init(&diags);
    size_t count = 0;
    const char *const *texts = bf_cli_list(cli, "var", &count);
    plan->seed = (uint64_t)bf_cli_int(cli, "seed");
    bf_status_t rc =
        bf_graph_load_file(bf_cli_operand(cli, 0), &diags, &plan->graph, err);
    if (rc == BF_OK)
        rc = bf_cli_members(&plan->arena, "--var", texts, count, &plan->vars, err);
    if (rc == BF_OK)
        rc = find_tasks(plan, bf_cli_text(cli, "actor-key"), err);
    if (rc == BF_OK)
        rc = take_options(plan, cli, err);
    if (rc == BF_OK)
        rc = take_prefix(plan, cli, err);
    bf_diags_fini(&diags);
    return rc;
}

void bf_load_plan_fini(bf_load_plan_t *plan)
{
    bf_graph_unref(plan->graph);
    bf_arena_fini(&plan->arena);
}

/* --- commands --- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A permutation of the instances, another one at each step: i -> a * i + b mod n with a
 * prime to n. */
void bf_load_plan_at(const bf_load_plan_t *plan, uint64_t position, uint32_t *ret_index,
                     uint32_t *ret_step)
{
    uint64_t n = plan->instances;
    uint64_t step = position / n;
    uint64_t random = mix(plan->seed * 1000003 + step);
    uint64_t a = n > 1 ? 1 + random % (n - 1) : 1;
    while (gcd(a, n) != 1)
        a++;
    uint64_t b = mix(random) % n;
    *ret_index = (uint32_t)((a * (position % n) + b) % n);
    *ret_step = (uint32_t)step;
}

static void put_text(bf_str_t *json, const char *name, const char *text)
{
    bf_str_printf(json, ",\"%s\":", name);
    bf_json_write_string(json, text, strlen(text));
}

/* Those of the options in the first command, the payload in each submit. */
static void put_vars(const bf_load_plan_t *plan, bool first, bool submit, bf_str_t *json)
{
    uint32_t count = first ? plan->vars.len : 0;
    bool payload = submit && plan->payload;
    if (count == 0 && !payload)
        return;
    bf_str_puts(json, ",\"vars\":{");
    for (uint32_t i = 0; i < count; i++) {
        const bf_member_t *member = &plan->vars.as.members[i];
        bf_str_puts(json, i ? "," : "");
        bf_json_write_string(json, member->name, member->name_len);
        bf_str_putc(json, ':');
        bf_json_write(json, &member->value);
    }
    if (payload) {
        bf_str_puts(json, count ? ",\"payload\":" : "\"payload\":");
        bf_json_write_string(json, plan->payload, strlen(plan->payload));
    }
    bf_str_putc(json, '}');
}

void bf_load_plan_write(const bf_load_plan_t *plan, uint32_t index, uint32_t step,
                        char instance_id[BF_ID_MAX_BYTES + 1], bf_str_t *json)
{
    char command_id[BF_ID_MAX_BYTES + 1];
    (void)snprintf(instance_id, BF_ID_MAX_BYTES + 1, "%s-%u", plan->prefix, index);
    (void)snprintf(command_id, sizeof command_id, "%s-%u-%u", plan->prefix, index, step);
    bf_str_puts(json, "{\"command_id\":");
    bf_json_write_string(json, command_id, strlen(command_id));
    put_text(json, "instance_id", instance_id);
    bool start = step < plan->first;
    uint32_t number = start ? 0 : step - plan->first;
    bool submit = !start && (plan->per_step == 1 || number % 2 == 1);
    put_text(json, "command", start ? "start" : submit ? "submit" : "claim");
    if (step == 0)
        put_text(json, "graph_id", plan->graph->id);
    if (!start) {
        const bf_load_task_t *task = &plan->tasks[number / plan->per_step];
        if (submit)
            put_text(json, "node_id", task->node_id);
        if (task->actor)
            put_text(json, "actor", task->actor);
    }
    put_vars(plan, step == 0, submit, json);
    bf_str_putc(json, '}');
}

/* Digits at the end of text[0..*len), and the '-' before them, are taken off. */
static bool take_number(const char *text, size_t *len, uint32_t *ret)
{
    size_t begin = *len;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9')
        begin--;
    int64_t number = 0;
    if (begin == 0 || text[begin - 1] != '-' ||
        bf_num_parse_range(text + begin, *len - begin, 0, UINT32_MAX, &number, NULL) !=
            BF_OK)
        return false;
    *len = begin - 1;
    *ret = (uint32_t)number;
    return true;
}

bool bf_load_plan_parse(const bf_load_plan_t *plan, const char *command_id, size_t len,
                        uint32_t *ret_index, uint32_t *ret_step)
{
    return take_number(command_id, &len, ret_step) &&
           take_number(command_id, &len, ret_index) && len == strlen(plan->prefix) &&
           memcmp(command_id, plan->prefix, len) == 0 && *ret_index < plan->instances &&
           *ret_step < plan->commands;
}
