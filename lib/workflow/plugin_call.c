/*
 * plugin_call.c - what a component may do during a call
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "bpmflow/id.h"
#include "bpmflow/version.h"
#include "lib/workflow/plugin_int.h"

#define NUMBER_BYTES 24 /* of a number as JSON, rounded up */

void bf_call_init(bf_call_t *call, const bf_plugins_t *plugins, const bf_plugin_t *plugin,
                  bf_context_t *ctx)
{
    *call = (bf_call_t){.plugins = plugins,
                        .plugin = plugin,
                        .ctx = ctx,
                        .ex = bf_context_exchanger(ctx),
                        .err = BF_ERR_INIT};
    bf_arena_init(&call->arena, 0);
}

bf_status_t bf_call_finish(bf_call_t *call, int rc, bf_err_t *err)
{
    static const char *const what[BF_PLUGIN_KIND_COUNT] = {"component", "driver",
                                                           "controller"};
    bf_arena_fini(&call->arena);
    if (rc == BF_CALL_OK && call->err.status == BF_OK) {
        return BF_OK;
    }
    bf_err_set(&call->err, BF_E_COMPONENT, "it gave no reason");
    bf_status_t status = call->err.status;
    if (call->is_inner) {
        return bf_err_set(err, status, "%s", call->err.text);
    }
    status = status == BF_E_NOMEM || status == BF_E_LIMIT ? status : BF_E_COMPONENT;
    return bf_err_set(err, status, "%s '%s' failed: %s", what[call->plugin->kind],
                      call->plugin->name, call->err.text);
}

/* --- texts that a call returns --- */

static const char *keep(bf_call_t *call, bf_str_t *str, size_t *ret_len)
{
    char *copy = bf_str_failed(str)
                     ? NULL
                     : bf_arena_strndup(&call->arena, bf_str_peek(str), str->len);
    if (!copy) {
        bf_err_nomem(&call->err, "a text for a component");
    } else if (ret_len) {
        *ret_len = str->len;
    }
    bf_str_fini(str);
    return copy;
}

