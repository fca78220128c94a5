/*
 * verify.h - proves the tables and the topics against each other
 *
 * What must hold: every row of the history has exactly one event, with the same content
 * byte for byte, in the order of seq, without gaps; every event has its row; every
 * command that was applied has exactly one reply; every row of work that is handed to a
 * service has exactly one job; rows, outcomes and instances agree.
 *
 * Memory: about 150 bytes an instance, 16 a command and a job, whatever the length of the
 * histories: the first pass keeps one digest of the rows and one of the events for each
 * instance.  Only instances whose digests differ are looked at row by row
 * (verify_detail).
 *
 * Purges: an instance without rows counts as purged, and its events and replies as no
 * damage, when a purge ran since, its events say that it was finished early enough for
 * that, and they are complete and in order.
 *
 * Beside running workers: the ends of the topics are taken first, then the rows are read
 * (so each event up to there has its row), then the events; rows whose events are still
 * on their way are waited for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_CLI_VERIFY_H
#define BF_CLI_VERIFY_H

#include "bpmflow/map.h"
#include "bpmflow/purge.h"
#include "bpmflow/reader.h"
#include "bpmflow/store.h"
#include "worker/cli/cli.h"

/* X(name, text) */
#define BF_FINDING_LIST(X)                                                               \
    X(ROW_GAP, "row_gap")                                                                \
    X(ROW_TWICE, "row_twice")                                                            \
    X(ROW_WITHOUT_COMMAND, "row_without_command")                                        \
    X(EVENT_MISSING, "event_missing")                                                    \
    X(EVENT_UNPUBLISHED, "event_unpublished")                                            \
    X(EVENT_WITHOUT_ROW, "event_without_row")                                            \
    X(EVENT_TWICE, "event_twice")                                                        \
    X(EVENT_ORDER, "event_order")                                                        \
    X(EVENT_CONTENT, "event_content")                                                    \
    X(EVENT_FOREIGN, "event_foreign")                                                    \
    X(EVENT_PARTITION, "event_partition")                                                \
    X(REPLY_MISSING, "reply_missing")                                                    \
    X(REPLY_WITHOUT_COMMAND, "reply_without_command")                                    \
    X(JOB_MISSING, "job_missing")                                                        \
    X(JOB_WITHOUT_ROW, "job_without_row")                                                \
    X(JOB_TWICE, "job_twice")                                                            \
    X(JOB_CONTENT, "job_content")                                                        \
    X(COMMAND_ROWS, "command_rows")                                                      \
    X(INSTANCE_MISSING, "instance_missing")                                              \
    X(INSTANCE_SEQ, "instance_seq")                                                      \
    X(INSTANCE_STATE, "instance_state")                                                  \
    X(OFFSETS, "offsets")

typedef enum {
#define X(name, text) BF_FINDING_##name,
    BF_FINDING_LIST(X)
#undef X
        BF_FINDING_COUNT
} bf_finding_t;

/* What is known of one instance. */
typedef struct bf_verify_instance {
    uint64_t row_digest; /* of the rows first_event..rows */
    uint64_t
        event_digest;    /* of the events first_event..rows, in the order of the topic */
    int32_t rows;        /* rows 1..rows were seen */
    int32_t events;      /* the last seq up to which events came in order */
    int32_t first_event; /* older ones may have been removed by retention; else 1 */
    int32_t covered;     /* rows that commands say they wrote */
    int32_t first_covered; /* the first of them; 0 = none */
    uint64_t row_commands; /* sums over the rows: which command wrote them, by the rows */
    uint64_t command_rows; /* ... and by the commands, since first_covered */
    int32_t partition;     /* of its events; -1 = no event yet */
    uint8_t last_state;    /* of the instance, in its last row */
    bool odd;              /* to be looked at in detail */
    bool odd_commands;     /* rows and outcomes of commands do not fit */
    bool spread;           /* its events stand in several partitions; reported */
    bool has_commands;     /* outcomes of its commands were seen */
    bool too_new;          /* no rows, but an event that no purge can have taken */
} bf_verify_instance_t;

/* Numbers of texts with the same hash: replies that rows speak of, minus replies seen. */
typedef struct bf_tally {
    struct bf_tally_slot {
        uint64_t hash; /* 0 = free */
        int64_t count;
    } * slots;
    size_t size; /* a power of two; 0 = nothing yet */
    size_t used;
} bf_tally_t;

