/*
 * test_topic_id.c - the request for a topic's UUID against servers that answer anything
 *
 * SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/bus/topic_id.h"

#define WAIT_MS 10000

/* A server for one connection: reads a request, sends the bytes, closes. */
typedef struct server {
    int fd;
    pthread_t thread;
    char address[64];
    const unsigned char *answer;
    size_t answer_len;
    unsigned char request[512];
    ssize_t request_len;
} server_t;

static void *serve(void *arg)
{
    server_t *server = arg;
    int fd = accept(server->fd, NULL, NULL);
    if (fd >= 0) {
        server->request_len = recv(fd, server->request, sizeof(server->request), 0);
        (void)!send(fd, server->answer, server->answer_len, MSG_NOSIGNAL);
        (void)close(fd);
    }
    return NULL;
}

static void server_start(server_t *server, const unsigned char *answer, size_t len)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    memset(server, 0, sizeof(*server));
    server->answer = answer;
    server->answer_len = len;
    server->fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(server->fd, 0);
    cr_assert_eq(bind(server->fd, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(server->fd, 1), 0);
    cr_assert_eq(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(server->address, sizeof(server->address), "127.0.0.1:%d",
                   (int)ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_stop(server_t *server)
{
    (void)pthread_join(server->thread, NULL);
    (void)close(server->fd);
}

/* Metadata 12: one broker, one topic "orders" with the ID 00 01 02 ... 0f. */
static const unsigned char
    good[] = {0,    0,    0,    0,       /* size: filled in */
              0x62, 0x70, 0x6d, 0x66, 0, /* correlation, tags */
              0,    0,    0,    0,       /* throttle */
              2,    0,    0,    0,    1,   5,   'h', 'o', 's', 't',
              0,    0,    0x23, 0x84, 0,   0,      /* broker */
              3,    'i',  'd',  0,    0,   0,   1, /* cluster, controller */
              2,    0,    0,    7,    'o', 'r', 'd', 'e', 'r', 's', /* topic */
              0,    1,    2,    3,    4,   5,   6,   7,   8,   9,
              10,   11,   12,   13,   14,  15,  0,   1};

static void with_size(unsigned char *answer, size_t len)
{
    size_t size = len - 4;
    answer[0] = (unsigned char)(size >> 24);
    answer[1] = (unsigned char)(size >> 16);
    answer[2] = (unsigned char)(size >> 8);
    answer[3] = (unsigned char)size;
}

static void ask(const unsigned char *answer, size_t len, const char *topic, char ret[65])
{
    server_t server;
    server_start(&server, answer, len);
    bf_topic_id_ask(server.address, topic, WAIT_MS, ret);
    server_stop(&server);
}

Test(topic_id, ask__reads_the_id)
{
    unsigned char answer[sizeof(good)];
    memcpy(answer, good, sizeof(good));
    with_size(answer, sizeof(good));
    server_t server;
    char id[65];
    server_start(&server, answer, sizeof(answer));
    char brokers[128];
    (void)snprintf(brokers, sizeof(brokers), "127.0.0.1:1, PLAINTEXT://%s",
                   server.address);
    bf_topic_id_ask(brokers, "orders", WAIT_MS, id);
    server_stop(&server);
    cr_assert_str_eq(id, "AAECAwQFBgcICQoLDA0ODw", "%s", id);
    cr_assert_eq(server.request[5], 3, "Metadata");
    cr_assert_eq(server.request[7], 12, "version");
    cr_assert_eq(server.request_len, 4 + server.request[3], "the size is right");
    cr_assert_not_null(
        memmem(server.request, (size_t)server.request_len, "\x07orders", 7));
}

Test(topic_id, ask__of_another_topic_is_nothing)
{
    unsigned char answer[sizeof(good)];
    memcpy(answer, good, sizeof(good));
    with_size(answer, sizeof(good));
    char id[65];
    ask(answer, sizeof(answer), "order", id);
    cr_assert_str_eq(id, "");
}

/* Every answer that is too short, with the size of what comes and with the size of the
 * whole: no ID, no crash (the sanitizer watches the bounds). */
Test(topic_id, ask__survives_every_short_answer)
{
    for (size_t len = 0; len < sizeof(good) - 2; len++) {
        unsigned char answer[sizeof(good)];
        memcpy(answer, good, sizeof(good));
        with_size(answer, len < 4 ? sizeof(good) : len);
        char id[65];
        ask(answer, len, "orders", id);
        cr_assert_str_eq(id, "", "%zu bytes: %s", len, id);
    }
}

Test(topic_id, ask__survives_every_changed_byte)
{
    static const unsigned char values[] = {0x00, 0x7f, 0x80, 0xff};
    for (size_t at = 0; at < sizeof(good); at++) {
        for (size_t v = 0; v < sizeof(values); v++) {
            unsigned char answer[sizeof(good)];
            memcpy(answer, good, sizeof(good));
            with_size(answer, sizeof(good));
            answer[at] = values[v];
            char id[65];
            ask(answer, sizeof(answer), "orders", id);
            cr_assert(strlen(id) == 0 || strlen(id) == 22, "%s", id);
        }
    }
}

Test(topic_id, ask__of_nobody_is_nothing)
{
    static const char *const brokers[] = {
        "", "127.0.0.1:1", "[::1]:1", "[::1", ":::,,,", "no such host.invalid:9092"};
    for (size_t i = 0; i < sizeof(brokers) / sizeof(brokers[0]); i++) {
        char id[65] = "x";
        bf_topic_id_ask(brokers[i], "orders", 2000, id);
        cr_assert_str_eq(id, "", "%s", brokers[i]);
    }
}
