/*
 * driver.c - puts commands on a topic and proves that each gets exactly one reply
 *
 * Shares no code with the product: librdkafka and jansson only.  For each of N instances
 * it sends start, then a claim and a submit for each task t1..tM by the actors u1..uM,
 * the commands of all instances interleaved; at most --window commands are unanswered at
 * a time.  Then it reads the reply topic up to its end and counts: commands without a
 * reply, with more than one, with a reply that is not the expected one.
 *
 * The same --prefix gives the same command IDs, so that a second run sends duplicates.
 * The last line on standard output is a JSON object with the counts; exit status 0 when
 * all is as expected.
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_NAME = 160, VERBS_PER_TASK = 2 };

typedef struct {
    const char *brokers;
    const char *commands;
    const char *replies;
    const char *graph;
    const char *prefix;
    const char *progress; /* file with the number of replies so far */
    const char *rejections;
    int instances;
    int tasks;
    int window;
    int seconds; /* limit of the whole run */
    unsigned seed;
    bool expect_duplicates;
    bool allow_repeats; /* of the same bytes */
    bool send_only;
    bool read_only;    /* commands were sent by an earlier run */
    bool submits_only; /* no claims: one command a task */
    int first_step;    /* of each instance; 0 = start */
    int last_step;     /* 0 = all */
    bool starts_only;  /* step 0 only */
} options_t;

/* What is known of one command. */
typedef struct {
    uint16_t replies;
    bool accepted;
    bool duplicate;
    uint64_t hash; /* of the first reply's bytes */
} answer_t;

typedef struct {
    options_t opt;
    rd_kafka_t *producer;
    rd_kafka_t *consumer;
    rd_kafka_topic_t *topic;
    answer_t *answers; /* instances x steps */
    int *order;        /* a permutation of the instances, another one at each step */
    size_t total;
    size_t sent;
    size_t answered; /* commands with at least one reply */
    size_t acked;
    size_t foreign;   /* replies to commands of other runs */
    size_t garbage;   /* replies that cannot be understood */
    size_t differing; /* replies of other bytes than the first one to the command */
    int64_t first_ms; /* time stamps of the first and the last reply */
    int64_t last_ms;
    double deadline; /* monotonic seconds */
    double next_progress;
} run_t;

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Steps of an instance that are in this run: [first_step, end_step). */
static size_t end_step(const options_t *opt)
{
    size_t all = 1 + (size_t)opt->tasks * (opt->submits_only ? 1 : VERBS_PER_TASK);
    if (opt->starts_only) {
        return 1;
    }
    return opt->last_step > 0 ? (size_t)opt->last_step + 1 : all;
}

static size_t steps_of(const options_t *opt)
{
    return end_step(opt) - (size_t)opt->first_step;
}

static void fatal(const char *what, const char *why)
{
    fprintf(stderr, "driver: %s: %s\n", what, why);
    exit(2);
}

/* --- sending */

static int make_command(const options_t *opt, int instance, size_t step, char *buf,
                        size_t room)
{
    char head[MAX_NAME * 3];
    snprintf(
        head, sizeof(head),
        "{\"command_id\":\"%s-%d-%zu\",\"instance_id\":\"%s-%d\",\"graph_id\":\"%s\"",
        opt->prefix, instance, step, opt->prefix, instance, opt->graph);
    if (step == 0) {
        return snprintf(buf, room, "%s,\"command\":\"start\",\"vars\":{\"number\":%d}}",
                        head, instance);
    }
    size_t task = opt->submits_only ? step : (step + 1) / VERBS_PER_TASK;
    if (!opt->submits_only && step % VERBS_PER_TASK == 1) {
        return snprintf(buf, room, "%s,\"command\":\"claim\",\"actor\":\"u%zu\"}", head,
                        task);
    }
    return snprintf(
        buf, room,
        "%s,\"command\":\"submit\",\"node_id\":\"t%zu\",\"action\":\"forward\","
        "\"actor\":\"u%zu\",\"vars\":{\"done\":%zu},\"message\":\"step %zu\"}",
        head, task, task, task, step);
}

