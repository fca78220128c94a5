/*
 * sql_floor.c - how fast the database alone takes what a pipeline run has written
 *
 * Reads from a database that a worker has filled which commands were committed together
 * (same owner, same time of the batch), and writes the same rows in the same transactions
 * into an empty database: one thread and one connection for each shard, no Kafka.  The
 * rows are made by executing the commands in memory; only bf_store_commit() is timed.
 *
 *     sql_floor --graph FILE --from DATABASE --to DATABASE [--command submit]
 *
 * The server comes from BF_MARIADB_*.  Only batches with a command of the given verb are
 * counted.  The last line is a JSON object.
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <inttypes.h>
#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/command.h"
#include "bpmflow/executor.h"
#include "bpmflow/map.h"
#include "bpmflow/migrate.h"
#include "bpmflow/num.h"
#include "bpmflow/store.h"

enum { MAX_LANES = 32, MAX_PARTITIONS = 1024, MAX_BATCH = 20000 };

/* One row of bpm_flow_command of the run that is repeated. */
typedef struct {
    int lane;
    int32_t partition;
    int64_t offset;
    int64_t time_ms; /* the same in all commands of a batch */
    char *instance_id;
    char *command_id;
    char *command;
    char *reply_topic;
    bf_text_t reply;
} source_t;

/* What one shard did. */
typedef struct {
    const source_t *rows;
    size_t count;
    bf_graph_t *graph;
    const char *database;
    const char *verb;
    char owner[160];
    /* results */
    int64_t commit_ns;
    size_t commands; /* in the batches that are counted */
    size_t batches;
    bf_err_t err;
    bf_status_t status;
} lane_t;

/* Everything of a lane while it runs. */
typedef struct {
    lane_t *lane;
    bf_store_t *store;
    bf_engine_t *engine;
    bf_driver_t *driver;
    bf_controller_t *controller;
    bf_executor_t *executor;
    bf_map_t *instances; /* ID -> bf_instance_t */
    bf_arena_t arena;
    int64_t epochs[MAX_PARTITIONS];
    int64_t next[MAX_PARTITIONS];
    bool claimed[MAX_PARTITIONS];
} player_t;

static const char *env(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : fallback;
}

static void fatal(const char *what, const char *why)
{
    (void)fprintf(stderr, "sql_floor: %s: %s\n", what, why);
    exit(2);
}

static void *need(void *block)
{
    if (block == NULL) {
        fatal("memory", "too little");
    }
    return block;
}

static bf_db_options_t db_options(const char *database)
{
    bf_db_options_t options = {
        .socket = env("BF_MARIADB_SOCKET", NULL),
        .host = env("BF_MARIADB_HOST", "127.0.0.1"),
        .user = env("BF_MARIADB_USER", "bpmflow"),
        .password = env("BF_MARIADB_PASSWORD", "bpmflow"),
        .database = database,
    };
    return options;
}

/* --- what is to be repeated */

static char *copy(const char *text, size_t len)
{
    char *ret = need(malloc(len + 1));
    if (len > 0) {
        memcpy(ret, text, len);
    }
    ret[len] = '\0';
    return ret;
}

static int64_t number(const char *text)
{
    int64_t value = 0;
    bf_err_t err = BF_ERR_INIT;
    if (bf_num_parse_i64(text, strlen(text), &value, &err) != BF_OK) {
        fatal("number", err.text);
    }
    return value;
}

static int lane_of(lane_t *lanes, size_t *count, const char *owner)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(lanes[i].owner, owner) == 0) {
            return (int)i;
        }
    }
    if (*count == MAX_LANES) {
        fatal("lanes", "too many owners of partitions");
    }
    (void)snprintf(lanes[*count].owner, sizeof(lanes[*count].owner), "%s", owner);
    return (int)(*count)++;
}

