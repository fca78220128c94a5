/*
 * test_cache.c - the instance cache
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/cache.h"

static bf_instance_t *make_stored(const char *id)
{
    bf_instance_t *inst = bf_instance_new(id);
    cr_assert_not_null(inst);
    bf_instance_begin(inst);
    cr_assert_eq(bf_instance_state_put(inst, "g:a", BF_TASK_WAITING), BF_OK);
    bf_instance_commit(inst);
    bf_instance_mark_stored(inst);
    return inst;
}

static bf_instance_t *put_number(bf_cache_t *cache, int number)
{
    char id[24];
    (void)snprintf(id, sizeof(id), "i-%d", number);
    bf_instance_t *inst = make_stored(id);
    cr_assert_eq(bf_cache_put(cache, inst), BF_OK);
    return inst;
}

static bool has_number(bf_cache_t *cache, int number)
{
    char id[24];
    (void)snprintf(id, sizeof(id), "i-%d", number);
    return bf_cache_get(cache, id) != NULL;
}

static bf_cache_stats_t stats_of(const bf_cache_t *cache)
{
    bf_cache_stats_t stats;
    bf_cache_stats(cache, &stats);
    return stats;
}

Test(cache, get__finds_what_was_put)
{
    bf_cache_t *cache = bf_cache_new(1 << 20);
    cr_assert_null(bf_cache_get(cache, "i-1"));
    bf_instance_t *inst = put_number(cache, 1);
    (void)put_number(cache, 2);
    cr_assert_eq(bf_cache_get(cache, "i-1"), inst);
    cr_assert_null(bf_cache_get(cache, "I-1"));
    bf_cache_stats_t stats = stats_of(cache);
    cr_assert_eq(stats.count, 2);
    cr_assert_eq(stats.hits, 1);
    cr_assert_eq(stats.misses, 2);
    bf_cache_free(cache);
    bf_cache_free(NULL);
}

Test(cache, put__replaces_one_of_the_same_id)
{
    bf_cache_t *cache = bf_cache_new(1 << 20);
    (void)put_number(cache, 1);
    bf_instance_t *second = put_number(cache, 1);
    cr_assert_eq(bf_cache_get(cache, "i-1"), second);
    cr_assert_eq(stats_of(cache).count, 1);
    bf_cache_free(cache);
}

Test(cache, drop__forgets_one_or_a_partition_or_all)
{
    bf_cache_t *cache = bf_cache_new(1 << 20);
    for (int i = 0; i < 30; i++) {
        bf_instance_set_partition(put_number(cache, i), i % 3);
    }
    bf_cache_drop(cache, "i-4");
    bf_cache_drop(cache, "nobody");
    cr_assert_not(has_number(cache, 4));
    cr_assert_eq(stats_of(cache).count, 29);
    bf_cache_drop_partition(cache, 2);
    cr_assert_eq(stats_of(cache).count, 19);
    cr_assert_not(has_number(cache, 5));
    cr_assert(has_number(cache, 6));
    bf_cache_clear(cache);
    bf_cache_stats_t stats = stats_of(cache);
    cr_assert_eq(stats.count, 0);
    cr_assert_not(has_number(cache, 6));
    size_t empty = stats.bytes;
    (void)put_number(cache, 1);
    bf_cache_clear(cache);
    cr_assert_eq(stats_of(cache).bytes, empty, "the sum comes back to where it was");
    bf_cache_free(cache);
}

Test(cache, trim__evicts_the_least_recently_used_until_the_bound_holds)
{
    bf_cache_t *cache = bf_cache_new(100000);
    for (int i = 0; i < 1000; i++) {
        (void)put_number(cache, i);
    }
    cr_assert_eq(stats_of(cache).count, 1000, "nothing goes between two trims");
    cr_assert(has_number(cache, 0));
    cr_assert(has_number(cache, 17));
    bf_cache_trim(cache);
    bf_cache_stats_t stats = stats_of(cache);
    cr_assert_lt(stats.count, 200);
    cr_assert_gt(stats.count, 10);
    cr_assert_eq(stats.evictions, 1000 - stats.count);
    cr_assert(has_number(cache, 0), "asked for a moment ago");
    cr_assert(has_number(cache, 17));
    cr_assert(has_number(cache, 999));
    cr_assert_not(has_number(cache, 1));
    bf_cache_free(cache);
}

Test(cache, trim__keeps_at_least_one)
{
    bf_cache_t *cache = bf_cache_new(1);
    (void)put_number(cache, 1);
    (void)put_number(cache, 2);
    bf_cache_trim(cache);
    cr_assert_eq(stats_of(cache).count, 1);
    cr_assert(has_number(cache, 2));
    bf_cache_free(cache);
}

Test(cache, trim__counts_growth_and_keeps_what_is_dirty)
{
    bf_cache_t *cache = bf_cache_new(1 << 20);
    char text[1000];
    memset(text, 'x', sizeof(text));
    bf_value_t value = bf_value_string(text, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        (void)put_number(cache, i);
    }
    bf_cache_trim(cache);
    cr_assert_eq(stats_of(cache).count, 100);
    for (int i = 0; i < 100; i++) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        bf_instance_t *inst = bf_cache_get(cache, id);
        bf_instance_begin(inst);
        cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), "text", &value), BF_OK);
        for (int k = 0; k < 20; k++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "v%d", k);
            cr_assert_eq(bf_vars_set_str(bf_instance_vars(inst), name, &value), BF_OK);
        }
        bf_instance_commit(inst);
        if (i != 0) {
            bf_instance_mark_stored(inst);
        }
    }
    bf_cache_trim(cache);
    cr_assert_eq(stats_of(cache).count, 100, "the oldest is dirty: it keeps its place");
    bf_instance_t *dirty = bf_cache_get(cache, "i-0");
    bf_instance_mark_stored(dirty);
    bf_cache_trim(cache);
    cr_assert_lt(stats_of(cache).count, 60);
    cr_assert_gt(stats_of(cache).count, 1);
    cr_assert(has_number(cache, 0));
    bf_cache_free(cache);
}

/* Far more than stay open: the others are packed, and come back as they were. */
Test(cache, trim__packs_what_is_not_used)
{
    enum { COUNT = 20000 };
    bf_cache_t *cache = bf_cache_new((size_t)1 << 30);
    for (int i = 0; i < COUNT; i++) {
        (void)put_number(cache, i);
    }
    size_t open_bytes = stats_of(cache).bytes;
    bf_cache_trim(cache);
    cr_assert_eq(stats_of(cache).count, COUNT);
    cr_assert_lt(stats_of(cache).bytes, open_bytes);
    for (int i = 0; i < COUNT; i += 997) {
        char id[24];
        (void)snprintf(id, sizeof(id), "i-%d", i);
        bf_instance_t *inst = bf_cache_get(cache, id);
        cr_assert_not_null(inst);
        cr_assert_not(bf_instance_is_packed(inst));
        cr_assert_eq(bf_instance_state(inst, "g:a"), BF_TASK_WAITING);
        cr_assert_not(bf_instance_is_dirty(inst));
        cr_assert_eq(bf_instance_stored_revision(inst), 1);
    }
    bf_cache_free(cache);
}

/* The bound is one of memory, so the count must be what the heap gives. */
Test(cache, trim__counts_what_the_heap_gives)
{
    enum { COUNT = 30000 };
    size_t before = mallinfo2().uordblks;
    bf_cache_t *cache = bf_cache_new((size_t)1 << 30);
    for (int i = 0; i < COUNT; i++) {
        (void)put_number(cache, i);
        if (i % 100 == 0) {
            bf_cache_trim(cache);
        }
    }
    bf_cache_trim(cache);
    double heap = (double)(mallinfo2().uordblks - before);
    double counted = (double)stats_of(cache).bytes;
    bf_cache_free(cache);
    if (heap < 1) {
        cr_skip_test("the allocator of this build does not tell");
    }
    cr_assert_gt(counted, heap * 0.9, "%.0f bytes, counted %.0f", heap, counted);
    cr_assert_lt(counted, heap * 1.1, "%.0f bytes, counted %.0f", heap, counted);
}
