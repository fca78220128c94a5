/*
 * worker.c - what the threads of the process share
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/worker.h"

#include <stdio.h>

const char *bf_worker_brokers(const bf_worker_t *worker)
{
    return worker->broker ? bf_embedded_broker_address(worker->broker)
                          : worker->settings.kafka.brokers;
}

bool bf_worker_is_stopping(const bf_worker_t *worker)
{
    return atomic_load_explicit(&worker->stopping, memory_order_relaxed);
}

bf_db_options_t bf_worker_db_options(const bf_settings_t *settings)
{
    return (bf_db_options_t){
        .host = settings->mysql.host,
        .port = (uint32_t)settings->mysql.port,
        .socket = settings->mysql.socket[0] ? settings->mysql.socket : NULL,
        .user = settings->mysql.user,
        .password = settings->mysql.password,
        .database = settings->mysql.database,
        .tls = (bf_tls_t)settings->mysql.tls,
        .tls_ca = settings->mysql.tls_ca[0] ? settings->mysql.tls_ca : NULL,
        .one_at_a_time = !settings->mysql.pipeline,
        .connect_timeout_ms = (uint32_t)settings->mysql.connect_timeout_ms,
        .read_timeout_ms = (uint32_t)settings->mysql.read_timeout_ms,
        .write_timeout_ms = (uint32_t)settings->mysql.write_timeout_ms,
    };
}

void bf_client_id_of_owner(const char *owner, char ret[BF_CLIENT_ID_MAX])
{
    (void)snprintf(ret, BF_CLIENT_ID_MAX, "bpmflow-%s", owner);
}
