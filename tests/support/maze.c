/*
 * maze.c - graphs of any nodes with any links
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/maze.h"

#include "bpmflow/str.h"
#include "tests/support/gen.h"

#define ROLES 3

typedef enum { ACTIVITY, EXCLUSIVE, INCLUSIVE, PARALLEL, LOOP, END } type_t;

static unsigned below(uint64_t *state, unsigned limit)
{
    return (unsigned)((gen_random(state) >> 33) % limit);
}

static type_t choose_type(const maze_t *m, uint64_t *state, bool is_last)
{
    static const type_t types[] = {ACTIVITY,  ACTIVITY, ACTIVITY, EXCLUSIVE,
                                   INCLUSIVE, PARALLEL, PARALLEL, LOOP};
    type_t type = is_last ? END : types[below(state, 8)];
    return type == LOOP && !m->with_loops ? INCLUSIVE : type;
}

static unsigned choose_target(const maze_t *m, uint64_t *state, unsigned from)
{
    unsigned to =
        below(state, m->back) ? from + 1 + below(state, 4) : below(state, m->size);
    return to < m->size ? to : m->size - 1;
}

static void write_links(const maze_t *m, uint64_t *state, unsigned i, type_t type,
                        bf_str_t *out)
{
    unsigned count = type == END ? 0 : 1 + below(state, type == ACTIVITY ? 2 : 3);
    bool has_default = false;
    for (unsigned k = 0; k < count; k++) {
        bool when = below(state, 3) == 0 || (type == EXCLUSIVE && has_default);
        has_default = has_default || !when;
        bf_str_printf(out, "%s{\"nextId\":\"n%u\"", k ? "," : "",
                      choose_target(m, state, i));
        if (when) {
            unsigned which = below(state, 3);
            bf_str_puts(out, ",\"when\":\"");
            bf_str_puts(out, which == 0 ? "n % " : which == 1 ? "k == " : "n > ");
            bf_str_printf(out, "%u%s\"", 1 + below(state, 3), which ? "" : " == 0");
        }
        bf_str_putc(out, '}');
    }
}

static void write_node(const maze_t *m, uint64_t *state, unsigned i, bf_str_t *out)
{
    static const char *const names[] = {"activity", "exclusive", "inclusive",
                                        "parallel", "loop",      "end"};
    type_t type = choose_type(m, state, i + 1 == m->size);
    bf_str_printf(out, ",{\"id\":\"n%u\",\"type\":\"%s\",\"link\":[", i, names[type]);
    write_links(m, state, i, type, out);
    bf_str_putc(out, ']');
    if (type == LOOP && below(state, 2)) {
        bf_str_printf(out, ",\"meta\":{\"$for\":\"v\",\"$in\":\"0...%u\"}",
                      below(state, 3));
    } else if (type == ACTIVITY && m->call && below(state, 6) == 0) {
        bf_str_printf(out, ",\"task\":\"#%s\"", m->call);
    } else if (type != END) {
        bf_str_puts(out, below(state, 3) ? ",\"task\":\"n = n + 1\"" : "");
        if (m->with_actors && below(state, 3) == 0) {
            bf_str_printf(out, ",\"meta\":{\"actor\":\"r%u\"}", below(state, ROLES));
        }
    }
    bf_str_putc(out, '}');
}

char *maze_layout(const maze_t *maze)
{
    uint64_t state = maze->seed * UINT64_C(0x9E3779B97F4A7C15) + 11;
    bf_str_t out;
    bf_str_init(&out, 0);
    for (int i = 0; i < 8; i++) {
        (void)gen_random(&state);
    }
    bf_str_printf(&out,
                  "{\"id\":\"%s\",\"layout\":[{\"id\":\"s\",\"type\":\"start\","
                  "\"link\":[\"n0\"]}",
                  maze->id);
    for (unsigned i = 0; i < maze->size; i++) {
        write_node(maze, &state, i, &out);
    }
    bf_str_puts(&out, "]}");
    return bf_str_take(&out, NULL);
}
