/*
 * test_plugin.c - libraries of components, by the interface that they are written for
 *
 * SPDX-License-Identifier: MIT
 */
#include <criterion/criterion.h>
#include <math.h>
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
static int inits;
static int finis;
static int opens;
static int closes;
static char seen[1024]; /* what the callbacks have noted */

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

TestSuite(plugin, .init = setup, .fini = teardown);

/* --- the library under test: what its components do depends on the test --- */

static int (*run_now)(bf_call_t *call, void *state);
static int (*test_now)(bf_call_t *call, void *state, int *ret);

static int run(bf_call_t *call, void *state)
{
    return run_now(call, state);
}

static int test(bf_call_t *call, void *state, int *ret)
{
    return test_now(call, state, ret);
}

static int open_state(void *arg, void **ret)
{
    opens++;
    *ret = arg;
    return BF_CALL_OK;
}

static void close_state(void *state)
{
    cr_assert_str_eq(state, "argument");
    closes++;
}

static int init(const bf_host_t *given, bf_registrar_t *registrar)
{
    static char argument[] = "argument";
    const bf_component_def_t pay = {.size = sizeof(pay),
                                    .name = "pay",
                                    .run = run,
                                    .test = test,
                                    .open = open_state,
                                    .close = close_state,
                                    .arg = argument};
    host = given;
    inits++;
    return given->add_component(registrar, &pay);
}

static void fini(void)
{
    finis++;
}

static const bf_component_library_t library = {
    BF_COMPONENT_ABI, sizeof(library), "test", "1.0", init, fini};

static void use(int (*fn)(bf_call_t *call, void *state))
{
    run_now = fn;
    cr_assert_eq(bf_plugins_add(plugins, &library, "libtest.so", &err), BF_OK, "%s",
                 err.text);
    cr_assert_eq(bf_plugin_set_open(plugins, flow.engine, &set, &err), BF_OK, "%s",
                 err.text);
}

static const char automatic[] =
    "id: g\nversion: 3\nlayout:\n"
    "  - {id: s, type: start}\n"
    "  - {id: p, title: Pay, task: '@pay', meta: {limits: {max: 100}, to: bank}}\n"
    "  - {id: t, meta: {actor: ann}}\n"
    "  - {id: e, type: end}\n";

static bf_outcome_t start(const char *vars)
{
    bf_command_t command = flow_command(&flow, BF_VERB_START, "i-1");
    command.graph_id = "g";
    command.actor = "ann";
    if (vars) {
        command.vars = flow_json(&flow, vars);
    }
    return flow_execute(&flow, inst, &command);
}

/* --- what a call sees and does --- */

static int look(bf_call_t *call, void *state)
{
    char text[256];
    size_t len = 0;
    cr_assert_str_eq(state, "argument");
    (void)snprintf(text, sizeof(text), "%s %s %lld %s", host->instance_id(call),
                   host->command_id(call), (long long)host->seq(call), host->actor(call));
    note(text);
    (void)snprintf(text, sizeof(text), "%s %d %s %s %s %s", host->graph_id(call),
                   (int)host->graph_version(call), host->node_id(call),
                   host->node_title(call), host->node_type(call), host->code(call));
    note(text);
    note(host->call_key(call));
    note(host->meta_json(call, "limits", &len));
    cr_assert_eq(len, strlen("{\"max\":100}"));
    note(host->meta_text(call, "limits.max"));
    note(host->meta_text(call, "to"));
    cr_assert_null(host->meta_text(call, "limits"));
    cr_assert_null(host->meta_json(call, "nothing", NULL));
    cr_assert_eq(host->is_probe(call), 0);
    return BF_CALL_OK;
}

Test(plugin, call__knows_command_instance_and_node)
{
    flow_load(&flow, automatic);
    use(look);
    bf_outcome_t out = start(NULL);
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(seen, "i-1 c-1 0 ann;g 3 p Pay activity @pay;i-1/c-1/g:p;"
                           "{\"max\":100};100;bank;");
}