static void send_one(run_t *run, int instance, size_t step)
{
    char key[MAX_NAME];
    char value[1024];
    int key_len = snprintf(key, sizeof(key), "%s-%d", run->opt.prefix, instance);
    int len = make_command(&run->opt, instance, step, value, sizeof(value));
    while (rd_kafka_produce(run->topic, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value,
                            (size_t)len, key, (size_t)key_len, NULL) != 0) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            fatal("produce", rd_kafka_err2str(rd_kafka_last_error()));
        }
        rd_kafka_poll(run->producer, 50);
    }
    run->sent++;
}

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *msg, void *opaque)
{
    (void)rk;
    run_t *run = opaque;
    if (msg->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal("a command was not delivered", rd_kafka_err2str(msg->err));
    }
    run->acked++;
}

static void shuffle(run_t *run, unsigned *seed)
{
    for (int i = run->opt.instances - 1; i > 0; i--) {
        /* xorshift: the same order for the same seed on every machine */
        *seed ^= *seed << 13;
        *seed ^= *seed >> 17;
        *seed ^= *seed << 5;
        int j = (int)(*seed % (unsigned)(i + 1));
        int swap = run->order[i];
        run->order[i] = run->order[j];
        run->order[j] = swap;
    }
}

/* --- replies */

/* "<prefix>-<instance>-<step>" to the answer; NULL when it is of another run. */
static answer_t *find_answer(run_t *run, const char *command_id)
{
    size_t prefix = strlen(run->opt.prefix);
    if (strncmp(command_id, run->opt.prefix, prefix) != 0 || command_id[prefix] != '-') {
        return NULL;
    }
    char *end = NULL;
    long instance = strtol(command_id + prefix + 1, &end, 10);
    if (*end != '-' || instance < 0 || instance >= run->opt.instances) {
        return NULL;
    }
    long step = strtol(end + 1, &end, 10) - run->opt.first_step;
    if (*end != '\0' || step < 0 || (size_t)step >= steps_of(&run->opt)) {
        return NULL;
    }
    return &run->answers[(size_t)instance * steps_of(&run->opt) + (size_t)step];
}

/* FNV-1a */
static uint64_t hash_of(const rd_kafka_message_t *msg)
{
    const unsigned char *bytes = msg->payload;
    uint64_t hash = 14695981039346656037U;
    for (size_t i = 0; bytes != NULL && i < msg->len; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211U;
    }
    return hash;
}

static void take_reply(run_t *run, const rd_kafka_message_t *msg)
{
    json_t *reply =
        json_loadb(msg->payload != NULL ? msg->payload : "", msg->len, 0, NULL);
    const char *id = json_string_value(json_object_get(reply, "command_id"));
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (id == NULL || status == NULL) {
        run->garbage++;
        json_decref(reply);
        return;
    }
    answer_t *answer = find_answer(run, id);
    if (answer == NULL) {
        run->foreign++;
        json_decref(reply);
        return;
    }
    if (answer->replies == 0) {
        run->answered++;
        answer->hash = hash_of(msg);
    } else if (answer->hash != hash_of(msg)) {
        run->differing++;
    }
    int64_t time_ms = rd_kafka_message_timestamp(msg, NULL);
    run->first_ms =
        run->first_ms == 0 || time_ms < run->first_ms ? time_ms : run->first_ms;
    run->last_ms = time_ms > run->last_ms ? time_ms : run->last_ms;
    answer->replies++;
    answer->accepted = strcmp(status, "accepted") == 0;
    answer->duplicate = json_is_true(json_object_get(reply, "duplicate"));
    if (!answer->accepted && run->opt.rejections != NULL) {
        FILE *out = fopen(run->opt.rejections, "a");
        if (out != NULL) {
            fprintf(out, "%.*s\n", (int)msg->len, (const char *)msg->payload);
            fclose(out);
        }
    }
    json_decref(reply);
}

