/*
 * store_problem.c - why a partition was stopped last; see store.h
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bpmflow/clock.h"
#include "bpmflow/id.h"
#include "lib/store/store_int.h"

bf_status_t bf_store_note_problem(bf_store_t *store, const char *topic,
                                  int32_t partition_no, const char *owner,
                                  const char *text, bf_err_t *err)
{
    char problem[BF_PROBLEM_MAX];
    bf_stmt_t *stmt = NULL;
    bf_status_t status = bf_store_stmt(store, BF_STMT_NOTE_PROBLEM, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    (void)snprintf(problem, sizeof(problem), "%s", text);
    size_t len = strlen(problem);
    while (len > 0 && !bf_utf8_is_valid(problem, len)) { /* cut inside of a letter */
        problem[--len] = '\0';
    }
    bf_params_clear(&store->params);
    bf_params_put_cstr(&store->params, topic);
    bf_params_put_i64(&store->params, partition_no);
    bf_params_put_cstr(&store->params, owner);
    bf_params_put_text(&store->params, problem, len);
    bf_params_put_time(&store->params, bf_clock_wall_ms());
    return bf_stmt_run(stmt, &store->params, 0, NULL, err);
}

bf_status_t bf_store_read_problem(bf_store_t *store, const char *topic,
                                  int32_t partition_no, bf_partition_problem_t *ret,
                                  bf_err_t *err)
{
    bf_stmt_t *stmt = NULL;
    bool row = false;
    memset(ret, 0, sizeof(*ret));
    bf_status_t status = bf_store_stmt(store, BF_STMT_READ_PROBLEM, &stmt, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    bf_params_put_cstr(&store->params, topic);
    bf_params_put_i64(&store->params, partition_no);
    status = bf_stmt_run(stmt, &store->params, 0, NULL, err);
    if (status == BF_OK) {
        status = bf_stmt_next(stmt, &row, err);
    }
    if (status == BF_OK && row) {
        (void)snprintf(ret->owner, sizeof(ret->owner), "%s", bf_stmt_cstr(stmt, 0));
        (void)snprintf(ret->text, sizeof(ret->text), "%s", bf_stmt_cstr(stmt, 1));
        ret->wall_ms = bf_stmt_time(stmt, 2);
        /* The row of the partition moves on when somebody works on it again. */
        ret->is_over = bf_stmt_time(stmt, 3) > ret->wall_ms;
    }
    bf_stmt_end(stmt);
    return status;
}
