/*
 * db.c - see db.h
 *
 * Works with MariaDB Connector/C and with Oracle's libmysqlclient; what differs is in
 * set_tls() and set_timeouts().  Automatic reconnection is never asked for: it would go
 * on in the middle of a transaction with autocommit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lib/store/db_int.h"

#include <errmsg.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpmflow/num.h"

#define DEFAULT_PORT               3306
#define DEFAULT_CONNECT_TIMEOUT_MS 5000
#define DEFAULT_IO_TIMEOUT_MS      30000

/* Strict, so that a value that does not fit is an error and not a shorter value. */
#define SQL_MODE "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
static int library_failed; /* written once, under library_once */

static void init_library(void)
{
    library_failed = mysql_library_init(0, NULL, NULL);
}

/* --- classification --- */

typedef struct error_class {
    unsigned number;
    bf_status_t status;
} error_class_t;

static const error_class_t error_classes[] = {
    /* the transaction is rolled back or has to be: the same one again */
    {1020, BF_E_STORE_RETRY}, /* record has changed (snapshot isolation of MariaDB) */
    {1037, BF_E_STORE_RETRY}, /* server out of memory */
    {1038, BF_E_STORE_RETRY},
    {1041, BF_E_STORE_RETRY},
    {1047, BF_E_STORE_RETRY}, /* Galera: node not prepared */
    {1180, BF_E_STORE_RETRY}, /* error during COMMIT */
    {1205, BF_E_STORE_RETRY}, /* lock wait time-out: only the statement is undone */
    {1206, BF_E_STORE_RETRY}, /* lock table full */
    {1213, BF_E_STORE_RETRY}, /* deadlock */
    {1615, BF_E_STORE_RETRY}, /* prepared statement needs to be prepared again */
    {1637, BF_E_STORE_RETRY}, /* too many active transactions */
    {1969, BF_E_STORE_RETRY}, /* MariaDB: max_statement_time */
    {3024, BF_E_STORE_RETRY}, /* MySQL: max_execution_time */
    {3101, BF_E_STORE_RETRY}, /* group replication: certification failed */
    {3572, BF_E_STORE_RETRY}, /* NOWAIT */
    {8002, BF_E_STORE_RETRY}, /* TiDB: conflicts */
    {8022, BF_E_STORE_RETRY},
    {8028, BF_E_STORE_RETRY},
    {9007, BF_E_STORE_RETRY},
    /* the connection is gone, or leads to a server that cannot write now */
    {1040, BF_E_STORE_LOST}, /* too many connections */
    {1053, BF_E_STORE_LOST}, /* shutdown */
    {1152, BF_E_STORE_LOST},
    {1158, BF_E_STORE_LOST},
    {1159, BF_E_STORE_LOST},
    {1160, BF_E_STORE_LOST},
    {1161, BF_E_STORE_LOST},
    {1184, BF_E_STORE_LOST},
    {1203, BF_E_STORE_LOST}, /* too many connections of the user */
    {1243, BF_E_STORE_LOST}, /* unknown prepared statement: another server behind us */
    {1290, BF_E_STORE_LOST}, /* --read-only */
    {1317, BF_E_STORE_LOST}, /* interrupted */
    {1792, BF_E_STORE_LOST}, /* read-only transaction */
    {1836, BF_E_STORE_LOST}, /* read-only mode */
    {1927, BF_E_STORE_LOST}, /* MariaDB: killed */
    {3100, BF_E_STORE_LOST}, /* group replication: hook */
    {3168, BF_E_STORE_LOST}, /* server is not available */
    {4031, BF_E_STORE_LOST}, /* MySQL: disconnected for idling */
    {CR_CONNECTION_ERROR, BF_E_STORE_LOST},
    {CR_CONN_HOST_ERROR, BF_E_STORE_LOST},
    {CR_UNKNOWN_HOST, BF_E_STORE_LOST}, /* also when the name server is away */
    {CR_SERVER_GONE_ERROR, BF_E_STORE_LOST},
    {CR_SERVER_HANDSHAKE_ERR, BF_E_STORE_LOST},
    {CR_SERVER_LOST, BF_E_STORE_LOST},
    {CR_COMMANDS_OUT_OF_SYNC, BF_E_STORE_LOST},
    {CR_MALFORMED_PACKET, BF_E_STORE_LOST},
    {2055, BF_E_STORE_LOST}, /* lost, with the system's error */
    /* a row that cannot be stored, however often it is tried */
    {1048, BF_E_STORE_DATA}, /* NULL where there must be a value */
    {1118, BF_E_STORE_DATA}, /* row too large */
    {1153, BF_E_STORE_DATA}, /* packet too large */
    {1264, BF_E_STORE_DATA}, /* number out of range */
    {1265, BF_E_STORE_DATA}, /* truncated */
    {1292, BF_E_STORE_DATA}, /* wrong date or number */
    {1300, BF_E_STORE_DATA}, /* wrong character string */
    {1301, BF_E_STORE_DATA}, /* result over max_allowed_packet */
    {1366, BF_E_STORE_DATA}, /* wrong text for the column */
    {1367, BF_E_STORE_DATA}, /* illegal value */
    {1406, BF_E_STORE_DATA}, /* too long */
    {3140, BF_E_STORE_DATA}, /* invalid JSON */
    {3819, BF_E_STORE_DATA}, /* MySQL: CHECK */
    {3988, BF_E_STORE_DATA}, /* cannot be converted */
    {4025, BF_E_STORE_DATA}, /* MariaDB: CHECK */
    {CR_NET_PACKET_TOO_LARGE, BF_E_STORE_DATA},
    /* */
    {BF_SQL_DUPLICATE_ENTRY, BF_E_DUPLICATE},
};

