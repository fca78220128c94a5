/*
 * topics.c - create, delete and list topics, grow their partitions, on a real broker
 *
 * A small operator's tool beside the product (it shares no code with it), since the
 * console tools of Kafka start a Java machine for each topic.
 *
 * SPDX-License-Identifier: MIT
 */
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOPICS = 64, TIMEOUT_MS = 30000 };

typedef enum { DO_CREATE, DO_DELETE, DO_GROW, DO_LIST } action_t;

typedef struct {
    action_t action;
    const char *bootstrap;
    int partitions;
    const char *config[MAX_TOPICS];
    size_t n_config;
    const char *topics[MAX_TOPICS];
    size_t n_topics;
} options_t;

static void usage(FILE *out)
{
    fputs(
        "usage: topics --bootstrap HOST:PORT [--partitions N] [--config KEY=VALUE ...]\n"
        "              [--delete | --add-partitions | --list] TOPIC...\n"
        "  creates the topics (one that is there already is left as it is and named);\n"
        "  --delete removes them, --add-partitions grows them to N partitions,\n"
        "  --list prints each topic with its number of partitions\n",
        out);
}

static int bad_usage(const char *what, const char *arg)
{
    fprintf(stderr, "topics: %s%s\n", what, arg);
    usage(stderr);
    return 2;
}

static int parse_partitions(options_t *o, const char *text)
{
    char *end = NULL;
    long n = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || n < 1 || n > 10000) {
        return bad_usage("--partitions wants a number from 1 to 10000, not ", text);
    }
    o->partitions = (int)n;
    return 0;
}

/* An option with a value; 0 = taken. */
static int parse_value(options_t *o, const char *name, const char *value)
{
    if (value == NULL) {
        return bad_usage("a value is missing after ", name);
    }
    if (strcmp(name, "--bootstrap") == 0) {
        o->bootstrap = value;
        return 0;
    }
    if (strcmp(name, "--partitions") == 0) {
        return parse_partitions(o, value);
    }
    if (strcmp(name, "--config") == 0 && o->n_config < MAX_TOPICS) {
        o->config[o->n_config++] = value;
        return 0;
    }
    return bad_usage("unknown option ", name);
}

static int parse(options_t *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--delete") == 0) {
            o->action = DO_DELETE;
        } else if (strcmp(argv[i], "--add-partitions") == 0) {
            o->action = DO_GROW;
        } else if (strcmp(argv[i], "--list") == 0) {
            o->action = DO_LIST;
        } else if (argv[i][0] == '-') {
            int rc = parse_value(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
            if (rc != 0) {
                return rc;
            }
            i++;
        } else if (o->n_topics < MAX_TOPICS) {
            o->topics[o->n_topics++] = argv[i];
        } else {
            return bad_usage("too many topics at ", argv[i]);
        }
    }
    if (o->bootstrap == NULL) {
        return bad_usage("--bootstrap is missing", "");
    }
    if (o->n_topics == 0 && o->action != DO_LIST) {
        return bad_usage("no topic is named", "");
    }
    return 0;
}

static int report(const rd_kafka_topic_result_t *result)
{
    rd_kafka_resp_err_t err = rd_kafka_topic_result_error(result);
    const char *name = rd_kafka_topic_result_name(result);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        printf("%s: done\n", name);
        return 0;
    }
    if (err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
        printf("%s: is there already\n", name);
        return 0;
    }
    const char *text = rd_kafka_topic_result_error_string(result);
    fprintf(stderr, "topics: %s: %s\n", name,
            text != NULL ? text : rd_kafka_err2str(err));
    return 1;
}

static int report_all(rd_kafka_event_t *event)
{
    if (event == NULL) {
        fprintf(stderr, "topics: the broker did not answer in %d s\n", TIMEOUT_MS / 1000);
        return 1;
    }
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "topics: %s\n", rd_kafka_event_error_string(event));
        return 1;
    }
    const rd_kafka_topic_result_t **results = NULL;
    size_t n = 0;
    const rd_kafka_CreateTopics_result_t *created =
        rd_kafka_event_CreateTopics_result(event);
    const rd_kafka_DeleteTopics_result_t *deleted =
        rd_kafka_event_DeleteTopics_result(event);
    const rd_kafka_CreatePartitions_result_t *grown =
        rd_kafka_event_CreatePartitions_result(event);
    if (created != NULL) {
        results = rd_kafka_CreateTopics_result_topics(created, &n);
    } else if (deleted != NULL) {
        results = rd_kafka_DeleteTopics_result_topics(deleted, &n);
    } else if (grown != NULL) {
        results = rd_kafka_CreatePartitions_result_topics(grown, &n);
    }
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        rc |= report(results[i]);
    }
    return rc;
}

static int set_config(rd_kafka_NewTopic_t *topic, const char *pair)
{
    char key[128];
    const char *equals = strchr(pair, '=');
    if (equals == NULL || (size_t)(equals - pair) >= sizeof(key)) {
        return bad_usage("--config wants KEY=VALUE, not ", pair);
    }
    memcpy(key, pair, (size_t)(equals - pair));
    key[equals - pair] = '\0';
    rd_kafka_NewTopic_set_config(topic, key, equals + 1);
    return 0;
}

