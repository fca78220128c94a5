/*
 * test_admin.c - the HTTP port
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/admin.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned say(void *arg, bf_str_t *body)
{
    bf_str_puts(body, arg);
    return 200;
}

static unsigned not_ready(void *arg, bf_str_t *body)
{
    (void)arg;
    bf_str_puts(body, "waits for the database\n");
    return 503;
}

static char hello[] = "hello";
static const bf_admin_route_t routes[] = {{"/hello", "text/x-test", say, hello},
                                          {"/readyz", "text/plain", not_ready, NULL}};

static bf_admin_t *start(void)
{
    bf_admin_t *admin = NULL;
    bf_err_t err = BF_ERR_INIT;
    const bf_admin_options_t options = {.routes = routes, .route_count = 2};
    cr_assert_eq(bf_admin_start(&options, &admin, &err), BF_OK, "%s", err.text);
    return admin;
}

static void request(uint16_t port, const char *head, char *ret, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    char text[256];
    int len = snprintf(text, sizeof(text), "%s HTTP/1.0\r\n\r\n", head);
    cr_assert_eq(send(fd, text, (size_t)len, 0), len);
    size_t got = 0;
    ssize_t n;
    while (got < size - 1 && (n = recv(fd, ret + got, size - 1 - got, 0)) > 0) {
        got += (size_t)n;
    }
    ret[got] = '\0';
    (void)close(fd);
}

Test(admin, start__serves_its_routes)
{
    bf_admin_t *admin = start();
    char answer[2048];
    request(bf_admin_port(admin), "GET /hello", answer, sizeof(answer));
    cr_assert(strstr(answer, " 200 "), "%s", answer);
    cr_assert(strstr(answer, "text/x-test"), "%s", answer);
    cr_assert(strstr(answer, "\r\n\r\nhello"), "%s", answer);
    request(bf_admin_port(admin), "GET /readyz", answer, sizeof(answer));
    cr_assert(strstr(answer, " 503 "), "%s", answer);
    cr_assert(strstr(answer, "waits for the database"), "%s", answer);
    bf_admin_stop(admin);
}

Test(admin, start__says_what_there_is_instead)
{
    bf_admin_t *admin = start();
    char answer[2048];
    request(bf_admin_port(admin), "GET /metricz", answer, sizeof(answer));
    cr_assert(strstr(answer, " 404 "), "%s", answer);
    cr_assert(strstr(answer, "/hello /readyz"), "%s", answer);
    request(bf_admin_port(admin), "POST /hello", answer, sizeof(answer));
    cr_assert(strstr(answer, " 405 "), "%s", answer);
    bf_admin_stop(admin);
}

Test(admin, start__a_taken_port_is_an_error_that_names_it)
{
    bf_admin_t *admin = start();
    bf_admin_t *second = NULL;
    bf_err_t err = BF_ERR_INIT;
    const bf_admin_options_t options = {.port = bf_admin_port(admin)};
    cr_assert_eq(bf_admin_start(&options, &second, &err), BF_E_IO);
    cr_assert_null(second);
    char port[16];
    (void)snprintf(port, sizeof(port), ":%u ", (unsigned)options.port);
    cr_assert(strstr(err.text, port), "%s", err.text);
    bf_admin_stop(admin);
}

Test(admin, start__refuses_what_is_no_address)
{
    bf_admin_t *admin = NULL;
    bf_err_t err = BF_ERR_INIT;
    const bf_admin_options_t options = {.address = "localhost"};
    cr_assert_eq(bf_admin_start(&options, &admin, &err), BF_E_INVALID);
    cr_assert(strstr(err.text, "localhost"));
}
