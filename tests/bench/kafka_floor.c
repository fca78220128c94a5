/*
 * kafka_floor.c - how fast Kafka alone takes what a pipeline run has moved
 *
 *     kafka_floor --brokers B --commands TOPIC --events TOPIC --replies TOPIC --group G
 *                 --lanes N --batch N --partitions N --event-bytes N --reply-bytes N
 *
 * Reads the commands from their beginning, and for each writes an event and a reply of
 * the given sizes under the key of the command: one transaction, with the offsets, for
 * each batch.  One thread, consumer and producer for each shard of the run.  Nothing is
 * decoded, executed or stored.  Shares no code with the product.  The last line is a JSON
 * object.
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LANES = 64, CALL_MS = 20000 };

typedef struct {
    const char *brokers;
    const char *commands;
    const char *events;
    const char *replies;
    const char *group;
    long lanes;
    long batch;
    long partitions;
    long event_bytes;
    long reply_bytes;
} options_t;

typedef struct {
    const options_t *opt;
    long index;
    size_t commands;
    size_t batches;
    int64_t first_ns;
    int64_t last_ns;
} lane_t;

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void fatal(const char *what, const char *why)
{
    (void)fprintf(stderr, "kafka_floor: %s: %s\n", what, why);
    exit(2);
}

static void check(rd_kafka_error_t *error, const char *what)
{
    if (error != NULL) {
        fatal(what, rd_kafka_error_string(error));
    }
}

static rd_kafka_t *open_client(rd_kafka_type_t type, const char *const (*settings)[2],
                               size_t count)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < count; i++) {
        if (rd_kafka_conf_set(conf, settings[i][0], settings[i][1], text, sizeof(text)) !=
            RD_KAFKA_CONF_OK) {
            fatal(settings[i][0], text);
        }
    }
    rd_kafka_t *rk = rd_kafka_new(type, conf, text, sizeof(text));
    if (rk == NULL) {
        fatal("client", text);
    }
    return rk;
}

/* Every lanes-th partition, from its beginning; *ret_total: commands in them. */
static rd_kafka_t *open_consumer(const lane_t *lane, size_t *ret_total)
{
    const options_t *opt = lane->opt;
    const char *const settings[][2] = {{"bootstrap.servers", opt->brokers},
                                       {"group.id", opt->group},
                                       {"enable.auto.commit", "false"}};
    rd_kafka_t *rk = open_client(RD_KAFKA_CONSUMER, settings, 3);
    rd_kafka_poll_set_consumer(rk);
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    *ret_total = 0;
    for (long p = lane->index; p < opt->partitions; p += opt->lanes) {
        int64_t low = 0;
        int64_t high = 0;
        if (rd_kafka_query_watermark_offsets(rk, opt->commands, (int32_t)p, &low, &high,
                                             CALL_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            fatal(opt->commands, "has no watermarks");
        }
        rd_kafka_topic_partition_list_add(list, opt->commands, (int32_t)p)->offset = low;
        *ret_total += (size_t)(high - low);
    }
    if (rd_kafka_assign(rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal(opt->commands, "cannot be assigned");
    }
    rd_kafka_topic_partition_list_destroy(list);
    return rk;
}

static rd_kafka_t *open_producer(const lane_t *lane)
{
    char id[200];
    (void)snprintf(id, sizeof(id), "%s-%ld", lane->opt->group, lane->index);
    const char *const settings[][2] = {
        {"bootstrap.servers", lane->opt->brokers}, {"transactional.id", id},
        {"partitioner", "murmur2_random"},         {"retry.backoff.ms", "5"},
        {"queue.buffering.max.kbytes", "262144"},  {"linger.ms", "5"}};
    rd_kafka_t *rk = open_client(RD_KAFKA_PRODUCER, settings, 6);
    check(rd_kafka_init_transactions(rk, CALL_MS), "init_transactions");
    return rk;
}

/* Produces for what it reads; the next offsets stand in `next`. */
static size_t read_batch(const lane_t *lane, rd_kafka_t *consumer,
                         rd_kafka_topic_t *const topics[2], const char *filler,
                         rd_kafka_topic_partition_list_t *next)
{
    const options_t *opt = lane->opt;
    size_t count = 0;
    while (count < (size_t)opt->batch) {
        rd_kafka_message_t *msg = rd_kafka_consumer_poll(consumer, count > 0 ? 0 : 1000);
        if (msg == NULL) {
            break;
        }
        if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            const size_t sizes[2] = {(size_t)opt->event_bytes, (size_t)opt->reply_bytes};
            for (int i = 0; i < 2; i++) {
                if (rd_kafka_produce(topics[i], RD_KAFKA_PARTITION_UA,
                                     RD_KAFKA_MSG_F_COPY, (void *)(uintptr_t)filler,
                                     sizes[i], msg->key, msg->key_len, NULL) != 0) {
                    fatal("produce", rd_kafka_err2str(rd_kafka_last_error()));
                }
            }
            rd_kafka_topic_partition_t *at =
                rd_kafka_topic_partition_list_find(next, opt->commands, msg->partition);
            at = at != NULL ? at
                            : rd_kafka_topic_partition_list_add(next, opt->commands,
                                                                msg->partition);
            at->offset = msg->offset + 1;
            count++;
        }
        rd_kafka_message_destroy(msg);
    }
    return count;
}

static void *run_lane(void *arg)
{
    lane_t *lane = arg;
    const options_t *opt = lane->opt;
    size_t total = 0;
    rd_kafka_t *consumer = open_consumer(lane, &total);
    rd_kafka_t *producer = open_producer(lane);
    rd_kafka_topic_t *topics[2] = {rd_kafka_topic_new(producer, opt->events, NULL),
                                   rd_kafka_topic_new(producer, opt->replies, NULL)};
    rd_kafka_consumer_group_metadata_t *group =
        rd_kafka_consumer_group_metadata(consumer);
    size_t bytes = (size_t)(opt->event_bytes > opt->reply_bytes ? opt->event_bytes
                                                                : opt->reply_bytes);
    char *filler = malloc(bytes + 1);
    if (filler == NULL) {
        fatal("memory", "too little");
    }
    memset(filler, 'x', bytes + 1);
    lane->first_ns = now_ns();
    while (lane->commands < total) {
        rd_kafka_topic_partition_list_t *next = rd_kafka_topic_partition_list_new(8);
        check(rd_kafka_begin_transaction(producer), "begin");
        size_t count = read_batch(lane, consumer, topics, filler, next);
        if (count > 0) {
            check(rd_kafka_send_offsets_to_transaction(producer, next, group, CALL_MS),
                  "offsets");
        }
        check(rd_kafka_commit_transaction(producer, CALL_MS), "commit");
        rd_kafka_topic_partition_list_destroy(next);
        lane->commands += count;
        lane->batches += count > 0;
    }
    lane->last_ns = now_ns();
    free(filler);
    rd_kafka_consumer_group_metadata_destroy(group);
    rd_kafka_topic_destroy(topics[0]);
    rd_kafka_topic_destroy(topics[1]);
    rd_kafka_destroy(producer);
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return NULL;
}

static void parse(options_t *opt, int argc, char **argv)
{
    static const struct option known[] = {
        {"brokers", required_argument, NULL, 0},
        {"commands", required_argument, NULL, 0},
        {"events", required_argument, NULL, 0},
        {"replies", required_argument, NULL, 0},
        {"group", required_argument, NULL, 0},
        {"lanes", required_argument, NULL, 0},
        {"batch", required_argument, NULL, 0},
        {"partitions", required_argument, NULL, 0},
        {"event-bytes", required_argument, NULL, 0},
        {"reply-bytes", required_argument, NULL, 0},
        {0},
    };
    const char **texts[] = {&opt->brokers, &opt->commands, &opt->events, &opt->replies,
                            &opt->group};
    long *numbers[] = {&opt->lanes, &opt->batch, &opt->partitions, &opt->event_bytes,
                       &opt->reply_bytes};
    int at = 0;
    int c = 0;
    while ((c = getopt_long(argc, argv, "", known, &at)) != -1) {
        if (c == '?') {
            exit(2);
        }
        if (at < 5) {
            *texts[at] = optarg;
        } else {
            *numbers[at - 5] = strtol(optarg, NULL, 10);
        }
    }
    for (size_t i = 0; i < 5; i++) {
        if (*texts[i] == NULL || *numbers[i] < 1) {
            fatal("usage", "see the head of kafka_floor.c");
        }
    }
    opt->lanes = opt->lanes > MAX_LANES ? MAX_LANES : opt->lanes;
}

int main(int argc, char **argv)
{
    options_t opt = {0};
    parse(&opt, argc, argv);
    lane_t lanes[MAX_LANES] = {0};
    pthread_t threads[MAX_LANES];
    for (long i = 0; i < opt.lanes; i++) {
        lanes[i] = (lane_t){.opt = &opt, .index = i};
        if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]) != 0) {
            fatal("thread", "cannot be started");
        }
    }
    size_t commands = 0;
    size_t batches = 0;
    int64_t first = INT64_MAX;
    int64_t last = 0;
    for (long i = 0; i < opt.lanes; i++) {
        (void)pthread_join(threads[i], NULL);
        commands += lanes[i].commands;
        batches += lanes[i].batches;
        first = lanes[i].first_ns < first ? lanes[i].first_ns : first;
        last = lanes[i].last_ns > last ? lanes[i].last_ns : last;
    }
    double seconds = (double)(last - first) / 1e9;
    printf("{\"what\":\"kafka_floor\",\"lanes\":%ld,\"commands\":%zu,\"batches\":%zu,"
           "\"mean_batch\":%.0f,\"seconds\":%.3f,\"per_second\":%.0f}\n",
           opt.lanes, commands, batches,
           batches > 0 ? (double)commands / (double)batches : 0.0, seconds,
           seconds > 0 ? (double)commands / seconds : 0.0);
    return 0;
}
