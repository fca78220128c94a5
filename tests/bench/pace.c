/*
 * pace.c - sends submits at a given rate, and measures when replies and events are seen
 *
 *     pace --brokers B --commands TOPIC --replies TOPIC --events TOPIC --prefix P
 *          --instances N --steps M [--rate R] [--window W] [--seconds S]
 *
 * The instances are started already (driver --starts-only, the same prefix).  Step 1 of
 * all instances is sent, then step 2, and so on.  With --rate the commands are sent on a
 * clock, whatever the worker does (open loop): a latency counts from the moment at which
 * the command was due, so that a stall counts for all that it delays.  With --window at
 * most W commands are unanswered.  Replies and events are read with read_committed, by a
 * thread each.
 *
 * Shares no code with the product.  The last line is a JSON object; exit status 0 when
 * each command has its reply and its event.
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *brokers;
    const char *commands;
    const char *replies;
    const char *events;
    const char *prefix;
    long instances;
    long steps;
    long rate;   /* commands/s; 0 = as fast as the window allows */
    long window; /* 0 = none */
    long seconds;
} options_t;

/* What is known of each command, by its number. */
typedef struct {
    const options_t *opt;
    size_t total;
    _Atomic int64_t *due_ns; /* when it was to be sent */
    atomic_size_t answered;
    int64_t deadline_ns;
} run_t;

/* One topic being read. */
typedef struct {
    run_t *run;
    const char *topic;
    rd_kafka_t *rk;
    uint32_t *latency_us; /* by command; 0 = not seen */
    size_t seen;
    size_t again; /* seen before */
    int64_t last_ns;
    pthread_t thread;
} reader_t;

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void fatal(const char *what, const char *why)
{
    (void)fprintf(stderr, "pace: %s: %s\n", what, why);
    exit(2);
}

static void *need(void *block)
{
    if (block == NULL) {
        fatal("memory", "too little");
    }
    return block;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[512];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK) {
        fatal(name, text);
    }
}

/* --- reading --- */

/* "command_id":"<prefix>-<instance>-<step>" to the number of the command; -1 = not one of
 * ours. */
static long number_of(const options_t *opt, const rd_kafka_message_t *msg)
{
    static const char name[] = "\"command_id\":\"";
    const char *text = memmem(msg->payload, msg->len, name, sizeof(name) - 1);
    size_t prefix = strlen(opt->prefix);
    if (text == NULL) {
        return -1;
    }
    text += sizeof(name) - 1; /* the value is JSON and ends with a brace behind it */
    if (strncmp(text, opt->prefix, prefix) != 0 || text[prefix] != '-') {
        return -1;
    }
    char *end = NULL;
    long instance = strtol(text + prefix + 1, &end, 10);
    long step = *end == '-' ? strtol(end + 1, &end, 10) : 0;
    bool ours = *end == '"' && instance >= 0 && instance < opt->instances && step >= 1 &&
                step <= opt->steps;
    return ours ? (step - 1) * opt->instances + instance : -1;
}

static void take(reader_t *reader, const rd_kafka_message_t *msg)
{
    run_t *run = reader->run;
    long number = number_of(run->opt, msg);
    if (number < 0) {
        return;
    }
    int64_t now = now_ns();
    int64_t us = (now - atomic_load(&run->due_ns[number])) / 1000;
    if (reader->latency_us[number] != 0) {
        reader->again++;
        return;
    }
    reader->latency_us[number] = us < 1 ? 1 : us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    reader->seen++;
    reader->last_ns = now;
    if (reader->topic == run->opt->replies) {
        atomic_fetch_add(&run->answered, 1);
    }
}

static void *read_topic(void *arg)
{
    reader_t *reader = arg;
    const run_t *run = reader->run;
    while (reader->seen < run->total && now_ns() < run->deadline_ns) {
        rd_kafka_message_t *msg = rd_kafka_consumer_poll(reader->rk, 100);
        if (msg != NULL) {
            if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
                take(reader, msg);
            }
            rd_kafka_message_destroy(msg);
        }
    }
    return NULL;
}

