/*
 * test_plugin.c - libraries of components, and commands that run components, drivers and
 * controllers of theirs or hand work to services, with every allocation failing once
 *
 * The callbacks look at no result: what failed must be kept by the host, so that the
 * command is rejected whatever a component makes of it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "bpmflow/assert.h"
#include "bpmflow/executor.h"
#include "bpmflow/plugin.h"
#include "tests/oom/commands.h"
#include "tests/oom/oom.h"

static const char text[] =
    "id: g\n"
    "driver: audit\n"
    "layout:\n"
    "  - {id: s, type: start, link: pay}\n"
    "  - {id: pay, task: '@pay', meta: {limits: {max: 100}, to: bank}, link: x}\n"
    "  - {id: x, type: exclusive, link: [{nextId: a, when: '@solvent'}, {nextId: e}]}\n"
    "  - {id: a, meta: {clerk: 7}, task: '@pay', link: p}\n"
    "  - {id: p, type: parallel, link: [k1, k2, k3, k4, k5]}\n"
    "  - {id: k1, task: '@kafka:mail', meta: {to: all}, link: j}\n"
    "  - {id: k2, task: '@kafka:print', link: j}\n"
    "  - {id: k3, task: '@kafka:mail', link: j}\n"
    "  - {id: k4, task: '@kafka:print', link: j}\n"
    "  - {id: k5, task: '@kafka:mail', link: j}\n"
    "  - {id: j, type: parallel, link: c}\n"
    "  - {id: c, meta: {clerk: 8}, link: e}\n"
    "  - {id: e, type: end}\n";

static const bf_host_t *host;

static void look(bf_call_t *call)
{
    size_t len;
    int64_t number;
    double real;
    int flag;
    (void)host->call_key(call);
    (void)host->actor(call);
    (void)host->meta_json(call, NULL, &len);
    (void)host->meta_json(call, "limits", NULL);
    (void)host->meta_text(call, "limits.max");
    (void)host->meta_text(call, "to");
    (void)host->get_json(call, "text", &len);
    (void)host->get_text(call, "text", NULL);
    (void)host->get_int(call, "text", &number);
    (void)host->get_real(call, "text", &real);
    (void)host->get_bool(call, "text", &flag);
}

static int pay(bf_call_t *call, void *state)
{
    (void)state;
    look(call);
    (void)host->set_json(call, "receipt", "{\"lines\": [1, 2.5, \"x\"]}", BF_CALL_CSTR);
    (void)host->set_text(call, "by", "a text that does not fit into a few bytes",
                         BF_CALL_CSTR);
    (void)host->set_int(call, "sum", 100);
    (void)host->set_real(call, "rate", 0.5);
    (void)host->set_bool(call, "paid", 1);
    (void)host->clear(call, "rate");
    return BF_CALL_OK;
}

static int solvent(bf_call_t *call, void *state, int *ret)
{
    (void)state;
    look(call);
    *ret = 1;
    return BF_CALL_OK;
}

static int note(bf_call_t *call, void *state)
{
    (void)state;
    look(call);
    (void)host->set_text(call, "seen", host->node_id(call), BF_CALL_CSTR);
    return BF_CALL_OK;
}

static int run_default(bf_call_t *call, void *state)
{
    (void)state;
    look(call);
    (void)host->call_default(call);
    return BF_CALL_OK;
}

static int test_default(bf_call_t *call, void *state, int *ret)
{
    (void)state;
    (void)host->test_default(call, ret);
    return BF_CALL_OK;
}

/* The number in the meta is the clerk; it has to be written out first. */
static int is_operable(bf_call_t *call, void *state)
{
    (void)state;
    const char *clerk = host->meta_text(call, "clerk");
    return clerk && !strcmp(clerk, host->actor(call));
}

static int is_automatic(bf_call_t *call, void *state)
{
    (void)state;
    return host->meta_json(call, "clerk", NULL) == NULL;
}

static int opened;

static int open_state(void *arg, void **ret)
{
    (void)arg;
    opened++;
    *ret = &opened;
    return BF_CALL_OK;
}

static void close_state(void *state)
{
    BF_ASSERT(state == &opened);
    opened--;
}

