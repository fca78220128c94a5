/*
 * bench_db.c - see bench_db.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/bench/support/bench_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bpmflow/migrate.h"
#include "bpmflow/num.h"

_Noreturn void bench_stop(const char *what, const bf_err_t *err)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, err != NULL ? err->text : "");
    exit(1);
}

void *bench_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        bench_stop("out of memory", NULL);
    }
    return memory;
}

void bench_print(const char *bench, const char *metric, double value, const char *unit)
{
    (void)printf("{\"bench\":\"%s\",\"metric\":\"%s\",\"value\":%.1f,\"unit\":\"%s\"}\n",
                 bench, metric, value, unit);
    (void)fflush(stdout);
}

size_t bench_resident_bytes(void)
{
    unsigned long total = 0;
    unsigned long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%lu %lu", &total, &resident) != 2) { /* NOLINT */
        bench_stop("/proc/self/statm", NULL);
    }
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* --- processor time --- */

static double cpu_of(int64_t pid)
{
    char path[64];
    char line[1024];
    unsigned long user = 0;
    unsigned long system = 0;
    (void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const char *at = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    /* NOLINTNEXTLINE(cert-err34-c): the kernel writes it */
    if (at == NULL || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                             &user, &system) != 2) {
        return 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

bench_cpu_t bench_cpu(const bench_db_t *db)
{
    bench_cpu_t cpu = {.client = cpu_of((int64_t)getpid())};
    cpu.server = db->server_pid > 0 ? cpu_of(db->server_pid) : 0;
    return cpu;
}

/* The process behind the socket. */
static int64_t find_server(const bf_db_options_t *options)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (options->socket == NULL || strlen(options->socket) >= sizeof(address.sun_path)) {
        return 0;
    }
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", options->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    bool known = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
                 getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0;
    (void)close(fd);
    return known ? (int64_t)peer.pid : 0;
}

/* --- database --- */

static const char *setting(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets */
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bf_db_t *connect_to(const bf_db_options_t *options)
{
    bf_db_t *db = NULL;
    bf_err_t err = BF_ERR_INIT;
    if (bf_db_connect(options, &db, &err) != BF_OK) {
        bench_stop("connecting", &err);
    }
    return db;
}

bf_db_t *bench_db_connect(const bench_db_t *db)
{
    return connect_to(&db->options);
}

void bench_db_run(bf_db_t *db, const char *sql)
{
    bf_err_t err = BF_ERR_INIT;
    if (bf_db_execute(db, sql, &err) != BF_OK) {
        bench_stop(sql, &err);
    }
}

void bench_db_make(bench_db_t *ret)
{
    bf_err_t err = BF_ERR_INIT;
    char sql[160];
    const char *port = setting("BF_MARIADB_PORT");
    int64_t number = 0;
    if (setting("BF_MARIADB_HOST") == NULL) {
        (void)puts("SKIPPED: this needs a database: deploy/stack/stack up mariadb");
        exit(77);
    }
    if (port != NULL && bf_num_parse_range(port, strlen(port), 1, 65535, &number, &err)) {
        bench_stop("BF_MARIADB_PORT", &err);
    }
    ret->options = (bf_db_options_t){
        .host = setting("BF_MARIADB_HOST"),
        .port = (uint32_t)number,
        .socket = setting("BF_MARIADB_SOCKET"),
        .user = setting("BF_MARIADB_USER"),
        .password = setting("BF_MARIADB_PASSWORD"),
        .read_timeout_ms = 600000, /* making rows takes its time */
    };
    ret->server_pid = find_server(&ret->options);
    static int made; /* of this process */
    (void)snprintf(ret->name, sizeof(ret->name), "bf_bench_%d_%d", (int)getpid(), made++);
    (void)snprintf(sql, sizeof(sql), "CREATE DATABASE %s", ret->name);
    bf_db_t *db = connect_to(&ret->options);
    bench_db_run(db, sql);
    bf_db_close(db);
    ret->options.database = ret->name;
    db = connect_to(&ret->options);
    (void)fprintf(stderr, "bench: on %s\n", bf_db_server(db));
    if (bf_migrate_run(db, NULL, NULL, NULL, NULL, &err) != BF_OK) {
        bench_stop("migrating", &err);
    }
    bf_db_close(db);
}

void bench_db_drop(const bench_db_t *db)
{
    char sql[160];
    bf_db_t *connection = connect_to(&db->options);
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE %s", db->name);
    bench_db_run(connection, sql);
    bf_db_close(connection);
}

/* --- options --- */

static _Noreturn void usage(const bench_option_t *options, size_t count)
{
    (void)fputs("options:", stderr);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stderr, " [%s N]", options[i].name);
    }
    (void)fputc('\n', stderr);
    exit(2);
}

void bench_options(const bench_option_t *options, size_t count, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < count && strcmp(argv[i], options[k].name) != 0) {
            k++;
        }
        const char *text = i + 1 < argc ? argv[i + 1] : "";
        if (k == count || bf_num_parse_range(text, strlen(text), 0, 1000000000,
                                             options[k].value, NULL) != BF_OK) {
            usage(options, count);
        }
    }
}
