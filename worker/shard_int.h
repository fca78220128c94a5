/*
 * shard_int.h - the inside of a shard, shared by its files
 *
 *   shard.c           thread, sessions, the loop
 *   session.c         connects and disconnects store, publisher and consumer
 *   assignment.c      partitions that come and go, and the callbacks of the consumer
 *   claim.c           takes one partition: ownership, fencing, where to begin
 *   recovery.c        publishes again what was applied and perhaps not published
 *   batch.c           memory of batches, collecting and decoding records
 *   batch_load.c      instances and repeated commands of a batch
 *   batch_execute.c   runs the commands, makes rows and messages
 *   batch_commit.c    the database transaction, and every way it can fail
 *   hand_over.c       committed batches to the publisher
 *   wait.c            pauses, back-off, keeping the consumer alive
 *   shard_metrics.c   counters
 *
 * Threads:  everything belongs to the shard's thread unless it says otherwise.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_SHARD_INT_H
#define BF_SHARD_INT_H

#include "bpmflow/cache.h"
#include "bpmflow/command.h"
#include "bpmflow/executor.h"
#include "bpmflow/publisher.h"
#include "bpmflow/store.h"
#include "worker/batch.h"
#include "worker/shard.h"

#define BF_OWNER_MAX         129
#define BF_TRANSACTIONAL_MAX 250
#define BF_REASON_MAX        256

typedef enum {
    BF_PART_NONE,   /* not ours */
    BF_PART_WANTED, /* assigned by the group; has to be claimed */
    BF_PART_READY,  /* claimed, recovered, consumed */
    BF_PART_STOPPED /* assigned, but something is wrong with it: reason */
} bf_part_state_t;

typedef struct bf_part {
    bf_part_state_t state;
    int64_t epoch;      /* READY: ours */
    int64_t next;       /* READY: next_offset in the database */
    int64_t position;   /* READY: next offset to be polled */
    int64_t last_epoch; /* ours before the last rebalance: cached instances are good while
                           nobody else has claimed since; 0 = none */
    char reason[BF_REASON_MAX]; /* STOPPED */
    bf_metric_t *lag;
} bf_part_t;

typedef struct bf_assignment {
    bf_part_t *parts; /* by partition number */
    int32_t total;    /* partitions of the topic; 0 = not known yet */
    char topic_id[65];
    bool settle;              /* there are WANTED partitions, or READY ones to be
                                 assigned to the consumer */
    int64_t next_try_mono_ms; /* of settling */
} bf_assignment_t;

/* Something outside that does not answer; says so once, and when it is over. */
typedef struct bf_outage {
    const char *what; /* "the database", "Kafka" */
    bool down;
    int64_t since_mono_ms;
    int64_t pause_ms; /* the next one; 0 = the first */
    bf_log_limit_t limit;
} bf_outage_t;

typedef enum {
    BF_SESSION_RUNS,
    BF_SESSION_STOP,    /* asked to */
    BF_SESSION_RESTART, /* a new session begins from what the database says */
    BF_SESSION_FENCED,  /* as RESTART, but perhaps another worker has our name */
    BF_SESSION_FATAL    /* the process has to end */
} bf_session_end_t;

/* X(name): metrics beside counts and stages: a histogram, gauges, rarer counters. */
#define BF_SHARD_OTHER_LIST(X)                                                           \
    X(batch_size)                                                                        \
    X(partitions)                                                                        \
    X(lag)                                                                               \
    X(ready)                                                                             \
    X(cached_instances)                                                                  \
    X(cached_bytes)                                                                      \
    X(cache_hits)                                                                        \
    X(cache_misses)                                                                      \
    X(wrong_partition)                                                                   \
    X(republished)                                                                       \
    X(rebalances)

typedef struct bf_shard_metrics {
#define X(name) bf_metric_t *name;
    BF_SHARD_COUNT_LIST(X)
    BF_SHARD_OTHER_LIST(X)
#undef X
#define X(name) bf_metric_t *name##_ns; /* histogram */
    BF_SHARD_STAGE_LIST(X)
#undef X
    bf_metric_t *codes[BF_CODE_COUNT];
} bf_shard_metrics_t;

