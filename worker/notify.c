/*
 * notify.c - tells systemd about the state, without its library
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "worker/process.h"

void bf_notify(const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    /* Nobody changes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    size_t len = strlen(path);
    if (len >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, path, len);
    if (path[0] == '@') { /* the abstract name space */
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    /* Nothing depends on it: the manager has a time-out of its own. */
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                 (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    (void)close(fd);
}
