/*
 * db_proxy.c - see db_proxy.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/db_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PAIRS 32
#define TICK_MS   20

typedef struct pair {
    int client; /* -1 = free */
    int server;
    bool drop_reply; /* close at the server's next bytes */
} pair_t;

struct db_proxy {
    char host[256];
    uint32_t server_port;
    int listener;
    uint32_t port;
    pthread_t thread;
    pthread_mutex_t lock; /* protects what follows */
    const char *pattern;  /* NULL = not armed */
    db_proxy_cut_t cut;
    bool stop;
    bool cut_all;
    bool refuse;
    int cuts;
    /* of the thread alone */
    pair_t pairs[MAX_PAIRS];
};

static void close_pair(pair_t *pair)
{
    (void)close(pair->client);
    (void)close(pair->server);
    *pair = (pair_t){-1, -1, false};
}

static int connect_to_server(const db_proxy_t *proxy)
{
    char port[16];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    (void)snprintf(port, sizeof(port), "%u", proxy->server_port);
    if (getaddrinfo(proxy->host, port, &hints, &list) != 0) {
        return -1;
    }
    int fd = socket(list->ai_family, list->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) != 0) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(list);
    return fd;
}

static void accept_client(db_proxy_t *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) {
        return;
    }
    (void)pthread_mutex_lock(&proxy->lock);
    bool refuse = proxy->refuse;
    (void)pthread_mutex_unlock(&proxy->lock);
    pair_t *pair = NULL;
    for (int i = 0; i < MAX_PAIRS && pair == NULL; i++) {
        pair = proxy->pairs[i].client < 0 ? &proxy->pairs[i] : NULL;
    }
    int server = refuse || pair == NULL ? -1 : connect_to_server(proxy);
    if (server < 0) {
        (void)close(client);
        return;
    }
    *pair = (pair_t){client, server, false};
}

/* false: the other side is gone. */
static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* True once when the data holds the pattern that is armed. */
static bool take_match(db_proxy_t *proxy, const char *data, size_t len,
                       db_proxy_cut_t *ret)
{
    bool found = false;
    (void)pthread_mutex_lock(&proxy->lock);
    if (proxy->pattern != NULL &&
        memmem(data, len, proxy->pattern, strlen(proxy->pattern)) != NULL) {
        proxy->pattern = NULL;
        proxy->cuts++;
        *ret = proxy->cut;
        found = true;
    }
    (void)pthread_mutex_unlock(&proxy->lock);
    return found;
}

/* Moves what the client or the server has sent; false: close the pair. */
static bool forward(db_proxy_t *proxy, pair_t *pair, bool from_client)
{
    static char data[1 << 16]; /* only this thread uses it */
    db_proxy_cut_t cut = DB_PROXY_CUT_REQUEST;
    ssize_t n = recv(from_client ? pair->client : pair->server, data, sizeof(data), 0);
    if (n <= 0) {
        return false;
    }
    if (!from_client) {
        return !pair->drop_reply && send_all(pair->client, data, (size_t)n);
    }
    if (take_match(proxy, data, (size_t)n, &cut)) {
        if (cut == DB_PROXY_CUT_REQUEST) {
            return false;
        }
        pair->drop_reply = true;
    }
    return send_all(pair->server, data, (size_t)n);
}

/* false: time to stop */
static bool obey(db_proxy_t *proxy)
{
    (void)pthread_mutex_lock(&proxy->lock);
    bool stop = proxy->stop;
    bool cut_all = proxy->cut_all || stop;
    proxy->cut_all = false;
    (void)pthread_mutex_unlock(&proxy->lock);
    for (int i = 0; cut_all && i < MAX_PAIRS; i++) {
        if (proxy->pairs[i].client >= 0) {
            close_pair(&proxy->pairs[i]);
        }
    }
    return !stop;
}

static void *run(void *arg)
{
    db_proxy_t *proxy = arg;
    while (obey(proxy)) {
        struct pollfd fds[1 + 2 * MAX_PAIRS];
        fds[0] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
        for (int i = 0; i < MAX_PAIRS; i++) {
            const pair_t *pair = &proxy->pairs[i];
            fds[1 + 2 * i] = (struct pollfd){.fd = pair->client, .events = POLLIN};
            fds[2 + 2 * i] = (struct pollfd){.fd = pair->server, .events = POLLIN};
        }
        if (poll(fds, 1 + 2 * MAX_PAIRS, TICK_MS) <= 0) {
            continue;
        }
        for (int i = 0; i < MAX_PAIRS; i++) {
            pair_t *pair = &proxy->pairs[i];
            bool ok = true;
            if (pair->client >= 0 && fds[2 + 2 * i].revents != 0) {
                ok = forward(proxy, pair, false);
            }
            if (ok && pair->client >= 0 && fds[1 + 2 * i].revents != 0) {
                ok = forward(proxy, pair, true);
            }
            if (!ok) {
                close_pair(pair);
            }
        }
        if (fds[0].revents != 0) {
            accept_client(proxy);
        }
    }
    return NULL;
}

static int listen_somewhere(uint32_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, MAX_PAIRS) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

db_proxy_t *db_proxy_start(const char *host, uint32_t port)
{
    db_proxy_t *proxy = calloc(1, sizeof(*proxy));
    if (proxy == NULL) {
        return NULL;
    }
    (void)snprintf(proxy->host, sizeof(proxy->host), "%s", host);
    proxy->server_port = port;
    for (int i = 0; i < MAX_PAIRS; i++) {
        proxy->pairs[i] = (pair_t){-1, -1, false};
    }
    (void)pthread_mutex_init(&proxy->lock, NULL);
    proxy->listener = listen_somewhere(&proxy->port);
    if (proxy->listener < 0 || pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        (void)close(proxy->listener);
        free(proxy);
        return NULL;
    }
    return proxy;
}

void db_proxy_stop(db_proxy_t *proxy)
{
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->stop = true;
    (void)pthread_mutex_unlock(&proxy->lock);
    (void)pthread_join(proxy->thread, NULL);
    (void)close(proxy->listener);
    (void)pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

uint32_t db_proxy_port(const db_proxy_t *proxy)
{
    return proxy->port;
}

void db_proxy_arm(db_proxy_t *proxy, const char *pattern, db_proxy_cut_t cut)
{
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->pattern = pattern;
    proxy->cut = cut;
    (void)pthread_mutex_unlock(&proxy->lock);
}

void db_proxy_cut_all(db_proxy_t *proxy)
{
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->cut_all = true;
    (void)pthread_mutex_unlock(&proxy->lock);
}

void db_proxy_refuse(db_proxy_t *proxy, bool refuse)
{
    (void)pthread_mutex_lock(&proxy->lock);
    proxy->refuse = refuse;
    (void)pthread_mutex_unlock(&proxy->lock);
}

int db_proxy_cuts(db_proxy_t *proxy)
{
    (void)pthread_mutex_lock(&proxy->lock);
    int cuts = proxy->cuts;
    (void)pthread_mutex_unlock(&proxy->lock);
    return cuts;
}
