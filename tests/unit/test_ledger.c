/*
 * test_ledger.c - tables, indexes, changes that are made as a whole
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bpmflow/ledger.h"

static bf_ledger_t *ledger;
static bf_err_t err;

static void setup(void)
{
    ledger = bf_ledger_new(NULL);
    cr_assert_not_null(ledger);
    bf_err_clear(&err);
}

static void teardown(void)
{
    bf_ledger_free(ledger);
}

TestSuite(ledger, .init = setup, .fini = teardown);

static void insert_task(int64_t id, int64_t process, const char *name, const char *who)
{
    bf_task_row_t row = {.id = id,
                         .process_instance_id = process,
                         .task_name = name,
                         .task_state = BF_APPROVAL_DOING,
                         .operator_id = who};
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_TASK, &row, &err), BF_OK);
}

static size_t count_by(bf_ledger_index_t index, const char *key)
{
    size_t cursor = 0;
    size_t count = 0;
    while (bf_ledger_next_by_text(ledger, index, key, &cursor)) {
        count++;
    }
    return count;
}

/* A row that was found is gone after its change: look it up each time. */
static void set_operator(int64_t id, const char *who)
{
    const bf_task_row_t *found = bf_ledger_find(ledger, BF_LEDGER_TASK, id);
    bf_task_row_t row = *found;
    row.operator_id = who;
    cr_assert_eq(bf_ledger_update(ledger, BF_LEDGER_TASK, &row, &err), BF_OK);
}

Test(ledger, insert__copies_every_column)
{
    char name[] = "order";
    char content[] = "{}";
    bf_define_row_t row = {.id = 7,
                           .name = name,
                           .display_name = "Order",
                           .type = "t",
                           .state = 1,
                           .version = 3,
                           .content = content,
                           .audit = {1, "u", 2, "v"}};
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_DEFINE, &row, &err), BF_OK);
    memset(name, 'x', sizeof(name) - 1);
    memset(content, 'x', sizeof(content) - 1);
    const bf_define_row_t *came = bf_ledger_find(ledger, BF_LEDGER_DEFINE, 7);
    cr_assert_not_null(came);
    cr_assert_str_eq(came->name, "order");
    cr_assert_str_eq(came->display_name, "Order");
    cr_assert_str_eq(came->type, "t");
    cr_assert_str_eq(came->content, "{}");
    cr_assert_eq(came->state, 1);
    cr_assert_eq(came->version, 3);
    cr_assert_eq(came->audit.create_time, 1);
    cr_assert_str_eq(came->audit.create_user, "u");
    cr_assert_eq(came->audit.update_time, 2);
    cr_assert_str_eq(came->audit.update_user, "v");
}

Test(ledger, insert__keeps_null_as_null)
{
    insert_task(1, 10, "a", NULL);
    const bf_task_row_t *row = bf_ledger_find(ledger, BF_LEDGER_TASK, 1);
    cr_assert_null(row->operator_id);
    cr_assert_null(row->variable);
    cr_assert_eq(row->finish_time, 0);
}

Test(ledger, next__goes_in_the_order_of_insertion)
{
    insert_task(5, 10, "a", NULL);
    insert_task(3, 10, "b", NULL);
    size_t cursor = 0;
    const bf_task_row_t *row = bf_ledger_next(ledger, BF_LEDGER_TASK, &cursor);
    cr_assert_eq(row->id, 5);
    row = bf_ledger_next(ledger, BF_LEDGER_TASK, &cursor);
    cr_assert_eq(row->id, 3);
    cr_assert_null(bf_ledger_next(ledger, BF_LEDGER_TASK, &cursor));
}

Test(ledger, next_by__finds_by_key_in_the_order_of_ids)
{
    insert_task(5, 10, "a", NULL);
    insert_task(3, 10, "b", NULL);
    insert_task(4, 11, "a", NULL);
    size_t cursor = 0;
    const bf_task_row_t *row =
        bf_ledger_next_by_id(ledger, BF_LEDGER_BY_TASK_PROCESS, 10, &cursor);
    cr_assert_eq(row->id, 3);
    row = bf_ledger_next_by_id(ledger, BF_LEDGER_BY_TASK_PROCESS, 10, &cursor);
    cr_assert_eq(row->id, 5);
    cr_assert_null(bf_ledger_next_by_id(ledger, BF_LEDGER_BY_TASK_PROCESS, 10, &cursor));
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_NAME, "a"), 2);
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_NAME, "nothing"), 0);
}

