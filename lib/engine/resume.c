/*
 * resume.c - what is left of a walk, as a value in the trace, and back
 *
 *     {"frames": [F0, F1, ...]}         F0 = the root graph
 *     F  {"todo": [P, ...],             the next one first
 *         "joins": ["j", ...],          arrived at, waiting
 *         "next": 2, "items": [...] | "range": "1...4", "end": "le"}    of a loop
 *     P  {"at": "n"}                    run the node
 *        {"to": "n"}                    enter it over a link
 *        {"after": "n", "to": ["a"], "when": true}   follow these links (if true)
 *        {"call": "n", "frame": 3}      run the node; the graph it calls goes on in F3
 *        {"loop": "n", "frame": 3}      the pass of the loop goes on in F3
 *
 * The list of frames is flat, so that its depth does not grow with the nesting of calls.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "walk_int.h"

/* --- writing --- */

/* A frame to be written: of the walk, or of the walk before that was not come to. */
typedef struct source {
    const bf_frame_t *live;
    const bf_value_t *old;
} source_t;

typedef struct writer {
    bf_exchanger_t *ex;
    bf_arena_t *arena; /* of what is written */
    source_t *frames;
    uint32_t used;
    uint32_t room;
    bool failed;
} writer_t;

static void *allocate(writer_t *w, size_t count, size_t size)
{
    void *p = bf_arena_calloc(w->arena, count, size);
    w->failed = w->failed || !p;
    return p;
}

static uint32_t add_frame(writer_t *w, source_t source)
{
    if (w->used == w->room) {
        uint32_t room = w->room ? w->room * 2 : 8;
        source_t *frames = bf_arena_alloc(&w->ex->arena, room * sizeof(*frames));
        if (!frames) {
            w->failed = true;
            return 0;
        }
        if (w->used) {
            memcpy(frames, w->frames, w->used * sizeof(*frames));
        }
        w->frames = frames;
        w->room = room;
    }
    w->frames[w->used] = source;
    return w->used++;
}

static bf_value_t text(writer_t *w, const char *string)
{
    size_t len = strlen(string);
    char *copy = bf_arena_strndup(w->arena, string, len);
    w->failed = w->failed || !copy;
    return copy ? bf_value_string(copy, len) : bf_value_null();
}

static void put(bf_value_t *map, const char *name, bf_value_t value)
{
    /* Arrays of maps are ours and have room. */
    bf_member_t *members = (bf_member_t *)(uintptr_t)map->as.members;
    members[map->len++] = (bf_member_t){name, (uint32_t)strlen(name), value};
}

static bf_value_t new_map(writer_t *w, uint32_t room)
{
    bf_member_t *members = allocate(w, room, sizeof(*members));
    return (bf_value_t){.type = BF_VALUE_MAP, .as.members = members};
}

static bf_value_t links_left(writer_t *w, const bf_entry_t *entry)
{
    const bf_node_t *node = entry->node;
    bf_value_t *items = allocate(w, node->link_count, sizeof(*items));
    bf_value_t list = {.type = BF_VALUE_LIST, .as.items = items};
    for (uint32_t i = entry->next; i < node->link_count && !w->failed; i++) {
        if ((entry->kind == BF_ENTRY_MASK && !((entry->as.mask >> i) & 1)) ||
            (entry->kind == BF_ENTRY_CHOSEN && !entry->as.chosen[i])) {
            continue;
        }
        items[list.len++] = text(w, node->links[i]->to->id);
    }
    return list;
}

static bf_value_t write_inner(writer_t *w, const char *name, const bf_node_t *node,
                              source_t inner)
{
    bf_value_t map = new_map(w, 2);
    uint32_t number = add_frame(w, inner);
    if (!w->failed) {
        put(&map, name, text(w, node->id));
        put(&map, "frame", bf_value_int(number));
    }
    return map;
}

