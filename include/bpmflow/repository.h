/*
 * repository.h - where the executor gets instances from
 *
 * The function table that separates the executor from storage: an in-memory one is
 * built in (bf_memory_repository_new()), the MySQL one is in lib/store.  The names
 * state_get/put/remove/clear, vars_get are those of the second seed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_REPOSITORY_H
#define BF_REPOSITORY_H

#include "bpmflow/instance.h"

typedef struct bf_repository bf_repository_t;

typedef struct bf_repository_ops {
    /* The instance; created empty when it does not exist, and open (see
     * bf_instance_open()). Borrowed: valid until evict, until the repository is
     * freed, and where the repository is bounded until the next open of another one.
     * Errors: BF_E_NOMEM, BF_E_INVALID (row), BF_E_STORE*. */
    bf_status_t (*open)(bf_repository_t *repo, const char *instance_id,
                        bf_instance_t **ret, bf_err_t *err);
    /* Called after each committed change of the instance: write-through repositories
     * write here, deferred ones remember. */
    bf_status_t (*changed)(bf_repository_t *repo, bf_instance_t *inst, bf_err_t *err);
    /* Variables to be injected when a node starts (rule 98); NULL callback = none.
     * *ret is borrowed until the next call; NULL = none. */
    bf_status_t (*vars_get)(bf_repository_t *repo, const char *instance_id,
                            const bf_node_t *node, const bf_value_t **ret, bf_err_t *err);
    void (*evict)(bf_repository_t *repo, const char *instance_id);
    void (*free)(bf_repository_t *repo);
} bf_repository_ops_t;

/* Implementations embed this as their first member. */
struct bf_repository {
    const bf_repository_ops_t *ops;
};

/** In-memory repository; NULL when out of memory. Free with bf_repository_free(). */
bf_repository_t *bf_memory_repository_new(void) BF_MUST_USE;
void bf_repository_free(bf_repository_t *repo);

/** The four operations of the second seed, by instance and node (first visit). Each
 *  change is a transaction of its own. */
bf_status_t bf_state_get(bf_repository_t *repo, const char *instance_id,
                         const bf_node_t *node, bf_task_state_t *ret,
                         bf_err_t *err) BF_MUST_USE;
bf_status_t bf_state_put(bf_repository_t *repo, const char *instance_id,
                         const bf_node_t *node, bf_task_state_t state,
                         bf_err_t *err) BF_MUST_USE;
bf_status_t bf_state_remove(bf_repository_t *repo, const char *instance_id,
                            const bf_node_t *node, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_state_clear(bf_repository_t *repo, const char *instance_id,
                           bf_err_t *err) BF_MUST_USE;

#endif /* BF_REPOSITORY_H */
