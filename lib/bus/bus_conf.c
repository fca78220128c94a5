/*
 * bus_conf.c - librdkafka handles: properties, log and error callbacks
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "bus_int.h"

/* For all handles, below what each kind sets. */
static const bf_property_t common[] = {
    {"socket.nagle.disable", "true"}, /* false by default before librdkafka 2.10 */
    {"socket.keepalive.enable", "true"},   {"reconnect.backoff.ms", "50"},
    {"reconnect.backoff.max.ms", "2000"}, /* 10 s by default: slow to come back */
    {"allow.auto.create.topics", "false"}, {"log.connection.close", "false"},
    {"statistics.interval.ms", "0"},
};

/* What the guarantees stand on, or what the code relies on. */
static const char *const owned[] = {
    "bootstrap.servers",
    "metadata.broker.list",
    "client.id",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "transactional.id",
    "transaction.timeout.ms",
    "session.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "auto.commit.enable",
    "auto.offset.reset",
    "isolation.level",
    "partition.assignment.strategy",
    "partitioner",
    "msg_order_cmp",
    "queuing.strategy",
    "enable.idempotence",
    "enable.gapless.guarantee",
    "enable.partition.eof",
    "acks",
    "request.required.acks",
    "retries",
    "message.send.max.retries",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "delivery.report.only.error",
    "dr_cb",
    "dr_msg_cb",
    "log_cb",
    "log.queue",
    "error_cb",
    "rebalance_cb",
    "offset_commit_cb",
    "consume_cb",
    "stats_cb",
    "enabled_events",
    "opaque",
    "allow.auto.create.topics",
};

/* It is set by us and not by a setting. */
static bool is_owned(const char *name)
{
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
        if (!strcmp(owned[i], name)) {
            return true;
        }
    }
    return false;
}

static bf_status_t set(rd_kafka_conf_t *conf, const char *name, const char *value,
                       bf_err_t *err)
{
    char why[BF_BUS_TEXT_MAX];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_INVALID, "librdkafka property '%s': %s", name, why);
}

static bf_status_t set_user(rd_kafka_conf_t *conf, const bf_property_t *property,
                            bf_err_t *err)
{
    if (is_owned(property->name)) {
        return bf_err_set(err, BF_E_INVALID,
                          "librdkafka property '%s' cannot be set: the guarantees depend "
                          "on it (or it has a setting of its own); remove it",
                          property->name);
    }
    return set(conf, property->name, property->value, err);
}

bf_status_t bf_property_check(const bf_property_t *property, bool producer, bf_err_t *err)
{
    (void)producer; /* librdkafka knows one name space; the wrong kind is ignored there */
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (!conf) {
        return bf_err_nomem(err, "librdkafka properties");
    }
    bf_status_t rc = set_user(conf, property, err);
    rd_kafka_conf_destroy(conf);
    return rc;
}

/* On threads of librdkafka: only hands on. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility,
                   const char *text)
{
    const bf_bus_context_t *context = rd_kafka_opaque(rk);
    if (context && context->on_log) {
        context->on_log(context->arg, level, facility, text);
    }
}

/* On the thread that polls. */
static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
    bf_bus_context_t *context = opaque;
    context->event = (rd_kafka_resp_err_t)code;
    (void)snprintf(context->event_text, sizeof(context->event_text), "%s", reason);
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        char text[BF_BUS_TEXT_MAX];
        rd_kafka_resp_err_t cause = rd_kafka_fatal_error(rk, text, sizeof(text));
        (void)snprintf(context->event_text, sizeof(context->event_text), "%s: %.200s",
                       rd_kafka_err2name(cause), text);
    }
    if (context->on_log) {
        context->on_log(context->arg,
                        code == RD_KAFKA_RESP_ERR__FATAL ? LOG_ERR : LOG_WARNING, "ERROR",
                        context->event_text);
    }
}

static bf_status_t apply(rd_kafka_conf_t *conf, const bf_bus_setup_t *setup,
                         bf_err_t *err)
{
    bf_status_t rc = set(conf, "bootstrap.servers", setup->context->brokers, err);
    if (rc == BF_OK && setup->client_id) {
        rc = set(conf, "client.id", setup->client_id, err);
    }
    for (size_t i = 0; rc == BF_OK && i < sizeof(common) / sizeof(common[0]); i++) {
        rc = set(conf, common[i].name, common[i].value, err);
    }
    for (size_t i = 0; rc == BF_OK && i < setup->default_count; i++) {
        rc = set(conf, setup->defaults[i].name, setup->defaults[i].value, err);
    }
    for (size_t i = 0; rc == BF_OK && i < setup->property_count; i++) {
        rc = set_user(conf, &setup->properties[i], err);
    }
    return rc;
}

bf_status_t bf_bus_new(const bf_bus_setup_t *setup, rd_kafka_t **ret, bf_err_t *err)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (!conf) {
        return bf_err_nomem(err, "librdkafka properties");
    }
    bf_status_t rc = apply(conf, setup, err);
    if (rc != BF_OK) {
        rd_kafka_conf_destroy(conf);
        return rc;
    }
    rd_kafka_conf_set_opaque(conf, setup->context);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    if (setup->configure) {
        setup->configure(conf);
    }
    char why[BF_BUS_TEXT_MAX];
    rd_kafka_t *rk = rd_kafka_new(setup->producer ? RD_KAFKA_PRODUCER : RD_KAFKA_CONSUMER,
                                  conf, why, sizeof(why));
    if (!rk) {
        rd_kafka_conf_destroy(conf);
        return bf_err_set(err, BF_E_INVALID, "librdkafka: %s", why);
    }
    *ret = rk;
    return BF_OK;
}
