/*
 * connect.h - connections of a subcommand, from its options
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_CONNECT_H
#define BF_CLI_CONNECT_H

#include "bpmflow/client.h"
#include "bpmflow/reader.h"
#include "bpmflow/store.h"
#include "worker/cli/cli.h"

/** A client of the command topic. @param reply_topic NULL: replies are not read */
bf_status_t bf_cli_client(const bf_cli_t *cli, const char *reply_topic,
                          int64_t timeout_ms, bf_client_t **ret,
                          bf_err_t *err) BF_MUST_USE;

/** A reader of the topic. */
bf_status_t bf_cli_reader(const bf_cli_t *cli, const char *topic, bf_reader_from_t from,
                          bf_reader_t **ret, bf_err_t *err) BF_MUST_USE;

/** A reader of one partition, from an offset on. */
bf_status_t bf_cli_reader_at(const bf_cli_t *cli, const char *topic, int32_t partition,
                             int64_t offset, bf_reader_t **ret,
                             bf_err_t *err) BF_MUST_USE;

/** All records of a topic, from its beginning up to where it ends now, into the callback;
 *  ends early, with BF_OK, when bf_cli_stopped(). Errors of the reader and of fn. */
typedef bf_status_t (*bf_cli_record_fn)(void *arg, const bf_record_t *record,
                                        bf_err_t *err);
bf_status_t bf_cli_scan(const bf_cli_t *cli, const char *topic, bf_cli_record_fn fn,
                        void *arg, bf_err_t *err) BF_MUST_USE;

/** A reader from the end that can tell what the group has committed. */
bf_status_t bf_cli_reader_of_group(const bf_cli_t *cli, const char *topic,
                                   const char *group, bf_reader_t **ret,
                                   bf_err_t *err) BF_MUST_USE;

/** A bare connection to the database (no schema check). */
bf_status_t bf_cli_db(const bf_cli_t *cli, bf_db_t **ret, bf_err_t *err) BF_MUST_USE;

/** The store; checks the version of the schema. */
bf_status_t bf_cli_store(const bf_cli_t *cli, bf_store_t **ret,
                         bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_CONNECT_H */
