/*
 * controller.h - who may operate a node, and which nodes go forward by themselves
 *
 * Three controllers as in the second seed (section 4.1): block, actor, not-block; own
 * ones are function tables.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CONTROLLER_H
#define BF_CONTROLLER_H

#include "bpmflow/context.h"

typedef struct bf_controller bf_controller_t;

typedef struct bf_controller_ops {
    /* May this context (user, role) operate the node? */
    bool (*is_operatable)(bf_controller_t *controller, bf_context_t *ctx,
                          const bf_node_t *node);
    /* Does the flow pass the node by itself? */
    bool (*is_auto_forward)(bf_controller_t *controller, bf_context_t *ctx,
                            const bf_node_t *node);
    /* The variable that says who the caller is; NULL callback = "actor". */
    const char *(*actor_key)(const bf_controller_t *controller);
    /* Is this such a variable? NULL callback = only the actor key is. */
    bool (*is_key)(const bf_controller_t *controller, const char *name, size_t name_len);
    void (*free)(bf_controller_t *controller); /* NULL = nothing to free */
} bf_controller_ops_t;

/* Implementations embed this as their first member. */
struct bf_controller {
    const bf_controller_ops_t *ops;
};

/** Every ACTIVITY is a task that anybody may operate (rule 99). */
bf_controller_t *bf_block_controller_new(void) BF_MUST_USE;

/** Everything is automatic (rule 100). */
bf_controller_t *bf_not_block_controller_new(void) BF_MUST_USE;

/** By meta keys (default {"actor"}): a node that has one of them is a task, operable when
 *  the node's value - any member, when it is a list - equals the context's, both as text;
 *  empty never matches (rules 101, 102; second seed 4.1). Keys are copied. */
bf_controller_t *bf_actor_controller_new(const char *const *keys,
                                         size_t count) BF_MUST_USE;

void bf_controller_free(bf_controller_t *controller);

/** The variable that the actor of a command is put under: the first key of an actor
 *  controller, else "actor". Never NULL. */
const char *bf_controller_actor_key(const bf_controller_t *controller);

/** True for the variables that say who the caller is: they are not stored with an
 *  instance. */
bool bf_controller_is_key(const bf_controller_t *controller, const char *name,
                          size_t name_len);

static inline bool bf_controller_is_operatable(bf_controller_t *controller,
                                               bf_context_t *ctx, const bf_node_t *node)
{
    return controller->ops->is_operatable(controller, ctx, node);
}

static inline bool bf_controller_is_auto_forward(bf_controller_t *controller,
                                                 bf_context_t *ctx, const bf_node_t *node)
{
    return controller->ops->is_auto_forward(controller, ctx, node);
}

#endif /* BF_CONTROLLER_H */
