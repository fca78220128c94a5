/*
 * load.c - from text, a file or a value to a graph
 *
 * The text becomes a tree (doc_int.h), the tree becomes nodes, the nodes get links, the
 * whole is checked.  Mistakes are collected, not stopped at: one run shows them all.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpmflow/assert.h"
#include "bpmflow/id.h"
#include "bpmflow/map.h"
#include "bpmflow/suggest.h"
#include "lib/model/load_int.h"

static const char *const graph_names[] = {"id",     "title", "driver", "meta",
                                          "layout", "nodes", "version"};
static const char *const node_names[] = {"id",   "type", "title", "meta",
                                         "when", "task", "link"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- messages --- */

void bf_load_error(bf_loader_t *ld, uint32_t line, const char *node, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (ld->diags) {
        bf_diags_add(ld->diags, BF_DIAG_ERROR, ld->file, line, node, "%s", text);
    }
    if (ld->rc != BF_OK) {
        return;
    }
    ld->rc = BF_E_INVALID;
    char place[32] = "";
    if (line) {
        (void)snprintf(place, sizeof(place), ":%u", line);
    }
    (void)bf_err_set(ld->err, BF_E_INVALID, "%s%s: %s%s%s%s", ld->file, place,
                     node ? "node '" : "", node ? node : "", node ? "': " : "", text);
}

void bf_load_warning(bf_loader_t *ld, uint32_t line, const char *node, const char *fmt,
                     ...)
{
    if (!ld->diags) {
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    bf_diags_add(ld->diags, BF_DIAG_WARNING, ld->file, line, node, "%s", text);
}

bool bf_load_nomem(bf_loader_t *ld)
{
    if (!ld->out_of_memory) {
        ld->out_of_memory = true;
        bf_err_clear(ld->err);
        (void)bf_err_nomem(ld->err, "graph");
    }
    ld->rc = BF_E_NOMEM;
    return false;
}

void *bf_load_alloc(bf_loader_t *ld, size_t count, size_t size)
{
    void *data = bf_arena_calloc(ld->arena, count, size);
    if (!data) {
        (void)bf_load_nomem(ld);
    }
    return data;
}

/* --- members --- */

static const char *copy_text(bf_loader_t *ld, const char *text, size_t len)
{
    const char *copy = bf_arena_strndup(ld->arena, text, len);
    if (!copy) {
        (void)bf_load_nomem(ld);
    }
    return copy;
}

const char *bf_load_text(bf_loader_t *ld, const bf_doc_t *map, const char *name,
                         const char *node)
{
    const bf_doc_t *doc = bf_doc_get(map, name);
    if (!doc || doc->value.type == BF_VALUE_NULL) {
        return NULL;
    }
    if (doc->value.type >= BF_VALUE_LIST) {
        bf_load_error(ld, doc->line, node, "%s must be a text, not a %s", name,
                      bf_value_type_name(doc->value.type));
        return NULL;
    }
    return copy_text(ld, doc->text, doc->text_len);
}

void bf_load_meta(bf_loader_t *ld, const bf_doc_t *map, const char *node, bf_value_t *ret)
{
    const bf_doc_t *doc = bf_doc_get(map, "meta");
    *ret = bf_value_null();
    if (!doc || doc->value.type == BF_VALUE_NULL) {
        return;
    }
    if (doc->value.type != BF_VALUE_MAP) {
        bf_load_error(ld, doc->line, node, "meta must be a map, not a %s",
                      bf_value_type_name(doc->value.type));
    } else if (bf_doc_to_value(ld->arena, doc, ret) != BF_OK) {
        (void)bf_load_nomem(ld);
    }
}

static bool is_known(const bf_doc_member_t *m, const char *const *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(known[i]) == m->name_len && !memcmp(known[i], m->name, m->name_len)) {
            return true;
        }
    }
    return false;
}

void bf_load_check_names(bf_loader_t *ld, const bf_doc_t *map, const char *node,
                         const char *const *known, size_t count)
{
    for (uint32_t i = 0; ld->diags && i < map->count; i++) {
        const bf_doc_member_t *m = &map->members[i];
        if (is_known(m, known, count)) {
            continue;
        }
        const char *near = bf_suggest_nearest(m->name, m->name_len, known, count);
        if (near) {
            bf_load_warning(ld, m->line, node,
                            "'%.60s' is not known here and ignored; did you mean '%s'?",
                            m->name, near);
        }
    }
}