struct bf_shard {
    /* set by _new */
    bf_worker_t *worker;
    const bf_settings_t *settings;
    int index;
    char owner[BF_OWNER_MAX]; /* "<worker id>/<shard>" */
    char client_id[BF_CLIENT_ID_MAX];
    char transactional_id[BF_TRANSACTIONAL_MAX];
    const char *topic; /* of the commands */
    bf_delivery_t delivery;
    bf_codec_limits_t limits;
    bf_shard_metrics_t metrics;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    bool ready;                 /* lock */
    char reason[BF_REASON_MAX]; /* lock; why not ready */

    atomic_bool publish_trouble; /* publisher's thread -> readiness */
    atomic_bool failed;          /* ended with FATAL */

    /* for the life of the shard */
    bf_cache_t *cache;
    bf_engine_t *engine;
    bf_driver_t *driver;
    bf_plugin_set_t *plugins;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_command_env_t env;
    uint64_t catalogue_seen;
    uint64_t random;
    int64_t restart_pause_ms; /* before the next session; 0 = none was needed yet */
    bf_batch_pool_t *pool;
    size_t batch_limit; /* commands that a batch may have now, by memory */
    size_t batch_pace;  /* ... by time */
    bf_str_t scratch;   /* for texts on their way into an arena */

    /* of the session; NULL while there is none */
    bf_store_t *store;
    bf_publisher_t *publisher;
    bf_consumer_t *consumer;
    bf_session_end_t end;
    bf_assignment_t assignment;
    bf_batch_t *batch;        /* being collected or worked on; NULL = none */
    bf_publication_t *outbox; /* committed, not handed over yet; NULL = none */
    bool joined;              /* the group has answered, perhaps with nothing */
    bool commit_unknown;      /* a COMMIT was lost and is not resolved */
    bool paused;
    bf_record_t *carry; /* polled while a batch was worked on; they come first */
    size_t carry_count;
    size_t carry_cap;
    size_t carry_taken;

    bf_outage_t database;
    bf_outage_t kafka;
    int64_t next_lag_mono_ms;
    int64_t next_kafka_check_mono_ms;
    int32_t topic_total; /* partitions of the topic when we last looked; 0 = never */

    bf_log_limit_t limit_dead;
    bf_log_limit_t limit_rejected;
    bf_log_limit_t limit_partition;
    bf_log_limit_t limit_conflict;
    bf_log_limit_t limit_early;
    bf_log_limit_t limit_publish; /* publisher's thread */
    bf_log_limit_t limit_client;  /* lock: threads of librdkafka */
};

/* --- shard.c --- */
/** A line with shard=. */
void bf_shard_log(bf_shard_t *shard, bf_log_level_t level, const char *fmt, ...)
    BF_PRINTF(3, 4);
/** A line with shard= and partition=. */
void bf_shard_log_part(bf_shard_t *shard, bf_log_level_t level, int32_t partition,
                       const char *fmt, ...) BF_PRINTF(4, 5);
/** The session ends as soon as the loop sees it; the first reason wins. */
void bf_shard_end(bf_shard_t *shard, bf_session_end_t end, const char *fmt, ...)
    BF_PRINTF(3, 4);
void bf_shard_set_ready(bf_shard_t *shard, bool ready, const char *reason);
/** Nothing more should be started: the session ends, or the process stops. */
bool bf_shard_is_ending(const bf_shard_t *shard);

/* --- session.c --- */
/** Connect all; waits while database or Kafka are away. false: see shard->end. */
bool bf_session_open(bf_shard_t *shard);
/** Leave the group, publish what is committed, disconnect. */
void bf_session_close(bf_shard_t *shard);
/** Is another member of the group named like this shard? After the session is closed. */
bool bf_session_has_twin(bf_shard_t *shard);

/* --- assignment.c --- */
void bf_assignment_fini(bf_assignment_t *assignment);
/** Room for `total` partitions. */
bf_status_t bf_assignment_grow(bf_assignment_t *assignment, int32_t total,
                               bf_err_t *err) BF_MUST_USE;