static bf_value_t write_entry(writer_t *w, const bf_entry_t *entry)
{
    source_t inner = {NULL, NULL};
    const char *name = "to";
    switch (entry->kind) {
    case BF_ENTRY_CALL:
        inner.live = entry->as.inner;
        return write_inner(w, "call", entry->node, inner);
    case BF_ENTRY_LOOP:
        inner.live = entry->as.inner;
        return write_inner(w, "loop", entry->node, inner);
    case BF_ENTRY_AT:
        if (entry->as.saved) {
            inner.old = entry->as.saved;
            return write_inner(w, "call", entry->node, inner);
        }
        name = "at";
        break;
    case BF_ENTRY_TASK:
    case BF_ENTRY_TO:
        break;
    case BF_ENTRY_TRUE:
    case BF_ENTRY_ALL:
    case BF_ENTRY_MASK:
    case BF_ENTRY_CHOSEN:
        name = "after";
        break;
    }
    bf_value_t map = new_map(w, 3);
    bf_value_t id = text(w, entry->node->id);
    bf_value_t left =
        name[0] == 'a' && name[1] == 'f' ? links_left(w, entry) : bf_value_null();
    if (w->failed) {
        return map;
    }
    put(&map, name, id);
    if (left.type == BF_VALUE_LIST) {
        put(&map, "to", left);
    }
    if (entry->kind == BF_ENTRY_TRUE) {
        put(&map, "when", bf_value_bool(true));
    }
    return map;
}

static bf_value_t write_todo(writer_t *w, const bf_frame_t *frame)
{
    uint32_t count = 0;
    for (const bf_pending_t *p = frame->pending; p; p = p->next) {
        count++;
    }
    for (uint32_t i = 0; i < w->ex->height; i++) {
        count += w->ex->stack[i].frame == frame;
    }
    bf_value_t *items = allocate(w, count, sizeof(*items));
    bf_value_t list = {.type = BF_VALUE_LIST, .as.items = items};
    for (const bf_pending_t *p = frame->pending; p && !w->failed; p = p->next) {
        bf_entry_t entry = {.node = p->node, .kind = p->kind};
        if (p->kind == BF_ENTRY_CALL || p->kind == BF_ENTRY_LOOP) {
            entry.as.inner = p->inner;
        } else {
            entry.as.saved = p->saved;
        }
        items[list.len++] = write_entry(w, &entry);
    }
    for (uint32_t i = w->ex->height; i && !w->failed; i--) {
        if (w->ex->stack[i - 1].frame == frame) {
            items[list.len++] = write_entry(w, &w->ex->stack[i - 1]);
        }
    }
    return list;
}

static bf_value_t write_joins(writer_t *w, const bf_frame_t *frame)
{
    uint32_t count = 0;
    for (const bf_waiting_t *j = frame->joins; j; j = j->next) {
        count++;
    }
    bf_value_t *items = allocate(w, count, sizeof(*items));
    bf_value_t list = {.type = BF_VALUE_LIST, .as.items = items};
    for (const bf_waiting_t *j = frame->joins; j && !w->failed; j = j->next) {
        items[list.len++] = text(w, j->node->id);
    }
    return list;
}

static void write_loop(writer_t *w, const bf_frame_t *frame, bf_value_t *map)
{
    const bf_loop_t *loop = &frame->loop;
    put(map, "next", bf_value_int((int64_t)loop->next));
    if (loop->items) {
        bf_value_t copy = bf_value_null();
        w->failed = w->failed || bf_value_copy(w->arena, loop->items, &copy) != BF_OK;
        put(map, "items", copy);
    } else {
        char *range =
            bf_arena_printf(w->arena, "%lld:%lld:%lld", (long long)loop->range.start,
                            (long long)loop->range.end, (long long)loop->range.step);
        w->failed = w->failed || !range;
        put(map, "range", range ? bf_value_cstr(range) : bf_value_null());
    }
    if (loop->end) {
        put(map, "end", text(w, loop->end->id));
    }
}