/* Ten times a second, and when forced. */
static void write_progress(run_t *run, bool force)
{
    if (run->opt.progress == NULL || (!force && now_s() < run->next_progress)) {
        return;
    }
    run->next_progress = now_s() + 0.1;
    FILE *out = fopen(run->opt.progress, "w");
    if (out != NULL) {
        fprintf(out, "%zu\n", run->answered);
        fclose(out);
    }
}

/* Reads what is there; waits at most wait_ms for the first. */
static void read_replies(run_t *run, int wait_ms)
{
    rd_kafka_message_t *msg = rd_kafka_consumer_poll(run->consumer, wait_ms);
    while (msg != NULL) {
        if (msg->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            take_reply(run, msg);
        }
        rd_kafka_message_destroy(msg);
        msg = rd_kafka_consumer_poll(run->consumer, 0);
    }
    rd_kafka_poll(run->producer, 0);
}

static void send_all(run_t *run)
{
    unsigned seed = run->opt.seed | 1U;
    for (size_t step = (size_t)run->opt.first_step; step < end_step(&run->opt); step++) {
        shuffle(run, &seed);
        for (int i = 0; i < run->opt.instances; i++) {
            while (run->sent - run->answered >= (size_t)run->opt.window &&
                   now_s() < run->deadline) {
                read_replies(run, 20);
                write_progress(run, false);
            }
            send_one(run, run->order[i], step);
        }
    }
    if (rd_kafka_flush(run->producer, 30000) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal("flush", "the broker does not acknowledge the commands");
    }
}

static void await_replies(run_t *run)
{
    while (run->answered < run->total && now_s() < run->deadline) {
        read_replies(run, 100);
        write_progress(run, false);
    }
    write_progress(run, true);
}

/* --- clients */

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char text[512];
    if (rd_kafka_conf_set(conf, name, value, text, sizeof(text)) != RD_KAFKA_CONF_OK) {
        fatal(name, text);
    }
}

static void open_producer(run_t *run)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", run->opt.brokers);
    set(conf, "partitioner", "murmur2_random");
    set(conf, "enable.idempotence", "true");
    set(conf, "linger.ms", "2");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_opaque(conf, run);
    run->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (run->producer == NULL) {
        fatal("producer", text);
    }
    run->topic = rd_kafka_topic_new(run->producer, run->opt.commands, NULL);
    if (run->topic == NULL) {
        fatal("topic", run->opt.commands);
    }
}

/* Reads all partitions of the reply topic, without a group: from their ends when this run
 * sends the commands itself, else from their beginnings. */
static void open_consumer(run_t *run)
{
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", run->opt.brokers);
    set(conf, "group.id", "system-test-driver");
    set(conf, "isolation.level", "read_committed");
    set(conf, "enable.auto.commit", "false");
    set(conf, "fetch.wait.max.ms", "50");
    run->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof(text));
    if (run->consumer == NULL) {
        fatal("consumer", text);
    }
    rd_kafka_poll_set_consumer(run->consumer);
    const struct rd_kafka_metadata *md = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(run->consumer, run->opt.replies, NULL);
    rd_kafka_resp_err_t err = rd_kafka_metadata(run->consumer, 0, topic, &md, 20000);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR || md->topics[0].partition_cnt == 0) {
        fatal(run->opt.replies, "the reply topic is not there");
    }
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new(md->topics[0].partition_cnt);
    for (int p = 0; p < md->topics[0].partition_cnt; p++) {
        int64_t low = 0;
        int64_t high = 0;
        err = rd_kafka_query_watermark_offsets(run->consumer, run->opt.replies, p, &low,
                                               &high, 20000);
        if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
            fatal("watermarks", rd_kafka_err2str(err));
        }
        rd_kafka_topic_partition_list_add(list, run->opt.replies, p)->offset =
            run->opt.read_only ? low : high;
    }
    err = rd_kafka_assign(run->consumer, list);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fatal("assign", rd_kafka_err2str(err));
    }
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_metadata_destroy(md);
    rd_kafka_topic_destroy(topic);
}