/* --- nodes --- */

static bf_node_type_t read_type(bf_loader_t *ld, const bf_doc_t *entry,
                                const bf_node_t *node)
{
    static const char *const names[] = {
#define X(name, text) text,
        BF_NODE_TYPE_LIST(X)
#undef X
            "iterator",
    };
    const char *text = bf_load_text(ld, entry, "type", node->id);
    if (!text || !text[0]) {
        return BF_NODE_ACTIVITY;
    }
    if (!strcmp(text, "iterator")) {
        return BF_NODE_LOOP; /* its old name, in lower case only (rule 7) */
    }
    for (int i = 0; i < BF_NODE_TYPE_COUNT; i++) {
        if (!strcasecmp(text, names[i])) {
            return (bf_node_type_t)i;
        }
    }
    uint32_t line = bf_doc_get(entry, "type")->line;
    const char *near = bf_suggest_nearest(text, strlen(text), names, COUNT(names));
    if (near) {
        bf_load_error(ld, line, node->id, "unknown type '%.60s'; did you mean '%s'?",
                      text, near);
    } else {
        bf_load_error(ld, line, node->id,
                      "unknown type '%.60s'; expected start, end, activity, exclusive, "
                      "inclusive, parallel or loop",
                      text);
    }
    return BF_NODE_ACTIVITY;
}

static const char *read_id(bf_loader_t *ld, const bf_doc_t *entry, uint32_t index)
{
    const char *id = bf_load_text(ld, entry, "id", NULL);
    if (ld->out_of_memory) {
        return NULL;
    }
    if (!id || !id[0]) {
        char text[32];
        int len = snprintf(text, sizeof(text), "n-%u", index + 1);
        return copy_text(ld, text, (size_t)len);
    }
    bf_err_t why = BF_ERR_INIT;
    if (bf_id_check("the ID of a node", id, strlen(id), &why) != BF_OK) {
        bf_load_error(ld, bf_doc_get(entry, "id")->line, NULL, "%s", why.text);
    }
    return id;
}

static void read_loop(bf_loader_t *ld, bf_node_t *node)
{
    const bf_value_t *name = bf_value_get_str(&node->meta, "$for");
    if (node->type != BF_NODE_LOOP || bf_value_is_null(name)) {
        return;
    }
    if (name->type != BF_VALUE_STRING || !name->len) {
        bf_load_error(ld, node->line, node->id,
                      "meta $for must be the name of a variable");
        return;
    }
    node->loop_variable = name->as.string;
    node->loop_source = bf_value_get_str(&node->meta, "$in");
}

static bool read_node(bf_loader_t *ld, uint32_t index)
{
    bf_node_t *node = &ld->nodes[index];
    const bf_doc_t *entry = ld->layout[index];
    const bf_graph_t *graph = &ld->full->graph;
    BF_ASSERT(entry != NULL);
    node->index = index;
    node->graph = graph;
    node->line = entry->line;
    node->id = read_id(ld, entry, index);
    if (!node->id) {
        return false;
    }
    const bf_node_t *same = bf_graph_full_index(ld->full, ld->nodes, index);
    if (same) {
        char place[32] = "";
        if (same->line) {
            (void)snprintf(place, sizeof(place), ", line %u", same->line);
        }
        bf_load_error(ld, node->line, node->id,
                      "this ID is used twice (also by entry %u of the layout%s); each "
                      "node needs its own",
                      same->index + 1, place);
    }
    bf_load_check_names(ld, entry, node->id, node_names, COUNT(node_names));
    node->type = read_type(ld, entry, node);
    node->title = bf_load_text(ld, entry, "title", node->id);
    bf_load_meta(ld, entry, node->id, &node->meta);
    bf_load_code(ld, bf_doc_get(entry, "when"), /* is_task= */ false, node->id,
                 &node->when);
    bf_load_code(ld, bf_doc_get(entry, "task"), /* is_task= */ true, node->id,
                 &node->task);
    read_loop(ld, node);
    node->state_key = bf_arena_printf(ld->arena, "%s:%s", graph->id, node->id);
    if (!node->state_key || ld->out_of_memory) {
        return bf_load_nomem(ld);
    }
    size_t len = strlen(node->state_key);
    node->state_key_len = (uint32_t)len;
    node->state_key_hash = (uint32_t)bf_hash_bytes(node->state_key, len);
    return true;
}

