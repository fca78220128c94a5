/*
 * facade_column.c - the columns that conditions and orders may name
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <string.h>

#include "lib/approval/facade_int.h"

#define COLUMN(table, type, name, kind, member)                                          \
    {                                                                                    \
        BF_LEDGER_##table, name, BF_FACADE_##kind, offsetof(type, member)                \
    }
#define AUDIT(table, type)                                                               \
    COLUMN(table, type, "createTime", TIME, audit.create_time),                          \
        COLUMN(table, type, "createUser", TEXT, audit.create_user),                      \
        COLUMN(table, type, "updateTime", TIME, audit.update_time),                      \
        COLUMN(table, type, "updateUser", TEXT, audit.update_user)

static const bf_facade_column_t columns[] = {
    COLUMN(DEFINE, bf_define_row_t, "id", ID, id),
    COLUMN(DEFINE, bf_define_row_t, "name", TEXT, name),
    COLUMN(DEFINE, bf_define_row_t, "displayName", TEXT, display_name),
    COLUMN(DEFINE, bf_define_row_t, "type", TEXT, type),
    COLUMN(DEFINE, bf_define_row_t, "state", INT, state),
    COLUMN(DEFINE, bf_define_row_t, "version", INT, version),
    AUDIT(DEFINE, bf_define_row_t),
    COLUMN(PROCESS, bf_process_row_t, "id", ID, id),
    COLUMN(PROCESS, bf_process_row_t, "parentId", ID, parent_id),
    COLUMN(PROCESS, bf_process_row_t, "processDefineId", ID, process_define_id),
    COLUMN(PROCESS, bf_process_row_t, "state", INT, state),
    COLUMN(PROCESS, bf_process_row_t, "parentNodeName", TEXT, parent_node_name),
    COLUMN(PROCESS, bf_process_row_t, "businessNo", TEXT, business_no),
    COLUMN(PROCESS, bf_process_row_t, "operator", TEXT, operator_id),
    COLUMN(PROCESS, bf_process_row_t, "expireTime", TIME, expire_time),
    AUDIT(PROCESS, bf_process_row_t),
    COLUMN(TASK, bf_task_row_t, "id", ID, id),
    COLUMN(TASK, bf_task_row_t, "processInstanceId", ID, process_instance_id),
    COLUMN(TASK, bf_task_row_t, "taskName", TEXT, task_name),
    COLUMN(TASK, bf_task_row_t, "displayName", TEXT, display_name),
    COLUMN(TASK, bf_task_row_t, "taskType", INT, task_type),
    COLUMN(TASK, bf_task_row_t, "performType", INT, perform_type),
    COLUMN(TASK, bf_task_row_t, "taskState", INT, task_state),
    COLUMN(TASK, bf_task_row_t, "operator", TEXT, operator_id),
    COLUMN(TASK, bf_task_row_t, "finishTime", TIME, finish_time),
    COLUMN(TASK, bf_task_row_t, "expireTime", TIME, expire_time),
    COLUMN(TASK, bf_task_row_t, "formKey", TEXT, form_key),
    COLUMN(TASK, bf_task_row_t, "taskParentId", ID, task_parent_id),
    AUDIT(TASK, bf_task_row_t),
    COLUMN(ACTOR, bf_actor_row_t, "actorId", TEXT, actor_id),
    COLUMN(CC, bf_cc_row_t, "id", ID, id),
    COLUMN(CC, bf_cc_row_t, "actorId", TEXT, actor_id),
    COLUMN(CC, bf_cc_row_t, "state", INT, state),
    AUDIT(CC, bf_cc_row_t),
    COLUMN(DESIGN, bf_design_row_t, "id", ID, id),
    COLUMN(DESIGN, bf_design_row_t, "name", TEXT, name),
    COLUMN(DESIGN, bf_design_row_t, "displayName", TEXT, display_name),
    COLUMN(DESIGN, bf_design_row_t, "type", TEXT, type),
    COLUMN(DESIGN, bf_design_row_t, "icon", TEXT, icon),
    COLUMN(DESIGN, bf_design_row_t, "remark", TEXT, description),
    COLUMN(DESIGN, bf_design_row_t, "isDeployed", INT, is_deployed),
    AUDIT(DESIGN, bf_design_row_t),
    COLUMN(SURROGATE, bf_surrogate_row_t, "id", ID, id),
    COLUMN(SURROGATE, bf_surrogate_row_t, "processName", TEXT, process_name),
    COLUMN(SURROGATE, bf_surrogate_row_t, "operator", TEXT, operator_id),
    COLUMN(SURROGATE, bf_surrogate_row_t, "surrogate", TEXT, surrogate),
    COLUMN(SURROGATE, bf_surrogate_row_t, "startTime", TIME, start_time),
    COLUMN(SURROGATE, bf_surrogate_row_t, "endTime", TIME, end_time),
    COLUMN(SURROGATE, bf_surrogate_row_t, "enabled", INT, enabled),
    AUDIT(SURROGATE, bf_surrogate_row_t),
};

typedef struct alias {
    const char *name;
    bf_ledger_table_t table;
} alias_t;

static const alias_t aliases[] = {
    {"pi", BF_LEDGER_PROCESS}, {"pd", BF_LEDGER_DEFINE}, {"pt", BF_LEDGER_TASK},
    {"pta", BF_LEDGER_ACTOR},  {"cc", BF_LEDGER_CC},
};

static bool is_alias(const char *name, const char *alias, size_t len)
{
    return strlen(name) == len && !memcmp(name, alias, len);
}

/* taskName, task_name and TASK_NAME are one. */
static bool is_same_name(const char *camel, const char *name, size_t len)
{
    size_t i = 0;
    for (; *camel; camel++) {
        while (i < len && name[i] == '_') {
            i++;
        }
        char a = *camel;
        char b = i < len ? name[i] : '\0';
        a = a >= 'A' && a <= 'Z' ? (char)(a + ('a' - 'A')) : a;
        b = b >= 'A' && b <= 'Z' ? (char)(b + ('a' - 'A')) : b;
        if (a != b) {
            return false;
        }
        i++;
    }
    return i == len;
}

