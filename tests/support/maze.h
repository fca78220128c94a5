/*
 * maze.h - graphs of any nodes with any links: gateways, joins, cycles, nothing in order
 *
 * Everything comes from the seed. Conditions ask for the numbers n (counted up by tasks)
 * and k.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_MAZE_H
#define BF_TESTS_SUPPORT_MAZE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct maze {
    const char *id; /* of the graph */
    uint64_t seed;
    unsigned size;    /* nodes beside START */
    unsigned back;    /* one in so many links leads anywhere, else a few nodes ahead */
    bool with_actors; /* nodes that belong to r0, r1 or r2 */
    bool with_loops;
    const char *call; /* some activities call this graph; NULL = none */
} maze_t;

/** The layout as JSON; the caller frees. NULL when out of memory. */
char *maze_layout(const maze_t *maze);

#endif /* BF_TESTS_SUPPORT_MAZE_H */
