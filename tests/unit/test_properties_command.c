/*
 * test_properties_command.c - any commands on graphs with any links
 *
 * A script of random commands is made while it runs against one instance in memory.
 * Held against it at each command:
 *   - find, find_next and get_state change nothing; a refused command changes nothing and
 *     has a sentence that says why; an accepted one that changes something counts the
 *     revision up by one and has its history rows numbered without a gap;
 *   - a task that was claimed and then submitted forward by the same actor is done, or
 *     the refusal names an error of the graph (no route, too many steps, ...);
 *   - the row written and loaded again is the same row.
 * Then the same script gives the same replies, rows and states
 *   - with the instance read from its row before each command,
 *   - with the instance packed and opened before each command,
 *   - with a new engine and executor for each command: nothing that is kept beside an
 *     instance or a graph to be fast changes a result,
 *   - with another instance of the same executor that does the script in between.
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/command.h"
#include "bpmflow/executor.h"
#include "tests/support/gen.h"
#include "tests/support/maze.h"
#include "tests/support/property.h"

#define CASES        300
#define SCRIPT_LEN   24
#define MAX_OUTCOMES (SCRIPT_LEN + 1)

static const char sub[] =
    "{id: sub, layout: [{id: s, type: start, link: p}, {id: p, type: parallel, link: "
    "[a, b]}, {id: a, meta: {actor: r1}, link: j}, {id: b, task: 'k = k + 1', link: j},"
    "{id: j, type: parallel, link: e}, {id: e, type: end}]}";

typedef struct world {
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_command_env_t env;
} world_t;

/* A script: texts live in the arena, or are those of a graph of the first world. */
typedef struct script {
    bf_arena_t arena;
    bf_command_t commands[SCRIPT_LEN];
    unsigned count;
    char *replies[MAX_OUTCOMES]; /* with the row behind each; the last is the row alone */
} script_t;

static void world_init(world_t *w, const char *layout)
{
    const char *const layouts[] = {layout, sub};
    *w = (world_t){.engine = bf_engine_new(),
                   .controller = bf_actor_controller_new(NULL, 0)};
    w->executor = bf_executor_new(w->engine, w->controller, NULL);
    cr_assert_not_null(w->executor);
    bf_executor_set_max_steps(w->executor, 300);
    w->env.executor = w->executor;
    for (int i = 0; i < 2; i++) {
        bf_graph_t *graph = NULL;
        bf_err_t err = BF_ERR_INIT;
        cr_assert_eq(bf_graph_load_text(layouts[i], strlen(layouts[i]), "maze", NULL,
                                        &graph, &err),
                     BF_OK, "%s\n%s", err.text, layouts[i]);
        cr_assert_eq(bf_engine_load(w->engine, graph, &err), BF_OK);
        bf_graph_unref(graph);
    }
}

static void world_fini(world_t *w)
{
    bf_executor_free(w->executor);
    bf_controller_free(w->controller);
    bf_engine_free(w->engine);
}

/* --- what came, as text --- */

static void put_text(bf_str_t *out, const char *name, const char *text)
{
    bf_str_printf(out, " %s=%s", name, text ? text : "-");
}

static void put_task(bf_str_t *out, const char *name, const bf_outcome_task_t *t)
{
    bf_str_printf(out, " %s=%s:%s#%u/%d", name, t->graph_id, t->task.node->id,
                  t->task.round, (int)t->task.state);
}

static void put_row(bf_str_t *out, bf_instance_t *inst, bf_arena_t *arena)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_write_row(inst, arena, &row, &err), BF_OK, "%s", err.text);
    bf_str_printf(out, "\n  row %d %d %d %.*s %.*s", (int)row.rev, (int)row.status,
                  (int)row.seq, (int)row.states.len,
                  row.states.data ? row.states.data : "", (int)row.vars.len,
                  row.vars.data ? row.vars.data : "");
}

