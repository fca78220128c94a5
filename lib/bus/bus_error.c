/*
 * bus_error.c - errors of librdkafka as sentences with a remedy
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bus_int.h"

typedef struct remedy {
    rd_kafka_resp_err_t code;
    bf_status_t status;
    const char *text;
} remedy_t;

static const remedy_t remedies[] = {
    {RD_KAFKA_RESP_ERR__TRANSPORT, BF_E_BUS_RETRY,
     "is the broker up and reachable? See kafka.brokers"},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, BF_E_BUS_RETRY,
     "is the broker up and reachable? See kafka.brokers"},
    {RD_KAFKA_RESP_ERR__RESOLVE, BF_E_BUS_RETRY,
     "the name of the broker cannot be resolved; see kafka.brokers"},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, BF_E_TIMEOUT,
     "the broker does not answer; is it up and reachable? See kafka.brokers"},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, BF_E_BUS_RETRY,
     "the broker did not acknowledge in time; is it up and reachable?"},
    {RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, BF_E_TIMEOUT,
     "the broker does not answer; is it up and reachable? See kafka.brokers"},
    {RD_KAFKA_RESP_ERR__WAIT_COORD, BF_E_BUS_RETRY, "waiting for the coordinator"},
    {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, BF_E_BUS_RETRY,
     "the broker is still loading; this passes"},
    {RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, BF_E_BUS_RETRY,
     "no coordinator yet; can the broker create its internal topics (replication "
     "factor)?"},
    {RD_KAFKA_RESP_ERR_NOT_COORDINATOR, BF_E_BUS_RETRY, "this passes"},
    {RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, BF_E_BUS_RETRY,
     "the partition has no leader; is a broker down?"},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, BF_E_BUS_RETRY,
     "fewer replicas in sync than min.insync.replicas; is a broker down?"},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, BF_E_BUS_RETRY,
     "fewer replicas in sync than min.insync.replicas; is a broker down?"},
    {RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, BF_E_BUS_RETRY, "the group rebalances"},
    {RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, BF_E_TIMEOUT,
     "a transaction of another producer is pending"},
    {RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED, BF_E_BUS_RETRY,
     "it was not polled for max.poll.interval.ms and left the group; the next poll joins "
     "again"},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, BF_E_BUS,
     "check sasl.mechanism, sasl.username, sasl.password and the certificates"},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, BF_E_BUS,
     "check sasl.mechanism, sasl.username and sasl.password"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, BF_E_BUS,
     "the broker offers other SASL mechanisms; see sasl.mechanism"},
    {RD_KAFKA_RESP_ERR__SSL, BF_E_BUS,
     "check security.protocol, ssl.ca.location and the broker's listener"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, BF_E_BUS,
     "the user needs READ on the command topic, WRITE on the others and DESCRIBE on all"},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, BF_E_BUS,
     "the user needs READ on the consumer group (kafka.group)"},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, BF_E_BUS,
     "the user needs WRITE and DESCRIBE on the transactional IDs of the group (prefix: "
     "kafka.group)"},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, BF_E_BUS,
     "the user needs IDEMPOTENT_WRITE on the cluster"},
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, BF_E_BUS,
     "raise max.message.bytes of the topic and message.max.bytes of the producer"},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, BF_E_BUS,
     "raise max.message.bytes of the topic"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, BF_E_BUS,
     "create the topic: kafka-topics.sh --create --topic NAME --partitions N"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, BF_E_BUS,
     "create the topic: kafka-topics.sh --create --topic NAME --partitions N"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, BF_E_BUS,
     "the topic has fewer partitions; was it created again?"},
    {RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE, BF_E_BUS,
     "the records were removed by retention, or the topic was created again"},
    {RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, BF_E_BUS,
     "the records were removed by retention, or the topic was created again"},
    {RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, BF_E_BUS,
     "kafka.transaction_timeout_ms is over the broker's transaction.max.timeout.ms"},
    {RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT, BF_E_BUS,
     "kafka.session_timeout_ms is outside of the broker's "
     "group.min/max.session.timeout.ms"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, BF_E_BUS,
     "the broker is too old; Kafka 2.5 or newer is needed"},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, BF_E_BUS,
     "the broker is too old; Kafka 2.5 or newer is needed"},
    {RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED, BF_E_BUS,
     "the group is full (group.max.size of the broker)"},
    {RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, BF_E_BUS,
     "other members of the group use another assignor; does some other program use "
     "kafka.group?"},
};

static const remedy_t *find_remedy(rd_kafka_resp_err_t code)
{
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        if (remedies[i].code == code) {
            return &remedies[i];
        }
    }
    return NULL;
}

bool bf_bus_is_stale(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
           code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
           code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
}

bool bf_bus_is_fenced(rd_kafka_resp_err_t code)
{
    return code == RD_KAFKA_RESP_ERR__FENCED ||
           code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
           code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

bf_status_t bf_bus_status(rd_kafka_resp_err_t code)
{
    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        return BF_E_BUS_FATAL;
    }
    if (bf_bus_is_fenced(code) || bf_bus_is_stale(code)) {
        return BF_E_FENCED;
    }
    const remedy_t *remedy = find_remedy(code);
    return remedy ? remedy->status : BF_E_BUS;
}

bf_status_t bf_bus_fail(bf_err_t *err, bf_status_t status, rd_kafka_resp_err_t code,
                        const char *detail, const char *what, ...)
{
    if (!err || err->status != BF_OK) {
        return status;
    }
    char head[BF_BUS_TEXT_MAX];
    va_list args;
    va_start(args, what);
    (void)vsnprintf(head, sizeof(head), what, args);
    va_end(args);
    const remedy_t *remedy = find_remedy(code);
    return bf_err_set(err, status, "%s: %.250s%s%s", head,
                      detail && *detail ? detail : rd_kafka_err2str(code),
                      remedy ? "; " : "", remedy ? remedy->text : "");
}

bf_status_t bf_bus_fail_error(bf_err_t *err, bf_status_t status, rd_kafka_error_t *error,
                              const char *what)
{
    bf_bus_fail(err, status, rd_kafka_error_code(error), rd_kafka_error_string(error),
                "%s", what);
    rd_kafka_error_destroy(error);
    return status;
}

bf_status_t bf_bus_no_topic(bf_err_t *err, const char *topic, const char *brokers)
{
    return bf_err_set(err, BF_E_NOT_FOUND,
                      "the topic '%s' does not exist at %s; create it: kafka-topics.sh "
                      "--bootstrap-server %s --create --topic %s --partitions 8",
                      topic, brokers, brokers, topic);
}

int bf_bus_timeout(int64_t ms)
{
    const int longest = 24 * 3600 * 1000;
    return ms < 0 ? 0 : ms > longest ? longest : (int)ms;
}
