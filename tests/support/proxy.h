/*
 * proxy.h - a TCP proxy that tests put between a program and its database
 *
 * Hands bytes on both ways.  It can be cut (all connections are closed and new ones are
 * refused) and mended, and it can cut by itself before a request with some text in it is
 * handed on, or between that and its answer: a COMMIT that is carried out and not
 * answered.
 *
 * Threads:  one of its own; the functions may be called from the test's.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_PROXY_H
#define BF_TEST_PROXY_H

#include <stdint.h>

typedef struct test_proxy test_proxy_t;

/** Listens on 127.0.0.1 on a free port. */
test_proxy_t *test_proxy_start(const char *host, uint16_t port);
void test_proxy_stop(test_proxy_t *proxy);
uint16_t test_proxy_port(const test_proxy_t *proxy);

void test_proxy_cut(test_proxy_t *proxy);
void test_proxy_mend(test_proxy_t *proxy);
/** Hand nothing on any more, but leave the connections open: a network that swallows. */
void test_proxy_stall(test_proxy_t *proxy);
/** Cut the connection that sends this text, after it was handed on and answered, before
 *  the answer is handed back. Once. Connections after that work. */
void test_proxy_lose_answer(test_proxy_t *proxy, const char *text);
/** The same before it is handed on: the server never gets it. */
void test_proxy_lose_request(test_proxy_t *proxy, const char *text);
/** Overwrite the first letter of the text in the next request that has it, so that the
 *  server answers with an error and the connection lives. */
void test_proxy_spoil_request(test_proxy_t *proxy, const char *text);
/** How many requests or answers were lost or spoiled. */
int test_proxy_lost(test_proxy_t *proxy);

#endif /* BF_TEST_PROXY_H */
