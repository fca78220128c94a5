/*
 * gen.c - random graphs, and what a walk through them must do
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/arena.h"

#define MAX_CHILDREN 4
#define MAX_GRAPHS   8

typedef enum { AUTO, HUMAN, CALL, SEQ, XOR, AND, OR, LOOP } kind_t;

typedef struct block {
    kind_t kind;
    unsigned number; /* in IDs */
    unsigned child_count;
    struct block *children[MAX_CHILDREN];
    unsigned choice; /* XOR: child; OR: bits of children; LOOP: passes */
    bool has_note;   /* AUTO, HUMAN: task @note */
    bool has_merge;  /* XOR: a node where its branches meet */
    bool other_join; /* AND, OR: the join has the other type */
    unsigned graph;  /* CALL: number of the called graph */
} block_t;

struct gen {
    bf_arena_t arena;
    uint64_t state;
    gen_options_t options;
    unsigned next_number;
    unsigned nodes_left;
    unsigned graph_count;
    block_t *roots[MAX_GRAPHS];
    char *layouts[MAX_GRAPHS];
    bool failed;
};

uint64_t gen_random(uint64_t *state)
{
    /* xorshift64*: Vigna */
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

static unsigned below(uint64_t *state, unsigned limit)
{
    return (unsigned)((gen_random(state) >> 33) % limit);
}

static bool one_in(uint64_t *state, unsigned n)
{
    return below(state, n) == 0;
}

/* --- the tree of blocks --- */

static block_t *new_block(gen_t *g, kind_t kind)
{
    block_t *b = bf_arena_calloc(&g->arena, 1, sizeof(*b));
    if (!b) {
        g->failed = true;
        return NULL;
    }
    b->kind = kind;
    b->number = ++g->next_number;
    g->nodes_left -= g->nodes_left > 0;
    return b;
}

static block_t *grow(gen_t *g, unsigned depth);

static block_t *grow_leaf(gen_t *g, unsigned depth)
{
    kind_t kind = g->options.with_tasks && one_in(&g->state, 2) ? HUMAN : AUTO;
    if (g->options.with_calls && depth < 4 && g->graph_count < MAX_GRAPHS &&
        one_in(&g->state, 8)) {
        kind = CALL;
    }
    block_t *b = new_block(g, kind);
    if (b) {
        b->has_note = kind == AUTO ? !one_in(&g->state, 4) : one_in(&g->state, 2);
    }
    if (b && kind == CALL) {
        b->graph = g->graph_count++;
        g->roots[b->graph] = grow(g, depth + 1);
    }
    return b;
}

static block_t *grow(gen_t *g, unsigned depth)
{
    static const kind_t kinds[] = {SEQ, SEQ, SEQ, XOR, AND, OR, LOOP};
    if (!g->nodes_left || depth > 5 || one_in(&g->state, 3)) {
        return grow_leaf(g, depth);
    }
    block_t *b = new_block(g, kinds[below(&g->state, 7)]);
    if (!b) {
        return NULL;
    }
    b->child_count = b->kind == LOOP ? 1 : 2 + below(&g->state, MAX_CHILDREN - 1);
    b->has_merge = one_in(&g->state, 2);
    b->other_join = one_in(&g->state, 4);
    for (unsigned i = 0; i < b->child_count; i++) {
        b->children[i] = grow(g, depth + 1);
    }
    switch (b->kind) {
    case XOR:
        b->choice = below(&g->state, b->child_count);
        break;
    case OR:
        b->choice = 1 + below(&g->state, (1U << b->child_count) - 1);
        break;
    case LOOP:
        b->choice = below(&g->state, 4);
        break;
    case AUTO:
    case HUMAN:
    case CALL:
    case SEQ:
    case AND:
        break;
    }
    return b;
}

/* --- layouts --- */

typedef struct name {
    char text[16];
} name_t;

static name_t id_of(const block_t *b, char letter)
{
    name_t name;
    (void)snprintf(name.text, sizeof(name.text), "%c%u", letter, b->number);
    return name;
}

static name_t emit(const gen_t *g, const block_t *b, name_t next, bf_str_t *out);

static name_t emit_leaf(const gen_t *g, const block_t *b, name_t next, bf_str_t *out)
{
    name_t id = id_of(b, b->kind == AUTO ? 'a' : b->kind == HUMAN ? 'h' : 'c');
    bf_str_printf(out, ",{\"id\":\"%s\",\"link\":[\"%s\"]", id.text, next.text);
    if (b->kind == CALL) {
        bf_str_printf(out, ",\"task\":\"#sub%u\"", b->graph);
    } else if (b->has_note) {
        bf_str_puts(out, ",\"task\":\"@note\"");
    }
    if (b->kind == HUMAN) {
        bf_str_printf(out, ",\"meta\":{\"actor\":\"r%u\"}", b->number % GEN_ROLES);
    }
    bf_str_putc(out, '}');
    (void)g;
    return id;
}

static name_t emit_choice(const gen_t *g, const block_t *b, name_t next, bf_str_t *out)
{
    name_t id = id_of(b, 'x');
    name_t meet = b->has_merge ? id_of(b, 'm') : next;
    name_t entries[MAX_CHILDREN];
    for (unsigned i = 0; i < b->child_count; i++) {
        entries[i] = emit(g, b->children[i], meet, out);
    }
    bf_str_printf(out, ",{\"id\":\"%s\",\"type\":\"exclusive\",\"link\":[", id.text);
    for (unsigned i = 0; i < b->child_count; i++) {
        bf_str_printf(out, "%s{\"nextId\":\"%s\"", i ? "," : "", entries[i].text);
        if (i) { /* the first is the default */
            bf_str_printf(out, ",\"when\":\"k%u == %u\"", b->number, i);
        }
        bf_str_putc(out, '}');
    }
    bf_str_puts(out, "]}");
    if (b->has_merge) {
        bf_str_printf(out, ",{\"id\":\"%s\",\"type\":\"exclusive\",\"link\":[\"%s\"]}",
                      meet.text, next.text);
    }
    return id;
}

static name_t emit_split(const gen_t *g, const block_t *b, name_t next, bf_str_t *out)
{
    static const char *const types[] = {"parallel", "inclusive"};
    name_t id = id_of(b, b->kind == AND ? 'p' : 'i');
    name_t join = id_of(b, 'j');
    name_t entries[MAX_CHILDREN];
    for (unsigned i = 0; i < b->child_count; i++) {
        entries[i] = emit(g, b->children[i], join, out);
    }
    bf_str_printf(out, ",{\"id\":\"%s\",\"type\":\"%s\",\"link\":[", id.text,
                  types[b->kind == OR]);
    for (unsigned i = 0; i < b->child_count; i++) {
        bf_str_printf(out, "%s{\"nextId\":\"%s\"", i ? "," : "", entries[i].text);
        if (b->kind == OR) {
            bf_str_printf(out, ",\"when\":\"k%u_%u\"", b->number, i);
        }
        bf_str_putc(out, '}');
    }
    bf_str_printf(out, "]},{\"id\":\"%s\",\"type\":\"%s\",\"link\":[\"%s\"]}", join.text,
                  types[(b->kind == OR) != b->other_join], next.text);
    return id;
}

static name_t emit_loop(const gen_t *g, const block_t *b, name_t next, bf_str_t *out)
{
    name_t head = id_of(b, 'l');
    name_t end = id_of(b, 'z');
    name_t body = emit(g, b->children[0], end, out);
    bf_str_printf(out,
                  ",{\"id\":\"%s\",\"type\":\"loop\",\"meta\":{\"$for\":\"v%u\","
                  "\"$in\":\"0...%u\"},\"link\":[\"%s\"]},"
                  "{\"id\":\"%s\",\"type\":\"loop\",\"link\":[\"%s\"]}",
                  head.text, b->number, b->choice, body.text, end.text, next.text);
    return head;
}

static name_t emit(const gen_t *g, const block_t *b, name_t next, bf_str_t *out)
{
    switch (b->kind) {
    case XOR:
        return emit_choice(g, b, next, out);
    case AND:
    case OR:
        return emit_split(g, b, next, out);
    case LOOP:
        return emit_loop(g, b, next, out);
    case SEQ:
        for (unsigned i = b->child_count; i; i--) {
            next = emit(g, b->children[i - 1], next, out);
        }
        return next;
    case AUTO:
    case HUMAN:
    case CALL:
        break;
    }
    return emit_leaf(g, b, next, out);
}

static void write_layout(gen_t *g, unsigned number)
{
    bf_str_t nodes;
    bf_str_t all;
    name_t end = {"e"};
    bf_str_init(&nodes, 0);
    bf_str_init(&all, 0);
    name_t first = emit(g, g->roots[number], end, &nodes);
    if (number) {
        bf_str_printf(&all, "{\"id\":\"sub%u\"", number);
    } else {
        bf_str_puts(&all, "{\"id\":\"g\"");
    }
    bf_str_printf(&all,
                  ",\"layout\":[{\"id\":\"s\",\"type\":\"start\",\"link\":[\"%s\"]}%s,"
                  "{\"id\":\"e\",\"type\":\"end\",\"link\":[]}]}",
                  first.text, bf_str_peek(&nodes));
    g->layouts[number] = bf_arena_strdup(&g->arena, bf_str_peek(&all));
    g->failed =
        g->failed || bf_str_failed(&nodes) || bf_str_failed(&all) || !g->layouts[number];
    bf_str_fini(&nodes);
    bf_str_fini(&all);
}

gen_t *gen_new(const gen_options_t *options)
{
    gen_t *g = calloc(1, sizeof(*g));
    if (!g) {
        return NULL;
    }
    bf_arena_init(&g->arena, 0);
    g->options = *options;
    g->nodes_left = options->size;
    g->state = options->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int i = 0; i < 8; i++) {
        (void)gen_random(&g->state);
    }
    g->graph_count = 1;
    g->roots[0] = grow(g, 0);
    for (unsigned i = 0; i < g->graph_count && !g->failed; i++) {
        write_layout(g, i);
    }
    if (g->failed) {
        gen_free(g);
        return NULL;
    }
    return g;
}

