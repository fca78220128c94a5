/*
 * topic_id.c - Kafka's UUID of a topic
 *
 * SPDX-License-Identifier: MIT
 */
#include "topic_id.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpmflow/clock.h"

#define UUID_BYTES       16
#define API_METADATA     3
#define METADATA_VERSION 12
#define CORRELATION_ID   0x62706d66
#define CLIENT_ID        "bpmflow"
#define REQUEST_MAX      512
#define RESPONSE_MAX     ((size_t)256 * 1024)
#define HOST_MAX         256

/* 22 characters of the URL alphabet, as Kafka writes a UUID. All zero: none. */
static void format_uuid(const unsigned char *uuid, char ret[65])
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static const unsigned char zero[UUID_BYTES];
    ret[0] = '\0';
    if (!memcmp(uuid, zero, UUID_BYTES)) {
        return;
    }
    size_t n = 0;
    unsigned bits = 0;
    int held = 0;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        bits = (bits << 8 | uuid[i]) & 0x3fff;
        held += 8;
        while (held >= 6) {
            held -= 6;
            ret[n++] = digits[bits >> held & 63];
        }
    }
    ret[n++] = digits[bits << (6 - held) & 63];
    ret[n] = '\0';
}

/* --- the request --- */

typedef struct buffer {
    unsigned char data[REQUEST_MAX];
    size_t len;
} buffer_t;

static void put(buffer_t *out, uint32_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        out->data[out->len++] = (unsigned char)(value >> (8 * i));
    }
}

static void put_text(buffer_t *out, const char *text, size_t len)
{
    memcpy(out->data + out->len, text, len);
    out->len += len;
}

/* An unsigned varint of up to 14 bits. */
static void put_varint(buffer_t *out, size_t value)
{
    if (value >= 0x80) {
        out->data[out->len++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    out->data[out->len++] = (unsigned char)value;
}

static void write_request(buffer_t *out, const char *topic)
{
    size_t len = strlen(topic);
    out->len = 4; /* the size comes last */
    put(out, API_METADATA, 2);
    put(out, METADATA_VERSION, 2);
    put(out, CORRELATION_ID, 4);
    put(out, sizeof(CLIENT_ID) - 1, 2);
    put_text(out, CLIENT_ID, sizeof(CLIENT_ID) - 1);
    put(out, 0, 1);     /* tagged fields of the header */
    put_varint(out, 2); /* one topic */
    memset(out->data + out->len, 0, UUID_BYTES);
    out->len += UUID_BYTES; /* by name, not by ID */
    put_varint(out, len + 1);
    put_text(out, topic, len);
    put(out, 0, 1); /* tagged fields of the topic */
    put(out, 0, 1); /* allow_auto_topic_creation */
    put(out, 0, 1); /* include_topic_authorized_operations */
    put(out, 0, 1); /* tagged fields */
    size_t size = out->len - 4;
    out->len = 0;
    put(out, (uint32_t)size, 4);
    out->len = size + 4;
}

/* --- the response --- */

typedef struct input {
    const unsigned char *at;
    size_t left;
    bool bad; /* sticky */
} input_t;

static const unsigned char *take(input_t *in, size_t bytes)
{
    if (in->bad || in->left < bytes) {
        in->bad = true;
        return NULL;
    }
    const unsigned char *at = in->at;
    in->at += bytes;
    in->left -= bytes;
    return at;
}

static uint32_t take_varint(input_t *in)
{
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 7) {
        const unsigned char *byte = take(in, 1);
        if (!byte) {
            return 0;
        }
        value |= (uint32_t)(*byte & 0x7f) << shift;
        if (!(*byte & 0x80)) {
            return value;
        }
    }
    in->bad = true;
    return 0;
}

/* A compact string, which may be null. */
static const unsigned char *take_string(input_t *in, size_t *ret_len)
{
    uint32_t len = take_varint(in);
    *ret_len = len ? len - 1 : 0;
    return take(in, *ret_len);
}

static void skip_tags(input_t *in)
{
    uint32_t count = take_varint(in);
    for (uint32_t i = 0; i < count && !in->bad; i++) {
        (void)take_varint(in);
        (void)take(in, take_varint(in));
    }
}

/* response header 1, then Metadata 12 up to the ID of the first topic */
static void read_response(const unsigned char *data, size_t len, const char *topic,
                          char ret[65])
{
    input_t in = {data, len, false};
    size_t text_len;
    const unsigned char *id = take(&in, 4);
    if (!id || ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 |
                (uint32_t)id[3]) != CORRELATION_ID) {
        return;
    }
    skip_tags(&in);
    (void)take(&in, 4); /* throttle time */
    uint32_t brokers = take_varint(&in);
    for (uint32_t i = 1; i < brokers && !in.bad; i++) {
        (void)take(&in, 4); /* node ID */
        (void)take_string(&in, &text_len);
        (void)take(&in, 4);                /* port */
        (void)take_string(&in, &text_len); /* rack */
        skip_tags(&in);
    }
    (void)take_string(&in, &text_len); /* cluster ID */
    (void)take(&in, 4);                /* controller */
    bool one = take_varint(&in) == 2;
    const unsigned char *error = take(&in, 2);
    const unsigned char *name = take_string(&in, &text_len);
    const unsigned char *uuid = take(&in, UUID_BYTES);
    if (one && error && !error[0] && !error[1] && uuid && name &&
        text_len == strlen(topic) && !memcmp(name, topic, text_len)) {
        format_uuid(uuid, ret);
    }
}