static bf_value_t write_frame(writer_t *w, const bf_frame_t *frame)
{
    bf_value_t map = new_map(w, 5);
    bf_value_t todo = write_todo(w, frame);
    bf_value_t joins = write_joins(w, frame);
    if (w->failed) {
        return map;
    }
    put(&map, "todo", todo);
    if (joins.len) {
        put(&map, "joins", joins);
    }
    if (frame->is_loop) {
        write_loop(w, frame, &map);
    }
    return map;
}

/* A frame that this walk has not come to: as it was, with frames numbered anew. */
static bf_value_t write_old(writer_t *w, const bf_value_t *old)
{
    bf_value_t map = bf_value_null();
    w->failed = w->failed || bf_value_copy(w->arena, old, &map) != BF_OK;
    const bf_value_t *todo = bf_value_get_str(&map, "todo");
    for (uint32_t i = 0; !w->failed && todo && i < todo->len; i++) {
        const bf_value_t *item = &todo->as.items[i];
        bf_value_t *number = (bf_value_t *)(uintptr_t)bf_value_get_str(item, "frame");
        if (number && number->type == BF_VALUE_INT && number->as.integer > 0 &&
            number->as.integer < w->ex->saved_frames->len) {
            source_t inner = {NULL, &w->ex->saved_frames->as.items[number->as.integer]};
            *number = bf_value_int(add_frame(w, inner));
        }
    }
    return map;
}

bf_status_t bf_resume_save(bf_exchanger_t *ex, bf_err_t *err)
{
    bf_saved_t *saved = bf_saved_new(ex->graph->id);
    if (!saved) {
        return bf_err_nomem(err, "pending positions");
    }
    writer_t w = {.ex = ex, .arena = &saved->arena};
    (void)add_frame(&w, (source_t){&ex->root, NULL});
    bf_arena_t values; /* grows while we write; moved into one list at the end */
    bf_arena_init(&values, 0);
    bf_value_t *frames = NULL;
    uint32_t room = 0;
    for (uint32_t i = 0; i < w.used && !w.failed; i++) {
        if (i == room) {
            uint32_t more = room ? room * 2 : 8;
            bf_value_t *grown = bf_arena_calloc(&values, more, sizeof(*grown));
            if (!grown) {
                w.failed = true;
                break;
            }
            if (room) {
                memcpy(grown, frames, room * sizeof(*frames));
            }
            frames = grown;
            room = more;
        }
        source_t source = w.frames[i];
        frames[i] =
            source.live ? write_frame(&w, source.live) : write_old(&w, source.old);
    }
    bf_value_t *list = w.failed ? NULL : allocate(&w, w.used, sizeof(*list));
    bf_value_t scope = new_map(&w, 1);
    if (!w.failed) {
        memcpy(list, frames, w.used * sizeof(*list));
        put(&scope, "frames",
            (bf_value_t){.type = BF_VALUE_LIST, .len = w.used, .as.items = list});
        saved->scope = scope;
        bf_trace_put_saved(&ex->ctx->trace, saved);
        saved = NULL;
    }
    bf_arena_fini(&values);
    bf_saved_free(saved); /* NULL: moved into the trace */
    return w.failed ? bf_err_nomem(err, "pending positions") : BF_OK;
}

/* --- reading --- */

static bf_status_t bad(const bf_frame_t *frame, const char *what, bf_err_t *err)
{
    return bf_err_set(err, BF_E_INVALID,
                      "pending positions of graph %s: %s; clear the trace to start anew",
                      frame->usage->graph->id, what);
}

static bf_status_t find_node(const bf_frame_t *frame, const char *id,
                             const bf_node_t **ret, bf_err_t *err)
{
    *ret = id ? bf_graph_node(frame->usage->graph, id) : NULL;
    if (!*ret) {
        return bf_err_set(err, BF_E_NOT_FOUND, "%s: Node not found, id: %s",
                          frame->usage->graph->id, id ? id : "(none)");
    }
    return BF_OK;
}

static const bf_value_t *frame_value(const bf_exchanger_t *ex, const bf_value_t *item)
{
    const bf_value_t *number = bf_value_get_str(item, "frame");
    const bf_value_t *frames = ex->saved_frames;
    if (!frames || !number || number->type != BF_VALUE_INT || number->as.integer <= 0 ||
        number->as.integer >= frames->len) {
        return NULL;
    }
    return &frames->as.items[number->as.integer];
}