/* All partitions, from their ends on. */
static void open_reader(reader_t *reader)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", reader->run->opt->brokers);
    set(conf, "group.id", "pace");
    set(conf, "isolation.level", "read_committed");
    set(conf, "enable.auto.commit", "false");
    reader->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    if (reader->rk == NULL) {
        fatal("consumer", text);
    }
    rd_kafka_poll_set_consumer(reader->rk);
    rd_kafka_topic_t *topic = rd_kafka_topic_new(reader->rk, reader->topic, NULL);
    const struct rd_kafka_metadata *md = NULL;
    if (rd_kafka_metadata(reader->rk, 0, topic, &md, 20000) != 0 ||
        md->topics[0].partition_cnt == 0) {
        fatal(reader->topic, "is not there");
    }
    int count = md->topics[0].partition_cnt;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
    for (int p = 0; p < count; p++) {
        int64_t low = 0;
        int64_t high = 0;
        if (rd_kafka_query_watermark_offsets(reader->rk, reader->topic, p, &low, &high,
                                             20000) != 0) {
            fatal(reader->topic, "has no watermarks");
        }
        rd_kafka_topic_partition_list_add(list, reader->topic, p)->offset = high;
    }
    if (rd_kafka_assign(reader->rk, list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal(reader->topic, "cannot be assigned");
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_metadata_destroy(md);
    rd_kafka_topic_destroy(topic);
    reader->latency_us = need(calloc(reader->run->total, sizeof(uint32_t)));
}

static void start_reader(reader_t *reader)
{
    if (pthread_create(&reader->thread, NULL, read_topic, reader) != 0) {
        fatal("thread", "cannot be started");
    }
}

static void close_reader(reader_t *reader)
{
    (void)pthread_join(reader->thread, NULL);
    rd_kafka_consumer_close(reader->rk);
    rd_kafka_destroy(reader->rk);
}

/* --- sending --- */

static void send_one(rd_kafka_t *rk, rd_kafka_topic_t *topic, run_t *run, size_t number)
{
    const options_t *opt = run->opt;
    char key[160];
    char value[512];
    long instance = (long)number % opt->instances;
    long step = (long)number / opt->instances + 1;
    int key_len = snprintf(key, sizeof(key), "%s-%ld", opt->prefix, instance);
    int len = snprintf(value, sizeof(value),
                       "{\"command_id\":\"%s-%ld\",\"instance_id\":\"%s\","
                       "\"graph_id\":\"twenty\",\"command\":\"submit\","
                       "\"node_id\":\"t%ld\",\"action\":\"forward\",\"actor\":\"u%ld\","
                       "\"vars\":{\"done\":%ld},\"message\":\"step %ld\"}",
                       key, step, key, step, step, step, step);
    while (rd_kafka_produce(topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value,
                            (size_t)len, key, (size_t)key_len, NULL) != 0) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            fatal("produce", rd_kafka_err2str(rd_kafka_last_error()));
        }
        rd_kafka_poll(rk, 20);
    }
}

static void pause_ns(int64_t ns)
{
    const struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&ts, NULL);
}

/* Waits until the command may go; its due time by the clock, or now. */
static int64_t await_turn(rd_kafka_t *rk, const run_t *run, size_t number, int64_t start)
{
    const options_t *opt = run->opt;
    while (opt->window > 0 &&
           number - atomic_load(&run->answered) >= (size_t)opt->window &&
           now_ns() < run->deadline_ns) {
        rd_kafka_poll(rk, 0);
        pause_ns(500000);
    }
    if (opt->rate == 0) {
        return now_ns();
    }
    int64_t due = start + (int64_t)((double)number / (double)opt->rate * 1e9);
    int64_t now = now_ns();
    if (due > now) {
        rd_kafka_poll(rk, 0);
        pause_ns(due - now);
    }
    return due;
}