static char *describe(const bf_outcome_t *o, bf_instance_t *inst, bf_arena_t *arena)
{
    bf_str_t out;
    bf_str_init(&out, 0);
    bf_str_printf(&out, "code=%d", (int)o->code);
    put_text(&out, "error", o->error);
    bf_str_printf(&out, " rev=%d state=%d", (int)o->revision, (int)o->instance_state);
    if (o->task) {
        put_task(&out, "task", o->task);
    }
    for (size_t i = 0; i < o->next_task_count; i++) {
        put_task(&out, "next", &o->next_tasks[i]);
    }
    for (size_t i = 0; i < o->state_count; i++) {
        bf_str_printf(&out, " %s:%d", o->states[i].key, (int)o->states[i].state);
    }
    for (size_t i = 0; i < o->history_count; i++) {
        const bf_history_t *h = &o->history[i];
        bf_str_printf(&out, " h%d", (int)h->seq);
        put_text(&out, "from", h->source.code);
        put_text(&out, "to", h->target.code);
    }
    put_row(&out, inst, arena);
    return bf_str_take(&out, NULL);
}

/* --- making a script --- */

static unsigned below(uint64_t *state, unsigned limit)
{
    return (unsigned)((gen_random(state) >> 40) % limit);
}

static const char *any_node(const bf_graph_t *graph, uint64_t *state)
{
    return graph->nodes[below(state, graph->node_count)].id;
}

static bf_value_t number_map(bf_arena_t *arena, const char *name, unsigned number)
{
    bf_member_t *member = bf_arena_calloc(arena, 1, sizeof(*member));
    cr_assert_not_null(member);
    *member = (bf_member_t){name, (uint32_t)strlen(name), bf_value_int((int64_t)number)};
    return (bf_value_t){.type = BF_VALUE_MAP, .len = 1, .as.members = member};
}

/* Who the last reply said is next, else anybody. */
static const char *choose_actor(const bf_outcome_t *last, uint64_t *state)
{
    static const char *const roles[] = {"r0", "r1", "r2"};
    if (last->next_task_count && below(state, 4)) {
        const bf_node_t *node =
            last->next_tasks[below(state, (unsigned)last->next_task_count)].task.node;
        const bf_value_t *actor = bf_node_meta(node, "actor");
        if (actor) {
            return roles[(unsigned)(actor->as.string[1] - '0') % 3];
        }
    }
    return roles[below(state, 3)];
}

static bf_command_t choose(script_t *s, const bf_graph_t *graph, const bf_outcome_t *last,
                           uint64_t *state)
{
    static const bf_verb_t verbs[] = {
        BF_VERB_CLAIM,     BF_VERB_CLAIM,   BF_VERB_FIND,   BF_VERB_FIND_NEXT,
        BF_VERB_FIND_NEXT, BF_VERB_SUBMIT,  BF_VERB_SUBMIT, BF_VERB_SUBMIT_IF_WAITING,
        BF_VERB_GET_STATE, BF_VERB_SET_VARS};
    static const bf_action_t actions[] = {BF_ACTION_FORWARD,   BF_ACTION_FORWARD,
                                          BF_ACTION_BACK,      BF_ACTION_BACK,
                                          BF_ACTION_FORWARD,   BF_ACTION_BACK_JUMP,
                                          BF_ACTION_BACK_JUMP, BF_ACTION_FORWARD_JUMP,
                                          BF_ACTION_RESTART,   BF_ACTION_TERMINATE};
    bf_command_t c = {.command_id = bf_arena_printf(&s->arena, "c%u", s->count),
                      .instance_id = "i",
                      .verb = verbs[below(state, 10)],
                      .action = BF_ACTION_FORWARD,
                      .actor = choose_actor(last, state)};
    bool submits = c.verb == BF_VERB_SUBMIT || c.verb == BF_VERB_SUBMIT_IF_WAITING;
    if (last->task && below(state, 5)) { /* what was claimed or found */
        c.verb = BF_VERB_SUBMIT;
        c.node_id = last->task->task.node->id;
        c.graph_id = last->task->graph_id;
        c.actor = s->count ? s->commands[s->count - 1].actor : c.actor;
        submits = true;
    } else if (submits || c.verb == BF_VERB_GET_STATE) {
        c.node_id = any_node(graph, state);
    }
    if (submits && below(state, 3) == 0) {
        c.action = actions[below(state, 9 + (below(state, 8) == 0))];
    }
    if (c.action == BF_ACTION_BACK_JUMP || c.action == BF_ACTION_FORWARD_JUMP) {
        c.target_id = below(state, 4) ? any_node(graph, state) : NULL;
    }
    if (c.verb == BF_VERB_SET_VARS || below(state, 8) == 0) {
        c.vars = number_map(&s->arena, below(state, 2) ? "k" : "n", below(state, 4));
    }
    if (!s->count) {
        c.verb = BF_VERB_START;
        c.graph_id = "g";
        c.node_id = NULL;
        c.action = BF_ACTION_FORWARD;
        c.vars = number_map(&s->arena, "n", below(state, 4));
    }
    return c;
}

