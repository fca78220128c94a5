/*
 * test_plugin_driver.c - drivers and controllers out of libraries
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bpmflow/plugin.h"
#include "tests/support/flow.h"

static flow_t flow;
static bf_plugins_t *plugins;
static bf_plugin_set_t *set;
static bf_instance_t *inst;
static bf_err_t err;
static const bf_host_t *host; /* as a library keeps it */
static char seen[1024];       /* what the callbacks have noted */

static void note(const char *text)
{
    size_t len = strlen(seen);
    (void)snprintf(seen + len, sizeof(seen) - len, "%s;", text);
}

static void setup(void)
{
    flow_init(&flow);
    plugins = bf_plugins_new(NULL);
    cr_assert_not_null(plugins);
    inst = bf_instance_new("i-1");
    bf_err_clear(&err);
}

static void teardown(void)
{
    bf_plugin_set_close(set);
    bf_plugins_free(plugins);
    bf_instance_free(inst);
    flow_fini(&flow);
}

TestSuite(plugin_driver, .init = setup, .fini = teardown);

/* --- drivers --- */

static int refuse_state;

static int on_start(bf_call_t *call, void *state)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s>%s", (const char *)state, host->node_id(call));
    note(text);
    return refuse_state ? host->fail(call, "not today") : BF_CALL_OK;
}

static int on_end(bf_call_t *call, void *state)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s<%s", (const char *)state, host->node_id(call));
    note(text);
    return BF_CALL_OK;
}

static int drive(bf_call_t *call, void *state)
{
    (void)state;
    note(host->code(call));
    if (!strcmp(host->code(call), "skipped = false")) {
        return host->set_bool(call, "skipped", 1);
    }
    return host->call_default(call);
}

static int drive_test(bf_call_t *call, void *state, int *ret)
{
    (void)state;
    note(host->code(call));
    int rc = host->test_default(call, ret);
    *ret = !*ret; /* the other way round */
    return rc;
}

static int init_driver(const bf_host_t *given, bf_registrar_t *registrar)
{
    static char argument[] = "d";
    const bf_driver_def_t def = {.size = sizeof(def),
                                 .name = "mirror",
                                 .node_start = on_start,
                                 .node_end = on_end,
                                 .run = drive,
                                 .test = drive_test,
                                 .arg = argument};
    host = given;
    return given->add_driver(registrar, &def);
}

static const char driven[] =
    "id: g\ndriver: mirror\nlayout:\n"
    "  - {id: s, type: start}\n"
    "  - {id: p, task: 'x = 1', link: [q]}\n"
    "  - {id: q, task: 'skipped = false', link: x}\n"
    "  - {id: x, type: exclusive, link: [{nextId: a, when: 'x == 1'}, {nextId: b}]}\n"
    "  - {id: a, meta: {actor: ann}, link: e}\n"
    "  - {id: b, meta: {actor: ann}, link: e}\n"
    "  - {id: e, type: end}\n";

static const bf_component_library_t mirror = {
    BF_COMPONENT_ABI, sizeof(mirror), "mirror", "1.0", init_driver, NULL};

static void use_driver(void)
{
    cr_assert_eq(bf_plugins_add(plugins, &mirror, "libmirror.so", &err), BF_OK, "%s",
                 err.text);
    cr_assert_eq(bf_plugin_set_open(plugins, flow.engine, &set, &err), BF_OK, "%s",
                 err.text);
    bf_outcome_t out = flow_start(&flow, inst, "g");
    cr_assert_eq(out.code, refuse_state ? BF_CODE_COMPONENT_ERROR : BF_CODE_OK, "%s",
                 out.error);
    if (refuse_state) {
        cr_assert(strstr(out.error, "g / s: driver 'mirror' failed: not today"), "%s",
                  out.error);
    } else {
        cr_assert_str_eq(out.next_tasks[0].task.node->id, "b");
    }
}

Test(plugin_driver, driver__stands_between_the_engine_and_tasks_and_conditions)
{
    flow_load(&flow, driven);
    use_driver();
    cr_assert_str_eq(flow_vars(&flow, inst), "{\"x\":1,\"skipped\":true}");
    cr_assert(strstr(seen, "d>p;x = 1;d<p;"), "%s", seen);
    cr_assert(strstr(seen, "x == 1;"), "%s", seen);
}

