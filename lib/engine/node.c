/*
 * node.c - a node: enter it, run it, flow out
 *
 * The order is that of the original (rules 27, 28, 37, 43): recorded, step budget, join,
 * start hooks, task, end hooks, links.  A stop leaves everything where it is; an
 * interrupt ends the branch, which stays pending.
 *
 * This is the path that every visit takes: what most nodes do not have (hooks,
 * conditions, a log) is asked for before a function is called for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "walk_int.h"

#define MASK_LINKS 64

/* --- conditions and hooks --- */

static bf_status_t test_failed(const bf_frame_t *frame, const bf_code_ref_t *code,
                               bf_status_t rc, bf_err_t *err)
{
    (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
    bf_err_prefix(err, "The condition handle failed: %s / %s: ", frame->usage->graph->id,
                  code->text);
    return rc;
}

bf_status_t bf_node_test_code(bf_exchanger_t *ex, bf_frame_t *frame,
                              const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    ex->point_stays = true; /* it may be different next time */
    bf_status_t rc = bf_driver_test(frame->driver, ex, code, ret, err);
    return rc == BF_OK ? BF_OK : test_failed(frame, code, rc, err);
}

/* The conditions of one node, in a row: what one has looked up the next one need not, as
 * long as nothing runs between them that could set a variable. */
typedef struct row {
    bf_expr_memo_t memo;
    bf_expr_env_t *env; /* NULL: the driver tests in its own way */
} row_t;

static void begin_row(bf_exchanger_t *ex, row_t *row)
{
    row->memo = (bf_expr_memo_t){0};
    row->env = ex->frame->driver->ops->handle_condition ? NULL : bf_plain_env(ex);
}

static inline bf_status_t test_in_row(bf_exchanger_t *ex, row_t *row,
                                      const bf_code_ref_t *code, bool *ret, bf_err_t *err)
{
    if (!row->env || code->kind != BF_CODE_EXPRESSION) {
        row->memo.name = NULL;
        return bf_node_test(ex, ex->frame, code, ret, err);
    }
    ex->point_stays = true;
    row->env->memo = &row->memo;
    bf_status_t rc = bf_expr_test(code->expr, row->env, ret, err);
    row->env->memo = NULL;
    bf_plain_forget(ex);
    return rc == BF_OK ? BF_OK : test_failed(ex->frame, code, rc, err);
}

static bf_status_t run_start_hooks(bf_exchanger_t *ex, const bf_node_t *node,
                                   bf_err_t *err)
{
    const bf_hooks_t *hooks = ex->frame->hooks;
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_start ? it->on_node_start(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    bf_driver_t *driver = ex->frame->driver;
    return driver->ops->on_node_start ? driver->ops->on_node_start(driver, ex, node, err)
                                      : BF_OK;
}

static bf_status_t run_end_hooks(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    const bf_hooks_t *hooks = ex->frame->hooks;
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_end ? it->on_node_end(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    bf_driver_t *driver = ex->frame->driver;
    return driver->ops->on_node_end ? driver->ops->on_node_end(driver, ex, node, err)
                                    : BF_OK;
}

static bf_status_t run_arrive_hooks(bf_exchanger_t *ex, const bf_node_t *node,
                                    bf_err_t *err)
{
    const bf_hooks_t *hooks = ex->frame->hooks;
    for (size_t i = 0; i < hooks->count; i++) {
        const bf_interceptor_t *it = &hooks->all[i];
        bf_status_t rc =
            it->on_node_arrive ? it->on_node_arrive(it->arg, ex, node, err) : BF_OK;
        if (rc != BF_OK) {
            return rc;
        }
    }
    return BF_OK;
}

/* A hook or the task has stopped or interrupted: the branch ends at this node for now. */
static bf_status_t end_branch(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    uint8_t signals = ex->ctx->signals;
    ex->ctx->signals &= BF_SIGNAL_STOP;
    bf_log_set_open(ex, ex->at);
    if (signals & BF_SIGNAL_STOP) {
        return bf_walk_push_at(ex, node, err);
    }
    bf_pending_t what = {.kind = BF_ENTRY_AT, .node = node, .saved = ex->at_saved};
    return bf_walk_add_pending(ex, ex->frame, &what, signals & BF_SIGNAL_PEND, err);
}

/* --- flowing out --- */

static bf_status_t no_route(const bf_node_t *node, bf_err_t *err)
{
    return bf_err_set(err, BF_E_NO_ROUTE,
                      "%s / %s: none of the %u links of the %s node may be followed; add "
                      "a link without a condition",
                      node->graph->id, node->id, node->link_count,
                      bf_node_type_name(node->type));
}

/* The first link whose condition is true, else the one without condition (rules 63, 64).
 */
static bf_status_t choose_one(bf_exchanger_t *ex, const bf_node_t *node, uint32_t *ret,
                              bf_err_t *err)
{
    uint32_t count = node->link_count;
    row_t row;
    begin_row(ex, &row);
    *ret = count;
    for (uint32_t i = 0; i < count; i++) {
        const bf_link_t *link = node->links[i];
        bool is_true = false;
        if (link->when.kind == BF_CODE_NONE) {
            *ret = i;
            continue;
        }
        bf_status_t rc = test_in_row(ex, &row, &link->when, &is_true, err);
        if (rc != BF_OK) {
            return rc;
        }
        if (is_true) {
            *ret = i;
            break;
        }
    }
    return *ret == count ? no_route(node, err) : BF_OK;
}

/* Every link whose condition is true (rule 66). */
static bf_status_t choose_true(bf_exchanger_t *ex, const bf_node_t *node, bool *chosen,
                               bf_err_t *err)
{
    bool any = false;
    row_t row;
    begin_row(ex, &row);
    for (uint32_t i = 0; i < node->link_count; i++) {
        bf_status_t rc = test_in_row(ex, &row, &node->links[i]->when, &chosen[i], err);
        if (rc != BF_OK) {
            return rc;
        }
        any = any || chosen[i];
    }
    return any ? BF_OK : no_route(node, err);
}

static void flow_to(bf_exchanger_t *ex, const bf_node_t *node)
{
    ex->next = node;
    ex->source = ex->at;
}

static bf_status_t flow_chosen(bf_exchanger_t *ex, const bf_node_t *node,
                               const bool *chosen, bf_err_t *err)
{
    bf_entry_t entry = {
        .node = node, .frame = ex->frame, .kind = BF_ENTRY_MASK, .source = ex->at};
    uint32_t count = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < node->link_count; i++) {
        if (chosen[i]) {
            entry.as.mask |= i < MASK_LINKS ? UINT64_C(1) << i : 0;
            count++;
            last = i;
        }
    }
    if (count == 1) {
        flow_to(ex, node->links[last]->to);
        return BF_OK;
    }
    if (node->link_count > MASK_LINKS) {
        entry.kind = BF_ENTRY_CHOSEN;
        entry.as.chosen = chosen;
    }
    return bf_walk_push(ex, &entry, err);
}

/* A choice that the driver keeps: in chosen, or fresh. */
static bf_status_t choose_kept(bf_exchanger_t *ex, const bf_node_t *node, bool *chosen,
                               bf_err_t *err)
{
    bf_driver_t *driver = ex->frame->driver;
    bool known = false;
    bool stays = ex->point_stays;
    bf_status_t rc = BF_OK;
    if (driver->ops->recall_route) {
        rc = driver->ops->recall_route(driver, ex, node, chosen, &known, err);
    }
    if (rc != BF_OK || known) {
        return rc;
    }
    if (node->type == BF_NODE_EXCLUSIVE) {
        uint32_t pick = 0;
        rc = choose_one(ex, node, &pick, err);
        chosen[rc == BF_OK ? pick : 0] = rc == BF_OK;
    } else {
        rc = choose_true(ex, node, chosen, err);
    }
    if (rc == BF_OK && driver->ops->record_route) {
        rc = driver->ops->record_route(driver, ex, node, chosen, err);
        ex->point_stays = stays; /* next time it is recalled */
    }
    return rc;
}

static bf_status_t flow_choice(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (node->type == BF_NODE_EXCLUSIVE && !ex->frame->driver->ops->recall_route) {
        uint32_t pick = 0;
        bf_status_t rc = choose_one(ex, node, &pick, err);
        if (rc == BF_OK) {
            flow_to(ex, node->links[pick]->to);
        }
        return rc;
    }
    bool few[MASK_LINKS];
    bool *chosen = few;
    if (node->link_count > MASK_LINKS) {
        chosen = bf_arena_alloc(&ex->arena, node->link_count * sizeof(*chosen));
        if (!chosen) {
            return bf_err_nomem(err, "links of a node");
        }
    }
    memset(chosen, 0, node->link_count * sizeof(*chosen));
    bf_status_t rc = choose_kept(ex, node, chosen, err);
    return rc == BF_OK ? flow_chosen(ex, node, chosen, err) : rc;
}

/* Links that are followed when their condition is true, or always (ALL). */
static bf_status_t flow_links(bf_exchanger_t *ex, const bf_node_t *node,
                              bf_entry_kind_t kind, bf_err_t *err)
{
    const bf_link_t *first = node->links[0];
    if (node->link_count == 1 &&
        (kind == BF_ENTRY_ALL || first->when.kind == BF_CODE_NONE)) {
        flow_to(ex, first->to);
        return BF_OK;
    }
    bf_entry_t entry = {.node = node, .frame = ex->frame, .kind = kind, .source = ex->at};
    return bf_walk_push(ex, &entry, err);
}

static bf_status_t flow_out(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (!node->link_count) {
        return bf_node_is_loop_head(node) ? bf_loop_open(ex, node, err) : BF_OK;
    }
    switch (node->type) {
    case BF_NODE_EXCLUSIVE:
    case BF_NODE_INCLUSIVE:
        return flow_choice(ex, node, err);
    case BF_NODE_PARALLEL:
        return flow_links(ex, node, BF_ENTRY_ALL, err);
    case BF_NODE_LOOP:
        if (node->loop_variable) {
            return bf_loop_open(ex, node, err);
        }
        break;
    case BF_NODE_END:
        return BF_OK;
    case BF_NODE_START:
    case BF_NODE_ACTIVITY:
    case BF_NODE_TYPE_COUNT:
        break;
    }
    return flow_links(ex, node, BF_ENTRY_TRUE, err);
}

/* --- running --- */

bf_status_t bf_node_finish(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    if (ex->only_task && ex->frame == &ex->root) {
        return BF_OK;
    }
    if (ex->ctx->signals) {
        return end_branch(ex, node, err);
    }
    if (ex->frame->hooks->count || ex->frame->driver->ops->on_node_end) {
        bf_status_t rc = run_end_hooks(ex, node, err);
        if (rc != BF_OK) {
            return rc;
        }
        if (ex->ctx->signals) {
            return end_branch(ex, node, err);
        }
    }
    return flow_out(ex, node, err);
}

static bf_status_t run_task(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bool is_true;
    bf_status_t rc = bf_node_test(ex, ex->frame, &node->when, &is_true, err);
    if (rc != BF_OK || !is_true) {
        return rc;
    }
    rc = bf_driver_run_task(ex->frame->driver, ex, node, err);
    if (rc != BF_OK) {
        (void)bf_err_set(err, rc, "%s", bf_status_text(rc));
        bf_err_prefix(err, "The task handle failed: %s / %s: ", node->graph->id,
                      node->id);
    }
    return rc;
}

static bf_status_t count_visit(bf_exchanger_t *ex, const bf_node_t *node, bf_err_t *err)
{
    bf_visit_t *visit = &ex->frame->usage->visits[node->index];
    if (visit->walk != ex->walk) {
        visit->walk = ex->walk;
        visit->count = 0;
    }
    visit->count++;
    if (ex->point && !ex->point_stays) {
        bf_status_t rc = bf_point_visit(ex, node, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (!ex->log) {
        return BF_OK;
    }
    if (ex->at != BF_LOG_NONE) { /* a join that has waited */
        bf_log_set_round(ex, ex->at, visit->count);
        return BF_OK;
    }
    return bf_log_add(ex, node, visit->count, &ex->at, err);
}

static bool has_task(const bf_exchanger_t *ex, const bf_node_t *node)
{
    return node->type != BF_NODE_START && node->type != BF_NODE_END &&
           (node->task.kind != BF_CODE_NONE || ex->frame->driver->ops->handle_task ||
            node->when.kind != BF_CODE_NONE);
}

bf_status_t bf_node_run(bf_exchanger_t *ex, const bf_node_t *node,
                        const bf_value_t *saved, bf_err_t *err)
{
    ex->at_saved = saved;
    bf_status_t rc = count_visit(ex, node, err);
    if (rc == BF_OK &&
        (ex->frame->hooks->count || ex->frame->driver->ops->on_node_start)) {
        rc = run_start_hooks(ex, node, err);
        if (rc == BF_OK && ex->ctx->signals) {
            return end_branch(ex, node, err);
        }
    }
    if (rc == BF_OK && has_task(ex, node)) {
        rc = run_task(ex, node, err);
        if (rc == BF_OK && ex->call) {
            return bf_walk_enter_call(ex, node, saved, err);
        }
    }
    return rc == BF_OK ? bf_node_finish(ex, node, err) : rc;
}

/* --- entering --- */

/* A condition, or the step budget, has stopped or interrupted on the way to the node. */
static bf_status_t refuse_entry(bf_exchanger_t *ex, const bf_node_t *node,
                                bf_entry_kind_t how, const bf_value_t *saved,
                                bf_err_t *err)
{
    bf_entry_kind_t kind = how == BF_ENTRY_AT ? BF_ENTRY_AT : BF_ENTRY_TO;
    uint8_t signals = ex->ctx->signals;
    ex->ctx->signals &= BF_SIGNAL_STOP;
    if (signals & BF_SIGNAL_STOP) {
        bf_entry_t entry = {.node = node,
                            .frame = ex->frame,
                            .kind = kind,
                            .source = ex->source,
                            .as.saved = saved};
        return bf_walk_push(ex, &entry, err);
    }
    bf_pending_t what = {.kind = kind, .node = node, .saved = saved};
    return bf_walk_add_pending(ex, ex->frame, &what, signals & BF_SIGNAL_PEND, err);
}

/* A join or a loop end that is come to over a link. *ret_passes: it is run now. */
static bf_status_t arrive(bf_exchanger_t *ex, const bf_node_t *node, bool *ret_passes,
                          bf_err_t *err)
{
    if (bf_node_is_join(node)) {
        return bf_join_arrive(ex, node, ret_passes, err);
    }
    bool waits = false;
    bf_status_t rc = BF_OK;
    if (node->type == BF_NODE_LOOP && !node->loop_variable) {
        rc = bf_loop_reach_end(ex, node, &waits, err);
    }
    *ret_passes = !waits;
    return rc;
}

bf_status_t bf_node_enter(bf_exchanger_t *ex, const bf_node_t *node, bf_entry_kind_t how,
                          const bf_value_t *saved, bf_err_t *err)
{
    ex->at = BF_LOG_NONE;
    ex->at_saved = saved;
    if (ex->ctx->signals) {
        return refuse_entry(ex, node, how, saved, err);
    }
    ex->frame->usage->last = node;
    bf_status_t rc = BF_OK;
    if (ex->frame->hooks->count && how != BF_ENTRY_AT && how != BF_ENTRY_TO) {
        rc = run_arrive_hooks(ex, node, err);
        if (rc != BF_OK) {
            return rc;
        }
    }
    if (ex->steps >= 0 && ex->step_count >= ex->steps) {
        bf_exchanger_stop(ex);
        return refuse_entry(ex, node, how, saved, err);
    }
    ex->step_count++;
    if (ex->point) {
        bf_point_come(ex, node);
    }
    if (++ex->visit_count > ex->max_steps) {
        return bf_err_set(err, BF_E_STEP_LIMIT,
                          "%s / %s: more than %lld node visits; is there a cycle without "
                          "an exit?",
                          node->graph->id, node->id, (long long)ex->max_steps);
    }
    if (node->type > BF_NODE_EXCLUSIVE &&
        how != BF_ENTRY_AT) { /* inclusive, parallel, loop */
        bool passes;
        rc = arrive(ex, node, &passes, err);
        if (rc != BF_OK || !passes) {
            return rc;
        }
    }
    return bf_node_run(ex, node, saved, err);
}
