/*
 * facade_query.c - pages: conditions, order, and the rows between two page breaks
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bpmflow/array.h"
#include "bpmflow/num.h"
#include "lib/approval/facade_int.h"

#define PREFIX         "m_"
#define MAX_CONDITIONS 64

typedef enum op {
    EQ,
    NE,
    LIKE,
    LLIKE,
    RLIKE,
    GT,
    GE,
    LT,
    LE,
    IN,
    NIN,
    BT,
    OP_COUNT
} op_t;

static const char *const op_names[OP_COUNT] = {
    "EQ", "NE", "LIKE", "LLIKE", "RLIKE", "GT", "GE", "LT", "LE", "IN", "NIN", "BT",
};

/* What a column is compared with: a text, or a number. */
typedef struct operand {
    const char *text;
    int64_t number;
} operand_t;

typedef struct condition {
    const bf_facade_column_t *column;
    op_t op;
    operand_t *operands;
    size_t count;
} condition_t;

struct bf_facade_query {
    bf_facade_call_t *call;
    int64_t page_num;
    int64_t page_size;
    const bf_facade_column_t *order; /* NULL = the ID */
    bool is_ascending;
    condition_t conditions[MAX_CONDITIONS];
    size_t condition_count;
    size_t operand_count; /* of all conditions: each row is held against them */
    bf_facade_joined_t *rows;
    size_t count;
    size_t room;
};

static bool is_like(op_t op)
{
    return op == LIKE || op == LLIKE || op == RLIKE;
}

/* --- reading conditions --- */

/* The words of m_[alias_]OP_column. What follows a third word does not count. */
typedef struct words {
    const char *word[3];
    size_t len[3];
    size_t count;
} words_t;

static words_t split(const char *text)
{
    words_t words = {.count = 0};
    while (words.count < 3) {
        size_t len = strcspn(text, "_");
        words.word[words.count] = text;
        words.len[words.count] = len;
        words.count++;
        if (!text[len]) {
            break;
        }
        text += len + 1;
    }
    return words;
}

static bool find_op(const char *text, size_t len, op_t *ret)
{
    for (size_t i = 0; i < OP_COUNT; i++) {
        if (strlen(op_names[i]) == len && !strncasecmp(op_names[i], text, len)) {
            *ret = (op_t)i;
            return true;
        }
    }
    return false;
}

static bf_status_t read_number(bf_facade_call_t *call, const char *member,
                               const bf_value_t *value, int64_t *ret)
{
    if (value->type == BF_VALUE_INT) {
        *ret = value->as.integer;
        return BF_OK;
    }
    if (value->type == BF_VALUE_BOOL) {
        *ret = value->as.boolean;
        return BF_OK;
    }
    if (value->type == BF_VALUE_STRING &&
        bf_num_parse_i64(value->as.string, value->len, ret, NULL) == BF_OK) {
        return BF_OK;
    }
    return bf_facade_ill(call, member, "is no whole number",
                         "a whole number, for this column has them");
}

static bf_status_t read_text(bf_facade_call_t *call, const char *member,
                             const bf_value_t *value, const char **ret)
{
    if (value->type == BF_VALUE_STRING) {
        *ret = value->as.string;
        return BF_OK;
    }
    if (value->type == BF_VALUE_INT) {
        *ret = bf_arena_printf(call->arena, "%lld", (long long)value->as.integer);
        return *ret ? BF_OK : bf_err_nomem(&call->err, member);
    }
    return bf_facade_ill(call, member, "is neither text nor whole number",
                         "a text, for this column has them");
}

static bf_status_t read_operand(bf_facade_call_t *call, const char *member,
                                const condition_t *condition, const bf_value_t *value,
                                operand_t *ret)
{
    if (is_like(condition->op) || condition->column->kind == BF_FACADE_TEXT) {
        return read_text(call, member, value, &ret->text);
    }
    if (condition->column->kind == BF_FACADE_TIME) {
        return bf_facade_read_time(call, member, value, &ret->number);
    }
    return read_number(call, member, value, &ret->number);
}

