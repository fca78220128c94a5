/*
 * regex.c - patterns as sets of states (Thompson's construction)
 *
 * A pattern becomes a little program: match a character, split in two, jump.  Offsets are
 * relative, so a part can be moved or copied for a quantifier.  Matching keeps the set of
 * places where the program may stand; each place is in the set once, so one character
 * costs at most one look at each state.
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/regex.h"
#include "bpmflow/array.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  64
#define MAX_RANGES 256 /* in one class */
#define MAX_CHAR   0x10FFFFU

typedef enum {
    RE_CHAR,  /* value */
    RE_ANY,   /* any character but a line end */
    RE_CLASS, /* ranges[value] */
    RE_SPLIT, /* x and y */
    RE_JUMP,  /* x */
    RE_START,
    RE_END,
    RE_MATCH
} re_op_t;

typedef struct re_state {
    re_op_t op;
    uint32_t value;
    int32_t x; /* relative */
    int32_t y;
} re_state_t;

typedef struct re_range {
    uint32_t low;
    uint32_t high;
} re_range_t;

typedef struct re_class {
    bool negated;
    uint32_t count;
    const re_range_t *ranges;
} re_class_t;

struct bf_regex {
    const re_state_t *states;
    uint32_t count;
    const re_class_t *classes;
};

typedef struct re_parser {
    bf_arena_t *arena;
    const char *text;
    size_t len;
    size_t at;
    unsigned depth;
    bf_status_t rc;
    bf_err_t *err;
    re_state_t *states; /* room for BF_REGEX_MAX_STATES */
    uint32_t count;
    re_class_t *classes;
    uint32_t class_count;
    size_t class_room;
} re_parser_t;

static bool parse_choice(re_parser_t *p);

static bool fail(re_parser_t *p, const char *why)
{
    if (p->rc == BF_OK) {
        p->rc =
            bf_err_set(p->err, BF_E_PARSE, "pattern, character %zu: %s", p->at + 1, why);
    }
    return false;
}

static bool no_memory(re_parser_t *p)
{
    if (p->rc == BF_OK) {
        p->rc = bf_err_nomem(p->err, "pattern");
    }
    return false;
}

static int peek(const re_parser_t *p)
{
    return p->at < p->len ? (unsigned char)p->text[p->at] : -1;
}

/* The next character of UTF-8; moves on. Bytes that are no UTF-8 stand for themselves. */
static uint32_t decode(const char *text, size_t len, size_t *at)
{
    unsigned char c = (unsigned char)text[*at];
    uint32_t more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : c >= 0xC0 ? 1 : 0;
    uint32_t value = more == 3   ? c & 0x07U
                     : more == 2 ? c & 0x0FU
                     : more == 1 ? c & 0x1FU
                                 : c;
    (*at)++;
    while (more && *at < len && ((unsigned char)text[*at] & 0xC0) == 0x80) {
        value = value << 6 | ((unsigned char)text[*at] & 0x3FU);
        (*at)++;
        more--;
    }
    return value;
}

/* Room for states at a place; what stands there moves up. */
static bool insert(re_parser_t *p, uint32_t place, uint32_t count)
{
    if (count > BF_REGEX_MAX_STATES - p->count) {
        if (p->rc == BF_OK) {
            p->rc = bf_err_set(p->err, BF_E_LIMIT,
                               "the pattern needs more than %d states; make it simpler",
                               BF_REGEX_MAX_STATES);
        }
        return false;
    }
    memmove(p->states + place + count, p->states + place,
            (p->count - place) * sizeof(*p->states));
    p->count += count;
    return true;
}

static bool emit(re_parser_t *p, re_op_t op, uint32_t value, int32_t x, int32_t y)
{
    uint32_t place = p->count;
    if (!insert(p, place, 1)) {
        return false;
    }
    p->states[place] = (re_state_t){op, value, x, y};
    return true;
}

/* --- classes --- */

typedef struct ranges {
    re_range_t items[MAX_RANGES];
    uint32_t count;
} ranges_t;

