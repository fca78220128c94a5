/*
 * test_map.c - hash map and list: order, replacement, removal
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/list.h"
#include "bpmflow/map.h"

enum { MANY = 2000 };

static int values[MANY];

static bf_map_t *filled(size_t count)
{
    bf_map_t *map = bf_map_new();
    for (size_t i = 0; i < count; i++) {
        char key[16];
        int len = snprintf(key, sizeof(key), "key-%zu", i);
        cr_assert_eq(bf_map_put(map, key, (size_t)len, &values[i], NULL), BF_OK);
    }
    return map;
}

Test(map, get__finds_each_of_many)
{
    bf_map_t *map = filled(MANY);
    cr_assert_eq(bf_map_count(map), MANY);
    for (size_t i = 0; i < MANY; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "key-%zu", i);
        cr_assert_eq(bf_map_get_str(map, key), &values[i]);
    }
    cr_assert_null(bf_map_get_str(map, "key"));
    cr_assert_null(bf_map_get(map, "", 0));
    bf_map_free(map);
}

Test(map, put__replaces_and_returns_the_old_value)
{
    bf_map_t *map = filled(3);
    void *old = NULL;
    cr_assert_eq(bf_map_put(map, "key-1", 5, &values[9], &old), BF_OK);
    cr_assert_eq(old, &values[1]);
    cr_assert_eq(bf_map_count(map), 3);
    cr_assert_eq(bf_map_get_str(map, "key-1"), &values[9]);
    bf_map_free(map);
}

Test(map, put__takes_any_bytes_as_key)
{
    bf_map_t *map = bf_map_new();
    cr_assert_eq(bf_map_put(map, "a\0b", 3, &values[1], NULL), BF_OK);
    cr_assert_eq(bf_map_put(map, "a\0c", 3, &values[2], NULL), BF_OK);
    cr_assert_eq(bf_map_put(map, "", 0, &values[3], NULL), BF_OK);
    cr_assert_eq(bf_map_get(map, "a\0b", 3), &values[1]);
    cr_assert_eq(bf_map_get(map, "a\0c", 3), &values[2]);
    cr_assert_eq(bf_map_get(map, "", 0), &values[3]);
    cr_assert_null(bf_map_get(map, "a", 1));
    bf_map_free(map);
}

Test(map, next__goes_in_order_of_insertion_and_survives_removal)
{
    bf_map_t *map = filled(100);
    size_t cursor = 0;
    size_t seen = 0;
    const char *key = NULL;
    size_t key_len = 0;
    void *value = NULL;
    while (bf_map_next(map, &cursor, &key, &key_len, &value)) {
        cr_assert_eq(value, &values[seen]);
        if (seen % 2 == 0) {
            char copy[16];
            memcpy(copy, key, key_len);
            cr_assert_eq(bf_map_remove(map, copy, key_len), value);
        }
        seen++;
    }
    cr_assert_eq(seen, 100);
    cr_assert_eq(bf_map_count(map), 50);
    cursor = 0;
    for (size_t i = 1; i < 100; i += 2) {
        cr_assert(bf_map_next(map, &cursor, &key, &key_len, &value));
        cr_assert_eq(value, &values[i]);
    }
    cr_assert_not(bf_map_next(map, &cursor, &key, &key_len, &value));
    bf_map_free(map);
}

Test(map, remove__and_put_again_for_long_does_not_lose_or_grow)
{
    bf_map_t *map = bf_map_new();
    for (size_t round = 0; round < 20000; round++) {
        char key[24];
        int len = snprintf(key, sizeof(key), "k%zu", round);
        cr_assert_eq(bf_map_put(map, key, (size_t)len, &values[0], NULL), BF_OK);
        if (round >= 10) {
            len = snprintf(key, sizeof(key), "k%zu", round - 10);
            cr_assert_eq(bf_map_remove(map, key, (size_t)len), &values[0]);
        }
    }
    cr_assert_eq(bf_map_count(map), 10);
    cr_assert_lt(bf_map_held_bytes(map), 8192);
    cr_assert_null(bf_map_remove(map, "k1", 2));
    bf_map_clear(map);
    cr_assert_eq(bf_map_count(map), 0);
    cr_assert_null(bf_map_get_str(map, "k19999"));
    bf_map_free(map);
}

typedef struct {
    int number;
    bf_list_node_t node;
} item_t;

Test(list, foreach__allows_removal_of_the_current_node)
{
    item_t items[5];
    bf_list_t list;
    bf_list_init(&list);
    cr_assert_null(bf_list_take_first(&list));
    cr_assert_null(bf_list_last(&list));
    for (int i = 0; i < 5; i++) {
        items[i].number = i;
        bf_list_append(&list, &items[i].node);
    }
    BF_LIST_FOREACH (node, &list) {
        if (BF_CONTAINER_OF(node, item_t, node)->number % 2 == 0) {
            bf_list_remove(&list, node);
        }
    }
    cr_assert_eq(list.count, 2);
    bf_list_prepend(&list, &items[4].node);
    cr_assert_eq(bf_list_take_first(&list), &items[4].node);
    cr_assert_eq(bf_list_last(&list), &items[3].node);
    cr_assert_eq(bf_list_take_first(&list), &items[1].node);
    cr_assert_eq(list.count, 1);
}