/* --- the graph --- */

static void read_version(bf_loader_t *ld, const bf_doc_t *root)
{
    const bf_doc_t *doc = bf_doc_get(root, "version");
    ld->full->graph.version = 1;
    if (!doc || doc->value.type == BF_VALUE_NULL) {
        return;
    }
    if (doc->value.type != BF_VALUE_INT || doc->value.as.integer < 1 ||
        doc->value.as.integer > INT32_MAX) {
        bf_load_error(ld, doc->line, NULL, "version must be a whole number from 1 on");
        return;
    }
    ld->full->graph.version = (int32_t)doc->value.as.integer;
}

static bool read_head(bf_loader_t *ld, const bf_doc_t *root)
{
    bf_graph_t *graph = &ld->full->graph;
    bf_load_check_names(ld, root, NULL, graph_names, COUNT(graph_names));
    graph->file = copy_text(ld, ld->file, strlen(ld->file));
    graph->id = bf_load_text(ld, root, "id", NULL);
    graph->title = bf_load_text(ld, root, "title", NULL);
    graph->driver = bf_load_text(ld, root, "driver", NULL);
    bf_load_meta(ld, root, NULL, &graph->meta);
    read_version(ld, root);
    bf_err_t why = BF_ERR_INIT;
    if (!graph->id || !graph->id[0]) {
        graph->id = "";
        bf_load_warning(ld, root->line, NULL,
                        "the graph has no id; it cannot be started or called by name");
    } else if (bf_id_check("the id of the graph", graph->id, strlen(graph->id), &why) !=
               BF_OK) {
        bf_load_error(ld, bf_doc_get(root, "id")->line, NULL, "%s", why.text);
    }
    graph->title = graph->title && graph->title[0] ? graph->title : graph->id;
    graph->driver = graph->driver ? graph->driver : "";
    return !ld->out_of_memory;
}

/* The entries of `layout`, or of `nodes` when that key is absent (rule 2). */
static bool read_layout(bf_loader_t *ld, const bf_doc_t *root)
{
    const bf_doc_t *layout = bf_doc_get(root, "layout");
    const char *name = layout ? "layout" : "nodes";
    if (!layout) {
        layout = bf_doc_get(root, "nodes");
    }
    if (!layout || layout->value.type == BF_VALUE_NULL) {
        bf_load_error(
            ld, root->line, NULL,
            "No start node found: the graph has no layout; add a list of nodes");
        return false;
    }
    if (layout->value.type != BF_VALUE_LIST) {
        bf_load_error(ld, layout->line, NULL, "%s must be a list of nodes, not a %s",
                      name, bf_value_type_name(layout->value.type));
        return false;
    }
    ld->layout = calloc(layout->count + 1U, sizeof(*ld->layout));
    if (!ld->layout) {
        return bf_load_nomem(ld);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        if (layout->items[i]->value.type == BF_VALUE_MAP) {
            ld->layout[count++] = layout->items[i];
        } else {
            bf_load_error(ld, layout->items[i]->line, NULL,
                          "entry %u of %s must be a map, not a %s", i + 1, name,
                          bf_value_type_name(layout->items[i]->value.type));
        }
    }
    ld->full->graph.node_count = count;
    return true;
}

static bool read_nodes(bf_loader_t *ld)
{
    bf_graph_t *graph = &ld->full->graph;
    ld->nodes = bf_load_alloc(ld, graph->node_count + 1U, sizeof(*ld->nodes));
    if (!ld->nodes || bf_graph_full_reserve(ld->full, graph->node_count) != BF_OK) {
        return bf_load_nomem(ld);
    }
    graph->nodes = ld->nodes;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (!read_node(ld, i)) {
            return false;
        }
    }
    return true;
}