static bool add_range(re_parser_t *p, ranges_t *set, uint32_t low, uint32_t high)
{
    if (low > high) {
        return fail(p, "the range is backwards");
    }
    if (set->count == MAX_RANGES) {
        return fail(p, "the class has too many ranges");
    }
    set->items[set->count++] = (re_range_t){low, high};
    return true;
}

/* d w s and their opposites; ranges in order, so that an opposite is what lies between.
 */
static const re_range_t digits[] = {{'0', '9'}};
static const re_range_t words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const re_range_t blanks[] = {{'\t', '\r'}, {' ', ' '}};

/* False when the letter is no class. */
static bool find_shorthand(int letter, const re_range_t **ret, uint32_t *ret_count)
{
    switch (letter | 0x20) {
    case 'd':
        *ret = digits;
        *ret_count = sizeof(digits) / sizeof(digits[0]);
        return true;
    case 'w':
        *ret = words;
        *ret_count = sizeof(words) / sizeof(words[0]);
        return true;
    case 's':
        *ret = blanks;
        *ret_count = sizeof(blanks) / sizeof(blanks[0]);
        return true;
    default:
        return false;
    }
}

static bool add_shorthand(re_parser_t *p, ranges_t *set, int letter)
{
    const re_range_t *ranges = NULL;
    uint32_t count = 0;
    (void)find_shorthand(letter, &ranges, &count);
    bool opposite = !(letter & 0x20);
    uint32_t from = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool ok = opposite ? add_range(p, set, from, ranges[i].low - 1)
                           : add_range(p, set, ranges[i].low, ranges[i].high);
        if (!ok) {
            return false;
        }
        from = ranges[i].high + 1;
    }
    return opposite ? add_range(p, set, from, MAX_CHAR) : true;
}

static bool emit_class(re_parser_t *p, const ranges_t *set, bool negated)
{
    if (p->class_count == p->class_room) {
        re_class_t *grown = bf_array_grow(p->classes, &p->class_room, sizeof(*grown), 4);
        if (!grown) {
            return no_memory(p);
        }
        p->classes = grown;
    }
    re_range_t *ranges = bf_arena_calloc(p->arena, set->count + 1U, sizeof(*ranges));
    if (!ranges) {
        return no_memory(p);
    }
    memcpy(ranges, set->items, set->count * sizeof(*ranges));
    p->classes[p->class_count] = (re_class_t){negated, set->count, ranges};
    return emit(p, RE_CLASS, p->class_count++, 0, 0);
}

/* The character that an escape of one letter means; the letter is taken. */
static bool escaped_character(re_parser_t *p, uint32_t *ret)
{
    if (p->at == p->len) {
        return fail(p, "nothing after \\");
    }
    uint32_t c = decode(p->text, p->len, &p->at);
    switch (c) {
    case 't':
        *ret = '\t';
        return true;
    case 'n':
        *ret = '\n';
        return true;
    case 'r':
        *ret = '\r';
        return true;
    case 'f':
        *ret = '\f';
        return true;
    default:
        break;
    }
    bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
        return fail(p, "this escape is not supported; expected \\d \\w \\s, their "
                       "capitals, \\t \\n \\r \\f or \\ before a sign");
    }
    *ret = c;
    return true;
}

/* One end of a range in a class. */
static bool class_character(re_parser_t *p, uint32_t *ret)
{
    if (p->at == p->len) {
        return fail(p, "a class without ]");
    }
    if (peek(p) == '\\') {
        p->at++;
        return escaped_character(p, ret);
    }
    *ret = decode(p->text, p->len, &p->at);
    return true;
}

static bool class_item(re_parser_t *p, ranges_t *set)
{
    const re_range_t *unused;
    uint32_t count;
    if (peek(p) == '\\' && p->at + 1 < p->len &&
        find_shorthand((unsigned char)p->text[p->at + 1], &unused, &count)) {
        p->at += 2;
        return add_shorthand(p, set, (unsigned char)p->text[p->at - 1]);
    }
    uint32_t low;
    if (!class_character(p, &low)) {
        return false;
    }
    uint32_t high = low;
    if (peek(p) == '-' && p->at + 1 < p->len && p->text[p->at + 1] != ']') {
        p->at++;
        if (!class_character(p, &high)) {
            return false;
        }
    }
    return add_range(p, set, low, high);
}