/* --- the connection --- */

static bool wait_for(int fd, short events, int64_t deadline_ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    for (;;) {
        int64_t left = deadline_ms - bf_clock_mono_ms();
        int n = left > 0 ? poll(&one, 1, (int)left) : 0;
        if (n >= 0 || errno != EINTR) {
            return n > 0;
        }
    }
}

static bool send_all(int fd, const buffer_t *out, int64_t deadline_ms)
{
    for (size_t sent = 0; sent < out->len;) {
        ssize_t n = send(fd, out->data + sent, out->len - sent, MSG_NOSIGNAL);
        if (n > 0) {
            sent += (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                   !wait_for(fd, POLLOUT, deadline_ms)) {
            return false;
        }
    }
    return true;
}

static bool receive(int fd, unsigned char *data, size_t len, int64_t deadline_ms)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = recv(fd, data + got, len - got, 0);
        if (n > 0) {
            got += (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                   !wait_for(fd, POLLIN, deadline_ms)) {
            return false;
        }
    }
    return true;
}

/* Request and response over a connected socket. */
static void talk(int fd, const char *topic, int64_t deadline_ms, char ret[65])
{
    buffer_t request;
    unsigned char size[4];
    write_request(&request, topic);
    if (!send_all(fd, &request, deadline_ms) ||
        !receive(fd, size, sizeof(size), deadline_ms)) {
        return;
    }
    size_t len = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 |
                 (size_t)size[3];
    if (len > RESPONSE_MAX) {
        return;
    }
    unsigned char *data = malloc(len ? len : 1);
    if (data && receive(fd, data, len, deadline_ms)) {
        read_response(data, len, topic, ret);
    }
    free(data);
}

static int connect_to(const struct addrinfo *address, int64_t deadline_ms)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0 &&
        (errno != EINPROGRESS || !wait_for(fd, POLLOUT, deadline_ms) ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void ask_host(const char *host, const char *port, const char *topic,
                     int64_t deadline_ms, char ret[65])
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    if (getaddrinfo(host, port, &hints, &list) != 0) {
        return;
    }
    for (const struct addrinfo *one = list; one && !ret[0]; one = one->ai_next) {
        int fd = connect_to(one, deadline_ms);
        if (fd >= 0) {
            talk(fd, topic, deadline_ms, ret);
            (void)close(fd);
        }
    }
    freeaddrinfo(list);
}

/* "host", "host:port" or "[v6]:port", each with "plaintext://" before it or not. false:
 * something else. */
