/*
 * test_repository.c - the in-memory repository and the four operations of the seed
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>

#include "bpmflow/repository.h"

static bf_repository_t *repo;
static bf_err_t err;
static const bf_graph_t graph = {.id = "g", .version = 1};
static const bf_node_t a = {.id = "a", .graph = &graph, .state_key = "g:a"};
static const bf_node_t b = {.id = "b", .graph = &graph, .state_key = "g:b"};

static void setup(void)
{
    repo = bf_memory_repository_new();
    cr_assert_not_null(repo);
    bf_err_clear(&err);
}

static void teardown(void)
{
    bf_repository_free(repo);
}

TestSuite(repository, .init = setup, .fini = teardown);

static bf_task_state_t state_of(const char *instance, const bf_node_t *node)
{
    bf_task_state_t state = BF_TASK_TERMINATED;
    cr_assert_eq(bf_state_get(repo, instance, node, &state, &err), BF_OK);
    return state;
}

Test(repository, state__put_get_remove_clear)
{
    cr_assert_eq(state_of("i1", &a), BF_TASK_UNKNOWN);
    cr_assert_eq(bf_state_put(repo, "i1", &a, BF_TASK_WAITING, &err), BF_OK);
    cr_assert_eq(bf_state_put(repo, "i1", &b, BF_TASK_COMPLETED, &err), BF_OK);
    cr_assert_eq(state_of("i1", &a), BF_TASK_WAITING);
    cr_assert_eq(state_of("i1", &b), BF_TASK_COMPLETED);
    cr_assert_eq(bf_state_remove(repo, "i1", &a, &err), BF_OK);
    cr_assert_eq(state_of("i1", &a), BF_TASK_UNKNOWN);
    cr_assert_eq(state_of("i1", &b), BF_TASK_COMPLETED);
    cr_assert_eq(bf_state_clear(repo, "i1", &err), BF_OK);
    cr_assert_eq(state_of("i1", &b), BF_TASK_UNKNOWN);
}

Test(repository, state__instances_do_not_see_each_other)
{
    cr_assert_eq(bf_state_put(repo, "i1", &a, BF_TASK_WAITING, &err), BF_OK);
    cr_assert_eq(bf_state_put(repo, "i2", &a, BF_TASK_COMPLETED, &err), BF_OK);
    cr_assert_eq(bf_state_clear(repo, "i1", &err), BF_OK);
    cr_assert_eq(state_of("i1", &a), BF_TASK_UNKNOWN);
    cr_assert_eq(state_of("i2", &a), BF_TASK_COMPLETED);
}

Test(repository, open__gives_the_same_instance_again_and_opens_a_packed_one)
{
    bf_instance_t *first;
    bf_instance_t *second;
    cr_assert_eq(repo->ops->open(repo, "i1", &first, &err), BF_OK);
    cr_assert_eq(bf_state_put(repo, "i1", &a, BF_TASK_WAITING, &err), BF_OK);
    cr_assert_eq(bf_instance_pack(first), BF_OK);
    cr_assert_eq(repo->ops->open(repo, "i1", &second, &err), BF_OK);
    cr_assert_eq(first, second);
    cr_assert_not(bf_instance_is_packed(second));
    cr_assert_eq(state_of("i1", &a), BF_TASK_WAITING);
}

Test(repository, evict__forgets_an_instance)
{
    cr_assert_eq(bf_state_put(repo, "i1", &a, BF_TASK_WAITING, &err), BF_OK);
    repo->ops->evict(repo, "i1");
    cr_assert_eq(state_of("i1", &a), BF_TASK_UNKNOWN);
    repo->ops->evict(repo, "never seen");
}

Test(repository, changed__an_instance_in_memory_is_never_dirty)
{
    bf_instance_t *inst;
    cr_assert_eq(bf_state_put(repo, "i1", &a, BF_TASK_WAITING, &err), BF_OK);
    cr_assert_eq(repo->ops->open(repo, "i1", &inst, &err), BF_OK);
    cr_assert_eq(bf_instance_revision(inst), 1);
    cr_assert_not(bf_instance_is_dirty(inst));
}