static void send_all(run_t *run)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", run->opt->brokers);
    set(conf, "partitioner", "murmur2_random");
    set(conf, "enable.idempotence", "true");
    set(conf, "linger.ms", run->opt->rate > 0 ? "0" : "5");
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (rk == NULL) {
        fatal("producer", text);
    }
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, run->opt->commands, NULL);
    const struct rd_kafka_metadata *md = NULL;
    if (topic == NULL || rd_kafka_metadata(rk, 0, topic, &md, 20000) != 0) {
        fatal(run->opt->commands, "is not there");
    }
    rd_kafka_metadata_destroy(md);
    int64_t start = now_ns();
    for (size_t i = 0; i < run->total && now_ns() < run->deadline_ns; i++) {
        atomic_store(&run->due_ns[i], await_turn(rk, run, i, start));
        send_one(rk, topic, run, i);
    }
    if (rd_kafka_flush(rk, 30000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal("flush", "the broker does not acknowledge the commands");
    }
    rd_kafka_topic_destroy(topic);
    rd_kafka_destroy(rk);
}

/* --- result --- */

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* "name":{...}; the first tenth warms up and is left out. */
static void print_latency(const char *name, const reader_t *reader)
{
    size_t from = reader->run->total / 10;
    size_t count = 0;
    uint32_t *sorted = need(calloc(reader->run->total, sizeof(uint32_t)));
    for (size_t i = from; i < reader->run->total; i++) {
        if (reader->latency_us[i] != 0) {
            sorted[count++] = reader->latency_us[i];
        }
    }
    qsort(sorted, count, sizeof(uint32_t), compare);
    (void)printf("\"%s\":{\"seen\":%zu,\"again\":%zu", name, reader->seen, reader->again);
    static const struct {
        const char *name;
        double part;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; count > 0 && i < sizeof(points) / sizeof(points[0]); i++) {
        size_t at = (size_t)((double)(count - 1) * points[i].part);
        (void)printf(",\"%s_ms\":%.2f", points[i].name, sorted[at] / 1000.0);
    }
    (void)printf("},");
    free(sorted);
}

static int report(const run_t *run, const reader_t *replies, const reader_t *events,
                  int64_t start)
{
    double seconds = (double)(replies->last_ns - start) / 1e9;
    (void)printf("{");
    print_latency("reply", replies);
    print_latency("event", events);
    (void)printf("\"commands\":%zu,\"seconds\":%.3f,\"per_second\":%.0f}\n", run->total,
                 seconds, seconds > 0 ? (double)replies->seen / seconds : 0);
    return replies->seen == run->total && events->seen == run->total ? 0 : 1;
}

static void parse(options_t *opt, int argc, char **argv)
{
    static const struct option known[] = {
        {"brokers", required_argument, NULL, 'b'},
        {"commands", required_argument, NULL, 'c'},
        {"replies", required_argument, NULL, 'r'},
        {"events", required_argument, NULL, 'e'},
        {"prefix", required_argument, NULL, 'p'},
        {"instances", required_argument, NULL, 'i'},
        {"steps", required_argument, NULL, 's'},
        {"rate", required_argument, NULL, 'R'},
        {"window", required_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 'S'},
        {0},
    };
    const char **texts[] = {&opt->brokers, &opt->commands, &opt->replies, &opt->events,
                            &opt->prefix};
    long *numbers[] = {&opt->instances, &opt->steps, &opt->rate, &opt->window,
                       &opt->seconds};
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
        if (*texts[i] == NULL) {
            fatal("usage", "see the head of pace.c");
        }
    }
    if (opt->instances < 1 || opt->steps < 1 || opt->seconds < 1) {
        fatal("--instances, --steps, --seconds", "want numbers from 1 on");
    }
}

int main(int argc, char **argv)
{
    options_t opt = {.instances = 1000, .steps = 20, .seconds = 120};
    parse(&opt, argc, argv);
    run_t run = {.opt = &opt, .total = (size_t)(opt.instances * opt.steps)};
    run.due_ns = need(calloc(run.total, sizeof(*run.due_ns)));
    run.deadline_ns = now_ns() + (int64_t)opt.seconds * 1000000000;
    reader_t replies = {.run = &run, .topic = opt.replies};
    reader_t events = {.run = &run, .topic = opt.events};
    open_reader(&replies);
    open_reader(&events);
    start_reader(&replies);
    start_reader(&events);
    int64_t start = now_ns();
    send_all(&run);
    close_reader(&replies);
    close_reader(&events);
    int rc = report(&run, &replies, &events, start);
    free(replies.latency_us);
    free(events.latency_us);
    free((void *)(uintptr_t)run.due_ns);
    return rc;
}