/* After '['. */
static bool parse_class(re_parser_t *p)
{
    ranges_t set;
    set.count = 0;
    bool negated = peek(p) == '^';
    if (negated) {
        p->at++;
    }
    bool first = true;
    while (first || peek(p) != ']') {
        if (p->at == p->len) {
            return fail(p, "a class without ]");
        }
        if (!class_item(p, &set)) {
            return false;
        }
        first = false;
    }
    p->at++;
    return emit_class(p, &set, negated);
}

/* --- atoms and quantifiers --- */

static bool parse_escape(re_parser_t *p)
{
    const re_range_t *unused;
    uint32_t count;
    if (p->at < p->len && find_shorthand(peek(p), &unused, &count)) {
        ranges_t set;
        set.count = 0;
        int letter = peek(p);
        p->at++;
        return add_shorthand(p, &set, letter) && emit_class(p, &set, false);
    }
    uint32_t c;
    return escaped_character(p, &c) && emit(p, RE_CHAR, c, 0, 0);
}

/* After '('. */
static bool parse_group(re_parser_t *p)
{
    if (peek(p) == '?') {
        if (p->at + 1 >= p->len || p->text[p->at + 1] != ':') {
            return fail(p, "only (...) and (?:...) are supported");
        }
        p->at += 2;
    }
    if (++p->depth > MAX_DEPTH) {
        return fail(p, "groups are nested too deep");
    }
    if (!parse_choice(p)) {
        return false;
    }
    p->depth--;
    if (peek(p) != ')') {
        return fail(p, "a group without )");
    }
    p->at++;
    return true;
}

static bool parse_atom(re_parser_t *p)
{
    int c = peek(p);
    if (c == '*' || c == '+' || c == '?' || c == '{') {
        return fail(p, "nothing to repeat");
    }
    if (c != '(' && c != '[' && c != '.' && c != '^' && c != '$' && c != '\\') {
        uint32_t value = decode(p->text, p->len, &p->at);
        return emit(p, RE_CHAR, value, 0, 0);
    }
    p->at++;
    switch (c) {
    case '(':
        return parse_group(p);
    case '[':
        return parse_class(p);
    case '.':
        return emit(p, RE_ANY, 0, 0, 0);
    case '^':
        return emit(p, RE_START, 0, 0, 0);
    case '$':
        return emit(p, RE_END, 0, 0, 0);
    default:
        return parse_escape(p);
    }
}

static bool parse_count(re_parser_t *p, uint32_t *ret)
{
    uint32_t value = 0;
    bool any = false;
    while (peek(p) >= '0' && peek(p) <= '9') {
        value = value * 10 + (uint32_t)(peek(p) - '0');
        if (value > BF_REGEX_MAX_STATES) {
            return fail(p, "this count is too large");
        }
        p->at++;
        any = true;
    }
    *ret = value;
    return any;
}

/* After '{'. max = UINT32_MAX: no upper end. */
static bool parse_counts(re_parser_t *p, uint32_t *ret_min, uint32_t *ret_max)
{
    if (!parse_count(p, ret_min)) {
        return fail(p, "expected {m}, {m,} or {m,n}");
    }
    *ret_max = *ret_min;
    if (peek(p) == ',') {
        p->at++;
        *ret_max = UINT32_MAX;
        if (peek(p) != '}' && !parse_count(p, ret_max)) {
            return fail(p, "expected {m}, {m,} or {m,n}");
        }
    }
    if (peek(p) != '}') {
        return fail(p, "expected } after the count");
    }
    p->at++;
    return *ret_min <= *ret_max ? true : fail(p, "the counts are backwards");
}

