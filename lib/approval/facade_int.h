/*
 * facade_int.h - what the actions of the facade share
 *
 * An action gets a call and sets call->data.  Values are built in the call's arena; a
 * failure of memory is remembered in call->is_nomem, so that building reads straight on,
 * and the dispatcher looks at it at the end.  An action changes the ledger once, after
 * everything that can be refused.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_FACADE_INT_H
#define BF_FACADE_INT_H

#include "bpmflow/facade.h"

struct bf_facade {
    bf_approval_t *approval;
    bf_ledger_t *ledger;
    bf_facade_host_t host; /* bounds are never 0 */
};

typedef struct bf_facade_call {
    bf_facade_t *facade;
    bf_approval_t *approval;
    bf_ledger_t *ledger;
    const char *user; /* NULL = the host */
    const bf_value_t *body;
    bf_arena_t *arena;
    bf_value_t data; /* the answer's */
    bool is_nomem;
    bf_err_t err;
} bf_facade_call_t;

typedef bf_status_t (*bf_facade_fn)(bf_facade_call_t *call);

/* --- values that grow (facade_value.c) --- */

typedef struct bf_facade_map {
    bf_facade_call_t *call;
    bf_member_t *members;
    uint32_t used;
    size_t room;
} bf_facade_map_t;

typedef struct bf_facade_list {
    bf_facade_call_t *call;
    bf_value_t *items;
    uint32_t used;
    size_t room;
} bf_facade_list_t;

void bf_facade_map_init(bf_facade_call_t *call, bf_facade_map_t *map);
/** Replace or append; the name must be static or in the arena, the value likewise. */
void bf_facade_put(bf_facade_map_t *map, const char *name, bf_value_t value);
/** As above for a name that is not there yet. */
void bf_facade_append(bf_facade_map_t *map, const char *name, uint32_t name_len,
                      bf_value_t value);
/** A copy; NULL = null. */
void bf_facade_put_text(bf_facade_map_t *map, const char *name, const char *text);
/** As a string; 0 = null. */
void bf_facade_put_id(bf_facade_map_t *map, const char *name, int64_t id);
void bf_facade_put_int(bf_facade_map_t *map, const char *name, int64_t number);
void bf_facade_put_bool(bf_facade_map_t *map, const char *name, bool flag);
/** "yyyy-MM-dd HH:mm:ss"; 0 = null. */
void bf_facade_put_time(bf_facade_map_t *map, const char *name, int64_t wall_ms);
void bf_facade_put_audit(bf_facade_map_t *map, const bf_audit_t *audit);
bf_value_t bf_facade_map_value(const bf_facade_map_t *map);

void bf_facade_list_init(bf_facade_call_t *call, bf_facade_list_t *list);
void bf_facade_add(bf_facade_list_t *list, bf_value_t value);
/** A copy; one that is there already is left out. */
void bf_facade_add_name(bf_facade_list_t *list, const char *text);
bool bf_facade_has_name(const bf_facade_list_t *list, const char *text);
bf_value_t bf_facade_list_value(const bf_facade_list_t *list);

/** A text of the arena; NULL (and call->is_nomem) when out of memory. */
const char *bf_facade_copy(bf_facade_call_t *call, const char *text);
bf_value_t bf_facade_text(bf_facade_call_t *call, const char *text);
bf_value_t bf_facade_id(bf_facade_call_t *call, int64_t id);
/** The answer {member: id} for an ID that is not known yet.
 *  @return room for its text, for bf_facade_set_id(); NULL (and call->is_nomem) */
char *bf_facade_answer_id(bf_facade_call_t *call, const char *member);
void bf_facade_set_id(bf_facade_call_t *call, char *text, int64_t id);

/** A column of JSON; an empty map where it is empty. */
bf_status_t bf_facade_read_json(bf_facade_call_t *call, const char *text,
                                bf_value_t *ret);

/** The members of vars whose names begin with the prefix, with and without it (33). */
bf_value_t bf_facade_form(bf_facade_call_t *call, const bf_value_t *vars,
                          const char *prefix);

/* --- the members of the body (facade_body.c) --- */

/** BF_E_INVALID with "member: what is wrong; what is wanted". */
bf_status_t bf_facade_ill(bf_facade_call_t *call, const char *member, const char *why,
                          const char *wanted);

