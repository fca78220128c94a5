/*
 * group.c - who is in a consumer group now
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/group.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

#include "bpmflow/clock.h"

#define ASK_AGAIN_MS 200

static bf_status_t make_client(const bf_group_options_t *options, rd_kafka_t **ret,
                               bf_err_t *err)
{
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok = rd_kafka_conf_set(conf, "bootstrap.servers", options->brokers, reason,
                                sizeof(reason)) == RD_KAFKA_CONF_OK;
    for (size_t i = 0; i < options->property_count && ok; i++) {
        ok = rd_kafka_conf_set(conf, options->properties[i].name,
                               options->properties[i].value, reason,
                               sizeof(reason)) == RD_KAFKA_CONF_OK;
    }
    rd_kafka_conf_set_log_cb(conf, NULL);
    *ret = ok ? rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof(reason)) : NULL;
    if (!*ret) {
        rd_kafka_conf_destroy(conf);
        return bf_err_set(err, BF_E_INVALID, "a Kafka client cannot be made: %s", reason);
    }
    return BF_OK;
}

static size_t count_in(const struct rd_kafka_group_list *list, const char *client_id)
{
    size_t count = 0;
    for (int i = 0; i < list->group_cnt; i++) {
        for (int j = 0; j < list->groups[i].member_cnt; j++) {
            const char *id = list->groups[i].members[j].client_id;
            count += id && strcmp(id, client_id) == 0;
        }
    }
    return count;
}

bf_status_t bf_group_count_members(const bf_group_options_t *options, const char *group,
                                   const char *client_id, int64_t timeout_ms, size_t *ret,
                                   bf_err_t *err)
{
    rd_kafka_t *client = NULL;
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    bf_status_t rc = make_client(options, &client, err);
    if (rc != BF_OK) {
        return rc;
    }
    for (;;) {
        const struct rd_kafka_group_list *list = NULL;
        int64_t left_ms = deadline - bf_clock_mono_ms();
        rd_kafka_resp_err_t failed =
            rd_kafka_list_groups(client, group, &list, (int)(left_ms > 0 ? left_ms : 1));
        if (!failed) {
            *ret = count_in(list, client_id);
            rd_kafka_group_list_destroy(list);
            break;
        }
        if (list) { /* some brokers answered, others did not */
            rd_kafka_group_list_destroy(list);
        }
        bool again = failed == RD_KAFKA_RESP_ERR__TRANSPORT ||
                     failed == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                     failed == RD_KAFKA_RESP_ERR__PARTIAL ||
                     failed == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS ||
                     failed == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
        if (!again || bf_clock_mono_ms() + ASK_AGAIN_MS >= deadline) {
            rc = bf_err_set(err, again ? BF_E_TIMEOUT : BF_E_BUS,
                            "the members of group %s cannot be listed: %s", group,
                            rd_kafka_err2str(failed));
            break;
        }
        bf_clock_sleep_ms(ASK_AGAIN_MS);
    }
    rd_kafka_destroy(client);
    return rc;
}
