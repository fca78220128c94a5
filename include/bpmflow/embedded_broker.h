/*
 * embedded_broker.h - librdkafka's mock cluster, for trying out and fast tests
 *
 * No persistence, no isolation, no transactional offsets: it never proves exactly-once.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_EMBEDDED_BROKER_H
#define BF_EMBEDDED_BROKER_H

#include <stdint.h>

#include "bpmflow/err.h"

typedef struct bf_embedded_broker bf_embedded_broker_t;

bf_status_t bf_embedded_broker_new(bf_embedded_broker_t **ret, bf_err_t *err) BF_MUST_USE;
void bf_embedded_broker_free(bf_embedded_broker_t *broker);
/** "127.0.0.1:port"; borrowed. */
const char *bf_embedded_broker_address(const bf_embedded_broker_t *broker);
bf_status_t bf_embedded_broker_create_topic(bf_embedded_broker_t *broker,
                                            const char *topic, int32_t partitions,
                                            bf_err_t *err) BF_MUST_USE;
/** Random per start: stands for the topic ID, so that offsets of an earlier life are not
 *  taken for ours. Borrowed. */
const char *bf_embedded_broker_incarnation(const bf_embedded_broker_t *broker);

#endif /* BF_EMBEDDED_BROKER_H */
