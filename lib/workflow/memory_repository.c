/*
 * memory_repository.c - instances that live as long as the process
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "bpmflow/map.h"
#include "bpmflow/repository.h"

typedef struct memory_repository {
    bf_repository_t base;
    bf_map_t *instances; /* ID -> bf_instance_t, owned */
} memory_repository_t;

static memory_repository_t *self_of(bf_repository_t *repo)
{
    return (memory_repository_t *)(void *)repo;
}

static bf_status_t memory_open(bf_repository_t *repo, const char *instance_id,
                               bf_instance_t **ret, bf_err_t *err)
{
    memory_repository_t *self = self_of(repo);
    bf_instance_t *inst = bf_map_get_str(self->instances, instance_id);
    if (!inst) {
        inst = bf_instance_new(instance_id);
        if (!inst || bf_map_put(self->instances, instance_id, strlen(instance_id), inst,
                                NULL) != BF_OK) {
            bf_instance_free(inst);
            return bf_err_nomem(err, "instance");
        }
    }
    if (bf_instance_open(inst) != BF_OK) {
        return bf_err_nomem(err, "instance");
    }
    *ret = inst;
    return BF_OK;
}

static bf_status_t memory_changed(bf_repository_t *repo, bf_instance_t *inst,
                                  bf_err_t *err)
{
    (void)repo;
    (void)err;
    bf_instance_mark_stored(inst); /* here is where it is stored */
    return BF_OK;
}

static void memory_evict(bf_repository_t *repo, const char *instance_id)
{
    bf_instance_free(
        bf_map_remove(self_of(repo)->instances, instance_id, strlen(instance_id)));
}

static void memory_free(bf_repository_t *repo)
{
    memory_repository_t *self = self_of(repo);
    size_t cursor = 0;
    void *inst;
    while (bf_map_next(self->instances, &cursor, NULL, NULL, &inst)) {
        bf_instance_free(inst);
    }
    bf_map_free(self->instances);
    free(self);
}

bf_repository_t *bf_memory_repository_new(void)
{
    static const bf_repository_ops_t ops = {
        .open = memory_open,
        .changed = memory_changed,
        .evict = memory_evict,
        .free = memory_free,
    };
    memory_repository_t *self = calloc(1, sizeof(*self));
    if (!self) {
        return NULL;
    }
    self->base.ops = &ops;
    self->instances = bf_map_new();
    if (!self->instances) {
        free(self);
        return NULL;
    }
    return &self->base;
}