bf_status_t bf_db_classify(unsigned error_number)
{
    for (size_t i = 0; i < sizeof(error_classes) / sizeof(error_classes[0]); i++) {
        if (error_classes[i].number == error_number) {
            return error_classes[i].status;
        }
    }
    return BF_E_STORE;
}

static const char *remedy_of(unsigned number)
{
    switch (number) {
    case 1044:
    case 1045:
    case 1142:
    case 1227:
        return "; check user, password and grants";
    case 1049:
        return "; create it: CREATE DATABASE ... CHARACTER SET utf8mb4 COLLATE "
               "utf8mb4_bin";
    case BF_SQL_NO_SUCH_TABLE:
        return "; run: bpmflow migrate";
    case 1040:
    case 1203:
        return "; raise max_connections of the server";
    case 1153:
    case CR_NET_PACKET_TOO_LARGE:
        return "; raise max_allowed_packet of the server";
    case 1021:
    case 1114:
        return "; the server needs more disk space";
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
        return "; is the server running and reachable?";
    case CR_SSL_CONNECTION_ERROR:
        return "; check the TLS settings of both sides";
    default:
        return "";
    }
}

bf_status_t bf_db_fail_with(const bf_db_t *db, unsigned number, const char *text,
                            const char *what, bf_err_t *err)
{
    return bf_err_set(err, bf_db_classify(number), "%s: %s: %s (error %u)%s", what,
                      db->server, text, number, remedy_of(number));
}

/* From the connection's last error. */
static bf_status_t fail(bf_db_t *db, const char *what, bf_err_t *err)
{
    return bf_db_fail_with(db, mysql_errno(db->mysql), mysql_error(db->mysql), what, err);
}

unsigned bf_db_errno(const bf_db_t *db)
{
    return mysql_errno(db->mysql);
}

/* --- options --- */

static unsigned seconds_of(uint32_t ms, uint32_t default_ms, unsigned tries)
{
    uint64_t total_ms = ms != 0 ? ms : default_ms;
    uint64_t sec = (total_ms + (uint64_t)tries * 1000 - 1) / ((uint64_t)tries * 1000);
    return (unsigned)sec;
}

static bool set_timeouts(MYSQL *mysql, const bf_db_options_t *options)
{
#ifdef MARIADB_BASE_VERSION
    const unsigned tries = 1;
#else
    const unsigned tries = 3; /* libmysqlclient reads three times before it gives up */
#endif
    unsigned connect_s =
        seconds_of(options->connect_timeout_ms, DEFAULT_CONNECT_TIMEOUT_MS, 1);
    unsigned read_s = seconds_of(options->read_timeout_ms, DEFAULT_IO_TIMEOUT_MS, tries);
    unsigned write_s = seconds_of(options->write_timeout_ms, DEFAULT_IO_TIMEOUT_MS, 1);
    return mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s) == 0 &&
           mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &read_s) == 0 &&
           mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &write_s) == 0;
}

#ifdef MARIADB_BASE_VERSION
/* Connector/C checks the name of the server whenever it checks its certificate: verify-ca
 * is as strict as verify-full here.  From 3.4 on it enforces TLS unless told not to. */
