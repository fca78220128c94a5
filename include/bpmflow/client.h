/*
 * client.h - send commands and wait for their replies (CLI, tests, load)
 *
 * An idempotent producer and a reader of the reply topic without a group: every client
 * sees all replies and picks its own.
 *
 * Threads:  one client = one thread.
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

/**
 * Connect and find the topics; the reply reader starts at what is now the end of the
 * reply topic.
 * @return BF_OK; BF_E_NOT_FOUND (a topic; err says how to make it); BF_E_TIMEOUT (no
 *         broker); BF_E_INVALID (a property); BF_E_BUS; BF_E_NOMEM
 */
bf_status_t bf_client_new(const bf_client_options_t *options, int64_t timeout_ms,
                          bf_client_t **ret, bf_err_t *err) BF_MUST_USE;
/** Drops what is not acknowledged (flush before). NULL is allowed. */
void bf_client_free(bf_client_t *client);

/** Produce a command (murmur2 partitioner, key = instance ID). Asynchronous; waits only
 *  while librdkafka's queue is full. BF_E_LIMIT (too large), BF_E_BUS, BF_E_NOMEM. */
bf_status_t bf_client_send(bf_client_t *client, const char *instance_id, const char *json,
                           size_t len, bf_err_t *err) BF_MUST_USE;
/** Produce any record as it is (a dead letter that is tried again): topic, key, value and
 *  headers of the message; the murmur2 partitioner when there is a key. Asynchronous. */
bf_status_t bf_client_produce(bf_client_t *client, const bf_message_t *message,
                              bf_err_t *err) BF_MUST_USE;
/** Wait until everything sent is acknowledged. BF_E_TIMEOUT; BF_E_BUS: something was
 *  refused since the last call (err: the first one). */
bf_status_t bf_client_flush(bf_client_t *client, int64_t timeout_ms,
                            bf_err_t *err) BF_MUST_USE;

/** Next reply of anybody: header ce_id is its command_id, the key its instance ID, the
 *  value the reply. Release with bf_consumer_release(). BF_E_TIMEOUT (err is not
 *  touched), BF_E_BUS_RETRY, BF_E_BUS. */
bf_status_t bf_client_poll_reply(bf_client_t *client, int64_t timeout_ms,
                                 bf_record_t *ret, bf_err_t *err) BF_MUST_USE;

/** Send one and wait for its reply (by command_id and instance ID); the reply's JSON is
 *  appended to ret. BF_E_TIMEOUT: the command may still be carried out. Replies of others
 *  that come meanwhile are dropped. */
bf_status_t bf_client_call(bf_client_t *client, const char *instance_id,
                           const char *command_id, bf_text_t json, int64_t timeout_ms,
                           bf_str_t *ret, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLIENT_H */
