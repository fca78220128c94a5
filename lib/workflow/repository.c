/*
 * repository.c - the four operations of the second seed, on any repository
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/repository.h"

void bf_repository_free(bf_repository_t *repo)
{
    if (repo) {
        repo->ops->free(repo);
    }
}

bf_status_t bf_state_get(bf_repository_t *repo, const char *instance_id,
                         const bf_node_t *node, bf_task_state_t *ret, bf_err_t *err)
{
    bf_instance_t *inst;
    bf_status_t rc = repo->ops->open(repo, instance_id, &inst, err);
    if (rc == BF_OK) {
        *ret = bf_instance_state(inst, node->state_key);
    }
    return rc;
}

/* The end of a change: committed and told to the repository, or undone. */
static bf_status_t finish(bf_repository_t *repo, bf_instance_t *inst, bf_status_t rc,
                          bf_err_t *err)
{
    if (rc != BF_OK) {
        bf_instance_rollback(inst);
        return bf_err_nomem(err, "state of a task");
    }
    bool changed = bf_instance_changed(inst);
    bf_instance_commit(inst);
    return changed ? repo->ops->changed(repo, inst, err) : BF_OK;
}

bf_status_t bf_state_put(bf_repository_t *repo, const char *instance_id,
                         const bf_node_t *node, bf_task_state_t state, bf_err_t *err)
{
    bf_instance_t *inst;
    bf_status_t rc = repo->ops->open(repo, instance_id, &inst, err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_instance_begin(inst);
    return finish(repo, inst, bf_instance_state_put(inst, node->state_key, state), err);
}

bf_status_t bf_state_remove(bf_repository_t *repo, const char *instance_id,
                            const bf_node_t *node, bf_err_t *err)
{
    bf_instance_t *inst;
    bf_status_t rc = repo->ops->open(repo, instance_id, &inst, err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_instance_begin(inst);
    return finish(repo, inst, bf_instance_state_remove(inst, node->state_key), err);
}

bf_status_t bf_state_clear(bf_repository_t *repo, const char *instance_id, bf_err_t *err)
{
    bf_instance_t *inst;
    bf_status_t rc = repo->ops->open(repo, instance_id, &inst, err);
    if (rc != BF_OK) {
        return rc;
    }
    bf_instance_begin(inst);
    return finish(repo, inst, bf_instance_state_clear(inst), err);
}
