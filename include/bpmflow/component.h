/*
 * component.h - components, drivers and controllers of your own, in C: the stable ABI
 *
 * A component is a function behind a name: `task: "@pay"` runs it, `when: "@solvent"`
 * asks it.  A driver (`driver: "audit"` in a definition) stands between the engine and
 * the tasks and conditions of a graph.  A controller (`graphs.controller = "shifts"`)
 * says who may operate a task and which nodes go by themselves.
 *
 * They live in a shared object that exports one constant, bf_component_library, and that
 * is named in the worker's settings:
 *
 *     components = ( "libpay.so" );
 *
 * or they are linked in (make COMPONENTS="pay.c"; in a program of your own:
 * bf_plugins_add()).  This header includes nothing of the product, and nothing needs to
 * be linked: everything that a component may do comes in as a table of functions.  It is
 * all that the two sides share; a library built with it runs with every later version
 * that has the same BF_COMPONENT_ABI.  Tables and structs only grow at their end, and
 * each tells its size.
 *
 * A command is atomic: when a call fails, the command is rejected (component_error, with
 * the node's name) and everything that it has done to the instance is undone.  What a
 * component has done outside is its own affair: the same command can be executed more
 * than once (a crash, a conflict, a batch that is tried again), and only the last time
 * counts. call_key() is the same each time: hand it on as the idempotency key.
 *
 * A call holds up its thread, and with it all commands of the thread's partitions: it
 * should take milliseconds.  Work that takes longer belongs into a service
 * (`task: "@kafka:topic"`).
 *
 * Threads:  each worker thread has a state of its own (open), and uses it for one call at
 *           a time; without open, all threads share `arg`.  A call and everything got
 * from it belong to the thread of the call, and end with it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BF_COMPONENT_H
#define BF_COMPONENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only when something that was there changes its meaning or its place. */
#define BF_COMPONENT_ABI 1

/* What init and the callbacks return. */
#define BF_CALL_OK     0
#define BF_CALL_FAILED (-1) /* anything but 0 counts as this */

/* A text that ends with NUL, where a length is asked for. */
#define BF_CALL_CSTR ((size_t)-1)

typedef enum {
    BF_CALL_LOG_ERROR = 0,
    BF_CALL_LOG_WARNING = 1,
    BF_CALL_LOG_INFO = 2,
    BF_CALL_LOG_DEBUG = 3
} bf_call_log_level_t;

typedef struct bf_call bf_call_t;           /* one call; gone when the callback returns */
typedef struct bf_registrar bf_registrar_t; /* of init */
typedef struct bf_host bf_host_t;

/* --- what a library defines; texts are copied, each starts with its own size --- */

typedef struct bf_component_def {
    size_t size;      /* sizeof(bf_component_def_t) */
    const char *name; /* behind the @ */
    /* A task. NULL: cannot be used as one. */
    int (*run)(bf_call_t *call, void *state);
    /* A condition: *ret becomes 0 or not. NULL: cannot be used as one. */
    int (*test)(bf_call_t *call, void *state, int *ret);
    /* State for one thread, made before it starts. *ret is handed to run and test. NULL
     * callback: the state is arg. BF_CALL_FAILED stops the start. */
    int (*open)(void *arg, void **ret);
    void (*close)(void *state); /* after the last call of that thread; may be NULL */
    void *arg;
} bf_component_def_t;

typedef struct bf_driver_def {
    size_t size;
    const char *name;                                /* as in `driver` of a definition */
    int (*node_start)(bf_call_t *call, void *state); /* NULL = nothing */
    int (*node_end)(bf_call_t *call, void *state);   /* NULL = nothing */
    /* Instead of the task / the condition; call_default() and test_default() do what
     * would have been done. NULL = that. */
    int (*run)(bf_call_t *call, void *state);
    int (*test)(bf_call_t *call, void *state, int *ret);
    int (*open)(void *arg, void **ret);
    void (*close)(void *state);
    void *arg;
} bf_driver_def_t;

/* Both questions are asked often: answer them from the node and the caller, at once.
 * Variables can be read, not set.  A call that fails means no; one that fails for lack of
 * memory rejects the command. */
typedef struct bf_controller_def {
    size_t size;
    const char *name;      /* as in graphs.controller */
    const char *actor_key; /* variable that the actor of a command is; NULL = "actor" */
    /* May the caller operate the node? 1 or 0. */
    int (*is_operable)(bf_call_t *call, void *state);
    /* Does the flow pass the node by itself? 1 or 0. */
    int (*is_automatic)(bf_call_t *call, void *state);
    int (*open)(void *arg, void **ret);
    void (*close)(void *state);
    void *arg;
} bf_controller_def_t;

/* --- what the host offers; valid as long as the library is loaded --- */

/* Texts and JSON that a function returns are valid until the callback returns; `ret_len`
 * may be NULL.  Functions that return int: BF_CALL_OK or BF_CALL_FAILED, unless they say
 * something else.  A failure of set_...() or of memory is kept: the call fails with it,
 * whatever the callback returns. */