/** An ID: text or number. *ret is 0 where it is absent, null or an empty text. */
bf_status_t bf_facade_get_id(bf_facade_call_t *call, const char *member, int64_t *ret);
/** As above, and absent is an error. */
bf_status_t bf_facade_need_id(bf_facade_call_t *call, const char *member, int64_t *ret);

/** The IDs of `ids`, else that of `id`: at least one, each once. */
bf_status_t bf_facade_need_ids(bf_facade_call_t *call, const int64_t **ret,
                               size_t *ret_count);

/** A text; *ret is NULL where it is absent or null. A number is its text. */
bf_status_t bf_facade_get_text(bf_facade_call_t *call, const char *member,
                               const char **ret);
/** As above; absent and empty are errors. */
bf_status_t bf_facade_need_text(bf_facade_call_t *call, const char *member,
                                const char **ret);
/** A text that fits a column of that many characters. */
bf_status_t bf_facade_get_column(bf_facade_call_t *call, const char *member, size_t max,
                                 const char **ret);

/** A whole number within bounds (a text of digits is one, too); *ret stays as it is where
 *  it is absent or null. */
bf_status_t bf_facade_get_int(bf_facade_call_t *call, const char *member, int64_t min,
                              int64_t max, int64_t *ret);

/** A time in the host's zone; *ret is 0 where it is absent, null or an empty text. */
bf_status_t bf_facade_get_time(bf_facade_call_t *call, const char *member, int64_t *ret);
bf_status_t bf_facade_read_time(bf_facade_call_t *call, const char *member,
                                const bf_value_t *value, int64_t *ret);

/** Users: a list of texts, or a text that is split at commas. At least one. */
bf_status_t bf_facade_need_users(bf_facade_call_t *call, const char *member,
                                 bf_approval_names_t *ret);

/** Who acts; an error where it is the host. */
bf_status_t bf_facade_need_user(bf_facade_call_t *call);

/** The body without those members: variables, or the flow itself. */
bf_value_t bf_facade_rest(bf_facade_call_t *call, const char *const *without);

/** Was that member given, and is it not null? */
bool bf_facade_has(const bf_facade_call_t *call, const char *member);

/* --- pages (facade_query.c) --- */

/* A row with those that it is joined with; what does not belong to it is NULL. */
typedef struct bf_facade_joined {
    int64_t id; /* of the row itself */
    const bf_define_row_t *define;
    const bf_process_row_t *process;
    const bf_task_row_t *task;
    const bf_actor_row_t *actor;
    const bf_cc_row_t *cc;
    const bf_design_row_t *design;
    const bf_surrogate_row_t *surrogate;
} bf_facade_joined_t;

typedef struct bf_facade_query bf_facade_query_t;

/** Read pageNum, pageSize, orderBy and the conditions.
 *  @param table  what `t` stands for */
bf_status_t bf_facade_query_new(bf_facade_call_t *call, bf_ledger_table_t table,
                                bf_facade_query_t **ret);

/** As above, for what the acting user has to do with: an error where it is the host. */
bf_status_t bf_facade_query_new_own(bf_facade_call_t *call, bf_ledger_table_t table,
                                    bf_facade_query_t **ret);

/** What belongs to a row of the table that is asked for. */
typedef bf_facade_joined_t (*bf_facade_join_fn)(const bf_facade_call_t *call,
                                                const void *row);

/** A query with the rows of a table offered to it.
 *  @param owner  only those whose column `index` is this; NULL = all, by no
 *                index */
bf_status_t bf_facade_query_table(bf_facade_call_t *call, bf_ledger_table_t table,
                                  bf_ledger_index_t index, const char *owner,
                                  bf_facade_join_fn join, bf_facade_query_t **ret);

/** A row that is there: it is taken where the conditions hold. */
void bf_facade_query_offer(bf_facade_query_t *query, const bf_facade_joined_t *row);

typedef bf_status_t (*bf_facade_shape_fn)(bf_facade_call_t *call,
                                          const bf_facade_joined_t *row, bf_value_t *ret);

/** Sort, cut the page out and make call->data of it. */
bf_status_t bf_facade_query_answer(bf_facade_query_t *query, bf_facade_shape_fn shape);

