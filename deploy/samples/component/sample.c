/*
 * sample.c - a library of components for bpmflow-worker
 *
 *   @discount     a task: price -> total, by the node's meta `percent`
 *   @affordable   a condition: total is at most budget
 *   audited       a driver: counts the tasks of a graph in the variable `audited`
 *   teams         a controller: nodes with a `team` are tasks of that team
 *
 * Build it with `make`, name it in the worker's settings:
 *
 *   components = ( "/usr/local/lib/bpmflow/libsample.so" );
 *
 * SPDX-License-Identifier: MIT
 */
#include <bpmflow/component.h>
#include <stdlib.h>
#include <string.h>

static const bf_host_t *host;

static int discount(bf_call_t *call, void *state)
{
    double price;
    const char *percent = host->meta_text(call, "percent");
    (void)state;
    if (!percent) {
        return host->fail(call, "the node has no `percent` in its meta; give it one");
    }
    if (!host->get_real(call, "price", &price)) {
        return host->fail(call, "the variable price is missing or no number");
    }
    host->log(call, BF_CALL_LOG_INFO, host->call_key(call));
    /* Something that acts on the outside world would hand call_key() on. */
    (void)host->set_text(call, "discount_key", host->call_key(call), BF_CALL_CSTR);
    return host->set_real(call, "total", price * (100 - strtod(percent, NULL)) / 100);
}

static int affordable(bf_call_t *call, void *state, int *ret)
{
    double total;
    double budget;
    (void)state;
    if (!host->get_real(call, "total", &total) ||
        !host->get_real(call, "budget", &budget)) {
        return host->fail(call, "total and budget must be numbers");
    }
    *ret = total <= budget;
    return BF_CALL_OK;
}

static int audit(bf_call_t *call, void *state)
{
    int64_t count = 0;
    (void)state;
    (void)host->get_int(call, "audited", &count);
    if (*host->code(call) && host->set_int(call, "audited", count + 1) != BF_CALL_OK) {
        return BF_CALL_FAILED;
    }
    return host->call_default(call);
}

static int is_of_my_team(bf_call_t *call, void *state)
{
    const char *team = host->meta_text(call, "team");
    const char *mine = host->get_text(call, "team", NULL);
    (void)state;
    return team && mine && !strcmp(team, mine);
}

static int has_no_team(bf_call_t *call, void *state)
{
    (void)state;
    return !host->meta_text(call, "team");
}

static int init(const bf_host_t *given, bf_registrar_t *registrar)
{
    const bf_component_def_t discounts = {
        .size = sizeof(discounts), .name = "discount", .run = discount};
    const bf_component_def_t affordables = {
        .size = sizeof(affordables), .name = "affordable", .test = affordable};
    const bf_driver_def_t audited = {
        .size = sizeof(audited), .name = "audited", .run = audit};
    const bf_controller_def_t teams = {.size = sizeof(teams),
                                       .name = "teams",
                                       .is_operable = is_of_my_team,
                                       .is_automatic = has_no_team};
    host = given;
    return given->add_component(registrar, &discounts) ||
           given->add_component(registrar, &affordables) ||
           given->add_driver(registrar, &audited) ||
           given->add_controller(registrar, &teams);
}

const bf_component_library_t BF_COMPONENT_LIBRARY = {
    .abi = BF_COMPONENT_ABI,
    .size = sizeof(bf_component_library_t),
    .name = "sample",
    .version = "1.0",
    .init = init,
};
