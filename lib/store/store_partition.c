/*
 * store_partition.c - ownership of partitions; see store.h
 *
 * The row of a partition is the fence: a claim raises its epoch, and every batch moves
 * its next_offset only where the epoch is still the one of the writer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "lib/store/store_int.h"

/* A row with what store.h does not show. */
typedef struct full_row {
    bf_partition_row_t row;
    int32_t topic_no;
    int64_t connection_id;
} full_row_t;

/* --- numbers of topics --- */

static bool find_number(bf_store_t *store, const char *topic, int32_t partition_no)
{
    size_t count = store->number_count;
    for (size_t k = 0; k < count; k++) {
        size_t i = (store->last_number + k) % count;
        const bf_topic_number_t *n = &store->numbers[i];
        if (n->partition_no == partition_no && strcmp(n->topic, topic) == 0) {
            store->last_number = i;
            return true;
        }
    }
    return false;
}

static bf_status_t remember_number(bf_store_t *store, const char *topic,
                                   int32_t partition_no, int32_t number, bf_err_t *err)
{
    if (find_number(store, topic, partition_no)) {
        store->numbers[store->last_number].number = number;
        return BF_OK;
    }
    if (store->number_count == store->number_capacity) {
        size_t capacity = store->number_capacity == 0 ? 16 : store->number_capacity * 2;
        bf_topic_number_t *numbers = realloc(store->numbers, capacity * sizeof(*numbers));
        if (numbers == NULL) {
            return bf_err_nomem(err, "numbers of topics");
        }
        store->numbers = numbers;
        store->number_capacity = capacity;
    }
    char *copy = strdup(topic);
    if (copy == NULL) {
        return bf_err_nomem(err, "numbers of topics");
    }
    store->numbers[store->number_count++] =
        (bf_topic_number_t){copy, partition_no, number};
    return BF_OK;
}

/* --- reading --- */

static void copy_column(char *to, size_t size, const bf_stmt_t *stmt, size_t column)
{
    (void)snprintf(to, size, "%s", bf_stmt_cstr(stmt, column));
}

static bf_status_t read_row(bf_store_t *store, bf_stmt_id_t id, const char *topic,
                            int32_t partition_no, full_row_t *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    memset(ret, 0, sizeof(*ret));
    bf_status_t status = bf_store_stmt(store, id, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_cstr(&store->params, topic);
    bf_params_put_i64(&store->params, partition_no);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &ret->row.exists, err);
    }
    if (status == BF_OK && ret->row.exists) {
        ret->row.next_offset = bf_stmt_i64(stmt, 0);
        ret->row.epoch = bf_stmt_i64(stmt, 1);
        ret->row.released = bf_stmt_i64(stmt, 2) != 0;
        copy_column(ret->row.topic_id, sizeof(ret->row.topic_id), stmt, 3);
        copy_column(ret->row.owner, sizeof(ret->row.owner), stmt, 4);
        copy_column(ret->row.incarnation, sizeof(ret->row.incarnation), stmt, 5);
        copy_column(ret->row.transactional_id, sizeof(ret->row.transactional_id), stmt,
                    6);
        ret->topic_no = (int32_t)bf_stmt_i64(stmt, 7);
        ret->connection_id = bf_stmt_i64(stmt, 8);
        bf_stmt_end(stmt);
    }
    return status;
}

/* What others may know of the row. */
static bf_status_t read_known(bf_store_t *store, bf_stmt_id_t id, const char *topic,
                              int32_t partition_no, bf_partition_row_t *ret,
                              bf_err_t *err)
{
    full_row_t full;
    bf_status_t status = read_row(store, id, topic, partition_no, &full, err);
    if (status == BF_OK) {
        *ret = full.row;
    }
    return status;
}

bf_status_t bf_store_read_partition(bf_store_t *store, const char *topic,
                                    int32_t partition_no, bf_partition_row_t *ret,
                                    bf_err_t *err)
{
    return read_known(store, BF_STMT_READ_PARTITION, topic, partition_no, ret, err);
}

static bool is_row_held(const bf_store_t *store)
{
    const bf_stmt_t *stmt = store->stmts[BF_STMT_LOCK_PARTITION];
    return stmt != NULL && bf_stmt_errno(stmt) == BF_SQL_LOCK_WAIT_TIMEOUT;
}

bf_status_t bf_store_lock_partition(bf_store_t *store, const char *topic,
                                    int32_t partition_no, int64_t epoch,
                                    bf_partition_row_t *ret, bf_err_t *err)
{
    bf_status_t status =
        read_known(store, BF_STMT_LOCK_PARTITION, topic, partition_no, ret, err);
    if (status != BF_OK && is_row_held(store)) {
        bf_store_end_holder(store, topic, partition_no, epoch);
    }
    return status;
}