void gen_free(gen_t *gen)
{
    if (gen) {
        bf_arena_fini(&gen->arena);
        free(gen);
    }
}

const char *gen_layout(const gen_t *gen, unsigned number)
{
    return number < gen->graph_count ? gen->layouts[number] : NULL;
}

/* --- variables --- */

static bf_status_t set_vars_of(const gen_t *g, const block_t *b, bf_context_t *ctx)
{
    bf_err_t err = BF_ERR_INIT;
    char name[24];
    bf_status_t rc = BF_OK;
    if (b->kind == XOR) {
        bf_value_t value = bf_value_int((int64_t)b->choice);
        (void)snprintf(name, sizeof(name), "k%u", b->number);
        rc = bf_context_put_str(ctx, name, &value, &err);
    }
    for (unsigned i = 0; b->kind == OR && i < b->child_count && rc == BF_OK; i++) {
        bf_value_t value = bf_value_bool((b->choice >> i) & 1);
        (void)snprintf(name, sizeof(name), "k%u_%u", b->number, i);
        rc = bf_context_put_str(ctx, name, &value, &err);
    }
    for (unsigned i = 0; i < b->child_count && rc == BF_OK; i++) {
        rc = set_vars_of(g, b->children[i], ctx);
    }
    return rc;
}

bf_status_t gen_set_vars(const gen_t *gen, bf_context_t *ctx)
{
    bf_status_t rc = BF_OK;
    for (unsigned i = 0; i < gen->graph_count && rc == BF_OK; i++) {
        rc = set_vars_of(gen, gen->roots[i], ctx);
    }
    return rc;
}