static bool split_address(const char *text, size_t len, char host[HOST_MAX], char port[8])
{
    static const char scheme[] = "plaintext://";
    const size_t skip = sizeof(scheme) - 1;
    if (len > skip && !strncasecmp(text, scheme, skip)) {
        text += skip;
        len -= skip;
    }
    const char *end = text + len;
    const char *colon = memrchr(text, ':', len);
    const char *host_end = colon ? colon : end;
    if (len && *text == '[') {
        text++;
        host_end = memchr(text, ']', (size_t)(end - text));
        colon =
            host_end && host_end + 1 < end && host_end[1] == ':' ? host_end + 1 : NULL;
    }
    size_t host_len = host_end ? (size_t)(host_end - text) : 0;
    size_t port_len = colon ? (size_t)(end - colon) - 1 : 0;
    if (host_len == 0 || host_len >= HOST_MAX || port_len >= 8) {
        return false;
    }
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    (void)snprintf(port, 8, "%.*s", (int)(port_len ? port_len : 4),
                   port_len ? colon + 1 : "9092");
    return true;
}

void bf_topic_id_ask(const char *brokers, const char *topic, int64_t timeout_ms,
                     char ret[65])
{
    ret[0] = '\0';
    if (strlen(topic) > BF_TOPIC_NAME_MAX) {
        return;
    }
    int64_t deadline = bf_clock_mono_ms() + timeout_ms;
    while (*brokers && !ret[0]) {
        size_t len = strcspn(brokers, ", ");
        char host[HOST_MAX];
        char port[8];
        if (split_address(brokers, len, host, port)) {
            ask_host(host, port, topic, deadline, ret);
        }
        brokers += len;
        brokers += strspn(brokers, ", ");
    }
}

#if RD_KAFKA_VERSION >= 0x020300ff
/* librdkafka writes '+' and '/' where Kafka, and an older librdkafka's worker before us,
 * write '-' and '_': the ID must stay the same over an upgrade. */
static void use_url_alphabet(char *text)
{
    for (; *text; text++) {
        *text = (char)(*text == '+' ? '-' : *text == '/' ? '_' : *text);
    }
}

static void describe(rd_kafka_t *rk, const char *topic, int64_t timeout_ms, char ret[65])
{
    char why[BF_BUS_TEXT_MAX];
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(rk, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    const char *names[] = {topic};
    rd_kafka_TopicCollection_t *topics =
        rd_kafka_TopicCollection_of_topic_names(names, 1);
    (void)rd_kafka_AdminOptions_set_request_timeout(options, bf_bus_timeout(timeout_ms),
                                                    why, sizeof(why));
    rd_kafka_DescribeTopics(rk, topics, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, bf_bus_timeout(timeout_ms));
    const rd_kafka_DescribeTopics_result_t *result =
        event && !rd_kafka_event_error(event)
            ? rd_kafka_event_DescribeTopics_result(event)
            : NULL;
    size_t count = 0;
    const rd_kafka_TopicDescription_t **found =
        result ? rd_kafka_DescribeTopics_result_topics(result, &count) : NULL;
    if (count == 1 && !rd_kafka_error_code(rd_kafka_TopicDescription_error(found[0]))) {
        const rd_kafka_Uuid_t *id = rd_kafka_TopicDescription_topic_id(found[0]);
        (void)snprintf(ret, 65, "%s", id ? rd_kafka_Uuid_base64str(id) : "");
        use_url_alphabet(ret);
    }
    if (event) {
        rd_kafka_event_destroy(event);
    }
    rd_kafka_TopicCollection_destroy(topics);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
}
#endif

void bf_topic_id_find(rd_kafka_t *rk, bool plaintext, const char *topic,
                      int64_t timeout_ms, char ret[65])
{
    ret[0] = '\0';
#if RD_KAFKA_VERSION >= 0x020300ff
    (void)plaintext;
    describe(rk, topic, timeout_ms, ret);
#else
    const bf_bus_context_t *context = rd_kafka_opaque(rk);
    if (plaintext) {
        bf_topic_id_ask(context->brokers, topic, timeout_ms, ret);
    }
#endif
}