bf_status_t bf_store_topic_number(bf_store_t *store, const char *topic,
                                  int32_t partition_no, int32_t *ret, bf_err_t *err)
{
    full_row_t full;
    if (find_number(store, topic, partition_no)) {
        *ret = store->numbers[store->last_number].number;
        return BF_OK;
    }
    bf_status_t status =
        read_row(store, BF_STMT_READ_PARTITION, topic, partition_no, &full, err);
    if (status != BF_OK) {
        return status;
    }
    if (!full.row.exists) {
        return bf_err_set(err, BF_E_NOT_FOUND,
                          "partition %s/%" PRId32 " has no offset row: claim it first",
                          topic, partition_no);
    }
    *ret = full.topic_no;
    return remember_number(store, topic, partition_no, full.topic_no, err);
}

/* --- claiming --- */

static bf_status_t topic_number_of_id(bf_store_t *store, const char *topic,
                                      const char *topic_id, int32_t *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    bf_status_t status = bf_store_stmt(store, BF_STMT_INSERT_TOPIC, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_cstr(&store->params, topic);
    bf_params_put_cstr(&store->params, topic_id);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    if (status == BF_OK) {
        status = bf_store_stmt(store, BF_STMT_READ_TOPIC, &stmt, err);
    }
    if (status == BF_OK) {
        status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    }
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &row, err);
    }
    if (status == BF_OK && row) {
        *ret = (int32_t)bf_stmt_i64(stmt, 0);
        bf_stmt_end(stmt);
    }
    if (status == BF_OK && !row) {
        status = bf_err_set(err, BF_E_STORE_RETRY, "topic %s has lost its number", topic);
    }
    return status;
}

static bf_status_t has_later_outcomes(bf_store_t *store,
                                      const bf_partition_claim_t *claim, int32_t topic_no,
                                      bool *ret, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_status_t status = bf_store_stmt(store, BF_STMT_FIND_LATER, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_i64(&store->params, topic_no);
    bf_params_put_i64(&store->params, claim->partition_no);
    bf_params_put_i64(&store->params, claim->first_offset);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, ret, err);
    }
    bf_stmt_end(stmt);
    return status;
}

/* The number for a row that is made or begins anew.  Where the row was deleted and
 * outcomes stand where it begins (a topic made anew whose ID is not known, or a mistake),
 * it gets a number of its own: by the old one each offset would look applied. */
static bf_status_t choose_number(bf_store_t *store, const bf_partition_claim_t *claim,
                                 bool row_exists, int32_t *ret, bf_err_t *err)
{
    bool taken = false;
    bf_status_t status =
        topic_number_of_id(store, claim->topic, claim->topic_id, ret, err);
    if (status == BF_OK && !row_exists) {
        status = has_later_outcomes(store, claim, *ret, &taken, err);
    }
    if (status == BF_OK && taken) {
        char uuid[BF_UUID_TEXT];
        char life[sizeof("anew-") + BF_UUID_TEXT];
        bf_uuid_make(uuid);
        (void)snprintf(life, sizeof(life), "anew-%s", uuid);
        status = topic_number_of_id(store, claim->topic, life, ret, err);
    }
    return status;
}

