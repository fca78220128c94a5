/*
 * topic_id.h - Kafka's UUID of a topic
 *
 * librdkafka tells it from 2.3 on.  Before, one Metadata request (version 12, Kafka 3.1
 * and newer) over a plain TCP connection asks for it; brokers that only listen with TLS
 * or SASL are not asked, and the ID stays unknown.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TOPIC_ID_H
#define BF_TOPIC_ID_H

#include "bus_int.h"

/**
 * @param plaintext  the brokers are spoken to without TLS and SASL
 * @param ret        22 characters as Kafka's tools print them, or "" when unknown
 *
 * Blocks: up to timeout_ms.
 */
void bf_topic_id_find(rd_kafka_t *rk, bool plaintext, const char *topic,
                      int64_t timeout_ms, char ret[65]);

/** The same by the request of our own. */
void bf_topic_id_ask(const char *brokers, const char *topic, int64_t timeout_ms,
                     char ret[65]);

#endif /* BF_TOPIC_ID_H */