static int create(rd_kafka_t *rk, const options_t *o, rd_kafka_queue_t *queue)
{
    rd_kafka_NewTopic_t *topics[MAX_TOPICS];
    char text[256];
    size_t n = 0;
    int rc = 0;
    for (; n < o->n_topics && rc == 0; n++) {
        topics[n] =
            rd_kafka_NewTopic_new(o->topics[n], o->partitions, 1, text, sizeof(text));
        if (topics[n] == NULL) {
            fprintf(stderr, "topics: %s: %s\n", o->topics[n], text);
            rc = 1;
            break;
        }
        for (size_t c = 0; c < o->n_config && rc == 0; c++) {
            rc = set_config(topics[n], o->config[c]);
        }
    }
    if (rc == 0) {
        rd_kafka_CreateTopics(rk, topics, n, NULL, queue);
    }
    rd_kafka_NewTopic_destroy_array(topics, n);
    return rc;
}

static int drop(rd_kafka_t *rk, const options_t *o, rd_kafka_queue_t *queue)
{
    rd_kafka_DeleteTopic_t *topics[MAX_TOPICS];
    for (size_t i = 0; i < o->n_topics; i++) {
        topics[i] = rd_kafka_DeleteTopic_new(o->topics[i]);
    }
    rd_kafka_DeleteTopics(rk, topics, o->n_topics, NULL, queue);
    rd_kafka_DeleteTopic_destroy_array(topics, o->n_topics);
    return 0;
}

static int grow(rd_kafka_t *rk, const options_t *o, rd_kafka_queue_t *queue)
{
    rd_kafka_NewPartitions_t *topics[MAX_TOPICS];
    char text[256];
    size_t n = 0;
    int rc = 0;
    for (; n < o->n_topics; n++) {
        topics[n] = rd_kafka_NewPartitions_new(o->topics[n], (size_t)o->partitions, text,
                                               sizeof(text));
        if (topics[n] == NULL) {
            fprintf(stderr, "topics: %s: %s\n", o->topics[n], text);
            rc = 1;
            break;
        }
    }
    if (rc == 0) {
        rd_kafka_CreatePartitions(rk, topics, n, NULL, queue);
    }
    rd_kafka_NewPartitions_destroy_array(topics, n);
    return rc;
}

static int list(rd_kafka_t *rk)
{
    const struct rd_kafka_metadata *md = NULL;
    rd_kafka_resp_err_t err = rd_kafka_metadata(rk, 1, NULL, &md, TIMEOUT_MS);
    if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "topics: %s\n", rd_kafka_err2str(err));
        return 1;
    }
    for (int i = 0; i < md->topic_cnt; i++) {
        printf("%s %d\n", md->topics[i].topic, md->topics[i].partition_cnt);
    }
    rd_kafka_metadata_destroy(md);
    return 0;
}

/* Asks each leader for its offsets: a broker is named as leader a moment before it is
 * one. */
static bool has_leaders(rd_kafka_t *rk, rd_kafka_topic_t *topic)
{
    const struct rd_kafka_metadata *md = NULL;
    if (rd_kafka_metadata(rk, 0, topic, &md, TIMEOUT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return false;
    }
    const rd_kafka_metadata_topic_t *t = &md->topics[0];
    int with_leader = 0;
    for (int p = 0; p < t->partition_cnt && t->partitions[p].leader >= 0; p++) {
        int64_t low = 0;
        int64_t high = 0;
        with_leader +=
            rd_kafka_query_watermark_offsets(rk, t->topic, p, &low, &high, 5000) ==
                    RD_KAFKA_RESP_ERR_NO_ERROR
                ? 1
                : 0;
    }
    bool ready = t->err == RD_KAFKA_RESP_ERR_NO_ERROR &&
                 with_leader == t->partition_cnt && with_leader > 0;
    rd_kafka_metadata_destroy(md);
    return ready;
}

/* A topic is usable when each partition has a leader that knows it: the answer to
 * CreateTopics comes before that. */
static int wait_for_leaders(rd_kafka_t *rk, const options_t *o)
{
    for (size_t i = 0; i < o->n_topics; i++) {
        rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, o->topics[i], NULL);
        bool ready = false;
        for (int left = 600; topic != NULL && !ready && left > 0; left--) {
            ready = has_leaders(rk, topic);
            if (!ready) {
                rd_kafka_poll(rk, 50);
            }
        }
        if (topic != NULL) {
            rd_kafka_topic_destroy(topic);
        }
        if (!ready) {
            fprintf(stderr, "topics: %s has no leader after 30 s\n", o->topics[i]);
            return 1;
        }
    }
    return 0;
}

static int run(rd_kafka_t *rk, const options_t *o)
{
    if (o->action == DO_LIST) {
        return list(rk);
    }
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    int rc = 0;
    switch (o->action) {
    case DO_CREATE:
        rc = create(rk, o, queue);
        break;
    case DO_DELETE:
        rc = drop(rk, o, queue);
        break;
    case DO_GROW:
        rc = grow(rk, o, queue);
        break;
    case DO_LIST:
        break;
    }
    if (rc == 0) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
        rc = report_all(event);
        if (event != NULL) {
            rd_kafka_event_destroy(event);
        }
    }
    rd_kafka_queue_destroy(queue);
    if (rc == 0 && o->action != DO_DELETE) {
        rc = wait_for_leaders(rk, o);
    }
    return rc;
}

int main(int argc, char **argv)
{
    options_t options = {.partitions = 1};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        usage(stdout);
        return 0;
    }
    int rc = parse(&options, argc, argv);
    if (rc != 0) {
        return rc;
    }
    char text[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    if (rd_kafka_conf_set(conf, "bootstrap.servers", options.bootstrap, text,
                          sizeof(text)) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "topics: --bootstrap %s: %s\n", options.bootstrap, text);
        rd_kafka_conf_destroy(conf);
        return 2;
    }
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (rk == NULL) {
        fprintf(stderr, "topics: %s\n", text);
        rd_kafka_conf_destroy(conf);
        return 1;
    }
    rc = run(rk, &options);
    rd_kafka_destroy(rk);
    return rc;
}