/* --- what holds for each command --- */

static const char *check_loads(bf_instance_t *inst, bf_arena_t *arena)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    bf_str_t first;
    bf_str_t second;
    const char *wrong = "";
    bf_instance_t *other = bf_instance_new("i");
    bf_str_init(&first, 0);
    bf_str_init(&second, 0);
    cr_assert_eq(bf_instance_write_row(inst, arena, &row, &err), BF_OK);
    bf_status_t rc = bf_instance_load_row(other, &row, &err);
    if (rc == BF_OK) {
        put_row(&first, inst, arena);
        put_row(&second, other, arena);
    }
    if (rc != BF_OK || strcmp(bf_str_peek(&first), bf_str_peek(&second)) != 0) {
        wrong = property_wrong("the row loads as another one: %s%s%s", err.text,
                               bf_str_peek(&first), bf_str_peek(&second));
    }
    bf_str_fini(&first);
    bf_str_fini(&second);
    bf_instance_free(other);
    return wrong;
}

static const char *check_outcome(const bf_command_t *c, const bf_outcome_t *o,
                                 const char *before, const char *after, int32_t rev,
                                 int32_t seq)
{
    bool probes = c->verb == BF_VERB_FIND || c->verb == BF_VERB_FIND_NEXT ||
                  c->verb == BF_VERB_GET_STATE;
    bool same = !strcmp(before, after);
    if (o->code != BF_CODE_OK && (!o->error || !*o->error)) {
        return property_wrong("%s: code %d without a word", bf_verb_name(c->verb),
                              (int)o->code);
    }
    if ((probes || o->code != BF_CODE_OK) && (!same || o->changed || o->history_count)) {
        return property_wrong("%s (%s) changed%s\nto%s", bf_verb_name(c->verb),
                              o->error ? o->error : "accepted", before, after);
    }
    if (o->code == BF_CODE_OK && o->revision != rev + (same ? 0 : 1)) {
        return property_wrong("%s: revision %d after %d%s\n%s", bf_verb_name(c->verb),
                              (int)o->revision, (int)rev, before, after);
    }
    for (size_t i = 0; i < o->history_count; i++) {
        if (o->history[i].seq != seq + 1 + (int32_t)i) {
            return property_wrong("%s: row %zu has seq %d after %d",
                                  bf_verb_name(c->verb), i, (int)o->history[i].seq,
                                  (int)seq);
        }
    }
    return "";
}