static int work(bf_call_t *call, void *state)
{
    int64_t day = 0;
    double real = 0;
    int yes = 0;
    size_t len = 0;
    (void)state;
    cr_assert_eq(host->get_int(call, "day", &day), 1);
    cr_assert_eq(day, 3);
    cr_assert_eq(host->get_real(call, "day", &real), 1);
    cr_assert_eq(host->get_real(call, "price", &real), 1);
    cr_assert_eq(host->get_int(call, "price", &day), 0);
    cr_assert_eq(day, 3, "untouched");
    cr_assert_eq(host->get_bool(call, "ok", &yes), 1);
    cr_assert_eq(yes, 1);
    cr_assert_str_eq(host->get_text(call, "who", &len), "ann");
    cr_assert_eq(len, 3);
    cr_assert_null(host->get_text(call, "day", NULL));
    cr_assert_null(host->get_json(call, "nothing", NULL));
    cr_assert_str_eq(host->get_json(call, "list", &len), "[1,{\"a\":null}]");
    cr_assert_eq(host->set_int(call, "n", day + 1), BF_CALL_OK);
    cr_assert_eq(host->set_real(call, "r", real * 2), BF_CALL_OK);
    cr_assert_eq(host->set_bool(call, "b", 7), BF_CALL_OK);
    cr_assert_eq(host->set_text(call, "t", "text and more", 4), BF_CALL_OK);
    cr_assert_eq(host->set_json(call, "j", "{\"x\":[1]}", BF_CALL_CSTR), BF_CALL_OK);
    cr_assert_eq(host->clear(call, "who"), BF_CALL_OK);
    cr_assert_str_eq(host->get_json(call, "n", NULL), "4", "what was set is seen");
    return BF_CALL_OK;
}

Test(plugin, variables__are_read_and_set)
{
    flow_load(&flow, automatic);
    use(work);
    bf_outcome_t out = start("{\"day\":3,\"price\":1.25,\"ok\":true,\"who\":\"ann\","
                             "\"list\":[1,{\"a\":null}]}");
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(flow_vars(&flow, inst),
                     "{\"day\":3,\"price\":1.25,\"ok\":true,"
                     "\"list\":[1,{\"a\":null}],\"n\":4,\"r\":2.5,"
                     "\"b\":true,\"t\":\"text\",\"j\":{\"x\":[1]}}");
}

/* --- failures: the command is rejected, undone, and names the node --- */

static void expect_rejected(const bf_outcome_t *out, bf_code_t code, const char *text)
{
    cr_assert_eq(out->code, code, "%s: %s", bf_code_name(out->code), out->error);
    cr_assert(strstr(out->error, text), "%s", out->error);
    cr_assert(strstr(out->error, "g / p"), "the node is not named: %s", out->error);
    cr_assert_str_eq(flow_vars(&flow, inst), "{}");
    cr_assert_str_eq(flow_states(&flow, inst), "{}");
    cr_assert_eq(bf_instance_revision(inst), 0);
}

static int set_and_fail(bf_call_t *call, void *state)
{
    (void)state;
    cr_assert_eq(host->set_int(call, "n", 1), BF_CALL_OK);
    (void)host->fail(call, "the bank is closed");
    return host->fail(call, "not this one");
}

Test(plugin, fail__rejects_and_undoes_the_command)
{
    flow_load(&flow, automatic);
    use(set_and_fail);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR,
                    "component 'pay' failed: the bank is closed");
}

static int fail_silently(bf_call_t *call, void *state)
{
    (void)state;
    cr_assert_eq(host->set_int(call, "n", 1), BF_CALL_OK);
    return 17;
}

Test(plugin, fail__without_a_reason_is_a_failure_too)
{
    flow_load(&flow, automatic);
    use(fail_silently);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR, "it gave no reason");
}

static int fail_with_bytes(bf_call_t *call, void *state)
{
    (void)state;
    return host->fail(call, "no \xff\xfe text");
}

Test(plugin, fail__a_reason_that_is_no_utf8_is_not_passed_on)
{
    flow_load(&flow, automatic);
    use(fail_with_bytes);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR, "a reason that is not valid UTF-8");
}

static int set_infinite(bf_call_t *call, void *state)
{
    (void)state;
    (void)host->set_real(call, "rate", (double)INFINITY);
    return BF_CALL_OK;
}

Test(plugin, set__a_number_that_json_cannot_hold_fails_the_call)
{
    flow_load(&flow, automatic);
    use(set_infinite);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR, "variable 'rate': infinite");
}

/* The component does not look at what set_text() returns. */
static int set_too_large(bf_call_t *call, void *state)
{
    static char text[300];
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    (void)host->set_text(call, "big", text, BF_CALL_CSTR);
    (void)host->set_int(call, "n", 1);
    return BF_CALL_OK;
}

static void use_limited(size_t max, int (*fn)(bf_call_t *call, void *state))
{
    const bf_plugin_options_t options = {.max_vars_bytes = max};
    bf_plugins_free(plugins);
    plugins = bf_plugins_new(&options);
    cr_assert_not_null(plugins);
    use(fn);
}

