/*
 * embedded_broker.h - librdkafka's mock cluster, for trying out and fast tests
 *
 * A broker inside of this process on 127.0.0.1: other programs (kcat, any client) can
 * connect too.  In memory only, 5 MB a partition (the oldest records go without a word),
 * no isolation, no transactional offsets, no fencing: it never proves exactly-once, and
 * delivery must be `idempotent`.  An empty fetch waits for all of fetch.wait.max.ms, new
 * records do not wake it: its consumers want BF_EMBEDDED_FETCH_WAIT_MS there.  The first
 * member of a group waits 3 seconds.
 *
 * Threads:  creating and freeing on one thread; everything else on any.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EMBEDDED_BROKER_H
#define BF_EMBEDDED_BROKER_H

#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_embedded_broker bf_embedded_broker_t;

/* For the librdkafka property fetch.wait.max.ms of consumers. */
#define BF_EMBEDDED_FETCH_WAIT_MS "10"

/** Start. BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_embedded_broker_new(bf_embedded_broker_t **ret, bf_err_t *err) BF_MUST_USE;
/** Stop; close consumers and producers before. NULL is allowed. */
void bf_embedded_broker_free(bf_embedded_broker_t *broker);
/** "127.0.0.1:port"; borrowed. */
const char *bf_embedded_broker_address(const bf_embedded_broker_t *broker);
/** BF_E_EXISTS, BF_E_BUS. */
bf_status_t bf_embedded_broker_create_topic(bf_embedded_broker_t *broker,
                                            const char *topic, int32_t partitions,
                                            bf_err_t *err) BF_MUST_USE;
/** Random per start: stands for the topic ID, so that offsets of an earlier life are not
 *  taken for ours. Borrowed. */
const char *bf_embedded_broker_incarnation(const bf_embedded_broker_t *broker);
/** For tests of failures: the rd_kafka_mock_cluster_t *. Borrowed. */
void *bf_embedded_broker_mock(const bf_embedded_broker_t *broker);

#endif /* BF_EMBEDDED_BROKER_H */