/** All rows that were taken, sorted; not cut. */
const bf_facade_joined_t *bf_facade_query_rows(bf_facade_query_t *query,
                                               size_t *ret_count);

/** {pageNum, pageSize, recordCount, totalPage, rows} */
void bf_facade_page(bf_facade_call_t *call, const bf_facade_query_t *query, int64_t total,
                    bf_value_t rows);
int64_t bf_facade_query_page_num(const bf_facade_query_t *query);
int64_t bf_facade_query_page_size(const bf_facade_query_t *query);

/* The columns that conditions may name (facade_column.c) */
typedef enum bf_facade_kind {
    BF_FACADE_ID,
    BF_FACADE_INT,
    BF_FACADE_TEXT,
    BF_FACADE_TIME
} bf_facade_kind_t;

typedef struct bf_facade_column {
    bf_ledger_table_t table;
    const char *name; /* in camel case */
    bf_facade_kind_t kind;
    size_t offset; /* in the row */
} bf_facade_column_t;

/** The column; NULL = there is none. The name may have underscores instead of capitals.
 *  @param alias  NULL or "t" = the table itself */
const bf_facade_column_t *bf_facade_find_column(bf_ledger_table_t table,
                                                const char *alias, size_t alias_len,
                                                const char *name, size_t len);

/** What stands in the column of a row. false: NULL. Texts in *ret_text, all else in
 *  *ret_number. */
bool bf_facade_read_column(const bf_facade_column_t *column,
                           const bf_facade_joined_t *row, const char **ret_text,
                           int64_t *ret_number);

/* --- rows and their shapes (facade_row.c) --- */

bf_status_t bf_facade_need_define(bf_facade_call_t *call, int64_t id,
                                  const bf_define_row_t **ret);
bf_status_t bf_facade_need_process(bf_facade_call_t *call, int64_t id,
                                   const bf_process_row_t **ret);
bf_status_t bf_facade_need_task(bf_facade_call_t *call, int64_t id,
                                const bf_task_row_t **ret);
/** The instance of member processInstanceId, or of id. */
bf_status_t bf_facade_body_process(bf_facade_call_t *call, const char *member,
                                   const bf_process_row_t **ret);

bf_status_t bf_facade_shape_define(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                   bf_value_t *ret);
bf_status_t bf_facade_shape_process(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                    bf_value_t *ret);
bf_status_t bf_facade_shape_task(bf_facade_call_t *call, const bf_facade_joined_t *row,
                                 bf_value_t *ret);

/** A definition with its flow as jsonObject. */
bf_status_t bf_facade_define_detail(bf_facade_call_t *call, const bf_define_row_t *row,
                                    bf_value_t *ret);

/** Members of a task row of an instance's detail. */
bf_status_t bf_facade_task_members(bf_facade_call_t *call, const bf_task_row_t *task,
                                   bf_facade_map_t *map, bf_value_t *ret_vars);

/** What the host's directory tells of a user; *ret is all NULL where it tells nothing.
 *  BF_OK, and the errors of the directory */
bf_status_t bf_facade_find_user(bf_facade_call_t *call, const char *id,
                                bf_approval_user_t *ret);

/** The users who may do a task, as a list. */
bf_value_t bf_facade_actors(bf_facade_call_t *call, int64_t task_id);

/** ID of the first task node in the file (45), borrowed from json; NULL = none. */
const char *bf_facade_first_task(const bf_value_t *json);

/* --- publishing (facade_define.c), for designs, too --- */

/** The flow of the body as JSON text: member `content` (text or map), else the rest. */
bf_status_t bf_facade_content(bf_facade_call_t *call, const char *const *without,
                              const char **ret, size_t *ret_len);

/** The row that deploying makes: checked, not written. */
bf_status_t bf_facade_new_define(bf_facade_call_t *call, const char *text, size_t len,
                                 bf_define_row_t *ret);

/** The row with that content in place of its own: checked, not written. */
bf_status_t bf_facade_changed_define(bf_facade_call_t *call, const bf_define_row_t *old,
                                     const char *text, size_t len, bf_define_row_t *ret);

/** Is everything built that the answer needs? To be asked before something is changed.
 *  BF_OK, BF_E_NOMEM */
bf_status_t bf_facade_ready(bf_facade_call_t *call);