typedef struct bf_verify {
    bf_cli_t *cli;
    bf_store_t *store;
    bool json;
    int64_t limit; /* findings to print */
    int64_t settle_ms;

    bf_map_t *instances; /* ID -> bf_verify_instance_t in arena */
    bf_arena_t arena;
    bf_map_t
        *reply_topics; /* name -> int64_t: replies that are still to be found there */
    bf_tally_t replies;
    bool no_jobs;         /* --no-jobs */
    bf_map_t *job_topics; /* name -> what verify_jobs knows of it */
    bf_tally_t jobs;
    bf_str_t scratch; /* an event or a job, re-encoded */
    bf_str_t out;

    bool early_replies;    /* a reply may be there twice, with the same bytes */
    bool events_trimmed;   /* retention has removed the beginning of the event topic */
    bool replies_trimmed;  /* ... of a reply topic */
    bool jobs_trimmed;     /* ... of a topic of jobs */
    bool purged;           /* outcomes of old commands are gone */
    bool unpublished;      /* some partition has applied more than it has published */
    bf_purge_log_t purges; /* what was taken away in order */
    int64_t purged_instances;
    int64_t purged_replies;
    int64_t purged_jobs;
    int64_t *published; /* K of each partition of the command topic; -1 = none */
    int64_t *applied;   /* D */
    int32_t partition_count;

    int64_t row_count;
    int64_t event_count;
    int64_t command_count;
    int64_t reply_count;
    int64_t job_count;
    int64_t finding_count;
    int64_t by_kind[BF_FINDING_COUNT];
} bf_verify_t;

/* verify_state.c: what is collected */

/** The instance, made when it is new. NULL when out of memory. */
bf_verify_instance_t *bf_verify_instance(bf_verify_t *verify, const char *id, size_t len);
/** The digest goes on with the text of one more event. */
uint64_t bf_verify_digest(uint64_t digest, const void *event, size_t len);
/** False when out of memory. */
bool bf_tally_add(bf_tally_t *tally, uint64_t hash, int64_t by);
int64_t bf_tally_get(const bf_tally_t *tally, uint64_t hash);
/** Was it ever added? */
bool bf_tally_knows(const bf_tally_t *tally, uint64_t hash);
/** Hash of a reply in its topic; never 0. */
uint64_t bf_verify_reply_hash(const char *topic, const char *key, size_t key_len,
                              const char *reply, size_t len);
/** Report a finding. @param seq 0 = not about one */
void bf_verify_found(bf_verify_t *verify, bf_finding_t kind, const char *instance_id,
                     int64_t seq, const char *fmt, ...) BF_PRINTF(5, 6);

/* verify_rows.c: the tables. Status: errors of the database, BF_E_NOMEM. */

bf_status_t bf_verify_offsets(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_verify_history(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;
/** The digests of the rows once more, for topics that retention has shortened. */
bf_status_t bf_verify_history_again(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;
bf_status_t bf_verify_repository(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;
/** What purges have done until now. */
bf_status_t bf_verify_purges(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;

/* verify_commands.c */

/** What the sums over rows and commands are made of. */
uint64_t bf_verify_step(const char *command_id, int32_t seq);
bf_status_t bf_verify_commands(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;
/** Call fn for the outcome of every command that was applied before verify began. */
bf_status_t bf_verify_each_command(bf_verify_t *verify, bf_outcome_fn fn, void *arg,
                                   bf_err_t *err) BF_MUST_USE;
/** Hash of the reply that a command has, 0 = none. */
uint64_t bf_verify_reply_of(const bf_command_row_t *command);

/* verify_topics.c */

/* One record of a topic after the other, until nothing is open or comes any more. */
typedef struct bf_verify_pass {
    bf_verify_t *verify;
    bf_reader_t *reader;
    const char *what; /* for the progress line */
    int64_t *count;
    int64_t open; /* what is still to come: rows without event, ... */
    bool late;    /* beyond the end that the topic had at the beginning */
    bf_status_t (*take)(struct bf_verify_pass *pass, const bf_record_t *record,
                        bf_err_t *err);
} bf_verify_pass_t;

/** Has retention removed the oldest records of some partition? */
bool bf_verify_is_trimmed(const bf_reader_t *reader);
bf_status_t bf_verify_run_pass(bf_verify_pass_t *pass, bf_err_t *err) BF_MUST_USE;

bf_status_t bf_verify_events(bf_verify_t *verify, bf_reader_t *reader,
                             bf_err_t *err) BF_MUST_USE;
/** @param reader of the default reply topic; others are opened. NULL = no default one */
bf_status_t bf_verify_replies(bf_verify_t *verify, bf_reader_t *reader,
                              bf_err_t *err) BF_MUST_USE;
/** Sequence number in the text of an event; 0 = this is no event. */
int32_t bf_verify_seq(const char *event, size_t len);

/* verify_jobs.c */

/** A row of the history: does it give a job? Overwrites scratch. */
bf_status_t bf_verify_expect_job(bf_verify_t *verify, const bf_history_t *row,
                                 bf_err_t *err) BF_MUST_USE;
/** The topics that the rows name. */
bf_status_t bf_verify_jobs(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;

/* verify_detail.c */

/** Members that differ: "assignee (row "a", event "b"), message (...)". */
void bf_verify_describe(bf_str_t *ret, const bf_value_t *row, const bf_value_t *record,
                        const char *what);

/** Row by row and event by event for the odd instances. */
bf_status_t bf_verify_details(bf_verify_t *verify, bf_err_t *err) BF_MUST_USE;

#endif /* BF_CLI_VERIFY_H */