static bf_status_t insert_row(bf_store_t *store, const bf_partition_claim_t *claim,
                              int32_t topic_no, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_params_t *params = &store->params;
    bf_status_t status = bf_store_stmt(store, BF_STMT_INSERT_PARTITION, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(params);
    bf_params_put_cstr(params, claim->topic);
    bf_params_put_i64(params, claim->partition_no);
    bf_params_put_i64(params, topic_no);
    bf_params_put_cstr(params, claim->topic_id);
    bf_params_put_i64(params, claim->first_offset);
    bf_params_put_cstr(params, claim->owner);
    bf_params_put_cstr(params, claim->incarnation);
    bf_params_put_cstr(params, claim->transactional_id);
    bf_params_put_time(params, bf_clock_wall_ms());
    status = bf_stmt_run(stmt, params, 0, NULL, err);
    /* somebody else has inserted it since we looked */
    return status == BF_E_DUPLICATE ? BF_E_STORE_RETRY : status;
}

/* A restart with the ID that the row has already would number the same topic anew. */
static bool is_restart(const bf_partition_claim_t *claim, const full_row_t *before)
{
    return claim->restart && strcmp(claim->topic_id, before->row.topic_id) != 0;
}

static bf_status_t take_row(bf_store_t *store, const bf_partition_claim_t *claim,
                            const full_row_t *before, int32_t topic_no, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_params_t *params = &store->params;
    bf_status_t status = bf_store_stmt(store, BF_STMT_TAKE_PARTITION, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bool known = claim->topic_id[0] != '\0';
    bf_params_clear(params);
    bf_params_put_i64(params, topic_no);
    bf_params_put_cstr(params, known ? claim->topic_id : before->row.topic_id);
    bf_params_put_i64(params, is_restart(claim, before) ? claim->first_offset
                                                        : before->row.next_offset);
    bf_params_put_cstr(params, claim->owner);
    bf_params_put_cstr(params, claim->incarnation);
    bf_params_put_cstr(params, claim->transactional_id);
    bf_params_put_time(params, bf_clock_wall_ms());
    bf_params_put_cstr(params, claim->topic);
    bf_params_put_i64(params, claim->partition_no);
    return bf_stmt_run(stmt, params, 0, NULL, err);
}

static bf_status_t check_topic_id(const bf_partition_claim_t *claim,
                                  const full_row_t *before, bf_err_t *err)
{
    if (claim->restart && claim->topic_id[0] == '\0') {
        return bf_err_set(err, BF_E_INVALID,
                          "partition %s/%" PRId32 ": a restart needs the topic ID",
                          claim->topic, claim->partition_no);
    }
    if (claim->restart || claim->topic_id[0] == '\0' || before->row.topic_id[0] == '\0' ||
        strcmp(claim->topic_id, before->row.topic_id) == 0) {
        return BF_OK;
    }
    return bf_err_set(err, BF_E_INVALID,
                      "partition %s/%" PRId32
                      ": the offset row belongs to topic ID %s, the topic has ID %s now: "
                      "it was deleted and made again, and its commands would look "
                      "applied; restart the partition if that is intended",
                      claim->topic, claim->partition_no, before->row.topic_id,
                      claim->topic_id);
}

/* Inside of a transaction. */
static bf_status_t claim_locked(bf_store_t *store, const bf_partition_claim_t *claim,
                                full_row_t *before, full_row_t *after, bf_err_t *err)
{
    bf_status_t status = read_row(store, BF_STMT_LOCK_PARTITION, claim->topic,
                                  claim->partition_no, before, err);
    if (status == BF_OK && before->row.exists) {
        status = check_topic_id(claim, before, err);
    }
    int32_t topic_no = before->topic_no;
    if (status == BF_OK && (!before->row.exists || is_restart(claim, before))) {
        status = choose_number(store, claim, before->row.exists, &topic_no, err);
    }
    if (status == BF_OK) {
        status = before->row.exists ? take_row(store, claim, before, topic_no, err)
                                    : insert_row(store, claim, topic_no, err);
    }
    if (status == BF_OK) {
        status = read_row(store, BF_STMT_LOCK_PARTITION, claim->topic,
                          claim->partition_no, after, err);
    }
    return status;
}

static bf_status_t claim_once(bf_store_t *store, const bf_partition_claim_t *claim,
                              full_row_t *before, full_row_t *after, bf_err_t *err)
{
    bf_status_t status = bf_db_execute(store->db, "START TRANSACTION", err);
    if (status == BF_OK) {
        status = claim_locked(store, claim, before, after, err);
    }
    if (status == BF_OK) {
        status = bf_db_execute(store->db, "COMMIT", err);
    }
    if (status != BF_OK) {
        bf_store_rollback(store);
    }
    return status;
}

void bf_store_end_holder(bf_store_t *store, const char *topic, int32_t partition_no,
                         int64_t epoch)
{
    full_row_t row;
    char sql[64];
    if (read_row(store, BF_STMT_READ_PARTITION, topic, partition_no, &row, NULL) !=
            BF_OK ||
        (epoch != 0 && row.row.epoch != epoch) || row.connection_id <= 0 ||
        (uint64_t)row.connection_id == bf_db_connection_id(store->db)) {
        return;
    }
    (void)snprintf(sql, sizeof(sql), "KILL %" PRId64, row.connection_id);
    /* where it is not allowed, or gone by now, the next try says whether that matters */
    (void)!bf_db_execute(store->db, sql, NULL);
}

bf_status_t bf_store_claim_partition(bf_store_t *store, const bf_partition_claim_t *claim,
                                     bf_partition_row_t *ret_before,
                                     bf_partition_row_t *ret_after, bf_err_t *err)
{
    full_row_t before;
    full_row_t after;
    bf_err_t first = BF_ERR_INIT;
    bf_status_t status = bf_store_check_connected(store, err);
    if (status != BF_OK) {
        return status;
    }
    status = claim_once(store, claim, &before, &after, &first);
    if (status == BF_E_STORE_RETRY) {
        if (is_row_held(store)) {
            bf_store_end_holder(store, claim->topic, claim->partition_no, 0);
        }
        status = claim_once(store, claim, &before, &after, err);
    } else if (status != BF_OK) {
        (void)bf_err_set(err, status, "%s", first.text);
    }
    if (status == BF_OK) {
        status = remember_number(store, claim->topic, claim->partition_no, after.topic_no,
                                 err);
    }
    if (status == BF_OK) {
        *ret_before = before.row;
        *ret_after = after.row;
    }
    return status;
}

bf_status_t bf_store_release_partition(bf_store_t *store, const char *topic,
                                       int32_t partition_no, int64_t epoch, bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bf_status_t status = bf_store_stmt(store, BF_STMT_RELEASE_PARTITION, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_time(&store->params, bf_clock_wall_ms());
    bf_params_put_cstr(&store->params, topic);
    bf_params_put_i64(&store->params, partition_no);
    bf_params_put_i64(&store->params, epoch);
    return bf_stmt_run(stmt, &store->params, 0, NULL, err);
}