static bool set_tls(MYSQL *mysql, const bf_db_options_t *options)
{
    bf_my_bool_t enforce = options->tls != BF_TLS_DISABLED;
    bf_my_bool_t verify =
        options->tls == BF_TLS_VERIFY_CA || options->tls == BF_TLS_VERIFY_FULL;
    return (options->tls_ca == NULL ||
            mysql_options(mysql, MYSQL_OPT_SSL_CA, options->tls_ca) == 0) &&
           mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &enforce) == 0 &&
           mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify) == 0;
}
#else
static bool set_tls(MYSQL *mysql, const bf_db_options_t *options)
{
    unsigned mode = SSL_MODE_DISABLED;
    switch (options->tls) {
    case BF_TLS_DISABLED:
        break;
    case BF_TLS_REQUIRED:
        mode = SSL_MODE_REQUIRED;
        break;
    case BF_TLS_VERIFY_CA:
        mode = SSL_MODE_VERIFY_CA;
        break;
    case BF_TLS_VERIFY_FULL:
        mode = SSL_MODE_VERIFY_IDENTITY;
        break;
    }
    /* caching_sha2_password without TLS needs the server's key (Connector/C asks for it
     * by itself). */
    bool ask_key = options->tls == BF_TLS_DISABLED;
    return (options->tls_ca == NULL ||
            mysql_options(mysql, MYSQL_OPT_SSL_CA, options->tls_ca) == 0) &&
           mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode) == 0 &&
           mysql_options(mysql, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &ask_key) == 0;
}
#endif

static bool set_options(MYSQL *mysql, const bf_db_options_t *options)
{
    unsigned local_infile = 0; /* a false server could ask for our files */
    unsigned protocol =
        options->socket != NULL ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
    return mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") == 0 &&
           mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile) == 0 &&
           mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol) == 0 &&
           set_timeouts(mysql, options) && set_tls(mysql, options);
}

/* --- session --- */

static bf_status_t set_up_session(bf_db_t *db, bf_err_t *err)
{
    static const char *const needed[] = {
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION autocommit = 1, time_zone = '+00:00', sql_mode = '" SQL_MODE "'",
    };
    /* Compatible servers may lack some.  Times in seconds.  An owner that was stopped
     * inside of a transaction must not hold its offset row for hours; and who waits for a
     * lock must soon be able to look at something else: a shard that is asked for its
     * partitions keeps the whole group waiting. */
    static const char *const wanted[] = {
        "SET SESSION innodb_lock_wait_timeout = 3",
        "SET SESSION lock_wait_timeout = 5",
        "SET SESSION wait_timeout = 3600",
        "SET SESSION lc_messages = 'en_US'",
    };
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (mysql_query(db->mysql, needed[i]) != 0) {
            return fail(db, needed[i], err);
        }
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        (void)mysql_query(db->mysql, wanted[i]);
    }
    if (db->mariadb) {
        (void)mysql_query(db->mysql, "SET SESSION idle_write_transaction_timeout = 10");
    }
    int64_t values[2] = {0};
    bool row = false;
    bf_status_t status = bf_db_query_ints(
        db, "SELECT @@SESSION.max_allowed_packet, @@SESSION.auto_increment_increment",
        values, 2, &row, err);
    if (status == BF_OK) {
        db->max_packet_bytes = values[0] > 0 ? (size_t)values[0] : (size_t)1 << 24;
        db->id_step = values[1] > 0 ? values[1] : 1;
    }
    return status;
}

/* "10.11.14-MariaDB-0+deb12u2" -> "MariaDB 10.11.14"; "9.7.0" -> "MySQL 9.7.0" */
static void read_server(bf_db_t *db)
{
    const char *info = mysql_get_server_info(db->mysql);
    db->mariadb = strstr(info, "MariaDB") != NULL;
    if (strncmp(info, "5.5.5-", 6) == 0) { /* MariaDB's disguise for old replicas */
        info += 6;
    }
    (void)snprintf(db->server, sizeof(db->server), "%s %.*s",
                   db->mariadb ? "MariaDB" : "MySQL", (int)strcspn(info, "-"), info);
    db->connection_id = mysql_thread_id(db->mysql);
}

static bf_status_t check_server_version(const bf_db_t *db, bf_err_t *err)
{
    unsigned long version = mysql_get_server_version(db->mysql);
    unsigned long least = db->mariadb ? 101100 : 80000;
    if (version >= least) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_STORE,
                      "%s is too old: this needs MariaDB 10.11 or MySQL 8.0 or later",
                      db->server);
}