static source_t *read_source(const char *database, lane_t *lanes, size_t *ret_lanes,
                             size_t *ret_count)
{
    MYSQL *my = need(mysql_init(NULL));
    if (mysql_real_connect(
            my, env("BF_MARIADB_HOST", "127.0.0.1"), env("BF_MARIADB_USER", "bpmflow"),
            env("BF_MARIADB_PASSWORD", "bpmflow"), database,
            (unsigned)number(env("BF_MARIADB_PORT", "3306")), NULL, 0) == NULL ||
        mysql_query(my, "SET time_zone='+00:00'") != 0 ||
        mysql_query(my, "SELECT o.owner, c.partition_no, c.command_offset,"
                        " CAST(ROUND(UNIX_TIMESTAMP(c.create_time) * 1000) AS SIGNED),"
                        " c.instant_id, c.command_id, c.command, c.reply_topic, c.reply"
                        " FROM bpm_flow_command c JOIN bpm_flow_offset o"
                        " ON o.topic_no = c.topic_no AND o.partition_no = c.partition_no"
                        " WHERE c.command_id IS NOT NULL"
                        " ORDER BY 1, 4, 2, 3") != 0) {
        fatal(database, mysql_error(my));
    }
    MYSQL_RES *result = mysql_store_result(my);
    if (result == NULL) {
        fatal(database, mysql_error(my));
    }
    size_t count = (size_t)mysql_num_rows(result);
    source_t *rows = need(calloc(count + 1, sizeof(*rows)));
    for (size_t i = 0; i < count; i++) {
        MYSQL_ROW row = mysql_fetch_row(result);
        unsigned long *len = mysql_fetch_lengths(result);
        rows[i].lane = lane_of(lanes, ret_lanes, row[0]);
        rows[i].partition = (int32_t)number(row[1]);
        rows[i].offset = number(row[2]);
        rows[i].time_ms = number(row[3]);
        rows[i].instance_id = copy(row[4], len[4]);
        rows[i].command_id = copy(row[5], len[5]);
        rows[i].command = copy(row[6], len[6]);
        rows[i].reply_topic = row[7] != NULL ? copy(row[7], len[7]) : NULL;
        rows[i].reply.data = row[8] != NULL ? copy(row[8], len[8]) : NULL;
        rows[i].reply.len = row[8] != NULL ? len[8] : 0;
    }
    mysql_free_result(result);
    mysql_close(my);
    *ret_count = count;
    return rows;
}

static bf_graph_t *load_graph(const char *file)
{
    bf_diags_t diags;
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_diags_init(&diags);
    if (bf_graph_load_file(file, &diags, &graph, &err) != BF_OK) {
        fatal(file, err.text);
    }
    bf_diags_fini(&diags);
    return graph;
}

static void migrate(const char *database)
{
    bf_db_t *db = NULL;
    bf_err_t err = BF_ERR_INIT;
    bf_db_options_t options = db_options(database);
    if (bf_db_connect(&options, &db, &err) != BF_OK ||
        bf_migrate_run(db, NULL, NULL, NULL, NULL, &err) != BF_OK) {
        fatal(database, err.text);
    }
    bf_db_close(db);
}

/* --- repeating */

static bf_instance_t *instance_of(player_t *p, const char *id)
{
    bf_instance_t *inst = bf_map_get_str(p->instances, id);
    if (inst == NULL) {
        inst = need(bf_instance_new(id));
        if (bf_map_put(p->instances, id, strlen(id), inst, NULL) != BF_OK) {
            fatal("memory", "too little");
        }
    }
    return inst;
}

/* "<prefix>-<instance>-<step>": the command that the driver sent under this ID. */
static bf_command_t command_of(player_t *p, const source_t *row)
{
    const char *dash = strrchr(row->command_id, '-');
    const char *step = dash != NULL ? dash + 1 : "0";
    bf_command_t command = {
        .command_id = row->command_id,
        .verb = bf_verb_of_name(row->command),
        .instance_id = row->instance_id,
        .graph_id = p->lane->graph->id,
    };
    if (command.verb == BF_VERB_SUBMIT) {
        command.action = BF_ACTION_FORWARD;
        command.node_id = need(bf_arena_printf(&p->arena, "t%s", step));
        command.actor = need(bf_arena_printf(&p->arena, "u%s", step));
        command.message = need(bf_arena_printf(&p->arena, "step %s", step));
    }
    bf_member_t *member = need(bf_arena_calloc(&p->arena, 1, sizeof(*member)));
    member->name = "done";
    member->name_len = 4;
    member->value = bf_value_int(number(step));
    command.vars.type = BF_VALUE_MAP;
    command.vars.len = 1;
    command.vars.as.members = member;
    return command;
}

static bf_status_t claim(player_t *p, const source_t *row, bf_err_t *err)
{
    if (row->partition < 0 || row->partition >= MAX_PARTITIONS) {
        return bf_err_set(err, BF_E_LIMIT, "partition %" PRId32 " is too high",
                          row->partition);
    }
    if (p->claimed[row->partition]) {
        return BF_OK;
    }
    bf_partition_claim_t claim = {
        .topic = "floor",
        .partition_no = row->partition,
        .topic_id = "",
        .owner = p->lane->owner,
        .incarnation = "00000000-0000-0000-0000-000000000000",
        .transactional_id = "floor",
        .first_offset = row->offset,
    };
    bf_partition_row_t before;
    bf_partition_row_t after;
    bf_status_t rc = bf_store_claim_partition(p->store, &claim, &before, &after, err);
    if (rc == BF_OK) {
        p->claimed[row->partition] = true;
        p->epochs[row->partition] = after.epoch;
        p->next[row->partition] = row->offset;
    }
    return rc;
}