Test(ledger, update__moves_the_row_in_its_indexes)
{
    insert_task(1, 10, "a", NULL);
    insert_task(2, 10, "a", "bea");
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_OPERATOR, "bea"), 1);
    set_operator(1, "bea");
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_OPERATOR, "bea"), 2);
    set_operator(1, "carl");
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_OPERATOR, "bea"), 1);
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_OPERATOR, "carl"), 1);
    cr_assert_eq(bf_ledger_count(ledger, BF_LEDGER_TASK), 2);
}

Test(ledger, delete__only_where_it_is_allowed)
{
    bf_actor_row_t actor = {.id = 9, .process_task_id = 1, .actor_id = "bea"};
    insert_task(1, 10, "a", NULL);
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_ACTOR, &actor, &err), BF_OK);
    cr_assert(bf_ledger_is_actor(ledger, 1, "bea"));
    cr_assert_eq(bf_ledger_delete(ledger, BF_LEDGER_ACTOR, 9, &err), BF_OK);
    cr_assert_not(bf_ledger_is_actor(ledger, 1, "bea"));
    cr_assert_eq(count_by(BF_LEDGER_BY_ACTOR_ID, "bea"), 0);
    cr_assert_eq(bf_ledger_delete(ledger, BF_LEDGER_TASK, 1, &err), BF_E_INVALID);
    cr_assert_eq(bf_ledger_count(ledger, BF_LEDGER_TASK), 1);
}

/* A set of changes of all kinds whose last one fails. */
static void fail_after_changes(const bf_ledger_change_t *last, bf_status_t expected)
{
    bf_actor_row_t old = {.id = 20, .process_task_id = 1, .actor_id = "bea"};
    bf_actor_row_t more = {.id = 21, .process_task_id = 1, .actor_id = "bea"};
    insert_task(1, 10, "a", NULL);
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_ACTOR, &old, &err), BF_OK);
    bf_task_row_t changed =
        *(const bf_task_row_t *)bf_ledger_find(ledger, BF_LEDGER_TASK, 1);
    changed.operator_id = "bea";
    changed.task_state = BF_APPROVAL_FINISHED;
    bf_ledger_change_t changes[] = {{BF_LEDGER_UPDATE, BF_LEDGER_TASK, &changed},
                                    {BF_LEDGER_DELETE, BF_LEDGER_ACTOR, &old},
                                    {BF_LEDGER_INSERT, BF_LEDGER_ACTOR, &more},
                                    *last};
    cr_assert_eq(bf_ledger_apply(ledger, changes, 4, &err), expected);
    const bf_task_row_t *row = bf_ledger_find(ledger, BF_LEDGER_TASK, 1);
    cr_assert_null(row->operator_id);
    cr_assert_eq(row->task_state, BF_APPROVAL_DOING);
    cr_assert_eq(count_by(BF_LEDGER_BY_TASK_OPERATOR, "bea"), 0);
    cr_assert_eq(bf_ledger_count(ledger, BF_LEDGER_ACTOR), 1);
    cr_assert_not_null(bf_ledger_find(ledger, BF_LEDGER_ACTOR, 20));
    cr_assert_null(bf_ledger_find(ledger, BF_LEDGER_ACTOR, 21));
    cr_assert_eq(count_by(BF_LEDGER_BY_ACTOR_ID, "bea"), 1);
}

Test(ledger, apply__takes_everything_back_when_an_id_is_there)
{
    bf_task_row_t same = {.id = 1};
    bf_ledger_change_t last = {BF_LEDGER_INSERT, BF_LEDGER_TASK, &same};
    fail_after_changes(&last, BF_E_EXISTS);
}

Test(ledger, apply__takes_everything_back_when_a_row_is_not_there)
{
    bf_task_row_t other = {.id = 99};
    bf_ledger_change_t last = {BF_LEDGER_UPDATE, BF_LEDGER_TASK, &other};
    fail_after_changes(&last, BF_E_NOT_FOUND);
}

Test(ledger, apply__takes_everything_back_when_an_id_is_none)
{
    bf_task_row_t other = {.id = 0};
    bf_ledger_change_t last = {BF_LEDGER_INSERT, BF_LEDGER_TASK, &other};
    fail_after_changes(&last, BF_E_INVALID);
}

