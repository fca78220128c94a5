/*
 * embedded_broker.c - librdkafka's mock cluster as a broker for trying out
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/embedded_broker.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdlib.h>

#include "bpmflow/id.h"
#include "bus_int.h"

struct bf_embedded_broker {
    bf_bus_context_t context;
    rd_kafka_t *rk; /* owner of the cluster */
    rd_kafka_mock_cluster_t *cluster;
    char incarnation[BF_UUID_TEXT];
};

bf_status_t bf_embedded_broker_new(bf_embedded_broker_t **ret, bf_err_t *err)
{
    bf_embedded_broker_t *broker = calloc(1, sizeof(*broker));
    if (!broker) {
        return bf_err_nomem(err, "embedded broker");
    }
    /* The owner needs an address that it never talks to. Without socket.nagle.disable
     * here a transaction takes 40 ms. */
    broker->context = (bf_bus_context_t){.owner = broker, .brokers = "127.0.0.1:1"};
    const bf_property_t defaults[] = {{"test.mock.num.brokers", "1"}};
    bf_bus_setup_t setup = {.context = &broker->context,
                            .producer = true,
                            .client_id = "bpmflow-embedded-broker",
                            .defaults = defaults,
                            .default_count = 1};
    bf_status_t rc = bf_bus_new(&setup, &broker->rk, err);
    if (rc == BF_OK) {
        broker->cluster = rd_kafka_handle_mock_cluster(broker->rk);
        rc = broker->cluster ? BF_OK
                             : bf_err_set(err, BF_E_BUS,
                                          "the embedded broker did not start; was this "
                                          "librdkafka built without its mock cluster?");
    }
    if (rc != BF_OK) {
        bf_embedded_broker_free(broker);
        return rc;
    }
    bf_uuid_make(broker->incarnation);
    *ret = broker;
    return BF_OK;
}

void bf_embedded_broker_free(bf_embedded_broker_t *broker)
{
    if (broker) {
        if (broker->rk) {
            rd_kafka_destroy(broker->rk);
        }
        free(broker);
    }
}

const char *bf_embedded_broker_address(const bf_embedded_broker_t *broker)
{
    return rd_kafka_mock_cluster_bootstraps(broker->cluster);
}

bf_status_t bf_embedded_broker_create_topic(bf_embedded_broker_t *broker,
                                            const char *topic, int32_t partitions,
                                            bf_err_t *err)
{
    rd_kafka_resp_err_t rc =
        rd_kafka_mock_topic_create(broker->cluster, topic, partitions, 1);
    if (rc != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return bf_bus_fail(
            err, rc == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS ? BF_E_EXISTS : BF_E_BUS,
            rc, NULL, "topic '%s' of the embedded broker", topic);
    }
    return BF_OK;
}

const char *bf_embedded_broker_incarnation(const bf_embedded_broker_t *broker)
{
    return broker->incarnation;
}

void *bf_embedded_broker_mock(const bf_embedded_broker_t *broker)
{
    return broker->cluster;
}
