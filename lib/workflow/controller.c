/*
 * controller.c - block, actor and not-block
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/controller.h"

#include <stdlib.h>
#include <string.h>

#include "bpmflow/num.h"

void bf_controller_free(bf_controller_t *controller)
{
    if (controller && controller->ops->free) {
        controller->ops->free(controller);
    }
}

const char *bf_controller_actor_key(const bf_controller_t *controller)
{
    return controller->ops->actor_key ? controller->ops->actor_key(controller) : "actor";
}

bool bf_controller_is_key(const bf_controller_t *controller, const char *name,
                          size_t name_len)
{
    if (controller->ops->is_key) {
        return controller->ops->is_key(controller, name, name_len);
    }
    const char *key = bf_controller_actor_key(controller);
    return strlen(key) == name_len && !memcmp(key, name, name_len);
}

/* --- block, not-block --- */

static bool is_activity(bf_controller_t *controller, bf_context_t *ctx,
                        const bf_node_t *node)
{
    (void)controller;
    (void)ctx;
    return node->type == BF_NODE_ACTIVITY;
}

static bool is_no_activity(bf_controller_t *controller, bf_context_t *ctx,
                           const bf_node_t *node)
{
    return !is_activity(controller, ctx, node);
}

static bool always(bf_controller_t *controller, bf_context_t *ctx, const bf_node_t *node)
{
    (void)controller;
    (void)ctx;
    (void)node;
    return true;
}

static void free_simple(bf_controller_t *controller)
{
    free(controller);
}

static bf_controller_t *new_simple(const bf_controller_ops_t *ops)
{
    bf_controller_t *controller = malloc(sizeof(*controller));
    if (controller) {
        controller->ops = ops;
    }
    return controller;
}

bf_controller_t *bf_block_controller_new(void)
{
    static const bf_controller_ops_t ops = {.is_operatable = is_activity,
                                            .is_auto_forward = is_no_activity,
                                            .free = free_simple};
    return new_simple(&ops);
}

bf_controller_t *bf_not_block_controller_new(void)
{
    static const bf_controller_ops_t ops = {
        .is_operatable = always, .is_auto_forward = always, .free = free_simple};
    return new_simple(&ops);
}

/* --- actor --- */

typedef struct actor_key {
    char *text;
    size_t len;
    bool is_path; /* has dots */
} actor_key_t;

typedef struct actor_controller {
    bf_controller_t base;
    size_t count;
    actor_key_t *keys;
} actor_controller_t;

/* What the node says under a key; NULL when nothing. */
static inline const bf_value_t *wanted(const bf_node_t *node, const actor_key_t *key)
{
    const bf_value_t *want = key->is_path
                                 ? bf_node_meta(node, key->text)
                                 : bf_value_get(&node->meta, key->text, key->len);
    return bf_value_is_null(want) ? NULL : want;
}

/* Text of a scalar; numbers and booleans go to the buffer. NULL: it has none. */
static const char *text_of(const bf_value_t *value, char buffer[BF_NUM_TEXT_MAX])
{
    switch (value->type) {
    case BF_VALUE_STRING:
        return value->as.string;
    case BF_VALUE_INT:
        (void)bf_num_format_i64(value->as.integer, buffer);
        return buffer;
    case BF_VALUE_REAL:
        bf_num_format_real(value->as.real, buffer);
        return buffer;
    case BF_VALUE_BOOL:
        return value->as.boolean ? "true" : "false";
    case BF_VALUE_NULL:
    case BF_VALUE_LIST:
    case BF_VALUE_MAP:
        break;
    }
    return NULL;
}

__attribute__((noinline)) static bool same_scalar(const bf_value_t *a,
                                                  const bf_value_t *b)
{
    char a_buffer[BF_NUM_TEXT_MAX];
    char b_buffer[BF_NUM_TEXT_MAX];
    const char *a_text = text_of(a, a_buffer);
    const char *b_text = text_of(b, b_buffer);
    return a_text && b_text && *a_text && !strcmp(a_text, b_text);
}