Test(ledger, apply__a_row_may_be_changed_several_times)
{
    bf_actor_row_t row = {.id = 20, .process_task_id = 1, .actor_id = "bea"};
    bf_actor_row_t changed = {.id = 20, .process_task_id = 2, .actor_id = "carl"};
    bf_ledger_change_t changes[] = {{BF_LEDGER_INSERT, BF_LEDGER_ACTOR, &row},
                                    {BF_LEDGER_UPDATE, BF_LEDGER_ACTOR, &changed},
                                    {BF_LEDGER_UPDATE, BF_LEDGER_ACTOR, &row},
                                    {BF_LEDGER_DELETE, BF_LEDGER_ACTOR, &row}};
    cr_assert_eq(bf_ledger_apply(ledger, changes, 3, &err), BF_OK);
    cr_assert(bf_ledger_is_actor(ledger, 1, "bea"));
    cr_assert_eq(count_by(BF_LEDGER_BY_ACTOR_ID, "carl"), 0);
    cr_assert_eq(bf_ledger_apply(ledger, changes + 1, 3, &err), BF_OK);
    cr_assert_eq(bf_ledger_count(ledger, BF_LEDGER_ACTOR), 0);
}

/* Takes what it is given, or refuses. */
typedef struct sink_seen {
    size_t calls;
    size_t changes;
    bf_ledger_verb_t last;
    bool refuses;
} sink_seen_t;

static bf_status_t see(void *arg, const bf_ledger_change_t *changes, size_t count,
                       bf_err_t *ret)
{
    sink_seen_t *seen = arg;
    seen->calls++;
    seen->changes += count;
    seen->last = changes[count - 1].verb;
    return seen->refuses ? bf_err_set(ret, BF_E_STORE_LOST, "the sink is gone") : BF_OK;
}

Test(ledger, sink__gets_every_good_set_and_may_refuse_it)
{
    sink_seen_t seen = {0};
    bf_ledger_sink_t sink = {see, &seen};
    bf_actor_row_t row = {.id = 20, .process_task_id = 1, .actor_id = "bea"};
    bf_actor_row_t more = {.id = 21, .process_task_id = 1, .actor_id = "carl"};
    bf_ledger_change_t changes[] = {{BF_LEDGER_INSERT, BF_LEDGER_ACTOR, &more},
                                    {BF_LEDGER_DELETE, BF_LEDGER_ACTOR, &row}};
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_ACTOR, &row, &err), BF_OK);
    bf_ledger_set_sink(ledger, &sink);
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_ACTOR, &row, &err), BF_E_EXISTS);
    cr_assert_eq(seen.calls, 0);
    seen.refuses = true;
    bf_err_clear(&err);
    cr_assert_eq(bf_ledger_apply(ledger, changes, 2, &err), BF_E_STORE_LOST);
    cr_assert(bf_ledger_is_actor(ledger, 1, "bea"));
    cr_assert_not(bf_ledger_is_actor(ledger, 1, "carl"));
    seen = (sink_seen_t){0};
    cr_assert_eq(bf_ledger_apply(ledger, changes, 2, &err), BF_OK);
    cr_assert_eq(seen.calls, 1);
    cr_assert_eq(seen.changes, 2);
    cr_assert_eq(seen.last, BF_LEDGER_DELETE);
    cr_assert(bf_ledger_is_actor(ledger, 1, "carl"));
    bf_ledger_set_sink(ledger, NULL);
    cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_ACTOR, &row, &err), BF_OK);
    cr_assert_eq(seen.calls, 1);
}

Test(ledger, make_id__is_above_those_of_all_rows)
{
    insert_task(INT64_MAX - 5, 10, "a", NULL);
    cr_assert_eq(bf_ledger_make_id(ledger), INT64_MAX - 4);
}

Test(ledger, latest_define__is_that_with_the_highest_id)
{
    for (int64_t id = 1; id <= 3; id++) {
        bf_define_row_t row = {.id = id, .name = id == 3 ? "other" : "order"};
        cr_assert_eq(bf_ledger_insert(ledger, BF_LEDGER_DEFINE, &row, &err), BF_OK);
    }
    cr_assert_eq(bf_ledger_latest_define(ledger, "order")->id, 2);
    cr_assert_eq(bf_ledger_delete(ledger, BF_LEDGER_DEFINE, 2, &err), BF_OK);
    cr_assert_eq(bf_ledger_latest_define(ledger, "order")->id, 1);
    cr_assert_eq(bf_ledger_delete(ledger, BF_LEDGER_DEFINE, 1, &err), BF_OK);
    cr_assert_null(bf_ledger_latest_define(ledger, "order"));
}

Test(ledger, make_id__grows_and_is_above_2_to_the_53)
{
    int64_t last = (int64_t)1 << 53;
    for (int i = 0; i < 10000; i++) {
        int64_t id = bf_ledger_make_id(ledger);
        cr_assert_gt(id, last);
        last = id;
    }
}
