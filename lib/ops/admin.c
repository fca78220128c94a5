/*
 * admin.c - HTTP for metrics and health, on libmicrohttpd
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/admin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64U
#define IDLE_SECONDS    10U

struct bf_admin {
    struct MHD_Daemon *daemon;
    const bf_admin_route_t *routes;
    size_t route_count;
    uint16_t port;
};

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status,
                               const char *content_type, const bf_str_t *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->len, body->data, MHD_RESPMEM_MUST_COPY);
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result rc = MHD_NO;
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type) ==
        MHD_YES) {
        rc = MHD_queue_response(connection, status, response);
    }
    MHD_destroy_response(response);
    return rc;
}

static unsigned run_route(const bf_admin_t *admin, const char *url, const char *method,
                          const char **ret_content_type, bf_str_t *body)
{
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        bf_str_puts(body, "only GET and HEAD are served here\n");
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    }
    for (size_t i = 0; i < admin->route_count; i++) {
        const bf_admin_route_t *route = &admin->routes[i];
        if (strcmp(route->path, url) == 0) {
            *ret_content_type = route->content_type;
            return route->fn(route->arg, body);
        }
    }
    bf_str_puts(body, "not found; there are:");
    for (size_t i = 0; i < admin->route_count; i++) {
        bf_str_putc(body, ' ');
        bf_str_puts(body, admin->routes[i].path);
    }
    bf_str_putc(body, '\n');
    return MHD_HTTP_NOT_FOUND;
}

/* The parameters are those of libmicrohttpd's callback type. */
/* NOLINTNEXTLINE(readability-function-size,readability-non-const-parameter) */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *upload_data,
                                  size_t *upload_size, void **request_state)
{
    (void)version;
    (void)upload_data;
    static int seen;
    if (!*request_state) { /* first call: only the headers are there */
        *request_state = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) { /* a body that nobody asked for: read it and forget it */
        *upload_size = 0;
        return MHD_YES;
    }
    bf_str_t body;
    bf_str_init(&body, 0);
    const char *content_type = "text/plain; charset=utf-8";
    unsigned status = run_route(cls, url, method, &content_type, &body);
    enum MHD_Result rc = MHD_NO;
    if (!bf_str_failed(&body)) {
        rc = respond(connection, status, content_type, &body);
    }
    bf_str_fini(&body);
    return rc;
}

static bf_status_t make_address(const bf_admin_options_t *options,
                                struct sockaddr_storage *ret, socklen_t *ret_len,
                                bf_err_t *err)
{
    const char *text = options->address ? options->address : "127.0.0.1";
    memset(ret, 0, sizeof(*ret));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)ret;
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(options->port);
        *ret_len = sizeof(*v4);
        return BF_OK;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(options->port);
        *ret_len = sizeof(*v6);
        return BF_OK;
    }
    return bf_err_set(err, BF_E_INVALID,
                      "admin address '%s' is no IPv4 or IPv6 address; use 127.0.0.1 or "
                      "0.0.0.0",
                      text);
}

/* A listening socket of our own: its errors can be told apart, and port 0 works. */
static bf_status_t listen_on(const bf_admin_options_t *options, int *ret_fd,
                             uint16_t *ret_port, bf_err_t *err)
{
    struct sockaddr_storage address;
    socklen_t len;
    bf_status_t rc = make_address(options, &address, &len, err);
    if (rc != BF_OK) {
        return rc;
    }
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, (struct sockaddr *)&address, len) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        char reason[128];
        rc = bf_err_set(err, BF_E_IO,
                        "admin port %s:%u cannot be opened: %s; choose another "
                        "admin.port, or 0 for none",
                        options->address ? options->address : "127.0.0.1",
                        (unsigned)options->port,
                        strerror_r(errno, reason, sizeof(reason)));
        if (fd >= 0) {
            (void)close(fd);
        }
        return rc;
    }
    *ret_port = ntohs(address.ss_family == AF_INET6
                          ? ((struct sockaddr_in6 *)(void *)&address)->sin6_port
                          : ((struct sockaddr_in *)(void *)&address)->sin_port);
    *ret_fd = fd;
    return BF_OK;
}

bf_status_t bf_admin_start(const bf_admin_options_t *options, bf_admin_t **ret,
                           bf_err_t *err)
{
    bf_admin_t *admin = calloc(1, sizeof(*admin));
    if (!admin) {
        return bf_err_nomem(err, "admin server");
    }
    admin->routes = options->routes;
    admin->route_count = options->route_count;
    int fd = -1;
    bf_status_t rc = listen_on(options, &fd, &admin->port, err);
    if (rc != BF_OK) {
        free(admin);
        return rc;
    }
    admin->daemon = MHD_start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, admin->port, NULL, NULL, on_request, admin,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_END);
    if (!admin->daemon) {
        (void)close(fd);
        free(admin);
        return bf_err_set(err, BF_E_IO, "the admin server cannot be started");
    }
    *ret = admin;
    return BF_OK;
}

void bf_admin_stop(bf_admin_t *admin)
{
    if (admin) {
        MHD_stop_daemon(admin->daemon); /* closes the socket as well */
        free(admin);
    }
}

uint16_t bf_admin_port(const bf_admin_t *admin)
{
    return admin->port;
}
