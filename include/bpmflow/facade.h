/*
 * facade.h - the approval layer as one call: action name, user, request in, answer out
 *
 * What a web page asks for ("processTask/todoList") with a JSON body becomes an answer
 *
 *     {"code": 0, "msg": "成功", "data": ...}      or
 *     {"code": 99999999, "msg": "processTaskId 缺失或非法: it is missing; give ..."}
 *
 * Whatever comes in, an answer comes out; an action that is not known is such an answer,
 * too.  On an error nothing is changed.  The acting user is what the host says: a member
 * `operator` of the body is never believed.  The users flow.auto and flow.admin act for
 * everybody: no person may be called that.  Some views need no permission code (rule 48:
 * detail, highLight, approvalRecord, ...): where not everybody may see every application,
 * the host looks before it asks.
 *
 * In answers (rules 39, 40) IDs are strings and times are "yyyy-MM-dd HH:mm:ss" in the
 * host's zone; form data stands there with and without its prefix (33).  In bodies an ID
 * is a string, or a number up to 2^53: above that a number has lost digits on its way.
 *
 * Actions (for each its members of the body, * = must be there):
 *   processDefine    page, list, detail(id*), getLastByName(processDefineName*),
 *                    deploy(content, else the flow itself), redeploy(processDefineId*,
 *                    content*), upAndDown(id | ids, state | opType), remove(id | ids),
 *                    startAndExecute(processDefineId* | processDefineName, variables)
 *   processDesign    page, listByType, detail(id*), save(id, name*, displayName, type,
 *                    icon, remark, content), update(id*, ...), updateDefine(
 *                    processDesignId*, content, else the flow itself), deploy(id*),
 *                    redeploy(id*), remove(id | ids)
 *   processInstance  page, startAndExecute, detail(id*), withdraw(id*), highLight(id*),
 *                    approvalRecord(id*), getAssigneeTextData(id*, includeNodeName),
 *                    createCCInstance(processInstanceId*, actorIds*), ccList,
 *                    updateCCStatus(processInstanceId*), bizData(processInstanceId* | id)
 *   processTask      todoList, doneList, execute(processTaskId*, submitType, taskName,
 *                    variables), detail(id*), latest(processInstanceId*),
 *                    jumpAbleTaskNameList(processInstanceId*), candidatePage(
 *                    processTaskId* | id), surrogate and addCandidate(processTaskId*,
 *                    actorIds*), transfer(processTaskId*, toActor*, fromActor)
 *   processSurrogate page, detail(id*), save(id, surrogate*, processName, startTime,
 *                    endTime, enabled), update(id*, ...), remove(id | ids)
 *   metadata         dictKeys, dict(key*), handlers(type*): AssignmentHandler,
 *                    DecisionHandler or IHandler
 *
 * Pages (41) take pageNum (1), pageSize (10), orderBy ("createTime desc"; by growing ID
 * backwards where it is not given) and conditions m_[alias_]OP_column, where OP is EQ NE
 * LIKE LLIKE RLIKE GT GE LT LE IN NIN BT, and the alias is t (the rows themselves, left
 * out as a rule), pi (instance), pd (definition), pta (actor) or cc (copy).  Conditions
 * without a value and those on columns that are not known are passed over.
 *
 * Threads: one at a time for a facade, its engine and its ledger.
 * Blocks:  never, but for what the host's functions do.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_FACADE_H
#define BF_FACADE_H

#include "bpmflow/approval.h"

#define BF_FACADE_OK     0
#define BF_FACADE_FAILED 99999999

/* Users that a person looks for. */
typedef struct bf_facade_search {
    const char *user_id;    /* who looks; NULL = the host */
    const bf_value_t *body; /* the request, with the words to look for */
    int64_t page_num;       /* from 1 */
    int64_t page_size;
} bf_facade_search_t;

/* What the host adds. Everything may be NULL or 0. */
typedef struct bf_facade_host {
    /* May that user do what that code ("wf:processTask:execute") stands for (rule 48)?
     * NULL: everybody may do everything. */
    bool (*is_permitted)(void *arg, const char *user_id, const char *code);
    /* Users for a candidate page whose task names no candidates (47): ret_rows is a list
     * of maps, ret_total how many there are on all pages. NULL: such a page is an error.
     */
    bf_status_t (*search_users)(void *arg, bf_arena_t *arena,
                                const bf_facade_search_t *search, bf_value_t *ret_rows,
                                int64_t *ret_total, bf_err_t *err);
    /* The business record of an instance. NULL: bizData is an error. */
    bf_status_t (*read_business)(void *arg, bf_arena_t *arena, const char *table,
                                 int64_t instance_id, bf_value_t *ret, bf_err_t *err);
    void *arg;
    int64_t max_page_size; /* rows of a page: 1000 */
    size_t max_body_bytes; /* of a request: 1 MiB */
    size_t max_batch;      /* IDs of a batch action: 1000 */
} bf_facade_host_t;

typedef struct bf_facade bf_facade_t;

/**
 * A facade.
 *
 * @param approval  borrowed; outlives the facade, as does its ledger
 * @param host      copied (its pointers are borrowed); NULL = nothing is added
 * @return free with bf_facade_free(); NULL when out of memory
 */
bf_facade_t *bf_facade_new(bf_approval_t *approval,
                           const bf_facade_host_t *host) BF_MUST_USE;

/** NULL is allowed; engine and ledger stay. */
void bf_facade_free(bf_facade_t *facade);

/**
 * Do an action.
 *
 * @param action  "processTask/todoList"
 * @param user    who acts; NULL = the host itself, which sees the rows of all people
 * where others see their own, and cannot do what needs a person
 * @param body    a map; NULL or null = no members. Borrowed for the call
 * @param arena   owns the answer
 * @param ret     the answer: {code, msg, data}; data is there on success only
 * @return BF_OK, also for an answer that is an error; BF_E_NOMEM: no memory for an answer
 */
bf_status_t bf_facade_call(bf_facade_t *facade, const char *action, const char *user,
                           const bf_value_t *body, bf_arena_t *arena,
                           bf_value_t *ret) BF_MUST_USE;

/** As bf_facade_call() for a body that is JSON text; an empty one is {}. What is no JSON
 *  object, or larger than allowed, is answered with an error. */
bf_status_t bf_facade_call_json(bf_facade_t *facade, const char *action, const char *user,
                                const char *text, size_t len, bf_arena_t *arena,
                                bf_value_t *ret) BF_MUST_USE;

/**
 * The permission codes of an action (rule 48): any one of them is enough.
 *
 * @param ret    up to BF_FACADE_MAX_CODES texts; those that are no constants are in arena
 * @return how many; 0: the action needs none. BF_FACADE_MAX_CODES + 1: out of memory
 */
#define BF_FACADE_MAX_CODES 3
size_t bf_facade_codes(const char *action, bf_arena_t *arena,
                       const char *ret[BF_FACADE_MAX_CODES]) BF_MUST_USE;

#endif /* BF_FACADE_H */
