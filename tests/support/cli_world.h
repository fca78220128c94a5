/*
 * cli_world.h - tables and topics as workers leave them, made without workers
 *
 * Six instances i-0 .. i-5 of graph "g", four commands each (start; submits that write
 * rows 1, 2 and 3, 4), all completed: 24 rows, 24 outcomes, 24 events, 24 replies in two
 * partitions.  With jobs, row 2 of each instance is one of work that was handed to a
 * service: 6 jobs.  A test damages the rows (SQL on db) or what is published (the arrays,
 * before cli_world_publish()).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_TEST_CLI_WORLD_H
#define BF_TEST_CLI_WORLD_H

#include "bpmflow/codec.h"
#include "tests/support/cli.h"
#include "tests/support/test_db.h"

#define WORLD_INSTANCES  6
#define WORLD_STEPS      4 /* commands of an instance, and its rows */
#define WORLD_PARTITIONS 2
#define WORLD_MAX        64

typedef struct test_world {
    test_db_t db;
    const char *brokers;
    char *commands;
    char *replies;
    char *events;
    char *dead;
    char *jobs; /* NULL = without */
    char *group;
    bf_arena_t arena;
    /* What will be published, in the order of the commands: rows 1 of all instances, rows
     * 2 of all, then rows 3 and 4 of i-0, of i-1, ... */
    bf_message_t event[WORLD_MAX];
    size_t event_count;
    bf_message_t reply[WORLD_MAX];
    size_t reply_count;
    bf_message_t job[WORLD_MAX]; /* of i-0, of i-1, ... */
    size_t job_count;
    int64_t applied[WORLD_PARTITIONS]; /* D */
    char texts[12][300];
    const char *env[13];
    test_cli_t cli;
} cli_world_t;

/** Skips the running test without services. */
void cli_world_begin(cli_world_t *world);
void cli_world_begin_with_jobs(cli_world_t *world);
void cli_world_publish(cli_world_t *world);
/** The group has published up to D - behind in each partition. */
void cli_world_commit_group(cli_world_t *world, int64_t behind);
void cli_world_end(cli_world_t *world);

/** Take the message at that place out of world->event, world->reply or world->job. */
void cli_world_remove(bf_message_t *list, size_t *count, size_t at);
/** Other bytes of the same length in the value. */
void cli_world_replace(cli_world_t *world, bf_message_t *message, const char *from,
                       const char *to);
/** So many findings were printed, or the test fails with all of them. */
void cli_world_expect_findings(const cli_world_t *world, int count);

/** publish, group, and `bpmflow verify`; fails the test when the status is another. */
void cli_world_verify(cli_world_t *world, int status);

void cli_world_produce(cli_world_t *world, const bf_message_t *message);
/** A record in this partition, whatever its key. */
void cli_world_produce_to(cli_world_t *world, const bf_message_t *message,
                          int32_t partition);

#endif /* BF_TEST_CLI_WORLD_H */