/* The states from `start` to the end are the atom; repeat them min to max times. */
static bool repeat(re_parser_t *p, uint32_t start, uint32_t min, uint32_t max)
{
    uint32_t len = p->count - start;
    int32_t step = (int32_t)len;
    if (max == UINT32_MAX && min == 0) {
        if (!insert(p, start, 1)) {
            return false;
        }
        p->states[start] = (re_state_t){RE_SPLIT, 0, 1, step + 2};
        return emit(p, RE_JUMP, 0, -(step + 1), 0);
    }
    uint32_t copies = max == UINT32_MAX ? min : max;
    if (copies == 0) {
        p->count = start;
        return true;
    }
    for (uint32_t i = 1; i < min; i++) {
        uint32_t to = p->count;
        if (!insert(p, to, len)) {
            return false;
        }
        memcpy(p->states + to, p->states + start, len * sizeof(*p->states));
    }
    if (max == UINT32_MAX) {
        return emit(p, RE_SPLIT, 0, -step, 1);
    }
    /* Each further one may be left out with all that follow. */
    uint32_t optional = max - min;
    uint32_t from = start;
    if (min == 0) {
        if (!insert(p, start, 1)) {
            return false;
        }
        p->states[start] = (re_state_t){RE_SPLIT, 0, 1, (int32_t)(optional * (len + 1))};
        optional--;
        from = start + 1;
    }
    for (; optional; optional--) {
        uint32_t to = p->count + 1;
        if (!emit(p, RE_SPLIT, 0, 1, (int32_t)(optional * (len + 1))) ||
            !insert(p, to, len)) {
            return false;
        }
        memcpy(p->states + to, p->states + from, len * sizeof(*p->states));
    }
    return true;
}

static bool parse_quantified(re_parser_t *p)
{
    uint32_t start = p->count;
    if (!parse_atom(p)) {
        return false;
    }
    int c = peek(p);
    uint32_t min = c == '+' ? 1 : 0;
    uint32_t max = c == '?' ? 1 : UINT32_MAX;
    if (c != '*' && c != '+' && c != '?' && c != '{') {
        return true;
    }
    p->at++;
    if (c == '{' && !parse_counts(p, &min, &max)) {
        return false;
    }
    if (!repeat(p, start, min, max)) {
        return false;
    }
    /* Greedy or not makes no difference to a match of the whole text. */
    if (peek(p) == '?') {
        p->at++;
    }
    return true;
}

static bool parse_sequence(re_parser_t *p)
{
    while (p->at < p->len && peek(p) != '|' && peek(p) != ')') {
        if (!parse_quantified(p)) {
            return false;
        }
    }
    return true;
}

static bool parse_choice(re_parser_t *p)
{
    uint32_t last_jump = UINT32_MAX; /* a chain through .value */
    for (;;) {
        uint32_t start = p->count;
        if (!parse_sequence(p)) {
            return false;
        }
        if (peek(p) != '|') {
            break;
        }
        p->at++;
        int32_t len = (int32_t)(p->count - start);
        if (!insert(p, start, 1) || !emit(p, RE_JUMP, last_jump, 0, 0)) {
            return false;
        }
        p->states[start] = (re_state_t){RE_SPLIT, 0, 1, len + 2};
        last_jump = p->count - 1;
    }
    while (last_jump != UINT32_MAX) {
        re_state_t *jump = &p->states[last_jump];
        uint32_t previous = jump->value;
        jump->x = (int32_t)(p->count - last_jump);
        last_jump = previous;
    }
    return true;
}

static bf_status_t finish(re_parser_t *p, const bf_regex_t **ret)
{
    bf_regex_t *regex = bf_arena_calloc(p->arena, 1, sizeof(*regex));
    re_state_t *states = bf_arena_calloc(p->arena, p->count, sizeof(*states));
    re_class_t *classes = bf_arena_calloc(p->arena, p->class_count, sizeof(*classes));
    if (!regex || !states || !classes) {
        return bf_err_nomem(p->err, "pattern");
    }
    memcpy(states, p->states, p->count * sizeof(*states));
    if (p->class_count) {
        memcpy(classes, p->classes, p->class_count * sizeof(*classes));
    }
    *regex = (bf_regex_t){states, p->count, classes};
    *ret = regex;
    return BF_OK;
}

