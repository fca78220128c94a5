/*
 * worker.h - what the threads of the process share
 *
 * Filled by main before the shards start; afterwards read only, apart from the fields
 * that say otherwise.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_WORKER_H
#define BF_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/db.h"
#include "bpmflow/embedded_broker.h"
#include "bpmflow/id.h"
#include "bpmflow/log.h"
#include "bpmflow/metrics.h"
#include "bpmflow/plugin.h"
#include "worker/properties.h"
#include "worker/settings.h"

typedef struct bf_shard bf_shard_t;

/* What a shard tells main by a signal when it ends without having been asked to. */
#define BF_SIGNAL_SHARD_ENDED SIGUSR2

/* Of main: what definitions.c remembers between two loads. */
typedef struct bf_definitions {
    bf_metric_t **refused; /* files that the last load refused */
    size_t refused_count;
} bf_definitions_t;

typedef struct bf_worker {
    bf_settings_t settings;
    bf_log_t *log;                /* threadsafe */
    bf_metrics_t *metrics;        /* threadsafe */
    bf_catalogue_t *catalogue;    /* threadsafe */
    bf_definitions_t definitions; /* main only */
    bf_plugins_t *plugins;        /* read only once the shards run */
    void **objects;               /* main only: shared objects of the plugins */
    size_t object_count;
    bf_embedded_broker_t *broker; /* NULL: a real Kafka */
    bf_properties_t consumer_properties;
    bf_properties_t producer_properties;
    char incarnation[BF_UUID_TEXT]; /* of this start */
    pthread_t main_thread;
    atomic_bool stopping; /* set by main, read by the shards */
    bf_shard_t **shards;
    size_t shard_count;
} bf_worker_t;

/** kafka.brokers, or the address of the embedded broker. */
const char *bf_worker_brokers(const bf_worker_t *worker);
bool bf_worker_is_stopping(const bf_worker_t *worker);
/** Options of a connection; texts point into the settings. */
bf_db_options_t bf_worker_db_options(const bf_settings_t *settings);
#define BF_CLIENT_ID_MAX 160
/** Kafka's client.id of the owner of a partition ("worker/shard"). */
void bf_client_id_of_owner(const char *owner, char ret[BF_CLIENT_ID_MAX]);

#endif /* BF_WORKER_H */