const bf_facade_column_t *bf_facade_find_column(bf_ledger_table_t table,
                                                const char *alias, size_t alias_len,
                                                const char *name, size_t len)
{
    bool found = !alias || is_alias("t", alias, alias_len);
    for (size_t i = 0; !found && i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (is_alias(aliases[i].name, alias, alias_len)) {
            table = aliases[i].table;
            found = true;
        }
    }
    for (size_t i = 0; found && i < sizeof(columns) / sizeof(columns[0]); i++) {
        if (columns[i].table == table && is_same_name(columns[i].name, name, len)) {
            return &columns[i];
        }
    }
    return NULL;
}

static const void *row_of(bf_ledger_table_t table, const bf_facade_joined_t *row)
{
    switch (table) {
    case BF_LEDGER_DEFINE:
        return row->define;
    case BF_LEDGER_PROCESS:
        return row->process;
    case BF_LEDGER_TASK:
        return row->task;
    case BF_LEDGER_ACTOR:
        return row->actor;
    case BF_LEDGER_CC:
        return row->cc;
    case BF_LEDGER_DESIGN:
        return row->design;
    case BF_LEDGER_SURROGATE:
        return row->surrogate;
    case BF_LEDGER_DESIGN_HIS:
    case BF_LEDGER_TABLE_COUNT:
        break;
    }
    return NULL;
}

bool bf_facade_read_column(const bf_facade_column_t *column,
                           const bf_facade_joined_t *row, const char **ret_text,
                           int64_t *ret_number)
{
    const char *base = row_of(column->table, row);
    if (!base) {
        return false;
    }
    const char *at = base + column->offset;
    int32_t small;
    switch (column->kind) {
    case BF_FACADE_TEXT:
        memcpy(ret_text, at, sizeof(*ret_text));
        return *ret_text != NULL;
    case BF_FACADE_INT:
        memcpy(&small, at, sizeof(small));
        *ret_number = small;
        return true;
    case BF_FACADE_TIME:
        memcpy(ret_number, at, sizeof(*ret_number));
        *ret_number -= *ret_number % 1000; /* whole seconds, as people see them */
        return *ret_number != 0;
    case BF_FACADE_ID:
        memcpy(ret_number, at, sizeof(*ret_number));
        return *ret_number != 0;
    }
    return false;
}