Test(plugin_driver, driver__that_fails_names_the_node)
{
    flow_load(&flow, driven);
    refuse_state = 1;
    use_driver();
    cr_assert_str_eq(flow_vars(&flow, inst), "{}");
}

/* --- controllers --- */

/* Nodes with `shift` in their meta are tasks of whoever works in that shift. */
static int in_shift(bf_call_t *call, void *state)
{
    const char *shift = host->meta_text(call, "shift");
    const char *mine = host->get_text(call, "shift", NULL);
    (void)state;
    cr_assert_eq(host->set_int(call, "n", 1), BF_CALL_FAILED, "a controller only reads");
    return shift && mine && !strcmp(shift, mine);
}

static int has_no_shift(bf_call_t *call, void *state)
{
    (void)state;
    return !host->meta_text(call, "shift");
}

static int shift_only(bf_call_t *call, void *state)
{
    const char *shift = host->meta_text(call, "shift");
    const char *mine = host->get_text(call, "shift", NULL);
    (void)state;
    return shift && mine && !strcmp(shift, mine);
}

static int (*operable_now)(bf_call_t *call, void *state);

static int init_controller(const bf_host_t *given, bf_registrar_t *registrar)
{
    const bf_controller_def_t def = {.size = sizeof(def),
                                     .name = "shifts",
                                     .actor_key = "person",
                                     .is_operable = operable_now,
                                     .is_automatic = has_no_shift};
    host = given;
    return given->add_controller(registrar, &def);
}

static const bf_component_library_t shifts = {
    BF_COMPONENT_ABI, sizeof(shifts), "shifts", "1.0", init_controller, NULL};

static const char shifted[] = "id: g\nlayout:\n"
                              "  - {id: s, type: start}\n"
                              "  - {id: t, meta: {shift: night}}\n"
                              "  - {id: e, type: end}\n";

/* Claim as somebody of a shift; "" = nothing. */
static const char *claim_in(bf_executor_t *executor, const char *shift)
{
    bf_command_env_t env = {.executor = executor};
    bf_command_t command = flow_command(&flow, BF_VERB_CLAIM, "i-1");
    bf_outcome_t out;
    command.graph_id = "g";
    command.actor = "ann";
    command.context =
        flow_json(&flow, bf_arena_printf(&flow.arena, "{\"shift\":\"%s\"}", shift));
    cr_assert_eq(
        bf_command_execute(&env, &command, inst, &flow.arena, FLOW_NOW, &out, &err),
        BF_OK);
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    return out.task ? out.task->task.node->id : "";
}

static bf_executor_t *use_controller(int (*operable)(bf_call_t *call, void *state))
{
    operable_now = operable;
    cr_assert_eq(bf_plugins_add(plugins, &shifts, "libshifts.so", &err), BF_OK, "%s",
                 err.text);
    cr_assert_eq(bf_plugin_set_open(plugins, flow.engine, &set, &err), BF_OK, "%s",
                 err.text);
    bf_controller_t *controller = bf_plugin_set_controller(set, "shifts");
    cr_assert_not_null(controller);
    cr_assert_null(bf_plugin_set_controller(set, "shift"));
    cr_assert_str_eq(bf_controller_actor_key(controller), "person");
    cr_assert(bf_controller_is_key(controller, "person", 6));
    bf_executor_t *executor = bf_executor_new(flow.engine, controller, NULL);
    cr_assert_not_null(executor);
    return executor;
}

Test(plugin_driver, controller__says_who_may_operate_and_what_is_automatic)
{
    flow_load(&flow, shifted);
    bf_executor_t *executor = use_controller(shift_only);
    cr_assert_str_eq(claim_in(executor, "day"), "");
    cr_assert_str_eq(claim_in(executor, "night"), "t");
    bf_executor_free(executor);
}

Test(plugin_driver, controller__whose_call_fails_says_no)
{
    flow_load(&flow, shifted);
    bf_executor_t *executor = use_controller(in_shift);
    cr_assert_str_eq(claim_in(executor, "night"), "");
    bf_executor_free(executor);
}