/* --- what must happen --- */

typedef struct oracle {
    const gen_t *gen;
    bf_str_t *out;
    bool notes_only;
} oracle_t;

static void say(const oracle_t *o, const char *id, bool has_note)
{
    if (!o->notes_only || has_note) {
        bf_str_printf(o->out, "%s%s", o->out->len ? " " : "", id);
    }
}

static void expect(const oracle_t *o, const block_t *b);

static void expect_graph(const oracle_t *o, unsigned number)
{
    say(o, "s", false);
    expect(o, o->gen->roots[number]);
    say(o, "e", false);
}

static void expect_children(const oracle_t *o, const block_t *b, unsigned bits)
{
    for (unsigned i = 0; i < b->child_count; i++) {
        if ((bits >> i) & 1) {
            expect(o, b->children[i]);
        }
    }
}

static void expect(const oracle_t *o, const block_t *b)
{
    switch (b->kind) {
    case AUTO:
        say(o, id_of(b, 'a').text, b->has_note);
        return;
    case HUMAN:
        say(o, id_of(b, 'h').text, b->has_note);
        return;
    case CALL:
        say(o, id_of(b, 'c').text, false);
        expect_graph(o, b->graph);
        return;
    case SEQ:
        expect_children(o, b, ~0U);
        return;
    case XOR:
        say(o, id_of(b, 'x').text, false);
        expect(o, b->children[b->choice]);
        if (b->has_merge) {
            say(o, id_of(b, 'm').text, false);
        }
        return;
    case AND:
        say(o, id_of(b, 'p').text, false);
        expect_children(o, b, ~0U);
        say(o, id_of(b, 'j').text, false);
        return;
    case OR:
        say(o, id_of(b, 'i').text, false);
        expect_children(o, b, b->choice);
        say(o, id_of(b, 'j').text, false);
        return;
    case LOOP:
        say(o, id_of(b, 'l').text, false);
        for (unsigned i = 0; i < b->choice; i++) {
            expect(o, b->children[0]);
        }
        say(o, id_of(b, 'z').text, false);
        return;
    }
}

void gen_expect(const gen_t *gen, bf_str_t *ret)
{
    oracle_t o = {gen, ret, false};
    expect_graph(&o, 0);
}

