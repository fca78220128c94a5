/*
 * list.c - intrusive list
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/list.h"

#include "bpmflow/assert.h"

void bf_list_init(bf_list_t *list)
{
    list->head.next = &list->head;
    list->head.prev = &list->head;
    list->count = 0;
}

static void insert_between(bf_list_t *list, bf_list_node_t *node, bf_list_node_t *prev,
                           bf_list_node_t *next)
{
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
    list->count++;
}

void bf_list_append(bf_list_t *list, bf_list_node_t *node)
{
    insert_between(list, node, list->head.prev, &list->head);
}

void bf_list_prepend(bf_list_t *list, bf_list_node_t *node)
{
    insert_between(list, node, &list->head, list->head.next);
}

void bf_list_remove(bf_list_t *list, bf_list_node_t *node)
{
    BF_ASSERT(list->count > 0);
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = NULL;
    node->next = NULL;
    list->count--;
}

bf_list_node_t *bf_list_take_first(bf_list_t *list)
{
    if (list->count == 0) {
        return NULL;
    }
    bf_list_node_t *node = list->head.next;
    bf_list_remove(list, node);
    return node;
}

bf_list_node_t *bf_list_last(const bf_list_t *list)
{
    return list->count ? list->head.prev : NULL;
}
