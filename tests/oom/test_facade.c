/*
 * test_facade.c - requests to the facade of the approval layer with every allocation
 * failing once: an error comes, and nothing is changed
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/facade.h"
#include "tests/oom/oom.h"

static const char order[] =
    "{\"name\":\"order\",\"displayName\":\"Order\",\"type\":\"approval\",\"nodes\":["
    "{\"id\":\"begin\",\"type\":\"snaker:start\"},"
    "{\"id\":\"form\",\"type\":\"snaker:task\",\"properties\":"
    "{\"assignee\":\"applicant\"}},"
    "{\"id\":\"far\",\"type\":\"snaker:decision\"},"
    "{\"id\":\"vote\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"a,b\","
    "\"performType\":1,\"candidateUsers\":\"c1,c2\",\"candidateGroups\":\"g\"}},"
    "{\"id\":\"sign\",\"type\":\"snaker:task\",\"properties\":{\"assignee\":\"head\"}},"
    "{\"id\":\"over\",\"type\":\"snaker:end\"}],\"edges\":["
    "{\"id\":\"e1\",\"sourceNodeId\":\"begin\",\"targetNodeId\":\"form\"},"
    "{\"id\":\"e2\",\"sourceNodeId\":\"form\",\"targetNodeId\":\"far\"},"
    "{\"id\":\"e3\",\"sourceNodeId\":\"far\",\"targetNodeId\":\"vote\","
    "\"properties\":{\"expr\":\"days > 3\"}},"
    "{\"id\":\"e4\",\"sourceNodeId\":\"far\",\"targetNodeId\":\"sign\"},"
    "{\"id\":\"e5\",\"sourceNodeId\":\"vote\",\"targetNodeId\":\"sign\"},"
    "{\"id\":\"e6\",\"sourceNodeId\":\"sign\",\"targetNodeId\":\"over\"}]}";

/* IDs count from 1, so that requests can name rows. */
static int64_t next_id(void *arg)
{
    int64_t *last = arg;
    return ++*last;
}

static bf_status_t find_user(void *arg, bf_arena_t *arena, const char *id,
                             bf_approval_user_t *ret, bf_err_t *err)
{
    (void)arg;
    *ret =
        (bf_approval_user_t){.id = id, .real_name = bf_arena_printf(arena, "N:%s", id)};
    return ret->real_name ? BF_OK : bf_err_nomem(err, "name");
}

static bf_status_t find_role(void *arg, bf_arena_t *arena, const char *role,
                             bf_approval_names_t *ret, bf_err_t *err)
{
    (void)arg;
    return bf_approval_names_add(arena, ret, role, strlen(role)) == BF_OK
               ? BF_OK
               : bf_err_nomem(err, "role");
}

static bool is_permitted(void *arg, const char *user, const char *code)
{
    (void)arg;
    return user && code;
}

typedef struct world {
    int64_t last_id;
    bf_ledger_t *ledger;
    bf_approval_t *approval;
    bf_facade_t *facade;
    bf_arena_t arena;
} world_t;

typedef struct request {
    const char *action;
    const char *user;
    const char *body;
} request_t;

static bf_status_t ask(world_t *world, const request_t *request)
{
    bf_value_t answer = bf_value_null();
    bf_status_t status =
        bf_facade_call_json(world->facade, request->action, request->user, request->body,
                            strlen(request->body), &world->arena, &answer);
    const bf_value_t *code = bf_value_get_str(&answer, "code");
    if (status == BF_OK && (!code || code->as.integer != BF_FACADE_OK)) {
        return BF_E_NOMEM;
    }
    return status;
}

/* What every request finds: a definition, a design, a delegation, an application that two
 * people vote on. */
static void open_world(world_t *world)
{
    static const request_t before[] = {
        {"processDefine/deploy", "ann", order},
        {"processDesign/save", "ann", "{\"name\":\"d\",\"content\":{\"name\":\"d\"}}"},
        {"processSurrogate/save", "a", "{\"surrogate\":\"x\"}"},
        {"processInstance/startAndExecute", "ann",
         "{\"processDefineName\":\"order\",\"days\":5,\"f_note\":\"n\","
         "\"f_ccActors\":\"cc1\"}"},
    };
    *world = (world_t){.last_id = 0};
    bf_ledger_ids_t ids = {next_id, &world->last_id};
    bf_approval_host_t host = {.directory = {.user = find_user, .role = find_role},
                               .is_surrogate_enabled = true};
    bf_facade_host_t more = {.is_permitted = is_permitted};
    bf_arena_init(&world->arena, 0);
    world->ledger = bf_ledger_new(&ids);
    BF_ASSERT(world->ledger);
    world->approval = bf_approval_new(world->ledger, &host);
    BF_ASSERT(world->approval);
    world->facade = bf_facade_new(world->approval, &more);
    BF_ASSERT(world->facade);
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        BF_ASSERT(ask(world, &before[i]) == BF_OK);
    }
}

static void close_world(world_t *world)
{
    bf_facade_free(world->facade);
    bf_approval_free(world->approval);
    bf_ledger_free(world->ledger);
    bf_arena_fini(&world->arena);
}