Test(plugin, set__a_variable_that_is_too_large_fails_the_call)
{
    flow_load(&flow, automatic);
    use_limited(200, set_too_large);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_LIMIT_EXCEEDED, "variable 'big' of 299 bytes");
    cr_assert(strstr(out.error, "limits.max_vars_bytes"), "%s", out.error);
}

static int set_many(bf_call_t *call, void *state)
{
    (void)state;
    int rc = BF_CALL_OK;
    for (int i = 0; i < 100 && rc == BF_CALL_OK; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "v%d", i);
        rc = host->set_text(call, name, "0123456789", BF_CALL_CSTR);
    }
    return BF_CALL_OK;
}

Test(plugin, set__many_variables_are_bounded_together)
{
    flow_load(&flow, automatic);
    use_limited(200, set_many);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_LIMIT_EXCEEDED, "a call may set 200 bytes");
}

typedef struct bad_set {
    const char *name;
    const char *json; /* NULL: text is set */
    const char *text;
    const char *reason;
} bad_set_t;

static const bad_set_t bad_sets[] = {
    {"v", "{\"a\":", NULL, "variable 'v'"},
    {"v", "{\"a\":1} 2", NULL, "variable 'v'"},
    {"v", "\"\xff\"", NULL, "variable 'v'"},
    {"v", NULL, "\xff", "not valid UTF-8"},
    {"", "1", NULL, "without a name"},
    {NULL, "1", NULL, "without a name"},
    {"\xff", "1", NULL, "the name of a variable"},
    {"instanceId", "1", NULL, "'instanceId' is reserved"},
    {"context", "1", NULL, "'context' is reserved"},
};
static const bad_set_t *bad_now;

static int set_badly(bf_call_t *call, void *state)
{
    (void)state;
    if (bad_now->json) {
        (void)host->set_json(call, bad_now->name, bad_now->json, BF_CALL_CSTR);
    } else {
        (void)host->set_text(call, bad_now->name, bad_now->text, BF_CALL_CSTR);
    }
    return BF_CALL_OK;
}

Test(plugin, set__what_is_no_variable_fails_the_call)
{
    flow_load(&flow, automatic);
    use(set_badly);
    for (size_t i = 0; i < sizeof(bad_sets) / sizeof(bad_sets[0]); i++) {
        bad_now = &bad_sets[i];
        bf_outcome_t out = start(NULL);
        expect_rejected(&out, BF_CODE_COMPONENT_ERROR, bad_now->reason);
    }
}

Test(plugin, missing__component_rejects_and_names_the_node)
{
    flow_load(&flow, automatic);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR, "'pay' not exist; load the library");
}

/* --- the walk --- */

static int wait_for_go(bf_call_t *call, void *state)
{
    int go = 0;
    (void)state;
    (void)host->get_bool(call, "go", &go);
    note(host->call_key(call));
    if (!go) {
        host->interrupt(call);
    }
    return BF_CALL_OK;
}

Test(plugin, interrupt__leaves_the_node_waiting_and_it_runs_again)
{
    flow_load(&flow, automatic);
    use(wait_for_go);
    bf_outcome_t out = start(NULL);
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(flow_states(&flow, inst), "{\"g:p\":1001}");
    bf_command_t command = flow_command(&flow, BF_VERB_SET_VARS, "i-1");
    command.vars = flow_json(&flow, "{\"go\":true}");
    out = flow_execute(&flow, inst, &command);
    cr_assert_eq(out.code, BF_CODE_OK);
    out = flow_claim(&flow, inst, "ann");
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(out.task->task.node->id, "t");
    cr_assert_str_eq(seen, "i-1/c-1/g:p;i-1/c-3/g:p;");
}

static int only_note(bf_call_t *call, void *state)
{
    (void)state;
    note(host->call_key(call));
    return BF_CALL_OK;
}

/* A human task, done a second time after going back over a link. */
static const char again[] =
    "id: g\nlayout:\n"
    "  - {id: s, type: start}\n"
    "  - {id: p, task: '@pay', meta: {actor: ann}}\n"
    "  - {id: x, type: exclusive, link: [{nextId: p, when: 'again'}, {nextId: e}]}\n"
    "  - {id: e, type: end}\n";

Test(plugin, call_key__tells_the_visits_of_a_node_apart)
{
    flow_load(&flow, again);
    use(only_note);
    cr_assert_eq(start("{\"again\":true}").code, BF_CODE_OK);
    cr_assert_eq(flow_submit(&flow, inst, "p", BF_ACTION_FORWARD, "ann").code,
                 BF_CODE_OK);
    bf_outcome_t out = flow_submit(&flow, inst, "p", BF_ACTION_FORWARD, "ann");
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(seen, "i-1/c-2/g:p;i-1/c-3/g:p#2;");
}