/* The parts of a text with commas, for IN and the like. */
static bf_value_t split_at_commas(bf_facade_call_t *call, const bf_value_t *text)
{
    bf_facade_list_t list;
    bf_facade_list_init(call, &list);
    const char *at = text->as.string;
    for (;;) {
        size_t len = strcspn(at, ",");
        const char *part = bf_arena_strndup(call->arena, at, len);
        call->is_nomem = call->is_nomem || !part;
        if (part && len) {
            bf_facade_add(&list, bf_value_string(part, len));
        }
        if (!at[len]) {
            return bf_facade_list_value(&list);
        }
        at += len + 1;
    }
}

static bf_status_t read_operands(bf_facade_call_t *call, const char *member,
                                 const bf_value_t *value, condition_t *condition)
{
    bool is_many = condition->op == IN || condition->op == NIN || condition->op == BT;
    bf_value_t parts = *value;
    if (is_many && value->type == BF_VALUE_STRING) {
        parts = split_at_commas(call, value);
    }
    if (!is_many && parts.type == BF_VALUE_LIST) {
        return bf_facade_ill(call, member, "is a list", "one value, or use IN");
    }
    const bf_value_t *items = parts.type == BF_VALUE_LIST ? parts.as.items : &parts;
    size_t count = parts.type == BF_VALUE_LIST ? parts.len : 1;
    if (count > call->facade->host.max_batch) {
        return bf_err_set(&call->err, BF_E_LIMIT, "%s: %zu values; give %zu at most",
                          member, count, call->facade->host.max_batch);
    }
    if (condition->op == BT && count != 2) {
        return bf_facade_ill(call, member, "is no pair", "a list of two values");
    }
    condition->operands = bf_arena_calloc(call->arena, count, sizeof(operand_t));
    if (!condition->operands) {
        return bf_err_nomem(&call->err, member);
    }
    condition->count = count;
    bf_status_t status = BF_OK;
    for (size_t i = 0; i < count && status == BF_OK; i++) {
        status =
            read_operand(call, member, condition, &items[i], &condition->operands[i]);
    }
    return status;
}

static bool is_empty(const bf_value_t *value)
{
    return value->type == BF_VALUE_NULL ||
           ((value->type == BF_VALUE_STRING || value->type == BF_VALUE_LIST) &&
            !value->len);
}

static bf_status_t read_condition(bf_facade_query_t *query, bf_ledger_table_t table,
                                  const bf_member_t *m)
{
    bf_facade_call_t *call = query->call;
    words_t words = split(m->name + strlen(PREFIX));
    if (words.count < 2 || is_empty(&m->value)) {
        return BF_OK;
    }
    size_t at = words.count - 2; /* of the operation */
    condition_t condition = {
        .column = bf_facade_find_column(table, at ? words.word[0] : NULL, words.len[0],
                                        words.word[at + 1], words.len[at + 1])};
    if (!condition.column) {
        return BF_OK;
    }
    if (!find_op(words.word[at], words.len[at], &condition.op)) {
        return bf_err_set(&call->err, BF_E_INVALID,
                          "%.100s: '%.*s' is no comparison; use EQ, NE, LIKE, LLIKE, "
                          "RLIKE, GT, GE, LT, LE, IN, NIN or BT",
                          m->name, (int)words.len[at], words.word[at]);
    }
    if (query->condition_count == MAX_CONDITIONS) {
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "%.100s: more than %d conditions; give fewer", m->name,
                          MAX_CONDITIONS);
    }
    bf_status_t status = read_operands(call, m->name, &m->value, &condition);
    query->operand_count += condition.count;
    if (status == BF_OK &&
        query->operand_count > call->facade->host.max_batch + MAX_CONDITIONS) {
        return bf_err_set(&call->err, BF_E_LIMIT,
                          "%.100s: the conditions have too many values; give %zu at most",
                          m->name, call->facade->host.max_batch);
    }
    if (status == BF_OK) {
        query->conditions[query->condition_count++] = condition;
    }
    return status;
}

/* "t.create_time desc": an order that is not known is the usual one. */
static void read_order(bf_facade_query_t *query, bf_ledger_table_t table,
                       const char *text)
{
    text += strspn(text, " ");
    size_t len = strcspn(text, " ,");
    const char *dot = memchr(text, '.', len);
    const char *name = dot ? dot + 1 : text;
    query->order =
        bf_facade_find_column(table, dot ? text : NULL, dot ? (size_t)(dot - text) : 0,
                              name, len - (size_t)(name - text));
    const char *way = text + len + strspn(text + len, " ");
    query->is_ascending = query->order && strncasecmp(way, "desc", 4) != 0;
}