/* Claimed by the command before, and now submitted by the same actor. */
static const char *check_progress(const script_t *s, const bf_outcome_t *last,
                                  const bf_command_t *c, const bf_outcome_t *o,
                                  bf_instance_t *inst)
{
    const bf_command_t *claim = s->count ? &s->commands[s->count - 1] : NULL;
    if (!claim || claim->verb != BF_VERB_CLAIM || !last->task ||
        c->verb != BF_VERB_SUBMIT || c->action != BF_ACTION_FORWARD ||
        c->node_id != last->task->task.node->id || c->vars.type == BF_VALUE_MAP) {
        return "";
    }
    if (o->code != BF_CODE_OK) {
        bool refused = o->code == BF_CODE_NOT_WAITING || o->code == BF_CODE_NOT_OPERABLE;
        return refused ? property_wrong("%s was claimed by %s, then: %s", c->node_id,
                                        c->actor, o->error)
                       : "";
    }
    const bf_task_t *t = &last->task->task;
    char key[128];
    (void)snprintf(key, sizeof(key), t->round > 1 ? "%s#%u" : "%s", t->node->state_key,
                   t->round);
    return bf_instance_state(inst, key) == BF_TASK_COMPLETED
               ? ""
               : property_wrong("%s was claimed and submitted, its state is %d", key,
                                (int)bf_instance_state(inst, key));
}

static const char *make_script(script_t *s, const char *layout, uint64_t seed)
{
    world_t w;
    bf_arena_t arenas[2];
    bf_outcome_t outcomes[2] = {{0}};
    uint64_t state = seed + 17;
    const char *wrong = "";
    bf_instance_t *inst = bf_instance_new("i");
    world_init(&w, layout);
    bf_arena_init(&arenas[0], 0);
    bf_arena_init(&arenas[1], 0);
    for (s->count = 0; s->count < SCRIPT_LEN && !*wrong; s->count++) {
        bf_arena_t *arena = &arenas[s->count % 2];
        bf_outcome_t *o = &outcomes[s->count % 2];
        const bf_outcome_t *last = &outcomes[(s->count + 1) % 2];
        bf_err_t err = BF_ERR_INIT;
        bf_str_t before;
        bf_str_t after;
        bf_arena_clear(arena);
        bf_str_init(&before, 0);
        bf_str_init(&after, 0);
        put_row(&before, inst, arena);
        int32_t rev = bf_instance_revision(inst);
        int32_t seq = bf_instance_seq(inst);
        bf_command_t *c = &s->commands[s->count];
        *c = choose(s, bf_engine_graph(w.engine, "g"), last, &state);
        c->node_id = c->node_id ? bf_arena_strdup(&s->arena, c->node_id) : NULL;
        c->target_id = c->target_id ? bf_arena_strdup(&s->arena, c->target_id) : NULL;
        c->graph_id = c->graph_id ? bf_arena_strdup(&s->arena, c->graph_id) : NULL;
        cr_assert_eq(bf_command_execute(&w.env, c, inst, arena, 1, o, &err), BF_OK);
        put_row(&after, inst, arena);
        wrong = check_outcome(c, o, bf_str_peek(&before), bf_str_peek(&after), rev, seq);
        wrong = *wrong ? wrong : check_progress(s, last, c, o, inst);
        wrong = *wrong ? wrong : check_loads(inst, arena);
        s->replies[s->count] = describe(o, inst, arena);
        bf_str_fini(&before);
        bf_str_fini(&after);
    }
    bf_arena_fini(&arenas[0]);
    bf_arena_fini(&arenas[1]);
    bf_instance_free(inst);
    world_fini(&w);
    return wrong;
}

/* --- the same script in other ways --- */

typedef enum { FROM_ROW, PACKED, NEW_WORLD, BESIDE, WAY_COUNT } way_t;

static const char *const way_names[] = {"from its row", "packed", "by a new engine",
                                        "beside another"};

static void reload(bf_instance_t **inst, bf_arena_t *arena)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_write_row(*inst, arena, &row, &err), BF_OK);
    bf_instance_t *other = bf_instance_new("i");
    if (row.rev) { /* there is one */
        cr_assert_eq(bf_instance_load_row(other, &row, &err), BF_OK, "%s", err.text);
    }
    bf_instance_free(*inst);
    *inst = other;
}

