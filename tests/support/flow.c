/*
 * flow.c - an engine, an executor and an instance for tests of commands
 *
 * SPDX-License-Identifier: MIT
 */
#include "tests/support/flow.h"

#include <criterion/criterion.h>
#include <string.h>

void flow_init(flow_t *flow)
{
    *flow = (flow_t){0};
    bf_arena_init(&flow->arena, 0);
    flow->engine = bf_engine_new();
    flow->controller = bf_actor_controller_new(NULL, 0);
    flow->executor = flow->engine && flow->controller
                         ? bf_executor_new(flow->engine, flow->controller, NULL)
                         : NULL;
    cr_assert_not_null(flow->executor);
    flow->env.executor = flow->executor;
}

void flow_fini(flow_t *flow)
{
    bf_executor_free(flow->executor);
    bf_controller_free(flow->controller);
    bf_engine_free(flow->engine);
    bf_arena_fini(&flow->arena);
}

bf_graph_t *flow_load(flow_t *flow, const char *text)
{
    bf_graph_t *graph = NULL;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_graph_load_text(text, strlen(text), NULL, NULL, &graph, &err), BF_OK,
                 "%s", err.text);
    cr_assert_eq(bf_engine_load(flow->engine, graph, &err), BF_OK, "%s", err.text);
    bf_graph_unref(graph); /* the engine has its own reference */
    return graph;
}

bf_command_t flow_command(flow_t *flow, bf_verb_t verb, const char *instance_id)
{
    return (bf_command_t){
        .command_id = bf_arena_printf(&flow->arena, "c-%u", ++flow->commands),
        .verb = verb,
        .instance_id = instance_id,
        .action = BF_ACTION_FORWARD,
    };
}

bf_value_t flow_json(flow_t *flow, const char *text)
{
    bf_value_t value;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_json_parse(&flow->arena, text, strlen(text), NULL, &value, &err),
                 BF_OK, "%s", err.text);
    return value;
}

bf_outcome_t flow_execute(flow_t *flow, bf_instance_t *inst, const bf_command_t *command)
{
    bf_outcome_t outcome;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_command_execute(&flow->env, command, inst, &flow->arena, FLOW_NOW,
                                    &outcome, &err),
                 BF_OK, "%s", err.text);
    return outcome;
}

bf_outcome_t flow_start(flow_t *flow, bf_instance_t *inst, const char *graph_id)
{
    bf_command_t command = flow_command(flow, BF_VERB_START, bf_instance_id(inst));
    command.graph_id = graph_id;
    return flow_execute(flow, inst, &command);
}

bf_outcome_t flow_claim(flow_t *flow, bf_instance_t *inst, const char *actor)
{
    bf_command_t command = flow_command(flow, BF_VERB_CLAIM, bf_instance_id(inst));
    command.actor = actor;
    return flow_execute(flow, inst, &command);
}

bf_outcome_t flow_submit(flow_t *flow, bf_instance_t *inst, const char *node,
                         bf_action_t action, const char *actor)
{
    bf_command_t command = flow_command(flow, BF_VERB_SUBMIT, bf_instance_id(inst));
    command.node_id = node;
    command.action = action;
    command.actor = actor;
    return flow_execute(flow, inst, &command);
}

void flow_assert_code(const bf_outcome_t *out, bf_code_t code)
{
    cr_assert_eq(out->code, code, "%s: %s", bf_code_name(out->code),
                 out->error ? out->error : "");
}

void flow_assert_says(const bf_outcome_t *out, const char *part)
{
    cr_assert_not_null(out->error);
    cr_assert_not_null(strstr(out->error, part), "%s", out->error);
}

void flow_submit_ok(flow_t *flow, bf_instance_t *inst, const char *node,
                    const char *actor)
{
    bf_outcome_t out = flow_submit(flow, inst, node, BF_ACTION_FORWARD, actor);
    flow_assert_code(&out, BF_CODE_OK);
}

static const char *keep(flow_t *flow, bf_str_t *str)
{
    const char *text = bf_arena_strdup(&flow->arena, bf_str_peek(str));
    bf_str_fini(str);
    return text;
}

const char *flow_states(flow_t *flow, const bf_instance_t *inst)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    cr_assert_eq(bf_instance_write_states(inst, &str), BF_OK);
    return keep(flow, &str);
}

const char *flow_vars(flow_t *flow, bf_instance_t *inst)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_vars_write_json(bf_instance_vars(inst), &str);
    return keep(flow, &str);
}

const char *flow_row(flow_t *flow, const bf_instance_t *inst)
{
    bf_instance_row_t row;
    bf_err_t err = BF_ERR_INIT;
    cr_assert_eq(bf_instance_write_row(inst, &flow->arena, &row, &err), BF_OK, "%s",
                 err.text);
    return bf_arena_printf(&flow->arena,
                           "graph=%s states=%s vars=%s tasks=%s rev=%d status=%d seq=%d "
                           "creator=%s/%lld updater=%s/%lld",
                           row.graph.data ? row.graph.data : "", row.states.data,
                           row.vars.data, row.tasks.data ? row.tasks.data : "",
                           (int)row.rev, (int)row.status, (int)row.seq, row.creator,
                           (long long)row.create_time_ms, row.updater,
                           (long long)row.update_time_ms);
}