bf_status_t bf_facade_query_new(bf_facade_call_t *call, bf_ledger_table_t table,
                                bf_facade_query_t **ret)
{
    bf_facade_query_t *query = bf_arena_calloc(call->arena, 1, sizeof(*query));
    if (!query) {
        return bf_err_nomem(&call->err, "query");
    }
    query->call = call;
    query->page_num = 1;
    query->page_size = 10;
    const char *order = NULL;
    bf_status_t status =
        bf_facade_get_int(call, "pageNum", 1, INT32_MAX, &query->page_num);
    if (status == BF_OK) {
        status = bf_facade_get_int(call, "pageSize", 1, call->facade->host.max_page_size,
                                   &query->page_size);
    }
    if (status == BF_OK) {
        status = bf_facade_get_text(call, "orderBy", &order);
    }
    if (status == BF_OK && order) {
        read_order(query, table, order);
    }
    for (uint32_t i = 0; i < call->body->len && status == BF_OK; i++) {
        const bf_member_t *m = &call->body->as.members[i];
        if (!strncmp(m->name, PREFIX, strlen(PREFIX))) {
            status = read_condition(query, table, m);
        }
    }
    *ret = query;
    return status;
}

/* --- holding rows against them --- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && !strcmp(text + len - end_len, end);
}

static bool is_like_text(op_t op, const char *text, const char *part)
{
    if (op == LLIKE) {
        return ends_with(text, part);
    }
    return op == RLIKE ? !strncmp(text, part, strlen(part)) : strstr(text, part) != NULL;
}

static int compare(const operand_t *a, const operand_t *b)
{
    if (a->text && b->text) {
        return strcmp(a->text, b->text);
    }
    return (a->number > b->number) - (a->number < b->number);
}

static bool is_in(const condition_t *condition, const operand_t *value)
{
    for (size_t i = 0; i < condition->count; i++) {
        if (!compare(value, &condition->operands[i])) {
            return true;
        }
    }
    return false;
}

static bool compares(const condition_t *condition, const operand_t *value)
{
    int order = compare(value, &condition->operands[0]);
    switch (condition->op) {
    case EQ:
        return order == 0;
    case NE:
        return order != 0;
    case GT:
        return order > 0;
    case GE:
        return order >= 0;
    case LT:
        return order < 0;
    case LE:
        return order <= 0;
    case BT:
        return order >= 0 && compare(value, &condition->operands[1]) <= 0;
    case IN:
        return is_in(condition, value);
    case NIN:
        return !is_in(condition, value);
    case LIKE:
    case LLIKE:
    case RLIKE:
    case OP_COUNT:
        break;
    }
    return false;
}

/* A column as people see it. */
static const char *shown(const bf_facade_query_t *query, bf_facade_kind_t kind,
                         int64_t number, char text[BF_APPROVAL_TIME_MAX])
{
    _Static_assert(BF_APPROVAL_TIME_MAX >= BF_NUM_TEXT_MAX, "room for a number");
    if (kind == BF_FACADE_TIME) {
        bf_approval_format_time(query->call->approval, number, text);
    } else {
        (void)bf_num_format_i64(number, text);
    }
    return text;
}

/* As in a database a column without a value fulfils no condition. */
static bool holds(const bf_facade_query_t *query, const condition_t *condition,
                  const bf_facade_joined_t *row)
{
    operand_t value = {NULL, 0};
    if (!bf_facade_read_column(condition->column, row, &value.text, &value.number)) {
        return false;
    }
    if (!is_like(condition->op)) {
        return compares(condition, &value);
    }
    char text[BF_APPROVAL_TIME_MAX];
    if (!value.text) {
        value.text = shown(query, condition->column->kind, value.number, text);
    }
    return is_like_text(condition->op, value.text, condition->operands[0].text);
}

bf_status_t bf_facade_query_new_own(bf_facade_call_t *call, bf_ledger_table_t table,
                                    bf_facade_query_t **ret)
{
    bf_status_t status = bf_facade_need_user(call);
    return status == BF_OK ? bf_facade_query_new(call, table, ret) : status;
}

