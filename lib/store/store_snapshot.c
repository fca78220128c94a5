/*
 * store_snapshot.c - the snapshot columns of one instance, outside of a batch
 *
 * SPDX-License-Identifier: MIT
 */
#include "bpmflow/clock.h"
#include "lib/store/store_int.h"

static bf_status_t insert(bf_store_t *store, const bf_snapshot_t *snapshot, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    int64_t now_ms = bf_clock_wall_ms();
    if (store->insert_snapshot == NULL) {
        status = bf_stmt_prepare(store->db, "snapshot", store->insert_snapshot_sql,
                                 &store->insert_snapshot, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_cstr(&store->params, snapshot->instance_id);
    bf_params_put_cstr(&store->params, snapshot->graph);
    bf_params_put_cstr(&store->params, snapshot->vars);
    bf_params_put_time(&store->params, now_ms);
    bf_params_put_time(&store->params, now_ms);
    return bf_stmt_run(store->insert_snapshot, &store->params, 0, NULL, err);
}

static bf_status_t update(bf_store_t *store, const bf_snapshot_t *snapshot,
                          int64_t *ret_matched, bf_err_t *err)
{
    bf_status_t status = BF_OK;
    if (store->update_snapshot == NULL) {
        status = bf_stmt_prepare(store->db, "snapshot", store->update_snapshot_sql,
                                 &store->update_snapshot, err);
    }
    if (status != BF_OK) {
        return status;
    }
    bf_params_put_cstr(&store->params, snapshot->graph);
    bf_params_put_cstr(&store->params, snapshot->vars);
    bf_params_put_time(&store->params, bf_clock_wall_ms());
    bf_params_put_cstr(&store->params, snapshot->instance_id);
    bf_params_put_i64(&store->params, snapshot->stored_rev);
    return bf_stmt_run(store->update_snapshot, &store->params, 0, ret_matched, err);
}

bf_status_t bf_store_write_snapshot(bf_store_t *store, const bf_snapshot_t *snapshot,
                                    bf_err_t *err)
{
    int64_t matched = 1;
    bf_err_t failure = BF_ERR_INIT;
    bf_status_t status = bf_store_check_connected(store, err);
    if (status != BF_OK) {
        return status;
    }
    bf_params_clear(&store->params);
    status = snapshot->stored_rev == 0 ? insert(store, snapshot, &failure)
                                       : update(store, snapshot, &matched, &failure);
    if (status == BF_E_DUPLICATE || (status == BF_OK && matched != 1)) {
        return bf_err_set(err, BF_E_CONFLICT,
                          "instance %s was changed by somebody else: load it again",
                          snapshot->instance_id);
    }
    return status == BF_OK ? BF_OK : bf_err_set(err, status, "%s", failure.text);
}