Test(plugin, probe__does_not_run_tasks)
{
    flow_load(&flow, automatic);
    use(only_note);
    bf_command_t command = flow_command(&flow, BF_VERB_FIND, "i-1");
    command.graph_id = "g";
    cr_assert_eq(flow_execute(&flow, inst, &command).code, BF_CODE_OK);
    cr_assert_str_eq(seen, "");
}

/* --- conditions --- */

static const char asked[] =
    "id: g\nlayout:\n"
    "  - {id: s, type: start}\n"
    "  - {id: p, type: exclusive, link: [{nextId: a, when: '@pay'}, {nextId: b}]}\n"
    "  - {id: a, meta: {actor: ann}, link: e}\n"
    "  - {id: b, meta: {actor: ann}, link: e}\n"
    "  - {id: e, type: end}\n";

static int is_rich(bf_call_t *call, void *state, int *ret)
{
    double money = 0;
    (void)state;
    (void)host->get_real(call, "money", &money);
    cr_assert_str_eq(host->node_id(call), "");
    cr_assert_str_eq(host->graph_id(call), "g");
    *ret = money > 10 ? 2 : 0;
    return BF_CALL_OK;
}

static int cannot_tell(bf_call_t *call, void *state, int *ret)
{
    (void)state;
    *ret = 1;
    return host->fail(call, "ask again");
}

Test(plugin, test__decides_a_condition)
{
    flow_load(&flow, asked);
    use(NULL);
    test_now = is_rich;
    bf_outcome_t out = start("{\"money\":11}");
    cr_assert_eq(out.code, BF_CODE_OK, "%s", out.error);
    cr_assert_str_eq(out.next_tasks[0].task.node->id, "a");
    test_now = cannot_tell;
    bf_instance_t *other = bf_instance_new("i-2");
    out = flow_start(&flow, other, "g");
    cr_assert_eq(out.code, BF_CODE_COMPONENT_ERROR);
    cr_assert(strstr(out.error, "component 'pay' failed: ask again"), "%s", out.error);
    bf_instance_free(other);
}

/* --- libraries --- */

static void expect_refused(const bf_component_library_t *bad, bf_status_t status,
                           const char *text)
{
    bf_err_clear(&err);
    cr_assert_eq(bf_plugins_add(plugins, bad, "libbad.so", &err), status, "%s", err.text);
    cr_assert(strstr(err.text, "libbad.so"), "%s", err.text);
    cr_assert(strstr(err.text, text), "%s", err.text);
}

Test(plugin, add__another_abi_is_refused_before_anything_is_called)
{
    bf_component_library_t bad = library;
    bad.abi = BF_COMPONENT_ABI + 1;
    bad.size = 0;
    inits = 0;
    expect_refused(&bad, BF_E_UNSUPPORTED, "was built for component ABI 2, this program");
    cr_assert_eq(inits, 0);
}

Test(plugin, add__a_library_that_is_not_filled_is_refused)
{
    bf_component_library_t bad = library;
    bad.init = NULL;
    expect_refused(&bad, BF_E_INVALID, "is not filled");
}

Test(plugin, add__a_name_that_is_taken_names_both_libraries)
{
    use(only_note);
    finis = 0;
    expect_refused(&library, BF_E_EXISTS, "component 'pay' is defined by libtest.so");
    cr_assert_eq(finis, 1);
    cr_assert_str_eq(bf_plugins_name(plugins, BF_PLUGIN_COMPONENT, 0), "pay");
    cr_assert_null(bf_plugins_name(plugins, BF_PLUGIN_COMPONENT, 1));
}

static int refuse_init(const bf_host_t *given, bf_registrar_t *registrar)
{
    const bf_component_def_t def = {.size = sizeof(def), .name = "half", .run = run};
    cr_assert_eq(given->add_component(registrar, &def), BF_CALL_OK);
    return given->refuse(registrar, "PAY_URL is not set");
}

Test(plugin, add__an_init_that_refuses_leaves_nothing)
{
    bf_component_library_t bad = library;
    bad.init = refuse_init;
    expect_refused(&bad, BF_E_COMPONENT, "PAY_URL is not set");
    cr_assert_not(bf_plugins_has(plugins, BF_PLUGIN_COMPONENT, "half"));
}

static const bf_component_def_t *def_now;

static int add_bad_def(const bf_host_t *given, bf_registrar_t *registrar)
{
    (void)given->add_component(registrar, def_now);
    return BF_CALL_OK; /* does not look at what it is told */
}