static inline bool same_text(const bf_value_t *a, const bf_value_t *b)
{
    if (a->type == BF_VALUE_STRING && b->type == BF_VALUE_STRING) {
        return a->len && a->len == b->len &&
               bf_same_bytes(a->as.string, b->as.string, a->len);
    }
    return same_scalar(a, b);
}

/* Any of the node's with any of the caller's. */
static bool matches_any(const bf_value_t *node, const bf_value_t *caller)
{
    bool node_list = node->type == BF_VALUE_LIST;
    bool caller_list = caller->type == BF_VALUE_LIST;
    uint32_t node_count = node_list ? node->len : 1;
    uint32_t caller_count = caller_list ? caller->len : 1;
    for (uint32_t i = 0; i < node_count; i++) {
        const bf_value_t *a = node_list ? &node->as.items[i] : node;
        for (uint32_t k = 0; k < caller_count; k++) {
            if (same_text(a, caller_list ? &caller->as.items[k] : caller)) {
                return true;
            }
        }
    }
    return false;
}

static inline bool matches(const bf_value_t *node, const bf_value_t *caller)
{
    bool lists = node->type == BF_VALUE_LIST || caller->type == BF_VALUE_LIST;
    return lists ? matches_any(node, caller) : same_text(node, caller);
}

static bool actor_is_operatable(bf_controller_t *controller, bf_context_t *ctx,
                                const bf_node_t *node)
{
    const actor_controller_t *actor = (const actor_controller_t *)controller;
    for (size_t i = 0; i < actor->count; i++) {
        const bf_value_t *want = wanted(node, &actor->keys[i]);
        const bf_value_t *have =
            want ? bf_context_caller_value(ctx, actor->keys[i].text, actor->keys[i].len)
                 : NULL;
        if (have && matches(want, have)) {
            return true;
        }
    }
    return false;
}

static bool actor_is_auto_forward(bf_controller_t *controller, bf_context_t *ctx,
                                  const bf_node_t *node)
{
    const actor_controller_t *actor = (const actor_controller_t *)controller;
    (void)ctx;
    if (node->type == BF_NODE_END) {
        return true;
    }
    for (size_t i = 0; i < actor->count; i++) {
        if (wanted(node, &actor->keys[i])) {
            return false;
        }
    }
    return true;
}

static const char *actor_key(const bf_controller_t *controller)
{
    const actor_controller_t *actor = (const actor_controller_t *)controller;
    return actor->keys[0].text;
}

static bool actor_is_key(const bf_controller_t *controller, const char *name,
                         size_t name_len)
{
    const actor_controller_t *actor = (const actor_controller_t *)controller;
    for (size_t i = 0; i < actor->count; i++) {
        const actor_key_t *key = &actor->keys[i];
        if (key->len == name_len && !memcmp(key->text, name, name_len)) {
            return true;
        }
    }
    return false;
}

static void actor_free(bf_controller_t *controller)
{
    actor_controller_t *actor = (actor_controller_t *)controller;
    for (size_t i = 0; i < actor->count; i++) {
        free(actor->keys[i].text);
    }
    free(actor->keys);
    free(actor);
}

bf_controller_t *bf_actor_controller_new(const char *const *keys, size_t count)
{
    static const bf_controller_ops_t ops = {.is_operatable = actor_is_operatable,
                                            .is_auto_forward = actor_is_auto_forward,
                                            .actor_key = actor_key,
                                            .is_key = actor_is_key,
                                            .free = actor_free};
    static const char *const defaults[] = {"actor"};
    if (!count) {
        keys = defaults;
        count = 1;
    }
    actor_controller_t *actor = calloc(1, sizeof(*actor));
    if (!actor) {
        return NULL;
    }
    actor->base.ops = &ops;
    actor->keys = calloc(count, sizeof(*actor->keys));
    if (!actor->keys) {
        free(actor);
        return NULL;
    }
    for (; actor->count < count; actor->count++) {
        const char *text = keys[actor->count];
        actor_key_t *key = &actor->keys[actor->count];
        *key = (actor_key_t){strdup(text), strlen(text), strchr(text, '.')};
        if (!key->text) {
            actor_free(&actor->base);
            return NULL;
        }
    }
    return &actor->base;
}