/* Reads on until every partition's position is at its end: a second reply to a command
 * would be there. */
static void read_to_end(run_t *run)
{
    bool at_end = false;
    while (!at_end && now_s() < run->deadline) {
        read_replies(run, 300);
        rd_kafka_topic_partition_list_t *list = NULL;
        if (rd_kafka_assignment(run->consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            break;
        }
        rd_kafka_position(run->consumer, list);
        at_end = true;
        for (int i = 0; i < list->cnt; i++) {
            int64_t low = 0;
            int64_t high = 0;
            rd_kafka_query_watermark_offsets(run->consumer, list->elems[i].topic,
                                             list->elems[i].partition, &low, &high,
                                             20000);
            /* Markers of transactions take offsets too: the position passes them only
             * with the next fetch, so one marker may remain behind it. */
            int64_t position = list->elems[i].offset;
            at_end = at_end && (position + 1 >= high || high == low);
        }
        rd_kafka_topic_partition_list_destroy(list);
    }
    read_replies(run, 1000);
}

/* --- result */

static int report(const run_t *run, double seconds)
{
    size_t missing = 0;
    size_t repeated = 0;
    size_t rejected = 0;
    size_t wrong_duplicate = 0;
    for (size_t i = 0; i < run->total; i++) {
        const answer_t *answer = &run->answers[i];
        missing += answer->replies == 0 ? 1 : 0;
        repeated += answer->replies > 1 ? 1 : 0;
        rejected += answer->replies > 0 && !answer->accepted ? 1 : 0;
        wrong_duplicate +=
            answer->replies > 0 && answer->duplicate != run->opt.expect_duplicates ? 1
                                                                                   : 0;
    }
    printf("{\"commands\":%zu,\"sent\":%zu,\"answered\":%zu,\"missing\":%zu,"
           "\"repeated\":%zu,\"differing\":%zu,\"rejected\":%zu,"
           "\"wrong_duplicate_flag\":%zu,"
           "\"foreign\":%zu,\"garbage\":%zu,\"seconds\":%.2f,\"per_second\":%.0f,"
           "\"first_reply_ms\":%lld,\"last_reply_ms\":%lld}\n",
           run->total, run->sent, run->answered, missing, repeated, run->differing,
           rejected, wrong_duplicate, run->foreign, run->garbage, seconds,
           seconds > 0 ? (double)run->answered / seconds : 0, (long long)run->first_ms,
           (long long)run->last_ms);
    if (run->opt.send_only) {
        return run->acked == run->total ? 0 : 1;
    }
    size_t wrong = missing + rejected + wrong_duplicate + run->garbage + run->differing;
    return wrong + (run->opt.allow_repeats ? 0 : repeated) == 0 ? 0 : 1;
}

/* --- options */

static const char usage[] =
    "usage: driver --brokers B --commands TOPIC --replies TOPIC --graph ID --prefix P\n"
    "              [--instances N] [--tasks N] [--window N] [--seconds N] [--seed N]\n"
    "              [--progress FILE] [--rejections FILE] [--duplicates]\n"
    "              [--allow-repeats] [--send-only | --read-only] [--submits-only] "
    "[--starts-only]\n"
    "              [--first-step N] [--last-step N]\n";

static int number(const char *name, const char *text)
{
    char *end = NULL;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > 100000000) {
        fatal(name, "wants a number from 1 on");
    }
    return (int)n;
}

static bool parse_text(options_t *opt, int c)
{
    switch (c) {
    case 'b':
        opt->brokers = optarg;
        return true;
    case 'c':
        opt->commands = optarg;
        return true;
    case 'r':
        opt->replies = optarg;
        return true;
    case 'g':
        opt->graph = optarg;
        return true;
    case 'p':
        opt->prefix = optarg;
        return true;
    case 'P':
        opt->progress = optarg;
        return true;
    case 'R':
        opt->rejections = optarg;
        return true;
    default:
        return false;
    }
}

