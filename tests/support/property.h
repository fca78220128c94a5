/*
 * property.h - a property of any graph: run it over many seeds, make a failing graph
 * small
 *
 * Environment: PROPERTY_CASES=100000 runs that many seeds, BF_SEED=17 only that one, both
 * that many from that one on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TESTS_SUPPORT_PROPERTY_H
#define BF_TESTS_SUPPORT_PROPERTY_H

#include <stdbool.h>
#include <stdint.h>

#include "bpmflow/err.h"

/* What is wrong with this graph, "" = nothing; the text lives until the next call. The
 * seed is for choices beside the graph. */
typedef const char *(*property_fn)(const char *layout, uint64_t seed);

/** First seed and the one behind the last. @param cases how many by default */
void property_range(uint64_t cases, uint64_t *ret_first, uint64_t *ret_end);

/** Nodes of the graph of a seed: 3 .. 60. */
unsigned property_size(uint64_t seed);

/**
 * Does the property hold for this graph?  Where it does not, the graph is made small, and
 * seed, what is wrong and the graph as YAML are printed: the test fails.
 *
 * @param layout  freed; NULL (out of memory) fails the test
 */
bool property_holds(property_fn property, char *layout, uint64_t seed, const char *name);

/* --- graphs that are known only together with what must happen: made from the seed ---
 */

/* What is wrong with the graphs of this seed and size, "" = nothing. Tells its graphs by
 * property_graph(). */
typedef const char *(*property_sized_fn)(uint64_t seed, unsigned size);

/** Run it over the seeds, at most three failures; each is run again with the smallest
 * size at which it fails, and printed with seed, size and its graphs as YAML.
 *  @return how many seeds were run */
uint64_t property_check_sized(property_sized_fn property, uint64_t cases,
                              const char *name);

/** A graph of the case that runs (a layout); printed when the case fails. */
void property_graph(const char *layout);

/** Where properties write what is wrong. */
const char *property_wrong(const char *fmt, ...) BF_PRINTF(1, 2);

#endif /* BF_TESTS_SUPPORT_PROPERTY_H */
