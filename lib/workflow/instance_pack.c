/*
 * instance_pack.c - an idle instance as one small block
 *
 * Texts stand with their NUL, numbers as 4 bytes:
 *
 *     size of the block
 *     flags: the updater is the creator, there are no variables, the hash is binary
 *     graph ID, graph hash (8 bytes where it is 16 hexadecimal digits), creator,
 *         [updater], tasks
 *     number of states (1 byte; 255: 4 bytes follow), and for each: key, state, number of
 * routes + 1 (0 = none), the routes [variables as JSON]
 *
 * Keys that begin with the ID of the instance's graph are written from the ':' on, and
 * their state has a bit that says so.  Nothing here ever leaves the process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lib/workflow/instance_int.h"

#define FLAG_SAME_UPDATER 1U
#define FLAG_NO_VARS      2U
#define FLAG_BINARY_HASH  4U
#define MANY              255U /* states: more than a byte can tell */
#define HASH_DIGITS       16
#define STATE_OWN_GRAPH   0x80U /* the key lacks the graph's ID */

static void put_u32(bf_str_t *str, size_t value)
{
    uint32_t number = (uint32_t)value;
    bf_str_append(str, (const char *)&number, sizeof(number));
}

static void put_text(bf_str_t *str, const char *text)
{
    bf_str_append(str, text, strlen(text) + 1);
}

static void put_count(bf_str_t *str, uint32_t count)
{
    bf_str_putc(str, (char)(count < MANY ? count : MANY));
    if (count >= MANY) {
        put_u32(str, count);
    }
}

/* The hash of a graph as it is made here. */
static bool is_binary(const char *hash)
{
    return strlen(hash) == HASH_DIGITS && strspn(hash, "0123456789abcdef") == HASH_DIGITS;
}

