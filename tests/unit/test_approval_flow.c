/*
 * test_approval_flow.c - reading definitions of approvals
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/flow.h"

static bf_arena_t arena;
static bf_err_t err;

static void setup(void)
{
    bf_arena_init(&arena, 0);
    bf_err_clear(&err);
}

static void teardown(void)
{
    bf_arena_fini(&arena);
}

TestSuite(approval_flow, .init = setup, .fini = teardown);

static const bf_flow_t *load(const char *text)
{
    const bf_flow_t *flow = NULL;
    cr_assert_eq(bf_flow_load(&arena, text, strlen(text), &flow, &err), BF_OK, "%s",
                 err.text);
    return flow;
}

static void refuses(const char *text, bf_status_t status, const char *says)
{
    const bf_flow_t *flow = NULL;
    bf_err_clear(&err);
    cr_assert_eq(bf_flow_load(&arena, text, strlen(text), &flow, &err), status, "%s",
                 err.text);
    cr_assert_null(flow);
    cr_assert_not_null(strstr(err.text, says), "%s", err.text);
}

#define START "{\"id\":\"s\",\"type\":\"snaker:start\"}"

Test(approval_flow, load__reads_nodes_and_edges)
{
    const bf_flow_t *flow = load(
        "{\"name\":\"f\",\"displayName\":\"F\",\"type\":\"t\",\"instanceUrl\":\"/u\","
        "\"nodes\":[" START
        ",{\"id\":\"a\",\"type\":\"task\",\"text\":\"A\",\"properties\":{\"form\":\"fm\","
        "\"assignee\":\"x\",\"assignmentHandler\":\"h\",\"taskType\":1,\"performType\":"
        "\"All\",\"countersignType\":\"sequential\",\"field\":{\"PERMISSION_f_x\":1,"
        "\"countersignCompletionCondition\":\"#n > 1\"}}},"
        "{\"id\":7,\"type\":\"snaker:END\",\"text\":{\"value\":\"Over\"}}],"
        "\"edges\":[{\"sourceNodeId\":\"s\",\"targetNodeId\":\"a\"},"
        "{\"id\":\"e2\",\"sourceNodeId\":\"a\",\"targetNodeId\":7,\"properties\":"
        "{\"expr\":\" \"}}]}");
    const bf_flow_node_t *a = bf_flow_find(flow, "a");
    cr_assert_str_eq(flow->name, "f");
    cr_assert_str_eq(flow->display_name, "F");
    cr_assert_str_eq(flow->type, "t");
    cr_assert_str_eq(flow->instance_url, "/u");
    cr_assert_eq(flow->node_count, 3);
    cr_assert_eq(flow->edge_count, 2);
    cr_assert_str_eq(flow->start->id, "s");
    cr_assert_eq(flow->first_task, a);
    cr_assert_str_eq(a->display_name, "A");
    cr_assert_str_eq(a->form, "fm");
    cr_assert_str_eq(a->assignee, "x");
    cr_assert_str_eq(a->assignment_handler, "h");
    cr_assert_eq(a->task_type, 1);
    cr_assert(a->is_countersign);
    cr_assert(a->is_sequential);
    cr_assert_not_null(a->completion);
    cr_assert_eq(a->in_count, 1);
    cr_assert_eq(a->out_count, 1);
    cr_assert_null(a->out[0]->expr);
    cr_assert_str_eq(a->out[0]->target->id, "7");
    cr_assert_str_eq(a->out[0]->target->display_name, "Over");
    cr_assert_eq(a->out[0]->target->type, BF_FLOW_END);
    cr_assert_str_eq(bf_flow_type_name(BF_FLOW_SUB_PROCESS), "subProcess");
    cr_assert_null(bf_flow_find(flow, "nothing"));
}

Test(approval_flow, load__perform_types_and_task_types)
{
    static const struct {
        const char *value;
        bool is_countersign;
    } cases[] = {{"0", false},        {"1", true},     {"\"1\"", true},
                 {"\"all\"", true},   {"\"\"", false}, {"\"countersign\"", true},
                 {"\"NONE\"", false}, {"null", false}, {"2", false}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        (void)snprintf(text, sizeof(text),
                       "{\"name\":\"f\",\"nodes\":[" START
                       ",{\"id\":\"a\",\"type\":\"task\",\"properties\":{\"performType\":"
                       "%s,\"taskType\":\"2\"}}]}",
                       cases[i].value);
        const bf_flow_node_t *a = bf_flow_find(load(text), "a");
        cr_assert_eq(a->is_countersign, cases[i].is_countersign, "%s", cases[i].value);
        cr_assert_eq(a->task_type, 2);
        cr_assert_not(a->is_sequential);
    }
}

Test(approval_flow, load__refuses_what_is_wrong_and_names_it)
{
    refuses("{", BF_E_PARSE, "approval definition");
    refuses("{}", BF_E_INVALID, "name");
    refuses("{\"name\":\"\"}", BF_E_INVALID, "name");
    refuses("{\"name\":\"f\"}", BF_E_INVALID, "snaker:start");
    refuses("{\"name\":\"f\",\"nodes\":[{\"type\":\"task\"}]}", BF_E_INVALID, "node 1");
    refuses("{\"name\":\"f\",\"nodes\":[" START "," START "]}", BF_E_INVALID, "id s");
    refuses("{\"name\":\"f\",\"nodes\":[" START ",{\"id\":\"t\",\"type\":\"start\"}]}",
            BF_E_INVALID, "s and t");
    refuses("{\"name\":\"f\",\"nodes\":[{\"id\":\"r\",\"type\":\"snaker:robot\"}]}",
            BF_E_INVALID, "snaker:robot");
    refuses("{\"name\":\"f\",\"nodes\":[{\"id\":\"r\"}]}", BF_E_INVALID, "node r");
    refuses("{\"name\":\"f\",\"nodes\":[" START "],\"edges\":[{\"sourceNodeId\":\"s\"}]}",
            BF_E_INVALID, "targetNodeId of edge 1");
    refuses("{\"name\":\"f\",\"nodes\":[" START
            "],\"edges\":[{\"id\":\"e\",\"sourceNodeId\":\"s\",\"targetNodeId\":\"s\","
            "\"properties\":{\"expr\":\"1 +\"}}]}",
            BF_E_PARSE, "expr of e");
    refuses("{\"name\":\"f\",\"nodes\":[" START
            ",{\"id\":\"a\",\"type\":\"task\",\"properties\":{\"field\":{"
            "\"countersignCompletionCondition\":\")\"}}}]}",
            BF_E_PARSE, "countersignCompletionCondition of a");
}

Test(approval_flow, load__bounds)
{
    char name[400];
    char text[1000];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"name\":\"%s\",\"nodes\":[" START "]}", name);
    refuses(text, BF_E_INVALID, "64 characters");
    (void)snprintf(text, sizeof(text),
                   "{\"name\":\"f\",\"nodes\":[{\"id\":\"%s\",\"type\":\"task\"}]}",
                   name);
    refuses(text, BF_E_LIMIT, "100 bytes");
    bf_str_t many;
    bf_str_init(&many, 0);
    bf_str_puts(&many, "{\"name\":\"f\",\"nodes\":[0");
    for (unsigned i = 0; i < BF_FLOW_MAX_NODES; i++) {
        bf_str_puts(&many, ",0");
    }
    bf_str_puts(&many, "]}");
    refuses(bf_str_peek(&many), BF_E_LIMIT, "10001 nodes");
    bf_str_fini(&many);
}

Test(approval_flow, reach__and_sources_follow_edges_only)
{
    const bf_flow_t *flow =
        load("{\"name\":\"f\",\"nodes\":[" START
             ",{\"id\":\"a\",\"type\":\"task\"},{\"id\":\"b\",\"type\":\"task\"},"
             "{\"id\":\"alone\",\"type\":\"task\"}],"
             "\"edges\":[{\"sourceNodeId\":\"s\",\"targetNodeId\":\"a\"},"
             "{\"sourceNodeId\":\"a\",\"targetNodeId\":\"b\"},"
             "{\"sourceNodeId\":\"b\",\"targetNodeId\":\"a\"}]}");
    const bool *marks;
    cr_assert_eq(bf_flow_reach(flow, flow->start, &arena, &marks), BF_OK);
    cr_assert(!marks[0] && marks[1] && marks[2] && !marks[3]);
    cr_assert_eq(bf_flow_reach(flow, &flow->nodes[1], &arena, &marks), BF_OK);
    cr_assert(!marks[0] && marks[1] && marks[2] && !marks[3]);
    cr_assert_eq(bf_flow_sources(flow, &flow->nodes[2], &arena, &marks), BF_OK);
    cr_assert(marks[0] && marks[1] && marks[2] && !marks[3]);
}
