/*
 * endpoint.c - /metrics, /healthz, /readyz
 *
 * healthz says that the process answers; readyz that every shard can work, or why not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/process.h"

static unsigned serve_metrics(void *arg, bf_str_t *body)
{
    const bf_worker_t *worker = arg;
    bf_metrics_write(worker->metrics, body);
    return 200;
}

static unsigned serve_health(void *arg, bf_str_t *body)
{
    (void)arg;
    bf_str_puts(body, "ok\n");
    return 200;
}

static unsigned serve_ready(void *arg, bf_str_t *body)
{
    const bf_worker_t *worker = arg;
    bool all = !bf_worker_is_stopping(worker);
    if (!all) {
        bf_str_puts(body, "stopping\n");
    }
    for (size_t i = 0; i < worker->shard_count; i++) {
        char reason[256];
        if (!bf_shard_is_ready(worker->shards[i], reason)) {
            all = false;
            bf_str_printf(body, "shard %zu: %s\n", i, reason);
        }
    }
    if (all) {
        bf_str_puts(body, "ready\n");
    }
    return all ? 200 : 503;
}

bf_status_t bf_endpoint_start(bf_worker_t *worker, bf_admin_t **ret, bf_err_t *err)
{
    static bf_admin_route_t routes[] = {
        {"/metrics", "text/plain; version=0.0.4; charset=utf-8", serve_metrics, NULL},
        {"/healthz", "text/plain; charset=utf-8", serve_health, NULL},
        {"/readyz", "text/plain; charset=utf-8", serve_ready, NULL},
    };
    *ret = NULL;
    if (worker->settings.admin.port == 0) {
        return BF_OK;
    }
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        routes[i].arg = worker;
    }
    const bf_admin_options_t options = {
        .address = worker->settings.admin.address,
        .port = (uint16_t)worker->settings.admin.port,
        .routes = routes,
        .route_count = sizeof(routes) / sizeof(routes[0]),
    };
    return bf_admin_start(&options, ret, err);
}