static unsigned digit_value(char digit)
{
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static void put_hash(bf_str_t *str, const char *hash)
{
    for (size_t i = 0; i < HASH_DIGITS; i += 2) {
        bf_str_putc(str, (char)(digit_value(hash[i]) << 4 | digit_value(hash[i + 1])));
    }
}

static uint32_t take_u32(const char **at)
{
    uint32_t number;
    memcpy(&number, *at, sizeof(number));
    *at += sizeof(number);
    return number;
}

static uint32_t take_count(const char **at)
{
    unsigned count = (unsigned char)*(*at)++;
    return count < MANY ? count : take_u32(at);
}

static void take_hash(const char **at, char ret[HASH_DIGITS + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_DIGITS; i += 2) {
        unsigned byte = (unsigned char)*(*at)++;
        ret[i] = digits[byte >> 4];
        ret[i + 1] = digits[byte & 15U];
    }
    ret[HASH_DIGITS] = '\0';
}

static const char *take_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

size_t bf_instance_pack_bytes(const char *pack)
{
    return take_u32(&pack);
}

/* --- writing --- */

static void put_entry(bf_str_t *str, const bf_state_entry_t *e, const char *graph_id,
                      size_t graph_len)
{
    bool is_own = e->key_len > graph_len && e->key[graph_len] == ':' &&
                  !memcmp(e->key, graph_id, graph_len);
    put_text(str, is_own ? e->key + graph_len : e->key);
    unsigned state = e->state ? (unsigned)e->state - BF_TASK_WAITING + 1 : 0;
    bf_str_putc(str, (char)(state | (is_own ? STATE_OWN_GRAPH : 0)));
    if (!e->route) {
        bf_str_putc(str, 0);
        return;
    }
    bf_str_putc(str, 1);
    put_u32(str, e->route_count);
    for (uint32_t i = 0; i < e->route_count; i++) {
        put_text(str, e->route[i]);
    }
}

static void put_all(bf_str_t *str, const bf_instance_live_t *live)
{
    const bf_instance_texts_t *texts = &live->texts;
    size_t graph_len = strlen(texts->graph_id);
    bool same = !strcmp(texts->creator, texts->updater);
    bool no_vars = !bf_vars_count(live->vars);
    bool binary = is_binary(texts->graph_hash);
    put_u32(str, 0); /* the size, written at the end */
    bf_str_putc(str,
                (char)((same ? FLAG_SAME_UPDATER : 0) | (no_vars ? FLAG_NO_VARS : 0) |
                       (binary ? FLAG_BINARY_HASH : 0)));
    put_text(str, texts->graph_id);
    if (binary) {
        put_hash(str, texts->graph_hash);
    } else {
        put_text(str, texts->graph_hash);
    }
    put_text(str, texts->creator);
    if (!same) {
        put_text(str, texts->updater);
    }
    put_text(str, texts->tasks);
    put_count(str, live->states.used);
    for (uint32_t i = 0; i < live->states.used; i++) {
        put_entry(str, &live->states.entries[i], texts->graph_id, graph_len);
    }
    if (!no_vars) {
        bf_vars_write_json(live->vars, str);
        bf_str_putc(str, '\0');
    }
}

bf_status_t bf_instance_pack(bf_instance_t *inst)
{
    if (inst->is_packed) {
        return BF_OK;
    }
    BF_ASSERT(!inst->as.live->in_transaction);
    bf_str_t str;
    bf_str_init(&str, 0);
    put_all(&str, inst->as.live);
    char *pack = NULL;
    if (!bf_str_failed(&str) && str.len <= UINT32_MAX) {
        pack = malloc(str.len);
    }
    if (pack) {
        uint32_t size = (uint32_t)str.len;
        memcpy(pack, str.data, str.len);
        memcpy(pack, &size, sizeof(size));
        bf_instance_live_free(inst->as.live);
        inst->as.pack = pack;
        inst->is_packed = true;
    }
    bf_str_fini(&str);
    return pack ? BF_OK : BF_E_NOMEM;
}

/* --- reading --- */

static const char *copy_text(bf_instance_live_t *live, const char **at)
{
    return bf_arena_strdup(&live->mem, take_text(at));
}

static bf_status_t read_texts(bf_instance_live_t *live, unsigned flags, const char **at)
{
    bf_instance_texts_t *texts = &live->texts;
    texts->graph_id = copy_text(live, at);
    if (flags & FLAG_BINARY_HASH) {
        char hash[HASH_DIGITS + 1];
        take_hash(at, hash);
        texts->graph_hash = bf_arena_strdup(&live->mem, hash);
    } else {
        texts->graph_hash = copy_text(live, at);
    }
    texts->creator = copy_text(live, at);
    texts->updater = flags & FLAG_SAME_UPDATER ? texts->creator : copy_text(live, at);
    texts->tasks = copy_text(live, at);
    return texts->graph_id && texts->graph_hash && texts->creator && texts->updater &&
                   texts->tasks
               ? BF_OK
               : BF_E_NOMEM;
}

static bf_status_t read_route(bf_instance_live_t *live, bf_arena_t *arena,
                              const bf_state_key_t *key, const char **at)
{
    uint32_t count = take_u32(at);
    const char **ids = bf_arena_calloc(arena, count, sizeof(*ids));
    if (!ids) {
        return BF_E_NOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        ids[i] = take_text(at);
    }
    return bf_states_put_route(&live->states, &live->mem, key, ids, count);
}

static bf_status_t read_entry(bf_instance_live_t *live, bf_arena_t *arena,
                              const char **at)
{
    const char *key = take_text(at);
    unsigned state = (unsigned char)*(*at)++;
    bool has_route = *(*at)++ != 0;
    if (state & STATE_OWN_GRAPH) {
        state &= ~STATE_OWN_GRAPH;
        key = bf_arena_printf(arena, "%s%s", live->texts.graph_id, key);
    }
    if (!key) {
        return BF_E_NOMEM;
    }
    bf_state_key_t found = bf_state_key(key, strlen(key));
    bf_status_t rc = BF_OK;
    if (state) {
        rc = bf_states_put(&live->states, &live->mem, &found,
                           bf_task_state_of((int64_t)BF_TASK_WAITING + state - 1));
    }
    return rc == BF_OK && has_route ? read_route(live, arena, &found, at) : rc;
}

static bf_status_t read_vars(bf_instance_live_t *live, bf_arena_t *arena,
                             const char *json)
{
    const bf_json_limits_t limits = BF_JSON_OWN_LIMITS;
    bf_value_t map;
    bf_status_t rc = bf_json_parse(arena, json, strlen(json), &limits, &map, NULL);
    return rc == BF_OK ? bf_vars_set_all(live->vars, &map) : rc;
}

static bf_status_t unpack(bf_instance_live_t *live, bf_arena_t *arena, const char *at)
{
    (void)take_u32(&at);
    unsigned flags = (unsigned char)*at++;
    bf_status_t rc = read_texts(live, flags, &at);
    uint32_t count = rc == BF_OK ? take_count(&at) : 0;
    for (uint32_t i = 0; rc == BF_OK && i < count; i++) {
        rc = read_entry(live, arena, &at);
    }
    live->states.changed = false;
    return rc == BF_OK && !(flags & FLAG_NO_VARS) ? read_vars(live, arena, at) : rc;
}

bf_status_t bf_instance_open(bf_instance_t *inst)
{
    if (!inst->is_packed) {
        return BF_OK;
    }
    bf_arena_t arena;
    bf_arena_init(&arena, 0);
    bf_instance_live_t *live = bf_instance_live_new();
    bf_status_t rc = live ? unpack(live, &arena, inst->as.pack) : BF_E_NOMEM;
    bf_arena_fini(&arena);
    if (rc != BF_OK) {
        /* We wrote this block: it can be read when there is memory. */
        BF_ASSERT(rc == BF_E_NOMEM);
        bf_instance_live_free(live);
        return rc;
    }
    bf_instance_set_live(inst, live);
    return BF_OK;
}
