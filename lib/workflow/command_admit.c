/*
 * command_admit.c - whether a command may be applied to the instance as it is
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/suggest.h"
#include "lib/workflow/command_int.h"

static const char *id_of(const bf_run_t *run)
{
    return bf_instance_id(run->scope.inst);
}

static bool is_submit(const bf_command_t *command)
{
    return command->verb == BF_VERB_SUBMIT || command->verb == BF_VERB_SUBMIT_IF_WAITING;
}

static bool is_restart(const bf_command_t *command)
{
    return is_submit(command) && command->action == BF_ACTION_RESTART;
}

/* --- an instance that does not exist yet --- */

static bool may_create(bf_verb_t verb)
{
    return verb == BF_VERB_START || verb == BF_VERB_CLAIM || verb == BF_VERB_SUBMIT ||
           verb == BF_VERB_FIND || verb == BF_VERB_FIND_NEXT;
}

static bool admit_new(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    if (!may_create(command->verb)) {
        return bf_run_reject(run, BF_CODE_INSTANCE_NOT_FOUND,
                             "there is no instance \"%s\"; start it first", id_of(run));
    }
    if (!command->graph_id) {
        return bf_run_reject(run, BF_CODE_INSTANCE_NOT_FOUND,
                             "there is no instance \"%s\"; its first command needs a "
                             "graph_id",
                             id_of(run));
    }
    run->scope.graph =
        bf_engine_graph(bf_executor_engine(run->env->executor), command->graph_id);
    if (!run->scope.graph) {
        return bf_run_reject(
            run, BF_CODE_UNKNOWN_GRAPH,
            "there is no graph \"%s\"; put its definition into the folder "
            "of graphs, or correct graph_id",
            command->graph_id);
    }
    if (!bf_graph_is_enabled(run->scope.graph)) {
        return bf_run_reject(run, BF_CODE_GRAPH_DISABLED,
                             "graph \"%s\" version %d takes no new instances (meta "
                             "enabled: false)",
                             command->graph_id, (int)run->scope.graph->version);
    }
    return true;
}

/* --- an instance that exists --- */

/* Another graph than the pinned one is one that it calls, and only for one node. */
static bool admit_graph(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    bf_instance_t *inst = run->scope.inst;
    const char *pinned = bf_instance_graph_id(inst);
    int32_t version = bf_instance_graph_version(inst);
    if (command->graph_id && strcmp(command->graph_id, pinned) != 0 &&
        !command->node_id) {
        return bf_run_reject(run, BF_CODE_UNKNOWN_GRAPH,
                             "instance \"%s\" runs graph \"%s\", not \"%s\"; leave "
                             "graph_id out or correct it",
                             id_of(run), pinned, command->graph_id);
    }
    run->scope.graph =
        bf_engine_graph_version(bf_executor_engine(run->env->executor), pinned, version);
    if (!run->scope.graph) {
        return bf_run_reject(run, BF_CODE_UNKNOWN_GRAPH,
                             "instance \"%s\" runs version %d of graph \"%s\", which is "
                             "not loaded; put the file of that version back beside the "
                             "others, under any name, and let the worker reload (SIGHUP)",
                             id_of(run), (int)version, pinned);
    }
    return true;
}

static bool admit_revision(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    int32_t revision = bf_instance_revision(run->scope.inst);
    if (command->has_expected_revision && command->expected_revision != revision) {
        return bf_run_reject(
            run, BF_CODE_REVISION_CONFLICT,
            "instance \"%s\" is at revision %d, the command expects %lld; "
            "look at the instance and decide again",
            id_of(run), (int)revision, (long long)command->expected_revision);
    }
    return true;
}

/* Claim on a completed instance is accepted and finds nothing; probes are always. */
static bool admit_status(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    bf_instance_status_t status = bf_instance_status(run->scope.inst);
    if (run->is_probe || status == BF_INSTANCE_RUNNING) {
        return true;
    }
    if (status == BF_INSTANCE_SUSPENDED) {
        return bf_run_reject(run, BF_CODE_INSTANCE_SUSPENDED,
                             "instance \"%s\" is suspended; resume it first", id_of(run));
    }
    if (is_restart(command) ||
        (command->verb == BF_VERB_CLAIM && status == BF_INSTANCE_COMPLETED)) {
        return true;
    }
    return bf_run_reject(run,
                         status == BF_INSTANCE_COMPLETED ? BF_CODE_INSTANCE_COMPLETED
                                                         : BF_CODE_INSTANCE_TERMINATED,
                         "instance \"%s\" is %s; only the action restart is accepted",
                         id_of(run), bf_instance_status_name(status));
}

static bool admit_verb(bf_run_t *run)
{
    const bf_command_t *command = run->command;
    if ((unsigned)command->verb >= BF_VERB_COUNT) {
        return bf_run_reject(run, BF_CODE_UNKNOWN_COMMAND, "there is no such command");
    }
    if (is_submit(command) && !bf_action_is_askable(command->action)) {
        return bf_run_reject(
            run, BF_CODE_UNKNOWN_ACTION,
            "there is no such action; there are back 1010, back_jump 1011, "
            "forward 1020, forward_jump 1021, terminate 1030 and restart "
            "1040");
    }
    if (command->force && !run->env->allow_force) {
        return bf_run_reject(run, BF_CODE_NOT_OPERABLE,
                             "force is not allowed here (commands.allow_force)");
    }
    return true;
}

bool bf_run_admit(bf_run_t *run)
{
    const bf_instance_t *inst = run->scope.inst;
    if (!admit_verb(run) || !admit_revision(run)) {
        return false;
    }
    if (!*bf_instance_graph_id(inst)) {
        return admit_new(run);
    }
    if (run->command->verb == BF_VERB_START) {
        return bf_run_reject(run, BF_CODE_INSTANCE_EXISTS,
                             "instance \"%s\" has been started before (%s, revision %d)",
                             id_of(run),
                             bf_instance_status_name(bf_instance_status(inst)),
                             (int)bf_instance_revision(inst));
    }
    return admit_graph(run) && admit_status(run);
}

/* --- nodes --- */

static const char *nearest_node(bf_run_t *run, const bf_graph_t *graph,
                                const char *node_id)
{
    const char **names =
        bf_arena_calloc(run->scope.arena, graph->node_count, sizeof(*names));
    if (!names) {
        return NULL;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        names[i] = graph->nodes[i].id;
    }
    return bf_suggest_nearest(node_id, strlen(node_id), names, graph->node_count);
}

const bf_node_t *bf_run_node(bf_run_t *run, const char *node_id)
{
    const bf_graph_t *graph = run->scope.graph;
    const char *graph_id = run->command->graph_id;
    if (graph_id && strcmp(graph_id, graph->id) != 0) {
        graph = bf_engine_graph(bf_executor_engine(run->env->executor), graph_id);
        if (!graph) {
            (void)bf_run_reject(run, BF_CODE_UNKNOWN_GRAPH,
                                "there is no graph \"%s\"; instance \"%s\" runs \"%s\"",
                                graph_id, id_of(run), run->scope.graph->id);
            return NULL;
        }
    }
    const bf_node_t *node = bf_graph_node(graph, node_id);
    if (!node) {
        const char *near = nearest_node(run, graph, node_id);
        (void)bf_run_reject(run, BF_CODE_UNKNOWN_NODE,
                            "graph \"%s\" version %d has no node \"%s\"%s%s%s", graph->id,
                            (int)graph->version, node_id, near ? "; did you mean \"" : "",
                            near ? near : "", near ? "\"?" : "");
    }
    return node;
}
