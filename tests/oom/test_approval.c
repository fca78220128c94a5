/*
 * test_approval.c - an operation on approvals that runs out of memory changes nothing
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/approval.h"
#include "bpmflow/assert.h"
#include "tests/oom/oom.h"

static const char flow[] =
    "{\"name\":\"o\",\"nodes\":["
    "{\"id\":\"s\",\"type\":\"snaker:start\"},"
    "{\"id\":\"form\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":"
    "\"applicant\"}},"
    "{\"id\":\"f\",\"type\":\"snaker:fork\"},"
    "{\"id\":\"cs\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"a,b,c\","
    "\"performType\":1,\"field\":{\"countersignCompletionCondition\":"
    "\"#nrOfCompletedInstances >= 2\",\"PERMISSION_x\":1}}},"
    "{\"id\":\"sq\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"d,e\","
    "\"performType\":1,\"countersignType\":1}},"
    "{\"id\":\"j\",\"type\":\"snaker:join\"},"
    "{\"id\":\"d\",\"type\":\"snaker:decision\"},"
    "{\"id\":\"sub\",\"type\":\"snaker:subProcess\",\"properties\":{\"processName\":"
    "\"k\"}},"
    "{\"id\":\"last\",\"type\":\"snaker:task\",\"properties\":{\"assignmentHandler\":"
    "\"DeptLeaderAssignmentHandler\"}},"
    "{\"id\":\"e\",\"type\":\"snaker:end\"}],\"edges\":["
    "{\"sourceNodeId\":\"s\",\"targetNodeId\":\"form\"},"
    "{\"sourceNodeId\":\"form\",\"targetNodeId\":\"f\"},"
    "{\"sourceNodeId\":\"f\",\"targetNodeId\":\"cs\"},"
    "{\"sourceNodeId\":\"f\",\"targetNodeId\":\"sq\"},"
    "{\"sourceNodeId\":\"cs\",\"targetNodeId\":\"j\"},"
    "{\"sourceNodeId\":\"sq\",\"targetNodeId\":\"j\"},"
    "{\"sourceNodeId\":\"j\",\"targetNodeId\":\"d\"},"
    "{\"sourceNodeId\":\"d\",\"targetNodeId\":\"sub\",\"properties\":{\"expr\":\"n > "
    "1\"}},"
    "{\"sourceNodeId\":\"d\",\"targetNodeId\":\"e\"},"
    "{\"sourceNodeId\":\"sub\",\"targetNodeId\":\"last\"},"
    "{\"sourceNodeId\":\"last\",\"targetNodeId\":\"e\"}]}";
static const char child[] =
    "{\"name\":\"k\",\"nodes\":[{\"id\":\"s\",\"type\":\"snaker:start\"},"
    "{\"id\":\"t\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"kim\"}},"
    "{\"id\":\"e\",\"type\":\"snaker:end\"}],\"edges\":["
    "{\"sourceNodeId\":\"s\",\"targetNodeId\":\"t\"},"
    "{\"sourceNodeId\":\"t\",\"targetNodeId\":\"e\"}]}";

typedef struct world {
    bf_ledger_t *ledger;
    bf_approval_t *approval;
    int64_t last_id;
    int64_t instance;
} world_t;

/* One step: who does which task, how. */
typedef struct step {
    const char *name;
    const char *task; /* NULL: another operation */
    const char *who;
    bf_submit_type_t type;
    const char *to;
} step_t;

static const step_t steps[] = {
    {"start and execute", NULL, "ann", BF_SUBMIT_APPLY, NULL},
    {"vote", "cs", "a", BF_SUBMIT_AGREE, NULL},
    {"vote in order", "sq", "d", BF_SUBMIT_AGREE, NULL},
    {"last vote in order", "sq", "e", BF_SUBMIT_AGREE, NULL},
    {"vote that passes the join", "cs", "b", BF_SUBMIT_DISAGREE, NULL},
    {"end of the sub-process", "t", "kim", BF_SUBMIT_AGREE, NULL},
    {"roll back", "last", "boss", BF_SUBMIT_ROLLBACK, NULL},
    {"to the initiator", "cs", "b", BF_SUBMIT_ROLLBACK_TO_OPERATOR, NULL},
    {"jump", "form", "ann", BF_SUBMIT_JUMP, "cs"},
    {"reject", "cs", "c", BF_SUBMIT_REJECT, NULL},
};

static int64_t next_id(void *arg)
{
    world_t *world = arg;
    return ++world->last_id;
}

static bf_status_t find_user(void *arg, bf_arena_t *arena, const char *user_id,
                             bf_approval_user_t *ret, bf_err_t *err)
{
    (void)arg;
    ret->id = bf_arena_strdup(arena, user_id);
    ret->dept_id = "d1";
    return ret->id ? BF_OK : bf_err_nomem(err, "a user");
}

static bf_status_t find_leaders(void *arg, bf_arena_t *arena, const char *dept_id,
                                bool is_main, bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    (void)dept_id;
    (void)is_main;
    return bf_approval_names_add(arena, ret, "boss", 4) == BF_OK
               ? BF_OK
               : bf_err_nomem(err, "leaders");
}

static bf_status_t deploy(const world_t *world, const char *text)
{
    bf_err_t err = BF_ERR_INIT;
    return bf_approval_deploy(world->approval, text, strlen(text), "x", NULL, &err);
}