/* The links that are left. */
static bf_status_t read_after(bf_exchanger_t *ex, bf_frame_t *frame,
                              const bf_value_t *item, bf_err_t *err)
{
    const bf_node_t *node;
    bf_status_t rc = find_node(frame, bf_value_get_cstr(item, "after"), &node, err);
    const bf_value_t *to = bf_value_get_str(item, "to");
    if (rc != BF_OK) {
        return rc;
    }
    if (!to || to->type != BF_VALUE_LIST || to->len > node->link_count) {
        return bad(frame, "links of a node have changed", err);
    }
    bool *chosen = bf_arena_calloc(&ex->arena, node->link_count + 1, sizeof(*chosen));
    if (!chosen) {
        return bf_err_nomem(err, "pending positions");
    }
    bool when = bf_value_get_str(item, "when");
    uint32_t at = when ? node->link_count - to->len : 0;
    bf_entry_t entry = {.node = node,
                        .frame = frame,
                        .kind = when ? BF_ENTRY_TRUE : BF_ENTRY_CHOSEN,
                        .source = BF_LOG_NONE,
                        .next = at};
    for (uint32_t i = 0; i < to->len; i++) {
        const bf_value_t *id = &to->as.items[i];
        if (id->type != BF_VALUE_STRING) {
            return bad(frame, "a link is no text", err);
        }
        while (at < node->link_count && strcmp(node->links[at]->to->id, id->as.string)) {
            at++;
        }
        if (at == node->link_count) {
            return bad(frame, "links of a node have changed", err);
        }
        chosen[at++] = true;
    }
    if (!when) {
        entry.as.chosen = chosen;
    }
    return bf_walk_push(ex, &entry, err);
}

static bf_status_t read_source(bf_exchanger_t *ex, bf_frame_t *outer,
                               const bf_value_t *saved, bf_loop_t *loop, bf_err_t *err)
{
    const bf_value_t *items = bf_value_get_str(saved, "items");
    const bf_value_t *next = bf_value_get_str(saved, "next");
    const char *range = bf_value_get_cstr(saved, "range");
    const char *end = bf_value_get_cstr(saved, "end");
    bf_status_t rc = end ? find_node(outer, end, &loop->end, err) : BF_OK;
    if (rc != BF_OK) {
        return rc;
    }
    if (items && items->type == BF_VALUE_LIST) {
        bf_value_t *copy = bf_arena_alloc(&ex->arena, sizeof(*copy));
        if (!copy) {
            return bf_err_nomem(err, "pending positions");
        }
        *copy = *items; /* lives as long as the saved one, which outlives the walk */
        loop->items = copy;
        loop->count = items->len;
    } else if (range) {
        rc = bf_range_parse(range, strlen(range), &loop->range, err);
        loop->count = rc == BF_OK ? bf_range_count(&loop->range) : 0;
    } else {
        return bad(outer, "a loop has no items", err);
    }
    if (!next || next->type != BF_VALUE_INT || next->as.integer < 0) {
        return bad(outer, "a loop has no place", err);
    }
    loop->next = (uint64_t)next->as.integer;
    return rc;
}

static bf_status_t read_frame(bf_exchanger_t *ex, bf_frame_t *frame,
                              const bf_value_t *saved, bf_err_t *err);