void gen_expect_notes(const gen_t *gen, bf_str_t *ret)
{
    oracle_t o = {gen, ret, true};
    expect_graph(&o, 0);
}

/* --- wild graphs --- */

static const char *wild_type(const gen_wild_t *w, uint64_t *state, unsigned i)
{
    static const char *const types[] = {"activity",  "activity", "activity", "exclusive",
                                        "inclusive", "parallel", "loop",     "end"};
    if (w->is_calm && i + 1 < w->size && (one_in(state, 2) || i % 7 == 0)) {
        return types[0];
    }
    const char *type = types[below(state, i + 1 == w->size ? 8 : 7)];
    return w->is_calm && !strcmp(type, "loop") ? "exclusive" : type;
}

static void write_wild_links(const gen_wild_t *w, uint64_t *state, unsigned i,
                             const char *type, bf_str_t *out)
{
    bool is_choice = !strcmp(type, "exclusive");
    bool is_activity = !strcmp(type, "activity");
    unsigned links = w->is_calm && is_activity ? 1 : below(state, 4);
    links = i + 1 < w->size && !links ? 1 : links;
    bool has_default = false;
    for (unsigned k = 0; k < links && strcmp(type, "end") != 0; k++) {
        /* mostly forward */
        unsigned to = one_in(state, w->is_calm ? 10 : 4)
                          ? below(state, w->size)
                          : i + 1 + below(state, w->size - i > 1 ? 3 : 1);
        to = to < w->size ? to : w->size - 1;
        bool when = one_in(state, 3) || (is_choice && has_default);
        when = when && !(w->is_calm && is_activity);
        has_default = has_default || !when;
        bf_str_printf(out, "%s{\"nextId\":\"n%u\"", k ? "," : "", to);
        if (when) {
            bf_str_printf(out, ",\"when\":\"n %% %u == 0\"", 1 + below(state, 4));
        }
        bf_str_putc(out, '}');
    }
}

/* One of the graphs that may be called. */
static const char *pick_call(const gen_wild_t *w, uint64_t *state, char *room,
                             size_t size)
{
    unsigned count = 1;
    for (const char *p = w->calls; *p; p++) {
        count += *p == ' ';
    }
    const char *at = w->calls;
    for (unsigned pick = below(state, count); pick; pick--) {
        at = strchr(at, ' ') + 1;
    }
    (void)snprintf(room, size, "%.*s", (int)strcspn(at, " "), at);
    return room;
}

static void write_wild_node(const gen_wild_t *w, uint64_t *state, unsigned i,
                            bf_str_t *out)
{
    char called[32];
    const char *type = wild_type(w, state, i);
    bf_str_printf(out, ",{\"id\":\"n%u\",\"type\":\"%s\",\"link\":[", i, type);
    write_wild_links(w, state, i, type, out);
    if (w->calls && !strcmp(type, "activity") && one_in(state, 4)) {
        bf_str_printf(out, "],\"task\":\"#%s\"",
                      pick_call(w, state, called, sizeof(called)));
    } else if (w->with_jobs && !strcmp(type, "activity") && one_in(state, 5)) {
        bf_str_puts(out, "],\"task\":\"@kafka:jobs\"");
    } else {
        bf_str_puts(out, "],\"task\":\"n = n + 1\"");
    }
    if (!strcmp(type, "loop") && one_in(state, 2)) {
        bf_str_printf(out, ",\"meta\":{\"$for\":\"v\",\"$in\":\"0...%u\"}",
                      below(state, 3));
    } else if (w->with_tasks && one_in(state, 3) && strcmp(type, "end") != 0) {
        bf_str_printf(out, ",\"meta\":{\"actor\":\"r%u\"}", below(state, GEN_ROLES));
    }
    if (!w->is_calm && one_in(state, 12)) {
        bf_str_puts(out, ",\"when\":\"n % 3 > 0\"");
    }
    bf_str_putc(out, '}');
}

char *gen_wild(const gen_wild_t *w)
{
    uint64_t state = w->seed * UINT64_C(0x9E3779B97F4A7C15) + 7;
    bf_str_t out;
    bf_str_init(&out, 0);
    for (int i = 0; i < 8; i++) {
        (void)gen_random(&state);
    }
    bf_str_printf(&out,
                  "{\"id\":\"%s\",\"layout\":[{\"id\":\"s\",\"type\":\"start\","
                  "\"link\":[\"n0\"]}",
                  w->id);
    for (unsigned i = 0; i < w->size; i++) {
        write_wild_node(w, &state, i, &out);
    }
    bf_str_puts(&out, "]}");
    return bf_str_take(&out, NULL);
}