static void begin(world_t *world)
{
    *world = (world_t){0};
    bf_ledger_ids_t ids = {next_id, world};
    bf_approval_host_t host = {.directory = {.user = find_user, .leaders = find_leaders},
                               .is_surrogate_enabled = true};
    bf_surrogate_row_t agent = {
        .id = 1000000, .operator_id = "boss", .surrogate = "agent", .enabled = 1};
    bf_err_t err = BF_ERR_INIT;
    world->ledger = bf_ledger_new(&ids);
    BF_ASSERT(world->ledger);
    world->approval = bf_approval_new(world->ledger, &host);
    BF_ASSERT(world->approval);
    BF_ASSERT(deploy(world, flow) == BF_OK && deploy(world, child) == BF_OK);
    BF_ASSERT(bf_ledger_insert(world->ledger, BF_LEDGER_SURROGATE, &agent, &err) ==
              BF_OK);
}

static void end(world_t *world)
{
    bf_approval_free(world->approval);
    bf_ledger_free(world->ledger);
}

static bf_status_t start(world_t *world)
{
    bf_member_t vars[] = {{"n", 1, bf_value_int(2)},
                          {"f_ccActors", 10, bf_value_cstr("c1,c2")},
                          {"BUSINESS_NO", 11, bf_value_int(7)}};
    bf_value_t args = {.type = BF_VALUE_MAP, .len = 3, .as.members = vars};
    bf_approval_start_t how = {.name = "o", .operator_id = "ann", .args = &args};
    bf_err_t err = BF_ERR_INIT;
    return bf_approval_start_and_execute(world->approval, &how, &world->instance, &err);
}

static int64_t open_row(const world_t *world, const step_t *step)
{
    size_t cursor = 0;
    const bf_task_row_t *row;
    while ((row = bf_ledger_next(world->ledger, BF_LEDGER_TASK, &cursor))) {
        if (row->task_state == BF_APPROVAL_DOING && !strcmp(row->task_name, step->task) &&
            bf_ledger_is_actor(world->ledger, row->id, step->who)) {
            return row->id;
        }
    }
    return 0;
}

static bf_status_t run_step(world_t *world, const step_t *step)
{
    if (!step->task) {
        return start(world);
    }
    bf_member_t vars[] = {{"f_x", 3, bf_value_int(2)},
                          {"tf_ccActors", 11, bf_value_cstr("c3")}};
    bf_value_t args = {.type = BF_VALUE_MAP, .len = 2, .as.members = vars};
    bf_approval_execute_t execute = {.task_id = open_row(world, step),
                                     .operator_id = step->who,
                                     .submit_type = step->type,
                                     .task_name = step->to,
                                     .args = &args};
    bf_err_t err = BF_ERR_INIT;
    BF_ASSERT(execute.task_id);
    return bf_approval_execute(world->approval, &execute, &err);
}

/* Everything that may change, in one number. */
static uint64_t sum_of(const world_t *world)
{
    uint64_t sum = 0;
    size_t cursor = 0;
    const bf_task_row_t *task;
    const bf_process_row_t *process;
    for (unsigned t = 0; t < BF_LEDGER_TABLE_COUNT; t++) {
        sum = sum * 31 + bf_ledger_count(world->ledger, (bf_ledger_table_t)t);
    }
    while ((task = bf_ledger_next(world->ledger, BF_LEDGER_TASK, &cursor))) {
        sum = sum * 31 + (uint64_t)task->task_state + strlen(task->variable);
    }
    cursor = 0;
    while ((process = bf_ledger_next(world->ledger, BF_LEDGER_PROCESS, &cursor))) {
        sum = sum * 31 + (uint64_t)process->state + strlen(process->variable);
    }
    return sum;
}

/* A world in which the steps before were done; then the step itself. */
static bf_status_t sweep_step(void *arg)
{
    const step_t *step = arg;
    world_t world;
    bf_oom_pause();
    begin(&world);
    for (const step_t *before = steps; before < step; before++) {
        BF_ASSERT(run_step(&world, before) == BF_OK);
    }
    uint64_t sum = sum_of(&world);
    bf_oom_resume();
    bf_status_t rc = run_step(&world, step);
    bf_oom_pause();
    BF_ASSERT(rc == BF_OK || sum_of(&world) == sum);
    end(&world);
    bf_oom_resume();
    return rc;
}

static bf_status_t sweep_load(void *arg)
{
    (void)arg;
    bf_arena_t arena;
    const bf_flow_t *ret;
    bf_err_t err = BF_ERR_INIT;
    bf_arena_init(&arena, 0);
    bf_status_t rc = bf_flow_load(&arena, flow, sizeof(flow) - 1, &ret, &err);
    bf_arena_fini(&arena);
    return rc;
}

static bf_status_t sweep_new(void *arg)
{
    (void)arg;
    bf_ledger_t *ledger = bf_ledger_new(NULL);
    bf_approval_t *approval = ledger ? bf_approval_new(ledger, NULL) : NULL;
    bf_status_t rc = approval ? BF_OK : BF_E_NOMEM;
    bf_approval_free(approval);
    bf_ledger_free(ledger);
    return rc;
}

int main(void)
{
    bf_oom_sweep("flow_load", sweep_load, NULL);
    bf_oom_sweep("approval_new", sweep_new, NULL);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        step_t *step = (step_t *)(uintptr_t)&steps[i];
        bf_oom_sweep(steps[i].name, sweep_step, step);
    }
    return bf_oom_result();
}