/* The recursion is bounded by the depth of loops. */
static bf_status_t read_loop(bf_exchanger_t *ex, bf_frame_t *frame,
                             const bf_value_t *item, bf_err_t *err)
{
    const bf_node_t *head;
    bf_status_t rc = find_node(frame, bf_value_get_cstr(item, "loop"), &head, err);
    const bf_value_t *saved = frame_value(ex, item);
    uint32_t depth = 0;
    for (const bf_frame_t *f = frame; f->is_loop; f = f->outer) {
        depth++;
    }
    if (rc != BF_OK) {
        return rc;
    }
    if (!bf_node_is_loop_head(head) || !saved || depth >= BF_MAX_LOOP_DEPTH) {
        return bad(frame, "a loop is not one", err);
    }
    ex->frame = frame;
    bf_frame_t *inner = bf_walk_open_frame(ex, head);
    if (!inner) {
        return bf_err_nomem(err, "loop");
    }
    inner->is_loop = true;
    rc = read_source(ex, frame, saved, &inner->loop, err);
    bf_entry_t entry = {.node = head,
                        .frame = frame,
                        .kind = BF_ENTRY_LOOP,
                        .source = BF_LOG_NONE,
                        .as.inner = inner};
    inner->loop.source = BF_LOG_NONE;
    if (rc == BF_OK) {
        rc = bf_walk_push(ex, &entry, err);
    }
    if (rc != BF_OK) {
        bf_walk_close_frame(ex, inner);
        return rc;
    }
    inner->base = ex->height;
    return read_frame(ex, inner, saved, err);
}

static bf_status_t read_item(bf_exchanger_t *ex, bf_frame_t *frame,
                             const bf_value_t *item, bf_err_t *err)
{
    if (bf_value_get_str(item, "after")) {
        return read_after(ex, frame, item, err);
    }
    if (bf_value_get_str(item, "loop")) {
        return read_loop(ex, frame, item, err);
    }
    bf_entry_t entry = {.frame = frame, .kind = BF_ENTRY_AT, .source = BF_LOG_NONE};
    const char *id = bf_value_get_cstr(item, "at");
    if (!id) {
        id = bf_value_get_cstr(item, "call");
        entry.as.saved = id ? frame_value(ex, item) : NULL;
    }
    if (!id) {
        id = bf_value_get_cstr(item, "to");
        entry.kind = BF_ENTRY_TO;
    }
    bf_status_t rc = find_node(frame, id, &entry.node, err);
    return rc == BF_OK ? bf_walk_push(ex, &entry, err) : rc;
}

static bf_status_t read_frame(bf_exchanger_t *ex, bf_frame_t *frame,
                              const bf_value_t *saved, bf_err_t *err)
{
    const bf_value_t *todo = bf_value_get_str(saved, "todo");
    const bf_value_t *joins = bf_value_get_str(saved, "joins");
    if (!todo || todo->type != BF_VALUE_LIST || (joins && joins->type != BF_VALUE_LIST)) {
        return bad(frame, "not a list", err);
    }
    for (uint32_t i = todo->len; i; i--) {
        bf_status_t rc = read_item(ex, frame, &todo->as.items[i - 1], err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    ex->source = BF_LOG_NONE;
    for (uint32_t i = 0; joins && i < joins->len; i++) {
        const bf_value_t *id = &joins->as.items[i];
        const bf_node_t *join;
        bf_status_t rc = find_node(
            frame, id->type == BF_VALUE_STRING ? id->as.string : NULL, &join, err);
        if (rc == BF_OK) {
            rc = bf_join_wait(ex, frame, join, err);
        }
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

bf_status_t bf_resume_frame(bf_exchanger_t *ex, bf_frame_t *frame,
                            const bf_value_t *saved, bf_err_t *err)
{
    if (saved) {
        bf_status_t rc = read_frame(ex, frame, saved, err);
        ex->frame = frame;
        return rc;
    }
    bf_graph_t *graph = frame->usage->graph;
    bf_entry_t entry = {
        .node = graph->start, .frame = frame, .kind = BF_ENTRY_AT, .source = BF_LOG_NONE};
    bf_trace_t *trace = &ex->ctx->trace;
    if (trace->has_goes_on && ex->resumes) {
        bf_trace_entry_t *last = bf_trace_find(trace, graph->id);
        if (last && last->goes_on) {
            bf_status_t rc =
                find_node(frame, bf_trace_entry_node(last), &entry.node, err);
            if (rc != BF_OK) {
                return rc;
            }
            last->goes_on = false;
        }
    }
    return bf_walk_push(ex, &entry, err);
}