/* Arrays of one batch, made once. */
typedef struct {
    bf_offset_advance_t offsets[MAX_PARTITIONS];
    size_t offset_count;
    bf_instance_t *instances[MAX_BATCH];
    size_t instance_count;
    bf_history_t history[MAX_BATCH];
    size_t history_count;
    bf_command_row_t commands[MAX_BATCH];
    size_t command_count;
} batch_t;

static void add_offset(player_t *p, batch_t *batch, const source_t *row)
{
    bf_offset_advance_t *found = NULL;
    for (size_t i = 0; i < batch->offset_count; i++) {
        if (batch->offsets[i].partition_no == row->partition) {
            found = &batch->offsets[i];
        }
    }
    if (found == NULL) {
        found = &batch->offsets[batch->offset_count++];
        found->topic = "floor";
        found->partition_no = row->partition;
        found->epoch = p->epochs[row->partition];
        found->from = p->next[row->partition];
    }
    found->to = row->offset + 1;
    p->next[row->partition] = row->offset + 1;
}

static bf_status_t add_row(player_t *p, batch_t *batch, const source_t *row,
                           bf_err_t *err)
{
    bf_status_t rc = claim(p, row, err);
    if (rc != BF_OK) {
        return rc;
    }
    add_offset(p, batch, row);
    bf_instance_t *inst = instance_of(p, row->instance_id);
    bool was_dirty = bf_instance_is_dirty(inst);
    bf_command_t command = command_of(p, row);
    bf_outcome_t outcome;
    const bf_command_env_t env = {.executor = p->executor};
    rc = bf_command_execute(&env, &command, inst, &p->arena, row->time_ms, &outcome, err);
    if (rc != BF_OK) {
        return rc;
    }
    if (outcome.code != BF_CODE_OK) {
        return bf_err_set(err, BF_E_REJECTED, "%s: %s", row->command_id,
                          outcome.error != NULL ? outcome.error : "rejected");
    }
    if (!was_dirty && bf_instance_is_dirty(inst)) {
        batch->instances[batch->instance_count++] = inst;
    }
    bf_command_row_t *to = &batch->commands[batch->command_count++];
    *to = (bf_command_row_t){
        .topic = "floor",
        .partition_no = row->partition,
        .offset = row->offset,
        .instance_id = row->instance_id,
        .command_id = row->command_id,
        .command = row->command,
        .code = "ok",
        .reply = row->reply,
        .reply_topic = row->reply_topic,
        .create_time_ms = row->time_ms,
    };
    for (size_t i = 0; i < outcome.history_count; i++) {
        if (batch->history_count == MAX_BATCH) {
            return bf_err_set(err, BF_E_LIMIT, "more than %d history rows in a batch",
                              MAX_BATCH);
        }
        to->first_seq = i == 0 ? outcome.history[i].seq : to->first_seq;
        to->last_seq = outcome.history[i].seq;
        batch->history[batch->history_count++] = outcome.history[i];
    }
    return BF_OK;
}

static bf_status_t commit(player_t *p, const batch_t *batch, bool counts, bf_err_t *err)
{
    bf_batch_write_t write = {
        .offsets = batch->offsets,
        .offset_count = batch->offset_count,
        .instances = batch->instances,
        .instance_count = batch->instance_count,
        .history = batch->history,
        .history_count = batch->history_count,
        .commands = batch->commands,
        .command_count = batch->command_count,
    };
    bf_commit_report_t report = {0};
    int64_t start = bf_clock_mono_ns();
    bf_status_t rc = bf_store_commit(p->store, &write, &report, err);
    if (counts) {
        p->lane->commit_ns += bf_clock_mono_ns() - start;
        p->lane->commands += batch->command_count;
        p->lane->batches++;
    }
    return rc;
}

static bf_status_t play(player_t *p, bf_err_t *err)
{
    batch_t *batch = need(calloc(1, sizeof(*batch)));
    lane_t *lane = p->lane;
    bf_status_t rc = BF_OK;
    for (size_t i = 0; rc == BF_OK && i < lane->count;) {
        batch->offset_count = batch->instance_count = 0;
        batch->history_count = batch->command_count = 0;
        bf_arena_clear(&p->arena);
        int64_t time_ms = lane->rows[i].time_ms;
        bool counts = false;
        while (rc == BF_OK && i < lane->count && lane->rows[i].time_ms == time_ms &&
               batch->command_count < MAX_BATCH) {
            counts = counts || strcmp(lane->rows[i].command, lane->verb) == 0;
            rc = add_row(p, batch, &lane->rows[i++], err);
        }
        if (rc == BF_OK) {
            rc = commit(p, batch, counts, err);
        }
    }
    free(batch);
    return rc;
}