/* A script that is played again. */
typedef struct replay {
    const script_t *script;
    const char *layout;
    way_t way;
    world_t world;
    bf_arena_t arena;
    bf_instance_t *inst;
    bf_instance_t *other; /* its neighbour, where the way has one */
} replay_t;

/* What the way does to the instance before command `number`. */
static void go_the_way(replay_t *r, unsigned number)
{
    if (r->way == NEW_WORLD) {
        world_fini(&r->world);
        world_init(&r->world, r->layout);
    } else if (r->way == FROM_ROW) {
        reload(&r->inst, &r->arena);
    } else if (r->way == PACKED) {
        cr_assert_eq(bf_instance_pack(r->inst), BF_OK);
    } else if (number % 2) { /* the other one catches up, two at a time */
        for (unsigned k = number - 1; k <= number; k++) {
            bf_outcome_t o;
            bf_err_t err = BF_ERR_INIT;
            bf_status_t rc = bf_command_execute(&r->world.env, &r->script->commands[k],
                                                r->other, &r->arena, 1, &o, &err);
            cr_assert_eq(rc, BF_OK, "%s", err.text);
        }
    }
}

/* Command `number`, compared with what came in memory. */
static const char *play_one(replay_t *r, unsigned number)
{
    const bf_command_t *command = &r->script->commands[number];
    const char *wrong = "";
    bf_outcome_t o;
    bf_err_t err = BF_ERR_INIT;
    go_the_way(r, number);
    cr_assert_eq(
        bf_command_execute(&r->world.env, command, r->inst, &r->arena, 1, &o, &err),
        BF_OK);
    char *reply = describe(&o, r->inst, &r->arena);
    if (strcmp(reply, r->script->replies[number]) != 0) {
        wrong = property_wrong("command %u, %s by %s on %s: in memory\n  %s\n%s\n  %s",
                               number, bf_verb_name(command->verb), command->actor,
                               command->node_id ? command->node_id : "-",
                               r->script->replies[number], way_names[r->way], reply);
    }
    free(reply);
    bf_arena_clear(&r->arena);
    return wrong;
}

static const char *play(const script_t *s, const char *layout, way_t way)
{
    replay_t r = {.script = s, .layout = layout, .way = way};
    const char *wrong = "";
    r.inst = bf_instance_new("i");
    r.other = bf_instance_new("i");
    bf_arena_init(&r.arena, 0);
    world_init(&r.world, layout);
    for (unsigned i = 0; i < s->count && !*wrong; i++) {
        wrong = play_one(&r, i);
    }
    bf_arena_fini(&r.arena);
    bf_instance_free(r.inst);
    bf_instance_free(r.other);
    world_fini(&r.world);
    return wrong;
}

static const char *commands_hold(const char *layout, uint64_t seed)
{
    script_t s = {.count = 0};
    bf_arena_init(&s.arena, 0);
    const char *wrong = make_script(&s, layout, seed);
    for (way_t way = FROM_ROW; way < WAY_COUNT && !*wrong; way++) {
        wrong = play(&s, layout, way);
    }
    for (unsigned i = 0; i < s.count; i++) {
        free(s.replies[i]);
    }
    bf_arena_fini(&s.arena);
    return wrong;
}

static void check(bool with_loops, const char *name)
{
    uint64_t seed;
    uint64_t end;
    unsigned failed = 0;
    for (property_range(CASES, &seed, &end); seed < end && failed < 3; seed++) {
        maze_t maze = {.id = "g",
                       .seed = seed,
                       .size = property_size(seed),
                       .back = seed % 2 ? 6 : 30,
                       .with_actors = true,
                       .with_loops = with_loops,
                       .call = seed % 3 ? NULL : "sub"};
        failed += !property_holds(commands_hold, maze_layout(&maze), seed, name);
    }
}

Test(properties_command, any__says_why_changes_nothing_or_progresses)
{
    check(false, "commands");
}

Test(properties_command, any__with_loops)
{
    check(true, "commands, loops");
}
