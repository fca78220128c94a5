/*
 * probe.c - what may come next, without asking a worker; see probe.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "worker/cli/probe.h"

#include <stdlib.h>

#include "bpmflow/catalogue.h"
#include "bpmflow/clock.h"
#include "bpmflow/executor.h"
#include "worker/settings.h"

struct bf_probe {
    bf_catalogue_t *catalogue;
    bf_engine_t *engine;
    bf_controller_t *controller;
    bf_executor_t *executor;
    uint64_t seen;
};

static bf_controller_t *make_controller(const bf_settings_t *settings)
{
    static const char *const keys[] = {"actor"};
    if (!settings)
        return bf_actor_controller_new(keys, 1);
    switch (bf_settings_controller(settings)) {
    case BF_CONTROLLER_BLOCK:
        return bf_block_controller_new();
    case BF_CONTROLLER_NOT_BLOCK:
        return bf_not_block_controller_new();
    case BF_CONTROLLER_ACTOR:
    case BF_CONTROLLER_LIBRARY: /* see bf_probe_new() */
        break;
    }
    return bf_actor_controller_new((const char *const *)settings->graphs.actor_keys.items,
                                   settings->graphs.actor_keys.count);
}

static bf_status_t fill(bf_probe_t *probe, const bf_settings_t *settings, bf_err_t *err)
{
    probe->engine = bf_engine_new();
    probe->controller = make_controller(settings);
    if (!probe->engine || !probe->controller)
        return bf_err_nomem(err, "definitions");
    probe->executor = bf_executor_new(probe->engine, probe->controller, NULL);
    if (!probe->executor)
        return bf_err_nomem(err, "definitions");
    return bf_catalogue_apply(probe->catalogue, probe->engine, &probe->seen, err);
}

bf_status_t bf_probe_new(const bf_cli_t *cli, bf_probe_t **ret, bf_err_t *err)
{
    *ret = NULL;
    size_t count = 0;
    const char *const *paths = bf_cli_list(cli, "graphs", &count);
    const bf_settings_t *settings =
        cli->config ? bf_cli_config_settings(cli->config) : NULL;
    if (count == 0 && settings) {
        paths = (const char *const *)settings->graphs.paths.items;
        count = settings->graphs.paths.count;
    }
    if (count == 0)
        return BF_OK;
    if (settings && bf_settings_controller(settings) == BF_CONTROLLER_LIBRARY) {
        bf_cli_note(
            "graphs.controller = \"%s\" comes from a library, which is not loaded "
            "here: what is stored is shown, not what may come next",
            settings->graphs.controller);
        return BF_OK;
    }
    bf_probe_t *probe = calloc(1, sizeof *probe);
    if (!probe)
        return bf_err_nomem(err, "definitions");
    probe->catalogue = bf_catalogue_new();
    bf_err_t why = BF_ERR_INIT;
    bf_status_t rc = probe->catalogue ? bf_catalogue_load(probe->catalogue, paths, count,
                                                          NULL, NULL, &why)
                                      : bf_err_nomem(&why, "definitions");
    if (rc == BF_E_IO) {
        bf_cli_note("%s", why.text);
        bf_probe_free(probe);
        return BF_OK;
    }
    rc = rc == BF_E_NOMEM ? bf_err_nomem(err, "definitions") : fill(probe, settings, err);
    if (rc == BF_OK)
        *ret = probe;
    else
        bf_probe_free(probe);
    return rc;
}

void bf_probe_free(bf_probe_t *probe)
{
    if (!probe)
        return;
    bf_executor_free(probe->executor);
    bf_controller_free(probe->controller);
    bf_engine_free(probe->engine);
    bf_catalogue_free(probe->catalogue);
    free(probe);
}

bf_status_t bf_probe_next(bf_probe_t *probe, bf_instance_t *inst, bf_arena_t *arena,
                          bf_outcome_t *ret, bf_err_t *err)
{
    const bf_command_env_t env = {.executor = probe->executor};
    const bf_command_t command = {.command_id = "show",
                                  .verb = BF_VERB_FIND_NEXT,
                                  .instance_id = bf_instance_id(inst),
                                  .action = BF_ACTION_FORWARD};
    return bf_command_execute(&env, &command, inst, arena, bf_clock_wall_ms(), ret, err);
}