bf_status_t bf_regex_parse(bf_arena_t *arena, const char *pattern, size_t len,
                           const bf_regex_t **ret, bf_err_t *err)
{
    re_parser_t p = {.arena = arena, .text = pattern, .len = len, .err = err};
    p.states = malloc(BF_REGEX_MAX_STATES * sizeof(*p.states));
    if (!p.states) {
        return bf_err_nomem(err, "pattern");
    }
    if (parse_choice(&p) && p.at < p.len) {
        (void)fail(&p, ") without (");
    }
    if (p.rc == BF_OK && emit(&p, RE_MATCH, 0, 0, 0)) {
        p.rc = finish(&p, ret);
    }
    free(p.states);
    free(p.classes);
    return p.rc;
}

uint32_t bf_regex_states(const bf_regex_t *regex)
{
    return regex->count;
}

/* --- matching --- */

typedef struct set {
    uint32_t *items;
    uint32_t count;
} set_t;

typedef struct matcher {
    const bf_regex_t *regex;
    uint32_t *seen; /* number of the last step in which a state was added, + 1 */
    uint32_t *todo; /* a stack */
    uint32_t step;
    bool at_start;
    bool at_end;
} matcher_t;

/* Adds a state and all that can be reached from it without a character. */
static void add_state(matcher_t *m, set_t *set, uint32_t first)
{
    uint32_t waiting = 0;
    m->todo[waiting++] = first;
    while (waiting) {
        uint32_t at = m->todo[--waiting];
        if (m->seen[at] == m->step) {
            continue;
        }
        m->seen[at] = m->step;
        const re_state_t *s = &m->regex->states[at];
        switch (s->op) {
        case RE_SPLIT:
            m->todo[waiting++] = (uint32_t)((int32_t)at + s->y);
            m->todo[waiting++] = (uint32_t)((int32_t)at + s->x);
            break;
        case RE_JUMP:
            m->todo[waiting++] = (uint32_t)((int32_t)at + s->x);
            break;
        case RE_START:
        case RE_END:
            if (s->op == RE_START ? m->at_start : m->at_end) {
                m->todo[waiting++] = at + 1;
            }
            break;
        case RE_CHAR:
        case RE_ANY:
        case RE_CLASS:
        case RE_MATCH:
            set->items[set->count++] = at;
            break;
        }
    }
}

static bool in_class(const re_class_t *class, uint32_t c)
{
    for (uint32_t i = 0; i < class->count; i++) {
        if (c >= class->ranges[i].low && c <= class->ranges[i].high) {
            return !class->negated;
        }
    }
    return class->negated;
}

static bool accepts(const bf_regex_t *regex, const re_state_t *s, uint32_t c)
{
    switch ((int)s->op) {
    case RE_CHAR:
        return s->value == c;
    case RE_ANY:
        return c != '\n';
    case RE_CLASS:
        return in_class(&regex->classes[s->value], c);
    default:
        return false;
    }
}

bf_status_t bf_regex_match(const bf_regex_t *regex, const char *text, size_t len,
                           bf_arena_t *scratch, bool *ret)
{
    bf_arena_mark_t mark = bf_arena_mark(scratch);
    size_t n = regex->count;
    /* A state is taken from the stack once per step and puts at most two there. */
    uint32_t *memory = bf_arena_calloc(scratch, 5 * n + 2, sizeof(*memory));
    if (!memory) {
        return BF_E_NOMEM;
    }
    set_t now = {memory, 0};
    set_t next = {memory + n, 0};
    matcher_t m = {.regex = regex, .seen = memory + 2 * n, .todo = memory + 3 * n};
    m.step = 1;
    m.at_start = true;
    m.at_end = len == 0;
    add_state(&m, &now, 0);
    size_t at = 0;
    while (at < len && now.count) {
        uint32_t c = decode(text, len, &at);
        m.step++;
        m.at_start = false;
        m.at_end = at == len;
        next.count = 0;
        for (uint32_t i = 0; i < now.count; i++) {
            if (accepts(regex, &regex->states[now.items[i]], c)) {
                add_state(&m, &next, now.items[i] + 1);
            }
        }
        set_t swap = now;
        now = next;
        next = swap;
    }
    bool matched = false;
    for (uint32_t i = 0; at == len && i < now.count; i++) {
        matched = matched || regex->states[now.items[i]].op == RE_MATCH;
    }
    bf_arena_reset(scratch, mark);
    *ret = matched;
    return BF_OK;
}