/** NULL when it is not ours, or not ready. */
bf_part_t *bf_assignment_ready(bf_assignment_t *assignment, int32_t partition);
/** A partition whose records are in a batch: it may have been stopped meanwhile, and its
 *  row is ours all the same. NULL when it was taken away. */
bf_part_t *bf_assignment_held(bf_assignment_t *assignment, int32_t partition);
void bf_assignment_on_assign(void *arg, bf_consumer_t *consumer,
                             const bf_topic_partition_t *partitions, size_t count);
void bf_assignment_on_revoke(void *arg, bf_consumer_t *consumer,
                             const bf_topic_partition_t *partitions, size_t count,
                             bool lost);
/** Claim what is wanted and let the consumer read it. Trouble is tried again later. */
void bf_assignment_settle(bf_shard_t *shard);
/** A partition cannot go on: it is left out, readiness tells. */
void bf_assignment_stop_part(bf_shard_t *shard, int32_t partition, const char *fmt, ...)
    BF_PRINTF(3, 4);
/** Ready or not, by the states of the partitions and of the publisher. */
void bf_assignment_report(bf_shard_t *shard);
void bf_assignment_update_lag(bf_shard_t *shard);

/* --- claim.c --- */
/** Make the WANTED partitions READY or STOPPED; those that could not be settled stay
 *  WANTED (the error is returned: try again later). */
bf_status_t bf_claim_wanted(bf_shard_t *shard, bf_err_t *err) BF_MUST_USE;

/* --- recovery.c --- */
/** Publish again what was applied in [from, to) of a partition, and commit `to`. */
bf_status_t bf_recovery_run(bf_shard_t *shard, int32_t partition, int64_t from,
                            int64_t to, bf_err_t *err) BF_MUST_USE;
/** Commit offsets without messages, and wait for it. */
bf_status_t bf_recovery_commit_offsets(bf_shard_t *shard,
                                       const bf_topic_partition_t *offsets, size_t count,
                                       bf_err_t *err) BF_MUST_USE;

/* --- hand_over.c --- */
/** The committed range to the publisher; waits while its queue is full. */
void bf_hand_over(bf_shard_t *shard, bf_batch_t *batch);
/** Publish everything that is committed. BF_OK, BF_E_TIMEOUT, what ended the publisher.
 */
bf_status_t bf_hand_over_flush(bf_shard_t *shard, int64_t timeout_ms,
                               bf_err_t *err) BF_MUST_USE;
/** Forget what is not published: it belongs to somebody else now. */
void bf_hand_over_discard(bf_shard_t *shard);
/** React to what the publisher says; BF_OK and BF_E_TIMEOUT are nothing. */
void bf_hand_over_failed(bf_shard_t *shard, bf_status_t status, const bf_err_t *err);

/* --- wait.c --- */
void bf_outage_init(bf_outage_t *outage, const char *what);
/** Note a failure (logs the first one) and say how long to pause. */
int64_t bf_outage_failed(bf_shard_t *shard, bf_outage_t *outage, const bf_err_t *err);
/** Note that it works (logs when it did not). */
void bf_outage_over(bf_shard_t *shard, bf_outage_t *outage);
/** Pause, with the consumer kept alive. false: the session ends; do not go on. */
bool bf_shard_wait(bf_shard_t *shard, int64_t ms);
/** What a poll has said that brought no record: a partition stops, Kafka is away, or the
 *  session ends. Some errors are said once only, so that each poll has to call this. */
void bf_shard_poll_failed(bf_shard_t *shard, const bf_record_t *record,
                          bf_status_t status, const bf_err_t *err);
/** Let paused partitions go on. */
void bf_shard_resume(bf_shard_t *shard);
/** Give back all records that were polled ahead. */
void bf_shard_drop_carry(bf_shard_t *shard);

/* --- shard_metrics.c --- */
bf_status_t bf_shard_metrics_init(bf_shard_t *shard, bf_err_t *err) BF_MUST_USE;
bf_metric_t *bf_shard_lag_metric(bf_shard_t *shard, int32_t partition);

#endif /* BF_SHARD_INT_H */