/* The IDs that the requests need stand in the body as $process, $task, $design. */
static int64_t id_of(const world_t *world, const char *name, size_t *ret_len)
{
    static const struct {
        const char *name;
        bf_ledger_table_t table;
    } names[] = {{"$process", BF_LEDGER_PROCESS},
                 {"$design", BF_LEDGER_DESIGN},
                 {"$define", BF_LEDGER_DEFINE},
                 {"$surrogate", BF_LEDGER_SURROGATE},
                 {"$task", BF_LEDGER_TASK}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        *ret_len = strlen(names[i].name);
        if (!strncmp(name, names[i].name, *ret_len)) {
            size_t cursor = 0;
            const int64_t *row;
            int64_t id = 0; /* of the last row: the first member of each is its ID */
            while ((row = bf_ledger_next(world->ledger, names[i].table, &cursor))) {
                id = *row;
            }
            return id;
        }
    }
    BF_ASSERT(!"a known name");
    return 0;
}

static const char *fill_in(world_t *world, const char *body)
{
    const char *mark = strchr(body, '$');
    if (!mark) {
        return body;
    }
    size_t len;
    int64_t id = id_of(world, mark, &len);
    const char *text =
        bf_arena_printf(&world->arena, "%.*s\"%lld\"%s", (int)(mark - body), body,
                        (long long)id, mark + len);
    BF_ASSERT(text);
    return text;
}

static size_t count_rows(const world_t *world)
{
    size_t count = 0;
    for (unsigned i = 0; i < BF_LEDGER_TABLE_COUNT; i++) {
        count = count * 31 + bf_ledger_count(world->ledger, (bf_ledger_table_t)i);
    }
    return count;
}

static bf_status_t run(void *arg)
{
    const request_t *request = arg;
    world_t world;
    bf_oom_pause();
    open_world(&world);
    request_t filled = {request->action, request->user, fill_in(&world, request->body)};
    size_t before = count_rows(&world);
    bf_oom_resume();
    bf_status_t status = ask(&world, &filled);
    bf_oom_pause();
    BF_ASSERT(status == BF_OK || count_rows(&world) == before);
    close_world(&world);
    bf_oom_resume();
    return status;
}

static const request_t requests[] = {
    {"processDefine/page", "ann",
     "{\"m_LIKE_name\":\"ord\",\"m_IN_type\":\"approval,x\",\"orderBy\":\"name\"}"},
    {"processDefine/list", "ann", "{}"},
    {"processDefine/detail", "ann", "{\"id\":$define}"},
    {"processDefine/deploy", "ann", order},
    {"processDefine/redeploy", "ann",
     "{\"processDefineId\":$define,\"content\":{\"name\":\"order\",\"nodes\":[],"
     "\"edges\":[]}}"},
    {"processDefine/upAndDown", "ann", "{\"ids\":[$define],\"opType\":0}"},
    {"processDefine/remove", "ann", "{\"ids\":[$define]}"},
    {"processDesign/listByType", "ann", "{}"},
    {"processDesign/save", "ann",
     "{\"id\":$design,\"name\":\"d2\",\"content\":{\"name\":\"d\",\"nodes\":[],"
     "\"edges\":[]}}"},
    {"processDesign/detail", "ann", "{\"id\":$design}"},
    {"processDesign/remove", "ann", "{\"id\":$design}"},
    {"processInstance/startAndExecute", "ann",
     "{\"processDefineName\":\"order\",\"days\":1,\"f_ccActors\":[\"x\"]}"},
    {"processInstance/page", "ann", "{\"m_pd_EQ_name\":\"order\"}"},
    {"processInstance/detail", "ann", "{\"id\":$process}"},
    {"processInstance/highLight", "ann", "{\"id\":$process}"},
    {"processInstance/approvalRecord", "ann", "{\"id\":$process}"},
    {"processInstance/getAssigneeTextData", "ann", "{\"id\":$process}"},
    {"processInstance/createCCInstance", "ann",
     "{\"processInstanceId\":$process,\"actorIds\":\"u,v\"}"},
    {"processInstance/ccList", "cc1", "{}"},
    {"processInstance/updateCCStatus", "cc1", "{\"processInstanceId\":$process}"},
    {"processInstance/withdraw", "ann", "{\"id\":$process}"},
    {"processTask/todoList", "a", "{}"},
    {"processTask/doneList", "ann", "{}"},
    {"processTask/execute", "b", "{\"processTaskId\":$task,\"tf_x\":1}"},
    {"processTask/detail", "b", "{\"id\":$task}"},
    {"processTask/latest", "b", "{\"processInstanceId\":$process}"},
    {"processTask/jumpAbleTaskNameList", "b", "{\"processInstanceId\":$process}"},
    {"processTask/surrogate", "b", "{\"processTaskId\":$task,\"actorIds\":[\"n\"]}"},
    {"processTask/transfer", "b", "{\"processTaskId\":$task,\"toActor\":\"n\"}"},
    {"processSurrogate/page", "a", "{\"m_EQ_enabled\":1}"},
    {"processSurrogate/save", "a", "{\"surrogate\":\"z\",\"startTime\":\"2026-01-01\"}"},
    {"processSurrogate/remove", "a", "{\"id\":$surrogate}"},
    {"metadata/dict", "a", "{\"key\":\"wf_process_task_state\"}"},
    {"metadata/dictKeys", "a", "{}"},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        request_t request = requests[i];
        bf_oom_sweep(request.action, run, &request);
    }
    return bf_oom_result();
}