void bf_facade_query_offer(bf_facade_query_t *query, const bf_facade_joined_t *row)
{
    for (size_t i = 0; i < query->condition_count; i++) {
        if (!holds(query, &query->conditions[i], row)) {
            return;
        }
    }
    if (query->count == query->room) {
        bf_facade_joined_t *rows = bf_array_grow_in(
            query->call->arena, query->rows, &query->room, sizeof(*query->rows), 64);
        if (!rows) {
            query->call->is_nomem = true;
            return;
        }
        query->rows = rows;
    }
    query->rows[query->count++] = *row;
}

bf_status_t bf_facade_query_table(bf_facade_call_t *call, bf_ledger_table_t table,
                                  bf_ledger_index_t index, const char *owner,
                                  bf_facade_join_fn join, bf_facade_query_t **ret)
{
    bf_status_t status = bf_facade_query_new(call, table, ret);
    if (status != BF_OK) {
        return status;
    }
    const bf_ledger_t *ledger = call->ledger;
    size_t cursor = 0;
    const void *row;
    while ((row = owner ? bf_ledger_next_by_text(ledger, index, owner, &cursor)
                        : bf_ledger_next(ledger, table, &cursor)) != NULL) {
        bf_facade_joined_t joined = join(call, row);
        bf_facade_query_offer(*ret, &joined);
    }
    return BF_OK;
}

/* Rows without a value come last when growing, as those with it come first. */
static int compare_order(const bf_facade_column_t *column, const bf_facade_joined_t *a,
                         const bf_facade_joined_t *b)
{
    operand_t x = {NULL, 0};
    operand_t y = {NULL, 0};
    bool has_x = bf_facade_read_column(column, a, &x.text, &x.number);
    bool has_y = bf_facade_read_column(column, b, &y.text, &y.number);
    if (!has_x || !has_y) {
        return (int)has_y - (int)has_x;
    }
    return compare(&x, &y);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const bf_facade_query_t *query = arg;
    const bf_facade_joined_t *x = a;
    const bf_facade_joined_t *y = b;
    int order = query->order ? compare_order(query->order, x, y) : 0;
    if (!order) {
        order = (x->id > y->id) - (x->id < y->id);
    }
    return query->is_ascending ? order : -order;
}

const bf_facade_joined_t *bf_facade_query_rows(bf_facade_query_t *query,
                                               size_t *ret_count)
{
    if (query->count > 1) {
        qsort_r(query->rows, query->count, sizeof(*query->rows), compare_rows, query);
    }
    *ret_count = query->count;
    return query->rows;
}

int64_t bf_facade_query_page_num(const bf_facade_query_t *query)
{
    return query->page_num;
}

int64_t bf_facade_query_page_size(const bf_facade_query_t *query)
{
    return query->page_size;
}

void bf_facade_page(bf_facade_call_t *call, const bf_facade_query_t *query, int64_t total,
                    bf_value_t rows)
{
    bf_facade_map_t map;
    bf_facade_map_init(call, &map);
    bf_facade_put_int(&map, "pageNum", query->page_num);
    bf_facade_put_int(&map, "pageSize", query->page_size);
    bf_facade_put_int(&map, "recordCount", total);
    int64_t size = query->page_size > 0 ? query->page_size : 1;
    bf_facade_put_int(&map, "totalPage", total / size + (total % size ? 1 : 0));
    bf_facade_put(&map, "rows", rows);
    call->data = bf_facade_map_value(&map);
}

bf_status_t bf_facade_query_answer(bf_facade_query_t *query, bf_facade_shape_fn shape)
{
    size_t count;
    const bf_facade_joined_t *rows = bf_facade_query_rows(query, &count);
    size_t first = (size_t)(query->page_num - 1) * (size_t)query->page_size;
    bf_facade_list_t list;
    bf_facade_list_init(query->call, &list);
    bf_status_t status = BF_OK;
    for (size_t i = first;
         i < count && i - first < (size_t)query->page_size && status == BF_OK; i++) {
        bf_value_t value = bf_value_null();
        status = shape(query->call, &rows[i], &value);
        bf_facade_add(&list, value);
    }
    bf_facade_page(query->call, query, (int64_t)count, bf_facade_list_value(&list));
    return status;
}
