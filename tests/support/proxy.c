/*
 * proxy.c - see proxy.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/proxy.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpmflow/clock.h"

#define PAIRS_MAX 32
#define WAKE_MS   20

/* One connection through the proxy. */
typedef struct pair {
    int client;
    int server;
    bool losing; /* the answer to the request that was just handed on is not wanted */
} pair_t;

struct test_proxy {
    pthread_t thread;
    pthread_mutex_t lock;
    struct sockaddr_in target;
    uint16_t port;
    int listener;            /* lock; -1 = cut */
    bool stop;               /* lock */
    bool stalled;            /* lock */
    bool cut;                /* lock */
    char lose[64];           /* lock; "" = nothing */
    bool lose_request;       /* lock; the request itself, not its answer */
    bool spoil;              /* lock; it is handed on, and no statement any more */
    int lost;                /* lock */
    pair_t pairs[PAIRS_MAX]; /* proxy's thread */
    size_t count;
};

static int listen_on(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t len = sizeof(address);
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    cr_assert_eq(listen(fd, PAIRS_MAX), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void close_pair(test_proxy_t *proxy, size_t i)
{
    (void)close(proxy->pairs[i].client);
    (void)close(proxy->pairs[i].server);
    proxy->pairs[i] = proxy->pairs[--proxy->count];
}

static void accept_one(test_proxy_t *proxy, int listener)
{
    int on = 1;
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (proxy->count == PAIRS_MAX ||
        connect(server, (struct sockaddr *)&proxy->target, sizeof(proxy->target)) != 0) {
        (void)close(client);
        (void)close(server);
        return;
    }
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    proxy->pairs[proxy->count++] = (pair_t){client, server, false};
}

static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* Is this the request that gets lost, or whose answer does? */
static bool is_marked(test_proxy_t *proxy, char *data, size_t len, bool *ret_request)
{
    bool marked = false;
    pthread_mutex_lock(&proxy->lock);
    char *found =
        proxy->lose[0] ? memmem(data, len, proxy->lose, strlen(proxy->lose)) : NULL;
    if (found != NULL) {
        proxy->lose[0] = '\0';
        *ret_request = proxy->lose_request;
        proxy->lost += proxy->lose_request || proxy->spoil ? 1 : 0;
        marked = !proxy->spoil;
        *found = proxy->spoil ? '?' : *found;
    }
    pthread_mutex_unlock(&proxy->lock);
    return marked;
}

/* false: the pair is to be closed. */
static bool hand_on(test_proxy_t *proxy, pair_t *pair, bool from_client)
{
    char buffer[65536];
    ssize_t n =
        recv(from_client ? pair->client : pair->server, buffer, sizeof(buffer), 0);
    if (n <= 0) {
        return false;
    }
    if (!from_client && pair->losing) { /* it was carried out: now it gets lost */
        pthread_mutex_lock(&proxy->lock);
        proxy->lost++;
        pthread_mutex_unlock(&proxy->lock);
        return false;
    }
    bool request = false;
    if (from_client && is_marked(proxy, buffer, (size_t)n, &request)) {
        if (request) {
            return false;
        }
        pair->losing = true;
    }
    return send_all(from_client ? pair->server : pair->client, buffer, (size_t)n);
}

static void serve(test_proxy_t *proxy, int listener)
{
    struct pollfd fds[2 * PAIRS_MAX + 1];
    nfds_t count = 0;
    size_t pairs = proxy->count;
    for (size_t i = 0; i < pairs; i++) {
        fds[count++] = (struct pollfd){.fd = proxy->pairs[i].client, .events = POLLIN};
        fds[count++] = (struct pollfd){.fd = proxy->pairs[i].server, .events = POLLIN};
    }
    fds[count++] = (struct pollfd){.fd = listener, .events = POLLIN};
    if (poll(fds, count, WAKE_MS) <= 0) {
        return;
    }
    for (size_t i = pairs; i-- > 0;) { /* backwards: closing moves the last one */
        bool ok = true;
        if (fds[2 * i].revents) {
            ok = hand_on(proxy, &proxy->pairs[i], true);
        }
        if (ok && fds[2 * i + 1].revents) {
            ok = hand_on(proxy, &proxy->pairs[i], false);
        }
        if (!ok) {
            close_pair(proxy, i);
        }
    }
    if (fds[2 * pairs].revents) {
        accept_one(proxy, listener);
    }
}

static void *run(void *arg)
{
    test_proxy_t *proxy = arg;
    for (;;) {
        pthread_mutex_lock(&proxy->lock);
        bool stop = proxy->stop;
        bool cut = proxy->cut;
        bool stalled = proxy->stalled;
        if (cut && proxy->listener >= 0) {
            (void)close(proxy->listener);
            proxy->listener = -1;
        } else if (!cut && proxy->listener < 0) {
            proxy->listener = listen_on(&proxy->port);
        }
        int listener = proxy->listener;
        pthread_mutex_unlock(&proxy->lock);
        while ((stop || cut) && proxy->count > 0) {
            close_pair(proxy, 0);
        }
        if (stop) {
            return NULL;
        }
        if (stalled) {
            bf_clock_sleep_ms(WAKE_MS);
        } else {
            serve(proxy, listener); /* poll() leaves a negative descriptor alone */
        }
    }
}

test_proxy_t *test_proxy_start(const char *host, uint16_t port)
{
    test_proxy_t *proxy = calloc(1, sizeof(*proxy));
    cr_assert_not_null(proxy);
    pthread_mutex_init(&proxy->lock, NULL);
    proxy->target = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    cr_assert_eq(inet_pton(AF_INET, host, &proxy->target.sin_addr), 1, "%s", host);
    proxy->listener = listen_on(&proxy->port);
    cr_assert_eq(pthread_create(&proxy->thread, NULL, run, proxy), 0);
    return proxy;
}

void test_proxy_stop(test_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->stop = true;
    pthread_mutex_unlock(&proxy->lock);
    (void)pthread_join(proxy->thread, NULL);
    if (proxy->listener >= 0) {
        (void)close(proxy->listener);
    }
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

uint16_t test_proxy_port(const test_proxy_t *proxy)
{
    return proxy->port;
}

void test_proxy_cut(test_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->cut = true;
    pthread_mutex_unlock(&proxy->lock);
}

void test_proxy_mend(test_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->cut = false;
    pthread_mutex_unlock(&proxy->lock);
}

static void lose(test_proxy_t *proxy, const char *text, bool request, bool spoil)
{
    pthread_mutex_lock(&proxy->lock);
    (void)snprintf(proxy->lose, sizeof(proxy->lose), "%s", text);
    proxy->lose_request = request;
    proxy->spoil = spoil;
    pthread_mutex_unlock(&proxy->lock);
}

void test_proxy_stall(test_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->stalled = true;
    pthread_mutex_unlock(&proxy->lock);
}

void test_proxy_lose_answer(test_proxy_t *proxy, const char *text)
{
    lose(proxy, text, /* request= */ false, /* spoil= */ false);
}

void test_proxy_lose_request(test_proxy_t *proxy, const char *text)
{
    lose(proxy, text, /* request= */ true, /* spoil= */ false);
}

void test_proxy_spoil_request(test_proxy_t *proxy, const char *text)
{
    lose(proxy, text, /* request= */ false, /* spoil= */ true);
}

int test_proxy_lost(test_proxy_t *proxy)
{
    pthread_mutex_lock(&proxy->lock);
    int lost = proxy->lost;
    pthread_mutex_unlock(&proxy->lock);
    return lost;
}
