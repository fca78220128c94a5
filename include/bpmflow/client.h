/*
 * client.h - send commands and wait for their replies (CLI, tests, load)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLIENT_H
#define BF_CLIENT_H

#include "bpmflow/consumer.h"

typedef struct bf_client bf_client_t;

typedef struct bf_client_options {
    const char *brokers;
    const char *command_topic;
    const char *reply_topic; /* NULL: replies are not read */
    const bf_property_t *properties;
    size_t property_count;
} bf_client_options_t;

/** Connects; the reply reader starts at the end of the reply topic. */
bf_status_t bf_client_new(const bf_client_options_t *options, int64_t timeout_ms,
                          bf_client_t **ret, bf_err_t *err) BF_MUST_USE;
void bf_client_free(bf_client_t *client);

/** Produce a command (murmur2 partitioner, key = instance ID). Asynchronous. */
bf_status_t bf_client_send(bf_client_t *client, const char *instance_id, const char *json,
                           size_t len, bf_err_t *err) BF_MUST_USE;
/** Produce any record as it is (a dead letter that is tried again): topic, key, value and
 *  headers of the message; the murmur2 partitioner when there is a key. Asynchronous. */
bf_status_t bf_client_produce(bf_client_t *client, const bf_message_t *message,
                              bf_err_t *err) BF_MUST_USE;
/** Wait until everything sent is acknowledged. */
bf_status_t bf_client_flush(bf_client_t *client, int64_t timeout_ms,
                            bf_err_t *err) BF_MUST_USE;

/** Next reply of anybody; its command_id is in the header ce_id... see record headers and
 *  value. Release with bf_consumer_release(). BF_E_TIMEOUT. */
bf_status_t bf_client_poll_reply(bf_client_t *client, int64_t timeout_ms,
                                 bf_record_t *ret, bf_err_t *err) BF_MUST_USE;

/** Send one and wait for its reply (by command_id); the reply's JSON goes to ret. */
bf_status_t bf_client_call(bf_client_t *client, const char *instance_id,
                           const char *command_id, const char *json, size_t len,
                           int64_t timeout_ms, bf_str_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLIENT_H */