/** Changes of the ledger, when everything is ready. */
bf_status_t bf_facade_apply(bf_facade_call_t *call, const bf_ledger_change_t *changes,
                            size_t count);

/** The row of an ID of the body, or why it must not be removed. */
typedef bf_status_t (*bf_facade_find_fn)(bf_facade_call_t *call, int64_t id,
                                         const void **ret);

/** Remove the rows of `ids`, else that of `id`: all, or none where one is not found. */
bf_status_t bf_facade_remove(bf_facade_call_t *call, bf_ledger_table_t table,
                             bf_facade_find_fn find);

/** Audit columns of a new row, and of a changed one. */
bf_audit_t bf_facade_audit(const bf_facade_call_t *call);
void bf_facade_touch(const bf_facade_call_t *call, bf_audit_t *audit);

/* --- the actions --- */

bf_status_t bf_facade_define_page(bf_facade_call_t *call);
bf_status_t bf_facade_define_list(bf_facade_call_t *call);
bf_status_t bf_facade_define_show(bf_facade_call_t *call);
bf_status_t bf_facade_define_last(bf_facade_call_t *call);
bf_status_t bf_facade_define_deploy(bf_facade_call_t *call);
bf_status_t bf_facade_define_redeploy(bf_facade_call_t *call);
bf_status_t bf_facade_define_up_and_down(bf_facade_call_t *call);
bf_status_t bf_facade_define_remove(bf_facade_call_t *call);

bf_status_t bf_facade_design_page(bf_facade_call_t *call);
bf_status_t bf_facade_design_list(bf_facade_call_t *call);
bf_status_t bf_facade_design_show(bf_facade_call_t *call);
bf_status_t bf_facade_design_save(bf_facade_call_t *call);
bf_status_t bf_facade_design_update(bf_facade_call_t *call);
bf_status_t bf_facade_design_update_define(bf_facade_call_t *call);
bf_status_t bf_facade_design_deploy(bf_facade_call_t *call);
bf_status_t bf_facade_design_redeploy(bf_facade_call_t *call);
bf_status_t bf_facade_design_remove(bf_facade_call_t *call);

bf_status_t bf_facade_start(bf_facade_call_t *call);
bf_status_t bf_facade_instance_page(bf_facade_call_t *call);
bf_status_t bf_facade_instance_show(bf_facade_call_t *call);
bf_status_t bf_facade_instance_withdraw(bf_facade_call_t *call);
bf_status_t bf_facade_instance_record(bf_facade_call_t *call);
bf_status_t bf_facade_instance_assignees(bf_facade_call_t *call);
bf_status_t bf_facade_instance_business(bf_facade_call_t *call);
bf_status_t bf_facade_high_light(bf_facade_call_t *call);
bf_status_t bf_facade_cc_create(bf_facade_call_t *call);
bf_status_t bf_facade_cc_page(bf_facade_call_t *call);
bf_status_t bf_facade_cc_read(bf_facade_call_t *call);

bf_status_t bf_facade_task_todo(bf_facade_call_t *call);
bf_status_t bf_facade_task_done(bf_facade_call_t *call);
bf_status_t bf_facade_task_execute(bf_facade_call_t *call);
bf_status_t bf_facade_task_show(bf_facade_call_t *call);
bf_status_t bf_facade_task_latest(bf_facade_call_t *call);
bf_status_t bf_facade_task_jumps(bf_facade_call_t *call);
bf_status_t bf_facade_task_candidates(bf_facade_call_t *call);
bf_status_t bf_facade_task_add(bf_facade_call_t *call);
bf_status_t bf_facade_task_transfer(bf_facade_call_t *call);

bf_status_t bf_facade_dict_keys(bf_facade_call_t *call);
bf_status_t bf_facade_dict(bf_facade_call_t *call);
bf_status_t bf_facade_handlers(bf_facade_call_t *call);

bf_status_t bf_facade_surrogate_page(bf_facade_call_t *call);
bf_status_t bf_facade_surrogate_show(bf_facade_call_t *call);
bf_status_t bf_facade_surrogate_save(bf_facade_call_t *call);
bf_status_t bf_facade_surrogate_update(bf_facade_call_t *call);
bf_status_t bf_facade_surrogate_remove(bf_facade_call_t *call);

#endif /* BF_FACADE_INT_H */
