/*
 * test_batch.c - ranges of a batch, and the pool
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/batch.h"

#include <criterion/criterion.h>
#include <string.h>

static bf_batch_pool_t *pool;
static bf_batch_t *batch;
static bf_err_t err;

static void setup(void)
{
    err = (bf_err_t)BF_ERR_INIT;
    pool = bf_batch_pool_new(NULL);
    batch = bf_batch_take(pool);
    cr_assert(batch);
}

static void teardown(void)
{
    bf_batch_unref(batch);
    bf_batch_pool_free(pool);
}

TestSuite(batch, .init = setup, .fini = teardown);

static void add(const char *instance, const char *command)
{
    bf_record_t record = {.topic = "t", .partition = 1, .offset = (int64_t)batch->count};
    cr_assert_eq(bf_batch_add(batch, &record), BF_OK);
    bf_item_t *item = &batch->items[batch->count - 1];
    item->decoded = BF_DECODED;
    item->command.instance_id = instance;
    item->command.command_id = command;
}

Test(batch, set_range__finds_repeated_commands)
{
    add("i", "a");
    add("j", "a"); /* of another instance: another command */
    add("i", "b");
    add("i", "a");
    add("i", "a");
    cr_assert_eq(bf_batch_set_range(batch, 0, 5, &err), BF_OK);
    cr_assert_eq(batch->items[0].first, BF_NO_ITEM);
    cr_assert_eq(batch->items[1].first, BF_NO_ITEM);
    cr_assert_eq(batch->items[2].first, BF_NO_ITEM);
    cr_assert_eq(batch->items[3].first, 0);
    cr_assert_eq(batch->items[4].first, 0);
}

Test(batch, set_range__ids_do_not_run_into_each_other)
{
    add("ab", "c");
    add("a", "bc");
    cr_assert_eq(bf_batch_set_range(batch, 0, 2, &err), BF_OK);
    cr_assert_eq(batch->items[1].first, BF_NO_ITEM);
}

Test(batch, set_range__looks_only_into_the_range)
{
    add("i", "a");
    add("i", "a");
    add("i", "a");
    cr_assert_eq(bf_batch_set_range(batch, 1, 3, &err), BF_OK);
    cr_assert_eq(batch->items[1].first, BF_NO_ITEM);
    cr_assert_eq(batch->items[2].first, 1);
}

Test(batch, set_range__a_command_with_an_earlier_outcome_is_nobodys_first)
{
    static const bf_command_row_t earlier = {.command = "start", .code = "ok"};
    add("i", "a");
    add("i", "a");
    batch->items[0].earlier = &earlier;
    cr_assert_eq(bf_batch_set_range(batch, 0, 2, &err), BF_OK);
    cr_assert_eq(batch->items[1].first, BF_NO_ITEM);
}

Test(batch, set_range__what_is_no_command_does_not_count)
{
    add("i", "a");
    add("i", "a");
    batch->items[0].decoded = BF_DECODED_REJECTED;
    cr_assert_eq(bf_batch_set_range(batch, 0, 2, &err), BF_OK);
    cr_assert_eq(batch->items[1].first, BF_NO_ITEM);
}

Test(batch, add__counts_bytes_and_grows)
{
    for (int i = 0; i < 1000; i++) {
        bf_record_t record = {.key_len = 3, .value_len = 7, .offset = i};
        cr_assert_eq(bf_batch_add(batch, &record), BF_OK);
    }
    cr_assert_eq(batch->count, 1000);
    cr_assert_eq(batch->bytes, 10000);
    cr_assert_eq(batch->items[999].offset, 999);
}

Test(batch, unref__the_last_one_gives_it_back_empty)
{
    bf_batch_t *second = bf_batch_take(pool);
    cr_assert_neq(second, batch);
    atomic_fetch_add(&second->refs, 1); /* a publication */
    bf_batch_unref(second);
    bf_batch_t *third = bf_batch_take(pool);
    cr_assert_neq(third, second, "it is still out");
    bf_batch_unref(second);
    bf_batch_t *fourth = bf_batch_take(pool);
    cr_assert_eq(fourth, second);
    cr_assert_eq(fourth->count, 0);
    bf_batch_unref(third);
    bf_batch_unref(fourth);
}

Test(batch, next_limit__follows_what_a_full_batch_takes)
{
    cr_assert_eq(bf_batch_next_limit(0, 0, 0, 200, 1000), 1000);
    cr_assert_eq(bf_batch_next_limit(1000, 1000, 250, 200, 1000), 800, "too slow");
    cr_assert_eq(bf_batch_next_limit(800, 800, 3000, 200, 1000), 400, "never below half");
    cr_assert_eq(bf_batch_next_limit(120, 120, 400, 200, 1000), BF_BATCH_LEAST);
    cr_assert_eq(bf_batch_next_limit(400, 400, 190, 200, 1000), 400, "just right");
    cr_assert_eq(bf_batch_next_limit(400, 400, 100, 200, 1000), 501, "could be larger");
    cr_assert_eq(bf_batch_next_limit(900, 900, 10, 200, 1000), 1000, "never above max");
}

Test(batch, next_limit__learns_only_from_full_batches)
{
    cr_assert_eq(bf_batch_next_limit(400, 399, 900, 200, 1000), 400);
    cr_assert_eq(bf_batch_next_limit(400, 1, 1, 200, 1000), 400);
}

Test(batch, next_limit__without_a_target_is_the_most)
{
    cr_assert_eq(bf_batch_next_limit(400, 400, 9000, 0, 1000), 1000);
    cr_assert_eq(bf_batch_next_limit(20, 20, 9000, 200, 20), 20, "less than the least");
}