static bf_status_t open_player(player_t *p, bf_err_t *err)
{
    bf_store_options_t options = {.db = db_options(p->lane->database)};
    bf_arena_init(&p->arena, 0);
    p->instances = need(bf_map_new());
    p->engine = need(bf_engine_new());
    p->driver = need(bf_plain_driver_new(""));
    p->controller = need(bf_actor_controller_new(NULL, 0));
    p->executor = need(bf_executor_new(p->engine, p->controller, NULL));
    bf_status_t rc = bf_engine_set_driver(p->engine, "", p->driver);
    if (rc == BF_OK) {
        rc = bf_engine_load(p->engine, p->lane->graph, err);
    }
    if (rc == BF_OK) {
        rc = bf_store_open(&options, &p->store, err);
    }
    return rc;
}

static void close_player(player_t *p)
{
    size_t cursor = 0;
    const char *key = NULL;
    size_t key_len = 0;
    void *value = NULL;
    while (bf_map_next(p->instances, &cursor, &key, &key_len, &value)) {
        bf_instance_free(value);
    }
    bf_map_free(p->instances);
    bf_store_close(p->store);
    bf_executor_free(p->executor);
    bf_controller_free(p->controller);
    bf_engine_free(p->engine);
    bf_plain_driver_free(p->driver);
    bf_arena_fini(&p->arena);
}

static void *run_lane(void *arg)
{
    lane_t *lane = arg;
    player_t *p = need(calloc(1, sizeof(*p)));
    p->lane = lane;
    lane->status = open_player(p, &lane->err);
    if (lane->status == BF_OK) {
        lane->status = play(p, &lane->err);
    }
    close_player(p);
    free(p);
    mysql_thread_end();
    return NULL;
}

static int report(const lane_t *lanes, size_t count)
{
    int64_t slowest = 1;
    size_t commands = 0;
    size_t batches = 0;
    for (size_t i = 0; i < count; i++) {
        if (lanes[i].status != BF_OK) {
            (void)fprintf(stderr, "sql_floor: %s: %s\n", lanes[i].owner,
                          lanes[i].err.text);
            return 1;
        }
        slowest = lanes[i].commit_ns > slowest ? lanes[i].commit_ns : slowest;
        commands += lanes[i].commands;
        batches += lanes[i].batches;
    }
    printf("{\"what\":\"sql_floor\",\"connections\":%zu,\"commands\":%zu,\"batches\":%zu,"
           "\"mean_batch\":%.0f,\"seconds\":%.3f,\"per_second\":%.0f}\n",
           count, commands, batches,
           batches > 0 ? (double)commands / (double)batches : 0.0, (double)slowest / 1e9,
           (double)commands / ((double)slowest / 1e9));
    return commands > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"graph", required_argument, NULL, 'g'},
        {"from", required_argument, NULL, 'f'},
        {"to", required_argument, NULL, 't'},
        {"command", required_argument, NULL, 'c'},
        {0},
    };
    const char *graph_file = NULL;
    const char *from = NULL;
    const char *to = NULL;
    const char *verb = "submit";
    int c = 0;
    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        graph_file = c == 'g' ? optarg : graph_file;
        from = c == 'f' ? optarg : from;
        to = c == 't' ? optarg : to;
        verb = c == 'c' ? optarg : verb;
        if (c == '?') {
            return 2;
        }
    }
    if (graph_file == NULL || from == NULL || to == NULL) {
        fatal("usage", "sql_floor --graph FILE --from DATABASE --to DATABASE");
    }
    if (mysql_library_init(0, NULL, NULL) != 0) {
        fatal("client library", "does not start");
    }
    lane_t *lanes = need(calloc(MAX_LANES, sizeof(*lanes)));
    size_t lane_count = 0;
    size_t count = 0;
    source_t *rows = read_source(from, lanes, &lane_count, &count);
    migrate(to);
    pthread_t threads[MAX_LANES];
    size_t first = 0;
    for (size_t i = 0; i < lane_count; i++) {
        size_t end = first;
        while (end < count && rows[end].lane == (int)i) {
            end++;
        }
        lanes[i].rows = rows + first;
        lanes[i].count = end - first;
        lanes[i].graph = load_graph(graph_file);
        lanes[i].database = to;
        lanes[i].verb = verb;
        first = end;
        if (pthread_create(&threads[i], NULL, run_lane, &lanes[i]) != 0) {
            fatal("thread", "cannot be started");
        }
    }
    for (size_t i = 0; i < lane_count; i++) {
        pthread_join(threads[i], NULL);
        bf_graph_unref(lanes[i].graph);
    }
    int rc = report(lanes, lane_count);
    for (size_t i = 0; i < count; i++) {
        free(rows[i].instance_id);
        free(rows[i].command_id);
        free(rows[i].command);
        free(rows[i].reply_topic);
        free((void *)(uintptr_t)rows[i].reply.data);
    }
    free(rows);
    free(lanes);
    mysql_library_end();
    return rc;
}
