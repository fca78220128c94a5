/*
 * test_cache.c - the instance cache without memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/cache.h"
#include "tests/oom/oom.h"

static bf_status_t put_one(bf_cache_t *cache, const char *id)
{
    bf_instance_t *inst = bf_instance_new(id);
    if (inst == NULL) {
        return BF_E_NOMEM;
    }
    bf_status_t status = bf_cache_put(cache, inst);
    if (status != BF_OK) {
        bf_instance_free(inst); /* still ours */
    }
    return status;
}

/* More than the first buckets hold, so that they grow; growing may fail without harm. */
static bf_status_t fill(void *arg)
{
    (void)arg;
    bf_status_t status = BF_OK;
    bf_cache_t *cache = bf_cache_new(1 << 16);
    if (cache == NULL) {
        return BF_E_NOMEM;
    }
    for (int i = 0; status == BF_OK && i < 60; i++) {
        char id[] = "i-00";
        id[2] = (char)('0' + i / 10);
        id[3] = (char)('0' + i % 10);
        status = put_one(cache, id);
    }
    if (status == BF_OK) {
        status = put_one(cache, "i-07");
    }
    bf_cache_trim(cache);
    bf_cache_drop(cache, "i-01");
    bf_cache_free(cache);
    return status;
}

int main(void)
{
    bf_oom_sweep("cache", fill, NULL);
    return bf_oom_result();
}