Test(plugin, add__definitions_that_cannot_be_used_are_refused)
{
    static const struct {
        bf_component_def_t def;
        const char *text;
    } bad_defs[] = {
        {{.size = 0, .name = "a", .run = run}, "does not say its size"},
        {{.size = sizeof(bf_component_def_t), .run = run}, "has no name"},
        {{.size = sizeof(bf_component_def_t), .name = "a b\n", .run = run},
         "cannot be used"},
        {{.size = sizeof(bf_component_def_t), .name = "a"}, "no run and no test"},
    };
    bf_component_library_t bad = library;
    bad.init = add_bad_def;
    for (size_t i = 0; i < sizeof(bad_defs) / sizeof(bad_defs[0]); i++) {
        def_now = &bad_defs[i].def;
        expect_refused(&bad, BF_E_INVALID, bad_defs[i].text);
    }
}

/* A library that knows a shorter struct: the rest counts as not given. */
static int add_old_def(const bf_host_t *given, bf_registrar_t *registrar)
{
    struct {
        size_t size;
        const char *name;
        int (*run)(bf_call_t *call, void *state);
    } old = {sizeof(old), "old", run};
    return given->add_component(registrar, (const bf_component_def_t *)(void *)&old);
}

Test(plugin, add__an_older_and_shorter_definition_is_taken)
{
    static bf_component_library_t old; /* borrowed until the registry is freed */
    old = library;
    old.init = add_old_def;
    run_now = only_note;
    cr_assert_eq(bf_plugins_add(plugins, &old, "libold.so", &err), BF_OK, "%s", err.text);
    cr_assert_eq(bf_plugin_set_open(plugins, flow.engine, &set, &err), BF_OK);
    cr_assert_not_null(bf_engine_component(flow.engine, "old"));
}

Test(plugin, set_open__one_state_an_engine_and_close_takes_everything_out)
{
    bf_engine_t *other = bf_engine_new();
    bf_plugin_set_t *second = NULL;
    opens = closes = 0;
    use(only_note);
    cr_assert_eq(bf_plugin_set_open(plugins, other, &second, &err), BF_OK);
    cr_assert_eq(opens, 2);
    bf_plugin_set_close(second);
    cr_assert_eq(closes, 1);
    cr_assert_null(bf_engine_component(other, "pay"));
    cr_assert_not_null(bf_engine_component(flow.engine, "pay"));
    bf_engine_free(other);
}

Test(plugin, set_open__does_not_replace_what_the_engine_has)
{
    const bf_component_t native = {0};
    bf_plugin_set_t *none = NULL;
    opens = closes = 0;
    cr_assert_eq(bf_plugins_add(plugins, &library, "libtest.so", &err), BF_OK);
    cr_assert_eq(bf_engine_set_component(flow.engine, "pay", &native), BF_OK);
    cr_assert_eq(bf_plugin_set_open(plugins, flow.engine, &none, &err), BF_E_EXISTS);
    cr_assert(strstr(err.text, "component 'pay' already"), "%s", err.text);
    cr_assert_null(none);
    cr_assert_eq(opens, closes);
    cr_assert_not_null(bf_engine_component(flow.engine, "pay"));
}

static int misuse(bf_call_t *call, void *state)
{
    (void)state;
    return host->call_default(call);
}

Test(plugin, call_default__is_for_drivers)
{
    flow_load(&flow, automatic);
    use(misuse);
    bf_outcome_t out = start(NULL);
    expect_rejected(&out, BF_CODE_COMPONENT_ERROR, "call_default() is for");
}

/* --- lines for the log --- */

static void on_log(void *arg, bf_call_log_level_t level, const char *name,
                   const char *instance_id, const char *node_id, const char *text)
{
    char line[256];
    cr_assert_str_eq(arg, "log");
    (void)snprintf(line, sizeof(line), "%d %s %s %s %s", (int)level, name, instance_id,
                   node_id, text);
    note(line);
}

static int say(bf_call_t *call, void *state)
{
    (void)state;
    host->log(call, BF_CALL_LOG_WARNING, "slow today");
    return BF_CALL_OK;
}

Test(plugin, log__goes_to_the_program)
{
    static char argument[] = "log";
    const bf_plugin_options_t options = {.on_log = on_log, .log_arg = argument};
    bf_plugins_free(plugins);
    plugins = bf_plugins_new(&options);
    flow_load(&flow, automatic);
    use(say);
    cr_assert_eq(start(NULL).code, BF_CODE_OK);
    cr_assert_str_eq(seen, "1 libtest.so i-1 p slow today;");
}