static const char *as_json(bf_call_t *call, const bf_value_t *value, size_t *ret_len)
{
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_json_write(&str, value);
    return keep(call, &str, ret_len);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* --- which command, instance and node --- */

static const char *instance_id(const bf_call_t *call)
{
    return bf_context_instance_id(call->ctx);
}

static const char *command_id(const bf_call_t *call)
{
    return or_empty(bf_context_origin(call->ctx)->command_id);
}

static int64_t seq(const bf_call_t *call)
{
    return bf_context_origin(call->ctx)->seq;
}

static uint32_t round_of(const bf_call_t *call)
{
    uint32_t round = bf_context_origin(call->ctx)->round;
    if (!round && call->ex && call->node) {
        round = bf_exchanger_visit(call->ex, call->node);
    }
    return round ? round : 1;
}

static const char *call_key(bf_call_t *call)
{
    bf_str_t str;
    uint32_t round = round_of(call);
    bf_str_init(&str, 0);
    bf_str_printf(&str, "%s/%s/%s", instance_id(call), command_id(call),
                  call->node ? call->node->state_key : "");
    if (round > 1) {
        bf_str_printf(&str, "#%u", round);
    }
    return or_empty(keep(call, &str, NULL));
}

static const char *actor(bf_call_t *call)
{
    return or_empty(bf_context_origin(call->ctx)->actor);
}

static const bf_graph_t *graph_of(const bf_call_t *call)
{
    if (call->node) {
        return call->node->graph;
    }
    return call->ex ? bf_exchanger_current_graph(call->ex) : NULL;
}

static const char *graph_id(const bf_call_t *call)
{
    const bf_graph_t *graph = graph_of(call);
    return graph ? graph->id : "";
}

static int32_t graph_version(const bf_call_t *call)
{
    const bf_graph_t *graph = graph_of(call);
    return graph ? graph->version : 0;
}

static const char *node_id(const bf_call_t *call)
{
    return call->node ? call->node->id : "";
}

static const char *node_title(const bf_call_t *call)
{
    return call->node ? or_empty(call->node->title) : "";
}

static const char *node_type(const bf_call_t *call)
{
    return call->node ? bf_node_type_name(call->node->type) : "";
}

static const char *code(const bf_call_t *call)
{
    return call->code ? or_empty(call->code->text) : "";
}

static const bf_value_t *meta_of(const bf_call_t *call, const char *path)
{
    if (!call->node) {
        return NULL;
    }
    const bf_value_t *value = path ? bf_node_meta(call->node, path) : &call->node->meta;
    return bf_value_is_null(value) ? NULL : value;
}

static const char *meta_json(bf_call_t *call, const char *path, size_t *ret_len)
{
    const bf_value_t *value = meta_of(call, path);
    return value ? as_json(call, value, ret_len) : NULL;
}

static const char *meta_text(bf_call_t *call, const char *path)
{
    const bf_value_t *value = meta_of(call, path);
    if (!value || value->type == BF_VALUE_LIST || value->type == BF_VALUE_MAP) {
        return NULL;
    }
    if (value->type == BF_VALUE_STRING) {
        return value->as.string;
    }
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_value_write_text(&str, value);
    return keep(call, &str, NULL);
}

static int is_probe(const bf_call_t *call)
{
    return bf_context_is_probe(call->ctx);
}

/* --- variables --- */

static const bf_value_t *variable(const bf_call_t *call, const char *name)
{
    const bf_value_t *value = name ? bf_context_get_str(call->ctx, name) : NULL;
    return bf_value_is_null(value) ? NULL : value;
}

static const char *get_json(bf_call_t *call, const char *name, size_t *ret_len)
{
    const bf_value_t *value = variable(call, name);
    return value ? as_json(call, value, ret_len) : NULL;
}

/* A copy: setting a variable may move what it was. */
static const char *get_text(bf_call_t *call, const char *name, size_t *ret_len)
{
    const bf_value_t *value = variable(call, name);
    if (!value || value->type != BF_VALUE_STRING) {
        return NULL;
    }
    bf_str_t str;
    bf_str_init(&str, 0);
    bf_str_append(&str, value->as.string, value->len);
    return keep(call, &str, ret_len);
}

static int get_int(bf_call_t *call, const char *name, int64_t *ret)
{
    const bf_value_t *value = variable(call, name);
    if (!value || value->type != BF_VALUE_INT) {
        return 0;
    }
    *ret = value->as.integer;
    return 1;
}

static int get_real(bf_call_t *call, const char *name, double *ret)
{
    const bf_value_t *value = variable(call, name);
    if (!value || (value->type != BF_VALUE_INT && value->type != BF_VALUE_REAL)) {
        return 0;
    }
    *ret = value->type == BF_VALUE_INT ? (double)value->as.integer : value->as.real;
    return 1;
}

static int get_bool(bf_call_t *call, const char *name, int *ret)
{
    const bf_value_t *value = variable(call, name);
    if (!value || value->type != BF_VALUE_BOOL) {
        return 0;
    }
    *ret = value->as.boolean;
    return 1;
}

static int refuse(bf_call_t *call, bf_status_t status, const char *fmt, ...)
    BF_PRINTF(3, 4);
static int refuse(bf_call_t *call, bf_status_t status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    bf_err_setv(&call->err, status, fmt, args);
    va_end(args);
    return BF_CALL_FAILED;
}

/* May the variable be set, and does it fit? What a call sets is bounded as a whole, so
 * that a loop in a component cannot fill the memory. */
static int admit(bf_call_t *call, const char *name, size_t bytes)
{
    size_t max = call->plugins->max_vars_bytes;
    if (call->err.status != BF_OK) {
        return BF_CALL_FAILED;
    }
    if (!name || !*name) {
        return refuse(call, BF_E_INVALID, "it sets a variable without a name");
    }
    size_t name_len = strlen(name);
    if (!bf_utf8_is_valid(name, name_len)) {
        return refuse(call, BF_E_INVALID, "the name of a variable is not valid UTF-8");
    }
    if (call->is_read_only) {
        return refuse(call, BF_E_INVALID, "variable '%.64s': a controller only reads",
                      name);
    }
    if (name_len > max || bytes > max - name_len ||
        call->set_bytes > max - name_len - bytes) {
        return refuse(call, BF_E_LIMIT,
                      "variable '%.64s' of %zu bytes is too large: a call may set %zu "
                      "bytes (limits.max_vars_bytes); keep large data elsewhere and "
                      "store a reference",
                      name, bytes, max);
    }
    call->set_bytes += name_len + bytes;
    return BF_CALL_OK;
}

static int put(bf_call_t *call, const char *name, const bf_value_t *value)
{
    bf_status_t rc = bf_context_put_str(call->ctx, name, value, &call->err);
    return rc == BF_OK ? BF_CALL_OK : BF_CALL_FAILED;
}

static size_t length_of(const char *text, size_t len)
{
    return len == BF_CALL_CSTR && text ? strlen(text) : len;
}

static int set_json(bf_call_t *call, const char *name, const char *json, size_t len)
{
    bf_err_t why = BF_ERR_INIT;
    bf_value_t value;
    len = length_of(json, len);
    if (admit(call, name, json ? len : 0) != BF_CALL_OK) {
        return BF_CALL_FAILED;
    }
    if (!json) {
        return refuse(call, BF_E_INVALID, "variable '%.64s': the JSON is NULL", name);
    }
    bf_json_limits_t limits = {.max_bytes = call->plugins->max_vars_bytes};
    bf_arena_mark_t mark = bf_arena_mark(&call->arena);
    bf_status_t rc = bf_json_parse(&call->arena, json, len, &limits, &value, &why);
    int done = rc == BF_OK ? put(call, name, &value)
                           : refuse(call, rc, "variable '%.64s': %s", name, why.text);
    bf_arena_reset(&call->arena, mark);
    return done;
}

static int set_text(bf_call_t *call, const char *name, const char *text, size_t len)
{
    len = length_of(text, len);
    if (admit(call, name, text ? len : 0) != BF_CALL_OK) {
        return BF_CALL_FAILED;
    }
    if (!text || !bf_utf8_is_valid(text, len) || memchr(text, '\0', len)) {
        return refuse(call, BF_E_INVALID,
                      "variable '%.64s': its text is NULL, has a NUL inside, or is not "
                      "valid UTF-8",
                      name);
    }
    bf_arena_mark_t mark = bf_arena_mark(&call->arena);
    const char *copy = bf_arena_strndup(&call->arena, text, len); /* ends with NUL */
    bf_value_t value = bf_value_string(copy, len);
    int done = copy ? put(call, name, &value)
                    : refuse(call, BF_E_NOMEM, "out of memory for a variable");
    bf_arena_reset(&call->arena, mark);
    return done;
}

static int set_value(bf_call_t *call, const char *name, bf_value_t value)
{
    return admit(call, name, NUMBER_BYTES) == BF_CALL_OK ? put(call, name, &value)
                                                         : BF_CALL_FAILED;
}

static int set_int(bf_call_t *call, const char *name, int64_t value)
{
    return set_value(call, name, bf_value_int(value));
}

static int set_real(bf_call_t *call, const char *name, double value)
{
    if (!isfinite(value)) {
        return refuse(call, BF_E_INVALID,
                      "variable '%.64s': infinite, or not a number: JSON cannot hold it",
                      name ? name : "");
    }
    return set_value(call, name, bf_value_real(value));
}

static int set_bool(bf_call_t *call, const char *name, int value)
{
    return set_value(call, name, bf_value_bool(value != 0));
}

static int clear(bf_call_t *call, const char *name)
{
    return set_value(call, name, bf_value_null());
}

/* --- the walk --- */

static void stop(bf_call_t *call)
{
    bf_context_stop(call->ctx);
}

static void interrupt(bf_call_t *call)
{
    bf_context_interrupt(call->ctx);
}

/* Foreign bytes become part of a message: what is no UTF-8 is left out. */
static int fail(bf_call_t *call, const char *message)
{
    if (!message || !*message) {
        return refuse(call, BF_E_COMPONENT, "it gave no reason");
    }
    if (!bf_utf8_is_valid(message, strlen(message))) {
        return refuse(call, BF_E_COMPONENT, "it gave a reason that is not valid UTF-8");
    }
    return refuse(call, BF_E_COMPONENT, "%s", message);
}

static int inner(bf_call_t *call, bf_status_t rc, const bf_err_t *err)
{
    if (rc == BF_OK) {
        return BF_CALL_OK;
    }
    call->is_inner = call->err.status == BF_OK;
    return refuse(call, rc, "%s", err->text[0] ? err->text : bf_status_text(rc));
}

static int call_default(bf_call_t *call)
{
    bf_err_t err = BF_ERR_INIT;
    if (!call->is_default_task) {
        return refuse(call, BF_E_INVALID,
                      "call_default() is for the run of a driver, once per call");
    }
    call->is_default_task = false;
    return inner(call, bf_plain_run_task(call->ex, call->node, &err), &err);
}

static int test_default(bf_call_t *call, int *ret)
{
    bf_err_t err = BF_ERR_INIT;
    bool yes = false;
    if (!call->is_default_test) {
        return refuse(call, BF_E_INVALID,
                      "test_default() is for the test of a driver, once per call");
    }
    call->is_default_test = false;
    int rc = inner(call, bf_plain_test(call->ex, call->code, &yes, &err), &err);
    if (rc == BF_CALL_OK) {
        *ret = yes;
    }
    return rc;
}

static void write_log(const bf_call_t *call, bf_call_log_level_t level, const char *text)
{
    const bf_plugins_t *plugins = call->plugins;
    if (plugins->on_log && text) {
        plugins->on_log(plugins->log_arg, level, call->plugin->library, instance_id(call),
                        node_id(call), text);
    }
}

const bf_host_t *bf_plugin_host(void)
{
    static const bf_host_t host = {
        .abi = BF_COMPONENT_ABI,
        .size = sizeof(bf_host_t),
        .version = BF_VERSION,
        .add_component = bf_registrar_add_component,
        .add_driver = bf_registrar_add_driver,
        .add_controller = bf_registrar_add_controller,
        .refuse = bf_registrar_refuse,
        .instance_id = instance_id,
        .command_id = command_id,
        .seq = seq,
        .call_key = call_key,
        .actor = actor,
        .graph_id = graph_id,
        .graph_version = graph_version,
        .node_id = node_id,
        .node_title = node_title,
        .node_type = node_type,
        .code = code,
        .meta_json = meta_json,
        .meta_text = meta_text,
        .is_probe = is_probe,
        .get_json = get_json,
        .get_text = get_text,
        .get_int = get_int,
        .get_real = get_real,
        .get_bool = get_bool,
        .set_json = set_json,
        .set_text = set_text,
        .set_int = set_int,
        .set_real = set_real,
        .set_bool = set_bool,
        .clear = clear,
        .stop = stop,
        .interrupt = interrupt,
        .fail = fail,
        .call_default = call_default,
        .test_default = test_default,
        .log = write_log,
    };
    return &host;
}