bf_status_t bf_db_connect(const bf_db_options_t *options, bf_db_t **ret, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    const char *host = options->host != NULL ? options->host : "127.0.0.1";
    unsigned port = options->port != 0 ? options->port : DEFAULT_PORT;
    (void)pthread_once(&library_once, init_library);
    if (library_failed != 0) {
        return bf_err_set(err, BF_E_STORE, "the database client library cannot start");
    }
    bf_db_t *db = calloc(1, sizeof(*db));
    if (db == NULL) {
        return bf_err_nomem(err, "connecting to the database");
    }
    if (options->socket != NULL) {
        (void)snprintf(db->server, sizeof(db->server), "database at %.50s",
                       options->socket);
        host = "localhost";
    } else {
        (void)snprintf(db->server, sizeof(db->server), "database at %.40s:%u", host,
                       port);
    }
    db->mysql = mysql_init(NULL);
    if (db->mysql == NULL) {
        status = bf_err_nomem(err, "connecting to the database");
        goto out;
    }
    if (!set_options(db->mysql, options)) {
        status =
            bf_err_set(err, BF_E_STORE, "%s: the client library refuses an option: %s",
                       db->server, mysql_error(db->mysql));
        goto out;
    }
    if (mysql_real_connect(db->mysql, host, options->user, options->password,
                           options->database, port, options->socket,
                           CLIENT_FOUND_ROWS) == NULL) {
        status = fail(db, "connecting", err);
        goto out;
    }
    db->pipelined = !options->one_at_a_time;
    read_server(db);
    status = check_server_version(db, err);
    if (status == BF_OK) {
        status = set_up_session(db, err);
    }
    if (status == BF_OK) {
        *ret = db;
        db = NULL;
    }
out:
    bf_db_close(db);
    return status;
}

void bf_db_close(bf_db_t *db)
{
    if (db == NULL) {
        return;
    }
    if (db->mysql != NULL) {
        mysql_close(db->mysql);
    }
    free(db);
}

/* --- plain statements --- */

/* The statement's beginning stands for it in an error. */
static bf_status_t fail_statement(bf_db_t *db, const char *sql, bf_err_t *err)
{
    char what[80];
    (void)snprintf(what, sizeof(what), "%.70s", sql);
    what[strcspn(what, "\n")] = '\0';
    return fail(db, what, err);
}

bf_status_t bf_db_execute(bf_db_t *db, const char *sql, bf_err_t *err)
{
    if (mysql_query(db->mysql, sql) != 0) {
        return fail_statement(db, sql, err);
    }
    /* A statement that has rows all the same: read them, or the connection is out of
     * step. */
    MYSQL_RES *rows = mysql_store_result(db->mysql);
    if (rows != NULL) {
        mysql_free_result(rows);
    }
    return BF_OK;
}

void bf_db_cut(bf_db_t *db)
{
#ifdef MARIADB_BASE_VERSION
    (void)shutdown(mysql_get_socket(db->mysql), SHUT_RDWR);
#else
    (void)shutdown(db->mysql->net.fd, SHUT_RDWR);
#endif
}

void bf_db_roll_back(bf_db_t *db)
{
    if (bf_db_execute(db, "ROLLBACK", NULL) != BF_OK) {
        bf_db_cut(db);
    }
}

bf_status_t bf_db_query_ints(bf_db_t *db, const char *sql, int64_t *ret, size_t count,
                             bool *ret_row, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    if (mysql_query(db->mysql, sql) != 0) {
        return fail_statement(db, sql, err);
    }
    MYSQL_RES *rows = mysql_store_result(db->mysql);
    if (rows == NULL) {
        return fail_statement(db, sql, err);
    }
    MYSQL_ROW row = mysql_fetch_row(rows);
    *ret_row = row != NULL;
    for (size_t i = 0; row != NULL && i < count && status == BF_OK; i++) {
        ret[i] = 0;
        if (row[i] != NULL) {
            status = bf_num_parse_i64(row[i], strlen(row[i]), &ret[i], err);
        }
    }
    mysql_free_result(rows);
    return status;
}

const char *bf_db_server(const bf_db_t *db)
{
    return db->server;
}

bool bf_db_is_mariadb(const bf_db_t *db)
{
    return db->mariadb;
}

uint64_t bf_db_connection_id(const bf_db_t *db)
{
    return db->connection_id;
}