static int init(const bf_host_t *given, bf_registrar_t *registrar)
{
    const bf_component_def_t components[] = {{.size = sizeof(components[0]),
                                              .name = "pay",
                                              .run = pay,
                                              .open = open_state,
                                              .close = close_state},
                                             {.size = sizeof(components[0]),
                                              .name = "solvent",
                                              .test = solvent,
                                              .open = open_state,
                                              .close = close_state}};
    const bf_driver_def_t audit = {.size = sizeof(audit),
                                   .name = "audit",
                                   .node_start = note,
                                   .node_end = note,
                                   .run = run_default,
                                   .test = test_default,
                                   .open = open_state,
                                   .close = close_state};
    const bf_controller_def_t clerks = {.size = sizeof(clerks),
                                        .name = "clerks",
                                        .is_operable = is_operable,
                                        .is_automatic = is_automatic,
                                        .open = open_state,
                                        .close = close_state};
    host = given;
    (void)given->add_component(registrar, &components[0]);
    (void)given->add_component(registrar, &components[1]);
    (void)given->add_driver(registrar, &audit);
    (void)given->add_controller(registrar, &clerks);
    return BF_CALL_OK;
}

static const bf_component_library_t library = {
    BF_COMPONENT_ABI, sizeof(library), "test", "1.0", init, NULL};

/* A failing registration leaves nothing behind, a failing set the engine as it was. */
static bf_status_t set_up(void *arg)
{
    (void)arg;
    bf_err_t err = BF_ERR_INIT;
    bf_plugin_set_t *set = NULL;
    bf_oom_pause();
    bf_engine_t *engine = bf_engine_new();
    BF_ASSERT(engine);
    bf_oom_resume();
    bf_plugins_t *plugins = bf_plugins_new(NULL);
    bf_status_t rc = plugins ? BF_OK : BF_E_NOMEM;
    if (rc == BF_OK) {
        rc = bf_plugins_add(plugins, &library, "libtest.so", &err);
        BF_ASSERT(rc == BF_OK || !bf_plugins_name(plugins, BF_PLUGIN_COMPONENT, 0));
    }
    if (rc == BF_OK) {
        rc = bf_plugin_set_open(plugins, engine, &set, &err);
        BF_ASSERT(rc == BF_OK || opened == 0);
    }
    bf_oom_pause();
    if (rc == BF_E_NOMEM && plugins) { /* once more, when there is memory again */
        bool has = bf_plugins_has(plugins, BF_PLUGIN_COMPONENT, "pay");
        BF_ASSERT(has || bf_plugins_add(plugins, &library, "libtest.so", &err) == BF_OK);
        BF_ASSERT(bf_plugin_set_open(plugins, engine, &set, &err) == BF_OK);
    }
    bf_plugin_set_close(set);
    BF_ASSERT(opened == 0);
    bf_plugins_free(plugins);
    bf_engine_free(engine);
    bf_oom_resume();
    return rc;
}

/* pay, the condition and the driver; five jobs at once; their answers; the way back. */
static const oom_step_t steps[] = {
    {"component: start", BF_VERB_START, NULL, BF_ACTION_FORWARD, "7", 0},
    {"component: claim", BF_VERB_CLAIM, NULL, BF_ACTION_FORWARD, "7", 0},
    {"component: find", BF_VERB_FIND, NULL, BF_ACTION_FORWARD, "8", 0},
    {"dispatch: five jobs", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "7", 0},
    {"dispatch: find_next", BF_VERB_FIND_NEXT, NULL, BF_ACTION_FORWARD, "8", 0},
    {"dispatch: an answer", BF_VERB_SUBMIT, "k2", BF_ACTION_FORWARD, NULL, 7},
    {"dispatch: back", BF_VERB_SUBMIT, "k1", BF_ACTION_BACK, NULL, 6},
    {"dispatch: again", BF_VERB_SUBMIT, "a", BF_ACTION_FORWARD, "7", 0},
    {"dispatch: restart", BF_VERB_SUBMIT, NULL, BF_ACTION_RESTART, "7", 0},
};

int main(void)
{
    bf_err_t err = BF_ERR_INIT;
    bf_plugin_set_t *set = NULL;
    bf_oom_sweep("library of components", set_up, NULL);
    bf_engine_t *engine = bf_engine_new();
    bf_plugins_t *plugins = bf_plugins_new(NULL);
    BF_ASSERT(engine && plugins);
    BF_ASSERT(bf_plugins_add(plugins, &library, "libtest.so", &err) == BF_OK);
    BF_ASSERT(bf_plugin_set_open(plugins, engine, &set, &err) == BF_OK);
    oom_load(engine, text);
    bf_controller_t *clerks = bf_plugin_set_controller(set, "clerks");
    bf_executor_t *executor = bf_executor_new(engine, clerks, NULL);
    BF_ASSERT(clerks && executor);
    oom_sweep_steps(executor, steps, sizeof(steps) / sizeof(steps[0]));
    bf_executor_free(executor);
    bf_plugin_set_close(set);
    bf_plugins_free(plugins);
    bf_engine_free(engine);
    return bf_oom_result();
}