static bool parse_number(options_t *opt, int c)
{
    switch (c) {
    case 'n':
        opt->instances = number("--instances", optarg);
        return true;
    case 't':
        opt->tasks = number("--tasks", optarg);
        return true;
    case 'w':
        opt->window = number("--window", optarg);
        return true;
    case 's':
        opt->seconds = number("--seconds", optarg);
        return true;
    case 'S':
        opt->seed = (unsigned)number("--seed", optarg);
        return true;
    case 'F':
        opt->first_step = number("--first-step", optarg);
        return true;
    case 'L':
        opt->last_step = number("--last-step", optarg);
        return true;
    case 'Z':
        opt->starts_only = true;
        return true;
    case 'N':
        opt->submits_only = true;
        return true;
    case 'D':
        opt->expect_duplicates = true;
        return true;
    case 'A':
        opt->allow_repeats = true;
        return true;
    case 'O':
        opt->send_only = true;
        return true;
    case 'I':
        opt->read_only = true;
        return true;
    default:
        return false;
    }
}

static void parse(options_t *opt, int argc, char **argv)
{
    static const struct option known[] = {
        {"brokers", required_argument, NULL, 'b'},
        {"commands", required_argument, NULL, 'c'},
        {"replies", required_argument, NULL, 'r'},
        {"graph", required_argument, NULL, 'g'},
        {"prefix", required_argument, NULL, 'p'},
        {"progress", required_argument, NULL, 'P'},
        {"rejections", required_argument, NULL, 'R'},
        {"instances", required_argument, NULL, 'n'},
        {"tasks", required_argument, NULL, 't'},
        {"window", required_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 's'},
        {"seed", required_argument, NULL, 'S'},
        {"duplicates", no_argument, NULL, 'D'},
        {"allow-repeats", no_argument, NULL, 'A'},
        {"send-only", no_argument, NULL, 'O'},
        {"read-only", no_argument, NULL, 'I'},
        {"starts-only", no_argument, NULL, 'Z'},
        {"submits-only", no_argument, NULL, 'N'},
        {"first-step", required_argument, NULL, 'F'},
        {"last-step", required_argument, NULL, 'L'},
        {0},
    };
    int c = 0;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (!parse_text(opt, c) && !parse_number(opt, c)) {
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (opt->first_step > 0 && end_step(opt) <= (size_t)opt->first_step) {
        fatal("--first-step", "is behind the last step");
    }
    if (opt->brokers == NULL || opt->commands == NULL || opt->replies == NULL ||
        opt->graph == NULL || opt->prefix == NULL || strlen(opt->prefix) > 40) {
        fputs(usage, stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    run_t run = {.opt = {.instances = 100, .tasks = 5, .window = 2000, .seconds = 120}};
    parse(&run.opt, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    run.total = (size_t)run.opt.instances * steps_of(&run.opt);
    run.answers = calloc(run.total, sizeof(*run.answers));
    run.order = calloc((size_t)run.opt.instances, sizeof(*run.order));
    if (run.answers == NULL || run.order == NULL) {
        fatal("memory", "too many commands");
    }
    for (int i = 0; i < run.opt.instances; i++) {
        run.order[i] = i;
    }
    double start = now_s();
    run.deadline = start + run.opt.seconds;
    open_producer(&run);
    open_consumer(&run);
    if (run.opt.send_only) {
        run.opt.window = 1 << 30;
    }
    if (!run.opt.read_only) {
        send_all(&run);
    }
    if (!run.opt.send_only) {
        await_replies(&run);
    }
    double seconds = now_s() - start;
    if (!run.opt.send_only) {
        read_to_end(&run);
    }
    int rc = report(&run, seconds);
    rd_kafka_topic_destroy(run.topic);
    rd_kafka_destroy(run.producer);
    rd_kafka_consumer_close(run.consumer);
    rd_kafka_destroy(run.consumer);
    free(run.answers);
    free(run.order);
    return rc;
}
