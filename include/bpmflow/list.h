/*
 * list.h - intrusive, counted, doubly linked list
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_LIST_H
#define BF_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bf_link_node {
    struct bf_link_node *prev;
    struct bf_link_node *next;
} bf_list_node_t;

typedef struct bf_list {
    bf_list_node_t head; /* head.next = first, head.prev = last; itself when empty */
    size_t count;
} bf_list_t;

#define BF_CONTAINER_OF(ptr, type, member)                                               \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The current node may be removed in the body. */
#define BF_LIST_FOREACH(node, list)                                                      \
    for (bf_list_node_t *node = (list)->head.next, *node##_next = node->next;            \
         node != &(list)->head; node = node##_next, node##_next = node->next)

void bf_list_init(bf_list_t *list);
void bf_list_append(bf_list_t *list, bf_list_node_t *node);
void bf_list_prepend(bf_list_t *list, bf_list_node_t *node);

/** The node must be in this list. */
void bf_list_remove(bf_list_t *list, bf_list_node_t *node);

/** Remove and return the first node, NULL when empty. */
bf_list_node_t *bf_list_take_first(bf_list_t *list);
bf_list_node_t *bf_list_last(const bf_list_t *list);

#endif /* BF_LIST_H */