struct bf_host {
    uint32_t abi;        /* BF_COMPONENT_ABI of the host */
    uint32_t size;       /* of this table: a member beyond it is not there */
    const char *version; /* of the host, for messages */

    /* In init only. A name that is taken already fails the start. */
    int (*add_component)(bf_registrar_t *registrar, const bf_component_def_t *def);
    int (*add_driver)(bf_registrar_t *registrar, const bf_driver_def_t *def);
    int (*add_controller)(bf_registrar_t *registrar, const bf_controller_def_t *def);
    /* Why the library cannot be used; `return host->refuse(registrar, "...")`. */
    int (*refuse)(bf_registrar_t *registrar, const char *why);

    /* Which command, instance and node. Never NULL; "" where there is none: a condition
     * has no node, a program of your own may have no command. */
    const char *(*instance_id)(const bf_call_t *call);
    const char *(*command_id)(const bf_call_t *call);
    /* Number of the instance's last history row before the command. */
    int64_t (*seq)(const bf_call_t *call);
    /* <instance>/<command>/<graph>:<node>, with #2, #3 ... for later visits of the node:
     * names this call, also when it is made again. */
    const char *(*call_key)(bf_call_t *call);
    const char *(*actor)(bf_call_t *call);
    const char *(*graph_id)(const bf_call_t *call);
    int32_t (*graph_version)(const bf_call_t *call);
    const char *(*node_id)(const bf_call_t *call);
    const char *(*node_title)(const bf_call_t *call);
    const char *(*node_type)(const bf_call_t *call);
    /* Task of the node, or the condition, as it is written. */
    const char *(*code)(const bf_call_t *call);
    /* Meta of the node by name or by path (`limits.max`): as JSON; as text (a text as it
     * is, a number or boolean written out). NULL: not there; as text also for lists and
     * maps. path NULL: all of it. */
    const char *(*meta_json)(bf_call_t *call, const char *path, size_t *ret_len);
    const char *(*meta_text)(bf_call_t *call, const char *path);
    /* 1 while somebody only asks (find, find_next): what is set is forgotten. Tasks are
     * not run then, conditions are. */
    int (*is_probe)(const bf_call_t *call);

    /* Variables: those of the instance, over them the context of the command. get_json:
     * NULL when it is not set. The others: 1 when it is set and of that type (an integer
     * is a real number, too), else 0 with *ret untouched. get_text: NULL else. */
    const char *(*get_json)(bf_call_t *call, const char *name, size_t *ret_len);
    const char *(*get_text)(bf_call_t *call, const char *name, size_t *ret_len);
    int (*get_int)(bf_call_t *call, const char *name, int64_t *ret);
    int (*get_real)(bf_call_t *call, const char *name, double *ret);
    int (*get_bool)(bf_call_t *call, const char *name, int *ret);

    /* Fail on: bad JSON or UTF-8, a number that is not finite, a reserved name
     * (instanceId, context), more than limits.max_vars_bytes in one call, no memory;
     * always in a controller. JSON null clears. */
    int (*set_json)(bf_call_t *call, const char *name, const char *json, size_t len);
    int (*set_text)(bf_call_t *call, const char *name, const char *text, size_t len);
    int (*set_int)(bf_call_t *call, const char *name, int64_t value);
    int (*set_real)(bf_call_t *call, const char *name, double value);
    int (*set_bool)(bf_call_t *call, const char *name, int value);
    int (*clear)(bf_call_t *call, const char *name);

    /* Stop the walk / end this branch of it: the node stays WAITING and is run again by
     * the next command that comes by. */
    void (*stop)(bf_call_t *call);
    void (*interrupt)(bf_call_t *call);
    /* Reject the command with a sentence; `return host->fail(call, "...")`. The first one
     * counts. */
    int (*fail)(bf_call_t *call, const char *message);

    /* A driver: what would have been done. Once per call. */
    int (*call_default)(bf_call_t *call);
    int (*test_default)(bf_call_t *call, int *ret);

    /* A line in the log of the worker, with library, instance and node. */
    void (*log)(const bf_call_t *call, bf_call_log_level_t level, const char *text);
};

/* What a library exports under the name bf_component_library. */
typedef struct bf_component_library {
    uint32_t abi;        /* BF_COMPONENT_ABI; looked at before anything else */
    uint32_t size;       /* sizeof(bf_component_library_t) */
    const char *name;    /* for messages */
    const char *version; /* for messages */
    /* Once, before any thread: keep the host, add what there is. BF_CALL_FAILED stops the
     * start. */
    int (*init)(const bf_host_t *host, bf_registrar_t *registrar);
    void (*fini)(void); /* after everything is closed; may be NULL */
} bf_component_library_t;

#define BF_COMPONENT_SYMBOL "bf_component_library"

/* The name in the source; another one where several libraries are linked into one
 * program. */
#ifndef BF_COMPONENT_LIBRARY
#define BF_COMPONENT_LIBRARY bf_component_library
#endif
extern __attribute__((visibility("default")))
const bf_component_library_t BF_COMPONENT_LIBRARY;

#ifdef __cplusplus
}
#endif

#endif /* BF_COMPONENT_H */