static bf_status_t load_doc(const bf_doc_t *root, const char *file, bf_diags_t *diags,
                            bf_graph_t **ret, bf_err_t *err)
{
    bf_err_t unused = BF_ERR_INIT;
    bf_loader_t ld = {.file = file, .diags = diags, .err = err ? err : &unused};
    ld.full = bf_graph_full_new();
    if (!ld.full) {
        return bf_err_nomem(err, "graph");
    }
    ld.arena = &ld.full->arena;
    if (root->value.type != BF_VALUE_MAP) {
        bf_load_error(&ld, root->line, NULL,
                      "a graph must be a map with id and layout, not a %s",
                      bf_value_type_name(root->value.type));
    } else if (read_head(&ld, root) && read_layout(&ld, root) && read_nodes(&ld) &&
               bf_load_links(&ld) && bf_load_check(&ld) && ld.rc == BF_OK) {
        ld.rc = bf_graph_full_hash(ld.full, ld.err);
    }
    free(ld.layout);
    if (ld.rc != BF_OK) {
        bf_graph_unref(&ld.full->graph);
        return ld.rc;
    }
    *ret = &ld.full->graph;
    return BF_OK;
}

bf_status_t bf_graph_load_value(const bf_value_t *layout, const char *file,
                                bf_diags_t *diags, bf_graph_t **ret, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    const bf_doc_t *root = NULL;
    bf_status_t rc = bf_doc_from_value(&arena, layout, &root, err);
    if (rc == BF_OK) {
        rc = load_doc(root, file ? file : "value", diags, ret, err);
    }
    bf_arena_fini(&arena);
    return rc;
}

bf_status_t bf_graph_load_text(const char *text, size_t len, const char *file,
                               bf_diags_t *diags, bf_graph_t **ret, bf_err_t *err)
{
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    const bf_doc_t *root = NULL;
    uint32_t line = 0;
    bf_err_t why = BF_ERR_INIT;
    file = file ? file : "text";
    bf_status_t rc = bf_doc_parse(&arena, text, len, &root, &line, &why);
    if (rc == BF_OK) {
        rc = load_doc(root, file, diags, ret, err);
    } else {
        char place[32] = "";
        if (line) {
            (void)snprintf(place, sizeof(place), ":%u", line);
        }
        if (diags) {
            bf_diags_add(diags, BF_DIAG_ERROR, file, line, NULL, "%s", why.text);
        }
        (void)bf_err_set(err, rc, "%s%s: %s", file, place, why.text);
    }
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t io_error(const char *path, bf_err_t *err)
{
    char buf[128];
    return bf_err_set(err, BF_E_IO, "%s: %s", path, strerror_r(errno, buf, sizeof(buf)));
}

/* At most one byte more than is allowed, so that the parser says it is too long. */
static bf_status_t read_file(const char *path, bf_str_t *ret, bf_err_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        bf_status_t rc = io_error(path, err);
        if (fd >= 0) {
            (void)close(fd);
        }
        return rc;
    }
    bf_status_t rc = BF_OK;
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
        rc = bf_err_set(err, BF_E_IO, "%s: not a file", path);
    }
    char buf[16384];
    while (rc == BF_OK && ret->len <= BF_DOC_MAX_BYTES) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            rc = io_error(path, err);
        }
        if (n <= 0) {
            break;
        }
        bf_str_append(ret, buf, (size_t)n);
    }
    (void)close(fd);
    return rc == BF_OK ? bf_str_status(ret, path, err) : rc;
}

bf_status_t bf_graph_load_file(const char *path, bf_diags_t *diags, bf_graph_t **ret,
                               bf_err_t *err)
{
    bf_str_t text;
    bf_str_init(&text, 0);
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = read_file(path, &text, &why);
    if (rc == BF_OK) {
        rc = bf_graph_load_text(bf_str_peek(&text), text.len, path, diags, ret, err);
    } else {
        if (diags) {
            bf_diags_add(diags, BF_DIAG_ERROR, path, 0, NULL, "%s", why.text);
        }
        (void)bf_err_set(err, rc, "%s", why.text);
    }
    bf_str_fini(&text);
    return rc;
}
